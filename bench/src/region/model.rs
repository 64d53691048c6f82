//! A model of the runtime that the report describes: RC-G, written from its description, not its code.
//!
//! 1. An object has 40 bytes: a head of 16, of which only the tag is used here, and an integer, a pointer or a pair of pointers.
//!    Integers are objects, too. A pointer is a place here: its upper half says which chunk, its lower which object.
//! 2. A region has a buffer of 512 bytes in its control block, which twelve objects fit into, and then chunks of 64 KiB, each a
//!    `malloc` of its own. Control blocks come from a pool of 32 of this thread; chunks go back to `malloc` with their region.
//! 3. A copy visits by a work list. A bitmap over the chunks says what was met, and pairs of old and new place, searched one
//!    after the other, where it went. Objects of the buffer are in no chunk, so they are copied whenever they are met.
//! 4. What is kept from other threads is counted: an atomic addition and an atomic subtraction, sequentially consistent.
//!
//! It does what the re-run figures are of, so it stands in for them in the same run. It is not the original: only ratios
//! between its own figures are checked, by [`super::modelled`].

use std::cell::RefCell;
use std::sync::atomic::{AtomicI32, Ordering};

/// Objects of the buffer in the control block.
const INLINE: usize = 512 / size_of::<Object>();
/// Objects of a chunk.
const CHUNK: usize = 65_536 / size_of::<Object>();
/// The chunk of a place in the buffer.
const IN_BUFFER: u32 = u32::MAX;
const POOLED: usize = 32;

/// Where an object lies: the chunk, and the object in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    chunk: u32,
    at: u32,
}

impl Place {
    /// Of a region with something in its buffer, the first object.
    pub(super) const NOTHING: Place = Place { chunk: IN_BUFFER, at: 0 };
}

/// What an object is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    Integer(i64),
    Box(Place),
    Pair(Place, Place),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Object {
    _generation: u64,
    _component: u32,
    content: Content,
}

const NOTHING: Object = Object { _generation: 0, _component: 0, content: Content::Integer(0) };

/// A region, in one block.
pub(super) struct Region {
    buffer: [Object; INLINE],
    buffered: usize,
    chunks: Vec<Vec<Object>>,
    external: AtomicI32,
    tethers: AtomicI32,
    is_open: bool,
}

thread_local! {
    #[expect(clippy::vec_box, reason = "a block stays where it is, as the original's do")]
    static POOL: RefCell<Vec<Box<Region>>> = const { RefCell::new(Vec::new()) };
}

impl Region {
    pub(super) fn create() -> Box<Region> {
        let pooled = POOL.with_borrow_mut(Vec::pop);
        let mut region = pooled.unwrap_or_else(|| {
            Box::new(Region {
                buffer: [NOTHING; INLINE],
                buffered: 0,
                chunks: Vec::new(),
                external: AtomicI32::new(0),
                tethers: AtomicI32::new(0),
                is_open: true,
            })
        });
        region.is_open = true;
        region
    }

    /// Closes a region, and destroys it if nothing keeps it.
    pub(super) fn exit(mut self: Box<Region>) {
        self.is_open = false;
        let is_kept = self.external.load(Ordering::Acquire) != 0 || self.tethers.load(Ordering::Acquire) != 0;
        assert!(!is_kept, "a region of the model is not kept when it is closed");
        self.chunks.clear();
        self.buffered = 0;
        POOL.with_borrow_mut(|pool| {
            if pool.len() < POOLED {
                pool.push(self);
            }
        });
    }

    /// A pair of counting that other threads see.
    #[inline]
    pub(super) fn tether_pair(&self) {
        self.tethers.fetch_add(1, Ordering::SeqCst);
        self.tethers.fetch_sub(1, Ordering::SeqCst);
    }

    #[inline]
    pub(super) fn allocate(&mut self, content: Content) -> Place {
        let object = Object { content, ..NOTHING };
        if self.buffered < INLINE {
            self.buffer[self.buffered] = object;
            self.buffered += 1;
            return Place { chunk: IN_BUFFER, at: self.buffered as u32 - 1 };
        }
        self.allocate_in_chunk(object)
    }

    #[inline(never)]
    fn allocate_in_chunk(&mut self, object: Object) -> Place {
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let number = self.chunks.len() - 1;
        let chunk = &mut self.chunks[number];
        chunk.push(object);
        Place { chunk: number as u32, at: chunk.len() as u32 - 1 }
    }

    #[inline]
    pub(super) fn content(&self, place: Place) -> Content {
        match place.chunk {
            IN_BUFFER => self.buffer[place.at as usize].content,
            chunk => self.chunks[chunk as usize][place.at as usize].content,
        }
    }

    #[inline]
    pub(super) fn set(&mut self, place: Place, content: Content) {
        match place.chunk {
            IN_BUFFER => self.buffer[place.at as usize].content = content,
            chunk => self.chunks[chunk as usize][place.at as usize].content = content,
        }
    }

    /// Copies what a root leads to into another region.
    pub(super) fn transmigrate(&self, root: Place, to: &mut Region) -> Place {
        let words = self.chunks.len() * CHUNK;
        let mut copy = Copy { from: self, seen: vec![0; words.div_ceil(64)], went: Vec::new(), open: Vec::new() };
        let root = copy.forward(root, to);
        while let Some(place) = copy.open.pop() {
            let content = match to.content(place) {
                Content::Integer(integer) => Content::Integer(integer),
                Content::Box(inner) => Content::Box(copy.forward(inner, to)),
                Content::Pair(left, right) => Content::Pair(copy.forward(left, to), copy.forward(right, to)),
            };
            to.set(place, content);
        }
        root
    }
}

/// A copy under way.
struct Copy<'r> {
    from: &'r Region,
    /// A bit for each object of a chunk.
    seen: Vec<u64>,
    /// What was met more than once may be asked for; all that was met is here, in the order in which it was met.
    went: Vec<(Place, Place)>,
    open: Vec<Place>,
}

impl Copy<'_> {
    fn forward(&mut self, place: Place, to: &mut Region) -> Place {
        if place.chunk != IN_BUFFER {
            let bit = place.chunk as usize * CHUNK + place.at as usize;
            if self.seen[bit / 64] & 1 << (bit % 64) != 0 {
                let found = self.went.iter().find(|(from, _)| *from == place);
                return found.map_or(place, |(_, to)| *to);
            }
            self.seen[bit / 64] |= 1 << (bit % 64);
        }
        let content = self.from.content(place);
        let copy = to.allocate(content);
        if place.chunk != IN_BUFFER {
            self.went.push((place, copy));
        }
        if !matches!(content, Content::Integer(_)) {
            self.open.push(copy);
        }
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_have_the_size_of_the_original() {
        assert_eq!((size_of::<Object>(), INLINE, CHUNK), (40, 12, 1638));
    }
}
