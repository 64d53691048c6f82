//! The stores that a program has open, on the disk: the keyspace `main` of each.

use metta::{AnswerSize, OpenServices, ServiceId, ServiceKind, StoreAnswer, StoreChange, StoreRequest, WorldError};
use std::fmt::Display;
use std::ops::Bound;
use store::{Batch, Durability, KeyShape, Keyspace, OpenError, Options, ReadError, Snapshot, Store};

const KEYSPACE: &str = "main";

/// What one process's program has open.
pub(crate) struct SystemStores {
    open: OpenServices<Opened>,
}

impl Default for SystemStores {
    fn default() -> Self {
        Self { open: OpenServices::new(ServiceKind::Store) }
    }
}

struct Opened {
    path: String,
    kind: Kind,
    keyspace: Keyspace,
}

enum Kind {
    Writing(Store),
    Fixed(Snapshot),
}

impl Opened {
    fn failed(&self, error: &dyn Display) -> WorldError {
        failed(&self.path, error)
    }

    fn snapshot(&self) -> Snapshot {
        match &self.kind {
            Kind::Writing(store) => store.snapshot(),
            Kind::Fixed(snapshot) => snapshot.clone(),
        }
    }
}

fn failed(path: &str, error: &dyn Display) -> WorldError {
    WorldError::service_failed(path, error.to_string())
}

impl SystemStores {
    /// Does what is asked.
    pub(crate) fn ask(&mut self, request: &StoreRequest) -> Result<StoreAnswer, WorldError> {
        match request {
            StoreRequest::Open { path, for_writing } => self.open_store(path, *for_writing),
            StoreRequest::Get { store, key } => self.get(*store, key),
            StoreRequest::Commit { store, changes } => self.commit(*store, changes),
            StoreRequest::Range { store, from, to, is_backward, most } => {
                let bounds = (from.as_deref(), to.as_deref());
                self.range(*store, bounds, *is_backward, *most)
            }
            StoreRequest::Snapshot { store } => {
                let open = self.open.at(*store)?;
                self.open.check_room(&open.path)?;
                let (path, keyspace, kind) = (open.path.clone(), open.keyspace, Kind::Fixed(open.snapshot()));
                Ok(self.keep(Opened { path, kind, keyspace }))
            }
            StoreRequest::Close { store } => self.close(*store),
            _ => Err(failed("a store", &"this version of the engine does not know what is asked of it")),
        }
    }

    fn keep(&mut self, opened: Opened) -> StoreAnswer {
        StoreAnswer::Opened(self.open.keep(opened))
    }

    fn open_store(&mut self, path: &str, for_writing: bool) -> Result<StoreAnswer, WorldError> {
        self.open.check_room(path)?;
        let not_opened = |error: OpenError| failed(path, &error);
        let (kind, keyspace) = if for_writing {
            let store = match Store::open(path, Options::default()) {
                Err(OpenError::Absent) => Store::create(path, Options::default()),
                opened => opened,
            };
            let store = store.map_err(not_opened)?;
            let keyspace = store.keyspace(KEYSPACE, KeyShape::Bytes).map_err(|error| failed(path, &error))?;
            (Kind::Writing(store), keyspace)
        } else {
            let snapshot = Store::open_read_only(path).map_err(not_opened)?;
            let keyspace = snapshot.keyspace(KEYSPACE).filter(|found| found.shape() == KeyShape::Bytes);
            let missing = || failed(path, &"it has no keyspace main with keys of any bytes");
            (Kind::Fixed(snapshot), keyspace.ok_or_else(missing)?)
        };
        Ok(self.keep(Opened { path: path.to_owned(), kind, keyspace }))
    }

    fn get(&self, store: ServiceId, key: &[u8]) -> Result<StoreAnswer, WorldError> {
        let open = self.open.at(store)?;
        let found = match &open.kind {
            Kind::Writing(store) => store.get(open.keyspace, key),
            Kind::Fixed(snapshot) => snapshot.get(open.keyspace, key),
        };
        let found = found.map_err(|error| open.failed(&error))?;
        Ok(StoreAnswer::Value(found.map(|value| value.to_vec())))
    }

    fn commit(&self, store: ServiceId, changes: &[StoreChange]) -> Result<StoreAnswer, WorldError> {
        let open = self.open.at(store)?;
        let Kind::Writing(writing) = &open.kind else {
            return Err(WorldError::service_is_fixed(ServiceKind::Store, store));
        };
        let mut batch = Batch::new();
        for (key, value) in changes {
            match value {
                Some(value) => batch.put(open.keyspace, key, value),
                None => batch.delete(open.keyspace, key),
            }
        }
        writing.commit(&batch, Durability::Fsync).map_err(|error| open.failed(&error))?;
        Ok(StoreAnswer::Done)
    }

    fn range(
        &self,
        store: ServiceId,
        (first, end): (Option<&[u8]>, Option<&[u8]>),
        is_backward: bool,
        most: u64,
    ) -> Result<StoreAnswer, WorldError> {
        let open = self.open.at(store)?;
        if matches!((first, end), (Some(first), Some(end)) if first >= end) {
            return Ok(StoreAnswer::Entries(Vec::new()));
        }
        let bounds = (first.map_or(Bound::Unbounded, Bound::Included), end.map_or(Bound::Unbounded, Bound::Excluded));
        let not_read = |error: ReadError| open.failed(&error);
        let mut range = open.snapshot().range::<&[u8]>(open.keyspace, bounds).map_err(not_read)?;
        let (mut entries, mut size) = (Vec::new(), AnswerSize::default());
        while (entries.len() as u64) < most {
            let entry = if is_backward { range.next_back() } else { range.next() };
            let Some((key, value)) = entry.map_err(not_read)? else { break };
            if !size.takes(key.len() + value.len()) {
                return Err(WorldError::answer_too_long(ServiceKind::Store, store, "(most N) and (from KEY)"));
            }
            entries.push((key.to_vec(), value.to_vec()));
        }
        Ok(StoreAnswer::Entries(entries))
    }

    fn close(&mut self, store: ServiceId) -> Result<StoreAnswer, WorldError> {
        let Opened { path, kind, .. } = self.open.close(store)?;
        if let Kind::Writing(store) = kind {
            store.close().map_err(|error| failed(&path, &error))?;
        }
        Ok(StoreAnswer::Done)
    }
}
