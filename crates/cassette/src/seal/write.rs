//! Making a sealed cassette.
//!
//! 1. A file of another name, `.NAME.sealing`, gets the header, or everything of an older cassette up to the end of its blocks.
//! 2. Exchanges come in the order in which they were over and wait until none with a lower number is missing (all numbers are
//!    known before); so rows lie in the order in which requests began. Bodies of 1 KiB and more lie apart, equal ones once, in pieces of 256 KiB at most.
//! 3. Rows and pieces fill blocks, which are compressed and written when they are full.
//! 4. Index, directories and trailer follow. The file is synced, gets its name, and the name is synced: the old cassette or the new
//!    one is there, whole, whenever the power fails. On request nobody waits for the name, nor for a file that replaces none.
//!
//! Memory: a block of each kind, the rows that wait, 32 bytes for each piece and 8 for each row.

use super::blocks::RowBlock;
use super::layout::{BLOCK_BYTES, BlockEntry, PieceEntry, Trailer, header};
use super::read::SealedFile;
use crate::compress::compress;
use crate::error::{FileError, SealError};
use crate::exchange::Note;
use crate::key::KeyScheme;
use crate::record::assemble::{ExchangeDraft, PieceSink};
use crate::record::fields::put_note;
use crate::record::whole::{ExchangeStart, encode_with};
use crate::seal::options::SealOptions;
use crate::wire::put_u64;
use crc32c::crc32c;
use journal::{Access, Disk, DiskFile, Durability};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::io;

/// A cassette that is being sealed.
pub(crate) struct Sealer<'d> {
    disk: &'d dyn Disk,
    name: String,
    shown: String,
    key: KeyScheme,
    durability: Durability,
    keeps_existing: bool,
    out: FileOutput,
    pieces: PieceWriter,
    rows: RowWriter,
    waiting: BTreeMap<u64, Row>,
    order: Order,
    trailer: Trailer,
}

/// What is known of the exchanges that are to come.
enum Order {
    /// Their numbers, the next one last.
    Known(Vec<u64>),
    /// That they come in the order of their numbers, from this one on.
    Ascending(u64),
}

struct Row {
    started_ns: i64,
    key: u32,
    bytes: Vec<u8>,
}

/// The file, written from its beginning to its end.
struct FileOutput {
    file: Box<dyn DiskFile>,
    shown: String,
    /// Where the next byte goes.
    at: u64,
    /// What comes before it and is not written yet.
    waiting: Vec<u8>,
}

/// More bytes do not wait to be written together.
const WAITING_BYTES_MAX: usize = 128 << 10;

struct PieceWriter {
    block: Vec<u8>,
    first: u32,
    blocks: Vec<BlockEntry>,
    pieces: Vec<PieceEntry>,
    by_hash: FxHashMap<[u8; 16], u32>,
}

struct RowWriter {
    block: RowBlock,
    first: u32,
    blocks: Vec<BlockEntry>,
    keys: Vec<(u32, u32)>,
}

impl<'d> Sealer<'d> {
    /// A cassette of this name in a folder, which holds what an older one holds, and exchanges of these numbers.
    pub(crate) fn new(
        disk: &'d dyn Disk,
        name: &str,
        options: &SealOptions,
        older: Option<&SealedFile>,
        mut order: Vec<u64>,
    ) -> Result<Self, SealError> {
        order.sort_unstable_by(|one, other| other.cmp(one));
        let known = older.map_or(0, |older| older.trailer().next_number);
        if let Some(pair) = order.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(SealError::SameNumber(pair[0]));
        }
        if let Some(&number) = order.last().filter(|&&number| number < known) {
            return Err(SealError::SameNumber(number));
        }
        Self::begin(disk, name, options, older, Order::Known(order))
    }

    /// A new cassette of this name in a folder, to which exchanges come in the order of their numbers, however many.
    pub(crate) fn ascending(disk: &'d dyn Disk, name: &str, options: &SealOptions) -> Result<Self, SealError> {
        Self::begin(disk, name, options, None, Order::Ascending(0))
    }

    fn begin(
        disk: &'d dyn Disk,
        name: &str,
        options: &SealOptions,
        older: Option<&SealedFile>,
        order: Order,
    ) -> Result<Self, SealError> {
        let unfinished = unfinished_name(name);
        let file = disk.create(&unfinished).map_err(FileError::new("create", &unfinished))?;
        let mut sealer = Self {
            disk,
            name: name.to_owned(),
            shown: unfinished.clone(),
            key: options.key.clone(),
            durability: options.durability,
            keeps_existing: options.keeps_existing,
            out: FileOutput { file, shown: unfinished, at: 0, waiting: Vec::new() },
            pieces: PieceWriter::new(),
            rows: RowWriter { block: RowBlock::default(), first: 0, blocks: Vec::new(), keys: Vec::new() },
            waiting: BTreeMap::new(),
            order,
            trailer: Trailer { first_started_ns: i64::MAX, last_started_ns: i64::MIN, ..Trailer::default() },
        };
        let begun = match older {
            Some(older) => sealer.take_over(older),
            None => sealer.out.write(&header()),
        };
        match begun {
            Ok(()) => Ok(sealer),
            Err(error) => {
                sealer.abandon();
                Err(error)
            }
        }
    }

    /// The blocks of an older cassette lie where they lay.
    fn take_over(&mut self, older: &SealedFile) -> Result<(), SealError> {
        older.check_blocks()?;
        self.out.write(older.blocks())?;
        let Trailer { first_started_ns, last_started_ns, .. } = self.trailer;
        self.trailer = older.trailer().clone();
        if self.trailer.rows == 0 {
            // Nothing has begun there.
            (self.trailer.first_started_ns, self.trailer.last_started_ns) = (first_started_ns, last_started_ns);
        }
        self.pieces.take_over(older)?;
        self.rows.blocks = older.row_blocks()?.collect();
        self.rows.first = self.trailer.rows;
        self.rows.keys =
            if self.trailer.key_scheme == self.key.number() { older.keys()? } else { older.keys_by(&self.key)? };
        Ok(())
    }

    /// Adds an exchange that is over.
    pub(crate) fn add(&mut self, mut draft: ExchangeDraft) -> Result<(), SealError> {
        let key = (draft.key(&self.key) >> 32) as u32;
        let body_bytes = draft.body_bytes();
        let mut bytes = Vec::new();
        let mut keeper = PieceKeeper { pieces: &mut self.pieces, out: &mut self.out };
        let beginning = draft.encode(&mut keeper, &mut bytes)?;
        let is_to_come = match &self.order {
            Order::Known(order) => order.binary_search_by(|number| beginning.number.cmp(number)).is_ok(),
            Order::Ascending(next) => beginning.number >= *next,
        };
        if !is_to_come || self.waiting.contains_key(&beginning.number) {
            return Err(SealError::SameNumber(beginning.number));
        }
        self.count(beginning, body_bytes);
        let row = Row { started_ns: beginning.started_ns, key, bytes };
        self.waiting.insert(beginning.number, row);
        self.write_waiting()
    }

    /// Where the pieces of bodies that still grow go.
    pub(crate) fn keeper(&mut self) -> impl PieceSink<Error = SealError> {
        PieceKeeper { pieces: &mut self.pieces, out: &mut self.out }
    }

    fn count(&mut self, beginning: ExchangeStart, body_bytes: u64) {
        let trailer = &mut self.trailer;
        trailer.next_number = trailer.next_number.max(beginning.number.saturating_add(1));
        trailer.first_started_ns = trailer.first_started_ns.min(beginning.started_ns);
        trailer.last_started_ns = trailer.last_started_ns.max(beginning.started_ns);
        trailer.body_bytes = trailer.body_bytes.saturating_add(body_bytes);
    }

    fn write_waiting(&mut self) -> Result<(), SealError> {
        while let Some(number) = self.next_number() {
            let Some(row) = self.waiting.remove(&number) else { break };
            match &mut self.order {
                Order::Known(order) => drop(order.pop()),
                Order::Ascending(next) => *next = number.saturating_add(1),
            }
            self.rows.push(number, &row, &mut self.out)?;
        }
        Ok(())
    }

    /// The number of the exchange whose row is to be written next, as far as that is known.
    fn next_number(&self) -> Option<u64> {
        match &self.order {
            Order::Known(order) => order.last().copied(),
            Order::Ascending(_) => self.waiting.keys().next().copied(),
        }
    }

    /// Writes what is left, and gives the cassette its name. If that fails, nothing of it stays.
    pub(crate) fn finish(mut self, meta: &[Note<'_>], chain: [u8; 32], next_number: u64) -> Result<(), SealError> {
        let finished = self.write_rest(meta, chain, next_number).and_then(|()| self.give_name());
        if finished.is_err() {
            self.abandon();
        }
        finished
    }

    fn write_rest(&mut self, meta: &[Note<'_>], chain: [u8; 32], next_number: u64) -> Result<(), SealError> {
        if matches!(&self.order, Order::Known(order) if !order.is_empty()) || !self.waiting.is_empty() {
            return Err(SealError::Broken("some exchanges were announced and did not come"));
        }
        self.pieces.close_block(&mut self.out)?;
        self.rows.close_block(&mut self.out)?;
        let rows = self.rows.keys.len() as u32;
        let trailer = &mut self.trailer;
        trailer.rows = rows;
        trailer.row_blocks = count(self.rows.blocks.len())?;
        trailer.piece_blocks = count(self.pieces.blocks.len())?;
        trailer.pieces = count(self.pieces.pieces.len())?;
        trailer.key_scheme = self.key.number();
        trailer.next_number = trailer.next_number.max(next_number);
        trailer.chain = chain;
        if rows == 0 {
            (trailer.first_started_ns, trailer.last_started_ns) = (0, 0);
        }
        self.write_sections(meta)
    }

    fn write_sections(&mut self, meta: &[Note<'_>]) -> Result<(), SealError> {
        let mut sections = [const { Vec::new() }; 5];
        self.rows.put_index(self.trailer.row_width(), &mut sections[0]);
        self.rows.blocks.iter().for_each(|block| block.put(&mut sections[1]));
        self.pieces.blocks.iter().for_each(|block| block.put(&mut sections[2]));
        self.pieces.pieces.iter().for_each(|piece| piece.put(&mut sections[3]));
        put_u64(&mut sections[4], meta.len() as u64);
        meta.iter().for_each(|note| put_note(&mut sections[4], note));
        self.trailer.meta_bytes = count(sections[4].len())?;
        self.trailer.checksums = sections.each_ref().map(|section| crc32c(section));
        for section in &sections {
            self.out.write(section)?;
        }
        self.trailer.length = self.out.at + super::layout::TRAILER_BYTES;
        self.out.write(&self.trailer.encode())?;
        self.out.flush()
    }

    fn give_name(&self) -> Result<(), SealError> {
        let waits = self.durability == Durability::Fsync;
        let existing = self.disk.open(&self.name, Access::Read);
        // What may not be read is there, too.
        if self.keeps_existing && !matches!(&existing, Err(error) if error.kind() == io::ErrorKind::NotFound) {
            return Err(SealError::Exists(self.name.clone()));
        }
        // Whatever is asked for: what takes the place of something else must not turn out to be empty.
        if waits || existing.is_ok() {
            self.out.file.sync().map_err(FileError::new("sync", &self.shown))?;
        }
        self.disk.rename(&self.shown, &self.name).map_err(FileError::new("rename", &self.shown))?;
        if waits {
            self.disk.sync_names().map_err(FileError::new("sync the folder of", &self.name))?;
        }
        Ok(())
    }

    /// Takes the unfinished file away.
    pub(crate) fn abandon(self) {
        // It is worth nothing; the next sealing takes its place.
        let _ = self.disk.remove(&self.shown);
    }
}

/// What the cassette is called while it is made: the whole name is in it, so no two cassettes share one.
fn unfinished_name(name: &str) -> String {
    format!(".{name}.sealing")
}

fn count(count: usize) -> Result<u32, SealError> {
    u32::try_from(count).map_err(|_| SealError::TooLarge("more than 4,294,967,295 parts of a kind"))
}

impl FileOutput {
    fn write(&mut self, bytes: &[u8]) -> Result<(), SealError> {
        if self.waiting.len() + bytes.len() > WAITING_BYTES_MAX {
            self.flush()?;
        }
        if bytes.len() > WAITING_BYTES_MAX {
            self.file.write_full(self.at, bytes).map_err(FileError::new("write", &self.shown))?;
        } else {
            self.waiting.extend_from_slice(bytes);
        }
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SealError> {
        let begin = self.at - self.waiting.len() as u64;
        self.file.write_full(begin, &self.waiting).map_err(FileError::new("write", &self.shown))?;
        self.waiting.clear();
        Ok(())
    }

    /// Writes a block, compressed if that is worth it.
    fn block(&mut self, first: u32, bytes: &[u8]) -> Result<BlockEntry, SealError> {
        let compressed = if self.at + bytes.len() as u64 <= PLAIN_BYTES { None } else { compress(bytes) };
        let stored = compressed.as_deref().unwrap_or(bytes);
        let length =
            |bytes: &[u8]| u32::try_from(bytes.len()).ok().filter(|&length| length <= super::layout::BLOCK_BYTES_MAX);
        let (Some(stored_bytes), Some(all_bytes)) = (length(stored), length(bytes)) else {
            return Err(SealError::TooLarge("an exchange of more than 1 GiB beside its bodies"));
        };
        let entry =
            BlockEntry { offset: self.at, first, stored: stored_bytes, bytes: all_bytes, checksum: crc32c(stored) };
        self.write(stored)?;
        Ok(entry)
    }
}

/// What ends within this many bytes of a file is not compressed: the file takes that much of the disk either way, and to compress it
/// and to see that it was done well takes as long as all else of a short recording.
const PLAIN_BYTES: u64 = 4 << 10;

struct PieceKeeper<'s> {
    pieces: &'s mut PieceWriter,
    out: &'s mut FileOutput,
}

impl PieceSink for PieceKeeper<'_> {
    type Error = SealError;
    const PIECE_BYTES: usize = 256 << 10;
    const SHARED_BYTES_MIN: usize = 1 << 10;

    fn keep(&mut self, piece: &[u8]) -> Result<u32, SealError> {
        self.pieces.keep(piece, self.out)
    }
}

impl PieceWriter {
    fn new() -> Self {
        let (blocks, pieces, by_hash) = (Vec::new(), Vec::new(), FxHashMap::default());
        Self { block: Vec::new(), first: 0, blocks, pieces, by_hash }
    }

    fn take_over(&mut self, older: &SealedFile) -> Result<(), SealError> {
        self.blocks = older.piece_blocks()?.collect();
        self.pieces = older.pieces()?.collect();
        self.first = count(self.pieces.len())?;
        self.by_hash = self.pieces.iter().zip(0..).map(|(piece, number)| (piece.hash, number)).collect();
        Ok(())
    }

    /// The number of a piece: that of an equal one, or a new one's.
    fn keep(&mut self, piece: &[u8], out: &mut FileOutput) -> Result<u32, SealError> {
        let hash = *blake3::hash(piece).as_bytes().first_chunk().expect("a hash has 32 bytes");
        if let Some(&number) = self.by_hash.get(&hash) {
            return Ok(number);
        }
        // What is compressed already would keep its neighbours from being compressed.
        let is_alone = piece.len() >= BLOCK_BYTES || is_compressed(piece);
        if is_alone || self.block.len() + piece.len() > BLOCK_BYTES {
            self.close_block(out)?;
        }
        let number = count(self.pieces.len())?;
        let (block, offset) = (count(self.blocks.len())?, count(self.block.len())?);
        self.pieces.push(PieceEntry { block, offset, length: count(piece.len())?, hash });
        self.by_hash.insert(hash, number);
        self.block.extend_from_slice(piece);
        if is_alone {
            self.close_block(out)?;
        }
        Ok(number)
    }

    fn close_block(&mut self, out: &mut FileOutput) -> Result<(), SealError> {
        if self.block.is_empty() {
            return Ok(());
        }
        self.blocks.push(out.block(self.first, &self.block)?);
        self.first = count(self.pieces.len())?;
        self.block.clear();
        Ok(())
    }
}

/// Whether it begins as what is compressed does: gzip, zstd, PNG, JPEG, WebP, zip, WOFF2.
fn is_compressed(bytes: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 7] =
        [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x89PNG", b"\xff\xd8\xff", b"RIFF", b"PK\x03\x04", b"wOF2"];
    BEGINNINGS.iter().any(|beginning| bytes.starts_with(beginning))
}

impl RowWriter {
    fn push(&mut self, number: u64, row: &Row, out: &mut FileOutput) -> Result<(), SealError> {
        let index = count(self.keys.len())?;
        self.keys.push((row.key, index));
        self.block.push(ExchangeStart { number, started_ns: row.started_ns }, &row.bytes);
        if self.block.bytes() >= BLOCK_BYTES { self.close_block(out) } else { Ok(()) }
    }

    fn close_block(&mut self, out: &mut FileOutput) -> Result<(), SealError> {
        let rows = self.block.count();
        if rows > 0 {
            self.blocks.push(out.block(self.first, &self.block.take())?);
            self.first += rows;
        }
        Ok(())
    }

    /// All keys in ascending order, then the row of each; rows with one key in their order.
    fn put_index(&mut self, row_width: usize, out: &mut Vec<u8>) {
        self.keys.sort_unstable();
        self.keys.iter().for_each(|(key, _)| out.extend_from_slice(&key.to_le_bytes()));
        self.keys.iter().for_each(|(_, row)| out.extend_from_slice(&row.to_le_bytes()[..row_width]));
    }
}

impl ExchangeDraft {
    /// The key of its request, of which a long body has gone elsewhere by now and takes no part.
    fn key(&mut self, scheme: &KeyScheme) -> u64 {
        self.lend_request_body();
        let key = scheme.key(&self.exchange.request);
        self.take_back_request_body();
        key
    }

    fn encode(&mut self, keeper: &mut PieceKeeper<'_>, out: &mut Vec<u8>) -> Result<ExchangeStart, SealError> {
        self.settle(keeper)?;
        let (request, response) = self.forms();
        encode_with(out, &self.exchange, request, response);
        Ok(ExchangeStart::of(&self.exchange))
    }
}
