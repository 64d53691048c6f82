//! States and spaces that are read and changed without an atom being built.
//!
//! A value that is not a leaf, a row or as simple as these goes through the Rust function of the library.

use super::classes::classify_head;
use super::values::{Scope, Values};
use super::words::{NOT_REDUCIBLE, SYMBOL};
use super::{Halt, Running};
use crate::lowering::Lowering;
use region::Ref;
use space::{Atom, Grounded, Term};

/// Whether a state may take this content, and a base keep it, without a further look.
fn is_simple(value: &Atom) -> bool {
    matches!(value, Atom::Symbol(_) | Atom::Grounded(Grounded::Bool(_) | Grounded::Number(_) | Grounded::Text(_)))
}

impl Running<'_> {
    /// The content of a state.
    pub(super) fn get_state(&mut self, state: Ref, return_point: u32) -> Result<(), Halt> {
        let Some(found) = self.m.values.state_of(state) else {
            return self.native_on(Lowering::GetState, &[state], return_point);
        };
        let value = match found.integer().and_then(super::words::small) {
            Some(small) => small,
            None => {
                let content = found.value();
                if !is_simple(&content) {
                    return self.native_on(Lowering::GetState, &[state], return_point);
                }
                self.m.values.load(&content, &mut Scope::default())?
            }
        };
        if value == NOT_REDUCIBLE {
            return self.native_on(Lowering::GetState, &[state], return_point);
        }
        self.resume(return_point, value)
    }

    /// Gives a state another content.
    pub(super) fn change_state(&mut self, state: Ref, value: Ref, return_point: u32) -> Result<(), Halt> {
        self.act()?;
        let content = simple_atom(&self.m.values, value);
        match (self.m.values.state_of(state), content) {
            (Some(found), Some(content)) if !found.is_frozen() => {
                let found = found.clone();
                self.m.choices.note_state(&found);
                self.outer.note(&found);
                found.set(content);
            }
            _ => return self.native_on(Lowering::ChangeState, &[state, value], return_point),
        }
        self.resume(return_point, state)
    }

    /// Adds an atom to a space.
    pub(super) fn add_atom(&mut self, space: Ref, value: Ref, return_point: u32) -> Result<(), Halt> {
        self.act()?;
        if !add_row(&mut self.m.values, &mut self.m.rooms.row, space, value) {
            return self.native_on(Lowering::AddAtom, &[space, value], return_point);
        }
        self.refresh();
        let unit = self.m.values.heap.expression(&mut self.m.values.region, &[])?;
        self.resume(return_point, unit)
    }
}

/// A symbol, number, truth value or text as an atom.
fn simple_atom(values: &Values, value: Ref) -> Option<Atom> {
    match value.tag() {
        SYMBOL => Some(Atom::Symbol(values.symbol_of(value).clone())),
        super::words::FOREIGN => Some(values.foreign_of(value)).filter(|value| is_simple(value)).cloned(),
        _ => values.number_of(value).map(Atom::from),
    }
}

/// Adds an expression that is a row; says whether it was one.
fn add_row(values: &mut Values, row: &mut Vec<Term>, space: Ref, value: Ref) -> bool {
    if !value.is_expression() || values.heap.length(value) == 0 {
        return false;
    }
    let head = values.heap.walk(values.heap.child(value, 0));
    let is_symbol = head.tag() == SYMBOL;
    let Some(class) = is_symbol.then(|| classify_head(values.symbol_of(head).as_str())).flatten() else {
        return false;
    };
    let Some(space) = values.space_of(space).filter(|space| !space.is_frozen()).cloned() else {
        return false;
    };
    space.add_row(class, row, |terms, row| values.intern_row(value, terms, row).is_some())
}
