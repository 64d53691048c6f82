//! Every chore of the repository, as `cargo xtask TASK`.
//!
//! Invariants:
//! - `test` gets what it lacks unless it is told not to (`--offline`), `wordnet` since that is its purpose; another task gets it with
//!   `--install` (or `CI=true`) only. What is got lies below the target folder and `data/`. No task installs a system package.
//! - A task says what is missing, how to get it, and counts it as skipped; with `CI=true`, and with `--install`, a skip is a failure.
//!
//! How a call runs: clap turns the words into a [`Task`] with its flags, and the task answers with an [`Outcome`], which
//! becomes the exit status.

#![forbid(unsafe_code)]
// A chore talks to the person who started it; there is no other edge to hand its text to.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod clients;
mod compat;
mod conformance;
mod corpus;
mod differential;
mod growth;
mod install;
mod licences;
#[cfg(test)]
mod one_build;
mod process;
mod python;
mod repository;
mod sanitize;
mod supply;
mod test;
mod tidy;
mod vcrpy;
mod vulkan;
mod wordnet;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// What a task comes to: the work is good, or it is not and the task has already said why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Good,
    Bad,
}

/// The chores of this repository.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", args_override_self = true)]
#[command(subcommand_value_name = "TASK", subcommand_help_heading = "Tasks")]
struct Call {
    #[command(subcommand)]
    task: Option<Task>,
}

/// One chore with its flags. Its module says what it does.
#[derive(Debug, Subcommand)]
enum Task {
    Test(test::Flags),
    Tidy(tidy::Flags),
    Conformance(conformance::Flags),
    Corpus(corpus::Flags),
    Differential(differential::Flags),
    Growth(growth::Flags),
    Sanitize(sanitize::Flags),
    Supply(supply::Flags),
    Licences(licences::Flags),
    Wordnet(wordnet::Flags),
    Bench(bench::Flags),
    Wheel(python::Wheel),
}

impl Task {
    /// The name of the task and what it comes to.
    fn run(&self) -> (&'static str, Result<Outcome, String>) {
        match self {
            Task::Test(flags) => ("test", test::run(flags)),
            Task::Tidy(flags) => ("tidy", tidy::run(flags)),
            Task::Conformance(flags) if flags.oracle => {
                ("conformance", differential::oracle::run(flags.metroon.as_deref()))
            }
            Task::Conformance(flags) => ("conformance", conformance::run(flags)),
            Task::Corpus(flags) => ("corpus", corpus::run(flags)),
            Task::Differential(flags) => ("differential", differential::run(flags)),
            Task::Growth(flags) => ("growth", growth::run(flags)),
            Task::Sanitize(flags) => ("sanitize", sanitize::run(flags)),
            Task::Supply(flags) => ("supply", supply::run(flags)),
            Task::Licences(flags) => ("licences", licences::run(flags)),
            Task::Wordnet(flags) => ("wordnet", wordnet::run(flags)),
            Task::Bench(flags) => ("bench", bench::run(flags)),
            Task::Wheel(flags) => ("wheel", python::run(flags)),
        }
    }
}

fn main() -> ExitCode {
    let Some(task) = Call::parse().task else {
        print!("{}", Call::command().render_help());
        return ExitCode::SUCCESS;
    };
    match task.run() {
        (_, Ok(Outcome::Good)) => ExitCode::SUCCESS,
        (_, Ok(Outcome::Bad)) => ExitCode::FAILURE,
        (name, Err(message)) => {
            eprintln!("cargo xtask {name}: {message}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Task, String> {
        let words = ["cargo xtask"].into_iter().chain(words.split_whitespace());
        Call::try_parse_from(words).map(|call| call.task.expect("a task is named")).map_err(|error| error.to_string())
    }

    #[test]
    fn every_task_says_what_it_does() {
        let mut call = Call::command();
        call.build();
        let tasks: Vec<_> = call.get_subcommands().filter(|task| task.get_name() != "help").collect();
        assert_eq!(tasks.len(), Task::augment_subcommands(clap::Command::new("")).get_subcommands().count());
        for task in tasks {
            let about = task.get_about().expect("a task has a text").to_string();
            assert!(about.len() > 20 && !about.contains("target folder;"), "{}: {about}", task.get_name());
        }
    }

    #[test]
    fn flags_and_values_are_read_both_ways_and_the_last_one_wins() {
        for words in ["bench journal --only a", "bench --only=a journal", "bench --only b journal --quick --only a"] {
            let Ok(Task::Bench(flags)) = read(words) else { panic!("{words} is not read") };
            assert!(format!("{flags:?}").contains(r#"suite: Some("journal")"#), "{flags:?}");
            assert!(format!("{flags:?}").contains(r#"only: Some("a")"#), "{flags:?}");
        }
        let Ok(Task::Differential(flags)) = read("differential --features -types,-match --seeds 3..5") else {
            panic!("it is not read")
        };
        assert!(format!("{flags:?}").contains(r#"seeds: 3..5"#), "{flags:?}");
    }

    #[test]
    fn an_error_names_the_word_and_the_next_step() {
        let told = |words: &str| read(words).expect_err("it is refused");
        assert!(told("tidi").contains("unrecognized subcommand 'tidi'") && told("tidi").contains("tidy"));
        assert!(told("bench journal --slow").contains("unexpected argument '--slow'"));
        assert!(told("bench journal space").contains("unexpected argument 'space'"));
        assert!(told("bench journal --only --quick").contains("a value is required for '--only <PROGRAM>'"));
        assert!(told("bench --quick").contains("<SUITE>") && told("bench --quick").contains("--help"));
        assert!(told("differential --size many").contains("invalid value 'many' for '--size <N>'"));
    }
}
