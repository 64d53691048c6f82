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
use super::super::view::View;
use super::estimate::{self, PatternRows, SORT_TERM_NS};
use super::pattern::JoinPattern;
use super::prepared::{Ended, Join, Room};
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
    /// Whether the last execution was a join.
    has_joined: bool,
    /// Whether answers are only counted.
    counts: bool,
    /// Whether a join is taken to sort all it needs each time.
    forgets_sorted: bool,
    /// What a join saves against the loops.
    saved_ns: f64,
    /// What joins would have saved since the last sorting.
    saved_sum_ns: f64,
}

/// The way that was taken last, and how many answers were expected so far after each step.
pub(in crate::query) enum JoinStrategy<'a> {
    /// Loops over the patterns in an order, or as written.
    Loops { order: Option<&'a [usize]>, estimates: &'a [f64] },
    /// A join that binds variables in an order.
    Join { order: &'a [u32], estimates: &'a [f64] },
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
            has_joined: false,
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

    /// Adds the answers, in the order of the patterns as written; `None` if those are to be looped over.
    pub(in crate::query) fn execute(
        &mut self,
        view: View<'_>,
        given: Given<'_>,
        room: Room<'_>,
        should_stop: &dyn Fn() -> bool,
    ) -> Option<Ended> {
        self.has_joined = self.joins_now(view);
        if self.has_joined
            && let Some(join) = &self.join
        {
            return join.execute(view, given, room, should_stop);
        }
        self.reordered.as_ref()?.execute(view, given, room, should_stop)
    }

    /// How many answers there are, by a join; `None` if that does not pay.
    pub(in crate::query) fn count(
        &mut self,
        view: View<'_>,
        given: Given<'_>,
        after_each: &mut Vec<usize>,
        should_stop: &dyn Fn() -> bool,
    ) -> Option<Ended> {
        self.has_joined = self.joins_now(view);
        self.join.as_ref().filter(|_| self.has_joined)?.count(view, given, after_each, should_stop)
    }

    /// Loops over the patterns in the order that was chosen, to count the answers; `None` if that is the order in which they are written.
    pub(in crate::query) fn other_loops(&self) -> Option<Made<'_>> {
        self.reordered.as_ref().map(Reordered::made)
    }

    /// The way that was taken last.
    pub(in crate::query) fn last_way(&self) -> JoinStrategy<'_> {
        let [loops, joined] = &self.estimates;
        match &self.join {
            Some(join) if self.has_joined => JoinStrategy::Join { order: &join.order, estimates: joined },
            _ => JoinStrategy::Loops {
                order: self.reordered.as_ref().map(|reordered| &*reordered.order),
                estimates: loops,
            },
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
