//! The world outside an evaluation. All input and output of a program goes through it, so that another world can
//! record, replay or forbid it.
//!
//! What a program asks and what it is answered is plain data: paths, bytes, numbers, [`OpenMode`], [`FileId`],
//! [`WorldError`]. A world that records writes them down; one that replays reads them back.

use crate::host_call::{HostCall, RecordedAnswer};
use crate::service_requests::{ServiceAnswer, ServiceRequest};
use crate::services::{ANSWER_BYTES_MAX, ANSWER_PART_BYTES, SERVICES_OPEN_MAX, ServiceId, ServiceKind};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The most bytes one [`World::read_file`] may ask for.
pub const READ_BYTES_MAX: u64 = 1 << 20;

/// What a program can ask of the world.
pub trait World {
    /// Prints a line on the standard output.
    ///
    /// # Errors
    /// When the output is closed or broken; the run ends.
    fn print(&mut self, line: &str) -> Result<(), WorldError>;

    /// Prints a line for the person who watches (the standard error), which is no part of the output.
    fn trace(&mut self, line: &str);

    /// Reads a source file. Its bytes are shared: a world that records writes them while they are read.
    ///
    /// # Errors
    /// When there is none of that name, or it cannot be read.
    fn read_source(&mut self, path: &str) -> Result<Arc<Vec<u8>>, WorldError>;

    /// Whether there is a source file of that name.
    ///
    /// # Errors
    /// When the program may not know.
    fn has_source(&mut self, path: &str) -> Result<bool, WorldError>;

    /// Reads the standard input to its end.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read_standard_input(&mut self) -> Result<Vec<u8>, WorldError>;

    /// The path from the root on, without `.` and `..`; links are not followed.
    ///
    /// # Errors
    /// When the path is relative and the working directory is gone or has no name in UTF-8.
    fn absolute_path(&mut self, path: &str) -> Result<String, WorldError>;

    /// The time, in nanoseconds since the beginning of 1970 in UTC.
    ///
    /// # Errors
    /// When the clock cannot be read, or shows a year before 1678 or after 2262.
    fn now(&mut self) -> Result<i64, WorldError>;

    /// The time that a knowledge base keeps with a commit, in nanoseconds since the beginning of 1970 in UTC. A world has one always or
    /// never; if never, equal runs make equal bytes.
    ///
    /// # Errors
    /// When it cannot be recorded, or is not what was recorded.
    fn commit_time(&mut self) -> Result<Option<i64>, WorldError> {
        Ok(None)
    }

    /// 64 random bits that nobody has seen before.
    ///
    /// # Errors
    /// When the system has none.
    fn random(&mut self) -> Result<u64, WorldError>;

    /// The value of an environment variable; `None` when it is not set.
    ///
    /// # Errors
    /// When the value is not UTF-8.
    fn environment(&mut self, name: &str) -> Result<Option<String>, WorldError>;

    /// Opens a file. Ids are given in the order of opening, from 1 on, and never twice.
    ///
    /// # Errors
    /// When the mode makes no sense, there is no such file, it is a directory, or the system refuses.
    fn open_file(&mut self, path: &str, mode: OpenMode) -> Result<FileId, WorldError>;

    /// Reads at most this many bytes from where the file stands; none at its end.
    ///
    /// # Errors
    /// When the file is not open or not for reading, or `bytes_max` is above [`READ_BYTES_MAX`].
    fn read_file(&mut self, file: FileId, bytes_max: u64) -> Result<Vec<u8>, WorldError>;

    /// Writes all these bytes where the file stands, or at its end if it was opened to append.
    ///
    /// # Errors
    /// When the file is not open or not for writing, or the disk is full.
    fn write_file(&mut self, file: FileId, bytes: &[u8]) -> Result<(), WorldError>;

    /// Goes to a position, counted in bytes from the beginning. It may lie beyond the end: nothing is read there, and
    /// what is written there leaves zeros before it.
    ///
    /// # Errors
    /// When the file is not open or has no positions.
    fn seek_file(&mut self, file: FileId, position: u64) -> Result<(), WorldError>;

    /// How many bytes a file holds.
    ///
    /// # Errors
    /// When the file is not open.
    fn file_size(&mut self, file: FileId) -> Result<u64, WorldError>;

    /// Hears of a function of the host that a program may call by name from now on, by its identity: see
    /// [`HostSignature::identity`](crate::HostSignature::identity).
    ///
    /// # Errors
    /// When it cannot be recorded, or is not what was recorded.
    fn note_function(&mut self, _identity: &str) -> Result<(), WorldError> {
        Ok(())
    }

    /// What a call of a function of the host came to, if that is on record: then the call is not carried out.
    ///
    /// # Errors
    /// When the recording has something else.
    fn recorded_answer(&mut self, _call: &HostCall<'_>) -> Result<Option<RecordedAnswer>, WorldError> {
        Ok(None)
    }

    /// Whether what calls of functions of the host come to is recorded.
    fn records_answers(&self) -> bool {
        false
    }

    /// Records what a call of a function of the host came to.
    ///
    /// # Errors
    /// When it cannot be recorded.
    fn note_answer(&mut self, _call: &HostCall<'_>, _answer: &RecordedAnswer) -> Result<(), WorldError> {
        Ok(())
    }

    /// Asks a service something, or to change: a store of keys and values, or a state of pages.
    ///
    /// # Errors
    /// What is asked is not open or cannot do it, or this world has no services.
    fn ask_service(&mut self, request: &ServiceRequest) -> Result<ServiceAnswer, WorldError> {
        let name = request.folder().map_or(request.kind().noun(), |(path, _)| path);
        Err(WorldError::service_failed(name, "nothing is to be had here outside the program"))
    }

    /// Closes a file; its id means nothing from then on.
    ///
    /// # Errors
    /// When the file is not open.
    fn close_file(&mut self, file: FileId) -> Result<(), WorldError>;
}

/// A file that a program has opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileId(pub u64);

/// What a file is opened for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OpenMode {
    /// To be read.
    pub read: bool,
    /// To be written.
    pub write: bool,
    /// It is made if there is none.
    pub create: bool,
    /// All that is written goes to its end.
    pub append: bool,
    /// What it held is dropped.
    pub truncate: bool,
}

impl OpenMode {
    /// Whether opening or using a file so may change what lies outside.
    pub fn is_outward(self) -> bool {
        self.write || self.create || self.append || self.truncate
    }

    /// Why no file can be opened so, if none can.
    pub fn problem(self) -> Option<&'static str> {
        let writes = self.write || self.append;
        if !self.read && !writes {
            Some("the mode neither reads, writes nor appends")
        } else if self.create && !writes {
            Some("the mode creates a file that it does not write")
        } else if self.truncate && !self.write {
            Some("the mode truncates a file that it does not write")
        } else if self.truncate && self.append {
            Some("the mode both truncates and appends")
        } else {
            None
        }
    }
}

/// Why the world did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum WorldError {
    /// There is no such file.
    NotFound {
        /// Its path.
        path: String,
    },
    /// The file exists and cannot be read.
    Unreadable {
        /// Its path.
        path: String,
        /// What the system says.
        reason: String,
    },
    /// What happened could not be written to the tape.
    RecordingFailed {
        /// Why.
        reason: String,
    },
    /// The tape that is replayed has no answer: the replay differs from it, or it has ended.
    ReplayEnded {
        /// Which of these, and where.
        reason: String,
    },
    /// The output takes no more, because its reader is gone.
    OutputClosed,
    /// The output failed.
    OutputFailed {
        /// What the system says.
        reason: String,
    },
    /// The standard input failed.
    InputFailed {
        /// What the system says.
        reason: String,
    },
    /// A relative path means nothing, because the working directory is unknown.
    NoWorkingDirectory {
        /// The path.
        path: String,
        /// What the system says.
        reason: String,
    },
    /// The clock failed.
    ClockFailed {
        /// What the system says.
        reason: String,
    },
    /// There are no random numbers.
    RandomFailed {
        /// What the system says.
        reason: String,
    },
    /// An environment variable whose value is not UTF-8.
    VariableNotText {
        /// Its name.
        name: String,
    },
    /// The file exists, or could be made, and cannot be opened.
    NotOpened {
        /// Its path.
        path: String,
        /// What the system says, or what is wrong with the mode.
        reason: String,
    },
    /// The file was closed, or never opened.
    FileNotOpen {
        /// The id asked for.
        file: FileId,
    },
    /// The file cannot be written.
    Unwritable {
        /// Its path.
        path: String,
        /// What the system says.
        reason: String,
    },
    /// No position can be chosen in the file.
    Unseekable {
        /// Its path.
        path: String,
        /// What the system says.
        reason: String,
    },
    /// A read asks for more than [`READ_BYTES_MAX`].
    ReadTooLarge {
        /// The bytes asked for.
        bytes: u64,
    },
    /// The program may not do that.
    NotPermitted {
        /// What: `reading /etc/passwd`.
        asked: String,
        /// What would permit it, as `--allow` takes it.
        permission: String,
    },
    /// A service, such as a store of keys and values, cannot do what it is asked.
    ServiceFailed {
        /// The path or the number of what is asked.
        name: String,
        /// Why not.
        reason: String,
    },
}

impl WorldError {
    /// Of a service that cannot do what it is asked: its path or its number, and why.
    pub fn service_failed(name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::ServiceFailed { name: name.into(), reason: reason.into() }
    }

    /// Of what has this number in a service.
    pub fn of_service(kind: ServiceKind, id: ServiceId, reason: impl Into<String>) -> Self {
        Self::service_failed(format!("{} {}", kind.noun(), id.0), reason)
    }

    /// Of what is not open.
    pub fn service_not_open(kind: ServiceKind, id: ServiceId) -> Self {
        Self::of_service(kind, id, "it is not open")
    }

    /// Of one more than may be open.
    pub fn too_many_open(kind: ServiceKind, name: &str) -> Self {
        let (plural, close) = (kind.plural(), kind.closed_by());
        Self::service_failed(name, format!("{SERVICES_OPEN_MAX} {plural} are open; close one with {close}"))
    }

    /// Of an answer that would be too long, and which options read a part of it.
    pub fn answer_too_long(kind: ServiceKind, id: ServiceId, options: &str) -> Self {
        let reason = format!(
            "the answer has more than {ANSWER_BYTES_MAX} bytes, of which each part of it takes {ANSWER_PART_BYTES} besides its own; read it in \
             parts, with {options}"
        );
        Self::of_service(kind, id, reason)
    }

    /// Of a change of what never changes.
    pub fn service_is_fixed(kind: ServiceKind, id: ServiceId) -> Self {
        let (noun, open) = (kind.noun(), kind.opened_by());
        let reason =
            format!("it is a snapshot, or was opened to be read only; open the {noun} with {open} to write to it");
        Self::of_service(kind, id, reason)
    }

    /// Whether no run can go on after it, so that it is no answer for a program to look at.
    pub fn ends_run(&self) -> bool {
        matches!(
            self,
            Self::OutputClosed | Self::OutputFailed { .. } | Self::RecordingFailed { .. } | Self::ReplayEnded { .. }
        )
    }
}

impl fmt::Display for WorldError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { path } => write!(formatter, "there is no file {path}"),
            Self::Unreadable { path, reason } => write!(formatter, "cannot read {path}: {reason}"),
            Self::RecordingFailed { reason } | Self::ReplayEnded { reason } => formatter.write_str(reason),
            Self::OutputClosed => formatter.write_str("the output was closed by its reader"),
            Self::OutputFailed { reason } => write!(formatter, "cannot write the output: {reason}"),
            Self::InputFailed { reason } => write!(formatter, "cannot read the standard input: {reason}"),
            Self::NoWorkingDirectory { path, reason } => {
                write!(formatter, "cannot tell where {path} lies, because the working directory is unknown: {reason}")
            }
            Self::ClockFailed { reason } => write!(formatter, "cannot read the clock: {reason}"),
            Self::RandomFailed { reason } => write!(formatter, "cannot draw a random number: {reason}"),
            Self::VariableNotText { name } => write!(formatter, "the environment variable {name} is not UTF-8"),
            Self::NotOpened { path, reason } => write!(formatter, "cannot open {path}: {reason}"),
            Self::FileNotOpen { file } => write!(formatter, "file {} is not open", file.0),
            Self::Unwritable { path, reason } => write!(formatter, "cannot write {path}: {reason}"),
            Self::Unseekable { path, reason } => write!(formatter, "cannot go to a position in {path}: {reason}"),
            Self::ReadTooLarge { bytes } => {
                write!(formatter, "one read of {bytes} bytes, more than {READ_BYTES_MAX}; read in parts")
            }
            Self::ServiceFailed { name, reason } => write!(formatter, "{name}: {reason}"),
            Self::NotPermitted { asked, permission } => {
                write!(formatter, "{asked} is not permitted to this program; --allow {permission} permits it")
            }
        }
    }
}

impl std::error::Error for WorldError {}

/// A path from the root on, without `.` and `..`: a relative one lies in the directory.
pub fn clean_path(directory: &str, path: &str) -> String {
    let from = if path.starts_with('/') { "" } else { directory };
    let mut parts: Vec<&str> = Vec::new();
    for part in from.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            // Above the root is the root.
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    format!("/{}", parts.join("/"))
}
