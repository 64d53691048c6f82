//! The rows that every engine is loaded with, and what is asked of it.
//!
//! Everything follows from SplitMix64 with the seed 42. A key is a number with a sign; as bytes it is eight of them, the sign bit flipped, the
//! highest first. A value is a hundred bytes that follow from the key and do not compress, or `value_` and the key, as the report has it.

use std::collections::HashSet;

/// How many existing keys are asked for, at most ten times as many as there are.
const HITS: usize = 100_000;
/// How many keys that are not there.
const MISSES: usize = 10_000;
/// How many scans begin at an existing key.
const SCANS: usize = 2000;
/// How many rows a scan goes over.
pub(super) const SCANNED: usize = 100;
/// How long a value is.
const VALUE_BYTES: usize = 100;

/// Numbers that look random and are always the same.
#[derive(Clone)]
pub(super) struct SplitMix(pub(super) u64);

impl SplitMix {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// From 0 to 1, without 0.
    pub(super) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// A normal distribution around 0 (Box and Muller).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// How keys are distributed, and in which order they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    /// 0, 1, 2 and so on.
    Sequential,
    /// Any 64 bits.
    Random,
    /// Runs of at most 512 keys from random places, each with a step of its own, in the order in which they are drawn.
    Clustered,
    /// The exponential function of twice a normal distribution, times 10^12.
    Lognormal,
}

impl Keys {
    pub(super) const ALL: [Self; 4] = [Self::Sequential, Self::Random, Self::Clustered, Self::Lognormal];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Random => "random",
            Self::Clustered => "clustered",
            Self::Lognormal => "lognormal",
        }
    }

    /// Draws `count` different keys, in the order in which they are loaded.
    fn draw(self, count: usize, random: &mut SplitMix) -> Vec<i64> {
        match self {
            Self::Sequential => (0..count as i64).collect(),
            Self::Random => distinct(count, || random.next() as i64),
            Self::Clustered => clustered(count, random),
            Self::Lognormal => distinct(count, || ((2.0 * random.normal()).exp() * 1e12) as i64),
        }
    }
}

fn distinct(count: usize, mut draw: impl FnMut() -> i64) -> Vec<i64> {
    let mut seen = HashSet::with_capacity(count);
    let mut keys = Vec::with_capacity(count);
    while keys.len() < count {
        let key = draw();
        if seen.insert(key) {
            keys.push(key);
        }
    }
    keys
}

fn clustered(count: usize, random: &mut SplitMix) -> Vec<i64> {
    let (mut base, mut step, mut left) = (0_u64, 1, 0);
    distinct(count, || {
        if left == 0 {
            (base, step, left) = (random.next() >> 1, 1 << random.below(16), 1 + random.below(512));
        }
        left -= 1;
        base += step;
        (base - random.below(step)) as i64
    })
}

/// What values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// A hundred bytes that do not compress.
    Hundred,
    /// `value_` and the key, as the report has it.
    Named,
}

impl Values {
    /// Puts the value of a key into a buffer.
    pub(super) fn write(self, key: i64, into: &mut Vec<u8>) {
        into.clear();
        match self {
            Self::Hundred => {
                let mut random = SplitMix(key as u64);
                while into.len() < VALUE_BYTES {
                    into.extend_from_slice(&random.next().to_le_bytes());
                }
                into.truncate(VALUE_BYTES);
            }
            Self::Named => into.extend_from_slice(format!("value_{key}").as_bytes()),
        }
    }
}

/// The bytes of a key.
pub(super) fn key_bytes(key: i64) -> [u8; 8] {
    store::signed_key(key)
}

/// What engines are loaded with, and asked for.
pub(super) struct Workload {
    /// In the order in which they are loaded.
    pub(super) keys: Vec<i64>,
    pub(super) values: Values,
    /// Whether they ascend.
    pub(super) is_sorted: bool,
    /// Keys that are there, with repetitions.
    pub(super) hits: Vec<i64>,
    /// Keys that are not.
    pub(super) misses: Vec<i64>,
    /// Keys that are there, to begin scans with.
    pub(super) scans: Vec<i64>,
}

impl Workload {
    pub(super) fn new(keys: Keys, values: Values, count: u64) -> Self {
        let mut random = SplitMix(42);
        let drawn = keys.draw(count as usize, &mut random);
        let mut pick = |count: usize| -> Vec<i64> {
            (0..count).map(|_| drawn[random.below(drawn.len() as u64) as usize]).collect()
        };
        let (hits, scans) = (pick(HITS.min(10 * count as usize)), pick(SCANS.min(count as usize)));
        let absent = MISSES.min(count as usize);
        let mut misses: Vec<i64> = match keys {
            Keys::Sequential => (0..absent).map(|number| drawn.len() as i64 + 1 + number as i64).collect(),
            _ => keys.draw(absent, &mut SplitMix(random.next())),
        };
        let there: HashSet<i64> = drawn.iter().copied().collect();
        misses.retain(|key| !there.contains(key));
        Self { keys: drawn, values, is_sorted: keys == Keys::Sequential, hits, misses, scans }
    }

    /// The sum over all values that a side that finds every key gets.
    pub(super) fn expected(&self) -> u64 {
        let mut value = Vec::new();
        self.hits.iter().fold(0, |sum: u64, key| {
            self.values.write(*key, &mut value);
            sum.wrapping_add(digest(&value))
        })
    }
}

/// What a value counts in a checksum: its first eight bytes and its length.
pub(super) fn digest(value: &[u8]) -> u64 {
    let head = value.first_chunk::<8>().map_or(0, |head| u64::from_le_bytes(*head));
    head.wrapping_add(value.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_different_and_misses_are_not_among_them() {
        for keys in Keys::ALL {
            let workload = Workload::new(keys, Values::Hundred, 5000);
            let there: HashSet<i64> = workload.keys.iter().copied().collect();
            assert_eq!(there.len(), 5000, "{keys:?}");
            assert!(workload.hits.iter().chain(&workload.scans).all(|key| there.contains(key)));
            assert!(workload.misses.iter().all(|key| !there.contains(key)) && workload.misses.len() > 2500);
        }
    }

    #[test]
    fn values_follow_from_keys() {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        Values::Hundred.write(7, &mut one);
        Values::Hundred.write(7, &mut other);
        assert_eq!((one.len(), &one), (VALUE_BYTES, &other));
        Values::Named.write(-7, &mut other);
        assert_eq!(other, b"value_-7");
    }
}
