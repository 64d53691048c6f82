//! Variables that nothing gives a value: those only on the right side of a rule.
//!
//! A variable of a right side may get its value in a pattern, or from a call, since calls bind the variables of their arguments. So one
//! is reported if it is an argument of native functions only; or if it occurs once, and is nearly one of the left side that is not used.

use super::nearest::nearest;
use super::survey::{Role, RuleForm, Survey};
use crate::syntax::{Diagnostic, NodeId, NodeKind, Span, Visit};
use rustc_hash::{FxHashMap, FxHashSet};

/// The occurrences of a variable on a right side.
#[derive(Default)]
struct Occurrences {
    first: Option<Span>,
    count: usize,
    /// Whether one of them may give it a value.
    may_bind: bool,
}

pub(super) fn check(survey: &Survey<'_>, findings: &mut Vec<Diagnostic>) {
    for rule in &survey.rules {
        check_rule(survey, rule, findings);
    }
}

fn check_rule(survey: &Survey<'_>, rule: &RuleForm, findings: &mut Vec<Diagnostic>) {
    let left: FxHashSet<&str> = variables(survey, rule.left).map(|(name, _)| name).collect();
    let used = occurrences(survey, rule);
    let mut names: Vec<(&&str, &Occurrences)> = used.iter().filter(|(name, _)| !left.contains(**name)).collect();
    names.sort_unstable_by_key(|(_, occurrences)| occurrences.first.map(|span| span.start));
    for (name, occurrences) in names {
        let Some(span) = occurrences.first else { continue };
        if name.is_empty() || name.starts_with('_') {
            continue;
        }
        let unused = left.iter().copied().filter(|other| !used.contains_key(other));
        match nearest(name, unused) {
            Some(near) if occurrences.count == 1 || !occurrences.may_bind => {
                let message = format!("`${name}` occurs only on the right of this rule; did you mean `${near}`?");
                let finding = Diagnostic::warning("misspelt-variable", span, message);
                let finding = finding.with_label("nothing gives it a value");
                findings.push(
                    finding.with_help(format!("write `${near}`, which the left side has and the right side does not")),
                );
            }
            _ if !occurrences.may_bind => {
                let message = format!("`${name}` occurs only on the right of this rule");
                let finding = Diagnostic::warning("unbound-variable", span, message);
                let finding = finding.with_label("nothing gives it a value");
                findings.push(finding.with_help("add it to the left side, or bind it with `let`"));
            }
            _ => {}
        }
    }
}

/// The variables of a right side.
fn occurrences<'a>(survey: &Survey<'a>, rule: &RuleForm) -> FxHashMap<&'a str, Occurrences> {
    let mut found: FxHashMap<&str, Occurrences> = FxHashMap::default();
    let mut note = |name: &'a str, span: Span, may_bind: bool| {
        let known = found.entry(name).or_default();
        known.first = Some(known.first.map_or(span, |first| first.min(span)));
        known.count += 1;
        known.may_bind |= may_bind;
    };
    let strict = strict_arguments(survey, rule);
    for &(node, role) in &rule.parts {
        match (role, survey.tree.kind(node)) {
            (Role::Pattern | Role::Raw, _) => {
                variables(survey, node).for_each(|(name, span)| note(name, span, true));
            }
            (Role::Evaluated, NodeKind::Variable(name)) => {
                note(name, survey.tree.span(node), !strict.contains(&node));
            }
            _ => {}
        }
    }
    found
}

/// The arguments of native functions.
fn strict_arguments(survey: &Survey<'_>, rule: &RuleForm) -> FxHashSet<NodeId> {
    let evaluated = rule.parts.iter().filter(|(_, role)| *role == Role::Evaluated);
    let calls = evaluated.filter_map(|(node, _)| survey.call(*node));
    calls.filter(|(head, _)| survey.is_native(head)).flat_map(|(_, arguments)| arguments).copied().collect()
}

fn variables<'a>(survey: &Survey<'a>, node: NodeId) -> impl Iterator<Item = (&'a str, Span)> {
    let tree = survey.tree;
    tree.walk(node).filter_map(move |visit| match visit {
        Visit::Leaf(leaf) => match tree.kind(leaf) {
            NodeKind::Variable(name) => Some((name, tree.span(leaf))),
            _ => None,
        },
        _ => None,
    })
}
