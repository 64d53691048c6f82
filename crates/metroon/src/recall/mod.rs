//! What is on record of a run, wherever it is kept.
//!
//! A [`Recall`] is what is on record of a [`Session`]: its sources, and where its forms were ended. It puts together what the run is to
//! be kept in, a base, and what it has to do with a tape, which it is recorded on or follows.
//!
//! Its commits go to sinks, in this order:
//!
//! 1. the [`ReplayGate`] of a replay, which ends it before anything is counted if it has gone as far as it is to go;
//! 2. the [`StateHashSink`], which counts commits and keeps the state hash;
//! 3. the [`JournalSink`] of a base, which writes the records of the commit;
//! 4. the [`TapeSink`], which writes what the commit came to, or the [`ReplaySink`], which compares it with what was written.
//!
//! A base that is only read has the [`ReadOnlySink`] in place of all of them.
//!
//! What they share is the [`Ledger`] of the run. Other sinks come after them; see [`Session::add_sink`](metta::Session::add_sink).

mod error;
#[cfg(test)]
mod hostile;
mod read_only;

pub use error::{RecallError, find_error};

use crate::commit_journal::checkpoint::Checkpointer;
use crate::commit_journal::ledger::{Ledger, SharedLedger, begun_record};
use crate::commit_journal::load::{Loaded, new_session};
use crate::commit_journal::record::{self, Record};
use crate::commit_journal::sinks::{JournalSink, StateHashSink};
use crate::commit_journal::sources::SourceMatch;
use crate::commit_journal::{CheckpointReport, CommitJournal, KnowledgeBaseError, pieces};
use crate::history::{KeptHistory, statements};
use crate::load::imports as load_formats;
use crate::logs;
use crate::program::RunRequest;
use crate::tape::recording::{RecordingWorld, SharedTape};
use crate::tape::replaying::{self, Follower, ReplayEnd, ReplayingWorld, SharedFollower};
use crate::tape::sinks::{ReplayGate, ReplaySink, TapeSink};
use crate::tape::{Tape, TapeBase, TapeError, TapeFrame, TapeHalted, TapeReader, secrets};
use journal::{Disk, Durability, Journal, MemoryDisk, Options, Reader};
use metta::{
    Begun, Cause, CommitSink, CommitTrigger, ContentHasher, Halted, History, HostSignature, Known, ModuleId, RunRecord,
    RunRecordError, Session, SourceContent, SourceId, SourceText, World, WorldError,
};
use read_only::ReadOnlySink;
use statistics::Entries;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// What is on record of a run.
pub(crate) struct Recall {
    ledger: SharedLedger,
    base: Option<Rc<CommitJournal>>,
    history: Option<KeptHistory>,
    tape: TapeMode,
    /// How many `!` forms came before the one that is being run.
    evaluations: u64,
    /// Sources that have begun since the last commit.
    begun: Vec<SourceId>,
    /// Sources that have ended since the last commit.
    ended: Vec<SourceId>,
    /// What people should know of the sources that have begun.
    notices: Vec<String>,
    /// What failed. What would follow could not be told from what is lost, so nothing does.
    failed: Option<String>,
}

/// What a knowledge base has kept of a run.
pub(crate) struct KeptInBase {
    epoch: u64,
    commits: u64,
    /// None if it is only read.
    frames: Option<u64>,
}

/// The groups for the base and for the tape that a run is kept in: the tape by its frames and commits.
pub(crate) fn entries_of_keeping(base: Option<KeptInBase>, tape: Option<(u64, u64)>, to: &mut Entries) {
    let meaning = "What the knowledge base has kept of the run, if there is one.";
    match base {
        Some(base) => to.group("base", meaning, |to| {
            to.count("epoch", "The last commit.", base.epoch);
            to.count("commits", "Commits of the run, those that changed nothing included.", base.commits);
            to.count("frames", "Frames that its journal has, if the run may write to it.", base.frames);
        }),
        None => to.no_group("base", meaning),
    }
    let meaning = "What the tape has that the run is recorded on, if there is one.";
    match tape {
        Some((frames, commits)) => to.group("tape", meaning, |to| {
            to.count("commits", "Commits of the run, those that changed nothing included.", commits);
            to.count("frames", "Frames so far.", frames);
        }),
        None => to.no_group("tape", meaning),
    }
}

/// What a run has to do with a tape.
enum TapeMode {
    None,
    Records(SharedTape),
    Replays(SharedFollower),
}

/// A run that has been begun, with what is to be remembered of it: what an [`Engine`](crate::Engine) is made of.
pub(crate) struct BegunRun {
    pub(crate) session: Session,
    /// The tape that it follows.
    pub(crate) follower: Option<SharedFollower>,
    /// What writes the checkpoints of its base.
    pub(crate) checkpoints: Option<Rc<Checkpointer>>,
    /// What it goes on in, and the checkpoint that it was made of.
    pub(crate) base: Option<(Arc<dyn Disk>, Option<CheckpointReport>)>,
    /// What opening its base could not use.
    pub(crate) warnings: Vec<String>,
}

impl BegunRun {
    /// A run that is forgotten.
    pub(crate) fn nothing(mut session: Session) -> Self {
        session.set_formats(load_formats());
        Self { session, follower: None, checkpoints: None, base: None, warnings: Vec::new() }
    }

    /// A run that goes on in a base, is recorded on a tape, or both; or is forgotten, at no cost.
    pub(crate) fn new(
        world: Box<dyn World>,
        base: Option<CommitJournal>,
        tape: Option<Tape>,
        program: &RunRequest,
    ) -> Result<Self, RecallError> {
        if base.is_none() && tape.is_none() {
            return Ok(Self::nothing(Session::new(world)));
        }
        let (world, tape_mode): (Box<dyn World>, TapeMode) = match tape {
            Some(mut tape) => {
                begin_tape(&mut tape, program, base.as_ref())?;
                let tape: SharedTape = Rc::new(RefCell::new(Some(tape)));
                (Box::new(RecordingWorld::new(world, Rc::clone(&tape))), TapeMode::Records(tape))
            }
            None => (world, TapeMode::None),
        };
        Ok(Recall::follow(base, tape_mode, world)?)
    }

    /// A run that follows a tape. What it prints goes to a world.
    pub(crate) fn replaying(
        output: Box<dyn World>,
        mut tape: TapeReader,
        stop_after: Option<u64>,
    ) -> Result<(Self, RunRequest), RecallError> {
        let outlook = replaying::look_ahead(&mut tape)?;
        let begin = tape.next(|frame| match frame {
            TapeFrame::Begin(begin) => Ok(Some(begin)),
            _ => Ok(None),
        })?;
        let begin = begin.flatten().ok_or(TapeError::NotATape)?;
        if begin.semantics != record::SEMANTICS_VERSION {
            let (found, known) = (begin.semantics, record::SEMANTICS_VERSION);
            return Err(TapeError::Semantics { found, known }.into());
        }
        let base = begin.base.as_ref().map(|base| read_image(&mut tape, base)).transpose()?;
        let follower = Follower::new(tape, &outlook, stop_after);
        let world = ReplayingWorld::new(Rc::clone(&follower), output);
        let mut run = Recall::follow(base, TapeMode::Replays(Rc::clone(&follower)), Box::new(world))?;
        for identity in &outlook.functions {
            let unknown = || TapeError::Malformed { frame: 0, reason: format!("{identity} is no function of a host") };
            let signature = HostSignature::of_identity(identity).ok_or_else(unknown)?;
            run.session
                .world()
                .note_function(identity)
                .map_err(|error| TapeError::Malformed { frame: 0, reason: error.to_string() })?;
            run.session.program_mut().declare_host_function(&signature);
        }
        Ok((Self { follower: Some(follower), ..run }, begin.program_to_replay()))
    }
}

/// Tells that a base is open.
fn tell_opened(directory: &str, epoch: u64, atoms: usize, warnings: &[String]) {
    tracing::info!(target: logs::OPEN, directory, epoch, atoms, "opened");
    for warning in warnings {
        tracing::warn!(target: logs::OPEN, directory, warning, "opened with a warning");
    }
}

/// Writes what is run, and the base it begins with.
fn begin_tape(tape: &mut Tape, program: &RunRequest, base: Option<&CommitJournal>) -> Result<(), RecallError> {
    let Some(base) = base else { return Ok(tape.begin(program, None)?) };
    base.check_recordable()?;
    let read = |error| RecallError::KnowledgeBase(KnowledgeBaseError::from(error));
    let secrets::Frames { count: frames, torn } = secrets::look_through(base, tape)?;
    tape.begin(program, Some(TapeBase { directory: base.directory().to_owned(), frames }))?;
    let mut reader = Reader::from_frame(Arc::clone(&base.disk), 0).map_err(read)?;
    for number in 0..frames {
        let Some(frame) = reader.read_next().map_err(read)? else { break };
        tape.image(if torn.contains(&number) { &pieces::NOTHING } else { frame.payload })?;
    }
    Ok(())
}

/// The base that a tape begins with, in memory.
fn read_image(tape: &mut TapeReader, image: &TapeBase) -> Result<CommitJournal, RecallError> {
    let malformed = |reason: String| RecallError::Tape(TapeError::Malformed { frame: 0, reason });
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let opened = Journal::open(Arc::clone(&disk), Options::default());
    let (journal, _) = opened.map_err(|error| malformed(error.to_string()))?;
    for _ in 0..image.frames {
        let appended = tape.next(|frame| match frame {
            TapeFrame::Image(payload) => Ok(Some(journal.append(payload, Durability::Os))),
            _ => Ok(None),
        })?;
        let appended = appended.flatten().ok_or_else(|| malformed("a part of its base is missing".to_owned()))?;
        appended.map_err(|error| malformed(error.to_string()))?;
    }
    journal.close().map_err(|error| malformed(error.to_string()))?;
    Ok(CommitJournal::on_disk(disk, &image.directory)?)
}

impl Recall {
    /// A run on record that goes on where its base ended.
    fn follow(
        base: Option<CommitJournal>,
        tape: TapeMode,
        world: Box<dyn World>,
    ) -> Result<BegunRun, KnowledgeBaseError> {
        let (mut session, loaded) = match &base {
            Some(base) => Loaded::open(base)?,
            None => (new_session(), Loaded::default()),
        };
        session.set_world(world);
        session.set_formats(load_formats());
        session.program_mut().keep_hashes();
        let Loaded { hash, epoch, sources, is_library_changed, outline, others, checkpoint, .. } = loaded;
        let ledger = Ledger { hash, epoch, commits: 0, sources, is_library_changed, outline, others };
        let ledger = Rc::new(RefCell::new(ledger));
        let base = base.map(|mut base| {
            if base.is_read_only() {
                base.end_at(epoch);
            }
            Rc::new(base)
        });
        let warnings = base.as_ref().map(|base| base.warnings()).unwrap_or_default();
        if let Some(base) = &base {
            let atoms = session.top_space().len();
            tell_opened(base.directory(), epoch, atoms, &warnings);
        }
        let used = base.as_ref().map(|base| (Arc::clone(&base.disk), checkpoint));
        let checkpoints = base.as_ref().filter(|base| !base.is_read_only());
        let checkpoints =
            checkpoints.map(|base| Rc::new(Checkpointer::new(Rc::clone(base), Rc::clone(&ledger), checkpoint)));
        let sinks = match &base {
            Some(base) if base.is_read_only() => {
                let (spaces, states) = (session.program().space_count() as u64, session.program().state_count() as u64);
                vec![Box::new(ReadOnlySink { ledger: Rc::clone(&ledger), spaces, states }) as Box<dyn CommitSink>]
            }
            base => sinks_of(&ledger, base.as_ref().zip(checkpoints.as_ref()), &tape),
        };
        let history = base.as_ref().map(|base| KeptHistory::new(Rc::clone(base), Rc::clone(&ledger)));
        let (begun, ended, notices) = Default::default();
        let recall = Self { ledger, base, history, tape, evaluations: 0, begun, ended, notices, failed: None };
        session.set_record(Box::new(recall), sinks);
        Ok(BegunRun { session, follower: None, checkpoints, base: used, warnings })
    }

    /// Whether nothing has failed.
    fn check(&self) -> Result<(), RunRecordError> {
        let refused = |reason| format!("nothing more is kept, since this failed before: {reason}").into();
        self.failed.as_ref().map_or(Ok(()), |reason| Err(refused(reason)))
    }

    /// Remembers that something failed. A replay that has ended knows so itself.
    fn noting_failure<T>(&mut self, outcome: Result<T, RunRecordError>) -> Result<T, RunRecordError> {
        if let Err(error) = &outcome
            && !matches!(self.tape, TapeMode::Replays(_))
        {
            self.failed.get_or_insert_with(|| error.to_string());
        }
        outcome
    }

    fn begin(
        &mut self,
        program: &mut metta::Program,
        world: &mut dyn World,
        source: &SourceText<'_>,
    ) -> Result<Begun, RunRecordError> {
        if let TapeMode::Replays(follower) = &self.tape {
            follower.borrow_mut().check()?;
        }
        let Some(base) = &self.base else {
            let id = self.ledger.borrow_mut().sources.begin(source, None, [0; 32], SourceMatch::New);
            self.begun.push(id);
            return Ok(Begun { id, known: Known::New });
        };
        let content = match source.content {
            SourceContent::Text(text) => *blake3::hash(text.as_bytes()).as_bytes(),
            SourceContent::Rows(content) => content,
        };
        let file = source.file.map(|file| base.name_of(file));
        let found = self.ledger.borrow().sources.find(source.module, file.as_deref(), &content);
        let found = match found {
            // While the other file is there, this one is a copy of it, and states what it states once more.
            SourceMatch::Moved(id) if self.is_there(base, world, id)? => {
                let other = self.ledger.borrow().sources.origin(id).to_owned();
                self.notices.push(format!(
                    "{} has the text of {other}, which the knowledge base has run and which is still there: what they state is there twice",
                    source.origin
                ));
                SourceMatch::New
            }
            found => found,
        };
        let known = match found {
            SourceMatch::New => Known::New,
            SourceMatch::Unchanged(_) | SourceMatch::Moved(_) => Known::Unchanged,
            SourceMatch::Changed(id) => {
                let number = self.ledger.borrow().sources.get(id).and_then(|source| source.number);
                Known::Changed(number.map_or(Ok(Vec::new()), |number| statements(base, program, number))?)
            }
        };
        let id = self.ledger.borrow_mut().sources.begin(source, file, content, found);
        self.begun.push(id);
        Ok(Begun { id, known })
    }

    /// Notes the sources that have ended and are not recorded as such.
    fn note_ended(&mut self) -> Result<(), KnowledgeBaseError> {
        let ended = std::mem::take(&mut self.ended);
        let Some(base) = &self.base else { return Ok(()) };
        let sources = &mut self.ledger.borrow_mut().sources;
        for id in ended {
            sources.leave(id);
            let Some(source) = sources.get(id) else { continue };
            let is_worth_it = source.is_recorded || source.is_edited;
            if source.is_complete || source.file.is_none() || !is_worth_it {
                continue;
            }
            let number = sources.number(id);
            let Some(source) = sources.get_mut(id) else { continue };
            source.is_complete = true;
            let begun = (!source.is_recorded).then(|| begun_record(number, source));
            let records: Vec<Record<'_>> = begun.into_iter().chain([Record::SourceEnded { source: number }]).collect();
            base.append(vec![record::note_frame(&records)])?;
            source.is_recorded = true;
        }
        Ok(())
    }

    /// Whether the file of a source is where it was.
    fn is_there(&self, base: &CommitJournal, world: &mut dyn World, source: SourceId) -> Result<bool, WorldError> {
        let ledger = self.ledger.borrow();
        let file = ledger.sources.get(source).and_then(|known| known.file.as_deref());
        file.map_or(Ok(false), |file| world.has_source(&metta::clean_path(base.directory(), file)))
    }
}

/// The sinks of a run, in the order in which they take commits.
fn sinks_of(
    ledger: &SharedLedger,
    base: Option<(&Rc<CommitJournal>, &Rc<Checkpointer>)>,
    tape: &TapeMode,
) -> Vec<Box<dyn CommitSink>> {
    let mut sinks: Vec<Box<dyn CommitSink>> = Vec::new();
    let ledger = || Rc::clone(ledger);
    if let TapeMode::Replays(follower) = tape {
        sinks.push(Box::new(ReplayGate { ledger: ledger(), follower: Rc::clone(follower) }));
    }
    sinks.push(Box::new(StateHashSink { ledger: ledger() }));
    if let Some((base, checkpoints)) = base {
        let tape = match tape {
            TapeMode::Records(tape) => Some(Rc::clone(tape)),
            _ => None,
        };
        let (base, checkpoints) = (Rc::clone(base), Rc::clone(checkpoints));
        sinks.push(Box::new(JournalSink { ledger: ledger(), base, tape, checkpoints }));
    }
    match tape {
        TapeMode::None => {}
        TapeMode::Records(tape) => sinks.push(Box::new(TapeSink { ledger: ledger(), tape: Rc::clone(tape) })),
        TapeMode::Replays(follower) => {
            sinks.push(Box::new(ReplaySink { ledger: ledger(), follower: Rc::clone(follower) }));
        }
    }
    sinks
}

/// BLAKE3 of what is read piece by piece.
struct Hasher(blake3::Hasher);

impl ContentHasher for Hasher {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }
}

impl RunRecord for Recall {
    fn notices(&self) -> &[String] {
        &self.notices
    }

    fn begin_source(
        &mut self,
        program: &mut metta::Program,
        world: &mut dyn World,
        source: &SourceText<'_>,
    ) -> Result<Begun, RunRecordError> {
        self.check()?;
        let begun = self.begin(program, world, source);
        self.noting_failure(begun)
    }

    fn content_hasher(&self) -> Option<Box<dyn ContentHasher>> {
        self.base.as_ref().map(|_| Box::new(Hasher(blake3::Hasher::new())) as Box<dyn ContentHasher>)
    }

    fn is_source_of(&self, module: ModuleId, file: &str) -> bool {
        let Some(base) = &self.base else { return true };
        self.ledger.borrow().sources.has_file(module, &base.name_of(file))
    }

    fn sources_begun(&self) -> usize {
        self.begun.len()
    }

    fn undo_sources(&mut self, kept: usize) {
        for id in self.begun.split_off(kept.min(self.begun.len())) {
            self.ended.retain(|ended| *ended != id);
            self.ledger.borrow_mut().sources.forget(id);
        }
    }

    fn end_source(&mut self, source: SourceId) {
        // A base that is only read is not told of it.
        if !self.base.as_ref().is_some_and(|base| base.is_read_only()) {
            self.ended.push(source);
        }
    }

    fn begin_evaluation(&mut self, evaluations: u64, form: Cause) -> Result<Option<Halted>, RunRecordError> {
        self.check()?;
        self.evaluations = evaluations;
        let TapeMode::Replays(follower) = &self.tape else { return Ok(None) };
        let (origin, line, column) = self.ledger.borrow().place(form);
        let mut follower = follower.borrow_mut();
        follower.check()?;
        follower.set_place(format!("{origin}:{line}:{column}"));
        let here = follower.halted().filter(|halted| halted.evaluations == evaluations);
        Ok(here.map(TapeHalted::halted))
    }

    fn committed(&mut self, trigger: CommitTrigger) -> Result<(), RunRecordError> {
        self.begun.clear();
        if matches!(trigger, CommitTrigger::EndOfSource | CommitTrigger::Answer) {
            let noted = self.note_ended().map_err(RunRecordError::from);
            return self.noting_failure(noted);
        }
        Ok(())
    }

    fn halt(&mut self, halted: Halted) -> Result<(), RunRecordError> {
        let here = TapeHalted::new(self.evaluations, halted);
        match &self.tape {
            TapeMode::None => {}
            TapeMode::Records(tape) => {
                if let Some(tape) = &mut *tape.borrow_mut() {
                    tape.halted(here)?;
                }
            }
            TapeMode::Replays(follower) => {
                let mut follower = follower.borrow_mut();
                if follower.halted() == Some(here) {
                    follower.halt(here)?;
                } else {
                    return Err(follower.limit(halted.reason).into());
                }
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), RunRecordError> {
        // The history and the sinks, which are gone, had it too.
        self.history = None;
        let base = self.base.take().and_then(Rc::into_inner);
        let closed = base.map_or(Ok(()), |base| {
            let directory = base.directory().to_owned();
            base.close()?;
            let epoch = self.ledger.borrow().epoch;
            tracing::info!(target: logs::OPEN, directory, epoch, "closed");
            Ok::<(), KnowledgeBaseError>(())
        });
        let finished = match &self.tape {
            TapeMode::None => Ok(()),
            TapeMode::Records(tape) => {
                tape.borrow_mut().take().map_or(Ok(()), Tape::finish).map_err(RunRecordError::from)
            }
            TapeMode::Replays(follower) => {
                let mut follower = follower.borrow_mut();
                match follower.check() {
                    Ok(()) => follower.finish().map_err(RunRecordError::from),
                    // It went as far as it was to go, or could.
                    Err(ReplayEnd::Reached(_) | ReplayEnd::TapeEnds(_)) => Ok(()),
                    Err(end) => Err(end.into()),
                }
            }
        };
        finished.and(closed.map_err(RunRecordError::from))
    }

    fn is_durable(&self) -> bool {
        self.base.is_some()
    }

    fn commits(&self) -> u64 {
        self.ledger.borrow().commits
    }

    fn epoch(&self) -> Option<u64> {
        self.base.as_ref().map(|_| self.ledger.borrow().epoch)
    }

    fn entries(&self, to: &mut Entries) {
        let base = self.base.as_ref().map(|base| KeptInBase {
            epoch: self.ledger.borrow().epoch,
            commits: self.ledger.borrow().commits,
            frames: base.frames(),
        });
        let recorded = match &self.tape {
            TapeMode::Records(tape) => tape.borrow().as_ref().map(Tape::frames_taken),
            TapeMode::None | TapeMode::Replays(_) => None,
        };
        let recorded = recorded.map(|frames| (frames, self.ledger.borrow().commits));
        entries_of_keeping(base, recorded, to);
    }

    fn history(&mut self) -> Option<&mut dyn History> {
        self.history.as_mut().map(|history| history as &mut dyn History)
    }

    fn state_hash(&self) -> Option<u128> {
        Some(self.ledger.borrow().hash.value())
    }
}
