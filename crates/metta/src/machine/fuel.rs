//! Limits of an evaluation by the machine, at next to no cost for each call.
//!
//! 1. Calls and expressions without code are steps. Each takes one from the *fuel*; limits are looked at when it is used up.
//! 2. Fuel is given so that this happens before the step that is not allowed any more, where the interrupt flag is to be
//!    read, and where a replay is to be cancelled.
//! 3. What is handed to the interpreter (`handover.rs`) has the steps that are left.

use super::memory::forget::STEPS_TO_NEXT;
use super::memory::garbage::Collection;
use super::memory::limits::Limits;
use super::profiling::profile_call;
use super::{Halt, Machine, Reason, Running};
use crate::effects::Effects;
use region::Ref;

impl Running<'_> {
    /// Looks at the limits, on entering a function.
    #[cold]
    pub(super) fn look(&mut self, function: u32) -> Result<(), Halt> {
        profile_call(self.session, &self.m.code, &self.m.frames, &self.m.values, function);
        let count = usize::from(self.m.code.functions[function as usize].arguments);
        self.limits().look_at_limits().inspect_err(|_| self.m.counters.calls -= 1)?;
        if self.m.code.is_overgrown() || self.evaluator.collect_from.get() == Some(0) {
            let m = &mut self.m;
            if m.code.forget(&mut m.frames, &mut m.choices, function) {
                self.limits().look_within(STEPS_TO_NEXT);
            }
        }
        if self.m.counters.is_crowded(&self.m.values) {
            self.m.frames.check_holes(&self.m.values.heap)?;
            self.collect_garbage(count)?;
        }
        self.limits().look_at_memory().inspect_err(|_| self.m.counters.calls -= 1)
    }

    /// Counts a call whose frame is made; limits are looked at from time to time.
    #[inline(always)]
    pub(super) fn count_call(&mut self, function: u32) -> Result<(), Halt> {
        self.m.counters.calls += 1;
        self.m.counters.fuel -= 1;
        if self.m.counters.fuel == 0 { self.look(function) } else { Ok(()) }
    }

    /// Counts a step that is no call.
    pub(super) fn count_step(&mut self) -> Result<(), Halt> {
        self.m.counters.steps += 1;
        self.m.counters.fuel -= 1;
        if self.m.counters.fuel == 0 { self.limits().look_without_call() } else { Ok(()) }
    }

    /// Counts a change that is no call of a native function, unless the recorded run did not come to it.
    #[inline]
    pub(super) fn act(&mut self) -> Result<(), Halt> {
        self.m.choices.must_gather()?;
        if self.session.form_steps.halted().is_some() {
            self.limits().settle_fuel();
        }
        match self.session.form_steps.act(Effects::CHANGES) {
            Some(limit) => Err(Reason::Limit(limit).into()),
            None => Ok(()),
        }
    }

    /// Moves all that is held to a fresh region; the frame at hand holds this many arguments.
    fn collect_garbage(&mut self, arguments: usize) -> Result<(), Halt> {
        let Machine { code, choices, counters, frames, values, .. } = &mut self.m;
        let (watch, collect_from) = (&mut self.watch, self.evaluator.collect_from.get());
        let limits = Limits { counters, frames, values, watch, session: self.session, collect_from };
        Collection { limits, choices, code, results: &mut self.results }.run(arguments)
    }

    /// Collects garbage where the frame at hand gives a result, which survives.
    #[cold]
    pub(super) fn collect_at_return(&mut self, value: Ref) -> Result<Ref, Halt> {
        self.results.push(value);
        self.collect_garbage(0)?;
        Ok(self.results.pop().expect("it survives"))
    }
}
