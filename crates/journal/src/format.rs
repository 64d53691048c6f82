//! The bytes of version 1. `docs/formats.md` draws them; this file is the only one that knows where they lie.
//!
//! A segment is three pages and then frames: the header, two slots, and frames end to end.
//!
//! Invariants:
//!
//! 1. All numbers are little-endian: every platform that Metroon supports is, and no field is ever compared as bytes.
//! 2. Every checksum starts from a [`Salt`]: the journal's identity, the segment and the place in it. So a frame is valid
//!    only where it was written, and a copy of one inside a payload is not mistaken for one.
//! 3. The 32 bytes before a block of frames are the chain value that it continues: the frame that ends the block before it ends with them.
//!    For the first block of a segment they lie in the header.
//!
//! Encoding costs one pass of CRC-32C over the payload, and a share of the hash of a block.

use crate::chain::Chain;
use crc32c::{crc32c, crc32c_append};
use std::fmt;

/// What is wrong with some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flaw {
    /// The file ends inside it.
    Short,
    /// A segment does not begin as segments do.
    Magic,
    /// The checksum of a segment's header does not match.
    HeaderChecksum,
    /// A segment is of a version that this program does not know.
    Version(u32),
    /// A segment says that it is another one than its name says.
    Name,
    /// A segment belongs to another journal.
    Identity,
    /// Neither slot of a segment is valid.
    Slots,
    /// A slot says something else than the frames.
    SlotMark,
    /// The checksum of a frame's header does not match.
    FrameHeader,
    /// A frame's header has fields that no frame has.
    FrameFields,
    /// The checksum of a frame does not match.
    FrameChecksum,
    /// A frame bears another number than the one that is next.
    Number,
    /// A frame that ends a block does not continue the chain: it, or one of the block before it, was exchanged.
    Chain,
    /// A segment does not continue the one before it.
    Seam,
    /// A segment that must be there is not.
    Missing,
    /// The note of where the journal begins is not what was written.
    Beginning,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Short => "the file ends too early",
            Self::Magic => "this is not a segment of a journal",
            Self::HeaderChecksum => "the segment's header is damaged",
            Self::Version(version) => {
                return write!(f, "format version {version}, but this program knows {VERSION} and before");
            }
            Self::Name => "the file has the name of another segment",
            Self::Identity => "the segment belongs to another journal",
            Self::Slots => "both notes of how far the segment is synced are damaged",
            Self::SlotMark => {
                "the note of how far the segment is synced contradicts its frames; it, or one of the last of them, was exchanged"
            }
            Self::FrameHeader => "the header of a synced frame is damaged",
            Self::FrameFields => "the header of a synced frame has impossible fields",
            Self::FrameChecksum => "a synced frame is damaged",
            Self::Number => "a synced frame has the wrong number",
            Self::Chain => {
                "a synced frame does not continue the chain; it, or one of the 64 KiB before it, was exchanged"
            }
            Self::Seam => "the segment does not continue the one before it, which is cut, changed or missing",
            Self::Missing => "the segment is missing",
            Self::Beginning => "the note of where the journal begins is damaged",
        };
        f.write_str(text)
    }
}

pub(crate) const SUFFIX: &str = ".segment";
pub(crate) const NAME_DIGITS: usize = 20;
/// How every segment begins.
pub(crate) const MAGIC: [u8; 8] = *b"METROONJ";
/// How the note begins that says where a trimmed journal does. The rest of it is like the header of the segment that it names.
pub(crate) const BEGINNING_MAGIC: [u8; 8] = *b"METROONB";
/// The version that this crate writes. It reads all versions up to it.
pub const VERSION: u32 = 1;
/// The header and each slot lie in a page of their own, so that no torn write harms two of them.
pub(crate) const PAGE_BYTES: u64 = 4096;
/// Where the two slots lie.
pub(crate) const SLOTS_AT: [u64; 2] = [PAGE_BYTES, 2 * PAGE_BYTES];
/// Where the frames of a segment begin.
pub const FRAMES_AT: u64 = 3 * PAGE_BYTES;
/// The longest payload of a frame. The owner cuts longer things, since it can stream them better than a log can.
pub const FRAME_BYTES_MAX: usize = 16 << 20;
/// What a frame takes beside its payload. One that ends a block takes [`Chain::BYTES`] more.
pub const FRAME_OVERHEAD_BYTES: u64 = FRAME_HEADER_BYTES as u64;

pub(crate) const FRAME_HEADER_BYTES: usize = 32;
pub(crate) const HEADER_BYTES: usize = 76;
pub(crate) const SLOT_BYTES: usize = 64;

/// The only kind of frame in version 1. A byte of it takes part in every chain value.
pub(crate) const KIND_DATA: u8 = 1;
/// Where a header has the kind, and the zeros that follow it.
pub(crate) const KIND_AT: usize = 4;
pub(crate) const KIND_WORD: [u8; 3] = [KIND_DATA, 0, 0];
/// Where a header says whether its frame ends a block.
const IS_LAST_AT: usize = KIND_AT + KIND_WORD.len();

/// Sixteen bytes that say which journal a segment belongs to.
///
/// They are the owner's to choose; a random or counted value keeps the segments of two journals apart. A journal is
/// created with zeros unless [`Options::identity`](crate::Options::identity) says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(pub [u8; 16]);

/// A point between two frames: how many come before it, and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The first frame number of the segment, which is its name.
    pub(crate) segment: u64,
    /// Bytes from the beginning of the segment.
    pub(crate) offset: u64,
    /// The number of the frame that comes next.
    pub(crate) frames: u64,
}

impl Mark {
    /// The beginning of a segment.
    pub(crate) fn beginning(segment: u64) -> Self {
        Self { segment, offset: FRAMES_AT, frames: segment }
    }

    /// The point after a frame of `bytes` bytes that lies here.
    pub(crate) fn after(self, bytes: u64) -> Self {
        // Nobody appends 2^64 frames; a forged number must not overflow.
        Self { segment: self.segment, offset: self.offset + bytes, frames: self.frames.saturating_add(1) }
    }
}

/// What a frame of this payload takes on disk.
pub(crate) fn frame_bytes(payload_bytes: usize, ends_block: bool) -> u64 {
    FRAME_OVERHEAD_BYTES + payload_bytes as u64 + if ends_block { Chain::BYTES as u64 } else { 0 }
}

/// What the checksums of a segment start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Salt(u32);

impl Salt {
    pub(crate) fn new(identity: Identity, segment: u64) -> Self {
        Self(crc32c_append(crc32c(&identity.0), &segment.to_le_bytes()))
    }

    fn at(self, offset: u64) -> u32 {
        crc32c_append(self.0, &offset.to_le_bytes())
    }

    /// What a checksum over `bytes`, which lie at `offset`, must have started from.
    fn recovered(checksum: u32, offset: u64, bytes: &[u8]) -> Self {
        Self(crc32c_before(crc32c_before(checksum, bytes), &offset.to_le_bytes()))
    }

    /// What the checksum of a slot at `place` started from, if it is one.
    pub(crate) fn of_slot(bytes: &[u8], place: u64) -> Option<Self> {
        (bytes.len() >= SLOT_BYTES).then(|| Self::recovered(u32_at(bytes, 60), place, &bytes[..60]))
    }

    /// What the checksum of a frame's header at `offset` started from, if it is one.
    pub(crate) fn of_frame(bytes: &[u8], offset: u64) -> Option<Self> {
        (bytes.len() >= FRAME_HEADER_BYTES).then(|| Self::recovered(u32_at(bytes, 24), offset, &bytes[..24]))
    }
}

/// What `crc32c_append` was given before `bytes` when it answered `checksum`: every step of a CRC can be taken back.
fn crc32c_before(checksum: u32, bytes: &[u8]) -> u32 {
    /// The polynomial of CRC-32C, lowest bit first.
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let mut state = !checksum;
    for &byte in bytes.iter().rev() {
        for _ in 0..8 {
            // The polynomial has the highest bit, so that bit tells whether the step added it.
            let was_added = state >> 31 == 1;
            state = if was_added { ((state ^ POLYNOMIAL) << 1) | 1 } else { state << 1 };
        }
        state ^= u32::from(byte);
    }
    !state
}

/// The first page of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) identity: Identity,
    pub(crate) segment: u64,
    /// The chain that the first frame continues.
    pub(crate) chain: Chain,
}

impl Header {
    fn encode(&self) -> [u8; HEADER_BYTES] {
        self.encode_as(MAGIC)
    }

    pub(crate) fn encode_as(&self, magic: [u8; 8]) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        put(&mut bytes, 0, &magic);
        put(&mut bytes, 8, &VERSION.to_le_bytes());
        put(&mut bytes, 16, &self.identity.0);
        put(&mut bytes, 32, &self.segment.to_le_bytes());
        put(&mut bytes, 40, self.chain.as_bytes());
        let checksum = crc32c(&bytes[..72]);
        put(&mut bytes, 72, &checksum.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Flaw> {
        Self::decode_as(MAGIC, bytes)
    }

    /// Magic, checksum and version lie at the same places in every version.
    pub(crate) fn decode_as(magic: [u8; 8], bytes: &[u8]) -> Result<Self, Flaw> {
        if bytes.len() < HEADER_BYTES {
            return Err(Flaw::Short);
        }
        if bytes[..8] != magic {
            return Err(Flaw::Magic);
        }
        if u32_at(bytes, 72) != crc32c(&bytes[..72]) {
            return Err(Flaw::HeaderChecksum);
        }
        match u32_at(bytes, 8) {
            VERSION => {}
            version => return Err(Flaw::Version(version)),
        }
        Ok(Self {
            identity: Identity(array_at(bytes, 16)),
            segment: u64_at(bytes, 32),
            chain: Chain::from_bytes(array_at(bytes, 40)),
        })
    }
}

/// A note of how far a segment is synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Counts the notes of a segment; the valid slot with the larger number counts.
    pub(crate) sequence: u64,
    pub(crate) synced: Mark,
    /// The chain value there.
    pub(crate) chain: Chain,
    /// Whether a segment that follows this one is durable. If it is not there, it was lost.
    pub(crate) is_continued: bool,
}

impl Slot {
    /// The number of the first note after the two that a segment is created with.
    pub(crate) const FIRST_SEQUENCE: u64 = 2;

    /// Where the note with this number goes.
    pub(crate) fn place(sequence: u64) -> u64 {
        SLOTS_AT[(sequence % 2) as usize]
    }

    pub(crate) fn encode(&self, salt: Salt) -> [u8; SLOT_BYTES] {
        let mut bytes = [0; SLOT_BYTES];
        put(&mut bytes, 0, &self.sequence.to_le_bytes());
        put(&mut bytes, 8, &self.synced.offset.to_le_bytes());
        put(&mut bytes, 16, &self.synced.frames.to_le_bytes());
        put(&mut bytes, 24, self.chain.as_bytes());
        put(&mut bytes, 56, &u32::from(self.is_continued).to_le_bytes());
        let checksum = crc32c_append(salt.at(Self::place(self.sequence)), &bytes[..60]);
        put(&mut bytes, 60, &checksum.to_le_bytes());
        bytes
    }

    /// The note that lies at `place`, if it is one.
    pub(crate) fn decode(bytes: &[u8], salt: Salt, place: u64, segment: u64) -> Option<Self> {
        if bytes.len() < SLOT_BYTES || u32_at(bytes, 60) != crc32c_append(salt.at(place), &bytes[..60]) {
            return None;
        }
        let chain = Chain::from_bytes(array_at(bytes, 24));
        let synced = Mark { segment, offset: u64_at(bytes, 8), frames: u64_at(bytes, 16) };
        Some(Self { sequence: u64_at(bytes, 0), synced, chain, is_continued: u32_at(bytes, 56) != 0 })
    }
}

/// The first three pages of a new segment: both slots say that it is synced as far as it goes.
pub(crate) fn encode_beginning(header: &Header, frames: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(FRAMES_AT as usize + frames.len());
    bytes.resize(FRAMES_AT as usize, 0);
    put(&mut bytes, 0, &header.encode());
    let salt = Salt::new(header.identity, header.segment);
    for sequence in 0..Slot::FIRST_SEQUENCE {
        let synced = Mark::beginning(header.segment);
        let slot = Slot { sequence, synced, chain: header.chain, is_continued: false };
        put(&mut bytes, Slot::place(sequence) as usize, &slot.encode(salt));
    }
    bytes.extend_from_slice(frames);
    bytes
}

/// The first 32 bytes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) payload_bytes: usize,
    pub(crate) number: u64,
    /// How far the segment was known to be synced when the frame was made.
    pub(crate) synced: u64,
    /// Whether a chain value follows the payload.
    pub(crate) ends_block: bool,
    /// The checksum of these fields, from which that of the frame goes on.
    fields_checksum: u32,
    frame_checksum: u32,
}

impl FrameHeader {
    /// The header that lies at `offset`, if its own checksum says that it is one.
    pub(crate) fn decode(bytes: &[u8], salt: Salt, offset: u64) -> Result<Self, Flaw> {
        if bytes.len() < FRAME_HEADER_BYTES {
            return Err(Flaw::Short);
        }
        let fields_checksum = crc32c_append(salt.at(offset), &bytes[..24]);
        if u32_at(bytes, 24) != fields_checksum {
            return Err(Flaw::FrameHeader);
        }
        let header = Self {
            payload_bytes: u32_at(bytes, 0) as usize,
            number: u64_at(bytes, 8),
            synced: u64_at(bytes, 16),
            ends_block: bytes[IS_LAST_AT] == 1,
            fields_checksum,
            frame_checksum: u32_at(bytes, 28),
        };
        if !Self::has_kind(bytes) || header.payload_bytes > FRAME_BYTES_MAX || header.synced > offset {
            return Err(Flaw::FrameFields);
        }
        Ok(header)
    }

    fn has_kind(bytes: &[u8]) -> bool {
        bytes[KIND_AT..IS_LAST_AT] == KIND_WORD && bytes[IS_LAST_AT] <= 1
    }

    /// What the frame takes on disk.
    pub(crate) fn frame_bytes(&self) -> u64 {
        frame_bytes(self.payload_bytes, self.ends_block)
    }

    /// Whether bytes could be the header of some frame, told without a checksum: a quick look while searching.
    pub(crate) fn is_plausible(bytes: &[u8], offset: u64) -> bool {
        Self::has_kind(bytes)
            && u32_at(bytes, 0) as usize <= FRAME_BYTES_MAX
            && (FRAMES_AT..=offset).contains(&u64_at(bytes, 16))
    }

    /// Whether payload and chain value, which follow the header, are those that were written with it.
    pub(crate) fn covers(&self, rest: &[u8]) -> bool {
        crc32c_append(self.fields_checksum, rest) == self.frame_checksum
    }
}

/// Appends the bytes of the frame that lies at `at` to `into`, with the chain value if it ends a block.
pub(crate) fn encode_frame(
    into: &mut Vec<u8>,
    salt: Salt,
    at: &Mark,
    synced: u64,
    payload: &[u8],
    chain: Option<Chain>,
) {
    let length = u32::try_from(payload.len()).expect("a payload is shorter than FRAME_BYTES_MAX");
    let chain = chain.as_ref().map_or(&[][..], |chain| &chain.as_bytes()[..]);
    let mut header = [0; FRAME_HEADER_BYTES];
    put(&mut header, 0, &length.to_le_bytes());
    put(&mut header, KIND_AT, &KIND_WORD);
    header[IS_LAST_AT] = u8::from(!chain.is_empty());
    put(&mut header, 8, &at.frames.to_le_bytes());
    put(&mut header, 16, &synced.to_le_bytes());
    // The second checksum goes on from the first but leaves out its bytes: a CRC that reads itself forgets all before.
    let fields_checksum = crc32c_append(salt.at(at.offset), &header[..24]);
    let frame_checksum = crc32c_append(crc32c_append(fields_checksum, payload), chain);
    put(&mut header, 24, &fields_checksum.to_le_bytes());
    put(&mut header, 28, &frame_checksum.to_le_bytes());
    into.extend_from_slice(&header);
    into.extend_from_slice(payload);
    into.extend_from_slice(chain);
}

fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("a range of N bytes")
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, at))
}

/// The name of the segment that begins with this frame.
pub(crate) fn name_of(first: u64) -> String {
    format!("{first:0NAME_DIGITS$}{SUFFIX}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u64 = 7;

    fn salt() -> Salt {
        Salt::new(Identity([1; 16]), SEGMENT)
    }

    fn frame(at: &Mark, payload: &[u8], chain: Option<Chain>) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_frame(&mut bytes, salt(), at, FRAMES_AT, payload, chain);
        bytes
    }

    #[test]
    fn frames_are_read_as_they_were_written() {
        let at = Mark::beginning(SEGMENT);
        for (payload, chain) in [(&b""[..], None), (b"a", Some(Chain::genesis())), (&[9; 1000], None)] {
            let bytes = frame(&at, payload, chain);
            let header = FrameHeader::decode(&bytes, salt(), at.offset).unwrap();
            assert_eq!((header.payload_bytes, header.number, header.synced), (payload.len(), SEGMENT, FRAMES_AT));
            assert_eq!((header.ends_block, header.frame_bytes()), (chain.is_some(), bytes.len() as u64));
            assert!(header.covers(&bytes[FRAME_HEADER_BYTES..]));
            assert!(FrameHeader::is_plausible(&bytes, at.offset));
        }
    }

    #[test]
    fn a_frame_is_valid_only_in_its_place() {
        let at = Mark::beginning(SEGMENT);
        let bytes = frame(&at, b"a", None);
        let elsewhere = [Salt::new(Identity([1; 16]), 8), Salt::new(Identity([2; 16]), SEGMENT)];
        assert_eq!(FrameHeader::decode(&bytes, salt(), at.offset + 1), Err(Flaw::FrameHeader));
        for salt in elsewhere {
            assert_eq!(FrameHeader::decode(&bytes, salt, at.offset), Err(Flaw::FrameHeader));
        }
    }

    #[test]
    fn every_bit_of_a_frame_counts() {
        let at = Mark::beginning(SEGMENT);
        for chain in [None, Some(Chain::genesis())] {
            let good = frame(&at, b"payload", chain);
            for bit in 0..good.len() * 8 {
                let mut bytes = good.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                let header = FrameHeader::decode(&bytes, salt(), at.offset);
                assert!(header.is_err() || !header.unwrap().covers(&bytes[FRAME_HEADER_BYTES..]), "bit {bit}");
            }
        }
    }

    #[test]
    fn a_header_and_its_slots_are_read_as_they_were_written() {
        let header = Header { identity: Identity([1; 16]), segment: SEGMENT, chain: Chain::genesis() };
        let bytes = encode_beginning(&header, &[]);
        assert_eq!(Header::decode(&bytes), Ok(header));
        for (sequence, place) in [(0, SLOTS_AT[0]), (1, SLOTS_AT[1])] {
            let slot = Slot::decode(&bytes[place as usize..], salt(), place, SEGMENT).unwrap();
            let synced = Mark::beginning(SEGMENT);
            assert_eq!(slot, Slot { sequence, synced, chain: Chain::genesis(), is_continued: false });
            assert_eq!(Slot::decode(&bytes[place as usize..], salt(), place + 1, SEGMENT), None);
        }
    }

    #[test]
    fn the_salt_can_be_told_from_what_it_protects() {
        let at = Mark::beginning(SEGMENT);
        let frame = frame(&at, b"payload", None);
        assert_eq!(Salt::of_frame(&frame, at.offset), Some(salt()));
        assert_ne!(Salt::of_frame(&frame, at.offset + 1), Some(salt()));
        let beginning =
            encode_beginning(&Header { identity: Identity([1; 16]), segment: SEGMENT, chain: Chain::genesis() }, &[]);
        for place in SLOTS_AT {
            assert_eq!(Salt::of_slot(&beginning[place as usize..], place), Some(salt()));
        }
        assert_eq!(Salt::of_slot(b"short", SLOTS_AT[0]), None);
    }

    #[test]
    fn a_later_version_is_named() {
        let mut bytes =
            encode_beginning(&Header { identity: Identity::default(), segment: 0, chain: Chain::genesis() }, &[]);
        bytes[8] = 2;
        assert_eq!(Header::decode(&bytes), Err(Flaw::HeaderChecksum));
        let checksum = crc32c(&bytes[..72]).to_le_bytes();
        bytes[72..76].copy_from_slice(&checksum);
        assert_eq!(Header::decode(&bytes), Err(Flaw::Version(2)));
        assert_eq!(Header::decode(b"METROON"), Err(Flaw::Short));
        assert_eq!(Header::decode(&[b'x'; 100]), Err(Flaw::Magic));
    }
}
