//! The index of a run: what a lookup needs before it reads a block.
//!
//! 1. It is read, checked and looked through once, when the run is first asked.
//! 2. As long as the [budget](crate::memory) lasts, the run takes a copy: then nothing but the block itself may have to come from the
//!    disk. Else it is read where it lies in the file.
//! 3. Everything is used as it lies: nothing is decoded but the model.

use crate::block::common_prefix;
use crate::builder::is_head_all;
use crate::error::Damage;
use crate::filter;
use crate::footer::{Extent, Footer};
use crate::memory::{Memory, Share};
use crate::model::{Head, Model};
use crate::page::{Checked, PAGE_BYTES, Salt};
use crate::shape::KeyShape;
use journal::Mapping;
use std::sync::Arc;

/// An index that was checked.
#[derive(Debug)]
pub(crate) struct Index {
    /// A copy of everything from the heads to the checksums of pages, and the share of the budget that it takes.
    held: Option<(Vec<u8>, Share)>,
    pub(crate) model: Model,
    /// How many bytes all keys share.
    pub(crate) shared: usize,
    /// Which pages were found to be right.
    pub(crate) checked: Checked,
}

/// Where an index lies: in the copy, or in the file.
#[derive(Clone, Copy)]
struct Lying<'a> {
    bytes: &'a [u8],
    /// The offset in the file at which the bytes begin.
    begins: u64,
}

impl<'a> Lying<'a> {
    fn part(self, extent: Extent) -> &'a [u8] {
        &self.bytes[(extent.at - self.begins) as usize..][..extent.bytes as usize]
    }
}

impl Index {
    /// Reads the index of a run and looks whether it can be asked.
    pub(crate) fn load(
        file: &Mapping,
        footer: &Footer,
        (name, salt, shape): (&str, Salt, KeyShape),
        last_key: &[u8],
        memory: &Arc<Memory>,
    ) -> Result<Self, Damage> {
        let (begins, sums) = (footer.data_end, footer.sums);
        let damage = |offset: u64, what: &str| Damage::new(name, offset, what);
        if salt.checksum(begins, &file[begins as usize..sums.at as usize]) != footer.index_checksum {
            return Err(damage(begins, "the index of the run is damaged"));
        }
        let whole = Lying { bytes: file, begins: 0 };
        if salt.checksum(sums.at, whole.part(sums)) != footer.sums_checksum {
            return Err(damage(sums.at, "the checksums of the run's pages are damaged"));
        }
        let impossible = || damage(begins, "the index of the run has impossible fields");
        let pages = footer.data_end / PAGE_BYTES as u64;
        let (starts, _) = whole.part(footer.starts).as_chunks::<4>();
        let start = |index: usize| u32::from_le_bytes(starts[index]);
        let are_starts_sound = starts.is_empty()
            || start(0) == 1
                && (1..starts.len()).all(|index| start(index - 1) < start(index))
                && u64::from(start(starts.len() - 1)) == pages;
        let model = Model::decode(whole.part(footer.model)).ok_or_else(impossible)?;
        let shared = match is_head_all(shape) {
            true => 0,
            false => common_prefix(fence_of(whole, footer, 0).ok_or_else(impossible)?, last_key),
        };
        let is_last_key = whole.part(footer.last_key) == last_key;
        if !are_starts_sound || !filter::is_sound(whole.part(footer.filter)) || !is_last_key {
            return Err(impossible());
        }
        let bytes = &file[begins as usize..(sums.at + sums.bytes) as usize];
        let held = memory.take(bytes.len() + model.bytes()).map(|share| (bytes.to_vec(), share));
        Ok(Self { held, model, shared, checked: Checked::new(pages as usize) })
    }

    fn lying<'a>(&'a self, file: &'a Mapping, footer: &Footer) -> Lying<'a> {
        match &self.held {
            Some((bytes, _)) => Lying { bytes, begins: footer.data_end },
            None => Lying { bytes: file, begins: 0 },
        }
    }

    pub(crate) fn heads<'a>(&'a self, file: &'a Mapping, footer: &Footer) -> &'a [Head] {
        self.lying(file, footer).part(footer.heads).as_chunks().0
    }

    pub(crate) fn filter<'a>(&'a self, file: &'a Mapping, footer: &Footer) -> &'a [u8] {
        self.lying(file, footer).part(footer.filter)
    }

    /// The fence of a block, where fences are kept.
    pub(crate) fn fence<'a>(&'a self, file: &'a Mapping, footer: &Footer, block: usize) -> Option<&'a [u8]> {
        fence_of(self.lying(file, footer), footer, block)
    }

    /// The pages of a block: the first, and the one after the last.
    pub(crate) fn pages(&self, file: &Mapping, footer: &Footer, block: usize) -> (usize, usize) {
        if footer.starts.bytes == 0 {
            return (block + 1, block + 2);
        }
        let (starts, _) = self.lying(file, footer).part(footer.starts).as_chunks::<4>();
        let start = |index: usize| u32::from_le_bytes(starts[index]) as usize;
        (start(block), start(block + 1))
    }

    /// The checksum of a page.
    pub(crate) fn sum(&self, file: &Mapping, footer: &Footer, page: usize) -> u32 {
        u32::from_le_bytes(self.lying(file, footer).part(footer.sums).as_chunks::<4>().0[page])
    }

    /// How many bytes of memory are held for it.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held.as_ref().map_or(0, |(bytes, _)| bytes.len() + self.model.bytes())
    }
}

fn fence_of<'a>(lying: Lying<'a>, footer: &Footer, block: usize) -> Option<&'a [u8]> {
    let (ends, bytes) = lying.part(footer.fences).split_at_checked(footer.blocks as usize * 4)?;
    let (ends, _) = ends.as_chunks::<4>();
    let end = |index: usize| ends.get(index).map(|end| u32::from_le_bytes(*end) as usize);
    let from = if block == 0 { 0 } else { end(block - 1)? };
    bytes.get(from..end(block)?)
}
