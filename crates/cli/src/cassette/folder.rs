//! The files of a folder of cassettes, and what each of them is.

use super::{is_recording, was_none};
use crate::end::End;
use crate::output::fail;
use cassette::{Cassette, Content, Form, FormError, ReadError, ReadOptions};
use metroon::tape::TapeReader;
use std::fs::{self, File, TryLockError};
use std::io::Read;
use std::path::{Path, PathBuf};

/// How deep folders may lie in each other.
const DEPTH_MAX: usize = 32;

/// All regular files of a folder and of those in it, by name. Links are not followed.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>, End> {
    if !folder.is_dir() {
        let what = if folder.exists() { "is not a folder" } else { "is not there" };
        return Err(fail(&format!("{} {what}", folder.display()), "name a folder with cassettes", End::Usage));
    }
    let mut files = Vec::new();
    collect(folder, DEPTH_MAX, &mut files)?;
    files.sort();
    Ok(files)
}

fn collect(folder: &Path, depth_left: usize, files: &mut Vec<PathBuf>) -> Result<(), End> {
    let unreadable = |error: std::io::Error| {
        fail(&format!("cannot list the folder {}: {error}", folder.display()), "ask its owner", End::Error)
    };
    let Some(depth_left) = depth_left.checked_sub(1) else {
        let what = format!("{} lies in more than {DEPTH_MAX} folders", folder.display());
        return Err(fail(&what, "name a folder farther in", End::Error));
    };
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_dir() {
            collect(&entry.path(), depth_left, files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// A path as it lies in a folder.
pub(super) fn within(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).display().to_string()
}

/// What lies at a path.
pub(super) enum FileKind {
    /// A cassette, in any form.
    Cassette(Box<Cassette>, Form),
    /// Something that is a cassette and is not what was written, and what is wrong.
    Damaged(String),
    /// Something that is not read, and why.
    Unread(String),
    /// Anything else.
    Other,
}

pub(super) fn kind(path: &Path, options: ReadOptions) -> FileKind {
    match Cassette::open_any_with(path, options) {
        Ok((cassette, form)) => FileKind::Cassette(Box::new(cassette), form),
        Err(
            error @ (FormError::Unreadable(ReadError::Disk(_) | ReadError::TooMuch(_))
            | FormError::Disk(_)
            | FormError::TooMuch(_)),
        ) => FileKind::Unread(error.to_string()),
        Err(error) if is_damaged(path, &error) => FileKind::Damaged(error.to_string()),
        Err(_) => FileKind::Other,
    }
}

/// Whether what cannot be read is a cassette all the same: it begins as one, or is in gzip and named as one.
fn is_damaged(path: &Path, error: &FormError) -> bool {
    match error {
        FormError::Unreadable(error @ ReadError::Damaged(_)) => {
            let is_named = path.extension().is_some_and(|extension| extension == "cassette");
            (is_named || !was_none(error)) && TapeReader::open(path).is_err()
        }
        FormError::Unreadable(ReadError::Recording(_)) => is_recording(path),
        FormError::Gzip { .. } => Form::of_name(path) != Form::Cassette,
        FormError::Malformed { .. } | FormError::Version { .. } => {
            let beginning = beginning(path);
            MARKS.iter().any(|mark| beginning.windows(mark.len()).any(|window| window == *mark))
        }
        _ => false,
    }
}

/// What documents of cassettes have near their beginning.
const MARKS: [&[u8]; 4] = [b"metroon-cassette", b"interactions", b"\"entries\"", b"\"exchanges\""];

fn beginning(path: &Path) -> Vec<u8> {
    const BYTES: u64 = 1024;
    let mut bytes = Vec::new();
    // What cannot be read begins as nothing.
    let _ = File::open(path).and_then(|file| file.take(BYTES).read_to_end(&mut bytes));
    bytes
}

/// The lock on a recording, which its recorder holds as long as it lives; `None` if somebody has it. It ends with its process, so nothing
/// of it is ever left behind.
pub(super) fn lock(recording: &Path) -> Option<File> {
    let file = File::open(recording).ok()?;
    match file.try_lock() {
        Ok(()) => Some(file),
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => None,
    }
}

/// Whether two files say the same, in whatever forms.
pub(super) fn says_the_same(cassette: &Cassette, other: &Path) -> bool {
    let content = Content::of_cassette(cassette);
    content.is_ok_and(|content| Content::read(other).is_ok_and(|other| content == other))
}
