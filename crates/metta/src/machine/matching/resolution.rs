//! Values with what is bound in them in place of variables.

use super::Bindings;
use crate::machine::halt::Halt;
use crate::machine::notes::Notes;
use crate::machine::values::{LOOKS_BETWEEN_LIMITS, Values};
use region::{Ref, tag};
use space::Outcomes;

impl Bindings {
    /// A value with everything bound in it put in.
    pub(in crate::machine) fn resolve(&mut self, values: &mut Values, notes: Notes, value: Ref) -> Result<Ref, Halt> {
        let value = values.heap.walk(value);
        if !value.is_expression() || value.tag() == tag::MARKED || notes.hold(values.heap.note(value)) {
            return Ok(value);
        }
        if !self.mentions_bound(values, notes, value) {
            return Ok(value);
        }
        rebuild(values, notes, value)
    }

    /// Whether a bound variable occurs in an expression.
    fn mentions_bound(&mut self, values: &Values, notes: Notes, value: Ref) -> bool {
        let mut work = std::mem::take(&mut self.work);
        work.clear();
        work.push(value);
        let mentions = values.any_mentions_bound(&mut work, notes);
        self.work = work;
        mentions
    }
}

/// An expression with what is bound in it in place of variables. What holds nothing bound stays, and what is met more than once is
/// made once, so it is as large as all that is bound. Limits are looked at all the same.
fn rebuild(values: &mut Values, notes: Notes, value: Ref) -> Result<Ref, Halt> {
    let (mut looks, mut known) = (0_usize, Outcomes::default());
    let mut open: Vec<Rebuilt> = vec![Rebuilt::of(value, values.heap.length(value))];
    loop {
        let top = open.last_mut().expect("an expression is open");
        let made = if let Some(&written) = values.heap.children(top.expression).get(top.done.len()) {
            let child = values.heap.walk(written);
            top.is_changed |= child != written;
            if child.tag() != tag::EXPRESSION || notes.hold(values.heap.note(child)) {
                child
            } else if let Some(made) = known.of(child.payload() as usize) {
                top.is_changed |= made != child;
                made
            } else {
                open.push(Rebuilt::of(child, values.heap.length(child)));
                looks += 1;
                if looks.is_multiple_of(LOOKS_BETWEEN_LIMITS) && values.ceiling.is_passed() {
                    return Err(values.ceiling.passed());
                }
                continue;
            }
        } else {
            let Rebuilt { expression, done, is_changed } = open.pop().expect("an expression is open");
            let made = match is_changed {
                true => values.heap.expression(&mut values.region, &done)?,
                false => expression,
            };
            known.keep(expression.payload() as usize, &(), &made);
            match open.last_mut() {
                Some(around) => around.is_changed |= is_changed,
                None => return Ok(made),
            }
            made
        };
        open.last_mut().expect("an expression is open").done.push(made);
    }
}

/// An expression that is made anew if something in it is bound.
struct Rebuilt {
    expression: Ref,
    done: Vec<Ref>,
    is_changed: bool,
}

impl Rebuilt {
    fn of(expression: Ref, length: usize) -> Self {
        Self { expression, done: Vec::with_capacity(length), is_changed: false }
    }
}
