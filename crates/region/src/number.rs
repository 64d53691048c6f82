//! Numbers, and the lane that they share with other raw data.
//!
//! A reference to a number has a bit less for its cell, which its kind takes: numbers lie in the lower half of what a heap can
//! address, and so does all of each lane of them.

use crate::heap::{Heap, aside};
use crate::limit::Full;
use crate::reference::{Ref, tag};
use crate::region::Region;
use crate::words::{Addressed, Words, word_of};

impl Heap {
    /// Makes a number of 64 bits that mean something to the owner, of kind 0 or 1: the lowest bit of the payload.
    #[inline]
    pub fn number(&mut self, region: &mut Region, kind: u32, bits: u64) -> Result<Ref, Full> {
        debug_assert!(kind <= 1);
        let at = match region.numbers.bump_few(1) {
            Some(at) => at,
            None => match self.chunks.number_at_once(region) {
                Some(at) => at,
                None => aside(region, |region| self.number_late(region))?,
            },
        };
        self.write_cell(at, [Ref::from_bits(bits as u32), Ref::from_bits((bits >> 32) as u32)]);
        Ok(Ref::new(tag::NUMBER, at << 1 | kind))
    }

    #[cold]
    #[inline(never)]
    fn number_late(&mut self, region: &mut Region) -> Result<u32, Full> {
        self.chunks.extend_numbers(&mut self.words, region, 1)
    }
}

impl<W: Words> Heap<W> {
    /// The bits of a number.
    #[inline]
    pub fn number_bits(&self, number: Ref) -> u64 {
        debug_assert!(number.is_number());
        bits_in(&*self.words, number.cell())
    }
}

/// The number that lies here in a heap of these words.
#[inline]
pub(crate) fn bits_in(words: &(impl Addressed + ?Sized), at: u32) -> u64 {
    let halves = &words[word_of(at)..word_of(at) + 2];
    u64::from(halves[0].bits()) | u64::from(halves[1].bits()) << 32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::layout::{CHUNK_BYTES, CHUNK_CELLS};
    use crate::limit::Limit;
    use crate::region::{Lane, Region};

    #[test]
    fn a_number_that_cannot_be_addressed_is_refused() {
        let mut heap = Heap::new();
        heap.chunks.number_limit = 3;
        let mut region = heap.open();
        let (mark, mut made) = (heap.mark(&region), 0);
        let full = loop {
            match heap.number(&mut region, 0, 7) {
                Ok(number) => made += heap.number_bits(number),
                Err(full) => break full,
            }
        };
        assert_eq!((full.limit(), full.bytes(), made), (Limit::NumberAddresses, 3 * 512, 3 * 64 * 7));
        assert_eq!(heap.statistics().chunks_free, 1);
        heap.variable(&mut region, 0).expect("only numbers have that limit");
        let string = heap.string(&mut region, "").map_err(|full| (full.limit(), heap.mark(&region).expressions));
        assert_eq!(string, Err((Limit::NumberAddresses, mark.expressions)));
        heap.rewind(&mut region, mark);
        heap.number(&mut region, 0, 7).expect("there is room again");
        heap.close(region);
        assert_eq!(heap.statistics().cells_handed_out, 3 * 64 + 2);
    }

    /// A run that begins where numbers may lie and ends after has left the lane where no number can be addressed.
    #[test]
    fn a_run_that_ends_behind_what_numbers_reach_is_refused() -> Result<(), Full> {
        let mut heap = Heap::new();
        heap.chunks.number_limit = 3;
        let mut region = heap.open();
        heap.number(&mut region, 0, 7)?;
        let refused = heap.buffer(&mut region, &[1; 3 * CHUNK_BYTES]).map_err(|full| full.limit());
        assert_eq!(refused, Err(Limit::NumberAddresses));
        assert_eq!((region.numbers.position.cursor(), region.expressions), (1, Lane::EMPTY));
        heap.buffer(&mut region, &[1; 3 * CHUNK_BYTES - 8])?;
        assert_eq!(heap.number(&mut region, 0, 7).map_err(|full| full.limit()), Err(Limit::NumberAddresses));
        heap.close(region);
        Ok(())
    }

    /// That the first free chunk lies too far away for numbers says nothing of the others.
    #[test]
    fn numbers_lie_in_any_free_memory_that_they_reach() -> Result<(), Full> {
        for bytes in [1, 2 * CHUNK_BYTES] {
            let mut heap = Heap::new();
            heap.chunks.number_limit = 3;
            let (mut near, mut far, mut region) = (heap.open(), heap.open(), heap.open());
            heap.reserve(&mut near, 3 * CHUNK_CELLS as usize * 2 - 1)?;
            heap.reserve(&mut far, 3 * CHUNK_CELLS as usize * 2 - 1)?;
            heap.close(near);
            heap.close(far);
            let made = heap.buffer(&mut region, &vec![1; bytes])?;
            assert_eq!((heap.bytes(made).len(), region.numbers.first), (bytes, 0));
            assert_eq!(heap.statistics().limit_failures, 0);
            heap.close(region);
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        /// Numbers and buffers of two regions, beside expressions that take what numbers cannot reach: what is refused had no room,
        /// and what was made is there.
        #[test]
        fn numbers_end_where_they_reach(limit in 1..8_u32, steps in prop::collection::vec((0..2_usize, 0..7, 0..900_usize), 1..60)) {
            let (mut heap, filler) = (Heap::new(), vec![Ref::from_bits(0); 900]);
            heap.chunks.number_limit = limit;
            let (mut regions, mut made) = ([heap.open(), heap.open()], [Vec::new(), Vec::new()]);
            for (at, kind, size) in steps {
                let region = &mut regions[at];
                let stood = heap.mark(region);
                let result = match kind {
                    0 => {
                        heap.close(std::mem::replace(region, Region::EMPTY));
                        made[at].clear();
                        continue;
                    }
                    1 | 2 => {
                        heap.expression(region, &filler[..size])?;
                        continue;
                    }
                    3 => heap.buffer(region, &vec![size as u8; size * 8]),
                    _ => heap.number(region, 1, size as u64),
                };
                match result {
                    Ok(reference) => made[at].push((reference, size)),
                    Err(full) => {
                        prop_assert_eq!((full.limit(), heap.mark(region)), (Limit::NumberAddresses, stood));
                        let mut probe = heap.open();
                        for _ in 0..heap.chunks.free_count() {
                            let free = heap.reserve(&mut probe, 127)?;
                            prop_assert!(kind == 3 || free.cell() >= limit * CHUNK_CELLS, "there was room");
                        }
                        heap.close(probe);
                    }
                }
                prop_assert!(regions.iter().all(|region| region.numbers.position.end() <= limit * CHUNK_CELLS));
                for &(reference, size) in made.iter().flatten() {
                    if reference.is_number() {
                        prop_assert_eq!(heap.number_bits(reference), size as u64);
                    } else {
                        prop_assert_eq!(heap.bytes(reference).to_vec(), vec![size as u8; size * 8]);
                    }
                }
            }
        }
    }
}
