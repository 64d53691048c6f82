//! Lists: taking apart and putting together in place, and the loops `map-atom`, `filter-atom`, `foldl-atom`.
//!
//! A loop is a function that calls itself in place of its frame, with the list, a position and what was found so far:
//! `(last (before (… ())))`, so that alternatives share what they have in common. The variables of its template are new for
//! each element but those that hold something; as what they hold must have no variables of its own, that is looked at
//! before the loop begins.

use super::{Compiler, Dest, Errors, Later};
use crate::instructions::is_instruction;
use crate::lowering::{Loop, Lowering};
use crate::machine::code::{
    Guard, HEADER, Instruction, NO_FUNCTION, Slot, SyntheticBody, SyntheticFunction, TemplatePart, TypeId,
};
use crate::machine::lower::OddAnswer;
use crate::machine::types::HeadKind;
use crate::machine::words::small;
use crate::names;
use crate::operation::lowering_of;
use space::{Atom, Variable, variables};

/// The parts of a loop's call.
struct Parts<'a> {
    list: &'a Atom,
    start: Option<&'a Atom>,
    found: Option<&'a Variable>,
    item: &'a Variable,
    template: &'a Atom,
}

impl<'a> Parts<'a> {
    fn of(arguments: &'a [Atom]) -> Option<Self> {
        match arguments {
            [list, Atom::Variable(item), template] => Some(Self { list, start: None, found: None, item, template }),
            [list, start, Atom::Variable(found), Atom::Variable(item), template] if found != item => {
                Some(Self { list, start: Some(start), found: Some(found), item, template })
            }
            _ => None,
        }
    }

    fn is_own(&self, variable: &Variable) -> bool {
        variable == self.item || Some(variable) == self.found
    }
}

impl Compiler<'_, '_> {
    /// The slot of an atom as it stands.
    fn raw_slot(&mut self, atom: &Atom) -> Slot {
        if let Atom::Variable(variable) = atom {
            return self.slot_of(variable);
        }
        let slot = self.slot();
        match self.run.m.values.constant_leaf(atom) {
            Some(value) => {
                self.emit(Instruction::Load { dst: slot, value });
                self.mark_live(slot);
            }
            None => self.raw(atom, Dest::Slot(slot)),
        }
        slot
    }

    /// A loop over a list with a template that is written out; says whether it could be compiled.
    pub(super) fn loop_form(&mut self, kind: Loop, atom: &Atom, type_id: TypeId, dest: Dest) -> bool {
        let Some(parts) = Parts::of(&atom.children().expect("a form is an expression")[1..]) else { return false };
        let mut guards = Vec::new();
        if !self.is_loop(kind, parts.template) || !self.facts().is_raw_expression(parts.list, &mut guards) {
            return false;
        }
        let own = std::iter::once(parts.item).chain(parts.found);
        guards.extend(own.filter_map(|variable| self.facts().slot_guard(variable, Guard::Unbound)));
        // A variable that nothing has bound is another one in the template than in the list.
        let outside: Vec<Variable> =
            [Some(parts.list), parts.start].into_iter().flatten().flat_map(variables).collect();
        let is_split = |variable: &Variable| {
            outside.contains(variable) && !parts.is_own(variable) && !self.state.variables.contains_key(variable)
        };
        if variables(parts.template).iter().any(is_split) {
            return false;
        }
        let others = variables(parts.template).into_iter().filter(|variable| !parts.is_own(variable));
        guards.extend(others.filter_map(|variable| self.facts().slot_guard(&variable, Guard::Ground)));
        self.guard_each(&guards, atom, type_id, dest);
        if kind == Loop::Filter && !self.facts().has_one_answer(parts.template) {
            // Errors that name the call are alternatives, and share its variable.
            self.slot_of(parts.item);
        }
        let list = self.raw_slot(parts.list);
        let index = self.slot();
        self.emit(Instruction::Load { dst: index, value: small(0).expect("it is small") });
        let found = match parts.start {
            Some(start) => self.raw_slot(start),
            None => {
                let slot = self.slot();
                let template = self.add_template(vec![TemplatePart::Expression(0)]);
                self.emit(Instruction::Build { dst: slot, template });
                slot
            }
        };
        let what = SyntheticBody::Loop {
            kind,
            item: parts.item.clone(),
            found: parts.found.cloned(),
            template: parts.template.clone(),
        };
        self.made(atom, what, 0, &[list, index, found], dest);
        true
    }

    /// `(if-decons-expr list $head $tail then else)`; says whether it could be compiled.
    pub(super) fn decons_form(&mut self, atom: &Atom, type_id: TypeId, dest: Dest) -> bool {
        let mut guards = Vec::new();
        let [_, list, head, tail, then, otherwise] = atom.children().expect("the form has six parts") else {
            return false;
        };
        let is_odd = |branch: &Atom| branch.is_symbol(names::NOT_REDUCIBLE) || crate::instructions::is_function(branch);
        if head == tail || is_odd(then) || is_odd(otherwise) || !self.facts().form_agrees(atom, 0, &mut guards) {
            return false;
        }
        self.guard_each(&guards, atom, type_id, dest);
        self.make_branches(&[then, otherwise]);
        let own = Atom::expression([head.clone(), tail.clone()]);
        self.make_shared(&Atom::expression([own, then.clone()]));
        let list = self.raw_slot(list);
        let (first, rest, marks) = (self.slot(), self.slot(), self.slot());
        self.emit(Instruction::Remember { slot: marks });
        let test = Instruction::Head { slot: list, dst: first, or: 0 };
        let join = self.label();
        let before = self.state.clone();
        let or = self.label();
        self.emit_to(test, or);
        self.emit_to(Instruction::Tail { slot: list, dst: rest, or: 0 }, or);
        self.mark_live(first);
        self.mark_live(rest);
        self.pattern(first, head, super::head::Or::Destination(or));
        self.pattern(rest, tail, super::head::Or::Destination(or));
        self.answer(then, 0, dest, OddAnswer::Stands(atom.clone()));
        if dest != Dest::Tail {
            self.emit_to(Instruction::Jump { to: 0 }, join);
        }
        self.place(or);
        self.state = before.clone();
        self.emit(Instruction::Undo { slot: marks });
        self.value(otherwise, 0, dest);
        self.place(join);
        self.state = before;
        self.state.is_stale = true;
        if let Dest::Slot(dst) = dest {
            self.mark_live(dst);
        }
        true
    }

    /// Whether the template of a loop is one that code is made for.
    fn is_loop(&mut self, kind: Loop, template: &Atom) -> bool {
        let is_code = is_instruction(template);
        match (kind, template.children()) {
            (Loop::Fold, _) => true,
            (Loop::Filter, _) => is_code,
            (Loop::Map, Some([Atom::Symbol(_), ..])) if is_code => true,
            (Loop::Map, Some([head @ Atom::Symbol(_), arguments @ ..])) => {
                let head = self.run.m.values.constant_leaf(head).expect("it is a leaf");
                let result = match self.run.types().head_kind(head, arguments.len()) {
                    HeadKind::Untyped => return true,
                    HeadKind::Raw { result } => Some(result),
                    HeadKind::Typed(signature) => signature.result,
                    HeadKind::Parametric(_) | HeadKind::Other => return false,
                };
                result.is_none_or(|result| !matches!(self.run.types().type_atom(result), Atom::Expression(_)))
            }
            (Loop::Map, Some([head, ..])) => {
                matches!(lowering_of(head), Some(Lowering::Arithmetic(_) | Lowering::Comparison(_) | Lowering::Size))
            }
            (Loop::Map, _) => false,
        }
    }

    /// The code of a loop; the list, the position and what was found are in slots from `first` on.
    pub(super) fn loop_code(
        &mut self,
        made: &SyntheticFunction,
        (kind, item, found_name, template): (Loop, &Variable, Option<&Variable>, &Atom),
        first: Slot,
    ) {
        let (list, index, found) = (first, first + 1, first + 2);
        (first..first + 3).for_each(|slot| self.mark_live(slot));
        // The variables of the call that are the template's own are no arguments of it.
        for own in std::iter::once(item).chain(found_name) {
            self.state.variables.remove(own);
        }
        let next = self.slots(2);
        let end = self.label();
        let before = self.state.clone();
        self.emit_to(Instruction::Next { list, index, dst: next, or: 0 }, end);
        self.mark_live(next);
        self.state.variables.insert(item.clone(), next);
        self.fixed.insert(item.clone());
        if let Some(name) = found_name {
            self.state.variables.insert(name.clone(), found);
            self.fixed.insert(name.clone());
        }
        self.mark_live(next + 1);
        match kind {
            Loop::Map => self.map_step(made, template, (next, found)),
            Loop::Filter => self.filter_step(made, template, (next, found)),
            Loop::Fold => self.fold_step(made, template, next),
        }
        self.place(end);
        self.state = before;
        self.loop_end(made, kind, template, found);
    }

    fn map_step(&mut self, made: &SyntheticFunction, template: &Atom, (next, found): (Slot, Slot)) {
        let value = if is_instruction(template) {
            self.minimal_value(template)
        } else {
            self.unless_first_is_ill_typed(made, template, next);
            let slot = self.slot();
            self.value(template, 0, Dest::Slot(slot));
            slot
        };
        self.again_with(made, next + 1, value, found);
    }

    /// The results of `map-atom` are evaluated as one tuple, whose head is the first of them: if that has a type error, it is
    /// the error of the head that is named. The interpreter knows which.
    fn unless_first_is_ill_typed(&mut self, made: &SyntheticFunction, template: &Atom, next: Slot) {
        let mut guards = Vec::new();
        let agrees = self.facts().agrees(template, 0, false, &mut guards);
        if agrees && guards.iter().all(|test| self.holds(test)) {
            return;
        }
        let (doubtful, go_on) = (self.label(), self.label());
        if agrees {
            let before = self.state.clone();
            guards.iter().for_each(|test| self.test_or(test, doubtful));
            self.state = before;
            self.emit_to(Instruction::Jump { to: 0 }, go_on);
        }
        self.place(doubtful);
        let before = self.state.clone();
        let first = super::super::words::raw(1);
        self.emit_to(Instruction::MatchLeaf { slot: next + 1, leaf: first, or: 0 }, go_on);
        let children = made.call.children().expect("a loop is a call");
        for own in
            children[2..].iter().filter_map(|child| if let Atom::Variable(own) = child { Some(own) } else { None })
        {
            self.state.variables.remove(own);
        }
        let call = self.template_of_form(made, &made.call);
        let slot = self.slot();
        self.emit(Instruction::Build { dst: slot, template: call });
        self.emit(Instruction::TailInterpret { slot, type_id: 0 });
        self.state = before;
        self.place(go_on);
    }

    /// Goes on with another element found.
    fn again_with(&mut self, made: &SyntheticFunction, index: Slot, value: Slot, found: Slot) {
        let parts = vec![TemplatePart::Slot(value), TemplatePart::Slot(found), TemplatePart::Expression(2)];
        let template = self.add_template(parts);
        let dst = self.slot();
        self.emit(Instruction::Build { dst, template });
        self.again(made, index, dst);
    }

    /// Goes on with the next element, in place of this frame.
    fn again(&mut self, made: &SyntheticFunction, index: Slot, found: Slot) {
        let count = made.captured.len() as Slot;
        let function = self.function;
        let block = self.slots(HEADER + usize::from(count) + 3);
        let first = block + HEADER as Slot;
        for slot in 0..=count {
            self.emit(Instruction::Move { dst: first + slot, src: slot });
        }
        self.emit(Instruction::Move { dst: first + count + 1, src: index });
        self.emit(Instruction::Move { dst: first + count + 2, src: found });
        self.emit(Instruction::TailCall { function, at: block });
    }

    fn filter_step(&mut self, made: &SyntheticFunction, template: &Atom, (next, found): (Slot, Slot)) {
        let slot = self.minimal_value(template);
        let (dropped, stuck) = (self.label(), self.label());
        self.emit_to(Instruction::If { slot, or: 0 }, dropped);
        self.emit_to(Instruction::Jump { to: 0 }, stuck);
        self.again_with(made, next + 1, next, found);
        self.place(dropped);
        self.again(made, next + 1, found);
        self.place(stuck);
        // The test came to no truth value.
        let children = made.call.children().expect("it is a call");
        let list = Atom::Variable(Variable::with_id(names::asked().clone(), u64::MAX));
        self.state.variables.insert(
            match &list {
                Atom::Variable(variable) => variable.clone(),
                _ => unreachable!("it is a variable"),
            },
            made.captured.len() as Slot,
        );
        let Atom::Variable(item) = &children[2] else { unreachable!("a loop has a variable") };
        match made.captured.iter().position(|captured| captured == item) {
            Some(slot) => self.state.variables.insert(item.clone(), slot as Slot),
            None => self.state.variables.remove(item),
        };
        let call = Atom::expression([children[0].clone(), list, children[2].clone(), children[3].clone()]);
        let error = names::error(call, Atom::symbol(names::NO_RETURN));
        let template = self.template_of_form(made, &error);
        let slot = self.slot();
        self.emit(Instruction::Build { dst: slot, template });
        self.emit(Instruction::Return { slot });
    }

    /// The template of what is shown of a loop: there the variables of a form keep their names.
    fn template_of_form(&mut self, made: &SyntheticFunction, atom: &Atom) -> u32 {
        let inside = std::mem::replace(&mut self.is_form, made.is_form);
        let template = self.template(atom);
        self.is_form = inside;
        template
    }

    fn fold_step(&mut self, made: &SyntheticFunction, template: &Atom, next: Slot) {
        let value = self.slot();
        self.evaluated_as_value(template, value);
        self.again(made, next + 1, value);
    }

    /// Evaluates an atom into a slot; an error is a value like any other.
    pub(super) fn evaluated_as_value(&mut self, template: &Atom, value: Slot) {
        let (label, back) = (self.label(), self.label());
        let outer = std::mem::replace(&mut self.errors, Errors::Destination(label));
        let before = self.state.clone();
        self.argument(template, 0, value);
        (self.errors, self.state) = (outer, before);
        self.state.is_stale = true;
        self.write_behind(Later::Raw { label, dst: value, back });
        self.place(back);
        self.mark_live(value);
    }

    fn loop_end(&mut self, made: &SyntheticFunction, kind: Loop, template: &Atom, found: Slot) {
        if kind == Loop::Fold {
            let call = self.template_of_form(made, &made.call);
            self.emit(Instruction::Leave { slot: found, type_id: 0, call, function: NO_FUNCTION });
            return;
        }
        let slot = self.slot();
        self.emit(Instruction::Gathered { slot: found, dst: slot });
        if kind == Loop::Map && !is_instruction(template) {
            self.emit(Instruction::LeaveList { slot });
        } else {
            self.emit(Instruction::TailEvaluate { slot, type_id: 0, is_answer: true });
        }
    }
}
