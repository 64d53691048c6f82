//! The module `valid-time`: when facts hold in the world that they are about, beside when a knowledge base was told of them.
//!
//! `(valid FACT FROM TO)` says that a fact holds from a time on, up to another one at which it holds no more; `forever` never comes. These are
//! plain facts, so whatever asks, follows, loads and explains facts does so with them, and a space as it was after a commit has those that
//! were believed then.
//!
//! A time is a number or a text. Numbers are compared by value, texts character by character, which is the order of dates of ISO 8601 in one
//! zone: the day `"2026-11-20"` begins before `"2026-11-20T10:00:00Z"`.
//!
//! What asks is written in MeTTa as one `match`, whose plan takes what is known of the fact from an index: asking for a fact by a key costs the
//! intervals of that key.

use super::Bundle;
use super::order::compare_numbers;
use crate::effects::Effects;
use crate::names;
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use space::{Atom, Grounded, Number, Rewrite, Symbol, rewrite};

pub(super) const MODULE: Bundle = Bundle {
    name: "valid-time",
    operations: &[
        Spec::typed("is-earlier", "(-> %Undefined% %Undefined% Bool)", is_earlier)
            .with(Effects::NONE)
            .documented(
                "Whether a time comes before another one. Times are two numbers, or two texts; forever comes after all others.",
                &["Evaluated: the time", "Evaluated: the other time"],
                "A truth value; an error if one of them is no time, or a number and the other one a text",
            )
            .compared(Compatibility::MetroonOnly("of the module `valid-time`")),
        Spec::typed("_superseded", "(-> SpaceType Atom Atom %Undefined% Atom)", superseded)
            .with(Effects::READS)
            .documented(
                "What supersede! takes out of a space and what it adds.",
                &["The space", "Raw: the pattern", "Raw: the new fact", "Evaluated: the time"],
                "(OLD NEW), two tuples",
            )
            .compared(Compatibility::MetroonOnly("called by `supersede!`")),
    ],
    values: &[],
    source: include_str!("valid_time.metta"),
    yields: true,
};

const HEAD: &str = "valid";
const FOREVER: &str = "forever";

/// A point in time.
enum Time<'a> {
    Number(&'a Number),
    Text(&'a str),
    Forever,
}

impl<'a> Time<'a> {
    fn of(atom: &'a Atom) -> Result<Self, Outcome> {
        match atom {
            Atom::Grounded(Grounded::Number(number)) => Ok(Self::Number(number)),
            Atom::Grounded(Grounded::Text(text)) => Ok(Self::Text(text)),
            Atom::Symbol(symbol) if symbol.as_str() == FOREVER => Ok(Self::Forever),
            other => Err(Outcome::failure(format!(
                "{} is not a time: a number, a text such as \"2026-11-20\", or forever",
                names::brief(other)
            ))),
        }
    }
}

/// Whether a time comes before another one.
fn comes_before(left: &Atom, right: &Atom) -> Result<bool, Outcome> {
    match (Time::of(left)?, Time::of(right)?) {
        (Time::Forever, _) => Ok(false),
        (_, Time::Forever) => Ok(true),
        (Time::Number(left), Time::Number(right)) => Ok(compare_numbers(left, right).is_lt()),
        (Time::Text(left), Time::Text(right)) => Ok(left < right),
        _ => Err(Outcome::failure(format!("{left} and {right} cannot be compared: one is a number, the other a text"))),
    }
}

fn is_earlier(call: &mut Call<'_>) -> Outcome {
    let [left, right] = call.arguments else { return Outcome::failure("is-earlier expects two times") };
    comes_before(left, right).map_or_else(|refused| refused, Outcome::one)
}

fn valid(fact: &Atom, from: &Atom, to: &Atom) -> Atom {
    Atom::expression([Atom::symbol(HEAD), fact.clone(), from.clone(), to.clone()])
}

fn superseded(call: &mut Call<'_>) -> Outcome {
    let (Some(space), [_, pattern, new, from]) = (call.space(0), call.arguments) else {
        return Outcome::failure("supersede! expects a space, a pattern, a new fact and a time");
    };
    let [start, end] = ["from", "to"].map(|name| call.environment.variables().fresh(&Symbol::new(name)));
    let [start, end] = [start, end].map(Atom::Variable);
    let solutions = match call.environment.query(&space.without_imports(), &valid(pattern, &start, &end)) {
        Ok(solutions) => solutions,
        Err(limit) => return call.refuse(limit),
    };
    let (mut old, mut next, mut begun) = (Vec::new(), Vec::new(), Vec::new());
    for solution in solutions {
        let filled = |template: &Atom| {
            let filled = rewrite(template, |variable| {
                let value = solution.iter().find(|(bound, _)| bound == variable);
                value.map_or(Rewrite::Keep, |(_, value)| Rewrite::Replace(value.clone()))
            });
            filled.unwrap_or_else(|| template.clone())
        };
        let [fact, new, start, end] = [pattern, new, &start, &end].map(filled);
        let is_current = comes_before(from, &start).and_then(|later| Ok(!later && comes_before(from, &end)?));
        match is_current.and_then(|is_current| Ok((is_current, comes_before(&start, from)?))) {
            Err(refused) => return refused,
            Ok((false, _)) => continue,
            // It would hold at no time if it ended where it begins.
            Ok((true, has_been)) => next.extend(has_been.then(|| valid(&fact, &start, from))),
        }
        old.push(valid(&fact, &start, &end));
        let new = valid(&new, from, &end);
        if !begun.contains(&new) {
            begun.push(new);
        }
    }
    if let Err(refused) = Time::of(from) {
        return refused;
    }
    if old.is_empty() {
        begun.push(valid(new, from, &Atom::symbol(FOREVER)));
    }
    next.extend(begun);
    Outcome::one(Atom::expression([Atom::expression(old), Atom::expression(next)]))
}
