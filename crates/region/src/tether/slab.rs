//! Places that are never freed: what is made in one stays where it is for as long as the program runs.
//!
//! 1. Places lie in blocks, each twice as long as the one before. A block is allocated once and kept in a static.
//! 2. A slot is taken by its number, either a free one or the next that was never used.
//! 3. A slot that is given back is free: what is taken next is what was given back last.
//!
//! So a reference to a slot, or its number, means the same slot for ever, and generations say what lies there.
//!
//! Cost: a lock to take and to give back, none to look. Memory: 64 bytes a slot and four for the list of free ones, for the
//! most slots that were ever in use at once, doubled.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Places of the first block.
const FIRST: u32 = 64;
const BLOCKS: usize = 20;
/// The most slots there may be.
pub(crate) const SLOTS_MAX: u32 = FIRST * ((1 << BLOCKS) - 1);

pub(crate) struct Slab<T: 'static> {
    blocks: [OnceLock<Box<[T]>>; BLOCKS],
    free: Mutex<Vec<u32>>,
    /// How many slots were ever used.
    used: AtomicU32,
}

/// There is no slot: [`SLOTS_MAX`] are taken, or the system refused memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoSlot {
    /// How many there are.
    pub(crate) slots: u32,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Slab<T> {
        Slab { blocks: [const { OnceLock::new() }; BLOCKS], free: Mutex::new(Vec::new()), used: AtomicU32::new(0) }
    }

    /// Takes a slot. `make` fills a block with slots, each from its number.
    pub(crate) fn take(&'static self, make: fn(u32) -> T) -> Result<&'static T, NoSlot> {
        let mut free = self.lock();
        if let Some(slot) = free.pop().and_then(|number| self.get(number)) {
            return Ok(slot);
        }
        let used = self.used.load(Ordering::Relaxed);
        let none = NoSlot { slots: used };
        if used == SLOTS_MAX {
            return Err(none);
        }
        // Room for all of them, so that giving one back cannot fail.
        free.try_reserve(used as usize + 1).map_err(|_| none)?;
        let slot = self.block_of(used, make).ok_or(none)?;
        // Release is not needed for what lies there, which the block orders, but it costs nothing here.
        self.used.store(used + 1, Ordering::Release);
        Ok(slot)
    }

    /// The slot of this number, with its block if there is none yet.
    fn block_of(&'static self, number: u32, make: fn(u32) -> T) -> Option<&'static T> {
        let (block, at) = location(number);
        if self.blocks[block].get().is_none() {
            let length = FIRST << block;
            let mut slots = Vec::new();
            slots.try_reserve_exact(length as usize).ok()?;
            slots.extend((number..number + length).map(make));
            // Nothing else has set it, since that takes the lock.
            self.blocks[block].set(slots.into()).ok()?;
        }
        self.blocks[block].get()?.get(at)
    }

    /// Gives a slot back that was taken, for the next party that takes one.
    pub(crate) fn give_back(&self, number: u32) {
        self.lock().push(number);
    }

    /// The slot of a number, if one was ever taken there.
    pub(crate) fn get(&'static self, number: u32) -> Option<&'static T> {
        if number >= self.used.load(Ordering::Acquire) {
            return None;
        }
        let (block, at) = location(number);
        self.blocks[block].get()?.get(at)
    }

    /// All slots that were ever taken.
    pub(crate) fn iter(&'static self) -> impl Iterator<Item = &'static T> {
        let used = self.used.load(Ordering::Acquire) as usize;
        self.blocks.iter().map_while(OnceLock::get).flatten().take(used)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u32>> {
        // Nothing that holds the lock can panic with the list in disorder.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The block of a slot and where in it the slot lies.
fn location(number: u32) -> (usize, usize) {
    let from_first = u64::from(number) + u64::from(FIRST);
    let block = from_first.ilog2() - FIRST.ilog2();
    (block as usize, (from_first - (u64::from(FIRST) << block)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_its_location() {
        let mut expected = (0..6).flat_map(|block| (0..64_usize << block).map(move |at| (block, at)));
        for number in 0..64 * 63 {
            assert_eq!(Some(location(number)), expected.next());
        }
        assert_eq!(location(SLOTS_MAX - 1), (BLOCKS - 1, ((FIRST as usize) << (BLOCKS - 1)) - 1));
    }

    #[test]
    fn places_stay_and_are_used_again() {
        static SLAB: Slab<u32> = Slab::new();
        let slots: Vec<&u32> = (0..200).map(|_| SLAB.take(|number| number).expect("there is room")).collect();
        assert!(slots.iter().zip(0..).all(|(slot, number)| **slot == number));
        assert!(slots.iter().zip(0..).all(|(slot, number)| SLAB.get(number) == Some(*slot)));
        assert_eq!((SLAB.get(200), SLAB.iter().count()), (None, 200));
        SLAB.give_back(7);
        SLAB.give_back(190);
        assert_eq!(SLAB.take(|number| number), Ok(&190));
        assert_eq!(SLAB.take(|number| number), Ok(&7));
        assert_eq!(SLAB.take(|number| number), Ok(&200));
    }
}
