//! Requests that go through to an origin, and are recorded.

use super::peers::{ours, text, theirs};
use super::{REQUESTS, ROUNDS, SUITE, client, origin};
use crate::compare::{Case, Timed, compare, judged, timed};
use crate::{Plan, Rows};
use std::error::Error;
use std::net::SocketAddr;

/// Runs the cases.
pub(super) fn cases(plan: &Plan) -> Rows {
    let origin = origin::bare(REQUESTS)?;
    let (cassette, flows) = (plan.scratch.join("recorded.cassette"), plan.scratch.join("recorded.flows"));
    let our = ours(plan, &["record", "-o", text(&cassette), "--mode", "all"])?;
    let their = theirs(plan, &["--save-stream-file", text(&flows)])?;
    let host = origin.to_string();
    let asked = |proxy: SocketAddr| -> Result<Timed, Box<dyn Error>> {
        let mut client = client::plain(proxy, &host)?;
        let (elapsed, checksum) = timed(|| client.get_all(REQUESTS))?;
        Ok(Timed { elapsed, checksum })
    };
    let note = "from a server on loopback; ours is with the system when the answer is there, theirs when it pleases";
    let case = Case {
        suite: SUITE,
        name: "recorded, plain".to_owned(),
        n: REQUESTS,
        peer: "mitmproxy 11.0.2",
        rounds: plan.rounds(ROUNDS),
        note: note.to_owned(),
    };
    let mut row = compare(case, &mut || asked(our.address), &mut || asked(their.address))?;
    row.note = judged(&row.note, Some((20.0, "mitmproxy")), row.ratio.map(|ratio| ratio.median));
    Ok(vec![row])
}
