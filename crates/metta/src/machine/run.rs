//! The machine at work: one instruction after the other.
//!
//! What an instruction does beyond its slots is done by others, which know nothing of the loop: calls are made (`calls.rs`), results go where they
//! belong (`delivery.rs`), what has no code is evaluated (`evaluate.rs`), alternatives are tried (`alternatives.rs`).

use super::code::{Function, Guard, Instruction, Pc, Position, ReturnPoint, Slot, TypeId};
use super::control::choices::Destination;
use super::control::goals::count_of;
use super::minimal::are_alike;
use super::notes::Notes;
use super::profiling::profile_rule;
use super::values::Values;
use super::words::{
    EMPTY, FALSE, FOREIGN, INTEGER, NOT_REDUCIBLE, SYMBOL, TERM, TRUE, compare_words, is_small, raw, small, word,
};
use super::{Halt, Machine, Running};
use crate::interpreter::Task;
use crate::lowering::{Arithmetic, Comparison};
use region::{Ref, tag};

impl Machine {
    /// Goes elsewhere if all of some slots hold small integers.
    #[inline]
    fn skip_if_small(&mut self, slots: [Slot; 3], to: Pc) -> Result<(), Halt> {
        if slots.iter().all(|&slot| is_small(self.read(slot))) {
            self.frames.pc = to;
        }
        Ok(())
    }

    /// What a slot holds, if it is a leaf that is its own result.
    #[inline]
    fn leaf_result(&self, slot: Slot, is_number: bool) -> Option<Ref> {
        let value = self.read(slot);
        match value.tag() {
            INTEGER | tag::NUMBER => Some(value),
            FOREIGN if !is_number => Some(value),
            _ => None,
        }
    }

    /// Moves what a slot holds and goes on elsewhere, if it is a leaf that is its own result.
    #[inline]
    fn move_leaf(&mut self, (slot, is_number): (Slot, bool), dst: Slot, to: Pc) -> Result<(), Halt> {
        if let Some(value) = self.leaf_result(slot, is_number) {
            self.frames.set_slot(dst, value);
            self.frames.pc = to;
        }
        Ok(())
    }

    /// Goes one way or the other if both are small integers.
    #[inline]
    fn compare_jump(
        &mut self,
        comparison: Comparison,
        (left, right): (Ref, Ref),
        then: Pc,
        or: Pc,
    ) -> Result<(), Halt> {
        if is_small(left) && is_small(right) {
            self.frames.pc = if compare_words(comparison, word(left), word(right)) { then } else { or };
        }
        Ok(())
    }
}

impl Running<'_> {
    /// Runs until something halts it.
    pub(super) fn run(&mut self) -> Halt {
        loop {
            let pc = self.m.frames.pc as usize;
            self.m.frames.pc += 1;
            // Matched in place: copying the whole instruction would cost more than most of them do.
            let done = match self.m.code.instructions[pc] {
                Instruction::Call { function, return_point, begun } => self.call(function, return_point, begun),
                Instruction::CallWith { function, arguments, return_point } => {
                    self.call_with(function, arguments, return_point)
                }
                Instruction::TailCallWith { function, arguments } => self.tail_call_with(function, arguments),
                Instruction::TailCall { function, at } => self.tail_call(function, at),
                Instruction::Return { slot } => self.give(self.m.read(slot)),
                Instruction::CompareJumpWith { comparison, left, right, then, or } => {
                    self.m.compare_jump(comparison, (self.m.read(left), right), then, or)
                }
                Instruction::CompareJump { comparison, left, right, then, or } => {
                    self.m.compare_jump(comparison, (self.m.read(left), self.m.read(right)), then, or)
                }
                Instruction::ArithmeticWith { operation, left, right, return_point } => {
                    self.arithmetic(operation, self.m.read(left), right, return_point)
                }
                Instruction::Arithmetic { operation, left, right, return_point } => {
                    self.arithmetic(operation, self.m.read(left), self.m.read(right), return_point)
                }
                Instruction::Guard { slot, guard, or } => {
                    let holds = self.holds(guard, slot);
                    self.m.frames.go_unless(holds, or)
                }
                Instruction::SkipIfSmall { slots, to } => self.m.skip_if_small(slots, to),
                Instruction::ReturnLeaf { slot, is_number } => match self.m.leaf_result(slot, is_number) {
                    Some(value) => self.give(value),
                    None => Ok(()),
                },
                Instruction::MoveLeaf { slot, dst, is_number, to } => self.m.move_leaf((slot, is_number), dst, to),
                Instruction::GuardSays { function, said, or } => {
                    let Function { head, arguments, .. } = self.m.code.functions[function as usize];
                    let says = self.function_types().said_by((head, arguments));
                    says.and_then(|says| self.m.frames.go_unless(says == said, or))
                }
                Instruction::GuardTypeEpoch { shapes, or } => {
                    self.m.frames.go_unless(self.m.code.type_epoch == shapes, or)
                }
                Instruction::MatchShape { slot, dst, shape, or } => self.match_shape(slot, dst, shape, or),
                Instruction::MatchLeaf { slot, leaf, or } => self.match_leaf(slot, leaf, or),
                Instruction::MatchSame { left, right, or } => self.match_same(left, right, or),
                Instruction::Commit => self.commit(),
                Instruction::Construct { data } => self.construct(data),
                Instruction::ReturnConstruct { data } => self.return_constructed(data),
                Instruction::ConstructNested { data, dst, then } => self.construct_nested(data, dst, then),
                Instruction::ReturnNested { data } => self.return_nested(data),
                Instruction::BuildHoleCall { data, function, arguments } => self.hole_call(data, function, arguments),
                Instruction::Value { slot, dst, type_id, return_point, position } => {
                    self.value(slot, dst, type_id, return_point, position)
                }
                Instruction::Settled { slot, dst, may_be_bound, or } => self.settled(slot, dst, may_be_bound, or),
                Instruction::Query { query, space, return_point } => self.query(query, space, return_point),
                Instruction::Build { dst, template } => {
                    self.m.build(template).and_then(|value| self.m.frames.put(dst, value))
                }
                Instruction::Load { dst, value } => self.m.frames.put(dst, value),
                Instruction::Move { dst, src } => self.m.frames.put(dst, self.m.frames.slot(src)),
                Instruction::Jump { to } => self.m.frames.go_unless(false, to),
                Instruction::GetState { slot, return_point } => self.get_state(self.m.read(slot), return_point),
                Instruction::ChangeState { slot, value, return_point } => {
                    self.change_state(self.m.read(slot), self.m.read(value), return_point)
                }
                // What follows is rarer, or does more than it costs to come here.
                Instruction::Answer => self.answer(),
                Instruction::Child { index } => self.next_child(index),
                Instruction::Escape => self.give(self.m.frames.acc),
                Instruction::ChildFailed => self.child_has_failed(),
                Instruction::NextRound => self.enter_again(),
                Instruction::Fail => self.fail(),
                Instruction::EnterRule { rule } => {
                    profile_rule(self.session, &self.m.frames, rule);
                    Ok(())
                }
                Instruction::Variable { dst, name } => self
                    .m
                    .values
                    .variable(name)
                    .map_err(Halt::from)
                    .and_then(|variable| self.m.frames.put(dst, variable)),
                Instruction::Take { dst } => self.m.frames.put(dst, self.m.frames.acc),
                Instruction::Remember { slot } => self.m.frames.put(slot, raw(self.m.choices.bindings.trail.len())),
                Instruction::Undo { slot } => {
                    let length = self.m.frames.slot(slot).payload() as usize;
                    self.m.undo_to(length);
                    Ok(())
                }
                Instruction::TailEvaluate { slot, type_id, is_answer } => {
                    self.evaluate_last(self.m.frames.slot(slot), type_id, is_answer)
                }
                Instruction::EvaluateWritten { template, type_id, return_point } => {
                    self.m.build(template).and_then(|value| self.evaluate_value(value, type_id, return_point))
                }
                Instruction::TailEvaluateWritten { template, type_id, is_answer } => {
                    self.m.build(template).and_then(|value| self.evaluate_last(value, type_id, is_answer))
                }
                Instruction::Begin { slot } => {
                    self.m.frames.put(slot, Ref::from_bits(self.m.choices.stack.len() as u32))
                }
                Instruction::End { begun, value, return_point } => self.end(begun, self.m.read(value), return_point),
                Instruction::NoteOpen { slot, dst, only_data } => self.m.slots().note_open(slot, dst, only_data),
                Instruction::NoteEvaluated { slot, dst } => self.m.note_evaluated(slot, dst),
                Instruction::Resolve { slot, dst } => self.m.resolve_data(slot, dst),
                Instruction::KeepEvaluated { slot, dst, or } => self.m.slots().keep_evaluated(slot, dst, or),
                Instruction::KeepOpen { flag, slot, dst } => self.m.slots().keep_open(flag, slot, dst),
                Instruction::Compare { comparison, left, right, return_point } => {
                    self.compare(comparison, self.m.read(left), self.m.read(right), return_point)
                }
                Instruction::If { slot, or } => {
                    match self.m.read(slot) {
                        TRUE => self.m.frames.pc += 1,
                        FALSE => self.m.frames.pc = or,
                        _ => {}
                    }
                    Ok(())
                }
                Instruction::Native { operation, first, count, return_point } => {
                    self.native(operation, first, count, return_point)
                }
                Instruction::Interpret { template, type_id, return_point } => {
                    self.m.build(template).and_then(|value| self.interpret_at(value, type_id, return_point))
                }
                Instruction::Logic { operation, left, right, return_point } => {
                    self.logic(operation, self.m.read(left), self.m.read(right), return_point)
                }
                Instruction::Apply { head, count, type_id, return_point, tail, same } => {
                    self.apply(head, count, (type_id, same), return_point, tail)
                }
                Instruction::Superpose { slot, return_point } => self.superpose(slot, return_point),
                Instruction::Alternative { return_point } => {
                    let Machine { choices, frames, values, code, .. } = &mut self.m;
                    choices.begin_alternative(frames, values, code, return_point);
                    Ok(())
                }
                Instruction::Transact { slot, return_point } => self.transact(slot, return_point),
                Instruction::Collect { slot, return_point, into } => self.collect(slot, return_point, into),
                Instruction::CollectSome { slot, most, wanted, return_point } => {
                    self.collect_some(slot, most, wanted, return_point)
                }
                Instruction::Collected { begun, slot } => self.collected(begun, slot),
                Instruction::Unreduced { function } => self.give_unreduced_by_rule(function),
                Instruction::Body { slot, type_id, function } => self.give_body(slot, type_id, function),
                Instruction::MarkNormalForm { slot } => self.m.unchanged_calls().mark_normal_form(slot),
                Instruction::NoteUnchangedCall { function, dst } => {
                    self.m.unchanged_calls().note_unchanged_call(function, dst)
                }
                Instruction::GuardUnchanged { at, or } => self.m.unchanged_calls().guard_unchanged(at, or),
                Instruction::CheckReduct { slot, template, type_id, return_point } => {
                    self.check_reduct(slot, template, type_id, return_point)
                }
                Instruction::NameVariable { slot, index } => self.name_variable(slot, index),
                Instruction::FormVariable { dst, index } => self
                    .m
                    .values
                    .make_form_variable(index)
                    .map_err(Halt::from)
                    .and_then(|variable| self.m.frames.put(dst, variable)),
                Instruction::GuardSame { left, right, or } => {
                    let (left, right) = (self.m.read(left), self.m.read(right));
                    let have = self.types().have_one_type(left, right);
                    self.m.frames.go_unless(have, or)
                }
                Instruction::TailCallFacts { group, arguments } => self.tail_call_facts(group, arguments),
                Instruction::BuildHole { data } => self.build_hole(data),
                Instruction::BuildConsHole { first, return_point, or } => self.build_cons_hole(first, return_point, or),
                Instruction::AddAtom { space, value, return_point } => {
                    self.add_atom(self.m.read(space), self.m.read(value), return_point)
                }
                Instruction::QueryFused { query, space, return_point } => self.query_fused(query, space, return_point),
                Instruction::QuerySome { query, space, return_point } => self.query_some(query, space, return_point),
                Instruction::ReserveFrame { at, slots } => self.m.frames.own_from(at, usize::from(slots)),
                Instruction::Leave { slot, type_id, call, function } => {
                    self.leave(slot, type_id, call, |running, call| {
                        running.m.unchanged_calls().leaves_unchanged(function, call)
                    })
                }
                Instruction::LeaveKnown { slot, type_id, call, came } => {
                    self.leave(slot, type_id, call, |running, _| Ok(running.m.frames.slot(came) == TRUE))
                }
                Instruction::Reduct { slot } => {
                    let value = self.m.read(slot);
                    self.m.values.is_code(value, true).and_then(|is_code| match is_code {
                        true => self.interpret(value, Destination::Frame, Task::Minimal),
                        false => self.give(value),
                    })
                }
                Instruction::Reduce { slot, return_point } => self.reduce(slot, return_point),
                Instruction::ReduceNative { operation, first, count, return_point } => {
                    let arguments: Vec<Ref> = (first..first + count).map(|slot| self.m.frames.slot(slot)).collect();
                    let head = self.m.values.foreign_of(operation).clone();
                    self.reduce_native(&head, &arguments, return_point)
                }
                Instruction::RunMinimal { slot, return_point, only_function } => {
                    self.run_minimal(slot, return_point, only_function)
                }
                Instruction::LeaveFunction { slot, call, return_point } => {
                    self.leave_function(slot, call, return_point)
                }
                Instruction::Unify { left, right, return_point, or } => {
                    self.unify_every_way(left, right, return_point, or)
                }
                Instruction::IfEqual { left, right, or } => {
                    let (left, right) = (self.m.read(left), self.m.read(right));
                    are_alike(&mut self.m.values, left, right)
                        .and_then(|are_alike| self.m.frames.go_unless(are_alike, or))
                }
                Instruction::IfError { slot, or } => {
                    let is_error = self.m.values.is_error(self.m.read(slot));
                    self.m.frames.go_unless(is_error, or)
                }
                Instruction::TailInterpret { template, type_id } => {
                    self.m.build(template).and_then(|value| self.interpret_here(value, type_id))
                }
                Instruction::Cons { head, tail, dst, or } => self.cons(head, tail, dst, or),
                Instruction::Decons { slot, dst, or } => self.decons(slot, dst, or),
                Instruction::Head { slot, dst, or } => self.m.slots().list(slot).map(|list| {
                    match list.and_then(|list| self.m.values.heap.children(list).first().copied()) {
                        Some(head) => self.m.frames.set_slot(dst, head),
                        None => self.m.frames.pc = or,
                    }
                }),
                Instruction::Tail { slot, dst, or } => self.list_tail(slot, dst, or),
                Instruction::Size { slot, dst, or } => self.m.slots().size(slot, dst, or),
                Instruction::Element { slot, index, dst, or } => self.m.slots().element(slot, index, dst, or),
                Instruction::Next { list, index, dst, or } => self.m.slots().next(list, index, dst, or),
                Instruction::Substitute { template, variables, values, count, dst, renames } => {
                    self.m.slots().substitute_slots(template, (variables, values, count), dst, renames)
                }
                Instruction::Gathered { slot, dst } => self.m.slots().gathered(slot, dst),
                Instruction::LeaveList { slot } => self.leave_list(slot),
            };
            if let Err(halt) = done
                && let Err(halt) = {
                    let Machine { choices, frames, values, code, .. } = &mut self.m;
                    choices.gather_if_asked(frames, values, code, halt)
                }
            {
                return halt;
            }
        }
    }

    /// The end of an expression that shares its frame with the one around it.
    fn end(&mut self, begun: Slot, value: Ref, return_point: u32) -> Result<(), Halt> {
        if value == EMPTY {
            return self.fail();
        }
        let level = self.m.frames.slot(begun).bits();
        if self.m.choices.stack.len() as u32 == level {
            return self.resume(return_point, value);
        }
        let base = self.m.frames.base as u32;
        self.gather(value, level, return_point, base)
    }

    #[inline]
    fn arithmetic(&mut self, operation: Arithmetic, left: Ref, right: Ref, return_point: u32) -> Result<(), Halt> {
        if is_small(left) && is_small(right) {
            let (a, b) = (word(left), word(right));
            let result = match operation {
                Arithmetic::Add => a + b,
                Arithmetic::Subtract => a - b,
                Arithmetic::Multiply => a * b,
                Arithmetic::Divide if b != 0 => a / b,
                Arithmetic::Remainder if b != 0 => a % b,
                _ => return self.slow_arithmetic(operation, left, right, return_point),
            };
            let Some(value) = small(result) else { return self.resume_with_integer(result, return_point) };
            let ReturnPoint { pc, dst, .. } = self.m.code.return_points[return_point as usize];
            self.m.frames.set_slot(dst, value);
            self.m.frames.pc = pc;
            return Ok(());
        }
        self.slow_arithmetic(operation, left, right, return_point)
    }

    /// Whether a slot holds what a guard asks for.
    #[inline]
    fn holds(&mut self, guard: Guard, slot: Slot) -> bool {
        let value = self.m.read(slot);
        match guard {
            Guard::Number => is_small(value) || value.tag() == tag::NUMBER || self.m.values.is_big(value),
            Guard::Bool => value == TRUE || value == FALSE,
            Guard::Expression => value.is_expression() || value.tag() == TERM,
            Guard::Untyped => self.types().is_untyped(value),
            Guard::Head(arity) => self.types().makes_a_tuple(value, usize::from(arity)),
            Guard::OpenHead(arity) => self.types().makes_open(value, usize::from(arity)),
            Guard::State(type_id) => self.m.types.is_state_of(&self.m.values, value, type_id),
            Guard::Space => self.m.values.space_of(value).is_some(),
            Guard::Plain => {
                !(value.is_expression() || value.tag() == TERM)
                    || self.types().has_no_type_error(value)
                    || is_normal_numbers(&self.m.values, self.m.types.notes, value)
            }
            Guard::Type(type_id) => {
                self.m.types.is_told(&self.m.values, value, type_id) || self.types().has_type(value, type_id, false)
            }
            Guard::TypeInside(type_id) => self.types().has_type(value, type_id, true),
            Guard::Ground => self.m.values.is_ground(value, self.m.types.notes),
            Guard::Reducible => value != NOT_REDUCIBLE && !self.m.values.is_error(value),
            Guard::Answer => {
                value != NOT_REDUCIBLE && !self.m.values.is_error(value) && !self.m.values.is_function(value)
            }
            Guard::Unbound => value.tag() == tag::VARIABLE,
            Guard::Count => count_of(&self.m.values, value).is_some(),
        }
    }

    /// Moves what a slot holds, if it is its own result. Data with variables that was not evaluated is not if these may be bound before.
    #[inline]
    fn settled(&mut self, slot: Slot, dst: Slot, may_be_bound: bool, or: Pc) -> Result<(), Halt> {
        let value = self.m.read(slot);
        let found = match self.m.normal(value, 0) {
            None => self.settled_value(value, 0)?.filter(|found| !may_be_bound || found.tag() != tag::EXPRESSION),
            found => found.filter(|&found| found != EMPTY),
        };
        match found {
            Some(value) => self.m.frames.set_slot(dst, value),
            None => self.m.frames.pc = or,
        }
        Ok(())
    }

    /// Evaluates what a slot holds, if it needs that, into another.
    #[inline]
    fn value(
        &mut self,
        slot: Slot,
        dst: Slot,
        type_id: TypeId,
        return_point: u32,
        position: Position,
    ) -> Result<(), Halt> {
        let value = self.m.read(slot);
        match self.m.normal(value, type_id) {
            Some(EMPTY) if position != Position::Argument => self.fail(),
            Some(value) => {
                self.m.frames.set_slot(dst, value);
                Ok(())
            }
            None if position == Position::Argument && self.is_passed_on(value, type_id) => {
                self.m.frames.set_slot(dst, value);
                Ok(())
            }
            None if position == Position::Answer && self.m.values.is_error(self.m.values.heap.walk(value)) => {
                let error = self.m.resolve(value)?;
                self.resume(return_point, error)
            }
            None if value.tag() == SYMBOL && self.types().has_type(value, type_id, false) => {
                self.m.frames.set_slot(dst, value);
                Ok(())
            }
            None => match self.settled_value(value, type_id)? {
                Some(value) => {
                    self.m.frames.set_slot(dst, value);
                    Ok(())
                }
                None => self.evaluate_value(value, type_id, return_point),
            },
        }
    }
}

/// Whether a value is a list in normal form that begins with a number: its types hold no error.
fn is_normal_numbers(values: &Values, notes: Notes, value: Ref) -> bool {
    let heap = &values.heap;
    value.is_expression()
        && notes.hold(heap.note(value))
        && heap.children(value).first().is_some_and(|first| matches!(first.tag(), INTEGER | tag::NUMBER))
}
