//! Likely mistakes in a source, found without running it.
//!
//! What a text says is compared with what is known where it runs: the rules and types of a program that has read the text and what it
//! imports. A finding is a [`Diagnostic`] like the parser's. Data is legal anywhere in MeTTa, so a finding needs more than an unknown
//! word: a name that is nearly one that has rules, a number of arguments that no rule takes, a type that the evaluator would refuse.
//!
//! 1. [`survey`] finds the rules of the text, and which of its parts are evaluated, matched, or left as they are.
//! 2. [`names`] looks at the heads of what is evaluated: unknown names, numbers of arguments, types.
//! 3. [`rules`] looks at rules that can never be reached or are stated twice.
//! 4. [`variables`] looks at what is bound on the left and used on the right.
//! 5. [`forms`] looks at forms that are written otherwise than was meant, [`foreign`] at what is written as in another language,
//!    [`recursion`] at functions that never end, [`declared`] at types, [`early`] at words that mean something further down only.
//!
//! What stands in an assertion, a quotation or an argument that its function takes as it is, is not looked at.

mod declared;
mod early;
mod foreign;
mod forms;
mod names;
mod nearest;
mod recursion;
mod rules;
mod survey;
mod variables;

use crate::program::Program;
use crate::program::modules::ModuleId;
use crate::syntax::{Diagnostic, SyntaxTree};
use survey::Survey;

pub use nearest::nearest;
pub(crate) use nearest::nearest_of_all;

/// What there is to say about a text that a program has read in a module. The findings are sorted by place.
pub fn check(program: &mut Program, module: ModuleId, tree: &SyntaxTree) -> Vec<Diagnostic> {
    let last = program.variables().last();
    let survey = Survey::new(program, module, tree);
    let mut findings = Vec::new();
    if !survey.is_minimal {
        names::check(&survey, program, &mut findings);
        rules::check(&survey, program, &mut findings);
        variables::check(&survey, &mut findings);
        forms::check(&survey, program, &mut findings);
        foreign::check(&survey, program, &mut findings);
        recursion::check(&survey, &mut findings);
        declared::check(&survey, &mut findings);
        early::check(&survey, &mut findings);
    }
    findings.sort_by_key(|finding: &Diagnostic| (finding.span.start, finding.span.end));
    // Numbers of variables are part of what is recorded: this takes none.
    *program.variables() = space::VariableSource::default();
    program.variables().advance_to(last);
    findings
}
