//! The tether word: who may read, whether more may come, and who destroys, in one atomic number.
//!
//! ```text
//!   63            32   31           0
//!  │     balance     │  generation  │      │  open  │
//! ```
//!
//! The balance is a number with a sign: twice the readers there are, one less from when the word is closed on, and 2^30 less
//! from when it is claimed. So it falls below zero exactly when the last reader of a closed word ends: an addition to it says
//! so by its sign, and nobody has to read what the word was. Processors are faster at that. Beside it stands the generation
//! under which the word is open, or 0.
//!
//! 1. A word begins closed and claimed. Its owner [opens](Word::open) it under a generation that it never had before, and is
//!    its first reader.
//! 2. [`Word::start`] counts a reader, and then looks whether the word is open under the generation that it expects. If not,
//!    or if the balance has fallen below zero because the readers are too many, it takes the reader away again.
//! 3. [`Word::close`] replaces the generation under which the word is open by 0, which one party can, and then closes the
//!    balance. From then on no reader stays that was not there before, though some may come and go again at once.
//! 4. [`Word::end`] takes a reader away.
//! 5. The party that makes the balance fall below zero, the closer, the last reader or one that may not stay, tries to *claim* the
//!    word: to replace exactly this generation, closed, without readers, by the same and claimed. The party that succeeds destroys. One
//!    party does, since nothing takes the claim away in this generation; and some party does, since a party that comes in between
//!    goes again and tries then.
//!
//! A reader that stays was counted before the claim, which needs a count of 0 and so did not happen; or it was counted after
//! the claim, and then it has seen all that the closer did before, and does not find the word open.
//!
//! It matters that one number holds both the count and whether the word is closed. With two numbers, two parties could each
//! see the other as the last. And a start counts first and looks then: the other way round it could see a word open, be
//! overtaken by a close and a destruction, and count a reader of nothing.
//!
//! Cost: a start and an end are an atomic addition each, as for `Arc`, and a start from a handle is a load more.
//!
//! This file is compiled a second time by the tests, with loom's atomic numbers, which go through every interleaving.

use std::error::Error;
use std::fmt;

use super::sync::{AtomicU32, AtomicU64, Ordering};

/// A reader, in the balance.
const ONE: u64 = 2 << BALANCE_SHIFT;
/// What a word that is closed has less.
const CLOSED: u64 = 1 << BALANCE_SHIFT;
/// What a word that is claimed has less.
const CLAIMED: u64 = 1 << (30 + BALANCE_SHIFT);
/// Less than this has only what is claimed.
const CLAIMED_BELOW: i32 = -(1 << 29);
/// The most readers. Those that come and go again make the balance fall below zero for a while, and nothing else.
#[cfg(test)]
const COUNT_MAX: u64 = (1 << 30) - 1;
const BALANCE_SHIFT: u32 = 32;
/// In place of a generation: no handle has this one.
const NONE: u32 = 0;

/// Why a tether was not started, or a word not closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refused {
    /// The region was closed: what is tethered stays, but nothing more is.
    Closed,
    /// The region is gone, and what lies in its place, if anything, is another.
    Stale,
    /// As many tethers as can be counted are alive: 1,073,741,823.
    TooMany,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::Closed => "the frozen region was closed: tether it before its owner closes it",
            Refused::Stale => "the frozen region is gone: this handle is of an earlier one in its place",
            Refused::TooMany => "the frozen region has 1073741823 tethers, which is the most: end some of them",
        })
    }
}

impl Error for Refused {}

/// What the party that ended or closed has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "the party that is told to destroy is the only one"]
pub(crate) enum AfterEnd {
    /// Others still read, or may come.
    Nothing,
    /// Nobody reads and nobody will. All that readers did happened before.
    Destroy,
}

/// A reader that may not stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StartFailed {
    pub(crate) refused: Refused,
    /// What it has to do, having come and gone. It may have been in the way of the last one.
    pub(crate) then: AfterEnd,
}

#[derive(Debug)]
pub(crate) struct Word {
    /// The balance above the generation.
    state: AtomicU64,
    /// The generation while the word is open, or [`NONE`].
    open: AtomicU32,
}

impl Word {
    /// A closed word of generation 0, which no handle has.
    pub(crate) fn new() -> Word {
        let state = AtomicU64::new(CLOSED.wrapping_add(CLAIMED).wrapping_neg());
        Word { state, open: AtomicU32::new(NONE) }
    }

    /// The generation that a word may be opened under next; none if they are used up. Such a word stays closed for ever.
    pub(crate) fn next(&self) -> Option<u32> {
        self.generation().checked_add(1)
    }

    /// Opens a word under its next generation, with one reader counted. For the only party that may: nothing was ever in the
    /// word, or this party has claimed it, or the place of it was given to this party since; and what it stands for is in place.
    pub(crate) fn open(&self) -> u32 {
        // An addition, since readers that may not stay come and go meanwhile.
        let seen = self.state.fetch_add(CLOSED + CLAIMED + ONE + 1, Ordering::Release);
        debug_assert!(balance(seen) < CLAIMED_BELOW, "only a word that was claimed is opened");
        let generation = seen as u32 + 1;
        // Release: a party that starts a reader sees what is in place.
        self.open.store(generation, Ordering::Release);
        generation
    }

    /// Counts a reader.
    #[inline]
    pub(crate) fn start(&self, of: u32) -> Result<(), StartFailed> {
        // Acquire: if the word was claimed before, that it is not open is seen.
        let seen = self.state.fetch_add(ONE, Ordering::Acquire);
        // In this order, since only a sign is free of charge.
        if (seen.wrapping_add(ONE) as i64) < 0 || self.check(of).is_err() { Err(self.fail(of)) } else { Ok(()) }
    }

    /// Counts one more reader, for a party that started one and has not ended it: even if the word was closed meanwhile.
    #[inline]
    pub(crate) fn start_another(&self) -> Result<(), StartFailed> {
        // Relaxed, as for `Arc`: this party knows that the word was not claimed, and has seen what is in place.
        let seen = self.state.fetch_add(ONE, Ordering::Relaxed);
        debug_assert!(count(seen) > 0, "a party that counts another reader is counted itself");
        if (seen.wrapping_add(ONE) as i64) < 0 { Err(self.fail(self.generation())) } else { Ok(()) }
    }

    /// Takes a reader away that may not stay.
    #[cold]
    #[inline(never)]
    fn fail(&self, of: u32) -> StartFailed {
        let refused = self.check(of).err().unwrap_or(Refused::TooMany);
        StartFailed { refused, then: self.end() }
    }

    /// Takes a reader away, for a party that started one and has not ended it.
    #[inline]
    pub(crate) fn end(&self) -> AfterEnd {
        // Release: what this reader read was read before another party destroys. Written as an addition, of which compilers
        // know that it says by its sign what became of it.
        const LESS: u64 = ONE.wrapping_neg();
        let seen = self.state.fetch_add(LESS, Ordering::Release);
        debug_assert!(count(seen) > 0, "a reader that ends has started");
        if (seen.wrapping_add(LESS) as i64) < 0 { self.claim(self.generation()) } else { AfterEnd::Nothing }
    }

    /// Lets nobody in from now on.
    pub(crate) fn close(&self, of: u32) -> Result<AfterEnd, Refused> {
        // One party gets past this, and is the only one that closes the balance in this generation.
        if of == NONE || self.open.compare_exchange(of, NONE, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return Err(self.refusal(of));
        }
        // Release: a party that counts a reader from here on sees that the word is not open.
        let seen = self.state.fetch_sub(CLOSED, Ordering::Release);
        Ok(if (seen.wrapping_sub(CLOSED) as i64) < 0 { self.claim(of) } else { AfterEnd::Nothing })
    }

    /// Claims the word if it is closed under this generation and nobody reads it. If the generation is later than that of the
    /// party that asks, that one was claimed already; then this claim does no harm, since any party may claim.
    #[cold]
    #[inline(never)]
    fn claim(&self, of: u32) -> AfterEnd {
        let last = u64::from(of).wrapping_sub(CLOSED);
        // Acquire: all that readers did before they ended is seen.
        match self.state.compare_exchange(last, last.wrapping_sub(CLAIMED), Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => AfterEnd::Destroy,
            Err(_) => AfterEnd::Nothing,
        }
    }

    /// Whether a reader may come. What this says may be outdated when it is said.
    #[inline]
    pub(crate) fn check(&self, of: u32) -> Result<(), Refused> {
        debug_assert!(of != NONE, "no handle is of no generation");
        // Acquire: what was in place when the word was opened is seen.
        if self.open.load(Ordering::Acquire) == of { Ok(()) } else { Err(self.refusal(of)) }
    }

    /// Why the word is not open under a generation.
    #[cold]
    #[inline(never)]
    fn refusal(&self, of: u32) -> Refused {
        if self.generation() == of { Refused::Closed } else { Refused::Stale }
    }

    /// The generation under which the word is open, or was last.
    pub(crate) fn generation(&self) -> u32 {
        self.state.load(Ordering::Relaxed) as u32
    }

    /// How many readers there were a moment ago, those included that may not stay.
    pub(crate) fn count(&self) -> u32 {
        count(self.state.load(Ordering::Relaxed))
    }

    /// Uses up all generations, for tests.
    #[cfg(test)]
    pub(crate) fn use_up(&self) {
        let last = u64::from(u32::MAX).wrapping_sub(CLOSED + CLAIMED);
        self.state.store(last, Ordering::Relaxed);
        self.open.store(NONE, Ordering::Relaxed);
    }

    /// Counts all readers that may stay but one, for tests.
    #[cfg(test)]
    pub(crate) fn fill(&self) {
        self.state.fetch_add((COUNT_MAX - 1 - u64::from(self.count())) * ONE, Ordering::Relaxed);
    }
}

fn balance(state: u64) -> i32 {
    (state >> BALANCE_SHIFT) as i32
}

/// The readers of a word in this state.
fn count(state: u64) -> u32 {
    let balance = balance(state);
    let unclaimed = if balance < CLAIMED_BELOW { balance.wrapping_add(1 << 30) } else { balance };
    (unclaimed.wrapping_add(1) >> 1) as u32
}
