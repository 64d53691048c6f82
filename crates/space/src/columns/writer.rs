//! Writing a file of columns, from its beginning to its end.

use super::file::{ALIGNMENT, BLOCK_BYTES, Footer, HEADER_BYTES, Section, block_sum, directory_sum, header};
use std::io::{self, Write};
use zerocopy::{Immutable, IntoBytes};

/// The number of a section.
pub(crate) type SectionId = u64;

/// Takes columns one after the other.
pub(crate) struct ColumnsWriter<'a> {
    out: &'a mut dyn Write,
    at: u64,
    sections: Vec<Section>,
    sums: Vec<u64>,
    block: Vec<u8>,
}

impl<'a> ColumnsWriter<'a> {
    pub(crate) fn begin(out: &'a mut dyn Write) -> io::Result<Self> {
        if cfg!(target_endian = "big") {
            return Err(io::Error::new(io::ErrorKind::Unsupported, super::ImageError::ByteOrder));
        }
        out.write_all(&header())?;
        let block = Vec::with_capacity(BLOCK_BYTES);
        Ok(Self { out, at: HEADER_BYTES as u64, sections: Vec::new(), sums: Vec::new(), block })
    }

    /// Writes a column of numbers, each of which is below a limit.
    pub(crate) fn column<T: IntoBytes + Immutable>(
        &mut self,
        limit: u64,
        numbers: impl IntoIterator<Item = T>,
    ) -> io::Result<SectionId> {
        self.column_of(limit, |put| numbers.into_iter().try_for_each(put))
    }

    /// Writes a column of numbers that are handed out one by one, each of which is below a limit.
    pub(crate) fn column_of<T: IntoBytes + Immutable>(
        &mut self,
        limit: u64,
        each: impl FnOnce(&mut dyn FnMut(T) -> io::Result<()>) -> io::Result<()>,
    ) -> io::Result<SectionId> {
        self.section(size_of::<T>() as u64, limit, |put| each(&mut |number: T| put(number.as_bytes())))
    }

    /// Writes a section that is bytes only.
    pub(crate) fn bytes(
        &mut self,
        each: impl FnOnce(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()>,
    ) -> io::Result<SectionId> {
        self.section(1, super::NO_LIMIT, each)
    }

    fn section(
        &mut self,
        width: u64,
        limit: u64,
        each: impl FnOnce(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()>,
    ) -> io::Result<SectionId> {
        self.align()?;
        let number = self.sections.len() as u64;
        let first_sum = self.sums.len() as u64;
        let offset = self.at;
        self.sections.push(Section { width, offset, bytes: 0, limit, first_sum });
        each(&mut |bytes| self.put(bytes))?;
        self.end_block()?;
        if let Some(section) = self.sections.last_mut() {
            section.bytes = self.at - offset;
        }
        Ok(number)
    }

    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.block.len()));
            self.block.extend_from_slice(now);
            bytes = later;
            if self.block.len() == BLOCK_BYTES {
                self.end_block()?;
            }
        }
        Ok(())
    }

    fn end_block(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let section = self.sections.len() as u64 - 1;
        let first = self.sections.last().map_or(0, |section| section.first_sum);
        self.sums.push(block_sum(section, self.sums.len() as u64 - first, &self.block));
        self.out.write_all(&self.block)?;
        self.at += self.block.len() as u64;
        self.block.clear();
        Ok(())
    }

    fn align(&mut self) -> io::Result<()> {
        let missing = self.at.next_multiple_of(ALIGNMENT) - self.at;
        self.out.write_all(&[0; ALIGNMENT as usize][..missing as usize])?;
        self.at += missing;
        Ok(())
    }

    /// Writes directory and footer; gives how long the file is.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
        self.align()?;
        let mut directory: Vec<u8> = self.sections.iter().flat_map(Section::encode).collect();
        directory.extend(self.sums.iter().flat_map(|sum| sum.to_le_bytes()));
        self.out.write_all(&directory)?;
        let length = self.at + directory.len() as u64 + super::file::FOOTER_BYTES as u64;
        let footer = Footer {
            directory: self.at,
            sections: self.sections.len() as u64,
            sums: self.sums.len() as u64,
            length,
            directory_sum: directory_sum(&directory),
        };
        self.out.write_all(&footer.encode())?;
        Ok(length)
    }
}
