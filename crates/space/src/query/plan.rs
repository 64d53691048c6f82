//! Plans: for each pattern of a query, what is known of its rows when its turn comes.
//!
//! A plan depends on the query alone, so it is made once and kept as long as it is used: match keys that differ from one
//! execution to the next are its *parameters*. The patterns are answered in the order in which they are written.

use super::pattern::{NO_TERM, PatternPart, Patterns, extent};
use crate::atom::Expression;
use crate::relation::{COLUMNS_INDEXED_MAX, Path, Relation};
use crate::space_handle::{ChangeCounter, SharedSpace};
use crate::term::{Term, Terms};
use std::cell::Cell;
use std::sync::Arc;

thread_local! {
    /// Room for the plans of this thread that serve once; a plan takes it out.
    static ROOM: Cell<Option<Box<Plan>>> = const { Cell::new(None) };
}

/// A query, made ready to be executed any number of times; see [`SharedSpace::execute`](crate::SharedSpace::execute).
#[derive(Default)]
pub struct Plan {
    pub(super) patterns: Patterns,
    pub(super) steps: Vec<Step>,
    /// Whether no pattern has an expression inside, so that nothing but the terms of rows is compared.
    pub(super) is_flat: bool,
    /// What is known of the patterns, one after the other.
    pub(super) known: Vec<(Path, Known)>,
    /// Which variables the steps so far bind, while they are made.
    bound: Vec<bool>,
    /// Whether the steps are those of the patterns, and whether rows can answer them.
    state: State,
    /// Whether it is to be found out what [`OnlyOwnRows`] says where it is executed next.
    pub(super) next_look: NextLook,
    /// What was found out, as long as it holds.
    pub(super) only_own_rows: Option<Box<OnlyOwnRows>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    New,
    Made,
    NotRows,
}

/// When the spaces that a plan is executed in are looked at for more than its answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum NextLook {
    /// Not at the first execution: many plans serve once.
    #[default]
    Later,
    Now,
    /// It was done in vain, and would be so again and again.
    Never,
}

/// A key that is known at a path of a pattern's rows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Known {
    Key(Term),
    Parameter(u32),
    /// That of what an earlier pattern has bound.
    Variable(u32),
}

/// What holds of the spaces that a plan was executed in until they change: only rows of the space itself can answer it.
pub(super) struct OnlyOwnRows {
    pub(super) space: SharedSpace,
    /// How often atoms that are not rows were added to the space or removed.
    pub(super) patterns: u64,
    /// What counts the changes of its list of imports and of each import, and how many there were.
    pub(super) others: Vec<(Arc<ChangeCounter>, u64)>,
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
pub(super) struct Step {
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
}

impl Plan {
    /// Takes everything out.
    pub fn clear(&mut self) {
        self.patterns.clear();
        self.state = State::New;
        self.next_look = NextLook::default();
        self.only_own_rows = None;
    }

    /// Adds a part to the last pattern.
    pub fn push(&mut self, part: PatternPart) {
        self.patterns.push(part);
    }

    /// Ends a pattern.
    pub fn end_pattern(&mut self) {
        self.patterns.end_pattern();
    }

    /// The key that stands first in the first pattern, if that begins with one.
    pub fn head(&self) -> Option<Term> {
        match self.patterns.parts.as_slice() {
            [PatternPart::Open(_), PatternPart::Key(head), ..] => Some(*head),
            _ => None,
        }
    }

    /// How many variables it has: as many terms as each answer has.
    pub(super) fn variables(&self) -> usize {
        self.patterns.variables
    }

    /// Makes the steps, unless they are there; `false` if rows cannot answer the patterns.
    pub(super) fn make(&mut self) -> bool {
        if self.state == State::New {
            self.state = if self.make_steps() { State::Made } else { State::NotRows };
        }
        self.state == State::Made
    }

    fn make_steps(&mut self) -> bool {
        let Self { patterns: Patterns { parts, ends, variables }, steps, known, bound, .. } = self;
        steps.clear();
        known.clear();
        bound.clear();
        bound.resize(*variables, false);
        let mut start = 0;
        for &end in ends.iter() {
            let Some(mut step) = Step::new(start, end, parts, bound, known) else { return false };
            step.bind(&parts[start + 1..end], bound);
            steps.push(step);
            start = end;
        }
        self.is_flat = steps.iter().all(|step| step.is_flat);
        !steps.is_empty()
    }

    /// The parts of each pattern, what opens it included.
    pub(super) fn each_pattern(&self) -> impl Iterator<Item = &[PatternPart]> {
        self.steps.iter().map(|step| &self.patterns.parts[step.parts[0] - 1..step.parts[1]])
    }
}

impl Step {
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
        let is_flat = columns.len() == length;
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
        Some(Self { length, parts: [start + 1, end], known: [from, known.len()], is_flat, is_known, taken: 0 })
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
    let mut plan = ROOM.take().unwrap_or_default();
    plan.clear();
    let is_put = plan.patterns.put_indexable(query, terms) && plan.make();
    let keys = is_put.then(|| plan.known.iter().map(|&(path, known)| (path, known.key(&[], &[], terms))).collect());
    ROOM.set(Some(plan));
    keys
}
