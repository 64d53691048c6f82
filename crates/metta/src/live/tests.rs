//! Tests of a live query: comparisons, arithmetic and logic of the library around variables and constants.

use super::error::LiveError;
use crate::lowering::Comparison;
use crate::operation::lowering_of;
use crate::rules::{Reading, Shape};
use space::{Atom, Filter, FilterPart, Variable, passes};

/// The tests that answers must pass, and the constants in them.
#[derive(Default)]
pub(super) struct Tests {
    pub(super) filters: Vec<Filter>,
    pub(super) values: Vec<Atom>,
}

impl Tests {
    /// Whether an answer certainly passes, which has a value for each variable.
    pub(super) fn pass(&self, answer: &[Atom]) -> bool {
        passes(&self.filters, &self.values, answer)
    }
}

/// Adds the test that a condition has a truth value; its variables are numbered as they are bound.
pub(super) fn test(condition: &Atom, is_kept: bool, bound: &[Variable], tests: &mut Tests) -> Result<(), LiveError> {
    let mut parts = Vec::new();
    let is_put = put_truth(condition, bound, &mut parts, &mut tests.values);
    let filter = if is_put { Filter::of_parts(parts, !is_kept) } else { None };
    let filter = filter.ok_or_else(|| LiveError::Evaluated { part: condition.to_string() })?;
    tests.filters.push(filter);
    Ok(())
}

/// Puts down what comes to a truth value; `false` if it cannot be put down.
fn put_truth(atom: &Atom, bound: &[Variable], parts: &mut Vec<FilterPart>, values: &mut Vec<Atom>) -> bool {
    if atom.children().is_none_or(<[Atom]>::is_empty) {
        return put_value(atom, bound, parts, values);
    }
    let (are_put, part) = match Reading::of(atom).shape {
        Shape::Comparison(comparison, [left, right]) => {
            let are_put = put_number(left, bound, parts, values) && put_number(right, bound, parts, values);
            let part = match comparison {
                Comparison::Equal => FilterPart::Equal,
                other => FilterPart::Compare(other.holds()),
            };
            (are_put, part)
        }
        Shape::Not(only) => (put_truth(only, bound, parts, values), FilterPart::Not),
        Shape::Logic(logic, [left, right]) => {
            let are_put = put_truth(left, bound, parts, values) && put_truth(right, bound, parts, values);
            (are_put, FilterPart::Logic(logic.truth()))
        }
        _ => return false,
    };
    parts.push(part);
    are_put
}

/// Puts down what is compared: a number that is made of others, or a value.
fn put_number(atom: &Atom, bound: &[Variable], parts: &mut Vec<FilterPart>, values: &mut Vec<Atom>) -> bool {
    let Shape::Arithmetic(arithmetic, [left, right]) = Reading::of(atom).shape else {
        return put_value(atom, bound, parts, values);
    };
    let are_put = put_number(left, bound, parts, values) && put_number(right, bound, parts, values);
    parts.push(FilterPart::Arithmetic(arithmetic.operation()));
    are_put
}

/// Puts down a variable or a constant.
fn put_value(atom: &Atom, bound: &[Variable], parts: &mut Vec<FilterPart>, values: &mut Vec<Atom>) -> bool {
    if let Atom::Variable(variable) = atom {
        let number = bound.iter().position(|known| known == variable);
        parts.extend(number.map(|number| FilterPart::Variable(number as u32)));
        return number.is_some();
    }
    // An expression stands for itself if it is data: one that begins with an operation would be evaluated.
    let is_data = atom.is_rigid()
        && atom.children().is_none_or(|children| children.iter().all(|child| lowering_of(child).is_none()));
    if is_data {
        parts.push(FilterPart::Given(values.len() as u32));
        values.push(atom.clone());
    }
    is_data
}
