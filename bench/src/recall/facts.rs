//! Half a million facts, `(edge a7 b7)`: run, recorded, kept, loaded, and asked for in a base that is opened for one question.
//!
//! SQLite is the program `sqlite3` of the system, which reads the same facts as CSV into a table with an index of the column that is
//! asked about. Both find the answer on disk: a base that was loaded has a checkpoint.

use super::{Contest, Failure, checksum, finished, process, remove, text};
use crate::compare::Timed;
use crate::row::Row;
use crate::{Plan, Rows, command, peers};
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

const EDGES: u64 = 500_000;
/// How many second arguments the edges have.
const TARGETS: u64 = 1_000;
/// A prime that divides no number of edges used here: steps of it visit every edge, in no particular order.
const STRIDE: u64 = 7_368_787;
/// Facts that are added one by one.
const ADDED: u64 = 1_000;
const ROUNDS: usize = 7;
/// Targets near to 1 take more rounds to tell.
const ROUNDS_PLAIN: usize = 15;
const ROUNDS_HYPERON: usize = 3;

const QUESTION: &str = "!(match &self (edge a7 $x) $x)";
const QUESTION_IN_SQL: &str = "SELECT b FROM edge WHERE a = 'a7'";
const TABLE: &str = "CREATE TABLE edge(a TEXT, b TEXT)";

const SQLITE: &str = "sqlite3";
const HYPERON: &str = "hyperon 0.2.6";
const WITHOUT_SQLITE: &str =
    "the program sqlite3 is missing. To get it: install Debian's sqlite3, or any other package that has it";

/// A program of a few facts and one rule, as a tutorial has it.
const SMALL: &str = "\
(parent Rhea Zeus) (parent Kronos Zeus) (parent Demeter Persephone) (parent Zeus Persephone)
(goddess Rhea) (goddess Demeter)
(= (mother-of $x) (match &self (, (parent $p $x) (goddess $p)) $p))
!(mother-of Persephone)
!(mother-of Zeus)
";

/// The programs that run, and the files that they read.
struct Sides {
    metroon: PathBuf,
    hyperon: PathBuf,
    scratch: PathBuf,
}

pub(super) fn rows(plan: &Plan) -> Rows {
    process(Path::new(SQLITE), &["--version"]).map_err(|error| format!("{WITHOUT_SQLITE} ({error})"))?;
    let hyperon = peers::hyperon(plan.may_install)?;
    let sides = Sides { metroon: command::build("release")?, hyperon, scratch: plan.scratch.canonicalize()? };
    sides.write(plan.scaled(EDGES), plan.scaled(ADDED))?;
    let mut rows = sides.remembered(plan)?;
    rows.push(sides.loaded(plan)?);
    rows.push(sides.added(plan)?);
    rows.extend(sides.opened(plan)?);
    rows.push(sides.small(plan)?);
    Ok(rows)
}

fn edge(position: u64, edges: u64) -> (String, String) {
    let number = position * STRIDE % edges;
    (format!("a{number}"), format!("b{}", number % TARGETS))
}

impl Sides {
    fn path(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// Writes what the sides read.
    fn write(&self, edges: u64, added: u64) -> Result<(), Failure> {
        let (mut facts, mut table) = (String::new(), String::new());
        for (left, right) in (0..edges).map(|position| edge(position, edges)) {
            writeln!(facts, "(edge {left} {right})")?;
            writeln!(table, "{left},{right}")?;
        }
        let mut adding = String::new();
        let mut inserting = format!("PRAGMA journal_mode=WAL;\nPRAGMA synchronous=FULL;\n{TABLE};\n");
        for (left, right) in (0..added).map(|position| edge(position, added)) {
            writeln!(adding, "!(add-atom &self (edge {left} {right}))")?;
            writeln!(inserting, "INSERT INTO edge VALUES('{left}', '{right}');")?;
        }
        for (name, text) in [
            ("facts.metta", &facts),
            ("asking.metta", &format!("{facts}{QUESTION}\n")),
            ("facts.csv", &table),
            ("adding.metta", &adding),
            ("inserting.sql", &inserting),
            ("small.metta", &SMALL.to_owned()),
        ] {
            std::fs::write(self.path(name), text)?;
        }
        Ok(())
    }

    fn metroon(&self, arguments: &[&str]) -> Result<Timed, Failure> {
        process(&self.metroon, arguments)
    }

    /// A run that is recorded, and one that is kept, beside the run itself.
    fn remembered(&self, plan: &Plan) -> Rows {
        let (program, tape, base) = (self.path("asking.metta"), self.path("run.tape"), self.path("run-base"));
        let contest =
            |name, peer, must, note| Contest { name, n: 1, peer, rounds: ROUNDS_PLAIN, must: Some(must), note };
        let recorded = contest(
            "500,000 facts run, recorded",
            "the same, not recorded",
            0.952,
            "a program that states the facts and asks for one; what a recording costs: 5 % at most",
        );
        let kept = contest(
            "500,000 facts run, kept in a new base",
            "the same, not kept",
            0.769,
            "a program that states the facts and asks for one; what the base costs: 1.3 times the run at most",
        );
        let mut record = || {
            remove(&tape)?;
            self.metroon(&["run", "--record", text(&tape), text(&program)])
        };
        let mut keep = || {
            remove(&base)?;
            self.metroon(&["run", "--kb", text(&base), text(&program)])
        };
        Ok(vec![
            recorded.run(plan, &mut record, &mut || self.metroon(&["run", text(&program)]))?,
            kept.run(plan, &mut keep, &mut || self.metroon(&["run", text(&program)]))?,
        ])
    }

    /// Both sides have the facts on disk at the end; ours makes no index before the first question.
    fn loaded(&self, plan: &Plan) -> Result<Row, Failure> {
        let contest = Contest {
            name: "500,000 facts loaded into a new base",
            n: 1,
            peer: SQLITE,
            rounds: ROUNDS,
            must: None,
            note: "`metroon kb load`, and `.import` of the same as CSV with an index of the first column; both are on the disk at the end",
        };
        let (base, table) = (self.path("loaded-base"), self.path("loaded.db"));
        let (facts, import) = (self.path("facts.metta"), format!(".import {} edge", text(&self.path("facts.csv"))));
        let expected = plan.scaled(EDGES).to_string();
        let counted = |timed: Timed, output: &str| {
            let is_whole = timed.checksum == checksum(output);
            if is_whole { Ok(Timed { checksum: 0, ..timed }) } else { Err(Failure::from("not every fact was loaded")) }
        };
        let ours = format!("{}: {expected} atoms added", text(&facts));
        contest.run(
            plan,
            &mut || {
                remove(&base)?;
                counted(self.metroon(&["kb", "load", text(&base), text(&facts)])?, &ours)
            },
            &mut || {
                remove(&table)?;
                let words = [TABLE, ".mode csv", &import, "CREATE INDEX asked ON edge(a)", "SELECT count(*) FROM edge"];
                counted(process(Path::new(SQLITE), &[&[text(&table)], &words[..]].concat())?, &expected)
            },
        )
    }

    /// One process adds facts one after the other, each of which is on the disk before the next.
    fn added(&self, plan: &Plan) -> Result<Row, Failure> {
        let contest = Contest {
            name: "1,000 facts added, each durable",
            n: plan.scaled(ADDED),
            peer: SQLITE,
            rounds: ROUNDS,
            must: None,
            note: "a process with a new base; a commit is synced before the next begins (SQLite: journal_mode=WAL, synchronous=FULL); a time is of one, and mostly the disk's",
        };
        let (base, table) = (self.path("added-base"), self.path("added.db"));
        let (adding, inserting) = (self.path("adding.metta"), self.path("inserting.sql"));
        // Ours prints `[()]` for each; SQLite prints the journal's mode.
        let printing = |timed: Timed, expected: &str| match timed.checksum == checksum(expected) {
            true => Ok(Timed { checksum: 0, ..timed }),
            false => Err(Failure::from("a side printed something else")),
        };
        let row = contest.run(
            plan,
            &mut || {
                remove(&base)?;
                printing(self.metroon(&["run", "--kb", text(&base), text(&adding)])?, "")
            },
            &mut || {
                ["", "-wal", "-shm"]
                    .iter()
                    .try_for_each(|end| remove(&PathBuf::from(format!("{}{end}", text(&table)))))?;
                let mut command = Command::new(SQLITE);
                printing(finished(command.arg(&table).stdin(File::open(&inserting)?))?, "wal")
            },
        )?;
        let expected = checksum(&plan.scaled(ADDED).to_string());
        let count = "!(let $all (collapse (match &self (edge $x $y) $x)) (size-atom $all))";
        let ours = self.metroon(&["run", "--kb", text(&base), "-e", count])?;
        let theirs = process(Path::new(SQLITE), &[text(&table), "SELECT count(*) FROM edge"])?;
        if (ours.checksum, theirs.checksum) != (expected, expected) {
            return Err("not every fact that was added is there".into());
        }
        Ok(row)
    }

    /// A base that is there is asked one question by a process that ends after it.
    fn opened(&self, plan: &Plan) -> Rows {
        let contest = |peer, rounds, note| Contest {
            name: "a base of 500,000 facts opened, one question",
            n: 1,
            peer,
            rounds,
            must: None,
            note,
        };
        let (base, table, asking) = (self.path("loaded-base"), self.path("loaded.db"), self.path("asking.metta"));
        let mut ours = || self.metroon(&["run", "--kb", text(&base), "-e", QUESTION]);
        let of_sqlite = contest(SQLITE, ROUNDS, "both find the answer by an index on disk");
        let of_hyperon = contest(
            HYPERON,
            ROUNDS_HYPERON,
            "hyperon keeps nothing, so it runs the text of the facts and the question",
        );
        let of_text = contest("ours, from the text", ROUNDS, "the same text run without a base");
        let queried = Contest {
            name: "a base of 500,000 facts asked by `metroon kb query`",
            ..contest(SQLITE, ROUNDS, "both find the answer by an index on disk")
        };
        let mut query = || self.metroon(&["kb", "query", text(&base), "(edge a7 $x)", "$x"]);
        Ok(vec![
            queried.run(plan, &mut query, &mut || process(Path::new(SQLITE), &[text(&table), QUESTION_IN_SQL]))?,
            of_sqlite.run(plan, &mut ours, &mut || process(Path::new(SQLITE), &[text(&table), QUESTION_IN_SQL]))?,
            of_hyperon.run(plan, &mut ours, &mut || process(&self.hyperon, &[text(&asking)]))?,
            of_text.run(plan, &mut ours, &mut || self.metroon(&["run", text(&asking)]))?,
        ])
    }

    fn small(&self, plan: &Plan) -> Result<Row, Failure> {
        let contest = Contest {
            name: "a small program, from start to end",
            n: 1,
            peer: HYPERON,
            rounds: ROUNDS_PLAIN,
            must: None,
            note: "six facts, a rule and two questions; Python starts before hyperon does",
        };
        let program = self.path("small.metta");
        contest.run(plan, &mut || self.metroon(&["run", text(&program)]), &mut || {
            process(&self.hyperon, &[text(&program)])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_edge_is_there_once() {
        let edges: std::collections::HashSet<_> = (0..1_000).map(|position| edge(position, 1_000)).collect();
        assert_eq!(edges.len(), 1_000);
        assert!(edges.contains(&("a7".to_owned(), "b7".to_owned())));
    }
}
