//! Choosing how several patterns are answered.
//!
//! 1. Loops in the order in which the patterns are written are kept unless another order of loops is estimated to cost half as much:
//!    they find answers in order, and nothing is sorted.
//! 2. A join is chosen if it costs less than two thirds of the loops, its sorting included. What has been sorted serves until rows
//!    change. If sorting alone makes it too expensive, what joins would have saved is added up from one execution to the next, and it is
//!    sorted as soon as that would have paid for it: never more than twice the cost of the better choice is paid.

use super::super::loops::Loops;
use super::super::view::View;
use super::estimate::{self, PatternRows, SORT_TERM_NS};
use super::leapfrog::{Ended, Join};
use super::pattern::JoinPattern;
use super::reorder::Reordered;
use crate::term::Term;

/// Another order of loops is to cost at most so much of that of the patterns as written.
const REORDERED_COST_MAX: f64 = 0.5;
/// A join is to cost at most so much of loops.
const JOIN_COST_MAX: f64 = 0.66;
/// Relations may differ by so many rows from those it was chosen for, beside having doubled or halved.
const ROWS_SLACK: u32 = 64;

/// How several patterns are answered.
pub(in crate::query) struct Chosen {
    /// For each pattern its length, and how many rows the relations of that length had.
    sizes: Vec<(usize, u32)>,
    /// Loops in another order; `None` for the patterns as written.
    reordered: Option<Reordered>,
    join: Option<Join>,
    /// What a join saves against the loops.
    saved_ns: f64,
    /// What joins would have saved since the last sorting.
    saved_sum_ns: f64,
}

/// How many rows of a length there are.
fn rows_of_length(length: usize, view: View<'_>) -> u32 {
    view.spaces.iter().map(|contents| contents.relation_of_length(length).len()).sum()
}

impl Chosen {
    /// Chooses for the rows that there are.
    pub(in crate::query) fn new(loops: &Loops, view: View<'_>) -> Self {
        let as_written = Self {
            sizes: loops.steps.iter().map(|step| (step.length, rows_of_length(step.length, view))).collect(),
            reordered: None,
            join: None,
            saved_ns: 0.0,
            saved_sum_ns: 0.0,
        };
        let query = &loops.patterns;
        let Some(patterns) = JoinPattern::all(query) else { return as_written };
        let sources: Vec<_> = patterns.iter().map(|pattern| pattern.sources(view)).collect();
        if !sources.iter().all(|sources| sources.can_be_joined()) {
            return as_written;
        }
        let variables = query.variables as u32;
        let of = patterns.iter().zip(&sources);
        let rows: Vec<PatternRows> =
            of.map(|(pattern, sources)| PatternRows::of(pattern, sources, view.terms)).collect();
        let mut parameters: Vec<u32> =
            patterns.iter().flat_map(|pattern| &pattern.variables).map(|&(variable, _)| variable).collect();
        parameters.retain(|&variable| variable >= variables);
        parameters.sort_unstable();
        parameters.dedup();
        let written: Vec<usize> = (0..patterns.len()).collect();
        let mut loops_ns = estimate::loops(&rows, &written, variables).cost_ns;
        let (order, best) = estimate::best_loops(&rows, variables);
        let reordered_ns = best.cost_ns + best.order_ns();
        let reordered = (order != written && reordered_ns < REORDERED_COST_MAX * loops_ns).then(|| {
            loops_ns = reordered_ns;
            Reordered::new(query, &order)
        });
        let (order, join) = estimate::best_join(&rows, variables, &parameters);
        let join_ns = join.cost_ns + join.order_ns();
        let join = (join_ns < JOIN_COST_MAX * loops_ns).then(|| Join::new(query, patterns, order));
        Self { reordered, join, saved_ns: loops_ns - join_ns, ..as_written }
    }

    /// Whether it was chosen for about as many rows as there are.
    pub(in crate::query) fn is_for(&self, view: View<'_>) -> bool {
        self.sizes.iter().all(|&(length, before)| {
            let now = rows_of_length(length, view);
            now / 2 <= before.saturating_add(ROWS_SLACK) && before / 2 <= now.saturating_add(ROWS_SLACK)
        })
    }

    /// Adds the answers, in the order of the patterns as written; `None` if those are to be looped over.
    pub(in crate::query) fn execute(
        &mut self,
        view: View<'_>,
        parameters: &[Term],
        answers: &mut Vec<Term>,
        should_stop: &dyn Fn() -> bool,
    ) -> Option<Ended> {
        if self.joins_now(view)
            && let Some(join) = &self.join
        {
            return join.execute(view, parameters, answers, should_stop);
        }
        self.reordered.as_ref()?.execute(view, parameters, answers, should_stop)
    }

    /// Whether a join pays, what is to be sorted for it included.
    fn joins_now(&mut self, view: View<'_>) -> bool {
        let Some(join) = &self.join else { return false };
        let sort_ns = join.terms_to_sort(view) * SORT_TERM_NS;
        if sort_ns == 0.0 {
            return true;
        }
        self.saved_sum_ns += self.saved_ns;
        let pays = sort_ns < self.saved_sum_ns;
        if pays {
            self.saved_sum_ns = 0.0;
        }
        pays
    }
}
