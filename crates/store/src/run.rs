//! A run: records in the order of their keys, in a file that never changes.
//!
//! Looking a key up:
//!
//! 1. The filter is asked, unless the page is known to be in memory: then looking is as cheap as asking.
//! 2. The [model](crate::model) says which block the key lies in, if it is there. Where heads are equal, fences decide.
//! 3. The block's pages are checked if they were not checked before, and the key is searched among its keys, compared as a whole.
//!
//! A key that is not in memory costs one page of the disk, or the pages of one large record; the index (8 bytes for each block, and
//! the filter, 1.13 bytes a key) stays in memory. Opening reads the footer only; the index is checked when a run is first asked.

use crate::block::{Block, common_prefix};
use crate::builder::{HEAD_BYTES, head_of, is_head_all};
use crate::error::{Damage, Failure, OpenError};
use crate::filter;
use crate::footer::{Extent, Footer};
use crate::model::{Kind, Model};
use crate::page::{Checked, PAGE_BYTES, Salt};
use crate::shape::KeyShape;
use journal::{Disk, Identity, Mapping};
use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

/// A run that is open.
#[derive(Debug)]
pub(crate) struct Run {
    name: String,
    bytes: Mapping,
    footer: Footer,
    shape: KeyShape,
    salt: Salt,
    index: OnceLock<Result<Index, Damage>>,
    /// As the manifest has them.
    first_key: Vec<u8>,
    last_key: Vec<u8>,
}

/// What is needed to find a block, in memory.
#[derive(Debug)]
struct Index {
    heads: Vec<u64>,
    /// The page at which each block begins, and the end; empty if every block has one page.
    starts: Vec<u32>,
    model: Model,
    /// How many bytes all keys share.
    shared: usize,
    checked: Checked,
}

/// What a run says of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Absent,
    Deleted,
    /// Where in the file its value lies.
    Value(usize, usize),
}

/// What is done with each record: its key, and its value unless it is a deletion.
pub(crate) type RecordCall<'a> = dyn FnMut(&[u8], Option<&[u8]>) + 'a;

/// A block with its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Placed {
    pub(crate) block: Block,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// A run, in figures.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunStats {
    /// The name of its file.
    pub file: String,
    /// How long the file is.
    pub bytes: u64,
    /// How many keys it has, deleted ones as well.
    pub records: u64,
    /// How many of them are deleted.
    pub deletions: u64,
    /// How many blocks there are.
    pub blocks: u64,
    /// How its index finds a block.
    pub model: Kind,
    /// How far the model may be off, in blocks.
    pub model_error: u32,
    /// What heads, starts and model take in memory.
    pub index_bytes: u64,
    /// What the filter takes.
    pub filter_bytes: u64,
}

impl Run {
    /// Opens a run. Only the footer is read.
    pub(crate) fn open(
        disk: &dyn Disk,
        identity: Identity,
        name: &str,
        (first_key, last_key): (Vec<u8>, Vec<u8>),
    ) -> Result<Self, OpenError> {
        let bytes = disk.map(name).map_err(Failure::of("open", name))?;
        let salt = Salt::new(identity, name);
        let footer = Footer::read(&bytes, name, salt)?;
        let shape = KeyShape::from_code(footer.shape).expect("the footer was checked");
        Ok(Self { name: name.to_owned(), bytes, footer, shape, salt, index: OnceLock::new(), first_key, last_key })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn first_key(&self) -> &[u8] {
        &self.first_key
    }

    pub(crate) fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    pub(crate) fn footer(&self) -> &Footer {
        &self.footer
    }

    /// All bytes of the file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn part(&self, extent: Extent) -> &[u8] {
        &self.bytes[extent.at as usize..][..extent.bytes as usize]
    }

    fn damage(&self, offset: u64, what: &str) -> Damage {
        Damage::new(&self.name, offset, what)
    }

    fn index(&self) -> Result<&Index, Damage> {
        self.index.get_or_init(|| self.load_index()).as_ref().map_err(Clone::clone)
    }

    fn load_index(&self) -> Result<Index, Damage> {
        let footer = &self.footer;
        let index_at = footer.data_end;
        let index = &self.bytes[index_at as usize..footer.sums.at as usize];
        if self.salt.checksum(index_at, index) != footer.index_checksum {
            return Err(self.damage(index_at, "the index of the run is damaged"));
        }
        if self.salt.checksum(footer.sums.at, self.part(footer.sums)) != footer.sums_checksum {
            return Err(self.damage(footer.sums.at, "the checksums of the run's pages are damaged"));
        }
        let impossible = || self.damage(index_at, "the index of the run has impossible fields");
        let (heads, _) = self.part(footer.heads).as_chunks::<8>();
        let (starts, _) = self.part(footer.starts).as_chunks::<4>();
        let starts: Vec<u32> = starts.iter().map(|start| u32::from_le_bytes(*start)).collect();
        let pages = footer.data_end / PAGE_BYTES as u64;
        let are_starts_sound = starts.is_empty()
            || starts[0] == 1
                && starts.windows(2).all(|pair| pair[0] < pair[1])
                && starts.last().is_some_and(|end| u64::from(*end) == pages);
        let model = Model::decode(self.part(footer.model)).ok_or_else(impossible)?;
        let last_key = self.part(footer.last_key);
        let shared = match is_head_all(self.shape) {
            true => 0,
            false => common_prefix(self.fence(0).ok_or_else(impossible)?, last_key),
        };
        if !are_starts_sound || !filter::is_sound(self.part(footer.filter)) || last_key != self.last_key {
            return Err(impossible());
        }
        let heads = heads.iter().map(|head| u64::from_le_bytes(*head)).collect();
        Ok(Index { heads, starts, model, shared, checked: Checked::new(pages as usize) })
    }

    /// The fence of a block, where fences are kept.
    fn fence(&self, block: usize) -> Option<&[u8]> {
        let fences = self.part(self.footer.fences);
        let (ends, bytes) = fences.split_at_checked(self.footer.blocks as usize * 4)?;
        let (ends, _) = ends.as_chunks::<4>();
        let end = |index: usize| ends.get(index).map(|end| u32::from_le_bytes(*end) as usize);
        let from = if block == 0 { 0 } else { end(block - 1)? };
        bytes.get(from..end(block)?)
    }

    pub(crate) fn blocks(&self) -> usize {
        self.footer.blocks as usize
    }

    /// The block that has a key, if any has it; `None` if the key comes before all.
    fn locate(&self, index: &Index, key: &[u8]) -> Option<usize> {
        let count = if is_head_all(self.shape) {
            index.model.locate(&index.heads, head_of(key, 0), &mut ())
        } else {
            self.locate_long(index, key)
        };
        count.checked_sub(1)
    }

    /// How many fences are not greater than a key that its head alone does not tell from others.
    fn locate_long(&self, index: &Index, key: &[u8]) -> usize {
        let prefix = &self.last_key[..index.shared];
        match key.get(..index.shared).unwrap_or(key).cmp(prefix) {
            Ordering::Less => return 0,
            Ordering::Greater => return index.heads.len(),
            Ordering::Equal => {}
        }
        let head = head_of(key, index.shared);
        let to = index.model.locate(&index.heads, head, &mut ());
        let from = index.heads[..to].partition_point(|other| *other < head);
        let (mut low, mut high) = (from, to);
        while low < high {
            let middle = low.midpoint(high);
            if self.fence(middle).is_some_and(|fence| fence <= key) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The pages of a block.
    fn pages(&self, index: &Index, block: usize) -> (usize, usize) {
        match index.starts.get(block..block + 2) {
            Some(pair) => (pair[0] as usize, pair[1] as usize),
            None => (block + 1, block + 2),
        }
    }

    /// A block, checked.
    pub(crate) fn block(&self, block: usize) -> Result<Placed, Damage> {
        self.placed(self.index()?, block)
    }

    fn placed(&self, index: &Index, block: usize) -> Result<Placed, Damage> {
        let (first, end) = self.pages(index, block);
        for page in first..end {
            if !index.checked.has(page) {
                self.check_page(page)?;
                index.checked.add(page);
            }
        }
        let (from, to) = (first * PAGE_BYTES, end * PAGE_BYTES);
        match Block::parse(&self.bytes[from..to], self.shape) {
            Some(block) => Ok(Placed { block, from, to }),
            None => Err(self.impossible(from)),
        }
    }

    /// What to say of bytes whose checksum is right and that are not a block.
    pub(crate) fn impossible(&self, from: usize) -> Damage {
        self.damage(from as u64, "a block of the run has impossible fields")
    }

    /// An error unless a page is what was written.
    fn check_page(&self, page: usize) -> Result<(), Damage> {
        let bytes = &self.bytes[page * PAGE_BYTES..][..PAGE_BYTES];
        let sum = self.part(self.footer.sums)[page * 4..].first_chunk::<4>().expect("a page has a checksum");
        if self.salt.checksum(page as u64, bytes) == u32::from_le_bytes(*sum) {
            return Ok(());
        }
        Err(self.damage((page * PAGE_BYTES) as u64, "a page of the run is damaged"))
    }

    /// Checks every page, and that the index is sound; what is damaged.
    pub(crate) fn verify(&self) -> Vec<Damage> {
        let index = match self.index() {
            Ok(index) => index,
            Err(damage) => return vec![damage],
        };
        let mut found = Vec::new();
        let pages = self.footer.data_end as usize / PAGE_BYTES;
        found.extend((0..pages).filter_map(|page| self.check_page(page).err()));
        if found.is_empty() {
            found.extend(self.verify_order(index).err());
        }
        found
    }

    /// Every key lies in the block where a lookup searches, and keys ascend.
    fn verify_order(&self, index: &Index) -> Result<(), Damage> {
        let (mut before, mut key): (Option<Vec<u8>>, Vec<u8>) = (None, Vec::new());
        let mut records = 0;
        for block in 0..self.blocks() {
            let placed = self.placed(index, block)?;
            let bytes = &self.bytes[placed.from..placed.to];
            for slot in 0..placed.block.count() {
                let is_read = placed.block.read_key(bytes, slot, &mut key).is_some();
                let is_sound = is_read
                    && before.as_ref().is_none_or(|before| *before < key)
                    && self.locate(index, &key) == Some(block)
                    && placed.block.value(bytes, slot).is_some();
                if !is_sound {
                    return Err(self.impossible(placed.from));
                }
                records += 1;
                before.get_or_insert_default().clone_from(&key);
            }
        }
        if records == self.footer.records { Ok(()) } else { Err(self.damage(0, "the run has lost records")) }
    }

    /// What the run has of a key.
    pub(crate) fn get(&self, key: &[u8], hash: u64, is_likely: bool) -> Result<Found, Damage> {
        let index = self.index()?;
        let denies = || !filter::may_contain(self.part(self.footer.filter), hash);
        if !is_likely && denies() {
            return Ok(Found::Absent);
        }
        let Some(block) = self.locate(index, key) else { return Ok(Found::Absent) };
        if is_likely && !index.checked.has(self.pages(index, block).0) && denies() {
            return Ok(Found::Absent);
        }
        let placed = self.placed(index, block)?;
        let bytes = &self.bytes[placed.from..placed.to];
        let impossible = || self.impossible(placed.from);
        let (slot, is_equal) = placed.block.search(bytes, key).ok_or_else(impossible)?;
        if !is_equal {
            return Ok(Found::Absent);
        }
        Ok(match placed.block.value(bytes, slot).ok_or_else(impossible)? {
            Some((from, to)) => Found::Value(placed.from + from, placed.from + to),
            None => Found::Deleted,
        })
    }

    /// The block and the record of the first key that is not less than this one; the number of blocks if there is none.
    pub(crate) fn seek(&self, key: &[u8]) -> Result<(usize, usize), Damage> {
        let index = self.index()?;
        let Some(block) = self.locate(index, key) else { return Ok((0, 0)) };
        let placed = self.placed(index, block)?;
        let bytes = &self.bytes[placed.from..placed.to];
        let (slot, _) = placed.block.search(bytes, key).ok_or_else(|| self.impossible(placed.from))?;
        Ok(if slot == placed.block.count() { (block + 1, 0) } else { (block, slot) })
    }

    /// Calls for each record that can be read, in order, and gives what cannot. If the index is damaged, blocks are read one after the
    /// other up to the first damaged one: after that, nothing tells where the next begins.
    pub(crate) fn read_what_is_whole(&self, call: &mut RecordCall<'_>) -> Vec<Damage> {
        let index = match self.index() {
            Ok(index) => index,
            Err(damage) => return [damage].into_iter().chain(self.read_without_index(call)).collect(),
        };
        let mut lost = Vec::new();
        for block in 0..self.blocks() {
            let read = self.placed(index, block).and_then(|placed| self.read_block(placed, call));
            lost.extend(read.err());
        }
        lost
    }

    fn read_without_index(&self, call: &mut RecordCall<'_>) -> Option<Damage> {
        let end = self.footer.data_end as usize;
        if self.salt.checksum(self.footer.sums.at, self.part(self.footer.sums)) != self.footer.sums_checksum {
            return Some(self.damage(self.footer.sums.at, "the checksums of the run's pages are damaged"));
        }
        let mut page = 1;
        while page * PAGE_BYTES < end {
            let from = page * PAGE_BYTES;
            let bytes = &self.bytes[from..end];
            let first = self.check_page(page).map(|()| Block::parse(bytes, self.shape));
            let length = match &first {
                Ok(block) => block.and_then(|block| block.length(bytes)),
                Err(damage) => return Some(damage.clone()),
            };
            let (Ok(Some(block)), Some(length)) = (first, length) else { return Some(self.impossible(from)) };
            let pages = length.div_ceil(PAGE_BYTES);
            let checked = (page + 1..page + pages).try_for_each(|page| self.check_page(page));
            let placed = Placed { block, from, to: from + pages * PAGE_BYTES };
            if let Err(damage) = checked.and_then(|()| self.read_block(placed, call)) {
                return Some(damage);
            }
            page += pages;
        }
        None
    }

    fn read_block(&self, placed: Placed, call: &mut RecordCall<'_>) -> Result<(), Damage> {
        let bytes = &self.bytes[placed.from..placed.to];
        let mut key = Vec::new();
        for slot in 0..placed.block.count() {
            let is_read = placed.block.read_key(bytes, slot, &mut key).is_some() && self.shape.check(&key).is_ok();
            match placed.block.value(bytes, slot).filter(|_| is_read) {
                Some(value) => call(&key, value.map(|(from, to)| &bytes[from..to])),
                None => return Err(self.impossible(placed.from)),
            }
        }
        Ok(())
    }

    pub(crate) fn stats(&self) -> Result<RunStats, Damage> {
        let index = self.index()?;
        Ok(RunStats {
            file: self.name.clone(),
            bytes: self.bytes.len() as u64,
            records: self.footer.records,
            deletions: self.footer.deletions,
            blocks: self.footer.blocks,
            model: index.model.kind(),
            model_error: index.model.error(),
            index_bytes: (index.heads.len() * HEAD_BYTES + index.starts.len() * 4 + index.model.bytes()) as u64,
            filter_bytes: self.footer.filter.bytes,
        })
    }
}

/// Runs whose keys do not overlap, in the order of their keys: together one run, in parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct SortedRun {
    pub(crate) parts: Vec<Arc<Run>>,
}

impl SortedRun {
    /// The part that has a key, if any has it.
    pub(crate) fn part_of(&self, key: &[u8]) -> Option<&Arc<Run>> {
        let index = self.parts.partition_point(|part| part.last_key() < key);
        self.parts.get(index).filter(|part| part.first_key() <= key)
    }
}
