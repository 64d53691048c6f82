//! A folder of the file system.
//!
//! Renaming and removing become durable by syncing the folder itself, creating it by syncing the one around it.
//! Reads and writes are positioned, so that a file can be read while it is written.

use super::{Disk, DiskFile};
use crate::access::Access;
use crate::mapping::Mapping;
use crate::regular::open_regular;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A folder of the file system.
#[derive(Clone, Debug)]
pub struct Directory {
    path: PathBuf,
    /// The mode of new files, before the process's mask.
    mode: u32,
}

/// A mode that leaves the rest to the process's mask.
const MODE_USUAL: u32 = 0o666;
/// A mode of files that are for their owner alone.
pub(super) const MODE_PRIVATE: u32 = 0o600;

impl Directory {
    /// A folder that exists. Nothing is written, so this serves for reading where writing is not allowed.
    ///
    /// # Errors
    /// There is no folder of this name.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        if !fs::metadata(path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { path: path.to_owned(), mode: MODE_USUAL })
    }

    /// A folder, made durably if there is none, with the folders around it.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        make_durably(path.as_ref())?;
        Self::open(path)
    }

    /// This folder, in which new files are for their owner alone to read and to write.
    #[must_use]
    pub fn private(self) -> Self {
        Self { mode: MODE_PRIVATE, ..self }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Makes the missing folders from the outermost inwards, each synced into the one around it. One that exists is synced
/// as well: the process that made it may have ended before doing so.
fn make_durably(path: &Path) -> io::Result<()> {
    let around = folder_around(path);
    if path.is_dir() {
        return match sync_folder(around) {
            // It is somebody else's, and so is the duty.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            outcome => outcome,
        };
    }
    make_durably(around)?;
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    sync_folder(around)
}

/// The folder that a path lies in.
pub(super) fn folder_around(path: &Path) -> &Path {
    match path.parent() {
        Some(around) if !around.as_os_str().is_empty() => around,
        _ => Path::new("."),
    }
}

pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

impl Disk for Directory {
    fn list(&self) -> io::Result<Vec<String>> {
        let names = fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
        // A name that is not Unicode is not one of ours.
        names.filter_map(Result::transpose).collect()
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let path = self.path.join(name);
        let new = || OpenOptions::new().read(true).write(true).create_new(true).mode(self.mode).open(&path);
        let file = match new() {
            // Never emptied but removed: it may be a link to something else.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(&path)?;
                new()?
            }
            file => file?,
        };
        Ok(Box::new(file))
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(open_regular(self.path.join(name), access)?))
    }

    fn map(&self, name: &str) -> io::Result<Mapping> {
        Mapping::open(self.path.join(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        sync_folder(&self.path)
    }
}

impl DiskFile for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(self, into, offset)
    }

    /// It moves the file's own position, which nothing else uses.
    fn data_from(&self, offset: u64) -> io::Result<u64> {
        match seek(self, SeekFrom::Data(offset)) {
            Ok(place) => Ok(place),
            // There is no more data, or the file has become shorter.
            Err(Errno::NXIO) => Ok(offset.max(self.length()?)),
            // The file system does not know.
            Err(_) => Ok(offset),
        }
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}
