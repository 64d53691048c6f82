//! How much memory is in use: a count beside the system's allocator.
//!
//! 1. A program that installs [`Counting`] as its allocator has all that it allocates counted, in bytes as the usual
//!    allocators round them. The chunks of [heaps](crate::Heap) are counted in any case: they lie in reserved memory.
//! 2. Each thread counts for itself, without a lock: [`of_thread`] is what it has allocated less what it has freed.
//! 3. When that passes a multiple of 64 KiB, the thread adds it to the sum of all threads, which [`of_process`] gives.
//!
//! It costs an allocation about ten instructions. Mapped files, stacks and code are not counted.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicIsize, Ordering};

/// A thread tells the sum of its count in multiples of this many bytes, a power of two.
const STEP: isize = 64 << 10;

/// The least that the usual allocators take for anything.
const LEAST: usize = 32;

static ALL: AtomicIsize = AtomicIsize::new(0);

thread_local! {
    // It has no destructor, so it is there as long as the thread allocates.
    static MINE: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, with a count of what it gives and takes back. A program installs it:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: region::memory::Counting = region::memory::Counting;
///
/// let before = region::memory::of_thread();
/// let list = vec![0_u8; 1 << 20];
/// assert!(region::memory::is_counted());
/// assert!(region::memory::of_thread() - before >= list.len() as isize);
/// drop(list);
/// assert_eq!(region::memory::of_thread(), before);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting;

/// What this thread has allocated less what it has freed, in bytes. Less than 0 if it has freed what others allocated.
#[inline]
pub fn of_thread() -> isize {
    MINE.get()
}

/// Ends the count of this thread, for another one to [take over](take_over): what this thread allocated is that one's from now on.
pub fn hand_over() -> isize {
    let mine = MINE.get();
    count(-mine);
    mine
}

/// Counts as this thread's what another one has [handed over](hand_over).
pub fn take_over(bytes: isize) {
    count(bytes);
}

/// What all threads have, but for up to 64 KiB of each of the others.
pub fn of_process() -> usize {
    usize::try_from(ALL.load(Ordering::Relaxed) + (MINE.get() - told(MINE.get()))).unwrap_or(0)
}

/// Whether allocations are counted, and not only the chunks of heaps.
pub fn is_counted() -> bool {
    let before = of_thread();
    let probe = black_box(Box::new(0_u64));
    let during = of_thread();
    drop(probe);
    during != before
}

/// Counts bytes that were taken, or given back.
#[inline]
pub(crate) fn count(bytes: isize) {
    let before = MINE.get();
    let now = before + bytes;
    MINE.set(now);
    if told(before ^ now) != 0 {
        ALL.fetch_add(told(now) - told(before), Ordering::Relaxed);
    }
}

/// What a thread has told of its count.
#[inline]
fn told(count: isize) -> isize {
    count & !(STEP - 1)
}

/// What an allocation takes: its size and a word, in steps of two words.
#[inline]
fn rounded(size: usize) -> isize {
    ((size + 23) & !15).max(LEAST) as isize
}

// SAFETY: every call is passed on to the system's allocator as it came, and its answer is given as it is. The count touches
// no memory but numbers of this thread, which need no allocation and have no destructor, and one atomic number.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises of the layout what the system's allocator asks for.
        let place = unsafe { System.alloc(layout) };
        if !place.is_null() {
            count(rounded(layout.size()));
        }
        place
    }

    #[inline]
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the place came from the system's allocator, by way of this one, with that layout.
        unsafe { System.dealloc(place, layout) };
        count(-rounded(layout.size()));
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for `alloc`.
        let place = unsafe { System.alloc_zeroed(layout) };
        if !place.is_null() {
            count(rounded(layout.size()));
        }
        place
    }

    #[inline]
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as for `dealloc`, and the caller promises of the new size what the system's allocator asks for.
        let moved = unsafe { System.realloc(place, layout, size) };
        if !moved.is_null() {
            count(rounded(size) - rounded(layout.size()));
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a thread of its own, where nothing else is counted.
    #[test]
    fn the_chunks_of_a_heap_are_counted_as_long_as_it_lives() {
        let test = || {
            let before = of_thread();
            let mut heap = crate::Heap::new();
            let mut region = heap.open();
            for _ in 0..10_000 {
                heap.expression(&mut region, &[]).expect("there is room");
            }
            let held = heap.statistics().bytes_held as isize;
            assert!(held >= 80_000);
            assert_eq!(of_thread() - before, held);
            heap.close(region);
            drop(heap);
            assert_eq!(of_thread(), before);
        };
        std::thread::spawn(test).join().expect("no panic");
    }

    #[test]
    fn a_size_is_counted_as_the_allocator_rounds_it() {
        assert_eq!([0, 1, 24, 25, 40, 1000].map(rounded), [32, 32, 32, 48, 48, 1008]);
    }
}
