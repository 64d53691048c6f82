//! The frames of the machine: its stack, and where it is in the code.

use crate::limits::LimitReached;
use crate::machine::code::{Code, FACTS, HEADER, HOLE, Instruction, Pc, ReturnPoint, Slot, TypeId};
use crate::machine::halt::{Halt, Reason};
use crate::machine::tuple_frame::slots_of_whole_tuple;
use region::{Heap, Ref};

/// Words that the stack begins with.
const STACK_BEGIN: usize = 1 << 12;
/// Words that it grows by at least.
const GROWTH_MIN: usize = 1 << 14;
/// Words of the stack for each frame of depth that is allowed.
pub(in crate::machine) const WORDS_PER_FRAME: usize = 12;

/// The frames, and what the frame at hand is about to do.
pub(in crate::machine) struct Frames {
    pub(in crate::machine) stack: Vec<u32>,
    /// Where the frame at hand begins.
    pub(in crate::machine) base: usize,
    /// The end of what choices need of the stack.
    pub(in crate::machine) protected: usize,
    pub(in crate::machine) pc: Pc,
    /// The result that came last.
    pub(in crate::machine) acc: Ref,
    /// A child that is to be evaluated next, as the result of the frame at hand.
    pub(in crate::machine) pending: Option<(Ref, TypeId)>,
    /// Words that the stack may have.
    pub(in crate::machine) stack_max: usize,
    /// Words that the limit of memory has left for it, when it was looked at last.
    pub(in crate::machine) words_left: usize,
}

impl Frames {
    pub(in crate::machine) fn new(acc: Ref) -> Self {
        let stack = vec![0; STACK_BEGIN];
        Self { stack, base: 0, protected: 0, pc: 0, acc, pending: None, stack_max: 0, words_left: usize::MAX }
    }

    /// Lets the stack have this many words, and as many again as the limits leave: it is written to at once.
    fn grow_to(&mut self, needed: usize) {
        let more = needed.min(self.words_left).max(GROWTH_MIN);
        self.stack.resize(needed.saturating_add(more).min(self.stack_max).max(needed), 0);
    }

    #[inline]
    pub(in crate::machine) fn slot(&self, slot: Slot) -> Ref {
        Ref::from_bits(self.stack[self.base + HEADER + usize::from(slot)])
    }

    #[inline]
    pub(in crate::machine) fn set_slot(&mut self, slot: Slot, value: Ref) {
        self.stack[self.base + HEADER + usize::from(slot)] = value.bits();
    }

    /// Writes to a slot, as an instruction that cannot halt the machine.
    #[inline]
    pub(in crate::machine) fn put(&mut self, dst: Slot, value: Ref) -> Result<(), Halt> {
        self.set_slot(dst, value);
        Ok(())
    }

    #[inline]
    pub(in crate::machine) fn go_unless(&mut self, holds: bool, or: Pc) -> Result<(), Halt> {
        if !holds {
            self.pc = or;
        }
        Ok(())
    }

    /// Goes on at a return point of the frame at hand with a value, whatever it is.
    pub(in crate::machine) fn resume_raw(&mut self, code: &Code, return_point: u32, value: Ref) {
        let ReturnPoint { pc, dst, .. } = *code.return_point(return_point);
        self.set_slot(dst, value);
        self.pc = pc;
    }

    /// Goes on at a return point of a caller with the result of an open frame.
    pub(in crate::machine) fn resume_open(&mut self, code: &Code, return_point: u32, value: Ref, caller: u32) {
        self.base = caller as usize;
        self.resume_raw(code, return_point, value);
    }

    /// Makes sure that a frame with this many slots, and the header of one more, fits the stack.
    #[inline]
    pub(in crate::machine) fn ensure(&mut self, slots: usize) -> Result<(), Halt> {
        if self.base + 2 * HEADER + slots > self.stack.len() { self.grow(slots) } else { Ok(()) }
    }

    #[cold]
    fn grow(&mut self, slots: usize) -> Result<(), Halt> {
        let needed = self.base + 2 * HEADER + slots;
        if needed > self.stack_max {
            return Err(self.full());
        }
        self.grow_to(needed);
        Ok(())
    }

    /// What halts the machine where there are more frames than may be.
    #[cold]
    pub(in crate::machine) fn full(&self) -> Halt {
        Reason::Limit(LimitReached::Depth(self.stack_max / WORDS_PER_FRAME)).into()
    }

    /// Writes the header of a frame that the frame at hand calls, but for the number of choices.
    #[inline]
    pub(in crate::machine) fn write_header(&mut self, place: usize, return_point: u32) {
        let header = &mut self.stack[place..place + HEADER];
        (header[0], header[1], header[HOLE]) = (return_point, self.base as u32, 0);
    }

    /// The frame of a call at a return point: where it begins, moved up if a choice needs what lies there.
    #[inline]
    pub(in crate::machine) fn frame_at(&mut self, at: Slot, arguments: usize) -> Result<usize, Halt> {
        let place = self.base + HEADER + usize::from(at);
        if place >= self.protected {
            return Ok(place);
        }
        self.move_called(place, arguments)
    }

    #[cold]
    fn move_called(&mut self, place: usize, arguments: usize) -> Result<usize, Halt> {
        let to = self.protected;
        if to + 2 * HEADER + arguments > self.stack.len() {
            self.grow(to + arguments - self.base)?;
        }
        self.stack.copy_within(place..place + HEADER + arguments, to);
        Ok(to)
    }

    /// Makes the frame of a return point the frame at hand; its level is there already.
    pub(in crate::machine) fn enter_plain(&mut self, code: &Code, return_point: u32) -> Result<(), Halt> {
        let at = code.return_point(return_point).at;
        self.ensure(usize::from(at) + 2 * HEADER)?;
        let place = self.base + HEADER + usize::from(at);
        self.write_header(place, return_point);
        self.base = self.frame_at(at, 0)?;
        Ok(())
    }

    /// Makes the slots of the frame at hand free for something else: it moves up if a choice needs what is in them.
    pub(in crate::machine) fn own(&mut self, slots: usize) -> Result<(), Halt> {
        if self.base < self.protected {
            return self.move_up(self.base + HEADER, slots + HEADER);
        }
        self.ensure(slots + HEADER)
    }

    /// Makes the frame at hand, which is needed up to a slot, free behind that, with this many slots: it moves up if a choice needs that.
    pub(in crate::machine) fn own_from(&mut self, at: Slot, slots: usize) -> Result<(), Halt> {
        let end = self.base + HEADER + usize::from(at);
        if end < self.protected { self.move_up(end, slots) } else { self.ensure(slots) }
    }

    /// Moves the frame at hand, which is needed up to this end, above what choices need; it has `slots` slots there.
    #[cold]
    pub(in crate::machine) fn move_up(&mut self, end: usize, slots: usize) -> Result<(), Halt> {
        let (from, to) = (self.base, self.protected);
        self.ensure(to - from + slots.max(end - from))?;
        self.stack.copy_within(from..end, to);
        self.base = to;
        Ok(())
    }

    /// Moves a frame that goes on at a return point above what choices need, if one of them needs what the frame would write over.
    #[inline]
    pub(in crate::machine) fn own_at(&mut self, code: &Code, return_point: u32) -> Result<(), Halt> {
        if self.base >= self.protected {
            return Ok(());
        }
        let end = self.end_at(code, self.base, return_point);
        self.move_up(end, usize::from(code.return_point(return_point).slots))
    }

    /// Notes in the header of the frame at hand that its choices are left for later, if they are all choices there are, by their number.
    pub(in crate::machine) fn leave_choices(&mut self, count: usize) {
        let level = &mut self.stack[self.base + 2];
        if *level == count as u32 {
            *level = FACTS;
        }
    }

    /// Wrappers take the place of frames, and there may be no more of them: a recursion without end is told so in time.
    pub(in crate::machine) fn check_holes(&self, heap: &Heap) -> Result<(), Halt> {
        let (mut hole, mut count) = (Ref::from_bits(self.stack[self.base + HOLE]), 0);
        while hole.is_expression() {
            hole = heap.child(hole, heap.length(hole) - 1);
            count += 1;
        }
        if count > self.stack_max / WORDS_PER_FRAME { Err(self.full()) } else { Ok(()) }
    }

    /// The end of a frame as far as a return point needs it.
    pub(in crate::machine) fn end_at(&self, code: &Code, base: usize, return_point: u32) -> usize {
        let return_point = code.return_point(return_point);
        let slots = match code.instructions[return_point.pc as usize] {
            Instruction::Child { .. } => slots_of_whole_tuple(self.stack[base + HEADER]),
            _ => usize::from(return_point.at),
        };
        base + HEADER + slots
    }

    /// Moves arguments to the beginning of the frame at hand, which moves up itself if a choice needs what is there.
    pub(in crate::machine) fn move_over(&mut self, from: usize, count: usize) -> Result<(), Halt> {
        let base = self.base;
        if base >= self.protected {
            self.stack.copy_within(from..from + count, base + HEADER);
            return Ok(());
        }
        let to = self.protected.max(from);
        if to + 2 * HEADER + count > self.stack.len() {
            self.ensure(to - base + count)?;
        }
        self.stack.copy_within(from..from + count, to + HEADER);
        self.stack.copy_within(base..base + HEADER, to);
        self.base = to;
        Ok(())
    }
}

/// Copies references to slots. Few, mostly: that is faster than a call to copy them.
#[inline(always)]
pub(in crate::machine) fn lay_out(slots: &mut [u32], values: &[Ref]) {
    match (slots, values) {
        ([a], &[x]) => *a = x.bits(),
        ([a, b], &[x, y]) => (*a, *b) = (x.bits(), y.bits()),
        ([a, b, c], &[x, y, z]) => (*a, *b, *c) = (x.bits(), y.bits(), z.bits()),
        ([a, b, c, d], &[w, x, y, z]) => (*a, *b, *c, *d) = (w.bits(), x.bits(), y.bits(), z.bits()),
        ([a, b, c, d, e], &[v, w, x, y, z]) => {
            (*a, *b, *c, *d, *e) = (v.bits(), w.bits(), x.bits(), y.bits(), z.bits());
        }
        (slots, values) => slots.iter_mut().zip(values).for_each(|(slot, value)| *slot = value.bits()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_grows_by_what_a_limit_leaves() {
        let mut frames = Frames::new(Ref::from_bits(0));
        frames.stack_max = usize::MAX;
        frames.grow_to(1 << 20);
        assert_eq!(frames.stack.len(), 2 << 20, "by as much again without a limit");
        frames.words_left = 1 << 18;
        frames.grow_to(3 << 20);
        assert_eq!(frames.stack.len(), (3 << 20) + (1 << 18));
        frames.words_left = 0;
        frames.grow_to(4 << 20);
        assert_eq!(frames.stack.len(), (4 << 20) + GROWTH_MIN);
        frames.stack_max = (4 << 20) + GROWTH_MIN + 1;
        frames.grow_to(frames.stack_max);
        assert_eq!(frames.stack.len(), frames.stack_max, "never by more than a stack may have");
    }
}
