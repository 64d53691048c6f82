//! Finding the block of a key: the index that a run has learned from its keys, beside binary search over the first keys of as many blocks.
//!
//! The time of ours is that of lookups which end after the index, without that of lookups which end before it. With cold caches, a buffer that
//! fills the caches of the processor is gone through before each lookup.

use super::SUITE;
use super::engine::Done;
use super::field::Clock;
use super::rows::{Keys, Values, Workload, key_bytes};
use super::{OURS, scaled};
use crate::compare::{Case, row};
use crate::row::Row;
use crate::{Plan, Rows};
use std::hint::black_box;
use std::path::Path;
use store::{KeyspaceStats, Snapshot, Step, Store};

const SIZES: [(u64, &str); 2] = [(1_000_000, "1M"), (10_000_000, "10M")];
const ROUNDS: usize = 5;
/// How many lookups are made with cold caches: each takes some milliseconds around it. A quick run makes fewer, and this many at least.
const COLD: u64 = 200;
const COLD_LEAST: u64 = 10;
/// More than the caches of a processor hold.
const SWEPT_BYTES: usize = 64 << 20;
/// What lies beside each other in a cache.
const LINE_BYTES: usize = 64;

pub(super) fn rows(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for (count, size) in SIZES {
        for keys in Keys::ALL {
            let workload = Workload::new(keys, Values::Hundred, scaled(plan, count));
            let path = plan.scratch.join("store");
            let mut engine = (OURS.open)(&path)?;
            engine.load(&workload)?;
            engine.settle()?;
            engine.close()?;
            rows.extend(searched(plan, &path, &workload, &format!("{}, {size}", keys.name()))?);
            std::fs::remove_dir_all(path)?;
        }
    }
    Ok(rows)
}

/// The first keys of as many blocks as a store has, as far as a head goes.
fn heads(snapshot: &Snapshot, workload: &Workload) -> Done<Vec<u64>> {
    let stats = snapshot.stats()?;
    let blocks: u64 = stats.keyspaces.iter().flat_map(KeyspaceStats::runs).map(|run| run.blocks).sum();
    let mut sorted: Vec<u64> = workload.keys.iter().map(|key| u64::from_be_bytes(key_bytes(*key))).collect();
    sorted.sort_unstable();
    let each = (sorted.len() as u64 / blocks.max(1)).max(1) as usize;
    Ok(sorted.into_iter().step_by(each).collect())
}

fn searched(plan: &Plan, path: &Path, workload: &Workload, name: &str) -> Done<Vec<Row>> {
    let snapshot = Store::open_read_only(path)?;
    let keyspace = snapshot.keyspace("rows").ok_or("the keyspace is gone")?;
    let heads = heads(&snapshot, workload)?;
    let search = |key: i64| heads.partition_point(|head| *head <= u64::from_be_bytes(key_bytes(key))) as u64;
    let until = |key: i64, step: Step| Done::Ok(snapshot.watch(keyspace, key_bytes(key), step)?.1.comparisons);
    let case = |temperature: &str, n: usize, note: &str| Case {
        suite: SUITE,
        name: format!("find the block of a key, {name}, {temperature}"),
        n: n as u64,
        peer: "binary search",
        rounds: plan.rounds(ROUNDS),
        note: note.to_owned(),
    };
    let warm = case("warm", workload.hits.len(), "lookups that end after the index, without those that end before it");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..=warm.rounds {
        let all = |step| {
            Clock::Thread.time(|| workload.hits.iter().try_fold(0, |sum, key| Done::Ok(sum + until(*key, step)?)))
        };
        let ((with, _), (without, _)) = (all(Step::Index)?, all(Step::Filter)?);
        let (their, _) =
            Clock::Thread.time(|| Ok(black_box(workload.hits.iter().map(|key| search(*key)).sum::<u64>())))?;
        if round > 0 {
            ours.push((with - without).max(0.0));
            theirs.push(their);
        }
    }
    let lookups = plan.scaled(COLD).max(COLD_LEAST) as usize;
    let cold = case("cold", lookups, "a buffer of 64 MiB is gone through before each lookup");
    let (mut ours_cold, mut theirs_cold) = (Vec::new(), Vec::new());
    let mut buffer = vec![1_u8; SWEPT_BYTES];
    for round in 0..=cold.rounds {
        let keys = workload.hits.iter().skip(round * lookups).take(lookups);
        let (mut our, mut their) = (0.0, 0.0);
        for key in keys {
            sweep(&mut buffer);
            our += Clock::Wall.time(|| until(*key, Step::Index))?.0;
            sweep(&mut buffer);
            our -= Clock::Wall.time(|| until(*key, Step::Filter))?.0;
            sweep(&mut buffer);
            their += Clock::Wall.time(|| Ok(black_box(search(*key))))?.0;
        }
        if round > 0 {
            ours_cold.push(our.max(0.0));
            theirs_cold.push(their);
        }
    }
    Ok(vec![row(warm, (ours, theirs)), row(cold, (ours_cold, theirs_cold))])
}

/// Goes through a buffer, so that nothing else is left in the caches.
fn sweep(buffer: &mut [u8]) {
    buffer.iter_mut().step_by(LINE_BYTES).for_each(|byte| *byte = byte.wrapping_add(1));
    black_box(&buffer);
}
