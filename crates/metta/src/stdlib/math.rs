//! Mathematics. Transcendental functions come from `libm`, so that every machine computes the same digits.

use super::arithmetic::{number_of, result};
use crate::effects::Effects;
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use space::Number;

const NUMBER: &str = "(-> Number Number)";
const NUMBERS: &str = "(-> Number Number Number)";
const TEST: &str = "(-> Number Bool)";

const LAST_DIGITS: Compatibility = Compatibility::Differs(
    "the last digits may differ: Metroon computes with `libm`, the same on every machine, Hyperon with the C \
     library of the system",
);

pub(super) const OPERATIONS: &[Spec] = &[
    Spec::typed("pow-math", NUMBERS, power)
        .with(Effects::NONE)
        .documented(
            "A number raised to a power.",
            &["Evaluated: the base", "Evaluated: the power; an integer of at most 32 bits, or a float"],
            "A float; an error if the power is too large an integer",
        )
        .compared(LAST_DIGITS),
    Spec::typed("log-math", NUMBERS, logarithm)
        .with(Effects::NONE)
        .documented(
            "The logarithm of a number to a base; (log-math EXP x) is the natural one.",
            &["Evaluated: the base", "Evaluated: the number"],
            "A float; -inf for 0, NaN for what is negative",
        )
        .compared(LAST_DIGITS),
    Spec::typed("sqrt-math", NUMBER, |call| float(call, f64::sqrt))
        .with(Effects::NONE)
        .documented("The square root of a number.", &["Evaluated: the number"], "A float; NaN for what is negative")
        .compared(Compatibility::ERROR_TEXT),
    Spec::typed("abs-math", NUMBER, absolute)
        .with(Effects::NONE)
        .documented("A number without its sign.", &["Evaluated: the number"], "An integer for an integer, else a float")
        .compared(Compatibility::Differs("the smallest 64-bit integer loses its sign; in Hyperon it keeps it")),
    Spec::typed("trunc-math", NUMBER, |call| rounded(call, f64::trunc))
        .with(Effects::NONE)
        .documented(
            "A number without its fraction: rounded towards zero.",
            &["Evaluated: the number"],
            "An integer for an integer, else a float",
        )
        .compared(Compatibility::ERROR_TEXT),
    Spec::typed("ceil-math", NUMBER, |call| rounded(call, f64::ceil))
        .with(Effects::NONE)
        .documented(
            "The least whole number that is not below a number.",
            &["Evaluated: the number"],
            "An integer for an integer, else a float",
        )
        .compared(Compatibility::ERROR_TEXT),
    Spec::typed("floor-math", NUMBER, |call| rounded(call, f64::floor))
        .with(Effects::NONE)
        .documented(
            "The greatest whole number that is not above a number.",
            &["Evaluated: the number"],
            "An integer for an integer, else a float",
        )
        .compared(Compatibility::ERROR_TEXT),
    Spec::typed("round-math", NUMBER, |call| rounded(call, f64::round))
        .with(Effects::NONE)
        .documented(
            "The whole number nearest to a number; halves go away from zero.",
            &["Evaluated: the number"],
            "An integer for an integer, else a float",
        )
        .compared(Compatibility::ERROR_TEXT),
    Spec::typed("sin-math", NUMBER, |call| float(call, libm::sin))
        .with(Effects::NONE)
        .documented("The sine of an angle.", &["Evaluated: the angle in radians"], "A float from -1 to 1")
        .compared(LAST_DIGITS),
    Spec::typed("asin-math", NUMBER, |call| float(call, libm::asin))
        .with(Effects::NONE)
        .documented(
            "The angle that has a given sine.",
            &["Evaluated: a number from -1 to 1"],
            "The angle in radians, a float from -PI/2 to PI/2; NaN outside the range",
        )
        .compared(LAST_DIGITS),
    Spec::typed("cos-math", NUMBER, |call| float(call, libm::cos))
        .with(Effects::NONE)
        .documented("The cosine of an angle.", &["Evaluated: the angle in radians"], "A float from -1 to 1")
        .compared(LAST_DIGITS),
    Spec::typed("acos-math", NUMBER, |call| float(call, libm::acos))
        .with(Effects::NONE)
        .documented(
            "The angle that has a given cosine.",
            &["Evaluated: a number from -1 to 1"],
            "The angle in radians, a float from 0 to PI; NaN outside the range",
        )
        .compared(LAST_DIGITS),
    Spec::typed("tan-math", NUMBER, |call| float(call, libm::tan))
        .with(Effects::NONE)
        .documented("The tangent of an angle.", &["Evaluated: the angle in radians"], "A float")
        .compared(LAST_DIGITS),
    Spec::typed("atan-math", NUMBER, |call| float(call, libm::atan))
        .with(Effects::NONE)
        .documented(
            "The angle that has a given tangent.",
            &["Evaluated: a number"],
            "The angle in radians, a float from -PI/2 to PI/2",
        )
        .compared(LAST_DIGITS),
    Spec::typed("isnan-math", TEST, |call| property(call, f64::is_nan))
        .with(Effects::NONE)
        .documented(
            "Whether a number is NaN, the float that stands for no number.",
            &["Evaluated: the number"],
            "True or False; False for integers",
        )
        .compared(Compatibility::ERROR_TEXT),
    Spec::typed("isinf-math", TEST, |call| property(call, f64::is_infinite))
        .with(Effects::NONE)
        .documented("Whether a number is inf or -inf.", &["Evaluated: the number"], "True or False; False for integers")
        .compared(Compatibility::ERROR_TEXT),
];

const ONE_NUMBER: &str = "one number is expected as the argument";

fn float(call: &Call<'_>, function: fn(f64) -> f64) -> Outcome {
    match number_of(call.argument(0)) {
        Some(number) => Outcome::one(function(number.to_f64())),
        None => Outcome::failure(ONE_NUMBER),
    }
}

/// Rounding keeps an integer as it is and leaves a float a float.
fn rounded(call: &Call<'_>, function: fn(f64) -> f64) -> Outcome {
    match number_of(call.argument(0)) {
        Some(Number::Float(value)) => Outcome::one(function(*value)),
        Some(integer) => Outcome::one(integer.clone()),
        None => Outcome::failure(ONE_NUMBER),
    }
}

fn property(call: &Call<'_>, holds: fn(f64) -> bool) -> Outcome {
    match number_of(call.argument(0)) {
        Some(number) => Outcome::one(number.is_float() && holds(number.to_f64())),
        None => Outcome::failure(ONE_NUMBER),
    }
}

fn absolute(call: &mut Call<'_>) -> Outcome {
    match number_of(call.argument(0)) {
        Some(Number::Float(value)) => Outcome::one(value.abs()),
        Some(integer) if integer.compare(&Number::Int(0)).is_some_and(std::cmp::Ordering::is_lt) => {
            result(Number::Int(0).subtract(integer))
        }
        Some(integer) => Outcome::one(integer.clone()),
        None => Outcome::failure(ONE_NUMBER),
    }
}

fn power(call: &mut Call<'_>) -> Outcome {
    let (Some(base), Some(exponent)) = (number_of(call.argument(0)), number_of(call.argument(1))) else {
        return Outcome::failure("pow-math expects two arguments: number (base) and number (power)");
    };
    let fits = match exponent {
        Number::Int(exponent) => i32::try_from(*exponent).is_ok(),
        Number::Big(_) => false,
        Number::Float(_) => true,
    };
    if !fits {
        return Outcome::failure("power argument is too big, try using float value");
    }
    Outcome::one(libm::pow(base.to_f64(), exponent.to_f64()))
}

fn logarithm(call: &mut Call<'_>) -> Outcome {
    match (number_of(call.argument(0)), number_of(call.argument(1))) {
        (Some(base), Some(value)) => Outcome::one(libm::log(value.to_f64()) / libm::log(base.to_f64())),
        _ => Outcome::failure("log-math expects two arguments: base (number) and input value (number)"),
    }
}
