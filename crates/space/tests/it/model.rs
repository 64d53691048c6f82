//! Any sequence of additions, removals and questions answers as the model does: a list searched from end to end.
//!
//! Sequences are long enough that relations pass from scanning to indexes (8 rows) while they are used, are packed
//! after removals, and hold wide rows beside short ones.

use crate::atoms::Base;
use crate::generated::{config, disguised, holes, stored, tree, with_holes};
use crate::tree::{Model, Tree, name_of};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestCaseResult;
use space::{Atom, Solution};

#[derive(Clone, Debug)]
enum Step {
    Add(Tree),
    /// Another copy of an atom that was added before, maybe with numbers of the other kind.
    Again(Index, Vec<bool>),
    Remove(Tree),
    /// Removes an atom that was added before, maybe named by its equal.
    Take(Index, Vec<bool>),
    Query(Tree),
    /// A query made of an atom that was added before.
    Like(Index, Vec<u8>),
    /// A conjunction made of two of them.
    Both(Index, Vec<u8>, Index, Vec<u8>),
}

fn step() -> impl Strategy<Value = Step> {
    let flips = || vec(any::<bool>(), 1..4);
    prop_oneof![
        8 => stored().prop_map(Step::Add),
        2 => (any::<Index>(), flips()).prop_map(|(index, flips)| Step::Again(index, flips)),
        1 => stored().prop_map(Step::Remove),
        3 => (any::<Index>(), flips()).prop_map(|(index, flips)| Step::Take(index, flips)),
        1 => tree(6).prop_map(Step::Query),
        4 => (any::<Index>(), holes()).prop_map(|(index, holes)| Step::Like(index, holes)),
        2 => (any::<Index>(), holes(), any::<Index>(), holes()).prop_map(|(a, b, c, d)| Step::Both(a, b, c, d)),
    ]
}

/// A space, the model of it, and all atoms that were ever added.
struct Pair {
    base: Base,
    model: Model,
    seen: Vec<Tree>,
}

impl Pair {
    fn new() -> Self {
        Self { base: Base::new(), model: Model::default(), seen: vec![Tree::List(Vec::new())] }
    }

    fn take(&mut self, step: &Step) -> TestCaseResult {
        match step {
            Step::Add(tree) => self.add(tree),
            Step::Again(index, flips) => self.add(&disguised(index.get(&self.seen), flips)),
            Step::Remove(tree) => self.remove(tree)?,
            Step::Take(index, flips) => self.remove(&disguised(index.get(&self.seen), flips))?,
            Step::Query(tree) => self.query(std::slice::from_ref(tree))?,
            Step::Like(index, holes) => self.query(&[with_holes(index.get(&self.seen), holes)])?,
            Step::Both(first, holes, second, more) => {
                self.query(&[with_holes(first.get(&self.seen), holes), with_holes(second.get(&self.seen), more)])?;
            }
        }
        prop_assert_eq!(self.base.space.len(), self.model.all().len());
        Ok(())
    }

    fn add(&mut self, tree: &Tree) {
        self.base.space.add(&tree.to_atom());
        self.model.add(tree);
        self.seen.push(tree.clone());
    }

    fn remove(&mut self, tree: &Tree) -> TestCaseResult {
        self.check_count(tree)?;
        prop_assert_eq!(self.base.space.remove(&tree.to_atom()), self.model.remove(tree), "removing {:?}", tree);
        self.check_count(tree)
    }

    fn check_count(&self, tree: &Tree) -> TestCaseResult {
        let atom = tree.to_atom();
        let (count, contains) = self.base.space.read(|space| (space.count(&atom), space.contains(&atom)));
        prop_assert_eq!(count, self.model.count(tree), "counting {:?}", tree);
        prop_assert_eq!(contains, count > 0);
        Ok(())
    }

    fn query(&mut self, patterns: &[Tree]) -> TestCaseResult {
        let atoms: Vec<Atom> = patterns.iter().map(Tree::to_atom).collect();
        let query = match atoms.as_slice() {
            [pattern] => pattern.clone(),
            all => Atom::expression([&[Atom::symbol(",")], all].concat()),
        };
        let names = Tree::List(patterns.to_vec()).names();
        let solutions = self.base.solutions(&query);
        let found: Vec<Tree> = solutions.iter().map(|solution| values(&names, solution)).collect();
        let expected = self.model.solutions(patterns);
        let agree = found.len() == expected.len() && found.iter().zip(&expected).all(|(l, r)| l.is_identical(r));
        prop_assert!(agree, "query {}\n  found {:?}\n  model {:?}", query, found, expected);
        Ok(())
    }

    fn check_contents(&mut self) -> TestCaseResult {
        let found: Vec<Tree> = self.base.space.atoms(&mut self.base.source).iter().map(Tree::of).collect();
        let expected = self.model.all();
        let agree = found.len() == expected.len() && found.iter().zip(&expected).all(|(l, r)| l.is_identical(r));
        prop_assert!(agree, "found {:?}\n  model {:?}", found, expected);
        Ok(())
    }
}

/// The values of these variables, in one tree; a variable without a value stands for itself.
fn values(names: &[String], solution: &Solution) -> Tree {
    let value = |name: &String| {
        let bound = solution.iter().find(|(variable, _)| name_of(variable) == *name);
        bound.map_or_else(|| Tree::Variable(name.clone()), |(_, value)| Tree::of(value))
    };
    Tree::List(names.iter().map(value).collect())
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn any_history_answers_as_the_model_does(steps in vec(step(), 1..70)) {
        let mut pair = Pair::new();
        for step in &steps {
            pair.take(step)?;
        }
        pair.check_contents()?;
    }

    #[test]
    fn a_space_emptied_again_answers_nothing(trees in vec(stored(), 1..40), order in any::<u64>()) {
        let mut pair = Pair::new();
        trees.iter().for_each(|tree| pair.add(tree));
        let mut left = trees.clone();
        let mut order = order;
        while !left.is_empty() {
            order = order.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let tree = left.swap_remove((order >> 33) as usize % left.len());
            pair.remove(&tree)?;
        }
        prop_assert!(pair.base.space.is_empty());
        pair.query(&[Tree::Variable("x".to_owned())])?;
        pair.check_contents()?;
    }
}

proptest! {
    #![proptest_config(config(200))]

    /// One query of one set of rows: alone they are scanned, among many others an index finds them.
    #[test]
    fn indexes_change_no_answer(rows in vec(stored(), 1..6), pick in any::<Index>(), holes in holes()) {
        let query = with_holes(pick.get(&rows), &holes);
        let mut scanned = Pair::new();
        let mut indexed = Pair::new();
        for (number, row) in rows.iter().enumerate() {
            pad(&mut indexed, row, number);
            scanned.add(row);
            indexed.add(row);
        }
        scanned.query(std::slice::from_ref(&query))?;
        indexed.query(std::slice::from_ref(&query))?;
        for row in &rows {
            scanned.remove(row)?;
            indexed.remove(row)?;
            indexed.query(std::slice::from_ref(&query))?;
        }
    }
}

/// Adds rows as long as this one, some of which share its head and its other children.
fn pad(pair: &mut Pair, row: &Tree, number: usize) {
    let Tree::List(children) = row else { return };
    for filler in 0..12 {
        let mut children = children.clone();
        let length = children.len();
        if let Some(child) = children.get_mut(filler % length.max(1)) {
            *child =
                Tree::List(vec![Tree::Symbol("filler".to_owned()), Tree::Integer((number * 100 + filler) as i128)]);
        }
        pair.add(&Tree::List(children));
    }
}
