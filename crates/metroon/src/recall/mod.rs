//! Recall: what a run remembers of itself.
//!
//! A [`Recall`] is the memory of a [`Runner`]. It turns each commit into records for a base's journal, keeps the state hash,
//! and writes commits to a tape or checks them against one.
//!
//! - `record` and `tape` say what lies on disk; `base` is a base's journal and `directory` what lies around it.
//! - `load` makes a run again from its base; `past` answers for earlier commits; `salvage` makes a base of a damaged one.
//! - `recording` and `replaying` are the worlds of runs that are recorded and replayed.

mod directory;
#[cfg(test)]
mod hostile;
mod knowledge_base;
mod knowledge_base_error;
mod load;
mod past;
mod pieces;
mod record;
mod recording;
mod replaying;
mod salvage;
mod secrets;
mod sources;
mod state_hash;
mod tape;
mod view;
mod written;

pub use knowledge_base::KnowledgeBase;
pub use knowledge_base_error::KnowledgeBaseError;
pub use replaying::{Difference, ReplayEnd};
pub use salvage::SalvagedKnowledgeBase;
pub use tape::{Tape, TapeError, TapeReader};
pub use view::{Change, CommitView, KnowledgeBaseReport, LogEntry, Unsound, View};
pub use written::{SourceWriter, Unwritten};

use crate::load::imports as load_formats;
use crate::program::Program;
use journal::{Disk, Durability, Journal, MemoryDisk, Options, Reader};
use load::{Loaded, note_hash, note_space};
use metta::{
    Begun, Cause, CauseKind, Commit, CommitTrigger, ContentHasher, Event, Halted, Known, Memory, MemoryError, ModuleId,
    NO_HISTORY, Reason, Runner, SourceContent, SourceId, SourceText, World, WorldError,
};
use past::Images;
use record::{AtomRecord, CauseRecord, CommitHeader, CommitWriter, Record};
use recording::{RecordingWorld, SharedTape};
use replaying::{Follower, ReplayingWorld, SharedFollower};
use sources::{SourceMatch, Sources};
use space::{Atom, ChangeKind, Changes, Rewrite, SharedSpace, SharedState, Variable, canonical, rewrite};
use state_hash::StateHash;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tape::{TapeBase, TapeCommit, TapeFrame, TapeHalted};

/// How many changes of a commit are shown to people when a replay differs.
const SAMPLE_CHANGES_MAX: usize = 16;

/// How much of a change is shown, in bytes.
const SAMPLE_BYTES_MAX: usize = 300;

/// The memory of a run.
pub(crate) struct Recall {
    hash: StateHash,
    epoch: u64,
    sources: Sources,
    base: Option<KnowledgeBase>,
    tape: TapeMode,
    /// How many commits the run has made, those that changed nothing included.
    commits: u64,
    /// How many `!` forms came before the one that is being run.
    evaluations: u64,
    /// Sources that have begun since the last commit.
    begun: Vec<SourceId>,
    /// Sources that have ended since the last commit.
    ended: Vec<SourceId>,
    images: Images,
    /// What failed. What would follow could not be told from what is lost, so nothing does.
    failed: Option<String>,
}

/// What a run has to do with a tape.
enum TapeMode {
    None,
    Records(SharedTape),
    Replays(SharedFollower),
}

/// A run with what is to be remembered of it.
pub(crate) struct Remembered {
    pub(crate) runner: Runner,
    follower: Option<SharedFollower>,
}

impl Remembered {
    /// A run that is forgotten.
    pub(crate) fn nothing(mut runner: Runner) -> Self {
        runner.set_formats(load_formats());
        Self { runner, follower: None }
    }

    /// A run that goes on in a base, is recorded on a tape, or both; or is forgotten, at no cost.
    pub(crate) fn new(
        world: Box<dyn World>,
        base: Option<KnowledgeBase>,
        tape: Option<Tape>,
        program: &Program,
    ) -> Result<Self, RecallError> {
        if base.is_none() && tape.is_none() {
            return Ok(Self::nothing(Runner::new(world)));
        }
        let (world, tape_mode): (Box<dyn World>, TapeMode) = match tape {
            Some(mut tape) => {
                begin_tape(&mut tape, program, base.as_ref())?;
                let tape: SharedTape = Rc::new(RefCell::new(Some(tape)));
                (Box::new(RecordingWorld::new(world, Rc::clone(&tape))), TapeMode::Records(tape))
            }
            None => (world, TapeMode::None),
        };
        let mut runner = Runner::new(world);
        runner.set_formats(load_formats());
        let recall = Recall::new(base, tape_mode, &mut runner)?;
        runner.set_memory(Box::new(recall));
        Ok(Self { runner, follower: None })
    }

    /// A run that follows a tape. What it prints goes to a world.
    pub(crate) fn replaying(
        output: Box<dyn World>,
        mut tape: TapeReader,
        stop_after: Option<u64>,
    ) -> Result<(Self, Program), RecallError> {
        let halted = replaying::look_ahead(&mut tape)?;
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
        let follower = Follower::new(tape, halted, stop_after);
        let world = ReplayingWorld::new(Rc::clone(&follower), output);
        let mut runner = Runner::new(Box::new(world));
        runner.set_formats(load_formats());
        let recall = Recall::new(base, TapeMode::Replays(Rc::clone(&follower)), &mut runner)?;
        runner.set_memory(Box::new(recall));
        Ok((Self { runner, follower: Some(follower) }, begin.program_to_replay()))
    }

    /// How many commits of the tape were equal, and why the replay ended before the program, if it did.
    pub(crate) fn replayed(&self) -> Option<(u64, Option<ReplayEnd>)> {
        let follower = self.follower.as_ref()?.borrow();
        Some((follower.commits(), follower.end().cloned()))
    }

    /// Ends the run: the tape is complete, or was followed to its end; the base is closed.
    pub(crate) fn finish(mut self) -> Result<(), RecallError> {
        let Some(mut memory) = self.runner.take_memory() else { return Ok(()) };
        memory.close().map_err(RecallError::from_memory)
    }
}

/// Why a run cannot be remembered, or not any more.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecallError {
    /// Its base.
    KnowledgeBase(KnowledgeBaseError),
    /// Its tape.
    Tape(TapeError),
    /// It is not the run that was recorded, or the recorded one ended before.
    Replay(ReplayEnd),
}

impl std::fmt::Display for RecallError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::KnowledgeBase(error) => error.fmt(formatter),
            Self::Tape(error) => error.fmt(formatter),
            Self::Replay(end) => end.fmt(formatter),
        }
    }
}

impl std::error::Error for RecallError {}

impl RecallError {
    /// The error of a [`Recall`] as a memory gives it.
    fn from_memory(error: MemoryError) -> Self {
        match error.downcast::<KnowledgeBaseError>() {
            Ok(base) => Self::KnowledgeBase(*base),
            Err(error) => match error.downcast::<TapeError>() {
                Ok(tape) => Self::Tape(*tape),
                Err(error) => match error.downcast::<ReplayEnd>() {
                    Ok(end) => Self::Replay(*end),
                    Err(error) => unreachable!("a memory of another kind fails: {error}"),
                },
            },
        }
    }
}

impl From<KnowledgeBaseError> for RecallError {
    fn from(error: KnowledgeBaseError) -> Self {
        Self::KnowledgeBase(error)
    }
}

impl From<TapeError> for RecallError {
    fn from(error: TapeError) -> Self {
        Self::Tape(error)
    }
}

/// Writes what is run, and the base it begins with.
fn begin_tape(tape: &mut Tape, program: &Program, base: Option<&KnowledgeBase>) -> Result<(), RecallError> {
    let Some(base) = base else { return Ok(tape.begin(program, None)?) };
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
fn read_image(tape: &mut TapeReader, image: &TapeBase) -> Result<KnowledgeBase, RecallError> {
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
    Ok(KnowledgeBase::on_disk(disk, &image.directory)?)
}

impl Recall {
    fn new(base: Option<KnowledgeBase>, tape: TapeMode, runner: &mut Runner) -> Result<Self, KnowledgeBaseError> {
        runner.keep_hashes();
        let loaded = base.as_ref().map(|base| Loaded::from_base(base, runner)).transpose()?.unwrap_or_default();
        let Loaded { hash, epoch, sources, is_library_changed, .. } = loaded;
        let (ended, images) = (Vec::new(), Images::new(is_library_changed));
        let begun = Vec::new();
        Ok(Self { hash, epoch, sources, base, tape, commits: 0, evaluations: 0, begun, ended, images, failed: None })
    }

    /// Whether nothing has failed.
    fn check(&self) -> Result<(), MemoryError> {
        let refused = |reason| format!("nothing more is kept, since this failed before: {reason}").into();
        self.failed.as_ref().map_or(Ok(()), |reason| Err(refused(reason)))
    }

    /// Remembers that something failed. A replay that has ended knows so itself.
    fn noting_failure<T>(&mut self, outcome: Result<T, MemoryError>) -> Result<T, MemoryError> {
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
    ) -> Result<Begun, MemoryError> {
        if let TapeMode::Replays(follower) = &self.tape {
            follower.borrow_mut().check()?;
        }
        let Some(base) = &self.base else {
            let id = self.sources.begin(source, None, [0; 32], SourceMatch::New);
            self.begun.push(id);
            return Ok(Begun { id, known: Known::New });
        };
        let content = match source.content {
            SourceContent::Text(text) => *blake3::hash(text.as_bytes()).as_bytes(),
            SourceContent::Rows(content) => content,
        };
        let file = source.file.map(|file| base.name_of(file));
        let found = match self.sources.find(source.module, file.as_deref(), &content) {
            // While the other file is there, this one is a copy of it, and states what it states once more.
            SourceMatch::Moved(id) if self.is_there(base, world, id)? => SourceMatch::New,
            found => found,
        };
        let known = match found {
            SourceMatch::New => Known::New,
            SourceMatch::Unchanged(_) | SourceMatch::Moved(_) => Known::Unchanged,
            SourceMatch::Changed(id) => {
                let number = self.sources.get(id).and_then(|source| source.number);
                Known::Changed(number.map_or(Ok(Vec::new()), |number| past::statements(base, program, number))?)
            }
        };
        let id = self.sources.begin(source, file, content, found);
        self.begun.push(id);
        Ok(Begun { id, known })
    }

    fn keep_commit(&mut self, commit: &Commit, trigger: CommitTrigger, current: Cause) -> Result<(), MemoryError> {
        let is_empty = commit.is_empty();
        // Where nothing is asked and nothing has happened, there is nothing to remember.
        if !is_empty || matches!(trigger, CommitTrigger::Answer | CommitTrigger::Asked) {
            if let TapeMode::Replays(follower) = &self.tape {
                let (origin, line, column) = self.place(current);
                let mut follower = follower.borrow_mut();
                follower.set_place(format!("{origin}:{line}:{column}"));
                follower.check()?;
            }
            self.commits += 1;
            let (digest, writer) = self.digest(commit, current);
            if !is_empty {
                self.epoch += 1;
                self.keep(commit, writer)?;
            }
            self.tell_tape(digest, current)?;
        }
        self.begun.clear();
        if matches!(trigger, CommitTrigger::EndOfSource | CommitTrigger::Answer) {
            self.note_ended()?;
        }
        Ok(())
    }

    /// Counts a commit in the state hash and, if there is a base, writes its records.
    fn digest(&mut self, commit: &Commit, current: Cause) -> (Digest, CommitWriter) {
        let mut digest = Digest { keeps_sample: !matches!(self.tape, TapeMode::None), ..Digest::default() };
        let mut sink = RecordSink {
            hash: &mut self.hash,
            writer: self.base.as_ref().map(|_| CommitWriter::default()),
            scratch: Vec::new(),
        };
        if !commit.is_empty() {
            let causes = commit.causes.iter().map(|cause| cause.source);
            note_sources(&mut self.sources, causes, &mut sink);
        }
        // What is made and bound is so by the form that was run last: plain forms before it only state atoms.
        if !commit.events.is_empty() && sink.writer.is_some() {
            push_cause(&mut self.sources, &current, &mut sink);
        }
        for event in &commit.events {
            digest.others += 1;
            digest.show(|| describe(event));
            push_event(event, &mut self.sources, &mut sink);
        }
        let mut cause = None;
        let mut set: Vec<&SharedState> = Vec::new();
        let Changes { changes, sample, added, removed, spaces } = &commit.changes;
        (digest.added, digest.removed) = (*added, *removed);
        let shown = if sample.is_empty() { changes } else { sample };
        for change in shown.iter().take(SAMPLE_CHANGES_MAX) {
            match &change.kind {
                ChangeKind::Added { atom, .. } => digest.show(|| format!("+ {atom}")),
                ChangeKind::Removed { atom, .. } => digest.show(|| format!("- {atom}")),
                ChangeKind::Set { .. } => {}
            }
        }
        let is_library_changed = spaces.iter().any(|space| space.serial() == 0);
        for change in changes {
            if cause != Some(change.cause) && sink.writer.is_some() {
                cause = Some(change.cause);
                if let Some(found) = commit.causes.get(change.cause as usize) {
                    push_cause(&mut self.sources, found, &mut sink);
                }
            }
            match &change.kind {
                ChangeKind::Added { space, atom } => push_count(space, 1, atom, &mut sink),
                ChangeKind::Removed { space, atom, .. } => push_count(space, -1, atom, &mut sink),
                ChangeKind::Set { state, .. } => set.push(state),
            }
        }
        spaces.iter().for_each(|space| note_space(space, sink.hash));
        // A state that was set between two marks may be noted twice; its content is the same.
        set.sort_by_key(|state| state.serial());
        set.dedup_by_key(|state| state.serial());
        for state in set {
            digest.others += 1;
            let value = state.value();
            digest.show(|| format!("state {} = {value}", state.serial()));
            named(&value, |value| sink.push(&Record::State { state: state.serial(), value }));
        }
        let writer = sink.writer.unwrap_or_default();
        if is_library_changed {
            self.images.note_library_change();
        }
        (digest, writer)
    }

    fn keep(&mut self, commit: &Commit, writer: CommitWriter) -> Result<(), MemoryError> {
        let Some(base) = &self.base else { return Ok(()) };
        let tape_frame = match &self.tape {
            TapeMode::Records(tape) => tape.borrow_mut().as_mut().map(Tape::frames).transpose()?,
            _ => None,
        };
        let hash = self.hash.value().to_le_bytes();
        let header = CommitHeader { epoch: self.epoch, hash, parts: 0, variables: commit.variables, tape_frame };
        Ok(base.append(writer.finish(header))?)
    }

    /// Notes the sources that have ended and are not recorded as such.
    fn note_ended(&mut self) -> Result<(), KnowledgeBaseError> {
        let Some(base) = &self.base else { return Ok(()) };
        for id in std::mem::take(&mut self.ended) {
            let Some(source) = self.sources.get(id) else { continue };
            let is_worth_it = source.is_recorded || source.is_edited;
            if source.is_complete || source.file.is_none() || !is_worth_it {
                continue;
            }
            let number = self.sources.number(id);
            let Some(source) = self.sources.get_mut(id) else { continue };
            source.is_complete = true;
            let begun = (!source.is_recorded).then(|| begun_record(number, source));
            let records: Vec<Record<'_>> = begun.into_iter().chain([Record::SourceEnded { source: number }]).collect();
            base.append(vec![record::note_frame(&records)])?;
            source.is_recorded = true;
        }
        Ok(())
    }

    /// Whether the file of a source is where it was.
    fn is_there(&self, base: &KnowledgeBase, world: &mut dyn World, source: SourceId) -> Result<bool, WorldError> {
        let file = self.sources.get(source).and_then(|known| known.file.as_deref());
        file.map_or(Ok(false), |file| world.has_source(&metta::clean_path(base.directory(), file)))
    }

    fn place(&self, cause: Cause) -> (String, u32, u32) {
        let (line, column) = self.sources.position(cause.source, cause.offset);
        (self.sources.origin(cause.source).to_owned(), line, column)
    }

    fn tell_tape(&mut self, digest: Digest, current: Cause) -> Result<(), MemoryError> {
        if matches!(self.tape, TapeMode::None) {
            return Ok(());
        }
        let (origin, line, column) = self.place(current);
        let commit = TapeCommit {
            number: self.commits,
            epoch: self.epoch,
            hash: self.hash.value().to_le_bytes(),
            origin,
            line,
            column,
            added: digest.added,
            removed: digest.removed,
            others: digest.others,
            sample: digest.sample,
        };
        match &self.tape {
            TapeMode::None => {}
            TapeMode::Records(tape) => {
                if let Some(tape) = &mut *tape.borrow_mut() {
                    tape.commit(&commit)?;
                }
            }
            TapeMode::Replays(follower) => follower.borrow_mut().commit(&commit)?,
        }
        Ok(())
    }
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

/// What a commit is for those who compare it.
#[derive(Default)]
struct Digest {
    added: u64,
    removed: u64,
    others: u64,
    sample: Vec<String>,
    keeps_sample: bool,
}

impl Digest {
    fn show(&mut self, text: impl FnOnce() -> String) {
        if self.keeps_sample && self.sample.len() < SAMPLE_CHANGES_MAX {
            let mut text = text();
            if text.len() > SAMPLE_BYTES_MAX {
                text.truncate(text.floor_char_boundary(SAMPLE_BYTES_MAX));
                text.push('…');
            }
            self.sample.push(text);
        }
    }
}

/// An event, for people.
fn describe(event: &Event) -> String {
    match event {
        Event::SpaceMade { serial } => format!("space {serial} made"),
        Event::StateMade { serial, value, .. } => format!("state {serial} made = {value}"),
        Event::ModuleMade { path, .. } => format!("module {path} made"),
        Event::ModuleNamed { path, .. } => format!("module named {path}"),
        Event::ModuleForgotten { module } => format!("module {} forgotten", module.number()),
        Event::Imported { into, from } => format!("module {} imports module {}", into.number(), from.number()),
        Event::WordsImported { into, from } => {
            format!("module {} knows the words of module {}", into.number(), from.number())
        }
        Event::Bound { token, atom, .. } => format!("{token} means {atom}"),
        Event::Set { key, value } => format!("setting {key} = {value}"),
        Event::Unstated { atom, .. } => format!("no longer stated: {atom}"),
        Event::GeneratorSet { number, generator } => format!("random generator {number} = {generator:?}"),
        event => format!("{event:?}"),
    }
}

/// Where the records of a commit go: all to the state hash, and to the journal of a base.
struct RecordSink<'a> {
    hash: &'a mut StateHash,
    writer: Option<CommitWriter>,
    scratch: Vec<u8>,
}

impl RecordSink<'_> {
    fn push(&mut self, record: &Record<'_>) {
        note_hash(record, self.hash);
        if let Some(writer) = &mut self.writer {
            writer.push(record);
        }
    }
}

/// An atom whose variables are named as in a source: numbers only where two have one name.
fn plain(atom: &Atom) -> Atom {
    let mut taken: Vec<Variable> = Vec::new();
    let named = rewrite(atom, |variable| {
        let twins = taken.iter().filter(|known| known.name() == variable.name());
        let position = twins.clone().position(|known| known == variable).unwrap_or_else(|| twins.count());
        if !taken.contains(variable) {
            taken.push(variable.clone());
        }
        let name = variable.name().as_str();
        let plain = if position == 0 { name.to_owned() } else { format!("{name}-{}", position + 1) };
        Rewrite::Replace(Atom::variable(&plain))
    });
    named.unwrap_or_else(|| atom.clone())
}

/// Hands out an atom as records have it.
fn named<T>(atom: &Atom, take: impl FnOnce(AtomRecord<'_>) -> T) -> T {
    named_in(&mut Vec::with_capacity(64), atom, take)
}

/// Hands out an atom as records have it, its bytes in place of what was there.
fn named_in<T>(bytes: &mut Vec<u8>, atom: &Atom, take: impl FnOnce(AtomRecord<'_>) -> T) -> T {
    bytes.clear();
    let mut names: Vec<&str> = Vec::new();
    canonical::encode_naming(atom, bytes, |variable: &Variable| names.push(variable.name().as_str()));
    take(AtomRecord { bytes, names })
}

fn push_count(space: &SharedSpace, copies: i64, atom: &Atom, sink: &mut RecordSink<'_>) {
    // The one record that a commit may hold millions of: its bytes are written to one place again and again.
    let mut bytes = std::mem::take(&mut sink.scratch);
    named_in(&mut bytes, atom, |atom| sink.push(&Record::Count { space: space.serial(), copies, atom }));
    sink.scratch = bytes;
}

fn push_cause(sources: &mut Sources, cause: &Cause, sink: &mut RecordSink<'_>) {
    let (line, column) = sources.position(cause.source, cause.offset);
    let kind = match cause.kind {
        CauseKind::Statement => CauseRecord::Statement,
        CauseKind::Evaluation => CauseRecord::Evaluation,
        CauseKind::Retraction => CauseRecord::Retraction,
    };
    sink.push(&Record::Cause { source: sources.number(cause.source), kind, line, column });
}

/// Says of the sources that cause something that they have begun, if the base does not know.
fn note_sources(sources: &mut Sources, causes: impl Iterator<Item = SourceId>, sink: &mut RecordSink<'_>) {
    let mut last = None;
    for id in causes {
        if last == Some(id) {
            continue;
        }
        last = Some(id);
        if sources.get(id).is_none_or(|source| source.is_recorded) {
            continue;
        }
        let number = sources.number(id);
        if let Some(source) = sources.get_mut(id) {
            source.is_recorded = true;
            sink.push(&begun_record(number, source));
        }
    }
}

fn begun_record(number: u32, source: &sources::KnownSource) -> Record<'_> {
    Record::SourceBegun {
        source: number,
        module: source.module.number(),
        origin: &source.origin,
        file: source.file.as_deref(),
        content: source.content,
    }
}

fn push_event(event: &Event, sources: &mut Sources, sink: &mut RecordSink<'_>) {
    match event {
        Event::SpaceMade { serial } => sink.push(&Record::SpaceMade { serial: *serial }),
        Event::StateMade { serial, value, type_atom } => named(value, |value| {
            named(type_atom, |type_atom| sink.push(&Record::StateMade { serial: *serial, value, type_atom }));
        }),
        Event::ModuleMade { serial, path, directory, file } => {
            sink.push(&Record::ModuleMade { serial: *serial, path, directory, file: file.as_deref() });
        }
        Event::ModuleNamed { path, module } => sink.push(&Record::ModuleNamed { path, module: module.number() }),
        Event::ModuleForgotten { module } => sink.push(&Record::ModuleForgotten { module: module.number() }),
        Event::Imported { into, from } => sink.push(&Record::Imported { into: into.number(), from: from.number() }),
        Event::Bound { module, token, is_pattern, atom } => named(atom, |atom| {
            sink.push(&Record::Bound { module: module.number(), token, is_pattern: *is_pattern, atom });
        }),
        Event::Set { key, value } => named(value, |value| sink.push(&Record::Setting { key, value })),
        Event::Unstated { source, atom } => {
            let source = sources.number(*source);
            named(atom, |atom| sink.push(&Record::Unstated { source, atom }));
        }
        Event::WordsImported { into, from } => {
            sink.push(&Record::WordsImported { into: into.number(), from: from.number() });
        }
        Event::GeneratorSet { number, generator } => {
            sink.push(&Record::GeneratorSet { number: *number, generator: *generator });
        }
        event => unreachable!("an event without a record: {event:?}"),
    }
}

impl Memory for Recall {
    fn begin_source(
        &mut self,
        program: &mut metta::Program,
        world: &mut dyn World,
        source: &SourceText<'_>,
    ) -> Result<Begun, MemoryError> {
        self.check()?;
        let begun = self.begin(program, world, source);
        self.noting_failure(begun)
    }

    fn content_hasher(&self) -> Option<Box<dyn ContentHasher>> {
        self.base.as_ref().map(|_| Box::new(Hasher(blake3::Hasher::new())) as Box<dyn ContentHasher>)
    }

    fn is_source_of(&self, module: ModuleId, file: &str) -> bool {
        let Some(base) = &self.base else { return true };
        self.sources.has_file(module, &base.name_of(file))
    }

    fn sources_begun(&self) -> usize {
        self.begun.len()
    }

    fn undo_sources(&mut self, kept: usize) {
        for id in self.begun.split_off(kept.min(self.begun.len())) {
            self.ended.retain(|ended| *ended != id);
            self.sources.forget(id);
        }
    }

    fn end_source(&mut self, source: SourceId) {
        self.ended.push(source);
    }

    fn begin_evaluation(&mut self, evaluations: u64, form: Cause) -> Result<Option<Halted>, MemoryError> {
        self.check()?;
        self.evaluations = evaluations;
        let TapeMode::Replays(follower) = &self.tape else { return Ok(None) };
        let (origin, line, column) = self.place(form);
        let mut follower = follower.borrow_mut();
        follower.check()?;
        follower.set_place(format!("{origin}:{line}:{column}"));
        let here = follower.halted().filter(|halted| halted.evaluations == evaluations);
        Ok(here.map(TapeHalted::halted))
    }

    fn commit(&mut self, commit: Commit, trigger: CommitTrigger, current: Cause) -> Result<(), MemoryError> {
        self.check()?;
        let kept = self.keep_commit(&commit, trigger, current);
        self.noting_failure(kept)
    }

    fn halt(&mut self, halted: Halted) -> Result<(), MemoryError> {
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

    fn close(&mut self) -> Result<(), MemoryError> {
        let closed = self.base.take().map_or(Ok(()), KnowledgeBase::close);
        let finished = match &self.tape {
            TapeMode::None => Ok(()),
            TapeMode::Records(tape) => tape.borrow_mut().take().map_or(Ok(()), Tape::finish).map_err(MemoryError::from),
            TapeMode::Replays(follower) => {
                let mut follower = follower.borrow_mut();
                match follower.check() {
                    Ok(()) => follower.finish().map_err(MemoryError::from),
                    // It went as far as it was to go, or could.
                    Err(ReplayEnd::Reached(_) | ReplayEnd::TapeEnds(_)) => Ok(()),
                    Err(end) => Err(end.into()),
                }
            }
        };
        finished.and(closed.map_err(MemoryError::from))
    }

    fn is_durable(&self) -> bool {
        self.base.is_some()
    }

    fn commits(&self) -> u64 {
        self.commits
    }

    fn epoch(&self) -> Option<u64> {
        self.base.as_ref().map(|_| self.epoch)
    }

    fn as_of(
        &mut self,
        program: &mut metta::Program,
        space: &SharedSpace,
        epoch: u64,
    ) -> Result<SharedSpace, MemoryError> {
        let base = self.base.as_ref().ok_or(NO_HISTORY)?;
        if epoch > self.epoch {
            return Err(KnowledgeBaseError::NoEpoch { epoch, last: self.epoch }.into());
        }
        let found = self.images.space(base, program, space, epoch)?;
        found.ok_or_else(|| format!("{} did not exist after commit {epoch}", space.name()).into())
    }

    fn why(
        &mut self,
        program: &mut metta::Program,
        space: &SharedSpace,
        pattern: &Atom,
    ) -> Result<Vec<Reason>, MemoryError> {
        let base = self.base.as_ref().ok_or(NO_HISTORY)?;
        Ok(past::reasons(base, program, space, pattern, self.epoch)?)
    }
}
