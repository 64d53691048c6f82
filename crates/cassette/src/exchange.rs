//! An exchange: what was asked, what came back, and when.

use crate::bytes::Bytes;
use crate::message::{Informational, Request, Response};
use crate::websocket::WsFrame;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A request and everything that came of it.
///
/// A WebSocket conversation is an exchange as well: the request and the response are its handshake, and it has frames.
/// Everything that borrows from a cassette does so for `'a`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
pub struct Exchange<'a> {
    /// Its place in the order in which requests began, counted from 0 on each cassette. Numbers may be missing.
    pub number: u64,
    /// When the request began, in nanoseconds since 1970 in UTC. Other times of an exchange count from here.
    pub started_ns: i64,
    /// When everything was over, in microseconds after the beginning; `None` if that is not known.
    #[serde(default)]
    pub ended_us: Option<u64>,
    /// What was asked.
    pub request: Request<'a>,
    /// Responses of status 100 to 199 that came before the response, in order.
    #[serde(default)]
    pub informational: Vec<Informational<'a>>,
    /// What came back; `None` if nothing did.
    #[serde(default)]
    pub response: Option<Response<'a>>,
    /// The frames of a WebSocket, both ways, in the order they were seen, close frames as well; `None` if this is none.
    #[serde(default)]
    pub frames: Option<Vec<WsFrame<'a>>>,
    /// How it ended.
    #[serde(default)]
    pub outcome: Outcome<'a>,
    /// What is known beside, such as what another format has and HTTP has not.
    #[serde(default)]
    pub notes: Vec<Note<'a>>,
}

/// How an exchange ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome<'a> {
    /// Orderly.
    #[default]
    Complete,
    /// By an error of the network: before a response, or in the middle of one.
    Aborted(NetworkError<'a>),
    /// It went on, but a limit kept the rest from the cassette.
    Truncated,
    /// The recording ended first. Only a cassette that was not stopped in order has such exchanges.
    Partial,
}

/// Something that the network did instead of answering.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NetworkError<'a> {
    /// What happened.
    pub kind: NetworkErrorKind,
    /// In words, as the system or the library said it.
    pub message: Bytes<'a>,
}

/// What a network can do instead of answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NetworkErrorKind {
    /// The name has no address.
    Dns,
    /// Nobody listens there.
    Refused,
    /// The secure connection was not made.
    Tls,
    /// The connection was ended by the other side.
    Reset,
    /// Nothing came for too long.
    Timeout {
        /// For how long, in milliseconds.
        after_ms: u64,
    },
    /// One redirection led to the next too often.
    TooManyRedirects {
        /// How often.
        count: u64,
    },
    /// What was said is not HTTP.
    Protocol,
    /// Anything else.
    Other,
}

/// A name and a value that belong to no message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Note<'a> {
    /// What it is about, such as `har.serverIPAddress`.
    pub name: Bytes<'a>,
    /// What is to be known.
    pub value: Bytes<'a>,
}

impl<'a> Note<'a> {
    /// A note.
    pub fn new(name: impl Into<Bytes<'a>>, value: impl Into<Bytes<'a>>) -> Self {
        Self { name: name.into(), value: value.into() }
    }

    /// This note, borrowed from here.
    pub fn borrowed(&self) -> Note<'_> {
        Note { name: self.name.borrowed(), value: self.value.borrowed() }
    }

    /// A note that borrows from nothing.
    pub fn into_owned(self) -> Note<'static> {
        Note { name: self.name.into_owned(), value: self.value.into_owned() }
    }
}

impl Exchange<'_> {
    /// Whether it is a WebSocket conversation.
    pub fn is_websocket(&self) -> bool {
        self.frames.is_some()
    }

    /// This exchange, borrowed from here.
    pub fn borrowed(&self) -> Exchange<'_> {
        Exchange {
            number: self.number,
            started_ns: self.started_ns,
            ended_us: self.ended_us,
            request: self.request.borrowed(),
            informational: self.informational.iter().map(Informational::borrowed).collect(),
            response: self.response.as_ref().map(Response::borrowed),
            frames: self.frames.as_ref().map(|frames| frames.iter().map(WsFrame::borrowed).collect()),
            outcome: self.outcome.borrowed(),
            notes: self.notes.iter().map(Note::borrowed).collect(),
        }
    }

    /// An exchange that borrows from nothing.
    pub fn into_owned(self) -> Exchange<'static> {
        Exchange {
            number: self.number,
            started_ns: self.started_ns,
            ended_us: self.ended_us,
            request: self.request.into_owned(),
            informational: self.informational.into_iter().map(Informational::into_owned).collect(),
            response: self.response.map(Response::into_owned),
            frames: self.frames.map(|frames| frames.into_iter().map(WsFrame::into_owned).collect()),
            outcome: self.outcome.into_owned(),
            notes: self.notes.into_iter().map(Note::into_owned).collect(),
        }
    }
}

impl Outcome<'_> {
    /// This outcome, borrowed from here.
    pub fn borrowed(&self) -> Outcome<'_> {
        match self {
            Self::Complete => Outcome::Complete,
            Self::Aborted(error) => {
                Outcome::Aborted(NetworkError { kind: error.kind, message: error.message.borrowed() })
            }
            Self::Truncated => Outcome::Truncated,
            Self::Partial => Outcome::Partial,
        }
    }

    /// An outcome that borrows from nothing.
    pub fn into_owned(self) -> Outcome<'static> {
        match self {
            Self::Complete => Outcome::Complete,
            Self::Aborted(error) => Outcome::Aborted(error.into_owned()),
            Self::Truncated => Outcome::Truncated,
            Self::Partial => Outcome::Partial,
        }
    }
}

impl NetworkError<'_> {
    /// An error that borrows from nothing.
    pub fn into_owned(self) -> NetworkError<'static> {
        NetworkError { kind: self.kind, message: self.message.into_owned() }
    }
}

impl fmt::Display for NetworkErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns => f.write_str("the name was not found"),
            Self::Refused => f.write_str("the connection was refused"),
            Self::Tls => f.write_str("no secure connection was made"),
            Self::Reset => f.write_str("the connection was reset"),
            Self::Timeout { after_ms } => write!(f, "nothing came for {after_ms} ms"),
            Self::TooManyRedirects { count } => write!(f, "{count} redirections were too many"),
            Self::Protocol => f.write_str("what came was no HTTP"),
            Self::Other => f.write_str("the network failed"),
        }
    }
}

impl fmt::Display for NetworkError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message.to_text_lossy())
    }
}
