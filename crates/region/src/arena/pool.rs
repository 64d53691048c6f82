//! The chunks that a thread keeps for its next arenas.
//!
//! 1. Those of the least size, with which most arenas begin, lie in a stack. Others of a class, and what the stack has no room
//!    for, lie in a list for each class.
//! 2. To take a chunk is a pop, and to give a list of them a push for each, found by the number of its class, which the chunk
//!    knows.
//! 3. Stack and lists together hold no more bytes than the pool's limit.
//! 4. A thread that ends gives all of them back to the system, and keeps none from then on.
#![allow(unsafe_code)]

use std::cell::Cell;

use super::chunk::{Chunk, SIZE_MIN};

/// A size of chunks that are kept, a power of two; or [`Class::NONE`], for any other size.
#[derive(Clone, Copy)]
pub(super) struct Class(usize);

impl Class {
    const COUNT: usize = 8;
    const NONE: Class = Class(Class::COUNT);
    /// All numbers are below this power of two, so that a remainder keeps an index within bounds.
    const NUMBERS: usize = 16;
    pub(super) const SIZE_MAX: usize = SIZE_MIN << (Class::COUNT - 1);

    /// The class of chunks of this size.
    #[inline]
    pub(super) fn of(size: usize) -> Class {
        let is_one = size.is_power_of_two() && (SIZE_MIN..=Class::SIZE_MAX).contains(&size);
        if is_one { Class((size / SIZE_MIN).ilog2() as usize) } else { Class::NONE }
    }

    /// The class of chunks that are twice as large. Of chunks that are in none, and of the largest, it is one without chunks.
    #[inline]
    pub(super) fn twice(self) -> Class {
        Class(self.0 + 1)
    }
}

/// What a thread may keep unless it is told otherwise, in bytes.
const LIMIT: usize = 4 << 20;
const STACK_CHUNKS: usize = 1024;

/// Nothing to drop, so that it is there for arenas that are dropped while the thread ends.
struct Pool {
    stack: Stack,
    lists: Lists,
}

/// Chunks of the least size, each alone.
///
/// An array and not a list: to take one need not wait for what lies in the one before.
struct Stack {
    chunks: [Cell<Option<Chunk>>; STACK_CHUNKS],
    length: Cell<usize>,
    /// The most that it holds: nothing before the keeper is there and after it is gone.
    limit: Cell<usize>,
}

/// A list of chunks for each class, linked by `next`. Those of other numbers stay empty.
struct Lists {
    firsts: [Cell<Option<Chunk>>; Class::NUMBERS],
    bytes: Cell<usize>,
    /// The most bytes that they hold together: 0 before the keeper is there and after it is gone.
    limit: Cell<usize>,
}

/// Gives back what is kept when the thread ends.
struct Keeper {
    /// How many bytes of chunks the thread may keep.
    limit: Cell<usize>,
}

thread_local! {
    static POOL: Pool = const {
        Pool {
            stack: Stack { chunks: [const { Cell::new(None) }; STACK_CHUNKS], length: Cell::new(0), limit: Cell::new(0) },
            lists: Lists { firsts: [const { Cell::new(None) }; Class::NUMBERS], bytes: Cell::new(0), limit: Cell::new(0) },
        }
    };
    static KEEPER: Keeper = const { Keeper { limit: Cell::new(LIMIT) } };
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

impl Lists {
    /// A chunk of a class and its size, which still has the links that it was kept with.
    #[inline]
    fn pop(&self, class: Class, size: usize) -> Option<Chunk> {
        let list = &self.firsts[class.0 % Class::NUMBERS];
        let chunk = list.get()?;
        list.set(chunk.next());
        self.bytes.set(self.bytes.get() - size);
        Some(chunk)
    }

    /// Keeps the chunks of a list from this one on, up to one that is of no class or for which there is no room, which it
    /// gives back.
    #[inline]
    fn push(&self, chunk: Chunk) -> Option<Chunk> {
        let (mut rest, mut bytes, limit) = (Some(chunk), self.bytes.get(), self.limit.get());
        while let Some(at) = rest {
            let (class, more) = (at.class(), bytes + at.size());
            if class.0 >= Class::COUNT || more > limit {
                break;
            }
            let list = &self.firsts[class.0];
            rest = at.next();
            at.set_next(list.get());
            list.set(Some(at));
            bytes = more;
        }
        self.bytes.set(bytes);
        rest
    }
}

impl Pool {
    /// Holds no more than so many bytes from now on, and gives back what is above.
    fn set_limit(&self, bytes: usize) {
        let stacked = STACK_CHUNKS.min(bytes / SIZE_MIN);
        self.stack.limit.set(stacked);
        self.lists.limit.set(bytes - stacked * SIZE_MIN);
        while self.stack.length.get() > stacked
            && let Some(chunk) = self.stack.pop()
        {
            // SAFETY: nobody uses what is kept, and it has just left the stack.
            unsafe { chunk.free() };
        }
        for class in (0..Class::COUNT).rev() {
            while self.lists.bytes.get() > self.lists.limit.get()
                && let Some(chunk) = self.lists.pop(Class(class), SIZE_MIN << class)
            {
                // SAFETY: nobody uses what is kept, and it has just left its list.
                unsafe { chunk.free() };
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        POOL.with(|pool| pool.set_limit(0));
    }
}

/// A chunk of the least size, alone in a list, if the stack has one.
#[inline]
pub(super) fn pop_least() -> Option<Chunk> {
    POOL.with(|pool| pool.stack.pop())
}

/// A chunk of a class and its size, if its list has one. It still has the links that it was kept with.
#[inline]
pub(super) fn pop(class: Class, size: usize) -> Option<Chunk> {
    POOL.with(|pool| pool.lists.pop(class, size))
}

/// Keeps a chunk of the least size that is alone in a list, if the stack has room for it.
#[inline]
pub(super) fn push_least(chunk: Chunk) -> bool {
    POOL.with(|pool| pool.stack.push(chunk))
}

/// Keeps the chunks of a list from this one on, none of which anything refers to any more, up to one that is of no class or
/// for which there is no room, which it gives back.
#[inline]
pub(super) fn push(chunk: Chunk) -> Option<Chunk> {
    POOL.with(|pool| pool.lists.push(chunk))
}

/// Has the thread keep chunks, unless it is ending.
pub(super) fn begin() {
    // A thread whose keeper is gone keeps nothing.
    let _ = KEEPER.try_with(|keeper| POOL.with(|pool| pool.set_limit(keeper.limit.get())));
}

/// Sets how many bytes of chunks this thread may keep, and gives back what is above.
pub(super) fn set_limit(bytes: usize) {
    // A thread whose keeper is gone keeps nothing.
    let _ = KEEPER.try_with(|keeper| {
        keeper.limit.set(bytes);
        POOL.with(|pool| pool.set_limit(bytes));
    });
}

/// How many bytes of chunks this thread keeps.
pub(super) fn bytes() -> usize {
    POOL.with(|pool| pool.lists.bytes.get() + pool.stack.length.get() * SIZE_MIN)
}
