//! The module `graphs`: a relation of a space, taken as a graph.
//!
//! The facts `(edge a b)` are the edges of the graph `edge`, and `(road a b 5)` those of `road` with what each costs. What starts at a node
//! asks the space for the edges of each node that it reaches, by an index, so it costs what it reaches; what is about the whole graph asks
//! for all edges once. Nodes are met in the order in which queries give edges, which makes every answer the same in every run.

use super::Bundle;
use super::order::compare_numbers;
use crate::effects::Effects;
use crate::names;
use crate::operation::{Call, Compatibility, Native, OperationSpec as Spec, Outcome};
use rustc_hash::{FxHashMap, FxHashSet};
use space::{Atom, Grounded, Number, SharedSpace, Symbol};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

const SPACE: &str = "Evaluated: the space";
const EDGE: &str = "Raw: the name of the relation, such as edge for the facts (edge a b)";

const fn reading(name: &'static str, signature: &'static str, native: Native) -> Spec {
    Spec::typed(name, signature, native)
        .with(Effects::READS)
        .compared(Compatibility::MetroonOnly("of the module `graphs`"))
}

pub(super) const MODULE: Bundle = Bundle {
    name: "graphs",
    operations: &[
        reading("reachable", "(-> SpaceType Atom %Undefined% Atom)", reachable).documented(
            "The nodes to which a way of one edge or more leads from a node.",
            &[SPACE, EDGE, "Evaluated: the node"],
            "The tuple of them, the nearest first",
        ),
        reading("is-reachable", "(-> SpaceType Atom %Undefined% %Undefined% Bool)", is_reachable).documented(
            "Whether a way of one edge or more leads from a node to another.",
            &[SPACE, EDGE, "Evaluated: the node", "Evaluated: the other node"],
            "A truth value",
        ),
        reading("shortest-path", "(-> SpaceType Atom %Undefined% %Undefined% Atom)", shortest_path).documented(
            "A way from a node to another with the fewest edges.",
            &[SPACE, EDGE, "Evaluated: the node", "Evaluated: the other node"],
            "The tuple of its nodes, both included; no result if there is no way",
        ),
        reading("cheapest-path", "(-> SpaceType Atom %Undefined% %Undefined% Atom)", cheapest_path).documented(
            "A way from a node to another that costs least. The facts are (road a b cost), the costs numbers from 0 on.",
            &[SPACE, EDGE, "Evaluated: the node", "Evaluated: the other node"],
            "(cost nodes); no result if there is no way; an error if a cost is negative or no number",
        ),
        reading("components", "(-> SpaceType Atom Atom)", components).documented(
            "The parts of a graph that no edge joins, whichever way edges lead.",
            &[SPACE, EDGE],
            "A tuple of the tuples of their nodes, in the order in which they are first met",
        ),
        reading("topological-order", "(-> SpaceType Atom Atom)", topological_order).documented(
            "The nodes of a graph so that each edge leads from an earlier one to a later one.",
            &[SPACE, EDGE],
            "The tuple of nodes; the error (HasCycle nodes) with a way back to its first node if there is one",
        ),
    ],
    values: &[],
    source: "",
    yields: true,
};

/// A relation of a space.
struct Graph {
    space: SharedSpace,
    relation: Atom,
}

impl Graph {
    fn of(call: &Call<'_>, name: &str) -> Result<Self, Outcome> {
        match (call.space(0), call.argument(1)) {
            (Some(space), Some(relation @ Atom::Symbol(_))) => Ok(Self { space, relation: relation.clone() }),
            _ => Err(Outcome::failure(format!("{name} expects a space and the name of a relation, a symbol"))),
        }
    }

    /// What the facts of the relation that begin so have in the places that follow.
    fn rows<const N: usize>(&self, call: &mut Call<'_>, known: &[Atom]) -> Result<Vec<[Atom; N]>, Outcome> {
        let name = Symbol::new("node");
        let variables = std::array::from_fn::<_, N, _>(|_| call.environment.variables().fresh(&name));
        let places = variables.iter().map(|variable| Atom::Variable(variable.clone()));
        let pattern: Vec<Atom> =
            std::iter::once(self.relation.clone()).chain(known.iter().cloned()).chain(places).collect();
        let solutions = match call.environment.query(&self.space, &Atom::expression(pattern)) {
            Ok(solutions) => solutions,
            Err(limit) => return Err(call.refuse(limit)),
        };
        let mut rows = Vec::with_capacity(solutions.len());
        for solution in solutions {
            let value = |variable| solution.iter().find(|(bound, _)| bound == variable).map(|(_, value)| value.clone());
            let values = variables.each_ref().map(|variable| value(variable).filter(Atom::is_ground));
            if values.iter().any(Option::is_none) {
                return Err(Outcome::failure(format!("a fact of {} has a variable, which is no node", self.relation)));
            }
            rows.push(values.map(|value| value.expect("none is missing")));
        }
        Ok(rows)
    }

    /// The nodes to which an edge leads from a node.
    fn next(&self, call: &mut Call<'_>, node: &Atom) -> Result<Vec<Atom>, Outcome> {
        Ok(self.rows(call, std::slice::from_ref(node))?.into_iter().map(|[next]| next).collect())
    }
}

fn tuple(nodes: impl IntoIterator<Item = Atom>) -> Atom {
    Atom::expression(nodes.into_iter().collect::<Vec<_>>())
}

/// What a search came to, or why it was given up.
fn told(result: Result<Outcome, Outcome>) -> Outcome {
    result.unwrap_or_else(|refused| refused)
}

/// Goes from a node to all that it leads to, the nearest first, until a node is met that is looked for. Gives the nodes in the order in which
/// they were met, each with the place of the one before it.
fn search(
    call: &mut Call<'_>,
    graph: &Graph,
    from: &Atom,
    is_wanted: impl Fn(&Atom) -> bool,
) -> Result<Vec<(Atom, Option<usize>)>, Outcome> {
    let mut met: Vec<(Atom, Option<usize>)> = Vec::new();
    let mut known = FxHashSet::default();
    let mut open = VecDeque::from([(from.clone(), None)]);
    while let Some((node, place)) = open.pop_front() {
        call.look(size_of::<Atom>() * 8)?;
        for next in graph.next(call, &node)? {
            if !known.insert(next.clone()) {
                continue;
            }
            met.push((next.clone(), place));
            if is_wanted(&next) {
                return Ok(met);
            }
            open.push_back((next, Some(met.len() - 1)));
        }
    }
    Ok(met)
}

fn reachable(call: &mut Call<'_>) -> Outcome {
    let search = |call: &mut Call<'_>| {
        let graph = Graph::of(call, "reachable")?;
        let Some(from) = call.argument(2) else { return Err(Outcome::failure("reachable expects a node")) };
        let met = search(call, &graph, from, |_| false)?;
        Ok(Outcome::one(tuple(met.into_iter().map(|(node, _)| node))))
    };
    told(search(call))
}

fn is_reachable(call: &mut Call<'_>) -> Outcome {
    let search = |call: &mut Call<'_>| {
        let graph = Graph::of(call, "is-reachable")?;
        let (Some(from), Some(to)) = (call.argument(2), call.argument(3)) else {
            return Err(Outcome::failure("is-reachable expects two nodes"));
        };
        let met = search(call, &graph, from, |node| node == to)?;
        Ok(Outcome::one(met.last().is_some_and(|(node, _)| node == to)))
    };
    told(search(call))
}

fn shortest_path(call: &mut Call<'_>) -> Outcome {
    let search = |call: &mut Call<'_>| {
        let graph = Graph::of(call, "shortest-path")?;
        let (Some(from), Some(to)) = (call.argument(2), call.argument(3)) else {
            return Err(Outcome::failure("shortest-path expects two nodes"));
        };
        if from == to {
            return Ok(Outcome::one(tuple([from.clone()])));
        }
        let met = search(call, &graph, from, |node| node == to)?;
        if met.last().is_none_or(|(node, _)| node != to) {
            return Ok(Outcome::Results(Vec::new()));
        }
        let mut path = Vec::new();
        let mut place = Some(met.len() - 1);
        while let Some(at) = place {
            path.push(met[at].0.clone());
            place = met[at].1;
        }
        path.push(from.clone());
        path.reverse();
        Ok(Outcome::one(tuple(path)))
    };
    told(search(call))
}

/// A way that is known to a node: the cheapest first, and of equal ones the earliest.
struct Way {
    cost: Number,
    number: usize,
    node: Atom,
    /// The place of the node before it among those that are done.
    before: Option<usize>,
}

impl PartialEq for Way {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Way {}

impl PartialOrd for Way {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Way {
    fn cmp(&self, other: &Self) -> Ordering {
        compare_numbers(&other.cost, &self.cost).then(other.number.cmp(&self.number))
    }
}

/// What an edge costs, if it is a number from 0 on.
fn cost_of(atom: &Atom) -> Option<&Number> {
    match atom {
        Atom::Grounded(Grounded::Number(cost)) => {
            cost.compare(&Number::Int(0)).is_some_and(|order| order != Ordering::Less).then_some(cost)
        }
        _ => None,
    }
}

/// Dijkstra's algorithm.
fn cheapest_path(call: &mut Call<'_>) -> Outcome {
    let search = |call: &mut Call<'_>| {
        let graph = Graph::of(call, "cheapest-path")?;
        let (Some(from), Some(to)) = (call.argument(2), call.argument(3)) else {
            return Err(Outcome::failure("cheapest-path expects two nodes"));
        };
        let mut done: Vec<(Atom, Option<usize>)> = Vec::new();
        let mut known = FxHashSet::default();
        let mut number = 0;
        let mut open = BinaryHeap::from([Way { cost: Number::Int(0), number, node: from.clone(), before: None }]);
        while let Some(Way { cost, node, before, .. }) = open.pop() {
            if !known.insert(node.clone()) {
                continue;
            }
            done.push((node.clone(), before));
            let place = done.len() - 1;
            if node == *to {
                let ways = std::iter::successors(Some(place), |&place| done[place].1);
                let mut path: Vec<Atom> = ways.map(|place| done[place].0.clone()).collect();
                path.reverse();
                return Ok(Outcome::one(tuple([Atom::from(cost), tuple(path)])));
            }
            call.look(size_of::<Way>() * 8)?;
            for [next, edge] in graph.rows(call, std::slice::from_ref(&node))? {
                let Some(edge) = cost_of(&edge) else {
                    return Err(Outcome::failure(format!(
                        "the cost {} of an edge is not a number from 0 on",
                        names::brief(&edge)
                    )));
                };
                let cost = cost.add(edge).map_err(|error| Outcome::failure(error.to_string()))?;
                number += 1;
                open.push(Way { cost, number, node: next, before: Some(place) });
            }
        }
        Ok(Outcome::Results(Vec::new()))
    };
    told(search(call))
}

/// All edges, nodes by number in the order in which they are met.
struct Edges {
    nodes: Vec<Atom>,
    edges: Vec<(usize, usize)>,
}

fn all_edges(call: &mut Call<'_>, name: &str) -> Result<Edges, Outcome> {
    let graph = Graph::of(call, name)?;
    let rows = graph.rows::<2>(call, &[])?;
    call.look(rows.len().saturating_mul(size_of::<Atom>() * 4))?;
    let mut numbers: FxHashMap<Atom, usize> = FxHashMap::default();
    let mut found = Edges { nodes: Vec::new(), edges: Vec::with_capacity(rows.len()) };
    for row in rows {
        let [from, to] = row.map(|node| {
            *numbers.entry(node).or_insert_with_key(|node| {
                found.nodes.push(node.clone());
                found.nodes.len() - 1
            })
        });
        found.edges.push((from, to));
    }
    Ok(found)
}

fn components(call: &mut Call<'_>) -> Outcome {
    let Edges { nodes, edges } = match all_edges(call, "components") {
        Ok(edges) => edges,
        Err(refused) => return refused,
    };
    // Each node leads to an earlier one of its part, the first of a part to itself.
    let mut parents: Vec<usize> = (0..nodes.len()).collect();
    let first = |parents: &mut Vec<usize>, mut node: usize| {
        while parents[node] != node {
            parents[node] = parents[parents[node]];
            node = parents[node];
        }
        node
    };
    for (from, to) in edges {
        let (one, other) = (first(&mut parents, from), first(&mut parents, to));
        parents[one.max(other)] = one.min(other);
    }
    let mut places: FxHashMap<usize, usize> = FxHashMap::default();
    let mut parts: Vec<Vec<Atom>> = Vec::new();
    for (number, node) in nodes.into_iter().enumerate() {
        let place = *places.entry(first(&mut parents, number)).or_insert(parts.len());
        match parts.get_mut(place) {
            Some(part) => part.push(node),
            None => parts.push(vec![node]),
        }
    }
    Outcome::one(tuple(parts.into_iter().map(tuple)))
}

/// Takes away nodes to which no edge leads any more, the first that was met before the others.
fn topological_order(call: &mut Call<'_>) -> Outcome {
    let Edges { nodes, edges } = match all_edges(call, "topological-order") {
        Ok(edges) => edges,
        Err(refused) => return refused,
    };
    let mut into = vec![0_usize; nodes.len()];
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (from, to) in edges {
        into[to] += 1;
        next[from].push(to);
    }
    let mut free: BinaryHeap<_> = (0..nodes.len()).filter(|&node| into[node] == 0).map(std::cmp::Reverse).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(std::cmp::Reverse(node)) = free.pop() {
        order.push(nodes[node].clone());
        for &to in &next[node] {
            into[to] -= 1;
            if into[to] == 0 {
                free.push(std::cmp::Reverse(to));
            }
        }
    }
    match order.len() == nodes.len() {
        true => Outcome::one(tuple(order)),
        false => {
            let cycle = cycle(&into, &next);
            let nodes = tuple(cycle.into_iter().map(|node| nodes[node].clone()));
            Outcome::Failure(Atom::expression([Atom::symbol("HasCycle"), nodes]))
        }
    }
}

/// A way back to its first node, among the nodes to which edges are left.
fn cycle(into: &[usize], next: &[Vec<usize>]) -> Vec<usize> {
    // Against the edges there is always a node to go on to, so that a node comes twice.
    let mut before = vec![usize::MAX; into.len()];
    for (from, ends) in next.iter().enumerate().filter(|(from, _)| into[*from] > 0) {
        ends.iter().filter(|&&to| into[to] > 0).for_each(|&to| before[to] = from);
    }
    let mut places = vec![usize::MAX; into.len()];
    let mut way = Vec::new();
    let mut node = into.iter().position(|&edges| edges > 0).expect("an edge is left");
    while places[node] == usize::MAX {
        places[node] = way.len();
        way.push(node);
        node = before[node];
    }
    let mut cycle = vec![node];
    cycle.extend(way[places[node] + 1..].iter().rev());
    cycle.push(node);
    cycle
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cycle_is_one(edges in prop::collection::vec((0..6_usize, 0..6_usize), 1..20)) {
            let mut into = vec![0; 6];
            let mut next = vec![Vec::new(); 6];
            for &(from, to) in &edges {
                into[to] += 1;
                next[from].push(to);
            }
            // What no edge leads to is taken away, as it is before.
            while let Some(free) = (0..6).find(|&node| into[node] == 0 && !next[node].is_empty()) {
                for to in std::mem::take(&mut next[free]) {
                    into[to] -= 1;
                }
            }
            if into.iter().any(|&edges| edges > 0) {
                let found = cycle(&into, &next);
                prop_assert!(found.len() > 1 && found.first() == found.last());
                for pair in found.windows(2) {
                    prop_assert!(edges.contains(&(pair[0], pair[1])), "{:?} of {:?}", found, edges);
                }
            }
        }
    }
}
