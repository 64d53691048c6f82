//! The floats that terms of the dictionary are, of those that were loaded lately.
//!
//! A float is a number of the region, so it is made anew for each answer that has it. What it is takes a lock of the dictionary to find out;
//! here it takes a look. A term has one place, by its number, and the latest of those that share it stays.

use space::{NO_TERM, Term};

/// How many places there are: four kilobytes of them.
const PLACES: usize = 1 << 8;

/// Floats by their terms.
pub(super) struct FloatTerms {
    places: Box<[(Term, f64)]>,
}

impl Default for FloatTerms {
    fn default() -> Self {
        Self { places: vec![(NO_TERM, 0.0); PLACES].into_boxed_slice() }
    }
}

impl FloatTerms {
    /// The float of a term, if it is known.
    #[inline]
    pub(super) fn get(&self, term: Term) -> Option<f64> {
        let (known, float) = self.places[place(term)];
        (known == term).then_some(float)
    }

    /// Keeps the float of a term.
    pub(super) fn put(&mut self, term: Term, float: f64) {
        self.places[place(term)] = (term, float);
    }
}

fn place(term: Term) -> usize {
    term.number() as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_of_terms_with_one_place_is_known() {
        let mut floats = FloatTerms::default();
        let [one, other] = [7, 7 + PLACES as u32].map(Term::new);
        assert_eq!((floats.get(one), floats.get(other)), (None, None));
        floats.put(one, 0.5);
        assert_eq!((floats.get(one), floats.get(other)), (Some(0.5), None));
        floats.put(other, -0.0);
        assert_eq!((floats.get(one), floats.get(other).map(f64::to_bits)), (None, Some((-0.0_f64).to_bits())));
    }
}
