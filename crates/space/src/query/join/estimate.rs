//! What loops and joins are estimated to cost, from how many rows the patterns have and how those spread over keys, as a
//! [sample](super::sample) shows.
//!
//! 1. Loops bind a key once for each of its rows, so it meets long lists more often than short ones: it is taken to have as many rows as
//!    that of a row taken by chance, and a hub counts as often as it occurs. A join binds it once.
//! 2. Columns are taken to be independent of each other.
//!
//! All costs are nanoseconds on a machine of 2020 or so: only their ratios matter.

/// Finding the rows of a key.
const LOOK_UP_NS: f64 = 60.0;
/// Looking at a row, or making an answer of it.
const ROW_NS: f64 = 8.0;
/// Seeking a value in a level of a trie.
const SEEK_NS: f64 = 10.0;
/// Sorting the terms of a trie, each.
pub(super) const SORT_TERM_NS: f64 = 12.0;
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

/// What is left by the filters all of whose variables are bound now, but were not before; they are given by their variables.
fn left_by_filters(filters: &[Vec<u32>], was_bound: impl Fn(u32) -> bool, is_bound: impl Fn(u32) -> bool) -> f64 {
    let is_made = |filter: &&Vec<u32>| {
        filter.iter().all(|&variable| is_bound(variable)) && !filter.iter().all(|&variable| was_bound(variable))
    };
    LEFT_BY_FILTER.powi(filters.iter().filter(is_made).count() as i32)
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
    fn has(&self, variable: u32) -> bool {
        self.columns.iter().any(|column| column.variable == variable)
    }

    /// How many rows are looked at where these variables are bound, and how many of them match.
    fn fan_out(&self, is_bound: impl Fn(u32) -> bool) -> [f64; 2] {
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
    fn values_walked(&self, variable: u32, is_bound: impl Fn(u32) -> bool) -> f64 {
        let others = self.columns.iter().filter(|column| column.variable != variable && is_bound(column.variable));
        let often = others.map(|column| column.rows_of_key).fold(f64::MAX, f64::min);
        let once = self.values(variable, &is_bound);
        (once * often.clamp(once, self.rows.max(once))).sqrt().min(self.rows.max(1.0))
    }
}

/// What loops over the patterns in an order cost; variables below `first_parameter` are not bound at the beginning.
pub(super) fn loops(patterns: &[PatternRows], filters: &[Vec<u32>], order: &[usize], first_parameter: u32) -> Estimate {
    let mut bound: Vec<u32> = Vec::new();
    let (mut cost_ns, mut counted_ns, mut answers, mut after_each) = (0.0, 0.0, 1.0, Vec::new());
    for &number in order {
        let [looked_at, matching] =
            patterns[number].fan_out(|variable| variable >= first_parameter || bound.contains(&variable));
        // The rows of the last pattern are only counted.
        counted_ns = cost_ns + answers * LOOK_UP_NS;
        cost_ns += answers * (LOOK_UP_NS + looked_at * ROW_NS);
        let before = bound.len();
        bound.extend(patterns[number].columns.iter().map(|column| column.variable));
        let was_bound = |variable: u32| bound[..before].contains(&variable);
        answers *= matching * left_by_filters(filters, was_bound, |variable| bound.contains(&variable));
        after_each.push(answers);
    }
    Estimate { cost_ns: cost_ns + answers * ROW_NS, counted_ns, after_each }
}

/// The cheapest order of loops among those that begin with some pattern and go on with what matches least: of all, or of what shares a
/// variable with those before, as long as there is such a one.
pub(super) fn best_loops(
    patterns: &[PatternRows],
    filters: &[Vec<u32>],
    first_parameter: u32,
) -> (Vec<usize>, Estimate) {
    let ways = (0..patterns.len()).flat_map(|first| [(first, true), (first, false)]);
    let orders = ways.map(|(first, stays_connected)| {
        let mut order = vec![first];
        while order.len() < patterns.len() {
            let is_bound =
                |variable: u32| variable >= first_parameter || order.iter().any(|&done| patterns[done].has(variable));
            let is_apart = |number: usize| {
                stays_connected && !patterns[number].columns.iter().any(|column| is_bound(column.variable))
            };
            let rest = (0..patterns.len()).filter(|number| !order.contains(number));
            let cost = |&number: &usize| {
                let [looked_at, matching] = patterns[number].fan_out(is_bound);
                (is_apart(number), matching + looked_at * ROW_NS / LOOK_UP_NS)
            };
            let is_less = |left: &usize, right: &usize| {
                let ((left_apart, left), (right_apart, right)) = (cost(left), cost(right));
                left_apart.cmp(&right_apart).then(left.total_cmp(&right))
            };
            order.push(rest.min_by(is_less).expect("patterns are left"));
        }
        let estimate = loops(patterns, filters, &order, first_parameter);
        (order, estimate)
    });
    orders.min_by(|(_, left), (_, right)| left.cost_ns.total_cmp(&right.cost_ns)).expect("there are patterns")
}

/// What a join that binds variables in an order costs.
fn join(patterns: &[PatternRows], filters: &[Vec<u32>], order: &[u32], first_parameter: u32) -> Estimate {
    let (mut cost_ns, mut answers, mut after_each) = (0.0, 1.0, Vec::new());
    // Counting ends where variables are left that stand in one pattern each, and are not tested.
    let is_private = |&variable: &u32| {
        patterns.iter().filter(|pattern| pattern.has(variable)).count() <= 1
            && !filters.iter().flatten().any(|tested| *tested == variable)
    };
    let counted = order.len() - order.iter().rev().take_while(|variable| is_private(variable)).count();
    let mut counted_ns = None;
    for (place, &variable) in order.iter().enumerate() {
        if place == counted {
            counted_ns = Some(cost_ns + answers * SEEK_NS * patterns.len() as f64);
        }
        let is_bound = |other: u32| order[..place].contains(&other);
        let (mut fewest, mut walked, mut most, mut product, mut having) = (f64::MAX, f64::MAX, 1.0_f64, 1.0, 0.0);
        for pattern in patterns.iter().filter(|pattern| pattern.has(variable)) {
            let values = pattern.values(variable, is_bound);
            let keys = pattern.values(variable, |_| false);
            (fewest, most) = (fewest.min(values), most.max(keys));
            walked = walked.min(pattern.values_walked(variable, is_bound));
            product *= values;
            having += 1.0;
        }
        if variable >= first_parameter || having == 0.0 {
            cost_ns += answers * having * SEEK_NS;
        } else {
            cost_ns += answers * having * (SEEK_NS + walked * SEEK_NS);
            answers *= (product / most.powf(having - 1.0)).min(fewest);
        }
        answers *= left_by_filters(filters, is_bound, |other| order[..=place].contains(&other));
        after_each.push(answers);
    }
    Estimate { cost_ns: cost_ns + answers * ROW_NS, counted_ns: counted_ns.unwrap_or(cost_ns), after_each }
}

/// The cheapest order of variables among those that begin with some variable and go on with what has the fewest values; the parameters
/// come first.
pub(super) fn best_join(
    patterns: &[PatternRows],
    filters: &[Vec<u32>],
    variables: u32,
    (parameters, counts): (&[u32], bool),
) -> (Vec<u32>, Estimate) {
    let orders = (0..variables).map(|first| {
        let mut order = parameters.to_vec();
        order.push(first);
        while order.len() < parameters.len() + variables as usize {
            let rest = (0..variables).filter(|variable| !order.contains(variable));
            let values = |&variable: &u32| {
                let having = patterns.iter().filter(|pattern| pattern.has(variable));
                let of = having.map(|pattern| pattern.values_walked(variable, |other| order.contains(&other)));
                of.fold(f64::MAX, f64::min)
            };
            let next = rest.min_by(|left, right| values(left).total_cmp(&values(right))).expect("variables are left");
            order.push(next);
        }
        let estimate = join(patterns, filters, &order, variables);
        (order, estimate)
    });
    let cost = |estimate: &Estimate| if counts { estimate.counted_ns } else { estimate.cost_ns };
    let best = orders.min_by(|(_, left), (_, right)| cost(left).total_cmp(&cost(right)));
    best.unwrap_or_else(|| (parameters.to_vec(), join(patterns, filters, parameters, variables)))
}
