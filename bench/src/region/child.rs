//! Rows that need another allocator in the whole process: a program of its own, built and run by this one.
//!
//! In it both sides run in turn as everywhere, so ours has that allocator, too, for its chunks.

use super::Failure;
use crate::row::{Ratio, Row};
use crate::{Plan, Rows};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The program, and the suite of it.
pub(crate) const NAME: &str = "mimalloc";

pub(super) fn rows(plan: &Plan) -> Rows {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let words = ["build", "--config", "bench/.cargo/config.toml", "--profile", "bench", "--quiet"];
    succeed(Command::new(cargo).args(words).args(["--manifest-path", "bench/Cargo.toml", "--bin", NAME]))?;
    let program = std::env::current_exe()?.with_file_name(NAME);
    let mut command = Command::new(program);
    command.args([NAME, "--into"]).arg(&plan.scratch);
    if plan.is_quick {
        command.arg("--quick");
    }
    succeed(&mut command)?;
    read_rows(super::SUITE, &plan.scratch.join(NAME).with_extension("json"))
}

/// The rows that another process has written to a file.
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
