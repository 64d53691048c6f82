//! What users do with the command, as whole processes: run, record, keep, load, reopen.
//!
//! 1. A side is a process from its start to its end, with whatever it reads and writes; it begins without the files of the round before.
//! 2. Where another program does the same, it is the peer: SQLite for facts on disk, hyperon for programs in memory. Otherwise
//!    the peer is the same run of ours without what the row is about.
//! 3. The checksum of a side is that of the words that it prints, whatever stands between them.

mod bases;
mod facts;
mod wordnet;

use crate::compare::{Case, Side, Timed, compare, judged, timed};
use crate::row::Row;
use crate::{Plan, Rows};
use std::collections::hash_map::DefaultHasher;
use std::error::Error;
use std::hash::Hasher;
use std::path::Path;
use std::process::{Command, Stdio};

const SUITE: &str = "recall";

/// Anything that ends the suite.
type Failure = Box<dyn Error>;

/// Runs the suite.
pub(crate) fn run(plan: &Plan) -> Rows {
    let parts = [("wordnet", wordnet::rows as fn(&Plan) -> Rows), ("facts", facts::rows), ("bases", bases::rows)];
    crate::rows_of(SUITE, &parts, plan)
}

/// A row to be.
struct Contest<'a> {
    name: &'a str,
    /// Operations in a round.
    n: u64,
    peer: &'static str,
    rounds: usize,
    /// What the ratio must be at least.
    must: Option<f64>,
    note: &'a str,
}

impl Contest<'_> {
    /// Runs both sides in turn and notes whether the ratio is what it must be.
    fn run(self, plan: &Plan, ours: Side<'_>, peer: Side<'_>) -> Result<Row, Failure> {
        let Contest { name, n, peer: named, rounds, must, note } = self;
        let rounds = plan.rounds(rounds);
        let case = Case { suite: SUITE, name: name.to_owned(), n, peer: named, rounds, note: String::new() };
        let mut row = compare(case, ours, peer)?;
        row.note = judged(note, must.map(|least| (least, "the issue")), row.ratio.map(|ratio| ratio.median));
        Ok(row)
    }
}

/// Runs a process to its end; its checksum is that of the words it prints.
fn process(program: &Path, arguments: &[&str]) -> Result<Timed, Failure> {
    let mut command = Command::new(program);
    finished(command.args(arguments).stdin(Stdio::null()))
}

fn finished(command: &mut Command) -> Result<Timed, Failure> {
    let (elapsed, output) = timed(|| Ok(command.stderr(Stdio::piped()).output()?))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}\n{errors}", output.status).into());
    }
    Ok(Timed { elapsed, checksum: checksum(&String::from_utf8_lossy(&output.stdout)) })
}

/// The checksum of the words of a text.
fn checksum(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    for word in text.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty()) {
        hasher.write(word.as_bytes());
        hasher.write_u8(0);
    }
    hasher.finish()
}

/// Removes a file or folder, if it is there.
fn remove(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        std::fs::remove_dir_all(path)?;
    } else if path.exists() {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the scratch folder has a name in UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_count_and_not_what_stands_between_them() {
        assert_eq!(checksum("[b7, b8]\n"), checksum("b7\nb8\n"));
        assert_ne!(checksum("[b7, b8]"), checksum("[b78]"));
        assert_ne!(checksum("[b7, b8]"), checksum("[b8, b7]"));
    }

    #[test]
    fn a_process_that_fails_ends_the_suite() {
        let shell = Path::new("sh");
        assert_eq!(process(shell, &["-c", "echo a"]).unwrap().checksum, checksum("a"));
        let error = process(shell, &["-c", "echo why >&2; exit 3"]).err().unwrap().to_string();
        assert!(error.contains("exit status: 3\nwhy"), "{error}");
    }
}
