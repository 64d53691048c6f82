//! Several cassettes made into one.
//!
//! 1. Exchanges of one cassette keep their order, whatever its clock said. Between cassettes the one that began first comes first; of
//!    those that began at once, that of the cassette that was named first.
//! 2. An exchange that is there already, equal in everything but its number, is a duplicate and is left out: two cassettes may be
//!    copies of one recording. Equal answers at different times are not duplicates.
//! 3. What is known of the cassettes is put together; of one name, the value of the cassette that was named last counts.

use crate::content::Content;
use crate::exchange::{Exchange, Note};
use std::collections::{BTreeMap, HashSet};
use std::iter::Peekable;

/// What merging came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Merged {
    /// The cassette, its exchanges numbered from 0.
    pub content: Content,
    /// How many exchanges were left out, since they were there already.
    pub duplicates: usize,
}

/// Makes one cassette of several.
pub fn merge(cassettes: Vec<Content>) -> Merged {
    let mut merged = Merged::default();
    let mut meta: BTreeMap<_, Note<'static>> = BTreeMap::new();
    let mut queues = Vec::new();
    for Content { exchanges, meta: notes } in cassettes {
        notes.into_iter().for_each(|note| drop(meta.insert(note.name.clone(), note)));
        queues.push(exchanges.into_iter().peekable());
    }
    merged.content.meta = meta.into_values().collect();
    let mut seen: HashSet<[u8; 32]> = HashSet::new();
    while let Some(first) = next_of(&mut queues, |exchange| exchange.started_ns).and_then(|queue| queues[queue].next())
    {
        let number = merged.content.exchanges.len() as u64;
        let numbered = Exchange { number, ..first };
        if seen.insert(hash_without_number(&numbered)) {
            merged.content.exchanges.push(numbered);
        } else {
            merged.duplicates += 1;
        }
    }
    merged
}

/// The cassette whose next exchange began first.
pub(crate) fn next_of<T>(
    queues: &mut [Peekable<impl Iterator<Item = T>>],
    started_ns: impl Fn(&T) -> i64,
) -> Option<usize> {
    let starts = queues.iter_mut().enumerate().filter_map(|(queue, rest)| Some((started_ns(rest.peek()?), queue)));
    starts.min().map(|(_, queue)| queue)
}

fn hash_without_number(exchange: &Exchange<'_>) -> [u8; 32] {
    let mut bytes = Vec::new();
    Exchange { number: 0, ..exchange.borrowed() }.encode(&mut bytes);
    *blake3::hash(&bytes).as_bytes()
}
