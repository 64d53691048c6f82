//! The evaluation of a call whose answers are kept: its frame, each answer that is found, and its end.

use super::answers::few_answers;
use super::filling::{FilledCall, Filling};
use super::tabling::{Answered, Tabling};
use crate::environment::Stop;
use crate::machine::code::{CHANGED, HEADER, NEXT_ROUND, OPEN, Tabled};
use crate::machine::control::choices::{Choice, ChoiceKind, CollectorPurpose, Followed};
use crate::machine::control::collected::{CollectedResult, CollectedResults};
use crate::machine::words::raw;
use crate::machine::{Halt, Reason};
use crate::tables::{Policy, RoundEnd};
use region::Ref;

impl Tabling<'_> {
    /// Lays out a frame for the code of the call of the frame at hand, and a collector for its results.
    pub(super) fn begin_second_frame(&mut self, call: FilledCall) -> Result<(), Halt> {
        let Tabled { return_point, begun, .. } = self.code.tabled[&call.function];
        let count = usize::from(self.code.functions[call.function as usize].arguments);
        let at = usize::from(self.code.return_point(return_point).at);
        self.frames.ensure(at + HEADER + count)?;
        let (base, place) = (self.frames.base, self.frames.base + HEADER + at);
        self.frames.set_slot(begun, raw(self.choices.stack.len()));
        let collector = self.choices.collector(self.values, CollectorPurpose::Table(call), return_point);
        self.choices.push(self.frames, self.values, (base, place), ChoiceKind::Collector(Box::new(collector)));
        self.frames.stack.copy_within(base + HEADER..base + HEADER + count, place + HEADER);
        self.frames.write_header(place, return_point);
        self.frames.stack[place + 2] = match call.policy {
            Policy::Declared => OPEN,
            // As of any call, so that what returns to it is data with a hole where it would be if nothing was remembered.
            Policy::Automatic => {
                self.choices.backtracking.pause(self.choices.stack.len() - 1);
                self.choices.stack.len() as u32
            }
        };
        self.frames.base = place;
        // A call that its table answers with has not come to itself.
        self.frames.pc = CHANGED;
        Ok(())
    }

    /// The code of a call has come to its end, and to these results, or to these errors if the others are answers already.
    pub(in crate::machine) fn end_filling(
        &mut self,
        call: FilledCall,
        results: CollectedResults,
    ) -> Result<Answered, Halt> {
        match call.policy {
            Policy::Declared => self.end_round(call, &results),
            Policy::Automatic => self.end_automatic(call, results),
        }
    }

    fn end_round(&mut self, call: FilledCall, errors: &CollectedResults) -> Result<Answered, Halt> {
        for (place, &value) in errors.values().iter().enumerate() {
            let mark = self.choices.bindings.trail.len();
            self.choices.bind_as(self.values, errors, place);
            self.add_answer(value)?;
            self.choices.bindings.undo_to(self.values, mark);
        }
        match self.session.end_round() {
            RoundEnd::Done(answers) => match self.choices.fillings.close(call.place) {
                (Filling::Declared { caller, .. }, _) => self.results_of_answers(answers, &caller),
                (Filling::Automatic { .. }, _) => unreachable!("the program has tabled it"),
            },
            RoundEnd::NotStratified(error) => Err(Reason::Stop(Stop::NotStratified(error)).into()),
            RoundEnd::Again => {
                self.begin_second_frame(call)?;
                (self.frames.acc, self.frames.pc) = (raw(call.function as usize), NEXT_ROUND);
                Ok(Answered::Again)
            }
        }
    }

    fn end_automatic(&mut self, call: FilledCall, results: CollectedResults) -> Result<Answered, Halt> {
        let (filling, words) = self.choices.fillings.close(call.place);
        self.frames.stack_max -= words;
        let may_be_kept =
            !results.bind_something() && !results.values().iter().any(|&value| self.values.is_error(value));
        if let (Filling::Automatic { call, .. }, true) = (filling, may_be_kept) {
            self.in_form_apart(|tabling| {
                let source = tabling.session.program.variables();
                if let Some(answers) = few_answers(results.values(), tabling.values, source)? {
                    tabling.automatic.complete(call, answers);
                }
                Ok::<(), Halt>(())
            })?;
        }
        Ok(Answered::Results(results))
    }

    /// The next answer for the choice on top, which waits for them, with the return point that it goes on at, if there is one.
    #[inline(never)]
    pub(in crate::machine) fn next_answer(&mut self) -> Result<Option<(u32, Ref)>, Halt> {
        let Some(Choice { kind: ChoiceKind::Answers(followed), .. }) = self.choices.stack.last_mut() else {
            unreachable!("the choice on top waits for answers")
        };
        let Followed { table, next, caller, return_point } = &mut **followed;
        let Some((behind, solution, atom)) = self.session.follow(*table, *next, &caller.variables) else {
            self.choices.pop(self.frames);
            return Ok(None);
        };
        *next = behind;
        let return_point = *return_point;
        let mut scope = caller.scope();
        let CollectedResult { value, bound } = self.values.load_result(solution, &atom, &mut scope)?;
        for (variable, value) in bound {
            self.choices.bindings.bind_again(self.values, variable, value);
        }
        Ok(Some((return_point, value)))
    }

    /// The form has ended: what the machine has remembered by itself is forgotten.
    pub(in crate::machine) fn end_remembering(&mut self) {
        self.in_form_apart(|tabling| {
            tabling.choices.fillings.leave_from(0);
            tabling.automatic.forget();
        });
    }
}
