//! How a call of a tabled function is looked up.

use super::answer::is_past;
use crate::program::history::PAST_SERIALS;
use space::{Atom, SharedSpace, Variable, canonical, distinct_open_parts};

/// A call, as it is looked up.
pub(crate) struct CallKey {
    pub(super) key: Vec<u8>,
    /// The variables of the call.
    pub(crate) variables: Vec<Variable>,
}

impl CallKey {
    /// How a call of a type in a space is looked up. `None` if it holds something of the past, which is not told apart by
    /// its number: it is evaluated without a table.
    pub(crate) fn new(call: &Atom, type_atom: &Atom, space: &SharedSpace) -> Option<Self> {
        if space.serial() >= PAST_SERIALS || distinct_open_parts(call).any(is_past) {
            return None;
        }
        let mut key = space.serial().to_le_bytes().to_vec();
        let mut variables = Vec::new();
        if type_atom.is_ground() {
            canonical::key_naming(type_atom, &mut key, |_| {});
            canonical::key_naming(call, &mut key, |variable| variables.push(variable.clone()));
        } else {
            let both = Atom::expression([call.clone(), type_atom.clone()]);
            canonical::key_naming(&both, &mut key, |variable| variables.push(variable.clone()));
        }
        Some(Self { key, variables })
    }
}
