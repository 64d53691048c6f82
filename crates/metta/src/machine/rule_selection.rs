//! Which rules of a function are tried for a call, and what is done when one matches and when none does.

use super::code::{Entry, Exclusive, Group, HEADER, Kind, Listed};
use super::control::choices::{Choice, ChoiceKind, NONE, Trying};
use super::control::frames::lay_out;
use super::control::trying::{candidate, list_for};
use super::slots::Slots;
use super::words::TERM;
use super::{Halt, Running};

impl Running<'_> {
    /// Tries the rules of a group on the arguments of the frame at hand.
    #[inline]
    pub(super) fn enter_group(&mut self, group: u32) -> Result<(), Halt> {
        let list = list_for((&self.m.code, &self.m.frames, &self.m.values), group);
        match candidate((&self.m.code, &self.m.frames, &self.m.values), group, list, 0) {
            Some(first) => {
                let from = self.m.frames.pc;
                let parts = (&self.m.code, &mut self.m.frames, &self.m.values);
                self.m.choices.try_place(parts, (group, list, first), (from, false));
                Ok(())
            }
            None => {
                let function = self.m.code.groups[group as usize].function;
                self.give_unreduced(function, self.m.frames.pc)
            }
        }
    }

    /// Goes on with the one rule that an argument leaves, its children laid out.
    #[inline(always)]
    pub(super) fn enter_exclusive(&mut self, exclusive: u32) -> Result<(), Halt> {
        let m = &mut self.m;
        let Exclusive { group, argument, .. } = m.code.exclusives[exclusive as usize];
        let mut value = m.read(argument);
        let key = match m.values.switch_key(value) {
            None if value.tag() == TERM => {
                value = m.values.open_term(value)?;
                m.frames.set_slot(argument, value);
                m.values.switch_key(value)
            }
            key => key,
        };
        let Exclusive { ref cases, .. } = m.code.exclusives[exclusive as usize];
        let Some(key) = key else { return self.enter_group(group) };
        let Some(case) = cases.iter().find(|case| case.key == key) else {
            let function = m.code.groups[group as usize].function;
            return self.give_unreduced(function, self.m.frames.pc);
        };
        m.frames.pc = case.body;
        if case.children > 0 {
            let to = m.frames.base + HEADER + usize::from(case.dst);
            let count = usize::from(case.children);
            lay_out(&mut m.frames.stack[to..to + count], m.values.heap.children_from(value, 1, count));
        }
        Ok(())
    }

    /// Enters a function of many rules, its frame made.
    pub(super) fn enter_indexed(&mut self, function: u32, index: u32) -> Result<(), Halt> {
        let Entry { kind, slots } = self.reached_by_call(function, index)?;
        self.m.frames.ensure(slots)?;
        match kind {
            Kind::Group(group) => self.enter_group(group),
            Kind::Exclusive(exclusive) => self.enter_exclusive(exclusive),
            Kind::Constructor => self.give_unreduced(function, self.m.frames.pc),
            _ => self.interpret_call(function, self.m.frames.pc),
        }
    }

    /// The head of the rule that is being tried does not match.
    pub(super) fn mismatch(&mut self) -> Result<(), Halt> {
        let Trying { place, next, trail, .. } = self.m.choices.trying;
        self.m.undo_to(trail);
        if next == NONE {
            return self.no_rule();
        }
        let Listed { goes_on, .. } =
            self.m.choices.trying.go_to_rule((&self.m.code, &mut self.m.frames, &self.m.values), next);
        // What the rule before it has taken apart is still in its slots.
        if goes_on.is_some_and(|slot| next == place + 1 && self.m.read(slot).is_expression()) {
            self.m.frames.pc += 1;
        }
        Ok(())
    }

    /// No rule is left: the call stands for itself, unless a rule has matched before.
    fn no_rule(&mut self) -> Result<(), Halt> {
        if self.m.choices.trying.matched {
            return self.fail();
        }
        let function = self.m.code.groups[self.m.choices.trying.group as usize].function;
        self.give_unreduced(function, self.m.choices.trying.from)
    }

    /// The head of a rule has matched.
    #[inline]
    pub(super) fn commit(&mut self) -> Result<(), Halt> {
        let Trying { group, list, next, trail, heap, foreign, from, .. } = self.m.choices.trying;
        if next != NONE {
            let (frames, values, notes) = (&mut self.m.frames, &mut self.m.values, self.m.types.notes);
            let slots = Slots { frames, values, notes };
            if has_space_argument(&slots, &self.m.code.groups[group as usize]) {
                // What further rules make of it, the interpreter knows; their results must be of one lookup.
                self.m.undo_to(trail);
                let function = self.m.code.groups[group as usize].function;
                return self.interpret_call(function, from);
            }
            let Group { function, are_facts, .. } = self.m.code.groups[group as usize];
            if are_facts {
                self.m.frames.leave_choices(self.m.choices.stack.len());
            }
            let top = self.m.frames.base + HEADER + usize::from(self.m.code.functions[function as usize].arguments);
            let noted = self.m.choices.changed_states.len() as u32;
            let kind = ChoiceKind::Rules { group, list, next, from, noted };
            let choice = Choice { frame_base: self.m.frames.base, end: top, top, trail, heap, foreign, kind };
            self.m.choices.push_made(&mut self.m.frames, choice);
        }
        Ok(())
    }
}

/// Whether an argument of the frame at hand is a space that a rule looks into: where all have a variable, it is a value like
/// any other.
fn has_space_argument(slots: &Slots<'_>, group: &Group) -> bool {
    let asked = group.looked_into.iter();
    asked.map(|&slot| slots.read(slot)).any(|value| slots.values.space_of(value).is_some())
}
