//! Every chore of the repository, as `cargo xtask TASK`.
//!
//! Invariants:
//! - A task without `--install` (or `CI=true`) gets nothing over the network, except `wordnet`, whose purpose it is, and
//!   that one writes only below the target folder and `data/`. No task installs a system package.
//! - A task says what is missing, how to get it, and counts it as skipped; with `--install` or `CI=true` a skip is a
//!   failure.
//!
//! How a call runs: [`arguments`] turns the words into flags, [`main`] finds the task in [`TASKS`], and the task
//! answers with an [`Outcome`], which becomes the exit status.

#![forbid(unsafe_code)]
// A chore talks to the person who started it; there is no other edge to hand its text to.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod bench;
mod clients;
mod conformance;
mod differential;
mod licences;
mod process;
mod repository;
mod sanitize;
mod supply;
mod test;
mod tidy;
mod vcrpy;
mod wordnet;

use std::process::ExitCode;

use arguments::{Arguments, Flag, Parsed};

/// What a task comes to: the work is good, or it is not and the task has already said why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Good,
    Bad,
}

/// One chore: its name, the flags it takes and the function that does it.
pub(crate) struct Task {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Shown by `--help` below the flags.
    pub(crate) details: &'static str,
    /// What the plain word stands for that it takes, if it takes one.
    pub(crate) word: Option<&'static str>,
    pub(crate) flags: &'static [Flag],
    run: fn(&Arguments) -> Result<Outcome, String>,
}

const TASKS: &[Task] = &[
    test::TASK,
    tidy::TASK,
    conformance::TASK,
    differential::TASK,
    sanitize::TASK,
    supply::TASK,
    licences::TASK,
    wordnet::TASK,
    bench::TASK,
];

/// The exit status of a call that names an unknown task or flag.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        None => {
            print!("{}", arguments::overview(TASKS));
            ExitCode::SUCCESS
        }
        Some((word, _)) if is_help(word) => {
            print!("{}", arguments::overview(TASKS));
            ExitCode::SUCCESS
        }
        Some((name, rest)) => match TASKS.iter().find(|task| task.name == name) {
            Some(task) => call(task, rest),
            None => usage(&arguments::unknown_task(name, TASKS)),
        },
    }
}

fn is_help(word: &str) -> bool {
    matches!(word, "--help" | "-h" | "help")
}

fn call(task: &Task, words: &[String]) -> ExitCode {
    match arguments::parse(task, words) {
        Ok(Parsed::Help) => {
            print!("{}", arguments::help(task));
            ExitCode::SUCCESS
        }
        Ok(Parsed::Run(arguments)) => match (task.run)(&arguments) {
            Ok(Outcome::Good) => ExitCode::SUCCESS,
            Ok(Outcome::Bad) => ExitCode::FAILURE,
            Err(message) => {
                eprintln!("cargo xtask {}: {message}", task.name);
                ExitCode::FAILURE
            }
        },
        Err(message) => usage(&message),
    }
}

fn usage(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(USAGE)
}
