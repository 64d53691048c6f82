//! The atoms that may match a pattern, for a caller that asks for the same pattern again and again and prepares them once.
//!
//! They come in the order of answers: rows and atoms with variables by insertion number. What is found is a superset of what matches.

use super::{Contents, RowPattern, columns};
use crate::atom::{Atom, Symbol};
use crate::query::known_keys;
use crate::row::expression_of;
use crate::term::{Term, Terms};

/// An atom of a space that may match a pattern.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The atom; the number of each of its variables is its place in `names`.
    pub atom: Atom,
    /// The names of its variables.
    pub names: Vec<Symbol>,
    /// How many copies of it there are.
    pub copies: u32,
}

/// So many candidates were found, copies counted, which is more than was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany(pub usize);

impl Contents {
    /// Adds the atoms that may match a pattern, which is an expression, to those that were found in other spaces: so many at most,
    /// copies counted, theirs included.
    pub(crate) fn add_candidates(
        &self,
        pattern: &Atom,
        most: usize,
        terms: &Terms,
        found: &mut Vec<Candidate>,
    ) -> Result<(), TooMany> {
        let rows = self.rows_for(pattern, terms);
        let mut open = self.patterns.candidates(pattern);
        open.sort_unstable_by_key(|open| open.number);
        let relation = self.relation(pattern);
        let before: usize = found.iter().map(|candidate| candidate.copies as usize).sum();
        let of_rows: usize = rows.iter().map(|&row| relation.row(row).1 as usize).sum();
        let count = before + of_rows + open.iter().map(|open| open.copies as usize).sum::<usize>();
        if count > most {
            return Err(TooMany(count));
        }
        let mut open = open.into_iter().peekable();
        let mut add_open_before = |number: u64, found: &mut Vec<Candidate>| {
            while let Some(open) = open.next_if(|open| open.number < number) {
                let (atom, names) = (open.stored.atom.clone(), open.stored.names.clone());
                found.push(Candidate { atom, names, copies: open.copies });
            }
        };
        for row in rows {
            let row = relation.found(row);
            add_open_before(row.number, found);
            let atom = expression_of(row.terms, terms);
            found.push(Candidate { atom, names: Vec::new(), copies: row.copies });
        }
        add_open_before(u64::MAX, found);
        Ok(())
    }

    /// The rows that may match a pattern, by their numbers in the relation of its length, in insertion order.
    fn rows_for(&self, pattern: &Atom, terms: &Terms) -> Vec<u32> {
        let (relation, mut rows) = (self.relation(pattern), Vec::new());
        let Atom::Expression(query) = pattern else { return rows };
        if relation.is_empty() {
            return rows;
        }
        if pattern.is_rigid() {
            let keys: Option<Vec<Term>> = columns(pattern).iter().map(|column| terms.find_key(column)).collect();
            keys.inspect(|keys| relation.find_rows(keys, terms, &mut rows));
            rows.sort_by_key(|&row| relation.found(row).number);
            return rows;
        }
        let (Some(known), Some(pattern)) = (known_keys(query, terms), RowPattern::new(query, terms)) else {
            return rows;
        };
        relation.narrow(&known, terms, &mut rows);
        rows.retain(|&row| pattern.may_match(relation.row(row).0, terms));
        rows
    }
}
