//! The first answers of a plan, and their number, without the others.
//!
//! 1. The patterns are [searched](super::search) depth first, at first with few rows of each. So the answers come in their order, and the
//!    search ends soon after the last one that is wanted.
//! 2. If many rows are looked at for few answers, the way that is [chosen](super::join) finds all of them, unless that is to loop over the
//!    patterns as they are written, or they are too many: then the search goes on.
//! 3. To be counted, a pattern whose columns are known or the places of variables needs no look at its rows: their copies are added. A
//!    join counts its answers; loops forget what they have counted.

use super::execute::{Answers, ROWS_BEFORE_CHOICE, ShouldStop};
use super::filter::Given;
use super::loops::{LoopStep, Loops};
use super::pattern::NO_TERM;
use super::plan::Plan;
use super::search::Search;
use super::view::View;
use crate::term::Term;

/// How many rows are looked at for an answer, on the average, before another way is thought of.
const ROWS_FOR_AN_ANSWER_MAX: usize = 16 * ROWS_BEFORE_CHOICE;

/// How many cells of answers another way may find that are not wanted.
const CELLS_BESIDE_MAX: usize = 1 << 22;

impl View<'_> {
    /// Finds the first answers of a plan whose steps are made, `most` at most; gives how many there are.
    pub(super) fn find_first(
        self,
        most: usize,
        plan: &mut Plan,
        given: Given<'_>,
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> usize {
        let width = plan.variables().max(1);
        answers.begin_first_look();
        let mut search = Search::beginning_with(most);
        let (mut kept, mut count, mut seen) = (Vec::new(), 0_usize, 0);
        let mut may_choose = plan.loops.steps.len() > 1;
        while count < most && !search.is_over() {
            let left = ROWS_FOR_AN_ANSWER_MAX.saturating_mul(count + 1).saturating_sub(seen);
            answers.limit_rows(may_choose.then_some(left));
            let found = self.advance(&mut search, plan.made(), given, answers, should_stop);
            answers.limit_rows(None);
            let Some(made) = found else {
                may_choose = false;
                let beside = CELLS_BESIDE_MAX / width;
                match self.find_chosen(plan, most.saturating_add(beside), given, answers, should_stop) {
                    Some(all) => {
                        answers.terms().truncate(most.saturating_mul(width));
                        return all.min(most);
                    }
                    None => continue,
                }
            };
            if answers.is_stopped() {
                return 0;
            }
            count += made;
            seen = answers.looked_at();
            if kept.is_empty() {
                std::mem::swap(&mut kept, answers.terms());
            } else {
                kept.append(answers.terms());
            }
        }
        count = count.min(most);
        kept.truncate(count.saturating_mul(width));
        answers.replace(kept);
        count
    }

    /// How many answers a plan has whose steps are made.
    pub(super) fn count(
        self,
        plan: &mut Plan,
        given: Given<'_>,
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> usize {
        answers.begin_first_look();
        let count = match plan.loops.steps.as_slice() {
            [step] if step.taken > 0 && plan.filters.is_empty() => {
                answers.begin(0);
                self.count_rows(step, &plan.loops, given.parameters)
            }
            [_] => self.count_as_written(plan.made(), given, answers, should_stop).unwrap_or_default(),
            _ => {
                answers.count_only(true);
                let count = self.count_joined(plan, given, answers, should_stop);
                answers.count_only(false);
                count
            }
        };
        answers.terms().clear();
        count
    }

    /// How many answers a plan of several patterns has. If the first rows are not all, it is chosen how to go on.
    fn count_joined(
        self,
        plan: &mut Plan,
        given: Given<'_>,
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> usize {
        let mut found = None;
        if !plan.chosen.as_ref().is_some_and(|chosen| chosen.is_for(self, true)) {
            answers.limit_rows(Some(ROWS_BEFORE_CHOICE));
            found = self.count_as_written(plan.made(), given, answers, should_stop);
            answers.limit_rows(None);
        }
        let found = found.or_else(|| self.find_chosen(plan, usize::MAX, given, answers, should_stop));
        let as_written = || self.count_as_written(plan.made(), given, answers, should_stop).unwrap_or_default();
        found.unwrap_or_else(as_written)
    }

    /// How many answers a pattern has whose columns are known or the places of variables of their own.
    fn count_rows(self, step: &LoopStep, loops: &Loops, parameters: &[Term]) -> usize {
        let known = &loops.known[step.known[0]..step.known[1]];
        let keys: Vec<_> = known.iter().map(|&(path, known)| (path, known.key(parameters, &[], self.terms))).collect();
        if keys.iter().any(|&(_, key)| key == NO_TERM) {
            return 0;
        }
        let (mut count, mut rows) = (0, Vec::new());
        for contents in self.of(step.place) {
            let relation = contents.relation_of_length(step.length);
            relation.walk(&keys, self.terms, &mut rows, &mut |selected| {
                count += selected.count_with(&keys, self.terms);
            });
        }
        count
    }
}
