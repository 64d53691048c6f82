//! The schedule with nodes that are not pages: relations of rows with signed counts, and queries over them.
//!
//! What a commit changes comes in as signed rows, as the sinks of a base get them. Each query keeps its answer, takes the differences of what it
//! depends on where they lie, and leaves its own. A query whose answer stays the same ends the wave. After each commit, all answers
//! are what the queries give when they are asked anew.

use proptest::prelude::*;
use schedule::{Node, Run, Schedule};
use std::collections::BTreeMap;

/// A fact, of which the relation has some copies.
type Row = (u8, u8);
/// Rows with how many copies come or go; none with zero.
type Difference = BTreeMap<Row, i64>;

fn add(to: &mut Difference, row: Row, copies: i64) {
    let held = to.entry(row).or_insert(0);
    *held += copies;
    if *held == 0 {
        to.remove(&row);
    }
}

#[derive(Clone, Copy, Debug)]
enum Query {
    /// Facts that somebody states.
    Base,
    /// Rows whose first field is even.
    Even(Node),
    /// Pairs (a, c) for which there is a row (a, b) here and a row (b, c) there.
    Join(Node, Node),
    /// For each first field how many rows have it, at most 3 of them.
    Count(Node),
    /// The rows of both.
    Union(Node, Node),
}

/// A node: what it is, what it holds, and in what that differs from before the wave.
struct Relation {
    query: Query,
    held: Difference,
    difference: Difference,
}

#[derive(Default)]
struct Relations {
    nodes: Vec<Relation>,
    ran: Vec<Node>,
}

impl Relations {
    fn at(&self, node: Node) -> &Relation {
        &self.nodes[node as usize]
    }

    /// What a query answers to whole relations.
    fn answer(&self, query: Query) -> Difference {
        let mut answer = Difference::new();
        match query {
            Query::Base => {}
            Query::Even(of) => self.at(of).held.iter().for_each(|(row, count)| {
                if row.0.is_multiple_of(2) {
                    add(&mut answer, *row, *count);
                }
            }),
            Query::Join(one, other) => join(&self.at(one).held, &self.at(other).held, &mut answer),
            Query::Count(of) => counts(&self.at(of).held).into_iter().for_each(|row| add(&mut answer, row, 1)),
            Query::Union(one, other) => {
                for side in [one, other] {
                    self.at(side).held.iter().for_each(|(row, count)| add(&mut answer, *row, *count));
                }
            }
        }
        answer
    }

    /// What the differences of its dependencies change in the answer of a query.
    fn difference(&self, query: Query) -> Difference {
        let mut difference = Difference::new();
        match query {
            Query::Base => {}
            Query::Even(of) => {
                let even = self.at(of).difference.iter().filter(|(row, _)| row.0.is_multiple_of(2));
                even.for_each(|(row, count)| add(&mut difference, *row, *count));
            }
            Query::Join(one, other) => {
                // Both hold what they held before, and what has come: new one with new other, less what was there before.
                let (left, right) = (self.at(one), self.at(other));
                join(&left.difference, &right.held, &mut difference);
                join(&left.held, &right.difference, &mut difference);
                let mut both = Difference::new();
                join(&left.difference, &right.difference, &mut both);
                both.into_iter().for_each(|(row, count)| add(&mut difference, row, -count));
            }
            Query::Count(of) => {
                let now = counts(&self.at(of).held);
                let mut held = self.at(of).held.clone();
                self.at(of).difference.iter().for_each(|(row, count)| add(&mut held, *row, -count));
                counts(&held).into_iter().for_each(|row| add(&mut difference, row, -1));
                now.into_iter().for_each(|row| add(&mut difference, row, 1));
            }
            Query::Union(one, other) => {
                for side in [one, other] {
                    self.at(side).difference.iter().for_each(|(row, count)| add(&mut difference, *row, *count));
                }
            }
        }
        difference
    }

    /// Takes a difference in; whether it is one.
    fn take(&mut self, node: Node, difference: Difference) -> bool {
        let relation = &mut self.nodes[node as usize];
        for (row, count) in &difference {
            add(&mut relation.held, *row, *count);
        }
        relation.difference = difference;
        !relation.difference.is_empty()
    }
}

fn join(one: &Difference, other: &Difference, into: &mut Difference) {
    for ((a, b), left) in one {
        for ((_, c), right) in other.range((*b, 0)..=(*b, u8::MAX)) {
            add(into, (*a, *c), left * right);
        }
    }
}

fn counts(of: &Difference) -> Vec<Row> {
    let mut counts: BTreeMap<u8, i64> = BTreeMap::new();
    of.iter().for_each(|((a, _), count)| *counts.entry(*a).or_default() += count);
    counts.into_iter().map(|(a, count)| (a, count.clamp(0, 3) as u8)).collect()
}

impl Run for Relations {
    type Error = std::convert::Infallible;

    fn run(&mut self, nodes: &[Node], changed: &mut Vec<Node>) -> Result<(), Self::Error> {
        for &node in nodes {
            self.ran.push(node);
            let difference = self.difference(self.at(node).query);
            if self.take(node, difference) {
                changed.push(node);
            }
        }
        Ok(())
    }
}

/// Relations, and what follows from what.
#[derive(Default)]
struct Board {
    relations: Relations,
    schedule: Schedule,
}

impl Board {
    fn new(queries: &[Query]) -> Self {
        let mut board = Self::default();
        for &query in queries {
            let node = board.relations.nodes.len() as Node;
            board.relations.nodes.push(Relation { query, held: Difference::new(), difference: Difference::new() });
            let dependencies = match query {
                Query::Base => vec![],
                Query::Even(of) | Query::Count(of) => vec![of],
                Query::Join(one, other) | Query::Union(one, other) => vec![one, other],
            };
            board.schedule.set_dependencies(node, &dependencies).expect("what is named was made before");
        }
        board
    }

    /// Takes a commit: signed rows of base relations. Which queries ran, in their order.
    fn commit(&mut self, rows: &[(Node, Row, i64)]) -> Vec<Node> {
        self.relations.nodes.iter_mut().for_each(|relation| relation.difference.clear());
        let mut differences: BTreeMap<Node, Difference> = BTreeMap::new();
        for (node, row, count) in rows {
            add(differences.entry(*node).or_default(), *row, *count);
        }
        let mut changed = Vec::new();
        for (node, difference) in differences {
            if self.relations.take(node, difference) {
                changed.push(node);
            }
        }
        self.relations.ran.clear();
        let wave = self.schedule.propagate(&mut changed, &mut self.relations).expect("a query cannot fail");
        assert_eq!(wave.ran, self.relations.ran.len() as u64);
        self.relations.ran.clone()
    }

    fn held(&self, node: Node) -> Vec<(Row, i64)> {
        self.relations.at(node).held.iter().map(|(row, count)| (*row, *count)).collect()
    }
}

#[test]
fn a_query_over_relations_runs_once_and_only_if_something_differs() {
    use Query::{Base, Count, Even, Join, Union};
    let mut board = Board::new(&[Base, Base, Even(0), Join(2, 1), Union(3, 2), Count(4)]);
    assert_eq!(
        board.commit(&[(0, (2, 7), 1), (1, (7, 9), 1)]),
        [2, 3, 4, 5],
        "the union once, after both of its sides"
    );
    assert_eq!(board.held(4), [((2, 7), 1), ((2, 9), 1)]);
    assert_eq!(board.held(5), [((2, 2), 1)]);
    assert_eq!(board.commit(&[(0, (3, 7), 1)]), [2], "nothing even has come: the wave ends");
    assert_eq!(board.commit(&[(0, (2, 7), 1), (0, (2, 7), -1)]), [], "what comes and goes in one commit is nothing");
    assert_eq!(board.commit(&[(1, (7, 9), -1)]), [3, 4, 5]);
    assert_eq!(board.held(4), [((2, 7), 1)]);
}

fn query(number: u8, nodes: Node) -> Query {
    let other = |step: u8| Node::from(number / 8 * step) % nodes;
    match number % 8 {
        0 => Query::Base,
        1 | 2 => Query::Even(other(1)),
        3..=5 => Query::Join(other(1), other(3)),
        6 => Query::Count(other(1)),
        _ => Query::Union(other(1), other(5)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answers_that_follow_equal_answers_anew(
        numbers in prop::collection::vec(any::<u8>(), 1..12),
        commits in prop::collection::vec(prop::collection::vec((0..2_u32, (0..6_u8, 0..6_u8), -2..3_i64), 0..6), 1..12),
    ) {
        let mut queries = vec![Query::Base, Query::Base];
        for number in numbers {
            queries.push(query(number, queries.len() as Node));
        }
        let mut board = Board::new(&queries);
        for commit in &commits {
            let before: Vec<_> = (0..queries.len() as Node).map(|node| board.held(node)).collect();
            let ran = board.commit(commit);
            let mut once = ran.clone();
            once.sort_unstable();
            once.dedup();
            prop_assert_eq!(once.len(), ran.len(), "each at most once");
            let has_changed = |node: Node| board.held(node) != before[node as usize];
            for (node, &query) in (0..).zip(&queries) {
                if !matches!(query, Query::Base) {
                    prop_assert_eq!(&board.relations.at(node).held, &board.relations.answer(query));
                    let must_run = board.schedule.dependencies(node).iter().any(|&dependency| has_changed(dependency));
                    prop_assert_eq!(ran.contains(&node), must_run, "node {} of {:?}", node, &queries);
                }
            }
        }
    }
}
