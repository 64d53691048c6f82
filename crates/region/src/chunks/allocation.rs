//! Taking cells for the lanes of a region, giving them back, and counting them.

use super::{Chunks, next_chunks::AHEAD_MAX};
use crate::heap::{LONG, LONG_PREFIX_CELLS, ZERO, cells_of};
use crate::layout::{CHUNK_BYTES, CHUNK_CELLS, LaneKind};
use crate::limit::{Full, LENGTH_MAX, Limit};
use crate::reference::{Ref, tag};
use crate::region::{Lane, LanePosition, Region};
use crate::words::{AllWords, word_of};

/// The place after one cell of the chunk 0.
const ONE: u64 = LanePosition::behind(1).bits();

impl Chunks {
    /// Gives back the chunks of all lanes of a region.
    ///
    /// Number by number: a lane that is loaded as one, right after it was stored in parts, is waited for. See [`LanePosition`].
    #[inline]
    pub(crate) fn close(&mut self, region: Region) {
        let Region { expressions, variables, numbers } = region;
        let last = self.close_last(expressions.position, expressions.first);
        // One question, most often answered by no, so that nothing of what is passed on is kept for later.
        let others = variables.position.bits() | numbers.position.bits();
        if others | u64::from(expressions.first ^ last) != 0 {
            let firsts = u64::from(numbers.first) << 32 | u64::from(variables.first);
            self.close_rest(expressions.first, last, variables.position.bits(), numbers.position.bits(), firsts);
        }
    }

    /// Gives back the chunks of a lane, but counts only one of them. Gives the last one; no chunk, of a lane without any.
    #[inline(always)]
    fn close_last(&mut self, position: LanePosition, first: u32) -> u32 {
        self.leave_unused(u64::from(position.room()));
        self.release_all(position, first)
    }

    /// What is left to do for regions of more than one chunk.
    #[inline(never)]
    fn close_rest(&mut self, first: u32, last: u32, variables: u64, numbers: u64, firsts: u64) {
        self.count_freed(first, last);
        for (position, first) in [(variables, firsts as u32), (numbers, (firsts >> 32) as u32)] {
            let last = self.close_last(LanePosition::from_bits(position), first);
            self.count_freed(first, last);
        }
    }

    #[inline]
    pub(crate) fn rewind_lane(&mut self, lane: &mut Lane, position: LanePosition) {
        if lane.position == position {
            return;
        }
        let cells = lane.position.cursor().wrapping_sub(position.cursor());
        if cells > position.room() {
            return self.rewind_chunks(lane, position);
        }
        // In the same chunk; what is ahead stays there.
        self.hand_out(u64::from(cells));
        lane.position = lane.position.back(cells);
    }

    #[cold]
    pub(crate) fn rewind_chunks(&mut self, lane: &mut Lane, position: LanePosition) {
        self.settle(0, lane.position, position);
        self.release(lane, position);
    }

    /// Gives back the cells that a lane was given last, for what is not made after all.
    #[cold]
    pub(crate) fn untake(&mut self, lane: &mut Lane, before: LanePosition, cells: usize) {
        self.rewind_lane(lane, before);
        self.leave_unused(cells as u64);
    }

    /// Refuses chunks that a region has no room for within its own limit.
    pub(crate) fn admit(&mut self, region: &Region, chunks: u32) -> Result<(), Full> {
        let quota = region.expressions.quota;
        if u64::from(self.of_region(region)) + u64::from(chunks) > u64::from(quota) {
            return Err(self.refuse(Limit::Region, quota));
        }
        Ok(())
    }

    /// Counts cells, and the room that a lane has now in place of that which it had.
    pub(crate) fn settle(&mut self, cells: u64, before: LanePosition, now: LanePosition) {
        self.hand_out(cells + u64::from(now.room()));
        self.leave_unused(u64::from(before.room()));
    }

    /// Cells handed out, and those that open lanes have left of their chunks: see [`Chunks::ahead`].
    pub(crate) fn handed_out(&self) -> u64 {
        (self.taken * u64::from(CHUNK_CELLS)).wrapping_sub(self.unused)
    }

    /// Counts cells of a lane that were handed out, beside those of chunks that it took one by one.
    #[inline(always)]
    pub(crate) fn hand_out(&mut self, cells: u64) {
        self.unused = self.unused.wrapping_sub(cells);
    }

    /// Counts cells of a lane that are not handed out after all.
    #[inline(always)]
    pub(crate) fn leave_unused(&mut self, cells: u64) {
        self.unused = self.unused.wrapping_add(cells);
    }

    /// A count that rises by the cells that a region is given, and by nothing else as long as only that region is used.
    pub(crate) fn given(&self, region: &Region) -> u64 {
        self.handed_out() - self.ahead(region)
    }

    /// The room of a region, whose cells are counted before it uses them.
    pub(crate) fn ahead(&self, region: &Region) -> u64 {
        region.lanes().iter().map(|lane| u64::from(lane.room())).sum()
    }

    /// Gives back the chunks ahead of a lane. O(1), since they are linked in themselves.
    pub(crate) fn give_ahead(&mut self, lane: &mut Lane) {
        let position = lane.position.within_chunk();
        if position != lane.position {
            self.settle(0, lane.position, position);
            self.release(lane, position);
        }
    }

    /// Takes cells, at most those of a chunk, for a lane whose last chunk has too few. The kind is known where this is called,
    /// so that nothing is asked about it.
    #[inline(always)]
    pub(crate) fn extend_by_one(
        &mut self,
        words: &mut AllWords,
        region: &mut Region,
        kind: LaneKind,
        cells: usize,
    ) -> Result<u32, Full> {
        match self.next_chunk(region, kind, cells) {
            Some(at) => Ok(at),
            None => self.allot(words, region, kind, cells),
        }
    }

    /// Takes cells for a lane whose last chunk has too few, where the free list has a chunk that no limit is to be asked about.
    #[inline(always)]
    fn next_chunk(&mut self, region: &mut Region, kind: LaneKind, cells: usize) -> Option<u32> {
        let quota = region.expressions.quota;
        let lane = region.lane_mut(kind);
        let next = self.next_lane(Lane { quota, ..*lane }, kind, cells as u32)?;
        (lane.position, lane.first) = (next.position, next.first);
        Some(next.position.cursor() - cells as u32)
    }

    /// The lane after `cells` cells of its next chunk. Its quota is that of the region.
    #[inline(always)]
    fn next_lane(&mut self, lane: Lane, kind: LaneKind, cells: u32) -> Option<Lane> {
        if lane.quota != u32::MAX {
            return None;
        }
        let (position, first) = match lane.is_empty() {
            true => self.begin(kind, LanePosition::behind(cells)),
            false => (self.go_on_in_free(lane.position, kind, cells), lane.first),
        };
        (position != LanePosition::START).then_some(Lane { position, first, ..lane })
    }

    /// Takes cells for a lane whose last chunk has too few.
    #[cold]
    #[inline(never)]
    pub(crate) fn allot(
        &mut self,
        words: &mut AllWords,
        region: &mut Region,
        kind: LaneKind,
        cells: usize,
    ) -> Result<u32, Full> {
        if cells <= CHUNK_CELLS as usize
            && region.expressions.quota == u32::MAX
            && self.supply()
            && let Some(at) = self.next_at_peak(region, kind, cells)
        {
            return Ok(at);
        }
        if region.expressions.quota != u32::MAX {
            self.admit(region, (cells as u32).div_ceil(CHUNK_CELLS))?;
        }
        let lane = region.lane_mut(kind);
        self.give_ahead(lane);
        let before = lane.position;
        let at = self.extend(words, lane, kind, cells as u32)?;
        self.settle(cells as u64, before, lane.position);
        Ok(at)
    }

    /// Takes cells as [`Chunks::next_chunk`] does, where more chunks may be live than ever.
    fn next_at_peak(&mut self, region: &mut Region, kind: LaneKind, cells: usize) -> Option<u32> {
        self.be_ready(self.limit.min(self.live_count() + AHEAD_MAX));
        let at = self.next_chunk(region, kind, cells);
        self.note_peak();
        at
    }

    /// How many chunks a region holds, those ahead included.
    pub(crate) fn of_region(&self, region: &Region) -> u32 {
        region.lanes().iter().map(|lane| self.length(lane)).sum()
    }

    /// How many chunks a region has reached.
    pub(crate) fn reached(&self, region: &Region) -> u32 {
        region.lanes().iter().map(|lane| self.length_to(lane, lane.position.within_chunk())).sum()
    }

    /// The cells of an expression of this length, where the chunks that a region has are too small for it, which is so for all
    /// lengths that need a prefix; nothing if they cannot be had at once.
    ///
    /// The lane is passed and comes back by value: a caller with a loop has it in registers, and not in
    /// memory, since its address is known to nobody.
    #[inline(always)]
    pub(crate) fn allot_at_once(&mut self, region: &mut Region, length: usize) -> Option<u32> {
        if length >= CHUNK_CELLS as usize * 2 {
            return None;
        }
        let (lane, cells) = (region.expressions, cells_of(length) as u32);
        let next = self.next_of_expressions(lane.position.bits(), lane.rest(), LanePosition::behind(cells).bits());
        region.expressions.go_on(next)?;
        Some(region.expressions.position.cursor() - cells)
    }

    /// The cell of a number, where the chunks that a region has are full; nothing if it cannot be had at once.
    #[inline(always)]
    pub(crate) fn number_at_once(&mut self, region: &mut Region) -> Option<u32> {
        let lane = Lane { quota: region.expressions.quota, ..region.numbers };
        let next = self.next_of_numbers(lane.position.bits(), lane.rest());
        region.numbers.go_on(next)?;
        Some(region.numbers.position.cursor() - 1)
    }

    /// The cell of a variable, in the same way.
    #[inline(always)]
    pub(crate) fn variable_at_once(&mut self, region: &mut Region) -> Option<u32> {
        let lane = Lane { quota: region.expressions.quota, ..region.variables };
        let next = self.next_of_variables(lane.position.bits(), lane.rest());
        region.variables.go_on(next)?;
        Some(region.variables.position.cursor() - 1)
    }

    /// The cells of an expression, where they cannot be had at once.
    #[cold]
    pub(crate) fn allot_late(&mut self, words: &mut AllWords, region: &mut Region, length: usize) -> Result<u32, Full> {
        if length < CHUNK_CELLS as usize * 2 {
            return self.allot(words, region, LaneKind::Expressions, cells_of(length));
        }
        self.allot_run(words, region, length)
    }

    /// Where a lane of expressions of this place and [`Lane::rest`] stands after as many cells of its next chunk as
    /// this place is in the chunk 0, and its first chunk. No place, if that cannot be had at once.
    #[cold]
    #[inline(never)]
    fn next_of_expressions(&mut self, position: u64, rest: u64, stands: u64) -> (u64, u32) {
        self.next_words(position, rest, LaneKind::Expressions, stands, Self::expressions_behind)
    }

    #[cold]
    #[inline(never)]
    fn next_of_variables(&mut self, position: u64, rest: u64) -> (u64, u32) {
        self.next_words(position, rest, LaneKind::Variables, ONE, Self::variables_behind)
    }

    /// Where a lane of numbers stands after a cell of its next chunk, and its first chunk. Numbers must lie where they can be addressed.
    #[cold]
    #[inline(never)]
    fn next_of_numbers(&mut self, position: u64, rest: u64) -> (u64, u32) {
        if self.free >= self.number_limit {
            return (0, 0);
        }
        self.next_words(position, rest, LaneKind::Numbers, ONE, Self::numbers_behind)
    }

    /// Takes the next chunk of a lane without any, or goes on after those that it has. Nothing where a question is to be
    /// asked first, as for each chunk of a heap that grows.
    #[inline(always)]
    fn next_words(
        &mut self,
        position: u64,
        rest: u64,
        kind: LaneKind,
        stands: u64,
        behind: impl Fn(&mut Self, u64, u64, u64) -> (u64, u32),
    ) -> (u64, u32) {
        if rest == Lane::EMPTY.rest() {
            let (position, first) = self.begin(kind, LanePosition::from_bits(stands));
            return (position.bits(), first);
        }
        if self.taken >= self.bound {
            return (0, 0);
        }
        behind(self, position, rest, stands)
    }

    /// Goes on behind the chunks that a lane of expressions has: a function of its own, so that the other one needs few registers, and
    /// one for each kind, so that a link is written in whole words.
    #[cold]
    #[inline(never)]
    fn expressions_behind(&mut self, position: u64, rest: u64, stands: u64) -> (u64, u32) {
        self.words_behind(position, rest, LaneKind::Expressions, stands)
    }

    #[cold]
    #[inline(never)]
    fn variables_behind(&mut self, position: u64, rest: u64, stands: u64) -> (u64, u32) {
        self.words_behind(position, rest, LaneKind::Variables, stands)
    }

    #[cold]
    #[inline(never)]
    fn numbers_behind(&mut self, position: u64, rest: u64, stands: u64) -> (u64, u32) {
        self.words_behind(position, rest, LaneKind::Numbers, stands)
    }

    #[inline(always)]
    fn words_behind(&mut self, position: u64, rest: u64, kind: LaneKind, stands: u64) -> (u64, u32) {
        let lane = Lane::from_words(position, rest);
        if lane.quota != u32::MAX {
            return (0, 0);
        }
        let position = self.go_on_in_free(lane.position, kind, LanePosition::from_bits(stands).cursor());
        (position.bits(), lane.first)
    }

    /// The cells of an expression that needs more than a chunk.
    #[cold]
    #[inline(never)]
    fn allot_run(&mut self, words: &mut AllWords, region: &mut Region, length: usize) -> Result<u32, Full> {
        if length > LENGTH_MAX {
            return Err(self.too_long());
        }
        let cells = cells_of(length);
        if length < LONG {
            return self.allot(words, region, LaneKind::Expressions, cells);
        }
        let prefix = self.allot(words, region, LaneKind::Expressions, LONG_PREFIX_CELLS + cells)?;
        let first = word_of(prefix);
        words[first..first + 2].copy_from_slice(&[Ref::new(tag::IMMEDIATE_1, length as u32), ZERO]);
        Ok(prefix + LONG_PREFIX_CELLS as u32)
    }

    pub(crate) fn too_long(&mut self) -> Full {
        self.refuse(Limit::Length, (LENGTH_MAX * size_of::<Ref>()).div_ceil(CHUNK_BYTES) as u32)
    }

    /// Takes cells for a lane of numbers whose last chunk has too few. If the chunks that come first in the free list lie where no
    /// number can be addressed, tries once more with the list sorted: those at the front may do.
    #[cold]
    pub(crate) fn extend_numbers(
        &mut self,
        words: &mut AllWords,
        region: &mut Region,
        cells: usize,
    ) -> Result<u32, Full> {
        if let Some(at) = self.extend_numbers_near(words, region, cells)? {
            return Ok(at);
        }
        self.sort();
        let limit = self.number_limit;
        let near = self.extend_numbers_near(words, region, cells)?;
        near.ok_or_else(|| self.refuse(Limit::NumberAddresses, limit))
    }

    /// Takes cells for a lane of numbers whose last chunk has too few; nothing if the lane would end where no number can be addressed:
    /// the next one is made there without a question.
    fn extend_numbers_near(
        &mut self,
        words: &mut AllWords,
        region: &mut Region,
        cells: usize,
    ) -> Result<Option<u32>, Full> {
        let before = region.numbers.position.within_chunk();
        let at = if cells <= CHUNK_CELLS as usize {
            self.extend_by_one(words, region, LaneKind::Numbers, cells)?
        } else {
            self.allot(words, region, LaneKind::Numbers, cells)?
        };
        if region.numbers.position.end() <= self.number_limit * CHUNK_CELLS {
            return Ok(Some(at));
        }
        self.untake(&mut region.numbers, before, cells);
        Ok(None)
    }
}
