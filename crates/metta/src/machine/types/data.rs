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

use super::TypeChecker;
use super::indexed::Changed;
use super::kept_types::{ARITY_MAX, Application, NO_KEY, NUMBERS, TypedData};
use super::signatures::HeadKind;
use super::type_table::Scheme;
use crate::machine::code::TypeId;
use crate::machine::notes::{Notes, Told};
use crate::machine::values::Values;
use crate::machine::words::{EMPTY, INTEGER, is_lasting, plain};
use region::{Ref, tag};

impl TypeChecker<'_> {
    /// The note of an expression that was built from its data, all its children evaluated but the one that comes later; `None` if it
    /// is not certain that it is well typed.
    pub(in crate::machine) fn note_of_made(&mut self, made: Ref, typed: &mut TypedData) -> Option<u16> {
        let (expected, last) = (typed.expected, typed.last);
        let count = self.values.heap.length(made) - 1 - usize::from(last.is_some());
        let keys = type_keys(self.values, made, count, self.types.notes);
        if let Some(note) = typed.note_for(&keys, self.types.notes) {
            return Some(note);
        }
        let told = self.told_of_data(made, count, last, expected)?;
        let note = self.types.note_of_told(told);
        if keys[..count].iter().all(|&key| key != NO_KEY) {
            typed.keep(keys, self.types.notes, note);
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
            && expected.is_none_or(|expected| self.types.each_agrees_with(scheme, expected))
        {
            return Some(Told::Partly(scheme));
        }
        let scheme = self.scheme_of_data(made, count, last)?;
        let agrees =
            expected.is_none_or(|expected| self.types.scheme_agrees_with(scheme, expected, false, self.variables));
        agrees.then_some(Told::Whole(scheme))
    }

    /// The scheme of data with `count` arguments, and one more of a type if that is still to come.
    fn scheme_of_data(&mut self, made: Ref, count: usize, last: Option<TypeId>) -> Option<Scheme> {
        let mut known = [Scheme::UNKNOWN; ARITY_MAX];
        for (place, known) in known.iter_mut().enumerate().take(count) {
            *known = self.scheme_of(self.values.heap.child(made, place + 1))?;
        }
        if let Some(last) = last {
            let scheme = self.types.scheme_of_type(last)?;
            // What is evaluated to a type with variables comes to one that is known later.
            if !self.types.schemes.table.is_ground(scheme) {
                return None;
            }
            known[count] = scheme;
        }
        let arity = count + usize::from(last.is_some());
        let head = self.values.heap.child(made, 0);
        match self.head_kind(head, arity) {
            HeadKind::Parametric(function) => {
                self.types.applied_to(head, &function, &known[..arity], self.variables).flatten()
            }
            HeadKind::Typed(signature) => self.result_of_signature(&signature, made, &known[..arity]),
            _ => None,
        }
    }

    /// The type of data with `count` arguments, and one more of a type if that is still to come, but for what its head changes; `None` if
    /// it changes nothing, or not for certain.
    fn indexed_type_of(&mut self, made: Ref, count: usize, last: Option<TypeId>) -> Option<Scheme> {
        let mut children = [EMPTY; ARITY_MAX];
        let head = self.values.heap.child(made, 0);
        children.get_mut(..count)?.copy_from_slice(self.values.heap.children_from(made, 1, count));
        self.indexed_type(head, &children[..count], last)
    }

    /// The type of data with this head and these arguments, and one more of a type if that is still to come, but for what the head
    /// changes; `None` if it changes nothing, or not for certain.
    pub(super) fn indexed_type(&mut self, head: Ref, arguments: &[Ref], last: Option<TypeId>) -> Option<Scheme> {
        let (count, arity) = (arguments.len(), arguments.len() + usize::from(last.is_some()));
        let HeadKind::Parametric(function) = self.head_kind(head, arity) else { return None };
        let changed = self.types.changed_parameters(head, &function);
        if changed.is_empty() {
            return None;
        }
        let (mut known, mut partly) = ([Scheme::UNKNOWN; ARITY_MAX], 0);
        for place in 0..arity {
            let told = match last {
                Some(last) if place == count => self.types.told_of_type(last)?,
                _ => self.told_of(arguments[place], place, &changed)?,
            };
            known[place] = match told {
                Told::Whole(scheme) => scheme,
                Told::Partly(_) if !changed.iter().any(|changed| changed.argument == place) => return None,
                Told::Partly(scheme) => {
                    partly |= 1 << place;
                    scheme
                }
            };
        }
        let asked = (Application::new(head, &known[..arity]), partly);
        if let Some(&applied) = self.types.schemes.indexed.applied.get(&asked) {
            return applied;
        }
        let applied = self.types.apply_partly(&function, &changed, &known[..arity], partly);
        if is_lasting(head) {
            self.types.schemes.indexed.applied.insert(asked, applied);
        }
        applied
    }

    /// What is known of the type of an argument: where a parameter is changed, what its note tells is enough.
    fn told_of(&mut self, value: Ref, place: usize, changed: &[Changed]) -> Option<Told> {
        let value = self.values.heap.walk(value);
        if value.is_expression() && changed.iter().any(|changed| changed.argument == place) {
            let note = self.values.heap.note(value);
            if let Some(told) = self.types.schemes.noted.told(self.types.notes, note) {
                return Some(told);
            }
        }
        self.scheme_of(value).map(Told::Whole)
    }

    /// Notes data as in normal form and of its type, if its arguments are in normal form and of types that agree.
    pub(super) fn note_by_arguments(&mut self, call: Ref) {
        let count = self.values.heap.length(call) - 1;
        if count > ARITY_MAX {
            return;
        }
        let Some(told) = self.told_of_data(call, count, None, None) else { return };
        self.values.note_normal(call, self.types.notes);
        if self.types.notes.hold(self.values.heap.note(call)) {
            let note = self.types.note_of_told(told);
            self.values.heap.set_note(call, note);
        }
    }

    /// Data has got its last child, which need not be of the type that it was evaluated to: what is evaluated already is taken as it is.
    pub(in crate::machine) fn note_closed(&mut self, made: Ref, count: usize) {
        if self.values.heap.note(made) == 0 {
            return;
        }
        let notes = self.types.notes;
        let mut keys = type_keys(self.values, made, count, notes);
        // The last place is free for the head.
        let are_told = count < ARITY_MAX && keys[..count].iter().all(|&key| key != NO_KEY);
        keys[ARITY_MAX - 1] = self.values.heap.child(made, 0).bits();
        if are_told && let Some(note) = self.types.closed.note_for(&keys, notes) {
            return self.values.heap.set_note(made, note);
        }
        let told = self.told_of_data(made, count, None, None);
        self.values.heap.set_note(made, 0);
        if let Some(told) = told {
            let note = self.types.note_of_told(told);
            self.values.heap.set_note(made, note);
            if are_told {
                self.types.closed.keep(keys, self.types.notes, note);
            }
        }
    }
}

/// The type keys of the first arguments of an expression.
#[inline]
fn type_keys(values: &Values, made: Ref, count: usize, notes: Notes) -> [u32; ARITY_MAX] {
    let mut keys = [NO_KEY; ARITY_MAX];
    let children = &values.heap.children(made)[1..=count];
    for (key, &child) in keys.iter_mut().zip(children) {
        *key = type_key(values, child, notes);
    }
    keys
}

#[inline]
fn type_key(values: &Values, child: Ref, notes: Notes) -> u32 {
    match child.tag() {
        INTEGER | tag::NUMBER => NUMBERS,
        tag::EXPRESSION | tag::MARKED => {
            let note = values.heap.note(child);
            if notes.hold(note) && note != notes.normal() { u32::from(note) << 3 | tag::EXPRESSION } else { NO_KEY }
        }
        _ if is_lasting(child) => plain(child).bits(),
        _ => NO_KEY,
    }
}
