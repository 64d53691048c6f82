//! Data around a call in last place: `(Cons $head (append $tail $other))`.
//!
//! 1. The data is built before the call is made, which then takes the place of the frame at hand. So a list is built by a
//!    loop: a function that recurs inside a constructor needs no frame for each element.
//! 2. In place of its last child stands the data that goes around it in turn: holes refer to each other from the inside
//!    out. The innermost is in the header of the frame.
//! 3. What the frame comes to is put into the innermost hole, that into the next, and so on. If the frame may come to
//!    something else as well, each of its results gets holes of its own.
//! 4. A rule for the constructor may have been added in the meantime: then a hole is a call after all.
//!
//! The idea is tail recursion modulo cons (Friedman and Wise, 1975), the references reversed so that memory only ever refers
//! to what is older.

use super::alternatives::lay_out;
use super::choices::Destination;
use super::code::{
    ArgumentSource, Arguments, Data, DataSlot, Exclusive, Function, HEADER, HOLE, Kind, OPEN, SOURCES_MAX, Slot,
};
use super::frames::Frames;
use super::types::Types;
use super::values::Values;
use super::words::{ALWAYS_NORMAL, NUMBERS};
use super::{Halt, Machine, Running, WORDS_PER_FRAME};
use crate::interpreter::Task;
use crate::names;
use region::{Full, Ref};

/// How far a loop of calls inside data came.
enum HoleLoop {
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
    pub(super) fn build_hole(&mut self, data: u32) -> Result<(), Halt> {
        self.m.own_for_hole(self.m.code.data[data as usize].return_point)?;
        let Some(hole) = self.constructed(data)? else { return Ok(()) };
        let m = &mut self.m;
        let around = std::mem::replace(&mut m.frames.stack[m.frames.base + HOLE], hole.bits());
        let last = m.code.data[data as usize].stamp.length() - 1;
        m.values.heap.set_child(hole, last, Ref::from_bits(around));
        Ok(())
    }

    /// Wraps what the frame at hand will come to, which is that of the call that comes next.
    #[inline(always)]
    pub(super) fn hole_call(&mut self, data: u32, function: u32, arguments: u32) -> Result<(), Halt> {
        if let Kind::Exclusive(exclusive) = self.m.code.functions[function as usize].kind
            && self.m.frames.stack[self.m.frames.base + 2] != OPEN
        {
            match self.m.hole_calls(data, function, arguments, exclusive)? {
                HoleLoop::Nothing => {}
                HoleLoop::Frame | HoleLoop::Body => return Ok(()),
                HoleLoop::Call => {
                    self.m.frames.pc += 1;
                    return self.enter(function);
                }
            }
        }
        let next = self.m.frames.pc;
        self.build_hole(data)?;
        if self.m.frames.pc != next {
            return Ok(());
        }
        self.m.frames.pc += 1;
        self.tail_call_with(function, arguments)
    }

    /// The result of the frame at hand inside of its holes, after a collection of garbage if something has asked for it.
    /// An error is the result of the whole.
    pub(super) fn fill_holes(&mut self, mut value: Ref) -> Result<(), Halt> {
        if self.m.is_crowded() {
            value = self.collect_at_return(value)?;
        }
        if self.m.is_error(value) {
            return self.give_whole(value);
        }
        let is_only = self.m.choices.stack.len() as u32 == self.m.frames.stack[self.m.frames.base + 2];
        let mut hole = Ref::from_bits(self.m.frames.stack[self.m.frames.base + HOLE]);
        while hole.is_expression() {
            let (length, head) = self.m.values.heap.shape(hole);
            if self.m.is_cons_hole((length, head)) {
                match self.close_cons_holes(hole, value)? {
                    Some(closed) => (value, hole) = closed,
                    None => return self.call_cons_hole(hole, value),
                }
                continue;
            }
            if !self.is_data(length, head)? {
                return self.call_around_hole(hole, value);
            }
            let tells_type = self.m.types.tells_type(&self.m.values, hole);
            (value, hole) = self.m.close_hole(hole, value, is_only)?;
            if tells_type {
                self.types().note_closed(value, length - 1);
            }
            if is_only {
                (value, hole) = self.m.close_alike(hole, value, length - 1);
            }
        }
        self.give_whole(value)
    }

    /// Whether expressions of this length and head are data, as things stand.
    fn is_data(&mut self, length: usize, head: Ref) -> Result<bool, Halt> {
        let function = self.m.code.function(head, (length - 1) as Slot, 0);
        self.is_constructor(function)
    }

    /// A hole that is a call by now: what that comes to goes into the others.
    #[cold]
    fn call_around_hole(&mut self, hole: Ref, value: Ref) -> Result<(), Halt> {
        self.m.own_frame(0)?;
        let last = self.m.values.heap.length(hole) - 1;
        self.m.frames.stack[self.m.frames.base + HOLE] = self.m.values.heap.child(hole, last).bits();
        let call = self.m.values.copy_of(hole)?;
        self.m.values.heap.set_note(call, 0);
        self.m.values.heap.set_child(call, last, value);
        self.interpret(call, Destination::Frame, |call| Task::Call(call, names::undefined(), true))
    }
}

impl Machine {
    /// Makes the frame at hand ready for a hole: no choice needs what is in it, and all that it comes to is found first.
    #[inline(always)]
    pub(super) fn own_for_hole(&mut self, return_point: u32) -> Result<(), Halt> {
        self.own_at(return_point)?;
        if self.frames.stack[self.frames.base + 2] == OPEN {
            self.gather_goal_from_here();
        }
        Ok(())
    }

    /// Makes calls of a function by itself inside of data, one after the other, with all at hand that stays the same. Stops before
    /// one that needs more than this, or behind one that goes on elsewhere.
    #[inline(never)]
    fn hole_calls(&mut self, data: u32, function: u32, arguments: u32, exclusive: u32) -> Result<HoleLoop, Full> {
        let Machine { values, code, frames: Frames { stack, .. }, types: Types { notes, .. }, .. } = self;
        let here = self.frames.pc - 1;
        let Function { version, slots: room, .. } = code.functions[function as usize];
        let Data { stamp, slots, is_normal, is_same, typed, .. } = &code.data[data as usize];
        let Arguments { sources, is_direct, .. } = &code.arguments[arguments as usize];
        let Exclusive { argument, cases, .. } = &code.exclusives[exclusive as usize];
        let is_ready =
            version == code.version && self.frames.base >= self.choices.protected && *is_normal && *is_direct;
        let end = self.frames.base + 2 * HEADER + room.max(SOURCES_MAX);
        // Numbers are of one type whatever they are.
        let (note, tags) = match typed {
            None => (Some(notes.normal()), ALWAYS_NORMAL),
            Some(typed) => (
                typed.note_of_numbers(stamp.children(), slots.iter().map(|slot| usize::from(slot.place)), *notes),
                NUMBERS,
            ),
        };
        let Some(note) = note.filter(|_| is_ready && end <= stack.len()) else { return Ok(HoleLoop::Nothing) };
        let frame = &mut stack[self.frames.base..end];
        while self.counters.fuel > 1 && slots.iter().all(|child| tags >> slot_of(frame, child.slot).tag() & 1 == 1) {
            let (made, children) = values.heap.stamp_open(&mut values.region, stamp, note)?;
            for &DataSlot { place, slot, .. } in slots {
                children[usize::from(place)] = slot_of(frame, slot);
            }
            children[stamp.length() - 1] = Ref::from_bits(frame[HOLE]);
            frame[HOLE] = if *is_same { made.marked() } else { made }.bits();
            for (place, source) in sources.iter().enumerate() {
                let value = match *source {
                    ArgumentSource::Leaf(leaf) => leaf,
                    ArgumentSource::Slot(slot) => slot_of(frame, slot),
                    ArgumentSource::Normal(slot) => match values.plainly_normal(slot_of(frame, slot), *notes) {
                        Some(value) => value,
                        None => return Ok(HoleLoop::Frame),
                    },
                };
                frame[HEADER + place] = value.bits();
            }
            let value = slot_of(frame, *argument);
            let key = values.switch_key(value);
            let Some(case) = key.and_then(|key| cases.iter().find(|case| case.key == key)) else {
                return Ok(HoleLoop::Call);
            };
            (self.counters.calls, self.counters.fuel) = (self.counters.calls + 1, self.counters.fuel - 1);
            if case.children > 0 {
                let (to, count) = (HEADER + usize::from(case.dst), usize::from(case.children));
                lay_out(&mut frame[to..to + count], values.heap.children_from(value, 1, count));
            }
            if case.body != here {
                self.frames.pc = case.body;
                return Ok(HoleLoop::Body);
            }
        }
        Ok(HoleLoop::Nothing)
    }

    /// Wrappers take the place of frames, and there may be no more of them: a recursion without end is told so in time.
    pub(super) fn check_holes(&self) -> Result<(), Halt> {
        let (mut hole, mut count) = (Ref::from_bits(self.frames.stack[self.frames.base + HOLE]), 0);
        while hole.is_expression() {
            hole = self.values.heap.child(hole, self.values.heap.length(hole) - 1);
            count += 1;
        }
        if count > self.frames.stack_max / WORDS_PER_FRAME { Err(self.stack_full()) } else { Ok(()) }
    }

    /// Puts a value into a hole, or a copy of it, as its last child; gives that and the hole around it. The note that it
    /// is in normal form stays if the value is, too.
    fn close_hole(&mut self, hole: Ref, value: Ref, is_only: bool) -> Result<(Ref, Ref), Full> {
        let last = self.values.heap.length(hole) - 1;
        let around = self.values.heap.child(hole, last);
        let whole = if is_only { hole } else { self.values.copy_of(hole)? };
        self.values.heap.set_child(whole, last, value);
        if !self.values.is_normal(value, self.types.notes) {
            self.values.heap.set_note(whole, 0);
        }
        Ok((whole, around))
    }

    /// Goes on with holes that are like the one that was closed last, note and all: what is true of that is true of them.
    #[inline]
    fn close_alike(&mut self, mut hole: Ref, mut value: Ref, last: usize) -> (Ref, Ref) {
        let heap = &mut self.values.heap;
        while hole.is_expression() && heap.alike(hole, value) {
            let around = heap.child(hole, last);
            heap.set_child(hole, last, value);
            (value, hole) = (hole, around);
        }
        (value, hole)
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
