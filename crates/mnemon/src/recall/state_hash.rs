//! One number for everything a run holds.
//!
//! The state hash is the sum, modulo 2^128, of the hashes of all items: atoms of spaces, contents of states, meanings of
//! words, imports, settings. A sum does not depend on the order of what it adds, counts copies, and takes a few
//! nanoseconds to keep up to date. It finds differences; it is no defence against somebody who forges them.

use rustc_hash::FxHashMap;
use twox_hash::XxHash3_128;

/// What kind of thing an item is; the first byte of what is hashed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    Atom = 1,
    State = 2,
    Word = 3,
    Import = 4,
    Setting = 5,
    Generator = 6,
}

/// The hash of everything a run holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct StateHash {
    sum: u128,
    /// The hashes of items that others replace, by what they are the content of.
    contents: FxHashMap<(Kind, Vec<u8>), u128>,
    scratch: Vec<u8>,
}

impl StateHash {
    /// The hash so far.
    pub(crate) fn value(&self) -> u128 {
        self.sum
    }

    /// Counts copies of an atom in a space, by its canonical bytes; a negative count takes them away.
    pub(crate) fn count_atom(&mut self, space: u64, atom: &[u8], copies: i64) {
        self.scratch.clear();
        self.scratch.push(Kind::Atom as u8);
        self.scratch.extend(space.to_be_bytes());
        self.scratch.extend(atom);
        let hash = XxHash3_128::oneshot(&self.scratch);
        self.sum = self.sum.wrapping_add(hash.wrapping_mul(copies as i128 as u128));
    }

    /// Makes this the content of that, in place of what it was before.
    pub(crate) fn set(&mut self, kind: Kind, key: &[u8], content: &[u8]) {
        self.scratch.clear();
        self.scratch.push(kind as u8);
        self.scratch.extend((key.len() as u64).to_be_bytes());
        self.scratch.extend(key);
        self.scratch.extend(content);
        let hash = XxHash3_128::oneshot(&self.scratch);
        let before = self.contents.insert((kind, key.to_vec()), hash).unwrap_or(0);
        self.sum = self.sum.wrapping_sub(before).wrapping_add(hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_count_and_copies_do() {
        let [mut left, mut right] = [StateHash::default(), StateHash::default()];
        for (hash, order) in [(&mut left, [b"a", b"b"]), (&mut right, [b"b", b"a"])] {
            order.iter().for_each(|atom| hash.count_atom(1, *atom, 1));
        }
        assert_eq!(left.value(), right.value());
        left.count_atom(1, b"a", 1);
        assert_ne!(left.value(), right.value());
        left.count_atom(1, b"a", 1);
        assert_ne!(left.value(), right.value(), "two more copies do not cancel");
        left.count_atom(1, b"a", -2);
        assert_eq!(left.value(), right.value());
        right.count_atom(2, b"a", 1);
        assert_ne!(left.value(), right.value(), "the space counts");
    }

    #[test]
    fn a_content_takes_the_place_of_the_one_before() {
        let mut hash = StateHash::default();
        hash.set(Kind::State, b"1", b"x");
        let first = hash.value();
        hash.set(Kind::State, b"1", b"y");
        assert_ne!(hash.value(), first);
        hash.set(Kind::State, b"1", b"x");
        assert_eq!(hash.value(), first);
    }
}
