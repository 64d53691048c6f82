//! Atoms that hold their parts many times: they are kept, found, told apart and removed by what they take in memory.

use space::{Atom, SharedSpace, Terms, VariableSource, canonical};
use std::time::{Duration, Instant};

/// An atom of `depth` levels, each of which is a pair of the one below.
fn doubled(depth: usize, leaf: &Atom) -> Atom {
    (0..depth).fold(leaf.clone(), |inside, _| Atom::expression([Atom::symbol("p"), inside.clone(), inside]))
}

/// A copy of an atom, all parts of which lie apart.
fn unshared(atom: &Atom) -> Atom {
    match atom.children() {
        Some(children) => Atom::expression(children.iter().map(unshared).collect::<Vec<_>>()),
        None => atom.clone(),
    }
}

#[test]
fn hashes_and_keys_do_not_tell_shared_parts_from_others() {
    for leaf in [Atom::symbol("a"), Atom::variable("x"), Atom::from(1_i64)] {
        for depth in [1, 3, 11, 13] {
            let atom = Atom::expression([Atom::variable("y"), doubled(depth, &leaf), Atom::variable("z")]);
            let other = unshared(&atom);
            assert_eq!(canonical::hash(&atom), canonical::hash(&other));
            assert_eq!(canonical::key(&atom), canonical::key(&other));
            assert_eq!(canonical::hash(&atom), canonical::hash_of_bytes(&canonical::encode(&atom)).unwrap());
        }
    }
    let key = |leaf: &Atom| canonical::key(&doubled(60, leaf));
    assert_ne!(key(&Atom::symbol("a")), key(&Atom::symbol("b")));
    assert_eq!(key(&Atom::variable("x")), key(&Atom::variable("y")));
}

#[test]
fn keys_hand_out_all_variables_in_one_order() {
    let long = doubled(60, &Atom::symbol("a"));
    let atom = Atom::expression([Atom::variable("x"), long.clone(), Atom::variable("y"), Atom::variable("x"), long]);
    let mut found = Vec::new();
    canonical::key_naming(&atom, &mut Vec::new(), |variable| found.push(variable.name().as_str().to_owned()));
    assert_eq!(found, ["x", "y"]);
}

#[test]
fn atoms_with_variables_are_found_though_their_paths_are_cut() {
    let space = SharedSpace::new(0, "&s".to_owned(), Terms::shared());
    let head = Atom::symbol("h");
    let atom = |depth: usize, name: &str| {
        Atom::expression([head.clone(), doubled(depth, &Atom::variable("v")), Atom::symbol(name)])
    };
    for (depth, name) in [(60, "a"), (60, "b"), (60, "a"), (59, "a"), (3, "a")] {
        space.add(&atom(depth, name));
    }
    let source = &mut VariableSource::default();
    let mut count = |pattern: &Atom| space.query(pattern, source).len();
    let any = |third: Atom| Atom::expression([head.clone(), Atom::variable("x"), third]);
    assert_eq!(count(&any(Atom::variable("y"))), 5);
    assert_eq!(count(&any(Atom::symbol("b"))), 1);
    assert_eq!(count(&any(Atom::symbol("c"))), 0);
    assert_eq!(count(&atom(60, "a")), 4, "shorter ones match, their variables being what is longer");
    assert!(space.remove(&atom(60, "b")));
    assert!(!space.remove(&atom(60, "b")));
    assert!(space.remove(&atom(60, "a")));
    let source = &mut VariableSource::default();
    assert_eq!(space.query(&any(Atom::variable("y")), source).len(), 3);
}

/// That a dictionary looked for an expression in vain is noted in the expression.
#[test]
fn what_was_not_found_is_found_once_it_is_there() {
    let mut source = VariableSource::default();
    let layered = |depth: usize| {
        (0..depth).fold(Atom::symbol("Z"), |atom, _| Atom::expression([Atom::symbol("S"), atom, Atom::from(1.5)]))
    };
    let (whole, inside) = (layered(40), layered(20));
    let (space, other) = (SharedSpace::new(1, "&s", Terms::shared()), SharedSpace::new(2, "&o", Terms::shared()));
    let mut is_in = |space: &SharedSpace, atom: &Atom| space.query(atom, &mut source).len();
    assert_eq!([is_in(&space, &whole), is_in(&space, &inside), is_in(&other, &whole)], [0, 0, 0]);
    space.add(&inside);
    assert_eq!([is_in(&space, &whole), is_in(&space, &inside), is_in(&other, &inside)], [0, 1, 0]);
    let before = space.fork(3, "&b");
    space.add(&whole);
    assert_eq!([is_in(&space, &whole), is_in(&before, &whole), is_in(&other, &whole)], [1, 0, 0]);
    other.add(&whole);
    assert_eq!([is_in(&space, &whole), is_in(&before, &whole), is_in(&other, &whole)], [1, 0, 1]);
    before.add(&whole);
    assert_eq!(is_in(&before, &whole), 1);
}

#[test]
fn layers_are_looked_for_in_time_that_is_linear_in_them() {
    let (space, mut source) = (SharedSpace::new(1, "&s", Terms::shared()), VariableSource::default());
    space.add(&Atom::expression([Atom::symbol("S"), Atom::symbol("Z")]));
    let begun = Instant::now();
    let mut atom = Atom::symbol("Y");
    for _ in 0..60_000 {
        atom = Atom::expression([Atom::symbol("S"), atom]);
        assert!(space.query(&Atom::expression([Atom::symbol(":"), atom.clone()]), &mut source).is_empty());
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

/// What is removed was built apart from what is stored, so that none of its parts says which term it is.
#[test]
fn atoms_that_share_parts_are_removed_and_looked_for_by_others_built_alike() {
    let (terms, kept) = (Terms::shared(), Atom::symbol("kept"));
    let space = SharedSpace::new(0, "&s".to_owned(), terms.clone());
    let atom = |leaf: &str| Atom::expression([kept.clone(), doubled(60, &Atom::symbol(leaf))]);
    space.add(&atom("a"));
    let is_known = |leaf: &str| terms.read().unwrap().find(&doubled(60, &Atom::symbol(leaf))).is_some();
    assert_eq!(["a", "kept", "b"].map(is_known), [true, false, false]);
    assert_eq!(space.query(&atom("a"), &mut VariableSource::default()).len(), 1);
    assert!(!space.remove(&atom("b")));
    assert!(space.remove(&atom("a")));
    assert!(!space.remove(&atom("a")));
}
