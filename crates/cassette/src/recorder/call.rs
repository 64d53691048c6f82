//! An exchange that is recorded as it happens.

use super::queue::{Queue, frame_of};
use super::redacting::{Give, Redactor};
use crate::bytes::Bytes;
use crate::error::RecordError;
use crate::exchange::{Exchange, Note, Outcome};
use crate::message::{Body, Header, Informational, Request, Response};
use crate::record::event::{Event, Piece};
use crate::redact::Redaction;
use crate::websocket::WsFrame;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A chunk of more bytes is cut for the journal, and is one again when it is read.
const CHUNK_BYTES_MAX: usize = 1 << 20;

/// An exchange that began and is not over. Everything that happens to it is a frame of its own.
///
/// Secrets are taken out before anything is queued, unless the recorder keeps them; so a chunk may wait until it is known that no
/// secret goes on behind it: [`Stream`](crate::redact::Stream) says how long.
///
/// One that is dropped without [`Call::end`] is partial on the tape. All times are microseconds after its beginning.
///
/// Every method waits while the recorder's queue is full, and gives an error once the recorder has failed.
pub struct Call {
    queue: Arc<Queue>,
    number: u64,
    redactor: Option<Mutex<Redactor>>,
}

/// Whose body grows.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Request,
    Response,
}

impl Side {
    fn chunk(self, piece: Piece<'_>) -> Event<'_> {
        match self {
            Self::Request => Event::RequestChunk(piece),
            Self::Response => Event::ResponseChunk(piece),
        }
    }
}

/// How an exchange ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending<'a> {
    /// When everything was over, in microseconds after the beginning; `None` if that is not known.
    pub ended_us: Option<u64>,
    /// What came after the body of the request.
    pub request_trailers: Vec<Header<'a>>,
    /// What came after the body of the response.
    pub response_trailers: Vec<Header<'a>>,
    /// How it ended.
    pub outcome: Outcome<'a>,
}

impl Call {
    /// Begins an exchange with a request and as much of its body as is there; more can follow if there is a body at all.
    pub(super) fn begin(
        queue: Arc<Queue>,
        redaction: Option<Arc<Redaction>>,
        number: u64,
        started_ns: i64,
        request: &Request<'_>,
    ) -> Result<Self, RecordError> {
        let call = Self { queue, number, redactor: redaction.map(Redactor::new).map(Mutex::new) };
        call.redacting(
            |redactor, give| redactor.begin(started_ns, request, give),
            |give| {
                give(&Event::Begin { started_ns, has_body: request.body.is_some(), request: request.head() })?;
                give_some(Side::Request, request.body.as_ref(), give)
            },
        )?;
        Ok(call)
    }

    /// Its place in the order of requests.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// A chunk of the request's body was sent.
    ///
    /// # Errors
    /// The recorder has failed.
    pub fn request_chunk(&self, at_us: u64, bytes: &[u8]) -> Result<(), RecordError> {
        self.chunk(at_us, bytes, Side::Request)
    }

    /// A response of status 100 to 199 came.
    ///
    /// # Errors
    /// The recorder has failed.
    pub fn informational(&self, informational: &Informational<'_>) -> Result<(), RecordError> {
        self.redacting(
            |redactor, give| redactor.informational(informational, give),
            |give| give(&Event::Informational(informational.borrowed())),
        )
    }

    /// The response came, with as much of its body as is there; its trailers belong to [`Call::end`].
    ///
    /// # Errors
    /// The recorder has failed.
    pub fn response(&self, response: &Response<'_>) -> Result<(), RecordError> {
        self.redacting(
            |redactor, give| redactor.response(response, give),
            |give| {
                give(&Event::ResponseHead { has_body: response.body.is_some(), response: response.head() })?;
                give_some(Side::Response, response.body.as_ref(), give)
            },
        )
    }

    /// A chunk of the response's body came.
    ///
    /// # Errors
    /// The recorder has failed.
    pub fn response_chunk(&self, at_us: u64, bytes: &[u8]) -> Result<(), RecordError> {
        self.chunk(at_us, bytes, Side::Response)
    }

    /// It is a WebSocket from here on.
    ///
    /// # Errors
    /// The recorder has failed.
    pub fn open_websocket(&self) -> Result<(), RecordError> {
        self.redacting(Redactor::open_websocket, |give| give(&Event::WsOpen))
    }

    /// A frame went one way or the other.
    ///
    /// # Errors
    /// The recorder has failed, or the frame has more than 16 MiB.
    pub fn frame(&self, frame: &WsFrame<'_>) -> Result<(), RecordError> {
        self.redacting(|redactor, give| redactor.frame(frame, give), |give| give(&Event::WsFrame(frame.borrowed())))
    }

    /// Something is to be known of it beside.
    ///
    /// # Errors
    /// The recorder has failed.
    pub fn note(&self, note: &Note<'_>) -> Result<(), RecordError> {
        self.redacting(|redactor, give| redactor.note(note, give), |give| give(&Event::Note(note.borrowed())))
    }

    /// It is over.
    ///
    /// # Errors
    /// The recorder has failed.
    pub fn end(mut self, ending: Ending<'_>) -> Result<(), RecordError> {
        if let Some(redactor) = self.redactor.take() {
            let mut redactor = redactor.into_inner().unwrap_or_else(PoisonError::into_inner);
            return redactor.end(ending, &mut |event| self.give(event));
        }
        let Ending { ended_us, request_trailers, response_trailers, outcome } = ending;
        self.give(&Event::End { ended_us, request: request_trailers, response: response_trailers, outcome })
    }

    /// Records an exchange that is too long for one frame as if it happened now. It is redacted already, if it is to be.
    pub(super) fn retell(queue: Arc<Queue>, exchange: &Exchange<'_>) -> Result<(), RecordError> {
        let call = Self::begin(queue, None, exchange.number, exchange.started_ns, &exchange.request)?;
        exchange.informational.iter().try_for_each(|informational| call.informational(informational))?;
        if let Some(response) = &exchange.response {
            call.response(response)?;
        }
        if let Some(frames) = &exchange.frames {
            call.open_websocket()?;
            frames.iter().try_for_each(|frame| call.frame(frame))?;
        }
        exchange.notes.iter().try_for_each(|note| call.note(note))?;
        let response_trailers = exchange.response.as_ref().map_or(Vec::new(), |response| response.trailers.clone());
        call.end(Ending {
            ended_us: exchange.ended_us,
            request_trailers: exchange.request.trailers.clone(),
            response_trailers,
            outcome: exchange.outcome.clone(),
        })
    }

    fn chunk(&self, at_us: u64, bytes: &[u8], side: Side) -> Result<(), RecordError> {
        self.redacting(
            |redactor, give| redactor.chunk(side, at_us, bytes, give),
            |give| give_chunk(side, at_us, bytes, give),
        )
    }

    /// Does one thing if secrets are taken out, and another if they are kept.
    fn redacting(
        &self,
        with: impl FnOnce(&mut Redactor, &mut Give<'_>) -> Result<(), RecordError>,
        without: impl FnOnce(&mut Give<'_>) -> Result<(), RecordError>,
    ) -> Result<(), RecordError> {
        let mut give = |event: &Event<'_>| self.give(event);
        match &self.redactor {
            Some(redactor) => with(&mut redactor.lock().unwrap_or_else(PoisonError::into_inner), &mut give),
            None => without(&mut give),
        }
    }

    fn give(&self, event: &Event<'_>) -> Result<(), RecordError> {
        self.queue.give(frame_of(event, self.number)?).map(drop)
    }
}

/// What waits of an exchange that is not over is recorded still; if the recorder has failed, it says so elsewhere.
impl Drop for Call {
    fn drop(&mut self) {
        if let Some(redactor) = self.redactor.take() {
            let mut redactor = redactor.into_inner().unwrap_or_else(PoisonError::into_inner);
            let _ = redactor.settle(&mut |event| self.give(event));
        }
    }
}

/// Gives the chunks of a body.
pub(super) fn give_body(side: Side, body: &Body<'_>, give: &mut Give<'_>) -> Result<(), RecordError> {
    body.pieces().try_for_each(|(at_us, bytes)| give_chunk(side, at_us, bytes, give))
}

fn give_some(side: Side, body: Option<&Body<'_>>, give: &mut Give<'_>) -> Result<(), RecordError> {
    body.map_or(Ok(()), |body| give_body(side, body, give))
}

fn give_chunk(side: Side, at_us: u64, bytes: &[u8], give: &mut Give<'_>) -> Result<(), RecordError> {
    let (first, rest) = bytes.split_at(bytes.len().min(CHUNK_BYTES_MAX));
    give(&side.chunk(Piece { at_us, goes_on: false, bytes: Bytes::from(first) }))?;
    let mut rest = rest.chunks(CHUNK_BYTES_MAX);
    rest.try_for_each(|bytes| give(&side.chunk(Piece { at_us, goes_on: true, bytes: Bytes::from(bytes) })))
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("number", &self.number).finish_non_exhaustive()
    }
}
