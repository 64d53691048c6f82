//! Sizes around the powers of two where other engines changed their answers, and the sizes of our own types.

use crate::atoms::{Base, atom, expression};
use space::canonical::{decode, encode};
use space::{
    Atom, Bindings, Expression, Grounded, Number, SharedSpace, SharedState, SharedTerms, Symbol, Term, Terms, Variable,
};
use std::mem::size_of;

const SIZES: [usize; 10] = [63, 64, 255, 256, 1_023, 1_024, 4_095, 4_096, 65_535, 65_536];

fn symbol(number: usize) -> Atom {
    Atom::symbol(&format!("s{number}"))
}

fn of_length(length: usize, last: Atom) -> Atom {
    let mut children: Vec<Atom> = (1..length).map(symbol).collect();
    children.push(last);
    Atom::expression(children)
}

#[test]
fn expressions_of_every_length_are_told_apart() {
    let mut base = Base::new();
    let lengths = || SIZES.into_iter().flat_map(|size| [size, size + 1]);
    lengths().for_each(|length| base.space.add(&of_length(length, Atom::symbol("end"))));
    let mut different: Vec<usize> = lengths().collect();
    different.dedup();
    for length in different {
        let copies = lengths().filter(|&other| other == length).count();
        let found = base.solutions(&of_length(length, Atom::variable("x")));
        assert_eq!(found.len(), copies, "length {length}");
        assert_eq!(found[0][0].1, Atom::symbol("end"));
        assert_eq!(base.solutions(&of_length(length, Atom::symbol("start"))).len(), 0, "length {length}");
    }
}

#[test]
fn rules_of_every_length_are_told_apart() {
    let mut base = Base::new();
    SIZES.iter().for_each(|&length| base.space.add(&of_length(length, Atom::variable("any"))));
    for length in SIZES {
        assert_eq!(base.solutions(&of_length(length, Atom::symbol("end"))).len(), 1, "length {length}");
        let stored = of_length(length, Atom::variable("other"));
        let bytes = encode(&stored);
        let back = decode(&bytes, |_| None).expect("whole bytes are an atom");
        assert!(base.space.remove(&back), "length {length}");
    }
    assert!(base.space.is_empty());
}

#[test]
fn symbols_of_every_length_are_told_apart() {
    let mut base = Base::new();
    for length in SIZES {
        for offset in [0, 1, 2] {
            base.space.add(&expression([Atom::symbol("p"), Atom::symbol(&"x".repeat(length + offset))]));
        }
    }
    for length in SIZES {
        let copies = SIZES.iter().filter(|&&size| (size..=size + 2).contains(&length)).count();
        let query = expression([Atom::symbol("p"), Atom::symbol(&"x".repeat(length))]);
        assert_eq!(base.solutions(&query).len(), copies, "length {length}");
    }
}

/// As many facts and as many different symbols as each size: all are there, each is found, none is confused.
#[test]
fn spaces_of_every_size_answer_exactly() {
    let mut base = Base::new();
    let mut held = 0;
    for size in SIZES {
        while held < size {
            base.space.add(&expression([Atom::symbol("p"), symbol(held), Atom::from(held as i64)]));
            held += 1;
        }
        assert_eq!(base.space.len(), size);
        for number in [0, 1, size / 2, size - 2, size - 1] {
            let found = base.solutions(&expression([Atom::symbol("p"), symbol(number), Atom::variable("n")]));
            assert_eq!(found.len(), 1, "{number} of {size}");
            assert_eq!(found[0][0].1, Atom::from(number as i64), "{number} of {size}");
        }
        assert_eq!(base.solutions(&expression([Atom::symbol("p"), symbol(size), Atom::variable("n")])).len(), 0);
    }
    assert_eq!(base.solutions(&atom("(p $x $n)")).len(), 65_536);
}

#[test]
fn copies_of_one_fact_are_counted_beyond_every_size() {
    let mut base = Base::new();
    let (fact, rule) = (atom("(p a)"), atom("(p $x)"));
    for _ in 0..65_537 {
        base.space.add(&fact);
        base.space.add(&rule);
    }
    assert_eq!(base.count("(p a)"), 65_537);
    assert_eq!(base.count("(p $y)"), 65_537);
    assert_eq!(base.solutions(&fact).len(), 2 * 65_537);
    assert!(base.space.remove(&fact) && base.space.remove(&rule));
    assert_eq!(base.space.len(), 2 * 65_536);
}

/// The term dictionary gives each different atom one term, and gives it again.
#[test]
fn terms_of_every_number_stand_for_their_atoms() {
    let mut terms = Terms::default();
    let given: Vec<Term> = (0..65_537).map(|number| terms.intern(&symbol(number))).collect();
    assert_eq!(terms.len(), 65_537);
    for (number, &term) in given.iter().enumerate() {
        assert_eq!(terms.atom(term), &symbol(number));
        assert_eq!(terms.find(&symbol(number)), Some(term));
    }
    assert_eq!(terms.find(&symbol(65_537)), None);
}

/// Names around the length up to which one lies in its entry, alike but for their last character, and empty, and not ASCII.
#[test]
fn short_names_are_told_apart_from_long_ones() {
    let mut terms = Terms::default();
    let stems = ["", "v", "value", "valueso", "values-of", "\u{e9}\u{4e2d}", "\u{1f980}", "\u{1f980}xyz"];
    let names: Vec<String> = stems
        .iter()
        .flat_map(|stem| ('0'..='z').map(move |last| format!("{stem}{last}")))
        .chain([String::new()])
        .collect();
    let given: Vec<Term> = names.iter().map(|name| terms.intern_symbol(name)).collect();
    // What an entry is as a number is another atom.
    let numbers: Vec<Term> = (0..2_000_i64).map(|value| terms.intern_integer(value)).collect();
    let shared = SharedTerms::new(terms.into());
    let space = SharedSpace::new(1, "s", SharedTerms::clone(&shared));
    let snapshot = space.snapshot();
    for (name, &term) in names.iter().zip(&given) {
        assert_eq!(snapshot.terms().atom(term), &Atom::symbol(name));
        assert_eq!(snapshot.terms().find(&Atom::symbol(name)), Some(term));
        assert_eq!(snapshot.terms().find_symbol(name), Some(term));
        assert!(!numbers.contains(&term));
    }
    // A second part of the dictionary, joined with the first one by what comes after.
    let more: Vec<Term> = (0..5_000).map(|number| shared.write().expect("no panic").intern(&symbol(number))).collect();
    let terms = shared.read().expect("no panic");
    assert!((0..5_000).all(|number| terms.find(&symbol(number)) == Some(more[number])));
    assert!(names.iter().zip(&given).all(|(name, &term)| terms.find(&Atom::symbol(name)) == Some(term)));
    assert_eq!(terms.find(&Atom::symbol("values_")), None);
}

#[test]
#[ignore = "takes a minute and a gigabyte"]
fn ten_million_symbols_are_told_apart() {
    const SYMBOLS: usize = 10_000_000;
    let mut terms = Terms::default();
    let name = |number: usize| format!("symbol-{number}");
    assert!((0..SYMBOLS).all(|number| terms.intern_symbol(&name(number)).number() as usize == number));
    assert!((0..SYMBOLS).all(|number| terms.find_symbol(&name(number)) == Some(Term::new(number as u32))));
    assert_eq!(terms.atom(Term::new(7)), &Atom::symbol("symbol-7"));
    assert_eq!(terms.find_symbol(&name(SYMBOLS)), None);
}

#[test]
fn each_kind_has_a_term_of_its_own_and_equal_numbers_one_key() {
    let mut terms = Terms::default();
    let kinds = ["1", "1.0", "\"1\"", "True", "(q (r 1))", "(q (r 1.0))", "-0.0", "0.0", "0"].map(atom);
    let given: Vec<Term> = kinds.iter().map(|kind| terms.intern(kind)).collect();
    let named = terms.intern(&Atom::symbol("1"));
    for (left, term) in kinds.iter().zip(&given) {
        assert_ne!(*term, named);
        assert_eq!(terms.find(left), Some(*term));
        for (right, other) in kinds.iter().zip(&given) {
            assert_eq!(term == other, encode(left) == encode(right), "{left} and {right}");
            assert_eq!(terms.key(*term) == terms.key(*other), left == right, "{left} and {right}");
        }
        assert_eq!(terms.find_key(left), Some(terms.key(*term)));
    }
}

/// As they are today, so that growth is a decision. An atom is moved and copied at every step of every evaluation.
#[test]
fn type_sizes() {
    assert_eq!(size_of::<Atom>(), 32);
    assert_eq!(size_of::<Option<Atom>>(), 32);
    assert_eq!(size_of::<Expression>(), 16);
    assert_eq!(size_of::<Symbol>(), 16);
    assert_eq!(size_of::<Variable>(), 24);
    assert_eq!(size_of::<Grounded>(), 24);
    assert_eq!(size_of::<Number>(), 16);
    assert_eq!(size_of::<Term>(), 4);
    assert_eq!(size_of::<SharedSpace>(), 16);
    assert_eq!(size_of::<SharedState>(), 8);
    assert_eq!(size_of::<Bindings>(), 56);
}

/// Adds an atom, finds it in a snapshot and removes it again; `other` is like it and is not there.
fn check_large(large: &Atom, other: &Atom) {
    let mut base = Base::new();
    base.space.add_many([large, large]);
    let snapshot = base.space.snapshot();
    assert_eq!((snapshot.len(), snapshot.count(large)), (2, 2));
    assert!(snapshot.contains_exactly(large) && !snapshot.contains_exactly(other));
    assert_eq!(decode(&encode(large), |_| None).as_ref(), Ok(large));
    assert!(base.space.remove(large) && base.space.remove(large) && !base.space.remove(large));
    assert!(base.space.is_empty());
    assert_eq!(base.solutions(large).len(), 0);
    assert_eq!(snapshot.query(large, &mut base.source).len(), 2);
}

#[test]
fn symbols_of_a_mebibyte() {
    let long = |last: char| Atom::symbol(&("x".repeat(1 << 20) + &last.to_string()));
    check_large(&long('a'), &long('b'));
    let named = |last| expression([Atom::symbol("name"), long(last)]);
    check_large(&named('a'), &named('b'));
    let mut base = Base::new();
    base.space.add_many(&[named('a'), named('b')]);
    let found = base.solutions(&atom("(name $long)"));
    assert_eq!(found.iter().map(|solution| solution[0].1.clone()).collect::<Vec<_>>(), [long('a'), long('b')]);
}

#[test]
fn expressions_of_100_000_children() {
    let wide = |last: &str| of_length(100_000, Atom::symbol(last));
    check_large(&wide("end"), &wide("other"));
    let inside = |last| expression([Atom::symbol("wide"), wide(last)]);
    check_large(&inside("end"), &inside("other"));
    // A rule of as many children, and a query that asks for the last of them.
    let mut base = Base::new();
    base.space.add_many(&[wide("end"), of_length(100_000, Atom::variable("any"))]);
    let found = base.solutions(&of_length(100_000, Atom::variable("x")));
    assert_eq!(found[0][0].1, Atom::symbol("end"));
    assert_eq!(found.len(), 2);
    assert_eq!(base.solutions(&wide("other")).len(), 1);
}

#[test]
fn atoms_of_200_variables() {
    let variables = |count: usize| {
        let all: Vec<Atom> = (0..count).map(|number| Atom::variable(&format!("v{number}"))).collect();
        Atom::expression(all)
    };
    let mut base = Base::new();
    base.space.add(&variables(200));
    let ground = of_length(200, Atom::symbol("end"));
    assert_eq!(base.solutions(&ground).len(), 1);
    assert_eq!(base.solutions(&of_length(199, Atom::symbol("end"))).len(), 0);
    base.space.add(&ground);
    let found = base.solutions(&variables(200));
    assert_eq!((found.len(), found[1].len()), (2, 200));
    assert!(base.space.remove(&variables(200)) && base.space.remove(&ground));
    assert!(base.space.is_empty());
}
