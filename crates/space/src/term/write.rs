//! Writing the terms of a dictionary as columns. Terms that nothing needs any more are left out, and the others numbered anew, in the
//! same order.
//!
//! 1. What the spaces hold is marked, and from the last term to the first what each marked one needs: children, which have smaller
//!    numbers, and match keys.
//! 2. A column is written in one walk over the terms, so that no more than a table and the hashes of compounds is held in memory.

use super::segment::{COMPOUND, LENGTH_BITS, OFFSET_BITS, OTHER, SYMBOL, integer_word, short_word};
use super::{Content, Entry, Term, Terms};
use crate::canonical::{self, hash_of_expression, hash_of_leaf, hash_of_symbol};
use crate::columns::{ColumnsWriter, NO_LIMIT, table_of};
use crate::words::option_word;
use std::io;
use std::ops::Range;

/// A term that is left out.
const LEFT_OUT: u32 = u32::MAX;

/// Which terms are written, and under which numbers.
pub(crate) struct LiveTerms {
    numbers: Vec<u32>,
    /// How many of the first terms are those that the library takes.
    foundation: u32,
    count: u32,
}

impl LiveTerms {
    /// Those of the library, and those that are marked, with what they need.
    pub(crate) fn new(terms: &Terms, foundation: u32, mark_all: impl FnOnce(&mut dyn FnMut(Term))) -> Self {
        let mut numbers = vec![LEFT_OUT; terms.len()];
        let foundation = foundation.min(terms.len() as u32);
        numbers[..foundation as usize].fill(0);
        mark_all(&mut |term| numbers[term.0 as usize] = 0);
        for number in (foundation..terms.len() as u32).rev() {
            if numbers[number as usize] == LEFT_OUT {
                continue;
            }
            numbers[terms.key(Term(number)).0 as usize] = 0;
            for child in terms.children(Term(number)).unwrap_or_default() {
                numbers[child.0 as usize] = 0;
            }
        }
        let mut count = 0;
        for number in numbers.iter_mut().filter(|number| **number != LEFT_OUT) {
            *number = count;
            count += 1;
        }
        Self { numbers, foundation, count }
    }

    /// How many are written.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The number under which a term is written.
    #[inline]
    pub(crate) fn number(&self, term: Term) -> Term {
        Term(self.numbers[term.0 as usize])
    }

    /// Those that are written among some, in order.
    fn among(&self, range: Range<u32>) -> impl Iterator<Item = Term> {
        range.filter(|&number| self.numbers[number as usize] != LEFT_OUT).map(Term)
    }
}

/// The content hashes of the compounds that are written, by their numbers in the dictionary, which ascend.
#[derive(Default)]
struct CompoundHashes(Vec<(Term, u128)>);

impl CompoundHashes {
    fn of(&self, term: Term, terms: &Terms) -> u128 {
        match terms.content(term) {
            Content::Name(name) => hash_of_symbol(name),
            Content::Integer(value) => canonical::hash_of_integer(value, &mut Vec::new()),
            Content::Other(leaf) => hash_of_leaf(leaf),
            Content::Compound(_) => {
                let place = self.0.binary_search_by_key(&term, |&(known, _)| known);
                self.0[place.expect("children have smaller numbers")].1
            }
        }
    }

    fn add(&mut self, term: Term, terms: &Terms) -> u128 {
        let children = terms.children(term).unwrap_or_default();
        let hash = hash_of_expression(children.iter().map(|&child| self.of(child, terms)));
        self.0.push((term, hash));
        hash
    }
}

/// Writes the terms; what it says of them goes to the description.
pub(crate) fn write_terms(
    terms: &Terms,
    live: &LiveTerms,
    writer: &mut ColumnsWriter<'_>,
    words: &mut Vec<u64>,
) -> io::Result<()> {
    words.extend([u64::from(terms.has_keys()), 2]);
    let mut hashes = CompoundHashes::default();
    for range in [0..live.foundation, live.foundation..terms.len() as u32] {
        write_part(terms, live, range, &mut hashes, writer, words)?;
    }
    Ok(())
}

fn write_part(
    terms: &Terms,
    live: &LiveTerms,
    range: Range<u32>,
    hashes: &mut CompoundHashes,
    writer: &mut ColumnsWriter<'_>,
    words: &mut Vec<u64>,
) -> io::Result<()> {
    let all = || live.among(range.clone());
    let length = all().count() as u32;
    words.push(u64::from(length));
    let mut places = Places::default();
    words.push(writer.column(NO_LIMIT, all().map(|term| places.entry(terms, term)))?);
    words.push(
        writer.bytes(|put| {
            all().try_for_each(|term| long_name(terms, term).map_or(Ok(()), |name| put(name.as_bytes())))
        })?,
    );
    let mut compound = 0_u32;
    words.push(writer.column_of(NO_LIMIT, |put| {
        all().try_for_each(|term| {
            let Some(children) = terms.children(term) else { return Ok(()) };
            put(children.len() as u32)?;
            put(compound)?;
            compound += 1;
            children.iter().try_for_each(|&child| put(live.number(child).0))
        })
    })?);
    words.push(writer.column(
        NO_LIMIT,
        all().filter(|&term| terms.children(term).is_some()).map(|term| hashes.add(term, terms).to_le_bytes()),
    )?);
    words.push(writer.bytes(|put| {
        all().try_for_each(|term| {
            let Some(bytes) = other_bytes(terms, term) else { return Ok(()) };
            put(&(bytes.len() as u32).to_le_bytes())?;
            put(&bytes)
        })
    })?);
    let keys = terms.has_keys().then(|| {
        let keys = all().map(|term| live.number(terms.key(term)).0);
        writer.column(u64::from(live.count.max(1)), keys)
    });
    words.push(option_word(keys.transpose()?));
    let mut row = Vec::new();
    let hash_of = |term: Term| match terms.entry(term) {
        Entry::Compound(children) => {
            row.clear();
            row.extend(children.iter().map(|&child| live.number(child)));
            Entry::Compound(&row).hash()
        }
        leaf => leaf.hash(),
    };
    words.push(writer.column(NO_LIMIT, table_of(length, all().map(hash_of)))?);
    Ok(())
}

/// The name of a symbol that lies among the names.
fn long_name(terms: &Terms, term: Term) -> Option<&str> {
    match terms.entry(term) {
        Entry::Symbol(name) if short_word(name).is_none() => Some(name),
        _ => None,
    }
}

/// The canonical bytes of what lies neither in its entry nor among names and children.
fn other_bytes(terms: &Terms, term: Term) -> Option<Vec<u8>> {
    match terms.entry(term) {
        Entry::Other(atom) => Some(canonical::encode(atom)),
        Entry::Integer(value) if integer_word(value).is_none() => Some(canonical::encode(&value.into())),
        _ => None,
    }
}

/// Where the next name, the next children and the next other atom lie.
#[derive(Default)]
struct Places {
    names: u64,
    children: u64,
    others: u64,
}

impl Places {
    /// The entry of a term, as [`super::segment`] draws it.
    fn entry(&mut self, terms: &Terms, term: Term) -> [u8; 8] {
        let word = match terms.entry(term) {
            Entry::Symbol(name) => match short_word(name) {
                Some(word) => return word,
                None => {
                    let offset = self.names;
                    self.names += name.len() as u64;
                    assert!(self.names < 1 << OFFSET_BITS, "the names of a dictionary take less than 64 GiB");
                    offset << (LENGTH_BITS + 2) | (name.len() as u64) << 2 | SYMBOL
                }
            },
            Entry::Integer(value) => match integer_word(value) {
                Some(word) => return word,
                None => self.other(terms, term),
            },
            Entry::Compound(children) => {
                let from = self.children;
                self.children += children.len() as u64 + 2;
                from << 2 | COMPOUND
            }
            Entry::Other(_) => self.other(terms, term),
        };
        word.to_le_bytes()
    }

    fn other(&mut self, terms: &Terms, term: Term) -> u64 {
        let offset = self.others;
        self.others += other_bytes(terms, term).map_or(0, |bytes| bytes.len() as u64 + 4);
        offset << 3 | OTHER
    }
}

impl Terms {
    /// The entry of a term.
    fn entry(&self, term: Term) -> Entry<'_> {
        self.part(term).entry(term)
    }
}
