//! The graphs that are asked about, the same each time, and the files that state them.

use crate::random::Random;
use std::collections::HashSet;
use std::fmt::Write as _;

/// From one node to another one.
pub(super) type Edge = (u32, u32);

/// How a graph is made. No edge comes twice, and none leads from a node to itself.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// `edges` edges between any two nodes, from the smaller to the larger one.
    Ordered { nodes: u32, edges: usize },
    /// `edges` edges between any two nodes.
    Random { nodes: u32, edges: usize },
    /// A hub with an edge to each of its spokes and one back; every 64th spoke has an edge from its predecessor.
    Hub { spokes: u32 },
    /// Each node has an edge from `edges_each` older ones, which are drawn by how many edges they have (Barabási and Albert).
    Attachment { nodes: u32, edges_each: u32 },
    /// `generations` generations of `persons` persons, of whom each but the first ones has `parents` parents in the generation before.
    Generations { generations: u32, persons: u32, parents: usize },
}

impl Shape {
    pub(super) fn edges(self) -> Vec<Edge> {
        let mut random = Random::new(20);
        match self {
            Self::Ordered { nodes, edges } => drawn(
                edges,
                || (random.below(nodes as usize) as u32, random.below(nodes as usize) as u32),
                |(from, to)| (from.min(to), from.max(to)),
            ),
            Self::Random { nodes, edges } => {
                drawn(edges, || (random.below(nodes as usize) as u32, random.below(nodes as usize) as u32), |edge| edge)
            }
            Self::Hub { spokes } => (1..=spokes).flat_map(edges_of_spoke).collect(),
            Self::Attachment { nodes, edges_each } => attachment(nodes, edges_each, &mut random),
            Self::Generations { generations, persons, parents } => {
                let children = persons..generations * persons;
                children.flat_map(|child| edges_of_child(child, persons, parents, &mut random)).collect()
            }
        }
    }

    /// Its description for a note, with the number of its edges.
    pub(super) fn note(self, edges: usize) -> String {
        match self {
            Self::Ordered { nodes, .. } => {
                format!("{nodes} nodes and {edges} edges, each from the smaller to the larger node")
            }
            Self::Random { nodes, .. } => format!("{nodes} nodes and {edges} random edges"),
            Self::Hub { spokes } => {
                let others = edges - 2 * spokes as usize;
                format!("a hub with an edge to each of {spokes} nodes and one back, and {others} edges between these")
            }
            Self::Attachment { nodes, .. } => format!(
                "{nodes} nodes and {edges} edges by preferential attachment, each from the older to the newer node"
            ),
            Self::Generations { generations, persons, parents } => format!(
                "{generations} generations of {persons} persons and {edges} edges, each person with {parents} parents in the generation before"
            ),
        }
    }
}

/// Draws edges until there are `edges` different ones.
fn drawn(edges: usize, mut draw: impl FnMut() -> Edge, directed: impl Fn(Edge) -> Edge) -> Vec<Edge> {
    let (mut seen, mut found) = (HashSet::new(), Vec::new());
    while found.len() < edges {
        let edge = directed(draw());
        if edge.0 != edge.1 && seen.insert(edge) {
            found.push(edge);
        }
    }
    found
}

fn edges_of_spoke(spoke: u32) -> Vec<Edge> {
    let both_ways = [(0, spoke), (spoke, 0)].into_iter();
    both_ways.chain(spoke.is_multiple_of(64).then_some((spoke - 1, spoke))).collect()
}

/// From different parents of the generation before.
fn edges_of_child(child: u32, persons: u32, parents: usize, random: &mut Random) -> Vec<Edge> {
    let first = (child / persons - 1) * persons;
    drawn(parents, || (first + random.below(persons as usize) as u32, child), |edge| edge)
}

fn attachment(nodes: u32, edges_each: u32, random: &mut Random) -> Vec<Edge> {
    let first = edges_each + 1;
    let mut edges: Vec<Edge> = (0..first).flat_map(|new| (0..new).map(move |old| (old, new))).collect();
    // A node stands here once for each edge that it has.
    let mut ends: Vec<u32> = edges.iter().flat_map(|&(old, new)| [old, new]).collect();
    for new in first..nodes {
        let mut chosen = Vec::new();
        while chosen.len() < edges_each as usize {
            let old = ends[random.below(ends.len())];
            if !chosen.contains(&old) {
                chosen.push(old);
            }
        }
        ends.extend(chosen.iter().flat_map(|&old| [old, new]));
        edges.extend(chosen.into_iter().map(|old| (old, new)));
    }
    edges
}

/// How a file states edges, a line each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Metta,
    Csv,
    Prolog,
}

impl Form {
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Metta => "metta",
            Self::Csv => "csv",
            Self::Prolog => "pl",
        }
    }

    pub(super) fn text(self, edges: &[Edge]) -> String {
        let mut text = String::new();
        for (from, to) in edges {
            // Writing to memory does not fail.
            let _ = match self {
                Self::Metta => writeln!(text, "(edge n{from} n{to})"),
                Self::Csv => writeln!(text, "{from},{to}"),
                Self::Prolog => writeln!(text, "edge({from}, {to})."),
            };
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_plain(edges: &[Edge]) {
        let different: HashSet<&Edge> = edges.iter().collect();
        assert_eq!(different.len(), edges.len());
        assert!(edges.iter().all(|(from, to)| from != to));
    }

    #[test]
    fn no_edge_comes_twice_and_sizes_are_as_said() {
        let ordered = Shape::Ordered { nodes: 50, edges: 300 }.edges();
        assert!(ordered.len() == 300 && ordered.iter().all(|(from, to)| from < to && *to < 50));
        let random = Shape::Random { nodes: 50, edges: 300 }.edges();
        assert!(random.len() == 300 && random.iter().any(|(from, to)| from > to));
        let hub = Shape::Hub { spokes: 128 }.edges();
        assert_eq!((hub.len(), hub[hub.len() - 1]), (2 * 128 + 2, (127, 128)));
        assert!(Shape::Hub { spokes: 128 }.note(hub.len()).ends_with("and 2 edges between these"));
        let attachment = Shape::Attachment { nodes: 100, edges_each: 5 }.edges();
        assert_eq!(attachment.len(), 15 + 94 * 5);
        let generations = Shape::Generations { generations: 4, persons: 10, parents: 2 }.edges();
        assert_eq!(generations.len(), 3 * 10 * 2);
        assert!(generations.iter().all(|(parent, child)| parent / 10 + 1 == child / 10));
        [ordered, random, hub, attachment, generations].iter().for_each(|edges| assert_plain(edges));
    }

    #[test]
    fn old_nodes_have_more_edges_than_new_ones() {
        let edges = Shape::Attachment { nodes: 2_000, edges_each: 5 }.edges();
        let of_node = |node: u32| edges.iter().filter(|(old, new)| *old == node || *new == node).count();
        let of_first: usize = (0..10).map(of_node).sum();
        assert!(of_first > 10 * 50, "{of_first}");
    }

    #[test]
    fn a_form_states_each_edge_on_a_line() {
        let edges = [(0, 1), (2, 30)];
        assert_eq!(Form::Metta.text(&edges), "(edge n0 n1)\n(edge n2 n30)\n");
        assert_eq!(Form::Csv.text(&edges), "0,1\n2,30\n");
        assert_eq!(Form::Prolog.text(&edges), "edge(0, 1).\nedge(2, 30).\n");
    }
}
