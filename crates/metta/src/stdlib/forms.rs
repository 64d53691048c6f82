//! The special forms: words of the library that are no native functions and that the machine has code for. Their types and rules
//! are in `prelude.metta`, their words in `documentation.metta`.

use crate::lowering::{Form, Loop, Lowering, SpecialForm, Wanted};
use crate::names;
use crate::operation::lowering_of;
use crate::types;
use space::{Atom, Grounded, SharedSpace, Symbol, VariableSource};

/// All of them.
pub(crate) const FORMS: [SpecialForm; 43] = [
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
    SpecialForm::new("unique", 1, Form::Inline),
    SpecialForm::new("union", 2, Form::Inline),
    SpecialForm::new("intersection", 2, Form::Inline),
    SpecialForm::new("subtraction", 2, Form::Inline),
    SpecialForm::new("transaction", 1, Form::Transaction),
    SpecialForm::new("once", 1, Form::Some(Wanted::First)),
    SpecialForm::new("limit", 2, Form::Some(Wanted::First)),
    SpecialForm::new("has-result", 1, Form::Some(Wanted::Whether)),
    SpecialForm::new("count-results", 1, Form::Some(Wanted::Number)),
    SpecialForm::new("return-on-error", 2, Form::Inline),
    SpecialForm::new("assert", 1, Form::Inline),
    SpecialForm::new("assertEqual", 2, Form::Inline),
    SpecialForm::new("assertEqualMsg", 3, Form::Inline),
    SpecialForm::new("assertEqualToResult", 2, Form::Inline),
    SpecialForm::new("assertEqualToResultMsg", 3, Form::Inline),
    SpecialForm::new("assertAlphaEqual", 2, Form::Inline),
    SpecialForm::new("assertAlphaEqualMsg", 3, Form::Inline),
    SpecialForm::new("assertAlphaEqualToResult", 2, Form::Inline),
    SpecialForm::new("assertAlphaEqualToResultMsg", 3, Form::Inline),
    SpecialForm::new("assertIncludes", 2, Form::Inline),
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

/// The special form of a name.
pub(crate) fn special_form(name: &str) -> Option<&'static SpecialForm> {
    const { &FORMS }.iter().find(|form| form.name == name)
}

/// Whether a rule for this name changes a special form.
pub(crate) fn is_special(name: &str) -> bool {
    FORMS.iter().any(|form| form.name == name || form.parts.iter().any(|(part, _)| *part == name))
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
