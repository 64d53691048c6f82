//! Numbers as the bytes of a page.
//!
//! A page is bytes, with the lowest byte of a number first. What they are is kept beside them as `metadata` in the form that `metroon.pages` of Python
//! has, `{"dtype": "<f8", "shape": [3]}`, so that each reads what the other one wrote. A page without it, and one with another type,
//! such as a structure, consists of bytes: `u1`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the numbers of a page are like: whole numbers with a sign, whole numbers without, or floating-point numbers, and how many bytes each
/// has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PageKind {
    /// Whole numbers of a byte, with a sign.
    I1,
    /// Whole numbers of two bytes, with a sign.
    I2,
    /// Whole numbers of four bytes, with a sign.
    I4,
    /// Whole numbers of eight bytes, with a sign.
    I8,
    /// Whole numbers of a byte, without a sign: plain bytes.
    U1,
    /// Whole numbers of two bytes, without a sign.
    U2,
    /// Whole numbers of four bytes, without a sign.
    U4,
    /// Whole numbers of eight bytes, without a sign.
    U8,
    /// Floating-point numbers of four bytes.
    F4,
    /// Floating-point numbers of eight bytes.
    F8,
}

impl PageKind {
    /// All of them.
    pub const ALL: [Self; 10] =
        [Self::I1, Self::I2, Self::I4, Self::I8, Self::U1, Self::U2, Self::U4, Self::U8, Self::F4, Self::F8];

    /// Its name: `f8`.
    pub fn name(self) -> &'static str {
        match self {
            Self::I1 => "i1",
            Self::I2 => "i2",
            Self::I4 => "i4",
            Self::I8 => "i8",
            Self::U1 => "u1",
            Self::U2 => "u2",
            Self::U4 => "u4",
            Self::U8 => "u8",
            Self::F4 => "f4",
            Self::F8 => "f8",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// How many bytes a number has.
    pub fn width(self) -> usize {
        match self {
            Self::I1 | Self::U1 => 1,
            Self::I2 | Self::U2 => 2,
            Self::I4 | Self::U4 | Self::F4 => 4,
            Self::I8 | Self::U8 | Self::F8 => 8,
        }
    }

    fn is_float(self) -> bool {
        matches!(self, Self::F4 | Self::F8)
    }

    fn is_signed(self) -> bool {
        matches!(self, Self::I1 | Self::I2 | Self::I4 | Self::I8)
    }

    /// What is kept with a page of `count` such numbers.
    pub fn metadata(self, count: u64) -> Vec<u8> {
        let order = if self.width() == 1 { '|' } else { '<' };
        format!("{{\"dtype\": \"{order}{}\", \"shape\": [{count}]}}", self.name()).into_bytes()
    }

    /// The bytes of a number, with the lowest first. A floating-point number is rounded to the nearest of `f4`.
    ///
    /// # Errors
    /// Why there are none: it is too large, or not whole.
    pub fn bytes(self, number: PageNumber) -> Result<Vec<u8>, String> {
        let refused = || format!("{number} is not a number of {}", self.name());
        if self.is_float() {
            let float = number
                .float()
                .ok_or_else(|| format!("{number} is not a floating-point number; write one next to it"))?;
            if self == Self::F8 {
                return Ok(float.to_le_bytes().to_vec());
            }
            #[expect(clippy::cast_possible_truncation, reason = "it is rounded, and one that is too large is refused")]
            let short = float as f32;
            return if short.is_infinite() && float.is_finite() {
                Err(refused())
            } else {
                Ok(short.to_le_bytes().to_vec())
            };
        }
        let PageNumber::Int(whole) = number else { return Err(refused()) };
        let bits = 8 * self.width() as u32;
        let (least, end) =
            if self.is_signed() { (-(1_i128 << (bits - 1)), 1_i128 << (bits - 1)) } else { (0, 1 << bits) };
        if !(least..end).contains(&whole) {
            return Err(format!("{whole} is not a number of {}: these go from {least} to {}", self.name(), end - 1));
        }
        Ok(whole.to_le_bytes()[..self.width()].to_vec())
    }

    /// The number of these bytes, [`PageKind::width`] of them.
    fn number(self, bytes: &[u8]) -> PageNumber {
        let filled = |fill: u8| {
            let mut all = [fill; 16];
            all[..bytes.len()].copy_from_slice(bytes);
            all
        };
        if self.is_float() {
            let [low @ .., _, _, _, _, _, _, _, _] = filled(0);
            let bits = u64::from_le_bytes(low);
            #[expect(clippy::cast_possible_truncation, reason = "there are four bytes")]
            let float = if self == Self::F4 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) };
            return PageNumber::from(float);
        }
        let is_negative = self.is_signed() && bytes.last().is_some_and(|last| last & 0x80 != 0);
        PageNumber::Int(i128::from_le_bytes(filled(if is_negative { 0xff } else { 0 })))
    }
}

/// A number that goes to a page or comes from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PageNumber {
    /// A whole number.
    Int(i128),
    /// A floating-point number: its bits.
    Float(u64),
}

impl From<f64> for PageNumber {
    fn from(float: f64) -> Self {
        Self::Float(float.to_bits())
    }
}

impl PageNumber {
    /// As a floating-point number; none if there is none that equals it.
    fn float(self) -> Option<f64> {
        match self {
            Self::Float(bits) => Some(f64::from_bits(bits)),
            Self::Int(whole) => {
                let float = whole as f64;
                #[expect(clippy::cast_possible_truncation, reason = "it is compared")]
                let back = float as i128;
                (back == whole).then_some(float)
            }
        }
    }
}

impl std::fmt::Display for PageNumber {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(whole) => write!(formatter, "{whole}"),
            Self::Float(bits) => write!(formatter, "{:?}", f64::from_bits(*bits)),
        }
    }
}

/// Numbers of a page, as it has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageNumbers {
    /// What they are like.
    pub kind: PageKind,
    /// Their bytes.
    pub bytes: Vec<u8>,
}

impl PageNumbers {
    /// One after the other.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = PageNumber> {
        self.bytes.chunks_exact(self.kind.width()).map(|bytes| self.kind.number(bytes))
    }
}

/// What a page holds: numbers of a kind, in one direction or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageType {
    /// The kind.
    pub kind: PageKind,
    /// How many in each direction; the last one changes fastest.
    pub shape: Vec<u64>,
}

/// The part of what is kept with a page that says what its bytes are.
#[derive(Deserialize)]
struct Kept {
    dtype: Value,
    shape: Vec<u64>,
}

impl PageType {
    /// What a page of `length` bytes holds, by what is kept with it.
    pub fn of(metadata: &[u8], length: usize) -> Self {
        let said = || {
            let Kept { dtype, shape } = serde_json::from_slice(metadata).ok()?;
            let kind = PageKind::named(dtype.as_str()?.strip_prefix(['<', '|'])?)?;
            let count = shape.iter().try_fold(1_u64, |product, &more| product.checked_mul(more))?;
            let is_whole = count.checked_mul(kind.width() as u64) == Some(length as u64);
            is_whole.then_some(Self { kind, shape })
        };
        said().unwrap_or_else(|| Self { kind: PageKind::U1, shape: vec![length as u64] })
    }

    /// How many numbers there are.
    pub fn count(&self) -> u64 {
        self.shape.iter().product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_comes_back_or_is_refused() {
        let wholes = (0..64).flat_map(|bit| [-1, 0, 1].map(|near| (1_i128 << bit) + near)).flat_map(|one| [one, -one]);
        for (kind, whole) in PageKind::ALL.into_iter().flat_map(|kind| wholes.clone().map(move |whole| (kind, whole))) {
            let Ok(bytes) = kind.bytes(PageNumber::Int(whole)) else { continue };
            assert_eq!(bytes.len(), kind.width());
            let back = PageNumbers { kind, bytes }.iter().next().expect("there is one");
            let equal =
                if kind.is_float() { back.float() == Some(whole as f64) } else { back == PageNumber::Int(whole) };
            assert!(equal || kind == PageKind::F4, "{kind:?} {whole} {back}");
        }
        let taken =
            |kind: PageKind| [-129, -128, 127, 128, 255, 256].map(|whole| kind.bytes(PageNumber::Int(whole)).is_ok());
        assert_eq!(taken(PageKind::I1), [false, true, true, false, false, false]);
        assert_eq!(taken(PageKind::U1), [false, false, true, true, true, false]);
        assert!(PageKind::F8.bytes(PageNumber::Int((1 << 53) + 1)).is_err());
        assert!(PageKind::I8.bytes(2.0.into()).is_err());
        assert!(PageKind::F4.bytes(1e300.into()).is_err());
        assert_eq!(PageKind::F4.bytes(f64::INFINITY.into()), Ok(f32::INFINITY.to_le_bytes().to_vec()));
    }

    #[test]
    fn what_is_kept_says_what_a_page_holds() {
        let of = |kept: &str, length| {
            let PageType { kind, shape } = PageType::of(kept.as_bytes(), length);
            (kind, shape)
        };
        assert_eq!(of("{\"dtype\": \"<f8\", \"shape\": [2, 3]}", 48), (PageKind::F8, vec![2, 3]));
        assert_eq!(of(&String::from_utf8(PageKind::U1.metadata(7)).expect("it is text"), 7), (PageKind::U1, vec![7]));
        assert_eq!(of("{\"dtype\": \"<f8\", \"shape\": [2, 3]}", 47), (PageKind::U1, vec![47]));
        assert_eq!(of("{\"dtype\": [[\"a\", \"<i4\"]], \"shape\": [1]}", 4), (PageKind::U1, vec![4]));
        assert_eq!(of("{\"dtype\": \">i4\", \"shape\": [1]}", 4), (PageKind::U1, vec![4]));
        assert_eq!(of("", 3), (PageKind::U1, vec![3]));
    }
}
