//! Stores in memory, as a [`MemoryWorld`](crate::MemoryWorld) has them.

use crate::stores::{STORES_OPEN_MAX, StoreAnswer, StoreChange, StoreId, StoreRangeSize, StoreRequest};
use crate::world::WorldError;
use std::collections::BTreeMap;
use std::ops::Bound;

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
            StoreRequest::Open { path, .. } if self.open.len() >= STORES_OPEN_MAX => {
                Err(WorldError::too_many_stores(path))
            }
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
                let mut size = StoreRangeSize::default();
                if !taken.iter().all(|(key, value)| size.takes(key, value)) {
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

fn bound<'a>(key: &'a Option<Vec<u8>>, of: fn(&'a Vec<u8>) -> Bound<&'a Vec<u8>>) -> Bound<&'a Vec<u8>> {
    key.as_ref().map_or(Bound::Unbounded, of)
}
