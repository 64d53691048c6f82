//! What keys look like.

use crate::limits::WIDTH_MAX;
use std::fmt;

/// What the keys of a keyspace look like. Keys are compared as bytes, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyShape {
    /// All keys have this many bytes, 1 to [`WIDTH_MAX`]. The fast path.
    Fixed(u16),
    /// Keys are any bytes, up to [`KEY_BYTES_MAX`](crate::KEY_BYTES_MAX) of them.
    Bytes,
}

impl fmt::Display for KeyShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(width) => write!(f, "keys of {width} bytes"),
            Self::Bytes => f.write_str("keys of any bytes"),
        }
    }
}

impl KeyShape {
    /// How many bytes every key has, if it is always the same.
    pub fn width(self) -> Option<usize> {
        match self {
            Self::Fixed(width) => Some(usize::from(width)),
            Self::Bytes => None,
        }
    }

    /// The number that stands for it in files: the width, or 0.
    pub(crate) fn code(self) -> u32 {
        self.width().unwrap_or(0) as u32
    }

    /// The shape of a number in a file.
    pub(crate) fn from_code(code: u32) -> Option<Self> {
        match code {
            0 => Some(Self::Bytes),
            width if width as usize <= WIDTH_MAX => Some(Self::Fixed(width as u16)),
            _ => None,
        }
    }
}
