//! Control: alternatives, comparison of raw atoms, scopes of variables.

use crate::effects::Effects;
use crate::lowering::Lowering;
use crate::names;
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use space::{Atom, Grounded, Number, Solution, alpha_equivalent, make_fresh, variables};
use std::sync::Arc;

pub(super) const OPERATIONS: &[Spec] = &[
    Spec::typed("superpose", "(-> Expression %Undefined%)", superpose)
        .with(Effects::NONE)
        .lowered(Lowering::Superpose)
        .documented(
            "Turns a tuple into alternatives.",
            &["Raw: the tuple"],
            "Each child, evaluated, one after the other; nothing for ()",
        ),
    Spec::typed("if-equal", "(-> Atom Atom Atom Atom %Undefined%)", if_equal)
        .with(Effects::NONE)
        .lowered(Lowering::IfEqual)
        .documented(
            "Chooses by comparing two atoms as they stand; variables may differ in name. It compares, it does not \
             unify.",
            &[
                "Raw: an atom",
                "Raw: the atom to compare it with",
                "Raw: evaluated if they are equal",
                "Raw: evaluated if they differ",
            ],
            "The results of the chosen atom",
        ),
    Spec::typed("if-error", "(-> Atom Atom Atom %Undefined%)", if_error)
        .with(Effects::NONE)
        .lowered(Lowering::IfError)
        .documented(
            "Chooses by whether an atom is an (Error atom message).",
            &[
                "Raw: the atom. let passes errors on; (case call branches) sees them",
                "Raw: evaluated if it is an error",
                "Raw: evaluated if it is not",
            ],
            "The results of the chosen atom",
        ),
    Spec::typed("=alpha", "(-> Atom Atom Bool)", alpha_equal).with(Effects::NONE).documented(
        "Whether two atoms are equal but for the names of their variables.",
        &["Raw: an atom", "Raw: the atom to compare it with"],
        "True or False",
    ),
    Spec::typed("sealed", "(-> Expression Atom Atom)", sealed).with(Effects::NONE).documented(
        "Gives an atom variables of its own, so that they cannot be mistaken for those of the same names outside.",
        &[
            "Raw: an expression; the variables in it keep their names",
            "Raw: the atom whose other variables are renamed",
        ],
        "The atom with fresh variables, not evaluated",
    ),
    Spec::typed("let*", "(-> Expression Atom %Undefined%)", let_all)
        .with(Effects::NONE)
        .lowered(Lowering::LetAll)
        .documented(
            "One let after another: later pairs and the body see what the earlier ones bind.",
            &["Raw: a tuple of (pattern value) pairs; () is none", "Raw: the body"],
            "The results of the body; an error if the first argument is no tuple of pairs",
        )
        .compared(Compatibility::Differs(
            "a list of pairs that is not an expression is an error; Hyperon takes it for an empty list. The error \
             for a bad pair shows the whole call, in Hyperon the rest of it",
        )),
    Spec::untyped("nop", |_| Outcome::unit()).with(Effects::NONE).documented(
        "Does nothing, for calls that matter only by their effects.",
        &["Any number of arguments, evaluated"],
        "(), whatever the arguments are; an error among them is the result instead",
    ),
    Spec::typed("_case-subjects", "(-> Expression Atom)", case_subjects)
        .with(Effects::NONE)
        .lowered(Lowering::CaseSubjects)
        .documented(
            "What case tries its branches on: some results, or Empty when there are none.",
            &["Raw: the results with their bindings, as collapse-bind gives them"],
            "The same, or one result Empty",
        )
        .compared(Compatibility::MetroonOnly("called by `case`")),
    Spec::typed("_counted-results", "(-> Expression Number)", counted_results)
        .with(Effects::NONE)
        .documented(
            "How many results collapse-bind gathered, for count-results and has-result.",
            &["Raw: the results with their bindings, as collapse-bind gives them"],
            "The number, or the first error among them",
        )
        .compared(Compatibility::MetroonOnly("called by `count-results` and `has-result`")),
    Spec::typed("capture", "(-> Atom Atom)", capture)
        .with(Effects::READS)
        .lowered(Lowering::Capture)
        .at_home()
        .documented(
            "Evaluates an atom in the space of the module in whose source the word capture was read.",
            &["Raw: the atom"],
            "Each result",
        ),
];

fn superpose(call: &mut Call<'_>) -> Outcome {
    match call.children(0) {
        Some(children) => Outcome::Results(children.to_vec()),
        None => Outcome::failure("superpose expects single expression as an argument"),
    }
}

fn if_equal(call: &mut Call<'_>) -> Outcome {
    let [left, right, then, otherwise] = call.arguments else {
        return Outcome::failure("if-equal expects <atom> <pattern> <then> <else> as an argument");
    };
    Outcome::one(if alpha_equivalent(left, right) { then.clone() } else { otherwise.clone() })
}

fn if_error(call: &mut Call<'_>) -> Outcome {
    let [atom, then, otherwise] = call.arguments else {
        return Outcome::failure("if-error expects an atom and two answers as arguments");
    };
    Outcome::one(if names::is_error(atom) { then.clone() } else { otherwise.clone() })
}

fn alpha_equal(call: &mut Call<'_>) -> Outcome {
    match call.arguments {
        [left, right] => Outcome::one(alpha_equivalent(left, right)),
        _ => Outcome::failure("=alpha expects two atoms as arguments: actual and expected"),
    }
}

fn sealed(call: &mut Call<'_>) -> Outcome {
    match call.arguments {
        [kept, atom] => Outcome::one(make_fresh(atom, &variables(kept), call.environment.variables())),
        _ => Outcome::failure("sealed expects two arguments: var_list to be ignored and expression"),
    }
}

/// `(let* ((p v) …) body)` is a `let` for each pair, one inside the other.
fn let_all(call: &mut Call<'_>) -> Outcome {
    let malformed = "List of (<pattern> <atom>) pairs is expected as a second argument";
    let [pairs, body] = call.arguments else { return Outcome::Failure(Atom::from(malformed)) };
    let Some(pairs) = pairs.children() else { return Outcome::Failure(Atom::from(malformed)) };
    let mut nested = body.clone();
    for pair in pairs.iter().rev() {
        let Some([pattern, value]) = pair.children() else { return Outcome::Failure(Atom::from(malformed)) };
        nested = Atom::expression([Atom::symbol("let"), pattern.clone(), value.clone(), nested]);
    }
    Outcome::one(nested)
}

/// What `case` matches with its branches: the results of its subject, or `Empty` if there are none.
fn case_subjects(call: &mut Call<'_>) -> Outcome {
    match call.argument(0) {
        Some(results) if results.children().is_some_and(<[Atom]>::is_empty) => {
            let nothing_bound = Atom::Grounded(Grounded::Bindings(Arc::new(Solution::new())));
            Outcome::one(Atom::expression([Atom::expression([Atom::symbol(names::EMPTY), nothing_bound])]))
        }
        Some(results) => Outcome::one(results.clone()),
        None => Outcome::failure("the results of a subject are expected as the argument"),
    }
}

/// How many results there are. An error among them counts for itself: no other result hides it.
fn counted_results(call: &mut Call<'_>) -> Outcome {
    let Some(results) = call.children(0) else {
        return Outcome::failure("the results of a goal are expected as the argument");
    };
    let mut atoms = results.iter().filter_map(|result| result.children().and_then(<[Atom]>::first));
    match atoms.find(|atom| names::is_error(atom)) {
        Some(error) => Outcome::one(error.clone()),
        None => Outcome::one(Number::from(results.len())),
    }
}

/// Evaluates its argument in the space of the module where `capture` stands.
fn capture(call: &mut Call<'_>) -> Outcome {
    let Some(atom) = call.argument(0) else { return Outcome::failure("capture expects one argument") };
    let space = Atom::from(call.environment.module_space(call.home));
    let result = Atom::Variable(call.environment.variables().fresh(&space::Symbol::new("result")));
    let evaluated = Atom::expression([Atom::symbol("metta"), atom.clone(), Atom::symbol(names::UNDEFINED), space]);
    let returned = Atom::expression([Atom::symbol(names::RETURN), result.clone()]);
    let code = Atom::expression([Atom::symbol("chain"), evaluated, result, returned]);
    Outcome::one(Atom::expression([Atom::symbol("function"), code]))
}
