//! What code knows of data whose head has a type: which types its children have had, and what the whole was of then.
//!
//! It knows no types: those of a child are told by a *type key*, the word of a leaf or the note of an expression. To look a combination up
//! takes a comparison of keys.

use super::type_table::Scheme;
use crate::machine::notes::Notes;
use crate::machine::words::{INTEGER, plain};
use region::{Ref, tag};

/// Heads with more arguments are left to the specification.
pub(in crate::machine) const ARITY_MAX: usize = 6;

/// The combinations of types that are kept for each place that builds data.
const KEPT: usize = 4;

/// The type key of all numbers: no word is like this.
pub(in crate::machine) const NUMBERS: u32 = u32::MAX;

/// The type key of what has none: its type is looked up each time.
pub(in crate::machine) const NO_KEY: u32 = 0;

/// A head and the schemes of its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Application {
    head: Ref,
    count: u8,
    arguments: [Scheme; ARITY_MAX],
}

impl Application {
    pub(in crate::machine) fn new(head: Ref, arguments: &[Scheme]) -> Self {
        let mut known = [Scheme::UNKNOWN; ARITY_MAX];
        known[..arguments.len()].copy_from_slice(arguments);
        Self { head, count: arguments.len() as u8, arguments: known }
    }
}

/// A combination of types of children, and the note of what is made of them.
#[derive(Clone, Copy, Debug, Default)]
struct Combination {
    keys: [u32; ARITY_MAX],
    /// The first note when this was found out: 0 is none.
    since: u16,
    note: u16,
}

/// What is kept beside the code of data. Types are places in the table of types.
#[derive(Clone, Debug)]
pub(in crate::machine) struct TypedData {
    /// The type that is expected of the whole, if that has not been looked at; then it is evaluated as it stands unless the types
    /// follow for certain.
    pub(in crate::machine) expected: Option<u16>,
    /// The type that the last child is evaluated to, if that is done later.
    pub(in crate::machine) last: Option<u16>,
    kept: [Combination; KEPT],
}

impl TypedData {
    pub(in crate::machine) fn new(expected: Option<u16>, last: Option<u16>) -> Self {
        Self { expected, last, kept: [Combination::default(); KEPT] }
    }

    /// The note of the whole for children with these keys, if that is known.
    #[inline]
    pub(super) fn note_for(&self, keys: &[u32; ARITY_MAX], notes: Notes) -> Option<u16> {
        let known = &self.kept[place_of(keys)];
        (known.since == notes.normal() && known.keys == *keys).then_some(known.note)
    }

    /// Keeps the note of the whole for children with these keys.
    pub(in crate::machine) fn keep(&mut self, keys: [u32; ARITY_MAX], notes: Notes, note: u16) {
        self.kept[place_of(&keys)] = Combination { keys, since: notes.normal(), note };
    }

    /// Forgets all notes: the numbers that they have begin again.
    fn forget(&mut self) {
        self.kept = [Combination::default(); KEPT];
    }

    /// The note of the whole if its children at these places are numbers; the others it always has.
    #[inline]
    pub(in crate::machine) fn note_of_numbers(
        &self,
        children: &[Ref],
        places: impl Iterator<Item = usize>,
        notes: Notes,
    ) -> Option<u16> {
        let mut keys = [NO_KEY; ARITY_MAX];
        let count = children.len() - 1 - usize::from(self.last.is_some());
        for (key, &child) in keys.iter_mut().zip(&children[1..=count]) {
            *key = if matches!(child.tag(), INTEGER | tag::NUMBER) { NUMBERS } else { plain(child).bits() };
        }
        places.for_each(|place| keys[place - 1] = NUMBERS);
        self.note_for(&keys, notes)
    }
}

fn place_of(keys: &[u32; ARITY_MAX]) -> usize {
    let mixed = keys.iter().fold(0_u32, |mixed, key| (mixed ^ key).wrapping_mul(0x9e37_79b1));
    (mixed >> 30) as usize
}

/// Goes on to the next range of notes, as when rules change. If their numbers begin again, all that is kept is forgotten, since an old number
/// would be taken for a new one; says whether they do.
pub(super) fn next_range<'a>(notes: &mut Notes, kept: impl Iterator<Item = &'a mut TypedData>) -> bool {
    if notes.advance() {
        return false;
    }
    *notes = Notes::default();
    kept.for_each(TypedData::forget);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_that_is_kept_holds_in_no_later_range() {
        let (mut notes, mut data) = (Notes::default(), TypedData::new(None, None));
        let keys = [NUMBERS; ARITY_MAX];
        data.keep(keys, notes, 7);
        assert_eq!(data.note_for(&keys, notes), Some(7));
        let mut beginnings = 0;
        while beginnings < 2 {
            beginnings += usize::from(next_range(&mut notes, std::iter::once(&mut data)));
            assert_eq!(data.note_for(&keys, notes), None, "{notes:?}");
        }
        data.keep(keys, notes, 9);
        assert_eq!(data.note_for(&keys, notes), Some(9));
    }
}
