//! What loops and joins are estimated to cost, from how many rows the patterns have and how those spread over keys, as a
//! [sample](super::sample) shows.
//!
//! 1. Loops bind a key once for each of its rows, so it meets long lists more often than short ones: it is taken to have as many rows as
//!    that of a row taken by chance, and a hub counts as often as it occurs. A join binds it once.
//! 2. Columns are taken to be independent of each other.
//!
//! All costs are nanoseconds on a machine of 2020 or so: only their ratios matter.
//!
//! Orders are sought in time that is linear in the patterns but for a logarithm: a key is looked at again only where it may have changed.

use super::by_least::{Key, by_least};
use rustc_hash::{FxHashMap, FxHashSet};

/// Finding the rows of a key.
pub(super) const LOOK_UP_NS: f64 = 60.0;
/// Looking at a row, or making an answer of it.
pub(super) const ROW_NS: f64 = 8.0;
/// Seeking a value in a level of a trie.
const SEEK_NS: f64 = 10.0;
/// Sorting the terms of a trie, each.
pub(super) const SORT_TERM_NS: f64 = 12.0;
/// How many first patterns or variables are tried.
const STARTS_MAX: usize = 16;
/// Putting an answer into its place, for each doubling of the number of answers.
const ORDER_NS: f64 = 3.0;

/// What is known of the rows of a pattern.
pub(super) struct PatternRows {
    pub(super) rows: f64,
    pub(super) columns: Vec<ColumnRows>,
}

/// What is known of a column with a variable.
pub(super) struct ColumnRows {
    pub(super) variable: u32,
    /// How many different keys there are.
    pub(super) keys: f64,
    /// How many rows a key has that is taken from a row by chance.
    pub(super) rows_of_key: f64,
}

/// The share of the answers that it tests which a filter is taken to leave.
const LEFT_BY_FILTER: f64 = 0.5;

/// The filters of a query while variables are bound one after the other.
struct Tested {
    /// How many of its variables are not bound, for each filter.
    unbound: Vec<usize>,
    /// The filters of each variable.
    of: FxHashMap<u32, Vec<usize>>,
}

impl Tested {
    /// Those of filters that are given by their variables.
    fn new(filters: &[Vec<u32>]) -> Self {
        let mut of: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        let mut unbound = vec![0; filters.len()];
        for (number, filter) in filters.iter().enumerate() {
            for &variable in filter {
                let filters = of.entry(variable).or_default();
                if filters.last() != Some(&number) {
                    filters.push(number);
                    unbound[number] += 1;
                }
            }
        }
        Self { unbound, of }
    }

    /// What the filters leave that can be made once a variable is bound as well.
    fn left_with(&mut self, variable: u32) -> f64 {
        let mut left = 1.0;
        for filter in self.of.remove(&variable).unwrap_or_default() {
            self.unbound[filter] -= 1;
            if self.unbound[filter] == 0 {
                left *= LEFT_BY_FILTER;
            }
        }
        left
    }
}

/// Which patterns have which variables.
pub(super) struct Having(FxHashMap<u32, Vec<usize>>);

impl Having {
    pub(super) fn new(patterns: &[PatternRows]) -> Self {
        let mut having: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for (number, pattern) in patterns.iter().enumerate() {
            for column in &pattern.columns {
                let numbers = having.entry(column.variable).or_default();
                if numbers.last() != Some(&number) {
                    numbers.push(number);
                }
            }
        }
        Self(having)
    }

    /// The patterns that have a variable.
    fn of(&self, variable: u32) -> &[usize] {
        self.0.get(&variable).map_or(&[], Vec::as_slice)
    }
}

/// What an order of patterns or variables comes to.
#[derive(Clone, Debug)]
pub(super) struct Estimate {
    pub(super) cost_ns: f64,
    /// What it costs if answers are only counted.
    pub(super) counted_ns: f64,
    /// How many answers there are so far after each pattern or variable.
    pub(super) after_each: Vec<f64>,
}

impl Estimate {
    /// What putting the answers into order costs.
    pub(super) fn order_ns(&self) -> f64 {
        let answers = self.after_each.last().copied().unwrap_or(1.0);
        ORDER_NS * answers * answers.max(2.0).log2()
    }
}

impl PatternRows {
    /// How many rows are looked at where these variables are bound, and how many of them match.
    pub(super) fn fan_out(&self, is_bound: impl Fn(u32) -> bool) -> [f64; 2] {
        let bound = || self.columns.iter().filter(|column| is_bound(column.variable));
        if bound().count() == self.columns.len() && !self.columns.is_empty() {
            let all: f64 = self.columns.iter().map(|column| column.keys).product();
            return [0.0, (self.rows / all).min(1.0)];
        }
        let looked_at = bound().map(|column| column.rows_of_key).fold(self.rows, f64::min);
        let fraction: f64 = bound().map(|column| 1.0 / column.keys).product();
        let narrowest = bound().map(|column| column.keys).fold(1.0, f64::max);
        [looked_at, looked_at * fraction * narrowest]
    }

    /// How many values a variable has here where others are bound. A join binds each value once, not once for each of its rows.
    fn values(&self, variable: u32, is_bound: impl Fn(u32) -> bool) -> f64 {
        let is_other = |column: &&ColumnRows| column.variable != variable && is_bound(column.variable);
        let bound: f64 = self.columns.iter().filter(is_other).map(|column| column.keys).product();
        let keys = self.columns.iter().find(|column| column.variable == variable).map_or(1.0, |column| column.keys);
        keys.min(self.rows / bound)
    }

    /// How many values are gone through for a variable: between what a value has that is bound once, and what it has as often as it
    /// occurs, since those with many are met again for the values of other variables.
    pub(super) fn values_walked(&self, variable: u32, is_bound: impl Fn(u32) -> bool) -> f64 {
        let others = self.columns.iter().filter(|column| column.variable != variable && is_bound(column.variable));
        let often = others.map(|column| column.rows_of_key).fold(f64::MAX, f64::min);
        let once = self.values(variable, &is_bound);
        (once * often.clamp(once, self.rows.max(once))).sqrt().min(self.rows.max(1.0))
    }
}

/// What loops over the patterns in an order cost; variables below `first_parameter` are not bound at the beginning.
pub(super) fn loops(patterns: &[PatternRows], filters: &[Vec<u32>], order: &[usize], first_parameter: u32) -> Estimate {
    let mut bound: FxHashSet<u32> = FxHashSet::default();
    let mut tested = Tested::new(filters);
    let (mut cost_ns, mut counted_ns, mut answers, mut after_each) = (0.0, 0.0, 1.0, Vec::new());
    for &number in order {
        let [looked_at, matching] =
            patterns[number].fan_out(|variable| variable >= first_parameter || bound.contains(&variable));
        // The rows of the last pattern are only counted.
        counted_ns = cost_ns + answers * LOOK_UP_NS;
        cost_ns += answers * (LOOK_UP_NS + looked_at * ROW_NS);
        let variables = patterns[number].columns.iter().map(|column| column.variable);
        let left: f64 =
            variables.filter(|&variable| bound.insert(variable)).map(|variable| tested.left_with(variable)).product();
        answers *= matching * left;
        after_each.push(answers);
    }
    Estimate { cost_ns: cost_ns + answers * ROW_NS, counted_ns, after_each }
}

/// The cheapest order of loops among those that begin with one of the patterns of the fewest rows and go on with what matches least: of
/// all, or of what shares a variable with those before, as long as there is such a one.
pub(super) fn best_loops(
    patterns: &[PatternRows],
    filters: &[Vec<u32>],
    first_parameter: u32,
) -> (Vec<usize>, Estimate) {
    let having = Having::new(patterns);
    let starts = least(patterns.len(), |number| patterns[number].rows);
    let ways = starts.into_iter().flat_map(|first| [(first, true), (first, false)]);
    let orders = ways.map(|(first, stays_connected)| {
        let mut bound: FxHashSet<u32> = FxHashSet::default();
        let key = |number: usize, bound: &FxHashSet<u32>| {
            let pattern = &patterns[number];
            let is_bound = |variable: u32| variable >= first_parameter || bound.contains(&variable);
            let is_apart = stays_connected && !pattern.columns.iter().any(|column| is_bound(column.variable));
            let [looked_at, matching] = pattern.fan_out(is_bound);
            Key { is_apart, cost: matching + looked_at * ROW_NS / LOOK_UP_NS }
        };
        let order = by_least(
            patterns.len(),
            first,
            |taken, look_again| {
                let variables = patterns[taken].columns.iter().map(|column| column.variable);
                let new: Vec<u32> = variables.filter(|&variable| bound.insert(variable)).collect();
                let changed = new.iter().flat_map(|&variable| having.of(variable));
                changed.for_each(|&number| look_again(number, key(number, &bound)));
            },
            |number| key(number, &FxHashSet::default()),
        );
        let estimate = loops(patterns, filters, &order, first_parameter);
        (order, estimate)
    });
    orders.min_by(|(_, left), (_, right)| left.cost_ns.total_cmp(&right.cost_ns)).expect("there are patterns")
}

/// The first items of an order, if there are many: those with the least of something.
fn least(count: usize, of: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut items: Vec<usize> = (0..count).collect();
    if count > STARTS_MAX {
        items.sort_by(|&left, &right| of(left).total_cmp(&of(right)));
        items.truncate(STARTS_MAX);
        items.sort_unstable();
    }
    items
}

/// What a join that binds variables in an order costs.
pub(super) fn join(
    patterns: &[PatternRows],
    having: &Having,
    filters: &[Vec<u32>],
    order: &[u32],
    first_parameter: u32,
) -> Estimate {
    let mut tested = Tested::new(filters);
    let mut bound: FxHashSet<u32> = FxHashSet::default();
    let (mut cost_ns, mut answers, mut after_each) = (0.0, 1.0, Vec::new());
    // Counting ends where variables are left that stand in one pattern each, and are not tested.
    let is_tested: FxHashSet<u32> = filters.iter().flatten().copied().collect();
    let is_private = |&variable: &u32| having.of(variable).len() <= 1 && !is_tested.contains(&variable);
    let counted = order.len() - order.iter().rev().take_while(|variable| is_private(variable)).count();
    let mut counted_ns = None;
    for (place, &variable) in order.iter().enumerate() {
        if place == counted {
            counted_ns = Some(cost_ns + answers * SEEK_NS * patterns.len() as f64);
        }
        let is_bound = |other: u32| bound.contains(&other);
        let (mut fewest, mut walked, mut most, mut product) = (f64::MAX, f64::MAX, 1.0_f64, 1.0);
        let patterns = having.of(variable).iter().map(|&number| &patterns[number]);
        let having = patterns.len() as f64;
        for pattern in patterns {
            let values = pattern.values(variable, is_bound);
            let keys = pattern.values(variable, |_| false);
            (fewest, most) = (fewest.min(values), most.max(keys));
            walked = walked.min(pattern.values_walked(variable, is_bound));
            product *= values;
        }
        if variable >= first_parameter || having == 0.0 {
            cost_ns += answers * having * SEEK_NS;
        } else {
            cost_ns += answers * having * (SEEK_NS + walked * SEEK_NS);
            answers *= (product / most.powf(having - 1.0)).min(fewest);
        }
        bound.insert(variable);
        answers *= tested.left_with(variable);
        after_each.push(answers);
    }
    Estimate { cost_ns: cost_ns + answers * ROW_NS, counted_ns: counted_ns.unwrap_or(cost_ns), after_each }
}

/// The cheapest order of variables among those that begin with one of the variables of the fewest values and go on with what has the
/// fewest; the parameters come first.
pub(super) fn best_join(
    patterns: &[PatternRows],
    filters: &[Vec<u32>],
    variables: u32,
    (parameters, counts): (&[u32], bool),
) -> (Vec<u32>, Estimate) {
    let having = Having::new(patterns);
    let values = |variable: u32, bound: &FxHashSet<u32>| {
        let patterns = having.of(variable).iter().map(|&number| &patterns[number]);
        let of = patterns.map(|pattern| pattern.values_walked(variable, |other| bound.contains(&other)));
        of.fold(f64::MAX, f64::min)
    };
    let given: FxHashSet<u32> = parameters.iter().copied().collect();
    let starts = least(variables as usize, |variable| values(variable as u32, &given));
    let orders = starts.into_iter().map(|first| {
        let mut bound = given.clone();
        let key =
            |variable: usize, bound: &FxHashSet<u32>| Key { is_apart: false, cost: values(variable as u32, bound) };
        let rest = by_least(
            variables as usize,
            first,
            |taken, look_again| {
                bound.insert(taken as u32);
                let patterns = having.of(taken as u32).iter().map(|&number| &patterns[number]);
                let changed = patterns.flat_map(|pattern| &pattern.columns).map(|column| column.variable);
                let changed: FxHashSet<u32> = changed.filter(|&variable| variable < variables).collect();
                changed.iter().for_each(|&variable| look_again(variable as usize, key(variable as usize, &bound)));
            },
            |variable| key(variable, &given),
        );
        let order: Vec<u32> =
            parameters.iter().copied().chain(rest.into_iter().map(|variable| variable as u32)).collect();
        let estimate = join(patterns, &having, filters, &order, variables);
        (order, estimate)
    });
    let cost = |estimate: &Estimate| if counts { estimate.counted_ns } else { estimate.cost_ns };
    let best = orders.min_by(|(_, left), (_, right)| cost(left).total_cmp(&cost(right)));
    best.unwrap_or_else(|| (parameters.to_vec(), join(patterns, &having, filters, parameters, variables)))
}
