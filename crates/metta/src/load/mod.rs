//! Loading: atoms that files state, read piece by piece and never evaluated.
//!
//! 1. A [`Format`] turns the bytes of a file into records and hands each to an [`Out`]. It is given pieces, so a file may be larger than
//!    memory; that of MeTTa text is [`MettaText`], others are the engine's.
//! 2. Records gather in a [`Piece`], and the session's thread adds one piece after the other. With more than one thread, another
//!    one reads the pieces of the bytes at hand ahead of it ([`add`]). Pieces are cut alike in any case, and the
//!    world is asked for bytes at the same places between them, so that the number of threads changes nothing but the time.
//! 3. The parts of most records go straight into the space's dictionary, batch by batch. If an edited file is compared with what it
//!    stated, and where types are checked, each record becomes an atom that is added as a plain form of a source is ([`forms`]).
//! 4. Where commits are kept, there is one after every [`COMMIT_RECORDS`] records or so, and one at the end: a process that is killed
//!    loses no more than what came after the last.
//! 5. A base knows a file by path and content. An unchanged one adds nothing; of an edited one, or one that was not loaded to its end,
//!    only the difference is applied. If a record cannot be read, it is not known what it states, so nothing is removed then.

mod add;
mod format;
mod forms;
mod metta_text;
mod out;
mod piece;
mod report;
mod words;

pub use format::{Format, Formats};
pub use metta_text::MettaText;
pub use out::Out;
pub use report::{LoadReport, Skipped};
pub use words::{Meaning as WordMeaning, Words};

use crate::commit::{Cause, CauseKind, CommitTrigger};
use crate::limits::LimitReached;
use crate::program::history::SourceId;
use crate::program::modules::ModuleId;
use crate::record::{Begun, ContentHasher, Known, RunRecord, RunRecordError, SourceContent};
use crate::session::Session;
use crate::stated::Stated;
use crate::world::{FileId, OpenMode, READ_BYTES_MAX, World, WorldError};
use add::Adder;
use piece::Piece;
use std::fmt;
use std::sync::Arc;

/// The longest record that is read, in bytes.
pub const RECORD_BYTES_MAX: usize = 256 << 20;

/// How many records a commit has, give or take those of one piece.
pub const COMMIT_RECORDS: u64 = 100_000;

/// How far a load is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadProgress {
    /// Bytes that were read.
    pub bytes: u64,
    /// Bytes that the file has; `None` for a stream.
    pub bytes_in_all: Option<u64>,
    /// Atoms that were added.
    pub added: u64,
}

/// Why a load ended before the end of its file. What was committed before stands.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// The file cannot be read.
    World(WorldError),
    /// A record is longer than [`RECORD_BYTES_MAX`].
    RecordTooLong {
        /// Where it begins, in bytes from the beginning of the file.
        offset: u64,
    },
    /// The file became another one while it was read.
    Changed,
    /// The load was told to end.
    Limit(LimitReached),
    /// It cannot be kept.
    RunRecord(RunRecordError),
    /// All was loaded and is kept, and a function of on-change failed that was called with what changed.
    Called {
        /// The call.
        call: String,
        /// What it came to.
        results: String,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::World(error) => error.fmt(formatter),
            Self::RecordTooLong { offset } => write!(
                formatter,
                "the record that begins after byte {offset} is longer than {RECORD_BYTES_MAX} bytes; is a bracket or a quote missing?"
            ),
            Self::Changed => formatter.write_str("the file was changed while it was loaded; load it again"),
            Self::Limit(_) => formatter.write_str("the load was cancelled"),
            Self::RunRecord(error) => error.fmt(formatter),
            Self::Called { call, results } => {
                write!(formatter, "all is loaded, and {call}, which on-change asked for, came to {results}")
            }
        }
    }
}

impl std::error::Error for LoadError {}

impl From<WorldError> for LoadError {
    fn from(error: WorldError) -> Self {
        Self::World(error)
    }
}

impl From<RunRecordError> for LoadError {
    fn from(error: RunRecordError) -> Self {
        Self::RunRecord(error)
    }
}

/// What is loaded.
#[derive(Clone, Copy, Debug)]
pub struct LoadSource<'a> {
    /// What it is called in messages.
    pub origin: &'a str,
    /// Its path; `None` for the standard input, which is read to its end first.
    pub file: Option<&'a str>,
}

/// Where the bytes come from.
enum Bytes {
    File(FileId),
    /// All of them, and how many were handed out.
    Whole(Arc<Vec<u8>>, usize),
}

impl Bytes {
    fn open(world: &mut dyn World, file: Option<&str>) -> Result<Self, WorldError> {
        match file {
            Some(file) => world.open_file(file, OpenMode { read: true, ..OpenMode::default() }).map(Self::File),
            None => world.read_standard_input().map(|bytes| Self::Whole(Arc::new(bytes), 0)),
        }
    }

    fn size(&self, world: &mut dyn World) -> Result<u64, WorldError> {
        match self {
            Self::File(file) => world.file_size(*file),
            Self::Whole(bytes, _) => Ok(bytes.len() as u64),
        }
    }

    /// Adds the next bytes, at least one unless there are no more; gives how many.
    fn next(&mut self, world: &mut dyn World, buffer: &mut Vec<u8>) -> Result<usize, WorldError> {
        let before = buffer.len();
        // A record that goes on and on is read in pieces that grow with it.
        while buffer.len() < before * 2 || buffer.len() == before {
            let more = match self {
                Self::File(file) => {
                    let bytes = world.read_file(*file, READ_BYTES_MAX)?;
                    buffer.extend_from_slice(&bytes);
                    bytes.len()
                }
                Self::Whole(bytes, at) => {
                    let piece = &bytes[*at..bytes.len().min(*at + READ_BYTES_MAX as usize)];
                    buffer.extend_from_slice(piece);
                    *at += piece.len();
                    piece.len()
                }
            };
            if more == 0 {
                break;
            }
        }
        Ok(buffer.len() - before)
    }

    fn close(self, world: &mut dyn World) -> Result<(), WorldError> {
        match self {
            Self::File(file) => world.close_file(file),
            Self::Whole(..) => Ok(()),
        }
    }
}

/// A load that goes on.
struct Load {
    module: ModuleId,
    id: SourceId,
    report: LoadReport,
    /// What an earlier content of the file stated, as far as it was not met yet.
    stated: Stated,
    /// Records since the last commit.
    uncommitted: u64,
    /// Whether commits may be made while it goes on: it is no part of a form.
    commits: bool,
    sizes: Sizes,
    /// Room for pieces.
    pieces: Vec<Piece>,
}

/// What is known of how much is still to come.
#[derive(Default)]
struct Sizes {
    /// Bytes that the file has; `None` for a stream.
    bytes_in_all: Option<u64>,
    /// Bytes of the records so far.
    bytes_used: u64,
    /// How many terms there were before the first record.
    terms_before: Option<usize>,
}

impl Sizes {
    /// How many more of something come if the rest of the file is like what was read, which has `count`.
    fn more(&self, count: u64) -> usize {
        let left = self.bytes_in_all.unwrap_or_default().saturating_sub(self.bytes_used);
        let more = u128::from(count) * u128::from(left) / u128::from(self.bytes_used.max(1));
        usize::try_from(more).unwrap_or(usize::MAX)
    }
}

/// A function that hears how far a load is.
pub type OnProgress<'a> = dyn FnMut(LoadProgress) + 'a;

impl Session {
    /// Adds what a file states to the program's own space. Nothing is evaluated.
    ///
    /// # Errors
    /// The load ended before the end of the file; what was committed before stands.
    pub fn load(
        &mut self,
        source: &LoadSource<'_>,
        format: &mut dyn Format,
        progress: &mut OnProgress<'_>,
    ) -> Result<LoadReport, LoadError> {
        let content = self.content_of(source, format)?;
        let bytes = Bytes::open(&mut *self.world, source.file)?;
        self.load_in(ModuleId::TOP, source, content, bytes, format, progress)
    }

    /// Adds what some bytes state, which were read before: those of the standard input, or of another file that can be read only once.
    /// `origin` is what they are called. A base does not know them again.
    ///
    /// # Errors
    /// As [`Session::load`].
    pub fn load_bytes(
        &mut self,
        origin: &str,
        bytes: Arc<Vec<u8>>,
        format: &mut dyn Format,
        progress: &mut OnProgress<'_>,
    ) -> Result<LoadReport, LoadError> {
        let source = LoadSource { origin, file: None };
        self.load_in(ModuleId::TOP, &source, None, Bytes::Whole(bytes, 0), format, progress)
    }

    /// What words mean to a module.
    pub(crate) fn words_of(&self, module: ModuleId) -> Words {
        Words::of(&self.program.module(module).tokenizer)
    }

    /// Adds what a file that was read whole states to a module's space, as part of the form that imports it.
    pub(crate) fn load_module_data(
        &mut self,
        module: ModuleId,
        file: &str,
        bytes: Arc<Vec<u8>>,
        format: &mut dyn Format,
    ) -> Result<LoadReport, LoadError> {
        let source = LoadSource { origin: file, file: Some(file) };
        let content = self.transactions.record().and_then(RunRecord::content_hasher).map(|mut hasher| {
            hasher.update(&bytes);
            hasher.update(format.manner().as_bytes());
            hasher.finish()
        });
        self.load_in(module, &source, content, Bytes::Whole(bytes, 0), format, &mut |_| {})
    }

    /// The hash of a file's content, if somebody keeps it.
    fn content_of(&mut self, source: &LoadSource<'_>, format: &dyn Format) -> Result<Option<[u8; 32]>, LoadError> {
        let hasher = self.transactions.record().and_then(RunRecord::content_hasher);
        let (Some(mut hasher), Some(file)) = (hasher, source.file) else { return Ok(None) };
        let mut bytes = Bytes::open(&mut *self.world, Some(file))?;
        let read = self.hash_bytes(&mut bytes, &mut *hasher);
        let closed = bytes.close(&mut *self.world);
        read?;
        closed?;
        hasher.update(format.manner().as_bytes());
        Ok(Some(hasher.finish()))
    }

    fn hash_bytes(&mut self, bytes: &mut Bytes, hasher: &mut dyn ContentHasher) -> Result<(), LoadError> {
        let mut buffer = Vec::new();
        while bytes.next(&mut *self.world, &mut buffer)? > 0 {
            hasher.update(&buffer);
            buffer.clear();
            self.check_interrupt()?;
        }
        Ok(())
    }

    fn load_in(
        &mut self,
        module: ModuleId,
        source: &LoadSource<'_>,
        content: Option<[u8; 32]>,
        bytes: Bytes,
        format: &mut dyn Format,
        progress: &mut OnProgress<'_>,
    ) -> Result<LoadReport, LoadError> {
        let cause = self.enter_source(module);
        let loaded = self.load_known(module, source, content, bytes, format, progress);
        self.leave_source(cause);
        loaded
    }

    fn load_known(
        &mut self,
        module: ModuleId,
        source: &LoadSource<'_>,
        content: Option<[u8; 32]>,
        mut bytes: Bytes,
        format: &mut dyn Format,
        progress: &mut OnProgress<'_>,
    ) -> Result<LoadReport, LoadError> {
        let rows = SourceContent::Rows(content.unwrap_or_default());
        let Begun { id, known } = match self.begin_source(module, source.origin, source.file, rows) {
            Ok(begun) => begun,
            Err(error) => {
                // That the source cannot begin is the error to tell, whatever becomes of the file.
                let _ = bytes.close(&mut *self.world);
                return Err(error.into());
            }
        };
        let stated = match known {
            Known::Unchanged => {
                bytes.close(&mut *self.world)?;
                return Ok(LoadReport { is_unchanged: true, ..LoadReport::default() });
            }
            Known::Changed(before) => Stated::of(before),
            Known::New => Stated::default(),
        };
        let commits = self.is_outermost() && self.transactions.depth() == 0;
        let report = LoadReport::default();
        let (sizes, pieces) = Default::default();
        let mut load = Load { module, id, report, stated, uncommitted: 0, commits, sizes, pieces };
        let read = self.read_records(&mut load, format, &mut bytes, content, progress);
        let closed = bytes.close(&mut *self.world);
        self.end_load(load, read.and(closed.map_err(LoadError::from)))
    }

    /// Reads a file to its end.
    fn read_records(
        &mut self,
        load: &mut Load,
        format: &mut dyn Format,
        bytes: &mut Bytes,
        content: Option<[u8; 32]>,
        progress: &mut OnProgress<'_>,
    ) -> Result<(), LoadError> {
        let bytes_in_all = bytes.size(&mut *self.world).ok().filter(|&size| size > 0);
        load.sizes.bytes_in_all = bytes_in_all;
        let mut hasher = content.and_then(|_| self.transactions.record()?.content_hasher());
        let (mut buffer, mut bytes_read) = (Vec::new(), 0);
        loop {
            let before = buffer.len();
            let more = bytes.next(&mut *self.world, &mut buffer)?;
            if let Some(hasher) = &mut hasher {
                hasher.update(&buffer[before..]);
            }
            bytes_read += more as u64;
            let used = Adder { session: self, load }.take_slices(format, &buffer, more == 0)?;
            if more == 0 {
                break;
            }
            buffer.drain(..used);
            if buffer.len() > RECORD_BYTES_MAX {
                return Err(LoadError::RecordTooLong { offset: bytes_read - buffer.len() as u64 });
            }
            progress(LoadProgress { bytes: bytes_read, bytes_in_all, added: load.report.added });
            self.check_interrupt()?;
        }
        if let (Some(mut hasher), Some(content)) = (hasher, content) {
            hasher.update(format.manner().as_bytes());
            if hasher.finish() != content {
                return Err(LoadError::Changed);
            }
        }
        Ok(())
    }

    fn commit_load(&mut self, load: &mut Load) -> Result<(), LoadError> {
        load.uncommitted = 0;
        Ok(self.commit(CommitTrigger::Asked)?)
    }

    /// Gives up what a file states no longer, and commits.
    fn end_load(&mut self, mut load: Load, read: Result<(), LoadError>) -> Result<LoadReport, LoadError> {
        if read.is_ok() && load.report.is_whole() {
            for (count, atom) in std::mem::take(&mut load.stated).into_left() {
                (0..count).for_each(|_| self.retract(load.module, load.id, &atom));
                load.report.removed += u64::from(count);
                load.uncommitted += u64::from(count);
                if load.commits && load.uncommitted >= COMMIT_RECORDS {
                    self.commit_load(&mut load)?;
                }
            }
            if let Some(record) = self.transactions.record_mut() {
                record.end_source(load.id);
            }
        }
        // What was read before an error stands, as the plain forms before one do.
        let (module, id) = (load.module, load.id);
        self.set_cause(Some(Cause { source: id, kind: CauseKind::Statement, offset: 0 }));
        if load.commits && !matches!(read, Err(LoadError::RunRecord(_))) {
            self.commit(CommitTrigger::EndOfSource)?;
            if let Some((call, results)) = self.call_apart()? {
                return Err(LoadError::Called { call, results });
            }
        }
        debug_assert_eq!(self.current_module(), module);
        read.map(|()| load.report)
    }

    /// Whether somebody wants the load to end, or it takes too much memory.
    fn check_interrupt(&self) -> Result<(), LoadError> {
        let reached = self.limits.interrupt.reason().or_else(|| self.limits.memory_reached());
        reached.map_or(Ok(()), |limit| Err(LoadError::Limit(limit)))
    }
}
