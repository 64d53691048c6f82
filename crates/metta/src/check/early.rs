//! Words that are used above the form that gives them a meaning.
//!
//! A word is read as what it means where it stands: above `!(import! &self random)` the word `random-int` is a symbol, and it stays one in
//! the rules there, whatever is imported later. Names for which a module has rules, in place of words, are found wherever they are used.

use super::forms::quoted;
use super::survey::Survey;
use crate::bundled::words_of;
use crate::stdlib;
use crate::syntax::{Diagnostic, Form, NodeKind, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use space::Atom;

pub(super) fn check(survey: &Survey<'_>, findings: &mut Vec<Diagnostic>) {
    let mut given: FxHashMap<&str, Form> = FxHashMap::default();
    for form in survey.tree.forms().iter().filter(|form| form.bang) {
        for word in words_given(survey, form) {
            given.entry(word).or_insert(*form);
        }
    }
    if given.is_empty() {
        return;
    }
    let mut told = FxHashSet::default();
    for (word, span) in uses(survey) {
        if let Some(form) = given.get(word)
            && span.start < form.span.start
            && survey.meaning(word) != Atom::symbol(word)
            && told.insert(word)
        {
            findings.push(finding(survey, word, span, form));
        }
    }
}

/// The words to which a form gives a meaning.
fn words_given<'a>(survey: &Survey<'a>, form: &Form) -> Vec<&'a str> {
    match survey.call(form.node) {
        Some(("import!", &[place, module])) if survey.tree.kind(place) == NodeKind::Word("&self") => {
            match survey.tree.kind(module) {
                NodeKind::Word(module) => words_of(module).collect(),
                _ => Vec::new(),
            }
        }
        // What the library has means something above the form, too.
        Some(("bind!", &[word, _])) => match survey.tree.kind(word) {
            NodeKind::Word(word) if stdlib::operations().all(|spec| spec.name != word) => vec![word],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The words that are evaluated, or have rules, in the order of the text.
fn uses<'a>(survey: &Survey<'a>) -> Vec<(&'a str, Span)> {
    let heads = survey.rules.iter().map(|rule| rule.left).chain(survey.evaluated());
    let called = heads.filter_map(|node| {
        let head = survey.tree.children(node).next()?;
        Some((survey.call(node)?.0, survey.tree.span(head)))
    });
    let alone = survey.evaluated().filter_map(|node| match survey.tree.kind(node) {
        NodeKind::Word(word) => Some((word, survey.tree.span(node))),
        _ => None,
    });
    let mut uses: Vec<(&str, Span)> = called.chain(alone).collect();
    uses.sort_by_key(|(_, span)| span.start);
    uses
}

fn finding(survey: &Survey<'_>, word: &str, span: Span, form: &Form) -> Diagnostic {
    let form = quoted(survey, form.node);
    let message = format!("`{word}` gets its meaning further down, and is a symbol here");
    let finding = Diagnostic::warning("word-before-its-meaning", span, message).with_label("is read as a symbol");
    finding.with_help(format!("put `!{form}` above this"))
}
