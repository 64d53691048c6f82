//! Joining a region to another one of its heap.
//!
//! 1. Each lane's list of chunks is linked after the last chunk of the other region's lane, which goes on where the first
//!    one stood. What was free in that last chunk stays unused: half a chunk a lane on average.
//! 2. The first chunk that was joined records where it lies now, see [`crate::chunks`]. No other chunk is touched.
//!
//! Cost: O(1), whatever the regions hold and however their chunks lie among others'. No reference changes.

use std::error::Error;
use std::fmt;

use crate::heap::Heap;
use crate::layout::LaneKind;
use crate::limit::Full;
use crate::region::{Lane, Region};

/// What was to go to another region did not, because a limit was reached: the region is given back as it was.
#[derive(Debug)]
#[must_use = "the region in it is given back by `Heap::close`"]
pub struct StillOpen {
    /// The limit.
    pub full: Full,
    /// The region that was to be closed, still open.
    pub region: Region,
}

impl fmt::Display for StillOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the region stays open, since there is no room for what leaves it: {}", self.full)
    }
}

impl Error for StillOpen {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.full)
    }
}

impl Heap {
    /// Closes a region and gives all that it holds, garbage included, to another region of this heap. References stay as they
    /// are. O(1), whatever the regions hold; takes no memory.
    ///
    /// Marks of the other region stay good: to rewind to one of them gives back what was joined since as well. Marks of the
    /// closed region mean nothing from now on, and its limit is forgotten.
    ///
    /// [`StillOpen`] only if the other region has a [limit](Region::set_limit) and would hold more than that.
    ///
    /// ```
    /// use region::{Heap, Ref, tag};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut heap = Heap::new();
    /// let mut results = heap.open();
    /// let mut evaluation = heap.open();
    /// let made = heap.expression(&mut evaluation, &[Ref::new(tag::IMMEDIATE_0, 1)])?;
    /// heap.splice(evaluation, &mut results)?;
    /// assert_eq!(heap.length(made), 1);
    /// # heap.close(results);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A region that is closed as its result leaves was the RC-G runtime's idea; there, it worked for regions of one chunk.
    pub fn splice(&mut self, mut from: Region, to: &mut Region) -> Result<(), StillOpen> {
        if to.expressions.quota != u32::MAX {
            LaneKind::ALL.into_iter().for_each(|kind| self.chunks.give_ahead(from.lane_mut(kind)));
            if let Err(full) = self.chunks.admit(to, self.chunks.of_region(&from)) {
                return Err(StillOpen { full, region: from });
            }
        }
        self.counts.splices += 1;
        self.join(from, to);
        Ok(())
    }

    pub(crate) fn join(&mut self, from: Region, to: &mut Region) {
        self.join_lane(&from.expressions, &mut to.expressions);
        self.join_lane(&from.variables, &mut to.variables);
        self.join_lane(&from.numbers, &mut to.numbers);
    }

    #[inline]
    fn join_lane(&mut self, from: &Lane, to: &mut Lane) {
        if !from.is_empty() {
            self.chunks.give_ahead(to);
            self.chunks.leave_unused(u64::from(to.room()));
            self.chunks.join(from, to);
        }
    }
}
