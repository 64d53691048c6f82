//! Sets of tuples of dense numbers, in the order in which they were found.

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;

const BITS: usize = u64::BITS as usize;

/// Bitmaps of pairs take at most this, and a fixed amount for each pair.
const PAIRS_BYTES: usize = 64 << 20;
const PAIR_BYTES: usize = 32;

/// Tuples of one width, each once.
pub(super) struct TupleSet {
    width: usize,
    tuples: Vec<u32>,
    count: usize,
    known: Known,
}

/// How it is known which tuples there are.
enum Known {
    /// A bit for each number.
    Numbers(Vec<u64>),
    /// A bitmap for each first number.
    Pairs { rows: Vec<Vec<u64>>, bytes: usize },
    /// The places of tuples.
    Hashed(HashTable<u32>),
}

impl TupleSet {
    pub(super) fn new(width: usize) -> Self {
        let known = match width {
            1 => Known::Numbers(Vec::new()),
            2 => Known::Pairs { rows: Vec::new(), bytes: 0 },
            _ => Known::Hashed(HashTable::new()),
        };
        Self { width, tuples: Vec::new(), count: 0, known }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn get(&self, place: usize) -> &[u32] {
        &self.tuples[place * self.width..][..self.width]
    }

    pub(super) fn into_tuples(self) -> (Vec<u32>, usize) {
        (self.tuples, self.count)
    }

    pub(super) fn bytes(&self) -> usize {
        let known = match &self.known {
            Known::Numbers(words) => words.len() * 8,
            Known::Pairs { bytes, .. } => *bytes,
            Known::Hashed(table) => table.capacity() * 5,
        };
        known + self.tuples.len() * size_of::<u32>()
    }

    /// Adds a tuple unless it is there; says whether it is new.
    #[inline]
    pub(super) fn insert(&mut self, tuple: &[u32]) -> bool {
        if self.width == 0 {
            self.count += 1;
            let is_new = self.count == 1;
            self.count = 1;
            return is_new;
        }
        let is_new = match &mut self.known {
            Known::Numbers(words) => set_bit(words, tuple[0]),
            Known::Pairs { rows, bytes } => in_row(rows, bytes, tuple[0], |row| set_bit(row, tuple[1])),
            Known::Hashed(table) => {
                let (width, tuples) = (self.width, &self.tuples);
                let at = |place: u32| &tuples[place as usize * width..][..width];
                let entry = table.entry(hash(tuple), |&place| at(place) == tuple, |&place| hash(at(place)));
                match entry {
                    hashbrown::hash_table::Entry::Occupied(_) => false,
                    hashbrown::hash_table::Entry::Vacant(vacant) => {
                        vacant.insert(self.count as u32);
                        true
                    }
                }
            }
        };
        if is_new {
            self.tuples.extend_from_slice(tuple);
            self.count += 1;
            if let Known::Pairs { bytes, .. } = &self.known
                && self.count.is_multiple_of(1 << 10)
                && *bytes > PAIRS_BYTES + PAIR_BYTES * self.count
            {
                self.hash_all();
            }
        }
        is_new
    }

    /// Adds the pairs of one number with each of these.
    pub(super) fn insert_pairs(&mut self, first: u32, seconds: &[u32]) {
        let Known::Pairs { rows, bytes } = &mut self.known else {
            return seconds.iter().for_each(|&second| _ = self.insert(&[first, second]));
        };
        let (tuples, count) = (&mut self.tuples, &mut self.count);
        in_row(rows, bytes, first, |row| {
            for &second in seconds {
                if set_bit(row, second) {
                    tuples.extend([first, second]);
                    *count += 1;
                }
            }
        });
        if *bytes > PAIRS_BYTES + PAIR_BYTES * self.count {
            self.hash_all();
        }
    }

    /// Adds each of these numbers.
    pub(super) fn insert_numbers(&mut self, numbers: &[u32]) {
        let Known::Numbers(words) = &mut self.known else { unreachable!("it is a set of numbers") };
        for &number in numbers {
            if set_bit(words, number) {
                self.tuples.push(number);
                self.count += 1;
            }
        }
    }

    /// Whether all pairs of one number are, with another first number, there already. `false` if that is not known at once.
    pub(super) fn covers(&self, [from, to]: [u32; 2], count: usize) -> bool {
        let Known::Pairs { rows, .. } = &self.known else { return false };
        let row = |number: u32| rows.get(number as usize).map_or(&[][..], Vec::as_slice);
        let (from, to) = (row(from), row(to));
        let is_cheap = count > from.len();
        is_cheap && from.iter().enumerate().all(|(place, &word)| word & !to.get(place).copied().unwrap_or(0) == 0)
    }

    /// From now on tuples are hashed.
    #[cold]
    fn hash_all(&mut self) {
        let (width, tuples) = (self.width, &self.tuples);
        let at = |place: u32| &tuples[place as usize * width..][..width];
        let mut table = HashTable::with_capacity(self.count);
        (0..self.count as u32).for_each(|place| {
            table.insert_unique(hash(at(place)), place, |&place| hash(at(place)));
        });
        self.known = Known::Hashed(table);
    }
}

/// Sets a bit; says whether it was not set.
#[inline]
fn set_bit(words: &mut Vec<u64>, number: u32) -> bool {
    let (word, bit) = (number as usize / BITS, 1 << (number as usize % BITS));
    if word >= words.len() {
        words.resize(word + 1, 0);
    }
    let is_new = words[word] & bit == 0;
    words[word] |= bit;
    is_new
}

/// Works on the bitmap of a first number.
#[inline]
fn in_row<T>(rows: &mut Vec<Vec<u64>>, bytes: &mut usize, first: u32, work: impl FnOnce(&mut Vec<u64>) -> T) -> T {
    if first as usize >= rows.len() {
        *bytes += (first as usize + 1 - rows.len()) * size_of::<Vec<u64>>();
        rows.resize_with(first as usize + 1, Vec::new);
    }
    let row = &mut rows[first as usize];
    let before = row.len();
    let done = work(row);
    *bytes += (row.len() - before) * size_of::<u64>();
    done
}

fn hash(tuple: &[u32]) -> u64 {
    let mut hasher = FxHasher::default();
    tuple.iter().for_each(|&number| hasher.write_u32(number));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples_are_kept_once_in_the_order_in_which_they_were_found() {
        for width in 0..4 {
            let (mut set, mut expected): (_, Vec<Vec<u32>>) = (TupleSet::new(width), Vec::new());
            for number in (0..4_000_u32).map(|number| number.wrapping_mul(2_654_435_761) % 300) {
                let tuple: Vec<u32> = (0..width as u32).map(|column| (number >> column) % 17 * 1_000).collect();
                if !expected.contains(&tuple) {
                    expected.push(tuple.clone());
                }
                set.insert(&tuple);
            }
            assert_eq!(set.len(), expected.len(), "{width}");
            assert!((0..set.len()).all(|place| set.get(place) == expected[place]), "{width}");
        }
    }

    #[test]
    fn pairs_of_many_distant_numbers_are_hashed() {
        let mut set = TupleSet::new(2);
        for first in 0..3_000 {
            set.insert_pairs(first, &[1_000_000 + first, 5, 5]);
            set.insert(&[first, 7]);
        }
        assert!(matches!(set.known, Known::Hashed(_)) && set.len() == 9_000);
        set.insert_pairs(2_000, &[5, 6]);
        assert_eq!((set.len(), set.get(9_000)), (9_001, &[2_000, 6][..]));
    }
}
