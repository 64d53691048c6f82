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

use super::choices::{To, lay_out};
use super::code::{Arguments, Data, DataSlot, Exclusive, Function, HEADER, Kind, SOURCES_MAX, Slot, Source, WRAPPER};
use super::values::{Values, is_always_settled};
use super::{Halt, Machine, Running, WORDS_PER_FRAME};
use crate::interpreter::Task;
use crate::names;
use region::{Full, Ref};

/// How far a loop of calls inside data came.
enum Wrapped {
    /// The next instruction is this one.
    Nothing,
    /// What the frame will come to is wrapped; the call is still to be made.
    Frame,
    /// The arguments of the call are in place as well.
    Call,
    /// The call goes on elsewhere.
    Body,
}

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
        if let Kind::Exclusive(exclusive) = self.m.code.functions[function as usize].kind {
            match self.m.wrap_calls(data, function, arguments, exclusive)? {
                Wrapped::Nothing => {}
                Wrapped::Frame | Wrapped::Body => return Ok(()),
                Wrapped::Call => {
                    self.m.pc += 1;
                    return self.enter(function);
                }
            }
        }
        let next = self.m.pc;
        self.wrap(data)?;
        if self.m.pc != next {
            return Ok(());
        }
        self.m.pc += 1;
        self.tail_call_with(function, arguments)
    }

    /// The result of the frame at hand inside of its wrappers, after a collection of garbage if something has asked for it.
    /// An error is the result of the whole.
    pub(super) fn give_wrapped(&mut self, mut value: Ref) -> Result<(), Halt> {
        if self.m.is_crowded() {
            value = self.collect_at_return(value)?;
        }
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

impl Machine {
    /// Makes calls of a function by itself inside of data, one after the other, with all at hand that stays the same. Stops before
    /// one that needs more than this, or behind one that goes on elsewhere.
    #[inline(never)]
    fn wrap_calls(&mut self, data: u32, function: u32, arguments: u32, exclusive: u32) -> Result<Wrapped, Full> {
        let Machine { values, code, stack, notes, .. } = self;
        let here = self.pc - 1;
        let Function { version, slots: room, .. } = code.functions[function as usize];
        let Data { stamp, slots, is_settled, is_same, .. } = &code.data[data as usize];
        let Arguments { sources, is_direct, .. } = &code.arguments[arguments as usize];
        let Exclusive { argument, cases, .. } = &code.exclusives[exclusive as usize];
        let is_ready = version == self.version && self.base >= self.protected && *is_settled && *is_direct;
        let end = self.base + 2 * HEADER + room.max(SOURCES_MAX);
        if !is_ready || end > stack.len() {
            return Ok(Wrapped::Nothing);
        }
        let frame = &mut stack[self.base..end];
        while self.fuel > 1 && slots.iter().all(|child| is_always_settled(slot_of(frame, child.slot))) {
            let (made, children) = values.heap.stamp_open(&mut values.region, stamp, notes.settled())?;
            for &DataSlot { place, slot, .. } in slots {
                children[usize::from(place)] = slot_of(frame, slot);
            }
            children[stamp.length() - 1] = Ref::from_bits(frame[WRAPPER]);
            frame[WRAPPER] = if *is_same { made.marked() } else { made }.bits();
            for (place, source) in sources.iter().enumerate() {
                let value = match *source {
                    Source::Leaf(leaf) => leaf,
                    Source::Slot(slot) => slot_of(frame, slot),
                    Source::Settled(slot) => match values.plainly_settled(slot_of(frame, slot), *notes) {
                        Some(value) => value,
                        None => return Ok(Wrapped::Frame),
                    },
                };
                frame[HEADER + place] = value.bits();
            }
            let value = slot_of(frame, *argument);
            let key = values.switch_key(value);
            let Some(case) = key.and_then(|key| cases.iter().find(|case| case.key == key)) else {
                return Ok(Wrapped::Call);
            };
            (self.calls, self.fuel) = (self.calls + 1, self.fuel - 1);
            if case.children > 0 {
                let (to, count) = (HEADER + usize::from(case.dst), usize::from(case.children));
                lay_out(&mut frame[to..to + count], values.heap.children_from(value, 1, count));
            }
            if case.body != here {
                self.pc = case.body;
                return Ok(Wrapped::Body);
            }
        }
        Ok(Wrapped::Nothing)
    }

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
        if !self.values.is_settled(value, self.notes) {
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

/// What a slot of a frame holds.
#[inline(always)]
fn slot_of(frame: &[u32], slot: Slot) -> Ref {
    Ref::from_bits(frame[HEADER + usize::from(slot)])
}

impl Values {
    fn copy_of(&mut self, expression: Ref) -> Result<Ref, Full> {
        let (children, note) = (self.heap.children(expression).to_vec(), self.heap.note(expression));
        let copy = self.heap.expression(&mut self.region, &children)?;
        self.heap.set_note(copy, note);
        Ok(copy)
    }
}
