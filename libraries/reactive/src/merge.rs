//! Changes that commute: merged with what a page holds, in whatever order they arrive, they leave the same bytes.
//!
//! Each is commutative and associative over operands of equal length; the tests of this module state the laws.

/// How an operand changes what a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Merge {
    /// Sets bits.
    Or,
    /// Keeps only bits that the operand has as well.
    And,
    /// Adds 64-bit integers, little-endian, without carry out of 64 bits: counters.
    Add,
    /// Keeps the smaller 64-bit float, little-endian, in the total order of IEEE 754: the sum of the min-plus semiring.
    Min,
    /// Keeps the later of two writes: 16 bytes each, of which the first eight are a 64-bit integer, little-endian, that says when (an epoch,
    /// or a version), and the others what was written. Of two with one time the larger in the order of their bytes stays.
    Latest,
}

/// How long a number is that [`Merge::Add`] and [`Merge::Min`] work on.
const NUMBER_BYTES: usize = 8;
/// How long a write is that [`Merge::Latest`] works on, with its time.
const STAMPED_BYTES: usize = 2 * NUMBER_BYTES;

impl Merge {
    /// What the length of an operand must be a multiple of.
    pub fn width(self) -> usize {
        match self {
            Self::Or | Self::And => 1,
            Self::Add | Self::Min => NUMBER_BYTES,
            Self::Latest => STAMPED_BYTES,
        }
    }

    /// Merges an operand into bytes of the same length, a multiple of [`Merge::width`].
    ///
    /// # Panics
    /// The lengths differ, or are not a multiple of the width.
    pub fn apply(self, bytes: &mut [u8], operand: &[u8]) {
        assert_eq!(bytes.len(), operand.len(), "an operand is as long as what it is merged into");
        assert!(bytes.len().is_multiple_of(self.width()), "an operand consists of whole numbers");
        match self {
            Self::Or => bytes.iter_mut().zip(operand).for_each(|(byte, other)| *byte |= other),
            Self::And => bytes.iter_mut().zip(operand).for_each(|(byte, other)| *byte &= other),
            Self::Add => numbers(bytes, operand, |one, other| {
                u64::from_le_bytes(one).wrapping_add(u64::from_le_bytes(other)).to_le_bytes()
            }),
            Self::Min => numbers(bytes, operand, |one, other| {
                if f64::from_le_bytes(other).total_cmp(&f64::from_le_bytes(one)).is_lt() { other } else { one }
            }),
            Self::Latest => numbers(bytes, operand, |one, other| if order(&other) > order(&one) { other } else { one }),
        }
    }
}

/// What decides which of two writes is the later one.
fn order(write: &[u8; STAMPED_BYTES]) -> (u64, &[u8]) {
    let (time, written) = write.split_first_chunk::<NUMBER_BYTES>().expect("a write begins with its time");
    (u64::from_le_bytes(*time), written)
}

fn numbers<const N: usize>(bytes: &mut [u8], operand: &[u8], merge: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
    let (bytes, _) = bytes.as_chunks_mut::<N>();
    let (operand, _) = operand.as_chunks::<N>();
    for (one, other) in bytes.iter_mut().zip(operand) {
        *one = merge(*one, *other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn merged(merge: Merge, one: &[u8], other: &[u8]) -> Vec<u8> {
        let mut bytes = one.to_vec();
        merge.apply(&mut bytes, other);
        bytes
    }

    fn operand() -> impl Strategy<Value = Vec<u8>> {
        // Few different bytes, so that times are equal now and then.
        prop_oneof![prop::collection::vec(any::<u8>(), 48), prop::collection::vec(0..2_u8, 48)]
    }

    proptest! {
        #[test]
        fn merges_commute_and_associate(a in operand(), b in operand(), c in operand()) {
            for merge in [Merge::Or, Merge::And, Merge::Add, Merge::Min, Merge::Latest] {
                prop_assert_eq!(merged(merge, &a, &b), merged(merge, &b, &a));
                let left = merged(merge, &merged(merge, &a, &b), &c);
                prop_assert_eq!(left, merged(merge, &a, &merged(merge, &b, &c)));
            }
            for merge in [Merge::Or, Merge::And, Merge::Min, Merge::Latest] {
                prop_assert_eq!(merged(merge, &a, &a), a.clone(), "the same twice is the same once");
            }
        }
    }

    #[test]
    fn numbers_are_numbers() {
        let of = |number: f64| number.to_le_bytes();
        assert_eq!(merged(Merge::Min, &of(3.0), &of(-2.5)), of(-2.5));
        assert_eq!(merged(Merge::Min, &of(f64::INFINITY), &of(7.0)), of(7.0));
        let at = |time: u64, written: u64| [time.to_le_bytes(), written.to_le_bytes()].concat();
        assert_eq!(merged(Merge::Latest, &at(256, 1), &at(3, 9)), at(256, 1), "times are numbers");
        assert_eq!(merged(Merge::Latest, &at(3, 1), &at(3, 9)), at(3, 9));
        assert_eq!(merged(Merge::Add, &u64::MAX.to_le_bytes(), &2_u64.to_le_bytes()), 1_u64.to_le_bytes());
    }
}
