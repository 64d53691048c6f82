//! Exchanges that may be left out: nothing of one goes into the queue before it is decided.

use super::queue::{Item, Queue, frame_of};
use super::redacted;
use crate::error::RecordError;
use crate::filter::{Counts, Filter, Verdict};
use crate::message::{Request, Response};
use crate::record::event::Event;
use crate::redact::Redaction;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// More bytes of a request are not held back; it is kept then.
const HELD_BYTES_MAX: usize = 8 << 20;

/// What a recorder leaves out, and how often it did.
#[derive(Debug)]
pub(super) struct Sieve {
    pub(super) filter: Filter,
    pub(super) counts: Counts,
}

impl Sieve {
    pub(super) fn new(filter: Filter) -> Self {
        Self { filter, counts: Counts::default() }
    }

    /// Counts an exchange that is left out, and puts the count on the cassette.
    pub(super) fn count(&self, reason: &str, queue: &Queue, redaction: Option<&Redaction>) -> Result<(), RecordError> {
        self.counts.add(reason, |note| queue.give(frame_of(&Event::Meta(redacted(note, redaction)), 0)?))
    }
}

/// Where everything that happens to an exchange comes by.
pub(super) struct Gate {
    sieve: Arc<Sieve>,
    state: Mutex<State>,
}

enum State {
    Open,
    Shut,
    /// Until the response begins.
    Undecided {
        request: Box<Request<'static>>,
        held: Vec<Item>,
        bytes: usize,
    },
}

impl Gate {
    /// For an exchange that begins with this request; one that is left out for it is counted.
    pub(super) fn new(
        sieve: Arc<Sieve>,
        request: &Request<'_>,
        queue: &Queue,
        redaction: Option<&Redaction>,
    ) -> Result<Self, RecordError> {
        let state = match sieve.filter.decide(request, None) {
            Verdict::LeftOut(reason) => {
                sieve.count(reason, queue, redaction)?;
                State::Shut
            }
            Verdict::Kept if sieve.filter.needs_response() => {
                State::Undecided { request: Box::new(request.head().into_owned()), held: Vec::new(), bytes: 0 }
            }
            Verdict::Kept => State::Open,
        };
        Ok(Self { sieve, state: Mutex::new(state) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the exchange is left out.
    pub(super) fn is_shut(&self) -> bool {
        matches!(*self.lock(), State::Shut)
    }

    /// The response began: the last thing that may decide.
    pub(super) fn answered(
        &self,
        response: &Response<'_>,
        queue: &Queue,
        redaction: Option<&Redaction>,
    ) -> Result<(), RecordError> {
        let mut state = self.lock();
        let State::Undecided { request, .. } = &*state else { return Ok(()) };
        if let Verdict::LeftOut(reason) = self.sieve.filter.decide(request, Some(response)) {
            *state = State::Shut;
            return self.sieve.count(reason, queue, redaction);
        }
        open(&mut state, queue)
    }

    /// Nothing can decide any more: what is not left out by now is kept.
    pub(super) fn open(&self, queue: &Queue) -> Result<(), RecordError> {
        let mut state = self.lock();
        if matches!(*state, State::Shut) { Ok(()) } else { open(&mut state, queue) }
    }

    /// Takes what happened.
    pub(super) fn pass(&self, item: Item, queue: &Queue) -> Result<(), RecordError> {
        let mut state = self.lock();
        match &mut *state {
            State::Open => {
                drop(state);
                queue.give(item)
            }
            State::Shut => Ok(()),
            State::Undecided { held, bytes, .. } => {
                *bytes += item.bytes();
                held.push(item);
                if *bytes > HELD_BYTES_MAX { open(&mut state, queue) } else { Ok(()) }
            }
        }
    }
}

fn open(state: &mut State, queue: &Queue) -> Result<(), RecordError> {
    match std::mem::replace(state, State::Open) {
        State::Undecided { held, .. } => held.into_iter().try_for_each(|item| queue.give(item)),
        _ => Ok(()),
    }
}
