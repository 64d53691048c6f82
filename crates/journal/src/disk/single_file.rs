//! One regular file that holds a whole journal, such as a tape.
//!
//! 1. The file is the journal's first segment and its only one: the journal never rolls over.
//! 2. While it is made it has another name beside its own, `.NAME.unfinished`, which goes when the journal is opened for
//!    writing, if a crash left it there.
//! 3. It gets its own name by a link where the file system has links, so that a file that appeared meanwhile is not replaced.
//! 4. The process that makes or writes it holds the system's lock on it: a second writer is refused. Readers need no lock.
//! 5. Only its owner may read it: what is on a tape may be secret.
//! 6. A file that another process makes meanwhile is never taken for the one that is being made.

use super::directory::{MODE_PRIVATE, folder_around, sync_folder};
use super::{Disk, DiskFile};
use crate::access::Access;
use crate::regular;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a journal calls its first segment, which is the only one here, and what it calls that while it is made.
const SEGMENT: &str = "00000000000000000000.segment";
const UNFINISHED: &str = "00000000000000000000.segment.new";

/// A disk that is one regular file.
///
/// ```
/// use journal::{Durability, Journal, Options, Reader, SingleFile};
/// use std::sync::Arc;
///
/// let path = std::env::temp_dir().join(format!("trip-{}.tape", std::process::id()));
/// let (journal, _) = Journal::open(Arc::new(SingleFile::create(&path)?), Options::default())?;
/// journal.append(b"GET /", Durability::Os)?;
/// journal.close()?;
///
/// let mut reader = Reader::from_frame(Arc::new(SingleFile::open(&path)?), 0)?;
/// assert_eq!(reader.read_next()?.unwrap().payload, b"GET /");
/// assert!(SingleFile::create(&path).is_err());
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SingleFile {
    path: PathBuf,
    unfinished: PathBuf,
    shown: String,
    /// Whether what lies there is what was opened, or made here.
    is_ours: Arc<AtomicBool>,
}

impl SingleFile {
    /// A journal that is there. Nothing is written, so this serves for reading where writing is not allowed.
    ///
    /// # Errors
    /// There is nothing of this name, or it is not a regular file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        regular::check(&fs::metadata(path)?)?;
        Self::at(path, true)
    }

    /// A journal that is to be made; [`Journal::open`](crate::Journal::open) makes it.
    ///
    /// # Errors
    /// Something of this name is there already, or the folder around it is not.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        if is_there(path)? {
            return Err(occupied(path));
        }
        if !fs::metadata(folder_around(path))?.is_dir() {
            return Err(ErrorKind::NotADirectory.into());
        }
        Self::at(path, false)
    }

    fn at(path: &Path, is_ours: bool) -> io::Result<Self> {
        let Some(name) = path.file_name() else {
            let message = format!("{} is not the name of a file", path.display());
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        };
        let mut beside = std::ffi::OsString::from(".");
        beside.push(name);
        beside.push(".unfinished");
        let (unfinished, shown) = (path.with_file_name(beside), path.display().to_string());
        Ok(Self { path: path.to_owned(), unfinished, shown, is_ours: Arc::new(AtomicBool::new(is_ours)) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn place(&self, name: &str) -> io::Result<&Path> {
        match name {
            SEGMENT => Ok(&self.path),
            UNFINISHED => Ok(&self.unfinished),
            _ => Err(io::Error::new(ErrorKind::InvalidInput, format!("a journal in one file has no place for {name}"))),
        }
    }

    /// Takes the other name away that a crash left; an error if somebody is making a journal under it.
    fn remove_unfinished(&self) -> io::Result<()> {
        let file = regular::open_regular(&self.unfinished, Access::Read)?;
        // A second name of the journal itself, which is locked if it is being written, may go.
        if !is_same(&file, &self.path)? {
            lock(&file)?;
        }
        fs::remove_file(&self.unfinished)
    }
}

impl Disk for SingleFile {
    fn list(&self) -> io::Result<Vec<String>> {
        let is_finished = is_there(&self.path)?;
        if is_finished && !self.is_ours.load(Ordering::SeqCst) {
            return Err(occupied(&self.path));
        }
        let found = [(SEGMENT, is_finished), (UNFINISHED, is_there(&self.unfinished)?)];
        Ok(found.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name.to_owned()).collect())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let path = self.place(name)?;
        let new = || OpenOptions::new().read(true).write(true).create_new(true).mode(MODE_PRIVATE).open(path);
        let file = match new() {
            // Never emptied but removed: a crash may have left it as a second name of a journal that was moved since.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                self.remove(name)?;
                new()?
            }
            file => file?,
        };
        lock(&file)?;
        still_there(&file)?;
        Ok(Box::new(file))
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Box<dyn DiskFile>> {
        let file = regular::open_regular(self.place(name)?, access)?;
        if access == Access::Write {
            lock(&file)?;
            still_there(&file)?;
        }
        Ok(Box::new(file))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.place(from)?, self.place(to)?);
        match fs::hard_link(from, to) {
            Ok(()) => fs::remove_file(from)?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(occupied(to)),
            // This file system may have no links.
            Err(_) if is_there(to)? => return Err(occupied(to)),
            Err(_) => fs::rename(from, to)?,
        }
        self.is_ours.store(true, Ordering::SeqCst);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let path = self.place(name)?;
        if path == self.unfinished { self.remove_unfinished() } else { fs::remove_file(path) }
    }

    /// While it is locked still, so that nobody else's is taken away.
    fn discard(&self, name: &str, file: Arc<dyn DiskFile>) -> io::Result<()> {
        fs::remove_file(self.place(name)?)?;
        drop(file);
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        sync_folder(folder_around(&self.path))
    }

    fn only_file(&self) -> Option<&str> {
        Some(&self.shown)
    }
}

/// Whether there is anything of this name, be it a link that leads nowhere.
fn is_there(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn occupied(path: &Path) -> io::Error {
    let message = format!("{} exists already: name a file that does not exist", path.display());
    io::Error::new(ErrorKind::AlreadyExists, message)
}

fn busy() -> io::Error {
    io::Error::new(ErrorKind::ResourceBusy, "another writer has it open; wait until that one has ended")
}

/// Whether a path leads to an open file.
fn is_same(file: &File, path: &Path) -> io::Result<bool> {
    let file = file.metadata()?;
    match fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (file.dev(), file.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// An error if somebody has taken a file away before it was locked: one that was left behind, or one that is done with.
fn still_there(file: &File) -> io::Result<()> {
    if file.metadata()?.nlink() > 0 { Ok(()) } else { Err(busy()) }
}

/// Keeps others from writing until the file is closed.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(busy()),
        // That a file system has no locks is not a reason not to write.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::name_of;
    use crate::segment::unfinished_name_of;

    #[test]
    fn names_are_those_of_the_first_segment() {
        assert_eq!((SEGMENT, UNFINISHED), (name_of(0).as_str(), unfinished_name_of(0).as_str()));
    }
}
