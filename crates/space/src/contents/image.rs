//! What a space holds, in an image.

use super::Contents;
use crate::columns::{ColumnsReader, ColumnsWriter, ImageError};
use crate::relation::{Relation, write_relation};
use crate::stored::Stored;
use crate::term::{LiveTerms, Terms};
use crate::words::Words;
use std::io;

impl Contents {
    /// Goes through its relations.
    pub(crate) fn each_relation(&self, visit: impl FnMut(&Relation)) {
        std::iter::once(&self.leaves).chain(self.relations_of_expressions()).for_each(visit);
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

    /// Adds copies of an atom that is not a row, which are counted already.
    pub(crate) fn restore_pattern(&mut self, stored: Stored, copies: u32, number: u64) {
        self.patterns.add(stored, copies, number);
    }
}
