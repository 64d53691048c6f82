//! Opening files for reading: ordinary files only, so that nobody waits for the other end of a named pipe.
//!
//! What the user's own shell hands over, such as `/dev/stdin`, may be a pipe; it is read once, and no further than a limit.

use crate::limits::{Excess, ReadOptions};
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Opens an ordinary file. Anything else is an error that says what it is.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    // Opening a named pipe waits for its writer, so the look comes first.
    check(&fs::metadata(path)?)?;
    let file = File::open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

fn check(about: &Metadata) -> io::Result<()> {
    let kind = about.file_type();
    let what = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => return Err(ErrorKind::IsADirectory.into()),
        () if kind.is_fifo() => "a named pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(io::Error::new(ErrorKind::InvalidInput, format!("it is {what}, and not an ordinary file")))
}

/// Whether a path leads to what the shell handed over, such as `/dev/stdin` or `/dev/fd/63`, and that is no ordinary file.
pub(crate) fn is_handed_over(path: &Path) -> bool {
    let is_of_this_process = ["/dev/stdin", "/dev/fd", "/proc/self/fd"].iter().any(|begin| path.starts_with(begin));
    is_of_this_process && fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// Why a file was not read whole.
pub(crate) enum NotRead {
    Failed(io::Error),
    TooMuch(Excess),
}

impl From<io::Error> for NotRead {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// All of an ordinary file, or of what was handed over, unless it is more than the limit.
pub(crate) fn read(path: &Path, options: ReadOptions) -> Result<Vec<u8>, NotRead> {
    let too_much = || NotRead::TooMuch(Excess::new("the file", options.most()));
    let file = if is_handed_over(path) { File::open(path)? } else { open(path)? };
    let length = file.metadata()?.len();
    if length > options.most() as u64 {
        return Err(too_much());
    }
    let mut bytes = Vec::with_capacity(length as usize);
    file.take((options.most() as u64).saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > options.most() { Err(too_much()) } else { Ok(bytes) }
}
