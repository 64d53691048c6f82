//! The words of a heap: memory that is reserved once for all cells that a reference can address, and never moves.
//!
//! 1. The address space of all cells is reserved when a heap is made. It is not memory yet: the system gives a page, zeroed, when
//!    something is first written to it. So a heap grows without a copy, and nothing is zeroed twice.
//! 2. The words are an array of fixed length, and the cell of a reference has 29 bits. So a compiler sees that no cell lies after
//!    the end, and compares nothing. Where it cannot see that, it compares: nothing here trusts a number.
//! 3. After the last cell there are [words to spare](SPARE), so that the same holds for the children of a short expression.
//! 4. A heap that is larger than [`SMALL`] has pages of 2 MiB, where the system offers them. The first access to a page goes to
//!    the system, and in fresh memory that takes longer than all else.
//! 5. A heap that is dropped while it is small leaves its reservation to the next one of its thread, with the few pages it has.
//!
//! What is frozen lies in as many words as it needs, and each access to it is checked: a reservation for each frozen result would
//! take more page tables than it has cells.
//!
//! All unsafe code of the heap is in [`Reserved`].
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut, Index, IndexMut, Range};

use memmap2::{MmapMut, MmapOptions};

use crate::memory;
use crate::reference::{Ref, TAG_BITS};

/// The cells that a reference can address.
pub(crate) const CELLS: u32 = 1 << (u32::BITS - TAG_BITS);
/// Words after the last cell. A heap never hands them out.
pub(crate) const SPARE: usize = 1 << 14;
/// All words that are reserved.
pub(crate) const WORDS: usize = CELLS as usize * 2 + SPARE;
const BYTES: usize = WORDS * size_of::<Ref>();

/// Up to here pages are small.
const SMALL: usize = 4 << 20;
/// A reservation is left to the next heap of the thread if no more of it was written than this,
const LEFT_BYTES_MAX: usize = 1 << 20;
/// and if fewer than these are left already.
const LEFT_MAX: usize = 4;

/// All words of a heap.
pub(crate) type AllWords = [Ref; WORDS];

/// What the words of a heap can be looked at as.
pub trait Addressed:
    Index<usize, Output = Ref> + Index<Range<usize>, Output = [Ref]> + IndexMut<usize> + IndexMut<Range<usize>>
{
}

impl<const N: usize> Addressed for [Ref; N] {}

impl Addressed for [Ref] {}

/// Where the words of a heap lie: [`Reserved`] of one that grows, and a boxed slice of one that is frozen.
pub trait Words: Deref<Target: Addressed> + DerefMut + fmt::Debug {
    /// All of them.
    fn slice(&self) -> &[Ref];

    /// Takes notice that the heap ends, which has chunks of `bytes` bytes.
    fn end(&mut self, _bytes: usize) {}
}

impl Words for Box<[Ref]> {
    #[inline]
    fn slice(&self) -> &[Ref] {
        self
    }
}

/// The first word of a cell. Of a number that is not a cell it takes the bits that one has.
#[inline(always)]
pub(crate) const fn word_of(cell: u32) -> usize {
    (cell & (CELLS - 1)) as usize * 2
}

thread_local! {
    static LEFT: RefCell<Vec<MmapMut>> = const { RefCell::new(Vec::new()) };
}

/// The words of a heap that grows.
pub struct Reserved {
    /// Of [`BYTES`], as long as this is there.
    map: ManuallyDrop<MmapMut>,
    /// The bytes that may have been written, from the first one on: all, unless the heap has said otherwise.
    written: usize,
}

impl Reserved {
    /// A reservation, if the system allows it.
    pub(crate) fn new() -> Option<Reserved> {
        let left = LEFT.try_with(|left| left.borrow_mut().pop()).ok().flatten();
        let map = left.or_else(reserve)?;
        Some(Reserved { map: ManuallyDrop::new(map), written: BYTES })
    }
}

/// Reserves address space, and asks for large pages in most of it. The system may have none; nothing depends on it.
#[cold]
fn reserve() -> Option<MmapMut> {
    let map = MmapOptions::new().len(BYTES).no_reserve_swap().map_anon().ok()?;
    #[cfg(target_os = "linux")]
    let _ = map.advise_range(memmap2::Advice::HugePage, SMALL, BYTES - SMALL);
    Some(map)
}

impl fmt::Debug for Reserved {
    /// Not the words, which are many.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reserved").field("written", &self.written).finish_non_exhaustive()
    }
}

impl Drop for Reserved {
    /// Leaves a small heap's reservation to the next one. A thread that ends has no place for it any more.
    fn drop(&mut self) {
        // SAFETY: this is dropped, so the mapping is taken once and looked at no more.
        let map = unsafe { ManuallyDrop::take(&mut self.map) };
        if self.written <= LEFT_BYTES_MAX {
            let _ = LEFT.try_with(|left| {
                let mut left = left.borrow_mut();
                if left.len() < LEFT_MAX {
                    left.push(map);
                }
            });
        }
    }
}

impl Words for Reserved {
    #[inline]
    fn slice(&self) -> &[Ref] {
        &self[..]
    }

    fn end(&mut self, bytes: usize) {
        self.written = bytes;
        memory::count(-(bytes as isize));
    }
}

impl Deref for Reserved {
    type Target = AllWords;

    #[inline(always)]
    fn deref(&self) -> &AllWords {
        // SAFETY: the mapping has `BYTES` bytes for as long as this lives, begins where a page does, and can be read; any bits
        // are a reference. It is borrowed as this is.
        unsafe { &*self.map.as_ptr().cast() }
    }
}

impl DerefMut for Reserved {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut AllWords {
        // SAFETY: as above. It can be written as well, and nobody else has it, since it is private to this process.
        unsafe { &mut *self.map.as_mut_ptr().cast() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_words_are_zero_up_to_the_last() {
        let mut words = reserve().map(|map| Reserved { map: ManuallyDrop::new(map), written: BYTES }).expect("room");
        for at in [0, 1, SMALL / 4 - 1, SMALL / 4, WORDS / 2, WORDS - 1] {
            assert_eq!(words[at].bits(), 0);
            words[at] = Ref::from_bits(at as u32);
        }
        assert_eq!(words[WORDS - 1].bits(), WORDS as u32 - 1);
        assert_eq!(word_of(u32::MAX), WORDS - SPARE - 2);
    }

    /// On a thread of its own, whose reservations no other test takes.
    #[test]
    fn a_small_heap_leaves_its_reservation_and_a_large_one_does_not() {
        let left = || LEFT.with_borrow(Vec::len);
        let test = move || {
            let mut places = Vec::new();
            for bytes in [4096, LEFT_BYTES_MAX, LEFT_BYTES_MAX + 1] {
                let mut words = Reserved::new().expect("there is address space");
                places.push(words.as_ptr());
                words.end(bytes);
                drop(words);
                places.push(std::ptr::null());
            }
            assert_eq!((places[0], places[2], left()), (places[2], places[4], 0));
            let mut all: Vec<Reserved> = (0..LEFT_MAX + 3).filter_map(|_| Reserved::new()).collect();
            all.iter_mut().for_each(|words| words.end(0));
            drop(all);
            assert_eq!(left(), LEFT_MAX);
        };
        std::thread::spawn(test).join().expect("no panic");
    }
}
