//! Reading while another thread loads: how long a question takes then, at the 99th percentile, beside the same with nobody loading.
//!
//! The reader asks a snapshot, as readers on other threads do, and takes a new one after every thousand questions; how long that takes
//! is a row of its own. The writer appends facts in batches as fast as it can.

use super::facts::{edge, number_at};
use super::{Contest, Failure};
use crate::compare::Timed;
use crate::{Plan, Rows};
use space::{Atom, SharedSpace, Snapshot, Terms, VariableSource};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const EDGES: u64 = 200_000;
const QUESTIONS: usize = 100_000;
/// Questions that a snapshot answers.
const QUESTIONS_A_SNAPSHOT: usize = 1_000;
/// Facts that the writer adds with one lock.
const BATCH: u64 = 1_000;

const QUERY_NOTE: &str = "(edge aI $x) of a snapshot; a figure is the 99th percentile of all questions of a round; the ratio must be 0.5 or more";
const SNAPSHOT_NOTE: &str =
    "taking a snapshot of a space that another thread adds to, 1,000 facts at a time; the 99th percentile of a round";

pub(super) fn rows(plan: &Plan) -> Rows {
    let edges = plan.scaled(EDGES);
    let space = SharedSpace::new(1, "space", Terms::shared());
    (0..edges).for_each(|position| space.add(&edge(number_at(position, edges))));
    let patterns: Vec<Atom> = (0..1_000).map(|position| super::lookups::pattern(number_at(position, edges))).collect();
    let contest = |name, must, note| Contest { name, n: 1, peer: "ours, idle", must, rounds: 5, note };
    let count = plan.scaled(QUESTIONS as u64) as usize;
    let idle = || Ok::<_, Failure>(read(&space, &patterns, count));
    let busy = || Ok::<_, Failure>(while_loading(&space, edges, || read(&space, &patterns, count)));
    let question = contest("a question while another thread loads, p99", Some(0.5), QUERY_NOTE).run(
        plan,
        &mut || Ok(timed(&busy()?.questions)),
        &mut || Ok(timed(&idle()?.questions)),
    )?;
    let snapshot = contest("a snapshot while another thread loads, p99", None, SNAPSHOT_NOTE).run(
        plan,
        &mut || Ok(timed(&busy()?.snapshots)),
        &mut || Ok(timed(&idle()?.snapshots)),
    )?;
    Ok(vec![question, snapshot])
}

/// How long everything took.
#[derive(Default)]
struct Latencies {
    questions: Vec<Duration>,
    snapshots: Vec<Duration>,
}

fn read(space: &SharedSpace, patterns: &[Atom], count: usize) -> Latencies {
    let mut latencies = Latencies::default();
    let mut source = VariableSource::default();
    let take = |latencies: &mut Latencies| -> Snapshot {
        let began = Instant::now();
        let snapshot = space.snapshot();
        latencies.snapshots.push(began.elapsed());
        snapshot
    };
    let mut snapshot = take(&mut latencies);
    for (number, pattern) in patterns.iter().cycle().take(count).enumerate() {
        if number % QUESTIONS_A_SNAPSHOT == QUESTIONS_A_SNAPSHOT - 1 {
            snapshot = take(&mut latencies);
        }
        let began = Instant::now();
        let found = snapshot.query(pattern, &mut source).len();
        latencies.questions.push(began.elapsed());
        assert_eq!(found, 1, "each edge is there once");
    }
    latencies
}

/// Reads while a thread adds other facts, which are taken out again.
fn while_loading(space: &SharedSpace, edges: u64, read: impl FnOnce() -> Latencies) -> Latencies {
    let (is_over, last) = (AtomicBool::new(false), AtomicU64::new(edges));
    let latencies = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let first = last.fetch_add(BATCH, Ordering::Relaxed);
                let batch: Vec<Atom> = (first..first + BATCH).map(edge).collect();
                space.add_many(&batch);
            }
        });
        let latencies = read();
        is_over.store(true, Ordering::Relaxed);
        latencies
    });
    let added: Vec<Atom> = (edges..last.into_inner()).map(edge).collect();
    space.remove_many(&added);
    latencies
}

/// The 99th percentile.
fn timed(latencies: &[Duration]) -> Timed {
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable();
    let elapsed = sorted.get(sorted.len() * 99 / 100).copied().unwrap_or_default();
    Timed { elapsed, checksum: 0 }
}
