//! Copies of what a root leads to into another region.
//!
//! On both sides the region or vector that takes the copy is empty, has its memory from the round before, and is given back in
//! the clock. A map is new for each copy, as in code that copies now and then, or kept and cleared.

use super::child::State;
use super::graph::{Graph, Interleaved, Shape, Words, fingerprint};
use super::hashed::{self, Went};
use super::{Clock, Contest, Failure};
use crate::compare::Timed;
use crate::{Plan, Rows};
use region::{Bound, Full, Heap, Mark, Ref, Region};
use rustc_hash::FxBuildHasher;
use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;
use std::mem;

pub(super) const FX_NEW: &str = "FxHash map, new each copy";
const FX_KEPT: &str = "FxHash map, kept and cleared";
const SIP_NEW: &str = "SipHash map, new each copy";

/// A row: the shape, how often it is copied in a round, and whether a time is of the whole or of an expression.
struct Copied {
    name: String,
    shape: Shape,
    repeats: u64,
    is_whole: bool,
    must: Option<(f64, &'static str)>,
    note: &'static str,
}

pub(super) fn rows(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for copied in all(plan) {
        rows.extend(copied.rows(plan)?);
    }
    Ok(rows)
}

/// A graph so large that the peer's map is new memory of the system or memory that malloc kept: in a process in which it is known
/// which of both.
pub(super) fn large_rows(plan: &Plan, state: State) -> Rows {
    let shape = Shape::Shared(plan.scaled(1_000_000) as u32);
    Copied::each(plan, &format!("shared DAG of 1M, copied, {}", state.words), shape, 1, SHARED).rows(plan)
}

const SHARED: (f64, &str) = (3.0, "ring; shared DAG, copied");

fn all(plan: &Plan) -> Vec<Copied> {
    let each = |name, shape, repeats, must| Copied::each(plan, name, shape, repeats, must);
    let whole = |name: &str, shape, repeats, must, note| Copied {
        name: name.to_owned(),
        shape,
        repeats: plan.scaled(repeats),
        is_whole: true,
        must,
        note,
    };
    const LIST: (f64, &str) = (3.0, "list of 1,000, copied");
    const TREE: Option<(f64, &str)> = Some((4.0, "tree of depth 15, copied"));
    const TEN: Option<(f64, &str)> = Some((3.0, "10-cell result out of 100,000"));
    vec![
        each("list of 1,000, copied", Shape::List(1_000), 1_000, LIST),
        each("list of 100,000, copied", Shape::List(plan.scaled(100_000) as u32), 10, (3.0, "as the list of 1,000")),
        whole("tree of depth 15, copied", Shape::Tree(15), 30, TREE, "(head left right), 16 bytes; 32,767 of them"),
        whole("pairs of depth 15, copied", Shape::Pairs(15), 30, TREE, "(left right), 16 bytes, the peer's 12"),
        each("ring of 1,000, copied", Shape::Ring(1_000), 1_000, SHARED),
        each("shared DAG of 1,000, copied", Shape::Shared(1_000), 1_000, SHARED),
        each("shared DAG of 10,000, copied", Shape::Shared(10_000), 100, SHARED),
        each("shared DAG of 100,000, copied", Shape::Shared(plan.scaled(100_000) as u32), 10, SHARED),
        whole(
            "wide: branching 100, depth 3, copied",
            Shape::Wide(100, 3),
            4,
            None,
            "10,101 expressions, a million leaves",
        ),
        whole(
            "10 expressions out of 100,000",
            Shape::Scattered(10, 100_000),
            40_000,
            TEN,
            "a list scattered over the region",
        ),
    ]
}

impl Copied {
    fn each(plan: &Plan, name: &str, shape: Shape, repeats: u64, must: (f64, &'static str)) -> Copied {
        let note = "a time is of an expression";
        Copied { name: name.to_owned(), shape, repeats: plan.scaled(repeats), is_whole: false, must: Some(must), note }
    }

    fn rows(&self, plan: &Plan) -> Rows {
        let mut ours = Ours::new(self.shape)?;
        let row = |peer, must, ours: &mut Ours, theirs: &mut dyn FnMut() -> Result<Timed, Failure>| {
            let n = self.repeats * if self.is_whole { 1 } else { self.shape.expressions() };
            let contest = Contest { name: &self.name, n, peer, must, note: self.note };
            contest.run(plan, &mut || ours.copy(self.repeats), theirs)
        };
        let (mut theirs, mut went) = (Theirs::new(self.shape)?, Went::default());
        Ok(vec![
            row(FX_NEW, self.must, &mut ours, &mut || theirs.copy_anew::<FxBuildHasher>(self.repeats))?,
            row(FX_KEPT, None, &mut ours, &mut || theirs.copy_again::<FxBuildHasher>(&mut went, self.repeats))?,
            row(SIP_NEW, None, &mut ours, &mut || theirs.copy_anew::<RandomState>(self.repeats))?,
        ])
    }
}

/// A graph in a region, and the last copy of it.
pub(super) struct Ours {
    from: Interleaved,
    root: Ref,
    to: Region,
}

impl Ours {
    pub(super) fn new(shape: Shape) -> Result<Ours, Failure> {
        let mut from = Interleaved::new();
        let root = shape.make(&mut from)?;
        let to = from.heap.open();
        Ok(Ours { from, root, to })
    }

    /// Copies `repeats` times; the last copy stays until the next one.
    fn copy(&mut self, repeats: u64) -> Result<Timed, Failure> {
        self.copy_and(repeats, |heap, copy| fingerprint(copy, |expression| heap.children(expression)))
    }

    /// Copies `repeats` times, with another way to read the last copy.
    pub(super) fn copy_and(&mut self, repeats: u64, read: impl Fn(&Heap, Ref) -> u64) -> Result<Timed, Failure> {
        let Ours { from: Interleaved { heap, region, .. }, root, to } = self;
        let (mut clock, mut copy) = (Clock::default(), *root);
        clock.run(|| {
            for _ in 0..repeats {
                let before = mem::replace(to, heap.open());
                heap.close(before);
                copy = black_box(copied(heap, region, black_box(*root), to)?);
            }
            Ok::<(), Full>(())
        })?;
        Ok(clock.done(read(heap, copy)))
    }
}

#[inline]
fn copied(heap: &mut Heap, from: &Region, root: Ref, to: &mut Region) -> Result<Ref, Full> {
    let mut copying = heap.copy(from, Mark::START, Bound::Kept, to, |foreign| foreign)?;
    let root = copying.root(root)?;
    copying.scan()?;
    Ok(root)
}

/// A graph as words, and the last copy of it.
pub(super) struct Theirs {
    from: Words,
    root: Ref,
    to: Words,
}

impl Theirs {
    pub(super) fn new(shape: Shape) -> Result<Theirs, Failure> {
        let mut from = Words::default();
        let root = shape.make(&mut from)?;
        Ok(Theirs { from, root, to: Words::default() })
    }

    pub(super) fn copy_anew<S: BuildHasher + Default>(&mut self, repeats: u64) -> Result<Timed, Failure> {
        self.copies(repeats, |from, root, to| hashed::copy(from, root, to, &mut Went::<S>::default()))
    }

    fn copy_again<S: BuildHasher>(&mut self, went: &mut Went<S>, repeats: u64) -> Result<Timed, Failure> {
        self.copies(repeats, |from, root, to| {
            went.clear();
            hashed::copy(from, root, to, went)
        })
    }

    #[inline]
    fn copies(&mut self, repeats: u64, mut copy: impl FnMut(&Words, Ref, &mut Words) -> Ref) -> Result<Timed, Failure> {
        let (mut clock, mut last) = (Clock::default(), self.root);
        clock.run(|| {
            for _ in 0..repeats {
                self.to.0.clear();
                last = black_box(copy(&self.from, black_box(self.root), &mut self.to));
            }
        });
        Ok(clock.done(fingerprint(last, |expression| self.to.children(expression))))
    }
}
