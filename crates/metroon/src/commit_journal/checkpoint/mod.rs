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

use journal::{Chain, Place};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a checkpoint is called after the number of its commit.
const SUFFIX: &str = ".checkpoint";
/// How one is called that is being written.
const UNFINISHED: &str = ".checkpoint.new";
const EPOCH_DIGITS: usize = 20;

fn name_of(epoch: u64) -> String {
    format!("{epoch:0EPOCH_DIGITS$}{SUFFIX}")
}

/// The commit of the checkpoint of this name; none for other files.
fn epoch_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(SUFFIX)?;
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
    /// The last frame of the journal that is in it, and the chain up to that.
    pub(crate) last: FramePlace,
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
    /// What makes everything but the atoms of spaces.
    #[serde(borrow, with = "serde_bytes")]
    pub(crate) records: &'a [u8],
}

/// Where a frame lies in a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FramePlace {
    number: u64,
    segment: u64,
    offset: u64,
}

impl From<Place> for FramePlace {
    fn from(place: Place) -> Self {
        Self { number: place.number, segment: place.segment, offset: place.offset }
    }
}

impl FramePlace {
    fn place(self) -> Place {
        Place::new(self.number, self.segment, self.offset)
    }
}

/// How far a base was read or written: its last frame, with the chain up to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) last: Place,
    pub(crate) chain: Chain,
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
