//! Stores in memory, as a [`MemoryWorld`](crate::MemoryWorld) has them.

use crate::open_services::OpenServices;
use crate::services::{AnswerSize, ServiceId, ServiceKind};
use crate::stores::{StoreAnswer, StoreChange, StoreRequest};
use crate::world::WorldError;
use std::collections::BTreeMap;
use std::ops::Bound;

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// Stores in memory.
#[derive(Debug)]
pub(crate) struct MemoryStores {
    stores: BTreeMap<String, Entries>,
    open: OpenServices<Open>,
}

impl Default for MemoryStores {
    fn default() -> Self {
        Self { stores: BTreeMap::new(), open: OpenServices::new(ServiceKind::Store) }
    }
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
                self.open.check_room(path)?;
                if self.open.iter().any(|open| matches!(open, Open::Writing(other) if other == path)) {
                    return Err(WorldError::service_failed(path, "it is open for writing already"));
                }
                self.stores.entry(path.clone()).or_default();
                self.keep(path, Open::Writing(path.clone()))
            }
            StoreRequest::Open { path, for_writing: false } => {
                self.open.check_room(path)?;
                let found = self.stores.get(path).cloned();
                let found = found.ok_or_else(|| WorldError::service_failed(path, "there is no store here"))?;
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
                let mut size = AnswerSize::default();
                if !taken.iter().all(|(key, value)| size.takes(key.len() + value.len())) {
                    return Err(WorldError::answer_too_long(ServiceKind::Store, *store, "(most N) and (from KEY)"));
                }
                Ok(StoreAnswer::Entries(taken))
            }
            StoreRequest::Snapshot { store } => {
                let kept = self.entries(*store)?.clone();
                self.keep("a snapshot", Open::Fixed(kept))
            }
            StoreRequest::Close { store } => {
                self.open.close(*store)?;
                Ok(StoreAnswer::Done)
            }
        }
    }

    fn keep(&mut self, path: &str, open: Open) -> Result<StoreAnswer, WorldError> {
        self.open.check_room(path)?;
        Ok(StoreAnswer::Opened(self.open.keep(open)))
    }

    fn entries(&self, store: ServiceId) -> Result<&Entries, WorldError> {
        match self.open.at(store)? {
            Open::Writing(path) => Ok(&self.stores[path]),
            Open::Fixed(entries) => Ok(entries),
        }
    }

    fn commit(&mut self, store: ServiceId, changes: &[StoreChange]) -> Result<StoreAnswer, WorldError> {
        let entries = match self.open.at(store)? {
            Open::Writing(path) => self.stores.entry(path.clone()).or_default(),
            Open::Fixed(_) => return Err(WorldError::service_is_fixed(ServiceKind::Store, store)),
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
