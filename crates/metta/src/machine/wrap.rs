//! Data around a call in last place: `(Cons $head (append $tail $other))`.
//!
//! 1. The data is built before the call is made, which then takes the place of the frame at hand. So a list is built by a
//!    loop: a function that recurs inside a constructor needs no frame for each element.
//! 2. In place of its last child stands the data that goes around it in turn: wrappers refer to each other from the inside
//!    out. The innermost is in the header of the frame.
//! 3. What the frame comes to is put into the innermost wrapper, that into the next, and so on. If the frame may come to
//!    something else as well, each of its results gets wrappers of its own.
//! 4. A rule for the constructor may have been added in the meantime: then a wrapper is a call after all.
//!
//! The idea is tail recursion modulo cons (Friedman and Wise, 1975), the references reversed so that memory only ever refers
//! to what is older.

use super::choices::To;
use super::code::{Slot, WRAPPER};
use super::values::Values;
use super::{Halt, Running, WORDS_PER_FRAME};
use crate::interpreter::Task;
use crate::names;
use region::{Full, Ref};

impl Running<'_> {
    /// Wraps what the frame at hand will come to.
    #[inline(always)]
    pub(super) fn wrap(&mut self, data: u32) -> Result<(), Halt> {
        let site = self.m.code.data[data as usize].site;
        self.m.own_at(site)?;
        let Some(wrapper) = self.constructed(data)? else { return Ok(()) };
        let m = &mut self.m;
        let around = std::mem::replace(&mut m.stack[m.base + WRAPPER], wrapper.bits());
        let last = m.code.data[data as usize].stamp.length() - 1;
        m.values.heap.set_child(wrapper, last, Ref::from_bits(around));
        Ok(())
    }

    /// Wraps what the frame at hand will come to, which is that of the call that comes next.
    #[inline(always)]
    pub(super) fn wrap_call(&mut self, data: u32, function: u32, arguments: u32) -> Result<(), Halt> {
        let next = self.m.pc;
        self.wrap(data)?;
        if self.m.pc != next {
            return Ok(());
        }
        self.m.pc += 1;
        self.tail_call_with(function, arguments)
    }

    /// The result of the frame at hand inside of its wrappers. An error is the result of the whole.
    pub(super) fn give_wrapped(&mut self, mut value: Ref) -> Result<(), Halt> {
        if self.m.is_error(value) {
            return self.give_whole(value);
        }
        let is_only = self.m.choices.len() as u32 == self.m.stack[self.m.base + 2];
        let mut wrapper = Ref::from_bits(self.m.stack[self.m.base + WRAPPER]);
        while wrapper.is_expression() {
            let (length, head) = self.m.values.heap.shape(wrapper);
            if !self.is_data(length, head)? {
                return self.call_wrapper(wrapper, value);
            }
            (value, wrapper) = self.m.close_wrapper(wrapper, value, is_only)?;
            if is_only {
                (value, wrapper) = self.m.close_alike(wrapper, value, length - 1);
            }
        }
        self.give_whole(value)
    }

    /// Whether expressions of this length and head are data, as things stand.
    fn is_data(&mut self, length: usize, head: Ref) -> Result<bool, Halt> {
        let function = self.m.code.function(head, (length - 1) as Slot, 0);
        self.is_constructor(function)
    }

    /// A wrapper that is a call by now: what that comes to goes into the others.
    #[cold]
    fn call_wrapper(&mut self, wrapper: Ref, value: Ref) -> Result<(), Halt> {
        self.m.own_frame(0)?;
        let last = self.m.values.heap.length(wrapper) - 1;
        self.m.stack[self.m.base + WRAPPER] = self.m.values.heap.child(wrapper, last).bits();
        let call = self.m.values.copy_of(wrapper)?;
        self.m.values.heap.set_note(call, 0);
        self.m.values.heap.set_child(call, last, value);
        self.interpret(call, To::Frame, |call| Task::Call(call, names::undefined(), true))
    }
}

impl super::Machine {
    /// Wrappers take the place of frames, and there may be no more of them: a recursion without end is told so in time.
    pub(super) fn check_wrappers(&self) -> Result<(), Halt> {
        let (mut wrapper, mut count) = (Ref::from_bits(self.stack[self.base + WRAPPER]), 0);
        while wrapper.is_expression() {
            wrapper = self.values.heap.child(wrapper, self.values.heap.length(wrapper) - 1);
            count += 1;
        }
        if count > self.stack_max / WORDS_PER_FRAME { Err(self.stack_full()) } else { Ok(()) }
    }

    /// Puts a value into a wrapper, or a copy of it, as its last child; gives that and the wrapper around it. The note that it
    /// is settled stays if the value is, too.
    fn close_wrapper(&mut self, wrapper: Ref, value: Ref, is_only: bool) -> Result<(Ref, Ref), Full> {
        let last = self.values.heap.length(wrapper) - 1;
        let around = self.values.heap.child(wrapper, last);
        let whole = if is_only { wrapper } else { self.values.copy_of(wrapper)? };
        self.values.heap.set_child(whole, last, value);
        if !self.values.is_settled(value, self.note) {
            self.values.heap.set_note(whole, 0);
        }
        Ok((whole, around))
    }

    /// Goes on with wrappers that are like the one that was closed last, note and all: what is true of that is true of them.
    #[inline]
    fn close_alike(&mut self, mut wrapper: Ref, mut value: Ref, last: usize) -> (Ref, Ref) {
        let heap = &mut self.values.heap;
        while wrapper.is_expression() && heap.alike(wrapper, value) {
            let around = heap.child(wrapper, last);
            heap.set_child(wrapper, last, value);
            (value, wrapper) = (wrapper, around);
        }
        (value, wrapper)
    }
}

impl Values {
    fn copy_of(&mut self, expression: Ref) -> Result<Ref, Full> {
        let (children, note) = (self.heap.children(expression).to_vec(), self.heap.note(expression));
        let copy = self.heap.expression(&mut self.region, &children)?;
        self.heap.set_note(copy, note);
        Ok(copy)
    }
}
