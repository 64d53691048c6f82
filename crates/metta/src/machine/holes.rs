//! Filling holes: what a frame comes to is put into the data around its call (`trmc.rs`).
//!
//! What the frame comes to is put into the innermost hole, that into the next, and so on. If the frame may come to something else as well, each
//! of its results gets holes of its own. A rule for the constructor may have been added in the meantime: then a hole is a call after all.

use super::code::{HOLE, Slot};
use super::cons_holes::call_cons_hole;
use super::control::frames::Frames;
use super::notes::Notes;
use super::values::Values;
use super::{Halt, Running};
use region::{Full, Ref};

/// What a frame comes to with its holes.
pub(super) enum Filled {
    /// All holes are filled: this is the result of the frame.
    Whole(Ref),
    /// A hole is a call by now: what that comes to goes into the others.
    Call(Ref),
    /// The frame evaluates something else first.
    Elsewhere,
}

impl Running<'_> {
    /// Puts the result of the frame at hand into its holes, after a collection of garbage if something has asked for it.
    /// An error is the result of the whole.
    pub(super) fn fill_holes(&mut self, mut value: Ref) -> Result<Filled, Halt> {
        if self.m.counters.is_crowded(&self.m.values) {
            value = self.collect_at_return(value)?;
        }
        if self.m.values.is_error(value) {
            return Ok(Filled::Whole(value));
        }
        let is_only = self.m.choices.stack.len() as u32 == self.m.frames.stack[self.m.frames.base + 2];
        let mut hole = Ref::from_bits(self.m.frames.stack[self.m.frames.base + HOLE]);
        while hole.is_expression() {
            let (length, head) = self.m.values.heap.shape(hole);
            if self.m.cons_holes.is_one((length, head)) {
                match self.close_cons_holes(hole, value)? {
                    Some(closed) => (value, hole) = closed,
                    None => {
                        call_cons_hole(&mut self.m.frames, &mut self.m.values, hole, value)?;
                        return Ok(Filled::Elsewhere);
                    }
                }
                continue;
            }
            if !self.is_data(length, head)? {
                return Ok(Filled::Call(call_around_hole(&mut self.m.frames, &mut self.m.values, hole, value)?));
            }
            let tells_type = self.m.types.tells_type(&self.m.values, hole);
            (value, hole) = close_hole(&mut self.m.values, self.m.types.notes, hole, value, is_only)?;
            if tells_type {
                self.types().note_closed(value, length - 1);
            }
            if is_only {
                (value, hole) = close_alike(&mut self.m.values, hole, value, length - 1);
            }
        }
        Ok(Filled::Whole(value))
    }

    /// Whether expressions of this length and head are data, as things stand.
    fn is_data(&mut self, length: usize, head: Ref) -> Result<bool, Halt> {
        let function = self.m.code.function(head, (length - 1) as Slot, 0);
        self.is_constructor(function)
    }
}

/// Goes on with holes that are like the one that was closed last, note and all: what is true of that is true of them.
#[inline]
fn close_alike(values: &mut Values, mut hole: Ref, mut value: Ref, last: usize) -> (Ref, Ref) {
    let heap = &mut values.heap;
    while hole.is_expression() && heap.alike(hole, value) {
        let around = heap.child(hole, last);
        heap.set_child(hole, last, value);
        (value, hole) = (hole, around);
    }
    (value, hole)
}

fn copy_of(values: &mut Values, expression: Ref) -> Result<Ref, Full> {
    let (children, note) = (values.heap.children(expression).to_vec(), values.heap.note(expression));
    let copy = values.heap.expression(&mut values.region, &children)?;
    values.heap.set_note(copy, note);
    Ok(copy)
}

/// Puts a value into a hole, or a copy of it, as its last child; gives that and the hole around it. The note that it
/// is in normal form stays if the value is, too.
fn close_hole(values: &mut Values, notes: Notes, hole: Ref, value: Ref, is_only: bool) -> Result<(Ref, Ref), Full> {
    let last = values.heap.length(hole) - 1;
    let around = values.heap.child(hole, last);
    let whole = if is_only { hole } else { copy_of(values, hole)? };
    values.heap.set_child(whole, last, value);
    if !values.is_normal(value, notes) {
        values.heap.set_note(whole, 0);
    }
    Ok((whole, around))
}

/// A hole that is a call by now: what that comes to goes into the others.
#[cold]
fn call_around_hole(frames: &mut Frames, values: &mut Values, hole: Ref, value: Ref) -> Result<Ref, Halt> {
    frames.own(0)?;
    let last = values.heap.length(hole) - 1;
    frames.stack[frames.base + HOLE] = values.heap.child(hole, last).bits();
    let call = copy_of(values, hole)?;
    values.heap.set_note(call, 0);
    values.heap.set_child(call, last, value);
    Ok(call)
}
