//! Recording and loading whole cassettes, against the recorders that Python has.
//!
//! Each side makes its own file of the same interactions, and loads what it made, until every interaction is there. Theirs is handed to the
//! system when a recording stops, and so is ours then; both are compared once more as files that are on the disk.

use super::{SUITE, exchange, weight};
use crate::compare::{Case, Timed, compare, judged, timed};
use crate::worker::Worker;
use crate::{Plan, Rows, peers};
use cassette::{Cassette, Content, Recorder, RecorderOptions};
use journal::Durability;
use std::error::Error;
use std::path::Path;
use std::process::Command;

pub(super) const SCRIPT: &str = "bench/programs/cassette/with_python.py";
/// How many interactions, and in how many rounds: what is over in a few hundred microseconds is measured more often.
const SIZES: [(u64, usize); 2] = [(10, 151), (500, 15)];

/// What it is called in the script and in rows, and how its file ends.
const LIBRARIES: [(&str, &str, &str); 3] = [
    ("vcrpy-yaml", "vcrpy 9.4.2, YAML", "yaml"),
    ("vcrpy-json", "vcrpy 9.4.2, JSON", "json"),
    ("cassetter", "cassetter 0.16.1", "cassetter.yaml"),
];

/// Runs the cases.
pub(super) fn cases(plan: &Plan) -> Rows {
    let mut command = Command::new(peers::python_with_cassettes(plan.may_install)?);
    let mut worker = Worker::start(command.arg(SCRIPT))?;
    let mut rows = Vec::new();
    for (n, rounds) in SIZES {
        let content = Content { exchanges: (0..n).map(exchange).collect(), meta: Vec::new() };
        std::fs::write(plan.scratch.join(format!("{n}.har")), content.to_har()?.0)?;
        for (library, peer, ending) in LIBRARIES {
            let theirs = plan.scratch.join(format!("{n}.{ending}")).display().to_string();
            let ours = plan.scratch.join(format!("{n}.cassette"));
            let mut contest = |name: &str, command: &str, note: &str, side: fn(&Path, u64) -> Done| {
                let (name, rounds, note) = (format!("{name}, {n}"), plan.rounds(rounds), note.to_owned());
                let case = Case { suite: SUITE, name, n, peer, rounds, note };
                let line = format!("{command} {library} {theirs} {n}");
                let mut row = compare(case, &mut || side(&ours, n), &mut || worker.ask(&line))?;
                row.note = judged(&row.note, Some((1.0, "faster")), row.ratio.map(|ratio| ratio.median));
                Ok::<_, Box<dyn Error>>(row)
            };
            let note = "from opening to the end; neither waits for the disk (ours with `sealing(Durability::Os)`)";
            rows.push(contest("recorded, through stop", "record", note, record)?);
            let note = "from opening to the end; both are synced to the disk, file and name (ours without being asked)";
            rows.push(contest("recorded, through stop, synced", "record-synced", note, record_synced)?);
            let note = "each loads what it wrote; ours from opening, with every exchange decoded";
            rows.push(contest("loaded", "load", note, load)?);
            if let Some(load) = foreign(ending) {
                let note = "both load what the peer wrote; ours into exchanges of its own";
                rows.push(contest("the peer's file loaded", "load", note, load)?);
            }
            let note =
                "ours loads a HAR file of the same interactions, which the peer has no reader for: it loads its own";
            rows.push(contest("HAR loaded", "load", note, load_har)?);
        }
    }
    Ok(rows)
}

type Done = Result<Timed, Box<dyn Error>>;

fn record(path: &Path, n: u64) -> Done {
    record_with(RecorderOptions::default().keep_secrets().sealing(Durability::Os), path, n)
}

fn record_synced(path: &Path, n: u64) -> Done {
    record_with(RecorderOptions::default().keep_secrets(), path, n)
}

fn record_with(options: RecorderOptions, path: &Path, n: u64) -> Done {
    remove(path)?;
    let (elapsed, ()) = timed(|| {
        let recorder = Recorder::open(path, options)?;
        for number in 0..n {
            recorder.record(exchange(number))?;
        }
        Ok(recorder.finish()?)
    })?;
    Ok(Timed { elapsed, checksum: n })
}

fn load(path: &Path, _: u64) -> Done {
    let (elapsed, checksum) = timed(|| {
        let cassette = Cassette::open(path)?;
        let mut checksum = 0;
        for exchange in cassette.exchanges() {
            checksum += weight(b"https://api.example.com") + weight(&exchange?.request.target);
        }
        Ok(checksum)
    })?;
    Ok(Timed { elapsed, checksum })
}

/// What loads a file of a peer that ends so, if it is of a form that ours reads.
fn foreign(ending: &str) -> Option<fn(&Path, u64) -> Done> {
    match ending {
        "yaml" => Some(|ours, n| load_form(&ours.with_file_name(format!("{n}.yaml")))),
        "json" => Some(|ours, n| load_form(&ours.with_file_name(format!("{n}.json")))),
        _ => None,
    }
}

fn load_har(ours: &Path, n: u64) -> Done {
    load_form(&ours.with_file_name(format!("{n}.har")))
}

fn load_form(path: &Path) -> Done {
    let (elapsed, checksum) = timed(|| {
        let content = Content::read(path)?;
        let targets = content.exchanges.iter().map(|exchange| weight(&exchange.request.target));
        Ok(targets.map(|target| weight(b"https://api.example.com") + target).sum())
    })?;
    Ok(Timed { elapsed, checksum })
}

/// Takes the cassette of the round before away, if there was one.
fn remove(path: &Path) -> Result<(), Box<dyn Error>> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
