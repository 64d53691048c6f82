//! What it costs that a run is remembered: whole processes, in pairs.
//!
//! The program is `examples/wordnet.metta`: it reads 574,041 facts and asks some forty questions. Its data is made by
//! `cargo xtask wordnet`.

use crate::compare::{Case, Side, Timed, compare, timed};
use crate::{Plan, Rows, command};
use std::collections::hash_map::DefaultHasher;
use std::error::Error;
use std::hash::Hasher;
use std::path::Path;
use std::process::{Command, Stdio};

const SUITE: &str = "recall";
const PROGRAM: &str = "examples/wordnet.metta";
const DATA: &str = "data/wordnet.metta";

pub(crate) fn run(plan: &Plan) -> Rows {
    if !Path::new(DATA).is_file() {
        return Err(format!("there is no {DATA}: make it with `cargo xtask wordnet`").into());
    }
    let metroon = command::build("release")?;
    let scratch = plan.scratch.canonicalize()?;
    let [tape, base, kept_tape, kept_base] =
        ["run.tape", "base", "kept.tape", "kept-base"].map(|name| scratch.join(name));
    let plain = || process(&metroon, &["run", PROGRAM]);
    process(&metroon, &["run", "--record", text(&kept_tape), PROGRAM])?;
    process(&metroon, &["run", "--kb", text(&kept_base), PROGRAM])?;

    let mut rows = Vec::new();
    let mut row = |name: &str, rounds, peer, note, ours: Side<'_>, theirs: Side<'_>| {
        let case = Case {
            suite: SUITE,
            name: name.to_owned(),
            n: 1,
            peer,
            rounds: plan.rounds(rounds),
            note: String::from(note),
        };
        compare(case, ours, theirs).map(|row| rows.push(row))
    };
    row(
        "WordNet program, recorded",
        15,
        "the same, not recorded",
        "what a recording costs; must be 0.952 (5 %) or more",
        &mut || {
            remove(&tape)?;
            process(&metroon, &["run", "--record", text(&tape), PROGRAM])
        },
        &mut || plain(),
    )?;
    row(
        "WordNet program, kept in a new base",
        7,
        "the same, not kept",
        "every fact with its place in the journal, durable before its answer is printed",
        &mut || {
            remove(&base)?;
            process(&metroon, &["run", "--kb", text(&base), PROGRAM])
        },
        &mut || plain(),
    )?;
    row(
        "WordNet program, run again in its base",
        7,
        "the same, from the text",
        "the base is opened and nothing is added",
        &mut || process(&metroon, &["run", "--kb", text(&kept_base), PROGRAM]),
        &mut || plain(),
    )?;
    row(
        "WordNet program, replayed",
        7,
        "the run itself",
        "executed again from the tape, each commit and line checked",
        &mut || process(&metroon, &["replay", text(&kept_tape)]),
        &mut || plain(),
    )?;
    Ok(rows)
}

/// Runs a process to its end; its checksum is that of what it prints.
fn process(program: &Path, arguments: &[&str]) -> Result<Timed, Box<dyn Error>> {
    let (elapsed, output) = timed(|| {
        let mut command = Command::new(program);
        Ok(command.args(arguments).stdin(Stdio::null()).stderr(Stdio::piped()).output()?)
    })?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} {}: {}\n{errors}", program.display(), arguments.join(" "), output.status).into());
    }
    let mut hasher = DefaultHasher::new();
    hasher.write(&output.stdout);
    Ok(Timed { elapsed, checksum: hasher.finish() })
}

/// Removes a file or folder, if it is there.
fn remove(path: &Path) -> Result<(), Box<dyn Error>> {
    if path.is_dir() {
        std::fs::remove_dir_all(path)?;
    } else if path.exists() {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the scratch folder has a name in UTF-8")
}
