//! The modules `sets` and `assoc`: sets and association lists, as tuples that are kept in the standard [`order`](super::order).
//!
//! A set is a tuple without equal children, `(1 2 3)`; an association list is a tuple of `(key value)` with different keys. Both are
//! ordinary atoms: they print, match and can be stored. What is not in order is put in order first, so that any tuple will do. A look
//! takes a number of comparisons that grows with the logarithm of the size; a change copies the tuple.

use super::Bundle;
use super::order::compare;
use crate::effects::Effects;
use crate::names;
use crate::operation::{Call, Compatibility, Native, OperationSpec as Spec, Outcome};
use space::Atom;
use std::borrow::Cow;
use std::cmp::Ordering;

const SET: &str = "Evaluated: the set";
const ASSOC: &str = "Evaluated: the association list";

const fn pure(name: &'static str, signature: &'static str, native: Native, module: &'static str) -> Spec {
    Spec::typed(name, signature, native).with(Effects::NONE).compared(Compatibility::MetroonOnly(module))
}

const fn of_sets(name: &'static str, signature: &'static str, native: Native) -> Spec {
    pure(name, signature, native, "of the module `sets`")
}

const fn of_assoc(name: &'static str, signature: &'static str, native: Native) -> Spec {
    pure(name, signature, native, "of the module `assoc`")
}

pub(super) const SETS: Bundle = Bundle {
    name: "sets",
    operations: &[
        of_sets("set-from", "(-> %Undefined% Atom)", |call| {
            with_set(call, "set-from", |set| tuple(set.iter().cloned()))
        })
        .documented(
            "The set of the children of a tuple.",
            &["Evaluated: the tuple"],
            "The set, a sorted tuple",
        ),
        of_sets("set-has", "(-> %Undefined% Atom Bool)", |call| {
            with_item(call, "set-has", |set, item| Outcome::one(place(set, item).is_ok()))
        })
        .documented("Whether an atom is in a set.", &[SET, "Raw: the atom"], "A truth value"),
        of_sets("set-add", "(-> %Undefined% Atom Atom)", |call| {
            with_item(call, "set-add", |set, item| match place(set, item) {
                Ok(_) => tuple(set.iter().cloned()),
                Err(place) => spliced(set, place..place, Some(item.clone())),
            })
        })
        .documented("A set with an atom more.", &[SET, "Raw: the atom"], "The new set"),
        of_sets("set-remove", "(-> %Undefined% Atom Atom)", |call| {
            with_item(call, "set-remove", |set, item| match place(set, item) {
                Ok(place) => spliced(set, place..place + 1, None),
                Err(_) => tuple(set.iter().cloned()),
            })
        })
        .documented("A set without an atom.", &[SET, "Raw: the atom"], "The new set"),
        of_sets("set-union", "(-> %Undefined% %Undefined% Atom)", |call| merged(call, "set-union", |_| true))
            .documented("What is in one set or in the other.", &[SET, "Evaluated: the other set"], "The new set"),
        of_sets("set-intersection", "(-> %Undefined% %Undefined% Atom)", |call| {
            merged(call, "set-intersection", |side| side == Ordering::Equal)
        })
        .documented("What is in both of two sets.", &[SET, "Evaluated: the other set"], "The new set"),
        of_sets("set-difference", "(-> %Undefined% %Undefined% Atom)", |call| {
            merged(call, "set-difference", |side| side == Ordering::Less)
        })
        .documented(
            "What is in one set and not in another.",
            &[SET, "Evaluated: the other set"],
            "The new set",
        ),
        of_sets("set-is-subset", "(-> %Undefined% %Undefined% Bool)", |call| {
            with_sets(call, "set-is-subset", |left, right| {
                Outcome::one(left.iter().all(|item| place(right, item).is_ok()))
            })
        })
        .documented(
            "Whether all of a set is in another one.",
            &[SET, "Evaluated: the other set"],
            "A truth value",
        ),
    ],
    values: &[],
    source: "",
    yields: true,
};

pub(super) const ASSOCIATIONS: Bundle = Bundle {
    name: "assoc",
    operations: &[
        of_assoc("assoc-from", "(-> %Undefined% Atom)", |call| {
            with_pairs(call, "assoc-from", |pairs, _| tuple(pairs.iter().cloned()))
        })
        .documented(
            "The association list of some pairs. Of pairs with equal keys the last one counts.",
            &["Evaluated: a tuple of (key value)"],
            "The association list, sorted by its keys",
        ),
        of_assoc("assoc-get", "(-> %Undefined% Atom Atom)", |call| {
            with_pairs(call, "assoc-get", |pairs, call| match (place_of_key(pairs, call), call.argument(1)) {
                (Some(Ok(place)), _) => Outcome::one(value(&pairs[place])),
                _ => Outcome::Results(Vec::new()),
            })
        })
        .documented("The value of a key.", &[ASSOC, "Raw: the key"], "The value; no result if there is none"),
        of_assoc("assoc-get-or", "(-> %Undefined% Atom Atom Atom)", |call| {
            with_pairs(call, "assoc-get-or", |pairs, call| match (place_of_key(pairs, call), call.argument(2)) {
                (Some(Ok(place)), _) => Outcome::one(value(&pairs[place])),
                (_, Some(other)) => Outcome::one(other.clone()),
                _ => Outcome::failure("assoc-get-or expects an association list, a key and a value"),
            })
        })
        .documented(
            "The value of a key, or another atom if there is none.",
            &[ASSOC, "Raw: the key", "Raw: the other atom"],
            "The value, or the other atom",
        ),
        of_assoc("assoc-has", "(-> %Undefined% Atom Bool)", |call| {
            with_pairs(call, "assoc-has", |pairs, call| Outcome::one(matches!(place_of_key(pairs, call), Some(Ok(_)))))
        })
        .documented("Whether an association list has a key.", &[ASSOC, "Raw: the key"], "A truth value"),
        of_assoc("assoc-put", "(-> %Undefined% Atom %Undefined% Atom)", |call| {
            with_pairs(call, "assoc-put", |pairs, call| {
                match (place_of_key(pairs, call), call.argument(1), call.argument(2)) {
                    (Some(place), Some(key), Some(value)) => {
                        let range = place.map_or_else(|place| place..place, |place| place..place + 1);
                        spliced(pairs, range, Some(Atom::expression([key.clone(), value.clone()])))
                    }
                    _ => Outcome::failure("assoc-put expects an association list, a key and a value"),
                }
            })
        })
        .documented(
            "Gives a key a value, another one if it has one.",
            &[ASSOC, "Raw: the key", "Evaluated: the value"],
            "The new association list",
        ),
        of_assoc("assoc-remove", "(-> %Undefined% Atom Atom)", |call| {
            with_pairs(call, "assoc-remove", |pairs, call| match place_of_key(pairs, call) {
                Some(Ok(place)) => spliced(pairs, place..place + 1, None),
                _ => tuple(pairs.iter().cloned()),
            })
        })
        .documented(
            "An association list without a key.",
            &[ASSOC, "Raw: the key"],
            "The new association list",
        ),
        of_assoc("assoc-keys", "(-> %Undefined% Atom)", |call| {
            with_pairs(call, "assoc-keys", |pairs, _| tuple(pairs.iter().map(|pair| key(pair).clone())))
        })
        .documented("The keys of an association list.", &[ASSOC], "The tuple of them, sorted"),
        of_assoc("assoc-values", "(-> %Undefined% Atom)", |call| {
            with_pairs(call, "assoc-values", |pairs, _| tuple(pairs.iter().map(value)))
        })
        .documented(
            "The values of an association list.",
            &[ASSOC],
            "The tuple of them, in the order of the keys",
        ),
    ],
    values: &[],
    source: "",
    yields: true,
};

fn tuple(children: impl Iterator<Item = Atom>) -> Outcome {
    Outcome::one(Atom::expression(children.collect::<Vec<_>>()))
}

/// The tuple with some of its children replaced.
fn spliced(list: &[Atom], range: std::ops::Range<usize>, put_in: Option<Atom>) -> Outcome {
    let (before, after) = (&list[..range.start], &list[range.end..]);
    tuple(before.iter().cloned().chain(put_in).chain(after.iter().cloned()))
}

/// The children of a tuple in order, each once. What is in order already is not copied.
fn ordered(children: &[Atom]) -> Cow<'_, [Atom]> {
    if children.is_sorted_by(|left, right| compare(left, right) == Ordering::Less) {
        return Cow::Borrowed(children);
    }
    let mut sorted = children.to_vec();
    sorted.sort_by(compare);
    sorted.dedup_by(|left, right| compare(left, right) == Ordering::Equal);
    Cow::Owned(sorted)
}

/// Where an atom is in a set, or where it belongs.
fn place(set: &[Atom], item: &Atom) -> Result<usize, usize> {
    set.binary_search_by(|known| compare(known, item))
}

fn with_set(call: &mut Call<'_>, name: &str, of: impl Fn(&[Atom]) -> Outcome) -> Outcome {
    match call.children(0) {
        Some(children) => of(&ordered(children)),
        None => Outcome::failure(format!("{name} expects a set, a tuple")),
    }
}

fn with_item(call: &mut Call<'_>, name: &str, of: impl Fn(&[Atom], &Atom) -> Outcome) -> Outcome {
    match (call.children(0), call.argument(1)) {
        (Some(children), Some(item)) => of(&ordered(children), item),
        _ => Outcome::failure(format!("{name} expects a set, a tuple, and an atom")),
    }
}

fn with_sets(call: &mut Call<'_>, name: &str, of: impl Fn(&[Atom], &[Atom]) -> Outcome) -> Outcome {
    match (call.children(0), call.children(1)) {
        (Some(left), Some(right)) => of(&ordered(left), &ordered(right)),
        _ => Outcome::failure(format!("{name} expects two sets, which are tuples")),
    }
}

/// What is in either of two sets, if it is kept: `Less` is in the first alone, `Greater` in the second, `Equal` in both.
fn merged(call: &mut Call<'_>, name: &str, is_kept: fn(Ordering) -> bool) -> Outcome {
    with_sets(call, name, |mut left, mut right| {
        let mut kept = Vec::new();
        loop {
            let side = match (left.first(), right.first()) {
                (Some(one), Some(other)) => compare(one, other),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return tuple(kept.into_iter()),
            };
            let item = if side == Ordering::Greater { &right[0] } else { &left[0] };
            if is_kept(side) {
                kept.push(item.clone());
            }
            left = &left[usize::from(side != Ordering::Greater)..];
            right = &right[usize::from(side != Ordering::Less)..];
        }
    })
}

/// The key of a pair; see [`with_pairs`].
fn key(pair: &Atom) -> &Atom {
    &pair.children().expect("a pair has children")[0]
}

fn value(pair: &Atom) -> Atom {
    pair.children().expect("a pair has children")[1].clone()
}

/// What a function of an association list comes to; it gets pairs with different keys, in order.
fn with_pairs(call: &mut Call<'_>, name: &str, of: impl Fn(&[Atom], &Call<'_>) -> Outcome) -> Outcome {
    let Some(children) = call.children(0) else {
        return Outcome::failure(format!("{name} expects an association list, a tuple of (key value)"));
    };
    if let Some(other) = children.iter().find(|child| child.children().is_none_or(|parts| parts.len() != 2)) {
        return Outcome::failure(format!(
            "{name} expects an association list, and {} is not a (key value)",
            names::brief(other)
        ));
    }
    if children.is_sorted_by(|left, right| compare(key(left), key(right)) == Ordering::Less) {
        return of(children, call);
    }
    // The last pair of a key comes first, and those after it go.
    let mut sorted: Vec<Atom> = children.iter().rev().cloned().collect();
    sorted.sort_by(|left, right| compare(key(left), key(right)));
    sorted.dedup_by(|later, kept| compare(key(later), key(kept)) == Ordering::Equal);
    of(&sorted, call)
}

/// Where the key is that a call asks for, or where it belongs.
fn place_of_key(pairs: &[Atom], call: &Call<'_>) -> Option<Result<usize, usize>> {
    let wanted = call.argument(1)?;
    Some(pairs.binary_search_by(|pair| compare(key(pair), wanted)))
}
