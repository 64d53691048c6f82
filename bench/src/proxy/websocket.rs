//! Messages of a WebSocket that are recorded.

use super::peers::{ours, text, theirs};
use super::{ROUNDS, SUITE, client, origin, weight};
use crate::compare::{Case, Timed, compare, timed};
use crate::{Plan, Rows};
use std::error::Error;
use std::net::SocketAddr;
use tungstenite::Message;

/// Messages of a round, each of which is answered with the same.
const MESSAGES: u64 = 1000;

/// Runs the cases.
pub(super) fn cases(plan: &Plan) -> Rows {
    let origin = origin::echo()?;
    let (cassette, flows) = (plan.scratch.join("socket.cassette"), plan.scratch.join("socket.flows"));
    let our = ours(plan, &["record", "-o", text(&cassette), "--mode", "all"])?;
    let their = theirs(plan, &["--save-stream-file", text(&flows)])?;
    let case = Case {
        suite: SUITE,
        name: "WebSocket messages recorded".to_owned(),
        n: MESSAGES,
        peer: "mitmproxy 11.0.2",
        rounds: plan.rounds(ROUNDS),
        note: "each waits for its echo, so two messages are recorded for one that is counted".to_owned(),
    };
    let spoken = |proxy: SocketAddr| spoken(proxy, origin);
    Ok(vec![compare(case, &mut || spoken(our.address), &mut || spoken(their.address))?])
}

/// A round: a conversation, opened before the time counts.
fn spoken(proxy: SocketAddr, origin: SocketAddr) -> Result<Timed, Box<dyn Error>> {
    let stream = client::tunnel(proxy, &origin.to_string())?;
    let (mut socket, _) = tungstenite::client(format!("ws://{origin}/"), stream)?;
    let (elapsed, checksum) = timed(|| {
        (0..MESSAGES).try_fold(0, |sum, number| {
            socket.send(Message::text(format!("{{\"message\": {number}}}")))?;
            Ok(sum + weight(&socket.read()?.into_data()))
        })
    })?;
    Ok(Timed { elapsed, checksum })
}
