//! The command line: what can be asked for, and how it is explained.

use crate::byte_count::byte_count;
use crate::limits::LimitArguments;
use crate::run_arguments::{ABOUT_RUNS, RunArguments};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// A MeTTa reasoning engine with perfect recall.
#[derive(Debug, Parser)]
#[command(name = "metroon", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run MeTTa programs and print the answer of each `!` form
    #[command(after_help = ABOUT_RUNS)]
    Run(RunArguments),
    /// Enter forms one by one and see what they come to
    #[command(after_help = crate::repl::ABOUT)]
    Repl(Box<crate::repl::ReplArguments>),
    /// Look for likely mistakes in programs without running them
    #[command(after_help = crate::check::ABOUT)]
    Check(crate::check::CheckArguments),
    /// Lay out programs: indentation, spaces, long lines
    #[command(after_help = crate::fmt::ABOUT)]
    Fmt(crate::fmt::FmtArguments),
    /// Serve an editor: findings, hover, definitions, completion, renaming, layout
    #[command(after_help = crate::lsp::ABOUT)]
    Lsp(crate::lsp::LspArguments),
    /// Run a program and record its network traffic to a cassette
    Record(Box<crate::proxy::RecordArguments>),
    /// Run the program of a tape again and check that it does the same; or answer a program's requests from a cassette
    #[command(after_help = ABOUT_REPLAYS)]
    Replay(Box<ReplayArguments>),
    /// Load files into a knowledge base; look at its history, its past, its atoms; check it
    Kb(crate::kb::KbArguments),
    /// Say which commit and which form put an atom into a knowledge base
    Why(crate::kb::WhyArguments),
    /// Print the answers of a query, and then what each commit to a knowledge base changes in them
    Watch(Box<crate::watch::WatchArguments>),
    /// Say what a file or a folder is, and what can be done with it
    #[command(after_help = crate::look::ABOUT)]
    Look(crate::look::LookArguments),
    /// Look at a journal, check it, save what can be read of a damaged one
    Journal(crate::journal::JournalArguments),
    /// Look at the folder of a state of pages
    Pages(crate::pages::PagesArguments),
    /// Keep keys and values in order in a folder: write, look up, scan, check, copy
    Store(crate::store::StoreArguments),
    /// Print a script that makes a shell complete commands and flags
    Completions(crate::manual::CompletionsArguments),
    /// Print the manual page, or write those of all commands
    Man(crate::manual::ManArguments),
    /// Look at a cassette of network traffic, check it, convert, compare, merge, take secrets out
    #[command(visible_alias = "tape")]
    Cassette(crate::cassette::CassetteArguments),
}

const ABOUT_REPLAYS: &str = "\
`metroon replay TAPE` takes a tape, the recording of a run by `metroon run --record`. It runs the programs on the tape again. What they
are told of files, clocks and random numbers comes from the tape. What they print, and the state after each commit, must be
the same as before. No other file is needed.

`metroon replay CASSETTE -- COMMAND` takes a cassette, the network traffic that `metroon record` recorded, in any form. It runs COMMAND and
answers its requests from the cassette, with the recorded times. No request reaches the network, except to the hosts of --pass.
If the cassette does not answer a request, the request is refused, and a message shows the nearest recorded one and what differs.
Answers come in the order in which they came when they were recorded, however fast the replay is. If equal requests were made at once and
answered differently, each may get the answer of another: they are named, and the replay ends with 4 unless --allow-ambiguous is given.
COMMAND runs in a network of its own, if the system can give it one: what goes past the proxy is refused as well, and named. Without
COMMAND, --listen keeps the proxy until Ctrl-C. docs/recording.md shows more.

A tape is a program, and a stranger may have made it: a replay has its own limits, which --heap, --memory, --steps and --timeout change.
If the recorded run reached a limit, the replay stops at the same place.

Exit code: 0 everything is the same; 1 the output cannot be written, somebody ended the replay, or it reached one of its own limits;
2 the usage is wrong, or the file is not there; 4 something differs, or the file is damaged. With COMMAND: its exit code, unless
something differs; 126 it cannot be run; 127 it was not found.";

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// The tape of a run, or a cassette of network traffic
    #[arg(value_name = "TAPE|CASSETTE")]
    pub(crate) path: PathBuf,

    /// Stop after this commit; each `!` form is one
    #[arg(long, value_name = "N", conflicts_with_all = ["command", "listen"])]
    pub(crate) to: Option<u64>,

    /// Open a prompt then: the program is as it was there, and nothing that is done is kept
    #[arg(long, conflicts_with_all = ["command", "listen"])]
    pub(crate) repl: bool,

    /// Use at most this many bytes of memory for what a cassette holds, 1G by default; K, M and G stand for 2^10, 2^20 and 2^30
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    pub(crate) max_size: Option<u64>,

    #[command(flatten)]
    pub(crate) limits: LimitArguments,

    #[command(flatten)]
    pub(crate) serving: crate::proxy::ServingArguments,

    #[command(flatten)]
    pub(crate) network: crate::proxy::NetworkArguments,

    #[command(flatten)]
    pub(crate) playing: crate::proxy::ReplayingArguments,

    #[command(flatten)]
    pub(crate) secrets: crate::proxy::SecretArguments,

    /// The program whose requests the cassette answers, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}
