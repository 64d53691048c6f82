//! One number for everything a run holds.
//!
//! The state hash is the sum, modulo 2^128, of the hashes of all items: spaces, states, words, imports, settings, random
//! generators. An item's hash is over its kind, its key (a serial number, a word) and its content; a space's content is itself
//! a sum, of the content hashes of its atoms ([`space::Space::hash`]). A sum does not depend on the order of what it adds,
//! counts copies, and takes a few nanoseconds to keep up to date. It finds differences; it does not protect
//! against forged ones.

use rustc_hash::FxHashMap;
use twox_hash::XxHash3_128;

/// What kind of thing an item is; the first byte of what is hashed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    Space = 1,
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
    /// The hashes of items that others replace, by what they are the content of: see [`begin`].
    contents: FxHashMap<Vec<u8>, u128>,
    /// Room for what is hashed.
    room: Vec<u8>,
    /// The sums of spaces whose atoms are counted here, and not by the spaces themselves.
    counted: FxHashMap<u64, u128>,
}

impl StateHash {
    /// The hash so far.
    pub(crate) fn value(&self) -> u128 {
        self.sum
    }

    /// Counts copies of an atom in a space by its content hash; a negative count takes them away.
    pub(crate) fn count(&mut self, space: u64, atom: u128, copies: i64) {
        let sum = self.counted.entry(space).or_default();
        *sum = sum.wrapping_add(atom.wrapping_mul(copies as i128 as u128));
    }

    /// Takes what was counted into the hash: to be called where the hash is looked at.
    pub(crate) fn settle(&mut self, spaces: impl IntoIterator<Item = u64>) {
        for space in spaces {
            let content = self.counted.get(&space).copied().unwrap_or_default();
            self.set_space(space, content);
        }
    }

    /// Makes this the sum of a space's atoms. An empty space is as good as none: one that was made and undone leaves
    /// nothing.
    pub(crate) fn set_space(&mut self, space: u64, content: u128) {
        let key = space.to_be_bytes();
        if content == 0 {
            self.unset(Kind::Space, &key);
        } else {
            self.set(Kind::Space, &key, &content.to_le_bytes());
        }
    }

    /// Makes this the content of that, in place of what it was before.
    pub(crate) fn set(&mut self, kind: Kind, key: &[u8], content: &[u8]) {
        let Self { sum, contents, room, .. } = self;
        begin(kind, key, room);
        let key_end = room.len();
        room.extend_from_slice(content);
        let hash = XxHash3_128::oneshot(room);
        let key = &room[..key_end];
        let before = match contents.get_mut(key) {
            Some(known) => std::mem::replace(known, hash),
            None => contents.insert(key.to_vec(), hash).unwrap_or(0),
        };
        *sum = sum.wrapping_sub(before).wrapping_add(hash);
    }

    /// Takes away what was the content of that.
    fn unset(&mut self, kind: Kind, key: &[u8]) {
        begin(kind, key, &mut self.room);
        let before = self.contents.remove(&self.room[..]).unwrap_or(0);
        self.sum = self.sum.wrapping_sub(before);
    }
}

/// Writes what an item's bytes begin with: its kind, the length of its key, and the key.
fn begin(kind: Kind, key: &[u8], bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.push(kind as u8);
    bytes.extend_from_slice(&(key.len() as u64).to_be_bytes());
    bytes.extend_from_slice(key);
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn kind_key_and_content_are_told_apart() {
        let of = |items: &[(Kind, &[u8], &[u8])]| {
            let mut hash = StateHash::default();
            items.iter().for_each(|(kind, key, content)| hash.set(*kind, key, content));
            hash.value()
        };
        let one = of(&[(Kind::State, b"ab", b"c")]);
        assert_ne!(one, of(&[(Kind::State, b"a", b"bc")]));
        assert_ne!(one, of(&[(Kind::Word, b"ab", b"c")]));
        let [first, second] = [(Kind::State, &b"1"[..], &b"x"[..]), (Kind::State, b"2", b"y")];
        assert_eq!(of(&[first, second]), of(&[second, first]));
    }
}
