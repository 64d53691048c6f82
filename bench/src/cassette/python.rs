//! Recording and loading whole cassettes, against the recorders that Python has.
//!
//! Each side makes its own file of the same interactions, and loads what it made, until every interaction is there. Ours is on the disk when a
//! recording stops; theirs is handed to the system.

use super::{SUITE, exchange, weight};
use crate::compare::{Case, Timed, compare, judged, timed};
use crate::worker::Worker;
use crate::{Plan, Rows, peers};
use cassette::{Recorder, RecorderOptions, Tape};
use std::error::Error;
use std::path::Path;
use std::process::Command;

const SCRIPT: &str = "bench/programs/cassette/with_python.py";
const SIZES: [u64; 2] = [10, 500];
const ROUNDS: usize = 15;

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
    for n in SIZES {
        for (library, peer, ending) in LIBRARIES {
            let theirs = plan.scratch.join(format!("{n}.{ending}")).display().to_string();
            let ours = plan.scratch.join(format!("{n}.tape"));
            let mut contest = |name: &str, command: &str, note: &str, side: fn(&Path, u64) -> Done| {
                let (name, rounds, note) = (format!("{name}, {n}"), plan.rounds(ROUNDS), note.to_owned());
                let case = Case { suite: SUITE, name, n, peer, rounds, note };
                let line = format!("{command} {library} {theirs} {n}");
                let mut row = compare(case, &mut || side(&ours, n), &mut || worker.ask(&line))?;
                row.note = judged(&row.note, Some((1.0, "faster")), row.ratio.map(|ratio| ratio.median));
                Ok::<_, Box<dyn Error>>(row)
            };
            let note = "from opening to the end; ours is synced to the disk, twice, and theirs is not";
            rows.push(contest("recorded, through stop", "record", note, record)?);
            let note = "from opening to the end; theirs is synced to the disk as well, file and name";
            rows.push(contest("recorded, through stop, synced", "record-synced", note, record)?);
            let note = "each loads what it wrote; ours from opening, with every exchange decoded";
            rows.push(contest("loaded", "load", note, load)?);
        }
    }
    Ok(rows)
}

type Done = Result<Timed, Box<dyn Error>>;

fn record(path: &Path, n: u64) -> Done {
    remove(path)?;
    let (elapsed, ()) = timed(|| {
        let recorder = Recorder::open(path, RecorderOptions::default().keep_secrets())?;
        for number in 0..n {
            recorder.record(exchange(number))?;
        }
        Ok(recorder.finish()?)
    })?;
    Ok(Timed { elapsed, checksum: n })
}

fn load(path: &Path, _: u64) -> Done {
    let (elapsed, checksum) = timed(|| {
        let tape = Tape::open(path)?;
        let mut checksum = 0;
        for exchange in tape.exchanges() {
            checksum += weight(b"https://api.example.com") + weight(&exchange?.request.target);
        }
        Ok(checksum)
    })?;
    Ok(Timed { elapsed, checksum })
}

/// Takes the tape of the round before away, if there was one.
fn remove(path: &Path) -> Result<(), Box<dyn Error>> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
