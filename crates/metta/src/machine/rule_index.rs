//! How the rules of a function that has many are found, as far as calls have asked: see [`super::indexed`].
//!
//! What is kept is code `C` by what an argument is, and the nodes at which arguments are looked at.

use rustc_hash::FxHashMap;
use space::Atom;

/// The most branches of a function that have no code of their own, since no rule names what they are for; if there are more, all are forgotten.
const BARREN_MAX: usize = 1 << 12;

/// The whole of an argument is looked at if it has no more parts than this.
pub(super) const PARTS_MAX: usize = 64;

/// How the rules of a function are found.
pub(super) struct RuleIndex<C> {
    pub(super) nodes: Vec<IndexNode<C>>,
    pub(super) branches: FxHashMap<Branch, Reached<C>>,
    /// The code of the rules that were found, by the places of their spaces and their insertion numbers.
    pub(super) code: FxHashMap<Box<[(u32, u64)]>, C>,
}

/// Where an argument is looked at, and what is known of the calls that come there.
pub(super) struct IndexNode<C> {
    /// Patterns of the arguments.
    pub(super) known: Vec<Atom>,
    /// What is looked at, the first first that says something.
    pub(super) places: Box<[Place]>,
    /// The code of all rules that are left.
    pub(super) all: Option<C>,
}

/// What is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// A leaf, or the head and the length of an expression.
    Outer(u16),
    /// An argument without variables, to its last part.
    Whole(u16),
}

/// A place of a node, and what is there.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Branch {
    pub(super) node: u32,
    pub(super) place: u32,
    pub(super) key: ArgumentKey,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum ArgumentKey {
    Word(u64),
    /// Numbers of different kinds that are equal are one value.
    Value(Atom),
}

/// Where a branch leads.
#[derive(Clone, Copy)]
pub(super) enum Reached<C> {
    Code(C),
    Node(u32),
}

impl<C: Copy> RuleIndex<C> {
    /// Nothing is known yet but where the first look is.
    pub(super) fn new(root: IndexNode<C>) -> Self {
        Self { nodes: vec![root], branches: FxHashMap::default(), code: FxHashMap::default() }
    }

    /// Forgets code that is gone.
    pub(super) fn retain(&mut self, is_there: impl Fn(C) -> bool) {
        self.branches.retain(|_, reached| match reached {
            Reached::Code(code) => is_there(*code),
            Reached::Node(_) => true,
        });
        self.code.retain(|_, code| is_there(*code));
        for node in &mut self.nodes {
            node.all = node.all.filter(|code| is_there(*code));
        }
    }

    /// Forgets the branches if most of them are for arguments that no rule names.
    #[inline]
    pub(super) fn prune(&mut self) {
        if self.branches.len() > 2 * self.code.len() + BARREN_MAX {
            self.branches.clear();
            self.nodes.truncate(1);
        }
    }
}

/// How many parts an atom has, itself left out, if they are no more than the bound.
pub(super) fn parts_of(atom: &Atom, most: usize) -> Option<usize> {
    let (mut work, mut parts) = (vec![atom], 0);
    while let Some(atom) = work.pop() {
        let children = atom.children().unwrap_or_default();
        parts += children.len();
        if parts > most {
            return None;
        }
        work.extend(children);
    }
    Some(parts)
}
