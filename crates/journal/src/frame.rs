//! A frame, and where it lies.

use crate::format::Mark;

/// Where a frame lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Place {
    /// The frame's number, counted from 0.
    pub number: u64,
    /// The number of the first frame of its segment.
    pub segment: u64,
    /// Where it begins, in bytes from the beginning of the segment.
    pub offset: u64,
}

impl Place {
    /// The place that was noted elsewhere. Whether a frame begins there is found out by whoever looks.
    pub fn new(number: u64, segment: u64, offset: u64) -> Self {
        Self { number, segment, offset }
    }

    pub(crate) fn of(mark: &Mark) -> Self {
        Self { number: mark.frames, segment: mark.segment, offset: mark.offset }
    }
}

/// A frame as it was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame<'a> {
    /// Where it lies.
    pub place: Place,
    /// What was appended.
    pub payload: &'a [u8],
}
