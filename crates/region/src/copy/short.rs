//! The walk of a copy over what it has made, as long as that is short expressions: the loop where a copy spends its time.
//!
//! It does what [`Copying`](super::Copying) does child by child, in the case that most children are: an expression of at most
//! three children that was copied already, is shared, or fits where the lane of the copy stands. It keeps what it looks at in
//! local variables. It ends where anything else is needed: another chunk, or a step for a child of another kind or for
//! what is longer. The caller does that, and calls it again.

use crate::forwarding::ForwardingEntry;
use crate::heap::NOTE_BITS;
use crate::reference::{Ref, TAG_BITS, tag};

/// The bits of the header of an expression that are not zero if it has more than three children, or is something else.
const MORE: u32 = !((0xffff << TAG_BITS) | (3 << (NOTE_BITS + TAG_BITS)));
/// What begins with a header has one cell if this bit is not set, and two if it is, unless a higher one is set.
const TWO: u32 = 2 << (NOTE_BITS + TAG_BITS);

/// What a walk ended at.
#[derive(Clone, Copy, Debug)]
pub enum Stop {
    /// The end of what there was to walk over.
    End,
    /// What is not a short expression.
    Long,
    /// A child that takes more than a step: word `word` of its expression, which has `words` words.
    Child { word: usize, words: usize },
}

/// Where a walk reads what it copies, if that is not where it writes.
pub(crate) trait SourceCells {
    /// The cells to read, given those to write.
    fn cells<'a>(&'a self, target: &'a [[Ref; 2]]) -> &'a [[Ref; 2]];

    /// Whether a cell is to be copied.
    fn holds(&self, cell: u32) -> bool;
}

/// A walk.
pub(crate) struct Walk<'w, S> {
    pub(crate) source: S,
    /// The cells of the heap where the copy is made.
    pub(crate) cells: &'w mut [[Ref; 2]],
    /// Where cells went.
    pub(crate) entries: &'w mut [ForwardingEntry],
    /// The stamp of the entries that count.
    pub(crate) stamp: u32,
    /// Where the lane of the copy stands, and where its last chunk ends.
    pub(crate) cursor: u32,
    pub(crate) room: u32,
    /// The next expression.
    pub(crate) at: u32,
}

impl<S: SourceCells> Walk<'_, S> {
    /// Goes on from an expression up to a cell, or until it has to stop before. After [`Stop::Child`] it stands after the
    /// expression.
    ///
    /// Whether this is where the lane ends is asked after an expression only: where a chunk begins, the chunk before it in
    /// memory ends, and that may be the last one of the lane.
    #[inline(always)]
    pub(crate) fn go(&mut self, end: u32) -> Stop {
        // Of two cells that begin before the end, the second lies here.
        let visible = (end as usize + 1).min(self.cells.len());
        if self.room as usize > self.cells.len() {
            return Stop::Long;
        }
        loop {
            let at = self.at as usize;
            let Some(&[[header, one], [two, three]]) =
                self.cells[..visible].get(at..at + 2).and_then(<[_]>::first_chunk)
            else {
                return if self.at < end { Stop::Long } else { Stop::End };
            };
            if header.bits() & MORE != 0 {
                return Stop::Long;
            }
            let has_two = header.bits() & TWO != 0;
            self.at += if has_two { 2 } else { 1 };
            if !self.child(at, 1, one) {
                return Stop::Child { word: 1, words: if has_two { 4 } else { 2 } };
            }
            if has_two {
                if !self.child(at + 1, 0, two) {
                    return Stop::Child { word: 2, words: 4 };
                }
                if !self.child(at + 1, 1, three) {
                    return Stop::Child { word: 3, words: 4 };
                }
            }
            if self.at == self.cursor {
                return Stop::End;
            }
        }
    }

    /// Replaces a child by the reference that the copy has in its place; or does not, and says so.
    #[inline(always)]
    fn child(&mut self, cell: usize, half: usize, child: Ref) -> bool {
        if child.tag() < tag::IMMEDIATE_3 {
            return true;
        }
        if !child.is_expression() {
            return false;
        }
        let from = child.payload() as usize;
        let Some(&entry) = self.entries.get(from) else { return false };
        let to = if entry.stamp == self.stamp {
            entry.to
        } else {
            if !self.source.holds(child.payload()) {
                return true;
            }
            let Some(to) = self.take(from) else { return false };
            to
        };
        self.cells[cell][half] = Ref::new(child.tag(), to);
        true
    }

    /// Copies an expression of one or two cells, if the lane has room for it.
    #[inline(always)]
    fn take(&mut self, from: usize) -> Option<u32> {
        let &both = self.source.cells(self.cells).get(from..from + 2)?.first_chunk::<2>()?;
        let (header, at) = (both[0][0].bits(), self.cursor);
        let free = &mut self.cells[..self.room as usize];
        if header >= 2 * TWO {
            return None;
        }
        if header & TWO != 0 {
            *free.get_mut(at as usize..at as usize + 2)?.first_chunk_mut()? = both;
            self.cursor = at + 2;
        } else {
            *free.get_mut(at as usize)? = both[0];
            self.cursor = at + 1;
        }
        self.entries[from] = ForwardingEntry { to: at, stamp: self.stamp };
        Some(at)
    }
}
