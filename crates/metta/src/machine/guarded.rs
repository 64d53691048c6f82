//! Calls of functions that are well typed ([`super::types`]).
//!
//! 1. Such a function has code of its own, under [`WELL_TYPED`] in place of a type. Calls inside go to such code, and constructors build
//!    data, as if there were no types.
//! 2. A call from elsewhere is looked at once, where it enters ([`Kind::Guarded`]). If its arguments do not allow it, the code with checks
//!    is entered.

use super::Running;
use super::code::{Callee, Guarded, Kind, REDUCE, WELL_TYPED};
use super::types::kept_types::ARITY_MAX;
use super::types::type_table::Scheme;
use super::words::{FOREIGN, INTEGER, SYMBOL, TERM};
use crate::types;
use region::tag;

impl Running<'_> {
    /// How a typed function is entered by calls that nothing is known of, if it is well typed.
    pub(super) fn guarded(&mut self, function: u32) -> Option<Kind> {
        let found = self.m.code.functions[function as usize];
        let (head, count, type_id) = (found.head, found.arguments, found.type_id);
        if found.is_plain
            || type_id == REDUCE
            || type_id == WELL_TYPED
            || !self.function_types().is_well_typed((head, count))
        {
            return None;
        }
        if type_id != 0 && types::says_how(self.m.types.ids.atom(type_id)) {
            return None;
        }
        let admits_integers = self.function_types().admits_numbers((head, count), type_id);
        let guarded = Guarded {
            well_typed: self.m.code.function(head, count, WELL_TYPED),
            plain: self.m.code.plain_function(head, count, type_id),
            admits_integers,
        };
        self.m.code.guarded.push(guarded);
        Some(Kind::Guarded((self.m.code.guarded.len() - 1) as u32))
    }

    /// The function that is entered for a guarded one, its frame made: by the code that its arguments allow.
    pub(super) fn admitted(&mut self, function: u32, guarded: u32) -> u32 {
        let Guarded { well_typed, plain, admits_integers } = self.m.code.guarded[guarded as usize];
        let count = self.m.code.functions[function as usize].arguments;
        let is_admitted = admits_integers && (0..count).all(|slot| self.m.frames.slot(slot).tag() == INTEGER)
            || self.are_admitted(function);
        if is_admitted { well_typed } else { plain }
    }

    /// Whether the arguments of the frame at hand may enter well-typed code.
    fn are_admitted(&mut self, function: u32) -> bool {
        let found = self.m.code.functions[function as usize];
        let callee = (found.head, found.arguments);
        let mut schemes = [Scheme::UNKNOWN; ARITY_MAX];
        for slot in 0..found.arguments {
            let value = self.m.read(slot);
            let is_normal = match value.tag() {
                INTEGER | tag::NUMBER | SYMBOL | FOREIGN => true,
                tag::EXPRESSION | tag::MARKED => self.m.types.notes.hold(self.m.values.heap.note(value)),
                TERM => self.m.normal(value, 0).is_some(),
                _ => false,
            };
            let scheme = if is_normal { self.types().scheme_of(value) } else { None };
            let Some(scheme) = scheme else { return false };
            schemes[usize::from(slot)] = scheme;
        }
        self.function_types().admits(callee, found.type_id, schemes) && self.are_callable(callee)
    }

    /// Whether what the call at hand takes as functions is what well-typed code may call.
    fn are_callable(&mut self, (head, count): Callee) -> bool {
        let Some(arrows) = self.function_types().arrows_of(head) else { return false };
        (0..count).zip(arrows.iter()).all(|(slot, arrow)| match *arrow {
            Some(arity) => {
                let value = self.m.read(slot);
                self.function_types().is_callable(value, arity)
            }
            None => true,
        })
    }
}
