//! Spaces and states.

use super::recall::refuse_frozen;
use crate::effects::Effects;
use crate::lowering::Lowering;
use crate::names;
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use crate::types;
use space::{
    Atom, ExplainedStep, Multiplicity, Number, QueryWay, Rewrite, SharedSpace, Solution, Space, VariableSource,
    canonical, rewrite,
};

pub(super) const OPERATIONS: &[Spec] = &[
    Spec::typed("match", "(-> SpaceType Atom Atom %Undefined%)", matches)
        .with(Effects::READS)
        .lowered(Lowering::Query)
        .documented(
            "Queries a space, what it imports and the spaces stored in it.",
            &[
                "The space",
                "Raw: the pattern, or (, pattern ...) for several at once; it is unified with atoms, not evaluated",
                "Raw: the template, evaluated with what each match binds",
            ],
            "The results of the template for each match, in the order of addition; none without a match",
        ),
    Spec::typed("add-atom", "(-> SpaceType Atom (->))", |call| add(call, "add-atom"))
        .with(Effects::CHANGES_RULES)
        .lowered(Lowering::AddAtom)
        .documented(
            "Adds an atom to a space as it is written. A space keeps equal atoms apart: two additions are two matches.",
            &["The space", "Raw: the atom"],
            "()",
        )
        .compared(Compatibility::ERROR_TEXT),
    Spec::typed("add-reduct", "(-> SpaceType %Undefined% (->))", |call| add(call, "add-reduct"))
        .with(Effects::CHANGES_RULES)
        .documented(
            "Evaluates an atom and adds what comes of it to a space.",
            &["The space", "Evaluated: the atom; each of its results is added"],
            "() for each result",
        )
        .compared(Compatibility::ERROR_TEXT),
    Spec::typed("add-atoms", "(-> SpaceType Expression (->))", |call| add_all(call, "add-atoms"))
        .with(Effects::CHANGES_RULES)
        .documented("Adds each child of a tuple to a space as it is written.", &["The space", "Raw: the tuple"], "()")
        .compared(Compatibility::Works("an error for wrong arguments names this call, in Hyperon one that it makes")),
    Spec::typed("add-reducts", "(-> SpaceType %Undefined% (->))", |call| add_all(call, "add-reducts"))
        .with(Effects::CHANGES_RULES)
        .documented(
            "Evaluates a tuple and adds each child of what comes of it to a space.",
            &["The space", "Evaluated: the tuple"],
            "() for each result",
        )
        .compared(Compatibility::Works("as `add-atoms`")),
    Spec::typed("remove-atom", "(-> SpaceType Atom (->))", remove)
        .with(Effects::CHANGES_RULES)
        .documented(
            "Removes one copy of an atom from a space, if there is one.",
            &["The space", "Raw: the atom; the names of its variables do not count"],
            "(), whether something was removed or not",
        )
        .compared(Compatibility::Differs(
            "the names of variables do not count: `(remove-atom &s (v $a))` removes `(v $x)`",
        )),
    Spec::typed("remove-atoms", "(-> SpaceType Expression (->))", remove_all)
        .with(Effects::CHANGES_RULES)
        .documented(
            "Removes one copy of each child of a tuple from a space, as far as there is one.",
            &["The space", "Raw: the tuple; the names of variables do not count"],
            "()",
        )
        .compared(Compatibility::MetroonOnly("removes one copy of each child of a tuple, as `add-atoms` adds them")),
    Spec::typed("get-atoms", "(-> SpaceType Atom)", atoms).with(Effects::READS).documented(
        "The atoms of a space itself, without those that it imports.",
        &["The space"],
        "Each atom, not evaluated, with fresh variables",
    ),
    Spec::typed("new-space", "(-> SpaceType)", new_space)
        .with(Effects::MAKES)
        .documented("Makes an empty space. Give it a name with bind!, or hold it with let.", &[], "The space")
        .compared(Compatibility::Works("prints as `GroundingSpace-5`, not with an address")),
    Spec::typed("fork-space", "(-> SpaceType SpaceType)", fork)
        .with(Effects::READS.and(Effects::MAKES))
        .documented(
            "Makes a space that holds what a space holds now, its imports apart. From then on each changes alone.",
            &["The space"],
            "The new space",
        )
        .compared(Compatibility::MetroonOnly(
            "a new space that holds what another one holds now, see [spaces from spaces](#spaces-from-spaces)",
        )),
    Spec::typed("union-spaces", "(-> SpaceType SpaceType SpaceType)", |call| {
        combine(call, "union-spaces", Space::union)
    })
    .with(Effects::READS.and(Effects::MAKES))
    .documented(
        "Makes a space of the atoms of two spaces, those of the first one first. The copies of an atom add up.",
        &["The first space; its imports do not count", "The second space, likewise"],
        "The new space",
    )
    .compared(Compatibility::MetroonOnly("a new space of the atoms of two; copies add up")),
    Spec::typed("intersect-spaces", "(-> SpaceType SpaceType SpaceType)", |call| {
        combine(call, "intersect-spaces", Space::intersection)
    })
    .with(Effects::READS.and(Effects::MAKES))
    .documented(
        "Makes a space of the atoms that two spaces share, in the order of the first one. The fewer copies count.",
        &["The first space; its imports do not count", "The second space, likewise"],
        "The new space",
    )
    .compared(Compatibility::MetroonOnly("a new space of the atoms that two share; the fewer copies")),
    Spec::typed("subtract-spaces", "(-> SpaceType SpaceType SpaceType)", |call| {
        combine(call, "subtract-spaces", Space::subtraction)
    })
    .with(Effects::READS.and(Effects::MAKES))
    .documented(
        "Makes a space of the atoms of one space less those of another one. Each copy there takes away one here.",
        &["The space; its imports do not count", "The space that says what is taken away, likewise"],
        "The new space",
    )
    .compared(Compatibility::MetroonOnly(
        "a new space of the atoms of one less those of another; copies are taken away",
    )),
    Spec::typed("restrict-space", "(-> SpaceType SpaceType SpaceType)", |call| {
        combine(call, "restrict-space", Space::restriction)
    })
    .with(Effects::READS.and(Effects::MAKES))
    .documented(
        "Makes a space of the atoms of one space that another one holds too, or whose beginning it holds: (edge \
             a) keeps (edge a b), and () every expression. All copies are kept.",
        &["The space; its imports do not count", "The space of the atoms and beginnings, likewise"],
        "The new space",
    )
    .compared(Compatibility::MetroonOnly(
        "a new space of the atoms of one that another one holds, or whose beginning it holds",
    )),
    Spec::typed("match-prefix", "(-> SpaceType Expression Atom)", match_prefix)
        .with(Effects::READS)
        .documented(
            "Which children come next in the expressions of a space itself that begin as a tuple does; after () the \
             heads.",
            &["The space", "Raw: the tuple; its variables stand for stored variables at their places only"],
            "(child count) for each different child, not evaluated; copies are counted",
        )
        .compared(Compatibility::MetroonOnly("`(child count)` for each child that comes next after a prefix")),
    Spec::typed("explain-match", "(-> SpaceType Atom Atom)", explain_match)
        .with(Effects::READS)
        .documented(
            "How match answers a pattern, or a conjunction of patterns, in a space: in which order, and how many answers there are so \
             far after each step. It is answered to find that out.",
            &["The space", "Raw: the pattern, or the conjunction (, …)"],
            "(query-plan WAY (answers N) (step OF (expected N) (found N)) …); WAY is loops-as-written, loops-reordered, join or \
             unification; OF is a pattern, or the variable that a join binds; what is expected is left out where few rows were \
             looked at",
        )
        .compared(Compatibility::MetroonOnly("how a query is answered, with expected and real numbers of answers")),
    Spec::typed("new-state", "(-> $t (StateMonad $t))", new_state).with(Effects::READS.and(Effects::MAKES)).documented(
        "Makes a state: a place for a value that can be changed. The type of the first value is the type of all.",
        &["Evaluated: the first value"],
        "The state",
    ),
    Spec::typed("_new-state", "(-> $t Expression (StateMonad $t))", new_typed_state).with(Effects::MAKES).documented(
        "Makes a state of a given type.",
        &["Evaluated: the first value", "Raw: a tuple of types, of which the first counts"],
        "The state; an error if there is no type",
    ),
    Spec::typed("get-state", "(-> (StateMonad $t) $t)", get_state)
        .with(Effects::READS)
        .lowered(Lowering::GetState)
        .documented("Reads a state.", &["Evaluated: the state"], "Its value now"),
    Spec::typed("change-state!", "(-> (StateMonad $t) $t (StateMonad $t))", change_state)
        .with(Effects::CHANGES)
        .lowered(Lowering::ChangeState)
        .documented(
            "Changes the value of a state. It stays changed in every alternative.",
            &["Evaluated: the state", "Evaluated: the new value; another type is an error"],
            "The state",
        )
        .compared(Compatibility::ERROR_TEXT),
];

fn matches(call: &mut Call<'_>) -> Outcome {
    let (Some(pattern), Some(template)) = (call.argument(1), call.argument(2)) else {
        return Outcome::failure("match expects three arguments: space, pattern and template");
    };
    if let Some(space) = call.host_space(0) {
        return of_host(space.query(pattern), |solutions| {
            Outcome::Solutions(solutions.into_iter().map(|solution| with_template(solution, template)).collect())
        });
    }
    let Some(space) = call.space(0) else {
        return Outcome::failure("match expects a space as the first argument");
    };
    let solutions = match call.environment.query(&space, pattern) {
        Ok(solutions) => solutions,
        Err(limit) => return call.refuse(limit),
    };
    Outcome::Solutions(solutions.into_iter().map(|solution| with_template(solution, template)).collect())
}

/// What a space of the host has said.
fn of_host<T>(said: Result<T, String>, done: impl FnOnce(T) -> Outcome) -> Outcome {
    said.map_or_else(Outcome::failure, done)
}

/// A solution and the template with it put in.
pub(super) fn with_template(solution: Solution, template: &Atom) -> (Solution, Atom) {
    let filled = rewrite(template, |variable| {
        let value = solution.iter().find(|(bound, _)| bound == variable);
        value.map_or(Rewrite::Keep, |(_, value)| Rewrite::Replace(value.clone()))
    });
    (solution, filled.unwrap_or_else(|| template.clone()))
}

fn add(call: &mut Call<'_>, name: &str) -> Outcome {
    if let (Some(space), Some(atom)) = (call.host_space(0), call.argument(1)) {
        return of_host(space.add(atom), |()| Outcome::unit());
    }
    match (call.space(0), call.argument(1)) {
        (Some(space), Some(atom)) => add_to(call, &space, std::slice::from_ref(atom)),
        _ => Outcome::failure(format!("{name} expects a space as the first argument and an atom as the second")),
    }
}

/// Adds all of these atoms, or none.
pub(super) fn add_to(call: &Call<'_>, space: &SharedSpace, atoms: &[Atom]) -> Outcome {
    if let Some(refused) = refuse_frozen(space).or_else(|| atoms.iter().find_map(|atom| refuse_opaque(call, atom))) {
        return refused;
    }
    match atoms {
        [atom] => space.add(atom),
        atoms => drop(space.add_many(atoms)),
    }
    Outcome::unit()
}

/// Why an atom cannot be kept by this run, if that is so.
fn refuse_opaque(call: &Call<'_>, atom: &Atom) -> Option<Outcome> {
    let value = if call.environment.is_durable() { canonical::find_opaque(atom)? } else { return None };
    Some(Outcome::failure(names::not_durable(value)))
}

fn add_all(call: &mut Call<'_>, name: &str) -> Outcome {
    match (call.space(0), call.children(1)) {
        (Some(space), Some(atoms)) => add_to(call, &space, atoms),
        _ => Outcome::failure(format!("{name} expects a space as the first argument and a tuple as the second")),
    }
}

fn remove(call: &mut Call<'_>) -> Outcome {
    if let (Some(space), Some(atom)) = (call.host_space(0), call.argument(1)) {
        return of_host(space.remove(atom), |_| Outcome::unit());
    }
    match (call.space(0), call.argument(1)) {
        (Some(space), Some(atom)) => refuse_frozen(&space).unwrap_or_else(|| {
            space.remove(atom);
            Outcome::unit()
        }),
        _ => Outcome::failure("remove-atom expects a space as the first argument and an atom as the second"),
    }
}

/// Removes one copy of each of these atoms that is there.
fn remove_all(call: &mut Call<'_>) -> Outcome {
    match (call.space(0), call.children(1)) {
        (Some(space), Some(atoms)) => refuse_frozen(&space).unwrap_or_else(|| {
            space.remove_many(atoms);
            Outcome::unit()
        }),
        _ => Outcome::failure("remove-atoms expects a space as the first argument and a tuple as the second"),
    }
}

fn atoms(call: &mut Call<'_>) -> Outcome {
    if let Some(space) = call.host_space(0) {
        return of_host(space.atoms(), Outcome::Results);
    }
    match call.space(0) {
        Some(space) => Outcome::Results(space.atoms(call.environment.variables())),
        None => Outcome::failure("get-atoms expects a space as its argument"),
    }
}

fn new_space(call: &mut Call<'_>) -> Outcome {
    match call.arguments {
        [] => Outcome::one(call.environment.new_space()),
        _ => Outcome::failure("new-space doesn't expect arguments"),
    }
}

/// Makes a space of what two spaces hold.
type Combination = fn(&Space, &Space, Multiplicity) -> Space;

fn fork(call: &mut Call<'_>) -> Outcome {
    match call.space(0) {
        Some(space) => space_of(call, space.fork_content(), &[space]),
        None => Outcome::failure("fork-space expects a space as its argument"),
    }
}

fn combine(call: &mut Call<'_>, name: &str, combination: Combination) -> Outcome {
    let (Some(left), Some(right)) = (call.space(0), call.space(1)) else {
        return Outcome::failure(format!("{name} expects two spaces as its arguments"));
    };
    if let Err(refused) = call.look((left.len() + right.len()) * size_of::<Atom>()) {
        return refused;
    }
    // No space is locked while another one is: both may be the same.
    let combined = combination(&left.fork_content(), &right.fork_content(), Multiplicity::Counted);
    space_of(call, combined, &[left, right])
}

/// A new space that holds what was made of these spaces. A run that is remembered notes each atom, as if it were added.
fn space_of(call: &mut Call<'_>, content: Space, origins: &[SharedSpace]) -> Outcome {
    if !call.environment.is_remembered() {
        let space = call.environment.new_space();
        space.fill_with(content, origins);
        return Outcome::one(space);
    }
    if let Err(refused) = call.look(content.len() * size_of::<Atom>()) {
        return refused;
    }
    // Variables of a source of their own: the numbers of the run's variables do not depend on whether it is remembered.
    let atoms = content.atoms(&mut VariableSource::default());
    if let Some(refused) = atoms.iter().find_map(|atom| refuse_opaque(call, atom)) {
        return refused;
    }
    let space = call.environment.new_space();
    space.add_many(&atoms);
    Outcome::one(space)
}

/// One `(child count)` for each child that comes next after the prefix.
fn match_prefix(call: &mut Call<'_>) -> Outcome {
    let (Some(space), Some(prefix)) = (call.space(0), call.children(1)) else {
        return Outcome::failure("match-prefix expects a space as the first argument and a tuple as the second");
    };
    let found = space.children_after(prefix, call.environment.variables());
    let pair = |(child, count): (Atom, usize)| Atom::expression([child, Number::from(count).into()]);
    Outcome::Results(found.into_iter().map(pair).collect())
}

/// The plan of a query with what it came to.
fn explain_match(call: &mut Call<'_>) -> Outcome {
    let (Some(space), Some(pattern)) = (call.space(0), call.argument(1)) else {
        return Outcome::failure("explain-match expects a space as the first argument and a pattern as the second");
    };
    let explained = space.explain(pattern, call.environment.variables());
    let way = match explained.way {
        QueryWay::LoopsAsWritten => "loops-as-written",
        QueryWay::LoopsReordered => "loops-reordered",
        QueryWay::Join => "join",
        QueryWay::Unification => "unification",
    };
    let counted = |name: &str, count: usize| Atom::expression([Atom::symbol(name), Number::from(count).into()]);
    let step = |step: ExplainedStep| {
        let expected = step.estimated.map(|estimated| counted("expected", estimated.round() as usize));
        let parts = [Atom::symbol("step"), step.of].into_iter().chain(expected).chain([counted("found", step.found)]);
        Atom::expression(parts.collect::<Vec<Atom>>())
    };
    let parts = [Atom::symbol("query-plan"), Atom::symbol(way), counted("answers", explained.answers)];
    Outcome::one(Atom::expression(
        parts.into_iter().chain(explained.steps.into_iter().map(step)).collect::<Vec<Atom>>(),
    ))
}

fn state_of(call: &mut Call<'_>, value: &Atom, type_atom: Atom) -> Outcome {
    if let Some(refused) = refuse_opaque(call, value).or_else(|| refuse_opaque(call, &type_atom)) {
        return refused;
    }
    let type_atom = Atom::expression([Atom::symbol(names::STATE_MONAD), type_atom]);
    Outcome::one(call.environment.new_state(value.clone(), type_atom))
}

fn new_state(call: &mut Call<'_>) -> Outcome {
    let Some(value) = call.argument(0) else { return Outcome::failure("new-state expects one atom as its argument") };
    let value = value.clone();
    let found = types::types_of(call.context, &value, call.environment.variables());
    let first = found.into_iter().find(types::AtomType::is_valid).map(|found| found.atom);
    state_of(call, &value, first.unwrap_or_else(|| Atom::symbol(names::UNDEFINED)))
}

fn new_typed_state(call: &mut Call<'_>) -> Outcome {
    let expected = "new-state expects atom as a first argument and non-empty list of types as a second argument";
    let (Some(value), Some([first, ..])) = (call.argument(0), call.children(1)) else {
        return Outcome::failure(expected);
    };
    let (value, first) = (value.clone(), first.clone());
    state_of(call, &value, first)
}

fn get_state(call: &mut Call<'_>) -> Outcome {
    match call.state(0) {
        Some(state) => Outcome::one(state.value()),
        None => Outcome::failure("get-state expects single state atom as an argument"),
    }
}

fn change_state(call: &mut Call<'_>) -> Outcome {
    match (call.state(0), call.argument(1)) {
        (Some(state), Some(_)) if state.is_frozen() => Outcome::failure("this state is of the past: it cannot change"),
        (Some(state), Some(value)) => {
            if let Some(refused) = refuse_opaque(call, value) {
                return refused;
            }
            call.environment.state_changes(&state);
            state.set(value.clone());
            Outcome::one(state)
        }
        _ => Outcome::failure("change-state! expects a state atom and its new value as arguments"),
    }
}
