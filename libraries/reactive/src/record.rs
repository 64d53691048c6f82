//! What a log says, as bytes: the first frame says what it is, every other one is a commit. `docs/formats.md` draws them.
//!
//! A commit that is too long for one frame is cut: a frame with its first part, others with a part each, and one with the last part, which makes it
//! a commit. What a crash leaves of one without its last part is nothing.
//!
//! A commit says what came of its transaction, not how it was written: which pages were made and deleted, in order, and then the
//! bytes in which pages differ from before, in the order of their places. A page that is made begins as zeros. What derived pages hold
//! is not written: the functions say it again. So equal transactions have equal bytes.

use crate::Epoch;
use crate::function::FunctionName;
use crate::metadata::Metadata;
use crate::page::{PAGE_BYTES_MAX, PageId};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The version of the bytes that are written.
pub const VERSION: u32 = 1;
const MAGIC: &[u8; 8] = b"METROONR";
const COMMIT: u8 = 1;
const FIRST_PART: u8 = 2;
const PART: u8 = 3;
const LAST_PART: u8 = 4;
const HAS_HASH: u8 = 1;
const HAS_CAUSE: u8 = 2;
const HAS_DERIVED: u8 = 4;

/// A change of which pages there are, or of how one is derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Structural {
    Create { page: PageId, length: usize },
    Derive { page: PageId, length: usize, function: FunctionName, dependencies: Vec<PageId> },
    Rederive { page: PageId, function: FunctionName, dependencies: Vec<PageId> },
    Delete { page: PageId },
    Describe { page: PageId, metadata: Metadata },
}

/// The bytes in which a page differs from before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageDelta {
    pub(crate) page: PageId,
    pub(crate) runs: Vec<Range<usize>>,
    /// Those of all runs, one after the other.
    pub(crate) bytes: Vec<u8>,
}

/// A commit, read from a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommitRecord {
    pub(crate) epoch: Epoch,
    pub(crate) origin: Origin,
    pub(crate) state_hash: Option<u128>,
    pub(crate) structure: Vec<Structural>,
    pub(crate) deltas: Vec<PageDelta>,
    /// What derived pages came to hold, if that was logged.
    pub(crate) derived: Vec<PageDelta>,
}

/// Where the changes of a commit come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// What the transaction says.
    pub(crate) source: Option<Arc<str>>,
    /// The commit that it follows from.
    pub(crate) cause: Option<Epoch>,
}

impl Origin {
    pub(crate) fn new(source: &str, cause: Option<Epoch>) -> Self {
        Self { source: (!source.is_empty()).then(|| source.into()), cause }
    }
}

/// What is wrong with a frame that is whole, and so was written like this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub(crate) String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

/// The first frame of a log, whose first commit follows this epoch.
pub(crate) fn header(base: Epoch) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&base.to_le_bytes());
    bytes
}

/// Reads the first frame of a log: the epoch after which it begins.
///
/// # Errors
/// It is not that of a log, or of a later version.
pub(crate) fn read_header(frame: &[u8]) -> Result<Epoch, Malformed> {
    let mut decoder = Decoder::new(frame);
    if decoder.take(MAGIC.len()).ok() != Some(&MAGIC[..]) {
        return Err(Malformed("it does not begin as the log of a state does".into()));
    }
    match decoder.u32()? {
        VERSION => {
            let base = decoder.u64()?;
            decoder.end()?;
            Ok(base)
        }
        version => Err(Malformed(format!("it has version {version}, and this program reads version {VERSION}"))),
    }
}

/// Writes a commit to `bytes`, piece by piece.
pub(crate) struct CommitWriter<'a> {
    bytes: &'a mut Vec<u8>,
    deltas_at: usize,
    deltas: u32,
}

impl<'a> CommitWriter<'a> {
    /// Begins a commit; `bytes` is emptied first.
    pub(crate) fn new(bytes: &'a mut Vec<u8>, epoch: Epoch, origin: &Origin, structure: &[Structural]) -> Self {
        bytes.clear();
        bytes.push(COMMIT);
        // More is set at the end, if there is a hash.
        bytes.push(if origin.cause.is_some() { HAS_CAUSE } else { 0 });
        bytes.extend_from_slice(&epoch.to_le_bytes());
        put_text(bytes, origin.source.as_deref().unwrap_or_default());
        origin.cause.iter().for_each(|cause| bytes.extend_from_slice(&cause.to_le_bytes()));
        put_u32(bytes, structure.len());
        for change in structure {
            put_structural(bytes, change);
        }
        Self::deltas(bytes)
    }

    /// Goes on with what derived pages came to hold, after a commit was ended.
    pub(crate) fn derived(bytes: &'a mut Vec<u8>) -> Self {
        bytes[1] |= HAS_DERIVED;
        Self::deltas(bytes)
    }

    /// Begins a list of deltas.
    fn deltas(bytes: &'a mut Vec<u8>) -> Self {
        let deltas_at = bytes.len();
        put_u32(bytes, 0);
        Self { bytes, deltas_at, deltas: 0 }
    }

    /// Adds the bytes in which a page differs: those of `new` at `runs`.
    pub(crate) fn delta(&mut self, page: PageId, runs: &[Range<usize>], new: &[u8]) {
        self.deltas += 1;
        put_page(self.bytes, page);
        put_u32(self.bytes, runs.len());
        for run in runs {
            put_u32(self.bytes, run.start);
            put_u32(self.bytes, run.len());
        }
        for run in runs {
            self.bytes.extend_from_slice(&new[run.clone()]);
        }
    }

    /// Ends it.
    pub(crate) fn end(self) {
        self.bytes[self.deltas_at..self.deltas_at + 4].copy_from_slice(&self.deltas.to_le_bytes());
    }
}

/// Adds the hash of the state to a commit that was ended.
pub(crate) fn add_hash(commit: &mut Vec<u8>, state_hash: u128) {
    commit[1] |= HAS_HASH;
    commit.extend_from_slice(&state_hash.to_le_bytes());
}

/// A commit as the frames that hold it, none longer than `bytes_max`.
pub(crate) fn frames(commit: &[u8], bytes_max: usize) -> Vec<Vec<u8>> {
    if commit.len() <= bytes_max {
        return vec![commit.to_vec()];
    }
    let mut frames: Vec<Vec<u8>> = commit.chunks(bytes_max - 1).map(|part| [&[PART], part].concat()).collect();
    if let [first, .., last] = &mut frames[..] {
        (first[0], last[0]) = (FIRST_PART, LAST_PART);
    }
    frames
}

/// Puts the frames of a log together.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    bytes: Vec<u8>,
}

impl Parts {
    /// The commit that this frame ends; none if it is a part of one and others follow.
    ///
    /// # Errors
    /// It is not a commit.
    pub(crate) fn add(&mut self, frame: &[u8]) -> Result<Option<CommitRecord>, Malformed> {
        match frame.split_first() {
            Some((&FIRST_PART, part)) => {
                // What a crash has left of a commit before is nothing.
                self.bytes.clear();
                self.bytes.extend_from_slice(part);
                Ok(None)
            }
            Some((&PART, part)) => {
                self.bytes.extend_from_slice(part);
                Ok(None)
            }
            Some((&LAST_PART, part)) => {
                self.bytes.extend_from_slice(part);
                read_commit(&std::mem::take(&mut self.bytes)).map(Some)
            }
            _ => {
                self.bytes.clear();
                read_commit(frame).map(Some)
            }
        }
    }
}

/// Reads a commit.
///
/// # Errors
/// It is not one.
pub(crate) fn read_commit(frame: &[u8]) -> Result<CommitRecord, Malformed> {
    let mut decoder = Decoder::new(frame);
    if decoder.u8()? != COMMIT {
        return Err(Malformed("it is not a commit".into()));
    }
    let flags = decoder.u8()?;
    let epoch = decoder.u64()?;
    let source = decoder.text()?;
    let cause = if flags & HAS_CAUSE == 0 { None } else { Some(decoder.u64()?) };
    let origin = Origin::new(&source, cause);
    let structure = decoder.list(1, Decoder::structural)?;
    let deltas = decoder.list(12, Decoder::delta)?;
    let derived = if flags & HAS_DERIVED == 0 { Vec::new() } else { decoder.list(12, Decoder::delta)? };
    let state_hash = if flags & HAS_HASH == 0 { None } else { Some(decoder.u128()?) };
    decoder.end()?;
    Ok(CommitRecord { epoch, origin, state_hash, structure, deltas, derived })
}

const CREATE: u8 = 0;
const DERIVE: u8 = 1;
const REDERIVE: u8 = 2;
const DELETE: u8 = 3;
const DESCRIBE: u8 = 4;

fn put_structural(bytes: &mut Vec<u8>, change: &Structural) {
    match change {
        Structural::Create { page, length } => {
            bytes.push(CREATE);
            put_page(bytes, *page);
            put_u32(bytes, *length);
        }
        Structural::Derive { page, length, function, dependencies } => {
            bytes.push(DERIVE);
            put_page(bytes, *page);
            put_u32(bytes, *length);
            put_derivation(bytes, function, dependencies);
        }
        Structural::Rederive { page, function, dependencies } => {
            bytes.push(REDERIVE);
            put_page(bytes, *page);
            put_derivation(bytes, function, dependencies);
        }
        Structural::Delete { page } => {
            bytes.push(DELETE);
            put_page(bytes, *page);
        }
        Structural::Describe { page, metadata } => {
            bytes.push(DESCRIBE);
            put_page(bytes, *page);
            put_metadata(bytes, metadata);
        }
    }
}

pub(crate) fn put_derivation(bytes: &mut Vec<u8>, function: &FunctionName, dependencies: &[PageId]) {
    put_text(bytes, &function.name);
    bytes.extend_from_slice(&function.version.to_le_bytes());
    put_u32(bytes, dependencies.len());
    dependencies.iter().for_each(|&page| put_page(bytes, page));
}

pub(crate) fn put_metadata(bytes: &mut Vec<u8>, metadata: &Metadata) {
    put_text(bytes, &metadata.name);
    put_u32(bytes, metadata.bytes.len());
    bytes.extend_from_slice(&metadata.bytes);
}

pub(crate) fn put_page(bytes: &mut Vec<u8>, page: PageId) {
    bytes.extend_from_slice(&page.slot.to_le_bytes());
    bytes.extend_from_slice(&page.generation.to_le_bytes());
}

pub(crate) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_u32(bytes, text.len());
    bytes.extend_from_slice(text.as_bytes());
}

/// Writes a length or a place, of which the limits of pages and frames say that it fits.
pub(crate) fn put_u32(bytes: &mut Vec<u8>, number: usize) {
    let number = u32::try_from(number).expect("lengths are limited to what 32 bits hold");
    bytes.extend_from_slice(&number.to_le_bytes());
}

/// Takes bytes apart.
pub(crate) struct Decoder<'a> {
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) =
            self.rest.split_at_checked(count).ok_or_else(|| Malformed("it ends in the middle of something".into()))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        Ok(self.take(N)?.try_into().expect("as many were taken"))
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn u128(&mut self) -> Result<u128, Malformed> {
        Ok(u128::from_le_bytes(self.array()?))
    }

    pub(crate) fn text(&mut self) -> Result<String, Malformed> {
        let length = self.u32()? as usize;
        let bytes = self.take(length)?.to_vec();
        String::from_utf8(bytes).map_err(|_| Malformed("a name in it is not UTF-8".into()))
    }

    pub(crate) fn page(&mut self) -> Result<PageId, Malformed> {
        Ok(PageId { slot: self.u32()?, generation: self.u32()? })
    }

    /// The length of a page.
    pub(crate) fn length(&mut self) -> Result<usize, Malformed> {
        let length = self.u32()? as usize;
        if length > PAGE_BYTES_MAX {
            return Err(Malformed(format!("a page in it has {length} bytes, more than there may be")));
        }
        Ok(length)
    }

    /// A list, of which each item takes at least `bytes_min` bytes: a wrong count must not reserve memory.
    pub(crate) fn list<T>(
        &mut self,
        bytes_min: usize,
        mut item: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let count = self.u32()? as usize;
        let mut items = Vec::with_capacity(count.min(self.rest.len() / bytes_min));
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(items)
    }

    pub(crate) fn derivation(&mut self) -> Result<(FunctionName, Vec<PageId>), Malformed> {
        let name = self.text()?;
        let function = FunctionName::new(&name, self.u32()?);
        Ok((function, self.list(8, Self::page)?))
    }

    /// What a page is to its users.
    pub(crate) fn metadata(&mut self) -> Result<Metadata, Malformed> {
        let name = self.text()?;
        let length = self.u32()? as usize;
        let metadata = Metadata { name, bytes: self.take(length)?.to_vec() };
        if metadata.is_too_long() {
            return Err(Malformed(format!("a page in it is described by {metadata}, more than there may be")));
        }
        Ok(metadata)
    }

    fn structural(&mut self) -> Result<Structural, Malformed> {
        let kind = self.u8()?;
        let page = self.page()?;
        match kind {
            CREATE => Ok(Structural::Create { page, length: self.length()? }),
            DERIVE => {
                let length = self.length()?;
                let (function, dependencies) = self.derivation()?;
                Ok(Structural::Derive { page, length, function, dependencies })
            }
            REDERIVE => {
                let (function, dependencies) = self.derivation()?;
                Ok(Structural::Rederive { page, function, dependencies })
            }
            DELETE => Ok(Structural::Delete { page }),
            DESCRIBE => Ok(Structural::Describe { page, metadata: self.metadata()? }),
            kind => Err(Malformed(format!("it has a change of the unknown kind {kind}"))),
        }
    }

    fn delta(&mut self) -> Result<PageDelta, Malformed> {
        let page = self.page()?;
        let runs = self.list(8, |decoder| {
            let (start, length) = (decoder.u32()? as usize, decoder.u32()? as usize);
            Ok(start..start + length)
        })?;
        if runs.windows(2).any(|pair| pair[1].start < pair[0].end) {
            return Err(Malformed(format!("the runs of {page} are not in order")));
        }
        let length = runs.iter().map(ExactSizeIterator::len).sum();
        Ok(PageDelta { page, runs, bytes: self.take(length)?.to_vec() })
    }

    pub(crate) fn end(self) -> Result<(), Malformed> {
        match self.rest.len() {
            0 => Ok(()),
            count => Err(Malformed(format!("it has {count} bytes too many"))),
        }
    }
}
