//! Numbers against arbitrary-precision arithmetic: nothing wraps, and nothing is rounded to be compared.

use crate::generated::config;
use crate::tree::units;
use num_bigint::BigInt;
use proptest::prelude::*;
use space::{ArithmeticError, INTEGER_BITS_MAX, INTEGER_DIGITS_MAX, Number};
use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

fn number(value: i128) -> Number {
    Number::from_big(BigInt::from(value))
}

fn hash_of(number: &Number) -> u64 {
    let mut hasher = DefaultHasher::new();
    number.hash(&mut hasher);
    hasher.finish()
}

/// Integers near the places where representations change.
fn integer() -> impl Strategy<Value = i128> {
    let edges = vec![0_i128, 1 << 31, 1 << 53, 1 << 63, 1 << 64, 1 << 100];
    prop_oneof![
        (prop::sample::select(edges), -3_i128..=3, any::<bool>()).prop_map(|(edge, offset, negative)| if negative {
            -edge - offset
        } else {
            edge + offset
        }),
        any::<i64>().prop_map(i128::from),
        (any::<i128>(), 0_u32..127).prop_map(|(bits, shift)| bits >> shift),
    ]
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        integer().prop_map(|value| value as f64),
        integer().prop_map(|value| value as f64 + 0.5),
        any::<u64>().prop_map(f64::from_bits),
        prop::sample::select(vec![0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, f64::MAX]),
    ]
}

/// The order of an integer and a float by their exact values.
fn exact_order(integer: i128, float: f64) -> Option<Ordering> {
    match float {
        _ if float.is_nan() => None,
        _ if float.is_infinite() => 0.0.partial_cmp(&float),
        _ => {
            let in_units: BigInt = BigInt::from(integer) << 1074_u32;
            Some(in_units.cmp(&units(float)))
        }
    }
}

fn is_word(number: &Number) -> bool {
    matches!(number, Number::Int(_))
}

proptest! {
    #![proptest_config(config(4_000))]

    #[test]
    fn integer_arithmetic_is_exact(left in integer(), right in integer()) {
        let (a, b) = (BigInt::from(left), BigInt::from(right));
        let (left, right) = (number(left), number(right));
        let same = |found: Result<Number, ArithmeticError>, expected: BigInt| {
            let found = found.expect("these are not large");
            let fits = i64::try_from(&expected).is_ok();
            found.to_big() == Some(expected) && is_word(&found) == fits
        };
        prop_assert!(same(left.add(&right), &a + &b));
        prop_assert!(same(left.subtract(&right), &a - &b));
        prop_assert!(same(left.multiply(&right), &a * &b));
        if b == BigInt::ZERO {
            prop_assert_eq!(left.divide(&right), Err(ArithmeticError::DivisionByZero));
            prop_assert_eq!(left.remainder(&right), Err(ArithmeticError::DivisionByZero));
        } else {
            prop_assert!(same(left.divide(&right), &a / &b));
            prop_assert!(same(left.remainder(&right), &a % &b));
        }
    }

    #[test]
    fn division_and_remainder_belong_together(left in integer(), right in integer()) {
        let (dividend, divisor) = (number(left), number(right));
        let parts = dividend.divide(&divisor).ok().zip(dividend.remainder(&divisor).ok());
        prop_assert_eq!(parts.is_some(), right != 0);
        if let Some((quotient, rest)) = parts {
            let product = quotient.multiply(&divisor).expect("it is no larger than the dividend");
            prop_assert_eq!(product.add(&rest), Ok(dividend));
            prop_assert!(rest == Number::Int(0) || (rest.compare(&Number::Int(0)) == number(left).compare(&Number::Int(0))));
        }
    }

    #[test]
    fn arithmetic_with_a_float_is_done_in_floats(left in integer(), right in float()) {
        let (a, b) = (left as f64, right);
        let (left, right) = (number(left), Number::Float(right));
        let is = |found: Result<Number, ArithmeticError>, expected: f64| {
            let found = found.expect("a float is never too large");
            found.is_float() && (found.to_f64() == expected || (found.to_f64().is_nan() && expected.is_nan()))
        };
        prop_assert!(is(left.add(&right), a + b) && is(right.add(&left), b + a));
        prop_assert!(is(left.subtract(&right), a - b) && is(right.subtract(&left), b - a));
        prop_assert!(is(left.multiply(&right), a * b) && is(right.multiply(&left), b * a));
        prop_assert!(is(left.divide(&right), a / b));
        prop_assert!(is(left.remainder(&right), a % b));
    }

    #[test]
    fn integers_compare_exactly(left in integer(), right in integer()) {
        prop_assert_eq!(number(left).compare(&number(right)), Some(left.cmp(&right)));
        prop_assert_eq!(number(left) == number(right), left == right);
    }

    #[test]
    fn integers_and_floats_compare_by_exact_value(integer in integer(), float in float()) {
        let expected = exact_order(integer, float);
        let (integer, float) = (number(integer), Number::Float(float));
        prop_assert_eq!(integer.compare(&float), expected);
        prop_assert_eq!(float.compare(&integer), expected.map(Ordering::reverse));
        prop_assert_eq!(integer == float, expected == Some(Ordering::Equal));
    }

    #[test]
    fn equal_numbers_have_equal_hashes(integer in integer(), float in float()) {
        let (integer, float) = (number(integer), Number::Float(float));
        prop_assert!(integer != float || hash_of(&integer) == hash_of(&float));
        let normal = float.normalized();
        prop_assert_eq!(&normal, &float);
        prop_assert_eq!(hash_of(&normal), hash_of(&float));
        let near = Number::Float(integer.to_f64());
        prop_assert!(integer != near || hash_of(&integer) == hash_of(&near));
    }

    #[test]
    fn integers_become_the_nearest_float(value in integer(), more in any::<u64>()) {
        let larger = BigInt::from(value) * BigInt::from(more) * BigInt::from(more);
        let nearest = |digits: String| digits.parse::<f64>().expect("digits are a float");
        prop_assert_eq!(number(value).to_f64(), nearest(value.to_string()));
        prop_assert_eq!(Number::from_big(larger.clone()).to_f64(), nearest(larger.to_string()));
    }

    #[test]
    fn printed_integers_read_back(value in integer()) {
        let printed = number(value).to_string();
        prop_assert_eq!(&printed, &value.to_string());
        prop_assert_eq!(Number::parse_integer(&printed), Some(number(value)));
        let signed = format!("+{}", value.unsigned_abs());
        prop_assert_eq!(Number::parse_integer(&signed).map(|number| number.to_string()), Some(value.unsigned_abs().to_string()));
    }

    #[test]
    fn printed_floats_show_a_point_or_an_exponent_and_read_back(value in float()) {
        let printed = Number::Float(value).to_string();
        let read: f64 = printed.parse().expect("a printed float is a float");
        prop_assert!(read.to_bits() == value.to_bits() || (read.is_nan() && value.is_nan()));
        prop_assert!(!value.is_finite() || printed.contains(['.', 'e']), "{}", printed);
    }
}

#[test]
fn comparison_rounds_nothing_around_two_to_the_53_and_63() {
    for power in [53, 63] {
        let float = Number::Float(2_f64.powi(power));
        let exact = 1_i128 << power;
        assert_eq!(number(exact), float);
        assert_eq!(number(exact + 1).compare(&float), Some(Ordering::Greater), "2^{power} + 1");
        assert_eq!(number(exact - 1).compare(&float), Some(Ordering::Less), "2^{power} - 1");
        assert_ne!(number(exact + 1), float);
    }
}

#[test]
fn one_number_has_one_representation() {
    let last = Number::Int(i64::MAX);
    let beyond = last.add(&Number::Int(1)).expect("it is not large");
    assert!(!is_word(&beyond));
    assert!(beyond.subtract(&Number::Int(1)).is_ok_and(|found| is_word(&found)));
    let quotient = Number::Int(i64::MIN).divide(&Number::Int(-1));
    assert_eq!(quotient.map(|number| number.to_string()).as_deref(), Ok("9223372036854775808"));
    assert_eq!(Number::Int(i64::MIN).remainder(&Number::Int(-1)), Ok(Number::Int(0)));
}

#[test]
fn only_an_integer_divided_by_integer_zero_has_no_answer() {
    let (zero, one) = (Number::Int(0), Number::Int(1));
    assert_eq!(one.divide(&zero), Err(ArithmeticError::DivisionByZero));
    assert_eq!(one.remainder(&zero), Err(ArithmeticError::DivisionByZero));
    let huge = number(1 << 100);
    assert_eq!(huge.divide(&zero), Err(ArithmeticError::DivisionByZero));
    let infinite = Number::Float(f64::INFINITY);
    assert_eq!(one.divide(&Number::Float(0.0)), Ok(infinite.clone()));
    assert_eq!(Number::Float(1.0).divide(&zero), Ok(infinite));
}

#[test]
fn a_nan_equals_only_itself() {
    let nan = Number::Float(f64::NAN);
    let other = Number::Float(f64::from_bits(f64::NAN.to_bits() ^ 1));
    assert_eq!(nan, nan.clone());
    assert_ne!(nan, other);
    assert_eq!(nan.compare(&nan), None);
    assert_eq!(nan.compare(&Number::Int(0)), None);
}

#[test]
fn zero_is_one_number_with_three_forms() {
    let zeros = [Number::Int(0), Number::Float(0.0), Number::Float(-0.0)];
    for (left, right) in zeros.iter().flat_map(|left| zeros.iter().map(move |right| (left, right))) {
        assert_eq!(left, right);
        assert_eq!(hash_of(left), hash_of(right));
    }
    assert_eq!(zeros.map(|zero| zero.to_string()), ["0", "0.0", "-0.0"]);
}

#[test]
fn strange_floats_print_as_the_language_has_them() {
    let printed = |float: f64| Number::Float(float).to_string();
    assert_eq!(printed(f64::NAN), "NaN");
    assert_eq!(printed(f64::INFINITY), "inf");
    assert_eq!(printed(f64::NEG_INFINITY), "-inf");
    assert_eq!(printed(1.0), "1.0");
    assert_eq!(printed(1e20), "1e20");
    assert_eq!(printed(1e-7), "1e-7");
}

/// The integer 2^bits - 1, which has `bits` bits.
fn ones(bits: u64) -> Number {
    Number::from_big((BigInt::from(1) << bits) - 1)
}

#[test]
fn an_integer_beyond_the_limit_is_an_error() {
    let too_large = Err(ArithmeticError::IntegerTooLarge);
    let (one, two, most) = (Number::Int(1), Number::Int(2), ones(INTEGER_BITS_MAX));
    assert_eq!(most.add(&Number::Int(0)), Ok(most.clone()));
    assert_eq!(most.add(&one), too_large);
    assert_eq!(most.multiply(&two), too_large);
    assert_eq!(most.multiply(&most), too_large);
    assert_eq!(most.multiply(&Number::Int(0)), Ok(Number::Int(0)));
    assert_eq!(most.multiply(&one), Ok(most.clone()));
    assert_eq!(most.subtract(&most), Ok(Number::Int(0)));
    let least = Number::Int(0).subtract(&most).expect("the sign is no bit");
    assert_eq!(least.subtract(&one), too_large);
    let half = ones(INTEGER_BITS_MAX / 2);
    let product = half.multiply(&half).expect("it has exactly so many bits");
    assert_eq!(product.to_big().map(|big| big.bits()), Some(INTEGER_BITS_MAX));
    assert_eq!(half.multiply(&ones(INTEGER_BITS_MAX / 2 + 1)), too_large);
    let power = Number::from_big(BigInt::from(1) << (INTEGER_BITS_MAX / 2));
    assert_eq!(power.multiply(&power), too_large);
    assert!(power.multiply(&half).is_ok(), "factors of one bit more than the limit, a product within it");
    assert!(most.multiply(&Number::Float(2.0)).is_ok_and(|found| found.to_f64() == f64::INFINITY));
}

#[test]
fn as_many_digits_as_are_read_fit() {
    let nines = "9".repeat(INTEGER_DIGITS_MAX);
    let largest = Number::parse_integer(&nines).expect("so many digits are read");
    assert!(largest.to_big().is_some_and(|big| big.bits() <= INTEGER_BITS_MAX));
    assert_eq!(Number::parse_integer(&format!("{nines}9")), None);
    assert_eq!(Number::parse_integer(&format!("-{nines}")), Number::Int(0).subtract(&largest).ok());
}
