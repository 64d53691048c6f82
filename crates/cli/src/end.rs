//! How a command ends, as an exit code.

use std::process::ExitCode;

/// How a run ended, as an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Fine,
    Error,
    Usage,
    NotParsed,
    Damaged,
}

impl End {
    /// The exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Error => 1,
            Self::Usage => 2,
            Self::NotParsed => 3,
            Self::Damaged => 4,
        }
    }
}

impl From<End> for ExitCode {
    fn from(end: End) -> Self {
        end.code().into()
    }
}
