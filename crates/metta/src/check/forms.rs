//! Forms that are written otherwise than was meant: `=` where `==` compares, an operator between its arguments, a missing `!`, a word
//! without `$`, pairs without their brackets, a space that has no name, a text that goes over lines.

use super::nearest::nearest;
use super::survey::Survey;
use crate::failure::message::shorten;
use crate::names;
use crate::program::Program;
use crate::settings::{self, Idle};
use crate::syntax::{Diagnostic, Form, NodeId, NodeKind, Span, Visit};
use crate::types;
use rustc_hash::FxHashSet;
use space::Atom;

/// Functions whose first arguments are truth values.
pub(super) const TRUTH_TAKERS: [&str; 5] = ["if", "and", "or", "not", "xor"];

/// Functions that programmers of other languages write between their arguments.
const OPERATORS: [&str; 10] = ["+", "-", "*", "/", "%", "<", ">", "<=", ">=", "=="];

/// Functions whose first argument is a space.
const SPACE_TAKERS: [&str; 5] = ["match", "add-atom", "remove-atom", "get-atoms", "add-reduct"];

/// The most characters of the text that a message quotes.
const QUOTED_MAX: usize = 60;

pub(super) fn check(survey: &Survey<'_>, program: &mut Program, findings: &mut Vec<Diagnostic>) {
    for node in survey.evaluated() {
        findings.extend(equals(survey, node));
        findings.extend(infix(survey, node));
        findings.extend(unpaired(survey, node));
        findings.extend(no_space(survey, node));
        findings.extend(bound_symbol(survey, node, program));
        findings.extend(idle_setting(survey, node));
        findings.extend(long_text(survey, node));
    }
    for form in survey.tree.forms() {
        findings.extend(not_asked(survey, form, program));
    }
    symbols(survey, program, findings);
}

/// A part of the text as it stands, on one line and not too long.
pub(super) fn quoted(survey: &Survey<'_>, node: NodeId) -> String {
    let words = survey.tree.span(node).slice(survey.tree.text()).split_whitespace();
    shorten(&words.collect::<Vec<_>>().join(" "), QUOTED_MAX)
}

/// The children of a node if it is an expression.
pub(super) fn expression<'a>(survey: &Survey<'a>, node: NodeId) -> Option<&'a [NodeId]> {
    match survey.tree.kind(node) {
        NodeKind::Expression(children) => Some(children),
        _ => None,
    }
}

/// `=` where a truth value is wanted.
fn equals(survey: &Survey<'_>, node: NodeId) -> Option<Diagnostic> {
    let (head, arguments) = survey.call(node)?;
    if !TRUTH_TAKERS.contains(&head) {
        return None;
    }
    let tested = if head == "if" { arguments.get(..1)? } else { arguments };
    let wrong = tested.iter().find(|tested| matches!(survey.call(**tested), Some((names::EQUAL, [_, _]))))?;
    let (_, sides) = survey.call(*wrong)?;
    let sign = survey.tree.children(*wrong).next()?;
    let message = format!("`=` states a rule, and does not compare: this is no truth value for `{head}`");
    let finding = Diagnostic::warning("equals-for-comparison", survey.tree.span(sign), message);
    let help = format!("write `(== {} {})`", quoted(survey, sides[0]), quoted(survey, sides[1]));
    Some(finding.with_label("states a rule").with_help(help))
}

/// An operator between its arguments.
fn infix(survey: &Survey<'_>, node: NodeId) -> Option<Diagnostic> {
    let &[left, operator, right] = expression(survey, node)? else { return None };
    let NodeKind::Word(name) = survey.tree.kind(operator) else { return None };
    let is_value = match survey.tree.kind(left) {
        NodeKind::Word(word) => survey.meaning(word).as_symbol().is_none() && !survey.is_native(word),
        NodeKind::Variable(_) => true,
        NodeKind::Expression(_) => survey.call(left).is_some_and(|(head, _)| OPERATORS.contains(&head)),
        NodeKind::String(_) => false,
    };
    // A program that matches such expressions means them as data.
    if !is_value || !OPERATORS.contains(&name) || survey.data.contains(name) {
        return None;
    }
    let message = format!("`{name}` stands between its arguments: no function is called here");
    let finding = Diagnostic::warning("operator-between", survey.tree.span(operator), message);
    let help = format!("write `({name} {} {})`: the function comes first", quoted(survey, left), quoted(survey, right));
    Some(finding.with_label("is an element like the others").with_help(help))
}

/// A list of pairs that has something else in it.
fn unpaired(survey: &Survey<'_>, node: NodeId) -> Option<Diagnostic> {
    let (head, arguments) = survey.call(node)?;
    let (list, pair, whole) = match (head, arguments) {
        ("let*", [list, _]) => (*list, "`(PATTERN VALUE)`", "(let* ((PATTERN VALUE) …) BODY)".to_owned()),
        ("case" | "switch", [_, list]) => (*list, "`(PATTERN BODY)`", format!("({head} VALUE ((PATTERN BODY) …))")),
        _ => return None,
    };
    let pairs = expression(survey, list)?;
    let wrong = *pairs.iter().find(|inner| match survey.tree.kind(**inner) {
        NodeKind::Expression(children) => children.len() != 2,
        NodeKind::Variable(_) => pairs.len() == 2,
        _ => true,
    })?;
    let message = format!("`{head}` takes a list of pairs {pair}, and this is not one");
    let finding = Diagnostic::warning("not-a-pair", survey.tree.span(wrong), message);
    let lacks_brackets = pairs.len() == 2 && expression(survey, pairs[0]).is_none();
    let help = match lacks_brackets {
        true => format!("write `({})`: one pair is a list with one pair in it", quoted(survey, list)),
        false => format!("write `{whole}`"),
    };
    Some(finding.with_label("stands where a pair is expected").with_help(help))
}

/// A word that no space is bound to, where a space is expected.
fn no_space(survey: &Survey<'_>, node: NodeId) -> Option<Diagnostic> {
    let (head, arguments) = survey.call(node)?;
    let first = *arguments.first()?;
    let NodeKind::Word(word) = survey.tree.kind(first) else { return None };
    let is_other = survey.meaning(word).as_symbol().is_none() || survey.known.contains_key(word);
    if is_other || !SPACE_TAKERS.contains(&head) || survey.data.contains(word) {
        return None;
    }
    let with_sign = format!("&{word}");
    let spaces = || survey.words.names().filter(|name| name.starts_with('&'));
    let meant = spaces().find(|name| *name == with_sign).or_else(|| nearest(word, spaces()));
    let message = match meant {
        Some(meant) => format!("`{word}` is not bound to a space; did you mean `{meant}`?"),
        None => format!("`{word}` is not bound to a space"),
    };
    let finding = Diagnostic::warning("unknown-space", survey.tree.span(first), message);
    let finding = finding.with_label("is a symbol");
    let name = word.trim_start_matches('&');
    Some(finding.with_help(match meant {
        Some(meant) => format!("write `{meant}`"),
        None => format!("write `!(bind! &{name} (new-space))` before it, or `&self` for the space of the program"),
    }))
}

/// A setting of `pragma!` that has no effect.
fn idle_setting(survey: &Survey<'_>, node: NodeId) -> Option<Diagnostic> {
    let Some(("pragma!", &[key, value])) = survey.call(node) else { return None };
    let NodeKind::Word(name) = survey.tree.kind(key) else { return None };
    let idle = settings::idle(name, &quoted(survey, value))?;
    let (wrong, message) = match idle {
        Idle::Name(_) => (key, format!("`pragma!` has no setting `{name}`; {}", idle.hint())),
        Idle::Value(_) => (value, format!("this value turns `{name}` off; {}", idle.hint())),
    };
    let finding = Diagnostic::warning("unknown-setting", survey.tree.span(wrong), message);
    let finding = finding.with_label("has no effect");
    Some(match idle {
        Idle::Name(Some(near)) | Idle::Value(near) => finding.with_help(format!("write `{near}`")),
        Idle::Name(None) => finding,
    })
}

/// A text in which the next form stands, since its closing quote was forgotten.
fn long_text(survey: &Survey<'_>, node: NodeId) -> Option<Diagnostic> {
    let NodeKind::String(_) = survey.tree.kind(node) else { return None };
    let span = survey.tree.span(node);
    let written = span.slice(survey.tree.text());
    let at = ["\n(", "\n!("].iter().filter_map(|start| written.find(start)).min()?;
    let place = span.start + u32::try_from(at).ok()? + 1;
    let quote = Span { start: span.start, end: span.start + 1 };
    let finding = Diagnostic::warning("text-over-forms", quote, "this text goes on over the forms that follow");
    let finding = finding.with_label("the text begins here");
    let finding = finding.with_related(Span { start: place, end: place + 1 }, "this line is part of the text");
    Some(finding.with_help("add the closing `\"` before the line that begins at the margin"))
}

/// A form that is stated and was meant to be evaluated.
fn not_asked(survey: &Survey<'_>, form: &Form, program: &mut Program) -> Option<Diagnostic> {
    let (name, arguments) = survey.call(form.node).filter(|_| !form.bang)?;
    let acts = survey.is_native(name) && (name.ends_with('!') || name.starts_with("assert"));
    if !acts && !is_call(survey, (name, arguments.len()), form, program) {
        return None;
    }
    let message = format!("this call of `{name}` is stated as a fact, and is not evaluated");
    let finding = Diagnostic::warning("forgotten-exclamation-mark", survey.tree.span(form.node), message);
    let finding = finding.with_label("nothing comes of it");
    Some(finding.with_help(format!("write `!{}` to evaluate it", quoted(survey, form.node))))
}

/// Whether what stands there as a fact can only be meant as a call: the text has rules for it, and matches no such facts.
fn is_call(survey: &Survey<'_>, (name, given): (&str, usize), form: &Form, program: &mut Program) -> bool {
    let has_rule = survey.stated.contains(&(name, given));
    let is_ground = || {
        survey.tree.walk(form.node).all(|visit| match visit {
            Visit::Leaf(leaf) => !matches!(survey.tree.kind(leaf), NodeKind::Variable(_)),
            _ => true,
        })
    };
    let may_match_all = survey.is_open || survey.matched.contains(name) || survey.matches_anything;
    !may_match_all && has_rule && is_ground() && !has_type(survey, name, program, true)
}

/// Whether something is known of the type of a name: if wanted, of one that is no function.
pub(super) fn has_type(survey: &Survey<'_>, name: &str, program: &mut Program, except_functions: bool) -> bool {
    let types = survey.types_of(&survey.meaning(name), program);
    let known = types.iter().filter(|found| !found.atom.is_symbol(names::UNDEFINED));
    known.filter(|found| !except_functions || !types::is_function(&found.atom)).count() > 0
}

/// Symbols of a left side that the right side calculates with: their `$` was forgotten.
fn symbols(survey: &Survey<'_>, program: &mut Program, findings: &mut Vec<Diagnostic>) {
    for rule in &survey.rules {
        let words = |node: NodeId| match survey.tree.kind(node) {
            NodeKind::Word(word) => Some(word),
            _ => None,
        };
        let left: FxHashSet<&str> = survey.call(rule.left).map_or_else(FxHashSet::default, |(_, arguments)| {
            arguments.iter().filter_map(|argument| words(*argument)).collect()
        });
        if left.is_empty() {
            continue;
        }
        let calls = rule.parts.iter().filter_map(|(node, _)| survey.call(*node));
        let calls = calls.filter(|(head, _)| OPERATORS[..9].contains(head) && survey.is_native(head));
        let used = calls.flat_map(|(head, arguments)| arguments.iter().map(move |argument| (head, *argument)));
        let wrong = used.filter_map(|(head, argument)| Some((head, words(argument)?, argument)));
        for (head, word, argument) in wrong.filter(|(_, word, _)| left.contains(word)) {
            let is_symbol = matches!(survey.meaning(word), Atom::Symbol(_)) && !survey.known.contains_key(word);
            if is_symbol && !has_type(survey, word, program, false) {
                findings.push(symbol(head, word, survey.tree.span(argument)));
                break;
            }
        }
    }
}

/// A symbol as the pattern of a `let` whose body has it, too: its `$` was forgotten.
fn bound_symbol(survey: &Survey<'_>, node: NodeId, program: &mut Program) -> Option<Diagnostic> {
    let (head, arguments) = survey.call(node)?;
    let (pairs, body) = match (head, arguments) {
        ("let", &[pattern, value, body]) => (vec![(pattern, value)], body),
        ("let*", &[list, body]) => {
            let pair = |pair: &NodeId| match expression(survey, *pair) {
                Some(&[pattern, value]) => Some((pattern, value)),
                _ => None,
            };
            (expression(survey, list)?.iter().filter_map(pair).collect(), body)
        }
        _ => return None,
    };
    let stands_in = |word: &str, root: NodeId| {
        survey.tree.walk(root).any(|visit| match visit {
            Visit::Leaf(leaf) => survey.tree.kind(leaf) == NodeKind::Word(word),
            _ => false,
        })
    };
    for (index, (pattern, value)) in pairs.iter().enumerate() {
        let NodeKind::Word(word) = survey.tree.kind(*pattern) else { continue };
        // Other calls may come to just this symbol.
        let is_other = match survey.tree.kind(*value) {
            NodeKind::Word(value) => survey.meaning(value).as_symbol().is_none(),
            NodeKind::String(_) => true,
            NodeKind::Expression(_) => survey.call(*value).is_some_and(|(head, _)| OPERATORS.contains(&head)),
            NodeKind::Variable(_) => false,
        };
        let is_plain = is_other && survey.meaning(word).as_symbol().is_some() && !survey.known.contains_key(word);
        let later = pairs[index + 1..].iter().map(|(_, value)| *value).chain([body]);
        if is_plain && later.into_iter().any(|root| stands_in(word, root)) && !has_type(survey, word, program, false) {
            let message = format!("`{word}` is a symbol, and takes no value; did you mean the variable `${word}`?");
            let finding = Diagnostic::warning("symbol-for-variable", survey.tree.span(*pattern), message);
            let finding = finding.with_label("matches nothing but itself");
            return Some(finding.with_help(format!("write `${word}` here and where its value is used")));
        }
    }
    None
}

fn symbol(head: &str, word: &str, span: Span) -> Diagnostic {
    let message = format!("`{word}` is a symbol, and `{head}` takes numbers; did you mean the variable `${word}`?");
    let finding = Diagnostic::warning("symbol-for-variable", span, message).with_label("is a symbol");
    finding.with_help(format!("write `${word}` on the left side of the rule and here"))
}
