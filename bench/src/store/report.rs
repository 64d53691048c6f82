//! The protocol of the report, as its code has it: insert and query apart, ours beside its SQLite, and beside the ratio that it published.
//!
//! 1. A folder for each size and order; SQLite inserts, SQLite is asked, ours inserts, ours is asked, each from nothing.
//! 2. Values are `value_` and the key; SQLite prepares for every row and every query, and inserts in one transaction.
//! 3. Ours inserts one batch of all rows, and is not synced, as the report's store was not.
//! 4. A thousand keys, evenly spaced in the order of insertion, are asked for, once each, without asking before.

use super::field::{Clock, Contest, rows as rows_of};
use super::ours;
use super::rows::{Keys, Values, Workload, key_bytes};
use super::{OURS, SQLITE_PLAIN, SUITE, scaled};
use crate::row::{Ratio, Row};
use crate::{Plan, Rows};
use std::path::Path;
use std::time::Instant;
use store::{Batch, Durability, KeyShape, Options, Store};

const ROUNDS: usize = 5;
const ASKED: usize = 1000;
const PUBLISHED: &str = "the report's ratio (published)";

/// A size of the report: its name, its rows, and what it published as ratios, of insert and query, sequential and random.
struct Size {
    name: &'static str,
    rows: u64,
    sequential: (f64, f64),
    random: (f64, f64),
}

const SIZES: [Size; 3] = [
    Size { name: "10K", rows: 10_000, sequential: (2.63, 3.80), random: (1.99, 3.53) },
    Size { name: "100K", rows: 100_000, sequential: (2.80, 3.11), random: (1.60, 2.83) },
    Size { name: "1M", rows: 1_000_000, sequential: (2.70, 2.01), random: (2.95, 1.31) },
];

/// What a side took for inserting and for asking, in nanoseconds.
type Took = (f64, f64);

pub(super) fn rows(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for size in &SIZES {
        for (keys, published) in [(Keys::Sequential, size.sequential), (Keys::Random, size.random)] {
            rows.extend(compared(plan, size, keys, published)?);
        }
    }
    Ok(rows)
}

fn compared(plan: &Plan, size: &Size, keys: Keys, published: (f64, f64)) -> Rows {
    let workload = Workload::new(keys, Values::Named, scaled(plan, size.rows));
    let step = (workload.keys.len() / ASKED).max(1);
    let asked: Vec<i64> = workload.keys.iter().copied().step_by(step).take(ASKED).collect();
    let rounds = plan.rounds(ROUNDS);
    let (mut inserts, mut queries) = (vec![Vec::new(), Vec::new()], vec![Vec::new(), Vec::new()]);
    for _ in 0..rounds {
        let theirs = sqlite(&plan.scratch.join("report"), &workload, &asked)?;
        let ours = ours_took(&plan.scratch.join("report"), &workload, &asked)?;
        for (index, took) in [ours, theirs].into_iter().enumerate() {
            inserts[index].push(took.0);
            queries[index].push(took.1);
        }
    }
    let contest = |what: &str, n: usize, note| Contest {
        name: format!("the report: {what}, {}, {}", keys.name(), size.name),
        n: n as u64,
        rounds,
        clock: Clock::Wall,
        note,
        must: |_| Some(2.0),
    };
    let insert = contest(
        "insert, a row",
        workload.keys.len(),
        "one batch, not synced on our side, as the report's store was not",
    );
    let query = contest("query", asked.len(), "each key once, after nothing else");
    let mut rows = rows_of(&[OURS, SQLITE_PLAIN], &insert, &inserts);
    rows.extend(rows_of(&[OURS, SQLITE_PLAIN], &query, &queries));
    let beside: Vec<Row> =
        rows.iter().zip([published.0, published.1]).map(|(row, published)| beside_published(row, published)).collect();
    rows.extend(beside);
    Ok(rows)
}

/// Our ratio beside SQLite, beside the one that the report has for its own store, in thousandths.
fn beside_published(row: &Row, published: f64) -> Row {
    let ours = row.ratio.map_or(0.0, |ratio| ratio.median);
    let ratio = |ratio: f64| ratio / published;
    let ratio = row.ratio.map(|of| Ratio { median: ratio(of.median), min: ratio(of.min), max: ratio(of.max) });
    let verdict = if ours >= published { "met" } else { "missed" };
    Row {
        suite: SUITE,
        case: format!("{}: times its SQLite", row.case),
        n: 1,
        ours: Some(ours * 1000.0),
        peer: PUBLISHED,
        peer_figure: Some(published * 1000.0),
        ratio,
        rounds: row.rounds,
        unit: Some("thousandths"),
        note: format!("more is better: ours over theirs; must be 1 or more (the issue): {verdict}"),
    }
}

fn fresh(folder: &Path) -> std::io::Result<()> {
    if folder.exists() { std::fs::remove_dir_all(folder) } else { Ok(()) }
}

fn sqlite(folder: &Path, workload: &Workload, asked: &[i64]) -> Result<Took, Box<dyn std::error::Error>> {
    fresh(folder)?;
    let mut engine = (SQLITE_PLAIN.open)(folder)?;
    let began = Instant::now();
    engine.load(workload)?;
    let insert = began.elapsed();
    let mut reader = engine.reader()?;
    let query = ask(|key, value| reader.get(key, value), asked, workload)?;
    Ok((insert.as_nanos() as f64, query))
}

fn ours_took(folder: &Path, workload: &Workload, asked: &[i64]) -> Result<Took, Box<dyn std::error::Error>> {
    fresh(folder)?;
    let store = Store::create(folder, Options::default())?;
    let keyspace = store.keyspace("rows", KeyShape::Fixed(8))?;
    let began = Instant::now();
    let mut batch = Batch::new();
    let mut value = Vec::new();
    for key in &workload.keys {
        workload.values.write(*key, &mut value);
        batch.put(keyspace, key_bytes(*key), &value);
    }
    store.commit(&batch, Durability::None)?;
    let insert = began.elapsed();
    drop(batch);
    let mut reader = ours::Lookup { snapshot: store.snapshot(), keyspace };
    let query = ask(|key, value| super::engine::Reader::get(&mut reader, key, value), asked, workload)?;
    drop(reader);
    drop(store);
    fresh(folder)?;
    Ok((insert.as_nanos() as f64, query))
}

/// Asks for each key once, and compares what comes with what was loaded after the clock has stopped.
fn ask(
    mut get: impl FnMut(i64, &mut Vec<u8>) -> Result<bool, Box<dyn std::error::Error>>,
    asked: &[i64],
    workload: &Workload,
) -> Result<f64, Box<dyn std::error::Error>> {
    let mut found = Vec::with_capacity(asked.len());
    let began = Instant::now();
    for key in asked {
        let mut value = Vec::new();
        get(*key, &mut value)?;
        found.push(value);
    }
    let elapsed = began.elapsed();
    let mut expected = Vec::new();
    for (key, value) in asked.iter().zip(&found) {
        workload.values.write(*key, &mut expected);
        if *value != expected {
            return Err(format!("the key {key} has another value than was loaded").into());
        }
    }
    Ok(elapsed.as_nanos() as f64)
}
