//! Data whose head has a type, put together by code.
//!
//! 1. Its children are evaluated when it is built. What type the whole is of follows from the types of its children, which is found out
//!    once for each combination of these ([`super::schemes`]) and kept beside the code that builds the data.
//! 2. The type of a child is told by its word, or by the note of an expression: that is the *type key* of the child. So to build
//!    data whose children have been seen before takes a look at each of them.
//! 3. The whole is noted with its type. So what is stored in it is never looked through again.
//!
//! If the types do not follow for certain, such as those of a child with several, the data stays without a note, or is evaluated as it
//! stands if nobody has looked at its types yet.

use super::code::TypeId;
use super::kept_types::{ARITY_MAX, NO_KEY, NUMBERS};
use super::notes::{Notes, Told};
use super::type_table::Scheme;
use super::types::HeadKind;
use super::values::Values;
use super::words::{INTEGER, is_lasting, plain};
use super::{Machine, Running};
use region::{Ref, tag};

impl Running<'_> {
    /// The note of an expression that was built from its data, all its children evaluated but the one that comes later; `None` if it
    /// is not certain that it is well typed.
    pub(super) fn note_of_made(&mut self, made: Ref, data: u32) -> Option<u16> {
        let typed = self.m.code.data[data as usize].typed.as_ref().expect("it is of a type");
        let (expected, last) = (typed.expected, typed.last);
        let count = self.m.values.heap.length(made) - 1 - usize::from(last.is_some());
        let (keys, notes) = (self.m.values.type_keys(made, count, self.m.type_cache.notes), self.m.type_cache.notes);
        if let Some(note) = typed.note_for(&keys, notes) {
            return Some(note);
        }
        let told = self.told_of_data(made, count, last, expected)?;
        let note = self.note_of_told(told);
        if keys[..count].iter().all(|&key| key != NO_KEY) {
            let typed = self.m.code.data[data as usize].typed.as_mut().expect("it is of a type");
            typed.keep(keys, self.m.type_cache.notes, note);
        }
        Some(note)
    }

    /// What can be told of the type of data with `count` arguments, and one more of a type if that is still to come, if it is certain
    /// that this agrees with an expected one.
    fn told_of_data(
        &mut self,
        made: Ref,
        count: usize,
        last: Option<TypeId>,
        expected: Option<TypeId>,
    ) -> Option<Told> {
        if let Some(scheme) = self.indexed_type_of(made, count, last)
            && expected.is_none_or(|expected| self.each_agrees_with(scheme, expected))
        {
            return Some(Told::Partly(scheme));
        }
        let scheme = self.scheme_of_data(made, count, last)?;
        let agrees = expected.is_none_or(|expected| self.scheme_agrees_with(scheme, expected, false));
        agrees.then_some(Told::Whole(scheme))
    }

    /// The scheme of data with `count` arguments, and one more of a type if that is still to come.
    fn scheme_of_data(&mut self, made: Ref, count: usize, last: Option<TypeId>) -> Option<Scheme> {
        let mut known = [Scheme::UNKNOWN; ARITY_MAX];
        for (place, known) in known.iter_mut().enumerate().take(count) {
            *known = self.scheme_of(self.m.values.heap.child(made, place + 1))?;
        }
        if let Some(last) = last {
            let scheme = self.scheme_of_type(last)?;
            // What is evaluated to a type with variables comes to one that is known later.
            if !self.m.type_cache.schemes.table.is_ground(scheme) {
                return None;
            }
            known[count] = scheme;
        }
        let arity = count + usize::from(last.is_some());
        let head = self.m.values.heap.child(made, 0);
        match self.head_kind(head, arity) {
            HeadKind::Parametric(function) => self.applied_to(head, &function, &known[..arity]).flatten(),
            HeadKind::Typed(signature) => self.result_of_signature(&signature, made, &known[..arity]),
            _ => None,
        }
    }

    /// Notes data as in normal form and of its type, if its arguments are in normal form and of types that agree.
    pub(super) fn note_by_arguments(&mut self, call: Ref) {
        let count = self.m.values.heap.length(call) - 1;
        if count > ARITY_MAX {
            return;
        }
        let Some(told) = self.told_of_data(call, count, None, None) else { return };
        self.m.note_normal(call);
        if self.m.type_cache.notes.hold(self.m.values.heap.note(call)) {
            let note = self.note_of_told(told);
            self.m.values.heap.set_note(call, note);
        }
    }

    /// Data has got its last child, which need not be of the type that it was evaluated to: what is evaluated already is taken as it is.
    pub(super) fn note_closed(&mut self, made: Ref, count: usize) {
        if self.m.values.heap.note(made) == 0 {
            return;
        }
        let notes = self.m.type_cache.notes;
        let mut keys = self.m.values.type_keys(made, count, notes);
        // The last place is free for the head.
        let are_told = count < ARITY_MAX && keys[..count].iter().all(|&key| key != NO_KEY);
        keys[ARITY_MAX - 1] = self.m.values.heap.child(made, 0).bits();
        if are_told && let Some(note) = self.m.type_cache.closed.note_for(&keys, notes) {
            return self.m.values.heap.set_note(made, note);
        }
        let told = self.told_of_data(made, count, None, None);
        self.m.values.heap.set_note(made, 0);
        if let Some(told) = told {
            let note = self.note_of_told(told);
            self.m.values.heap.set_note(made, note);
            if are_told {
                self.m.type_cache.closed.keep(keys, self.m.type_cache.notes, note);
            }
        }
    }

    /// The note of what is in normal form and of a type of which this is told.
    fn note_of_told(&mut self, told: Told) -> u16 {
        let noted = match told {
            Told::Whole(scheme) if !scheme.is_known() => None,
            told => self.m.type_cache.schemes.noted.note_of(&mut self.m.type_cache.notes, told),
        };
        noted.unwrap_or(self.m.type_cache.notes.normal())
    }
}

impl Machine {
    /// Whether a note tells exactly this type, if that was asked before.
    #[inline(never)]
    pub(super) fn tells(&self, note: u16, type_id: TypeId) -> bool {
        self.type_cache.schemes.tells(self.type_cache.notes, note, type_id)
    }

    /// Whether the note of a value does.
    #[inline]
    pub(super) fn is_told(&self, value: Ref, type_id: TypeId) -> bool {
        value.is_expression() && self.tells(self.values.heap.note(value), type_id)
    }

    /// Whether the note of an expression says of which type it is.
    pub(super) fn tells_type(&self, value: Ref) -> bool {
        let (note, notes) = (self.values.heap.note(value), self.type_cache.notes);
        notes.hold(note) && note != notes.normal()
    }
}

impl Values {
    /// The type keys of the first arguments of an expression.
    #[inline]
    fn type_keys(&self, made: Ref, count: usize, notes: Notes) -> [u32; ARITY_MAX] {
        let mut keys = [NO_KEY; ARITY_MAX];
        let children = &self.heap.children(made)[1..=count];
        for (key, &child) in keys.iter_mut().zip(children) {
            *key = self.type_key(child, notes);
        }
        keys
    }

    #[inline]
    fn type_key(&self, child: Ref, notes: Notes) -> u32 {
        match child.tag() {
            INTEGER | tag::NUMBER => NUMBERS,
            tag::EXPRESSION | tag::MARKED => {
                let note = self.heap.note(child);
                if notes.hold(note) && note != notes.normal() { u32::from(note) << 3 | tag::EXPRESSION } else { NO_KEY }
            }
            _ if is_lasting(child) => plain(child).bits(),
            _ => NO_KEY,
        }
    }
}
