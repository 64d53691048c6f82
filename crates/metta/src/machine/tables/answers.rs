//! Answers of tables as results of the frame at hand, and results as answers.

use super::super::choices::{Choice, ChoiceKind, Destination, TableRows};
use super::super::code::{ESCAPE, HEADER, HOLE};
use super::super::collected::CollectedResults;
use super::super::values::{Scope, Values};
use super::super::{Halt, Reason, Running};
use super::Caller;
use crate::datalog::{RowAnswers, RowValue};
use crate::tables::{Answer, Answers, PARTS_MAX, RESULTS_MAX};
use region::Ref;
use space::{Atom, VariableSource};
use std::rc::Rc;

impl Running<'_> {
    /// The answers of a table are the results of the frame at hand.
    pub(super) fn give_answers(&mut self, answers: Answers, caller: &Caller) -> Result<(), Halt> {
        let answers = match answers {
            Answers::Found(answers) => answers,
            Answers::Rows(rows) => return self.give_rows(rows, caller.cells.clone()),
        };
        let mut scope = caller.scope();
        let mut results = CollectedResults::with_capacity(answers.len());
        for answer in &*answers {
            let (solution, atom) = answer.given(&caller.variables, self.session.program.variables());
            results.push(self.load_result(solution, &atom, &mut scope)?);
        }
        self.deliver_all(results, Destination::Frame)
    }

    /// Answers that are rows are the results of the frame at hand, one after the other.
    fn give_rows(&mut self, answers: Rc<RowAnswers>, cells: Vec<Ref>) -> Result<(), Halt> {
        let has_hole = Ref::from_bits(self.m.frames.stack[self.m.frames.base + HOLE]).is_expression();
        if answers.len() == 0 || (!has_hole && self.m.count_all_of_frame(answers.len())) {
            return self.fail();
        }
        let base = self.m.frames.base;
        let rows = TableRows { answers, next: 0, cells };
        self.m.push_choice(base, base + HEADER, ChoiceKind::TableRows(Box::new(rows)));
        self.next_table_row()
    }

    /// The next answer for the choice on top, whose answers are rows.
    pub(in crate::machine) fn next_table_row(&mut self) -> Result<(), Halt> {
        self.count_step()?;
        let Some(Choice { kind: ChoiceKind::TableRows(rows), .. }) = self.m.choices.stack.last_mut() else {
            unreachable!("the choice on top has answers that are rows")
        };
        let (answers, place, cells) = (Rc::clone(&rows.answers), rows.next, std::mem::take(&mut rows.cells));
        rows.next += 1;
        if rows.next == answers.len() {
            self.m.pop_choice();
        }
        for (column, &cell) in cells.iter().enumerate() {
            let value = row_value(answers.value(place, column), &mut self.m.values)?;
            self.m.bind_again(cell, value);
        }
        let result = row_value(answers.value(place, cells.len()), &mut self.m.values)?;
        (self.m.frames.acc, self.m.frames.pc) = (result, ESCAPE);
        if place + 1 < answers.len()
            && let Some(Choice { kind: ChoiceKind::TableRows(rows), .. }) = self.m.choices.stack.last_mut()
        {
            rows.cells = cells;
        }
        Ok(())
    }

    /// A result of the tabled call that is being evaluated becomes an answer.
    pub(super) fn add_answer(&mut self, value: Ref) -> Result<(), Halt> {
        let cells = &self.m.choices.fillings.caller().expect("a tabled call is being evaluated").cells;
        let answer = answer_of(value, cells, &mut self.m.values, self.session.program.variables())?;
        self.session.add_answer(answer).map_err(|limit| Halt::from(Reason::Limit(limit)))
    }
}

/// A result of a call, and what the variables of the call are with it.
fn answer_of(value: Ref, cells: &[Ref], values: &mut Values, source: &mut VariableSource) -> Result<Answer, Halt> {
    let mut scope = Scope::default();
    let bound: Result<Vec<Atom>, Halt> = cells.iter().map(|&cell| values.store(cell, &mut scope, source)).collect();
    let bound = bound?.into();
    Ok(Answer::new(values.store(value, &mut scope, source)?, bound))
}

/// All results of a call without variables, if they are ground and it may be that they have few parts as atoms.
pub(super) fn few_answers(
    results: &[Ref],
    values: &mut Values,
    source: &mut VariableSource,
) -> Result<Option<Vec<Answer>>, Halt> {
    if results.len() > RESULTS_MAX || !are_small_and_ground(results, values) {
        return Ok(None);
    }
    let mut answers = Vec::with_capacity(results.len());
    results.iter().try_for_each(|&value| {
        answers.push(answer_of(value, &[], values, source)?);
        Ok::<(), Halt>(())
    })?;
    Ok(Some(answers))
}

/// Whether results have no variables in them, and few parts; no more parts than that are looked at.
fn are_small_and_ground(results: &[Ref], values: &Values) -> bool {
    let (mut level, mut work, mut left) = (results, Vec::new(), PARTS_MAX);
    loop {
        let walked = level.iter().map(|&value| values.heap.walk(value));
        if level.len() > left || walked.clone().any(Ref::is_variable) {
            return false;
        }
        left -= level.len();
        work.extend(walked.filter(|value| value.is_expression()));
        let Some(expression) = work.pop() else { return true };
        level = values.heap.children(expression);
    }
}

/// A value of an answer that is a row.
fn row_value(value: RowValue, values: &mut Values) -> Result<Ref, Halt> {
    Ok(match value {
        RowValue::Term(term) => values.load_term(term)?,
        RowValue::Atom(atom) => values.load(&atom, &mut Scope::default())?,
    })
}
