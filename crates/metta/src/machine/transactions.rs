//! `transaction`: its goal is evaluated in all ways, and then what was changed stays or is undone.
//!
//! 1. The transaction is opened, and the results of the goal are collected.
//! 2. With an error among them, everything is undone; a result then holds symbols for what was made inside.
//! 3. The evaluation goes on with each result and what it has bound; none is evaluated again.

use super::code::Slot;
use super::control::choices::CollectorPurpose;
use super::control::collected::CollectedResults;
use super::values::{Scope, Values};
use super::words::raw;
use super::{Halt, Running};
use crate::session::Session;
use region::Ref;

impl Running<'_> {
    pub(super) fn transact(&mut self, slot: Slot, return_point: u32) -> Result<(), Halt> {
        self.m.choices.must_gather()?;
        let level = raw(self.m.choices.stack.len());
        self.m.frames.set_slot(slot, level);
        let depth = self.session.open_transaction();
        self.m.choices.begin_collecting(
            &mut self.m.frames,
            &self.m.values,
            &self.m.code,
            (CollectorPurpose::Transaction(depth), return_point),
        );
        Ok(())
    }

    /// All results are there: what the transaction changed stays or is undone. Gives the results that are left.
    pub(super) fn close_transaction(
        &mut self,
        depth: usize,
        results: CollectedResults,
    ) -> Result<CollectedResults, Halt> {
        let keeps = !results.values().iter().any(|&value| self.m.values.is_error(value));
        self.session.close_transaction(depth, keeps);
        self.refresh();
        let mut left = results;
        if !keeps {
            for value in left.values_from(0) {
                *value = without_undone(&mut self.m.values, self.session, *value)?;
            }
        }
        Ok(left)
    }
}

/// A value with symbols for what an undone transaction made.
fn without_undone(values: &mut Values, session: &mut Session, value: Ref) -> Result<Ref, Halt> {
    let mut scope = Scope::default();
    let atom = values.store(value, &mut scope, session.program.variables())?;
    let left = session.program.without_undone(&atom);
    if left == atom { Ok(value) } else { Ok(values.load(&left, &mut scope)?) }
}
