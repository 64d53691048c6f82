//! Reading the frames of one segment, one after the other.
//!
//! 1. Bytes are read in windows, the next one longer than the last, up to [`WINDOW_BYTES_MAX`]; a longer frame gets a window of its own length, but only once the
//!    checksum of its header vouches for that length.
//! 2. A frame counts if its header's checksum, its number and its own checksum are right, in this order; and the chain value, in one that ends
//!    a block.
//! 3. What is not a frame is reported with its flaw, and the scan stays where it is: judging it (torn tail or damage) is
//!    left to the caller, which knows how far the segment is synced.
//! 4. [`Scan::find`] looks for the next frame after bytes that are not one, wherever a frame's kind stands: a frame's checksums depend on
//!    its place, so what they accept was written there. Holes of a file are not read.
//!
//! Cost: a pass of CRC-32C and one of BLAKE3 over all frames, a copy for the second; searching, one pass for the kind, at the speed of memory.

use crate::block::Block;
use crate::chain::Chain;
use crate::error::Failure;
use crate::file::NamedFile;
use crate::format::{
    FRAME_HEADER_BYTES, FRAME_OVERHEAD_BYTES, Flaw, FrameHeader, KIND_AT, KIND_DATA, KIND_WORD, Mark, Salt,
};
use crate::frame::{Frame, Place};
use memchr::memmem;

/// How much is read at first: a short journal takes no more memory than it has bytes, and clearing memory takes time.
const WINDOW_BYTES_MIN: usize = 8 << 10;
/// How much is read at once when there is more.
const WINDOW_BYTES_MAX: usize = 256 << 10;

/// What lies at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A frame; the scan has passed it.
    Frame,
    /// The end of the file.
    End,
    /// Something else.
    Bad(Flaw),
}

/// A place between two frames of a segment, with what is needed to go on from there.
pub(crate) struct Scan {
    window: Window,
    salt: Salt,
    at: Mark,
    /// The block up to there. It is not known where something before was not read, until the next one begins.
    block: Option<Block>,
    /// The frame that was passed last.
    last: Mark,
    last_header: Option<FrameHeader>,
}

/// A frame found after damage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) offset: u64,
    pub(crate) number: u64,
    pub(crate) synced: u64,
}

impl Scan {
    /// Goes on from a place, and from the block up to there if that is known.
    pub(crate) fn new(salt: Salt, at: Mark, block: Option<Block>) -> Self {
        Self { window: Window::default(), salt, at, block, last: at, last_header: None }
    }

    /// Goes on from the beginning of a block.
    pub(crate) fn at_block(salt: Salt, at: Mark, before: Chain) -> Self {
        Self::new(salt, at, Some(Block::new(at, before)))
    }

    /// Where it is.
    pub(crate) fn at(&self) -> Mark {
        self.at
    }

    /// The block up to there, if that is known.
    pub(crate) fn block(&self) -> Option<&Block> {
        self.block.as_ref()
    }

    /// The block up to there, for somebody else to go on with.
    pub(crate) fn into_block(self) -> Option<Block> {
        self.block
    }

    /// The chain value there, if it is known.
    pub(crate) fn chain(&self) -> Option<Chain> {
        self.block.as_ref().map(Block::chain)
    }

    /// Goes past the next frame, if there is one.
    pub(crate) fn step(&mut self, file: &NamedFile) -> Result<Step, Failure> {
        let Self { window, salt, at, .. } = self;
        let bytes = window.bytes(file, at.offset, FRAME_HEADER_BYTES)?;
        if bytes.is_empty() {
            return Ok(Step::End);
        }
        let header = match FrameHeader::decode(bytes, *salt, at.offset) {
            Ok(header) if header.number == at.frames => header,
            Ok(_) => return Ok(Step::Bad(Flaw::Number)),
            Err(flaw) => return Ok(Step::Bad(flaw)),
        };
        let bytes = window.frame(file, at.offset, &header)?;
        let Some((payload, end)) = parts(bytes, &header) else { return Ok(Step::Bad(Flaw::Short)) };
        if !header.covers(&bytes[FRAME_HEADER_BYTES..]) {
            return Ok(Step::Bad(Flaw::FrameChecksum));
        }
        let next = at.after(header.frame_bytes());
        if !extend(&mut self.block, payload, end, next) {
            return Ok(Step::Bad(Flaw::Chain));
        }
        self.last = std::mem::replace(&mut self.at, next);
        self.last_header = Some(header);
        Ok(Step::Frame)
    }

    /// The frame that was passed last.
    pub(crate) fn frame(&self) -> Frame<'_> {
        let from = self.last.offset + FRAME_HEADER_BYTES as u64;
        let payload = self.window.held(from, self.last_header.map_or(0, |header| header.payload_bytes));
        Frame { place: Place::of(&self.last), payload }
    }

    /// How far the segment was synced, as the frame that was passed last says.
    pub(crate) fn synced_by_frame(&self) -> u64 {
        self.last_header.map_or(0, |header| header.synced)
    }

    /// Forgets what was read ahead, since the file may have changed there.
    pub(crate) fn forget(&mut self) {
        self.window = Window::default();
    }

    /// Takes the next chain value for granted.
    pub(crate) fn unlink(&mut self) {
        self.block = None;
    }

    /// Goes on at a frame after damage.
    pub(crate) fn jump(&mut self, found: Found) {
        self.at.offset = found.offset;
        self.at.frames = found.number;
        self.unlink();
    }

    /// The first whole frame that begins at `from` or later and has a number that is still to come.
    pub(crate) fn find(&mut self, file: &NamedFile, from: u64) -> Result<Option<Found>, Failure> {
        let end = (file.length()? + 1).saturating_sub(FRAME_OVERHEAD_BYTES);
        let mut from = from;
        while let Some(offset) = self.window.next_kind(file, from)?.filter(|offset| *offset < end) {
            if let Some(header) = self.header_at(file, offset)? {
                let bytes = self.window.frame(file, offset, &header)?;
                if parts(bytes, &header).is_some() && header.covers(&bytes[FRAME_HEADER_BYTES..]) {
                    return Ok(Some(Found { offset, number: header.number, synced: header.synced }));
                }
            }
            from = offset + 1;
        }
        Ok(None)
    }

    fn header_at(&mut self, file: &NamedFile, offset: u64) -> Result<Option<FrameHeader>, Failure> {
        let bytes = self.window.bytes(file, offset, FRAME_HEADER_BYTES)?;
        if bytes.len() < FRAME_HEADER_BYTES || !FrameHeader::is_plausible(bytes, offset) {
            return Ok(None);
        }
        let header = FrameHeader::decode(bytes, self.salt, offset).ok();
        Ok(header.filter(|header| header.number >= self.at.frames))
    }

    /// Whether a frame after this place says that the segment was synced beyond it.
    pub(crate) fn is_synced_beyond(&mut self, file: &NamedFile) -> Result<bool, Failure> {
        let mut from = self.at.offset + 1;
        while let Some(found) = self.find(file, from)? {
            if found.synced > self.at.offset {
                return Ok(true);
            }
            from = found.offset + 1;
        }
        Ok(false)
    }
}

/// Payload of a frame, and the chain value if it ends a block; if all of it is there.
fn parts<'a>(bytes: &'a [u8], header: &FrameHeader) -> Option<(&'a [u8], Option<Chain>)> {
    let rest = bytes.get(FRAME_HEADER_BYTES..)?;
    let (payload, end) = rest.split_at_checked(header.payload_bytes)?;
    let chain = header.ends_block.then(|| end.try_into().map(Chain::from_bytes)).transpose().ok()?;
    Some((payload, chain))
}

/// Adds a frame to a block, and begins the next one with `next` if the frame ends it; says whether the chain value there fits, and leaves the
/// block as it was if it does not.
fn extend(block: &mut Option<Block>, payload: &[u8], end: Option<Chain>, next: Mark) -> bool {
    match (block, end) {
        (Some(block), None) => block.push(KIND_DATA, payload),
        (Some(block), Some(end)) => {
            let mut whole = block.clone();
            whole.push(KIND_DATA, payload);
            if whole.chain() != end {
                return false;
            }
            block.begin(next, end);
        }
        (unknown @ None, Some(end)) => *unknown = Some(Block::new(next, end)),
        (None, None) => {}
    }
    true
}

/// A part of a file, held in memory.
#[derive(Default)]
struct Window {
    from: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// All of a frame, or what there is of it.
    fn frame(&mut self, file: &NamedFile, offset: u64, header: &FrameHeader) -> Result<&[u8], Failure> {
        let length = usize::try_from(header.frame_bytes()).expect("FRAME_BYTES_MAX bounds it");
        self.bytes(file, offset, length)
    }

    /// Some bytes; fewer than asked for only where the file ends.
    fn bytes(&mut self, file: &NamedFile, offset: u64, length: usize) -> Result<&[u8], Failure> {
        if !self.holds(offset, length) {
            let ahead = (4 * self.bytes.len()).clamp(WINDOW_BYTES_MIN, WINDOW_BYTES_MAX);
            self.fill(file, offset, length.max(ahead))?;
        }
        let from = usize::try_from(offset - self.from).expect("a window is short");
        let to = self.bytes.len().min(from + length);
        Ok(&self.bytes[from..to])
    }

    /// The first place from an offset on where a header's kind stands where it belongs; `None` if the file ends before.
    fn next_kind(&mut self, file: &NamedFile, from: u64) -> Result<Option<u64>, Failure> {
        let mut at = from;
        loop {
            if self.bytes(file, at, FRAME_HEADER_BYTES)?.len() < FRAME_HEADER_BYTES {
                return Ok(None);
            }
            let held = &self.bytes[usize::try_from(at - self.from).expect("a window is short")..];
            if let Some(place) = memmem::find(&held[KIND_AT..], &KIND_WORD) {
                return Ok(Some(at + place as u64));
            }
            // The word may begin with the last bytes of what is held.
            let next = at + (held.len() - KIND_AT - (KIND_WORD.len() - 1)) as u64;
            // Where nothing was ever written, it cannot begin.
            at = next.max(file.data_from(next)?.saturating_sub(KIND_AT as u64));
        }
    }

    fn fill(&mut self, file: &NamedFile, offset: u64, length: usize) -> Result<(), Failure> {
        self.from = offset;
        self.bytes.resize(length, 0);
        file.read_into(offset, &mut self.bytes)
    }

    fn holds(&self, offset: u64, length: usize) -> bool {
        offset >= self.from && offset + length as u64 <= self.from + self.bytes.len() as u64
    }

    /// Bytes that were read just now.
    fn held(&self, offset: u64, length: usize) -> &[u8] {
        let from = usize::try_from(offset - self.from).expect("a window is short");
        &self.bytes[from..from + length]
    }
}
