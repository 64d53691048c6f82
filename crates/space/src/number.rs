//! Numbers: exact integers of any size, and floating point.
//!
//! Integers are machine words while they fit and big integers when they do not: no operation wraps, and a result
//! that fits a word is one again, so each integer has one representation. A result of more than [`INTEGER_BITS_MAX`]
//! bits is an error, found before it is computed. An operation with one float is done in floats. Comparison is exact:
//! no integer is rounded to be compared.

use num_bigint::BigInt;
use num_traits::{FromPrimitive, ToPrimitive};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The longest integer, in bits. To print one this long takes half a second, to read it from a source two seconds;
/// both times grow with the square of the length.
pub const INTEGER_BITS_MAX: u64 = 1 << 22;

/// The longest integer that is read from digits. As many digits always fit [`INTEGER_BITS_MAX`] bits.
pub const INTEGER_DIGITS_MAX: usize = 1_262_611;

/// Why an operation on numbers has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArithmeticError {
    /// An integer divided by integer zero.
    DivisionByZero,
    /// An integer of more than [`INTEGER_BITS_MAX`] bits.
    IntegerTooLarge,
}

impl fmt::Display for ArithmeticError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DivisionByZero => formatter.write_str("an integer is divided by zero"),
            Self::IntegerTooLarge => write!(formatter, "an integer has more than {INTEGER_BITS_MAX} bits"),
        }
    }
}

impl std::error::Error for ArithmeticError {}

/// A number. Equality is by value: `1` equals `1.0`; a NaN equals only itself.
#[derive(Clone, Debug)]
pub enum Number {
    /// An integer that fits a machine word.
    Int(i64),
    /// An integer that does not.
    Big(Arc<BigInt>),
    /// A floating-point number.
    Float(f64),
}

impl Number {
    /// The integer, as a word if it fits.
    pub fn from_big(value: BigInt) -> Self {
        match value.to_i64() {
            Some(word) => Self::Int(word),
            None => Self::Big(Arc::new(value)),
        }
    }

    /// Reads at most [`INTEGER_DIGITS_MAX`] decimal digits with an optional sign.
    pub fn parse_integer(digits: &str) -> Option<Self> {
        if let Ok(word) = digits.parse() {
            return Some(Self::Int(word));
        }
        let unsigned = digits.strip_prefix(['-', '+']).unwrap_or(digits);
        let is_number =
            (1..=INTEGER_DIGITS_MAX).contains(&unsigned.len()) && unsigned.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { BigInt::parse_bytes(digits.as_bytes(), 10).map(Self::from_big) } else { None }
    }

    /// The nearest float.
    pub fn to_f64(&self) -> f64 {
        match self {
            Self::Int(word) => *word as f64,
            Self::Big(big) => big.to_f64().unwrap_or(f64::NAN),
            Self::Float(float) => *float,
        }
    }

    /// The integer as a big one; `None` for a float.
    pub fn to_big(&self) -> Option<BigInt> {
        match self {
            Self::Int(word) => Some(BigInt::from(*word)),
            Self::Big(big) => Some((**big).clone()),
            Self::Float(_) => None,
        }
    }

    /// Whether this is a float.
    pub fn is_float(&self) -> bool {
        matches!(self, Self::Float(_))
    }

    /// The number that stands for all its equals: an integer where there is one.
    pub fn normalized(&self) -> Self {
        match self {
            Self::Float(float) if float.is_finite() && float.fract() == 0.0 => {
                BigInt::from_f64(*float).map_or_else(|| self.clone(), Self::from_big)
            }
            _ => self.clone(),
        }
    }

    fn combine(
        &self,
        other: &Self,
        words: fn(i64, i64) -> Option<i64>,
        bits: fn(u64, u64) -> u64,
        bigs: fn(BigInt, BigInt) -> BigInt,
        floats: fn(f64, f64) -> f64,
    ) -> Result<Self, ArithmeticError> {
        if let (Self::Int(left), Self::Int(right)) = (self, other)
            && let Some(result) = words(*left, *right)
        {
            return Ok(Self::Int(result));
        }
        let (Some(left), Some(right)) = (self.to_big(), other.to_big()) else {
            return Ok(Self::Float(floats(self.to_f64(), other.to_f64())));
        };
        if bits(left.bits(), right.bits()) > INTEGER_BITS_MAX {
            return Err(ArithmeticError::IntegerTooLarge);
        }
        let result = bigs(left, right);
        if result.bits() > INTEGER_BITS_MAX {
            Err(ArithmeticError::IntegerTooLarge)
        } else {
            Ok(Self::from_big(result))
        }
    }

    /// Sum.
    ///
    /// # Errors
    /// When it is an integer that is too large.
    pub fn add(&self, other: &Self) -> Result<Self, ArithmeticError> {
        self.combine(other, i64::checked_add, |_, _| 0, |a, b| a + b, |a, b| a + b)
    }

    /// Difference.
    ///
    /// # Errors
    /// When it is an integer that is too large.
    pub fn subtract(&self, other: &Self) -> Result<Self, ArithmeticError> {
        self.combine(other, i64::checked_sub, |_, _| 0, |a, b| a - b, |a, b| a - b)
    }

    /// Product.
    ///
    /// # Errors
    /// When it is an integer that is too large.
    pub fn multiply(&self, other: &Self) -> Result<Self, ArithmeticError> {
        // A product has as many bits as its factors together, or one less, or is zero.
        let bits = |a: u64, b: u64| (a + b).saturating_sub(1);
        self.combine(other, i64::checked_mul, bits, |a, b| a * b, |a, b| a * b)
    }

    /// Quotient, of integers rounded toward zero.
    ///
    /// # Errors
    /// When an integer is divided by integer zero.
    pub fn divide(&self, other: &Self) -> Result<Self, ArithmeticError> {
        self.check_divisor(other)?;
        self.combine(other, i64::checked_div, |_, _| 0, |a, b| a / b, |a, b| a / b)
    }

    /// Remainder with the sign of the dividend.
    ///
    /// # Errors
    /// When an integer is divided by integer zero.
    pub fn remainder(&self, other: &Self) -> Result<Self, ArithmeticError> {
        self.check_divisor(other)?;
        self.combine(other, i64::checked_rem, |_, _| 0, |a, b| a % b, |a, b| a % b)
    }

    fn check_divisor(&self, divisor: &Self) -> Result<(), ArithmeticError> {
        let is_zero = !self.is_float() && matches!(divisor, Self::Int(0));
        if is_zero { Err(ArithmeticError::DivisionByZero) } else { Ok(()) }
    }

    /// Exact comparison; `None` when one of them is NaN.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => Some(left.cmp(right)),
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(right),
            (Self::Float(left), _) => compare_float(*left, other),
            (_, Self::Float(right)) => compare_float(*right, self).map(Ordering::reverse),
            _ => Some(self.to_big()?.cmp(&other.to_big()?)),
        }
    }
}

/// Compares a float with an integer without rounding either.
fn compare_float(float: f64, integer: &Number) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    if float.is_infinite() {
        return float.partial_cmp(&0.0);
    }
    let whole = BigInt::from_f64(float.trunc())?;
    let fraction = float.fract().partial_cmp(&0.0)?;
    Some(whole.cmp(&integer.to_big()?).then(fraction))
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Float(left), Self::Float(right)) if left.is_nan() => left.to_bits() == right.to_bits(),
            _ => self.compare(other) == Some(Ordering::Equal),
        }
    }
}

impl Eq for Number {}

impl Hash for Number {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        match self.normalized() {
            Self::Int(word) => word.hash(hasher),
            Self::Big(big) => big.hash(hasher),
            Self::Float(float) => float.to_bits().hash(hasher),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(word) => write!(formatter, "{word}"),
            Self::Big(big) => write!(formatter, "{big}"),
            Self::Float(float) => write!(formatter, "{float:?}"),
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<usize> for Number {
    fn from(value: usize) -> Self {
        Self::from_big(BigInt::from(value))
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}
