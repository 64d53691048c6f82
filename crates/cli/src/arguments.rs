//! The command line: what can be asked for, and how it is explained.

use crate::limits::LimitArguments;
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
    /// Run a program and record its network traffic to a tape
    Record(Box<crate::proxy::RecordArguments>),
    /// Run again what a tape holds, and check that the results are the same; answer a program's requests from a cassette
    #[command(after_help = ABOUT_REPLAYS)]
    Replay(Box<ReplayArguments>),
    /// Load files into a knowledge base; look at its history, its past, its atoms; check it
    Kb(crate::kb::KbArguments),
    /// Say which commit and which form put an atom into a knowledge base
    Why(crate::kb::WhyArguments),
    /// Look at a journal, check it, save what can be read of a damaged one
    Journal(crate::journal::JournalArguments),
    /// Look at a cassette of network traffic, check it, convert, compare, merge, take secrets out
    Tape(crate::tape::TapeArguments),
}

const ABOUT_RUNS: &str = "\
Each `!` form prints one line, `[a, b]`, when its evaluation ends. An answer with an error in it ends the run.

With --kb, what each `!` form did is on the disk before its answer is printed, together with the plain forms before it. A
file that was run before adds no plain forms again, and an edited one adds those that differ; a text of -e or of the standard
input adds its plain forms each time. Ctrl-C and --timeout undo what came
after the last commit. `metroon kb` shows what a knowledge base holds, `metroon why` which commit and form put it there.

With --explain, plain forms are added and `import!` and `bind!` forms run, but no other `!` form does. Then the code of each
function is printed, in the order in which they got their first rules; its words are explained in docs/machine.md.

A program may read and write every file that you may, and read every environment variable; none reaches the network. With
--deny-all, for a program that you did not write, it may only import files beside it and do what --allow names. What
it may not do is an error atom that says which --allow would permit it.

With --record, `metroon replay TAPE` runs everything again, on any machine, and checks that the results are the same. The tape
holds the programs and everything they read: keep it as safe as those. A run that prints or reads what looks like a key, or reads an
environment variable with the name of one, ends there, since a replay must be told the same; --keep-secrets records it.

Exit code: 0 fine; 1 an answer had an error in it, or a limit was reached; 2 wrong usage; 3 a source does not parse;
4 the knowledge base is damaged.";

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Programs, run in order in one space; `-` is the standard input
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<String>,

    /// Run this text after the files; may be given several times
    #[arg(short, long = "expression", value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) expressions: Vec<String>,

    /// Go on in the knowledge base in this directory, and keep in it what the programs do; it is made if it does not exist
    #[arg(long, value_name = "DIR")]
    pub(crate) kb: Option<PathBuf>,

    /// Write to this new file what is needed to run the programs again
    #[arg(long, value_name = "TAPE")]
    pub(crate) record: Option<PathBuf>,

    /// Record secrets as well; otherwise a run that prints or reads one ends
    #[arg(long, requires = "record")]
    pub(crate) keep_secrets: bool,

    /// Print one JSON object a line: each result, then the end of its form
    #[arg(long)]
    pub(crate) json: bool,

    /// Print counts of the run on the standard error
    #[arg(long)]
    pub(crate) stats: bool,

    /// Instead of evaluating, print the code of every function that the programs define
    #[arg(long, conflicts_with_all = ["interpreter", "kb", "record", "json"])]
    pub(crate) explain: bool,

    /// Evaluate with the reference interpreter, which is slow, and not with the machine that is compared with it
    #[arg(long)]
    pub(crate) interpreter: bool,

    #[command(flatten)]
    pub(crate) limits: LimitArguments,

    #[command(flatten)]
    pub(crate) permissions: crate::permissions::PermissionArguments,
}

const ABOUT_REPLAYS: &str = "\
A tape of `metroon run --record`: the programs on it are run again. What they are told of files, clocks and random numbers comes
from the tape; what they print, and the state after each commit, must be what it was. No other file is needed.

A tape of `metroon record`, or a cassette in another form: COMMAND runs, and its requests are answered from the tape, with the
times that were recorded. Nothing reaches the network through the proxy, but for hosts of --pass; a request that the tape does not
answer is refused, with the nearest recorded one and what differs. COMMAND runs in a network of its own, where the system gives one:
what goes past the proxy is refused as well, and named. Without COMMAND, --listen keeps the proxy until Ctrl-C. docs/recording.md
shows more.

A tape holds a program, which may not be yours: a replay has limits of its own, which --heap, --memory, --steps and --timeout change.
Where the recorded run reached a limit, the replay does as well.

Exit code: 0 all is the same; 1 the output cannot be written, the replay was cancelled, or it reached a limit of its own; 2 wrong
usage, or there is no such tape; 4 something differs, or the tape is damaged. With COMMAND: its code, unless something differs; 126 it cannot be run; 127
it does not exist.";

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// The tape
    #[arg(value_name = "TAPE")]
    pub(crate) tape: PathBuf,

    /// Stop after this commit; each `!` form is one
    #[arg(long, value_name = "N", conflicts_with_all = ["command", "listen"])]
    pub(crate) to: Option<u64>,

    /// Take at most this many bytes of memory for a cassette (1G by default); K, M and G stand for 2^10, 2^20 and 2^30
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    pub(crate) max_size: Option<u64>,

    #[command(flatten)]
    pub(crate) limits: LimitArguments,

    #[command(flatten)]
    pub(crate) serving: crate::proxy::ServingArguments,

    #[command(flatten)]
    pub(crate) network: crate::proxy::NetworkArguments,

    #[command(flatten)]
    pub(crate) playing: crate::proxy::PlayingArguments,

    #[command(flatten)]
    pub(crate) secrets: crate::proxy::SecretArguments,

    /// The program whose requests the tape answers, and its words
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

/// A number of bytes, be it with the letter of a unit.
pub(crate) fn byte_count(text: &str) -> Result<u64, String> {
    let expected = || "expected a number of bytes above 0, such as 512M, 2G or 1000000".to_owned();
    let (digits, unit) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let number: u64 = digits.parse().map_err(|_| expected())?;
    match number.checked_mul(unit) {
        Some(0) => Err(expected()),
        Some(bytes) => Ok(bytes),
        None => Err("a number of bytes has at most 64 bits".to_owned()),
    }
}
