//! Where a path leads, and opening what lies there while somebody else exchanges links.
//!
//! 1. [`FilePlace::of`] follows every link and every `..` of a path. What is left are the names of folders from the root on, and a last one. What is
//!    not there lies where its folder does.
//! 2. Whoever asks compares the place with those that are permitted, and has it opened by [`FilePlace::open`]. That goes from folder to folder by these
//!    names, opens each in the one before it, and follows no link. A link that has taken the place of a folder or of the file since is therefore
//!    found and never followed, and the path has to be looked at anew. No system call but `openat` is needed.
//! 3. `/dev/stdin` and `/dev/fd/3` lead to what this process was given when it began, which may be a pipe without a name. The system shows such a
//!    pipe as a link to nowhere, so it alone is opened through its link, and only if it is no file. Nobody else can exchange that link.
//! 4. Nothing waits when it is opened. A pipe that has a name is refused, because its other end may never come; a socket cannot be opened.
//!
//! A hard link is no link in this sense: it is the file itself, under another name.

use metta::OpenMode;
use rustix::fs::{AtFlags, FileType as Kind, Mode, OFlags, fcntl_getfl, fcntl_setfl, open, openat, statat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

/// A path may lead over this many links.
const LINKS_MAX: u32 = 40;

/// How a folder on the way is opened. What may only be passed through need not be readable, where the system can tell these apart.
#[cfg(target_os = "linux")]
const ON_THE_WAY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const ON_THE_WAY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Where a path leads, every link followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlace {
    /// From the root on, without links, `.` and `..`.
    path: PathBuf,
    /// Whether it is what this process was given under a number.
    is_inherited: bool,
    /// Whether the path ends in a slash, so that it means a folder.
    is_folder: bool,
}

impl FilePlace {
    /// Follows every link of a path. What is not there lies where its folder does.
    ///
    /// # Errors
    /// The path is empty, leads over too many links, or the system does not say where it leads.
    pub fn of(path: &Path) -> io::Result<Self> {
        let absolute = std::path::absolute(path)?;
        let mut left = parts(&absolute);
        let mut at = PathBuf::new();
        let (mut links, mut is_inherited) = (0, false);
        while let Some(part) = left.pop() {
            let part = Path::new(&part);
            match part.components().next() {
                Some(Component::ParentDir) => drop(at.pop()),
                Some(Component::Normal(name)) => {
                    let next = at.join(name);
                    match std::fs::read_link(&next) {
                        Ok(target) if left.is_empty() && is_nameless(&next, &target) => {
                            (at, is_inherited) = (next, true);
                        }
                        Ok(target) => {
                            links += 1;
                            if links > LINKS_MAX {
                                return Err(io::Error::other("it leads over too many symbolic links"));
                            }
                            left.extend(parts(&target));
                        }
                        // It is not a link, or not there.
                        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => {
                            at = next;
                        }
                        Err(error) if error.kind() == ErrorKind::NotADirectory => at = next,
                        Err(error) => return Err(error),
                    }
                }
                Some(root) => at = PathBuf::from(root.as_os_str()),
                None => {}
            }
        }
        let is_inherited = is_inherited || is_number_of_ours(&at);
        let is_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        Ok(Self { path: at, is_inherited, is_folder })
    }

    /// The names from the root on, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens what lies here, and follows no link on the way; `None` if one has been put there since the path was looked at.
    ///
    /// # Errors
    /// It is not there, is a folder, a pipe that has a name or a socket, or the system refuses.
    pub(crate) fn open(&self, mode: OpenMode) -> io::Result<Option<File>> {
        let Some((folder, name)) = self.last_folder()? else { return Ok(None) };
        let mut flags = flags(mode);
        flags.set(OFlags::NOFOLLOW, !self.is_inherited);
        flags.set(OFlags::DIRECTORY, self.is_folder);
        if self.is_inherited {
            flags -= OFlags::TRUNC | OFlags::CREATE;
        }
        let Some(file) = opened_in(&folder, name, flags)?.map(File::from) else { return Ok(None) };
        if self.is_inherited && file.metadata()?.is_file() {
            return Ok(None);
        }
        ready(file, self.is_inherited).map(Some)
    }

    /// Whether a file lies here; `None` as with [`open`](Self::open).
    ///
    /// # Errors
    /// There is nothing here, or the system refuses to look.
    pub(crate) fn is_file(&self) -> io::Result<Option<bool>> {
        let Some((folder, name)) = self.last_folder()? else { return Ok(None) };
        let found = kind_in(&folder, name)?;
        Ok((found != Kind::Symlink || self.is_inherited).then_some(found == Kind::RegularFile && !self.is_folder))
    }

    /// The folder in which the last name is, opened without following a link, and this name.
    fn last_folder(&self) -> io::Result<Option<(OwnedFd, &OsStr)>> {
        let mut names = self.path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        });
        let Some(last) = names.next_back() else { return Err(Errno::ISDIR.into()) };
        let mut folder = open("/", ON_THE_WAY, Mode::empty())?;
        for name in names {
            let Some(next) = opened_in(&folder, name, ON_THE_WAY)? else { return Ok(None) };
            folder = next;
        }
        Ok(Some((folder, last)))
    }
}

/// Opens one name in a folder; `None` if it is a link, or was one a moment ago.
fn opened_in(folder: &OwnedFd, name: &OsStr, flags: OFlags) -> io::Result<Option<OwnedFd>> {
    match openat(folder, name, flags, Mode::from(0o666)) {
        Ok(opened) => Ok(Some(opened)),
        // Linux, macOS and FreeBSD say of a link in three ways that it is one.
        Err(error @ (Errno::LOOP | Errno::NOTDIR | Errno::MLINK)) => match kind_in(folder, name)? {
            Kind::Symlink | Kind::Directory => Ok(None),
            _ => Err(error.into()),
        },
        Err(error) => Err(explained(error)),
    }
}

fn kind_in(folder: &OwnedFd, name: &OsStr) -> io::Result<Kind> {
    Ok(Kind::from_raw_mode(statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode))
}

/// Opens a file at a path of the user's choice: every link is followed, and nothing waits.
pub(crate) fn open_anywhere(path: &str, mode: OpenMode) -> io::Result<File> {
    let file = open(path, flags(mode), Mode::from(0o666)).map_err(explained)?;
    ready(File::from(file), FilePlace::of(Path::new(path)).is_ok_and(|place| place.is_inherited))
}

fn flags(mode: OpenMode) -> OFlags {
    let mut flags = match (mode.read, mode.write || mode.append) {
        (true, true) => OFlags::RDWR,
        (false, true) => OFlags::WRONLY,
        (_, false) => OFlags::RDONLY,
    };
    flags |= OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    flags.set(OFlags::APPEND, mode.append);
    flags.set(OFlags::CREATE, mode.create);
    flags.set(OFlags::TRUNC, mode.truncate);
    flags
}

/// What the system says of a pipe without a reader, or of a socket, says nothing to a reader.
fn explained(error: Errno) -> io::Error {
    match error {
        Errno::NXIO => not_a_file("it is a named pipe or a socket"),
        error => error.into(),
    }
}

fn not_a_file(what: &str) -> io::Error {
    let message =
        format!("{what}, not a file, and opening it could wait for ever: write what comes from it to a file first");
    io::Error::new(ErrorKind::InvalidInput, message)
}

/// The open file, which waits when it is read or written as files do, unless nobody can say whether it ever has another end.
fn ready(file: File, is_inherited: bool) -> io::Result<File> {
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory"));
    }
    if kind.is_fifo() && !is_inherited {
        return Err(not_a_file("it is a named pipe"));
    }
    let flags = fcntl_getfl(&file)?;
    fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Whether a link is one of those by which the system shows what this process holds open and has no name: `/proc/7/fd/3` to `pipe:[1234]`.
fn is_nameless(link: &Path, target: &Path) -> bool {
    let ours = PathBuf::from(format!("/proc/{}/fd", std::process::id()));
    link.parent() == Some(&ours) && target.is_relative()
}

/// Whether this is a number of this process, where these are not shown as links.
fn is_number_of_ours(path: &Path) -> bool {
    cfg!(not(target_os = "linux")) && path.parent() == Some(Path::new("/dev/fd"))
}

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    let mut parts: Vec<OsString> = parts.map(|part| part.as_os_str().to_owned()).collect();
    parts.reverse();
    parts
}
