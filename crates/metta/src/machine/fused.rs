//! A `match` inside the template of a `match`, answered as one query: see `compile/fused.rs`.

use super::code::Slot;
use super::{Halt, Running};

impl Running<'_> {
    /// Goes on with each answer of a query that asks what several of the program ask. If it has others than rows, or something is undecided,
    /// the code goes on as it is written.
    pub(super) fn query_fused(&mut self, query: u32, space: Slot, return_point: u32) -> Result<(), Halt> {
        let asked = &mut self.m.code.queries[query as usize];
        if asked.leaps > 0 {
            asked.leaps -= 1;
            return Ok(());
        }
        let is_goal = asked.gathering.is_some() || asked.fused.as_ref().is_some_and(|fused| fused.is_goal);
        let goal = if is_goal { self.goal_of(query) } else { None };
        if !self.is_template_data(query)? || !self.ask_some(query, space, return_point, goal)? {
            self.m.leap(query);
        }
        Ok(())
    }
}
