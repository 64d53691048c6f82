//! The solutions of a query of a snapshot one after the other, found in batches as they are taken.
//!
//! 1. If rows answer the query, a batch is what begins with the next rows that are listed for the first pattern. The first
//!    batch is small, and each is twice as long as the one before it, up to a limit.
//! 2. Otherwise all solutions are found at the beginning, by unification.
//!
//! The order is that of [`Snapshot::query`]. A snapshot does not change, so a cursor may be kept as long as is wanted.

use super::execute::Answers;
use super::filter::Given;
use super::pattern::Variables;
use super::plan::Plan;
use super::solutions::Queried;
use crate::atom::{Atom, Solution, Variable, VariableSource};
use crate::snapshot::Snapshot;

/// How many rows of the first pattern are looked at for the first batch.
const ROWS_FIRST: usize = 16;
/// How many rows are looked at for a batch at most.
const ROWS_MAX: usize = 4096;

/// The solutions of a query; see [`Snapshot::cursor`].
pub struct Cursor {
    snapshot: Snapshot,
    found: Found,
}

enum Found {
    Rows(Box<Rows>),
    Atoms(std::vec::IntoIter<Solution>),
}

/// Answers that are rows, as far as they were found.
struct Rows {
    plan: Plan,
    names: Vec<Variable>,
    answers: Answers,
    /// How many answers the batch has, and which comes next.
    count: usize,
    next: usize,
    /// Which row of the first pattern the next batch begins with, and how many it has; `None` if none are left.
    batch: Option<[usize; 2]>,
}

impl Snapshot {
    /// The solutions of [`Snapshot::query`] one after the other, found as they are taken, as far as rows answer the query: the first
    /// solutions, and the number of all, cost less than all solutions.
    pub fn cursor(&self, query: &Atom, source: &mut VariableSource) -> Cursor {
        let (snapshot, mut plan) = (self.clone(), Plan::default());
        let names = snapshot.with_view(|view| {
            let mut variables = Variables::default();
            let is_put = plan.loops.patterns.put(query, &mut variables, view.terms);
            let are_rows = is_put && plan.make() && !view.may_match_others(&plan, None);
            are_rows.then(|| variables.into_iter().flatten().cloned().collect())
        });
        let found = match names {
            Some(names) => {
                let (answers, batch) = (Answers::default(), Some([0, ROWS_FIRST]));
                Found::Rows(Box::new(Rows { plan, names, answers, count: 0, next: 0, batch }))
            }
            None => {
                let solutions = snapshot.solutions_in_part(query, source, &|| false);
                Found::Atoms(solutions.expect("nobody gives up").into_iter())
            }
        };
        Cursor { snapshot, found }
    }
}

impl Rows {
    /// Finds the next batch that has answers; `false` if there is none.
    fn advance(&mut self, snapshot: &Snapshot) -> bool {
        while let Some([from, rows]) = self.batch {
            let Self { plan, answers, .. } = self;
            let made = plan.made();
            let batch =
                snapshot.with_view(|view| view.find_batch([from, rows], made, Given::nothing(), answers, &|| false));
            let (count, may_go_on) = batch.expect("a view of a snapshot stays one");
            (self.count, self.next) = (count, 0);
            self.batch = may_go_on.then_some([from + rows, (rows * 2).min(ROWS_MAX)]);
            if count > 0 {
                return true;
            }
        }
        false
    }
}

impl Iterator for Cursor {
    type Item = Solution;

    fn next(&mut self) -> Option<Solution> {
        let Self { snapshot, found } = self;
        let rows = match found {
            Found::Rows(rows) => rows,
            Found::Atoms(solutions) => return solutions.next(),
        };
        if rows.next == rows.count && !rows.advance(snapshot) {
            return None;
        }
        let terms = rows.answers.get(rows.next).iter().map(|&term| snapshot.terms().atom(term).clone());
        rows.next += 1;
        Some(rows.names.iter().cloned().zip(terms).collect())
    }

    /// How many solutions are left, none of which is made.
    fn count(self) -> usize {
        let Self { snapshot, found } = self;
        let mut rows = match found {
            Found::Rows(rows) => rows,
            Found::Atoms(solutions) => return solutions.len(),
        };
        let mut count = rows.count - rows.next;
        while rows.advance(&snapshot) {
            count += rows.count;
        }
        count
    }
}
