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

fn nested(plan: &Plan, handle: FrozenHandle) -> Rows {
    let n = plan.scaled(20_000) * DEEP as u64;
    let times = n / DEEP as u64;
    let mut borrowed = || {
        let outer = handle.tether_local()?;
        let mut holds = Vec::with_capacity(DEEP);
        deep(times, &mut holds, |holds| {
            let outer = black_box(&outer);
            holds.extend((0..DEEP).map(|_| outer.nested()));
            Ok(black_box(&*holds).last().map_or(0, |hold| read(hold, hold.roots())))
        })
    };
    let mut listed = || {
        let arc = shared()?;
        deep(times, &mut Vec::with_capacity(DEEP), |arcs| {
            let arc = black_box(&arc);
            arcs.extend((0..DEEP).map(|_| Arc::clone(arc)));
            Ok(black_box(&*arcs).last().map_or(0, |arc| read(&arc.heap, &arc.roots)))
        })
    };
    let mut counted = || {
        let outer = handle.tether_local()?;
        let start = |handle: &FrozenHandle| handle.tether_local().map_err(Failure::from);
        let timed = deep_in_place(times, &handle, start, |tether| read(tether, tether.roots()));
        drop(outer);
        timed
    };
    let mut cloned = || {
        let arc = shared()?;
        deep_in_place(times, &arc, |arc| Ok(Arc::clone(arc)), |arc| read(&arc.heap, &arc.roots))
    };
    const BORROWED: &str =
        "100 deep, started one after the other and then ended; each borrows the outermost and is kept in a list";
    const COUNTED: &str =
        "100 deep within another, started one after the other and then ended; each is counted by its thread";
    let of = |name, note| Contest { name, n, peer: ARC, must: Some((10.0, "tether, nested")), note };
    let mut rows = vec![
        of("tether, nested 100 deep", BORROWED).run(plan, &mut borrowed, &mut listed)?,
        of("tether of the thread, nested 100 deep", COUNTED).run(plan, &mut counted, &mut cloned)?,
    ];
    rows.extend(within(plan, handle)?);
    Ok(rows)
}

/// Starts holds in a list and then ends them, `times` times.
fn deep<T>(
    times: u64,
    holds: &mut Vec<T>,
    mut start: impl FnMut(&mut Vec<T>) -> Result<u64, Failure>,
) -> Result<Timed, Failure> {
    let mut clock = Clock::default();
    let sum = clock.run(|| {
        (0..times).try_fold(0, |sum, _| {
            let read = start(holds)?;
            holds.clear();
            Ok::<u64, Failure>(sum + read * DEEP as u64)
        })
    })?;
    Ok(clock.done(sum))
}

/// Starts holds that have each a place and ends them, `times` times; what they are started from comes out of a black box once for all
/// of them.
fn deep_in_place<S, T>(
    times: u64,
    source: &S,
    start: impl Fn(&S) -> Result<T, Failure>,
    read: impl Fn(&T) -> u64,
) -> Result<Timed, Failure> {
    let mut holds: [Option<T>; DEEP] = [const { None }; DEEP];
    let mut clock = Clock::default();
    let sum = clock.run(|| {
        (0..times).try_fold(0, |sum, _| {
            let source = black_box(source);
            for hold in &mut holds {
                *hold = Some(start(source)?);
            }
            let read = black_box(&holds).last().and_then(Option::as_ref).map_or(0, &read);
            holds.iter_mut().for_each(|hold| *hold = None);
            Ok::<u64, Failure>(sum + read * DEEP as u64)
        })
    })?;
    Ok(clock.done(sum))
}

/// Pairs on a thread that has a tether already, with nothing in between and with a look at what it holds.
fn within(plan: &Plan, handle: FrozenHandle) -> Rows {
    let n = plan.scaled(2_000_000);
    let mut counted = || {
        let outer = handle.tether_local()?;
        let timed = bare_pairs(n, || Ok(black_box(&handle).tether_local()?));
        drop(outer);
        timed
    };
    let mut cloned = || {
        let arc = shared()?;
        bare_pairs(n, || Ok(Arc::clone(black_box(&arc))))
    };
    let mut pinned = || {
        let outer = epoch::pin();
        let timed = bare_pairs(n, || Ok(epoch::pin()));
        drop(outer);
        timed
    };
    let mut read_in = || {
        let outer = handle.tether_local()?;
        pairs(n, || Ok(read(&outer, black_box(&handle).tether_local()?.roots())))
    };
    let note = "a tether of the thread is there; each is counted by its thread";
    let of = |name, peer, must| Contest { name, n, peer, must, note };
    let must = Some((10.0, "tether, nested"));
    Ok(vec![
        of("tether of the thread, within another", ARC, must).run(plan, &mut counted, &mut cloned)?,
        of("tether of the thread, within another", "crossbeam-epoch, pin within a pin", None).run(
            plan,
            &mut counted,
            &mut pinned,
        )?,
        of("tether of the thread, within another, and read", ARC, None)
            .run(plan, &mut read_in, &mut || arc_pairs(n))?,
    ])
}

/// Does a pair `n` times in which nothing is read.
#[inline]
fn bare_pairs<T>(n: u64, mut start: impl FnMut() -> Result<T, Failure>) -> Result<Timed, Failure> {
    let mut clock = Clock::default();
    clock.run(|| {
        (0..n).try_for_each(|_| {
            let hold = start()?;
            black_box(&hold);
            Ok::<(), Failure>(())
        })
    })?;
    Ok(clock.done(n))
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
    let mut local = || {
        pairs(n, || {
            let tether = black_box(&handle).tether_local()?;
            Ok(read(&tether, tether.roots()))
        })
    };
    let mut twice = || {
        pairs(n, || {
            let (one, other) = (black_box(&handle).tether_local()?, black_box(&handle).tether_local()?);
            Ok(read(&one, other.roots()))
        })
    };
    let must = Some((1.0, "tether, outermost, prompt"));
    Ok(vec![
        of("tether, outermost, to any thread", ARC, must).run(plan, &mut sent, &mut || arc_pairs(n))?,
        of("tether, outermost, to any thread", WEAK, None).run(plan, &mut sent, &mut || weak_pairs(n))?,
        of("tether, another of a tether", ARC, must).run(plan, &mut another, &mut || arc_pairs(n))?,
        of("tether, outermost, of the thread", ARC, must).run(plan, &mut local, &mut || arc_pairs(n))?,
        of("tether, two pairs, one in the other", ARC, None).run(plan, &mut twice, &mut || {
            let arc = shared()?;
            pairs(n, || {
                let (one, other) = (Arc::clone(black_box(&arc)), Arc::clone(black_box(&arc)));
                Ok(read(&one.heap, &other.roots))
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
