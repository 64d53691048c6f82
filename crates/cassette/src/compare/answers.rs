//! Whether two answers to one question are the same to the program that asked.

use super::{Change, ChangeList, outcome};
use crate::exchange::Exchange;
use crate::message::{Header, Response};

/// Headers by which equal answers of one server differ: times, identifiers of the request, what is left of an allowance.
const VOLATILE: [&str; 23] = [
    "age",
    "alt-svc",
    "cf-ray",
    "connection",
    "content-length",
    "date",
    "expires",
    "keep-alive",
    "nel",
    "openai-processing-ms",
    "report-to",
    "request-id",
    "server",
    "server-timing",
    "transfer-encoding",
    "via",
    "x-amzn-requestid",
    "x-correlation-id",
    "x-request-id",
    "x-response-time",
    "x-runtime",
    "x-served-by",
    "x-trace-id",
];
/// What the names of headers begin with that say what is left of an allowance, or how a cache came by an answer.
const VOLATILE_BEGINNINGS: [&str; 4] = ["ratelimit", "x-ratelimit", "anthropic-ratelimit", "x-cache"];

/// The first thing in which two answers differ that a program could act on; `None` if there is none. It is the response, what came before
/// it, the messages of a WebSocket, and how the exchange ended. Times, the limits of chunks, and headers that differ with every
/// answer of a server, such as `Date` and `X-Request-Id`, count for nothing; neither does what was asked.
pub fn answer_difference(one: &Exchange<'_>, other: &Exchange<'_>) -> Option<Change> {
    let mut changes = ChangeList::default();
    changes.informational(&one.informational, &other.informational);
    let [before, after] = [one, other].map(|exchange| exchange.response.as_ref().map(without_volatile));
    changes.responses(before.as_ref(), after.as_ref());
    changes.frames(one.frames.as_deref(), other.frames.as_deref());
    changes.texts("outcome", outcome(&one.outcome), outcome(&other.outcome));
    // What a body says tells more than that it is longer.
    let at = changes.0.iter().position(|change| change.place.starts_with("response body")).unwrap_or(0);
    changes.0.into_iter().nth(at)
}

fn without_volatile<'r>(response: &'r Response<'_>) -> Response<'r> {
    let is_volatile = |header: &Header<'_>| {
        let name = header.name.to_ascii_lowercase();
        VOLATILE.iter().any(|known| name == known.as_bytes())
            || VOLATILE_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning.as_bytes()))
    };
    let mut response = response.borrowed();
    response.headers.retain(|header| !is_volatile(header));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Outcome;
    use crate::message::Body;

    fn answer(headers: &[(&'static str, &'static str)], body: &'static str) -> Exchange<'static> {
        let headers = headers.iter().map(|(name, value)| Header::new(*name, *value)).collect();
        let response = Response { status: 200, headers, body: Some(Body::new(7, body)), ..Response::default() };
        Exchange { response: Some(response), ..Exchange::default() }
    }

    #[test]
    fn what_differs_with_every_answer_counts_for_nothing() {
        let one = answer(&[("Date", "today"), ("X-RateLimit-Remaining", "7"), ("ETag", "a")], "frog");
        let mut other = answer(&[("Date", "later"), ("X-RateLimit-Remaining", "6"), ("ETag", "a")], "frog");
        (other.number, other.started_ns, other.ended_us) = (3, 9, Some(1));
        assert_eq!(answer_difference(&one, &other), None);
        let place = |other: &Exchange<'_>| answer_difference(&one, other).map(|change| change.place);
        assert_eq!(place(&answer(&[("ETag", "b")], "frog")).as_deref(), Some("response header etag"));
        assert_eq!(place(&answer(&[("ETag", "b")], "toad")).as_deref(), Some("response body from byte 0"));
        let ended = Exchange { outcome: Outcome::Partial, ..other.borrowed() };
        assert_eq!(place(&ended).as_deref(), Some("outcome"));
        assert_eq!(place(&Exchange::default()).as_deref(), Some("response"));
    }
}
