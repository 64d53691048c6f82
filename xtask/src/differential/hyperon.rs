//! Hyperon from PyPI, in a virtual environment below the target folder: one Python process for many programs.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::Answers;
use crate::{process, repository};

/// The version whose behaviour Metroon follows.
const VERSION: &str = "0.2.10";
const PEER: &str = include_str!("peer.py");
/// How long a program may take, in seconds.
const SECONDS: u64 = 5;

/// A running Python process.
pub(super) struct Hyperon {
    child: Child,
    programs: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// What came of a program in Hyperon.
pub(super) enum Ran {
    Finished(Answers),
    /// It took too long.
    Stopped,
    /// It ended its process: a defect of Hyperon's, whatever the program.
    Ended,
}

fn folder() -> PathBuf {
    repository::target().join(format!("hyperon-{VERSION}"))
}

fn python() -> PathBuf {
    folder().join("bin").join("python")
}

/// Whether it is there.
pub(super) fn is_there() -> bool {
    let mut command = Command::new(python());
    command.args(["-c", "import hyperon"]);
    process::bounded(&mut command, std::time::Duration::from_secs(60)).is_ok_and(|finished| finished.succeeded())
}

/// How to get it.
pub(super) fn how_to_get() -> String {
    format!(
        "hyperon {VERSION} is not in {}: `cargo xtask differential --install` gets it from PyPI (needs python3 with venv)",
        repository::shown(&folder())
    )
}

/// Gets it from PyPI.
///
/// # Errors
/// What did not work.
pub(super) fn install() -> Result<(), String> {
    let requirement = format!("hyperon=={VERSION}");
    let mut environment = Command::new("python3");
    environment.args(["-m", "venv"]).arg(folder());
    let mut package = Command::new(python());
    package.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement.as_str()]);
    for mut command in [environment, package] {
        if !process::shown(&mut command)? {
            return Err(format!("cannot install {requirement}: {command:?} failed"));
        }
    }
    Ok(())
}

impl Hyperon {
    /// Starts the process.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start() -> Result<Self, String> {
        Self::start_in(&repository::root())
    }

    /// Starts the process in a folder, where it looks for modules.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start_in(place: &Path) -> Result<Self, String> {
        let script = folder().join("peer.py");
        fs::write(&script, PEER).map_err(|error| format!("cannot write {}: {error}", script.display()))?;
        let mut command = Command::new(python());
        command.current_dir(place).arg("-B").arg(&script).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("cannot start {}: {error}", python().display()))?;
        let programs = child.stdin.take().expect("its input was asked for");
        let answers = BufReader::new(child.stdout.take().expect("its output was asked for"));
        Ok(Self { child, programs, answers })
    }

    /// Runs a program, one form a line.
    ///
    /// # Errors
    /// The process ended, or answers what cannot be read.
    pub(super) fn run(&mut self, program: &str) -> Result<Ran, String> {
        let lost = |error: &dyn std::fmt::Display| format!("the Python process of hyperon does not answer: {error}");
        let forms: Vec<&str> = program.lines().collect();
        writeln!(self.programs, "{}", json!({ "forms": forms, "seconds": SECONDS })).map_err(|error| lost(&error))?;
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(|error| lost(&error))?;
        let answer: Value = serde_json::from_str(&line).map_err(|error| lost(&error))?;
        Ok(match answer["status"].as_str() {
            Some("finished") => Ran::Finished(Answers {
                forms: answer["answers"].as_array().into_iter().flatten().map(texts).collect(),
                printed: texts(&answer["printed"]),
            }),
            Some("stopped") => Ran::Stopped,
            _ => Ran::Ended,
        })
    }
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

impl Drop for Hyperon {
    fn drop(&mut self) {
        // It serves until its input ends, which this is; nothing else can be done if it cannot be stopped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
