//! `(collapse (match …))` whose template is data: what it comes to is made of the columns of the answers, and nothing is evaluated for
//! each.
//!
//! 1. The code of the query says which collector its results go to, with nothing to be done on the way ([`Gathering`]).
//! 2. It is looked once whether a template of these values is its own result, as for `count-results`: then each answer is one result.
//! 3. Each part of the template is a leaf, a value that the query does not bind, or a column. What is made of them is marked as evaluated, as
//!    are the compounds in columns: rules that are added later do not reduce it.
//!
//! Results with variables, or to be evaluated, come to the collector one by one, by the code as it is written.

use super::choices::{Choice, ChoiceKind, CollectorPurpose};
use super::code::Part;
use super::collected::CollectedResults;
use super::queries::QueryRoom;
use super::words::TERM;
use super::{Halt, Running};
use region::{Ref, tag};

/// So many results are made between two looks at the limits.
const RESULTS_BETWEEN_LOOKS: usize = 1 << 12;

/// A part of a template, before what it is a part of.
#[derive(Clone, Copy)]
enum Source {
    Value(Ref),
    Column(usize),
    Expression(usize),
}

impl Running<'_> {
    /// The collector that the results of a query go to as they are, if they become a list.
    pub(super) fn list_for_answers(&self, query: u32) -> Option<usize> {
        let begun = self.m.code.queries[query as usize].gathering.as_ref()?.begun;
        let level = self.m.slot(begun).payload() as usize;
        match &self.m.choices.stack.get(level)?.kind {
            ChoiceKind::Collector(collector) if collector.purpose == CollectorPurpose::List => Some(level),
            _ => None,
        }
    }

    /// Makes the results of so many answers, each of which comes to one, for the collector at a level.
    pub(super) fn gather_answers(
        &mut self,
        query: u32,
        count: usize,
        room: &mut QueryRoom,
        level: usize,
    ) -> Result<(), Halt> {
        let sources = self.sources(query, room);
        let width = self.m.code.queries[query as usize].fresh.len() + room.outer().len();
        let mut results = self.take_results(level);
        results.reserve(count);
        let made = self.make_results(&sources, (count, width), room, &mut results);
        self.put_results(level, results);
        made?;
        self.m.raise_floor();
        if self.m.is_crowded() {
            // What was made in one step is looked at where the next function is entered.
            self.look_within(1);
        }
        self.fail()
    }

    fn make_results(
        &mut self,
        sources: &[Source],
        (count, width): (usize, usize),
        room: &mut QueryRoom,
        results: &mut CollectedResults,
    ) -> Result<(), Halt> {
        let note = self.m.type_cache.notes.normal();
        let values = &mut self.m.values;
        let mut parts: Vec<Ref> = Vec::with_capacity(sources.len());
        for answer in 0..count {
            if answer % RESULTS_BETWEEN_LOOKS == RESULTS_BETWEEN_LOOKS - 1 && values.ceiling.is_passed() {
                return Err(values.ceiling.passed());
            }
            parts.clear();
            for &source in sources {
                let part = match source {
                    Source::Value(value) => value,
                    Source::Column(column) => {
                        let value = values.load_term(room.terms()[answer * width + column])?;
                        if value.tag() == TERM { values.normal_as(value, 0).unwrap_or(value) } else { value }
                    }
                    Source::Expression(children) => {
                        let from = parts.len() - children;
                        let made = values.heap.expression(&mut values.region, &parts[from..])?;
                        values.heap.set_note(made, note);
                        parts.truncate(from);
                        made.marked()
                    }
                };
                parts.push(part);
            }
            results.push_value(parts[0]);
        }
        Ok(())
    }

    /// Where the parts of the template come from.
    fn sources(&self, query: u32, room: &QueryRoom) -> Vec<Source> {
        let asked = &self.m.code.queries[query as usize];
        let gathering = asked.gathering.as_ref().expect("it is gathered");
        let source = |part: &Part| match *part {
            Part::Leaf(leaf) => Source::Value(leaf),
            Part::Expression(children) => Source::Expression(children as usize),
            Part::Slot(slot) => match self.column_of(query, slot, room) {
                Some(column) => Source::Column(column),
                None => {
                    let value = self.m.values.heap.walk(self.m.read(slot));
                    Source::Value(self.normal(value, 0).unwrap_or(value))
                }
            },
        };
        gathering.parts.iter().map(source).collect()
    }

    /// Whether each value of the template that no column holds is there as it is: no variable.
    pub(super) fn is_bound_by_answers(&self, query: u32, room: &QueryRoom) -> bool {
        let Some(template) = &self.m.code.queries[query as usize].template_data else { return false };
        template.slots.iter().all(|&(slot, _)| {
            self.column_of(query, slot, room).is_some()
                || self.m.values.heap.walk(self.m.read(slot)).tag() != tag::VARIABLE
        })
    }

    fn take_results(&mut self, level: usize) -> CollectedResults {
        match self.m.choices.stack.get_mut(level) {
            Some(Choice { kind: ChoiceKind::Collector(collector), .. }) => std::mem::take(&mut collector.results),
            _ => unreachable!("it is a collector"),
        }
    }

    fn put_results(&mut self, level: usize, results: CollectedResults) {
        if let Some(Choice { kind: ChoiceKind::Collector(collector), .. }) = self.m.choices.stack.get_mut(level) {
            collector.results = results;
        }
    }
}
