//! Functions of the library that code is made for where they are called, beside the special forms.

use super::{Compiler, Dest, Errors, Later};
use crate::lowering::{Form, Loop};
use crate::machine::code::{
    Guard, HEADER, Instruction, NO_FUNCTION, REDUCE, Slot, SyntheticBody, SyntheticFunction, TemplatePart, TypeId,
};
use crate::machine::words::small;
use crate::names;
use crate::operation::Operation;
use crate::stdlib::forms::special_form;
use space::{Atom, Symbol};

/// The slots of a loop whose variables and template are arguments: the list, the position, what was found, the variable of the
/// element, the template; of a fold the variable for what was found stands before that of the element, and what it began with
/// behind the template.
pub(super) fn open_loop_slots(kind: Loop) -> usize {
    if kind == Loop::Fold { 7 } else { 5 }
}

impl Compiler<'_, '_> {
    /// `(capture goal)` in the module whose space is that of the evaluation; says whether it could be compiled.
    pub(super) fn capture(&mut self, atom: &Atom, goal: &Atom, type_id: u16, dest: Dest) -> bool {
        let Some(operation) = atom.head().and_then(Operation::of) else { return false };
        let space = self.run.session.program.module(operation.home()).space.clone();
        let atom_type = self.run.m.types.atom_type;
        if !space.is_same(&self.run.space) || !self.run.types().agrees_statically(atom_type, type_id) {
            return false;
        }
        let result = Atom::Variable(self.run.session.program.variables().fresh(&Symbol::new("result")));
        let evaluated = [Atom::symbol("metta"), goal.clone(), names::undefined(), Atom::from(space)];
        let returned = Atom::expression([Atom::symbol(names::RETURN), result.clone()]);
        let chain = [Atom::symbol("chain"), Atom::expression(evaluated), result, returned];
        let code = Atom::expression([Atom::symbol("function"), Atom::expression(chain)]);
        self.made(atom, SyntheticBody::Minimal(code), atom_type, &[], dest);
        true
    }

    /// `(transaction goal)`; says whether it could be compiled.
    pub(super) fn transaction(&mut self, atom: &Atom, goal: &Atom, type_id: TypeId, dest: Dest) -> bool {
        let atom_type = self.run.m.types.atom_type;
        if !self.run.types().agrees_statically(atom_type, type_id) {
            return false;
        }
        self.made(atom, SyntheticBody::Transaction(goal.clone()), atom_type, &[], dest);
        true
    }

    /// The code of a transaction: its results are those of the call, as they stand.
    pub(super) fn transaction_code(&mut self, made: &SyntheticFunction, goal: &Atom) {
        let dst = self.transacted(goal);
        let call = self.template(&made.call);
        self.emit(Instruction::Leave { slot: dst, type_id: made.type_id, call, function: NO_FUNCTION });
    }

    /// The slot of each result of a goal that is evaluated in a transaction.
    fn transacted(&mut self, goal: &Atom) -> Slot {
        let dst = self.slot();
        let (label, back) = (self.label(), self.label());
        let outer = std::mem::replace(&mut self.errors, Errors::Destination(label));
        self.make_shared(goal);
        let begin = |slot, return_point| Instruction::Transact { slot, return_point };
        self.collected_by(dst, false, begin, |compiler, dest| compiler.value(goal, 0, dest));
        self.errors = outer;
        self.write_behind(Later::Raw { label, dst, back });
        self.place(back);
        dst
    }

    /// `(transaction goal)` of what the first slot holds.
    fn transaction_of_argument(&mut self, type_id: TypeId) {
        self.mark_live(0);
        let goal = self.stand_in(0);
        let dst = self.transacted(&goal);
        self.leave_library(dst, type_id, 1);
    }

    /// Whether the space of an instruction is written out and is that of the evaluation, and so is a type.
    pub(super) fn is_plain_instruction(&mut self, form: Form, arguments: &[Atom]) -> bool {
        match (form, arguments) {
            (Form::ContextSpace, []) => true,
            (Form::EvalInSpace, [_, space]) => self.is_context(space),
            (Form::Metta, [_, type_atom, space]) => {
                let Some(type_of_types) = self.run.m.types.ids.id(&Atom::symbol("Type")) else { return false };
                let Some(leaf) = self.run.m.values.constant_leaf(type_atom) else { return false };
                let is_symbol = matches!(type_atom, Atom::Symbol(_));
                is_symbol
                    && self.is_context(space)
                    && self.run.types().leaf_has_type(type_atom, leaf, type_of_types, false)
            }
            _ => false,
        }
    }

    /// Code in front of the only rule of a function of the library, which is used where the arguments are not what the code
    /// expects.
    pub(super) fn library_code(&mut self, count: usize, type_id: TypeId) {
        if self.is_form || ![1, 2, 3, 5].contains(&count) {
            return;
        }
        let function = &self.run.m.code.functions[usize::try_from(self.function).expect("it fits")];
        if function.head.tag() != crate::machine::words::SYMBOL || function.head == crate::machine::words::COMPOUND {
            return;
        }
        let name = self.run.m.values.symbol_of(function.head).clone();
        if !special_form(name.as_str()).is_some_and(|special| special.form.has_open_code()) {
            return;
        }
        let Some(form) = self.run.special_form(name.as_str(), count) else { return };
        let before = self.state.clone();
        let otherwise = self.label();
        match form {
            Form::Transaction => self.transaction_of_argument(type_id),
            Form::Some(wanted) => self.some_of_arguments(wanted, count, type_id),
            Form::Substitute => self.substitute_in_template(type_id, otherwise),
            Form::Loop(kind) => self.begin_open_loop(kind, type_id, otherwise),
            other => unreachable!("{other:?} has no code for arguments that are values"),
        }
        self.place(otherwise);
        self.state = before;
    }

    /// `(atom-subst value $variable template)`, its arguments in the first slots.
    fn substitute_in_template(&mut self, type_id: TypeId, otherwise: super::Label) {
        self.emit_to(Instruction::Guard { slot: 1, guard: Guard::Unbound, or: 0 }, otherwise);
        // The rule takes the value as it is, unless it is the code of a function: that is run.
        self.emit_to(Instruction::Guard { slot: 0, guard: Guard::Answer, or: 0 }, otherwise);
        let dst = self.slot();
        self.emit(Instruction::Substitute { template: 2, variables: 1, values: 0, count: 1, dst, renames: false });
        self.mark_live(dst);
        self.leave_library(dst, type_id, 3);
    }

    /// The result of a function of the library.
    pub(super) fn leave_library(&mut self, slot: Slot, type_id: TypeId, count: usize) {
        if type_id == REDUCE {
            self.emit(Instruction::Return { slot });
            return;
        }
        let fixed = self.fixed.clone();
        let call = self.own_call(count);
        self.fixed = fixed;
        self.emit(Instruction::Leave { slot, type_id, call, function: NO_FUNCTION });
    }

    /// The call of a loop whose arguments are in the first slots.
    fn begin_open_loop(&mut self, kind: Loop, type_id: TypeId, otherwise: super::Label) {
        let variables: &[Slot] = if kind == Loop::Fold { &[2, 3] } else { &[1] };
        self.emit_to(Instruction::Guard { slot: 0, guard: Guard::Expression, or: 0 }, otherwise);
        for &slot in variables {
            self.emit_to(Instruction::Guard { slot, guard: Guard::Unbound, or: 0 }, otherwise);
        }
        let (index, empty) = (self.slot(), self.slot());
        self.emit(Instruction::Load { dst: index, value: small(0).expect("it is small") });
        let template = self.add_template(vec![TemplatePart::Expression(0)]);
        self.emit(Instruction::Build { dst: empty, template });
        let arguments: Vec<Slot> = match kind {
            Loop::Fold => vec![0, index, 1, 2, 3, 4, 1],
            _ => vec![0, index, empty, 1, 2],
        };
        let what = SyntheticBody::OpenLoop(kind);
        let made = SyntheticFunction { captured: Box::default(), is_form: false, what, call: Atom::unit(), type_id };
        let function = self.run.make_function(made, arguments.len());
        let block = self.slots(HEADER + arguments.len());
        for (dst, src) in (block + HEADER as Slot..).zip(arguments) {
            self.emit(Instruction::Move { dst, src });
        }
        self.emit(Instruction::TailCall { function, at: block });
    }

    /// The code of such a loop, which goes round by calling itself.
    pub(super) fn open_loop_code(&mut self, kind: Loop, type_id: TypeId) {
        let count = open_loop_slots(kind) as Slot;
        let (template, found) = (if kind == Loop::Fold { 5 } else { 4 }, 2);
        (0..count).for_each(|slot| self.mark_live(slot));
        let (value, next) = (self.slot(), self.slots(2));
        let end = self.label();
        let before = self.state.clone();
        self.emit_to(Instruction::Next { list: 0, index: 1, dst: next, or: 0 }, end);
        self.mark_live(next);
        self.mark_live(next + 1);
        let dst = self.slot();
        self.emit(Instruction::Move { dst: value, src: found });
        let values = if kind == Loop::Fold { value } else { next };
        let pairs = if kind == Loop::Fold { 2 } else { 1 };
        self.emit(Instruction::Substitute { template, variables: 3, values, count: pairs, dst, renames: true });
        self.mark_live(dst);
        match kind {
            Loop::Map => {
                let mapped = self.slot();
                self.run_minimal(dst, mapped, false);
                self.go_round_with(mapped, next + 1, count);
            }
            Loop::Filter => self.open_filter_step(dst, next, count),
            Loop::Fold => {
                let mapped = self.slot();
                let stand_in = self.stand_in(dst);
                self.evaluated_as_value(&stand_in, mapped);
                self.go_round(next + 1, mapped, count);
            }
        }
        self.place(end);
        self.state = before;
        self.end_open_loop(kind, type_id);
    }

    fn end_open_loop(&mut self, kind: Loop, type_id: TypeId) {
        let slot = self.slot();
        match kind {
            Loop::Fold if type_id == REDUCE => {
                self.emit(Instruction::Return { slot: 2 });
            }
            Loop::Fold => {
                let parts = [0, 6, 3, 4, 5].map(TemplatePart::Slot);
                let call = self.call_template("foldl-atom", &parts);
                self.emit(Instruction::Leave { slot: 2, type_id, call, function: NO_FUNCTION });
            }
            Loop::Map | Loop::Filter => {
                self.emit(Instruction::Gathered { slot: 2, dst: slot });
                self.emit(match type_id == REDUCE {
                    true => Instruction::Return { slot },
                    false => Instruction::TailEvaluate { slot, type_id: 0, is_answer: true },
                });
            }
        }
    }

    fn call_template(&mut self, name: &str, arguments: &[TemplatePart]) -> u32 {
        let head = self.run.m.values.symbol(&Symbol::new(name));
        let mut parts = vec![TemplatePart::Leaf(head)];
        parts.extend_from_slice(arguments);
        parts.push(TemplatePart::Expression(arguments.len() as u32 + 1));
        self.add_template(parts)
    }

    /// Keeps an element or drops it, as a test comes to a truth value.
    fn open_filter_step(&mut self, test: Slot, next: Slot, count: Slot) {
        let verdict = self.slot();
        self.run_minimal(test, verdict, false);
        let (dropped, stuck) = (self.label(), self.label());
        self.emit_to(Instruction::If { slot: verdict, or: 0 }, dropped);
        self.emit_to(Instruction::Jump { to: 0 }, stuck);
        self.go_round_with(next, next + 1, count);
        self.place(dropped);
        self.go_round(next + 1, 2, count);
        self.place(stuck);
        let call = self.call_template("filter-atom", &[0, 3, 4].map(TemplatePart::Slot));
        let (shown, error) = (self.slot(), self.slot());
        self.emit(Instruction::Build { dst: shown, template: call });
        let head = crate::machine::words::ERROR;
        let message = self.run.m.values.symbol(&Symbol::new(names::NO_RETURN));
        let parts = vec![
            TemplatePart::Leaf(head),
            TemplatePart::Slot(shown),
            TemplatePart::Leaf(message),
            TemplatePart::Expression(3),
        ];
        let template = self.add_template(parts);
        self.emit(Instruction::Build { dst: error, template });
        self.emit(Instruction::Return { slot: error });
    }

    /// Goes round with another element found.
    fn go_round_with(&mut self, element: Slot, index: Slot, count: Slot) {
        let template =
            self.add_template(vec![TemplatePart::Slot(element), TemplatePart::Slot(2), TemplatePart::Expression(2)]);
        let dst = self.slot();
        self.emit(Instruction::Build { dst, template });
        self.go_round(index, dst, count);
    }

    /// Goes round, in place of this frame.
    fn go_round(&mut self, index: Slot, found: Slot, count: Slot) {
        let function = self.function;
        let block = self.slots(HEADER + usize::from(count));
        let sources = [0, index, found].into_iter().chain(3..count);
        for (dst, src) in (block + HEADER as Slot..).zip(sources) {
            self.emit(Instruction::Move { dst, src });
        }
        self.emit(Instruction::TailCall { function, at: block });
    }
}
