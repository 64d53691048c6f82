//! Arithmetic, comparison and logic.

use crate::operation::{Call, OperationSpec, Outcome};
use space::{Atom, Grounded, Number};
use std::cmp::Ordering;

const NUMBERS_TO_NUMBER: Option<&str> = Some("(-> Number Number Number)");
const NUMBERS_TO_BOOL: Option<&str> = Some("(-> Number Number Bool)");
const BOOLS_TO_BOOL: Option<&str> = Some("(-> Bool Bool Bool)");

const fn spec(
    name: &'static str,
    signature: Option<&'static str>,
    native: fn(&mut Call<'_>) -> Outcome,
) -> OperationSpec {
    OperationSpec { name, signature, has_home: false, native }
}

pub(super) const OPERATIONS: &[OperationSpec] = &[
    spec("+", NUMBERS_TO_NUMBER, |call| numbers(call, |a, b| Some(a.add(b)))),
    spec("-", NUMBERS_TO_NUMBER, |call| numbers(call, |a, b| Some(a.subtract(b)))),
    spec("*", NUMBERS_TO_NUMBER, |call| numbers(call, |a, b| Some(a.multiply(b)))),
    spec("/", NUMBERS_TO_NUMBER, divide),
    spec("%", NUMBERS_TO_NUMBER, |call| numbers(call, Number::remainder)),
    spec("<", NUMBERS_TO_BOOL, |call| compare(call, Ordering::is_lt)),
    spec(">", NUMBERS_TO_BOOL, |call| compare(call, Ordering::is_gt)),
    spec("<=", NUMBERS_TO_BOOL, |call| compare(call, Ordering::is_le)),
    spec(">=", NUMBERS_TO_BOOL, |call| compare(call, Ordering::is_ge)),
    spec("==", Some("(-> $t $t Bool)"), equal),
    spec("and", BOOLS_TO_BOOL, |call| bools(call, |a, b| a && b)),
    spec("or", BOOLS_TO_BOOL, |call| bools(call, |a, b| a || b)),
    spec("xor", BOOLS_TO_BOOL, |call| bools(call, |a, b| a != b)),
    spec("not", Some("(-> Bool Bool)"), |call| match bool_of(call.argument(0)) {
        Some(value) => Outcome::one(!value),
        None => Outcome::NotReducible,
    }),
];

/// The number an atom is.
pub(super) fn number_of(atom: Option<&Atom>) -> Option<&Number> {
    match atom? {
        Atom::Grounded(Grounded::Number(number)) => Some(number),
        _ => None,
    }
}

/// The truth value an atom is.
pub(super) fn bool_of(atom: Option<&Atom>) -> Option<bool> {
    match atom? {
        Atom::Grounded(Grounded::Bool(value)) => Some(*value),
        _ => None,
    }
}

fn numbers(call: &Call<'_>, operate: fn(&Number, &Number) -> Option<Number>) -> Outcome {
    let (Some(left), Some(right)) = (number_of(call.argument(0)), number_of(call.argument(1))) else {
        return Outcome::NotReducible;
    };
    operate(left, right).map_or_else(|| Outcome::failure("DivisionByZero"), Outcome::one)
}

fn divide(call: &mut Call<'_>) -> Outcome {
    match (number_of(call.argument(0)), number_of(call.argument(1))) {
        (Some(_), Some(_)) => numbers(call, Number::divide),
        _ => Outcome::failure("Divide expects two numbers: dividend and divisor"),
    }
}

fn compare(call: &Call<'_>, holds: fn(Ordering) -> bool) -> Outcome {
    match (number_of(call.argument(0)), number_of(call.argument(1))) {
        (Some(left), Some(right)) => Outcome::one(left.compare(right).is_some_and(holds)),
        _ => Outcome::NotReducible,
    }
}

/// Equality of values: a NaN is no number's equal, its own included.
fn equal(call: &mut Call<'_>) -> Outcome {
    let (Some(left), Some(right)) = (call.argument(0), call.argument(1)) else {
        return Outcome::failure("== expects two arguments");
    };
    let is_nan = number_of(Some(left)).is_some_and(|number| number.to_f64().is_nan());
    Outcome::one(!is_nan && left == right)
}

fn bools(call: &Call<'_>, operate: fn(bool, bool) -> bool) -> Outcome {
    match (bool_of(call.argument(0)), bool_of(call.argument(1))) {
        (Some(left), Some(right)) => Outcome::one(operate(left, right)),
        _ => Outcome::NotReducible,
    }
}
