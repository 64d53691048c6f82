//! Tethers: keeping what other threads may close, beside the usual means.
//!
//! A pair is a start and an end, and in between something is read: the same word of the same heap, which a program without
//! tethers puts into an `Arc`. The owner keeps the region or the `Arc` for the whole row, so no end is the last one. Both sides
//! take what they start from out of a black box, by reference.
//!
//! Prompt: the thread that ends the last tether gives the memory back at once. Deferred: it is given back later, as an epoch does.

use super::objects::{HEAD, NIL, value};
use super::{Clock, Contest, Failure};
use crate::compare::Timed;
use crate::{Plan, Rows};
use arc_swap::ArcSwap;
use crossbeam_epoch as epoch;
use region::{Bound, Frozen, FrozenHandle, Heap, Reader, Ref, Words, tag};
use std::hint::black_box;
use std::sync::Arc;
use std::thread;

const ARC: &str = "Arc, clone and drop";
const WEAK: &str = "Weak, upgrade and drop";
/// What is read in each.
const VALUE: u32 = 5;
const THREADS: u64 = 4;

pub(super) fn rows(plan: &Plan) -> Rows {
    let frozen = freeze()?;
    let handle = frozen.handle();
    let mut rows = outermost(plan, handle)?;
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
fn read(heap: &Heap<impl Words>, roots: &[Ref]) -> u64 {
    heap.child(roots[0], 1).payload().into()
}

/// Does a pair `n` times, each of which gives what was read.
#[inline]
fn pairs(n: u64, mut pair: impl FnMut() -> Result<u64, Failure>) -> Result<Timed, Failure> {
    let mut clock = Clock::default();
    let sum = clock.run(|| (0..n).try_fold(0, |sum, _| Ok::<u64, Failure>(sum + black_box(pair()?))))?;
    Ok(clock.done(sum))
}

/// What was frozen, kept with an `Arc`.
struct Shared {
    heap: Heap,
    roots: Vec<Ref>,
}

fn shared() -> Result<Arc<Shared>, Failure> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let root = heap.expression(&mut region, &[Ref::new(tag::IMMEDIATE_0, HEAD), value(VALUE), NIL])?;
    Ok(Arc::new(Shared { heap, roots: vec![root] }))
}

fn arc_pairs(n: u64) -> Result<Timed, Failure> {
    let arc = shared()?;
    pairs(n, || {
        let arc = Arc::clone(black_box(&arc));
        Ok(read(&arc.heap, &arc.roots))
    })
}

fn weak_pairs(n: u64) -> Result<Timed, Failure> {
    let arc = shared()?;
    let weak = Arc::downgrade(&arc);
    pairs(n, || {
        let arc = black_box(&weak).upgrade().ok_or("the owner has it")?;
        Ok(read(&arc.heap, &arc.roots))
    })
}

/// A pin keeps everything, so nothing in particular is read through it.
fn pinned_value(guard: epoch::Guard) -> u64 {
    drop(guard);
    black_box(VALUE).into()
}

fn outermost(plan: &Plan, handle: FrozenHandle) -> Rows {
    let n = plan.scaled(800_000);
    let note = "the memory is given back at once by whoever ends the last";
    let of = |name, peer, must| Contest { name, n, peer, must, note };
    let mut sent =
        || pairs(n, || black_box(&handle).tether().map(|tether| read(&tether, tether.roots())).map_err(Failure::from));
    let mut another = || {
        let tether = handle.tether()?;
        pairs(n, || black_box(&tether).another().map(|other| read(&other, other.roots())).map_err(Failure::from))
    };
    let must = Some((1.0, "tether, outermost, prompt"));
    Ok(vec![
        of("tether, outermost, to any thread", ARC, must).run(plan, &mut sent, &mut || arc_pairs(n))?,
        of("tether, outermost, to any thread", WEAK, None).run(plan, &mut sent, &mut || weak_pairs(n))?,
        of("tether, another of a tether", ARC, must).run(plan, &mut another, &mut || arc_pairs(n))?,
    ])
}

fn deferred(plan: &Plan, handle: FrozenHandle) -> Rows {
    let n = plan.scaled(800_000);
    let other = freeze()?;
    let mut same = || {
        let mut reader = Reader::new()?;
        pairs(n, || {
            reader.read(*black_box(&handle)).map(|reading| read(&reading, reading.roots())).map_err(Failure::from)
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
    let one = || black_box(&handle).tether().map_or(0, |tether| read(&tether, tether.roots()));
    let arc = shared()?;
    let other = || {
        let arc = Arc::clone(black_box(&arc));
        read(&arc.heap, &arc.roots)
    };
    contest.run(plan, &mut || threads(&|| (0..each).map(|_| black_box(one())).sum()), &mut || {
        threads(&|| (0..each).map(|_| black_box(other())).sum())
    })
}
