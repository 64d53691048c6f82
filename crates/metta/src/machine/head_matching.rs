//! The instructions that match: values with what the pattern of a rule, or one elsewhere, says.
//!
//! Matching goes both ways: an unbound variable becomes what the pattern says.

use super::code::{HEADER, Instruction, NEXT_RULE, Pc, Slot};
use super::control::choices::Destination;
use super::control::frames::lay_out;
use super::matching::unification::Unified;
use super::values::Values;
use super::words::{FOREIGN, INTEGER, SYMBOL, TERM};
use super::{Halt, Running};
use region::{Full, Ref, tag};

impl Running<'_> {
    pub(super) fn match_leaf(&mut self, slot: Slot, leaf: Ref, or: Pc) -> Result<(), Halt> {
        let value = self.m.read(slot);
        if value == leaf {
            return Ok(());
        }
        match value.tag() {
            tag::VARIABLE => {
                self.m.bind(value, leaf);
                Ok(())
            }
            SYMBOL if leaf.tag() != FOREIGN => self.no_match(or),
            _ if self.m.values.equal_leaves(value, leaf) => Ok(()),
            FOREIGN if self.m.values.space_of(value).is_some() => self.match_custom(or),
            _ if self.m.values.space_of(leaf).is_some() => self.match_custom(or),
            _ => self.no_match(or),
        }
    }

    pub(super) fn match_shape(&mut self, slot: Slot, dst: Slot, shape: u32, or: Pc) -> Result<(), Halt> {
        let mut value = self.m.read(slot);
        let (length, head) = {
            let shape = &self.m.code.shapes[shape as usize];
            (shape.length as usize, shape.head)
        };
        if value.tag() == TERM {
            match opened_as(&mut self.m.values, value, length, head)? {
                Some(opened) => value = opened,
                None => return self.no_match(or),
            }
        }
        if value.is_expression() {
            return self.match_children(value, dst, length, head, or);
        }
        match value.tag() {
            tag::VARIABLE => self.build_shape(value, shape),
            FOREIGN if self.m.values.space_of(value).is_some() => self.match_custom(or),
            _ => self.no_match(or),
        }
    }

    #[inline]
    fn match_children(&mut self, value: Ref, dst: Slot, length: usize, head: Option<Ref>, or: Pc) -> Result<(), Halt> {
        let to = self.m.frames.base + HEADER + usize::from(dst);
        let children = self.m.values.heap.children(value);
        if children.len() != length {
            return self.no_match(or);
        }
        let skipped = usize::from(head.is_some());
        let found = children.first().copied();
        lay_out(&mut self.m.frames.stack[to..to + length - skipped], &children[skipped..]);
        match (head, found) {
            (Some(head), Some(found)) if head != found => self.match_head(found, head, or),
            _ => Ok(()),
        }
    }

    /// The head of an expression is not the word that is looked for, but may come to be it.
    fn match_head(&mut self, found: Ref, head: Ref, or: Pc) -> Result<(), Halt> {
        let found = self.m.values.heap.walk(found);
        if found.tag() == tag::VARIABLE {
            self.m.bind(found, head);
            return Ok(());
        }
        match found == head || self.m.values.equal_leaves(found, head) {
            true => Ok(()),
            false if self.m.values.space_of(found).or(self.m.values.space_of(head)).is_some() => self.match_custom(or),
            false => self.no_match(or),
        }
    }

    /// An unbound variable becomes what the pattern says.
    fn build_shape(&mut self, variable: Ref, shape: u32) -> Result<(), Halt> {
        let (template, built) = {
            let shape = &self.m.code.shapes[shape as usize];
            (shape.template, shape.built)
        };
        for place in 0..self.m.code.shapes[shape as usize].variables.len() {
            let (slot, name) = self.m.code.shapes[shape as usize].variables[place];
            let made = match name.tag() {
                INTEGER => self.m.values.make_form_variable(name.payload())?,
                _ => self.m.values.variable(name)?,
            };
            self.m.frames.set_slot(slot, made);
        }
        let value = self.m.build(template)?;
        if self.m.choices.bindings.occurs(&self.m.values, self.m.types.notes, variable, value) {
            let or = self.m.code.shapes[shape as usize].or;
            return self.no_match(or);
        }
        self.m.bind(variable, value);
        self.m.frames.pc = built;
        Ok(())
    }

    pub(super) fn match_same(&mut self, mut left: Slot, mut right: Slot, mut or: Pc) -> Result<(), Halt> {
        loop {
            let (known, value) = (self.m.frames.slot(left), self.m.frames.slot(right));
            match self.m.unify(value, known)? {
                Unified::Yes => return Ok(()),
                Unified::No => self.no_match(or)?,
                Unified::Custom => return self.match_custom(or),
            }
            // Rule after rule, often, looks for the same at another place.
            match self.m.code.instructions[self.m.frames.pc as usize] {
                Instruction::MatchSame { left: next, right: facing, or: behind } => {
                    (left, right, or) = (next, facing, behind);
                    self.m.frames.pc += 1;
                }
                _ => return Ok(()),
            }
        }
    }

    /// A head that does not match is followed by the next rule's; a pattern elsewhere says where to go.
    fn no_match(&mut self, or: Pc) -> Result<(), Halt> {
        if or == NEXT_RULE {
            return self.mismatch();
        }
        self.m.frames.pc = or;
        Ok(())
    }

    /// A pattern that meets a space is a query of it: the interpreter knows how.
    fn match_custom(&mut self, or: Pc) -> Result<(), Halt> {
        if let Some(&elsewhere) = self.m.code.spaces.get(&or) {
            self.m.frames.pc = elsewhere;
            return Ok(());
        }
        debug_assert!(or == NEXT_RULE, "a pattern outside of a head says where to go when it meets a space");
        let trying = self.m.choices.trying;
        if or != NEXT_RULE {
            return self.no_match(or);
        }
        if trying.matched {
            return match self.rule_with_spaces()? {
                Some(results) => self.deliver_all(results, Destination::Frame),
                None => self.no_match(NEXT_RULE),
            };
        }
        self.m.undo_to(trying.trail);
        let function = self.m.code.groups[trying.group as usize].function;
        self.interpret_call(function, trying.from)
    }
}

/// A term as an expression of the heap, if it may have a shape.
#[inline(never)]
fn opened_as(values: &mut Values, term: Ref, length: usize, head: Option<Ref>) -> Result<Option<Ref>, Full> {
    let may_have = values.term_shape(term, length as u32, head);
    if may_have { values.open_term(term).map(Some) } else { Ok(None) }
}
