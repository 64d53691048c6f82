//! A part of the dictionary: terms whose numbers follow each other, in eight bytes each and what they point to.
//!
//! ```text
//! symbol        offset in the names (36 bits) | length (26 bits) | 0
//! integer       its value (62 bits)                              | 1
//! compound      where its children lie: how many, then each      | 2
//! other         which of the other atoms                         | 3
//! short symbol  its name (7 bytes) | length (5 bits)             | 7
//! ```
//! A name of up to seven bytes lies in the entry itself: looking for it compares one word, and reads no names.
//!
//! The atom of a term is made when it is first needed, and kept.

use super::integers::IntegerPlaces;
use super::{Term, hash_children, hash_leaf, hash_symbol, hash_word};
use crate::atom::{Atom, CachedTerm, Expression};
use crate::grounded::Grounded;
use crate::number::Number;
use crate::prefetch::{LARGE_TABLE, read_slots};
use crate::room::{self, LARGE_BYTES, reserve, reserve_first};
use hashbrown::HashTable;
use std::hint::black_box;
use std::ops::Range;
use std::sync::OnceLock;

pub(super) const SYMBOL: u64 = 0;
pub(super) const INTEGER: u64 = 1;
pub(super) const COMPOUND: u64 = 2;
pub(super) const OTHER: u64 = 3;
pub(super) const SHORT: u64 = 7;

pub(super) const LENGTH_BITS: u32 = 26;
pub(super) const OFFSET_BITS: u32 = 36;

/// How many bytes of names there is room for at first.
const NAMES_FIRST: usize = 128;

/// Beside a range of integers the table has room for at least one of this many entries.
const ROOM_BESIDE_RANGE: usize = 8;

/// How many atoms a block holds.
pub(super) const BLOCK: usize = 64;

pub(super) type Block = Box<[OnceLock<Atom>; BLOCK]>;

/// Terms from a number on.
#[derive(Default)]
pub(super) struct TermSegment {
    pub(super) base: u32,
    /// Words of eight bytes, the lowest first, so that a short name can be read as it lies.
    entries: Vec<[u8; 8]>,
    names: String,
    children: Vec<Term>,
    others: Vec<Atom>,
    /// The match keys, once one differs from its term.
    keys: Vec<Term>,
    /// The places of all entries but those of integers that are listed apart.
    table: HashTable<u32>,
    integers: IntegerPlaces,
    /// How many more terms are expected.
    expected: usize,
    /// The atoms that were needed so far.
    kept: Vec<OnceLock<Block>>,
}

/// What a term stands for.
#[derive(Clone, Copy)]
pub(crate) enum Entry<'a> {
    Symbol(&'a str),
    Integer(i64),
    Compound(&'a [Term]),
    Other(&'a Atom),
}

/// What a term stands for, as [`Entry`], for those who need the bytes of a name only, so that nobody checks that they are UTF-8.
#[derive(Clone, Copy)]
pub(crate) enum Content<'a> {
    Name(&'a [u8]),
    Integer(i64),
    Compound(&'a [Term]),
    Other(&'a Atom),
}

impl<'a> Entry<'a> {
    /// What a leaf is in a dictionary.
    pub(super) fn of(leaf: &'a Atom) -> Self {
        match leaf {
            Atom::Symbol(symbol) => Entry::Symbol(symbol.as_str()),
            Atom::Grounded(Grounded::Number(Number::Int(value))) => Entry::Integer(*value),
            other => Entry::Other(other),
        }
    }

    pub(super) fn hash(self) -> u64 {
        match self {
            Entry::Symbol(name) => SoughtName::new(name).hash(),
            Entry::Integer(value) => hash_integer(value),
            Entry::Compound(children) => hash_children(children),
            Entry::Other(Atom::Symbol(symbol)) => SoughtName::new(symbol.as_str()).hash(),
            Entry::Other(Atom::Grounded(Grounded::Number(Number::Int(value)))) => hash_integer(*value),
            Entry::Other(leaf) => hash_leaf(leaf),
        }
    }
}

/// A name that is looked for.
#[derive(Clone, Copy)]
pub(crate) struct SoughtName<'a> {
    name: &'a str,
    /// What its entry is, if it is short.
    word: Option<[u8; 8]>,
}

impl<'a> SoughtName<'a> {
    #[inline]
    pub(crate) fn new(name: &'a str) -> Self {
        Self { name, word: short_word(name) }
    }

    pub(super) fn name(&self) -> &'a str {
        self.name
    }

    /// What its entry is, if it is short.
    #[inline]
    pub(super) fn word(&self) -> Option<[u8; 8]> {
        self.word
    }

    #[inline]
    pub(crate) fn hash(&self) -> u64 {
        match self.word {
            Some(word) => hash_of_word(word),
            None => hash_symbol(self.name),
        }
    }
}

/// The entry of an integer of up to 62 bits.
#[inline]
pub(super) fn integer_word(value: i64) -> Option<[u8; 8]> {
    (value << 2 >> 2 == value).then(|| ((value as u64) << 2 | INTEGER).to_le_bytes())
}

/// The hash of what lies in its entry as this word.
#[inline]
pub(super) fn hash_of_word(word: [u8; 8]) -> u64 {
    hash_word(u64::from_le_bytes(word))
}

fn hash_integer(value: i64) -> u64 {
    integer_word(value).map_or_else(|| hash_word(value as u64), hash_of_word)
}

/// The entry of a name of up to seven bytes.
#[inline]
pub(super) fn short_word(name: &str) -> Option<[u8; 8]> {
    let (bytes, length) = (name.as_bytes(), name.len());
    let byte = |at: usize| u64::from(bytes[at]) << (8 * at);
    let half = |at: usize| Some(u64::from(u32::from_le_bytes(*bytes[at..].first_chunk()?)) << (8 * at));
    // Where both halves have a byte it is the same one.
    let name = match length {
        0 => 0,
        1..=3 => byte(0) | byte(length / 2) | byte(length - 1),
        4..=7 => half(0)? | half(length - 4)?,
        _ => return None,
    };
    Some((name << 8 | (length as u64) << 3 | SHORT).to_le_bytes())
}

impl TermSegment {
    /// A part whose first term has this number.
    pub(super) fn from(base: u32) -> Self {
        Self { base, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What a term of this part stands for.
    #[inline]
    pub(super) fn entry(&self, term: Term) -> Entry<'_> {
        self.at(term.0 - self.base)
    }

    fn at(&self, place: u32) -> Entry<'_> {
        let word = self.word(place);
        match word & 3 {
            SYMBOL => Entry::Symbol(&self.names[range_of_name(word)]),
            INTEGER => Entry::Integer(word as i64 >> 2),
            COMPOUND => Entry::Compound(self.children_at(word)),
            _ if word & 7 == SHORT => {
                let name = &self.entries[place as usize][1..=(word >> 3 & 7) as usize];
                Entry::Symbol(std::str::from_utf8(name).expect("a name is UTF-8"))
            }
            _ => Entry::Other(&self.others[(word >> 3) as usize]),
        }
    }

    /// What the canonical bytes and the content hash of a term are made of.
    #[inline]
    pub(super) fn content(&self, term: Term) -> Content<'_> {
        let place = (term.0 - self.base) as usize;
        let word = u64::from_le_bytes(self.entries[place]);
        match word & 3 {
            SYMBOL => Content::Name(&self.names.as_bytes()[range_of_name(word)]),
            INTEGER => Content::Integer(word as i64 >> 2),
            COMPOUND => Content::Compound(self.children_at(word)),
            _ if word & 7 == SHORT => Content::Name(&self.entries[place][1..=(word >> 3 & 7) as usize]),
            _ => Content::Other(&self.others[(word >> 3) as usize]),
        }
    }

    /// The hash of an entry.
    #[inline]
    fn hash_at(&self, place: u32) -> u64 {
        let word = self.word(place);
        if word & 7 == SHORT || word & 3 == INTEGER { hash_word(word) } else { self.at(place).hash() }
    }

    #[inline]
    fn word(&self, place: u32) -> u64 {
        u64::from_le_bytes(self.entries[place as usize])
    }

    fn children_at(&self, word: u64) -> &[Term] {
        let from = (word >> 2) as usize;
        let length = self.children[from].0 as usize;
        &self.children[from + 1..from + 1 + length]
    }

    /// The children of a compound term.
    #[inline]
    pub(super) fn children(&self, term: Term) -> Option<&[Term]> {
        let word = self.word(term.0 - self.base);
        (word & 3 == COMPOUND).then(|| self.children_at(word))
    }

    /// The match key of a term of this part.
    #[inline]
    pub(super) fn key(&self, term: Term) -> Term {
        self.keys.get((term.0 - self.base) as usize).copied().unwrap_or(term)
    }

    /// The term with this hash that is the one.
    #[inline]
    pub(super) fn find(&self, hash: u64, is_it: impl Fn(Entry<'_>) -> bool) -> Option<Term> {
        self.table.find(hash, |&place| is_it(self.at(place))).map(|&place| Term(self.base + place))
    }

    /// The term of a symbol with this hash.
    #[inline]
    pub(super) fn find_symbol(&self, hash: u64, sought: &SoughtName<'_>) -> Option<Term> {
        match sought.word {
            Some(word) => self.find_word(hash, word),
            None => self.find_long(hash, sought.name),
        }
    }

    /// The term whose entry is this word, which says all of it.
    #[inline]
    pub(super) fn find_word(&self, hash: u64, word: [u8; 8]) -> Option<Term> {
        let found = self.table.find(hash, |&place| self.entries[place as usize] == word);
        found.map(|&place| Term(self.base + place))
    }

    /// The term of an integer whose entry is this word.
    #[inline]
    pub(super) fn find_integer(&self, value: i64, hash: u64, word: [u8; 8]) -> Option<Term> {
        match self.integers.get(value) {
            Some(place) => Some(Term(self.base + place)),
            None => self.find_word(hash, word),
        }
    }

    fn find_long(&self, hash: u64, name: &str) -> Option<Term> {
        let found = self.table.find(hash, |&place| self.has_name(place, name));
        found.map(|&place| Term(self.base + place))
    }

    /// The term of a symbol with this hash, made if need be.
    pub(super) fn intern_symbol(&mut self, hash: u64, sought: &SoughtName<'_>) -> Term {
        match sought.word {
            Some(word) => self.intern_word(hash, word),
            None => self.find_long(hash, sought.name).unwrap_or_else(|| {
                let word = self.word_of_long(sought.name);
                self.push_word(hash, word, None)
            }),
        }
    }

    /// The term whose entry is this word, made if need be.
    #[inline]
    pub(super) fn intern_word(&mut self, hash: u64, word: [u8; 8]) -> Term {
        self.find_word(hash, word).unwrap_or_else(|| self.push_word(hash, u64::from_le_bytes(word), None))
    }

    /// The term of an integer whose entry is this word, made if need be.
    #[inline]
    pub(super) fn intern_integer(&mut self, value: i64, hash: u64, word: [u8; 8]) -> Term {
        self.find_integer(value, hash, word).unwrap_or_else(|| self.push_word(hash, u64::from_le_bytes(word), None))
    }

    /// Reads the slots of these hashes, then the entries that they lead to with the names of those that are long.
    pub(super) fn look_ahead(&self, hashes: impl Iterator<Item = u64> + Clone) {
        if !self.is_large() {
            return;
        }
        read_slots(&self.table, hashes.clone());
        let entry = |hash: u64| self.table.find(hash, |_| true).map_or(0, |&place| self.word(place));
        let names = self.names.as_bytes();
        let name = |word: u64| names.get(range_of_name(word).start).copied().unwrap_or_default();
        let read = |word: u64| word ^ if word & 3 == SYMBOL { u64::from(name(word)) } else { 0 };
        black_box(hashes.fold(0, |sum, hash| sum ^ read(entry(hash))));
    }

    /// Whether its table is too large for the caches.
    #[inline]
    pub(super) fn is_large(&self) -> bool {
        self.table.len() >= LARGE_TABLE
    }

    /// Reads the slots of this hash.
    #[inline]
    pub(super) fn read_slot(&self, hash: u64) {
        read_slots(&self.table, std::iter::once(hash));
    }

    /// Whether an entry is the symbol of this name, which is not short.
    fn has_name(&self, place: u32, name: &str) -> bool {
        let word = self.word(place);
        match word & 7 {
            OTHER => self.others[(word >> 3) as usize].is_symbol(name),
            _ if word & 3 == SYMBOL => &self.names.as_bytes()[range_of_name(word)] == name.as_bytes(),
            _ => false,
        }
    }

    /// Adds what is not there; gives its term, whose key is that term itself if no other is given.
    pub(super) fn push(&mut self, hash: u64, entry: Entry<'_>, key: Option<Term>) -> Term {
        let word = self.word_of(entry);
        self.push_word(hash, word, key)
    }

    /// # Panics
    /// At 2^32 terms.
    fn push_word(&mut self, hash: u64, word: u64, key: Option<Term>) -> Term {
        let place = self.entries.len() as u32;
        let term = Term(self.base + place);
        assert!(term.0 < u32::MAX, "a dictionary holds fewer than 2^32 terms");
        reserve_first(&mut self.entries, 1, room::FIRST_TERMS);
        self.entries.push(word.to_le_bytes());
        if (place as usize).is_multiple_of(BLOCK) {
            self.kept.push(OnceLock::new());
        }
        if key.is_some() || !self.keys.is_empty() {
            self.push_key(place, key.unwrap_or(term));
        }
        self.list(hash, place);
        term
    }

    /// Notes the key of the last term; the terms before are their own if there were no keys so far.
    #[cold]
    fn push_key(&mut self, place: u32, key: Term) {
        if self.keys.is_empty() {
            self.keys.extend((0..place).map(|place| Term(self.base + place)));
        }
        self.keys.push(key);
    }

    fn word_of(&mut self, entry: Entry<'_>) -> u64 {
        match entry {
            Entry::Symbol(name) => match short_word(name) {
                Some(word) => u64::from_le_bytes(word),
                None => self.word_of_long(name),
            },
            Entry::Integer(value) => match integer_word(value) {
                Some(word) => u64::from_le_bytes(word),
                None => self.push_other(Atom::from(value)),
            },
            Entry::Compound(children) => {
                let from = self.children.len() as u64;
                let length = u32::try_from(children.len()).expect("an expression has fewer than 2^32 children");
                reserve(&mut self.children, children.len() + 1);
                self.children.push(Term(length));
                self.children.extend_from_slice(children);
                from << 2 | COMPOUND
            }
            Entry::Other(atom) => self.push_other(atom.clone()),
        }
    }

    /// The entry of a name that is not short, which lies among the names if there is room.
    fn word_of_long(&mut self, name: &str) -> u64 {
        let offset = self.names.len() as u64;
        if name.len() >= 1 << LENGTH_BITS || offset >= 1 << OFFSET_BITS {
            return self.push_other(Atom::symbol(name));
        }
        self.push_name(name);
        offset << (LENGTH_BITS + 2) | (name.len() as u64) << 2 | SYMBOL
    }

    fn push_name(&mut self, name: &str) {
        let names = &mut self.names;
        if names.capacity() - names.len() < name.len() && names.len() >= LARGE_BYTES {
            names.reserve_exact(name.len().max(names.len() / 8));
        } else if names.is_empty() {
            names.reserve(name.len().max(NAMES_FIRST));
        }
        names.push_str(name);
    }

    fn push_other(&mut self, atom: Atom) -> u64 {
        self.others.push(atom);
        (self.others.len() as u64 - 1) << 3 | OTHER
    }

    /// Makes room for `more` more terms.
    pub(super) fn reserve(&mut self, more: usize) {
        reserve_first(&mut self.entries, more, room::FIRST_TERMS);
        if self.table.capacity() - self.table.len() < more {
            self.grow_table(self.entries.len() as u32, more);
        }
    }

    /// From now on its table grows towards `more` more terms.
    pub(super) fn expect(&mut self, more: usize) {
        self.expected = more;
    }

    /// Lists the last entry, an integer among the others or in the table.
    fn list(&mut self, hash: u64, place: u32) {
        if self.integers.has_range()
            && let Some(value) = self.integer_at(place)
            && self.integers.list(value, place)
        {
            return;
        }
        if self.table.len() == self.table.capacity() {
            self.grow_table(place, 1);
        }
        self.table.insert_unique(hash, place, |_| unreachable!("there is room"));
    }

    fn integer_at(&self, place: u32) -> Option<i64> {
        let word = self.word(place);
        (word & 3 == INTEGER).then_some(word as i64 >> 2)
    }

    /// Makes the table of the first entries anew, in their order, with room for more. Whether integers are listed apart, and which, is
    /// chosen when it is large.
    #[cold]
    fn grow_table(&mut self, entries: u32, more: usize) {
        self.table = HashTable::new();
        if entries as usize >= LARGE_TABLE {
            self.integers = IntegerPlaces::for_these((0..entries).filter_map(|place| self.integer_at(place)));
        }
        let mut others = entries as usize;
        let has_range = self.integers.has_range();
        for place in (0..entries).filter(|_| has_range) {
            let is_listed = self.integer_at(place).is_some_and(|value| self.integers.list(value, place));
            others -= usize::from(is_listed);
        }
        // All of them are gone through again when the table is full: integers below the range come into it, one by one.
        let more = if has_range { more.max(entries as usize / ROOM_BESIDE_RANGE) } else { more };
        // As many of what is expected will stand in the table as of what there is.
        let expected = match entries {
            0 => self.expected,
            entries => (self.expected as u64 * others as u64 / u64::from(entries)) as usize,
        };
        let mut table = HashTable::with_capacity(room::table_towards(expected, others, more).max(room::FIRST_TERMS));
        let hash_of = |&place: &u32| self.hash_at(place);
        let is_it = |value: i64, place: u32| self.integers.get(value) == Some(place);
        let is_listed = |place: u32| has_range && self.integer_at(place).is_some_and(|value| is_it(value, place));
        for place in (0..entries).filter(|&place| !is_listed(place)) {
            table.insert_unique(hash_of(&place), place, hash_of);
        }
        self.table = table;
    }

    /// The atom of a term of this part, if it was made.
    #[inline]
    pub(super) fn kept(&self, term: Term) -> Option<&Atom> {
        let place = (term.0 - self.base) as usize;
        let word = self.word(place as u32);
        if word & 7 == OTHER {
            return Some(&self.others[(word >> 3) as usize]);
        }
        self.kept.get(place / BLOCK)?.get()?[place % BLOCK].get()
    }

    fn slot(&self, term: Term) -> &OnceLock<Atom> {
        let place = (term.0 - self.base) as usize;
        let block = self.kept[place / BLOCK].get_or_init(|| Box::new([const { OnceLock::new() }; BLOCK]));
        &block[place % BLOCK]
    }

    /// Keeps the atom of a term; gives the one that is kept.
    pub(super) fn keep(&self, term: Term, made: impl FnOnce() -> Atom) -> &Atom {
        self.slot(term).get_or_init(made)
    }

    /// Adds the terms of the part that follows this one.
    pub(super) fn take(&mut self, other: &TermSegment) {
        for place in 0..other.entries.len() as u32 {
            let (entry, old) = (other.at(place), Term(other.base + place));
            let key = Some(other.key(old)).filter(|&key| key != old);
            let term = self.push(entry.hash(), entry, key);
            debug_assert_eq!(term, old, "parts follow each other");
            if let (Some(atom), false) = (other.kept(old), matches!(entry, Entry::Other(_))) {
                self.keep(term, || atom.clone());
            }
        }
    }
}

/// Where among the names that of a symbol lies.
#[inline]
pub(super) fn range_of_name(word: u64) -> Range<usize> {
    let (offset, length) = ((word >> (LENGTH_BITS + 2)) as usize, (word >> 2) as usize & ((1 << LENGTH_BITS) - 1));
    offset..offset + length
}

/// The expression of these children, known to the dictionary that made it.
pub(super) fn expression(children: Vec<Atom>, known: CachedTerm) -> Atom {
    let expression = Expression::new(children);
    expression.set_known(known);
    Atom::Expression(expression)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop that counts down names smaller and smaller integers: the table, which is made anew when it is full, must not be full after each few.
    #[test]
    fn integers_that_come_in_descending_order_rarely_fill_the_table() {
        for step in [1, 2] {
            let mut segment = TermSegment::default();
            let (count, mut made_anew) = (8 * LARGE_TABLE as i64, 0);
            for value in (0..count).rev().map(|value| value * step) {
                let word = (value << 2) as u64 | INTEGER;
                let before = (segment.table.capacity(), segment.table.len());
                segment.intern_integer(value, hash_word(word), word.to_le_bytes());
                made_anew += usize::from(segment.table.capacity() != before.0 || segment.table.len() < before.1);
            }
            assert!(made_anew < 64, "the table was made anew {made_anew} times");
        }
    }
}
