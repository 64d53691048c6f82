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

use super::code::{
    ArgumentSource, Arguments, Data, DataSlot, Exclusive, Function, HEADER, HOLE, Kind, OPEN, SOURCES_MAX, Slot,
};
use super::control::frames::{Frames, lay_out};
use super::types::Types;
use super::words::{ALWAYS_NORMAL, NUMBERS};
use super::{Halt, Machine, Running};
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
        self.m.choices.own_for_hole(&mut self.m.frames, &self.m.code, self.m.code.data[data as usize].return_point)?;
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
            match hole_calls(&mut self.m, data, function, arguments, exclusive)? {
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
}

/// Makes calls of a function by itself inside of data, one after the other, with all at hand that stays the same. Stops before
/// one that needs more than this, or behind one that goes on elsewhere.
#[inline(never)]
fn hole_calls(m: &mut Machine, data: u32, function: u32, arguments: u32, exclusive: u32) -> Result<HoleLoop, Full> {
    let Machine {
        values,
        code,
        frames: Frames { stack, base, protected, pc, .. },
        types: Types { notes, .. },
        counters,
        ..
    } = m;
    let here = *pc - 1;
    let Function { version, slots: room, .. } = code.functions[function as usize];
    let Data { stamp, slots, is_normal, is_same, typed, .. } = &code.data[data as usize];
    let Arguments { sources, is_direct, .. } = &code.arguments[arguments as usize];
    let Exclusive { argument, cases, .. } = &code.exclusives[exclusive as usize];
    let is_ready = version == code.version && *base >= *protected && *is_normal && *is_direct;
    let end = *base + 2 * HEADER + room.max(SOURCES_MAX);
    // Numbers are of one type whatever they are.
    let (note, tags) = match typed {
        None => (Some(notes.normal()), ALWAYS_NORMAL),
        Some(typed) => {
            (typed.note_of_numbers(stamp.children(), slots.iter().map(|slot| usize::from(slot.place)), *notes), NUMBERS)
        }
    };
    let Some(note) = note.filter(|_| is_ready && end <= stack.len()) else { return Ok(HoleLoop::Nothing) };
    let frame = &mut stack[*base..end];
    while counters.fuel > 1 && slots.iter().all(|child| tags >> slot_of(frame, child.slot).tag() & 1 == 1) {
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
        (counters.calls, counters.fuel) = (counters.calls + 1, counters.fuel - 1);
        if case.children > 0 {
            let (to, count) = (HEADER + usize::from(case.dst), usize::from(case.children));
            lay_out(&mut frame[to..to + count], values.heap.children_from(value, 1, count));
        }
        if case.body != here {
            *pc = case.body;
            return Ok(HoleLoop::Body);
        }
    }
    Ok(HoleLoop::Nothing)
}

/// What a slot of a frame holds.
#[inline(always)]
fn slot_of(frame: &[u32], slot: Slot) -> Ref {
    Ref::from_bits(frame[HEADER + usize::from(slot)])
}
