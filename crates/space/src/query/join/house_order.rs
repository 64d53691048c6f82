//! Putting answers that were found in any order into the one in which they come: that of the rows of the first pattern as it is
//! written, then of the second, and so on.
//!
//! The rows of some patterns decide: those that have a variable which no pattern written before them has. Answers with the same rows of
//! those are the same answers.

use super::super::pattern::{PatternPart, Patterns};
use crate::term::Term;

/// The patterns with a variable that no pattern before them has.
pub(in crate::query) fn deciding(patterns: &Patterns) -> Vec<usize> {
    let mut is_known = vec![false; patterns.variables];
    let (mut start, mut deciding) = (0, Vec::new());
    for (number, &end) in patterns.ends.iter().enumerate() {
        let mut has_new = false;
        for part in &patterns.parts[start..end] {
            if let PatternPart::Variable(variable) = part {
                has_new |= !std::mem::replace(&mut is_known[*variable as usize], true);
            }
        }
        if has_new {
            deciding.push(number);
        }
        start = end;
    }
    deciding
}

/// The places of answers in their order.
pub(in crate::query) struct HouseOrder {
    /// How many bits the ordinal of each deciding pattern takes.
    bits: Vec<u32>,
    keys: Keys,
    is_sorted: bool,
}

enum Keys {
    /// The ordinals of an answer in one word.
    Packed(Vec<u64>),
    /// One after the other.
    Wide(Vec<u32>),
}

impl HouseOrder {
    /// An order for answers of deciding patterns that have these numbers of rows.
    pub(in crate::query) fn new(rows: impl Iterator<Item = u32>) -> Self {
        let bits: Vec<u32> = rows.map(|rows| u32::BITS - rows.leading_zeros()).collect();
        let is_packed = bits.iter().sum::<u32>() <= u64::BITS;
        let keys = if is_packed { Keys::Packed(Vec::new()) } else { Keys::Wide(Vec::new()) };
        Self { bits, keys, is_sorted: true }
    }

    /// Adds an answer, given the ordinals of the rows of the deciding patterns.
    #[inline]
    pub(in crate::query) fn push(&mut self, ordinals: impl Iterator<Item = u32>) {
        match &mut self.keys {
            Keys::Packed(keys) => {
                let packed =
                    ordinals.zip(&self.bits).fold(0_u64, |key, (ordinal, &bits)| key << bits | u64::from(ordinal));
                self.is_sorted &= keys.last().is_none_or(|last| *last <= packed);
                keys.push(packed);
            }
            Keys::Wide(keys) => {
                let width = self.bits.len();
                keys.extend(ordinals);
                let last_two = keys.len().checked_sub(2 * width).map(|from| keys[from..].split_at(width));
                self.is_sorted &= last_two.is_none_or(|(last, new)| last <= new);
            }
        }
    }

    /// Adds the answers of another part, after its own.
    pub(in crate::query) fn append(&mut self, other: Self) {
        let last_and_first_agree = match (&mut self.keys, other.keys) {
            (Keys::Packed(keys), Keys::Packed(more)) => {
                let agree = keys.last().zip(more.first()).is_none_or(|(last, first)| last <= first);
                keys.extend(more);
                agree
            }
            (Keys::Wide(keys), Keys::Wide(more)) => {
                let width = self.bits.len();
                let last = keys.len().checked_sub(width).map(|from| &keys[from..]);
                let agree = last.is_none_or(|last| more.is_empty() || last <= &more[..width]);
                keys.extend(more);
                agree
            }
            _ => unreachable!("the parts of a join have the same patterns"),
        };
        self.is_sorted &= other.is_sorted && last_and_first_agree;
    }

    /// Puts answers of `width` terms into order.
    pub(in crate::query) fn sort(self, width: usize, answers: &mut Vec<Term>) {
        if self.is_sorted || width == 0 {
            return;
        }
        let order = match self.keys {
            Keys::Packed(keys) => {
                let mut keyed: Vec<(u64, u32)> = keys.into_iter().zip(0..).collect();
                keyed.sort_unstable();
                keyed.into_iter().map(|(_, place)| place).collect::<Vec<u32>>()
            }
            Keys::Wide(keys) => {
                let key = |place: u32| &keys[place as usize * self.bits.len()..][..self.bits.len()];
                let mut order: Vec<u32> = (0..(keys.len() / self.bits.len()) as u32).collect();
                order.sort_by(|&left, &right| key(left).cmp(key(right)));
                order
            }
        };
        let mut sorted = Vec::with_capacity(answers.len());
        order.iter().for_each(|&place| sorted.extend_from_slice(&answers[place as usize * width..][..width]));
        *answers = sorted;
    }
}
