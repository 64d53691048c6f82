//! Reading a whole journal and reporting on it.

use crate::chain::Chain;
use crate::disk::Disk;
use crate::error::{VerifyError, Warning};
use crate::file::Folder;
use crate::format::Identity;
use crate::survey::{Lost, SegmentReport, survey};
use std::sync::Arc;

/// What a journal is like.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Which journal it is.
    pub identity: Identity,
    /// The number of its first frame: 0 unless it was trimmed.
    pub first: u64,
    /// Its segments, in order.
    pub segments: Vec<SegmentReport>,
    /// How many frames can be read.
    pub frames: u64,
    /// How many bytes their payloads have together.
    pub payload_bytes: u64,
    /// The chain up to the last frame; none if damage hides it. Compare it with one kept elsewhere to learn that nobody rewrote the whole
    /// journal.
    pub chain: Option<Chain>,
    /// What is wrong.
    pub damage: Vec<Lost>,
    /// What opening would mend.
    pub warnings: Vec<Warning>,
}

impl Report {
    /// Whether every frame that was synced can be read and continues the chain.
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty()
    }
}

/// Reads a journal from end to end and reports what it is like. Nothing is written; the journal may be in use.
///
/// # Errors
/// The disk fails, or there is no journal.
pub fn verify(disk: Arc<dyn Disk>) -> Result<Report, VerifyError> {
    let (mut frames, mut payload_bytes) = (0, 0);
    let found = survey::<VerifyError>(&Folder::new(disk), &mut |frame| {
        frames += 1;
        payload_bytes += frame.payload.len() as u64;
        Ok(())
    })?;
    let found = found.ok_or(VerifyError::Empty)?;
    Ok(Report {
        identity: found.identity,
        first: found.first,
        segments: found.segments,
        frames,
        payload_bytes,
        chain: found.chain,
        damage: found.lost,
        warnings: found.warnings,
    })
}
