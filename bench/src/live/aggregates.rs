//! Counts and minima by key, and the first answers, while rows come and go: what a commit takes does not depend on how many rows there are.
//!
//! The peer is the same with a hundredth of the rows, a group of as many rows each.

use super::base::Base;
use super::{ROUNDS, SUITE};
use crate::compare::{Case, contest};
use crate::random::Random;
use crate::row::Row;
use crate::{Plan, Rows};
use metroon::LiveRequest;
use std::error::Error;

const ROWS: u64 = 1_000_000;
/// How many rows a group has, about.
const GROUP: u64 = 100;
const CHANGES: u64 = 2_000;
/// What the larger one may take beside the smaller one: memory that is not in the caches.
const LEAST: f64 = 0.5;

type Request = fn() -> LiveRequest;

const CASES: &[(&str, Request)] = &[
    ("counts by key", || orders().template("($who $count)").count("$count")),
    ("sums by key", || orders().template("($who $price)").sum("$price")),
    ("minima by key", || orders().template("($who $price)").min("$price")),
    ("the ten greatest", || orders().template("($who $price)").greatest(10, "$price")),
    ("the two least of each key", || orders().template("($who $price)").least(2, "$price").within("$who")),
];

fn orders() -> LiveRequest {
    LiveRequest::new("(order $id $who $price)")
}

/// Orders that come and go.
struct Orders {
    random: Random,
    groups: usize,
    held: Vec<String>,
    made: u64,
}

impl Orders {
    fn new(rows: u64) -> Self {
        let groups = (rows / GROUP).max(1) as usize;
        let mut orders = Self { random: Random::new(7), groups, held: Vec::new(), made: 0 };
        for _ in 0..rows {
            orders.add();
        }
        orders
    }

    fn add(&mut self) -> String {
        self.made += 1;
        let (who, price) = (self.random.below(self.groups), self.random.below(1_000_000));
        let order = format!("(order o{} p{who} {price})", self.made);
        self.held.push(order.clone());
        order
    }

    /// Makes `count` commits: an order comes, another one goes, in turn.
    fn changes(&mut self, count: u64) -> Vec<String> {
        let mut change = |number: u64| {
            if number.is_multiple_of(2) {
                return self.add();
            }
            let place = self.random.below(self.held.len());
            format!("!(remove-atom &self {})", self.held.swap_remove(place))
        };
        (0..count).map(&mut change).collect()
    }
}

pub(super) fn rows(plan: &Plan) -> Rows {
    CASES.iter().map(|(name, request)| row(plan, name, request)).collect()
}

fn row(plan: &Plan, name: &str, request: &Request) -> Result<Row, Box<dyn Error>> {
    let (many, few) = (plan.scaled(ROWS), plan.scaled(ROWS) / 100);
    let side = |rows: u64| {
        let orders = Orders::new(rows);
        let base = Base::new(&orders.held.join("\n"), &[request()])?;
        Ok::<_, Box<dyn Error>>((orders, base))
    };
    let (mut large, mut small) = (side(many)?, side(few)?);
    let (rounds, n) = (plan.rounds(ROUNDS), plan.scaled(CHANGES));
    let note = format!("{many} rows and {few}, {GROUP} of a key; a row comes or goes in turn, one a commit");
    let case =
        Case { suite: SUITE, name: (*name).to_owned(), n, peer: "the same, a hundredth of the rows", rounds, note };
    let run = |(orders, base): &mut (Orders, Base)| {
        let (clock, _) = base.commit_each(orders.changes(n))?;
        // Other rows, other answers; the work is as many commits.
        Ok(clock.done(n))
    };
    contest(case, Some((LEAST, "the issue, but for caches")), &mut || run(&mut large), &mut || run(&mut small))
}
