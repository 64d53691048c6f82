//! The most memory that a process takes: loading a million rows, and opening them again after it was killed.
//!
//! Each engine gets processes of its own: one that loads without ever closing and ends, and one that opens what that has left.

use super::engine::{Done, Kind};
use super::rows::{Keys, Values, Workload};
use super::{SUITE, is_log_structured, kinds, scaled};
use crate::compare::judged;
use crate::row::{Ratio, Row};
use crate::worker::peak_of;
use crate::{Plan, Rows};
use std::path::Path;
use std::process::Command;

/// The part that is a process of its own; it is told which engine, and what to do, by `--only`.
pub(super) const NAME: &str = "store-memory";
/// What the names of these cases begin with.
#[cfg(test)]
pub(super) const BEGINNING: &str = "peak memory";

const ROWS: u64 = 1_000_000;
const LOAD: &str = "load";
const RECOVER: &str = "recover";

pub(super) fn rows(plan: &Plan) -> Rows {
    let kinds = kinds();
    let mut figures: Vec<(f64, f64)> = Vec::new();
    for index in 0..kinds.len() {
        let loading = child(plan, index, LOAD)?;
        figures.push((loading, child(plan, index, RECOVER)?));
    }
    let mut rows = Vec::new();
    for (kind, theirs) in kinds.iter().zip(&figures).skip(1) {
        let must = is_log_structured(kind.name).then_some((1.0, "the issue"));
        let (load, recover) = (figures[0].0, figures[0].1);
        rows.push(row("peak memory of loading random rows, 1M", kind, load, theirs.0, None));
        rows.push(row("peak memory of opening after a kill, 1M", kind, recover, theirs.1, must));
    }
    Ok(rows)
}

fn row(case: &str, kind: &Kind, ours: f64, theirs: f64, must: Option<(f64, &str)>) -> Row {
    let ratio = theirs / ours;
    eprintln!("{case:<40} {ours} bytes, {} {theirs}", kind.name);
    Row {
        suite: SUITE,
        case: case.to_owned(),
        n: 1,
        ours: Some(ours),
        peer: kind.name,
        peer_figure: Some(theirs),
        ratio: Some(Ratio { median: ratio, min: ratio, max: ratio }),
        rounds: 1,
        unit: Some("bytes"),
        note: judged(&format!("of the whole process, the rows not counted; {}", kind.note), must, Some(ratio)),
    }
}

/// Runs a process; the most memory that it took.
fn child(plan: &Plan, index: usize, what: &str) -> Done<f64> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([NAME, "--into"]).arg(&plan.scratch).args(["--only", &format!("{what} {index}")]);
    if plan.is_quick {
        command.arg("--quick");
    }
    let status = command.status().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if !status.success() {
        return Err(format!("{command:?}: {status}").into());
    }
    let peak = std::fs::read_to_string(plan.scratch.join("peak"))?;
    std::fs::remove_file(plan.scratch.join("peak"))?;
    Ok(peak.trim().parse()?)
}

/// What such a process does. It makes no rows: it leaves its figure in a file, since it ends before it could write any.
pub(super) fn alone(plan: &Plan) -> Rows {
    let words = plan.only.as_deref().and_then(|only| only.split_once(' ')).ok_or("which engine, and what")?;
    let (index, kinds) = (words.1.parse::<usize>()?, kinds());
    let kind = kinds.get(index).ok_or("there is no such engine")?;
    let folder = plan.scratch.parent().ok_or("the folder of the run")?;
    let place = folder.join(format!("memory-{index}"));
    let workload = Workload::new(Keys::Random, Values::Hundred, scaled(plan, ROWS));
    // From here on the most memory is counted anew.
    std::fs::write("/proc/self/clear_refs", "5")?;
    let before = peak_of("self")? as f64;
    let mut engine = (kind.open)(&place)?;
    if words.0 == LOAD {
        engine.load(&workload)?;
        end(folder, before)
    }
    if !engine.reader()?.get(workload.keys[0], &mut Vec::new())? {
        return Err("a row is gone after opening".into());
    }
    std::fs::remove_dir_all(&place)?;
    end(folder, before)
}

/// Leaves the figure and ends at once, as if killed.
fn end(folder: &Path, before: f64) -> ! {
    let written = peak_of("self")
        .and_then(|peak| Ok(std::fs::write(folder.join("peak"), format!("{}\n", peak as f64 - before))?));
    if let Err(error) = written {
        eprintln!("{error}");
    }
    std::process::exit(0)
}
