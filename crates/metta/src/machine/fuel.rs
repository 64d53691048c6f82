//! Limits of an evaluation by the machine, at next to no cost for each call.
//!
//! 1. Calls and expressions without code are steps. Each takes one from the *fuel*; limits are looked at when it is used up.
//! 2. Fuel is given so that this happens before the step that is not allowed any more, where the interrupt flag is to be
//!    read, and where a replay is to be cancelled.
//! 3. What is handed to the interpreter has the steps that are left.

use super::{Halt, Reason, Running, WORDS_PER_FRAME};
use crate::effects::Effects;
use crate::interpreter::{self, Task, TaskOutcome};
use crate::limits::LimitReached;

/// Where garbage is to be collected, which a call does: after how many steps it is asked again whether there is a call. The next one may
/// be a step away, again and again: no other number divides this one, so it is met.
const STEPS_TO_CALL: u32 = 13;

impl Running<'_> {
    /// Looks at the limits, on entering a function.
    #[cold]
    pub(super) fn look(&mut self, function: u32) -> Result<(), Halt> {
        self.profile_call(function);
        let count = usize::from(self.m.code.functions[function as usize].arguments);
        self.look_at_limits().inspect_err(|_| self.m.counters.calls -= 1)?;
        if self.m.code.is_overgrown() || self.evaluator.collect_from.get() == Some(0) {
            self.forget_code(function);
        }
        if self.m.is_crowded() {
            self.m.check_holes()?;
            self.collect_garbage(count)?;
        }
        self.look_at_memory().inspect_err(|_| self.m.counters.calls -= 1)
    }

    /// Counts a step that is no call.
    pub(super) fn count_step(&mut self) -> Result<(), Halt> {
        self.m.counters.steps += 1;
        self.m.counters.fuel -= 1;
        if self.m.counters.fuel == 0 { self.look_without_call() } else { Ok(()) }
    }

    /// Looks at the limits, where nothing is laid out for a collection of garbage.
    #[cold]
    pub(super) fn look_without_call(&mut self) -> Result<(), Halt> {
        self.look_at_limits().inspect_err(|_| self.m.counters.steps -= 1)?;
        if self.m.is_crowded() {
            self.look_within(STEPS_TO_CALL);
        }
        self.look_at_memory().inspect_err(|_| self.m.counters.steps -= 1)
    }

    fn look_at_limits(&mut self) -> Result<(), Halt> {
        self.m.counters.depth_max = (self.m.frames.base / WORDS_PER_FRAME).max(self.m.counters.depth_max);
        let reached = self.watch.advance(u64::from(self.m.counters.fuel_given), &mut self.session.form_steps);
        self.give_fuel();
        reached.map_or(Ok(()), |limit| Err(Reason::Limit(limit).into()))
    }

    /// Lets limits be looked at within `steps` steps.
    pub(super) fn look_within(&mut self, steps: u32) {
        self.settle_fuel();
        self.m.counters.fuel = self.m.counters.fuel.min(steps);
        self.m.counters.fuel_given = self.m.counters.fuel;
    }

    pub(super) fn give_fuel(&mut self) {
        let fuel = match self.evaluator.collect_from.get() {
            None if self.session.profile.is_none() => self.watch.steps_until_look(&self.session.form_steps),
            _ => 1,
        };
        (self.m.counters.fuel, self.m.counters.fuel_given) = (fuel, fuel);
    }

    /// Counts the steps that were taken since fuel was given.
    pub(super) fn settle_fuel(&mut self) {
        let taken = u64::from(self.m.counters.fuel_given - self.m.counters.fuel);
        self.m.counters.fuel_given = self.m.counters.fuel;
        self.watch.count(taken);
        self.session.form_steps.add(taken);
    }

    /// Counts a change that is no call of a native function, unless the recorded run did not come to it.
    #[inline]
    pub(super) fn act(&mut self) -> Result<(), Halt> {
        self.must_gather()?;
        if self.session.form_steps.halted().is_some() {
            self.settle_fuel();
        }
        match self.session.form_steps.act(Effects::CHANGES) {
            Some(limit) => Err(Reason::Limit(limit).into()),
            None => Ok(()),
        }
    }

    /// Lets the interpreter do a part of the evaluation.
    ///
    /// # Errors
    /// Nobody knows which effects that has, and results are not gathered.
    pub(super) fn hand_over(&mut self, task: Task, most: Option<usize>) -> Result<TaskOutcome, Halt> {
        self.must_gather()?;
        self.settle_fuel();
        self.evaluator.interpreted.borrow_mut().note(&task);
        if let Some(profile) = &mut self.session.profile {
            profile.enter_native("interpreted");
        }
        let is_in_table = self.session.tables.depth() > 0;
        let floor = if is_in_table { self.asks_all_above() } else { 0 };
        let own = self.session.tables.set_floor(floor);
        let mut found = interpreter::solve(self.session, &self.space, (task, most), self.watch.steps_left());
        self.session.tables.set_floor(own);
        self.watch.count(found.steps);
        if let (Some(LimitReached::Steps(_)), Some(most)) = (found.limit, self.session.limits.steps_max) {
            found.limit = Some(LimitReached::Steps(most));
        }
        let fuel = self.watch.steps_until_look(&self.session.form_steps).min(self.m.counters.fuel);
        (self.m.counters.fuel, self.m.counters.fuel_given) = (fuel, fuel);
        Ok(found)
    }
}
