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

/// The value of a node.
pub fn value_of<W: Words>(heap: &Heap<W>, node: Ref) -> Ref {
    heap.child(node, VALUE)
}

/// How many edges lead out of a node.
pub fn degree<W: Words>(heap: &Heap<W>, node: Ref) -> usize {
    edge_map(heap, node).map_or(0, |map| heap.map_length(map))
}

/// The value of the edge from one node to another.
pub fn edge<W: Words>(heap: &Heap<W>, from: Ref, to: Ref) -> Option<Ref> {
    edge_map(heap, from).and_then(|map| heap.map_get(map, to.unmarked()))
}

/// The nodes that edges of a node lead to and the values of the edges, in the order in which they were added.
pub fn edges<W: Words>(heap: &Heap<W>, node: Ref) -> impl Iterator<Item = (Ref, Ref)> + '_ {
    edge_map(heap, node).into_iter().flat_map(|map| heap.map_entries(map))
}

/// All nodes that can be reached from these, they first, each once, the nearer ones first. Linear in nodes
/// and edges.
pub fn reachable<W: Words>(heap: &Heap<W>, from: &[Ref]) -> Vec<Ref> {
    let mut found: Vec<Ref> = Vec::new();
    let mut seen = HashSet::new();
    found.extend(from.iter().map(|node| node.unmarked()).filter(|node| seen.insert(*node)));
    let mut next = 0;
    while let Some(&node) = found.get(next) {
        found.extend(edges(heap, node).map(|(to, _)| to).filter(|to| seen.insert(*to)));
        next += 1;
    }
    found
}

fn edge_map<W: Words>(heap: &Heap<W>, node: Ref) -> Option<Ref> {
    let edges = heap.child(node, EDGES);
    edges.is_expression().then_some(edges)
}

/// Makes a node without edges.
pub fn node(heap: &mut Heap, region: &mut Region, value: Ref) -> Result<Ref, Full> {
    heap.expression(region, &[value, ZERO])
}

/// Gives a node another value.
pub fn set_value(heap: &mut Heap, node: Ref, value: Ref) {
    heap.set_child(node, VALUE, value);
}

/// Adds an edge in the region of the node that it leads from, or gives the one that is there another value. Gives the value that
/// it had. After an error the graph is as it was.
pub fn add_edge(heap: &mut Heap, region: &mut Region, from: Ref, to: Ref, value: Ref) -> Result<Option<Ref>, Full> {
    let map = match edge_map(heap, from) {
        Some(map) => map,
        None => {
            let map = heap.map(region)?;
            heap.set_child(from, EDGES, map);
            map
        }
    };
    heap.map_insert(region, map, to.unmarked(), value)
}

/// Removes an edge. Gives the value that it had. The order of the others stays.
pub fn remove_edge(heap: &mut Heap, from: Ref, to: Ref) -> Option<Ref> {
    let map = edge_map(heap, from)?;
    heap.map_remove(map, to.unmarked())
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
            assert_eq!((value_of(heap, *node), degree(heap, *node)), (value(*own), edges.len()));
            let expected: Vec<_> = edges.iter().map(|(to, of)| (nodes[*to], value(*of))).collect();
            assert_eq!(super::edges(heap, *node).collect::<Vec<_>>(), expected);
            assert!(edges.iter().all(|(to, of)| edge(heap, *node, nodes[*to]) == Some(value(*of))));
        }
        let mut found = vec![0];
        let mut next = 0;
        while let Some(&node) = found.get(next) {
            let new: Vec<usize> = model[node].1.iter().map(|(to, _)| *to).filter(|to| !found.contains(to)).collect();
            found.extend(new);
            next += 1;
        }
        let expected: Vec<Ref> = found.iter().map(|node| nodes[*node]).collect();
        assert_eq!(reachable(heap, &[nodes[0], nodes[0]]), expected);
    }

    fn change(heap: &mut Heap, region: &mut Region, nodes: &[Ref], model: &mut Model, step: (usize, usize, u32)) {
        let (from, to, of) = (step.0 % nodes.len(), step.1 % nodes.len(), step.2);
        let edges = &mut model[from].1;
        let there = edges.iter().position(|edge| edge.0 == to);
        let before = there.map(|at| value(edges[at].1));
        match of {
            0 => {
                assert_eq!(remove_edge(heap, nodes[from], nodes[to]), before);
                there.map(|at| edges.remove(at));
            }
            1 => {
                set_value(heap, nodes[from], value(of + 5));
                model[from].0 = of + 5;
            }
            _ => {
                assert_eq!(add_edge(heap, region, nodes[from], nodes[to], value(of)), Ok(before));
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
                (0..count).map(|at| node(&mut heap, &mut region, value(at as u32)).expect("there is no limit")).collect();
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
