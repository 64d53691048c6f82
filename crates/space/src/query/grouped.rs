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

impl Factored {
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
