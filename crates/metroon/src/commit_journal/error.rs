//! Why a base cannot be used, and what to do about it.

use journal::{AppendError, Failure, LockError, OpenError, Place, ReadError, SyncError, TrimError};
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// Why a base cannot be opened, read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum KnowledgeBaseError {
    /// Another process writes to it.
    InUse {
        /// Its directory.
        path: PathBuf,
        /// The number of the process, if it has left it.
        process: Option<u32>,
    },
    /// What has the name of its lock is something else.
    ForeignLock {
        /// What it is, and what to do.
        error: LockError,
    },
    /// The directory exists and is something else.
    NotABase {
        /// The directory.
        path: PathBuf,
    },
    /// There is none in the directory.
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// Its manifest is missing or damaged, and its journal is there.
    NoManifest {
        /// The directory.
        path: PathBuf,
    },
    /// Its journal is missing, and its manifest is there.
    NoJournal {
        /// The directory.
        path: PathBuf,
    },
    /// It is a copy of a base that was not completed.
    Unfinished {
        /// The directory.
        path: PathBuf,
        /// What it was to be, such as `backup of` the directory of a base.
        what: String,
    },
    /// Something lies where a base is to be salvaged to.
    Occupied {
        /// The directory.
        path: PathBuf,
    },
    /// It was written by a version whose programs mean something else.
    Semantics {
        /// The version of the language's semantics that it was written with.
        found: u32,
        /// The version that this program has.
        known: u32,
    },
    /// It is of a format that this version does not know.
    Format {
        /// Its directory.
        path: PathBuf,
        /// What its manifest says.
        found: String,
    },
    /// The file system refuses.
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Its journal cannot be opened.
    Open(Box<OpenError>),
    /// Its journal cannot be read.
    Read(Box<ReadError>),
    /// Its journal takes no more.
    Append(Box<AppendError>),
    /// Its journal could not be made durable at the end.
    Sync(Box<SyncError>),
    /// A frame of its journal is sound and says something impossible.
    Damaged {
        /// The frame.
        place: Place,
        /// What is wrong.
        reason: String,
    },
    /// What its journal says does not come to the state that was recorded with a commit.
    Differs {
        /// The commit.
        epoch: u64,
        /// Its last frame.
        place: Place,
        /// The state hash that was recorded.
        recorded: u128,
        /// The state hash that its commits come to.
        found: u128,
    },
    /// There is no such commit.
    NoEpoch {
        /// The number asked for.
        epoch: u64,
        /// The last commit there is.
        last: u64,
    },
    /// A time is to name a commit, and no commit has one.
    NoTimes,
    /// A time is to name a commit, and the first commit that has one was made later.
    BeforeTimes {
        /// The time, as a date.
        asked: String,
        /// That commit.
        epoch: u64,
        /// When it was made, as a date.
        made: String,
    },
    /// A time is to name a commit, and the last commit that has one was made before.
    AfterTimes {
        /// The time, as a date.
        asked: String,
        /// That commit.
        epoch: u64,
        /// When it was made, as a date.
        made: String,
    },
    /// Commits were given up, and this is asked of one of them.
    GivenUp {
        /// The commit after which something is asked for.
        epoch: u64,
        /// The first commit that is kept.
        first: u64,
    },
    /// Commits were given up, and what the base held after them cannot be told.
    NoBeginning {
        /// What is wrong with the file that says it.
        reason: String,
    },
    /// What files state is not known, since the base was salvaged from a checkpoint.
    NoStatements {
        /// The commit of the checkpoint.
        epoch: u64,
    },
    /// Where an atom comes from is asked, and it was added by a commit that was given up.
    OriginGivenUp {
        /// How many copies of atoms this is so of.
        copies: u64,
        /// The first commit that is kept.
        first: u64,
    },
    /// The commits that changed an atom are asked for, and some of them were given up.
    LogGivenUp {
        /// How many copies of atoms they added.
        copies: u64,
        /// The first commit that is kept.
        first: u64,
    },
    /// A tape is to begin with a base of which commits were given up.
    TapeOfGivenUp {
        /// The first commit that is kept.
        first: u64,
    },
    /// Commits were not given up.
    Trim(Box<TrimError>),
    /// A checkpoint is not what was written, which was found out while it was used.
    Checkpoint {
        /// Its file.
        name: String,
        /// What is wrong with it.
        reason: String,
        /// Whether it was taken away.
        is_removed: bool,
    },
    /// No checkpoint can be written.
    NoCheckpoint(io::Error),
    /// It was opened for reading only.
    ReadOnly,
    /// It was opened for reading only, and a form of a program changes it.
    WouldChange {
        /// The source of the form.
        origin: String,
        /// The line of the form, from 1.
        line: u32,
        /// The column of the form, from 1.
        column: u32,
        /// What changes first.
        change: String,
    },
}

impl fmt::Display for KnowledgeBaseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse { path, process } => {
                let by = process.map_or_else(|| "another process".to_owned(), |number| format!("process {number}"));
                write!(formatter, "the knowledge base {} is being written by {by}", path.display())
            }
            Self::ForeignLock { error } => error.fmt(formatter),
            Self::NotABase { path } => {
                write!(formatter, "{} holds other things and is not a knowledge base", path.display())
            }
            Self::Missing { path } => write!(formatter, "there is no knowledge base in {}", path.display()),
            Self::NoManifest { path } => write!(
                formatter,
                "{} holds the journal of a knowledge base, and its MANIFEST is missing or damaged",
                path.display()
            ),
            Self::Unfinished { path, what } => write!(
                formatter,
                "{} is an unfinished {what}: the copying was cut off, or goes on, and how much is missing is not known",
                path.display()
            ),
            Self::NoJournal { path } => {
                write!(formatter, "{} is a knowledge base, and the journal with its commits is missing", path.display())
            }
            Self::Occupied { path } => write!(formatter, "{} is not empty", path.display()),
            Self::Semantics { found, known } => write!(
                formatter,
                "it was written with version {found} of the language's semantics, and this program has {known}"
            ),
            Self::Format { path, found } => {
                write!(formatter, "the manifest of {} says {found:?}, which this version does not know", path.display())
            }
            Self::Io { path, error } => write!(formatter, "cannot use {}: {error}", path.display()),
            Self::Open(error) => error.fmt(formatter),
            Self::Read(error) => error.fmt(formatter),
            Self::Append(error) => error.fmt(formatter),
            Self::Sync(error) => error.fmt(formatter),
            Self::Damaged { place, reason } => {
                write!(formatter, "{} cannot be used: {reason}", frame_text(*place))
            }
            Self::Differs { epoch, place, recorded, found } => write!(
                formatter,
                "commit {epoch}, {}, was recorded with the state hash {recorded:032x}, and the commits up to it give \
                 {found:032x}",
                frame_text(*place)
            ),
            Self::NoEpoch { .. } | Self::NoTimes | Self::BeforeTimes { .. } | Self::AfterTimes { .. } => {
                self.tell_no_commit(formatter)
            }
            Self::GivenUp { .. }
            | Self::NoBeginning { .. }
            | Self::NoStatements { .. }
            | Self::OriginGivenUp { .. }
            | Self::LogGivenUp { .. }
            | Self::TapeOfGivenUp { .. } => self.tell_given_up(formatter),
            Self::Trim(error) => error.fmt(formatter),
            Self::Checkpoint { name, reason, is_removed } => {
                let is_removed = if *is_removed { " and was taken away" } else { "" };
                write!(
                    formatter,
                    "the checkpoint {name} of the knowledge base is damaged{is_removed}: {reason}; every commit is kept"
                )
            }
            Self::NoCheckpoint(error) => write!(formatter, "no checkpoint was written: {error}; every commit is kept"),
            Self::ReadOnly => formatter.write_str("the knowledge base was opened for reading only"),
            Self::WouldChange { origin, line, column, change } => write!(
                formatter,
                "the form at {origin}:{line}:{column} changes the knowledge base, which is read-only: {change}"
            ),
        }
    }
}

impl std::error::Error for KnowledgeBaseError {}

impl KnowledgeBaseError {
    /// Says that there is no such commit.
    fn tell_no_commit(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEpoch { epoch, last: 0 } => {
                write!(formatter, "there is no commit {epoch}: nothing was committed yet, and 0 is the beginning")
            }
            Self::NoEpoch { epoch, last } => {
                write!(formatter, "there is no commit {epoch}: the last one is {last}, and 0 is the beginning")
            }
            Self::NoTimes => {
                formatter.write_str("no commit has a date: nothing was committed, or by runs that write none")
            }
            Self::BeforeTimes { asked, epoch, made } => write!(
                formatter,
                "no commit was made at {asked} or before: the first one that has a date is commit {epoch}, of {made}"
            ),
            Self::AfterTimes { asked, epoch, made } => write!(
                formatter,
                "no commit was made at {asked} or later: the last one that has a date is commit {epoch}, of {made}"
            ),
            _ => Ok(()),
        }
    }

    /// Says what is not known since commits were given up.
    fn tell_given_up(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GivenUp { epoch, first } => write!(
                formatter,
                "what there was after commit {epoch} is not known any more: the commits before {first} were given up, by `metroon kb compact \
                 --keep-commits`, or because a knowledge base in memory keeps so much of its history only"
            ),
            Self::NoBeginning { reason } => write!(
                formatter,
                "old commits were given up, and what the knowledge base held after them cannot be told: {reason}"
            ),
            Self::NoStatements { epoch } => write!(
                formatter,
                "what the files of the knowledge base state is not known: it was salvaged from what it held after commit {epoch}"
            ),
            Self::OriginGivenUp { copies, first } => {
                let what = match copies {
                    1 => "an atom that matches comes from is not known any more: it was".to_owned(),
                    copies => format!("{copies} atoms that match come from is not known any more: they were"),
                };
                write!(formatter, "where {what} added before commit {first}, the first one that is kept")
            }
            Self::LogGivenUp { copies, first } => {
                let what = match copies {
                    1 => "1 copy of an atom that matches is".to_owned(),
                    copies => format!("{copies} copies of atoms that match are"),
                };
                write!(formatter, "{what} older than commit {first}, the first that is kept")
            }
            Self::TapeOfGivenUp { first } => write!(
                formatter,
                "a tape begins with all commits of its knowledge base, and those before {first} were given up"
            ),
            _ => Ok(()),
        }
    }

    /// What to do next, where that is known.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::InUse { .. } => Some("wait for it to end; `metroon kb` reads a base that is being written"),
            Self::Missing { .. } => Some("check the path; `metroon run --kb DIR` makes a knowledge base"),
            Self::NotABase { .. } => Some("name a directory that does not exist yet, or an empty one"),
            Self::NoJournal { .. } => Some("restore its folder `journal` from a copy: a base is what its journal says"),
            Self::Unfinished { .. } => Some(
                "remove it, and make it again with `metroon kb backup`; only if what it was copied from is lost, remove the file UNFINISHED in it, and \
                 `metroon kb salvage` makes a knowledge base of what was copied",
            ),
            Self::Occupied { .. } => Some("name a directory that does not exist yet, or an empty one"),
            Self::Format { .. } | Self::Semantics { .. } => {
                Some("use the version of Metroon that wrote it, or a newer one")
            }
            Self::Io { .. } => Some("check the path, and that you may read and write there"),
            Self::Checkpoint { is_removed: true, .. } => {
                Some("run the program again: the knowledge base is read from its journal then")
            }
            Self::NoTimes => Some("name a commit by its number, which `metroon kb log DIR` shows"),
            Self::BeforeTimes { .. } => Some(
                "name a later date, or a commit by its number: `metroon kb log DIR` shows both, and 0 is the beginning",
            ),
            Self::AfterTimes { .. } => {
                Some("name an earlier date, or a commit by its number: `metroon kb log DIR` shows both")
            }
            Self::GivenUp { .. } | Self::OriginGivenUp { .. } => {
                Some("ask a backup that was made before they were given up, or ask for a later commit")
            }
            Self::NoBeginning { .. } => Some(
                "what the knowledge base holds now is in its newest checkpoint and the commits after that: `metroon kb salvage DIR --to NEW` \
                 makes a knowledge base of them; a backup has what came before",
            ),
            Self::NoStatements { .. } => Some(
                "a file that was edited can be run under another name, and adds all that it states; `metroon kb load` loads what `metroon kb \
                 dump DIR` prints into a new knowledge base",
            ),
            Self::TapeOfGivenUp { .. } => Some(
                "record in a new knowledge base, into which `metroon kb load` loads what `metroon kb dump DIR` prints",
            ),
            Self::Checkpoint { .. } => Some("`metroon kb compact DIR` writes another one, of what the journal says"),
            error if error.is_damage() => Some(
                "`metroon kb verify DIR` says up to which commit it is sound, and `metroon kb salvage DIR --to NEW` makes a \
                 knowledge base of the sound commits",
            ),
            Self::WouldChange { .. } => {
                Some("run the program without --read-only when no other process writes, or leave the form out")
            }
            Self::Append(_) | Self::Sync(_) | Self::Open(_) | Self::Read(_) | Self::Trim(_) => {
                self.failure().map(advice)
            }
            _ => None,
        }
    }

    /// What a disk refused, if that is what went wrong.
    fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Open(error) => match &**error {
                OpenError::Disk(failure) => Some(failure),
                _ => None,
            },
            Self::Read(error) => match &**error {
                ReadError::Disk(failure) => Some(failure),
                _ => None,
            },
            Self::Append(error) => match &**error {
                AppendError::Refused(failure) | AppendError::Unknown { failure, .. } => Some(failure),
                _ => None,
            },
            Self::Sync(error) => match &**error {
                SyncError::Failed(failure) => Some(failure),
                _ => None,
            },
            Self::Trim(error) => match &**error {
                TrimError::Disk(failure) | TrimError::Refused(failure) => Some(failure),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether what lies on the disk is damaged.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } | Self::Differs { .. } | Self::Format { .. } => true,
            Self::NoManifest { .. } | Self::NoJournal { .. } | Self::Semantics { .. } | Self::Checkpoint { .. } => true,
            Self::NoBeginning { .. } => true,
            Self::Trim(error) => matches!(**error, TrimError::Damaged(_)),
            Self::Open(error) => matches!(**error, OpenError::Damaged(_)),
            Self::Read(error) => matches!(**error, ReadError::Damaged(_)),
            _ => false,
        }
    }
}

impl From<ReadError> for KnowledgeBaseError {
    fn from(error: ReadError) -> Self {
        Self::Read(Box::new(error))
    }
}

impl From<LockError> for KnowledgeBaseError {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Io { path, error } => Self::Io { path, error },
            error => Self::ForeignLock { error },
        }
    }
}

/// What to do about a disk that refuses. What was committed before is kept in any case.
pub(crate) fn advice(failure: &Failure) -> &'static str {
    match failure.error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "what was committed before is kept; make room, and run the program again"
        }
        ErrorKind::FileTooLarge => {
            "what was committed before is kept; raise the limit of the size of files (`ulimit -f`), and run the program again"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "what was committed before is kept; get permission to write there, and run the program again"
        }
        _ => {
            "what was committed before is kept; the disk or its connection failed: look into the log of the system, copy the \
             directory to a disk that works, and see with `metroon kb verify DIR` what is there"
        }
    }
}

fn frame_text(place: Place) -> String {
    format!("frame {} of the journal (segment {}, offset {})", place.number, place.segment, place.offset)
}
