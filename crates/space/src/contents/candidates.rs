//! The atoms that may match a pattern, for a caller that asks for the same pattern again and again and prepares them once.
//!
//! They come in the order of answers: rows and atoms with variables by insertion number. What is found is a superset of what matches.
//! A caller that prepares few of them at a time is given few, at a cost that does not grow with how many there are.

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
    /// Its insertion number, which tells it from the others of its space.
    pub number: u64,
}

/// The atoms that may match a pattern, as far as a caller wants them who is not going to look at many.
#[derive(Clone, Debug)]
pub enum FewCandidates {
    /// All of them, each with the place of its space: 0, or that of an import behind it.
    All(Vec<(u32, Candidate)>),
    /// There are more than were asked for: these are some of them, from here and there.
    Some(Vec<Candidate>),
}

/// How many rows are looked at, or steps taken through the atoms with variables, for each candidate that is wanted.
const LOOKS_PER_CANDIDATE: usize = 16;

/// How many candidates were found, copies counted, which is more than was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany(pub usize);

impl Contents {
    /// Adds the atoms that may match a pattern, which is an expression, to those that were found in other spaces: `most` at most,
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
                found.push(Candidate { atom, names, copies: open.copies, number: open.number });
            }
        };
        for row in rows {
            let row = relation.found(row);
            add_open_before(row.number, found);
            let atom = expression_of(row.terms, terms);
            found.push(Candidate { atom, names: Vec::new(), copies: row.copies, number: row.number });
        }
        add_open_before(u64::MAX, found);
        Ok(())
    }

    /// Adds the atoms that may match a pattern, which is an expression, in insertion order, if there are no more than `most`; else some
    /// of them, and the answer is `false`. What this costs depends on `most` and not on how many there are.
    pub(crate) fn add_few(&self, pattern: &Atom, most: usize, terms: &Terms, found: &mut Vec<Candidate>) -> bool {
        let (rows, all_rows) = self.few_rows(pattern, most, terms);
        let (mut open, all_open) = self.patterns.few_candidates(pattern, most, most * LOOKS_PER_CANDIDATE);
        let relation = self.relation(pattern);
        let before = found.len();
        found.extend(rows.iter().map(|&row| {
            let row = relation.found(row);
            let atom = expression_of(row.terms, terms);
            Candidate { atom, names: Vec::new(), copies: row.copies, number: row.number }
        }));
        found.extend(open.drain(..).map(|open| {
            let (atom, names) = (open.stored.atom.clone(), open.stored.names.clone());
            Candidate { atom, names, copies: open.copies, number: open.number }
        }));
        let found = &mut found[before..];
        found.sort_by_key(|candidate| candidate.number);
        let count: usize = found.iter().map(|candidate| candidate.copies as usize).sum();
        all_rows && all_open && count <= most
    }

    /// How many atoms may match a pattern, which is an expression, copies counted; `None` if more than `most`. What this costs depends on
    /// `most` and not on how many there are.
    pub(crate) fn count_few(&self, pattern: &Atom, most: usize, terms: &Terms) -> Option<usize> {
        let (rows, all_rows) = self.few_rows(pattern, most, terms);
        let (open, all_open) = self.patterns.few_candidates(pattern, most, most * LOOKS_PER_CANDIDATE);
        let relation = self.relation(pattern);
        let of_rows: usize = rows.iter().map(|&row| relation.row(row).1 as usize).sum();
        let count = of_rows + open.iter().map(|open| open.copies as usize).sum::<usize>();
        (all_rows && all_open && count <= most).then_some(count)
    }

    /// Rows that may match a pattern, and whether they are all of them.
    fn few_rows(&self, pattern: &Atom, most: usize, terms: &Terms) -> (Vec<u32>, bool) {
        let (relation, mut rows) = (self.relation(pattern), Vec::new());
        let Some(query) = pattern.children().filter(|_| !relation.is_empty()) else { return (rows, true) };
        if pattern.is_rigid() {
            return (self.rows_for(pattern, terms), true);
        }
        let (Atom::Expression(expression), true) = (pattern, may_be_interned(query, terms)) else {
            return (rows, true);
        };
        let Some(known) = known_keys(expression, terms) else { return (rows, true) };
        let is_all = relation.narrow_few(&known, terms, (most, most * LOOKS_PER_CANDIDATE), &mut rows);
        (rows, is_all)
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

/// Whether each part of a query that is written out was interned, so that some row may have it.
fn may_be_interned(query: &[Atom], terms: &Terms) -> bool {
    query.iter().all(|child| !child.is_rigid() || terms.find_key(child).is_some())
}
