//! Answers of tables as results of the frame at hand, and results as answers.

use super::Caller;
use super::tabling::{Answered, Tabling};
use crate::datalog::{RowAnswers, RowValue};
use crate::machine::code::{ESCAPE, HEADER, HOLE};
use crate::machine::control::choices::{Choice, ChoiceKind, TableRows};
use crate::machine::control::collected::CollectedResults;
use crate::machine::values::{Scope, Values};
use crate::machine::{Halt, Reason};
use crate::tables::{Answer, Answers, PARTS_MAX, RESULTS_MAX};
use region::Ref;
use space::{Atom, VariableSource};
use std::rc::Rc;

impl Tabling<'_> {
    /// The answers of a table, as the results of the frame at hand.
    pub(super) fn results_of_answers(&mut self, answers: Answers, caller: &Caller) -> Result<Answered, Halt> {
        let answers = match answers {
            Answers::Found(answers) => answers,
            Answers::Rows(rows) => return Ok(self.rows(rows, caller.cells.clone())),
        };
        let mut scope = caller.scope();
        let mut results = CollectedResults::with_capacity(answers.len());
        for answer in &*answers {
            let (solution, atom) = answer.given(&caller.variables, self.session.program.variables());
            results.push(self.values.load_result(solution, &atom, &mut scope)?);
        }
        Ok(Answered::Results(results))
    }

    /// Answers that are rows are the results of the frame at hand, one after the other.
    fn rows(&mut self, answers: Rc<RowAnswers>, cells: Vec<Ref>) -> Answered {
        let has_hole = Ref::from_bits(self.frames.stack[self.frames.base + HOLE]).is_expression();
        if answers.len() == 0 || (!has_hole && self.choices.count_all_of_frame(self.frames, self.code, answers.len())) {
            return Answered::Results(CollectedResults::default());
        }
        let base = self.frames.base;
        let rows = TableRows { answers, next: 0, cells };
        self.choices.push(self.frames, self.values, (base, base + HEADER), ChoiceKind::TableRows(Box::new(rows)));
        Answered::Rows
    }

    /// The next answer for the choice on top, whose answers are rows.
    #[inline(never)]
    pub(in crate::machine) fn next_row(&mut self) -> Result<(), Halt> {
        let Some(Choice { kind: ChoiceKind::TableRows(rows), .. }) = self.choices.stack.last_mut() else {
            unreachable!("the choice on top has answers that are rows")
        };
        let (answers, place, cells) = (Rc::clone(&rows.answers), rows.next, std::mem::take(&mut rows.cells));
        rows.next += 1;
        if rows.next == answers.len() {
            self.choices.pop(self.frames);
        }
        for (column, &cell) in cells.iter().enumerate() {
            let value = row_value(answers.value(place, column), self.values)?;
            self.choices.bindings.bind_again(self.values, cell, value);
        }
        let result = row_value(answers.value(place, cells.len()), self.values)?;
        (self.frames.acc, self.frames.pc) = (result, ESCAPE);
        if place + 1 < answers.len()
            && let Some(Choice { kind: ChoiceKind::TableRows(rows), .. }) = self.choices.stack.last_mut()
        {
            rows.cells = cells;
        }
        Ok(())
    }

    /// A result of the tabled call that is being evaluated becomes an answer.
    pub(super) fn add_answer(&mut self, value: Ref) -> Result<(), Halt> {
        let cells = &self.choices.fillings.caller().expect("a tabled call is being evaluated").cells;
        let answer = answer_of(value, cells, self.values, self.session.program.variables())?;
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
