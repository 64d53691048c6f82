//! The module `strings`: texts, whose characters are counted from 0.
//!
//! A character is one of Unicode. What takes a tuple of texts evaluates it first, so that calls can be nested. A call that makes a
//! text much longer than its arguments looks at the limits before.

use super::Bundle;
use crate::effects::Effects;
use crate::operation::{Call, Compatibility, OperationSpec as Spec, Outcome};
use crate::stdlib::text::made;
use crate::tokenizer::Tokenizer;
use space::{Atom, Grounded, Number};
use std::fmt::Write;
use std::sync::LazyLock;

const NEW: Compatibility = Compatibility::MetroonOnly("of the module `strings`");

/// A function of texts alone.
const fn pure(name: &'static str, signature: &'static str, native: crate::operation::Native) -> Spec {
    Spec::typed(name, signature, native).with(Effects::NONE).compared(NEW)
}

pub(super) const MODULE: Bundle = Bundle {
    name: "strings",
    operations: &[
        pure("string-length", "(-> String Number)", |call| {
            with_text(call, "string-length", |text| Outcome::one(Number::from(text.chars().count())))
        })
        .documented("Counts the characters of a text.", &["The text"], "How many there are"),
        pure("string-append", "(-> String String String)", append).documented(
            "Joins two texts.",
            &["The first text", "The second text"],
            "Both in one text",
        ),
        pure("string-join", "(-> String %Undefined% String)", join).documented(
            "Joins the children of a tuple with a text between them; what is no text is written as it prints.",
            &["The text between two", "Evaluated: the tuple"],
            "The text",
        ),
        pure("string-split", "(-> String String Atom)", split).documented(
            "Cuts a text where another one stands in it; an empty one cuts it into characters.",
            &["The text to cut at", "The text"],
            "The tuple of the pieces",
        ),
        pure("string-lines", "(-> String Atom)", |call| with_text(call, "string-lines", |text| tuple(text.lines())))
            .documented("Cuts a text into its lines.", &["The text"], "The tuple of the lines, without their ends"),
        pure("string-words", "(-> String Atom)", |call| {
            with_text(call, "string-words", |text| tuple(text.split_whitespace()))
        })
        .documented("Cuts a text where it has white space.", &["The text"], "The tuple of the words"),
        pure("string-slice", "(-> String Number Number String)", slice).documented(
            "A part of a text. What lies beyond its end is left out.",
            &["The text", "The position of the first character", "The position after the last one"],
            "The part; an error if a position is negative or no integer",
        ),
        pure("string-find", "(-> String String Number)", find).documented(
            "Looks for a text in another one.",
            &["The text to look for", "The text to look in"],
            "The position where it stands first; no result if it does not",
        ),
        pure("string-contains", "(-> String String Bool)", |call| {
            with_texts(call, "string-contains", |part, text| Outcome::one(text.contains(part)))
        })
        .documented(
            "Whether a text stands in another one.",
            &["The text to look for", "The text to look in"],
            "A truth value",
        ),
        pure("string-starts-with", "(-> String String Bool)", |call| {
            with_texts(call, "string-starts-with", |part, text| Outcome::one(text.starts_with(part)))
        })
        .documented(
            "Whether a text begins with another one.",
            &["The beginning", "The text"],
            "A truth value",
        ),
        pure("string-ends-with", "(-> String String Bool)", |call| {
            with_texts(call, "string-ends-with", |part, text| Outcome::one(text.ends_with(part)))
        })
        .documented("Whether a text ends with another one.", &["The end", "The text"], "A truth value"),
        pure("string-replace", "(-> String String String String)", replace).documented(
            "Puts a text in place of another one, wherever that stands.",
            &["The text to take out", "The text to put in", "The text"],
            "The new text",
        ),
        pure("string-trim", "(-> String String)", |call| {
            with_text(call, "string-trim", |text| Outcome::one(text.trim()))
        })
        .documented("A text without the white space at both ends.", &["The text"], "The shorter text"),
        pure("string-upper", "(-> String String)", |call| {
            with_text(call, "string-upper", |text| Outcome::one(text.to_uppercase().as_str()))
        })
        .documented("A text in capital letters.", &["The text"], "The new text"),
        pure("string-lower", "(-> String String)", |call| {
            with_text(call, "string-lower", |text| Outcome::one(text.to_lowercase().as_str()))
        })
        .documented("A text in small letters.", &["The text"], "The new text"),
        pure("string-reverse", "(-> String String)", |call| {
            with_text(call, "string-reverse", |text| Outcome::one(text.chars().rev().collect::<String>().as_str()))
        })
        .documented("The characters of a text from the last to the first.", &["The text"], "The new text"),
        pure("string-repeat", "(-> String Number String)", repeat).documented(
            "A text several times.",
            &["The text", "How often"],
            "The new text; an error if the number is negative or no integer",
        ),
        pure("string-pad-left", "(-> String Number String String)", |call| pad(call, "string-pad-left", true))
            .documented(
                "Fills a text up on its left side to a length.",
                &["The text", "The length", "The character to fill with, a text of one"],
                "The text; as it is if it is longer",
            ),
        pure("string-pad-right", "(-> String Number String String)", |call| pad(call, "string-pad-right", false))
            .documented(
                "Fills a text up on its right side to a length.",
                &["The text", "The length", "The character to fill with, a text of one"],
                "The text; as it is if it is longer",
            ),
        pure("string-to-number", "(-> String Number)", to_number).documented(
            "Reads a number as MeTTa writes it.",
            &["The text"],
            "The number; an error if the text is none",
        ),
        pure("string-to-symbol", "(-> String Atom)", |call| {
            with_text(call, "string-to-symbol", |text| Outcome::one(Atom::symbol(text)))
        })
        .documented("The symbol of a name.", &["The name, a text"], "The symbol"),
        pure("symbol-to-string", "(-> Atom String)", symbol_to_string).documented(
            "The name of a symbol.",
            &["Raw: the symbol"],
            "The name, a text; an error if it is no symbol",
        ),
    ],
    values: &[],
    source: "",
    yields: true,
};

/// What a function of one text comes to.
fn with_text(call: &mut Call<'_>, name: &str, of: impl Fn(&str) -> Outcome) -> Outcome {
    match call.text(0) {
        Some(text) => of(text),
        None => Outcome::failure(format!("{name} expects a text")),
    }
}

/// What a function of two texts comes to.
fn with_texts(call: &mut Call<'_>, name: &str, of: impl Fn(&str, &str) -> Outcome) -> Outcome {
    match (call.text(0), call.text(1)) {
        (Some(first), Some(second)) => of(first, second),
        _ => Outcome::failure(format!("{name} expects two texts")),
    }
}

/// A tuple of texts.
fn tuple<'t>(texts: impl Iterator<Item = &'t str>) -> Outcome {
    Outcome::one(Atom::expression(texts.map(Atom::from).collect::<Vec<_>>()))
}

fn append(call: &mut Call<'_>) -> Outcome {
    let (Some(first), Some(second)) = (call.text(0), call.text(1)) else {
        return Outcome::failure("string-append expects two texts");
    };
    if let Err(refused) = call.look(first.len() + second.len()) {
        return refused;
    }
    Outcome::one(format!("{first}{second}").as_str())
}

fn join(call: &mut Call<'_>) -> Outcome {
    let (Some(between), Some(parts)) = (call.text(0), call.children(1)) else {
        return Outcome::failure("string-join expects a text and a tuple");
    };
    made(call, |text| {
        parts.iter().enumerate().try_for_each(|(position, part)| {
            text.write_str(if position > 0 { between } else { "" })?;
            text.plain(part)
        })
    })
}

fn split(call: &mut Call<'_>) -> Outcome {
    let (Some(at), Some(text)) = (call.text(0), call.text(1)) else {
        return Outcome::failure("string-split expects two texts");
    };
    if let Err(refused) = call.look(text.len() * 2) {
        return refused;
    }
    if at.is_empty() {
        let mut buffer = [0; 4];
        let characters = text.chars().map(|character| Atom::from(&*character.encode_utf8(&mut buffer)));
        return Outcome::one(Atom::expression(characters.collect::<Vec<_>>()));
    }
    tuple(text.split(at))
}

fn slice(call: &mut Call<'_>) -> Outcome {
    let (Some(text), Some(from), Some(to)) = (call.text(0), call.size(1), call.size(2)) else {
        return Outcome::failure("string-slice expects a text and two positions, integers from 0 on");
    };
    let part: String = text.chars().skip(from).take(to.saturating_sub(from)).collect();
    Outcome::one(part.as_str())
}

fn find(call: &mut Call<'_>) -> Outcome {
    with_texts(call, "string-find", |part, text| match text.find(part) {
        Some(byte) => Outcome::one(Number::from(text[..byte].chars().count())),
        None => Outcome::Results(Vec::new()),
    })
}

fn replace(call: &mut Call<'_>) -> Outcome {
    let (Some(old), Some(new), Some(text)) = (call.text(0), call.text(1), call.text(2)) else {
        return Outcome::failure("string-replace expects three texts");
    };
    let places = text.matches(old).count();
    if let Err(refused) = call.look(text.len().saturating_add(places.saturating_mul(new.len()))) {
        return refused;
    }
    Outcome::one(text.replace(old, new).as_str())
}

fn repeat(call: &mut Call<'_>) -> Outcome {
    let (Some(text), Some(times)) = (call.text(0), call.size(1)) else {
        return Outcome::failure("string-repeat expects a text and how often, an integer from 0 on");
    };
    if let Err(refused) = look_at(call, text.len().checked_mul(times)) {
        return refused;
    }
    Outcome::one(text.repeat(times).as_str())
}

/// The longest text that is made by repeating one, in bytes.
const REPEATED_BYTES_MAX: usize = 1 << 28;

/// Looks at the limits before `bytes` bytes are taken; more than can be counted are too many.
fn look_at(call: &mut Call<'_>, bytes: Option<usize>) -> Result<(), Outcome> {
    match bytes.filter(|&bytes| bytes <= REPEATED_BYTES_MAX) {
        Some(bytes) => call.look(bytes),
        None => Err(Outcome::failure(format!("the text would be longer than {REPEATED_BYTES_MAX} bytes"))),
    }
}

fn pad(call: &mut Call<'_>, name: &str, is_left: bool) -> Outcome {
    let (Some(text), Some(length), Some(filling)) = (call.text(0), call.size(1), call.text(2)) else {
        return Outcome::failure(format!("{name} expects a text, a length from 0 on and the character to fill with"));
    };
    let mut characters = filling.chars();
    let (Some(character), None) = (characters.next(), characters.next()) else {
        return Outcome::failure(format!("{name} expects one character to fill with"));
    };
    let missing = length.saturating_sub(text.chars().count());
    if let Err(refused) = look_at(call, missing.checked_mul(character.len_utf8())) {
        return refused;
    }
    let filling: String = std::iter::repeat_n(character, missing).collect();
    let filled = if is_left { filling + text } else { format!("{text}{filling}") };
    Outcome::one(filled.as_str())
}

fn to_number(call: &mut Call<'_>) -> Outcome {
    static LITERALS: LazyLock<Tokenizer> = LazyLock::new(Tokenizer::literals);
    with_text(call, "string-to-number", |text| match LITERALS.atom(text.trim()) {
        number @ Atom::Grounded(Grounded::Number(_)) => Outcome::one(number),
        _ => Outcome::failure(format!("{} is no number", Atom::from(text))),
    })
}

fn symbol_to_string(call: &mut Call<'_>) -> Outcome {
    match call.argument(0).and_then(Atom::as_symbol) {
        Some(name) => Outcome::one(name),
        None => Outcome::failure("symbol-to-string expects a symbol"),
    }
}
