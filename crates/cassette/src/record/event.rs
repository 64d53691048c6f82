//! What happens to an exchange, one thing a frame.
//!
//! A frame is its kind, the version of that kind, and its fields. Each kind has a version of its own, so that one can change
//! without the others. Every field is always there; what may be missing says whether it is.

use super::fields;
use super::whole::{self, ExchangeStart, InlineOnly};
use crate::bytes::Bytes;
use crate::error::Malformed;
use crate::exchange::{Exchange, Note, Outcome};
use crate::message::{Header, Informational, Request, Response};
use crate::websocket::WsFrame;
use crate::wire::{Cursor, put_i64, put_u64};

/// One thing that happened. All but [`Event::Meta`] and [`Event::Whole`] belong to the exchange of a number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event<'a> {
    /// What is known of the cassette.
    Meta(Note<'a>),
    /// All of an exchange at once.
    Whole(Box<Exchange<'a>>),
    /// A request began.
    Begin {
        started_ns: i64,
        has_body: bool,
        request: Request<'a>,
    },
    RequestChunk(BodyPiece<'a>),
    Informational(Informational<'a>),
    ResponseHead {
        has_body: bool,
        response: Response<'a>,
    },
    ResponseChunk(BodyPiece<'a>),
    /// It becomes a WebSocket.
    WsOpen,
    WsFrame(WsFrame<'a>),
    /// What is to be known of the exchange beside.
    Note(Note<'a>),
    /// It is over.
    End {
        ended_us: Option<u64>,
        request: Vec<Header<'a>>,
        response: Vec<Header<'a>>,
        outcome: Outcome<'a>,
    },
}

/// A chunk of a body, or what follows of one that is too long for a frame.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BodyPiece<'a> {
    pub(crate) at_us: u64,
    pub(crate) goes_on: bool,
    pub(crate) bytes: Bytes<'a>,
}

mod kind {
    pub(super) const META: u8 = 1;
    pub(super) const WHOLE: u8 = 2;
    pub(super) const BEGIN: u8 = 3;
    pub(super) const REQUEST_CHUNK: u8 = 4;
    pub(super) const INFORMATIONAL: u8 = 5;
    pub(super) const RESPONSE_HEAD: u8 = 6;
    pub(super) const RESPONSE_CHUNK: u8 = 7;
    pub(super) const WS_OPEN: u8 = 8;
    pub(super) const WS_FRAME: u8 = 9;
    pub(super) const NOTE: u8 = 10;
    pub(super) const END: u8 = 11;
}

/// All kinds are at their first version.
const VERSION: u8 = 1;

/// Appends the frame of a whole exchange.
pub(crate) fn encode_whole(out: &mut Vec<u8>, exchange: &Exchange<'_>) {
    out.extend_from_slice(&[kind::WHOLE, VERSION]);
    put_u64(out, exchange.number);
    put_i64(out, exchange.started_ns);
    whole::encode(out, exchange);
}

impl<'a> Event<'a> {
    fn kind(&self) -> u8 {
        match self {
            Self::Meta(_) => kind::META,
            Self::Whole(_) => kind::WHOLE,
            Self::Begin { .. } => kind::BEGIN,
            Self::RequestChunk(_) => kind::REQUEST_CHUNK,
            Self::Informational(_) => kind::INFORMATIONAL,
            Self::ResponseHead { .. } => kind::RESPONSE_HEAD,
            Self::ResponseChunk(_) => kind::RESPONSE_CHUNK,
            Self::WsOpen => kind::WS_OPEN,
            Self::WsFrame(_) => kind::WS_FRAME,
            Self::Note(_) => kind::NOTE,
            Self::End { .. } => kind::END,
        }
    }

    /// Appends the frame of what happened to the exchange of this number.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, number: u64) {
        if let Self::Whole(exchange) = self {
            return encode_whole(out, exchange);
        }
        out.extend_from_slice(&[self.kind(), VERSION]);
        if !matches!(self, Self::Meta(_)) {
            put_u64(out, number);
        }
        match self {
            Self::Meta(note) | Self::Note(note) => fields::put_note(out, note),
            Self::Whole(_) | Self::WsOpen => {}
            Self::Begin { started_ns, has_body, request } => {
                put_i64(out, *started_ns);
                out.push(u8::from(*has_body));
                fields::put_request_head(out, request);
            }
            Self::RequestChunk(piece) | Self::ResponseChunk(piece) => piece.put(out),
            Self::Informational(informational) => fields::put_informational(out, informational),
            Self::ResponseHead { has_body, response } => {
                out.push(u8::from(*has_body));
                fields::put_response_head(out, response);
            }
            Self::WsFrame(frame) => fields::put_frame(out, frame),
            Self::End { ended_us, request, response, outcome } => {
                fields::put_option_u64(out, *ended_us);
                fields::put_headers(out, request);
                fields::put_headers(out, response);
                fields::put_outcome(out, outcome);
            }
        }
    }

    /// The number of the exchange, and what happened to it.
    pub(crate) fn decode(frame: &'a [u8]) -> Result<(u64, Self), Malformed> {
        let mut cursor = Cursor::new(frame);
        let (kind, version) = (cursor.u8()?, cursor.u8()?);
        if version != VERSION {
            return Err(cursor.malformed("a frame of a later version"));
        }
        if kind == kind::WHOLE {
            let beginning = ExchangeStart { number: cursor.u64()?, started_ns: cursor.i64()? };
            let exchange = whole::decode(beginning, Cursor::new(cursor.rest()))?.joined(&InlineOnly)?;
            return Ok((exchange.number, Self::Whole(Box::new(exchange))));
        }
        let number = if kind == kind::META { 0 } else { cursor.u64()? };
        let event = Self::fields(kind, &mut cursor)?;
        cursor.end()?;
        Ok((number, event))
    }

    fn fields(kind: u8, cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        Ok(match kind {
            kind::META => Self::Meta(fields::note(cursor)?),
            kind::NOTE => Self::Note(fields::note(cursor)?),
            kind::BEGIN => Self::Begin {
                started_ns: cursor.i64()?,
                has_body: cursor.bool()?,
                request: fields::request_head(cursor)?,
            },
            kind::REQUEST_CHUNK => Self::RequestChunk(BodyPiece::get(cursor)?),
            kind::RESPONSE_CHUNK => Self::ResponseChunk(BodyPiece::get(cursor)?),
            kind::INFORMATIONAL => Self::Informational(fields::informational(cursor)?),
            kind::RESPONSE_HEAD => {
                Self::ResponseHead { has_body: cursor.bool()?, response: fields::response_head(cursor)? }
            }
            kind::WS_OPEN => Self::WsOpen,
            kind::WS_FRAME => Self::WsFrame(fields::frame(cursor)?),
            kind::END => Self::End {
                ended_us: fields::option_u64(cursor)?,
                request: fields::headers(cursor)?,
                response: fields::headers(cursor)?,
                outcome: fields::outcome(cursor)?,
            },
            _ => return Err(cursor.malformed("a frame of an unknown kind")),
        })
    }
}

impl<'a> BodyPiece<'a> {
    fn put(&self, out: &mut Vec<u8>) {
        put_u64(out, self.at_us);
        out.push(u8::from(self.goes_on));
        out.extend_from_slice(&self.bytes);
    }

    fn get(cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        Ok(Self { at_us: cursor.u64()?, goes_on: cursor.bool()?, bytes: cursor.rest().into() })
    }
}
