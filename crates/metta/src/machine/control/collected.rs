//! Results in their order, each with what it binds outside of the expression that it is a result of.
//!
//! Most results bind nothing, and there may be millions of them: they take one word each. What others bind stands in a second list, which
//! says for each binding whose it is.

use region::Ref;

/// A result with what it binds.
pub(in crate::machine) struct CollectedResult {
    pub(in crate::machine) value: Ref,
    pub(in crate::machine) bound: Vec<(Ref, Ref)>,
}

/// What the result at a place binds.
struct Binding {
    place: usize,
    variable: Ref,
    value: Ref,
}

/// Results in their order.
#[derive(Default)]
pub(in crate::machine) struct CollectedResults {
    pub(in crate::machine) values: Vec<Ref>,
    /// By the places of their results.
    bound: Vec<Binding>,
}

impl CollectedResults {
    pub(in crate::machine) fn with_capacity(count: usize) -> Self {
        Self { values: Vec::with_capacity(count), bound: Vec::new() }
    }

    pub(in crate::machine) fn len(&self) -> usize {
        self.values.len()
    }

    pub(in crate::machine) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(in crate::machine) fn values(&self) -> &[Ref] {
        &self.values
    }

    pub(in crate::machine) fn into_values(self) -> Vec<Ref> {
        self.values
    }

    pub(in crate::machine) fn push(&mut self, CollectedResult { value, bound }: CollectedResult) {
        let place = self.values.len();
        self.bound.extend(bound.into_iter().map(|(variable, value)| Binding { place, variable, value }));
        self.values.push(value);
    }

    /// Adds a result that binds nothing.
    #[inline]
    pub(in crate::machine) fn push_value(&mut self, value: Ref) {
        self.values.push(value);
    }

    /// Whether any of them binds something.
    pub(in crate::machine) fn bind_something(&self) -> bool {
        !self.bound.is_empty()
    }

    /// Where what the result at a place and those behind it bind begins.
    fn bound_from(&self, place: usize) -> usize {
        self.bound.partition_point(|binding| binding.place < place)
    }

    /// What the result at a place binds: variables and their values.
    pub(in crate::machine) fn bound_at(&self, place: usize) -> impl Iterator<Item = (Ref, Ref)> {
        let all = &self.bound[self.bound_from(place)..];
        all.iter().take_while(move |binding| binding.place == place).map(|binding| (binding.variable, binding.value))
    }

    /// The results from a place on and the values that they bind.
    pub(in crate::machine) fn values_from(&mut self, place: usize) -> impl Iterator<Item = &mut Ref> {
        let from = self.bound_from(place);
        self.values[place..].iter_mut().chain(self.bound[from..].iter_mut().map(|binding| &mut binding.value))
    }

    /// The variables that results from a place on bind.
    pub(in crate::machine) fn variables_from(&mut self, place: usize) -> impl Iterator<Item = &mut Ref> {
        let from = self.bound_from(place);
        self.bound[from..].iter_mut().map(|binding| &mut binding.variable)
    }

    pub(in crate::machine) fn clear(&mut self) {
        self.values.clear();
        self.bound.clear();
    }

    pub(in crate::machine) fn truncate(&mut self, count: usize) {
        self.bound.truncate(self.bound_from(count));
        self.values.truncate(count);
    }

    /// Forgets what they bind.
    pub(in crate::machine) fn unbind(&mut self) {
        self.bound.clear();
    }

    /// Keeps those of which this holds.
    pub(in crate::machine) fn retain(&mut self, mut keeps: impl FnMut(Ref) -> bool) {
        if self.bound.is_empty() {
            return self.values.retain(|&value| keeps(value));
        }
        let mut kept = Self::default();
        for (place, &value) in self.values.iter().enumerate().filter(|(_, value)| keeps(**value)) {
            kept.push(CollectedResult { value, bound: self.bound_at(place).collect() });
        }
        *self = kept;
    }
}

impl FromIterator<CollectedResult> for CollectedResults {
    fn from_iter<I: IntoIterator<Item = CollectedResult>>(results: I) -> Self {
        let results = results.into_iter();
        let mut collected = Self { values: Vec::with_capacity(results.size_hint().0), bound: Vec::new() };
        results.for_each(|result| collected.push(result));
        collected
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use region::tag;

    fn number(payload: u32) -> Ref {
        Ref::new(tag::NUMBER, payload)
    }

    fn results(bound: &[usize]) -> CollectedResults {
        let result = |(place, &count): (usize, &usize)| CollectedResult {
            value: number(place as u32),
            bound: (0..count).map(|at| (number(100 + at as u32), number(10 * place as u32 + at as u32))).collect(),
        };
        bound.iter().enumerate().map(result).collect()
    }

    fn bound_at(results: &CollectedResults, place: usize) -> Vec<u32> {
        results.bound_at(place).map(|(_, value)| value.payload()).collect()
    }

    #[test]
    fn each_result_has_what_it_binds_also_when_others_are_gone() {
        let mut all = results(&[0, 2, 1, 0, 3]);
        assert!(bound_at(&all, 0).is_empty());
        assert_eq!(bound_at(&all, 1), [10, 11]);
        assert_eq!(bound_at(&all, 4), [40, 41, 42]);
        all.retain(|value| value.payload() != 1);
        assert_eq!(all.values(), [0, 2, 3, 4].map(number));
        assert_eq!(bound_at(&all, 1), [20]);
        assert_eq!(bound_at(&all, 3), [40, 41, 42]);
        all.truncate(3);
        assert_eq!((all.len(), bound_at(&all, 1)), (3, vec![20]));
        all.push(CollectedResult { value: number(7), bound: vec![(number(1), number(2))] });
        assert_eq!(bound_at(&all, 3), [2]);
        assert_eq!(all.values_from(3).count(), 2);
        assert_eq!(all.variables_from(2).count(), 1);
        all.unbind();
        assert!(!all.bind_something());
        assert_eq!(all.into_values(), [0, 2, 3, 7].map(number));
    }
}
