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
//! It does what the re-run figures are of, so it stands in for them in the same run. It is not the original: ratios between its
//! own figures are compared with those of the original, by [`super::modelled`]. An allocation costs what it costs there: a store
//! of five words where the region stands, and a call where the buffer is full.

use std::cell::RefCell;
use std::sync::atomic::{AtomicI32, Ordering};

/// Objects of the buffer in the control block.
const INLINE: usize = 512 / size_of::<Object>();
/// Objects of a chunk.
const CHUNK: usize = 65_536 / size_of::<Object>();
/// The chunk of a place in the buffer.
const IN_BUFFER: u32 = u32::MAX;
const POOLED: usize = 32;

/// Where an object lies: the chunk, and below it the object in it. One word, as a pointer of the original.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place(u64);

impl Place {
    /// Of a region with something in its buffer, the first object.
    pub(super) const NOTHING: Place = Place::new(IN_BUFFER, 0);

    #[inline]
    const fn new(chunk: u32, at: usize) -> Place {
        Place((chunk as u64) << 32 | at as u64)
    }

    #[inline]
    const fn chunk(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    const fn at(self) -> usize {
        self.0 as u32 as usize
    }
}

/// What an object is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Content {
    Integer(i64),
    Box(Place),
    Pair(Place, Place),
}

const INTEGER: u32 = 0;
const BOX: u32 = 1;
const PAIR: u32 = 2;

/// An object in plain words, as the original has it: they are loaded as they were stored, since a processor waits for what is
/// loaded as one word right after it was stored in parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object {
    _generation: u64,
    tag: u32,
    _component: u32,
    words: [u64; 2],
    _size: u64,
}

const NOTHING: Object = Object::new(INTEGER, [0, 0]);

impl Content {
    /// The tag of an object with this content, and its words.
    #[inline]
    const fn parts(self) -> (u32, [u64; 2]) {
        match self {
            Content::Integer(integer) => (INTEGER, [integer as u64, 0]),
            Content::Box(inner) => (BOX, [inner.0, 0]),
            Content::Pair(left, right) => (PAIR, [left.0, right.0]),
        }
    }
}

impl Object {
    #[inline]
    const fn new(tag: u32, words: [u64; 2]) -> Object {
        Object { _generation: 0, tag, _component: 0, words, _size: 0 }
    }

    #[inline]
    fn content(&self) -> Content {
        let [one, other] = self.words;
        match self.tag {
            INTEGER => Content::Integer(one as i64),
            BOX => Content::Box(Place(one)),
            _ => Content::Pair(Place(one), Place(other)),
        }
    }
}

/// A region, in one block.
pub(super) struct Region {
    buffer: [Object; INLINE],
    buffered: usize,
    /// The chunk that objects are made in, and those before it.
    chunk: Vec<Object>,
    full: Vec<Vec<Object>>,
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
                chunk: Vec::new(),
                full: Vec::new(),
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
        if self.chunk.capacity() > 0 {
            self.chunk = Vec::new();
            self.full = Vec::new();
        }
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
        let (tag, words) = content.parts();
        if self.buffered < INLINE {
            self.buffer[self.buffered] = Object::new(tag, words);
            self.buffered += 1;
            return Place::new(IN_BUFFER, self.buffered - 1);
        }
        self.allocate_in_chunk(tag, words[0], words[1])
    }

    /// A call, as in the original; its arguments are words.
    #[inline(never)]
    fn allocate_in_chunk(&mut self, tag: u32, one: u64, other: u64) -> Place {
        let at = self.chunk.len();
        if at == self.chunk.capacity() {
            return self.allocate_in_new_chunk(Object::new(tag, [one, other]));
        }
        self.chunk.push(Object::new(tag, [one, other]));
        Place::new(self.full.len() as u32, at)
    }

    #[cold]
    fn allocate_in_new_chunk(&mut self, object: Object) -> Place {
        let full = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK));
        if full.capacity() > 0 {
            self.full.push(full);
        }
        self.chunk.push(object);
        Place::new(self.full.len() as u32, 0)
    }

    #[inline]
    pub(super) fn content(&self, place: Place) -> Content {
        match place.chunk() {
            IN_BUFFER => self.buffer[place.at()].content(),
            chunk => self.full.get(chunk as usize).unwrap_or(&self.chunk)[place.at()].content(),
        }
    }

    #[inline]
    pub(super) fn set(&mut self, place: Place, content: Content) {
        let object = match place.chunk() {
            IN_BUFFER => &mut self.buffer[place.at()],
            chunk => &mut self.full.get_mut(chunk as usize).unwrap_or(&mut self.chunk)[place.at()],
        };
        let (tag, words) = content.parts();
        (object.tag, object.words) = (tag, words);
    }

    /// Copies what a root leads to into another region.
    pub(super) fn transmigrate(&self, root: Place, to: &mut Region) -> Place {
        let words = (self.full.len() + 1) * CHUNK;
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
        if place.chunk() != IN_BUFFER {
            let bit = place.chunk() as usize * CHUNK + place.at();
            if self.seen[bit / 64] & 1 << (bit % 64) != 0 {
                let found = self.went.iter().find(|(from, _)| *from == place);
                return found.map_or(place, |(_, to)| *to);
            }
            self.seen[bit / 64] |= 1 << (bit % 64);
        }
        let content = self.from.content(place);
        let copy = to.allocate(content);
        if place.chunk() != IN_BUFFER {
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

    #[test]
    fn objects_are_what_they_were_made_as() {
        let mut region = Region::create();
        let places: Vec<Place> = (0..2 * CHUNK as i64).map(|at| region.allocate(Content::Integer(at - 5))).collect();
        let pair = region.allocate(Content::Pair(places[3], places[2_000]));
        region.set(places[1_700], Content::Box(pair));
        assert_eq!(region.content(pair), Content::Pair(places[3], places[2_000]));
        assert_eq!(
            (region.content(places[1_700]), region.content(places[3])),
            (Content::Box(pair), Content::Integer(-2))
        );
        assert_eq!(region.content(places[3_000]), Content::Integer(2_995));
        region.exit();
    }
}
