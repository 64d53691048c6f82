//! Leaves out tests that are known to hold: a test that encloses them was made of the same variable, or its value was computed of numbers.

use crate::machine::core::Core;
use crate::machine::lower::Lower;
use space::Atom;

pub(super) fn run(node: &mut Core, lower: &mut Lower<'_, '_>) {
    let mark = lower.scope.mark();
    match node {
        Core::Guarded(guarded) => {
            guarded.tests.retain(|test| !(lower.scope.holds(test) && lower.may_change()));
            lower.scope.learn_from(&guarded.tests);
            run(&mut guarded.fast, lower);
            if guarded.tests.is_empty() {
                // What it had to test is known.
                let fast = std::mem::replace(&mut guarded.fast, Core::Fail);
                *node = fast;
            }
        }
        Core::Let { variable, value, then } => {
            run(value, lower);
            let fact = lower.fact_of(value);
            lower.scope.learn(variable, fact);
            run(then, lower);
        }
        Core::Match(parts) => {
            if let Atom::Variable(variable) = &parts.pattern
                && !lower.scope.is_known(variable)
            {
                let fact = lower.scope.fact(&parts.subject);
                lower.scope.learn(variable, fact);
            }
            run(&mut parts.then, lower);
        }
        Core::Fresh { variables, then } => {
            lower.scope.learn_each(variables);
            run(then, lower);
        }
        node => node.each_part_mut(&mut |part| run(part, lower)),
    }
    lower.scope.forget_from(mark);
}
