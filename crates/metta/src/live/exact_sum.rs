//! Sums that do not depend on the order in which numbers came and went.
//!
//! Integers are added as integers. Floats are added exactly, as multiples of the smallest float, and rounded once when somebody asks:
//! taking a number away leaves what there was before it came, and no error grows.

use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};
use space::Number;

/// The smallest float is two to the power of this.
const SMALLEST_EXPONENT: i32 = -1_074;

/// How many digits of a float follow its first one.
const FRACTION_BITS: u32 = 52;

/// A sum of numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct ExactSum {
    integers: BigInt,
    /// The floats, in units of the smallest one.
    floats: BigInt,
    /// How many numbers were floats.
    float_count: i64,
    infinities: i64,
    negative_infinities: i64,
    not_a_number: i64,
}

impl ExactSum {
    /// Adds a number `times` times, or takes it away if `times` is negative.
    pub(super) fn add(&mut self, number: &Number, times: i64) {
        match number {
            Number::Int(word) => self.integers += BigInt::from(*word) * times,
            Number::Big(big) => self.integers += &**big * times,
            Number::Float(float) => {
                self.float_count += times;
                match *float {
                    float if float.is_nan() => self.not_a_number += times,
                    f64::INFINITY => self.infinities += times,
                    f64::NEG_INFINITY => self.negative_infinities += times,
                    float => self.floats += in_units(float) * times,
                }
            }
        }
    }

    /// The sum: a float if any number is one.
    pub(super) fn value(&self) -> Number {
        if self.float_count == 0 {
            return Number::from_big(self.integers.clone());
        }
        Number::Float(match (self.not_a_number, self.infinities, self.negative_infinities) {
            (0, 0, 0) => nearest(&(&self.floats + (&self.integers << SMALLEST_EXPONENT.unsigned_abs()))),
            (0, _, 0) => f64::INFINITY,
            (0, 0, _) => f64::NEG_INFINITY,
            _ => f64::NAN,
        })
    }
}

/// A finite float in units of the smallest one.
fn in_units(float: f64) -> BigInt {
    let bits = float.to_bits();
    let (exponent, fraction) = (bits >> FRACTION_BITS & 0x7ff, bits & ((1 << FRACTION_BITS) - 1));
    let units = match exponent {
        0 => BigInt::from(fraction),
        exponent => BigInt::from(fraction | 1 << FRACTION_BITS) << (exponent - 1),
    };
    if float.is_sign_negative() { -units } else { units }
}

/// The float that is nearest to `units` units, the even one of two.
fn nearest(units: &BigInt) -> f64 {
    let magnitude = units.abs();
    let length = magnitude.bits();
    // One digit more than a float has, and one that says whether there are others below.
    let below = length.saturating_sub(u64::from(FRACTION_BITS) + 3);
    let (mut digits, exponent) = ((&magnitude >> below).to_u64().unwrap_or_default(), below as i32 + SMALLEST_EXPONENT);
    if below > 0 && !(&magnitude - (BigInt::from(digits) << below)).is_zero() {
        digits |= 1;
    }
    let float = libm::scalbn(digits as f64, exponent);
    if units.is_negative() { -float } else { float }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(numbers: &[Number]) -> Number {
        let mut sum = ExactSum::default();
        numbers.iter().for_each(|number| sum.add(number, 1));
        sum.value()
    }

    #[test]
    fn a_float_is_the_sum_of_itself() {
        let floats = [0.1, -2.5, 1e300, f64::MAX, f64::MIN_POSITIVE, 5e-324, 1.5e-310, -0.1, 3.0, f64::INFINITY];
        for float in floats {
            assert_eq!(sum(&[Number::Float(float)]), Number::Float(float));
        }
    }

    #[test]
    fn what_is_taken_away_leaves_what_there_was() {
        let mut running = ExactSum::default();
        let floats = [0.1, 1e16, -3.25, 1e-300, 7e100];
        floats.iter().for_each(|&float| running.add(&Number::Float(float), 2));
        running.add(&Number::Int(i64::MAX), 3);
        floats[1..].iter().for_each(|&float| running.add(&Number::Float(float), -2));
        running.add(&Number::Int(i64::MAX), -3);
        assert_eq!(running.value(), sum(&[Number::Float(0.1), Number::Float(0.1)]));
        running.add(&Number::Float(0.1), -2);
        running.add(&Number::Int(5), 1);
        assert!(matches!(running.value(), Number::Int(5)));
    }

    #[test]
    fn a_sum_is_rounded_once() {
        // Added one after the other these come to 1e16.
        let numbers = [Number::Float(1e16), Number::Float(1.0), Number::Float(1.0)];
        assert_eq!(sum(&numbers), Number::Float(1e16 + 2.0));
        let halves = [Number::Float(9_007_199_254_740_992.0), Number::Float(1.0)];
        assert_eq!(sum(&halves), Number::Float(9_007_199_254_740_992.0));
        let more = [Number::Float(9_007_199_254_740_992.0), Number::Float(1.0), Number::Float(1e-200)];
        assert_eq!(sum(&more), Number::Float(9_007_199_254_740_994.0));
        assert_eq!(sum(&[Number::Float(f64::MAX), Number::Float(f64::MAX)]), Number::Float(f64::INFINITY));
    }
}
