//! Joins of two, three and four patterns, and a triangle: edges come and go, one a commit or a hundred.

use super::base::{Base, stated};
use super::dataflow::{Dataflow, Shape};
use super::graph::Graph;
use super::sides::{Changes, Follows};
use crate::row::Row;
use crate::{Plan, Rows, peers};
use metroon::LiveRequest;
use std::error::Error;

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
    let (mut ours, mut theirs) = (ours(&graph, query)?, Dataflow::new(shape, graph.edges()));
    let note = format!(
        "{edges} rows, {} answers; an edge comes or goes in turn; ours is handed atoms and writes a journal in memory, the peer takes \
         numbers and keeps no journal",
        ours.answers()
    );
    let case = Changes { name, peer: DIFFERENTIAL, must: 1.0, n: plan.scaled(CHANGES), each, note };
    case.beside(plan, &mut graph, &mut ours, &mut theirs)
}

/// The view of PyMeTTa is right after each change.
fn beside_pymetta(plan: &Plan) -> Result<Row, Box<dyn Error>> {
    let edges = plan.scaled(EDGES_FEW) as usize;
    let mut graph = Graph::random(plan.scaled(EDGES_FEW / 2) as u32, edges);
    let mut ours = ours(&graph, ("(, (edge $a $b) (edge $b $c))", "($a $b $c)"))?;
    let python = peers::python_with_pymetta(plan.may_install)?;
    let note = format!("{edges} rows, {} answers; PyMeTTa answers the query again at each commit", ours.answers());
    let name = "two-way join of fewer rows, a row a commit";
    let case = Changes { name, peer: PYMETTA, must: 1_000.0, n: CHANGES_FEW, each: 1, note };
    case.beside_asking_again(plan, &mut graph, &mut ours, (&python, "with_pymetta.py"))
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
            assert_eq!(ours.answers(), theirs.answers(), "{name}");
            for _ in 0..4 {
                let changes = graph.changes(each.max(10));
                let (ours, theirs) = (ours.apply(&changes, each).unwrap().1, theirs.apply(&changes, each).unwrap().1);
                assert_eq!(ours, theirs, "{name}");
            }
        }
    }
}
