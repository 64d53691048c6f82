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

use super::code::{Code, Instruction};
use super::control::assumptions::Backtracking;
use super::control::choices::{Choice, ChoiceKind, Choices, CollectorPurpose};
use super::control::frames::Frames;
use super::values::Values;
use super::{Halt, Reason};
use crate::effects::Effects;

impl Choices {
    /// To be called before an effect, and before anything else that is right only if results are gathered.
    ///
    /// # Errors
    /// They are not: the evaluation goes back to where they began to be collected.
    #[inline]
    pub(super) fn must_gather(&self) -> Result<(), Halt> {
        if self.backtracking.is_on() { Err(Reason::Gather.into()) } else { Ok(()) }
    }

    /// To be called before a call with these effects: it is right without gathering if it only reads.
    #[inline]
    pub(super) fn must_gather_unless_read(&self, effects: Effects) -> Result<(), Halt> {
        if effects.only_read() { Ok(()) } else { self.must_gather() }
    }

    /// Goes back to where results began to be collected if the machine has halted for that; else it stays halted.
    #[cold]
    pub(super) fn gather_if_asked(
        &mut self,
        frames: &mut Frames,
        values: &mut Values,
        code: &mut Code,
        halt: Halt,
    ) -> Result<(), Halt> {
        if !matches!(*halt.0, Reason::Gather) {
            return Err(halt);
        }
        let Backtracking { level, site, .. } = std::mem::take(&mut self.backtracking);
        code.wrong_assumptions.was_wrong(site);
        self.stack.truncate(level + 1);
        frames.stack_max -= self.leave_fillings();
        let Some(Choice { top, kind: ChoiceKind::Collector(collector), .. }) = self.stack.last_mut() else {
            unreachable!("it is a collector")
        };
        collector.results.clear();
        if let CollectorPurpose::Some { found, .. } = &mut collector.purpose {
            *found = 0;
        }
        (frames.protected, self.floor) = (*top, collector.floor);
        self.floor.choices = self.floor.choices.min(level);
        self.restore(frames, values, code)?;
        frames.pending = None;
        frames.pc = site + 1;
        let (Instruction::Collect { return_point, .. } | Instruction::CollectSome { return_point, .. }) =
            code.instructions[site as usize]
        else {
            unreachable!("such an instruction has made the collector")
        };
        frames.own_at(code, return_point)?;
        frames.ensure(usize::from(code.return_point(return_point).slots))
    }
}
