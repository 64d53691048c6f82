//! What the entries of an index say, as bytes.

use crate::history::CommitView;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// Hash, space, commit, place in the commit.
pub(super) const EVENT_KEY_BYTES: u16 = 36;
const HASH_BYTES: usize = 16;
/// Copies, name, line, column.
const EVENT_BYTES: usize = 20;

/// What an atom is found by.
pub(super) type AtomHash = [u8; HASH_BYTES];

pub(super) fn hash_of(bytes: &[u8]) -> AtomHash {
    let hash = blake3::hash(bytes);
    *hash.as_bytes().first_chunk().expect("a hash is longer")
}

pub(super) fn event_key(hash: &AtomHash, space: u64, epoch: u64, place: u32) -> Vec<u8> {
    [&hash[..], &space.to_be_bytes(), &epoch.to_be_bytes(), &place.to_be_bytes()].concat()
}

pub(super) fn event_value(copies: i64, name: u32, line: u32, column: u32) -> Vec<u8> {
    [&copies.to_le_bytes()[..], &name.to_le_bytes(), &line.to_le_bytes(), &column.to_le_bytes()].concat()
}

/// What a source is called: by its number in the index, or as the journal has it.
pub(in crate::history) enum Name {
    Numbered(u32),
    Text(Rc<str>),
}

/// One time that copies of an atom came or went.
pub(in crate::history) struct Event {
    pub(super) space: u64,
    pub(super) epoch: u64,
    pub(super) place: u32,
    pub(super) copies: i64,
    pub(super) name: Name,
    pub(super) line: u32,
    pub(super) column: u32,
}

impl Event {
    pub(super) fn decode(key: &[u8], value: &[u8]) -> Option<Self> {
        let (space, rest) = key.get(HASH_BYTES..)?.split_first_chunk()?;
        let (epoch, place) = (u64::from_be_bytes(*rest.first_chunk()?), u32::from_be_bytes(*rest.last_chunk()?));
        let copies = i64::from_le_bytes(*value.first_chunk()?);
        let number = |at: usize| Some(u32::from_le_bytes(*value.get(at..)?.first_chunk()?));
        let (name, line, column) = (Name::Numbered(number(8)?), number(12)?, number(16)?);
        let space = u64::from_be_bytes(*space);
        (value.len() == EVENT_BYTES).then_some(Self { space, epoch, place, copies, name, line, column })
    }
}

/// A commit, its origin by the number of its name.
#[derive(Serialize, Deserialize)]
pub(super) struct CommitEntry {
    hash: [u8; 16],
    time: Option<i64>,
    pub(super) name: u32,
    line: u32,
    added: u64,
    removed: u64,
    others: u64,
}

impl CommitEntry {
    pub(super) fn encode(view: &CommitView, name: u32) -> Vec<u8> {
        let CommitView { hash, time, line, added, removed, others, .. } = *view;
        let entry = Self { hash: hash.to_le_bytes(), time, name, line, added, removed, others };
        postcard::to_allocvec(&entry).expect("a vector takes every entry")
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }

    pub(super) fn view(self, epoch: u64, origin: String) -> CommitView {
        let Self { hash, time, line, added, removed, others, .. } = self;
        CommitView { epoch, hash: u128::from_le_bytes(hash), time, origin, line, added, removed, others }
    }
}

/// The key of a time: keys have the order of the times.
pub(super) fn time_key(time: i64) -> [u8; 8] {
    (time.cast_unsigned() ^ 1 << 63).to_be_bytes()
}

/// The time of a key.
pub(super) fn time_of(key: &[u8]) -> Option<i64> {
    Some((u64::from_be_bytes(key.try_into().ok()?) ^ 1 << 63).cast_signed())
}
