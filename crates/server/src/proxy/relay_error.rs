//! Why an exchange that goes to the network did not reach its end.

use super::upstream::NetworkFailure;
use crate::runtime::peer_error::PeerError;
use cassette::RecordError;

/// Why an exchange did not come to its end.
pub(crate) enum RelayError {
    /// The client is gone, or does nothing.
    Client(String),
    /// The server, or the way to it, failed. Whether the request was under way by then.
    Server { failure: NetworkFailure, was_sent: bool },
    /// Nothing can be recorded.
    Recorder(RecordError),
    /// A limit of the user's.
    TooLarge(&'static str),
}

impl RelayError {
    pub(crate) fn client(broken: &PeerError) -> Self {
        Self::Client(broken.to_string())
    }

    pub(crate) fn server(broken: &PeerError) -> Self {
        Self::Server { failure: NetworkFailure::of_broken(broken), was_sent: true }
    }
}

impl From<RecordError> for RelayError {
    fn from(error: RecordError) -> Self {
        Self::Recorder(error)
    }
}
