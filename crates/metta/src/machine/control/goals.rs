//! Goals of whose results only some are wanted, or their number: how many were found, and how many are left.

use super::choices::{Choice, ChoiceKind, Choices, CollectorPurpose};
use super::collected::CollectedResults;
use super::frames::Frames;
use crate::lowering::Wanted;
use crate::machine::code::{Code, HEADER, Instruction, OPEN};
use crate::machine::halt::Halt;
use crate::machine::values::Values;
use crate::machine::words::{FALSE, is_small, word};
use crate::operation::results_wanted;
use region::{Full, Ref, tag};

impl Choices {
    /// What is wanted of the results that are collected next, and how many answers of a query that is, if no choice was made since that was
    /// asked.
    pub(in crate::machine) fn wanted_next(&self) -> Option<(Wanted, usize)> {
        match &self.stack.last()?.kind {
            ChoiceKind::Collector(collector) => match collector.purpose {
                CollectorPurpose::Some { wanted, found: 0, most } => Some((wanted, most)),
                _ => None,
            },
            _ => None,
        }
    }

    /// What is wanted of the results of the frame at hand, if it is that of such a goal: how many were found, and how many are asked for.
    fn wanted_of_frame(&self, frames: &Frames, code: &Code) -> Option<(Wanted, [usize; 2])> {
        match &self.stack.get(level_of_goal(frames, code)?)?.kind {
            ChoiceKind::Collector(collector) => match collector.purpose {
                CollectorPurpose::Some { wanted, found, most } => Some((wanted, [found, most])),
                _ => None,
            },
            _ => None,
        }
    }

    /// What the frame at hand comes to goes into data: all results of that child are found before the first is wanted.
    #[cold]
    pub(in crate::machine) fn gather_goal_from_here(&self, frames: &mut Frames, code: &Code) {
        if self.wanted_of_frame(frames, code).is_some() {
            frames.stack[frames.base + 2] = self.stack.len() as u32;
        }
    }

    /// Makes the frame at hand ready for a hole: no choice needs what is in it, and all that it comes to is found first.
    #[inline(always)]
    pub(in crate::machine) fn own_for_hole(
        &self,
        frames: &mut Frames,
        code: &Code,
        return_point: u32,
    ) -> Result<(), Halt> {
        frames.own_at(code, return_point)?;
        if frames.stack[frames.base + 2] == OPEN {
            self.gather_goal_from_here(frames, code);
        }
        Ok(())
    }

    /// Drops the errors that results hide.
    pub(in crate::machine) fn keep_certain(&mut self, values: &mut Values, level: usize) {
        let Choice { kind: ChoiceKind::Collector(collector), .. } = &mut self.stack[level] else {
            unreachable!("it is a collector")
        };
        let mut results = std::mem::take(&mut collector.results);
        results.retain(|value| !values.is_error(value) || values.is_never_hidden(value));
        if let ChoiceKind::Collector(collector) = &mut self.stack[level].kind {
            collector.results = results;
        }
    }

    /// How many more results of the frame at hand are wanted, if it is that of such a goal and not all are.
    #[cold]
    pub(in crate::machine) fn results_left(&self, frames: &Frames, code: &Code) -> Option<usize> {
        match self.wanted_of_frame(frames, code)? {
            (Wanted::First | Wanted::Whether, [found, most]) => Some(most - found),
            (Wanted::Number, _) => None,
        }
    }

    /// Counts `count` results of the frame at hand, none of them an error, if only their number is wanted; says whether it is.
    pub(in crate::machine) fn count_all_of_frame(&mut self, frames: &Frames, code: &Code, count: usize) -> bool {
        if !matches!(self.wanted_of_frame(frames, code), Some((Wanted::Number, _))) {
            return false;
        }
        let level = level_of_goal(frames, code).expect("something is wanted");
        if let ChoiceKind::Collector(collector) = &mut self.stack[level].kind
            && let CollectorPurpose::Some { found, .. } = &mut collector.purpose
        {
            *found += count;
        }
        true
    }

    /// Counts results that are not looked at.
    pub(in crate::machine) fn count_found(&mut self, count: usize) {
        if let Some(Choice { kind: ChoiceKind::Collector(collector), .. }) = self.stack.last_mut()
            && let CollectorPurpose::Some { found, .. } = &mut collector.purpose
        {
            *found += count;
        }
    }
}

/// The place of the choice that collects the results of the frame at hand, if it is that of such a goal.
fn level_of_goal(frames: &Frames, code: &Code) -> Option<usize> {
    let base = frames.base;
    let (return_point, caller) = (frames.stack[base], frames.stack[base + 1] as usize);
    if frames.stack[base + 2] != OPEN {
        return None;
    }
    let place = code.return_point(return_point).pc;
    let Instruction::Collected { begun, .. } = code.instructions[place as usize] else { return None };
    Some(Ref::from_bits(frames.stack[caller + HEADER + usize::from(begun)]).payload() as usize)
}

/// How many results a value asks for, if it is a whole number that is not negative.
pub(in crate::machine) fn count_of(values: &Values, value: Ref) -> Option<usize> {
    match value {
        _ if is_small(value) => usize::try_from(word(value)).ok(),
        _ if value.tag() == tag::NUMBER || values.is_big(value) => results_wanted(&values.leaf_atom(value)),
        _ => None,
    }
}

/// What is done when all results of a goal are there.
pub(in crate::machine) enum GoalEnd {
    /// There is none: the next alternative is tried.
    Nothing,
    /// This is what was asked for about the results.
    Told(Ref),
    Results(CollectedResults),
}

/// All results of a goal that are wanted are there, needless errors dropped.
pub(in crate::machine) fn end_of_goal(
    values: &mut Values,
    wanted: Wanted,
    [found, most]: [usize; 2],
    mut results: CollectedResults,
) -> Result<GoalEnd, Full> {
    match wanted {
        Wanted::First => {
            results.truncate(most);
            if results.is_empty() {
                return Ok(GoalEnd::Nothing);
            }
        }
        Wanted::Whether | Wanted::Number => {
            // What was counted is no error and was not kept.
            if found > 0 {
                results.retain(|value| values.is_never_hidden(value));
            }
            results.truncate(1);
            // Nobody sees what was bound on the way to an answer about results.
            results.unbind();
            if results.is_empty() {
                let value = match wanted {
                    Wanted::Number => values.integer(found as i64)?,
                    _ => FALSE,
                };
                return Ok(GoalEnd::Told(value));
            }
        }
    }
    Ok(GoalEnd::Results(results))
}
