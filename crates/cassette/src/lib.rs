//! What the world answered: HTTP exchanges and WebSocket conversations on a cassette.
//!
//! An [`Exchange`] is a request, what came back, and when. Bytes are kept as they were on the wire: headers in their order
//! and as often as they came, bodies with the boundaries and times of their chunks. Whatever is text most of the time but
//! need not be is [`Bytes`].
//!
//! The crate opens no socket and reads no clock: times come in as arguments.
#![forbid(unsafe_code)]

mod bytes;
mod cassette;
pub mod compare;
mod compress;
mod content;
mod counts;
mod dialect;
mod error;
mod exchange;
mod file;
mod filter;
mod finding;
mod forms;
mod gzip;
mod key;
mod limits;
pub mod matching;
mod merge;
mod message;
mod modes;
mod outline;
mod record;
mod recorder;
mod recording;
pub mod redact;
mod scan;
mod seal;
mod selection;
mod url;
mod version;
mod websocket;
mod wire;

/// The page on cassettes, whose program is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/cassettes.md")]
mod page {}

pub use bytes::Bytes;
pub use cassette::{Cassette, Summary, write_cassette, write_cassette_on};
pub use content::Content;
pub use counts::ExchangeCounts;
pub use error::{Damage, ExposedSecret, FileError, Flaw, Malformed, ReadError, RecordError, SealError};
pub use exchange::{Exchange, NetworkError, NetworkErrorKind, Note, Outcome};
pub use file::is_gzip;
pub use filter::{Filter, LeaveOutRule, Verdict};
pub use forms::{
    DocumentProgress, Encoded, Form, FormError, Loss, SealedDocument, UnknownForm, VcrStyle, WrittenContent,
    seal_document,
};
pub use key::{KEY_BODY_BYTES_MAX, KeyScheme};
pub use limits::{LimitExceeded, ReadOptions};
pub use merge::{Merged, merge};
pub use message::{Body, Chunk, Header, HttpVersion, Informational, Request, Response};
pub use modes::{Action, Expired, Expiry, Lookup, Mode, UnknownMode};
pub use outline::{BodyFragment, BodyReader, Outline};
pub use recorder::{ExchangeEnd, OpenExchange, QUEUE_BYTES_DEFAULT, Recorder, RecorderOptions, TryRecordError};
pub use seal::options::SealOptions;
pub use selection::Selection;
pub use websocket::{Close, Direction, Opcode, WsFrame};
