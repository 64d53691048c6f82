//! Whether a call that nothing reduces is what was to be evaluated: then it counts as evaluated for good.
//!
//! 1. An expression that comes to itself, child by child, is marked as evaluated, as in the interpreter: rules that are
//!    added later do not reduce it. One that has come out of another expression is not.
//! 2. That is known where the call is made (`Code::origins`), so the place after the call is kept while its rules are
//!    tried. What is evaluated without code compares its children with what they were.
//! 3. What holds variables cannot be marked: it is noted, and counts as evaluated until one of them is bound. What a call
//!    itself has bound before it was said to stand for itself is put in first.
//! 4. The body of a rule may be a variable that stands for `NotReducible` or a `function` (`reducts.rs`).

use super::Halt;
use super::code::{
    ArgumentOrigin, CHANGED, Code, Group, HEADER, Instruction, NO_FUNCTION, Origin, Pc, Slot, UNCHANGED,
};
use super::control::choices::Trying;
use super::control::frames::Frames;
use super::notes::Notes;
use super::tuple_frame::{CHILDREN, EXPRESSION};
use super::values::Values;
use super::words::{FALSE, FOREIGN, TERM, TRUE, plain};
use region::{Full, Ref, tag};
use space::{Met, SharedTerms};

/// What is looked at to find out whether a call came to itself.
pub(super) struct UnchangedCalls<'a> {
    pub(super) code: &'a Code,
    pub(super) frames: &'a mut Frames,
    pub(super) values: &'a mut Values,
    pub(super) trying: &'a Trying,
    pub(super) notes: Notes,
    pub(super) scratch: &'a mut Vec<Ref>,
    /// How many parts were compared.
    pub(super) compared: &'a mut u64,
}

impl UnchangedCalls<'_> {
    /// What a slot holds, bindings followed.
    #[inline]
    fn read(&self, slot: Slot) -> Ref {
        let value = self.frames.slot(slot);
        if value.tag() == tag::VARIABLE { self.values.heap.walk(value) } else { value }
    }

    /// A child of the expression at hand, as it is written.
    fn original_child(&self, index: usize) -> Ref {
        let expression = self.frames.slot(EXPRESSION);
        self.values.heap.walk(self.values.heap.child(expression, index))
    }

    /// Whether two values are equal; `false` where `budget` children are not enough to tell.
    fn are_same(&mut self, left: Ref, right: Ref, budget: &mut usize) -> Result<bool, Full> {
        are_same(self.values, self.compared, (left, right), budget)
    }

    /// Whether the children of the tuple at hand came to themselves, as a place that a call is made from.
    pub(super) fn how_children_came(&mut self, length: usize) -> Result<Pc, Halt> {
        let mut budget = self.code.looked_at_max();
        for index in 0..length {
            let (result, child) = (self.read(CHILDREN + index as Slot), self.original_child(index));
            if !self.are_same(result, child, &mut budget)? {
                return Ok(CHANGED);
            }
        }
        Ok(UNCHANGED)
    }

    /// Whether a call that was made before a place has the arguments that were written there.
    pub(super) fn is_call_unchanged(&mut self, call: Ref, from: Pc) -> Result<bool, Halt> {
        match self.code.origin(from) {
            Origin::Unchanged => return Ok(!self.values.is_changed(call)),
            Origin::Changed => return Ok(false),
            Origin::Uncertain => {}
        }
        let Some(ArgumentOrigin { index, head, template }) = self.code.maybes.get(&from).copied() else {
            return Ok(false);
        };
        let argument = self.values.heap.walk(self.values.heap.child(call, index + 1));
        if !may_begin_with(self.values, argument, head) {
            return Ok(false);
        }
        let callee = self.frames.base;
        self.frames.base = self.frames.stack[callee + 1] as usize;
        let written = self.code.build(self.frames, self.values, self.scratch, template);
        self.frames.base = callee;
        Ok(self.are_same(call, written?, &mut self.code.looked_at_max())?)
    }

    /// Marks data as evaluated if it is what is written.
    pub(super) fn mark_normal_form(&mut self, slot: Slot) -> Result<(), Halt> {
        let value = self.read(slot);
        if !value.is_expression() || value.tag() == tag::MARKED {
            return Ok(());
        }
        let children = self.values.heap.children(value);
        let argument = self.written_here().and_then(|written| children.get(written.index + 1)).copied();
        if self.may_be_written(argument)
            && let Some(ArgumentOrigin { template, .. }) = self.written_here()
        {
            let written = self.code.build(self.frames, self.values, self.scratch, template)?;
            if self.are_same(value, written, &mut self.code.looked_at_max())? {
                let marked = self.values.evaluated(value, self.notes, self.code.looked_at_max());
                self.frames.set_slot(slot, marked);
            }
        }
        Ok(())
    }

    /// Notes whether the call whose rule has matched came to itself.
    pub(super) fn note_unchanged_call(&mut self, function: u32, dst: Slot) -> Result<(), Halt> {
        let call = call_of(self.code, self.frames, self.values, function)?;
        let came = self.is_call_unchanged(call, self.called_from(function))?;
        self.frames.set_slot(dst, if came { TRUE } else { FALSE });
        Ok(())
    }

    /// Goes elsewhere unless the arguments of a call are what is written.
    pub(super) fn guard_unchanged(&mut self, at: Slot, or: Pc) -> Result<(), Halt> {
        let Some(ArgumentOrigin { index, template, .. }) = self.written_here() else { unreachable!("it was noted") };
        let argument = |calls: &Self, index: usize| calls.read(at + (HEADER + index) as Slot);
        let mut is_same = self.may_be_written(Some(argument(self, index)));
        if is_same {
            let written = self.code.build(self.frames, self.values, self.scratch, template)?;
            for place in 1..self.values.heap.length(written) {
                let (value, child) = (argument(self, place - 1), self.values.heap.child(written, place));
                is_same = is_same && self.are_same(value, child, &mut self.code.looked_at_max())?;
            }
        }
        if !is_same {
            self.frames.pc = or;
        }
        Ok(())
    }

    /// What was noted of what the instruction at hand looks at.
    fn written_here(&self) -> Option<ArgumentOrigin> {
        self.code.maybes.get(&self.frames.pc).copied()
    }

    /// Whether the first argument that is a call may have come to itself.
    fn may_be_written(&self, argument: Option<Ref>) -> bool {
        let Some((argument, ArgumentOrigin { head, .. })) = argument.zip(self.written_here()) else { return false };
        may_begin_with(self.values, self.values.heap.walk(argument), head)
    }

    /// Whether a function is left whose call has the arguments that were written.
    pub(super) fn leaves_unchanged(&mut self, function: u32, call: Ref) -> Result<bool, Halt> {
        if function == NO_FUNCTION {
            return Ok(true);
        }
        let returns_to = self.frames.stack[self.frames.base];
        let place = self.code.return_point(returns_to).pc;
        let called = (place as usize).checked_sub(1).map(|before| self.code.instructions[before]);
        match called {
            Some(
                Instruction::Call { function: called, return_point, .. }
                | Instruction::CallWith { function: called, return_point, .. },
            ) if called == function && return_point == returns_to => self.is_call_unchanged(call, place),
            _ => Ok(false),
        }
    }

    /// The group whose rules are being tried, if they are those of a function.
    pub(super) fn group_tried(&self, function: u32) -> Option<&Group> {
        self.code.groups.get(self.trying.group as usize).filter(|group| group.function == function)
    }

    /// The place behind which a function was called whose rule has matched.
    pub(super) fn called_from(&self, function: u32) -> Pc {
        if self.group_tried(function).is_some() { self.trying.from } else { CHANGED }
    }
}

/// Whether a value may be a call with this head.
pub(super) fn may_begin_with(values: &Values, value: Ref, head: Option<Ref>) -> bool {
    let Some(head) = head else { return true };
    let first = if value.is_expression() { values.heap.children(value).first() } else { None };
    first.is_some_and(|&first| first == head || first.tag() == FOREIGN && head.tag() == FOREIGN)
}

/// The call of a function on the arguments of the frame at hand.
pub(super) fn call_of(code: &Code, frames: &Frames, values: &mut Values, function: u32) -> Result<Ref, Full> {
    let (head, count) = {
        let found = &code.functions[function as usize];
        (found.head, found.arguments)
    };
    let mut children = Vec::with_capacity(usize::from(count) + 1);
    children.push(head);
    children.extend((0..count).map(|slot| values.heap.walk(frames.slot(slot))));
    values.heap.expression(&mut values.region, &children)
}

/// Whether two values are equal, variables being equal to themselves only; `false` where `budget` children are not enough
/// to tell.
pub(super) fn are_same(
    values: &mut Values,
    compared: &mut u64,
    (left, right): (Ref, Ref),
    budget: &mut usize,
) -> Result<bool, Full> {
    let (left, right) = (values.heap.walk(left), values.heap.walk(right));
    if let Some(are_same) = are_plainly_same(values, left, right) {
        return Ok(are_same);
    }
    let terms = SharedTerms::clone(&values.terms);
    let terms = terms.read().expect("no panic while terms are locked");
    let whole = (left, right);
    let (mut pairs, mut met) = (vec![whole], Met::of_fast_walk());
    while let Some((left, right)) = pairs.pop() {
        let (left, right) = (values.heap.walk(left), values.heap.walk(right));
        match are_plainly_same(values, left, right) {
            Some(true) => continue,
            Some(false) => return Ok(false),
            None if values.found_same.holds(left, right) || !met.is_new((left, right)) => continue,
            None => {}
        }
        *compared += 1;
        let length = values.width(left, &terms);
        if length != values.width(right, &terms) || length > *budget {
            return Ok(false);
        }
        *budget -= length;
        for index in 0..length {
            pairs.push((values.part(left, index, &terms)?, values.part(right, index, &terms)?));
        }
    }
    values.found_same.note(whole.0, whole.1);
    Ok(true)
}

/// Whether two values are equal, unless both are expressions that have to be looked into.
fn are_plainly_same(values: &Values, left: Ref, right: Ref) -> Option<bool> {
    if plain(left) == plain(right) {
        return Some(true);
    }
    let compound = |side: Ref| side.is_expression() || side.tag() == TERM;
    match (compound(left), compound(right)) {
        (true, true) => None,
        (false, false) => Some(values.equal_leaves(left, right)),
        _ => Some(false),
    }
}
