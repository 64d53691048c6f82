//! Checkpoints: what a base held after a commit, in a file beside the segments of its journal, so that opening it does not begin with
//! the first commit.
//!
//! 1. A checkpoint is an [image](space::Image) of all spaces, and says in records of the journal how everything else is made again: spaces,
//!    states, modules, words, settings, sources. `docs/formats.md` draws it.
//! 2. It is written of a snapshot, on a thread of its own, while commits go on; under another name, made durable, and then renamed. Older
//!    ones are taken away after that.
//! 3. Opening takes the newest one whose place in the journal has the chain that it says, maps it, and makes the commits after it happen
//!    again. If anything about it is wrong, the warning names it, and the base is opened from its first commit.
//!
//! The journal is the base: a checkpoint that is lost or damaged costs time.
//!
//! A base whose old commits were [given up](super::retention) begins with one under another name, which no other one takes the place of.
//!
//! - `outline` keeps the records that make everything but rows.
//! - `read` opens a checkpoint; `write` writes one; `policy` says when.

mod outline;
mod policy;
mod read;
mod write;

pub(crate) use outline::Outline;
pub(crate) use policy::Checkpointer;
pub(crate) use read::Checkpoint;
pub use read::CheckpointReport;
pub(crate) use read::beginnings;
pub(crate) use write::{Account, CheckpointSource};

use journal::{Chain, Position};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a checkpoint is called after the number of its commit.
const SUFFIX: &str = ".checkpoint";
/// How one is called with which the kept commits of a base begin.
const SUFFIX_BEGINNING: &str = ".beginning";
/// How one is called that is being written.
const UNFINISHED: &str = ".checkpoint.new";
const EPOCH_DIGITS: usize = 20;

fn name_of(epoch: u64) -> String {
    name_with(epoch, SUFFIX)
}

fn name_with(epoch: u64, suffix: &str) -> String {
    format!("{epoch:0EPOCH_DIGITS$}{suffix}")
}

/// The commit of the checkpoint of this name; none for other files.
fn epoch_of(name: &str) -> Option<u64> {
    epoch_before(SUFFIX, name)
}

fn epoch_before(suffix: &str, name: &str) -> Option<u64> {
    let digits = name.strip_suffix(suffix)?;
    let is_number = digits.len() == EPOCH_DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { digits.parse().ok() } else { None }
}

/// What a checkpoint says beside its spaces, in the encoding of records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CheckpointHeader<'a> {
    /// The version of the language's semantics.
    pub(crate) semantics: u32,
    /// The number of the commit.
    pub(crate) epoch: u64,
    /// The state hash after it.
    pub(crate) hash: [u8; 16],
    /// Where the journal goes on, and the chain up to there.
    pub(crate) position: [u64; Position::NUMBERS],
    pub(crate) chain: [u8; Chain::BYTES],
    /// How many variables the run had numbered.
    pub(crate) variables: u64,
    /// How many things other than atoms the base was told to keep.
    pub(crate) others: u64,
    /// How many atoms the program's space has, copies counted.
    pub(crate) atoms: i64,
    pub(crate) is_library_changed: bool,
    /// How often each space was changed, by class.
    pub(crate) changes: Vec<(u64, Vec<u64>)>,
    /// Whether what files state follows the header.
    pub(crate) has_statements: bool,
    /// What makes everything but the atoms of spaces.
    #[serde(borrow, with = "serde_bytes")]
    pub(crate) records: &'a [u8],
}

/// Why a checkpoint is not used.
#[derive(Debug)]
pub(crate) struct CheckpointRefused {
    /// Its file.
    pub(crate) name: String,
    pub(crate) reason: String,
}

impl fmt::Display for CheckpointRefused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, reason } = self;
        write!(
            formatter,
            "the checkpoint {name} is not used: {reason}; the knowledge base was read from its journal instead, which takes longer"
        )
    }
}
