//! The `metroon` command.
//!
//! Exit codes: 0 fine; 1 an assertion failed, or an answer had an error in it, or a limit was reached; 2 wrong usage;
//! 3 a source does not parse; 4 data is damaged, or a replay differs. With a child, its code, unless a replay differs.
#![forbid(unsafe_code)]

mod arguments;
mod byte_count;
mod cassette;
mod derivation;
mod end;
mod file_size;
mod journal;
mod kb;
mod kb_lines;
mod kb_past;
mod kb_sources;
mod limits;
mod load;
mod output;
mod permissions;
mod proxy;
mod query_plans;
mod render;
mod replay;
mod run;
mod run_arguments;
mod store;
mod watch;

use arguments::{Arguments, Command};
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::process::ExitCode;

/// All that is allocated is counted: limits of memory are kept by that.
#[global_allocator]
static ALLOCATOR: region::memory::Counting = region::memory::Counting;

fn main() -> ExitCode {
    if let Some(code) = proxy::isolated() {
        return code;
    }
    let command = arguments().command;
    if let Err(error) = file_size::hold_signal() {
        render::say(&format!(
            "warning: a file that reaches its limit of size will end this program without a message: {error}"
        ));
    }
    match command {
        Command::Run(arguments) => run::run(&arguments).into(),
        Command::Record(arguments) => proxy::record(&arguments),
        Command::Replay(arguments) => replay::replay(&arguments),
        Command::Kb(arguments) => kb::run(&arguments).into(),
        Command::Why(arguments) => kb::why(&arguments).into(),
        Command::Watch(arguments) => watch::run(&arguments).into(),
        Command::Journal(arguments) => journal::run(&arguments).into(),
        Command::Store(arguments) => store::run(&arguments).into(),
        Command::Cassette(arguments) => cassette::run(&arguments).into(),
    }
}

/// Reads the command line. An error ends the program, after saying what is wrong.
fn arguments() -> Arguments {
    Arguments::try_parse().unwrap_or_else(|mut error| {
        let words: Vec<_> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        if let Some(tip) = tip(&error, &words) {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        }
        error.exit()
    })
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
