//! Going through the ways in which patterns match rows, as these are now or as they were before some changes.
//!
//! 1. A pattern is answered by its rows *now*, or by those *before*: what is there now without the copies that came, and with
//!    those that went.
//! 2. The next pattern is the one with the fewest rows to look at, given what is bound so far. So of two lists that lead to a third
//!    value the shorter one is walked, and the other one is asked.
//! 3. A test is made as soon as its variables are bound.
//! 4. Each way has an order: the insertion numbers of its rows, in the order of the patterns as they are written. Sorted by it, ways
//!    come in the order of a query, whichever pattern was answered first.

use super::query::{Made, Pattern};
use super::rows::RowsOfLength;
use crate::query::filter::{FilterInputs, Given};
use crate::query::pattern::{NO_TERM, PatternPart};
use crate::query::view::View;
use crate::relation::{FoundRow, Path, Relation};
use crate::term::Term;
use std::ops::ControlFlow;

/// When the rows of a pattern are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Now,
    Before,
}

/// What is looked at: spaces as they are now, and what has changed in each.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) view: View<'a>,
    /// For each space of the view, what has changed.
    pub(super) changed: &'a [&'a [RowsOfLength]],
    /// Whether a row is there or not, and copies do not count.
    pub(super) are_sets: bool,
}

/// A row that a pattern matches.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    row: &'a [Term],
    copies: i64,
    order: u64,
}

/// Which space a row lies in is said by these bits of its order.
const SPACE_SHIFT: u32 = 57;
/// A row that has gone comes after those that are there.
const GONE: u64 = 1 << 56;

/// A way in which patterns match.
pub(super) struct DeltaMatch<'w> {
    /// What variables are bound to.
    pub(super) answer: &'w [Term],
    /// How many copies there are of it.
    pub(super) count: i64,
    /// The orders of its rows, by the numbers of their patterns.
    pub(super) orders: &'w [u64],
}

/// A walk through the ways in which patterns match.
pub(super) struct Walk<'a> {
    scene: Scene<'a>,
    made: &'a Made,
    patterns: &'a [Pattern],
    /// When each pattern is looked at.
    moments: Vec<Moment>,
    rows: Vec<&'a [Term]>,
    orders: Vec<u64>,
    /// Room for what is bound after each step, and for the rows to look at next.
    answers: Vec<Vec<Term>>,
    candidates: Vec<Vec<Candidate<'a>>>,
    /// Room for what is known of the rows of a pattern, and for the numbers of those that are found.
    known: Vec<(Path, Term)>,
    numbers: Vec<u32>,
    /// How many rows were looked at.
    pub(super) looked_at: u64,
}

impl<'a> Walk<'a> {
    /// Through some patterns of a query.
    pub(super) fn new(scene: Scene<'a>, made: &'a Made, patterns: &'a [Pattern], moment: Moment) -> Self {
        let count = patterns.len();
        Self {
            scene,
            made,
            patterns,
            moments: vec![moment; count],
            rows: vec![&[]; count],
            orders: vec![0; count],
            answers: vec![Vec::new(); count + 1],
            candidates: vec![Vec::new(); count + 1],
            known: Vec::new(),
            numbers: Vec::new(),
            looked_at: 0,
        }
    }

    /// Says when a pattern is looked at.
    pub(super) fn look_at(&mut self, pattern: usize, moment: Moment) {
        self.moments[pattern] = moment;
    }

    /// Hands out the ways that go on from an answer, in no order that matters; `tested` are the bits of its variables for which tests
    /// were made.
    pub(super) fn go_on_from(
        &mut self,
        answer: &[Term],
        tested: u64,
        found: &mut dyn FnMut(DeltaMatch<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.take_up(answer);
        let left = (0..self.patterns.len()).fold(0, |left, pattern| left | 1 << pattern);
        if !self.passes(tested, 0) {
            return ControlFlow::Continue(());
        }
        self.extend((0, left), tested, 1, found)
    }

    /// Hands out the ways in which a pattern matches a row, the others going on from there.
    pub(super) fn begin_with(
        &mut self,
        (pattern, row, count): (usize, &'a [Term], i64),
        width: usize,
        found: &mut dyn FnMut(DeltaMatch<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.take_up(&[]);
        self.answers[0].resize(width, NO_TERM);
        let bound = self.patterns[pattern].variables;
        if !self.matches(pattern, row, 0) || !self.passes(0, 0) {
            return ControlFlow::Continue(());
        }
        (self.rows[pattern], self.orders[pattern]) = (row, 0);
        let all = (0..self.patterns.len()).fold(0, |left, pattern| left | 1 << pattern);
        self.extend((0, all & !(1 << pattern)), bound, count, found)
    }

    fn take_up(&mut self, answer: &[Term]) {
        self.answers[0].clear();
        self.answers[0].extend_from_slice(answer);
    }

    /// Binds the variables of a pattern by a row, in the answer after `depth` steps; `false` if it does not match.
    fn matches(&mut self, pattern: usize, row: &[Term], depth: usize) -> bool {
        self.patterns[pattern].matches(row, &mut self.answers[depth], self.scene.view.terms)
    }

    /// Whether the answer after `depth` steps passes the tests that can be made of it and could not be before.
    fn passes(&self, tested: u64, depth: usize) -> bool {
        let (answer, made) = (&self.answers[depth], self.made);
        if made.filters.is_empty() {
            return true;
        }
        let inputs = FilterInputs::of_data(&made.values);
        let given = Given { parameters: &[], filters: &inputs };
        let is_bound = |bits: u64| (0..64).all(|place| bits >> place & 1 == 0 || answer[place] != NO_TERM);
        let mut due = made.filters.iter().filter(|(bits, _)| bits & !tested != 0 && is_bound(*bits));
        due.all(|(_, filter)| filter.value(answer, given, self.scene.view) == Some(!filter.drops()))
    }

    fn extend(
        &mut self,
        (depth, left): (usize, u64),
        tested: u64,
        count: i64,
        found: &mut dyn FnMut(DeltaMatch<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if left == 0 {
            return self.complete(depth, count, found);
        }
        let pattern = self.next(left, depth);
        self.find_candidates(pattern, depth);
        let count_of_candidates = self.candidates[depth].len();
        self.looked_at += count_of_candidates as u64;
        let bound = tested | self.patterns[pattern].variables;
        for place in 0..count_of_candidates {
            let Candidate { row, copies, order } = self.candidates[depth][place];
            let (before, after) = self.answers.split_at_mut(depth + 1);
            after[0].clear();
            after[0].extend_from_slice(&before[depth]);
            if self.matches(pattern, row, depth + 1) && self.passes(tested, depth + 1) {
                (self.rows[pattern], self.orders[pattern]) = (row, order);
                self.extend((depth + 1, left & !(1 << pattern)), bound, count * copies, found)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Hands out a way. Of atoms that are equal and differ (`1` and `1.0`) a variable is bound to the first as patterns are written.
    fn complete(
        &mut self,
        depth: usize,
        count: i64,
        found: &mut dyn FnMut(DeltaMatch<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if self.scene.view.terms.has_keys() {
            let variables = self.patterns.iter().fold(0, |bits, pattern| bits | pattern.variables);
            let answer = self.answers[depth].iter_mut().enumerate();
            answer.filter(|(place, _)| variables >> place & 1 == 1).for_each(|(_, term)| *term = NO_TERM);
            for pattern in 0..self.patterns.len() {
                let is_match = self.matches(pattern, self.rows[pattern], depth);
                debug_assert!(is_match, "what matched in one order matches in another");
            }
        }
        found(DeltaMatch { answer: &self.answers[depth], count, orders: &self.orders })
    }

    /// The pattern with the fewest rows to look at, among those that are left.
    fn next(&mut self, left: u64, depth: usize) -> usize {
        let first = left.trailing_zeros() as usize;
        if left.count_ones() == 1 {
            return first;
        }
        let mut known = std::mem::take(&mut self.known);
        let places = (first..self.patterns.len()).filter(|place| left >> place & 1 == 1);
        let next = places.min_by_key(|&place| self.expected(place, depth, &mut known)).unwrap_or(first);
        self.known = known;
        next
    }

    /// How many rows are looked at for a pattern, given the answer after `depth` steps.
    fn expected(&self, pattern: usize, depth: usize, known: &mut Vec<(Path, Term)>) -> usize {
        self.note_known(pattern, depth, known);
        if known.iter().any(|&(_, key)| key == NO_TERM) {
            return 0;
        }
        let (length, terms) = (self.patterns[pattern].length, self.scene.view.terms);
        let asked = self.scene.view.spaces.iter().enumerate().filter(|(space, _)| self.patterns[pattern].asks(*space));
        let spaces = asked.map(|(_, contents)| contents.relation_of_length(length));
        let is_whole = self.is_whole(pattern, known);
        spaces.map(|relation| if is_whole { 1 } else { relation.expected(known, terms) }).sum()
    }

    /// Puts down what is known of the rows of a pattern.
    fn note_known(&self, pattern: usize, depth: usize, known: &mut Vec<(Path, Term)>) {
        let (answer, terms) = (&self.answers[depth], self.scene.view.terms);
        let key = |part: PatternPart| match part {
            PatternPart::Key(key) => Some(key),
            PatternPart::Variable(variable) => {
                let bound = answer[variable as usize];
                (bound != NO_TERM).then(|| terms.key(bound))
            }
            _ => None,
        };
        known.clear();
        known.extend(self.patterns[pattern].paths.iter().filter_map(|&(path, part)| Some((path, key(part)?))));
    }

    /// Whether each column is known.
    fn is_whole(&self, pattern: usize, known: &[(Path, Term)]) -> bool {
        let Pattern { is_flat, length, .. } = self.patterns[pattern];
        is_flat && length > 0 && known.len() == length
    }

    /// Finds the rows to look at for a pattern, given the answer after `depth` steps.
    fn find_candidates(&mut self, pattern: usize, depth: usize) {
        let (mut known, mut numbers) = (std::mem::take(&mut self.known), std::mem::take(&mut self.numbers));
        let mut candidates = std::mem::take(&mut self.candidates[depth]);
        candidates.clear();
        self.note_known(pattern, depth, &mut known);
        // What is in no dictionary is in no row.
        if known.iter().all(|&(_, key)| key != NO_TERM) {
            self.look_up(pattern, &mut known, &mut numbers, &mut candidates);
        }
        (self.known, self.numbers, self.candidates[depth]) = (known, numbers, candidates);
    }

    /// Adds the rows of a pattern of which this is known.
    fn look_up(
        &self,
        pattern: usize,
        known: &mut [(Path, Term)],
        numbers: &mut Vec<u32>,
        candidates: &mut Vec<Candidate<'a>>,
    ) {
        let Scene { view, changed, are_sets } = self.scene;
        let (length, moment) = (self.patterns[pattern].length, self.moments[pattern]);
        let is_whole = self.is_whole(pattern, known);
        if is_whole {
            known.sort_unstable();
        }
        let whole: Vec<Term> = if is_whole { known.iter().map(|&(_, key)| key).collect() } else { Vec::new() };
        let asked = view.spaces.iter().enumerate().filter(|(space, _)| self.patterns[pattern].asks(*space));
        for (space, contents) in asked {
            let changes = match moment {
                Moment::Before => changed[space].iter().find(|rows| rows.length == length),
                Moment::Now => None,
            };
            let mut put = |relation: &'a Relation, order: u64, is_gone: bool| {
                numbers.clear();
                if is_whole {
                    relation.find_rows(&whole, view.terms, numbers);
                } else {
                    relation.narrow(known, view.terms, numbers);
                }
                let found = numbers.iter().map(|&number| relation.found(number));
                candidates.extend(found.filter_map(|FoundRow { terms: row, copies, number }| {
                    let came = changes.filter(|_| !is_gone).map_or(0, |changes| changes.count_of(row));
                    let copies = if are_sets { i64::from(copies.min(1)) } else { i64::from(copies) } - came;
                    (copies > 0).then_some(Candidate { row, copies, order: order | number })
                }));
            };
            let order = (space as u64) << SPACE_SHIFT;
            put(contents.relation_of_length(length), order, false);
            if let Some(changes) = changes.filter(|changes| !changes.gone().is_empty()) {
                put(changes.gone(), order | GONE, true);
            }
        }
    }
}
