//! Unions, intersections, subtractions and restrictions of two multisets of atoms.
//!
//! 1. Both have their terms in one dictionary, so a row of the one is looked for in the other as it is.
//! 2. Each atom of the left one is kept as often as the operation says, with its insertion number.
//! 3. Of a union, the atoms of the right one come after those of the left one.
//!
//! Atoms are the same if they differ in nothing but the names of variables: `1` and `1.0` are two.
//!
//! Cost: linear in the members of the left one, and for a union of both.

use super::Contents;
use crate::atom::Atom;
use crate::stored::Stored;
use crate::term::{Term, Terms};
use std::collections::BTreeSet;

/// Whether copies count in an operation on two spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multiplicity {
    /// As often as the operation on multisets says: a union adds the copies, an intersection takes the smaller number, a
    /// subtraction takes copies away.
    Counted,
    /// Once: the operation on sets.
    Once,
}

impl Multiplicity {
    fn of(self, copies: u32) -> u32 {
        match self {
            Self::Counted => copies,
            Self::Once => copies.min(1),
        }
    }
}

/// An atom as it is held.
#[derive(Clone, Copy)]
enum Member<'a> {
    Leaf(Term),
    Row(&'a [Term]),
    Open(&'a Stored),
}

impl Contents {
    /// All atoms, each with the number of its copies and its insertion number.
    fn members(&self) -> impl Iterator<Item = (Member<'_>, u32, u64)> {
        let leaves = self.leaves.all().map(|row| (Member::Leaf(row.terms[0]), row.copies, row.number));
        let rows = self.relations_of_expressions().flat_map(|relation| relation.all());
        let rows = rows.map(|row| (Member::Row(row.terms), row.copies, row.number));
        let open = self.patterns.all().map(|found| (Member::Open(found.stored), found.copies, found.number));
        leaves.chain(rows).chain(open)
    }

    fn copies_of(&self, member: Member<'_>, terms: &Terms) -> u32 {
        match member {
            Member::Leaf(leaf) => self.leaves.copies(&[leaf], terms),
            Member::Row(row) => self.relation_of_length(row.len()).copies(row, terms),
            Member::Open(stored) => self.patterns.copies(stored),
        }
    }

    /// Adds copies of an atom with this insertion number.
    fn insert(&mut self, member: Member<'_>, copies: u32, number: u64, terms: &Terms) {
        if copies == 0 {
            return;
        }
        match member {
            Member::Open(stored) => return self.add_open(stored.clone(), copies, Some(number)),
            Member::Leaf(leaf) => self.leaves.add(&[leaf], copies, number, terms),
            Member::Row(row) => self.relation_of_length_mut(row.len()).add(row, copies, number, terms),
        };
        self.count_added(copies, false);
    }

    /// As many copies of each atom as `keep` says, given the atom and how many there are.
    fn filtered(&self, terms: &Terms, keep: impl Fn(Member<'_>, u32) -> u32) -> Self {
        let mut kept = Self { next_number: self.next_number, ..Self::default() };
        for (member, copies, number) in self.members() {
            kept.insert(member, keep(member, copies), number, terms);
        }
        kept
    }

    pub(crate) fn union(&self, other: &Self, multiplicity: Multiplicity, terms: &Terms) -> Self {
        let mut union = self.filtered(terms, |_, copies| multiplicity.of(copies));
        for (member, copies, number) in other.members() {
            let is_there = || union.copies_of(member, terms) > 0;
            let more = if multiplicity == Multiplicity::Once && is_there() { 0 } else { multiplicity.of(copies) };
            union.insert(member, more, self.next_number + number, terms);
        }
        union.next_number += other.next_number;
        union
    }

    pub(crate) fn intersection(&self, other: &Self, multiplicity: Multiplicity, terms: &Terms) -> Self {
        self.filtered(terms, |member, copies| multiplicity.of(copies.min(other.copies_of(member, terms))))
    }

    pub(crate) fn subtraction(&self, other: &Self, multiplicity: Multiplicity, terms: &Terms) -> Self {
        self.filtered(terms, |member, copies| match (multiplicity, other.copies_of(member, terms)) {
            (Multiplicity::Counted, there) => copies.saturating_sub(there),
            (Multiplicity::Once, there) => u32::from(there == 0),
        })
    }

    pub(crate) fn restriction(&self, prefixes: &Self, multiplicity: Multiplicity, terms: &Terms) -> Self {
        let lengths = prefixes.lengths();
        self.filtered(terms, |member, copies| {
            let begins = match member {
                Member::Leaf(_) => prefixes.copies_of(member, terms) > 0,
                Member::Row(row) => {
                    let mut begins = lengths.range(..=row.len()).map(|&length| &row[..length]);
                    begins.any(|begin| prefixes.copies_of(Member::Row(begin), terms) > 0)
                }
                Member::Open(stored) => prefixes.has_beginning(&stored.atom, &lengths, terms),
            };
            if begins { multiplicity.of(copies) } else { 0 }
        })
    }

    /// Whether it holds the atom itself, or an expression with which it begins.
    fn has_beginning(&self, atom: &Atom, lengths: &BTreeSet<usize>, terms: &Terms) -> bool {
        let Some(children) = atom.children() else { return self.copies(atom, terms) > 0 };
        let mut begins = lengths.range(..=children.len()).map(|&length| Atom::expression(&children[..length]));
        begins.any(|begin| self.copies(&begin, terms) > 0)
    }

    /// The lengths of its expressions.
    fn lengths(&self) -> BTreeSet<usize> {
        let own = self.relations.iter().enumerate().filter(|(_, relation)| !relation.is_empty());
        let open = self.patterns.all().filter_map(|found| Some(found.stored.atom.children()?.len()));
        own.map(|(length, _)| length).chain(self.wide.all().map(|row| row.terms.len())).chain(open).collect()
    }
}
