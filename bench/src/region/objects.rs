//! What is allocated: chains of nodes, each with a head, some values and the node made before it; and integers.
//!
//! The last node leads to all others, so none can be left out by a compiler, and a reading from the last to the first sees every
//! value. Ours is an expression of `V + 2` children, `4 (V + 3)` bytes; the nodes of peers have a pointer in place of a
//! reference and no header, `4 + 4 V + 8` bytes: the same size.

use super::Clock;
use bumpalo::Bump;
use gc_arena::{Collect, Gc, Mutation};
use region::{Full, Heap, Ref, Region, tag};
use std::hint::black_box;
use std::sync::Arc;
use typed_arena::Arena;

pub(super) const HEAD: u32 = 7;
pub(super) const NIL: Ref = Ref::new(tag::IMMEDIATE_0, 0);

/// An immediate value.
#[inline]
pub(super) fn value(number: u32) -> Ref {
    Ref::new(tag::IMMEDIATE_1, number)
}

/// Adds a value that was read to those before.
#[inline]
pub(super) fn mix(sum: u64, value: u64) -> u64 {
    (sum ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
}

/// Makes a chain of expressions of `N` children in a region.
#[inline]
pub(super) fn chain<const N: usize>(heap: &mut Heap, region: &mut Region, objects: u32) -> Result<Ref, Full> {
    let mut last = NIL;
    for number in 0..objects {
        let mut children = [value(number); N];
        (children[0], children[N - 1]) = (Ref::new(tag::IMMEDIATE_0, HEAD), last);
        last = heap.expression(region, &children)?;
    }
    Ok(last)
}

/// Reads a chain.
pub(super) fn read(heap: &Heap, mut last: Ref) -> u64 {
    let mut sum = 0;
    while last != NIL {
        let (before, values) = heap.children(last).split_last().unwrap_or((&NIL, &[]));
        sum = values.iter().fold(sum, |sum, value| mix(sum, u64::from(value.payload())));
        last = *before;
    }
    sum
}

/// Reads the value of the last object alone.
#[inline]
pub(super) fn read_last(heap: &Heap, last: Ref) -> u64 {
    heap.child(last, 1).payload().into()
}

/// Reads the value of the last node alone.
#[inline]
pub(super) fn read_last_plain(last: Option<&Node<'_, 1>>) -> u64 {
    last.map_or(0, |node| node.values[0].into())
}

/// Reads the nodes of a peer, from the last on.
fn read_nodes<'n, const V: usize>(nodes: impl Iterator<Item = (u32, &'n [u32; V])>) -> u64 {
    nodes.fold(0, |sum, (head, values)| values.iter().fold(mix(sum, head.into()), |sum, &value| mix(sum, value.into())))
}

/// A node with a plain reference.
#[derive(Clone, Copy)]
pub(super) struct Node<'a, const V: usize> {
    head: u32,
    values: [u32; V],
    before: Option<&'a Node<'a, V>>,
}

impl<'a, const V: usize> Node<'a, V> {
    #[inline]
    pub(super) fn new(number: u32, before: Option<&'a Node<'a, V>>) -> Self {
        Node { head: HEAD, values: [number; V], before }
    }

    #[inline]
    pub(super) fn before(&self) -> Option<&'a Node<'a, V>> {
        self.before
    }

    #[inline]
    pub(super) fn value(&self) -> u32 {
        self.values[0]
    }
}

/// Makes a chain in an arena.
#[inline]
pub(super) fn chain_bump<const V: usize>(bump: &Bump, objects: u32) -> Option<&Node<'_, V>> {
    (0..objects).fold(None, |before, number| Some(&*bump.alloc(Node::new(number, before))))
}

/// Makes a chain in an arena of one type.
#[inline]
pub(super) fn chain_typed<'a>(arena: &'a Arena<Node<'a, 1>>, objects: u32) -> Option<&'a Node<'a, 1>> {
    (0..objects).fold(None, |before, number| Some(&*arena.alloc(Node::new(number, before))))
}

/// Reads a chain.
pub(super) fn read_plain<const V: usize>(last: Option<&Node<'_, V>>) -> u64 {
    read_nodes(std::iter::successors(last, |node| node.before).map(|node| (node.head, &node.values)))
}

/// The object of the report: 40 bytes, of which a chain uses an integer and a pointer.
pub(super) struct Object<'a> {
    _generation: u32,
    _component: u32,
    _tag: u8,
    _is_pair: bool,
    _mark: bool,
    _is_tethered: bool,
    _size: u32,
    head: u64,
    value: i64,
    before: Option<&'a Object<'a>>,
}

/// One of this many integers is kept, to be read back.
const KEPT_EVERY: u32 = 1024;

/// The integer of this number; wide, so that it takes all of a cell.
#[inline]
fn integer(number: u32) -> u64 {
    u64::from(number) << 32
}

/// Makes integers in a region and gives some of them.
#[inline]
pub(super) fn integers(heap: &mut Heap, region: &mut Region, objects: u32, kept: &mut Vec<Ref>) -> Result<(), Full> {
    for number in 0..objects {
        let made = black_box(heap.number(region, 0, integer(number))?);
        if number % KEPT_EVERY == 0 {
            kept.push(made);
        }
    }
    Ok(())
}

/// Makes something in an arena of a peer as often as that less one, and gives it back each time.
#[inline]
pub(super) fn all_but_one(clock: &mut Clock, bump: &mut Bump, repeats: u64, mut make: impl FnMut(&Bump)) {
    clock.run(|| {
        for _ in 1..repeats {
            bump.reset();
            make(bump);
        }
        bump.reset();
    });
}

/// What is made in an arena of a peer, and read there.
pub(super) trait Bumped {
    /// What leads to all of it.
    type Made<'b>;

    fn make(bump: &Bump, objects: u32) -> Self::Made<'_>;

    fn read(made: Self::Made<'_>) -> u64;
}

/// Chains of nodes.
pub(super) struct Nodes<const V: usize>;

impl<const V: usize> Bumped for Nodes<V> {
    type Made<'b> = Option<&'b Node<'b, V>>;

    #[inline]
    fn make(bump: &Bump, objects: u32) -> Self::Made<'_> {
        chain_bump(bump, objects)
    }

    fn read(made: Self::Made<'_>) -> u64 {
        read_plain(made)
    }
}

/// Chains of the report's objects.
pub(super) struct Objects;

impl Bumped for Objects {
    type Made<'b> = Option<&'b Object<'b>>;

    #[inline]
    fn make(bump: &Bump, objects: u32) -> Self::Made<'_> {
        let object = |number, before| Object {
            _generation: 0,
            _component: 0,
            _tag: 1,
            _is_pair: false,
            _mark: false,
            _is_tethered: false,
            _size: 0,
            head: HEAD.into(),
            value: i64::from(number),
            before,
        };
        (0..objects).fold(None, |before, number| Some(&*bump.alloc(object(number, before))))
    }

    fn read(made: Self::Made<'_>) -> u64 {
        let objects = std::iter::successors(made, |object| object.before);
        objects.fold(0, |sum, object| mix(mix(sum, object.head), object.value as u64))
    }
}

/// Integers, of which some are given.
pub(super) struct Integers;

impl Bumped for Integers {
    type Made<'b> = Vec<&'b u64>;

    #[inline]
    fn make(bump: &Bump, objects: u32) -> Self::Made<'_> {
        let mut kept = Vec::new();
        for number in 0..objects {
            let made = black_box(&*bump.alloc(integer(number)));
            if number % KEPT_EVERY == 0 {
                kept.push(made);
            }
        }
        kept
    }

    fn read(made: Self::Made<'_>) -> u64 {
        made.into_iter().sum()
    }
}

/// A node that the allocator of the process gives.
pub(super) struct Boxed<const V: usize> {
    head: u32,
    values: [u32; V],
    before: Option<Box<Boxed<V>>>,
}

/// Makes a chain of boxes.
#[inline]
pub(super) fn chain_boxed<const V: usize>(objects: u32) -> Option<Box<Boxed<V>>> {
    let boxed = |before, number| Some(Box::new(Boxed { head: HEAD, values: [number; V], before }));
    (0..objects).fold(None, boxed)
}

/// Reads a chain.
pub(super) fn read_boxed<const V: usize>(last: Option<&Boxed<V>>) -> u64 {
    read_nodes(std::iter::successors(last, |node| node.before.as_deref()).map(|node| (node.head, &node.values)))
}

impl<const V: usize> Drop for Boxed<V> {
    /// One by one, since a chain of drops would overflow the stack.
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(mut node) = next {
            next = node.before.take();
        }
    }
}

/// A counted node.
pub(super) struct Counted {
    head: u32,
    values: [u32; 1],
    before: Option<Arc<Counted>>,
}

/// Makes a chain of counted nodes.
#[inline]
pub(super) fn chain_counted(objects: u32) -> Option<Arc<Counted>> {
    let counted = |before, number| Some(Arc::new(Counted { head: HEAD, values: [number], before }));
    (0..objects).fold(None, counted)
}

/// Reads a chain.
pub(super) fn read_counted(last: Option<&Counted>) -> u64 {
    read_nodes(std::iter::successors(last, |node| node.before.as_deref()).map(|node| (node.head, &node.values)))
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(node) = next {
            next = Arc::into_inner(node).and_then(|mut node| node.before.take());
        }
    }
}

/// A node in an arena with a collector.
#[derive(Collect)]
#[collect(no_drop)]
pub(super) struct Collected<'gc> {
    head: u32,
    values: [u32; 1],
    before: Option<Gc<'gc, Collected<'gc>>>,
}

/// Makes a chain in such an arena.
#[inline]
pub(super) fn chain_collected<'gc>(arena: &Mutation<'gc>, objects: u32) -> Option<Gc<'gc, Collected<'gc>>> {
    let collected = |before, number| Some(Gc::new(arena, Collected { head: HEAD, values: [number], before }));
    (0..objects).fold(None, collected)
}

/// Reads a chain.
pub(super) fn read_collected<'gc>(last: Option<Gc<'gc, Collected<'gc>>>) -> u64 {
    let nodes = std::iter::successors(last.map(Gc::as_ref), |node| node.before.map(Gc::as_ref));
    read_nodes(nodes.map(|node| (node.head, &node.values)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_are_equal() {
        assert_eq!((size_of::<Node<1>>(), size_of::<Boxed<1>>(), size_of::<Collected>()), (16, 16, 16));
        assert_eq!((size_of::<Node<7>>(), size_of::<Object>()), (40, 40));
    }
}
