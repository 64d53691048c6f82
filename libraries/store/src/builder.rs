//! Writes a run: records in ascending order of keys, once, from the beginning of the file to its end.
//!
//! 1. Records go into a block until it is full; a block is written as whole pages, [packed](crate::pack) if its keyspace is compressed.
//! 2. Of each block its fence is kept, the shortest bytes that are greater than the last key before it and not greater than its
//!    first, and of each key a hash.
//! 3. At the end the index is made of the fences, the filter of the hashes, and both are written, then the checksums of all
//!    pages, then the footer. The file is synced; its name is the caller's to sync.
//!
//! The bytes depend on the records, the name and the store's identity only.

use crate::block::{BlockBuilder, common_prefix};
use crate::error::Failure;
use crate::filter;
use crate::footer::{Extent, FOOTER_BYTES, Footer, Header};
use crate::model::{Head, Model};
use crate::pack::{Compression, pack};
use crate::page::{Ahead, PAGE_BYTES, PageWriter, Salt};
use crate::shape::KeyShape;
use journal::Disk;

/// How many bytes a head is.
pub(crate) const HEAD_BYTES: usize = 8;

/// The first eight bytes of a key after those that all keys share, as a number; zeros after its end.
pub(crate) fn head_of(key: &[u8], shared: usize) -> u64 {
    let rest = key.get(shared..).unwrap_or_default();
    if let Some(head) = rest.first_chunk::<HEAD_BYTES>() {
        return u64::from_be_bytes(*head);
    }
    let mut head = [0; HEAD_BYTES];
    head[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(head)
}

/// Whether the head of a key is all of it.
pub(crate) fn is_head_all(shape: KeyShape) -> bool {
    shape.width().is_some_and(|width| width <= HEAD_BYTES)
}

/// A run that is being written.
pub(crate) struct RunBuilder {
    out: PageWriter,
    header: Header,
    compression: Compression,
    name: String,
    block: BlockBuilder,
    /// The last key of the block before this one.
    before: Vec<u8>,
    fences: Vec<u8>,
    fence_ends: Vec<u32>,
    /// The page at which each block begins.
    starts: Vec<u32>,
    hashes: Vec<u64>,
    footer: Footer,
}

/// A run that was written.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) name: String,
    pub(crate) first_key: Vec<u8>,
    pub(crate) last_key: Vec<u8>,
}

impl RunBuilder {
    pub(crate) fn create(
        disk: &dyn Disk,
        name: &str,
        header: Header,
        (compression, ahead): (Compression, Ahead),
    ) -> Result<Self, Failure> {
        let mut out = PageWriter::create(disk, name, Salt::new(header.identity, name), ahead)?;
        out.push_pages(&header.encode())?;
        Ok(Self {
            out,
            header,
            compression,
            name: name.to_owned(),
            block: BlockBuilder::new(header.shape, compression),
            before: Vec::new(),
            fences: Vec::new(),
            fence_ends: Vec::new(),
            starts: Vec::new(),
            hashes: Vec::new(),
            footer: Footer { keyspace: header.keyspace, shape: header.shape.code(), ..Footer::default() },
        })
    }

    /// About how long the file is so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.out.length()
    }

    /// Adds a record; `None` is a deletion. Keys ascend.
    pub(crate) fn push(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), Failure> {
        debug_assert!(self.footer.records == 0 || self.last_key() < key, "keys ascend");
        if !self.block.has_room(key, value) {
            self.end_block()?;
        }
        if self.block.is_empty() {
            self.begin_block(key);
        }
        self.block.push(key, value);
        self.hashes.push(filter::hash(key));
        self.footer.records += 1;
        self.footer.deletions += u64::from(value.is_none());
        self.footer.key_bytes += key.len() as u64;
        self.footer.value_bytes += value.map_or(0, |value| value.len() as u64);
        Ok(())
    }

    fn last_key(&self) -> &[u8] {
        if self.block.is_empty() { &self.before } else { self.block.last_key() }
    }

    fn begin_block(&mut self, first: &[u8]) {
        let is_whole = self.starts.is_empty() || self.header.shape.width().is_some();
        let length = if is_whole { first.len() } else { common_prefix(&self.before, first) + 1 };
        self.fences.extend_from_slice(&first[..length]);
        self.fence_ends.push(self.fences.len() as u32);
        self.starts.push((self.out.length() / PAGE_BYTES as u64) as u32);
    }

    fn end_block(&mut self) -> Result<(), Failure> {
        self.before.clear();
        self.before.extend_from_slice(self.block.last_key());
        let bytes = self.block.take();
        let packed = if self.compression == Compression::Lz4 { pack(&bytes) } else { None };
        self.out.push_pages(packed.as_ref().unwrap_or(&bytes))
    }

    fn fence(&self, index: usize) -> &[u8] {
        let from = index.checked_sub(1).map_or(0, |before| self.fence_ends[before] as usize);
        &self.fences[from..self.fence_ends[index] as usize]
    }

    /// Writes the rest and makes the file durable. There is at least one record.
    pub(crate) fn finish(mut self, last_sequence: u64) -> Result<Written, Failure> {
        self.end_block()?;
        let last_key = std::mem::take(&mut self.before);
        let first_key = self.fence(0).to_vec();
        let end = self.out.length();
        self.footer.data_end = end;
        self.footer.last_sequence = last_sequence;
        self.footer.blocks = self.starts.len() as u64;
        let index = self.index(&first_key, &last_key, end);
        self.footer.index_checksum = self.out.salt().checksum(end, &index);
        self.out.push_bytes(&index)?;
        let sums: Vec<u8> = self.out.sums().iter().flat_map(|sum| sum.to_le_bytes()).collect();
        self.footer.sums = Extent { at: self.out.length(), bytes: sums.len() as u64 };
        self.footer.sums_checksum = self.out.salt().checksum(self.footer.sums.at, &sums);
        self.out.push_bytes(&sums)?;
        let footer: [u8; FOOTER_BYTES] = self.footer.encode(self.out.salt());
        self.out.push_bytes(&footer)?;
        self.out.finish()?;
        Ok(Written { name: self.name, first_key, last_key })
    }

    /// The bytes of the index, which lies from `at` on; notes its parts in the footer.
    fn index(&mut self, first_key: &[u8], last_key: &[u8], at: u64) -> Vec<u8> {
        let is_head_all = is_head_all(self.header.shape);
        let shared = if is_head_all { 0 } else { common_prefix(first_key, last_key) };
        let heads: Vec<Head> =
            (0..self.starts.len()).map(|index| head_of(self.fence(index), shared).to_le_bytes()).collect();
        let mut index = Vec::new();
        let mut put = |part: &mut dyn Iterator<Item = u8>| {
            let from = index.len();
            index.extend(part);
            Extent { at: at + from as u64, bytes: (index.len() - from) as u64 }
        };
        self.footer.heads = put(&mut heads.iter().copied().flatten());
        let ends = self.fence_ends.iter().flat_map(|end| end.to_le_bytes());
        let mut fences = ends.chain(self.fences.iter().copied()).take(if is_head_all { 0 } else { usize::MAX });
        self.footer.fences = put(&mut fences);
        self.footer.last_key = put(&mut last_key.iter().copied());
        let pages = (at / PAGE_BYTES as u64) as u32;
        let is_regular = self.starts.len() as u32 + 1 == pages;
        let starts = self.starts.iter().copied().chain([pages]).flat_map(u32::to_le_bytes);
        self.footer.starts = put(&mut starts.take(if is_regular { 0 } else { usize::MAX }));
        self.footer.model = put(&mut Model::choose(&heads).encode().into_iter());
        self.footer.filter = put(&mut filter::build(std::mem::take(&mut self.hashes)).into_iter());
        index
    }
}
