//! Ours beside itself: the same cliques with their patterns written in other orders.
//!
//! 1. The natural order and [`ORDERS`] drawn ones are rules of one program, and each is asked once unmeasured.
//! 2. In each round all of them are asked in turn on one core, and must find the same number of answers.
//! 3. The order with the largest median is the worst one, that with the smallest the best one. Noise makes the worst of many look
//!    worse and the best look better than they are, so the ratio errs on the side of a miss.

use super::cases::{CLIQUE_4, CLIQUE_5, CLIQUES, Query};
use super::cores::on_one_core;
use super::{Ours, SUITE};
use crate::compare::{self, Case, judged, median};
use crate::random::Random;
use crate::row::Row;
use crate::{Plan, Rows};
use std::error::Error;

/// How many orders are drawn, beside the natural one.
const ORDERS: usize = 15;
const ROUNDS: usize = 21;
/// The best order over the worst one must be this at least: the worst takes one and a half times as long.
const RATIO_MIN: f64 = 0.667;
/// The seed of the orders.
const SEED: u64 = 11;

pub(super) fn rows(plan: &Plan) -> Rows {
    let shape = CLIQUES.shape(plan.is_quick);
    let edges = shape.edges();
    let (mut ours, graph) = (Ours::new(&edges)?, shape.note(edges.len()));
    let rows = [("4-cliques", CLIQUE_4), ("5-cliques", CLIQUE_5)]
        .map(|(name, patterns)| row(plan, &mut ours, &graph, (name, patterns)));
    rows.into_iter().collect()
}

/// The natural order, then drawn ones.
fn orders(patterns: &str) -> Vec<String> {
    let mut random = Random::new(SEED);
    let mut shuffled: Vec<&str> = patterns.split(',').collect();
    let drawn = (0..ORDERS).map(|_| {
        (1..shuffled.len()).rev().for_each(|last| shuffled.swap(last, random.below(last + 1)));
        shuffled.join(",")
    });
    std::iter::once(patterns.to_owned()).chain(drawn).collect()
}

fn row(plan: &Plan, ours: &mut Ours, graph: &str, (cliques, patterns): (&str, &str)) -> Result<Row, Box<dyn Error>> {
    let query = CLIQUES.queries.iter().find(|query| query.patterns == patterns).ok_or("no query has these patterns")?;
    let (orders, rounds) = (orders(patterns), plan.rounds(ROUNDS));
    let times = on_one_core(|| times(ours, query, &orders, rounds))?;
    let mut by_median: Vec<usize> = (0..orders.len()).collect();
    by_median.sort_by(|&left, &right| median(times[left].clone()).total_cmp(&median(times[right].clone())));
    let (best, worst) = (by_median[0], by_median[by_median.len() - 1]);
    let note = format!(
        "{graph}; the natural order of the patterns and {ORDERS} drawn ones; the worst is {} and the best {}",
        spaced(&orders[worst]),
        spaced(&orders[best])
    );
    let name = format!("{cliques}, patterns in the worst order");
    let case = Case { suite: SUITE, name, n: 1, peer: "ours, the best order", rounds, note: String::new() };
    let mut row = compare::row(case, (times[worst].clone(), times[best].clone()));
    row.note = judged(&note, Some((RATIO_MIN, "the issue")), row.ratio.map(|ratio| ratio.median));
    Ok(row)
}

/// For each order what it took in each round.
fn times(ours: &mut Ours, query: &Query, orders: &[String], rounds: usize) -> Result<Vec<Vec<f64>>, Box<dyn Error>> {
    let mut numbers = Vec::new();
    for order in orders {
        ours.take_ordered(query, order)?;
        numbers.push(ours.queries);
    }
    let mut times = vec![Vec::new(); orders.len()];
    let mut expected = None;
    for round in 0..=rounds {
        for ((number, order), times) in numbers.iter().zip(orders).zip(&mut times) {
            let asked = ours.ask_number(*number)?;
            let expected = *expected.get_or_insert(asked.checksum);
            if asked.checksum != expected {
                return Err(
                    format!("in the order {order} there are {} answers and not {expected}", asked.checksum).into()
                );
            }
            if round > 0 {
                times.push(asked.elapsed.as_nanos() as f64);
            }
        }
    }
    Ok(times)
}

fn spaced(order: &str) -> String {
    order.replace(',', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{kept_names, names};
    use std::path::PathBuf;

    #[test]
    fn orders_have_the_same_patterns_and_are_different() {
        let sorted = |order: &String| {
            let mut patterns: Vec<String> = order.split(',').map(str::to_owned).collect();
            patterns.sort_unstable();
            patterns
        };
        let orders = orders(CLIQUE_5);
        assert_eq!((orders.len(), orders[0].as_str()), (ORDERS + 1, CLIQUE_5));
        assert!(orders.iter().all(|order| sorted(order) == sorted(&orders[0])));
        assert!(orders[1..].iter().all(|order| *order != orders[0]));
    }

    #[test]
    fn the_part_without_other_processes_runs_small() {
        let plan = Plan { is_quick: true, divisor: 8, only: None, may_install: false, scratch: PathBuf::new() };
        let rows = rows(&plan).unwrap();
        let kept = kept_names(SUITE);
        for name in names(&rows).lines() {
            assert!(kept.contains(name), "{name}: `cargo xtask bench queries --quick` writes the list anew");
        }
        assert!(rows.iter().all(|row| row.ours >= row.peer_figure));
    }
}
