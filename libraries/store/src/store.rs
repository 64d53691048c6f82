//! A store open for writing, and opening one for reading.

use crate::batch::Batch;
use crate::engine::{Engine, named, replay};
use crate::error::{Failure, IngestError, OpenError, ReadError, WriteError};
use crate::keyspace::{Keyspace, NamedKeyspace};
use crate::levels::View;
use crate::manifest::Manifest;
use crate::memory::Memory;
use crate::memtable::Memtable;
use crate::options::{Maintenance, Options};
use crate::pack::Compression;
use crate::shape::KeyShape;
use crate::snapshot::{Inner, Snapshot};
use crate::tally::{Lookups, Tally};
use crate::value::Value;
use journal::{Directory, Disk, Durability, FolderLock, Warning};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

const LOCK_NAME: &str = "LOCK";
/// How often a store that changes while it is opened for reading is tried again.
const ATTEMPTS_MAX: u32 = 100;

/// An ordered key-value store, open for writing. Any thread may use it.
///
/// ```
/// use journal::Durability;
/// use store::{Batch, KeyShape, Options, Store};
///
/// let folder = std::env::temp_dir().join(format!("store-of-{}", std::process::id()));
/// let store = Store::create(&folder, Options::default())?;
/// let ponds = store.keyspace("ponds", KeyShape::Bytes)?;
///
/// let mut batch = Batch::new();
/// batch.put(ponds, "Sam", "frog");
/// batch.put(ponds, "Tom", "newt");
/// store.commit(&batch, Durability::Fsync)?;
/// assert_eq!(store.get(ponds, "Sam")?.as_deref(), Some(&b"frog"[..]));
///
/// let snapshot = store.snapshot();
/// let mut batch = Batch::new();
/// batch.delete(ponds, "Sam");
/// store.commit(&batch, Durability::Fsync)?;
/// let mut range = snapshot.all(ponds)?;
/// let mut keys = Vec::new();
/// while let Some((key, _)) = range.next()? {
///     keys.push(key.to_vec());
/// }
/// assert_eq!(keys, [b"Sam", b"Tom"], "a snapshot does not change");
/// store.close()?;
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store {
    engine: Arc<Engine>,
    threads: Vec<JoinHandle<()>>,
    warnings: Vec<Warning>,
    _lock: Option<FolderLock>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("keyspaces", &self.engine.keyspaces()).finish_non_exhaustive()
    }
}

impl Store {
    /// Makes a store in a folder, which is empty or does not exist yet.
    ///
    /// # Errors
    /// Something is there already, or the disk refuses.
    pub fn create(path: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        let directory = Directory::create(path.as_ref()).map_err(Failure::of("create", ""))?;
        check_empty(&directory)?;
        let lock = FolderLock::take(path.as_ref(), LOCK_NAME)?;
        Self::create_locked(Arc::new(directory), options, Some(lock))
    }

    /// Opens a store for writing.
    ///
    /// # Errors
    /// There is none, another process writes it, or it is damaged.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        let directory = folder(path.as_ref())?;
        let lock = FolderLock::take(path.as_ref(), LOCK_NAME)?;
        Self::open_locked(Arc::new(directory), options, Some(lock))
    }

    /// Opens a store for reading, as it is now; call it again to see what was committed since. Nothing is written, and another
    /// process may write the store meanwhile.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Snapshot, OpenError> {
        Self::open_read_only_on(Arc::new(folder(path.as_ref())?))
    }

    /// As [`Store::create`], on any disk. The caller keeps other writers away.
    ///
    /// # Errors
    /// As [`Store::create`].
    pub fn create_on(disk: Arc<dyn Disk>, options: Options) -> Result<Self, OpenError> {
        check_empty(&*disk)?;
        Self::create_locked(disk, options, None)
    }

    /// As [`Store::open`], on any disk. The caller keeps other writers away.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_on(disk: Arc<dyn Disk>, options: Options) -> Result<Self, OpenError> {
        Self::open_locked(disk, options, None)
    }

    /// As [`Store::open_read_only`], on any disk.
    ///
    /// # Errors
    /// As [`Store::open_read_only`].
    pub fn open_read_only_on(disk: Arc<dyn Disk>) -> Result<Snapshot, OpenError> {
        let mut attempts = 0;
        loop {
            let manifest = Manifest::read(&*disk)?;
            let opened = read_only(&disk, &manifest);
            // A writer may have removed files between two looks: then what was read does not belong together.
            let is_same = Manifest::read(&*disk).is_ok_and(|now| now == manifest);
            attempts += 1;
            if is_same || attempts == ATTEMPTS_MAX {
                return opened;
            }
        }
    }

    fn create_locked(disk: Arc<dyn Disk>, options: Options, lock: Option<FolderLock>) -> Result<Self, OpenError> {
        Manifest::new(options.identity).write(&*disk)?;
        Self::open_locked(disk, options, lock)
    }

    fn open_locked(disk: Arc<dyn Disk>, options: Options, lock: Option<FolderLock>) -> Result<Self, OpenError> {
        let is_background = options.maintenance == Maintenance::Background;
        let (engine, warnings) = Engine::open(disk, options)?;
        let engine = Arc::new(engine);
        let threads = if is_background { start(&engine)? } else { Vec::new() };
        Ok(Self { engine, threads, warnings, _lock: lock })
    }

    /// What opening mended.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The keyspaces, in the order in which they were made.
    pub fn keyspaces(&self) -> Arc<Vec<NamedKeyspace>> {
        self.engine.keyspaces()
    }

    /// The keyspace of a name; made, durably, if there is none.
    ///
    /// # Errors
    /// It exists with another shape, the name or the shape is not allowed, or the store has failed.
    pub fn keyspace(&self, name: &str, shape: KeyShape) -> Result<Keyspace, WriteError> {
        self.engine.keyspace(name, shape, None)
    }

    /// The keyspace of a name, made if there is none, whose runs are compressed in this way from now on.
    ///
    /// # Errors
    /// As [`Store::keyspace`].
    pub fn keyspace_with(&self, name: &str, shape: KeyShape, compression: Compression) -> Result<Keyspace, WriteError> {
        self.engine.keyspace(name, shape, Some(compression))
    }

    /// Commits a batch, and returns its number when it is as durable as asked. A reader sees all of it or nothing, from some
    /// moment before this returns on.
    ///
    /// # Errors
    /// Something in the batch is not allowed, and nothing was written; or the store has failed or fails now.
    pub fn commit(&self, batch: &Batch, durability: Durability) -> Result<u64, WriteError> {
        self.engine.commit(batch, durability)
    }

    /// Writes sorted records as runs, as one batch that is durable when this returns. It is the quickest way to load: nothing goes
    /// through the log. Commits wait meanwhile.
    ///
    /// # Errors
    /// A key does not ascend or is not allowed, and nothing was written; or the store has failed or fails now.
    pub fn ingest<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        keyspace: Keyspace,
        records: impl IntoIterator<Item = (K, V)>,
    ) -> Result<u64, WriteError> {
        let records = records.into_iter().map(Ok::<_, Infallible>);
        self.engine.ingest(keyspace, records).map_err(|error| match error {
            IngestError::Write(error) => error,
            IngestError::Source(never) => match never {},
        })
    }

    /// As [`Store::ingest`], of records that may fail to come.
    ///
    /// # Errors
    /// As [`Store::ingest`]; or a record did not come, and nothing was written.
    pub fn try_ingest<K: AsRef<[u8]>, V: AsRef<[u8]>, E>(
        &self,
        keyspace: Keyspace,
        records: impl IntoIterator<Item = Result<(K, V), E>>,
    ) -> Result<u64, IngestError<E>> {
        self.engine.ingest(keyspace, records.into_iter())
    }

    /// The value of a key, as the newest batch left it.
    ///
    /// # Errors
    /// The key does not fit the keyspace, or what lies on the disk is damaged.
    pub fn get(&self, keyspace: Keyspace, key: impl AsRef<[u8]>) -> Result<Option<Value>, ReadError> {
        self.engine.get(keyspace, key.as_ref())
    }

    /// The store as it is now.
    pub fn snapshot(&self) -> Snapshot {
        self.engine.snapshot()
    }

    /// Writes what is in memory as runs, durably.
    ///
    /// # Errors
    /// The store has failed or fails now.
    pub fn flush(&self) -> Result<(), WriteError> {
        self.engine.flush()
    }

    /// Merges all runs of the first level into the base.
    ///
    /// # Errors
    /// The store has failed or fails now.
    pub fn compact(&self) -> Result<(), WriteError> {
        self.engine.compact()
    }

    /// The lookups since this store was opened; [`Stats::lookups`](crate::Stats::lookups) has those before as well.
    pub fn lookups(&self) -> Lookups {
        self.engine.tally.since_opening()
    }

    /// Writes everything as runs, so that opening is quick, and ends.
    ///
    /// # Errors
    /// The store has failed or fails now.
    pub fn close(self) -> Result<(), WriteError> {
        self.engine.finish()
    }
}

/// Ends without waiting for anything to be durable; what was acknowledged is.
impl Drop for Store {
    fn drop(&mut self) {
        self.engine.end();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        self.engine.tally.write(&*self.engine.disk);
    }
}

fn start(engine: &Arc<Engine>) -> Result<Vec<JoinHandle<()>>, OpenError> {
    let (logging, flushing, merging) = (engine.clone(), engine.clone(), engine.clone());
    let logging: Box<dyn FnOnce() + Send> = Box::new(move || logging.work(Engine::log_step));
    let flushing: Box<dyn FnOnce() + Send> = Box::new(move || flushing.work(Engine::flush_step));
    let merging: Box<dyn FnOnce() + Send> = Box::new(move || merging.work(Engine::merge_step));
    let start = |(name, work): (&str, Box<dyn FnOnce() + Send>)| {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
        thread.map_err(|error| OpenError::from(Failure::of("start a thread for", "")(error)))
    };
    [("store-log", logging), ("store-flush", flushing), ("store-merge", merging)].into_iter().map(start).collect()
}

fn folder(path: &Path) -> Result<Directory, OpenError> {
    let directory = match Directory::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(OpenError::Absent),
        directory => directory.map_err(Failure::of("open", ""))?,
    };
    // Looked at before the lock leaves its file in a folder of somebody else's.
    Manifest::read(&directory)?;
    Ok(directory)
}

/// An error if there is something that a creation that did not end cannot have left.
fn check_empty(disk: &dyn Disk) -> Result<(), OpenError> {
    let nothing = Manifest::new(journal::Identity::default());
    let names = disk.list().map_err(Failure::of("list", ""))?;
    let is_empty = names.iter().all(|name| name == LOCK_NAME || nothing.is_left_over(name));
    if is_empty { Ok(()) } else { Err(OpenError::Occupied) }
}

fn read_only(disk: &Arc<dyn Disk>, manifest: &Manifest) -> Result<Snapshot, OpenError> {
    let memory = Memory::new(Options::default().index_limit());
    let levels = manifest.open_levels(&**disk, &[], &memory)?;
    let (memtable, none) = (Memtable::default(), BTreeMap::new());
    let (sequence, _) = replay(disk, manifest, |sequence, _, batch| {
        memtable.apply(sequence, batch, &none);
        Ok(())
    })?;
    let (keyspaces, tally) = (Arc::new(named(manifest)), Arc::new(Tally::read(&**disk)));
    let view = View { keyspaces, active: Arc::new(memtable), sealed: Vec::new(), levels: Arc::new(levels) };
    let inner = Inner { identity: manifest.identity, memory, tally, view: Arc::new(view), sequence, _registered: None };
    Ok(Snapshot { inner: Arc::new(inner) })
}
