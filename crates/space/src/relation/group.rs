//! The rows of each key, for an index that is written.
//!
//! Keys are numbers of terms, and rows are taken in order. Where the keys lie close together the rows are distributed by counting, which
//! takes two walks; otherwise they are sorted.

use super::index::Spread;

/// What an index lists for a row that does not reach so far.
pub(super) const NO_KEY: u64 = u64::MAX;

/// Rows sorted by key, those of a key in their order.
pub(super) struct Grouped {
    rows: Vec<u32>,
    /// The keys, in ascending order, each with where its rows end.
    ends: Vec<(u64, u32)>,
}

impl Grouped {
    /// Groups rows by the keys that they have, [`NO_KEY`] for none.
    pub(super) fn new(keys: &[u64]) -> Self {
        let widen = |[low, high]: [u64; 2], &key: &u64| [low.min(key), high.max(key)];
        let [low, high] = keys.iter().filter(|&&key| key != NO_KEY).fold([u64::MAX, 0], widen);
        match high.checked_sub(low) {
            None => Self { rows: Vec::new(), ends: Vec::new() },
            Some(span) if span < 8 * keys.len() as u64 => Self::counting(keys, low, span as usize + 1),
            Some(_) => Self::sorting(keys),
        }
    }

    fn counting(keys: &[u64], low: u64, span: usize) -> Self {
        let mut starts = vec![0_u32; span + 1];
        let place = |key: u64| (key - low) as usize;
        keys.iter().filter(|&&key| key != NO_KEY).for_each(|&key| starts[place(key) + 1] += 1);
        for next in 1..=span {
            starts[next] += starts[next - 1];
        }
        let mut rows = vec![0_u32; starts[span] as usize];
        let mut next = starts.clone();
        for (row, &key) in (0..).zip(keys).filter(|(_, key)| **key != NO_KEY) {
            let place = &mut next[place(key)];
            rows[*place as usize] = row;
            *place += 1;
        }
        let has_rows = |place: &usize| starts[*place] < starts[*place + 1];
        let ends = (0..span).filter(has_rows).map(|place| (low + place as u64, starts[place + 1])).collect();
        Self { rows, ends }
    }

    fn sorting(keys: &[u64]) -> Self {
        let mut pairs: Vec<(u64, u32)> = keys.iter().copied().zip(0..).filter(|(key, _)| *key != NO_KEY).collect();
        pairs.sort_unstable();
        let mut ends: Vec<(u64, u32)> = Vec::new();
        for (end, &(key, _)) in (1..).zip(&pairs) {
            match ends.last_mut().filter(|(last, _)| *last == key) {
                Some((_, last_end)) => *last_end = end,
                None => ends.push((key, end)),
            }
        }
        Self { rows: pairs.into_iter().map(|(_, row)| row).collect(), ends }
    }

    /// Each key with its rows.
    pub(super) fn groups(&self) -> impl Iterator<Item = (u64, &[u32])> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|&(_, end)| end));
        self.ends.iter().zip(starts).map(|(&(key, end), start)| (key, &self.rows[start as usize..end as usize]))
    }

    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The first key and the last.
    pub(super) fn span(&self) -> Option<[u64; 2]> {
        Some([self.ends.first()?.0, self.ends.last()?.0])
    }

    /// How the rows spread over the keys.
    pub(super) fn spread(&self) -> Spread {
        let mut spread = Spread::default();
        self.groups().for_each(|(_, rows)| spread = spread.with_key(rows.len()));
        spread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_group_alike() {
        let mut state = 7_u64;
        for spread in [1, 5, 100, 4_000] {
            let keys: Vec<u64> = (0..500)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let key = (state >> 33) % spread;
                    if key % 7 == 3 { NO_KEY } else { key + 10 }
                })
                .collect();
            let sorted = Grouped::sorting(&keys);
            let counted = Grouped::counting(&keys, 10, spread as usize);
            let list = |grouped: &Grouped| grouped.groups().map(|(key, rows)| (key, rows.to_vec())).collect::<Vec<_>>();
            assert_eq!(list(&sorted), list(&counted));
            assert!(sorted.groups().all(|(key, rows)| rows.iter().all(|&row| keys[row as usize] == key)));
            assert_eq!(sorted.spread().rows as usize, keys.iter().filter(|&&key| key != NO_KEY).count());
        }
    }
}
