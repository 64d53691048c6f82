//! The writer, of which a journal has one: it takes what is pending to the disk, in order.
//!
//! 1. Each piece is written at its place. A piece of a new segment first rolls over:
//!    a. sync the old segment; b. create the new one durably; c. note in the old one that it is continued, in one slot and
//!    then the other, syncing after each. So everything but the last segment is always synced, and a missing last segment
//!    is noticed, even if one slot is damaged.
//! 2. If asked, the segment is synced, and a slot then says how far. The slots take turns. The note itself becomes durable
//!    with the next sync, so it lags by one: it is a lower bound, and so are the notes in frames.
//! 3. At the end both slots are made to say the same, durably: then nothing lags, and one of them may be lost.
//!
//! The two slots are never unsynced at the same time, so no crash can harm both.
//!
//! If there is to be [room](crate::Options::room_bytes), the file is made longer before a piece is written that it has no room for, by as
//! much as is set. Nothing says where frames end but the frames: what follows them are zeros.
//!
//! After any error the writer must not be used again: what is on the disk is in doubt.

use crate::chain::Chain;
use crate::error::Failure;
use crate::file::{Folder, NamedFile};
use crate::format::{Header, Mark, SLOTS_AT, Salt, Slot};
use crate::pending::Piece;
use crate::segment;

/// The end of a journal, open for writing.
pub(crate) struct Writer {
    folder: Folder,
    /// That of the segment.
    header: Header,
    file: NamedFile,
    salt: Salt,
    /// The number of the next note.
    sequence: u64,
    written: Mark,
    synced: Mark,
    /// The chain value there.
    chain: Chain,
    /// How far the newest note says that it is synced.
    noted: Mark,
    /// Whether both slots durably say that.
    is_settled: bool,
    beginning: Beginning,
    /// By how much the file grows at once, and how long it is if it has grown.
    room_bytes: u64,
    length: u64,
}

/// How far the beginning of the segment and its name are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beginning {
    /// The file is empty, and has another name.
    ToCome,
    Written,
    Durable,
}

impl Writer {
    /// Goes on at `end`, up to which everything is durable and after which the file has nothing; with the chain value there. Of the
    /// `notes`, the first is the one that counts; it is settled if the other says the same.
    pub(crate) fn new(
        folder: Folder,
        header: Header,
        file: NamedFile,
        notes: (Slot, bool),
        (end, chain): (Mark, Chain),
    ) -> Self {
        let (newest, is_settled) = notes;
        let salt = Salt::new(header.identity, header.segment);
        let (sequence, noted) = (newest.sequence.wrapping_add(1), newest.synced);
        let (beginning, room_bytes, length) = (Beginning::Durable, 0, end.offset);
        let (written, synced) = (end, end);
        Self {
            folder,
            header,
            file,
            salt,
            sequence,
            written,
            synced,
            chain,
            noted,
            is_settled,
            beginning,
            room_bytes,
            length,
        }
    }

    /// This writer, with a file that grows by `room_bytes` at once.
    pub(crate) fn with_room(self, room_bytes: u64) -> Self {
        Self { room_bytes, ..self }
    }

    /// This writer, for a segment whose file was made and is empty.
    pub(crate) fn not_begun(self) -> Self {
        Self { beginning: Beginning::ToCome, ..self }
    }

    /// Whether the segment has its name.
    pub(crate) fn has_begun(&self) -> bool {
        self.beginning != Beginning::ToCome
    }

    /// Begins the segment, if that is to be done.
    pub(crate) fn begin(&mut self) -> Result<(), Failure> {
        if self.has_begun() { Ok(()) } else { self.begin_with(&[]) }
    }

    /// Begins the segment with its first frames, in one write.
    fn begin_with(&mut self, frames: &[u8]) -> Result<(), Failure> {
        segment::begin(&self.folder, &mut self.file, &self.header, frames)?;
        self.beginning = Beginning::Written;
        Ok(())
    }

    /// Takes a segment away that has not begun.
    pub(crate) fn discard(self) -> Result<(), Failure> {
        if self.has_begun() { Ok(()) } else { self.folder.discard(self.file) }
    }

    /// The file of the segment.
    pub(crate) fn file(&self) -> NamedFile {
        self.file.clone()
    }

    /// How far the journal is written.
    pub(crate) fn written(&self) -> Mark {
        self.written
    }

    /// How far the journal is synced.
    pub(crate) fn synced(&self) -> Mark {
        self.synced
    }

    /// Writes what comes next, the beginning first if that is to be done.
    pub(crate) fn write(&mut self, pieces: &[Piece]) -> Result<(), Failure> {
        let mut pieces = pieces;
        match (self.has_begun(), pieces) {
            (false, [first, rest @ ..]) => {
                debug_assert_eq!(first.from, self.written, "the first piece follows the beginning");
                self.begin_with(&first.bytes)?;
                self.written = first.to;
                pieces = rest;
            }
            (false, []) => self.begin()?,
            (true, _) => {}
        }
        for piece in pieces {
            if piece.from.segment != self.written.segment {
                self.roll_over(piece.from, piece.before)?;
            }
            debug_assert_eq!(piece.from, self.written, "pieces lie end to end");
            self.make_room(piece.to.offset)?;
            self.file.write(piece.from.offset, &piece.bytes)?;
            self.written = piece.to;
        }
        Ok(())
    }

    /// Makes the file longer if it does not reach so far.
    fn make_room(&mut self, end: u64) -> Result<(), Failure> {
        if self.room_bytes == 0 || end <= self.length {
            return Ok(());
        }
        self.length = end + self.room_bytes;
        self.file.extend(self.length)
    }

    /// Cuts off what was not used, which is durable with the next sync; says whether there was something.
    fn give_up_room(&mut self) -> Result<bool, Failure> {
        let has_room = self.length > self.written.offset;
        if has_room {
            self.file.cut(self.written.offset)?;
            self.length = self.written.offset;
        }
        Ok(has_room)
    }

    /// Makes everything written durable and notes it, with the chain value there.
    pub(crate) fn sync(&mut self, chain: Chain) -> Result<(), Failure> {
        self.chain = chain;
        self.begin()?;
        if self.synced != self.written || self.beginning == Beginning::Written {
            self.file.sync()?;
            self.synced = self.written;
        }
        if self.beginning == Beginning::Written {
            self.folder.sync_names()?;
            self.beginning = Beginning::Durable;
        }
        if self.noted != self.synced { self.note(false) } else { Ok(()) }
    }

    /// Makes the notes durable, after everything else was synced: nothing will be in doubt when the journal is opened again.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        debug_assert_eq!(self.synced, self.written, "what is to be finished was synced");
        if self.is_settled {
            return Ok(());
        }
        self.give_up_room()?;
        self.file.sync()?;
        self.note(false)?;
        self.file.sync()?;
        self.is_settled = true;
        Ok(())
    }

    /// Writes how far the segment is synced into the slot whose turn it is.
    pub(crate) fn note(&mut self, is_continued: bool) -> Result<(), Failure> {
        let slot = Slot { sequence: self.sequence, synced: self.synced, chain: self.chain, is_continued };
        slot.write(&self.file, self.salt)?;
        self.sequence = self.sequence.wrapping_add(1);
        self.noted = self.synced;
        self.is_settled = false;
        Ok(())
    }

    /// Notes that the segment is durable up to a mark, with the chain value there: somebody has synced its file after it was written.
    pub(crate) fn note_synced(&mut self, synced: Mark, chain: Chain) -> Result<(), Failure> {
        if self.beginning != Beginning::Durable {
            return Ok(());
        }
        (self.synced, self.chain) = (synced, chain);
        self.note(false)
    }

    /// Ends the segment and begins the next, which continues the chain value that this one ends with.
    fn roll_over(&mut self, to: Mark, chain: Chain) -> Result<(), Failure> {
        if self.give_up_room()? || self.synced != self.written {
            self.file.sync()?;
            self.synced = self.written;
        }
        self.chain = chain;
        let header = Header { segment: to.segment, chain, ..self.header };
        let file = segment::create(&self.folder, &header)?;
        for _ in 0..SLOTS_AT.len() {
            self.note(true)?;
            self.file.sync()?;
        }
        self.enter(file, header, to);
        Ok(())
    }

    fn enter(&mut self, file: NamedFile, header: Header, beginning: Mark) {
        (self.file, self.header) = (file, header);
        self.salt = Salt::new(header.identity, header.segment);
        self.sequence = Slot::FIRST_SEQUENCE;
        (self.written, self.synced, self.noted) = (beginning, beginning, beginning);
        self.is_settled = true;
        self.beginning = Beginning::Durable;
        self.length = beginning.offset;
    }
}
