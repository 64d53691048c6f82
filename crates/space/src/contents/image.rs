//! What a space holds, in an image.

use super::Contents;
use crate::canonical;
use crate::columns::{ColumnsReader, ColumnsWriter, ImageError};
use crate::pattern_tree::FoundPattern;
use crate::relation::{Relation, write_relation};
use crate::row::Row;
use crate::stored::Stored;
use crate::term::{LiveTerms, Terms};
use crate::words::Words;
use std::io;

impl Contents {
    /// Goes through its relations.
    pub(crate) fn each_relation(&self, visit: impl FnMut(&Relation)) {
        self.numbered_relations().for_each(visit);
    }

    /// Writes its rows; what it says of them goes to the description.
    pub(crate) fn write(
        &self,
        terms: &Terms,
        live: &LiveTerms,
        writer: &mut ColumnsWriter<'_>,
        words: &mut Vec<u64>,
    ) -> io::Result<()> {
        let hash = self.hash.unwrap_or_default();
        words.extend([self.next_number, self.length as u64]);
        words.extend([u64::from(self.hash.is_some()), hash as u64, (hash >> 64) as u64]);
        words.push(self.relations.len() as u64);
        let relations = [&self.leaves, &self.wide].into_iter().chain(&self.relations);
        relations.into_iter().try_for_each(|relation| write_relation(relation, terms, live, writer, words))
    }

    /// The rows that a description says.
    pub(crate) fn open(columns: &ColumnsReader, words: &mut Words<'_>) -> Result<Self, ImageError> {
        let (next_number, length) = (words.next()?, words.next()? as usize);
        let (has_hash, low, high) = (words.next()? != 0, words.next()?, words.next()?);
        let hash = has_hash.then(|| u128::from(high) << 64 | u128::from(low));
        let lengths = words.next()?;
        let leaves = Relation::open(columns, words)?;
        let wide = Relation::open(columns, words)?;
        let relations = (0..lengths).map(|_| Relation::open(columns, words)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { leaves, wide, relations, next_number, length, hash, ..Self::default() })
    }

    /// Whether it holds the same atoms in the same order, with as many copies, though in another dictionary; or how many of the first ones
    /// agree.
    pub(crate) fn compare(&self, terms: &Terms, other: &Self, other_terms: &Terms) -> Result<(), usize> {
        let (left, right) = (self.in_order(), other.in_order());
        let (patterns, other_patterns) = (self.patterns.in_order(), other.patterns.in_order());
        let (mut bytes, mut other_bytes) = (Vec::new(), Vec::new());
        for (place, (left, right)) in left.iter().zip(&right).enumerate() {
            bytes.clear();
            other_bytes.clear();
            let copies = self.encode_at(*left, &patterns, terms, &mut bytes);
            let other_copies = other.encode_at(*right, &other_patterns, other_terms, &mut other_bytes);
            if copies != other_copies || bytes != other_bytes {
                return Err(place);
            }
        }
        if left.len() == right.len() { Ok(()) } else { Err(left.len().min(right.len())) }
    }

    /// Where its atoms lie, in insertion order: the number, the relation, and the row there; those that are no rows have no relation.
    fn in_order(&self) -> Vec<(u64, u32, u32)> {
        let mut places = Vec::new();
        for (number, relation) in (1..).zip(self.numbered_relations()) {
            let live = (0..relation.len()).map(|row| (row, relation.found(row))).filter(|(_, found)| found.copies > 0);
            places.extend(live.map(|(row, found)| (found.number, number, row)));
        }
        places.extend((0..).zip(self.patterns.in_order()).map(|(place, found)| (found.number, 0, place)));
        places.sort_unstable();
        places
    }

    fn numbered_relations(&self) -> impl Iterator<Item = &Relation> {
        std::iter::once(&self.leaves).chain(self.relations_of_expressions())
    }

    /// Appends the canonical bytes of an atom; gives how many copies there are.
    fn encode_at(
        &self,
        (_, relation, row): (u64, u32, u32),
        patterns: &[FoundPattern<'_>],
        terms: &Terms,
        bytes: &mut Vec<u8>,
    ) -> u32 {
        let Some(place) = relation.checked_sub(1) else {
            let found = &patterns[row as usize];
            canonical::encode_into(&found.stored.atom, bytes);
            return found.copies;
        };
        let relation = self.numbered_relations().nth(place as usize).expect("it was numbered");
        let found = relation.found(row);
        let row = if place == 0 { Row::Leaf(found.terms[0]) } else { Row::Expression(found.terms) };
        row.encode_into(terms, bytes, |_| ());
        found.copies
    }

    /// Adds copies of an atom that is not a row, which are counted already.
    pub(crate) fn restore_pattern(&mut self, stored: Stored, copies: u32, number: u64) {
        self.patterns.add(stored, copies, number);
    }
}
