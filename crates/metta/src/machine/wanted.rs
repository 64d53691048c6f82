//! `once`, `limit`, `has-result`, `count-results`: goals of whose results only some are wanted, or their number.
//!
//! 1. A collector is made for the results, and the goal is called in an open frame: each result comes here when it is found.
//! 2. If no further result is wanted, the choices above the collector are taken away (a cut), so that nothing else of the goal is
//!    evaluated. Only then is an error that was met before dropped; without any other result it counts.
//! 3. What is counted is not kept.
//! 4. If the goal is a `match` and each answer comes to one result, as many answers are searched for as results are wanted
//!    (`query/some.rs`).

use super::choices::{Choice, ChoiceKind, CollectorPurpose, Destination};
use super::code::{HEADER, Instruction, OPEN, Slot};
use super::collected::CollectedResults;
use super::words::{FALSE, TRUE, is_small, raw, word};
use super::{Halt, Machine, Running};
use crate::lowering::Wanted;
use crate::operation::results_wanted;
use region::{Ref, tag};

impl Machine {
    /// How many results a value asks for, if it is a whole number that is not negative.
    pub(super) fn count_of(&self, value: Ref) -> Option<usize> {
        match value {
            _ if is_small(value) => usize::try_from(word(value)).ok(),
            _ if value.tag() == tag::NUMBER || self.values.is_big(value) => {
                results_wanted(&self.values.leaf_atom(value))
            }
            _ => None,
        }
    }

    /// Takes the choices from a level on away: their alternatives are not tried.
    pub(super) fn cut(&mut self, level: usize) {
        self.choices.stack.truncate(level);
        self.end_backtracking();
        self.choices.protected = self.choices.stack.last().map_or(0, |choice| choice.top);
        self.choices.floor.choices = self.choices.floor.choices.min(level);
    }

    /// What is wanted of the results that are collected next, and how many answers of a query that is, if no choice was made since that was
    /// asked.
    pub(super) fn wanted_next(&self) -> Option<(Wanted, usize)> {
        match &self.choices.stack.last()?.kind {
            ChoiceKind::Collector(collector) => match collector.purpose {
                CollectorPurpose::Some { wanted, found: 0, most } => Some((wanted, most)),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Running<'_> {
    /// Begins to collect as many results as a slot says.
    pub(super) fn collect_some(
        &mut self,
        slot: Slot,
        most: Slot,
        wanted: Wanted,
        return_point: u32,
    ) -> Result<(), Halt> {
        let most = self.m.count_of(self.m.read(most)).expect("a guard stands before it");
        if most == 0 {
            return self.fail();
        }
        let level = raw(self.m.choices.stack.len());
        self.m.set_slot(slot, level);
        self.begin_collecting(CollectorPurpose::Some { wanted, found: 0, most }, return_point)?;
        match wanted {
            Wanted::Number => self.m.begin_backtracking(),
            Wanted::First | Wanted::Whether => self.m.pause_backtracking(),
        }
        Ok(())
    }

    /// A result of a goal of which some are wanted.
    pub(super) fn found_one(&mut self, value: Ref, level: usize) -> Result<(), Halt> {
        let is_error = self.m.is_error(value);
        if is_error && !self.m.is_overflow(value) {
            self.keep(value, level)?;
            return self.fail();
        }
        let Choice { kind: ChoiceKind::Collector(collector), trail, .. } = &mut self.m.choices.stack[level] else {
            unreachable!("it is a collector")
        };
        let CollectorPurpose::Some { wanted, found, most } = &mut collector.purpose else {
            unreachable!("some results are wanted")
        };
        *found += 1;
        let (wanted, most, return_point) = (*wanted, *most, collector.return_point);
        let is_last = *found == most && wanted != Wanted::Number;
        let (floor, trail) = (collector.floor, *trail);
        let only = match wanted {
            Wanted::Number if !is_error => return self.fail(),
            // What it has bound stays bound.
            Wanted::First if most == 1 => Some(value),
            Wanted::Whether if !is_error => {
                self.m.undo_to(trail);
                Some(TRUE)
            }
            _ => None,
        };
        if let Some(told) = only {
            self.m.choices.floor = floor;
            self.m.cut(level);
            self.resume_raw(return_point, told);
            return Ok(());
        }
        self.keep(value, level)?;
        if is_last {
            self.keep_certain(level);
            self.m.cut(level + 1);
        }
        self.fail()
    }

    /// Drops the errors that results hide.
    fn keep_certain(&mut self, level: usize) {
        let Choice { kind: ChoiceKind::Collector(collector), .. } = &mut self.m.choices.stack[level] else {
            unreachable!("it is a collector")
        };
        let mut results = std::mem::take(&mut collector.results);
        results.retain(|value| !self.m.is_error(value) || self.m.is_overflow(value));
        if let ChoiceKind::Collector(collector) = &mut self.m.choices.stack[level].kind {
            collector.results = results;
        }
    }

    /// All results that are wanted are there, needless errors dropped; says whether the evaluation goes on from here.
    pub(super) fn end_some(
        &mut self,
        wanted: Wanted,
        [found, most]: [usize; 2],
        mut results: CollectedResults,
        return_point: u32,
    ) -> Result<bool, Halt> {
        match wanted {
            Wanted::First => {
                results.truncate(most);
                if results.is_empty() {
                    return Ok(false);
                }
            }
            Wanted::Whether | Wanted::Number => {
                // What was counted is no error and was not kept.
                if found > 0 {
                    results.retain(|value| self.m.is_overflow(value));
                }
                results.truncate(1);
                // Nobody sees what was bound on the way to an answer about results.
                results.unbind();
                if results.is_empty() {
                    let value = match wanted {
                        Wanted::Number => self.m.values.integer(found as i64)?,
                        _ => FALSE,
                    };
                    self.resume_raw(return_point, value);
                    return Ok(true);
                }
            }
        }
        self.deliver_all(results, Destination::Slot(return_point))?;
        Ok(true)
    }
}

impl Machine {
    /// What is wanted of the results of the frame at hand, if it is that of such a goal: how many were found, and how many are asked for.
    fn wanted_of_frame(&self) -> Option<(Wanted, [usize; 2])> {
        match &self.choices.stack.get(self.level_of_goal()?)?.kind {
            ChoiceKind::Collector(collector) => match collector.purpose {
                CollectorPurpose::Some { wanted, found, most } => Some((wanted, [found, most])),
                _ => None,
            },
            _ => None,
        }
    }

    /// The place of the choice that collects the results of the frame at hand, if it is that of such a goal.
    fn level_of_goal(&self) -> Option<usize> {
        let base = self.frames.base;
        let (return_point, caller) = (self.frames.stack[base], self.frames.stack[base + 1] as usize);
        if self.frames.stack[base + 2] != OPEN {
            return None;
        }
        let place = self.return_point(return_point).pc;
        let Instruction::Collected { begun, .. } = self.code.instructions[place as usize] else { return None };
        Some(Ref::from_bits(self.frames.stack[caller + HEADER + usize::from(begun)]).payload() as usize)
    }

    /// What the frame at hand comes to goes into data: all results of that child are found before the first is wanted.
    #[cold]
    pub(super) fn gather_goal_from_here(&mut self) {
        if self.wanted_of_frame().is_some() {
            self.frames.stack[self.frames.base + 2] = self.choices.stack.len() as u32;
        }
    }

    /// How many more results of the frame at hand are wanted, if it is that of such a goal and not all are.
    #[cold]
    pub(super) fn results_left(&self) -> Option<usize> {
        match self.wanted_of_frame()? {
            (Wanted::First | Wanted::Whether, [found, most]) => Some(most - found),
            (Wanted::Number, _) => None,
        }
    }
}

impl Machine {
    /// Counts `count` results of the frame at hand, none of them an error, if only their number is wanted; says whether it is.
    pub(super) fn count_all_of_frame(&mut self, count: usize) -> bool {
        if !matches!(self.wanted_of_frame(), Some((Wanted::Number, _))) {
            return false;
        }
        let level = self.level_of_goal().expect("something is wanted");
        if let ChoiceKind::Collector(collector) = &mut self.choices.stack[level].kind
            && let CollectorPurpose::Some { found, .. } = &mut collector.purpose
        {
            *found += count;
        }
        true
    }

    /// Counts results that are not looked at.
    pub(super) fn count_found(&mut self, count: usize) {
        if let Some(Choice { kind: ChoiceKind::Collector(collector), .. }) = self.choices.stack.last_mut()
            && let CollectorPurpose::Some { found, .. } = &mut collector.purpose
        {
            *found += count;
        }
    }
}
