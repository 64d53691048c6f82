//! The key of a call whose arguments are leaves: words, which nothing has to be walked for.

use super::super::values::Values;
use super::super::words::{FOREIGN, INTEGER, SYMBOL};
use crate::tables::AutomaticTables;
use region::{Ref, tag};
use space::{Atom, Grounded};

/// Adds an argument to the key of the call at hand, if it is a leaf that is equal to itself only.
pub(super) fn add_leaf(values: &Values, value: Ref, tables: &mut AutomaticTables) -> bool {
    match value.tag() {
        INTEGER | SYMBOL => tables.add_to_key(u64::from(value.bits())),
        tag::NUMBER => {
            let is_float = value.payload() & 1;
            tables.add_to_key(u64::from(Ref::new(tag::NUMBER, is_float).bits()));
            tables.add_to_key(values.heap.number_bits(value));
        }
        FOREIGN if is_plain_constant(values, value) => tables.add_to_key(u64::from(value.bits())),
        _ => return false,
    }
    true
}

/// Whether a value is a constant of code, of which there is one for each value, and holds nothing that changes.
fn is_plain_constant(values: &Values, value: Ref) -> bool {
    let is_constant = value.payload() & 1 == 0;
    is_constant
        && matches!(
            values.foreign_of(value),
            Atom::Grounded(Grounded::Number(_) | Grounded::Bool(_) | Grounded::Text(_))
        )
}
