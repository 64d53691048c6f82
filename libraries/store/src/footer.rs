//! The first page and the last bytes of a run: what it is, and where its parts lie. `docs/formats.md` draws them.
//!
//! ```text
//! page 0     header
//! page 1 …   blocks
//! index      heads, fences, last key, starts of blocks, model, filter
//! sums       a checksum of each page
//! footer     256 bytes
//! ```

use crate::error::{Damage, OpenError};
use crate::fields::{take, take_u32, take_u64};
use crate::limits::VERSION;
use crate::page::{PAGE_BYTES, Salt};
use crate::shape::KeyShape;
use crc32c::crc32c;
use journal::Identity;

pub(crate) const FOOTER_BYTES: usize = 256;
const HEADER_MAGIC: [u8; 8] = *b"METROONR";
const FOOTER_MAGIC: [u8; 8] = *b"METROONF";
const HEADER_BYTES: usize = 64;
const NUMBERS: usize = 25;

/// What the first page of a run says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) identity: Identity,
    pub(crate) keyspace: u32,
    pub(crate) shape: KeyShape,
}

impl Header {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(&HEADER_MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.identity.0);
        bytes.extend_from_slice(&self.keyspace.to_le_bytes());
        bytes.extend_from_slice(&self.shape.code().to_le_bytes());
        bytes.resize(HEADER_BYTES - 4, 0);
        bytes.extend_from_slice(&crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// The header of these bytes, if it is whole.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..HEADER_BYTES)?;
        let (mut fields, mut sum) = bytes.split_at(HEADER_BYTES - 4);
        if take_u32(&mut sum)? != crc32c(fields) || take(&mut fields, 8)? != HEADER_MAGIC {
            return None;
        }
        take(&mut fields, 8)?;
        let identity = Identity(take(&mut fields, 16)?.try_into().ok()?);
        let keyspace = take_u32(&mut fields)?;
        let shape = KeyShape::from_code(take_u32(&mut fields)?)?;
        Some(Self { identity, keyspace, shape })
    }
}

/// A part of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) at: u64,
    pub(crate) bytes: u64,
}

impl Extent {
    fn end(self) -> Option<u64> {
        self.at.checked_add(self.bytes)
    }
}

/// What the last bytes of a run say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) keyspace: u32,
    /// As [`KeyShape::code`] has it.
    pub(crate) shape: u32,
    /// Deletions among them.
    pub(crate) records: u64,
    pub(crate) deletions: u64,
    pub(crate) blocks: u64,
    /// Where the pages end.
    pub(crate) data_end: u64,
    pub(crate) heads: Extent,
    pub(crate) fences: Extent,
    pub(crate) last_key: Extent,
    pub(crate) starts: Extent,
    pub(crate) model: Extent,
    pub(crate) filter: Extent,
    pub(crate) sums: Extent,
    pub(crate) index_checksum: u32,
    pub(crate) sums_checksum: u32,
    /// The newest batch that the run has something of.
    pub(crate) last_sequence: u64,
    pub(crate) key_bytes: u64,
    pub(crate) value_bytes: u64,
}

impl Footer {
    fn numbers(&self) -> [u64; NUMBERS] {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let Self { heads, fences, last_key, starts, model, filter, sums, .. } = *self;
        [
            pair(VERSION, 0),
            pair(self.keyspace, self.shape),
            self.records,
            self.deletions,
            self.blocks,
            self.data_end,
            heads.at,
            heads.bytes,
            fences.at,
            fences.bytes,
            last_key.at,
            last_key.bytes,
            starts.at,
            starts.bytes,
            model.at,
            model.bytes,
            filter.at,
            filter.bytes,
            sums.at,
            sums.bytes,
            pair(self.index_checksum, self.sums_checksum),
            self.last_sequence,
            self.key_bytes,
            self.value_bytes,
            0,
        ]
    }

    pub(crate) fn encode(&self, salt: Salt) -> [u8; FOOTER_BYTES] {
        let mut bytes = [0; FOOTER_BYTES];
        bytes[..8].copy_from_slice(&FOOTER_MAGIC);
        for (index, number) in self.numbers().iter().enumerate() {
            bytes[8 + 8 * index..][..8].copy_from_slice(&number.to_le_bytes());
        }
        let sum = salt.checksum(u64::MAX, &bytes[..FOOTER_BYTES - 4]);
        bytes[FOOTER_BYTES - 4..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The footer at the end of a file.
    pub(crate) fn read(file: &[u8], name: &str, salt: Salt) -> Result<Self, OpenError> {
        let at = file.len().checked_sub(FOOTER_BYTES + PAGE_BYTES).map(|at| at + PAGE_BYTES);
        let Some(at) = at else { return Err(Damage::new(name, 0, "the file is too short for a run").into()) };
        let damaged = |what: &str| OpenError::from(Damage::new(name, at as u64, what));
        let (fields, mut sum) = file[at..].split_at(FOOTER_BYTES - 4);
        if fields[..8] != FOOTER_MAGIC {
            return Err(damaged("the run does not end as runs do"));
        }
        if take_u32(&mut sum) != Some(salt.checksum(u64::MAX, fields)) {
            return Err(damaged("the footer of the run is damaged, or belongs to another file"));
        }
        let mut rest = &fields[8..];
        let numbers: Vec<u64> = std::iter::from_fn(|| take_u64(&mut rest)).collect();
        let version = numbers[0] as u32;
        if version > VERSION {
            return Err(OpenError::Version { file: name.to_owned(), version });
        }
        let footer = Self::of(&numbers);
        if footer.is_possible(at as u64) { Ok(footer) } else { Err(damaged("the footer has impossible fields")) }
    }

    fn of(numbers: &[u64]) -> Self {
        let extent = |index: usize| Extent { at: numbers[index], bytes: numbers[index + 1] };
        let (low, high) = (|index: usize| numbers[index] as u32, |index: usize| (numbers[index] >> 32) as u32);
        Self {
            keyspace: low(1),
            shape: high(1),
            records: numbers[2],
            deletions: numbers[3],
            blocks: numbers[4],
            data_end: numbers[5],
            heads: extent(6),
            fences: extent(8),
            last_key: extent(10),
            starts: extent(12),
            model: extent(14),
            filter: extent(16),
            sums: extent(18),
            index_checksum: low(20),
            sums_checksum: high(20),
            last_sequence: numbers[21],
            key_bytes: numbers[22],
            value_bytes: numbers[23],
        }
    }

    /// Whether the parts lie where parts can lie, in a file that ends here.
    fn is_possible(&self, end: u64) -> bool {
        let index = [self.heads, self.fences, self.last_key, self.starts, self.model, self.filter];
        let is_inside = |extent: &Extent| {
            extent.at >= self.data_end && extent.end().is_some_and(|extent_end| extent_end <= self.sums.at)
        };
        let pages = self.data_end / PAGE_BYTES as u64;
        self.data_end.is_multiple_of(PAGE_BYTES as u64)
            && self.data_end <= self.sums.at
            && self.sums.end() == Some(end)
            && self.sums.bytes == pages * 4
            && index.iter().all(is_inside)
            && self.blocks > 0
            && self.blocks < pages
            && self.heads.bytes == self.blocks * 8
            && (self.starts.bytes == 0 && self.blocks + 1 == pages || self.starts.bytes == (self.blocks + 1) * 4)
            && KeyShape::from_code(self.shape).is_some()
    }
}
