//! The life of regions: many short ones, many at once, and waves of allocation.
//!
//! A peer's region is an arena of its own: new each time, out of a pool of this thread with at most 32 (as the report's system
//! has it), out of a pool without a bound, or, where one is enough, one that is reset.

use super::child::State;
use super::objects::{HEAD, NIL, Node, chain, chain_bump, read_last, read_last_plain};
use super::{Clock, Contest, Failure};
use crate::compare::Timed;
use crate::row::Row;
use crate::{Plan, Rows};
use bumpalo::Bump;
use region::{Full, Heap, Ref, Region, tag};
use std::hint::black_box;
use typed_arena::Arena;

/// How many the report's pool keeps.
const POOLED: usize = 32;
const EACH: &str = "16 bytes an object on both sides; each region's last object is read before it is destroyed";

pub(super) fn rows(plan: &Plan) -> Rows {
    let mut rows = short_lived(plan)?;
    rows.extend(nested(plan)?);
    rows.extend(waves(plan)?);
    Ok(rows)
}

/// Regions of a shape: how many at once or one after the other, with how many objects each, how often.
#[derive(Clone, Copy)]
struct Shape {
    regions: u64,
    objects: u32,
    repeats: u64,
}

type Filling<'a> = &'a mut dyn FnMut(Shape) -> Result<Timed, Failure>;

impl Shape {
    fn row(self, plan: &Plan, contest: Contest<'_>, ours: Filling<'_>, theirs: Filling<'_>) -> Result<Row, Failure> {
        let n = self.regions * self.repeats;
        Contest { n, ..contest }.run(plan, &mut || ours(self), &mut || theirs(self))
    }
}

fn short_lived(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for (objects, name) in [(1, "create, 1 object, destroy"), (10, "create, 10 objects, destroy")] {
        let shape = Shape { regions: plan.scaled(800_000), objects, repeats: 1 };
        let row = |peer, least: Option<f64>, theirs: Filling<'_>| {
            let must = least.map(|least| (least, "create + allocate + destroy"));
            shape.row(plan, Contest { name, n: 0, peer, must, note: EACH }, &mut one_by_one(), theirs)
        };
        rows.push(row("bumpalo, new", Some(3.0), &mut bump_anew)?);
        rows.push(row("bumpalo, pool of 32", Some(1.2), &mut bump_pooled())?);
        rows.push(row("bumpalo, one, reset", None, &mut bump_reset())?);
        rows.push(row("typed-arena, new", None, &mut typed_anew)?);
    }
    Ok(rows)
}

/// Regions open at once and objects in each, in a process in which it is known what malloc does with what arenas give back.
struct AtOnce {
    shape: Shape,
    name: String,
}

/// How many regions are open at once: as much memory as a heap has huge pages for, or less.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Many {
    Small,
    Large,
}

fn all_at_once(plan: &Plan, state: State, many: &[Many]) -> Vec<AtOnce> {
    let cases = [(Many::Small, 1_000, 1, 200), (Many::Small, 1_000, 10, 100), (Many::Large, 100_000, 1, 2)];
    let wanted = cases.into_iter().filter(|case| many.contains(&case.0));
    let named = wanted.map(|(_, regions, objects, repeats)| {
        let shape = Shape { regions, objects, repeats: plan.scaled(repeats) };
        let shape = if repeats == 2 { Shape { regions: plan.scaled(regions), repeats, ..shape } } else { shape };
        let plural = if objects == 1 { "" } else { "s" };
        AtOnce { shape, name: format!("{regions} live regions of {objects} object{plural}, {}", state.words) }
    });
    named.collect()
}

impl AtOnce {
    /// Beside arenas out of a pool that keeps at most `most`.
    fn row(&self, plan: &Plan, peer: &'static str, most: usize) -> Result<Row, Failure> {
        let is_must = most == 0 && (self.shape.regions, self.shape.objects) == (1_000, 1);
        let must = is_must.then_some((8.0, "1,000 live regions"));
        let contest = Contest { name: &self.name, n: 0, peer, must, note: EACH };
        self.shape.row(plan, contest, &mut at_once(), &mut bump_at_once(most))
    }
}

pub(super) fn anew_at_once(plan: &Plan, state: State, many: &[Many]) -> Rows {
    all_at_once(plan, state, many).iter().map(|case| case.row(plan, "bumpalo, new", 0)).collect()
}

pub(super) fn pooled_at_once(plan: &Plan, state: State, many: &[Many]) -> Rows {
    let mut rows = Vec::new();
    for case in all_at_once(plan, state, many) {
        rows.push(case.row(plan, "bumpalo, pool of 32", POOLED)?);
        rows.push(case.row(plan, "bumpalo, pool of any size", usize::MAX)?);
    }
    Ok(rows)
}

fn nested(plan: &Plan) -> Rows {
    let shape = Shape { regions: plan.scaled(4_000) * 100, objects: 10, repeats: 1 };
    let sharing = Contest {
        name: "1,000 integers shared by 100 regions of 10 pairs",
        n: 0,
        peer: "bumpalo, one and pool of any size",
        must: None,
        note: "a time is of one region; its pairs are read through to the integers",
    };
    let scope = Contest {
        name: "10 objects in a scope of a region",
        n: 0,
        peer: "bumpalo, pool of 32",
        must: None,
        note: "ours a mark and a rewind, the peer's an arena of the pool",
    };
    Ok(vec![
        shape.row(plan, sharing, &mut shared(), &mut bump_shared())?,
        shape.row(plan, scope, &mut marked(), &mut bump_pooled())?,
    ])
}

fn waves(plan: &Plan) -> Rows {
    let shape = Shape { regions: plan.scaled(4_000), objects: 1_000, repeats: 1 };
    let name = "memory pressure: 1,000 objects a wave";
    let row = |peer, theirs: Filling<'_>| {
        let note = "16 bytes an object; a time is of a wave: create, make 1,000, read the last, destroy";
        shape.row(plan, Contest { name, n: 0, peer, must: None, note }, &mut one_by_one(), theirs)
    };
    Ok(vec![row("bumpalo, new", &mut bump_anew)?, row("bumpalo, pool of 32", &mut bump_pooled())?])
}

/// Ours: regions of one heap, one after the other.
fn one_by_one() -> impl FnMut(Shape) -> Result<Timed, Failure> {
    let mut heap = Heap::new();
    move |shape| {
        let mut clock = Clock::default();
        let sum = clock.run(|| {
            let mut sum = 0;
            for _ in 0..shape.regions {
                let mut region = black_box(heap.open());
                let last = black_box(chain::<3>(&mut heap, &mut region, shape.objects)?);
                sum += read_last(&heap, last);
                heap.close(region);
            }
            Ok::<u64, Full>(sum)
        })?;
        Ok(clock.done(sum))
    }
}

/// Ours: one region, with a mark in place of each region.
fn marked() -> impl FnMut(Shape) -> Result<Timed, Failure> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    move |shape| {
        let mut clock = Clock::default();
        let sum = clock.run(|| {
            let mut sum = 0;
            for _ in 0..shape.regions {
                let mark = black_box(heap.mark(&region));
                let last = black_box(chain::<3>(&mut heap, &mut region, shape.objects)?);
                sum += read_last(&heap, last);
                heap.rewind(&mut region, mark);
            }
            Ok::<u64, Full>(sum)
        })?;
        Ok(clock.done(sum))
    }
}

fn bump_anew(shape: Shape) -> Result<Timed, Failure> {
    let (mut clock, mut sum) = (Clock::default(), 0);
    clock.run(|| {
        for _ in 0..shape.regions {
            let bump = black_box(Bump::new());
            sum += read_last_plain(black_box(chain_bump::<1>(&bump, shape.objects)));
        }
    });
    Ok(clock.done(sum))
}

fn bump_reset() -> impl FnMut(Shape) -> Result<Timed, Failure> {
    let mut bump = Bump::new();
    move |shape| {
        let (mut clock, mut sum) = (Clock::default(), 0);
        clock.run(|| {
            for _ in 0..shape.regions {
                let bump = black_box(&mut bump);
                sum += read_last_plain(black_box(chain_bump::<1>(bump, shape.objects)));
                bump.reset();
            }
        });
        Ok(clock.done(sum))
    }
}

/// A pool of arenas that keeps at most `most`. It is a value, as our heap is, and is not looked for in a thread's memory.
struct Pool {
    bumps: Vec<Bump>,
    most: usize,
}

impl Pool {
    fn new(most: usize) -> Pool {
        Pool { bumps: Vec::new(), most }
    }

    #[inline]
    fn take(&mut self) -> Bump {
        self.bumps.pop().unwrap_or_default()
    }

    #[inline]
    fn give(&mut self, mut bump: Bump) {
        if self.bumps.len() < self.most {
            bump.reset();
            self.bumps.push(bump);
        }
    }
}

/// Makes the objects of each region in an arena of a pool.
fn bump_pooled() -> impl FnMut(Shape) -> Result<Timed, Failure> {
    let mut pool = Pool::new(POOLED);
    move |shape| {
        let (mut clock, mut sum) = (Clock::default(), 0);
        clock.run(|| {
            for _ in 0..shape.regions {
                let bump = black_box(pool.take());
                sum += read_last_plain(black_box(chain_bump::<1>(&bump, shape.objects)));
                pool.give(bump);
            }
        });
        Ok(clock.done(sum))
    }
}

fn typed_anew(shape: Shape) -> Result<Timed, Failure> {
    let (mut clock, mut sum) = (Clock::default(), 0);
    clock.run(|| {
        for _ in 0..shape.regions {
            // Room for what comes: by default it would take a kibibyte.
            let arena: Arena<Node<'_, 1>> = black_box(Arena::with_capacity(shape.objects as usize));
            let last = (0..shape.objects).fold(None, |before, number| Some(&*arena.alloc(Node::new(number, before))));
            sum += read_last_plain(black_box(last));
        }
    });
    Ok(clock.done(sum))
}

/// Ours: all regions open before the first is filled, and all are read before the first is closed, as the peers do it.
fn at_once() -> impl FnMut(Shape) -> Result<Timed, Failure> {
    let mut heap = Heap::new();
    let mut open: Vec<Region> = Vec::new();
    move |shape| {
        let mut clock = Clock::default();
        let sum = clock.run(|| {
            let mut sum = 0;
            for _ in 0..shape.repeats {
                open.extend((0..shape.regions).map(|_| heap.open()));
                let lasts: Result<Vec<Ref>, Full> =
                    open.iter_mut().map(|region| chain::<3>(&mut heap, region, shape.objects)).collect();
                sum += lasts?.into_iter().map(|last| read_last(&heap, last)).sum::<u64>();
                open.drain(..).for_each(|region| heap.close(region));
            }
            Ok::<u64, Full>(sum)
        })?;
        Ok(clock.done(sum))
    }
}

/// A peer: an arena for each region, out of a pool with at most `most`, and what was made in it.
fn bump_at_once(most: usize) -> impl FnMut(Shape) -> Result<Timed, Failure> {
    let (mut open, mut pool): (Vec<Bump>, Pool) = (Vec::new(), Pool::new(most));
    move |shape| {
        let (mut clock, mut sum) = (Clock::default(), 0);
        clock.run(|| {
            for _ in 0..shape.repeats {
                open.extend((0..shape.regions).map(|_| pool.take()));
                let lasts: Vec<_> = open.iter().map(|bump| chain_bump::<1>(bump, shape.objects)).collect();
                sum += lasts.into_iter().map(read_last_plain).sum::<u64>();
                open.drain(..).for_each(|bump| pool.give(bump));
            }
        });
        Ok(clock.done(sum))
    }
}

const SHARED: usize = 1_000;

/// The integers that a region's pairs refer to.
#[inline]
fn of_region<T>(integers: &[T], region: usize, shape: Shape) -> &[T] {
    let (objects, first) = (shape.objects as usize, region * shape.objects as usize % integers.len());
    &integers[first..first + objects]
}

/// Ours: pairs in short regions that share the objects of a long one.
fn shared() -> impl FnMut(Shape) -> Result<Timed, Failure> {
    let mut heap = Heap::new();
    move |shape| {
        let mut clock = Clock::default();
        let (sum, lasting) = clock.run(|| {
            let mut lasting = heap.open();
            let integers: Result<Vec<Ref>, Full> =
                (0..SHARED as u64).map(|number| heap.number(&mut lasting, 0, number)).collect();
            let integers = integers?;
            let mut sum = 0;
            for number in 0..shape.regions as usize {
                let mut region = heap.open();
                let mut before = NIL;
                for &integer in of_region(&integers, number, shape) {
                    before = heap.expression(&mut region, &[Ref::new(tag::IMMEDIATE_0, HEAD), integer, before])?;
                }
                while before != NIL {
                    sum += heap.number_bits(heap.child(before, 1));
                    before = heap.child(before, 2);
                }
                heap.close(region);
            }
            Ok::<_, Full>((sum, lasting))
        })?;
        heap.close(lasting);
        Ok(clock.done(sum))
    }
}

struct Pair<'a> {
    integer: &'a u64,
    before: Option<&'a Pair<'a>>,
}

fn bump_shared() -> impl FnMut(Shape) -> Result<Timed, Failure> {
    let mut pool = Pool::new(usize::MAX);
    move |shape| {
        let (mut clock, mut sum) = (Clock::default(), 0);
        clock.run(|| {
            let lasting = Bump::new();
            let integers: Vec<&u64> = (0..SHARED as u64).map(|number| &*lasting.alloc(number)).collect();
            for number in 0..shape.regions as usize {
                let bump = pool.take();
                let pairs = of_region(&integers, number, shape).iter();
                let last = pairs.fold(None, |before, integer| Some(&*bump.alloc(Pair { integer, before })));
                sum += std::iter::successors(last, |pair| pair.before).map(|pair| *pair.integer).sum::<u64>();
                pool.give(bump);
            }
        });
        Ok(clock.done(sum))
    }
}
