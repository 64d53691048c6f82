//! What a store does: batches go into the log and the memtable, memtables become runs, runs are merged.
//!
//! 1. A commit appends to the log and applies to the active memtable under one lock, which fixes the order of batches; waiting for
//!    the disk comes after, so that commits of many threads share a sync.
//! 2. If the memtable is full, the commit that comes next seals it and begins another, with a log of its own, which was made when the memtable
//!    was half full. The log before is synced first: a batch is durable only if all before it are. A thread takes it to the disk all
//!    the time, so that little is left to be synced then.
//! 3. Sealed memtables are written as runs of the first level; of those, the oldest few are merged into the base. Each ends with
//!    another manifest, and only then are files removed that no manifest speaks of.
//!
//! Invariants:
//!
//! 1. Nothing is acknowledged after a failure: the first one is kept, and every later commit gets it.
//! 2. Commits are slowed down when the first level is two thirds full, and when a memtable is half full before the last one is written. At most one memtable is sealed and not written yet, and the first level has at most
//!    [`Options::first_level_runs`](crate::Options::first_level_runs) runs: if more would come, commits wait.
//! 3. Locks are taken in the order `writer`, `next_log`, `flushing`, `merging`, `manifest`, `view`, `snapshots`, `work`.

use crate::batch::{Batch, changes};
use crate::compaction::{PartsWriter, Plan};
use crate::error::{Damage, IngestError, KeyError, OpenError, ReadError, WriteError};
use crate::footer::Header;
use crate::keyspace::{Keyspace, NamedKeyspace, check_new};
use crate::levels::View;
use crate::log;
use crate::manifest::{Manifest, RunName, Space};
use crate::memory::Memory;
use crate::memtable::End;
use crate::options::{Log, Maintenance, Options};
use crate::pack::Compression;
use crate::page::Ahead;
use crate::shape::KeyShape;
use crate::snapshot::{Inner, Registered, Registry, Snapshot, UNHARMED, check_keyspace};
use crate::steps::Steps;
use crate::tally::Tally;
use crate::value::Value;
use journal::{Disk, Durability, Journal, Warning};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::time::Duration;

/// A store that is open for writing.
pub(crate) struct Engine {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) options: Options,
    writer: Mutex<Writer>,
    memory: Arc<Memory>,
    pub(crate) tally: Arc<Tally>,
    /// The log of the active memtable, unless the owner keeps one. It changes under the lock of the writer.
    log: RwLock<Option<Arc<Journal>>>,
    /// Held while a memtable is written as runs.
    flushing: Mutex<()>,
    /// Held while runs are merged.
    merging: Mutex<()>,
    manifest: Mutex<Manifest>,
    /// Replaced as a whole. A reader takes the view, and does not hold the lock while it reads.
    view: RwLock<Arc<View>>,
    registry: Arc<Registry>,
    /// The newest batch that readers see.
    visible: AtomicU64,
    /// The log that the next memtable gets.
    next_log: Mutex<NextLog>,
    /// How many bytes went into the log since a background thread last took it to the disk.
    unsynced_bytes: AtomicU64,
    /// How many runs the fullest first level has.
    first_level: AtomicUsize,
    /// How long commits should have waited for merges, and did not yet, in nanoseconds.
    delay: AtomicU64,
    failure: Mutex<Option<Arc<WriteError>>>,
    /// What threads wait for: work, or its end.
    work: Mutex<Work>,
    changed: Condvar,
}

/// While a store is opened, a memtable becomes a run when it has this part of what it may have otherwise.
const RECOVERED_PARTS: usize = 4;

/// How much may gather in the log before a background thread takes it to the disk: at most this many bytes, and at most what a memtable
/// may have divided by `LOG_SYNC_SHARE`.
const LOG_SYNC_BYTES: u64 = 2 << 20;
const LOG_SYNC_SHARE: u64 = 8;

/// What a byte waits when there is no room left, in nanoseconds: four times what writing and merging it takes. It grows with the square of what is
/// taken of the room, so that half of that is enough for as much as is written meanwhile.
const DELAY_NANOSECONDS_PER_BYTE: u64 = 64;
/// Shorter delays are put together, since the system sleeps no shorter.
const DELAY_NANOSECONDS_MIN: u64 = 1_000_000;
/// The longest delay of one commit.
const DELAY_NANOSECONDS_MAX: u64 = 10_000_000;

/// In how many parts a share is expressed.
const SHARES: u64 = 1024;

/// How far something is from one limit to the next, in parts.
fn share_over(found: usize, from: usize, most: usize) -> u64 {
    let over = found.saturating_sub(from) as u64 * SHARES;
    (over / (most - from).max(1) as u64).min(SHARES)
}

/// A log that is to come.
#[derive(Default)]
struct NextLog {
    number: u64,
    made: Option<Journal>,
}

struct Writer {
    log_number: u64,
    sequence: u64,
}

/// What background threads are told.
#[derive(Default)]
struct Work {
    is_ending: bool,
    /// Counts changes, so that none is missed.
    changes: u64,
}

impl Engine {
    /// Opens what a manifest speaks of, and reads the batches back that are in no run.
    pub(crate) fn open(disk: Arc<dyn Disk>, options: Options) -> Result<(Self, Vec<Warning>), OpenError> {
        let manifest = Manifest::read(&*disk)?;
        let memory = Memory::new(options.index_limit());
        let levels = manifest.open_levels(&*disk, &[], &memory)?;
        remove_left_over(&disk, &manifest)?;
        let options = options.identity(manifest.identity);
        let (flushed, log_number) = (manifest.flushed, manifest.log);
        let tally = Arc::new(Tally::read(&*disk));
        let keyspaces = Arc::new(named(&manifest));
        let view = View { keyspaces, active: Arc::default(), sealed: Vec::new(), levels: Arc::new(levels) };
        let mut engine = Self {
            disk,
            options,
            writer: Mutex::new(Writer { log_number, sequence: flushed }),
            memory,
            tally,
            log: RwLock::new(None),
            flushing: Mutex::new(()),
            merging: Mutex::new(()),
            manifest: Mutex::new(manifest),
            view: RwLock::new(Arc::new(view)),
            registry: Arc::new(Registry::default()),
            visible: AtomicU64::new(flushed),
            next_log: Mutex::default(),
            unsynced_bytes: AtomicU64::new(0),
            first_level: AtomicUsize::new(0),
            delay: AtomicU64::new(0),
            failure: Mutex::new(None),
            work: Mutex::new(Work::default()),
            changed: Condvar::new(),
        };
        let warnings = engine.recover()?;
        Ok((engine, warnings))
    }

    /// Reads the batches back that are in no run, and opens the last log. What was read becomes runs whenever it takes a share of a
    /// memtable, so that opening takes less memory than what was committed before.
    fn recover(&mut self) -> Result<Vec<Warning>, OpenError> {
        let manifest = self.manifest.lock().expect(UNHARMED).clone();
        let limit = self.options.memtable_limit() / RECOVERED_PARTS;
        let replayed = replay(&self.disk, &manifest, |sequence, number, batch| {
            let active = self.view().active.clone();
            active.apply(sequence, batch, &BTreeMap::new());
            if active.bytes() < limit.max(1) {
                return Ok(());
            }
            // Its log has batches that come later, and stays.
            let end = End { sequence, log: number.saturating_sub(1) };
            self.change_view(|view| {
                let sealed = std::mem::take(&mut view.active);
                sealed.seal(end);
                view.sealed.insert(0, sealed);
            });
            drop(active);
            self.flush_one().map(drop).map_err(not_recovered)
        });
        let (sequence, last) = replayed?;
        *self.writer.get_mut().expect(UNHARMED) = Writer { log_number: last, sequence };
        self.next_log.get_mut().expect(UNHARMED).number = last + 1;
        self.visible.store(sequence, Ordering::Release);
        if self.options.log == Log::Owners {
            return Ok(Vec::new());
        }
        // Reading stopped where a log is torn; opening it cuts what is left there.
        let (log, warnings) = log::open(&self.disk, manifest.identity, last)?;
        *self.log.get_mut().expect(UNHARMED) = Some(Arc::new(log));
        Ok(warnings)
    }

    fn check_failure(&self) -> Result<(), WriteError> {
        match &*self.failure.lock().expect(UNHARMED) {
            Some(cause) => Err(WriteError::Refused(cause.clone())),
            None => Ok(()),
        }
    }

    /// Keeps the first failure; the store takes no more then.
    fn note<T>(&self, outcome: Result<T, WriteError>) -> Result<T, WriteError> {
        if let Err(error) = &outcome
            && !error.is_callers()
        {
            let mut failure = self.failure.lock().expect(UNHARMED);
            failure.get_or_insert_with(|| Arc::new(error.clone()));
            drop(failure);
            self.tell();
        }
        outcome
    }

    /// Wakes threads that wait for a change.
    fn tell(&self) {
        self.work.lock().expect(UNHARMED).changes += 1;
        self.changed.notify_all();
    }

    /// Waits until something is so, or the store fails.
    fn wait_until(&self, is_so: impl Fn(&View) -> bool) -> Result<(), WriteError> {
        loop {
            let seen = self.work.lock().expect(UNHARMED).changes;
            self.check_failure()?;
            if is_so(&self.view()) {
                return Ok(());
            }
            let mut work = self.work.lock().expect(UNHARMED);
            while work.changes == seen {
                work = self.changed.wait(work).expect(UNHARMED);
            }
        }
    }

    fn log(&self) -> Option<Arc<Journal>> {
        self.log.read().expect(UNHARMED).clone()
    }

    fn view(&self) -> Arc<View> {
        self.view.read().expect(UNHARMED).clone()
    }

    /// Replaces the view by a changed one.
    fn change_view(&self, change: impl FnOnce(&mut View)) {
        let mut view = self.view.write().expect(UNHARMED);
        change(Arc::make_mut(&mut view));
    }

    pub(crate) fn keyspaces(&self) -> Arc<Vec<NamedKeyspace>> {
        self.view().keyspaces.clone()
    }

    /// The keyspace of a name, made if there is none. From now on it is compressed in this way; as before, if none is named.
    pub(crate) fn keyspace(
        &self,
        name: &str,
        shape: KeyShape,
        compression: Option<Compression>,
    ) -> Result<Keyspace, WriteError> {
        self.check_failure()?;
        let known = |list: &[NamedKeyspace]| list.iter().find(|known| known.name == name).cloned();
        match known(&self.keyspaces()) {
            Some(found) if found.keyspace.shape != shape => {
                return Err(KeyError::Shape { found: found.keyspace.shape }.into());
            }
            Some(found) if compression.is_none_or(|wanted| wanted == found.compression) => return Ok(found.keyspace),
            Some(_) => {}
            None => check_new(name, shape, self.keyspaces().len())?,
        }
        let change = |manifest: &mut Manifest| match manifest.spaces.iter_mut().find(|space| space.name == name) {
            Some(space) => space.compression = compression.unwrap_or(space.compression),
            None => manifest.spaces.push(Space::new(name, shape, compression.unwrap_or_default())),
        };
        self.note(self.edit(change, |_| {}))?;
        Ok(known(&self.keyspaces()).expect("it was just made").keyspace)
    }

    /// Replaces the manifest and then the levels of the view, in one step for readers.
    fn edit(&self, change: impl FnOnce(&mut Manifest), and_view: impl FnOnce(&mut View)) -> Result<(), WriteError> {
        let mut manifest = self.manifest.lock().expect(UNHARMED);
        let mut next = manifest.clone();
        change(&mut next);
        // Opened before the manifest speaks of them: what cannot be read is not relied on.
        let before = self.view().levels.clone();
        let levels = next.open_levels(&*self.disk, &before, &self.memory).map_err(not_opened)?;
        next.write(&*self.disk)?;
        let fullest = levels.iter().map(|level| level.first.len()).max().unwrap_or(0);
        self.first_level.store(fullest, Ordering::Relaxed);
        self.change_view(|view| {
            view.keyspaces = Arc::new(named(&next));
            view.levels = Arc::new(levels);
            and_view(view);
        });
        *manifest = next;
        // A file that cannot be removed now goes when the store is opened again.
        for run in before.iter().flat_map(|level| level.runs()).filter(|run| manifest.is_left_over(run.name())) {
            let _ = self.disk.remove(run.name());
        }
        let _ = log::remove_below(&self.disk, manifest.log);
        drop(manifest);
        self.tell();
        Ok(())
    }

    /// Commits a batch; its number.
    pub(crate) fn commit(&self, batch: &Batch, durability: Durability) -> Result<u64, WriteError> {
        let encoded = batch.encoded()?;
        let keyspaces = self.keyspaces();
        batch.keyspaces().iter().try_for_each(|keyspace| check_keyspace(&keyspaces, *keyspace))?;
        if durability > Durability::None && self.options.log == Log::Owners {
            return Err(WriteError::NoLog);
        }
        self.pace(encoded.len());
        let (log, sequence) = self.note(self.append(encoded))?;
        if let Some(log) = log.filter(|_| durability > Durability::None) {
            self.note(log.sync(durability).map_err(WriteError::from))?;
        }
        Ok(sequence)
    }

    /// Slows commits down while the first level fills, or the memtable before another one is written, the more the fuller it is, so that they
    /// need not wait for a whole merge, or a whole flush, at once.
    fn pace(&self, bytes: usize) {
        if self.options.maintenance == Maintenance::Inline {
            return;
        }
        let most = self.options.first_level_runs_max;
        let share = share_over(self.first_level.load(Ordering::Relaxed), most * 2 / 3, most);
        let limit = self.options.memtable_limit();
        let view = self.view();
        let filled = if view.sealed.is_empty() { 0 } else { share_over(view.active.bytes(), limit / 2, limit) };
        let square = share.max(filled) * share.max(filled) / SHARES;
        let nanoseconds = bytes as u64 * DELAY_NANOSECONDS_PER_BYTE * square / SHARES;
        if nanoseconds == 0 {
            return;
        }
        if self.delay.fetch_add(nanoseconds, Ordering::Relaxed) + nanoseconds >= DELAY_NANOSECONDS_MIN {
            let due = self.delay.swap(0, Ordering::Relaxed);
            std::thread::sleep(Duration::from_nanos(due.min(DELAY_NANOSECONDS_MAX)));
        }
    }

    fn append(&self, encoded: &[u8]) -> Result<(Option<Arc<Journal>>, u64), WriteError> {
        let mut writer = self.writer.lock().expect(UNHARMED);
        self.check_failure()?;
        if encoded.is_empty() {
            return Ok((self.log(), writer.sequence));
        }
        self.make_room(&mut writer)?;
        let sequence = writer.sequence + 1;
        let log = self.log();
        if let Some(log) = &log {
            log::append(log, sequence, encoded)?;
        }
        writer.sequence = sequence;
        let active = self.view().active.clone();
        let snapshots = self.registry.snapshots.lock().expect(UNHARMED);
        active.apply(sequence, encoded, &snapshots);
        self.visible.store(sequence, Ordering::Release);
        drop(snapshots);
        let before = self.unsynced_bytes.fetch_add(encoded.len() as u64, Ordering::Relaxed);
        let most = self.log_sync_bytes();
        if before < most && before + encoded.len() as u64 >= most {
            self.tell();
        }
        Ok((log, sequence))
    }

    /// Begins another memtable if this one is full.
    fn make_room(&self, writer: &mut Writer) -> Result<(), WriteError> {
        if self.view().active.bytes() < self.options.memtable_limit() {
            return Ok(());
        }
        self.seal(writer)?;
        match self.options.maintenance {
            Maintenance::Background => Ok(()),
            Maintenance::Inline => self.maintain(),
        }
    }

    /// Begins another memtable, and another log with it.
    fn seal(&self, writer: &mut Writer) -> Result<(), WriteError> {
        if self.view().active.is_empty() {
            return Ok(());
        }
        let most = self.options.first_level_runs_max;
        if self.options.maintenance == Maintenance::Background {
            self.wait_until(|view| view.sealed.is_empty() && view.levels.iter().all(|level| level.first.len() < most))?;
        }
        let end = End { sequence: writer.sequence, log: writer.log_number };
        if let Some(log) = self.log() {
            log.sync(Durability::Fsync)?;
            let log = self.take_next_log()?;
            *self.log.write().expect(UNHARMED) = Some(Arc::new(log));
        }
        writer.log_number += 1;
        self.change_view(|view| {
            let sealed = std::mem::take(&mut view.active);
            sealed.seal(end);
            view.sealed.insert(0, sealed);
        });
        self.tell();
        Ok(())
    }

    /// The log of the memtable that begins, which may have been made before.
    fn take_next_log(&self) -> Result<Journal, WriteError> {
        let mut next = self.next_log.lock().expect(UNHARMED);
        let log = match next.made.take() {
            Some(log) => log,
            None => log::open(&self.disk, self.options.identity, next.number)?.0,
        };
        next.number += 1;
        Ok(log)
    }

    /// Makes the log of the next memtable when this one is half full, so that the commit that seals it need not.
    fn prepare_log(&self) -> Result<(), WriteError> {
        let mut next = self.next_log.lock().expect(UNHARMED);
        if next.made.is_none() && self.view().active.bytes() >= self.options.memtable_limit() / 2 {
            next.made = Some(log::open(&self.disk, self.options.identity, next.number)?.0);
        }
        Ok(())
    }

    /// Writes what is sealed, and merges as long as there is something to merge.
    fn maintain(&self) -> Result<(), WriteError> {
        while self.flush_one()? {}
        while self.merge_one(self.options.first_level_runs)? {}
        Ok(())
    }

    /// Writes the oldest sealed memtable as runs of the first level; whether there was one.
    fn flush_one(&self) -> Result<bool, WriteError> {
        let _flushing = self.flushing.lock().expect(UNHARMED);
        let Some(memtable) = self.view().sealed.last().cloned() else { return Ok(false) };
        let manifest = self.manifest.lock().expect(UNHARMED).clone();
        let End { sequence, log } = memtable.end();
        let mut runs: BTreeMap<u32, Vec<RunName>> = BTreeMap::new();
        for keyspace in memtable.keyspaces() {
            let stem = format!("k{keyspace}-f{}", manifest.flushes);
            let mut out = self.parts_writer(&manifest, keyspace, stem, sequence, Ahead::InSteps);
            memtable.for_each(keyspace, |key, value| out.push(key, value))?;
            runs.insert(keyspace, out.finish()?);
        }
        let change = |manifest: &mut Manifest| {
            for (keyspace, parts) in runs {
                manifest.spaces[keyspace as usize].first.insert(0, parts);
            }
            manifest.flushes += 1;
            manifest.flushed = sequence;
            manifest.log = log + 1;
        };
        self.edit(change, |view| drop(view.sealed.pop()))?;
        Ok(true)
    }

    fn parts_writer(
        &self,
        manifest: &Manifest,
        keyspace: u32,
        stem: String,
        sequence: u64,
        ahead: Ahead,
    ) -> PartsWriter<'_> {
        let shape = manifest.spaces[keyspace as usize].shape;
        let header = Header { identity: manifest.identity, keyspace, shape };
        let kind = (header, manifest.spaces[keyspace as usize].compression);
        let ahead = match self.options.maintenance {
            Maintenance::Background => ahead,
            Maintenance::Inline => Ahead::Never,
        };
        PartsWriter::new(&*self.disk, kind, stem, (self.options.part_bytes, ahead), sequence)
    }

    /// Merges the oldest runs of a first level that has at least `least` into its base; whether there was one.
    fn merge_one(&self, least: usize) -> Result<bool, WriteError> {
        let _merging = self.merging.lock().expect(UNHARMED);
        let levels = self.view().levels.clone();
        let Some(keyspace) = levels.iter().position(|level| level.first.len() >= least) else { return Ok(false) };
        let level = &levels[keyspace];
        let count = if least < self.options.first_level_runs { level.first.len() } else { least };
        let plan = Plan::new(level, count, self.options.part_bytes);
        let manifest = self.manifest.lock().expect(UNHARMED).clone();
        let stem = format!("k{keyspace}-c{}", manifest.spaces[keyspace].compactions);
        let out = self.parts_writer(&manifest, keyspace as u32, stem, plan.last_sequence(), Ahead::InSteps);
        let is_ending = || self.work.lock().expect(UNHARMED).is_ending;
        let Some(base) = plan.carry_out(out, is_ending)? else { return Ok(false) };
        let change = |manifest: &mut Manifest| {
            let space = &mut manifest.spaces[keyspace];
            // Others may have come meanwhile, in front.
            space.first.truncate(space.first.len() - count);
            space.base = base;
            space.compactions += 1;
        };
        self.edit(change, |_| {})?;
        Ok(true)
    }

    /// Writes everything that is in memory as runs.
    pub(crate) fn flush(&self) -> Result<(), WriteError> {
        self.note(self.try_flush())
    }

    fn try_flush(&self) -> Result<(), WriteError> {
        self.check_failure()?;
        self.seal(&mut self.writer.lock().expect(UNHARMED))?;
        while self.flush_one()? {}
        Ok(())
    }

    /// Merges everything into the base.
    pub(crate) fn compact(&self) -> Result<(), WriteError> {
        self.note(self.try_flush().and_then(|()| {
            while self.merge_one(1)? {}
            Ok(())
        }))
    }

    /// Writes sorted records as runs, as one batch; nothing of them is in the log.
    pub(crate) fn ingest<K: AsRef<[u8]>, V: AsRef<[u8]>, E>(
        &self,
        keyspace: Keyspace,
        records: impl Iterator<Item = Result<(K, V), E>>,
    ) -> Result<u64, IngestError<E>> {
        check_keyspace(&self.keyspaces(), keyspace)?;
        let mut writer = self.writer.lock().expect(UNHARMED);
        self.check_failure()?;
        // What is in memory is older than what comes.
        self.note(self.seal(&mut writer).and_then(|()| {
            while self.flush_one()? {}
            Ok(())
        }))?;
        let _flushing = self.flushing.lock().expect(UNHARMED);
        let manifest = self.manifest.lock().expect(UNHARMED).clone();
        let sequence = writer.sequence + 1;
        let stem = format!("k{}-f{}", keyspace.id, manifest.flushes);
        let out = self.parts_writer(&manifest, keyspace.id, stem, sequence, Ahead::Beside);
        let parts = match write_ascending(out, keyspace, records) {
            Err(IngestError::Write(error)) => self.note(Err(error))?,
            parts => parts?,
        };
        if parts.is_empty() {
            return Ok(writer.sequence);
        }
        let change = |manifest: &mut Manifest| {
            manifest.spaces[keyspace.id as usize].first.insert(0, parts);
            manifest.flushes += 1;
            manifest.flushed = sequence;
        };
        writer.sequence = sequence;
        self.note(self.edit(change, |_| self.visible.store(sequence, Ordering::Release)))?;
        Ok(sequence)
    }

    pub(crate) fn get(&self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Value>, ReadError> {
        let view = self.view();
        check_keyspace(&view.keyspaces, keyspace)?;
        keyspace.shape.check(key)?;
        let mut steps = Steps::default();
        let value = view.get(keyspace.id, key, u64::MAX, &mut steps)?;
        self.tally.add(&steps, value.is_some());
        Ok(value)
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        // Under the first lock no memtable is sealed, and under the second no batch drops a version that this snapshot sees.
        let view = self.view.read().expect(UNHARMED);
        let mut snapshots = self.registry.snapshots.lock().expect(UNHARMED);
        let sequence = self.visible.load(Ordering::Acquire);
        *snapshots.entry(sequence).or_insert(0) += 1;
        drop(snapshots);
        let registered = Some(Registered { registry: self.registry.clone(), sequence });
        let (identity, memory, tally) = (self.options.identity, self.memory.clone(), self.tally.clone());
        let inner = Inner { identity, memory, tally, view: view.clone(), sequence, _registered: registered };
        Snapshot { inner: Arc::new(inner) }
    }

    /// Writes everything as runs and makes it durable.
    pub(crate) fn finish(&self) -> Result<(), WriteError> {
        self.flush()?;
        self.note(self.sync_log())?;
        let mut next = self.next_log.lock().expect(UNHARMED);
        if next.made.take().is_some() {
            // If it cannot be removed, an empty log stays, which costs nothing.
            let _ = log::remove(&self.disk, next.number);
        }
        Ok(())
    }

    fn sync_log(&self) -> Result<(), WriteError> {
        self.log().map_or(Ok(()), |log| Ok(log.sync(Durability::Fsync)?))
    }

    /// Tells background threads to end.
    pub(crate) fn end(&self) {
        self.work.lock().expect(UNHARMED).is_ending = true;
        self.tell();
    }

    /// Does one kind of work whenever there is some, until the store ends or fails.
    pub(crate) fn work(&self, step: impl Fn(&Self) -> Result<bool, WriteError>) {
        let mut seen = None;
        loop {
            let mut work = self.work.lock().expect(UNHARMED);
            while !work.is_ending && seen == Some(work.changes) {
                work = self.changed.wait(work).expect(UNHARMED);
            }
            if work.is_ending {
                return;
            }
            let changes = work.changes;
            drop(work);
            match self.note(step(self)) {
                Ok(true) => {}
                Ok(false) => seen = Some(changes),
                Err(_) => return,
            }
        }
    }

    fn log_sync_bytes(&self) -> u64 {
        LOG_SYNC_BYTES.min(self.options.memtable_limit() as u64 / LOG_SYNC_SHARE).max(1)
    }

    /// Takes the log to the disk from time to time, so that sealing a memtable has little left to sync.
    pub(crate) fn log_step(&self) -> Result<bool, WriteError> {
        if self.unsynced_bytes.load(Ordering::Relaxed) < self.log_sync_bytes() {
            return Ok(false);
        }
        self.unsynced_bytes.store(0, Ordering::Relaxed);
        let Some(log) = self.log() else { return Ok(false) };
        self.prepare_log()?;
        log.write_back()?;
        Ok(true)
    }

    pub(crate) fn flush_step(&self) -> Result<bool, WriteError> {
        self.flush_one()
    }

    pub(crate) fn merge_step(&self) -> Result<bool, WriteError> {
        self.merge_one(self.options.first_level_runs)
    }
}

/// Writes records, which ascend, as a run in parts.
fn write_ascending<K: AsRef<[u8]>, V: AsRef<[u8]>, E>(
    mut out: PartsWriter<'_>,
    keyspace: Keyspace,
    records: impl Iterator<Item = Result<(K, V), E>>,
) -> Result<Vec<RunName>, IngestError<E>> {
    let mut before: Option<Vec<u8>> = None;
    for record in records {
        let (key, value) = record.map_err(IngestError::Source)?;
        let (key, value) = (key.as_ref(), value.as_ref());
        Batch::check_record(keyspace, key, value)?;
        if before.as_ref().is_some_and(|before| before[..] >= *key) {
            return Err(KeyError::NotAscending.into());
        }
        before.get_or_insert_default().clear();
        before.get_or_insert_default().extend_from_slice(key);
        out.push(key, Some(value))?;
    }
    Ok(out.finish()?)
}

/// Why what was read back cannot be written as a run.
fn not_recovered(error: WriteError) -> OpenError {
    match error {
        WriteError::Disk(failure) => failure.into(),
        WriteError::Damaged(damage) => damage.into(),
        other => Damage::new("", 0, other.to_string()).into(),
    }
}

/// Why a run that was just written cannot be opened.
fn not_opened(error: OpenError) -> WriteError {
    match error {
        OpenError::Disk(failure) => failure.into(),
        OpenError::Damaged(damage) => damage.into(),
        other => Damage::new("", 0, other.to_string()).into(),
    }
}

/// The keyspaces of a manifest.
pub(crate) fn named(manifest: &Manifest) -> Vec<NamedKeyspace> {
    let spaces = manifest.spaces.iter().enumerate();
    spaces
        .map(|(id, space)| NamedKeyspace {
            name: space.name.clone(),
            keyspace: Keyspace { id: id as u32, shape: space.shape },
            compression: space.compression,
        })
        .collect()
}

/// Removes files that no manifest speaks of: a crash left them.
fn remove_left_over(disk: &Arc<dyn Disk>, manifest: &Manifest) -> Result<(), OpenError> {
    let failed = crate::error::Failure::of;
    for name in disk.list().map_err(failed("list", ""))? {
        if manifest.is_left_over(&name) {
            disk.remove(&name).map_err(failed("remove", &name))?;
        }
    }
    log::remove_below(disk, manifest.log).map_err(failed("remove", "a log"))?;
    Ok(())
}

/// Hands out the batches that are in no run, each with its sequence number and the number of its log; gives the newest, and the number of the
/// last log.
pub(crate) fn replay(
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
    mut take: impl FnMut(u64, u64, &[u8]) -> Result<(), OpenError>,
) -> Result<(u64, u64), OpenError> {
    let names = disk.list().map_err(crate::error::Failure::of("list", ""))?;
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| log::number_of(name)).collect();
    numbers.retain(|number| *number >= manifest.log);
    numbers.sort_unstable();
    numbers.dedup();
    let mut sequence = manifest.flushed;
    // A log without a batch was made for a memtable that did not begin.
    let mut last = manifest.log;
    for &number in &numbers {
        log::read(disk, number, |found, batch| {
            last = number;
            if found <= manifest.flushed {
                return Ok(());
            }
            let damaged = |what: String| OpenError::from(Damage::new(&format!("log {number}"), 0, what));
            if found != sequence + 1 {
                return Err(damaged(format!("batch {} is missing before batch {found}", sequence + 1)));
            }
            let known = |change: &crate::batch::Change<'_>| {
                let space = manifest.spaces.get(change.keyspace as usize);
                space.is_some_and(|space| space.shape.check(change.key).is_ok())
            };
            if !changes(batch).all(|change| change.as_ref().is_some_and(known)) {
                return Err(damaged(format!("batch {found} is not one of this store")));
            }
            sequence = found;
            take(found, number, batch)
        })?;
    }
    Ok((sequence, last))
}
