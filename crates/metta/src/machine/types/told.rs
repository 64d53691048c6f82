//! What notes tell of values: whether they are in normal form, and of which types.

use super::Types;
use super::type_table::Scheme;
use crate::machine::code::TypeId;
use crate::machine::notes::Told;
use crate::machine::values::{Values, holds_bound};
use crate::machine::words::{EMPTY, EVALUATED_OPEN, FOREIGN, INTEGER, SYMBOL, TERM};
use region::{Ref, tag};

impl Types {
    /// What a value comes to if it is evaluated to a type, where that is plain to see: itself, marked if it is an expression.
    #[inline(always)]
    pub(in crate::machine) fn own_result(&self, values: &Values, value: Ref, type_id: TypeId) -> Option<Ref> {
        match value.tag() {
            tag::VARIABLE | tag::MARKED => Some(value),
            INTEGER | tag::NUMBER => (type_id == 0 || type_id == self.number_type).then_some(value),
            SYMBOL | FOREIGN if type_id == 0 => Some(value),
            tag::EXPRESSION => match values.heap.note(value) {
                note if type_id == 0 && self.notes.hold(note) => Some(value.marked()),
                EVALUATED_OPEN => self.open_result(values, value),
                note if type_id != 0 && self.tells(note, type_id) => Some(value.marked()),
                _ => None,
            },
            TERM => values.normal_as(value, type_id),
            _ if value == EMPTY => Some(value),
            _ => None,
        }
    }

    /// A value that counts as evaluated as long as none of its variables is bound, if none is.
    #[cold]
    fn open_result(&self, values: &Values, value: Ref) -> Option<Ref> {
        (!holds_bound(values, value, self.notes)).then_some(value)
    }

    /// Whether a note tells exactly this type, if the scheme of the type was asked for before.
    #[inline(never)]
    fn tells(&self, note: u16, type_id: TypeId) -> bool {
        self.schemes.tells(self.notes, note, type_id)
    }

    /// Whether the note of a value does.
    #[inline]
    pub(in crate::machine) fn is_told(&self, values: &Values, value: Ref, type_id: TypeId) -> bool {
        value.is_expression() && self.tells(values.heap.note(value), type_id)
    }

    /// Whether the note of an expression says of which type it is.
    pub(in crate::machine) fn tells_type(&self, values: &Values, value: Ref) -> bool {
        let (note, notes) = (values.heap.note(value), self.notes);
        notes.hold(note) && note != notes.normal()
    }

    /// The note of what is in normal form and of a type of which this is told.
    pub(super) fn note_of_told(&mut self, told: Told) -> u16 {
        let noted = match told {
            Told::Whole(scheme) if !scheme.is_known() => None,
            told => self.schemes.noted.note_of(&mut self.notes, told),
        };
        noted.unwrap_or(self.notes.normal())
    }

    /// The note of what is in normal form and exactly of this type, unless no number is left.
    pub(super) fn note_of(&mut self, scheme: Scheme) -> Option<u16> {
        self.schemes.noted.note_of(&mut self.notes, Told::Whole(scheme))
    }
}
