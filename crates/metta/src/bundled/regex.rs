//! The module `regex`: regular expressions over texts, in linear time whatever the expression and the text.
//!
//! 1. An expression is compiled once and kept while it is one of the last [`KEPT`] that a thread used. One of more than
//!    [`COMPILED_AT_ONCE`] bytes is compiled as in 3.
//! 2. Matches are found one after the other ([`each_match`]); limits are looked at between them.
//! 3. The search for a single match takes up to the product of the lengths of expression and text, and the library does not
//!    stop in the middle of it. If that product is over [`AT_ONCE`], it is made in a thread of its own, whose answer is waited for while
//!    limits are looked at. A search that is given up ends at its next match.

use super::Bundle;
use crate::effects::Effects;
use crate::operation::{Call, Compatibility, Native, OperationSpec as Spec, Outcome};
use regex::{Captures, Regex};
use space::Atom;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How many compiled expressions a thread keeps.
const KEPT: usize = 32;

/// The product of the bytes of an expression and of a text up to which a search takes less than a tenth of a second.
const AT_ONCE: usize = 1 << 22;

/// The bytes of an expression up to which it is compiled in less than some hundredths of a second.
const COMPILED_AT_ONCE: usize = 1 << 12;

/// How long an answer of another thread is waited for before limits are looked at again.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How many matches another thread is ahead at most.
const MATCHES_AHEAD: usize = 256;

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
            let found = first_match(call, |regex, text| regex.is_match(text).then_some(()));
            found.map_or_else(|refused| refused, |found| Outcome::one(found.is_some()))
        })
        .documented(
            "Whether a regular expression matches somewhere in a text.",
            &[EXPRESSION, "The text"],
            "A truth value; an error if the expression is not well formed",
        ),
        pure("regex-find", "(-> String String String)", |call| {
            let found = first_match(call, |regex, text| regex.find(text).map(|found| Atom::from(found.as_str())));
            found.map_or_else(|refused| refused, |found| Outcome::Results(found.into_iter().collect()))
        })
        .documented(
            "The first part of a text that a regular expression matches.",
            &[EXPRESSION, "The text"],
            "The part; no result if there is none",
        ),
        pure("regex-find-all", "(-> String String Atom)", |call| {
            let mut parts = Vec::new();
            let done = each_match(call, TEXT_SECOND, places, |_, text, place: Range<usize>| {
                parts.push(Atom::from(&text[place]));
                0
            });
            done.map_or_else(|refused| refused, |()| Outcome::one(Atom::expression(parts)))
        })
        .documented(
            "All parts of a text that a regular expression matches; they do not overlap.",
            &[EXPRESSION, "The text"],
            "The tuple of the parts",
        ),
        pure("regex-captures", "(-> String String Atom)", |call| {
            let found = first_match(call, |regex, text| regex.captures(text).map(|found| groups(&found)));
            found.map_or_else(|refused| refused, |found| Outcome::Results(found.into_iter().collect()))
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
            let (mut pieces, mut from) = (Vec::new(), 0);
            let done = each_match(call, TEXT_SECOND, places, |_, text, place: Range<usize>| {
                pieces.push(Atom::from(&text[from..place.start]));
                from = place.end;
                0
            });
            done.map_or_else(
                |refused| refused,
                |()| {
                    pieces.push(Atom::from(call.text(1).map_or("", |text| &text[from..])));
                    Outcome::one(Atom::expression(pieces))
                },
            )
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

/// The groups of a match as a tuple, the whole match first.
fn groups(captures: &Captures<'_>) -> Atom {
    let texts = captures.iter().map(|group| group.map_or_else(Atom::unit, |group| Atom::from(group.as_str())));
    Atom::expression(texts.collect::<Vec<_>>())
}

/// A compiled expression: one that was kept, or a new one, which is kept then. A long one is compiled while limits are looked at.
///
/// # Errors
/// The outcome of a call whose expression is not well formed, or of one that a limit ends.
fn compiled(call: &mut Call<'_>, expression: &str) -> Result<Regex, Outcome> {
    thread_local! {
        static LAST: RefCell<Vec<Regex>> = const { RefCell::new(Vec::new()) };
    }
    let known = LAST.with_borrow_mut(|last| {
        let position = last.iter().position(|regex| regex.as_str() == expression)?;
        Some(last.remove(position))
    });
    let regex = match known {
        Some(regex) => regex,
        None => new(call, expression)?,
    };
    LAST.with_borrow_mut(|last| {
        last.truncate(KEPT - 1);
        last.insert(0, regex.clone());
    });
    Ok(regex)
}

/// Compiles an expression.
fn new(call: &mut Call<'_>, expression: &str) -> Result<Regex, Outcome> {
    let made = if expression.len() <= COMPILED_AT_ONCE {
        Regex::new(expression)
    } else {
        let expression = expression.to_owned();
        let mut made = None;
        received(
            call,
            move |give| {
                let _ = give(Regex::new(&expression));
            },
            |found| {
                made = Some(found);
                0
            },
        )?;
        made.expect("it was made or the call was given up")
    };
    made.map_err(|error| Outcome::failure(explained(&error)))
}

/// What is wrong with an expression, on one line.
fn explained(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    format!("the regular expression is not well formed: {}", last.trim_start_matches("error: "))
}

/// The place of the text among the arguments, if the expression is the only other one.
const TEXT_SECOND: usize = 1;

/// The places of all matches.
fn places(regex: &Regex, text: &str, give: &mut dyn FnMut(Range<usize>) -> bool) {
    let _ = regex.find_iter(text).all(|found| give(found.range()));
}

/// What a search makes of the first match of the expression in the text, if there is one.
///
/// # Errors
/// The outcome of a call with other arguments, or of one that a limit ends.
fn first_match<T: Send + 'static>(
    call: &mut Call<'_>,
    search: impl FnOnce(&Regex, &str) -> Option<T> + Send + 'static,
) -> Result<Option<T>, Outcome> {
    let mut first = None;
    let find = |regex: &Regex, text: &str, give: &mut dyn FnMut(T) -> bool| {
        search(regex, text).map(give);
    };
    each_match(call, TEXT_SECOND, find, |_, _, found| {
        first = Some(found);
        0
    })?;
    Ok(first)
}

/// Takes what a search finds, one match after the other, and looks at limits between them. `take` says how many bytes are to be taken for
/// the next.
///
/// # Errors
/// The outcome of a call with other arguments, or of one that a limit ends.
fn each_match<T: Send + 'static>(
    call: &mut Call<'_>,
    text_at: usize,
    search: impl FnOnce(&Regex, &str, &mut dyn FnMut(T) -> bool) + Send + 'static,
    mut take: impl FnMut(&Regex, &str, T) -> usize,
) -> Result<(), Outcome> {
    let (Some(expression), Some(text)) = (call.text(0), call.text(text_at)) else {
        return Err(Outcome::failure("a regular expression and a text are expected"));
    };
    let regex = compiled(call, expression)?;
    if expression.len().saturating_mul(text.len()) <= AT_ONCE {
        let mut refused = None;
        search(&regex, text, &mut |found| {
            let bytes = take(&regex, text, found);
            refused = call.look(bytes).err();
            refused.is_none()
        });
        return refused.map_or(Ok(()), Err);
    }
    let (owned, copy) = (regex.clone(), text.to_owned());
    received(call, move |give| search(&owned, &copy, give), |found| take(&regex, text, found))
}

/// Takes what another thread finds, one after the other, and looks at limits while it waits for it. `take` says how many bytes are to be
/// taken for the next.
///
/// # Errors
/// The outcome of a call that a limit ends, or for which there is no thread.
fn received<T: Send + 'static>(
    call: &mut Call<'_>,
    work: impl FnOnce(&mut dyn FnMut(T) -> bool) + Send + 'static,
    mut take: impl FnMut(T) -> usize,
) -> Result<(), Outcome> {
    let (sender, receiver) = mpsc::sync_channel(MATCHES_AHEAD);
    let name = "metroon-regex".to_owned();
    let working = thread::Builder::new().name(name).spawn(move || work(&mut |found| sender.send(found).is_ok()));
    let working = working.map_err(|error| Outcome::failure(format!("no thread for a long search: {error}")))?;
    let mut bytes = 0;
    loop {
        call.look(std::mem::take(&mut bytes))?;
        match receiver.recv_timeout(LOOK_EVERY) {
            Ok(found) => bytes = take(found),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    // It ends when it has found all, or by a panic.
    working.join().map_err(|panic| std::panic::resume_unwind(panic))
}

fn replace(call: &mut Call<'_>) -> Outcome {
    let (Some(new), Some(text)) = (call.text(1), call.text(2)) else {
        return Outcome::failure("regex-replace expects a regular expression and two texts");
    };
    let written = new.to_owned();
    let expanded = move |regex: &Regex, text: &str, give: &mut dyn FnMut((Range<usize>, String)) -> bool| {
        let _ = regex.captures_iter(text).all(|found| {
            let mut put = String::new();
            found.expand(&written, &mut put);
            give((found.get_match().range(), put))
        });
    };
    let (mut replaced, mut from) = (String::new(), 0);
    let done = each_match(call, 2, expanded, |_, text, (place, put)| {
        replaced.push_str(&text[from..place.start]);
        replaced.push_str(&put);
        from = place.end;
        replaced.capacity() + put.len()
    });
    done.map_or_else(
        |refused| refused,
        |()| {
            replaced.push_str(&text[from..]);
            Outcome::one(replaced.as_str())
        },
    )
}
