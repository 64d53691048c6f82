//! Adding much at once: the dictionary and the space are locked once, and what is read elsewhere needs no atoms.
//!
//! A loader makes the terms of what it reads ([`Appender::symbol`], [`Appender::leaf`], [`Appender::expression`]) and adds
//! rows of them. An atom with variables, states or spaces is added as an atom.

use crate::atom::Atom;
use crate::canonical;
use crate::handle::SpaceRef;
use crate::pattern_tree::PatternTree;
use crate::relation::Relation;
use crate::space::{Stored, expression_of, intern_columns};
use crate::term::{Term, Terms};
use std::sync::RwLockWriteGuard;

/// Adds atoms to a space, in the order in which they are given.
///
/// While it lives nobody else reads the space or its dictionary but through a snapshot that was taken before.
pub struct Appender<'a> {
    pub(crate) terms: RwLockWriteGuard<'a, Terms>,
    pub(crate) leaves: &'a mut Relation,
    pub(crate) relations: &'a mut Vec<Relation>,
    pub(crate) wide: &'a mut Relation,
    pub(crate) patterns: &'a mut PatternTree,
    pub(crate) next_number: &'a mut u64,
    pub(crate) length: &'a mut usize,
    pub(crate) hash: &'a mut Option<u128>,
    /// Room for the row at hand.
    pub(crate) row: Vec<Term>,
    /// Whose log notes what is added, if one does.
    pub(crate) noted: Option<&'a SpaceRef>,
}

impl Appender<'_> {
    /// The term of a symbol.
    pub fn symbol(&mut self, name: &str) -> Term {
        self.terms.intern_symbol(name)
    }

    /// The term of a number, a text or another rigid atom that is no expression.
    pub fn leaf(&mut self, atom: &Atom) -> Term {
        self.terms.intern_leaf(atom)
    }

    /// The term of an expression inside a row.
    pub fn expression(&mut self, children: &[Term]) -> Term {
        self.terms.intern_row(children)
    }

    /// Makes room for so many more rows of this length.
    pub fn reserve(&mut self, rows: usize, length: usize) {
        self.relations.get_mut(length).unwrap_or(self.wide).reserve(rows, length);
    }

    /// Adds the expression of these children.
    pub fn row(&mut self, row: &[Term]) {
        let relation = self.relations.get_mut(row.len()).unwrap_or(self.wide);
        *self.next_number += u64::from(relation.add(row, *self.next_number, &self.terms));
        *self.length += 1;
        if let Some(sum) = self.hash {
            *sum = sum.wrapping_add(self.terms.hash_of_row(row));
        }
        if let Some(space) = self.noted {
            space.note_appended(|| expression_of(row, &self.terms));
        }
    }

    /// Adds an atom.
    pub fn atom(&mut self, atom: &Atom) {
        match atom {
            _ if !atom.is_rigid() => self.open(atom),
            Atom::Expression(_) => {
                let mut row = std::mem::take(&mut self.row);
                row.clear();
                intern_columns(atom, &mut self.terms, &mut row);
                self.row(&row);
                self.row = row;
            }
            leaf => self.lone(leaf),
        }
    }

    /// Adds an atom that is no row.
    fn open(&mut self, atom: &Atom) {
        let stored = Stored::new(atom);
        if let Some(sum) = self.hash {
            *sum = sum.wrapping_add(canonical::hash(&stored.atom));
        }
        *self.next_number += u64::from(self.patterns.add(stored, *self.next_number));
        self.added(atom);
    }

    /// Adds a rigid atom that is no expression.
    fn lone(&mut self, leaf: &Atom) {
        let term = self.leaf(leaf);
        *self.next_number += u64::from(self.leaves.add(&[term], *self.next_number, &self.terms));
        if let Some(sum) = self.hash {
            *sum = sum.wrapping_add(self.terms.hash(term));
        }
        self.added(leaf);
    }

    fn added(&mut self, atom: &Atom) {
        *self.length += 1;
        if let Some(space) = self.noted {
            space.note_appended(|| atom.clone());
        }
    }
}
