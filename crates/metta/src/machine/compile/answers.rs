//! What a form answers with, where that is a variable.
//!
//! 1. A variable may stand for `NotReducible`: then what was reduced last stands for itself, as if the form had no rule.
//! 2. It may stand for code: where a rule or a native function gives it, the call enters that, and its errors name the call.
//! 3. It may stand for an error, which is final as the answer of a form, even if the error is not a complete one.
//! 4. All of this is checked where the variable is evaluated; a number or a truth value is none of these.
//! 5. `NotReducible` as it is written is an answer too.

use super::{Compiler, Dest, Label, Later};
use crate::machine::code::{Guard, Instruction, Slot, Template, TypeId};
use crate::names;
use space::Atom;

/// What becomes of an odd answer.
#[derive(Clone)]
pub(super) enum OddAnswer {
    /// For `NotReducible` there is no result.
    Fails,
    /// For `NotReducible` this stands for itself.
    Stands(Atom),
    /// For `NotReducible` this stands for itself, and it enters code.
    Enters(Atom),
    /// There is no result, or this enters the code.
    FailsOrEnters(Atom),
}

impl Compiler<'_, '_> {
    /// Evaluates what a form answers with.
    pub(super) fn answer(
        &mut self,
        body: &Atom,
        type_id: TypeId,
        dest: Dest,
        odd: impl FnOnce(&mut Self) -> OddAnswer,
    ) {
        match self.open_slot(body) {
            Some(slot) => {
                let odd = odd(self);
                self.or_odd(slot, &odd, type_id, dest, |compiler| compiler.reduct(body, type_id, dest));
            }
            None if body.is_symbol(names::NOT_REDUCIBLE) => {
                let odd = odd(self);
                self.not_reducible(body, odd, type_id, dest);
            }
            None => self.reduct(body, type_id, dest),
        }
    }

    /// The answer is `NotReducible` as it is written.
    fn not_reducible(&mut self, body: &Atom, odd: OddAnswer, type_id: TypeId, dest: Dest) {
        match odd {
            OddAnswer::Stands(call) | OddAnswer::Enters(call) => {
                let slot = self.slot();
                self.raw(body, Dest::Slot(slot));
                self.check_reduct(slot, Some(&call), type_id, dest);
            }
            OddAnswer::Fails | OddAnswer::FailsOrEnters(_) => {
                self.emit(Instruction::Fail);
            }
        }
    }

    /// The slot of an atom that is a variable which may stand for anything.
    pub(super) fn open_slot(&self, atom: &Atom) -> Option<Slot> {
        let Atom::Variable(variable) = atom else { return None };
        let slot = self.state.variables.get(variable).copied()?;
        (!self.state.facts.contains_key(&slot)).then_some(slot)
    }

    /// Evaluates what a slot holds, unless that is an odd answer.
    pub(super) fn or_odd(
        &mut self,
        slot: Slot,
        odd: &OddAnswer,
        type_id: TypeId,
        dest: Dest,
        evaluate: impl FnOnce(&mut Self),
    ) {
        let join = (dest != Dest::Tail).then(|| self.label());
        match (dest, join) {
            (Dest::Slot(dst), Some(join)) => self.move_leaf(slot, dst, type_id, join),
            _ => self.return_leaf(slot, type_id, dest),
        }
        let (guards, call): (&[Guard], _) = match odd {
            OddAnswer::Fails => (&[Guard::Reducible], None),
            OddAnswer::Stands(call) => (&[Guard::Reducible], Some(call)),
            OddAnswer::Enters(call) => (&[Guard::Answer], Some(call)),
            OddAnswer::FailsOrEnters(call) => (&[Guard::Reducible, Guard::Answer], Some(call)),
        };
        for (place, &guard) in guards.iter().enumerate() {
            let label = self.label();
            self.emit_to(Instruction::Guard { slot, guard, or: 0 }, label);
            let call = call.filter(|_| place + 1 == guards.len()).cloned();
            let (state, errors) = (self.state.clone(), self.errors);
            self.write_behind(Later::OddAnswer { label, slot, call, type_id, dest, state, join, errors });
        }
        evaluate(self);
        if let Some(join) = join {
            self.place(join);
        }
    }

    /// A number or another leaf in a slot is the result of the frame: nothing else is asked about it.
    pub(super) fn return_leaf(&mut self, slot: Slot, type_id: TypeId, dest: Dest) {
        if let (Dest::Tail, Some(is_number)) = (dest, self.wants_leaf(type_id)) {
            self.emit(Instruction::ReturnLeaf { slot, is_number });
        }
    }

    /// It is the value of another slot, with which the code goes on at a label.
    fn move_leaf(&mut self, slot: Slot, dst: Slot, type_id: TypeId, join: Label) {
        if let Some(is_number) = self.wants_leaf(type_id) {
            self.emit_to(Instruction::MoveLeaf { slot, dst, is_number, to: 0 }, join);
        }
    }

    /// Whether leaves are of a type without a look at what else is declared, and if so, whether only numbers are.
    fn wants_leaf(&self, type_id: TypeId) -> Option<bool> {
        let is_number = type_id == self.run.m.type_cache.number_type;
        (type_id == 0 || is_number).then_some(is_number)
    }

    /// The call stands for itself or enters the code that a slot holds.
    pub(super) fn check_reduct(&mut self, slot: Slot, call: Option<&Atom>, type_id: TypeId, dest: Dest) {
        let template = call.map(|call| self.template(call)).and_then(Template::new);
        let dst = self.target(dest);
        let return_point = self.return_point(dst, None);
        self.emit(Instruction::CheckReduct { slot, template, type_id, return_point });
        self.finish(dst, dest);
    }
}
