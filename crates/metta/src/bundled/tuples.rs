//! The module `tuples`: tuples taken as lists, sorted, grouped, cut and counted.
//!
//! Lists are evaluated before the call, so that calls can be nested; results are not evaluated again. What takes a template, such as
//! `sort-by`, is a rule of `tuples.metta`: it evaluates the template once for each child in order, and a native function does the rest.

use super::Bundle;
use super::order::compare;
use crate::effects::Effects;
use crate::names;
use crate::operation::{Call, Compatibility, Native, OperationSpec as Spec, Outcome};
use rustc_hash::FxHashMap;
use space::{ArithmeticError, Atom, Grounded, Number, make_fresh, substitute};

const LIST: &str = "Evaluated: the list, a tuple";
const INSIDE: Compatibility = Compatibility::MetroonOnly("called by functions of the module `tuples`");

const fn pure(name: &'static str, signature: &'static str, native: Native) -> Spec {
    Spec::typed(name, signature, native)
        .with(Effects::NONE)
        .compared(Compatibility::MetroonOnly("of the module `tuples`"))
}

pub(super) const MODULE: Bundle = Bundle {
    name: "tuples",
    operations: &[
        pure("sort-atom", "(-> %Undefined% Atom)", sort)
            .documented(
                "Sorts a list: variables, numbers, truth values, texts, symbols, expressions. Equal children keep their order.",
                &[LIST],
                "The sorted list",
            )
            .compared(Compatibility::MetroonOnly("of the module `tuples`; PeTTa has it")),
        pure("reverse-atom", "(-> %Undefined% Atom)", |call| {
            with_list(call, "reverse-atom", |list| tuple(list.iter().rev().cloned()))
        })
        .documented("A list from its last child to its first.", &[LIST], "The reversed list"),
        pure("last-atom", "(-> %Undefined% Atom)", |call| {
            with_list(call, "last-atom", |list| match list.last() {
                Some(last) => Outcome::one(last.clone()),
                None => Outcome::failure("last-atom expects a list that is not empty"),
            })
        })
        .documented("The last child of a list.", &[LIST], "The child; an error for ()"),
        pure("second-from-pair", "(-> %Undefined% Atom)", second)
            .documented("The second child of a pair.", &["Evaluated: the pair"], "The child; an error for what is no pair")
            .compared(Compatibility::MetroonOnly("of the module `tuples`; PeTTa has it")),
        pure("take-atom", "(-> Number %Undefined% Atom)", |call| {
            with_count(call, "take-atom", |count, list| tuple(list.iter().take(count).cloned()))
        })
        .documented("The first children of a list.", &["How many", LIST], "The list of so many, of fewer if there are no more"),
        pure("drop-atom", "(-> Number %Undefined% Atom)", |call| {
            with_count(call, "drop-atom", |count, list| tuple(list.iter().skip(count).cloned()))
        })
        .documented("A list without its first children.", &["How many", LIST], "The list of the others"),
        pure("is-member", "(-> Atom %Undefined% Bool)", |call| {
            with_item(call, "is-member", |item, list| Outcome::one(list.contains(item)))
        })
        .documented("Whether an atom is a child of a list.", &["Raw: the atom", LIST], "A truth value")
        .compared(Compatibility::MetroonOnly("of the module `tuples`; PeTTa has it, and evaluates the atom")),
        pure("exclude-item", "(-> Atom %Undefined% Atom)", |call| {
            with_item(call, "exclude-item", |item, list| tuple(list.iter().filter(|child| *child != item).cloned()))
        })
        .documented("A list without each child that is this atom.", &["Raw: the atom", LIST], "The list of the others")
        .compared(Compatibility::MetroonOnly("of the module `tuples`; PeTTa has it, and evaluates the atom")),
        pure("position-of", "(-> Atom %Undefined% Number)", |call| {
            with_item(call, "position-of", |item, list| match list.iter().position(|child| child == item) {
                Some(position) => Outcome::one(Number::from(position)),
                None => Outcome::Results(Vec::new()),
            })
        })
        .documented("Where an atom first stands in a list.", &["Raw: the atom", LIST], "The position; no result if it does not"),
        pure("range", "(-> Number Number Atom)", range).documented(
            "The integers from one up to another, which is left out.",
            &["The first integer", "The end"],
            "The list of them; () if the end is not larger",
        ),
        pure("zip-atom", "(-> %Undefined% %Undefined% Atom)", zip).documented(
            "Pairs of the children of two lists that stand at the same place.",
            &["Evaluated: a list", "Evaluated: another list"],
            "The list of pairs, as long as the shorter list",
        ),
        pure("flatten-atom", "(-> %Undefined% Atom)", |call| {
            with_list(call, "flatten-atom", |list| {
                tuple(list.iter().flat_map(|child| child.children().unwrap_or(std::slice::from_ref(child))).cloned())
            })
        })
        .documented("A list whose children that are tuples are replaced by theirs, one level deep.", &[LIST], "The flat list"),
        pure("sum-atom", "(-> %Undefined% Number)", |call| fold(call, "sum-atom", 0, Number::add)).documented(
            "Adds up the numbers of a list.",
            &[LIST],
            "The sum, 0 for (); an error if a child is no number",
        ),
        pure("product-atom", "(-> %Undefined% Number)", |call| fold(call, "product-atom", 1, Number::multiply))
            .documented("Multiplies the numbers of a list.", &[LIST], "The product, 1 for (); an error if a child is no number"),
        pure("frequencies", "(-> %Undefined% Atom)", frequencies).documented(
            "How often each child stands in a list.",
            &[LIST],
            "A list of (child count), in the order in which they first stand there",
        ),
        pure("_instance", "(-> Variable Atom Atom Atom)", |call| match call.arguments {
            [Atom::Variable(variable), template, child] => {
                let fresh = make_fresh(template, std::slice::from_ref(variable), call.environment.variables());
                Outcome::one(substitute(&fresh, variable, child))
            }
            _ => Outcome::failure("a variable stands for a child of the list, and another atom is given in its place"),
        })
        .documented(
            "A template with a child in place of its variable, the other variables renamed.",
            &["The variable", "Raw: the template", "Raw: the child"],
            "The template, not evaluated",
        )
        .compared(INSIDE),
        pure("_with-key", "(-> Atom %Undefined% Atom)", |call| match call.arguments {
            [before, key] => Outcome::one(Atom::expression([Atom::symbol(KEYED), key.clone(), before.clone()])),
            _ => Outcome::failure("_with-key expects the keys so far and a key"),
        })
        .documented("One key more.", &["Raw: the keys so far, nested", "Evaluated: the key"], "The keys, the last one outside")
        .compared(INSIDE),
        pure("_sorted-by-keys", "(-> Atom Atom Atom)", |call| {
            by_keys(call, |list, keys| {
                let mut places: Vec<usize> = (0..list.len()).collect();
                places.sort_by(|&left, &right| compare(keys[left], keys[right]));
                tuple(places.into_iter().map(|place| list[place].clone()))
            })
        })
        .documented("A list in the order of its keys.", &["Raw: the list", "Raw: its keys, nested"], "The sorted list")
        .compared(INSIDE),
        pure("_grouped-by-keys", "(-> Atom Atom Atom)", |call| by_keys(call, grouped))
            .documented("The children of a list by their keys.", &["Raw: the list", "Raw: its keys, nested"], "The groups")
            .compared(INSIDE),
        pure("_kept-by-keys", "(-> Atom Atom Atom)", |call| {
            by_keys(call, |list, keys| match keys.iter().find(|key| truth(key).is_none()) {
                Some(key) => Outcome::failure(format!("the test comes to {}, and a truth value is expected", names::brief(key))),
                None => tuple(list.iter().zip(keys).filter(|(_, key)| truth(key) == Some(true)).map(|(item, _)| item.clone())),
            })
        })
        .documented("The children of a list whose keys are True.", &["Raw: the list", "Raw: its keys, nested"], "The list of them")
        .compared(INSIDE),
    ],
    values: &[],
    source: include_str!("tuples.metta"),
    yields: true,
};

/// The longest list of integers that is made at once.
const RANGE_MAX: usize = 1 << 26;

/// What nested keys begin with, so that they are no call.
const KEYED: &str = "_keyed";

fn tuple(children: impl Iterator<Item = Atom>) -> Outcome {
    Outcome::one(Atom::expression(children.collect::<Vec<_>>()))
}

fn truth(atom: &Atom) -> Option<bool> {
    match atom {
        Atom::Grounded(Grounded::Bool(value)) => Some(*value),
        _ => None,
    }
}

fn with_list(call: &mut Call<'_>, name: &str, of: impl Fn(&[Atom]) -> Outcome) -> Outcome {
    match call.children(0) {
        Some(list) => of(list),
        None => Outcome::failure(format!("{name} expects a list, a tuple")),
    }
}

fn with_count(call: &mut Call<'_>, name: &str, of: impl Fn(usize, &[Atom]) -> Outcome) -> Outcome {
    match (call.size(0), call.children(1)) {
        (Some(count), Some(list)) => of(count, list),
        _ => Outcome::failure(format!("{name} expects how many, an integer from 0 on, and a list")),
    }
}

fn with_item(call: &mut Call<'_>, name: &str, of: impl Fn(&Atom, &[Atom]) -> Outcome) -> Outcome {
    match (call.argument(0), call.children(1)) {
        (Some(item), Some(list)) => of(item, list),
        _ => Outcome::failure(format!("{name} expects an atom and a list")),
    }
}

fn sort(call: &mut Call<'_>) -> Outcome {
    with_list(call, "sort-atom", |list| {
        let mut sorted = list.to_vec();
        sorted.sort_by(compare);
        tuple(sorted.into_iter())
    })
}

fn second(call: &mut Call<'_>) -> Outcome {
    match call.children(0) {
        Some([_, second]) => Outcome::one(second.clone()),
        _ => Outcome::failure("second-from-pair expects a pair"),
    }
}

fn range(call: &mut Call<'_>) -> Outcome {
    let (Some(first), Some(end)) = (call.integer(0), call.integer(1)) else {
        return Outcome::failure("range expects two integers");
    };
    let length = usize::try_from(i128::from(end) - i128::from(first)).unwrap_or(0);
    if length > RANGE_MAX {
        return Outcome::failure(format!("the list would have more than {RANGE_MAX} children"));
    }
    if let Err(refused) = call.look(length * size_of::<Atom>()) {
        return refused;
    }
    tuple((first..end).map(Atom::from))
}

fn zip(call: &mut Call<'_>) -> Outcome {
    match (call.children(0), call.children(1)) {
        (Some(left), Some(right)) => {
            tuple(left.iter().zip(right).map(|(left, right)| Atom::expression([left.clone(), right.clone()])))
        }
        _ => Outcome::failure("zip-atom expects two lists"),
    }
}

fn fold(
    call: &mut Call<'_>,
    name: &str,
    start: i64,
    step: fn(&Number, &Number) -> Result<Number, ArithmeticError>,
) -> Outcome {
    with_list(call, name, |list| {
        let mut total = Number::Int(start);
        for child in list {
            let Atom::Grounded(Grounded::Number(number)) = child else {
                return Outcome::failure(format!("{name} expects numbers, and {} is none", names::brief(child)));
            };
            match step(&total, number) {
                Ok(next) => total = next,
                Err(error) => return Outcome::failure(error.to_string()),
            }
        }
        Outcome::one(total)
    })
}

fn frequencies(call: &mut Call<'_>) -> Outcome {
    with_list(call, "frequencies", |list| {
        let mut places: FxHashMap<&Atom, usize> = FxHashMap::default();
        let mut counted: Vec<(&Atom, usize)> = Vec::new();
        for child in list {
            let place = *places.entry(child).or_insert(counted.len());
            match counted.get_mut(place) {
                Some((_, count)) => *count += 1,
                None => counted.push((child, 1)),
            }
        }
        tuple(counted.into_iter().map(|(child, count)| Atom::expression([child.clone(), Number::from(count).into()])))
    })
}

/// What a list and its keys come to. A child whose template has no result, or several, has no key of its own.
fn by_keys(call: &mut Call<'_>, of: impl Fn(&[Atom], &[&Atom]) -> Outcome) -> Outcome {
    let (Some(list), Some(mut nested)) = (call.children(0), call.argument(1)) else {
        return Outcome::failure("a list and its keys are expected");
    };
    let mut keys = Vec::with_capacity(list.len());
    while let Some([_, key, before]) = nested.children() {
        keys.push(key);
        nested = before;
    }
    keys.reverse();
    match keys.len() == list.len() {
        true => of(list, &keys),
        false => Outcome::failure("each child of the list is to have one key"),
    }
}

fn grouped(list: &[Atom], keys: &[&Atom]) -> Outcome {
    let mut places: FxHashMap<&Atom, usize> = FxHashMap::default();
    let mut groups: Vec<(&Atom, Vec<Atom>)> = Vec::new();
    for (item, &key) in list.iter().zip(keys) {
        let place = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, items)) => items.push(item.clone()),
            None => groups.push((key, vec![item.clone()])),
        }
    }
    tuple(groups.into_iter().map(|(key, items)| Atom::expression([key.clone(), Atom::expression(items)])))
}
