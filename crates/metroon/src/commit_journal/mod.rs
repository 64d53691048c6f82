//! The commit journal of a knowledge base: a directory that keeps what programs did.
//!
//! ```text
//! DIR/LOCK       held by the process that writes
//! DIR/MANIFEST   says that this is a base, and of which format
//! DIR/journal/   the journal of its commits
//! ```
//!
//! The journal is the base; opening it makes everything that its commits say happen again.
//!
//! - `directory` says what else lies in the directory, and how it is made.
//! - `record` says what a commit is as bytes, and `pieces` how a long one is cut into frames.
//! - `sinks` takes the commits of a run and writes them; `sources` knows which texts and files they came from.
//! - `checkpoint` keeps what the commits came to, so that not all of them are read again.
//! - `open` opens it from one; `verify` compares one with the journal; `ledger` is what a run has come to.
//! - `retention` gives up old commits when somebody asks for it; `start` is where those begin that are kept, and `statements` what files
//!   state, which is to be known also of commits that were given up.
//! - `recent` is what a base in memory keeps of its history.
//! - `load` makes a run again from its commits, and checks each against its `state_hash`; `report` counts what came of it.
//! - `moment` says which commit a time means.
//! - `salvage` makes a base of a damaged one, `backup` a copy of a sound one.

mod backup;
pub(crate) mod checkpoint;
mod directory;
pub(crate) mod error;
pub(crate) mod ledger;
pub(crate) mod load;
pub(crate) mod moment;
mod open;
pub(crate) mod pieces;
mod recent;
pub(crate) mod record;
mod report;
mod retention;
mod salvage;
pub(crate) mod sinks;
pub(crate) mod sources;
pub(crate) mod start;
mod state_hash;
pub(crate) mod statements;
pub(crate) mod verify;

pub use backup::BackedUp;
pub use checkpoint::CheckpointReport;
pub use error::KnowledgeBaseError;
pub use moment::{Beginning, Moment, MomentError};
pub use recent::HISTORY_BYTES_DEFAULT;
pub use report::KnowledgeBaseReport;
pub use retention::{CommitsGivenUp, CompactProgress, Compacted};
pub use salvage::SalvagedKnowledgeBase;
pub use verify::CheckpointVerdict;

use directory::DirectoryState;
use journal::{
    Directory, Disk, Durability, FRAME_OVERHEAD_BYTES, FolderLock, Journal, MemoryDisk, Options, Place, Position,
    ReadError, Reader,
};
use pieces::Pieces;
use record::{CommitHeader, Frame, RecordError, Records, SEMANTICS_VERSION};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The commits of a directory, open for writing or reading.
pub struct CommitJournal {
    pub(crate) disk: Arc<dyn Disk>,
    journal: Option<Journal>,
    /// The absolute path of the directory; sources are named from there.
    directory: String,
    warnings: RefCell<Vec<String>>,
    /// The last commit that is read.
    last: u64,
    /// How many bytes the journal has after its newest checkpoint.
    tail_bytes: Cell<u64>,
    /// Whether its checkpoints are not looked at.
    ignores_checkpoints: bool,
    /// What it means that a commit is kept.
    durability: Durability,
    /// How many bytes of its journal may say nothing of what it holds before old commits are given up unasked; `None` for all there are.
    history_bytes_max: Option<u64>,
    /// How long its segments are: a copy of what was trimmed ends its segments with the same frames.
    segment_bytes: u64,
    /// How often old commits were given up since it was opened.
    trims: Cell<u64>,
    /// Where it lies, if it lies in a directory.
    home: Option<PathBuf>,
    /// Held as long as the base is open for writing.
    _lock: Option<FolderLock>,
}

impl CommitJournal {
    /// Opens the base in a directory for writing, or makes one.
    ///
    /// # Errors
    /// Another process writes to it, it is no base, or it is damaged.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, KnowledgeBaseError> {
        let path = directory.as_ref();
        if path.is_file() {
            return Err(KnowledgeBaseError::NotABase { path: path.to_owned() });
        }
        std::fs::create_dir_all(path).map_err(|error| KnowledgeBaseError::Io { path: path.to_owned(), error })?;
        // Nothing is made, and nothing locked, in a directory that is something else.
        directory::usable(path)?;
        let lock = directory::lock(path)?;
        let found = directory::usable(path)?;
        let journal = directory::journal_of(path);
        let io = |error| KnowledgeBaseError::Io { path: journal.clone(), error };
        let disk: Arc<dyn Disk> = match found {
            DirectoryState::KnowledgeBase => Arc::new(Directory::open(&journal).map_err(io)?),
            _ => Arc::new(Directory::create(&journal).map_err(io)?),
        };
        let mut base = Self::on_disk(disk, &absolute(path)?)?;
        if !matches!(found, DirectoryState::KnowledgeBase) {
            directory::write_manifest(path)?;
        }
        if !lock.is_of_folder() {
            base.warn(format!(
                "the file system of {} locks files only: leave its LOCK where it is while a program writes",
                path.display()
            ));
        }
        base._lock = Some(lock);
        base.home = Some(path.to_owned());
        Ok(base)
    }

    /// Opens the base in a directory for reading, while another process may write to it.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn read(directory: impl AsRef<Path>) -> Result<Self, KnowledgeBaseError> {
        let path = directory.as_ref();
        match directory::look(path)? {
            DirectoryState::KnowledgeBase => Self::read_journal(path),
            DirectoryState::WithoutManifest => Err(KnowledgeBaseError::NoManifest { path: path.to_owned() }),
            DirectoryState::WithoutJournal => Err(KnowledgeBaseError::NoJournal { path: path.to_owned() }),
            DirectoryState::Unfinished => Err(directory::unfinished(path)),
            DirectoryState::Free | DirectoryState::Other => Err(KnowledgeBaseError::Missing { path: path.to_owned() }),
        }
    }

    /// Opens the base in a directory for reading as it was after a commit: what came after it is hidden.
    ///
    /// # Errors
    /// There is none or no such commit, or it is damaged.
    pub fn read_at(directory: impl AsRef<Path>, epoch: u64) -> Result<Self, KnowledgeBaseError> {
        let mut base = Self::read(directory)?;
        base.end_at(epoch);
        let (start, mut commits) = base.commits_from_nearest(epoch, |_| true)?;
        let mut last = start.epoch;
        while let Some(committed) = commits.next()? {
            last = committed.header.as_ref().map_or(last, |header| header.epoch);
        }
        if last < epoch { Err(KnowledgeBaseError::NoEpoch { epoch, last }) } else { Ok(base) }
    }

    /// Opens the journal of a base in a directory for reading, whether there is a manifest or not.
    pub(crate) fn read_journal(path: &Path) -> Result<Self, KnowledgeBaseError> {
        let journal = directory::journal_of(path);
        let disk = Directory::open(&journal).map_err(|error| KnowledgeBaseError::Io { path: journal, error })?;
        let home = Some(path.to_owned());
        Ok(Self { home, ..Self::read_on_disk(Arc::new(disk), &absolute(path)?) })
    }

    /// A base for reading whose journal lies on a disk.
    pub(crate) fn read_on_disk(disk: Arc<dyn Disk>, directory: &str) -> Self {
        let directory = directory.to_owned();
        Self::new(disk, None, directory, Vec::new())
    }

    fn new(disk: Arc<dyn Disk>, journal: Option<Journal>, directory: String, warnings: Vec<String>) -> Self {
        Self {
            disk,
            journal,
            directory,
            warnings: RefCell::new(warnings),
            last: u64::MAX,
            tail_bytes: Cell::new(0),
            ignores_checkpoints: false,
            durability: Durability::Fsync,
            history_bytes_max: None,
            segment_bytes: SEGMENT_BYTES,
            trims: Cell::new(0),
            home: None,
            _lock: None,
        }
    }

    /// How often old commits were given up since it was opened: as long as that is so, the first commit that is kept is the same.
    pub(crate) fn trims(&self) -> u64 {
        self.trims.get()
    }

    /// Old commits are given up.
    pub(crate) fn note_trimmed(&self) {
        self.trims.set(self.trims.get() + 1);
    }

    /// The directory in which it lies, if it lies in one.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Looks at no checkpoint, so that it is opened from its first commit: for those who compare.
    #[must_use]
    pub fn without_checkpoints(mut self) -> Self {
        self.ignores_checkpoints = true;
        self
    }

    /// Keeps commits so far from now on; the usual is that the disk has each. The disk has all when it is closed.
    #[must_use]
    pub fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// A new one in memory, which keeps `history_bytes_max` bytes of its history beside what it holds; all of it if no number is given.
    pub(crate) fn in_memory(history_bytes_max: Option<u64>) -> Result<Self, KnowledgeBaseError> {
        Self::on_memory(Arc::new(MemoryDisk::new()), "", history_bytes_max)
    }

    /// One whose journal lies on a disk in memory: see [`Self::in_memory`].
    fn on_memory(
        disk: Arc<dyn Disk>,
        directory: &str,
        history_bytes_max: Option<u64>,
    ) -> Result<Self, KnowledgeBaseError> {
        let segment_bytes =
            history_bytes_max.map_or(SEGMENT_BYTES, |bytes| (bytes / SEGMENTS_IN_MEMORY).max(SEGMENT_BYTES_MIN));
        let base = Self::on_disk_in_segments(disk, directory, segment_bytes)?;
        Ok(Self { history_bytes_max, ..base })
    }

    /// How long its segments are.
    pub(crate) fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    /// Says how long the segments are of a base that is read.
    pub(crate) fn in_segments(self, segment_bytes: u64) -> Self {
        Self { segment_bytes, ..self }
    }

    /// How much is kept of the history of a base in memory.
    pub(crate) fn history_bytes_max(&self) -> Option<u64> {
        self.history_bytes_max
    }

    /// These commits, for reading.
    pub(crate) fn reader(&self) -> Self {
        let (last, segment_bytes) = (self.last, self.segment_bytes);
        Self { last, segment_bytes, ..Self::read_on_disk(Arc::clone(&self.disk), &self.directory) }
    }

    /// Opens a base whose journal lies on a disk, or makes one there. Sources are named from the directory.
    ///
    /// # Errors
    /// It is damaged, or the disk fails.
    pub fn on_disk(disk: Arc<dyn Disk>, directory: &str) -> Result<Self, KnowledgeBaseError> {
        Self::on_disk_in_segments(disk, directory, SEGMENT_BYTES)
    }

    /// Opens a base whose journal lies on a disk, or makes one there, with segments of another length, in bytes, than the usual 8 MiB.
    ///
    /// # Errors
    /// It is damaged, or the disk fails.
    pub fn on_disk_in_segments(
        disk: Arc<dyn Disk>,
        directory: &str,
        segment_bytes: u64,
    ) -> Result<Self, KnowledgeBaseError> {
        let opened = Journal::open(Arc::clone(&disk), journal_options().segment_bytes(segment_bytes));
        let (journal, warnings) = opened.map_err(|error| KnowledgeBaseError::Open(Box::new(error)))?;
        if journal.progress().appended == 0 {
            let begun = journal.append(&record::begin_frame(), Durability::Fsync);
            begun.map_err(|error| KnowledgeBaseError::Append(Box::new(error)))?;
        }
        let warnings = warnings.iter().map(ToString::to_string).collect();
        Ok(Self { segment_bytes, ..Self::new(disk, Some(journal), directory.to_owned(), warnings) })
    }

    /// What opening it mended, and what could not be used of it.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.borrow().clone()
    }

    pub(crate) fn warn(&self, warning: String) {
        self.warnings.borrow_mut().push(warning);
    }

    /// Where the next frame will lie, if it is open for writing.
    pub(crate) fn position(&self) -> Option<Position> {
        self.journal.as_ref().map(Journal::position)
    }

    /// How many frames the journal has; none if the base is only read.
    pub(crate) fn frames(&self) -> Option<u64> {
        self.journal.as_ref().map(|journal| journal.progress().appended)
    }

    /// How many bytes the journal has after its newest checkpoint.
    pub(crate) fn tail_bytes(&self) -> u64 {
        self.tail_bytes.get()
    }

    /// A checkpoint is written of what there is now.
    pub(crate) fn begin_tail(&self) {
        self.tail_bytes.set(0);
    }

    /// Says how much of it was read.
    pub(crate) fn note_read(&self, bytes: u64) {
        self.tail_bytes.set(bytes);
    }

    /// The absolute path of its directory.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// The name of a source file: its path from the base's directory.
    pub(crate) fn name_of(&self, file: &str) -> String {
        relative(&self.directory, file)
    }

    /// Appends frames and returns when they are as durable as commits are to be; gives how many bytes they have.
    pub(crate) fn append(&self, frames: Vec<Vec<u8>>) -> Result<u64, KnowledgeBaseError> {
        let journal = self.journal.as_ref().ok_or(KnowledgeBaseError::ReadOnly)?;
        let cut: Vec<Vec<u8>> = frames.into_iter().flat_map(pieces::cut).collect();
        let appended = journal.append_all(&cut, self.durability);
        appended.map_err(|error| KnowledgeBaseError::Append(Box::new(error)))?;
        let bytes: u64 = cut.iter().map(|frame| frame.len() as u64 + FRAME_OVERHEAD_BYTES).sum();
        self.tail_bytes.set(self.tail_bytes.get() + bytes);
        Ok(bytes)
    }

    /// The commits after this one, up to which a reader has read.
    pub(crate) fn commits_after(&self, reader: Reader, epoch: u64) -> Commits {
        let mut commits = Commits::from_reader(Arc::clone(&self.disk), reader, true, self.last);
        // If it is the last to hand out, there is none.
        commits.has_ended |= epoch >= self.last;
        commits
    }

    /// Whether it is open for reading only.
    pub(crate) fn is_read_only(&self) -> bool {
        self.journal.is_none()
    }

    /// Hides the commits after this one, which another process may have made since.
    pub(crate) fn end_at(&mut self, last: u64) {
        self.last = last;
    }

    /// Ends the use of the base.
    ///
    /// # Errors
    /// The journal could not note how far it is durable. Every commit is.
    pub fn close(self) -> Result<(), KnowledgeBaseError> {
        self.journal.map_or(Ok(()), Journal::close).map_err(|error| KnowledgeBaseError::Sync(Box::new(error)))
    }
}

/// So long is a segment of a base. Opening a base for writing reads the last one.
const SEGMENT_BYTES: u64 = 8 << 20;

/// The number of segments that the history of a base in memory has: it is given up by segments.
const SEGMENTS_IN_MEMORY: u64 = 8;
/// So short is a segment at least.
const SEGMENT_BYTES_MIN: u64 = 4 << 10;

/// By how much the file of a segment grows at once: a commit that is synced would wait for its new length as well.
const ROOM_BYTES: u64 = 16 << 10;

/// How the journal of a base is kept.
fn journal_options() -> Options {
    Options::default().segment_bytes(SEGMENT_BYTES).room_bytes(ROOM_BYTES)
}

/// What a base says, one commit after the other.
///
/// A commit of several frames is read twice, since only the last says that they belong together: it may be larger than
/// memory.
pub(crate) struct Commits {
    disk: Arc<dyn Disk>,
    pub(crate) reader: Reader,
    pieces: Pieces,
    /// Where the payload begins that is being put together.
    begun_at: Place,
    /// Where the frames lie that are part of a commit to come.
    parts: Vec<Place>,
    has_begun: bool,
    /// The last commit to hand out.
    last: u64,
    /// Whether it was handed out: what follows it is not looked at.
    has_ended: bool,
    /// How many bytes were read.
    bytes: u64,
}

/// A commit, or a note between two.
pub(crate) struct Committed {
    /// `None` for a note.
    pub(crate) header: Option<CommitHeader>,
    /// The records of its last frame.
    records: Vec<u8>,
    /// Where its frames before the last begin, if it has any.
    first: Option<Place>,
    disk: Arc<dyn Disk>,
    /// Where its last frame lies.
    pub(crate) place: Place,
}

impl Committed {
    pub(crate) fn damaged(&self, reason: impl fmt::Display) -> KnowledgeBaseError {
        KnowledgeBaseError::Damaged { place: self.place, reason: reason.to_string() }
    }

    /// Hands out the records in order.
    pub(crate) fn each<E: From<KnowledgeBaseError>>(
        &self,
        mut take: impl FnMut(record::Record<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut take_all = |part: &[u8]| -> Result<(), E> {
            let mut records = Records::new(part);
            while let Some(record) = records.next().map_err(|error| E::from(self.damaged(error)))? {
                take(record)?;
            }
            Ok(())
        };
        if let Some(first) = self.first {
            let failed = |error: ReadError| E::from(KnowledgeBaseError::from(error));
            let mut reader = Reader::from_place(Arc::clone(&self.disk), first).map_err(failed)?;
            let mut pieces = Pieces::default();
            while reader.place().number < self.place.number {
                let Some(frame) = reader.read_next().map_err(failed)? else { break };
                let joined = pieces.join(frame.payload).map_err(|reason| E::from(self.damaged(reason)))?;
                let Some(payload) = joined else { continue };
                match Frame::decode(payload) {
                    Ok(Frame::Part { records }) => take_all(records)?,
                    _ => return Err(self.damaged("parts of its commit are missing").into()),
                }
            }
        }
        take_all(&self.records)
    }
}

impl Commits {
    pub(crate) fn new(disk: Arc<dyn Disk>, last: u64) -> Result<Self, KnowledgeBaseError> {
        let reader = Reader::from_frame(Arc::clone(&disk), 0)?;
        Ok(Self::from_reader(disk, reader, false, last))
    }

    /// Those that this reader reads next, after the first frame of the base or from there on.
    fn from_reader(disk: Arc<dyn Disk>, reader: Reader, has_begun: bool, last: u64) -> Self {
        let (pieces, begun_at, parts) = (Pieces::default(), reader.place(), Vec::new());
        Self { disk, reader, pieces, begun_at, parts, has_begun, last, has_ended: last == 0, bytes: 0 }
    }

    /// How many bytes of the journal were read.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where the journal goes on after what was handed out.
    pub(crate) fn position(&self) -> Result<Position, KnowledgeBaseError> {
        let lacking = || ReadError::OtherHistory(self.reader.place());
        Ok(self.reader.position().ok_or_else(lacking)?)
    }

    /// How many frames of the journal have been taken.
    pub(crate) fn frames(&self) -> u64 {
        self.reader.place().number
    }

    pub(crate) fn next(&mut self) -> Result<Option<Committed>, KnowledgeBaseError> {
        while !self.has_ended {
            let place = self.reader.place();
            let Some(frame) = self.reader.read_next()? else { return Ok(None) };
            self.bytes += frame.payload.len() as u64 + FRAME_OVERHEAD_BYTES;
            let damaged = |reason: &dyn fmt::Display| KnowledgeBaseError::Damaged { place, reason: reason.to_string() };
            if !pieces::goes_on(frame.payload) {
                self.begun_at = place;
            }
            let joined = self.pieces.join(frame.payload).map_err(|reason| damaged(&reason))?;
            let Some(payload) = joined else { continue };
            let place = self.begun_at;
            let decoded = Frame::decode(payload).map_err(|error: RecordError| damaged(&error))?;
            if self.has_begun == matches!(decoded, Frame::Begin { .. }) {
                return Err(damaged(&"a base begins with one frame that says its format"));
            }
            let (header, records, parts) = match decoded {
                Frame::Begin { semantics } if semantics > SEMANTICS_VERSION => {
                    return Err(KnowledgeBaseError::Semantics { found: semantics, known: SEMANTICS_VERSION });
                }
                Frame::Begin { .. } => {
                    self.has_begun = true;
                    continue;
                }
                Frame::Part { .. } => {
                    self.parts.push(place);
                    continue;
                }
                Frame::Note { records } => (None, records, 0),
                Frame::Commit { header, records } => {
                    self.has_ended = header.epoch >= self.last;
                    let parts = header.parts as usize;
                    (Some(header), records, parts)
                }
            };
            // Parts before those that belong to the commit are of one that was never finished.
            let Some(first) = self.parts.len().checked_sub(parts) else {
                return Err(damaged(&"parts of its commit are missing"));
            };
            let first = self.parts.get(first).copied();
            self.parts.clear();
            let (records, disk) = (records.to_vec(), Arc::clone(&self.disk));
            return Ok(Some(Committed { header, records, first, disk, place }));
        }
        Ok(None)
    }
}

fn absolute(path: &Path) -> Result<String, KnowledgeBaseError> {
    let absolute =
        std::path::absolute(path).map_err(|error| KnowledgeBaseError::Io { path: path.to_owned(), error })?;
    // As sources are named: without `..`, and links not followed.
    let mut clean = PathBuf::new();
    for part in absolute.components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            part => clean.push(part),
        }
    }
    Ok(clean.to_string_lossy().into_owned())
}

/// The way from a directory to a file, both absolute and without `.` and `..`.
fn relative(directory: &str, file: &str) -> String {
    let [from, to] = [directory, file].map(|path| path.split('/').filter(|part| !part.is_empty()).collect::<Vec<_>>());
    let common = from.iter().zip(&to).take_while(|(left, right)| left == right).count();
    let up = std::iter::repeat_n("..", from.len() - common);
    up.chain(to[common..].iter().copied()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::relative;

    #[test]
    fn a_file_is_named_from_the_directory_of_the_base() {
        for (directory, file, expected) in [
            ("/a/kb", "/a/app.metta", "../app.metta"),
            ("/a/kb", "/a/kb/in/app.metta", "in/app.metta"),
            ("/a/kb", "/b/c.metta", "../../b/c.metta"),
            ("/", "/b/c.metta", "b/c.metta"),
        ] {
            assert_eq!(relative(directory, file), expected);
        }
    }
}
