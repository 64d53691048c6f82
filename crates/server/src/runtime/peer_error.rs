//! Why a message did not reach its end, and how long the other side may take.

use std::time::Duration;
use std::{fmt, io};
use tokio::time::timeout;

/// Why a message did not come, or did not go, to its end.
#[derive(Debug)]
pub(crate) enum PeerError {
    /// The connection ended, or the system failed.
    Io(io::Error),
    /// The other side ended the stream, or the connection with all its streams.
    Stream(h2::Error),
    /// It is not HTTP.
    Malformed(&'static str),
    /// The other side did nothing for so long.
    Stalled(Duration),
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Stream(error) => error.fmt(f),
            Self::Malformed(what) => f.write_str(what),
            Self::Stalled(time) => write!(f, "nothing happened for {} ms", time.as_millis()),
        }
    }
}

impl From<io::Error> for PeerError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<h2::Error> for PeerError {
    fn from(error: h2::Error) -> Self {
        Self::Stream(error)
    }
}

/// Gives up waiting for the other side.
pub(crate) async fn within<T>(
    time: Duration,
    what: impl Future<Output = Result<T, PeerError>>,
) -> Result<T, PeerError> {
    timeout(time, what).await.unwrap_or(Err(PeerError::Stalled(time)))
}
