//! Reading files of any form: regular files, and no more of them than a limit.
//!
//! What the user's own shell hands over, such as `/dev/stdin`, may be a pipe; it is read once.

use crate::limits::{LimitExceeded, ReadOptions};
use journal::{Access, open_regular};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Whether a path leads to what the shell handed over, such as `/dev/stdin` or `/dev/fd/63`, and that is no regular file.
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
