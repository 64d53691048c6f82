//! Rows beside the model of the report's runtime, and what the model is checked by.
//!
//! Both sides make one logical graph, but not the same bytes: an element of its list is a pair and a boxed integer, 80 bytes, where
//! ours is 16 with the integer inside. That is the point of the representation, and the notes say it. They also say what the original has
//! that was compiled and run again on a machine like this: where the model is faster than that, its row is harder to win.

use super::graph::Shape;
use super::model::{Content, Place, Region};
use super::objects::{NIL, chain};
use super::{Clock, Contest, Failure, copies};
use crate::compare::Timed;
use crate::row::Row;
use crate::{Plan, Rows};
use region::{Full, Heap, Ref};
use std::hint::black_box;

const MODEL: &str = "RC-G (model)";
const BOXED: &str = "ours 8 bytes an integer, the model's 40";

pub(super) fn rows(plan: &Plan) -> Rows {
    let mut rows = copied(plan)?;
    rows.extend(checks(plan)?);
    Ok(rows)
}

/// Regions of `integers` boxed integers: `regions` of them one after the other, or all at once.
#[derive(Clone, Copy)]
struct Lives {
    regions: u64,
    integers: u32,
    at_once: bool,
    /// Whether something keeps each region for a moment: a borrow here, a pair of atomic operations in the model.
    is_tethered: bool,
}

/// Rows for which the original had its memory from `malloc` again and again, and not from the system: in a process whose malloc keeps
/// memory. There the model's figures are those of the original.
pub(super) fn again_rows(plan: &Plan) -> Rows {
    let each =
        |regions, integers| Lives { regions: plan.scaled(regions), integers, at_once: false, is_tethered: false };
    let cases = [
        ("small objects 1K: an integer", each(2_000, 1_000), true, "1.6 to 2.0 ns"),
        ("lifecycle: create, 1 integer, exit", each(400_000, 1), false, "4.2 to 4.9 ns"),
        (
            "lifecycle: create, 10 integers, tether pair, exit",
            Lives { is_tethered: true, ..each(200_000, 10) },
            false,
            "33 to 35 ns",
        ),
        ("scoped regions: create, 10 integers, exit", each(200_000, 10), false, "25 to 28 ns"),
        ("memory pressure: create, 1,000 integers, exit", each(2_000, 1_000), false, "2.2 to 2.7 µs"),
    ];
    cases.into_iter().map(|(name, lives, by_integer, original)| lives.row(plan, name, by_integer, original)).collect()
}

/// Rows for which the original had its memory from the system each time: in a process whose malloc gives memory back.
pub(super) fn anew_rows(plan: &Plan) -> Rows {
    let kept = |integers| Lives { regions: 1_000, integers, at_once: true, is_tethered: false };
    let medium = Lives { regions: plan.scaled(20), integers: 100_000, at_once: false, is_tethered: false };
    Ok(vec![
        medium.row(plan, "medium objects 100K: an integer", true, "13 to 16 ns")?,
        kept(1).row(plan, "many small regions: 1,000 of 1 integer, kept", false, "612 to 715 ns")?,
        kept(10).row(plan, "many independent regions: 1,000 of 10 integers, kept", false, "500 to 940 ns")?,
    ])
}

impl Lives {
    fn row(self, plan: &Plan, name: &str, by_integer: bool, original: &str) -> Result<Row, Failure> {
        let n = self.regions * if by_integer { u64::from(self.integers) } else { 1 };
        let note = &format!("{BOXED}; the original, run again, has {original}");
        Contest { name, n, peer: MODEL, must: None, note }.run(plan, &mut ours(self), &mut || Ok(model(self)))
    }
}

fn ours(lives: Lives) -> impl FnMut() -> Result<Timed, Failure> {
    let mut heap = Heap::new();
    let mut open = Vec::new();
    move || {
        let (mut clock, mut sum) = (Clock::default(), 0);
        clock.run(|| {
            for _ in 0..lives.regions {
                let mut region = heap.open();
                let mut last = NIL;
                for integer in 0..lives.integers {
                    last = black_box(heap.number(&mut region, 0, integer.into())?);
                }
                sum += heap.number_bits(last);
                if lives.at_once { open.push(region) } else { heap.close(region) }
            }
            open.drain(..).for_each(|region| heap.close(region));
            Ok::<(), Full>(())
        })?;
        Ok(clock.done(sum))
    }
}

fn model(lives: Lives) -> Timed {
    let (mut clock, mut sum) = (Clock::default(), 0);
    clock.run(|| {
        let mut open = Vec::new();
        for _ in 0..lives.regions {
            let mut region = Region::create();
            let mut last = Place::NOTHING;
            for integer in 0..lives.integers {
                last = black_box(region.allocate(Content::Integer(integer.into())));
            }
            if let Content::Integer(integer) = region.content(last) {
                sum += integer as u64;
            }
            if lives.is_tethered {
                region.tether_pair();
            }
            if lives.at_once { open.push(region) } else { region.exit() }
        }
        open.into_iter().for_each(Region::exit);
    });
    clock.done(sum)
}

/// Copies of the report's shapes, and of lists that leave a region that is closed.
fn copied(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    let list = "a time is of an element: ours 16 bytes, the model's 80; the original, run again, has 40 to 78 ns";
    let tree = "a time is of the whole: ours 32,767 expressions, the model's 32,767 pairs and 32,768 boxed integers; the original, run again, \
         has 1.0 to 1.4 ms";
    let ring = "a time is of a box: ours 8 bytes, the model's 40; the original, run again, has 14 to 15 ns";
    let shared = "a time is of a pair; the model's search for what was met before is linear";
    let wide = "a time is of the whole: ours expressions of 100 children, the model's lists of pairs; the original, run again, has 122 \
         to 248 ms";
    for (name, shape, repeats, note) in [
        ("transmigrate list of 1,000", Shape::List(1_000), 200, list),
        ("transmigrate tree of depth 15", Shape::Pairs(15), 8, tree),
        ("transmigrate ring of 1,000", Shape::Ring(1_000), 200, ring),
        ("transmigrate shared DAG of 1,000", Shape::Shared(1_000), 20, shared),
        ("transmigrate shared DAG of 9,000", Shape::Shared(9_000), 1, shared),
        ("transmigrate wide, branching 100, depth 3", Shape::Wide(100, 3), 1, wide),
    ] {
        let repeats = plan.scaled(repeats);
        let is_whole = matches!(shape, Shape::Pairs(_) | Shape::Wide(..));
        let n = repeats * if is_whole { 1 } else { shape.expressions() };
        let (mut ours, mut theirs) = (copies::Ours::new(shape)?, Modelled::new(shape));
        let contest = Contest { name, n, peer: MODEL, must: None, note };
        rows.push(contest.run(
            plan,
            &mut || ours.copy_and(repeats, |heap, root| read(heap, shape, root)),
            &mut || Ok(theirs.copy(repeats)),
        )?);
    }
    for (objects, repeats, original) in [(1_000, 200, "23 to 46 ns"), (100_000, 4, "35 to 71 ns")] {
        rows.push(left(plan, objects, plan.scaled(repeats), original)?);
    }
    Ok(rows)
}

/// What the report calls splicing, which was a copy.
fn left(plan: &Plan, objects: u32, repeats: u64, original: &str) -> Result<Row, Failure> {
    let mut heap = Heap::new();
    let mut ours = || {
        let (mut clock, mut sum) = (Clock::default(), 0);
        for _ in 0..repeats {
            let (to, last) = clock.run(|| {
                let (mut from, mut to) = (heap.open(), heap.open());
                let last = chain::<3>(&mut heap, &mut from, objects)?;
                heap.splice(from, &mut to)?;
                Ok::<_, Failure>((to, last))
            })?;
            sum += read(&heap, Shape::List(objects), last);
            clock.run(|| heap.close(to));
        }
        Ok(clock.done(sum))
    };
    let mut theirs = || {
        let (mut clock, mut sum) = (Clock::default(), 0);
        for _ in 0..repeats {
            let (to, root) = clock.run(|| {
                let (mut from, mut to) = (Region::create(), Region::create());
                let root = make(&mut from, Shape::List(objects));
                let root = from.transmigrate(root, &mut to);
                from.exit();
                (to, root)
            });
            sum += read_model(&to, Shape::List(objects), root);
            clock.run(|| to.exit());
        }
        Ok(clock.done(sum))
    };
    let contest = Contest {
        name: &format!("splice: build a list of {objects}, let it leave"),
        n: repeats * u64::from(objects),
        peer: MODEL,
        must: None,
        note: &format!(
            "a time is of an element, building included; ours is spliced, the model's is copied, as the original's was; the original, \
             run again, has {original}"
        ),
    };
    contest.run(plan, &mut ours, &mut theirs)
}

/// The model beside itself: the ratios between its copies are to be those of the original, run again.
fn checks(plan: &Plan) -> Rows {
    let (tree, list, ring) = (Shape::Pairs(15), Shape::List(1_000), Shape::Ring(1_000));
    let row = |name, shape: Shape, expected| {
        let (mut base, mut other) = (Modelled::new(tree), Modelled::new(shape));
        let repeats = plan.scaled(8);
        // As many elements as the tree has objects.
        let others = (repeats * (2 << 15)).div_ceil(shape.expressions());
        let contest = Contest {
            name,
            n: repeats * (2 << 15),
            peer: MODEL,
            must: None,
            note: &format!("no row of ours: both sides are the model; the original, run again, has {expected}"),
        };
        let same = |timed: Timed| Ok(Timed { checksum: 0, ..timed });
        contest.run(plan, &mut || same(base.copy(repeats)), &mut || same(other.copy(others)))
    };
    Ok(vec![
        row("check of the model: an object of the tree, an element of the list", list, "about 2.2 (18 and 40 ns)")?,
        row("check of the model: an object of the tree, a box of the ring", ring, "about 0.78 (18 and 14 ns)")?,
        lives_check(
            plan,
            "check of the model: an object of the tree, an integer of 1,000",
            1_000,
            "about 0.1 (18 and 1.8 ns)",
        )?,
        lives_check(
            plan,
            "check of the model: an object of the tree, a region of 1 integer",
            1,
            "about 0.25 (18 and 4.5 ns)",
        )?,
        lives_check(
            plan,
            "check of the model: an object of the tree, a region of 10 integers",
            10,
            "about 1.5 (18 and 26 ns)",
        )?,
    ])
}

/// Checks the model by regions of `integers` integers: an integer of many, or a region of few.
fn lives_check(plan: &Plan, name: &str, integers: u32, expected: &str) -> Result<Row, Failure> {
    let (mut base, repeats) = (Modelled::new(Shape::Pairs(15)), plan.scaled(8));
    let n = repeats * (2 << 15);
    let regions = if integers > 10 { n / u64::from(integers) } else { n };
    let lives = Lives { regions, integers, at_once: false, is_tethered: false };
    let note = &format!("no row of ours: both sides are the model; the original, run again, has {expected}");
    let same = |timed: Timed| Ok(Timed { checksum: 0, ..timed });
    let contest = Contest { name, n, peer: MODEL, must: None, note };
    contest.run(plan, &mut || same(base.copy(repeats)), &mut || same(model(lives)))
}

/// A graph in a region of the model.
struct Modelled {
    from: Box<Region>,
    root: Place,
    shape: Shape,
}

impl Modelled {
    fn new(shape: Shape) -> Modelled {
        let mut from = Region::create();
        let root = make(&mut from, shape);
        Modelled { from, root, shape }
    }

    fn copy(&mut self, repeats: u64) -> Timed {
        let (mut clock, mut checksum) = (Clock::default(), 0);
        for turn in 1..=repeats {
            let mut to = clock.run(Region::create);
            let root = clock.run(|| black_box(self.from.transmigrate(self.root, &mut to)));
            if turn == repeats {
                checksum = read_model(&to, self.shape, root);
            }
            clock.run(|| to.exit());
        }
        clock.done(checksum)
    }
}

/// Makes a shape as the report's system has it.
fn make(region: &mut Region, shape: Shape) -> Place {
    let nothing = region.allocate(Content::Integer(0));
    match shape {
        Shape::List(length) => (0..length).fold(nothing, |rest, number| {
            let integer = region.allocate(Content::Integer(number.into()));
            region.allocate(Content::Pair(integer, rest))
        }),
        Shape::Shared(depth) => (0..depth).fold(nothing, |before, _| region.allocate(Content::Pair(before, before))),
        Shape::Ring(length) => {
            let first = region.allocate(Content::Box(nothing));
            let last = (1..length).fold(first, |before, _| region.allocate(Content::Box(before)));
            region.set(first, Content::Box(last));
            first
        }
        Shape::Wide(branching, depth) => wide(region, branching, depth),
        Shape::Tree(depth) | Shape::Pairs(depth) | Shape::Scattered(depth, _) => tree(region, depth, &mut 0),
    }
}

fn tree(region: &mut Region, depth: u32, leaf: &mut i64) -> Place {
    if depth == 0 {
        *leaf += 1;
        return region.allocate(Content::Integer(*leaf));
    }
    let (left, right) = (tree(region, depth - 1, leaf), tree(region, depth - 1, leaf));
    region.allocate(Content::Pair(left, right))
}

fn wide(region: &mut Region, branching: u32, depth: u32) -> Place {
    if depth == 0 {
        return region.allocate(Content::Integer(9));
    }
    let nothing = region.allocate(Content::Integer(0));
    (0..branching).fold(nothing, |rest, _| {
        let child = wide(region, branching, depth - 1);
        region.allocate(Content::Pair(child, rest))
    })
}

/// Reads what both representations have: the integers of lists and trees, the steps of the others.
fn read(heap: &Heap, shape: Shape, root: Ref) -> u64 {
    let (mut sum, mut open) = (0, vec![root]);
    match shape {
        Shape::Ring(steps) | Shape::Shared(steps) => {
            let end = (0..steps).fold(root, |at, _| *heap.children(at).last().unwrap_or(&NIL));
            return u64::from(steps) + u64::from(end.is_expression());
        }
        _ => {
            while let Some(node) = open.pop() {
                match node.is_expression() {
                    true => open.extend(heap.children(node)),
                    false if node.tag() != NIL.tag() => sum += u64::from(node.payload()),
                    false => {}
                }
            }
        }
    }
    sum
}

fn read_model(region: &Region, shape: Shape, root: Place) -> u64 {
    let (mut sum, mut open) = (0, vec![root]);
    let next = |place| match region.content(place) {
        Content::Box(next) | Content::Pair(_, next) => Some(next),
        Content::Integer(_) => None,
    };
    if let Shape::Ring(steps) | Shape::Shared(steps) = shape {
        let end = (0..steps).fold(root, |at, _| next(at).unwrap_or(Place::NOTHING));
        return u64::from(steps) + u64::from(next(end).is_some());
    }
    while let Some(place) = open.pop() {
        match region.content(place) {
            Content::Integer(integer) => sum += integer as u64,
            Content::Box(inner) => open.push(inner),
            Content::Pair(left, right) => open.extend([left, right]),
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::graph::{Graph, Interleaved};
    use super::*;

    #[test]
    fn the_model_copies_what_there_is() {
        for shape in [Shape::List(5_000), Shape::Pairs(8), Shape::Shared(100), Shape::Ring(100), Shape::Wide(10, 3)] {
            let mut graph = Interleaved::new();
            let root = shape.make(&mut graph).unwrap();
            assert!(!graph.children(root).is_empty());
            let expected = read(&graph.heap, shape, root);
            assert_eq!(Modelled::new(shape).copy(2).checksum, expected, "{shape:?}");
        }
    }
}
