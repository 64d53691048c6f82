//! Asking for types.

use super::spaces::with_template;
use crate::effects::Effects;
use crate::names;
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use crate::types;
use space::{Atom, Bindings, SharedSpace, Solution, Unifier, variables};

pub(super) const OPERATIONS: &[Spec] = &[
    Spec::typed("get-type", "(-> Atom %Undefined%)", get_type)
        .with(Effects::READS)
        .at_home()
        .documented(
            "Asks for types, as declared in the module in whose source the word get-type was read.",
            &["Raw: any atom"],
            "Each type; %Undefined% if none is known; nothing if the atom is an ill-typed call",
        )
        .compared(Compatibility::Differs(
            "a word in single quotes, such as `'x'`, is a symbol; in Hyperon it is a character, of type `Char`",
        )),
    Spec::typed("get-type-space", "(-> SpaceType Atom Atom)", get_type_space).with(Effects::READS).documented(
        "Asks for types as a given space declares them.",
        &["The space", "Raw: any atom"],
        "Each type; %Undefined% if none is known; nothing if the atom is an ill-typed call",
    ),
    Spec::typed("get-metatype", "(-> Atom Atom)", get_metatype).with(Effects::NONE).documented(
        "Asks what kind of atom an atom is.",
        &["Raw: any atom"],
        "Symbol, Variable, Expression or Grounded",
    ),
    Spec::typed("is-function", "(-> Type Bool)", is_function)
        .with(Effects::NONE)
        .documented("Asks whether a type is that of functions.", &["The type"], "True if it begins with ->, else False")
        .compared(Compatibility::Differs(
            "a type that begins with a variable is not a function type; in Hyperon `($t)` is one",
        )),
    Spec::untyped("type-cast", type_cast)
        .with(Effects::READS)
        .documented(
            "Checks that an atom has a type.",
            &["Evaluated: the atom", "The type, or the atom's metatype", "The space that declares types"],
            "The atom; (Error atom BadType) if no type of it agrees",
        )
        .compared(Compatibility::Differs(
            "if the third argument is not a space, the call stays as it is; in Hyperon it is `(Error atom BadType)`",
        )),
    // A space among the types is matched.
    Spec::untyped("match-types", match_types).with(Effects::READS).documented(
        "Chooses by whether two types agree: they unify, or one is %Undefined% or Atom.",
        &[
            "A type",
            "The type to compare it with",
            "Evaluated in any case: given if they agree, for each way in which they do, with what that binds",
            "Evaluated in any case: given if they do not",
        ],
        "The third or the fourth argument",
    ),
    Spec::untyped("match-type-or", match_type_or).with(Effects::READS).documented(
        "Folds a truth value with the question whether two types agree.",
        &["True or False", "A type", "The type to compare it with"],
        "True if the first argument is, or if the types agree; else False",
    ),
];

/// The valid types of an atom, or nothing when it is ill-typed.
fn types_in(call: &mut Call<'_>, space: &SharedSpace, atom: &Atom) -> Outcome {
    let found = types::types_of(space, atom, call.environment.variables());
    Outcome::Results(found.into_iter().filter(types::AtomType::is_valid).map(|found| found.atom).collect())
}

fn get_type(call: &mut Call<'_>) -> Outcome {
    let Some(atom) = call.argument(0).cloned() else {
        return Outcome::failure("get-type expects single atom as an argument");
    };
    match (call.arguments.len(), call.space(1)) {
        (1, _) => {
            let space = call.environment.module_space(call.home);
            types_in(call, &space, &atom)
        }
        (_, Some(space)) => types_in(call, &space, &atom),
        (_, None) => Outcome::failure("get-type expects a space as the second argument"),
    }
}

fn get_type_space(call: &mut Call<'_>) -> Outcome {
    match (call.space(0), call.argument(1).cloned()) {
        (Some(space), Some(atom)) => types_in(call, &space, &atom),
        _ => Outcome::failure("get-type-space expects a space as the first argument"),
    }
}

fn get_metatype(call: &mut Call<'_>) -> Outcome {
    match call.argument(0) {
        Some(atom) => Outcome::one(Atom::symbol(names::metatype(atom))),
        None => Outcome::failure("get-metatype expects single atom as an argument"),
    }
}

fn is_function(call: &mut Call<'_>) -> Outcome {
    match call.argument(0) {
        Some(atom) => Outcome::one(atom.head().is_some_and(|head| head.is_symbol(names::ARROW))),
        None => Outcome::failure("is-function expects a type as the argument"),
    }
}

fn type_cast(call: &mut Call<'_>) -> Outcome {
    let (Some(atom), Some(expected), Some(space)) = (call.argument(0), call.argument(1), call.space(2)) else {
        return Outcome::NotReducible;
    };
    if expected.is_symbol(names::metatype(atom)) {
        return Outcome::one(atom.clone());
    }
    let source = call.environment.variables();
    let found = types::types_of(&space, atom, source);
    let nothing_bound = Bindings::default();
    let mut valid = found.iter().filter(|found| found.is_valid());
    if valid.any(|found| !types::agree(&found.atom, expected, &nothing_bound, source).is_empty()) {
        return Outcome::one(atom.clone());
    }
    Outcome::one(names::error_text(atom.clone(), names::BAD_TYPE))
}

/// The ways in which two types agree.
fn agreements(call: &mut Call<'_>, left: &Atom, right: &Atom) -> Vec<Solution> {
    let is_open = |side: &Atom| side.is_symbol(names::UNDEFINED) || side.is_symbol(names::ATOM);
    if is_open(left) || is_open(right) {
        return vec![Solution::new()];
    }
    let wanted = variables(&Atom::expression([left.clone(), right.clone()]));
    let mut unifier = Unifier::under(Bindings::default(), call.environment.variables());
    if !unifier.unify(left, right) {
        return Vec::new();
    }
    unifier.finish().iter().map(|bindings| bindings.solution_for(&wanted)).collect()
}

fn match_types(call: &mut Call<'_>) -> Outcome {
    let [left, right, then, otherwise] = call.arguments else { return Outcome::NotReducible };
    let found = agreements(call, left, right);
    if found.is_empty() {
        return Outcome::one(otherwise.clone());
    }
    Outcome::Solutions(found.into_iter().map(|solution| with_template(solution, then)).collect())
}

/// `(match-type-or folded type expected)`: whether `folded` is true or the types agree.
fn match_type_or(call: &mut Call<'_>) -> Outcome {
    let [folded, found, expected] = call.arguments else { return Outcome::NotReducible };
    let Some(folded) = super::arithmetic::bool_of(Some(folded)) else { return Outcome::NotReducible };
    let agrees = !agreements(call, found, expected).is_empty();
    Outcome::one(folded || agrees)
}
