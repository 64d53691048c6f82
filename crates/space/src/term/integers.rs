//! The places of integers, in a list with an item for each of a range: an array instead of a hash table.
//!
//! Numbers that name things mostly lie close together. A part of a dictionary that has many of them chooses a range when its hash table
//! grows anyway, and lists the integers of that range here; all others stay in the table. Looking for one reads one item, which lies beside
//! those of its neighbours, where a table reads a tag, a slot and the entry in three places of memory without an order.
//!
//! Invariant: an integer of the part is in this list or in the table. One of the range may be in the table, if the range has grown over it.

use crate::room::reserve;

/// The item of an integer that is not listed. There are fewer places.
const NONE: u32 = u32::MAX;

/// How many items a list may have for each integer in it.
const ITEMS_EACH: usize = 2;

/// Places of integers from the first on.
#[derive(Default)]
pub(super) struct IntegerPlaces {
    first: i64,
    places: Vec<u32>,
    listed: usize,
}

impl IntegerPlaces {
    /// A list for these integers, each of which occurs once; without a range if they lie too far apart.
    ///
    /// Two ranges are tried, from the least integer and from zero: a few that are far away are to spoil none.
    pub(super) fn for_these(integers: impl Iterator<Item = i64> + Clone) -> Self {
        let (least, count) =
            integers.clone().fold((i64::MAX, 0_usize), |(least, count), value| (least.min(value), count + 1));
        let covered = |first: i64| {
            let within = |value: i64| {
                value.checked_sub(first).and_then(|at| usize::try_from(at).ok()).filter(|&at| at < ITEMS_EACH * count)
            };
            let (inside, length) = integers
                .clone()
                .filter_map(within)
                .fold((0, 0), |(inside, length), at| (inside + 1, length.max(at + 1)));
            (inside, length, first)
        };
        let (inside, length, first) = covered(least).max(covered(0));
        if inside * ITEMS_EACH < length || inside * 2 < count {
            return Self::default();
        }
        let mut places = Vec::with_capacity(length + length / 8);
        places.resize(length, NONE);
        Self { first, places, listed: 0 }
    }

    /// Whether it lists integers at all.
    #[inline]
    pub(super) fn has_range(&self) -> bool {
        !self.places.is_empty()
    }

    /// The place of an integer that is listed.
    #[inline]
    pub(super) fn get(&self, value: i64) -> Option<u32> {
        let at = usize::try_from(value.wrapping_sub(self.first)).ok()?;
        self.places.get(at).copied().filter(|&place| place != NONE)
    }

    /// Lists an integer, and says whether it belongs here. The range grows at its end while it stays dense enough.
    pub(super) fn list(&mut self, value: i64, place: u32) -> bool {
        if !self.has_range() {
            return false;
        }
        let Some(at) = value.checked_sub(self.first).and_then(|at| usize::try_from(at).ok()) else { return false };
        if at >= self.places.len() {
            if at >= ITEMS_EACH * (self.listed + 1) {
                return false;
            }
            let more = at + 1 - self.places.len();
            reserve(&mut self.places, more);
            self.places.resize(at + 1, NONE);
        }
        self.places[at] = place;
        self.listed += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Lists what belongs to the list that is made for the first of these, and gives it with what is listed.
    fn listed(values: &[i64], first: usize) -> (IntegerPlaces, Vec<Option<u32>>) {
        let mut list = IntegerPlaces::for_these(values[..first].iter().copied());
        let places = (0..).zip(values).map(|(place, &value)| list.list(value, place).then_some(place)).collect();
        (list, places)
    }

    #[test]
    fn integers_that_lie_close_together_are_listed_though_one_is_far_away() {
        for start in [0, 1, -40, 1_000_000] {
            let mut values: Vec<i64> = (start..start + 1_000).collect();
            values[500] = i64::MAX >> 2;
            let (list, _) = listed(&values, 600);
            assert_eq!(list.get(start + 999), Some(999), "the range has grown, from {start}");
            assert_eq!(list.get(i64::MAX >> 2), None);
        }
    }

    #[test]
    fn integers_without_a_range_have_no_list() {
        let values: Vec<i64> = (0..1_000).map(|value| value * 1_000).collect();
        let (list, places) = listed(&values, 1_000);
        assert!(list.places.is_empty() && places.iter().all(Option::is_none));
    }

    proptest! {
        #[test]
        fn what_is_listed_is_found_at_its_place_and_nothing_else(
            mut values in proptest::collection::hash_set(-60..60_i64, 0..80).prop_map(Vec::from_iter),
            far in proptest::collection::vec(-1_000_000..1_000_000_i64, 0..4),
            first in 0..80_usize,
        ) {
            values.extend(far.into_iter().filter(|value| value.abs() > 60).collect::<std::collections::HashSet<_>>());
            let (list, places) = listed(&values, first.min(values.len()));
            for (value, place) in values.iter().zip(places) {
                prop_assert_eq!(list.get(*value), place);
            }
            for absent in (-70..70).filter(|value| !values.contains(value)) {
                prop_assert_eq!(list.get(absent), None);
            }
            prop_assert!(list.places.len() <= ITEMS_EACH * values.len().max(1));
        }
    }
}
