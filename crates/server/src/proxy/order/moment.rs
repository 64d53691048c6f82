//! The times of a recording, by which answers are ordered.

use cassette::{BodyReader, Exchange, NetworkErrorKind, Outcome, Outline};
use std::time::Duration;

/// A time of the recording: nanoseconds since 1970, and the number of the exchange, by which equal times are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    ns: i64,
    pub(super) number: u64,
}

impl Moment {
    /// When something was there that came some microseconds after an exchange began.
    pub(super) fn of(number: u64, started_ns: i64, at_us: u64) -> Self {
        let after = i64::try_from(at_us).unwrap_or(i64::MAX).saturating_mul(1_000);
        Self { ns: started_ns.saturating_add(after), number }
    }

    /// How long it is after another; nothing if it is before.
    pub(super) fn after(self, other: Self) -> Duration {
        Duration::from_nanos(u64::try_from(self.ns.saturating_sub(other.ns)).unwrap_or(0))
    }
}

/// From when to when an exchange went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordedSpan {
    /// When its request was there.
    pub(crate) asked: Moment,
    /// When its answer was there, as far as that is known: a client may have enough with the last piece, and end the exchange itself.
    pub(crate) answered: Moment,
    /// Whether it is known when its answer was there.
    pub(crate) is_timed: bool,
}

impl RecordedSpan {
    pub(crate) fn of(outline: &Outline<'_>) -> Self {
        let Outline { exchange, request_body, response_body, .. } = outline;
        let last = |body: &Option<BodyReader<'_>>| body.as_ref().and_then(BodyReader::ended_us);
        let head = exchange.response.as_ref().map(|response| response.at_us);
        let is_given = match &exchange.outcome {
            Outcome::Aborted(error) => error.kind == NetworkErrorKind::Other,
            outcome => *outcome == Outcome::Complete,
        };
        let answered = last(response_body).filter(|_| is_given).or(exchange.ended_us);
        let answered = answered.or(last(response_body)).or(head);
        let asked = last(request_body).unwrap_or(0);
        let moment = |at_us| at(exchange, at_us);
        Self {
            asked: moment(asked),
            answered: moment(answered.unwrap_or(asked).max(asked)),
            is_timed: exchange.started_ns != 0 && answered.is_some_and(|answered| answered > 0),
        }
    }
}

fn at(exchange: &Exchange<'_>, at_us: u64) -> Moment {
    Moment::of(exchange.number, exchange.started_ns, at_us)
}
