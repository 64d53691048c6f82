//! What can be asked of a store.

use super::text::KeyForm;
use clap::{Args, Subcommand};
use std::path::PathBuf;

const ABOUT: &str = "\
PATH is a folder that `metroon store put` or `metroon store load` made. All commands but put, delete, load and compact work while
another process writes to it; they show what was committed when they began.

Exit code: 0 fine; 1 the key is not there, or a file cannot be read or written; 2 wrong usage, or there is no store; 3 a line to
load is not KEY, tab, VALUE; 4 the store is damaged.";

#[derive(Debug, Args)]
#[command(after_help = ABOUT)]
pub(crate) struct StoreArguments {
    #[command(subcommand)]
    pub(super) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Print the value of a key
    #[command(after_help = ABOUT)]
    Get(GetArguments),
    /// Give a key a value; makes the store if there is none
    #[command(after_help = ABOUT)]
    Put(PutArguments),
    /// Take a key away
    #[command(after_help = ABOUT)]
    Delete(KeyArguments),
    /// Print a line for each key, in order: the key, a tab, the value
    #[command(after_help = ABOUT)]
    Scan(ScanArguments),
    /// Add the lines of a file, each a key, a tab and a value; makes the store if there is none
    #[command(after_help = ABOUT)]
    Load(LoadArguments),
    /// Print counts, and the index of each run
    #[command(after_help = ABOUT)]
    Stats(StatsArguments),
    /// Read everything and say whether it is sound
    #[command(after_help = ABOUT)]
    Verify(PathArguments),
    /// Merge everything into one run
    #[command(after_help = ABOUT)]
    Compact(PathArguments),
    /// Make a store of its own of what there is now
    #[command(after_help = ABOUT)]
    Backup(CopyArguments),
    /// Carry what can be read of a damaged store into a new one
    #[command(after_help = ABOUT)]
    Salvage(CopyArguments),
}

#[derive(Debug, Args)]
pub(super) struct PathArguments {
    /// The store
    #[arg(value_name = "PATH")]
    pub(super) path: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct StatsArguments {
    /// The store
    #[arg(value_name = "PATH")]
    pub(super) path: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct CopyArguments {
    /// The store, which is not touched
    #[arg(value_name = "PATH")]
    pub(super) path: PathBuf,

    /// Where to make the new store: a folder that is empty or does not exist yet
    #[arg(long, value_name = "NEW")]
    pub(super) to: PathBuf,
}

/// Which keyspace, and how its keys are written.
#[derive(Debug, Args)]
pub(super) struct KeyspaceArguments {
    /// The keyspace
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub(super) keyspace: String,

    /// How keys are written: as text, as whole numbers of 64 bits, or in hexadecimal
    #[arg(long, value_name = "FORM", value_enum, default_value_t = KeyForm::Text)]
    pub(super) keys: KeyForm,
}

#[derive(Debug, Args)]
pub(super) struct KeyArguments {
    /// The store
    #[arg(value_name = "PATH")]
    pub(super) path: PathBuf,

    /// The key
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    pub(super) key: String,

    #[command(flatten)]
    pub(super) keyspace: KeyspaceArguments,
}

#[derive(Debug, Args)]
pub(super) struct GetArguments {
    #[command(flatten)]
    pub(super) of: KeyArguments,

    /// Say on standard error what the lookup did: memtables, filters, comparisons, pages
    #[arg(long)]
    pub(super) steps: bool,
}

#[derive(Debug, Args)]
pub(super) struct PutArguments {
    /// The store
    #[arg(value_name = "PATH")]
    pub(super) path: PathBuf,

    /// The key
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    pub(super) key: String,

    /// The value
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    pub(super) value: String,

    #[command(flatten)]
    pub(super) keyspace: KeyspaceArguments,
}

#[derive(Debug, Args)]
pub(super) struct ScanArguments {
    /// The store
    #[arg(value_name = "PATH")]
    pub(super) path: PathBuf,

    /// Begin with this key
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub(super) from: Option<String>,

    /// End before this key
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub(super) to: Option<String>,

    /// From the last key to the first
    #[arg(long)]
    pub(super) reverse: bool,

    /// End after N keys
    #[arg(long, value_name = "N")]
    pub(super) limit: Option<u64>,

    #[command(flatten)]
    pub(super) keyspace: KeyspaceArguments,
}

#[derive(Debug, Args)]
pub(super) struct LoadArguments {
    /// The store
    #[arg(value_name = "PATH")]
    pub(super) path: PathBuf,

    /// The file; `-` is the standard input
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,

    /// The keys ascend: write runs at once, and nothing if a line is wrong
    #[arg(long)]
    pub(super) sorted: bool,

    /// Compress what is written to the keyspace from now on: it takes less room, and a lookup longer
    #[arg(long)]
    pub(super) lz4: bool,

    #[command(flatten)]
    pub(super) keyspace: KeyspaceArguments,
}
