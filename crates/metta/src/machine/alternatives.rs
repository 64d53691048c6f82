//! Choices: the alternatives that are still to be tried, and the collecting of results.
//!
//! 1. A choice keeps what the machine must return to: a frame, how much was bound, how much memory was in use.
//! 2. The number of choices tells whether an expression may have further results: its frame remembers how many there were
//!    when it began. Only if there are more when it comes to a result is that result *gathered*: a collector is put below
//!    the expression's own choices, the result is kept with what it bound outside, and the next alternative is tried.
//! 3. When nothing is left above a collector, errors are dropped if anything else was found, and the evaluation goes on
//!    with each of the results in turn.
//! 4. What was gathered stays where it is in memory: from then on no choice above the collector gives memory back that was
//!    in use before (the *floor*). What becomes garbage by that, the collection of garbage finds.

use super::code::{FACTS, OPEN};
use super::control::choices::{Choice, ChoiceKind, Collector, CollectorPurpose, Destination};
use super::control::collected::CollectedResults;
use super::control::goals::{GoalEnd, end_of_goal};
use super::tables::Answered;
use super::type_errors::is_about_types;
use super::values::Values;
use super::words::EMPTY;
use super::{Halt, Reason, Running};
use crate::session::Session;
use region::Ref;

impl Running<'_> {
    /// Tries the next alternative.
    pub(super) fn fail(&mut self) -> Result<(), Halt> {
        loop {
            match self.m.choices.stack.last() {
                None => return Err(Reason::Complete.into()),
                Some(Choice { kind: ChoiceKind::Collector(_), .. }) => {}
                // Alternatives may multiply where nothing is called.
                Some(_) => self.count_step()?,
            }
            self.m.choices.restore(&mut self.m.frames, &mut self.m.values, &self.m.code)?;
            let last = self.m.choices.stack.last_mut().expect("there is a choice");
            match &mut last.kind {
                ChoiceKind::Rules { group, list, next, from, noted } => {
                    let (group, list, next, from, noted) = (*group, *list, *next, *from, *noted);
                    self.m.choices.pop(&mut self.m.frames);
                    let parts = (&self.m.code, &mut self.m.frames, &self.m.values);
                    self.m.choices.try_place(parts, (group, list, next), (from, true));
                    let tried = &self.m.code.groups[group as usize];
                    if !self.m.choices.is_matched_as_it_was(tried, noted) {
                        return Ok(());
                    }
                    if let Some(results) = self.rules_as_they_were(noted)? {
                        return self.deliver_all(results, Destination::Frame);
                    }
                }
                ChoiceKind::Results { values, to } => {
                    let (to, value) = (*to, values.next().expect("a choice with nothing left is removed"));
                    if values.len() == 0 {
                        self.m.choices.pop(&mut self.m.frames);
                    }
                    return self.deliver(to, value);
                }
                ChoiceKind::BoundResults(_) => return self.next_bound_result(),
                ChoiceKind::Children { list, next, return_point } => {
                    let (list, index, return_point) = (*list, *next, *return_point);
                    *next += 1;
                    if index + 1 == self.m.values.heap.length(list) {
                        self.m.choices.pop(&mut self.m.frames);
                    }
                    let child = self.m.values.heap.child(list, index);
                    self.m.frames.resume_raw(&self.m.code, return_point, child);
                    return Ok(());
                }
                ChoiceKind::Alternative { return_point } => {
                    let return_point = *return_point;
                    self.m.choices.pop(&mut self.m.frames);
                    self.m.frames.pc = self.m.code.return_point(return_point).pc;
                    return Ok(());
                }
                ChoiceKind::Rows(_) => return self.m.next_row(),
                ChoiceKind::Candidates(_) => {
                    if self.m.next_candidate()? {
                        return Ok(());
                    }
                }
                ChoiceKind::Answers(_) => {
                    self.count_step()?;
                    if let Some((return_point, value)) = self.tabling().next_answer()? {
                        return self.resume(return_point, value);
                    }
                }
                ChoiceKind::TableRows(_) => {
                    self.count_step()?;
                    return self.tabling().next_row();
                }
                ChoiceKind::Collector(_) => {
                    if self.complete()? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Keeps a result of an expression that has further alternatives, and tries the next one.
    pub(super) fn gather(&mut self, value: Ref, level: u32, return_point: u32, base: u32) -> Result<(), Halt> {
        match level {
            FACTS => return self.resume_facts(return_point, value, base),
            OPEN => {
                self.m.frames.resume_open(&self.m.code, return_point, value, base);
                return Ok(());
            }
            _ => {}
        }
        let level = level as usize;
        // If an error has come before, the results are collected below, and what is in use then is given back when they are all there.
        let is_collected =
            matches!(self.m.choices.stack.get(level), Some(Choice { kind: ChoiceKind::Collector(_), .. }));
        if !is_collected
            && !self.m.values.is_error(value)
            && let Some(list) =
                self.m.choices.list_of_results(&self.m.frames, &self.m.code, (level, return_point, base))
        {
            self.m.choices.keep_child(&mut self.m.values, self.m.types.notes, value, list)?;
            return self.fail();
        }
        if self.m.choices.backtracking.reaches(level) {
            return self.resume_backtracking(return_point, value, base);
        }
        if !is_collected {
            let oldest = &self.m.choices.stack[level];
            let (trail, heap, foreign) = (oldest.trail, oldest.heap, oldest.foreign);
            let base = base as usize;
            let below = level.checked_sub(1).map_or(0, |below| self.m.choices.stack[below].top);
            let end = self.m.frames.end_at(&self.m.code, base, return_point);
            let top = end.max(below);
            let floor = self.m.choices.floor;
            let collector = Collector {
                purpose: CollectorPurpose::Expression,
                return_point,
                results: CollectedResults::default(),
                begun: heap,
                floor,
            };
            let kind = ChoiceKind::Collector(Box::new(collector));
            self.m.choices.stack.insert(level, Choice { frame_base: base, end, top, trail, heap, foreign, kind });
            // The frame may have moved up above choices that were left for later.
            for above in &mut self.m.choices.stack[level + 1..] {
                above.top = above.top.max(top);
            }
            self.m.frames.protected = self.m.frames.protected.max(top);
            if self.m.choices.floor.choices > level {
                self.m.choices.floor.choices += 1;
            }
        }
        self.m.choices.keep(&mut self.m.values, self.m.types.notes, value, level)?;
        self.fail()
    }

    /// Goes on with what a call comes to by its table.
    pub(super) fn go_on_with(&mut self, answered: Answered) -> Result<(), Halt> {
        match answered {
            Answered::Results(results) => self.deliver_all(results, Destination::Frame),
            Answered::Rows => {
                self.count_step()?;
                self.tabling().next_row()
            }
            Answered::Again => Ok(()),
        }
    }

    /// Completes the collector on top; says whether the evaluation goes on from it.
    #[inline(never)]
    fn complete(&mut self) -> Result<bool, Halt> {
        let choice = self.m.choices.stack.pop().expect("a collector is on top");
        self.m.choices.backtracking.end(&mut self.m.code.wrong_assumptions, self.m.choices.stack.len());
        self.m.frames.protected = self.m.choices.stack.last().map_or(0, |choice| choice.top);
        let ChoiceKind::Collector(collector) = choice.kind else { unreachable!("it is a collector") };
        let Collector { purpose, return_point, mut results, floor, .. } = *collector;
        self.m.choices.floor = floor;
        self.m.choices.floor.choices = self.m.choices.floor.choices.min(self.m.choices.stack.len());
        drop_needless_errors(&mut self.m.values, self.session, &mut results)?;
        match purpose {
            CollectorPurpose::List => {
                let list = self.m.values.heap.expression(&mut self.m.values.region, results.values())?;
                self.resume(return_point, list)?;
            }
            CollectorPurpose::Table(call) => {
                let answered = self.tabling().end_filling(call, results)?;
                self.go_on_with(answered)?;
            }
            CollectorPurpose::Subjects { .. } if results.is_empty() => {
                self.m.frames.resume_raw(&self.m.code, return_point, EMPTY)
            }
            CollectorPurpose::Some { wanted, found, most } => {
                match end_of_goal(&mut self.m.values, wanted, [found, most], results)? {
                    GoalEnd::Nothing => return Ok(false),
                    GoalEnd::Told(value) => self.m.frames.resume_raw(&self.m.code, return_point, value),
                    GoalEnd::Results(results) => self.deliver_all(results, Destination::Slot(return_point))?,
                }
            }
            CollectorPurpose::Transaction(depth) => {
                let left = self.close_transaction(depth, results)?;
                if left.is_empty() {
                    return Ok(false);
                }
                self.deliver_all(left, Destination::Slot(return_point))?;
            }
            CollectorPurpose::Expression if results.is_empty() => return Ok(false),
            CollectorPurpose::Subjects { .. } => self.deliver_all(results, Destination::Slot(return_point))?,
            CollectorPurpose::Expression => self.deliver_all(results, Destination::ReturnPoint(return_point))?,
        }
        Ok(true)
    }
}

/// Errors count only if nothing else was found, but for those that no other result hides.
fn drop_needless_errors(
    values: &mut Values,
    session: &mut Session,
    results: &mut CollectedResults,
) -> Result<(), Halt> {
    let is_error = |value: &Ref| values.is_error(*value);
    let Some(error) = results.values().iter().position(is_error) else { return Ok(()) };
    if results.values().iter().all(is_error) {
        return Ok(());
    }
    for place in error..results.len() {
        let value = results.values()[place];
        if values.is_error(value) && is_about_types(values, value)? {
            session.form_steps.hide_type_errors();
            break;
        }
    }
    results.retain(|value| !values.is_error(value) || values.is_never_hidden(value));
    Ok(())
}
