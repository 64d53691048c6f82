//! A discrimination tree: the atoms of a space that have variables (rules, mostly), states or spaces in them.
//!
//! An atom is read from left to right as a sequence of steps: a leaf, the opening of an expression of some length,
//! or *anything* (a variable, a space). States are one leaf, whatever they hold, since that changes. Atoms that begin alike share a path. A query follows its own steps
//! and, beside them, every *anything* of the tree; a variable of the query skips whole subtrees. What it finds is a
//! superset of the answer, for unification to decide.
//!
//! A path has a bounded number of steps, since an atom whose parts are shared may have more of them than there is memory. Where it is cut,
//! nothing goes on, and all atoms that lie there are found, whatever a query asks of what follows.
//!
//! Atoms equal up to the names of their variables share an entry, with a count. A hash table finds the entry of an
//! atom, since many may lie at the end of one path (states, say). Paths that lead to no entry are taken back.

use crate::atom::{Atom, Symbol, alpha_equivalent};
use crate::canonical;
use crate::grounded::Grounded;
use crate::query::{PatternPart, extent};
use crate::stored::Stored;
use crate::term::Terms;
use hashbrown::HashTable;
use rustc_hash::FxHashMap;

/// How many steps a path has at most.
const STEPS_MAX: usize = 1 << 14;
/// How many nodes are looked at for the question whether an atom may match; then it may.
const LOOKS_MAX: usize = 256;
/// How many ways to go on are remembered for that question.
const WAYS_MAX: usize = 64;

/// The atoms of a space that are not rows.
#[derive(Clone, Default)]
pub struct PatternTree {
    nodes: Vec<PatternNode>,
    free_nodes: Vec<u32>,
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    /// Entries by their content hashes.
    table: HashTable<u32>,
}

#[derive(Clone, Default)]
struct PatternNode {
    steps: FxHashMap<PathStep, u32>,
    anything: Option<u32>,
    entries: Vec<u32>,
}

#[derive(Clone)]
struct Entry {
    stored: Stored,
    copies: u32,
    number: u64,
    hash: u64,
    /// The node at the end of its path, and where in its list of entries it stands.
    node: u32,
    position: u32,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum PathStep {
    /// A leaf, by equality of matching.
    Leaf(Leaf),
    /// An expression of this many children begins.
    Open(usize),
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Leaf {
    Symbol(Symbol),
    State,
    Bindings,
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
    /// Which entry of its tree it is.
    pub(crate) index: u32,
}

impl PatternTree {
    /// How many different atoms it holds.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Makes room for `more` more atoms.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.entries.reserve(more);
        self.nodes.reserve(more);
        let Self { entries, table, .. } = self;
        table.reserve(more, |&other| live(entries, other).hash);
    }

    /// Adds copies of an atom; `number` is used if it is new. Returns whether it was.
    pub fn add(&mut self, stored: Stored, copies: u32, number: u64) -> bool {
        self.add_hashed(hash_form(&stored), stored, copies, number)
    }

    /// Adds copies of an atom, given the hash of its form; `number` is used if the atom is new. Returns whether it was.
    pub(crate) fn add_hashed(&mut self, hash: u64, stored: Stored, copies: u32, number: u64) -> bool {
        if let Some(index) = self.index_of(hash, &stored) {
            let entry = self.entry_mut(index);
            entry.copies = entry.copies.checked_add(copies).expect("a space holds fewer than 2^32 copies of an atom");
            return false;
        }
        let node = self.path_to(&stored);
        let position = self.nodes[node as usize].entries.len() as u32;
        let entry = Some(Entry { stored, copies, number, hash, node, position });
        let index = match self.free.pop() {
            Some(index) => {
                self.entries[index as usize] = entry;
                index
            }
            None => {
                self.entries.push(entry);
                u32::try_from(self.entries.len() - 1).expect("a space holds fewer than 2^32 atoms with variables")
            }
        };
        self.nodes[node as usize].entries.push(index);
        let Self { entries, table, .. } = self;
        table.insert_unique(hash, index, |&other| live(entries, other).hash);
        true
    }

    /// Removes one copy of an atom, or else of the first that is equal to it up to the names of variables; gives it
    /// as it was stored, with its insertion number.
    pub fn remove(&mut self, stored: &Stored) -> Option<(Atom, u64)> {
        let first_equal = || self.equals(stored).into_iter().min_by_key(|found| found.number);
        let found = self.find(hash_form(stored), stored).or_else(first_equal)?;
        let (removed, index, left) = ((found.stored.atom.clone(), found.number), found.index, found.copies - 1);
        self.set(index, left);
        Some(removed)
    }

    /// Sets how many copies an entry has.
    pub(crate) fn set(&mut self, index: u32, copies: u32) {
        self.entry_mut(index).copies = copies;
        if copies == 0 {
            self.forget(index);
        }
    }

    /// Adds atoms of another tree, which are not in this one.
    pub(crate) fn take<'a>(&mut self, atoms: impl Iterator<Item = FoundPattern<'a>>) {
        for FoundPattern { stored, copies, number, .. } in atoms {
            self.add(stored.clone(), copies, number);
        }
    }

    /// How many copies there are of atoms equal to this one up to the names of variables.
    pub fn count(&self, stored: &Stored) -> usize {
        self.equals(stored).into_iter().map(|found| found.copies as usize).sum()
    }

    fn forget(&mut self, index: u32) {
        let entry = self.entries[index as usize].take().expect("a listed entry is live");
        self.free.push(index);
        if let Ok(slot) = self.table.find_entry(entry.hash, |&listed| listed == index) {
            slot.remove();
        }
        let listed = &mut self.nodes[entry.node as usize].entries;
        listed.swap_remove(entry.position as usize);
        if let Some(&moved) = listed.get(entry.position as usize) {
            self.entry_mut(moved).position = entry.position;
        }
        self.prune(&entry.stored);
    }

    /// Takes back the end of an atom's path, as far as nothing else needs it.
    fn prune(&mut self, stored: &Stored) {
        let mut path = Vec::new();
        let mut node = 0;
        for step in steps_of(&stored.atom) {
            let next = self.nodes[node as usize].target(step.as_ref()).expect("a stored atom has a path");
            path.push((node, step));
            node = next;
        }
        while self.nodes[node as usize].is_unused() {
            let Some((parent, step)) = path.pop() else { return };
            self.free_nodes.push(node);
            let edges = &mut self.nodes[parent as usize];
            match step {
                Some(step) => drop(edges.steps.remove(&step)),
                None => edges.anything = None,
            }
            if edges.steps.is_empty() {
                edges.steps = FxHashMap::default();
            }
            node = parent;
        }
    }

    /// The entry of exactly this atom.
    pub(crate) fn find(&self, hash: u64, stored: &Stored) -> Option<FoundPattern<'_>> {
        self.index_of(hash, stored).map(|index| self.found(index))
    }

    fn found(&self, index: u32) -> FoundPattern<'_> {
        live(&self.entries, index).found(index)
    }

    fn index_of(&self, hash: u64, stored: &Stored) -> Option<u32> {
        let is_same = |&index: &u32| live(&self.entries, index).stored.is_same(stored);
        self.table.find(hash, is_same).copied()
    }

    /// The entries of atoms equal to this one up to the names of variables.
    pub(crate) fn equals(&self, stored: &Stored) -> Vec<FoundPattern<'_>> {
        let mut node = 0;
        for step in steps_of(&stored.atom) {
            match self.nodes.get(node as usize).and_then(|edges| edges.target(step.as_ref())) {
                Some(next) => node = next,
                None => return Vec::new(),
            }
        }
        let listed = self.nodes.get(node as usize).map(|node| node.entries.as_slice()).unwrap_or_default();
        let is_equal = |index: &u32| alpha_equivalent(&live(&self.entries, *index).stored.atom, &stored.atom);
        listed.iter().copied().filter(is_equal).map(|index| self.found(index)).collect()
    }

    fn entry_mut(&mut self, index: u32) -> &mut Entry {
        self.entries[index as usize].as_mut().expect("a listed entry is live")
    }

    /// The atoms, the tree being given up.
    pub(crate) fn into_atoms(self) -> impl Iterator<Item = Atom> {
        self.entries.into_iter().flatten().map(|entry| entry.stored.atom)
    }

    /// All atoms, in no particular order.
    pub fn all(&self) -> impl Iterator<Item = FoundPattern<'_>> {
        let entries = self.entries.iter().zip(0..);
        entries.filter_map(|(entry, index)| Some(entry.as_ref()?.found(index)))
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
            if node.is_end() {
                found.extend(node.entries.iter().map(|&index| self.found(index)));
            } else if skip > 0 {
                node.skip(cursor, skip, &mut work);
            } else if let Some((atom, after)) = cursors.next(cursor) {
                node.follow(atom, cursors.inside(atom, after), after, &mut work);
            }
        }
        found
    }

    /// Up to `most` atoms that may match a query, in no particular order, and whether they are all of them, as far as `looks` looks at
    /// nodes tell. A node that leads on to one other leads to an atom whatever happens, so a long atom costs no looks. If a node leads on
    /// to more nodes than there are looks left, the others are not reached.
    pub(crate) fn few_candidates(&self, query: &Atom, most: usize, looks: usize) -> (Vec<FoundPattern<'_>>, bool) {
        let (mut found, mut is_all, mut left) = (Vec::new(), true, looks);
        if self.nodes.is_empty() {
            return (found, is_all);
        }
        let mut cursors = Cursors::new(query);
        let mut work = vec![(0_u32, Cursors::START, 0_usize)];
        while let Some((node, cursor, skip)) = work.pop() {
            let node = &self.nodes[node as usize];
            let before = work.len();
            if node.is_end() {
                let room = most - found.len();
                is_all &= node.entries.len() <= room;
                found.extend(node.entries.iter().take(room).map(|&index| self.found(index)));
            } else if skip > 0 {
                is_all &= node.skip_some(cursor, skip, left, &mut work);
            } else if let Some((atom, after)) = cursors.next(cursor) {
                is_all &= match step_of(atom) {
                    Some(_) => {
                        node.follow(atom, cursors.inside(atom, after), after, &mut work);
                        true
                    }
                    None => node.skip_some(after, 1, left, &mut work),
                };
            }
            if work.len() != before + 1 {
                left = left.saturating_sub(1);
            }
            if !work.is_empty() && (left == 0 || found.len() == most) {
                return (found, false);
            }
        }
        (found, is_all)
    }

    /// The atoms whose paths begin as a prefix does, an expression of which the length is not asked, and are longer: a superset
    /// of those that begin with its children, in no particular order.
    pub(crate) fn behind(&self, prefix: &Stored) -> Vec<FoundPattern<'_>> {
        let length = prefix.atom.children().unwrap_or_default().len();
        let root = self.nodes.first().into_iter().flat_map(|root| &root.steps);
        let longer = root.filter(|(step, _)| matches!(step, PathStep::Open(found) if *found > length));
        let begins = longer.filter_map(|(_, &node)| {
            let mut steps = steps_of(&prefix.atom).skip(1);
            steps.try_fold(node, |node, step| self.nodes[node as usize].target(step.as_ref()))
        });
        let (mut work, mut found): (Vec<u32>, Vec<FoundPattern<'_>>) = (begins.collect(), Vec::new());
        while let Some(node) = work.pop() {
            let node = &self.nodes[node as usize];
            found.extend(node.entries.iter().map(|&index| self.found(index)));
            work.extend(node.steps.values().copied().chain(node.anything));
        }
        found
    }

    /// Whether an atom may match a pattern of rows: `false` is certain.
    pub(crate) fn may_match(&self, parts: &[PatternPart], terms: &Terms) -> bool {
        let mut node = 0_u32;
        if self.nodes.is_empty() {
            return false;
        }
        for (at, part) in parts.iter().enumerate() {
            let edges = &self.nodes[node as usize];
            if edges.anything.is_some() {
                return self.may_match_from(node, &parts[at..], terms);
            }
            if edges.is_end() {
                return !edges.entries.is_empty();
            }
            let next = match part {
                PatternPart::Variable(_) | PatternPart::Parameter(_) | PatternPart::Any => {
                    return self.may_match_from(node, &parts[at..], terms);
                }
                // A snapshot knows fewer terms than the dictionary with which the query was prepared.
                PatternPart::Key(key) if key.number() as usize >= terms.len() => return !edges.steps.is_empty(),
                PatternPart::Open(length) => edges.steps.get(&PathStep::Open(*length as usize)),
                PatternPart::Key(key) => match terms.atom(*key) {
                    Atom::Expression(expression) => return edges.steps.contains_key(&PathStep::Open(expression.len())),
                    leaf => step_of(leaf).and_then(|step| edges.steps.get(&step)),
                },
            };
            match next {
                Some(&next) => node = next,
                None => return false,
            }
        }
        true
    }

    /// Whether an atom may match along the paths from a node on, where there are several ways to go.
    fn may_match_from(&self, node: u32, parts: &[PatternPart], terms: &Terms) -> bool {
        let mut ways = TreePaths::default();
        ways.add(node, 0, 0);
        let mut looks = 0;
        while let Some((node, at, skip)) = ways.next() {
            let edges = &self.nodes[node as usize];
            looks += 1 + if skip > 0 { edges.steps.len() } else { 0 };
            if looks > LOOKS_MAX || ways.are_too_many || !edges.entries.is_empty() {
                return true;
            }
            if skip > 0 {
                edges.skip_to(at, skip, &mut ways);
                edges.anything.into_iter().for_each(|next| ways.add(next, at, skip - 1));
                continue;
            }
            let Some(part) = parts.get(at) else { return true };
            let after = at + extent(&parts[at..]);
            edges.anything.into_iter().for_each(|next| ways.add(next, after, 0));
            let next = match part {
                PatternPart::Variable(_) | PatternPart::Parameter(_) | PatternPart::Any => {
                    edges.skip_to(after, 1, &mut ways);
                    continue;
                }
                PatternPart::Key(key) if key.number() as usize >= terms.len() => match edges.steps.is_empty() {
                    true => None,
                    false => return true,
                },
                PatternPart::Open(length) => edges.steps.get(&PathStep::Open(*length as usize)),
                PatternPart::Key(key) => match terms.atom(*key) {
                    Atom::Expression(expression) if edges.steps.contains_key(&PathStep::Open(expression.len())) => {
                        return true;
                    }
                    leaf => step_of(leaf).and_then(|step| edges.steps.get(&step)),
                },
            };
            next.into_iter().for_each(|&next| ways.add(next, at + 1, 0));
        }
        ways.are_too_many
    }

    fn path_to(&mut self, stored: &Stored) -> u32 {
        if self.nodes.is_empty() {
            self.nodes.push(PatternNode::default());
        }
        let mut node = 0;
        for step in steps_of(&stored.atom) {
            node = match self.nodes[node as usize].target(step.as_ref()) {
                Some(next) => next,
                None => self.grow(node, step),
            };
        }
        node
    }

    /// A new node at the end of a new edge.
    fn grow(&mut self, from: u32, step: Option<PathStep>) -> u32 {
        let next = self.free_nodes.pop().unwrap_or_else(|| {
            self.nodes.push(PatternNode::default());
            u32::try_from(self.nodes.len() - 1).expect("a tree has fewer than 2^32 nodes")
        });
        let edges = &mut self.nodes[from as usize];
        match step {
            Some(step) => drop(edges.steps.insert(step, next)),
            None => edges.anything = Some(next),
        }
        next
    }
}

fn live(entries: &[Option<Entry>], index: u32) -> &Entry {
    entries[index as usize].as_ref().expect("a listed entry is live")
}

pub(crate) fn hash_form(stored: &Stored) -> u64 {
    canonical::hash(&stored.atom) as u64
}

impl Entry {
    fn found(&self, index: u32) -> FoundPattern<'_> {
        FoundPattern { stored: &self.stored, copies: self.copies, number: self.number, index }
    }
}

/// Ways to go on through a tree: a node, how much of the pattern was read before it, and how many subterms of the tree are still
/// to be skipped.
struct TreePaths {
    ways: [(u32, u32, u32); WAYS_MAX],
    count: usize,
    are_too_many: bool,
}

impl Default for TreePaths {
    fn default() -> Self {
        Self { ways: [(0, 0, 0); WAYS_MAX], count: 0, are_too_many: false }
    }
}

impl TreePaths {
    fn add(&mut self, node: u32, at: usize, skip: usize) {
        match self.ways.get_mut(self.count) {
            Some(way) => {
                *way = (node, at as u32, skip as u32);
                self.count += 1;
            }
            None => self.are_too_many = true,
        }
    }

    fn next(&mut self) -> Option<(u32, usize, usize)> {
        self.count = self.count.checked_sub(1)?;
        let (node, at, skip) = self.ways[self.count];
        Some((node, at as usize, skip as usize))
    }
}

impl PatternNode {
    fn target(&self, step: Option<&PathStep>) -> Option<u32> {
        match step {
            Some(step) => self.steps.get(step).copied(),
            None => self.anything,
        }
    }

    /// Whether paths end here: all of an atom has been read, or as much of it as paths tell.
    fn is_end(&self) -> bool {
        self.steps.is_empty() && self.anything.is_none()
    }

    /// Whether no atom ends here or beyond.
    fn is_unused(&self) -> bool {
        self.entries.is_empty() && self.is_end()
    }

    /// Goes past one subterm of the tree, whatever it is.
    fn skip(&self, cursor: u32, skip: usize, work: &mut Vec<(u32, u32, usize)>) {
        for (step, &node) in &self.steps {
            let inside = if let PathStep::Open(length) = step { *length } else { 0 };
            work.push((node, cursor, skip - 1 + inside));
        }
        work.extend(self.anything.map(|node| (node, cursor, skip - 1)));
    }

    /// Candidates that are found by a bounded number of ways; says whether there are no more.
    fn skip_some(&self, cursor: u32, skip: usize, most: usize, work: &mut Vec<(u32, u32, usize)>) -> bool {
        work.extend(self.anything.map(|node| (node, cursor, skip - 1)));
        for (step, &node) in self.steps.iter().take(most) {
            let inside = if let PathStep::Open(length) = step { *length } else { 0 };
            work.push((node, cursor, skip - 1 + inside));
        }
        self.steps.len() <= most
    }

    /// The ways past one subterm of the tree, but for what may stand for anything.
    fn skip_to(&self, at: usize, skip: usize, ways: &mut TreePaths) {
        for (step, &node) in &self.steps {
            let inside = if let PathStep::Open(length) = step { *length } else { 0 };
            ways.add(node, at, skip - 1 + inside);
        }
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
fn step_of(atom: &Atom) -> Option<PathStep> {
    match atom {
        Atom::Variable(_) | Atom::Grounded(Grounded::Space(_)) => None,
        Atom::Grounded(Grounded::State(_)) => Some(PathStep::Leaf(Leaf::State)),
        Atom::Grounded(Grounded::Bindings(_)) => Some(PathStep::Leaf(Leaf::Bindings)),
        Atom::Symbol(symbol) => Some(PathStep::Leaf(Leaf::Symbol(symbol.clone()))),
        Atom::Grounded(_) => Some(PathStep::Leaf(Leaf::Value(atom.clone()))),
        Atom::Expression(expression) => Some(PathStep::Open(expression.len())),
    }
}

/// An atom as steps, in the order in which the tree reads it, as many as a path has.
fn steps_of(atom: &Atom) -> impl Iterator<Item = Option<PathStep>> {
    let mut work = vec![atom];
    let steps = std::iter::from_fn(move || {
        let atom = work.pop()?;
        work.extend(atom.children().unwrap_or_default().iter().rev());
        Some(step_of(atom))
    });
    steps.take(STEPS_MAX)
}
