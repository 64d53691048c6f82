//! A fact added by a program, a commit each, beside SQLite's write-ahead log with the same durability.

use super::SUITE;
use crate::compare::{Case, Clock, Timed, contest};
use crate::row::Row;
use crate::{Plan, Rows};
use metroon::storage::{CommitJournal, Durability};
use metroon::{Engine, MemoryWorld, RunEnd};
use rusqlite::{Connection, params};
use std::error::Error;
use std::path::Path;

const SQLITE: &str = "SQLite, write-ahead log";
const ROUNDS: usize = 7;

/// A level: what it is called, ours, what SQLite calls it, and how many commits a round has.
const LEVELS: &[(&str, Durability, &str, u64)] = &[
    ("add-atom, each on the disk before the next", Durability::Fsync, "FULL", 300),
    ("add-atom, each outlives the process", Durability::Os, "NORMAL", 20_000),
];

pub(super) fn rows(plan: &Plan) -> Rows {
    LEVELS.iter().map(|level| row(plan, level)).collect()
}

fn row(
    plan: &Plan,
    &(name, durability, synchronous, commits): &(&str, Durability, &str, u64),
) -> Result<Row, Box<dyn Error>> {
    let n = plan.scaled(commits);
    let base = CommitJournal::open(plan.scratch.join(format!("base-{synchronous}")))?.with_durability(durability);
    let mut engine = Engine::with_base(MemoryWorld::default(), base)?;
    let connection = connected(&plan.scratch.join(format!("{synchronous}.sqlite")), synchronous)?;
    let (mut ours, mut theirs) = (0..u64::MAX, 0..u64::MAX);
    let note = format!(
        "ours parses and evaluates a form, and keeps where the fact comes from; SQLite has a prepared statement, two columns and \
         synchronous={synchronous}"
    );
    let case = Case { suite: SUITE, name: name.to_owned(), n, peer: SQLITE, rounds: plan.rounds(ROUNDS), note };
    let row = contest(
        case,
        Some((2.0, "the issue")),
        &mut || added(&mut engine, ours.by_ref().take(n as usize)),
        &mut || inserted(&connection, theirs.by_ref().take(n as usize)),
    )?;
    engine.finish()?;
    Ok(row)
}

fn added(engine: &mut Engine, numbers: impl Iterator<Item = u64>) -> Result<Timed, Box<dyn Error>> {
    let forms: Vec<String> =
        numbers.map(|number| format!("!(add-atom &self (edge {number} {}))", number + 1)).collect();
    let mut clock = Clock::default();
    let ended = clock.run(|| {
        let mut ends = forms.iter().map(|form| engine.run_text(form, &mut |_, _| Ok(())).end);
        ends.find(|end| !matches!(end, RunEnd::Finished))
    });
    match ended {
        None => Ok(clock.done(engine.atom_count() as u64)),
        Some(end) => Err(format!("a commit ended early: {end:?}").into()),
    }
}

fn connected(path: &Path, synchronous: &str) -> Result<Connection, Box<dyn Error>> {
    let connection = Connection::open(path)?;
    connection.execute_batch(&format!("PRAGMA journal_mode=WAL; PRAGMA synchronous={synchronous};"))?;
    connection.execute_batch("CREATE TABLE edge(a INTEGER, b INTEGER)")?;
    Ok(connection)
}

fn inserted(connection: &Connection, numbers: impl Iterator<Item = u64>) -> Result<Timed, Box<dyn Error>> {
    let mut insert = connection.prepare_cached("INSERT INTO edge VALUES (?1, ?2)")?;
    let mut clock = Clock::default();
    clock.run(|| {
        numbers
            .map(|number| insert.execute(params![number as i64, number as i64 + 1]))
            .try_for_each(|done| done.map(drop))
    })?;
    let count: i64 = connection.query_row("SELECT count(*) FROM edge", [], |row| row.get(0))?;
    Ok(clock.done(count as u64))
}
