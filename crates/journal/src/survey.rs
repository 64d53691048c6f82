//! Reading everything that can be read, damage or not: what [`verify`](crate::verify()) and
//! [`salvage`](crate::salvage()) have in common.
//!
//! 1. Segments are taken in order. One that is missing, has a damaged header or does not continue the one before it is
//!    noted; its frames are read all the same, since their checksums need only the journal's identity and their place.
//!    If no header tells the identity, what the checksums started from is computed back out of them.
//! 2. In a segment, bytes that are not a frame are skipped up to the next frame, and what was skipped is noted.
//! 3. A whole frame whose chain value does not fit is given, and noted: either it or a frame before it was exchanged.
//! 4. In the last segment, bytes that are not a frame and were never synced are a torn tail, as they are when the journal is opened.
//!
//! Nothing is written. Cost: a pass over all bytes, and another over those that are skipped, except holes of a file.

use crate::access::Access;
use crate::beginning::Note;
use crate::block::Block;
use crate::chain::Chain;
use crate::error::{Damage, Failure, Warning};
use crate::file::Folder;
use crate::format::Flaw;
use crate::format::{Header, Identity, Mark, SLOTS_AT, Slot};
use crate::frame::Frame;
use crate::scan::{Scan, Step};
use crate::segment::{self, Segment, SlotCheck, Trouble};
use std::fmt;
use std::ops::Range;

/// Damage, and what it cost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// What is wrong where.
    pub damage: Damage,
    /// How many bytes from there on are not frames.
    pub bytes: u64,
    /// The numbers of the frames that were lost by it, as far as what follows tells; maybe none.
    pub frames: Range<u64>,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { segment, offset, flaw } = &self.damage;
        write!(f, "{segment} at byte {offset}: {flaw} ({} bytes", self.bytes)?;
        match self.frames.end.saturating_sub(self.frames.start) {
            0 => f.write_str(")"),
            1 => write!(f, ", frame {})", self.frames.start),
            _ => write!(f, ", frames {} to {})", self.frames.start, self.frames.end - 1),
        }
    }
}

/// What there is of one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SegmentReport {
    /// The name of its file.
    pub name: String,
    /// How many frames can be read.
    pub frames: u64,
    /// How long the file is.
    pub bytes: u64,
    /// How much of it is certain to have been synced; all, if another segment follows.
    pub synced: u64,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) identity: Identity,
    /// The first frame that there is to be.
    pub(crate) first: u64,
    pub(crate) segments: Vec<SegmentReport>,
    /// The chain up to the last frame, if that is known.
    pub(crate) chain: Option<Chain>,
    pub(crate) lost: Vec<Lost>,
    pub(crate) warnings: Vec<Warning>,
}

/// Reads a journal and gives every frame to `keep`; `None` if there is no journal.
pub(crate) fn survey<E: From<Failure>>(
    folder: &Folder,
    keep: &mut dyn FnMut(Frame<'_>) -> Result<(), E>,
) -> Result<Option<Survey>, E> {
    let names = folder.list()?;
    let segments = segment::among(&names);
    let (note, damage) = match Note::read(folder, &names) {
        Ok(note) => (Some(note), None),
        Err(Trouble::Disk(failure)) => return Err(failure.into()),
        Err(Trouble::Damaged(damage)) => (None, Some(damage)),
    };
    let segments = note.as_ref().map_or(segments.clone(), |note| note.kept(segments));
    let Some(&first) = segments.first() else { return Ok(None) };
    let identity = segment::identity(folder, &segments)?;
    let (beginning, is_identified) = (note.map(|note| note.beginning()), identity.is_some());
    let identity = identity.unwrap_or_default();
    let chain = beginning.map(|beginning| beginning.chain);
    // If nobody can tell where it begins, it is taken to begin with the first segment that is there.
    let frames = beginning.map_or(first, |beginning| beginning.frame);
    let found = Survey { identity, first: frames, segments: Vec::new(), chain, lost: Vec::new(), warnings: Vec::new() };
    let mut surveyor = Surveyor { folder, keep, found, segments, is_identified, frames };
    damage.into_iter().for_each(|damage| surveyor.note(damage));
    let mut at = Some(first);
    while let Some(first) = at {
        at = surveyor.segment(first)?;
    }
    Ok(Some(surveyor.found))
}

struct Surveyor<'a, E> {
    folder: &'a Folder,
    keep: &'a mut dyn FnMut(Frame<'_>) -> Result<(), E>,
    found: Survey,
    segments: Vec<u64>,
    /// Whether some header told the journal's identity.
    is_identified: bool,
    /// The number of the next frame.
    frames: u64,
}

/// What is certain about a segment before its frames are read.
struct Certain {
    newest: Option<Slot>,
    check: SlotCheck,
    next: Option<u64>,
    length: u64,
}

impl Certain {
    /// The note that says where the segment ends for good.
    fn seal(&self) -> Option<Slot> {
        self.newest.filter(|slot| slot.is_continued)
    }

    fn synced(&self) -> u64 {
        match (self.seal(), self.next) {
            (None, Some(_)) => self.length,
            _ => self.newest.map_or(0, |slot| slot.synced.offset),
        }
    }

    /// How many frames there must be, up to the end of the segment.
    fn frames(&self) -> u64 {
        let sealed = self.seal().map(|slot| slot.synced.frames).or(self.next);
        sealed.or(self.newest.map(|slot| slot.synced.frames)).unwrap_or(0)
    }
}

impl<E: From<Failure>> Surveyor<'_, E> {
    /// Reads one segment; gives the one that follows.
    fn segment(&mut self, first: u64) -> Result<Option<u64>, E> {
        if first > self.frames {
            self.lose(Damage::new(self.frames, 0, Flaw::Missing), 0, self.frames..first);
            self.found.chain = None;
        }
        let Some(segment) = self.open(first)? else { return Ok(self.next(first)?) };
        // In this order, since somebody may be writing: what slots speak of is there to be listed and measured.
        let slots = segment.slots()?;
        let (newest, next, length) = (slots.newest(), self.next(first)?, segment.file.length()?);
        if newest.is_none() {
            self.note(segment.damage(SLOTS_AT[0], Flaw::Slots));
        } else {
            let damaged =
                slots.damaged().map(|offset| Warning::SlotDamaged { segment: segment.name().to_owned(), offset });
            self.found.warnings.extend(damaged);
        }
        let mut certain = Certain { newest, check: SlotCheck::new(&slots), next, length };
        self.walk(&segment, &mut certain)?;
        if let (None, Some(seal)) = (next, certain.seal()) {
            self.note(Damage::new(seal.synced.frames, 0, Flaw::Missing));
        }
        Ok(next)
    }

    /// The segment that follows, which may have been made meanwhile.
    fn next(&mut self, first: u64) -> Result<Option<u64>, Failure> {
        if self.segments.last() == Some(&first) {
            self.segments = segment::list(self.folder)?;
        }
        Ok(self.segments.iter().copied().find(|&other| other > first))
    }

    /// The segment, as far as it can be believed; `None` if its bytes cannot be understood.
    fn open(&mut self, first: u64) -> Result<Option<Segment>, E> {
        let damage = match Segment::open(self.folder, first, Access::Read) {
            Ok(segment) => {
                self.check_header(&segment);
                return Ok(Some(segment));
            }
            Err(Trouble::Disk(failure)) => return Err(failure.into()),
            Err(Trouble::Damaged(damage)) => damage,
        };
        let is_foreign = matches!(damage.flaw, Flaw::Version(_));
        self.note(damage);
        if is_foreign {
            return Ok(None);
        }
        let header = Header {
            identity: self.found.identity,
            segment: first,
            chain: self.found.chain.unwrap_or_else(Chain::genesis),
        };
        Ok(Some(Segment::assume(self.folder, header, self.is_identified)?))
    }

    fn check_header(&mut self, segment: &Segment) {
        let Header { identity, chain, .. } = segment.header;
        if identity != self.found.identity {
            self.note(segment.damage(0, Flaw::Identity));
        } else if self.found.chain.is_some_and(|found| found != chain || segment.first() != self.frames) {
            self.note(segment.damage(0, Flaw::Seam));
        }
        self.found.chain = Some(chain);
    }

    fn walk(&mut self, segment: &Segment, certain: &mut Certain) -> Result<(), E> {
        let at = Mark::beginning(segment.first());
        let mut scan = Scan::new(segment.salt, at, self.found.chain.map(|chain| Block::new(at, chain)));
        let mut count = 0;
        loop {
            if !certain.check.agrees(&scan.at(), scan.block()) {
                self.note(segment.damage(scan.at().offset, Flaw::SlotMark));
            }
            match self.step(segment, certain, &mut scan)? {
                Step::Frame => {
                    count += 1;
                    (self.keep)(scan.frame())?;
                }
                Step::Bad(flaw) if self.pass(segment, certain, &mut scan, flaw)? => {}
                Step::Bad(_) => break,
                Step::End => {
                    self.end(segment, certain, &scan);
                    break;
                }
            }
        }
        let (name, bytes, synced) = (segment.name().to_owned(), certain.length, certain.synced());
        self.found.segments.push(SegmentReport { name, frames: count, bytes, synced });
        Ok(())
    }

    /// Goes past the next frame; an end, noted, where a torn tail begins.
    fn step(&mut self, segment: &Segment, certain: &Certain, scan: &mut Scan) -> Result<Step, Failure> {
        let step = scan.step(&segment.file)?;
        if !matches!(step, Step::Bad(_)) {
            return Ok(step);
        }
        let at = scan.at();
        if certain.synced() <= at.offset && !scan.is_synced_beyond(&segment.file)? {
            let bytes = segment.file.end_of_data(at.offset)?.saturating_sub(at.offset);
            if bytes > 0 {
                // The writer may have completed it by now.
                scan.forget();
                if scan.step(&segment.file)? == Step::Frame {
                    return Ok(Step::Frame);
                }
                self.found.warnings.push(Warning::TornTail {
                    segment: segment.name().to_owned(),
                    offset: at.offset,
                    bytes,
                });
            }
            return Ok(Step::End);
        }
        // The writer may have completed it by now.
        scan.forget();
        scan.step(&segment.file)
    }

    /// Goes past bytes that were synced and are not a frame, and notes them; whether something follows them.
    fn pass(&mut self, segment: &Segment, certain: &Certain, scan: &mut Scan, flaw: Flaw) -> Result<bool, Failure> {
        let at = scan.at();
        let damage = segment.damage(at.offset, flaw);
        if flaw == Flaw::Chain {
            self.note(damage);
            scan.unlink();
            return Ok(true);
        }
        // A frame with a wrong number is one, if only for a later place in the order.
        let from = at.offset + u64::from(flaw != Flaw::Number);
        if let Some(found) = scan.find(&segment.file, from)? {
            self.lose(damage, found.offset - at.offset, at.frames..found.number);
            scan.jump(found);
            return Ok(true);
        }
        self.lose_rest(damage, certain, at);
        Ok(false)
    }

    /// The frames of a segment have ended, where its file does or where a torn tail begins.
    fn end(&mut self, segment: &Segment, certain: &Certain, scan: &Scan) {
        let at = scan.at();
        if at.offset < certain.synced() || at.frames < certain.frames() {
            self.lose_rest(segment.damage(at.offset, Flaw::Short), certain, at);
        } else {
            self.stop(at, scan.chain());
        }
    }

    /// Nothing more can be read of a segment.
    fn lose_rest(&mut self, damage: Damage, certain: &Certain, at: Mark) {
        let frames = certain.frames().max(at.frames);
        self.lose(damage, certain.length.saturating_sub(at.offset), at.frames..frames);
        self.stop(Mark { frames, ..at }, None);
    }

    fn stop(&mut self, at: Mark, chain: Option<Chain>) {
        self.frames = at.frames;
        self.found.chain = chain;
    }

    fn note(&mut self, damage: Damage) {
        self.lose(damage, 0, 0..0);
    }

    fn lose(&mut self, damage: Damage, bytes: u64, frames: Range<u64>) {
        self.found.lost.push(Lost { damage, bytes, frames });
    }
}
