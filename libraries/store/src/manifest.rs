//! The manifest: which files make up the store. Replaced as a whole, by a file that is durable before it gets the name.
//!
//! ```text
//! +0   magic "METROONS", version u32, zero u32
//! +16  identity, 16 bytes
//!      next log u64, flushed sequence number u64, flushes u64, keyspaces u32
//!      for each keyspace: name, shape u32 (and 65536 if it is compressed), compactions u64, first-level runs u32, each of them, then the base
//!      a run in parts: parts u32, and for each its name, first key and last key
//!      a name or a key: length u32, bytes
//!      checksum u32, CRC-32C of all before
//! ```

use crate::builder::Written;
use crate::error::{Damage, Failure, OpenError};
use crate::fields::{take, take_u32, take_u64};
use crate::levels::Level;
use crate::limits::{KEYSPACES_MAX, VERSION};
use crate::memory::Memory;
use crate::pack::Compression;
use crate::run::{Run, SortedRun};
use crate::shape::KeyShape;
use crate::tally;
use crc32c::crc32c;
use journal::{Access, Disk, Identity};
use std::io::ErrorKind;
use std::sync::Arc;

pub(crate) const NAME: &str = "MANIFEST";
const NAME_NEW: &str = "MANIFEST.new";
const MAGIC: [u8; 8] = *b"METROONS";
/// What the shape of a compressed keyspace has beside it.
const COMPRESSED: u32 = 1 << 16;
const RUN_SUFFIX: &str = ".run";

/// A run, as the manifest names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunName {
    pub(crate) name: String,
    pub(crate) first_key: Vec<u8>,
    pub(crate) last_key: Vec<u8>,
}

impl From<Written> for RunName {
    fn from(written: Written) -> Self {
        let Written { name, first_key, last_key } = written;
        Self { name, first_key, last_key }
    }
}

/// A keyspace and its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    pub(crate) name: String,
    pub(crate) shape: KeyShape,
    pub(crate) compression: Compression,
    /// How many compactions there were; names of files have the number.
    pub(crate) compactions: u64,
    /// Newest first, each in parts.
    pub(crate) first: Vec<Vec<RunName>>,
    pub(crate) base: Vec<RunName>,
}

/// What the store consists of on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) identity: Identity,
    /// The first log with batches that are in no run.
    pub(crate) log: u64,
    /// The newest batch that is in a run.
    pub(crate) flushed: u64,
    /// How many memtables became runs; names of files have the number.
    pub(crate) flushes: u64,
    pub(crate) spaces: Vec<Space>,
}

impl Space {
    pub(crate) fn new(name: &str, shape: KeyShape, compression: Compression) -> Self {
        Self { name: name.to_owned(), shape, compression, compactions: 0, first: Vec::new(), base: Vec::new() }
    }
}

impl Manifest {
    pub(crate) fn new(identity: Identity) -> Self {
        Self { identity, log: 1, flushed: 0, flushes: 0, spaces: Vec::new() }
    }

    fn runs(&self) -> impl Iterator<Item = &RunName> {
        self.spaces.iter().flat_map(|space| space.first.iter().flatten().chain(&space.base))
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.identity.0);
        for number in [self.log, self.flushed, self.flushes] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        put_u32(&mut bytes, self.spaces.len());
        for space in &self.spaces {
            put_bytes(&mut bytes, space.name.as_bytes());
            let compressed = if space.compression == Compression::Lz4 { COMPRESSED } else { 0 };
            bytes.extend_from_slice(&(space.shape.code() | compressed).to_le_bytes());
            bytes.extend_from_slice(&space.compactions.to_le_bytes());
            put_u32(&mut bytes, space.first.len());
            for parts in space.first.iter().chain([&space.base]) {
                put_u32(&mut bytes, parts.len());
                for part in parts {
                    let fields: [&[u8]; 3] = [part.name.as_bytes(), &part.first_key, &part.last_key];
                    fields.into_iter().for_each(|field| put_bytes(&mut bytes, field));
                }
            }
        }
        let sum = crc32c(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Self, OpenError> {
        let damaged = |what: &str| OpenError::from(Damage::new(NAME, 0, what));
        let Some((fields, sum)) = bytes.split_last_chunk::<4>() else { return Err(damaged("the manifest is cut")) };
        if !fields.starts_with(&MAGIC) {
            return Err(OpenError::Foreign);
        }
        if crc32c(fields) != u32::from_le_bytes(*sum) {
            return Err(damaged("the manifest is damaged"));
        }
        let mut rest = &fields[MAGIC.len()..];
        let version = take_u32(&mut rest).unwrap_or(0);
        if version > VERSION {
            return Err(OpenError::Version { file: NAME.to_owned(), version });
        }
        let decoded = Self::decode_fields(&mut rest).filter(|_| rest.is_empty());
        decoded.ok_or_else(|| damaged("the manifest has impossible fields"))
    }

    fn decode_fields(bytes: &mut &[u8]) -> Option<Self> {
        take_u32(bytes)?;
        let identity = Identity(take(bytes, 16)?.try_into().ok()?);
        let (log, flushed, flushes) = (take_u64(bytes)?, take_u64(bytes)?, take_u64(bytes)?);
        let count = take_u32(bytes)? as usize;
        if count > KEYSPACES_MAX {
            return None;
        }
        let spaces: Vec<Space> = (0..count).map_while(|_| take_space(bytes)).collect();
        (spaces.len() == count).then_some(Self { identity, log, flushed, flushes, spaces })
    }

    /// Reads the manifest of a store.
    pub(crate) fn read(disk: &dyn Disk) -> Result<Self, OpenError> {
        let file = match disk.open(NAME, Access::Read) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(OpenError::Absent),
            file => file.map_err(Failure::of("open", NAME))?,
        };
        let length = file.length().map_err(Failure::of("measure", NAME))?;
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        let count = file.read_full(0, &mut bytes).map_err(Failure::of("read", NAME))?;
        bytes.truncate(count);
        Self::decode(&bytes)
    }

    /// Puts this manifest in the place of the one before, durably: after a crash there is one or the other. The names of files that
    /// it speaks of become durable with it.
    pub(crate) fn write(&self, disk: &dyn Disk) -> Result<(), Failure> {
        let file = disk.create(NAME_NEW).map_err(Failure::of("create", NAME_NEW))?;
        file.write_full(0, &self.encode()).map_err(Failure::of("write", NAME_NEW))?;
        file.sync().map_err(Failure::of("sync", NAME_NEW))?;
        // The runs have their names durably before anything speaks of them.
        disk.sync_names().map_err(Failure::of("sync", ""))?;
        disk.rename(NAME_NEW, NAME).map_err(Failure::of("rename", NAME_NEW))?;
        disk.sync_names().map_err(Failure::of("sync", ""))
    }

    /// Whether a file is of a store, and this manifest does not speak of it.
    pub(crate) fn is_left_over(&self, name: &str) -> bool {
        [NAME_NEW, tally::NAME_NEW].contains(&name)
            || name.ends_with(RUN_SUFFIX) && !self.runs().any(|run| run.name == name)
    }

    /// Opens the runs that were not open before.
    pub(crate) fn open_levels(
        &self,
        disk: &dyn Disk,
        before: &[Level],
        memory: &Arc<Memory>,
    ) -> Result<Vec<Level>, OpenError> {
        let open: std::collections::HashMap<&str, &Arc<Run>> =
            before.iter().flat_map(Level::runs).map(|run| (run.name(), run)).collect();
        let open_run = |run: &RunName, space: u32| match open.get(run.name.as_str()) {
            Some(run) => Ok(Arc::clone(run)),
            None => self.open_run(disk, run, space, memory).map(Arc::new),
        };
        let mut levels = Vec::with_capacity(self.spaces.len());
        for (number, space) in self.spaces.iter().enumerate() {
            let open_parts = |parts: &Vec<RunName>| -> Result<SortedRun, OpenError> {
                let parts: Result<Vec<_>, _> = parts.iter().map(|part| open_run(part, number as u32)).collect();
                Ok(SortedRun::new(parts?))
            };
            let first: Result<Vec<SortedRun>, _> = space.first.iter().map(open_parts).collect();
            levels.push(Level { first: first?, base: open_parts(&space.base)? });
        }
        Ok(levels)
    }

    fn open_run(&self, disk: &dyn Disk, name: &RunName, space: u32, memory: &Arc<Memory>) -> Result<Run, OpenError> {
        let keys = (name.first_key.clone(), name.last_key.clone());
        let run = Run::open(disk, self.identity, &name.name, keys, memory)?;
        let shape = self.spaces[space as usize].shape;
        if run.footer().keyspace == space && run.footer().shape == shape.code() {
            return Ok(run);
        }
        Err(Damage::new(&name.name, 0, "the run belongs to another keyspace than the manifest says").into())
    }
}

fn put_u32(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend_from_slice(&(number as u32).to_le_bytes());
}

fn put_bytes(bytes: &mut Vec<u8>, field: &[u8]) {
    put_u32(bytes, field.len());
    bytes.extend_from_slice(field);
}

fn take_bytes(bytes: &mut &[u8]) -> Option<Vec<u8>> {
    let length = take_u32(bytes)? as usize;
    take(bytes, length).map(<[u8]>::to_vec)
}

fn take_name(bytes: &mut &[u8]) -> Option<String> {
    String::from_utf8(take_bytes(bytes)?).ok()
}

fn take_parts(bytes: &mut &[u8], shape: KeyShape) -> Option<Vec<RunName>> {
    let count = take_u32(bytes)? as usize;
    let mut parts: Vec<RunName> = Vec::new();
    for _ in 0..count {
        let (name, first_key, last_key) = (take_name(bytes)?, take_bytes(bytes)?, take_bytes(bytes)?);
        let is_ours = name.ends_with(RUN_SUFFIX) && !name.contains('/');
        let is_in_order = first_key <= last_key && parts.last().is_none_or(|before| before.last_key < first_key);
        let fits = [&first_key, &last_key].iter().all(|key| shape.check(key).is_ok());
        if !is_ours || !is_in_order || !fits {
            return None;
        }
        parts.push(RunName { name, first_key, last_key });
    }
    Some(parts)
}

fn take_space(bytes: &mut &[u8]) -> Option<Space> {
    let name = take_name(bytes)?;
    let code = take_u32(bytes)?;
    let shape = KeyShape::from_code(code & !COMPRESSED)?;
    let compression = if code & COMPRESSED == 0 { Compression::None } else { Compression::Lz4 };
    let compactions = take_u64(bytes)?;
    let count = take_u32(bytes)? as usize;
    let mut first = Vec::new();
    for _ in 0..count {
        first.push(take_parts(bytes, shape)?);
    }
    let base = take_parts(bytes, shape)?;
    Some(Space { name, shape, compression, compactions, first, base })
}
