//! Terms: interned rigid atoms.
//!
//! Each distinct atom has one term, a 32-bit number given in the order of first sight; an expression is known by
//! the terms of its children. Kinds are kept apart: `1`, `1.0`, `"1"` and the symbol of that name are four terms.
//!
//! Beside it each term has a *match key*: the term that stands for all atoms that match it. It differs from the
//! term itself only below a float that equals an integer: `(q (r 1.0))` has the key of `(q (r 1))`.
//!
//! Terms are local to one dictionary and never leave a process; [`crate::canonical`] is the form that does.

use crate::atom::{Atom, Expression, Known};
use crate::canonical::{hash_of_expression, hash_of_leaf};
use crate::grounded::Grounded;
use crate::number::Number;
use crate::numbers::Numbers;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, RwLock};

/// An interned atom. Equal terms of one dictionary are identical atoms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Term(u32);

impl Term {
    /// The term of a number that a dictionary has given out.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// A dictionary shared by the spaces of one knowledge base.
pub type SharedTerms = Arc<RwLock<Terms>>;

/// The dictionary of terms.
pub struct Terms {
    /// What tells this dictionary from every other of the process.
    serial: u32,
    entries: Vec<Entry>,
    /// The children of all compound terms, one after the other.
    children: Vec<Term>,
    table: Numbers,
    /// The content hashes of the first entries, as far as they were asked for, each in two halves.
    hashes: Vec<[u64; 2]>,
}

struct Entry {
    atom: Atom,
    key: Term,
    /// The number of children; [`LEAF`] for what is no compound.
    length: u32,
    first_child: usize,
}

/// In place of a number of children.
const LEAF: u32 = u32::MAX;

impl Default for Terms {
    fn default() -> Self {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let serial = LAST.fetch_add(1, Relaxed).checked_add(1).expect("a process makes fewer than 2^32 dictionaries");
        Self { serial, entries: Vec::new(), children: Vec::new(), table: Numbers::default(), hashes: Vec::new() }
    }
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
        (entry.length != LEAF).then(|| self.children_of(entry))
    }

    fn children_of(&self, entry: &Entry) -> &[Term] {
        &self.children[entry.first_child..entry.first_child + entry.length as usize]
    }

    /// The content hash of a term's atom, as [`crate::canonical::hash`] has it; computed once.
    pub fn hash(&mut self, term: Term) -> u128 {
        // Children have smaller numbers than their parents, so their hashes are there.
        while self.hashes.len() <= term.0 as usize {
            let entry = &self.entries[self.hashes.len()];
            let hash = match entry.length {
                LEAF => hash_of_leaf(&entry.atom),
                _ => hash_of_expression(self.children_of(entry).iter().map(|&child| self.known_hash(child))),
            };
            self.hashes.push([hash as u64, (hash >> 64) as u64]);
        }
        self.known_hash(term)
    }

    fn known_hash(&self, term: Term) -> u128 {
        let [low, high] = self.hashes[term.0 as usize];
        u128::from(high) << 64 | u128::from(low)
    }

    /// The content hash of the expression of these children.
    pub(crate) fn hash_of_row(&mut self, row: &[Term]) -> u128 {
        hash_of_expression(row.iter().map(|&child| self.hash(child)))
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
        let term = fold(atom, self.serial, &mut |visit| Some(self.intern_one(visit)));
        term.expect("interning always succeeds")
    }

    /// The term of a rigid atom that is no expression, made if need be.
    pub fn intern_leaf(&mut self, leaf: &Atom) -> Term {
        debug_assert!(leaf.is_rigid() && leaf.children().is_none(), "only rigid leaves are interned here");
        self.intern_one(Visit::Leaf(leaf))
    }

    /// The term with which a rigid atom is equal, kind and all; `None` when it was never interned.
    pub fn find(&self, atom: &Atom) -> Option<Term> {
        fold(atom, self.serial, &mut |visit| self.find_one(&visit))
    }

    /// The match key of a rigid atom; `None` when nothing interned matches it.
    pub fn find_key(&self, atom: &Atom) -> Option<Term> {
        fold(atom, self.serial, &mut |visit| match visit {
            Visit::Leaf(leaf) => self.find_one(&Visit::Leaf(&normalized(leaf))),
            Visit::Known(term) => Some(self.key(term)),
            node => self.find_one(&node),
        })
    }

    /// The term of the symbol of this name, made if need be.
    pub fn intern_symbol(&mut self, name: &str) -> Term {
        self.intern_one(Visit::Symbol(name))
    }

    /// The term of the expression of these children, made if need be.
    pub fn intern_row(&mut self, children: &[Term]) -> Term {
        self.intern_one(Visit::Row(children))
    }

    /// The term of the expression of these children; `None` when it was never interned.
    pub fn find_row(&self, children: &[Term]) -> Option<Term> {
        self.find_one(&Visit::Row(children))
    }

    fn find_one(&self, visit: &Visit<'_>) -> Option<Term> {
        if let Visit::Known(term) = visit {
            return Some(*term);
        }
        self.table.find(hash_visit(visit), |index| self.is_entry(index, visit)).map(Term)
    }

    fn is_entry(&self, index: u32, visit: &Visit<'_>) -> bool {
        match visit {
            Visit::Leaf(leaf) => is_same_leaf(&self.entries[index as usize].atom, leaf),
            Visit::Symbol(name) => self.entries[index as usize].atom.is_symbol(name),
            Visit::Node(_, children) | Visit::Row(children) => self.children(Term(index)) == Some(children),
            Visit::Known(term) => term.0 == index,
        }
    }

    fn intern_one(&mut self, visit: Visit<'_>) -> Term {
        let term = self.find_one(&visit).unwrap_or_else(|| self.intern_new(&visit));
        if let Visit::Node(expression, _) = visit {
            expression.set_known(Known { dictionary: self.serial, term: term.0 });
        }
        term
    }

    fn intern_new(&mut self, visit: &Visit<'_>) -> Term {
        let key = self.key_of_new(visit);
        let index = u32::try_from(self.entries.len()).expect("a dictionary holds at most 2^32 terms");
        let first_child = self.children.len();
        let (atom, length) = match visit {
            Visit::Leaf(leaf) => ((*leaf).clone(), LEAF),
            Visit::Symbol(name) => (Atom::symbol(name), LEAF),
            Visit::Node(_, children) | Visit::Row(children) => {
                self.children.extend_from_slice(children);
                let own = self.share_children(children);
                own.set_known(Known { dictionary: self.serial, term: index });
                (Atom::Expression(own), children.len() as u32)
            }
            Visit::Known(_) => unreachable!("a known expression is found"),
        };
        self.entries.push(Entry { atom, key: key.unwrap_or(Term(index)), length, first_child });
        self.table.insert(hash_visit(visit), index);
        Term(index)
    }

    /// The expression built from the dictionary's own atoms, so that equal parts are stored once.
    fn share_children(&self, children: &[Term]) -> Expression {
        Expression::new(children.iter().map(|&child| self.atom(child).clone()).collect())
    }

    /// The match key of an atom about to be added, when that is another term.
    fn key_of_new(&mut self, visit: &Visit<'_>) -> Option<Term> {
        match visit {
            Visit::Leaf(leaf) => {
                let normal = normalized(leaf);
                (!is_same_leaf(&normal, leaf)).then(|| self.intern_one(Visit::Leaf(&normal)))
            }
            Visit::Symbol(_) => None,
            Visit::Node(_, children) | Visit::Row(children) => {
                let keys: Vec<Term> = children.iter().map(|&child| self.key(child)).collect();
                if keys == *children {
                    return None;
                }
                Some(self.intern_one(Visit::Row(&keys)))
            }
            Visit::Known(_) => unreachable!("a known expression is found"),
        }
    }
}

/// What a walk over an atom meets, children before their parents.
enum Visit<'a> {
    Leaf(&'a Atom),
    /// A symbol of which only the name is there.
    Symbol(&'a str),
    Node(&'a Expression, &'a [Term]),
    /// An expression of which only the children's terms are there.
    Row(&'a [Term]),
    /// An expression that the dictionary has interned before, children and all.
    Known(Term),
}

/// Walks an atom from the leaves up; `step` names each part, and `None` ends the walk. Expressions known to the
/// dictionary of this serial number are not walked again: each part that atoms share is walked once.
fn fold(atom: &Atom, serial: u32, step: &mut dyn FnMut(Visit<'_>) -> Option<Term>) -> Option<Term> {
    if !matches!(atom, Atom::Expression(_)) {
        return step(Visit::Leaf(atom));
    }
    let mut open: Vec<(&Expression, usize)> = Vec::new();
    let mut terms: Vec<Term> = Vec::new();
    let mut current = atom;
    loop {
        match current {
            Atom::Expression(expression) => match expression.known().filter(|known| known.dictionary == serial) {
                Some(known) => terms.push(step(Visit::Known(Term(known.term)))?),
                None => open.push((expression, 0)),
            },
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
        Visit::Symbol(name) => hash_symbol(name),
        Visit::Node(_, children) | Visit::Row(children) => hash_children(children),
        Visit::Known(_) => unreachable!("a known expression is not looked up"),
    }
}

/// What [`hash_leaf`] gives for the symbol.
fn hash_symbol(name: &str) -> u64 {
    let mut hasher = FxHasher::default();
    name.hash(&mut hasher);
    hasher.finish()
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
