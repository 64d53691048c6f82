//! What the generated tests draw from: few names, so that things match, and the values where kinds and sizes meet.

use crate::tree::Tree;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

/// `cases` runs from a fixed seed; `PROPTEST_RNG_SEED` and `PROPTEST_CASES` take others.
pub(crate) fn config(cases: u32) -> Config {
    let given = Config::default();
    let is_set = |name| std::env::var_os(name).is_some();
    Config {
        cases: if is_set("PROPTEST_CASES") { given.cases } else { cases },
        rng_seed: if is_set("PROPTEST_RNG_SEED") { given.rng_seed } else { RngSeed::Fixed(7) },
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..given
    }
}

fn symbol() -> impl Strategy<Value = Tree> {
    prop_oneof![
        8 => prop::sample::select(vec!["a", "b", "c", "p", "q"]),
        1 => prop::sample::select(vec!["", "1", "True", "a\0", "a\0b", "ab", "\u{10FFFF}"]),
    ]
    .prop_map(|name| Tree::Symbol(name.to_owned()))
}

fn integer() -> impl Strategy<Value = Tree> {
    let edge = 1_i128 << 63;
    prop_oneof![
        6 => 0_i128..3,
        1 => prop::sample::select(vec![-1, 256, 1 << 53, (1 << 53) + 1, edge - 1, edge, edge + 1, -edge, -edge - 1, 1 << 80]),
    ]
    .prop_map(Tree::Integer)
}

fn float() -> impl Strategy<Value = Tree> {
    let edge = 2_f64.powi(63);
    let strange = vec![-0.0, -1.0, 0.5, -0.5, 256.0, 2_f64.powi(53), edge, -edge, 2_f64.powi(80), 5e-324, -5e-324];
    let extreme = vec![f64::MAX, f64::MIN, f64::MIN_POSITIVE, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN];
    prop_oneof![
        6 => prop::sample::select(vec![0.0, 1.0, 2.0]),
        1 => prop::sample::select(strange),
        1 => prop::sample::select(extreme),
    ]
    .prop_map(Tree::Float)
}

fn text() -> impl Strategy<Value = Tree> {
    prop::sample::select(vec!["", "a", "1", "a\0", "a\0\u{1}", "\"", "\u{FF}"])
        .prop_map(|text| Tree::Text(text.to_owned()))
}

/// A variable of few names.
pub(crate) fn variable() -> impl Strategy<Value = Tree> {
    prop::sample::select(vec!["x", "y", "z"]).prop_map(|name| Tree::Variable(name.to_owned()))
}

fn ground_leaf() -> impl Strategy<Value = Tree> {
    prop_oneof![
        6 => symbol(),
        3 => integer(),
        3 => float(),
        1 => text(),
        1 => any::<bool>().prop_map(Tree::Bool),
    ]
}

/// Any tree, with as many variables among the leaves as `variables` in 20.
pub(crate) fn tree(variables: u32) -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![20 - variables => ground_leaf(), variables => variable()];
    leaf.prop_recursive(3, 16, 4, |inner| vec(inner, 0..4).prop_map(Tree::List))
}

/// Trees as programs have them in a space: a head, and a few children; now and then something else.
pub(crate) fn stored() -> impl Strategy<Value = Tree> {
    prop_oneof![
        8 => (head(), vec(tree(1), 1..4)).prop_map(call),
        4 => (head(), vec(tree(6), 1..4)).prop_map(call),
        1 => (head(), vec(ground_leaf(), 16..18)).prop_map(call),
        1 => tree(4),
    ]
}

fn head() -> impl Strategy<Value = Tree> {
    prop::sample::select(vec!["p", "q"]).prop_map(|name| Tree::Symbol(name.to_owned()))
}

fn call((head, mut children): (Tree, Vec<Tree>)) -> Tree {
    children.insert(0, head);
    Tree::List(children)
}

/// What becomes of the parts of a tree when a pattern is made of it: small numbers put a variable there.
pub(crate) fn holes() -> impl Strategy<Value = Vec<u8>> {
    vec(0_u8..12, 1..8)
}

/// The tree with variables in some places, so that it matches the original unless one variable takes two values.
pub(crate) fn with_holes(tree: &Tree, holes: &[u8]) -> Tree {
    generalised(tree, &mut holes.iter().cycle())
}

fn generalised<'a>(tree: &Tree, holes: &mut impl Iterator<Item = &'a u8>) -> Tree {
    let name = match holes.next() {
        Some(0) => "x",
        Some(1) => "y",
        Some(2) => "z",
        _ => {
            let Tree::List(children) = tree else { return tree.clone() };
            return Tree::List(children.iter().map(|child| generalised(child, holes)).collect());
        }
    };
    Tree::Variable(name.to_owned())
}

/// The tree with whole numbers in the other kind where `flips` says so, and with other names of variables.
pub(crate) fn disguised(tree: &Tree, flips: &[bool]) -> Tree {
    let renamed = tree.renamed(&|name| format!("{name}{name}"));
    flipped(&renamed, &mut flips.iter().cycle())
}

fn flipped<'a>(tree: &Tree, flips: &mut impl Iterator<Item = &'a bool>) -> Tree {
    match tree {
        Tree::List(children) => Tree::List(children.iter().map(|child| flipped(child, flips)).collect()),
        Tree::Integer(value) if *flips.next().unwrap_or(&false) => {
            let float = *value as f64;
            if float as i128 == *value { Tree::Float(float) } else { tree.clone() }
        }
        Tree::Float(value) if *flips.next().unwrap_or(&false) => {
            let is_small = value.fract() == 0.0 && value.abs() < 2_f64.powi(100);
            if is_small { Tree::Integer(*value as i128) } else { tree.clone() }
        }
        leaf => leaf.clone(),
    }
}
