//! Heaps of a thread that were used and will be again.
//!
//! A heap that is dropped gives its memory back to the system, and the next one asks for it again, page by page. One that was
//! [taken](take) out of the pool goes back to it when it is dropped, with its chunks, and is the next to be taken. The pool
//! holds heaps up to a number of [bytes](set_limit), whatever their number; what does not fit is given back to the system, and
//! all of it when the thread ends.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

use crate::heap::Heap;

/// What a thread's pool holds at most, unless told otherwise.
pub const BYTES_MAX: usize = 16 << 20;

#[derive(Debug)]
struct Pool {
    heaps: Vec<Heap>,
    bytes: usize,
    limit: usize,
}

thread_local! {
    static POOL: RefCell<Pool> = const { RefCell::new(Pool { heaps: Vec::new(), bytes: 0, limit: BYTES_MAX }) };
}

/// A heap that goes back to the pool of the thread where it is dropped.
#[derive(Debug)]
pub struct Pooled {
    heap: Heap,
}

/// A heap as [`Heap::new`] makes it, with what memory the last one left in the pool of this thread. Its statistics begin anew,
/// but for the chunks that it has.
pub fn take() -> Pooled {
    let heap = POOL.try_with(|pool| pool.borrow_mut().take()).ok().flatten();
    Pooled { heap: heap.unwrap_or_default() }
}

/// Sets how many bytes the heaps in the pool of this thread may have together; gives back what is more.
pub fn set_limit(bytes: usize) {
    let dropped = POOL.try_with(|pool| pool.borrow_mut().set_limit(bytes));
    drop(dropped);
}

/// The bytes that the heaps in the pool of this thread have.
pub fn bytes() -> usize {
    POOL.try_with(|pool| pool.borrow().bytes).unwrap_or(0)
}

impl Pool {
    fn take(&mut self) -> Option<Heap> {
        let heap = self.heaps.pop()?;
        self.bytes -= heap.bytes_held();
        Some(heap)
    }

    /// Takes a heap back, or gives it to be dropped.
    fn put(&mut self, heap: Heap) -> Option<Heap> {
        let bytes = heap.bytes_held();
        if bytes > self.limit.saturating_sub(self.bytes) || self.heaps.try_reserve(1).is_err() {
            return Some(heap);
        }
        self.bytes += bytes;
        self.heaps.push(heap);
        None
    }

    fn set_limit(&mut self, bytes: usize) -> Vec<Heap> {
        self.limit = bytes;
        let mut dropped = Vec::new();
        while self.bytes > bytes {
            dropped.extend(self.take());
        }
        dropped
    }
}

impl Deref for Pooled {
    type Target = Heap;

    fn deref(&self) -> &Heap {
        &self.heap
    }
}

impl DerefMut for Pooled {
    fn deref_mut(&mut self) -> &mut Heap {
        &mut self.heap
    }
}

impl Drop for Pooled {
    /// A thread that ends may have no pool any more; the heap is dropped then.
    fn drop(&mut self) {
        let mut heap = std::mem::take(&mut self.heap);
        heap.reset();
        let dropped = POOL.try_with(|pool| pool.borrow_mut().put(heap));
        drop(dropped);
    }
}
