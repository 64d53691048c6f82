//! Shared maps: maps that never change. What inserts or removes makes another map, which shares with the first one all but the
//! path to the entry.
//!
//! ```text
//!   map     │ count  root │                              an expression of two
//!   branch  │ data   nodes │ key value │ … │ node │ …    two sets of places, entries and then branches, in the order of places
//!   bucket  │ key value │ …                              of keys whose hashes are equal, below the last branch
//! ```
//!
//! A branch has sixteen places, for four bits of the hash of a key. So a look takes as many steps as the map is deep, at most
//! sixteen, and an insertion copies that many branches. Two maps with the same entries have the same shape, whatever came and
//! went, but for the order of keys whose hashes are equal.
//!
//! All of it is expressions, so copies, freezing and joining know them already. A hash must survive a copy: keys are immediates,
//! numbers, strings and buffers, compared as those of a [map](Heap::map) are. What is known by its address alone, a
//! variable or an expression, cannot be a key.
//!
//! The branches are those of P. Bagwell (*Ideal Hash Trees*, 2001) as M. J. Steindorfer and J. J. Vinju arrange them (*Optimizing
//! Hash-Array Mapped Tries*, 2015).

use std::error::Error;
use std::fmt;

use super::map::{is_same_key, mix};
use super::object::Object;
use crate::heap::{Heap, ZERO};
use crate::limit::Full;
use crate::reference::{Ref, tag};
use crate::region::Region;
use crate::words::Words;

/// Bits of the hash that a branch has places for, and how many branches lie above each other.
const STEP: u32 = 4;
const DEPTH_MAX: usize = (u64::BITS / STEP) as usize;
/// Children of a branch before its entries.
const SETS: usize = 2;

/// Why a shared map was not made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SharedMapError {
    /// A variable or an expression, which is known by its address alone, cannot be a key.
    Key(Ref),
    /// A limit of memory was reached.
    Full(Full),
}

impl fmt::Display for SharedMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SharedMapError::Key(_) => {
                write!(f, "a key of a shared map is an immediate, a number, a string or a buffer; use one of these")
            }
            SharedMapError::Full(full) => full.fmt(f),
        }
    }
}

impl Error for SharedMapError {}

impl From<Full> for SharedMapError {
    fn from(full: Full) -> SharedMapError {
        SharedMapError::Full(full)
    }
}

/// A branch, read.
#[derive(Clone, Copy)]
struct Branch<'h> {
    data: u32,
    nodes: u32,
    children: &'h [Ref],
}

impl<'h> Branch<'h> {
    fn has_entry(self, place: u32) -> bool {
        self.data >> place & 1 == 1
    }

    fn has_node(self, place: u32) -> bool {
        self.nodes >> place & 1 == 1
    }

    /// Where the entry of a place lies among the children, or would.
    fn entry_at(self, place: u32) -> usize {
        SETS + 2 * below(self.data, place)
    }

    fn node_at(self, place: u32) -> usize {
        SETS + 2 * self.data.count_ones() as usize + below(self.nodes, place)
    }

    /// The entry of a branch that has one and nothing else.
    fn only_entry(self) -> Option<[Ref; 2]> {
        if self.nodes == 0 && self.data.count_ones() == 1 { Some([self.children[2], self.children[3]]) } else { None }
    }
}

/// How many places of a set lie below one.
fn below(set: u32, place: u32) -> usize {
    (set & ((1 << place) - 1)).count_ones() as usize
}

fn place(hash: u64, depth: usize) -> u32 {
    (hash >> (depth as u32 * STEP)) as u32 & ((1 << STEP) - 1)
}

fn set(places: u32) -> Ref {
    Ref::new(tag::IMMEDIATE_0, places)
}

/// Branches from the root down to where a search ended, and the places in them.
struct Path {
    steps: [(Ref, u32); DEPTH_MAX],
    length: usize,
}

/// How many entries a shared map has.
pub fn length<W: Words>(heap: &Heap<W>, map: Ref) -> usize {
    heap.child(map, 0).payload() as usize
}

/// The value of a key. At most sixteen steps, as long as no hashes are equal.
pub fn get<W: Words>(heap: &Heap<W>, map: Ref, key: Ref) -> Option<Ref> {
    let hash = content_hash(heap, key)?;
    let mut node = heap.child(map, 1);
    for depth in 0..DEPTH_MAX {
        let (branch, place) = (branch(heap, node), place(hash, depth));
        if branch.has_entry(place) {
            let at = branch.entry_at(place);
            return is_same_key(heap, branch.children[at], key).then(|| branch.children[at + 1]);
        }
        if !branch.has_node(place) {
            return None;
        }
        node = branch.children[branch.node_at(place)];
    }
    let bucket = heap.children(node);
    position_in(heap, bucket, key).map(|at| bucket[at + 1])
}

/// The keys and values, in an order that follows from the keys alone, unless hashes are equal.
pub fn entries<W: Words>(heap: &Heap<W>, map: Ref) -> Vec<(Ref, Ref)> {
    let mut entries = Vec::new();
    let mut open = vec![(heap.child(map, 1), 0)];
    let (count, mut steps_left) = (length(heap, map), heap.words().len());
    while let Some((node, depth)) = open.pop() {
        // No branch is there twice, so there are fewer of them than words.
        steps_left = steps_left.checked_sub(1).expect("a shared map has no ring");
        assert!(entries.len() <= count, "a shared map has as many entries as it says");
        if depth == DEPTH_MAX {
            entries.extend(heap.children(node).as_chunks().0.iter().map(|&[key, value]| (key, value)));
            continue;
        }
        let branch = branch(heap, node);
        let (own, nodes) = branch.children[SETS..].split_at(2 * branch.data.count_ones() as usize);
        entries.extend(own.as_chunks().0.iter().map(|&[key, value]| (key, value)));
        open.extend(nodes.iter().rev().map(|node| (*node, depth + 1)));
    }
    entries
}

fn branch<W: Words>(heap: &Heap<W>, node: Ref) -> Branch<'_> {
    let children = heap.children(node);
    let branch = Branch { data: children[0].payload(), nodes: children[1].payload(), children };
    let expected = SETS + 2 * branch.data.count_ones() as usize + branch.nodes.count_ones() as usize;
    assert_eq!(children.len(), expected, "this is not a branch of a shared map");
    branch
}

fn position_in<W: Words>(heap: &Heap<W>, bucket: &[Ref], key: Ref) -> Option<usize> {
    (0..bucket.len()).step_by(2).find(|at| is_same_key(heap, bucket[*at], key))
}

/// A number that equal keys share, here and in every copy.
fn content_hash<W: Words>(heap: &Heap<W>, key: Ref) -> Option<u64> {
    let hash = whole_hash(heap, key);
    #[cfg(test)]
    let hash = hash.map(|hash| hash & tests::MASK.get());
    hash
}

/// Keys of different kinds must not have the same bits hashed: the kind is mixed in last.
fn whole_hash<W: Words>(heap: &Heap<W>, key: Ref) -> Option<u64> {
    let (hash, kind) = if key.is_number() {
        (mix(0, heap.number_bits(key)), key.payload() & 1)
    } else if key.is_immediate() {
        (mix(0, u64::from(key.bits())), 2)
    } else if heap.is_bytes(key) {
        (heap.bytes(key).hash(mix), 3 + u32::from(heap.object(key) == Object::String))
    } else {
        return None;
    };
    Some(mix(hash, u64::from(kind)))
}

/// Makes a shared map without entries.
pub fn empty(heap: &mut Heap, region: &mut Region) -> Result<Ref, Full> {
    let root = heap.expression(region, &[set(0), set(0)])?;
    heap.expression(region, &[set(0), root])
}

/// Makes a map that has the entries of another one, and this value for this key. The other one stays as it is.
///
/// The new map refers to parts of the old one: a region that it is made in must not outlive that of the old one.
pub fn insert(heap: &mut Heap, region: &mut Region, map: Ref, key: Ref, value: Ref) -> Result<Ref, SharedMapError> {
    let hash = content_hash(heap, key).ok_or(SharedMapError::Key(key))?;
    let (path, node) = descend(heap, map, hash);
    let (made, is_new) = if path.length == DEPTH_MAX {
        bucket_with(heap, region, node, key, value)?
    } else {
        branch_with(heap, region, (node, path.length), hash, [key, value])?
    };
    let root = rebuilt(heap, region, &path, made)?;
    let count = length(heap, map) as u32 + u32::from(is_new);
    Ok(heap.expression(region, &[set(count), root])?)
}

/// Makes a map that has the entries of another one but that of this key; gives the other one if it has no such key.
pub fn remove(heap: &mut Heap, region: &mut Region, map: Ref, key: Ref) -> Result<Ref, Full> {
    let Some(hash) = content_hash(heap, key) else { return Ok(map) };
    let (mut path, node) = descend(heap, map, hash);
    let Some(rest) = without(heap, node, path.length, hash, key) else { return Ok(map) };
    let mut made = heap.expression(region, &rest)?;
    // What is left of an entry alone lies in the branch above, so that the shape follows from the entries.
    while path.length > 0
        && let Some([key, value]) = lone_entry(heap, made, path.length)
    {
        path.length -= 1;
        let (above, place) = path.steps[path.length];
        let children = with_entry_for_node(heap, above, place, [key, value]);
        made = heap.expression(region, &children)?;
    }
    let root = rebuilt(heap, region, &path, made)?;
    let count = length(heap, map) as u32 - 1;
    heap.expression(region, &[set(count), root])
}

/// Goes down to the branch that has no further branch for a hash, or to a bucket.
fn descend<W: Words>(heap: &Heap<W>, map: Ref, hash: u64) -> (Path, Ref) {
    let (mut path, mut node) = (Path { steps: [(ZERO, 0); DEPTH_MAX], length: 0 }, heap.child(map, 1));
    while path.length < DEPTH_MAX {
        let (branch, place) = (branch(heap, node), place(hash, path.length));
        if !branch.has_node(place) {
            break;
        }
        path.steps[path.length] = (node, place);
        path.length += 1;
        node = branch.children[branch.node_at(place)];
    }
    (path, node)
}

/// Copies the branches of a path, the last one with this child.
fn rebuilt(heap: &mut Heap, region: &mut Region, path: &Path, child: Ref) -> Result<Ref, Full> {
    path.steps[..path.length].iter().rev().try_fold(child, |child, &(node, place)| {
        let branch = branch(heap, node);
        let (at, mut children) = (branch.node_at(place), branch.children.to_vec());
        children[at] = child;
        heap.expression(region, &children)
    })
}

/// A bucket with an entry, and whether its key is new.
fn bucket_with(heap: &mut Heap, region: &mut Region, bucket: Ref, key: Ref, value: Ref) -> Result<(Ref, bool), Full> {
    let mut children = heap.children(bucket).to_vec();
    let found = position_in(heap, &children, key);
    match found {
        Some(at) => children[at + 1] = value,
        None => children.extend([key, value]),
    }
    Ok((heap.expression(region, &children)?, found.is_none()))
}

/// A branch with an entry at a place that has no branch yet, and whether its key is new.
fn branch_with(
    heap: &mut Heap,
    region: &mut Region,
    (node, depth): (Ref, usize),
    hash: u64,
    entry: [Ref; 2],
) -> Result<(Ref, bool), Full> {
    let (branch, place) = (branch(heap, node), place(hash, depth));
    let (at, mut children) = (branch.entry_at(place), branch.children.to_vec());
    if !branch.has_entry(place) {
        children[0] = set(branch.data | 1 << place);
        children.splice(at..at, entry);
        return Ok((heap.expression(region, &children)?, true));
    }
    let there = [children[at], children[at + 1]];
    if is_same_key(heap, there[0], entry[0]) {
        children[at + 1] = entry[1];
        return Ok((heap.expression(region, &children)?, false));
    }
    let node_at = branch.node_at(place);
    (children[0], children[1]) = (set(branch.data & !(1 << place)), set(branch.nodes | 1 << place));
    let both = branch_of_two(heap, region, depth + 1, hash, [there, entry])?;
    children.insert(node_at, both);
    children.drain(at..at + 2);
    Ok((heap.expression(region, &children)?, true))
}

/// What lies from a depth on of two entries, of which the second one has this hash.
fn branch_of_two(
    heap: &mut Heap,
    region: &mut Region,
    depth: usize,
    hash: u64,
    [there, entry]: [[Ref; 2]; 2],
) -> Result<Ref, Full> {
    let other = content_hash(heap, there[0]).unwrap_or(hash);
    let apart = (depth..DEPTH_MAX).find(|at| place(hash, *at) != place(other, *at));
    let bottom = match apart {
        None => heap.expression(region, &[there, entry].concat())?,
        Some(at) => {
            let (one, two) = (place(other, at), place(hash, at));
            let sets = [set(1 << one | 1 << two), set(0)];
            let (first, second) = if one < two { (there, entry) } else { (entry, there) };
            heap.expression(region, &[sets, first, second].concat())?
        }
    };
    (depth..apart.unwrap_or(DEPTH_MAX))
        .rev()
        .try_fold(bottom, |node, at| heap.expression(region, &[set(0), set(1 << place(hash, at)), node]))
}

/// The children of a branch or a bucket without those of a key; nothing if it has no such key.
fn without<W: Words>(heap: &Heap<W>, node: Ref, depth: usize, hash: u64, key: Ref) -> Option<Vec<Ref>> {
    let mut children = heap.children(node).to_vec();
    let at = if depth == DEPTH_MAX {
        position_in(heap, &children, key)?
    } else {
        let (branch, place) = (branch(heap, node), place(hash, depth));
        let at = branch.entry_at(place);
        if !branch.has_entry(place) || !is_same_key(heap, children[at], key) {
            return None;
        }
        children[0] = set(branch.data & !(1 << place));
        at
    };
    children.drain(at..at + 2);
    Some(children)
}

/// The entry of a node that has one and nothing else.
fn lone_entry<W: Words>(heap: &Heap<W>, node: Ref, depth: usize) -> Option<[Ref; 2]> {
    if depth < DEPTH_MAX {
        return branch(heap, node).only_entry();
    }
    let bucket = heap.children(node);
    if bucket.len() == 2 { Some([bucket[0], bucket[1]]) } else { None }
}

/// The children of a branch that has an entry in place of a branch below it.
fn with_entry_for_node<W: Words>(heap: &Heap<W>, node: Ref, place: u32, entry: [Ref; 2]) -> Vec<Ref> {
    let branch = branch(heap, node);
    let mut children = branch.children.to_vec();
    children.remove(branch.node_at(place));
    (children[0], children[1]) = (set(branch.data | 1 << place), set(branch.nodes & !(1 << place)));
    let at = branch.entry_at(place);
    children.splice(at..at, entry);
    children
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::copy::Bound;

    thread_local! {
        /// The bits of a hash that are looked at: with few of them, keys share paths and buckets.
        pub(super) static MASK: Cell<u64> = const { Cell::new(u64::MAX) };
    }

    /// A key as a program in Rust has it.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    enum Key {
        Immediate(u32, u32),
        Number(u32, u64),
        Text(String),
        Buffer(Vec<u8>),
    }

    impl Key {
        /// Anew each time, so that keys are found by what they are.
        fn make(&self, heap: &mut Heap, region: &mut Region) -> Result<Ref, Full> {
            match self {
                Key::Immediate(tag, payload) => Ok(Ref::new(*tag, *payload)),
                Key::Number(kind, bits) => heap.number(region, *kind, *bits),
                Key::Text(text) => heap.string(region, text),
                Key::Buffer(bytes) => heap.buffer(region, bytes),
            }
        }

        fn read<W: Words>(heap: &Heap<W>, key: Ref) -> Key {
            if key.is_immediate() {
                Key::Immediate(key.tag(), key.payload())
            } else if key.is_number() {
                Key::Number(key.payload() & 1, heap.number_bits(key))
            } else if heap.object(key) == Object::String {
                Key::Text(heap.bytes(key).to_text().expect("a string is UTF-8"))
            } else {
                Key::Buffer(heap.bytes(key).to_vec())
            }
        }
    }

    fn key() -> impl Strategy<Value = Key> {
        prop_oneof![
            (0..4u32, 0..30u32).prop_map(|(tag, payload)| Key::Immediate(tag, payload)),
            (0..2u32, 0..20u64).prop_map(|(kind, bits)| Key::Number(kind, bits << 40)),
            "[ab]{0,9}".prop_map(Key::Text),
            proptest::collection::vec(0..3u8, 0..3).prop_map(Key::Buffer),
        ]
    }

    type Model = HashMap<Key, u32>;

    /// The entries of a map, read as the program has them, and found one by one.
    fn check<W: Words>(heap: &Heap<W>, map: Ref, model: &Model) {
        let entries = entries(heap, map);
        let read: Model = entries.iter().map(|(key, value)| (Key::read(heap, *key), value.payload())).collect();
        assert_eq!((&read, entries.len(), length(heap, map)), (model, model.len(), model.len()));
        for (key, value) in entries {
            assert_eq!(get(heap, map, key), Some(value));
        }
    }

    /// The map of a model, made by insertions alone.
    fn made(heap: &mut Heap, region: &mut Region, model: &Model) -> Result<Ref, SharedMapError> {
        let mut map = empty(heap, region)?;
        for (key, value) in model {
            let key = key.make(heap, region)?;
            map = insert(heap, region, map, key, Ref::new(0, *value))?;
        }
        Ok(map)
    }

    /// Every version of a map stays what it was, whatever was made of it, in this heap, in another one and frozen.
    fn run(mask: u64, steps: &[(Key, Option<u32>)]) -> Result<(), SharedMapError> {
        MASK.set(mask);
        let (mut heap, mut other) = (Heap::new(), Heap::new());
        let (mut region, mut target) = (heap.open(), other.open());
        let (mut map, mut model) = (empty(&mut heap, &mut region)?, Model::new());
        let mut versions = vec![(map, model.clone())];
        for (key, value) in steps {
            let made = key.make(&mut heap, &mut region)?;
            assert_eq!(get(&heap, map, made).map(Ref::payload), model.get(key).copied());
            map = match value {
                Some(value) => insert(&mut heap, &mut region, map, made, Ref::new(0, *value))?,
                None => remove(&mut heap, &mut region, map, made)?,
            };
            match value {
                Some(value) => model.insert(key.clone(), *value),
                None => model.remove(key),
            };
            versions.push((map, model.clone()));
        }
        versions.iter().for_each(|(map, model)| check(&heap, *map, model));
        // The order follows from the entries, not from how they came there.
        let again = made(&mut heap, &mut region, &model)?;
        let keys = |map| entries(&heap, map).iter().map(|(key, _)| Key::read(&heap, *key)).collect::<Vec<_>>();
        if mask == u64::MAX {
            assert_eq!(keys(map), keys(again));
        }
        let mut roots: Vec<Ref> = versions.iter().map(|(map, _)| *map).collect();
        let frozen = heap.freeze(&region, &roots, Bound::Kept, |foreign| foreign).expect("there is no limit");
        frozen.roots().iter().zip(&versions).for_each(|(map, (_, model))| check(&frozen, *map, model));
        heap.copy_to(&mut roots, &region, &mut other, &mut target, |foreign| foreign)?;
        heap.close(region);
        roots.iter().zip(&versions).for_each(|(map, (_, model))| check(&other, *map, model));
        other.close(target);
        MASK.set(u64::MAX);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn maps_are_those_of_the_standard_library(
            mask in prop_oneof![Just(u64::MAX), Just(0), Just(0x30), Just(3 << 62), Just(0xF0F0)],
            steps in proptest::collection::vec((key(), proptest::option::weighted(0.7, 0..9u32)), 0..120),
        ) {
            run(mask, &steps).expect("there is no limit");
        }
    }

    #[test]
    fn what_is_known_by_its_address_is_no_key() {
        let mut heap = Heap::new();
        let mut region = heap.open();
        let map = empty(&mut heap, &mut region).expect("there is no limit");
        let variable = heap.variable(&mut region, 1).expect("there is no limit");
        let refused = insert(&mut heap, &mut region, map, variable, variable);
        assert_eq!(refused, Err(SharedMapError::Key(variable)));
        assert!(SharedMapError::Key(variable).to_string().contains("use one of these"));
        assert_eq!((get(&heap, map, map), remove(&mut heap, &mut region, map, map)), (None, Ok(map)));
        heap.close(region);
    }

    /// A step copies a path, not the map.
    #[test]
    fn an_insertion_copies_a_path() {
        let mut heap = Heap::new();
        let mut region = heap.open();
        let mut map = empty(&mut heap, &mut region).expect("there is no limit");
        for at in 0..10_000 {
            let before = heap.statistics().cells_handed_out - heap.cells_ahead(&region);
            map = insert(&mut heap, &mut region, map, Ref::new(0, at), Ref::new(1, at)).expect("there is no limit");
            let cells = heap.statistics().cells_handed_out - heap.cells_ahead(&region) - before;
            assert!(cells < 120, "{cells} cells for entry {at}");
        }
        assert!((0..10_000).all(|at| get(&heap, map, Ref::new(0, at)) == Some(Ref::new(1, at))));
        heap.close(region);
    }

    /// After an error the map is as it was.
    #[test]
    fn a_limit_leaves_the_map_as_it_was() {
        let mut heap = Heap::with_limit(40 * 512);
        let mut region = heap.open();
        let mut map = empty(&mut heap, &mut region).expect("there is room");
        let mut count = 0;
        let refused = loop {
            match insert(&mut heap, &mut region, map, Ref::new(0, count), Ref::new(1, count)) {
                Ok(made) => (map, count) = (made, count + 1),
                Err(refused) => break refused,
            }
        };
        assert!(matches!(refused, SharedMapError::Full(_)) && count > 20);
        assert_eq!(length(&heap, map), count as usize);
        assert!((0..count).all(|at| get(&heap, map, Ref::new(0, at)) == Some(Ref::new(1, at))));
        heap.close(region);
    }
}
