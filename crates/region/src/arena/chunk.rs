//! The chunks of arenas: memory from the system, and a pool of it for each thread.
//!
//! 1. A chunk is a header of 48 bytes and what lies behind it. Its size is one of eight classes, 512 bytes to 64 KiB, or
//!    whatever else somebody needs.
//! 2. An arena that is done gives its chunks to the thread that it is on: those of the least size to a stack, others of a class
//!    and what the stack has no room for to a pool, as long as both hold no more bytes than their limit. All others go back to
//!    the system.
//! 3. A chunk is taken from the stack, from the pool, or from the system.
//! 4. A thread that ends gives both back to the system. From then on there is only the system.
//!
//! Cost: a push or a pop and no lock; what the system asks where the pool has nothing.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::ptr::NonNull;

/// What a chunk begins with. What is made first lies right behind it, most often in the same cache line.
#[repr(C, align(16))]
struct Header {
    /// How many bytes are in use, the header included, in a chunk that an arena has left for the next one.
    used: Cell<usize>,
    /// Bytes of the chunk, the header included.
    size: usize,
    previous: Cell<Option<Chunk>>,
    next: Cell<Option<Chunk>>,
    /// The first chunk of the list.
    first: Cell<Option<Chunk>>,
    /// In the first chunk: bytes of all chunks of the list. In others 0.
    held: Cell<usize>,
}

pub(super) const HEADER_BYTES: usize = size_of::<Header>();
/// What the size of a chunk is a multiple of.
pub(super) const SIZE_UNIT: usize = align_of::<Header>();
/// What a chunk is aligned to, so that its header and what is made first share a cache line.
pub(super) const CHUNK_ALIGN: usize = 64;
pub(super) const SIZE_MIN: usize = 512;
const CLASSES: usize = 8;
pub(super) const SIZE_MAX: usize = SIZE_MIN << (CLASSES - 1);
/// What the pool of a thread may hold unless it is told otherwise.
const POOL_BYTES: usize = 4 << 20;

/// A chunk that exists: it is in one list of an arena, or in the pool, or in the hands of who takes or gives it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk(NonNull<Header>);

impl Chunk {
    /// A chunk of the least size, alone in a list, if the stack of this thread has one.
    #[inline]
    pub(super) fn take_least() -> Option<Chunk> {
        STACK.with(Stack::pop)
    }

    /// A chunk of this size, a multiple of [`SIZE_UNIT`] between the header's and `isize::MAX`. It is alone in a list.
    pub(super) fn take(size: usize) -> Option<Chunk> {
        if let Some(class) = class_of(size)
            && let Ok(Some(chunk)) = POOL.try_with(|pool| pool.pop(class))
        {
            return Some(chunk);
        }
        Chunk::make(size)
    }

    #[cold]
    fn make(size: usize) -> Option<Chunk> {
        debug_assert!(size >= HEADER_BYTES && size.is_multiple_of(SIZE_UNIT));
        let layout = Layout::from_size_align(size, CHUNK_ALIGN).ok()?;
        // SAFETY: the layout is not empty, since it holds a header.
        let chunk = Chunk(NonNull::new(unsafe { alloc(layout) })?.cast());
        let (used, held) = (Cell::new(HEADER_BYTES), Cell::new(size));
        let [previous, next, first] = [None, None, Some(chunk)].map(Cell::new);
        // SAFETY: the memory is fresh, large enough for a header and aligned to it.
        unsafe { chunk.0.write(Header { used, size, previous, next, first, held }) };
        Some(chunk)
    }

    /// Makes a chunk a list of its own.
    #[inline]
    fn alone(self) {
        let header = self.header();
        header.previous.set(None);
        header.next.set(None);
        header.first.set(Some(self));
        header.held.set(header.size);
    }

    /// Gives up all chunks of the list that this one is in.
    ///
    /// # Safety
    ///
    /// Nothing refers to any of them or to what lies in them from now on.
    #[inline]
    pub(super) unsafe fn give_list(self) {
        // That is all there is: a chunk that is not the first of its list says that the list has nothing.
        let is_alone = self.header().held.get() == self.size();
        if is_alone && self.size() == SIZE_MIN && STACK.with(|stack| stack.push(self)) {
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
    #[cold]
    #[inline(never)]
    unsafe fn give_from(self) {
        let mut chunk = Some(self);
        while let Some(at) = chunk {
            chunk = at.next();
            at.alone();
            let kept = class_of(at.size()).is_some_and(|class| POOL.try_with(|pool| pool.push(class, at)) == Ok(true));
            if !kept {
                // SAFETY: as this function's; its neighbours are not looked at through it any more, and the pool did not take it.
                unsafe { at.free() };
            }
        }
    }

    /// Gives a chunk back to the system.
    ///
    /// # Safety
    ///
    /// Nothing refers to the chunk or to what lies in it from now on.
    #[cold]
    unsafe fn free(self) {
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

    pub(super) fn previous(self) -> Option<Chunk> {
        self.header().previous.get()
    }

    #[inline]
    pub(super) fn first(self) -> Chunk {
        self.header().first.get().unwrap_or(self)
    }

    /// Bytes of all chunks of its list.
    pub(super) fn held(self) -> usize {
        self.first().header().held.get()
    }

    /// Puts a chunk that is alone behind this one.
    pub(super) fn insert(self, chunk: Chunk) {
        let held = self.held() + chunk.size();
        let (new, next) = (chunk.header(), self.next());
        new.previous.set(Some(self));
        new.next.set(next);
        new.first.set(Some(self.first()));
        new.held.set(0);
        self.header().next.set(Some(chunk));
        if let Some(next) = next {
            next.header().previous.set(Some(chunk));
        }
        self.first().header().held.set(held);
    }

    /// Takes out the chunk behind this one. It is alone then.
    pub(super) fn take_next(self) -> Option<Chunk> {
        let chunk = self.next()?;
        let held = self.held() - chunk.size();
        self.header().next.set(chunk.next());
        if let Some(next) = chunk.next() {
            next.header().previous.set(Some(self));
        }
        self.first().header().held.set(held);
        chunk.alone();
        Some(chunk)
    }
}

/// The class of chunks of this size, if there is one.
#[inline]
fn class_of(size: usize) -> Option<usize> {
    let is_one = size.is_power_of_two() && (SIZE_MIN..=SIZE_MAX).contains(&size);
    is_one.then(|| (size / SIZE_MIN).ilog2() as usize)
}

/// Chunks of the least size that a thread keeps for its next arenas, where they are found first.
///
/// An array and not a list: to take one need not wait for what lies in the one before.
struct Stack {
    chunks: [Cell<Option<Chunk>>; STACK_CHUNKS],
    length: Cell<usize>,
    /// The most that it holds: nothing before the pool is there and after it is gone, which empties it.
    limit: Cell<usize>,
}

const STACK_CHUNKS: usize = 1024;

/// Chunks that a thread keeps beside its stack: a list for each class, linked by `next`.
struct Pool {
    lists: [Cell<Option<Chunk>>; CLASSES],
    bytes: Cell<usize>,
    /// How many bytes of chunks the pool and the stack may hold.
    limit: Cell<usize>,
}

thread_local! {
    // Nothing to drop, so that it is there for arenas that are dropped while the thread ends.
    static STACK: Stack = const {
        Stack { chunks: [const { Cell::new(None) }; STACK_CHUNKS], length: Cell::new(0), limit: Cell::new(0) }
    };
    static POOL: Pool = const {
        Pool { lists: [const { Cell::new(None) }; CLASSES], bytes: Cell::new(0), limit: Cell::new(POOL_BYTES) }
    };
}

impl Stack {
    #[inline]
    fn pop(&self) -> Option<Chunk> {
        let last = self.length.get().checked_sub(1)?;
        self.length.set(last);
        self.chunks[last % STACK_CHUNKS].get()
    }

    /// Keeps a chunk of the least size that is alone, if there is room for it.
    #[inline]
    fn push(&self, chunk: Chunk) -> bool {
        let length = self.length.get();
        if length >= self.limit.get() {
            return false;
        }
        self.chunks[length % STACK_CHUNKS].set(Some(chunk));
        self.length.set(length + 1);
        true
    }
}

impl Pool {
    /// A chunk of a class, alone.
    fn pop(&self, class: usize) -> Option<Chunk> {
        let chunk = self.lists[class].get()?;
        self.lists[class].set(chunk.next());
        self.bytes.set(self.bytes.get() - (SIZE_MIN << class));
        chunk.header().next.set(None);
        Some(chunk)
    }

    /// Keeps a chunk that is alone, if there is room for it.
    fn push(&self, class: usize, chunk: Chunk) -> bool {
        let stack_limit = STACK_CHUNKS.min(self.limit.get() / SIZE_MIN);
        let on_stack = STACK.with(|stack| {
            stack.limit.set(stack_limit);
            class == 0 && stack.push(chunk)
        });
        let bytes = self.bytes.get() + (SIZE_MIN << class);
        let keeps = !on_stack && bytes <= self.limit.get() - stack_limit * SIZE_MIN;
        if keeps {
            chunk.header().next.set(self.lists[class].get());
            self.lists[class].set(Some(chunk));
            self.bytes.set(bytes);
        }
        on_stack || keeps
    }

    /// Holds no more than so many bytes from now on, and gives back what is above.
    fn set_limit(&self, bytes: usize) {
        self.limit.set(bytes);
        let stack_limit = STACK_CHUNKS.min(bytes / SIZE_MIN);
        STACK.with(|stack| {
            stack.limit.set(stack_limit);
            while stack.length.get() > stack_limit
                && let Some(chunk) = stack.pop()
            {
                // SAFETY: nobody uses what is kept, and it has just left the stack.
                unsafe { chunk.free() };
            }
        });
        for class in (0..CLASSES).rev() {
            while self.bytes.get() > bytes - stack_limit * SIZE_MIN
                && let Some(chunk) = self.pop(class)
            {
                // SAFETY: nobody uses what is kept, and it has just left its list.
                unsafe { chunk.free() };
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.set_limit(0);
    }
}

/// Sets how many bytes of chunks this thread may keep, and gives back what is above.
pub(super) fn set_pool_limit(bytes: usize) {
    // A thread whose pool is gone keeps nothing.
    let _ = POOL.try_with(|pool| pool.set_limit(bytes));
}

/// How many bytes of chunks this thread keeps.
pub(super) fn pool_bytes() -> usize {
    let beside = POOL.try_with(|pool| pool.bytes.get()).unwrap_or(0);
    beside + STACK.with(|stack| stack.length.get()) * SIZE_MIN
}
