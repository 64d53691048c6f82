//! How many assertions of a suite of MeTTa scripts pass.
//!
//! An assertion is a top-level `!` form whose head starts with `assert`. It passed if its form ended with exactly one
//! result, `()`. It failed if it gave anything else or was not reached. Where the run of its file says that a name is
//! not supported yet, what did not pass counts as unsupported instead.
//!
//! For each `*.metta` below the suite's folder, in the order of paths:
//! 1. [`assertions`] finds the assertions with the engine's own parser.
//! 2. The program runs it as `metroon run --json NAME`, in the folder that holds it, for at most [`FILE_LIMIT`].
//! 3. [`record`] reads what each form gave; [`report`] puts the two together.
//!
//! The suite this is for is that of hyperon-experimental 0.2.10; [`HOW_TO_GET`] says how to get it.

mod assertions;
mod python;
pub(crate) mod record;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::install::Install;
use crate::{Outcome, process, repository};
use report::{FileReport, Report};

/// Run a suite of MeTTa scripts and count the assertions that pass.
#[derive(Debug, clap::Args)]
#[command(after_help = HOW_TO_GET)]
pub(crate) struct Flags {
    /// The scripts ($METROON_SUITE, else target/suite)
    #[arg(long, value_name = "DIR")]
    suite: Option<PathBuf>,
    /// The program to test (built from here if not given)
    #[arg(long, value_name = "PATH")]
    pub(crate) metroon: Option<PathBuf>,
    /// Instead: run hyperon's tests for Python in this folder, against the package for Python
    #[arg(long, value_name = "DIR", conflicts_with_all = ["suite", "metroon"])]
    python: Option<PathBuf>,
    /// Instead: run the programs of the corpus in hyperon 0.2.10 of PyPI as well, and show what differs with its reason
    #[arg(long, conflicts_with_all = ["suite", "python"])]
    pub(crate) oracle: bool,
    #[command(flatten)]
    install: Install,
}

/// What to do when there is no suite.
pub(crate) const HOW_TO_GET: &str = "\
The public scripts of hyperon-experimental are in no package registry (PyPI has only wheels, without them), so no task
can install them. To put them where this task looks:

  git clone --depth 1 --branch v0.2.10 https://github.com/trueagi-io/hyperon-experimental target/hyperon
  mkdir -p target/suite && cp -r target/hyperon/python/tests/scripts target/hyperon/lib/tests target/suite/

With --python target/hyperon/python/tests its tests for Python are run against metroon.hyperon.";

/// The longest a file may run.
const FILE_LIMIT: Duration = Duration::from_secs(120);
/// Scripts that fail in the interpreter they were written for, reported beside the others.
const STALE: &[&str] = &["g1_docs.metta"];

pub(crate) fn run(flags: &Flags) -> Result<Outcome, String> {
    if let Some(folder) = &flags.python {
        crate::python::prepare(flags.install.is_wanted())?;
        return python::check(folder);
    }
    let suite = match &flags.suite {
        Some(folder) => folder.clone(),
        None => suite().ok_or_else(|| format!("there is no suite at target/suite.\n{HOW_TO_GET}"))?,
    };
    let program = given_or_built(flags.metroon.as_deref())?;
    check(&suite, &program)
}

/// The suite of this machine, if it has one.
pub(crate) fn suite() -> Option<PathBuf> {
    let named = std::env::var_os("METROON_SUITE").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(repository::target().join("suite")).filter(|folder| folder.is_dir()))
}

/// The program to test: the one at a path that was given, as seen from anywhere, or the one that is built from here.
///
/// # Errors
/// The path is empty, or the program does not build.
pub(crate) fn given_or_built(path: Option<&Path>) -> Result<PathBuf, String> {
    match path {
        Some(path) => std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display())),
        None => build(),
    }
}

/// Builds the program and says where it is.
///
/// # Errors
/// It does not build.
pub(crate) fn build() -> Result<PathBuf, String> {
    let built = process::shown(
        process::cargo(&["build", "--release", "--package", "metroon-cli"]).current_dir(repository::root()),
    )?;
    let program = repository::target().join("release").join(format!("metroon{}", std::env::consts::EXE_SUFFIX));
    if built { Ok(program) } else { Err("`cargo build --release --package metroon-cli` failed".to_owned()) }
}

/// Runs `program` on every script of `suite` and prints what passed.
///
/// # Errors
/// The suite cannot be read, holds no assertion, or the program cannot be started.
pub(crate) fn check(suite: &Path, program: &Path) -> Result<Outcome, String> {
    let suite = fs::canonicalize(suite).map_err(|error| format!("cannot read {}: {error}", suite.display()))?;
    let mut files = Vec::new();
    scripts(&suite, &mut files)?;
    let mut report = Report::default();
    for path in files {
        let name = path.strip_prefix(&suite).unwrap_or(&path).display().to_string();
        let stale = path.file_name().is_some_and(|name| STALE.iter().any(|stale| name == *stale));
        let file = check_file(&path, name, program)?;
        if stale { report.stale.push(file) } else { report.files.push(file) }
    }
    print!("{report}");
    if report.assertions() == 0 {
        return Err(format!("no assertion in any *.metta under {}", suite.display()));
    }
    Ok(if report.failed() == 0 { Outcome::Good } else { Outcome::Bad })
}

fn check_file(path: &Path, name: String, program: &Path) -> Result<FileReport, String> {
    let source = fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let mut command = Command::new(program);
    command.args(["run", "--json"]).args(path.file_name());
    command.current_dir(path.parent().unwrap_or(Path::new(".")));
    let finished = process::bounded(&mut command, FILE_LIMIT)?;
    Ok(FileReport::new(name, &assertions::find(&source), &record::read(&finished.stdout), &finished))
}

/// Adds every `*.metta` below `folder`, in the order of their paths.
fn scripts(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let cannot_read = |error| format!("cannot read {}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(cannot_read)?;
    let mut paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(cannot_read)?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            scripts(&path, files)?;
        } else if path.extension().is_some_and(|end| end == "metta") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_found_below_a_folder_in_order() {
        let mut files = Vec::new();
        scripts(&repository::root().join("examples"), &mut files).unwrap();
        assert!(files.is_sorted());
        assert!(files.iter().any(|path| path.ends_with("family.metta")));
    }

    #[test]
    fn a_suite_that_is_not_there_is_named() {
        let error = check(Path::new("no-such-suite"), Path::new("metroon")).unwrap_err();
        assert!(error.starts_with("cannot read no-such-suite: "), "{error}");
    }
}
