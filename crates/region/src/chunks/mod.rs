//! Chunks: the memory of a heap, in pieces of 64 cells that are linked into lists.
//!
//! A chunk is in the list of one lane of one region, or in the free list. Lists are joined, never walked, when memory is
//! given back: the cost of that does not depend on how much it is.
//!
//! Taking memory, in this order:
//!
//! 1. A single chunk is the first of the free list. A lane that is longer takes some that follow it as well, if they lie after
//!    it: they are *ahead* of the lane until it reaches them, and are given back in one step if it is to have others.
//! 2. A run of chunks is the first in the free list that is long enough. The search spends credit, which taking chunks earns,
//!    so it costs each chunk a constant. If it finds nothing and there is credit for it, the list is sorted by address, which
//!    brings together what lies together, and searched again.
//! 3. New chunks at the end, while limits allow.
//! 4. Before a run is refused, the free list is sorted and searched in any case.
//!
//! If the chunks lie after the last one of the lane, the lane just grows and nothing is left unused.
//!
//! A chunk knows its *home*: the lane that holds it and its order there. When a lane is joined to another, its chunks are not
//! visited; only its first one is told where its own home is now. What was joined is a *segment* from then on, chunks that
//! are taken later belong to the last segment, and a chunk's place in the whole lane is found over the first chunks of
//! segments: a forest of disjoint sets (B. A. Galler and M. J. Fischer, *An improved equivalence algorithm*, 1964). Each
//! search halves the path it takes; many searches cost little more than a step each. A lane that was never joined to
//! another needs no search.

mod allocation;
mod exact;
mod growth;
mod homes;
mod lane_range;
mod next_chunks;
mod walk;

use std::sync::atomic::{AtomicU64, Ordering};

use crate::layout::{CHUNK_BYTES, CHUNK_CELLS, LaneKind, NO_LANE};
use crate::limit::{Full, Limit};
use crate::reference::Ref;
use crate::region::{Lane, LanePosition};
use crate::words::{AllWords, CELLS, word_of};

use homes::find_in;
pub(crate) use lane_range::{LaneMembership, LaneRange};

/// The chunks that 29 bits of payload can address.
pub(crate) const CHUNKS_MAX: u32 = CELLS / CHUNK_CELLS;
/// The chunks that a number's 28 bits can address.
const NUMBER_CHUNKS_MAX: u32 = CHUNKS_MAX / 2;
/// The least number of links that is asked for.
const GROWTH_MIN: u32 = 16;
/// Ends a list.
const NONE: u32 = u32::MAX;
/// The lane and the order of a chunk that is free and was sorted.
const LOOSE: u32 = NONE;
const LOOSE_HOME: Home = Home { lane: LOOSE, order: LOOSE };
/// Steps that a chunk earns when it is taken, for searching and sorting the free list.
const STEPS_EARNED: u64 = 8;

/// A lane or a segment, named by its first chunk, and a number of chunks that precede in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Home {
    lane: u32,
    order: u32,
}

/// What is known of a chunk.
#[derive(Debug)]
struct Link {
    /// The chunk after this one in its list.
    next: u32,
    /// What the cells hold.
    kind: LaneKind,
    /// Whether a segment begins here.
    is_first: bool,
    /// The cells that a walk visits: fewer than all if another lane was joined after this chunk. Two bytes, so that nothing
    /// lies between the fields and a link is written as two words.
    used: u16,
    /// Of the first chunk of a segment: where the segment lies in the one it was joined to; itself, if it was not. Of other
    /// chunks: where they lie in their segment.
    ///
    /// Both halves in one word, which a search may replace by another that says the same: hence the atomic type. It is read
    /// and written without order, which costs what a plain word costs.
    home: AtomicU64,
}

impl Link {
    /// Of a chunk that is in no list.
    fn unused() -> Link {
        Link::new(NONE, LaneKind::Numbers, false, LOOSE_HOME)
    }

    fn new(next: u32, kind: LaneKind, is_first: bool, home: Home) -> Link {
        let link = Link { next, kind, is_first, used: CHUNK_CELLS as u16, home: AtomicU64::new(0) };
        link.set_home(home);
        link
    }

    /// The segment that this lies in, as the chunk of this number, and its order there.
    #[inline]
    fn segment(&self, chunk: u32) -> Home {
        if self.is_first { Home { lane: chunk, order: 0 } } else { self.home() }
    }

    #[inline]
    fn home(&self) -> Home {
        let bits = self.home.load(Ordering::Relaxed);
        Home { lane: (bits >> 32) as u32, order: bits as u32 }
    }

    #[inline]
    fn set_home(&self, home: Home) {
        self.home.store(u64::from(home.lane) << 32 | u64::from(home.order), Ordering::Relaxed);
    }
}

/// Chunks that lie one after the other.
struct Run {
    start: u32,
    count: u32,
}

#[derive(Debug)]
pub(crate) struct Chunks {
    links: Vec<Link>,
    free: u32,
    /// While fewer chunks than these are live, one more is neither above the limit nor more than there ever were.
    ready: u32,
    /// How often a chunk was taken.
    taken: u64,
    /// How often one may have been taken without a question: as often as one was freed, and `ready`. So to free is to
    /// add to this. Nothing is subtracted from those that were taken, since a caller that takes and frees in turns would
    /// wait for what it has just counted, twice.
    bound: u64,
    /// Of all cells of the chunks that were taken, those that were not handed out. A difference, which wraps: cells
    /// that are given back by a rewind are handed out again.
    unused: u64,
    /// The most chunks there may be.
    pub(crate) limit: u32,
    /// The chunks that may hold numbers: those before this one.
    pub(crate) number_limit: u32,
    /// The most chunks that were live.
    live_peak: u32,
    /// Steps that were spent on searching and sorting the free list, of those that were earned.
    spent: u64,
    pub(crate) failures: u64,
    /// Cells that lanes have left unused at the ends of chunks.
    pub(crate) cells_left: u64,
}

impl Chunks {
    pub(crate) fn new() -> Chunks {
        Chunks {
            links: Vec::new(),
            free: NONE,
            ready: 0,
            taken: 0,
            bound: 0,
            unused: 0,
            limit: CHUNKS_MAX,
            number_limit: NUMBER_CHUNKS_MAX,
            live_peak: 0,
            spent: 0,
            failures: 0,
            cells_left: 0,
        }
    }

    pub(crate) fn set_limit(&mut self, bytes: Option<usize>) {
        let chunks = bytes.map_or(CHUNKS_MAX as usize, |bytes| bytes / CHUNK_BYTES);
        self.limit = chunks.min(CHUNKS_MAX as usize) as u32;
        self.level();
    }

    /// To be called after a change of the limit or of the peak.
    fn level(&mut self) {
        self.be_ready(self.limit.min(self.live_peak));
    }

    fn be_ready(&mut self, chunks: u32) {
        self.bound = self.freed() + u64::from(chunks);
        self.ready = chunks;
    }

    /// How often a chunk was freed.
    fn freed(&self) -> u64 {
        self.bound - u64::from(self.ready)
    }

    /// To be called when there may be more live chunks than ever.
    fn note_peak(&mut self) {
        self.live_peak = self.live_peak.max(self.live_count());
        self.level();
    }

    /// Notes a failure.
    #[cold]
    pub(crate) fn refuse(&mut self, limit: Limit, chunks: u32) -> Full {
        self.failures += 1;
        Full::new(limit, chunks)
    }

    /// Takes `cells` for a lane whose last chunk has not that many left.
    pub(crate) fn extend(
        &mut self,
        words: &mut AllWords,
        lane: &mut Lane,
        kind: LaneKind,
        cells: u32,
    ) -> Result<u32, Full> {
        let run = match self.free {
            first if first != NONE && cells <= CHUNK_CELLS && self.live_count() < self.limit => {
                self.unlink(NONE, first);
                Run { start: first, count: 1 }
            }
            _ => self.run(lane, cells)?,
        };
        Ok(self.append(words, lane, kind, &run, cells))
    }

    /// Makes a run the end of a lane, and takes `cells` from it: from what is left of the last chunk on, if it lies after that.
    #[inline(always)]
    fn append(&mut self, words: &mut AllWords, lane: &mut Lane, kind: LaneKind, run: &Run, cells: u32) -> u32 {
        let start = run.start * CHUNK_CELLS;
        let end = start + run.count * CHUNK_CELLS;
        if lane.is_empty() {
            self.adopt(run, Home { lane: run.start, order: 0 }, kind);
            lane.first = run.start;
            lane.position = LanePosition::new(start + cells, end);
            return start;
        }
        let last = &mut self.links[last_chunk(lane.position) as usize];
        last.next = run.start;
        let home = last.segment(last_chunk(lane.position));
        let mut at = lane.position.cursor();
        if start != lane.position.end() {
            self.leave(words, lane);
            at = start;
        }
        self.adopt(run, Home { lane: home.lane, order: home.order + 1 }, kind);
        lane.position = LanePosition::new(at + cells, end);
        at
    }

    /// Joins the chunks of a lane that has some to the end of another lane of its kind, which goes on where the first one stood.
    /// O(1). Not inlined: a caller that has just filled a large region waits for this code, and it should not be there three times.
    #[inline(never)]
    pub(crate) fn join(&mut self, from: &Lane, to: &mut Lane) {
        if to.is_empty() {
            (to.first, to.position) = (from.first, from.position);
            return;
        }
        let home = Home { lane: to.first, order: self.order(to, to.position) + 1 };
        let left = to.room();
        let last = &mut self.links[last_chunk(to.position) as usize];
        last.next = from.first;
        last.used = (CHUNK_CELLS - left) as u16;
        self.links[from.first as usize].set_home(home);
        to.position = from.position;
        self.cells_left += u64::from(left);
    }

    /// Fills what a lane leaves unused. Zeros are empty expressions to a walk over them, also to one that has begun.
    fn leave(&mut self, words: &mut AllWords, lane: &Lane) {
        let first = word_of(lane.position.cursor());
        self.cells_left += u64::from(lane.room());
        words[first..first + lane.room() as usize * 2].fill(Ref::from_bits(0));
    }

    /// New chunks, or free ones that lie together, for `cells`; if they lie after the last chunk of the lane, for what does
    /// not fit there.
    #[inline(never)]
    fn run(&mut self, lane: &Lane, cells: u32) -> Result<Run, Full> {
        let behind = if lane.is_empty() { NONE } else { lane.position.end() / CHUNK_CELLS };
        let longer = (cells - lane.room()).div_ceil(CHUNK_CELLS);
        let wanted = Wanted { behind, longer, anew: cells.div_ceil(CHUNK_CELLS) };
        if self.live_count() + wanted.longer > self.limit {
            return Err(self.full());
        }
        if let Some(run) = self.search(&wanted, self.credit()) {
            return Ok(run);
        }
        if wanted.anew > 1 && self.credit() >= u64::from(self.count()) {
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

    /// The first run of the free list that is long enough, taken out. Gives up after `steps_max` steps.
    fn search(&mut self, wanted: &Wanted, steps_max: u64) -> Option<Run> {
        let (mut before, mut start, mut steps) = (NONE, self.free, 0);
        while start != NONE && steps <= steps_max {
            let count = wanted.count(start);
            let (found, last) = self.stretch(start, count);
            steps += u64::from(found);
            if found == count && self.live_count() + count <= self.limit {
                self.unlink(before, last);
                self.spend(steps);
                return Some(Run { start, count });
            }
            (before, start) = (last, self.links[last as usize].next);
        }
        self.spend(steps);
        None
    }

    /// How many chunks of the free list lie one after the other from here, up to `most`, and the last of them.
    fn stretch(&self, start: u32, most: u32) -> (u32, u32) {
        let (mut count, mut last) = (1, start);
        while count < most && self.links[last as usize].next == last + 1 {
            (count, last) = (count + 1, last + 1);
        }
        (count, last)
    }

    /// Takes what lies after `before` up to `last` out of the free list.
    fn unlink(&mut self, before: u32, last: u32) {
        let next = self.links[last as usize].next;
        match before {
            NONE => self.free = next,
            before => self.links[before as usize].next = next,
        }
    }

    /// There may be no more chunks; perhaps enough free ones lie together.
    fn last_resort(&mut self, wanted: &Wanted) -> Result<Run, Full> {
        self.sort();
        match self.search(wanted, u64::MAX) {
            Some(run) => Ok(run),
            None => Err(self.full()),
        }
    }

    /// Sorts the free list by address: what lies together is found together. A step for each chunk there is.
    pub(crate) fn sort(&mut self) {
        let mut chunk = self.free;
        while chunk != NONE {
            let link = &mut self.links[chunk as usize];
            link.is_first = false;
            link.set_home(LOOSE_HOME);
            chunk = link.next;
        }
        self.free = NONE;
        for chunk in (0..self.count()).rev() {
            let link = &mut self.links[chunk as usize];
            if link.home().order == LOOSE {
                link.next = self.free;
                self.free = chunk;
            }
        }
        self.spend(u64::from(self.count()));
    }

    /// Steps that may be spent on searching and sorting the free list.
    fn credit(&self) -> u64 {
        self.taken * STEPS_EARNED - self.spent
    }

    fn spend(&mut self, steps: u64) {
        self.spent = (self.spent + steps).min(self.taken * STEPS_EARNED);
    }

    /// Frees all chunks of a lane, which stands at a place and has this first chunk; none of a lane that stands
    /// nowhere. Counts one of them, and gives the last.
    #[inline(always)]
    pub(crate) fn release_all(&mut self, position: LanePosition, first: u32) -> u32 {
        let last = last_chunk(position);
        // Before the first chunk there is none, so a lane without chunks has no last one.
        if let Some(link) = self.links.get_mut(last as usize) {
            link.next = self.free;
            self.free = first;
            self.bound += 1;
        }
        last
    }

    /// Counts the chunks of a lane that is freed, but one.
    #[inline]
    pub(crate) fn count_freed(&mut self, first: u32, last: u32) {
        if first != last && last != last_chunk(LanePosition::START) {
            let home = self.links[last as usize].home();
            let order = if home.lane == first { home.order } else { self.find(home).order };
            self.bound += u64::from(order);
        }
    }

    /// Frees the chunks of a lane after a place of it.
    #[cold]
    pub(crate) fn release(&mut self, lane: &mut Lane, position: LanePosition) {
        let stood = std::mem::replace(&mut lane.position, position);
        if position == LanePosition::START {
            let first = std::mem::replace(&mut lane.first, NO_LANE);
            let last = self.release_all(stood, first);
            return self.count_freed(first, last);
        }
        let (last, behind, kept) = (last_chunk(stood), self.order(lane, stood) + 1, self.order(lane, position) + 1);
        debug_assert!(kept < behind, "a mark is of this region and no older than its last rewind");
        let end = &mut self.links[last_chunk(position) as usize];
        end.used = CHUNK_CELLS as u16;
        let first = end.next;
        self.links[last as usize].next = self.free;
        self.free = first;
        self.bound += u64::from(behind - kept);
    }
}

impl Chunks {
    /// All chunks, free ones included.
    pub(crate) fn count(&self) -> u32 {
        self.links.len() as u32
    }

    pub(crate) fn free_count(&self) -> u32 {
        self.count() - self.live_count()
    }

    #[inline(always)]
    pub(crate) fn live_count(&self) -> u32 {
        (self.taken - self.freed()) as u32
    }

    pub(crate) fn live_peak(&self) -> u32 {
        self.live_peak
    }

    /// Links a run in itself, as the end of a segment. Its cells are counted when they are handed out.
    #[inline(always)]
    fn adopt(&mut self, run: &Run, home: Home, kind: LaneKind) {
        for at in 0..run.count {
            let chunk = run.start + at;
            let next = if at + 1 == run.count { NONE } else { chunk + 1 };
            let home = Home { lane: home.lane, order: home.order + at };
            self.links[chunk as usize] = Link::new(next, kind, home.lane == chunk, home);
        }
        self.taken += u64::from(run.count);
        self.unused = self.unused.wrapping_add(u64::from(run.count) * u64::from(CHUNK_CELLS));
        self.note_peak();
    }
}

/// The last chunk of the room of a place: of a mark, the chunk where it lies; what is not a chunk at the start.
#[inline]
fn last_chunk(position: LanePosition) -> u32 {
    (position.end() / CHUNK_CELLS).wrapping_sub(1)
}

/// How many chunks are wanted: fewer if they lie after the last one.
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
    use crate::words::Reserved;

    #[test]
    fn what_cannot_be_addressed_is_refused() {
        let (mut chunks, mut words) = (Chunks::new(), Reserved::new().expect("there is address space"));
        let mut lane = Lane::EMPTY;
        let full = chunks
            .extend(&mut words, &mut lane, LaneKind::Expressions, CHUNKS_MAX * CHUNK_CELLS + 1)
            .expect_err("too much");
        assert_eq!((full.limit(), full.bytes()), (Limit::Addresses, 1 << 32));
        assert_eq!((chunks.count(), lane), (0, Lane::EMPTY));
    }

    /// What searching and sorting may cost is earned by taking chunks.
    #[test]
    fn a_search_spends_credit() {
        let (mut chunks, mut words) = (Chunks::new(), Reserved::new().expect("there is address space"));
        let mut lanes = [Lane::EMPTY; 100];
        for lane in &mut lanes {
            chunks.extend(&mut words, lane, LaneKind::Expressions, 64).expect("there is no limit");
        }
        for lane in lanes.iter_mut().step_by(2) {
            chunks.release(lane, LanePosition::START);
        }
        assert_eq!(chunks.credit(), 100 * STEPS_EARNED);
        chunks.spend(chunks.credit() - 20);
        let mut long = Lane::EMPTY;
        chunks.extend(&mut words, &mut long, LaneKind::Expressions, 65).expect("there is no limit");
        assert_eq!((chunks.count(), chunks.credit()), (102, 2 * STEPS_EARNED));
        for lane in lanes.iter_mut().skip(1).step_by(2) {
            chunks.release(lane, LanePosition::START);
        }
        // A search past all of them, and a sort.
        chunks.spent = chunks.taken * STEPS_EARNED - (100 + 102);
        let mut longest = Lane::EMPTY;
        chunks.extend(&mut words, &mut longest, LaneKind::Expressions, 6_400).expect("there is no limit");
        assert_eq!((chunks.count(), chunks.free_count(), chunks.credit()), (102, 0, 100 * STEPS_EARNED));
    }

    /// Without credit, free chunks are not sorted to save memory, but they are before a run is refused.
    #[test]
    fn the_last_resort_needs_no_credit() {
        let (mut chunks, mut words) = (Chunks::new(), Reserved::new().expect("there is address space"));
        let mut lanes = [Lane::EMPTY; 4];
        for lane in &mut lanes {
            chunks.extend(&mut words, lane, LaneKind::Expressions, 64).expect("there is no limit");
        }
        for at in [0, 2, 1, 3] {
            chunks.release(&mut lanes[at], LanePosition::START);
        }
        chunks.spend(chunks.credit());
        chunks.set_limit(Some(4 * CHUNK_BYTES));
        let mut long = Lane::EMPTY;
        assert_eq!(chunks.extend(&mut words, &mut long, LaneKind::Expressions, 4 * 64), Ok(0));
    }
}
