//! Secrets are taken out of an exchange while it happens, before anything of it is queued.
//!
//! 1. Heads, trailers, notes and messages of errors are looked through by themselves.
//! 2. A body goes through a [`Stream`], which gives chunks out when no secret can go on in the next one.
//! 3. A compressed body is gathered with its head, since only all of it can be replaced. One that is too long for that is not
//!    recorded; its exchange is truncated.
//! 4. Frames wait while a message of several frames is incomplete.

use super::call::{Ending, Side, give_body};
use crate::error::RecordError;
use crate::exchange::{Exchange, Note, Outcome};
use crate::message::{Body, Header, Informational, Request, Response};
use crate::record::event::Event;
use crate::redact::{REQUEST_BODY_NOTE, RESPONSE_BODY_NOTE, Redaction, Stream, is_compressed, is_form};
use crate::websocket::{Direction, Opcode, WsFrame};
use std::sync::Arc;

/// More bytes of a compressed body, or of frames, do not wait.
const WAITING_BYTES_MAX: usize = 8 << 20;

/// Where events go.
pub(super) type Give<'g> = dyn FnMut(&Event<'_>) -> Result<(), RecordError> + 'g;

/// What waits of an exchange.
pub(super) struct Redactor {
    redaction: Arc<Redaction>,
    request: Way,
    response: Way,
    frames: Vec<WsFrame<'static>>,
    waiting_bytes: usize,
    is_truncated: bool,
}

/// What becomes of a body.
enum Way {
    /// There is none so far.
    Nothing,
    /// It is looked through as it comes.
    Stream(Box<Stream>),
    /// It is compressed, and is gathered here with its head.
    Gathered(Box<Exchange<'static>>),
    /// It was too long to be gathered, or is over.
    Closed,
}

impl Redactor {
    pub(super) fn new(redaction: Arc<Redaction>) -> Self {
        let (request, response) = (Way::Nothing, Way::Nothing);
        Self { redaction, request, response, frames: Vec::new(), waiting_bytes: 0, is_truncated: false }
    }

    pub(super) fn begin(
        &mut self,
        started_ns: i64,
        request: &Request<'_>,
        give: &mut Give<'_>,
    ) -> Result<(), RecordError> {
        let has_body = request.body.is_some();
        let mut exchange = Exchange { started_ns, request: request.head().into_owned(), ..Exchange::default() };
        if is_compressed(&request.headers) {
            exchange.request.body = has_body.then(Body::default);
            self.request = Way::Gathered(Box::new(exchange));
        } else {
            self.request = self.stream(&request.headers);
            let request = self.redacted(exchange).request;
            give(&Event::Begin { started_ns, has_body, request })?;
        }
        self.body(Side::Request, request.body.as_ref(), give)
    }

    pub(super) fn response(&mut self, response: &Response<'_>, give: &mut Give<'_>) -> Result<(), RecordError> {
        self.settle_gathered(Side::Request, give)?;
        let has_body = response.body.is_some();
        let mut head = response.head().into_owned();
        if is_compressed(&response.headers) {
            head.body = has_body.then(Body::default);
            self.response = Way::Gathered(Box::new(Exchange { response: Some(head), ..Exchange::default() }));
        } else {
            self.response = self.stream(&response.headers);
            give_head(self.redacted(Exchange { response: Some(head), ..Exchange::default() }), has_body, give)?;
        }
        self.body(Side::Response, response.body.as_ref(), give)
    }

    pub(super) fn informational(
        &mut self,
        informational: &Informational<'_>,
        give: &mut Give<'_>,
    ) -> Result<(), RecordError> {
        self.settle_gathered(Side::Request, give)?;
        let informational = vec![informational.borrowed().into_owned()];
        let redacted = self.redacted(Exchange { informational, ..Exchange::default() });
        redacted.informational.into_iter().try_for_each(|informational| give(&Event::Informational(informational)))
    }

    pub(super) fn chunk(
        &mut self,
        side: Side,
        at_us: u64,
        bytes: &[u8],
        give: &mut Give<'_>,
    ) -> Result<(), RecordError> {
        let waiting_bytes = self.waiting_bytes + bytes.len();
        match self.way(side) {
            Way::Stream(stream) => {
                let body = stream.push(at_us, bytes);
                give_body(side, &body, give)
            }
            Way::Gathered(exchange) if waiting_bytes <= WAITING_BYTES_MAX => {
                body_of(exchange, side).push(at_us, bytes);
                self.waiting_bytes = waiting_bytes;
                Ok(())
            }
            Way::Gathered(exchange) => {
                *body_of(exchange, side) = Body::default();
                self.is_truncated = true;
                self.settle_gathered(side, give)
            }
            Way::Nothing | Way::Closed => {
                self.is_truncated = true;
                Ok(())
            }
        }
    }

    pub(super) fn frame(&mut self, frame: &WsFrame<'_>, give: &mut Give<'_>) -> Result<(), RecordError> {
        self.waiting_bytes += frame.payload.len();
        self.frames.push(frame.borrowed().into_owned());
        if self.waiting_bytes <= WAITING_BYTES_MAX && has_incomplete_message(&self.frames) {
            return Ok(());
        }
        self.settle_frames(give)
    }

    pub(super) fn open_websocket(&mut self, give: &mut Give<'_>) -> Result<(), RecordError> {
        self.settle_gathered(Side::Request, give)?;
        self.settle_gathered(Side::Response, give)?;
        give(&Event::WsOpen)
    }

    pub(super) fn note(&mut self, note: &Note<'_>, give: &mut Give<'_>) -> Result<(), RecordError> {
        self.settle_gathered(Side::Request, give)?;
        let notes = vec![note.borrowed().into_owned()];
        give_notes(self.redacted(Exchange { notes, ..Exchange::default() }), give)
    }

    pub(super) fn end(&mut self, ending: Ending<'_>, give: &mut Give<'_>) -> Result<(), RecordError> {
        self.settle(give)?;
        let Ending { ended_us, request_trailers, response_trailers, outcome } = ending;
        let request = Request { trailers: owned(request_trailers), ..Request::default() };
        let response = Some(Response { trailers: owned(response_trailers), ..Response::default() });
        let redacted =
            self.redacted(Exchange { request, response, outcome: outcome.into_owned(), ..Exchange::default() });
        let outcome = match redacted.outcome {
            Outcome::Complete if self.is_truncated => Outcome::Truncated,
            outcome => outcome,
        };
        let response = redacted.response.map_or(Vec::new(), |response| response.trailers);
        give(&Event::End { ended_us, request: redacted.request.trailers, response, outcome })
    }

    /// Gives out everything that waits.
    pub(super) fn settle(&mut self, give: &mut Give<'_>) -> Result<(), RecordError> {
        for (side, name) in [(Side::Request, REQUEST_BODY_NOTE), (Side::Response, RESPONSE_BODY_NOTE)] {
            self.settle_gathered(side, give)?;
            if let Way::Stream(mut stream) = std::mem::replace(self.way(side), Way::Closed) {
                give_body(side, &stream.finish(), give)?;
                if stream.found() > 0 {
                    give(&Event::Note(Note::new(name, stream.found().to_string())))?;
                }
            }
        }
        self.settle_frames(give)
    }

    fn settle_frames(&mut self, give: &mut Give<'_>) -> Result<(), RecordError> {
        let frames = std::mem::take(&mut self.frames);
        self.waiting_bytes -= frames.iter().map(|frame| frame.payload.len()).sum::<usize>();
        let redacted = self.redacted(Exchange { frames: Some(frames), ..Exchange::default() });
        redacted.frames.into_iter().flatten().try_for_each(|frame| give(&Event::WsFrame(frame)))
    }

    /// Gives out a head and a body that were gathered.
    fn settle_gathered(&mut self, side: Side, give: &mut Give<'_>) -> Result<(), RecordError> {
        let way = self.way(side);
        let gathered = match std::mem::replace(way, Way::Closed) {
            Way::Gathered(gathered) => gathered,
            other => {
                *way = other;
                return Ok(());
            }
        };
        let mut redacted = self.redacted(*gathered);
        let body = match side {
            Side::Request => redacted.request.body.take(),
            Side::Response => redacted.response.as_mut().and_then(|response| response.body.take()),
        };
        let notes = std::mem::take(&mut redacted.notes);
        let has_body = body.is_some();
        match side {
            Side::Request => {
                let started_ns = redacted.started_ns;
                give(&Event::Begin { started_ns, has_body, request: redacted.request })?;
            }
            Side::Response => give_head(redacted, has_body, give)?,
        }
        body.map_or(Ok(()), |body| give_body(side, &body, give))?;
        give_notes(Exchange { notes, ..Exchange::default() }, give)
    }

    fn body(&mut self, side: Side, body: Option<&Body<'_>>, give: &mut Give<'_>) -> Result<(), RecordError> {
        body.map_or(Ok(()), |body| body.pieces().try_for_each(|(at_us, bytes)| self.chunk(side, at_us, bytes, give)))
    }

    fn stream(&self, headers: &[Header<'_>]) -> Way {
        Way::Stream(Box::new(Stream::new(self.redaction.clone(), is_form(headers))))
    }

    fn redacted(&self, mut exchange: Exchange<'static>) -> Exchange<'static> {
        self.redaction.exchange(&mut exchange);
        exchange
    }

    fn way(&mut self, side: Side) -> &mut Way {
        match side {
            Side::Request => &mut self.request,
            Side::Response => &mut self.response,
        }
    }
}

fn owned(fields: Vec<Header<'_>>) -> Vec<Header<'static>> {
    fields.into_iter().map(Header::into_owned).collect()
}

/// The body that is gathered.
fn body_of<'e>(exchange: &'e mut Exchange<'static>, side: Side) -> &'e mut Body<'static> {
    let body = match side {
        Side::Request => &mut exchange.request.body,
        Side::Response => &mut exchange.response.get_or_insert_default().body,
    };
    body.get_or_insert_default()
}

fn give_head(exchange: Exchange<'_>, has_body: bool, give: &mut Give<'_>) -> Result<(), RecordError> {
    exchange.response.map_or(Ok(()), |response| give(&Event::ResponseHead { has_body, response }))
}

fn give_notes(exchange: Exchange<'_>, give: &mut Give<'_>) -> Result<(), RecordError> {
    exchange.notes.into_iter().try_for_each(|note| give(&Event::Note(note)))
}

/// Whether a message goes on behind the last frame, one way or the other.
fn has_incomplete_message(frames: &[WsFrame<'_>]) -> bool {
    let is_incomplete = |direction| {
        let mut data = frames.iter().rev().filter(|frame| frame.direction == direction && frame.opcode < Opcode::CLOSE);
        data.next().is_some_and(|frame| !frame.is_final)
    };
    is_incomplete(Direction::Sent) || is_incomplete(Direction::Received)
}
