//! Functions that call themselves whatever they are called with.
//!
//! One is reported if it has one rule, which takes everything, and its right side comes to a call of itself before anything can decide
//! otherwise: on the way there are only functions that evaluate all their arguments, and before it only variables and plain words.

use super::survey::Survey;
use crate::syntax::{Diagnostic, NodeId, NodeKind};
use rustc_hash::FxHashSet;

/// Functions that evaluate all their arguments, and come to something only if all of them do.
const STRICT: [&str; 14] = ["+", "-", "*", "/", "%", "<", ">", "<=", ">=", "==", "and", "or", "println!", "cons-atom"];

pub(super) fn check(survey: &Survey<'_>, findings: &mut Vec<Diagnostic>) {
    if survey.is_open {
        return;
    }
    for rule in &survey.rules {
        let Some((name, arguments)) = survey.call(rule.left) else { continue };
        let only = survey.rule_count(name, arguments.len()) == 1 && takes_everything(survey, arguments);
        let right = survey.tree.children(rule.form.node).nth(2);
        let Some(call) = right.filter(|_| only).and_then(|right| own_call(survey, right, (name, arguments.len())))
        else {
            continue;
        };
        let message = format!("`{name}` calls itself whatever it is called with: it never ends");
        let finding = Diagnostic::warning("endless-recursion", survey.tree.span(call), message);
        let finding = finding.with_label("nothing decides before this");
        findings.push(finding.with_help("put the call into an `if`, whose condition says when it ends"));
    }
}

/// Whether the arguments are different variables.
fn takes_everything(survey: &Survey<'_>, arguments: &[NodeId]) -> bool {
    let mut seen = FxHashSet::default();
    arguments.iter().all(|argument| match survey.tree.kind(*argument) {
        NodeKind::Variable(name) => name.is_empty() || seen.insert(name),
        _ => false,
    })
}

/// The call of itself that a right side comes to in any case.
fn own_call(survey: &Survey<'_>, right: NodeId, own: (&str, usize)) -> Option<NodeId> {
    let mut node = right;
    loop {
        let (head, arguments) = survey.call(node)?;
        if (head, arguments.len()) == own {
            return Some(node);
        }
        if !STRICT.contains(&head) || !survey.is_native(head) {
            return None;
        }
        // What is before it may come to nothing if it is a call.
        node = *arguments.iter().find(|argument| matches!(survey.tree.kind(**argument), NodeKind::Expression(_)))?;
    }
}
