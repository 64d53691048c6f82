//! An arena for values of any type: each is made at the end, and all are given back at once.
//!
//! 1. An arena is a list of chunks. Values are made one behind the other in the current chunk.
//! 2. To make one is to compare and to advance what is used of the chunk, which is kept at a multiple of eight.
//! 3. If the chunk is full, a chunk that was kept from before a reset goes on, the first that is large enough. Otherwise a
//!    new one is taken: twice as large as the last, at most 64 KiB or an eighth of what there is, but as large as what is to
//!    be made in it, and no larger than the limit allows.
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
//! Cost: about a nanosecond a value. An empty arena has no memory and costs nothing. A chunk has a header of 48 bytes.
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

use chunk::{Chunk, HEADER_BYTES, SIZE_MAX, SIZE_MIN, SIZE_UNIT};
pub use limit::ArenaFull;
pub use scope::ArenaScope;

/// What the bytes used of a chunk are a multiple of.
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
    /// The chunk in which values are made. Those in front of it in its list were left, those behind it are kept for later.
    current: Cell<Chunk>,
    limit: usize,
}

// SAFETY: what an arena points to is its own. Values in it that may not go to another thread can be reached only through
// references that borrow the arena, so that it cannot move while there are any; and it never touches them itself.
unsafe impl Send for Arena {}

/// Where an arena stood. It means nothing for another arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArenaMark {
    /// The address of the current chunk; 0 where nothing was made yet.
    chunk: usize,
    used: usize,
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
    /// Bytes of all chunks, their headers of 48 bytes included: what the limit bounds.
    pub bytes_held: usize,
    /// How many chunks there are.
    pub chunks: usize,
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

    /// An arena whose chunks take at most so many bytes, headers of 48 bytes each included.
    #[inline]
    pub const fn with_limit(bytes: usize) -> Arena {
        Arena { current: Cell::new(Chunk::NOTHING), limit: bytes }
    }

    /// Sets how many bytes the chunks may take. What is there stays, even above the limit.
    pub fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
    }

    /// Gives back all values, and keeps all chunks for the next ones.
    #[inline]
    pub fn reset(&mut self) {
        self.go_to_start();
    }

    /// Gives the chunks that are kept for later to the pool of this thread.
    pub fn trim(&mut self) {
        let Some(current) = self.current() else { return };
        if current == current.first() && current.used() == HEADER_BYTES {
            *self = Arena::with_limit(self.limit);
            return;
        }
        while let Some(chunk) = current.take_next() {
            // SAFETY: nothing in it is in use, and it is in no list but its own.
            unsafe { chunk.give_list() };
        }
    }

    /// Where the arena stands.
    pub fn mark(&self) -> ArenaMark {
        let used = self.current.get().used();
        let chunk = self.current().filter(|chunk| used > HEADER_BYTES || *chunk != chunk.first());
        ArenaMark { chunk: chunk.map_or(0, |chunk| chunk.at(0).addr()), used }
    }

    /// Gives back what was made since a mark. Costs a step for each chunk that was begun since.
    ///
    /// No value can be used any more, those from before the mark neither: to keep them, see [`Arena::scoped`].
    pub fn rewind(&mut self, mark: ArenaMark) -> Result<(), NotHere> {
        if mark.chunk == 0 {
            self.reset();
            return Ok(());
        }
        let mut chunk = self.current();
        while let Some(candidate) = chunk.filter(|chunk| chunk.at(0).addr() != mark.chunk) {
            chunk = candidate.previous();
        }
        let chunk = chunk.filter(|chunk| mark.used <= chunk.used()).ok_or(NotHere)?;
        self.go_to(chunk, mark.used);
        Ok(())
    }

    /// What the arena holds. Costs a step for each chunk.
    pub fn statistics(&self) -> ArenaStatistics {
        let mut statistics = ArenaStatistics::default();
        let Some(current) = self.current() else { return statistics };
        statistics.bytes_held = current.held();
        let (mut chunk, mut is_used) = (Some(current.first()), true);
        while let Some(at) = chunk {
            let used = if is_used { at.used() } else { HEADER_BYTES };
            let is_left = is_used && at != current;
            statistics.chunks += 1;
            statistics.bytes_used += used - HEADER_BYTES;
            *(if is_left { &mut statistics.bytes_wasted } else { &mut statistics.bytes_free }) += at.size() - used;
            (chunk, is_used) = (at.next(), is_left);
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
        let layout = Layout::array::<T>(length).map_err(|_| ArenaFull::Size)?;
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
        match self.bump(layout) {
            // SAFETY: it lies in a chunk, which is not at address 0.
            Some(place) => Ok(unsafe { NonNull::new_unchecked(place) }),
            None => NonNull::new(self.grow(layout)).ok_or_else(|| self.why(layout)),
        }
    }

    /// The current chunk, if there is one.
    #[inline]
    fn current(&self) -> Option<Chunk> {
        let current = self.current.get();
        (current != Chunk::NOTHING).then_some(current)
    }

    /// Takes the next bytes of the current chunk, if it has room. The layout is not empty.
    #[inline]
    fn bump(&self, layout: Layout) -> Option<*mut u8> {
        let chunk = self.current.get();
        let mut start = chunk.used();
        if layout.align() > UNIT {
            start += chunk.at(start).addr().wrapping_neg() % layout.align();
        }
        // A layout is no larger than `isize::MAX`, nor is a chunk.
        let end = start + layout.size().next_multiple_of(UNIT);
        if end > chunk.size() {
            return None;
        }
        chunk.set_used(end);
        Some(chunk.at(start))
    }

    /// Goes on in another chunk. Null if there is none.
    #[inline(never)]
    fn grow(&self, layout: Layout) -> *mut u8 {
        if self.current.get() == Chunk::NOTHING
            && layout.align() <= SIZE_UNIT
            && needed(layout) <= SIZE_MIN
            && self.limit >= SIZE_MIN
            && let Some(chunk) = Chunk::take_least()
        {
            self.go_to(chunk, HEADER_BYTES + layout.size().next_multiple_of(UNIT));
            return chunk.at(HEADER_BYTES);
        }
        self.grow_elsewhere(layout)
    }

    /// The same where what is next is not the first chunk, or not a common one.
    #[cold]
    #[inline(never)]
    fn grow_elsewhere(&self, layout: Layout) -> *mut u8 {
        let needed = needed(layout);
        let chunk = match self.current() {
            None => self.fresh(needed, SIZE_MIN),
            Some(current) => self.go_on(current, needed),
        };
        let Some(chunk) = chunk else { return ptr::null_mut() };
        self.go_to(chunk, HEADER_BYTES);
        self.bump(layout).unwrap_or_default()
    }

    /// The chunk behind the current one: one that was kept, or a new one.
    fn go_on(&self, current: Chunk, needed: usize) -> Option<Chunk> {
        let next = current.next();
        if let Some(next) = next.filter(|next| next.size() >= needed) {
            return Some(next);
        }
        let most = SIZE_MAX.max((current.held() / 8).next_multiple_of(SIZE_MAX));
        let twice = current.size().saturating_mul(2).clamp(SIZE_MIN, most);
        let chunk = next.and_then(|next| kept(next, needed)).or_else(|| self.fresh(needed, twice))?;
        current.insert(chunk);
        Some(chunk)
    }

    /// A chunk for at least so many bytes, header included, if the limit allows; for as many as are wanted, if it allows that.
    fn fresh(&self, needed: usize, wanted: usize) -> Option<Chunk> {
        let room = self.room();
        if needed > room {
            return None;
        }
        // Of a size that the pool keeps, if there is one.
        let rounded = if needed <= SIZE_MAX { needed.next_power_of_two() } else { needed };
        let wanted = rounded.max(wanted).min(room);
        Chunk::take(wanted).or_else(|| if wanted > needed { Chunk::take(needed) } else { None })
    }

    /// How many bytes of chunks the limit allows beside those there are.
    fn room(&self) -> usize {
        let held = self.current().map_or(0, Chunk::held);
        self.limit.saturating_sub(held) / SIZE_UNIT * SIZE_UNIT
    }

    /// Why there was no chunk for something.
    #[cold]
    fn why(&self, layout: Layout) -> ArenaFull {
        let (needed, held) = (needed(layout), self.current().map_or(0, Chunk::held));
        if needed > self.room() {
            return ArenaFull::Limit { limit: self.limit, held, needed };
        }
        ArenaFull::Memory { needed }
    }

    /// Makes a chunk of this arena the current one, with so many bytes of it in use. Nothing that lies behind may be.
    #[inline]
    fn go_to(&self, chunk: Chunk, used: usize) {
        chunk.set_used(used);
        self.current.set(chunk);
    }

    /// Goes back to the first chunk. Nothing may be in use.
    #[inline]
    fn go_to_start(&self) {
        if let Some(current) = self.current() {
            self.go_to(current.first(), HEADER_BYTES);
        }
    }
}

/// The least size of a chunk for something. A layout is no larger than `isize::MAX`, so that nothing overflows.
#[inline]
fn needed(layout: Layout) -> usize {
    let gap = layout.align().saturating_sub(SIZE_UNIT);
    (layout.size() + gap).next_multiple_of(SIZE_UNIT) + HEADER_BYTES
}

/// The first chunk behind this one that is large enough; out of its list.
fn kept(before: Chunk, needed: usize) -> Option<Chunk> {
    let mut before = before;
    while let Some(next) = before.next() {
        if next.size() >= needed {
            return before.take_next();
        }
        before = next;
    }
    None
}

impl Drop for Arena {
    #[inline]
    fn drop(&mut self) {
        if let Some(current) = self.current() {
            // SAFETY: the arena is borrowed alone and gone after this, so nothing in its chunks is in use.
            unsafe { current.give_list() };
        }
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena").field("statistics", &self.statistics()).field("limit", &self.limit).finish()
    }
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
