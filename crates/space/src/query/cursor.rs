//! The solutions of a query of a snapshot one after the other, found in batches as they are taken.
//!
//! 1. If rows answer the query, they are [searched](super::search) depth first. The first batch is small, and parts grow up to a limit.
//! 2. Otherwise all solutions are found at the beginning, by unification.
//!
//! The order is that of [`Snapshot::query`]. A snapshot does not change, so a cursor may be kept as long as is wanted.

use super::executor::Executor;
use super::filter::Given;
use super::pattern::Variables;
use super::plan::Plan;
use super::question::Asked;
use super::search::Search;
use super::solutions::Queried;
use crate::atom::{Atom, Solution, Variable, VariableSource};
use crate::snapshot::Snapshot;

/// How many answers the first batch has, about.
const ANSWERS_FIRST: usize = 16;

/// The solutions of a query; see [`Snapshot::cursor`].
pub struct Cursor {
    snapshot: Snapshot,
    found: CursorAnswers,
}

enum CursorAnswers {
    Rows(Box<Rows>),
    Atoms(std::vec::IntoIter<Solution>),
}

/// Answers that are rows, as far as they were found.
struct Rows {
    plan: Plan,
    names: Vec<Variable>,
    executor: Executor,
    /// How many answers the batch has, and which comes next.
    count: usize,
    next: usize,
    search: Search,
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
                let (executor, search) = (Executor::default(), Search::beginning_with(ANSWERS_FIRST));
                CursorAnswers::Rows(Box::new(Rows { plan, names, executor, count: 0, next: 0, search }))
            }
            None => {
                let solutions = snapshot.solutions_in_part(query, source, &|| false);
                CursorAnswers::Atoms(solutions.expect("nobody gives up").into_iter())
            }
        };
        Cursor { snapshot, found }
    }
}

impl Rows {
    /// Finds the next batch; `false` if there is none.
    fn advance(&mut self, snapshot: &Snapshot) -> bool {
        let Self { plan, executor, search, .. } = self;
        let batch = snapshot.with_view(|view| {
            let mut execution = executor.begin(view, (Asked::All, Given::nothing()), &|| false);
            execution.advance_search(search, plan.made()).ok()
        });
        self.next = 0;
        self.count = batch.expect("a view of a snapshot stays one, and any number of rows may be looked at");
        self.count > 0
    }
}

impl Iterator for Cursor {
    type Item = Solution;

    fn next(&mut self) -> Option<Solution> {
        let Self { snapshot, found } = self;
        let rows = match found {
            CursorAnswers::Rows(rows) => rows,
            CursorAnswers::Atoms(solutions) => return solutions.next(),
        };
        if rows.next == rows.count && !rows.advance(snapshot) {
            return None;
        }
        let terms = rows.executor.answers().get(rows.next).iter().map(|&term| snapshot.terms().atom(term).clone());
        rows.next += 1;
        Some(rows.names.iter().cloned().zip(terms).collect())
    }

    /// How many solutions are left, none of which is made.
    fn count(self) -> usize {
        let Self { snapshot, found } = self;
        let mut rows = match found {
            CursorAnswers::Rows(rows) => rows,
            CursorAnswers::Atoms(solutions) => return solutions.len(),
        };
        let mut count = rows.count - rows.next;
        while rows.advance(&snapshot) {
            count += rows.count;
        }
        count
    }
}
