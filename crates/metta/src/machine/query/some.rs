//! Asking for some of the answers of a query, for their number, or for groups: if each answer comes to one result, as many are searched for as
//! results are wanted. Whether it does shows when answers are there: a [template](super::template) that is data around values in normal form is
//! its own result. A `match` inside the template of a `match`, answered as one query, is asked in this way too: see `compile/fused.rs`.

use crate::machine::control::choices::Choices;
use crate::machine::control::frames::Frames;

use super::template::Template;
use crate::lowering::Wanted;
use crate::machine::code::{Query, Slot};
use crate::machine::normal_terms::Makes;
use crate::machine::{Halt, Running};
use space::Asked;

/// What is wanted of the answers of a query.
#[derive(Clone, Copy)]
pub(super) enum Goal {
    /// Some of the results that are collected next: which, and how many.
    Some(Wanted, usize),
    /// All, in the list of the collector at a level.
    List(usize),
}

impl Query {
    /// Whether no variable is in its template.
    fn has_bare_template(&self) -> bool {
        self.template_data.as_ref().is_some_and(|template| template.slots.is_empty())
    }
}

impl Running<'_> {
    /// Asks a space for as many answers as results are wanted, if each answer comes to one.
    pub(in crate::machine) fn query_some(&mut self, query: u32, space: Slot, return_point: u32) -> Result<(), Halt> {
        let may_be_rows = self.m.code.queries[query as usize].begins_with_rows();
        let may_ask = may_be_rows && self.is_template_data(query)?;
        let goal = goal_of(&self.m.choices, &self.m.frames, &self.m.code.queries[query as usize]).filter(|_| may_ask);
        if goal.is_some() && self.ask_some(query, space, return_point, goal)? {
            return Ok(());
        }
        self.query(query, space, return_point)
    }

    /// Goes on with each answer of a query that asks what several of the program ask. If it has others than rows, or something is undecided,
    /// the code goes on as it is written.
    pub(in crate::machine) fn query_fused(&mut self, query: u32, space: Slot, return_point: u32) -> Result<(), Halt> {
        let asked = &mut self.m.code.queries[query as usize];
        if asked.kept.rests() {
            return Ok(());
        }
        let is_goal = asked.gathering.is_some() || asked.fused.as_ref().is_some_and(|fused| fused.is_goal);
        let goal =
            if is_goal { goal_of(&self.m.choices, &self.m.frames, &self.m.code.queries[query as usize]) } else { None };
        if !self.is_template_data(query)? || !self.ask_some(query, space, return_point, goal)? {
            self.m.code.queries[query as usize].kept.put_off();
        }
        Ok(())
    }

    /// Asks a space for as many answers as results are wanted, or for all; `false` if what was found may not come to one result for each
    /// answer.
    pub(super) fn ask_some(
        &mut self,
        query: u32,
        space: Slot,
        return_point: u32,
        goal: Option<Goal>,
    ) -> Result<bool, Halt> {
        if !self.m.code.queries[query as usize].filters.filters.is_empty() {
            self.refresh();
        }
        let space = self.m.read(space);
        let mut room = self.m.take_query_room();
        let asked = match goal {
            Some(Goal::Some(Wanted::First | Wanted::Whether, most)) => Asked::First(most),
            Some(Goal::Some(Wanted::Number, _)) if self.m.code.queries[query as usize].has_bare_template() => {
                Asked::Number
            }
            Some(Goal::List(_)) => Asked::Grouped,
            Some(Goal::Some(Wanted::Number, _)) | None => Asked::All,
        };
        let Some(outcome) = self.m.ask(query, space, &mut room, asked) else {
            self.m.rooms.query_room = Some(room);
            return Ok(false);
        };
        let Some(count) = outcome.count() else { return Err(self.m.values.ceiling.passed()) };
        // What no test has decided about is tested in the template.
        let is_decided = !room.was_undecided();
        let are_results =
            is_decided && (asked == Asked::Number || Template::new(self, query, &room).comes_to_itself()?);
        // All answers of one `match` are there: the template may as well be evaluated for each.
        let are_all = matches!(goal, Some(Goal::List(_))) && self.m.code.queries[query as usize].fused.is_none();
        if are_results || are_all {
            self.m.code.queries[query as usize].note_planned(self.session, asked, count);
        }
        let done = match goal {
            Some(Goal::Some(Wanted::Number, _)) if are_results => {
                self.m.choices.count_found(count);
                self.fail()
            }
            Some(Goal::List(level)) if are_results && Template::new(self, query, &room).is_bound() => {
                Template::new(self, query, &room).gather(count, level).and_then(|()| self.fail())
            }
            _ if are_results || are_all => self.go_through(query, &mut room, return_point),
            _ => Ok(()),
        };
        self.m.rooms.query_room = Some(room);
        done.map(|()| are_results || are_all)
    }

    /// Whether what a template is made of beside its variables is data as rules stand.
    pub(super) fn is_template_data(&mut self, query: u32) -> Result<bool, Halt> {
        let Some(template) = &self.m.code.queries[query as usize].template_data else { return Ok(false) };
        let count = template.heads.len();
        for place in 0..count {
            let template = self.m.code.queries[query as usize].template_data.as_ref();
            let (head, arguments) = template.expect("it is there").heads[place];
            if self.makes(head, arguments)? != Makes::Data {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// What is wanted of the answers of a query, if that is known.
fn goal_of(choices: &Choices, frames: &Frames, query: &Query) -> Option<Goal> {
    match &query.gathering {
        Some(gathering) => {
            let level = frames.slot(gathering.begun).payload() as usize;
            choices.collects_list(level).then_some(Goal::List(level))
        }
        None => choices.wanted_next().map(|(wanted, most)| Goal::Some(wanted, most)),
    }
}
