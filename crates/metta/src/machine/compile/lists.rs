//! Lists: taking apart and putting together in place, and the loops `map-atom`, `filter-atom`, `foldl-atom`.
//!
//! A loop is a function that calls itself in place of its frame, with the list, a position and what was found so far:
//! `(last (before (… ())))`, so that alternatives share what they have in common. The variables of its template are new for
//! each element but those that hold something; as what they hold must have no variables of its own, that is looked at
//! before the loop begins.

use super::answers::OddAnswer;
use super::{Compiler, Dest, Errors, Later, occurrences};
use crate::instructions::is_instruction;
use crate::lowering::{Form, Loop, Lowering};
use crate::machine::code::{
    Guard, HEADER, Instruction, NO_FUNCTION, Slot, SyntheticBody, SyntheticFunction, TemplatePart, TypeId,
};
use crate::machine::types::{Formal, HeadKind};
use crate::machine::words::{ERROR, small};
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
    /// `car-atom`, `cdr-atom`, `cons-atom`, `decons-atom`; says whether they could be compiled.
    pub(super) fn list_form(&mut self, form: Form, atom: &Atom, type_id: TypeId, dest: Dest) -> bool {
        let arguments = &atom.children().expect("a form is an expression")[1..];
        let mut guards = Vec::new();
        let is_raw = matches!(form, Form::Cons | Form::Decons);
        let result = if is_raw { self.run.m.type_cache.atom_type } else { 0 };
        let list = arguments.last().expect("the form has arguments");
        if !self.run.agrees_statically(result, type_id) || !self.is_raw_expression(list, &mut guards) {
            return false;
        }
        self.guard(&guards, atom, type_id, dest);
        let list = self.raw_slot(list);
        if is_raw {
            let head = (form == Form::Cons).then(|| self.raw_slot(&arguments[0]));
            let dst = self.target(dest);
            let instruction = match head {
                Some(head) => Instruction::Cons { head, tail: list, dst, or: 0 },
                None => Instruction::Decons { slot: list, dst, or: 0 },
            };
            self.or_plain(instruction, atom, type_id, dest);
            self.finish(dst, dest);
            return true;
        }
        let part = self.slot();
        let instruction = match form {
            Form::Head => Instruction::Head { slot: list, dst: part, or: 0 },
            _ => Instruction::Tail { slot: list, dst: part, or: 0 },
        };
        self.or_plain(instruction, atom, type_id, dest);
        self.mark_live(part);
        if form == Form::Head {
            self.or_plain(Instruction::Guard { slot: part, guard: Guard::Reducible, or: 0 }, atom, type_id, dest);
        }
        self.value_of_slot(part, 0, dest);
        true
    }

    /// The element of `(let $rest (call …) (cons-atom element $rest))` in last place, if it stands for something already and the call is one
    /// of a function with rules.
    pub(super) fn element_before_call<'a>(&mut self, parts: [&'a Atom; 3], dest: Dest) -> Option<&'a Atom> {
        let [Atom::Variable(rest), value, body] = parts else { return None };
        let [Atom::Symbol(name), element, Atom::Variable(list)] = body.children()? else { return None };
        let is_there = match element {
            Atom::Variable(element) => element != rest && self.state.variables.contains_key(element),
            element => self.run.m.values.constant_leaf(element).is_some_and(|leaf| leaf != ERROR),
        };
        let is_plain = dest == Dest::Tail && !self.is_form && !self.run.m.code.is_exact;
        let is_such = is_plain
            && list == rest
            && is_there
            && !self.state.variables.contains_key(rest)
            && occurrences(value, rest) == 0
            && self.is_call(value)
            && self.run.special_form(name.as_str(), 2) == Some(Form::Cons);
        is_such.then_some(element)
    }

    /// Such a form: the call takes the place of the frame, and its result that of the rest.
    pub(super) fn list_around_call(&mut self, element: &Atom, call: &Atom, atom: &Atom, type_id: TypeId) {
        let first = self.raw_slot(element);
        let dst = self.slot();
        let return_point = self.return_point(dst, None);
        self.or_plain(Instruction::BuildConsHole { first, return_point, or: 0 }, atom, type_id, Dest::Tail);
        self.expression(call, 0, Dest::Tail);
    }

    /// Native functions on lists, and tests, that have instructions; says whether this is one that could be compiled.
    pub(super) fn list_operation(&mut self, lowering: Lowering, atom: &Atom, type_id: TypeId, dest: Dest) -> bool {
        let arguments = &atom.children().expect("a call is an expression")[1..];
        match (lowering, arguments) {
            (Lowering::Size, [list]) => self.size(atom, list, type_id, dest),
            (Lowering::Element, [list, index]) => self.element(atom, list, index, type_id, dest),
            (Lowering::IfEqual, [left, right, then, otherwise]) => {
                let test = |compiler: &mut Self| {
                    let (left, right) = (compiler.raw_slot(left), compiler.raw_slot(right));
                    Instruction::IfEqual { left, right, or: 0 }
                };
                self.test_operation(test, atom, [then, otherwise], dest)
            }
            (Lowering::IfError, [tested, then, otherwise]) => {
                let test = |compiler: &mut Self| Instruction::IfError { slot: compiler.raw_slot(tested), or: 0 };
                self.test_operation(test, atom, [then, otherwise], dest)
            }
            _ => false,
        }
    }

    fn test_operation(
        &mut self,
        test: impl FnOnce(&mut Self) -> Instruction,
        atom: &Atom,
        branches: [&Atom; 2],
        dest: Dest,
    ) -> bool {
        let is_odd = |branch: &&Atom| branch.is_symbol(names::NOT_REDUCIBLE) || super::minimal::is_function(branch);
        if branches.iter().any(is_odd) {
            return false;
        }
        self.make_branches(&branches);
        let test = test(self);
        self.test_form(test, atom, branches, dest);
        true
    }

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

    fn size(&mut self, atom: &Atom, list: &Atom, type_id: TypeId, dest: Dest) -> bool {
        let mut guards = Vec::new();
        let number = self.run.m.type_cache.number_type;
        if !self.run.agrees_statically(number, type_id) || !self.is_raw_expression(list, &mut guards) {
            return false;
        }
        self.guard(&guards, atom, type_id, dest);
        let slot = self.raw_slot(list);
        let dst = self.target(dest);
        self.or_plain(Instruction::Size { slot, dst, or: 0 }, atom, type_id, dest);
        self.finish(dst, dest);
        true
    }

    fn element(&mut self, atom: &Atom, list: &Atom, index: &Atom, type_id: TypeId, dest: Dest) -> bool {
        let mut guards = Vec::new();
        let formals = [Formal::Expression, Formal::Typed(self.run.m.type_cache.number_type)];
        let arguments = [list.clone(), index.clone()];
        let atom_type = self.run.m.type_cache.atom_type;
        let is_plain = matches!(index, Atom::Variable(_)) || self.run.m.values.constant_leaf(index).is_some();
        if !is_plain
            || !self.run.agrees_statically(atom_type, type_id)
            || !self.arguments_agree(&formals, &arguments, &mut guards)
        {
            return false;
        }
        self.guard(&guards, atom, type_id, dest);
        let (slot, index) = (self.raw_slot(list), self.raw_slot(index));
        let dst = self.target(dest);
        self.or_plain(Instruction::Element { slot, index, dst, or: 0 }, atom, type_id, dest);
        self.finish(dst, dest);
        true
    }

    /// A loop over a list with a template that is written out; says whether it could be compiled.
    pub(super) fn loop_form(&mut self, kind: Loop, atom: &Atom, type_id: TypeId, dest: Dest) -> bool {
        let Some(parts) = Parts::of(&atom.children().expect("a form is an expression")[1..]) else { return false };
        let mut guards = Vec::new();
        if !self.is_loop(kind, parts.template) || !self.is_raw_expression(parts.list, &mut guards) {
            return false;
        }
        let own = std::iter::once(parts.item).chain(parts.found);
        guards.extend(own.filter_map(|variable| self.slot_guard(variable, Guard::Unbound)));
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
        guards.extend(others.filter_map(|variable| self.slot_guard(&variable, Guard::Ground)));
        self.guard(&guards, atom, type_id, dest);
        if kind == Loop::Filter && !self.has_one_answer(parts.template) {
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

    /// Whether minimal code reduces one call with one result.
    fn has_one_answer(&self, code: &Atom) -> bool {
        match code.children() {
            Some([eval, call]) if eval.is_symbol("eval") => self.has_one_result(call),
            _ => false,
        }
    }

    /// Whether a form whose type has variables or takes some agrees with an expected type, if the guards hold.
    pub(super) fn form_agrees(&mut self, call: &Atom, type_id: TypeId, guards: &mut Vec<Instruction>) -> bool {
        let Some([Atom::Symbol(name), arguments @ ..]) = call.children() else { return false };
        let Some(form) = self.run.special_form(name.as_str(), arguments.len()) else { return false };
        let own: Vec<&Variable> = match (form, arguments) {
            (Form::Loop(Loop::Map | Loop::Filter), [_, Atom::Variable(item), _]) if type_id == 0 => vec![item],
            (Form::Loop(Loop::Fold), [_, _, Atom::Variable(found), Atom::Variable(item), _]) => vec![found, item],
            (Form::IfDecons, [_, Atom::Variable(head), Atom::Variable(tail), _, _]) => vec![head, tail],
            _ => return false,
        };
        guards.extend(own.into_iter().filter_map(|variable| self.slot_guard(variable, Guard::Unbound)));
        self.is_raw_expression(&arguments[0], guards)
    }

    /// `(if-decons-expr list $head $tail then else)`; says whether it could be compiled.
    pub(super) fn decons_form(&mut self, atom: &Atom, type_id: TypeId, dest: Dest) -> bool {
        let mut guards = Vec::new();
        let [_, list, head, tail, then, otherwise] = atom.children().expect("the form has six parts") else {
            return false;
        };
        let is_odd = |branch: &Atom| branch.is_symbol(names::NOT_REDUCIBLE) || super::minimal::is_function(branch);
        if head == tail || is_odd(then) || is_odd(otherwise) || !self.form_agrees(atom, 0, &mut guards) {
            return false;
        }
        self.guard(&guards, atom, type_id, dest);
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
        self.answer(then, 0, dest, |_| OddAnswer::Stands(atom.clone()));
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
                let result = match self.run.head_kind(head, arguments.len()) {
                    HeadKind::Untyped => return true,
                    HeadKind::Raw { result } => Some(result),
                    HeadKind::Typed(signature) => signature.result,
                    HeadKind::Parametric(_) | HeadKind::Other => return false,
                };
                result.is_none_or(|result| !matches!(self.run.type_atom(result), Atom::Expression(_)))
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
        let agrees = self.agrees(template, 0, false, &mut guards);
        if agrees && guards.iter().all(|&guard| self.holds(guard)) {
            return;
        }
        let (doubtful, go_on) = (self.label(), self.label());
        if agrees {
            for &guard in &guards {
                self.emit_to(guard, doubtful);
            }
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
