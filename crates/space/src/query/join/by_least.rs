//! Items one after the other, always the one whose key is least now: a heap in which what a key was stays behind when it changes.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// What an item costs now. What is apart comes after the rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) is_apart: bool,
    pub(super) cost: f64,
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.is_apart.cmp(&other.is_apart).then(self.cost.total_cmp(&other.cost))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key {}

/// The items below `count`: `first`, then always the one with the least key of those that are left, and of equal ones the one with the least
/// number. `take` is told which one was taken and says which keys have changed by it; `key` is the key of each at the beginning.
pub(super) fn by_least(
    count: usize,
    first: usize,
    mut take: impl FnMut(usize, &mut dyn FnMut(usize, Key)),
    key: impl Fn(usize) -> Key,
) -> Vec<usize> {
    let mut keys: Vec<Key> = (0..count).map(key).collect();
    let mut heap: BinaryHeap<Reverse<(Key, usize)>> = keys.iter().copied().zip(0..).map(Reverse).collect();
    let mut is_left = vec![true; count];
    let mut order = Vec::with_capacity(count);
    let mut next = Some(first);
    while let Some(item) = next {
        is_left[item] = false;
        order.push(item);
        take(item, &mut |changed, key| {
            if is_left[changed] && keys[changed] != key {
                keys[changed] = key;
                heap.push(Reverse((key, changed)));
            }
        });
        next = std::iter::from_fn(|| heap.pop())
            .find_map(|Reverse((key, item))| (is_left[item] && keys[item] == key).then_some(item));
    }
    order
}
