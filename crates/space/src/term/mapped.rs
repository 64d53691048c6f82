//! Terms that lie in an image: a dictionary's first parts, looked up and read where they lie.
//!
//! There are two parts: what the library of a program takes, which each process looks up when it begins, and the rest. Entries are as
//! those of a [part in memory](super::segment), but for two: the children of a compound come after their count and the number of its
//! content hash, and what is stored as an atom there is its canonical bytes here, of which the atom is made when it is first needed.

use super::Term;
use super::segment::{BLOCK, Block, COMPOUND, INTEGER, OTHER, SHORT, SYMBOL, range_of_name};
use super::segment::{Content, Entry, SoughtName};
use crate::atom::Atom;
use crate::canonical::{self, Unresolved, hash_of_leaf, hash_of_symbol};
use crate::columns::{Column, ColumnsReader, ImageError, Table};
use crate::words::Words;
use std::sync::OnceLock;

/// What finds the atom of a host value by its identity.
pub type ResolveHost = fn(&str) -> Option<Atom>;

/// The terms of an image.
pub(crate) struct MappedTerms {
    parts: Vec<MappedPart>,
    resolve: ResolveHost,
    has_keys: bool,
    pub(super) kept: KeptAtoms,
}

/// Terms whose numbers follow each other.
struct MappedPart {
    base: u32,
    length: u32,
    entries: Column<[u8; 8]>,
    names: Column<u8>,
    children: Column<Term>,
    hashes: Column<[u8; 16]>,
    others: Column<u8>,
    keys: Option<Column<Term>>,
    table: Table,
}

/// What is looked for, with its hash.
#[derive(Clone, Copy)]
pub(super) enum Sought<'a> {
    Name(u64, &'a SoughtName<'a>),
    Word(u64, [u8; 8]),
    Entry(u64, Entry<'a>),
}

impl MappedTerms {
    /// The terms that a description says.
    pub(crate) fn open(
        columns: &ColumnsReader,
        words: &mut Words<'_>,
        resolve: ResolveHost,
    ) -> Result<Self, ImageError> {
        let has_keys = words.next()? != 0;
        let mut parts = Vec::new();
        let mut base = 0_u32;
        for _ in 0..words.next()? {
            let part = MappedPart::open(columns, words, base)?;
            base = base.checked_add(part.length).ok_or(Words::IMPOSSIBLE)?;
            parts.push(part);
        }
        Ok(Self { parts, resolve, has_keys, kept: KeptAtoms::new(base) })
    }

    pub(super) fn len(&self) -> u32 {
        self.parts.last().map_or(0, |last| last.base + last.length)
    }

    /// How many of them the library takes.
    pub(super) fn foundation(&self) -> u32 {
        self.parts.first().map_or(0, |first| first.length)
    }

    pub(super) fn has_keys(&self) -> bool {
        self.has_keys
    }

    /// The part of a term, which is one of these.
    #[inline]
    fn part(&self, term: Term) -> &MappedPart {
        let after = self.parts.partition_point(|part| part.base <= term.0);
        &self.parts[after - 1]
    }

    pub(super) fn entry(&self, term: Term) -> Entry<'_> {
        let part = self.part(term);
        match part.content(term) {
            MappedContent::Name(name) => Entry::Symbol(part.text(name)),
            MappedContent::Integer(value) => Entry::Integer(value),
            MappedContent::Compound(children) => Entry::Compound(children),
            MappedContent::Other(at) => Entry::Other(self.other(term, part, at)),
        }
    }

    pub(super) fn content(&self, term: Term) -> Content<'_> {
        let part = self.part(term);
        match part.content(term) {
            MappedContent::Name(name) => Content::Name(name),
            MappedContent::Integer(value) => Content::Integer(value),
            MappedContent::Compound(children) => Content::Compound(children),
            MappedContent::Other(at) => Content::Other(self.other(term, part, at)),
        }
    }

    #[inline]
    pub(super) fn children(&self, term: Term) -> Option<&[Term]> {
        match self.part(term).content(term) {
            MappedContent::Compound(children) => Some(children),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn key(&self, term: Term) -> Term {
        let part = self.part(term);
        part.keys.as_ref().map_or(term, |keys| keys.get((term.0 - part.base) as usize))
    }

    /// The content hash of a term: that of a compound is stored, others are computed.
    pub(super) fn hash(&self, term: Term) -> u128 {
        let part = self.part(term);
        match self.content(term) {
            Content::Compound(_) => part.hash_of_compound(term),
            Content::Name(name) => hash_of_symbol(name),
            Content::Integer(value) => canonical::hash_of_integer(value, &mut Vec::new()),
            Content::Other(atom) => hash_of_leaf(atom),
        }
    }

    /// The atom of a term, if it was made.
    #[inline]
    pub(super) fn kept(&self, term: Term) -> Option<&Atom> {
        let part = self.part(term);
        match part.content(term) {
            MappedContent::Other(at) => Some(self.other(term, part, at)),
            _ => self.kept.get(term),
        }
    }

    fn other(&self, term: Term, part: &MappedPart, at: usize) -> &Atom {
        self.kept.get(term).unwrap_or_else(|| self.kept.keep(term, || self.decoded(part, at)))
    }

    #[cold]
    fn decoded(&self, part: &MappedPart, at: usize) -> Atom {
        let length = *part.others.slice(at..at + 4).first_chunk().unwrap_or_else(|| part.others.nowhere());
        let start = at + 4;
        let bytes = part.others.slice(start..start + u32::from_le_bytes(length) as usize);
        let decoded = canonical::decode(bytes, |unresolved| match unresolved {
            Unresolved::Host(identity) => (self.resolve)(identity),
            _ => None,
        });
        decoded
            .ok()
            .filter(|atom| atom.children().is_none() && atom.is_rigid())
            .unwrap_or_else(|| part.others.nowhere())
    }

    /// The term of what is looked for.
    pub(super) fn find(&self, sought: Sought<'_>) -> Option<Term> {
        self.parts.iter().find_map(|part| {
            let term = |place: u32| Term(part.base + place);
            let found = match sought {
                Sought::Word(hash, word) => part.table.find(hash, |place| part.word(place) == word),
                Sought::Name(hash, name) => match name.word() {
                    Some(word) => part.table.find(hash, |place| part.word(place) == word),
                    None => part.table.find(hash, |place| self.has_name(part, term(place), name.name())),
                },
                Sought::Entry(hash, entry) => {
                    part.table.find(hash, |place| super::is_same(self.entry(term(place)), entry))
                }
            };
            found.map(term)
        })
    }

    fn has_name(&self, part: &MappedPart, term: Term, sought: &str) -> bool {
        match part.content(term) {
            MappedContent::Name(name) => name == sought.as_bytes(),
            MappedContent::Other(at) => self.other(term, part, at).is_symbol(sought),
            _ => false,
        }
    }
}

/// What an entry says.
enum MappedContent<'a> {
    Name(&'a [u8]),
    Integer(i64),
    Compound(&'a [Term]),
    /// Where its canonical bytes lie.
    Other(usize),
}

impl MappedPart {
    fn open(columns: &ColumnsReader, words: &mut Words<'_>, base: u32) -> Result<Self, ImageError> {
        let length = words.small()?;
        let entries = columns.column(words.next()?)?;
        let names = columns.column(words.next()?)?;
        let children = columns.column(words.next()?)?;
        let hashes = columns.column(words.next()?)?;
        let others = columns.column(words.next()?)?;
        let keys = words.option()?.map(|keys| columns.column::<Term>(keys)).transpose()?;
        let table = Table::new(columns.column(words.next()?)?, length).ok_or(Words::IMPOSSIBLE)?;
        let has_all = keys.as_ref().is_none_or(|keys| keys.len() == length as usize);
        if entries.len() != length as usize || !has_all {
            return Err(Words::IMPOSSIBLE);
        }
        Ok(Self { base, length, entries, names, children, hashes, others, keys, table })
    }

    #[inline]
    fn word(&self, place: u32) -> [u8; 8] {
        self.entries.get(place as usize)
    }

    #[inline]
    fn content(&self, term: Term) -> MappedContent<'_> {
        let place = (term.0 - self.base) as usize;
        let bytes = &self.entries.slice(place..place + 1)[0];
        let word = u64::from_le_bytes(*bytes);
        match word & 3 {
            SYMBOL => MappedContent::Name(self.names.slice(range_of_name(word))),
            INTEGER => MappedContent::Integer(word as i64 >> 2),
            COMPOUND => MappedContent::Compound(self.children_at(term, (word >> 2) as usize).1),
            _ if word & 7 == SHORT => MappedContent::Name(&bytes[1..=(word >> 3 & 7) as usize]),
            _ => {
                debug_assert_eq!(word & 7, OTHER, "there are no other kinds");
                MappedContent::Other((word >> 3) as usize)
            }
        }
    }

    /// The number of the hash of a compound, and its children, which have smaller numbers than it has.
    #[inline]
    fn children_at(&self, term: Term, from: usize) -> (u32, &[Term]) {
        let &[length, hash] = self.children.slice(from..from + 2) else { self.children.nowhere() };
        let start = from + 2;
        let children = self.children.slice(start..start + length.0 as usize);
        if children.iter().any(|child| *child >= term) {
            self.children.nowhere()
        }
        (hash.0, children)
    }

    fn hash_of_compound(&self, term: Term) -> u128 {
        let word = u64::from_le_bytes(self.word(term.0 - self.base));
        let (hash, _) = self.children_at(term, (word >> 2) as usize);
        u128::from_le_bytes(self.hashes.get(hash as usize))
    }

    fn text<'a>(&self, name: &'a [u8]) -> &'a str {
        std::str::from_utf8(name).unwrap_or_else(|_| self.names.nowhere())
    }
}

/// For how many blocks room is made at once.
const BLOCKS: usize = 1 << 12;

/// The atoms that were made of terms, in blocks that are made when they are needed.
pub(super) struct KeptAtoms(Box<[OnceLock<Blocks>]>);

type Blocks = Box<[OnceLock<Block>]>;

impl KeptAtoms {
    fn new(terms: u32) -> Self {
        Self((0..(terms as usize).div_ceil(BLOCK * BLOCKS)).map(|_| OnceLock::new()).collect())
    }

    fn get(&self, term: Term) -> Option<&Atom> {
        let place = term.0 as usize;
        let blocks = self.0.get(place / (BLOCK * BLOCKS))?.get()?;
        blocks[place / BLOCK % BLOCKS].get()?[place % BLOCK].get()
    }

    pub(super) fn keep(&self, term: Term, made: impl FnOnce() -> Atom) -> &Atom {
        let place = term.0 as usize;
        let blocks = self.0[place / (BLOCK * BLOCKS)].get_or_init(|| (0..BLOCKS).map(|_| OnceLock::new()).collect());
        let block = blocks[place / BLOCK % BLOCKS].get_or_init(|| Box::new([const { OnceLock::new() }; BLOCK]));
        block[place % BLOCK].get_or_init(made)
    }
}
