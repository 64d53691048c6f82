//! How many lookups a store has answered, and what they took: counted always, kept between openings.
//!
//! 1. A lookup counts its [steps](crate::steps) for itself, and adds them when it ends.
//! 2. Each thread adds to a slot that no other thread writes to, so that counting needs no locked instruction; threads that got no slot of
//!    their own share the last one. The sum of all slots is exact when no lookup is under way.
//! 3. A store that ends writes the sum to the file `COUNTERS`, if there was a lookup, without waiting for the disk: a crash loses the counts
//!    since the store was opened, and nothing else. It is no part of the data, and one that is damaged or cannot be read counts as lost.

use crate::fields::{take_u32, take_u64};
use crate::steps::Steps;
use crc32c::crc32c;
use journal::{Access, Disk};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

const NAME: &str = "COUNTERS";
/// What a file is named before it takes the place of the one before.
pub(crate) const NAME_NEW: &str = "COUNTERS.new";
const MAGIC: [u8; 8] = *b"MTRNCNTR";
const VERSION: u32 = 1;

/// How many threads of a process count without locked instructions.
const SLOTS: usize = 32;
/// How many numbers are counted.
const FIELDS: usize = 7;

/// How lookups ended and what they took, since the store was made.
///
/// Lookups by [`Store::get`](crate::Store::get), [`Snapshot::get`](crate::Snapshot::get) and
/// [`Snapshot::watch`](crate::Snapshot::watch) count; ranges do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lookups {
    /// How many gave a value.
    pub hits: u64,
    /// How many of those had it from a memtable, so that no run was asked.
    pub hits_in_memory: u64,
    /// How many found that the key is not there, or is deleted.
    pub misses: u64,
    /// How many filters of runs were asked.
    pub filters: u64,
    /// How many of them said that the key is not there, so that the run was skipped.
    pub denied: u64,
    /// How many comparisons the indexes of runs took.
    pub comparisons: u64,
    /// How many pages of files were read, those of an index left out.
    pub pages: u64,
}

impl Lookups {
    /// How many lookups there were.
    pub fn all(&self) -> u64 {
        self.hits + self.misses
    }

    /// Which share of the lookups gave a value, if there was any lookup.
    pub fn hit_share(&self) -> Option<f64> {
        (self.all() > 0).then(|| self.hits as f64 / self.all() as f64)
    }

    fn fields(&self) -> [u64; FIELDS] {
        let Self { hits, hits_in_memory, misses, filters, denied, comparisons, pages } = *self;
        [hits, hits_in_memory, misses, filters, denied, comparisons, pages]
    }

    fn of(fields: [u64; FIELDS]) -> Self {
        let [hits, hits_in_memory, misses, filters, denied, comparisons, pages] = fields;
        Self { hits, hits_in_memory, misses, filters, denied, comparisons, pages }
    }
}

/// What one thread has counted.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Slot([AtomicU64; FIELDS]);

/// The counts of a store.
#[derive(Debug)]
pub(crate) struct Tally {
    /// What was counted before the store was opened; nothing if the file is damaged.
    before: Option<Lookups>,
    /// One for each place that a thread may have, and one for the threads that have none.
    slots: Box<[Slot]>,
}

impl Tally {
    /// Begins with what was counted before. A file that cannot be read counts as lost: counts are worth no failure.
    pub(crate) fn read(disk: &dyn Disk) -> Self {
        let before = match disk.open(NAME, Access::Read) {
            Err(error) if error.kind() == ErrorKind::NotFound => Some(Lookups::default()),
            file => file.ok().and_then(|file| {
                let mut bytes = [0; ENCODED_BYTES + 1];
                let count = file.read_full(0, &mut bytes).ok()?;
                decode(&bytes[..count])
            }),
        };
        Self { before, slots: (0..=SLOTS).map(|_| Slot::default()).collect() }
    }

    /// Counts a lookup that has ended.
    #[inline]
    pub(crate) fn add(&self, steps: &Steps, is_hit: bool) {
        let place = PLACE.try_with(|place| place.0).unwrap_or(SLOTS);
        let hits = u64::from(is_hit);
        let in_memory = hits & steps.answered_in_memory;
        let fields = [hits, in_memory, 1 - hits, steps.filters, steps.denied, steps.comparisons, steps.pages];
        for (counter, added) in self.slots[place].0.iter().zip(fields) {
            if added == 0 {
                continue;
            }
            if place < SLOTS {
                // This thread alone writes here.
                counter.store(counter.load(Ordering::Relaxed) + added, Ordering::Relaxed);
            } else {
                counter.fetch_add(added, Ordering::Relaxed);
            }
        }
    }

    fn since(&self) -> [u64; FIELDS] {
        let sum = |field: usize| self.slots.iter().map(|slot| slot.0[field].load(Ordering::Relaxed)).sum();
        std::array::from_fn(sum)
    }

    /// All lookups since the store was made; `None` if the counts before it was opened are lost.
    pub(crate) fn all(&self) -> Option<Lookups> {
        let (before, since) = (self.before?.fields(), self.since());
        Some(Lookups::of(std::array::from_fn(|field| before[field].saturating_add(since[field]))))
    }

    /// The lookups since the store was opened.
    pub(crate) fn since_opening(&self) -> Lookups {
        Lookups::of(self.since())
    }

    /// Keeps the counts for whoever opens the store next. If the disk refuses, those before stay.
    pub(crate) fn write(&self, disk: &dyn Disk) {
        let since = self.since();
        if since == [0; FIELDS] {
            return;
        }
        let bytes = encode(&self.all().unwrap_or_else(|| Lookups::of(since)));
        let written = disk.create(NAME_NEW).and_then(|file| file.write_full(0, &bytes));
        // Counts are worth no failure: nothing that was acknowledged depends on them.
        let _ = written.and_then(|()| disk.rename(NAME_NEW, NAME));
    }
}

const ENCODED_BYTES: usize = MAGIC.len() + 4 + FIELDS * 8 + 4;

fn encode(lookups: &Lookups) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ENCODED_BYTES);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    lookups.fields().iter().for_each(|field| bytes.extend_from_slice(&field.to_le_bytes()));
    let sum = crc32c(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Option<Lookups> {
    let (fields, sum) = bytes.split_last_chunk::<4>()?;
    let mut rest = fields.strip_prefix(&MAGIC)?;
    let is_whole = bytes.len() == ENCODED_BYTES && crc32c(fields) == u32::from_le_bytes(*sum);
    if !is_whole || take_u32(&mut rest)? != VERSION {
        return None;
    }
    let mut found = [0; FIELDS];
    for field in &mut found {
        *field = take_u64(&mut rest)?;
    }
    Some(Lookups::of(found))
}

/// The place of a thread among the slots of every tally. A thread that ends gives it back.
struct Place(usize);

/// Places that were given back, and how many were ever taken.
static PLACES: Mutex<(Vec<usize>, usize)> = Mutex::new((Vec::new(), 0));

thread_local! {
    static PLACE: Place = Place::take();
}

impl Place {
    fn take() -> Self {
        let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
        let (free, taken) = &mut *places;
        Self(free.pop().unwrap_or_else(|| {
            let place = (*taken).min(SLOTS);
            *taken = (*taken + 1).min(SLOTS);
            place
        }))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.0 < SLOTS {
            PLACES.lock().unwrap_or_else(PoisonError::into_inner).0.push(self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_as_they_were_written_or_not_at_all() {
        let lookups = Lookups::of([1, 2, 3, 4, 5, 6, u64::MAX]);
        let bytes = encode(&lookups);
        assert_eq!((bytes.len(), decode(&bytes)), (ENCODED_BYTES, Some(lookups)));
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_eq!(decode(&other), None, "byte {at}");
            assert_eq!(decode(&bytes[..at]), None, "{at} bytes");
        }
        assert_eq!(decode(&[&bytes[..], b"x"].concat()), None);
    }

    #[test]
    fn more_threads_than_slots_count_exactly() {
        let tally = Tally { before: Some(Lookups::default()), slots: (0..=SLOTS).map(|_| Slot::default()).collect() };
        let steps = Steps { comparisons: 3, ..Steps::default() };
        let (threads, each) = (SLOTS + 16, 500_u64);
        let all_began = std::sync::Barrier::new(threads);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    all_began.wait();
                    (0..each).for_each(|number| tally.add(&steps, number % 5 == 0));
                });
            }
        });
        let (found, all) = (tally.all().unwrap(), threads as u64 * each);
        assert_eq!((found.all(), found.hits, found.comparisons), (all, all / 5, 3 * all));
    }
}
