//! Terms: interned rigid atoms.
//!
//! Each distinct atom has one term, a 32-bit number given in the order of first sight; an expression is known by
//! the terms of its children. Kinds are kept apart: `1`, `1.0`, `"1"` and the symbol of that name are four terms.
//!
//! Beside it each term has a *match key*: the term that stands for all atoms that match it. It differs from the
//! term itself only below a float that equals an integer: `(q (r 1.0))` has the key of `(q (r 1))`.
//!
//! Terms are local to one dictionary and never leave a process; [`crate::canonical`] is the form that does.

use crate::atom::{Atom, Expression};
use crate::grounded::Grounded;
use crate::number::Number;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, RwLock};

/// An interned atom. Equal terms of one dictionary are identical atoms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Term(u32);

/// A dictionary shared by the spaces of one knowledge base.
pub type SharedTerms = Arc<RwLock<Terms>>;

/// The dictionary of terms.
#[derive(Default)]
pub struct Terms {
    entries: Vec<Entry>,
    /// The children of all compound terms, one after the other.
    children: Vec<Term>,
    table: HashTable<u32>,
}

struct Entry {
    atom: Atom,
    key: Term,
    first_child: usize,
    /// The number of children; `None` for a leaf.
    length: Option<u32>,
}

impl Terms {
    /// An empty dictionary, to be shared.
    pub fn shared() -> SharedTerms {
        SharedTerms::default()
    }

    /// How many terms it holds.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The atom of a term.
    pub fn atom(&self, term: Term) -> &Atom {
        &self.entry(term).atom
    }

    /// The match key of a term.
    pub fn key(&self, term: Term) -> Term {
        self.entry(term).key
    }

    /// The children of a compound term; `None` for a leaf.
    pub fn children(&self, term: Term) -> Option<&[Term]> {
        let entry = self.entry(term);
        let length = entry.length? as usize;
        Some(&self.children[entry.first_child..entry.first_child + length])
    }

    fn entry(&self, term: Term) -> &Entry {
        &self.entries[term.0 as usize]
    }

    /// The term of a rigid atom, made if need be.
    ///
    /// # Panics
    /// If the atom is not rigid, or at 2^32 terms.
    pub fn intern(&mut self, atom: &Atom) -> Term {
        assert!(atom.is_rigid(), "only rigid atoms are interned");
        let term = fold(atom, &mut |visit| Some(self.intern_one(visit)));
        term.expect("interning always succeeds")
    }

    /// The term with which a rigid atom is equal, kind and all; `None` when it was never interned.
    pub fn find(&self, atom: &Atom) -> Option<Term> {
        fold(atom, &mut |visit| self.find_one(&visit))
    }

    /// The match key of a rigid atom; `None` when nothing interned matches it.
    pub fn find_key(&self, atom: &Atom) -> Option<Term> {
        fold(atom, &mut |visit| match visit {
            Visit::Leaf(leaf) => self.find_one(&Visit::Leaf(&normalized(leaf))),
            node => self.find_one(&node),
        })
    }

    fn find_one(&self, visit: &Visit<'_>) -> Option<Term> {
        let found = self.table.find(hash_visit(visit), |&index| self.is_entry(index, visit));
        found.map(|&index| Term(index))
    }

    fn is_entry(&self, index: u32, visit: &Visit<'_>) -> bool {
        match visit {
            Visit::Leaf(leaf) => is_same_leaf(&self.entries[index as usize].atom, leaf),
            Visit::Node(_, children) => self.children(Term(index)) == Some(children),
        }
    }

    fn intern_one(&mut self, visit: Visit<'_>) -> Term {
        if let Some(term) = self.find_one(&visit) {
            return term;
        }
        let key = self.key_of_new(&visit);
        let index = u32::try_from(self.entries.len()).expect("a dictionary holds at most 2^32 terms");
        let first_child = self.children.len();
        let (atom, length) = match &visit {
            Visit::Leaf(leaf) => ((*leaf).clone(), None),
            Visit::Node(expression, children) => {
                self.children.extend_from_slice(children);
                (self.share_children(expression, children), Some(children.len() as u32))
            }
        };
        self.entries.push(Entry { atom, key: key.unwrap_or(Term(index)), first_child, length });
        let Self { entries, children, table } = self;
        table.insert_unique(hash_visit(&visit), index, |&other| rehash(entries, children, other));
        Term(index)
    }

    /// The expression built from the dictionary's own atoms, so that equal parts are stored once.
    fn share_children(&self, expression: &Expression, children: &[Term]) -> Atom {
        let shared: Vec<Atom> = children.iter().map(|&child| self.atom(child).clone()).collect();
        debug_assert_eq!(shared.len(), expression.len());
        Atom::expression(shared)
    }

    /// The match key of an atom about to be added, when that is another term.
    fn key_of_new(&mut self, visit: &Visit<'_>) -> Option<Term> {
        match visit {
            Visit::Leaf(leaf) => {
                let normal = normalized(leaf);
                (!is_same_leaf(&normal, leaf)).then(|| self.intern_one(Visit::Leaf(&normal)))
            }
            Visit::Node(_, children) => {
                let keys: Vec<Term> = children.iter().map(|&child| self.key(child)).collect();
                if keys == *children {
                    return None;
                }
                let atoms: Vec<Atom> = keys.iter().map(|&key| self.atom(key).clone()).collect();
                let expression = Expression::new(atoms);
                Some(self.intern_one(Visit::Node(&expression, &keys)))
            }
        }
    }
}

/// What a walk over an atom meets, children before their parents.
enum Visit<'a> {
    Leaf(&'a Atom),
    Node(&'a Expression, &'a [Term]),
}

/// Walks an atom from the leaves up; `step` names each part, and `None` ends the walk.
fn fold(atom: &Atom, step: &mut dyn FnMut(Visit<'_>) -> Option<Term>) -> Option<Term> {
    let mut open: Vec<(&Expression, usize)> = Vec::new();
    let mut terms: Vec<Term> = Vec::new();
    let mut current = atom;
    loop {
        match current {
            Atom::Expression(expression) => open.push((expression, 0)),
            leaf => terms.push(step(Visit::Leaf(leaf))?),
        }
        loop {
            let Some((expression, next)) = open.last_mut() else { return terms.pop() };
            if let Some(child) = expression.children().get(*next) {
                *next += 1;
                current = child;
                break;
            }
            let from = terms.len() - expression.len();
            let term = step(Visit::Node(expression, &terms[from..]))?;
            terms.truncate(from);
            terms.push(term);
            open.pop();
        }
    }
}

/// The leaf that stands for all leaves equal to this one.
fn normalized(leaf: &Atom) -> Atom {
    match leaf {
        Atom::Grounded(Grounded::Number(number)) => Atom::from(number.normalized()),
        other => other.clone(),
    }
}

/// Equality that keeps kinds apart.
fn is_same_leaf(left: &Atom, right: &Atom) -> bool {
    match (left, right) {
        (Atom::Grounded(Grounded::Number(left)), Atom::Grounded(Grounded::Number(right))) => match (left, right) {
            (Number::Float(left), Number::Float(right)) => left.to_bits() == right.to_bits(),
            _ => left.is_float() == right.is_float() && left == right,
        },
        (Atom::Expression(_), _) | (_, Atom::Expression(_)) => false,
        _ => left == right,
    }
}

fn hash_visit(visit: &Visit<'_>) -> u64 {
    match visit {
        Visit::Leaf(leaf) => hash_leaf(leaf),
        Visit::Node(_, children) => hash_children(children),
    }
}

fn rehash(entries: &[Entry], children: &[Term], index: u32) -> u64 {
    let entry = &entries[index as usize];
    match entry.length {
        None => hash_leaf(&entry.atom),
        Some(length) => hash_children(&children[entry.first_child..entry.first_child + length as usize]),
    }
}

fn hash_leaf(leaf: &Atom) -> u64 {
    let mut hasher = FxHasher::default();
    leaf.hash(&mut hasher);
    if let Atom::Grounded(Grounded::Number(number)) = leaf {
        number.is_float().hash(&mut hasher);
    }
    hasher.finish()
}

fn hash_children(children: &[Term]) -> u64 {
    let mut hasher = FxHasher::default();
    children.hash(&mut hasher);
    hasher.finish()
}
