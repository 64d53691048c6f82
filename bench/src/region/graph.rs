//! The graphs that are copied, and how one is told from another.
//!
//! A shape is made through [`Graph`], once in a region and once in the words of a peer, so both hold the same. In a region it is
//! made in turn with something else in a neighbouring region: their chunks interleave, as they do in an evaluation.

use super::Failure;
use super::objects::{HEAD, NIL, mix, value};
use region::{Heap, Ref, Region, tag};

/// Where graphs are made.
pub(super) trait Graph {
    /// Makes an expression.
    fn make(&mut self, children: &[Ref]) -> Result<Ref, Failure>;
    /// Replaces a child.
    fn set(&mut self, expression: Ref, index: usize, child: Ref);
    /// Reads the children.
    fn children(&self, expression: Ref) -> &[Ref];
}

/// A region of a heap that also serves another one.
pub(super) struct Interleaved {
    pub(super) heap: Heap,
    pub(super) region: Region,
    neighbour: Region,
}

impl Interleaved {
    pub(super) fn new() -> Interleaved {
        let mut heap = Heap::new();
        let (region, neighbour) = (heap.open(), heap.open());
        Interleaved { heap, region, neighbour }
    }
}

impl Graph for Interleaved {
    fn make(&mut self, children: &[Ref]) -> Result<Ref, Failure> {
        self.heap.reserve(&mut self.neighbour, children.len())?;
        Ok(self.heap.expression(&mut self.region, children)?)
    }

    fn set(&mut self, expression: Ref, index: usize, child: Ref) {
        self.heap.set_child(expression, index, child);
    }

    fn children(&self, expression: Ref) -> &[Ref] {
        self.heap.children(expression)
    }
}

/// The layout of a heap without chunks: each expression is its length and its children, one after the other.
#[derive(Default)]
pub(super) struct Words(pub(super) Vec<Ref>);

impl Graph for Words {
    fn make(&mut self, children: &[Ref]) -> Result<Ref, Failure> {
        let at = self.0.len();
        self.0.push(Ref::new(tag::IMMEDIATE_0, children.len() as u32));
        self.0.extend_from_slice(children);
        Ok(Ref::new(tag::EXPRESSION, at as u32))
    }

    fn set(&mut self, expression: Ref, index: usize, child: Ref) {
        self.0[expression.payload() as usize + 1 + index] = child;
    }

    fn children(&self, expression: Ref) -> &[Ref] {
        let at = expression.payload() as usize;
        &self.0[at + 1..at + 1 + self.0[at].payload() as usize]
    }
}

/// A shape and its size.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// `(head value rest)`, this many times.
    List(u32),
    /// `(head left right)`, of this depth; leaves are immediate.
    Tree(u32),
    /// `(left right)`, of this depth.
    Pairs(u32),
    /// This many `(next)`, the last of which leads to the first.
    Ring(u32),
    /// `(head before before)`, this many times: 2 to the power of that paths.
    Shared(u32),
    /// Expressions of as many children as the first number, to the depth of the second.
    Wide(u32, u32),
    /// A list of as many elements as the first number, with as many other expressions as the second made in between.
    Scattered(u32, u32),
}

impl Shape {
    /// Makes it and gives its root.
    pub(super) fn make(self, graph: &mut impl Graph) -> Result<Ref, Failure> {
        let head = Ref::new(tag::IMMEDIATE_0, HEAD);
        match self {
            Shape::List(length) => fold(length, |number, rest| graph.make(&[head, value(number), rest])),
            Shape::Tree(depth) => {
                tree(graph, depth, &mut 0, &mut |graph, [left, right]| graph.make(&[head, left, right]))
            }
            Shape::Pairs(depth) => tree(graph, depth, &mut 0, &mut |graph, pair| graph.make(&pair)),
            Shape::Ring(length) => ring(graph, length),
            Shape::Shared(depth) => fold(depth, |_, before| graph.make(&[head, before, before])),
            Shape::Wide(branching, depth) => wide(graph, branching as usize, depth),
            Shape::Scattered(length, others) => fold(length, |number, rest| {
                let garbage = fold(others / length, |number, rest| graph.make(&[head, value(number), rest]))?;
                debug_assert!(others < length || garbage.is_expression());
                graph.make(&[head, value(number), rest])
            }),
        }
    }

    /// The expressions that it is made of.
    pub(super) fn expressions(self) -> u64 {
        match self {
            Shape::List(count) | Shape::Ring(count) | Shape::Shared(count) | Shape::Scattered(count, _) => count.into(),
            Shape::Tree(depth) | Shape::Pairs(depth) => (1 << depth) - 1,
            Shape::Wide(branching, depth) => (0..depth).map(|level| u64::from(branching).pow(level)).sum(),
        }
    }
}

fn fold(count: u32, mut make: impl FnMut(u32, Ref) -> Result<Ref, Failure>) -> Result<Ref, Failure> {
    (0..count).try_fold(NIL, |before, number| make(number, before))
}

/// What makes a node of a tree.
type Branch<'a, G> = &'a mut dyn FnMut(&mut G, [Ref; 2]) -> Result<Ref, Failure>;

fn tree<G: Graph>(graph: &mut G, depth: u32, leaf: &mut u32, branch: Branch<'_, G>) -> Result<Ref, Failure> {
    if depth == 0 {
        *leaf += 1;
        return Ok(value(*leaf));
    }
    let left = tree(graph, depth - 1, leaf, branch)?;
    let right = tree(graph, depth - 1, leaf, branch)?;
    branch(graph, [left, right])
}

fn ring(graph: &mut impl Graph, length: u32) -> Result<Ref, Failure> {
    let first = graph.make(&[NIL])?;
    let last = (1..length).try_fold(first, |before, _| graph.make(&[before]))?;
    graph.set(first, 0, last);
    Ok(first)
}

fn wide(graph: &mut impl Graph, branching: usize, depth: u32) -> Result<Ref, Failure> {
    if depth == 0 {
        return Ok(value(9));
    }
    let children: Result<Vec<Ref>, Failure> = (0..branching).map(|_| wide(graph, branching, depth - 1)).collect();
    graph.make(&children?)
}

/// A number for what a root leads to: the same for the same shape with the same values, shared in the same places.
pub(super) fn fingerprint<'g>(root: Ref, children: impl Fn(Ref) -> &'g [Ref]) -> u64 {
    let (mut seen, mut met, mut sum, mut open): (Vec<u32>, u32, u64, Vec<Ref>) = (Vec::new(), 0, 0, vec![root]);
    while let Some(reference) = open.pop() {
        if !reference.is_expression() {
            sum = mix(sum, reference.bits().into());
            continue;
        }
        let at = reference.payload() as usize;
        seen.resize(seen.len().max(at + 1), 0);
        if seen[at] == 0 {
            met += 1;
            seen[at] = met;
            let children = children(reference);
            sum = mix(sum, children.len() as u64);
            open.extend(children.iter().rev());
        }
        sum = mix(sum, u64::from(seen[at]) << 32);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_the_same_wherever_it_is_made() {
        use Shape::{List, Pairs, Ring, Scattered, Shared, Tree, Wide};
        let mut met = Vec::new();
        for shape in [List(9), Tree(4), Pairs(4), Ring(9), Shared(9), Wide(5, 3), Scattered(10, 100)] {
            let (mut ours, mut words) = (Interleaved::new(), Words::default());
            let (root, root_of_words) = (shape.make(&mut ours).unwrap(), shape.make(&mut words).unwrap());
            let found = fingerprint(root, |expression| ours.children(expression));
            assert_eq!(found, fingerprint(root_of_words, |expression| words.children(expression)), "{shape:?}");
            assert!(!met.contains(&found), "{shape:?}");
            met.push(found);
        }
    }

    #[test]
    fn sharing_shows() {
        let mut words = Words::default();
        let (one, other) = (words.make(&[NIL]).unwrap(), words.make(&[NIL]).unwrap());
        let (shared, apart) = (words.make(&[one, one]).unwrap(), words.make(&[one, other]).unwrap());
        let [shared, apart] = [shared, apart].map(|root| fingerprint(root, |expression| words.children(expression)));
        assert_ne!(shared, apart);
    }
}
