//! The description of an image: a list of numbers that says which of its sections is what.

use crate::columns::ImageError;

/// Numbers that are taken one after the other.
pub(crate) struct Words<'a>(std::slice::Iter<'a, u64>);

impl<'a> Words<'a> {
    /// A description says something that cannot be.
    pub(crate) const IMPOSSIBLE: ImageError =
        ImageError::Damaged { reason: "its description says something impossible" };

    pub(crate) fn new(words: &'a [u64]) -> Self {
        Self(words.iter())
    }

    pub(crate) fn next(&mut self) -> Result<u64, ImageError> {
        self.0.next().copied().ok_or(Self::IMPOSSIBLE)
    }

    /// The next number, which has 32 bits.
    pub(crate) fn small(&mut self) -> Result<u32, ImageError> {
        u32::try_from(self.next()?).map_err(|_| Self::IMPOSSIBLE)
    }

    /// Nothing, or the number one less than what is written.
    pub(crate) fn option(&mut self) -> Result<Option<u64>, ImageError> {
        Ok(self.next()?.checked_sub(1))
    }
}

/// How nothing, or a number, is written.
pub(crate) fn option_word(number: Option<u64>) -> u64 {
    number.map_or(0, |number| number + 1)
}
