//! What `metroon run` is asked for.

use crate::limits::LimitArguments;
use clap::{Args, ValueEnum};
use metroon::history::Moment;
use metroon::observe::{Explained, Passes};
use metroon::storage::Durability;
use std::num::NonZeroUsize;
use std::path::PathBuf;

pub(crate) const ABOUT_RUNS: &str = "\
Each `!` form prints one line, `[a, b]`, when its evaluation ends. An answer with an error in it ends the run, unless --keep-going is
given. A message says where the error was made, and under which calls; with --json it is an object in the output.

With --kb, what each `!` form did is on the disk before its answer is printed, together with the plain forms before it, unless
--durability asks for less. A
file that was run before adds no plain forms again, and an edited one adds those that differ; a text of -e or of the standard
input adds its plain forms each time. Ctrl-C and --timeout undo what came
after the last commit. `metroon kb` shows what a knowledge base holds, `metroon why` which commit and form put it there.

With --read-only, programs see the knowledge base as its last commit left it when they began, and do not wait for a process that
writes. A file that was run before states nothing anew, so its `!` forms can be asked again. What a program makes for itself, such
as spaces, states and words, lasts as long as the run. A form that changes the knowledge base ends the run. With --as-of WHEN it is the
same, and they see the knowledge base as it was after the commit of that number, or after the last one that was made by that date:
2026-11-20 means the end of that day in UTC, 2026-11-20T10:00:00Z the end of that second.

With --explain, plain forms are added and `import!` and `bind!` forms run, but no other `!` form does. Then the code of each
function is printed, in the order in which they got their first rules; its words are explained in docs/machine.md.

With --explain-queries, each `match` of the program is named when the run ends, with the ways in which it was answered, the steps of
each, and how many answers were expected and found after each step, of all times together; docs/queries.md explains the words.

A program may read and write every file that you may, and read every environment variable; none reaches the network. With
--deny-all, for a program that you did not write, it may only import files beside it and do what --allow names. What
it may not do is an error atom that says which --allow would permit it.

With --record, `metroon replay TAPE` runs everything again, on any machine, and checks that the results are the same. The tape
holds the programs and everything they read: keep it as safe as those. A run that prints or reads what looks like a key, or reads an
environment variable with the name of one, ends there, since a replay must be told the same; --keep-secrets records it.

Exit code: 0 fine; 1 an answer had an error in it, or a limit was reached; 2 wrong usage; 3 a source does not parse;
4 the knowledge base is damaged.";

/// What a commit outlives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CommitDurability {
    Disk,
    System,
}

impl From<CommitDurability> for Durability {
    fn from(level: CommitDurability) -> Self {
        match level {
            CommitDurability::Disk => Self::Fsync,
            CommitDurability::System => Self::Os,
        }
    }
}

/// What is shown of the functions of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExplainArgument {
    Code,
    Core,
}

impl From<ExplainArgument> for Explained {
    fn from(what: ExplainArgument) -> Self {
        match what {
            ExplainArgument::Code => Self::Code,
            ExplainArgument::Core => Self::Core,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Programs, run in order in one space; `-` is the standard input, and a folder is a package: the program that its
    /// metroon.toml names
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<String>,

    /// Run this text after the files; may be given several times
    #[arg(short, long = "expression", value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) expressions: Vec<String>,

    /// Go on in the knowledge base in this directory, and keep in it what the programs do; it is made if it does not exist
    #[arg(long, value_name = "DIR")]
    pub(crate) kb: Option<PathBuf>,

    /// Go on from the knowledge base of --kb without changing it, also while another process writes to it
    #[arg(long, requires = "kb", conflicts_with_all = ["record", "explain"])]
    pub(crate) read_only: bool,

    /// See the knowledge base of --kb as it was after this commit, or at this date, and change nothing
    #[arg(long, value_name = "WHEN", requires = "kb", conflicts_with_all = ["record", "explain"])]
    pub(crate) as_of: Option<Moment>,

    /// Write no dates of commits into the knowledge base, so that equal runs make equal bytes
    #[arg(long, requires = "kb", conflicts_with_all = ["read_only", "as_of"])]
    pub(crate) undated: bool,

    /// What a commit to --kb outlives when its answer is printed: `disk`, the loss of power; `system`, the end of this process,
    /// which spares each commit a wait for the disk. When the run ends, the disk has all of them
    #[arg(long, value_name = "LEVEL", requires = "kb", conflicts_with_all = ["read_only", "as_of"])]
    pub(crate) durability: Option<CommitDurability>,

    /// Write to this new file what is needed to run the programs again
    #[arg(long, value_name = "TAPE")]
    pub(crate) record: Option<PathBuf>,

    /// Record secrets as well; otherwise a run that prints or reads one ends
    #[arg(long, requires = "record")]
    pub(crate) keep_secrets: bool,

    /// Print one JSON object a line: each result, then the end of its form
    #[arg(long)]
    pub(crate) json: bool,

    /// Run the forms after one that has failed as well; the exit code is 1 all the same
    #[arg(long, conflicts_with_all = ["record", "explain"])]
    pub(crate) keep_going: bool,

    /// Do not tell of likely mistakes, which is done where the standard error is a terminal; `metroon check` does it anywhere
    #[arg(long)]
    pub(crate) no_notes: bool,

    /// Tell of likely mistakes also where the standard error is not a terminal
    #[arg(long, conflicts_with_all = ["no_notes", "explain"])]
    pub(crate) notes: bool,

    /// Show each call of this function, the rule that it takes and what it comes to, on the standard error; may be given several times. The
    /// reference interpreter evaluates, which is slow
    #[arg(long, value_name = "FUNCTION", conflicts_with = "explain")]
    pub(crate) trace: Vec<String>,

    /// Print on the standard error how often each function was called and where the time went, and draw it into this new SVG file as a flame
    /// graph
    #[arg(long, value_name = "FILE", conflicts_with_all = ["interpreter", "trace", "explain"])]
    pub(crate) profile: Option<PathBuf>,

    /// Print counts of the run on the standard error, or with --json as the last object of the output
    #[arg(long)]
    pub(crate) stats: bool,

    /// Instead of evaluating, print the code of every function that the programs define; with `--explain=core` also what each step of the
    /// compiler made of its rules
    #[arg(
        long,
        value_name = "WHAT",
        num_args = 0..=1,
        default_missing_value = "code",
        require_equals = true,
        conflicts_with_all = ["interpreter", "kb", "record", "json"]
    )]
    pub(crate) explain: Option<ExplainArgument>,

    /// Leave passes of the compiler out, for tests and to find one that is wrong: `--passes=-known-tests,-skip-small`
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, conflicts_with_all = ["interpreter", "record"])]
    pub(crate) passes: Option<Passes>,

    /// Let passes make no more than this many changes in all: the first number with which a program goes wrong names the change
    #[arg(long, value_name = "CHANGES", conflicts_with_all = ["interpreter", "record"])]
    pub(crate) passes_limit: Option<u64>,

    /// Print on the standard error how each query was answered: its plan, and how many answers were expected and found
    #[arg(long, conflicts_with = "explain")]
    pub(crate) explain_queries: bool,

    /// Evaluate each call of a pure function, though it was evaluated before in the same form: see `(pragma! memoise off)`
    #[arg(long)]
    pub(crate) no_memo: bool,

    /// Read data files that are imported, and write large commits, with this many threads. The number changes nothing but the time
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::MIN)]
    pub(crate) threads: NonZeroUsize,

    /// Evaluate with the reference interpreter, which is slow, and not with the machine that is compared with it
    #[arg(long)]
    pub(crate) interpreter: bool,

    #[command(flatten)]
    pub(crate) limits: LimitArguments,

    #[command(flatten)]
    pub(crate) permissions: crate::permissions::PermissionArguments,
}

impl RunArguments {
    /// The passes that the compiler makes.
    pub(crate) fn passes(&self) -> Passes {
        let passes = self.passes.unwrap_or_default();
        self.passes_limit.map_or(passes, |limit| passes.up_to(limit))
    }
}
