//! Making a base again of one that is damaged.
//!
//! 1. The commits of the damaged base are made to happen again, up to the first that cannot be read, or does not come to the state
//!    that was recorded with it. What follows such a commit was made in a state that is not known any more.
//! 2. The frames up to there are copied as they are to a new directory. The manifest is written last, and until then the
//!    directory says that it is [unfinished](UnfinishedCopy), so that a salvage that did not end is not taken for a base.
//!
//! The damaged base is not written to; it may lack its manifest. If its old commits were given up and what they came to is damaged, its
//! newest checkpoint takes the place of that.
//!
//! A fork is made in the same way, of a base that is sound.

use super::directory::{self, UnfinishedCopy};
use super::error::KnowledgeBaseError;
use super::load::Loaded;
use super::report::KnowledgeBaseReport;
use super::start::Start;
use super::{CommitJournal, journal_options};
use journal::{AppendError, Beginning, Directory, Disk, Durability, Journal, MemoryDisk, Reader};
use metta::Session;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

/// What a salvage did.
#[derive(Debug)]
#[non_exhaustive]
pub struct SalvagedKnowledgeBase {
    /// What the new base holds.
    pub report: KnowledgeBaseReport,
    /// Why it does not hold what came after that, if something did.
    pub lost: Option<KnowledgeBaseError>,
}

impl CommitJournal {
    /// Makes a base in a new directory of what is sound in a damaged one.
    ///
    /// # Errors
    /// No commit is sound, something lies where the new base is to be, or it cannot be written.
    pub fn salvage(
        damaged: impl AsRef<Path>,
        to: impl AsRef<Path>,
    ) -> Result<SalvagedKnowledgeBase, KnowledgeBaseError> {
        let (damaged, to) = (damaged.as_ref(), to.as_ref());
        let base = match Self::read(damaged) {
            Err(KnowledgeBaseError::NoManifest { .. }) => Self::read_journal(damaged)?,
            base => base?,
        };
        let start = match base.start() {
            Err(error @ KnowledgeBaseError::NoBeginning { .. }) => Start::of_newest(&base).ok_or(error)?,
            start => start?,
        };
        let (mut session, mut loaded) = start.make()?;
        session.program_mut().keep_hashes();
        let mut commits = start.commits(&base)?;
        let first_frame = commits.frames();
        let lost = match loaded.take(&base, &mut commits, &mut session) {
            Err(error) if loaded.epoch == 0 => return Err(error),
            taken => taken.err(),
        };
        check_unoccupied(to)?;
        copy(&base, &start, loaded.frames.max(first_frame), to, None, "salvage")?;
        Ok(SalvagedKnowledgeBase { report: KnowledgeBaseReport::new(&loaded, &session, start.first()), lost })
    }
}

impl CommitJournal {
    /// Makes a base in a new directory of the commits of another up to one, or of all there are.
    ///
    /// # Errors
    /// There is no base or no such commit, it is damaged, something lies where the new one is to be, or that cannot be written.
    pub fn fork(
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        at: Option<u64>,
    ) -> Result<KnowledgeBaseReport, KnowledgeBaseError> {
        let (mut base, to) = (Self::read(from)?, to.as_ref());
        let (start, session, loaded) = base.make_up_to(at)?;
        check_unoccupied(to)?;
        // The first frame says what the journal is.
        copy(&base, &start, loaded.frames.max(1), to, None, "fork")?;
        Ok(KnowledgeBaseReport::new(&loaded, &session, start.first()))
    }

    /// A base in memory with the commits of this one up to one, or all there are.
    ///
    /// # Errors
    /// There is no such commit, or it is damaged.
    pub fn fork_in_memory(self, at: Option<u64>) -> Result<Self, KnowledgeBaseError> {
        self.fork_keeping(at, None)
    }

    /// [`Self::fork_in_memory`], but from then on `history_bytes_max` bytes of its history are kept, or all of it.
    pub(crate) fn fork_keeping(
        mut self,
        at: Option<u64>,
        history_bytes_max: Option<u64>,
    ) -> Result<Self, KnowledgeBaseError> {
        let (start, _, loaded) = self.make_up_to(at)?;
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        copy_frames(&self, loaded.frames.max(1), &disk)?;
        copy_files(&self, start.file(), &disk)?;
        Self::on_memory(disk, self.directory(), history_bytes_max)
    }

    /// Makes the commits up to one happen again, or all there are: where they start, and what they come to.
    fn make_up_to(&mut self, at: Option<u64>) -> Result<(Start, Session, Loaded), KnowledgeBaseError> {
        self.end_at(at.unwrap_or(u64::MAX));
        let start = self.start()?;
        let (mut session, mut loaded) = start.make()?;
        session.program_mut().keep_hashes();
        loaded.take(self, &mut start.commits(self)?, &mut session)?;
        match at {
            Some(epoch) if epoch > loaded.epoch => Err(KnowledgeBaseError::NoEpoch { epoch, last: loaded.epoch }),
            _ => Ok((start, session, loaded)),
        }
    }
}

/// An error unless there is nothing in a directory.
pub(super) fn check_unoccupied(path: &Path) -> Result<(), KnowledgeBaseError> {
    match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(false) => Err(KnowledgeBaseError::Occupied { path: path.to_owned() }),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            Err(KnowledgeBaseError::Occupied { path: path.to_owned() })
        }
        Err(error) => Err(KnowledgeBaseError::Io { path: path.to_owned(), error }),
    }
}

/// Makes a base of the frames of another below a number, with its start, and its checkpoint of this name.
pub(super) fn copy(
    base: &CommitJournal,
    start: &Start,
    frames: u64,
    to: &Path,
    checkpoint: Option<&str>,
    kind: &str,
) -> Result<(), KnowledgeBaseError> {
    let copied = UnfinishedCopy::begin(to, &format!("{kind} of {}", base.directory()))?;
    let _lock = directory::lock(to)?;
    let folder = directory::journal_of(to);
    let disk = Directory::create(&folder).map_err(|error| KnowledgeBaseError::Io { path: folder, error })?;
    let disk: Arc<dyn Disk> = Arc::new(disk);
    copy_frames(base, frames, &disk)?;
    let checkpoint = checkpoint.map(|name| (name, name.to_owned()));
    copy_files(base, start.file().into_iter().chain(checkpoint), &disk)?;
    copied.complete()
}

/// Makes a journal of the frames of a base below a number.
fn copy_frames(base: &CommitJournal, frames: u64, disk: &Arc<dyn Disk>) -> Result<(), KnowledgeBaseError> {
    let beginning = Beginning::of(&base.disk)?;
    let first = beginning.frame;
    let options = journal_options().segment_bytes(base.segment_bytes()).continues(beginning);
    let opened = Journal::open(Arc::clone(disk), options);
    let (journal, _) = opened.map_err(|error| KnowledgeBaseError::Open(Box::new(error)))?;
    let failed = |error: AppendError| KnowledgeBaseError::Append(Box::new(error));
    let mut reader = Reader::from_frame(Arc::clone(&base.disk), first)?;
    while reader.place().number < frames {
        let Some(frame) = reader.read_next()? else { break };
        journal.append(frame.payload, Durability::None).map_err(failed)?;
    }
    journal.close().map_err(|error| KnowledgeBaseError::Sync(Box::new(error)))
}

/// Copies files of a base, each under a name.
fn copy_files<'a>(
    base: &CommitJournal,
    files: impl IntoIterator<Item = (&'a str, String)>,
    to: &Arc<dyn Disk>,
) -> Result<(), KnowledgeBaseError> {
    for (from, name) in files {
        let copied = copy_file(&base.disk, to, from, &name);
        copied.map_err(|error| KnowledgeBaseError::Io { path: base.directory().into(), error })?;
    }
    Ok(())
}

/// How many bytes are copied at once.
const COPY_BYTES: usize = 1 << 20;

fn copy_file(from: &Arc<dyn Disk>, to: &Arc<dyn Disk>, name: &str, new_name: &str) -> io::Result<()> {
    let bytes = from.map(name)?;
    let file = to.create(new_name)?;
    for (number, piece) in bytes.chunks(COPY_BYTES).enumerate() {
        file.write_full((number * COPY_BYTES) as u64, piece)?;
    }
    file.sync()?;
    to.sync_names()
}
