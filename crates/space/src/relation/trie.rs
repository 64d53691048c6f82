//! Rows sorted by some of what they hold, as a trie: what a join of several patterns goes through.
//!
//! 1. A trie has a level for each column. A level holds, for each node of the level before, the different values of its column in
//!    ascending order, one node after the other; of each value it says where its nodes begin in the next level. Below the last level
//!    lie the *ordinals* of the rows: their places in the order in which answers come.
//!    Values below a node that are dense are a [bitmap](super::bitmaps) as well.
//! 2. It is made when a join first asks for it, and [kept](super::kept) beside the relation as long as that has the same rows.
//!
//! Sorting is by digits from the last column to the first, so it costs a constant number of passes for each column.
//!
//! Source: T. Veldhuizen, Leapfrog Triejoin (ICDT 2014), for what a join needs of a trie.

use super::bitmaps::{Bitmap, Bitmaps};
use crate::term::Term;
use std::ops::Range;

/// Fewer rows are sorted by comparing them.
const SORTED_BY_DIGITS_MIN: usize = 256;
/// The bits of a digit.
const DIGIT_BITS: u32 = 11;
/// The first level has a list by value if that is at most this many times as long as there are values.
const DIRECT_ROOM_MAX: usize = 4;
/// What has no place in the list.
const NO_PLACE: u32 = u32::MAX;

/// Rows in the order of some columns.
pub(crate) struct Trie {
    levels: Vec<Level>,
    ordinals: Vec<u32>,
    /// Whether no two rows have the same columns.
    are_leaves_single: bool,
}

/// The values of one column.
#[derive(Default)]
pub(crate) struct Level {
    values: Vec<Term>,
    /// Where the nodes of each value begin in the next level, and where the last ends.
    starts: Vec<u32>,
    /// Of the first level: the first value, and the place of each value from there on.
    direct: Option<(u32, Vec<u32>)>,
    /// Of the others: the values below each node of the level before, where they are dense.
    bitmaps: Option<Bitmaps>,
}

impl Level {
    #[inline(always)]
    pub(crate) fn value(&self, place: u32) -> Term {
        self.values[place as usize]
    }

    /// The nodes of a value in the next level.
    #[inline(always)]
    pub(crate) fn below(&self, place: u32) -> Range<u32> {
        self.starts[place as usize]..self.starts[place as usize + 1]
    }

    /// The first place from `from` on with this value or a greater one; `end` if there is none. What is near is found soon.
    #[inline]
    pub(crate) fn seek(&self, from: u32, end: u32, value: Term) -> u32 {
        let values = &self.values[..end as usize];
        if from >= end || values[from as usize] >= value {
            return from;
        }
        let (mut low, mut step) = (from as usize, 1);
        while low + step < values.len() && values[low + step] < value {
            low += step;
            step *= 2;
        }
        let high = (low + step).min(values.len());
        (low + 1 + values[low + 1..high].partition_point(|found| *found < value)) as u32
    }

    /// The place of a value among some.
    #[inline]
    pub(crate) fn find(&self, within: &Range<u32>, value: Term) -> Option<u32> {
        if let Some((first, places)) = &self.direct {
            let place = places.get(value.number().wrapping_sub(*first) as usize);
            return place.copied().filter(|&place| place != NO_PLACE);
        }
        let place = self.seek(within.start, within.end, value);
        (place < within.end && self.values[place as usize] == value).then_some(place)
    }

    /// The bitmap of the values below a node of the level before, if they have one.
    #[inline]
    pub(crate) fn bitmap(&self, above: u32) -> Option<Bitmap<'_>> {
        self.bitmaps.as_ref()?.get(above)
    }

    /// Where what lies below some of its nodes is in the next level.
    #[inline]
    pub(crate) fn all_below(&self, nodes: &Range<u32>) -> Range<u32> {
        self.starts[nodes.start as usize]..self.starts[nodes.end as usize]
    }

    /// Whether any value is found in constant time.
    #[inline]
    pub(crate) fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// Up to `count` values and one after the last, in ascending order, from which on and below which about as many nodes lie.
    pub(crate) fn bounds(&self, count: usize) -> Vec<Term> {
        let (Some(first), Some(last), Some(&all)) = (self.values.first(), self.values.last(), self.starts.last())
        else {
            return Vec::new();
        };
        let place = |part: usize| {
            let nodes = u64::from(all) * part as u64 / count as u64;
            self.starts.partition_point(|&start| u64::from(start) < nodes).min(self.values.len() - 1)
        };
        let mut bounds = vec![*first];
        bounds.extend((1..count).map(|part| self.values[place(part)]));
        bounds.push(Term::new(last.number() + 1));
        bounds.dedup();
        bounds
    }

    fn make_direct(&mut self) {
        let [first, .., last] = self.values.as_slice() else { return };
        let (first, length) = (first.number(), (last.number() - first.number()) as usize + 1);
        if length > DIRECT_ROOM_MAX * self.values.len() {
            return;
        }
        let mut places = vec![NO_PLACE; length];
        for (place, value) in (0..).zip(&self.values) {
            places[(value.number() - first) as usize] = place;
        }
        self.direct = Some((first, places));
    }
}

impl Trie {
    /// A trie of rows, of each of which `width` terms are given; `ordinals` ascend.
    pub(crate) fn new(width: usize, cells: &[Term], ordinals: &[u32], should_stop: &dyn Fn() -> bool) -> Option<Self> {
        debug_assert_eq!(cells.len(), width * ordinals.len(), "so many terms for each row");
        let sorted = sorted(width, cells, ordinals.len(), should_stop)?;
        let mut trie = Self {
            levels: (0..width).map(|_| Level::default()).collect(),
            ordinals: Vec::with_capacity(ordinals.len()),
            are_leaves_single: width > 0 || ordinals.len() < 2,
        };
        let mut before: Option<&[Term]> = None;
        for row in sorted {
            let columns = &cells[row as usize * width..][..width];
            let same =
                before.map_or(0, |before| before.iter().zip(columns).take_while(|(old, new)| old == new).count());
            trie.are_leaves_single &= same < width || before.is_none();
            for (level, &value) in columns.iter().enumerate().skip(same) {
                let start = trie.levels.get(level + 1).map_or(trie.ordinals.len(), |below| below.values.len());
                trie.levels[level].values.push(value);
                trie.levels[level].starts.push(start as u32);
            }
            trie.ordinals.push(ordinals[row as usize]);
            before = Some(columns);
        }
        for level in 0..width {
            let end = trie.levels.get(level + 1).map_or(trie.ordinals.len(), |below| below.values.len());
            trie.levels[level].starts.push(end as u32);
        }
        if let Some(first) = trie.levels.first_mut() {
            first.make_direct();
        }
        for level in 1..width {
            let lists = trie.levels[level - 1].starts.windows(2).map(|bounds| bounds[0]..bounds[1]);
            trie.levels[level].bitmaps = Bitmaps::new(&trie.levels[level].values, lists);
        }
        Some(trie)
    }

    /// The ordinals of all rows below some nodes of a level, which is none of its own if they are rows.
    #[inline]
    pub(crate) fn ordinals_below(&self, level: usize, nodes: Range<u32>) -> &[u32] {
        let leaves =
            self.levels[level.min(self.levels.len())..].iter().fold(nodes, |nodes, level| level.all_below(&nodes));
        self.ordinals(leaves)
    }

    #[inline(always)]
    pub(crate) fn level(&self, level: usize) -> &Level {
        &self.levels[level]
    }

    /// All nodes of the first level; all ordinals, if there are no levels.
    pub(crate) fn root(&self) -> Range<u32> {
        0..self.levels.first().map_or(self.ordinals.len(), |first| first.values.len()) as u32
    }

    /// The ordinals of the rows at some places below the last level.
    #[inline(always)]
    pub(crate) fn ordinals(&self, leaf: Range<u32>) -> &[u32] {
        &self.ordinals[leaf.start as usize..leaf.end as usize]
    }

    pub(crate) fn are_leaves_single(&self) -> bool {
        self.are_leaves_single
    }

    /// How many rows it has.
    pub(crate) fn len(&self) -> usize {
        self.ordinals.len()
    }
}

/// The numbers of rows in the order of their terms; of rows with the same terms in their own order. `None` if the caller has given up.
fn sorted(width: usize, cells: &[Term], rows: usize, should_stop: &dyn Fn() -> bool) -> Option<Vec<u32>> {
    let mut order: Vec<u32> = (0..rows as u32).collect();
    if rows < SORTED_BY_DIGITS_MIN {
        let terms = |row: u32| &cells[row as usize * width..][..width];
        order.sort_by(|&left, &right| terms(left).cmp(terms(right)));
        return Some(order);
    }
    let mut other = vec![0; rows];
    for column in (0..width).rev() {
        let key = |row: u32| cells[row as usize * width + column].number();
        let highest = (0..rows as u32).map(key).max().unwrap_or_default();
        let mut shift = 0;
        while shift < u32::BITS && highest >> shift > 0 {
            if should_stop() {
                return None;
            }
            sort_by_digit(&order, &mut other, |row| key(row) >> shift & ((1 << DIGIT_BITS) - 1));
            std::mem::swap(&mut order, &mut other);
            shift += DIGIT_BITS;
        }
    }
    Some(order)
}

/// Puts rows into the order of a digit; those with the same digit keep theirs.
fn sort_by_digit(from: &[u32], to: &mut [u32], digit: impl Fn(u32) -> u32) {
    let mut ends = [0_u32; 1 << DIGIT_BITS];
    from.iter().for_each(|&row| ends[digit(row) as usize] += 1);
    let mut end = 0;
    for count in &mut ends {
        (*count, end) = (end, end + *count);
    }
    for &row in from {
        let place = &mut ends[digit(row) as usize];
        to[*place as usize] = row;
        *place += 1;
    }
}
