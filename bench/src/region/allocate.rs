//! Allocation: small objects in memory that is warm, and many in memory that is fresh.
//!
//! Warm rows make a chain, give it back as a whole, and make it again in the same memory. Fresh rows begin with a new heap or
//! arena in every round, and end when it is dropped, so they are mostly about pages that the system gives.

use super::objects::{
    Bumped, Collected, Integers, Node, Nodes, Objects, all_but_one, chain, chain_boxed, chain_collected, chain_counted,
    chain_typed, integers, read, read_boxed, read_collected, read_counted, read_plain,
};
use super::{Clock, Contest, Failure};
use crate::compare::Timed;
use crate::row::Row;
use crate::{Plan, Rows};
use bumpalo::Bump;
use gc_arena::{Gc, Rootable};
use region::{Full, Heap, Ref, Region};
use std::hint::black_box;
use std::mem;
use typed_arena::Arena;

const EQUAL: &str = "16 bytes an object on both sides: a head, a value, the object before";
const EQUAL_LARGE: &str = "40 bytes an object on both sides: a head, seven values, the object before";
const SMALLER: &str =
    "the same head, value and object before in 16 bytes, and in the peer in 40, the object of the report";
const KEPT: &str = "16 bytes an object; ours keeps its memory between regions, the peer begins anew each time";

pub(super) fn rows(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for size in Size::all(plan) {
        rows.extend(warm_rows(plan, size)?);
        rows.extend(anew_rows(plan, size)?);
    }
    rows.extend(integer_rows(plan)?);
    Ok(rows)
}

/// How much is made: `objects` objects, `repeats` times.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) objects: u32,
    pub(super) repeats: u64,
}

/// A side that makes this many.
type Filling<'a> = &'a mut dyn FnMut(Size) -> Result<Timed, Failure>;

impl Size {
    /// What is made in warm memory.
    pub(super) fn all(plan: &Plan) -> [Size; 2] {
        [(1_000, 4_000), (100_000, 40)].map(|(objects, repeats)| Size { objects, repeats: plan.scaled(repeats) })
    }

    /// What is made in fresh memory, once.
    pub(super) fn fresh(plan: &Plan) -> Size {
        Size { objects: plan.scaled(10_000_000) as u32, repeats: 1 }
    }

    pub(super) fn total(self) -> u64 {
        u64::from(self.objects) * self.repeats
    }

    fn row(self, plan: &Plan, contest: Contest<'_>, ours: Filling<'_>, theirs: Filling<'_>) -> Result<Row, Failure> {
        Contest { n: self.total(), ..contest }.run(plan, &mut || ours(self), &mut || theirs(self))
    }
}

fn warm_rows(plan: &Plan, size: Size) -> Rows {
    let name = &format!("{} objects, warm", size.objects);
    let contest = |must, note| Contest { name, n: 0, peer: "bumpalo, reset", must, note };
    let must = Some((0.91, "small object, warm"));
    Ok(vec![
        size.row(plan, contest(must, EQUAL), &mut warm(chain::<3>), &mut bump_warm::<Nodes<1>>())?,
        size.row(plan, contest(must, EQUAL_LARGE), &mut warm(chain::<9>), &mut bump_warm::<Nodes<7>>())?,
        size.row(plan, contest(None, SMALLER), &mut warm(chain::<3>), &mut bump_warm::<Objects>())?,
    ])
}

/// The report's loop, create and allocate and destroy, where a peer has no memory to begin with.
fn anew_rows(plan: &Plan, size: Size) -> Rows {
    let name = &format!("{} objects, create to destroy", size.objects);
    let row = |peer, note, theirs: Filling<'_>| {
        size.row(plan, Contest { name, n: 0, peer, must: None, note }, &mut warm(chain::<3>), theirs)
    };
    Ok(vec![
        row("bumpalo, new", KEPT, &mut bump_anew::<Nodes<1>>)?,
        row("typed-arena, new", KEPT, &mut typed_anew)?,
        row("gc-arena, new", "ours 16 bytes an object, the peer's 16 and what the collector adds", &mut collected)?,
        row("glibc malloc", "16 bytes an object asked for, each freed by itself in the end", &mut boxed)?,
        row("Arc", "ours 16 bytes an object, the peer's 16 and two counts", &mut counted)?,
    ])
}

/// What a process with another allocator compares with it.
pub(super) fn boxed_rows(plan: &Plan, peer: &'static str) -> Rows {
    const NOTE: &str =
        "16 bytes an object asked for, each freed by itself in the end; in a process with that allocator";
    let mut rows = Vec::new();
    for size in Size::all(plan) {
        let name = &format!("{} objects, create to destroy", size.objects);
        let contest = Contest { name, n: 0, peer, must: None, note: NOTE };
        rows.push(size.row(plan, contest, &mut warm(chain::<3>), &mut boxed)?);
    }
    let size = Size::fresh(plan);
    let contest = Contest { name: "10M objects, fresh memory", n: 0, peer, must: None, note: NOTE };
    rows.push(size.row(plan, contest, &mut |size| fresh(size, chain::<3>), &mut boxed)?);
    Ok(rows)
}

/// In a process in which malloc maps every large piece by itself: otherwise the peer, whose pieces are of all sizes, has part of
/// its memory from the round before.
pub(super) fn many(plan: &Plan) -> Rows {
    let size = Size::fresh(plan);
    let name = "10M objects, fresh memory";
    let row = |peer, least: Option<f64>, note, ours: Filling<'_>, theirs: Filling<'_>| {
        let must = least.map(|least| (least, name));
        size.row(plan, Contest { name, n: 0, peer, must, note }, ours, theirs)
    };
    Ok(vec![
        row("bumpalo, new", Some(1.0), EQUAL, &mut |size| fresh(size, chain::<3>), &mut bump_anew::<Nodes<1>>)?,
        row("bumpalo, new", Some(1.0), EQUAL_LARGE, &mut |size| fresh(size, chain::<9>), &mut bump_anew::<Nodes<7>>)?,
        row("bumpalo, new", Some(2.0), SMALLER, &mut |size| fresh(size, chain::<3>), &mut bump_anew::<Objects>)?,
        row("typed-arena, new", None, EQUAL, &mut |size| fresh(size, chain::<3>), &mut typed_anew)?,
        row("glibc malloc", None, EQUAL, &mut |size| fresh(size, chain::<3>), &mut boxed)?,
    ])
}

/// The object of the report's own loops, an integer of 64 bits.
fn integer_rows(plan: &Plan) -> Rows {
    const NOTE: &str = "8 bytes an integer of 64 bits on both sides; one in 1,024 is kept and read back";
    let mut rows = Vec::new();
    for size in Size::all(plan) {
        let name = &format!("{} boxed integers, warm", size.objects);
        let contest = Contest { name, n: 0, peer: "bumpalo, reset", must: None, note: NOTE };
        rows.push(size.row(plan, contest, &mut numbers(), &mut bump_warm::<Integers>())?);
    }
    Ok(rows)
}

/// Ours, in one heap for all rounds.
fn warm(
    chain: impl Fn(&mut Heap, &mut Region, u32) -> Result<Ref, Full>,
) -> impl FnMut(Size) -> Result<Timed, Failure> {
    let mut heap = Heap::new();
    let mut kept = heap.open();
    move |size| {
        let mut clock = Clock::default();
        let last = clock.run(|| {
            let mut last = None;
            for _ in 0..size.repeats {
                let before = mem::replace(&mut kept, heap.open());
                heap.close(before);
                last = Some(black_box(chain(&mut heap, &mut kept, size.objects)?));
            }
            last.ok_or(Failure::from("nothing was made"))
        })?;
        Ok(clock.done(read(&heap, last)))
    }
}

/// Ours, with a heap that begins and ends in the clock.
fn fresh(size: Size, chain: impl Fn(&mut Heap, &mut Region, u32) -> Result<Ref, Full>) -> Result<Timed, Failure> {
    let mut clock = Clock::default();
    let mut heap = clock.run(Heap::new);
    let mut region = heap.open();
    let last = clock.run(|| chain(&mut heap, &mut region, size.objects))?;
    let checksum = read(&heap, last);
    clock.run(|| {
        heap.close(region);
        drop(heap);
    });
    Ok(clock.done(checksum))
}

/// The peer, in one arena for all rounds.
pub(super) fn bump_warm<B: Bumped>() -> impl FnMut(Size) -> Result<Timed, Failure> {
    let mut bump = Bump::new();
    move |size| {
        let mut clock = Clock::default();
        all_but_one(&mut clock, &mut bump, size.repeats, |bump| _ = black_box(B::make(bump, size.objects)));
        let last = clock.run(|| B::make(&bump, size.objects));
        Ok(clock.done(B::read(last)))
    }
}

/// The peer, with an arena that begins and ends in the clock.
pub(super) fn bump_anew<B: Bumped>(size: Size) -> Result<Timed, Failure> {
    let mut clock = Clock::default();
    clock.run(|| (1..size.repeats).for_each(|_| _ = black_box(B::make(&Bump::new(), size.objects))));
    let bump = clock.run(Bump::new);
    let last = clock.run(|| B::make(&bump, size.objects));
    let checksum = B::read(last);
    clock.run(|| drop(bump));
    Ok(clock.done(checksum))
}

fn typed_anew(size: Size) -> Result<Timed, Failure> {
    let (mut clock, mut reading, mut checksum) = (Clock::default(), Clock::default(), 0);
    clock.run(|| {
        for turn in 1..=size.repeats {
            // It lends itself to its nodes, so it cannot be dropped by name.
            let arena: Arena<Node<'_, 1>> = Arena::new();
            let last = black_box(chain_typed(&arena, size.objects));
            if turn == size.repeats {
                checksum = reading.run(|| read_plain(last));
            }
        }
    });
    clock.elapsed -= reading.elapsed;
    Ok(clock.done(checksum))
}

/// An arena with a collector, which has nothing to collect before all is dropped.
type CollectedArena = gc_arena::Arena<Rootable![Option<Gc<'_, Collected<'_>>>]>;

fn collected(size: Size) -> Result<Timed, Failure> {
    let make = || {
        let mut arena = CollectedArena::new(|_| None);
        arena.mutate_root(|mutation, root| *root = chain_collected(mutation, size.objects));
        arena
    };
    let mut clock = Clock::default();
    clock.run(|| (1..size.repeats).for_each(|_| drop(make())));
    let arena = clock.run(make);
    let checksum = arena.mutate(|_, root| read_collected(*root));
    clock.run(|| drop(arena));
    Ok(clock.done(checksum))
}

fn boxed(size: Size) -> Result<Timed, Failure> {
    let mut clock = Clock::default();
    clock.run(|| (1..size.repeats).for_each(|_| drop(black_box(chain_boxed::<1>(size.objects)))));
    let last = clock.run(|| chain_boxed::<1>(size.objects));
    let checksum = read_boxed(last.as_deref());
    clock.run(|| drop(last));
    Ok(clock.done(checksum))
}

fn counted(size: Size) -> Result<Timed, Failure> {
    let mut clock = Clock::default();
    clock.run(|| (1..size.repeats).for_each(|_| drop(black_box(chain_counted(size.objects)))));
    let last = clock.run(|| chain_counted(size.objects));
    let checksum = read_counted(last.as_deref());
    clock.run(|| drop(last));
    Ok(clock.done(checksum))
}

/// Ours: integers in one heap for all rounds.
fn numbers() -> impl FnMut(Size) -> Result<Timed, Failure> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let mut kept: Vec<Ref> = Vec::new();
    move |size| {
        let mut clock = Clock::default();
        clock.run(|| {
            for _ in 0..size.repeats {
                let before = mem::replace(&mut region, heap.open());
                heap.close(before);
                kept.clear();
                integers(&mut heap, &mut region, size.objects, &mut kept)?;
            }
            Ok::<(), Full>(())
        })?;
        Ok(clock.done(kept.iter().map(|kept| heap.number_bits(*kept)).sum()))
    }
}
