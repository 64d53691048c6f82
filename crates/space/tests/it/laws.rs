//! Laws of matching, rewriting and equality on generated atoms, against the textbook versions in [`crate::tree`].

use crate::atoms::{atom, variable};
use crate::generated::{config, disguised, holes, tree, with_holes};
use crate::tree::{Substitution, Tree, name_of};
use proptest::collection::vec;
use proptest::prelude::*;
use space::canonical::encode;
use space::{
    Atom, Bindings, Rewrite, Unifier, Variable, VariableSource, alpha_equivalent, instantiate, make_fresh, rewrite,
    substitute, variables,
};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The most general unifier of two atoms of one scope, if there is one.
fn unified(left: &Atom, right: &Atom) -> Option<Bindings> {
    let mut source = VariableSource::default();
    let mut unifier = Unifier::under(Bindings::default(), &mut source);
    let ways = if unifier.unify(left, right) { unifier.finish() } else { Vec::new() };
    assert!(ways.len() <= 1, "atoms without spaces match in one way at most");
    ways.into_iter().next()
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A tree, and one like it: with other names, other kinds of numbers and new variables in some places.
fn alike() -> impl Strategy<Value = (Tree, Tree)> {
    let relatives = (tree(6), vec(any::<bool>(), 1..4), holes(), any::<bool>());
    let related = relatives.prop_map(|(tree, flips, holes, open)| {
        let disguised = disguised(&tree, &flips);
        let other = if open { with_holes(&disguised, &holes) } else { disguised };
        (tree, other)
    });
    prop_oneof![4 => related, 1 => (tree(6), tree(6))]
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn unification_agrees_with_the_textbook((left, right) in alike()) {
        let mut expected = Substitution::default();
        let matches = expected.unify(&left, &right);
        let (left_atom, right_atom) = (left.to_atom(), right.to_atom());
        let found = unified(&left_atom, &right_atom);
        prop_assert_eq!(found.is_some(), matches);
        if let Some(found) = found {
            let both = Atom::expression([left_atom.clone(), right_atom.clone()]);
            let expected = expected.apply(&Tree::of(&both));
            prop_assert!(Tree::of(&found.resolve(&both)).is_identical(&expected), "{:?} for {:?}", found, expected);
            prop_assert_eq!(found.resolve(&left_atom), found.resolve(&right_atom));
        }
    }

    #[test]
    fn matching_is_symmetric((left, right) in alike()) {
        let (left, right) = (left.to_atom(), right.to_atom());
        let there = unified(&left, &right).map(|bindings| bindings.resolve(&left));
        let back = unified(&right, &left).map(|bindings| bindings.resolve(&left));
        prop_assert_eq!(there.is_some(), back.is_some());
        if let (Some(there), Some(back)) = (there, back) {
            prop_assert!(Tree::of(&there).is_equal(&Tree::of(&back)), "{} and {}", there, back);
        }
    }

    /// A stored atom has a scope of its own: it matches as its renamed copy matches in one scope.
    #[test]
    fn a_stored_atom_matches_like_its_renamed_copy((query, stored) in alike()) {
        let apart = stored.renamed(&|name| format!("{name}~")).to_atom();
        let (query, stored) = (query.to_atom(), stored.to_atom());
        let mut source = VariableSource::default();
        let slots = variables(&stored).len();
        let mut unifier = Unifier::new(slots, &mut source);
        let found = if unifier.unify_stored(&query, &numbered(&stored)) { unifier.finish() } else { Vec::new() };
        let expected = unified(&query, &apart);
        prop_assert_eq!(found.len(), usize::from(expected.is_some()));
        if let (Some(found), Some(expected)) = (found.first(), expected) {
            let (found, expected) = (found.resolve(&query), expected.resolve(&query));
            prop_assert!(Tree::of(&found).is_equal(&Tree::of(&expected)), "{} and {}", found, expected);
        }
    }

    #[test]
    fn alpha_equivalence_and_canonical_bytes_agree_with_the_oracle((left, right) in alike()) {
        let (left_atom, right_atom) = (left.to_atom(), right.to_atom());
        prop_assert_eq!(alpha_equivalent(&left_atom, &right_atom), left.is_equal(&right));
        prop_assert_eq!(encode(&left_atom) == encode(&right_atom), left.is_identical(&right));
    }

    #[test]
    fn alpha_equivalence_is_an_equivalence((one, two) in alike(), flips in vec(any::<bool>(), 1..4)) {
        let three = disguised(&two, &flips).to_atom();
        let (one, two) = (one.to_atom(), two.to_atom());
        prop_assert!(alpha_equivalent(&one, &one));
        prop_assert_eq!(alpha_equivalent(&one, &two), alpha_equivalent(&two, &one));
        if alpha_equivalent(&one, &two) && alpha_equivalent(&two, &three) {
            prop_assert!(alpha_equivalent(&one, &three));
        }
    }

    #[test]
    fn equal_atoms_have_equal_hashes(tree in tree(3), flips in vec(any::<bool>(), 1..4)) {
        let left = tree.to_atom();
        let right = disguised(&tree, &flips).renamed(&|name| name[..name.len() / 2].to_owned()).to_atom();
        prop_assert_eq!(&left, &right, "they differ in the kinds of numbers only");
        prop_assert_eq!(hash_of(&left), hash_of(&right));
    }

    #[test]
    fn equality_is_that_of_trees_with_the_same_names((left, right) in alike()) {
        let same_names = left.names() == right.names();
        prop_assert_eq!(left.to_atom() == right.to_atom(), left.is_equal(&right) && same_names);
    }

    #[test]
    fn variables_come_once_each_in_order(tree in tree(8)) {
        let found: Vec<String> = variables(&tree.to_atom()).iter().map(name_of).collect();
        prop_assert_eq!(&found, &tree.names());
        prop_assert_eq!(tree.to_atom().is_ground(), found.is_empty());
    }

    #[test]
    fn substitution_replaces_one_variable_everywhere(tree in tree(8), value in tree(8)) {
        let atom = tree.to_atom();
        let made = substitute(&atom, &variable("x"), &value.to_atom());
        prop_assert!(Tree::of(&made).is_identical(&replaced(&tree, "x", &value)));
        prop_assert_eq!(substitute(&atom, &variable("absent"), &value.to_atom()), atom.clone());
        prop_assert_eq!(substitute(&atom, &variable("x"), &Atom::variable("x")), atom);
    }

    #[test]
    fn rewriting_says_whether_anything_changed(tree in tree(8), value in tree(0)) {
        let atom = tree.to_atom();
        prop_assert!(rewrite(&atom, |_| Rewrite::Keep).is_none());
        let all = rewrite(&atom, |_| Rewrite::Replace(value.to_atom()));
        prop_assert_eq!(all.is_some(), !atom.is_ground());
        prop_assert!(all.is_none_or(|all| all.is_ground()), "every variable was replaced");
    }

    #[test]
    fn rewriting_on_follows_chains_that_replacing_does_not(tree in tree(8)) {
        let atom = tree.to_atom();
        let chain = |found: &Variable| match found.name().as_str() {
            "x" => Some(crate::atoms::atom("(wrapped $y)")),
            "y" => Some(crate::atoms::atom("$z")),
            _ => None,
        };
        let on = rewrite(&atom, |found| chain(found).map_or(Rewrite::Keep, Rewrite::Continue));
        let once = rewrite(&atom, |found| chain(found).map_or(Rewrite::Keep, Rewrite::Replace));
        let far = replaced(&replaced(&tree, "x", &Tree::of(&crate::atoms::atom("(wrapped $y)"))), "y", &name("z"));
        prop_assert!(Tree::of(&on.unwrap_or_else(|| atom.clone())).is_identical(&far));
        let mentions = |atom: &Atom| variables(atom).contains(&variable("y"));
        prop_assert_eq!(once.is_some_and(|once| mentions(&once)), tree.names().contains(&"x".to_owned()));
    }

    #[test]
    fn fresh_copies_share_no_variable_but_those_kept(tree in tree(8), keep_y in any::<bool>()) {
        let atom = tree.to_atom();
        let keep = if keep_y { vec![variable("y")] } else { Vec::new() };
        let mut source = VariableSource::default();
        let fresh = make_fresh(&atom, &keep, &mut source);
        prop_assert!(alpha_equivalent(&atom, &fresh));
        let (before, after) = (variables(&atom), variables(&fresh));
        for (old, new) in before.iter().zip(&after) {
            prop_assert_eq!(old.name(), new.name(), "fresh variables keep their names");
            prop_assert_eq!(old == new, keep.contains(old));
        }
        let numbers: Vec<u64> = after.iter().map(Variable::id).filter(|&id| id > 0).collect();
        prop_assert!(numbers.is_sorted() && numbers.last().copied().unwrap_or(0) == source.last());
        prop_assert!(alpha_equivalent(&atom, &make_fresh(&fresh, &[], &mut source)));
    }

    #[test]
    fn instances_take_given_values_and_fresh_variables(tree in tree(8), value in tree(4), given in 0_usize..4) {
        let atom = tree.to_atom();
        let names = tree.names();
        let mut slots: Vec<Option<Atom>> = vec![None; names.len()];
        let filled = slots.get_mut(given).map(|slot| *slot = Some(value.to_atom())).is_some();
        let mut source = VariableSource::default();
        let made = instantiate(&numbered(&atom), &mut slots, &mut source);
        let expected = match names.get(given) {
            Some(name) => replaced(&tree.renamed(&|name| format!("{name}~")), &format!("{name}~"), &value),
            None => tree,
        };
        prop_assert!(Tree::of(&made).is_identical(&expected), "{} is not {:?}", made, expected);
        prop_assert!(slots.iter().all(Option::is_some), "every slot of the atom is filled");
        prop_assert_eq!(source.last() as usize, names.len() - usize::from(filled));
    }

    #[test]
    fn tails_know_what_they_hold(children in vec(tree(4), 0..6)) {
        let whole = Tree::List(children.clone()).to_atom();
        let Atom::Expression(mut rest) = whole else { panic!("a list is an expression") };
        for start in 1..=children.len() {
            rest = rest.tail().expect("it has children left");
            let expected = Tree::List(children[start..].to_vec()).to_atom();
            let found = Atom::from(rest.clone());
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(hash_of(&found), hash_of(&expected));
            prop_assert_eq!((found.is_ground(), found.is_rigid()), (expected.is_ground(), expected.is_rigid()));
            prop_assert_eq!(encode(&found), encode(&expected));
        }
        prop_assert!(rest.tail().is_none(), "nothing has no tail");
    }
}

/// The atom as a space stores it, its variables numbered.
fn numbered(atom: &Atom) -> Atom {
    let mut seen: Vec<Variable> = Vec::new();
    let slot = |found: &Variable| {
        let place = seen.iter().position(|known| known == found).unwrap_or_else(|| {
            seen.push(found.clone());
            seen.len() - 1
        });
        Rewrite::Replace(Variable::with_id(found.name().clone(), place as u64).into())
    };
    rewrite(atom, slot).unwrap_or_else(|| atom.clone())
}

fn name(name: &str) -> Tree {
    Tree::Variable(name.to_owned())
}

fn replaced(tree: &Tree, name: &str, value: &Tree) -> Tree {
    match tree {
        Tree::Variable(found) if found == name => value.clone(),
        Tree::List(children) => Tree::List(children.iter().map(|child| replaced(child, name, value)).collect()),
        leaf => leaf.clone(),
    }
}

#[test]
fn equality_is_by_value_and_by_name() {
    assert_eq!(atom("(f 1 $x)"), atom("(f 1.0 $x)"));
    assert_ne!(atom("(f 1 $x)"), atom("(f 1 $y)"));
    assert!(alpha_equivalent(&atom("(f 1 $x)"), &atom("(f 1.0 $y)")));
    assert!(!alpha_equivalent(&atom("(f $x $y)"), &atom("(f $x $x)")));
    assert!(!alpha_equivalent(&atom("(f $x $x)"), &atom("(f $x $y)")));
}

#[test]
fn variables_of_one_name_are_told_apart_by_number() {
    let mut source = VariableSource::default();
    let name = variable("x").name().clone();
    let (old, young) = (source.fresh(&name), source.fresh(&name));
    let all: HashSet<Variable> = [variable("x"), old.clone(), young.clone()].into();
    assert_eq!(all.len(), 3);
    assert_eq!([old.to_string(), young.to_string()], ["$x#1", "$x#2"]);
}

#[test]
fn the_older_of_two_variables_survives() {
    let mut source = VariableSource::default();
    let (written, made) = (variable("x"), source.fresh(variable("y").name()));
    for (left, right) in [(&written, &made), (&made, &written)] {
        let mut unifier = Unifier::under(Bindings::default(), &mut source);
        assert!(unifier.unify(&left.clone().into(), &right.clone().into()));
        let found = unifier.finish();
        assert_eq!(found[0].get(&made), Some(&Atom::from(written.clone())));
    }
}

#[test]
fn bindings_beyond_a_dozen_are_found_by_index() {
    let mut bindings = Bindings::default();
    for number in 0..100_i64 {
        assert_eq!(bindings.get(&variable(&format!("v{number}"))), None);
        bindings.bind(variable(&format!("v{number}")), Atom::from(number));
    }
    for number in 0..100_i64 {
        assert_eq!(bindings.get(&variable(&format!("v{number}"))), Some(&Atom::from(number)));
    }
}

#[test]
fn loops_are_seen_through_any_number_of_bindings() {
    let mut bindings = Bindings::default();
    for number in 0..50 {
        bindings.bind(variable(&format!("v{number}")), atom(&format!("(f $v{})", number + 1)));
        assert!(!bindings.has_loop());
    }
    assert_eq!(bindings.resolve(&atom("$v48")), atom("(f (f $v50))"));
    bindings.bind(variable("v50"), atom("(g a $v7)"));
    assert!(bindings.has_loop());
}

/// The evaluator's mark takes no part in equality, hashes or bytes, and children keep theirs.
#[test]
fn the_evaluated_mark_changes_nothing_else() {
    let Atom::Expression(plain) = atom("(f (g 1))") else { panic!("an expression was written") };
    let marked = plain.clone().into_evaluated();
    assert!(marked.is_evaluated() && !plain.is_evaluated());
    let (plain, marked) = (Atom::from(plain), Atom::from(marked));
    assert_eq!(plain, marked);
    assert_eq!(hash_of(&plain), hash_of(&marked));
    assert_eq!(encode(&plain), encode(&marked));
    assert_eq!(plain.to_string(), marked.to_string());
}
