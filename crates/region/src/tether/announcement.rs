//! Announcements: how a reader keeps a region without a read-modify-write.
//!
//! A reader has a slot of its own, which only it writes and everybody may look at. It holds what is being read, or was read
//! last, or zero.
//!
//! 1. To start, the reader *announces* what it wants to read, and only then looks whether it is still open. If not, it
//!    withdraws. If that is announced already it only looks: what is announced is kept.
//! 2. The party that destroys has closed the word before, and only then looks at all announcements. If one names what it is about
//!    to destroy, it puts that off.
//! 3. A reader that ends leaves its announcement standing, until it announces something else or rests.
//!
//! Between the two steps of each party lies a sequentially consistent fence, and one of the two fences comes first. If it is
//! the reader's, the other party sees the announcement. Otherwise the reader sees that the word is closed. Both may be the
//! case, never neither.
//!
//! The idea is that of hazard pointers (M. M. Michael, *Hazard pointers: safe memory reclamation for lock-free objects*,
//! 2004), with a closed bit in place of the pointer that is read again.
//!
//! Cost: two loads to start what was read last, a store, a fence and a load to start something else, nothing to end. No more
//! regions are put off than there are readers, since each announces one.
//!
//! This file is compiled a second time by the tests, with loom's atomic numbers.

use super::sync::{AtomicU64, Ordering, fence};
use super::word::{Refused, Word};

/// The slot of a reader.
#[derive(Debug)]
pub(crate) struct Announcement(AtomicU64);

impl Announcement {
    /// What no region is called.
    pub(crate) const NOTHING: u64 = 0;

    pub(crate) fn new() -> Announcement {
        Announcement(AtomicU64::new(Announcement::NOTHING))
    }

    /// Announces a region by a number that no other one has, and looks whether it is open. For the owner of the slot, which
    /// reads nothing else at the time.
    #[inline]
    pub(crate) fn start(&self, name: u64, word: &Word, of: u32) -> Result<(), Refused> {
        debug_assert!(name != Announcement::NOTHING);
        if self.0.load(Ordering::Relaxed) != name {
            // Release: what this reader read until now was read before another party destroys it.
            self.0.store(name, Ordering::Release);
            fence(Ordering::SeqCst);
        }
        let open = word.check(of);
        if open.is_err() {
            self.rest();
        }
        open
    }

    /// Withdraws what was announced, if anything was. For the owner of the slot, which reads nothing at the time.
    pub(crate) fn rest(&self) {
        // Release: as above.
        self.0.store(Announcement::NOTHING, Ordering::Release);
    }

    /// What this reader may be reading. For a caller of [`look`] since the region in question was closed.
    pub(crate) fn name(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// Comes between closing a region and looking at announcements.
pub(crate) fn look() {
    fence(Ordering::SeqCst);
}
