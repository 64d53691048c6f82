//! The standard order of atoms, by which lists are sorted and sets, association lists and priority queues are kept.
//!
//! - Kinds come in this order: variables, numbers, truth values, texts, symbols, expressions, other values.
//! - Numbers are compared by value, so `2` and `2.0` are the same; what is no number (`NaN`) comes after the others.
//! - Texts and symbols are compared by the numbers of their characters in Unicode.
//! - Expressions are compared child by child; the beginning of another comes before it. Depth costs no stack.

use crate::names;
use space::{Atom, Grounded, Met, Number, canonical};
use std::cmp::Ordering;

/// How two atoms compare.
pub(super) fn compare(left: &Atom, right: &Atom) -> Ordering {
    let mut open: Vec<(&[Atom], &[Atom])> = vec![(std::slice::from_ref(left), std::slice::from_ref(right))];
    // What was found to be equal once, or is being compared, is not compared again: a difference ends the whole.
    let mut met = Met::default();
    while let Some((left, right)) = open.pop() {
        let (Some((left, left_rest)), Some((right, right_rest))) = (left.split_first(), right.split_first()) else {
            match left.len().cmp(&right.len()) {
                Ordering::Equal => continue,
                unequal => return unequal,
            }
        };
        open.push((left_rest, right_rest));
        match (left, right) {
            (Atom::Expression(left), Atom::Expression(right)) if left.shares_storage(right) => {}
            (Atom::Expression(left), Atom::Expression(right)) => {
                if met.is_new((left.place(), right.place())) || left.len() != right.len() {
                    open.push((left.children(), right.children()));
                }
            }
            _ => match compare_leaves(left, right) {
                Ordering::Equal => {}
                unequal => return unequal,
            },
        }
    }
    Ordering::Equal
}

/// How two atoms compare that are not both expressions.
fn compare_leaves(left: &Atom, right: &Atom) -> Ordering {
    match (left, right) {
        (Atom::Variable(left), Atom::Variable(right)) => {
            (left.name().as_str(), left.id()).cmp(&(right.name().as_str(), right.id()))
        }
        (Atom::Symbol(left), Atom::Symbol(right)) => left.as_str().cmp(right.as_str()),
        (Atom::Grounded(Grounded::Number(left)), Atom::Grounded(Grounded::Number(right))) => {
            compare_numbers(left, right)
        }
        (Atom::Grounded(Grounded::Bool(left)), Atom::Grounded(Grounded::Bool(right))) => left.cmp(right),
        (Atom::Grounded(Grounded::Text(left)), Atom::Grounded(Grounded::Text(right))) => left.cmp(right),
        _ => match kind(left).cmp(&kind(right)) {
            Ordering::Equal => compare_written(left, right),
            unequal => unequal,
        },
    }
}

/// How what two atoms are written as compares. If it is too long to be written whole, their canonical bytes tell them apart.
fn compare_written(left: &Atom, right: &Atom) -> Ordering {
    let (begun, other) = (names::brief(left), names::brief(right));
    let is_cut = begun.ends_with('…');
    begun.cmp(&other).then_with(|| match is_cut {
        true => canonical::key(left).cmp(&canonical::key(right)),
        false => Ordering::Equal,
    })
}

/// How two numbers compare, of which either may be a NaN.
pub(super) fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    let is_nan = |number: &Number| matches!(number, Number::Float(float) if float.is_nan());
    left.compare(right).unwrap_or_else(|| is_nan(left).cmp(&is_nan(right)))
}

fn kind(atom: &Atom) -> u8 {
    match atom {
        Atom::Variable(_) => 0,
        Atom::Grounded(Grounded::Number(_)) => 1,
        Atom::Grounded(Grounded::Bool(_)) => 2,
        Atom::Grounded(Grounded::Text(_)) => 3,
        Atom::Symbol(_) => 4,
        Atom::Expression(_) => 5,
        Atom::Grounded(_) => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn atoms() -> impl Strategy<Value = Atom> {
        let leaf = prop_oneof![
            (0..4_i64).prop_map(Atom::from),
            prop_oneof![Just(1.0), Just(2.5), Just(f64::NAN), Just(f64::INFINITY)].prop_map(Atom::from),
            any::<bool>().prop_map(Atom::from),
            "[ab]{0,2}".prop_map(|text| Atom::from(text.as_str())),
            "[ab]{1,2}".prop_map(|name| Atom::symbol(&name)),
            "[xy]".prop_map(|name| Atom::variable(&name)),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| prop::collection::vec(inner, 0..3).prop_map(Atom::expression))
    }

    proptest! {
        #[test]
        fn atoms_are_in_a_total_order(first in atoms(), second in atoms(), third in atoms()) {
            prop_assert_eq!(compare(&first, &first), Ordering::Equal);
            prop_assert_eq!(compare(&first, &second), compare(&second, &first).reverse());
            let mut three = [&first, &second, &third];
            three.sort_by(|left, right| compare(left, right));
            prop_assert!(compare(three[0], three[2]) != Ordering::Greater);
        }
    }

    #[test]
    fn kinds_have_their_places_and_beginnings_come_first() {
        let in_order = [
            Atom::variable("x"),
            Atom::from(1.5),
            Atom::from(2),
            Atom::from(f64::NAN),
            Atom::from(true),
            Atom::from("b"),
            Atom::symbol("a"),
            Atom::unit(),
            Atom::expression([Atom::symbol("a")]),
            Atom::expression([Atom::symbol("a"), Atom::from(1)]),
            Atom::expression([Atom::symbol("b")]),
        ];
        for pair in in_order.windows(2) {
            assert_eq!(compare(&pair[0], &pair[1]), Ordering::Less, "{} {}", pair[0], pair[1]);
        }
        assert_eq!(compare(&Atom::from(2), &Atom::from(2.0)), Ordering::Equal);
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = |last: i64| (0..200_000).fold(Atom::from(last), |inner, _| Atom::expression([inner]));
        assert_eq!(compare(&deep(1), &deep(2)), Ordering::Less);
    }
}
