//! Opening files that others may have made.
//!
//! A name may lead to a pipe, where opening waits for a writer that never comes; to a device, which may do
//! something when it is opened; or to a file with a hole of three gigabytes. Everything in this project that reads a file of
//! data opens it here: it is a regular file, or opening it is an error at once.
//!
//! 1. What lies there is looked at before it is opened, so that no device is.
//! 2. It is opened without waiting, and looked at once more: it may have been exchanged in between.
//! 3. The caller that reads a whole file says how long it may be. More than that is an error, whatever length the file claims.

use crate::access::Access;
use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Opens a regular file; links are followed.
///
/// # Errors
/// There is none of this name, it is something else than a regular file, or the system refuses.
pub fn open_regular(path: impl AsRef<Path>, access: Access) -> io::Result<File> {
    let path = path.as_ref();
    check(&std::fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true).write(access == Access::Write).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options.open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Reads a whole regular file, which has at most `bytes_max` bytes.
///
/// # Errors
/// As [`open_regular`]; or it cannot be read, or is longer.
pub fn read_regular(path: impl AsRef<Path>, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path, Access::Read)?;
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let message = format!("it is longer than {bytes_max} bytes, which is the most that such a file has");
        return Err(io::Error::new(ErrorKind::InvalidData, message));
    }
    Ok(bytes)
}

/// An error unless this is a regular file.
pub(crate) fn check(found: &Metadata) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    let message = format!("it is {}, not a regular file", name_of(found.file_type()));
    Err(io::Error::new(ErrorKind::InvalidInput, message))
}

fn name_of(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_dir() => "a folder",
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}
