//! Leaves out the tests whether types and special forms mean what they did where nothing was evaluated since the last of them: only
//! an evaluation can change what they mean.

use crate::machine::core::{Core, Effect, Test};
use crate::machine::lower::Lower;

pub(super) fn run(node: &mut Core, lower: &mut Lower<'_>) {
    let mut may_differ = lower.is_stale;
    walk(node, &mut may_differ, lower);
}

/// Goes through a node in the order of its evaluation; `may_differ` says whether something was evaluated since it was last tested.
fn walk(node: &mut Core, may_differ: &mut bool, lower: &mut Lower<'_>) {
    match node {
        Core::Fail | Core::Leaf(_) | Core::Quote(_) | Core::Variable(_) => {}
        Core::Guarded(guarded) => {
            if guarded.tests.contains(&Test::Unchanged) {
                if !*may_differ && lower.facts.may_change() {
                    guarded.tests.retain(|test| *test != Test::Unchanged);
                }
                *may_differ = false;
            }
            walk(&mut guarded.fast, may_differ, lower);
            if guarded.tests.is_empty() {
                let fast = std::mem::replace(&mut guarded.fast, Core::Fail);
                *node = fast;
            } else {
                *may_differ = true;
            }
        }
        Core::If(branches) => {
            walk(&mut branches.condition, may_differ, lower);
            if branches.tests.contains(&Test::Unchanged) {
                if !*may_differ && lower.facts.may_change() {
                    branches.tests.clear();
                }
                *may_differ = false;
            }
            let mut in_then = *may_differ;
            walk(&mut branches.then, &mut in_then, lower);
            walk(&mut branches.otherwise, may_differ, lower);
            // What is no truth value is evaluated elsewhere.
            *may_differ = true;
        }
        Core::Fresh { .. }
        | Core::Let { .. }
        | Core::Compute(_)
        | Core::Effect { effect: Effect::GetState | Effect::ChangeState, .. } => {
            node.each_part_mut(&mut |part| walk(part, may_differ, lower));
        }
        Core::Alternatives(nodes) => {
            // What is behind the first may be evaluated before the others are.
            for node in nodes {
                walk(node, may_differ, lower);
                *may_differ = true;
            }
        }
        Core::Query(_) | Core::Unify(_) => {
            // What is behind it may be evaluated before the next answer is looked at.
            *may_differ = true;
            node.each_part_mut(&mut |part| walk(part, may_differ, lower));
            *may_differ = true;
        }
        node => {
            node.each_part_mut(&mut |part| walk(part, may_differ, lower));
            *may_differ = true;
        }
    }
}
