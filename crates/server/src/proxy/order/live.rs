//! An answer that is to come, and its place in the order.

use super::ReleaseOrder;
use super::moment::{Moment, RecordedSpan};
use super::settling::Settling;
use super::state::{LiveState, OrderState};
use super::waiting::Waiting;
use crate::proxy::client_request::ConnectionId;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::sleep_until;

/// How long others wait for a client to take a piece.
pub(crate) const STALL: Duration = Duration::from_millis(100);

/// An answer that is to come, and its place in the order.
pub(crate) struct LiveAnswer<'o> {
    pub(super) order: &'o ReleaseOrder,
    pub(super) connection: ConnectionId,
    pub(super) position: usize,
    pub(super) question: usize,
    pub(super) span: RecordedSpan,
    pub(super) arrived: Instant,
    /// When its next piece came.
    pub(super) next: Moment,
    pub(super) started_ns: i64,
    pub(super) wake: Arc<Notify>,
}

impl LiveAnswer<'_> {
    /// Whether what came at this time may be given now. If so, it counts as given when the next piece is announced, or all is over.
    pub(crate) fn is_next(&mut self, at_us: u64) -> bool {
        let mut state = self.order.lock();
        let moment = self.moment(at_us);
        let may = self.look(&mut state, moment, Instant::now()).is_ok();
        if may {
            self.give(&mut state, moment);
        }
        may
    }

    /// Waits for when what came at this time may be given, and is due.
    pub(crate) async fn turn(&mut self, at_us: u64, due: Option<Instant>) {
        let moment = self.moment(at_us);
        {
            let mut state = self.order.lock();
            self.put(&mut state, moment, None);
            state.wake_first();
        }
        if let Some(due) = due {
            sleep_until(due.into()).await;
        }
        let since = Instant::now();
        loop {
            let until = {
                let mut state = self.order.lock();
                match self.look(&mut state, moment, since) {
                    Ok(()) => return self.give(&mut state, moment),
                    Err(until) => until,
                }
            };
            // A word that came meanwhile is kept for who asks for it.
            match until {
                Some(until) => tokio::select! {
                    () = self.wake.notified() => {}
                    () = sleep_until(until.into()) => {}
                },
                None => self.wake.notified().await,
            }
        }
    }

    /// The last piece goes to the client next, who may ask again when it has that: what is asked from now on was not asked at the same time.
    pub(crate) fn answered(&self) {
        self.order.lock().answered(self.question, self.position);
    }

    /// Whether others wait.
    pub(crate) fn has_company(&self) -> bool {
        self.order.lock().live.len() > 1
    }

    /// All of it has gone to the client, which is left alone with it for a moment.
    pub(crate) fn complete(self) {
        let mut state = self.order.lock();
        if state.live.len() > 1 {
            state.settling = Some(Settling::new(self.connection, self.next));
        }
    }

    fn moment(&self, at_us: u64) -> Moment {
        // What came before the request was there, such as an answer to its head, comes with it.
        Moment::of(self.span.asked.number, self.started_ns, at_us).max(self.next)
    }

    fn put(&mut self, state: &mut OrderState, moment: Moment, giving_since: Option<Instant>) {
        state.live.remove(&self.next);
        self.next = moment;
        state.live.insert(moment, LiveState { giving_since, wake: self.wake.clone() });
    }

    fn give(&mut self, state: &mut OrderState, moment: Moment) {
        let now = Instant::now();
        state.last_activity = now;
        self.put(state, moment, Some(now));
        // The next one may have to look how long this one takes.
        state.wake_first();
    }

    /// Whether something may be given now that is waited with since a time; if not, until when that is so at the latest, if somebody
    /// has to look then.
    fn look(&self, state: &mut OrderState, moment: Moment, since: Instant) -> Result<(), Option<Instant>> {
        let now = Instant::now();
        if let Some(until) = state.settling.map(|settling| settling.until(moment)).filter(|until| now < *until) {
            return Err(Some(until));
        }
        for (_, other) in state.live.range(..moment).filter(|(at, _)| at.number != moment.number) {
            match other.giving_since.map(|since| since + STALL) {
                Some(until) if now >= until => {}
                until => return Err(until),
            }
        }
        let cassette = &*self.order.cassette;
        let Some(missing) = state.first_missing(cassette).filter(|missing| missing.asked < moment) else {
            return Ok(());
        };
        let OrderState { last_activity, patience, .. } = *state;
        let waiting = Waiting { span: self.span, arrived: self.arrived, since, last_activity, patience };
        let until = waiting.until(missing, self.order.pace);
        if now < until {
            return Err(Some(until));
        }
        state.give_up(cassette, moment);
        Ok(())
    }
}

impl Drop for LiveAnswer<'_> {
    fn drop(&mut self) {
        let mut state = self.order.lock();
        state.live.remove(&self.next);
        state.answered(self.question, self.position);
        state.last_activity = Instant::now();
        state.wake_first();
    }
}
