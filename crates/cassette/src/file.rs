//! Reading files of any form: regular files, and no more of them than a limit; what is in gzip is decompressed on the way.
//!
//! What the user's own shell hands over, such as `/dev/stdin`, may be a pipe; it is read once.

use crate::error::FileError;
use crate::gzip::{self, PlainReader};
use crate::limits::{LimitExceeded, ReadOptions};
use journal::{Access, Directory, open_regular};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Whether a path leads to what the shell handed over, such as `/dev/stdin` or `/dev/fd/63`, and that is not a regular file.
pub(crate) fn is_handed_over(path: &Path) -> bool {
    let is_of_this_process = ["/dev/stdin", "/dev/fd", "/proc/self/fd"].iter().any(|begin| path.starts_with(begin));
    is_of_this_process && fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// Why a file was not read whole.
pub(crate) enum ReadFileError {
    Failed(io::Error),
    TooMuch(LimitExceeded),
    /// It is gzip, and only these bytes could be decompressed.
    Gzip(&'static str, Vec<u8>),
}

impl From<io::Error> for ReadFileError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// A regular file, or what was handed over, and how long it is.
pub(crate) fn open(path: &Path) -> io::Result<(File, u64)> {
    let file = if is_handed_over(path) { File::open(path)? } else { open_regular(path, Access::Read)? };
    let length = file.metadata()?.len();
    Ok((file, length))
}

/// Whether a regular file begins as gzip does.
///
/// # Errors
/// It cannot be opened or read.
pub fn is_gzip(path: impl AsRef<Path>) -> io::Result<bool> {
    Ok(PlainReader::new(open_regular(path.as_ref(), Access::Read)?)?.is_gzip())
}

/// All of a regular file, or of what was handed over, decompressed if it is gzip, unless it is more than the limit.
pub(crate) fn read(path: &Path, options: ReadOptions) -> Result<Vec<u8>, ReadFileError> {
    let (file, length) = open(path)?;
    let file = PlainReader::new(file)?;
    let what = if file.is_gzip() { "what the gzip file is decompressed to" } else { "the file" };
    let too_much = || ReadFileError::TooMuch(LimitExceeded::new(what, options.most()));
    if length > options.most() as u64 {
        return Err(too_much());
    }
    let mut bytes = Vec::with_capacity(if file.is_gzip() { 0 } else { length as usize });
    let is_gzip = file.is_gzip();
    if let Err(error) = file.take((options.most() as u64).saturating_add(1)).read_to_end(&mut bytes) {
        return Err(match gzip::flaw(&error) {
            Some(flaw) if is_gzip => ReadFileError::Gzip(flaw, bytes),
            _ => error.into(),
        });
    }
    if bytes.len() > options.most() { Err(too_much()) } else { Ok(bytes) }
}

pub(crate) fn folder_and_name(path: &Path) -> Result<(Directory, String), FileError> {
    let shown = path.display().to_string();
    let not_a_name = || io::Error::new(io::ErrorKind::InvalidInput, "it is not the name of a file in UTF-8");
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(not_a_name).map_err(FileError::new("write", &shown))?;
    let around = path.parent().filter(|around| !around.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = Directory::open(around).map_err(FileError::new("open the folder of", &shown))?;
    // What a cassette holds is for its owner, whatever form it has.
    Ok((folder.private(), name.to_owned()))
}
