//! Comparisons with peers: runs a suite of the workspace `bench`, keeps the run, renders the table.
//!
//! 1. Cargo builds `bench/` with its own profile `bench` and runs it with the suite's name and a folder.
//! 2. The suite writes `SUITE.json` there: `bench/runs/DATE-HOST/` for a full run, below the target folder for a quick one
//!    or one of a single program.
//! 3. After a full run `docs/benchmarks.md` is written anew, from the newest run of every suite that has one.
//!
//! What a suite is made of, only `bench/` knows; a new one needs no change here, but for a sentence in [`document`].

mod document;
mod runs;

use std::path::PathBuf;
use std::process::Command;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::install::Install;
use crate::{Outcome, process, repository};

/// Compare Metroon with peers.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A full run is kept in bench/runs and changes docs/benchmarks.md; commit both. Run it on a machine that does \
                        nothing else. The peers of metta, space, cassette and proxy, SWI-Prolog and the Python wheels hyperon, \
                        duckdb, vcrpy, cassetter, mitmproxy and requests, must be there, or come with --install."
)]
pub(crate) struct Flags {
    /// A suite of the workspace bench/, such as journal
    suite: String,
    /// Fewer rounds and smaller inputs, kept below the target folder: to see that it works, not to compare
    #[arg(long)]
    quick: bool,
    /// One program of the suite metta or one part of proxy, region or space, at its full size, kept below the target folder
    #[arg(long, value_name = "PROGRAM")]
    only: Option<String>,
    #[command(flatten)]
    install: Install,
}

pub(crate) fn run(flags: &Flags) -> Result<Outcome, String> {
    let suite = &flags.suite;
    let is_kept = !flags.quick && flags.only.is_none();
    let folder = if is_kept { folder_of_today()? } else { repository::target().join("bench-quick") };
    let mut command = suite_command(suite);
    command.arg("--into").arg(&folder);
    let switches = [(flags.quick, "--quick"), (flags.install.is_wanted(), "--install")];
    command.args(switches.into_iter().filter(|(given, _)| *given).map(|(_, name)| name));
    if let Some(program) = &flags.only {
        command.args(["--only", program]);
    }
    if !process::shown(&mut command)? {
        return Ok(Outcome::Bad);
    }
    if !is_kept {
        let run = runs::read(&folder.join(format!("{suite}.json")))?;
        print!("{}", document::table(&run));
        return Ok(Outcome::Good);
    }
    let path = document_path();
    std::fs::write(&path, document::render(&runs::newest(&runs_folder())?))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("kept in {}, shown in {}", repository::shown(&folder), repository::shown(&path));
    Ok(Outcome::Good)
}

fn suite_command(suite: &str) -> Command {
    let folder = repository::root().join("bench");
    let mut command = process::cargo(&["run", "--config"]);
    command.arg(folder.join(".cargo").join("config.toml")).args(["--profile", "bench", "--manifest-path"]);
    command.arg(folder.join("Cargo.toml")).arg("--").arg(suite).current_dir(repository::root());
    command
}

fn runs_folder() -> PathBuf {
    repository::root().join("bench").join("runs")
}

fn document_path() -> PathBuf {
    repository::root().join("docs").join("benchmarks.md")
}

/// Where a run of today on this kind of machine is kept.
fn folder_of_today() -> Result<PathBuf, String> {
    let processors =
        std::thread::available_parallelism().map_err(|error| format!("cannot count processors: {error}"))?;
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    Ok(runs_folder().join(format!("{}-{system}-{machine}-{processors}cpu", today())))
}

/// The date of today by Coordinated Universal Time, as YYYY-MM-DD.
fn today() -> Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_shows_the_newest_runs() {
        let shown = std::fs::read_to_string(document_path()).unwrap_or_default();
        let expected = document::render(&runs::newest(&runs_folder()).unwrap());
        assert!(
            shown == expected,
            "docs/benchmarks.md is not what the runs in bench/runs say; run a suite to render it"
        );
    }
}
