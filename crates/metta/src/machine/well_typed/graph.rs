//! Types during inference: nodes that unify in place.

use super::super::schemes::says_how;
use crate::names;
use rustc_hash::{FxHashMap, FxHashSet};
use space::{Atom, Variable};

/// Types nested deeper than this are not looked at.
const DEPTH_MAX: usize = 100;

/// A type, by its place in the graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Node(u32);

#[derive(Clone, Debug)]
enum Type {
    /// Nothing is known of it yet.
    Open,
    /// It is the same as another.
    Same(Node),
    /// A type of its own that nothing else is known of.
    Rigid,
    Leaf(Atom),
    Compound(Box<[Node]>),
}

/// The variables of a type, and what they stand for in an instance of it.
pub(super) type Instance = FxHashMap<Variable, Node>;

#[derive(Default)]
pub(super) struct Graph {
    types: Vec<Type>,
}

impl Graph {
    fn add(&mut self, found: Type) -> Node {
        self.types.push(found);
        Node((self.types.len() - 1) as u32)
    }

    pub(super) fn open(&mut self) -> Node {
        self.add(Type::Open)
    }

    pub(super) fn leaf(&mut self, name: &str) -> Node {
        self.add(Type::Leaf(Atom::symbol(name)))
    }

    /// The type of functions.
    pub(super) fn arrow(&mut self, formals: &[Node], result: Node) -> Node {
        let arrow = self.leaf(names::ARROW);
        let parts: Vec<Node> = [arrow].into_iter().chain(formals.iter().copied()).chain([result]).collect();
        self.add(Type::Compound(parts.into()))
    }

    /// A type as a program writes it. `None` if it says how something is taken, or is nested too deep.
    pub(super) fn instance(&mut self, found: &Atom, variables: &mut Instance) -> Option<Node> {
        if says_how(found) { None } else { self.instance_within(found, variables, 0) }
    }

    fn instance_within(&mut self, found: &Atom, variables: &mut Instance, depth: usize) -> Option<Node> {
        match found {
            _ if depth > DEPTH_MAX => None,
            Atom::Variable(variable) => {
                let types = &mut self.types;
                Some(*variables.entry(variable.clone()).or_insert_with(|| {
                    types.push(Type::Open);
                    Node((types.len() - 1) as u32)
                }))
            }
            Atom::Expression(expression) => {
                let parts: Option<Box<[Node]>> =
                    expression.children().iter().map(|part| self.instance_within(part, variables, depth + 1)).collect();
                parts.map(|parts| self.add(Type::Compound(parts)))
            }
            leaf => Some(self.add(Type::Leaf(leaf.clone()))),
        }
    }

    /// What is still open becomes a type that nothing is known of, but for these.
    pub(super) fn freeze_but(&mut self, left: &[Node]) {
        let left: Vec<Node> = left.iter().map(|&node| self.find(node)).collect();
        for place in 0..self.types.len() {
            if matches!(self.types[place], Type::Open) && !left.contains(&Node(place as u32)) {
                self.types[place] = Type::Rigid;
            }
        }
    }

    /// A type becomes one of its own, if it is open.
    pub(super) fn freeze(&mut self, node: Node) {
        let node = self.find(node);
        if matches!(self.types[node.0 as usize], Type::Open) {
            self.types[node.0 as usize] = Type::Rigid;
        }
    }

    fn find(&self, mut node: Node) -> Node {
        while let Type::Same(other) = self.types[node.0 as usize] {
            node = other;
        }
        node
    }

    /// Makes two types equal, if that can be done.
    pub(super) fn unify(&mut self, left: Node, right: Node) -> bool {
        let mut work = vec![(left, right)];
        while let Some((left, right)) = work.pop() {
            let (left, right) = (self.find(left), self.find(right));
            if left == right {
                continue;
            }
            match (&self.types[left.0 as usize], &self.types[right.0 as usize]) {
                (Type::Open, _) if !self.occurs(left, right) => self.types[left.0 as usize] = Type::Same(right),
                (_, Type::Open) if !self.occurs(right, left) => self.types[right.0 as usize] = Type::Same(left),
                (Type::Leaf(one), Type::Leaf(other)) if one == other => {}
                (Type::Compound(one), Type::Compound(other)) if one.len() == other.len() => {
                    work.extend(one.iter().copied().zip(other.iter().copied()));
                    // What is shared is looked at once.
                    self.types[left.0 as usize] = Type::Same(right);
                }
                _ => return false,
            }
        }
        true
    }

    fn occurs(&self, open: Node, within: Node) -> bool {
        self.any_part(within, |node, _| node == open)
    }

    /// Whether a function type occurs in a type.
    pub(super) fn holds_arrow(&self, node: Node) -> bool {
        self.any_part(node, |_, found| matches!(found, Type::Leaf(leaf) if leaf.is_symbol(names::ARROW)))
    }

    fn any_part(&self, node: Node, is_wanted: impl Fn(Node, &Type) -> bool) -> bool {
        let (mut work, mut seen) = (vec![node], FxHashSet::default());
        while let Some(node) = work.pop() {
            let node = self.find(node);
            if !seen.insert(node) {
                continue;
            }
            let found = &self.types[node.0 as usize];
            if is_wanted(node, found) {
                return true;
            }
            if let Type::Compound(parts) = found {
                work.extend(parts.iter().copied());
            }
        }
        false
    }
}
