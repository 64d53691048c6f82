//! Minimal MeTTa: the bodies of `function`, and instructions that are written out in a program.
//!
//! 1. An instruction leaves its result in a slot, as it stands: here errors and `Empty` are values like any other.
//! 2. `(chain n $v t)` is the code of `n`, then that of `t` with its result as the slot of `$v`. Nothing is collected: `t` is
//!    done for one alternative of `n` after the other. A choice may then need what lies above the slots of this frame, so
//!    the frame moves above it (`Own`).
//! 3. `(eval x)` calls a function whose results are not evaluated further; such a function is compiled apart from
//!    that of the same name whose results are.
//! 4. Inside `function` a result that can be seen here is code that goes on; what cannot be seen is looked at when it is
//!    there.
//! 5. `collapse-bind` with what takes its pairs apart again is a collection of results.
//! 6. What remains is run by the interpreter.

use super::head::Or;
use super::{CodeState, Compiler, DEPTH_MAX, Dest, Errors, Label, Later, occurrences};
use crate::instructions::{MinimalInstruction, free_variables, has_space, instruction_of, is_function, is_instruction};
use crate::lowering::Lowering;
use crate::machine::code::{Branches, CollectedInto, HEADER, Instruction, OPEN, REDUCE, Slot, TemplatePart, TypeId};
use crate::machine::lower::OddAnswer;
use crate::machine::lower::Place;
use crate::names;
use crate::operation::Operation;
use crate::operation::lowering_of;
use crate::stdlib::forms::{asks_for_absence, branches_of_case};
use region::Ref;
use space::{Atom, Grounded, Variable, variables};

/// Where the result of an instruction goes.
#[derive(Clone, Copy)]
pub(super) enum Out {
    /// Into a slot; the code goes on at the label.
    Value { dst: Slot, join: Label },
    /// It is a result inside `function`, of a call that a template makes: what is returned goes into a slot.
    Function { call: u32, dst: Slot, join: Label },
}

/// Whether an atom is `(function $body)`, which can be run if the variable stands for an expression.
pub(super) fn may_be_function(atom: &Atom) -> bool {
    matches!(atom.children(), Some([head, Atom::Variable(_)]) if head.is_symbol("function"))
}

impl Compiler<'_, '_> {
    /// The body of a rule that is `(function $body)`: what that is shows when it is there.
    pub(super) fn function_of_variable(&mut self, body: &Atom, type_id: TypeId) {
        let (slot, function) = (self.slot(), self.function);
        self.raw(body, Dest::Slot(slot));
        self.emit(Instruction::Body { slot, type_id, function });
    }

    /// The body of a rule that is `(function …)`, for a call whose results are evaluated further.
    pub(super) fn function_body(&mut self, count: usize, body: &Atom, type_id: TypeId) {
        let call = self.own_call(count);
        let function = self.function;
        if !self.run.m.code.is_exact {
            let slot = self.run_function(body, call);
            self.emit(Instruction::Leave { slot, type_id, call, function });
            return;
        }
        // What tells it is gone when the code has run.
        let came = self.slot();
        self.emit(Instruction::NoteUnchangedCall { function, dst: came });
        self.mark_live(came);
        let slot = self.run_function(body, call);
        self.emit(Instruction::LeaveKnown { slot, type_id, call, came });
    }

    /// The body of a rule for a call whose results are not evaluated further.
    pub(super) fn reduced(&mut self, count: usize, body: &Atom) {
        if is_function(body) {
            let call = self.own_call(count);
            let slot = self.run_function(body, call);
            self.emit(Instruction::Return { slot });
            return;
        }
        let slot = self.slot();
        self.as_it_stands(body, slot);
        let may_be_code = matches!(body, Atom::Variable(_)) || starts_with_variable(body);
        self.emit(if may_be_code { Instruction::Reduct { slot } } else { Instruction::Return { slot } });
    }

    /// The template of the call whose arguments are the first slots of the frame.
    pub(super) fn own_call(&mut self, count: usize) -> u32 {
        self.fixed = self.state.variables.keys().cloned().collect();
        let head = self.run.m.code.functions[self.function as usize].head;
        let mut parts = vec![TemplatePart::Leaf(head)];
        parts.extend((0..count).map(|slot| TemplatePart::Slot(slot as Slot)));
        parts.push(TemplatePart::Expression(count as u32 + 1));
        self.add_template(parts)
    }

    /// Runs `(function body)`: the slot of what it returns.
    fn run_function(&mut self, function: &Atom, call: u32) -> Slot {
        let body = &function.children().expect("it is a function")[1];
        self.make_shared(body);
        let (dst, join) = (self.slot(), self.label());
        let before = self.state.clone();
        let out = Out::Function { call, dst, join };
        // What bare pairs bind would be lost between two visits to the interpreter: it runs the whole.
        if takes_pairs(body) {
            self.at_run_time(body, out)
        } else {
            self.minimal(body, out)
        }
        self.joined_at(join, before, dst);
        dst
    }

    /// Runs minimal code: the slot of its result.
    pub(super) fn minimal_value(&mut self, code: &Atom) -> Slot {
        self.make_shared(code);
        let (dst, join) = (self.slot(), self.label());
        let before = self.state.clone();
        let out = Out::Value { dst, join };
        if !is_function(code) && takes_pairs(code) {
            self.at_run_time(code, out)
        } else {
            self.minimal(code, out)
        }
        self.joined_at(join, before, dst);
        dst
    }

    /// The code goes on here with a value in a slot, whatever path leads here.
    fn joined_at(&mut self, join: Label, before: CodeState, dst: Slot) {
        self.place(join);
        self.state = before;
        self.state.is_stale = true;
        self.state.facts.remove(&dst);
        self.mark_live(dst);
    }

    fn minimal(&mut self, atom: &Atom, out: Out) {
        self.depth += 1;
        self.is_too_large |= self.depth > DEPTH_MAX;
        if !self.is_too_large {
            self.instruction(atom, out);
        }
        self.depth -= 1;
    }

    fn instruction(&mut self, atom: &Atom, out: Out) {
        let (name, arguments) = match atom.children() {
            Some([Atom::Symbol(name), arguments @ ..]) => (name.as_str(), arguments),
            Some([Atom::Variable(_), ..]) => return self.at_run_time(atom, out),
            _ if matches!(atom, Atom::Variable(_)) => return self.at_run_time(atom, out),
            _ => return self.data(atom, out),
        };
        let instruction = instruction_of(name);
        match (instruction, arguments) {
            (Some(MinimalInstruction::Chain), [nested, Atom::Variable(variable), template])
                if !self.fixed.contains(variable) =>
            {
                self.chain(nested, variable, template, out);
            }
            (Some(MinimalInstruction::Eval), [call]) => self.eval(atom, call, out),
            (Some(MinimalInstruction::Function), [Atom::Expression(_)]) => self.nested_function(atom, out),
            (Some(MinimalInstruction::Unify), [left, pattern, then, otherwise]) => {
                self.make_branches(&[then, otherwise]);
                self.unify(
                    [left, pattern, then, otherwise],
                    |compiler| compiler.branch(then, out),
                    |compiler| compiler.branch(otherwise, out),
                );
            }
            (Some(MinimalInstruction::Cons), [head, tail]) => self.cons(atom, [head, tail], out),
            (Some(MinimalInstruction::Decons), [list]) => self.decons(atom, list, out),
            (Some(MinimalInstruction::Metta), [goal, type_atom, space]) if self.is_context(space) => {
                self.metta(atom, goal, type_atom, out)
            }
            (Some(MinimalInstruction::ContextSpace), []) => {
                let space = Atom::from(self.run.space.clone());
                let dst = self.slot_for(out);
                self.as_it_stands(&space, dst);
                self.done(dst, out);
            }
            (None, [value]) if name == names::RETURN => match out {
                Out::Function { dst, join, .. } => {
                    self.as_it_stands(value, dst);
                    self.jump(join);
                }
                Out::Value { .. } => self.data(atom, out),
            },
            (Some(MinimalInstruction::EvalInSpace), [call, space]) if self.is_context(space) => {
                self.eval(atom, call, out)
            }
            (Some(MinimalInstruction::CollapseBind | MinimalInstruction::SuperposeBind), _) => self.is_too_large = true,
            (Some(_), _) => self.at_run_time(atom, out),
            (None, _) => self.data(atom, out),
        }
    }

    fn jump(&mut self, to: Label) {
        self.emit_to(Instruction::Jump { to: 0 }, to);
    }

    /// The slot that a result is to be computed in.
    fn slot_for(&mut self, out: Out) -> Slot {
        match out {
            Out::Value { dst, .. } => dst,
            Out::Function { .. } => self.slot(),
        }
    }

    /// A result is in the slot for it.
    fn done(&mut self, slot: Slot, out: Out) {
        match out {
            Out::Value { join, .. } => self.jump(join),
            Out::Function { call, dst, join } => {
                self.mark_live(slot);
                let (return_point, back) = self.raw_return_point(dst, None);
                self.emit(Instruction::LeaveFunction { slot, call, return_point });
                self.place(back);
                self.jump(join);
            }
        }
    }

    /// Puts an atom into a slot as it stands, `Empty` included.
    fn as_it_stands(&mut self, atom: &Atom, dst: Slot) {
        if let Some(value) = self.run.m.values.constant_leaf(atom) {
            self.emit(Instruction::Load { dst, value });
            self.mark_live(dst);
        } else {
            self.raw(atom, Dest::Slot(dst));
        }
    }

    fn operand_slot(&mut self, atom: &Atom) -> Slot {
        if let Atom::Variable(variable) = atom {
            return self.slot_of(variable);
        }
        let slot = self.slot();
        self.as_it_stands(atom, slot);
        slot
    }

    /// What is no instruction is its own result.
    fn data(&mut self, atom: &Atom, out: Out) {
        let slot = self.slot_for(out);
        self.as_it_stands(atom, slot);
        self.done(slot, out);
    }

    /// What a variable holds may be code; so may what it makes the head of.
    fn at_run_time(&mut self, atom: &Atom, out: Out) {
        let code = self.slot();
        self.as_it_stands(atom, code);
        match out {
            Out::Function { .. } => self.done(code, out),
            Out::Value { dst, join } => {
                self.run_minimal(code, dst, false);
                self.jump(join);
            }
        }
    }

    pub(super) fn run_minimal(&mut self, slot: Slot, dst: Slot, only_function: bool) {
        self.mark_live(slot);
        let (return_point, back) = self.raw_return_point(dst, None);
        let at = self.run.m.code.return_points[return_point as usize].at;
        self.emit(Instruction::RunMinimal { slot, return_point, only_function });
        self.place(back);
        self.own(at);
        self.mark_live(dst);
    }

    /// A return point whose errors are values; code goes on at the label behind it with them, too.
    pub(super) fn raw_return_point(&mut self, dst: Slot, at: Option<Slot>) -> (u32, Label) {
        let (label, back) = (self.label(), self.label());
        let outer = std::mem::replace(&mut self.errors, Errors::Destination(label));
        let return_point = self.return_point(dst, at);
        self.errors = outer;
        self.write_behind(Later::Raw { label, dst, back });
        (return_point, back)
    }

    /// Steps 2 and 5.
    fn chain(&mut self, nested: &Atom, variable: &Variable, template: &Atom, out: Out) {
        if let Some((goal, result, rest, into)) = self.collected_together(nested, variable, template) {
            let dst = self.slot();
            self.make_shared(nested);
            self.collected_as_value(goal, dst, into);
            return self.bound(result, dst, false, |compiler| compiler.minimal(rest, out));
        }
        let is_context =
            nested.children().is_some_and(|nested| nested.len() == 1 && nested[0].is_symbol("context-space"));
        let dst = self.minimal_value(nested);
        self.bound(variable, dst, is_context, |compiler| compiler.minimal(template, out));
    }

    /// All results of a goal as a value, which a list that begins with the word `Error` is as well.
    fn collected_as_value(&mut self, goal: &Atom, dst: Slot, into: CollectedInto) {
        let (label, back) = (self.label(), self.label());
        let outer = std::mem::replace(&mut self.errors, Errors::Destination(label));
        self.make_shared(goal);
        let node = self.lower_with_passes(|lower| lower.value(goal, 0, Place::Inside));
        self.collect(&node, into, dst);
        self.errors = outer;
        self.write_behind(Later::Raw { label, dst, back });
        self.place(back);
    }

    /// Compiles something in which a variable stands for what is in a slot.
    fn bound(&mut self, variable: &Variable, slot: Slot, is_context: bool, write: impl FnOnce(&mut Self)) {
        let outer = self.state.variables.insert(variable.clone(), slot);
        self.fixed.insert(variable.clone());
        if is_context {
            self.contexts.insert(variable.clone());
        }
        write(self);
        match outer {
            Some(outer) => self.state.variables.insert(variable.clone(), outer),
            None => self.state.variables.remove(variable),
        };
        self.fixed.remove(variable);
        self.contexts.remove(variable);
    }

    /// Whether a chain collects the results of a goal and does nothing else with their bindings: the goal, the variable
    /// for its results, what is done with them, and what they become.
    fn collected_together<'a>(
        &self,
        nested: &'a Atom,
        pairs: &'a Variable,
        template: &'a Atom,
    ) -> Option<(&'a Atom, &'a Variable, &'a Atom, CollectedInto)> {
        let [collapse, evaluated] = nested.children()? else { return None };
        let [metta, goal, type_atom, space] = evaluated.children()? else { return None };
        let is_goal = collapse.is_symbol("collapse-bind") && metta.is_symbol("metta");
        if !is_goal || !type_atom.is_symbol(names::UNDEFINED) || !self.is_context(space) {
            return None;
        }
        let (lowering, argument, result, rest) = evaluated_next(template)?;
        if *argument != Atom::Variable(pairs.clone()) || occurrences(rest, pairs) > 0 || self.fixed.contains(result) {
            return None;
        }
        if lowering == Lowering::CollapsedAtoms {
            return Some((goal, result, rest, CollectedInto::List));
        }
        let [chain, superpose, Atom::Variable(one), rest] = rest.children()? else { return None };
        let [bind, subjects] = superpose.children()? else { return None };
        let is_one_by_one =
            lowering == Lowering::CaseSubjects && chain.is_symbol("chain") && bind.is_symbol("superpose-bind");
        let is_all = *subjects == Atom::Variable(result.clone()) && occurrences(rest, result) == 0;
        let branches = match branches_of_case(template) {
            Some(Atom::Variable(variable)) => self.state.variables.get(variable).map(|&slot| Branches::In(slot)),
            Some(branches) => Some(Branches::Known { asks_for_absence: asks_for_absence(branches) }),
            None => None,
        };
        let into = CollectedInto::Subjects(branches.unwrap_or(Branches::Known { asks_for_absence: true }));
        (is_one_by_one && is_all && !self.fixed.contains(one)).then_some((goal, one, rest, into))
    }

    /// Whether an atom stands for the space of the evaluation.
    pub(super) fn is_context(&self, space: &Atom) -> bool {
        match space {
            Atom::Variable(variable) => self.contexts.contains(variable),
            Atom::Grounded(Grounded::Space(space)) => space.is_same(&self.run.space),
            _ => false,
        }
    }

    /// Step 3.
    fn eval(&mut self, atom: &Atom, call: &Atom, out: Out) {
        let Some([head, arguments @ ..]) = call.children() else { return self.reduce(call, out) };
        match head {
            Atom::Symbol(_) if is_instruction(call) => self.minimal(call, out),
            Atom::Symbol(name)
                if name.as_str() == "collapse"
                    && !(self.run.m.code.is_exact && self.state.is_stale)
                    && self.run.is_special_form("collapse", arguments.len()) =>
            {
                let dst = self.slot_for(out);
                self.make_shared(call);
                self.collected_as_value(&arguments[0], dst, CollectedInto::List);
                self.done(dst, out);
            }
            Atom::Symbol(_) if arguments.len() < 64 => self.open_call(head, arguments, out),
            Atom::Grounded(_) if Operation::of(head).is_some() => self.eval_native(head, arguments, out),
            Atom::Symbol(_) => self.at_run_time(atom, out),
            _ => self.reduce(call, out),
        }
    }

    /// Reduces what is seen only when it is there.
    fn reduce(&mut self, call: &Atom, out: Out) {
        let slot = self.slot();
        self.as_it_stands(call, slot);
        let dst = self.slot_for(out);
        let (return_point, back) = self.raw_return_point(dst, None);
        let at = self.run.m.code.return_points[return_point as usize].at;
        self.emit(Instruction::Reduce { slot, return_point });
        self.place(back);
        self.own(at);
        self.mark_live(dst);
        self.done(dst, out);
    }

    /// A call whose results are not evaluated further, and not collected.
    fn open_call(&mut self, head: &Atom, arguments: &[Atom], out: Out) {
        arguments.iter().for_each(|argument| self.make_shared(argument));
        let dst = self.slot_for(out);
        let block = self.slots(HEADER + arguments.len());
        let (before, first) = (self.state.live.clone(), block + HEADER as Slot);
        for (index, argument) in arguments.iter().enumerate() {
            self.as_it_stands(argument, first + index as Slot);
        }
        self.state.live = before;
        self.emit(Instruction::Load { dst: block + 2, value: Ref::from_bits(OPEN) });
        let head = self.run.m.values.constant_leaf(head).expect("it is a leaf");
        let function = self.run.m.code.function(head, arguments.len() as Slot, REDUCE);
        let (return_point, back) = self.raw_return_point(dst, Some(block));
        self.emit(Instruction::Call { function, return_point, begun: true });
        self.place(back);
        self.own(block);
        self.mark_live(dst);
        self.state.is_stale = true;
        self.done(dst, out);
    }

    fn own(&mut self, at: Slot) {
        let place = self.emit(Instruction::ReserveFrame { at, slots: 0 });
        self.owns.push(place);
    }

    /// Every frame that moves has as many slots as the code needs.
    pub(super) fn patch_owns(&mut self) {
        for place in std::mem::take(&mut self.owns) {
            if let Instruction::ReserveFrame { slots, .. } = &mut self.run.m.code.instructions[place] {
                *slots = self.most as Slot;
            }
        }
    }

    /// A native function on arguments as they stand.
    fn eval_native(&mut self, head: &Atom, arguments: &[Atom], out: Out) {
        match (lowering_of(head), arguments) {
            (Some(Lowering::IfEqual), [left, right, then, otherwise]) => {
                self.make_branches(&[then, otherwise]);
                let [left, right] = [self.operand_slot(left), self.operand_slot(right)];
                let test = Instruction::IfEqual { left, right, or: 0 };
                self.either(
                    test,
                    |compiler| compiler.eval_branch(then, out),
                    |compiler| compiler.eval_branch(otherwise, out),
                );
            }
            (Some(Lowering::IfError), [atom, then, otherwise]) => {
                self.make_branches(&[then, otherwise]);
                let slot = self.operand_slot(atom);
                let test = Instruction::IfError { slot, or: 0 };
                self.either(
                    test,
                    |compiler| compiler.eval_branch(then, out),
                    |compiler| compiler.eval_branch(otherwise, out),
                );
            }
            _ => self.native_reduction(head, arguments, out),
        }
    }

    fn native_reduction(&mut self, head: &Atom, arguments: &[Atom], out: Out) {
        let first = self.slots(arguments.len());
        for (index, argument) in arguments.iter().enumerate() {
            self.as_it_stands(argument, first + index as Slot);
        }
        let dst = self.slot_for(out);
        let operation = self.run.m.values.constant_leaf(head).expect("it is a leaf");
        let (return_point, back) = self.raw_return_point(dst, None);
        self.emit(Instruction::ReduceNative { operation, first, count: arguments.len() as Slot, return_point });
        self.place(back);
        self.mark_live(dst);
        self.state.is_stale = true;
        self.done(dst, out);
    }

    /// One piece of code if a test holds, another if it does not.
    pub(super) fn either(
        &mut self,
        test: Instruction,
        then: impl FnOnce(&mut Self),
        otherwise: impl FnOnce(&mut Self),
    ) {
        let or = self.label();
        self.emit_to(test, or);
        let before = self.state.clone();
        then(self);
        self.place(or);
        self.state = before;
        otherwise(self);
    }

    /// Makes the variables of the branches of a choice that have no slot yet, so that both have the same.
    pub(super) fn make_branches(&mut self, branches: &[&Atom]) {
        for branch in branches {
            for variable in self.facts().seen_elsewhere(free_variables(branch), &[branch]) {
                self.make_variable(&variable);
            }
        }
    }

    /// What `unify` answers with: data as the result of an instruction, code inside `function`.
    fn branch(&mut self, atom: &Atom, out: Out) {
        match out {
            Out::Value { .. } => self.data(atom, out),
            Out::Function { .. } => self.minimal(atom, out),
        }
    }

    /// What `eval` answers with: a `function` is entered.
    fn eval_branch(&mut self, atom: &Atom, out: Out) {
        match out {
            Out::Value { .. } if is_function(atom) => self.nested_function(atom, out),
            Out::Value { dst, join } if matches!(atom, Atom::Variable(_)) || starts_with_variable(atom) => {
                let slot = self.slot();
                self.as_it_stands(atom, slot);
                self.run_minimal(slot, dst, true);
                self.jump(join);
            }
            _ => self.branch(atom, out),
        }
    }

    fn nested_function(&mut self, atom: &Atom, out: Out) {
        let call = self.template(atom);
        let slot = self.run_function(atom, call);
        match out {
            Out::Value { dst, join } => {
                self.emit(Instruction::Move { dst, src: slot });
                self.jump(join);
            }
            Out::Function { .. } => self.done(slot, out),
        }
    }

    /// Matches two atoms as they stand: `then` with each way, `otherwise` if there is none. Both end with a jump.
    pub(super) fn unify(&mut self, parts: [&Atom; 4], then: impl FnOnce(&mut Self), otherwise: impl FnOnce(&mut Self)) {
        let [left, pattern, ..] = parts;
        self.make_known_outside(parts);
        let slot = self.operand_slot(left);
        self.mark_live(slot);
        let before = self.state.clone();
        let marks = self.slot();
        self.emit(Instruction::Remember { slot: marks });
        let (or, matched, spaces) = (self.label(), self.label(), self.label());
        if has_space(pattern) {
            self.jump(spaces);
        }
        self.pattern(slot, pattern, Or::Destination(or));
        self.place(matched);
        let fresh: Vec<(Variable, Slot)> = variables(pattern)
            .into_iter()
            .filter(|variable| !before.variables.contains_key(variable))
            .map(|variable| (variable.clone(), self.state.variables[&variable]))
            .collect();
        let is_new = |variable: &Variable| !self.fixed.contains(variable);
        let added: Vec<Variable> = fresh.iter().map(|(variable, _)| variable.clone()).filter(is_new).collect();
        self.fixed.extend(added.iter().cloned());
        let inside = self.state.clone();
        then(self);
        added.iter().for_each(|variable| {
            self.fixed.remove(variable);
        });
        self.place(or);
        let code = &mut self.run.m.code;
        let here = code.instructions.len() as u32;
        self.state = before.clone();
        self.emit(Instruction::Undo { slot: marks });
        otherwise(self);
        // A pattern that has met a space: the same with variables in place of slots.
        self.place(spaces);
        let place = self.here();
        self.run.m.code.spaces.insert(here, place);
        self.state = CodeState { variables: inside.variables, ..before.clone() };
        self.emit(Instruction::Undo { slot: marks });
        for (variable, slot) in &fresh {
            self.fresh_variable(variable, *slot);
        }
        let right = self.operand_slot(pattern);
        let dst = self.slot();
        let return_point = self.return_point(dst, None);
        self.emit_to(Instruction::Unify { left: slot, right, return_point, or: 0 }, or);
        self.jump(matched);
        self.state = before;
    }

    /// The variables of a pattern that are seen elsewhere than behind a match are made before.
    fn make_known_outside(&mut self, parts: [&Atom; 4]) {
        let [left, pattern, then, _] = parts;
        self.make_variables(left);
        for variable in self.facts().seen_elsewhere(variables(pattern), &[pattern, then]) {
            self.make_variable(&variable);
        }
    }

    fn fresh_variable(&mut self, variable: &Variable, dst: Slot) {
        if self.is_form {
            let index = self.run.m.values.form_variable(variable);
            self.emit(Instruction::FormVariable { dst, index });
        } else {
            let name = self.run.m.values.symbol(variable.name());
            self.emit(Instruction::Variable { dst, name });
        }
    }

    fn cons(&mut self, atom: &Atom, parts: [&Atom; 2], out: Out) {
        let [head, tail] = parts.map(|part| self.operand_slot(part));
        let dst = self.slot_for(out);
        self.or_run(Instruction::Cons { head, tail, dst, or: 0 }, atom, dst);
        self.done(dst, out);
    }

    fn decons(&mut self, atom: &Atom, list: &Atom, out: Out) {
        let slot = self.operand_slot(list);
        let dst = self.slot_for(out);
        self.or_run(Instruction::Decons { slot, dst, or: 0 }, atom, dst);
        self.done(dst, out);
    }

    /// An instruction with a result in a slot, else what it stands for run by the interpreter.
    fn or_run(&mut self, instruction: Instruction, atom: &Atom, dst: Slot) {
        let (or, join) = (self.label(), self.label());
        self.emit_to(instruction, or);
        self.jump(join);
        self.place(or);
        let before = self.state.clone();
        let code = self.slot();
        self.as_it_stands(atom, code);
        self.run_minimal(code, dst, false);
        self.joined_at(join, before, dst);
    }

    /// Evaluates a goal; its errors are results.
    fn metta(&mut self, atom: &Atom, goal: &Atom, type_atom: &Atom, out: Out) {
        // An error is passed on if it is of the type, and an error of another type otherwise.
        let is_plain = type_atom.is_ground() && !names::is_error(goal);
        let type_id = if is_plain { self.run.m.types.ids.id(type_atom) } else { None };
        // Where an expression is asked for, what is one stays as it is, and what a variable holds may be one.
        let asks_for_expression = type_atom.is_symbol(names::EXPRESSION);
        let is_odd = asks_for_expression && matches!(goal, Atom::Variable(_));
        let Some(type_id) = type_id.filter(|_| !is_odd) else { return self.at_run_time(atom, out) };
        self.make_shared(goal);
        let dst = self.slot_for(out);
        let (label, back) = (self.label(), self.label());
        let outer = std::mem::replace(&mut self.errors, Errors::Destination(label));
        let before = self.state.clone();
        let is_raw = asks_for_expression && matches!(goal, Atom::Expression(_));
        if is_raw || type_id == self.run.m.types.atom_type {
            self.as_it_stands(goal, dst);
        } else {
            self.argument(goal, type_id, dst);
        }
        self.errors = outer;
        self.write_behind(Later::Raw { label, dst, back });
        self.joined_at(back, before, dst);
        self.done(dst, out);
    }

    /// `unify` at the level of MeTTa: its answer is evaluated.
    pub(super) fn unify_form(&mut self, atom: &Atom, type_id: TypeId, dest: Dest) {
        let [_, left, pattern, then, otherwise] = atom.children().expect("the form has five parts") else {
            return self.plain(atom, type_id, dest);
        };
        let is_odd = |branch: &Atom| branch.is_symbol(names::NOT_REDUCIBLE) || is_function(branch);
        if is_odd(then) || is_odd(otherwise) {
            return self.plain(atom, type_id, dest);
        }
        self.make_branches(&[then, otherwise]);
        let may_branch = left.children().is_none() || has_space(left) || has_space(pattern);
        let write = |compiler: &mut Self, dest: Dest| {
            let join = compiler.label();
            let before = compiler.state.clone();
            let branch = |compiler: &mut Self, branch: &Atom| {
                compiler.answer(branch, 0, dest, OddAnswer::Stands(atom.clone()));
                if dest != Dest::Tail {
                    compiler.jump(join);
                }
            };
            compiler.unify(
                [left, pattern, then, otherwise],
                |compiler| branch(compiler, then),
                |compiler| branch(compiler, otherwise),
            );
            compiler.place(join);
            compiler.state = before;
            compiler.state.is_stale = true;
            if let Dest::Slot(dst) = dest {
                compiler.mark_live(dst);
            }
        };
        if may_branch { self.within_barrier(dest, write) } else { write(self, dest) }
    }
}

/// `(chain (eval (name argument)) $result rest)`, with a native function.
fn evaluated_next(template: &Atom) -> Option<(Lowering, &Atom, &Variable, &Atom)> {
    let [chain, evaluated, Atom::Variable(result), rest] = template.children()? else { return None };
    let [eval, call] = evaluated.children()? else { return None };
    let [head, argument] = call.children()? else { return None };
    let lowering = lowering_of(head)?;
    (chain.is_symbol("chain") && eval.is_symbol("eval")).then_some((lowering, argument, result, rest))
}

/// Whether code takes pairs of results and bindings apart or hands them on, but for a collection of results.
fn takes_pairs(code: &Atom) -> bool {
    let mut work = vec![code];
    while let Some(atom) = work.pop() {
        let Some(children) = atom.children() else { continue };
        if let [chain, nested, Atom::Variable(_), template] = children
            && chain.is_symbol("chain")
            && nested.head().is_some_and(|head| head.is_symbol("collapse-bind"))
        {
            match evaluated_next(template) {
                Some((Lowering::CollapsedAtoms, _, _, rest)) => {
                    work.extend([nested.children().map_or(nested, |nested| &nested[1]), rest]);
                    continue;
                }
                Some((Lowering::CaseSubjects, _, _, rest)) => {
                    let rest = rest.children().filter(|rest| rest.len() == 4).map_or(rest, |rest| &rest[3]);
                    work.extend([nested.children().map_or(nested, |nested| &nested[1]), rest]);
                    continue;
                }
                _ => return true,
            }
        }
        if children.first().is_some_and(|head| head.is_symbol("collapse-bind") || head.is_symbol("superpose-bind")) {
            return true;
        }
        work.extend(children);
    }
    false
}

fn starts_with_variable(atom: &Atom) -> bool {
    matches!(atom.children(), Some([Atom::Variable(_), ..]))
        || matches!(atom.children(), Some([head, Atom::Variable(_)]) if head.is_symbol("function"))
}
