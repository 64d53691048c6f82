//! Stores of keys and values, as `metroon/_store.py` makes a mapping of them: here keys and values are bytes.
//!
//! 1. What may wait for the disk gives up the interpreter lock.
//! 2. A snapshot and its ranges keep what they see, also if the store is closed meanwhile.
//! 3. In a fork of the process nothing of a store is touched.

use crate::convert::{from_python, to_python};
use crate::errors::plain;
use crate::home::OfProcess;
use crate::statistics::dictionary;
use ::statistics::Statistics;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use space::canonical;
use std::fmt::Display;
use std::ops::Bound as End;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError, RwLock};
use store::{
    Batch, Compression, Durability, KeyError, KeyShape, Keyspace, NamedKeyspace, OpenError, Options, ReadError,
    WriteError,
};

/// How many bytes of keys and values a range hands out at once, if it is asked for many entries.
const CHUNK_BYTES: usize = 1 << 20;

/// An entry in bytes: a key and its value, or no value for a key that goes.
type Change = (u32, Vec<u8>, Option<Vec<u8>>);

fn trouble(py: Python<'_>, error: &dyn Display) -> PyErr {
    plain(py, "StoreError", error)
}

fn closed(py: Python<'_>) -> PyErr {
    trouble(py, &"the store is closed")
}

fn forked(py: Python<'_>) -> PyErr {
    trouble(py, &"the process is a fork of the one that opened the store: open it for reading here")
}

fn of_key(error: &KeyError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn not_read(py: Python<'_>, error: &ReadError) -> PyErr {
    match error {
        ReadError::Key(error) => of_key(error),
        other => trouble(py, other),
    }
}

fn not_written(py: Python<'_>, error: &WriteError) -> PyErr {
    match error {
        WriteError::Key(error) => of_key(error),
        other => trouble(py, other),
    }
}

fn not_opened(py: Python<'_>, path: &str, error: &OpenError) -> PyErr {
    trouble(py, &format_args!("{path}: {error}"))
}

fn durability(name: &str) -> PyResult<Durability> {
    match name {
        "disk" => Ok(Durability::Fsync),
        "system" => Ok(Durability::Os),
        "none" => Ok(Durability::None),
        _ => Err(PyValueError::new_err(format!("durability is \"disk\", \"system\" or \"none\", not {name:?}"))),
    }
}

/// What the keys of a keyspace are like: its name, and how many bytes each has if they all have as many.
fn described(known: &NamedKeyspace) -> (String, Option<usize>) {
    (known.name.clone(), known.keyspace.shape().width())
}

/// The handle of a keyspace, by its place among all.
fn handle(py: Python<'_>, keyspaces: &[NamedKeyspace], place: u32) -> PyResult<Keyspace> {
    let known = keyspaces.get(place as usize);
    known.map(|known| known.keyspace).ok_or_else(|| trouble(py, &"the keyspace is one of another store"))
}

/// A store that is open for writing.
#[pyclass(module = "metroon._engine", frozen)]
pub(crate) struct Store {
    open: RwLock<OfProcess<store::Store>>,
}

impl Store {
    /// Does something with the store, without the interpreter lock.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&store::Store) -> T + Send) -> PyResult<T> {
        py.detach(|| {
            let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
            if !open.is_at_home() {
                return Err(true);
            }
            open.here().map(work).ok_or(false)
        })
        .map_err(|is_forked| if is_forked { forked(py) } else { closed(py) })
    }

    fn written<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&store::Store) -> Result<T, WriteError> + Send,
    ) -> PyResult<T> {
        self.with(py, work)?.map_err(|error| not_written(py, &error))
    }
}

#[pymethods]
impl Store {
    /// Opens a store for writing; makes one if there is none and that is wanted.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, creates: bool, memory_bytes: Option<usize>) -> PyResult<Self> {
        let options = memory_bytes.map_or_else(Options::default, |bytes| Options::default().memory_bytes(bytes));
        let opened = py.detach(|| match store::Store::open(&path, options.clone()) {
            Err(OpenError::Absent) if creates => store::Store::create(&path, options),
            opened => opened,
        });
        let open = opened.map_err(|error| not_opened(py, &path.to_string_lossy(), &error))?;
        Ok(Self { open: RwLock::new(OfProcess::new(open)) })
    }

    /// What opening mended, in words.
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |store| store.warnings().iter().map(ToString::to_string).collect())
    }

    /// The keyspaces, each with the width of its keys.
    fn keyspaces(&self, py: Python<'_>) -> PyResult<Vec<(String, Option<usize>)>> {
        self.with(py, |store| store.keyspaces().iter().map(described).collect())
    }

    /// The place of a keyspace among all, which is made if there is none.
    fn keyspace(&self, py: Python<'_>, name: &str, width: Option<u16>, compressed: Option<bool>) -> PyResult<u32> {
        let shape = width.map_or(KeyShape::Bytes, KeyShape::Fixed);
        self.written(py, |store| {
            let found = match compressed {
                None => store.keyspace(name, shape),
                Some(true) => store.keyspace_with(name, shape, Compression::Lz4),
                Some(false) => store.keyspace_with(name, shape, Compression::None),
            }?;
            let place = store.keyspaces().iter().position(|known| known.keyspace == found);
            Ok(place.expect("the store has the keyspace that it gave") as u32)
        })
    }

    /// The value of a key.
    fn get<'py>(&self, py: Python<'py>, keyspace: u32, key: &[u8]) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let found = self.with(py, |store| {
            let known = store.keyspaces();
            known.get(keyspace as usize).map(|known| store.get(known.keyspace, key))
        })?;
        let found = found.ok_or_else(|| trouble(py, &"the keyspace is one of another store"))?;
        Ok(found.map_err(|error| not_read(py, &error))?.map(|value| PyBytes::new(py, &value)))
    }

    /// Commits changes together; gives the number of the batch.
    fn commit(&self, py: Python<'_>, changes: Vec<Change>, durable: &str) -> PyResult<u64> {
        let durability = durability(durable)?;
        let known = self.with(py, store::Store::keyspaces)?;
        let mut batch = Batch::new();
        for (keyspace, key, value) in &changes {
            let keyspace = handle(py, &known, *keyspace)?;
            match value {
                Some(value) => batch.put(keyspace, key, value),
                None => batch.delete(keyspace, key),
            }
        }
        self.written(py, |store| store.commit(&batch, durability))
    }

    /// The store as it is now.
    fn snapshot(&self, py: Python<'_>) -> PyResult<StoreSnapshot> {
        self.with(py, |store| StoreSnapshot::new(store.snapshot()))
    }

    /// Writes what is in memory as runs.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.written(py, store::Store::flush)
    }

    /// Merges everything into one run.
    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        self.written(py, store::Store::compact)
    }

    /// Writes everything as runs, and ends. A second call does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let ended = py.detach(|| {
            let taken = self.open.write().unwrap_or_else(PoisonError::into_inner).take();
            taken.map_or(Ok(()), store::Store::close)
        });
        ended.map_err(|error| not_written(py, &error))
    }
}

/// A store as it was at a moment.
#[pyclass(module = "metroon._engine", frozen)]
pub(crate) struct StoreSnapshot {
    seen: OfProcess<store::Snapshot>,
}

impl StoreSnapshot {
    fn new(snapshot: store::Snapshot) -> Self {
        Self { seen: OfProcess::new(snapshot) }
    }

    fn seen(&self, py: Python<'_>) -> PyResult<&store::Snapshot> {
        self.seen.here().ok_or_else(|| forked(py))
    }
}

#[pymethods]
impl StoreSnapshot {
    /// Opens a store for reading, as it is now.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let opened = py.detach(|| store::Store::open_read_only(&path));
        Ok(Self::new(opened.map_err(|error| not_opened(py, &path.to_string_lossy(), &error))?))
    }

    /// The number of the last batch that it sees.
    #[getter]
    fn sequence(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.seen(py)?.sequence())
    }

    /// The keyspaces, each with the width of its keys.
    fn keyspaces(&self, py: Python<'_>) -> PyResult<Vec<(String, Option<usize>)>> {
        Ok(self.seen(py)?.keyspaces().iter().map(described).collect())
    }

    /// The value of a key.
    fn get<'py>(&self, py: Python<'py>, keyspace: u32, key: &[u8]) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let snapshot = self.seen(py)?;
        let keyspace = handle(py, snapshot.keyspaces(), keyspace)?;
        let found = py.detach(|| snapshot.get(keyspace, key)).map_err(|error| not_read(py, &error))?;
        Ok(found.map(|value| PyBytes::new(py, &value)))
    }

    /// The entries from one key up to another one, from either end; that end is left out, as `None` is.
    fn range(
        &self,
        py: Python<'_>,
        keyspace: u32,
        start: Option<Vec<u8>>,
        end: Option<Vec<u8>>,
        backward: bool,
    ) -> PyResult<StoreRange> {
        let snapshot = self.seen(py)?;
        let keyspace = handle(py, snapshot.keyspaces(), keyspace)?;
        // Bounds in the wrong order have nothing between them.
        let end = match (&start, end) {
            (Some(start), Some(end)) if end < *start => Some(start.clone()),
            (_, end) => end,
        };
        let bounds = (start.map_or(End::Unbounded, End::Included), end.map_or(End::Unbounded, End::Excluded));
        let range = snapshot.range(keyspace, bounds).map_err(|error| not_read(py, &error))?;
        Ok(StoreRange { range: Mutex::new(OfProcess::new(range)), is_backward: backward })
    }

    /// How many keys a keyspace has: all are read.
    fn count(&self, py: Python<'_>, keyspace: u32) -> PyResult<u64> {
        let snapshot = self.seen(py)?;
        let keyspace = handle(py, snapshot.keyspaces(), keyspace)?;
        py.detach(|| snapshot.count::<&[u8]>(keyspace, ..)).map_err(|error| not_read(py, &error))
    }

    /// The store in figures.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let snapshot = self.seen(py)?;
        let stats = py.detach(|| snapshot.stats()).map_err(|damage| trouble(py, &damage))?;
        dictionary(py, &stats.report())
    }

    /// What is damaged, in words; every page is read.
    fn verify(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let snapshot = self.seen(py)?;
        Ok(py.detach(|| snapshot.verify()).iter().map(ToString::to_string).collect())
    }

    /// Makes a store of its own of what it sees.
    fn backup(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let snapshot = self.seen(py)?;
        let made = py.detach(|| snapshot.backup(&path));
        made.map_err(|error| trouble(py, &format_args!("{}: {error}", path.display())))
    }
}

/// The entries of a range.
#[pyclass(module = "metroon._engine", frozen)]
pub(crate) struct StoreRange {
    range: Mutex<OfProcess<store::Range>>,
    is_backward: bool,
}

/// Keys and values, one after the other.
type Entries = Vec<(Vec<u8>, Vec<u8>)>;

#[pymethods]
impl StoreRange {
    /// The next entries, at most as many as asked for, and fewer if they are long; none at the end.
    fn take<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyList>> {
        let taken = py.detach(|| {
            let mut range = self.range.lock().unwrap_or_else(PoisonError::into_inner);
            range.here_mut().map(|range| entries(range, most, self.is_backward))
        });
        let taken = taken.ok_or_else(|| forked(py))?.map_err(|error| not_read(py, &error))?;
        let pairs = taken.iter().map(|(key, value)| (PyBytes::new(py, key), PyBytes::new(py, value)));
        PyList::new(py, pairs.collect::<Vec<_>>())
    }
}

fn entries(range: &mut store::Range, most: usize, is_backward: bool) -> Result<Entries, ReadError> {
    let (mut taken, mut bytes) = (Vec::new(), 0);
    while taken.len() < most && bytes < CHUNK_BYTES {
        let entry = if is_backward { range.next_back() } else { range.next() };
        let Some((key, value)) = entry? else { break };
        bytes += key.len() + value.len();
        taken.push((key.to_vec(), value.to_vec()));
    }
    Ok(taken)
}

/// A value of Python as bytes that sort as atoms do: the canonical form.
#[pyfunction]
pub(crate) fn atom_bytes<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let atom = from_python(value)?;
    if !atom.is_ground() {
        return Err(PyTypeError::new_err(format!("a store cannot keep {atom}: it has variables")));
    }
    let bytes = canonical::encode(&atom);
    // What a process knows by a number, such as a space, means nothing to the next one.
    if canonical::decode(&bytes, |_| None).is_err() {
        let message = format!("a store cannot keep {atom}: only this process knows what a part of it is");
        return Err(PyTypeError::new_err(message));
    }
    Ok(PyBytes::new(value.py(), &bytes))
}

/// The value of Python of which [`atom_bytes`] made these bytes.
#[pyfunction]
pub(crate) fn atom_of_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Py<PyAny>> {
    let atom = canonical::decode(bytes, |_| None);
    let atom = atom.map_err(|error| PyValueError::new_err(format!("the bytes are not those of an atom: {error}")))?;
    to_python(py, &atom)
}
