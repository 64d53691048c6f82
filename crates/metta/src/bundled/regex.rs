//! The module `regex`: regular expressions over texts, in linear time whatever the expression and the text.
//!
//! An expression is compiled once and kept while it is one of the last [`KEPT`] that a thread used.

use super::Bundle;
use crate::effects::Effects;
use crate::operation::{Call, Compatibility, Native, OperationSpec as Spec, Outcome};
use regex::{Captures, Regex};
use space::Atom;
use std::cell::RefCell;

/// How many compiled expressions a thread keeps.
const KEPT: usize = 32;

const EXPRESSION: &str = "The regular expression, a text";

const fn pure(name: &'static str, signature: &'static str, native: Native) -> Spec {
    Spec::typed(name, signature, native)
        .with(Effects::NONE)
        .compared(Compatibility::MetroonOnly("of the module `regex`"))
}

pub(super) const MODULE: Bundle = Bundle {
    name: "regex",
    operations: &[
        pure("regex-matches", "(-> String String Bool)", |call| {
            searched(call, |regex, text| Outcome::one(regex.is_match(text)))
        })
        .documented(
            "Whether a regular expression matches somewhere in a text.",
            &[EXPRESSION, "The text"],
            "A truth value; an error if the expression is not well formed",
        ),
        pure("regex-find", "(-> String String String)", |call| {
            searched(call, |regex, text| match regex.find(text) {
                Some(found) => Outcome::one(found.as_str()),
                None => Outcome::Results(Vec::new()),
            })
        })
        .documented(
            "The first part of a text that a regular expression matches.",
            &[EXPRESSION, "The text"],
            "The part; no result if there is none",
        ),
        pure("regex-find-all", "(-> String String Atom)", |call| {
            searched(call, |regex, text| tuple(regex.find_iter(text).map(|found| Atom::from(found.as_str()))))
        })
        .documented(
            "All parts of a text that a regular expression matches; they do not overlap.",
            &[EXPRESSION, "The text"],
            "The tuple of the parts",
        ),
        pure("regex-captures", "(-> String String Atom)", |call| {
            searched(call, |regex, text| match regex.captures(text) {
                Some(found) => tuple(groups(&found)),
                None => Outcome::Results(Vec::new()),
            })
        })
        .documented(
            "The groups of the first match of a regular expression, the whole match before them.",
            &[EXPRESSION, "The text"],
            "The tuple of their texts, () for a group that took no part; no result if nothing matches",
        ),
        pure("regex-replace", "(-> String String String String)", replace).documented(
            "Puts a text in place of each part that a regular expression matches.",
            &[EXPRESSION, "What to put in; $1 or ${name} is the text of a group, $$ a dollar", "The text"],
            "The new text",
        ),
        pure("regex-split", "(-> String String Atom)", |call| {
            searched(call, |regex, text| tuple(regex.split(text).map(Atom::from)))
        })
        .documented(
            "Cuts a text where a regular expression matches.",
            &[EXPRESSION, "The text"],
            "The tuple of the pieces",
        ),
    ],
    values: &[],
    source: "",
    yields: true,
};

fn tuple(parts: impl Iterator<Item = Atom>) -> Outcome {
    Outcome::one(Atom::expression(parts.collect::<Vec<_>>()))
}

fn groups<'t>(captures: &'t Captures<'_>) -> impl Iterator<Item = Atom> + 't {
    captures.iter().map(|group| group.map_or_else(Atom::unit, |group| Atom::from(group.as_str())))
}

/// A compiled expression: one that was kept, or a new one, which is kept then.
fn compiled(expression: &str) -> Result<Regex, String> {
    thread_local! {
        static LAST: RefCell<Vec<Regex>> = const { RefCell::new(Vec::new()) };
    }
    LAST.with_borrow_mut(|last| {
        let known = last.iter().position(|regex| regex.as_str() == expression);
        let regex = match known {
            Some(position) => last.remove(position),
            None => Regex::new(expression).map_err(|error| explained(&error))?,
        };
        last.truncate(KEPT - 1);
        last.insert(0, regex.clone());
        Ok(regex)
    })
}

/// What is wrong with an expression, on one line.
fn explained(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    format!("the regular expression is not well formed: {}", last.trim_start_matches("error: "))
}

/// What a search for an expression in a text comes to.
fn searched(call: &mut Call<'_>, search: impl Fn(&Regex, &str) -> Outcome) -> Outcome {
    let (Some(expression), Some(text)) = (call.text(0), call.text(1)) else {
        return Outcome::failure("a regular expression and a text are expected");
    };
    match compiled(expression) {
        Ok(regex) => search(&regex, text),
        Err(message) => Outcome::failure(message),
    }
}

fn replace(call: &mut Call<'_>) -> Outcome {
    let (Some(expression), Some(new), Some(text)) = (call.text(0), call.text(1), call.text(2)) else {
        return Outcome::failure("regex-replace expects a regular expression and two texts");
    };
    let regex = match compiled(expression) {
        Ok(regex) => regex,
        Err(message) => return Outcome::failure(message),
    };
    let mut replaced = String::new();
    let mut from = 0;
    for found in regex.captures_iter(text) {
        let whole = found.get_match();
        replaced.push_str(&text[from..whole.start()]);
        let before = replaced.len();
        found.expand(new, &mut replaced);
        from = whole.end();
        let grown = replaced.len() - before;
        if let Err(refused) = call.look(replaced.capacity() + grown) {
            return refused;
        }
    }
    replaced.push_str(&text[from..]);
    Outcome::one(replaced.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_an_expression_is_said_on_a_line() {
        let message = compiled("a(b").expect_err("a bracket is missing");
        assert_eq!(message, "the regular expression is not well formed: unclosed group");
    }

    #[test]
    fn the_last_expressions_are_kept() {
        for number in 0..3 * KEPT {
            let expression = format!("a{{{number}}}");
            assert_eq!(compiled(&expression).map(|regex| regex.as_str().to_owned()), Ok(expression));
        }
        assert!(compiled("a{2}").is_ok_and(|regex| regex.is_match("aa")));
    }
}
