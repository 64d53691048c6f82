//! Arithmetic, comparison and logic.

use crate::effects::Effects;
use crate::lowering::{Arithmetic, Comparison, Logic, Lowering};
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use space::{ArithmeticError, Atom, Grounded, Number};
use std::cmp::Ordering;

const NUMBERS_TO_NUMBER: &str = "(-> Number Number Number)";
const NUMBERS_TO_BOOL: &str = "(-> Number Number Bool)";
const BOOLS_TO_BOOL: &str = "(-> Bool Bool Bool)";

const INTEGERS_GROW: Compatibility =
    Compatibility::Differs("integers grow: nothing wraps around. See [numbers](#numbers)");
const COMPARED_EXACTLY: Compatibility =
    Compatibility::Differs("an integer and a float are compared exactly, also above 2^53");

pub(super) const OPERATIONS: &[Spec] = &[
    Spec::typed("+", NUMBERS_TO_NUMBER, |call| numbers(call, Number::add))
        .with(Effects::NONE)
        .lowered(Lowering::Arithmetic(Arithmetic::Add))
        .documented(
            "The sum of two numbers: an integer of any size if both are integers, else a float.",
            &["Evaluated: a number", "Evaluated: a number"],
            "The sum",
        )
        .compared(INTEGERS_GROW),
    Spec::typed("-", NUMBERS_TO_NUMBER, |call| numbers(call, Number::subtract))
        .with(Effects::NONE)
        .lowered(Lowering::Arithmetic(Arithmetic::Subtract))
        .documented(
            "The difference of two numbers: an integer of any size if both are integers, else a float.",
            &["Evaluated: a number", "Evaluated: the number to take away"],
            "The difference",
        )
        .compared(INTEGERS_GROW),
    Spec::typed("*", NUMBERS_TO_NUMBER, |call| numbers(call, Number::multiply))
        .with(Effects::NONE)
        .lowered(Lowering::Arithmetic(Arithmetic::Multiply))
        .documented(
            "The product of two numbers: an integer of any size if both are integers, else a float.",
            &["Evaluated: a number", "Evaluated: a number"],
            "The product",
        )
        .compared(INTEGERS_GROW),
    Spec::typed("/", NUMBERS_TO_NUMBER, divide)
        .with(Effects::NONE)
        .lowered(Lowering::Arithmetic(Arithmetic::Divide))
        .documented(
            "The quotient of two numbers: of integers the whole part, cut towards zero, else a float.",
            &["Evaluated: the number to divide", "Evaluated: the number to divide by"],
            "The quotient; the error DivisionByZero for integers and 0, while a float divided by 0 is inf, -inf or NaN",
        )
        .compared(Compatibility::Differs(
            "integers grow: nothing wraps around. See [numbers](#numbers). The smallest 64-bit integer divided by \
             -1 ends the process in Hyperon",
        )),
    Spec::typed("%", NUMBERS_TO_NUMBER, |call| numbers(call, Number::remainder))
        .with(Effects::NONE)
        .lowered(Lowering::Arithmetic(Arithmetic::Remainder))
        .documented(
            "The remainder of a division cut towards zero; it has the sign of the first argument.",
            &["Evaluated: the number to divide", "Evaluated: the number to divide by"],
            "The remainder; the error DivisionByZero for integers and 0, NaN for floats and 0",
        )
        .compared(Compatibility::Differs("`(% 5 0)` is the error `DivisionByZero`; it ends the process in Hyperon")),
    Spec::typed("<", NUMBERS_TO_BOOL, |call| compare(call, Ordering::is_lt))
        .with(Effects::NONE)
        .lowered(Lowering::Comparison(Comparison::Less))
        .documented(
            "Whether a number is less than another. Integers and floats are compared exactly.",
            &["Evaluated: a number", "Evaluated: the number to compare it with"],
            "True or False; always False with NaN",
        )
        .compared(COMPARED_EXACTLY),
    Spec::typed(">", NUMBERS_TO_BOOL, |call| compare(call, Ordering::is_gt))
        .with(Effects::NONE)
        .lowered(Lowering::Comparison(Comparison::Greater))
        .documented(
            "Whether a number is greater than another. Integers and floats are compared exactly.",
            &["Evaluated: a number", "Evaluated: the number to compare it with"],
            "True or False; always False with NaN",
        )
        .compared(COMPARED_EXACTLY),
    Spec::typed("<=", NUMBERS_TO_BOOL, |call| compare(call, Ordering::is_le))
        .with(Effects::NONE)
        .lowered(Lowering::Comparison(Comparison::LessOrEqual))
        .documented(
            "Whether a number is less than another or equal to it. Integers and floats are compared exactly.",
            &["Evaluated: a number", "Evaluated: the number to compare it with"],
            "True or False; always False with NaN",
        )
        .compared(COMPARED_EXACTLY),
    Spec::typed(">=", NUMBERS_TO_BOOL, |call| compare(call, Ordering::is_ge))
        .with(Effects::NONE)
        .lowered(Lowering::Comparison(Comparison::GreaterOrEqual))
        .documented(
            "Whether a number is greater than another or equal to it. Integers and floats are compared exactly.",
            &["Evaluated: a number", "Evaluated: the number to compare it with"],
            "True or False; always False with NaN",
        )
        .compared(COMPARED_EXACTLY),
    Spec::typed("==", "(-> $t $t Bool)", equal)
        .with(Effects::NONE)
        .lowered(Lowering::Comparison(Comparison::Equal))
        .documented(
            "Whether two atoms of one type are equal: numbers by value, all else by structure. Unlike types are an \
             error.",
            &["Evaluated: an atom", "Evaluated: the atom to compare it with"],
            "True or False; NaN equals nothing",
        )
        .compared(Compatibility::Differs(
            "an integer and a float are compared exactly, also above 2^53. A tuple with a NaN equals itself; in \
             Hyperon it equals nothing",
        )),
    Spec::typed("and", BOOLS_TO_BOOL, |call| bools(call, |a, b| a && b))
        .with(Effects::NONE)
        .lowered(Lowering::Logic(Logic::And))
        .documented(
            "Whether both arguments are True. Both are evaluated, whatever the first one is.",
            &["Evaluated: True or False", "Evaluated: True or False"],
            "True or False; anything but truth values leaves the call as it is",
        ),
    Spec::typed("or", BOOLS_TO_BOOL, |call| bools(call, |a, b| a || b))
        .with(Effects::NONE)
        .lowered(Lowering::Logic(Logic::Or))
        .documented(
            "Whether an argument is True. Both are evaluated, whatever the first one is.",
            &["Evaluated: True or False", "Evaluated: True or False"],
            "True or False; anything but truth values leaves the call as it is",
        ),
    Spec::typed("xor", BOOLS_TO_BOOL, |call| bools(call, |a, b| a != b))
        .with(Effects::NONE)
        .lowered(Lowering::Logic(Logic::Xor))
        .documented(
            "Whether exactly one argument is True.",
            &["Evaluated: True or False", "Evaluated: True or False"],
            "True or False; anything but truth values leaves the call as it is",
        ),
    Spec::typed("not", "(-> Bool Bool)", |call| match bool_of(call.argument(0)) {
        Some(value) => Outcome::one(!value),
        None => Outcome::NotReducible,
    })
    .with(Effects::NONE)
    .lowered(Lowering::Logic(Logic::Not))
    .documented(
        "The other truth value.",
        &["Evaluated: True or False"],
        "False or True; anything but a truth value leaves the call as it is",
    ),
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
