//! Answers that are grouped: those of a group have all values in common but those that the rows of the last pattern have.

use crate::relation::Adjacency;
use crate::term::Term;
use std::sync::Arc;

/// Answers whose last values are not written out: each that is listed stands for as many as there are rows at its place.
#[derive(Debug)]
pub(super) struct Factored {
    pub(super) adjacency: Arc<Adjacency>,
    /// The variables whose values are in the rows, in the order of the columns.
    pub(super) variables: Vec<u32>,
    /// For each answer that is listed, where its rows begin and end. There is at least one.
    pub(super) rows: Vec<[u32; 2]>,
}

/// Answers that have all values but those of some variables in common.
pub struct AnswerGroup<'a> {
    /// The values that they have in common, [`NO_TERM`](super::NO_TERM) where they differ.
    pub common: &'a [Term],
    /// The others, one answer after the other; each has those of the [variables](super::Answers::grouped_variables) in their order.
    pub others: &'a [Term],
}

/// Room for more cells than this is not doubled: a limit of memory is seen before much more than it is taken.
const CELLS_DOUBLED_MAX: usize = 1 << 20;

/// Some of the answers of a query, while others are looked for.
pub(super) struct PartialAnswers {
    pub(super) cells: Vec<Term>,
    pub(super) factored: Option<Factored>,
}

impl PartialAnswers {
    /// Adds the answers of `width` terms that come next. They stay grouped if all of them are, in one way.
    pub(super) fn append(&mut self, mut other: Self, width: usize) {
        if let (Some(factored), Some(more)) = (&mut self.factored, &other.factored)
            && Arc::ptr_eq(&factored.adjacency, &more.adjacency)
            && factored.variables == more.variables
        {
            factored.rows.extend_from_slice(&more.rows);
        } else {
            self.write_out(width);
            other.write_out(width);
        }
        if self.cells.capacity() - self.cells.len() < other.cells.len() {
            let beside = if self.cells.len() < CELLS_DOUBLED_MAX { self.cells.len() } else { self.cells.len() / 8 };
            self.cells.reserve_exact(other.cells.len().max(beside));
        }
        self.cells.append(&mut other.cells);
    }

    fn write_out(&mut self, width: usize) {
        if let Some(factored) = self.factored.take() {
            self.cells = factored.written_out(&self.cells, width);
        }
    }
}

impl Factored {
    /// All answers, each with its values: `listed` has `width` terms for each group.
    pub(super) fn written_out(&self, listed: &[Term], width: usize) -> Vec<Term> {
        let count: usize = self.rows.iter().map(|[start, end]| (end - start) as usize).sum();
        let mut written = Vec::with_capacity(count * width);
        for (common, &rows) in listed.chunks_exact(width).zip(&self.rows) {
            write_group(common, self.others(rows), &self.variables, &mut written);
        }
        written
    }

    pub(super) fn others(&self, [start, end]: [u32; 2]) -> &[Term] {
        self.adjacency.cells(&(start..end))
    }
}

/// Writes an answer for each row: the values that answers have in common, and those of the row.
pub(super) fn write_group(common: &[Term], rows: &[Term], variables: &[u32], answers: &mut Vec<Term>) {
    answers.reserve(rows.len() / variables.len() * common.len());
    for row in rows.chunks_exact(variables.len()) {
        let start = answers.len();
        answers.extend_from_slice(common);
        let answer = &mut answers[start..];
        variables.iter().zip(row).for_each(|(&variable, &value)| answer[variable as usize] = value);
    }
}
