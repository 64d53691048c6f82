//! Reading a whole journal and reporting on it.

use crate::chain::Chain;
use crate::disk::Disk;
use crate::error::{VerifyError, Warning};
use crate::file::Folder;
use crate::format::{Identity, VERSION};
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

impl statistics::Statistics for Report {
    fn what(&self) -> &'static str {
        "journal"
    }

    fn entries(&self, to: &mut statistics::Entries) {
        let sum = |count: fn(&SegmentReport) -> u64| self.segments.iter().map(count).sum::<u64>();
        let identity = self.identity.0.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        to.count("version", "The version of the format.", u64::from(VERSION));
        to.text("identity", "Which journal it is, in hexadecimal.", identity);
        to.count("first", "The number of its first frame: 0 unless earlier ones were given up.", self.first);
        to.count("segments", "Files that it lies in.", self.segments.len() as u64);
        to.count("frames", "Frames that can be read.", self.frames);
        to.bytes("bytes", "Its files.", sum(|segment| segment.bytes));
        to.bytes("payload_bytes", "What was written, without what the journal adds.", self.payload_bytes);
        to.bytes("synced_bytes", "What the disk has for certain.", sum(|segment| segment.synced));
        to.count("damage", "Places that are damaged.", self.damage.len() as u64);
        let chain = self.chain.as_ref().map(ToString::to_string);
        to.text("chain", "The hash of all frames, if damage does not hide it.", chain);
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
