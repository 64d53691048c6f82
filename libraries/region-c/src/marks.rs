//! Marks: where a region stood, and whether it may still go back there.
//!
//! A mark has a serial number in its region. To rewind to one makes those that were taken later mean nothing: an interval of
//! numbers. Intervals that lie in a new one are dropped, so there are never more than marks that still mean something, and
//! looking one up is a binary search.
//!
//! The places of a mark say how far chunks are given back, and no look at a region tells those that it was at from others. So a
//! mark has a check over its fields: one that a program has changed is refused like one that is too old.

use region::{Mark as Place, RegionHandle};

use crate::arguments::{Out, place};
use crate::heaps::{HeapEntry, Region, with};
use crate::status::{Status, guard};

/// Where a region stood: `mnr_mark`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Mark {
    pub(crate) region: Region,
    pub(crate) serial: u64,
    pub(crate) places: [u64; 3],
    pub(crate) check: u64,
}

impl Mark {
    fn new(region: Region, serial: u64, places: [u64; 3]) -> Mark {
        let mark = Mark { region, serial, places, check: 0 };
        Mark { check: mark.expected_check(), ..mark }
    }

    fn expected_check(&self) -> u64 {
        let [handle, bits] = self.region.words();
        let words = [handle, bits, self.serial].into_iter().chain(self.places);
        words.fold(CHECK_START, |check, word| {
            let product = u128::from(check ^ word) * u128::from(CHECK_MULTIPLIER);
            (product >> 64) as u64 ^ product as u64
        })
    }
}

/// The digits of e, so that a mark of zeros has another check.
const CHECK_START: u64 = 2_718_281_828_459_045_235;
/// An odd number near 2^64 divided by the golden ratio.
const CHECK_MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// The marks of a region.
#[derive(Default)]
pub(crate) struct Marks {
    taken: u64,
    /// The first one and the last one of those that mean nothing, in order.
    gone: Vec<(u64, u64)>,
}

impl Marks {
    fn take(&mut self) -> u64 {
        self.taken += 1;
        self.taken
    }

    fn is_good(&self, serial: u64) -> bool {
        let behind = self.gone.partition_point(|(first, _)| *first <= serial);
        serial > 0 && serial <= self.taken && (behind == 0 || self.gone[behind - 1].1 < serial)
    }

    fn rewound(&mut self, serial: u64) {
        if serial == self.taken {
            return;
        }
        let entry = self.gone.partition_point(|(first, _)| *first <= serial);
        self.gone.truncate(entry);
        self.gone.push((serial + 1, self.taken));
    }
}

impl HeapEntry {
    fn marks_of(&mut self, handle: RegionHandle) -> &mut Marks {
        self.marks.entry(handle).or_default()
    }

    /// Forgets the marks of a region that is gone, and now and then those of regions that went with one.
    pub(crate) fn forget_marks(&mut self, handle: RegionHandle) {
        if self.marks.is_empty() {
            return;
        }
        self.marks.remove(&handle);
        if self.marks.len() > 2 * self.regions.count() + 16 {
            let regions = &self.regions;
            self.marks.retain(|handle, _| regions.region(*handle).is_ok());
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn mnr_mark_take(region: Region, out: Out<Mark>) -> Status {
    guard(|| {
        let out = place(out)?;
        with(region.heap, |entry| {
            let (heap, made) = entry.regions.parts(region.handle())?;
            let places = heap.mark(made).bits();
            let serial = entry.marks_of(region.handle()).take();
            out.write(Mark::new(region, serial, places));
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn mnr_rewind(region: Region, mark: Option<&Mark>) -> Status {
    guard(|| {
        let mark = *mark.ok_or(Status::Null)?;
        with(region.heap, |entry| {
            let handle = region.handle();
            entry.regions.parts(handle)?;
            if mark.region != region
                || mark.check != mark.expected_check()
                || !entry.marks_of(handle).is_good(mark.serial)
            {
                return Err(Status::StaleMark.into());
            }
            let (heap, made) = entry.regions.parts(handle)?;
            heap.rewind(made, Place::from_bits(mark.places));
            entry.marks_of(handle).rewound(mark.serial);
            Ok(())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_mark_is_recognized() {
        let mark = Mark::new(Region::new(1 << 16, RegionHandle::from_bits(2)), 3, [4, 5, 6]);
        assert_eq!(mark.check, mark.expected_check());
        for bit in 0..64 {
            let changed = [
                Mark { serial: mark.serial ^ 1 << bit, ..mark },
                Mark { places: [4 ^ 1 << bit, 5, 6], ..mark },
                Mark { places: [4, 5, 6 ^ 1 << bit], ..mark },
                Mark { check: mark.check ^ 1 << bit, ..mark },
            ];
            assert!(changed.iter().all(|mark| mark.check != mark.expected_check()), "bit {bit}");
        }
    }

    #[test]
    fn later_marks_mean_nothing() {
        let mut marks = Marks::default();
        let [one, two, three] = [marks.take(), marks.take(), marks.take()];
        marks.rewound(two);
        assert_eq!([one, two, three].map(|mark| marks.is_good(mark)), [true, true, false]);
        let four = marks.take();
        assert!(marks.is_good(four));
        marks.rewound(one);
        assert_eq!([one, two, three, four].map(|mark| marks.is_good(mark)), [true, false, false, false]);
        assert_eq!(marks.gone.len(), 1);
        assert!(!marks.is_good(0) && !marks.is_good(9));
    }
}
