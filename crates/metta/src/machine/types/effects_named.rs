//! Whether an expression names a native function that does more than read, itself or in the rules of a function that it calls.
//!
//! 1. An expression that is not evaluated yet is looked through with all its parts, whether they are arguments, or values that are called later.
//! 2. So are the right sides of all functions that are called in it, and in those. What is found out about a function is kept until rules change.
//! 3. What stands in a variable of a right side, in evaluated data, or in what a query answers is not looked for: an effect of such a function is
//!    seen when it has happened ([`crate::machine::begun_again`]).

use super::TypeChecker;
use super::rules::FunctionTypes;
use crate::machine::code::{Callee, Slot};
use crate::machine::halt::Halt;
use crate::machine::words::{FOREIGN, SYMBOL, TERM};
use crate::operation::Operation;
use region::Ref;
use rustc_hash::FxHashSet;
use space::{Atom, distinct_parts};

/// More parts of an expression are not looked through.
const PARTS_MAX: usize = 1_000;

impl FunctionTypes<'_> {
    /// Whether a value that is still to be evaluated names a native function with effects, as far as it is looked through.
    pub(super) fn names_effects(&mut self, value: Ref) -> Result<bool, Halt> {
        let mut work = vec![value];
        for _ in 0..PARTS_MAX {
            let Some(value) = work.pop() else { return Ok(false) };
            let TypeChecker { types, values, .. } = self.rules.types();
            let mut value = values.heap.walk(value);
            if value.tag() == FOREIGN && has_effects(values.foreign_of(value)) {
                return Ok(true);
            }
            if types.own_result(values, value, 0).is_some() {
                continue;
            }
            if value.tag() == TERM {
                value = values.open_term(value)?;
            }
            if !value.is_expression() {
                continue;
            }
            work.extend(values.heap.children(value));
            let Some(&head) = values.heap.children(value).first() else { continue };
            let (length, head) = (values.heap.length(value), values.heap.walk(head));
            if let Ok(count) = Slot::try_from(length - 1)
                && self.function_names_effects((head, count))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a native function with effects is named in the rules of a function, or of those that they call.
    fn function_names_effects(&mut self, callee: Callee) -> bool {
        if let Some(&known) = self.rules.types().types.naming_effects.get(&callee) {
            return known;
        }
        let (mut work, mut seen, mut found) = (vec![callee], FxHashSet::from_iter([callee]), false);
        while let Some(callee) = work.pop().filter(|_| !found) {
            let is_named = callee.0.tag() == SYMBOL && self.rules.has_rules(callee);
            let rules = if is_named { self.rules.rules_taking_no_numbers(callee) } else { None };
            // Bounded by the text of the program.
            for (_, body) in rules.into_iter().flatten() {
                found |= distinct_parts(&body).any(has_effects);
                work.extend(self.called_in(&body).into_iter().filter(|called| seen.insert(*called)));
            }
        }
        let kept = &mut self.rules.types().types.naming_effects;
        match found {
            true => _ = kept.insert(callee, true),
            // None of those that it calls names one.
            false => kept.extend(seen.into_iter().map(|callee| (callee, false))),
        }
        found
    }

    /// The functions that are called in a right side by their names.
    fn called_in(&mut self, body: &Atom) -> Vec<Callee> {
        let values = self.rules.types().values;
        let callee = |part: &Atom| match part.children() {
            Some([head @ Atom::Symbol(_), arguments @ ..]) => {
                Some((values.constant_leaf(head)?, Slot::try_from(arguments.len()).ok()?))
            }
            _ => None,
        };
        distinct_parts(body).filter_map(callee).collect()
    }
}

fn has_effects(atom: &Atom) -> bool {
    Operation::of(atom).is_some_and(|operation| !operation.effects().only_read())
}
