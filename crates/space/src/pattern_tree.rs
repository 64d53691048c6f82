//! A discrimination tree: the atoms of a space that have variables (rules, mostly), states or spaces in them.
//!
//! An atom is read from left to right as a sequence of steps: a leaf, the opening of an expression of some length,
//! or *anything* (a variable, a state, a space). Atoms that begin alike share a path. A query follows its own steps
//! and, beside them, every *anything* of the tree; a variable of the query skips whole subtrees. What it finds is a
//! superset of the answer, for unification to decide.
//!
//! Atoms equal up to the names of their variables share an entry, with a count.

use crate::atom::{Atom, Symbol};
use crate::grounded::Grounded;
use crate::space::Stored;
use rustc_hash::FxHashMap;

/// The atoms of a space that are not rows.
#[derive(Default)]
pub struct PatternTree {
    nodes: Vec<Node>,
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    live: usize,
}

#[derive(Default)]
struct Node {
    steps: FxHashMap<Step, u32>,
    anything: Option<u32>,
    entries: Vec<u32>,
}

struct Entry {
    stored: Stored,
    copies: u32,
    number: u64,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Step {
    /// A leaf, by equality of matching.
    Leaf(Leaf),
    /// An expression of this many children begins.
    Open(usize),
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Leaf {
    Symbol(Symbol),
    Value(Atom),
}

/// An atom found by a query.
pub struct FoundPattern<'a> {
    /// The atom, its variables numbered.
    pub stored: &'a Stored,
    /// How many copies of it there are.
    pub copies: u32,
    /// Its insertion number.
    pub number: u64,
}

impl PatternTree {
    /// How many different atoms it holds.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Adds a copy of an atom; `number` is used if it is new. Returns whether it was.
    pub fn add(&mut self, stored: Stored, number: u64) -> bool {
        let node = self.path_to(&stored);
        if let Some(entry) = self.same_entry(node, &stored) {
            self.entries[entry as usize].as_mut().expect("a listed entry is live").copies += 1;
            return false;
        }
        let entry = Some(Entry { stored, copies: 1, number });
        let index = match self.free.pop() {
            Some(index) => {
                self.entries[index as usize] = entry;
                index
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        self.nodes[node].entries.push(index);
        self.live += 1;
        true
    }

    /// Removes one copy of an atom; returns whether there was one.
    pub fn remove(&mut self, stored: &Stored) -> bool {
        let Some(node) = self.find_path(stored) else { return false };
        let Some(index) = self.same_entry(node, stored) else { return false };
        let entry = self.entries[index as usize].as_mut().expect("a listed entry is live");
        entry.copies -= 1;
        if entry.copies == 0 {
            self.entries[index as usize] = None;
            self.free.push(index);
            self.nodes[node].entries.retain(|&listed| listed != index);
            self.live -= 1;
        }
        true
    }

    /// All atoms, in no particular order.
    pub fn all(&self) -> impl Iterator<Item = FoundPattern<'_>> {
        self.entries.iter().flatten().map(Entry::found)
    }

    /// The atoms that may match a query, in no particular order. Only as much of the query is read as the tree has
    /// paths for.
    pub fn candidates(&self, query: &Atom) -> Vec<FoundPattern<'_>> {
        let mut found = Vec::new();
        if self.nodes.is_empty() {
            return found;
        }
        let mut cursors = Cursors::new(query);
        // A node, where the query stands, and how many subterms of the tree are still to be skipped.
        let mut work = vec![(0_u32, Cursors::START, 0_usize)];
        while let Some((node, cursor, skip)) = work.pop() {
            let node = &self.nodes[node as usize];
            if skip > 0 {
                node.skip(cursor, skip, &mut work);
            } else if let Some((atom, after)) = cursors.next(cursor) {
                node.follow(atom, cursors.inside(atom, after), after, &mut work);
            } else {
                let entries = node.entries.iter().map(|&index| self.entries[index as usize].as_ref());
                found.extend(entries.map(|entry| entry.expect("a listed entry is live").found()));
            }
        }
        found
    }

    fn path_to(&mut self, stored: &Stored) -> usize {
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        let mut node = 0;
        for step in steps_of(&stored.atom) {
            let next = self.nodes.len() as u32;
            let edges = &mut self.nodes[node];
            let target = match step {
                Some(step) => *edges.steps.entry(step).or_insert(next),
                None => *edges.anything.get_or_insert(next),
            };
            if target == next {
                self.nodes.push(Node::default());
            }
            node = target as usize;
        }
        node
    }

    fn find_path(&self, stored: &Stored) -> Option<usize> {
        let mut node = self.nodes.first().map(|_| 0)?;
        for step in steps_of(&stored.atom) {
            let edges = &self.nodes[node];
            let target = match step {
                Some(step) => *edges.steps.get(&step)?,
                None => edges.anything?,
            };
            node = target as usize;
        }
        Some(node)
    }

    fn same_entry(&self, node: usize, stored: &Stored) -> Option<u32> {
        let is_same = |index: &&u32| {
            let entry = self.entries[**index as usize].as_ref();
            entry.is_some_and(|entry| entry.stored.is_same(stored))
        };
        self.nodes[node].entries.iter().find(is_same).copied()
    }
}

impl Entry {
    fn found(&self) -> FoundPattern<'_> {
        FoundPattern { stored: &self.stored, copies: self.copies, number: self.number }
    }
}

impl Node {
    /// Goes past one subterm of the tree, whatever it is.
    fn skip(&self, cursor: u32, skip: usize, work: &mut Vec<(u32, u32, usize)>) {
        for (step, &node) in &self.steps {
            let inside = if let Step::Open(length) = step { *length } else { 0 };
            work.push((node, cursor, skip - 1 + inside));
        }
        work.extend(self.anything.map(|node| (node, cursor, skip - 1)));
    }

    /// Goes along one subterm of the query: into it (`inside`), or past it (`after`) where the tree has anything.
    fn follow(&self, atom: &Atom, inside: u32, after: u32, work: &mut Vec<(u32, u32, usize)>) {
        let Some(step) = step_of(atom) else {
            return self.skip(after, 1, work);
        };
        work.extend(self.steps.get(&step).map(|&node| (node, inside, 0)));
        work.extend(self.anything.map(|node| (node, after, 0)));
    }
}

/// Places in a query: lists of subterms still to be read, each followed by the list around it.
struct Cursors<'a> {
    lists: Vec<(&'a [Atom], u32)>,
}

impl<'a> Cursors<'a> {
    /// The place before the whole query.
    const START: u32 = 0;
    /// The place after the whole query.
    const END: u32 = u32::MAX;

    fn new(query: &'a Atom) -> Self {
        Self { lists: vec![(std::slice::from_ref(query), Self::END)] }
    }

    fn push(&mut self, list: &'a [Atom], around: u32) -> u32 {
        if list.is_empty() {
            return around;
        }
        self.lists.push((list, around));
        u32::try_from(self.lists.len() - 1).expect("a query is read in fewer than 2^32 steps")
    }

    /// The subterm at a place and the place after it; `None` at the end.
    fn next(&mut self, cursor: u32) -> Option<(&'a Atom, u32)> {
        let &(list, around) = self.lists.get(cursor as usize)?;
        let (first, rest) = list.split_first().expect("an empty list has no place");
        Some((first, self.push(rest, around)))
    }

    /// The place at the children of a subterm, which are followed by what comes after it.
    fn inside(&mut self, atom: &'a Atom, after: u32) -> u32 {
        self.push(atom.children().unwrap_or_default(), after)
    }
}

/// The step that a subterm begins with; `None` for what may stand for anything.
fn step_of(atom: &Atom) -> Option<Step> {
    match atom {
        Atom::Variable(_) | Atom::Grounded(Grounded::Space(_) | Grounded::State(_) | Grounded::Bindings(_)) => None,
        Atom::Symbol(symbol) => Some(Step::Leaf(Leaf::Symbol(symbol.clone()))),
        Atom::Grounded(_) => Some(Step::Leaf(Leaf::Value(atom.clone()))),
        Atom::Expression(expression) => Some(Step::Open(expression.len())),
    }
}

/// An atom as steps, in the order in which the tree reads it.
fn steps_of(atom: &Atom) -> impl Iterator<Item = Option<Step>> {
    let mut work = vec![atom];
    std::iter::from_fn(move || {
        let atom = work.pop()?;
        work.extend(atom.children().unwrap_or_default().iter().rev());
        Some(step_of(atom))
    })
}
