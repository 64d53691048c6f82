//! A span: the place of something in a text, as byte offsets.

/// A half-open range of byte offsets in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The offset of the first byte.
    pub start: u32,
    /// The offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The span from `start` up to `end`; offsets past 32 bits become the largest one.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: saturate(start), end: saturate(end) }
    }

    /// The part of `text` that the span covers; empty if the span is not one of this text.
    pub fn slice(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// An offset in 32 bits; the largest one for all past it.
pub(super) fn saturate(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}
