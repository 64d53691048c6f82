//! The `metroon` command.
//!
//! Exit codes: 0 fine; 1 an assertion failed, or an answer had an error in it, or a limit was reached; 2 wrong usage;
//! 3 a source does not parse; 4 data is damaged, or a replay differs. With a child, its code, unless a replay differs.
#![forbid(unsafe_code)]

mod arguments;
mod byte_count;
mod cassette;
mod check;
mod counts;
mod derivation;
mod end;
mod file_size;
mod fmt;
mod journal;
mod kb;
mod kb_lines;
mod kb_live;
mod kb_past;
mod kb_sources;
mod limits;
mod load;
mod logs;
mod look;
mod lsp;
mod manual;
mod output;
mod package;
mod pages;
mod permissions;
mod profile;
mod proxy;
mod query_plans;
mod render;
mod repl;
mod replay;
mod run;
mod run_arguments;
mod store;
mod watch;

use arguments::{Arguments, Command};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

/// All that is allocated is counted: limits of memory are kept by that.
#[global_allocator]
static ALLOCATOR: region::memory::Counting = region::memory::Counting;

fn main() -> ExitCode {
    if let Some(code) = proxy::isolated() {
        return code;
    }
    let command = arguments().command;
    if let Err(message) = logs::begin() {
        render::say(&message);
        return end::End::Usage.into();
    }
    if let Err(error) = file_size::hold_signal() {
        render::say(&format!(
            "warning: a file that reaches its limit of size will end this program without a message: {error}"
        ));
    }
    match command {
        Command::Run(arguments) => run::run(&arguments).into(),
        Command::Repl(arguments) => repl::run(&arguments).into(),
        Command::Check(arguments) => check::check(&arguments).into(),
        Command::Fmt(arguments) => fmt::fmt(&arguments).into(),
        Command::Lsp(arguments) => lsp::serve(&arguments).into(),
        Command::Completions(arguments) => manual::completions(&arguments, Arguments::command()).into(),
        Command::Man(arguments) => manual::man(&arguments, Arguments::command()).into(),
        Command::Record(arguments) => proxy::record(&arguments),
        Command::Replay(arguments) => replay::replay(&arguments),
        Command::Kb(arguments) => kb::run(&arguments).into(),
        Command::Why(arguments) => kb::why(&arguments).into(),
        Command::Watch(arguments) => watch::run(&arguments).into(),
        Command::Look(arguments) => look::run(&arguments).unwrap_or_else(|end| end).into(),
        Command::Journal(arguments) => journal::run(&arguments).into(),
        Command::Pages(arguments) => pages::run(&arguments).into(),
        Command::Store(arguments) => store::run(&arguments).into(),
        Command::Cassette(arguments) => cassette::run(&arguments).into(),
    }
}

/// Reads the command line. An error ends the program, after saying what is wrong.
fn arguments() -> Arguments {
    Arguments::try_parse_from(words(std::env::args_os().collect())).unwrap_or_else(|mut error| {
        let words: Vec<_> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        if let Some(tip) = tip(&error, &words) {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        }
        error.exit()
    })
}

/// The words of the command line, with the verb that is meant where none is said: `metroon` alone on a terminal opens the prompt, and
/// `metroon FILE` runs the file.
fn words(mut words: Vec<OsString>) -> Vec<OsString> {
    let is_terminal = || std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let verb = match words.get(1) {
        None if is_terminal() => Some("repl"),
        Some(first) if is_program(&first.to_string_lossy()) => Some("run"),
        _ => None,
    };
    if let Some(verb) = verb {
        words.insert(1, verb.into());
    }
    words
}

/// Whether a word names a program, and not a verb.
fn is_program(word: &str) -> bool {
    let is_verb = Arguments::command().get_subcommands().any(|verb| {
        let mut names = verb.get_all_aliases().chain([verb.get_name(), "help"]);
        names.any(|name| name == word)
    });
    !is_verb && !word.starts_with('-') && (word.ends_with(".metta") || std::path::Path::new(word).is_file())
}

/// What to do about a program without `--` before it, and a cassette without `-o`.
fn tip(error: &clap::Error, words: &[String]) -> Option<String> {
    let (ErrorKind::UnknownArgument, Some(ContextValue::String(word))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    match (words.first()?.as_str(), words.iter().any(|word| word == "--")) {
        _ if word.starts_with('-') => None,
        ("record" | "replay", false) => Some(format!("write the program after `--`: `-- {word} …`")),
        ("record", true) => Some(format!("name the cassette with -o: `-o {word}`")),
        _ => None,
    }
}
