//! Bodies: values, calls and construction of data.

use super::origins::CallOrigin;
use super::{Compiler, DEPTH_MAX, Dest, Errors, Fact, Fix, Label, Later, SLOTS_MAX};
use crate::lowering::{Arithmetic, Comparison, Form, Lowering};
use crate::machine::code::{
    ArgumentSource, Arguments, Guard, HEADER, Instruction, Position, SOURCES_MAX, Slot, TemplatePart, TypeId,
    WELL_TYPED,
};
use crate::machine::types::{Formal, HeadKind, Signature, untyped};
use crate::machine::words::{ANY, COMPOUND, EMPTY, SYMBOL};
use crate::names;
use crate::operation::Operation;
use crate::operation::lowering_of;
use region::Ref;
use rustc_hash::FxHashMap;
use space::{Atom, Grounded, Variable};

/// An expression and what is expected of it.
#[derive(Clone, Copy)]
pub(super) struct Whole<'a> {
    pub(super) atom: &'a Atom,
    pub(super) type_id: TypeId,
}

impl Compiler<'_, '_> {
    /// Evaluates an atom to a type.
    pub(super) fn value(&mut self, atom: &Atom, type_id: TypeId, dest: Dest) {
        if type_id == self.run.m.type_cache.atom_type {
            return self.raw(atom, dest);
        }
        match atom {
            Atom::Variable(variable) => self.variable_value(variable, type_id, dest, Position::Child),
            Atom::Expression(expression) if !expression.is_empty() => {
                self.depth += 1;
                let held = std::mem::take(&mut self.held);
                self.is_too_large |= self.depth > DEPTH_MAX;
                match dest {
                    _ if self.is_too_large => {}
                    Dest::Tail => self.expression(atom, type_id, dest),
                    Dest::Slot(dst) => self.joined(atom, type_id, dst),
                }
                self.held = held;
                self.depth -= 1;
            }
            leaf => self.leaf(leaf, type_id, dest),
        }
    }

    /// Evaluates what a rule or a form says: an error there is final, also one that is no whole one.
    pub(super) fn reduct(&mut self, atom: &Atom, type_id: TypeId, dest: Dest) {
        match dest {
            _ if !names::is_error(atom) => {
                let is_doubtful = matches!(atom.head(), Some(Atom::Variable(_)));
                let outer = std::mem::replace(&mut self.answer, is_doubtful.then(|| atom.clone()));
                self.value(atom, type_id, dest);
                self.answer = outer;
            }
            Dest::Tail => self.raw(atom, dest),
            Dest::Slot(_) => {
                let slot = self.slot();
                self.raw(atom, Dest::Slot(slot));
                self.check_reduct(slot, None, type_id, dest);
            }
        }
    }

    /// An atom as it stands.
    pub(super) fn raw(&mut self, atom: &Atom, dest: Dest) {
        if let Atom::Variable(variable) = atom {
            let slot = self.slot_of(variable);
            return self.finish(slot, dest);
        }
        match (self.run.m.values.constant_leaf(atom), dest) {
            // As an argument that is not evaluated `Empty` is an atom like any other.
            (Some(EMPTY), Dest::Slot(dst)) => {
                self.emit(Instruction::Load { dst, value: EMPTY });
                return self.mark_live(dst);
            }
            (Some(leaf), _) => return self.load(leaf, dest),
            (None, _) => {}
        }
        let template = self.template(atom);
        let dst = self.target(dest);
        self.emit(Instruction::Build { dst, template });
        self.finish(dst, dest);
    }

    /// The slot that a destination names, or a new one.
    pub(super) fn target(&mut self, dest: Dest) -> Slot {
        match dest {
            Dest::Slot(slot) => slot,
            Dest::Tail => self.slot(),
        }
    }

    /// What is in a slot is the value.
    pub(super) fn finish(&mut self, slot: Slot, dest: Dest) {
        match dest {
            Dest::Tail => {
                self.emit(Instruction::Return { slot });
            }
            Dest::Slot(dst) => {
                if dst != slot {
                    self.emit(Instruction::Move { dst, src: slot });
                    if let Some(&fact) = self.state.facts.get(&slot) {
                        self.know(dst, fact);
                    }
                }
                self.mark_live(dst);
            }
        }
    }

    fn load(&mut self, value: Ref, dest: Dest) {
        if value == EMPTY {
            self.emit(Instruction::Fail);
            return;
        }
        let dst = self.target(dest);
        self.emit(Instruction::Load { dst, value });
        self.finish(dst, dest);
    }

    pub(super) fn slot_of(&mut self, variable: &Variable) -> Slot {
        match self.state.variables.get(variable) {
            Some(&slot) => slot,
            None => self.make_variable(variable),
        }
    }

    fn leaf(&mut self, atom: &Atom, type_id: TypeId, dest: Dest) {
        if atom.children().is_some() {
            let template = self.add_template(vec![TemplatePart::Expression(0)]);
            let dst = self.target(dest);
            self.emit(Instruction::Build { dst, template });
            return self.finish(dst, dest);
        }
        let leaf = self.run.m.values.constant_leaf(atom).expect("it is a leaf");
        if leaf == EMPTY || self.run.leaf_has_type(atom, leaf, type_id, false) {
            self.load(leaf, dest);
        } else {
            self.plain(atom, type_id, dest);
        }
    }

    fn variable_value(&mut self, variable: &Variable, type_id: TypeId, dest: Dest, position: Position) {
        let slot = self.slot_of(variable);
        if self.is_normal(slot, type_id) {
            return self.finish(slot, dest);
        }
        match dest {
            Dest::Tail => {
                self.emit(Instruction::TailEvaluate { slot, type_id, is_answer: false });
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

    /// A rule that says what one of its variables stands for.
    pub(super) fn variable_body(&mut self, variable: &Variable, type_id: TypeId) {
        let (slot, function) = (self.slot_of(variable), self.function);
        if self.is_normal(slot, type_id) {
            return self.finish(slot, Dest::Tail);
        }
        self.emit(Instruction::Body { slot, type_id, function });
    }

    pub(super) fn is_normal(&self, slot: Slot, type_id: TypeId) -> bool {
        match self.state.facts.get(&slot) {
            Some(Fact::Number) => type_id == 0 || type_id == self.run.m.type_cache.number_type,
            Some(Fact::Bool) => type_id == 0 || type_id == self.run.m.type_cache.bool_type,
            None => false,
        }
    }

    /// The slot of an evaluated child: a variable's own slot, if its value is its own result.
    pub(super) fn operand(&mut self, atom: &Atom, type_id: TypeId) -> Slot {
        if let Atom::Variable(variable) = atom {
            let slot = self.slot_of(variable);
            if self.is_normal(slot, type_id) {
                return slot;
            }
        }
        let dst = self.slot();
        self.value(atom, type_id, Dest::Slot(dst));
        dst
    }

    /// The slot of an argument of a native function: one that is `Empty` or an error as it stands is passed on.
    pub(super) fn native_operand(&mut self, atom: &Atom, type_id: TypeId) -> Slot {
        if let Atom::Variable(variable) = atom {
            let slot = self.slot_of(variable);
            if self.is_normal(slot, type_id) {
                return slot;
            }
        }
        let dst = self.slot();
        self.argument(atom, type_id, dst);
        dst
    }

    /// An argument of a typed function: what is an error as it stands is passed on.
    pub(super) fn argument(&mut self, atom: &Atom, type_id: TypeId, dst: Slot) {
        match atom {
            Atom::Variable(variable) => self.variable_value(variable, type_id, Dest::Slot(dst), Position::Argument),
            Atom::Symbol(name) if name.as_str() == names::EMPTY => {
                self.emit(Instruction::Load { dst, value: EMPTY });
                self.mark_live(dst);
            }
            Atom::Expression(_) if names::is_error(atom) => self.raw(atom, Dest::Slot(dst)),
            _ => self.value(atom, type_id, Dest::Slot(dst)),
        }
    }

    pub(super) fn expression(&mut self, atom: &Atom, type_id: TypeId, dest: Dest) {
        if names::is_error(atom) {
            return self.plain(atom, type_id, dest);
        }
        let children = atom.children().expect("it is an expression");
        let arity = children.len() - 1;
        if self.state.is_stale {
            let shapes = self.run.m.code.type_epoch;
            self.or_plain(Instruction::GuardTypeEpoch { shapes, or: 0 }, atom, type_id, dest);
            self.state.is_stale = false;
        }
        if self.is_well_typed_from_here(atom, type_id) {
            self.is_well_typed = true;
            self.expression(atom, 0, dest);
            self.is_well_typed = false;
            return;
        }
        match &children[0] {
            // As a head it is no result, whatever follows.
            Atom::Symbol(name) if name.as_str() == names::EMPTY => self.empty_head(atom, type_id, dest),
            head @ Atom::Grounded(_) if Operation::of(head).is_some() => self.operation(atom, type_id, dest),
            Atom::Symbol(name) => match self.run.special_form(name.as_str(), arity) {
                Some(form) => self.special(form, atom, type_id, dest),
                None => self.named(atom, type_id, dest),
            },
            Atom::Variable(_) if self.is_well_typed => self.apply(children, WELL_TYPED, dest),
            head => {
                let mut guards = Vec::new();
                let may_come_to_itself = self.run.m.code.is_exact && !children.iter().all(|child| self.is_same(child));
                if may_come_to_itself || !self.head_is_open(head, Guard::Head(arity as Slot), &mut guards) {
                    return self.plain(atom, type_id, dest);
                }
                self.guard(&guards, atom, type_id, dest);
                self.apply(children, type_id, dest);
            }
        }
    }

    fn empty_head(&mut self, atom: &Atom, type_id: TypeId, dest: Dest) {
        let arity = atom.children().map_or(0, |children| children.len() - 1);
        match self.run.head_kind(EMPTY, arity) {
            HeadKind::Untyped => {
                self.emit(Instruction::Fail);
            }
            _ => self.plain(atom, type_id, dest),
        }
    }

    /// An expression with a symbol as its head that is no special form.
    pub(super) fn named(&mut self, atom: &Atom, type_id: TypeId, dest: Dest) {
        let children = atom.children().expect("it is an expression");
        let arity = children.len() - 1;
        let head = self.run.m.values.constant_leaf(&children[0]).expect("it is a leaf");
        match self.run.head_kind(head, arity) {
            _ if self.is_well_typed => self.well_typed_call(head, &children[1..], atom, dest),
            HeadKind::Untyped => self.tuple(head, atom, type_id, dest),
            HeadKind::Raw { result } => {
                let raw = Signature::raw(arity, result);
                self.typed(head, &raw, atom, type_id, dest);
            }
            HeadKind::Typed(signature) => self.typed(head, &signature, atom, type_id, dest),
            HeadKind::Parametric(function) => {
                let whole = Whole { atom, type_id };
                if self.construct_open(&function, head, whole, dest) {
                    return;
                }
                match self.instantiated(&function, &children[1..], type_id) {
                    Some((signature, guards)) => {
                        self.guard(&guards, atom, type_id, dest);
                        self.typed(head, &signature, atom, type_id, dest);
                    }
                    None if self.construct_indexed(&function, head, whole, dest) => {}
                    None => self.plain(atom, type_id, dest),
                }
            }
            HeadKind::Other => self.plain(atom, type_id, dest),
        }
    }

    /// Whether an expression without variables of its surroundings is well typed, and the one around it is not known to be.
    fn is_well_typed_from_here(&mut self, atom: &Atom, type_id: TypeId) -> bool {
        if self.is_well_typed || !self.run.m.type_cache.has_types || type_id == WELL_TYPED {
            return false;
        }
        let Some([head, arguments @ ..]) = atom.children() else { return false };
        let may_be = match head {
            Atom::Symbol(name) => match self.run.special_form(name.as_str(), arguments.len()) {
                Some(form) => matches!(form, Form::If | Form::Let | Form::Case),
                None => {
                    let head = self.run.m.values.constant_leaf(head).expect("it is a leaf");
                    let kind = self.run.head_kind(head, arguments.len());
                    let has_parts = !matches!(kind, HeadKind::Raw { .. }) || arguments.is_empty();
                    has_parts && !matches!(kind, HeadKind::Untyped | HeadKind::Other)
                }
            },
            head => lowering_of(head) == Some(Lowering::LetAll),
        };
        may_be && !mentions_any(atom, &self.state.variables) && self.run.is_well_typed_expression(atom, type_id)
    }

    /// A call or data whose parts are known to be of the types that it takes.
    fn well_typed_call(&mut self, head: Ref, arguments: &[Atom], atom: &Atom, dest: Dest) {
        let count = arguments.len() as Slot;
        if !self.run.has_rules(head, count) {
            let function = self.run.m.code.function(head, count, 0);
            return self.construct(function, head, arguments, dest);
        }
        let function = self.run.m.code.function(head, count, WELL_TYPED);
        let formals = untyped(arguments.len());
        let whole = Whole { atom, type_id: 0 };
        if self.call_with(function, arguments, &formals, whole, dest).is_none() {
            self.typed_call(function, &formals, arguments, dest);
        }
    }

    /// A tuple whose head is known only when it is evaluated.
    fn apply(&mut self, children: &[Atom], type_id: TypeId, dest: Dest) {
        children.iter().for_each(|child| self.make_shared(child));
        self.make_ahead_of_parts(children);
        let block = self.slots(HEADER + children.len() - 1);
        let head = self.slot();
        let place_of = |index: usize| if index == 0 { head } else { block + (HEADER + index - 1) as Slot };
        self.settled_variables(children, place_of, type_id, dest);
        let outer = self.errors;
        let label = (dest != Dest::Tail).then(|| self.begin_barrier(block + 2));
        let held = if self.is_well_typed { Vec::new() } else { self.hold(children.iter()) };
        for (index, child) in children.iter().enumerate().filter(|(_, child)| !matches!(child, Atom::Variable(_))) {
            self.value(child, 0, Dest::Slot(place_of(index)));
        }
        self.held = held;
        self.errors = outer;
        let same = children.iter().all(|child| self.is_same(child));
        let count = (children.len() - 1) as Slot;
        let dst = match dest {
            Dest::Slot(dst) => dst,
            Dest::Tail => 0,
        };
        let return_point = self.return_point(dst, Some(block));
        self.emit(Instruction::Apply { head, count, type_id, return_point, tail: dest == Dest::Tail, same });
        self.note_call(if same { CallOrigin::Same } else { CallOrigin::Other }, false);
        if dest != Dest::Tail {
            self.forget_from(block);
            self.mark_live(dst);
            self.state.is_stale = true;
            self.end_barrier(label, block + 2, return_point);
        }
    }

    /// The values of a tuple's variables go to slots, `place_of` of each, if they are their own results. If one is not, the tuple is
    /// not what is written and is evaluated as it stands.
    fn settled_variables(&mut self, tuple: &[Atom], place_of: impl Fn(usize) -> Slot, type_id: TypeId, dest: Dest) {
        let slots: Vec<(Slot, Slot)> = tuple
            .iter()
            .enumerate()
            .filter_map(|(index, child)| match child {
                Atom::Variable(variable) => Some((self.slot_of(variable), place_of(index))),
                _ => None,
            })
            .collect();
        let mut elsewhere = None;
        for (slot, dst) in slots {
            if self.is_normal(slot, 0) {
                self.finish(slot, Dest::Slot(dst));
                continue;
            }
            let label = *elsewhere.get_or_insert_with(|| {
                let type_id = if type_id == WELL_TYPED { 0 } else { type_id };
                self.plain_elsewhere(&Atom::expression(tuple), type_id, dest)
            });
            self.emit_to(Instruction::Settled { slot, dst, or: 0 }, label);
            self.mark_live(dst);
        }
    }

    /// An instruction that goes elsewhere when the code does not apply: there the expression is evaluated as it stands.
    pub(super) fn or_plain(&mut self, instruction: Instruction, atom: &Atom, type_id: TypeId, dest: Dest) {
        let label = self.plain_elsewhere(atom, type_id, dest);
        self.emit_to(instruction, label);
    }

    /// A place where an expression is evaluated as it stands. What follows may go there as long as it makes no variables.
    fn plain_elsewhere(&mut self, atom: &Atom, type_id: TypeId, dest: Dest) -> Label {
        let label = self.label();
        let join = self.join(dest);
        let (state, errors, is_answer) = (self.state.clone(), self.errors, self.is_answer(atom));
        self.write_behind(Later::Plain { label, atom: atom.clone(), is_answer, type_id, dest, state, join, errors });
        label
    }

    /// Where the code goes on behind the expression that is being compiled.
    pub(super) fn join(&mut self, dest: Dest) -> Option<Label> {
        match dest {
            Dest::Tail => None,
            Dest::Slot(_) => {
                let (join, is_used) = self.joins.last_mut().expect("an expression is being compiled");
                *is_used = true;
                Some(*join)
            }
        }
    }

    /// Compiles an expression whose value goes to a slot: whatever path leads there, the same is known behind it.
    fn joined(&mut self, atom: &Atom, type_id: TypeId, dst: Slot) {
        self.joined_with(atom, dst, |compiler, dest| compiler.expression(atom, type_id, dest));
    }

    /// Lets `write` compile an expression whose value goes to a slot: whatever path leads there, the same is known behind it.
    pub(super) fn joined_with(&mut self, atom: &Atom, dst: Slot, write: impl FnOnce(&mut Self, Dest)) {
        self.make_shared(atom);
        let before = self.state.clone();
        let join = self.label();
        self.joins.push((join, false));
        write(self, Dest::Slot(dst));
        let (_, is_used) = self.joins.pop().expect("it was pushed");
        self.place(join);
        if is_used {
            self.state = before;
            self.state.is_stale = true;
        }
        self.mark_live(dst);
    }

    /// A head without types: all children are evaluated.
    fn tuple(&mut self, head: Ref, atom: &Atom, type_id: TypeId, dest: Dest) {
        let children = atom.children().expect("it is an expression");
        if children.len() > SLOTS_MAX {
            return self.plain(atom, type_id, dest);
        }
        let count = (children.len() - 1) as Slot;
        let has_rules = self.run.has_rules(head, count);
        let function = self.run.m.code.function(head, count, type_id);
        if has_rules {
            let formals = untyped(usize::from(count));
            let whole = Whole { atom, type_id };
            if self.call_with(function, &children[1..], &formals, whole, dest).is_none() {
                self.call(function, &children[1..], dest);
            }
        } else {
            self.construct(function, head, &children[1..], dest);
        }
    }

    /// A call whose arguments are leaves and variables, and sums of numbers beside a variable that may have several results; where a
    /// variable's value is to be evaluated, the expression is evaluated as it stands. `None` if it is no such call.
    fn call_with(
        &mut self,
        function: u32,
        arguments: &[Atom],
        formals: &[Formal],
        whole: Whole<'_>,
        dest: Dest,
    ) -> Option<()> {
        let has_sums = arguments.iter().any(|argument| argument.children().is_some());
        if arguments.len() > SOURCES_MAX || has_sums && !self.are_sums_and_variables(arguments, formals) {
            return None;
        }
        let sources: Option<Box<[ArgumentSource]>> =
            arguments.iter().zip(formals).map(|(argument, formal)| self.source(argument, formal)).collect();
        let sources = sources?;
        let Whole { atom, type_id } = whole;
        // Arguments may have been written over the numbers that a sum is made from.
        let atom = if has_sums { self.with_sums_made(atom, &sources) } else { atom.clone() };
        let label = self.label();
        let join = self.join(dest);
        let (above, is_direct) = places_of(&sources);
        self.run.m.code.arguments.push(Arguments { sources, above, is_direct, or: 0 });
        let list = (self.run.m.code.arguments.len() - 1) as u32;
        self.fixes.push((Fix::ArgumentsOr(list), label));
        let (state, errors) = (self.state.clone(), self.errors);
        self.write_behind(Later::Plain { label, atom, is_answer: false, type_id, dest, state, join, errors });
        let origin = if has_sums { CallOrigin::Other } else { CallOrigin::Same };
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
        Some(())
    }

    /// A call with what holds its sums in place of them.
    fn with_sums_made(&mut self, call: &Atom, sources: &[ArgumentSource]) -> Atom {
        let (head, arguments) = call.children().and_then(|children| children.split_first()).expect("a call has a head");
        let arguments = arguments.iter().zip(sources).map(|(argument, source)| match *source {
            ArgumentSource::Slot(slot) if argument.children().is_some() => self.stand_in(slot),
            _ => argument.clone(),
        });
        Atom::expression(std::iter::once(head.clone()).chain(arguments).collect::<Vec<_>>())
    }

    /// Whether arguments are sums of numbers, leaves and variables without types, one of which may have several results.
    fn are_sums_and_variables(&self, arguments: &[Atom], formals: &[Formal]) -> bool {
        let number = self.run.m.type_cache.number_type;
        let fits = |(argument, formal): (&Atom, &Formal)| match (argument.children(), formal) {
            (Some(_), Formal::Typed(type_id)) => [0, number].contains(type_id) && self.is_sum_of_numbers(argument),
            (Some(_), Formal::Raw | Formal::Expression) => false,
            (None, formal) => matches!(formal, Formal::Typed(0) | Formal::Raw | Formal::Expression),
        };
        !self.run.m.code.is_exact
            && arguments.iter().zip(formals).all(fits)
            && arguments.iter().any(|argument| argument.children().is_none() && self.may_branch(argument))
    }

    /// Whether an atom is a sum or a difference of what is known to be numbers: it comes to one number, and to no error.
    fn is_sum_of_numbers(&self, atom: &Atom) -> bool {
        let Some([head, left, right]) = atom.children() else { return false };
        let is_number = |part: &Atom| match part {
            Atom::Variable(variable) => {
                let slot = self.state.variables.get(variable);
                slot.is_some_and(|slot| self.state.facts.get(slot) == Some(&Fact::Number))
            }
            part => matches!(part, Atom::Grounded(Grounded::Number(_))),
        };
        let sum = Some(Lowering::Arithmetic(Arithmetic::Add));
        let difference = Some(Lowering::Arithmetic(Arithmetic::Subtract));
        let lowering = lowering_of(head);
        (lowering == sum || lowering == difference) && is_number(left) && is_number(right)
    }

    fn source(&mut self, argument: &Atom, formal: &Formal) -> Option<ArgumentSource> {
        if argument.children().is_some() {
            let slot = self.slot();
            self.value(argument, 0, Dest::Slot(slot));
            return Some(ArgumentSource::Slot(slot));
        }
        let Atom::Variable(variable) = argument else {
            let leaf = self.run.m.values.constant_leaf(argument)?;
            let is_plain = match formal {
                Formal::Typed(type_id) => leaf != EMPTY && self.run.leaf_has_type(argument, leaf, *type_id, false),
                Formal::Raw | Formal::Expression => true,
            };
            return is_plain.then_some(ArgumentSource::Leaf(leaf));
        };
        let slot = self.slot_of(variable);
        match formal {
            Formal::Typed(type_id) if self.is_normal(slot, *type_id) => Some(ArgumentSource::Slot(slot)),
            Formal::Typed(0) => Some(ArgumentSource::Normal(slot)),
            Formal::Typed(_) => None,
            Formal::Raw | Formal::Expression => Some(ArgumentSource::Slot(slot)),
        }
    }

    /// The slots of a call's frame. What is needed behind the call gets its slot before: the callee takes what follows.
    fn block(&mut self, arguments: &[Atom]) -> Slot {
        self.make_written(arguments);
        arguments.iter().for_each(|argument| self.make_shared(argument));
        self.make_ahead_of_parts(arguments);
        self.slots(HEADER + arguments.len())
    }

    /// A call whose arguments are evaluated.
    fn call(&mut self, function: u32, arguments: &[Atom], dest: Dest) {
        let block = self.block(arguments);
        let begins = dest != Dest::Tail && arguments.iter().any(|argument| !self.has_one_result(argument));
        let outer = self.errors;
        let label = begins.then(|| self.begin_barrier(block + 2));
        let held = self.hold(arguments.iter());
        for (index, argument) in arguments.iter().enumerate() {
            let dst = block + (HEADER + index) as Slot;
            self.value(argument, 0, Dest::Slot(dst));
        }
        self.held = held;
        self.errors = outer;
        let formals = untyped(arguments.len());
        let origin = self.origin_of(function, &formals, arguments, block);
        self.call_block(function, block, (label, origin), dest);
    }

    /// The call itself, its arguments laid out; the label is that of its barrier, if it has one.
    fn call_block(&mut self, function: u32, block: Slot, (label, origin): (Option<Label>, CallOrigin), dest: Dest) {
        match dest {
            Dest::Tail => {
                if let (true, CallOrigin::ArgumentOrigin(written)) = (self.run.m.code.is_exact, origin) {
                    return self.tail_call_if_written(function, block, written);
                }
                self.emit(Instruction::TailCall { function, at: block });
                self.note_call(origin, true);
            }
            Dest::Slot(dst) => {
                let return_point = self.return_point(dst, Some(block));
                self.emit(Instruction::Call { function, return_point, begun: label.is_some() });
                self.note_call(origin, false);
                self.forget_from(block);
                self.mark_live(dst);
                self.state.is_stale = true;
                self.end_barrier(label, block + 2, return_point);
            }
        }
    }

    /// Begins an expression whose alternatives are collected together; its errors go to the label.
    pub(super) fn begin_barrier(&mut self, slot: Slot) -> Label {
        self.emit(Instruction::Begin { slot });
        let label = self.label();
        self.errors = Errors::Destination(label);
        label
    }

    pub(super) fn end_barrier(&mut self, label: Option<Label>, begun: Slot, return_point: u32) {
        if let Some(label) = label {
            let value = self.slot();
            self.write_behind(Later::Barrier { label, begun, value, return_point });
        }
    }

    /// Whether the evaluation of an atom may have several results or an effect.
    pub(super) fn may_branch(&self, atom: &Atom) -> bool {
        match atom {
            Atom::Variable(variable) => {
                self.state.variables.get(variable).is_some_and(|&slot| !self.state.facts.contains_key(&slot))
            }
            Atom::Expression(expression) => !expression.is_empty(),
            _ => false,
        }
    }

    /// A head with one function type.
    pub(super) fn typed(&mut self, head: Ref, signature: &Signature, atom: &Atom, type_id: TypeId, dest: Dest) {
        let result = signature.result.unwrap_or(type_id);
        let children = atom.children().expect("it is an expression");
        let mut guards = Vec::new();
        let applies = head.tag() == SYMBOL
            && self.run.agrees_statically(result, type_id)
            && self.arguments_agree(&signature.formals, &children[1..], &mut guards);
        if !applies {
            return self.plain(atom, type_id, dest);
        }
        self.guard(&guards, atom, type_id, dest);
        let result = self.run.m.evaluated_as(result);
        let function = self.run.m.code.function(head, (children.len() - 1) as Slot, result);
        let whole = Whole { atom, type_id };
        if self.construct_typed((function, head), &signature.formals, whole, dest) {
            return;
        }
        if self.call_with(function, &children[1..], &signature.formals, whole, dest).is_none() {
            self.typed_call(function, &signature.formals, &children[1..], dest);
        }
    }

    fn typed_call(&mut self, function: u32, formals: &[Formal], arguments: &[Atom], dest: Dest) {
        let block = self.block(arguments);
        let is_open = |compiler: &Self, (formal, argument): (&Formal, &Atom)| {
            matches!(formal, Formal::Typed(_)) && !compiler.has_one_result(argument)
        };
        let begins = dest != Dest::Tail && formals.iter().zip(arguments).any(|pair| is_open(self, pair));
        let outer = self.errors;
        let label = begins.then(|| self.begin_barrier(block + 2));
        self.typed_arguments(formals, arguments, block + HEADER as Slot);
        self.errors = outer;
        let origin = self.origin_of(function, formals, arguments, block);
        self.call_block(function, block, (label, origin), dest);
    }

    /// Puts arguments into slots in a row, each as its type says.
    pub(super) fn typed_arguments(&mut self, formals: &[Formal], arguments: &[Atom], first: Slot) {
        for (index, (formal, argument)) in formals.iter().zip(arguments).enumerate() {
            let dst = first + index as Slot;
            match formal {
                Formal::Typed(type_id) => self.argument(argument, *type_id, dst),
                Formal::Raw | Formal::Expression => self.raw(argument, Dest::Slot(dst)),
            }
        }
    }

    /// Emits guards: where one does not hold, the whole expression is evaluated as it stands. Several that small integers fulfil
    /// are passed in one step.
    pub(super) fn guard(&mut self, guards: &[Instruction], atom: &Atom, type_id: TypeId, dest: Dest) {
        let passed = self.passed_by_small(guards).map(|slots| {
            let label = self.label();
            self.emit_to(Instruction::SkipIfSmall { slots, to: 0 }, label);
            label
        });
        self.guard_each(guards, atom, type_id, dest);
        if let Some(label) = passed {
            self.place(label);
        }
    }

    /// The slots that guards ask about, if there are several guards, all of which hold for small integers, and few slots.
    fn passed_by_small(&self, guards: &[Instruction]) -> Option<[Slot; 3]> {
        let (mut slots, mut count, mut asked) = ([0; 3], 0, 0);
        for guard in guards.iter().filter(|&&guard| !self.holds(guard)) {
            let of_guard = match *guard {
                Instruction::Guard { slot, guard: Guard::Number, .. } => [slot, slot],
                Instruction::GuardSame { left, right, .. } => [left, right],
                _ => return None,
            };
            for slot in of_guard {
                if !slots[..count].contains(&slot) {
                    *slots.get_mut(count)? = slot;
                    count += 1;
                }
            }
            asked += 1;
        }
        let first = slots[0];
        slots[count..].fill(first);
        (asked > 1).then_some(slots)
    }

    /// Emits guards one after the other: where one does not hold, the whole expression is evaluated as it stands.
    pub(super) fn guard_each(&mut self, guards: &[Instruction], atom: &Atom, type_id: TypeId, dest: Dest) {
        let mut elsewhere = None;
        for &guard in guards {
            if self.holds(guard) {
                continue;
            }
            let label = *elsewhere.get_or_insert_with(|| self.plain_elsewhere(atom, type_id, dest));
            self.emit_to(guard, label);
            match guard {
                Instruction::Guard { slot, guard: Guard::Number, .. } => self.know(slot, Fact::Number),
                Instruction::Guard { slot, guard: Guard::Bool, .. } => self.know(slot, Fact::Bool),
                _ => {}
            }
        }
    }

    /// Whether what is known already makes a guard needless.
    pub(super) fn holds(&self, guard: Instruction) -> bool {
        let fact = |slot: Slot| self.state.facts.get(&slot).copied();
        match guard {
            Instruction::Guard { slot, guard, .. } => match guard {
                Guard::Number => fact(slot) == Some(Fact::Number),
                Guard::Bool => fact(slot) == Some(Fact::Bool),
                Guard::Plain => fact(slot).is_some(),
                _ => false,
            },
            Instruction::GuardSame { left, right, .. } => fact(left).is_some() && fact(left) == fact(right),
            _ => false,
        }
    }

    /// Whether arguments agree with what a function type says, if the guards hold.
    pub(super) fn arguments_agree(
        &mut self,
        formals: &[Formal],
        arguments: &[Atom],
        guards: &mut Vec<Instruction>,
    ) -> bool {
        formals.iter().zip(arguments).all(|(formal, argument)| match formal {
            Formal::Raw => true,
            Formal::Expression => self.is_raw_expression(argument, guards),
            Formal::Typed(type_id) => self.agrees(argument, *type_id, false, guards),
        })
    }

    pub(super) fn is_raw_expression(&mut self, argument: &Atom, guards: &mut Vec<Instruction>) -> bool {
        match argument {
            Atom::Expression(_) => true,
            Atom::Variable(variable) => {
                let Some(&slot) = self.state.variables.get(variable) else { return false };
                guards.push(Instruction::Guard { slot, guard: Guard::Expression, or: 0 });
                true
            }
            _ => false,
        }
    }

    /// Whether the types of an atom as it stands agree with an expected one, if the guards hold.
    pub(super) fn agrees(
        &mut self,
        atom: &Atom,
        type_id: TypeId,
        is_nested: bool,
        guards: &mut Vec<Instruction>,
    ) -> bool {
        if is_nested && (type_id == 0 || type_id == self.run.m.type_cache.atom_type) {
            return true;
        }
        match atom {
            Atom::Variable(variable) => {
                let Some(&slot) = self.state.variables.get(variable) else { return true };
                let guard = self.guard_for(type_id, is_nested);
                // That something has the type of numbers does not make it one.
                if !self.is_well_typed || matches!(guard, Guard::Number | Guard::Bool) {
                    guards.push(Instruction::Guard { slot, guard, or: 0 });
                }
                true
            }
            // Guards make numbers of the variables of arithmetic.
            _ if self.is_well_typed => {
                if atom.head().is_some_and(|head| lowering_of(head).is_some()) {
                    self.call_agrees(atom, type_id, is_nested, guards);
                }
                true
            }
            Atom::Expression(expression) if !expression.is_empty() => {
                self.call_agrees(atom, type_id, is_nested, guards)
            }
            leaf => match self.run.m.values.constant_leaf(leaf) {
                Some(known) => self.run.leaf_has_type(leaf, known, type_id, is_nested),
                None => type_id == 0,
            },
        }
    }

    fn result_agrees(&mut self, result: TypeId, type_id: TypeId, is_nested: bool) -> bool {
        if is_nested { self.run.agrees_deeply(result, type_id) } else { self.run.agrees_statically(result, type_id) }
    }

    /// Whether what stands first in an expression has no function type, so that the expression is a tuple; or, as the guard asks, that
    /// the expression has no type at all.
    fn head_is_open(&mut self, head: &Atom, guard: Guard, guards: &mut Vec<Instruction>) -> bool {
        let mut may_have_whole_type = |head: Ref| match guard {
            Guard::OpenHead(arity) => self.run.may_have_whole_type(head, usize::from(arity)),
            _ => false,
        };
        match head {
            Atom::Variable(variable) => match self.state.variables.get(variable) {
                Some(&slot) => {
                    guards.push(Instruction::Guard { slot, guard, or: 0 });
                    true
                }
                None => !may_have_whole_type(ANY),
            },
            Atom::Expression(_) if may_have_whole_type(COMPOUND) => false,
            Atom::Expression(expression) => match expression.children().first() {
                None => true,
                Some(inner @ Atom::Symbol(_)) => {
                    let inner = self.run.m.values.constant_leaf(inner).expect("it is a leaf");
                    self.run.makes_open(inner, expression.len() - 1)
                }
                Some(inner @ Atom::Expression(_)) => {
                    let arity = (expression.len() - 1) as Slot;
                    self.head_is_open(inner, Guard::OpenHead(arity), guards)
                }
                // Such a tuple has a type of its own, which agrees with none but what is unknown.
                Some(inner) if Operation::of(inner).is_some() && matches!(guard, Guard::Head(_)) => {
                    let found = self.only_type(head).and_then(|found| self.run.m.code.type_id(&found));
                    found.is_some_and(|found| self.agrees(head, found, false, guards))
                }
                Some(_) => false,
            },
            _ => false,
        }
    }

    fn guard_for(&self, type_id: TypeId, is_nested: bool) -> Guard {
        match type_id {
            0 => Guard::Plain,
            number if number == self.run.m.type_cache.number_type => Guard::Number,
            bool if bool == self.run.m.type_cache.bool_type => Guard::Bool,
            other if is_nested => Guard::TypeInside(other),
            other => Guard::Type(other),
        }
    }

    fn call_agrees(&mut self, call: &Atom, type_id: TypeId, is_nested: bool, guards: &mut Vec<Instruction>) -> bool {
        let children = call.children().expect("a call is an expression");
        let arity = children.len() - 1;
        let Some(head) = self.run.m.values.constant_leaf(&children[0]) else {
            let guard = if type_id == 0 { Guard::Head(arity as Slot) } else { Guard::OpenHead(arity as Slot) };
            return self.head_is_open(&children[0], guard, guards);
        };
        let equal = Lowering::Comparison(Comparison::Equal);
        if let ([_, left, right], true) = (children, lowering_of(&children[0]) == Some(equal)) {
            let bool_type = self.run.m.type_cache.bool_type;
            return self.run.agrees_statically(bool_type, type_id)
                && self.sides_agree(left, right, true, guards).is_some();
        }
        match self.run.head_kind(head, arity) {
            HeadKind::Untyped => type_id == 0 || self.run.makes_open(head, arity),
            HeadKind::Raw { result } => self.result_agrees(result, type_id, is_nested),
            HeadKind::Typed(signature) => self.signature_agrees(&signature, &children[1..], type_id, is_nested, guards),
            HeadKind::Parametric(function) => match self.instantiated(&function, &children[1..], type_id) {
                Some((signature, more)) => {
                    guards.extend(more);
                    self.signature_agrees(&signature, &children[1..], type_id, is_nested, guards)
                }
                None => false,
            },
            HeadKind::Other => self.form_agrees(call, type_id, guards),
        }
    }

    /// Whether a call with this signature agrees with an expected type, if the guards hold.
    fn signature_agrees(
        &mut self,
        signature: &Signature,
        arguments: &[Atom],
        type_id: TypeId,
        is_nested: bool,
        guards: &mut Vec<Instruction>,
    ) -> bool {
        let result = signature.result.unwrap_or(type_id);
        self.result_agrees(result, type_id, is_nested)
            && signature.formals.iter().zip(arguments).all(|(formal, child)| match formal {
                Formal::Raw => true,
                Formal::Expression => self.is_raw_expression(child, guards),
                Formal::Typed(formal) => self.agrees(child, *formal, true, guards),
            })
    }
}

/// Whether one of these variables occurs in an atom, which is no deeper than what is compiled.
fn mentions_any(atom: &Atom, known: &FxHashMap<Variable, Slot>) -> bool {
    match atom {
        Atom::Variable(variable) => known.contains_key(variable),
        Atom::Expression(expression) if !atom.is_ground() => {
            expression.children().iter().any(|child| mentions_any(child, known))
        }
        _ => false,
    }
}

/// The first slot above all that arguments are read from, and whether each can be written in place of the frame at hand before
/// the next is looked at: none is read from where one before it went, not even if a later one turns out to need evaluation and
/// all are read again.
fn places_of(sources: &[ArgumentSource]) -> (Slot, bool) {
    let slots = || {
        sources.iter().map(|source| match *source {
            ArgumentSource::Leaf(_) => None,
            ArgumentSource::Slot(slot) | ArgumentSource::Normal(slot) => Some(slot),
        })
    };
    let last_look = sources.iter().rposition(|source| matches!(source, ArgumentSource::Normal(_))).unwrap_or(0);
    let is_direct = slots().enumerate().all(|(place, slot)| {
        slot.is_none_or(|slot| usize::from(slot) == place || usize::from(slot) >= place.max(last_look))
    });
    (slots().flatten().map(|slot| slot + 1).max().unwrap_or(0), is_direct)
}
