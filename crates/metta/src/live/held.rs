//! Answers that are held because they cannot be kept up to date from rows: found again, and compared with those before.

use super::change::{SignedTuple, identity};
use rustc_hash::FxHashMap;
use space::Atom;

/// Answers with their copies, in the order in which they were found.
#[derive(Default)]
pub(super) struct Held {
    answers: Vec<SignedTuple>,
    places: FxHashMap<Vec<u8>, usize>,
}

impl Held {
    /// Those that were found, copies added up.
    pub(super) fn of(found: impl IntoIterator<Item = SignedTuple>) -> Self {
        let mut held = Self::default();
        for (values, count) in found {
            let place = *held.places.entry(identity(&values)).or_insert(held.answers.len());
            match held.answers.get_mut(place) {
                Some((_, copies)) => *copies += count,
                None => held.answers.push((values, count)),
            }
        }
        held
    }

    pub(super) fn answers(&self) -> &[SignedTuple] {
        &self.answers
    }

    /// What it takes to make these of those before: first what goes, then what comes, each in its order.
    pub(super) fn since(&self, before: &Self) -> Vec<SignedTuple> {
        let copies = |held: &Self, values: &[Atom]| {
            let place = held.places.get(&identity(values));
            place.map_or(0, |&place| held.answers[place].1)
        };
        let gone = before.answers.iter().map(|(values, count)| (values, copies(self, values) - count));
        let come = self.answers.iter().map(|(values, count)| (values, count - copies(before, values)));
        let gone = gone.filter(|(_, count)| *count < 0);
        gone.chain(come.filter(|(_, count)| *count > 0)).map(|(values, count)| (values.clone(), count)).collect()
    }
}
