//! The chunks of arenas: memory from the system, and lists of it.
//!
//! 1. A chunk is a header of 48 bytes and what lies behind it. Its size is one of eight classes, 512 bytes to 64 KiB, or
//!    whatever else somebody needs.
//! 2. An arena that is done gives its chunks to the pool of the thread that it is on, which keeps those of a class as long as
//!    there is room for them. All others go back to the system.
//! 3. A chunk is taken from the pool, or from the system.
//!
//! Cost: a push or a pop and no lock; what the system asks where the pool has nothing.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::ptr::NonNull;

use super::pool::{self, Class};

/// What a chunk begins with. What is made first lies right behind it, most often in the same cache line.
#[repr(C, align(16))]
struct Header {
    /// How many bytes are in use, the header included, in a chunk that an arena has left for the next one.
    used: Cell<usize>,
    /// Bytes of the chunk, the header included.
    size: usize,
    class: Class,
    next: Cell<Option<Chunk>>,
    /// The first chunk of the list.
    first: Cell<Chunk>,
    /// In the first chunk: bytes of all chunks of the list. In others, and in lists of a pool, 0.
    held: Cell<usize>,
}

pub(super) const HEADER_BYTES: usize = size_of::<Header>();
/// What the size of a chunk is a multiple of.
pub(super) const SIZE_UNIT: usize = align_of::<Header>();
/// What a chunk is aligned to, so that its header and what is made first share a cache line.
pub(super) const CHUNK_ALIGN: usize = 64;
pub(super) const SIZE_MIN: usize = 512;
pub(super) const SIZE_MAX: usize = Class::SIZE_MAX;

/// A chunk that exists: it is in one list of an arena, or in a pool, or in the hands of who takes or gives it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk(NonNull<Header>);

impl Chunk {
    /// A chunk of the least size, alone in a list, if the stack of this thread has one.
    #[inline]
    pub(super) fn take_least() -> Option<Chunk> {
        pool::pop_least()
    }

    /// Puts a chunk that is twice as large behind this one, the last of its list, if the pool has one and the list may then
    /// hold so many bytes. Gives the size as well.
    #[inline]
    pub(super) fn take_twice(self, limit: usize) -> Option<(Chunk, usize)> {
        // Nothing overflows: neither size nor sum is more than three times what is allocated.
        let (first, size) = (self.first(), 2 * self.size());
        let held = first.header().held.get() + size;
        if held > limit {
            return None;
        }
        let chunk = pool::pop(self.class().twice(), size)?;
        let header = chunk.header();
        header.next.set(None);
        header.first.set(first);
        self.header().next.set(Some(chunk));
        first.header().held.set(held);
        Some((chunk, size))
    }

    /// A chunk of this size, a multiple of [`SIZE_UNIT`] between the header's and `isize::MAX`. It is alone in a list.
    pub(super) fn take(size: usize) -> Option<Chunk> {
        let Some(chunk) = pool::pop(Class::of(size), size) else { return Chunk::make(size) };
        chunk.alone();
        Some(chunk)
    }

    #[cold]
    fn make(size: usize) -> Option<Chunk> {
        debug_assert!(size >= HEADER_BYTES && size.is_multiple_of(SIZE_UNIT));
        let layout = Layout::from_size_align(size, CHUNK_ALIGN).ok()?;
        // SAFETY: the layout is not empty, since it holds a header.
        let chunk = Chunk(NonNull::new(unsafe { alloc(layout) })?.cast());
        let (used, held) = (Cell::new(HEADER_BYTES), Cell::new(size));
        let (class, next, first) = (Class::of(size), Cell::new(None), Cell::new(chunk));
        // SAFETY: the memory is fresh, large enough for a header and aligned to it.
        unsafe { chunk.0.write(Header { used, size, class, next, first, held }) };
        Some(chunk)
    }

    /// Makes a chunk a list of its own.
    #[inline]
    fn alone(self) {
        let header = self.header();
        header.next.set(None);
        header.first.set(self);
        header.held.set(self.size());
    }

    /// Gives up all chunks of the list that this one is in.
    ///
    /// # Safety
    ///
    /// Nothing refers to any of them or to what lies in them from now on.
    #[inline]
    pub(super) unsafe fn give_list(self) {
        // That is all there is: a chunk that is not the first of its list says that the list has nothing.
        let is_alone = self.size() == SIZE_MIN && self.header().held.get() == SIZE_MIN;
        if is_alone && pool::push_least(self) {
            return;
        }
        // SAFETY: as this function's, and the stack did not take it.
        unsafe { self.first().give_from() };
    }

    /// Gives up a list, from its first chunk on.
    ///
    /// # Safety
    ///
    /// As for [`Chunk::give_list`].
    #[inline(never)]
    unsafe fn give_from(self) {
        // Most often a list begins with a chunk of the least size, which is the first of its list as it is.
        let mut rest = Some(self);
        if self.size() == SIZE_MIN && pool::push_least(self) {
            rest = self.next();
            self.header().next.set(None);
            self.header().held.set(SIZE_MIN);
        } else {
            self.header().held.set(0);
        }
        if let Some(rest) = rest.and_then(pool::push) {
            // SAFETY: as this function's, and the pool did not take these.
            unsafe { rest.give_slowly() };
        }
    }

    /// Gives up a list, from a chunk on for which the pool has no room, or has had none yet.
    ///
    /// # Safety
    ///
    /// As for [`Chunk::give_list`].
    #[cold]
    #[inline(never)]
    unsafe fn give_slowly(self) {
        pool::begin();
        let mut rest = pool::push(self);
        while let Some(at) = rest {
            rest = at.next().and_then(pool::push);
            // SAFETY: as this function's; its neighbours are not looked at through it any more, and the pool did not take it.
            unsafe { at.free() };
        }
    }

    /// Gives a chunk back to the system.
    ///
    /// # Safety
    ///
    /// Nothing refers to the chunk or to what lies in it from now on.
    #[cold]
    pub(super) unsafe fn free(self) {
        let (memory, size) = (self.0.as_ptr().cast(), self.size());
        // SAFETY: the chunk was made with this very layout, which was valid then, and is not used again.
        unsafe { dealloc(memory, Layout::from_size_align_unchecked(size, CHUNK_ALIGN)) };
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: a chunk exists as long as it is in a list or in somebody's hands, and its header is only ever shared: what
        // changes in it are cells, and a chunk is on one thread at a time.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    pub(super) fn size(self) -> usize {
        self.header().size
    }

    #[inline]
    pub(super) fn class(self) -> Class {
        self.header().class
    }

    /// How many bytes were in use when it was left, the header included.
    #[inline]
    pub(super) fn used(self) -> usize {
        self.header().used.get()
    }

    /// Notes that it is in use up to a cursor, which lies in it behind the header, or at its end.
    pub(super) fn set_used_to(self, cursor: *mut u8) {
        let used = cursor.addr() - self.at(0).addr();
        debug_assert!((HEADER_BYTES..=self.size()).contains(&used));
        self.header().used.set(used);
    }

    /// The byte at this distance from the start of the chunk, as a pointer that may be moved all over it.
    #[inline]
    pub(super) fn at(self, offset: usize) -> *mut u8 {
        self.0.as_ptr().cast::<u8>().wrapping_add(offset)
    }

    #[inline]
    pub(super) fn next(self) -> Option<Chunk> {
        self.header().next.get()
    }

    pub(super) fn set_next(self, next: Option<Chunk>) {
        self.header().next.set(next);
    }

    #[inline]
    pub(super) fn first(self) -> Chunk {
        self.header().first.get()
    }

    /// Bytes of all chunks of its list.
    pub(super) fn held(self) -> usize {
        self.first().header().held.get()
    }

    /// Puts a chunk that is alone behind this one.
    pub(super) fn insert(self, chunk: Chunk) {
        let held = self.held() + chunk.size();
        let new = chunk.header();
        new.next.set(self.next());
        new.first.set(self.first());
        new.held.set(0);
        self.header().next.set(Some(chunk));
        self.first().header().held.set(held);
    }

    /// Takes out the chunk behind this one. It is alone then.
    pub(super) fn take_next(self) -> Option<Chunk> {
        let chunk = self.next()?;
        let held = self.held() - chunk.size();
        self.header().next.set(chunk.next());
        self.first().header().held.set(held);
        chunk.alone();
        Some(chunk)
    }
}
