//! Writing to a store, and making others of it.

use super::arguments::{KeyArguments, KeyspaceArguments, LoadArguments, PutArguments};
use super::look::{find, key_of, not_opened, open};
use crate::end::End;
use crate::output::{Ended, Out, counted, fail};
use crate::render;
use journal::{Access, Directory, Disk, open_regular};
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use store::{
    BackupError, Batch, Compression, Durability, IngestError, Keyspace, OpenError, Options, SalvageError, Store,
    WriteError, salvage,
};

/// How many bytes of lines are committed together.
const BATCH_BYTES: usize = 1 << 20;
const SALVAGE_LISTED_MAX: usize = 20;

/// The store, open for writing; a new one if there is none and one may be made.
fn open_to_write(path: &Path, may_create: bool) -> Result<Store, End> {
    let opened = match Store::open(path, Options::default()) {
        Err(OpenError::Absent) if may_create => Store::create(path, Options::default()),
        opened => opened,
    };
    let store = opened.map_err(|error| not_opened(path, &error))?;
    crate::journal::warn(store.warnings());
    Ok(store)
}

/// The keyspace of a name; made if there is none.
fn keyspace_of(
    store: &Store,
    arguments: &KeyspaceArguments,
    compression: Option<Compression>,
) -> Result<Keyspace, End> {
    let name = &arguments.keyspace;
    let known = store.keyspaces().iter().find(|known| known.name == *name).map(|known| known.keyspace);
    let shape = known.map_or(arguments.keys.shape(), Keyspace::shape);
    let keyspace = match compression {
        Some(compression) => store.keyspace_with(name, shape, compression),
        None => store.keyspace(name, shape),
    };
    keyspace.map_err(|error| not_written(&error))
}

/// Tells why something was not written.
fn not_written(error: &WriteError) -> End {
    match error {
        WriteError::Key(_) => {
            fail(&error.to_string(), "`metroon store stats` shows what the keys of each keyspace are like", End::Usage)
        }
        WriteError::Damaged(_) => fail(&error.to_string(), "`metroon store verify` lists all damage", End::Damaged),
        _ => fail(&error.to_string(), "check that the disk works and has room", End::Error),
    }
}

pub(super) fn put(arguments: &PutArguments) -> Ended {
    let key = key_of(&arguments.keyspace, &arguments.key)?;
    let store = open_to_write(&arguments.path, true)?;
    let mut batch = Batch::new();
    batch.put(keyspace_of(&store, &arguments.keyspace, None)?, key, &arguments.value);
    store.commit(&batch, Durability::Fsync).map_err(|error| not_written(&error))?;
    Ok(End::Fine)
}

pub(super) fn delete(arguments: &KeyArguments) -> Ended {
    let KeyArguments { path, key, keyspace } = arguments;
    let bytes = key_of(keyspace, key)?;
    let store = open_to_write(path, false)?;
    let snapshot = store.snapshot();
    let found = find(&snapshot, keyspace)?;
    if store.get(found, &bytes).map_err(|error| super::look::not_read(path, &error))?.is_none() {
        return Err(fail(&format!("there is no key {key} in {}", keyspace.keyspace), "", End::Error));
    }
    let mut batch = Batch::new();
    batch.delete(found, bytes);
    store.commit(&batch, Durability::Fsync).map_err(|error| not_written(&error))?;
    Ok(End::Fine)
}

/// A line that is not what it should be, or that cannot be read.
struct LineError {
    message: String,
    end: End,
}

/// The records of lines.
struct Lines<'a> {
    input: Box<dyn BufRead>,
    name: String,
    keyspace: &'a KeyspaceArguments,
    line: Vec<u8>,
    count: u64,
}

impl Iterator for Lines<'_> {
    type Item = Result<(Vec<u8>, Vec<u8>), LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.line.clear();
        match self.input.read_until(b'\n', &mut self.line) {
            Ok(0) => None,
            Ok(_) => {
                self.count += 1;
                Some(self.record())
            }
            Err(error) => {
                let message = format!("cannot read {}: {error}", self.name);
                Some(Err(LineError { message, end: End::Error }))
            }
        }
    }
}

impl Lines<'_> {
    fn record(&self) -> Result<(Vec<u8>, Vec<u8>), LineError> {
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let wrong =
            |what: &str| LineError { message: format!("{}:{}: {what}", self.name, self.count), end: End::NotParsed };
        let Some(tab) = line.iter().position(|byte| *byte == b'\t') else { return Err(wrong("there is no tab")) };
        let key = self.keyspace.keys.read(&line[..tab]).map_err(|what| wrong(&what))?;
        Ok((key, line[tab + 1..].to_vec()))
    }
}

impl LineError {
    fn tell(&self) -> End {
        let help = if self.end == End::NotParsed { "each line is a key, a tab and a value" } else { "" };
        fail(&self.message, help, self.end)
    }
}

fn lines<'a>(arguments: &'a LoadArguments) -> Result<Lines<'a>, End> {
    let file = &arguments.file;
    let cannot_read =
        |error: io::Error| fail(&format!("cannot read {}: {error}", file.display()), "check the path", End::Error);
    let (name, input): (String, Box<dyn BufRead>) = if file == Path::new("-") {
        ("standard input".to_owned(), Box::new(BufReader::new(io::stdin())))
    } else {
        let opened = open_regular(file, Access::Read).map_err(cannot_read)?;
        (file.display().to_string(), Box::new(BufReader::new(opened)))
    };
    Ok(Lines { input, name, keyspace: &arguments.keyspace, line: Vec::new(), count: 0 })
}

pub(super) fn load(arguments: &LoadArguments) -> Ended {
    let mut lines = lines(arguments)?;
    let store = open_to_write(&arguments.path, true)?;
    let keyspace = keyspace_of(&store, &arguments.keyspace, arguments.lz4.then_some(Compression::Lz4))?;
    if arguments.sorted {
        load_sorted(&store, keyspace, &mut lines)?;
    } else {
        load_batches(&store, keyspace, &mut lines)?;
    }
    let count = lines.count;
    store.close().map_err(|error| not_written(&error))?;
    let mut out = Out::new();
    out.line(&format!("{}: {} loaded", arguments.path.display(), counted(count, "record")))?;
    out.end()
}

/// Writes lines, whose keys ascend, as runs.
fn load_sorted(store: &Store, keyspace: Keyspace, lines: &mut Lines<'_>) -> Result<(), End> {
    match store.try_ingest(keyspace, lines.by_ref()) {
        Ok(_) => Ok(()),
        Err(IngestError::Source(error)) => Err(error.tell()),
        Err(IngestError::Write(error @ WriteError::Key(_))) => {
            let place = format!("{}:{}", lines.name, lines.count);
            Err(fail(&format!("{place}: {error}"), "nothing was loaded", End::NotParsed))
        }
        Err(IngestError::Write(error)) => Err(not_written(&error)),
    }
}

/// Commits lines in batches. What came before a line that is wrong stays.
fn load_batches(store: &Store, keyspace: Keyspace, lines: &mut Lines<'_>) -> Result<(), End> {
    let mut batch = Batch::new();
    let commit = |batch: &mut Batch, durability| {
        let committed = store.commit(batch, durability).map_err(|error| not_written(&error));
        batch.clear();
        committed.map(drop)
    };
    while let Some(record) = lines.next() {
        let (key, value) = match record {
            Ok(record) => record,
            Err(error) => {
                commit(&mut batch, Durability::Fsync)?;
                render::say(&format!("{} loaded before the error", counted(lines.count - 1, "record")));
                return Err(error.tell());
            }
        };
        batch.put(keyspace, key, value);
        if batch.bytes() >= BATCH_BYTES {
            commit(&mut batch, Durability::None)?;
        }
    }
    commit(&mut batch, Durability::Fsync)
}

pub(super) fn compact(path: &Path) -> Ended {
    let store = open_to_write(path, false)?;
    store.compact().map_err(|error| not_written(&error))?;
    store.close().map_err(|error| not_written(&error))?;
    Ok(End::Fine)
}

pub(super) fn backup(path: &Path, to: &Path) -> Ended {
    let snapshot = open(path)?;
    snapshot.backup(to).map_err(|error| match error {
        BackupError::Damaged(_) => {
            fail(&format!("{}: {error}", path.display()), "`metroon store verify` lists all damage", End::Damaged)
        }
        BackupError::Occupied => fail(&format!("{}: {error}", to.display()), "", End::Usage),
        _ => fail(&format!("{}: {error}", to.display()), "check the path, and that there is room", End::Error),
    })?;
    Ok(End::Fine)
}

pub(super) fn salvage_to(path: &Path, to: &Path) -> Ended {
    let cannot_read =
        |error: io::Error| fail(&format!("cannot read {}: {error}", path.display()), "check the path", End::Usage);
    let damaged: Arc<dyn Disk> = Arc::new(Directory::open(path).map_err(cannot_read)?);
    let names = damaged.list().map_err(cannot_read)?;
    if !names.iter().any(|name| name == "MANIFEST" || name.ends_with(".run")) {
        return Err(not_opened(path, &OpenError::Absent));
    }
    let store = Store::create(to, Options::default()).map_err(|error| not_opened(to, &error))?;
    let salvaged = salvage(&damaged, &store).map_err(|error| match error {
        SalvageError::Write(error) => not_written(&error),
        error => fail(&format!("{}: {error}", path.display()), "check that you may read the store", End::Error),
    })?;
    store.close().map_err(|error| not_written(&error))?;
    let mut out = Out::new();
    let (records, batches) = (counted(salvaged.records, "record"), salvaged.batches);
    out.line(&format!("{}: {records} of runs and the batches of the log, {batches}, carried over", to.display()))?;
    for lost in salvaged.lost.iter().take(SALVAGE_LISTED_MAX) {
        out.line(&format!("lost: {lost}"))?;
    }
    if salvaged.lost.len() > SALVAGE_LISTED_MAX {
        out.line(&format!("and {} more", salvaged.lost.len() - SALVAGE_LISTED_MAX))?;
    }
    out.end()
}
