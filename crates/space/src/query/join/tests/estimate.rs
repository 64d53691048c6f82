//! Orders that are found by looking again only at what changed are those found by looking at everything at each step.

use super::super::estimate::{
    ColumnRows, Estimate, Having, LOOK_UP_NS, PatternRows, ROW_NS, best_join, best_loops, join, loops,
};
use super::Random;
use std::time::{Duration, Instant};

fn any_pattern(random: &mut Random, variables: usize) -> PatternRows {
    let rows = (1 + random.below(1000)) as f64;
    let mut columns: Vec<ColumnRows> = Vec::new();
    for _ in 0..random.below(4) {
        let variable = random.below(variables) as u32;
        if columns.iter().all(|column| column.variable != variable) {
            let keys = (1 + random.below(rows as usize)) as f64;
            columns.push(ColumnRows { variable, keys, rows_of_key: rows / keys * (1 + random.below(3)) as f64 });
        }
    }
    PatternRows { rows, columns }
}

fn has(pattern: &PatternRows, variable: u32) -> bool {
    pattern.columns.iter().any(|column| column.variable == variable)
}

/// The order of loops that begins with a pattern.
fn obvious_loops(patterns: &[PatternRows], first: usize, stays_connected: bool, first_parameter: u32) -> Vec<usize> {
    let mut order = vec![first];
    while order.len() < patterns.len() {
        let is_bound =
            |variable: u32| variable >= first_parameter || order.iter().any(|&done| has(&patterns[done], variable));
        let key = |number: usize| {
            let pattern = &patterns[number];
            let is_apart = stays_connected && !pattern.columns.iter().any(|column| is_bound(column.variable));
            let [looked_at, matching] = pattern.fan_out(is_bound);
            (is_apart, matching + looked_at * ROW_NS / LOOK_UP_NS)
        };
        let rest = (0..patterns.len()).filter(|number| !order.contains(number));
        let next = rest.min_by(|&left, &right| key(left).partial_cmp(&key(right)).expect("they are numbers"));
        order.push(next.expect("patterns are left"));
    }
    order
}

/// The order of variables that begins with a variable.
fn obvious_join(patterns: &[PatternRows], parameters: &[u32], first: u32, variables: u32) -> Vec<u32> {
    let mut order = parameters.to_vec();
    order.push(first);
    while order.len() < parameters.len() + variables as usize {
        let values = |variable: u32| {
            let having = patterns.iter().filter(|pattern| has(pattern, variable));
            let of = having.map(|pattern| pattern.values_walked(variable, |other| order.contains(&other)));
            of.fold(f64::MAX, f64::min)
        };
        let rest = (0..variables).filter(|variable| !order.contains(variable));
        let next = rest.min_by(|&left, &right| values(left).total_cmp(&values(right)));
        order.push(next.expect("variables are left"));
    }
    order
}

#[test]
fn orders_are_those_that_looking_at_everything_finds() {
    let mut random = Random(41);
    for _ in 0..2_000 {
        let variables = 1 + random.below(7);
        let patterns: Vec<PatternRows> =
            (0..1 + random.below(7)).map(|_| any_pattern(&mut random, variables + 2)).collect();
        let filters: Vec<Vec<u32>> = (0..random.below(3))
            .map(|_| (0..random.below(4)).map(|_| random.below(variables) as u32).collect())
            .collect();
        let variables = variables as u32;
        let (order, estimate) = best_loops(&patterns, &filters, variables);
        let orders = (0..patterns.len()).flat_map(|first| [(first, true), (first, false)]);
        let obvious: Vec<(Vec<usize>, Estimate)> = orders
            .map(|(first, stays_connected)| obvious_loops(&patterns, first, stays_connected, variables))
            .map(|order| (order.clone(), loops(&patterns, &filters, &order, variables)))
            .collect();
        let least = obvious.iter().map(|(_, estimate)| estimate.cost_ns).fold(f64::MAX, f64::min);
        let expected = obvious.iter().find(|(_, estimate)| estimate.cost_ns == least).expect("there are patterns");
        assert_eq!((&order, estimate.cost_ns), (&expected.0, least));

        let parameters: Vec<u32> = (variables..variables + 2)
            .filter(|&variable| patterns.iter().any(|pattern| has(pattern, variable)))
            .collect();
        let (order, estimate) = best_join(&patterns, &filters, variables, (&parameters, false));
        let having = Having::new(&patterns);
        let obvious: Vec<(Vec<u32>, f64)> = (0..variables)
            .map(|first| obvious_join(&patterns, &parameters, first, variables))
            .map(|order| (order.clone(), join(&patterns, &having, &filters, &order, variables).cost_ns))
            .collect();
        let least = obvious.iter().map(|(_, cost_ns)| *cost_ns).fold(f64::MAX, f64::min);
        let expected = obvious.iter().find(|(_, cost_ns)| *cost_ns == least).expect("there are variables");
        assert_eq!((&order, estimate.cost_ns), (&expected.0, least));
    }
}

#[test]
fn a_filter_is_counted_where_the_last_of_its_variables_is_bound() {
    let column = |variable| ColumnRows { variable, keys: 10.0, rows_of_key: 1.0 };
    let patterns = [0, 1].map(|first| PatternRows { rows: 10.0, columns: vec![column(first), column(first + 1)] });
    let of = |filters: &[Vec<u32>]| loops(&patterns, filters, &[0, 1], 3).after_each;
    assert_eq!(of(&[]), [10.0, 10.0]);
    assert_eq!(of(&[vec![0, 2], vec![2, 2]]), [10.0, 2.5]);
    assert_eq!(of(&[vec![1], vec![]]), [5.0, 5.0]);
}

#[test]
fn an_order_of_many_patterns_is_found_in_time() {
    let column = |variable| ColumnRows { variable, keys: 100.0, rows_of_key: 1.0 };
    let chain: Vec<PatternRows> =
        (0..2_000).map(|first| PatternRows { rows: 100.0, columns: vec![column(first), column(first + 1)] }).collect();
    let begun = Instant::now();
    let (order, _) = best_loops(&chain, &[], 2_001);
    let (variables, _) = best_join(&chain, &[], 2_001, (&[], false));
    assert_eq!((order.len(), variables.len()), (2_000, 2_001));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}
