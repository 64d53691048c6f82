//! Lists of ascending values as bitmaps, where they are dense: a value is found in them in constant time, and what several of them have in
//! common is 64 values at a time.
//!
//! Beside each word stands how many values there are before it, so the place of a value in its list is known, too.

use crate::term::Term;
use std::ops::Range;

/// Shorter lists have no bitmap.
const LENGTH_MIN: usize = 4;
/// A list has a bitmap if there are at least this many of its values for each word.
const VALUES_PER_WORD_MIN: usize = 2;

/// The bitmaps of lists.
pub(super) struct Bitmaps {
    /// For each list where its words begin and end here, and the number of the first: that of its lowest value divided by 64.
    lists: Vec<(Range<u32>, u32)>,
    words: Vec<u64>,
    /// How many values of its list stand before each word.
    ranks: Vec<u32>,
}

/// The bitmap of a list.
#[derive(Clone, Copy)]
pub(crate) struct Bitmap<'a> {
    first: u32,
    words: &'a [u64],
    ranks: &'a [u32],
}

impl Bitmaps {
    /// Those of the lists that are dense; `None` if none is.
    pub(super) fn new(values: &[Term], lists: impl Iterator<Item = Range<u32>>) -> Option<Self> {
        let mut made = Self { lists: Vec::new(), words: Vec::new(), ranks: Vec::new() };
        for list in lists {
            let values = &values[list.start as usize..list.end as usize];
            let from = made.words.len();
            let first = values.first().map_or(0, |lowest| lowest.number() / u64::BITS);
            if let (Some(last), true) = (values.last(), values.len() >= LENGTH_MIN) {
                let count = (last.number() / u64::BITS - first + 1) as usize;
                if count * VALUES_PER_WORD_MIN <= values.len() {
                    made.add(values, first, count);
                }
            }
            made.lists.push((from as u32..made.words.len() as u32, first));
        }
        (!made.words.is_empty()).then_some(made)
    }

    fn add(&mut self, values: &[Term], first: u32, count: usize) {
        let from = self.words.len();
        self.words.resize(from + count, 0);
        for value in values {
            self.words[from + (value.number() / u64::BITS - first) as usize] |= 1 << (value.number() % u64::BITS);
        }
        let mut before = 0;
        for word in &self.words[from..] {
            self.ranks.push(before);
            before += word.count_ones();
        }
    }

    /// That of a list, if it has one.
    #[inline]
    pub(super) fn get(&self, list: u32) -> Option<Bitmap<'_>> {
        let (words, first) = &self.lists[list as usize];
        let words = words.start as usize..words.end as usize;
        let found = Bitmap { first: *first, words: &self.words[words.clone()], ranks: &self.ranks[words] };
        (!found.words.is_empty()).then_some(found)
    }
}

impl Bitmap<'_> {
    /// The numbers of its words.
    #[inline]
    pub(crate) fn numbers(&self) -> Range<u32> {
        self.first..self.first + self.words.len() as u32
    }

    /// The word of a number, which is one of its own.
    #[inline]
    pub(crate) fn word(&self, number: u32) -> u64 {
        self.words[(number - self.first) as usize]
    }

    /// The place in the list of the value at a bit of a word.
    #[inline]
    pub(crate) fn place_at(&self, number: u32, bit: u32) -> u32 {
        let word = (number - self.first) as usize;
        self.ranks[word] + (self.words[word] & ((1 << bit) - 1)).count_ones()
    }

    /// The place of a value in the list.
    #[inline]
    pub(crate) fn find(&self, value: Term) -> Option<u32> {
        let (number, bit) = (value.number() / u64::BITS, value.number() % u64::BITS);
        let word = *self.words.get(number.checked_sub(self.first)? as usize)?;
        (word >> bit & 1 == 1).then(|| self.place_at(number, bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_dense_list_has_is_found_at_its_place() {
        let values: Vec<Term> = [3, 5, 64, 66, 130, 131, 7, 70_000, 90_000, 100_000].map(Term::new).to_vec();
        let bitmaps = Bitmaps::new(&values, [0..6, 6..6, 6..10].into_iter()).unwrap();
        assert!(bitmaps.get(1).is_none() && bitmaps.get(2).is_none());
        let dense = bitmaps.get(0).unwrap();
        for number in 0..200 {
            let place = values[..6].iter().position(|value| value.number() == number);
            assert_eq!(dense.find(Term::new(number)), place.map(|place| place as u32), "{number}");
        }
        assert_eq!(dense.numbers(), 0..3);
        assert!(Bitmaps::new(&values, std::iter::once(6..10)).is_none());
    }
}
