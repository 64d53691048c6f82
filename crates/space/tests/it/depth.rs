//! Depth costs heap and never native stack: atoms of a million levels, inside a thread with a small stack.

use crate::atoms::{Base, atom, expression, nested, variable};
use space::canonical::{decode, encode};
use space::{
    Atom, Bindings, Grounded, SharedSpace, SharedState, Terms, Unifier, VariableSource, alpha_equivalent, make_fresh,
    substitute, variables,
};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::thread;

const LEVELS: usize = 1_000_000;
/// A walk that recursed would need some fifty bytes a level at least: two hundred times this.
const STACK: usize = 256 << 10;

/// Runs a test on a small stack. An overflow would abort the whole program: no way to overlook it.
fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    let started = thread::Builder::new().stack_size(STACK).spawn(test).expect("a thread starts");
    if let Err(panic) = started.join() {
        std::panic::resume_unwind(panic);
    }
}

fn deep(bottom: &str) -> Atom {
    nested("s", LEVELS, atom(bottom))
}

/// `(((… bottom) s) s)`: deep in its first child.
fn leaning(bottom: &str) -> Atom {
    let symbol = Atom::symbol("s");
    (0..LEVELS).fold(atom(bottom), |inner, _| expression([inner, symbol.clone()]))
}

fn hash_of(atom: &Atom) -> u64 {
    let mut hasher = DefaultHasher::new();
    atom.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn a_deep_atom_is_built_compared_hashed_and_dropped() {
    on_a_small_stack(|| {
        for build in [deep, leaning] {
            let (one, same, other) = (build("1"), build("1.0"), build("2"));
            assert!(one == same && one != other);
            assert_eq!(hash_of(&one), hash_of(&same));
            assert!(one.is_ground() && one.is_rigid() && !build("$x").is_ground());
        }
    });
}

#[test]
fn a_deep_atom_is_printed() {
    on_a_small_stack(|| {
        let printed = deep("z").to_string();
        assert_eq!(printed.len(), LEVELS * "(s )".len() + 1);
        assert!(printed.starts_with("(s (s (s ") && printed.ends_with(")))"));
        let printed = leaning("z").to_string();
        assert!(printed.starts_with("(((") && printed.ends_with(" s) s) s)"));
        assert_eq!(printed.len(), LEVELS * "( s)".len() + 1);
    });
}

#[test]
fn deep_atoms_are_alpha_compared() {
    on_a_small_stack(|| {
        assert!(alpha_equivalent(&deep("($x $y)"), &deep("($a $b)")));
        assert!(!alpha_equivalent(&deep("($x $y)"), &deep("($a $a)")));
        assert!(!alpha_equivalent(&deep("$x"), &deep("a")));
    });
}

#[test]
fn a_deep_atom_is_written_and_read() {
    on_a_small_stack(|| {
        for build in [deep, leaning] {
            let original = build("$x");
            let bytes = encode(&original);
            let back = decode(&bytes, |_| None).expect("whole bytes are an atom");
            assert!(alpha_equivalent(&original, &back));
            assert!(encode(&build("1")) < encode(&build("1.0")));
        }
    });
}

#[test]
fn deep_atoms_are_rewritten() {
    on_a_small_stack(|| {
        let mut source = VariableSource::default();
        let open = deep("($x $y)");
        assert_eq!(variables(&open), [variable("x"), variable("y")]);
        let fresh = make_fresh(&open, &[variable("y")], &mut source);
        assert_eq!(variables(&fresh)[1], variable("y"));
        assert_ne!(variables(&fresh)[0], variable("x"));
        assert_eq!(substitute(&deep("$x"), &variable("x"), &atom("z")), deep("z"));
        let twice = substitute(&deep("$x"), &variable("x"), &deep("$y"));
        assert_eq!(variables(&twice), [variable("y")]);
    });
}

#[test]
fn deep_atoms_are_unified() {
    on_a_small_stack(|| {
        let mut source = VariableSource::default();
        let mut unifier = Unifier::under(Bindings::default(), &mut source);
        assert!(unifier.unify(&deep("$x"), &deep("(f $y)")));
        assert!(unifier.unify(&atom("$y"), &deep("z")));
        let found = unifier.finish();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].resolve(&atom("$x")), expression([Atom::symbol("f"), deep("z")]));
        let mut unifier = Unifier::under(Bindings::default(), &mut source);
        assert!(!unifier.unify(&deep("a"), &deep("b")));
        let mut unifier = Unifier::under(Bindings::default(), &mut source);
        assert!(!unifier.unify(&deep("$x"), &atom("$x")) || unifier.finish().is_empty(), "it is inside itself");
    });
}

#[test]
fn a_deep_fact_is_stored_queried_and_removed() {
    on_a_small_stack(|| {
        let mut base = Base::new();
        let fact = expression([Atom::symbol("holds"), deep("1.0")]);
        base.space.add(&fact);
        base.space.add(&leaning("z"));
        let found = base.solutions(&atom("(holds $x)"));
        assert_eq!(found[0][0].1, deep("1"));
        let found = base.solutions(&expression([Atom::symbol("holds"), deep("$bottom")]));
        assert_eq!(found[0][0].1, atom("1"));
        let found = base.solutions(&leaning("$bottom"));
        assert_eq!(found[0][0].1, atom("z"));
        assert_eq!(base.solutions(&expression([Atom::symbol("holds"), deep("1")])).len(), 1);
        assert_eq!(base.solutions(&expression([Atom::symbol("holds"), deep("2")])).len(), 0);
        assert_eq!(base.space.atoms(&mut base.source).len(), 2);
        assert_eq!(base.space.read(|space| space.count(&fact)), 1);
        assert!(base.space.remove(&expression([Atom::symbol("holds"), deep("1")])));
        assert!(base.space.remove(&leaning("z")) && base.space.is_empty());
    });
}

#[test]
fn a_deep_rule_is_stored_queried_and_removed() {
    const RULE_LEVELS: usize = 100_000;
    on_a_small_stack(|| {
        let deep = |bottom: &str| expression([Atom::symbol("holds"), nested("s", RULE_LEVELS, atom(bottom))]);
        let mut base = Base::new();
        base.space.add(&deep("$any"));
        base.space.add(&deep("$other"));
        assert_eq!(base.solutions(&deep("z")).len(), 2);
        let found = base.solutions(&atom("(holds $x)"));
        assert!(alpha_equivalent(&found[0][0].1, deep("$x").children().expect("an expression").last().expect("two")));
        assert_eq!(base.space.atoms(&mut base.source).len(), 2);
        assert_eq!(base.space.read(|space| space.count(&deep("$x"))), 2);
        assert!(base.space.remove(&deep("$x")) && base.space.remove(&deep("$x")) && base.space.is_empty());
    });
}

#[test]
fn every_depth_of_a_deep_list_is_stored_and_found() {
    const DEPTHS: usize = 100_000;
    on_a_small_stack(|| {
        let mut base = Base::new();
        let mut list = atom("z");
        for number in 0..DEPTHS {
            base.space.add(&expression([Atom::symbol("number"), Atom::from(number as i64), list.clone()]));
            list = expression([Atom::symbol("s"), list]);
        }
        for number in [0, 1, DEPTHS / 2, DEPTHS - 1] {
            let query = expression([Atom::symbol("number"), Atom::variable("n"), nested("s", number, atom("z"))]);
            let found = base.solutions(&query);
            assert_eq!(found.len(), 1, "depth {number}");
            assert_eq!(found[0][0].1, Atom::from(number as i64));
        }
    });
}

fn state(serial: u64, value: Atom) -> SharedState {
    SharedState::new(serial, value, Atom::symbol("T"))
}

#[test]
fn states_that_hold_states_are_compared_printed_and_dropped() {
    const STATES: u64 = 200_000;
    on_a_small_stack(|| {
        let chain = |bottom: &str| (0..STATES).fold(atom(bottom), |inner, number| state(number, inner).into());
        let (one, same, other) = (chain("1"), chain("1.0"), chain("2"));
        assert!(one == same && one != other);
        assert_eq!(one.to_string().len() as u64, STATES * "(State )".len() as u64 + 1);
        let Atom::Grounded(Grounded::State(outermost)) = one else { panic!("a state was made") };
        drop((same, other));
        outermost.set(atom("emptied"));
        drop(outermost);
    });
}

#[test]
fn spaces_that_hold_spaces_are_dropped() {
    on_a_small_stack(|| {
        let terms = Terms::shared();
        let mut inner = SharedSpace::new(0, "&s", terms.clone());
        for serial in 1..20_000 {
            let outer = SharedSpace::new(serial, "&s", terms.clone());
            match serial % 3 {
                0 => outer.add(&expression([Atom::symbol("in"), inner.into()])),
                1 => outer.add(&Atom::from(state(serial, inner.into()))),
                _ => outer.import(&inner),
            }
            inner = outer;
        }
        drop(inner);
    });
}

#[test]
fn bindings_that_hold_bindings_are_compared_printed_and_dropped() {
    const NESTED: usize = 200_000;
    on_a_small_stack(|| {
        // As `collapse-bind` gives them: each in a pair with a result.
        let wrapped = |inner: Atom| {
            let value = expression([Atom::symbol("r"), inner]);
            Atom::Grounded(Grounded::Bindings(Arc::new(vec![(variable("x"), value)])))
        };
        let chain = |bottom: &str| (0..NESTED).fold(atom(bottom), |inner, _| wrapped(inner));
        let (one, same, other) = (chain("1"), chain("1.0"), chain("2"));
        assert!(one == same && one != other && alpha_equivalent(&one, &same));
        assert_eq!(one.to_string().len(), NESTED * "{ $x <- (r ) }".len() + 1);
        let back = decode(&encode(&one), |_| None).expect("whole bytes are an atom");
        assert!(alpha_equivalent(&back, &chain("1")));
    });
}

/// `(P x x)` in each other: as many levels, and as many parts as a tree of them.
fn doubled(levels: usize, bottom: Atom) -> Atom {
    (0..levels).fold(bottom, |inner, _| expression([Atom::symbol("P"), inner.clone(), inner]))
}

/// A walk that looked into each copy of a part would not end.
#[test]
fn shared_parts_are_walked_once() {
    let of = |bottom: &str| doubled(80, atom(bottom));
    let (one, same, other) = (of("1"), of("1.0"), of("2"));
    assert!(one == same && one != other);
    assert_eq!(hash_of(&one), hash_of(&same));
    assert_ne!(hash_of(&one), hash_of(&other));
    let (open, renamed) = (of("$x"), of("$y"));
    assert!(alpha_equivalent(&open, &renamed) && alpha_equivalent(&one, &same) && !alpha_equivalent(&open, &one));
    assert_eq!(variables(&open).len(), 1);
    assert!(make_fresh(&open, &[], &mut VariableSource::default()) != open);
    assert!(substitute(&open, &variable("x"), &atom("1")) == one);
    let mut source = VariableSource::default();
    let mut unifier = Unifier::under(Bindings::default(), &mut source);
    assert!(unifier.unify(&open, &renamed) && unifier.unify(&open, &one));
    let bindings = unifier.into_bindings().expect("nothing loops");
    assert!(bindings.resolve(&renamed) == one);
}

#[test]
fn an_expression_has_the_hash_of_its_equals_wherever_it_is_shared() {
    // One half is shared, the other made anew: so the walks over them meet other parts again.
    let mixed = |levels: usize| {
        (0..levels).fold(atom("1"), |inner, level| {
            let again = if level % 3 == 0 { doubled(level, atom("1")) } else { inner.clone() };
            expression([inner, again])
        })
    };
    assert!(mixed(12) == mixed(12));
    assert_eq!(hash_of(&mixed(12)), hash_of(&mixed(12)));
    assert!(mixed(13) != mixed(12));
}
