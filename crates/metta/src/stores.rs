//! What a program may ask of stores: keys and values in a folder, in the order of keys, as a [`World`](crate::World) has them.
//!
//! A request and its answer are plain data, so that a recording holds both and a replay needs no store. [`MemoryStores`] keeps stores in
//! memory.

use crate::world::WorldError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Bound;

/// How many stores and snapshots a program may have open.
pub const STORES_OPEN_MAX: usize = 256;

/// How many bytes of keys and values one range may give.
pub const STORE_RANGE_BYTES_MAX: usize = 1 << 28;

/// A store or a snapshot that a program has opened. Ids are given in the order of opening, from 1 on, and never twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StoreId(pub u64);

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
        store: StoreId,
        /// The key.
        key: Vec<u8>,
    },
    /// To make these changes together, durably.
    Commit {
        /// To which store.
        store: StoreId,
        /// Of several of one key the last counts.
        changes: Vec<StoreChange>,
    },
    /// The entries of a range, in the order of their keys.
    Range {
        /// Of which store.
        store: StoreId,
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
        store: StoreId,
    },
    /// To close a store or a snapshot.
    Close {
        /// Which.
        store: StoreId,
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
    Opened(StoreId),
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

impl WorldError {
    /// Of a store that is not open.
    pub fn store_not_open(store: StoreId) -> Self {
        Self::StoreFailed { store: format!("store {}", store.0), reason: "it is not open".to_owned() }
    }

    /// Of a range that is too long for one answer.
    pub fn range_too_long(store: StoreId) -> Self {
        let reason = format!(
            "the range has more than {STORE_RANGE_BYTES_MAX} bytes of keys and values; read it in parts, with (most N) and (from KEY)"
        );
        Self::StoreFailed { store: format!("store {}", store.0), reason }
    }

    /// Of one store more than may be open.
    pub fn too_many_stores(path: &str) -> Self {
        let reason = format!("{STORES_OPEN_MAX} stores and snapshots are open; close one with store-close!");
        Self::StoreFailed { store: path.to_owned(), reason }
    }
}

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// Stores in memory.
#[derive(Debug, Default)]
pub(crate) struct MemoryStores {
    stores: BTreeMap<String, Entries>,
    open: BTreeMap<StoreId, Open>,
    opened: u64,
}

#[derive(Debug)]
enum Open {
    Writing(String),
    Fixed(Entries),
}

impl MemoryStores {
    /// Does what is asked.
    pub(crate) fn ask(&mut self, request: &StoreRequest) -> Result<StoreAnswer, WorldError> {
        match request {
            StoreRequest::Open { path, for_writing: true } => {
                if self.open.values().any(|open| matches!(open, Open::Writing(other) if other == path)) {
                    let reason = "it is open for writing already".to_owned();
                    return Err(WorldError::StoreFailed { store: path.clone(), reason });
                }
                self.stores.entry(path.clone()).or_default();
                self.keep(path, Open::Writing(path.clone()))
            }
            StoreRequest::Open { path, for_writing: false } => {
                let reason = || "there is no store here".to_owned();
                let found = self.stores.get(path).cloned();
                let found = found.ok_or_else(|| WorldError::StoreFailed { store: path.clone(), reason: reason() })?;
                self.keep(path, Open::Fixed(found))
            }
            StoreRequest::Get { store, key } => Ok(StoreAnswer::Value(self.entries(*store)?.get(key).cloned())),
            StoreRequest::Commit { store, changes } => self.commit(*store, changes),
            StoreRequest::Range { store, from, to, is_backward, most } => {
                let bounds = (bound(from, Bound::Included), bound(to, Bound::Excluded));
                let entries = self.entries(*store)?;
                if matches!((from, to), (Some(from), Some(to)) if from >= to) {
                    return Ok(StoreAnswer::Entries(Vec::new()));
                }
                let found = entries.range::<Vec<u8>, _>(bounds);
                let owned = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.clone(), value.clone());
                let most = usize::try_from(*most).unwrap_or(usize::MAX);
                let taken: Vec<_> = match is_backward {
                    true => found.rev().take(most).map(owned).collect(),
                    false => found.take(most).map(owned).collect(),
                };
                let bytes: usize = taken.iter().map(|(key, value)| key.len() + value.len()).sum();
                if bytes > STORE_RANGE_BYTES_MAX {
                    return Err(WorldError::range_too_long(*store));
                }
                Ok(StoreAnswer::Entries(taken))
            }
            StoreRequest::Snapshot { store } => {
                let kept = self.entries(*store)?.clone();
                self.keep("a snapshot", Open::Fixed(kept))
            }
            StoreRequest::Close { store } => {
                self.open.remove(store).map(|_| StoreAnswer::Done).ok_or_else(|| WorldError::store_not_open(*store))
            }
        }
    }

    fn keep(&mut self, path: &str, open: Open) -> Result<StoreAnswer, WorldError> {
        if self.open.len() >= STORES_OPEN_MAX {
            return Err(WorldError::too_many_stores(path));
        }
        self.opened += 1;
        let id = StoreId(self.opened);
        self.open.insert(id, open);
        Ok(StoreAnswer::Opened(id))
    }

    fn entries(&self, store: StoreId) -> Result<&Entries, WorldError> {
        match self.open.get(&store).ok_or_else(|| WorldError::store_not_open(store))? {
            Open::Writing(path) => Ok(&self.stores[path]),
            Open::Fixed(entries) => Ok(entries),
        }
    }

    fn commit(&mut self, store: StoreId, changes: &[StoreChange]) -> Result<StoreAnswer, WorldError> {
        let entries = match self.open.get(&store).ok_or_else(|| WorldError::store_not_open(store))? {
            Open::Writing(path) => self.stores.entry(path.clone()).or_default(),
            Open::Fixed(_) => return Err(WorldError::store_is_fixed(store)),
        };
        for (key, value) in changes {
            match value {
                Some(value) => drop(entries.insert(key.clone(), value.clone())),
                None => drop(entries.remove(key)),
            }
        }
        Ok(StoreAnswer::Done)
    }
}

impl WorldError {
    /// Of a change of what never changes.
    pub fn store_is_fixed(store: StoreId) -> Self {
        let reason = "it is a snapshot, or was opened to be read only; open the store with store-open! to write to it";
        Self::StoreFailed { store: format!("store {}", store.0), reason: reason.to_owned() }
    }
}

fn bound<'a>(key: &'a Option<Vec<u8>>, of: fn(&'a Vec<u8>) -> Bound<&'a Vec<u8>>) -> Bound<&'a Vec<u8>> {
    key.as_ref().map_or(Bound::Unbounded, of)
}
