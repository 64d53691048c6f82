//! What is known at a place of the code.

use crate::machine::code::Slot;
use rustc_hash::FxHashMap;
use space::Variable;

/// What is known of the value of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) enum Fact {
    /// It is a number.
    Number,
    /// It is a truth value.
    Bool,
    /// It is an expression.
    Expression,
}

/// What is known at a place in the code.
#[derive(Clone, Default)]
pub(in crate::machine) struct CodeState {
    pub(in crate::machine) variables: FxHashMap<Variable, Slot>,
    /// The slots that hold values.
    pub(in crate::machine) live: Vec<Slot>,
    /// Whether something was called since types were looked at.
    pub(in crate::machine) is_stale: bool,
}
