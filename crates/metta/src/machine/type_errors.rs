//! Errors about types, as a value is one.

use super::values::Values;
use super::words::TERM;
use crate::names;
use region::{Full, Ref};
use space::Symbol;

/// Whether an error says that a type does not agree, or that no type takes that many arguments: of a function with several types
/// it says the second beside the first. It may name a type of the call, or one inside of it.
pub(super) fn is_about_types(values: &mut Values, error: Ref) -> Result<bool, Full> {
    let Some(reason) = reason_of(values, error)? else { return Ok(false) };
    let reason = if reason.tag() == TERM { values.open_term(reason)? } else { reason };
    let name = match reason.is_expression() {
        true => values.heap.children(reason).first().map(|&head| values.heap.walk(head)),
        false => Some(reason),
    };
    let about_types = [names::BAD_TYPE, names::BAD_ARG_TYPE, names::INCORRECT_NUMBER_OF_ARGUMENTS];
    Ok(about_types.iter().any(|about| Some(values.symbol(&Symbol::new(about))) == name))
}

/// The reason of an error that has one.
fn reason_of(values: &mut Values, error: Ref) -> Result<Option<Ref>, Full> {
    let error = if error.tag() == TERM { values.open_term(error)? } else { error };
    let has_reason = error.is_expression() && values.heap.length(error) == 3;
    Ok(has_reason.then(|| values.heap.walk(values.heap.child(error, 2))))
}
