//! What is made in one allocation: lists, trees, arrays, strings, maps; and lookups in maps.
//!
//! The report's rows compare a batch with the same made one by one in the same system; the others are beside an arena and the
//! maps of the standard library.

use super::objects::{NIL, all_but_one, mix, value};
use super::{Clock, Contest, Failure};
use crate::compare::Timed;
use crate::row::Row;
use crate::{Plan, Rows};
use bumpalo::Bump;
use region::{Full, Heap, Ref, Region};
use rustc_hash::FxBuildHasher;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;
use std::mem;

const ONE_BY_ONE: &str = "ours, one by one";

pub(super) fn rows(plan: &Plan) -> Rows {
    let mut rows = lists(plan)?;
    rows.extend(trees(plan)?);
    rows.push(array(plan)?);
    rows.extend(strings(plan)?);
    rows.extend(maps(plan)?);
    Ok(rows)
}

/// Ours: makes something in a region, `repeats` times, and reads the last.
fn made<'m>(
    repeats: u64,
    mut make: impl FnMut(&mut Heap, &mut Region) -> Result<Ref, Full> + 'm,
    read: impl Fn(&Heap, Ref) -> u64 + 'm,
) -> impl FnMut() -> Result<Timed, Failure> + 'm {
    let mut heap = Heap::new();
    let mut region = heap.open();
    move || {
        let (mut clock, mut last) = (Clock::default(), NIL);
        clock.run(|| {
            for _ in 0..repeats {
                let before = mem::replace(&mut region, heap.open());
                heap.close(before);
                last = black_box(make(&mut heap, &mut region)?);
            }
            Ok::<(), Full>(())
        })?;
        Ok(clock.done(read(&heap, last)))
    }
}

fn lists(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for (length, repeats) in [(1_000, 2_000), (100_000, 20)] {
        let (elements, repeats) = ((0..length).map(value).collect::<Vec<Ref>>(), plan.scaled(repeats));
        let read = |heap: &Heap, list| heap.list_elements(list).fold(0, |sum, value| mix(sum, value.payload().into()));
        let mut whole = made(repeats, |heap, region| heap.list(region, black_box(&elements), NIL), read);
        let mut single = made(
            repeats,
            |heap, region| {
                let elements = black_box(&elements).iter().rev();
                elements.copied().try_fold(NIL, |rest, element| heap.expression(region, &[element, rest]))
            },
            read,
        );
        let mut bump = Bump::new();
        let mut theirs = || {
            let mut clock = Clock::default();
            all_but_one(&mut clock, &mut bump, repeats, |bump| _ = black_box(bump_list(bump, black_box(&elements))));
            let last = clock.run(|| bump_list(&bump, black_box(&elements)));
            let nodes = std::iter::successors(last, |node| node.rest);
            Ok(clock.done(nodes.fold(0, |sum, node| mix(sum, node.element.payload().into()))))
        };
        let name = &format!("list of {length} out of a slice");
        let contest = |peer| Contest {
            name,
            n: repeats * u64::from(length),
            peer,
            must: None,
            note: "16 bytes an element on both sides; a time is of an element",
        };
        rows.push(contest(ONE_BY_ONE).run(plan, &mut whole, &mut single)?);
        rows.push(contest("bumpalo, one by one").run(plan, &mut whole, &mut theirs)?);
    }
    Ok(rows)
}

struct Cons<'b> {
    element: Ref,
    rest: Option<&'b Cons<'b>>,
}

fn bump_list<'b>(bump: &'b Bump, elements: &[Ref]) -> Option<&'b Cons<'b>> {
    elements.iter().rev().fold(None, |rest, &element| Some(&*bump.alloc(Cons { element, rest })))
}

fn trees(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for (depth, repeats) in [(12, 200), (15, 30)] {
        let repeats = plan.scaled(repeats);
        let mut whole = made(repeats, |heap, region| heap.tree(region, depth, 2, |leaf| value(leaf as u32)), read_tree);
        let mut single = made(repeats, |heap, region| tree(heap, region, depth, &mut 0), read_tree);
        let mut bump = Bump::new();
        let mut theirs = || {
            let mut clock = Clock::default();
            all_but_one(&mut clock, &mut bump, repeats, |bump| _ = black_box(bump_tree(bump, depth, &mut 0)));
            let root = clock.run(|| bump_tree(&bump, depth, &mut 0));
            Ok(clock.done(root.read(0)))
        };
        let name = &format!("tree of depth {depth} as a whole");
        let contest = |peer| Contest {
            name,
            n: repeats << depth,
            peer,
            must: None,
            note: "ours 16 bytes a pair with leaves in it, the peer's 32; a time is of a leaf",
        };
        rows.push(contest(ONE_BY_ONE).run(plan, &mut whole, &mut single)?);
        rows.push(contest("bumpalo, one by one").run(plan, &mut whole, &mut theirs)?);
    }
    Ok(rows)
}

fn tree(heap: &mut Heap, region: &mut Region, depth: u32, leaf: &mut u32) -> Result<Ref, Full> {
    if depth == 0 {
        *leaf += 1;
        return Ok(value(*leaf - 1));
    }
    let pair = [tree(heap, region, depth - 1, leaf)?, tree(heap, region, depth - 1, leaf)?];
    heap.expression(region, &pair)
}

fn read_tree(heap: &Heap, root: Ref) -> u64 {
    let (mut sum, mut open) = (0, vec![root]);
    while let Some(node) = open.pop() {
        if node.is_expression() {
            open.extend(heap.children(node).iter().rev());
        } else {
            sum = mix(sum, node.payload().into());
        }
    }
    sum
}

/// A tree of pairs.
#[derive(Clone, Copy)]
enum Branch<'b> {
    Leaf(u32),
    Pair(&'b [Branch<'b>; 2]),
}

impl Branch<'_> {
    fn read(&self, sum: u64) -> u64 {
        match self {
            Branch::Leaf(leaf) => mix(sum, (*leaf).into()),
            Branch::Pair(pair) => pair[1].read(pair[0].read(sum)),
        }
    }
}

fn bump_tree<'b>(bump: &'b Bump, depth: u32, leaf: &mut u32) -> Branch<'b> {
    if depth == 0 {
        *leaf += 1;
        return Branch::Leaf(*leaf - 1);
    }
    let pair = [bump_tree(bump, depth - 1, leaf), bump_tree(bump, depth - 1, leaf)];
    Branch::Pair(bump.alloc(pair))
}

fn array(plan: &Plan) -> Result<Row, Failure> {
    let (elements, repeats) = ((0..1_000).map(value).collect::<Vec<Ref>>(), plan.scaled(20_000));
    let sum = |elements: &[Ref]| elements.iter().fold(0, |sum, value| mix(sum, value.payload().into()));
    let mut ours = made(
        repeats,
        |heap, region| heap.array(region, black_box(&elements)),
        |heap, array| sum(heap.array_elements(array)),
    );
    let mut bump = Bump::new();
    let mut theirs = || {
        let mut clock = Clock::default();
        all_but_one(&mut clock, &mut bump, repeats, |bump| _ = black_box(bump.alloc_slice_copy(black_box(&elements))));
        let last = clock.run(|| bump.alloc_slice_copy(black_box(&elements)));
        Ok(clock.done(sum(last)))
    };
    let contest = Contest {
        name: "array of 1,000",
        n: repeats,
        peer: "bumpalo, alloc_slice_copy",
        must: None,
        note: "4 bytes an element on both sides; a time is of the whole",
    };
    contest.run(plan, &mut ours, &mut theirs)
}

const TEXT: &str = "a string of the length that names have";

/// Strings, alone in a region and many in one.
fn strings(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for (count, name) in [(1, "string of 38 bytes"), (1_000, "1,000 strings of 38 bytes")] {
        let repeats = plan.scaled(400_000 / count);
        let make = |heap: &mut Heap, region: &mut Region| {
            (0..count).try_fold(NIL, |_, _| heap.string(region, black_box(TEXT)).map(black_box))
        };
        let read = |text: &mut dyn Iterator<Item = u8>| text.fold(0, |sum, byte| mix(sum, u64::from(byte)));
        let mut ours = made(repeats, make, |heap, string| read(&mut heap.bytes(string).iter()));
        let mut bump = Bump::new();
        let make = |bump: &Bump| (1..count).for_each(|_| _ = black_box(bump.alloc_str(black_box(TEXT))));
        let mut theirs = || {
            let mut clock = Clock::default();
            all_but_one(&mut clock, &mut bump, repeats, |bump| {
                make(bump);
                _ = black_box(bump.alloc_str(black_box(TEXT)));
            });
            clock.run(|| make(&bump));
            let last = clock.run(|| bump.alloc_str(black_box(TEXT)));
            Ok(clock.done(read(&mut last.bytes())))
        };
        let note = "a time is of a string; the region is new, the peer's reset";
        let contest = Contest { name, n: repeats * count, peer: "bumpalo, alloc_str", must: None, note };
        rows.push(contest.run(plan, &mut ours, &mut theirs)?);
    }
    Ok(rows)
}

const ENTRIES: u32 = 1_000;

fn entries() -> Vec<(Ref, Ref)> {
    (0..ENTRIES).map(|number| (value(number.wrapping_mul(0x9e37_79b1) >> 4), value(number))).collect()
}

fn maps(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    let (entries, repeats) = (entries(), plan.scaled(1_000));
    let n = repeats * u64::from(ENTRIES);
    let contest = |name, peer, note| Contest { name, n, peer, must: None, note };
    let mut ours = made(
        repeats,
        |heap, region| heap.map_of(region, black_box(&entries)),
        |heap, map| entries.iter().map(|entry| heap.map_get(map, entry.0).map_or(0, |v| u64::from(v.payload()))).sum(),
    );
    const MADE: &str =
        "a time is of an entry; both have room for all from the beginning, the peer's in memory of its own";
    rows.push(
        contest("map of 1,000, made", "std HashMap, FxHash", MADE)
            .run(plan, &mut ours, &mut || made_std::<FxBuildHasher>(&entries, repeats))?,
    );
    rows.push(
        contest("map of 1,000, made", "std HashMap, SipHash", MADE)
            .run(plan, &mut ours, &mut || made_std::<RandomState>(&entries, repeats))?,
    );
    let mut heap = Heap::new();
    let mut region = heap.open();
    let map = heap.map_of(&mut region, &entries)?;
    let mut ours = || {
        let mut clock = Clock::default();
        let get = |key: Ref| heap.map_get(black_box(map), key).map_or(0, |value| u64::from(value.payload()));
        let sum = clock.run(|| (0..repeats).map(|_| entries.iter().map(|entry| get(entry.0)).sum::<u64>()).sum());
        Ok(clock.done(sum))
    };
    const FOUND: &str = "a time is of a key that is there";
    rows.push(
        contest("map of 1,000, looked up", "std HashMap, FxHash", FOUND)
            .run(plan, &mut ours, &mut || looked_up::<FxBuildHasher>(&entries, repeats))?,
    );
    rows.push(
        contest("map of 1,000, looked up", "std HashMap, SipHash", FOUND)
            .run(plan, &mut ours, &mut || looked_up::<RandomState>(&entries, repeats))?,
    );
    Ok(rows)
}

fn std_map<S: BuildHasher + Default>(entries: &[(Ref, Ref)]) -> HashMap<u32, Ref, S> {
    let mut map = HashMap::with_capacity_and_hasher(entries.len(), S::default());
    map.extend(entries.iter().map(|(key, value)| (key.bits(), *value)));
    map
}

fn made_std<S: BuildHasher + Default>(entries: &[(Ref, Ref)], repeats: u64) -> Result<Timed, Failure> {
    let mut clock = Clock::default();
    clock.run(|| (1..repeats).for_each(|_| drop(black_box(std_map::<S>(black_box(entries))))));
    let map = clock.run(|| std_map::<S>(black_box(entries)));
    let checksum = entries.iter().map(|entry| u64::from(map[&entry.0.bits()].payload())).sum();
    clock.run(|| drop(map));
    Ok(clock.done(checksum))
}

fn looked_up<S: BuildHasher + Default>(entries: &[(Ref, Ref)], repeats: u64) -> Result<Timed, Failure> {
    let map = std_map::<S>(entries);
    let mut clock = Clock::default();
    let get = |key: Ref| black_box(&map).get(&key.bits()).map_or(0, |value| u64::from(value.payload()));
    let sum = clock.run(|| (0..repeats).map(|_| entries.iter().map(|entry| get(entry.0)).sum::<u64>()).sum());
    Ok(clock.done(sum))
}
