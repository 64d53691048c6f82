//! Tethers: keeping what other threads may close, beside what people keep things with.
//!
//! A pair is a start and an end, and in between something is read. The owner keeps the region or the `Arc` for the whole row,
//! so no end is the last one. Prompt: whoever ends the last tether gives the memory back at once. Deferred: it is given back
//! later, as an epoch does.

use super::objects::{HEAD, NIL, value};
use super::{Clock, Contest, Failure};
use crate::compare::Timed;
use crate::{Plan, Rows};
use arc_swap::ArcSwap;
use crossbeam_epoch as epoch;
use region::{Bound, Frozen, FrozenHandle, Heap, Reader, Ref, tag};
use std::hint::black_box;
use std::sync::Arc;
use std::thread;

const ARC: &str = "Arc, clone and drop";
/// What is read in each.
const VALUE: u32 = 5;
/// The report's depth of nested tethers.
const DEEP: usize = 100;
const THREADS: u64 = 4;

pub(super) fn rows(plan: &Plan) -> Rows {
    let frozen = freeze()?;
    let handle = frozen.handle();
    let mut rows = nested(plan, handle)?;
    rows.extend(outermost(plan, handle)?);
    rows.extend(deferred(plan, handle)?);
    rows.push(concurrent(plan, handle)?);
    Ok(rows)
}

/// A small frozen region.
fn freeze() -> Result<Frozen, Failure> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let root = heap.expression(&mut region, &[Ref::new(tag::IMMEDIATE_0, HEAD), value(VALUE), NIL])?;
    Ok(heap.freeze(&region, &[root], Bound::Kept, |foreign| foreign)?)
}

#[inline]
fn read(heap: &Heap, roots: &[Ref]) -> u64 {
    heap.child(roots[0], 1).payload().into()
}

/// Does a pair so many times, each of which gives what was read.
#[inline]
fn pairs(n: u64, mut pair: impl FnMut() -> Result<u64, Failure>) -> Result<Timed, Failure> {
    let mut clock = Clock::default();
    let sum = clock.run(|| (0..n).try_fold(0, |sum, _| Ok::<u64, Failure>(sum + black_box(pair()?))))?;
    Ok(clock.done(sum))
}

fn arc_pairs(n: u64) -> Result<Timed, Failure> {
    let arc = Arc::new(u64::from(VALUE));
    pairs(n, || Ok(**black_box(&Arc::clone(&arc))))
}

/// A pin keeps everything, so nothing in particular is read through it.
fn pinned_value(guard: epoch::Guard) -> u64 {
    drop(guard);
    black_box(VALUE).into()
}

fn nested(plan: &Plan, handle: FrozenHandle) -> Rows {
    let n = plan.scaled(20_000) * DEEP as u64;
    let (times, note) = (n / DEEP as u64, "100 deep, started one after the other and then ended");
    let ours = || {
        let (mut clock, mut tethers) = (Clock::default(), Vec::with_capacity(DEEP));
        let sum = clock.run(|| {
            let mut sum = 0;
            for _ in 0..times {
                for _ in 0..DEEP {
                    tethers.push(black_box(handle).tether_local()?);
                }
                sum += tethers.last().map_or(0, |tether| read(tether, tether.roots())) * DEEP as u64;
                tethers.clear();
            }
            Ok::<u64, Failure>(sum)
        })?;
        Ok(clock.done(sum))
    };
    let theirs = || {
        let (mut clock, mut arcs) = (Clock::default(), Vec::with_capacity(DEEP));
        let arc = Arc::new(u64::from(VALUE));
        let sum = clock.run(|| {
            (0..times).fold(0, |sum, _| {
                arcs.extend((0..DEEP).map(|_| Arc::clone(black_box(&arc))));
                let read = arcs.last().map_or(0, |arc| **arc) * DEEP as u64;
                arcs.clear();
                sum + read
            })
        });
        Ok(clock.done(sum))
    };
    let again = || {
        let outer = handle.tether_local()?;
        pairs(n, || Ok(read(&outer, black_box(handle).tether_local()?.roots())))
    };
    let pinned = || {
        let outer = epoch::pin();
        let timed = pairs(n, || Ok(pinned_value(black_box(epoch::pin()))));
        drop(outer);
        timed
    };
    let must = Some((10.0, "tether, nested"));
    let of = |name, peer, must, note| Contest { name, n, peer, must, note };
    Ok(vec![
        of("tether, nested 100 deep", ARC, must, note).run(plan, &mut { ours }, &mut { theirs })?,
        of("tether, within another", ARC, must, "a tether of the thread is there").run(
            plan,
            &mut { again },
            &mut || arc_pairs(n),
        )?,
        of("tether, within another", "crossbeam-epoch, pin within a pin", None, "a tether of the thread is there")
            .run(plan, &mut { again }, &mut { pinned })?,
    ])
}

fn outermost(plan: &Plan, handle: FrozenHandle) -> Rows {
    let n = plan.scaled(800_000);
    let note = "the memory is given back at once by whoever ends the last";
    let of = |name, must| Contest { name, n, peer: ARC, must, note };
    let mut sent =
        || pairs(n, || black_box(handle).tether().map(|tether| read(&tether, tether.roots())).map_err(Failure::from));
    let mut local = || {
        pairs(n, || {
            let tether = black_box(handle).tether_local()?;
            Ok(read(&tether, tether.roots()))
        })
    };
    let mut twice = || {
        pairs(n, || {
            let (one, other) = (black_box(handle).tether_local()?, black_box(handle).tether_local()?);
            Ok(read(&one, other.roots()))
        })
    };
    let must = Some((1.0, "tether, outermost, prompt"));
    Ok(vec![
        of("tether, outermost, to any thread", must).run(plan, &mut sent, &mut || arc_pairs(n))?,
        of("tether, outermost, of the thread", must).run(plan, &mut local, &mut || arc_pairs(n))?,
        of("tether, two pairs, one in the other", None).run(plan, &mut twice, &mut || {
            let arc = Arc::new(u64::from(VALUE));
            pairs(n, || {
                let (one, other) = (Arc::clone(black_box(&arc)), Arc::clone(black_box(&arc)));
                Ok(*one + *other - u64::from(VALUE))
            })
        })?,
    ])
}

fn deferred(plan: &Plan, handle: FrozenHandle) -> Rows {
    let n = plan.scaled(800_000);
    let other = freeze()?;
    let mut same = || {
        let mut reader = Reader::new()?;
        pairs(n, || {
            reader.read(black_box(handle)).map(|reading| read(&reading, reading.roots())).map_err(Failure::from)
        })
    };
    let mut in_turn = || {
        let (mut reader, mut handles) = (Reader::new()?, [handle, other.handle()].into_iter().cycle());
        pairs(n, || {
            let next = handles.next().unwrap_or(handle);
            reader.read(black_box(next)).map(|reading| read(&reading, reading.roots())).map_err(Failure::from)
        })
    };
    let mut pinned = || pairs(n, || Ok(pinned_value(black_box(epoch::pin()))));
    let mut loaded = || {
        let swap = ArcSwap::from_pointee(u64::from(VALUE));
        pairs(n, || Ok(**black_box(&swap).load()))
    };
    let of = |name, peer, must, note| Contest { name, n, peer, must, note };
    const SAME: &str = "a reader that reads one region again and again; it keeps the memory until it goes on or rests";
    const IN_TURN: &str = "a reader that reads two regions in turn: an announcement and a fence each time";
    let must = Some((2.0, "tether, deferred"));
    Ok(vec![
        of("tether, deferred", ARC, must, SAME).run(plan, &mut same, &mut || arc_pairs(n))?,
        of("tether, deferred", "crossbeam-epoch, pin", None, SAME).run(plan, &mut same, &mut pinned)?,
        of("tether, deferred", "arc-swap, load", None, SAME).run(plan, &mut same, &mut loaded)?,
        of("tether, deferred, two regions in turn", ARC, None, IN_TURN)
            .run(plan, &mut in_turn, &mut || arc_pairs(n))?,
        of("tether, deferred, two regions in turn", "crossbeam-epoch, pin", None, IN_TURN).run(
            plan,
            &mut in_turn,
            &mut pinned,
        )?,
    ])
}

/// The report's worst case: threads that do pairs on one region, their creation included.
fn concurrent(plan: &Plan, handle: FrozenHandle) -> Result<crate::row::Row, Failure> {
    let each = plan.scaled(80_000);
    let contest = Contest {
        name: "tether, 4 threads on one region",
        n: each * THREADS,
        peer: ARC,
        must: None,
        note: "outermost pairs; wall time over all pairs, the creation of the threads included",
    };
    let threads = |work: &(dyn Fn() -> u64 + Sync)| {
        let mut clock = Clock::default();
        let sum = clock.run(|| {
            thread::scope(|scope| {
                let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap_or(0)).sum()
            })
        });
        Ok(clock.done(sum))
    };
    let one = || black_box(handle).tether().map_or(0, |tether| read(&tether, tether.roots()));
    let arc = Arc::new(u64::from(VALUE));
    contest.run(plan, &mut || threads(&|| (0..each).map(|_| black_box(one())).sum()), &mut || {
        threads(&|| (0..each).map(|_| **black_box(&Arc::clone(&arc))).sum())
    })
}
