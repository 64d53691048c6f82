//! Suite `proxy`: traffic recorded and replayed through a proxy, against mitmproxy and vcrpy.
//!
//! Both proxies are processes of their own and stay up over all rounds; a round is a keep-alive connection with N
//! requests, one after the other. The client is the same for both sides and does no more than HTTP needs. Answers are those of
//! the Magneto-Serge optimization report.

mod client;
mod origin;
mod peers;
mod recording;
mod replay;
mod websocket;

use crate::{Part, Plan, Rows, rows_of};

const SUITE: &str = "proxy";
/// Requests of a round.
const REQUESTS: u64 = 500;
/// How many rounds a comparison takes.
const ROUNDS: usize = 9;
/// The host of all requests.
const HOST: &str = "api.example.com";

const PARTS: &[Part] = &[
    ("replay", replay::cases),
    ("requests", replay::with_requests),
    ("recording", recording::cases),
    ("websocket", websocket::cases),
];

/// Runs the suite.
pub(crate) fn run(plan: &Plan) -> Rows {
    rows_of(SUITE, PARTS, plan)
}

fn response_body(number: u64) -> String {
    format!("{{\"response\": {number}, \"result\": [1,2,3,4,5], \"message\": \"success\"}}")
}

/// The sum of its bytes.
fn weight(bytes: &[u8]) -> u64 {
    bytes.iter().map(|&byte| u64::from(byte)).sum()
}
