//! Files in memory only: a journal for a test, or for what is not kept.
//!
//! Cost: the bytes themselves. For power losses and failures there is [`simulated`](crate::simulated), which remembers every
//! version of every sector and is for small journals only.

use super::{Disk, DiskFile};
use crate::access::Access;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// Files in memory. Clones are the same disk.
///
/// ```
/// use journal::{Durability, Journal, MemoryDisk, Options, Reader};
/// use std::sync::Arc;
///
/// let disk = Arc::new(MemoryDisk::new());
/// let (journal, _) = Journal::open(disk.clone(), Options::default())?;
/// journal.append(b"kept until the end of the program", Durability::Os)?;
/// assert!(Reader::from_frame(disk, 0)?.read_next()?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    files: Arc<Mutex<BTreeMap<String, MemoryFile>>>,
}

#[derive(Clone, Debug, Default)]
struct MemoryFile {
    bytes: Arc<RwLock<Vec<u8>>>,
}

impl MemoryDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many bytes its files have together.
    pub fn bytes(&self) -> u64 {
        self.files().values().map(|file| file.read(<[u8]>::len) as u64).sum()
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<String, MemoryFile>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk for MemoryDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.files().keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let file = MemoryFile::default();
        self.files().insert(name.to_owned(), file.clone());
        Ok(Box::new(file))
    }

    fn open(&self, name: &str, _access: Access) -> io::Result<Box<dyn DiskFile>> {
        let file = self.files().get(name).cloned().ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(file))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.files();
        let file = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files().remove(name).map(drop).ok_or(io::ErrorKind::NotFound.into())
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }
}

impl MemoryFile {
    fn read<T>(&self, look: impl FnOnce(&[u8]) -> T) -> T {
        look(&self.bytes.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        change(&mut self.bytes.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl DiskFile for MemoryFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.read(<[u8]>::len) as u64)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        let length = place(length)?;
        self.change(|bytes| bytes.resize(length, 0));
        Ok(())
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let offset = place(offset)?;
        self.read(|bytes| {
            let found = bytes.get(offset..).unwrap_or_default();
            let count = found.len().min(into.len());
            into[..count].copy_from_slice(&found[..count]);
            Ok(count)
        })
    }

    fn write_at(&self, offset: u64, written: &[u8]) -> io::Result<usize> {
        let from = place(offset)?;
        from.checked_add(written.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        self.change(|bytes| {
            if bytes.len() < from {
                bytes.resize(from, 0);
            }
            let (over, new) = written.split_at(written.len().min(bytes.len() - from));
            bytes[from..from + over.len()].copy_from_slice(over);
            bytes.extend_from_slice(new);
        });
        Ok(written.len())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

fn place(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_they_were_written() {
        let disk = MemoryDisk::new();
        let file = disk.create("a").unwrap();
        file.write_full(3, b"xyz").unwrap();
        let mut read = [9; 8];
        assert_eq!(disk.open("a", Access::Read).unwrap().read_full(1, &mut read).unwrap(), 5);
        assert_eq!(read, [0, 0, b'x', b'y', b'z', 9, 9, 9]);
        file.set_length(4).unwrap();
        assert_eq!((file.length().unwrap(), disk.clone().bytes()), (4, 4));
        assert_eq!(file.read_at(4, &mut read).unwrap(), 0);
    }

    #[test]
    fn names_are_given_and_taken_away() {
        let disk = MemoryDisk::new();
        disk.create("a").unwrap().write_full(0, b"a").unwrap();
        disk.create("b").unwrap();
        disk.rename("a", "b").unwrap();
        assert_eq!((disk.list().unwrap(), disk.bytes()), (vec!["b".to_owned()], 1));
        assert_eq!(disk.open("a", Access::Read).err().unwrap().kind(), io::ErrorKind::NotFound);
        disk.remove("b").unwrap();
        assert_eq!(disk.remove("b").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(disk.list().unwrap().is_empty());
    }
}
