//! What a journal asks of a disk: one folder of files, read and written by position.
//!
//! [`Directory`] is the real one, [`SingleFile`] one file of it, and [`MemoryDisk`] is memory only;
//! [`simulated`](crate::simulated) is one that loses power, fills up and flips bytes on command. Nothing else in this crate
//! touches a file.
//!
//! What every implementation promises:
//!
//! 1. Bytes are durable once [`DiskFile::sync`] has returned, and names once [`Disk::sync_names`] has. Neither is
//!    promised before, and unsynced bytes may reach the disk in any order, whole, torn or not at all.
//! 2. Writing a range changes no byte outside it, even when the power fails meanwhile.
//! 3. A read sees every write that has returned.

mod directory;
mod memory;
pub mod simulated;
mod single_file;

pub use directory::Directory;
pub use memory::MemoryDisk;
pub use single_file::SingleFile;

use crate::access::Access;
use crate::mapping::Mapping;
use std::io;
use std::sync::Arc;

/// One folder of files.
pub trait Disk: Send + Sync {
    /// The names of the files, in any order.
    ///
    /// # Errors
    /// The folder cannot be read.
    fn list(&self) -> io::Result<Vec<String>>;

    /// A new, empty file, open for writing. A file that has the name already is emptied.
    ///
    /// # Errors
    /// The disk refuses.
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;

    /// A file that exists.
    ///
    /// # Errors
    /// There is none, or it may not be used like that.
    fn open(&self, name: &str, access: Access) -> io::Result<Box<dyn DiskFile>>;

    /// Gives a file another name, in place of any file that has it.
    ///
    /// # Errors
    /// The disk refuses.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Takes a file away.
    ///
    /// # Errors
    /// The disk refuses.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Takes a file away that is open.
    ///
    /// # Errors
    /// The disk refuses.
    fn discard(&self, name: &str, file: Arc<dyn DiskFile>) -> io::Result<()> {
        drop(file);
        self.remove(name)
    }

    /// Makes every creation, renaming and removal so far durable.
    ///
    /// # Errors
    /// The disk cannot say that they are.
    fn sync_names(&self) -> io::Result<()>;

    /// The whole of a file that never changes again, as bytes. [`Directory`] maps it; others read it.
    ///
    /// # Errors
    /// There is no such file, or the disk cannot read it.
    fn map(&self, name: &str) -> io::Result<Mapping> {
        let file = self.open(name, Access::Read)?;
        let length = usize::try_from(file.length()?).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let mut bytes = vec![0; length];
        let count = file.read_full(0, &mut bytes)?;
        bytes.truncate(count);
        Ok(Mapping::held(bytes))
    }

    /// If there is room for one file only, what people know it by. A journal on such a disk has one segment.
    fn only_file(&self) -> Option<&str> {
        None
    }
}

/// An open file.
pub trait DiskFile: Send + Sync {
    /// Its length in bytes.
    ///
    /// # Errors
    /// The disk refuses.
    fn length(&self) -> io::Result<u64>;

    /// Cuts it, or extends it with zeros.
    ///
    /// # Errors
    /// The disk refuses.
    fn set_length(&self, length: u64) -> io::Result<()>;

    /// Reads bytes from `offset` on and says how many; 0 at the end of the file only.
    ///
    /// # Errors
    /// The disk cannot read them.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;

    /// A place from `offset` on before which there are only zeros that were never written: `offset` itself where the disk
    /// cannot tell, the length of the file if nothing was written from there on.
    ///
    /// # Errors
    /// The disk refuses.
    fn data_from(&self, offset: u64) -> io::Result<u64> {
        Ok(offset)
    }

    /// Writes the first few of `bytes` at `offset`, extending the file if need be, and says how many.
    ///
    /// # Errors
    /// The disk refuses.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize>;

    /// Makes the contents and the length durable.
    ///
    /// # Errors
    /// The disk cannot say that they are. What was written since the last success is then in doubt for ever: many
    /// kernels forget which pages failed, so that a second attempt would succeed without having written anything.
    fn sync(&self) -> io::Result<()>;

    /// Reads until `into` is full or the file ends; says how many bytes there were.
    ///
    /// # Errors
    /// As [`DiskFile::read_at`].
    fn read_full(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < into.len() {
            match self.read_at(offset + done as u64, &mut into[done..]) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// As [`DiskFile::write_at`]; some of the bytes may have been written.
    fn write_full(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            match self.write_at(offset + done as u64, &bytes[done..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
