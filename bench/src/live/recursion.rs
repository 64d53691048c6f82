//! A closure near a forest, whose edges come and go: ours, differential-dataflow and FlowLog keep it up to date, DuckDB finds it again.

use super::base::{Base, stated};
use super::dataflow::{Dataflow, Shape};
use super::flowlog::Flowlog;
use super::graph::Graph;
use super::sides::{Changes, Follows};
use crate::row::Row;
use crate::{Plan, Rows, peers};
use metroon::LiveRequest;
use std::error::Error;

const NODES: u64 = 50_000;
const EDGES: u64 = 200_000;
const CHANGES: u64 = 400;
/// DuckDB takes seconds for each.
const CHANGES_FEW: u64 = 2;

const DIFFERENTIAL: &str = "differential-dataflow 0.25.1";
const FLOWLOG: &str = "FlowLog 0.7.0";
const DUCKDB: &str = "DuckDB 2.0.0, asked again";

const RULES: &str = "(= (reach $from) (match &self (edge $from $to) $to))
(= (reach $from) (let $between (reach $from) (match &self (edge $between $to) $to)))\n";

pub(super) fn rows(plan: &Plan) -> Rows {
    Ok(vec![
        beside(plan, "closure, a row a commit", 1, DIFFERENTIAL)?,
        beside(plan, "closure, a row a commit", 1, FLOWLOG)?,
        beside(plan, "closure, 100 rows a commit", 100, DIFFERENTIAL)?,
        beside(plan, "closure, 100 rows a commit", 100, FLOWLOG)?,
        beside_duckdb(plan)?,
    ])
}

fn graph(plan: &Plan) -> Graph {
    Graph::near_a_forest(plan.scaled(NODES) as u32, plan.scaled(EDGES) as usize)
}

fn ours(graph: &Graph) -> Result<Base, Box<dyn Error>> {
    let request = LiveRequest::call("(reach $from)", "$to").template("($from $to)");
    Base::new(&format!("{RULES}{}", stated(graph.edges())), &[request])
}

fn note(plan: &Plan, answers: i64) -> String {
    let (nodes, edges) = (plan.scaled(NODES), plan.scaled(EDGES));
    format!("{nodes} nodes, {edges} edges from ancestors, {answers} answers; an edge comes or goes in turn")
}

fn beside(plan: &Plan, name: &str, each: usize, peer: &'static str) -> Result<Row, Box<dyn Error>> {
    let mut graph = graph(plan);
    let mut ours = ours(&graph)?;
    let mut theirs: Box<dyn Follows> = match peer {
        FLOWLOG => Box::new(Flowlog::new(graph.edges())),
        _ => Box::new(Dataflow::new(Shape::Closure, graph.edges())),
    };
    let note = note(plan, ours.answers());
    let case = Changes { name, peer, must: 1.0, n: plan.scaled(CHANGES), each, note };
    case.beside(plan, &mut graph, &mut ours, &mut *theirs)
}

fn beside_duckdb(plan: &Plan) -> Result<Row, Box<dyn Error>> {
    let mut graph = graph(plan);
    let mut ours = ours(&graph)?;
    let python = peers::python_with_query_engines(plan.may_install)?;
    let (name, note) = ("closure, beside finding it again, a row a commit", note(plan, ours.answers()));
    let case = Changes { name, peer: DUCKDB, must: 100.0, n: CHANGES_FEW, each: 1, note };
    case.beside_asking_again(plan, &mut graph, &mut ours, (&python, "with_duckdb.py"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_are_told_the_same() {
        let mut graph = Graph::near_a_forest(80, 160);
        let (mut ours, mut theirs) = (ours(&graph).unwrap(), Dataflow::new(Shape::Closure, graph.edges()));
        let mut flowlog = Flowlog::new(graph.edges());
        assert_eq!((ours.answers(), ours.answers()), (theirs.answers(), flowlog.answers()));
        for each in [1, 1, 10, 1, 10] {
            let changes = graph.changes(20);
            let told = ours.apply(&changes, each).unwrap().1;
            assert_eq!(
                (told, told),
                (theirs.apply(&changes, each).unwrap().1, flowlog.apply(&changes, each).unwrap().1)
            );
        }
    }
}
