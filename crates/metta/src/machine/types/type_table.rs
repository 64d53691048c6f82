//! Types in parts, each kept once: equal types have one number, and what is one level larger costs one level more.
//!
//! So the type of a list whose length is part of its type is found out in a time that does not depend on the length. The idea
//! is hash consing (Ershov, 1958).

use rustc_hash::FxHashMap;
use space::{Atom, Symbol, Variable};

/// A type, by its place in the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::machine) struct Scheme(u32);

impl Scheme {
    /// Of what has no type.
    pub(in crate::machine) const UNKNOWN: Self = Self(0);

    pub(super) fn is_known(self) -> bool {
        self != Self::UNKNOWN
    }
}

/// A type, one level deep.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum TypeNode {
    Unknown,
    /// The variables of a type are numbered in the order in which they are met.
    Variable(u32),
    Leaf(Atom),
    Compound(Box<[Scheme]>),
}

pub(in crate::machine) struct TypeTable {
    parts: Vec<TypeNode>,
    is_ground: Vec<bool>,
    index: FxHashMap<TypeNode, Scheme>,
}

impl Default for TypeTable {
    fn default() -> Self {
        Self { parts: vec![TypeNode::Unknown], is_ground: vec![true], index: FxHashMap::default() }
    }
}

/// What a walk over a type does next.
pub(super) enum WalkStep<T> {
    Visit(T),
    Close(usize),
}

impl TypeTable {
    /// How many types it has.
    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    /// The number of a type whose parts are in the table.
    pub(super) fn add(&mut self, part: TypeNode) -> Scheme {
        if let Some(&known) = self.index.get(&part) {
            return known;
        }
        let is_ground = match &part {
            TypeNode::Variable(_) => false,
            TypeNode::Compound(parts) => parts.iter().all(|part| self.is_ground[part.0 as usize]),
            TypeNode::Unknown | TypeNode::Leaf(_) => true,
        };
        let scheme = Scheme(u32::try_from(self.parts.len()).expect("a type takes memory"));
        self.parts.push(part.clone());
        self.is_ground.push(is_ground);
        self.index.insert(part, scheme);
        scheme
    }

    fn close(&mut self, done: &mut Vec<Scheme>, length: usize) {
        let parts = done.split_off(done.len() - length);
        let compound = self.add(TypeNode::Compound(parts.into()));
        done.push(compound);
    }

    /// The type that an atom writes. A variable alone says nothing.
    pub(in crate::machine) fn of_atom(&mut self, atom: &Atom) -> Scheme {
        let mut met: FxHashMap<Variable, u32> = FxHashMap::default();
        let (mut work, mut done) = (vec![WalkStep::Visit(atom)], Vec::new());
        while let Some(step) = work.pop() {
            match step {
                WalkStep::Visit(Atom::Expression(expression)) => {
                    work.push(WalkStep::Close(expression.len()));
                    work.extend(expression.children().iter().rev().map(WalkStep::Visit));
                }
                WalkStep::Visit(Atom::Variable(_)) if done.is_empty() && work.is_empty() => return Scheme::UNKNOWN,
                WalkStep::Visit(Atom::Variable(variable)) => {
                    let next = met.len() as u32 + 1;
                    let number = *met.entry(variable.clone()).or_insert(next);
                    done.push(self.add(TypeNode::Variable(number)));
                }
                WalkStep::Visit(leaf) => done.push(self.add(TypeNode::Leaf(leaf.clone()))),
                WalkStep::Close(length) => self.close(&mut done, length),
            }
        }
        done.pop().expect("the walk leaves the whole")
    }

    /// A type as an atom; its variables have the numbers that they have here.
    pub(super) fn atom(&self, scheme: Scheme) -> Atom {
        let name = Symbol::new("t");
        let (mut work, mut done) = (vec![WalkStep::Visit(scheme)], Vec::new());
        while let Some(step) = work.pop() {
            match step {
                WalkStep::Visit(scheme) => match &self.parts[scheme.0 as usize] {
                    TypeNode::Unknown => done.push(crate::names::undefined()),
                    TypeNode::Variable(number) => {
                        done.push(Atom::Variable(Variable::with_id(name.clone(), u64::from(*number))));
                    }
                    TypeNode::Leaf(leaf) => done.push(leaf.clone()),
                    TypeNode::Compound(parts) => {
                        work.push(WalkStep::Close(parts.len()));
                        work.extend(parts.iter().rev().copied().map(WalkStep::Visit));
                    }
                },
                WalkStep::Close(length) => {
                    let children = done.split_off(done.len() - length);
                    done.push(Atom::expression(children));
                }
            }
        }
        done.pop().expect("the walk leaves the whole")
    }

    pub(super) fn part(&self, scheme: Scheme) -> &TypeNode {
        &self.parts[scheme.0 as usize]
    }

    /// Whether a type holds no variable.
    pub(super) fn is_ground(&self, scheme: Scheme) -> bool {
        self.is_ground[scheme.0 as usize]
    }
}

/// The atom that a text writes.
#[cfg(test)]
pub(super) fn parse(text: &str) -> Atom {
    let parsed = crate::syntax::parse(text);
    crate::reader::read_atom(&parsed.tree, parsed.tree.forms()[0].node, &crate::Tokenizer::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_types_are_one() {
        let mut table = TypeTable::default();
        let nested = table.of_atom(&parse("(Vec Number (S (S Z)))"));
        assert_eq!(table.of_atom(&parse("(Vec Number (S (S Z)))")), nested);
        assert_eq!(table.of_atom(&parse("(Pair $a $b $a)")), table.of_atom(&parse("(Pair $c $a $c)")));
        assert_ne!(table.of_atom(&parse("(Pair $a $b $a)")), table.of_atom(&parse("(Pair $c $a $a)")));
        assert_eq!(table.of_atom(&parse("$a")), Scheme::UNKNOWN);
        assert_eq!(table.atom(nested), parse("(Vec Number (S (S Z)))"));
    }
}
