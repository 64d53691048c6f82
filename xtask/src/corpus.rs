//! The corpus in every mode, and its expected outputs written anew.
//!
//! What `--accept` does, besides the rows of `docs/compat.md` about operations, which it writes first:
//! 1. The tests of [`ACCEPTED`] run with a folder in the variable [`OUTPUTS`], into which they put what each program prints.
//! 2. Where that differs from the `.expected` file beside the program, the difference is shown and the file is written.
//! 3. All modes run, so that an output that only one of them has is not taken for right.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use similar::TextDiff;

use crate::{Outcome, compat, process, repository};

/// Run the corpus in every mode, one test for each program and mode.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The modes are machine, interpreter, durable, reopened, recorded and others: `recorded::peano` is one test.\n\
                  --accept takes what the interpreter prints, and runs all modes against it. It also writes the rows\n\
                  of docs/compat.md about native operations, as their specifications have them."
)]
pub(crate) struct Flags {
    /// The tests whose names hold this; with --accept the programs whose names begin with it
    name: Option<String>,
    /// Write the expected outputs anew and show what changes
    #[arg(long)]
    accept: bool,
}

/// The modes whose outputs are taken, as their tests are called: the obvious one, and programs about the past of a base.
const ACCEPTED: [&str; 2] = ["interpreter::", "past::"];
/// The variable that names the folder of the outputs.
const OUTPUTS: &str = "METROON_CORPUS_OUTPUTS";
/// The longest the tests of a mode may run once they are built.
const RUN_LIMIT: Duration = Duration::from_secs(600);
/// How many lines are shown around what changes.
const CONTEXT_LINES: usize = 2;

pub(crate) fn run(flags: &Flags) -> Result<Outcome, String> {
    let name = flags.name.as_deref().unwrap_or("");
    if flags.accept {
        compat::write()?;
        accept(name)?;
    }
    Ok(if process::shown(&mut tests(name))? { Outcome::Good } else { Outcome::Bad })
}

/// The tests whose names hold a text.
fn tests(name: &str) -> Command {
    let mut command = cargo_test();
    command.arg("--").args((!name.is_empty()).then_some(name));
    command
}

fn cargo_test() -> Command {
    let mut command = process::cargo(&["test", "--package", "metroon", "--test", "corpus"]);
    command.current_dir(repository::root());
    command
}

fn accept(name: &str) -> Result<(), String> {
    let folder = repository::target().join("corpus-outputs");
    let failed = |error| format!("cannot empty {}: {error}", repository::shown(&folder));
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    fs::create_dir_all(&folder).map_err(failed)?;
    if !process::shown(cargo_test().arg("--no-run"))? {
        return Err("the tests of the corpus do not build: see above".to_owned());
    }
    for mode in ACCEPTED {
        let mut command = tests(&format!("{mode}{name}"));
        let finished = process::bounded(command.env(OUTPUTS, &folder), RUN_LIMIT)?;
        // A test whose output is not the expected one fails, which is what this is for; one that did not run is another thing.
        if !finished.stdout.contains("test result:") {
            return Err(format!("the tests did not run ({}):\n{}", finished.ending(), finished.stderr));
        }
    }
    let printed = outputs(&folder)?;
    if printed.is_empty() {
        return Err(format!("no program of the corpus has a name that begins with {name}"));
    }
    let changed = write(&printed, &repository::root().join("corpus"))?;
    println!("{} programs, {changed} outputs changed", printed.len());
    Ok(())
}

/// The files below a folder, by their paths from there.
fn outputs(folder: &Path) -> Result<BTreeMap<PathBuf, String>, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        let failed = |error| format!("cannot read {}: {error}", at.display());
        for entry in fs::read_dir(&at).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let text = fs::read_to_string(&path).map_err(failed)?;
                found.insert(path.strip_prefix(folder).unwrap_or(&path).to_owned(), text);
            }
        }
    }
    Ok(found)
}

/// Writes outputs that differ from the files of a folder, and shows how; gives how many those are.
fn write(printed: &BTreeMap<PathBuf, String>, folder: &Path) -> Result<usize, String> {
    let mut changed = 0;
    for (name, text) in printed {
        let path = folder.join(name);
        let before = fs::read_to_string(&path).unwrap_or_default();
        if path.is_file() && before == *text {
            continue;
        }
        print!("{}", difference(&repository::shown(&path), &before, text));
        fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", repository::shown(&path)))?;
        changed += 1;
    }
    Ok(changed)
}

fn difference(name: &str, before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    diff.unified_diff().context_radius(CONTEXT_LINES).header(name, name).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_shown_and_written() {
        let folder = std::env::temp_dir().join(format!("metroon-corpus-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("same.expected"), "[1]\n").unwrap();
        fs::write(folder.join("other.expected"), "[1]\n[2]\n").unwrap();
        let printed = [("same", "[1]\n"), ("other", "[1]\n[3]\n"), ("new", "")];
        let printed = printed.map(|(name, text)| (PathBuf::from(format!("{name}.expected")), text.to_owned())).into();
        assert_eq!(write(&printed, &folder), Ok(2));
        assert_eq!(outputs(&folder), Ok(printed));
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(difference("a", "[1]\n[2]\n", "[1]\n[3]\n"), "--- a\n+++ a\n@@ -1,2 +1,2 @@\n [1]\n-[2]\n+[3]\n");
    }

    #[test]
    fn a_name_is_a_filter_of_the_tests() {
        let words =
            |name: &str| tests(name).get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>();
        assert_eq!(words("recorded::peano")[4..], ["corpus", "--", "recorded::peano"]);
        assert_eq!(words("")[4..], ["corpus", "--"]);
    }
}
