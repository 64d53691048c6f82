//! Matching: what is bound, how two values become equal, and what a value is with everything bound put in.
//!
//! 1. [`Bindings`] is the state: the variables that were bound, in order, so that choices can undo it. Values are lent to it.
//! 2. [`unification`] makes two values equal if that can be; `resolution` puts in what is bound.
//!
//! Where to go on if values do not match is the machine's to say.

mod resolution;
pub(super) mod unification;

use super::values::Values;
use region::Ref;
use unification::Pair;

/// The variables that were bound, in order, and room that is kept from one comparison to the next.
#[derive(Default)]
pub(super) struct Bindings {
    pub(super) trail: Vec<Ref>,
    pairs: Vec<Pair>,
    /// Expressions that are to be looked into.
    pub(super) work: Vec<Ref>,
}

impl Bindings {
    /// Binds a variable.
    #[inline]
    pub(super) fn bind(&mut self, values: &mut Values, variable: Ref, value: Ref) {
        self.trail.push(variable);
        values.open_data.forget();
        values.heap.bind(variable, value);
    }

    /// Binds a variable that an alternative has bound, again.
    pub(super) fn bind_again(&mut self, values: &mut Values, variable: Ref, value: Ref) {
        let variable = values.heap.walk(variable);
        if variable.is_variable() && variable != values.heap.walk(value) {
            self.bind(values, variable, value);
        }
    }

    /// Undoes bindings.
    #[inline]
    pub(super) fn undo_to(&mut self, values: &mut Values, length: usize) {
        while self.trail.len() > length {
            let variable = self.trail.pop().expect("the trail is longer");
            values.heap.unbind(variable);
        }
    }
}
