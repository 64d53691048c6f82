//! Calls that are begun again as the specification has it, since what the machine took for said of their types was not.
//!
//! 1. The frame of a typed call whose types are not declared keeps how many variables were bound before it ([`Restart`]), and with how many
//!    results of all arguments it has gone on. The interpreter evaluates the call from its beginning and leaves out that many.
//! 2. A call whose arguments had effects is not begun again: if it is known that they have some, the interpreter evaluates the call at once
//!    (`types/effects_named.rs`), else what would begin it again is an error. Effects count from the begin of an argument to its first result.
//! 3. A call whose arguments have several results goes on in copies of its frame. What is written to such a word of a copy is written to the
//!    frame that it was copied from as well, where the next result is taken up.
//! 4. Where results hid an error about types, that may be one only because something was taken for said: then the call is begun again.

use super::code::{ANSWER, TypeId};
use super::control::choices::{Choice, ChoiceKind, Choices, Destination};
use super::control::frames::Frames;
use super::restart::{NOT_AWAITED, effects_slot, hidden_slot, passed_slot, type_slot};
use super::tuple_frame::{EXPRESSION, HELD};
use super::values::Scope;
use super::words::{ERROR, raw};
use super::{Halt, Machine, Running};
use crate::interpreter::Task;
use crate::names::UNTOLD;
use crate::session::Session;
use region::{Full, Ref};
use space::Atom;

impl Choices {
    /// The choices that are left of arguments of the call at hand, the last one first. Frames that were there before the call lie below
    /// it, and what goes on in its own or in others above does so for its arguments; but the answers of a form may be gathered from the place
    /// where its outermost call lies.
    fn choices_of_arguments(&self, frames: &Frames, length: usize) -> impl Iterator<Item = &Choice> {
        let first = frames.originals(length).last().unwrap_or(frames.base);
        let gathers_answers = |choice: &Choice| match &choice.kind {
            ChoiceKind::Collector(collector) => collector.return_point == ANSWER,
            _ => false,
        };
        self.stack.iter().rev().take_while(move |choice| choice.frame_base >= first && !gathers_answers(choice))
    }

    /// The call goes on with results of all arguments, or with an error of one: if it is begun again, it is behind these.
    pub(super) fn note_passed(&self, frames: &mut Frames, length: usize) {
        let restart = frames.restart();
        if restart.bound().is_none() || self.choices_of_arguments(frames, length).next().is_none() {
            return;
        }
        let passed = frames.slot(passed_slot(length)).payload();
        match passed < Ref::PAYLOAD_MAX {
            true => frames.set_slot_of_all(length, passed_slot(length), raw(passed as usize + 1)),
            false => frames.set_slot_of_all(length, HELD, restart.too_late().word()),
        }
    }

    /// From which level on there are only those, if nothing else waits for them.
    fn level_of_arguments(&self, frames: &Frames, length: usize) -> Option<usize> {
        let level = self.stack.len() - self.choices_of_arguments(frames, length).count();
        let is_waited_for = |choice: &Choice| matches!(choice.kind, ChoiceKind::Collector(_) | ChoiceKind::Answers(_));
        (!self.stack[level..].iter().any(is_waited_for)).then_some(level)
    }
}

impl Running<'_> {
    /// Evaluates the call at hand as it was before its arguments bound anything, step by step as the specification has it; says whether that is
    /// its result.
    ///
    /// What it comes to by results that the machine has gone on with is left out, and the results that are left are not gone through. If an
    /// argument has had effects it cannot be evaluated again. Then the result is an error if something was taken for said of its types.
    pub(super) fn is_begun_again(&mut self, length: usize) -> Result<bool, Halt> {
        // Choices that are left may be of alternatives that come to nothing.
        self.m.choices.must_gather()?;
        let restart = self.m.frames.restart();
        if restart.is_declared() {
            return Ok(false);
        }
        let bound = restart.bound().filter(|_| !restart.is_too_late());
        let level = self.m.choices.level_of_arguments(&self.m.frames, length);
        let Some((bound, level)) = bound.zip(level) else {
            let call = self.m.frames.slot(EXPRESSION);
            let is_untold = restart.is_open() && self.function_types().is_untold(call)?;
            if is_untold {
                let error = untold(&mut self.m)?;
                self.give(error)?;
            }
            return Ok(is_untold);
        };
        let passed = self.m.frames.slot(passed_slot(length)).payload() as usize;
        self.m.choices.cut(&mut self.m.frames, &mut self.m.code.wrong_assumptions, level);
        self.m.undo_to(bound);
        let (call, type_id) = (self.m.frames.slot(EXPRESSION), self.m.frames.slot(type_slot(length)).payload());
        let type_atom = self.types().type_atom(type_id as TypeId);
        self.interpret(call, Destination::Frame, |atom| Task::Behind { call: atom, type_atom, passed })?;
        Ok(true)
    }

    /// An argument is about to be evaluated.
    pub(super) fn note_evaluation(&mut self, length: usize) {
        if self.m.frames.restart().bound().is_some() {
            let (effects, hidden) = (effects_so_far(self.session), hidden_so_far(self.session));
            self.m.frames.set_slot_of_all(length, effects_slot(length), effects);
            self.m.frames.set_slot(hidden_slot(length), hidden);
        }
    }

    /// A typed call goes on with a result of an argument, or with another one of several; says whether it is begun again instead.
    ///
    /// If there were effects since an argument began to be evaluated, the call is not begun again from then on; what there was since the call
    /// has gone on with an earlier result is none of its own. If results have hidden an error about types, that may be one only because
    /// something was taken for said.
    pub(super) fn note_arrival(&mut self, length: usize) -> Result<bool, Halt> {
        let restart = self.m.frames.restart();
        if restart.bound().is_none() {
            return Ok(false);
        }
        self.m.frames.note_moved(length);
        let effects = self.m.frames.slot(effects_slot(length));
        if effects.payload() as usize == NOT_AWAITED {
            return Ok(false);
        }
        if effects != effects_so_far(self.session) && !restart.is_too_late() {
            self.m.frames.set_slot_of_all(length, HELD, restart.too_late().word());
        }
        self.m.frames.set_slot_of_all(length, effects_slot(length), raw(NOT_AWAITED));
        Ok(self.m.frames.slot(hidden_slot(length)) != hidden_so_far(self.session) && self.is_begun_again(length)?)
    }
}

/// The error of the call at hand, of which it cannot be told whether its types agree.
#[cold]
fn untold(m: &mut Machine) -> Result<Ref, Full> {
    let reason = m.values.load(&Atom::from(UNTOLD), &mut Scope::default())?;
    let call = m.frames.slot(EXPRESSION);
    m.values.heap.expression(&mut m.values.region, &[ERROR, call, reason])
}

/// How many effects the form has had so far, as a word of a slot.
fn effects_so_far(session: &Session) -> Ref {
    raw(session.form_steps.effects() as usize % NOT_AWAITED)
}

/// How often results have hidden errors about types so far, as a word of a slot.
fn hidden_so_far(session: &Session) -> Ref {
    raw(session.form_steps.hidden_type_errors() as usize % NOT_AWAITED)
}
