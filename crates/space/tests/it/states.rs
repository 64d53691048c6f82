//! States: cells that are equal by content, as it is when someone looks.

use crate::atoms::{Base, atom, expression};
use space::{Atom, SharedState, alpha_equivalent};
use std::hash::{DefaultHasher, Hash, Hasher};

fn state(serial: u64, content: &str) -> SharedState {
    SharedState::new(serial, atom(content), atom("(StateMonad Number)"))
}

fn holding(serial: u64, content: Atom) -> SharedState {
    SharedState::new(serial, content, atom("(StateMonad Atom)"))
}

fn hash_of(atom: &Atom) -> u64 {
    let mut hasher = DefaultHasher::new();
    atom.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn states_are_equal_by_content() {
    let (one, same, other) = (state(1, "(a 1)"), state(2, "(a 1.0)"), state(3, "(a 2)"));
    let [one_atom, same_atom, other_atom] = [&one, &same, &other].map(|state| Atom::from(state.clone()));
    assert_eq!(one_atom, same_atom);
    assert_ne!(one_atom, other_atom);
    assert!(alpha_equivalent(&one_atom, &same_atom) && !alpha_equivalent(&one_atom, &other_atom));
    assert!(!one.is_same(&same) && one.is_same(&one.clone()));
    other.set(atom("(a 1)"));
    assert_eq!(one_atom, other_atom);
    one.set(atom("changed"));
    assert_ne!(one_atom, same_atom);
}

#[test]
fn a_hash_does_not_change_with_the_content() {
    let cell = state(1, "1");
    let atom_of_it = expression([Atom::symbol("p"), cell.clone().into()]);
    let before = hash_of(&atom_of_it);
    cell.set(atom("2"));
    assert_eq!(hash_of(&atom_of_it), before);
}

#[test]
fn a_state_is_no_other_kind_of_atom() {
    let cell = Atom::from(state(1, "5"));
    for other in ["5", "(State 5)", "$x", "()"] {
        assert_ne!(cell, atom(other));
    }
    assert_eq!(cell.to_string(), "(State 5)");
    assert!(cell.is_ground() && !cell.is_rigid());
}

#[test]
fn matching_sees_the_content_at_the_time_of_the_query() {
    let (stored, asked) = (state(1, "1"), state(2, "1"));
    let mut base = Base::new();
    base.space.add(&expression([Atom::symbol("cell"), stored.clone().into()]));
    let query = expression([Atom::symbol("cell"), asked.clone().into()]);
    assert_eq!(base.solutions(&query).len(), 1);
    stored.set(atom("2"));
    assert_eq!(base.solutions(&query).len(), 0);
    asked.set(atom("2.0"));
    assert_eq!(base.solutions(&query).len(), 1);
    assert_eq!(base.answers("(cell $x)", "$x"), ["(State 2)"]);
    assert_eq!(base.solutions(&Atom::from(asked)).len(), 0, "the state alone is not in the space");
}

#[test]
fn states_in_a_space_are_counted_and_removed_by_content_but_the_same_one_first() {
    let (one, two) = (state(1, "1"), state(2, "1"));
    let cell = |state: &SharedState| expression([Atom::symbol("cell"), state.clone().into()]);
    let mut base = Base::new();
    base.space.add(&cell(&one));
    base.space.add(&cell(&two));
    let count = |base: &Base, atom: &Atom| base.space.read(|space| space.count(atom));
    assert_eq!(count(&base, &cell(&state(3, "1"))), 2);
    assert_eq!(count(&base, &cell(&state(3, "2"))), 0);
    assert!(base.space.remove(&cell(&two)));
    two.set(atom("elsewhere"));
    assert_eq!(base.answers("(cell $x)", "$x"), ["(State 1)"], "the other one was removed");
    assert!(base.space.remove(&cell(&state(3, "1"))), "an equal one serves");
    assert!(!base.space.remove(&cell(&one)) && base.space.is_empty());
}

#[test]
fn equal_states_added_are_one_entry_only_if_they_are_the_same() {
    let (one, two) = (state(1, "1"), state(2, "1"));
    let mut base = Base::new();
    for state in [&one, &two, &one] {
        base.space.add(&state.clone().into());
    }
    two.set(atom("2"));
    assert_eq!(base.contents(), ["(State 1)", "(State 1)", "(State 2)"]);
}

#[test]
fn states_beside_variables_match_like_any_value() {
    let mut base = Base::new();
    base.space.add(&expression([Atom::symbol("r"), state(1, "1").into(), Atom::variable("x"), Atom::variable("x")]));
    assert_eq!(base.answers("(r $s 7 $y)", "($s $y)"), ["((State 1) 7)"]);
    let query = expression([Atom::symbol("r"), Atom::variable("s"), Atom::variable("s"), Atom::variable("t")]);
    let found = base.solutions(&query);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0][1].1.to_string(), "(State 1)");
}

/// Two states that hold each other: `(a <the other>)` and `(b <the first>)`.
fn circle(serial: u64) -> (SharedState, SharedState) {
    let one = state(serial, "nothing");
    let two = holding(serial + 1, expression([Atom::symbol("b"), one.clone().into()]));
    one.set(expression([Atom::symbol("a"), two.clone().into()]));
    (one, two)
}

fn cut((one, two): &(SharedState, SharedState)) {
    one.set(Atom::unit());
    two.set(Atom::unit());
}

#[test]
fn states_in_a_circle_are_compared_and_printed() {
    let (left, right) = (circle(1), circle(3));
    let [one, same] = [&left.0, &right.0].map(|state| Atom::from(state.clone()));
    assert_eq!(one, same, "nothing tells the two circles apart");
    assert_ne!(one, Atom::from(right.1.clone()));
    assert_eq!(one.to_string(), "(State (a (State (b (State ...)))))");
    assert!(alpha_equivalent(&one, &same));
    right.1.set(expression([Atom::symbol("c"), right.0.clone().into()]));
    assert_ne!(one, same);
    [left, right].iter().for_each(cut);
}

#[test]
fn circles_of_different_lengths_that_look_alike_are_equal() {
    let ring = |serial: u64, length: u64| {
        let states: Vec<SharedState> = (0..length).map(|number| state(serial + number, "nothing")).collect();
        for (place, state) in states.iter().enumerate() {
            let next = &states[(place + 1) % states.len()];
            state.set(expression([Atom::symbol("next"), next.clone().into()]));
        }
        states
    };
    let (short, long) = (ring(0, 999), ring(1_000, 1_000));
    assert_eq!(Atom::from(short[0].clone()), Atom::from(long[0].clone()));
    long[500].set(atom("(stop)"));
    assert_ne!(Atom::from(short[0].clone()), Atom::from(long[0].clone()));
    short.iter().chain(&long).for_each(|state| state.set(Atom::unit()));
}

#[test]
fn states_in_a_circle_are_matched_and_stored() {
    let (left, right) = (circle(1), circle(3));
    let mut base = Base::new();
    let cell = |state: &SharedState| expression([Atom::symbol("cell"), state.clone().into()]);
    base.space.add(&cell(&left.0));
    assert_eq!(base.solutions(&cell(&right.0)).len(), 1);
    assert_eq!(base.solutions(&cell(&right.1)).len(), 0);
    assert!(base.space.remove(&cell(&left.0)));
    [left, right].iter().for_each(cut);
}

#[test]
fn a_state_that_holds_itself_is_compared_and_printed() {
    let selves = [1, 2].map(|serial| state(serial, "nothing"));
    selves.iter().for_each(|state| state.set(state.clone().into()));
    assert_eq!(Atom::from(selves[0].clone()), Atom::from(selves[1].clone()));
    assert_eq!(Atom::from(selves[0].clone()).to_string(), "(State (State ...))");
    selves.iter().for_each(|state| state.set(Atom::unit()));
}

/// A comparison once gave up after ten thousand states and took the rest to be different.
#[test]
fn many_equal_states_are_equal() {
    let list = |serial: u64| {
        let state = |number: u64| Atom::from(state(serial + number, &format!("(content {number})")));
        Atom::expression((0..30_000).map(state).collect::<Vec<_>>())
    };
    assert_eq!(list(0), list(100_000));
}

/// A state met twice, in parts that share it, prints twice: it is not inside itself.
#[test]
fn a_state_met_twice_is_no_circle() {
    let shared = Atom::from(state(1, "5"));
    let pair = expression([shared.clone(), shared.clone()]);
    assert_eq!(pair.to_string(), "((State 5) (State 5))");
    assert_eq!(Atom::from(holding(2, pair)).to_string(), "(State ((State 5) (State 5)))");
}
