//! Where a journal begins: with frame 0, or, once it was [trimmed](crate::Journal::trim), with a later segment.
//!
//! 1. A note beside the segments, `beginning`, names the first segment that is kept and the chain that it continues. Without the note the
//!    journal begins with frame 0.
//! 2. To trim, the note is written under another name, synced, renamed, and its name synced. Only then are the segments before it taken
//!    away, the first one first.
//! 3. Segments before the one that the note names are what a trim that did not end has left. Nobody reads them; opening the journal for
//!    writing, or the next trim, takes them away.
//!
//! Invariants: at every moment the note, if it is there, is whole and durable, and the segment that it names is there. So the chain of what
//! is kept stays verifiable, and a segment that is missing is told from one that was given up.

use crate::access::Access;
use crate::chain::Chain;
use crate::disk::Disk;
use crate::error::{Damage, Failure, ReadError, TrimError};
use crate::file::Folder;
use crate::format::{BEGINNING_MAGIC, Flaw, HEADER_BYTES, Header, Identity, name_of};
use crate::segment::{self, Segment, Trouble};
use std::sync::Arc;

const NOTE: &str = "beginning";
/// A note that is being written. One that was left behind is worth nothing.
const NOTE_NEW: &str = "beginning.new";

/// The first frame that a journal has, and the chain up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Beginning {
    /// The number of the frame, with which a segment begins; 0 unless the journal was trimmed.
    pub frame: u64,
    /// The chain that the frame continues.
    pub chain: Chain,
}

impl Beginning {
    /// The beginning of a journal that was never trimmed.
    pub(crate) fn genesis() -> Self {
        Self { frame: 0, chain: Chain::genesis() }
    }

    /// Where the journal on a disk begins.
    ///
    /// # Errors
    /// The disk fails, or the note of it is damaged.
    pub fn of(disk: &Arc<dyn Disk>) -> Result<Self, ReadError> {
        let folder = Folder::new(Arc::clone(disk));
        Ok(Note::read(&folder, &folder.list()?)?.beginning())
    }
}

/// What a folder says of where its journal begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Note(Option<Header>);

impl Note {
    /// What is said by a folder that has files of these names.
    pub(crate) fn read(folder: &Folder, names: &[String]) -> Result<Self, Trouble> {
        if !names.iter().any(|name| name == NOTE) {
            return Ok(Self(None));
        }
        let bytes = folder.open(NOTE, Access::Read)?.read(0, HEADER_BYTES)?;
        let header = Header::decode_as(BEGINNING_MAGIC, &bytes).map_err(Self::damage)?;
        Ok(Self(Some(header)))
    }

    fn damage(flaw: Flaw) -> Damage {
        let flaw = if matches!(flaw, Flaw::Version(_)) { flaw } else { Flaw::Beginning };
        Damage { segment: NOTE.to_owned(), offset: 0, flaw }
    }

    pub(crate) fn beginning(&self) -> Beginning {
        self.0.map_or_else(Beginning::genesis, |header| Beginning { frame: header.segment, chain: header.chain })
    }

    /// Which journal it belongs to, if it says so.
    pub(crate) fn identity(&self) -> Option<Identity> {
        self.0.map(|header| header.identity)
    }

    /// The segments among these that the journal has.
    pub(crate) fn kept(&self, segments: Vec<u64>) -> Vec<u64> {
        let first = self.beginning().frame;
        segments.into_iter().filter(|segment| *segment >= first).collect()
    }

    /// Whether a segment is the one that the journal begins with.
    pub(crate) fn check(&self, segment: &Segment) -> Result<(), Damage> {
        if self.identity().is_some_and(|identity| identity != segment.header.identity) {
            return Err(segment.damage(0, Flaw::Identity));
        }
        let Beginning { frame, chain } = self.beginning();
        if segment.first() != frame {
            return Err(Damage::new(frame, 0, Flaw::Missing));
        }
        if segment.header.chain == chain { Ok(()) } else { Err(segment.damage(0, Flaw::Seam)) }
    }
}

/// Says durably where a journal begins.
pub(crate) fn write(folder: &Folder, header: Header) -> Result<(), Failure> {
    let written = write_new(folder, &header);
    if written.is_err() {
        // What is half written is worth nothing, and the next one is written over it in any case.
        let _ = folder.remove(NOTE_NEW);
    }
    written
}

fn write_new(folder: &Folder, header: &Header) -> Result<(), Failure> {
    let mut file = folder.create(NOTE_NEW)?;
    file.write(0, &header.encode_as(BEGINNING_MAGIC))?;
    file.sync()?;
    folder.rename(&mut file, NOTE)?;
    folder.sync_names()
}

/// Takes away what trims that did not end have left, if it is among these names.
pub(crate) fn remove_given_up(folder: &Folder, names: &[String], note: &Note) -> Result<(), Failure> {
    if names.iter().any(|name| name == NOTE_NEW) {
        folder.remove(NOTE_NEW)?;
    }
    let first = note.beginning().frame;
    segment::among(names)
        .iter()
        .filter(|segment| **segment < first)
        .try_for_each(|segment| folder.remove(&name_of(*segment)))
}

/// What a trim did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trimmed {
    /// The first frame that is kept.
    pub first: u64,
    /// How many segments were given up.
    pub segments: u64,
    /// How many bytes they had.
    pub bytes: u64,
}

/// Gives up the segments that hold only frames before one.
pub(crate) fn trim(folder: &Folder, before: u64) -> Result<Trimmed, TrimError> {
    let names = folder.list()?;
    let note = Note::read(folder, &names)?;
    let kept = note.kept(segment::among(&names));
    let Some(&first) = kept.iter().rev().find(|segment| **segment <= before).or(kept.first()) else {
        return Ok(Trimmed { first: note.beginning().frame, segments: 0, bytes: 0 });
    };
    let given_up: Vec<u64> = kept.iter().copied().filter(|segment| *segment < first).collect();
    let mut bytes = 0;
    for segment in &given_up {
        bytes += folder.open(&name_of(*segment), Access::Read)?.length()?;
    }
    let note = if given_up.is_empty() {
        note
    } else {
        let header = Segment::open(folder, first, Access::Read)?.header;
        write(folder, header)?;
        Note(Some(header))
    };
    remove_given_up(folder, &names, &note)?;
    if !given_up.is_empty() {
        folder.sync_names()?;
    }
    Ok(Trimmed { first, segments: given_up.len() as u64, bytes })
}
