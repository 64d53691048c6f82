//! A snapshot: what a space and its imports held at one moment.
//!
//! It shares the segments of the spaces and of the dictionary, and locks nothing: any number of threads may read it
//! while the spaces change, and neither waits for the other. Its segments are given back with the last snapshot that holds
//! them.

use crate::atom::{Atom, Solution, VariableSource};
use crate::bindings::Bindings;
use crate::contents::Contents;
use crate::query::{AnswerTable, Queried, ShouldStop, View, with_imports};
use crate::solve::complete;
use crate::stored::Match;
use crate::term::{SharedTerms, Term, Terms};
use std::sync::{Arc, RwLock};

/// What a space held at one moment. Cheap to clone.
#[derive(Clone)]
pub struct Snapshot {
    terms: Arc<Terms>,
    contents: Arc<Contents>,
    /// What the spaces that it imports held.
    imports: Arc<[Snapshot]>,
}

impl Snapshot {
    /// `terms` is a dictionary of no fewer terms than the contents have.
    pub(crate) fn new(terms: Arc<Terms>, contents: Contents, imports: Vec<Snapshot>) -> Self {
        Self { terms, contents: Arc::new(contents), imports: imports.into() }
    }

    /// What the spaces that it imports held.
    pub fn imports(&self) -> &[Snapshot] {
        &self.imports
    }

    /// These atoms with other imports, all of one dictionary: of spaces that are looked at one by one. Constant time.
    pub fn importing(&self, imports: Vec<Self>) -> Self {
        let terms = imports.iter().map(|import| &import.terms).fold(&self.terms, |newest, terms| {
            debug_assert!(terms.is_of_one_dictionary(newest), "snapshots of two dictionaries are asked together");
            if terms.len() > newest.len() { terms } else { newest }
        });
        Self { terms: Arc::clone(terms), contents: Arc::clone(&self.contents), imports: imports.into() }
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

    /// How many atoms it holds itself, copies counted.
    pub fn len(&self) -> usize {
        self.contents.len()
    }

    /// Whether it holds none itself.
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

    /// Its own atoms in insertion order, copies included, their variables fresh.
    pub fn atoms(&self, source: &mut VariableSource) -> Vec<Atom> {
        self.contents.atoms(&self.terms, source)
    }

    /// Its own atoms that match a query, in insertion order.
    pub fn matches(&self, query: &Atom, source: &mut VariableSource) -> Vec<Match> {
        self.contents.matches(query, &self.terms, source)
    }

    /// The solutions of a query, as [`SharedSpace::query`](crate::SharedSpace::query) found them at that moment; spaces and states
    /// inside atoms are as they are now.
    pub fn query(&self, query: &Atom, source: &mut VariableSource) -> Vec<Solution> {
        self.query_unless(query, source, &|| false).expect("nobody gives up")
    }

    /// The solutions of a query at that moment; `None` if the caller has given up. What rows do not answer is found whole.
    pub fn query_unless(
        &self,
        query: &Atom,
        source: &mut VariableSource,
        should_stop: ShouldStop<'_>,
    ) -> Option<Vec<Solution>> {
        self.solutions(query, source, should_stop)
    }

    /// The solutions of a query if rows alone answer it, which lead to no space or state that could have changed since; `None` if an
    /// atom with variables, states or spaces may answer it too.
    pub fn query_rows(&self, query: &Atom) -> Option<Vec<Solution>> {
        self.solutions_by_rows(query)
    }

    /// The solutions of a query as a table if rows alone answer it, as [`Snapshot::query_rows`] does.
    pub fn query_table(&self, query: &Atom) -> Option<AnswerTable> {
        self.table_by_rows(query)
    }

    /// The rows of this length as they lie, each with the number of its copies.
    pub fn rows_of_length(&self, length: usize) -> impl Iterator<Item = (&[Term], u32)> {
        let rows = self.contents.relation_of_length(length).all();
        rows.filter(move |row| row.terms.len() == length).map(|row| (row.terms, row.copies))
    }
}

impl Queried for Snapshot {
    fn with_view<T>(&self, work: impl FnOnce(View<'_>) -> Option<T>) -> Option<T> {
        let terms = &self.terms;
        let is_within = |import: &Self| import.terms.is_of_one_dictionary(terms) && import.terms.len() <= terms.len();
        let is_shared = self.imports.iter().all(is_within);
        let imports = self.imports.iter().map(|import| &*import.contents);
        if is_shared {
            with_imports(&self.contents, imports, |spaces| work(View { spaces, others: &[], terms }))
        } else {
            None
        }
    }

    fn query_one(&self, pattern: &Atom, source: &mut VariableSource) -> Vec<Bindings> {
        let mut found = complete(self.matches(pattern, source), None, source);
        for import in &*self.imports {
            found.extend(complete(import.matches(pattern, source), None, source));
        }
        found
    }
}
