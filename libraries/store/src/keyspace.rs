//! Keyspaces: each has a name, a shape of its keys, and an order of its own.

use crate::error::KeyError;
use crate::limits::{KEY_BYTES_MAX, KEYSPACES_MAX, NAME_BYTES_MAX, WIDTH_MAX};
use crate::pack::Compression;
use crate::shape::KeyShape;

impl KeyShape {
    pub(crate) fn check(self, key: &[u8]) -> Result<(), KeyError> {
        match self.width() {
            Some(wanted) if wanted != key.len() => Err(KeyError::Width { wanted, found: key.len() }),
            None if key.len() > KEY_BYTES_MAX => Err(KeyError::KeyTooLong { bytes: key.len() }),
            _ => Ok(()),
        }
    }
}

/// A keyspace of one store. The handle is valid for that store only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Keyspace {
    pub(crate) id: u32,
    pub(crate) shape: KeyShape,
}

impl Keyspace {
    /// What its keys look like.
    pub fn shape(self) -> KeyShape {
        self.shape
    }
}

/// A keyspace with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedKeyspace {
    /// The name.
    pub name: String,
    /// The handle.
    pub keyspace: Keyspace,
    /// How what is written to it is stored.
    pub compression: Compression,
}

/// An error unless a new keyspace may have this name and shape.
pub(crate) fn check_new(name: &str, shape: KeyShape, count: usize) -> Result<(), KeyError> {
    let why = if name.is_empty() || name.len() > NAME_BYTES_MAX {
        "the name of a keyspace has 1 to 255 bytes"
    } else if shape.width().is_some_and(|width| width == 0 || width > WIDTH_MAX) {
        "keys of one length have 1 to 1024 bytes"
    } else if count >= KEYSPACES_MAX {
        "a store has at most 4096 keyspaces"
    } else {
        return Ok(());
    };
    Err(KeyError::BadKeyspace { why })
}

/// Eight bytes that sort as the number does: the sign bit is flipped, the highest byte comes first.
pub fn signed_key(number: i64) -> [u8; 8] {
    (number as u64 ^ (1 << 63)).to_be_bytes()
}

/// The number of which [`signed_key`] made these bytes.
pub fn signed_number(key: [u8; 8]) -> i64 {
    (u64::from_be_bytes(key) ^ (1 << 63)) as i64
}
