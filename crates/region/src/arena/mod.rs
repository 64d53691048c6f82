//! An arena for values of any type: each is made at the end, and all are given back at once.
//!
//! 1. An arena is a list of chunks. Values are made one behind the other in the current chunk.
//! 2. To make one is to compare and to advance the arena's cursor, which is kept at a multiple of eight. What is used of a
//!    chunk is noted in it when the arena leaves it.
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
//! - No limit is exceeded and then noticed: it bounds the bytes of chunks, footers included, whether they are used or not.
//! - Nothing is moved, and nothing is read that was not written.
//!
//! Cost: about a nanosecond a value. An empty arena has no memory and costs nothing. A chunk has a footer of 48 bytes.
//!
//! The idea is old (D. T. Ross, *The AED free storage package*, 1967); what it looks like in Rust was learned from the crates
//! bumpalo, typed-arena and bump-scope, and from what their users ask for.
#![allow(unsafe_code)]

mod chunk;
mod growth;
mod limit;
mod pool;
mod scope;

use std::alloc::Layout;
use std::cell::Cell;
use std::fmt;
use std::mem::needs_drop;
use std::ptr::{self, NonNull};

use chunk::{Chunk, FOOTER_BYTES};
use growth::{Growth, Room};
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
    /// Where the next value is made: at a multiple of eight in the current chunk. Null while there is none.
    ///
    /// It lies here and not in the chunk, whose address would have to be loaded for each value. And it is stored by
    /// [`Arena::bump`] alone while values are made, not by a function that is called: see there.
    cursor: Cell<*mut u8>,
    /// The chunk in which values are made: up to its footer, at which this points. Those in front of it in its list were left,
    /// those behind it are kept for later.
    current: Cell<Option<Chunk>>,
    limit: usize,
}

// SAFETY: what an arena points to is its own. Values in it that may not go to another thread can be reached only through
// references that borrow the arena, so that it cannot move while there are any; and it never touches them itself.
unsafe impl Send for Arena {}

/// Where an arena stood. It means nothing for another arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArenaMark {
    /// The address at which the room of the current chunk ends; 0 where nothing was made yet.
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

/// What an arena holds. `used`, `wasted` and `free` together are `held` without the footers of its `chunks`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ArenaStatistics {
    /// Bytes given to values, rounded up to eight each, and the gaps that their alignment takes.
    pub bytes_used: usize,
    /// Bytes at the ends of chunks that were left because something did not fit.
    pub bytes_wasted: usize,
    /// Bytes that are left of the current chunk, and those of the chunks that are kept for later.
    pub bytes_free: usize,
    /// Bytes of all chunks, their footers of 48 bytes included: what the limit bounds.
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

    /// An arena whose chunks take at most so many bytes, footers of 48 bytes each included.
    #[inline]
    pub const fn with_limit(bytes: usize) -> Arena {
        Arena { cursor: Cell::new(ptr::null_mut()), current: Cell::new(None), limit: bytes }
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
        let Some(current) = self.settled() else { return };
        if current == current.first() && current.used() == 0 {
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
        let chunk = self.settled().filter(|chunk| chunk.used() > 0 || *chunk != chunk.first());
        chunk.map_or(ArenaMark { chunk: 0, used: 0 }, |chunk| ArenaMark { chunk: chunk.end(), used: chunk.used() })
    }

    /// Gives back what was made since a mark. Costs a step for each chunk before it.
    ///
    /// No value can be used any more, those from before the mark neither: to keep them, see [`Arena::scoped`].
    pub fn rewind(&mut self, mark: ArenaMark) -> Result<(), NotHere> {
        if mark.chunk == 0 {
            self.reset();
            return Ok(());
        }
        let current = self.settled().ok_or(NotHere)?;
        let mut chunk = current.first();
        while chunk != current && chunk.end() != mark.chunk {
            chunk = chunk.next().ok_or(NotHere)?;
        }
        if chunk.end() != mark.chunk || mark.used > chunk.used() {
            return Err(NotHere);
        }
        self.go_to(chunk, mark.used);
        Ok(())
    }

    /// What the arena holds. Costs a step for each chunk.
    pub fn statistics(&self) -> ArenaStatistics {
        let mut statistics = ArenaStatistics::default();
        let Some(current) = self.settled() else { return statistics };
        statistics.bytes_held = current.held();
        let (mut chunk, mut is_used) = (Some(current.first()), true);
        while let Some(at) = chunk {
            let used = if is_used { at.used() } else { 0 };
            let is_left = is_used && at != current;
            statistics.chunks += 1;
            statistics.bytes_used += used;
            *(if is_left { &mut statistics.bytes_wasted } else { &mut statistics.bytes_free }) += at.room() - used;
            (chunk, is_used) = (at.next(), is_left);
        }
        statistics
    }

    /// Sets how many bytes of chunks this thread keeps for its next arenas, 4 MiB unless it is told. What is above is given back.
    pub fn set_pool_limit(bytes: usize) {
        pool::set_limit(bytes);
    }

    /// How many bytes of chunks this thread keeps for its next arenas.
    pub fn pool_bytes() -> usize {
        pool::bytes()
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
        let place = self.place::<T>()?;
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
        self.bump(layout, |growth, cursor| growth.room_of(cursor, layout))
    }

    /// The same for a value of this type. What is called where there is no room is compiled for it.
    #[inline]
    fn place<T>(&self) -> Result<NonNull<T>, ArenaFull> {
        let layout = Layout::new::<T>();
        if layout.size() == 0 {
            return Ok(NonNull::dangling());
        }
        self.bump(layout, Growth::room_for::<T>).map(NonNull::cast)
    }

    /// What the arena has to grow from.
    #[inline]
    fn growth(&self) -> Growth {
        Growth { current: self.current.get(), limit: self.limit }
    }

    /// The current chunk, if there is one, which then knows how many bytes of it are in use.
    fn settled(&self) -> Option<Chunk> {
        let current = self.current.get()?;
        current.set_used_to(self.cursor.get());
        Some(current)
    }

    /// Takes the next bytes of the current chunk, or of the room that `grow` finds where it has too few. The layout is not
    /// empty.
    ///
    /// What is called does not learn the arena's address: it is given values and gives back a room. So an arena whose address
    /// nobody else knows is in registers as long as values are made; and where it is in memory, each load of the cursor
    /// follows the same store, which a processor foresees.
    #[inline]
    fn bump(
        &self,
        layout: Layout,
        grow: impl FnOnce(Growth, *mut u8) -> Option<Room>,
    ) -> Result<NonNull<u8>, ArenaFull> {
        let bytes = layout.size().next_multiple_of(UNIT);
        let mut start = self.cursor.get();
        let mut gap = gap_at(start, layout);
        // A layout is no larger than `isize::MAX` with its alignment, so that the sum does not overflow.
        if self.has_less_than(gap + bytes) {
            let Some((chunk, begin)) = grow(self.growth(), start) else { return Err(self.growth().refused(layout)) };
            self.current.set(Some(chunk));
            start = begin;
            gap = gap_at(start, layout);
        }
        let place = start.wrapping_add(gap);
        self.cursor.set(place.wrapping_add(bytes));
        // SAFETY: it lies in a chunk, which is not at address 0.
        Ok(unsafe { NonNull::new_unchecked(place) })
    }

    /// Whether less than so many bytes are left of the current chunk.
    #[inline]
    fn has_less_than(&self, bytes: usize) -> bool {
        let (start, end) = (self.cursor.get().addr(), self.current.get().map_or(0, Chunk::end));
        // Behind the end there is a footer, so that the sum is an address as well; who finds room needs it anyway.
        if bytes <= FOOTER_BYTES { start + bytes > end } else { bytes > end - start }
    }

    /// Makes a chunk of this arena the current one, with so many bytes of it in use. Nothing that lies behind may be.
    #[inline]
    fn go_to(&self, chunk: Chunk, used: usize) {
        self.cursor.set(chunk.start().wrapping_add(used));
        self.current.set(Some(chunk));
    }

    /// Goes back to the first chunk. Nothing may be in use.
    #[inline]
    fn go_to_start(&self) {
        if let Some(current) = self.current.get() {
            self.go_to(current.first(), 0);
        }
    }
}

/// How many bytes lie between an address, a multiple of eight, and the first one that is aligned as it has to be.
#[inline]
fn gap_at(from: *mut u8, layout: Layout) -> usize {
    if layout.align() > UNIT { from.addr().wrapping_neg() % layout.align() } else { 0 }
}

impl Drop for Arena {
    #[inline]
    fn drop(&mut self) {
        if let Some(current) = self.current.get() {
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
