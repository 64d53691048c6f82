//! Joins of two, three and four patterns, and a triangle: edges come and go, one a commit or a hundred.

use super::base::{Base, stated};
use super::dataflow::{Dataflow, Shape};
use super::graph::Graph;
use super::{ROUNDS, SUITE};
use crate::compare::{Case, contest};
use crate::row::Row;
use crate::worker::Worker;
use crate::{Plan, Rows, peers};
use metroon::LiveRequest;
use std::error::Error;
use std::process::Command;

/// The edges of the joins, and how many nodes they are between: two edges lead from a node, about.
const EDGES: u64 = 500_000;
const NODES: u64 = 250_000;
/// Changes in a round.
const CHANGES: u64 = 2_000;
/// The edges, nodes and changes beside PyMeTTa, which takes seconds for a change of more.
const EDGES_FEW: u64 = 50_000;
const CHANGES_FEW: u64 = 2;

const DIFFERENTIAL: &str = "differential-dataflow 0.25.1";
const PYMETTA: &str = "PyMeTTa 0.9.4";

/// A query: what it is called, its patterns and template, the same as a dataflow, and how many changes a commit has.
const CASES: &[(&str, &str, &str, Shape, usize)] = &[
    ("two-way join, a row a commit", "(, (edge $a $b) (edge $b $c))", "($a $b $c)", Shape::Path(2), 1),
    ("two-way join, 100 rows a commit", "(, (edge $a $b) (edge $b $c))", "($a $b $c)", Shape::Path(2), 100),
    (
        "three-way join, a row a commit",
        "(, (edge $a $b) (edge $b $c) (edge $c $d))",
        "($a $b $c $d)",
        Shape::Path(3),
        1,
    ),
    (
        "four-way join, a row a commit",
        "(, (edge $a $b) (edge $b $c) (edge $c $d) (edge $d $e))",
        "($a $b $c $d $e)",
        Shape::Path(4),
        1,
    ),
    ("triangles, a row a commit", "(, (edge $a $b) (edge $b $c) (edge $a $c))", "($a $b $c)", Shape::Triangle, 1),
    ("triangles, 100 rows a commit", "(, (edge $a $b) (edge $b $c) (edge $a $c))", "($a $b $c)", Shape::Triangle, 100),
];

pub(super) fn rows(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for &(name, pattern, template, shape, each) in CASES {
        rows.push(beside_differential(plan, name, (pattern, template), shape, each)?);
    }
    rows.push(beside_pymetta(plan)?);
    Ok(rows)
}

/// The query over a graph of a case.
fn ours(graph: &Graph, (pattern, template): (&str, &str)) -> Result<Base, Box<dyn Error>> {
    Base::new(&stated(graph.edges()), &[LiveRequest::new(pattern).template(template)])
}

fn beside_differential(
    plan: &Plan,
    name: &str,
    query: (&str, &str),
    shape: Shape,
    each: usize,
) -> Result<Row, Box<dyn Error>> {
    let edges = plan.scaled(EDGES) as usize;
    let mut graph = Graph::random(plan.scaled(NODES) as u32, edges);
    let n = plan.scaled(CHANGES).next_multiple_of(each as u64);
    let mut ours = ours(&graph, query)?;
    let mut theirs = Dataflow::new(shape, graph.edges());
    if ours.answers != theirs.answers {
        return Err(format!("{name}: {} answers, and {} of the peer", ours.answers, theirs.answers).into());
    }
    let rounds = plan.rounds(ROUNDS);
    let changes = graph.changes(n as usize * (rounds + 1));
    let (mut left, mut right) = (changes.chunks(n as usize), changes.chunks(n as usize));
    let answers = ours.answers;
    let note = format!(
        "{edges} rows, {answers} answers; an edge comes or goes in turn; ours parses a text and writes a journal in memory, \
         the peer takes numbers and keeps no journal"
    );
    let case = Case { suite: SUITE, name: name.to_owned(), n, peer: DIFFERENTIAL, rounds, note };
    contest(
        case,
        Some((1.0, "the issue")),
        &mut || ours.side(left.next().ok_or("there are changes for each round")?, each),
        &mut || theirs.side(right.next().ok_or("there are changes for each round")?, each),
    )
}

/// The view of PyMeTTa is right after each change: the checksum is how many answers it has.
fn beside_pymetta(plan: &Plan) -> Result<Row, Box<dyn Error>> {
    let edges = plan.scaled(EDGES_FEW) as usize;
    let mut graph = Graph::random(plan.scaled(EDGES_FEW / 2) as u32, edges);
    let mut ours = ours(&graph, ("(, (edge $a $b) (edge $b $c))", "($a $b $c)"))?;
    let python = peers::python_with_pymetta(plan.may_install)?;
    let mut peer = Worker::start(Command::new(python).args(["-B", "bench/programs/live/with_pymetta.py"]))?;
    let file = plan.scratch.join("edges");
    std::fs::write(&file, graph.edges().iter().map(|(from, to)| format!("{from},{to}\n")).collect::<String>())?;
    let answers = peer.ask(&format!("load {}", file.display()))?.checksum;
    if answers != ours.answers as u64 {
        return Err(format!("{} answers, and {answers} of PyMeTTa", ours.answers).into());
    }
    let rounds = plan.rounds(3);
    let changes = graph.changes(CHANGES_FEW as usize * (rounds + 1));
    let (mut left, mut right) = (changes.chunks(CHANGES_FEW as usize), changes.chunks(CHANGES_FEW as usize));
    let note = format!("{edges} rows, {answers} answers; PyMeTTa answers the query again at each commit");
    let name = "two-way join of fewer rows, a row a commit".to_owned();
    let case = Case { suite: SUITE, name, n: CHANGES_FEW, peer: PYMETTA, rounds, note };
    contest(
        case,
        Some((1_000.0, "the issue")),
        &mut || {
            let (clock, _) = ours.apply(left.next().ok_or("there are changes for each round")?, 1)?;
            Ok(clock.done(ours.answers as u64))
        },
        &mut || {
            let words: Vec<String> = right
                .next()
                .ok_or("there are changes for each round")?
                .iter()
                .map(|change| format!("{}{},{}", if change.is_added { '+' } else { '-' }, change.edge.0, change.edge.1))
                .collect();
            peer.ask(&format!("change {}", words.join(" ")))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_are_told_the_same() {
        for &(name, pattern, template, shape, each) in CASES {
            let mut graph = Graph::random(60, 240);
            let mut ours = ours(&graph, (pattern, template)).unwrap();
            let mut theirs = Dataflow::new(shape, graph.edges());
            assert_eq!(ours.answers, theirs.answers, "{name}");
            for _ in 0..4 {
                let changes = graph.changes(each.max(10));
                let (ours, theirs) = (ours.apply(&changes, each).unwrap().1, theirs.apply(&changes, each).1);
                assert_eq!(ours, theirs, "{name}");
            }
        }
    }
}
