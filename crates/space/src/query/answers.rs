//! The answers of a query.
//!
//! They are rows of terms, a term for each variable, or groups: if the last pattern has rows by the value of one variable, those need not be
//! written beside each answer, and the answers are left *factored*, as the answers of the patterns before, each with the place of its
//! rows (a factorised representation). Callers that can read that ask for it.
//!
//! Source: D. Olteanu, J. Závodný, Size bounds for factorised representations of query results (TODS 2015), for what factoring saves.

use super::grouped::{AnswerGroup, Factored, PartialAnswers};
use crate::term::Term;

/// The answers of a query, a term for each variable; [`NO_TERM`](super::NO_TERM) stands for a variable without a value.
#[derive(Debug, Default)]
pub struct Answers {
    /// The terms, one answer after the other, or one group after the other.
    pub(super) cells: Vec<Term>,
    pub(super) width: usize,
    pub(super) count: usize,
    /// The rows of the last pattern, if the answers are grouped by them.
    pub(super) factored: Option<Factored>,
}

/// Room for more terms than this is given back.
pub(super) const ROOM_TERMS_MAX: usize = 1 << 12;

impl Answers {
    /// The answers one after the other, unless they are grouped.
    pub fn each(&self) -> impl Iterator<Item = &[Term]> {
        (0..self.count).map(|place| self.get(place))
    }

    /// The terms of a variable in all answers, unless those are grouped.
    pub fn column(&self, variable: usize) -> impl Iterator<Item = Term> {
        self.cells.iter().skip(variable).step_by(self.width.max(1)).copied()
    }

    /// How many answers there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Takes all answers out, to go through them one after the other.
    pub fn take(&mut self) -> AnswerCursor {
        self.write_out();
        let cursor =
            AnswerCursor { cells: std::mem::take(&mut self.cells), width: self.width, left: self.count, next: 0 };
        self.count = 0;
        cursor
    }

    /// The variables whose values answers of a group do not have in common; `None` if the answers are not grouped.
    pub fn grouped_variables(&self) -> Option<&[u32]> {
        self.factored.as_ref().map(|factored| &*factored.variables)
    }

    /// The groups of answers in their order, if they are grouped; none else.
    pub fn groups(&self) -> impl Iterator<Item = AnswerGroup<'_>> {
        self.factored.iter().flat_map(|factored| {
            let groups = self.cells.chunks_exact(self.width).zip(&factored.rows);
            groups.map(|(common, &rows)| AnswerGroup { common, others: factored.others(rows) })
        })
    }

    /// The different lists of values of the grouped variables, in the order in which they first occur; none if answers are not grouped.
    pub fn different_others(&self) -> impl Iterator<Item = &[Term]> {
        self.factored.iter().flat_map(|factored| {
            let mut is_seen = vec![false; factored.rows.iter().map(|rows| rows[1]).max().unwrap_or(0) as usize];
            let is_new = move |rows: &&[u32; 2]| !std::mem::replace(&mut is_seen[rows[0] as usize], true);
            factored.rows.iter().filter(is_new).map(|&rows| factored.others(rows))
        })
    }

    /// Writes grouped answers out, so that [`Answers::each`] has each as a whole.
    pub fn write_out(&mut self) {
        if let Some(factored) = self.factored.take() {
            self.cells = factored.written_out(&self.cells, self.width);
        }
    }

    /// An answer by its place, unless they are grouped.
    ///
    /// # Panics
    /// If there is no such answer.
    #[inline]
    pub fn get(&self, place: usize) -> &[Term] {
        &self.cells[place * self.width..][..self.width]
    }

    /// One answer of `width` terms, in which nothing is bound yet.
    pub(super) fn begin(&mut self, width: usize) {
        self.clear(width);
        self.cells.resize(width, super::NO_TERM);
    }

    /// No answers of `width` terms.
    pub(super) fn clear(&mut self, width: usize) {
        (self.width, self.count, self.factored) = (width, 0, None);
        self.cells.clear();
    }

    /// Forgets answers that took much room.
    pub(super) fn shrink(&mut self) {
        self.clear(0);
        self.cells.shrink_to(ROOM_TERMS_MAX);
    }

    /// Takes out the part of the answers that was found last.
    pub(super) fn take_part(&mut self) -> PartialAnswers {
        PartialAnswers { cells: std::mem::take(&mut self.cells), factored: self.factored.take() }
    }

    /// Puts other answers into their place.
    pub(super) fn replace_by(&mut self, PartialAnswers { cells, factored }: PartialAnswers) {
        (self.cells, self.factored) = (cells, factored);
    }
}

/// Answers that were taken out, one after the other.
#[derive(Debug, Default)]
pub struct AnswerCursor {
    cells: Vec<Term>,
    width: usize,
    /// How many answers are left, and where the next one begins.
    left: usize,
    next: usize,
}

impl AnswerCursor {
    /// The next answer; `None` if there is none left.
    #[inline]
    pub fn advance(&mut self) -> Option<&[Term]> {
        self.left = self.left.checked_sub(1)?;
        let from = self.next;
        self.next += self.width;
        Some(&self.cells[from..self.next])
    }

    /// Whether there is no further answer.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.left == 0
    }
}
