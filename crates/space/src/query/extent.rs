//! How far partial answers are extended at a time, and where that goes on.

use std::ops::Range;

/// Which row is looked at next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NextRow {
    /// The partial answer that it is listed for.
    pub(super) answer: usize,
    /// How many of the rows that are listed for that one were looked at.
    pub(super) passed: usize,
}

/// How far partial answers are extended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) next: NextRow,
    /// How many are made, or rows for one of them looked at, before the others wait.
    pub(super) part: usize,
}

/// Some of the rows that are listed for a partial answer, in their order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// How many are left out at the beginning.
    skipped: usize,
    /// How many are taken then.
    taken: usize,
    /// Whether there were more.
    has_more: bool,
}

impl Window {
    /// Moves on by `rows` rows; gives which of them are within.
    #[inline]
    pub(super) fn pass(&mut self, rows: usize) -> Range<usize> {
        let skipped = self.skipped.min(rows);
        let taken = self.taken.min(rows - skipped);
        self.has_more |= taken < rows - skipped;
        (self.skipped, self.taken) = (self.skipped - skipped, self.taken - taken);
        skipped..skipped + taken
    }
}

impl Extent {
    /// From the first row to the last.
    pub(super) fn whole() -> Self {
        Self { next: NextRow::default(), part: usize::MAX }
    }

    /// The rows of an answer that are looked at. Those of one answer are listed again each time, so there are as many as were passed
    /// before at least.
    #[inline]
    pub(super) fn window(&self) -> Window {
        Window { skipped: self.next.passed, taken: self.part.max(self.next.passed), has_more: false }
    }

    /// Moves on behind the rows of a window; says whether the others wait, given how many partial answers were made.
    #[inline]
    pub(super) fn pass(&mut self, window: Window, made: usize) -> bool {
        if window.has_more {
            self.next.passed += self.part.max(self.next.passed);
            return true;
        }
        self.next = NextRow { answer: self.next.answer + 1, passed: 0 };
        made >= self.part
    }
}
