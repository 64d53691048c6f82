//! Comparisons with peers: runs a suite of the workspace `bench`, keeps the run, renders the pages.
//!
//! 1. Cargo builds `bench/` with its own profile `bench` and runs it with the suite's name and a folder.
//! 2. The suite writes `SUITE.json` there: `bench/runs/DATE-HOST/` for a full run, below the target folder for a quick one
//!    or one of a single program; and beside it `SUITE.txt`, the list of its cases, which goes to `bench/cases` if all of them ran.
//! 3. A full run keeps a hash of the code that it measured; pages say where the code has changed since.
//! 4. After that, or if no suite is named, the [pages](pages) are written anew, from the newest run of every suite that has one.
//!
//! What a suite is made of, only `bench/` knows; a new one needs no change here, but for a sentence in [`tables`]. What the first page
//! shows is the list in [`actions`].

mod actions;
mod chart;
mod code;
mod first_page;
mod runs;
mod systems;
mod tables;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::install::Install;
use crate::{Outcome, process, repository};

/// Compare Metroon with peers.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without a suite the pages are rendered anew. A full run is kept in bench/runs and changes docs/benchmarks.md, the \
                        pages in docs/benchmarks and the README; commit all. Run it on a machine that does nothing else. The peers, \
                        SWI-Prolog, sqlite3 and the Python wheels hyperon, pymetta, duckdb, ladybug, egglog, clingo, vcrpy, \
                        cassetter, mitmproxy and requests, must be there; --install gets all but sqlite3."
)]
pub(crate) struct Flags {
    /// A suite of the workspace bench/, such as journal; without one the pages are rendered anew
    suite: Option<String>,
    /// Fewer rounds and smaller inputs, kept below the target folder: to see that it works, not to compare
    #[arg(long, requires = "suite")]
    quick: bool,
    /// One program of the suite metta or one part of live, proxy, python, queries, region, space or store, at its full size, kept below the target folder
    #[arg(long, value_name = "PROGRAM", requires = "suite")]
    only: Option<String>,
    /// Build RocksDB as a peer of the suite store; its C++ takes a quarter of an hour, and needs libclang (LIBCLANG_PATH). With
    /// ROCKSDB_LIB_DIR and ROCKSDB_STATIC=1, one that is built already is linked
    #[arg(long, requires = "suite")]
    rocksdb: bool,
    #[command(flatten)]
    install: Install,
}

pub(crate) fn run(flags: &Flags) -> Result<Outcome, String> {
    let Some(suite) = &flags.suite else {
        write_pages()?;
        return Ok(Outcome::Good);
    };
    let is_kept = !flags.quick && flags.only.is_none();
    let folder = if is_kept { folder_of_today()? } else { repository::target().join("bench-quick") };
    let mut command = suite_command(suite, flags.rocksdb);
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
        print!("{}", tables::table(&runs::read(&folder.join(format!("{suite}.json")))?));
    }
    if is_kept {
        put(&code::beside(&folder.join(suite)), &(code::hash(suite)? + "\n"))?;
    }
    if flags.only.is_none() {
        keep_cases(&folder.join(format!("{suite}.txt")), suite)?;
        write_pages()?;
    }
    Ok(Outcome::Good)
}

/// Moves the list of cases that a suite has written beside its rows to where the lists are kept.
fn keep_cases(written: &Path, suite: &str) -> Result<(), String> {
    let kept = cases_folder().join(format!("{suite}.txt"));
    let text = fs::read_to_string(written).map_err(|error| format!("cannot read {}: {error}", written.display()))?;
    put(&kept, &text)?;
    fs::remove_file(written).map_err(|error| format!("cannot remove {}: {error}", written.display()))
}

/// The suites whose newest run is older than the code that it measures.
///
/// # Errors
/// A run or a source cannot be read.
pub(crate) fn outdated() -> Result<Vec<String>, String> {
    let runs = runs::newest(&runs_folder(), &cases_folder())?;
    Ok(runs.into_iter().filter(|run| !run.is_of_this_code).map(|run| run.suite).collect())
}

/// All pages by their path, as the kept runs say.
fn pages() -> Result<BTreeMap<PathBuf, String>, String> {
    let runs = runs::newest(&runs_folder(), &cases_folder())?;
    let docs = repository::root().join("docs");
    let readme = repository::root().join("README.md");
    let text = fs::read_to_string(&readme).map_err(|error| format!("cannot read {}: {error}", readme.display()))?;
    let mut pages = BTreeMap::new();
    for run in &runs {
        pages.insert(docs.join("benchmarks").join(format!("{}.md", run.suite)), tables::page(run));
    }
    pages.insert(docs.join("benchmarks").join("chart.svg"), chart::svg(&first_page::measured(&runs)));
    pages.insert(docs.join("benchmarks.md"), first_page::page(&runs));
    pages.insert(readme, first_page::in_readme(&text, &runs)?);
    let systems = docs.join("systems.md");
    let text = fs::read_to_string(&systems).map_err(|error| format!("cannot read {}: {error}", systems.display()))?;
    pages.insert(systems, systems::page(&text, &runs)?);
    Ok(pages)
}

fn write_pages() -> Result<(), String> {
    for (path, text) in pages()? {
        put(&path, &text)?;
    }
    println!("docs/benchmarks.md, docs/benchmarks and the README show the newest runs");
    Ok(())
}

/// Writes a file, with the folders above it.
fn put(path: &Path, text: &str) -> Result<(), String> {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text));
    written.map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn suite_command(suite: &str, has_rocksdb: bool) -> Command {
    let folder = repository::root().join("bench");
    let mut command = process::cargo(&["run", "--config"]);
    command.arg(folder.join(".cargo").join("config.toml")).args(["--profile", "bench", "--manifest-path"]);
    command.arg(folder.join("Cargo.toml"));
    if suite == "gpu" {
        command.args(["--features", "gpu"]);
    }
    if has_rocksdb {
        command.args(["--features", "rocksdb"]);
        // Else its checksums are computed without the instructions that every side has.
        if cfg!(target_arch = "x86_64") {
            command.env("CXXFLAGS", "-msse4.2 -mpclmul");
        }
    }
    command.arg("--").arg(suite).current_dir(repository::root());
    command
}

fn runs_folder() -> PathBuf {
    repository::root().join("bench").join("runs")
}

/// Where the lists of cases are.
fn cases_folder() -> PathBuf {
    repository::root().join("bench").join("cases")
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
    fn the_pages_show_the_newest_runs() {
        for (path, expected) in pages().unwrap() {
            let shown = fs::read_to_string(&path).unwrap_or_default();
            let path = repository::shown(&path);
            assert!(
                shown == expected,
                "{path} is not what the runs in bench/runs say: `cargo xtask bench` renders it anew"
            );
        }
    }

    #[test]
    fn there_is_no_page_that_no_run_makes() {
        let pages = pages().unwrap();
        for file in fs::read_dir(repository::root().join("docs").join("benchmarks")).unwrap() {
            let path = file.unwrap().path();
            assert!(pages.contains_key(&path), "{}: remove it", repository::shown(&path));
        }
    }

    #[test]
    fn each_action_is_a_case_that_its_suite_makes() {
        for action in actions::ACTIONS {
            let made = runs::made(&cases_folder(), action.suite).unwrap();
            let case = (action.case.to_owned(), action.peer.to_owned());
            assert!(made.contains(&case), "the suite {} has no case {case:?}", action.suite);
        }
    }

    #[test]
    fn no_page_has_the_name_that_the_project_had() {
        for (path, text) in pages().unwrap() {
            assert!(!text.contains("mnemon"), "{}: an old note is shown", repository::shown(&path));
        }
    }
}
