//! Reading files of any form: regular files, and no more of them than a limit.
//!
//! What the user's own shell hands over, such as `/dev/stdin`, may be a pipe; it is read once.

use crate::error::FileError;
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
}

impl From<io::Error> for ReadFileError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// All of a regular file, or of what was handed over, unless it is more than the limit.
pub(crate) fn read(path: &Path, options: ReadOptions) -> Result<Vec<u8>, ReadFileError> {
    let too_much = || ReadFileError::TooMuch(LimitExceeded::new("the file", options.most()));
    let file = if is_handed_over(path) { File::open(path)? } else { open_regular(path, Access::Read)? };
    let length = file.metadata()?.len();
    if length > options.most() as u64 {
        return Err(too_much());
    }
    let mut bytes = Vec::with_capacity(length as usize);
    file.take((options.most() as u64).saturating_add(1)).read_to_end(&mut bytes)?;
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
