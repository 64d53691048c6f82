//! Types that are nearly others: in statements of types.
//!
//! Types need not be declared, so one is reported only if nothing else is of it or says what it is, and a declared one is near.

use super::nearest::Neighbours;
use super::survey::Survey;
use crate::names;
use crate::syntax::{Diagnostic, NodeId, NodeKind, Visit};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// The types of the language.
const BUILT_IN: [&str; 11] = [
    "Atom",
    "Symbol",
    "Variable",
    "Expression",
    "Grounded",
    "Number",
    "String",
    "Bool",
    "Type",
    "SpaceType",
    "ErrorType",
];

pub(super) fn check(survey: &Survey<'_>, findings: &mut Vec<Diagnostic>) {
    let mut declared: BTreeSet<&str> = BUILT_IN.into();
    // A value may be an index of a dependent type: what it is of is said as well.
    let mut has_type: BTreeSet<&str> = BTreeSet::new();
    let mut uses: FxHashMap<&str, Vec<NodeId>> = FxHashMap::default();
    for form in survey.tree.forms() {
        let Some((":", &[subject, stated])) = survey.call(form.node) else { continue };
        let name = survey.tree.children(subject).next().unwrap_or(subject);
        if let NodeKind::Word(name) = survey.tree.kind(name) {
            has_type.insert(name);
            if is_kind(survey, stated) {
                declared.insert(name);
            }
        }
        for visit in survey.tree.walk(stated) {
            if let Visit::Leaf(leaf) = visit
                && let NodeKind::Word(word) = survey.tree.kind(leaf)
            {
                uses.entry(word).or_default().push(leaf);
            }
        }
    }
    let mut unknown: Vec<(&str, NodeId)> = uses
        .iter()
        .filter(|(word, places)| {
            places.len() == 1 && !declared.contains(*word) && !has_type.contains(*word) && **word != names::ARROW
        })
        .map(|(word, places)| (*word, places[0]))
        .collect();
    unknown.sort_unstable_by_key(|(_, place)| *place);
    let neighbours = Neighbours::new(declared.iter().copied());
    for (word, place) in unknown {
        let Some(near) = neighbours.nearest(word) else { continue };
        let message = format!("nothing says what the type `{word}` is; did you mean `{near}`?");
        let finding = Diagnostic::warning("unknown-type", survey.tree.span(place), message);
        let finding = finding.with_label("is a type that nothing has");
        findings.push(finding.with_help(format!("write `{near}`, or declare it: `(: {word} Type)`")));
    }
}

/// Whether a type is that of types: `Type`, or a function that comes to it.
fn is_kind(survey: &Survey<'_>, stated: NodeId) -> bool {
    let last = match survey.call(stated) {
        Some((names::ARROW, [.., last])) => *last,
        _ => stated,
    };
    survey.tree.kind(last) == NodeKind::Word("Type")
}
