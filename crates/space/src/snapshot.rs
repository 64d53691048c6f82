//! A snapshot: what a space held at one moment.
//!
//! It shares the segments of the space and of the dictionary, and locks nothing: it may be read on any number of threads
//! while the space changes, and neither waits for the other. Its segments are given back with the last snapshot that holds
//! them.

use crate::atom::{Atom, VariableSource};
use crate::bindings::Solution;
use crate::contents::{Contents, Match};
use crate::query::{SPACES_MAX, View};
use crate::shared_space::answer;
use crate::solve::solve;
use crate::term::{SharedTerms, Term, Terms};
use std::sync::{Arc, RwLock};

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

    /// A dictionary that begins with the terms there were, and then grows alone: for [`Space::of_snapshot`]. Constant time.
    ///
    /// [`Space::of_snapshot`]: crate::Space::of_snapshot
    pub fn dictionary(&self) -> SharedTerms {
        Arc::new(RwLock::new(self.terms.fork()))
    }

    pub(crate) fn contents(&self) -> &Contents {
        &self.contents
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

    /// The solutions of a query whose answers are rows, in this snapshot and then in each import, in the order of
    /// [`SharedSpace::query`](crate::SharedSpace::query). `None` if an atom with variables, states or spaces may answer too, or if there
    /// are more imports than [`SharedSpace`](crate::SharedSpace) asks by rows. All must be of one dictionary.
    pub fn query_rows(&self, imports: &[&Self], query: &Atom) -> Option<Vec<Solution>> {
        let spaces: Vec<&Contents> = std::iter::once(self).chain(imports.iter().copied()).map(Self::contents).collect();
        let terms = imports.iter().map(|import| &import.terms).fold(&self.terms, |newest, terms| {
            debug_assert!(terms.is_of_one_dictionary(newest), "snapshots of two dictionaries are asked together");
            if terms.len() > newest.len() { terms } else { newest }
        });
        if spaces.len() > SPACES_MAX {
            return None;
        }
        View { spaces: &spaces, terms }.solutions(query, &|| false)?
    }

    /// The rows of this length as they lie, each with the number of its copies.
    pub fn rows_of_length(&self, length: usize) -> impl Iterator<Item = (&[Term], u32)> {
        let rows = self.contents.relation_of_length(length).all();
        rows.filter(move |row| row.terms.len() == length).map(|row| (row.terms, row.copies))
    }
}
