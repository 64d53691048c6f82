//! A closure near a forest, whose edges come and go: ours, differential-dataflow and FlowLog keep it up to date, DuckDB finds it again.

use super::base::{Base, stated};
use super::dataflow::{Dataflow, Shape};
use super::flowlog::Flowlog;
use super::graph::{Change, Graph};
use super::{ROUNDS, SUITE};
use crate::compare::{Case, Timed, contest};
use crate::row::Row;
use crate::worker::Worker;
use crate::{Plan, Rows, peers};
use metroon::LiveRequest;
use std::error::Error;
use std::process::Command;

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

/// Something that keeps the closure up to date.
enum Peer {
    Differential(Box<Dataflow>),
    Flowlog(Flowlog),
}

impl Peer {
    fn answers(&self) -> i64 {
        match self {
            Self::Differential(peer) => peer.answers,
            Self::Flowlog(peer) => peer.answers,
        }
    }

    fn side(&mut self, changes: &[Change], each: usize) -> Result<Timed, Box<dyn Error>> {
        match self {
            Self::Differential(peer) => peer.side(changes, each),
            Self::Flowlog(peer) => peer.side(changes, each),
        }
    }
}

fn beside(plan: &Plan, name: &str, each: usize, peer: &'static str) -> Result<Row, Box<dyn Error>> {
    let mut graph = graph(plan);
    let mut ours = ours(&graph)?;
    let mut theirs = match peer {
        FLOWLOG => Peer::Flowlog(Flowlog::new(graph.edges())),
        _ => Peer::Differential(Box::new(Dataflow::new(Shape::Closure, graph.edges()))),
    };
    if ours.answers != theirs.answers() {
        return Err(format!("{name}: {} answers, and {} of the peer", ours.answers, theirs.answers()).into());
    }
    let rounds = plan.rounds(ROUNDS);
    let n = plan.scaled(CHANGES).next_multiple_of(each as u64);
    let changes = graph.changes(n as usize * (rounds + 1));
    let (mut left, mut right) = (changes.chunks(n as usize), changes.chunks(n as usize));
    let note = note(plan, ours.answers);
    let case = Case { suite: SUITE, name: name.to_owned(), n, peer, rounds, note };
    contest(
        case,
        Some((1.0, "the issue")),
        &mut || ours.side(left.next().ok_or("there are changes for each round")?, each),
        &mut || theirs.side(right.next().ok_or("there are changes for each round")?, each),
    )
}

/// The checksum is how many answers there are after each round.
fn beside_duckdb(plan: &Plan) -> Result<Row, Box<dyn Error>> {
    let mut graph = graph(plan);
    let mut ours = ours(&graph)?;
    let python = peers::python_with_query_engines(plan.may_install)?;
    let mut peer = Worker::start(Command::new(python).args(["-B", "bench/programs/live/with_duckdb.py"]))?;
    let file = plan.scratch.join("edges");
    std::fs::write(&file, graph.edges().iter().map(|(from, to)| format!("{from},{to}\n")).collect::<String>())?;
    peer.ask(&format!("load {}", file.display()))?;
    let rounds = plan.rounds(3);
    let n = CHANGES_FEW as usize;
    let changes = graph.changes(n * (rounds + 1));
    let (mut left, mut right) = (changes.chunks(n), changes.chunks(n));
    let note = note(plan, ours.answers);
    let name = "closure, beside finding it again, a row a commit".to_owned();
    let case = Case { suite: SUITE, name, n: CHANGES_FEW, peer: DUCKDB, rounds, note };
    contest(
        case,
        Some((100.0, "the issue")),
        &mut || {
            let (clock, _) = ours.apply(left.next().ok_or("there are changes for each round")?, 1)?;
            Ok(clock.done(ours.answers as u64))
        },
        &mut || peer.ask(&change_line(right.next().ok_or("there are changes for each round")?)),
    )
}

/// The line that tells a peer of changes.
pub(super) fn change_line(changes: &[Change]) -> String {
    let sign = |change: &Change| if change.is_added { '+' } else { '-' };
    let words = changes.iter().map(|change| format!(" {}{},{}", sign(change), change.edge.0, change.edge.1));
    format!("change{}", words.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_are_told_the_same() {
        let mut graph = Graph::near_a_forest(80, 160);
        let (mut ours, mut theirs) = (ours(&graph).unwrap(), Dataflow::new(Shape::Closure, graph.edges()));
        let mut flowlog = Flowlog::new(graph.edges());
        assert_eq!((ours.answers, ours.answers), (theirs.answers, flowlog.answers));
        for each in [1, 1, 10, 1, 10] {
            let changes = graph.changes(20);
            let told = ours.apply(&changes, each).unwrap().1;
            assert_eq!((told, told), (theirs.apply(&changes, each).1, flowlog.apply(&changes, each).1));
        }
        let change = |edge, is_added| Change { edge, is_added };
        assert_eq!(change_line(&[change((1, 2), true), change((3, 4), false)]), "change +1,2 -3,4");
    }
}
