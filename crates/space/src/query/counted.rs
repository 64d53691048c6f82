//! How many rows the last pattern of a query has for a value, kept while answers are counted: many answers so far lead to one value.
//!
//! A value has one slot, which the latest of those that share it takes, so this takes as much memory for many values as for few.

use super::pattern::NO_TERM;
use crate::term::Term;

/// How many slots there are: half a megabyte of them.
const SLOTS: usize = 1 << 16;
/// For fewer answers no slots are made.
pub(super) const ANSWERS_MIN: usize = 1 << 10;

/// Counts of rows by the value that they have.
#[derive(Debug, Default)]
pub(super) struct Counted {
    slots: Vec<(Term, u32)>,
}

impl Counted {
    /// Forgets all of them.
    pub(super) fn clear(&mut self) {
        self.slots = Vec::new();
    }

    /// How many rows have a value, if that is known.
    #[inline]
    pub(super) fn get(&self, value: Term) -> Option<usize> {
        let (kept, count) = *self.slots.get(slot(value))?;
        (kept == value).then_some(count as usize)
    }

    pub(super) fn put(&mut self, value: Term, count: usize) {
        let Ok(count) = u32::try_from(count) else { return };
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, (NO_TERM, 0));
        }
        self.slots[slot(value)] = (value, count);
    }
}

/// Terms that were made one after the other have slots of their own.
fn slot(value: Term) -> usize {
    value.number() as usize % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_count_that_was_put_last() {
        let mut counted = Counted::default();
        let [one, far] = [Term::new(1), Term::new(1 + SLOTS as u32)];
        assert_eq!(counted.get(one), None);
        counted.put(one, 3);
        assert_eq!((counted.get(one), counted.get(far)), (Some(3), None));
        counted.put(far, 4);
        counted.put(one, 1 << 40);
        assert_eq!((counted.get(one), counted.get(far)), (None, Some(4)));
        counted.clear();
        assert_eq!(counted.get(far), None);
    }
}
