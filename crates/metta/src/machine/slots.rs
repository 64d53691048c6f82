//! The slots of the frame at hand, with the values that they hold: what most instructions look at and write to.

use super::code::{HEADER, Slot};
use super::control::frames::Frames;
use super::notes::Notes;
use super::values::Values;
use region::{Full, Ref, tag};

/// The frame at hand and the values that its slots hold.
pub(super) struct Slots<'a> {
    pub(super) frames: &'a mut Frames,
    pub(super) values: &'a mut Values,
    pub(super) notes: Notes,
}

impl Slots<'_> {
    /// What a slot holds, bindings followed.
    #[inline]
    pub(super) fn read(&self, slot: Slot) -> Ref {
        let value = self.frames.slot(slot);
        if value.tag() == tag::VARIABLE { self.values.heap.walk(value) } else { value }
    }

    /// The expression of a head and of `count` arguments that lie in the frame that would be called.
    pub(super) fn applied(&mut self, head: Ref, block: Slot, count: Slot) -> Result<Ref, Full> {
        let call = self.values.heap.reserve(&mut self.values.region, usize::from(count) + 1)?;
        self.values.heap.set_child(call, 0, head);
        for index in 0..count {
            let argument = self.read(block + HEADER as Slot + index);
            self.values.heap.set_child(call, usize::from(index) + 1, argument);
        }
        Ok(call)
    }
}
