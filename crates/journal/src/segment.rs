//! A segment: one file, named by the number of its first frame, that begins with a header and two slots.
//!
//! Invariants:
//!
//! 1. A file under a segment's name has a durable header and two slots that were once durable: it is written and synced
//!    under another name first, then renamed, and only then does anything rely on it. The first segment of a journal that was
//!    [asked](crate::Options::beginning) not to wait has them with its first sync; nothing in it is acknowledged as durable before.
//! 2. When a segment is followed by another, all of it is synced and it is never written again, except the note that
//!    it is continued.
//! 3. What a slot says has been true since before it was written.

use crate::access::Access;
use crate::block::Block;
use crate::chain::Chain;
use crate::error::{Damage, Failure, TrimError};
use crate::file::{Folder, NamedFile};
use crate::format::{
    FRAME_HEADER_BYTES, FRAMES_AT, Flaw, HEADER_BYTES, Header, Identity, Mark, NAME_DIGITS, SLOT_BYTES, SLOTS_AT,
    SUFFIX, Salt, Slot, encode_beginning, name_of,
};

/// A segment that is being made. One that was left behind is worth nothing.
const SUFFIX_NEW: &str = ".segment.new";
/// How often slots are read again while none is valid: each may be read while it is being written, but not both, twice.
const SLOT_READS_MAX: u32 = 3;

/// The name that the segment has while it is being made.
pub(crate) fn unfinished_name_of(first: u64) -> String {
    format!("{first:0NAME_DIGITS$}{SUFFIX_NEW}")
}

/// The first frame of the segment of this name; none for other files.
fn first_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(SUFFIX)?;
    let is_ours = digits.len() == NAME_DIGITS && digits.bytes().all(|digit| digit.is_ascii_digit());
    if is_ours { digits.parse().ok() } else { None }
}

/// The segments in a folder, by their first frame, in order.
pub(crate) fn list(folder: &Folder) -> Result<Vec<u64>, Failure> {
    Ok(among(&folder.list()?))
}

/// The segments among the files of a folder, by their first frame, in order.
pub(crate) fn among(names: &[String]) -> Vec<u64> {
    let mut segments: Vec<u64> = names.iter().filter_map(|name| first_of(name)).collect();
    segments.sort_unstable();
    segments
}

/// Takes away what a creation left behind that did not end, if it is among these names.
pub(crate) fn remove_unfinished(folder: &Folder, names: &[String]) -> Result<(), Failure> {
    names.iter().filter(|name| name.ends_with(SUFFIX_NEW)).try_for_each(|name| folder.remove(name))
}

/// Makes a segment durably: written, synced, renamed, and the name synced.
pub(crate) fn create(folder: &Folder, header: &Header) -> Result<NamedFile, Failure> {
    let mut file = create_empty(folder, header.segment)?;
    file.write(0, &encode_beginning(header, &[]))?;
    file.sync()?;
    folder.rename(&mut file, &name_of(header.segment))?;
    folder.sync_names()?;
    Ok(file)
}

/// The file of a segment that is to [begin](begin) later.
pub(crate) fn create_empty(folder: &Folder, segment: u64) -> Result<NamedFile, Failure> {
    folder.create(&unfinished_name_of(segment))
}

/// Begins a segment with its first frames, as durably as the system makes it by itself. The first sync of it has to sync its name as well.
pub(crate) fn begin(folder: &Folder, file: &mut NamedFile, header: &Header, frames: &[u8]) -> Result<(), Failure> {
    file.write(0, &encode_beginning(header, frames))?;
    folder.rename(file, &name_of(header.segment))
}

/// A segment that was there, with a sound header.
pub(crate) struct Segment {
    pub(crate) file: NamedFile,
    pub(crate) header: Header,
    pub(crate) salt: Salt,
}

/// A failing disk, or damage.
#[derive(Debug)]
pub(crate) enum Trouble {
    Disk(Failure),
    Damaged(Damage),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Disk(failure)
    }
}

impl From<Damage> for Trouble {
    fn from(damage: Damage) -> Self {
        Self::Damaged(damage)
    }
}

impl Segment {
    pub(crate) fn open(folder: &Folder, first: u64, access: Access) -> Result<Self, Trouble> {
        let file = folder.open(&name_of(first), access)?;
        let damaged = |flaw| Damage { segment: file.shown().to_owned(), offset: 0, flaw };
        let header = Header::decode(&file.read(0, HEADER_BYTES)?).map_err(damaged)?;
        if header.segment != first {
            return Err(damaged(Flaw::Name).into());
        }
        let salt = Salt::new(header.identity, first);
        Ok(Self { file, header, salt })
    }

    /// The segment as it should be, where its header cannot be believed. If no other segment told the journal's identity
    /// either, the salt is told from what it protects.
    pub(crate) fn assume(folder: &Folder, header: Header, is_identified: bool) -> Result<Self, Failure> {
        let file = folder.open(&name_of(header.segment), Access::Read)?;
        let told = if is_identified { None } else { told_salt(&file)? };
        let salt = told.unwrap_or_else(|| Salt::new(header.identity, header.segment));
        Ok(Self { file, header, salt })
    }

    /// The name of its file, as people know it.
    pub(crate) fn name(&self) -> &str {
        self.file.shown()
    }

    pub(crate) fn first(&self) -> u64 {
        self.header.segment
    }

    pub(crate) fn damage(&self, offset: u64, flaw: Flaw) -> Damage {
        Damage { segment: self.name().to_owned(), offset, flaw }
    }

    /// Both slots, those that are valid.
    pub(crate) fn slots(&self) -> Result<Slots, Failure> {
        read_slots(&self.file, self.salt, self.first())
    }

    /// The chain value before the block that begins at `offset`, as it lies on the disk.
    pub(crate) fn chain_before(&self, offset: u64) -> Result<Option<Chain>, Failure> {
        if offset == FRAMES_AT {
            return Ok(Some(self.header.chain));
        }
        if offset < FRAMES_AT + Chain::BYTES as u64 || offset > self.file.length()? {
            return Ok(None);
        }
        let bytes = self.file.read(offset - Chain::BYTES as u64, Chain::BYTES)?;
        Ok(bytes.try_into().ok().map(Chain::from_bytes))
    }

    /// An error unless this segment follows a sealed one, whose last bytes are the chain value that this one continues.
    pub(crate) fn check_seam(&self, before: &Self) -> Result<(), Trouble> {
        if self.header.identity != before.header.identity {
            return Err(self.damage(0, Flaw::Identity).into());
        }
        let length = before.file.length()?;
        if before.chain_before(length)? == Some(self.header.chain) {
            return Ok(());
        }
        // If the one before is whole, then what is between the two is not there.
        let seal = before.slots()?.newest().filter(|slot| slot.is_continued && slot.synced.offset == length);
        match seal.map(|slot| slot.synced.frames) {
            Some(frames) if frames < self.first() => Err(Damage::new(frames, 0, Flaw::Missing).into()),
            _ => Err(self.damage(0, Flaw::Seam).into()),
        }
    }
}

impl From<Trouble> for TrimError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Disk(failure) => Self::Disk(failure),
            Trouble::Damaged(damage) => Self::Damaged(damage),
        }
    }
}

impl Slot {
    /// Writes the note where it belongs.
    pub(crate) fn write(&self, file: &NamedFile, salt: Salt) -> Result<(), Failure> {
        file.write(Self::place(self.sequence), &self.encode(salt))
    }
}

/// What the slots of a segment say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slots {
    slots: [Option<Slot>; 2],
}

impl Slots {
    /// The note that counts.
    pub(crate) fn newest(&self) -> Option<Slot> {
        self.valid().max_by_key(|slot| slot.sequence)
    }

    pub(crate) fn valid(&self) -> impl Iterator<Item = Slot> {
        self.slots.into_iter().flatten()
    }

    /// Whether both are valid and say the same.
    pub(crate) fn agree(&self) -> bool {
        let said = self.slots.map(|slot| slot.map(|slot| (slot.synced, slot.chain, slot.is_continued)));
        said[0].is_some() && said[0] == said[1]
    }

    /// Where the slots lie that are not valid.
    pub(crate) fn damaged(&self) -> impl Iterator<Item = u64> {
        let places = self.slots.into_iter().zip(SLOTS_AT);
        places.filter(|(slot, _)| slot.is_none()).map(|(_, place)| place)
    }
}

/// Compares slots with the frames that are met on the way from the beginning of a segment.
pub(crate) struct SlotCheck {
    unmet: Vec<Slot>,
}

impl SlotCheck {
    pub(crate) fn new(slots: &Slots) -> Self {
        Self { unmet: slots.valid().collect() }
    }

    /// Whether the slots that speak of this place, or of one inside the frame before it, agree with it, and with the chain there if that
    /// is known.
    pub(crate) fn agrees(&mut self, at: &Mark, block: Option<&Block>) -> bool {
        let has_chain = |slot: &Slot| block.is_none_or(|block| block.chain() == slot.chain);
        let agrees = |slot: &Slot| slot.synced.offset > at.offset || (slot.synced == *at && has_chain(slot));
        let all_agree = self.unmet.iter().all(agrees);
        self.unmet.retain(|slot| slot.synced.offset > at.offset);
        all_agree
    }
}

/// Reads both slots; again if neither is valid, since a writer may have been met at work.
pub(crate) fn read_slots(file: &NamedFile, salt: Salt, segment: u64) -> Result<Slots, Failure> {
    let mut slots = Slots::default();
    for _ in 0..SLOT_READS_MAX {
        for (slot, place) in slots.slots.iter_mut().zip(SLOTS_AT) {
            *slot = Slot::decode(&file.read(place, SLOT_BYTES)?, salt, place, segment);
        }
        if slots.newest().is_some() {
            break;
        }
    }
    Ok(slots)
}

/// The salt of a segment by its slots and its first frame; two of the three must agree.
fn told_salt(file: &NamedFile) -> Result<Option<Salt>, Failure> {
    let mut told = Vec::new();
    for place in SLOTS_AT {
        told.extend(Salt::of_slot(&file.read(place, SLOT_BYTES)?, place));
    }
    told.extend(Salt::of_frame(&file.read(FRAMES_AT, FRAME_HEADER_BYTES)?, FRAMES_AT));
    Ok(told.iter().copied().find(|salt| told.iter().filter(|other| *other == salt).count() > 1))
}

/// The identity of a journal as its first sound header has it.
pub(crate) fn identity(folder: &Folder, segments: &[u64]) -> Result<Option<Identity>, Failure> {
    for &first in segments {
        match Segment::open(folder, first, Access::Read) {
            Ok(segment) => return Ok(Some(segment.header.identity)),
            Err(Trouble::Disk(failure)) => return Err(failure),
            Err(Trouble::Damaged(_)) => {}
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::simulated::{Fate, SimulatedDisk};
    use std::sync::Arc;

    #[test]
    fn names_are_numbers_of_twenty_digits() {
        assert_eq!(name_of(42), "00000000000000000042.segment");
        assert_eq!(first_of(&name_of(u64::MAX)), Some(u64::MAX));
        for other in ["42.segment", "00000000000000000042.segment.new", "+0000000000000000042.segment", "LOCK"] {
            assert_eq!(first_of(other), None, "{other}");
        }
        assert_eq!(first_of("99999999999999999999.segment"), None);
    }

    #[test]
    fn a_segment_is_synced_before_it_has_its_name() {
        let disk = SimulatedDisk::new();
        let folder = Folder::new(Arc::new(disk.clone()));
        create(&folder, &Header { identity: Identity::default(), segment: 5, chain: Chain::genesis() }).unwrap();
        let expected = [
            "create 00000000000000000005.segment.new",
            "write 00000000000000000005.segment.new 0 +12288",
            "sync 00000000000000000005.segment.new",
            "rename 00000000000000000005.segment.new 00000000000000000005.segment",
            "sync names",
        ];
        assert_eq!(disk.trace(), expected);
        assert_eq!(disk.power_loss(Fate::Drop, 0).names(), ["00000000000000000005.segment"]);
    }
}
