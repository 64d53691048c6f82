//! The copy that people write: a hash map from what was met to where it went.
//!
//! It is the same algorithm as ours, Cheney's, over the same words, but for the map, and has no chunks to look up. So what is
//! compared is the map with the table that ours keeps.

use super::graph::Words;
use region::Ref;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasher;

/// Where expressions went.
pub(super) type Went<S> = HashMap<u32, u32, S>;

/// Copies what a root leads to, and gives the copy.
pub(super) fn copy<S: BuildHasher>(from: &Words, root: Ref, to: &mut Words, went: &mut Went<S>) -> Ref {
    let mut scan = to.0.len();
    let root = forward(from, root, to, went);
    while scan < to.0.len() {
        let next = scan + 1 + to.0[scan].payload() as usize;
        for at in scan + 1..next {
            to.0[at] = forward(from, to.0[at], to, went);
        }
        scan = next;
    }
    root
}

#[inline]
fn forward<S: BuildHasher>(from: &Words, reference: Ref, to: &mut Words, went: &mut Went<S>) -> Ref {
    if !reference.is_expression() {
        return reference;
    }
    let at = match went.entry(reference.payload()) {
        Entry::Occupied(entry) => *entry.get(),
        Entry::Vacant(entry) => {
            let (first, at) = (reference.payload() as usize, to.0.len() as u32);
            to.0.extend_from_slice(&from.0[first..first + 1 + from.0[first].payload() as usize]);
            *entry.insert(at)
        }
    };
    Ref::new(reference.tag(), at)
}
