//! Graphs whose edges come and go, the same each time.

use crate::random::Random;
use std::collections::HashSet;

/// From one node to another one.
pub(super) type Edge = (u32, u32);

/// An edge that comes or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) edge: Edge,
    pub(super) is_added: bool,
}

/// A graph, and edges that are drawn as its own were.
pub(super) struct Graph {
    random: Random,
    draw: fn(&mut Random, u32) -> Edge,
    nodes: u32,
    edges: Vec<Edge>,
    known: HashSet<Edge>,
    has_added: bool,
}

impl Graph {
    /// A graph of `edges` edges between any two nodes.
    pub(super) fn random(nodes: u32, edges: usize) -> Self {
        Self::of(nodes, edges, |random, nodes| {
            (random.below(nodes as usize) as u32, random.below(nodes as usize) as u32)
        })
    }

    /// Near a forest: every edge leads to a node from one of its ancestors, which are few, since the parent of a node is any node before it.
    pub(super) fn near_a_forest(nodes: u32, edges: usize) -> Self {
        Self::of(nodes, edges, |random, nodes| {
            let node = 1 + random.below(nodes as usize - 1) as u32;
            let mut ancestor = parent(node);
            for _ in 0..random.below(8) {
                ancestor = parent(ancestor);
            }
            (ancestor, node)
        })
    }

    fn of(nodes: u32, edges: usize, draw: fn(&mut Random, u32) -> Edge) -> Self {
        let mut graph =
            Self { random: Random::new(20), draw, nodes, edges: Vec::new(), known: HashSet::new(), has_added: false };
        while graph.edges.len() < edges {
            graph.add();
        }
        graph
    }

    fn add(&mut self) -> Edge {
        loop {
            let edge = (self.draw)(&mut self.random, self.nodes);
            if edge.0 != edge.1 && self.known.insert(edge) {
                self.edges.push(edge);
                return edge;
            }
        }
    }

    /// The edges that there are.
    pub(super) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The next changes: an edge comes, another one goes, in turn.
    pub(super) fn changes(&mut self, count: usize) -> Vec<Change> {
        (0..count).map(|_| self.change()).collect()
    }

    fn change(&mut self) -> Change {
        self.has_added = !self.has_added;
        if self.has_added {
            return Change { edge: self.add(), is_added: true };
        }
        let place = self.random.below(self.edges.len());
        let edge = self.edges.swap_remove(place);
        self.known.remove(&edge);
        Change { edge, is_added: false }
    }
}

/// The parent of a node in the forest; the root is its own. It is drawn from the node's number alone.
fn parent(node: u32) -> u32 {
    if node == 0 { 0 } else { Random::new(u64::from(node)).below(node as usize) as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_was_there_and_what_comes_was_not() {
        let mut graph = Graph::near_a_forest(200, 500);
        let mut there: HashSet<Edge> = graph.edges().iter().copied().collect();
        assert_eq!(there.len(), 500);
        for Change { edge, is_added } in graph.changes(100) {
            assert!(edge.0 < edge.1);
            assert!(if is_added { there.insert(edge) } else { there.remove(&edge) });
        }
        assert_eq!(there, graph.edges().iter().copied().collect());
    }
}
