//! An exchange that is recorded as it happens.

use super::gate::FilterGate;
use super::queue::{WriteQueue, frame_of};
use super::redacting::{ExchangeRedactor, RecordingRedaction};
use crate::error::RecordError;
use crate::exchange::Note;
use crate::message::{Informational, Request, Response};
use crate::record::event::Event;
use crate::record::retell::{EventSink, ExchangeEnd, FrameBudget, MessageSide, give_chunk, give_some};
use crate::redact::Tally;
use crate::websocket::WsFrame;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// An exchange that began and is not over. Everything that happens to it is a frame of its own.
///
/// Secrets are taken out before anything is queued, unless the recorder keeps them; so a chunk may wait until it is known that no
/// secret goes on after it: [`BodyRedactor`](crate::redact::BodyRedactor) says how long.
///
/// One that is dropped without [`OpenExchange::end`] is partial on the cassette. All times are microseconds after its beginning.
///
/// Every method waits while the recorder's queue is full, and gives an error once the recorder has failed.
pub struct OpenExchange {
    queue: Arc<WriteQueue>,
    gate: Option<FilterGate>,
    number: u64,
    redactor: Option<Mutex<ExchangeRedactor>>,
    tally: Option<Arc<Tally>>,
    frames: FrameBudget,
}

impl OpenExchange {
    /// Begins an exchange with a request and as much of its body as is there; more can follow if there is a body at all.
    pub(super) fn begin(
        (queue, gate): (Arc<WriteQueue>, Option<FilterGate>),
        redacting: Option<&RecordingRedaction>,
        number: u64,
        started_ns: i64,
        request: &Request<'_>,
    ) -> Result<Self, RecordError> {
        let redactor = redacting.map(|redacting| Mutex::new(ExchangeRedactor::new(redacting.redaction.clone())));
        let tally = redacting.map(|redacting| redacting.tally.clone());
        let call = Self { queue, gate, number, redactor, tally, frames: FrameBudget::default() };
        call.redacting(
            |redactor, give| redactor.begin(started_ns, request, give),
            |give| {
                give(&Event::Begin { started_ns, has_body: request.body.is_some(), request: request.head() })?;
                give_some(MessageSide::Request, request.body.as_ref(), give)
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
        self.chunk(at_us, bytes, MessageSide::Request)
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

    /// The response came, with as much of its body as is there; its trailers belong to [`OpenExchange::end`].
    ///
    /// # Errors
    /// The recorder has failed.
    pub fn response(&self, response: &Response<'_>) -> Result<(), RecordError> {
        if let Some(gate) = &self.gate {
            gate.answered(response, &self.queue, self.redaction().as_deref())?;
        }
        self.redacting(
            |redactor, give| redactor.response(response, give),
            |give| {
                give(&Event::ResponseHead { has_body: response.body.is_some(), response: response.head() })?;
                give_some(MessageSide::Response, response.body.as_ref(), give)
            },
        )
    }

    /// A chunk of the response's body came.
    ///
    /// # Errors
    /// The recorder has failed.
    pub fn response_chunk(&self, at_us: u64, bytes: &[u8]) -> Result<(), RecordError> {
        self.chunk(at_us, bytes, MessageSide::Response)
    }

    /// It is a WebSocket from here on.
    ///
    /// # Errors
    /// The recorder has failed.
    pub fn open_websocket(&self) -> Result<(), RecordError> {
        self.redacting(ExchangeRedactor::open_websocket, |give| give(&Event::WsOpen))
    }

    /// A frame went one way or the other. After about 256 MiB of frames no more are recorded, and the exchange is truncated.
    ///
    /// # Errors
    /// The recorder has failed, or the frame has more than 16 MiB.
    pub fn frame(&self, frame: &WsFrame<'_>) -> Result<(), RecordError> {
        if !self.frames.takes(frame) {
            return Ok(());
        }
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
    pub fn end(mut self, ending: ExchangeEnd<'_>) -> Result<(), RecordError> {
        let outcome = self.frames.outcome(ending.outcome);
        let ending = ExchangeEnd { outcome, ..ending };
        if let Some(gate) = &self.gate {
            gate.open(&self.queue)?;
        }
        if let Some(redactor) = self.redactor.take() {
            let mut redactor = redactor.into_inner().unwrap_or_else(PoisonError::into_inner);
            let ended = redactor.end(ending, &mut |event| self.give(event));
            self.count(&redactor);
            return ended;
        }
        let ExchangeEnd { ended_us, request_trailers, response_trailers, outcome } = ending;
        self.give(&Event::End { ended_us, request: request_trailers, response: response_trailers, outcome })
    }

    fn chunk(&self, at_us: u64, bytes: &[u8], side: MessageSide) -> Result<(), RecordError> {
        self.redacting(
            |redactor, give| redactor.chunk(side, at_us, bytes, give),
            |give| give_chunk(side, at_us, bytes, give),
        )
    }

    /// Does one thing if secrets are taken out, and another if they are kept.
    fn redacting(
        &self,
        with: impl FnOnce(&mut ExchangeRedactor, &mut EventSink<'_>) -> Result<(), RecordError>,
        without: impl FnOnce(&mut EventSink<'_>) -> Result<(), RecordError>,
    ) -> Result<(), RecordError> {
        if self.gate.as_ref().is_some_and(FilterGate::is_shut) {
            return Ok(());
        }
        let mut give = |event: &Event<'_>| self.give(event);
        match &self.redactor {
            Some(redactor) => with(&mut redactor.lock().unwrap_or_else(PoisonError::into_inner), &mut give),
            None => without(&mut give),
        }
    }

    fn give(&self, event: &Event<'_>) -> Result<(), RecordError> {
        let item = frame_of(event, self.number)?;
        match &self.gate {
            Some(gate) => gate.pass(item, &self.queue),
            None => self.queue.give(item),
        }
    }

    /// Counts what was found, unless the exchange is left out.
    fn count(&self, redactor: &ExchangeRedactor) {
        if let Some(tally) = self.tally.as_ref().filter(|_| !self.gate.as_ref().is_some_and(FilterGate::is_shut)) {
            tally.merge(redactor.findings());
        }
    }

    fn redaction(&self) -> Option<Arc<crate::redact::Redaction>> {
        let redactor = self.redactor.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        Some(redactor.redaction().clone())
    }
}

/// What waits of an exchange that is not over is recorded still; if the recorder has failed, it says so elsewhere.
impl Drop for OpenExchange {
    fn drop(&mut self) {
        if let Some(gate) = &self.gate {
            let _ = gate.open(&self.queue);
        }
        if let Some(redactor) = self.redactor.take() {
            let mut redactor = redactor.into_inner().unwrap_or_else(PoisonError::into_inner);
            let _ = redactor.settle(&mut |event| self.give(event));
            self.count(&redactor);
        }
    }
}

impl fmt::Debug for OpenExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("number", &self.number).finish_non_exhaustive()
    }
}
