//! Terms: interned rigid atoms.
//!
//! Each distinct atom has one term, a 32-bit number given in the order of first sight; an expression is known by
//! the terms of its children. Kinds are kept apart: `1`, `1.0`, `"1"` and the symbol of that name are four terms.
//!
//! Beside it each term has a *match key*: the term that stands for all atoms that match it. It differs from the
//! term itself only below a float that equals an integer: `(q (r 1.0))` has the key of `(q (r 1))`.
//!
//! Terms are local to one dictionary and never leave a process; [`crate::canonical`] is the form that does.

mod integers;
mod mapped;
mod segment;
mod write;

use crate::atom::{Atom, CachedTerm, Expression};
use crate::canonical::{self, hash_of_expression, hash_of_leaf, hash_of_symbol};
use crate::grounded::Grounded;
use crate::number::Number;
pub(crate) use mapped::MappedTerms;
pub use mapped::ResolveHost;
use mapped::Sought;
use rustc_hash::{FxHashMap, FxHasher};
pub(crate) use segment::{Content, Entry, SoughtName};
use segment::{TermSegment, hash_of_word, integer_word};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, RwLock, RwLockReadGuard};
pub(crate) use write::{LiveTerms, write_terms};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// An interned atom. Equal terms of one dictionary are identical atoms.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(transparent)]
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

/// A dictionary that is locked for reading when it is first needed.
pub struct DictionaryReader<'a> {
    shared: &'a SharedTerms,
    guard: Option<RwLockReadGuard<'a, Terms>>,
}

impl<'a> DictionaryReader<'a> {
    /// Reads this dictionary, which is not locked yet.
    pub fn new(shared: &'a SharedTerms) -> Self {
        Self { shared, guard: None }
    }

    /// The terms, locked from now on.
    #[inline]
    pub fn terms(&mut self) -> &Terms {
        self.guard.get_or_insert_with(|| self.shared.read().expect("no panic while terms are locked"))
    }

    /// Whether it reads this dictionary.
    pub(crate) fn is_of(&self, shared: &SharedTerms) -> bool {
        Arc::ptr_eq(self.shared, shared)
    }
}

/// A dictionary in which each term is its own match key: what comparing rows needs if no key of theirs differs.
pub(crate) static WITHOUT_KEYS: LazyLock<Terms> = LazyLock::new(Terms::default);

/// The dictionary of terms.
///
/// Its terms lie in *parts*, as the rows of a relation lie in segments: the last one, the *head*, takes new terms, the
/// others are sealed and shared with snapshots. The first terms may lie in an image.
pub struct Terms {
    /// What tells this dictionary from every other of the process.
    serial: u32,
    /// The dictionary that its first terms come from, and how many those are.
    origin: Option<(u32, u32)>,
    /// The first terms, if they lie in an image.
    mapped: Option<Arc<MappedTerms>>,
    sealed: Vec<Arc<TermSegment>>,
    head: TermSegment,
    /// Whether a term has another match key than itself.
    has_keys: bool,
    /// The content hashes of the first terms that lie in no image, as far as they were needed, each in two halves.
    hashes: Vec<[u64; 2]>,
    /// Room for the canonical bytes of an integer that is hashed.
    integer: Vec<u8>,
}

/// Expressions up to this length are interned without a list of what is still to be walked.
const FLAT_MAX: usize = 8;

impl Default for Terms {
    fn default() -> Self {
        let head = TermSegment::default();
        Self {
            serial: next_serial(),
            origin: None,
            mapped: None,
            sealed: Vec::new(),
            head,
            has_keys: false,
            hashes: Vec::new(),
            integer: Vec::new(),
        }
    }
}

fn next_serial() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let serial = LAST.fetch_add(1, Relaxed) + 1;
    assert!(serial < 1 << 31, "a process makes fewer than 2^31 dictionaries");
    serial
}

impl Terms {
    /// An empty dictionary, to be shared.
    pub fn shared() -> SharedTerms {
        SharedTerms::default()
    }

    /// How many terms it holds.
    pub fn len(&self) -> usize {
        self.head.base as usize + self.head.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The terms there are now, for good. Constant time; nothing may be interned in what it gives.
    pub(crate) fn share(&mut self) -> Self {
        if self.head.len() > 0 {
            let next = TermSegment::from(self.len() as u32);
            self.sealed.push(Arc::new(std::mem::replace(&mut self.head, next)));
        }
        let (sealed, head) = (self.sealed.clone(), TermSegment::from(self.head.base));
        let (Self { serial, origin, has_keys, .. }, mapped) = (&*self, self.mapped.clone());
        let (serial, origin, has_keys) = (*serial, *origin, *has_keys);
        Self { serial, origin, mapped, sealed, head, has_keys, hashes: Vec::new(), integer: Vec::new() }
    }

    /// A dictionary that begins with the terms of a snapshot and then grows alone. Constant time.
    pub(crate) fn fork(&self) -> Self {
        debug_assert!(self.head.len() == 0, "terms are shared that may still be joined by others");
        let next = self.len() as u32;
        let (sealed, head) = (self.sealed.clone(), TermSegment::from(next));
        let (origin, has_keys, mapped) = (Some((self.serial, next)), self.has_keys, self.mapped.clone());
        Self { serial: next_serial(), origin, mapped, sealed, head, has_keys, hashes: Vec::new(), integer: Vec::new() }
    }

    /// A dictionary that begins with the terms of an image and then grows.
    pub(crate) fn of_image(mapped: Arc<MappedTerms>) -> Self {
        let (head, has_keys) = (TermSegment::from(mapped.len()), mapped.has_keys());
        Self { mapped: Some(mapped), head, has_keys, ..Self::default() }
    }

    /// How many of its first terms are those that the library takes, if it began with an image.
    pub fn foundation(&self) -> Option<u32> {
        self.mapped.as_ref().map(|mapped| mapped.foundation())
    }

    /// How many of its first terms lie in an image.
    #[inline]
    fn mapped_len(&self) -> u32 {
        self.mapped.as_ref().map_or(0, |mapped| mapped.len())
    }

    /// Whether both are the same dictionary, at two moments perhaps.
    pub(crate) fn is_of_one_dictionary(&self, other: &Self) -> bool {
        self.serial == other.serial
    }

    /// Whether each term of a snapshot's dictionary is the same term here, because this one began as a fork of that or of a later
    /// one.
    pub(crate) fn begins_with(&self, snapshot: &Self) -> bool {
        self.origin.is_some_and(|(serial, length)| serial == snapshot.serial && snapshot.len() <= length as usize)
    }

    /// Sees to it that a head which is still empty is the last of few parts; see [`Relation`](crate::Relation).
    fn begin_head(&mut self) {
        // What a fork began with is shared with others, who join it.
        if self.sealed.is_empty() || self.head.len() > 0 || self.origin.is_some() {
            return;
        }
        while let [.., older, younger] = self.sealed.as_slice()
            && older.len() <= younger.len() * 2
        {
            let younger = self.sealed.pop().expect("there are two");
            let older = self.sealed.pop().expect("there are two");
            let mut joined = Arc::try_unwrap(older).unwrap_or_else(|older| {
                let mut copy = TermSegment::from(older.base);
                copy.take(&older);
                copy
            });
            joined.take(&younger);
            self.sealed.push(Arc::new(joined));
        }
        match self.sealed.pop().map(Arc::try_unwrap) {
            Some(Ok(part)) => self.head = part,
            Some(Err(part)) => self.sealed.push(part),
            None => {}
        }
    }

    /// The part of a term.
    #[inline]
    fn part(&self, term: Term) -> TermPart<'_> {
        if term.0 >= self.head.base {
            return TermPart::Made(&self.head);
        }
        let after = self.sealed.partition_point(|part| part.base <= term.0);
        match (after.checked_sub(1), &self.mapped) {
            (Some(place), _) => TermPart::Made(&self.sealed[place]),
            (None, Some(mapped)) => TermPart::Mapped(mapped),
            (None, None) => unreachable!("the first part begins with the first term"),
        }
    }

    /// The atom of a term. It is made when it is first needed, and kept.
    #[inline]
    pub fn atom(&self, term: Term) -> &Atom {
        self.part(term).kept(term).unwrap_or_else(|| self.make(term))
    }

    /// Makes the atom of a term, after those of the compounds inside, which costs heap and not native stack.
    #[cold]
    fn make(&self, term: Term) -> &Atom {
        if self.children(term).is_none() {
            return self.part(term).keep(term, || self.made(term));
        }
        let mut work = vec![term];
        while let Some(&next) = work.last() {
            let open = work.len();
            if let (Some(children), None) = (self.children(next), self.part(next).kept(next)) {
                let is_missing =
                    |child: &Term| self.children(*child).is_some() && self.part(*child).kept(*child).is_none();
                work.extend(children.iter().copied().filter(is_missing));
            }
            if work.len() == open {
                self.part(next).keep(next, || self.made(next));
                work.pop();
            }
        }
        self.part(term).kept(term).expect("it was made")
    }

    /// The atom of a term, for which those of the compounds inside are there.
    fn made(&self, term: Term) -> Atom {
        match self.part(term).entry(term) {
            Entry::Symbol(name) => Atom::symbol(name),
            Entry::Integer(value) => Atom::from(value),
            Entry::Other(atom) => atom.clone(),
            Entry::Compound(children) => {
                let children = children.iter().map(|&child| self.atom(child).clone()).collect();
                segment::expression(children, CachedTerm { dictionary: self.serial, term: term.0 })
            }
        }
    }

    /// Whether a term has another match key than itself.
    #[inline]
    pub(crate) fn has_keys(&self) -> bool {
        self.has_keys
    }

    /// The match key of a term.
    #[inline]
    pub fn key(&self, term: Term) -> Term {
        if self.has_keys { self.other_key(term) } else { term }
    }

    #[inline(never)]
    fn other_key(&self, term: Term) -> Term {
        self.part(term).key(term)
    }

    /// The children of a compound term; `None` for a leaf.
    #[inline]
    pub fn children(&self, term: Term) -> Option<&[Term]> {
        self.part(term).children(term)
    }

    /// What the canonical bytes and the content hash of a term are made of.
    #[inline]
    pub(crate) fn content(&self, term: Term) -> Content<'_> {
        self.part(term).content(term)
    }

    /// The content hash of a term's atom, as [`crate::canonical::hash`] has it; computed once.
    #[inline]
    pub fn hash(&mut self, term: Term) -> u128 {
        if self.mapped_len() as usize + self.hashes.len() <= term.0 as usize {
            self.make_hashes(term);
        }
        self.known_hash(term)
    }

    /// Computes the hashes of all terms up to this one. Children have smaller numbers than their parents, so that theirs are there.
    fn make_hashes(&mut self, last: Term) {
        let mut bytes = std::mem::take(&mut self.integer);
        let mapped = self.mapped_len();
        while mapped as usize + self.hashes.len() <= last.0 as usize {
            let hash = match self.content(Term(mapped + self.hashes.len() as u32)) {
                Content::Compound(children) => hash_of_expression(children.iter().map(|&child| self.known_hash(child))),
                Content::Name(name) => hash_of_symbol(name),
                Content::Integer(value) => canonical::hash_of_integer(value, &mut bytes),
                Content::Other(atom) => hash_of_leaf(atom),
            };
            self.hashes.push([hash as u64, (hash >> 64) as u64]);
        }
        self.integer = bytes;
    }

    #[inline]
    fn known_hash(&self, term: Term) -> u128 {
        let Some(place) = term.0.checked_sub(self.mapped_len()) else { return self.mapped_hash(term) };
        let [low, high] = self.hashes[place as usize];
        u128::from(high) << 64 | u128::from(low)
    }

    #[cold]
    fn mapped_hash(&self, term: Term) -> u128 {
        self.mapped.as_ref().expect("the term lies in an image").hash(term)
    }

    /// The content hash of the expression of these children.
    pub(crate) fn hash_of_row(&mut self, row: &[Term]) -> u128 {
        if let Some(&last) = row.iter().max() {
            self.hash(last);
        }
        hash_of_expression(row.iter().map(|&child| self.known_hash(child)))
    }

    /// The content hash of a term, computed anew if it was not asked for before.
    pub(crate) fn stored_hash(&self, term: Term) -> u128 {
        let is_known = (term.0 as usize) < self.mapped_len() as usize + self.hashes.len();
        if is_known { self.known_hash(term) } else { canonical::hash(self.atom(term)) }
    }

    /// The content hash of the expression of these children, whose hashes are computed anew if they were not asked for before.
    pub(crate) fn stored_hash_of_row(&self, row: &[Term]) -> u128 {
        hash_of_expression(row.iter().map(|&child| self.stored_hash(child)))
    }

    /// Makes room for `more` more terms.
    pub(crate) fn reserve(&mut self, more: usize) {
        if self.head.len() > 0 || self.sealed.is_empty() {
            self.head.reserve(more);
        }
    }

    /// From now on tables grow towards `more` more terms.
    pub(crate) fn expect(&mut self, more: usize) {
        self.head.expect(more);
    }

    /// The term of a rigid atom, made if need be.
    ///
    /// # Panics
    /// If the atom is not rigid, or at 2^32 terms.
    pub fn intern(&mut self, atom: &Atom) -> Term {
        assert!(atom.is_rigid(), "only rigid atoms are interned");
        self.intern_rigid(atom)
    }

    /// The term of an atom that is known to be rigid, made if need be.
    #[inline]
    pub(crate) fn intern_rigid(&mut self, atom: &Atom) -> Term {
        match atom {
            Atom::Expression(expression) => self.intern_flat(expression).unwrap_or_else(|| self.intern_deep(atom)),
            leaf => self.intern_leaf(leaf),
        }
    }

    /// The term of an expression that is known, or short and without expressions inside, as most are. Of another one the
    /// first children may be interned, as they are first in any case.
    #[inline]
    fn intern_flat(&mut self, expression: &Expression) -> Option<Term> {
        if let Some(known) = expression.known().filter(|known| known.dictionary == self.serial) {
            return Some(Term(known.term));
        }
        let mut terms = [Term(0); FLAT_MAX];
        let terms = terms.get_mut(..expression.len())?;
        for (term, child) in terms.iter_mut().zip(expression.children()) {
            *term = if child.children().is_none() { self.intern_leaf(child) } else { return None };
        }
        Some(self.intern_one(Visit::Node(expression, terms)))
    }

    fn intern_deep(&mut self, atom: &Atom) -> Term {
        // What is known of this dictionary was made by it, parts of this very atom included.
        let term = fold(atom, (self.serial, usize::MAX), false, &mut |visit| Some(self.intern_one(visit)));
        term.expect("interning always succeeds")
    }

    /// The term of a rigid atom that is not an expression, made if need be.
    #[inline]
    pub fn intern_leaf(&mut self, leaf: &Atom) -> Term {
        debug_assert!(leaf.is_rigid() && leaf.children().is_none(), "only rigid leaves are interned here");
        match leaf {
            Atom::Symbol(symbol) => self.intern_symbol(symbol.as_str()),
            Atom::Grounded(Grounded::Number(Number::Int(value))) => self.intern_integer(*value),
            leaf => self.intern_one(Visit::Leaf(leaf)),
        }
    }

    /// The term of the symbol of this name, which has this hash, made if need be.
    #[inline]
    pub(crate) fn intern_hashed(&mut self, hash: u64, name: &str) -> Term {
        let sought = SoughtName::new(name);
        let in_image = Sought::Name(hash, &sought);
        self.intern_in_head(in_image, |part| part.find_symbol(hash, &sought), |head| head.intern_symbol(hash, &sought))
    }

    /// The term that a sealed part has, or else the one that the head has or makes.
    #[inline]
    fn intern_in_head(
        &mut self,
        sought: Sought<'_>,
        find: impl Fn(&TermSegment) -> Option<Term>,
        intern: impl FnOnce(&mut TermSegment) -> Term,
    ) -> Term {
        if let Some(term) = self.mapped.as_ref().and_then(|mapped| mapped.find(sought)) {
            return term;
        }
        if !self.sealed.is_empty() {
            if let Some(term) = self.sealed.iter().find_map(|part| find(part)) {
                return term;
            }
            self.begin_head();
        }
        intern(&mut self.head)
    }

    /// Reads what looking for names with these hashes reads, so that it is in the cache; see [`crate::Batch`].
    pub(crate) fn look_ahead(&self, hashes: impl Iterator<Item = u64> + Clone) {
        for part in self.sealed.iter().map(|part| &**part).chain([&self.head]) {
            part.look_ahead(hashes.clone());
        }
    }

    /// The term with which a rigid atom is equal, kind and all; `None` when it was never interned.
    pub fn find(&self, atom: &Atom) -> Option<Term> {
        if atom.children().is_none() {
            return self.find_leaf(atom);
        }
        fold(atom, (self.serial, self.len()), false, &mut |visit| self.find_one(&visit))
    }

    /// The match key of a rigid atom; `None` when nothing interned matches it.
    #[inline]
    pub fn find_key(&self, atom: &Atom) -> Option<Term> {
        if atom.children().is_none() { self.find_key_of_leaf(atom) } else { self.find_key_of_expression(atom) }
    }

    fn find_key_of_expression(&self, atom: &Atom) -> Option<Term> {
        fold(atom, (self.serial, self.len()), true, &mut |visit| match visit {
            Visit::Leaf(leaf) => self.find_key_of_leaf(leaf),
            Visit::CachedTerm(term) => Some(self.key(term)),
            node => self.find_one(&node),
        })
    }

    /// The match keys of rigid atoms; `None` when nothing interned matches one of them. In a large dictionary the slots of all names
    /// are read first, which waits once for all of them.
    #[inline]
    pub(crate) fn find_keys(&self, atoms: &[Atom], keys: &mut [Term]) -> Option<()> {
        if self.head.is_large() || self.sealed.iter().any(|part| part.is_large()) {
            let names = atoms.iter().filter_map(Atom::as_symbol);
            names.for_each(|name| self.read_slot(SoughtName::new(name).hash()));
        }
        for (key, atom) in keys.iter_mut().zip(atoms) {
            *key = self.find_key(atom)?;
        }
        Some(())
    }

    /// Reads the slots of this hash in large parts.
    #[inline]
    fn read_slot(&self, hash: u64) {
        let large = self.sealed.iter().map(|part| &**part).chain([&self.head]).filter(|part| part.is_large());
        large.for_each(|part| part.read_slot(hash));
    }

    #[inline]
    fn find_leaf(&self, leaf: &Atom) -> Option<Term> {
        match leaf {
            Atom::Symbol(symbol) => self.find_symbol(symbol.as_str()),
            Atom::Grounded(Grounded::Number(Number::Int(value))) => self.find_integer(*value),
            leaf => self.find_one(&Visit::Leaf(leaf)),
        }
    }

    #[inline]
    fn find_key_of_leaf(&self, leaf: &Atom) -> Option<Term> {
        if is_float(leaf) { self.find_leaf(&normalized(leaf)) } else { self.find_leaf(leaf) }
    }

    /// The term of the symbol of this name; `None` when it was never interned.
    #[inline]
    pub fn find_symbol(&self, name: &str) -> Option<Term> {
        let sought = SoughtName::new(name);
        let hash = sought.hash();
        self.in_parts(Sought::Name(hash, &sought), |part| part.find_symbol(hash, &sought))
    }

    /// The term of the symbol of this name, made if need be.
    #[inline]
    pub fn intern_symbol(&mut self, name: &str) -> Term {
        self.intern_hashed(SoughtName::new(name).hash(), name)
    }

    /// The term of an integer, made if need be.
    #[inline]
    pub fn intern_integer(&mut self, value: i64) -> Term {
        let Some(word) = integer_word(value) else { return self.intern_one(Visit::Leaf(&Atom::from(value))) };
        let hash = hash_of_word(word);
        let sought = Sought::Word(hash, word);
        let find = |part: &TermSegment| part.find_integer(value, hash, word);
        self.intern_in_head(sought, find, |head| head.intern_integer(value, hash, word))
    }

    /// The term of an integer, which is its match key as well; `None` when it was never interned.
    #[inline]
    pub fn find_integer(&self, value: i64) -> Option<Term> {
        let Some(word) = integer_word(value) else { return self.find_one(&Visit::Leaf(&Atom::from(value))) };
        let hash = hash_of_word(word);
        self.in_parts(Sought::Word(hash, word), |part| part.find_integer(value, hash, word))
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
        match visit {
            Visit::CachedTerm(term) => Some(*term),
            visit => {
                let entry = visit.entry();
                self.find_entry(entry.hash(), entry)
            }
        }
    }

    fn find_entry(&self, hash: u64, entry: Entry<'_>) -> Option<Term> {
        match entry {
            Entry::Integer(value) if integer_word(value).is_some() => self.find_integer(value),
            entry => self.in_parts(Sought::Entry(hash, entry), |part| part.find(hash, |other| is_same(other, entry))),
        }
    }

    /// What is found in the first part that has it.
    #[inline]
    fn in_parts(&self, sought: Sought<'_>, find: impl Fn(&TermSegment) -> Option<Term>) -> Option<Term> {
        if let Some(term) = self.mapped.as_ref().and_then(|mapped| mapped.find(sought)) {
            return Some(term);
        }
        if self.sealed.is_empty() {
            return find(&self.head);
        }
        self.sealed.iter().find_map(|part| find(part)).or_else(|| find(&self.head))
    }

    fn intern_one(&mut self, visit: Visit<'_>) -> Term {
        if let Visit::CachedTerm(term) = visit {
            return term;
        }
        let entry = visit.entry();
        let hash = entry.hash();
        let term = self.find_entry(hash, entry).unwrap_or_else(|| {
            let key = self.key_of_new(&visit);
            self.add(hash, entry, key)
        });
        if let Visit::Node(expression, _) = visit {
            expression.set_known(CachedTerm { dictionary: self.serial, term: term.0 });
        }
        term
    }

    fn add(&mut self, hash: u64, entry: Entry<'_>, key: Option<Term>) -> Term {
        self.begin_head();
        self.has_keys |= key.is_some();
        self.head.push(hash, entry, key)
    }

    /// The match key of an atom about to be added, when that is another term.
    fn key_of_new(&mut self, visit: &Visit<'_>) -> Option<Term> {
        match visit {
            Visit::Leaf(leaf) if !is_float(leaf) => None,
            Visit::Leaf(leaf) => {
                let normal = normalized(leaf);
                (!is_same_leaf(&normal, leaf)).then(|| self.intern_one(Visit::Leaf(&normal)))
            }
            Visit::Node(_, children) | Visit::Row(children) => {
                if children.iter().all(|&child| self.key(child) == child) {
                    return None;
                }
                let keys: Vec<Term> = children.iter().map(|&child| self.key(child)).collect();
                Some(self.intern_one(Visit::Row(&keys)))
            }
            Visit::CachedTerm(_) => unreachable!("a known expression is found"),
        }
    }
}

/// Where a term lies.
#[derive(Clone, Copy)]
enum TermPart<'a> {
    Made(&'a TermSegment),
    Mapped(&'a MappedTerms),
}

impl<'a> TermPart<'a> {
    #[inline]
    fn kept(self, term: Term) -> Option<&'a Atom> {
        match self {
            Self::Made(part) => part.kept(term),
            Self::Mapped(part) => part.kept(term),
        }
    }

    fn keep(self, term: Term, made: impl FnOnce() -> Atom) -> &'a Atom {
        match self {
            Self::Made(part) => part.keep(term, made),
            Self::Mapped(part) => part.kept.keep(term, made),
        }
    }

    #[inline]
    fn entry(self, term: Term) -> Entry<'a> {
        match self {
            Self::Made(part) => part.entry(term),
            Self::Mapped(part) => part.entry(term),
        }
    }

    #[inline]
    fn key(self, term: Term) -> Term {
        match self {
            Self::Made(part) => part.key(term),
            Self::Mapped(part) => part.key(term),
        }
    }

    #[inline]
    fn children(self, term: Term) -> Option<&'a [Term]> {
        match self {
            Self::Made(part) => part.children(term),
            Self::Mapped(part) => part.children(term),
        }
    }

    #[inline]
    fn content(self, term: Term) -> Content<'a> {
        match self {
            Self::Made(part) => part.content(term),
            Self::Mapped(part) => part.content(term),
        }
    }
}

/// What a walk over an atom meets, children before their parents.
enum Visit<'a> {
    Leaf(&'a Atom),
    Node(&'a Expression, &'a [Term]),
    /// An expression of which only the children's terms are there.
    Row(&'a [Term]),
    /// An expression that the dictionary has interned before, children and all.
    CachedTerm(Term),
}

impl Visit<'_> {
    /// What it is in a dictionary.
    fn entry(&self) -> Entry<'_> {
        match self {
            Visit::Leaf(leaf) => Entry::of(leaf),
            Visit::Node(_, children) | Visit::Row(children) => Entry::Compound(children),
            Visit::CachedTerm(_) => unreachable!("a known expression is not looked up"),
        }
    }
}

/// Whether both are the same atom, kinds kept apart.
fn is_same(left: Entry<'_>, right: Entry<'_>) -> bool {
    match (left, right) {
        (Entry::Symbol(left), Entry::Symbol(right)) => left == right,
        (Entry::Integer(left), Entry::Integer(right)) => left == right,
        (Entry::Compound(left), Entry::Compound(right)) => left == right,
        (Entry::Other(left), Entry::Other(right)) => is_same_leaf(left, right),
        (Entry::Other(Atom::Symbol(other)), Entry::Symbol(name))
        | (Entry::Symbol(name), Entry::Other(Atom::Symbol(other))) => other.as_str() == name,
        (Entry::Other(Atom::Grounded(Grounded::Number(Number::Int(other)))), Entry::Integer(value))
        | (Entry::Integer(value), Entry::Other(Atom::Grounded(Grounded::Number(Number::Int(other))))) => {
            *other == value
        }
        _ => false,
    }
}

/// Walks an atom from the leaves up; `step` names each part, and `None` ends the walk. Expressions known to the dictionary of this serial
/// number and length are not walked again, nor those of which it is known that it matches nothing with them: each part that atoms share is
/// walked once. `notes_absence` says whether the end of a walk means that.
fn fold(
    atom: &Atom,
    (serial, length): (u32, usize),
    notes_absence: bool,
    step: &mut dyn FnMut(Visit<'_>) -> Option<Term>,
) -> Option<Term> {
    let mut open = Vec::new();
    let term = walk(atom, (serial, length), &mut open, step);
    if term.is_none() && notes_absence {
        open.iter().for_each(|(around, _)| around.set_absent(serial, length));
    }
    term
}

/// After this many expressions a walk remembers those that it has walked: looking for a term leaves no note in an atom, and atoms share parts.
const STEPS_MAX: usize = 256;

/// See [`fold`]. When the walk ends early, `open` has the expressions around the place.
fn walk<'a>(
    atom: &'a Atom,
    (serial, length): (u32, usize),
    open: &mut Vec<(&'a Expression, usize)>,
    step: &mut dyn FnMut(Visit<'_>) -> Option<Term>,
) -> Option<Term> {
    if !matches!(atom, Atom::Expression(_)) {
        return step(Visit::Leaf(atom));
    }
    // A snapshot of the dictionary knows fewer.
    let is_there = |known: &CachedTerm| known.dictionary == serial && (known.term as usize) < length;
    let mut terms: Vec<Term> = Vec::new();
    let (mut walked, mut steps) = (FxHashMap::<*const Expression, Term>::default(), 0_usize);
    let mut current = atom;
    loop {
        match current {
            Atom::Expression(expression) => match expression.known().filter(is_there) {
                Some(known) => terms.push(step(Visit::CachedTerm(Term(known.term)))?),
                None if expression.is_absent(serial, length) => return None,
                None => match walked.get(&std::ptr::from_ref(expression)) {
                    Some(&term) => terms.push(term),
                    None => open.push((expression, 0)),
                },
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
            steps += 1;
            if steps > STEPS_MAX {
                walked.insert(std::ptr::from_ref(*expression), term);
            }
            terms.truncate(from);
            terms.push(term);
            open.pop();
        }
    }
}

/// Whether a leaf may be equal to another one.
fn is_float(leaf: &Atom) -> bool {
    matches!(leaf, Atom::Grounded(Grounded::Number(Number::Float(_))))
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

/// How entries of each kind are hashed: if one of these differs, a table that was made before is not looked into.
pub(crate) fn term_hashes() -> [u64; 7] {
    let (float, text) = (Atom::from(1.5), Atom::Grounded(Grounded::Text("a text".into())));
    let entries = [
        Entry::Symbol("short"),
        Entry::Symbol("a name that is not short"),
        Entry::Integer(-42),
        Entry::Integer(i64::MAX),
        Entry::Compound(&[Term(1), Term(2)]),
        Entry::Other(&float),
        Entry::Other(&text),
    ];
    entries.map(Entry::hash)
}

/// Both halves of a product, so that each bit of a word reaches those by which a table goes: short names may differ in their
/// last bytes only, which are the highest.
#[inline]
fn hash_word(word: u64) -> u64 {
    const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15;
    let product = u128::from(word) * FACTOR;
    product as u64 ^ (product >> 64) as u64
}

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
