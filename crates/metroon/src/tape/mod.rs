//! A tape: everything a run was told by the world, and what it came to, so that it can be run again.
//!
//! A tape is a journal in one file. Its frames are, in order: what was run; the base it began with, if it had one; then each
//! effect with its answer and each commit, as they happened; and a last frame that says that the run has ended. A tape
//! needs no other file. `docs/formats.md` draws the frames.
//!
//! - `recording` is the world of a run that is recorded, and `secrets` keeps secrets off its tape.
//! - `replaying` is the world of a run that follows a tape.
//! - `services` is what is asked of services, as a tape has it.
//! - `sinks` takes the commits of both.

pub(crate) mod recording;
pub(crate) mod replaying;
pub(crate) mod secrets;
mod services;
pub(crate) mod sinks;

pub use crate::recall::{RecallError, find_error};
pub use replaying::{Difference, ReplayEnd};

use crate::commit_journal::error::{KnowledgeBaseError, advice};
use crate::commit_journal::pieces::{self, Pieces};
use crate::commit_journal::record::{RecordError, SEMANTICS_VERSION};
use crate::program::RunRequest;
use cassette::redact::Redaction;
use journal::{
    AppendError, Damage, Disk, Durability, Flaw, Journal, OpenError, Options, ReadError, Reader, SingleFile, SyncError,
};
use metta::{FileId, Halted, LimitReached, OpenMode, PagesRequest, StoreRequest};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

/// The version of tapes that this crate writes. It reads all versions up to it.
pub(crate) const TAPE_VERSION: u32 = 2;

/// The version of a tape whose run evaluated each call, as all did at first. Nothing else differs: where a recorded run was ended is a number of
/// steps, which are fewer where results of calls are remembered.
const TAPE_VERSION_WITHOUT_MEMO: u32 = 1;

/// The kinds of frames of a tape.
mod kind {
    pub(super) const BEGIN: u8 = 1;
    pub(super) const IMAGE: u8 = 2;
    pub(super) const EFFECT: u8 = 3;
    pub(super) const COMMIT: u8 = 4;
    pub(super) const HALTED: u8 = 5;
    pub(super) const END: u8 = 6;
}

/// What was run, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TapeBegin {
    pub(crate) format: u32,
    pub(crate) semantics: u32,
    pub(crate) program: RunRequest,
    pub(crate) base: Option<TapeBase>,
}

impl TapeBegin {
    fn new(program: &RunRequest, base: Option<TapeBase>) -> Self {
        let format = if program.no_memo { TAPE_VERSION_WITHOUT_MEMO } else { TAPE_VERSION };
        Self { format, semantics: SEMANTICS_VERSION, program: program.clone(), base }
    }

    fn decode(bytes: &[u8], format: u32) -> Result<Self, RecordError> {
        let mut begin: Self = whole(bytes)?;
        begin.program.no_memo = format == TAPE_VERSION_WITHOUT_MEMO;
        Ok(begin)
    }

    /// What a replay runs. The tape says where the recorded run reached the limit of its heap, so the limit itself means nothing
    /// to a replay.
    pub(crate) fn program_to_replay(self) -> RunRequest {
        RunRequest { heap_bytes_max: None, ..self.program }
    }
}

/// The base that a run began with; its frames follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TapeBase {
    /// Where sources are named from.
    pub(crate) directory: String,
    /// How many frames of the tape hold it.
    pub(crate) frames: u64,
}

/// What a run asks of the world.
/// New ones go to the end: tapes number them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Request<'a> {
    Print(Cow<'a, str>),
    ReadSource(Cow<'a, str>),
    HasSource(Cow<'a, str>),
    ReadStandardInput,
    AbsolutePath(Cow<'a, str>),
    Now,
    Random,
    Environment(Cow<'a, str>),
    OpenFile(Cow<'a, str>, OpenMode),
    ReadFile(FileId, u64),
    WriteFile(FileId, Cow<'a, [u8]>),
    SeekFile(FileId, u64),
    FileSize(FileId),
    CloseFile(FileId),
    /// A function of the host, by identity, that the program may call from then on.
    Function(Cow<'a, str>),
    /// The canonical bytes of a call of a function of the host.
    Call(Cow<'a, [u8]>),
    /// When a commit of the knowledge base was made.
    CommitTime,
    /// What is asked of a store of keys and values.
    Store(Cow<'a, StoreRequest>),
    /// What is asked of a state of pages.
    Pages(Cow<'a, PagesRequest>),
}

impl fmt::Display for Request<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Print(line) => write!(formatter, "print {line}"),
            Self::ReadSource(path) => write!(formatter, "read the source {path}"),
            Self::HasSource(path) => write!(formatter, "look for the source {path}"),
            Self::ReadStandardInput => formatter.write_str("read the standard input"),
            Self::AbsolutePath(path) => write!(formatter, "look up the absolute path of {path}"),
            Self::Now => formatter.write_str("read the clock"),
            Self::Random => formatter.write_str("draw a random number"),
            Self::Environment(name) => write!(formatter, "read the environment variable {name}"),
            Self::OpenFile(path, mode) => write!(formatter, "open the file {path} ({mode:?})"),
            Self::ReadFile(file, most) => write!(formatter, "read at most {most} bytes of file {}", file.0),
            Self::WriteFile(file, bytes) => {
                write!(formatter, "write {} bytes to file {}: {}", bytes.len(), file.0, Shown(bytes))
            }
            Self::SeekFile(file, position) => write!(formatter, "go to byte {position} of file {}", file.0),
            Self::FileSize(file) => write!(formatter, "ask for the size of file {}", file.0),
            Self::CloseFile(file) => write!(formatter, "close file {}", file.0),
            Self::Function(identity) => write!(formatter, "register a function of the host: {identity}"),
            Self::CommitTime => formatter.write_str("ask when a commit is made"),
            Self::Store(request) => formatter.write_str(&services::shown_store(request)),
            Self::Pages(request) => formatter.write_str(&services::shown_pages(request)),
            Self::Call(call) => write!(formatter, "call the host: {}", shown_call(call)),
        }
    }
}

/// A call of a function of the host, for people.
fn shown_call(bytes: &[u8]) -> String {
    secrets::readable(bytes).map_or_else(|| Shown(bytes).to_string(), |call| call.to_string())
}

/// The most bytes of a write that are shown to people.
const SHOWN_BYTES_MAX: usize = 80;

/// Bytes for people: two that differ look different.
struct Shown<'a>(&'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.get(..SHOWN_BYTES_MAX) {
            Some(first) if first.len() < self.0.len() => {
                write!(formatter, "\"{}…\", BLAKE3 {}", first.escape_ascii(), blake3::hash(self.0).to_hex())
            }
            _ => write!(formatter, "\"{}\"", self.0.escape_ascii()),
        }
    }
}

/// A commit of a recorded run. Transactions that changed nothing are commits here too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TapeCommit {
    /// Counts the commits of the run, from 1.
    pub(crate) number: u64,
    /// The number of the last commit that changed something.
    pub(crate) epoch: u64,
    /// The state hash, its bytes little-endian.
    pub(crate) hash: [u8; 16],
    /// The source and place of the form that was run last.
    pub(crate) origin: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) added: u64,
    pub(crate) removed: u64,
    pub(crate) others: u64,
    /// The first of its changes, for people.
    pub(crate) sample: Vec<String>,
}

/// A form was ended for a reason that is no matter of its program alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TapeHalted {
    /// How many `!` forms came before it.
    pub(crate) evaluations: u64,
    pub(crate) steps: u64,
    pub(crate) acts: Option<u64>,
    pub(crate) results: u64,
    pub(crate) reason: HaltReason,
}

/// Why a form was ended. New ones go to the end: tapes number them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum HaltReason {
    Time,
    Cancelled,
    Heap(u64),
    Memory(u64),
    Other,
}

impl TapeHalted {
    pub(crate) fn new(evaluations: u64, halted: Halted) -> Self {
        let Halted { steps, acts, results, reason } = halted;
        let reason = match reason {
            LimitReached::Time => HaltReason::Time,
            LimitReached::Cancelled => HaltReason::Cancelled,
            LimitReached::Heap(bytes) => HaltReason::Heap(bytes),
            LimitReached::Memory(bytes) => HaltReason::Memory(bytes),
            _ => HaltReason::Other,
        };
        Self { evaluations, steps, acts, results, reason }
    }

    /// Where a replay is to end the form.
    pub(crate) fn halted(self) -> Halted {
        let reason = match self.reason {
            HaltReason::Time => LimitReached::Time,
            HaltReason::Cancelled | HaltReason::Other => LimitReached::Cancelled,
            HaltReason::Heap(bytes) => LimitReached::Heap(bytes),
            HaltReason::Memory(bytes) => LimitReached::Memory(bytes),
        };
        Halted { steps: self.steps, acts: self.acts, results: self.results, reason }
    }
}

/// The end of a run that was recorded whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TapeEnd {
    pub(crate) commits: u64,
}

/// A frame of a tape.
#[derive(Debug)]
pub(crate) enum TapeFrame<'a> {
    Begin(Box<TapeBegin>),
    /// A frame of the base that the run began with.
    Image(&'a [u8]),
    /// A request and, still encoded, its answer.
    Effect(Request<'static>, &'a [u8]),
    Commit(TapeCommit),
    Halted(TapeHalted),
    End,
}

impl<'a> TapeFrame<'a> {
    pub(crate) fn decode(payload: &'a [u8]) -> Result<Self, RecordError> {
        let (&kind, rest) = payload.split_first().ok_or(RecordError::Empty)?;
        Ok(match kind {
            kind::BEGIN => {
                // The version comes first, so that it can be read of any.
                let (format, _) = postcard::take_from_bytes::<u32>(rest).map_err(|_| RecordError::Malformed)?;
                Self::Begin(Box::new(match format {
                    TAPE_VERSION | TAPE_VERSION_WITHOUT_MEMO => TapeBegin::decode(rest, format)?,
                    _ => return Err(RecordError::Version { found: format, newest: TAPE_VERSION }),
                }))
            }
            kind::IMAGE => Self::Image(rest),
            kind::EFFECT => {
                let (request, answer) = postcard::take_from_bytes(rest).map_err(|_| RecordError::Malformed)?;
                Self::Effect(request, answer)
            }
            kind::COMMIT => Self::Commit(whole(rest)?),
            kind::HALTED => Self::Halted(whole(rest)?),
            kind::END => {
                whole::<TapeEnd>(rest)?;
                Self::End
            }
            kind => return Err(RecordError::Kind(kind)),
        })
    }
}

/// A value that takes all of these bytes.
pub(crate) fn whole<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, RecordError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        _ => Err(RecordError::Malformed),
    }
}

fn frame(kind: u8, value: &impl Serialize) -> Vec<u8> {
    postcard::to_extend(value, vec![kind]).expect("a vector takes every value")
}

/// Why a tape cannot be made, written or read.
#[derive(Debug)]
#[non_exhaustive]
pub enum TapeError {
    /// There is a file of that name.
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file system refuses.
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// It is no tape: another file, or a recording that ended before it began.
    NotATape,
    /// It cannot be opened.
    Open(Box<OpenError>),
    /// It cannot be read.
    Read(Box<ReadError>),
    /// It takes no more.
    Append(Box<AppendError>),
    /// It could not be made durable at the end.
    Sync(Box<SyncError>),
    /// A frame is sound and says something impossible.
    Malformed {
        /// The number of the frame.
        frame: u64,
        /// What is wrong.
        reason: String,
    },
    /// Programs meant something else when it was recorded.
    Semantics {
        /// The version of the language's semantics that it was recorded with.
        found: u32,
        /// The one that is known here.
        known: u32,
    },
    /// The base it begins with cannot be used.
    KnowledgeBase(Box<KnowledgeBaseError>),
    /// A secret would be on it.
    Secret {
        /// Where: `what the file a.txt says`.
        place: String,
        /// What: `a GitHub token`.
        what: String,
    },
}

impl fmt::Display for TapeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists { path } => write!(formatter, "{} exists already", path.display()),
            Self::Io { path, error } if error.kind() == io::ErrorKind::NotFound => {
                write!(formatter, "there is no tape {}", path.display())
            }
            Self::Io { path, error } => write!(formatter, "cannot use {}: {error}", path.display()),
            Self::NotATape => formatter.write_str("it holds no recorded run"),
            Self::Open(error) => error.fmt(formatter),
            Self::Read(error) => error.fmt(formatter),
            Self::Append(error) => write!(formatter, "the tape takes no more: {error}"),
            Self::Sync(error) => write!(formatter, "the tape could not be finished: {error}"),
            Self::Malformed { frame, reason } => write!(formatter, "frame {frame} cannot be used: {reason}"),
            Self::Semantics { found, known } => write!(
                formatter,
                "it was recorded with version {found} of the language's semantics, and this program has {known}"
            ),
            Self::KnowledgeBase(error) => write!(formatter, "the base that the tape begins with: {error}"),
            Self::Secret { place, what } => {
                write!(formatter, "{what} would be on the tape, in {place}; --keep-secrets records it")
            }
        }
    }
}

impl std::error::Error for TapeError {}

impl TapeError {
    /// What to do next, where that is known.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Exists { .. } => Some("choose another name, or remove it first: a recording is never overwritten"),
            Self::Io { .. } => Some("check the path, and that you may read and write there"),
            Self::NotATape => Some("name a file that `metroon run --record TAPE` has made"),
            Self::Open(_) | Self::Read(_) if self.is_damage() => {
                Some("`metroon journal verify TAPE` says what is damaged")
            }
            Self::Semantics { .. } => {
                Some("replay it with the version of Metroon that recorded it, or record the run again")
            }
            Self::KnowledgeBase(error) => error.help(),
            Self::Append(error) => match &**error {
                AppendError::Refused(failure) | AppendError::Unknown { failure, .. } => Some(advice(failure)),
                _ => None,
            },
            Self::Sync(error) => match &**error {
                SyncError::Failed(failure) => Some(advice(failure)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether what lies on the disk is damaged.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Malformed { .. } | Self::Semantics { .. } => true,
            Self::Open(error) => matches!(**error, OpenError::Damaged(_)),
            Self::Read(error) => matches!(**error, ReadError::Damaged(_)),
            Self::KnowledgeBase(error) => error.is_damage(),
            _ => false,
        }
    }
}

/// A tape that is being recorded.
pub struct Tape {
    journal: Arc<Journal>,
    frames: u64,
    commits: u64,
    /// A long answer that is being written, and made durable, while the run goes on; gives how many frames it takes.
    writing: Option<JoinHandle<Result<u64, TapeError>>>,
    /// The frames that come after it.
    waiting: Vec<Vec<u8>>,
    keeps_secrets: bool,
}

/// An answer this long is written beside the run.
const LONG_BYTES_MIN: usize = 4 << 20;

/// How many frames may wait for it.
const WAITING_MAX: usize = 1024;

impl Tape {
    /// A new tape in a file.
    ///
    /// # Errors
    /// There is a file of that name, or none can be made.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, TapeError> {
        let path = path.as_ref();
        let disk = SingleFile::create(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => TapeError::Exists { path: path.to_owned() },
            _ => TapeError::Io { path: path.to_owned(), error },
        })?;
        Self::on_disk(Arc::new(disk))
    }

    /// A new tape on an empty disk.
    ///
    /// # Errors
    /// The disk fails.
    pub fn on_disk(disk: Arc<dyn Disk>) -> Result<Self, TapeError> {
        let options = Options::default().segment_bytes(u64::MAX);
        let (journal, _) = Journal::open(disk, options).map_err(|error| TapeError::Open(Box::new(error)))?;
        Ok(Self {
            journal: Arc::new(journal),
            frames: 0,
            commits: 0,
            writing: None,
            waiting: Vec::new(),
            keeps_secrets: false,
        })
    }

    /// Records secrets as everything else. Otherwise a run ends that tells the tape one: what is run again must be told the same
    /// again, so nothing can stand in the place of a secret.
    #[must_use]
    pub fn keep_secrets(mut self) -> Self {
        self.keeps_secrets = true;
        self
    }

    /// That there is no secret in what a program says or is told.
    pub(crate) fn check(&self, place: impl FnOnce() -> String, bytes: &[u8]) -> Result<(), TapeError> {
        if self.keeps_secrets {
            return Ok(());
        }
        match Redaction::usual().secret_in(bytes) {
            Some(what) => Err(TapeError::Secret { place: place(), what: what.to_owned() }),
            None => Ok(()),
        }
    }

    /// That there is no secret in an environment variable, whose name may say that it is one.
    pub(crate) fn check_variable(&self, name: &str, value: &str) -> Result<(), TapeError> {
        let place = || format!("the environment variable {name}");
        if !self.keeps_secrets && !value.is_empty() && Redaction::usual().is_secret_name(name) {
            return Err(TapeError::Secret { place: place(), what: "the value of a secret name".to_owned() });
        }
        self.check(place, value.as_bytes())
    }

    /// How many frames it has.
    ///
    /// # Errors
    /// They could not be written.
    pub(crate) fn frames(&mut self) -> Result<u64, TapeError> {
        self.settle()?;
        Ok(self.frames)
    }

    /// How many frames it was given, those included that wait to be written.
    pub(crate) fn frames_taken(&self) -> u64 {
        self.frames + self.waiting.len() as u64
    }

    pub(crate) fn begin(&mut self, program: &RunRequest, base: Option<TapeBase>) -> Result<(), TapeError> {
        for text in &program.expressions {
            self.check(|| "a text of -e".to_owned(), text.as_bytes())?;
        }
        self.append(frame(kind::BEGIN, &TapeBegin::new(program, base)), Durability::Os)
    }

    pub(crate) fn image(&mut self, payload: &[u8]) -> Result<(), TapeError> {
        self.append([&[kind::IMAGE], payload].concat(), Durability::None)
    }

    /// Writes a request and its answer.
    pub(crate) fn effect(&mut self, request: &Request<'_>, answer: &impl Serialize) -> Result<(), TapeError> {
        let frame = frame(kind::EFFECT, request);
        let frame = postcard::to_extend(answer, frame).expect("a vector takes every answer");
        self.append(frame, Durability::None)
    }

    /// Writes a request that was answered with bytes, which may be many and are not copied.
    pub(crate) fn effect_of_bytes(&mut self, request: &Request<'_>, answer: &Arc<Vec<u8>>) -> Result<(), TapeError> {
        // As the encoding has an answer that is no error: its variant, the length, the bytes.
        let beginning = postcard::to_extend(&(0_u8, answer.len()), frame(kind::EFFECT, request));
        let beginning = beginning.expect("a vector takes every length");
        if answer.len() < LONG_BYTES_MIN {
            return pieces::cut_two(&beginning, answer, |frame| self.append_frame(frame, Durability::None));
        }
        self.settle()?;
        let (journal, answer) = (Arc::clone(&self.journal), Arc::clone(answer));
        self.writing = Some(std::thread::spawn(move || {
            let mut frames = 0;
            pieces::cut_two(&beginning, &answer, |frame| {
                frames += 1;
                journal.append(frame, Durability::None).map(drop)
            })
            .map_err(|error| TapeError::Append(Box::new(error)))?;
            journal.sync(Durability::Fsync).map_err(|error| TapeError::Sync(Box::new(error)))?;
            Ok(frames)
        }));
        Ok(())
    }

    /// Waits for a long answer to be written, and writes what comes after it.
    fn settle(&mut self) -> Result<(), TapeError> {
        let Some(writing) = self.writing.take() else { return Ok(()) };
        self.frames += writing.join().expect("no panic while a tape is written")?;
        for frame in std::mem::take(&mut self.waiting) {
            self.append_frame(&frame, Durability::None)?;
        }
        Ok(())
    }

    pub(crate) fn commit(&mut self, commit: &TapeCommit) -> Result<(), TapeError> {
        self.commits += 1;
        self.append(frame(kind::COMMIT, commit), Durability::Os)
    }

    pub(crate) fn halted(&mut self, halted: TapeHalted) -> Result<(), TapeError> {
        self.append(frame(kind::HALTED, &halted), Durability::Os)
    }

    fn append(&mut self, payload: Vec<u8>, durability: Durability) -> Result<(), TapeError> {
        pieces::cut(payload).iter().try_for_each(|frame| self.append_frame(frame, durability))
    }

    fn append_frame(&mut self, frame: &[u8], durability: Durability) -> Result<(), TapeError> {
        let is_busy = self.writing.as_ref().is_some_and(|writing| !writing.is_finished());
        if is_busy && self.waiting.len() < WAITING_MAX && durability == Durability::None {
            self.waiting.push(frame.to_vec());
            return Ok(());
        }
        self.settle()?;
        self.journal.append(frame, durability).map_err(|error| TapeError::Append(Box::new(error)))?;
        self.frames += 1;
        Ok(())
    }

    /// Ends the recording and makes it durable.
    pub(crate) fn finish(mut self) -> Result<(), TapeError> {
        let end = TapeEnd { commits: self.commits };
        self.append(frame(kind::END, &end), Durability::None)?;
        self.settle()?;
        let journal = Arc::into_inner(self.journal).expect("nothing writes beside the run any more");
        journal.close().map_err(|error| TapeError::Sync(Box::new(error)))
    }
}

/// A tape that is being read.
pub struct TapeReader {
    disk: Arc<dyn Disk>,
    reader: Reader,
    pieces: Pieces,
}

impl TapeReader {
    /// The tape in a file.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TapeError> {
        let path = path.as_ref();
        let disk = SingleFile::open(path).map_err(|error| TapeError::Io { path: path.to_owned(), error })?;
        Self::on_disk(Arc::new(disk))
    }

    /// The tape on a disk.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn on_disk(disk: Arc<dyn Disk>) -> Result<Self, TapeError> {
        let reader = reader(&disk)?;
        Ok(Self { disk, reader, pieces: Pieces::default() })
    }

    /// Whether it holds a recorded run, and not frames of another kind.
    ///
    /// # Errors
    /// Its first frame cannot be read.
    pub fn holds_run(&mut self) -> Result<bool, TapeError> {
        let begins = self.next(|frame| Ok(matches!(frame, TapeFrame::Begin(_))));
        self.rewind()?;
        match begins {
            Err(TapeError::NotATape) => Ok(false),
            begins => Ok(begins? == Some(true)),
        }
    }

    /// Begins anew.
    pub(crate) fn rewind(&mut self) -> Result<(), TapeError> {
        self.reader = reader(&self.disk)?;
        self.pieces = Pieces::default();
        Ok(())
    }

    /// Hands the next frame out; `None` at the end.
    pub(crate) fn next<T>(
        &mut self,
        take: impl FnOnce(TapeFrame<'_>) -> Result<T, RecordError>,
    ) -> Result<Option<T>, TapeError> {
        loop {
            let number = self.reader.place().number;
            let malformed =
                |reason: &dyn fmt::Display| TapeError::Malformed { frame: number, reason: reason.to_string() };
            let failed = |error: RecordError| match error {
                RecordError::Version { .. } => malformed(&error),
                // Sound, and no beginning of a tape: another journal.
                _ if number == 0 => TapeError::NotATape,
                error => malformed(&error),
            };
            let read = self.reader.read_next().map_err(|error| TapeError::Read(Box::new(error)))?;
            let Some(found) = read else { return Ok(None) };
            let Some(payload) = self.pieces.join(found.payload).map_err(|reason| malformed(&reason))? else { continue };
            return TapeFrame::decode(payload).and_then(take).map(Some).map_err(failed);
        }
    }
}

fn reader(disk: &Arc<dyn Disk>) -> Result<Reader, TapeError> {
    Reader::from_frame(Arc::clone(disk), 0).map_err(|error| match error {
        ReadError::Empty => TapeError::NotATape,
        // A tape whose beginning is damaged has frames all the same.
        ReadError::Damaged(Damage { offset: 0, flaw: Flaw::Short | Flaw::Magic, .. })
            if !journal::verify(Arc::clone(disk)).is_ok_and(|report| report.frames > 0) =>
        {
            TapeError::NotATape
        }
        error => TapeError::Read(Box::new(error)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_has_the_bytes_that_the_document_of_formats_gives_it() {
        let file = FileId(300);
        let mode = OpenMode { write: true, truncate: true, ..OpenMode::default() };
        let requests: [(Request<'_>, &[u8]); 15] = [
            (Request::Print("a".into()), &[0, 1, b'a']),
            (Request::ReadSource("a".into()), &[1, 1, b'a']),
            (Request::HasSource("a".into()), &[2, 1, b'a']),
            (Request::ReadStandardInput, &[3]),
            (Request::AbsolutePath("a".into()), &[4, 1, b'a']),
            (Request::Now, &[5]),
            (Request::Random, &[6]),
            (Request::Environment("a".into()), &[7, 1, b'a']),
            (Request::OpenFile("a".into(), mode), &[8, 1, b'a', 0, 1, 0, 0, 1]),
            (Request::ReadFile(file, 5), &[9, 0xac, 0x02, 5]),
            (Request::WriteFile(file, b"xy"[..].into()), &[10, 0xac, 0x02, 2, b'x', b'y']),
            (Request::SeekFile(file, 5), &[11, 0xac, 0x02, 5]),
            (Request::FileSize(file), &[12, 0xac, 0x02]),
            (Request::CloseFile(file), &[13, 0xac, 0x02]),
            (Request::CommitTime, &[16]),
        ];
        for (request, expected) in requests {
            let bytes = frame(kind::EFFECT, &request);
            assert_eq!(bytes[1..], *expected, "{request}");
            match TapeFrame::decode(&bytes) {
                Ok(TapeFrame::Effect(read, [])) => assert_eq!(read, request),
                other => panic!("{other:?}"),
            }
        }
    }
}
