//! The machine at work: one instruction after the other.
//!
//! 1. A call puts its arguments after the caller's frame and goes on with the function's code; a tail call puts them over
//!    its own frame, unless a choice still needs that.
//! 2. A result goes to the slot its return point names. If choices were made since its expression began, it is collected first:
//!    all alternatives of an expression come to their results before the evaluation goes on with the first of them
//!    (`choices.rs`).
//! 3. `Empty` is not a result: the next alternative is tried. An error goes where the return point sends errors.

use super::choices::Destination;
use super::code::{
    ArgumentSource, Arguments, Guard, HEADER, HOLE, Instruction, Kind, Pc, Position, ReturnPoint, SOURCES_MAX, Slot,
    TypeId,
};
use super::words::{
    EMPTY, ERROR, FALSE, FOREIGN, INTEGER, NOT_REDUCIBLE, SYMBOL, TERM, TRUE, is_evaluated_term, is_small, raw, small,
    word,
};
use super::{Halt, Machine, Running};
use crate::interpreter::Task;
use crate::lowering::{Arithmetic, Comparison};
use region::{Ref, tag};

impl Machine {
    #[inline]
    pub(super) fn slot(&self, slot: Slot) -> Ref {
        Ref::from_bits(self.frames.stack[self.frames.base + HEADER + usize::from(slot)])
    }

    #[inline]
    pub(super) fn set_slot(&mut self, slot: Slot, value: Ref) {
        self.frames.stack[self.frames.base + HEADER + usize::from(slot)] = value.bits();
    }

    /// What a slot holds, bindings followed.
    #[inline]
    pub(super) fn read(&self, slot: Slot) -> Ref {
        let value = self.slot(slot);
        if value.tag() == tag::VARIABLE { self.values.heap.walk(value) } else { value }
    }

    #[inline]
    pub(super) fn return_point(&self, return_point: u32) -> &ReturnPoint {
        &self.code.return_points[return_point as usize]
    }

    /// Makes sure that a frame with this many slots, and the header of one more, fits the stack.
    #[inline]
    pub(super) fn ensure(&mut self, slots: usize) -> Result<(), Halt> {
        if self.frames.base + 2 * HEADER + slots > self.frames.stack.len() { self.grow(slots) } else { Ok(()) }
    }

    #[cold]
    fn grow(&mut self, slots: usize) -> Result<(), Halt> {
        let needed = self.frames.base + 2 * HEADER + slots;
        if needed > self.frames.stack_max {
            return Err(self.stack_full());
        }
        self.frames.grow_to(needed);
        Ok(())
    }

    /// Writes the header of a frame that the frame at hand calls, but for the number of choices.
    #[inline]
    pub(super) fn write_header(&mut self, place: usize, return_point: u32) {
        let header = &mut self.frames.stack[place..place + HEADER];
        (header[0], header[1], header[HOLE]) = (return_point, self.frames.base as u32, 0);
    }

    /// The frame of a call at a return point: where it begins, moved up if a choice needs what lies there.
    #[inline]
    pub(super) fn frame_at(&mut self, at: Slot, arguments: usize) -> Result<usize, Halt> {
        let place = self.frames.base + HEADER + usize::from(at);
        if place >= self.choices.protected {
            return Ok(place);
        }
        self.move_frame(place, arguments)
    }

    /// Makes the slots of the frame at hand free for something else: it moves up if a choice needs what is in them.
    pub(super) fn own_frame(&mut self, slots: usize) -> Result<(), Halt> {
        if self.frames.base < self.choices.protected {
            return self.move_up(self.frames.base + HEADER, slots + HEADER);
        }
        self.ensure(slots + HEADER)
    }

    #[cold]
    fn move_frame(&mut self, place: usize, arguments: usize) -> Result<usize, Halt> {
        let to = self.choices.protected;
        if to + 2 * HEADER + arguments > self.frames.stack.len() {
            self.grow(to + arguments - self.frames.base)?;
        }
        self.frames.stack.copy_within(place..place + HEADER + arguments, to);
        Ok(to)
    }

    /// Whether a value is an error. The word may be what a variable stands for.
    #[inline]
    pub(super) fn is_error(&self, value: Ref) -> bool {
        if value.is_expression() {
            let first = self.values.heap.children(value).first();
            return first.is_some_and(|&first| first == ERROR || first.is_variable() && self.stands_for_error(first));
        }
        value.tag() == TERM && !is_evaluated_term(value) && self.values.term_head(value) == Some(ERROR)
    }
}

impl Machine {
    #[cold]
    fn stands_for_error(&self, variable: Ref) -> bool {
        self.values.heap.walk(variable) == ERROR
    }

    #[inline]
    pub(super) fn put(&mut self, dst: Slot, value: Ref) -> Result<(), Halt> {
        self.set_slot(dst, value);
        Ok(())
    }

    #[inline]
    fn go_unless(&mut self, holds: bool, or: Pc) -> Result<(), Halt> {
        if !holds {
            self.frames.pc = or;
        }
        Ok(())
    }

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
            self.set_slot(dst, value);
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
                    self.m.go_unless(holds, or)
                }
                Instruction::SkipIfSmall { slots, to } => self.m.skip_if_small(slots, to),
                Instruction::ReturnLeaf { slot, is_number } => match self.m.leaf_result(slot, is_number) {
                    Some(value) => self.give(value),
                    None => Ok(()),
                },
                Instruction::MoveLeaf { slot, dst, is_number, to } => self.m.move_leaf((slot, is_number), dst, to),
                Instruction::GuardTypeEpoch { shapes, or } => self.m.go_unless(self.m.code.type_epoch == shapes, or),
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
                Instruction::Settled { slot, dst, or } => self.settled(slot, dst, or),
                Instruction::Query { query, space, return_point } => self.query(query, space, return_point),
                Instruction::Build { dst, template } => self.build(template).and_then(|value| self.m.put(dst, value)),
                Instruction::Load { dst, value } => self.m.put(dst, value),
                Instruction::Move { dst, src } => self.m.put(dst, self.m.slot(src)),
                Instruction::Jump { to } => self.m.go_unless(false, to),
                Instruction::GetState { slot, return_point } => self.get_state(self.m.read(slot), return_point),
                Instruction::ChangeState { slot, value, return_point } => {
                    self.change_state(self.m.read(slot), self.m.read(value), return_point)
                }
                // What follows is rarer, or does more than it costs to come here.
                Instruction::Answer => self.answer(),
                Instruction::Child { index } => self.next_child(index),
                Instruction::Escape => self.give(self.m.frames.acc),
                Instruction::ChildFailed => self.child_has_failed(),
                Instruction::Fail => self.fail(),
                Instruction::EnterRule { rule } => {
                    self.profile_rule(rule);
                    Ok(())
                }
                Instruction::Variable { dst, name } => {
                    self.m.values.variable(name).map_err(Halt::from).and_then(|variable| self.m.put(dst, variable))
                }
                Instruction::Take { dst } => self.m.put(dst, self.m.frames.acc),
                Instruction::Remember { slot } => self.m.put(slot, raw(self.m.choices.trail.len())),
                Instruction::Undo { slot } => {
                    let length = self.m.slot(slot).payload() as usize;
                    self.m.undo_to(length);
                    Ok(())
                }
                Instruction::TailEvaluate { slot, type_id, is_answer } => {
                    self.evaluate_last(self.m.slot(slot), type_id, is_answer)
                }
                Instruction::EvaluateWritten { template, type_id, return_point } => {
                    self.build(template).and_then(|value| self.evaluate_value(value, type_id, return_point))
                }
                Instruction::TailEvaluateWritten { template, type_id, is_answer } => {
                    self.build(template).and_then(|value| self.evaluate_last(value, type_id, is_answer))
                }
                Instruction::Begin { slot } => self.m.put(slot, Ref::from_bits(self.m.choices.stack.len() as u32)),
                Instruction::End { begun, value, return_point } => self.end(begun, self.m.read(value), return_point),
                Instruction::NoteUnbound { slot, dst } => self.note_unbound(slot, dst),
                Instruction::KeepUnbound { flag, slot, dst } => self.keep_unbound(flag, slot, dst),
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
                    self.build(template).and_then(|value| self.interpret_at(value, type_id, return_point))
                }
                Instruction::Logic { operation, left, right, return_point } => {
                    self.logic(operation, self.m.read(left), self.m.read(right), return_point)
                }
                Instruction::Apply { head, count, type_id, return_point, tail, same } => {
                    self.apply(head, count, (type_id, same), return_point, tail)
                }
                Instruction::Superpose { slot, return_point } => self.superpose(slot, return_point),
                Instruction::Alternative { return_point } => self.begin_alternative(return_point),
                Instruction::Transact { slot, return_point } => self.transact(slot, return_point),
                Instruction::Collect { slot, return_point, into } => self.collect(slot, return_point, into),
                Instruction::CollectSome { slot, most, wanted, return_point } => {
                    self.collect_some(slot, most, wanted, return_point)
                }
                Instruction::Collected { begun, slot } => self.collected(begun, slot),
                Instruction::Unreduced { function } => self.give_unreduced_by_rule(function),
                Instruction::Body { slot, type_id, function } => self.give_body(slot, type_id, function),
                Instruction::MarkNormalForm { slot } => self.mark_normal_form(slot),
                Instruction::NoteUnchangedCall { function, dst } => self.note_unchanged_call(function, dst),
                Instruction::GuardUnchanged { at, or } => self.guard_unchanged(at, or),
                Instruction::CheckReduct { slot, template, type_id, return_point } => {
                    self.check_reduct(slot, template, type_id, return_point)
                }
                Instruction::NameVariable { slot, index } => self.name_variable(slot, index),
                Instruction::FormVariable { dst, index } => self
                    .m
                    .values
                    .make_form_variable(index)
                    .map_err(Halt::from)
                    .and_then(|variable| self.m.put(dst, variable)),
                Instruction::GuardSame { left, right, or } => {
                    let (left, right) = (self.m.read(left), self.m.read(right));
                    let have = self.types().have_one_type(left, right);
                    self.m.go_unless(have, or)
                }
                Instruction::TailCallFacts { group, arguments } => self.tail_call_facts(group, arguments),
                Instruction::BuildHole { data } => self.build_hole(data),
                Instruction::BuildConsHole { first, return_point, or } => self.build_cons_hole(first, return_point, or),
                Instruction::AddAtom { space, value, return_point } => {
                    self.add_atom(self.m.read(space), self.m.read(value), return_point)
                }
                Instruction::QueryFused { query, space, return_point } => self.query_fused(query, space, return_point),
                Instruction::QuerySome { query, space, return_point } => self.query_some(query, space, return_point),
                Instruction::ReserveFrame { at, slots } => self.own(at, slots),
                Instruction::Leave { slot, type_id, call, function } => {
                    self.leave(slot, type_id, call, |running, call| running.leaves_unchanged(function, call))
                }
                Instruction::LeaveKnown { slot, type_id, call, came } => {
                    self.leave(slot, type_id, call, |running, _| Ok(running.m.slot(came) == TRUE))
                }
                Instruction::Reduct { slot } => {
                    let value = self.m.read(slot);
                    self.is_code(value, true).and_then(|is_code| match is_code {
                        true => self.interpret(value, Destination::Frame, Task::Minimal),
                        false => self.give(value),
                    })
                }
                Instruction::Reduce { slot, return_point } => self.reduce(slot, return_point),
                Instruction::ReduceNative { operation, first, count, return_point } => {
                    let arguments: Vec<Ref> = (first..first + count).map(|slot| self.m.slot(slot)).collect();
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
                Instruction::IfEqual { left, right, or } => self
                    .are_alike(self.m.read(left), self.m.read(right))
                    .and_then(|are_alike| self.m.go_unless(are_alike, or)),
                Instruction::IfError { slot, or } => {
                    let is_error = self.m.is_error(self.m.read(slot));
                    self.m.go_unless(is_error, or)
                }
                Instruction::TailInterpret { template, type_id } => {
                    self.build(template).and_then(|value| self.interpret_here(value, type_id))
                }
                Instruction::Cons { head, tail, dst, or } => self.cons(head, tail, dst, or),
                Instruction::Decons { slot, dst, or } => self.decons(slot, dst, or),
                Instruction::Head { slot, dst, or } => self.list(slot).map(|list| {
                    match list.and_then(|list| self.m.values.heap.children(list).first().copied()) {
                        Some(head) => self.m.set_slot(dst, head),
                        None => self.m.frames.pc = or,
                    }
                }),
                Instruction::Tail { slot, dst, or } => self.list_tail(slot, dst, or),
                Instruction::Size { slot, dst, or } => self.size(slot, dst, or),
                Instruction::Element { slot, index, dst, or } => self.element(slot, index, dst, or),
                Instruction::Next { list, index, dst, or } => self.next(list, index, dst, or),
                Instruction::Substitute { template, variables, values, count, dst, renames } => {
                    self.substitute_slots(template, (variables, values, count), dst, renames)
                }
                Instruction::Gathered { slot, dst } => self.gathered(slot, dst),
                Instruction::LeaveList { slot } => self.leave_list(slot),
            };
            if let Err(halt) = done
                && let Err(halt) = self.gather_if_asked(halt)
            {
                return halt;
            }
        }
    }

    #[inline]
    pub(super) fn call(&mut self, function: u32, return_point: u32, begun: bool) -> Result<(), Halt> {
        let at = self.m.return_point(return_point).at;
        let place = self.m.frames.base + HEADER + usize::from(at);
        self.m.write_header(place, return_point);
        if !begun {
            self.m.frames.stack[place + 2] = self.m.choices.stack.len() as u32;
        }
        self.m.frames.base = if place >= self.m.choices.protected {
            place
        } else {
            let arguments = usize::from(self.m.code.functions[function as usize].arguments);
            self.m.frame_at(at, arguments)?
        };
        self.enter(function)
    }

    /// Writes the arguments of a list to the stack from a place on, above all that they are read from; `None` if one needs
    /// to be evaluated, and the code goes on elsewhere.
    #[inline(always)]
    fn write_arguments(&mut self, arguments: u32, to: usize) -> Option<usize> {
        let Arguments { sources, or, .. } = &self.m.code.arguments[arguments as usize];
        for (place, source) in (to..).zip(sources) {
            let value = match *source {
                ArgumentSource::Leaf(leaf) => leaf,
                ArgumentSource::Slot(slot) => self.m.slot(slot),
                ArgumentSource::Normal(slot) => match self.normal(self.m.read(slot), 0) {
                    None | Some(EMPTY) => {
                        self.m.frames.pc = *or;
                        return None;
                    }
                    Some(value) => value,
                },
            };
            self.m.frames.stack[place] = value.bits();
        }
        Some(sources.len())
    }

    #[inline]
    fn call_with(&mut self, function: u32, arguments: u32, return_point: u32) -> Result<(), Halt> {
        let base = self.m.frames.base;
        let at = self.m.return_point(return_point).at;
        let place = (base + HEADER + usize::from(at)).max(self.m.choices.protected);
        if place + HEADER + SOURCES_MAX > self.m.frames.stack.len() {
            self.m.ensure(place - base + SOURCES_MAX)?;
        }
        if self.write_arguments(arguments, place + HEADER).is_none() {
            return Ok(());
        }
        let level = self.m.choices.stack.len() as u32;
        self.m.frames.stack[place..place + HEADER].copy_from_slice(&[return_point, base as u32, level, 0]);
        self.m.frames.base = place;
        self.enter(function)
    }

    /// A call in place of the frame at hand.
    #[inline(always)]
    pub(super) fn tail_call_with(&mut self, function: u32, arguments: u32) -> Result<(), Halt> {
        if self.lay_over(arguments)? { self.enter(function) } else { Ok(()) }
    }

    /// Puts arguments in place of the frame at hand. They are laid out above it first if one is read from where another
    /// goes. `false` if one needs to be evaluated.
    #[inline(always)]
    pub(super) fn lay_over(&mut self, arguments: u32) -> Result<bool, Halt> {
        let base = self.m.frames.base;
        let Arguments { above, is_direct, .. } = self.m.code.arguments[arguments as usize];
        let has_room = base + HEADER + SOURCES_MAX <= self.m.frames.stack.len();
        if is_direct && has_room && base >= self.m.choices.protected {
            return Ok(self.write_arguments(arguments, base + HEADER).is_some());
        }
        let from = (base + HEADER + usize::from(above)).max(self.m.choices.protected);
        if from + SOURCES_MAX > self.m.frames.stack.len() {
            self.m.ensure(from - base + SOURCES_MAX)?;
        }
        let Some(count) = self.write_arguments(arguments, from) else { return Ok(false) };
        self.move_over(from, count)?;
        Ok(true)
    }

    #[inline]
    pub(super) fn tail_call(&mut self, function: u32, at: Slot) -> Result<(), Halt> {
        let count = usize::from(self.m.code.functions[function as usize].arguments);
        let from = self.m.frames.base + HEADER + usize::from(at) + HEADER;
        self.tail_with(function, from, count)
    }

    /// Calls a function in place of this frame on arguments that lie somewhere above it.
    pub(super) fn tail_with(&mut self, function: u32, from: usize, count: usize) -> Result<(), Halt> {
        self.move_over(from, count)?;
        self.enter(function)
    }

    /// Moves arguments to the beginning of the frame at hand, which moves up itself if a choice needs what is there.
    fn move_over(&mut self, from: usize, count: usize) -> Result<(), Halt> {
        let base = self.m.frames.base;
        if base >= self.m.choices.protected {
            self.m.frames.stack.copy_within(from..from + count, base + HEADER);
            return Ok(());
        }
        let to = self.m.choices.protected.max(from);
        if to + 2 * HEADER + count > self.m.frames.stack.len() {
            self.m.ensure(to - base + count)?;
        }
        self.m.frames.stack.copy_within(from..from + count, to + HEADER);
        self.m.frames.stack.copy_within(base..base + HEADER, to);
        self.m.frames.base = to;
        Ok(())
    }

    /// Counts a call whose frame is made; limits are looked at from time to time.
    #[inline(always)]
    pub(super) fn count_call(&mut self, function: u32) -> Result<(), Halt> {
        self.m.counters.calls += 1;
        self.m.counters.fuel -= 1;
        if self.m.counters.fuel == 0 { self.look(function) } else { Ok(()) }
    }

    /// Goes on with the code of a function, its frame made.
    #[inline(always)]
    pub(super) fn enter(&mut self, function: u32) -> Result<(), Halt> {
        self.count_call(function)?;
        self.enter_counted(function)
    }

    /// Goes on with the code of a function, its frame made and its call counted already.
    #[inline(always)]
    pub(super) fn enter_counted(&mut self, function: u32) -> Result<(), Halt> {
        let mut found = self.m.code.functions[function as usize];
        if found.version != self.m.code.version {
            self.compile(function)?;
            found = self.m.code.functions[function as usize];
        }
        self.m.ensure(found.slots)?;
        match found.kind {
            Kind::Exclusive(exclusive) => self.enter_exclusive(exclusive),
            Kind::Rule(pc) => {
                self.m.frames.pc = pc;
                Ok(())
            }
            kind => self.enter_other(function, kind),
        }
    }

    /// Goes on with the code of a function where several rules may match, or none has to.
    #[inline(never)]
    fn enter_other(&mut self, function: u32, kind: Kind) -> Result<(), Halt> {
        match kind {
            Kind::Group(group) => self.enter_group(group),
            Kind::Constructor => self.give_unreduced(function, self.m.frames.pc),
            Kind::Tabled(policy) => self.enter_tabled(function, policy),
            Kind::Guarded(guarded) => self.enter_guarded(function, guarded),
            Kind::Indexed(index) => self.enter_indexed(function, index),
            Kind::Stale | Kind::Interpreted => self.interpret_call(function, self.m.frames.pc),
            Kind::Rule(_) | Kind::Exclusive(_) => unreachable!("these are entered in place"),
        }
    }

    /// The result of the frame at hand.
    #[inline]
    pub(super) fn give(&mut self, value: Ref) -> Result<(), Halt> {
        if value == EMPTY {
            return self.give_empty();
        }
        if self.m.frames.stack[self.m.frames.base + HOLE] != 0 {
            return self.fill_holes(value);
        }
        self.give_whole(value)
    }

    /// The result of the frame at hand, put into what it goes into.
    #[inline]
    pub(super) fn give_whole(&mut self, value: Ref) -> Result<(), Halt> {
        let base = self.m.frames.base;
        let (return_point, caller, level) =
            (self.m.frames.stack[base], self.m.frames.stack[base + 1], self.m.frames.stack[base + 2]);
        if self.m.choices.stack.len() as u32 == level {
            self.m.frames.base = caller as usize;
            return self.resume(return_point, value);
        }
        self.gather(value, level, return_point, caller)
    }

    /// Goes on at a return point of the frame at hand with a result.
    #[inline(always)]
    pub(super) fn resume(&mut self, return_point: u32, value: Ref) -> Result<(), Halt> {
        let ReturnPoint { pc, dst, error, .. } = self.m.code.return_points[return_point as usize];
        // What is marked as evaluated is no error.
        if matches!(value.tag(), tag::EXPRESSION | TERM) && self.m.is_error(value) {
            self.must_gather()?;
            self.m.frames.acc = value;
            self.m.frames.pc = error;
            return Ok(());
        }
        self.m.set_slot(dst, value);
        self.m.frames.pc = pc;
        Ok(())
    }

    /// The end of an expression that shares its frame with the one around it.
    fn end(&mut self, begun: Slot, value: Ref, return_point: u32) -> Result<(), Halt> {
        if value == EMPTY {
            return self.fail();
        }
        let level = self.m.slot(begun).bits();
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
            self.m.set_slot(dst, value);
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
            Guard::Open => self.types().is_open(value),
            Guard::Head(arity) => self.types().makes_a_tuple(value, usize::from(arity)),
            Guard::OpenHead(arity) => self.types().makes_open(value, usize::from(arity)),
            Guard::State(type_id) => self.m.types.is_state_of(&self.m.values, value, type_id),
            Guard::Space => self.m.values.space_of(value).is_some(),
            Guard::Plain => {
                !(value.is_expression() || value.tag() == TERM)
                    || self.types().has_no_type_error(value)
                    || self.is_normal_numbers(value)
            }
            Guard::Type(type_id) => {
                self.m.types.is_told(&self.m.values, value, type_id) || self.types().has_type(value, type_id, false)
            }
            Guard::TypeInside(type_id) => self.types().has_type(value, type_id, true),
            Guard::Ground => self.m.is_ground(value),
            Guard::Reducible => value != NOT_REDUCIBLE && !self.m.is_error(value),
            Guard::Answer => value != NOT_REDUCIBLE && !self.m.is_error(value) && !self.m.values.is_function(value),
            Guard::Unbound => value.tag() == tag::VARIABLE,
            Guard::Count => self.m.count_of(value).is_some(),
        }
    }

    /// Moves what a slot holds, if it is its own result.
    #[inline]
    fn settled(&mut self, slot: Slot, dst: Slot, or: Pc) -> Result<(), Halt> {
        let value = self.m.read(slot);
        let found = match self.normal(value, 0) {
            None => self.settled_value(value, 0)?,
            found => found.filter(|&found| found != EMPTY),
        };
        match found {
            Some(value) => self.m.set_slot(dst, value),
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
        match self.normal(value, type_id) {
            Some(EMPTY) if position != Position::Argument => self.fail(),
            Some(value) => {
                self.m.set_slot(dst, value);
                Ok(())
            }
            None if position == Position::Argument && self.is_passed_on(value, type_id) => {
                self.m.set_slot(dst, value);
                Ok(())
            }
            None if position == Position::Answer && self.m.is_error(self.m.values.heap.walk(value)) => {
                let error = self.resolve(value)?;
                self.resume(return_point, error)
            }
            None if value.tag() == SYMBOL && self.types().has_type(value, type_id, false) => {
                self.m.set_slot(dst, value);
                Ok(())
            }
            None => match self.settled_value(value, type_id)? {
                Some(value) => {
                    self.m.set_slot(dst, value);
                    Ok(())
                }
                None => self.evaluate_value(value, type_id, return_point),
            },
        }
    }

    /// What a value evaluates to, if that is plain to see.
    #[inline(always)]
    pub(super) fn normal(&self, value: Ref, type_id: TypeId) -> Option<Ref> {
        self.m.types.own_result(&self.m.values, value, type_id)
    }
}

#[inline]
pub(super) fn compare_words(comparison: Comparison, left: i64, right: i64) -> bool {
    match comparison {
        Comparison::Less => left < right,
        Comparison::Greater => left > right,
        Comparison::LessOrEqual => left <= right,
        Comparison::GreaterOrEqual => left >= right,
        Comparison::Equal => left == right,
    }
}
