//! The first answers of a plan, and their number, without the others.
//!
//! 1. The rows that are listed for the first pattern are gone through in batches, each twice as long as the one before, and each batch is
//!    answered as a whole. So the answers come in their order, and the search ends soon after the last one that is wanted.
//! 2. To be counted, a pattern whose columns are known or the places of variables needs no look at its rows: their copies are added.
//! 3. What is read must not change between two batches: a space is locked meanwhile.

use super::execute::{Answers, ShouldStop, View};
use super::pattern::NO_TERM;
use super::plan::{Plan, Step};
use crate::term::Term;

/// So many rows of the first pattern are looked at together at most.
const ROWS_MAX: usize = 4096;

/// Batches with more answers than this are followed by shorter ones.
const ANSWERS_MAX: usize = 1 << 14;

impl View<'_> {
    /// Finds the first answers of a plan whose steps are made, so many at most; gives how many there are.
    pub(super) fn find_first(
        self,
        most: usize,
        plan: &Plan,
        parameters: &[Term],
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> usize {
        let (mut kept, mut count) = (Vec::new(), 0);
        let (mut from, mut rows) = (0, most.clamp(1, ROWS_MAX));
        let width = plan.variables().max(1);
        loop {
            let (made, may_go_on) = self.find_batch([from, rows], plan, parameters, answers, should_stop);
            if answers.is_stopped() {
                return 0;
            }
            count += made;
            if kept.is_empty() {
                std::mem::swap(&mut kept, answers.terms());
            } else {
                kept.append(answers.terms());
            }
            if count >= most || !may_go_on {
                break;
            }
            from += rows;
            rows = rows_next(rows, made);
        }
        count = count.min(most);
        kept.truncate(count * width);
        answers.replace(kept);
        count
    }

    /// How many answers a plan has whose steps are made.
    pub(super) fn count(
        self,
        plan: &Plan,
        parameters: &[Term],
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> usize {
        if let [step] = plan.steps.as_slice()
            && step.taken > 0
        {
            answers.begin(0);
            return self.count_rows(step, plan, parameters);
        }
        let (mut count, mut from, mut rows) = (0, 0, ROWS_MAX);
        loop {
            let (made, may_go_on) = self.find_batch([from, rows], plan, parameters, answers, should_stop);
            if answers.is_stopped() {
                return 0;
            }
            count += made;
            if !may_go_on {
                answers.terms().clear();
                return count;
            }
            from += rows;
            rows = rows_next(rows, made);
        }
    }

    /// How many answers a pattern has whose columns are known or the places of variables of their own.
    fn count_rows(self, step: &Step, plan: &Plan, parameters: &[Term]) -> usize {
        let known = &plan.known[step.known[0]..step.known[1]];
        let keys: Vec<_> = known.iter().map(|&(path, known)| (path, known.key(parameters, &[], self.terms))).collect();
        if keys.iter().any(|&(_, key)| key == NO_TERM) {
            return 0;
        }
        let (mut count, mut rows) = (0, Vec::new());
        for contents in self.spaces {
            let relation = contents.relation_of_length(step.length);
            relation
                .walk(&keys, self.terms, &mut rows, &mut |selected| count += selected.count_with(&keys, self.terms));
        }
        count
    }
}

/// How many rows the next batch has, given how many answers one of so many rows had.
fn rows_next(rows: usize, made: usize) -> usize {
    if made > ANSWERS_MAX { (rows / 2).max(1) } else { (rows * 2).min(ROWS_MAX) }
}
