//! Where the time of a lookup goes: memtables, filters, the index, the page, the value.
//!
//! Each row is a lookup that ends after a step, beside the whole one with its value copied; what a step takes is the difference of two rows.

use super::SUITE;
use super::engine::{Done, gets};
use super::field::{Clock, Contest};
use super::rows::{Keys, Values, Workload, key_bytes};
use super::{OURS, scaled};
use crate::compare::{Case, row};
use crate::row::Row;
use crate::{Plan, Rows};
use std::collections::BTreeMap;
use store::{Batch, Durability, KeyShape, Keyspace, Options, Snapshot, Step, Store};

const ROWS: u64 = 1_000_000;
/// Rows that a memtable holds.
const IN_MEMORY: u64 = 200_000;
const ROUNDS: usize = 5;

const STEPS: [(&str, Step); 5] = [
    ("as far as the memtable", Step::Memory),
    ("as far as the filter", Step::Filter),
    ("as far as the index", Step::Index),
    ("as far as the page", Step::Page),
    ("as far as the value", Step::Value),
];

pub(super) fn rows(plan: &Plan) -> Rows {
    let workload = Workload::new(Keys::Random, Values::Hundred, scaled(plan, ROWS));
    let path = plan.scratch.join("store");
    let mut engine = (OURS.open)(&path)?;
    engine.load(&workload)?;
    engine.settle()?;
    engine.close()?;
    let snapshot = Store::open_read_only(&path)?;
    let keyspace = snapshot.keyspace("rows").ok_or("the keyspace is gone")?;
    let mut rows = Vec::new();
    for (name, step) in STEPS {
        rows.push(stage(plan, name, step, (&snapshot, keyspace), &workload)?);
    }
    rows.push(touched(&snapshot, keyspace, &workload)?);
    drop(snapshot);
    std::fs::remove_dir_all(&path)?;
    rows.push(memtable(plan)?);
    Ok(rows)
}

fn case(plan: &Plan, name: String, n: usize, peer: &'static str, note: &str) -> Case {
    Case { suite: SUITE, name, n: n as u64, peer, rounds: plan.rounds(ROUNDS), note: note.to_owned() }
}

fn stage(
    plan: &Plan,
    name: &str,
    step: Step,
    (snapshot, keyspace): (&Snapshot, Keyspace),
    workload: &Workload,
) -> Done<Row> {
    let case = case(
        plan,
        format!("get {name}, random, 1M"),
        workload.hits.len(),
        "the whole get",
        "the value is copied there",
    );
    let (mut part, mut whole) = (Vec::new(), Vec::new());
    let mut lookup = super::ours::Lookup { snapshot: snapshot.clone(), keyspace };
    for round in 0..=case.rounds {
        let (time, _) = Clock::Thread.time(|| {
            workload.hits.iter().try_fold(0_u64, |sum, key| {
                let (value, steps) = snapshot.watch(keyspace, key_bytes(*key), step)?;
                Ok(sum + steps.pages + u64::from(value.is_some()))
            })
        })?;
        let (all, _) = Clock::Thread.time(|| gets(&mut lookup, workload))?;
        if round > 0 {
            part.push(time);
            whole.push(all);
        }
    }
    Ok(row(case, (part, whole)))
}

/// How many pages a lookup reads, on average, when none was looked at before.
fn touched(snapshot: &Snapshot, keyspace: Keyspace, workload: &Workload) -> Done<Row> {
    let pages = workload.hits.iter().try_fold(0, |sum, key| {
        let (_, steps) = snapshot.watch(keyspace, key_bytes(*key), Step::Value)?;
        Done::Ok(sum + steps.pages)
    })?;
    let count = workload.hits.len() as f64;
    let contest = Contest {
        name: "pages read by 100,000 gets, random, 1M".to_owned(),
        n: 1,
        rounds: 1,
        clock: Clock::Wall,
        note: "an exact count; the index is held in memory",
        must: |_| Some(1.0),
    };
    let kinds = [OURS, super::Kind { name: "one page a get", ..OURS }];
    let mut rows = super::field::rows(&kinds, &contest, &vec![vec![pages as f64], vec![count]]);
    let mut row = rows.pop().ok_or("there is one peer")?;
    row.unit = Some("pages");
    Ok(row)
}

/// A lookup in a memtable, beside the map of the standard library alone.
fn memtable(plan: &Plan) -> Done<Row> {
    let workload = Workload::new(Keys::Random, Values::Hundred, scaled(plan, IN_MEMORY));
    let path = plan.scratch.join("store");
    let store = Store::create(&path, Options::default())?;
    let keyspace = store.keyspace("rows", KeyShape::Fixed(8))?;
    let (mut batch, mut map, mut value) = (Batch::new(), BTreeMap::new(), Vec::new());
    for key in &workload.keys {
        workload.values.write(*key, &mut value);
        batch.put(keyspace, key_bytes(*key), &value);
        map.insert(key_bytes(*key), value.clone());
    }
    store.commit(&batch, Durability::None)?;
    let mut lookup = super::ours::Lookup { snapshot: store.snapshot(), keyspace };
    let case = case(plan, "get from the memtable, random, 200K".to_owned(), workload.hits.len(), "BTreeMap", "");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..=case.rounds {
        let (our, sum) = Clock::Thread.time(|| gets(&mut lookup, &workload))?;
        let (their, expected) = Clock::Thread.time(|| {
            Ok(workload.hits.iter().fold(0_u64, |sum, key| {
                let found = &map[&key_bytes(*key)];
                value.clear();
                value.extend_from_slice(found);
                sum.wrapping_add(super::rows::digest(&value))
            }))
        })?;
        if sum != expected {
            return Err("the memtable answers something else than the map".into());
        }
        if round > 0 {
            ours.push(our);
            theirs.push(their);
        }
    }
    drop((lookup, store));
    std::fs::remove_dir_all(path)?;
    Ok(row(case, (ours, theirs)))
}
