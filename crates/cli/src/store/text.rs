//! Keys as people write them.

use crate::journal::escaped;
use clap::ValueEnum;
use std::fmt::Write as _;
use store::{KeyShape, signed_key, signed_number};

/// How keys are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyForm {
    /// Their bytes are text.
    Text,
    /// Eight bytes that sort as a number with a sign.
    Number,
    /// Two digits for each byte.
    Hex,
}

impl KeyForm {
    /// What a new keyspace of such keys is like.
    pub(super) fn shape(self) -> KeyShape {
        match self {
            Self::Number => KeyShape::Fixed(8),
            Self::Text | Self::Hex => KeyShape::Bytes,
        }
    }

    /// The bytes of a key; an error says what is expected.
    pub(super) fn read(self, text: &[u8]) -> Result<Vec<u8>, String> {
        let shown = || String::from_utf8_lossy(text).into_owned();
        match self {
            Self::Text => Ok(text.to_vec()),
            Self::Number => {
                let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
                let number: i64 = number.ok_or_else(|| format!("`{}` is not a whole number of 64 bits", shown()))?;
                Ok(signed_key(number).to_vec())
            }
            Self::Hex => bytes_of(text).ok_or_else(|| format!("`{}` is not pairs of hexadecimal digits", shown())),
        }
    }

    /// A key as it is written.
    pub(super) fn show(self, key: &[u8]) -> String {
        match (self, key.try_into()) {
            (Self::Number, Ok(key)) => signed_number(key).to_string(),
            (Self::Text, _) => escaped(key),
            _ => key.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            }),
        }
    }
}

fn bytes_of(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, rest) = digits.as_chunks::<2>();
    let byte = |pair: &[u8; 2]| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8);
    if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
}
