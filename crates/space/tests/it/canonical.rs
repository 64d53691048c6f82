//! The canonical byte form: one form an atom, one atom a form, in the order of atoms; damage is an error.

use crate::atoms::{atom, nested};
use crate::generated::{config, disguised, holes, tree, with_holes};
use crate::tree::{Tree, canonical_order};
use num_bigint::BigInt;
use proptest::collection::vec;
use proptest::prelude::*;
use space::canonical::{DecodeError, INTEGER_BITS_MAX, Unresolved, decode, encode, encode_into, encode_prefix};
use space::{Atom, Grounded, Number, SharedSpace, SharedState, Terms, VariableSource, alpha_equivalent};
use std::sync::Arc;

/// Reads bytes, with every host value, space and state standing for a symbol that says which.
fn read(bytes: &[u8]) -> Result<Atom, DecodeError> {
    decode(bytes, |_| None)
}

/// Whatever the bytes are, reading them ends in an error or in the one atom that has these very bytes.
fn check_damaged(bytes: &[u8]) {
    if let Ok(found) = read(bytes) {
        assert_eq!(encode(&found), bytes, "{found} has another form");
    }
}

fn integer(digits: &str) -> Atom {
    Atom::from(Number::parse_integer(digits).expect("digits"))
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn what_was_written_reads_back(tree in tree(6)) {
        let atom = tree.to_atom();
        let bytes = encode(&atom);
        let back = read(&bytes).expect("whole bytes are an atom");
        prop_assert!(Tree::of(&back).is_identical(&tree), "{} came back as {}", atom, back);
        prop_assert!(alpha_equivalent(&atom, &back));
        prop_assert_eq!(encode(&back), bytes);
    }

    #[test]
    fn bytes_are_in_the_order_of_atoms(left in tree(4), right in tree(4)) {
        let found = encode(&left.to_atom()).cmp(&encode(&right.to_atom()));
        prop_assert_eq!(found, canonical_order(&left, &right));
    }

    /// Atoms that differ only deep inside or in kind.
    #[test]
    fn near_atoms_are_in_order_too(one in tree(4), prefix in vec(tree(4), 0..2), flips in vec(any::<bool>(), 1..4)) {
        let left = Tree::List([prefix.clone(), vec![one.clone()]].concat());
        let right = Tree::List([prefix, vec![disguised(&one, &flips)]].concat());
        let found = encode(&left.to_atom()).cmp(&encode(&right.to_atom()));
        prop_assert_eq!(found, canonical_order(&left, &right));
    }

    /// Patterns are made of what they match, with parts replaced, so that they do match.
    #[test]
    fn what_a_pattern_matches_begins_with_its_prefix(stored in tree(0), holes in holes(), flips in vec(any::<bool>(), 1..4)) {
        let pattern = with_holes(&disguised(&stored, &flips), &holes).to_atom();
        let (space, stored) = (SharedSpace::new(0, "one", Terms::shared()), stored.to_atom());
        space.add(&stored);
        if !space.query(&pattern, &mut VariableSource::default()).is_empty() {
            prop_assert!(encode(&stored).starts_with(&encode_prefix(&pattern)), "{} matches {}", pattern, stored);
        }
    }

    #[test]
    fn no_beginning_of_the_bytes_is_an_atom(tree in tree(6)) {
        let bytes = encode(&tree.to_atom());
        for end in 0..bytes.len() {
            prop_assert_eq!(read(&bytes[..end]), Err(DecodeError::Truncated { offset: end }));
        }
        let trailing = [bytes.as_slice(), &[0x10]].concat();
        prop_assert_eq!(read(&trailing), Err(DecodeError::Trailing { offset: bytes.len() }));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in vec(any::<u8>(), 0..40)) {
        check_damaged(&bytes);
    }

    /// Bytes made of the tags the form uses, so that they go wrong later than at the first byte.
    #[test]
    fn no_sequence_of_tags_makes_the_reader_panic(bytes in vec(prop::sample::select(TAGS.to_vec()), 0..40)) {
        check_damaged(&bytes);
    }
}

const TAGS: [u8; 20] = [
    0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x10, 0x11, 0x20, 0x30, 0x40, 0x50, 0x60, 0x68, 0x70, 0x78, 0x80,
    0xFF,
];

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn no_damaged_byte_goes_unnoticed_or_panics(tree in tree(6)) {
        check_every_byte(&encode(&tree.to_atom()));
    }
}

fn check_every_byte(bytes: &[u8]) {
    let mut damaged = bytes.to_vec();
    for place in 0..bytes.len() {
        for flip in 1..=255 {
            damaged[place] = bytes[place] ^ flip;
            check_damaged(&damaged);
        }
        damaged[place] = bytes[place];
    }
}

#[test]
fn a_prefix_goes_up_to_the_first_variable_or_number() {
    let ground = atom("(p (q \"t\") True a)");
    assert_eq!(encode_prefix(&ground), encode(&ground));
    let whole = encode(&atom("(p a)"));
    let before_end = &whole[..whole.len() - 1];
    for pattern in ["(p a $x b)", "(p a 1 b)", "(p a 1.0 b)"] {
        assert_eq!(encode_prefix(&atom(pattern)), before_end, "{pattern}");
    }
}

#[test]
fn no_damaged_byte_of_any_kind_goes_unnoticed() {
    let solution = vec![(crate::atoms::variable("x"), atom("(f $y)"))];
    let bindings = Atom::Grounded(Grounded::Bindings(Arc::new(solution)));
    let big = integer("-123456789012345678901234567890");
    let kinds =
        [atom("(f $x (g $y $x) \"te\0xt\" True 1 1.5 -0.0)"), big, bindings, Atom::from(f64::NAN), Atom::from(5e-324)];
    kinds.iter().for_each(|kind| check_every_byte(&encode(kind)));
}

/// Every number is greater than the one before, by value, then by kind.
#[test]
fn numbers_are_ordered_by_exact_value() {
    let float = |value: f64| Atom::from(value);
    let ascending = [
        float(f64::NEG_INFINITY),
        integer(&format!("-{}", "9".repeat(400))),
        float(f64::MIN),
        integer("-9223372036854775809"),
        integer("-9223372036854775808"),
        float(-(2_f64.powi(63))),
        integer("-9223372036854775807"),
        integer("-9007199254740993"),
        integer("-9007199254740992"),
        float(-9_007_199_254_740_992.0),
        integer("-2"),
        float(-2.0),
        float(-1.5),
        integer("-1"),
        float(-1.0),
        float(-f64::MIN_POSITIVE),
        float(-1e-320),
        float(-5e-324),
        float(-0.0),
        integer("0"),
        float(0.0),
        float(5e-324),
        float(1e-320),
        float(f64::MIN_POSITIVE),
        float(0.1),
        integer("1"),
        float(1.0),
        float(1.0 + f64::EPSILON),
        float(1.5),
        integer("2"),
        integer("255"),
        integer("256"),
        integer("257"),
        integer("9007199254740992"),
        float(9_007_199_254_740_992.0),
        integer("9007199254740993"),
        integer("9223372036854775807"),
        integer("9223372036854775808"),
        float(2_f64.powi(63)),
        integer("9223372036854775809"),
        float(f64::MAX),
        integer(&"9".repeat(400)),
        float(f64::INFINITY),
        float(f64::NAN),
    ];
    check_ascending(&ascending);
    let zero_in_the_middle = ["256", "65536", "16777216", "4294967296", "18446744073709551616"].map(integer);
    check_ascending(&zero_in_the_middle);
}

#[test]
fn kinds_texts_names_and_expressions_are_in_order() {
    let text = |text: &str| Atom::from(text);
    let ascending = [
        Atom::from(false),
        Atom::from(true),
        integer("5"),
        text(""),
        text("\0"),
        text("\0\0"),
        text("\0a"),
        text("\u{1}"),
        text("a"),
        text("a\0"),
        text("a\0\u{10FFFF}"),
        text("a\u{1}"),
        text("aa"),
        text("b"),
        text("\u{10FFFF}"),
        Atom::symbol(""),
        Atom::symbol("a"),
        Atom::symbol("a\0b"),
        Atom::symbol("ab"),
        atom("$x"),
        atom("()"),
        atom("(1)"),
        atom("(1 a)"),
        atom("(1 (a))"),
        atom("(1.0)"),
        atom("(2)"),
        atom("(a)"),
        atom("(a 1)"),
        atom("(a b)"),
        atom("(a b c)"),
        atom("(a $x)"),
        atom("(a $x $x)"),
        atom("(a $x $y)"),
        atom("(a (b))"),
        atom("(b)"),
        atom("(())"),
    ];
    check_ascending(&ascending);
}

fn check_ascending(atoms: &[Atom]) {
    for pair in atoms.windows(2) {
        assert!(encode(&pair[0]) < encode(&pair[1]), "{} comes before {}", pair[0], pair[1]);
    }
}

/// The form is a format on disk and on the wire: a change of these bytes is a new version of it.
#[test]
fn the_bytes_are_those_of_the_documented_form() {
    let form = |text: &str| encode(&atom(text));
    assert_eq!(form("True"), [0x11]);
    assert_eq!(form("ab"), [0x40, b'a', b'b', 0x00, 0x01]);
    assert_eq!(form("\"a\0\""), [0x30, b'a', 0x00, 0xFF, 0x00, 0x01]);
    assert_eq!(form("()"), [0x80, 0x00]);
    assert_eq!(form("0"), [0x20, 0x03, 0x00]);
    assert_eq!(form("0.0"), [0x20, 0x03, 0x01]);
    assert_eq!(form("1"), [0x20, 0x05, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x00, 0x01, 0x00]);
    assert_eq!(form("-1.0"), [0x20, 0x01, 0x7F, 255, 255, 255, 255, 255, 255, 255, 0x7F, 0xFF, 0xFE, 0x01]);
    assert_eq!(form("($x $y $x)"), [0x80, 0x70, 0, 0, 0, 0, 0x70, 0, 0, 0, 1, 0x70, 0, 0, 0, 0, 0x00]);
}

#[test]
fn alpha_equivalent_atoms_have_equal_bytes() {
    assert_eq!(encode(&atom("(f $x ($y $x))")), encode(&atom("(f $a ($b $a))")));
    assert_ne!(encode(&atom("(f $x $y)")), encode(&atom("(f $x $x)")));
}

#[test]
fn appended_atoms_number_their_variables_anew() {
    let mut bytes = encode(&atom("(f $x)"));
    let first = bytes.len();
    encode_into(&atom("(g $y)"), &mut bytes);
    assert_eq!(&bytes[first..], encode(&atom("(g $y)")));
}

#[test]
fn spaces_and_states_are_written_by_serial_number_and_resolved_by_the_caller() {
    let space = SharedSpace::new(7, "&s", Terms::shared());
    let state = SharedState::new(9, atom("1"), atom("(StateMonad Number)"));
    let both = Atom::expression([Atom::from(space.clone()), Atom::from(state.clone())]);
    let bytes = encode(&both);
    let resolve = |unresolved: &Unresolved<'_>| match unresolved {
        Unresolved::Space(7) => Some(Atom::from(space.clone())),
        Unresolved::State(9) => Some(Atom::from(state.clone())),
        _ => None,
    };
    assert_eq!(decode(&bytes, resolve), Ok(both));
    assert_eq!(read(&bytes), Err(DecodeError::Unresolved { kind: "space", offset: 1 }));
}

#[test]
fn bindings_are_no_expression() {
    let solution = vec![(crate::atoms::variable("x"), atom("1")), (crate::atoms::variable("y"), atom("(f $x)"))];
    let bindings = Atom::Grounded(Grounded::Bindings(Arc::new(solution)));
    let bytes = encode(&bindings);
    assert_ne!(bytes, encode(&atom("($x 1 $y (f $x))")));
    let back = read(&bytes).expect("whole bytes are an atom");
    assert!(alpha_equivalent(&back, &bindings));
    assert_eq!(back.to_string(), "{ $_0 <- 1, $_1 <- (f $_0) }");
}

/// The bytes of an integer say where its leading bit is: a damaged one must not ask for the memory of that many.
#[test]
fn an_integer_of_absurd_size_is_an_error() {
    for exponent in [INTEGER_BITS_MAX, 1 << 40, 1 << 56, i64::MAX - 1, i64::MAX] {
        let mut bytes = vec![0x20, 0x05];
        bytes.extend(((exponent as u64) ^ (1 << 63)).to_be_bytes());
        bytes.extend([0x80, 0x00, 0x01, 0x00]);
        assert_eq!(read(&bytes), Err(DecodeError::TooLarge { offset: 1 }), "exponent {exponent}");
    }
}

#[test]
fn an_integer_with_many_zeros_reads_back() {
    let large = Atom::from(Number::from_big(BigInt::from(-5) << 1_000_000));
    let bytes = encode(&large);
    assert!(bytes.len() < 20, "zeros take no room: {} bytes", bytes.len());
    assert_eq!(read(&bytes), Ok(large));
}

/// Bytes that would be read as an atom whose form is another are refused.
#[test]
fn only_the_canonical_form_is_read() {
    let float = |tail: &[u8]| [&[0x20, 0x05, 0x80, 0, 0, 0, 0, 0, 0, 0], tail].concat();
    assert_eq!(read(&float(&[0x80, 0x00, 0x01, 0x01])), Ok(atom("1.0")));
    let not_canonical = Err(DecodeError::NotCanonical { offset: 1 });
    assert_eq!(read(&float(&[0x80, 0x00, 0xFF, 0x00, 0x01, 0x01])), not_canonical, "a zero at the end");
    assert_eq!(read(&float(&[0x40, 0x00, 0x01, 0x01])), not_canonical, "no leading one");
    assert_eq!(read(&float(&[0x00, 0x01, 0x01])), not_canonical, "no bits at all");
    assert_eq!(read(&float(&[0xC0, 0x00, 0x01, 0x00])), not_canonical, "an integer with a fraction");
    assert_eq!(read(&[0x20, 0x06, 0x00]), not_canonical, "an infinite integer");
    assert_eq!(read(&[0x20, 0x02, 0x00]), not_canonical, "a negative zero integer");
    assert_eq!(read(&[0x20, 0x07, 0, 0, 0, 0, 0, 0, 0, 0, 0x01]), not_canonical, "a NaN that is a number");
    assert_eq!(read(&[0x70, 0, 0, 0, 1]), Err(DecodeError::NotCanonical { offset: 0 }), "the second variable first");
    assert_eq!(
        read(&[0x78, 0x10, 0x10, 0x00]),
        Err(DecodeError::NotCanonical { offset: 0 }),
        "a value for no variable"
    );
}

#[test]
fn errors_say_what_and_where() {
    let message = |bytes: &[u8]| read(bytes).expect_err("the bytes are damaged").to_string();
    assert_eq!(message(&[0x80]), "the atom's bytes end too early, at offset 1");
    assert!(message(&[0x99]).starts_with("byte 0x99 at offset 0 begins no kind of atom"));
    assert!(message(&[0x00]).starts_with("byte 0x00 at offset 0"));
    assert!(message(&[0x40, 0xFF, 0x00, 0x01]).starts_with("the name at offset 1 is not UTF-8"));
    assert_eq!(message(&[0x10, 0x10]), "bytes are left over after the atom, from offset 1");
    assert_eq!(
        message(&encode(&Atom::from(SharedSpace::new(3, "&s", Terms::shared())))),
        "the space at offset 0 is known only to the process that made it"
    );
}

#[test]
fn a_deep_form_cut_short_is_an_error_and_freed() {
    let bytes = encode(&nested("s", 100_000, atom("z")));
    let half = bytes.len() / 2;
    assert_eq!(read(&bytes[..half]), Err(DecodeError::Truncated { offset: half }));
}

/// The content hash as the documents define it, by recursion.
fn hash_by_definition(bytes: &[u8]) -> u128 {
    fn one(bytes: &[u8], at: &mut usize) -> u128 {
        let start = *at;
        if bytes[start] != 0x80 && bytes[start] != 0x78 {
            *at += leaf_length(&bytes[start..]);
            return xxh3(&bytes[start..*at]);
        }
        let mut node = vec![bytes[start]];
        *at += 1;
        while bytes[*at] != 0x00 {
            let child = one(bytes, at);
            node.extend(child.to_le_bytes());
        }
        *at += 1;
        node.push(0x00);
        xxh3(&node)
    }
    one(bytes, &mut 0)
}

fn xxh3(bytes: &[u8]) -> u128 {
    twox_hash::XxHash3_128::oneshot(bytes)
}

/// How many bytes a leaf takes: the shortest beginning that is an atom by itself. Variables have one length.
fn leaf_length(bytes: &[u8]) -> usize {
    if bytes[0] == 0x70 {
        return 5;
    }
    let resolve = |_: &Unresolved<'_>| Some(Atom::unit());
    (1..=bytes.len()).find(|&length| decode(&bytes[..length], resolve).is_ok()).expect("a leaf ends")
}

#[test]
fn the_content_hash_is_what_its_definition_says() {
    let long = "x".repeat(300);
    for text in [
        "a",
        "7",
        "7.0",
        "-0.0",
        "\"\"",
        "()",
        "(a)",
        "(a b c)",
        "(f (g $x) $y $x)",
        "(, $a $b)",
        "((()) ())",
        "(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20)",
        "(\"with \\\"quotes\\\"\" True)",
        long.as_str(),
    ] {
        let atom = atom(text);
        let bytes = encode(&atom);
        assert_eq!(space::canonical::hash(&atom), hash_by_definition(&bytes), "{text}");
        assert_eq!(space::canonical::hash_of_bytes(&bytes), Ok(hash_by_definition(&bytes)), "{text}");
        let mut space = space::Space::new(Terms::shared());
        space.keep_hash();
        space.add(&atom);
        space.add(&atom);
        assert_eq!(space.hash(), Some(hash_by_definition(&bytes).wrapping_mul(2)), "{text}");
        space.remove(&atom);
        space.remove(&atom);
        assert_eq!(space.hash(), Some(0), "{text}");
    }
}
