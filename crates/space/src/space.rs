//! A space: a multiset of atoms with matching, which grows and shrinks.
//!
//! What it holds lies in [`Contents`]; its terms are those of a dictionary that it may share with other spaces.

use crate::append::Appender;
use crate::atom::{Atom, VariableSource};
use crate::canonical;
use crate::contents::{Candidate, Contents, Multiplicity, TooMany};
use crate::row::Row;
use crate::snapshot::Snapshot;
use crate::stored::Match;
use crate::term::{SharedTerms, Term, Terms};
use std::sync::{Arc, RwLockReadGuard, RwLockWriteGuard};

/// A multiset of atoms.
pub struct Space {
    terms: SharedTerms,
    contents: Contents,
    /// Room for the current row.
    row: Vec<Term>,
}

fn read(terms: &SharedTerms) -> RwLockReadGuard<'_, Terms> {
    terms.read().expect("no panic while terms are locked")
}

fn write(terms: &SharedTerms) -> RwLockWriteGuard<'_, Terms> {
    terms.write().expect("no panic while terms are locked")
}

impl Space {
    /// An empty space whose terms are interned in this dictionary.
    pub fn new(terms: SharedTerms) -> Self {
        Self::of(terms, Contents::default())
    }

    pub(crate) fn of(terms: SharedTerms, contents: Contents) -> Self {
        Self { terms, contents, row: Vec::new() }
    }

    /// An empty space with the same dictionary.
    pub(crate) fn emptied(&self) -> Self {
        Self::of(SharedTerms::clone(&self.terms), self.contents.emptied())
    }

    /// What it holds now, for reading on any thread while this space goes on changing. Constant time.
    pub fn snapshot(&mut self) -> Snapshot {
        let terms = Arc::new(write(&self.terms).share());
        Snapshot::new(terms, self.contents.share(), Vec::new())
    }

    /// What it holds now, and its dictionary.
    pub(crate) fn share(&mut self) -> (SharedTerms, Contents) {
        (SharedTerms::clone(&self.terms), self.contents.share())
    }

    /// A space that holds what a snapshot does, and then changes alone. Constant time.
    ///
    /// # Panics
    /// If the dictionary was not made by [`Snapshot::dictionary`] of this snapshot, or of a later one of the same dictionary.
    pub fn of_snapshot(snapshot: &Snapshot, dictionary: SharedTerms) -> Self {
        let begins_with = read(&dictionary).begins_with(snapshot.terms());
        assert!(begins_with, "the terms of a snapshot mean something else in another dictionary");
        Self::of(dictionary, snapshot.contents().shared())
    }

    /// Puts other atoms in the place of those with variables, states or spaces, where `replace` gives one. Each keeps its place in
    /// the order, and must have the same canonical form as before: only the handles in it may be others.
    pub fn replace_patterns(&mut self, replace: impl FnMut(&Atom) -> Option<Atom>) {
        self.contents.replace_patterns(replace);
    }

    /// A space that holds the same atoms and has the same dictionary; from now on each changes alone. Constant time.
    pub fn fork(&mut self) -> Self {
        Self::of(SharedTerms::clone(&self.terms), self.contents.share())
    }

    /// Keeps the sum of the content hashes of all atoms up to date from now on.
    pub fn keep_hash(&mut self) {
        let terms = read(&self.terms);
        self.contents.keep_hash(|contents| {
            let atoms = contents.atoms(&terms, &mut VariableSource::default());
            atoms.iter().map(canonical::hash).fold(0, u128::wrapping_add)
        });
    }

    /// Keeps the sum of the content hashes of what is added from now on, less that of what is removed.
    pub fn keep_hash_of_changes(&mut self) {
        self.contents.keep_hash(|_| 0);
    }

    /// The sum of the content hashes of all atoms, copies counted, modulo 2^128; `None` if it is not kept. It depends on
    /// no order.
    pub fn hash(&self) -> Option<u128> {
        self.contents.hash()
    }

    /// How many atoms it holds, copies counted.
    pub fn len(&self) -> usize {
        self.contents.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an atom.
    pub fn add(&mut self, atom: &Atom) {
        self.contents.add(atom, None, &mut write(&self.terms), &mut self.row);
    }

    /// Adds back an atom that was taken out, at the place in the order that it had.
    pub fn restore(&mut self, atom: &Atom, number: u64) {
        self.contents.add(atom, Some(number), &mut write(&self.terms), &mut self.row);
    }

    /// Adds the expression whose children's terms `intern` makes; says whether there were any.
    pub(crate) fn add_row(
        &mut self,
        row: &mut Vec<Term>,
        intern: impl FnOnce(&mut Terms, &mut Vec<Term>) -> bool,
    ) -> bool {
        let mut terms = write(&self.terms);
        let is_row = intern(&mut terms, row);
        if is_row {
            self.contents.add_row(row, None, &mut terms);
        }
        is_row
    }

    /// What adds many atoms with the dictionary locked once; see [`Appender`].
    pub fn appender(&mut self) -> Appender<'_> {
        Appender { terms: write(&self.terms), contents: &mut self.contents, row: &mut self.row, noted: None }
    }

    /// Adds atoms: what [`Space::add`] does for each, in less time. Gives how many there were.
    pub fn add_many<'a>(&mut self, atoms: impl IntoIterator<Item = &'a Atom>) -> usize {
        self.appender().atoms(atoms)
    }

    /// Removes one copy of each of these atoms, as [`Space::remove`] does; gives how many there were.
    pub fn remove_many<'a>(&mut self, atoms: impl IntoIterator<Item = &'a Atom>) -> usize {
        let terms = read(&self.terms);
        atoms.into_iter().filter(|atom| self.contents.take_row(atom, &terms, |_, _| ()).is_some()).count()
    }

    /// The atoms of both, those of the other one last: copies added up, or each once. Its dictionary is the one of this
    /// space, as that of the three operations below; no hash is kept of what they give.
    pub fn union(&self, other: &Self, multiplicity: Multiplicity) -> Self {
        self.combined(other, |left, right, terms| left.union(right, multiplicity, terms))
    }

    /// The atoms that are in both: as many copies as the one has that has fewer, or each once.
    pub fn intersection(&self, other: &Self, multiplicity: Multiplicity) -> Self {
        self.combined(other, |left, right, terms| left.intersection(right, multiplicity, terms))
    }

    /// The atoms of this one less those of the other: fewer copies, or once those that the other has none of.
    pub fn subtraction(&self, other: &Self, multiplicity: Multiplicity) -> Self {
        self.combined(other, |left, right, terms| left.subtraction(right, multiplicity, terms))
    }

    /// The atoms that are in the other one or begin as an expression there does: `(edge a)` keeps `(edge a b)`, and `()`
    /// every expression. All copies, or each once.
    pub fn restriction(&self, prefixes: &Self, multiplicity: Multiplicity) -> Self {
        self.combined(prefixes, |left, right, terms| left.restriction(right, multiplicity, terms))
    }

    /// What is made of what both hold, in this one's dictionary.
    fn combined(&self, other: &Self, combine: impl FnOnce(&Contents, &Contents, &Terms) -> Contents) -> Self {
        let terms = SharedTerms::clone(&self.terms);
        if Arc::ptr_eq(&self.terms, &other.terms) {
            let combined = combine(&self.contents, &other.contents, &read(&terms));
            return Self::of(terms, combined);
        }
        // Never are two dictionaries locked at once.
        let atoms = other.atoms(&mut VariableSource::default());
        let mut here = Self::new(SharedTerms::clone(&terms));
        here.add_many(&atoms);
        let combined = combine(&self.contents, &here.contents, &read(&terms));
        Self::of(terms, combined)
    }

    /// Whether another space, with a dictionary of its own, holds the same atoms in the same order, with as many copies.
    ///
    /// # Errors
    /// How many of the first atoms agree, each counted once.
    pub fn compare(&self, other: &Self) -> Result<(), usize> {
        self.contents.compare(&read(&self.terms), &other.contents, &read(&other.terms))
    }

    /// The dictionary.
    pub(crate) fn terms(&self) -> &SharedTerms {
        &self.terms
    }

    /// What it holds.
    pub(crate) fn contents(&self) -> &Contents {
        &self.contents
    }

    /// What it holds, to be changed.
    pub(crate) fn contents_mut(&mut self) -> &mut Contents {
        &mut self.contents
    }

    /// The row of the atom that was added last.
    pub(crate) fn row_of<'a>(&'a self, added: &'a Atom) -> Row<'a> {
        Row::of(added, &self.row)
    }

    /// Adds back a row that was taken out, at the place in the order that it had.
    pub(crate) fn restore_row(&mut self, row: Row<'_>, number: u64) {
        self.contents.restore_row(row, number, &mut write(&self.terms));
    }

    /// Removes a copy of a row that was added.
    pub(crate) fn take_back(&mut self, row: Row<'_>) {
        self.contents.take_back(row, &read(&self.terms));
    }

    /// Removes an atom as [`Space::remove`] does, and hands out its row as it was stored, with its insertion number.
    pub(crate) fn take_row<T>(&mut self, atom: &Atom, give: impl FnOnce(Row<'_>, u64) -> T) -> Option<T> {
        self.contents.take_row(atom, &read(&self.terms), give)
    }

    /// Removes one copy of an atom, or else of the first that is equal in the sense of [`Space::count`]. Returns
    /// whether there was one.
    pub fn remove(&mut self, atom: &Atom) -> bool {
        self.take(atom).is_some()
    }

    /// Removes an atom as [`Space::remove`] does, and gives it as it was stored, with its insertion number.
    pub fn take(&mut self, atom: &Atom) -> Option<(Atom, u64)> {
        let terms = read(&self.terms);
        self.contents.take_row(atom, &terms, |row, number| (row.atom(&terms), number))
    }

    /// How many copies of an atom there are, up to the names of variables; numbers are compared by value and states by
    /// content.
    pub fn count(&self, atom: &Atom) -> usize {
        self.contents.count(atom, &read(&self.terms))
    }

    /// Each child that stands after a prefix, once, with the number of expressions that go on with it: under `[edge, a]` the
    /// second arguments that occur in `(edge a …)`.
    ///
    /// Expressions of every length beyond the prefix are looked at, copies are counted, and atoms agree as they match (`1` is
    /// `1.0`, and variables count by their place). The children come in the order in which the first of each was added; their
    /// variables are fresh. Cost: the expressions that begin with the prefix.
    pub fn children_after(&self, prefix: &[Atom], source: &mut VariableSource) -> Vec<(Atom, usize)> {
        self.contents.children_after(prefix, &read(&self.terms), source)
    }

    /// Whether it holds this very atom, up to the names of variables: kinds of numbers are kept apart, and so are states.
    pub fn contains_exactly(&self, atom: &Atom) -> bool {
        self.contents.copies(atom, &read(&self.terms)) > 0
    }

    /// Whether it holds an atom, in the sense of [`Space::count`].
    pub fn contains(&self, atom: &Atom) -> bool {
        self.count(atom) > 0
    }

    /// All atoms in insertion order, copies included, their variables fresh.
    pub fn atoms(&self, source: &mut VariableSource) -> Vec<Atom> {
        self.contents.atoms(&read(&self.terms), source)
    }

    /// The atoms that match a query, in insertion order.
    pub fn matches(&self, query: &Atom, source: &mut VariableSource) -> Vec<Match> {
        self.contents.matches(query, &read(&self.terms), source)
    }

    /// Adds the atoms that may match a pattern to those that were found in other spaces; see [`SharedSpace::candidates`].
    ///
    /// [`SharedSpace::candidates`]: crate::SharedSpace::candidates
    pub(crate) fn add_candidates(
        &self,
        pattern: &Atom,
        most: usize,
        found: &mut Vec<Candidate>,
    ) -> Result<(), TooMany> {
        self.contents.add_candidates(pattern, most, &read(&self.terms), found)
    }

    /// Adds the atoms that may match a pattern if they are few; see [`SharedSpace::few_candidates`].
    ///
    /// [`SharedSpace::few_candidates`]: crate::SharedSpace::few_candidates
    pub(crate) fn add_few(&self, pattern: &Atom, most: usize, found: &mut Vec<Candidate>) -> bool {
        self.contents.add_few(pattern, most, &read(&self.terms), found)
    }

    /// How many atoms may match a pattern if they are few; see [`SharedSpace::has_few_candidates`].
    ///
    /// [`SharedSpace::has_few_candidates`]: crate::SharedSpace::has_few_candidates
    pub(crate) fn count_few(&self, pattern: &Atom, most: usize) -> Option<usize> {
        self.contents.count_few(pattern, most, &read(&self.terms))
    }
}
