//! What expressions in normal form are noted with.
//!
//! A note is a number in the header of an expression. Those of the rules as they stand are a range: its first says that the
//! expression is in normal form, each of the others that it is in normal form and of a certain type. When rules change, the range moves up,
//! and all notes before it are out of date.

use super::types::type_table::Scheme;
use super::words::CHANGED_DATA;

/// Notes that are left for types when a range begins; with fewer, all notes are taken off and the first range begins again.
const ROOM_MIN: u16 = 256;

/// The notes that hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Notes {
    first: u16,
    count: u16,
}

impl Default for Notes {
    fn default() -> Self {
        Self { first: 1, count: 1 }
    }
}

impl Notes {
    /// The note of what is in normal form.
    #[inline]
    pub(super) fn normal(self) -> u16 {
        self.first
    }

    /// Whether a note says of an expression that it is in normal form.
    #[inline]
    pub(super) fn hold(self, note: u16) -> bool {
        note.wrapping_sub(self.first) < self.count
    }

    /// Makes all notes invalid; `false` if there are too few numbers left for that.
    pub(super) fn advance(&mut self) -> bool {
        self.first += self.count;
        self.count = 1;
        self.first < CHANGED_DATA - ROOM_MIN
    }

    /// A note for another type, unless there is none left.
    pub(super) fn add(&mut self) -> Option<u16> {
        let note = self.first + self.count;
        (note < CHANGED_DATA).then(|| {
            self.count += 1;
            note
        })
    }
}

/// What a note tells of a type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Told {
    /// It is exactly this.
    Whole(Scheme),
    /// It is this with something in place of its variables: see [`super::types`].
    Partly(Scheme),
}

/// The types that notes tell.
#[derive(Default)]
pub(super) struct NotedTypes {
    by_type: rustc_hash::FxHashMap<Told, u16>,
    /// By the distance of the note from the first one, less 1.
    types: Vec<Told>,
}

impl NotedTypes {
    pub(super) fn clear(&mut self) {
        self.by_type.clear();
        self.types.clear();
    }

    /// What a note tells of a type, if it tells anything.
    #[inline]
    pub(super) fn told(&self, notes: Notes, note: u16) -> Option<Told> {
        let place = note.wrapping_sub(notes.first).checked_sub(1)?;
        self.types.get(usize::from(place)).copied()
    }

    /// The type that a note tells, if it tells all of it.
    #[inline]
    pub(super) fn of(&self, notes: Notes, note: u16) -> Option<Scheme> {
        match self.told(notes, note)? {
            Told::Whole(scheme) => Some(scheme),
            Told::Partly(_) => None,
        }
    }

    /// Whether a type has a note.
    pub(super) fn has(&self, scheme: Scheme) -> bool {
        self.by_type.contains_key(&Told::Whole(scheme))
    }

    /// The note of what is in normal form and of a type of which this is told, unless there is none left.
    pub(super) fn note_of(&mut self, notes: &mut Notes, told: Told) -> Option<u16> {
        if let Some(&known) = self.by_type.get(&told) {
            return Some(known);
        }
        let note = notes.add()?;
        self.by_type.insert(told, note);
        self.types.push(told);
        Some(note)
    }
}

#[cfg(test)]
mod tests {
    use super::super::types::type_table::TypeTable;
    use super::*;
    use crate::machine::words::EVALUATED_OPEN;
    use space::{Atom, Number};

    fn schemes(count: usize) -> Vec<Scheme> {
        let mut table = TypeTable::default();
        (0..count).map(|number| table.of_atom(&Atom::from(Number::from(number)))).collect()
    }

    #[test]
    fn a_note_holds_until_rules_change() {
        let (mut notes, mut types) = (Notes::default(), NotedTypes::default());
        let normal = notes.normal();
        let scheme = schemes(1)[0];
        let typed = types.note_of(&mut notes, Told::Whole(scheme)).expect("there is room");
        assert!(notes.hold(normal) && notes.hold(typed) && !notes.hold(0) && !notes.hold(EVALUATED_OPEN));
        assert_eq!((types.of(notes, normal), types.of(notes, typed)), (None, Some(scheme)));
        assert_eq!(types.note_of(&mut notes, Told::Whole(scheme)), Some(typed));
        let partly = types.note_of(&mut notes, Told::Partly(scheme)).expect("there is room");
        assert!(partly != typed && types.of(notes, partly).is_none());
        assert_eq!(types.told(notes, partly), Some(Told::Partly(scheme)));
        assert!(notes.advance());
        types.clear();
        assert!(!notes.hold(normal) && !notes.hold(typed) && notes.hold(notes.normal()));
        assert_eq!(types.of(notes, typed), None);
    }

    #[test]
    fn the_last_notes_say_nothing_of_a_type() {
        let (mut notes, mut types) = (Notes::default(), NotedTypes::default());
        let all = schemes(usize::from(u16::MAX));
        let given = all.into_iter().filter(|&scheme| types.note_of(&mut notes, Told::Whole(scheme)).is_some()).count();
        assert_eq!(given, usize::from(CHANGED_DATA) - 2);
        assert!(!notes.hold(CHANGED_DATA) && !notes.hold(EVALUATED_OPEN));
        assert!(!notes.advance(), "no range can begin any more");
    }

    #[test]
    fn ranges_end_before_the_notes_do() {
        let mut notes = Notes::default();
        let ranges = 1 + (0..u32::from(u16::MAX)).take_while(|_| notes.advance()).count();
        assert_eq!(ranges, usize::from(CHANGED_DATA - ROOM_MIN) - 1);
    }
}
