//! A run: records in the order of their keys, in a file that never changes.
//!
//! Looking a key up:
//!
//! 1. The filter is asked, unless the page is known to be in memory: then looking is as cheap as asking.
//! 2. The [model](crate::model) says which block the key lies in, if it is there. Where heads are equal, fences decide.
//! 3. The block's pages are checked if they were not checked before, and the key is searched among its keys, compared as a whole.
//!
//! A key that is not in memory costs one page of the disk, or the pages of one large record or packed block; the [index](crate::index) stays
//! in memory as long as the budget lasts. Opening reads the footer only; the index is checked when a run is first asked.

use crate::block::Block;
use crate::builder::{HEAD_BYTES, head_of, is_head_all};
use crate::error::{Damage, Failure, OpenError};
use crate::filter;
use crate::footer::Footer;
use crate::index::Index;
use crate::memory::Memory;
use crate::model::{Kind, number};
use crate::pack;
use crate::page::{PAGE_BYTES, Salt};
use crate::shape::KeyShape;
use crate::steps::{Step, Witness};
use journal::{Disk, Identity, Mapping};
use std::cell::OnceCell;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// How far a cursor reads ahead, in pages.
const AHEAD_PAGES: usize = 64;

/// A run that is open.
#[derive(Debug)]
pub(crate) struct Run {
    name: String,
    bytes: Mapping,
    footer: Footer,
    shape: KeyShape,
    salt: Salt,
    memory: Arc<Memory>,
    index: OnceLock<Result<Index, Damage>>,
    /// As the manifest has them.
    first_key: Vec<u8>,
    last_key: Vec<u8>,
}

/// A key that is asked for.
pub(crate) struct Asked<'a> {
    key: &'a [u8],
    /// What filters know it by, once one was asked.
    hash: OnceCell<u64>,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(key: &'a [u8]) -> Self {
        Self { key, hash: OnceCell::new() }
    }

    fn hash(&self) -> u64 {
        *self.hash.get_or_init(|| filter::hash(self.key))
    }
}

/// What a run says of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Absent,
    Deleted,
    /// Where in the file its value lies.
    Value(usize, usize),
    /// The value, out of a block that had to be unpacked.
    Unpacked(Arc<[u8]>),
}

/// What is done with each record: its key, and its value unless it is a deletion.
pub(crate) type RecordCall<'a> = dyn FnMut(&[u8], Option<&[u8]>) + 'a;

/// A block, and where its bytes are: in the file, or unpacked in a buffer of the caller.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Placed {
    pub(crate) block: Block,
    from: usize,
    to: usize,
    is_packed: bool,
}

impl Placed {
    pub(crate) fn is_packed(&self) -> bool {
        self.is_packed
    }

    /// Where its bytes begin in what they are a part of: in the file, or in the buffer.
    pub(crate) fn begins(&self) -> usize {
        if self.is_packed { 0 } else { self.from }
    }
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
    /// What heads, fences, starts, model and the checksums of pages take.
    pub index_bytes: u64,
    /// What the filter takes.
    pub filter_bytes: u64,
    /// How much memory is held for index and filter: all that they take, or nothing if the budget was used up.
    pub held_bytes: u64,
}

impl Run {
    /// Opens a run. Only the footer is read.
    pub(crate) fn open(
        disk: &dyn Disk,
        identity: Identity,
        name: &str,
        (first_key, last_key): (Vec<u8>, Vec<u8>),
        memory: &Arc<Memory>,
    ) -> Result<Self, OpenError> {
        let bytes = disk.map(name).map_err(Failure::of("open", name))?;
        let salt = Salt::new(identity, name);
        let footer = Footer::read(&bytes, name, salt)?;
        let shape = KeyShape::from_code(footer.shape).expect("the footer was checked");
        bytes.expect_scattered_reads();
        let (name, memory, index) = (name.to_owned(), memory.clone(), OnceLock::new());
        Ok(Self { name, bytes, footer, shape, salt, memory, index, first_key, last_key })
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

    /// The bytes of a block, which may have been unpacked into a buffer.
    pub(crate) fn bytes_of<'a>(&'a self, placed: &Placed, unpacked: &'a [u8]) -> &'a [u8] {
        if placed.is_packed { unpacked } else { &self.bytes[placed.from..placed.to] }
    }

    fn damage(&self, offset: u64, what: &str) -> Damage {
        Damage::new(&self.name, offset, what)
    }

    fn index(&self) -> Result<&Index, Damage> {
        let load = || {
            let named = (self.name.as_str(), self.salt, self.shape);
            Index::load(&self.bytes, &self.footer, named, &self.last_key, &self.memory)
        };
        self.index.get_or_init(load).as_ref().map_err(Clone::clone)
    }

    pub(crate) fn blocks(&self) -> usize {
        self.footer.blocks as usize
    }

    /// The block that has a key, if any has it; `None` if the key comes before all.
    fn locate<W: Witness>(&self, index: &Index, key: &[u8], witness: &mut W) -> Option<usize> {
        let count = if is_head_all(self.shape) {
            index.model.locate(index.heads(&self.bytes, &self.footer), head_of(key, 0), witness)
        } else {
            self.locate_long(index, key, witness)
        };
        count.checked_sub(1)
    }

    /// How many fences are not greater than a key that its head alone does not tell from others.
    fn locate_long<W: Witness>(&self, index: &Index, key: &[u8], witness: &mut W) -> usize {
        let heads = index.heads(&self.bytes, &self.footer);
        let prefix = &self.last_key[..index.shared];
        match key.get(..index.shared).unwrap_or(key).cmp(prefix) {
            Ordering::Less => return 0,
            Ordering::Greater => return heads.len(),
            Ordering::Equal => {}
        }
        let head = head_of(key, index.shared);
        let to = index.model.locate(heads, head, witness);
        let from = heads[..to].partition_point(|other| number(other) < head);
        let (mut low, mut high) = (from, to);
        while low < high {
            let middle = low.midpoint(high);
            witness.add(1);
            let is_not_greater = index.fence(&self.bytes, &self.footer, middle).is_some_and(|fence| fence <= key);
            if is_not_greater { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// A block, checked; if it is packed, its bytes are in the buffer.
    pub(crate) fn block(&self, block: usize, unpacked: &mut Vec<u8>) -> Result<Placed, Damage> {
        self.placed(self.index()?, block, unpacked, &mut ())
    }

    fn placed<W: Witness>(
        &self,
        index: &Index,
        block: usize,
        unpacked: &mut Vec<u8>,
        witness: &mut W,
    ) -> Result<Placed, Damage> {
        let (first, end) = index.pages(&self.bytes, &self.footer, block);
        witness.read_pages(end - first);
        for page in first..end {
            if !index.checked.has(page) {
                self.check_page(index, page)?;
                index.checked.add(page);
            }
        }
        self.parsed(first * PAGE_BYTES..end * PAGE_BYTES, unpacked)
    }

    /// The block that lies in a part of the file.
    fn parsed(&self, place: Range<usize>, unpacked: &mut Vec<u8>) -> Result<Placed, Damage> {
        let (from, to) = (place.start, place.end);
        let bytes = &self.bytes[place];
        let is_packed = pack::is_packed(bytes);
        let block = if is_packed {
            pack::unpack(bytes, unpacked).and_then(|()| Block::parse(unpacked, self.shape))
        } else {
            Block::parse(bytes, self.shape)
        };
        block.map(|block| Placed { block, from, to, is_packed }).ok_or_else(|| self.impossible_at(from))
    }

    /// What to say of a block whose checksum is right and that says what cannot be.
    pub(crate) fn impossible(&self, placed: &Placed) -> Damage {
        self.impossible_at(placed.from)
    }

    fn impossible_at(&self, from: usize) -> Damage {
        self.damage(from as u64, "a block of the run has impossible fields")
    }

    /// An error unless a page is what was written.
    fn check_page(&self, index: &Index, page: usize) -> Result<(), Damage> {
        let bytes = &self.bytes[page * PAGE_BYTES..][..PAGE_BYTES];
        if self.salt.checksum(page as u64, bytes) == index.sum(&self.bytes, &self.footer, page) {
            return Ok(());
        }
        Err(self.damage((page * PAGE_BYTES) as u64, "a page of the run is damaged"))
    }

    /// Has the system read the pages that a cursor comes to after this block, if they were not looked at before.
    pub(crate) fn read_ahead(&self, block: usize) {
        let Ok(index) = self.index() else { return };
        let (page, _) = index.pages(&self.bytes, &self.footer, block);
        if page.is_multiple_of(AHEAD_PAGES / 2) && !index.checked.has(page + AHEAD_PAGES / 2) {
            self.bytes.expect_reads_of(page * PAGE_BYTES, AHEAD_PAGES * PAGE_BYTES);
        }
    }

    /// Checks every page, and that the index is sound; what is damaged.
    pub(crate) fn verify(&self) -> Vec<Damage> {
        let index = match self.index() {
            Ok(index) => index,
            Err(damage) => return vec![damage],
        };
        let mut found = Vec::new();
        let pages = self.footer.data_end as usize / PAGE_BYTES;
        self.bytes.expect_reads_of(0, self.bytes.len());
        found.extend((0..pages).filter_map(|page| self.check_page(index, page).err()));
        if found.is_empty() {
            found.extend(self.verify_order(index).err());
        }
        found
    }

    /// Every key lies in the block where a lookup searches, and keys ascend.
    fn verify_order(&self, index: &Index) -> Result<(), Damage> {
        let (mut before, mut key): (Option<Vec<u8>>, Vec<u8>) = (None, Vec::new());
        let mut unpacked = Vec::new();
        let mut records = 0;
        for block in 0..self.blocks() {
            let placed = self.placed(index, block, &mut unpacked, &mut ())?;
            let bytes = self.bytes_of(&placed, &unpacked);
            for slot in 0..placed.block.count() {
                let is_read = placed.block.read_key(bytes, slot, &mut key).is_some();
                let is_sound = is_read
                    && before.as_ref().is_none_or(|before| *before < key)
                    && self.locate(index, &key, &mut ()) == Some(block)
                    && placed.block.value(bytes, slot).is_some();
                if !is_sound {
                    return Err(self.impossible(&placed));
                }
                records += 1;
                before.get_or_insert_default().clone_from(&key);
            }
        }
        if records == self.footer.records { Ok(()) } else { Err(self.damage(0, "the run has lost records")) }
    }

    /// What the run has of a key.
    #[inline]
    pub(crate) fn get<W: Witness>(&self, asked: &Asked<'_>, is_likely: bool, witness: &mut W) -> Result<Found, Damage> {
        let (index, key) = (self.index()?, asked.key);
        let denies = |witness: &mut W| {
            let is_denied = !filter::may_contain(index.filter(&self.bytes, &self.footer), asked.hash());
            witness.asked_filter(is_denied);
            is_denied
        };
        if !is_likely && denies(witness) || !witness.goes_on(Step::Index) {
            return Ok(Found::Absent);
        }
        let Some(block) = self.locate(index, key, witness) else { return Ok(Found::Absent) };
        let (first, _) = index.pages(&self.bytes, &self.footer, block);
        if is_likely && !index.checked.has(first) && denies(witness) || !witness.goes_on(Step::Page) {
            return Ok(Found::Absent);
        }
        let mut unpacked = Vec::new();
        let placed = self.placed(index, block, &mut unpacked, witness)?;
        let bytes = self.bytes_of(&placed, &unpacked);
        let (slot, is_equal) = placed.block.search(bytes, key).ok_or_else(|| self.impossible(&placed))?;
        if !is_equal || !witness.goes_on(Step::Value) {
            return Ok(Found::Absent);
        }
        Ok(match placed.block.value(bytes, slot).ok_or_else(|| self.impossible(&placed))? {
            Some((from, to)) if placed.is_packed => Found::Unpacked(Arc::from(&bytes[from..to])),
            Some((from, to)) => Found::Value(placed.from + from, placed.from + to),
            None => Found::Deleted,
        })
    }

    /// The block that the first key that is not less than this one should lie in, and the record in it. If all its keys are less, the record is
    /// the number of them, and the first key of the next block comes next.
    pub(crate) fn seek(&self, key: &[u8], unpacked: &mut Vec<u8>) -> Result<(usize, usize, Placed), Damage> {
        let index = self.index()?;
        let block = self.locate(index, key, &mut ());
        let placed = self.placed(index, block.unwrap_or(0), unpacked, &mut ())?;
        let Some(block) = block else { return Ok((0, 0, placed)) };
        let bytes = self.bytes_of(&placed, unpacked);
        let (slot, _) = placed.block.search(bytes, key).ok_or_else(|| self.impossible(&placed))?;
        Ok((block, slot, placed))
    }

    /// Calls for each record that can be read, in order, and gives what cannot. If the index is damaged, blocks are read one after the
    /// other up to the first damaged one: after that, nothing tells where the next begins.
    pub(crate) fn read_what_is_whole(&self, call: &mut RecordCall<'_>) -> Vec<Damage> {
        let index = match self.index() {
            Ok(index) => index,
            Err(damage) => return [damage].into_iter().chain(self.read_without_index(call)).collect(),
        };
        let (mut lost, mut unpacked) = (Vec::new(), Vec::new());
        for block in 0..self.blocks() {
            let placed = self.placed(index, block, &mut unpacked, &mut ());
            let read = placed.and_then(|placed| self.read_block(placed, &unpacked, call));
            lost.extend(read.err());
        }
        lost
    }

    fn read_without_index(&self, call: &mut RecordCall<'_>) -> Option<Damage> {
        let (end, sums) = (self.footer.data_end as usize, self.footer.sums);
        let bytes = &self.bytes[sums.at as usize..][..sums.bytes as usize];
        if self.salt.checksum(sums.at, bytes) != self.footer.sums_checksum {
            return Some(self.damage(sums.at, "the checksums of the run's pages are damaged"));
        }
        let (sums, _) = bytes.as_chunks::<4>();
        let check = |page: usize| {
            let bytes = &self.bytes[page * PAGE_BYTES..][..PAGE_BYTES];
            let is_right = self.salt.checksum(page as u64, bytes) == u32::from_le_bytes(sums[page]);
            if is_right { Ok(()) } else { Err(self.damage((page * PAGE_BYTES) as u64, "a page of the run is damaged")) }
        };
        let (mut page, mut unpacked) = (1, Vec::new());
        while page * PAGE_BYTES < end {
            let from = page * PAGE_BYTES;
            if let Err(damage) = check(page) {
                return Some(damage);
            }
            let Some(length) = self.length_at(&self.bytes[from..end]) else { return Some(self.impossible_at(from)) };
            let pages = length.div_ceil(PAGE_BYTES);
            let read = (page + 1..page + pages)
                .try_for_each(check)
                .and_then(|()| self.parsed(from..from + pages * PAGE_BYTES, &mut unpacked))
                .and_then(|placed| self.read_block(placed, &unpacked, call));
            if let Err(damage) = read {
                return Some(damage);
            }
            page += pages;
        }
        None
    }

    /// How long the block is that begins here.
    fn length_at(&self, bytes: &[u8]) -> Option<usize> {
        let length =
            if pack::is_packed(bytes) { pack::length(bytes) } else { Block::parse(bytes, self.shape)?.length(bytes) };
        length.filter(|length| *length > 0)
    }

    fn read_block(&self, placed: Placed, unpacked: &[u8], call: &mut RecordCall<'_>) -> Result<(), Damage> {
        let bytes = self.bytes_of(&placed, unpacked);
        let mut key = Vec::new();
        for slot in 0..placed.block.count() {
            let is_read = placed.block.read_key(bytes, slot, &mut key).is_some() && self.shape.check(&key).is_ok();
            match placed.block.value(bytes, slot).filter(|_| is_read) {
                Some(value) => call(&key, value.map(|(from, to)| &bytes[from..to])),
                None => return Err(self.impossible(&placed)),
            }
        }
        Ok(())
    }

    pub(crate) fn stats(&self) -> Result<RunStats, Damage> {
        let index = self.index()?;
        let Footer { heads, fences, starts, sums, filter, .. } = self.footer;
        debug_assert_eq!(heads.bytes, self.footer.blocks * HEAD_BYTES as u64);
        Ok(RunStats {
            file: self.name.clone(),
            bytes: self.bytes.len() as u64,
            records: self.footer.records,
            deletions: self.footer.deletions,
            blocks: self.footer.blocks,
            model: index.model.kind(),
            model_error: index.model.error(),
            index_bytes: heads.bytes + fences.bytes + starts.bytes + sums.bytes + index.model.bytes() as u64,
            filter_bytes: filter.bytes,
            held_bytes: index.held_bytes() as u64,
        })
    }
}

/// Runs whose keys do not overlap, in the order of their keys: together one run, in parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct SortedRun {
    pub(crate) parts: Arc<[Arc<Run>]>,
    /// The heads of the last keys of the parts, which tell most parts apart without a look at them.
    ends: Arc<[u64]>,
}

impl SortedRun {
    pub(crate) fn new(parts: Vec<Arc<Run>>) -> Self {
        let ends = parts.iter().map(|part| head_of(part.last_key(), 0)).collect();
        Self { parts: parts.into(), ends }
    }

    /// How many parts end before a key.
    pub(crate) fn parts_before(&self, key: &[u8]) -> usize {
        let head = head_of(key, 0);
        let from = self.ends.partition_point(|end| *end < head);
        let equal = self.ends[from..].iter().take_while(|end| **end == head).count();
        from + self.parts[from..from + equal].partition_point(|part| part.last_key() < key)
    }

    /// The part that has a key, if any has it.
    pub(crate) fn part_of(&self, key: &[u8]) -> Option<&Arc<Run>> {
        self.parts.get(self.parts_before(key)).filter(|part| part.first_key() <= key)
    }
}
