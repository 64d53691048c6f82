//! What is written as in another language: comments, definitions, truth values, types of functions, a rule without its brackets.
//!
//! Each of these is data in MeTTa, so nothing would be said of it.

use super::forms::{TRUTH_TAKERS, expression, has_type, quoted};
use super::survey::Survey;
use crate::names;
use crate::program::Program;
use crate::syntax::{Diagnostic, Form, NodeId, NodeKind};
use space::Atom;

/// Words that define something elsewhere.
const DEFINERS: [&str; 7] = ["def", "define", "defun", "defn", "fun", "func", "fn"];

pub(super) fn check(survey: &Survey<'_>, program: &mut Program, findings: &mut Vec<Diagnostic>) {
    // The rest of a line after the mark of a comment is words of it.
    let mut comment_ends = 0;
    let forms = survey.tree.forms();
    for (index, form) in forms.iter().enumerate().filter(|(_, form)| !form.bang) {
        if form.span.start < comment_ends {
            continue;
        }
        if let Some(finding) = comment(survey, form) {
            let text = survey.tree.text();
            let start = form.span.start as usize;
            comment_ends = text[start..].find('\n').map_or(text.len(), |length| start + length) as u32;
            findings.push(finding);
            continue;
        }
        findings.extend(bare_rule(survey, form, &forms[index + 1..]));
        findings.extend(definition(survey, form.node));
        findings.extend(arrow(survey, form.node));
    }
    for node in survey.evaluated() {
        findings.extend(truth_value(survey, node, program));
    }
}

/// A comment that begins with another mark than `;`.
fn comment(survey: &Survey<'_>, form: &Form) -> Option<Diagnostic> {
    let NodeKind::Word(word) = survey.tree.kind(form.node) else { return None };
    let mark = ["//", "#"].into_iter().find(|mark| word.starts_with(mark))?;
    let message = format!("`{mark}` begins no comment: each word of this line is a fact");
    let finding = Diagnostic::warning("mark-of-no-comment", form.span, message).with_label("is a fact");
    Some(finding.with_help("write `;` before a comment"))
}

/// A rule without the brackets around it.
fn bare_rule(survey: &Survey<'_>, form: &Form, later: &[Form]) -> Option<Diagnostic> {
    let [left, ..] = later else { return None };
    let is_bare = survey.tree.kind(form.node) == NodeKind::Word(names::EQUAL) && !left.bang;
    expression(survey, left.node).filter(|_| is_bare)?;
    let message = "this `=` stands outside an expression, so that it states no rule";
    let finding = Diagnostic::warning("rule-without-brackets", form.span, message).with_label("is a fact");
    Some(finding.with_help(format!("put brackets around the whole rule: `(= {} …)`", quoted(survey, left.node))))
}

/// A definition as in another language.
fn definition(survey: &Survey<'_>, node: NodeId) -> Option<Diagnostic> {
    let (name, [_, ..]) = survey.call(node)? else { return None };
    let is_meant = survey.known.contains_key(name) || survey.matched.contains(name) || survey.matches_anything;
    if !DEFINERS.contains(&name) || is_meant {
        return None;
    }
    let message = format!("`{name}` has no meaning: this is a fact, and defines nothing");
    let span = survey.tree.span(survey.tree.children(node).next()?);
    let finding = Diagnostic::warning("no-definition", span, message).with_label("is a symbol");
    Some(finding.with_help("write `(= (NAME $ARGUMENT …) BODY)`"))
}

/// A type of a function with the arrow between its types.
fn arrow(survey: &Survey<'_>, node: NodeId) -> Option<Diagnostic> {
    let (":", &[_, stated]) = survey.call(node)? else { return None };
    let is_arrow = |node: &NodeId| survey.tree.kind(*node) == NodeKind::Word(names::ARROW);
    let children = expression(survey, stated)?;
    let at = children.iter().position(is_arrow).filter(|at| *at > 0)?;
    let types: Vec<String> =
        children.iter().filter(|child| !is_arrow(child)).map(|child| quoted(survey, *child)).collect();
    let message = "`->` stands between the types, so that this is no type of a function";
    let finding = Diagnostic::warning("arrow-between", survey.tree.span(children[at]), message);
    let finding = finding.with_label("is an element like the others");
    Some(finding.with_help(format!("write `(-> {})`: the arrow comes first", types.join(" "))))
}

/// A truth value in small letters.
fn truth_value(survey: &Survey<'_>, node: NodeId, program: &mut Program) -> Option<Diagnostic> {
    let (head, arguments) = survey.call(node)?;
    let tested = if head == "if" { arguments.get(..1)? } else { arguments };
    if !TRUTH_TAKERS.contains(&head) {
        return None;
    }
    for argument in tested {
        let NodeKind::Word(word) = survey.tree.kind(*argument) else { continue };
        let meant = match word {
            "true" | "TRUE" | "#t" => "True",
            "false" | "FALSE" | "#f" => "False",
            _ => continue,
        };
        let is_plain = matches!(survey.meaning(word), Atom::Symbol(_)) && !survey.known.contains_key(word);
        if is_plain && !has_type(survey, word, program, false) {
            let message = format!("`{word}` is a symbol, and `{head}` takes truth values; did you mean `{meant}`?");
            let finding = Diagnostic::warning("symbol-for-truth-value", survey.tree.span(*argument), message);
            return Some(finding.with_label("is a symbol").with_help(format!("write `{meant}`")));
        }
    }
    None
}
