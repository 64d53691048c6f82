//! The lock of a folder: one process writes there, and the others are told which.
//!
//! 1. The system's lock (`flock`) is on the folder itself. Nobody can remove it by removing a file: whatever happens to
//!    files in the folder, a second writer is refused as long as the first one lives.
//! 2. A file in the folder holds the number of the process, for people. It is locked as well: that is the lock where the file system
//!    has none for folders, and the one that earlier versions look at.
//! 3. The file is opened without following a link, and written only if it is new, empty or holds such a number already, or what
//!    a crash leaves of one. Anything else under its name belongs to another program, and stays as it is.

use crate::regular;
use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The number of a process, and a newline, is not longer.
const HOLDER_BYTES_MAX: u64 = 20;
/// How often the file is opened again if it is exchanged while it is being locked.
const ATTEMPTS_MAX: u32 = 100;

/// Keeps other processes from writing in a folder until it is dropped.
#[derive(Debug)]
pub struct FolderLock {
    /// `None` where the file system has no locks for folders.
    folder: Option<File>,
    file: File,
    /// The process that took it.
    process: u32,
}

/// Why a folder cannot be locked.
#[derive(Debug)]
#[non_exhaustive]
pub enum LockError {
    /// Another process holds the lock.
    Held {
        /// Its number, if it left it.
        process: Option<u32>,
    },
    /// What has the name of the lock's file is something else.
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: String,
    },
    /// The system refuses.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held { process: Some(process) } => write!(f, "process {process} holds the lock"),
            Self::Held { process: None } => f.write_str("another process holds the lock"),
            Self::Foreign { path, what } => {
                write!(f, "{} is not a lock: {what}; move it away, and a lock is made there", path.display())
            }
            Self::Io { path, error } => write!(f, "cannot lock {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for LockError {}

impl FolderLock {
    /// Locks a folder that exists, and leaves the number of this process in a file there. Does not wait.
    ///
    /// # Errors
    /// Another process holds the lock, the file is something else, or the system refuses.
    pub fn take(folder: &Path, name: &str) -> Result<Self, LockError> {
        let path = folder.join(name);
        let opened = File::open(folder).map_err(|error| LockError::Io { path: folder.to_owned(), error })?;
        let is_locked = match opened.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => return Err(LockError::Held { process: holder(&path) }),
            // Some file systems lock files only.
            Err(TryLockError::Error(_)) => false,
        };
        let mut file = lock_file(&path)?;
        let write = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            // In one write: a process that is killed between two leaves half of it.
            file.write_all(format!("{}\n", std::process::id()).as_bytes())
        };
        write(&mut file).map_err(|error| LockError::Io { path, error })?;
        Ok(Self { folder: is_locked.then_some(opened), file, process: std::process::id() })
    }

    /// Whether the lock holds even if its file is taken away.
    pub fn is_of_folder(&self) -> bool {
        self.folder.is_some()
    }
}

impl Drop for FolderLock {
    /// A fork of the process has the files as well, and closing them here alone would leave the lock to it. A fork gives up nothing.
    fn drop(&mut self) {
        if self.process == std::process::id() {
            for file in self.folder.iter().chain([&self.file]) {
                // What cannot be given up ends with the files.
                let _ = file.unlock();
            }
        }
    }
}

/// The file of the lock, locked, and still the one of that name.
fn lock_file(path: &Path) -> Result<File, LockError> {
    let io = |error| LockError::Io { path: path.to_owned(), error };
    for _ in 0..ATTEMPTS_MAX {
        let mut file = open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LockError::Held { process: holder(path) }),
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        if !is_at(&file, path).map_err(io)? {
            continue;
        }
        let what = match number_in(&mut file).map_err(io)? {
            Held::Nothing | Held::Number(_) => return Ok(file),
            Held::Other => "it holds something other than the number of a process".to_owned(),
        };
        return Err(LockError::Foreign { path: path.to_owned(), what });
    }
    Err(io(io::Error::other("other programs keep replacing it")))
}

/// Opens the file, or makes it; never what a link leads to.
fn open(path: &Path) -> Result<File, LockError> {
    let io = |error| LockError::Io { path: path.to_owned(), error };
    let foreign = |error: io::Error| LockError::Foreign { path: path.to_owned(), what: error.to_string() };
    match std::fs::symlink_metadata(path) {
        Ok(found) => regular::check(&found).map_err(foreign)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(io(error)),
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY).open(path).map_err(io)?;
    regular::check(&file.metadata().map_err(io)?).map_err(foreign)?;
    Ok(file)
}

/// Whether a path leads to this open file, and no link does.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let file = file.metadata()?;
    match std::fs::symlink_metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (file.dev(), file.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// What the file of a lock holds.
enum Held {
    Nothing,
    Number(u32),
    Other,
}

fn number_in(file: &mut File) -> io::Result<Held> {
    let mut text = Vec::new();
    file.take(HOLDER_BYTES_MAX + 1).read_to_end(&mut text)?;
    // A crash of the system may leave a part of what a holder wrote, or zeros where it was to be.
    if text.iter().all(u8::is_ascii_digit) && text.len() < HOLDER_BYTES_MAX as usize
        || text.iter().all(|byte| *byte == 0)
    {
        return Ok(Held::Nothing);
    }
    let number = std::str::from_utf8(&text).ok().and_then(|text| text.strip_suffix('\n')?.parse().ok());
    Ok(number.map_or(Held::Other, Held::Number))
}

/// The number that the file of a lock holds, if there is one.
fn holder(path: &Path) -> Option<u32> {
    match number_in(&mut open_there(path)?).ok()? {
        Held::Number(process) => Some(process),
        Held::Nothing | Held::Other => None,
    }
}

fn open_there(path: &Path) -> Option<File> {
    regular::open_regular(path, crate::access::Access::Read).ok()
}
