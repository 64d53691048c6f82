//! Loading and asking at each size: 10K, 100K, 1M and 10M rows.

use super::engine::{Done, Kind, gets, misses, scans};
use super::field::{Clock, Contest, Field, Figures, Must};
use super::rows::{Keys, Values, Workload};
use super::{OURS, OURS_IN_BATCHES, SQLITE_PLAIN, disk_bytes, kinds, scaled};
use crate::row::Row;
use crate::{Plan, Rows};
use std::time::Instant;

/// How often every engine is asked.
const ROUNDS: usize = 5;

/// A size: what it is called, how many rows it has, how often they are loaded.
#[derive(Clone, Copy)]
struct Size {
    name: &'static str,
    rows: u64,
    loads: usize,
    /// Whether it is large enough for what must come out.
    is_judged: bool,
}

pub(super) fn small(plan: &Plan) -> Rows {
    let sizes = [
        Size { name: "10K", rows: 10_000, loads: 5, is_judged: false },
        Size { name: "100K", rows: 100_000, loads: 3, is_judged: false },
    ];
    let mut rows = Vec::new();
    for size in sizes {
        for keys in [Keys::Sequential, Keys::Random] {
            rows.extend(asked(plan, size, keys, &kinds())?);
        }
    }
    Ok(rows)
}

pub(super) fn million(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for keys in Keys::ALL {
        let size =
            Size { name: "1M", rows: 1_000_000, loads: if keys == Keys::Random { 3 } else { 2 }, is_judged: true };
        rows.extend(asked(plan, size, keys, &kinds())?);
    }
    rows.extend(in_batches(plan)?);
    Ok(rows)
}

pub(super) fn ten_million(plan: &Plan) -> Rows {
    let size = Size { name: "10M", rows: 10_000_000, loads: 1, is_judged: true };
    let mut rows = Vec::new();
    for keys in [Keys::Sequential, Keys::Random] {
        let mut kinds = kinds();
        kinds.push(SQLITE_PLAIN);
        rows.extend(asked(plan, size, keys, &kinds)?);
    }
    Ok(rows)
}

/// Ascending rows that are ingested, beside the same in batches, as any others.
fn in_batches(plan: &Plan) -> Rows {
    let workload = Workload::new(Keys::Sequential, Values::Hundred, scaled(plan, 1_000_000));
    let mut field = Field::new(&[OURS, OURS_IN_BATCHES], plan.scratch.join("store"));
    let contest = Contest {
        name: "load by ingesting, a row, sequential, 1M".to_owned(),
        n: workload.keys.len() as u64,
        rounds: plan.rounds(3),
        clock: Clock::Wall,
        note: "durable at the end on both sides",
        must: |_| None,
    };
    let rows = field.load(contest, &workload)?;
    drop(field);
    std::fs::remove_dir_all(plan.scratch.join("store"))?;
    Ok(rows)
}

fn asked(plan: &Plan, size: Size, keys: Keys, kinds: &[Kind]) -> Rows {
    let workload = Workload::new(keys, Values::Hundred, scaled(plan, size.rows));
    let mut field = Field::new(kinds, plan.scratch.join("store"));
    let of = |what: &str| format!("{what}, {}, {}", keys.name(), size.name);
    let load = Contest {
        name: of("load, a row"),
        n: workload.keys.len() as u64,
        rounds: if plan.is_quick { 1 } else { size.loads },
        clock: Clock::Wall,
        note: if keys == Keys::Sequential {
            "ours ingests"
        } else {
            "ours in batches of 100,000 rows, one sync at the end"
        },
        must: match (keys, size.is_judged) {
            (Keys::Sequential, true) => must_load_sequential,
            (Keys::Random, true) => must_load,
            _ => |_| None,
        },
    };
    let mut rows = field.load(load, &workload)?;
    rows.extend(settled(&mut field, of("compact after the load"))?);
    let ask = |name: &str, n: usize, must: Must| Contest {
        name: of(name),
        n: n as u64,
        rounds: plan.rounds(ROUNDS),
        clock: Clock::Thread,
        note: "all pages in memory, one thread, its time of computation",
        must: if size.is_judged { must } else { |_| None },
    };
    let expected = workload.expected();
    rows.extend(field.ask(ask("get", workload.hits.len(), must_get), |engine| {
        let sum = gets(&mut *engine.reader()?, &workload)?;
        if sum == expected { Ok(sum) } else { Err("a value is not what was loaded".into()) }
    })?);
    rows.extend(
        field.ask(ask("miss", workload.misses.len(), must_miss), |engine| misses(&mut *engine.reader()?, &workload))?,
    );
    rows.extend(
        field.ask(ask("scan of 100", workload.scans.len(), must_scan), |engine| {
            scans(&mut *engine.reader()?, &workload)
        })?,
    );
    rows.extend(opened(plan, &mut field, of("open after a clean close, and a get"), &workload)?);
    rows.extend(on_disk(&mut field, of("bytes on disk"), &workload)?);
    std::fs::remove_dir_all(plan.scratch.join("store"))?;
    Ok(rows)
}

/// How long it takes until nothing is left to do in the background.
fn settled(field: &mut Field, name: String) -> Rows {
    let mut figures = Figures::new();
    for index in 0..field.kinds().len() {
        let began = Instant::now();
        field.engine(index)?.settle()?;
        figures.push(vec![began.elapsed().as_nanos() as f64]);
    }
    let note = "what is left to merge or to flush when everything is loaded";
    let contest = Contest { name, n: 1, rounds: 1, clock: Clock::Wall, note, must: |_| None };
    let mut rows = field.rows(contest, figures);
    // The others have nothing of the kind.
    rows.retain(|row| super::is_log_structured(row.peer));
    Ok(rows)
}

fn opened(plan: &Plan, field: &mut Field, name: String, workload: &Workload) -> Rows {
    let rounds = plan.rounds(ROUNDS);
    let mut figures: Figures = field.kinds().iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for (index, figures) in figures.iter_mut().enumerate() {
            field.close(index)?;
            let began = Instant::now();
            let found = field.reopen(index)?.reader()?.get(workload.hits[round], &mut Vec::new())?;
            figures.push(began.elapsed().as_nanos() as f64);
            if !found {
                return Err("a row is gone after opening".into());
            }
        }
    }
    let note = "pages in memory";
    Ok(field.rows(Contest { name, n: 1, rounds, clock: Clock::Wall, note, must: |_| None }, figures))
}

fn on_disk(field: &mut Field, name: String, workload: &Workload) -> Done<Vec<Row>> {
    let mut figures = Figures::new();
    for index in 0..field.kinds().len() {
        field.close(index)?;
        figures.push(vec![disk_bytes(&field.path(index))? as f64 / workload.keys.len() as f64]);
    }
    let must = |peer: &str| peer.starts_with("LMDB").then_some(1.0 / 1.1);
    let note = "blocks of all files, a row; its key has 8 bytes, its value 100";
    let mut rows = field.rows(Contest { name, n: 1, rounds: 1, clock: Clock::Wall, note, must }, figures);
    rows.iter_mut().for_each(|row| row.unit = Some("bytes"));
    Ok(rows)
}

fn must_load_sequential(peer: &str) -> Option<f64> {
    peer.contains("fair").then_some(2.5)
}

fn must_load(peer: &str) -> Option<f64> {
    (!peer.contains("report")).then_some(1.0)
}

fn must_get(peer: &str) -> Option<f64> {
    match peer {
        _ if peer.contains("fair") => Some(2.0),
        _ if peer.contains("report") => Some(7.0),
        _ if peer.starts_with("LMDB") => Some(1.3),
        _ => None,
    }
}

fn must_miss(peer: &str) -> Option<f64> {
    peer.starts_with("LMDB").then_some(1.0)
}

fn must_scan(peer: &str) -> Option<f64> {
    peer.starts_with("LMDB").then_some(1.0)
}
