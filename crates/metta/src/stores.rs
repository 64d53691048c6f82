//! What a program may ask of stores: keys and values in a folder, in the order of keys, as a [`World`](crate::World) has them.
//!
//! A request and its answer are plain data, so that a recording holds both and a replay needs no store.

use crate::services::ServiceId;
use serde::{Deserialize, Serialize};

/// A key, and its value unless the key goes.
pub type StoreChange = (Vec<u8>, Option<Vec<u8>>);

/// What is asked of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum StoreRequest {
    /// To open the store in a folder.
    Open {
        /// The folder.
        path: String,
        /// Whether it is to be written; then it is made if there is none.
        for_writing: bool,
    },
    /// The value of a key.
    Get {
        /// Of which store.
        store: ServiceId,
        /// The key.
        key: Vec<u8>,
    },
    /// To make these changes together, durably.
    Commit {
        /// To which store.
        store: ServiceId,
        /// Of several of one key the last counts.
        changes: Vec<StoreChange>,
    },
    /// The entries of a range, in the order of their keys.
    Range {
        /// Of which store.
        store: ServiceId,
        /// Where it begins: keys that are not less.
        from: Option<Vec<u8>>,
        /// Where it ends: keys that are less.
        to: Option<Vec<u8>>,
        /// From the last to the first.
        is_backward: bool,
        /// How many at most.
        most: u64,
    },
    /// To keep the store as it is now.
    Snapshot {
        /// Which store.
        store: ServiceId,
    },
    /// To close a store or a snapshot.
    Close {
        /// Which.
        store: ServiceId,
    },
}

impl StoreRequest {
    /// Whether it changes what lies outside.
    pub fn is_outward(&self) -> bool {
        matches!(self, Self::Open { for_writing: true, .. } | Self::Commit { .. })
    }

    /// The keys and values that it hands over.
    pub fn contents(&self) -> Vec<&[u8]> {
        match self {
            Self::Commit { changes, .. } => changes
                .iter()
                .flat_map(|(key, value)| std::iter::once(key.as_slice()).chain(value.as_deref()))
                .collect(),
            Self::Get { key, .. } => vec![key],
            Self::Range { from, to, .. } => from.iter().chain(to).map(Vec::as_slice).collect(),
            _ => Vec::new(),
        }
    }
}

/// What a store answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum StoreAnswer {
    /// It is done.
    Done,
    /// A store or a snapshot is open.
    Opened(ServiceId),
    /// The value, if the key is there.
    Value(Option<Vec<u8>>),
    /// Keys and their values.
    Entries(Vec<(Vec<u8>, Vec<u8>)>),
}

impl StoreAnswer {
    /// The keys and values that it brings.
    pub fn contents(&self) -> Vec<&[u8]> {
        match self {
            Self::Value(value) => value.iter().map(Vec::as_slice).collect(),
            Self::Entries(entries) => entries.iter().flat_map(|(key, value)| [key.as_slice(), value]).collect(),
            _ => Vec::new(),
        }
    }
}
