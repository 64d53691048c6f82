//! What texts become: symbols, numbers, truth values and strings.

use metta::{Out, WordMeaning, Words};
use space::{Atom, Grounded, Number};

/// Hands out a text that says a name: a symbol if it can be one, else a string.
pub(super) fn name(text: &str, words: &Words, out: &mut dyn Out) {
    if words.is_symbol(text) {
        out.symbol(text);
    } else {
        out.leaf(Atom::from(text));
    }
}

/// Hands out a text that says anything: a number or truth value if a source would read it as one, else as [`name`] does.
///
/// A number that begins with `+`, or with a `0` before other digits, is a code such as a telephone number and stays a text. So does one
/// that a float cannot hold: `8e12345` would be infinite, and `0e462097` nothing.
pub(super) fn value(text: &str, words: &Words, out: &mut dyn Out) {
    if (may_be_number(text) || matches!(text, "True" | "False"))
        && let WordMeaning::Atom(atom) = words.meaning(text)
        && atom.is_rigid()
        && holds(&atom, text)
    {
        return out.leaf(atom);
    }
    name(text, words, out);
}

/// The number that an atom is.
pub(super) fn number(atom: &Atom) -> Option<&Number> {
    match atom {
        Atom::Grounded(Grounded::Number(number)) => Some(number),
        _ => None,
    }
}

/// Whether a float has a value that the text may mean; what is no float has.
fn holds(atom: &Atom, text: &str) -> bool {
    match number(atom) {
        Some(Number::Float(float)) => float.is_finite() && (*float != 0.0 || !text.contains(['e', 'E'])),
        _ => true,
    }
}

fn may_be_number(text: &str) -> bool {
    const DIGITS_MAX: usize = 1_000;
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    match digits {
        [b'0', second, ..] => matches!(second, b'.' | b'e' | b'E'),
        [first, ..] => first.is_ascii_digit() && digits.len() <= DIGITS_MAX,
        [] => false,
    }
}
