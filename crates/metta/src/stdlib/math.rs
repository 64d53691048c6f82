//! Mathematics. Transcendental functions come from `libm`, so that every machine computes the same digits.

use super::arithmetic::number_of;
use crate::operation::{Call, OperationSpec, Outcome};
use space::Number;

const fn spec(name: &'static str, native: fn(&mut Call<'_>) -> Outcome) -> OperationSpec {
    OperationSpec { name, signature: Some("(-> Number Number)"), has_home: false, native }
}

const fn two(name: &'static str, native: fn(&mut Call<'_>) -> Outcome) -> OperationSpec {
    OperationSpec { name, signature: Some("(-> Number Number Number)"), has_home: false, native }
}

const fn test(name: &'static str, native: fn(&mut Call<'_>) -> Outcome) -> OperationSpec {
    OperationSpec { name, signature: Some("(-> Number Bool)"), has_home: false, native }
}

pub(super) const OPERATIONS: &[OperationSpec] = &[
    two("pow-math", power),
    two("log-math", logarithm),
    spec("sqrt-math", |call| float(call, f64::sqrt)),
    spec("abs-math", absolute),
    spec("trunc-math", |call| rounded(call, f64::trunc)),
    spec("ceil-math", |call| rounded(call, f64::ceil)),
    spec("floor-math", |call| rounded(call, f64::floor)),
    spec("round-math", |call| rounded(call, f64::round)),
    spec("sin-math", |call| float(call, libm::sin)),
    spec("asin-math", |call| float(call, libm::asin)),
    spec("cos-math", |call| float(call, libm::cos)),
    spec("acos-math", |call| float(call, libm::acos)),
    spec("tan-math", |call| float(call, libm::tan)),
    spec("atan-math", |call| float(call, libm::atan)),
    test("isnan-math", |call| property(call, f64::is_nan)),
    test("isinf-math", |call| property(call, f64::is_infinite)),
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
            Outcome::one(Number::Int(0).subtract(integer))
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
