//! What complete calls have come to, by their keys.
//!
//! Entries of a policy with a bound lie in two generations. A new one, and one that is found in the old generation, goes to the young one.
//! When that takes half of the bound, the old one is forgotten and the young one becomes the old one: what was not asked for long
//! goes first. Without a bound there is one generation.

use super::Policy;
use super::answer::Answers;
use rustc_hash::FxHashMap;
use std::mem;
use std::rc::Rc;

/// What tells a call from others.
pub(super) type Key = Rc<[u8]>;

/// How much had changed when a call was evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) changes: u64,
    pub(super) resets: u64,
}

/// A complete call.
pub(super) struct Entry {
    pub(super) answers: Answers,
    pub(super) stamp: Stamp,
    /// What it is counted with.
    pub(super) bytes: usize,
}

#[derive(Default)]
struct Generation {
    entries: FxHashMap<Key, Entry>,
    bytes: usize,
}

/// What is known of a call.
pub(super) enum Found {
    /// It has come to this, and still does.
    Known(Answers),
    /// It has come to something that holds no more, and is counted with these bytes.
    Outdated(usize),
    Nothing,
}

/// All complete calls of a policy.
#[derive(Default)]
pub(super) struct Store {
    young: Generation,
    old: Generation,
}

impl Store {
    /// What is known of a call, at a stamp. What holds no more is forgotten.
    pub(super) fn find(&mut self, key: &[u8], stamp: Stamp, policy: Policy) -> Found {
        if let Some(entry) = self.young.entries.get(key) {
            if entry.stamp == stamp {
                return Found::Known(entry.answers.clone());
            }
            return self.young.remove(key).map_or(Found::Nothing, |(_, entry)| Found::Outdated(entry.bytes));
        }
        let Some((key, entry)) = self.old.remove(key) else { return Found::Nothing };
        if entry.stamp != stamp {
            return Found::Outdated(entry.bytes);
        }
        let answers = entry.answers.clone();
        self.insert(key, entry, policy);
        Found::Known(answers)
    }

    /// Adds a call.
    pub(super) fn insert(&mut self, key: Key, entry: Entry, policy: Policy) {
        if policy.bytes_max().is_some_and(|most| self.young.bytes + entry.bytes > most / 2) {
            self.old = mem::take(&mut self.young);
        }
        self.young.bytes += entry.bytes;
        if let Some(before) = self.young.entries.insert(key, entry) {
            self.young.bytes -= before.bytes;
        }
    }

    /// How many calls there are.
    pub(super) fn len(&self) -> usize {
        self.young.entries.len() + self.old.entries.len()
    }

    /// Forgets all of them.
    pub(super) fn clear(&mut self) {
        (self.young, self.old) = Default::default();
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.young.bytes + self.old.bytes
    }
}

impl Generation {
    fn remove(&mut self, key: &[u8]) -> Option<(Key, Entry)> {
        let (key, entry) = self.entries.remove_entry(key)?;
        self.bytes -= entry.bytes;
        Some((key, entry))
    }
}
