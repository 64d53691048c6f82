//! Extending the answers so far by the rows of the next pattern.
//!
//! 1. Indexes are asked for the rows of each answer; or rows are copied together by value, where most of a relation is asked for.
//! 2. If the pattern is the last one, its rows need not be written beside each answer: these are left [grouped](super::answers), or counted.

use super::answers::Answers;
use super::counted;
use super::execution::{Execution, Scratch};
use super::extent::{Extent, Window};
use super::grouped::{Factored, write_group};
use super::loops::{Known, LoopStep, Loops};
use super::made::Made;
use super::matching::{Match, matches};
use super::pattern::{NO_TERM, PatternPart};
use super::project::Projection;
use super::strategy::StepStrategy;
use super::unfinished::{ANSWERS_BETWEEN_LOOKS, Unfinished};
use super::usage::Adjacent;
use crate::relation::{Path, Relation, RowSelection};
use crate::term::{Term, Terms};
use std::sync::Arc;

/// How many rows that may not match are looked at in place of one that does: a choice of another order takes longer than to look at them.
const LOOKS_FOR_A_ROW: usize = 16;

/// A step, the loops that it is one of, and what it is given.
#[derive(Clone, Copy)]
struct At<'a> {
    step: &'a LoopStep,
    loops: &'a Loops,
    parameters: &'a [Term],
    terms: &'a Terms,
}

impl At<'_> {
    /// The columns of the pattern.
    fn parts(&self) -> &[PatternPart] {
        &self.loops.patterns.parts[self.step.parts[0]..self.step.parts[1]]
    }

    /// What is known of the rows.
    fn known(&self) -> &[(Path, Known)] {
        &self.loops.known[self.step.known[0]..self.step.known[1]]
    }

    fn key(&self, known: Known, answer: &[Term]) -> Term {
        known.key(self.parameters, answer, self.terms)
    }
}

impl Execution<'_> {
    /// Extends partial answers by the rows for a step, as far as is said, into those that come next; gives how many that makes. There are too
    /// many rows if more were to be looked at than are left.
    pub(super) fn extend_step(
        &mut self,
        number: usize,
        count: usize,
        extent: &mut Extent,
        made: Made<'_>,
    ) -> Result<usize, Unfinished> {
        let Made { loops, filters, usages } = made;
        self.scratch.next.clear();
        let wanted = (self.asked, self.has_groups);
        let over = (self.view, self.given.parameters);
        let extended = match StepStrategy::choose((made, number, count), wanted, over, self.should_stop) {
            StepStrategy::Grouped(adjacent) => {
                extent.next.answer = count;
                let count = self.group(&adjacent, count);
                self.course.note(number, count);
                return Ok(count);
            }
            StepStrategy::Adjacent(adjacent) => self.extend_adjacent(&adjacent, count, extent)?,
            strategy => {
                let is_counted = matches!(strategy, StepStrategy::Counted);
                let extended = self.extend_each((count, is_counted), extent, (&loops.steps[number], loops))?;
                usages.note(number, extended);
                extended
            }
        };
        self.rows_left = self.rows_left.map(|left| left.saturating_sub(extended));
        self.looked_at += extended;
        let mut count = extended;
        if filters.has(number) {
            let widths = [self.answers.width; 2];
            let answers = (&mut self.scratch.next, count);
            count = filters.keep(number, answers, widths, (self.given, self.view), self.should_stop)?;
        }
        self.course.note(number, count);
        Ok(count)
    }

    /// Extends `count` partial answers by the rows of their values, as far as is said; gives how many answers that makes.
    fn extend_adjacent(&mut self, adjacent: &Adjacent, count: usize, extent: &mut Extent) -> Result<usize, Unfinished> {
        let (mut made, variables, left) = (0, &adjacent.variables, self.rows_left.unwrap_or(usize::MAX));
        let Scratch { current, next, .. } = &mut *self.scratch;
        while extent.next.answer < count {
            let place = extent.next.answer;
            if place % ANSWERS_BETWEEN_LOOKS == ANSWERS_BETWEEN_LOOKS - 1 && (self.should_stop)() {
                return Err(Unfinished::Stopped);
            }
            take_up(self.answers, place, current);
            let all = adjacent.rows(self.given.parameters, current, self.view.terms);
            let mut window = extent.window();
            let within = window.pass(all.len());
            let rows = all.start + within.start as u32..all.start + within.end as u32;
            made += rows.len();
            if made > left {
                return Err(Unfinished::TooMany);
            }
            write_group(current, adjacent.adjacency.cells(&rows), variables, next);
            if extent.pass(window, made) {
                break;
            }
        }
        Ok(made)
    }

    /// Leaves `count` answers grouped by the rows of their values; gives how many there are.
    fn group(&mut self, adjacent: &Adjacent, count: usize) -> usize {
        let (width, answers) = (self.answers.width, &mut *self.answers);
        let (mut rows, mut made) = (Vec::with_capacity(count), 0);
        for place in 0..count {
            let found = adjacent.rows(self.given.parameters, answers.get(place), self.view.terms);
            if !found.is_empty() {
                made += found.len();
                let from = place * width;
                answers.cells.copy_within(from..from + width, rows.len() * width);
                rows.push([found.start, found.end]);
            }
        }
        answers.cells.truncate(rows.len() * width);
        let (adjacency, variables) = (Arc::clone(&adjacent.adjacency), adjacent.variables.clone());
        answers.factored = Some(Factored { adjacency, variables, rows });
        self.has_groups = true;
        made
    }

    /// Extends each partial answer by the rows that an index lists for it, or counts them; gives how many answers that makes.
    fn extend_each(
        &mut self,
        (count, is_counted): (usize, bool),
        extent: &mut Extent,
        (step, loops): (&LoopStep, &Loops),
    ) -> Result<usize, Unfinished> {
        if is_counted {
            *extent = Extent::whole();
        }
        let at = At { step, loops, parameters: self.given.parameters, terms: self.view.terms };
        let by = if is_counted && count >= counted::ANSWERS_MIN { step.counted_by(&loops.known) } else { None };
        let (spaces, asked) = (self.view.of(step.place), self.spaces_asked(count, at));
        let mut made = 0;
        while extent.next.answer < count {
            let place = extent.next.answer;
            if place % ANSWERS_BETWEEN_LOOKS == ANSWERS_BETWEEN_LOOKS - 1 && (self.should_stop)() {
                return Err(Unfinished::Stopped);
            }
            let mut window = extent.window();
            let value = by.map(|variable| self.answers.get(place)[variable as usize]);
            if let Some(known) = value.and_then(|value| self.scratch.counted.get(value)) {
                made += known;
                extent.pass(window, made);
                continue;
            }
            let before = made;
            take_up(self.answers, place, &mut self.scratch.current);
            for (_, contents) in spaces.iter().enumerate().filter(|(place, _)| asked >> place & 1 == 1) {
                let relation = contents.relation_of_length(step.length);
                made += match is_counted {
                    true => self.scratch.count(at, relation),
                    false => self.scratch.extend(at, (&mut window, self.rows_left), relation),
                };
            }
            if let Some(value) = value {
                self.scratch.counted.put(value, made - before);
            }
            if !is_counted && self.rows_left.is_some_and(|left| made > left) {
                return Err(Unfinished::TooMany);
            }
            if extent.pass(window, made) {
                break;
            }
        }
        Ok(made)
    }

    /// Which spaces are asked for `count` answers, a bit for each. One without rows for a step is passed over, whatever was found so far;
    /// one answer and one space are as soon asked.
    fn spaces_asked(&self, count: usize, At { step, loops, parameters, terms }: At<'_>) -> u64 {
        match self.view.of(step.place) {
            [_] if count == 1 => 1,
            spaces => {
                let relations = spaces.iter().map(|contents| contents.relation_of_length(step.length)).enumerate();
                let asked =
                    relations.filter(|(_, relation)| step.may_answer(&loops.known, Some(parameters), relation, terms));
                asked.fold(0_u64, |asked, (place, _)| asked | 1 << place)
            }
        }
    }
}

/// Makes an answer that was found the current one.
#[inline]
fn take_up(answers: &Answers, place: usize, current: &mut Vec<Term>) {
    current.clear();
    current.extend_from_slice(answers.get(place));
}

impl Scratch {
    /// How many answers the rows of a relation make of the current one, for a step that [can be counted](LoopStep::is_countable).
    fn count(&mut self, at: At<'_>, relation: &Relation) -> usize {
        let (Self { current, rows, keys, row, .. }, terms) = (self, at.terms);
        keys.clear();
        keys.extend(at.known().iter().map(|&(path, known)| (path, at.key(known, current))));
        if keys.iter().any(|&(_, key)| key == NO_TERM) {
            return 0;
        }
        if at.step.is_known {
            row.clear();
            row.extend(keys.iter().map(|&(_, key)| key));
            return relation.count(row, terms);
        }
        let mut count = 0;
        relation.walk(keys, terms, rows, &mut |selected| count += selected.count_with(keys, terms));
        count
    }

    /// Adds what the rows of a relation make of the current answer; gives how many answers that are.
    /// Of the rows that are listed only those within the window are looked at.
    fn extend(&mut self, at: At<'_>, (window, rows_left): (&mut Window, Option<usize>), relation: &Relation) -> usize {
        let Self { next, current, rows, keys, row, .. } = self;
        let At { step, terms, .. } = at;
        rows.clear();
        if step.is_known {
            row.clear();
            row.extend(at.known().iter().map(|&(_, known)| at.key(known, current)));
            if !row.contains(&NO_TERM) {
                relation.find_rows(row, terms, rows);
            }
            let copies: usize = rows[window.pass(rows.len())].iter().map(|&row| relation.row(row).1 as usize).sum();
            (0..copies).for_each(|_| next.extend_from_slice(current));
            return copies;
        }
        keys.clear();
        keys.extend(at.known().iter().map(|&(path, known)| (path, at.key(known, current))));
        if keys.iter().any(|&(_, key)| key == NO_TERM) {
            return 0;
        }
        let (mut made, left) = (0, rows_left.unwrap_or(usize::MAX));
        let looks = left.saturating_mul(LOOKS_FOR_A_ROW);
        let projection = Projection { parts: at.parts(), count: step.taken, keys, current, terms };
        relation.walk(keys, terms, rows, &mut |selected| {
            let within = window.pass(selected.len());
            let selected = if within.len() == selected.len() { &selected } else { &selected.slice(within) };
            // That there are too many rows is known before they are looked at.
            if selected.len() > if selected.is_sure { left } else { looks } {
                made += selected.len();
                return;
            }
            made +=
                if step.taken > 0 { projection.take(selected, next) } else { match_all(at, selected, current, next) };
        });
        made
    }
}

/// Adds what rows make of an answer, each looked at as a whole; gives how many answers that are.
fn match_all(at: At<'_>, selected: &RowSelection<'_>, current: &[Term], next: &mut Vec<Term>) -> usize {
    let At { step, parameters, terms, .. } = at;
    let mut made = 0;
    selected.each_row(|row, copies| {
        let start = next.len();
        next.extend_from_slice(current);
        if row.len() != step.length
            || !matches(step.is_flat, at.parts(), row, &mut Match { answer: &mut next[start..], parameters, terms })
        {
            return next.truncate(start);
        }
        made += copies as usize;
        (1..copies).for_each(|_| next.extend_from_within(start..start + current.len()));
    });
    made
}
