//! Reading a sealed cassette where it lies.
//!
//! 1. Opening looks at the header and the trailer, and at nothing that grows with the cassette. A small file is read, a larger one mapped.
//! 2. The index and each directory are checked against their checksums when they are first used, once.
//! 3. A block is checked, decompressed and kept when something of it is first asked for. One that is not compressed is used
//!    where it lies.
//!
//! 4. What is decompressed and kept, what a body takes in memory, and the lists of an exchange have a limit ([`ReadOptions`]).
//!
//! An exchange borrows from the cassette. All of this is safe for any number of threads.

use super::blocks::{RowPlace, places};
use super::layout::{
    BLOCK_BYTES_MAX, BlockEntry, HEADER_BYTES, PieceEntry, SectionKind, TRAILER_BYTES, Trailer, check_header, u32_at,
};
use crate::compress::decompress;
use crate::error::{Damage, FileError, Flaw, Malformed, ReadError};
use crate::exchange::{Exchange, Note};
use crate::key::KeyScheme;
use crate::limits::{LimitExceeded, ReadOptions, STREAMED_FACTOR};
use crate::message::Request;
use crate::record::fields;
use crate::record::whole::{self, PieceLookup, SharedBody, StoredBody, StoredExchange};
use crate::wire::{Cursor, NO_ROOM};
use crc32c::crc32c;
use journal::{Access, Mapping, open_regular};
use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A sealed cassette, open.
pub(crate) struct SealedFile {
    bytes: FileBytes,
    shown: String,
    trailer: Trailer,
    /// How many bytes are made of it at most, and how many of them are of blocks that are kept.
    most: usize,
    kept: AtomicUsize,
    checked: [OnceLock<()>; 5],
    rows: OnceLock<Box<[OnceLock<DecodedRows>]>>,
    /// Blocks of pieces that were looked at; empty if one is used where it lies.
    pieces: OnceLock<Box<[OnceLock<Vec<u8>>]>>,
}

/// Where the bytes of a cassette are.
enum FileBytes {
    Mapped(Mapping),
    Owned(Vec<u8>),
}

/// A file of fewer bytes is read: that takes fewer calls into the system than mapping it, and no faults.
const READ_BYTES_MAX: u64 = 32 << 10;

impl FileBytes {
    fn open(file: &File) -> io::Result<Self> {
        let about = file.metadata()?;
        if !about.is_file() || about.len() > READ_BYTES_MAX {
            return Mapping::of(file).map(Self::Mapped);
        }
        let mut bytes = vec![0; about.len() as usize];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(Self::Owned(bytes))
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(mapping) => mapping,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// A block of rows that was looked at.
struct DecodedRows {
    /// Empty if the block is used where it lies.
    decompressed: Vec<u8>,
    places: Vec<RowPlace>,
}

impl SealedFile {
    /// Opens a cassette that lies at a path.
    pub(crate) fn open(path: &Path) -> Result<Self, ReadError> {
        let file = open_regular(path, Access::Read)
            .map_err(|error| FileError::new("open", path.display().to_string())(error))?;
        Self::of_file(&file, path, ReadOptions::default())
    }

    /// Opens a cassette whose file is open; the path is for messages.
    pub(crate) fn of_file(file: &File, path: &Path, options: ReadOptions) -> Result<Self, ReadError> {
        let shown = path.display().to_string();
        let store = FileBytes::open(file).map_err(FileError::new("open", &shown))?;
        Self::from_store(store, shown, options)
    }

    /// Opens a cassette that lies in memory.
    pub(crate) fn from_bytes(bytes: Vec<u8>, shown: String, options: ReadOptions) -> Result<Self, ReadError> {
        Self::from_store(FileBytes::Owned(bytes), shown, options)
    }

    fn from_store(bytes: FileBytes, shown: String, options: ReadOptions) -> Result<Self, ReadError> {
        let damage = |offset, flaw| Damage { file: shown.clone(), offset, flaw };
        check_header(&bytes).map_err(|flaw| damage(0, flaw))?;
        let length = bytes.len() as u64;
        let at = length.saturating_sub(TRAILER_BYTES);
        let trailer = Trailer::decode(&bytes[at as usize..], length).map_err(|flaw| damage(at, flaw))?;
        let (rows, pieces) = (OnceLock::new(), OnceLock::new());
        let (most, kept) = (options.most(), AtomicUsize::new(0));
        Ok(Self { bytes, shown, trailer, most, kept, checked: Default::default(), rows, pieces })
    }

    /// What messages call it.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    pub(crate) fn trailer(&self) -> &Trailer {
        &self.trailer
    }

    pub(crate) fn rows(&self) -> u32 {
        self.trailer.rows
    }

    fn damage(&self, offset: u64, flaw: Flaw) -> ReadError {
        ReadError::Damaged(Damage { file: self.shown.clone(), offset, flaw })
    }

    fn too_much(&self, what: &'static str) -> ReadError {
        ReadError::TooMuch(LimitExceeded::new(what, self.most).of(&self.shown))
    }

    /// What is wrong with a record that lies at an offset, or after it.
    fn unreadable(&self, offset: u64, malformed: Malformed) -> ReadError {
        match malformed.what {
            NO_ROOM => self.too_much("the lists of an exchange"),
            _ => self.damage(offset, Flaw::Record(malformed)),
        }
    }

    /// Refuses a body that is too long for memory.
    pub(crate) fn check_in_memory(&self, bytes: usize) -> Result<(), ReadError> {
        if bytes > self.most { Err(self.too_much("a body")) } else { Ok(()) }
    }

    /// Refuses a body that is too long to be read fragment by fragment.
    pub(crate) fn check_streamed(&self, bytes: usize) -> Result<(), ReadError> {
        let most = (self.most as u64).saturating_mul(STREAMED_FACTOR);
        let too_much = || LimitExceeded { file: self.shown.clone(), what: "a body", most };
        if bytes as u64 > most { Err(too_much().into()) } else { Ok(()) }
    }

    /// A section, which is what its checksum was made of.
    fn section(&self, part: SectionKind) -> Result<&[u8], ReadError> {
        let section = self.trailer.section(part);
        let bytes = &self.bytes[section.offset as usize..(section.offset + section.length) as usize];
        let is_checked = &self.checked[part as usize];
        if is_checked.get().is_none() {
            if crc32c(bytes) != section.checksum {
                return Err(self.damage(section.offset, Flaw::Checksum));
            }
            let _ = is_checked.set(());
        }
        Ok(bytes)
    }

    /// Compares everything that is not blocks with its checksum.
    pub(crate) fn check_sections(&self) -> Result<(), ReadError> {
        SectionKind::ALL.into_iter().try_for_each(|part| self.section(part).map(drop))?;
        self.keys().map(drop)
    }

    /// Row numbers of the index, all of which are on the cassette.
    fn on_cassette<I: Iterator<Item = u32> + Clone>(&self, mut rows: I) -> Result<I, ReadError> {
        let found = rows.clone();
        if rows.any(|row| row >= self.trailer.rows) {
            return Err(self.damage(self.trailer.section(SectionKind::Index).offset, Flaw::Parts));
        }
        Ok(found)
    }

    /// The keys of the index, and the numbers of their rows.
    fn index_parts<'i>(&self, index: &'i [u8]) -> (&'i [u8], impl Iterator<Item = u32> + Clone + use<'i>) {
        let (keys, rows) = index.split_at(4 * self.trailer.rows as usize);
        (keys, row_numbers(rows, self.trailer.row_width()))
    }

    /// The numbers of the rows whose requests have this key, in their order.
    pub(crate) fn find(&self, key: u64) -> Result<impl Iterator<Item = u32> + use<'_>, ReadError> {
        let index = self.section(SectionKind::Index)?;
        let (keys, rows) = index.split_at(4 * self.trailer.rows as usize);
        let (width, key) = (self.trailer.row_width(), (key >> 32) as u32);
        let range = range_of(keys, key);
        self.on_cassette(row_numbers(&rows[range.start * width..range.end * width], width))
    }

    /// Whether the index has the keys of this scheme.
    pub(crate) fn is_indexed_by(&self, scheme: &KeyScheme) -> bool {
        self.trailer.key_scheme == scheme.number() && scheme.number() != KeyScheme::UNNAMED
    }

    /// The keys of the index with their rows.
    pub(crate) fn keys(&self) -> Result<Vec<(u32, u32)>, ReadError> {
        let index = self.section(SectionKind::Index)?;
        let (keys, rows) = self.index_parts(index);
        let rows = self.on_cassette(rows)?;
        Ok(keys.chunks_exact(4).map(|key| u32_at(key, 0)).zip(rows).collect())
    }

    /// The keys of all rows by other rules.
    pub(crate) fn keys_by(&self, scheme: &KeyScheme) -> Result<Vec<(u32, u32)>, ReadError> {
        (0..self.rows()).map(|row| Ok(((scheme.key(&self.request(row)?) >> 32) as u32, row))).collect()
    }

    pub(crate) fn row_blocks(&self) -> Result<impl Iterator<Item = BlockEntry> + use<'_>, ReadError> {
        Ok(self.section(SectionKind::RowBlocks)?.chunks_exact(BlockEntry::BYTES).map(BlockEntry::get))
    }

    pub(crate) fn piece_blocks(&self) -> Result<impl Iterator<Item = BlockEntry> + use<'_>, ReadError> {
        Ok(self.section(SectionKind::PieceBlocks)?.chunks_exact(BlockEntry::BYTES).map(BlockEntry::get))
    }

    pub(crate) fn pieces(&self) -> Result<impl Iterator<Item = PieceEntry> + use<'_>, ReadError> {
        Ok(self.section(SectionKind::Pieces)?.chunks_exact(PieceEntry::BYTES).map(PieceEntry::get))
    }

    /// Header and blocks.
    pub(crate) fn blocks(&self) -> &[u8] {
        &self.bytes[..self.blocks_end() as usize]
    }

    fn blocks_end(&self) -> u64 {
        self.trailer.blocks_end().expect("a trailer was checked when it was read")
    }

    /// Compares every block with its checksum.
    pub(crate) fn check_blocks(&self) -> Result<(), ReadError> {
        let mut blocks: Vec<BlockEntry> = self.row_blocks()?.chain(self.piece_blocks()?).collect();
        blocks.sort_unstable_by_key(|block| block.offset);
        let mut end = HEADER_BYTES;
        for block in &blocks {
            if block.offset != end {
                return Err(self.damage(end, Flaw::Parts));
            }
            end += self.stored(block)?.len() as u64;
        }
        if end == self.blocks_end() { Ok(()) } else { Err(self.damage(end, Flaw::Parts)) }
    }

    /// What is known of the cassette.
    pub(crate) fn meta(&self) -> Result<Vec<Note<'_>>, ReadError> {
        let bytes = self.section(SectionKind::Meta)?;
        let mut cursor = Cursor::with_room(bytes, self.most);
        let notes = fields::list(&mut cursor, fields::note).and_then(|notes| cursor.end().map(|()| notes));
        notes.map_err(|malformed| self.unreadable(self.trailer.section(SectionKind::Meta).offset, malformed))
    }

    /// An exchange with its bodies.
    pub(crate) fn exchange(&self, row: u32) -> Result<Exchange<'_>, ReadError> {
        self.whole(row)?.joined(&self).map_err(|error| self.row_error(row, error))
    }

    /// What an exchange asked; nothing of its response is looked at.
    pub(crate) fn request(&self, row: u32) -> Result<Request<'_>, ReadError> {
        self.whole(row)?.joined_request(&self).map_err(|error| self.row_error(row, error))
    }

    /// An exchange, its bodies apart.
    #[inline]
    pub(crate) fn whole(&self, row: u32) -> Result<StoredExchange<'_>, ReadError> {
        let (entry, rows, index) = self.block_of_row(row)?;
        let block: &[u8] = if entry.is_compressed() { &rows.decompressed } else { self.place(&entry)? };
        let place = rows.places.get(index).ok_or_else(|| self.damage(entry.offset, Flaw::Parts))?;
        let cursor = Cursor::with_room(&block[place.range.clone()], self.most);
        whole::decode(place.beginning, cursor).map_err(|malformed| self.unreadable(entry.offset, malformed))
    }

    /// That an exchange can be read, with bodies that are as long as they are said to be.
    pub(crate) fn check_row(&self, row: u32) -> Result<(), ReadError> {
        let whole = self.whole(row)?;
        whole.request.iter().chain(&whole.response).try_for_each(|body| match body {
            StoredBody::Inline(chunks, bytes)
                if chunks.iter().map(|chunk| chunk.bytes).sum::<usize>() == bytes.len() =>
            {
                Ok(())
            }
            StoredBody::Inline(..) => Err(self.unequal_body()),
            StoredBody::Shared(body) => self.check_pieces_of(body),
        })
    }

    fn row_error(&self, row: u32, error: RowError) -> ReadError {
        let offset = self.block_of_row(row).map_or(0, |(entry, ..)| entry.offset);
        match error {
            RowError::Record(malformed) => self.unreadable(offset, malformed),
            RowError::Read(error) => error,
        }
    }

    /// The block that a row lies in, and its place there.
    fn block_of_row(&self, row: u32) -> Result<(BlockEntry, &DecodedRows, usize), ReadError> {
        let directory = self.section(SectionKind::RowBlocks)?;
        let index = block_of(directory, row).ok_or_else(|| self.damage(0, Flaw::Parts))?;
        let entry = BlockEntry::get(&directory[index * BlockEntry::BYTES..]);
        let cache = self.rows.get_or_init(|| empty(self.trailer.row_blocks));
        let rows = self.cached(&cache[index], || self.load_rows(&entry))?;
        Ok((entry, rows, (row - entry.first) as usize))
    }

    fn cached<'s, T>(
        &self,
        cache: &'s OnceLock<T>,
        load: impl FnOnce() -> Result<T, ReadError>,
    ) -> Result<&'s T, ReadError> {
        if let Some(loaded) = cache.get() {
            return Ok(loaded);
        }
        // Two threads may both load; one of them is kept.
        let loaded = load()?;
        Ok(cache.get_or_init(|| loaded))
    }

    fn load_rows(&self, entry: &BlockEntry) -> Result<DecodedRows, ReadError> {
        self.keep(entry)?;
        let bytes = self.content(entry)?;
        let places = places(&bytes, self.most).map_err(|malformed| self.unreadable(entry.offset, malformed))?;
        Ok(DecodedRows { decompressed: only_owned(bytes), places })
    }

    /// The bytes of a block in the file.
    fn place(&self, entry: &BlockEntry) -> Result<&[u8], ReadError> {
        let parts = || self.damage(entry.offset, Flaw::Parts);
        let end = entry.offset.checked_add(u64::from(entry.stored)).ok_or_else(parts)?;
        if entry.offset < HEADER_BYTES || end > self.blocks_end() || entry.bytes > BLOCK_BYTES_MAX {
            return Err(parts());
        }
        Ok(&self.bytes[entry.offset as usize..end as usize])
    }

    /// The bytes of a block in the file, once they are known to be what their checksum was made of.
    fn stored(&self, entry: &BlockEntry) -> Result<&[u8], ReadError> {
        let stored = self.place(entry)?;
        if crc32c(stored) == entry.checksum { Ok(stored) } else { Err(self.damage(entry.offset, Flaw::Checksum)) }
    }

    /// Counts a block that is going to be kept decompressed.
    fn keep(&self, entry: &BlockEntry) -> Result<(), ReadError> {
        if !entry.is_compressed() {
            return Ok(());
        }
        let bytes = entry.bytes as usize;
        match self.kept.fetch_add(bytes, Ordering::Relaxed).checked_add(bytes) {
            Some(kept) if kept <= self.most => Ok(()),
            _ => {
                self.kept.fetch_sub(bytes, Ordering::Relaxed);
                Err(self.too_much("what is decompressed of the cassette"))
            }
        }
    }

    fn content(&self, entry: &BlockEntry) -> Result<Cow<'_, [u8]>, ReadError> {
        let stored = self.stored(entry)?;
        if !entry.is_compressed() {
            return Ok(Cow::Borrowed(stored));
        }
        if entry.bytes as usize > self.most {
            return Err(self.too_much("a block of the cassette"));
        }
        let bytes = decompress(stored, entry.bytes as usize);
        bytes.map(Cow::Owned).ok_or_else(|| self.damage(entry.offset, Flaw::Compression))
    }

    fn piece_at(&self, number: u32) -> Result<&[u8], ReadError> {
        let (piece, entry) = self.piece_of(number)?;
        let cache = self.pieces.get_or_init(|| empty(self.trailer.piece_blocks));
        let load = || self.keep(&entry).and_then(|()| self.content(&entry)).map(only_owned);
        let decompressed = self.cached(&cache[piece.block as usize], load)?;
        let block: &[u8] = if entry.is_compressed() { decompressed } else { self.place(&entry)? };
        block.get(piece.range()).ok_or_else(|| self.damage(entry.offset, Flaw::Parts))
    }

    /// Where a piece lies, and its block.
    fn piece_of(&self, number: u32) -> Result<(PieceEntry, BlockEntry), ReadError> {
        let at = self.trailer.section(SectionKind::Pieces).offset;
        let piece = self.pieces()?.nth(number as usize).ok_or_else(|| self.damage(at, Flaw::Parts))?;
        let entry = self.piece_blocks()?.nth(piece.block as usize).ok_or_else(|| self.damage(at, Flaw::Parts))?;
        Ok((piece, entry))
    }

    /// The block of a piece, unless it is the current one, and where the piece lies in it. Nothing of it is kept here.
    pub(crate) fn load_piece<'s>(
        &'s self,
        number: u32,
        at_hand: &mut Option<(u32, Cow<'s, [u8]>)>,
    ) -> Result<Range<usize>, ReadError> {
        let (piece, entry) = self.piece_of(number)?;
        if at_hand.as_ref().is_none_or(|(block, _)| *block != piece.block) {
            *at_hand = None;
            *at_hand = Some((piece.block, self.content(&entry)?));
        }
        let is_there = at_hand.as_ref().is_some_and(|(_, block)| block.get(piece.range()).is_some());
        if is_there { Ok(piece.range()) } else { Err(self.damage(entry.offset, Flaw::Parts)) }
    }

    /// That a body is as long as its pieces, and that they lie in their blocks, which are not decompressed for it.
    pub(crate) fn check_pieces_of(&self, body: &SharedBody) -> Result<(), ReadError> {
        let mut bytes = 0_usize;
        for &number in &body.pieces {
            let (piece, entry) = self.piece_of(number)?;
            let end = u64::from(piece.offset) + u64::from(piece.length);
            if end > u64::from(entry.bytes) {
                return Err(self.damage(entry.offset, Flaw::Parts));
            }
            bytes = bytes.saturating_add(piece.length as usize);
        }
        if bytes == body.bytes { Ok(()) } else { Err(self.unequal_body()) }
    }

    /// That every block of pieces can be decompressed. One is in memory at a time.
    pub(crate) fn check_piece_blocks(&self) -> Result<(), ReadError> {
        self.piece_blocks()?.try_for_each(|entry| self.content(&entry).map(drop))
    }

    /// What is wrong with a body whose chunks and pieces do not fit.
    pub(crate) fn unequal_body(&self) -> ReadError {
        self.damage(self.trailer.section(SectionKind::Pieces).offset, Flaw::Record(whole::unequal()))
    }
}

/// Why a row cannot be decoded: it is malformed, or something that it needs cannot be read.
pub(crate) enum RowError {
    Record(Malformed),
    Read(ReadError),
}

impl From<Malformed> for RowError {
    fn from(malformed: Malformed) -> Self {
        Self::Record(malformed)
    }
}

impl<'s> PieceLookup<'s> for &'s SealedFile {
    type Error = RowError;

    fn check(&self, bytes: usize) -> Result<(), RowError> {
        self.check_in_memory(bytes).map_err(RowError::Read)
    }

    fn piece(&self, number: u32) -> Result<&'s [u8], RowError> {
        (*self).piece_at(number).map_err(RowError::Read)
    }
}

/// The numbers of rows, of `width` bytes each.
fn row_numbers(rows: &[u8], width: usize) -> impl Iterator<Item = u32> + Clone + use<'_> {
    rows.chunks_exact(width).map(|row| {
        let mut number = [0; 4];
        number[..row.len()].copy_from_slice(row);
        u32::from_le_bytes(number)
    })
}

/// What was decompressed; nothing if the bytes are used where they lie.
fn only_owned(bytes: Cow<'_, [u8]>) -> Vec<u8> {
    match bytes {
        Cow::Owned(bytes) => bytes,
        Cow::Borrowed(_) => Vec::new(),
    }
}

fn empty<T>(count: u32) -> Box<[OnceLock<T>]> {
    (0..count).map(|_| OnceLock::new()).collect()
}

/// Where a key lies among keys in ascending order, of which there may be several.
fn range_of(keys: &[u8], key: u32) -> Range<usize> {
    let at = |index: usize| u32_at(keys, 4 * index);
    let count = keys.len() / 4;
    let begin = partition_point(count, |index| at(index) < key);
    let equal = (begin..count).take_while(|&index| at(index) == key).count();
    begin..begin + equal
}

/// The block that a row lies in.
fn block_of(directory: &[u8], row: u32) -> Option<usize> {
    let count = directory.len() / BlockEntry::BYTES;
    let first = |index: usize| BlockEntry::get(&directory[index * BlockEntry::BYTES..]).first;
    partition_point(count, |index| first(index) <= row).checked_sub(1)
}

/// The first of `count` numbers of which this is not true, given that it is true of those before it only.
fn partition_point(count: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Selection;
    use crate::cassette::{Cassette, write_cassette_on};
    use crate::compress::compress;
    use crate::message::{Chunk, Response};
    use crate::record::whole::{BodyForm, ExchangeStart, encode_with};
    use crate::seal::blocks::RowBlock;
    use crate::seal::layout::header;
    use journal::simulated::SimulatedDisk;

    /// An index whose checksum is right and whose rows are not there.
    #[test]
    fn rows_of_the_index_are_on_the_cassette() {
        let disk = SimulatedDisk::new();
        write_cassette_on(&disk, "a", &[Exchange::default()], &[], KeyScheme::target()).unwrap();
        let mut bytes = disk.contents("a").unwrap();
        let at = bytes.len() - TRAILER_BYTES as usize;
        let mut trailer = Trailer::decode(&bytes[at..], bytes.len() as u64).unwrap();
        let index = trailer.section(SectionKind::Index);
        let range = index.offset as usize..(index.offset + index.length) as usize;
        bytes[range.end - 1] = 1;
        trailer.checksums[SectionKind::Index as usize] = crc32c(&bytes[range]);
        bytes.truncate(at);
        bytes.extend(trailer.encode());
        let sealed = SealedFile::from_bytes(bytes, "a".to_owned(), ReadOptions::default()).unwrap();
        let key = KeyScheme::target().key(&Request::default());
        for found in [sealed.find(key).map(drop), sealed.keys().map(drop), sealed.check_sections()] {
            assert!(matches!(found, Err(ReadError::Damaged(Damage { flaw: Flaw::Parts, .. }))));
        }
    }

    /// A cassette of one row, whose response has a body that names one piece `times` times.
    fn naming_one_piece(times: usize) -> Vec<u8> {
        let piece = vec![0; 256 << 10];
        let response = Response { status: 200, ..Response::default() };
        let exchange = Exchange { response: Some(response), ..Exchange::default() };
        let chunks = [Chunk { at_us: 0, bytes: piece.len() * times }];
        let mut row = Vec::new();
        encode_with(&mut row, &exchange, BodyForm::Absent, BodyForm::Shared(&chunks, &vec![0; times]));
        let mut rows = RowBlock::default();
        rows.push(ExchangeStart::default(), &row);
        let mut file = header().to_vec();
        let mut directories = [rows.take(), piece.clone()].map(|block| {
            let stored = compress(&block).unwrap();
            let (offset, checksum) = (file.len() as u64, crc32c(&stored));
            file.extend_from_slice(&stored);
            let entry =
                BlockEntry { offset, first: 0, stored: stored.len() as u32, bytes: block.len() as u32, checksum };
            let mut bytes = Vec::new();
            entry.put(&mut bytes);
            bytes
        });
        let mut pieces = Vec::new();
        PieceEntry { block: 0, offset: 0, length: piece.len() as u32, hash: [0; 16] }.put(&mut pieces);
        let sections =
            [vec![0; 5], std::mem::take(&mut directories[0]), std::mem::take(&mut directories[1]), pieces, vec![0]];
        let checksums = std::array::from_fn(|part| crc32c(&sections[part]));
        sections.iter().for_each(|section| file.extend_from_slice(section));
        let length = file.len() as u64 + TRAILER_BYTES;
        let counts =
            Trailer { rows: 1, row_blocks: 1, piece_blocks: 1, pieces: 1, meta_bytes: 1, ..Trailer::default() };
        file.extend(
            Trailer { length, next_number: 1, body_bytes: chunks[0].bytes as u64, checksums, ..counts }.encode(),
        );
        file
    }

    /// 10 GB from some hundred bytes: the cassette is sound, and its body is neither joined nor refused with anything but its name.
    #[test]
    fn a_body_that_names_one_piece_many_times_is_refused_by_name() {
        let bomb = naming_one_piece(40_000);
        assert!(bomb.len() < 600, "{} bytes", bomb.len());
        let cassette = Cassette::from_bytes(bomb, "bomb.cassette").unwrap();
        cassette.verify().unwrap();
        let outline = || cassette.outline(0).unwrap();
        assert_eq!(outline().response_body.unwrap().bytes(), 40_000 * (256 << 10));
        let refused = [
            cassette.exchange(0).map(drop),
            outline().into_exchange().map(drop),
            Selection::of(&cassette).unwrap().content().map(drop),
        ];
        for error in refused.map(Result::unwrap_err) {
            let message = error.to_string();
            assert!(matches!(error, ReadError::TooMuch(_)), "{message}");
            assert!(message.starts_with("bomb.cassette: ") && message.contains("1073741824 bytes"), "{message}");
        }
        // What a request asks is looked at without its response.
        assert!(cassette.request(0).is_ok());
        // As long as no reader of fragments takes.
        let cassette = Cassette::from_bytes(naming_one_piece(100_000), "bomb.cassette").unwrap();
        let error = cassette.outline(0).unwrap().response_body.unwrap().read().unwrap_err().to_string();
        assert!(error.contains("bomb.cassette: a body has more than the 17179869184 bytes"), "{error}");
    }
}
