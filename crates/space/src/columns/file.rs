//! The bytes of a file of columns: header, directory and footer. `docs/formats.md` draws them.

use std::fmt;
use twox_hash::XxHash3_64;

pub(super) const MAGIC: [u8; 8] = *b"METROONC";
pub(super) const VERSION: u32 = 1;
/// A checksum covers this many bytes of a section, or what is left of it.
pub(super) const BLOCK_BYTES: usize = 1 << 16;
/// Sections begin at multiples of this.
pub(super) const ALIGNMENT: u64 = 64;
pub(super) const HEADER_BYTES: usize = 64;
pub(super) const FOOTER_BYTES: usize = 48;
pub(super) const ENTRY_BYTES: usize = 40;
/// The limit of a section whose numbers may be anything.
pub(crate) const NO_LIMIT: u64 = u64::MAX;

/// What the directory says of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// The bytes of a number.
    pub(super) width: u64,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    /// Each number is below it.
    pub(super) limit: u64,
    /// Which checksum is that of its first block.
    pub(super) first_sum: u64,
}

impl Section {
    pub(super) fn blocks(&self) -> u64 {
        self.bytes.div_ceil(BLOCK_BYTES as u64)
    }

    pub(super) fn encode(&self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        let numbers = [self.width, self.offset, self.bytes, self.limit, self.first_sum];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Self {
        let number = |place: usize| number_at(bytes, place * 8);
        Self { width: number(0), offset: number(1), bytes: number(2), limit: number(3), first_sum: number(4) }
    }
}

pub(super) fn number_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

pub(super) fn header() -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[12..16].copy_from_slice(&(BLOCK_BYTES as u32).to_le_bytes());
    bytes
}

/// Where the directory lies, how many sections and checksums it has, and how long the file is.
pub(super) struct Footer {
    pub(super) directory: u64,
    pub(super) sections: u64,
    pub(super) sums: u64,
    pub(super) length: u64,
    pub(super) directory_sum: u64,
}

impl Footer {
    pub(super) fn encode(&self) -> [u8; FOOTER_BYTES] {
        let mut bytes = [0; FOOTER_BYTES];
        let numbers = [self.directory, self.sections, self.sums, self.length, self.directory_sum];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let sum = footer_sum(&bytes[..FOOTER_BYTES - 8]);
        bytes[FOOTER_BYTES - 8..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The footer of these bytes, if its checksum is right.
    pub(super) fn decode(bytes: &[u8; FOOTER_BYTES]) -> Option<Self> {
        let number = |place: usize| number_at(bytes, place * 8);
        let is_right = number(5) == footer_sum(&bytes[..FOOTER_BYTES - 8]);
        is_right.then(|| Self {
            directory: number(0),
            sections: number(1),
            sums: number(2),
            length: number(3),
            directory_sum: number(4),
        })
    }
}

/// The checksum of the footer covers the header as well.
fn footer_sum(footer: &[u8]) -> u64 {
    XxHash3_64::oneshot(&[&header()[..], footer].concat())
}

pub(super) fn directory_sum(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

/// The checksum of a block: a block in another place has another one.
pub(super) fn block_sum(section: u64, block: u64, bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(section << 32 | block, bytes)
}

/// Why bytes cannot be opened as an image.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageError {
    /// They are of another kind.
    NotAnImage,
    /// They are of a version that is not known.
    Version {
        /// Theirs.
        found: u32,
        /// The newest that is known.
        known: u32,
    },
    /// They are not what was written.
    Damaged {
        /// What is wrong.
        reason: &'static str,
    },
    /// This machine has another byte order.
    ByteOrder,
    /// Its tables were made with other hash functions.
    Hashes,
}

impl fmt::Display for ImageError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnImage => formatter.write_str("it is a file of another kind"),
            Self::Version { found, known } => {
                write!(formatter, "it has version {found}, and this program knows versions up to {known}")
            }
            Self::Damaged { reason } => formatter.write_str(reason),
            Self::Hashes => formatter.write_str("its tables are those of a version that hashes otherwise"),
            Self::ByteOrder => formatter.write_str("its numbers are little-endian, and those of this machine are not"),
        }
    }
}

impl std::error::Error for ImageError {}
