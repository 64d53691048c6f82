//! Building what templates say.

use super::code::{Code, HEADER, TemplatePart};
use super::control::frames::Frames;
use super::values::Values;
use region::{Full, Ref};

impl Code {
    /// Builds what a template says.
    pub(super) fn build(
        &self,
        frames: &Frames,
        values: &mut Values,
        scratch: &mut Vec<Ref>,
        template: u32,
    ) -> Result<Ref, Full> {
        let (frame, mut count) = (&frames.stack[frames.base + HEADER..], 0);
        let parts = &self.templates[template as usize];
        if scratch.len() < parts.len() {
            scratch.resize(parts.len(), Ref::from_bits(0));
        }
        for part in parts {
            let made = match *part {
                TemplatePart::Leaf(leaf) => leaf,
                TemplatePart::Slot(slot) => Ref::from_bits(frame[usize::from(slot)]),
                TemplatePart::Expression(children) => {
                    count -= children as usize;
                    values.heap.expression(&mut values.region, &scratch[count..count + children as usize])?
                }
            };
            scratch[count] = made;
            count += 1;
        }
        debug_assert!(count == 1, "a template makes one value");
        Ok(scratch[0])
    }
}
