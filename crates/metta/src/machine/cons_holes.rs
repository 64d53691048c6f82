//! Lists around a call in last place: `(let $rest (map $others) (cons-atom $first $rest))`.
//!
//! 1. The call takes the place of the frame at hand, as it does inside of data (`trmc.rs`). Around what it comes to stands
//!    `(cons-atom $first …)`, a hole like any other.
//! 2. What the frame comes to, if it is a list, gets the elements of all such holes that follow each other in one go: a list of n elements
//!    is written once, not n times.
//! 3. Where that is not what the call means, because its list is none or because types have changed, it is evaluated as it stands.

use super::code::{EVALUATE, HOLE, Pc, Slot};
use super::control::frames::Frames;
use super::values::Values;
use super::words::ERROR;
use super::{Halt, Machine, Running};
use crate::lowering::Form;
use crate::names;
use region::Ref;
use space::Symbol;

/// The children of such a hole: the name, the element and the hole around it.
const CHILDREN: usize = 3;

/// What is known of the holes that stand for `cons-atom`.
pub(super) struct ConsHoles {
    /// The name that they begin with.
    name: Ref,
    /// The epoch of types as of which the name means what the library says.
    epoch: u32,
    /// Room for the elements of a list.
    elements: Vec<Ref>,
}

impl ConsHoles {
    /// None yet; what stands for the name.
    pub(super) fn new(name: Ref) -> Self {
        Self { name, epoch: 0, elements: Vec::new() }
    }

    /// Whether an expression is such a hole.
    #[inline]
    pub(super) fn is_one(&self, (length, head): (usize, Ref)) -> bool {
        length == CHILDREN && head == self.name
    }

    /// The element and the hole around, if a hole is such a one and its element has not become what makes an error.
    #[inline]
    fn parts(&self, values: &Values, hole: Ref) -> Option<(Ref, Ref)> {
        if !hole.is_expression() || !self.is_one(values.heap.shape(hole)) {
            return None;
        }
        let &[_, first, around] = values.heap.children(hole) else { return None };
        let first = values.heap.walk(first);
        (first != ERROR).then_some((first, around))
    }

    /// The name that the library has for them.
    pub(super) fn symbol() -> Symbol {
        Symbol::new(names::CONS_ATOM)
    }
}

impl Running<'_> {
    /// What the frame at hand will come to is the rest of a list that begins with what a slot holds.
    pub(super) fn build_cons_hole(&mut self, first: Slot, return_point: u32, or: Pc) -> Result<(), Halt> {
        let first = self.m.read(first);
        if first == ERROR {
            self.m.frames.pc = or;
            return Ok(());
        }
        self.m.choices.own_for_hole(&mut self.m.frames, &self.m.code, return_point)?;
        let Machine { values, frames, cons_holes, code, .. } = &mut self.m;
        let around = Ref::from_bits(frames.stack[frames.base + HOLE]);
        let hole = values.heap.expression(&mut values.region, &[cons_holes.name, first, around])?;
        frames.stack[frames.base + HOLE] = hole.bits();
        cons_holes.epoch = code.type_epoch;
        Ok(())
    }

    /// Puts the elements of holes from one on before what the frame comes to, as long as they are such holes: the list, and the hole
    /// around it. `None` if the call that the hole stands for is to be evaluated.
    pub(super) fn close_cons_holes(&mut self, hole: Ref, value: Ref) -> Result<Option<(Ref, Ref)>, Halt> {
        let value = self.m.values.opened(value)?;
        if !value.is_expression() || !self.cons_is_as_was() {
            return Ok(None);
        }
        let mut elements = std::mem::take(&mut self.m.cons_holes.elements);
        elements.clear();
        let (mut around, mut is_normal) = (hole, self.m.values.is_normal_tail(value, self.m.types.notes));
        while let Some((first, next)) = self.m.cons_holes.parts(&self.m.values, around) {
            is_normal &= self.m.values.is_normal(first, self.m.types.notes);
            elements.push(first);
            around = next;
        }
        if elements.is_empty() {
            self.m.cons_holes.elements = elements;
            return Ok(None);
        }
        elements.reverse();
        elements.extend_from_slice(self.m.values.heap.children(value));
        let made = self.m.values.heap.expression(&mut self.m.values.region, &elements);
        self.m.cons_holes.elements = elements;
        let made = made?;
        if is_normal && self.heads_data(made)? {
            self.m.values.heap.set_note(made, self.m.types.notes.normal());
        }
        self.limits().look_soon_if_long(made);
        Ok(Some((made, around)))
    }

    /// Whether `cons-atom` means what the library says, as types stand.
    fn cons_is_as_was(&mut self) -> bool {
        if self.m.cons_holes.epoch == self.m.code.type_epoch {
            return true;
        }
        let is_as_was = self.special_form(names::CONS_ATOM, CHILDREN - 1) == Some(Form::Cons);
        if is_as_was {
            self.m.cons_holes.epoch = self.m.code.type_epoch;
        }
        is_as_was
    }
}

/// Lets the frame evaluate the call that a hole stands for; what that comes to goes into the holes around it.
#[cold]
pub(super) fn call_cons_hole(frames: &mut Frames, values: &mut Values, hole: Ref, value: Ref) -> Result<(), Halt> {
    frames.own(1)?;
    let &[name, first, around] = values.heap.children(hole) else { unreachable!("such a hole has three children") };
    let call = values.heap.expression(&mut values.region, &[name, first, value])?;
    frames.stack[frames.base + HOLE] = around.bits();
    frames.set_slot(0, call);
    frames.pc = EVALUATE;
    Ok(())
}
