//! Answers with signed counts, those of equal answers added up.

use super::places::Places;
use crate::term::Term;

/// What answers came and went, a term for each variable that is asked for, in the order in which they were first met.
#[derive(Default)]
pub struct SignedAnswers {
    width: usize,
    cells: Vec<Term>,
    counts: Vec<i64>,
    places: Places,
}

impl SignedAnswers {
    /// Begins with no answers, of `width` terms each.
    pub(super) fn begin(&mut self, width: usize) {
        *self = Self { width, ..Self::default() };
    }

    pub(super) fn add(&mut self, answer: &[Term], count: i64) {
        let Self { width, cells, counts, places } = self;
        let at = |place: usize| &cells[place * *width..][..*width];
        match places.find(answer, at) {
            Some(place) => counts[place] += count,
            None => {
                places.add(answer, counts.len(), at);
                cells.extend_from_slice(answer);
                counts.push(count);
            }
        }
    }

    /// Those whose count is not zero, with it: how many copies came, or went if it is negative.
    pub fn each(&self) -> impl Iterator<Item = (&[Term], i64)> {
        let changed = self.counts.iter().enumerate().filter(|(_, count)| **count != 0);
        changed.map(|(place, &count)| (&self.cells[place * self.width..][..self.width], count))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.each().next().is_none()
    }
}
