//! The first answers of a plan, and their number, without the others.
//!
//! 1. The rows that are listed for the first pattern are gone through in batches, each twice as long as the one before, and each batch is
//!    answered as a whole. So the answers come in their order, and the search ends soon after the last one that is wanted.
//! 2. If many rows are looked at for few answers, the way that is [chosen](super::join) finds all of them, unless that is to loop over the
//!    patterns as they are written.
//! 3. To be counted, a pattern whose columns are known or the places of variables needs no look at its rows: their copies are added. A
//!    join counts its answers; loops forget each batch when it is counted.
//! 4. What is read must not change between two batches: a space is locked meanwhile.

use super::execute::{Answers, ROWS_BEFORE_CHOICE, ShouldStop};
use super::filter::Given;
use super::loops::{Loops, Step};
use super::pattern::NO_TERM;
use super::plan::{Made, Plan};
use super::view::View;
use crate::term::Term;

/// How many rows of the first pattern are looked at together at most.
const ROWS_MAX: usize = 4096;

/// Batches with more answers than this are followed by shorter ones.
const ANSWERS_MAX: usize = 1 << 14;

/// How many rows are looked at for an answer, on the average, before another way is thought of.
const ROWS_FOR_AN_ANSWER_MAX: usize = 16 * ROWS_BEFORE_CHOICE;

/// Which rows of the first pattern a batch begins with.
struct Batch {
    from: usize,
    rows: usize,
}

impl Batch {
    /// The batch after this one, which had `made` answers.
    fn next(&self, made: usize) -> Self {
        let rows = if made > ANSWERS_MAX { (self.rows / 2).max(1) } else { (self.rows * 2).min(ROWS_MAX) };
        Self { from: self.from + self.rows, rows }
    }
}

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
        let (mut kept, mut count, mut seen) = (Vec::new(), 0, 0);
        let mut batch = Batch { from: 0, rows: most.clamp(1, ROWS_MAX) };
        let mut may_choose = plan.loops.steps.len() > 1;
        loop {
            let left = ROWS_FOR_AN_ANSWER_MAX.saturating_mul(count + 1).saturating_sub(seen);
            answers.limit_rows(may_choose.then_some(left));
            let found = self.find_batch([batch.from, batch.rows], plan.made(), given, answers, should_stop);
            answers.limit_rows(None);
            let Some((made, may_go_on)) = found else {
                may_choose = false;
                match self.find_chosen(plan, given, answers, should_stop) {
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
            seen += answers.looked_at();
            if kept.is_empty() {
                std::mem::swap(&mut kept, answers.terms());
            } else {
                kept.append(answers.terms());
            }
            if count >= most || !may_go_on {
                break;
            }
            batch = batch.next(made);
        }
        count = count.min(most);
        kept.truncate(count * width);
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
            [_] => self.count_in_batches(plan.made(), given, answers, should_stop),
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
            found = self.find_within(None, plan.made(), given, answers, should_stop);
            answers.limit_rows(None);
        }
        let found = found.or_else(|| self.find_chosen(plan, given, answers, should_stop));
        found.unwrap_or_else(|| self.count_in_batches(plan.made(), given, answers, should_stop))
    }

    /// Counts the answers of patterns as they are written. No more of them are kept at a time than a batch has.
    fn count_in_batches(
        self,
        made: Made<'_>,
        given: Given<'_>,
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> usize {
        let mut count = 0;
        let mut batch = Batch { from: 0, rows: ROWS_MAX };
        loop {
            let found = self.find_batch([batch.from, batch.rows], made, given, answers, should_stop);
            let (answered, may_go_on) = found.expect("any number of rows may be looked at");
            if answers.is_stopped() {
                return 0;
            }
            count += answered;
            if !may_go_on {
                return count;
            }
            batch = batch.next(answered);
        }
    }

    /// How many answers a pattern has whose columns are known or the places of variables of their own.
    fn count_rows(self, step: &Step, loops: &Loops, parameters: &[Term]) -> usize {
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
