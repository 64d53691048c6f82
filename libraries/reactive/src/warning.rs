//! What opening a state mended or did without.

use journal::Warning;
use std::fmt;

/// Something that opening a state mended, or did without, and that its owner should know.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StateWarning {
    /// The journal was mended.
    Journal(Warning),
    /// A checkpoint could not be used. Nothing is lost: the log says the same, and takes longer.
    Checkpoint {
        /// The name of its file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl fmt::Display for StateWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Journal(warning) => warning.fmt(f),
            Self::Checkpoint { file, reason } => {
                write!(
                    f,
                    "the checkpoint {file} is not used: {reason}; the log is read instead, and the file can be deleted"
                )
            }
        }
    }
}
