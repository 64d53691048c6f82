//! Opening a file of columns.

use super::column::{Checks, Column};
use super::damage::damaged;
use super::file::{
    ALIGNMENT, ENTRY_BYTES, FOOTER_BYTES, Footer, HEADER_BYTES, ImageError, MAGIC, Section, VERSION, directory_sum,
    header, number_at,
};
use super::writer::SectionId;
use bytes::Bytes;
use std::sync::Arc;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The sections of a file.
pub(crate) struct ColumnsReader {
    bytes: Bytes,
    sections: Vec<Arc<Checks>>,
    /// Where its directory begins.
    directory: usize,
}

/// Bytes that begin at a multiple of eight, read from what cannot be mapped.
struct Aligned {
    words: Box<[u64]>,
    length: usize,
}

impl AsRef<[u8]> for Aligned {
    fn as_ref(&self) -> &[u8] {
        &self.words.as_bytes()[..self.length]
    }
}

/// Gives these bytes so that they begin at a multiple of eight, copied if need be.
fn aligned(bytes: Bytes) -> Bytes {
    if (bytes.as_ptr() as usize).is_multiple_of(size_of::<u64>()) {
        return bytes;
    }
    let words = bytes.chunks(8).map(|word| {
        let mut whole = [0; 8];
        whole[..word.len()].copy_from_slice(word);
        u64::from_ne_bytes(whole)
    });
    Bytes::from_owner(Aligned { words: words.collect(), length: bytes.len() })
}

impl ColumnsReader {
    pub(crate) fn open(bytes: Bytes) -> Result<Self, ImageError> {
        let flawed = |reason| ImageError::Damaged { reason };
        if cfg!(target_endian = "big") {
            return Err(ImageError::ByteOrder);
        }
        if !bytes.starts_with(&MAGIC) {
            return Err(ImageError::NotAnImage);
        }
        let found = number_at(&bytes, 8) as u32;
        if found != VERSION && bytes.len() >= HEADER_BYTES && bytes[12..HEADER_BYTES] == header()[12..] {
            return Err(ImageError::Version { found, known: VERSION });
        }
        if bytes.get(..HEADER_BYTES) != Some(&header()[..]) {
            return Err(flawed("its header is damaged"));
        }
        let bytes = aligned(bytes);
        let footer = bytes.last_chunk::<FOOTER_BYTES>().and_then(Footer::decode);
        let footer = footer.ok_or(flawed("its end is missing or damaged"))?;
        if footer.length != bytes.len() as u64 {
            return Err(flawed("it is not as long as it was"));
        }
        let sections = sections_of(&bytes, &footer).ok_or(flawed("its directory is damaged"))?;
        let directory = footer.directory as usize;
        Ok(Self { bytes, sections, directory })
    }

    /// The last section.
    pub(crate) fn last(&self) -> Option<SectionId> {
        (self.sections.len() as u64).checked_sub(1)
    }

    /// How many bytes it has.
    pub(crate) fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The column of a section, if its numbers are of this width.
    pub(crate) fn column<T: FromBytes + Immutable + KnownLayout + Copy>(
        &self,
        number: SectionId,
    ) -> Result<Column<T>, ImageError> {
        let checks = usize::try_from(number).ok().and_then(|number| self.sections.get(number));
        let checks = checks.filter(|checks| checks.section.width == size_of::<T>() as u64);
        let checks = checks.ok_or(ImageError::Damaged { reason: "a section is missing" })?;
        Ok(Column::new(self.bytes_of(checks), Arc::clone(checks)))
    }

    fn bytes_of(&self, checks: &Checks) -> Bytes {
        let start = checks.section.offset as usize;
        self.bytes.slice(start..start + checks.section.bytes as usize)
    }

    /// Checks all blocks of all sections, and that nothing lies between them.
    pub(crate) fn verify(&self) {
        self.sections.iter().for_each(|checks| checks.verify(&self.bytes_of(checks)));
        let mut ranges: Vec<(usize, usize)> = self
            .sections
            .iter()
            .map(|checks| (checks.section.offset as usize, (checks.section.offset + checks.section.bytes) as usize))
            .collect();
        ranges.push((self.directory, self.directory));
        ranges.sort_unstable();
        let mut end = HEADER_BYTES;
        for (start, next) in ranges {
            if self.bytes.get(end..start).is_some_and(|between| between.iter().any(|&byte| byte != 0)) {
                damaged(end as u64, "something lies between two sections");
            }
            end = end.max(next);
        }
    }
}

/// The sections of a directory that matches its checksum, if each lies in the file.
fn sections_of(bytes: &Bytes, footer: &Footer) -> Option<Vec<Arc<Checks>>> {
    let end = bytes.len().checked_sub(FOOTER_BYTES)?;
    let start = usize::try_from(footer.directory).ok().filter(|&start| start <= end)?;
    let directory = bytes.slice(start..end);
    let entries = usize::try_from(footer.sections).ok()?.checked_mul(ENTRY_BYTES)?;
    let sums = usize::try_from(footer.sums).ok()?.checked_mul(8)?;
    if entries.checked_add(sums)? != directory.len() || directory_sum(&directory) != footer.directory_sum {
        return None;
    }
    let all_sums = directory.slice(entries..);
    let checks_of = |(number, entry): (u64, &[u8])| {
        let section = Section::decode(entry);
        let is_within = section.offset.checked_add(section.bytes)? <= footer.directory;
        let is_whole = matches!(section.width, 1 | 2 | 4 | 8 | 16) && section.bytes.is_multiple_of(section.width);
        if !is_within || !is_whole || !section.offset.is_multiple_of(ALIGNMENT) {
            return None;
        }
        let from = usize::try_from(section.first_sum).ok()?.checked_mul(8)?;
        let to = from.checked_add(usize::try_from(section.blocks()).ok()?.checked_mul(8)?)?;
        (to <= all_sums.len()).then(|| Arc::new(Checks::new(number, section, all_sums.slice(from..to))))
    };
    (0..).zip(directory[..entries].chunks_exact(ENTRY_BYTES)).map(checks_of).collect()
}
