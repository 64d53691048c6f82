//! A cassette of 100 MB: opening it, the first exchange, and the memory that takes.
//!
//! 1600 exchanges have a response of 64 KiB each, texts that do not repeat. Each side makes its own file of them, untimed, then opens it and
//! reads one exchange with its body. The memory is that of a process that does nothing else, above what it had before.

use super::{SUITE, weight};
use crate::compare::{Case, Timed, compare, judged, timed};
use crate::row::{Ratio, Row};
use crate::worker::{Worker, memory_of, peak_of};
use crate::{Plan, Rows, Suite, peers};
use cassette::{Body, Cassette, Exchange, Header, Recorder, RecorderOptions, Request, Response};
use std::error::Error;
use std::path::Path;
use std::process::Command;

/// The part that is a process of its own; `--only` names its cassette.
const MEMORY: &str = "cassette-memory";
pub(crate) const ALONE: Suite = Suite { name: MEMORY, has_programs: true, run: alone };

const EXCHANGES: u64 = 1600;
const WORDS: u64 = 4096;
const ROUNDS: usize = 5;

/// The name of a peer in the script and in rows, and how its file ends. YAML of this length takes vcrpy minutes, and cassetter refuses
/// its own: no more than 64 MiB of texts.
const LIBRARIES: [(&str, &str, &str); 2] =
    [("vcrpy-json", "vcrpy 9.4.2, JSON", "json"), ("cassetter", "cassetter 0.16.1, TOML", "cassetter.toml")];

/// Runs the cases.
pub(super) fn cases(plan: &Plan) -> Rows {
    let python = peers::python_with_cassettes(plan.may_install)?;
    let (n, ours) = (plan.scaled(EXCHANGES), plan.scratch.join("large.cassette"));
    record(&ours, n)?;
    let our_memory = memory_of_ours(plan, &ours)?;
    let mut rows = Vec::new();
    for (library, peer, ending) in LIBRARIES {
        let theirs = plan.scratch.join(format!("large.{ending}")).display().to_string();
        let mut worker = Worker::start(Command::new(&python).arg(super::python::SCRIPT))?;
        worker.ask(&format!("record-large {library} {theirs} {n}"))?;
        let line = format!("first {library} {theirs} {n}");
        let note = "each opens its own file of 1,600 exchanges with 64 KiB of text, and reads the first with its body"
            .to_owned();
        let name = "open 100 MB, first exchange".to_owned();
        let case = Case { suite: SUITE, name, n: 1, peer, rounds: plan.rounds(ROUNDS), note };
        let mut row = compare(case, &mut || first(&ours), &mut || worker.ask(&line))?;
        row.note = judged(&row.note, Some((1.0, "faster")), row.ratio.map(|ratio| ratio.median));
        rows.push(row);
        // A process that has not loaded anything before.
        let mut worker = Worker::start(Command::new(&python).arg(super::python::SCRIPT))?;
        worker.ask(&format!("nothing {library} {theirs} {n}"))?;
        let before = worker.memory()?;
        worker.ask(&line)?;
        rows.push(memory_row(peer, our_memory, worker.peak()?.saturating_sub(before) as f64));
    }
    Ok(rows)
}

fn memory_row(peer: &'static str, ours: f64, theirs: f64) -> Row {
    let ratio = theirs / ours;
    eprintln!("open 100 MB, peak memory: {ours} bytes, {peer} {theirs}");
    Row {
        suite: SUITE,
        case: "open 100 MB, peak memory".to_owned(),
        n: 1,
        ours: Some(ours),
        peer,
        peer_figure: Some(theirs),
        ratio: Some(Ratio { median: ratio, min: ratio, max: ratio }),
        rounds: 1,
        unit: Some("bytes"),
        note: judged(
            "the same in a process of its own: its most memory, less what it had before; ours maps the file",
            Some((1.0, "less")),
            Some(ratio),
        ),
    }
}

/// Texts that no recorder can share or make much shorter, the same in Python.
fn body(number: u64) -> String {
    let word = |at: u64| format!("{:016x}", (number * WORDS + at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (0..WORDS).map(word).collect()
}

fn exchange(number: u64) -> Exchange<'static> {
    Exchange {
        number,
        started_ns: super::started_ns(number),
        request: Request {
            method: "GET".into(),
            scheme: "https".into(),
            host: "api.example.com".into(),
            port: 443,
            target: format!("/resource/{number}").into(),
            ..Request::default()
        },
        response: Some(Response {
            status: 200,
            headers: vec![Header::new("Content-Type", "text/plain")],
            body: Some(Body::new(0, body(number))),
            ..Response::default()
        }),
        ..Exchange::default()
    }
}

fn record(path: &Path, n: u64) -> Result<(), Box<dyn Error>> {
    let recorder = Recorder::open(path, RecorderOptions::default().keep_secrets())?;
    for number in 0..n {
        recorder.record(exchange(number))?;
    }
    Ok(recorder.finish()?)
}

fn first(path: &Path) -> Result<Timed, Box<dyn Error>> {
    let (elapsed, checksum) = timed(|| {
        let cassette = Cassette::open(path)?;
        let exchange = cassette.exchange(0)?;
        let response = exchange.response.as_ref().ok_or("it was answered")?;
        Ok(weight(b"https://api.example.com") + weight(&exchange.request.target) + weight(response.body_bytes()))
    })?;
    Ok(Timed { elapsed, checksum })
}

/// Runs a process that does the same; the most memory that it took above what it had.
fn memory_of_ours(plan: &Plan, cassette: &Path) -> Result<f64, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([MEMORY, "--into"]).arg(&plan.scratch).arg("--only").arg(cassette);
    let status = command.status().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if !status.success() {
        return Err(format!("{command:?}: {status}").into());
    }
    Ok(std::fs::read_to_string(plan.scratch.join("peak"))?.trim().parse()?)
}

/// The work of that process, which writes its figure to a file and makes no rows.
fn alone(plan: &Plan) -> Rows {
    let cassette = plan.only.as_deref().ok_or("which cassette")?;
    let folder = plan.scratch.parent().ok_or("the folder of the run")?;
    let before = memory_of("self")?;
    first(Path::new(cassette))?;
    std::fs::write(folder.join("peak"), peak_of("self")?.saturating_sub(before).to_string())?;
    Ok(Vec::new())
}
