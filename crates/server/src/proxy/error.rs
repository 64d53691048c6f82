//! Why a proxy does not start, or has not done all that it was to.

use cassette::{ReadError, RecordError};
use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::{fmt, io};

/// Why a proxy does not start, or has not done all that it was to.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProxyError {
    /// It cannot listen there.
    Listen {
        /// Where it was to listen.
        address: SocketAddr,
        /// What the system said.
        error: io::Error,
    },
    /// There is no cassette to be replayed.
    NoCassette(PathBuf),
    /// The cassette cannot be read.
    Unreadable(ReadError),
    /// The cassette cannot be recorded, or what was recorded was not all sealed.
    Record(RecordError),
    /// There is no certificate authority.
    Authority(AuthorityError),
    /// A file that was named cannot be used.
    File {
        /// What was to be done with it: a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it was not done.
        error: io::Error,
    },
    /// The system gives no threads.
    Threads(io::Error),
    /// The proxy stopped by itself: this is a defect of Metroon.
    Died,
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen { address, error } => {
                write!(f, "cannot listen on {address}: {error}; name another address, or port 0 for any that is free")
            }
            Self::NoCassette(path) => {
                write!(f, "there is no cassette at {}: name another, or record it first", path.display())
            }
            Self::Unreadable(error) => error.fmt(f),
            Self::Record(error) => error.fmt(f),
            Self::Authority(error) => error.fmt(f),
            Self::File { action, path, error } => write!(f, "cannot {action} {}: {error}", path.display()),
            Self::Threads(error) => write!(f, "cannot start the threads of the proxy: {error}; end other programs"),
            Self::Died => f.write_str("the proxy ended by itself; what it had recorded is beside the cassette"),
        }
    }
}

impl Error for ProxyError {}

impl From<ReadError> for ProxyError {
    fn from(error: ReadError) -> Self {
        Self::Unreadable(error)
    }
}

impl From<RecordError> for ProxyError {
    fn from(error: RecordError) -> Self {
        Self::Record(error)
    }
}

impl From<AuthorityError> for ProxyError {
    fn from(error: AuthorityError) -> Self {
        Self::Authority(error)
    }
}

/// Why there is no certificate authority.
#[derive(Debug)]
#[non_exhaustive]
pub enum AuthorityError {
    /// Nothing says where the user's data lie.
    NoFolder,
    /// The system refused.
    File {
        /// What was to be done with it: a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// What lies there is no authority of Metroon.
    Damaged(PathBuf),
    /// Others may read the key, or change it.
    KeyOfOthers {
        /// The file of the key.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Others may exchange what lies in the folder.
    FolderOfOthers {
        /// The folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A certificate could not be made.
    Certificate(String),
}

impl fmt::Display for AuthorityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFolder => f.write_str(
                "nothing says where the key of the certificate authority is to lie: set HOME, XDG_DATA_HOME or METROON_DATA_DIR",
            ),
            Self::File { action, path, error } => write!(
                f,
                "cannot {action} {}: {error}; set METROON_DATA_DIR to a folder that may be written to, for the certificates of the proxy",
                path.display()
            ),
            Self::Damaged(path) => write!(
                f,
                "{} is not a certificate authority of Metroon: remove it, and the next start makes another one, which programs must trust anew",
                path.display()
            ),
            Self::KeyOfOthers { path, mode } => write!(
                f,
                "others may read the key {path} (mode {mode:o}), and with it pretend to be any host: remove it, and another is \
                 made, or `chmod 600 {path}` if nobody else uses this computer",
                path = path.display()
            ),
            Self::FolderOfOthers { path, mode } => write!(
                f,
                "others may write to {path} (mode {mode:o}), where the key of the certificate authority lies: `chmod go-w {path}`, \
                 or set METROON_DATA_DIR to a folder of your own",
                path = path.display()
            ),
            Self::Certificate(what) => write!(f, "cannot make a certificate: {what}"),
        }
    }
}

impl Error for AuthorityError {}

/// A file of edits that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditsError {
    path: PathBuf,
    what: String,
}

impl EditsError {
    pub(crate) fn new(path: &std::path::Path, what: String) -> Self {
        Self { path: path.to_owned(), what }
    }
}

impl fmt::Display for EditsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot use the edits in {}: {}", self.path.display(), self.what)
    }
}

impl Error for EditsError {}
