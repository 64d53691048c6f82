//! Passes over [Core](super::core): each makes the code that is written of it shorter or faster, and leaves what it means.
//!
//! They run in this order, and each can be switched off: a program gives the same results without it. Each change of a node is counted, so
//! that a limit of changes finds the one that breaks a program.

mod at_once;
mod compare;
mod known;
mod leaves;
mod small;
mod unchanged;

use super::code::Shown;
use super::core::{Core, check, show};
use super::lower::Lower;
use crate::passes::Pass;

/// Runs the passes that are selected over a node, at the place where it was lowered. If it is to be shown, each step notes the node if it
/// has changed it.
pub(super) fn run(node: &mut Core, lower: &mut Lower<'_>, mut shown: Option<&mut Vec<Shown>>) {
    let passes = lower.facts.run.passes();
    let mut note = |step: &'static str, node: &Core, lower: &Lower<'_>| {
        verify(node, lower, step);
        if let Some(shown) = &mut shown {
            let text = show(node, lower.facts.run.machine());
            if shown.last().is_none_or(|(_, last)| *last != text) {
                shown.push((step, text));
            }
        }
    };
    note("lowered", node, lower);
    for pass in Pass::ALL.into_iter().filter(|pass| passes.has(*pass)) {
        apply(pass, node, lower);
        note(pass.name(), node, lower);
    }
}

/// In builds with assertions: a node is well formed after a step.
fn verify(node: &Core, lower: &Lower<'_>, step: &str) {
    if cfg!(debug_assertions)
        && let Err(wrong) = check(node, &|variable| lower.facts.scope.is_known(variable))
    {
        panic!("{step}: {wrong} in\n{}", show(node, lower.facts.run.machine()));
    }
}

/// Rewrites a node.
fn apply(pass: Pass, node: &mut Core, lower: &mut Lower<'_>) {
    match pass {
        // They decide how something is lowered.
        Pass::FusedQueries | Pass::QueryFilters | Pass::DataAroundCalls => {}
        Pass::KnownTests => known::run(node, lower),
        Pass::UnchangedTypes => unchanged::run(node, lower),
        Pass::CompareSmall => compare::run(node, lower),
        Pass::SkipSmall => small::run(node, lower),
        Pass::LeafAnswers => leaves::run(node, lower),
        Pass::DataAtOnce => at_once::run(node, lower),
    }
}
