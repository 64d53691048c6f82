//! Going on with each result when it is found, as Prolog does.
//!
//! All results of an expression are found before the evaluation goes on with the first. This can be seen by three things: effects,
//! which come in another order otherwise; errors, which are dropped if there is another result; and the memory of choices that are left.
//!
//! 1. Where all results are collected, by `collapse` or `count-results`, the machine assumes that there is none of these until they are there.
//!    It *backtracks*: a result is not gathered if its expression has alternatives left. The caller goes on with it, its frame moves above
//!    that of the choice, and the choice stays for later. Nothing is copied, no list of bindings is kept.
//! 2. If the assumption turns out to be wrong, the evaluation goes back to the place where the results began to be collected, and
//!    gathers them. Until then it has read and bound, no more, so nobody can tell.
//! 3. A place where this has happened gathers from then on, often enough that the time lost is small beside the rest.

use super::assumptions::{Backtracking, NOWHERE};
use super::choices::{Choice, ChoiceKind, CollectorPurpose};
use super::code::Instruction;
use super::{Halt, Machine, Reason, Running};
use crate::effects::Effects;
use region::Ref;

/// If more choices are left, their memory is worth the time that gathering takes.
const CHOICES_LEFT_MAX: usize = 1 << 12;

impl Machine {
    /// The collector on top was made by the instruction at hand: what is evaluated for it backtracks, unless that was wrong here before.
    pub(super) fn begin_backtracking(&mut self) {
        let site = self.frames.pc - 1;
        if self.choices.backtracking.level == NOWHERE && self.code.wrong_assumptions.may_assume(site) {
            self.choices.backtracking = Backtracking { level: self.choices.stack.len() - 1, until: NOWHERE, site };
        }
    }

    /// The collector on top wants some results only: what is evaluated for it is gathered.
    pub(super) fn pause_backtracking(&mut self) {
        let place = self.choices.stack.len() - 1;
        if self.is_backtracking() {
            self.choices.backtracking.until = self.choices.backtracking.until.min(place);
        }
    }

    /// Whether the results of an expression that begins at a level are used as they are found.
    #[inline]
    pub(super) fn backtracks_into(&self, level: usize) -> bool {
        level > self.choices.backtracking.level && level <= self.choices.backtracking.until
    }

    /// To be called when choices were taken away: if the collector is among them, its results are all there.
    #[inline]
    pub(super) fn end_backtracking(&mut self) {
        let Backtracking { level, until, site } = self.choices.backtracking;
        if until >= self.choices.stack.len() {
            self.choices.backtracking.until = NOWHERE;
        }
        if level != NOWHERE && level >= self.choices.stack.len() {
            self.choices.backtracking.level = NOWHERE;
            self.code.wrong_assumptions.was_right(site);
        }
    }

    /// Whether results are not gathered now.
    #[inline]
    pub(super) fn is_backtracking(&self) -> bool {
        self.choices.backtracking.level != NOWHERE
    }
}

impl Running<'_> {
    /// To be called before an effect, and before anything else that is right only if results are gathered.
    ///
    /// # Errors
    /// They are not: the evaluation goes back to where they began to be collected.
    #[inline]
    pub(super) fn must_gather(&self) -> Result<(), Halt> {
        if self.m.is_backtracking() { Err(Reason::Gather.into()) } else { Ok(()) }
    }

    /// To be called before a call with these effects: it is right without gathering if it only reads.
    #[inline]
    pub(super) fn must_gather_unless_read(&self, effects: Effects) -> Result<(), Halt> {
        if effects.only_read() { Ok(()) } else { self.must_gather() }
    }

    /// Goes on at a return point of a frame with a result whose expression has alternatives left.
    pub(super) fn resume_backtracking(&mut self, return_point: u32, value: Ref, caller: u32) -> Result<(), Halt> {
        if self.m.choices.stack.len() > self.m.choices.backtracking.level.saturating_add(CHOICES_LEFT_MAX) {
            self.must_gather()?;
        }
        self.m.frames.base = caller as usize;
        self.m.own_at(return_point)?;
        self.resume(return_point, value)
    }

    /// Goes back to where results began to be collected if the machine has halted for that; else it stays halted.
    #[cold]
    pub(super) fn gather_if_asked(&mut self, halt: Halt) -> Result<(), Halt> {
        if !matches!(*halt.0, Reason::Gather) {
            return Err(halt);
        }
        let Backtracking { level, site, .. } = std::mem::take(&mut self.m.choices.backtracking);
        self.m.code.wrong_assumptions.was_wrong(site);
        self.m.choices.stack.truncate(level + 1);
        self.m.frames.stack_max -= self.m.choices.leave_fillings();
        let Some(Choice { top, kind: ChoiceKind::Collector(collector), .. }) = self.m.choices.stack.last_mut() else {
            unreachable!("it is a collector")
        };
        collector.results.clear();
        if let CollectorPurpose::Some { found, .. } = &mut collector.purpose {
            *found = 0;
        }
        (self.m.choices.protected, self.m.choices.floor) = (*top, collector.floor);
        self.m.choices.floor.choices = self.m.choices.floor.choices.min(level);
        self.m.restore()?;
        self.m.frames.pending = None;
        self.m.frames.pc = site + 1;
        let (Instruction::Collect { return_point, .. } | Instruction::CollectSome { return_point, .. }) =
            self.m.code.instructions[site as usize]
        else {
            unreachable!("such an instruction has made the collector")
        };
        self.m.own_at(return_point)?;
        self.m.ensure(usize::from(self.m.return_point(return_point).slots))
    }
}
