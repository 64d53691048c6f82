//! What a run has done since its last commit, and how to undo it.

use crate::bundled::generator_number;
use crate::handles::{exchange, grounded_in};
use crate::limits::{Halted, LimitReached};
use crate::memory::{Cause, CauseKind, Commit, CommitTrigger, Event, MemoryError, NO_HISTORY, Reason, SourceId};
use crate::modules::ModuleId;
use crate::operation::{Outcome, Stop};
use crate::random::Generator;
use crate::runner::Runner;
use crate::stdlib;
use crate::tokenizer::Tokenizer;
use rustc_hash::FxHashMap;
use space::{Atom, Change, ChangeDetail, ChangeKind, ChangeMark, Changes, Grounded, SharedSpace};

/// What happened since the last commit, beside the changes that the spaces' log notes.
#[derive(Default)]
pub(crate) struct Pending {
    causes: Vec<Cause>,
    happened: Vec<(Option<Event>, Undo)>,
    current: Option<Cause>,
    /// The open `(transaction …)` forms, outermost first.
    open: Vec<Mark>,
    /// The generators of random numbers as they were at the last commit.
    generators: Vec<Generator>,
}

/// A point of a run to which it can go back.
#[derive(Clone)]
struct Mark {
    changes: ChangeMark,
    happened: usize,
    generators: Vec<Generator>,
    /// How many sources had begun.
    sources: usize,
}

/// What a commit may have changed beside the atoms of spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitExtent {
    /// Whether a state was made or set.
    pub states: bool,
    /// Whether modules, their words or their imports changed, or settings.
    pub program: bool,
}

/// Is told of each commit that changed something, after the memory has kept it.
pub type OnCommit = Box<dyn FnMut(&mut Runner, CommitExtent)>;

impl CommitExtent {
    fn new(happened: &[(Option<Event>, Undo)], changes: &Changes) -> Self {
        let is_of_program = |undo: &Undo| !matches!(undo, Undo::Nothing | Undo::Space | Undo::State);
        let is_set = |change: &Change| matches!(change.kind, ChangeKind::Set { .. });
        let states = happened.iter().any(|(_, undo)| matches!(undo, Undo::State));
        Self {
            states: states || changes.changes.iter().any(is_set),
            program: happened.iter().any(|(_, undo)| is_of_program(undo)),
        }
    }
}

/// How to undo an event.
pub(crate) enum Undo {
    Nothing,
    Space,
    State,
    Module,
    Names(FxHashMap<String, ModuleId>),
    Forgotten {
        names: FxHashMap<String, ModuleId>,
        module: ModuleId,
        file: Option<String>,
    },
    Import {
        into: ModuleId,
        from: ModuleId,
    },
    Tokens {
        module: ModuleId,
        before: Box<Tokenizer>,
    },
    Setting {
        key: String,
        before: Option<Atom>,
    },
    /// A module of a knowledge base was compared with its file.
    Refreshed(ModuleId),
}

impl Runner {
    /// Whether what happens is noted: there is a memory, or a `(transaction …)` is open.
    pub(crate) fn is_noting(&self) -> bool {
        self.log.keeps() != ChangeDetail::Nothing
    }

    /// Notes an event that has happened; the caller asks [`Runner::is_noting`] first where that saves work.
    pub(crate) fn note(&mut self, event: impl Into<Option<Event>>, undo: Undo) {
        if self.is_noting() {
            self.pending.happened.push((event.into(), undo));
        }
    }

    /// Says what causes the changes to come; gives what caused those before.
    pub(crate) fn set_cause(&mut self, cause: Option<Cause>) -> Option<Cause> {
        let before = std::mem::replace(&mut self.pending.current, cause);
        if let Some(cause) = cause
            && self.log.keeps() == ChangeDetail::Changes
        {
            self.log.set_cause(self.pending.causes.len() as u32);
            self.pending.causes.push(cause);
        }
        before
    }

    /// Ends the transaction and hands it to the memory.
    ///
    /// # Errors
    /// The memory cannot keep it.
    pub(crate) fn commit(&mut self, trigger: CommitTrigger) -> Result<(), MemoryError> {
        let Some(mut memory) = self.memory.take() else { return Ok(()) };
        let changes = self.log.take();
        let happened = std::mem::take(&mut self.pending.happened);
        let extent = self.on_commit.is_some().then(|| CommitExtent::new(&happened, &changes));
        let mut events: Vec<Event> = happened.into_iter().filter_map(|(event, _)| event).collect();
        events.extend(self.generator_events());
        let causes = std::mem::take(&mut self.pending.causes);
        let commit = Commit { causes, events, changes, variables: self.variables.last() };
        // A word for a value of this process is no event of a commit.
        let is_told = !commit.is_empty() || extent.is_some_and(|extent| extent.program);
        let done = memory.commit(commit, trigger, self.current_cause());
        self.memory = Some(memory);
        self.set_cause(self.pending.current);
        if done.is_ok() && is_told {
            self.tell_of_commit(extent);
        }
        done
    }

    /// Tells of a commit that the memory has kept.
    fn tell_of_commit(&mut self, extent: Option<CommitExtent>) {
        let Some((mut on_commit, extent)) = self.on_commit.take().zip(extent) else { return };
        on_commit(self, extent);
        self.on_commit = Some(on_commit);
    }

    /// The form that is being run.
    pub(crate) fn current_cause(&self) -> Cause {
        let unknown = Cause { source: SourceId::default(), kind: CauseKind::Evaluation, offset: 0 };
        self.pending.current.unwrap_or(unknown)
    }

    /// Notes that a form was ended from outside. If it was cancelled, what was done since the last commit of a knowledge base is
    /// undone; gives whether it was.
    pub(crate) fn halt(&mut self, halted: Halted) -> Result<bool, MemoryError> {
        let is_cancelled = !matches!(halted.reason, LimitReached::Heap(_) | LimitReached::Memory(_));
        if is_cancelled && self.is_durable() {
            let generators = self.pending.generators.clone();
            let changes = ChangeMark::default();
            self.undo_to(&Mark { changes, happened: 0, generators: generators.clone(), sources: 0 });
            self.pending = Pending { generators, ..Pending::default() };
        }
        self.memory.as_mut().map_or(Ok(()), |memory| memory.halt(halted))?;
        Ok(is_cancelled)
    }

    /// Commits what precedes an effect on the world outside.
    ///
    /// # Errors
    /// A `(transaction …)` is open, which such an effect could not be undone in; or the memory fails.
    pub(crate) fn before_outward_effect(&mut self) -> Result<(), Outcome> {
        if !self.pending.open.is_empty() {
            let message = "this reaches outside and cannot be undone: it is not allowed inside a transaction";
            return Err(Outcome::failure(message));
        }
        self.commit(CommitTrigger::OutwardEffect).map_err(|error| Outcome::Stop(Stop::Memory(error.into())))
    }

    /// Commits in the middle of a form.
    pub(crate) fn commit_early(&mut self) -> Outcome {
        if !self.pending.open.is_empty() {
            return Outcome::failure(
                "commit! is not allowed inside a transaction, which commits as a whole or not at all",
            );
        }
        match self.commit(CommitTrigger::Asked) {
            Ok(()) => Outcome::unit(),
            Err(error) => Outcome::Stop(Stop::Memory(error.into())),
        }
    }

    /// Opens a `(transaction …)`; gives how many are open then.
    pub(crate) fn open_transaction(&mut self) -> usize {
        self.log.keep(ChangeDetail::Changes);
        let (changes, happened) = (self.log.mark(), self.pending.happened.len());
        let sources = self.memory.as_ref().map_or(0, |memory| memory.sources_begun());
        let mark = Mark { changes, happened, generators: self.bundled.generators.clone(), sources };
        self.pending.open.push(mark);
        self.pending.open.len()
    }

    /// Closes the `(transaction …)` that was opened as this one of those open, and all inside it; undoes what they did
    /// unless it is to be kept.
    pub(crate) fn close_transaction(&mut self, depth: usize, keep: bool) {
        let Some(mark) = depth.checked_sub(1).and_then(|index| self.pending.open.get(index)).cloned() else { return };
        self.pending.open.truncate(depth - 1);
        if keep {
            self.log.mark();
        } else {
            self.undo_to(&mark);
        }
        if !self.pending.open.is_empty() {
            return;
        }
        match self.keeps {
            ChangeDetail::Changes => {}
            ChangeDetail::Counts => self.log.count_from(mark.changes),
            ChangeDetail::Nothing => {
                self.log.keep(ChangeDetail::Nothing);
                self.pending = Pending { current: self.pending.current, ..Pending::default() };
            }
        }
    }

    /// How many transactions are open.
    pub(crate) fn open_transactions(&self) -> usize {
        self.pending.open.len()
    }

    /// Undoes the transactions that a form left open because a limit ended it, but not these first ones, in which it
    /// was run.
    pub(crate) fn close_abandoned_transactions(&mut self, around: usize) {
        self.close_transaction(around + 1, false);
    }

    /// What has become of the generators of random numbers since the last commit.
    fn generator_events(&mut self) -> Vec<Event> {
        let (now, before) = (&self.bundled.generators, &mut self.pending.generators);
        let changed = now.iter().enumerate().filter(|(number, generator)| before.get(*number) != Some(generator));
        let event = |(number, generator): (usize, &Generator)| Event::GeneratorSet {
            number: number as u64,
            generator: *generator,
        };
        let events = changed.map(event).collect();
        before.clone_from(now);
        events
    }

    /// Notes this much from now on, and nothing of what has happened so far.
    pub(crate) fn begin_noting(&mut self, keeps: ChangeDetail) {
        self.keeps = keeps;
        self.log.keep(ChangeDetail::Nothing);
        self.log.keep(keeps);
        self.pending = Pending { generators: self.bundled.generators.clone(), ..Pending::default() };
    }

    fn undo_to(&mut self, mark: &Mark) {
        self.tables.reset();
        self.bundled.generators.clone_from(&mark.generators);
        if let Some(memory) = &mut self.memory {
            memory.undo_sources(mark.sources);
        }
        self.log.undo_to(mark.changes);
        for (_, undo) in self.pending.happened.split_off(mark.happened).into_iter().rev() {
            self.undo(undo);
        }
    }

    fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Nothing => {}
            Undo::Space => self.forget_space(),
            Undo::State => {
                self.states -= 1;
                self.kept_states.truncate(self.states as usize);
            }
            Undo::Module => {
                self.forget_space();
                if let Some(module) = self.modules.pop() {
                    self.names.remove(&module.path);
                }
                let modules = self.modules.len() as u32;
                self.bundled.loaded.retain(|(module, _)| module.0 < modules);
            }
            Undo::Names(names) => self.names = names,
            Undo::Forgotten { names, module, file } => {
                self.names = names;
                self.modules[module.0 as usize].file = file;
            }
            Undo::Import { into, from } => {
                let space = self.module(from).space.clone();
                self.module(into).space.forget_import(&space);
                self.modules[into.0 as usize].imports.retain(|&known| known != from);
            }
            Undo::Tokens { module, before } => self.modules[module.0 as usize].tokenizer = *before,
            Undo::Setting { key, before } => self.restore_setting(&key, before),
            Undo::Refreshed(module) => self.modules[module.0 as usize].is_restored = true,
        }
    }

    /// A result of a transaction that was undone, with symbols for the spaces, states and other things in it that were
    /// made there: they are no more, and their numbers will be given again.
    pub fn without_undone(&self, atom: &Atom) -> Atom {
        let values = grounded_in(atom);
        if values.iter().all(|value| self.is_known(value)) {
            return atom.clone();
        }
        exchange(atom, |value| {
            let atom = Atom::Grounded(value.clone());
            if self.is_known(value) { atom } else { Atom::symbol(&atom.to_string()) }
        })
    }

    /// Whether something that only a run knows was made by this one and is there.
    fn is_known(&self, value: &Grounded) -> bool {
        match value {
            Grounded::Space(space) => space.is_frozen() || space.serial() < self.spaces.len() as u64,
            Grounded::State(state) => state.is_frozen() || state.serial() <= self.states,
            Grounded::Host(value) => match generator_number(value.identity()) {
                Some(number) => number < self.bundled.generators.len(),
                None => (stdlib::split_identity(value.identity()).1.0 as usize) < self.modules.len(),
            },
            _ => true,
        }
    }

    /// Forgets the youngest space; it may hold itself.
    fn forget_space(&mut self) {
        if let Some(space) = self.spaces.pop() {
            space.clear();
        }
    }

    /// Whether the program's space is kept beyond the process.
    pub(crate) fn is_durable(&self) -> bool {
        self.memory.as_ref().is_some_and(|memory| memory.is_durable())
    }

    /// The number of the last commit.
    ///
    /// # Errors
    /// A message that says why there is none.
    pub(crate) fn epoch(&self) -> Result<u64, String> {
        let epoch = self.view.map_or_else(|| self.memory.as_ref()?.epoch(), |view| view.epoch);
        epoch.ok_or_else(nothing_kept)
    }

    /// A space as it was after a commit.
    ///
    /// # Errors
    /// A message that says why that is not known.
    pub(crate) fn as_of(&mut self, space: &SharedSpace, epoch: u64) -> Result<SharedSpace, String> {
        let mut memory = self.memory.take().ok_or_else(nothing_kept)?;
        let found = memory.as_of(self, space, epoch);
        self.memory = Some(memory);
        found.map_err(|error| error.to_string())
    }

    /// Where the atoms of a space that match a pattern come from.
    ///
    /// # Errors
    /// A message that says why that is not known.
    pub fn why(&mut self, space: &SharedSpace, pattern: &Atom) -> Result<Vec<Reason>, String> {
        let mut memory = self.memory.take().ok_or_else(nothing_kept)?;
        let found = memory.why(self, space, pattern);
        self.memory = Some(memory);
        found.map_err(|error| error.to_string())
    }
}

fn nothing_kept() -> String {
    NO_HISTORY.to_owned()
}
