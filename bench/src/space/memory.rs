//! The memory that facts take, of a process that does nothing else.

use super::facts::{Form, atom, edge, number_at, write_file};
use super::{Failure, Peer, SUITE};
use crate::command::peak_of_run;
use crate::region::read_rows;
use crate::row::{Ratio, Row};
use crate::{Plan, Rows};
use space::{SharedSpace, Terms, VariableSource};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

/// The part that is a process of its own.
pub(super) const NAME: &str = "space-memory";

const EDGES: u64 = 10_000_000;
/// What is measured: its name, the most bytes that a fact may take, and what it is.
struct Measured {
    case: &'static str,
    bytes_max: f64,
    note: &'static str,
}

const HELD: Measured = Measured {
    case: "memory of 10M, a fact",
    bytes_max: 60.0,
    note: "(edge aI bJ), names and the index of the second argument included; what the process grew by",
};
const WHOLE: Measured = Measured {
    case: "most memory of a process that loads 10M, a fact",
    bytes_max: 110.0,
    note: "`metroon run` of a text of (edge aI bJ), then a question by the second argument; the most that the process ever had, less that of \
           a process without facts; the peers load a text too",
};

pub(super) fn rows(plan: &Plan) -> Rows {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([NAME, "--into"]).arg(&plan.scratch);
    if plan.is_quick {
        command.arg("--quick");
    }
    let status = command.status().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if !status.success() {
        return Err(format!("{command:?}: {status}").into());
    }
    read_rows(SUITE, &plan.scratch.join(NAME).with_extension("json"))
}

/// The rows of that process.
pub(super) fn alone(plan: &Plan) -> Rows {
    let edges = plan.scaled(EDGES);
    let ours = ours(edges)?;
    let metroon = crate::command::build("release")?;
    let mut rows = Vec::new();
    for mut peer in [Peer::duckdb(plan)?, Peer::swipl(plan)?] {
        let path = plan.scratch.join("memory").with_extension(peer.form.extension());
        write_file(&path, peer.form, edges)?;
        let (before, peak_before) = (peer.worker.memory()?, peer.worker.peak()?);
        peer.load(&path)?;
        let theirs = per_fact(peer.worker.memory()?, before, edges);
        rows.push(row(HELD, ours, &peer, theirs));
        let theirs = per_fact(peer.worker.peak()?, peak_before, edges);
        rows.push(row(WHOLE, whole(plan, &metroon, edges)?, &peer, theirs));
    }
    Ok(rows)
}

/// The most that `metroon run` takes for a text of these facts and a question, less what it takes for nothing.
fn whole(plan: &Plan, metroon: &Path, edges: u64) -> Result<f64, Failure> {
    let (path, question) = (plan.scratch.join("whole.metta"), "!(match &self (edge $x b1) $x)\n");
    std::fs::write(&path, question)?;
    let empty = peak_of_run(Command::new(metroon).arg("run").arg(&path))?;
    write_file(&path, Form::Metta, edges)?;
    std::fs::OpenOptions::new().append(true).open(&path)?.write_all(question.as_bytes())?;
    Ok(per_fact(peak_of_run(Command::new(metroon).arg("run").arg(&path))?, empty, edges))
}

fn ours(edges: u64) -> Result<f64, Failure> {
    let before = crate::worker::memory_of("self")?;
    let space = SharedSpace::new(1, "space", Terms::shared());
    (0..edges).for_each(|position| space.add(&edge(number_at(position, edges))));
    let found = space.query(&atom("(edge $x b1)"), &mut VariableSource::default()).len();
    if found == 0 {
        return Err("a fact that was added is not found".into());
    }
    Ok(per_fact(crate::worker::memory_of("self")?, before, edges))
}

fn per_fact(after: u64, before: u64, edges: u64) -> f64 {
    (after.saturating_sub(before) as f64 / edges as f64).round()
}

fn row(measured: Measured, ours: f64, peer: &Peer, theirs: f64) -> Row {
    let Measured { case, bytes_max, note } = measured;
    let ratio = theirs / ours;
    let verdict = if ours <= bytes_max { "met" } else { "missed" };
    eprintln!("{case:<40} {ours:>8.2} bytes, {} {theirs}", peer.name);
    Row {
        suite: SUITE,
        case: case.to_owned(),
        n: 1,
        ours: Some(ours),
        peer: peer.name,
        peer_figure: Some(theirs),
        ratio: Some(Ratio { median: ratio, min: ratio, max: ratio }),
        rounds: 1,
        unit: Some("bytes"),
        note: format!("{note}; must be {bytes_max} bytes or fewer (the issue): {verdict}"),
    }
}
