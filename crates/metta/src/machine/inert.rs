//! Data with variables that is its own result.
//!
//! An expression whose heads are all words that nothing reduces and that have no types, and whose other parts are settled or
//! unbound variables, comes to itself, with what is bound in it put in. That is seen in one walk over a small one: no frame is made
//! for it, and none for its parts. Where rules may change while a form is evaluated it is evaluated part by part all the same, as
//! each part is marked then.

use super::settled::Makes;
use super::values::{EMPTY, ERROR, EVALUATED_OPEN, SYMBOL, TERM, is_always_settled};
use super::{Halt, Running};
use region::{Ref, tag};

/// How many parts are looked at.
const PARTS_MAX: usize = 64;

/// What was met in data.
#[derive(Default)]
struct Met {
    unbound: bool,
    bound: bool,
}

impl Running<'_> {
    /// What an expression comes to, if it is data with variables or settled parts only.
    pub(super) fn inert(&mut self, value: Ref) -> Result<Option<Ref>, Halt> {
        let mut work = std::mem::take(&mut self.m.work);
        work.clear();
        work.push(value);
        let met = self.is_inert_within(&mut work);
        self.m.work = work;
        let Some(met) = met? else { return Ok(None) };
        let value = if met.bound { self.resolve(value)? } else { value };
        if met.unbound {
            self.m.values.heap.set_note(value, EVALUATED_OPEN);
            return Ok(Some(value));
        }
        self.m.values.heap.set_note(value, self.m.notes.settled());
        Ok(Some(value.marked()))
    }

    fn is_inert_within(&mut self, work: &mut Vec<Ref>) -> Result<Option<Met>, Halt> {
        let (mut met, mut left) = (Met::default(), PARTS_MAX);
        while let Some(expression) = work.pop() {
            let length = self.m.values.heap.length(expression);
            let head = self.m.values.heap.child(expression, 0);
            if length > left || head.tag() != SYMBOL || self.makes(head, length - 1)? != Makes::Data {
                return Ok(None);
            }
            left -= length;
            for index in 1..length {
                let written = self.m.values.heap.child(expression, index);
                let child = self.m.values.heap.walk(written);
                met.bound |= child != written;
                match child.tag() {
                    _ if is_always_settled(child) => {}
                    tag::VARIABLE => met.unbound = true,
                    SYMBOL if child != EMPTY && child != ERROR => {}
                    TERM if self.m.values.is_settled_term(child) => {}
                    tag::EXPRESSION if self.m.values.heap.length(child) == 0 => {}
                    tag::EXPRESSION if self.m.notes.hold(self.m.values.heap.note(child)) => {}
                    tag::EXPRESSION => work.push(child),
                    _ => return Ok(None),
                }
            }
        }
        Ok(Some(met))
    }
}
