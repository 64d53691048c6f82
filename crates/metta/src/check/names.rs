//! The heads of what is evaluated: names without rules, numbers of arguments, types.

use super::nearest::Neighbours;
use super::survey::{Import, Survey};
use crate::bundled::{functions, module_of};
use crate::failure::message::message_of;
use crate::instructions::is_instruction_name;
use crate::names;
use crate::program::Program;
use crate::syntax::{Diagnostic, NodeId, Span};
use crate::types;
use rustc_hash::{FxHashMap, FxHashSet};
use space::Atom;
use std::collections::BTreeSet;

/// The most nodes of an expression whose type is looked at: types are computed anew for each.
const TYPED_NODES_MAX: usize = 512;

pub(super) fn check(survey: &Survey<'_>, program: &mut Program, findings: &mut Vec<Diagnostic>) {
    let mut known: BTreeSet<&str> = survey.known.keys().map(String::as_str).collect();
    let library: Vec<String> = survey.words.names().map(str::to_owned).collect();
    known.extend(library.iter().map(String::as_str).filter(|name| survey.is_native(name)));
    known.retain(|name| !name.starts_with('_'));
    let elsewhere = functions().map(|(name, _)| name).filter(|name| name.contains('-') && !name.starts_with('_'));
    let near_elsewhere = Neighbours::new(elsewhere.collect::<BTreeSet<_>>().into_iter());
    let near_known = Neighbours::new(known.iter().copied());
    let mut near = Near { known, near_known, found: FxHashMap::default(), near_elsewhere };
    for node in survey.evaluated() {
        let Some((name, arguments)) = survey.call(node) else { continue };
        let head = survey.tree.children(node).next().expect("a call has a head");
        let finding = match survey.known.get(name) {
            Some(numbers) => wrong_number(survey, program, (name, arguments.len()), numbers),
            None => unknown(survey, program, name, &mut near),
        };
        match finding {
            Some(finding) => findings.push(Diagnostic { span: survey.tree.span(head), ..finding }),
            None => findings.extend(ill_typed(survey, program, node)),
        }
    }
}

/// The most unknown names whose neighbours are looked for: each costs a look at all that are known.
const UNKNOWN_MAX: usize = 1 << 8;

/// Findings get their places later.
const NOWHERE: Span = Span { start: 0, end: 0 };

/// The known names, with the neighbours that were found of others.
struct Near<'a> {
    known: BTreeSet<&'a str>,
    near_known: Neighbours<'a>,
    found: FxHashMap<&'a str, Option<&'a str>>,
    /// The functions of all modules whose names have several words.
    near_elsewhere: Neighbours<'static>,
}

impl<'a> Near<'a> {
    fn of(&mut self, name: &'a str) -> Option<&'a str> {
        if !self.found.contains_key(name) && self.found.len() < UNKNOWN_MAX {
            let near = self.near_known.nearest(name);
            self.found.insert(name, near);
        }
        self.found.get(name).copied().flatten()
    }

    /// The nearest function of a module that is not imported, and its module.
    fn of_modules(&self, name: &str) -> Option<(&'static str, &'static str)> {
        let near = self.near_elsewhere.nearest(name)?;
        Some((near, module_of(near)?))
    }
}

/// A name that has no rule and is nearly one that has.
fn unknown<'a>(survey: &Survey<'a>, program: &mut Program, name: &'a str, near: &mut Near<'a>) -> Option<Diagnostic> {
    let is_data = survey.data.contains(name) || is_instruction_name(name) || survey.is_open;
    let atom = survey.meaning(name);
    if is_data || atom.as_symbol().is_none() || has_type(survey, program, &atom) {
        return None;
    }
    if let Some(module) = module_of(name).filter(|_| !survey.data.contains(name)) {
        return not_imported(survey, name, module);
    }
    let known = near.of(name).or_else(|| elsewhere(name).filter(|known| near.known.contains(known)));
    let (meant, help) = match (known, near.of_modules(name)) {
        (Some(known), _) => (
            format!("`{known}`"),
            format!("write `{known}`, or declare the name if it is meant as data: `(: {name} (-> … …))`"),
        ),
        (None, Some((known, module))) => (
            format!("`{known}` of the module `{module}`"),
            format!("write `{known}`, and `!(import! &self {module})` before it"),
        ),
        (None, None) => return None,
    };
    let message = format!("no rule for `{name}`; did you mean {meant}?");
    let finding = Diagnostic::warning("unknown-function", NOWHERE, message);
    Some(finding.with_label("is data as it stands").with_help(help))
}

/// What a function of other languages is called here.
fn elsewhere(name: &str) -> Option<&'static str> {
    Some(match name {
        "print" | "printf" | "display" | "puts" => "println!",
        "iff" => "if",
        "cond" => "case",
        _ => return None,
    })
}

/// A name of a module that comes with the program and is not imported, or is hidden by a file.
fn not_imported(survey: &Survey<'_>, name: &str, module: &str) -> Option<Diagnostic> {
    let (message, help) = match survey.import_of(module) {
        Some(Import::Inside) => return None,
        Some(Import::Form) => (
            format!("no rule for `{name}`: a file takes the place of the library's module `{module}`, which has it"),
            format!("rename the file `{module}.metta`: it comes before the module"),
        ),
        None => (
            format!("no rule for `{name}`, which is in the module `{module}`"),
            format!("write `!(import! &self {module})` before it"),
        ),
    };
    let finding = Diagnostic::warning("missing-import", NOWHERE, message).with_label("is data as it stands");
    Some(finding.with_help(help))
}

fn has_type(survey: &Survey<'_>, program: &mut Program, atom: &Atom) -> bool {
    let types = survey.types_of(atom, program);
    types.iter().any(|found| !found.atom.is_symbol(names::UNDEFINED))
}

/// A call with a number of arguments that no rule takes.
fn wrong_number(
    survey: &Survey<'_>,
    program: &mut Program,
    (name, given): (&str, usize),
    numbers: &FxHashSet<usize>,
) -> Option<Diagnostic> {
    let atom = survey.meaning(name);
    let is_other = survey.is_open || numbers.contains(&given) || survey.is_native(name);
    // Data may have the same head; a type has more to say.
    if is_other || survey.data.contains(name) || has_type(survey, program, &atom) {
        return None;
    }
    let numbers: BTreeSet<usize> = numbers.iter().copied().collect();
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    let plural = if given == 1 { "" } else { "s" };
    let message =
        format!("`{name}` is called with {given} argument{plural}, and its rules take {}", numbers.join(" or "));
    let finding = Diagnostic::warning("wrong-number-of-arguments", NOWHERE, message);
    Some(finding.with_label("no rule matches this").with_help("mend the call, or add a rule for it"))
}

/// A call that the evaluator refuses for its types, whatever its variables are.
fn ill_typed(survey: &Survey<'_>, program: &mut Program, node: NodeId) -> Option<Diagnostic> {
    let is_long = survey.tree.walk(node).take(TYPED_NODES_MAX + 1).count() > TYPED_NODES_MAX;
    // The first word of `bind!` means already what it says.
    let is_bound = survey.call(node).is_some_and(|(head, _)| head == "bind!");
    if is_long || is_bound {
        return None;
    }
    let atom = survey.atom(node);
    if survey.has_open_calls(node) {
        return wrong_length(survey, program, node, &atom);
    }
    let errors = survey.type_errors(&atom, program)?;
    // An error of an argument is told there.
    let own = errors.iter().find(|error| error.children().is_some_and(|parts| parts.get(1) == Some(&atom)))?;
    if gives_any_atom(own) {
        return None;
    }
    let said = message_of(own, &survey.space, program.variables());
    let finding = Diagnostic::warning(said.code, survey.tree.span(node), said.message);
    let finding = finding.with_label("comes to an error");
    Some(match said.help.into_iter().next() {
        Some(help) => finding.with_help(help),
        None => finding,
    })
}

/// Whether an error is about an argument that comes to an atom of any type: whether that fits is seen when it is there.
fn gives_any_atom(error: &Atom) -> bool {
    let reason = error.children().and_then(|parts| parts.get(2)).and_then(Atom::children);
    matches!(reason, Some([kind, _, _, actual]) if kind.is_symbol(names::BAD_ARG_TYPE) && actual.is_symbol("Atom"))
}

/// A call of a built-in function with a number of arguments that its type does not have: told whatever its arguments are.
fn wrong_length(survey: &Survey<'_>, program: &mut Program, node: NodeId, atom: &Atom) -> Option<Diagnostic> {
    let (head, given) = survey.call(node)?;
    let call = atom.children()?;
    let types = types::types_of_head(&survey.space, call, program.variables());
    let mut functions =
        types.iter().filter(|found| found.is_function()).map(|found| types::function_parts(&found.atom).0);
    let is_wrong =
        types.iter().all(types::AtomType::is_function) && functions.all(|formals| formals.len() != given.len());
    if !is_wrong || types.is_empty() || !survey.is_native(head) && !is_instruction_name(head) && head != "let" {
        return None;
    }
    let error = names::error(atom.clone(), Atom::symbol(names::INCORRECT_NUMBER_OF_ARGUMENTS));
    let said = message_of(&error, &survey.space, program.variables());
    let finding = Diagnostic::warning(said.code, survey.tree.span(node), said.message).with_label("comes to an error");
    Some(match said.help.into_iter().next() {
        Some(help) => finding.with_help(help),
        None => finding,
    })
}
