//! Calls that are begun again as the specification has it, since what the machine took for said of their types was not.
//!
//! 1. The frame of a typed call whose types are not declared keeps how many variables were bound before it ([`Restart`]), and with how many
//!    results of all arguments it has gone on. The interpreter evaluates the call from its beginning and leaves out that many.
//! 2. A call whose arguments had effects is not begun again. Effects count from the begin of an argument to its first result.
//! 3. A call whose arguments have several results goes on in copies of its frame. What is written to such a word of a copy is written to the
//!    frame that it was copied from as well, where the next result is taken up.
//! 4. Where results hid an error about types, that may be one only because something was taken for said: then the call is begun again.

use super::choices::{Choice, ChoiceKind, Destination};
use super::code::{HEADER, Slot, TypeId};
use super::evaluate::{CHILDREN, EXPRESSION, HELD, SHAPE, TYPED, slots_of_typed};
use super::types::KnownTypes;
use super::words::raw;
use super::{Halt, Machine, Running};
use crate::interpreter::Task;
use region::Ref;
use std::iter;

/// In place of how many effects there were when the evaluation of an argument began: none is being evaluated.
const NOT_AWAITED: usize = 1 << 24;

/// What a typed call has to know to be begun again, in one word of its frame: whether what arguments come to may say more of its
/// types, and how many variables were bound before, unless its types are declared or its arguments have had effects.
#[derive(Clone, Copy)]
pub(super) struct Restart(u32);

impl Restart {
    /// For a call of these types whose frame begins at `base`.
    fn new(types: KnownTypes, bound: usize, base: usize) -> Self {
        let fits = base < Ref::PAYLOAD_MAX as usize;
        let bound = (fits && types != KnownTypes::Declared).then_some(bound);
        Self::with(types == KnownTypes::Open, bound)
    }

    fn with(is_open: bool, bound: Option<usize>) -> Self {
        // More do not fit. Such a call is not begun again.
        let bound = bound.filter(|&bound| bound < 1 << 27).map_or(0, |bound| bound as u32 + 1);
        Self(u32::from(is_open) | bound << 1)
    }

    pub(super) fn of(word: Ref) -> Self {
        Self(word.payload())
    }

    pub(super) fn word(self) -> Ref {
        raw(self.0 as usize)
    }

    pub(super) fn is_open(self) -> bool {
        self.0 & 1 == 1
    }

    pub(super) fn with_bound(self, bound: Option<usize>) -> Self {
        Self::with(self.is_open(), bound)
    }

    /// How many variables were bound before the call.
    pub(super) fn bound(self) -> Option<usize> {
        (self.0 >> 1).checked_sub(1).map(|bound| bound as usize)
    }
}

/// The slot of how many effects there were when the evaluation of an argument began.
fn effects_slot(length: usize) -> Slot {
    CHILDREN + length as Slot
}

/// The slot of the type of the whole.
pub(super) fn type_slot(length: usize) -> Slot {
    CHILDREN + 2 * length as Slot
}

/// The slot of how many results of all arguments the call has gone on with.
fn passed_slot(length: usize) -> Slot {
    type_slot(length) + 1
}

/// The slot of where a frame begins: in a copy it is where the original does, until [`Machine::note_moved`] has been called.
fn base_slot(length: usize) -> Slot {
    type_slot(length) + 2
}

/// The slot of where the frame begins that this one was copied from, if results are left there; 0 if there is none, else one more.
fn original_slot(length: usize) -> Slot {
    type_slot(length) + 3
}

/// The slot of how often results had hidden errors about types when the evaluation of an argument began.
fn hidden_slot(length: usize) -> Slot {
    type_slot(length) + 4
}

/// The place of the word that says how the call of a frame is begun again. There is none in a frame whose children are evaluated to no types,
/// nor of a call that cannot be begun again.
pub(super) fn restart_of_frame(stack: &[u32], base: usize) -> Option<usize> {
    let place = |slot: Slot| base + HEADER + usize::from(slot);
    let word = |slot: Slot| Ref::from_bits(stack[place(slot)]);
    let is_typed = (word(SHAPE).payload() >> 16) as usize & TYPED != 0;
    (is_typed && Restart::of(word(HELD)).bound().is_some()).then_some(place(HELD))
}

impl Machine {
    /// Notes what is needed to begin the call of the frame at hand again.
    pub(super) fn note_beginning(&mut self, length: usize, types: KnownTypes) {
        let (bound, base) = (self.choices.trail.len(), self.frames.base);
        let restart = Restart::new(types, bound, base);
        // What an argument has bound is evaluated like any other argument: none is held, so the slot is free for this.
        self.set_slot(HELD, restart.word());
        if restart.bound().is_some() {
            self.set_slot(effects_slot(length), raw(NOT_AWAITED));
            self.set_slot(passed_slot(length), raw(0));
            self.set_slot(base_slot(length), raw(base));
            self.set_slot(original_slot(length), raw(0));
        }
    }

    /// What the frame at hand says of beginning its call again.
    pub(super) fn restart(&self) -> Restart {
        Restart::of(self.slot(HELD))
    }

    /// Writes to a slot of the frame at hand, and of those that it was copied from.
    fn set_slot_of_all(&mut self, length: usize, slot: Slot, word: Ref) {
        self.set_slot(slot, word);
        let originals: Vec<usize> = self.originals(length).collect();
        for original in originals {
            self.frames.stack[original + HEADER + usize::from(slot)] = word.bits();
        }
    }

    /// Where the frames begin that the one at hand was copied from, the last one first.
    fn originals(&self, length: usize) -> impl Iterator<Item = usize> {
        let original_of = move |base: usize| {
            let word = self.frames.stack[base + HEADER + usize::from(original_slot(length))];
            Ref::from_bits(word).payload().checked_sub(1).map(|original| original as usize)
        };
        iter::successors(original_of(self.frames.base), move |&base| original_of(base))
    }

    /// To be called where the frame at hand may have become a copy. What is left of an argument's results goes on in the original, which
    /// is kept where it is for that.
    pub(super) fn note_moved(&mut self, length: usize) {
        let (base, before) = (self.frames.base, self.slot(base_slot(length)).payload() as usize);
        if base == before {
            return;
        }
        let is_kept = before + HEADER + slots_of_typed(length) <= self.choices.protected;
        self.set_slot(original_slot(length), raw(if is_kept { before + 1 } else { 0 }));
        self.set_slot(base_slot(length), raw(base));
    }

    /// The choices that are left of arguments of the call at hand, the last one first. Frames that were there before the call lie below
    /// it, and what goes on in its own or in others above does so for its arguments.
    fn choices_of_arguments(&self, length: usize) -> impl Iterator<Item = &Choice> {
        let first = self.originals(length).last().unwrap_or(self.frames.base);
        self.choices.stack.iter().rev().take_while(move |choice| choice.frame_base >= first)
    }

    /// From which level on there are only those, if nothing else waits for them.
    fn level_of_arguments(&self, length: usize) -> Option<usize> {
        let level = self.choices.stack.len() - self.choices_of_arguments(length).count();
        let is_waited_for = |choice: &Choice| matches!(choice.kind, ChoiceKind::Collector(_) | ChoiceKind::Answers(_));
        (!self.choices.stack[level..].iter().any(is_waited_for)).then_some(level)
    }
}

impl Running<'_> {
    /// How many effects the form has had so far, as a word of a slot.
    fn effects_so_far(&self) -> Ref {
        raw(self.session.form_steps.effects() as usize % NOT_AWAITED)
    }

    /// How often results have hidden errors about types so far, as a word of a slot.
    fn hidden_so_far(&self) -> Ref {
        raw(self.session.form_steps.hidden_type_errors() as usize % NOT_AWAITED)
    }

    /// Evaluates a call as it was before its arguments bound anything, step by step as the specification has it; says whether it can.
    ///
    /// What it comes to by results that the machine has gone on with is left out, and the results that are left are not gone through. If an
    /// argument has had effects it cannot be evaluated again: it is taken for one that no type was said of on the way, as what a `let`
    /// comes to.
    pub(super) fn is_begun_again(&mut self, length: usize) -> Result<bool, Halt> {
        // Choices that are left may be of alternatives that come to nothing.
        self.must_gather()?;
        let Some(bound) = self.m.restart().bound() else { return Ok(false) };
        let Some(level) = self.m.level_of_arguments(length) else { return Ok(false) };
        let passed = self.m.slot(passed_slot(length)).payload() as usize;
        self.m.cut(level);
        self.m.undo_to(bound);
        let (call, type_id) = (self.m.slot(EXPRESSION), self.m.slot(type_slot(length)).payload());
        let type_atom = self.types().type_atom(type_id as TypeId);
        self.interpret(call, Destination::Frame, |atom| Task::Behind { call: atom, type_atom, passed })?;
        Ok(true)
    }

    /// An argument is about to be evaluated.
    pub(super) fn note_evaluation(&mut self, length: usize) {
        if self.m.restart().bound().is_some() {
            let (effects, hidden) = (self.effects_so_far(), self.hidden_so_far());
            self.m.set_slot_of_all(length, effects_slot(length), effects);
            self.m.set_slot(hidden_slot(length), hidden);
        }
    }

    /// A typed call goes on with a result of an argument, or with another one of several; says whether it is begun again instead.
    ///
    /// If there were effects since an argument began to be evaluated, the call is not begun again from then on; what there was since the call
    /// has gone on with an earlier result is none of its own. If results have hidden an error about types, that may be one only because
    /// something was taken for said.
    pub(super) fn note_arrival(&mut self, length: usize) -> Result<bool, Halt> {
        let restart = self.m.restart();
        if restart.bound().is_none() {
            return Ok(false);
        }
        self.m.note_moved(length);
        let effects = self.m.slot(effects_slot(length));
        if effects.payload() as usize == NOT_AWAITED {
            return Ok(false);
        }
        if effects != self.effects_so_far() {
            self.m.set_slot_of_all(length, HELD, restart.with_bound(None).word());
        }
        self.m.set_slot_of_all(length, effects_slot(length), raw(NOT_AWAITED));
        Ok(self.m.slot(hidden_slot(length)) != self.hidden_so_far() && self.is_begun_again(length)?)
    }

    /// The call goes on with results of all arguments, or with an error of one: if it is begun again, it is behind these.
    pub(super) fn note_passed(&mut self, length: usize) {
        let restart = self.m.restart();
        if restart.bound().is_none() || self.m.choices_of_arguments(length).next().is_none() {
            return;
        }
        let passed = self.m.slot(passed_slot(length)).payload();
        match passed < Ref::PAYLOAD_MAX {
            true => self.m.set_slot_of_all(length, passed_slot(length), raw(passed as usize + 1)),
            false => self.m.set_slot_of_all(length, HELD, restart.with_bound(None).word()),
        }
    }
}
