//! Executing a plan over a view: what is wanted of its answers is found in the way that the plan [decides](Plan::strategy).
//!
//! 1. Patterns as they are written are [searched](super::search) depth first, for all answers or for the first. If many rows were looked at,
//!    it is decided how to go on.
//! 2. The first answers come in their order, and the search ends soon after the last one that is wanted. If another way is to find all
//!    of them, and they are too many, the search goes on.
//! 3. To be counted, a pattern whose columns are known or the places of variables needs no look at its rows: their copies are added.

use super::answers::{Answers, ROOM_TERMS_MAX};
use super::execution::{Execution, Scratch};
use super::filter::Given;
use super::join::Room;
use super::loops::{LoopStep, Loops};
use super::pattern::NO_TERM;
use super::plan::Plan;
use super::project::Projection;
use super::question::{Asked, Outcome};
use super::search::Search;
use super::strategy::{Course, Progress, Strategy};
use super::unfinished::{ShouldStop, Unfinished};
use super::usage::Adjacent;
use super::view::View;
use crate::relation::Relation;

/// How many cells of answers another way may find that are not wanted.
const CELLS_BESIDE_MAX: usize = 1 << 22;

/// Executes plans one after the other, with room that is kept from one to the next.
#[derive(Debug, Default)]
pub struct Executor {
    answers: Answers,
    scratch: Scratch,
}

impl Executor {
    /// The answers of the last execution.
    pub fn answers(&self) -> &Answers {
        &self.answers
    }

    /// The answers of the last execution, to write them out if they are grouped, or to take them.
    pub fn answers_mut(&mut self) -> &mut Answers {
        &mut self.answers
    }

    /// Begins an execution.
    #[inline]
    pub(super) fn begin<'a>(
        &'a mut self,
        view: View<'a>,
        (asked, given): (Asked, Given<'a>),
        should_stop: ShouldStop<'a>,
    ) -> Execution<'a> {
        Execution {
            view,
            given,
            asked,
            should_stop,
            answers: &mut self.answers,
            scratch: &mut self.scratch,
            course: Course::default(),
            rows_left: None,
            looked_at: 0,
            has_groups: false,
        }
    }

    /// Forgets what took much room.
    pub(super) fn shrink(&mut self) {
        self.answers.shrink();
        let Scratch { next, rows, .. } = &mut self.scratch;
        next.clear();
        next.shrink_to(ROOM_TERMS_MAX);
        rows.clear();
        rows.shrink_to(ROOM_TERMS_MAX);
    }
}

impl Execution<'_> {
    /// Answers a plan whose steps are made.
    #[inline]
    pub(super) fn answer(mut self, plan: &mut Plan) -> Outcome {
        self.course.after_each = std::mem::take(&mut plan.course.after_each);
        let found = match self.asked {
            Asked::All | Asked::Grouped => self.find_all(plan),
            Asked::First(most) => self.find_first(most, plan),
            Asked::Number => {
                self.scratch.counted.clear();
                self.find_all(plan)
            }
        };
        self.scratch.counted.clear();
        plan.course = self.course;
        match found {
            Err(_) => {
                self.answers.clear(plan.variables());
                Outcome::Stopped
            }
            Ok(count) if self.asked.counts() => {
                self.answers.clear(plan.variables());
                Outcome::Number(count)
            }
            Ok(count) => {
                self.answers.count = count;
                if self.answers.factored.is_some() { Outcome::Groups(count) } else { Outcome::Rows(count) }
            }
        }
    }

    /// Finds or counts all answers; gives how many there are.
    fn find_all(&mut self, plan: &mut Plan) -> Result<usize, Unfinished> {
        let mut strategy = plan.strategy(self.view, self.asked, None);
        loop {
            match self.follow_strategy(strategy, plan, usize::MAX) {
                Ok(count) => return Ok(count),
                Err(Unfinished::Stopped) => return Err(Unfinished::Stopped),
                Err(Unfinished::TooMany | Unfinished::NotRows) => {
                    strategy = plan.strategy(self.view, self.asked, Some(strategy));
                }
            }
        }
    }

    /// Finds the first answers, `most` at most; gives how many there are.
    fn find_first(&mut self, most: usize, plan: &mut Plan) -> Result<usize, Unfinished> {
        let (width, mut search) = (plan.variables(), Search::beginning_with(most));
        let (mut kept, mut found) = (Vec::new(), 0_usize);
        self.course.strategy = plan.strategy(self.view, self.asked, None);
        let mut strategy = self.course.strategy;
        self.begin(width);
        while found < most && !search.is_over() {
            self.rows_left = strategy.rows(self.asked, Progress { found, looked_at: self.looked_at });
            match self.advance_search(&mut search, plan.made()) {
                Ok(made) => {
                    found += made;
                    match kept.is_empty() {
                        true => std::mem::swap(&mut kept, &mut self.answers.cells),
                        false => kept.append(&mut self.answers.cells),
                    }
                }
                Err(Unfinished::TooMany) => {
                    if let Some(all) = self.find_beyond(most, plan)? {
                        return Ok(all);
                    }
                    strategy = Strategy::AsWritten;
                }
                Err(unfinished) => return Err(unfinished),
            }
        }
        found = found.min(most);
        kept.truncate(found.saturating_mul(width));
        self.answers.cells = kept;
        Ok(found)
    }

    /// Finds all answers in the way that is decided after a first look, and keeps the first of them; gives how many are kept, or `None` if
    /// the patterns are searched as they are written.
    fn find_beyond(&mut self, most: usize, plan: &mut Plan) -> Result<Option<usize>, Unfinished> {
        let (width, strategy) = (plan.variables(), plan.strategy(self.view, self.asked, Some(Strategy::FirstLook)));
        let room = most.saturating_add(CELLS_BESIDE_MAX / width.max(1));
        if let Strategy::AsWritten = strategy {
            self.course.strategy = strategy;
            self.begin(width);
            return Ok(None);
        }
        match self.follow_strategy(strategy, plan, room) {
            Ok(all) => {
                self.answers.cells.truncate(most.saturating_mul(width));
                Ok(Some(all.min(most)))
            }
            Err(Unfinished::TooMany | Unfinished::NotRows) => {
                self.course.strategy = Strategy::FirstLook;
                Ok(None)
            }
            Err(Unfinished::Stopped) => Err(Unfinished::Stopped),
        }
    }

    /// Finds or counts the answers in one way; gives how many there are. Other ways than the patterns as written find `most` at most.
    fn follow_strategy(&mut self, strategy: Strategy, plan: &Plan, most: usize) -> Result<usize, Unfinished> {
        self.course.strategy = strategy;
        self.rows_left = strategy.rows(self.asked, Progress::default());
        match (strategy, &plan.chosen) {
            (Strategy::Columns, _) => Ok(self.take_columns(plan)),
            (Strategy::Join | Strategy::Reordered, Some(chosen)) => {
                self.begin(plan.variables());
                match (self.asked.counts(), strategy, chosen.other_loops()) {
                    (true, Strategy::Reordered, Some(loops)) => return self.count_as_written(loops),
                    (true, ..) => {
                        let over = (self.view, self.given);
                        return chosen.count(over, &mut self.course.after_each, self.should_stop);
                    }
                    _ => {}
                }
                self.answers.cells.clear();
                let room = Room { answers: &mut self.answers.cells, after_each: &mut self.course.after_each, most };
                chosen.execute(strategy, (self.view, self.given), room, self.should_stop)
            }
            _ if self.asked.counts() => self.count_as_written(plan.made()),
            _ => self.find_within(plan.made()),
        }
    }

    /// Takes or counts the answers of the only pattern, each of whose columns is known or the place of a variable.
    fn take_columns(&mut self, plan: &Plan) -> usize {
        let (loops, step) = (&plan.loops, &plan.loops.steps[0]);
        self.course.after_each.clear();
        self.answers.clear(plan.variables());
        if self.asked.counts() {
            return self.count_rows(step, loops);
        }
        let adjacent = self.view.adjacent(plan.made(), 0, 1, self.given.parameters, self.should_stop);
        let count = adjacent.and_then(|adjacent| self.take_adjacent(&adjacent)).unwrap_or_else(|| {
            let relations = self.view.of(step.place).iter().map(|contents| contents.relation_of_length(step.length));
            let count = relations.map(|relation| self.take_only(step, loops, relation)).sum();
            plan.usages.note(0, count);
            count
        });
        self.course.after_each.push(count);
        count
    }

    /// Takes the rows of the only pattern of a query for answers, if they have nothing but all variables; gives how many there are.
    fn take_adjacent(&mut self, adjacent: &Adjacent) -> Option<usize> {
        if !adjacent.are_all {
            return None;
        }
        let rows = adjacent.rows(self.given.parameters, &[], self.view.terms);
        self.answers.cells.extend_from_slice(adjacent.adjacency.cells(&rows));
        Some(rows.len())
    }

    /// Takes the answers of the only pattern from one relation.
    fn take_only(&mut self, step: &LoopStep, loops: &Loops, relation: &Relation) -> usize {
        let Scratch { current, rows, keys, .. } = &mut *self.scratch;
        let (Given { parameters, .. }, terms, found) = (self.given, self.view.terms, &mut self.answers.cells);
        current.clear();
        current.resize(loops.variables(), NO_TERM);
        keys.clear();
        for &(path, known) in &loops.known[step.known[0]..step.known[1]] {
            let key = known.key(parameters, current, terms);
            if key == NO_TERM {
                return 0;
            }
            keys.push((path, key));
        }
        let parts = &loops.patterns.parts[step.parts[0]..step.parts[1]];
        let projection = Projection { parts, count: step.taken, keys, current, terms };
        let mut made = 0;
        relation.walk(keys, terms, rows, &mut |selected| made += projection.take(&selected, found));
        made
    }

    /// How many answers a pattern has whose columns are known or the places of variables of their own.
    fn count_rows(&self, step: &LoopStep, loops: &Loops) -> usize {
        let (Given { parameters, .. }, terms) = (self.given, self.view.terms);
        let known = &loops.known[step.known[0]..step.known[1]];
        let keys: Vec<_> = known.iter().map(|&(path, known)| (path, known.key(parameters, &[], terms))).collect();
        if keys.iter().any(|&(_, key)| key == NO_TERM) {
            return 0;
        }
        let (mut count, mut rows) = (0, Vec::new());
        for contents in self.view.of(step.place) {
            let relation = contents.relation_of_length(step.length);
            relation.walk(&keys, terms, &mut rows, &mut |selected| count += selected.count_with(&keys, terms));
        }
        count
    }
}
