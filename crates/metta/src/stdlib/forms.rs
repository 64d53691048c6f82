//! The special forms: words of the library that the machine has code for and that are not native functions. Their types and rules
//! are in `prelude.metta`, their words in `documentation.metta`.

use crate::lowering::{Form, Loop, Lowering, SpecialForm, Wanted};
use crate::names;
use crate::operation::lowering_of;
use crate::types;
use space::{Atom, Grounded, SharedSpace, Symbol, VariableSource, variables};
use std::sync::OnceLock;

/// Those that have code of their own.
pub(crate) const FORMS: [SpecialForm; 28] = [
    SpecialForm::new("if", 3, Form::If),
    SpecialForm::new("id", 1, Form::Identity),
    SpecialForm::new("atom-subst", 3, Form::Substitute),
    SpecialForm::new("let", 3, Form::Let).of_parts(&[("unify", 4)]),
    SpecialForm::new("case", 2, Form::Case).of_parts(&[("switch-minimal", 2), ("switch-internal", 2)]),
    SpecialForm::new("collapse", 1, Form::Collapse),
    SpecialForm::new("unify", 4, Form::Unify),
    SpecialForm::new("empty", 0, Form::Empty),
    SpecialForm::new("switch", 2, Form::Switch).of_parts(&[("id", 1), ("switch-minimal", 2), ("switch-internal", 2)]),
    SpecialForm::new("chain", 3, Form::Chain),
    SpecialForm::new("eval", 1, Form::Eval),
    SpecialForm::new("function", 1, Form::Function),
    SpecialForm::new("context-space", 0, Form::ContextSpace),
    SpecialForm::new("evalc", 2, Form::EvalInSpace),
    SpecialForm::new("metta", 3, Form::Metta),
    SpecialForm::new("car-atom", 1, Form::Head),
    SpecialForm::new("cdr-atom", 1, Form::Tail),
    SpecialForm::new("cons-atom", 2, Form::Cons),
    SpecialForm::new("decons-atom", 1, Form::Decons),
    SpecialForm::new("map-atom", 3, Form::Loop(Loop::Map)),
    SpecialForm::new("filter-atom", 3, Form::Loop(Loop::Filter)),
    SpecialForm::new("foldl-atom", 5, Form::Loop(Loop::Fold)),
    SpecialForm::new("if-decons-expr", 5, Form::IfDecons),
    SpecialForm::new("transaction", 1, Form::Transaction),
    SpecialForm::new("once", 1, Form::Some(Wanted::First)),
    SpecialForm::new("limit", 2, Form::Some(Wanted::First)),
    SpecialForm::new("has-result", 1, Form::Some(Wanted::Whether)),
    SpecialForm::new("count-results", 1, Form::Some(Wanted::Number)),
];

/// Whether `case` with these branches asks whether its subject has no result: a branch may match `Empty`, or it is not known what the
/// branches are.
pub(crate) fn asks_for_absence(branches: &Atom) -> bool {
    let cannot_match = |pattern: &Atom| match pattern {
        Atom::Symbol(name) => name.as_str() != names::EMPTY,
        Atom::Grounded(Grounded::Number(_) | Grounded::Bool(_) | Grounded::Text(_)) | Atom::Expression(_) => true,
        _ => false,
    };
    let is_for_results = |branch: &Atom| branch.children().and_then(<[Atom]>::first).is_some_and(cannot_match);
    !branches.children().is_some_and(|branches| branches.iter().all(is_for_results))
}

/// The branches, if what a chain does with gathered results is what the rule of `case` in the library does.
pub(crate) fn branches_of_case(template: &Atom) -> Option<&Atom> {
    let [_, evaluated, _, rest] = template.children()? else { return None };
    let [_, call] = evaluated.children()? else { return None };
    let [head, _] = call.children()? else { return None };
    let [_, _, _, rest] = rest.children()? else { return None };
    let [_, switched, ..] = rest.children()? else { return None };
    let [_, switch] = switched.children()? else { return None };
    let [word, _, branches] = switch.children()? else { return None };
    (lowering_of(head)? == Lowering::CaseSubjects && word.is_symbol("switch-minimal")).then_some(branches)
}

/// Functions of the library that evaluate an argument which they take as it stands. The only rule of such a function is put in the place of a
/// call whose arguments are written out, so that the argument becomes code. Like the names of other forms, theirs are kept for ever.
static INLINED: OnceLock<Vec<SpecialForm>> = OnceLock::new();

/// Notes which functions of the library those are, given what the prelude says.
pub(crate) fn read_off(prelude: &[Atom]) -> &'static [SpecialForm] {
    INLINED.get_or_init(|| inlined(prelude))
}

/// Those of some functions that are put in the place of their calls: one rule, whose head takes anything, and one type, by which no argument
/// is evaluated before; but the rule evaluates one.
fn inlined(atoms: &[Atom]) -> Vec<SpecialForm> {
    let about = |word: &'static str, name: &str| {
        let is_about = move |atom: &&Atom| match atom.children() {
            Some([statement, subject, _]) => {
                statement.is_symbol(word) && subject.head().unwrap_or(subject).is_symbol(name)
            }
            _ => false,
        };
        let mut found = atoms.iter().filter(is_about);
        found.next().filter(|_| found.next().is_none()).and_then(Atom::children)
    };
    let form_of = |atom: &Atom| {
        let [equal, call, body] = atom.children()? else { return None };
        let [Atom::Symbol(name), arguments @ ..] = call.children()? else { return None };
        let (name, takes_anything) = (name.as_str(), |argument: &Atom| matches!(argument, Atom::Variable(_)));
        let is_such = equal.is_symbol(names::EQUAL)
            && FORMS.iter().all(|form| form.name != name)
            && arguments.iter().all(takes_anything)
            && variables(call).len() == arguments.len()
            && evaluates_one_of(body, arguments);
        if !is_such || about(names::EQUAL, name).is_none() {
            return None;
        }
        let (formals, _) = types::function_parts(&about(names::HAS_TYPE, name)?[2]);
        let takes_as_it_stands = |formal: &Atom| formal.is_symbol(names::ATOM) || formal.is_symbol(names::EXPRESSION);
        let are_taken = formals.len() == arguments.len() && formals.iter().all(takes_as_it_stands);
        are_taken.then(|| SpecialForm::new(name.to_owned().leak(), arguments.len(), Form::Inline))
    };
    atoms.iter().filter_map(form_of).collect()
}

/// Whether a rule of the prelude, which is not deep, evaluates one of its arguments.
fn evaluates_one_of(body: &Atom, arguments: &[Atom]) -> bool {
    let Some(children) = body.children() else { return false };
    let is_goal = match children {
        [head, goal, ..] => (head.is_symbol("collapse") || head.is_symbol("metta")) && arguments.contains(goal),
        _ => false,
    };
    is_goal || children.iter().any(|child| evaluates_one_of(child, arguments))
}

/// All special forms; those that are put in place are known once a program has read the library.
pub(crate) fn all() -> impl Iterator<Item = &'static SpecialForm> {
    const { &FORMS }.iter().chain(INLINED.get().into_iter().flatten())
}

/// The special form of a name.
pub(crate) fn special_form(name: &str) -> Option<&'static SpecialForm> {
    all().find(|form| form.name == name)
}

/// Whether a rule for this name changes a special form.
pub(crate) fn is_special(name: &str) -> bool {
    all().any(|form| form.name == name || form.parts.iter().any(|(part, _)| *part == name))
}

/// Whether a call of a form, or of one of its parts, means in a space what it means in the library.
pub(crate) fn means_what_the_library_says(
    (space, library): (&SharedSpace, &SharedSpace),
    source: &mut VariableSource,
    form: &str,
    arguments: usize,
) -> bool {
    let variables = (0..arguments).map(|_| Atom::Variable(source.fresh(&Symbol::new("a"))));
    let call = Atom::expression(std::iter::once(Atom::symbol(form)).chain(variables).collect::<Vec<_>>());
    let body = Atom::Variable(source.fresh(names::asked()));
    let rule = Atom::expression([names::equal(), call, body]);
    let head = Atom::symbol(form);
    let rules = library.query(&rule, source).len();
    // What has no type is given as one of none, in the place of which a type may have come.
    let mut stated = |space: &SharedSpace| {
        let types = types::types_of(space, &head, source);
        types.iter().filter(|found| !found.atom.is_symbol(names::UNDEFINED)).count()
    };
    let (of_library, of_space) = (stated(library), stated(space));
    // A library may lack it.
    let is_there = rules > 0 || of_library > 0;
    is_there && of_space == of_library && space.query(&rule, source).len() == rules
}
