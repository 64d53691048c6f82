//! Arithmetic, comparison and logic.

use crate::effects::Effects;
use crate::lowering::{Arithmetic, Comparison, Logic, Lowering};
use crate::operation::{Call, OperationSpec as Spec, Outcome};
use space::{ArithmeticError, Atom, Grounded, Number};
use std::cmp::Ordering;

const NUMBERS_TO_NUMBER: &str = "(-> Number Number Number)";
const NUMBERS_TO_BOOL: &str = "(-> Number Number Bool)";
const BOOLS_TO_BOOL: &str = "(-> Bool Bool Bool)";

pub(super) const OPERATIONS: &[Spec] = &[
    Spec::typed("+", NUMBERS_TO_NUMBER, |call| numbers(call, Number::add))
        .with(Effects::NONE)
        .lowered(Lowering::Arithmetic(Arithmetic::Add)),
    Spec::typed("-", NUMBERS_TO_NUMBER, |call| numbers(call, Number::subtract))
        .with(Effects::NONE)
        .lowered(Lowering::Arithmetic(Arithmetic::Subtract)),
    Spec::typed("*", NUMBERS_TO_NUMBER, |call| numbers(call, Number::multiply))
        .with(Effects::NONE)
        .lowered(Lowering::Arithmetic(Arithmetic::Multiply)),
    Spec::typed("/", NUMBERS_TO_NUMBER, divide).with(Effects::NONE).lowered(Lowering::Arithmetic(Arithmetic::Divide)),
    Spec::typed("%", NUMBERS_TO_NUMBER, |call| numbers(call, Number::remainder))
        .with(Effects::NONE)
        .lowered(Lowering::Arithmetic(Arithmetic::Remainder)),
    Spec::typed("<", NUMBERS_TO_BOOL, |call| compare(call, Ordering::is_lt))
        .with(Effects::NONE)
        .lowered(Lowering::Comparison(Comparison::Less)),
    Spec::typed(">", NUMBERS_TO_BOOL, |call| compare(call, Ordering::is_gt))
        .with(Effects::NONE)
        .lowered(Lowering::Comparison(Comparison::Greater)),
    Spec::typed("<=", NUMBERS_TO_BOOL, |call| compare(call, Ordering::is_le))
        .with(Effects::NONE)
        .lowered(Lowering::Comparison(Comparison::LessOrEqual)),
    Spec::typed(">=", NUMBERS_TO_BOOL, |call| compare(call, Ordering::is_ge))
        .with(Effects::NONE)
        .lowered(Lowering::Comparison(Comparison::GreaterOrEqual)),
    Spec::typed("==", "(-> $t $t Bool)", equal).with(Effects::NONE).lowered(Lowering::Comparison(Comparison::Equal)),
    Spec::typed("and", BOOLS_TO_BOOL, |call| bools(call, |a, b| a && b))
        .with(Effects::NONE)
        .lowered(Lowering::Logic(Logic::And)),
    Spec::typed("or", BOOLS_TO_BOOL, |call| bools(call, |a, b| a || b))
        .with(Effects::NONE)
        .lowered(Lowering::Logic(Logic::Or)),
    Spec::typed("xor", BOOLS_TO_BOOL, |call| bools(call, |a, b| a != b))
        .with(Effects::NONE)
        .lowered(Lowering::Logic(Logic::Xor)),
    Spec::typed("not", "(-> Bool Bool)", |call| match bool_of(call.argument(0)) {
        Some(value) => Outcome::one(!value),
        None => Outcome::NotReducible,
    })
    .with(Effects::NONE)
    .lowered(Lowering::Logic(Logic::Not)),
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

fn numbers(call: &Call<'_>, operate: fn(&Number, &Number) -> Result<Number, ArithmeticError>) -> Outcome {
    match (number_of(call.argument(0)), number_of(call.argument(1))) {
        (Some(left), Some(right)) => result(operate(left, right)),
        _ => Outcome::NotReducible,
    }
}

/// A number, or the error that stands for it.
pub(super) fn result(result: Result<Number, ArithmeticError>) -> Outcome {
    match result {
        Ok(number) => Outcome::one(number),
        Err(ArithmeticError::DivisionByZero) => Outcome::failure("DivisionByZero"),
        Err(ArithmeticError::IntegerTooLarge) => Outcome::failure("IntegerTooLarge"),
        Err(other) => Outcome::failure(other.to_string()),
    }
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
