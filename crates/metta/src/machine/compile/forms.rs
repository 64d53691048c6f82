//! Special forms, arithmetic, and native functions in place.

use super::answers::OddAnswer;
use super::body::Whole;
use super::head::Or;
use super::minimal::has_space;
use super::{Compiler, Dest, Errors, Fact, Label, Later, occurrences};
use crate::lowering::{Arithmetic, Comparison, Form, Logic, Lowering};
use crate::machine::code::{Branches, CollectedInto, Guard, HEADER, Instruction, Position, Slot, TypeId};
use crate::machine::types::{HeadKind, Signature};
use crate::machine::words::is_small;
use crate::names;
use crate::operation::lowering_of;
use crate::stdlib::forms::asks_for_absence;
use region::Ref;
use space::Atom;

/// More alternatives than these, written out in a list, are made when they are tried.
const ALTERNATIVES_MAX: usize = 16;

/// What one side of `==` is.
#[derive(Clone, Copy)]
enum Side {
    /// A number, or arithmetic.
    Number,
    /// A variable.
    Slot(Slot),
    /// What has this one type.
    Typed(TypeId),
    /// A symbol without types.
    Open,
    /// A call of a function without types, of no type itself.
    Call,
    Other,
}

impl Compiler<'_, '_> {
    pub(super) fn special(&mut self, form: Form, atom: &Atom, type_id: TypeId, dest: Dest) {
        let arguments = &atom.children().expect("a form is an expression")[1..];
        if !self.form_has_type(atom, arguments.len(), type_id) {
            return self.plain(atom, type_id, dest);
        }
        match (form, arguments) {
            (Form::If, [condition, then, otherwise]) if self.has_one_result(condition) => {
                self.conditional(atom, [condition, then, otherwise], type_id, dest);
            }
            (Form::If, [condition, then, otherwise]) => self.gathered(atom, condition, dest, |compiler, dest| {
                compiler.conditional(atom, [condition, then, otherwise], type_id, dest);
            }),
            (Form::Let, [pattern, value, body]) => self.gathered(atom, value, dest, |compiler, dest| {
                compiler.binding(atom, [pattern, value, body], type_id, dest);
            }),
            (Form::Case, [subject, branches]) => self.gathered(atom, subject, dest, |compiler, dest| {
                compiler.case(atom, subject, branches, type_id, dest);
            }),
            (Form::Collapse, [goal]) => self.collapse(goal, dest),
            (Form::Identity, [_]) if type_id == 0 => self.identity(atom, dest),
            (Form::Empty, []) => {
                self.emit(Instruction::Fail);
            }
            _ => self.library_form(form, atom, type_id, dest),
        }
    }

    /// Whether the declared result of a form agrees with what is expected.
    fn form_has_type(&mut self, atom: &Atom, arity: usize, type_id: TypeId) -> bool {
        let Some(head) = atom.head().and_then(|head| self.run.m.values.constant_leaf(head)) else { return true };
        match self.run.head_kind(head, arity) {
            HeadKind::Raw { result } => self.run.agrees_statically(result, type_id),
            HeadKind::Typed(signature) => {
                signature.result.is_none_or(|result| self.run.agrees_statically(result, type_id))
            }
            HeadKind::Other => {
                self.run.declared_result(head).is_none_or(|result| self.run.agrees_statically(result, type_id))
            }
            HeadKind::Untyped | HeadKind::Parametric(_) => true,
        }
    }

    /// A form whose first part may have several results: all alternatives of the form come to theirs before the expression
    /// around it goes on. In the place of a form that does so already, the form shares its barrier.
    fn gathered(&mut self, atom: &Atom, first: &Atom, dest: Dest, write: impl FnOnce(&mut Self, Dest)) {
        let is_plain = first.children().is_none_or(<[Atom]>::is_empty);
        if dest == Dest::Tail || is_plain || self.barrier == Some(dest) {
            return write(self, dest);
        }
        let outer = self.barrier;
        self.within_barrier(dest, |compiler, dest| {
            let Dest::Slot(slot) = dest else { unreachable!("only slots have barriers") };
            compiler.barrier = Some(dest);
            compiler.joined_with(atom, slot, write);
        });
        self.barrier = outer;
    }

    /// Whether the evaluation of an atom has one result and no effect, as far as is plain to see.
    pub(super) fn has_one_result(&self, atom: &Atom) -> bool {
        match atom.children() {
            Some([head, arguments @ ..]) => {
                lowering_of(head).is_some_and(Lowering::is_plain)
                    && arguments.iter().all(|part| self.has_one_result(part))
            }
            _ => !self.may_branch(atom),
        }
    }

    fn conditional(&mut self, atom: &Atom, parts: [&Atom; 3], type_id: TypeId, dest: Dest) {
        let [condition, then, otherwise] = parts;
        if is_odd(then) || is_odd(otherwise) {
            // What is entered or left as it stands is so for the call, which the rule of the library shows.
            return self.named(atom, type_id, dest);
        }
        let mut guards = Vec::new();
        let bool_type = self.run.m.type_cache.bool_type;
        if !self.agrees(condition, bool_type, false, &mut guards) {
            return self.plain(atom, type_id, dest);
        }
        let fused = self.fuse_ahead(condition, &guards);
        match fused {
            Some(_) => self.guard_each(&guards, atom, type_id, dest),
            None => self.guard(&guards, atom, type_id, dest),
        }
        self.make_ahead(condition, [then, otherwise]);
        let fused = fused.or_else(|| self.fuse(condition));
        let live = self.state.live.clone();
        let slot = self.native_operand(condition, bool_type);
        let (otherwise_label, stuck) = (self.label(), self.label());
        self.or_changed(stuck);
        self.emit_to(Instruction::If { slot, or: 0 }, otherwise_label);
        self.emit_to(Instruction::Jump { to: 0 }, stuck);
        if let Some(at) = fused {
            let then_label = self.label();
            self.place(then_label);
            self.fixes.push((super::Fix::Instruction(at), otherwise_label));
            self.fixes.push((super::Fix::Then(at), then_label));
        }
        let join = self.join(dest);
        let (state, errors) = (self.state.clone(), self.errors);
        let (label, form, atom) = (stuck, atom, atom.clone());
        self.write_behind(Later::Stuck { label, condition: slot, atom, type_id, dest, state, join, errors });
        let stuck = fused.is_none().then_some(stuck);
        if fused.is_some() {
            // The slots of the comparison are not assigned when numbers are compared on the way.
            self.state.live = live;
        }
        let before = self.state.clone();
        let whole = Whole { atom: form, type_id };
        self.conditional_answer(then, true, stuck, whole, dest);
        if let Some(join) = join {
            self.emit_to(Instruction::Jump { to: 0 }, join);
        }
        self.place(otherwise_label);
        self.state = before;
        self.conditional_answer(otherwise, false, stuck, whole, dest);
    }

    /// A branch of a conditional; which one, its condition says. Where that is in a slot, the label is of code that calls the
    /// form on it.
    fn conditional_answer(&mut self, branch: &Atom, truth: bool, stuck: Option<Label>, whole: Whole<'_>, dest: Dest) {
        let Whole { atom, type_id } = whole;
        if let Some(stuck) = stuck {
            if let Some(slot) = self.open_slot(branch) {
                self.return_leaf(slot, type_id, dest);
                self.emit_to(Instruction::Guard { slot, guard: Guard::Answer, or: 0 }, stuck);
            }
            return self.reduct(branch, type_id, dest);
        }
        self.answer(branch, type_id, dest, |_| {
            let mut call = atom.children().expect("a conditional is an expression").to_vec();
            call[1] = Atom::from(truth);
            OddAnswer::Enters(Atom::expression(call))
        });
    }

    /// A comparison of numbers that are there already, in front of the one that any values can take: gives its place.
    fn fuse(&mut self, condition: &Atom) -> Option<usize> {
        self.fuse_if(condition, |compiler, slot| compiler.state.facts.get(&slot) == Some(&Fact::Number))
    }

    /// A comparison in front of guards that ask for nothing but numbers: small integers are such, so they pass all of it in one step.
    fn fuse_ahead(&mut self, condition: &Atom, guards: &[Instruction]) -> Option<usize> {
        let is_guarded = |asked: Slot| {
            let asks = |guard: &Instruction| matches!(guard, Instruction::Guard { slot, guard: Guard::Number, .. } if *slot == asked);
            guards.iter().any(asks)
        };
        let asks_for_numbers = |guard: &Instruction| {
            matches!(guard, Instruction::Guard { guard: Guard::Number, .. } | Instruction::GuardSame { .. })
        };
        let is_needed = guards.iter().any(|&guard| !self.holds(guard));
        if !is_needed || !guards.iter().all(asks_for_numbers) {
            return None;
        }
        self.fuse_if(condition, |compiler, slot| {
            compiler.state.facts.get(&slot) == Some(&Fact::Number) || is_guarded(slot)
        })
    }

    /// A comparison of slots that hold numbers, as `is_number` says, in front of the one that any values can take: gives its place.
    fn fuse_if(&mut self, condition: &Atom, is_number: impl Fn(&Self, Slot) -> bool) -> Option<usize> {
        let [head, left, right] = condition.children()? else { return None };
        let Lowering::Comparison(comparison) = lowering_of(head)? else { return None };
        let slot = |atom: &Atom| {
            let Atom::Variable(variable) = atom else { return None };
            self.state.variables.get(variable).copied().filter(|&slot| is_number(self, slot))
        };
        let (left, other) = (slot(left)?, slot(right));
        if let Some(constant) = self.run.m.values.constant_leaf(right).filter(|constant| is_small(*constant)) {
            // The constant is loaded for the instruction behind.
            return Some(self.emit(Instruction::CompareJumpWith { comparison, left, right: constant, then: 0, or: 0 }));
        }
        Some(self.emit(Instruction::CompareJump { comparison, left, right: other?, then: 0, or: 0 }))
    }

    fn binding(&mut self, atom: &Atom, parts: [&Atom; 3], type_id: TypeId, dest: Dest) {
        let [pattern, value, body] = parts;
        let mut guards = Vec::new();
        // A space that is written in the pattern is asked: by code only one that a value turns out to have is.
        if names::is_error(value) || has_space(pattern) || !self.agrees(value, 0, false, &mut guards) {
            return self.plain(atom, type_id, dest);
        }
        self.guard(&guards, atom, type_id, dest);
        if let Some(first) = self.element_before_call(parts, dest) {
            return self.list_around_call(first, value, atom, type_id);
        }
        // A value that mentions it may bind it.
        let is_mentioned = matches!(pattern, Atom::Variable(variable) if occurrences(value, variable) > 0);
        let is_new = self.is_new_variable(pattern) && !is_mentioned;
        if self.is_form {
            // The variables of a form keep their names, whatever they are bound to.
            self.make_variables(pattern);
        }
        self.make_ahead_of(value, Some(pattern), [body]);
        let slot = self.slot();
        self.argument(value, 0, slot);
        self.or_called(slot, dest, |value| vec![Atom::symbol("let"), pattern.clone(), value, body.clone()]);
        let miss = self.label();
        if is_new {
            self.labels[miss.0 as usize] = Some(crate::machine::code::FAIL);
        } else {
            let value = self.stand_in(slot);
            let rest = Atom::expression([Atom::symbol("unify"), value, pattern.clone(), body.clone(), names::empty()]);
            self.or_space(vec![miss], None, (rest, false), type_id, dest);
        }
        self.pattern(slot, pattern, Or::Destination(miss));
        self.answer(body, 0, dest, |compiler| {
            let value = compiler.stand_in(slot);
            let rule = [Atom::symbol("unify"), value, pattern.clone(), body.clone(), names::empty()];
            OddAnswer::Stands(Atom::expression(rule))
        });
    }

    /// Whether a pattern is a variable that stands for nothing yet, so that it matches whatever it meets.
    fn is_new_variable(&self, pattern: &Atom) -> bool {
        matches!(pattern, Atom::Variable(variable) if !self.state.variables.contains_key(variable))
    }

    /// The call of the library that chooses the first branch whose pattern matches a subject, which it takes as it is.
    pub(super) fn first_branch(subject: Atom, branches: &Atom) -> Atom {
        Atom::expression([Atom::symbol("switch-minimal"), subject, branches.clone()])
    }

    /// What a `case` or a `switch` comes to once its subject is evaluated. Like the rule of the library, it takes the subject as it is:
    /// the form itself would evaluate it once more.
    fn chosen(form: &str, subject: Atom, branches: &Atom) -> Atom {
        let chosen = Self::first_branch(subject, branches);
        if form == "switch" {
            return Atom::expression([Atom::symbol("id"), chosen]);
        }
        // No slot has this number, so it does not stand for one.
        let answer =
            Atom::Variable(space::Variable::with_id(names::asked().clone(), u64::MAX - u64::from(Slot::MAX) - 1));
        let returned = Atom::expression([Atom::symbol("return"), answer.clone()]);
        let chain = [Atom::symbol("chain"), Atom::expression([Atom::symbol("eval"), chosen]), answer, returned];
        Atom::expression([Atom::symbol("function"), Atom::expression(chain)])
    }

    /// A pattern that meets a space is a query of it: then the interpreter evaluates the rest of the form, in which what is evaluated
    /// stays as it is. The patterns of one form share this code, so that a form of n patterns is compiled in time proportional to n.
    fn or_space(
        &mut self,
        misses: Vec<Label>,
        marks: Option<Slot>,
        (rest, is_reduct): (Atom, bool),
        type_id: TypeId,
        dest: Dest,
    ) {
        let join = self.join(dest);
        let (state, errors) = (self.state.clone(), self.errors);
        self.write_behind(Later::Space { misses, marks, rest, is_reduct, type_id, dest, state, join, errors });
    }

    /// A variable that stands for what is in a slot, in an expression evaluated as it stands.
    pub(super) fn stand_in(&mut self, slot: Slot) -> Atom {
        let variable = space::Variable::with_id(names::asked().clone(), u64::MAX - u64::from(slot));
        self.state.variables.insert(variable.clone(), slot);
        Atom::Variable(variable)
    }

    /// `switch` takes its subject as an argument of any type; says whether it could be compiled.
    pub(super) fn switch(&mut self, atom: &Atom, parts: [&Atom; 2], type_id: TypeId, dest: Dest) -> bool {
        let [subject, branches] = parts;
        let mut guards = Vec::new();
        let pairs = branches.children().unwrap_or_default();
        let is_static = branches.children().is_some()
            && pairs.iter().all(|pair| {
                pair.children().is_some_and(|pair| {
                    pair.len() == 2
                        && !has_space(&pair[0])
                        && !pair[1].is_symbol(names::NOT_REDUCIBLE)
                        && !super::minimal::is_function(&pair[1])
                })
            });
        if !is_static || names::is_error(subject) || !self.agrees(subject, 0, false, &mut guards) {
            return false;
        }
        self.guard(&guards, atom, type_id, dest);
        self.make_ahead_of_branches(subject, branches);
        self.within_barrier(dest, |compiler, dest| {
            let found = compiler.slot();
            compiler.argument(subject, 0, found);
            let join = compiler.label();
            let before = compiler.state.clone();
            compiler.joins.push((join, false));
            compiler.or_called(found, dest, |subject| vec![Atom::symbol("switch"), subject, branches.clone()]);
            compiler.branches(found, "switch", branches, type_id, dest);
            compiler.joins.pop();
            compiler.place(join);
            compiler.state = before;
            compiler.state.is_stale = true;
            if let Dest::Slot(dst) = dest {
                compiler.mark_live(dst);
            }
        });
        true
    }

    fn case(&mut self, atom: &Atom, subject: &Atom, branches: &Atom, type_id: TypeId, dest: Dest) {
        let is_static = branches.children().is_some_and(|branches| {
            let is_pair = |pair: &[Atom]| pair.len() == 2 && !has_space(&pair[0]) && !is_odd(&pair[1]);
            branches.iter().all(|branch| branch.children().is_some_and(is_pair))
        });
        if !is_static {
            return self.plain(atom, type_id, dest);
        }
        self.make_ahead_of_branches(subject, branches);
        let found = self.slot();
        let asks_for_absence = asks_for_absence(branches);
        self.collected(subject, found, CollectedInto::Subjects(Branches::Known { asks_for_absence }));
        self.or_subject(found, branches, atom, dest);
        self.branches(found, "case", branches, type_id, dest);
    }

    /// The first of some branches whose pattern matches what is in a slot.
    fn branches(&mut self, found: Slot, form: &str, branches: &Atom, type_id: TypeId, dest: Dest) {
        let pairs: Option<Vec<[&Atom; 2]>> = branches.children().and_then(|branches| {
            branches
                .iter()
                .map(|branch| branch.children().and_then(|pair| <&[Atom; 2]>::try_from(pair).ok()).map(|[a, b]| [a, b]))
                .collect()
        });
        let pairs = pairs.expect("the branches are pairs");
        let subject = self.stand_in(found);
        let rest = Self::chosen(form, subject, branches);
        let marks = self.slot();
        self.emit(Instruction::Remember { slot: marks });
        let join = self.join(dest);
        let before = self.state.clone();
        let mut misses = Vec::new();
        let first = self.next;
        for [pattern, body] in pairs {
            self.state = before.clone();
            self.next = first;
            let next = self.label();
            if !self.is_new_variable(pattern) {
                misses.push(next);
            }
            if let (Atom::Symbol(_), Some(leaf)) = (pattern, self.run.m.values.constant_leaf(pattern)) {
                self.emit_to(Instruction::MatchLeaf { slot: found, leaf, or: 0 }, next);
            } else {
                self.pattern(found, pattern, Or::Destination(next));
            }
            self.answer(body, 0, dest, |_| match form {
                "switch" => OddAnswer::FailsOrEnters(Atom::expression([Atom::symbol("id"), body.clone()])),
                _ => OddAnswer::Fails,
            });
            if let Some(join) = join {
                self.emit_to(Instruction::Jump { to: 0 }, join);
            }
            self.place(next);
            self.emit(Instruction::Undo { slot: marks });
        }
        self.emit(Instruction::Fail);
        self.state = before;
        if !misses.is_empty() {
            self.or_space(misses, Some(marks), (rest, form == "case"), type_id, dest);
        }
        self.state.is_stale = true;
    }

    fn collapse(&mut self, goal: &Atom, dest: Dest) {
        let dst = self.target(dest);
        self.collected(goal, dst, CollectedInto::List);
        self.finish(dst, dest);
    }

    /// All results of a goal: as a list, or as the subjects of a `case`.
    pub(super) fn collected(&mut self, goal: &Atom, dst: Slot, into: CollectedInto) {
        let is_list = into == CollectedInto::List;
        self.collected_by(goal, dst, is_list, |slot, return_point| Instruction::Collect { slot, return_point, into });
    }

    /// All results of a goal. `begin` makes the instruction that begins to collect them: it gets the slot that this is noted in, and the
    /// return point of what they become. `is_list` says whether they become a list.
    pub(super) fn collected_by(
        &mut self,
        goal: &Atom,
        dst: Slot,
        is_list: bool,
        begin: impl FnOnce(Slot, u32) -> Instruction,
    ) {
        let (begun, value) = (self.slot(), self.slot());
        self.make_shared(goal);
        let at = self.next as Slot;
        let outer = self.errors;
        let label = self.label();
        let place = self.emit(Instruction::Fail);
        self.errors = Errors::Destination(label);
        let state = self.state.clone();
        let gathers = std::mem::replace(&mut self.gathers, is_list.then_some([begun, value]));
        self.value(goal, 0, Dest::Slot(value));
        self.gathers = gathers;
        self.emit(Instruction::Collected { begun, slot: value });
        self.write_behind(Later::Caught { label, begun, value });
        self.state = state;
        self.errors = outer;
        let return_point = self.return_point(dst, Some(at));
        self.run.m.code.return_points[return_point as usize].pc = self.here();
        self.run.m.code.instructions[place] = begin(begun, return_point);
        self.mark_live(dst);
        self.state.is_stale = true;
    }

    /// A native function.
    pub(super) fn operation(&mut self, atom: &Atom, type_id: TypeId, dest: Dest) {
        let children = atom.children().expect("a call is an expression");
        let Some(lowering) = lowering_of(&children[0]) else { return self.plain(atom, type_id, dest) };
        let arguments = &children[1..];
        let is_done = match (lowering, arguments) {
            (Lowering::LetAll, [pairs, body]) => {
                self.bindings(atom, pairs, body, type_id, dest);
                true
            }
            (Lowering::Comparison(Comparison::Equal), [left, right]) => {
                self.equality(atom, left, right, type_id, dest);
                true
            }
            (Lowering::Capture, [goal]) => self.capture(atom, goal, type_id, dest),
            _ => self.list_operation(lowering, atom, type_id, dest),
        };
        if is_done {
            return;
        }
        let head = self.run.m.values.constant_leaf(&children[0]).expect("it is a leaf");
        let kind = match self.run.head_kind(head, arguments.len()) {
            HeadKind::Raw { result } => Signature::raw(arguments.len(), result),
            HeadKind::Typed(signature) => signature,
            HeadKind::Parametric(function) => match self.instantiated(&function, arguments, 0) {
                Some((signature, guards)) => {
                    self.guard(&guards, atom, type_id, dest);
                    signature
                }
                None => return self.plain(atom, type_id, dest),
            },
            HeadKind::Untyped | HeadKind::Other => return self.plain(atom, type_id, dest),
        };
        let result = kind.result.unwrap_or(type_id);
        let mut guards = Vec::new();
        if !self.run.agrees_statically(result, type_id) || !self.arguments_agree(&kind.formals, arguments, &mut guards)
        {
            return self.plain(atom, type_id, dest);
        }
        self.guard(&guards, atom, type_id, dest);
        match (lowering, arguments) {
            (Lowering::Arithmetic(operation), [left, right]) => self.arithmetic(operation, left, right, dest),
            (Lowering::Comparison(comparison), [left, right]) => {
                let number = self.run.m.type_cache.number_type;
                self.comparison(comparison, left, right, number, dest);
            }
            (Lowering::Logic(Logic::Not), [only]) => self.logic(Logic::Not, only, only, dest),
            (Lowering::Logic(operation), [left, right]) => self.logic(operation, left, right, dest),
            (Lowering::Superpose, [list]) if !list.children().is_some_and(|children| children.iter().any(is_odd)) => {
                self.superpose(atom, list, dest);
            }
            _ if self.on_space(lowering, &kind, atom, dest) => {}
            _ => self.native(head, &kind, arguments, dest),
        }
    }

    /// Begins a native function in place, if its alternatives are to be collected together.
    pub(super) fn around(&mut self, arguments: &[Atom], dest: Dest, write: impl FnOnce(&mut Self, Dest)) {
        self.make_ahead_of_parts(arguments);
        // A variable that another argument binds is evaluated to a type: that may be an error.
        let is_bound_here = |argument: &Atom| match argument {
            Atom::Variable(variable) => !self.state.variables.contains_key(variable),
            _ => false,
        };
        let branches = |argument: &&Atom| !self.has_one_result(argument) || is_bound_here(argument);
        let branching = arguments.iter().filter(branches).count();
        let calls = arguments.iter().any(|argument| matches!(argument, Atom::Expression(_)));
        if dest == Dest::Tail || branching < 2 || !calls {
            return write(self, dest);
        }
        self.within_barrier(dest, write);
    }

    pub(super) fn within_barrier(&mut self, dest: Dest, write: impl FnOnce(&mut Self, Dest)) {
        let Dest::Slot(target) = dest else { return write(self, dest) };
        let begun = self.slot();
        let outer = self.errors;
        let label = self.begin_barrier(begun);
        let value = self.slot();
        write(self, Dest::Slot(value));
        self.errors = outer;
        // An error ends it before all of its slots hold something.
        self.forget_from(begun);
        let return_point = self.return_point(target, None);
        self.emit(Instruction::End { begun, value, return_point });
        self.end_barrier(Some(label), begun, return_point);
        self.mark_live(target);
        self.state.is_stale = true;
    }

    fn arithmetic(&mut self, operation: Arithmetic, left: &Atom, right: &Atom, dest: Dest) {
        self.around(&[left.clone(), right.clone()], dest, |compiler, dest| {
            let number = compiler.run.m.type_cache.number_type;
            let first = compiler.native_operand(left, number);
            let constant = compiler.run.m.values.constant_leaf(right).filter(|constant| is_small(*constant));
            let second = if constant.is_none() { compiler.native_operand(right, number) } else { 0 };
            let is_number = |compiler: &Self, slot| compiler.state.facts.get(&slot) == Some(&Fact::Number);
            let is_known = is_number(compiler, first) && (constant.is_some() || is_number(compiler, second));
            let dst = compiler.target(dest);
            let return_point = compiler.native_return_point(dst, &[left, right]);
            compiler.emit(match constant {
                Some(right) => Instruction::ArithmeticWith { operation, left: first, right, return_point },
                None => Instruction::Arithmetic { operation, left: first, right: second, return_point },
            });
            if is_known {
                compiler.know(dst, Fact::Number);
            }
            compiler.finish(dst, dest);
        });
    }

    fn comparison(&mut self, comparison: Comparison, left: &Atom, right: &Atom, type_id: TypeId, dest: Dest) {
        self.around(&[left.clone(), right.clone()], dest, |compiler, dest| {
            let first = compiler.native_operand(left, type_id);
            let second = compiler.native_operand(right, type_id);
            let dst = compiler.target(dest);
            let return_point = compiler.native_return_point(dst, &[left, right]);
            compiler.emit(Instruction::Compare { comparison, left: first, right: second, return_point });
            compiler.finish(dst, dest);
        });
    }

    fn logic(&mut self, operation: Logic, left: &Atom, right: &Atom, dest: Dest) {
        let arguments = if operation == Logic::Not { vec![left.clone()] } else { vec![left.clone(), right.clone()] };
        self.around(&arguments, dest, |compiler, dest| {
            let bool_type = compiler.run.m.type_cache.bool_type;
            let first = compiler.native_operand(left, bool_type);
            let second = if operation == Logic::Not { first } else { compiler.native_operand(right, bool_type) };
            let dst = compiler.target(dest);
            let return_point = compiler.native_return_point(dst, &[left, right]);
            compiler.emit(Instruction::Logic { operation, left: first, right: second, return_point });
            compiler.finish(dst, dest);
        });
    }

    /// `==` takes two values of one type.
    fn equality(&mut self, atom: &Atom, left: &Atom, right: &Atom, type_id: TypeId, dest: Dest) {
        let bool_type = self.run.m.type_cache.bool_type;
        if !self.run.agrees_statically(bool_type, type_id) {
            return self.plain(atom, type_id, dest);
        }
        if !self.is_well_typed && self.is_untyped_call(left) && self.is_untyped_call(right) {
            return self.equality_of_calls(atom, [left, right], type_id, dest);
        }
        let mut guards = Vec::new();
        let sides = self.sides_agree(left, right, false, &mut guards);
        let Some(side_type) = sides else { return self.plain(atom, type_id, dest) };
        self.guard(&guards, atom, type_id, dest);
        self.comparison(Comparison::Equal, left, right, side_type, dest);
    }

    /// What the first call comes to says of which type the results of the second are. The code for that stands there for numbers and for
    /// what has no type.
    fn equality_of_calls(&mut self, atom: &Atom, [left, right]: [&Atom; 2], type_id: TypeId, dest: Dest) {
        if mentions_equality(right) {
            return self.plain(atom, type_id, dest);
        }
        let write = |compiler: &mut Self, dest: Dest| {
            let first = compiler.native_operand(left, 0);
            let mut whole = atom.children().expect("a comparison is an expression").to_vec();
            whole[1] = compiler.stand_in(first);
            let is_number = Instruction::Guard { slot: first, guard: Guard::Number, or: 0 };
            let otherwise = compiler.label();
            compiler.emit_to(is_number, otherwise);
            let state = compiler.state.clone();
            let number = compiler.run.m.type_cache.number_type;
            compiler.compare_with(first, right, number, dest);
            if let Some(join) = compiler.join(dest) {
                compiler.emit_to(Instruction::Jump { to: 0 }, join);
            }
            compiler.place(otherwise);
            compiler.state = state;
            let is_open = Instruction::Guard { slot: first, guard: Guard::Open, or: 0 };
            compiler.or_plain(is_open, &Atom::expression(whole), type_id, dest);
            compiler.compare_with(first, right, 0, dest);
        };
        self.around(&[left.clone(), right.clone()], dest, |compiler, dest| match dest {
            Dest::Tail => write(compiler, dest),
            Dest::Slot(slot) => compiler.joined_with(atom, slot, write),
        });
    }

    /// Compares what a slot holds with what an atom comes to.
    fn compare_with(&mut self, left: Slot, right: &Atom, type_id: TypeId, dest: Dest) {
        let right = self.native_operand(right, type_id);
        let dst = self.target(dest);
        let return_point = self.return_point(dst, None);
        self.emit(Instruction::Compare { comparison: Comparison::Equal, left, right, return_point });
        self.finish(dst, dest);
    }

    /// Whether an atom is a call of a function without types, of no type itself, whose results are evaluated to the type that is expected.
    fn is_untyped_call(&mut self, atom: &Atom) -> bool {
        let Some([head, arguments @ ..]) = atom.children() else { return false };
        matches!(self.side_without_type(atom), Side::Call)
            && self.run.m.values.constant_leaf(head).is_some_and(|head| {
                matches!(self.run.head_kind(head, arguments.len()), HeadKind::Untyped)
                    && self.run.has_rules(head, arguments.len() as Slot)
            })
    }

    /// The type that both sides of `==` are evaluated to, if their types agree and the guards hold.
    pub(super) fn sides_agree(
        &mut self,
        left: &Atom,
        right: &Atom,
        is_nested: bool,
        guards: &mut Vec<Instruction>,
    ) -> Option<TypeId> {
        let number = self.run.m.type_cache.number_type;
        let (first, second) = (self.side(left), self.side(right));
        match (first, second) {
            (Side::Number, _) | (_, Side::Number) if self.is_well_typed => {
                let agree =
                    self.agrees(left, number, is_nested, guards) && self.agrees(right, number, is_nested, guards);
                agree.then_some(number)
            }
            _ if self.is_well_typed => Some(0),
            (Side::Slot(left), Side::Slot(right)) => {
                guards.push(Instruction::GuardSame { left, right, or: 0 });
                Some(0)
            }
            (Side::Number, _) | (_, Side::Number) => {
                let agree =
                    self.agrees(left, number, is_nested, guards) && self.agrees(right, number, is_nested, guards);
                agree.then_some(number)
            }
            (Side::Open, Side::Slot(slot)) | (Side::Slot(slot), Side::Open) => {
                guards.push(Instruction::Guard { slot, guard: Guard::Plain, or: 0 });
                Some(0)
            }
            (Side::Call, Side::Slot(_)) | (Side::Slot(_), Side::Call) => {
                let agree =
                    self.agrees(left, number, is_nested, guards) && self.agrees(right, number, is_nested, guards);
                agree.then_some(number)
            }
            (Side::Open | Side::Call, Side::Open | Side::Call) => Some(0),
            (Side::Typed(one), Side::Typed(other)) if one == other => {
                let agree = self.agrees(left, one, is_nested, guards) && self.agrees(right, one, is_nested, guards);
                agree.then_some(one)
            }
            (Side::Typed(_), _) | (_, Side::Typed(_)) | (Side::Other, _) | (_, Side::Other) => None,
        }
    }

    fn side(&mut self, atom: &Atom) -> Side {
        match self.side_without_type(atom) {
            Side::Other => match self.only_type(atom).and_then(|found| self.run.m.code.type_id(&found)) {
                Some(number) if number == self.run.m.type_cache.number_type => Side::Number,
                Some(found) => Side::Typed(found),
                None => Side::Other,
            },
            known => known,
        }
    }

    fn side_without_type(&mut self, atom: &Atom) -> Side {
        match atom {
            Atom::Variable(variable) => match self.state.variables.get(variable) {
                Some(slot) if self.state.facts.get(slot) == Some(&Fact::Number) => Side::Number,
                Some(&slot) => Side::Slot(slot),
                None => Side::Other,
            },
            Atom::Grounded(space::Grounded::Number(_)) => Side::Number,
            Atom::Expression(expression) if expression.is_empty() && self.run.is_unit_open() => Side::Open,
            Atom::Symbol(_) => {
                let leaf = self.run.m.values.constant_leaf(atom).expect("it is a leaf");
                if self.run.is_open(leaf) { Side::Open } else { Side::Other }
            }
            Atom::Expression(expression) if !expression.is_empty() => {
                let head = &expression.children()[0];
                if matches!(lowering_of(head), Some(Lowering::Arithmetic(_))) {
                    return Side::Number;
                }
                let Atom::Symbol(_) = head else { return Side::Other };
                let leaf = self.run.m.values.constant_leaf(head).expect("it is a leaf");
                let arity = expression.len() - 1;
                let is_open = match self.run.head_kind(leaf, arity) {
                    HeadKind::Untyped => self.run.makes_open(leaf, arity),
                    HeadKind::Raw { result } => {
                        result == self.run.m.type_cache.atom_type && !self.run.may_have_whole_type(leaf, arity)
                    }
                    _ => false,
                };
                if is_open { Side::Call } else { Side::Other }
            }
            _ => Side::Other,
        }
    }

    fn bindings(&mut self, atom: &Atom, pairs: &Atom, body: &Atom, type_id: TypeId, dest: Dest) {
        let Some(pairs) = pairs.children() else { return self.plain(atom, type_id, dest) };
        if !self.run.is_special_form("let", 3)
            || pairs.iter().any(|pair| pair.children().is_none_or(|pair| pair.len() != 2))
        {
            return self.plain(atom, type_id, dest);
        }
        let nested = pairs.iter().rev().fold(body.clone(), |body, pair| {
            let pair = pair.children().expect("it is a pair");
            Atom::expression([Atom::symbol("let"), pair[0].clone(), pair[1].clone(), body])
        });
        match &nested {
            Atom::Expression(_) if !pairs.is_empty() => self.special(Form::Let, &nested, 0, dest),
            _ => self.answer(&nested, 0, dest, |_| OddAnswer::Enters(atom.clone())),
        }
    }

    /// Each child of a list is an alternative, evaluated in its turn.
    fn superpose(&mut self, atom: &Atom, list: &Atom, dest: Dest) {
        if let Some(children) = list.children().filter(|children| are_alternatives(children)) {
            return self.within_barrier(dest, |compiler, dest| compiler.alternatives(list, children, dest));
        }
        let slot = self.slot();
        self.raw(list, Dest::Slot(slot));
        self.within_barrier_if_needed(list, dest, |compiler, dest| {
            let child = compiler.slot();
            let return_point = compiler.return_point(child, None);
            compiler.emit(Instruction::Superpose { slot, return_point });
            compiler.mark_live(child);
            if are_plain(list) {
                return compiler.value_of_slot(child, 0, dest);
            }
            let odd = OddAnswer::Enters(atom.clone());
            compiler.or_odd(child, &odd, 0, dest, |compiler| compiler.value_of_slot(child, 0, dest));
        });
    }

    /// Each child of a list, in its turn, with code of its own.
    fn alternatives(&mut self, list: &Atom, children: &[Atom], dest: Dest) {
        let Some((last, others)) = children.split_last() else { return };
        let (end, before) = (self.label(), self.state.clone());
        for child in others {
            let next = self.return_point(0, None);
            self.emit(Instruction::Alternative { return_point: next });
            self.alternative(list, child, dest);
            if dest != Dest::Tail {
                self.emit_to(Instruction::Jump { to: 0 }, end);
            }
            self.state = before.clone();
            self.run.m.code.return_points[next as usize].pc = self.here();
        }
        self.alternative(list, last, dest);
        self.place(end);
        self.state = before;
        self.state.is_stale = true;
    }

    /// One of them. A variable that it has in common with others of the list only is another one in each.
    fn alternative(&mut self, list: &Atom, child: &Atom, dest: Dest) {
        let with_child = with_in_place_of(&self.whole, list, child);
        let whole = std::mem::replace(&mut self.whole, with_child);
        match dest {
            Dest::Tail => self.reduct(child, 0, dest),
            Dest::Slot(dst) => self.joined_with(child, dst, |compiler, dest| compiler.reduct(child, 0, dest)),
        }
        self.whole = whole;
    }

    /// A list of leaves needs no barrier: they are their own results.
    fn within_barrier_if_needed(&mut self, list: &Atom, dest: Dest, write: impl FnOnce(&mut Self, Dest)) {
        if are_plain(list) { write(self, dest) } else { self.within_barrier(dest, write) }
    }

    /// Evaluates what a slot holds, which a call was reduced to.
    pub(super) fn value_of_slot(&mut self, slot: Slot, type_id: TypeId, dest: Dest) {
        match dest {
            Dest::Tail => {
                self.emit(Instruction::TailEvaluate { slot, type_id, is_answer: true });
            }
            Dest::Slot(dst) => {
                let return_point = self.return_point(dst, None);
                self.emit(Instruction::Value { slot, dst, type_id, return_point, position: Position::Answer });
                self.mark_live(dst);
                self.state.is_stale = true;
            }
        }
    }

    /// A native function that is called through its Rust side; its results are evaluated as its type says.
    fn native(&mut self, head: Ref, signature: &Signature, arguments: &[Atom], dest: Dest) {
        let result = self.run.m.evaluated_as(signature.result.unwrap_or(0));
        // A function of the library gives what it declares, but for the contents of states.
        let is_final = result != 0 && matches!(self.run.type_atom(result), Atom::Symbol(_));
        self.make_ahead_of_parts(arguments);
        let write = |compiler: &mut Self, dest: Dest| {
            let block = compiler.slots(HEADER + arguments.len());
            compiler.typed_arguments(&signature.formals, arguments, block + HEADER as Slot);
            let value = compiler.slot();
            let written: Vec<&Atom> = arguments.iter().collect();
            let return_point = compiler.native_return_point(value, &written);
            let first = block + HEADER as Slot;
            compiler.emit(Instruction::Native { operation: head, first, count: arguments.len() as Slot, return_point });
            compiler.mark_live(value);
            compiler.state.is_stale = true;
            if is_final { compiler.finish(value, dest) } else { compiler.value_of_slot(value, result, dest) }
        };
        if dest == Dest::Tail { write(self, dest) } else { self.within_barrier(dest, write) }
    }
}

/// Whether there is another `==` in an expression, which is no deeper than what is compiled.
fn mentions_equality(atom: &Atom) -> bool {
    let parts = atom.children().unwrap_or_default();
    parts.first().and_then(lowering_of) == Some(Lowering::Comparison(Comparison::Equal))
        || parts.iter().any(mentions_equality)
}

/// Whether a list is written out, of leaves.
fn are_plain(list: &Atom) -> bool {
    let is_plain = |child: &Atom| matches!(child, Atom::Symbol(_) | Atom::Grounded(_));
    list.children().is_some_and(|children| children.iter().all(is_plain))
}

/// An atom, which is no deeper than what is compiled, with another part in place of one.
fn with_in_place_of(atom: &Atom, part: &Atom, other: &Atom) -> Atom {
    match atom {
        _ if atom == part => other.clone(),
        Atom::Expression(expression) if !atom.is_ground() || part.is_ground() => Atom::expression(
            expression.children().iter().map(|child| with_in_place_of(child, part, other)).collect::<Vec<_>>(),
        ),
        _ => atom.clone(),
    }
}

/// Whether each child of a list that is written out gets code of its own: they are few, some are to be evaluated, and of each it is known
/// that it is not [odd](is_odd).
fn are_alternatives(children: &[Atom]) -> bool {
    let is_known =
        |child: &Atom| !matches!(child, Atom::Variable(_)) && !matches!(child.head(), Some(Atom::Variable(_)));
    let is_expression = |child: &Atom| child.head().is_some();
    children.len() <= ALTERNATIVES_MAX && children.iter().all(is_known) && children.iter().any(is_expression)
}

/// Whether an answer of a form is no value to be evaluated: the form stands for itself, or code is entered.
pub(in crate::machine) fn is_odd(answer: &Atom) -> bool {
    answer.is_symbol(names::NOT_REDUCIBLE) || super::minimal::is_function(answer)
}
