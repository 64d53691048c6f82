//! Exchanges that may be left out: nothing of one goes into the queue before it is decided.

use super::queue::{QueueItem, WriteQueue, frame_of};
use super::redacted;
use crate::error::RecordError;
use crate::filter::{Filter, LeftOutCounts, Verdict};
use crate::message::{Request, Response};
use crate::record::event::Event;
use crate::redact::Redaction;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// More bytes of a request are not held back; it is kept then.
const HELD_BYTES_MAX: usize = 8 << 20;

/// What a recorder leaves out, and how often it did.
#[derive(Debug)]
pub(super) struct LeftOutFilter {
    pub(super) filter: Filter,
    pub(super) counts: LeftOutCounts,
}

impl LeftOutFilter {
    pub(super) fn new(filter: Filter) -> Self {
        Self { filter, counts: LeftOutCounts::default() }
    }

    /// Counts an exchange that is left out, and puts the count on the cassette.
    pub(super) fn count(
        &self,
        reason: &str,
        queue: &WriteQueue,
        redaction: Option<&Redaction>,
    ) -> Result<(), RecordError> {
        self.counts.add(reason, |note| queue.give(frame_of(&Event::Meta(redacted(note, redaction)), 0)?))
    }
}

/// Where everything that happens to an exchange comes by.
pub(super) struct FilterGate {
    sieve: Arc<LeftOutFilter>,
    state: Mutex<GateState>,
}

enum GateState {
    Open,
    Shut,
    /// Until the response begins.
    Undecided {
        request: Box<Request<'static>>,
        held: Vec<QueueItem>,
        bytes: usize,
    },
}

impl FilterGate {
    /// For an exchange that begins with this request; one that is left out for it is counted.
    pub(super) fn new(
        sieve: Arc<LeftOutFilter>,
        request: &Request<'_>,
        queue: &WriteQueue,
        redaction: Option<&Redaction>,
    ) -> Result<Self, RecordError> {
        let state = match sieve.filter.decide(request, None) {
            Verdict::LeftOut(reason) => {
                sieve.count(reason, queue, redaction)?;
                GateState::Shut
            }
            Verdict::Kept if sieve.filter.needs_response() => {
                GateState::Undecided { request: Box::new(request.head().into_owned()), held: Vec::new(), bytes: 0 }
            }
            Verdict::Kept => GateState::Open,
        };
        Ok(Self { sieve, state: Mutex::new(state) })
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the exchange is left out.
    pub(super) fn is_shut(&self) -> bool {
        matches!(*self.lock(), GateState::Shut)
    }

    /// The response began: the last thing that may decide.
    pub(super) fn answered(
        &self,
        response: &Response<'_>,
        queue: &WriteQueue,
        redaction: Option<&Redaction>,
    ) -> Result<(), RecordError> {
        let mut state = self.lock();
        let GateState::Undecided { request, .. } = &*state else { return Ok(()) };
        if let Verdict::LeftOut(reason) = self.sieve.filter.decide(request, Some(response)) {
            *state = GateState::Shut;
            return self.sieve.count(reason, queue, redaction);
        }
        open(&mut state, queue)
    }

    /// Nothing can decide any more: what is not left out by now is kept.
    pub(super) fn open(&self, queue: &WriteQueue) -> Result<(), RecordError> {
        let mut state = self.lock();
        if matches!(*state, GateState::Shut) { Ok(()) } else { open(&mut state, queue) }
    }

    /// Takes what happened.
    pub(super) fn pass(&self, item: QueueItem, queue: &WriteQueue) -> Result<(), RecordError> {
        let mut state = self.lock();
        match &mut *state {
            GateState::Open => {
                drop(state);
                queue.give(item)
            }
            GateState::Shut => Ok(()),
            GateState::Undecided { held, bytes, .. } => {
                *bytes += item.bytes();
                held.push(item);
                if *bytes > HELD_BYTES_MAX { open(&mut state, queue) } else { Ok(()) }
            }
        }
    }
}

fn open(state: &mut GateState, queue: &WriteQueue) -> Result<(), RecordError> {
    match std::mem::replace(state, GateState::Open) {
        GateState::Undecided { held, .. } => held.into_iter().try_for_each(|item| queue.give(item)),
        _ => Ok(()),
    }
}
