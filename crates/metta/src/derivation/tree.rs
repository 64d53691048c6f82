//! Derivations as trees.

use space::{Atom, Bindings};

/// Why something holds: what it rests on, and what that rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Derivation {
    /// What holds: a fact, `(= CALL RESULT)`, a test, or a conjunction.
    pub conclusion: Atom,
    /// On what ground.
    pub ground: Ground,
    /// What the rule used, in order.
    pub premises: Vec<Derivation>,
}

/// On what ground something holds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Ground {
    /// It is in the space.
    Fact,
    /// A rule says so, which is in the space.
    Rule(Atom),
    /// The library says so, of numbers and truth values, or because something is not there.
    Test,
    /// Each of its parts holds.
    Conjunction,
}

/// A part of a derivation while it is searched for.
#[derive(Clone)]
pub(super) struct DerivationNode {
    pub(super) parent: usize,
    pub(super) conclusion: Atom,
    pub(super) ground: Ground,
}

/// The parent of what nothing rests on.
pub(super) const ROOT: usize = usize::MAX;

/// The trees of nodes that follow their parents, with what is bound put in.
pub(super) fn trees(nodes: &[DerivationNode], bindings: &Bindings) -> Vec<Derivation> {
    let mut made: Vec<Option<Derivation>> = nodes
        .iter()
        .map(|node| {
            let conclusion = bindings.resolve(&node.conclusion);
            Some(Derivation { conclusion, ground: node.ground.clone(), premises: Vec::new() })
        })
        .collect();
    let mut roots = Vec::new();
    // A node comes after its parent, so that all of its own premises have been put into it before.
    for place in (0..nodes.len()).rev() {
        let Some(derivation) = made[place].take() else { continue };
        match made.get_mut(nodes[place].parent) {
            Some(Some(parent)) => parent.premises.insert(0, derivation),
            _ => roots.insert(0, derivation),
        }
    }
    roots
}
