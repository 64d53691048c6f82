//! A snapshot: what a space held at one moment.
//!
//! It shares the segments of the space and of the dictionary, and locks nothing: it may be read on any number of threads
//! while the space changes, and neither waits for the other. Its segments are given back with the last snapshot that holds
//! them.

use crate::atom::{Atom, VariableSource};
use crate::bindings::Solution;
use crate::contents::{Contents, Match};
use crate::query::View;
use crate::shared_space::answer;
use crate::solve::solve;
use crate::term::{Term, Terms};
use std::sync::Arc;

/// What a space held at one moment. Cheap to clone.
#[derive(Clone)]
pub struct Snapshot {
    terms: Arc<Terms>,
    contents: Arc<Contents>,
}

impl Snapshot {
    pub(crate) fn new(terms: Arc<Terms>, contents: Contents) -> Self {
        Self { terms, contents: Arc::new(contents) }
    }

    /// The terms there were.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// How many atoms it holds, copies counted.
    pub fn len(&self) -> usize {
        self.contents.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// See [`Space::hash`](crate::Space::hash).
    pub fn hash(&self) -> Option<u128> {
        self.contents.hash()
    }

    /// See [`Space::count`](crate::Space::count).
    pub fn count(&self, atom: &Atom) -> usize {
        self.contents.count(atom, &self.terms)
    }

    /// See [`Space::children_after`](crate::Space::children_after).
    pub fn children_after(&self, prefix: &[Atom], source: &mut VariableSource) -> Vec<(Atom, usize)> {
        self.contents.children_after(prefix, &self.terms, source)
    }

    /// See [`Space::contains_exactly`](crate::Space::contains_exactly).
    pub fn contains_exactly(&self, atom: &Atom) -> bool {
        self.contents.copies(atom, &self.terms) > 0
    }

    /// Whether it holds an atom, in the sense of [`Snapshot::count`].
    pub fn contains(&self, atom: &Atom) -> bool {
        self.count(atom) > 0
    }

    /// All atoms in insertion order, copies included, their variables fresh.
    pub fn atoms(&self, source: &mut VariableSource) -> Vec<Atom> {
        self.contents.atoms(&self.terms, source)
    }

    /// The atoms that match a query, in insertion order.
    pub fn matches(&self, query: &Atom, source: &mut VariableSource) -> Vec<Match> {
        self.contents.matches(query, &self.terms, source)
    }

    /// The solutions of a query, in the order of [`SharedSpace::query`](crate::SharedSpace::query). Imports are not asked; spaces
    /// and states inside its atoms are as they are now.
    pub fn query(&self, query: &Atom, source: &mut VariableSource) -> Vec<Solution> {
        let view = View { spaces: &[&*self.contents], terms: &self.terms };
        if let Some(Some(solutions)) = view.solutions(query, &|| false) {
            return solutions;
        }
        answer(query, source, |pattern, source| {
            let mut found = Vec::new();
            for matched in self.matches(pattern, source) {
                for bindings in solve(matched.bindings, matched.deferred, None, source) {
                    found.extend(std::iter::repeat_n(bindings, matched.copies as usize));
                }
            }
            found
        })
    }

    /// The rows of this length as they lie, each with the number of its copies.
    pub fn rows_of_length(&self, length: usize) -> impl Iterator<Item = (&[Term], u32)> {
        let rows = self.contents.relation_of_length(length).all();
        rows.filter(move |row| row.terms.len() == length).map(|row| (row.terms, row.copies))
    }
}
