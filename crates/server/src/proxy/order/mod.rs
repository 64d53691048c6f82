//! In which order answers from a cassette are released.
//!
//! Everything that a client could see while it was recorded has a time on the cassette: a request was there, an answer began, a piece
//! of it came, it was over. These times are a logical clock: in one recording no two are equal. A replay keeps their order, however fast it is:
//!
//! 1. A piece of an answer is given when every answer that is asked for by now has given what came before that piece, and every request that
//!    came before it is there.
//! 2. A request may never come: the program asks for less than it did, or asks only when it has this answer. So it is waited for
//!    [for some time](waiting) only.
//! 3. After the end of an answer, while others are waiting, the program is [left alone](settling) with it for a moment, until it shows that it has it.
//! 4. An answer that a client does not take holds up others for [`STALL`] only.
//!
//! Of the answers that wait, the one whose next piece came first waits for nothing but requests that are not there, and its own time. So there
//! is always one that goes on. What a program's threads do with their answers is up to the system: the order in which they run is not kept.
//!
//! Cost: a lock and a place in a sorted map for each piece.

mod live;
mod moment;
mod settling;
mod state;
mod waiting;

pub(crate) use live::{LiveAnswer, STALL};
pub(crate) use moment::RecordedSpan;

use super::client_request::ConnectionId;
use super::options::Latency;
use cassette::{Cassette, Outline};
use state::{LiveState, OrderState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;
use waiting::Pace;

/// The order of the answers of one cassette.
pub(crate) struct ReleaseOrder {
    cassette: Arc<Cassette>,
    state: Mutex<OrderState>,
    pace: Pace,
}

/// What the order came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct OrderReport {
    /// Pairs of positions that were asked for at the same time and are answers to the same question.
    pub(crate) met: Vec<(usize, usize)>,
    /// Requests that came after an answer had been given that was recorded after they were there.
    pub(crate) late: u64,
    /// Requests that were made while others waited, and of which it is not recorded when their answers were over.
    pub(crate) untimed: u64,
}

impl ReleaseOrder {
    pub(crate) fn new(cassette: Arc<Cassette>, latency: Latency) -> Self {
        let state = Mutex::new(OrderState::new(cassette.len()));
        Self { cassette, state, pace: Pace::of(latency) }
    }

    fn lock(&self) -> MutexGuard<'_, OrderState> {
        // Nothing is left half done under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request is there that is not answered in the order, such as one for a WebSocket: nobody waits for it.
    pub(crate) fn note(&self, position: usize) {
        let mut state = self.lock();
        state.arrive(position);
        state.wake_first();
    }

    /// A request is there, by this connection, that the exchange at this position answers.
    pub(crate) fn enter(
        &self,
        connection: ConnectionId,
        (position, question): (usize, usize),
        outline: &Outline<'_>,
    ) -> LiveAnswer<'_> {
        let span = RecordedSpan::of(outline);
        let wake = Arc::new(Notify::new());
        let mut state = self.lock();
        state.arrive(position);
        state.untimed += u64::from(!span.is_timed && !state.live.is_empty());
        let others = state.asked_now.entry(question).or_default();
        let met = others.last().map(|&other| (other, position));
        others.push(position);
        state.met.extend(met);
        state.live.insert(span.asked, LiveState { giving_since: None, wake: wake.clone() });
        state.settling.take_if(|settling| settling.is_seen_by(connection, span.asked));
        state.wake_first();
        let (next, started_ns) = (span.asked, outline.exchange.started_ns);
        LiveAnswer {
            order: self,
            connection,
            position,
            question,
            span,
            arrived: Instant::now(),
            next,
            started_ns,
            wake,
        }
    }

    /// The client ended a connection, so it has what came by it.
    pub(crate) fn left(&self, connection: ConnectionId) {
        let mut state = self.lock();
        if state.settling.take_if(|settling| settling.is_on(connection)).is_some() {
            state.wake_first();
        }
    }

    pub(crate) fn report(&self) -> OrderReport {
        let state = self.lock();
        OrderReport { met: state.met.iter().copied().collect(), late: state.late, untimed: state.untimed }
    }
}
