//! Types that are being unified: nodes of a graph, changed in place.

use super::type_table::{Scheme, TypeNode, TypeTable, WalkStep};
use crate::names;
use crate::types::says_how;
use rustc_hash::{FxHashMap, FxHashSet};
use space::{Atom, Variable};

/// Types nested deeper than this are not looked at.
const DEPTH_MAX: usize = 100;

/// A type, by its place in the graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct GraphNode(u32);

#[derive(Clone, Debug)]
enum Type {
    /// Nothing is known of it yet.
    Open,
    /// It is the same as another.
    Same(GraphNode),
    /// A type of its own that nothing else is known of.
    Rigid,
    Leaf(Atom),
    Compound(Box<[GraphNode]>),
    /// A type without variables, as it is in the table.
    Known(Scheme),
}

/// The variables of a type, and what they stand for in an instance of it.
pub(super) type Instance = FxHashMap<Variable, GraphNode>;

#[derive(Default)]
pub(super) struct Graph {
    types: Vec<Type>,
}

impl Graph {
    fn add(&mut self, found: Type) -> GraphNode {
        self.types.push(found);
        GraphNode((self.types.len() - 1) as u32)
    }

    pub(super) fn open(&mut self) -> GraphNode {
        self.add(Type::Open)
    }

    pub(super) fn known(&mut self, scheme: Scheme) -> GraphNode {
        self.add(Type::Known(scheme))
    }

    fn compound(&mut self, parts: Vec<GraphNode>) -> GraphNode {
        self.add(Type::Compound(parts.into()))
    }

    pub(super) fn leaf(&mut self, name: &str) -> GraphNode {
        self.add(Type::Leaf(Atom::symbol(name)))
    }

    /// The type of functions.
    pub(super) fn arrow(&mut self, formals: &[GraphNode], result: GraphNode) -> GraphNode {
        let arrow = self.leaf(names::ARROW);
        let parts: Vec<GraphNode> = [arrow].into_iter().chain(formals.iter().copied()).chain([result]).collect();
        self.compound(parts)
    }

    /// A type as a program writes it. `None` if it says how something is taken, or is nested too deep.
    pub(super) fn instance(&mut self, found: &Atom, variables: &mut Instance) -> Option<GraphNode> {
        if says_how(found) { None } else { self.instance_within(found, variables, 0) }
    }

    fn instance_within(&mut self, found: &Atom, variables: &mut Instance, depth: usize) -> Option<GraphNode> {
        match found {
            _ if depth > DEPTH_MAX => None,
            Atom::Variable(variable) => {
                let types = &mut self.types;
                Some(*variables.entry(variable.clone()).or_insert_with(|| {
                    types.push(Type::Open);
                    GraphNode((types.len() - 1) as u32)
                }))
            }
            Atom::Expression(expression) => {
                let parts: Option<Vec<GraphNode>> =
                    expression.children().iter().map(|part| self.instance_within(part, variables, depth + 1)).collect();
                parts.map(|parts| self.compound(parts))
            }
            leaf => Some(self.add(Type::Leaf(leaf.clone()))),
        }
    }

    /// A type of the table, with variables of its own. What is ground stays in one piece.
    pub(super) fn import(&mut self, scheme: Scheme, table: &TypeTable) -> GraphNode {
        self.import_with(scheme, table, &Type::Open)
    }

    /// A type of the table of which nothing is known where it has variables.
    pub(super) fn import_frozen(&mut self, scheme: Scheme, table: &TypeTable) -> GraphNode {
        self.import_with(scheme, table, &Type::Rigid)
    }

    fn import_with(&mut self, scheme: Scheme, table: &TypeTable, variable: &Type) -> GraphNode {
        let mut variables: FxHashMap<u32, GraphNode> = FxHashMap::default();
        let (mut work, mut done) = (vec![WalkStep::Visit(scheme)], Vec::new());
        while let Some(step) = work.pop() {
            match step {
                WalkStep::Visit(scheme) if table.is_ground(scheme) => done.push(self.known(scheme)),
                WalkStep::Visit(scheme) => match table.part(scheme) {
                    TypeNode::Variable(number) => {
                        done.push(*variables.entry(*number).or_insert_with(|| self.add(variable.clone())))
                    }
                    TypeNode::Compound(parts) => {
                        work.push(WalkStep::Close(parts.len()));
                        work.extend(parts.iter().rev().copied().map(WalkStep::Visit));
                    }
                    TypeNode::Unknown | TypeNode::Leaf(_) => unreachable!("these are ground"),
                },
                WalkStep::Close(length) => {
                    let parts = done.split_off(done.len() - length);
                    done.push(self.compound(parts));
                }
            }
        }
        done.pop().expect("the walk leaves the whole")
    }

    /// The type of the table that a node stands for.
    pub(super) fn scheme_of(&self, node: GraphNode, table: &mut TypeTable) -> Scheme {
        let mut met: FxHashMap<GraphNode, u32> = FxHashMap::default();
        let (mut work, mut done) = (vec![WalkStep::Visit(node)], Vec::new());
        while let Some(step) = work.pop() {
            let node = match step {
                WalkStep::Visit(node) => self.find(node),
                WalkStep::Close(length) => {
                    let parts = done.split_off(done.len() - length);
                    done.push(table.add(TypeNode::Compound(parts.into())));
                    continue;
                }
            };
            match &self.types[node.0 as usize] {
                Type::Open | Type::Rigid if done.is_empty() && work.is_empty() => return Scheme::UNKNOWN,
                Type::Open | Type::Rigid => {
                    let next = met.len() as u32 + 1;
                    let number = *met.entry(node).or_insert(next);
                    done.push(table.add(TypeNode::Variable(number)));
                }
                Type::Known(scheme) => done.push(*scheme),
                Type::Leaf(leaf) => done.push(table.add(TypeNode::Leaf(leaf.clone()))),
                Type::Compound(parts) => {
                    work.push(WalkStep::Close(parts.len()));
                    work.extend(parts.iter().rev().copied().map(WalkStep::Visit));
                }
                Type::Same(_) => unreachable!("it was followed"),
            }
        }
        done.pop().expect("the walk leaves the whole")
    }

    /// What is still open becomes a type that nothing is known of.
    pub(super) fn freeze_all(&mut self) {
        for found in self.types.iter_mut().filter(|found| matches!(found, Type::Open)) {
            *found = Type::Rigid;
        }
    }

    /// A type becomes one of its own, if it is open.
    pub(super) fn freeze(&mut self, node: GraphNode) {
        let node = self.find(node);
        if matches!(self.types[node.0 as usize], Type::Open) {
            self.types[node.0 as usize] = Type::Rigid;
        }
    }

    fn find(&self, mut node: GraphNode) -> GraphNode {
        while let Type::Same(other) = self.types[node.0 as usize] {
            node = other;
        }
        node
    }

    /// Makes two types equal, if that can be done. What is known of ground types is in the table.
    pub(super) fn unify(&mut self, left: GraphNode, right: GraphNode, table: &TypeTable) -> bool {
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
                (Type::Known(one), Type::Known(other)) if one == other => {}
                (Type::Known(known), Type::Leaf(leaf)) | (Type::Leaf(leaf), Type::Known(known)) if matches!(table.part(*known), TypeNode::Leaf(own) if own == leaf) =>
                    {}
                (Type::Known(known), Type::Compound(_)) => {
                    let known = *known;
                    if !self.open_known(left, known, table) {
                        return false;
                    }
                    work.push((left, right));
                }
                (Type::Compound(_), Type::Known(known)) => {
                    let known = *known;
                    if !self.open_known(right, known, table) {
                        return false;
                    }
                    work.push((left, right));
                }
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

    /// Makes a compound of a type of the table, if it is one.
    fn open_known(&mut self, node: GraphNode, known: Scheme, table: &TypeTable) -> bool {
        let TypeNode::Compound(parts) = table.part(known) else { return false };
        let parts: Box<[GraphNode]> = parts.iter().map(|&part| self.known(part)).collect();
        self.types[node.0 as usize] = Type::Compound(parts);
        true
    }

    fn occurs(&self, open: GraphNode, within: GraphNode) -> bool {
        self.any_part(within, |node, _| node == open)
    }

    /// Whether a function type occurs in a type.
    pub(super) fn holds_arrow(&self, node: GraphNode) -> bool {
        self.any_part(node, |_, found| matches!(found, Type::Leaf(leaf) if leaf.is_symbol(names::ARROW)))
    }

    fn any_part(&self, node: GraphNode, is_wanted: impl Fn(GraphNode, &Type) -> bool) -> bool {
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

#[cfg(test)]
mod tests {
    use super::super::type_table::parse;
    use super::*;

    #[test]
    fn a_type_goes_through_a_graph_unchanged() {
        let mut table = TypeTable::default();
        for text in ["Number", "(List $a)", "(Pair (List $a) (List $b) $a)", "(Vec $t (S (S Z)))"] {
            let scheme = table.of_atom(&parse(text));
            let mut graph = Graph::default();
            let node = graph.import(scheme, &table);
            assert_eq!(graph.scheme_of(node, &mut table), scheme, "{text}");
        }
    }
}
