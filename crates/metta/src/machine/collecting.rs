//! The instructions that make alternatives and collect results: `superpose`, `collapse`, what asks for the results of a part, and goals of whose
//! results only some are wanted, or their number: `once`, `limit`, `has-result`, `count-results`.
//!
//! 1. A collector is made for the results of a goal, and it is called in an open frame: each result comes here when it is found.
//! 2. If no further result is wanted, the choices above the collector are taken away (a cut), so that nothing else of the goal is
//!    evaluated. Only then is an error that was met before dropped; without any other result it counts.
//! 3. If results are only counted, they are not kept.
//! 4. If the goal is a `match` and each answer comes to one result, as many answers are searched for as results are wanted
//!    (`query/some.rs`).

use super::code::{Branches, CollectedInto, Slot};
use super::control::choices::{Choice, ChoiceKind, CollectorPurpose};
use super::control::goals::count_of;
use super::values::Scope;
use super::words::{EMPTY, TERM, TRUE, raw};
use super::{Halt, Running};
use crate::lowering::Wanted;
use crate::stdlib::forms::asks_for_absence;
use crate::tables::Policy;
use region::Ref;

impl Running<'_> {
    /// Each child of a list is an alternative.
    pub(super) fn superpose(&mut self, slot: Slot, return_point: u32) -> Result<(), Halt> {
        let mut list = self.m.read(slot);
        if list.tag() == TERM {
            list = self.m.values.open_term(list)?;
        }
        debug_assert!(list.is_expression(), "the compiler guards it");
        let length = self.m.values.heap.length(list);
        if length == 0 {
            return self.fail();
        }
        if length > 1 {
            let base = self.m.frames.base;
            let top = self.m.frames.end_at(&self.m.code, base, return_point);
            self.m.choices.push(
                &mut self.m.frames,
                &self.m.values,
                (base, top),
                ChoiceKind::Children { list, next: 1, return_point },
            );
        }
        let first = self.m.values.heap.child(list, 0);
        self.m.frames.resume_raw(&self.m.code, return_point, first);
        Ok(())
    }

    /// Begins to collect results.
    pub(super) fn collect(&mut self, slot: Slot, return_point: u32, into: CollectedInto) -> Result<(), Halt> {
        let level = raw(self.m.choices.stack.len());
        self.m.frames.set_slot(slot, level);
        match into {
            CollectedInto::List => {
                self.m.choices.begin_collecting(
                    &mut self.m.frames,
                    &self.m.values,
                    &self.m.code,
                    (CollectorPurpose::List, return_point),
                );
                self.m.choices.begin_backtracking(&mut self.m.code.wrong_assumptions, self.m.frames.pc - 1);
                Ok(())
            }
            CollectedInto::Subjects(branches) => {
                let asks_for_absence = match branches {
                    Branches::Known { asks_for_absence } => asks_for_absence,
                    Branches::In(slot) => {
                        let branches = self.m.read(slot);
                        let source = self.session.program.variables();
                        asks_for_absence(&self.m.values.store(branches, &mut Scope::default(), source)?)
                    }
                };
                self.m.choices.begin_collecting(
                    &mut self.m.frames,
                    &self.m.values,
                    &self.m.code,
                    (CollectorPurpose::Subjects { asks_for_absence }, return_point),
                );
                Ok(())
            }
        }
    }

    /// A result of what is being collected.
    pub(super) fn collected(&mut self, begun: Slot, slot: Slot) -> Result<(), Halt> {
        let level = self.m.frames.slot(begun).payload() as usize;
        let value = self.m.read(slot);
        if value == EMPTY {
            return self.fail();
        }
        let is_last = self.m.choices.stack.len() == level + 1;
        let ChoiceKind::Collector(collector) = &self.m.choices.stack[level].kind else {
            unreachable!("it is a collector")
        };
        match collector.purpose {
            CollectorPurpose::Subjects { .. } if is_last && collector.results.is_empty() => {
                // The only one: what it has bound stays bound.
                let return_point = collector.return_point;
                self.m.choices.pop(&mut self.m.frames);
                self.m.frames.resume_raw(&self.m.code, return_point, value);
                return Ok(());
            }
            CollectorPurpose::Table(call) if call.policy == Policy::Declared && !self.m.values.is_error(value) => {
                return self.found_answer(value);
            }
            CollectorPurpose::Some { .. } => return self.found_one(value, level),
            _ => {}
        }
        self.m.choices.keep(&mut self.m.values, self.m.types.notes, value, level)?;
        self.fail()
    }

    /// A result of the whole.
    pub(super) fn answer(&mut self) -> Result<(), Halt> {
        let value = self.m.read(0);
        let value = self.m.resolve(value)?;
        self.results.push(value);
        self.m.choices.keep_memory_of(&self.m.values, value);
        self.fail()
    }

    /// Begins to collect as many results as a slot says.
    pub(super) fn collect_some(
        &mut self,
        slot: Slot,
        most: Slot,
        wanted: Wanted,
        return_point: u32,
    ) -> Result<(), Halt> {
        let most = count_of(&self.m.values, self.m.read(most)).expect("a guard stands before it");
        if most == 0 {
            return self.fail();
        }
        let level = raw(self.m.choices.stack.len());
        self.m.frames.set_slot(slot, level);
        self.m.choices.begin_collecting(
            &mut self.m.frames,
            &self.m.values,
            &self.m.code,
            (CollectorPurpose::Some { wanted, found: 0, most }, return_point),
        );
        match wanted {
            Wanted::Number => {
                self.m.choices.begin_backtracking(&mut self.m.code.wrong_assumptions, self.m.frames.pc - 1)
            }
            Wanted::First | Wanted::Whether => self.m.choices.backtracking.pause(self.m.choices.stack.len() - 1),
        }
        Ok(())
    }

    /// A result of a goal of which some are wanted.
    fn found_one(&mut self, value: Ref, level: usize) -> Result<(), Halt> {
        let is_error = self.m.values.is_error(value);
        if is_error && !self.m.values.is_never_hidden(value) {
            self.m.choices.keep(&mut self.m.values, self.m.types.notes, value, level)?;
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
            self.m.choices.cut(&mut self.m.frames, &mut self.m.code.wrong_assumptions, level);
            self.m.frames.resume_raw(&self.m.code, return_point, told);
            return Ok(());
        }
        self.m.choices.keep(&mut self.m.values, self.m.types.notes, value, level)?;
        if is_last {
            self.m.choices.keep_certain(&mut self.m.values, level);
            self.m.choices.cut(&mut self.m.frames, &mut self.m.code.wrong_assumptions, level + 1);
        }
        self.fail()
    }
}
