//! The `mnemon` command.
//!
//! Exit codes: 0 fine; 1 an assertion failed, or an answer had an error in it, or a limit was reached; 2 wrong usage;
//! 3 a source does not parse; 4 data is damaged, or a replay differs. With a child, its code, unless a replay differs.
#![forbid(unsafe_code)]

mod arguments;
mod journal;
mod kb;
mod load;
mod output;
mod proxy;
mod render;
mod replay;
mod run;
mod tape;

use arguments::{Arguments, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Run(arguments) => run::run(&arguments).into(),
        Command::Record(arguments) => proxy::record(&arguments),
        Command::Replay(arguments) => replay::replay(&arguments),
        Command::Kb(arguments) => kb::run(&arguments).into(),
        Command::Why(arguments) => kb::why(&arguments).into(),
        Command::Journal(arguments) => journal::run(&arguments).into(),
        Command::Tape(arguments) => tape::run(&arguments).into(),
    }
}
