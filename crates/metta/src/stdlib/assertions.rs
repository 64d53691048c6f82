//! What the assertion functions of the prelude ask: whether two lists of results are equal as multisets.

use super::expressions::alpha_key;
use super::text::{Making, text_of};
use crate::effects::Effects;
use crate::names;
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use rustc_hash::FxHashMap;
use space::Atom;
use std::fmt::{self, Write};

pub(super) const OPERATIONS: &[Spec] = &[
    Spec::typed("_assert-results-are-equal", "(-> Atom Atom Atom (->))", |call| check(call, Atom::clone))
        .with(Effects::NONE)
        .documented(
            "Compares two tuples of results for an assertion, in any order, each as often.",
            &["Raw: the tuple of results", "Raw: the tuple of expected results", "Raw: the assertion, for the error"],
            "(), or an error that lists what was expected, got, missed and in excess",
        )
        .compared(Compatibility::ERROR_TEXT),
    Spec::typed("_assert-results-are-equal-msg", "(-> Atom Atom Atom Atom (->))", |call| check(call, Atom::clone))
        .with(Effects::NONE)
        .documented(
            "Like _assert-results-are-equal, with a message.",
            &[
                "Raw: the tuple of results",
                "Raw: the tuple of expected results",
                "Raw: the assertion, for the error",
                "Raw: the message",
            ],
            "(), or an error with the message",
        )
        .compared(Compatibility::ERROR_TEXT),
    Spec::typed("_assert-results-are-alpha-equal", "(-> Atom Atom Atom (->))", |call| check(call, alpha_key))
        .with(Effects::NONE)
        .documented(
            "Like _assert-results-are-equal; the names of variables do not count.",
            &["Raw: the tuple of results", "Raw: the tuple of expected results", "Raw: the assertion, for the error"],
            "(), or an error that lists what was expected, got, missed and in excess",
        )
        .compared(Compatibility::ERROR_TEXT),
    Spec::typed("_assert-results-are-alpha-equal-msg", "(-> Atom Atom Atom Atom (->))", |call| check(call, alpha_key))
        .with(Effects::NONE)
        .documented(
            "Like _assert-results-are-alpha-equal, with a message.",
            &[
                "Raw: the tuple of results",
                "Raw: the tuple of expected results",
                "Raw: the assertion, for the error",
                "Raw: the message",
            ],
            "(), or an error with the message",
        )
        .compared(Compatibility::ERROR_TEXT),
];

/// Compares the actual results with the expected ones; `key` is equal for results that count as equal.
fn check(call: &mut Call<'_>, key: fn(&Atom) -> Atom) -> Outcome {
    let (Some(actual), Some(expected), Some(assertion)) = (call.children(0), call.children(1), call.argument(2)) else {
        return Outcome::failure("two tuples of results and the assertion are expected as arguments");
    };
    let missed = difference(expected, actual, key);
    let excessive = difference(actual, expected, key);
    if missed.is_empty() && excessive.is_empty() {
        return Outcome::unit();
    }
    let message = match call.argument(3) {
        Some(message) => message.clone(),
        None => match text_of(call, 1, |text| report(text, (expected, actual), &missed, &excessive)) {
            Ok(report) => Atom::from(report.as_str()),
            Err(refused) => return refused,
        },
    };
    Outcome::one(names::error(assertion.clone(), message))
}

/// The elements of the first list that the second one has no copy for.
fn difference<'a>(these: &'a [Atom], those: &[Atom], key: fn(&Atom) -> Atom) -> Vec<&'a Atom> {
    let mut counts: FxHashMap<Atom, usize> = FxHashMap::default();
    those.iter().for_each(|atom| *counts.entry(key(atom)).or_default() += 1);
    let is_extra = |atom: &&Atom| match counts.get_mut(&key(atom)) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    these.iter().filter(is_extra).collect()
}

fn report(
    report: &mut Making<'_, '_>,
    (expected, actual): (&[Atom], &[Atom]),
    missed: &[&Atom],
    excessive: &[&Atom],
) -> fmt::Result {
    report.write_str("\nExpected: [")?;
    report.joined(expected, ", ")?;
    report.write_str("]\nGot: [")?;
    report.joined(actual, ", ")?;
    report.write_str("]")?;
    for (title, atoms) in [("Missed", missed), ("Excessive", excessive)] {
        if !atoms.is_empty() {
            write!(report, "\n{title} results: ")?;
            report.joined(atoms.iter().copied(), ", ")?;
        }
    }
    Ok(())
}
