//! Data with variables that is its own result.
//!
//! An expression whose heads are all words that nothing reduces and that have no types, and whose other parts are in normal form or
//! unbound variables, comes to itself, with what is bound in it put in. That is seen in one walk over a small one: no frame is made
//! for it, and none for its parts. What it comes to is made anew, each part marked as evaluated as if it had been evaluated alone: the
//! expression itself may be used elsewhere as one that was not evaluated.

use super::code::TypeId;
use super::normal_terms::Makes;
use super::types::Types;
use super::words::{EMPTY, ERROR, EVALUATED_OPEN, SYMBOL, TERM, evaluated_term, is_always_normal};
use super::{Halt, Machine, Running};
use region::{Ref, tag};

/// From here on it pays to look whether all children are in normal form already.
pub(super) const LONG: usize = 16;

/// How many parts are looked at.
const PARTS_MAX: usize = 64;

/// An expression of at most this many parts, none of which is such an expression itself, is looked at and made in one go.
const FLAT_MAX: usize = 6;

/// What a look at the parts of a small expression tells.
enum Flat {
    /// It is data, and comes to this.
    Inert(Ref),
    /// It is to be evaluated.
    Other,
    /// It has expressions inside that are to be looked into.
    Nested,
}

/// An expression that is made anew.
struct Rebuilt {
    old: Ref,
    new: Ref,
    length: usize,
    /// How many of its parts are there.
    parts: usize,
    is_ground: bool,
}

impl Running<'_> {
    /// What a value of a slot comes to, if it is an expression of that kind, or a term in normal form: no frame is made to evaluate it.
    #[inline(never)]
    pub(super) fn settled_value(&mut self, value: Ref, type_id: TypeId) -> Result<Option<Ref>, Halt> {
        if value.tag() != TERM {
            return self.inert_value(value);
        }
        if type_id != 0 || !self.settles(value)? {
            return Ok(None);
        }
        self.count_step()?;
        Ok(Some(evaluated_term(value)))
    }

    #[inline]
    fn inert_value(&mut self, value: Ref) -> Result<Option<Ref>, Halt> {
        if value.tag() != tag::EXPRESSION || self.m.code.is_exact {
            return Ok(None);
        }
        let (length, head) = self.m.values.heap.shape(value);
        if !(1..=LONG).contains(&length) {
            return Ok(None);
        }
        let head = self.m.values.heap.walk(head);
        if head.tag() != SYMBOL || head == ERROR {
            return Ok(None);
        }
        let found = self.inert(value)?;
        if found.is_some() {
            self.count_step()?;
        }
        Ok(found)
    }

    /// What an expression comes to, if it is data with variables or parts in normal form only.
    pub(super) fn inert(&mut self, value: Ref) -> Result<Option<Ref>, Halt> {
        match self.inert_if_flat(value)? {
            Flat::Inert(made) => return Ok(Some(made)),
            Flat::Other => return Ok(None),
            Flat::Nested => {}
        }
        let begun = self.m.values.heap.mark(&self.m.values.region);
        let made = self.made_anew(value)?;
        if made.is_none() {
            // Nobody has seen the parts that were made, so nothing is remembered of them.
            self.m.values.heap.rewind(&mut self.m.values.region, begun);
        }
        Ok(made)
    }

    fn inert_if_flat(&mut self, value: Ref) -> Result<Flat, Halt> {
        let Machine { values, types: Types { notes, .. }, .. } = &mut self.m;
        let length = values.heap.length(value);
        if length > FLAT_MAX {
            return Ok(Flat::Nested);
        }
        let (mut parts, mut is_ground) = ([EMPTY; FLAT_MAX], true);
        for (index, part) in parts[..length].iter_mut().enumerate() {
            let child = values.heap.walk(values.heap.child(value, index));
            *part = match child.tag() {
                SYMBOL if index == 0 || child != EMPTY && child != ERROR => child,
                _ if index == 0 => return Ok(Flat::Other),
                tag::VARIABLE => {
                    is_ground = false;
                    child
                }
                TERM if values.is_normal_term(child) => evaluated_term(child),
                tag::EXPRESSION if notes.hold(values.heap.note(child)) => child.marked(),
                tag::EXPRESSION if values.heap.length(child) == 0 => child,
                tag::EXPRESSION => return Ok(Flat::Nested),
                _ if is_always_normal(child) => child,
                _ => return Ok(Flat::Other),
            };
        }
        if self.makes(parts[0], length - 1)? != Makes::Data {
            return Ok(Flat::Other);
        }
        let Machine { values, types: Types { notes, .. }, .. } = &mut self.m;
        let made = values.heap.expression(&mut values.region, &parts[..length])?;
        values.heap.set_note(made, if is_ground { notes.normal() } else { EVALUATED_OPEN });
        Ok(Flat::Inert(if is_ground { made.marked() } else { made }))
    }

    /// What an expression with others inside comes to, if all of them are data.
    fn made_anew(&mut self, value: Ref) -> Result<Option<Ref>, Halt> {
        let normal = self.m.types.notes.normal();
        let mut left = PARTS_MAX;
        let mut around: Vec<Rebuilt> = Vec::new();
        let Some(mut made) = self.begun_anew(value, &mut left)? else { return Ok(None) };
        loop {
            let Machine { values, types: Types { notes, .. }, .. } = &mut self.m;
            let part = if made.parts < made.length {
                let child = values.heap.walk(values.heap.child(made.old, made.parts));
                match child.tag() {
                    SYMBOL if made.parts == 0 || child != EMPTY && child != ERROR => child,
                    tag::VARIABLE => {
                        made.is_ground = false;
                        child
                    }
                    TERM if values.is_normal_term(child) => evaluated_term(child),
                    tag::EXPRESSION if notes.hold(values.heap.note(child)) => child.marked(),
                    tag::EXPRESSION if values.heap.length(child) == 0 => child,
                    tag::EXPRESSION => {
                        let Some(inside) = self.begun_anew(child, &mut left)? else { return Ok(None) };
                        around.push(std::mem::replace(&mut made, inside));
                        continue;
                    }
                    _ if is_always_normal(child) => child,
                    _ => return Ok(None),
                }
            } else {
                let Rebuilt { new, is_ground, .. } = made;
                values.heap.set_note(new, if is_ground { normal } else { EVALUATED_OPEN });
                let whole = if is_ground { new.marked() } else { new };
                match around.pop() {
                    Some(outer) => made = outer,
                    None => return Ok(Some(whole)),
                }
                made.is_ground &= is_ground;
                whole
            };
            self.m.values.heap.set_child(made.new, made.parts, part);
            made.parts += 1;
        }
    }

    /// Begins to make an expression anew, unless its head says that it is no data, or too many parts were looked at.
    fn begun_anew(&mut self, old: Ref, left: &mut usize) -> Result<Option<Rebuilt>, Halt> {
        let (length, head) = self.m.values.heap.shape(old);
        let head = self.m.values.heap.walk(head);
        if length > *left || head.tag() != SYMBOL || self.makes(head, length - 1)? != Makes::Data {
            return Ok(None);
        }
        *left -= length;
        let new = self.m.values.heap.reserve(&mut self.m.values.region, length)?;
        Ok(Some(Rebuilt { old, new, length, parts: 0, is_ground: true }))
    }
}
