//! Whether a call that nothing reduces is what was to be evaluated: then it counts as evaluated for good.
//!
//! 1. An expression that comes to itself, child by child, is marked as evaluated, as in the interpreter: rules that are
//!    added later do not reduce it. One that has come out of another expression is not.
//! 2. That is known where the call is made (`Code::origins`), so the place after the call is kept while its rules are
//!    tried. What is evaluated without code compares its children with what they were.
//! 3. What holds variables cannot be marked: it is noted, and counts as evaluated until one of them is bound. What a call
//!    itself has bound before it was said to stand for itself is put in first.
//! 4. The body of a rule may be a variable that stands for `NotReducible` or a `function`.

use super::code::{
    ArgumentOrigin, CHANGED, Group, HEADER, Instruction, Kind, NO_FUNCTION, Origin, Pc, REDUCE, Slot, Template, TypeId,
    UNCHANGED,
};
use super::evaluate::CHILDREN;
use super::values::Values;
use super::words::{EMPTY, EVALUATED_OPEN, FALSE, FOREIGN, NOT_REDUCIBLE, TERM, TRUE, plain};
use super::{Halt, Machine, Running};
use crate::interpreter::Task;
use crate::machine::choices::Destination;
use region::{Ref, tag};
use space::{Met, SharedTerms};

/// How many values are looked at to find out whether a value is ground, or what it was, where rules do not change.
const LOOKED_AT_MAX: usize = 48;

/// How many pairs are remembered that were found to be the same.
const REMEMBERED: usize = 64;

/// Evaluated expressions that were found to be the same as interned ones. What is nested deep comes to itself level by level, and
/// each level is compared with what it was: what lies inside it was compared just before.
///
/// What is marked is ground and never written again, so this holds until the heap gives memory back.
pub(super) struct SameTerms {
    pairs: [(Ref, Ref); REMEMBERED],
    /// Whether nothing of that holds any more.
    is_over: bool,
}

impl SameTerms {
    pub(super) fn new() -> Self {
        Self { pairs: [(EMPTY, EMPTY); REMEMBERED], is_over: false }
    }

    fn holds(&self, left: Ref, right: Ref) -> bool {
        !self.is_over && self.pairs[Self::place(left)] == (left, plain(right))
    }

    fn note(&mut self, left: Ref, right: Ref) {
        if left.tag() != tag::MARKED || right.tag() != TERM {
            return;
        }
        if self.is_over {
            *self = Self::new();
        }
        self.pairs[Self::place(left)] = (left, plain(right));
    }

    /// To be called when memory of the heap is given back: something else may lie there soon.
    #[inline]
    pub(super) fn forget(&mut self) {
        self.is_over = true;
    }

    /// Expressions take a cell at least.
    fn place(left: Ref) -> usize {
        left.payload() as usize % REMEMBERED
    }
}

impl Running<'_> {
    /// Whether the children of the tuple at hand came to themselves, as a place that a call is made from.
    pub(super) fn how_children_came(&mut self, length: usize) -> Result<Pc, Halt> {
        let mut budget = self.m.looked_at_max();
        for index in 0..length {
            let (result, child) = (self.m.read(CHILDREN + index as Slot), self.original_child(index));
            if !self.are_same(result, child, &mut budget)? {
                return Ok(CHANGED);
            }
        }
        Ok(UNCHANGED)
    }

    /// Whether two values are equal, variables being equal to themselves only; `false` where `budget` children are not enough
    /// to tell.
    pub(super) fn are_same(&mut self, left: Ref, right: Ref, budget: &mut usize) -> Result<bool, Halt> {
        let values = &mut self.m.values;
        let (left, right) = (values.heap.walk(left), values.heap.walk(right));
        if let Some(are_same) = values.are_plainly_same(left, right) {
            return Ok(are_same);
        }
        let terms = SharedTerms::clone(&values.terms);
        let terms = terms.read().expect("no panic while terms are locked");
        let whole = (left, right);
        let (mut pairs, mut met) = (vec![whole], Met::of_fast_walk());
        while let Some((left, right)) = pairs.pop() {
            let (left, right) = (values.heap.walk(left), values.heap.walk(right));
            match values.are_plainly_same(left, right) {
                Some(true) => continue,
                Some(false) => return Ok(false),
                None if self.m.rooms.found_same.holds(left, right) || !met.is_new((left, right)) => continue,
                None => {}
            }
            self.m.counters.compared += 1;
            let length = values.width(left, &terms);
            if length != values.width(right, &terms) || length > *budget {
                return Ok(false);
            }
            *budget -= length;
            for index in 0..length {
                pairs.push((values.part(left, index, &terms)?, values.part(right, index, &terms)?));
            }
        }
        self.m.rooms.found_same.note(whole.0, whole.1);
        Ok(true)
    }

    /// Whether a call that was made before a place has the arguments that were written there.
    pub(super) fn is_call_unchanged(&mut self, call: Ref, from: Pc) -> Result<bool, Halt> {
        match self.m.code.origin(from) {
            Origin::Unchanged => return Ok(!self.m.values.is_changed(call)),
            Origin::Changed => return Ok(false),
            Origin::Uncertain => {}
        }
        let Some(ArgumentOrigin { index, head, template }) = self.m.code.maybes.get(&from).copied() else {
            return Ok(false);
        };
        let argument = self.m.values.heap.walk(self.m.values.heap.child(call, index + 1));
        if !self.m.may_begin_with(argument, head) {
            return Ok(false);
        }
        let callee = self.m.frames.base;
        self.m.frames.base = self.m.frames.stack[callee + 1] as usize;
        let written = self.build(template);
        self.m.frames.base = callee;
        self.are_same(call, written?, &mut self.m.looked_at_max())
    }

    /// Marks data as evaluated if it is what is written.
    pub(super) fn mark_normal_form(&mut self, slot: Slot) -> Result<(), Halt> {
        let value = self.m.read(slot);
        if !value.is_expression() || value.tag() == tag::MARKED {
            return Ok(());
        }
        let children = self.m.values.heap.children(value);
        let argument = self.written_here().and_then(|written| children.get(written.index + 1)).copied();
        if self.may_be_written(argument)
            && let Some(ArgumentOrigin { template, .. }) = self.written_here()
        {
            let written = self.build(template)?;
            if self.are_same(value, written, &mut self.m.looked_at_max())? {
                let marked = self.m.evaluated(value);
                self.m.set_slot(slot, marked);
            }
        }
        Ok(())
    }

    /// Notes whether the call whose rule has matched came to itself.
    pub(super) fn note_unchanged_call(&mut self, function: u32, dst: Slot) -> Result<(), Halt> {
        let call = self.call_of(function)?;
        let came = self.is_call_unchanged(call, self.called_from(function))?;
        self.m.set_slot(dst, if came { TRUE } else { FALSE });
        Ok(())
    }

    /// Goes elsewhere unless the arguments of a call are what is written.
    pub(super) fn guard_unchanged(&mut self, at: Slot, or: Pc) -> Result<(), Halt> {
        let Some(ArgumentOrigin { index, template, .. }) = self.written_here() else { unreachable!("it was noted") };
        let argument = |m: &Machine, index: usize| m.read(at + (HEADER + index) as Slot);
        let mut is_same = self.may_be_written(Some(argument(&self.m, index)));
        if is_same {
            let written = self.build(template)?;
            for place in 1..self.m.values.heap.length(written) {
                let (value, child) = (argument(&self.m, place - 1), self.m.values.heap.child(written, place));
                is_same = is_same && self.are_same(value, child, &mut self.m.looked_at_max())?;
            }
        }
        if !is_same {
            self.m.frames.pc = or;
        }
        Ok(())
    }

    /// What was noted of what the instruction at hand looks at.
    fn written_here(&self) -> Option<ArgumentOrigin> {
        self.m.code.maybes.get(&self.m.frames.pc).copied()
    }

    /// Whether the first argument that is a call may have come to itself.
    fn may_be_written(&self, argument: Option<Ref>) -> bool {
        let Some((argument, ArgumentOrigin { head, .. })) = argument.zip(self.written_here()) else { return false };
        self.m.may_begin_with(self.m.values.heap.walk(argument), head)
    }

    /// Whether a function is left whose call has the arguments that were written.
    pub(super) fn leaves_unchanged(&mut self, function: u32, call: Ref) -> Result<bool, Halt> {
        if function == NO_FUNCTION {
            return Ok(true);
        }
        let returns_to = self.m.frames.stack[self.m.frames.base];
        let place = self.m.return_point(returns_to).pc;
        let called = (place as usize).checked_sub(1).map(|before| self.m.code.instructions[before]);
        match called {
            Some(
                Instruction::Call { function: called, return_point, .. }
                | Instruction::CallWith { function: called, return_point, .. },
            ) if called == function && return_point == returns_to => self.is_call_unchanged(call, place),
            _ => Ok(false),
        }
    }

    /// The call of a function stands for itself because a rule says so.
    pub(super) fn give_unreduced_by_rule(&mut self, function: u32) -> Result<(), Halt> {
        if self.m.code.functions[function as usize].type_id == REDUCE {
            return self.give(NOT_REDUCIBLE);
        }
        let call = self.call_of(function)?;
        let call = self.resolve(call)?;
        // Where there are other rules, it comes to what they say as well if it is evaluated again.
        let is_only = match self.m.code.functions[function as usize].kind {
            Kind::Rule(_) => true,
            _ => self.group_tried(function).is_some_and(|group| group.rules.len() == 1 && !group.has_others),
        };
        if is_only {
            self.types().note_made(call);
        }
        self.give_as_called(call, self.called_from(function))
    }

    /// The group whose rules are being tried, if they are those of a function.
    fn group_tried(&self, function: u32) -> Option<&Group> {
        self.m.code.groups.get(self.m.choices.trying.group as usize).filter(|group| group.function == function)
    }

    /// The place behind which a function was called whose rule has matched.
    fn called_from(&self, function: u32) -> Pc {
        if self.group_tried(function).is_some() { self.m.choices.trying.from } else { CHANGED }
    }

    /// A call that stands for itself because something has answered so: with what that has bound it counts as evaluated.
    pub(super) fn standing(&mut self, call: Ref) -> Result<Ref, Halt> {
        let call = self.resolve(call)?;
        Ok(self.m.evaluated(call))
    }

    /// What a rule says whose body is a variable.
    pub(super) fn give_body(&mut self, slot: Slot, type_id: TypeId, function: u32) -> Result<(), Halt> {
        let value = self.m.read(slot);
        if value == NOT_REDUCIBLE {
            return self.give_unreduced_by_rule(function);
        }
        if self.is_code(value, true)? {
            let call = self.call_of(function)?;
            let is_same = self.is_call_unchanged(call, self.called_from(function))?;
            return self.enter_code(call, value, (type_id, is_same), Destination::Frame);
        }
        match self.normal(value, type_id) {
            Some(normal) => self.give(normal),
            None if self.m.is_error(value) => self.give(value),
            None if type_id == self.m.types.atom_type => self.give(value),
            None => self.evaluate_here(value, type_id),
        }
    }

    /// An answer of a form that is `NotReducible`, code, or an error.
    pub(super) fn check_reduct(
        &mut self,
        slot: Slot,
        call: Option<Template>,
        type_id: TypeId,
        return_point: u32,
    ) -> Result<(), Halt> {
        let value = self.m.read(slot);
        if self.m.is_error(value) {
            return self.resume(return_point, value.unmarked());
        }
        let Some(call) = call else { return self.fail() };
        let call = self.build(call.get())?;
        if value == NOT_REDUCIBLE {
            let call = self.standing(call)?;
            return self.resume(return_point, call);
        }
        self.enter_code(call, value, (type_id, true), Destination::ReturnPoint(return_point))
    }

    /// Lets a call enter the code that it was reduced to; with its type, and whether it is what was to be evaluated.
    fn enter_code(
        &mut self,
        call: Ref,
        code: Ref,
        (type_id, is_same): (TypeId, bool),
        to: Destination,
    ) -> Result<(), Halt> {
        let both = self.m.values.heap.expression(&mut self.m.values.region, &[call, code])?;
        let type_atom = self.types().type_atom(type_id);
        self.interpret(both, to, |both| {
            let both = both.children().expect("it is a pair");
            Task::Code { call: both[0].clone(), code: both[1].clone(), type_atom, changed: !is_same }
        })
    }

    /// An unbound variable that a rule has made becomes one of the form.
    pub(super) fn name_variable(&mut self, slot: Slot, index: u32) -> Result<(), Halt> {
        let value = self.m.read(slot);
        if value.tag() == tag::VARIABLE && !self.m.values.is_written(value) {
            let named = self.m.values.make_form_variable(index)?;
            self.m.bind(value, named);
        }
        Ok(())
    }
}

impl Values {
    /// Whether two values are equal, unless both are expressions that have to be looked into.
    fn are_plainly_same(&self, left: Ref, right: Ref) -> Option<bool> {
        if plain(left) == plain(right) {
            return Some(true);
        }
        let compound = |side: Ref| side.is_expression() || side.tag() == TERM;
        match (compound(left), compound(right)) {
            (true, true) => None,
            (false, false) => Some(self.equal_leaves(left, right)),
            _ => Some(false),
        }
    }
}

impl Machine {
    /// Whether a value may be a call with this head.
    fn may_begin_with(&self, value: Ref, head: Option<Ref>) -> bool {
        let Some(head) = head else { return true };
        let first = if value.is_expression() { self.values.heap.children(value).first() } else { None };
        first.is_some_and(|&first| first == head || first.tag() == FOREIGN && head.tag() == FOREIGN)
    }

    /// How many values are looked at.
    fn looked_at_max(&self) -> usize {
        if self.code.is_exact { usize::MAX } else { LOOKED_AT_MAX }
    }

    /// An expression that came to itself: marked, or noted if it holds variables.
    pub(super) fn evaluated(&mut self, call: Ref) -> Ref {
        if self.types.notes.hold(self.values.heap.note(call)) {
            return call.marked();
        }
        match self.is_ground_or_open(call) {
            Some(true) => call.marked(),
            Some(false) => {
                self.values.heap.set_note(call, EVALUATED_OPEN);
                call
            }
            None => call,
        }
    }

    /// Whether an expression is ground; `None` if it holds bound variables or is large.
    fn is_ground_or_open(&self, call: Ref) -> Option<bool> {
        let (mut work, mut budget, mut is_ground) = (vec![call], self.looked_at_max(), true);
        while let Some(expression) = work.pop() {
            for &child in self.values.heap.children(expression) {
                match child.tag() {
                    tag::VARIABLE if self.values.heap.binding(child).is_some() => return None,
                    tag::VARIABLE => is_ground = false,
                    tag::EXPRESSION if !self.types.notes.hold(self.values.heap.note(child)) => {
                        match self.values.open_data.of(child) {
                            Some(has_variables) => is_ground &= !has_variables,
                            None => work.push(child),
                        }
                    }
                    _ => {}
                }
                budget = budget.checked_sub(1)?;
            }
        }
        self.values.open_data.note(call, !is_ground);
        Some(is_ground)
    }
}
