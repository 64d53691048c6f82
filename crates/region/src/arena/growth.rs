//! Where an arena goes on when its chunk is full.
//!
//! It is told by value what it has to know, and gives back what it found: `Arena::bump` says why.

use std::alloc::Layout;

use super::ArenaFull;
use super::chunk::{Chunk, FOOTER_BYTES, SIZE_MAX, SIZE_MIN, SIZE_UNIT};

/// A chunk in which nothing is in use, and where its room begins.
pub(super) type Room = (Chunk, *mut u8);

/// What an arena is to grow from.
#[derive(Clone, Copy)]
pub(super) struct Growth {
    pub(super) current: Option<Chunk>,
    /// The most bytes that its chunks may take.
    pub(super) limit: usize,
}

impl Growth {
    /// The room for something where the current chunk, in use up to a cursor, has too little.
    #[inline(never)]
    pub(super) fn room_of(self, cursor: *mut u8, layout: Layout) -> Option<Room> {
        self.next(cursor, layout)
    }

    /// The same for a value of a type, compiled for it.
    #[inline(never)]
    pub(super) fn room_for<T>(self, cursor: *mut u8) -> Option<Room> {
        self.next(cursor, Layout::new::<T>())
    }

    #[inline(always)]
    fn next(self, cursor: *mut u8, layout: Layout) -> Option<Room> {
        let needed = needed(layout);
        let is_common = layout.align() <= SIZE_UNIT && needed <= SIZE_MIN;
        match self.current {
            Some(current) if is_common => Growth::behind(current, self.limit, cursor, needed),
            None if is_common
                && self.limit >= SIZE_MIN
                && let Some(chunk) = Chunk::take_least() =>
            {
                Some((chunk, chunk.start_of(SIZE_MIN)))
            }
            _ => self.elsewhere(cursor, needed),
        }
    }

    /// The same behind a chunk, for something that a chunk of the least size has room for.
    #[inline(never)]
    fn behind(current: Chunk, limit: usize, cursor: *mut u8, needed: usize) -> Option<Room> {
        current.set_used_to(cursor);
        if current.next().is_none()
            && let Some((chunk, size)) = current.take_twice(limit)
        {
            return Some((chunk, chunk.start_of(size)));
        }
        Growth { current: Some(current), limit }.beyond(needed)
    }

    /// The same for something that is not common.
    #[cold]
    #[inline(never)]
    fn elsewhere(self, cursor: *mut u8, needed: usize) -> Option<Room> {
        if let Some(current) = self.current {
            current.set_used_to(cursor);
        }
        self.beyond(needed)
    }

    /// The same where the current chunk knows how many bytes of it are in use.
    #[cold]
    #[inline(never)]
    fn beyond(self, needed: usize) -> Option<Room> {
        let chunk = match self.current {
            None => self.fresh(needed, SIZE_MIN),
            Some(current) => self.go_on(current, needed),
        }?;
        Some((chunk, chunk.start()))
    }

    /// The chunk behind the current one: one that was kept, or a new one.
    fn go_on(self, current: Chunk, needed: usize) -> Option<Chunk> {
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

    /// A chunk for at least so many bytes, footer included, if the limit allows; for as many as are wanted, if it allows that.
    fn fresh(self, needed: usize, wanted: usize) -> Option<Chunk> {
        let allowed = self.allowed();
        if needed > allowed {
            return None;
        }
        // Of a size that the pool keeps, if there is one.
        let rounded = if needed <= SIZE_MAX { needed.next_power_of_two() } else { needed };
        let wanted = rounded.max(wanted).min(allowed);
        Chunk::take(wanted).or_else(|| if wanted > needed { Chunk::take(needed) } else { None })
    }

    fn held(self) -> usize {
        self.current.map_or(0, Chunk::held)
    }

    /// How many bytes of chunks the limit allows beside those there are.
    fn allowed(self) -> usize {
        self.limit.saturating_sub(self.held()) / SIZE_UNIT * SIZE_UNIT
    }

    /// Why there was no chunk for something.
    #[cold]
    #[inline(never)]
    pub(super) fn refused(self, layout: Layout) -> ArenaFull {
        let needed = needed(layout);
        if needed > self.allowed() {
            return ArenaFull::Limit { limit: self.limit, held: self.held(), needed };
        }
        ArenaFull::Memory { needed }
    }
}

/// The least size of a chunk for something. A layout is no larger than `isize::MAX`, so that nothing overflows.
#[inline]
fn needed(layout: Layout) -> usize {
    let gap = layout.align().saturating_sub(SIZE_UNIT);
    (layout.size() + gap).next_multiple_of(SIZE_UNIT) + FOOTER_BYTES
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
