//! Expressions as lists: size, elements, multisets, and the steps of mapping, filtering and folding.

use super::arithmetic::{bool_of, number_of};
use crate::effects::Effects;
use crate::lowering::Lowering;
use crate::names;
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use rustc_hash::{FxHashMap, FxHashSet};
use space::{Atom, Grounded, Number, Rewrite, Symbol, Variable, VariableSource, make_fresh, rewrite, substitute};

const EQUAL_NUMBERS: Compatibility = Compatibility::Differs(
    "equal numbers such as `2` and `2.0` are the same element, as for `==`; Hyperon distinguishes them here",
);

pub(super) const OPERATIONS: &[Spec] = &[
    Spec::typed("size-atom", "(-> Expression Number)", size)
        .with(Effects::NONE)
        .lowered(Lowering::Size)
        .documented(
            "How many children an expression has.",
            &["Raw: an expression"],
            "The number; an error for what is no expression",
        )
        .compared(Compatibility::ERROR_TEXT),
    Spec::typed("index-atom", "(-> Expression Number Atom)", index)
        .with(Effects::NONE)
        .lowered(Lowering::Element)
        .documented(
            "The child of an expression at a position.",
            &["Raw: an expression", "Evaluated: the position, from 0"],
            "The child, not evaluated; an error if there is none",
        )
        .compared(Compatibility::ERROR_TEXT),
    Spec::typed("min-atom", "(-> %Undefined% Number)", |call| extreme(call, std::cmp::Ordering::is_lt))
        .with(Effects::READS)
        .documented(
            "The smallest of some numbers.",
            &["Evaluated: a tuple of numbers"],
            "A float, unless (pragma! semantics strict) is set; an error for () and for what is no number",
        )
        .compared(Compatibility::Works(
            "the text of the error for wrong arguments; with [strict semantics](#strict-semantics) integers stay \
             integers",
        )),
    Spec::typed("max-atom", "(-> %Undefined% Number)", |call| extreme(call, std::cmp::Ordering::is_gt))
        .with(Effects::READS)
        .documented(
            "The largest of some numbers.",
            &["Evaluated: a tuple of numbers"],
            "A float, unless (pragma! semantics strict) is set; an error for () and for what is no number",
        )
        .compared(Compatibility::Works("as `min-atom`")),
    Spec::typed("unique-atom", "(-> Expression Atom)", unique)
        .with(Effects::NONE)
        .documented(
            "Drops children that occurred before; the names of variables do not count.",
            &["Raw: a tuple"],
            "The tuple of different children, not evaluated; an error for what is no tuple",
        )
        .compared(Compatibility::ERROR_TEXT),
    Spec::typed("union-atom", "(-> Expression Expression Atom)", union)
        .with(Effects::NONE)
        .documented(
            "Joins two tuples, duplicates included.",
            &["Raw: a tuple", "Raw: another tuple"],
            "One tuple, not evaluated; an error for what is no tuple",
        )
        .compared(Compatibility::ERROR_TEXT),
    Spec::typed("intersection-atom", "(-> Expression Expression Atom)", |call| against_counts(call, true))
        .with(Effects::NONE)
        .documented(
            "The children that two tuples have in common, each as often as both have it.",
            &["Raw: a tuple", "Raw: another tuple"],
            "The tuple of common children in the order of the first, not evaluated; an error for what is no tuple",
        )
        .compared(EQUAL_NUMBERS),
    Spec::typed("subtraction-atom", "(-> Expression Expression Atom)", |call| against_counts(call, false))
        .with(Effects::NONE)
        .lowered(Lowering::Difference)
        .documented(
            "A tuple less the children of another; each removes one equal child.",
            &["Raw: a tuple", "Raw: the tuple whose children are taken away"],
            "The tuple of what is left, not evaluated; an error for what is no tuple",
        )
        .compared(EQUAL_NUMBERS),
    Spec::typed("sort-strings", "(-> Expression Expression)", sort_strings).with(Effects::NONE).documented(
        "Sorts strings by the numbers of their characters in Unicode: capitals before small letters.",
        &["Raw: a tuple of strings"],
        "The sorted tuple; an error if a child is no string",
    ),
    Spec::typed("_collapse-add-next-atom-from-collapse-bind-result", "(-> Expression Expression Atom)", add_collapsed)
        .with(Effects::NONE)
        .documented(
            "Adds a result that collapse-bind gathered to a tuple.",
            &["Raw: the tuple", "Raw: a (result bindings)"],
            "The longer tuple",
        ),
    Spec::typed("_collapsed-atoms", "(-> Expression Atom)", collapsed_atoms)
        .with(Effects::NONE)
        .lowered(Lowering::CollapsedAtoms)
        .documented(
            "The results that collapse-bind gathered, without their bindings.",
            &["Raw: a tuple of (result bindings)"],
            "The tuple of results",
        )
        .compared(Compatibility::MetroonOnly("called by `collapse`")),
    Spec::typed("_minimal-foldl-atom", "(-> Expression Atom Variable Variable Atom SpaceType %Undefined%)", fold_step)
        .with(Effects::NONE)
        .documented(
            "One step of foldl-atom.",
            &[
                "Raw: what is left of the list",
                "Raw: the value so far",
                "The variable that stands for the value",
                "The variable that stands for the child",
                "Raw: the template of a step",
                "The space to evaluate in",
            ],
            "The instruction for the next step",
        ),
    Spec::typed("_map-step", "(-> Expression Expression Variable Atom Atom)", map_step)
        .with(Effects::NONE)
        .documented(
            "One step of map-atom.",
            &[
                "Raw: what is left of the list",
                "Raw: the results so far, nested, the last one outside",
                "The variable that stands for a child",
                "Raw: the template",
            ],
            "The instruction for the next step",
        )
        .compared(Compatibility::MetroonOnly("called by `map-atom`")),
    Spec::typed("_filter-step", "(-> Expression Expression Variable Atom Atom)", filter_step)
        .with(Effects::NONE)
        .documented(
            "One step of filter-atom.",
            &[
                "Raw: what is left of the list",
                "Raw: what was kept so far, nested, the last one outside",
                "The variable that stands for a child",
                "Raw: the test",
            ],
            "The instruction for the next step",
        )
        .compared(Compatibility::MetroonOnly("called by `filter-atom`")),
];

fn size(call: &mut Call<'_>) -> Outcome {
    match call.children(0) {
        Some(children) => Outcome::one(Number::from(children.len())),
        None => Outcome::failure("size-atom expects one argument: expression"),
    }
}

fn index(call: &mut Call<'_>) -> Outcome {
    let (Some(children), Some(index)) = (call.children(0), number_of(call.argument(1))) else {
        return Outcome::failure("index-atom expects two arguments: expression and atom");
    };
    let position = match index {
        Number::Int(position) => usize::try_from(*position).ok(),
        Number::Float(position) if *position > -1.0 && *position < children.len() as f64 => Some(*position as usize),
        Number::Big(_) | Number::Float(_) => None,
    };
    match position.and_then(|position| children.get(position)) {
        Some(child) => Outcome::one(child.clone()),
        None => Outcome::failure("Index is out of bounds"),
    }
}

/// The smallest or largest number: a float, as in Hyperon, unless semantics are strict.
fn extreme(call: &mut Call<'_>, is_better: fn(std::cmp::Ordering) -> bool) -> Outcome {
    let Some(children) = call.children(0) else {
        return Outcome::failure("an expression of numbers is expected as the argument");
    };
    let mut best: Option<&Number> = None;
    for child in children {
        let Some(number) = number_of(Some(child)) else {
            let whole = call.argument(0).map(names::brief).unwrap_or_default();
            return Outcome::failure(format!("Only numbers are allowed in expression: {whole}"));
        };
        let better = best.is_none_or(|best| best.to_f64().is_nan() || number.compare(best).is_some_and(is_better));
        if better {
            best = Some(number);
        }
    }
    match best {
        Some(number) if call.environment.is_strict() => Outcome::one(number.clone()),
        Some(number) => Outcome::one(number.to_f64()),
        None => Outcome::failure("Empty expression"),
    }
}

/// The atom with its variables named by the order of their first occurrence: equal for alpha-equivalent atoms.
pub(super) fn alpha_key(atom: &Atom) -> Atom {
    let name = Symbol::new("_");
    let mut order: FxHashMap<Variable, u64> = FxHashMap::default();
    let renamed = rewrite(atom, |variable| {
        let next = order.len() as u64 + 1;
        let number = *order.entry(variable.clone()).or_insert(next);
        Rewrite::Replace(Atom::Variable(Variable::with_id(name.clone(), number)))
    });
    renamed.unwrap_or_else(|| atom.clone())
}

fn unique(call: &mut Call<'_>) -> Outcome {
    let Some(children) = call.children(0) else {
        return Outcome::failure("unique expects single expression atom as an argument");
    };
    let mut seen = FxHashSet::default();
    let kept: Vec<Atom> = children.iter().filter(|child| seen.insert(alpha_key(child))).cloned().collect();
    Outcome::one(Atom::expression(kept))
}

fn union(call: &mut Call<'_>) -> Outcome {
    let (Some(left), Some(right)) = (call.children(0), call.children(1)) else {
        return Outcome::failure("union expects and executable LHS and RHS atom");
    };
    Outcome::one(Atom::expression([left, right].concat()))
}

/// The elements of the first list that the second one has too, or has not, each copy counted.
fn against_counts(call: &mut Call<'_>, keep_common: bool) -> Outcome {
    let (Some(left), Some(right)) = (call.children(0), call.children(1)) else {
        return Outcome::failure("two expressions are expected as arguments");
    };
    let mut counts: FxHashMap<&Atom, usize> = FxHashMap::default();
    right.iter().for_each(|atom| *counts.entry(atom).or_default() += 1);
    let mut kept = Vec::new();
    for atom in left {
        let copies = counts.get_mut(atom).filter(|copies| **copies > 0);
        if copies.is_some() == keep_common {
            kept.push(atom.clone());
        }
        if let Some(copies) = copies {
            *copies -= 1;
        }
    }
    Outcome::one(Atom::expression(kept))
}

fn sort_strings(call: &mut Call<'_>) -> Outcome {
    let expected = "sort-strings expects expression with strings as a first argument";
    let as_text = |atom: &Atom| match atom {
        Atom::Grounded(Grounded::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let texts: Option<Vec<_>> = call.children(0).and_then(|children| children.iter().map(as_text).collect());
    let Some(mut texts) = texts else { return Outcome::failure(expected) };
    texts.sort();
    let sorted: Vec<Atom> = texts.into_iter().map(|text| Atom::Grounded(Grounded::Text(text))).collect();
    Outcome::one(Atom::expression(sorted))
}

/// The atom of an element of what `collapse-bind` returns.
fn collapsed_atom(pair: &Atom) -> Option<Atom> {
    match pair.children()? {
        [atom, Atom::Grounded(Grounded::Bindings(_))] => Some(atom.clone()),
        _ => None,
    }
}

fn add_collapsed(call: &mut Call<'_>) -> Outcome {
    let (Some(list), Some(pair)) = (call.children(0), call.argument(1)) else {
        return Outcome::failure("Expression is expected as a first argument");
    };
    match collapsed_atom(pair) {
        Some(atom) => Outcome::one(Atom::expression([list, &[atom]].concat())),
        None => Outcome::failure("(Atom Bindings) pair is expected as a second argument"),
    }
}

/// All atoms of what `collapse-bind` returns.
fn collapsed_atoms(call: &mut Call<'_>) -> Outcome {
    let atoms: Option<Vec<Atom>> = call.children(0).and_then(|pairs| pairs.iter().map(collapsed_atom).collect());
    match atoms {
        Some(atoms) => Outcome::one(Atom::expression(atoms)),
        None => Outcome::failure("a tuple of (Atom Bindings) pairs is expected as the argument"),
    }
}

fn instruction(name: &str, arguments: impl IntoIterator<Item = Atom>) -> Atom {
    let children: Vec<Atom> = std::iter::once(Atom::symbol(name)).chain(arguments).collect();
    Atom::expression(children)
}

fn tail_of(atom: &Atom) -> Option<(Atom, Atom)> {
    let Atom::Expression(expression) = atom else { return None };
    Some((expression.children().first()?.clone(), expression.tail()?.into()))
}

fn fresh(runner_variables: &mut VariableSource, name: &str) -> Atom {
    Atom::Variable(runner_variables.fresh(&Symbol::new(name)))
}

/// One step of a fold: `(_minimal-foldl-atom list value $acc $item template space)` runs inside `function` and
/// returns, or evaluates the template for the head of the list and goes on with the tail.
fn fold_step(call: &mut Call<'_>) -> Outcome {
    let [list, value, Atom::Variable(accumulator), Atom::Variable(item), template, space] = call.arguments else {
        return Outcome::failure("list, initial value, two variables, template and space are expected as arguments");
    };
    if list.children().is_none() {
        return Outcome::failure("Expression is expected as a first argument");
    }
    let Some((head, tail)) = tail_of(list) else {
        return Outcome::one(instruction(names::RETURN, [value.clone()]));
    };
    let kept = [accumulator.clone(), item.clone()];
    let step = make_fresh(template, &kept, call.environment.variables());
    let step = replace_two(&step, (accumulator, value), (item, &head));
    let next = fresh(call.environment.variables(), "next");
    let evaluated = instruction("metta", [step, Atom::symbol(names::UNDEFINED), space.clone()]);
    let myself = call.head.clone();
    let rest = Atom::expression([
        myself,
        tail,
        next.clone(),
        Atom::Variable(accumulator.clone()),
        Atom::Variable(item.clone()),
        template.clone(),
        space.clone(),
    ]);
    Outcome::one(instruction("chain", [evaluated, next, instruction("eval", [rest])]))
}

/// Both replacements at once, so that neither touches what the other puts in.
fn replace_two(atom: &Atom, first: (&Variable, &Atom), second: (&Variable, &Atom)) -> Atom {
    let replaced = rewrite(atom, |variable| match () {
        () if variable == first.0 => Rewrite::Replace(first.1.clone()),
        () if variable == second.0 => Rewrite::Replace(second.1.clone()),
        () => Rewrite::Keep,
    });
    replaced.unwrap_or_else(|| atom.clone())
}

/// The elements gathered so far, `(last (before (… ())))`, as a list in order.
fn gathered(mut done: &Atom) -> Atom {
    let mut elements = Vec::new();
    while let Some([element, before]) = done.children() {
        elements.push(element.clone());
        done = before;
    }
    elements.reverse();
    Atom::expression(elements)
}

/// One step of a map: `(_map-step rest done $variable template)`.
fn map_step(call: &mut Call<'_>) -> Outcome {
    let [rest, done, Atom::Variable(variable), template] = call.arguments else {
        return Outcome::failure("list, gathered results, variable and template are expected as arguments");
    };
    let Some((head, tail)) = tail_of(rest) else {
        return Outcome::one(instruction(names::RETURN, [gathered(done)]));
    };
    let template_now = make_fresh(template, std::slice::from_ref(variable), call.environment.variables());
    let mapped = fresh(call.environment.variables(), "mapped");
    let gathered = Atom::expression([mapped.clone(), done.clone()]);
    let myself = call.head.clone();
    let next = Atom::expression([myself, tail, gathered, Atom::Variable(variable.clone()), template.clone()]);
    let step = substitute(&template_now, variable, &head);
    Outcome::one(instruction("chain", [step, mapped, instruction("eval", [next])]))
}

/// One step of a filter: `(_filter-step rest done $variable test)` runs the test on the head of the list, and with
/// the verdict as a fifth argument keeps or drops that head. What is no truth value is no return.
fn filter_step(call: &mut Call<'_>) -> Outcome {
    let (rest, done, variable, test, verdict) = match call.arguments {
        [rest, done, Atom::Variable(variable), test] => (rest, done, variable, test, None),
        [rest, done, Atom::Variable(variable), test, verdict] => (rest, done, variable, test, Some(verdict)),
        _ => return Outcome::failure("list, gathered results, variable and test are expected as arguments"),
    };
    let Some((head, tail)) = tail_of(rest) else {
        return Outcome::one(instruction(names::RETURN, [gathered(done)]));
    };
    let step = |rest: Atom, done: Atom, verdict: Option<Atom>| {
        let arguments = [call.head.clone(), rest, done, Atom::Variable(variable.clone()), test.clone()];
        instruction("eval", [Atom::expression(arguments.into_iter().chain(verdict).collect::<Vec<_>>())])
    };
    match verdict.map(|verdict| bool_of(Some(verdict))) {
        Some(Some(true)) => Outcome::one(step(tail, Atom::expression([head, done.clone()]), None)),
        Some(Some(false)) => Outcome::one(step(tail, done.clone(), None)),
        Some(None) => Outcome::one(Atom::symbol(names::NOT_REDUCIBLE)),
        None => {
            let test_now = make_fresh(test, std::slice::from_ref(variable), call.environment.variables());
            let verdict = fresh(call.environment.variables(), "verdict");
            let decide = step(rest.clone(), done.clone(), Some(verdict.clone()));
            Outcome::one(instruction("chain", [substitute(&test_now, variable, &head), verdict, decide]))
        }
    }
}
