//! The chunks of arenas: memory from the system, and lists of it.
//!
//! 1. A chunk is room for values and, at its end, a footer of 48 bytes. Its size is one of eight classes, 512 bytes to 64 KiB, or
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

/// What a chunk ends with. It is what a chunk is known by, so that an arena need not know where its room ends.
#[repr(C, align(16))]
struct Footer {
    /// How many bytes are in use in a chunk that an arena has left for the next one.
    used: Cell<usize>,
    /// Bytes of the chunk, the footer included.
    size: usize,
    class: Class,
    next: Cell<Option<Chunk>>,
    /// The first chunk of the list.
    first: Cell<Chunk>,
    /// In the first chunk: bytes of all chunks of the list. In others, and in lists of a pool, 0.
    held: Cell<usize>,
}

pub(super) const FOOTER_BYTES: usize = size_of::<Footer>();
/// What the size of a chunk is a multiple of.
pub(super) const SIZE_UNIT: usize = align_of::<Footer>();
/// What a chunk is aligned to: a cache line.
pub(super) const CHUNK_ALIGN: usize = 64;
pub(super) const SIZE_MIN: usize = 512;
pub(super) const SIZE_MAX: usize = Class::SIZE_MAX;

/// A chunk that exists: it is in one list of an arena, or in a pool, or in the hands of who takes or gives it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk(NonNull<Footer>);

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
        let held = first.footer().held.get() + size;
        if held > limit {
            return None;
        }
        let chunk = pool::pop(self.class().twice(), size)?;
        let footer = chunk.footer();
        footer.next.set(None);
        footer.first.set(first);
        self.footer().next.set(Some(chunk));
        first.footer().held.set(held);
        Some((chunk, size))
    }

    /// A chunk of this size, a multiple of [`SIZE_UNIT`] between the footer's and `isize::MAX`. It is alone in a list.
    pub(super) fn take(size: usize) -> Option<Chunk> {
        let Some(chunk) = pool::pop(Class::of(size), size) else { return Chunk::make(size) };
        chunk.alone();
        Some(chunk)
    }

    #[cold]
    fn make(size: usize) -> Option<Chunk> {
        debug_assert!(size >= FOOTER_BYTES && size.is_multiple_of(SIZE_UNIT));
        let layout = Layout::from_size_align(size, CHUNK_ALIGN).ok()?;
        // SAFETY: the layout is not empty, since it holds a footer.
        let memory = NonNull::new(unsafe { alloc(layout) })?;
        // SAFETY: a footer lies within the memory.
        let chunk = Chunk(unsafe { memory.add(size - FOOTER_BYTES) }.cast());
        let (used, held) = (Cell::new(0), Cell::new(size));
        let (class, next, first) = (Class::of(size), Cell::new(None), Cell::new(chunk));
        // SAFETY: the memory is fresh, large enough for a footer, and its end is aligned to one.
        unsafe { chunk.0.write(Footer { used, size, class, next, first, held }) };
        Some(chunk)
    }

    /// Makes a chunk a list of its own.
    #[inline]
    fn alone(self) {
        let footer = self.footer();
        footer.next.set(None);
        footer.first.set(self);
        footer.held.set(self.size());
    }

    /// Gives up all chunks of the list that this one is in.
    ///
    /// # Safety
    ///
    /// Nothing refers to any of them or to what lies in them from now on.
    #[inline]
    pub(super) unsafe fn give_list(self) {
        // That is all there is: a chunk that is not the first of its list says that the list has nothing.
        let is_alone = self.size() == SIZE_MIN && self.footer().held.get() == SIZE_MIN;
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
            self.footer().next.set(None);
            self.footer().held.set(SIZE_MIN);
        } else {
            self.footer().held.set(0);
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
        let (memory, size) = (self.start(), self.size());
        // SAFETY: the chunk was made with this very layout, which was valid then, and is not used again.
        unsafe { dealloc(memory, Layout::from_size_align_unchecked(size, CHUNK_ALIGN)) };
    }

    #[inline]
    fn footer(&self) -> &Footer {
        // SAFETY: a chunk exists as long as it is in a list or in somebody's hands, and its footer is only ever shared: what
        // changes in it are cells, and a chunk is on one thread at a time.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    pub(super) fn size(self) -> usize {
        self.footer().size
    }

    #[inline]
    pub(super) fn class(self) -> Class {
        self.footer().class
    }

    /// How many bytes were in use when it was left.
    #[inline]
    pub(super) fn used(self) -> usize {
        self.footer().used.get()
    }

    /// Notes that it is in use up to a cursor, which lies in its room, or at the end of that.
    #[inline]
    pub(super) fn set_used_to(self, cursor: *mut u8) {
        let used = cursor.addr() - self.start().addr();
        debug_assert!(used <= self.room());
        self.footer().used.set(used);
    }

    /// How many bytes it has for values.
    #[inline]
    pub(super) fn room(self) -> usize {
        self.size() - FOOTER_BYTES
    }

    /// Where its room begins, as a pointer that may be moved all over it.
    #[inline]
    pub(super) fn start(self) -> *mut u8 {
        self.start_of(self.size())
    }

    /// The same for a chunk of this size, which need not be read then.
    #[inline]
    pub(super) fn start_of(self, size: usize) -> *mut u8 {
        self.0.as_ptr().cast::<u8>().wrapping_sub(size - FOOTER_BYTES)
    }

    /// The address at which its room ends.
    #[inline]
    pub(super) fn end(self) -> usize {
        self.0.addr().get()
    }

    #[inline]
    pub(super) fn next(self) -> Option<Chunk> {
        self.footer().next.get()
    }

    pub(super) fn set_next(self, next: Option<Chunk>) {
        self.footer().next.set(next);
    }

    #[inline]
    pub(super) fn first(self) -> Chunk {
        self.footer().first.get()
    }

    /// Bytes of all chunks of its list.
    pub(super) fn held(self) -> usize {
        self.first().footer().held.get()
    }

    /// Puts a chunk that is alone behind this one.
    pub(super) fn insert(self, chunk: Chunk) {
        let held = self.held() + chunk.size();
        let new = chunk.footer();
        new.next.set(self.next());
        new.first.set(self.first());
        new.held.set(0);
        self.footer().next.set(Some(chunk));
        self.first().footer().held.set(held);
    }

    /// Takes out the chunk behind this one. It is alone then.
    pub(super) fn take_next(self) -> Option<Chunk> {
        let chunk = self.next()?;
        let held = self.held() - chunk.size();
        self.footer().next.set(chunk.next());
        self.first().footer().held.set(held);
        chunk.alone();
        Some(chunk)
    }
}
