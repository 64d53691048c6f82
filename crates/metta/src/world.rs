//! The world outside an evaluation. All input and output of a program goes through it, so that another world can
//! record, replay or forbid it.

use std::fmt;

/// What a program can ask of the world.
pub trait World {
    /// Prints a line on the standard output.
    ///
    /// # Errors
    /// When the output is closed or broken; the run ends.
    fn print(&mut self, line: &str) -> Result<(), WorldError>;

    /// Prints a line for the person who watches (the standard error), which is no part of the output.
    fn trace(&mut self, line: &str);

    /// Reads a source file.
    ///
    /// # Errors
    /// When there is none of that name, or it cannot be read.
    fn read_source(&mut self, path: &str) -> Result<Vec<u8>, WorldError>;

    /// Whether there is a source file of that name.
    fn has_source(&mut self, path: &str) -> bool;
}

/// Why the world did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// The output takes no more, because its reader is gone.
    OutputClosed,
    /// The output failed.
    OutputFailed {
        /// What the system says.
        reason: String,
    },
}

impl fmt::Display for WorldError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { path } => write!(formatter, "there is no file {path}"),
            Self::Unreadable { path, reason } => write!(formatter, "cannot read {path}: {reason}"),
            Self::OutputClosed => formatter.write_str("the output was closed by its reader"),
            Self::OutputFailed { reason } => write!(formatter, "cannot write the output: {reason}"),
        }
    }
}

impl std::error::Error for WorldError {}
