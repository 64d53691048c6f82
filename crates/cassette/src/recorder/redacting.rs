//! Secrets are taken out of an exchange while it happens, before anything of it is queued.
//!
//! 1. Heads, trailers, notes and messages of errors are looked through by themselves.
//! 2. A body goes through a [`BodyRedactor`], which gives chunks out when no secret can go on in the next one.
//! 3. A compressed body is gathered with its head, since only all of it can be replaced; so is every body if there are rules of
//!    places in JSON. One that is too long for that is not recorded; its exchange is truncated.
//!    What else happens meanwhile waits with the request, except a response that begins before the request ends.
//!    So is a body that is compressed by its first bytes, though its head does not say so; one that is too long for that is recorded as it is,
//!    and noted as one that was not looked into.
//! 4. Frames wait while a message of several frames is incomplete, or while a text that messages give in pieces may go on as a secret. A compressed one that is too long for that is not recorded, nor
//!    is what follows it; its exchange is truncated.

use crate::error::RecordError;
use crate::exchange::{Exchange, Note, Outcome};
use crate::message::{Body, Chunk, Header, Informational, Request, Response};
use crate::record::event::Event;
use crate::record::retell::{EventSink, ExchangeEnd, MessageSide, give_body};
use crate::redact::{
    BodyRedactor, ConversationMessages, Findings, REQUEST_BODY_NOTE, RESPONSE_BODY_NOTE, ReceivedMessages, Redaction,
    Tally, arguments_of, codings, decode, is_compressed, is_compressed_message, kept_note, may_be_coded, opaque_note,
    stays_note,
};
use crate::websocket::{Direction, Opcode, WsFrame};
use std::sync::Arc;

/// More bytes of compressed bodies and of frames do not wait. Each chunk and each frame counts for some bytes itself.
const WAITING_BYTES_MAX: usize = 8 << 20;

/// By which rules secrets are taken out of a recording, and what was found.
#[derive(Clone, Debug)]
pub(crate) struct RecordingRedaction {
    pub(crate) redaction: Arc<Redaction>,
    pub(crate) tally: Arc<Tally>,
}

impl RecordingRedaction {
    pub(crate) fn new(redaction: Arc<Redaction>) -> Self {
        Self { redaction, tally: Arc::default() }
    }

    /// Takes the secrets out of an exchange.
    pub(crate) fn exchange(&self, exchange: &mut Exchange<'_>) {
        self.tally.add(&self.redaction.exchange(exchange));
    }
}

/// What waits of an exchange.
pub(crate) struct ExchangeRedactor {
    redaction: Arc<Redaction>,
    messages: ConversationMessages,
    request: BodyTreatment,
    response: BodyTreatment,
    /// What the heads say of the types of the bodies.
    types: [Vec<Header<'static>>; 2],
    frames: Vec<WsFrame<'static>>,
    /// What messages of the server that wait say.
    received: ReceivedMessages,
    /// Whether a message of several frames goes on, one way and the other.
    has_incomplete: [bool; 2],
    waiting_bytes: usize,
    /// What was noted of messages, which is said once.
    noted: Vec<Note<'static>>,
    is_truncated: bool,
    /// Whether no more frames are recorded.
    is_mute: bool,
    found: Findings,
}

/// What becomes of a body.
enum BodyTreatment {
    /// There is none so far.
    Nothing,
    /// It is looked through as it comes.
    Stream(Box<BodyRedactor>),
    /// It is compressed, by its first bytes, and is gathered here; its head, which does not say so, was given.
    Unnamed(Body<'static>),
    /// It is compressed, and is gathered here with its head.
    Gathered(Box<Exchange<'static>>),
    /// It was too long to be gathered, or is over.
    Closed,
}

impl ExchangeRedactor {
    pub(crate) fn new(redaction: Arc<Redaction>) -> Self {
        Self {
            redaction,
            messages: ConversationMessages::default(),
            request: BodyTreatment::Nothing,
            response: BodyTreatment::Nothing,
            types: Default::default(),
            frames: Vec::new(),
            received: ReceivedMessages::default(),
            has_incomplete: [false; 2],
            waiting_bytes: 0,
            noted: Vec::new(),
            is_truncated: false,
            is_mute: false,
            found: Findings::default(),
        }
    }

    pub(crate) fn begin(
        &mut self,
        started_ns: i64,
        request: &Request<'_>,
        give: &mut EventSink<'_>,
    ) -> Result<(), RecordError> {
        let has_body = request.body.is_some();
        let mut exchange = Exchange { started_ns, request: request.head().into_owned(), ..Exchange::default() };
        if self.gathers(&request.headers) {
            exchange.request.body = has_body.then(Body::default);
            self.request = BodyTreatment::Gathered(Box::new(exchange));
        } else {
            self.types[0] = types_of(&request.headers);
            self.request =
                BodyTreatment::Stream(Box::new(BodyRedactor::of_request(self.redaction.clone(), &request.headers)));
            let request = self.redacted(exchange).request;
            give(&Event::Begin { started_ns, has_body, request })?;
        }
        self.body(MessageSide::Request, request.body.as_ref(), give)
    }

    pub(crate) fn response(&mut self, response: &Response<'_>, give: &mut EventSink<'_>) -> Result<(), RecordError> {
        if self.is_asked() {
            self.settle_gathered(MessageSide::Request, give)?;
        }
        let has_body = response.body.is_some();
        let mut head = response.head().into_owned();
        if self.gathers(&response.headers) {
            head.body = has_body.then(Body::default);
            self.response = BodyTreatment::Gathered(Box::new(Exchange { response: Some(head), ..Exchange::default() }));
        } else {
            self.types[1] = types_of(&response.headers);
            self.response =
                BodyTreatment::Stream(Box::new(BodyRedactor::of_response(self.redaction.clone(), &response.headers)));
            give_head(self.redacted(Exchange { response: Some(head), ..Exchange::default() }), has_body, give)?;
        }
        self.body(MessageSide::Response, response.body.as_ref(), give)
    }

    pub(crate) fn informational(
        &mut self,
        informational: &Informational<'_>,
        give: &mut EventSink<'_>,
    ) -> Result<(), RecordError> {
        let informational = informational.borrowed().into_owned();
        if let BodyTreatment::Gathered(exchange) = &mut self.request {
            exchange.informational.push(informational);
            return Ok(());
        }
        let informational = vec![informational];
        let redacted = self.redacted(Exchange { informational, ..Exchange::default() });
        give_informational(redacted.informational, give)
    }

    pub(crate) fn chunk(
        &mut self,
        side: MessageSide,
        at_us: u64,
        bytes: &[u8],
        give: &mut EventSink<'_>,
    ) -> Result<(), RecordError> {
        let waiting_bytes = self.waiting_bytes + bytes.len() + size_of::<Chunk>();
        match self.way(side) {
            BodyTreatment::Stream(stream) if stream.is_new() && may_be_coded(bytes) => {
                *self.way(side) = BodyTreatment::Unnamed(Body::new(at_us, bytes.to_vec()));
                self.waiting_bytes = waiting_bytes;
                Ok(())
            }
            BodyTreatment::Unnamed(body) => {
                body.push(at_us, bytes);
                let goes_on = waiting_bytes <= WAITING_BYTES_MAX && may_be_coded(body.bytes());
                self.waiting_bytes = waiting_bytes;
                if goes_on { Ok(()) } else { self.settle_unnamed(side, false, give) }
            }
            BodyTreatment::Stream(stream) => {
                let body = stream.push(at_us, bytes);
                give_body(side, &body, give)
            }
            BodyTreatment::Gathered(exchange) if waiting_bytes <= WAITING_BYTES_MAX => {
                body_of(exchange, side).push(at_us, bytes);
                self.waiting_bytes = waiting_bytes;
                Ok(())
            }
            BodyTreatment::Gathered(exchange) => {
                let body = std::mem::take(body_of(exchange, side));
                self.waiting_bytes -= bytes_of(&body);
                self.is_truncated = true;
                self.settle_gathered(side, give)
            }
            BodyTreatment::Nothing | BodyTreatment::Closed => {
                self.is_truncated = true;
                Ok(())
            }
        }
    }

    pub(crate) fn frame(&mut self, frame: &WsFrame<'_>, give: &mut EventSink<'_>) -> Result<(), RecordError> {
        self.settle_gathered(MessageSide::Request, give)?;
        self.settle_gathered(MessageSide::Response, give)?;
        if self.is_mute {
            return Ok(());
        }
        self.waiting_bytes += bytes_of_frame(frame);
        if frame.opcode < Opcode::CLOSE {
            self.has_incomplete[usize::from(frame.direction == Direction::Received)] = !frame.is_final;
        }
        self.frames.push(frame.borrowed().into_owned());
        if frame.direction == Direction::Received && frame.opcode < Opcode::CLOSE && frame.is_final {
            self.hear();
        }
        if self.waiting_bytes <= WAITING_BYTES_MAX && self.has_incomplete.contains(&true) {
            return Ok(());
        }
        if self.has_incomplete.contains(&true) && self.frames.iter().any(is_compressed_message) {
            // Nobody could read the rest of a message without all of it.
            self.give_up_frames();
            return Ok(());
        }
        if self.received.is_held(&self.redaction, &self.messages) {
            if self.waiting_bytes <= WAITING_BYTES_MAX {
                return Ok(());
            }
            self.messages.cut_what_is_held(true);
        }
        let settled = self.settle_frames(give);
        self.messages.cut_what_is_held(false);
        settled
    }

    /// Takes the message of the server of which the last frame came, for the texts that its messages give in pieces.
    fn hear(&mut self) {
        let is_data = |frame: &&WsFrame<'_>| frame.direction == Direction::Received && frame.opcode < Opcode::CLOSE;
        let mut frames: Vec<_> = self.frames.iter().rev().filter(is_data).collect();
        let others = frames.iter().skip(1).position(|frame| frame.is_final);
        frames.truncate(others.map_or(frames.len(), |others| others + 1));
        frames.reverse();
        let payloads = frames.iter().map(|frame| &frame.payload[..]);
        if frames.first().is_some_and(|first| is_compressed_message(first)) {
            let read = self.messages.read_ahead(Direction::Received, payloads, true);
            self.received.push(Opcode::TEXT, read.unwrap_or_default());
        } else {
            self.received.push(Opcode::TEXT, &payloads.flatten().copied().collect::<Vec<_>>());
        }
    }

    /// Records no more frames.
    fn give_up_frames(&mut self) {
        let frames = std::mem::take(&mut self.frames);
        self.waiting_bytes -= frames.iter().map(bytes_of_frame).sum::<usize>();
        (self.is_mute, self.is_truncated) = (true, true);
    }

    pub(crate) fn open_websocket(&mut self, give: &mut EventSink<'_>) -> Result<(), RecordError> {
        self.settle_gathered(MessageSide::Request, give)?;
        self.settle_gathered(MessageSide::Response, give)?;
        give(&Event::WsOpen)
    }

    pub(crate) fn note(&mut self, note: &Note<'_>, give: &mut EventSink<'_>) -> Result<(), RecordError> {
        let note = note.borrowed().into_owned();
        if let BodyTreatment::Gathered(exchange) = &mut self.request {
            exchange.notes.push(note);
            return Ok(());
        }
        give_notes(self.redacted(Exchange { notes: vec![note], ..Exchange::default() }).notes, give)
    }

    pub(crate) fn end(&mut self, ending: ExchangeEnd<'_>, give: &mut EventSink<'_>) -> Result<(), RecordError> {
        self.settle(give)?;
        let ExchangeEnd { ended_us, request_trailers, response_trailers, outcome } = ending;
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
    pub(crate) fn settle(&mut self, give: &mut EventSink<'_>) -> Result<(), RecordError> {
        for (side, name) in [(MessageSide::Request, REQUEST_BODY_NOTE), (MessageSide::Response, RESPONSE_BODY_NOTE)] {
            self.settle_gathered(side, give)?;
            self.settle_unnamed(side, true, give)?;
            if let BodyTreatment::Stream(mut stream) = std::mem::replace(self.way(side), BodyTreatment::Closed) {
                give_body(side, &stream.finish(), give)?;
                let found = stream.found();
                self.found.merge(found);
                if stream.is_opaque() {
                    give(&Event::Note(opaque_note(stream.place())))?;
                }
                if found.replaced > 0 {
                    give(&Event::Note(Note::new(name, found.replaced.to_string())))?;
                }
                if found.stays > 0 {
                    give(&Event::Note(stays_note(&arguments_of(stream.place()))))?;
                }
                found.kept_places.keys().try_for_each(|finding| give(&Event::Note(kept_note(finding))))?;
            }
        }
        self.settle_frames(give)
    }

    fn settle_frames(&mut self, give: &mut EventSink<'_>) -> Result<(), RecordError> {
        if self.frames.is_empty() {
            return Ok(());
        }
        let frames = std::mem::take(&mut self.frames);
        self.waiting_bytes -= frames.iter().map(bytes_of_frame).sum::<usize>();
        self.received = ReceivedMessages::default();
        let mut redacted = self.redacted(Exchange { frames: Some(frames), ..Exchange::default() });
        redacted.notes.retain(|note| !self.noted.contains(note));
        self.noted.extend(redacted.notes.iter().cloned());
        redacted.frames.into_iter().flatten().try_for_each(|frame| give(&Event::WsFrame(frame)))?;
        give_notes(redacted.notes, give)
    }

    /// Gives out a body that is compressed by its first bytes, if all of it is there; or goes on with it as it is.
    fn settle_unnamed(
        &mut self,
        side: MessageSide,
        is_whole: bool,
        give: &mut EventSink<'_>,
    ) -> Result<(), RecordError> {
        let way = self.way(side);
        let body = match std::mem::replace(way, BodyTreatment::Closed) {
            BodyTreatment::Unnamed(body) => body,
            other => {
                *way = other;
                return Ok(());
            }
        };
        self.waiting_bytes -= bytes_of(&body);
        if !is_whole {
            let is_opaque = may_be_coded(body.bytes());
            let mut stream = match side {
                MessageSide::Request => BodyRedactor::of_request(self.redaction.clone(), &self.types[0]),
                MessageSide::Response => BodyRedactor::of_response(self.redaction.clone(), &self.types[1]),
            };
            if is_opaque {
                give(&Event::Note(opaque_note(stream.place())))?;
            }
            body.pieces().try_for_each(|(at_us, bytes)| give_body(side, &stream.push(at_us, bytes), give))?;
            *self.way(side) = BodyTreatment::Stream(Box::new(stream));
            return Ok(());
        }
        let mut exchange = Exchange::default();
        match side {
            MessageSide::Request => {
                exchange.request = Request { headers: self.types[0].clone(), body: Some(body), ..Request::default() };
            }
            MessageSide::Response => {
                let headers = self.types[1].clone();
                exchange.response = Some(Response { headers, body: Some(body), ..Response::default() });
            }
        }
        let before = self.found.replaced;
        let mut redacted = self.redacted(exchange);
        let (body, name) = match side {
            MessageSide::Request => (redacted.request.body.take(), REQUEST_BODY_NOTE),
            MessageSide::Response => (redacted.response.and_then(|response| response.body), RESPONSE_BODY_NOTE),
        };
        body.map_or(Ok(()), |body| give_body(side, &body, give))?;
        let count = self.found.replaced - before;
        if count > 0 {
            give(&Event::Note(Note::new(name, count.to_string())))?;
        }
        give_notes(redacted.notes, give)
    }

    /// Gives out a head and a body that were gathered.
    fn settle_gathered(&mut self, side: MessageSide, give: &mut EventSink<'_>) -> Result<(), RecordError> {
        let way = self.way(side);
        let gathered = match std::mem::replace(way, BodyTreatment::Closed) {
            BodyTreatment::Gathered(gathered) => gathered,
            other => {
                *way = other;
                return Ok(());
            }
        };
        let body = match side {
            MessageSide::Request => gathered.request.body.as_ref(),
            MessageSide::Response => gathered.response.as_ref().and_then(|response| response.body.as_ref()),
        };
        self.waiting_bytes -= body.map_or(0, bytes_of);
        let mut redacted = self.redacted(*gathered);
        let body = match side {
            MessageSide::Request => redacted.request.body.take(),
            MessageSide::Response => redacted.response.as_mut().and_then(|response| response.body.take()),
        };
        let notes = std::mem::take(&mut redacted.notes);
        let informational = std::mem::take(&mut redacted.informational);
        let has_body = body.is_some();
        match side {
            MessageSide::Request => {
                let started_ns = redacted.started_ns;
                give(&Event::Begin { started_ns, has_body, request: redacted.request })?;
            }
            MessageSide::Response => give_head(redacted, has_body, give)?,
        }
        body.map_or(Ok(()), |body| give_body(side, &body, give))?;
        give_informational(informational, give)?;
        give_notes(notes, give)
    }

    /// Whether all of the request seems to be there. A server may answer before it is, and what is gathered of the request then
    /// goes on being gathered; it is recorded after what the server said.
    fn is_asked(&self) -> bool {
        let BodyTreatment::Gathered(exchange) = &self.request else { return true };
        let request = &exchange.request;
        let announced = request.header_values("content-length").next();
        match announced.and_then(|value| std::str::from_utf8(value).ok()?.trim().parse::<usize>().ok()) {
            Some(bytes) => request.body_bytes().len() >= bytes,
            // A compressed body tells its end. One that nobody can look into is not waited for.
            None => {
                let decoded = request.body.as_ref().and_then(|body| decode(body, &codings(&request.headers)));
                decoded.is_none_or(|decoded| decoded.is_whole)
            }
        }
    }

    /// Whether a body is looked through when all of it is there.
    fn gathers(&self, headers: &[Header<'_>]) -> bool {
        is_compressed(headers) || self.redaction.needs_whole_bodies()
    }

    fn body(
        &mut self,
        side: MessageSide,
        body: Option<&Body<'_>>,
        give: &mut EventSink<'_>,
    ) -> Result<(), RecordError> {
        body.map_or(Ok(()), |body| body.pieces().try_for_each(|(at_us, bytes)| self.chunk(side, at_us, bytes, give)))
    }

    fn redacted(&mut self, mut exchange: Exchange<'static>) -> Exchange<'static> {
        self.found.add(&self.redaction.exchange_in(&mut exchange, &mut self.messages));
        exchange
    }

    /// By which rules it goes.
    pub(crate) fn redaction(&self) -> &Arc<Redaction> {
        &self.redaction
    }

    /// What was found so far.
    pub(crate) fn findings(&self) -> &Findings {
        &self.found
    }

    /// Whether chunks of a body have somewhere to go.
    pub(crate) fn expects(&self, side: MessageSide) -> bool {
        let way = match side {
            MessageSide::Request => &self.request,
            MessageSide::Response => &self.response,
        };
        matches!(way, BodyTreatment::Stream(_) | BodyTreatment::Unnamed(_) | BodyTreatment::Gathered(_))
    }

    fn way(&mut self, side: MessageSide) -> &mut BodyTreatment {
        match side {
            MessageSide::Request => &mut self.request,
            MessageSide::Response => &mut self.response,
        }
    }
}

fn types_of(headers: &[Header<'_>]) -> Vec<Header<'static>> {
    headers.iter().filter(|header| header.is("content-type")).cloned().map(Header::into_owned).collect()
}

fn owned(fields: Vec<Header<'_>>) -> Vec<Header<'static>> {
    fields.into_iter().map(Header::into_owned).collect()
}

/// The body that is gathered.
fn body_of<'e>(exchange: &'e mut Exchange<'static>, side: MessageSide) -> &'e mut Body<'static> {
    let body = match side {
        MessageSide::Request => &mut exchange.request.body,
        MessageSide::Response => &mut exchange.response.get_or_insert_default().body,
    };
    body.get_or_insert_default()
}

fn give_head(exchange: Exchange<'_>, has_body: bool, give: &mut EventSink<'_>) -> Result<(), RecordError> {
    exchange.response.map_or(Ok(()), |response| give(&Event::ResponseHead { has_body, response }))
}

fn give_informational(some: Vec<Informational<'_>>, give: &mut EventSink<'_>) -> Result<(), RecordError> {
    some.into_iter().try_for_each(|informational| give(&Event::Informational(informational)))
}

fn give_notes(notes: Vec<Note<'_>>, give: &mut EventSink<'_>) -> Result<(), RecordError> {
    notes.into_iter().try_for_each(|note| give(&Event::Note(note)))
}

/// How many bytes wait with a body.
fn bytes_of(body: &Body<'_>) -> usize {
    body.bytes().len() + size_of_val(body.chunks())
}

/// How many bytes wait with a frame, which may have no payload.
fn bytes_of_frame(frame: &WsFrame<'_>) -> usize {
    frame.payload.len() + size_of::<WsFrame<'static>>()
}
