//! Going on with answers that are rows.

use crate::machine::code::HEADER;
use crate::machine::control::choices::{Choice, ChoiceKind, Choices};
use crate::machine::control::frames::Frames;
use crate::machine::{Halt, Machine};
use region::Ref;
use space::Term;

impl Machine {
    /// Goes on with the next answer of the choice on top.
    pub(in crate::machine) fn next_row(&mut self) -> Result<(), Halt> {
        let last = self.choices.stack.last_mut().expect("there is a choice");
        let ChoiceKind::Rows(rows) = &mut last.kind else { unreachable!("it is a choice of rows") };
        // It is lent out while its answer is put where it belongs.
        let mut rows = std::mem::take(&mut **rows);
        let answer = rows.answers.advance().expect("a choice has an answer that is left");
        self.take_answer(rows.query, answer, &rows.outer, rows.return_point)?;
        if rows.answers.is_over() {
            self.choices.pop(&mut self.frames);
        } else if let Some(Choice { kind: ChoiceKind::Rows(place), .. }) = self.choices.stack.last_mut() {
            **place = rows;
        }
        Ok(())
    }

    /// Goes on at a return point with an answer: new variables are slots, those from outside are bound.
    pub(super) fn take_answer(
        &mut self,
        query: u32,
        answer: &[Term],
        outer: &[Ref],
        return_point: u32,
    ) -> Result<(), Halt> {
        let Self { values, code, frames: Frames { stack, base, pc, .. }, choices: Choices { bindings, .. }, .. } = self;
        values.open_data.forget();
        let fresh = &code.queries[query as usize].fresh;
        for (&(slot, _), &term) in fresh.iter().zip(answer) {
            stack[*base + HEADER + usize::from(slot)] = values.load_term(term)?.bits();
        }
        for (&variable, &term) in outer.iter().zip(answer.iter().skip(fresh.len())) {
            let value = values.load_term(term)?;
            bindings.trail.push(variable);
            values.heap.bind(variable, value);
        }
        *pc = code.return_points[return_point as usize].pc;
        Ok(())
    }
}
