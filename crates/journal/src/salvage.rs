//! Carrying what can be read of a damaged journal into a new one.
//!
//! The frames get new numbers, without gaps; [`Salvaged::kept`] says which old number became which new one. The new
//! journal has a chain of its own from the first loss on. The damaged one is not touched.

use crate::chain::Chain;
use crate::disk::Disk;
use crate::error::{OpenError, SalvageError, Warning};
use crate::file::Folder;
use crate::frame::Frame;
use crate::journal::Journal;
use crate::options::{Durability, Options};
use crate::segment;
use crate::survey::{Lost, survey};
use std::sync::Arc;

/// Frames that were carried over with nothing lost between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kept {
    /// The number of the first in the damaged journal.
    pub from: u64,
    /// Its number in the new one.
    pub to: u64,
    /// How many there are.
    pub frames: u64,
}

/// What a salvage did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Salvaged {
    /// How many frames the new journal has.
    pub frames: u64,
    /// The chain of the new journal.
    pub chain: Chain,
    /// Which frames they are.
    pub kept: Vec<Kept>,
    /// What could not be read, or looks exchanged.
    pub lost: Vec<Lost>,
    /// What opening would have mended.
    pub warnings: Vec<Warning>,
}

/// Reads a journal around its damage and appends what is whole to a new journal on another disk, durably. Unless the
/// options say otherwise, the new one has the identity of the old; zeros if no header of the old one tells it any more.
///
/// # Errors
/// A disk fails, there is no journal on the first, or there is one on the second.
pub fn salvage(damaged: Arc<dyn Disk>, to: Arc<dyn Disk>, options: Options) -> Result<Salvaged, SalvageError> {
    let folder = Folder::new(damaged);
    let segments = segment::list(&folder)?;
    if segments.is_empty() {
        return Err(SalvageError::Empty);
    }
    if !segment::list(&Folder::new(to.clone())).map_err(OpenError::Disk)?.is_empty() {
        return Err(SalvageError::Occupied);
    }
    let identity = segment::identity(&folder, &segments)?.unwrap_or_default();
    let identity = options.identity.unwrap_or(identity);
    let (journal, _) = Journal::open(to, options.identity(identity))?;
    let mut kept = Vec::new();
    let found = survey(&folder, &mut |frame| keep(&journal, &mut kept, frame))?.ok_or(SalvageError::Empty)?;
    let (frames, chain) = (journal.progress().appended, journal.chain());
    journal.close()?;
    Ok(Salvaged { frames, chain, kept, lost: found.lost, warnings: found.warnings })
}

fn keep(journal: &Journal, kept: &mut Vec<Kept>, frame: Frame<'_>) -> Result<(), SalvageError> {
    let to = journal.append(frame.payload, Durability::None)?.number;
    let from = frame.place.number;
    match kept.last_mut() {
        Some(run) if run.from + run.frames == from => run.frames += 1,
        _ => kept.push(Kept { from, to, frames: 1 }),
    }
    Ok(())
}
