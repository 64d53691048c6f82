//! The memory that facts take, of a process that does nothing else.

use super::facts::{atom, edge, number_at, write_file};
use super::{Failure, Peer, SUITE};
use crate::region::read_rows;
use crate::row::{Ratio, Row};
use crate::{Plan, Rows};
use space::{SharedSpace, Terms, VariableSource};
use std::process::Command;

/// The part that is a process of its own.
pub(super) const NAME: &str = "space-memory";

const EDGES: u64 = 10_000_000;
/// The most bytes that a fact may take.
const BYTES_MAX: f64 = 60.0;

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
    let mut rows = Vec::new();
    for mut peer in [Peer::duckdb(plan)?, Peer::swipl(plan)?] {
        let path = plan.scratch.join("memory").with_extension(peer.form.extension());
        write_file(&path, peer.form, edges)?;
        let before = peer.worker.memory()?;
        peer.load(&path)?;
        let theirs = per_fact(peer.worker.memory()?, before, edges);
        rows.push(row(ours, &peer, theirs));
    }
    Ok(rows)
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

fn row(ours: f64, peer: &Peer, theirs: f64) -> Row {
    let ratio = theirs / ours;
    let verdict = if ours <= BYTES_MAX { "met" } else { "missed" };
    eprintln!("{:<40} {ours:>8.2} bytes, {} {theirs}", "memory of 10M", peer.name);
    Row {
        suite: SUITE,
        case: "memory of 10M, a fact".to_owned(),
        n: 1,
        ours: Some(ours),
        peer: peer.name,
        peer_figure: Some(theirs),
        ratio: Some(Ratio { median: ratio, min: ratio, max: ratio }),
        rounds: 1,
        unit: Some("bytes"),
        note: format!(
            "(edge aI bJ), names and the index of the second argument included; what the process grew by; must be \
             {BYTES_MAX} bytes or fewer (the issue): {verdict}"
        ),
    }
}
