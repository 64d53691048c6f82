//! The space: what loading, finding and keeping facts costs, beside tries, databases and other implementations of MeTTa.
//!
//! 1. [`facts`] says what is stored, in the form that each side takes.
//! 2. [`report`], [`loads`], [`programs`], [`lookups`], [`stages`], [`readers`] and [`memory`] are the rows. A row is a [`Contest`], and whether its ratio is what
//!    it must be stands in its note.
//! 3. A peer that is not a crate is a [`Worker`]: a process that measures itself, so that no side pays for the way to the other.
//! 4. Every result is consumed: the checksum is the sum of the lengths of the names found, and a side may compute it inside.
//!
//! Where a peer cannot do as many operations as ours in a round, it does the first of them; its time is scaled and the note says so.

mod facts;
mod loads;
mod lookups;
mod memory;
mod programs;
mod readers;
mod report;
mod stages;

use crate::compare::{Case, Side, Timed, compare, judged};
use crate::row::Row;
use crate::worker::Worker;
use crate::{Part, Plan, Rows, peers};
use facts::Form;
use std::error::Error;
use std::path::Path;
use std::process::Command;

const SUITE: &str = "space";
const ROUNDS: usize = 7;
const SCRIPTS: &str = "bench/programs/space";

const HYPERON: &str = "hyperon 0.2.6";
const DUCKDB: &str = "DuckDB 1.4.1";
const SWIPL: &str = "swipl";
const PATHMAP: &str = "pathmap 0.3.5";

/// Anything that ends the suite.
type Failure = Box<dyn Error>;

const PARTS: &[Part] = &[
    ("report", report::rows),
    ("stages", stages::rows),
    ("load", loads::rows),
    ("lookups", programs::rows),
    ("trie", lookups::rows),
    ("readers", readers::rows),
    ("memory", memory::rows),
];

/// The part that is a process of its own.
pub(crate) const MEMORY: &str = memory::NAME;

/// What that process does.
pub(crate) fn alone(plan: &Plan) -> Rows {
    memory::alone(plan)
}

pub(crate) fn run(plan: &Plan) -> Rows {
    crate::rows_of(SUITE, PARTS, plan)
}

/// A row to be.
struct Contest<'a> {
    name: &'a str,
    /// Operations in a round.
    n: u64,
    peer: &'static str,
    /// What the ratio must be at least.
    must: Option<f64>,
    rounds: usize,
    note: &'a str,
}

impl Contest<'_> {
    /// Runs both sides in turn and notes whether the ratio is what it must be.
    fn run(self, plan: &Plan, ours: Side<'_>, peer: Side<'_>) -> Result<Row, Failure> {
        let Contest { name, n, peer: named, must, rounds, note } = self;
        let rounds = plan.rounds(rounds);
        let case = Case { suite: SUITE, name: name.to_owned(), n, peer: named, rounds, note: String::new() };
        let mut row = compare(case, ours, peer)?;
        row.note = judged(note, must.map(|least| (least, "the issue")), row.ratio.map(|ratio| ratio.median));
        Ok(row)
    }
}

/// A peer in a process of its own.
struct Peer {
    name: &'static str,
    form: Form,
    worker: Worker,
}

impl Peer {
    fn hyperon(plan: &Plan) -> Result<Self, Failure> {
        let mut command = Command::new(peers::python_with_hyperon(plan.may_install)?);
        let worker = Worker::start(command.arg(format!("{SCRIPTS}/with_hyperon.py")))?;
        Ok(Self { name: HYPERON, form: Form::Metta, worker })
    }

    fn duckdb(plan: &Plan) -> Result<Self, Failure> {
        let mut command = Command::new(peers::python_with_duckdb(plan.may_install)?);
        let worker = Worker::start(command.arg(format!("{SCRIPTS}/with_duckdb.py")))?;
        Ok(Self { name: DUCKDB, form: Form::Csv, worker })
    }

    fn swipl(plan: &Plan) -> Result<Self, Failure> {
        let mut command = peers::swipl(plan.may_install)?.command();
        // Without the user's own settings, and with room for what the large sizes take.
        let words = ["-q", "-f", "none", "-O", "--stack-limit=8g", "-g", "main", "-t", "halt"];
        let worker = Worker::start(command.args(words).arg(format!("{SCRIPTS}/with_swipl.pl")))?;
        Ok(Self { name: SWIPL, form: Form::Prolog, worker })
    }

    /// Loads the edges, from the file that is written for it.
    fn load(&mut self, path: &Path) -> Result<Timed, Failure> {
        let path = path.display();
        match self.form {
            Form::Prolog => self.worker.ask(&format!("load('{path}').")),
            Form::Metta | Form::Csv => self.worker.ask(&format!("load {path}")),
        }
    }

    /// Reads what it is to ask: names, a rule or programs, one to a line.
    fn take(&mut self, plan: &Plan, kind: &str, text: &str) -> Result<(), Failure> {
        let path = plan.scratch.join("taken").with_extension("txt");
        std::fs::write(&path, text)?;
        let path = path.display();
        match self.form {
            Form::Prolog => self.worker.ask(&format!("take({kind}, '{path}').")),
            Form::Metta | Form::Csv => self.worker.ask(&format!("take {kind} {path}")),
        }?;
        Ok(())
    }

    /// Asks what it took.
    fn ask(&mut self) -> Result<Timed, Failure> {
        self.worker.ask(if matches!(self.form, Form::Prolog) { "ask." } else { "ask" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{kept_names, names};
    use std::path::PathBuf;

    #[test]
    fn every_part_without_other_processes_runs_small() {
        let plan = Plan { is_quick: true, divisor: 1000, only: None, may_install: false, scratch: PathBuf::new() };
        let mut rows = report::rows(&plan).unwrap();
        rows.extend(stages::rows(&plan).unwrap());
        rows.extend(lookups::rows(&plan).unwrap());
        assert!(rows.len() > 15);
        assert!(rows.iter().all(|row| row.suite == SUITE && row.ours.is_some()));
        let kept = kept_names(SUITE);
        for name in names(&rows).lines() {
            assert!(kept.contains(name), "{name}: `cargo xtask bench space --quick` writes the list anew");
        }
    }
}
