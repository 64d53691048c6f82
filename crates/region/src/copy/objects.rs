//! Copies of [objects](crate::Object): what of them is more than their words.

use super::{Copying, Scan};
use crate::bindings::{ARRAY, BYTES, RUN, TABLE, run_cells};
use crate::heap::{Heap, cells_of};
use crate::limit::Full;
use crate::origin::Origin;
use crate::reference::{Ref, tag};
use crate::region::{Lane, Mark, Region};
use crate::words::Words;

impl<F: FnMut(Ref) -> Ref, O: Origin> Copying<'_, F, O> {
    /// The scan where it meets an object.
    #[cold]
    #[inline(never)]
    pub(super) fn scan_object(&mut self, at: u32) -> Result<(), Full> {
        let object = Ref::new(tag::EXPRESSION, at);
        let length = self.heap.length_at(at);
        self.expressions.at += cells_of(length) as u32;
        match self.heap.word(object, 1).tag() {
            BYTES => self.scan_bytes(object),
            ARRAY => self.scan_words(at, length),
            _ => self.scan_map(object, length),
        }
    }

    fn scan_words(&mut self, at: u32, length: usize) -> Result<(), Full> {
        let first = at as usize * 2 + 1;
        self.scan_words_from(first, first + length)
    }

    /// Of a map, the index is made anew when all its keys are copied and scanned. A table refers to its map, which was copied
    /// before: nothing else refers to a table.
    fn scan_map(&mut self, object: Ref, length: usize) -> Result<(), Full> {
        if self.heap.owner_of_table(object).is_some() {
            return self.scan_words(object.payload(), length);
        }
        self.scan_words(object.payload(), TABLE)?;
        self.met_map = true;
        self.heap.take_index(self.to, object)
    }

    /// Makes the indexes of the maps that were scanned since the last time.
    #[cold]
    pub(super) fn index_maps(&mut self) {
        self.heap.reindex_from(&mut self.indexed, &self.to.expressions);
    }

    /// A run is referred to by one object only, so it is copied when that is.
    fn scan_bytes(&mut self, object: Ref) -> Result<(), Full> {
        let (length, run) = (self.heap.word(object, 1).payload() as usize, self.heap.word(object, RUN));
        let cells = run_cells(length);
        let to = self.heap.take_run(self.to, cells)?;
        self.origin.copy_cells(self.heap, run.cell(), to, cells);
        self.heap.set_word(object, RUN, run.at_cell(to));
        Ok(())
    }
}

impl<W: Words> Heap<W> {
    /// Whether a map was ever made in this heap, by hand or by a copy. If not, there is nothing to index.
    pub fn has_maps(&self) -> bool {
        self.maps_made
    }

    /// Makes the indexes of the maps that a region made after a mark anew: for an owner that has moved cells, or replaced
    /// keys, otherwise than by a copy. Looks at every header since the mark, and at every entry of a map.
    pub fn reindex_maps(&mut self, region: &Region, since: Mark) {
        self.reindex_from(&mut Scan::since(since.expressions, self), &region.expressions);
    }

    fn reindex_from(&mut self, scan: &mut Scan, lane: &Lane) {
        while let Some(at) = scan.next(lane, self) {
            let object = Ref::new(tag::EXPRESSION, at);
            let header = self.word(object, 0).tag();
            scan.at += if header == tag::IMMEDIATE_1 { 1 } else { cells_of(self.length_at(at)) as u32 };
            if header == tag::IMMEDIATE_2
                && let Some(map) = self.owner_of_table(object)
                && self.is_table_of(object, map)
            {
                self.reindex(map);
            }
        }
    }
}
