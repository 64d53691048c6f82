//! The command line: what can be asked for, and how it is explained.

use clap::{Args, Parser, Subcommand};

/// A MeTTa reasoning engine with perfect recall.
#[derive(Debug, Parser)]
#[command(name = "mnemon", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run MeTTa programs and print the answer of each `!` form
    #[command(after_help = ABOUT_RUNS)]
    Run(RunArguments),
    /// Look at a journal, check it, save what can be read of a damaged one
    Journal(crate::journal::JournalArguments),
}

const ABOUT_RUNS: &str = "\
Each `!` form prints one line, `[a, b]`, when its evaluation ends. An answer with an error in it ends the run.

Exit code: 0 fine; 1 an answer had an error in it, or a limit was reached; 2 wrong usage; 3 a source does not parse.";

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Programs, run in order in one space; `-` is the standard input
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<String>,

    /// Run this text after the files; may be given several times
    #[arg(short, long = "expression", value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) expressions: Vec<String>,

    /// Print one JSON object a line: each result, then the end of its form
    #[arg(long)]
    pub(crate) json: bool,

    /// Print counts of the run on the standard error
    #[arg(long)]
    pub(crate) stats: bool,

    /// End a `!` form after this many steps of the interpreter
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) steps: Option<u64>,

    /// End the run after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<std::time::Duration>,
}

fn seconds(text: &str) -> Result<std::time::Duration, String> {
    let expected = "expected a number of seconds above 0, such as 10 or 0.5";
    let seconds: f64 = text.parse().map_err(|_| expected.to_owned())?;
    std::time::Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero()).ok_or(expected.to_owned())
}
