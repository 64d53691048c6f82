//! What a rule comes to whose body is no expression to be evaluated: a variable that stands for `NotReducible`, for a `function`, or for a value.

use super::code::{Kind, REDUCE, Slot, Template, TypeId};
use super::control::choices::Destination;
use super::words::NOT_REDUCIBLE;
use super::{Halt, Running};
use crate::interpreter::Task;
use region::{Ref, tag};

impl Running<'_> {
    /// The call of a function stands for itself because a rule says so.
    pub(super) fn give_unreduced_by_rule(&mut self, function: u32) -> Result<(), Halt> {
        if self.m.code.functions[function as usize].type_id == REDUCE {
            return self.give(NOT_REDUCIBLE);
        }
        let call = self.m.call_of(function)?;
        let call = self.m.resolve(call)?;
        // Where there are other rules, it comes to what they say as well if it is evaluated again.
        let is_only = match self.m.code.functions[function as usize].kind {
            Kind::Rule(_) => true,
            _ => self
                .m
                .unchanged_calls()
                .group_tried(function)
                .is_some_and(|group| group.rules.len() == 1 && !group.has_others),
        };
        if is_only {
            self.types().note_made(call);
        }
        let from = self.m.unchanged_calls().called_from(function);
        self.give_as_called(call, from)
    }

    /// A call that stands for itself because something has answered so: with what that has bound it counts as evaluated.
    fn standing(&mut self, call: Ref) -> Result<Ref, Halt> {
        let call = self.m.resolve(call)?;
        Ok(self.m.evaluated(call))
    }

    /// What a rule says whose body is a variable.
    pub(super) fn give_body(&mut self, slot: Slot, type_id: TypeId, function: u32) -> Result<(), Halt> {
        let value = self.m.read(slot);
        if value == NOT_REDUCIBLE {
            return self.give_unreduced_by_rule(function);
        }
        if self.m.values.is_code(value, true)? {
            let call = self.m.call_of(function)?;
            let from = self.m.unchanged_calls().called_from(function);
            let is_same = self.m.unchanged_calls().is_call_unchanged(call, from)?;
            return self.enter_code(call, value, (type_id, is_same), Destination::Frame);
        }
        match self.m.normal(value, type_id) {
            Some(normal) => self.give(normal),
            None if self.m.values.is_error(value) => self.give(value),
            None if type_id == self.m.types.atom_type => self.give(value),
            None => self.evaluate_here(value, type_id),
        }
    }

    /// An answer of a form that is `NotReducible`, code, or an error.
    pub(super) fn check_reduct(
        &mut self,
        slot: Slot,
        call: Option<Template>,
        type_id: TypeId,
        return_point: u32,
    ) -> Result<(), Halt> {
        let value = self.m.read(slot);
        if self.m.values.is_error(value) {
            return self.resume(return_point, value.unmarked());
        }
        let Some(call) = call else { return self.fail() };
        let call = self.m.build(call.get())?;
        if value == NOT_REDUCIBLE {
            let call = self.standing(call)?;
            return self.resume(return_point, call);
        }
        self.enter_code(call, value, (type_id, true), Destination::ReturnPoint(return_point))
    }

    /// Lets a call enter the code that it was reduced to; with its type, and whether it is what was to be evaluated.
    fn enter_code(
        &mut self,
        call: Ref,
        code: Ref,
        (type_id, is_same): (TypeId, bool),
        to: Destination,
    ) -> Result<(), Halt> {
        let both = self.m.values.heap.expression(&mut self.m.values.region, &[call, code])?;
        let type_atom = self.types().type_atom(type_id);
        self.interpret(both, to, |both| {
            let both = both.children().expect("it is a pair");
            Task::Code { call: both[0].clone(), code: both[1].clone(), type_atom, changed: !is_same }
        })
    }

    /// An unbound variable that a rule has made becomes one of the form.
    pub(super) fn name_variable(&mut self, slot: Slot, index: u32) -> Result<(), Halt> {
        let value = self.m.read(slot);
        if value.tag() == tag::VARIABLE && !self.m.values.is_written(value) {
            let named = self.m.values.make_form_variable(index)?;
            self.m.bind(value, named);
        }
        Ok(())
    }
}
