//! The answers of a call, as rows.

use space::{Atom, Found, Solution, Term, Values, Variable};
use std::cell::RefCell;
use std::rc::Rc;

/// What stands in a place of all answers.
#[derive(Clone)]
pub(crate) enum Column {
    /// A column of the rows.
    Row(usize),
    /// This value.
    Constant(Atom),
}

/// A value of an answer.
pub(crate) enum RowValue {
    /// A term of the dictionary.
    Term(Term),
    /// What was never interned.
    Atom(Atom),
}

/// The answers of a call.
pub(crate) struct RowAnswers {
    pub(crate) found: Rc<Found>,
    pub(super) values: Rc<RefCell<Values>>,
    /// What each variable of the call is.
    pub(super) variables: Vec<Column>,
    pub(super) result: Column,
}

impl RowAnswers {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.found.count
    }

    /// An answer for a call with these variables: what it binds, and the result.
    pub(crate) fn answer(&self, place: usize, variables: &[Variable]) -> (Solution, Atom) {
        let values = self.values.borrow();
        let atom = |column: &Column| match column {
            Column::Row(column) => values.atom(self.found.row(place)[*column]),
            Column::Constant(value) => value.clone(),
        };
        let bound = variables.iter().cloned().zip(self.variables.iter().map(atom));
        (bound.collect(), atom(&self.result))
    }

    /// What a variable of the call is in an answer, and its result, which comes after the variables.
    pub(crate) fn value(&self, place: usize, column: usize) -> RowValue {
        match self.variables.get(column).unwrap_or(&self.result) {
            Column::Constant(value) => RowValue::Atom(value.clone()),
            Column::Row(column) => {
                let (values, number) = (self.values.borrow(), self.found.row(place)[*column]);
                match values.term(number) {
                    space::NO_TERM => RowValue::Atom(values.atom(number)),
                    term => RowValue::Term(term),
                }
            }
        }
    }
}
