//! The directory of a knowledge base: what lies in it, how it is made, and which process may write there.
//!
//! 1. A base is made step by step: its directory, its lock, its journal with the first frame, its manifest. Each step is durable
//!    before the next. So a base that has a manifest has a journal, and what lacks a journal then has lost it.
//! 2. A directory without a manifest is a base that was half made if its journal holds nothing but the first frame, or is not
//!    there. One whose journal holds more has lost its manifest, and nothing is made over it.
//! 3. A copy of a base has the file `UNFINISHED` from before its first frame until its manifest is durable. So a copy that was cut off says that
//!    it is one, and is not taken for a base that has lost its manifest: how much of it there is says nothing about the base that was copied.
//! 4. Nothing is read that is not a regular file, and no more of a manifest than the longest one has.

use super::error::KnowledgeBaseError;
use super::record;
use journal::{Directory, Disk, FolderLock, LockError, ReadError, Reader, read_regular};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const LOCK: &str = "LOCK";
const MANIFEST: &str = "MANIFEST";
const MANIFEST_NEW: &str = "MANIFEST.new";
const JOURNAL: &str = "journal";
/// What the directory of a copy holds until it is complete: which kind of copy, and of what.
const UNFINISHED: &str = "UNFINISHED";
/// No such file is longer than the longest path.
const UNFINISHED_BYTES_MAX: u64 = 8192;
/// How the file of a segment ends that is being made.
const SEGMENT_NEW: &str = ".segment.new";
/// How the file ends that says what a base held after commits that were given up.
const BEGINNING: &str = ".beginning";

/// How the manifest of every version begins.
const MANIFEST_BEGINS: &str = "metroon base\nformat ";
/// No manifest of any version is longer.
const MANIFEST_BYTES_MAX: u64 = 4096;
/// How much of an unknown manifest is shown.
const SHOWN_CHARACTERS_MAX: usize = 100;

/// What lies in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DirectoryState {
    /// A base.
    KnowledgeBase,
    /// A base whose manifest is missing or damaged.
    WithoutManifest,
    /// A base whose journal is missing.
    WithoutJournal,
    /// A copy of a base that was not completed.
    Unfinished,
    /// Nothing, or what is left of a base that was half made.
    Free,
    /// Something else, or there is no such directory.
    Other,
}

/// Where the journal of a base lies.
pub(super) fn journal_of(directory: &Path) -> PathBuf {
    directory.join(JOURNAL)
}

/// Says what lies in a directory.
///
/// # Errors
/// It cannot be read, or is a base of another format.
pub(super) fn look(path: &Path) -> Result<DirectoryState, KnowledgeBaseError> {
    let manifest = read_manifest(path)?;
    let journal = look_at_journal(&journal_of(path))?;
    Ok(match (manifest, journal) {
        (Manifest::Known, Content::Begun | Content::Commits) => DirectoryState::KnowledgeBase,
        (Manifest::Known, Content::Nothing | Content::Foreign) => DirectoryState::WithoutJournal,
        (Manifest::Missing, _) if path.join(UNFINISHED).is_file() => DirectoryState::Unfinished,
        (Manifest::Missing | Manifest::Damaged, Content::Commits) => DirectoryState::WithoutManifest,
        (Manifest::Missing, Content::Nothing | Content::Begun) if is_free(path)? => DirectoryState::Free,
        _ => DirectoryState::Other,
    })
}

/// A directory in which a base can be opened or made.
pub(super) fn usable(path: &Path) -> Result<DirectoryState, KnowledgeBaseError> {
    let path = || path.to_owned();
    match look(&path())? {
        found @ (DirectoryState::KnowledgeBase | DirectoryState::Free) => Ok(found),
        DirectoryState::WithoutManifest => Err(KnowledgeBaseError::NoManifest { path: path() }),
        DirectoryState::WithoutJournal => Err(KnowledgeBaseError::NoJournal { path: path() }),
        DirectoryState::Unfinished => Err(unfinished(&path())),
        DirectoryState::Other => Err(KnowledgeBaseError::NotABase { path: path() }),
    }
}

/// That a copy was not completed, and what it was to be.
pub(super) fn unfinished(path: &Path) -> KnowledgeBaseError {
    let what = read_regular(path.join(UNFINISHED), UNFINISHED_BYTES_MAX).unwrap_or_default();
    let what = String::from_utf8_lossy(&what).trim().to_owned();
    let what = if what.is_empty() { "copy of a knowledge base".to_owned() } else { what };
    KnowledgeBaseError::Unfinished { path: path.to_owned(), what }
}

/// A copy while it is made.
pub(super) struct UnfinishedCopy<'p> {
    path: &'p Path,
}

impl<'p> UnfinishedCopy<'p> {
    /// Makes the directory of a copy, which durably says that it is not complete. `what` is which kind of copy of what, in words.
    pub(super) fn begin(path: &'p Path, what: &str) -> Result<Self, KnowledgeBaseError> {
        let write = || -> io::Result<()> {
            fs::create_dir_all(path)?;
            let mut file = File::create_new(path.join(UNFINISHED))?;
            file.write_all(format!("{what}\n").as_bytes())?;
            file.sync_all()?;
            File::open(path)?.sync_all()
        };
        write().map_err(|error| KnowledgeBaseError::Io { path: path.to_owned(), error })?;
        Ok(Self { path })
    }

    /// Makes a base of it, once all that it is to have is durable.
    pub(super) fn complete(self) -> Result<(), KnowledgeBaseError> {
        write_manifest(self.path)?;
        let remove = fs::remove_file(self.path.join(UNFINISHED)).and_then(|()| File::open(self.path)?.sync_all());
        remove.map_err(|error| KnowledgeBaseError::Io { path: self.path.join(UNFINISHED), error })
    }
}

/// What lies where the journal of a base does.
#[derive(Clone, Copy)]
enum Content {
    /// No journal, or one without a frame.
    Nothing,
    /// The first frame of a base.
    Begun,
    /// More, sound or not.
    Commits,
    /// Other things, or the journal of something else.
    Foreign,
}

fn look_at_journal(path: &Path) -> Result<Content, KnowledgeBaseError> {
    let io = |error| KnowledgeBaseError::Io { path: path.to_owned(), error };
    let disk = match Directory::open(path) {
        Ok(disk) => disk,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Content::Nothing),
        Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(Content::Foreign),
        Err(error) => return Err(io(error)),
    };
    let names = disk.list().map_err(io)?;
    let mut reader = match Reader::from_frame(Arc::new(disk), 0) {
        Ok(reader) => reader,
        Err(ReadError::Empty) if names.iter().all(|name| name.ends_with(SEGMENT_NEW)) => return Ok(Content::Nothing),
        Err(ReadError::Empty) => return Ok(Content::Foreign),
        Err(ReadError::Damaged(_)) => return Ok(Content::Commits),
        // Old commits were given up.
        Err(ReadError::Trimmed { .. }) if names.iter().any(|name| name.ends_with(BEGINNING)) => {
            return Ok(Content::Commits);
        }
        Err(ReadError::Trimmed { .. }) => return Ok(Content::Foreign),
        Err(error) => return Err(error.into()),
    };
    match reader.read_next() {
        Ok(Some(frame)) if !record::is_begin(frame.payload) => return Ok(Content::Foreign),
        Ok(Some(_)) => {}
        Ok(None) => return Ok(Content::Nothing),
        Err(ReadError::Damaged(_)) => return Ok(Content::Commits),
        Err(error) => return Err(error.into()),
    }
    match reader.read_next() {
        Ok(None) => Ok(Content::Begun),
        Ok(Some(_)) | Err(ReadError::Damaged(_)) => Ok(Content::Commits),
        Err(error) => Err(error.into()),
    }
}

/// What the manifest of a directory says.
enum Manifest {
    /// There is none.
    Missing,
    /// A base of the format that this version writes.
    Known,
    /// Nothing that any version writes.
    Damaged,
}

fn read_manifest(path: &Path) -> Result<Manifest, KnowledgeBaseError> {
    let manifest = path.join(MANIFEST);
    let bytes = match read_regular(&manifest, MANIFEST_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Manifest::Missing);
        }
        // It is longer than any manifest.
        Err(error) if error.kind() == ErrorKind::InvalidData => return Ok(Manifest::Damaged),
        Err(error) => return Err(KnowledgeBaseError::Io { path: manifest, error }),
    };
    if bytes == manifest_text().as_bytes() {
        return Ok(Manifest::Known);
    }
    let text = String::from_utf8_lossy(&bytes);
    if !text.starts_with(MANIFEST_BEGINS) {
        return Ok(Manifest::Damaged);
    }
    let found = text.trim().chars().take(SHOWN_CHARACTERS_MAX).collect();
    Err(KnowledgeBaseError::Format { path: path.to_owned(), found })
}

fn manifest_text() -> String {
    format!("{MANIFEST_BEGINS}{}\n", record::FORMAT_VERSION)
}

/// Whether a directory holds nothing but what a base that was being made may have left there.
fn is_free(path: &Path) -> Result<bool, KnowledgeBaseError> {
    let io = |error| KnowledgeBaseError::Io { path: path.to_owned(), error };
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(false),
        Err(error) => return Err(io(error)),
    };
    for entry in entries {
        let name = entry.map_err(io)?.file_name();
        if ![LOCK, MANIFEST_NEW, JOURNAL].iter().any(|left| name == *left) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Takes the lock of a base, and leaves the number of this process in it.
pub(super) fn lock(path: &Path) -> Result<FolderLock, KnowledgeBaseError> {
    FolderLock::take(path, LOCK).map_err(|error| match error {
        LockError::Held { process } => KnowledgeBaseError::InUse { path: path.to_owned(), process },
        error => error.into(),
    })
}

/// Says durably that there is a base, the last step of making one.
pub(super) fn write_manifest(path: &Path) -> Result<(), KnowledgeBaseError> {
    let write = || -> io::Result<()> {
        let new = path.join(MANIFEST_NEW);
        // Never written through: it may be a link to something else.
        match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::create_new(&new)?;
        file.write_all(manifest_text().as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path.join(MANIFEST))?;
        File::open(path)?.sync_all()?;
        // The directory's own name is durable once its parent is.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    };
    write().map_err(|error| KnowledgeBaseError::Io { path: path.join(MANIFEST), error })
}
