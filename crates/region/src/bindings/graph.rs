//! Graphs that change: nodes with a value, and edges from node to node with a value each.
//!
//! A node is an expression of its value and its edges: a zero until it has one, and then a [map](Heap::map) from the nodes that they
//! lead to. So edges are found, added and removed in constant time and seen in the order in which they were added, rings are
//! rings, and a copy, a freezing or an escape takes along what a node leads to and nothing else.

use std::collections::HashSet;

use crate::heap::{Heap, ZERO};
use crate::limit::Full;
use crate::reference::Ref;
use crate::region::Region;
use crate::words::Words;

const VALUE: usize = 0;
const EDGES: usize = 1;

/// Reading graphs, of a heap that is frozen as well.
impl<W: Words> Heap<W> {
    /// The value of a node.
    pub fn node_value(&self, node: Ref) -> Ref {
        self.child(node, VALUE)
    }

    /// How many edges lead out of a node.
    pub fn node_degree(&self, node: Ref) -> usize {
        self.edge_map(node).map_or(0, |map| self.map_length(map))
    }

    /// The value of the edge from one node to another.
    pub fn edge(&self, from: Ref, to: Ref) -> Option<Ref> {
        self.edge_map(from).and_then(|map| self.map_get(map, to.unmarked()))
    }

    /// The nodes that edges of a node lead to and the values of the edges, in the order in which they were added.
    pub fn edges(&self, node: Ref) -> impl Iterator<Item = (Ref, Ref)> + '_ {
        self.edge_map(node).into_iter().flat_map(|map| self.map_entries(map))
    }

    /// All nodes that can be reached from these, they first, each once: those that fewer edges lead to come first. Linear in nodes
    /// and edges.
    pub fn reachable(&self, from: &[Ref]) -> Vec<Ref> {
        let mut found: Vec<Ref> = Vec::new();
        let mut seen = HashSet::new();
        found.extend(from.iter().map(|node| node.unmarked()).filter(|node| seen.insert(*node)));
        let mut next = 0;
        while let Some(&node) = found.get(next) {
            found.extend(self.edges(node).map(|(to, _)| to).filter(|to| seen.insert(*to)));
            next += 1;
        }
        found
    }

    fn edge_map(&self, node: Ref) -> Option<Ref> {
        let edges = self.child(node, EDGES);
        edges.is_expression().then_some(edges)
    }
}

impl Heap {
    /// Makes a node without edges.
    pub fn node(&mut self, region: &mut Region, value: Ref) -> Result<Ref, Full> {
        self.expression(region, &[value, ZERO])
    }

    /// Gives a node another value.
    pub fn set_node_value(&mut self, node: Ref, value: Ref) {
        self.set_child(node, VALUE, value);
    }

    /// Adds an edge in the region of the node that it leads from, or gives the one that is there another value. Gives the value that
    /// it had. After an error the graph is as it was.
    pub fn add_edge(&mut self, region: &mut Region, from: Ref, to: Ref, value: Ref) -> Result<Option<Ref>, Full> {
        let map = match self.edge_map(from) {
            Some(map) => map,
            None => {
                let map = self.map(region)?;
                self.set_child(from, EDGES, map);
                map
            }
        };
        self.map_insert(region, map, to.unmarked(), value)
    }

    /// Removes an edge. Gives the value that it had. The order of the others stays.
    pub fn remove_edge(&mut self, from: Ref, to: Ref) -> Option<Ref> {
        let map = self.edge_map(from)?;
        self.map_remove(map, to.unmarked())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::copy::Bound;

    /// A graph as the standard library has it: of each node the value and the edges, in order.
    type Model = Vec<(u32, Vec<(usize, u32)>)>;

    fn value(value: u32) -> Ref {
        Ref::new(1, value)
    }

    fn check<W: Words>(heap: &Heap<W>, nodes: &[Ref], model: &Model) {
        for (node, (own, edges)) in nodes.iter().zip(model) {
            assert_eq!((heap.node_value(*node), heap.node_degree(*node)), (value(*own), edges.len()));
            let expected: Vec<_> = edges.iter().map(|(to, of)| (nodes[*to], value(*of))).collect();
            assert_eq!(heap.edges(*node).collect::<Vec<_>>(), expected);
            assert!(edges.iter().all(|(to, of)| heap.edge(*node, nodes[*to]) == Some(value(*of))));
        }
        let mut found = vec![0];
        let mut next = 0;
        while let Some(&node) = found.get(next) {
            let new: Vec<usize> = model[node].1.iter().map(|(to, _)| *to).filter(|to| !found.contains(to)).collect();
            found.extend(new);
            next += 1;
        }
        let expected: Vec<Ref> = found.iter().map(|node| nodes[*node]).collect();
        assert_eq!(heap.reachable(&[nodes[0], nodes[0]]), expected);
    }

    fn change(heap: &mut Heap, region: &mut Region, nodes: &[Ref], model: &mut Model, step: (usize, usize, u32)) {
        let (from, to, of) = (step.0 % nodes.len(), step.1 % nodes.len(), step.2);
        let edges = &mut model[from].1;
        let there = edges.iter().position(|edge| edge.0 == to);
        let before = there.map(|at| value(edges[at].1));
        match of {
            0 => {
                assert_eq!(heap.remove_edge(nodes[from], nodes[to]), before);
                there.map(|at| edges.remove(at));
            }
            1 => {
                heap.set_node_value(nodes[from], value(of + 5));
                model[from].0 = of + 5;
            }
            _ => {
                assert_eq!(heap.add_edge(region, nodes[from], nodes[to], value(of)), Ok(before));
                match there {
                    Some(at) => edges[at].1 = of,
                    None => edges.push((to, of)),
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn graphs_are_those_of_the_standard_library(
            count in 1..12usize,
            steps in proptest::collection::vec((0..12usize, 0..12usize, 0..9u32), 0..200),
        ) {
            let (mut heap, mut other) = (Heap::new(), Heap::new());
            let (mut region, mut target) = (heap.open(), other.open());
            let mut nodes: Vec<Ref> =
                (0..count).map(|at| heap.node(&mut region, value(at as u32)).expect("there is no limit")).collect();
            let mut model: Model = (0..count as u32).map(|at| (at, Vec::new())).collect();
            for step in steps {
                change(&mut heap, &mut region, &nodes, &mut model, step);
            }
            check(&heap, &nodes, &model);
            let frozen = heap.freeze(&region, &nodes, Bound::Kept, |foreign| foreign).expect("there is no limit");
            check(&frozen, frozen.roots(), &model);
            heap.copy_to(&mut nodes, &region, &mut other, &mut target, |foreign| foreign).expect("there is no limit");
            heap.close(region);
            check(&other, &nodes, &model);
            other.close(target);
        }
    }
}
