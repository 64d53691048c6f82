//! One test for each defect of ours that was found and mended.

use crate::atoms::{Base, atom, expression, nested};
use crate::measure::{allocations, assert_ratio, time};
use space::{Atom, Number, SharedState, alpha_equivalent};
use std::ops::Range;
use std::time::Duration;

fn tail_of(text: &str) -> Atom {
    let Atom::Expression(whole) = atom(text) else { panic!("{text} is an expression") };
    whole.tail().expect("it has a head").into()
}

/// The tail of an expression with a variable at its head was stored as if it had a variable itself, and not counted.
#[test]
fn a_tail_without_variables_is_an_ordinary_fact() {
    let mut base = Base::new();
    base.space.add(&tail_of("($x a b)"));
    base.space.add(&expression([Atom::symbol("f"), tail_of("($x a b)")]));
    for fact in ["(a b)", "(f (a b))"] {
        assert_eq!(base.count(fact), 1, "{fact}");
        assert_eq!(base.answers(fact, "found"), ["found"], "{fact}");
        base.add(fact);
        assert_eq!(base.count(fact), 2, "{fact}");
        assert!(base.remove(fact) && base.remove(fact) && !base.remove(fact), "{fact}");
    }
    assert!(base.space.is_empty());
}

/// Numbers are compared by value, but rules were counted and removed by kind.
#[test]
fn rules_are_counted_and_removed_by_value() {
    let base = Base::of(&["(p 1 $x)", "(p 1.0 $x)"]);
    assert_eq!(base.count("(p 1 $y)"), 2);
    assert_eq!(base.count("(p 1.0 $y)"), 2);
    assert!(base.remove("(p 1.0 $y)"), "the one of the same kind goes first");
    assert_eq!(base.count("(p 1.0 $y)"), 1);
    assert!(base.remove("(p 1.0 $y)") && !base.remove("(p 1.0 $y)"));
}

/// Which of several equal facts was removed depended on what the dictionary had met before.
#[test]
fn removal_takes_the_first_equal_fact_whatever_else_was_interned() {
    for warm in [false, true] {
        let mut base = Base::of(&["(p (0.0) (1))", "(p (0) (1))"]);
        if warm {
            base.add("(q (1.0))");
            assert!(base.remove("(q (1.0))"));
        }
        assert!(base.remove("(p (0) (1.0))"), "it equals both");
        assert_eq!(base.contents(), ["(p (0) (1))"], "dictionary warm: {warm}");
    }
}

/// Two variables, each bound to something around itself, were compared for ever.
#[test]
fn two_loops_are_not_compared_for_ever() {
    let mut base = Base::of(&["(q $a (f $a) $b (f $b) $b)", "(q $a (f $a $a) $b (f $b $b) $b)", "(q 1 2 3 4 5)"]);
    assert_eq!(base.answers("(q $x $x $y $y $x)", "found"), [""; 0]);
    assert_eq!(base.answers("(q $a $b $c $d $e)", "found").len(), 3);
}

/// A fact that is replaced again and again left a hole in the index each time, and every query walked all holes.
#[test]
fn a_counter_among_many_facts_stays_fast() {
    let with_facts = |facts: usize| {
        let base = Base::new();
        (0..facts).for_each(|number| base.add(&format!("(pair {number})")));
        base.add("(counter 0)");
        base
    };
    let mut small = (with_facts(100), 0);
    let mut large = (with_facts(60_000), 0);
    let run = |(base, value): &mut (Base, i64)| time(|| (0..400).for_each(|_| count_up(base, value)));
    // The large relation is given many holes, but not enough for it to be packed.
    for _ in 0..100 {
        run(&mut large);
    }
    assert_ratio(4.0, || run(&mut small), || run(&mut large));
}

fn count_up(base: &mut Base, value: &mut i64) {
    let found = base.solutions(&atom("(counter $x)"));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0][0].1, Atom::from(*value));
    assert!(base.remove(&format!("(counter {value})")));
    *value += 1;
    base.add(&format!("(counter {value})"));
}

/// Taking the holes out of an index leaves what is still there.
#[test]
fn an_index_keeps_the_rows_that_are_left() {
    let mut base = Base::new();
    (0..200).for_each(|number| base.add(&format!("(pair {number})")));
    (0..40).for_each(|number| base.add(&format!("(item {number})")));
    let mut left: Vec<String> = (0..40).map(|number| number.to_string()).collect();
    while left.len() > 1 {
        let gone = left.remove(left.len() * 2 / 3);
        assert!(base.remove(&format!("(item {gone})")));
        assert_eq!(base.answers("(item $x)", "$x"), left);
        assert_eq!(base.answers("(item $x)", "$x"), left, "the second look is no different");
    }
    base.add("(item new)");
    assert_eq!(base.answers("(item $x)", "$x"), [left[0].as_str(), "new"]);
    assert!(base.remove("(item new)") && base.remove(&format!("(item {})", left[0])));
    assert_eq!(base.answers("(item $x)", "$x"), [""; 0]);
    base.add("(item again)");
    assert_eq!(base.answers("(item $x)", "$x"), ["again"]);
}

/// Rules that were removed left their paths in the tree, and queries walked them.
#[test]
fn rules_that_are_gone_cost_nothing() {
    let mut base = Base::of(&["(= (kept $x) $x)"]);
    let ask = |base: &mut Base| allocations(|| base.solutions(&atom("(= ($f 1) $r)"))).0.bytes_total;
    // The first query of a thread makes room for all others.
    ask(&mut base);
    let before = ask(&mut base);
    for number in 0..2_000 {
        let rule = format!("(= (f{number} $x) (g{number} $x))");
        base.add(&rule);
        assert!(base.remove(&rule));
    }
    assert_eq!(base.answers("(= ($f 1) $r)", "($f $r)"), ["(kept 1)"]);
    assert_eq!(ask(&mut base), before);
}

/// Atoms that differ only in the states they hold lie at one place of the tree, and each was compared with all others.
#[test]
fn many_states_at_one_place_are_added_and_removed_fast() {
    let atoms = |serials: Range<u64>| -> Vec<Atom> {
        let state = |number| Atom::from(SharedState::new(number, Atom::from(number as i64), Atom::symbol("T")));
        serials.map(|number| expression([Atom::symbol("cell"), state(number)])).collect()
    };
    // The time of a hundred additions and removals, with nothing or thousands of others around them.
    let timed = |base: &Base, moving: &[Atom]| {
        time(|| {
            moving.iter().for_each(|atom| base.space.add(atom));
            assert!(moving.iter().all(|atom| base.space.remove(atom)));
        })
    };
    let moving = atoms(0..100);
    let (alone, among) = (Base::new(), Base::new());
    atoms(1_000..5_000).iter().for_each(|atom| among.space.add(atom));
    assert_ratio(4.0, || timed(&alone, &moving), || timed(&among, &moving));
}

/// Each atom was interned from the bottom, so that storing every depth of one list took the square of its length.
#[test]
fn every_depth_of_one_list_is_stored_in_linear_time() {
    let grow = |from: usize| -> Duration {
        let base = Base::new();
        let mut list = nested("s", from, Atom::symbol("z"));
        base.space.add(&list);
        time(|| {
            for _ in 0..300 {
                list = expression([Atom::symbol("s"), list.clone()]);
                base.space.add(&expression([Atom::symbol("number"), list.clone()]));
                assert!(!base.space.read(|space| space.contains(&list)), "it is only inside");
            }
        })
    };
    assert_ratio(4.0, || grow(10), || grow(10_000));
}

/// … and so did building on what a query found.
#[test]
fn every_step_from_what_a_query_found_is_stored_in_linear_time() {
    let grow = |from: usize| -> Duration {
        let mut base = Base::new();
        base.space.add(&expression([Atom::symbol("number"), nested("s", from, Atom::symbol("z"))]));
        // The atoms of terms are made when they are first asked for.
        assert_eq!(base.solutions(&atom("(number $n)")).len(), 1);
        time(|| {
            for _ in 0..100 {
                let found = base.solutions(&atom("(number $n)")).pop().and_then(|mut solution| solution.pop());
                let (_, last) = found.expect("the number was stored");
                assert!(base.space.remove(&expression([Atom::symbol("number"), last.clone()])));
                let next = expression([Atom::symbol("s"), last]);
                base.space.add(&expression([Atom::symbol("number"), next]));
            }
        })
    };
    assert_ratio(4.0, || grow(10), || grow(10_000));
}

/// … and an atom whose parts are shared was walked once for each way to a part: here 2^60 ways.
#[test]
fn shared_parts_are_interned_once() {
    let shared = (0..60).fold(Atom::symbol("z"), |part, _| expression([part.clone(), part]));
    let mut base = Base::new();
    base.space.add(&expression([Atom::symbol("holds"), shared.clone()]));
    assert_eq!(base.solutions(&expression([Atom::symbol("holds"), shared.clone()])).len(), 1);
    assert_eq!(base.solutions(&atom("(holds ($x $y))")).len(), 1);
    assert!(base.space.remove(&expression([Atom::symbol("holds"), shared])));
}

/// A term remembered in an atom is that of one dictionary and says nothing to another.
#[test]
fn an_atom_stored_in_two_dictionaries_is_right_in_both() {
    let (mut left, mut right) = (Base::new(), Base::new());
    right.add("(unrelated (atoms (first)))");
    let shared = atom("(p (q (r 1.0)) (q a))");
    for _ in 0..2 {
        left.space.add(&shared);
        right.space.add(&shared);
    }
    for base in [&mut left, &mut right] {
        assert_eq!(base.answers("(p (q (r 1)) $x)", "$x"), ["(q a)", "(q a)"]);
        assert_eq!(base.answers("(p $x (q a))", "$x"), ["(q (r 1.0))", "(q (r 1.0))"]);
        assert!(base.space.remove(&shared) && base.space.remove(&shared) && !base.space.remove(&shared));
    }
}

/// Fresh variables were numbered in the order in which a hash table lists the rules.
#[test]
fn fresh_variables_are_numbered_in_the_order_of_the_answers() {
    let mut base = Base::new();
    for number in 0..50 {
        base.add(&format!("(= (f{} $x) ($y $x))", number * 7 % 50));
    }
    let ids: Vec<u64> = base.solutions(&atom("(= ($f 1) $r)")).iter().flat_map(fresh_ids).collect();
    assert_eq!(ids.len(), 50);
    assert!(ids.is_sorted(), "{ids:?}");
}

fn fresh_ids(solution: &space::Solution) -> Vec<u64> {
    let values = solution.iter().flat_map(|(_, value)| space::variables(value));
    values.map(|variable| variable.id()).collect()
}

/// `1_000` and `+-5` were read as integers, but only when they did not fit a word.
#[test]
fn only_digits_are_read_as_an_integer() {
    let refused = ["", "+", "-", "1_000", "_1", "1_", "+-5", "-+5", "--5", " 5", "5 ", "0x10", "1.0", "٣"];
    for text in refused {
        assert_eq!(Number::parse_integer(text), None, "{text:?}");
    }
    for (text, printed) in [("5", "5"), ("+5", "5"), ("-5", "-5"), ("007", "7"), ("-0", "0")] {
        assert_eq!(Number::parse_integer(text).map(|number| number.to_string()).as_deref(), Some(printed));
    }
    let long = "-123456789012345678901234567890";
    assert_eq!(Number::parse_integer(long).map(|number| number.to_string()).as_deref(), Some(long));
}

/// A part of a rule that was evaluated before the rule was stored was never evaluated again.
#[test]
fn the_evaluated_mark_is_not_stored() {
    let Atom::Expression(part) = atom("(f (g 1))") else { panic!("an expression was written") };
    let inner = expression([Atom::symbol("h"), part.clone().into_evaluated().into()]);
    let Atom::Expression(outer) = expression([inner, Atom::unit()]) else { panic!("an expression was made") };
    let marked = Atom::from(outer.into_evaluated());
    let mut base = Base::new();
    base.space.add(&expression([Atom::symbol("fact"), marked.clone()]));
    base.space.add(&expression([Atom::symbol("rule"), Atom::variable("x"), marked.clone()]));
    for query in ["(fact $r)", "(rule 1 $r)"] {
        let found = base.solutions(&atom(query)).pop().and_then(|mut solution| solution.pop());
        let (_, value) = found.expect("one atom matches");
        assert_eq!(value, marked);
        assert!(!has_mark(&value), "{query}");
    }
}

fn has_mark(atom: &Atom) -> bool {
    let Atom::Expression(expression) = atom else { return false };
    expression.is_evaluated() || expression.children().iter().any(has_mark)
}

/// What `collapse-bind` bound was written as if it were an expression.
#[test]
fn bindings_and_expressions_are_two_atoms_of_a_space() {
    let solution = vec![(crate::atoms::variable("x"), atom("1"))];
    let bindings = Atom::Grounded(space::Grounded::Bindings(std::sync::Arc::new(solution)));
    let mut base = Base::new();
    let (bound, plain) = (expression([Atom::symbol("r"), bindings]), atom("(r ($x 1))"));
    base.space.add(&bound);
    base.space.add(&plain);
    for stored in [&bound, &plain] {
        assert_eq!(base.space.read(|space| space.count(stored)), 1, "{stored}");
    }
    assert!(!alpha_equivalent(&bound, &plain));
    assert_eq!(base.solutions(&bound).len(), 1, "it matches itself");
    assert!(base.space.remove(&bound) && base.space.remove(&plain) && base.space.is_empty());
}
