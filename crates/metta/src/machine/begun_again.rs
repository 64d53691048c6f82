//! Calls that are begun again as the specification has it, since what the machine took for said of their types was not.
//!
//! 1. The frame of a typed call whose types are not declared keeps how many variables were bound before it ([`Restart`]), and with how many
//!    results of all arguments it has gone on. The interpreter evaluates the call from its beginning and leaves out that many.
//! 2. A call whose arguments had effects is not begun again: if it is known that they have some, the interpreter evaluates the call at once
//!    (`types/effects_named.rs`), else it is an error if types do not agree. Effects count from the begin of an argument to its first result.
//! 3. A call whose arguments have several results goes on in copies of its frame. What is written to such a word of a copy is written to the
//!    frame that it was copied from as well, where the next result is taken up.
//! 4. Where results hid an error about types, that may be one only because something was taken for said: then the call is begun again.

use super::code::TypeId;
use super::control::choices::{Choice, ChoiceKind, Choices, Destination};
use super::control::frames::Frames;
use super::restart::{NOT_AWAITED, effects_slot, hidden_slot, passed_slot, type_slot};
use super::tuple_frame::{EXPRESSION, HELD};
use super::words::raw;
use super::{Halt, Running};
use crate::interpreter::Task;
use crate::session::Session;
use region::Ref;

impl Choices {
    /// The choices that are left of arguments of the call at hand, the last one first. Frames that were there before the call lie below
    /// it, and what goes on in its own or in others above does so for its arguments.
    fn choices_of_arguments(&self, frames: &Frames, length: usize) -> impl Iterator<Item = &Choice> {
        let first = frames.originals(length).last().unwrap_or(frames.base);
        self.stack.iter().rev().take_while(move |choice| choice.frame_base >= first)
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
            false => frames.set_slot_of_all(length, HELD, restart.with_bound(None).word()),
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
    /// Evaluates a call as it was before its arguments bound anything, step by step as the specification has it; says whether it can.
    ///
    /// What it comes to by results that the machine has gone on with is left out, and the results that are left are not gone through. If an
    /// argument has had effects it cannot be evaluated again.
    pub(super) fn is_begun_again(&mut self, length: usize) -> Result<bool, Halt> {
        // Choices that are left may be of alternatives that come to nothing.
        self.m.choices.must_gather()?;
        let Some(bound) = self.m.frames.restart().bound() else { return Ok(false) };
        let Some(level) = self.m.choices.level_of_arguments(&self.m.frames, length) else { return Ok(false) };
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
        if effects != effects_so_far(self.session) {
            self.m.frames.set_slot_of_all(length, HELD, restart.with_effects().word());
        }
        self.m.frames.set_slot_of_all(length, effects_slot(length), raw(NOT_AWAITED));
        Ok(self.m.frames.slot(hidden_slot(length)) != hidden_so_far(self.session) && self.is_begun_again(length)?)
    }
}

/// How many effects the form has had so far, as a word of a slot.
fn effects_so_far(session: &Session) -> Ref {
    raw(session.form_steps.effects() as usize % NOT_AWAITED)
}

/// How often results have hidden errors about types so far, as a word of a slot.
fn hidden_so_far(session: &Session) -> Ref {
    raw(session.form_steps.hidden_type_errors() as usize % NOT_AWAITED)
}
