//! Calls that are remembered, whatever the policy is: see [`crate::tables`].
//!
//! 1. The code of a function whose calls are remembered is entered through here. It is asked what is known of the call.
//! 2. The answers of a call that is complete are its results.
//! 3. If its table is not complete, but something above the call that fills it asks for all results, the form ends with an error.
//!    Otherwise, if no choices were made since the expression of the call began, its frame is left:
//!    the caller goes on with each answer, those included that are found meanwhile.
//! 4. Any other call has a collector of its own, and a second frame above its arguments, in which the code runs. If the program has
//!    tabled it, a result becomes an answer at once, and only errors are collected; if the table says so, the code runs again. Else all results are
//!    collected: they are kept if they are small, ground and without errors.
//! 5. The answers are the results of the first frame.
//!
//! [`tabling::Tabling`] is what is needed to ask a table, to make the frame of a call and to end it (`tabling`, `rounds`, `answers`); it evaluates nothing.
//! What a call comes to by its table ([`Answered`]) is gone on with by the machine. `entry` says which functions are entered through here.

mod answers;
mod entry;
mod filling;
mod leaf_key;
mod rounds;
mod tabling;
mod tree_recursion;

pub(super) use filling::{Caller, FilledCall, Fillings};
pub(super) use tabling::Answered;

use tabling::Known;

use super::code::{CHANGED, HOLE, Kind};
use super::control::choices::{ChoiceKind, Followed};
use super::{Halt, Running};
use crate::tables::{Answers, Policy};
use region::Ref;

impl Running<'_> {
    /// Enters a function whose calls are remembered, its frame made.
    pub(super) fn enter_tabled(&mut self, function: u32, policy: Policy) -> Result<(), Halt> {
        let known = match policy {
            Policy::Declared => self.tabling().ask_declared(function)?,
            Policy::Automatic => self.tabling().ask_automatic(function),
        };
        match known {
            Known::Complete(answers, caller) => self.give_answers(answers, &caller),
            Known::Growing(table, caller) => self.follow(table, caller),
            Known::Nothing(filling) => {
                self.m.frames.stack_max += filling.words();
                let place = self.m.choices.fillings.open(filling);
                self.tabling().begin_second_frame(FilledCall { function, policy, place })?;
                self.enter_body(function)
            }
            Known::NotKept => self.enter_body(function),
            Known::GivenUp => {
                self.m.code.give_up(function);
                self.enter_body(function)
            }
        }
    }

    /// Goes on with the code of a function in the frame at hand.
    fn enter_body(&mut self, function: u32) -> Result<(), Halt> {
        if self.m.code.functions[function as usize].version != self.m.code.version {
            self.compile(function)?;
        }
        let found = &self.m.code.functions[function as usize];
        let (kind, slots) = (found.kind, found.slots);
        self.m.frames.ensure(slots)?;
        match if matches!(kind, Kind::Tabled(_)) { self.m.code.tabled[&function].body } else { kind } {
            Kind::Rule(pc) => {
                self.m.frames.pc = pc;
                Ok(())
            }
            Kind::Group(group) => self.enter_group(group),
            Kind::Exclusive(exclusive) => self.enter_exclusive(exclusive),
            Kind::Indexed(index) => self.enter_indexed(function, index),
            Kind::Constructor => self.give_unreduced(function, CHANGED),
            Kind::Stale | Kind::Interpreted | Kind::Tabled(_) | Kind::Guarded(_) => {
                self.interpret_call(function, CHANGED)
            }
        }
    }

    /// Goes on with the answers of a table that is not complete.
    fn follow(&mut self, table: usize, caller: Caller) -> Result<(), Halt> {
        let base = self.m.frames.base;
        let (return_point, below, level) =
            (self.m.frames.stack[base], self.m.frames.stack[base + 1] as usize, self.m.frames.stack[base + 2]);
        let has_hole = Ref::from_bits(self.m.frames.stack[base + HOLE]).is_expression();
        if level != self.m.choices.stack.len() as u32 || has_hole {
            let answers = self.session.answers_so_far(table);
            return self.give_answers(answers, &caller);
        }
        self.m.frames.base = below;
        let top = self.m.frames.end_at(&self.m.code, below, return_point);
        let followed = Followed { table, next: 0, caller, return_point };
        self.m.choices.push(&mut self.m.frames, &self.m.values, (below, top), ChoiceKind::Answers(Box::new(followed)));
        self.fail()
    }

    /// Runs the code of a tabled call again, whose frame is laid out.
    pub(super) fn enter_again(&mut self) -> Result<(), Halt> {
        let function = self.m.frames.acc.payload();
        self.m.frames.pc = CHANGED;
        self.count_call(function)?;
        self.enter_body(function)
    }

    /// The answers of a table are the results of the frame at hand.
    fn give_answers(&mut self, answers: Answers, caller: &Caller) -> Result<(), Halt> {
        let answered = self.tabling().results_of_answers(answers, caller)?;
        self.go_on_with(answered)
    }

    /// A result of the call of the frame at hand.
    pub(super) fn found_answer(&mut self, value: Ref) -> Result<(), Halt> {
        self.tabling().add_answer(value)?;
        self.limits().limit_heap();
        self.fail()
    }
}
