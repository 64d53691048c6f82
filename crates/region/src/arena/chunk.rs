//! The chunks of arenas: memory from the system, and a pool of it for each thread.
//!
//! 1. A chunk is a header of 32 bytes and what lies behind it. Its size is one of eight classes, 512 bytes to 64 KiB, or
//!    whatever else somebody needs.
//! 2. An arena that is done gives its chunks to the pool of the thread that it is on. Those of a class are kept, as long as
//!    the pool holds no more bytes than its limit. All others go back to the system.
//! 3. A chunk of a class is taken from the pool of the thread, or from the system.
//! 4. A thread that ends gives its pool back to the system. Where a thread has no pool any more, there is only the system.
//!
//! Cost: a push or a pop and no lock; what the system asks where the pool has nothing.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::ptr::NonNull;

/// What a chunk begins with. All of a chunk is aligned to this.
#[repr(C, align(16))]
struct Header {
    previous: Cell<Option<Chunk>>,
    next: Cell<Option<Chunk>>,
    /// Bytes of the chunk, the header included.
    size: usize,
    /// How many bytes behind the header were free when the chunk was left.
    left: Cell<usize>,
}

pub(super) const HEADER_BYTES: usize = size_of::<Header>();
pub(super) const CHUNK_ALIGN: usize = align_of::<Header>();
pub(super) const SIZE_MIN: usize = 512;
const CLASSES: usize = 8;
pub(super) const SIZE_MAX: usize = SIZE_MIN << (CLASSES - 1);
/// What the pool of a thread may hold unless it is told otherwise.
const POOL_BYTES: usize = 4 << 20;

/// A chunk that exists: it is in one list of an arena, or in the pool, or in the hands of who takes or gives it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk(NonNull<Header>);

impl Chunk {
    /// A chunk of this size, a multiple of 8 between the header's and `isize::MAX`. It is in no list.
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
        debug_assert!(size >= HEADER_BYTES && size.is_multiple_of(8));
        let layout = Layout::from_size_align(size, CHUNK_ALIGN).ok()?;
        // SAFETY: the layout is not empty, since it holds a header.
        let memory = NonNull::new(unsafe { alloc(layout) })?.cast::<Header>();
        let header = Header { previous: Cell::new(None), next: Cell::new(None), size, left: Cell::new(0) };
        // SAFETY: the memory is fresh, large enough for a header and aligned to it.
        unsafe { memory.write(header) };
        Some(Chunk(memory))
    }

    /// Gives a chunk up that nobody uses any more.
    ///
    /// # Safety
    ///
    /// The chunk is in no list, and nothing refers to it or to what lies in it from now on.
    pub(super) unsafe fn give(self) {
        let kept = class_of(self.size()).is_some_and(|class| POOL.try_with(|pool| pool.push(class, self)) == Ok(true));
        if !kept {
            // SAFETY: as this function's, and the pool did not take it.
            unsafe { self.free() };
        }
    }

    /// Gives a chunk back to the system.
    ///
    /// # Safety
    ///
    /// The chunk is in no list, and nothing refers to it or to what lies in it from now on.
    #[cold]
    unsafe fn free(self) {
        let size = self.size();
        // SAFETY: the chunk was made with this very layout, which was valid then, and is not used again.
        unsafe { dealloc(self.0.as_ptr().cast(), Layout::from_size_align_unchecked(size, CHUNK_ALIGN)) };
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: a chunk exists as long as it is in a list or in somebody's hands, and its header is only ever shared: what
        // changes in it are cells, and a chunk is on one thread at a time.
        unsafe { self.0.as_ref() }
    }

    pub(super) fn size(self) -> usize {
        self.header().size
    }

    pub(super) fn next(self) -> Option<Chunk> {
        self.header().next.get()
    }

    pub(super) fn previous(self) -> Option<Chunk> {
        self.header().previous.get()
    }

    /// How many bytes were free when it was left.
    pub(super) fn left(self) -> usize {
        self.header().left.get()
    }

    pub(super) fn leave(self, left: usize) {
        self.header().left.set(left);
    }

    /// Links a chunk that is in no list between two neighbours.
    pub(super) fn link(self, previous: Option<Chunk>, next: Option<Chunk>) {
        self.header().previous.set(previous);
        self.header().next.set(next);
        if let Some(previous) = previous {
            previous.header().next.set(Some(self));
        }
        if let Some(next) = next {
            next.header().previous.set(Some(self));
        }
    }

    /// Ends its list here. What came behind is in a list of its own.
    pub(super) fn cut(self) {
        if let Some(next) = self.header().next.take() {
            next.header().previous.set(None);
        }
    }

    /// Takes a chunk out of its list. Who holds its first chunk has to look after that.
    pub(super) fn unlink(self) {
        let (previous, next) = (self.previous(), self.next());
        if let Some(previous) = previous {
            previous.header().next.set(next);
        }
        if let Some(next) = next {
            next.header().previous.set(previous);
        }
    }

    /// The first byte behind the header, as a pointer that may be moved all over the chunk.
    #[inline]
    pub(super) fn start(self) -> *mut u8 {
        self.0.as_ptr().cast::<u8>().wrapping_add(HEADER_BYTES)
    }

    /// The end of the chunk, as a pointer that may be moved all over it.
    #[inline]
    pub(super) fn end(self) -> *mut u8 {
        self.0.as_ptr().cast::<u8>().wrapping_add(self.size())
    }
}

/// The class of chunks of this size, if there is one.
fn class_of(size: usize) -> Option<usize> {
    let is_one = size.is_power_of_two() && (SIZE_MIN..=SIZE_MAX).contains(&size);
    is_one.then(|| (size / SIZE_MIN).ilog2() as usize)
}

/// Chunks that a thread keeps for its next arena: a list for each class, linked by `next`.
struct Pool {
    lists: [Cell<Option<Chunk>>; CLASSES],
    bytes: Cell<usize>,
    limit: Cell<usize>,
}

thread_local! {
    static POOL: Pool = const {
        Pool { lists: [const { Cell::new(None) }; CLASSES], bytes: Cell::new(0), limit: Cell::new(POOL_BYTES) }
    };
}

impl Pool {
    #[inline]
    fn pop(&self, class: usize) -> Option<Chunk> {
        let chunk = self.lists[class].get()?;
        self.lists[class].set(chunk.next());
        self.bytes.set(self.bytes.get() - (SIZE_MIN << class));
        Some(chunk)
    }

    /// Keeps a chunk if there is room for it.
    #[inline]
    fn push(&self, class: usize, chunk: Chunk) -> bool {
        let bytes = self.bytes.get() + (SIZE_MIN << class);
        let keeps = bytes <= self.limit.get();
        if keeps {
            chunk.header().next.set(self.lists[class].get());
            self.lists[class].set(Some(chunk));
            self.bytes.set(bytes);
        }
        keeps
    }

    /// Gives chunks back to the system, large ones first, until no more than so many bytes are left.
    fn shrink(&self, bytes: usize) {
        for class in (0..CLASSES).rev() {
            while self.bytes.get() > bytes
                && let Some(chunk) = self.pop(class)
            {
                // SAFETY: nobody uses what is in a pool, and it has just left its list.
                unsafe { chunk.free() };
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shrink(0);
    }
}

/// Sets how many bytes the pool of this thread may hold, and gives back what is above.
pub(super) fn set_pool_limit(bytes: usize) {
    // A thread whose pool is gone has nothing to set.
    let _ = POOL.try_with(|pool| {
        pool.limit.set(bytes);
        pool.shrink(bytes);
    });
}

/// How many bytes the pool of this thread holds.
pub(super) fn pool_bytes() -> usize {
    POOL.try_with(|pool| pool.bytes.get()).unwrap_or(0)
}
