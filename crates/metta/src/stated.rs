//! What an edited source stated before, which is compared with what it states now.

use rustc_hash::FxHashMap;
use space::{Atom, canonical};

/// What is left of the statements that an edited source had before, by canonical bytes.
#[derive(Default)]
pub(crate) struct Stated(FxHashMap<Vec<u8>, (u32, Atom)>);

impl Stated {
    /// All of them.
    pub(crate) fn of(atoms: Vec<Atom>) -> Self {
        let mut stated = Self::default();
        atoms.into_iter().for_each(|atom| stated.put(canonical::key(&atom), atom));
        stated
    }

    /// Adds a copy of an atom, given with its canonical bytes.
    pub(crate) fn put(&mut self, bytes: Vec<u8>, atom: Atom) {
        self.0.entry(bytes).or_insert((0, atom)).0 += 1;
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes out one copy of an atom; whether there was one.
    pub(crate) fn take(&mut self, atom: &Atom) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let bytes = canonical::key(atom);
        let Some((count, _)) = self.0.get_mut(&bytes) else { return false };
        *count -= 1;
        if *count == 0 {
            self.0.remove(&bytes);
        }
        true
    }

    /// What was not taken, in the order of the bytes, and how many copies of each.
    pub(crate) fn into_left(self) -> Vec<(u32, Atom)> {
        let mut left: Vec<(Vec<u8>, (u32, Atom))> = self.0.into_iter().collect();
        left.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        left.into_iter().map(|(_, counted)| counted).collect()
    }
}
