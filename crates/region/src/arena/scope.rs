//! Scopes: what is made in one is given back when it ends, while what was made before stays in use.
//!
//! A scope is handed to a function and cannot leave it, since the function must work for a lifetime that it does not know.
//! While a scope inside of another is open, the outer one is borrowed and makes nothing. So values lie in the order of scopes,
//! and going back to where one began gives back exactly what was made in it.

use super::{Arena, ArenaFull, ArenaMark, Chunk};

/// Makes values that stay until the scope ends. See [`Arena::scoped`].
#[derive(Debug)]
pub struct ArenaScope<'s> {
    arena: &'s Arena,
}

impl Arena {
    /// Calls a function with a scope: what it makes is given back when it returns or panics.
    ///
    /// A scope inside of it gives back what is made there, and nothing else:
    ///
    /// ```
    /// let mut arena = region::Arena::new();
    /// let sum = arena.scoped(|outer| {
    ///     let kept = outer.alloc(1_u64);
    ///     for more in 0..1_000 {
    ///         *kept += outer.scoped(|inner| *inner.alloc(more));
    ///     }
    ///     *kept
    /// });
    /// assert_eq!((sum, arena.statistics().bytes_used, arena.statistics().chunks), (499_501, 0, 1));
    /// ```
    ///
    /// No value leaves its scope:
    ///
    /// ```compile_fail
    /// let mut arena = region::Arena::new();
    /// let one = arena.scoped(|scope| scope.alloc(1_u64));
    /// ```
    pub fn scoped<R>(&mut self, work: impl FnOnce(&mut ArenaScope<'_>) -> R) -> R {
        ArenaScope { arena: self }.scoped(work)
    }
}

impl<'s> ArenaScope<'s> {
    /// Calls a function with a scope inside of this one: what it makes is given back when it returns or panics.
    pub fn scoped<R>(&mut self, work: impl FnOnce(&mut ArenaScope<'_>) -> R) -> R {
        let arena = self.arena;
        let ending = Ending { arena, cursor: arena.cursor.get(), chunk: arena.current.get() };
        work(&mut ArenaScope { arena: ending.arena })
    }

    /// Moves a value into the arena, see [`Arena::alloc`].
    #[inline]
    pub fn alloc<T>(&self, value: T) -> &'s mut T {
        self.arena.alloc(value)
    }

    /// Moves a value into the arena, if there is room for it.
    #[inline]
    pub fn try_alloc<T>(&self, value: T) -> Result<&'s mut T, ArenaFull> {
        self.arena.try_alloc(value)
    }

    /// Makes a value in the arena, if there is room for it, see [`Arena::try_alloc_with`].
    #[inline]
    pub fn try_alloc_with<T>(&self, make: impl FnOnce() -> T) -> Result<&'s mut T, ArenaFull> {
        self.arena.try_alloc_with(make)
    }

    /// Copies a slice into the arena, if there is room for it, see [`Arena::try_alloc_slice_copy`].
    #[inline]
    pub fn try_alloc_slice_copy<T: Copy>(&self, slice: &[T]) -> Result<&'s mut [T], ArenaFull> {
        self.arena.try_alloc_slice_copy(slice)
    }

    /// Makes a slice in the arena, if there is room for it, see [`Arena::try_alloc_slice_fill_with`].
    #[inline]
    pub fn try_alloc_slice_fill_with<T>(
        &self,
        length: usize,
        make: impl FnMut(usize) -> T,
    ) -> Result<&'s mut [T], ArenaFull> {
        self.arena.try_alloc_slice_fill_with(length, make)
    }

    /// Copies a text into the arena, if there is room for it, see [`Arena::try_alloc_str`].
    #[inline]
    pub fn try_alloc_str(&self, text: &str) -> Result<&'s mut str, ArenaFull> {
        self.arena.try_alloc_str(text)
    }

    /// Where the arena stands.
    pub fn mark(&self) -> ArenaMark {
        self.arena.mark()
    }
}

/// Goes back to where a scope began, whichever way it ends.
struct Ending<'a> {
    arena: &'a Arena,
    cursor: *mut u8,
    chunk: Option<Chunk>,
}

impl Drop for Ending<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.chunk.is_none() {
            return self.arena.go_to_start();
        }
        self.arena.cursor.set(self.cursor);
        self.arena.current.set(self.chunk);
    }
}
