//! The atoms of a space that are not rows (rules, mostly), in trees that snapshots share.
//!
//! Trees are what segments are to rows; see [`crate::Relation`]. The last one, the *head*, changes; the others are *sealed*.
//!
//! 1. A snapshot seals the head and shares all trees: no atom is copied.
//! 2. The first atom that is added after it begins a new head. A sealed tree that nothing else holds is taken back as the head. Of two
//!    neighbours of which the older is at most twice as large as the younger, one is made. So a change after a snapshot costs
//!    what it adds, and each atom is moved as often as the number of atoms has binary digits, at most.
//! 3. Copies that come and go of an atom in a sealed tree are counted beside it. A tree of which more than half is gone is made anew.
//!
//! Invariant: an atom has copies in one tree.

use crate::atom::Atom;
use crate::pattern_tree::{FoundPattern, PatternTree, hash_form};
use crate::query::PatternPart;
use crate::stored::Stored;
use crate::term::Terms;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Atoms with variables, states or spaces in them.
#[derive(Default)]
pub(crate) struct Patterns {
    sealed: Vec<Sealed>,
    head: PatternTree,
    /// How often atoms were added or removed.
    version: u64,
}

/// A tree that does not change, and how many copies there are now of entries whose number of copies did.
#[derive(Clone, Default)]
struct Sealed {
    tree: Arc<PatternTree>,
    changed: Arc<FxHashMap<u32, u32>>,
    /// How many entries have copies.
    live: usize,
}

impl Sealed {
    fn of(tree: PatternTree) -> Self {
        let live = tree.len();
        Self { tree: Arc::new(tree), changed: Arc::default(), live }
    }

    /// What was found, with its copies as they are now; `None` if there are none.
    fn now<'a>(&self, found: FoundPattern<'a>) -> Option<FoundPattern<'a>> {
        let copies = self.changed.get(&found.index).copied().unwrap_or(found.copies);
        (copies > 0).then_some(FoundPattern { copies, ..found })
    }

    /// All atoms that have copies, in no particular order.
    fn all(&self) -> impl Iterator<Item = FoundPattern<'_>> {
        self.tree.all().filter_map(|found| self.now(found))
    }

    fn set(&mut self, index: u32, copies: u32) {
        Arc::make_mut(&mut self.changed).insert(index, copies);
        self.live -= usize::from(copies == 0);
        if self.live < self.tree.len() / 2 {
            *self = Self::of(self.copied());
        }
    }

    /// A tree of the atoms that have copies.
    fn copied(&self) -> PatternTree {
        let mut tree = PatternTree::default();
        tree.reserve(self.live);
        tree.take(self.all());
        tree
    }

    /// The tree itself with its copies as they are now, if nothing else holds it, or else a copy.
    fn into_tree(self) -> PatternTree {
        let Self { tree, changed, live } = self;
        match Arc::try_unwrap(tree) {
            Ok(mut tree) => {
                changed.iter().for_each(|(&index, &copies)| tree.set(index, copies));
                tree
            }
            Err(tree) => Self { tree, changed, live }.copied(),
        }
    }
}

impl Patterns {
    /// A copy of these atoms: no change of one changes the other. Constant time.
    pub(crate) fn share(&mut self) -> Self {
        if !self.head.is_empty() {
            self.sealed.push(Sealed::of(std::mem::take(&mut self.head)));
        }
        self.shared()
    }

    /// The atoms of trees without a head, such as those of a snapshot, copied.
    pub(crate) fn shared(&self) -> Self {
        debug_assert!(self.head.is_empty(), "atoms are shared that may change");
        Self { sealed: self.sealed.clone(), head: PatternTree::default(), version: self.version }
    }

    /// How often atoms were added to it or removed.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Whether it holds none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head.is_empty() && self.sealed.iter().all(|part| part.live == 0)
    }

    /// Makes room for `more` more atoms.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.begin_head();
        self.head.reserve(more);
    }

    /// Adds copies of an atom; `number` is used if it is new. Returns whether it was.
    pub(crate) fn add(&mut self, stored: Stored, copies: u32, number: u64) -> bool {
        self.begin_head();
        self.version += 1;
        let hash = hash_form(&stored);
        for part in &mut self.sealed {
            let known = part.tree.find(hash, &stored).and_then(|found| part.now(found));
            if let Some((index, before)) = known.map(|found| (found.index, found.copies)) {
                let after = before.checked_add(copies).expect("a space holds fewer than 2^32 copies of an atom");
                part.set(index, after);
                return false;
            }
        }
        self.head.add_hashed(hash, stored, copies, number)
    }

    /// Removes one copy of an atom, or else of the first that is equal to it up to the names of variables; gives it as it was
    /// stored, with its insertion number. Nothing is copied if there is none.
    pub(crate) fn remove(&mut self, stored: &Stored) -> Option<(Atom, u64)> {
        self.take_back();
        let hash = hash_form(stored);
        let exact = self.parts(|tree| tree.find(hash, stored).into_iter().collect());
        let equal = || self.parts(|tree| tree.equals(stored)).min_by_key(|(_, found)| found.number);
        let (place, found) = { exact }.next().or_else(equal)?;
        let version = self.version + 1;
        let (removed, index, left) = ((found.stored.atom.clone(), found.number), found.index, found.copies - 1);
        match self.sealed.get_mut(place) {
            Some(part) => part.set(index, left),
            None => self.head.set(index, left),
        }
        self.version = version;
        Some(removed)
    }

    /// How many copies of exactly this atom it holds.
    pub(crate) fn copies(&self, stored: &Stored) -> u32 {
        let hash = hash_form(stored);
        self.parts(|tree| tree.find(hash, stored).into_iter().collect()).map(|(_, found)| found.copies).sum()
    }

    /// How many copies there are of atoms equal to this one up to the names of variables.
    pub(crate) fn count(&self, stored: &Stored) -> usize {
        self.parts(|tree| tree.equals(stored)).map(|(_, found)| found.copies as usize).sum()
    }

    /// The atoms that nothing else holds, the trees being given up.
    pub(crate) fn into_atoms(self) -> impl Iterator<Item = Atom> {
        let sealed = self.sealed.into_iter().filter_map(|part| Arc::into_inner(part.tree));
        sealed.chain([self.head]).flat_map(PatternTree::into_atoms)
    }

    /// All atoms, in no particular order.
    pub(crate) fn all(&self) -> impl Iterator<Item = FoundPattern<'_>> {
        self.sealed.iter().flat_map(Sealed::all).chain(self.head.all())
    }

    /// All atoms, in insertion order.
    pub(crate) fn in_order(&self) -> Vec<FoundPattern<'_>> {
        let mut found: Vec<FoundPattern<'_>> = self.all().collect();
        found.sort_unstable_by_key(|found| found.number);
        found
    }

    /// The atoms that may match a query, in no particular order; see [`PatternTree::candidates`].
    pub(crate) fn candidates(&self, query: &Atom) -> Vec<FoundPattern<'_>> {
        if self.sealed.is_empty() {
            return self.head.candidates(query);
        }
        self.parts(|tree| tree.candidates(query)).map(|(_, found)| found).collect()
    }

    /// Atoms that may match a query, and whether they are all of them; see [`PatternTree::few_candidates`].
    pub(crate) fn few_candidates(&self, query: &Atom, most: usize, looks: usize) -> (Vec<FoundPattern<'_>>, bool) {
        let (mut found, mut is_all) = self.head.few_candidates(query, most, looks);
        for part in &self.sealed {
            let (more, is_all_of_part) = part.tree.few_candidates(query, most, looks);
            found.extend(more.into_iter().filter_map(|found| part.now(found)));
            is_all &= is_all_of_part;
        }
        (found, is_all)
    }

    /// See [`PatternTree::behind`].
    pub(crate) fn behind(&self, prefix: &Stored) -> Vec<FoundPattern<'_>> {
        self.parts(|tree| tree.behind(prefix)).map(|(_, found)| found).collect()
    }

    /// Whether an atom may match a pattern of rows: `false` is certain.
    pub(crate) fn may_match(&self, parts: &[PatternPart], terms: &Terms) -> bool {
        self.sealed.iter().any(|part| part.tree.may_match(parts, terms)) || self.head.may_match(parts, terms)
    }

    /// What is found in each tree, copies as they are now, with the place of the tree; that of the head comes last.
    fn parts<'a>(
        &'a self,
        find: impl Fn(&'a PatternTree) -> Vec<FoundPattern<'a>> + Copy,
    ) -> impl Iterator<Item = (usize, FoundPattern<'a>)> {
        let in_part = move |(place, part): (usize, &'a Sealed)| {
            find(&part.tree).into_iter().filter_map(|found| part.now(found)).map(move |found| (place, found))
        };
        let head = find(&self.head).into_iter().map(|found| (self.sealed.len(), found));
        self.sealed.iter().enumerate().flat_map(in_part).chain(head)
    }

    /// Sees to it that a head which is still empty is the last of few trees.
    fn begin_head(&mut self) {
        if self.sealed.is_empty() || !self.head.is_empty() {
            return;
        }
        while let [.., older, younger] = self.sealed.as_slice()
            && older.live <= younger.live * 2
        {
            let younger = self.sealed.pop().expect("there are two");
            let mut joined = self.sealed.pop().expect("there are two").into_tree();
            joined.take(younger.all());
            self.sealed.push(Sealed::of(joined));
        }
        self.take_back();
    }

    /// Makes the last sealed tree the head, if there is no other and nothing else holds it.
    fn take_back(&mut self) {
        let is_own = |part: &Sealed| Arc::strong_count(&part.tree) == 1;
        if self.head.is_empty()
            && let Some(part) = self.sealed.pop_if(|part| is_own(part))
        {
            self.head = part.into_tree();
        }
    }
}
