//! When things happened: HAR has how long each step took, in milliseconds; a cassette has when it was over, in microseconds.

use super::super::document::{Node, SyntaxProblem};
use crate::exchange::Exchange;
use crate::message::Body;
use jiff::Timestamp;

/// In microseconds after the exchange began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HarTimes {
    /// When the request was sent.
    pub(super) sent: u64,
    /// When the head of the response was there.
    pub(super) answered: u64,
    /// When its body was there.
    pub(super) received: u64,
}

/// Steps before the request was sent. `ssl` is a part of `connect`.
const BEFORE: [&str; 4] = ["blocked", "dns", "connect", "send"];

impl HarTimes {
    /// Of `timings`; steps that are -1 or missing took no time.
    pub(super) fn read(timings: &Node) -> Result<Self, SyntaxProblem> {
        let took = |name: &str| Ok::<_, SyntaxProblem>(timings.read_if(name, Node::number)?.unwrap_or(0.0).max(0.0));
        let before = BEFORE.iter().try_fold(0.0, |sum, name| Ok::<_, SyntaxProblem>(sum + took(name)?))?;
        let answered = before + took("wait")?;
        Ok(Self { sent: us(before), answered: us(answered), received: us(answered + took("receive")?) })
    }

    pub(super) fn of(exchange: &Exchange<'_>) -> Self {
        let last = |body: Option<&Body<'_>>| body.and_then(|body| body.chunks().last()).map(|chunk| chunk.at_us);
        let sent = last(exchange.request.body.as_ref()).unwrap_or(0);
        let Some(response) = &exchange.response else { return Self { sent, answered: sent, received: sent } };
        let answered = response.at_us;
        Self {
            sent: sent.min(answered),
            answered,
            received: last(response.body.as_ref()).unwrap_or(answered).max(answered),
        }
    }

    pub(super) fn write(self) -> Node {
        let Self { sent, answered, received } = self;
        Node::map([("send", ms(sent)), ("wait", ms(answered - sent)), ("receive", ms(received - answered))])
    }
}

/// Milliseconds as microseconds; negative ones are none.
pub(super) fn us(ms: f64) -> u64 {
    (ms * 1000.0).round() as u64
}

pub(super) fn ms(us: u64) -> Node {
    if us.is_multiple_of(1000) { (us / 1000).into() } else { (us as f64 / 1000.0).into() }
}

/// Nanoseconds since 1970 of `2026-11-22T10:57:47.123Z`, or with an offset.
pub(super) fn started_ns(time: &Node) -> Result<i64, SyntaxProblem> {
    let text = time.text()?;
    let parsed: Timestamp =
        text.parse().map_err(|error| SyntaxProblem::new(format!("{text:?} is not a time with an offset: {error}")))?;
    i64::try_from(parsed.as_nanosecond())
        .map_err(|_| SyntaxProblem::new(format!("{text} is not a time that a cassette can hold")))
}
