//! Data with data inside, such as `(Moved a-to-b (piles $a (On $x $b) $c))`, built by one instruction.
//!
//! 1. That is right if all that it takes from slots is its own result, and none of its heads has got rules. Else the code
//!    goes on behind the instruction, where the same data is built expression by expression.
//! 2. Notes and marks are those that each expression would have got alone.

use super::code::{HEADER, NestedData, NestedPart, Pc, Slot};
use super::values::Looked;
use super::words::{EMPTY, is_always_normal};
use super::{Halt, Running};
use region::Ref;

/// Data of more expressions is built one by one.
pub(super) const PARTS_MAX: usize = 8;

/// What takes more from slots, too.
pub(super) const TAKEN_MAX: usize = 16;

impl Running<'_> {
    /// Builds the data; `None` if that is to be done expression by expression.
    #[inline(always)]
    fn nested(&mut self, data: u32) -> Result<Option<Ref>, Halt> {
        if self.m.code.nested[data as usize].version != self.m.code.version && !self.have_no_rules(data)? {
            return Ok(None);
        }
        let m = &mut self.m;
        let NestedData { taken, parts, .. } = &m.code.nested[data as usize];
        let frame = &m.frames.stack[m.frames.base + HEADER..];
        let notes = m.types.notes;
        let mut found = [(EMPTY, true); TAKEN_MAX];
        for (&(slot, is_value), found) in taken.iter().zip(&mut found) {
            found.0 = Ref::from_bits(frame[usize::from(slot)]);
            if !is_always_normal(found.0) {
                let Some(Looked { value, is_normal }) = m.values.look(found.0, notes, is_value) else {
                    return Ok(None);
                };
                *found = (value, is_normal);
            }
        }
        let mut made = [(EMPTY, true); PARTS_MAX];
        for (number, NestedPart { stamp, taken, inside, .. }) in parts.iter().enumerate() {
            let whole = m.values.heap.stamp(&mut m.values.region, stamp, notes.normal())?;
            let mut is_normal = true;
            let children = taken.iter().map(|&(place, at)| (place, found[at]));
            for (place, (child, is_found)) in children.chain(inside.iter().map(|&(place, at)| (place, made[at]))) {
                is_normal &= is_found;
                m.values.heap.set_child(whole, usize::from(place), child);
            }
            if !is_normal {
                m.values.note_open(whole, true, false, notes);
            }
            made[number] = (if is_normal { whole.marked() } else { whole }, is_normal);
        }
        Ok(Some(made[parts.len() - 1].0))
    }

    /// Builds the data into a slot and goes on elsewhere, or goes on behind.
    #[inline]
    pub(super) fn construct_nested(&mut self, data: u32, dst: Slot, then: Pc) -> Result<(), Halt> {
        if let Some(made) = self.nested(data)? {
            self.m.frames.set_slot(dst, made);
            self.m.frames.pc = then;
        }
        Ok(())
    }

    /// Builds the data as the result of the frame at hand, or goes on behind.
    #[inline]
    pub(super) fn return_nested(&mut self, data: u32) -> Result<(), Halt> {
        match self.nested(data)? {
            Some(made) => self.give(made),
            None => Ok(()),
        }
    }

    /// Whether none of the heads of data has rules, as they stand.
    #[cold]
    fn have_no_rules(&mut self, data: u32) -> Result<bool, Halt> {
        for part in 0..self.m.code.nested[data as usize].parts.len() {
            let function = self.m.code.nested[data as usize].parts[part].function;
            if !self.is_constructor(function)? {
                return Ok(false);
            }
        }
        self.m.code.nested[data as usize].version = self.m.code.version;
        Ok(true)
    }
}
