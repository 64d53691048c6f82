//! An arena for values of any type: each is made at the end, and all are given back at once.
//!
//! 1. An arena is a list of chunks. Values are made from the end of the current chunk towards its start.
//! 2. To make one is to compare and to lower a cursor, which is kept at a multiple of eight.
//! 3. If the chunk is full, a chunk that was kept from before a reset goes on, the first that is large enough. Otherwise a
//!    new one is taken: twice as large as the last, at most 64 KiB, but as large as what is to be made in it, and no larger
//!    than the limit allows.
//! 4. A reset goes back to the first chunk and keeps them all. An arena that is dropped gives them to the pool of its thread,
//!    from which the next arena takes them.
//!
//! # What never happens
//!
//! - Nothing in an arena is dropped. So a type that needs to be is refused when the program is compiled; one that is wrapped in
//!   [`ManuallyDrop`](std::mem::ManuallyDrop) says that it shall not be.
//! - No limit is exceeded and then noticed: it bounds the bytes of chunks, headers included, whether they are used or not.
//! - Nothing is moved, and nothing is read that was not written.
//!
//! Cost: about a nanosecond a value. An empty arena has no memory and costs nothing. A chunk has a header of 32 bytes.
//!
//! The idea is old (D. T. Ross, *The AED free storage package*, 1967); what it looks like in Rust was learned from the crates
//! bumpalo, typed-arena and bump-scope, and from what their users ask for.
#![allow(unsafe_code)]

mod chunk;
mod limit;
mod scope;

use std::alloc::Layout;
use std::cell::Cell;
use std::fmt;
use std::mem::needs_drop;
use std::ptr::{self, NonNull};

use chunk::{CHUNK_ALIGN, Chunk, HEADER_BYTES, SIZE_MAX, SIZE_MIN};
pub use limit::ArenaFull;
pub use scope::Scope;

/// What the cursor is a multiple of.
const UNIT: usize = 8;

/// Memory for values of any type, all of which is given back at once. See the module.
///
/// ```
/// let mut arena = region::Arena::new();
/// let one = arena.alloc(1_u64);
/// let name = arena.alloc_str("Zeus");
/// *one += 1;
/// assert_eq!((*one, &*name), (2, "Zeus"));
/// arena.reset();
/// ```
///
/// What would have to be dropped is refused:
///
/// ```compile_fail,E0080
/// let arena = region::Arena::new();
/// arena.alloc(String::from("Zeus"));
/// ```
///
/// Nothing outlives a reset:
///
/// ```compile_fail,E0502
/// let mut arena = region::Arena::new();
/// let one = arena.alloc(1_u64);
/// arena.reset();
/// *one += 1;
/// ```
pub struct Arena {
    /// The lowest byte in use of the current chunk.
    cursor: Cell<*mut u8>,
    /// The lowest byte of the current chunk.
    start: Cell<*mut u8>,
    /// The chunk in which values are made; none before the first.
    current: Cell<Option<Chunk>>,
    /// The chunks, in the order in which they are filled. Those behind the current one are empty.
    first: Cell<Option<Chunk>>,
    /// Bytes of all chunks.
    held: Cell<usize>,
    limit: usize,
    failures: Cell<u64>,
}

// SAFETY: what an arena points to is its own. Values in it that may not go to another thread can be reached only through
// references that borrow the arena, so that it cannot move while there are any; and it never touches them itself.
unsafe impl Send for Arena {}

/// Where an arena stood. It means nothing for another arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArenaMark {
    /// The address of the current chunk's first byte; 0 for none.
    chunk: usize,
    cursor: usize,
}

/// The mark is of another arena, or of what was given back since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotHere;

impl fmt::Display for NotHere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the mark is of another arena, or later than where this one stands; rewind to a mark of what is there",
        )
    }
}

impl std::error::Error for NotHere {}

/// What an arena holds. `used`, `wasted` and `free` together are `held` without the headers of its `chunks`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ArenaStatistics {
    /// Bytes given to values, rounded up to eight each, and the gaps that their alignment takes.
    pub bytes_used: usize,
    /// Bytes at the ends of chunks that were left because something did not fit.
    pub bytes_wasted: usize,
    /// Bytes that are left of the current chunk, and those of the chunks that are kept for later.
    pub bytes_free: usize,
    /// Bytes of all chunks, their headers of 32 bytes included: what the limit bounds.
    pub bytes_held: usize,
    /// How many chunks there are.
    pub chunks: usize,
    /// How often something was refused.
    pub failures: u64,
}

impl Default for Arena {
    fn default() -> Arena {
        Arena::new()
    }
}

impl Arena {
    /// An arena without memory.
    #[inline]
    pub const fn new() -> Arena {
        Arena::with_limit(usize::MAX)
    }

    /// An arena whose chunks take at most so many bytes, headers of 32 bytes each included.
    #[inline]
    pub const fn with_limit(bytes: usize) -> Arena {
        let nowhere = ptr::without_provenance_mut(UNIT);
        Arena {
            cursor: Cell::new(nowhere),
            start: Cell::new(nowhere),
            current: Cell::new(None),
            first: Cell::new(None),
            held: Cell::new(0),
            limit: bytes,
            failures: Cell::new(0),
        }
    }

    /// Sets how many bytes the chunks may take. What is there stays, even above the limit.
    pub fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
    }

    /// Gives back all values, and keeps all chunks for the next ones.
    #[inline]
    pub fn reset(&mut self) {
        self.go_to(None, 0);
    }

    /// Gives the chunks that are kept for later to the pool of this thread.
    pub fn trim(&mut self) {
        let kept = self.next();
        match self.current.get() {
            Some(current) => current.cut(),
            None => self.first.set(None),
        }
        self.give(kept);
    }

    /// Where the arena stands.
    pub fn mark(&self) -> ArenaMark {
        let chunk = self.current.get().map_or(0, |chunk| chunk.start().addr());
        ArenaMark { chunk, cursor: self.cursor.get().addr() }
    }

    /// Gives back what was made since a mark. Costs a step for each chunk that was begun since.
    ///
    /// No value can be used any more, those from before the mark neither: to keep them, see [`Arena::scoped`].
    pub fn rewind(&mut self, mark: ArenaMark) -> Result<(), NotHere> {
        if mark.chunk == 0 {
            self.reset();
            return Ok(());
        }
        let mut chunk = self.current.get();
        while let Some(candidate) = chunk.filter(|chunk| chunk.start().addr() != mark.chunk) {
            chunk = candidate.previous();
        }
        let chunk = chunk.ok_or(NotHere)?;
        let left = mark.cursor.wrapping_sub(mark.chunk);
        let reached = if Some(chunk) == self.current.get() { self.left() } else { chunk.left() };
        if left < reached || left > chunk.end().addr() - mark.chunk {
            return Err(NotHere);
        }
        self.go_to(Some(chunk), left);
        Ok(())
    }

    /// What the arena holds. Costs a step for each chunk.
    pub fn statistics(&self) -> ArenaStatistics {
        let (bytes_held, failures) = (self.held.get(), self.failures.get());
        let mut statistics = ArenaStatistics { bytes_held, failures, ..ArenaStatistics::default() };
        let (mut chunk, mut is_used) = (self.first.get(), self.current.get().is_some());
        while let Some(at) = chunk {
            let (all, is_current) = (at.size() - HEADER_BYTES, Some(at) == self.current.get());
            let left = if is_current { self.left() } else { at.left() };
            statistics.chunks += 1;
            match (is_used, is_current) {
                (false, _) => statistics.bytes_free += all,
                (true, true) => statistics.bytes_free += left,
                (true, false) => statistics.bytes_wasted += left,
            }
            statistics.bytes_used += if is_used { all - left } else { 0 };
            (chunk, is_used) = (at.next(), is_used && !is_current);
        }
        statistics
    }

    /// Sets how many bytes of chunks this thread keeps for its next arenas, 4 MiB unless it is told. What is above is given back.
    pub fn set_pool_limit(bytes: usize) {
        chunk::set_pool_limit(bytes);
    }

    /// How many bytes of chunks this thread keeps for its next arenas.
    pub fn pool_bytes() -> usize {
        chunk::pool_bytes()
    }
}

/// Making values.
impl Arena {
    /// Moves a value into the arena.
    ///
    /// # Panics
    ///
    /// If the limit is reached or the system refuses memory; [`Arena::try_alloc`] does not.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn alloc<T>(&self, value: T) -> &mut T {
        self.alloc_with(|| value)
    }

    /// Moves a value into the arena.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn try_alloc<T>(&self, value: T) -> Result<&mut T, ArenaFull> {
        self.try_alloc_with(|| value)
    }

    /// Makes a value in the arena.
    ///
    /// # Panics
    ///
    /// If the limit is reached or the system refuses memory; [`Arena::try_alloc_with`] does not.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn alloc_with<T>(&self, make: impl FnOnce() -> T) -> &mut T {
        expect(self.try_alloc_with(make))
    }

    /// Makes a value in the arena, if there is room for it. If that panics, its room stays unused.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn try_alloc_with<T>(&self, make: impl FnOnce() -> T) -> Result<&mut T, ArenaFull> {
        const { assert!(!needs_drop::<T>(), "nothing in an arena is dropped: wrap the value in ManuallyDrop") };
        let place = self.try_alloc_layout(Layout::new::<T>())?.cast::<T>();
        let value = make();
        // SAFETY: the place is as large and as aligned as the type needs, and lies in a chunk that stays as long as the arena is
        // borrowed. It was given out once, so that nothing else refers to it; the value is written before it is referred to.
        Ok(unsafe {
            place.write(value);
            &mut *place.as_ptr()
        })
    }

    /// Copies a slice into the arena.
    ///
    /// # Panics
    ///
    /// If the limit is reached or the system refuses memory; [`Arena::try_alloc_slice_copy`] does not.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn alloc_slice_copy<T: Copy>(&self, slice: &[T]) -> &mut [T] {
        expect(self.try_alloc_slice_copy(slice))
    }

    /// Copies a slice into the arena, if there is room for it.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn try_alloc_slice_copy<T: Copy>(&self, slice: &[T]) -> Result<&mut [T], ArenaFull> {
        let place = self.try_alloc_layout(Layout::for_value(slice))?.cast::<T>();
        // SAFETY: the place is as large and as aligned as the slice, fresh, and so apart from it. See `try_alloc_with` for why
        // it may be referred to; all elements are copied before.
        Ok(unsafe {
            ptr::copy_nonoverlapping(slice.as_ptr(), place.as_ptr(), slice.len());
            NonNull::slice_from_raw_parts(place, slice.len()).as_mut()
        })
    }

    /// Makes a slice in the arena, each element from its index.
    ///
    /// # Panics
    ///
    /// If the limit is reached or the system refuses memory; [`Arena::try_alloc_slice_fill_with`] does not.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn alloc_slice_fill_with<T>(&self, length: usize, make: impl FnMut(usize) -> T) -> &mut [T] {
        expect(self.try_alloc_slice_fill_with(length, make))
    }

    /// Makes a slice in the arena, each element from its index, if there is room for it. If that panics, its room stays unused.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn try_alloc_slice_fill_with<T>(
        &self,
        length: usize,
        mut make: impl FnMut(usize) -> T,
    ) -> Result<&mut [T], ArenaFull> {
        const { assert!(!needs_drop::<T>(), "nothing in an arena is dropped: wrap the values in ManuallyDrop") };
        let layout = Layout::array::<T>(length).map_err(|_| self.refuse(ArenaFull::Size))?;
        let place = self.try_alloc_layout(layout)?.cast::<T>();
        for at in 0..length {
            let value = make(at);
            // SAFETY: the place has room for `length` elements, and `at` is below.
            unsafe { place.add(at).write(value) };
        }
        // SAFETY: see `try_alloc_with`; all elements were written.
        Ok(unsafe { NonNull::slice_from_raw_parts(place, length).as_mut() })
    }

    /// Copies a text into the arena.
    ///
    /// # Panics
    ///
    /// If the limit is reached or the system refuses memory; [`Arena::try_alloc_str`] does not.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn alloc_str(&self, text: &str) -> &mut str {
        expect(self.try_alloc_str(text))
    }

    /// Copies a text into the arena, if there is room for it.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn try_alloc_str(&self, text: &str) -> Result<&mut str, ArenaFull> {
        let bytes = self.try_alloc_slice_copy(text.as_bytes())?;
        // SAFETY: the bytes are those of a text.
        Ok(unsafe { std::str::from_utf8_unchecked_mut(bytes) })
    }

    /// Memory of this size and alignment, whose content is not known, for code that writes it by itself: it stays until the
    /// arena is reset, rewound to an earlier mark, or dropped. No two of them overlap, but empty ones.
    #[inline]
    pub fn try_alloc_layout(&self, layout: Layout) -> Result<NonNull<u8>, ArenaFull> {
        if layout.size() == 0 {
            return Ok(NonNull::without_provenance(nonzero_align(layout)));
        }
        let place = match self.bump(layout) {
            Some(place) => place,
            None => self.grow(layout)?,
        };
        debug_assert!(place.addr() % layout.align() == 0 && !place.is_null());
        // SAFETY: it lies in a chunk, which is not at address 0.
        Ok(unsafe { NonNull::new_unchecked(place) })
    }

    /// Lowers the cursor, if the current chunk has room. The layout is not empty.
    #[inline]
    fn bump(&self, layout: Layout) -> Option<*mut u8> {
        let cursor = self.cursor.get();
        let (left, size) = (self.left(), rounded(layout.size()));
        if size > left {
            return None;
        }
        let mut place = cursor.wrapping_sub(size);
        if layout.align() > UNIT {
            let gap = place.addr() % layout.align();
            if gap > left - size {
                return None;
            }
            place = place.wrapping_sub(gap);
        }
        self.cursor.set(place);
        Some(place)
    }

    /// The bytes that are left of the current chunk.
    #[inline]
    fn left(&self) -> usize {
        self.cursor.get().addr() - self.start.get().addr()
    }

    /// Goes on in another chunk.
    #[cold]
    #[inline(never)]
    fn grow(&self, layout: Layout) -> Result<*mut u8, ArenaFull> {
        // A layout is no larger than `isize::MAX`, so that nothing overflows here.
        let gap = layout.align().saturating_sub(CHUNK_ALIGN);
        let needed = HEADER_BYTES + rounded(layout.size()) + gap;
        let before = self.current.get();
        let next = self.next();
        let chunk = match next {
            Some(next) if next.size() >= needed => next,
            _ => self.kept(next, needed).map_or_else(|| self.fresh(needed), Ok)?,
        };
        if let Some(before) = before {
            before.leave(self.left());
        }
        if Some(chunk) != next {
            chunk.link(before, next);
            if before.is_none() {
                self.first.set(Some(chunk));
            }
        }
        self.go_to(Some(chunk), chunk.size() - HEADER_BYTES);
        Ok(self.bump(layout).expect("the chunk is as large as needed"))
    }

    /// The first of the chunks kept for later, but for the one looked at already, that is large enough; out of its list.
    fn kept(&self, next: Option<Chunk>, needed: usize) -> Option<Chunk> {
        let mut chunk = next?.next();
        while let Some(small) = chunk.filter(|chunk| chunk.size() < needed) {
            chunk = small.next();
        }
        chunk.inspect(|chunk| chunk.unlink())
    }

    /// A chunk for at least so many bytes, header included, as the limit allows.
    fn fresh(&self, needed: usize) -> Result<Chunk, ArenaFull> {
        let held = self.held.get();
        let room = self.limit.saturating_sub(held) / UNIT * UNIT;
        if needed > room {
            return Err(self.refuse(ArenaFull::Limit { limit: self.limit, held, needed }));
        }
        let twice = self.current.get().map_or(SIZE_MIN, |last| last.size().saturating_mul(2).clamp(SIZE_MIN, SIZE_MAX));
        // Of a size that the pool keeps, if there is one.
        let wanted = if needed <= SIZE_MAX { needed.next_power_of_two().max(twice) } else { needed };
        let chunk = Chunk::take(wanted.min(room)).or_else(|| Chunk::take(needed));
        let chunk = chunk.ok_or_else(|| self.refuse(ArenaFull::Memory { needed }))?;
        self.held.set(held + chunk.size());
        Ok(chunk)
    }

    #[cold]
    fn refuse(&self, full: ArenaFull) -> ArenaFull {
        self.failures.set(self.failures.get() + 1);
        full
    }

    /// The chunk behind the current one.
    fn next(&self) -> Option<Chunk> {
        self.current.get().map_or(self.first.get(), Chunk::next)
    }

    /// Makes a chunk of this arena the current one, with so many bytes left of it. Nothing that lies lower may be in use.
    #[inline]
    fn go_to(&self, chunk: Option<Chunk>, left: usize) {
        let start = chunk.map_or(ptr::without_provenance_mut(UNIT), Chunk::start);
        self.current.set(chunk);
        self.start.set(start);
        self.cursor.set(start.wrapping_add(left));
    }

    /// Gives up all chunks from one on. It is the first, or its list was cut before it.
    #[inline]
    fn give(&mut self, from: Option<Chunk>) {
        let mut chunk = from;
        while let Some(at) = chunk {
            chunk = at.next();
            self.held.set(self.held.get() - at.size());
            // SAFETY: nothing in it is in use, since the arena is borrowed alone and what lies here is empty or no longer
            // borrowed; and it is no longer in the list of this arena.
            unsafe { at.give() };
        }
    }
}

impl Drop for Arena {
    #[inline]
    fn drop(&mut self) {
        let first = self.first.take();
        self.give(first);
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena").field("statistics", &self.statistics()).field("limit", &self.limit).finish()
    }
}

#[inline]
fn rounded(size: usize) -> usize {
    (size + (UNIT - 1)) & !(UNIT - 1)
}

#[inline]
fn nonzero_align(layout: Layout) -> std::num::NonZero<usize> {
    std::num::NonZero::new(layout.align()).expect("an alignment is a power of two")
}

#[inline]
fn expect<T>(result: Result<T, ArenaFull>) -> T {
    match result {
        Ok(value) => value,
        Err(full) => refused(full),
    }
}

#[cold]
#[inline(never)]
fn refused(full: ArenaFull) -> ! {
    panic!("{full}")
}
