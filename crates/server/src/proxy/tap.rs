//! What goes to the cassette of an exchange while it passes.

use super::clock::ExchangeClock;
use super::session::Session;
use bytes::Bytes;
use cassette::{ExchangeEnd, Header, NetworkError, OpenExchange, Outcome, QUEUE_BYTES_DEFAULT, RecordError, Request};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What goes to the cassette of an exchange.
pub(crate) struct Tap<'s> {
    pub(crate) session: &'s Session,
    call: Option<OpenExchange>,
    clock: ExchangeClock<'s>,
    /// How many bytes of bodies it was told.
    bytes: AtomicUsize,
    /// Whether the answer came to the end of its protocol, whatever becomes of the connection.
    is_whole: AtomicBool,
}

/// From this many bytes in the queue on, somebody may have to wait for it.
const CROWDED_BYTES: usize = QUEUE_BYTES_DEFAULT / 2;

/// To look through this many bytes takes a while.
const LONG_BYTES: usize = 256 << 10;

impl<'s> Tap<'s> {
    pub(crate) fn new(
        session: &'s Session,
        clock: ExchangeClock<'s>,
        request: &Request<'_>,
        records: bool,
    ) -> Result<Self, RecordError> {
        let call = if records { Some(session.begin(clock.started_ns(), request)?) } else { None };
        Ok(Self { session, call, clock, bytes: AtomicUsize::new(0), is_whole: AtomicBool::new(false) })
    }

    pub(crate) fn at_us(&self) -> u64 {
        self.clock.at_us()
    }

    /// Tells the recorder something of `bytes` bytes. Others go on if that takes long.
    pub(crate) fn record(
        &self,
        bytes: usize,
        what: impl FnOnce(&OpenExchange) -> Result<(), RecordError>,
    ) -> Result<(), RecordError> {
        let Some(call) = &self.call else { return Ok(()) };
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if bytes > LONG_BYTES || self.session.queued_bytes() + bytes > CROWDED_BYTES {
            tokio::task::block_in_place(|| what(call))
        } else {
            what(call)
        }
    }

    /// Returns when what it was told so far survives the death of the program.
    pub(crate) async fn until_written(&self) -> Result<(), RecordError> {
        if self.records() { self.session.until_written().await } else { Ok(()) }
    }

    pub(crate) fn request_chunk(&self, bytes: &Bytes) -> Result<(), RecordError> {
        self.record(bytes.len(), |call| call.request_chunk(self.at_us(), bytes))
    }

    pub(crate) fn response_chunk(&self, bytes: &Bytes) -> Result<(), RecordError> {
        self.record(bytes.len(), |call| call.response_chunk(self.at_us(), bytes))
    }

    /// Hears that the answer is whole, although its body may go on.
    pub(crate) fn note_whole(&self) {
        self.is_whole.store(true, Ordering::Relaxed);
    }

    /// Whether nothing of the answer is missing if somebody ends the connection now.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole.load(Ordering::Relaxed)
    }

    /// Ends the exchange.
    pub(crate) fn end(
        &mut self,
        outcome: Outcome<'_>,
        request_trailers: Vec<Header<'_>>,
        response_trailers: Vec<Header<'_>>,
    ) -> Result<(), RecordError> {
        let Some(call) = self.call.take() else { return Ok(()) };
        let ended_us = Some(self.at_us());
        let ending = ExchangeEnd { ended_us, request_trailers, response_trailers, outcome };
        // A compressed body is looked through now.
        let takes_long = self.bytes.load(Ordering::Relaxed) > LONG_BYTES;
        if takes_long { tokio::task::block_in_place(|| call.end(ending)) } else { call.end(ending) }
    }

    pub(crate) fn abort(&mut self, error: NetworkError<'_>) {
        // If the recorder has failed, that is said elsewhere.
        let _ = self.end(Outcome::Aborted(error), Vec::new(), Vec::new());
    }

    /// Whether something is recorded at all.
    pub(crate) fn records(&self) -> bool {
        self.call.is_some()
    }
}
