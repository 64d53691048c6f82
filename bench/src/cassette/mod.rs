//! Suite `cassette`: writing, opening and reading exchanges, against the layouts of the Magneto-Serge optimization report.
//!
//! The interactions are those of the report. The peers hold them in the report's structures, or, where `clean` is said, in
//! structures without what makes those slow. All sides sum up the same texts: method, URL, header values, bodies.

mod codecs;
mod large;
mod python;
mod queue;
mod report;

pub(crate) use large::ALONE;

use crate::row::{Ratio, Row};
use crate::{Plan, Rows};
use cassette::{Body, Exchange, Header, Request, Response};

const SUITE: &str = "cassette";
/// How many rounds a comparison takes.
const ROUNDS: usize = 11;
/// How many interactions a cassette of the report has.
const SIZES: [u64; 5] = [1, 10, 50, 100, 500];
/// Small cassettes are repeated within a round until there are this many interactions.
const INTERACTIONS_A_ROUND: u64 = 2000;

/// Runs the suite.
pub(crate) fn run(plan: &Plan) -> Rows {
    let mut rows = codecs::cases(plan)?;
    rows.extend(queue::cases(plan)?);
    rows.extend(python::cases(plan)?);
    rows.extend(large::cases(plan)?);
    Ok(rows)
}

/// When interaction `number` began: about a microsecond after the one before, as in a loop that makes them.
fn started_ns(number: u64) -> i64 {
    let jitter = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55;
    1_760_000_000_123_456_789 + (number * 600 + jitter) as i64
}

fn request_body(number: u64) -> String {
    format!("{{\"request\": {number}, \"data\": \"test data\"}}")
}

fn response_body(number: u64) -> String {
    format!("{{\"response\": {number}, \"result\": [1,2,3,4,5], \"message\": \"success\"}}")
}

/// Interaction `number` of the report.
fn exchange(number: u64) -> Exchange<'static> {
    let json = || Header::new("Content-Type", "application/json");
    Exchange {
        number,
        started_ns: started_ns(number),
        request: Request {
            method: "GET".into(),
            scheme: "https".into(),
            host: "api.example.com".into(),
            port: 443,
            target: format!("/resource/{number}").into(),
            headers: vec![json(), Header::new("Authorization", format!("Bearer token-{number}"))],
            body: Some(Body::new(0, request_body(number))),
            ..Request::default()
        },
        response: Some(Response {
            status: 200,
            headers: vec![json()],
            body: Some(Body::new(0, response_body(number))),
            ..Response::default()
        }),
        ..Exchange::default()
    }
}

/// A sum over the texts of an exchange.
fn sum(exchange: &Exchange<'_>) -> u64 {
    let (request, response) = (&exchange.request, exchange.response.as_ref());
    let headers = request.headers.iter().chain(response.into_iter().flat_map(|response| &response.headers));
    let headers: u64 = headers.map(|header| weight(&header.value)).sum();
    let url = weight(b"https://api.example.com") + weight(&request.target);
    let response = response.map_or(0, |response| weight(response.body_bytes()) + u64::from(response.status));
    weight(&request.method) + url + headers + weight(request.body_bytes()) + response
}

/// The sum of its bytes.
fn weight(bytes: &[u8]) -> u64 {
    bytes.iter().map(|&byte| u64::from(byte)).sum()
}

/// A comparison of two sizes, which are the same on every machine.
fn sizes(name: String, n: u64, ours: usize, peer: &'static str, theirs: usize, note: &str) -> Row {
    let ratio = theirs as f64 / ours as f64;
    Row {
        suite: SUITE,
        case: name,
        n,
        ours: Some(ours as f64),
        peer,
        peer_figure: Some(theirs as f64),
        ratio: Some(Ratio { median: ratio, min: ratio, max: ratio }),
        rounds: 1,
        unit: Some("bytes"),
        note: note.to_owned(),
    }
}
