//! SQLite, in two ways: as in the report, and as somebody sets it up who knows it.

use super::engine::{Done, Engine, Level, Reader, first};
use super::rows::Workload;
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use std::path::Path;

const CREATE: &str = "CREATE TABLE IF NOT EXISTS data(id INTEGER PRIMARY KEY, value BLOB)";
const INSERT: &str = "INSERT INTO data VALUES (?1, ?2)";
const REPLACE: &str = "INSERT OR REPLACE INTO data VALUES (?1, ?2)";
const SELECT: &str = "SELECT value FROM data WHERE id = ?1";
const SCAN: &str = "SELECT value FROM data WHERE id >= ?1 ORDER BY id LIMIT ?2";
const FAIR: &str =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-2000000; PRAGMA mmap_size=8589934592;";

struct Sqlite {
    connection: Connection,
    /// Whether statements are prepared each time, as the report does.
    is_plain: bool,
}

fn opened(path: &Path, is_plain: bool) -> Done<Box<dyn Engine>> {
    std::fs::create_dir_all(path)?;
    let connection = Connection::open(path.join("data.sqlite"))?;
    if !is_plain {
        connection.execute_batch(FAIR)?;
    }
    connection.execute_batch(CREATE)?;
    Ok(Box::new(Sqlite { connection, is_plain }))
}

/// Write-ahead log, full synchronization, a cache of 2 GB, mapped reads, statements prepared once.
pub(super) fn open_fair(path: &Path) -> Done<Box<dyn Engine>> {
    opened(path, false)
}

/// As the report has it: no settings, statements prepared for every row.
pub(super) fn open_plain(path: &Path) -> Done<Box<dyn Engine>> {
    opened(path, true)
}

impl Engine for Sqlite {
    fn load(&mut self, workload: &Workload) -> Done {
        let transaction = self.connection.transaction()?;
        let mut value = Vec::new();
        if self.is_plain {
            for key in &workload.keys {
                workload.values.write(*key, &mut value);
                transaction.execute(INSERT, params![key, value])?;
            }
        } else {
            let mut statement = transaction.prepare(INSERT)?;
            for key in &workload.keys {
                workload.values.write(*key, &mut value);
                statement.execute(params![key, value])?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn commit(&mut self, rows: &[(i64, Vec<u8>)], level: Level) -> Done {
        let synchronous = if level == Level::Power { "FULL" } else { "NORMAL" };
        self.connection.pragma_update(None, "synchronous", synchronous)?;
        let transaction = self.connection.transaction()?;
        let mut statement = transaction.prepare_cached(REPLACE)?;
        for (key, value) in rows {
            statement.execute(params![key, value])?;
        }
        drop(statement);
        Ok(transaction.commit()?)
    }

    fn reader(&self) -> Done<Box<dyn Reader + '_>> {
        if self.is_plain {
            return Ok(Box::new(Plain { connection: &self.connection }));
        }
        let (select, scan) = (self.connection.prepare_cached(SELECT)?, self.connection.prepare_cached(SCAN)?);
        Ok(Box::new(Prepared { select, scan }))
    }
}

/// Prepares every query anew.
struct Plain<'c> {
    connection: &'c Connection,
}

impl Reader for Plain<'_> {
    fn get(&mut self, key: i64, into: &mut Vec<u8>) -> Done<bool> {
        let mut statement = self.connection.prepare(SELECT)?;
        let value: Option<Vec<u8>> = statement.query_row(params![key], |row| row.get(0)).optional()?;
        let is_there = value.is_some();
        *into = value.unwrap_or_default();
        Ok(is_there)
    }

    fn scan(&mut self, from: i64, count: usize) -> Done<u64> {
        summed(&mut self.connection.prepare(SCAN)?, from, count)
    }
}

struct Prepared<'c> {
    select: CachedStatement<'c>,
    scan: CachedStatement<'c>,
}

impl Reader for Prepared<'_> {
    fn get(&mut self, key: i64, into: &mut Vec<u8>) -> Done<bool> {
        let mut rows = self.select.query(params![key])?;
        let Some(row) = rows.next()? else { return Ok(false) };
        into.clear();
        into.extend_from_slice(row.get_ref(0)?.as_blob()?);
        Ok(true)
    }

    fn scan(&mut self, from: i64, count: usize) -> Done<u64> {
        summed(&mut self.scan, from, count)
    }
}

fn summed(statement: &mut rusqlite::Statement<'_>, from: i64, count: usize) -> Done<u64> {
    let mut rows = statement.query(params![from, count as i64])?;
    let mut sum = 0;
    while let Some(row) = rows.next()? {
        sum += first(row.get_ref(0)?.as_blob()?);
    }
    Ok(sum)
}
