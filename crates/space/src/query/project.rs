//! What rows answer to a pattern each of whose columns is either known or taken for a variable of its own: most
//! patterns are so.
//!
//! Such a pattern asks nothing of a row but what is known, and an index has looked at that, or at a part of it. So
//! columns are copied as they lie, many rows at once.

use super::pattern::{NO_TERM, PatternPart};
use crate::relation::{Path, RowBatch, RowSelection};

use crate::term::{Term, Terms};

/// What is taken of rows.
#[derive(Clone, Copy)]
pub(crate) struct Projection<'a> {
    /// The columns of the pattern; how many of them are taken.
    pub(crate) parts: &'a [PatternPart],
    pub(crate) count: usize,
    /// What is known: columns and their match keys.
    pub(crate) keys: &'a [(Path, Term)],
    /// What the variables are so far; those to be taken are not known.
    pub(crate) current: &'a [Term],
    pub(crate) terms: &'a Terms,
}

impl Projection<'_> {
    /// Adds an answer for each copy of each row that has the keys; gives how many there are.
    #[inline]
    pub(crate) fn take(&self, selected: &RowSelection<'_>, answers: &mut Vec<Term>) -> usize {
        let (from, width) = (answers.len(), self.current.len());
        if selected.is_sure {
            answers.reserve(selected.len() * width);
        }
        match width {
            1 => self.take_wide::<1>(selected, answers),
            2 => self.take_wide::<2>(selected, answers),
            3 => self.take_wide::<3>(selected, answers),
            4 => self.take_wide::<4>(selected, answers),
            5 => self.take_wide::<5>(selected, answers),
            6 => self.take_wide::<6>(selected, answers),
            _ => self.complete(selected, answers),
        }
        (answers.len() - from) / width
    }

    /// Adds answers of a width that the compiler knows, which are written without a loop over it.
    fn take_wide<const N: usize>(&self, selected: &RowSelection<'_>, answers: &mut Vec<Term>) {
        // An answer of nothing but columns takes nothing from the current one.
        if self.count == N {
            let columns = self.columns_of::<N>();
            return self.add(selected, answers, |row| columns.map(|column| row[column]));
        }
        let current: [Term; N] = self.current.try_into().expect("the answers are so wide");
        let mut taken = [(0, 0); N];
        self.taken().zip(&mut taken).for_each(|(one, place)| *place = one);
        let taken = &taken[..self.count];
        self.add(selected, answers, |row| {
            let mut answer = current;
            taken.iter().for_each(|&(variable, column)| answer[variable] = row[column]);
            answer
        });
    }

    /// Adds what each row comes to.
    #[inline]
    fn add<const N: usize>(
        &self,
        selected: &RowSelection<'_>,
        answers: &mut Vec<Term>,
        of: impl Fn(&[Term]) -> [Term; N],
    ) {
        let is_it = |row: &[Term]| selected.is_sure || self.has_keys(row);
        selected.each(|batch| match batch {
            RowBatch::Rows(cells, width) if selected.is_sure => answers.extend(cells.chunks_exact(width).flat_map(&of)),
            RowBatch::Rows(cells, width) => {
                let rows = cells.chunks_exact(width).filter(|row| is_it(row));
                rows.for_each(|row| answers.extend_from_slice(&of(row)));
            }
            RowBatch::Each(rows) if selected.is_sure => answers.extend(rows.terms().flat_map(&of)),
            RowBatch::Each(rows) => {
                rows.terms().filter(|row| is_it(row)).for_each(|row| answers.extend_from_slice(&of(row)));
            }
            RowBatch::Row(row, copies) if is_it(row) => (0..copies).for_each(|_| answers.extend_from_slice(&of(row))),
            RowBatch::Row(..) => {}
        });
    }

    /// Adds the current answer, completed by columns, however wide it is.
    fn complete(&self, selected: &RowSelection<'_>, answers: &mut Vec<Term>) {
        selected.each_row(|row, copies| {
            if !selected.is_sure && !self.has_keys(row) {
                return;
            }
            for _ in 0..copies {
                let start = answers.len();
                answers.extend_from_slice(self.current);
                let answer = &mut answers[start..];
                self.taken().for_each(|(variable, column)| answer[variable] = row[column]);
            }
        });
    }

    /// The columns of the variables, and the first where there are fewer variables.
    fn columns_of<const N: usize>(&self) -> [usize; N] {
        let mut columns = [0; N];
        self.taken().for_each(|(variable, column)| columns[variable] = column);
        columns
    }

    /// The variables that are taken, and the column of each.
    #[inline]
    fn taken(&self) -> impl Iterator<Item = (usize, usize)> {
        self.parts.iter().zip(0..).filter_map(|(part, column)| match part {
            PatternPart::Variable(variable) if self.current[*variable as usize] == NO_TERM => {
                Some((*variable as usize, column))
            }
            _ => None,
        })
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
