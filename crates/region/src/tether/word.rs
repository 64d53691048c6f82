//! The tether word: who may read, whether more may come, and who destroys, in one atomic number.
//!
//! ```text
//!   63           32   31     30            0
//!  │  generation   │ closed │     count     │
//! ```
//!
//! 1. A word begins closed. Its owner [opens](Word::open) it under a generation that it never had before, and is its first
//!    reader.
//! 2. [`Word::start`] counts a reader, unless the word is closed, has another generation, or cannot count further.
//! 3. [`Word::close`] sets the bit, which nothing takes away in this generation. So the count can only fall from then on.
//! 4. [`Word::end`] takes a reader away.
//! 5. Whoever makes the word closed with a count of 0, the closer or the last reader, is told so and destroys. From there no
//!    step leads back to such a word, so it is one party, once.
//!
//! That closed, count and generation are one number is the point. Apart, a start could see a word open, be overtaken by a
//! close and a destruction, and count a reader of nothing; and two parties could each see the other as the last.
//!
//! Cost: a start and an end are an atomic read-modify-write each, as for `Arc`.
//!
//! This file is compiled a second time by the tests, with loom's atomic numbers, which go through every interleaving.

use std::error::Error;
use std::fmt;

use super::sync::{AtomicU64, Ordering};

const CLOSED: u64 = 1 << 31;
/// The most readers that are counted.
const COUNT_MAX: u64 = CLOSED - 1;
const GENERATION_SHIFT: u32 = 32;

/// Why a tether was not started, or a word not closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refused {
    /// The region was closed: what is tethered stays, but nothing more is.
    Closed,
    /// The region is gone, and what lies in its place, if anything, is another.
    Stale,
    /// As many tethers as can be counted are alive: 2,147,483,647.
    TooMany,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::Closed => "the frozen region was closed: tether it before its owner closes it",
            Refused::Stale => "the frozen region is gone: this handle is of an earlier one in its place",
            Refused::TooMany => "the frozen region has 2147483647 tethers, which is the most: end some of them",
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

#[derive(Debug)]
pub(crate) struct Word(AtomicU64);

impl Word {
    /// A closed word of generation 0, which no handle has.
    pub(crate) fn new() -> Word {
        Word(AtomicU64::new(CLOSED))
    }

    /// The generation that a word may be opened under next; none if they are used up. Such a word stays closed for ever.
    pub(crate) fn next(&self) -> Option<u32> {
        self.generation().checked_add(1)
    }

    /// Opens a word under its next generation, with one reader counted. For the only party that may: nothing was ever in the
    /// word, or it was destroyed; and what it guards is in place.
    pub(crate) fn open(&self, generation: u32) {
        debug_assert_eq!(self.next(), Some(generation));
        debug_assert!(self.0.load(Ordering::Relaxed) & (CLOSED | COUNT_MAX) == CLOSED, "only a closed word is opened");
        // Release: whoever starts a reader sees what is in place.
        self.0.store(u64::from(generation) << GENERATION_SHIFT | 1, Ordering::Release);
    }

    /// Counts a reader.
    #[inline]
    pub(crate) fn start(&self, of: u32) -> Result<(), Refused> {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            check(seen, of)?;
            if seen & COUNT_MAX == COUNT_MAX {
                return Err(Refused::TooMany);
            }
            match self.0.compare_exchange_weak(seen, seen + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(other) => seen = other,
            }
        }
    }

    /// Takes a reader away, for a party that started one and has not ended it.
    #[inline]
    pub(crate) fn end(&self) -> Then {
        // Release: what this reader read was read before another party destroys.
        let seen = self.0.fetch_sub(1, Ordering::Release);
        debug_assert!(seen & COUNT_MAX > 0, "who ends has started");
        if seen & (CLOSED | COUNT_MAX) == CLOSED | 1 { self.destroy() } else { Then::Nothing }
    }

    /// Lets nobody in from now on.
    pub(crate) fn close(&self, of: u32) -> Result<Then, Refused> {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            check(seen, of)?;
            match self.0.compare_exchange_weak(seen, seen | CLOSED, Ordering::Release, Ordering::Relaxed) {
                Ok(_) if seen & COUNT_MAX == 0 => return Ok(self.destroy()),
                Ok(_) => return Ok(Then::Nothing),
                Err(other) => seen = other,
            }
        }
    }

    /// The last step of whoever destroys: acquire, so that all that others did before they ended is seen.
    #[cold]
    fn destroy(&self) -> Then {
        self.0.load(Ordering::Acquire);
        Then::Destroy
    }

    /// Uses up all generations, for tests.
    #[cfg(test)]
    pub(crate) fn use_up(&self) {
        self.0.store(u64::from(u32::MAX) << GENERATION_SHIFT | CLOSED, Ordering::Relaxed);
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

    /// How many readers there were a moment ago.
    pub(crate) fn count(&self) -> u32 {
        (self.0.load(Ordering::Relaxed) & COUNT_MAX) as u32
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
