//! What stands behind a prefix, beside a walk over all atoms; and atoms that were prepared, beside atoms as they are.

use crate::atoms::{Base, atom};
use crate::generated::{config, disguised, stored};
use crate::measure::allocations;
use crate::tree::Tree;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use space::canonical::encode;
use space::{Atom, SharedState, VariableSource, alpha_equivalent};

/// The obvious way: each atom is looked at, and each child compared with those that were found.
fn behind(atoms: &[Atom], prefix: &[Atom]) -> Vec<(Atom, usize)> {
    let wanted = Atom::expression(prefix);
    let mut found: Vec<(Atom, usize)> = Vec::new();
    for children in atoms.iter().filter_map(Atom::children) {
        let (Some(begin), Some(child)) = (children.get(..prefix.len()), children.get(prefix.len())) else { continue };
        if !alpha_equivalent(&Atom::expression(begin), &wanted) {
            continue;
        }
        match found.iter_mut().find(|(known, _)| alpha_equivalent(known, child)) {
            Some((_, count)) => *count += 1,
            None => found.push((child.clone(), 1)),
        }
    }
    found
}

/// The children as bytes that do not depend on the names of variables.
fn forms(children: Vec<(Atom, usize)>) -> Vec<(Vec<u8>, usize)> {
    children.into_iter().map(|(child, count)| (encode(&child), count)).collect()
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn children_behind_a_prefix_are_those_of_a_walk(
        trees in vec(stored(), 1..60),
        again in vec((any::<Index>(), vec(any::<bool>(), 1..4)), 0..10),
        gone in vec(any::<Index>(), 0..10),
        prefixes in vec((any::<Index>(), 0_usize..4, vec(any::<bool>(), 1..4)), 1..8),
        cut in any::<Index>(),
    ) {
        let mut base = Base::new();
        let mut added = trees.clone();
        added.extend(again.iter().map(|(index, flips)| disguised(index.get(&trees), flips)));
        let mut snapshot = base.space.snapshot();
        for (place, tree) in added.iter().enumerate() {
            base.space.add(&tree.to_atom());
            if place == cut.index(added.len()) {
                snapshot = base.space.snapshot();
            }
        }
        gone.iter().for_each(|index| _ = base.space.remove(&index.get(&added).to_atom()));
        let (held, past) = (base.space.atoms(&mut base.source), snapshot.atoms(&mut base.source));
        for (index, length, flips) in &prefixes {
            let Tree::List(children) = disguised(index.get(&trees), flips) else { continue };
            let prefix: Vec<Atom> = children.iter().take(*length).map(Tree::to_atom).collect();
            let found = base.space.children_after(&prefix, &mut base.source);
            prop_assert_eq!(forms(found), forms(behind(&held, &prefix)), "behind {:?}", &prefix);
            let found = snapshot.children_after(&prefix, &mut base.source);
            prop_assert_eq!(forms(found), forms(behind(&past, &prefix)), "behind {:?} in a snapshot", &prefix);
        }
    }
}

#[test]
fn second_arguments_are_walked_under_the_first() {
    let mut base =
        Base::of(&["(edge a b)", "(edge a c)", "(edge b c)", "(edge a b)", "(edge a $x)", "(edge a 1 2)", "a"]);
    base.add("(edge a 1.0)");
    base.add("(edge $x d)");
    let behind = |base: &mut Base, texts: &[&str]| -> Vec<String> {
        let prefix: Vec<Atom> = texts.iter().map(|text| atom(text)).collect();
        let children = base.space.children_after(&prefix, &mut base.source);
        children
            .iter()
            .map(|(child, count)| format!("{} {count}", child.to_string().split('#').next().unwrap_or("")))
            .collect()
    };
    assert_eq!(behind(&mut base, &["edge", "a"]), ["b 2", "c 1", "$x 1", "1 2"]);
    assert_eq!(behind(&mut base, &["edge"]), ["a 6", "b 1", "$x 1"]);
    assert_eq!(behind(&mut base, &["edge", "$any"]), ["d 1"]);
    assert_eq!(behind(&mut base, &[]), ["edge 8"]);
    assert_eq!(behind(&mut base, &["edge", "a", "b"]), [""; 0]);
    assert_eq!(behind(&mut base, &["nothing"]), [""; 0]);
    let state = SharedState::new(1, atom("1"), atom("T"));
    base.space.add(&Atom::expression([atom("edge"), Atom::from(state), atom("e")]));
    assert_eq!(behind(&mut base, &["edge"]), ["a 6", "b 1", "$x 1", "(State 1) 1"]);
}

#[test]
fn a_fact_is_found_without_an_allocation() {
    let base = Base::new();
    (0..5_000).for_each(|number| base.add(&format!("(edge a{number} (b {}))", number % 7)));
    let flat = atom("(edge a77 c)");
    base.space.add(&flat);
    let (spent, is_there) = allocations(|| base.space.read(|space| space.contains(&flat)));
    assert!(is_there && spent.count_total == 0, "{spent:?}");
}

#[test]
fn facts_and_rules_are_added_in_one_go() {
    let base = Base::new();
    let facts = ["(edge a b)", "(edge a b)", "lone"].map(atom);
    assert_eq!(base.space.add_facts(&facts), 3);
    let [left, right, other] = ["(f $x)", "(g $x)", "$y"].map(atom);
    assert_eq!(base.space.add_rules([(&left, &right), (&left, &other)]), 2);
    assert_eq!(
        ["(edge a b)", "(= (f $a) (g $a))", "(= (f $a) $b)", "(= $a $b)"].map(|text| base.count(text)),
        [2, 1, 1, 0]
    );
    assert_eq!(base.space.remove_many(&facts), 3);
    let asked = base.space.query(&atom("(= (f 1) $r)"), &mut VariableSource::default());
    assert_eq!(asked.len(), 2);
}
