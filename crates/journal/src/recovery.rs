//! Opening: finding out where the journal ends, and cutting off what lies after.
//!
//! 1. Every segment but the last is sealed: its header must be sound, and the next must continue the chain value that it
//!    ends with. Its frames are checked when they are read or verified, so opening takes time for one segment, not for all.
//! 2. All frames of the last segment are read. What is certain to have been synced is the most that a slot or a frame says.
//! 3. The first bytes that are not a frame are judged: if they, or anything after them, were synced, they are damage, and
//!    nothing is changed. Otherwise they are a torn tail.
//! 4. The tail is cut. If it is zeros alone, it is [room](Options::room_bytes) for frames that never came, and there is no warning. What lies before it
//!    and was not certain to be synced, the beginning as well if nothing was, is written once more and synced: after a sync that failed, the
//!    system may show bytes that the disk never got, and would not write them for another sync.
//! 5. What a trim that did not end has left is taken away. The names are synced, since the process that created the last segment may have ended before it did so.
//!
//! Invariants: a journal that opens holds every acknowledged frame; what it holds is durable when opening returns; opening
//! again finds the same. A crash at any point leaves something that opens to the same frames.

use crate::access::Access;
use crate::beginning::{self, Note};
use crate::block::Block;
use crate::error::{Damage, Failure, OpenError, Warning};
use crate::file::{Folder, NamedFile};
use crate::format::{FRAMES_AT, Flaw, Header, Identity, Mark, SLOTS_AT, Slot};
use crate::options::{Durability, Options};
use crate::scan::{Scan, Step};
use crate::segment::{self, Segment, SlotCheck, Slots, Trouble};
use crate::writer::Writer;

/// How much is written again at once.
const COPY_BYTES: usize = 1 << 20;

/// A journal that is ready to be written.
pub(crate) struct Recovered {
    pub(crate) writer: Writer,
    pub(crate) identity: Identity,
    pub(crate) end: Mark,
    /// The block up to there.
    pub(crate) block: Block,
    pub(crate) warnings: Vec<Warning>,
}

/// Opens the journal in a folder, or makes one.
pub(crate) fn recover(folder: Folder, options: &Options) -> Result<Recovered, OpenError> {
    let names = folder.list()?;
    let note = Note::read(&folder, &names)?;
    let segments = note.kept(segment::among(&names));
    let Some(&last) = segments.last() else { return create(folder, &names, options, &note) };
    check_sealed(&folder, &segments, &note)?;
    let segment = Segment::open(&folder, last, Access::Write)?;
    let identity = segment.header.identity;
    if options.identity.is_some_and(|wanted| wanted != identity) {
        return Err(OpenError::WrongIdentity { found: identity });
    }
    let tail = examine(&segment)?;
    mend(&folder, (&names, &note), &segment, &tail)?;
    if let [.., before, _] = segments[..] {
        note_continued(&folder, before, &segment.header)?;
    }
    let warnings = tail.warnings(&segment);
    let Tail { end, block, newest, .. } = tail;
    let notes = (newest, tail.slots.agree());
    let writer = Writer::new(folder, segment.header, segment.file, notes, (end, block.chain()));
    let mut writer = writer.with_room(options.room_bytes);
    if end != newest.synced || tail.slots.damaged().next().is_some() {
        writer.note(false)?;
    }
    Ok(Recovered { writer, identity, end, block, warnings })
}

fn create(folder: Folder, names: &[String], options: &Options, note: &Note) -> Result<Recovered, OpenError> {
    segment::remove_unfinished(&folder, names)?;
    beginning::remove_given_up(&folder, names, note)?;
    let identity = options.identity.or(note.identity()).unwrap_or_default();
    let beginning = options.continued.unwrap_or(note.beginning());
    let (first, chain) = (beginning.frame, beginning.chain);
    let end = Mark::beginning(first);
    let header = Header { identity, segment: first, chain };
    if options.continued.is_some() {
        beginning::write(&folder, header)?;
    }
    let waits = options.beginning == Durability::Fsync;
    let file = if waits { segment::create(&folder, &header)? } else { segment::create_empty(&folder, first)? };
    let newest = Slot { sequence: Slot::FIRST_SEQUENCE - 1, synced: end, chain, is_continued: false };
    let writer = Writer::new(folder, header, file, (newest, true), (end, chain)).with_room(options.room_bytes);
    let mut writer = if waits { writer } else { writer.not_begun() };
    if options.beginning == Durability::Os {
        writer.begin()?;
    }
    Ok(Recovered { writer, identity, end, block: Block::new(end, chain), warnings: Vec::new() })
}

/// Every segment has a sound header and continues the one before it; the first is the one that the journal begins with.
fn check_sealed(folder: &Folder, segments: &[u64], note: &Note) -> Result<(), OpenError> {
    let beginning = note.beginning().frame;
    if segments[0] != beginning {
        return Err(Damage::new(beginning, 0, Flaw::Missing).into());
    }
    let mut before: Option<Segment> = None;
    for &first in segments {
        let segment = Segment::open(folder, first, Access::Read)?;
        match &before {
            Some(before) => segment.check_seam(before)?,
            None => note.check(&segment)?,
        }
        before = Some(segment);
    }
    Ok(())
}

/// How the last segment ends.
struct Tail {
    /// The end of its last frame.
    end: Mark,
    /// The block up to there.
    block: Block,
    /// How far it is certain to be synced.
    synced: u64,
    /// The length of the file, and where the zeros begin that it ends with, if there are some after the last frame.
    length: u64,
    data_end: u64,
    slots: Slots,
    newest: Slot,
}

impl Tail {
    fn warnings(&self, segment: &Segment) -> Vec<Warning> {
        let name = segment.name().to_owned();
        let mut warnings: Vec<Warning> =
            self.slots.damaged().map(|offset| Warning::SlotDamaged { segment: name.clone(), offset }).collect();
        let bytes = self.data_end - self.end.offset;
        if bytes > 0 {
            warnings.push(Warning::TornTail { segment: name, offset: self.end.offset, bytes });
        }
        warnings
    }
}

/// Reads all frames of the last segment and judges what follows them.
fn examine(segment: &Segment) -> Result<Tail, Trouble> {
    let slots = segment.slots()?;
    let Some(newest) = slots.newest() else { return Err(segment.damage(SLOTS_AT[0], Flaw::Slots).into()) };
    if newest.is_continued {
        return Err(Damage::new(newest.synced.frames, 0, Flaw::Missing).into());
    }
    let mut scan = Scan::at_block(segment.salt, Mark::beginning(segment.first()), segment.header.chain);
    let (flaw, noted) = walk(segment, &mut scan, &slots)?;
    let (end, synced) = (scan.at(), noted.max(newest.synced.offset));
    if end.offset < synced || scan.is_synced_beyond(&segment.file)? {
        return Err(segment.damage(end.offset, flaw).into());
    }
    let block = scan.into_block().expect("it was read from its beginning");
    let (length, data_end) = (segment.file.length()?, segment.file.end_of_data(end.offset)?);
    Ok(Tail { end, block, synced, length, data_end, slots, newest })
}

/// Steps from frame to frame; gives what is wrong after the last, and how far frames say that the segment is synced.
fn walk(segment: &Segment, scan: &mut Scan, slots: &Slots) -> Result<(Flaw, u64), Trouble> {
    let mut check = SlotCheck::new(slots);
    let mut synced = FRAMES_AT;
    loop {
        if !check.agrees(&scan.at(), scan.block()) {
            return Err(segment.damage(scan.at().offset, Flaw::SlotMark).into());
        }
        match scan.step(&segment.file)? {
            Step::Frame => synced = synced.max(scan.synced_by_frame()),
            Step::End => return Ok((Flaw::Short, synced)),
            Step::Bad(flaw) => return Ok((flaw, synced)),
        }
    }
}

/// Makes the folder what it was found to be, durably.
fn mend(folder: &Folder, (names, note): (&[String], &Note), segment: &Segment, tail: &Tail) -> Result<(), Failure> {
    let has_more = tail.length > tail.end.offset;
    if has_more {
        segment.file.cut(tail.end.offset)?;
    }
    // Nothing was noted yet, so the beginning itself may never have been synced.
    let is_new = segment.first() == 0 && tail.synced == FRAMES_AT;
    let is_unsure = is_new || tail.end.offset > tail.synced;
    if is_unsure {
        write_again(&segment.file, if is_new { 0 } else { tail.synced }, tail.end.offset)?;
    }
    if has_more || is_unsure {
        segment.file.sync()?;
    }
    segment::remove_unfinished(folder, names)?;
    beginning::remove_given_up(folder, names, note)?;
    folder.sync_names()
}

/// Has the system write bytes that it may take for written.
fn write_again(file: &NamedFile, from: u64, to: u64) -> Result<(), Failure> {
    let mut at = from;
    while at < to {
        let bytes = file.read(at, usize::try_from(to - at).map_or(COPY_BYTES, |left| left.min(COPY_BYTES)))?;
        file.write(at, &bytes)?;
        at += bytes.len().max(1) as u64;
    }
    Ok(())
}

/// Completes a roll-over that ended before its last step: both slots are to say that the segment is continued.
fn note_continued(folder: &Folder, before: u64, next: &Header) -> Result<(), OpenError> {
    let segment = Segment::open(folder, before, Access::Write)?;
    let slots = segment.slots()?;
    let Some(newest) = slots.newest().filter(|slot| !slot.is_continued || !slots.agree()) else { return Ok(()) };
    let synced = Mark { segment: before, offset: segment.file.length()?, frames: next.segment };
    let note = |ahead| {
        let sequence = newest.sequence.wrapping_add(ahead);
        Slot { sequence, synced, chain: next.chain, is_continued: true }
    };
    for slot in [note(1), note(2)] {
        slot.write(&segment.file, segment.salt)?;
        segment.file.sync()?;
    }
    Ok(())
}

impl From<Trouble> for OpenError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Disk(failure) => Self::Disk(failure),
            Trouble::Damaged(damage) => Self::Damaged(damage),
        }
    }
}
