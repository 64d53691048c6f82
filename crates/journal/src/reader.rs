//! Reading a journal from some frame on, also while another thread or process writes it.
//!
//! What a reader gives is always a prefix of what the writer appended, checked frame by frame; the chain is compared where it lies on the disk: at
//! the end of each block, of each segment, and of what was synced. Telling the
//! end of a live journal from damage needs care, since the file changes while it is read:
//!
//! 1. Before any frame, the reader notes what is certain: how far the newest slot says the segment is synced, and
//!    whether another segment follows (then all of this one is).
//! 2. Bytes that are not a frame, at a place that was certain *before* it was read, are damage.
//! 3. At any other place the reader notes again what is certain, forgets what it read ahead, and looks once more.
//! 4. If nothing new is certain there, the journal ends there for now: [`Reader::read_next`] gives `None`, and may give
//!    more later.
//!
//! Frames that the writer still holds back ([`Durability::None`](crate::Durability::None)) are not visible. A frame that
//! is not synced yet is: after a power loss it may be gone, so a program that derives durable things from frames should stop
//! at [`Journal::progress`](crate::Journal::progress).

use crate::access::Access;
use crate::beginning::{Beginning, Note};
use crate::chain::Chain;
use crate::disk::Disk;
use crate::error::{Damage, ReadError};
use crate::file::Folder;
use crate::format::{FRAMES_AT, Flaw, Mark, SLOTS_AT};
use crate::frame::{Frame, Place};
use crate::position::Position;
use crate::scan::{Scan, Step};
use crate::segment::{self, Segment, Trouble};
use std::fmt;
use std::io::ErrorKind;
use std::sync::Arc;

/// Gives the frames of a journal in order.
///
/// ```
/// use journal::simulated::SimulatedDisk;
/// use journal::{Durability, Journal, Options, Reader};
/// use std::sync::Arc;
///
/// let disk = Arc::new(SimulatedDisk::new());
/// let (journal, _) = Journal::open(disk.clone(), Options::default())?;
/// let mut reader = Reader::from_frame(disk, 0)?;
/// assert!(reader.read_next()?.is_none());
/// journal.append(b"one", Durability::Os)?;
/// journal.append(b"two", Durability::Os)?;
/// while let Some(frame) = reader.read_next()? {
///     println!("{} {:?}", frame.place.number, frame.payload);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reader {
    folder: Folder,
    segment: Segment,
    scan: Scan,
    known: Known,
}

/// What is certain about the segment a reader is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    /// Frames up to here were synced.
    synced: Mark,
    /// The chain value there, if a slot says it.
    chain: Option<Chain>,
    /// The segment that follows, which makes all of this one synced.
    next: Option<u64>,
    /// Whether one must follow.
    is_continued: bool,
}

impl Known {
    fn nothing(first: u64) -> Self {
        Self { synced: Mark::beginning(first), chain: None, next: None, is_continued: false }
    }

    fn makes_damage(&self, offset: u64) -> bool {
        self.next.is_some() || self.is_continued || offset < self.synced.offset
    }

    /// Whether a scan has come to where a slot says another chain value.
    fn contradicts(&self, scan: &Scan) -> bool {
        let is_there = scan.at().offset == self.synced.offset;
        is_there && self.chain.is_some_and(|chain| scan.chain().is_some_and(|found| found != chain))
    }
}

impl Reader {
    /// A reader that gives this frame next, found by walking its segment from the beginning. The number that comes after
    /// the last frame is allowed.
    ///
    /// # Errors
    /// The journal does not reach that far, or cannot be read up to there.
    pub fn from_frame(disk: Arc<dyn Disk>, number: u64) -> Result<Self, ReadError> {
        let folder = Folder::new(disk);
        let names = folder.list()?;
        let note = Note::read(&folder, &names)?;
        let segments = note.kept(segment::among(&names));
        let beginning = note.beginning().frame;
        if number < beginning && !segments.is_empty() {
            return Err(ReadError::Trimmed { number, first: beginning });
        }
        let Some(&first) = segments.iter().rev().find(|&&first| first <= number).or(segments.first()) else {
            return Err(ReadError::Empty);
        };
        let mut reader = Self::at_segment(folder, first)?;
        if beginning > 0 && first == segments[0] {
            note.check(&reader.segment)?;
        }
        while reader.scan.at().frames < number {
            if reader.read_next()?.is_none() {
                return Err(ReadError::NoSuchFrame { number, frames: reader.scan.at().frames });
            }
        }
        if reader.scan.at().frames > number {
            return Err(segment_missing(0));
        }
        Ok(reader)
    }

    /// A reader that gives the first frame next that the journal has.
    ///
    /// # Errors
    /// There is no journal, or it cannot be read there.
    pub fn from_beginning(disk: Arc<dyn Disk>) -> Result<Self, ReadError> {
        let beginning = Beginning::of(&disk)?;
        Self::from_frame(disk, beginning.frame)
    }

    /// A reader that gives the frame at this place next, found at once. The place after the last frame, which
    /// [`Reader::place`] gave, is allowed, and found by a walk through its segment. The chain is known from the end of the next block on.
    ///
    /// # Errors
    /// No frame begins there, or the journal cannot be read there.
    pub fn from_place(disk: Arc<dyn Disk>, place: Place) -> Result<Self, ReadError> {
        let mut reader = Self::at_segment(Folder::new(disk), place.segment)?;
        let at = Mark { segment: place.segment, offset: place.offset, frames: place.number };
        if at.offset < FRAMES_AT || at.offset > reader.segment.file.length()? {
            return Err(ReadError::NoSuchPlace(place));
        }
        if at.offset == FRAMES_AT && at.frames == reader.segment.first() {
            return Ok(reader);
        }
        let beginning = std::mem::replace(&mut reader.scan, Scan::new(reader.segment.salt, at, None));
        match reader.scan.step(&reader.segment.file)? {
            Step::Frame => reader.scan = Scan::new(reader.segment.salt, at, None),
            // Nothing there tells the number, so it takes a walk.
            Step::End | Step::Bad(_) => reader.walk(beginning, at)?,
        }
        Ok(reader)
    }

    /// A reader that gives the frame after a position next, if the journal has the history up to there that it had when the position was noted.
    /// It reads the block up to there.
    ///
    /// # Errors
    /// There is another history, or the journal cannot be read there.
    pub fn from_position(disk: Arc<dyn Disk>, position: &Position) -> Result<Self, ReadError> {
        let Position { place, block, chain } = *position;
        let mut reader = Self::at_segment(Folder::new(disk), place.segment)?;
        let before = reader.segment.chain_before(block.offset)?.filter(|_| block.offset <= place.offset);
        let from = Mark { segment: place.segment, offset: block.offset, frames: block.number };
        reader.scan = Scan::at_block(reader.segment.salt, from, before.ok_or(ReadError::OtherHistory(place))?);
        while reader.scan.at().offset < place.offset && reader.scan.step(&reader.segment.file)? == Step::Frame {}
        if Place::of(&reader.scan.at()) == place && reader.scan.chain() == Some(chain) {
            return Ok(reader);
        }
        Err(ReadError::OtherHistory(place))
    }

    /// Goes on from the beginning of the segment to a place that must be between two frames.
    fn walk(&mut self, beginning: Scan, to: Mark) -> Result<(), ReadError> {
        self.scan = beginning;
        while self.scan.at().frames < to.frames && self.scan.step(&self.segment.file)? == Step::Frame {}
        if self.scan.at() == to { Ok(()) } else { Err(ReadError::NoSuchPlace(Place::of(&to))) }
    }

    fn at_segment(folder: Folder, first: u64) -> Result<Self, ReadError> {
        let segment = open_segment(&folder, first)?;
        let scan = Scan::at_block(segment.salt, Mark::beginning(first), segment.header.chain);
        let known = Known::nothing(first);
        let mut reader = Self { folder, segment, scan, known };
        reader.refresh()?;
        Ok(reader)
    }

    /// The place of the frame that comes next.
    pub fn place(&self) -> Place {
        Place::of(&self.scan.at())
    }

    /// The chain up to the frame that comes next; none in the block that the reader began in the middle of. It takes the hash of up to 16 KiB.
    pub fn chain(&self) -> Option<Chain> {
        self.scan.chain()
    }

    /// Where it is, to go on from there later; none where the chain is not known.
    pub fn position(&self) -> Option<Position> {
        Some(Position::of(&self.scan.at(), self.scan.block()?))
    }

    /// The next frame; `None` where the journal ends for now.
    ///
    /// # Errors
    /// The disk fails, or there is damage. The reader stays where it is.
    pub fn read_next(&mut self) -> Result<Option<Frame<'_>>, ReadError> {
        if self.advance()? { Ok(Some(self.scan.frame())) } else { Ok(None) }
    }

    fn advance(&mut self) -> Result<bool, ReadError> {
        loop {
            let offset = self.scan.at().offset;
            if self.known.contradicts(&self.scan) {
                return Err(self.segment.damage(offset, Flaw::SlotMark).into());
            }
            let flaw = match (self.scan.step(&self.segment.file)?, self.known.next) {
                (Step::Frame, _) => return Ok(true),
                (Step::End, Some(next)) if next == self.scan.at().frames => {
                    self.enter(next)?;
                    continue;
                }
                // All of this segment has been read: what is missing is the one after it.
                (Step::End, next)
                    if (next.is_some() || self.known.is_continued)
                        && self.known.synced.frames == self.scan.at().frames =>
                {
                    return Err(segment_missing(self.known.synced.frames));
                }
                (Step::End, _) => Flaw::Short,
                (Step::Bad(flaw), _) => flaw,
            };
            if self.known.makes_damage(offset) {
                return Err(self.segment.damage(offset, flaw).into());
            }
            self.scan.forget();
            if !self.refresh()? {
                return Ok(false);
            }
        }
    }

    /// Notes what is certain by now; whether that is more than before.
    fn refresh(&mut self) -> Result<bool, ReadError> {
        let first = self.segment.first();
        // The slots before the names: they speak of a next segment only when its name is there to be listed.
        let slots = self.segment.slots()?;
        let next = segment::list(&self.folder)?.into_iter().find(|&other| other > first);
        let Some(slot) = slots.newest() else {
            return Err(self.segment.damage(SLOTS_AT[0], Flaw::Slots).into());
        };
        let known = Known { synced: slot.synced, chain: Some(slot.chain), next, is_continued: slot.is_continued };
        let is_news = known != self.known;
        self.known = known;
        Ok(is_news)
    }

    /// Goes on in the segment that follows.
    fn enter(&mut self, next: u64) -> Result<(), ReadError> {
        let segment = open_segment(&self.folder, next)?;
        segment.check_seam(&self.segment)?;
        let chain = segment.header.chain;
        if self.scan.chain().is_some_and(|found| found != chain) {
            return Err(segment.damage(0, Flaw::Seam).into());
        }
        self.scan = Scan::at_block(segment.salt, Mark::beginning(next), chain);
        self.segment = segment;
        self.known = Known::nothing(next);
        self.refresh()?;
        Ok(())
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("place", &self.place()).field("chain", &self.chain()).finish()
    }
}

/// The segment that begins with a frame. One that was given up since somebody knew of it is told from one that is missing.
fn open_segment(folder: &Folder, first: u64) -> Result<Segment, ReadError> {
    Segment::open(folder, first, Access::Read).map_err(|trouble| {
        let is_gone = matches!(&trouble, Trouble::Disk(failure) if failure.error.kind() == ErrorKind::NotFound);
        let beginning = || Some(Note::read(folder, &folder.list().ok()?).ok()?.beginning().frame);
        match if is_gone { beginning() } else { None } {
            Some(beginning) if first < beginning => ReadError::Trimmed { number: first, first: beginning },
            _ => trouble.into(),
        }
    })
}

fn segment_missing(first: u64) -> ReadError {
    ReadError::Damaged(Damage::new(first, 0, Flaw::Missing))
}

impl From<Trouble> for ReadError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Disk(failure) => Self::Disk(failure),
            Trouble::Damaged(damage) => Self::Damaged(damage),
        }
    }
}
