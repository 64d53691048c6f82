//! A snapshot: what a space held at one moment.
//!
//! It shares the segments of the space and of the dictionary, and locks nothing: it may be read on any number of threads
//! while the space changes, and neither waits for the other. Its segments are given back with the last snapshot that holds
//! them.

use crate::atom::{Atom, VariableSource};
use crate::bindings::Solution;
use crate::contents::{Contents, Match};
use crate::prepared::{PlanCache, Prepared, PreparedQuery};
use crate::rows::{self, RowQuery, answer_rows};
use crate::shared_space::answer;
use crate::solve::solve;
use crate::term::{Term, Terms};
use std::sync::Arc;

/// What a space held at one moment. Cheap to clone.
#[derive(Clone)]
pub struct Snapshot {
    terms: Arc<Terms>,
    shared: Arc<Shared>,
}

/// Contents that do not change, and the shortest ways through them. These are given up first.
struct Shared {
    routes: PlanCache,
    contents: Contents,
}

impl Snapshot {
    pub(crate) fn new(terms: Arc<Terms>, contents: Contents) -> Self {
        Self { terms, shared: Arc::new(Shared { routes: PlanCache::default(), contents }) }
    }

    /// The terms there were.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// How many atoms it holds, copies counted.
    pub fn len(&self) -> usize {
        self.shared.contents.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// See [`Space::hash`](crate::Space::hash).
    pub fn hash(&self) -> Option<u128> {
        self.shared.contents.hash()
    }

    /// See [`Space::count`](crate::Space::count).
    pub fn count(&self, atom: &Atom) -> usize {
        self.shared.contents.count(atom, &self.terms)
    }

    /// See [`Space::count_prepared`](crate::Space::count_prepared).
    #[inline]
    pub fn count_prepared(&self, atom: &Prepared) -> usize {
        self.shared.contents.count_prepared(atom, &self.terms)
    }

    /// See [`Space::children_after`](crate::Space::children_after).
    pub fn children_after(&self, prefix: &[Atom], source: &mut VariableSource) -> Vec<(Atom, usize)> {
        self.shared.contents.children_after(prefix, &self.terms, source)
    }

    /// See [`Space::contains_exactly`](crate::Space::contains_exactly).
    pub fn contains_exactly(&self, atom: &Atom) -> bool {
        self.shared.contents.copies(atom, &self.terms) > 0
    }

    /// Whether it holds an atom, in the sense of [`Snapshot::count`].
    pub fn contains(&self, atom: &Atom) -> bool {
        self.count(atom) > 0
    }

    /// All atoms in insertion order, copies included, their variables fresh.
    pub fn atoms(&self, source: &mut VariableSource) -> Vec<Atom> {
        self.shared.contents.atoms(&self.terms, source)
    }

    /// The atoms that match a query, in insertion order.
    pub fn matches(&self, query: &Atom, source: &mut VariableSource) -> Vec<Match> {
        self.shared.contents.matches(query, &self.terms, source)
    }

    /// The solutions of a query, in the order of [`SharedSpace::query`](crate::SharedSpace::query). Imports are not asked; spaces
    /// and states inside its atoms are as they are now.
    pub fn query(&self, query: &Atom, source: &mut VariableSource) -> Vec<Solution> {
        let contents = std::slice::from_ref(&self.shared.contents);
        if let Some(Some(solutions)) = rows::solutions(query, contents, |contents| contents, &self.terms, &|| false) {
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

    /// Answers a query as rows of terms; see [`SharedSpace::rows`](crate::SharedSpace::rows).
    pub fn rows(&self, query: &mut RowQuery) -> Option<usize> {
        answer_rows(query, std::slice::from_ref(&self.shared.contents), |contents| contents, &self.terms, &|| false)
    }

    /// Hands the answers of a prepared query to `each`, in the order of [`Snapshot::query`]: a term for each of its variables.
    /// `false`, and no answer, if rows alone do not answer it: then [`Snapshot::query`] is to be asked.
    ///
    /// # Panics
    /// If it was prepared with another dictionary.
    #[inline]
    pub fn ask(&self, query: &PreparedQuery, each: impl FnMut(&[Term])) -> bool {
        self.shared.contents.ask_routed(&self.shared.routes, query, &self.terms, each).is_some()
    }

    /// The same for many queries, each answer with the place of its query; what they read first is read together, so that in
    /// a large space many wait for memory at once.
    ///
    /// # Errors
    /// The place of the first query that rows alone do not answer: those before it were answered, and no others.
    ///
    /// # Panics
    /// If one was prepared with another dictionary.
    pub fn ask_many(&self, queries: &[PreparedQuery], each: impl FnMut(usize, &[Term])) -> Result<(), usize> {
        self.shared.contents.ask_many(queries, &self.terms, each)
    }

    /// The rows of this length as they lie, each with the number of its copies.
    pub fn rows_of_length(&self, length: usize) -> impl Iterator<Item = (&[Term], u32)> {
        let rows = self.shared.contents.relation_of_length(length).all();
        rows.filter(move |row| row.terms.len() == length).map(|row| (row.terms, row.copies))
    }
}
