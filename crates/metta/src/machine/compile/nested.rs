//! Data with data inside: one instruction, in front of the code that builds it expression by expression.

use super::{Compiler, SLOTS_MAX};
use crate::instructions::is_instruction_name;
use crate::machine::code::{NestedData, NestedPart, Slot};
use crate::machine::nested_data::{PARTS_MAX, TAKEN_MAX};
use crate::machine::types::HeadKind;
use crate::machine::words::{EMPTY, ERROR};
use region::{Ref, Stamp};
use space::Atom;

impl Compiler<'_, '_> {
    /// The data of a head without rules and types, if there is other such data in its arguments, and nothing that is evaluated.
    pub(super) fn nested_data(&mut self, function: u32, head: Ref, arguments: &[Atom]) -> Option<u32> {
        let has_inside = arguments.iter().any(|argument| argument.children().is_some());
        if !has_inside || self.is_inside_data || self.run.m.code.is_exact {
            return None;
        }
        let mut made = NestedData::default();
        self.add_part(&mut made, (function, head), arguments, 0)?;
        self.run.m.code.nested.push(made);
        Some((self.run.m.code.nested.len() - 1) as u32)
    }

    /// Adds an expression, which is inside `depth` others, behind those inside of it; gives its place.
    fn add_part(
        &mut self,
        made: &mut NestedData,
        (function, head): (u32, Ref),
        arguments: &[Atom],
        depth: usize,
    ) -> Option<usize> {
        let (mut children, mut slots, mut inside) = (vec![head], Vec::new(), Vec::new());
        for (place, argument) in (1..).zip(arguments) {
            let child = match argument {
                Atom::Variable(variable) => {
                    let slot = *self.state.variables.get(variable)?;
                    let taken = (slot, self.is_normal(slot, 0));
                    let known = made.taken.iter().position(|known| *known == taken);
                    slots.push((place, known.unwrap_or(made.taken.len())));
                    if known.is_none() {
                        made.taken.push(taken);
                    }
                    EMPTY
                }
                Atom::Expression(_) => {
                    inside.push((place, self.add_inside(made, argument, depth + 1)?));
                    EMPTY
                }
                leaf => self.run.m.values.constant_leaf(leaf).filter(|&leaf| leaf != EMPTY && leaf != ERROR)?,
            };
            children.push(child);
        }
        let stamp = Stamp::new(&children)?;
        made.parts.push(NestedPart { function, stamp, taken: slots.into(), inside: inside.into() });
        let is_small = made.parts.len() <= PARTS_MAX && made.taken.len() <= TAKEN_MAX;
        is_small.then_some(made.parts.len() - 1)
    }

    /// Adds an expression whose head makes data of its arguments, if it does.
    fn add_inside(&mut self, made: &mut NestedData, atom: &Atom, depth: usize) -> Option<usize> {
        let [Atom::Symbol(name), arguments @ ..] = atom.children()? else { return None };
        let (count, name) = (arguments.len(), name.as_str());
        let head = self.run.m.values.constant_leaf(&atom.children()?[0])?;
        if depth == PARTS_MAX || count > SLOTS_MAX || head == EMPTY || head == ERROR || is_instruction_name(name) {
            return None;
        }
        let is_data = !self.run.is_special_form(name, count)
            && matches!(self.run.head_kind(head, count), HeadKind::Untyped)
            && !self.run.has_rules(head, count as Slot);
        if !is_data {
            return None;
        }
        let function = self.run.m.code.function(head, count as Slot, 0);
        self.add_part(made, (function, head), arguments, depth)
    }
}
