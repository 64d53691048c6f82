//! Chunks: the memory of a heap, in pieces of 64 cells that are linked into lists.
//!
//! A chunk is in the list of one lane of one region, or in the free list. Lists are joined, never walked, when memory is
//! given back: the cost of that does not depend on how much it is.
//!
//! Taking memory, in this order:
//!
//! 1. A single chunk is the first of the free list.
//! 2. A run of chunks is the first in the free list that is long enough. The search spends credit, which taking chunks earns,
//!    so it costs each chunk a constant. If it finds nothing and there is credit for it, the list is sorted by address, which
//!    brings together what lies together, and searched again.
//! 3. New chunks at the end, while limits allow.
//! 4. Before a run is refused, the free list is sorted and searched in any case.
//!
//! If the chunks lie behind the last one of the lane, the lane just grows and nothing is left unused.

use crate::limit::{Full, Limit};
use crate::reference::Ref;
use crate::region::{Lane, Place};

/// Cells of a chunk.
pub(crate) const CHUNK_CELLS: u32 = 64;
/// Bytes of a chunk; a cell has eight.
pub(crate) const CHUNK_BYTES: usize = CHUNK_CELLS as usize * 8;
/// Words of a chunk; a cell has two.
const CHUNK_WORDS: usize = CHUNK_CELLS as usize * 2;
/// The chunks that 29 bits of payload can address.
pub(crate) const CHUNKS_MAX: u32 = 1 << (29 - CHUNK_CELLS.trailing_zeros());
/// The chunks that a number's 28 bits can address.
const NUMBER_CHUNKS_MAX: u32 = CHUNKS_MAX / 2;
/// The least that is asked of the system.
const GROWTH_MIN: u32 = 16;
/// Ends a list.
const NONE: u32 = u32::MAX;
/// The name of a lane without chunks.
const NO_LANE: u32 = NONE - 1;
/// The lane and the order of a chunk that is free and was sorted.
const LOOSE: u32 = NONE;
/// Steps that a chunk earns when it is taken, for searching and sorting the free list.
const STEPS_EARNED: u64 = 8;

/// What is known of a chunk.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// The chunk behind this one in its list.
    next: u32,
    /// The lane that holds this chunk, named by its first one.
    lane: u32,
    /// How many chunks precede this one in its lane.
    order: u32,
    /// What the cells hold.
    kind: Kind,
}

/// What the cells of a lane hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Expressions,
    Variables,
    Numbers,
}

/// The cells of a lane from some place on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    lane: u32,
    order: u32,
    cursor: u32,
}

/// Chunks that lie one behind the other.
struct Run {
    start: u32,
    count: u32,
}

#[derive(Debug)]
pub(crate) struct Chunks {
    /// All cells, two words each.
    pub(crate) words: Vec<Ref>,
    links: Vec<Link>,
    free: u32,
    free_count: u32,
    /// The most chunks there may be.
    limit: u32,
    /// The chunks that may hold numbers: those before this one.
    pub(crate) number_limit: u32,
    live_peak: u32,
    /// Steps that may be spent on searching and sorting the free list.
    credit: u64,
    failures: u64,
}

impl Chunks {
    pub(crate) fn new() -> Chunks {
        Chunks {
            words: Vec::new(),
            links: Vec::new(),
            free: NONE,
            free_count: 0,
            limit: CHUNKS_MAX,
            number_limit: NUMBER_CHUNKS_MAX,
            live_peak: 0,
            credit: 0,
            failures: 0,
        }
    }

    pub(crate) fn set_limit(&mut self, bytes: Option<usize>) {
        let chunks = bytes.map_or(CHUNKS_MAX as usize, |bytes| bytes / CHUNK_BYTES);
        self.limit = chunks.min(CHUNKS_MAX as usize) as u32;
    }

    /// All chunks, free ones included.
    pub(crate) fn count(&self) -> u32 {
        self.links.len() as u32
    }

    pub(crate) fn free_count(&self) -> u32 {
        self.free_count
    }

    pub(crate) fn live_count(&self) -> u32 {
        self.count() - self.free_count
    }

    pub(crate) fn live_peak(&self) -> u32 {
        self.live_peak
    }

    pub(crate) fn failures(&self) -> u64 {
        self.failures
    }

    pub(crate) fn link_bytes(&self) -> usize {
        self.links.capacity() * size_of::<Link>()
    }

    /// Notes a failure.
    #[cold]
    pub(crate) fn refuse(&mut self, limit: Limit, chunks: u32) -> Full {
        self.failures += 1;
        Full::new(limit, chunks)
    }

    /// Whether the limit leaves a lane so many cells, wherever they may lie.
    pub(crate) fn could_hold(&self, lane: &Lane, cells: usize) -> bool {
        let free = u64::from(self.limit.saturating_sub(self.live_count())) * u64::from(CHUNK_CELLS);
        cells as u64 <= free + u64::from(lane.room())
    }

    /// Takes the last failure back, where another way was found.
    pub(crate) fn forgive(&mut self) {
        self.failures -= 1;
    }

    /// Takes `cells` for a lane whose last chunk has not that many left.
    pub(crate) fn extend(&mut self, lane: &mut Lane, kind: Kind, cells: u32) -> Result<u32, Full> {
        let run = match self.free {
            single if cells <= CHUNK_CELLS && single != NONE && self.live_count() < self.limit => {
                self.unlink(NONE, single, 1);
                Run { start: single, count: 1 }
            }
            _ => self.run(lane, cells)?,
        };
        let (last, order) = if lane.is_empty() { (NONE, 0) } else { self.last(lane.place.end()) };
        if last == NONE {
            lane.first = run.start;
        } else {
            self.links[last as usize].next = run.start;
        }
        self.adopt(&run, lane.first, order, kind);
        let mut at = lane.place.cursor();
        if last == NONE || run.start != last + 1 {
            self.leave(lane);
            at = run.start * CHUNK_CELLS;
        }
        lane.place = Place::new(at + cells, (run.start + run.count) * CHUNK_CELLS);
        Ok(at)
    }

    /// The last chunk of a lane that ends here, and the order of the one behind it.
    fn last(&self, end: u32) -> (u32, u32) {
        let last = end / CHUNK_CELLS - 1;
        (last, self.links[last as usize].order + 1)
    }

    /// Links a run in itself, as the end of a lane.
    fn adopt(&mut self, run: &Run, lane: u32, order: u32, kind: Kind) {
        for at in 0..run.count {
            let chunk = run.start + at;
            let next = if at + 1 == run.count { NONE } else { chunk + 1 };
            self.links[chunk as usize] = Link { next, lane, order: order + at, kind };
        }
        self.credit += u64::from(run.count) * STEPS_EARNED;
        self.live_peak = self.live_peak.max(self.live_count());
    }

    /// Fills what a lane leaves unused. Zeros are empty expressions to whoever walks over them.
    fn leave(&mut self, lane: &Lane) {
        if lane.room() == 0 {
            return;
        }
        self.words[lane.place.cursor() as usize * 2..lane.place.end() as usize * 2].fill(Ref::from_bits(0));
    }

    /// New chunks, or free ones that lie together, for `cells`; if they lie behind the last chunk of the lane, for what does
    /// not fit there.
    #[inline(never)]
    fn run(&mut self, lane: &Lane, cells: u32) -> Result<Run, Full> {
        let behind = if lane.is_empty() { NONE } else { lane.place.end() / CHUNK_CELLS };
        let longer = (cells - lane.room()).div_ceil(CHUNK_CELLS);
        let wanted = Wanted { behind, longer, anew: cells.div_ceil(CHUNK_CELLS) };
        if self.live_count() + wanted.longer > self.limit {
            return Err(self.full());
        }
        if let Some(run) = self.search(&wanted, self.credit) {
            return Ok(run);
        }
        if wanted.anew > 1 && self.credit >= u64::from(self.count()) {
            self.sort();
            if let Some(run) = self.search(&wanted, u64::MAX) {
                return Ok(run);
            }
        }
        self.grow(&wanted)
    }

    fn full(&mut self) -> Full {
        let limit = if self.limit == CHUNKS_MAX { Limit::Addresses } else { Limit::Bytes };
        self.refuse(limit, self.limit)
    }

    /// The first run of the free list that is long enough, taken out. Gives up after so many steps.
    fn search(&mut self, wanted: &Wanted, steps_max: u64) -> Option<Run> {
        let (mut before, mut start, mut steps) = (NONE, self.free, 0);
        while start != NONE && steps <= steps_max {
            let count = wanted.count(start);
            let (found, last) = self.stretch(start, count);
            steps += u64::from(found);
            if found == count && self.live_count() + count <= self.limit {
                self.unlink(before, last, count);
                self.credit = self.credit.saturating_sub(steps);
                return Some(Run { start, count });
            }
            (before, start) = (last, self.links[last as usize].next);
        }
        self.credit = self.credit.saturating_sub(steps);
        None
    }

    /// How many chunks of the free list lie one behind the other from here, up to `most`, and the last of them.
    fn stretch(&self, start: u32, most: u32) -> (u32, u32) {
        let (mut count, mut last) = (1, start);
        while count < most && self.links[last as usize].next == last + 1 {
            (count, last) = (count + 1, last + 1);
        }
        (count, last)
    }

    /// Takes what lies behind `before` up to `last` out of the free list.
    fn unlink(&mut self, before: u32, last: u32, count: u32) {
        let next = self.links[last as usize].next;
        match before {
            NONE => self.free = next,
            before => self.links[before as usize].next = next,
        }
        self.free_count -= count;
    }

    /// New chunks at the end.
    fn grow(&mut self, wanted: &Wanted) -> Result<Run, Full> {
        let start = self.count();
        let count = wanted.count(start);
        if self.limit.saturating_sub(start) < count {
            return self.last_resort(wanted);
        }
        if !self.make_room(start + count) {
            return Err(self.refuse(Limit::Memory, start));
        }
        let unused = Link { next: NONE, lane: LOOSE, order: LOOSE, kind: Kind::Numbers };
        self.links.resize((start + count) as usize, unused);
        self.words.resize((start + count) as usize * CHUNK_WORDS, Ref::from_bits(0));
        Ok(Run { start, count })
    }

    /// There may be no more chunks; perhaps enough free ones lie together.
    fn last_resort(&mut self, wanted: &Wanted) -> Result<Run, Full> {
        self.sort();
        match self.search(wanted, u64::MAX) {
            Some(run) => Ok(run),
            None => Err(self.full()),
        }
    }

    /// Makes sure of storage for so many chunks: twice what there was, within the limit. Where the system refuses that much,
    /// ever less is asked for, but no less than is needed.
    fn make_room(&mut self, chunks: u32) -> bool {
        let room = (self.words.capacity() / CHUNK_WORDS).min(self.links.capacity()) as u32;
        if chunks <= room {
            return true;
        }
        let (needed, mut more) = (chunks - room, room.max(GROWTH_MIN).min(self.limit - room).max(chunks - room));
        while !self.reserve(room + more) {
            if more == needed {
                return false;
            }
            more = (more / 2).max(needed);
        }
        true
    }

    fn reserve(&mut self, chunks: u32) -> bool {
        let (words, links) = (chunks as usize * CHUNK_WORDS, chunks as usize);
        self.words.try_reserve_exact(words - self.words.len()).is_ok()
            && self.links.try_reserve_exact(links - self.links.len()).is_ok()
    }

    /// Sorts the free list by address: what lies together is found together. A step for each chunk there is.
    fn sort(&mut self) {
        let mut chunk = self.free;
        while chunk != NONE {
            let link = &mut self.links[chunk as usize];
            (link.lane, link.order) = (LOOSE, LOOSE);
            chunk = link.next;
        }
        self.free = NONE;
        for chunk in (0..self.count()).rev() {
            let link = &mut self.links[chunk as usize];
            if link.order == LOOSE {
                link.next = self.free;
                self.free = chunk;
            }
        }
        self.credit = self.credit.saturating_sub(u64::from(self.count()));
    }

    /// Frees the chunks of a lane behind a place of it.
    #[cold]
    pub(crate) fn release(&mut self, lane: &mut Lane, place: Place) {
        let (last, behind) = self.last(lane.place.end());
        let (first, kept) = if place == Place::START {
            (lane.first, 0)
        } else {
            let (end, kept) = self.last(place.end());
            (self.links[end as usize].next, kept)
        };
        debug_assert!(kept < behind, "a mark is of this region and no older than its last rewind");
        self.links[last as usize].next = self.free;
        self.free = first;
        self.free_count += behind - kept;
        lane.place = place;
    }

    /// The chunks of a lane, in its order.
    pub(crate) fn of_lane(&self, lane: &Lane) -> impl Iterator<Item = u32> {
        let count = if lane.is_empty() { 0 } else { self.last(lane.place.end()).1 };
        std::iter::successors(Some(lane.first), |chunk| Some(self.links[*chunk as usize].next)).take(count as usize)
    }

    /// Gets storage for so many chunks and no more, if there is less; gives back what there is beyond the chunks in use.
    pub(crate) fn fit(&mut self, chunks: u32) -> Result<(), Full> {
        if !self.reserve(chunks.max(self.count())) {
            return Err(self.refuse(Limit::Memory, self.count()));
        }
        Ok(())
    }

    /// The cells of a lane from a place of it on.
    #[inline]
    pub(crate) fn since(&self, lane: &Lane, place: Place) -> Part {
        let name = if lane.is_empty() { NO_LANE } else { lane.first };
        let order = if place == Place::START { 0 } else { self.links[(place.end() / CHUNK_CELLS - 1) as usize].order };
        Part { lane: name, order, cursor: place.cursor() }
    }

    #[inline]
    pub(crate) fn contains(&self, part: &Part, cell: u32) -> bool {
        let link = &self.links[(cell / CHUNK_CELLS) as usize];
        let later = link.order > part.order || link.order == part.order && cell >= part.cursor;
        link.lane == part.lane && later
    }

    /// Copies the content of cells. A few are copied faster than a call is made.
    #[inline(always)]
    pub(crate) fn copy_cells(&mut self, from: u32, to: u32, count: usize) {
        let (from, to) = (from as usize * 2, to as usize * 2);
        match count {
            1 => self.words.copy_within(from..from + 2, to),
            2 => self.words.copy_within(from..from + 4, to),
            3 => self.words.copy_within(from..from + 6, to),
            _ => self.words.copy_within(from..from + count * 2, to),
        }
    }

    /// Where a walk over a lane goes on that has come to the end of a chunk or, inside of an expression, past it: the place,
    /// and the end of the next chunk. Nowhere if the lane ends, or if what was walked over was left behind its end.
    pub(crate) fn follow(&self, at: u32, end: u32) -> Option<(u32, u32)> {
        let link = &self.links[(end / CHUNK_CELLS - 1) as usize];
        let next = self.links.get(link.next as usize)?;
        let start = link.next * CHUNK_CELLS;
        let goes_on = next.lane == link.lane && next.order == link.order + 1;
        (goes_on && (at == end || start == end)).then(|| (if at == end { start } else { at }, start + CHUNK_CELLS))
    }

    /// Whether a chunk is the first of a lane of a kind, or was before it was freed.
    pub(crate) fn starts(&self, chunk: u32, kind: Kind) -> bool {
        let link = &self.links[chunk as usize];
        link.lane == chunk && link.kind == kind
    }
}

/// How many chunks are wanted: fewer if they lie behind the last one.
struct Wanted {
    behind: u32,
    longer: u32,
    anew: u32,
}

impl Wanted {
    fn count(&self, start: u32) -> u32 {
        if start == self.behind { self.longer } else { self.anew }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_addressed_is_refused() {
        let mut chunks = Chunks::new();
        let mut lane = Lane::EMPTY;
        let full = chunks.extend(&mut lane, Kind::Expressions, CHUNKS_MAX * CHUNK_CELLS + 1).expect_err("too much");
        assert_eq!((full.limit(), full.bytes()), (Limit::Addresses, 1 << 32));
        assert_eq!((chunks.count(), lane), (0, Lane::EMPTY));
    }

    /// What searching and sorting may cost is earned by taking chunks.
    #[test]
    fn a_search_spends_credit() {
        let mut chunks = Chunks::new();
        let mut lanes = [Lane::EMPTY; 100];
        for lane in &mut lanes {
            chunks.extend(lane, Kind::Expressions, 64).expect("there is no limit");
        }
        for lane in lanes.iter_mut().step_by(2) {
            chunks.release(lane, Place::START);
        }
        assert_eq!(chunks.credit, 100 * STEPS_EARNED);
        chunks.credit = 20;
        let mut long = Lane::EMPTY;
        chunks.extend(&mut long, Kind::Expressions, 65).expect("there is no limit");
        assert_eq!((chunks.count(), chunks.credit), (102, 2 * STEPS_EARNED));
        for lane in lanes.iter_mut().skip(1).step_by(2) {
            chunks.release(lane, Place::START);
        }
        // A search past all of them, and a sort.
        chunks.credit = 100 + 102;
        let mut longest = Lane::EMPTY;
        chunks.extend(&mut longest, Kind::Expressions, 6_400).expect("there is no limit");
        assert_eq!((chunks.count(), chunks.free_count(), chunks.credit), (102, 0, 100 * STEPS_EARNED));
    }

    /// Without credit, free chunks are not sorted to save memory, but they are before a run is refused.
    #[test]
    fn the_last_resort_needs_no_credit() {
        let mut chunks = Chunks::new();
        let mut lanes = [Lane::EMPTY; 4];
        for lane in &mut lanes {
            chunks.extend(lane, Kind::Expressions, 64).expect("there is no limit");
        }
        for at in [0, 2, 1, 3] {
            chunks.release(&mut lanes[at], Place::START);
        }
        chunks.credit = 0;
        chunks.set_limit(Some(4 * CHUNK_BYTES));
        let mut long = Lane::EMPTY;
        assert_eq!(chunks.extend(&mut long, Kind::Expressions, 4 * 64), Ok(0));
    }
}
