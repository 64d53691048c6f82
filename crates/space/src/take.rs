//! What rows answer to a pattern each of whose columns is either known or taken for a variable of its own: most patterns are so.
//!
//! Such a pattern asks nothing of a row but what is known, and an index has looked at that, or at a part of it. So columns are copied
//! as they lie, many rows at once.

use crate::relation::{Path, Piece, Stretch};
use crate::term::{Term, Terms};

/// A column and the variable that it is taken for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) variable: u32,
    pub(crate) column: u32,
}

/// What is taken of rows.
#[derive(Clone, Copy)]
pub(crate) struct Taking<'a> {
    pub(crate) taken: &'a [Taken],
    /// What is known: columns and their match keys.
    pub(crate) keys: &'a [(Path, Term)],
    /// What is known of the variables so far.
    pub(crate) current: &'a [Term],
    pub(crate) terms: &'a Terms,
}

impl Taking<'_> {
    /// Adds an answer for each copy of each row that has the keys; gives how many there are.
    #[inline]
    pub(crate) fn take(&self, piece: &Piece<'_>, answers: &mut Vec<Term>) -> usize {
        let (from, width) = (answers.len(), self.current.len());
        if piece.is_sure {
            answers.reserve(piece.len() * width);
        }
        // An answer of nothing but columns takes nothing from the one at hand.
        match width {
            _ if self.taken.len() < width => self.complete(piece, answers),
            1 => self.columns::<1>(piece, answers),
            2 => self.columns::<2>(piece, answers),
            3 => self.columns::<3>(piece, answers),
            4 => self.columns::<4>(piece, answers),
            _ => self.complete(piece, answers),
        }
        (answers.len() - from) / width
    }

    /// Adds the columns of all variables.
    fn columns<const N: usize>(&self, piece: &Piece<'_>, answers: &mut Vec<Term>) {
        let mut columns = [0; N];
        self.taken.iter().for_each(|taken| columns[taken.variable as usize] = taken.column as usize);
        let of = |row: &[Term]| columns.map(|column| row[column]);
        let is_it = |row: &[Term]| piece.is_sure || self.has_keys(row);
        piece.each(|stretch| match stretch {
            Stretch::Rows(cells, width) if piece.is_sure => answers.extend(cells.chunks_exact(width).flat_map(of)),
            Stretch::Rows(cells, width) => {
                let rows = cells.chunks_exact(width).filter(|row| is_it(row));
                rows.for_each(|row| answers.extend_from_slice(&of(row)));
            }
            Stretch::Each(rows) if piece.is_sure => answers.extend(rows.terms().flat_map(of)),
            Stretch::Each(rows) => {
                rows.terms().filter(|row| is_it(row)).for_each(|row| answers.extend_from_slice(&of(row)));
            }
            Stretch::Row(row, copies) if is_it(row) => (0..copies).for_each(|_| answers.extend_from_slice(&of(row))),
            Stretch::Row(..) => {}
        });
    }

    /// Adds the answer at hand, completed by columns.
    fn complete(&self, piece: &Piece<'_>, answers: &mut Vec<Term>) {
        let mut complete = |row: &[Term], copies: u32| {
            if !piece.is_sure && !self.has_keys(row) {
                return;
            }
            for _ in 0..copies {
                let start = answers.len();
                answers.extend_from_slice(self.current);
                let answer = &mut answers[start..];
                self.taken.iter().for_each(|taken| answer[taken.variable as usize] = row[taken.column as usize]);
            }
        };
        piece.each(|stretch| match stretch {
            Stretch::Rows(cells, width) => cells.chunks_exact(width).for_each(|row| complete(row, 1)),
            Stretch::Each(rows) => rows.terms().for_each(|row| complete(row, 1)),
            Stretch::Row(row, copies) => complete(row, copies),
        });
    }

    /// Whether a row has what is known.
    #[inline]
    fn has_keys(&self, row: &[Term]) -> bool {
        self.keys.iter().all(|&((column, _), key)| {
            let term = row[column as usize];
            term == key || self.terms.key(term) == key
        })
    }
}
