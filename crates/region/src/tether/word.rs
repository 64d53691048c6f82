//! The tether word: who may read, whether more may come, and who destroys, in one atomic number.
//!
//! ```text
//!   63           32   31       30     29            0
//!  │  generation   │ closed │ claimed │     count     │
//! ```
//!
//! 1. A word begins closed and claimed. Its owner [opens](Word::open) it under a generation that it never had before, and is
//!    its first reader.
//! 2. [`Word::start`] counts a reader, and then looks at what the word was. If that was closed, of another generation, or at
//!    the end of counting, it takes the reader away again.
//! 3. [`Word::close`] sets the bit, which nothing takes away in this generation. From then on no reader stays that was not
//!    there before, though some may come and go again at once.
//! 4. [`Word::end`] takes a reader away.
//! 5. Whoever makes the count of a closed word 0, the closer, the last reader or one that may not stay, tries to *claim* it:
//!    to replace exactly this generation, closed, with a count of 0, by the same and claimed. Who succeeds destroys. One party
//!    does, since nothing takes the claim away in this generation; and some party does, since whoever comes in between goes
//!    again and tries then.
//!
//! That generation, closed and count are one number is the point. Apart, a start could see a word open, be overtaken by a
//! close and a destruction, and count a reader of nothing; and two parties could each see the other as the last.
//!
//! Cost: a start and an end are an atomic addition each, as for `Arc`.
//!
//! This file is compiled a second time by the tests, with loom's atomic numbers, which go through every interleaving.

use std::error::Error;
use std::fmt;

use super::sync::{AtomicU64, Ordering};

const CLOSED: u64 = 1 << 31;
const CLAIMED: u64 = 1 << 30;
const COUNT: u64 = CLAIMED - 1;
/// The most readers that stay. Those that come and go again are fewer than threads there can be, and fit in beside them.
const COUNT_MAX: u64 = COUNT / 2;
const GENERATION_SHIFT: u32 = 32;

/// Why a tether was not started, or a word not closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refused {
    /// The region was closed: what is tethered stays, but nothing more is.
    Closed,
    /// The region is gone, and what lies in its place, if anything, is another.
    Stale,
    /// As many tethers as can be counted are alive: 536,870,911.
    TooMany,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::Closed => "the frozen region was closed: tether it before its owner closes it",
            Refused::Stale => "the frozen region is gone: this handle is of an earlier one in its place",
            Refused::TooMany => "the frozen region has 536870911 tethers, which is the most: end some of them",
        })
    }
}

impl Error for Refused {}

/// What the party that ended or closed has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "whoever is told to destroy is the only one"]
pub(crate) enum Then {
    /// Others still read, or may come.
    Nothing,
    /// Nobody reads and nobody will. All that readers did happened before.
    Destroy,
}

/// A reader that may not stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Failed {
    pub(crate) refused: Refused,
    /// What it has to do, having come and gone. It may have been in the way of the last one.
    pub(crate) then: Then,
}

#[derive(Debug)]
pub(crate) struct Word(AtomicU64);

impl Word {
    /// A closed word of generation 0, which no handle has.
    pub(crate) fn new() -> Word {
        Word(AtomicU64::new(CLOSED | CLAIMED))
    }

    /// The generation that a word may be opened under next; none if they are used up. Such a word stays closed for ever.
    pub(crate) fn next(&self) -> Option<u32> {
        self.generation().checked_add(1)
    }

    /// Opens a word under its next generation, with one reader counted. For the only party that may: nothing was ever in the
    /// word, or this party has claimed it, or the place of it was given to this party since; and what it stands for is in place.
    pub(crate) fn open(&self) -> u32 {
        // An addition, since readers that may not stay come and go meanwhile.
        const NEXT_OPEN_ONE: u64 = (1_u64 << GENERATION_SHIFT).wrapping_sub(CLOSED | CLAIMED).wrapping_add(1);
        // Release: whoever starts a reader sees what is in place.
        let seen = self.0.fetch_add(NEXT_OPEN_ONE, Ordering::Release);
        debug_assert!(seen & (CLOSED | CLAIMED) == CLOSED | CLAIMED, "only a word that was claimed is opened");
        generation(seen) + 1
    }

    /// Counts a reader.
    #[inline]
    pub(crate) fn start(&self, of: u32) -> Result<(), Failed> {
        // Acquire: what was in place when the word was opened is seen.
        let seen = self.0.fetch_add(1, Ordering::Acquire);
        // Of this generation, open, unclaimed, and not too many, in one comparison.
        if seen.wrapping_sub(u64::from(of) << GENERATION_SHIFT) < COUNT_MAX { Ok(()) } else { Err(self.fail(seen, of)) }
    }

    /// Takes a reader away that may not stay.
    #[cold]
    fn fail(&self, seen: u64, of: u32) -> Failed {
        let refused = check(seen, of).err().unwrap_or(Refused::TooMany);
        Failed { refused, then: self.end() }
    }

    /// Takes a reader away, for a party that started one and has not ended it.
    #[inline]
    pub(crate) fn end(&self) -> Then {
        // Release: what this reader read was read before another party destroys.
        let seen = self.0.fetch_sub(1, Ordering::Release);
        debug_assert!(seen & COUNT > 0, "who ends has started");
        if seen as u32 == CLOSED as u32 | 1 { self.claim(generation(seen)) } else { Then::Nothing }
    }

    /// Lets nobody in from now on.
    pub(crate) fn close(&self, of: u32) -> Result<Then, Refused> {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            check(seen, of)?;
            match self.0.compare_exchange_weak(seen, seen | CLOSED, Ordering::Release, Ordering::Relaxed) {
                Ok(_) if seen & COUNT == 0 => return Ok(self.claim(of)),
                Ok(_) => return Ok(Then::Nothing),
                Err(other) => seen = other,
            }
        }
    }

    /// Claims the word if it is closed and nobody is in it.
    #[cold]
    fn claim(&self, of: u32) -> Then {
        let last = u64::from(of) << GENERATION_SHIFT | CLOSED;
        // Acquire: all that readers did before they ended is seen.
        match self.0.compare_exchange(last, last | CLAIMED, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Then::Destroy,
            Err(_) => Then::Nothing,
        }
    }

    /// Whether a reader may come. What this says may be outdated when it is said.
    #[inline]
    pub(crate) fn check(&self, of: u32) -> Result<(), Refused> {
        check(self.0.load(Ordering::Acquire), of)
    }

    /// The generation under which the word is open, or was last.
    pub(crate) fn generation(&self) -> u32 {
        generation(self.0.load(Ordering::Relaxed))
    }

    /// How many readers there were a moment ago, those included that may not stay.
    pub(crate) fn count(&self) -> u32 {
        (self.0.load(Ordering::Relaxed) & COUNT) as u32
    }

    /// Uses up all generations, for tests.
    #[cfg(test)]
    pub(crate) fn use_up(&self) {
        self.0.store(u64::from(u32::MAX) << GENERATION_SHIFT | CLOSED | CLAIMED, Ordering::Relaxed);
    }

    /// Counts all readers that may stay but one, for tests.
    #[cfg(test)]
    pub(crate) fn fill(&self) {
        self.0.fetch_add(COUNT_MAX - 1 - (self.0.load(Ordering::Relaxed) & COUNT), Ordering::Relaxed);
    }
}

fn generation(word: u64) -> u32 {
    (word >> GENERATION_SHIFT) as u32
}

#[inline]
fn check(word: u64, of: u32) -> Result<(), Refused> {
    if generation(word) != of {
        return Err(Refused::Stale);
    }
    if word & CLOSED != 0 {
        return Err(Refused::Closed);
    }
    Ok(())
}
