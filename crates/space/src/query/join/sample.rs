//! What some of the rows of a pattern say about all of them.
//!
//! 1. The rows that the most selective constant of the pattern lists are looked at in a few places, far from each other. How many of
//!    them match the pattern says how many rows it has.
//! 2. A value that was met so has a list of rows, too. Where other patterns have rows in it, a few of them are looked at as well. So columns
//!    that depend on each other, as the class of a thing on its being a class, are estimated as they are.
//! 3. A value is met as often as it occurs: the mean of the lengths is how many rows a key has that is taken from a row by chance, and the
//!    mean of their reciprocals says how many different keys there are.
//!
//! Estimates depend on the rows alone: in whatever segments these lie, the estimates stay the same.

use super::estimate::{ColumnRows, PatternRows};
use super::pattern::{JoinPattern, Sources};
use crate::relation::Path;
use crate::term::{Term, Terms};
use rustc_hash::FxHashMap;

/// How many rows of a pattern are looked at.
const ROWS_SAMPLED: usize = 128;
/// How many rows that have the value of one of them are looked at.
const ROWS_OF_KEY_SAMPLED: usize = 8;

/// Rows of a pattern.
struct Sample<'a> {
    pattern: &'a JoinPattern,
    sources: &'a Sources<'a>,
    terms: &'a Terms,
    /// How many rows the pattern is taken to have.
    rows: f64,
    /// For each row that was met the values of the variables of the pattern, and how many rows that were.
    values: Vec<Term>,
    met: usize,
    /// Whether each row of the relations is a row of the pattern, as far as its constants say.
    are_all: bool,
}

impl PatternRows {
    pub(super) fn of(pattern: &JoinPattern, sources: &Sources<'_>, terms: &Terms) -> Self {
        let sample = Sample::new(pattern, sources, terms);
        let columns = pattern.variables.iter().enumerate();
        let column = |(number, &(variable, path)): (usize, &(u32, Option<Path>))| {
            let [rows_of_key, keys] = match path {
                Some(path) => sample.spread_at(number, path),
                None => sample.spread_of_met(number),
            };
            let keys = keys.min(sample.rows).max(1.0);
            ColumnRows { variable, keys, rows_of_key: rows_of_key.max(sample.rows / keys).min(sample.rows) }
        };
        Self { rows: sample.rows, columns: columns.map(column).collect() }
    }
}

impl<'a> Sample<'a> {
    fn new(pattern: &'a JoinPattern, sources: &'a Sources<'a>, terms: &'a Terms) -> Self {
        let all: u32 = sources.relations.iter().map(|(relation, _)| relation.count_rows()).sum();
        let listed = pattern.constants.iter().map(|&constant| (sources.count_listed(constant, terms), constant));
        let best = listed.min_by_key(|&(count, _)| count);
        let count = best.map_or(all as usize, |(count, _)| count);
        let mut sample = Self { pattern, sources, terms, rows: 0.0, values: Vec::new(), met: 0, are_all: false };
        let (places, mut values) = (places(count, ROWS_SAMPLED), Vec::new());
        sample.met =
            sample.rows_at(best.map(|(_, constant)| constant), &places, &mut |row| values.extend_from_slice(row));
        sample.values = values;
        let met = (sample.met as f64).max(0.5);
        sample.rows = if places.is_empty() { 0.0 } else { count as f64 * met / places.len() as f64 };
        sample.are_all = count == all as usize && sample.met == places.len();
        sample
    }

    /// Hands on the values of the variables in the rows of the pattern at some places of what is listed; gives how many rows that are.
    fn rows_at(&self, known: Option<(Path, Term)>, places: &[usize], visit: &mut dyn FnMut(&[Term])) -> usize {
        let (mut met, mut room) = (0, Vec::with_capacity(self.pattern.variables.len()));
        self.sources.rows_at(known, places, self.terms, &mut |row| {
            if self.pattern.takes(row, &mut room, self.terms) {
                met += 1;
                visit(&room);
            }
        });
        met
    }

    /// The keys that were met in a column.
    fn keys(&self, column: usize) -> impl Iterator<Item = Term> {
        let width = self.pattern.variables.len();
        self.values.chunks_exact(width.max(1)).map(move |row| self.terms.key(row[column]))
    }

    /// How many rows a key has that is taken from a row by chance, and how many keys there are, where an index sees the column.
    fn spread_at(&self, number: usize, path: Path) -> [f64; 2] {
        let (mut sum, mut reciprocals) = (0.0, 0.0);
        let mut known: FxHashMap<Term, f64> = FxHashMap::default();
        for key in self.keys(number) {
            let rows = *known.entry(key).or_insert_with(|| self.rows_with((path, key)));
            (sum, reciprocals) = (sum + rows, reciprocals + 1.0 / rows);
        }
        let met = (self.met as f64).max(1.0);
        [sum / met, self.rows * reciprocals / met]
    }

    /// How many rows of the pattern have a value; there is one.
    fn rows_with(&self, known: (Path, Term)) -> f64 {
        let count = self.sources.count_listed(known, self.terms);
        if self.are_all {
            return count as f64;
        }
        let places = places(count, ROWS_OF_KEY_SAMPLED);
        let found = self.rows_at(Some(known), &places, &mut |_| ());
        (count as f64 * found as f64 / places.len().max(1) as f64).max(1.0)
    }

    /// How many rows a key has that is taken from a row by chance, and how many keys there are, where no index sees the column: from how
    /// often values were met twice.
    fn spread_of_met(&self, number: usize) -> [f64; 2] {
        let mut counts: FxHashMap<Term, f64> = FxHashMap::default();
        self.keys(number).for_each(|key| *counts.entry(key).or_default() += 1.0);
        let met = (self.met as f64).max(1.0);
        if met >= self.rows {
            return [counts.values().map(|count| count * count).sum::<f64>() / met, counts.len() as f64];
        }
        // Sums of whole numbers this small are exact in any order.
        let pairs: f64 = counts.values().map(|count| count * (count - 1.0)).sum();
        let rows_of_key = self.rows * (pairs + 1.0) / (met * met);
        [rows_of_key, self.rows / rows_of_key.max(1.0)]
    }
}

impl Sources<'_> {
    /// How many rows have a key at a path.
    fn count_listed(&self, (path, key): (Path, Term), terms: &Terms) -> usize {
        self.relations.iter().map(|(relation, _)| relation.count_listed(path, key, terms)).sum()
    }

    /// Hands on the rows at some places of those that have a key at a path, or of all. The places ascend.
    fn rows_at(&self, known: Option<(Path, Term)>, places: &[usize], terms: &Terms, visit: &mut dyn FnMut(&[Term])) {
        let (mut places, mut before) = (places, 0);
        for (relation, _) in &self.relations {
            let count = match known {
                Some((path, key)) => relation.count_listed(path, key, terms),
                None => relation.count_rows() as usize,
            };
            let (here, later) = places.split_at(places.partition_point(|&place| place < before + count));
            let own: Vec<usize> = here.iter().map(|place| place - before).collect();
            relation.rows_at(known, &own, terms, visit);
            (places, before) = (later, before + count);
        }
    }
}

/// Up to `wanted` places among those that there are: one in each of as many stretches of equal length, anywhere in it.
fn places(count: usize, wanted: usize) -> Vec<usize> {
    if count <= wanted {
        return (0..count).collect();
    }
    let place = |number: usize| {
        let [from, end] = [number, number + 1].map(|number| number * count / wanted);
        from + mixed(number as u64) as usize % (end - from)
    };
    (0..wanted).map(place).collect()
}

/// A number that looks like chance (SplitMix64).
fn mixed(number: u64) -> u64 {
    let mut mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_ascend_and_are_within() {
        for count in [0, 1, 7, 8, 9, 1_000, 1_000_003] {
            let places = places(count, 8);
            assert_eq!(places.len(), count.min(8));
            assert!(places.is_sorted_by(|left, right| left < right) && places.iter().all(|place| *place < count));
        }
    }
}
