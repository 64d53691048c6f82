//! Recording: what happens goes into a queue, a thread writes it to a journal, and stopping makes a sealed cassette of that.
//!
//! 1. [`Recorder::record`] and the methods of [`OpenExchange`] put things into the queue and return. The queue is bounded in bytes; who
//!    finds it full waits.
//! 2. The thread takes everything that is there at once, appends it to the journal, and hands it to the system with one write:
//!    what was taken survives the death of the program. That happens within about a millisecond. A caller that waits for it does the same
//!    himself, unless the thread is at it. A recorder that lasts for no millisecond has [no thread](watch). On request it goes to the
//!    disk as well. The journal's file gets its name with the first write; until then an empty file of another name is locked.
//! 3. Secrets are taken out of an exchange before a byte of it is written: of a whole one by the thread, of one that is recorded
//!    as it happens by whoever records it.
//! 4. [`Recorder::finish`] takes what is left in the queue, seals the cassette and takes the journal away. If nothing was written by then,
//!    it seals from memory; should that take longer than a millisecond, the thread writes the journal meanwhile. [`Recorder::stop`],
//!    and dropping, write what is left: the recording stays and can be read, gone on with and sealed.

mod call;
mod gate;
mod queue;
pub(crate) mod redacting;
mod watch;

pub use crate::record::retell::ExchangeEnd;
pub use call::OpenExchange;
use redacting::RecordingRedaction;

use crate::error::{FileError, ReadError, RecordError, SealError};
use crate::exchange::{Exchange, Note};
use crate::file::folder_and_name;
use crate::filter::{Filter, Verdict};
use crate::key::KeyScheme;
use crate::message::Request;
use crate::record::event::Event;
use crate::record::retell::retell;
use crate::recording::{self, RecordingFrames, RecordingSource, is_blank, recording_path};
use crate::redact::{Findings, Redaction};
use crate::seal::options::SealOptions;
use crate::seal::read::SealedFile;
use gate::{FilterGate, LeftOutFilter};
use journal::{Chain, Disk, Durability, Journal, SingleFile, SyncError};
use queue::{ExchangeNumbering, FrameWriter, QueueItem, WriteQueue, append_frame, frame_of, weight};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs, io};
use watch::WriterJob;

/// How many bytes may wait to be written.
pub const QUEUE_BYTES_DEFAULT: usize = 64 << 20;

/// Exchanges that may be longer than this are recorded in several frames.
const WHOLE_BYTES_MAX: usize = 4 << 20;

/// A recording of more bytes goes through its journal before it is sealed, even if none of it was written yet.
const HELD_BYTES_MAX: usize = 1 << 20;

/// How a cassette is recorded.
#[derive(Clone, Debug)]
pub struct RecorderOptions {
    queue_bytes: usize,
    durability: Durability,
    seal: SealOptions,
    meta: Vec<Note<'static>>,
    redaction: Option<Arc<Redaction>>,
    filter: Option<Filter>,
}

impl Default for RecorderOptions {
    fn default() -> Self {
        Self {
            queue_bytes: QUEUE_BYTES_DEFAULT,
            durability: Durability::Os,
            seal: SealOptions::default(),
            meta: Vec::new(),
            redaction: Some(Redaction::usual()),
            filter: None,
        }
    }
}

impl RecorderOptions {
    /// How many bytes may wait to be written before those who record have to wait. Something larger waits by itself.
    #[must_use]
    pub fn queue_bytes(mut self, bytes: usize) -> Self {
        self.queue_bytes = bytes;
        self
    }

    /// How durable everything is made: what the system has survives the death of the program, what the disk has the loss of
    /// power. One sync serves everything that waits.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// How durable the cassette is when [`Recorder::finish`] returns: on the disk, unless less is asked for. Then finishing does not
    /// wait for a new cassette, and a loss of power within the next seconds may leave none, or one that is not whole and says so when it is
    /// opened. What was on the disk before is not risked: what an older cassette holds, and what a [sync](Recorder::sync) of the
    /// recording has put there.
    #[must_use]
    pub fn sealing(mut self, durability: Durability) -> Self {
        self.seal.durability = durability;
        self
    }

    /// How the request keys of the sealed cassette are made.
    #[must_use]
    pub fn key(mut self, key: KeyScheme) -> Self {
        self.seal.key = key;
        self
    }

    /// What is a secret, in place of the usual rules. Sealing still looks for known forms of secrets.
    #[must_use]
    pub fn redaction(mut self, redaction: Arc<Redaction>) -> Self {
        self.redaction = Some(redaction);
        self
    }

    /// Secrets are recorded as everything else, and sealing does not look for them. Rules that are given after this are used.
    #[must_use]
    pub fn keep_secrets(mut self) -> Self {
        self.redaction = None;
        self.seal.keeps_secrets = true;
        self
    }

    /// What is not recorded. It is counted on the cassette, so it does not vanish without a trace; what is left out takes a number
    /// all the same. A request that may be left out for its response is held back in memory until that begins, or 8 MiB are there.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = Some(filter);
        self
    }

    /// Something to be known of the cassette, such as its name. The last value of a name counts.
    #[must_use]
    pub fn meta(mut self, note: Note<'static>) -> Self {
        self.meta.push(note);
        self
    }
}

/// Records a cassette. Any number of threads may use one.
///
/// ```
/// use cassette::{Exchange, Recorder, RecorderOptions, Request, Response, Cassette};
///
/// let path = std::env::temp_dir().join(format!("recorded-{}.cassette", std::process::id()));
/// let recorder = Recorder::open(&path, RecorderOptions::default())?;
/// let request = Request { method: "GET".into(), target: "/frogs".into(), ..Request::default() };
/// let response = Response { status: 200, ..Response::default() };
/// recorder.record(Exchange { request, response: Some(response), ..Exchange::default() })?;
/// recorder.finish()?;
///
/// let cassette = Cassette::open(&path)?;
/// assert_eq!(cassette.exchange(0)?.request.target, "/frogs");
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Recorder {
    queue: Arc<WriteQueue>,
    /// Gone when the recorder has ended.
    journal: Option<Arc<Journal>>,
    writing: Arc<FrameWriter>,
    path: PathBuf,
    recording: PathBuf,
    disk: Arc<dyn Disk>,
    seal: SealOptions,
    sieve: Option<Arc<LeftOutFilter>>,
    warnings: Vec<String>,
}

impl Recorder {
    /// Records to a cassette: a new one, or after what a sealed one holds, or after what a crash left of a recording.
    ///
    /// # Errors
    /// Somebody records to it, what is there is not what was written, or the system refuses.
    pub fn open(path: impl AsRef<Path>, options: RecorderOptions) -> Result<Self, RecordError> {
        let path = path.as_ref();
        let recording = recording_path(path);
        let sealed = sealed_at(path)?;
        let disk = disk_of(&recording)?;
        // A recorder that does not wait for the disk has no file before there is something to write.
        let beginning = if options.durability == Durability::Fsync { Durability::Fsync } else { Durability::None };
        let (journal, warnings) = Journal::open(disk.clone(), journal::Options::default().beginning(beginning))
            .map_err(|error| RecordError::Journal(format!("{}: {error}", recording.display())))?;
        let sieve = options.filter.clone().map(LeftOutFilter::new);
        if let (Some(sieve), Some(sealed)) = (&sieve, &sealed) {
            sealed.meta()?.iter().for_each(|note| sieve.counts.read(note));
        }
        let mut next_number = sealed.as_ref().map_or(0, |sealed| sealed.trailer().next_number);
        if journal.progress().appended > 0 {
            let shown = recording.display().to_string();
            let survey = recording::survey(&RecordingFrames::On(disk.clone()), &shown, None)?;
            if sealed.as_ref().map_or(Ok(false), |sealed| survey.is_on(sealed, &disk, &shown))? {
                // A crash came between the sealing and the removal. The lock on it goes with the journal.
                remove(&recording)?;
                return Self::open(path, options);
            }
            next_number = next_number.max(survey.next_number);
            if let Some(sieve) = &sieve {
                let notes = survey.meta.into_iter().map(|(name, value)| Note { name, value });
                notes.for_each(|note| sieve.counts.read(&note));
            }
        }
        let queue = Arc::new(WriteQueue::new(options.queue_bytes, next_number));
        let journal = Arc::new(journal);
        let redacting = options.redaction.map(RecordingRedaction::new);
        let writing = Arc::new(FrameWriter { durability: options.durability, redacting });
        let job =
            WriterJob { queue: Arc::downgrade(&queue), journal: Arc::downgrade(&journal), writing: writing.clone() };
        // To wait for the disk is the writer's.
        if options.durability == Durability::Fsync {
            job.begin()
        } else {
            watch::watch(job)?
        }
        let (path, seal, journal) = (path.to_owned(), options.seal, Some(journal));
        let warnings = warnings.iter().map(ToString::to_string).collect();
        let sieve = sieve.map(Arc::new);
        let recorder = Self { queue, journal, writing, path, recording, disk, seal, sieve, warnings };
        // They may have to wait for room, so the writer is there before them.
        options.meta.into_iter().try_for_each(|note| recorder.meta(note))?;
        Ok(recorder)
    }

    /// What a crash left behind, and opening mended.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// A number for an exchange that begins now and will be recorded by [`Recorder::record_started`] when it is over. If no
    /// number is left, it is one that nothing can be recorded under.
    pub fn start(&self) -> u64 {
        self.queue.start()
    }

    /// Records an exchange under the next number, which it gives. It returns when the exchange is in the queue.
    ///
    /// # Errors
    /// The recorder has failed, or the exchange has a part that is too long.
    pub fn record(&self, mut exchange: Exchange<'static>) -> Result<u64, RecordError> {
        if self.leaves_out(&exchange)? {
            return self.queue.number();
        }
        if weight(&exchange) > WHOLE_BYTES_MAX {
            exchange.number = self.queue.number()?;
            return self.retell(exchange);
        }
        self.queue.give_next(Box::new(exchange))
    }

    /// Records an exchange under the number that it has: one that [`Recorder::start`] gave, or one above all that are taken.
    ///
    /// # Errors
    /// As [`Recorder::record`], and [`RecordError::NumberTaken`] for any other number.
    pub fn record_started(&self, exchange: Exchange<'static>) -> Result<(), RecordError> {
        if self.leaves_out(&exchange)? {
            return self.queue.take_number(exchange.number);
        }
        if weight(&exchange) > WHOLE_BYTES_MAX {
            self.queue.take_number(exchange.number)?;
            return self.retell(exchange).map(drop);
        }
        self.queue.give_started(Box::new(exchange))
    }

    /// Whether the filter leaves an exchange out, which is counted then.
    fn leaves_out(&self, exchange: &Exchange<'_>) -> Result<bool, RecordError> {
        let Some(sieve) = &self.sieve else { return Ok(false) };
        match sieve.filter.decide(&exchange.request, exchange.response.as_ref()) {
            Verdict::Kept => Ok(false),
            Verdict::LeftOut(reason) => sieve.count(reason, &self.queue, self.redaction()).map(|()| true),
        }
    }

    /// Records an exchange that is too long for a frame. Gives its number.
    fn retell(&self, mut exchange: Exchange<'static>) -> Result<u64, RecordError> {
        if let Some(redacting) = &self.writing.redacting {
            redacting.exchange(&mut exchange);
        }
        retell(&exchange, &mut |event| self.queue.give(frame_of(event, exchange.number)?))?;
        Ok(exchange.number)
    }

    /// As [`Recorder::record`], if there is room in the queue.
    ///
    /// # Errors
    /// The recorder has failed; or the queue is full, and the exchange is given back in the error.
    pub fn try_record(&self, exchange: Exchange<'static>) -> Result<u64, TryRecordError> {
        if self.leaves_out(&exchange).map_err(TryRecordError::Failed)? {
            return self.queue.number().map_err(TryRecordError::Failed);
        }
        self.queue.try_give(Box::new(exchange), ExchangeNumbering::Next)
    }

    /// As [`Recorder::record_started`], if there is room in the queue.
    ///
    /// # Errors
    /// As [`Recorder::try_record`], and as [`Recorder::record_started`] for the number.
    pub fn try_record_started(&self, exchange: Exchange<'static>) -> Result<(), TryRecordError> {
        if self.leaves_out(&exchange).map_err(TryRecordError::Failed)? {
            return self.queue.take_number(exchange.number).map_err(TryRecordError::Failed);
        }
        self.queue.try_give(Box::new(exchange), ExchangeNumbering::Started).map(drop)
    }

    /// Records an exchange under the next number and returns when it is as durable as asked.
    ///
    /// # Errors
    /// As [`Recorder::record`].
    pub fn record_sync(&self, exchange: Exchange<'static>, durability: Durability) -> Result<u64, RecordError> {
        let number = self.record(exchange)?;
        self.sync(durability)?;
        Ok(number)
    }

    /// Begins an exchange that is recorded as it happens: a request, with as much of its body as is there.
    ///
    /// # Errors
    /// The recorder has failed, or the head of the request is too long.
    pub fn begin(&self, started_ns: i64, request: &Request<'_>) -> Result<OpenExchange, RecordError> {
        let gate = self.sieve.clone().map(|sieve| FilterGate::new(sieve, request, &self.queue, self.redaction()));
        let gate = gate.transpose()?;
        OpenExchange::begin(
            (self.queue.clone(), gate),
            self.writing.redacting.as_ref(),
            self.queue.number()?,
            started_ns,
            request,
        )
    }

    /// Something to be known of the cassette; the last value of a name counts.
    ///
    /// # Errors
    /// The recorder has failed.
    pub fn meta(&self, note: Note<'_>) -> Result<(), RecordError> {
        let note = redacted(note.into_owned(), self.redaction());
        self.queue.give(frame_of(&Event::Meta(note), 0)?)
    }

    /// Returns when everything recorded so far is as durable as asked.
    ///
    /// # Errors
    /// The recorder has failed.
    pub fn sync(&self, durability: Durability) -> Result<(), RecordError> {
        let Some(journal) = &self.journal else { return Err(RecordError::Closed) };
        self.queue.write_and_wait(self.queue.given(), durability, (journal, &self.writing))?;
        // Where nothing was recorded, nothing has begun it.
        if journal.has_begun() { Ok(()) } else { journal.sync(durability).map_err(journal_failed) }
    }

    fn redaction(&self) -> Option<&Redaction> {
        self.writing.redacting.as_ref().map(|redacting| &*redacting.redaction)
    }

    /// Which secrets were found in what was recorded so far, and where. Of what waits to be written not all is known.
    pub fn findings(&self) -> Findings {
        self.writing.redacting.as_ref().map(|redacting| redacting.tally.found()).unwrap_or_default()
    }

    /// As [`Recorder::sync`] with [`Durability::Os`], if that takes no longer than to write `bytes_max` bytes: `None` if more wait,
    /// somebody else writes, or everything goes to the disk.
    ///
    /// # Errors
    /// The recorder has failed.
    pub fn try_sync(&self, bytes_max: usize) -> Option<Result<(), RecordError>> {
        let Some(journal) = &self.journal else { return Some(Err(RecordError::Closed)) };
        self.queue.try_write(self.queue.given(), bytes_max, (journal, &self.writing))
    }

    /// How many bytes wait to be written.
    pub fn queued_bytes(&self) -> usize {
        self.queue.bytes()
    }

    /// Writes what waits and leaves the recording as it is, on the disk.
    ///
    /// # Errors
    /// The recorder has failed, at any time since it was opened.
    pub fn stop(mut self) -> Result<(), RecordError> {
        let journal = self.end(|recorder, journal, (left, _)| recorder.write(journal, left))?;
        journal.close().map_err(journal_failed)
    }

    /// Writes what waits and seals the cassette. Exchanges that are not over are partial on it.
    ///
    /// # Errors
    /// The recorder has failed, at any time since it was opened, or the cassette cannot be sealed, such as for a secret in it. The
    /// recording is there still.
    pub fn finish(mut self) -> Result<(), RecordError> {
        let journal = self.end(Self::seal)?;
        // While the journal is open it is locked, so nobody goes on with what is sealed.
        if journal.has_begun() {
            remove(&self.recording)?;
        }
        journal.discard().map_err(journal_failed)
    }

    /// Has done what is to be done with what is left in the queue, and ends.
    fn end(
        &mut self,
        last: impl FnOnce(&Self, &Journal, (Vec<QueueItem>, usize)) -> Result<(), RecordError>,
    ) -> Result<Journal, RecordError> {
        let journal = self.journal.take().ok_or(RecordError::Closed)?;
        let left = self.queue.close();
        let done = self.queue.failure().map_or_else(|| last(self, &journal, left), Err);
        self.queue.end();
        // Nobody else has it: the writer has let go of it, and a caller that syncs has the recorder.
        let journal = Arc::into_inner(journal).ok_or(RecordError::WriterDied)?;
        done.map(|()| journal)
    }

    fn write(&self, journal: &Journal, left: Vec<QueueItem>) -> Result<(), RecordError> {
        queue::frames(left, self.writing.redacting.as_ref(), &mut |frame| append_frame(journal, frame))?;
        journal.sync(self.writing.durability.max(Durability::Os)).map_err(journal_failed)
    }

    fn seal(&self, journal: &Journal, (left, bytes): (Vec<QueueItem>, usize)) -> Result<(), RecordError> {
        if journal.has_begun() || journal.progress().appended > 0 || bytes > HELD_BYTES_MAX {
            self.write(journal, left)?;
            return self.seal_frames(journal, RecordingFrames::On(self.disk.clone()));
        }
        let mut held = Vec::new();
        queue::frames(left, self.writing.redacting.as_ref(), &mut |frame| {
            held.push(frame.to_vec());
            append_frame(journal, frame)
        })?;
        // Should sealing take long, they do not lie in memory alone meanwhile.
        self.queue.guard();
        let sealed = self.seal_frames(journal, RecordingFrames::Held(&held, journal.chain()));
        if sealed.is_err() {
            journal.sync(Durability::Os).map_err(journal_failed)?;
        }
        sealed
    }

    fn seal_frames(&self, journal: &Journal, frames: RecordingFrames<'_>) -> Result<(), RecordError> {
        let sealed = sealed_at(&self.path)?;
        if sealed.is_some() && journal.chain() == Chain::genesis() {
            // Nothing is to be added to the cassette.
            return Ok(());
        }
        let (folder, name) = folder_and_name(&self.path).map_err(SealError::Disk)?;
        let shown = self.recording.display().to_string();
        let source = RecordingSource { journal, frames, shown: &shown };
        recording::seal(&source, &folder, &name, self.seal.clone(), sealed.as_ref())
    }
}

/// Waits until what was recorded is written. Errors are not seen here; [`Recorder::finish`] and [`Recorder::stop`] give them.
impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.end(|recorder, journal, (left, _)| recorder.write(journal, left));
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Why an exchange was not recorded at once.
#[derive(Clone, Debug)]
pub enum TryRecordError {
    /// There is no room now; this is the exchange.
    Full(Box<Exchange<'static>>),
    /// The recorder has failed.
    Failed(RecordError),
}

impl fmt::Display for TryRecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(_) => f.write_str("the recorder's queue is full: wait until some of it is written"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TryRecordError {}

fn journal_failed(error: SyncError) -> RecordError {
    RecordError::Journal(error.to_string())
}

/// A note of the cassette without secrets.
fn redacted(note: Note<'static>, redaction: Option<&Redaction>) -> Note<'static> {
    let Some(redaction) = redaction else { return note };
    let mut exchange = Exchange { notes: vec![note], ..Exchange::default() };
    redaction.exchange(&mut exchange);
    exchange.notes.swap_remove(0)
}

fn sealed_at(path: &Path) -> Result<Option<SealedFile>, RecordError> {
    match SealedFile::open(path) {
        Ok(sealed) => Ok(Some(sealed)),
        Err(ReadError::Disk(failure)) if failure.error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn disk_of(recording: &Path) -> Result<Arc<dyn Disk>, RecordError> {
    let disk = match SingleFile::create(recording) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_blank(recording) => {
            // A power failure left its name and nothing of what was in it.
            remove(recording)?;
            SingleFile::create(recording)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => SingleFile::open(recording),
        disk => disk,
    };
    let disk = disk.map_err(FileError::new("open", recording.display().to_string()))?;
    Ok(Arc::new(disk))
}

/// Takes a recording away that is on a sealed cassette now.
fn remove(recording: &Path) -> Result<(), RecordError> {
    fs::remove_file(recording).map_err(FileError::new("remove", recording.display().to_string()))?;
    Ok(())
}
