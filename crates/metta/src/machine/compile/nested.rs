//! Data with data inside: one instruction, in front of the code that builds it expression by expression.

use super::Compiler;
use crate::machine::code::{NestedData, NestedPart, Slot};
use crate::machine::core::{Core, Data};
use crate::machine::nested_data::{PARTS_MAX, TAKEN_MAX};
use crate::machine::words::EMPTY;
use region::Stamp;

impl Compiler<'_, '_> {
    /// What builds data at once; `None` if it is too large for that.
    pub(super) fn nested_data(&mut self, data: &Data) -> Option<u32> {
        let mut made = NestedData::default();
        self.add_part(&mut made, data)?;
        self.run.m.code.nested.push(made);
        Some((self.run.m.code.nested.len() - 1) as u32)
    }

    /// Adds an expression behind those inside of it; gives its place.
    fn add_part(&self, made: &mut NestedData, data: &Data) -> Option<usize> {
        let (mut children, mut slots, mut inside) = (vec![data.head], Vec::new(), Vec::new());
        for (place, child) in (1..).zip(data.children.iter().map(Core::if_unchanged)) {
            let leaf = match child {
                Core::Leaf(leaf) => *leaf,
                Core::Data(data) => {
                    inside.push((place, self.add_part(made, data)?));
                    EMPTY
                }
                Core::Variable(variable) | Core::Evaluate { variable, .. } => {
                    let slot: Slot = *self.state.variables.get(variable)?;
                    let taken = (slot, matches!(child, Core::Variable(_)));
                    let known = made.taken.iter().position(|known| *known == taken);
                    slots.push((place, known.unwrap_or(made.taken.len())));
                    if known.is_none() {
                        made.taken.push(taken);
                    }
                    EMPTY
                }
                _ => return None,
            };
            children.push(leaf);
        }
        let stamp = Stamp::new(&children)?;
        made.parts.push(NestedPart { function: data.function, stamp, taken: slots.into(), inside: inside.into() });
        let is_small = made.parts.len() <= PARTS_MAX && made.taken.len() <= TAKEN_MAX;
        is_small.then_some(made.parts.len() - 1)
    }
}
