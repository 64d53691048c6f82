//! Printing an atom and reading it back gives the same atom: the same names, numbers of the same kind, texts of the same
//! characters.
//!
//! What has no syntax is left out: symbols whose names are not words, variables made fresh, spaces and states. The three
//! floats that have none either are pinned below.

use metta::syntax::parse;
use metta::{Tokenizer, read_atom};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use space::canonical::encode;
use space::{Atom, Number};

/// Reads the one atom of a text.
fn read(text: &str) -> Atom {
    let parsed = parse(text);
    assert_eq!(parsed.diagnostics, [], "{text}");
    let forms = parsed.tree.forms();
    assert_eq!(forms.len(), 1, "{text}");
    read_atom(&parsed.tree, forms[0].node, &Tokenizer::literals())
}

/// Words that look like something else, up to a character.
const STRANGE_WORDS: &[&str] = &[
    "a",
    "=",
    "->",
    ":<",
    "%Undefined%",
    "Truely",
    "FalseX",
    "true",
    "1a",
    "1.",
    ".5",
    "1e",
    "+",
    "-",
    "--1",
    "1.2.3",
    "0x1F",
    "1_000",
    "inf",
    "NaN",
    "a\"b",
    "a$b",
    "a#b",
    "a!",
    "a!b",
    "é",
    "日本語",
    "λ",
    "🦀",
    "\u{301}",
    "\u{200b}",
    "a'b",
    "\\n",
    "{}",
    "[a]",
    "a,b",
    "@doc",
    "&space",
    "_",
];

fn symbol() -> impl Strategy<Value = Atom> {
    let character = prop_oneof![4 => proptest::char::range('a', 'z'), 1 => any::<char>()];
    let word = vec(character, 1..6).prop_map(String::from_iter).prop_filter("a word", |word| is_plain_word(word));
    let strange = prop::sample::select(STRANGE_WORDS).prop_map(str::to_owned);
    prop_oneof![word, strange].prop_map(|name| Atom::symbol(&name))
}

/// Whether a name is read as one word that means nothing but itself.
fn is_plain_word(name: &str) -> bool {
    let has_end = name.contains(|c: char| c.is_whitespace() || "();\0\u{feff}".contains(c));
    let is_literal = Tokenizer::literals().atom(name) != Atom::symbol(name);
    !(has_end || is_literal || name.starts_with(['"', '$', '!']))
}

fn integer() -> impl Strategy<Value = Atom> {
    let digits = "[-+]?[0-9]{1,60}".prop_map(|digits| Number::parse_integer(&digits).expect("digits are a number"));
    let edges = prop::sample::select(vec![i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX]).prop_map(Number::from);
    prop_oneof![digits, edges].prop_map(Atom::from)
}

fn float() -> impl Strategy<Value = Atom> {
    let edges = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        1e300,
        -1e300,
        1e15,
        1e16,
        1e17,
        1e20,
        1e21,
        1e22,
        1e-7,
        5e-324,
        f64::MAX,
        f64::EPSILON,
        0.1,
    ];
    let finite = any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |float| float.is_finite());
    prop_oneof![finite, prop::sample::select(edges)].prop_map(Atom::from)
}

fn text() -> impl Strategy<Value = Atom> {
    let character = prop_oneof![
        any::<char>(),
        prop::sample::select(vec!['"', '\\', '\n', '\t', '\r', '\0', '\'', '\u{7f}', '{', ';', '(', '$'])
    ];
    vec(character, 0..12).prop_map(|characters| Atom::from(String::from_iter(characters).as_str()))
}

fn variable() -> impl Strategy<Value = Atom> {
    prop::sample::select(vec!["x", "y", "_", "", "λ", "x\"y", "x!", "1"]).prop_map(Atom::variable)
}

fn atom() -> impl Strategy<Value = Atom> {
    let leaf = prop_oneof![3 => symbol(), 1 => integer(), 1 => float(), 2 => text(), 1 => variable(), 1 => any::<bool>().prop_map(Atom::from)];
    leaf.prop_recursive(5, 40, 6, |inner| vec(inner, 0..6).prop_map(Atom::expression))
}

proptest! {
    #![proptest_config(Config { cases: 3_000, rng_seed: RngSeed::Fixed(11), failure_persistence: None, ..Config::default() })]

    #[test]
    fn parse_of_print_is_the_atom(atom in atom()) {
        let printed = atom.to_string();
        let again = read(&printed);
        prop_assert_eq!(&again, &atom, "{}", printed);
        // Equality takes 1 for 1.0; canonical bytes do not.
        prop_assert_eq!(encode(&again), encode(&atom), "{}", printed);
        prop_assert_eq!(again.to_string(), printed);
    }
}

#[test]
fn strange_words_are_symbols() {
    for word in STRANGE_WORDS {
        assert_eq!(read(word).as_symbol(), Some(*word));
        assert_eq!(read(&format!("({word} {word})")).to_string(), format!("({word} {word})"));
    }
}

#[test]
fn numbers_print_in_the_form_of_their_kind() {
    let cases = [
        ("1", "1"),
        ("+1", "1"),
        ("-0", "0"),
        ("007", "7"),
        ("1.0", "1.0"),
        ("1e0", "1.0"),
        ("-0.0", "-0.0"),
        ("1e300", "1e300"),
        ("1E-7", "1e-7"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1.50", "1.5"),
    ];
    for (written, printed) in cases {
        assert_eq!(read(written).to_string(), printed, "{written}");
    }
}

#[test]
fn infinity_and_nan_print_as_words_that_read_back_as_symbols() {
    for (float, word) in [(f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf"), (f64::NAN, "NaN")] {
        assert_eq!(Atom::from(float).to_string(), word);
        assert_eq!(read(word), Atom::symbol(word));
    }
}
