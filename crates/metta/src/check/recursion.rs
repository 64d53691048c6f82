//! Functions that call themselves whatever they are called with.
//!
//! One is reported if it has one rule, which takes everything, and its right side comes to a call of itself before anything can decide
//! otherwise: on the way there are only functions that evaluate all their arguments, and before it only variables and plain words. Other
//! rules for single values end nothing, since all rules that match are taken.

use super::survey::Survey;
use crate::syntax::{Diagnostic, NodeId, NodeKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// Functions that evaluate all their arguments, and come to something only if all of them do.
const STRICT: [&str; 14] = ["+", "-", "*", "/", "%", "<", ">", "<=", ">=", "==", "and", "or", "println!", "cons-atom"];

pub(super) fn check(survey: &Survey<'_>, findings: &mut Vec<Diagnostic>) {
    if survey.is_open {
        return;
    }
    let ends = ends_of_all(survey);
    for rule in &survey.rules {
        let Some((name, arguments)) = survey.call(rule.left) else { continue };
        let own = (name, arguments.len());
        let only = survey.rule_count(name, arguments.len()) == 1;
        let end = if only { None } else { supposed_end(survey, own, &ends) };
        let is_asked = (only || end.is_some()) && takes_everything(survey, arguments);
        let right = survey.tree.children(rule.form.node).nth(2);
        let Some(call) = right.filter(|_| is_asked).and_then(|right| own_call(survey, right, own)) else {
            continue;
        };
        let text = |node: NodeId| survey.tree.span(node).slice(survey.tree.text());
        let message = match end {
            None => format!("`{name}` calls itself whatever it is called with: it never ends"),
            Some(end) => format!(
                "this never ends: all rules that match are taken, and `{}` matches `{}` too",
                text(rule.left),
                text(end)
            ),
        };
        let finding = Diagnostic::warning("endless-recursion", survey.tree.span(call), message);
        let finding = finding.with_label("nothing decides before this");
        findings.push(finding.with_help("put the call into an `if`, whose condition says when it ends"));
    }
}

/// The rules that the text states for a name and a number of arguments: how many, and those of which each argument is a value.
#[derive(Default)]
struct Ends {
    rules: usize,
    values: usize,
    first_value: Option<NodeId>,
}

fn ends_of_all<'a>(survey: &Survey<'a>) -> FxHashMap<(&'a str, usize), Ends> {
    let mut ends: FxHashMap<(&str, usize), Ends> = FxHashMap::default();
    for rule in &survey.rules {
        let Some((name, arguments)) = survey.call(rule.left) else { continue };
        let is_value = |argument: &NodeId| matches!(survey.tree.kind(*argument), NodeKind::Word(_));
        let of_name = ends.entry((name, arguments.len())).or_default();
        of_name.rules += 1;
        if !arguments.is_empty() && arguments.iter().all(is_value) {
            of_name.values += 1;
            of_name.first_value = of_name.first_value.or(Some(rule.left));
        }
    }
    ends
}

/// The left side of the rule that was meant to end a recursion: the first, of which each argument is a value, if one other is left.
fn supposed_end<'a>(
    survey: &Survey<'a>,
    own: (&'a str, usize),
    ends: &FxHashMap<(&'a str, usize), Ends>,
) -> Option<NodeId> {
    let of_name = ends.get(&own)?;
    let is_last = of_name.values + 1 == of_name.rules && of_name.rules == survey.rule_count(own.0, own.1);
    of_name.first_value.filter(|_| is_last)
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
