//! A batch: changes that happen together or not at all, and their bytes in the log.
//!
//! A batch is kept encoded, as it will lie in the log, so that committing it copies once. Of several changes of one key the
//! last counts.
//!
//! ```text
//! change:  keyspace u32, kind u8 (1 put, 2 delete), key length u32, [value length u32], key, [value]
//! ```

use crate::error::KeyError;
use crate::fields::{take, take_u32};
use crate::keyspace::Keyspace;
use crate::limits::{BATCH_BYTES_MAX, VALUE_BYTES_MAX};

/// What a change takes beside its key and value, at most.
const CHANGE_BYTES: usize = 13;
const PUT: u8 = 1;
const DELETE: u8 = 2;

/// Changes that are committed together.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    changes: usize,
    /// Each that has changes, at least once.
    keyspaces: Vec<Keyspace>,
    /// The first thing that was wrong; the commit tells it.
    error: Option<KeyError>,
}

/// One change of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change<'a> {
    pub(crate) keyspace: u32,
    pub(crate) key: &'a [u8],
    /// `None` deletes.
    pub(crate) value: Option<&'a [u8]>,
}

impl Batch {
    /// A batch without changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives a key a value. What is not allowed is told by the commit.
    pub fn put(&mut self, keyspace: Keyspace, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.push(keyspace, key.as_ref(), Some(value.as_ref()));
    }

    /// Takes a key away; whether it is there does not matter.
    pub fn delete(&mut self, keyspace: Keyspace, key: impl AsRef<[u8]>) {
        self.push(keyspace, key.as_ref(), None);
    }

    /// How many changes there are, those of the same key counted each.
    pub fn len(&self) -> usize {
        self.changes
    }

    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.changes == 0
    }

    /// How many bytes it takes in the log.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Takes all changes out, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.keyspaces.clear();
        self.changes = 0;
        self.error = None;
    }

    fn push(&mut self, keyspace: Keyspace, key: &[u8], value: Option<&[u8]>) {
        if self.error.is_none() {
            self.error = self.check(keyspace, key, value).err();
        }
        if self.error.is_some() {
            return;
        }
        self.changes += 1;
        if self.keyspaces.last() != Some(&keyspace) && !self.keyspaces.contains(&keyspace) {
            self.keyspaces.push(keyspace);
        }
        self.bytes.extend_from_slice(&keyspace.id.to_le_bytes());
        self.bytes.push(if value.is_some() { PUT } else { DELETE });
        self.bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
        if let Some(value) = value {
            self.bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
        }
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value.unwrap_or_default());
    }

    fn check(&self, keyspace: Keyspace, key: &[u8], value: Option<&[u8]>) -> Result<(), KeyError> {
        let value = value.unwrap_or_default();
        Self::check_record(keyspace, key, value)?;
        let bytes = self.bytes.len() + key.len() + value.len() + CHANGE_BYTES;
        if bytes > BATCH_BYTES_MAX { Err(KeyError::BatchTooLong { bytes }) } else { Ok(()) }
    }

    /// An error unless a keyspace takes a record.
    pub(crate) fn check_record(keyspace: Keyspace, key: &[u8], value: &[u8]) -> Result<(), KeyError> {
        keyspace.shape.check(key)?;
        let bytes = value.len();
        if bytes > VALUE_BYTES_MAX { Err(KeyError::ValueTooLong { bytes }) } else { Ok(()) }
    }

    /// The keyspaces that it has changes of.
    pub(crate) fn keyspaces(&self) -> &[Keyspace] {
        &self.keyspaces
    }

    /// The encoded changes; an error if one of them was not allowed.
    pub(crate) fn encoded(&self) -> Result<&[u8], KeyError> {
        self.error.clone().map_or(Ok(&self.bytes), Err)
    }
}

/// The changes of an encoded batch; `None` ends a batch that is not one.
pub(crate) fn changes(mut bytes: &[u8]) -> impl Iterator<Item = Option<Change<'_>>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let change = take_change(&mut bytes);
        if change.is_none() {
            bytes = &[];
        }
        Some(change)
    })
}

fn take_change<'a>(bytes: &mut &'a [u8]) -> Option<Change<'a>> {
    let keyspace = take_u32(bytes)?;
    let kind = *take(bytes, 1)?.first()?;
    let key_bytes = take_u32(bytes)? as usize;
    let value_bytes = match kind {
        PUT => Some(take_u32(bytes)? as usize),
        DELETE => None,
        _ => return None,
    };
    let key = take(bytes, key_bytes)?;
    let value = match value_bytes {
        Some(count) => Some(take(bytes, count)?),
        None => None,
    };
    Some(Change { keyspace, key, value })
}
