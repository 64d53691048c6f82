//! A knowledge base: a directory that keeps what programs did.
//!
//! ```text
//! DIR/LOCK       held by the process that writes
//! DIR/MANIFEST   says that this is a base, and of which format
//! DIR/journal/   the journal of its commits
//! ```
//!
//! The journal is the base; opening it makes everything that its commits say happen again.

use super::pieces::{self, Pieces};
use super::record::{self, CommitHeader, Frame, RecordError, Records};
use journal::{
    AppendError, Directory, Disk, Durability, Journal, OpenError, Options, Place, ReadError, Reader, SyncError,
};
use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

const LOCK: &str = "LOCK";
const MANIFEST: &str = "MANIFEST";
const JOURNAL: &str = "journal";

/// Why a base cannot be opened, read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum BaseError {
    /// Another process writes to it.
    InUse {
        /// Its directory.
        path: PathBuf,
        /// The number of the process, if it has left it.
        process: Option<u32>,
    },
    /// The directory exists and is something else.
    NotABase {
        /// The directory.
        path: PathBuf,
    },
    /// There is none in the directory.
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// It is of a format that this version does not know.
    Format {
        /// Its directory.
        path: PathBuf,
        /// What its manifest says.
        found: String,
    },
    /// The file system refuses.
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Its journal cannot be opened.
    Open(Box<OpenError>),
    /// Its journal cannot be read.
    Read(Box<ReadError>),
    /// Its journal takes no more.
    Append(Box<AppendError>),
    /// Its journal could not be made durable at the end.
    Sync(Box<SyncError>),
    /// A frame of its journal is sound and says something impossible.
    Damaged {
        /// The frame.
        place: Place,
        /// What is wrong.
        reason: String,
    },
    /// What its journal says does not come to the state that was recorded with a commit.
    Differs {
        /// The commit.
        epoch: u64,
        /// Its last frame.
        place: Place,
        /// The state hash that was recorded.
        recorded: u128,
        /// The state hash that its commits come to.
        found: u128,
    },
    /// There is no such commit.
    NoEpoch {
        /// The number asked for.
        epoch: u64,
        /// The last commit there is.
        last: u64,
    },
    /// It was opened for reading only.
    ReadOnly,
}

impl fmt::Display for BaseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse { path, process } => {
                let by = process.map_or_else(|| "another process".to_owned(), |number| format!("process {number}"));
                write!(formatter, "the knowledge base {} is being written by {by}", path.display())
            }
            Self::NotABase { path } => {
                write!(formatter, "{} holds other things and is no knowledge base", path.display())
            }
            Self::Missing { path } => write!(formatter, "there is no knowledge base in {}", path.display()),
            Self::Format { path, found } => {
                write!(formatter, "the manifest of {} says {found:?}, which this version does not know", path.display())
            }
            Self::Io { path, error } => write!(formatter, "cannot use {}: {error}", path.display()),
            Self::Open(error) => error.fmt(formatter),
            Self::Read(error) => error.fmt(formatter),
            Self::Append(error) => error.fmt(formatter),
            Self::Sync(error) => error.fmt(formatter),
            Self::Damaged { place, reason } => {
                write!(formatter, "{} cannot be used: {reason}", frame_text(*place))
            }
            Self::Differs { epoch, place, recorded, found } => write!(
                formatter,
                "commit {epoch}, {}, was recorded with the state hash {recorded:032x}, and the commits up to it come to \
                 {found:032x}",
                frame_text(*place)
            ),
            Self::NoEpoch { epoch, last: 0 } => {
                write!(formatter, "there is no commit {epoch}: nothing was committed yet, and 0 is the beginning")
            }
            Self::NoEpoch { epoch, last } => {
                write!(formatter, "there is no commit {epoch}: the last one is {last}, and 0 is the beginning")
            }
            Self::ReadOnly => formatter.write_str("the knowledge base was opened for reading only"),
        }
    }
}

impl std::error::Error for BaseError {}

impl BaseError {
    /// What to do next, where that is known.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::InUse { .. } => Some("wait for it to end; `mnemon kb` reads a base that is being written"),
            Self::Missing { .. } => Some("check the path; `mnemon run --kb DIR` makes a knowledge base"),
            Self::NotABase { .. } => Some("name a directory that does not exist yet, or an empty one"),
            Self::Format { .. } => Some("use the version of Mnemon that wrote it, or a newer one"),
            Self::Io { .. } => Some("check the path, and who may read and write there"),
            Self::Open(_) | Self::Read(_) | Self::Damaged { .. } | Self::Differs { .. } if self.is_damage() => Some(
                "`mnemon kb verify DIR` says up to which commit it is sound, and `mnemon kb at DIR N` prints the atoms after it",
            ),
            Self::Append(_) => Some("what was committed before is kept; make room, and run the program again"),
            _ => None,
        }
    }

    /// Whether what lies on the disk is damaged.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } | Self::Differs { .. } | Self::Format { .. } => true,
            Self::Open(error) => matches!(**error, OpenError::Damaged(_)),
            Self::Read(error) => matches!(**error, ReadError::Damaged(_)),
            _ => false,
        }
    }
}

impl From<ReadError> for BaseError {
    fn from(error: ReadError) -> Self {
        Self::Read(Box::new(error))
    }
}

/// The commits of a directory, open for writing or reading.
pub struct Base {
    pub(super) disk: Arc<dyn Disk>,
    journal: Option<Journal>,
    /// The absolute path of the directory; sources are named from there.
    directory: String,
    warnings: Vec<String>,
    /// The last commit that is read.
    last: u64,
    /// Held as long as the base is open for writing.
    _lock: Option<File>,
}

impl Base {
    /// Opens the base in a directory for writing, or makes one.
    ///
    /// # Errors
    /// Another process writes to it, it is no base, or it is damaged.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, BaseError> {
        let path = directory.as_ref();
        let io = |error| BaseError::Io { path: path.to_owned(), error };
        if path.is_file() {
            return Err(BaseError::NotABase { path: path.to_owned() });
        }
        std::fs::create_dir_all(path).map_err(io)?;
        if !has_manifest(path)? && !is_free(path)? {
            return Err(BaseError::NotABase { path: path.to_owned() });
        }
        let lock = lock(path)?;
        if !has_manifest(path)? {
            write_manifest(path)?;
        }
        let journal = path.join(JOURNAL);
        let disk = Directory::create(&journal).map_err(|error| BaseError::Io { path: journal, error })?;
        let mut base = Self::on_disk(Arc::new(disk), &absolute(path)?)?;
        base._lock = Some(lock);
        Ok(base)
    }

    /// Opens the base in a directory for reading, while another process may write to it.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn read(directory: impl AsRef<Path>) -> Result<Self, BaseError> {
        let path = directory.as_ref();
        if !has_manifest(path)? {
            return Err(BaseError::Missing { path: path.to_owned() });
        }
        let journal = path.join(JOURNAL);
        let disk = Directory::open(&journal).map_err(|error| BaseError::Io { path: journal, error })?;
        let directory = absolute(path)?;
        Ok(Self::read_on_disk(Arc::new(disk), &directory))
    }

    /// A base for reading whose journal lies on a disk.
    pub(super) fn read_on_disk(disk: Arc<dyn Disk>, directory: &str) -> Self {
        let directory = directory.to_owned();
        Self { disk, journal: None, directory, warnings: Vec::new(), last: u64::MAX, _lock: None }
    }

    /// The same commits, for reading.
    pub(super) fn reader(&self) -> Self {
        Self { last: self.last, ..Self::read_on_disk(Arc::clone(&self.disk), &self.directory) }
    }

    /// Opens a base whose journal lies on a disk, or makes one there. Sources are named from the directory.
    ///
    /// # Errors
    /// It is damaged, or the disk fails.
    pub fn on_disk(disk: Arc<dyn Disk>, directory: &str) -> Result<Self, BaseError> {
        let opened = Journal::open(Arc::clone(&disk), Options::default());
        let (journal, warnings) = opened.map_err(|error| BaseError::Open(Box::new(error)))?;
        if journal.progress().appended == 0 {
            let begun = journal.append(&record::begin_frame(), Durability::Fsync);
            begun.map_err(|error| BaseError::Append(Box::new(error)))?;
        }
        let warnings = warnings.iter().map(ToString::to_string).collect();
        Ok(Self {
            disk,
            journal: Some(journal),
            directory: directory.to_owned(),
            warnings,
            last: u64::MAX,
            _lock: None,
        })
    }

    /// What opening it mended.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The absolute path of its directory.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// The name of a source file: its path from the base's directory.
    pub(super) fn name_of(&self, file: &str) -> String {
        relative(&self.directory, file)
    }

    /// Appends frames and returns when they are durable.
    pub(super) fn append(&self, frames: Vec<Vec<u8>>) -> Result<(), BaseError> {
        let journal = self.journal.as_ref().ok_or(BaseError::ReadOnly)?;
        let cut: Vec<Vec<u8>> = frames.into_iter().flat_map(pieces::cut).collect();
        let appended = journal.append_all(&cut, Durability::Fsync);
        appended.map(drop).map_err(|error| BaseError::Append(Box::new(error)))
    }

    /// The commits, from the first on.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub(super) fn commits(&self) -> Result<Commits, BaseError> {
        Commits::new(Arc::clone(&self.disk), self.last)
    }

    /// Hides the commits after this one, which another process may have made since.
    pub(super) fn end_at(&mut self, last: u64) {
        self.last = last;
    }

    /// Ends the use of the base.
    ///
    /// # Errors
    /// The journal could not note how far it is durable. Every commit is.
    pub fn close(self) -> Result<(), BaseError> {
        self.journal.map_or(Ok(()), Journal::close).map_err(|error| BaseError::Sync(Box::new(error)))
    }
}

/// What a base says, one commit after the other.
///
/// A commit of several frames is read twice, since only the last says that they belong together: it may be larger than
/// memory.
pub(super) struct Commits {
    disk: Arc<dyn Disk>,
    reader: Reader,
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
}

/// A commit, or a note between two.
pub(super) struct Committed {
    /// `None` for a note.
    pub(super) header: Option<CommitHeader>,
    /// The records of its last frame.
    records: Vec<u8>,
    /// Where its frames before the last begin, if it has any.
    first: Option<Place>,
    disk: Arc<dyn Disk>,
    /// Where its last frame lies.
    pub(super) place: Place,
}

impl Committed {
    pub(super) fn damaged(&self, reason: impl fmt::Display) -> BaseError {
        BaseError::Damaged { place: self.place, reason: reason.to_string() }
    }

    /// Hands out the records in order.
    pub(super) fn each<E: From<BaseError>>(
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
            let failed = |error: ReadError| E::from(BaseError::from(error));
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
    pub(super) fn new(disk: Arc<dyn Disk>, last: u64) -> Result<Self, BaseError> {
        let reader = Reader::from_frame(Arc::clone(&disk), 0)?;
        let (pieces, begun_at, parts) = (Pieces::default(), reader.place(), Vec::new());
        Ok(Self { disk, reader, pieces, begun_at, parts, has_begun: false, last, has_ended: last == 0 })
    }

    pub(super) fn next(&mut self) -> Result<Option<Committed>, BaseError> {
        while !self.has_ended {
            let place = self.reader.place();
            let Some(frame) = self.reader.read_next()? else { return Ok(None) };
            let damaged = |reason: &dyn fmt::Display| BaseError::Damaged { place, reason: reason.to_string() };
            if !pieces::goes_on(frame.payload) {
                self.begun_at = place;
            }
            let joined = self.pieces.join(frame.payload).map_err(|reason| damaged(&reason))?;
            let Some(payload) = joined else { continue };
            let place = self.begun_at;
            let decoded = Frame::decode(payload).map_err(|error: RecordError| damaged(&error))?;
            if self.has_begun == matches!(decoded, Frame::Begin) {
                return Err(damaged(&"a base begins with one frame that says its format"));
            }
            let (header, records, parts) = match decoded {
                Frame::Begin => {
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

fn frame_text(place: Place) -> String {
    format!("frame {} of the journal (segment {}, offset {})", place.number, place.segment, place.offset)
}

fn has_manifest(path: &Path) -> Result<bool, BaseError> {
    let manifest = path.join(MANIFEST);
    match std::fs::read_to_string(&manifest) {
        Ok(text) if text == manifest_text() => Ok(true),
        Ok(found) => Err(BaseError::Format { path: path.to_owned(), found: found.trim().chars().take(100).collect() }),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(BaseError::Io { path: manifest, error }),
    }
}

fn manifest_text() -> String {
    format!("mnemon base\nformat {}\n", record::FORMAT_VERSION)
}

/// Whether a directory holds nothing but what a base that was being made may have left there.
fn is_free(path: &Path) -> Result<bool, BaseError> {
    let io = |error| BaseError::Io { path: path.to_owned(), error };
    for entry in std::fs::read_dir(path).map_err(io)? {
        let name = entry.map_err(io)?.file_name();
        if name != LOCK && *name != *temporary_manifest() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn temporary_manifest() -> String {
    format!("{MANIFEST}.new")
}

fn write_manifest(path: &Path) -> Result<(), BaseError> {
    let write = || -> io::Result<()> {
        let temporary = path.join(temporary_manifest());
        let mut file = File::create(&temporary)?;
        file.write_all(manifest_text().as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&temporary, path.join(MANIFEST))?;
        File::open(path)?.sync_all()?;
        // The directory's own name is durable once its parent is.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    };
    write().map_err(|error| BaseError::Io { path: path.join(MANIFEST), error })
}

/// Takes the lock of a base, and leaves the number of this process in it.
fn lock(path: &Path) -> Result<File, BaseError> {
    let lock = path.join(LOCK);
    let io = |error| BaseError::Io { path: lock.clone(), error };
    let mut file = File::options().read(true).write(true).create(true).truncate(false).open(&lock).map_err(io)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let process = file.read_to_string(&mut holder).ok().and_then(|_| holder.trim().parse().ok());
            return Err(BaseError::InUse { path: path.to_owned(), process });
        }
        Err(TryLockError::Error(error)) => return Err(io(error)),
    }
    file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(io)?;
    Ok(file)
}

fn absolute(path: &Path) -> Result<String, BaseError> {
    let absolute = std::path::absolute(path).map_err(|error| BaseError::Io { path: path.to_owned(), error })?;
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
