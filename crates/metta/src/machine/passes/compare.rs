//! A condition that compares two values which are numbers is decided at once if they are small integers: before the comparison that any
//! numbers can take, or even before the tests that they are numbers, since small integers pass these.

use super::known;
use crate::machine::code::Guard;
use crate::machine::core::{Core, Fact, If, Operation, Shortcut, Test};
use crate::machine::lower::Lower;
use crate::machine::words::is_small;
use space::Variable;

pub(super) fn run(node: &mut Core, lower: &mut Lower<'_>) {
    let mark = lower.facts.scope.mark();
    match node {
        Core::Guarded(guarded) => {
            let ask_for_numbers = |test: &Test| !matches!(test, Test::Is(_, guard) if *guard != Guard::Number);
            let is_tested = |variable: &Variable| guarded.tests.contains(&Test::Is(variable.clone(), Guard::Number));
            if guarded.tests.iter().all(ask_for_numbers)
                && guarded.tests.iter().any(|test| *test != Test::Unchanged)
                && let Core::If(branches) = &mut guarded.fast
                && is_comparison(branches, |variable| is_tested(variable) || is_number(lower, variable))
            {
                branches.shortcut = lower.facts.may_change().then_some(Shortcut::BeforeTests);
            }
            lower.facts.scope.learn_from(&guarded.tests);
            run(&mut guarded.fast, lower);
        }
        Core::If(branches) => {
            if branches.shortcut.is_none()
                && is_comparison(branches, |variable| is_number(lower, variable))
                && lower.facts.may_change()
            {
                branches.shortcut = Some(Shortcut::BeforeCondition);
            }
            [&mut branches.condition, &mut branches.then, &mut branches.otherwise]
                .into_iter()
                .for_each(|part| run(part, lower));
        }
        node => known::each_part(node, lower, run),
    }
    lower.facts.scope.forget_from(mark);
}

fn is_number(lower: &Lower<'_>, variable: &Variable) -> bool {
    lower.facts.scope.fact(variable) == Some(Fact::Number)
}

/// Whether a condition compares variables that are numbers, or such a variable and a small integer.
fn is_comparison(branches: &If, is_number: impl Fn(&Variable) -> bool) -> bool {
    let Core::Compute(compute) = &branches.condition else { return false };
    if !matches!(compute.operation, Operation::Comparison(_)) {
        return false;
    }
    match compute.operands.as_slice() {
        [Core::Variable(left), Core::Leaf(right)] => is_number(left) && is_small(*right),
        [Core::Variable(left), Core::Variable(right)] => is_number(left) && is_number(right),
        _ => false,
    }
}
