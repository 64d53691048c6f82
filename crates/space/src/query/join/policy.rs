//! Choosing how several patterns are answered.
//!
//! 1. Loops in the order in which the patterns are written are kept unless another order of loops is estimated to cost half as much:
//!    they find answers in order, and nothing is sorted.
//! 2. A join is chosen if it costs less than two thirds of the loops, its sorting included. What has been sorted serves until rows
//!    change. If sorting alone makes it too expensive, what joins would have saved is added up from one execution to the next, and it is
//!    sorted as soon as that would have paid for it: never more than twice the cost of the better choice is paid.

use super::super::filter::{Filter, Filters, Given};
use super::super::loops::Loops;
use super::super::made::Made;
use super::super::strategy::{StepOf, Strategy};
use super::super::unfinished::{ShouldStop, Unfinished};
use super::super::view::View;
use super::estimate::{self, PatternRows, SORT_TERM_NS};
use super::pattern::JoinPattern;
use super::prepared::{Join, Room};
use super::reorder::Reordered;

/// Another order of loops is to cost at most this share of that of the patterns as written.
const REORDERED_COST_MAX: f64 = 0.5;
/// A join is to cost at most this share of loops.
const JOIN_COST_MAX: f64 = 0.66;
/// By how many rows relations may differ from those it was chosen for, beside having doubled or halved.
const ROWS_SLACK: u32 = 64;

/// How several patterns are answered.
pub(in crate::query) struct Chosen {
    /// For each pattern its length, which of the spaces it asks, and how many rows the relations of that length had.
    sizes: Vec<(usize, u8, u32)>,
    /// Loops in another order; `None` for the patterns as written.
    reordered: Option<Reordered>,
    join: Option<Join>,
    /// How many answers are expected so far after each step of the loops, and of the join.
    estimates: [Vec<f64>; 2],
    /// Whether answers are only counted.
    counts: bool,
    /// Whether a join is taken to sort all it needs each time.
    forgets_sorted: bool,
    /// What a join saves against the loops.
    saved_ns: f64,
    /// What joins would have saved since the last sorting.
    saved_sum_ns: f64,
}

/// How many rows of a length there are in one of the spaces.
fn rows_of_length(length: usize, place: u8, view: View<'_>) -> u32 {
    view.of(place).iter().map(|contents| contents.relation_of_length(length).len()).sum()
}

impl Chosen {
    /// Chooses for the rows that there are.
    pub(in crate::query) fn new(
        (loops, filters): (&Loops, &Filters),
        view: View<'_>,
        (counts, forgets_sorted): (bool, bool),
    ) -> Self {
        let as_written = Self {
            sizes: loops
                .steps
                .iter()
                .map(|step| (step.length, step.place, rows_of_length(step.length, step.place, view)))
                .collect(),
            reordered: None,
            join: None,
            estimates: [Vec::new(), Vec::new()],
            counts,
            forgets_sorted,
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
        let tested: Vec<Vec<u32>> = filters.all().iter().map(Filter::variables).collect();
        let written: Vec<usize> = (0..patterns.len()).collect();
        let mut loops = estimate::loops(&rows, &tested, &written, variables);
        let mut loops_ns = if counts { loops.counted_ns } else { loops.cost_ns };
        let (order, best) = estimate::best_loops(&rows, &tested, variables);
        let reordered_ns = best.cost_ns + best.order_ns();
        let reordered = (order != written && reordered_ns < REORDERED_COST_MAX * loops_ns).then(|| {
            (loops_ns, loops) = (reordered_ns, best);
            Reordered::new(query, filters.all(), &order)
        });
        let (order, joined) = estimate::best_join(&rows, &tested, variables, (&parameters, counts));
        let join_ns = if counts { joined.counted_ns } else { joined.cost_ns + joined.order_ns() };
        let join =
            (join_ns < JOIN_COST_MAX * loops_ns).then(|| Join::new((query, filters.all()), patterns, order, join_ns));
        let estimates = [loops.after_each, joined.after_each];
        Self { reordered, join, estimates, saved_ns: loops_ns - join_ns, ..as_written }
    }

    /// Whether it was chosen for about as many rows as there are, to be found or to be counted.
    pub(in crate::query) fn is_for(&self, view: View<'_>, counts: bool) -> bool {
        self.counts == counts
            && self.sizes.iter().all(|&(length, place, before)| {
                let now = rows_of_length(length, place, view);
                now / 2 <= before.saturating_add(ROWS_SLACK) && before / 2 <= now.saturating_add(ROWS_SLACK)
            })
    }

    /// How the rows that there are now are gone through. What joins would have saved is added up with each call.
    pub(in crate::query) fn strategy(&mut self, view: View<'_>) -> Strategy {
        if self.joins_now(view) { Strategy::Join } else { self.loops() }
    }

    /// How the patterns are looped over.
    pub(in crate::query) fn loops(&self) -> Strategy {
        if self.reordered.is_some() { Strategy::Reordered } else { Strategy::AsWritten }
    }

    /// Adds the answers, in the order of the patterns as written, by a join or by loops in another order.
    pub(in crate::query) fn execute(
        &self,
        strategy: Strategy,
        (view, given): (View<'_>, Given<'_>),
        room: Room<'_>,
        should_stop: ShouldStop<'_>,
    ) -> Result<usize, Unfinished> {
        match (strategy, &self.join, &self.reordered) {
            (Strategy::Join, Some(join), _) => join.execute(view, given, room, should_stop),
            (Strategy::Reordered, _, Some(reordered)) => reordered.execute(view, given, room, should_stop),
            _ => Err(Unfinished::NotRows),
        }
    }

    /// How many answers there are, by a join.
    pub(in crate::query) fn count(
        &self,
        (view, given): (View<'_>, Given<'_>),
        after_each: &mut Vec<usize>,
        should_stop: ShouldStop<'_>,
    ) -> Result<usize, Unfinished> {
        let join = self.join.as_ref().ok_or(Unfinished::NotRows)?;
        join.count(view, given, after_each, should_stop)
    }

    /// The patterns in another order, if there is one.
    pub(in crate::query) fn other_loops(&self) -> Option<Made<'_>> {
        self.reordered.as_ref().map(Reordered::made)
    }

    /// What the steps of a strategy are about.
    pub(in crate::query) fn steps(&self, strategy: Strategy) -> Option<Vec<StepOf>> {
        match (strategy, &self.join, &self.reordered) {
            (Strategy::Join, Some(join), _) => {
                Some(join.order.iter().map(|&variable| StepOf::Variable(variable)).collect())
            }
            (Strategy::Reordered, _, Some(reordered)) => {
                Some(reordered.order.iter().map(|&number| StepOf::Pattern(number)).collect())
            }
            _ => None,
        }
    }

    /// How many answers are expected so far after each step of a strategy; nothing was expected of a first look.
    pub(in crate::query) fn estimates(&self, strategy: Strategy) -> &[f64] {
        let [loops, joined] = &self.estimates;
        match strategy {
            Strategy::Columns | Strategy::FirstLook => &[],
            Strategy::AsWritten | Strategy::Reordered => loops,
            Strategy::Join => joined,
        }
    }

    /// Whether a join pays, what is to be sorted for it included.
    fn joins_now(&mut self, view: View<'_>) -> bool {
        let Some(join) = &self.join else { return false };
        let sort_ns = join.terms_to_sort(view, self.forgets_sorted) * SORT_TERM_NS;
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
