//! Leaves out tests that are known to hold: a test that encloses them was made of the same variable, or its value was computed of numbers.

use crate::machine::core::Core;
use crate::machine::lower::Lower;
use space::Atom;

pub(super) fn run(node: &mut Core, lower: &mut Lower<'_>) {
    let mark = lower.facts.scope.mark();
    match node {
        Core::Guarded(guarded) => {
            guarded.tests.retain(|test| !(lower.facts.scope.holds(test) && lower.facts.may_change()));
            lower.facts.scope.learn_from(&guarded.tests);
            run(&mut guarded.fast, lower);
            if guarded.tests.is_empty() {
                // What it had to test is known.
                let fast = std::mem::replace(&mut guarded.fast, Core::Fail);
                *node = fast;
            }
        }
        node => each_part(node, lower, run),
    }
    lower.facts.scope.forget_from(mark);
}

/// Runs a pass over the parts of a node, where what the node makes known is known.
pub(super) fn each_part(node: &mut Core, lower: &mut Lower<'_>, run: fn(&mut Core, &mut Lower<'_>)) {
    match node {
        Core::Let { variable, value, then } => {
            run(value, lower);
            let fact = lower.facts.fact_of(value);
            lower.facts.scope.learn(variable, fact);
            run(then, lower);
        }
        Core::Match(parts) => {
            if let Atom::Variable(variable) = &parts.pattern
                && !lower.facts.scope.is_known(variable)
            {
                let fact = lower.facts.scope.known(&parts.subject);
                lower.facts.scope.learn(variable, fact);
            }
            run(&mut parts.then, lower);
        }
        Core::Fresh { variables, then } => {
            lower.facts.scope.learn_each(variables);
            run(then, lower);
        }
        node => node.each_part_mut(&mut |part| run(part, lower)),
    }
}
