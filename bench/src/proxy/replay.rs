//! Answers from a cassette.

use super::peers::{Proxy, cassette, flows, ours, text, theirs};
use super::{HOST, REQUESTS, ROUNDS, SUITE, client};
use crate::compare::{Case, Timed, compare, judged, timed};
use crate::row::Row;
use crate::worker::Worker;
use crate::{Plan, Rows, peers};
use std::error::Error;
use std::process::Command;

const SCRIPT: &str = "bench/programs/proxy/with_requests.py";

type Done = Result<Timed, Box<dyn Error>>;

/// Runs the cases with the plain client.
pub(super) fn cases(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for (scheme, port) in [("http", 80), ("https", 443)] {
        let our = replaying(plan, scheme, port)?;
        let flows = flows(plan, scheme)?;
        let words = ["server_replay_reuse=true", "server_replay_extra=404", "connection_strategy=lazy"];
        let words = words.iter().flat_map(|word| ["--set", word]);
        let words: Vec<&str> = ["--server-replay", text(&flows)].into_iter().chain(words).collect();
        let their = theirs(plan, &words)?;
        let name = format!("replayed, {}", if scheme == "http" { "plain" } else { "TLS" });
        let case = case(plan, name, "mitmproxy 11.0.2", "one keep-alive connection, one request after the other");
        let mut row = compare(case, &mut || asked(&our, scheme), &mut || asked(&their, scheme))?;
        judge(&mut row, 20.0, "mitmproxy");
        rows.push(row);
    }
    Ok(rows)
}

/// Runs the case with the client that Python programs have.
pub(super) fn with_requests(plan: &Plan) -> Rows {
    let our = replaying(plan, "https", 443)?;
    let cassette = plan.scratch.canonicalize()?.join("requests.yaml");
    let mut worker = Worker::start(Command::new(peers::python_with_requests(plan.may_install)?).arg(SCRIPT))?;
    worker.ask(&format!("make {} {REQUESTS}", cassette.display()))?;
    let through = format!("proxy http://{} {} {REQUESTS}", our.address, our.authority.display());
    let within = format!("vcrpy {} {REQUESTS}", cassette.display());
    let note = "a session of requests, over TLS; vcrpy answers within the process, opening included";
    let case = case(plan, "replayed, requests".to_owned(), "vcrpy 9.4.2", note);
    let worker = std::cell::RefCell::new(worker);
    let mut row = compare(case, &mut || worker.borrow_mut().ask(&through), &mut || worker.borrow_mut().ask(&within))?;
    judge(&mut row, 2.0, "vcrpy");
    Ok(vec![row])
}

fn replaying(plan: &Plan, scheme: &'static str, port: u16) -> Result<Proxy, Box<dyn Error>> {
    let cassette = cassette(plan, scheme, port)?;
    ours(plan, &["replay", text(&cassette), "--speed", "0", "--repeats", "last"])
}

/// A round: a new connection, made before the time counts.
fn asked(proxy: &Proxy, scheme: &str) -> Done {
    let (elapsed, checksum) = if scheme == "http" {
        let mut client = client::plain(proxy.address, HOST)?;
        timed(|| client.get_all(REQUESTS))?
    } else {
        let mut client = client::tls(proxy.address, HOST, &proxy.authority)?;
        timed(|| client.get_all(REQUESTS))?
    };
    Ok(Timed { elapsed, checksum })
}

fn case(plan: &Plan, name: String, peer: &'static str, note: &str) -> Case {
    Case { suite: SUITE, name, n: REQUESTS, peer, rounds: plan.rounds(ROUNDS), note: note.to_owned() }
}

fn judge(row: &mut Row, least: f64, peer: &str) {
    row.note = judged(&row.note, Some((least, peer)), row.ratio.map(|ratio| ratio.median));
}
