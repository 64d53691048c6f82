//! Goals of whose results only some are wanted: `once`, `limit`, `has-result`, `count-results`. See [`crate::machine::wanted`].
//!
//! The goal becomes a function of its own, called in an open frame: in last place no expression collects its alternatives,
//! so that each result is there as soon as it is found.

use super::{Compiler, Dest, Errors, Later};
use crate::lowering::{Lowering, Wanted};
use crate::machine::code::{
    Guard, HEADER, Instruction, NO_FUNCTION, OPEN, Slot, SyntheticBody, SyntheticFunction, TemplateData, TypeId,
};
use crate::machine::words::{EMPTY, ERROR, NOT_REDUCIBLE, small};
use crate::names;
use crate::operation::lowering_of;
use region::Ref;
use space::{Atom, Variable, variables};

/// What is said of a number of results that is none.
const NO_COUNT: &str = "limit expects a whole number, 0 or more, as its first argument";

impl Compiler<'_, '_> {
    /// `(once goal)`, `(has-result goal)`, `(count-results goal)`; says whether it could be compiled.
    pub(super) fn some_results(
        &mut self,
        atom: &Atom,
        (wanted, goal): (Wanted, &Atom),
        type_id: TypeId,
        dest: Dest,
    ) -> bool {
        let result = self.result_of(wanted);
        if !self.run.types().agrees_statically(result, type_id) {
            return false;
        }
        let what = SyntheticBody::Some { wanted, goal: goal.clone(), has_most: false };
        self.made(atom, what, result, &[], dest);
        true
    }

    /// `(limit most goal)`; says whether it could be compiled.
    pub(super) fn limited(&mut self, atom: &Atom, [most, goal]: [&Atom; 2], type_id: TypeId, dest: Dest) -> bool {
        let (result, number) = (self.run.m.types.atom_type, self.run.m.types.number_type);
        let mut guards = Vec::new();
        if !self.run.types().agrees_statically(result, type_id)
            || !self.facts().agrees(most, number, false, &mut guards)
        {
            return false;
        }
        self.guard_each(&guards, atom, type_id, dest);
        let what = SyntheticBody::Some { wanted: Wanted::First, goal: goal.clone(), has_most: true };
        let write = |compiler: &mut Self, dest: Dest| {
            let slot = compiler.native_operand(most, number);
            compiler.made(atom, what, result, &[slot], dest);
        };
        if self.facts().may_branch(most) {
            self.within_barrier(dest, write)
        } else {
            write(self, dest)
        }
        true
    }

    /// The type of what a form comes to.
    fn result_of(&self, wanted: Wanted) -> TypeId {
        let types = &self.run.m.types;
        match wanted {
            Wanted::First => types.atom_type,
            Wanted::Whether => types.bool_type,
            Wanted::Number => types.number_type,
        }
    }

    /// The code of such a form: its results are those of the call, as they stand. How many are wanted is in the slot behind those of
    /// its variables, if that is said.
    pub(super) fn some_code(&mut self, made: &SyntheticFunction, (wanted, goal): (Wanted, &Atom), has_most: bool) {
        let most = match has_most {
            true => made.captured.len() as Slot,
            false => self.one(),
        };
        self.mark_live(most);
        self.some_of(goal, wanted, (most, has_most), |compiler, dst| compiler.leave_some(made, dst));
    }

    /// Goes on with what is wanted of a goal, in a slot. If a slot may not hold how many results are wanted, that is looked at.
    fn some_of(
        &mut self,
        goal: &Atom,
        wanted: Wanted,
        (most, is_open): (Slot, bool),
        leave: impl FnOnce(&mut Self, Slot),
    ) {
        let otherwise = self.label();
        if is_open {
            self.emit_to(Instruction::Guard { slot: most, guard: Guard::Count, or: 0 }, otherwise);
        }
        let before = self.state.clone();
        let dst = self.results_of(goal, wanted, most);
        leave(self, dst);
        self.place(otherwise);
        self.state = before;
        if is_open {
            let number = self.stand_in(most);
            let call = Atom::expression([Atom::symbol("limit"), number, goal.clone()]);
            let error = Atom::expression([Atom::symbol(names::ERROR), call, Atom::from(NO_COUNT)]);
            self.raw(&error, Dest::Tail);
        }
    }

    fn leave_some(&mut self, made: &SyntheticFunction, slot: Slot) {
        let call = self.template(&made.call);
        self.emit(Instruction::Leave { slot, type_id: made.type_id, call, function: NO_FUNCTION });
    }

    /// Such a form of what the first slots hold.
    pub(super) fn some_of_arguments(&mut self, wanted: Wanted, count: usize, type_id: TypeId) {
        (0..count as Slot).for_each(|slot| self.mark_live(slot));
        let is_open = count > 1;
        let most = if is_open { 0 } else { self.one() };
        let goal = self.stand_in(count as Slot - 1);
        let leave = |compiler: &mut Self, dst: Slot| compiler.leave_library(dst, type_id, count);
        self.some_of(&goal, wanted, (most, is_open), leave);
    }

    /// A slot that holds 1.
    fn one(&mut self) -> Slot {
        let dst = self.slot();
        self.emit(Instruction::Load { dst, value: small(1).expect("it is small") });
        self.mark_live(dst);
        dst
    }

    /// The slot of each result of a goal that is wanted, or of what there is to say about them.
    fn results_of(&mut self, goal: &Atom, wanted: Wanted, most: Slot) -> Slot {
        let (dst, begun, value) = (self.slot(), self.slot(), self.slot());
        self.make_shared(goal);
        let (label, back) = (self.label(), self.label());
        let outer = std::mem::replace(&mut self.errors, Errors::Destination(label));
        let at = self.next as Slot;
        let place = self.emit(Instruction::Fail);
        let state = self.state.clone();
        self.open_goal(goal, value);
        self.emit(Instruction::Collected { begun, slot: value });
        self.state = state;
        let return_point = self.return_point(dst, Some(at));
        self.run.m.code.return_points[return_point as usize].pc = self.here();
        self.run.m.code.instructions[place] = Instruction::CollectSome { slot: begun, most, wanted, return_point };
        self.mark_live(dst);
        self.state.is_stale = true;
        self.errors = outer;
        self.write_behind(Later::Raw { label, dst, back });
        self.place(back);
        dst
    }

    /// Calls a function made of a goal in an open frame: each of its results goes to a slot, errors included.
    fn open_goal(&mut self, goal: &Atom, dst: Slot) {
        let known = |variable: &Variable| self.state.variables.contains_key(variable);
        let captured: Box<[Variable]> = variables(goal).into_iter().filter(known).collect();
        let sources: Vec<Slot> = captured.iter().map(|variable| self.state.variables[variable]).collect();
        let what = SyntheticBody::Goal;
        let made = SyntheticFunction { captured, is_form: self.is_form, what, call: goal.clone(), type_id: 0 };
        let function = self.run.make_function(made, sources.len());
        let block = self.slots(HEADER + sources.len());
        for (place, src) in (block + HEADER as Slot..).zip(sources) {
            self.emit(Instruction::Move { dst: place, src });
        }
        self.emit(Instruction::Load { dst: block + 2, value: Ref::from_bits(OPEN) });
        let (return_point, back) = self.raw_return_point(dst, Some(block));
        self.emit(Instruction::Call { function, return_point, begun: true });
        self.place(back);
        self.mark_live(dst);
    }

    /// The code of such a goal.
    pub(super) fn goal_code(&mut self, goal: &Atom) {
        self.is_goal = goal.head().and_then(lowering_of) == Some(Lowering::Query);
        self.value(goal, 0, Dest::Tail);
        self.is_goal = false;
    }

    /// What a template is made of, if it is data around variables as far as it is written out.
    pub(super) fn template_data(&mut self, template: &Atom) -> Option<TemplateData> {
        let (mut heads, mut slots) = (Vec::new(), Vec::new());
        let mut work = vec![(template, None)];
        while let Some((atom, arity)) = work.pop() {
            match atom {
                Atom::Variable(variable) => slots.push((*self.state.variables.get(variable)?, arity)),
                Atom::Expression(_) if arity.is_some() => return None,
                Atom::Expression(expression) => {
                    let [head, arguments @ ..] = expression.children() else { continue };
                    work.push((head, Some(arguments.len())));
                    work.extend(arguments.iter().map(|argument| (argument, None)));
                }
                leaf => {
                    let leaf = self.run.m.values.constant_leaf(leaf)?;
                    if [EMPTY, ERROR, NOT_REDUCIBLE].contains(&leaf) {
                        return None;
                    }
                    heads.extend(arity.map(|arity| (leaf, arity)));
                }
            }
        }
        Some(TemplateData { heads: heads.into(), slots: slots.into() })
    }
}
