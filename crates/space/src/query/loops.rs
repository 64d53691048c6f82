//! Loops over patterns in an order: for each pattern, what is known of its rows when its turn comes.

use super::pattern::{NO_TERM, PatternPart, Patterns, extent};
use crate::atom::Expression;
use crate::relation::{COLUMNS_INDEXED_MAX, Path, Relation};
use crate::term::{Term, Terms};
use std::cell::Cell;

thread_local! {
    /// Room for the loops of this thread that serve once; a search takes it out.
    static ROOM: Cell<Option<Box<Loops>>> = const { Cell::new(None) };
}

/// Patterns that are answered one after the other, each for all answers so far.
#[derive(Default)]
pub(super) struct Loops {
    pub(super) patterns: Patterns,
    pub(super) steps: Vec<LoopStep>,
    /// Whether no pattern has an expression inside, so that nothing but the terms of rows is compared.
    pub(super) is_flat: bool,
    /// What is known of the patterns, one after the other.
    pub(super) known: Vec<(Path, Known)>,
    /// Which variables the steps so far bind, while they are made.
    bound: Vec<bool>,
}

/// A key that is known at a path of a pattern's rows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Known {
    Key(Term),
    Parameter(u32),
    /// That of what an earlier pattern has bound.
    Variable(u32),
}

impl Known {
    /// The key, given the parameters and the answer so far.
    #[inline]
    pub(super) fn key(self, parameters: &[Term], answer: &[Term], terms: &Terms) -> Term {
        match self {
            Self::Key(key) => key,
            Self::Parameter(parameter) => parameters[parameter as usize],
            Self::Variable(variable) => terms.key(answer[variable as usize]),
        }
    }
}

/// How one pattern is answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoopStep {
    pub(super) length: usize,
    /// Where the pattern is in the parts, without what opens it, and what is known of it.
    pub(super) parts: [usize; 2],
    pub(super) known: [usize; 2],
    /// Whether its columns are keys and variables only.
    pub(super) is_flat: bool,
    /// Whether all of its columns are known, so that it has one row, if any.
    pub(super) is_known: bool,
    /// How many variables it binds, if each column is known or the place of one of them: then columns are taken as they lie.
    pub(super) taken: usize,
    /// Which of the spaces it asks.
    pub(super) place: u8,
}

impl Loops {
    /// How many variables there are: as many terms as each answer has.
    pub(super) fn variables(&self) -> usize {
        self.patterns.variables
    }

    /// Makes the steps; `false` if rows cannot answer the patterns.
    pub(super) fn make(&mut self) -> bool {
        let Self { patterns, steps, known, bound, .. } = self;
        let Patterns { parts, ends, variables, .. } = &*patterns;
        steps.clear();
        known.clear();
        bound.clear();
        bound.resize(*variables, false);
        let mut start = 0;
        for (number, &end) in ends.iter().enumerate() {
            let Some(mut step) = LoopStep::new(start, end, parts, bound, known) else { return false };
            step.place = patterns.place(number);
            step.bind(&parts[start + 1..end], bound);
            steps.push(step);
            start = end;
        }
        self.is_flat = steps.iter().all(|step| step.is_flat);
        !steps.is_empty()
    }

    /// The parts of each pattern, what opens it included, and which of the spaces it asks.
    pub(super) fn each_pattern(&self) -> impl Iterator<Item = (u8, &[PatternPart])> {
        self.steps.iter().map(|step| (step.place, &self.patterns.parts[step.parts[0] - 1..step.parts[1]]))
    }
}

impl LoopStep {
    /// `bound` says which variables earlier patterns bind. `None` for a pattern that is not an expression.
    fn new(
        start: usize,
        end: usize,
        parts: &[PatternPart],
        bound: &[bool],
        known: &mut Vec<(Path, Known)>,
    ) -> Option<Self> {
        let [PatternPart::Open(length), columns @ ..] = &parts[start..end] else { return None };
        let length = *length as usize;
        let from = known.len();
        // `()` opens no columns, but is no leaf either.
        let is_flat = columns.len() == length && !columns.iter().any(|part| matches!(part, PatternPart::Open(_)));
        // Of a long row some columns are known that no index goes by.
        let is_long_known =
            length > COLUMNS_INDEXED_MAX && columns.iter().all(|&part| known_part(part, bound).is_some());
        let mut at = 0;
        for column in 0..length {
            let (part, is_indexed) = (columns[at], column < COLUMNS_INDEXED_MAX || is_long_known);
            match part {
                PatternPart::Open(inner) if is_indexed => {
                    known_inside(column as u32, &columns[at + 1..], inner, bound, known);
                }
                part if is_indexed && let Some(key) = known_part(part, bound) => {
                    known.push(((column as u32, None), key));
                }
                _ => {}
            }
            at += if let PatternPart::Open(_) = part { extent(&columns[at..]) } else { 1 };
        }
        let own = &mut known[from..];
        let is_known = is_flat && length > 0 && own.len() == length;
        // The head of an expression is its least selective column: it comes last.
        if !is_known && own.first().is_some_and(|&(path, _)| path == (0, None)) {
            own.rotate_left(1);
        }
        Some(Self {
            length,
            parts: [start + 1, end],
            known: [from, known.len()],
            is_flat,
            is_known,
            taken: 0,
            place: 0,
        })
    }

    /// Binds its variables.
    fn bind(&mut self, columns: &[PatternPart], bound: &mut [bool]) {
        let mut new = 0;
        for part in columns {
            if let PatternPart::Variable(variable) = part {
                let is_bound = &mut bound[*variable as usize];
                new += usize::from(!*is_bound);
                *is_bound = true;
            }
        }
        let is_each = self.is_flat && self.known[1] - self.known[0] + new == self.length;
        self.taken = if is_each && self.length <= COLUMNS_INDEXED_MAX { new } else { 0 };
    }

    /// Whether it is known of each of its columns what it is, or that it may be anything: then its rows need not be looked at to be counted.
    pub(super) fn is_countable(&self) -> bool {
        self.is_known || self.taken > 0
    }

    /// The only variable that its number of rows depends on, if there is one.
    pub(super) fn counted_by(&self, known: &[(Path, Known)]) -> Option<u32> {
        let mut variables = known[self.known[0]..self.known[1]].iter().filter_map(|&(_, known)| match known {
            Known::Variable(variable) => Some(variable),
            Known::Key(_) | Known::Parameter(_) => None,
        });
        let first = variables.next()?;
        variables.all(|other| other == first).then_some(first)
    }

    /// Whether a relation may have a row for it, going by the key of its head; without `parameters` the answer holds whatever
    /// they are.
    pub(super) fn may_answer(
        &self,
        known: &[(Path, Known)],
        parameters: Option<&[Term]>,
        relation: &Relation,
        terms: &Terms,
    ) -> bool {
        let has_key = |path: Path, key: Term| key != NO_TERM && relation.has(path, key, terms);
        let has = |&(path, known): &(Path, Known)| match (known, parameters) {
            (Known::Key(key), _) => has_key(path, key),
            (Known::Parameter(parameter), Some(parameters)) => has_key(path, parameters[parameter as usize]),
            (Known::Parameter(_) | Known::Variable(_), _) => true,
        };
        // The head stands last, and most often rules a relation out. A row that is known whole is found without an index.
        !relation.is_empty() && (self.is_known || known[self.known[0]..self.known[1]].last().is_none_or(has))
    }
}

fn known_part(part: PatternPart, bound: &[bool]) -> Option<Known> {
    match part {
        PatternPart::Key(key) => Some(Known::Key(key)),
        PatternPart::Parameter(parameter) => Some(Known::Parameter(parameter)),
        PatternPart::Variable(variable) if bound[variable as usize] => Some(Known::Variable(variable)),
        _ => None,
    }
}

/// Adds what is known of the children of a compound column.
fn known_inside(column: u32, parts: &[PatternPart], length: u32, bound: &[bool], known: &mut Vec<(Path, Known)>) {
    let mut at = 0;
    let from = known.len();
    for child in 0..length.min(COLUMNS_INDEXED_MAX as u32) {
        known.extend(known_part(parts[at], bound).map(|key| ((column, Some(child)), key)));
        at += extent(&parts[at..]);
    }
    known[from..].reverse();
}

/// The keys by which indexes find rows that may match an expression, the most selective guess first; `None` if a rigid part was
/// never interned, so that no row matches.
pub(crate) fn known_keys(query: &Expression, terms: &Terms) -> Option<Vec<(Path, Term)>> {
    let mut loops = ROOM.take().unwrap_or_default();
    loops.patterns.clear();
    let is_put = loops.patterns.put_indexable(query, terms) && loops.make();
    let keys = is_put.then(|| loops.known.iter().map(|&(path, known)| (path, known.key(&[], &[], terms))).collect());
    ROOM.set(Some(loops));
    keys
}
