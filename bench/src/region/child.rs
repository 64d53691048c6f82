//! Rows that need a process of their own, built or started by this one: with another allocator, or with the one of the system
//! in a state that is known.
//!
//! In it both sides run in turn as everywhere, so ours has that allocator, too, for its chunks.
//!
//! # The states of malloc
//!
//! The malloc of glibc begins with giving back to the system whatever is free at its end and more than 128 KiB, and with mapping
//! every piece of that size by itself. As soon as such a piece is freed it keeps more, up to 64 MiB. So an arena that is made
//! anew costs page faults or none, by a factor of ten, and which of both depends on what the process did before. Rows that
//! are about fresh memory or many arenas run in processes where it is settled, see [`PROCESSES`].
//!
//! Many arenas at once have a process for themselves: a hole that other rows left below something that lasts is not at the end,
//! is never given back, and is what malloc hands out next. A program that does nothing but this meets no such hole.

use super::Failure;
use super::life::Many;
use crate::row::{Ratio, Row};
use crate::{Plan, Rows, Suite};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The program with another allocator, and the suite of it.
pub(crate) const NAME: &str = "mimalloc";

/// The part of rows in processes of this program.
pub(super) const SYSTEM: &str = "system";

/// What malloc does with what arenas give back, in words of a case, and the settings of glibc for it.
#[derive(Clone, Copy)]
pub(super) struct State {
    pub(super) words: &'static str,
    settings: &'static str,
}

/// As in a process that has just begun. Without large pages, of which this malloc would give back whole ones only: for rows whose
/// memory is less than a heap asks large pages for.
const GIVES_BACK: State = State {
    words: "malloc gives memory back",
    settings: "glibc.malloc.mmap_threshold=131072:glibc.malloc.trim_threshold=131072",
};

/// As in a process that has just begun, with large pages where they fit: a heap asks for them in large memory, so malloc does as well.
const FRESH: State = State {
    words: "malloc gives memory back",
    settings: "glibc.malloc.mmap_threshold=131072:glibc.malloc.trim_threshold=131072:glibc.malloc.hugetlb=1",
};

/// As in a process that has freed large pieces; with large pages as well.
const KEEPS: State = State {
    words: "malloc keeps memory",
    settings: "glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=1073741824:glibc.malloc.hugetlb=1",
};

/// The processes of this program: the state of malloc in each, and its suite.
const PROCESSES: [(State, Suite); 4] = [
    (FRESH, Suite { name: "region-fresh", has_programs: false, run: fresh }),
    (GIVES_BACK, Suite { name: "region-gives-back", has_programs: false, run: gives_back }),
    (FRESH, Suite { name: "region-gives-back-large", has_programs: false, run: gives_back_large }),
    (KEEPS, Suite { name: "region-keeps", has_programs: false, run: keeps }),
];

/// What those processes do.
pub(crate) const SUITES: &[Suite] = &[PROCESSES[0].1, PROCESSES[1].1, PROCESSES[2].1, PROCESSES[3].1];

/// Memory that is fresh in every round.
fn fresh(plan: &Plan) -> Rows {
    super::allocate::many(plan)
}

fn gives_back(plan: &Plan) -> Rows {
    let mut rows = at_once(plan, GIVES_BACK, &[Many::Small])?;
    rows.extend(super::modelled::anew_rows(plan)?);
    Ok(rows)
}

fn gives_back_large(plan: &Plan) -> Rows {
    let mut rows = at_once(plan, FRESH, &[Many::Large])?;
    rows.extend(super::copies::large_rows(plan, FRESH)?);
    Ok(rows)
}

fn keeps(plan: &Plan) -> Rows {
    let mut rows = at_once(plan, KEEPS, &[Many::Small, Many::Large])?;
    rows.extend(super::modelled::again_rows(plan)?);
    rows.extend(super::copies::large_rows(plan, KEEPS)?);
    Ok(rows)
}

/// Many arenas at once. Those out of pools come last, since what a pool keeps may leave a hole.
fn at_once(plan: &Plan, state: State, many: &[Many]) -> Rows {
    let mut rows = super::life::anew_at_once(plan, state, many)?;
    rows.extend(super::life::pooled_at_once(plan, state, many)?);
    Ok(rows)
}

/// The rows of those processes.
pub(super) fn system_rows(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for (state, suite) in PROCESSES {
        let mut command = Command::new(std::env::current_exe()?);
        command.env("GLIBC_TUNABLES", state.settings);
        rows.extend(rows_of(command, suite.name, plan)?);
    }
    Ok(rows)
}

pub(super) fn rows(plan: &Plan) -> Rows {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let words = ["build", "--config", "bench/.cargo/config.toml", "--profile", "bench", "--quiet"];
    succeed(Command::new(cargo).args(words).args(["--manifest-path", "bench/Cargo.toml", "--bin", NAME]))?;
    let mut command = Command::new(std::env::current_exe()?.with_file_name(NAME));
    // Large pages for both sides: see [`FRESH`].
    command.env("MIMALLOC_ALLOW_LARGE_OS_PAGES", "1");
    rows_of(command, NAME, plan)
}

/// Runs a suite of a program and reads its rows.
fn rows_of(mut command: Command, suite: &str, plan: &Plan) -> Rows {
    command.args([suite, "--into"]).arg(&plan.scratch);
    if plan.is_quick {
        command.arg("--quick");
    }
    succeed(&mut command)?;
    read_rows(super::SUITE, &plan.scratch.join(suite).with_extension("json"))
}

/// Reads the rows that another process has written to a file.
pub(crate) fn read_rows(suite: &'static str, path: &Path) -> Rows {
    let value: Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    value.as_array().ok_or("the rows are not a list")?.iter().map(|value| read(suite, value)).collect()
}

fn succeed(command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
}

/// Reads a row that [`Row::json`](crate::row::json) has written.
fn read(suite: &'static str, value: &Value) -> Result<Row, Failure> {
    let number =
        |key: &str| value[key].as_f64().ok_or_else(|| Failure::from(format!("a row without the number {key}")));
    let text =
        |key: &str| value[key].as_str().map(str::to_owned).ok_or_else(|| format!("a row without the text {key}"));
    Ok(Row {
        suite,
        case: text("case")?,
        n: number("n")? as u64,
        ours: Some(number("ours_ns")?),
        peer: text("peer")?.leak(),
        peer_figure: Some(number("peer_ns")?),
        ratio: Some(Ratio { median: number("ratio")?, min: number("ratio_min")?, max: number("ratio_max")? }),
        rounds: number("rounds")? as usize,
        unit: value["unit"].as_str().map(|unit| &*unit.to_owned().leak()),
        note: text("note")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let row = Row {
            suite: super::super::SUITE,
            case: "c".to_owned(),
            n: 2,
            ours: Some(1.0),
            peer: "p",
            peer_figure: Some(3.0),
            ratio: Some(Ratio { median: 3.0, min: 2.0, max: 4.0 }),
            rounds: 9,
            unit: None,
            note: "why".to_owned(),
        };
        let text = crate::row::json(&[row]);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(crate::row::json(&[read(super::super::SUITE, &value[0]).unwrap()]), text);
    }
}
