//! In which way the patterns of a plan are answered, and how each step of it.
//!
//! The decision is taken here and in [`Plan::strategy`](super::plan::Plan::strategy), from the plan, from how many rows there are and from what is
//! wanted; what costs least where rows are many is estimated by [`Chosen`](super::join::Chosen). What is said of an execution afterwards
//! ([`QueryExplanation`](super::QueryExplanation)) is what was decided.

use super::loops::{LoopStep, Loops};
use super::made::Made;
use super::question::Asked;
use super::unfinished::ShouldStop;
use super::usage::{ANSWERS_MIN, Adjacent};
use super::view::View;
use crate::relation::Relation;
use crate::term::Term;
use std::sync::Arc;

/// How many rows are looked at in the order in which patterns are written before another order is thought of.
const ROWS_BEFORE_CHOICE: usize = 1_000;

/// How many rows are looked at for an answer, on the average, before another way is thought of, if only the first answers are wanted.
const ROWS_FOR_AN_ANSWER_MAX: usize = 16 * ROWS_BEFORE_CHOICE;

/// In which way the patterns of a plan are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Strategy {
    /// The columns of the only pattern are taken as they lie, or its rows are counted.
    Columns,
    /// The patterns as they are written, one after the other, until many rows were looked at. Nothing was estimated.
    #[default]
    FirstLook,
    /// The patterns as they are written, to the end.
    AsWritten,
    /// The patterns in another order.
    Reordered,
    /// One variable after the other, in all patterns that have it at once.
    Join,
}

/// How far an execution has come: how many answers were found, and how many rows were looked at for them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    pub(super) found: usize,
    pub(super) looked_at: usize,
}

impl Strategy {
    /// How many more rows may be looked at; `None` if any number.
    pub(super) fn rows(self, asked: Asked, progress: Progress) -> Option<usize> {
        match (self, asked) {
            (Self::FirstLook, Asked::First(_)) => {
                let rows = ROWS_FOR_AN_ANSWER_MAX.saturating_mul(progress.found + 1);
                Some(rows.saturating_sub(progress.looked_at))
            }
            (Self::FirstLook, _) => Some(ROWS_BEFORE_CHOICE),
            _ => None,
        }
    }
}

/// How a plan was executed last.
#[derive(Debug, Default)]
pub(super) struct Course {
    pub(super) strategy: Strategy,
    /// How many answers there were so far after each pattern, or each variable of a join.
    pub(super) after_each: Vec<usize>,
}

impl Course {
    /// Notes how many more answers there are after a step.
    pub(super) fn note(&mut self, step: usize, count: usize) {
        if self.after_each.len() <= step {
            self.after_each.resize(step + 1, 0);
        }
        self.after_each[step] += count;
    }
}

/// What a step of a plan is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOf {
    /// The rows of a pattern, by its number.
    Pattern(usize),
    /// The values of a variable, by its number; parameters are numbered after the variables.
    Variable(u32),
}

/// How partial answers are extended by the rows of a pattern.
pub(super) enum StepStrategy {
    /// The rows are counted for each, and none is kept.
    Counted,
    /// The answers are left grouped by the rows of their values.
    Grouped(Arc<Adjacent>),
    /// The rows of their values are copied.
    Adjacent(Arc<Adjacent>),
    /// Indexes are asked for the rows of each.
    Indexed,
}

impl StepStrategy {
    /// How `count` partial answers are extended by a step; `has_groups` says whether a part of the answers was left grouped before.
    pub(super) fn choose(
        (made, number, count): (Made<'_>, usize, usize),
        (asked, has_groups): (Asked, bool),
        (view, parameters): (View<'_>, &[Term]),
        should_stop: ShouldStop<'_>,
    ) -> Self {
        let is_last = number > 0 && number + 1 == made.loops.steps.len();
        let is_end = is_last && !made.filters.has(number);
        if is_end && asked.counts() && made.loops.steps[number].is_countable() {
            return Self::Counted;
        }
        match view.adjacent(made, number, count, parameters, should_stop) {
            Some(adjacent) if is_end && asked == Asked::Grouped && (has_groups || count >= ANSWERS_MIN) => {
                Self::Grouped(adjacent)
            }
            Some(adjacent) => Self::Adjacent(adjacent),
            None => Self::Indexed,
        }
    }
}

impl<'a> View<'a> {
    /// What answers a step for `count` answers by one value, if there is something, or if making it pays.
    pub(super) fn adjacent(
        self,
        made: Made<'_>,
        number: usize,
        count: usize,
        parameters: &[Term],
        should_stop: ShouldStop<'_>,
    ) -> Option<Arc<Adjacent>> {
        let step = &made.loops.steps[number];
        if step.taken == 0 {
            return None;
        }
        let relation = match self.of(step.place) {
            [contents] => contents.relation_of_length(step.length),
            _ if count < ANSWERS_MIN && !made.usages.has_adjacent(number) => return None,
            _ => self.only_relation((step, made.loops), parameters)?,
        };
        let known = made.usages.adjacent(number, relation);
        known.or_else(|| made.usages.made_for((number, step, made.loops), count, (relation, self.terms), should_stop))
    }

    /// The relation that may answer a step, if there is only one.
    fn only_relation(self, (step, loops): (&LoopStep, &Loops), parameters: &[Term]) -> Option<&'a Relation> {
        let relations = self.of(step.place).iter().map(|contents| contents.relation_of_length(step.length));
        let mut relations =
            relations.filter(|relation| step.may_answer(&loops.known, Some(parameters), relation, self.terms));
        relations.next().filter(|_| relations.next().is_none())
    }
}
