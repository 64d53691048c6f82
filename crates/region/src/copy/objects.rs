//! Copies of [objects](crate::Object): what of them is more than their words.

use super::{Copying, Scan};
use crate::bytes::{RUN, run_cells};
use crate::heap::{Heap, cells_of};
use crate::limit::Full;
use crate::map::TABLE;
use crate::object::{ARRAY, BYTES};
use crate::reference::{Ref, tag};
use crate::region::{Place, Region};

impl<F: FnMut(Ref) -> Ref> Copying<'_, F> {
    /// The scan where it meets something else than an expression: the prefix of a long one, or an object.
    #[cold]
    #[inline(never)]
    pub(super) fn scan_object(&mut self, at: u32) -> Result<(), Full> {
        let object = Ref::new(tag::EXPRESSION, at);
        if self.heap.word(object, 0).tag() == tag::IMMEDIATE_1 {
            self.expressions.at += 1;
            return Ok(());
        }
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
        (first..first + length).try_for_each(|word| self.scan_word(word))
    }

    /// The index of a map is made when the keys are known, which is when its table was scanned. The table refers to the map,
    /// which was copied before: nothing else refers to the table.
    fn scan_map(&mut self, object: Ref, length: usize) -> Result<(), Full> {
        if self.heap.owner_of_table(object).is_none() {
            return self.scan_words(object.payload(), TABLE);
        }
        self.scan_words(object.payload(), length)?;
        match self.heap.owner_of_table(object) {
            Some(map) => self.heap.index_copy(self.to, map),
            None => Ok(()),
        }
    }

    /// A run is referred to by one object only, so it is copied when that is.
    fn scan_bytes(&mut self, object: Ref) -> Result<(), Full> {
        let (length, run) = (self.heap.word(object, 1).payload() as usize, self.heap.word(object, RUN));
        let cells = run_cells(length);
        let to = self.heap.take_run(self.to, cells)?;
        self.heap.chunks.copy_cells(run.cell(), to, cells);
        self.heap.set_word(object, RUN, run.at_cell(to));
        Ok(())
    }
}

impl Heap {
    /// Makes the indexes of all maps of a region anew, which no longer fit when cells were moved and references changed
    /// otherwise than by a copy. Looks at every header of the region, and at every entry of a map.
    pub fn reindex_maps(&mut self, region: &Region) {
        let mut scan = Scan::from(Place::START);
        while let Some(at) = scan.next(&region.expressions, self) {
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
