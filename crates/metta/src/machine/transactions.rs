//! `transaction`: its goal is evaluated in all ways, and then what was changed stays or is undone.
//!
//! 1. The transaction is opened, and the results of the goal are collected.
//! 2. With an error among them, everything is undone; a result then holds symbols for what was made inside.
//! 3. The evaluation goes on with each result and what it has bound; none is evaluated again.

use super::choices::{CollectorPurpose, Destination};
use super::code::Slot;
use super::collected::CollectedResults;
use super::values::Scope;
use super::words::raw;
use super::{Halt, Running};
use region::Ref;

impl Running<'_> {
    pub(super) fn transact(&mut self, slot: Slot, return_point: u32) -> Result<(), Halt> {
        self.must_gather()?;
        let level = raw(self.m.choices.stack.len());
        self.m.set_slot(slot, level);
        let depth = self.session.open_transaction();
        self.begin_collecting(CollectorPurpose::Transaction(depth), return_point)
    }

    /// All results are there; says whether the evaluation goes on from here.
    pub(super) fn close_transaction(
        &mut self,
        depth: usize,
        results: CollectedResults,
        return_point: u32,
    ) -> Result<bool, Halt> {
        let keeps = !results.values().iter().any(|&value| self.m.is_error(value));
        self.session.close_transaction(depth, keeps);
        self.refresh();
        let mut left = results;
        if !keeps {
            for value in left.values_from(0) {
                *value = self.without_undone(*value)?;
            }
        }
        if left.is_empty() {
            return Ok(false);
        }
        self.deliver_all(left, Destination::Slot(return_point))?;
        Ok(true)
    }

    /// A value with symbols for what an undone transaction made.
    fn without_undone(&mut self, value: Ref) -> Result<Ref, Halt> {
        let mut scope = Scope::default();
        let atom = self.m.values.store(value, &mut scope, self.session.program.variables())?;
        let left = self.session.program.without_undone(&atom);
        if left == atom { Ok(value) } else { Ok(self.m.values.load(&left, &mut scope)?) }
    }
}
