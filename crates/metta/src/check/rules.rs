//! Rules that can never be reached, and rules that are stated twice.

use super::survey::{RuleForm, Survey};
use crate::failure::message::message_of;
use crate::instructions::is_instruction_name;
use crate::program::Program;
use crate::syntax::Diagnostic;
use rustc_hash::FxHashMap;
use space::canonical;

pub(super) fn check(survey: &Survey<'_>, program: &mut Program, findings: &mut Vec<Diagnostic>) {
    let mut stated = FxHashMap::default();
    for rule in &survey.rules {
        let finding = unreachable(survey, program, rule).or_else(|| {
            let bytes = canonical::encode(&survey.atom(rule.form.node));
            let first = stated.insert(bytes, rule.form.span)?;
            let finding = Diagnostic::warning("duplicate-rule", rule.form.span, "this rule is stated twice");
            let finding = finding.with_label("each call has its answer twice").with_related(first, "the first time");
            Some(finding.with_help("delete one of them"))
        });
        findings.extend(finding);
    }
}

fn unreachable(survey: &Survey<'_>, program: &mut Program, rule: &RuleForm) -> Option<Diagnostic> {
    let (name, _) = survey.call(rule.left)?;
    let span = survey.tree.span(rule.left);
    if survey.is_native(name) || is_instruction_name(name) {
        let message = format!("this rule can never be reached: `{name}` is built in");
        let finding = Diagnostic::warning("unreachable-rule", span, message).with_label("is evaluated without rules");
        return Some(finding.with_help("give the function another name"));
    }
    if survey.has_open_calls(rule.left) {
        return None;
    }
    let left = survey.atom(rule.left);
    let errors = survey.type_errors(&left, program)?;
    let own = errors.iter().find(|error| error.children().is_some_and(|parts| parts.get(1) == Some(&left)))?;
    let said = message_of(own, &survey.space, program.variables());
    let message = format!("this rule can never be reached: {}", said.message);
    let finding = Diagnostic::warning("unreachable-rule", span, message).with_label("such a call is an error");
    Some(finding.with_help(said.help.into_iter().next().unwrap_or_else(|| "mend the rule or the type".to_owned())))
}
