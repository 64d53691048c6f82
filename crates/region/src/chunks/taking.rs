//! Taking cells for the lanes of a region, giving them back, and counting them.

use super::{CHUNK_BYTES, CHUNK_CELLS, Chunks, Kind};
use crate::heap::{LONG, LONG_PREFIX_CELLS, ZERO, cells_of};
use crate::limit::{Full, LENGTH_MAX, Limit};
use crate::reference::{Ref, tag};
use crate::region::{Lane, Place, Region};
use crate::words::{All, word_of};

/// In place of a cell, where there is none.
pub(crate) const NO_CELL: u32 = u32::MAX;

impl Chunks {
    #[inline]
    pub(crate) fn close_lane(&mut self, place: Place, first: u32) {
        if place != Place::START {
            self.handed_out -= u64::from(place.room());
            self.release_all(place, first);
        }
    }

    /// Gives back variables and numbers: apart, since the smallest regions have none.
    #[inline(never)]
    pub(crate) fn close_others(&mut self, places: [Place; 2], firsts: [u32; 2]) {
        self.close_lane(places[0], firsts[0]);
        self.close_lane(places[1], firsts[1]);
    }

    #[inline]
    pub(crate) fn rewind_lane(&mut self, lane: &mut Lane, place: Place) {
        if lane.place == place {
            return;
        }
        let cells = lane.place.cursor().wrapping_sub(place.cursor());
        if cells > place.room() {
            return self.rewind_chunks(lane, place);
        }
        // In the same chunk; what is ahead stays there.
        self.handed_out += u64::from(cells);
        lane.place = lane.place.back(cells);
    }

    #[cold]
    fn rewind_chunks(&mut self, lane: &mut Lane, place: Place) {
        self.settle(0, lane.place, place);
        self.release(lane, place);
    }

    /// Gives back the cells that a lane was given last, for what is not made after all.
    #[cold]
    pub(crate) fn untake(&mut self, lane: &mut Lane, before: Place, cells: usize) {
        self.rewind_lane(lane, before);
        self.handed_out -= cells as u64;
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
    pub(crate) fn settle(&mut self, cells: u64, before: Place, now: Place) {
        self.handed_out = self.handed_out + cells + u64::from(now.room()) - u64::from(before.room());
    }

    /// A count that rises by the cells that a region is given, and by nothing else as long as only that region is used.
    pub(crate) fn given(&self, region: &Region) -> u64 {
        self.handed_out - self.ahead(region)
    }

    /// The room of a region, whose cells are counted before it uses them.
    pub(crate) fn ahead(&self, region: &Region) -> u64 {
        region.lanes().iter().map(|lane| u64::from(lane.room())).sum()
    }

    /// Gives back the chunks ahead of a lane. O(1), since they are linked in themselves.
    pub(crate) fn give_ahead(&mut self, lane: &mut Lane) {
        let place = lane.place.within_chunk();
        if place != lane.place {
            self.settle(0, lane.place, place);
            self.release(lane, place);
        }
    }

    /// Takes cells, at most those of a chunk, for a lane whose last chunk has too few. The kind is known where this is called,
    /// so that nothing is asked about it.
    #[inline(always)]
    pub(crate) fn extend_by_one(
        &mut self,
        words: &mut All,
        region: &mut Region,
        kind: Kind,
        cells: usize,
    ) -> Result<u32, Full> {
        match self.next_chunk(region, kind, cells) {
            Some(at) => Ok(at),
            None => self.allot(words, region, kind, cells),
        }
    }

    /// The same where the free list has a chunk that no limit is to be asked about.
    #[inline(always)]
    fn next_chunk(&mut self, region: &mut Region, kind: Kind, cells: usize) -> Option<u32> {
        if region.expressions.quota != u32::MAX {
            return None;
        }
        let lane = region.lane_mut(kind);
        if lane.is_empty() {
            return self.begin(lane, kind, cells as u32);
        }
        self.go_on_in_free(lane, kind, cells as u32)
    }

    /// Takes cells for a lane whose last chunk has too few.
    #[cold]
    #[inline(never)]
    pub(crate) fn allot(
        &mut self,
        words: &mut All,
        region: &mut Region,
        kind: Kind,
        cells: usize,
    ) -> Result<u32, Full> {
        if cells <= CHUNK_CELLS as usize
            && self.supply()
            && let Some(at) = self.next_chunk(region, kind, cells)
        {
            return Ok(at);
        }
        if region.expressions.quota != u32::MAX {
            self.admit(region, (cells as u32).div_ceil(CHUNK_CELLS))?;
        }
        let lane = region.lane_mut(kind);
        self.give_ahead(lane);
        let before = lane.place;
        let at = self.extend(words, lane, kind, cells as u32)?;
        self.settle(cells as u64, before, lane.place);
        Ok(at)
    }

    /// How many chunks a region holds, those ahead included.
    pub(crate) fn of_region(&self, region: &Region) -> u32 {
        region.lanes().iter().map(|lane| self.length(lane)).sum()
    }

    /// How many chunks a region has reached.
    pub(crate) fn reached(&self, region: &Region) -> u32 {
        region.lanes().iter().map(|lane| self.length_to(lane, lane.place.within_chunk())).sum()
    }

    /// The cells of an expression of this length, where the chunks that a region has are too small for it, which is so for all
    /// lengths that need a prefix; [`NO_CELL`] if they cannot be had at once.
    #[inline(always)]
    pub(crate) fn allot_soon(&mut self, region: &mut Region, length: usize) -> u32 {
        if length < CHUNK_CELLS as usize * 2 { self.allot_next(region, cells_of(length)) } else { NO_CELL }
    }

    /// The same where they cannot.
    #[cold]
    pub(crate) fn allot_late(&mut self, words: &mut All, region: &mut Region, length: usize) -> Result<u32, Full> {
        if length < CHUNK_CELLS as usize * 2 {
            return self.allot(words, region, Kind::Expressions, cells_of(length));
        }
        self.allot_run(words, region, length)
    }

    /// So many cells, at most those of a chunk, where the next chunk can be had at once; otherwise [`NO_CELL`].
    #[cold]
    #[inline(never)]
    fn allot_next(&mut self, region: &mut Region, cells: usize) -> u32 {
        if region.expressions.quota != u32::MAX {
            return NO_CELL;
        }
        let lane = &mut region.expressions;
        if !lane.is_empty() {
            return self.allot_behind(region, cells);
        }
        self.begin(lane, Kind::Expressions, cells as u32).unwrap_or(NO_CELL)
    }

    /// The same for a lane that has chunks: a function of its own, so that the other one needs few registers.
    #[cold]
    #[inline(never)]
    fn allot_behind(&mut self, region: &mut Region, cells: usize) -> u32 {
        self.go_on_in_free(&mut region.expressions, Kind::Expressions, cells as u32).unwrap_or(NO_CELL)
    }

    /// The same for what needs more than a chunk.
    #[cold]
    #[inline(never)]
    fn allot_run(&mut self, words: &mut All, region: &mut Region, length: usize) -> Result<u32, Full> {
        if length > LENGTH_MAX {
            return Err(self.too_long());
        }
        let cells = cells_of(length);
        if length < LONG {
            return self.allot(words, region, Kind::Expressions, cells);
        }
        let prefix = self.allot(words, region, Kind::Expressions, LONG_PREFIX_CELLS + cells)?;
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
    pub(crate) fn extend_numbers(&mut self, words: &mut All, region: &mut Region, cells: usize) -> Result<u32, Full> {
        if let Some(at) = self.extend_numbers_near(words, region, cells)? {
            return Ok(at);
        }
        self.sort();
        let limit = self.number_limit;
        let near = self.extend_numbers_near(words, region, cells)?;
        near.ok_or_else(|| self.refuse(Limit::NumberAddresses, limit))
    }

    /// The same, and nothing if the lane would end where no number can be addressed: the next one is made there without a question.
    fn extend_numbers_near(&mut self, words: &mut All, region: &mut Region, cells: usize) -> Result<Option<u32>, Full> {
        let before = region.numbers.place.within_chunk();
        let at = match cells {
            1 => self.extend_by_one(words, region, Kind::Numbers, cells)?,
            _ => self.allot(words, region, Kind::Numbers, cells)?,
        };
        if region.numbers.place.end() <= self.number_limit * CHUNK_CELLS {
            return Ok(Some(at));
        }
        self.untake(&mut region.numbers, before, cells);
        Ok(None)
    }
}
