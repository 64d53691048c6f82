//! `(collapse (match …))` whose template is data: what it comes to is made of the columns of the answers, and nothing is evaluated for
//! each.
//!
//! 1. The code of the query says which collector its results go to, with nothing to be done on the way ([`Gathering`]).
//! 2. It is looked once whether a template of these values is its own result, as for `count-results`: then each answer is one result.
//! 3. Each part of the template is a leaf, a value that the query does not bind, or a column. What is made of them is marked as evaluated, as
//!    are the compounds in columns: rules that are added later do not reduce it.
//!
//! Results with variables, or to be evaluated, come to the collector one by one, by the code as it is written.

use super::template::Template;
use crate::machine::Halt;
use crate::machine::code::TemplatePart;
use crate::machine::control::choices::{Choice, ChoiceKind, Choices, CollectorPurpose};
use crate::machine::control::collected::CollectedResults;
use crate::machine::values::Values;
use crate::machine::words::{EMPTY, TERM};
use region::Ref;
use space::Term;

/// How many results are made between two looks at the limits.
const RESULTS_BETWEEN_LOOKS: usize = 1 << 12;

/// A part of a template, before what it is a part of.
#[derive(Clone, Copy)]
enum Source {
    Value(Ref),
    Column(usize),
    Expression(usize),
}

/// Results that are being made, each of the values of one answer.
struct Making<'a> {
    values: &'a mut Values,
    /// What expressions are marked with.
    note: u16,
    /// The parts of the template, and what each is in the answer at hand, unless it is an expression.
    sources: &'a [Source],
    parts: Vec<Ref>,
    /// Whether the template is an expression of leaves and columns: then they are its children.
    is_flat: bool,
    /// Room for the parts of expressions.
    open: Vec<Ref>,
}

/// A part of the template, and the column that its value is in.
type Taken = (usize, usize);

impl<'a> Making<'a> {
    fn new(values: &'a mut Values, note: u16, sources: &'a [Source]) -> Self {
        let part = |source: &Source| match *source {
            Source::Value(value) => value,
            Source::Column(_) | Source::Expression(_) => EMPTY,
        };
        let is_flat = match sources {
            [parts @ .., Source::Expression(children)] => {
                parts.len() == *children && !parts.iter().any(|part| matches!(part, Source::Expression(_)))
            }
            _ => false,
        };
        Self { values, note, sources, parts: sources.iter().map(part).collect(), is_flat, open: Vec::new() }
    }

    /// The parts of the template that columns of a kind have.
    fn taken(&self, is_wanted: impl Fn(usize) -> bool) -> Vec<Taken> {
        let taken = |(part, source): (usize, &Source)| match *source {
            Source::Column(column) if is_wanted(column) => Some((part, column)),
            _ => None,
        };
        self.sources.iter().enumerate().filter_map(taken).collect()
    }

    /// Whether the run goes on is looked at now and then.
    #[inline]
    fn look(&self, answer: usize) -> Result<(), Halt> {
        let is_time = answer % RESULTS_BETWEEN_LOOKS == RESULTS_BETWEEN_LOOKS - 1;
        if is_time && self.values.ceiling.is_passed() { Err(self.values.ceiling.passed()) } else { Ok(()) }
    }

    /// Takes the values of some columns.
    #[inline]
    fn take(&mut self, taken: &[Taken], terms: &[Term]) -> Result<(), Halt> {
        for &(part, column) in taken {
            let value = self.values.load_term(terms[column])?;
            let is_compound = value.tag() == TERM;
            self.parts[part] = if is_compound { self.values.normal_as(value, 0).unwrap_or(value) } else { value };
        }
        Ok(())
    }

    /// The result for the values at hand.
    #[inline]
    fn result(&mut self) -> Result<Ref, Halt> {
        if !self.is_flat {
            return self.nested();
        }
        let Self { values, note, parts, .. } = self;
        let made = values.heap.expression(&mut values.region, &parts[..parts.len() - 1])?;
        values.heap.set_note(made, *note);
        Ok(made.marked())
    }

    fn nested(&mut self) -> Result<Ref, Halt> {
        let Self { values, note, sources, parts, open, .. } = self;
        open.clear();
        for (source, &part) in sources.iter().zip(&*parts) {
            let Source::Expression(children) = *source else {
                open.push(part);
                continue;
            };
            let from = open.len() - children;
            let made = values.heap.expression(&mut values.region, &open[from..])?;
            values.heap.set_note(made, *note);
            open.truncate(from);
            open.push(made.marked());
        }
        Ok(open[0])
    }
}

impl Template<'_, '_> {
    /// Makes the results of `count` answers, each of which comes to one, for the collector at a level.
    pub(super) fn gather(mut self, count: usize, level: usize) -> Result<(), Halt> {
        let sources = self.sources();
        let mut results = self.run.m.choices.take_results(level);
        results.values.reserve(count);
        let made = self.make_results(&sources, &mut results);
        let m = &mut self.run.m;
        m.choices.put_results(level, results);
        made?;
        m.choices.raise_floor(&m.values);
        if m.counters.is_crowded(&m.values) {
            // What was made in one step is looked at where the next function is entered.
            self.run.limits().look_within(1);
        }
        Ok(())
    }

    fn make_results(&mut self, sources: &[Source], results: &mut CollectedResults) -> Result<(), Halt> {
        let note = self.run.m.types.notes.normal();
        let mut made = Making::new(&mut self.run.m.values, note, sources);
        let Some(differing) = self.room.executor.answers().grouped_variables() else {
            let taken = made.taken(|_| true);
            for (answer, terms) in self.room.executor.answers().each().enumerate() {
                made.look(answer)?;
                made.take(&taken, terms)?;
                results.push_value(made.result()?);
            }
            return Ok(());
        };
        let place = |column: usize| differing.iter().position(|&variable| variable as usize == column);
        let common = made.taken(|column| place(column).is_none());
        let mut others = made.taken(|column| place(column).is_some());
        others.iter_mut().for_each(|(_, column)| *column = place(*column).unwrap_or_default());
        let mut answer = 0;
        for group in self.room.executor.answers().groups() {
            made.take(&common, group.common)?;
            for terms in group.others.chunks_exact(differing.len()) {
                made.look(answer)?;
                made.take(&others, terms)?;
                results.push_value(made.result()?);
                answer += 1;
            }
        }
        Ok(())
    }

    /// Where the parts of the template come from.
    fn sources(&self) -> Vec<Source> {
        let asked = &self.run.m.code.queries[self.query as usize];
        let gathering = asked.gathering.as_ref().expect("it is gathered");
        let source = |part: &TemplatePart| match *part {
            TemplatePart::Leaf(leaf) => Source::Value(leaf),
            TemplatePart::Expression(children) => Source::Expression(children as usize),
            TemplatePart::Slot(slot) => match self.column_of(slot) {
                Some(column) => Source::Column(column),
                None => {
                    let value = self.run.m.values.heap.walk(self.run.m.read(slot));
                    Source::Value(self.run.m.normal(value, 0).unwrap_or(value))
                }
            },
        };
        gathering.parts.iter().map(source).collect()
    }
}

impl Choices {
    /// Whether a list is collected at a level.
    pub(super) fn collects_list(&self, level: usize) -> bool {
        match self.stack.get(level).map(|choice| &choice.kind) {
            Some(ChoiceKind::Collector(collector)) => collector.purpose == CollectorPurpose::List,
            _ => false,
        }
    }

    fn take_results(&mut self, level: usize) -> CollectedResults {
        match self.stack.get_mut(level) {
            Some(Choice { kind: ChoiceKind::Collector(collector), .. }) => std::mem::take(&mut collector.results),
            _ => unreachable!("it is a collector"),
        }
    }

    fn put_results(&mut self, level: usize, results: CollectedResults) {
        if let Some(Choice { kind: ChoiceKind::Collector(collector), .. }) = self.stack.get_mut(level) {
            collector.results = results;
        }
    }
}
