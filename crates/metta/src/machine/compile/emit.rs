//! From [Core](crate::machine::core) to instructions, node by node.

use super::head::Or;
use super::held::hold_data;
use super::reduction::unless_evaluated;
use super::{Compiler, Dest, Label, Later};
use crate::machine::code::{ArgumentSource, Arguments, HEADER, Instruction, Pc, Position, Slot, TypeId};
use crate::machine::core::{
    AtomTest, Branch, Branches, Call, Compute, Core, Effect, Evaluator, Guarded, If, IfAtoms, List, ListOperation,
    Match, Native, Operation, Shortcut, Test, Written,
};
use crate::machine::lower::Lower;
use crate::machine::passes;
use crate::machine::types::untyped;
use crate::machine::words::is_small;
use space::{Atom, Variable, variables};
use std::rc::Rc;

/// How many pieces of code that are to be written behind the rest are looked at for one that is needed again.
const LATER_MAX: usize = 8;

impl Compiler<'_, '_> {
    /// Writes the code of what is lowered from here, in last place.
    pub(super) fn in_last_place(&mut self, make: impl FnOnce(&mut Lower<'_>) -> Core) {
        let node = self.lower_with_passes(make);
        self.node(&node, Dest::Tail);
    }

    pub(super) fn lower_with_passes(&mut self, make: impl FnOnce(&mut Lower<'_>) -> Core) -> Core {
        let mut shown = self.run.m.code.shown.is_some().then(Vec::new);
        let mut lower = self.lower();
        let mut node = make(&mut lower);
        passes::run(&mut node, &mut lower, shown.as_mut());
        let is_too_large = lower.is_too_large;
        self.is_too_large |= is_too_large;
        if let (Some(all), Some(shown)) = (&mut self.run.m.code.shown, shown) {
            all.push((self.run.m.code.instructions.len() as Pc, shown));
        }
        if is_too_large { Core::Fail } else { node }
    }

    /// The code of a node. Whatever path leads behind it, the same is known there.
    pub(super) fn node(&mut self, node: &Core, dest: Dest) {
        if let Core::Fresh { variables, then } = node {
            self.make_each(variables);
            return self.node(then, dest);
        }
        let Dest::Slot(dst) = dest else { return self.node_here(node, dest) };
        if node.is_simple() || self.joins.last().is_some_and(|(_, _, inside)| *inside == dst) {
            return self.node_here(node, dest);
        }
        let held = std::mem::take(&mut self.held);
        self.joining(dst, |compiler| compiler.node_here(node, dest));
        self.held = held;
    }

    fn node_here(&mut self, node: &Core, dest: Dest) {
        match node {
            Core::Fail => _ = self.emit(Instruction::Fail),
            Core::Leaf(leaf) => self.load(*leaf, dest),
            Core::Quote(atom) => self.raw(atom, dest),
            Core::Variable(variable) => {
                let slot = self.state.variables[variable];
                self.finish(slot, dest);
            }
            Core::Evaluate { variable, type_id, position } => self.evaluate(variable, (*type_id, *position), dest),
            Core::Evaluated(variable) => {
                let (slot, dst) = (self.state.variables[variable], self.target(dest));
                self.emit(Instruction::NoteEvaluated { slot, dst });
                self.mark_live(dst);
                self.finish(dst, dest);
            }
            Core::Resolved(value) => {
                let (slot, dst) = (self.slot_of_node(value), self.target(dest));
                self.mark_live(slot);
                self.emit(Instruction::Resolve { slot, dst });
                self.mark_live(dst);
                self.finish(dst, dest);
            }
            Core::UnlessEvaluated { variable, otherwise } => unless_evaluated(self, variable, otherwise, dest),
            Core::Written(written) => self.written(written, dest, None),
            Core::Fresh { .. } => self.node(node, dest),
            Core::Guarded(guarded) => self.guarded(guarded, dest),
            Core::Gathered(node) => self.within_barrier(dest, |compiler, dest| compiler.node(node, dest)),
            Core::Let { variable, value, then } => {
                let slot = self.slot_of_node(value);
                let outer = self.state.variables.insert(variable.clone(), slot);
                self.node_here(then, dest);
                match outer {
                    Some(outer) => self.state.variables.insert(variable.clone(), outer),
                    None => self.state.variables.remove(variable),
                };
            }
            Core::Match(parts) => self.matched(parts, dest),
            Core::ListAround { first, call, as_written } => self.list_around(first, call, as_written),
            Core::Compute(compute) => self.compute(compute, dest),
            Core::If(branches) => self.branches_of_if(branches, dest),
            Core::Reduct { value, call, type_id } => {
                let slot = self.slot_of_node(value);
                self.check_reduct(slot, call.as_ref(), *type_id, dest);
            }
            Core::Call(call) => self.call(call, dest),
            Core::Data(data) => self.construct(data, dest),
            Core::Native(native) => self.native(native, dest),
            Core::Collect { goal, into } => {
                let dst = self.target(dest);
                self.collect(goal, into, dst);
                self.finish(dst, dest);
            }
            Core::Branches(parts) => self.branches(parts, dest),
            Core::Alternatives(nodes) => self.alternatives(nodes, dest),
            Core::Each(list) => {
                let slot = self.slot_of_node(list);
                let dst = self.target(dest);
                let return_point = self.return_point(dst, None);
                self.emit(Instruction::Superpose { slot, return_point });
                self.finish(dst, dest);
            }
            Core::Effect { effect, operands } => self.effect(*effect, operands, dest),
            Core::List(list) => self.list(list, dest),
            Core::IfAtoms(parts) => self.if_atoms(parts, dest),
            Core::AsValue(node) => self.as_value(node, dest),
            Core::Reduce(reduce) => self.reduce(reduce, dest),
            Core::Run { code, is_only_function } => self.run_code(code, *is_only_function, dest),
            Core::Function { call, body } => self.function_body(call, body, dest),
            Core::Proceed(value) => self.proceed(value, dest),
            Core::Unify(parts) => self.unify(parts, dest),
            Core::IfDecons(parts) => self.if_decons(parts, dest),
            Core::Substitute(parts) => self.substitute(parts, dest),
            Core::Made(made) => self.made(made, dest),
            Core::Again(arguments) => self.again(arguments),
            Core::Leave(leave) => self.leave(leave),
            Core::LeaveList(list) => {
                let slot = self.slot_of_node(list);
                self.emit(Instruction::LeaveList { slot });
            }
            Core::Shown { node, anew } => self.shown(anew, |compiler| compiler.node(node, dest)),
            Core::Apply(parts) => self.apply(parts, dest),
            Core::Query(query) => self.query(query, dest),
        }
    }

    /// The slot of the value of a node: a variable's own slot, if it is taken as it stands.
    pub(super) fn slot_of_node(&mut self, node: &Core) -> Slot {
        if let Core::Variable(variable) = node {
            return self.state.variables[variable];
        }
        let slot = self.slot();
        self.node(node, Dest::Slot(slot));
        slot
    }

    fn evaluate(&mut self, variable: &Variable, (type_id, position): (TypeId, Position), dest: Dest) {
        let slot = self.state.variables[variable];
        match dest {
            Dest::Tail => {
                let is_answer = position == Position::Answer;
                self.emit(Instruction::TailEvaluate { slot, type_id, is_answer });
            }
            Dest::Slot(dst) => {
                self.unless_held(variable, slot, dst);
                let return_point = self.return_point(dst, None);
                self.emit(Instruction::Value { slot, dst, type_id, return_point, position });
                self.mark_live(dst);
                self.state.is_stale = true;
            }
        }
    }

    /// An expression that is evaluated as it is written, and on at a label if there is one.
    pub(super) fn written(&mut self, written: &Written, dest: Dest, then: Option<Label>) {
        let Written { atom, type_id, by } = written;
        let (template, type_id) = (self.template(atom), *type_id);
        let is_answer = *by == Evaluator::MachineAsAnswer;
        match (by, dest) {
            (Evaluator::Machine | Evaluator::MachineAsAnswer, Dest::Tail) => {
                self.emit(Instruction::TailEvaluateWritten { template, type_id, is_answer });
            }
            (Evaluator::Machine, Dest::Slot(dst)) => {
                let return_point = self.return_point(dst, None);
                self.emit(Instruction::EvaluateWritten { template, type_id, return_point });
                self.goes_on(return_point, dst, then);
            }
            (Evaluator::MachineAsAnswer, Dest::Slot(dst)) => {
                let slot = self.slot();
                self.emit(Instruction::Build { dst: slot, template });
                self.mark_live(slot);
                let (return_point, position) = (self.return_point(dst, None), Position::Answer);
                self.emit(Instruction::Value { slot, dst, type_id, return_point, position });
                self.goes_on(return_point, dst, None);
                then.iter().for_each(|then| self.jump(*then));
            }
            (Evaluator::Interpreter, _) => {
                let dst = self.target(dest);
                let return_point = self.return_point(dst, None);
                self.emit(Instruction::Interpret { template, type_id, return_point });
                self.goes_on(return_point, dst, then);
                if then.is_none() {
                    self.finish(dst, dest);
                }
            }
            (Evaluator::InterpreterWithArguments, _) => {
                self.emit(Instruction::TailInterpret { template, type_id });
            }
        }
    }

    /// Behind an evaluation whose value goes to a slot: the code goes on here, or at a label.
    fn goes_on(&mut self, return_point: u32, dst: Slot, then: Option<Label>) {
        self.mark_live(dst);
        self.state.is_stale = true;
        self.fixes.extend(then.map(|then| (super::Fix::GoOn(return_point), then)));
    }

    /// The code of a node behind the rest; a label for it. What follows may go there as long as it makes no variables.
    pub(super) fn elsewhere(&mut self, node: Rc<Core>, dest: Dest) -> Label {
        let join = self.join(dest);
        self.elsewhere_to(node, dest, join)
    }

    /// The code of a node behind the rest, which goes on at a label; a label for it.
    fn elsewhere_to(&mut self, node: Rc<Core>, dest: Dest, join: Option<Label>) -> Label {
        if let Core::Written(written) = &*node
            && let Some(label) = self.written_already(written, dest, join)
        {
            return label;
        }
        let label = self.label();
        let (state, errors, gathers) = (self.state.clone(), self.errors, self.gathers);
        self.write_behind(Later::Node { label, node, dest, state, join, errors, gathers });
        label
    }

    /// The label of an expression that is evaluated as it is written, if it is to be written just so: between the two places nothing has
    /// changed what its variables stand for.
    fn written_already(&self, written: &Written, dest: Dest, join: Option<Label>) -> Option<Label> {
        let is_alike = |later: &Later| match later {
            Later::Node { label, node, dest: other, state, join: other_join, errors, .. } => {
                let is_at_place = (*other, *other_join, *errors) == (dest, join, self.errors);
                let stand_alike = || {
                    let variables = variables(&written.atom);
                    variables.iter().all(|one| state.variables.get(one) == self.state.variables.get(one))
                };
                let is_written = matches!(&**node, Core::Written(other) if is_at_place && other == written);
                (is_written && stand_alike()).then_some(*label)
            }
            _ => None,
        };
        self.later.iter().rev().take(LATER_MAX).find_map(|(later, _)| is_alike(later))
    }

    fn guarded(&mut self, guarded: &Guarded, dest: Dest) {
        let Guarded { tests, is_passed_by_small, leaf, fast, as_written } = guarded;
        if let Some((variable, type_id)) = leaf {
            self.leaf_first(self.state.variables[variable], *type_id, dest);
        }
        let mut elsewhere = None;
        if tests.contains(&Test::Unchanged) && self.state.is_stale {
            let label = *elsewhere.get_or_insert_with(|| self.elsewhere(Rc::clone(as_written), dest));
            self.test_or(&Test::Unchanged, label);
        }
        let shortcut = match fast {
            Core::If(branches) if branches.shortcut == Some(Shortcut::BeforeTests) => self.compare_small(branches),
            _ => None,
        };
        let passed = is_passed_by_small.then(|| self.skip_if_small(tests)).flatten();
        for test in tests.iter().filter(|&test| *test != Test::Unchanged) {
            let label = *elsewhere.get_or_insert_with(|| self.elsewhere(Rc::clone(as_written), dest));
            self.test_or(test, label);
        }
        if let Some(passed) = passed {
            self.place(passed);
        }
        match (fast, shortcut) {
            (Core::If(branches), Some(at)) => self.branches_behind(branches, Some(at), dest),
            (fast, _) => self.node_here(fast, dest),
        }
    }

    /// A leaf of a type is the value: nothing else is asked of it.
    fn leaf_first(&mut self, slot: Slot, type_id: TypeId, dest: Dest) {
        let is_number = type_id == self.run.m.types.number_type;
        match self.join(dest) {
            None => _ = self.emit(Instruction::ReturnLeaf { slot, is_number }),
            Some(join) => {
                let Dest::Slot(dst) = dest else { unreachable!("only slots have joins") };
                self.emit_to(Instruction::MoveLeaf { slot, dst, is_number, to: 0 }, join);
            }
        }
    }

    /// Goes to a label if small integers are in all slots that tests ask about.
    pub(super) fn skip_if_small(&mut self, tests: &[Test]) -> Option<Label> {
        let slots = self.slots_tested(tests)?;
        let label = self.label();
        self.emit_to(Instruction::SkipIfSmall { slots, to: 0 }, label);
        Some(label)
    }

    /// What a variable stands for is taken apart.
    fn matched(&mut self, parts: &Match, dest: Dest) {
        let Match { subject, pattern, met_space, then } = parts;
        let slot = self.state.variables[subject];
        let miss = self.label();
        match met_space {
            None => self.labels[miss.0 as usize] = Some(crate::machine::code::FAIL),
            Some(node) => {
                self.or_space(vec![miss], None, Rc::clone(node), dest);
            }
        }
        self.pattern(slot, pattern, Or::Destination(miss));
        self.node_here(then, dest);
    }

    /// A list around a call in last place.
    fn list_around(&mut self, first: &Core, call: &Core, as_written: &Rc<Core>) {
        let first = self.slot_of_node(first);
        let dst = self.slot();
        let return_point = self.return_point(dst, None);
        let label = self.elsewhere(Rc::clone(as_written), Dest::Tail);
        self.emit_to(Instruction::BuildConsHole { first, return_point, or: 0 }, label);
        self.node(call, Dest::Tail);
    }

    fn compute(&mut self, compute: &Compute, dest: Dest) {
        let Compute { operation, operands, is_as_written } = compute;
        let held = hold_data(self, operands);
        let left = self.slot_of_node(&operands[0]);
        let constant = match (operation, operands.get(1)) {
            (Operation::Arithmetic(_), Some(Core::Leaf(leaf))) if is_small(*leaf) => Some(*leaf),
            _ => None,
        };
        let right = match operands.get(1).filter(|_| constant.is_none()) {
            Some(right) => self.slot_of_node(right),
            None => left,
        };
        self.held = held;
        let dst = self.target(dest);
        let return_point = self.return_point(dst, None);
        self.run.m.code.return_points[return_point as usize].is_as_written = *is_as_written;
        let operation = *operation;
        self.emit(match (operation, constant) {
            (Operation::Arithmetic(operation), Some(right)) => {
                Instruction::ArithmeticWith { operation, left, right, return_point }
            }
            (Operation::Arithmetic(operation), None) => {
                Instruction::Arithmetic { operation, left, right, return_point }
            }
            (Operation::Comparison(comparison), _) => Instruction::Compare { comparison, left, right, return_point },
            (Operation::Logic(operation), _) => Instruction::Logic { operation, left, right, return_point },
        });
        self.finish(dst, dest);
    }

    fn branches_of_if(&mut self, branches: &If, dest: Dest) {
        let shortcut = branches.shortcut.and_then(|_| self.compare_small(branches));
        self.branches_behind(branches, shortcut, dest);
    }

    /// Compares small integers at once, in front of the comparison that any values can take: the place of the instruction.
    fn compare_small(&mut self, branches: &If) -> Option<usize> {
        let Core::Compute(compute) = &branches.condition else { return None };
        let (Operation::Comparison(comparison), [Core::Variable(left), right]) =
            (compute.operation, compute.operands.as_slice())
        else {
            return None;
        };
        let left = self.state.variables[left];
        Some(match right {
            Core::Leaf(right) => {
                self.emit(Instruction::CompareJumpWith { comparison, left, right: *right, then: 0, or: 0 })
            }
            Core::Variable(right) => {
                let right = self.state.variables[right];
                self.emit(Instruction::CompareJump { comparison, left, right, then: 0, or: 0 })
            }
            _ => return None,
        })
    }

    /// The branches of a conditional, behind an instruction that may have led to them at once.
    fn branches_behind(&mut self, branches: &If, shortcut: Option<usize>, dest: Dest) {
        let live = self.state.live.clone();
        let slot = self.slot_of_node(&branches.condition);
        self.state.variables.insert(branches.value.clone(), slot);
        let otherwise = self.label();
        let stuck = self.elsewhere(Rc::clone(&branches.stuck), dest);
        if branches.tests.contains(&Test::Unchanged) && self.state.is_stale {
            self.test_or(&Test::Unchanged, stuck);
        }
        self.emit_to(Instruction::If { slot, or: 0 }, otherwise);
        self.emit_to(Instruction::Jump { to: 0 }, stuck);
        if let Some(at) = shortcut {
            let then = self.label();
            self.place(then);
            self.fixes.push((super::Fix::Instruction(at), otherwise));
            self.fixes.push((super::Fix::Then(at), then));
            // The slots of the comparison are not assigned when numbers are compared on the way.
            self.state.live = live;
        }
        let before = self.state.clone();
        self.branch(&branches.then, dest);
        self.place(otherwise);
        self.state = before;
        self.node(&branches.otherwise, dest);
    }

    fn call(&mut self, call: &Call, dest: Dest) {
        match &call.direct {
            Some(as_written) => self.direct_call(call, as_written, dest),
            None => self.call_on_block(call, dest),
        }
    }

    /// A call whose arguments are laid out in a block that becomes its frame.
    fn call_on_block(&mut self, call: &Call, dest: Dest) {
        let block = self.slots(HEADER + call.arguments.len());
        let outer = self.errors;
        let label = call.is_gathered.then(|| self.begin_barrier(block + 2));
        let held = match call.formals {
            Some(_) => hold_data(self, &call.arguments),
            None => self.hold(&call.held),
        };
        for (index, argument) in call.arguments.iter().enumerate() {
            self.node(argument, Dest::Slot(block + (HEADER + index) as Slot));
        }
        self.held = held;
        self.errors = outer;
        let origin = match &call.formals {
            Some(formals) => self.origin_of(call.function, formals, &call.written, block),
            None => self.origin_of(call.function, &untyped(call.written.len()), &call.written, block),
        };
        self.call_block(call.function, block, (label, origin), dest);
    }

    /// A call whose arguments are taken as they are.
    fn direct_call(&mut self, call: &Call, as_written: &Rc<Core>, dest: Dest) {
        let sources: Box<[ArgumentSource]> = call
            .arguments
            .iter()
            .map(|argument| match argument {
                Core::Leaf(leaf) => ArgumentSource::Leaf(*leaf),
                Core::Variable(variable) => ArgumentSource::Slot(self.state.variables[variable]),
                Core::Evaluate { variable, .. } => ArgumentSource::Normal(self.state.variables[variable]),
                other => unreachable!("{other:?} is not taken as it is"),
            })
            .collect();
        let (above, is_direct) = super::body::places_of(&sources);
        let label = self.elsewhere(Rc::clone(as_written), dest);
        self.run.m.code.arguments.push(Arguments { sources, above, is_direct, or: 0 });
        let list = (self.run.m.code.arguments.len() - 1) as u32;
        self.fixes.push((super::Fix::ArgumentsOr(list), label));
        let has_sums = call.written.iter().any(|argument| argument.children().is_some());
        let origin = if has_sums { super::origins::CallOrigin::Other } else { super::origins::CallOrigin::Same };
        let function = call.function;
        match dest {
            Dest::Tail => {
                self.emit(Instruction::TailCallWith { function, arguments: list });
                self.note_call(origin, false);
            }
            Dest::Slot(dst) => {
                let return_point = self.return_point(dst, None);
                self.emit(Instruction::CallWith { function, arguments: list, return_point });
                self.note_call(origin, false);
                self.mark_live(dst);
                self.state.is_stale = true;
            }
        }
    }

    /// A native function on evaluated arguments.
    fn native(&mut self, native: &Native, dest: Dest) {
        let Native { operation, arguments, is_as_written } = native;
        let first = self.slots(HEADER + arguments.len()) + HEADER as Slot;
        let held = hold_data(self, arguments);
        for (index, argument) in arguments.iter().enumerate() {
            self.node(argument, Dest::Slot(first + index as Slot));
        }
        self.held = held;
        let dst = self.target(dest);
        let return_point = self.return_point(dst, None);
        self.run.m.code.return_points[return_point as usize].is_as_written = *is_as_written;
        let count = arguments.len() as Slot;
        self.emit(Instruction::Native { operation: *operation, first, count, return_point });
        self.state.is_stale = true;
        self.finish(dst, dest);
    }

    /// The first of some branches whose pattern matches what a variable stands for.
    fn branches(&mut self, parts: &Branches, dest: Dest) {
        let found = self.state.variables[&parts.subject];
        let marks = self.slot();
        self.emit(Instruction::Remember { slot: marks });
        let before = self.state.clone();
        let mut misses = Vec::new();
        let first = self.next;
        for Branch { pattern, body } in &parts.branches {
            self.state = before.clone();
            self.next = first;
            let next = self.label();
            if !matches!(pattern, Atom::Variable(variable) if !self.state.variables.contains_key(variable)) {
                misses.push(next);
            }
            self.pattern(found, pattern, Or::Destination(next));
            self.branch(body, dest);
            self.place(next);
            self.emit(Instruction::Undo { slot: marks });
        }
        self.emit(Instruction::Fail);
        self.state = before;
        if !misses.is_empty() {
            self.or_space(misses, Some(marks), Rc::clone(&parts.met_space), dest);
        }
        self.state.is_stale = true;
    }

    /// A pattern that meets a space is a query of it: then the interpreter evaluates the rest of the form, in which what is evaluated
    /// stays as it is. The patterns of one form share this code, so that a form of n patterns is compiled in time proportional to n.
    fn or_space(&mut self, misses: Vec<Label>, marks: Option<Slot>, node: Rc<Core>, dest: Dest) {
        let join = self.join(dest);
        let (state, errors) = (self.state.clone(), self.errors);
        self.write_behind(Later::Space { misses, marks, node, dest, state, join, errors });
    }

    /// Each of some nodes, in its turn.
    fn alternatives(&mut self, nodes: &[Core], dest: Dest) {
        let Some((last, others)) = nodes.split_last() else { return };
        let (end, mut before) = (self.label(), self.state.clone());
        for node in others {
            let next = self.return_point(0, None);
            self.emit(Instruction::Alternative { return_point: next });
            self.node(node, dest);
            if dest != Dest::Tail {
                self.emit_to(Instruction::Jump { to: 0 }, end);
            }
            // What is behind this one may be evaluated before the next is.
            before.is_stale = true;
            self.state = before.clone();
            self.run.m.code.return_points[next as usize].pc = self.here();
        }
        self.node(last, dest);
        self.place(end);
        self.state = before;
        self.state.is_stale = true;
    }

    fn effect(&mut self, effect: Effect, operands: &[Core], dest: Dest) {
        let slots = slots_of_nodes(self, operands);
        let dst = self.target(dest);
        let return_point = self.return_point(dst, None);
        self.emit(match (effect, slots.as_slice()) {
            (Effect::GetState, &[slot]) => Instruction::GetState { slot, return_point },
            (Effect::ChangeState, &[slot, value]) => Instruction::ChangeState { slot, value, return_point },
            (Effect::AddAtom, &[space, value]) => Instruction::AddAtom { space, value, return_point },
            (effect, slots) => unreachable!("{effect:?} has {} operands", slots.len()),
        });
        // An atom may be a rule or a type.
        self.state.is_stale |= effect == Effect::AddAtom;
        self.finish(dst, dest);
    }

    fn list(&mut self, list: &List, dest: Dest) {
        let slots = slots_of_nodes(self, &list.operands);
        let dst = self.target(dest);
        let or = 0;
        let instruction = match (list.operation, slots.as_slice()) {
            (ListOperation::InOrder, &[slot]) => {
                self.emit(Instruction::Gathered { slot, dst });
                return self.finish(dst, dest);
            }
            (ListOperation::Head, &[slot]) => Instruction::Head { slot, dst, or },
            (ListOperation::Tail, &[slot]) => Instruction::Tail { slot, dst, or },
            (ListOperation::Cons, &[tail, head]) => Instruction::Cons { head, tail, dst, or },
            (ListOperation::Decons, &[slot]) => Instruction::Decons { slot, dst, or },
            (ListOperation::Size, &[slot]) => Instruction::Size { slot, dst, or },
            (ListOperation::Element, &[slot, index]) => Instruction::Element { slot, index, dst, or },
            (operation, slots) => unreachable!("{operation:?} has {} operands", slots.len()),
        };
        let label = self.elsewhere(Rc::clone(&list.as_written), dest);
        self.emit_to(instruction, label);
        self.finish(dst, dest);
    }

    /// One of two branches, by what atoms are as they stand.
    fn if_atoms(&mut self, parts: &IfAtoms, dest: Dest) {
        let slots: Vec<Slot> = parts.operands.iter().map(|operand| self.slot_of_node(operand)).collect();
        let or = 0;
        let test = match (parts.asks, slots.as_slice()) {
            (AtomTest::AreEqual, &[left, right]) => Instruction::IfEqual { left, right, or },
            (AtomTest::IsError, &[slot]) => Instruction::IfError { slot, or },
            (asks, slots) => unreachable!("{asks:?} has {} operands", slots.len()),
        };
        let otherwise = self.label();
        self.emit_to(test, otherwise);
        let before = self.state.clone();
        self.branch(&parts.then, dest);
        self.place(otherwise);
        self.state = before;
        self.node(&parts.otherwise, dest);
    }

    /// The code of a node, and on behind the expression that it is the value of.
    pub(super) fn branch(&mut self, node: &Core, dest: Dest) {
        self.node(node, dest);
        if let Some(join) = self.join(dest) {
            self.jump(join);
        }
    }

    pub(super) fn jump(&mut self, to: Label) {
        self.emit_to(Instruction::Jump { to: 0 }, to);
    }
}

/// The slots of the values of nodes, which are evaluated one after the other.
fn slots_of_nodes(compiler: &mut Compiler<'_, '_>, nodes: &[Core]) -> Vec<Slot> {
    let held = hold_data(compiler, nodes);
    let slots = nodes.iter().map(|node| compiler.slot_of_node(node)).collect();
    compiler.held = held;
    slots
}
