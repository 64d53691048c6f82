//! How results leave their region: joined to another one, copied to another heap, or by the path that ours chooses.
//!
//! Regions are made in turn with others, so their chunks interleave. A splice is compared with the time that N
//! allocations take; everything else with the copy by a hash map, which a program without regions makes, and with the cheapest
//! copy there is of a list, which keeps no sharing.

use super::copies::{FX_NEW, Theirs};
use super::graph::{Graph, Interleaved, Shape, Words, fingerprint};
use super::hashed::{self, Went};
use super::objects::{HEAD, NIL, Node, chain, chain_bump, read, read_plain};
use super::{Clock, Contest, Failure, exact};
use crate::compare::Timed;
use crate::{Plan, Rows};
use bumpalo::Bump;
use region::{Full, Heap, Ref, Region, tag};
use rustc_hash::FxBuildHasher;
use std::hint::black_box;
use std::mem;

/// How many allocations a splice may cost at most.
const ALLOCATIONS: u32 = 15;

pub(super) fn rows(plan: &Plan) -> Rows {
    let mut rows = splices(plan)?;
    rows.extend(built_and_left(plan)?);
    rows.extend(abroad(plan)?);
    rows.extend(counts()?);
    Ok(rows)
}

fn splices(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for (full, batches) in [(1, 1_000), (1_000, 100), (100_000, 8)] {
        let (batches, objects) = (plan.scaled(batches), if full == 100_000 { plan.scaled(full) } else { full });
        let (name, n) = (&format!("splice, a region of {full}"), batches * AT_ONCE as u64);
        let row = |peer, must, theirs: Filling<'_>| {
            let note = "16 bytes an object; a time is of a splice, of 16 regions that were filled in turn";
            Contest { name, n, peer, must, note }.run(plan, &mut spliced(batches, objects as u32), theirs)
        };
        let must = Some((1.0, "splice, constant, at most 15 allocations' time"));
        rows.push(row(
            "15 allocations of ours, after the same",
            must,
            &mut allocations_after(batches, objects as u32),
        )?);
        rows.push(row("15 allocations of ours, in the cache", None, &mut allocations(n))?);
    }
    Ok(rows)
}

type Filling<'a> = &'a mut dyn FnMut() -> Result<Timed, Failure>;

/// How many regions are filled in turn, and then spliced one after the other.
const AT_ONCE: usize = 16;

/// Fills regions in turn, each with `objects` objects, and gives the last ones.
fn fill(heap: &mut Heap, open: &mut [Region], objects: u32) -> Result<[Ref; AT_ONCE], Full> {
    let mut lasts = [NIL; AT_ONCE];
    for number in 0..objects {
        for (region, last) in open.iter_mut().zip(&mut lasts) {
            let children = [Ref::new(tag::IMMEDIATE_0, HEAD), Ref::new(tag::IMMEDIATE_1, number), *last];
            *last = heap.expression(region, &children)?;
        }
    }
    Ok(lasts)
}

/// How many of these are the last of `objects` objects.
fn count_lasts(heap: &Heap, lasts: &[Ref], objects: u32) -> u64 {
    lasts.iter().filter(|last| heap.child(**last, 1).payload() + 1 == objects).count() as u64
}

fn spliced(batches: u64, objects: u32) -> impl FnMut() -> Result<Timed, Failure> {
    let mut heap = Heap::new();
    move || {
        let (mut clock, mut count) = (Clock::default(), 0);
        for _ in 0..batches {
            let mut open: Vec<Region> = (0..AT_ONCE).map(|_| heap.open()).collect();
            let lasts = fill(&mut heap, &mut open, objects)?;
            let mut results = heap.open();
            clock.run(|| open.into_iter().try_for_each(|region| heap.splice(region, &mut results)))?;
            count += count_lasts(&heap, &lasts, objects);
            heap.close(results);
        }
        Ok(clock.done(count))
    }
}

/// Allocations in regions that were begun before others were filled: the caches have of them what they have of those.
fn allocations_after(batches: u64, objects: u32) -> impl FnMut() -> Result<Timed, Failure> {
    let mut heap = Heap::new();
    move || {
        let (mut clock, mut count) = (Clock::default(), 0);
        for _ in 0..batches {
            let [mut begun, mut open]: [Vec<Region>; 2] = [(); 2].map(|()| (0..AT_ONCE).map(|_| heap.open()).collect());
            for region in &mut begun {
                black_box(chain::<3>(&mut heap, region, 1)?);
            }
            let lasts = fill(&mut heap, &mut open, objects)?;
            clock.run(|| {
                for region in &mut begun {
                    black_box(chain::<3>(&mut heap, region, ALLOCATIONS)?);
                }
                Ok::<(), Full>(())
            })?;
            count += count_lasts(&heap, &lasts, objects);
            begun.into_iter().chain(open).for_each(|region| heap.close(region));
        }
        Ok(clock.done(count))
    }
}

/// Allocations one after the other, in memory that the cache has.
fn allocations(times: u64) -> impl FnMut() -> Result<Timed, Failure> {
    let mut heap = Heap::new();
    move || {
        let (mut clock, mut region) = (Clock::default(), heap.open());
        clock.run(|| {
            for _ in 0..times {
                black_box(chain::<3>(&mut heap, &mut region, ALLOCATIONS)?);
            }
            Ok::<(), Full>(())
        })?;
        heap.close(region);
        Ok(clock.done(times))
    }
}

/// The report's two rows of splicing: build a list in a region, let it leave, close both.
fn built_and_left(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for (objects, repeats) in [(1_000, 2_000), (100_000, 20)] {
        let repeats = plan.scaled(repeats);
        let name = &format!("build a list of {objects}, let it leave");
        let row = |peer, note, ours: &mut dyn FnMut() -> _, theirs: &mut dyn FnMut() -> _| {
            Contest { name, n: repeats * u64::from(objects), peer, must: None, note }.run(plan, ours, theirs)
        };
        const SPLICED: &str = "a time is of an element, building included; ours is spliced";
        const CHOSEN: &str = "a time is of an element, building included; ours chooses the way, and splices";
        let mut by_splice = left(objects, repeats, |heap, _, from, to| Ok(heap.splice(from, to)?));
        let mut by_choice = left(objects, repeats, |heap, last, from, to| {
            heap.transmigrate(std::slice::from_mut(last), from, to)?;
            Ok(())
        });
        rows.push(row("bumpalo, walked and made again", SPLICED, &mut by_splice, &mut walked(objects, repeats))?);
        rows.push(row(FX_NEW, SPLICED, &mut by_splice, &mut hashed_list(objects, repeats))?);
        rows.push(row(FX_NEW, CHOSEN, &mut by_choice, &mut hashed_list(objects, repeats))?);
    }
    Ok(rows)
}

/// Ours. What came last stays in the other region until the next round.
fn left(
    objects: u32,
    repeats: u64,
    leave: impl Fn(&mut Heap, &mut Ref, Region, &mut Region) -> Result<(), Failure>,
) -> impl FnMut() -> Result<Timed, Failure> {
    let mut heap = Heap::new();
    let mut to = heap.open();
    move || {
        let (mut clock, mut last) = (Clock::default(), NIL);
        clock.run(|| {
            for _ in 0..repeats {
                let before = mem::replace(&mut to, heap.open());
                heap.close(before);
                let mut from = heap.open();
                last = chain::<3>(&mut heap, &mut from, objects)?;
                leave(&mut heap, &mut last, from, &mut to)?;
                black_box(last);
            }
            Ok::<(), Failure>(())
        })?;
        Ok(clock.done(read(&heap, last)))
    }
}

/// The list in one arena, and once more in another.
fn walked(objects: u32, repeats: u64) -> impl FnMut() -> Result<Timed, Failure> {
    fn again<'b>(last: Option<&Node<'_, 1>>, to: &'b Bump) -> Option<&'b Node<'b, 1>> {
        // Each is made before what it leads to is known, so what it leads to is set when it is.
        let mut values: Vec<u32> = Vec::new();
        values.extend(std::iter::successors(last, |node| node.before()).map(Node::value));
        values.into_iter().rev().fold(None, |before, value| Some(&*to.alloc(Node::new(value, before))))
    }
    let (mut from, mut to) = (Bump::new(), Bump::new());
    move || {
        let mut clock = Clock::default();
        clock.run(|| {
            for _ in 1..repeats {
                from.reset();
                to.reset();
                black_box(again(chain_bump(&from, objects), &to));
            }
            from.reset();
            to.reset();
        });
        let last = clock.run(|| again(chain_bump(&from, objects), &to));
        Ok(clock.done(read_plain(last)))
    }
}

/// The list as words, and a copy of it by a hash map.
fn hashed_list(objects: u32, repeats: u64) -> impl FnMut() -> Result<Timed, Failure> {
    let (mut from, mut to) = (Words::default(), Words::default());
    move || {
        let (mut clock, mut last) = (Clock::default(), NIL);
        clock.run(|| {
            for _ in 0..repeats {
                from.0.clear();
                to.0.clear();
                let root = Shape::List(objects).make(&mut from)?;
                last = black_box(hashed::copy(&from, root, &mut to, &mut Went::<FxBuildHasher>::default()));
            }
            Ok::<(), Failure>(())
        })?;
        let nodes = std::iter::successors(Some(last), |node| Some(to.children(*node)[2]));
        let nodes = nodes.take_while(|node| *node != NIL).flat_map(|node| &to.children(node)[..2]);
        Ok(clock.done(nodes.fold(0, |sum, value| super::objects::mix(sum, value.payload().into()))))
    }
}

/// To another heap.
fn abroad(plan: &Plan) -> Rows {
    let cases = [
        ("list of 1,000, to another heap", Shape::List(1_000), 1_000, "a time is of an element"),
        ("tree of depth 15, to another heap", Shape::Tree(15), 30, "a time is of the whole"),
    ];
    let mut rows = Vec::new();
    for (name, shape, repeats, note) in cases {
        let repeats = plan.scaled(repeats);
        let n = repeats * if matches!(shape, Shape::List(_)) { shape.expressions() } else { 1 };
        let (mut ours, mut theirs) = (Moving::new(shape)?, Theirs::new(shape)?);
        let contest = Contest { name, n, peer: FX_NEW, must: None, note };
        rows.push(contest.run(plan, &mut || ours.go(repeats), &mut || theirs.copy_anew::<FxBuildHasher>(repeats))?);
    }
    Ok(rows)
}

/// A graph that goes to another heap again and again.
struct Moving {
    from: Interleaved,
    root: Ref,
    target: Heap,
    to: Region,
}

impl Moving {
    fn new(shape: Shape) -> Result<Moving, Failure> {
        let (mut from, mut target) = (Interleaved::new(), Heap::new());
        let root = shape.make(&mut from)?;
        let to = target.open();
        Ok(Moving { from, root, target, to })
    }

    fn go(&mut self, repeats: u64) -> Result<Timed, Failure> {
        let (mut clock, mut roots) = (Clock::default(), [self.root]);
        let Moving { from: Interleaved { heap, region, .. }, root, target, to } = self;
        clock.run(|| {
            for _ in 0..repeats {
                let before = mem::replace(to, target.open());
                target.close(before);
                roots = [*root];
                heap.copy_to(&mut roots, region, target, to, |foreign| foreign)?;
                black_box(roots);
            }
            Ok::<(), Full>(())
        })?;
        Ok(clock.done(fingerprint(roots[0], |expression| target.children(expression))))
    }
}

/// What does not depend on the machine.
fn counts() -> Rows {
    let objects = 100_000;
    let cells = 2.0 * f64::from(objects);
    let mut heap = Heap::new();
    let (mut from, mut to) = (heap.open(), heap.open());
    let before = heap.statistics().cells_copied;
    let last = chain::<3>(&mut heap, &mut from, objects)?;
    heap.splice(from, &mut to)?;
    let spliced = heap.statistics().cells_copied - before;
    let mut evaluation = Interleaved::new();
    let mut root = [Shape::Scattered(10, objects).make(&mut evaluation)?];
    let mut results = evaluation.heap.open();
    let report = evaluation.heap.transmigrate(&mut root, evaluation.region, &mut results)?;
    black_box(read(&heap, last));
    Ok(vec![
        exact("cells written: splice of a list of 100,000", spliced as f64, "a copy", cells, 0.0, "cells")?,
        exact(
            "cells written: 10 expressions out of 100,000",
            report.cells as f64,
            "all of them",
            cells,
            20.0,
            "cells",
        )?,
    ])
}
