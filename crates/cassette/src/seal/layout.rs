//! The fixed parts of a sealed cassette. All numbers in them are little-endian and have their full width, so that a directory of
//! any length is used where it lies.
//!
//! ```text
//! header │ blocks … │ index │ row blocks │ piece blocks │ pieces │ meta │ trailer
//! ```

use crate::error::Flaw;
use crate::version::SEALED_VERSION;
use crc32c::crc32c;
use std::ops::Range;

/// How a sealed cassette begins.
pub(crate) const MAGIC: [u8; 8] = *b"METROONC";
pub(crate) const HEADER_BYTES: u64 = 24;
pub(crate) const TRAILER_BYTES: u64 = 144;
/// A block is closed when it has this many bytes before compression.
pub(crate) const BLOCK_BYTES: usize = 128 << 10;
/// The longest block that is read: a row that is longer than any block has one of its own.
pub(crate) const BLOCK_BYTES_MAX: u32 = 1 << 30;

pub(crate) fn header() -> [u8; HEADER_BYTES as usize] {
    let mut bytes = [0; HEADER_BYTES as usize];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&SEALED_VERSION.to_le_bytes());
    let checksum = crc32c(&bytes[..20]);
    bytes[20..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

pub(crate) fn check_header(bytes: &[u8]) -> Result<(), Flaw> {
    let Some(bytes) = bytes.first_chunk::<{ HEADER_BYTES as usize }>() else { return Err(Flaw::Short) };
    if bytes[..8] != MAGIC {
        return Err(Flaw::Magic);
    }
    if u32_at(bytes, 20) != crc32c(&bytes[..20]) {
        return Err(Flaw::Checksum);
    }
    match u32_at(bytes, 8) {
        SEALED_VERSION => Ok(()),
        version => Err(Flaw::Version(version)),
    }
}

/// Where a block lies and what its bytes must come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockEntry {
    pub(crate) offset: u64,
    /// The number of its first row or piece.
    pub(crate) first: u32,
    /// How many bytes it takes in the file.
    pub(crate) stored: u32,
    /// How many it has; as many as are stored if it is not compressed.
    pub(crate) bytes: u32,
    /// CRC-32C of what is stored.
    pub(crate) checksum: u32,
}

impl BlockEntry {
    pub(crate) const BYTES: usize = 24;

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.offset.to_le_bytes());
        for number in [self.first, self.stored, self.bytes, self.checksum] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    pub(crate) fn get(bytes: &[u8]) -> Self {
        Self {
            offset: u64_at(bytes, 0),
            first: u32_at(bytes, 8),
            stored: u32_at(bytes, 12),
            bytes: u32_at(bytes, 16),
            checksum: u32_at(bytes, 20),
        }
    }

    pub(crate) fn is_compressed(&self) -> bool {
        self.stored != self.bytes
    }
}

/// Where a piece of a shared body lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PieceEntry {
    /// The number of its block, among those of pieces.
    pub(crate) block: u32,
    /// Where it begins there.
    pub(crate) offset: u32,
    pub(crate) length: u32,
    /// The first half of its BLAKE3 hash, by which equal pieces are found.
    pub(crate) hash: [u8; 16],
}

impl PieceEntry {
    pub(crate) const BYTES: usize = 28;

    /// Where it lies in its block.
    pub(crate) fn range(&self) -> Range<usize> {
        let offset = self.offset as usize;
        offset..offset + self.length as usize
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        for number in [self.block, self.offset, self.length] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.hash);
    }

    pub(crate) fn get(bytes: &[u8]) -> Self {
        let hash = *bytes[12..].first_chunk().expect("an entry is as long as it is");
        Self { block: u32_at(bytes, 0), offset: u32_at(bytes, 4), length: u32_at(bytes, 8), hash }
    }
}

/// A part of the file that has a checksum in the trailer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) checksum: u32,
}

/// The end of a sealed cassette: how much there is of everything, and the checksums of what is not blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trailer {
    /// The length of the file.
    pub(crate) length: u64,
    /// The number that the next exchange gets.
    pub(crate) next_number: u64,
    pub(crate) first_started_ns: i64,
    pub(crate) last_started_ns: i64,
    /// The bytes of all bodies, as often as they occur.
    pub(crate) body_bytes: u64,
    pub(crate) rows: u32,
    pub(crate) row_blocks: u32,
    pub(crate) piece_blocks: u32,
    pub(crate) pieces: u32,
    pub(crate) meta_bytes: u32,
    /// By which rules the keys of the index were made.
    pub(crate) key_scheme: u32,
    /// Of index, row blocks, piece blocks, pieces, meta.
    pub(crate) checksums: [u32; 5],
    /// The chain of the recording that was sealed last.
    pub(crate) chain: [u8; 32],
}

/// The sections, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SectionKind {
    Index,
    RowBlocks,
    PieceBlocks,
    Pieces,
    Meta,
}

impl SectionKind {
    pub(crate) const ALL: [Self; 5] = [Self::Index, Self::RowBlocks, Self::PieceBlocks, Self::Pieces, Self::Meta];
}

impl Trailer {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(TRAILER_BYTES as usize);
        for number in [self.length, self.next_number, self.first_started_ns as u64, self.last_started_ns as u64] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.body_bytes.to_le_bytes());
        let counts = [self.rows, self.row_blocks, self.piece_blocks, self.pieces, self.meta_bytes, self.key_scheme];
        for number in counts.into_iter().chain(self.checksums) {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.chain);
        // Room for what a later version has to say.
        out.resize(TRAILER_BYTES as usize - 12, 0);
        out.extend_from_slice(&crc32c(&out).to_le_bytes());
        out.extend_from_slice(&MAGIC);
        out
    }

    /// The trailer of a file of this length.
    pub(crate) fn decode(bytes: &[u8], length: u64) -> Result<Self, Flaw> {
        let Some(bytes) = bytes.first_chunk::<{ TRAILER_BYTES as usize }>() else { return Err(Flaw::Short) };
        let (content, end) = bytes.split_at(TRAILER_BYTES as usize - 12);
        if end[4..] != MAGIC {
            return Err(Flaw::NoEnd);
        }
        if u32_at(end, 0) != crc32c(content) {
            return Err(Flaw::Checksum);
        }
        let counts: [u32; 11] = std::array::from_fn(|index| u32_at(content, 40 + 4 * index));
        let [rows, row_blocks, piece_blocks, pieces, meta_bytes, key_scheme, checksums @ ..] = counts;
        let trailer = Self {
            length: u64_at(content, 0),
            next_number: u64_at(content, 8),
            first_started_ns: u64_at(content, 16) as i64,
            last_started_ns: u64_at(content, 24) as i64,
            body_bytes: u64_at(content, 32),
            rows,
            row_blocks,
            piece_blocks,
            pieces,
            meta_bytes,
            key_scheme,
            checksums,
            chain: *content[84..].first_chunk().expect("the content is longer"),
        };
        let is_whole = trailer.length == length && trailer.blocks_end().is_some();
        if is_whole { Ok(trailer) } else { Err(Flaw::Length) }
    }

    /// How many bytes the number of a row has in the index.
    pub(crate) fn row_width(&self) -> usize {
        (32 - self.rows.saturating_sub(1).leading_zeros()).div_ceil(8).max(1) as usize
    }

    fn lengths(&self) -> [u64; 5] {
        [
            u64::from(self.rows) * (4 + self.row_width() as u64),
            u64::from(self.row_blocks) * BlockEntry::BYTES as u64,
            u64::from(self.piece_blocks) * BlockEntry::BYTES as u64,
            u64::from(self.pieces) * PieceEntry::BYTES as u64,
            u64::from(self.meta_bytes),
        ]
    }

    /// Where the blocks end and the sections begin; `None` if the sections do not fit.
    pub(crate) fn blocks_end(&self) -> Option<u64> {
        let sections: u64 = self.lengths().iter().sum();
        self.length.checked_sub(sections + TRAILER_BYTES).filter(|&end| end >= HEADER_BYTES)
    }

    pub(crate) fn section(&self, part: SectionKind) -> Section {
        let (lengths, index) = (self.lengths(), part as usize);
        let end = self.blocks_end().expect("a trailer was checked when it was read");
        let offset = end + lengths[..index].iter().sum::<u64>();
        Section { offset, length: lengths[index], checksum: self.checksums[index] }
    }
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*bytes[at..].first_chunk().expect("the field lies within what was taken"))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("the field lies within what was taken"))
}
