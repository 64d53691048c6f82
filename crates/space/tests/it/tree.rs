//! The oracle: trees with substitution and unification as a textbook writes them, and a space as a list of trees.
//!
//! Nothing here is shared with the crate under test but the conversion from and to its atoms.

use num_bigint::BigInt;
use space::{Atom, Grounded, Number, Variable};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone)]
pub(crate) enum Tree {
    Symbol(String),
    Variable(String),
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Tree>),
}

use Tree::{Bool, Float, Integer, List, Symbol, Text};

impl Tree {
    pub(crate) fn to_atom(&self) -> Atom {
        match self {
            Symbol(name) => Atom::symbol(name),
            Tree::Variable(name) => Atom::variable(name),
            Bool(value) => Atom::from(*value),
            Integer(value) => Atom::from(Number::from_big(BigInt::from(*value))),
            Float(value) => Atom::from(*value),
            Text(text) => Atom::from(text.as_str()),
            List(children) => Atom::expression(children.iter().map(Tree::to_atom).collect::<Vec<_>>()),
        }
    }

    pub(crate) fn of(atom: &Atom) -> Self {
        match atom {
            Atom::Symbol(symbol) => Symbol(symbol.as_str().to_owned()),
            Atom::Variable(variable) => Tree::Variable(name_of(variable)),
            Atom::Expression(expression) => List(expression.children().iter().map(Tree::of).collect()),
            Atom::Grounded(Grounded::Bool(value)) => Bool(*value),
            Atom::Grounded(Grounded::Text(text)) => Text(text.to_string()),
            Atom::Grounded(Grounded::Number(Number::Float(float))) => Float(*float),
            Atom::Grounded(Grounded::Number(number)) => {
                Integer(number.to_string().parse().expect("generated integers fit in 128 bits"))
            }
            Atom::Grounded(_) => panic!("the model knows no {atom}"),
        }
    }

    /// The names of its variables, in the order of their first occurrence.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.visit(&mut |tree| {
            if let Tree::Variable(name) = tree
                && !found.contains(name)
            {
                found.push(name.clone());
            }
        });
        found
    }

    fn visit(&self, look: &mut impl FnMut(&Tree)) {
        look(self);
        if let List(children) = self {
            children.iter().for_each(|child| child.visit(look));
        }
    }

    /// This tree with another name for each variable.
    pub(crate) fn renamed(&self, rename: &impl Fn(&str) -> String) -> Self {
        match self {
            Tree::Variable(name) => Tree::Variable(rename(name)),
            List(children) => List(children.iter().map(|child| child.renamed(rename)).collect()),
            leaf => leaf.clone(),
        }
    }

    /// This tree with variables named by their first occurrence: alpha-equivalent trees become one.
    fn numbered(&self) -> Self {
        let names = self.names();
        self.renamed(&|name| names.iter().position(|known| known == name).expect("it is one of them").to_string())
    }

    /// Equality up to the names of variables, kinds of numbers kept apart.
    pub(crate) fn is_identical(&self, other: &Self) -> bool {
        same(&self.numbered(), &other.numbered(), is_identical_leaf)
    }

    /// Equality up to the names of variables, numbers compared by value.
    pub(crate) fn is_equal(&self, other: &Self) -> bool {
        same(&self.numbered(), &other.numbered(), is_equal_leaf)
    }
}

impl fmt::Debug for Tree {
    /// As the atom, in one line.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.to_atom())
    }
}

/// What the model calls a variable of the crate.
pub(crate) fn name_of(variable: &Variable) -> String {
    match variable.id() {
        0 => variable.name().as_str().to_owned(),
        id => format!("{}#{id}", variable.name()),
    }
}

fn same(left: &Tree, right: &Tree, leaf: fn(&Tree, &Tree) -> bool) -> bool {
    match (left, right) {
        (List(left), List(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right, leaf))
        }
        _ => leaf(left, right),
    }
}

fn is_identical_leaf(left: &Tree, right: &Tree) -> bool {
    match (left, right) {
        (Integer(left), Integer(right)) => left == right,
        (Float(left), Float(right)) => left.to_bits() == right.to_bits(),
        (Integer(_), Float(_)) | (Float(_), Integer(_)) => false,
        _ => is_equal_leaf(left, right),
    }
}

fn is_equal_leaf(left: &Tree, right: &Tree) -> bool {
    match (left, right) {
        (Symbol(left), Symbol(right)) => left == right,
        (Tree::Variable(left), Tree::Variable(right)) => left == right,
        (Text(left), Text(right)) => left == right,
        (Bool(left), Bool(right)) => left == right,
        (Integer(left), Integer(right)) => left == right,
        (Float(left), Float(right)) => left == right || left.to_bits() == right.to_bits(),
        (Integer(integer), Float(float)) | (Float(float), Integer(integer)) => {
            // Floats up to 2^100 that are whole convert without rounding; generated integers are smaller.
            float.fract() == 0.0 && float.abs() < 2_f64.powi(100) && *float as i128 == *integer
        }
        _ => false,
    }
}

/// What unification has found out: names and what they stand for.
#[derive(Clone, Default, Debug)]
pub(crate) struct Substitution(BTreeMap<String, Tree>);

impl Substitution {
    /// The tree with all that is known put in.
    pub(crate) fn apply(&self, tree: &Tree) -> Tree {
        match tree {
            Tree::Variable(name) => self.0.get(name).map_or_else(|| tree.clone(), |value| self.apply(value)),
            List(children) => List(children.iter().map(|child| self.apply(child)).collect()),
            leaf => leaf.clone(),
        }
    }

    /// Makes two trees equal, if that is possible.
    pub(crate) fn unify(&mut self, left: &Tree, right: &Tree) -> bool {
        match (self.apply(left), self.apply(right)) {
            (Tree::Variable(left), Tree::Variable(right)) if left == right => true,
            (Tree::Variable(name), value) | (value, Tree::Variable(name)) => {
                let is_inside = value.names().contains(&name);
                self.0.insert(name, value);
                !is_inside
            }
            (List(left), List(right)) => {
                left.len() == right.len() && left.iter().zip(&right).all(|(left, right)| self.unify(left, right))
            }
            (left, right) => is_equal_leaf(&left, &right),
        }
    }
}

/// A space as a list: each different atom once, in the order in which its first copy was added, with its count.
#[derive(Clone, Default, Debug)]
pub(crate) struct Model {
    entries: Vec<(Tree, usize)>,
}

impl Model {
    pub(crate) fn add(&mut self, tree: &Tree) {
        match self.entries.iter_mut().find(|(known, _)| known.is_identical(tree)) {
            Some((_, copies)) => *copies += 1,
            None => self.entries.push((tree.clone(), 1)),
        }
    }

    pub(crate) fn remove(&mut self, tree: &Tree) -> bool {
        let exact = self.entries.iter().position(|(known, _)| known.is_identical(tree));
        let place = exact.or_else(|| self.entries.iter().position(|(known, _)| known.is_equal(tree)));
        let Some(place) = place else { return false };
        self.entries[place].1 -= 1;
        if self.entries[place].1 == 0 {
            self.entries.remove(place);
        }
        true
    }

    pub(crate) fn count(&self, tree: &Tree) -> usize {
        self.entries.iter().filter(|(known, _)| known.is_equal(tree)).map(|(_, copies)| copies).sum()
    }

    /// How many copies of exactly this tree there are.
    pub(crate) fn copies(&self, tree: &Tree) -> usize {
        self.entries.iter().find(|(known, _)| known.is_identical(tree)).map_or(0, |(_, copies)| *copies)
    }

    /// As many copies of each tree as `keep` says.
    pub(crate) fn filtered(&self, keep: impl Fn(&Tree, usize) -> usize) -> Self {
        let entries = self.entries.iter().map(|(tree, copies)| (tree.clone(), keep(tree, *copies)));
        Self { entries: entries.filter(|(_, copies)| *copies > 0).collect() }
    }

    /// All trees, copies one after the other.
    pub(crate) fn all(&self) -> Vec<Tree> {
        let copies = self.entries.iter().map(|(tree, copies)| std::iter::repeat_n(tree.clone(), *copies));
        copies.flatten().collect()
    }

    /// The solutions of a conjunction, each as the list of values of its variables in order.
    pub(crate) fn solutions(&self, patterns: &[Tree]) -> Vec<Tree> {
        let wanted: Vec<Tree> = List(patterns.to_vec()).names().into_iter().map(Tree::Variable).collect();
        let mut found = vec![Substitution::default()];
        for pattern in patterns {
            let ways = found.iter().flat_map(|so_far| self.extend(so_far, pattern)).collect();
            found = ways;
        }
        found.iter().map(|solution| solution.apply(&List(wanted.clone()))).collect()
    }

    fn extend(&self, so_far: &Substitution, pattern: &Tree) -> Vec<Substitution> {
        // A match with a variable binds something, so that no later match sees as few bindings.
        let level = so_far.0.len();
        let mut found = Vec::new();
        for (tree, copies) in &self.entries {
            let mut solution = so_far.clone();
            let apart = tree.renamed(&|name| format!("{name}~{level}"));
            if solution.unify(pattern, &apart) {
                found.extend(std::iter::repeat_n(solution, *copies));
            }
        }
        found
    }
}

/// The order of canonical bytes, said again: kinds in this order, numbers by exact value, then integers before floats.
pub(crate) fn canonical_order(left: &Tree, right: &Tree) -> Ordering {
    ordered(&left.numbered(), &right.numbered())
}

fn rank(tree: &Tree) -> u8 {
    match tree {
        Bool(false) => 0,
        Bool(true) => 1,
        Integer(_) | Float(_) => 2,
        Text(_) => 3,
        Symbol(_) => 4,
        Tree::Variable(_) => 5,
        List(_) => 6,
    }
}

fn ordered(left: &Tree, right: &Tree) -> Ordering {
    match (left, right) {
        (Text(left), Text(right)) | (Symbol(left), Symbol(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Tree::Variable(left), Tree::Variable(right)) => (left.len(), left).cmp(&(right.len(), right)),
        (List(left), List(right)) => {
            let differs = left.iter().zip(right).map(|(left, right)| ordered(left, right)).find(|order| order.is_ne());
            differs.unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        (Integer(_) | Float(_), Integer(_) | Float(_)) => number_key(left).cmp(&number_key(right)),
        _ => rank(left).cmp(&rank(right)),
    }
}

/// The class of a number, its exact value in units of 2^-1074, its kind, and the bits of a NaN.
fn number_key(tree: &Tree) -> (u8, BigInt, bool, u64) {
    let whole = |value: i128| BigInt::from(value) << 1074;
    match tree {
        Integer(value) => (if *value < 0 { 1 } else { 3 }, whole(*value), false, 0),
        Float(float) if float.is_nan() => (5, BigInt::ZERO, true, float.to_bits()),
        Float(float) if float.is_infinite() => (if *float < 0.0 { 0 } else { 4 }, BigInt::ZERO, true, 0),
        Float(float) if *float == 0.0 => (if float.is_sign_negative() { 2 } else { 3 }, BigInt::ZERO, true, 0),
        Float(float) => (if *float < 0.0 { 1 } else { 3 }, units(*float), true, 0),
        _ => unreachable!("only numbers have such a key"),
    }
}

/// A finite float in units of 2^-1074, read off its bits.
pub(crate) fn units(float: f64) -> BigInt {
    let bits = float.to_bits();
    let (exponent, fraction) = ((bits >> 52) & 0x7FF, bits & ((1 << 52) - 1));
    let magnitude =
        if exponent == 0 { BigInt::from(fraction) } else { BigInt::from(fraction | 1 << 52) << (exponent - 1) };
    if float.is_sign_negative() { -magnitude } else { magnitude }
}
