//! Transactions: what a program became since its last commit is handed to the memory of the run, or undone.
//!
//! 1. Changes of spaces and states are in the program's log; what else happened is noted in the program, with the way to undo it.
//! 2. A `(transaction …)` is a mark: a point to which the program goes back if the transaction fails.
//! 3. A commit takes everything since the one before, with its causes, and hands it to the memory.

use crate::limits::{Halted, LimitReached};
use crate::memory::{
    Begun, Cause, CauseKind, Commit, CommitTrigger, Known, Memory, MemoryError, NO_HISTORY, SourceText,
};
use crate::program::Program;
use crate::program::history::{Event, Reason, SourceId};
use crate::random::Generator;
use crate::world::World;
use space::{Atom, ChangeDetail, ChangeMark, SharedSpace};

/// The transactions of a run, with what remembers them.
pub(crate) struct Transactions {
    memory: Option<Box<dyn Memory>>,
    /// How much the memory wants to know; inside a `(transaction …)` the log keeps more.
    keeps: ChangeDetail,
    causes: Vec<Cause>,
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
    noted: usize,
    generators: Vec<Generator>,
    /// How many sources had begun.
    sources: usize,
}

impl Default for Transactions {
    fn default() -> Self {
        Self {
            memory: None,
            keeps: ChangeDetail::Nothing,
            causes: Vec::new(),
            current: None,
            open: Vec::new(),
            generators: Vec::new(),
        }
    }
}

impl Transactions {
    /// Gives the run a memory, which takes all commits from now on. What happened before is not in them.
    pub(crate) fn set_memory(&mut self, program: &mut Program, memory: Box<dyn Memory>) {
        let is_durable = memory.is_durable();
        self.begin_noting(program, if is_durable { ChangeDetail::Changes } else { ChangeDetail::Counts });
        program.set_durable(is_durable);
        self.memory = Some(memory);
    }

    /// Takes the memory away.
    pub(crate) fn take_memory(&mut self, program: &mut Program) -> Option<Box<dyn Memory>> {
        self.begin_noting(program, ChangeDetail::Nothing);
        program.set_durable(false);
        self.memory.take()
    }

    /// What remembers the run, if something does.
    pub(crate) fn memory(&self) -> Option<&dyn Memory> {
        self.memory.as_deref()
    }

    /// The same, to be told of what happens.
    pub(crate) fn memory_mut(&mut self) -> Option<&mut (dyn Memory + 'static)> {
        self.memory.as_deref_mut()
    }

    /// Notes this much from now on, and nothing of what has happened so far.
    fn begin_noting(&mut self, program: &mut Program, keeps: ChangeDetail) {
        self.keeps = keeps;
        program.log().keep(ChangeDetail::Nothing);
        program.log().keep(keeps);
        self.forget(program);
        self.current = None;
        self.generators = program.generators().to_vec();
    }

    /// Forgets what has happened since the last commit, and the marks.
    fn forget(&mut self, program: &mut Program) {
        program.take_events();
        self.causes.clear();
        self.open.clear();
    }

    /// Tells the memory that a source begins.
    ///
    /// # Errors
    /// As [`Memory::begin_source`].
    pub(crate) fn begin_source(
        &mut self,
        program: &mut Program,
        world: &mut dyn World,
        source: &SourceText<'_>,
    ) -> Result<Begun, MemoryError> {
        match &mut self.memory {
            Some(memory) => memory.begin_source(program, world, source),
            None => Ok(Begun { id: SourceId::default(), known: Known::New }),
        }
    }

    /// Says what causes the changes to come; gives what caused those before.
    pub(crate) fn set_cause(&mut self, program: &Program, cause: Option<Cause>) -> Option<Cause> {
        let before = std::mem::replace(&mut self.current, cause);
        if let Some(cause) = cause
            && program.log().keeps() == ChangeDetail::Changes
        {
            program.log().set_cause(self.causes.len() as u32);
            self.causes.push(cause);
        }
        before
    }

    /// The form that is being run.
    pub(crate) fn current_cause(&self) -> Cause {
        let unknown = Cause { source: SourceId::default(), kind: CauseKind::Evaluation, offset: 0 };
        self.current.unwrap_or(unknown)
    }

    /// Ends the transaction and hands it to the memory.
    ///
    /// # Errors
    /// The memory cannot keep it.
    pub(crate) fn commit(&mut self, program: &mut Program, trigger: CommitTrigger) -> Result<(), MemoryError> {
        let current = self.current_cause();
        let Some(memory) = &mut self.memory else { return Ok(()) };
        let changes = program.log().take();
        let mut events = program.take_events();
        events.extend(generator_events(program.generators(), &mut self.generators));
        let causes = std::mem::take(&mut self.causes);
        let commit = Commit { causes, events, changes, variables: program.variables().last() };
        let done = memory.commit(commit, trigger, current);
        self.set_cause(program, self.current);
        done
    }

    /// Notes that a form was ended from outside. If it was cancelled, what was done since the last commit of a knowledge base is
    /// undone; gives whether it was.
    ///
    /// # Errors
    /// The memory cannot keep that.
    pub(crate) fn halt(&mut self, program: &mut Program, halted: Halted) -> Result<bool, MemoryError> {
        let is_cancelled = !matches!(halted.reason, LimitReached::Heap(_) | LimitReached::Memory(_));
        if is_cancelled && program.is_durable() {
            let (changes, generators) = (ChangeMark::default(), self.generators.clone());
            self.undo_to(program, &Mark { changes, noted: 0, generators, sources: 0 });
            self.forget(program);
            self.current = None;
        }
        self.memory.as_mut().map_or(Ok(()), |memory| memory.halt(halted))?;
        Ok(is_cancelled)
    }

    /// Opens a `(transaction …)`; gives how many are open then.
    pub(crate) fn open(&mut self, program: &Program) -> usize {
        program.log().keep(ChangeDetail::Changes);
        let (changes, noted) = (program.log().mark(), program.noted());
        let sources = self.memory.as_ref().map_or(0, |memory| memory.sources_begun());
        self.open.push(Mark { changes, noted, generators: program.generators().to_vec(), sources });
        self.open.len()
    }

    /// How many transactions are open.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Closes the `(transaction …)` that was opened as this one of those open, and all inside it; undoes what they did
    /// unless it is to be kept, and says whether anything may have been undone.
    pub(crate) fn close(&mut self, program: &mut Program, depth: usize, keep: bool) -> bool {
        let Some(mark) = depth.checked_sub(1).and_then(|index| self.open.get(index)).cloned() else { return false };
        self.open.truncate(depth - 1);
        if keep {
            program.log().mark();
        } else {
            self.undo_to(program, &mark);
        }
        if !self.open.is_empty() {
            return !keep;
        }
        match self.keeps {
            ChangeDetail::Changes => {}
            ChangeDetail::Counts => program.log().count_from(mark.changes),
            ChangeDetail::Nothing => {
                program.log().keep(ChangeDetail::Nothing);
                self.forget(program);
                self.generators.clear();
            }
        }
        !keep
    }

    fn undo_to(&mut self, program: &mut Program, mark: &Mark) {
        if let Some(memory) = &mut self.memory {
            memory.undo_sources(mark.sources);
        }
        program.log().undo_to(mark.changes);
        program.undo_to(mark.noted, &mark.generators);
    }

    /// The number of the last commit.
    ///
    /// # Errors
    /// A message that says why there is none.
    pub(crate) fn epoch(&self) -> Result<u64, String> {
        self.memory().and_then(Memory::epoch).ok_or_else(nothing_kept)
    }

    /// A space as it was after a commit.
    ///
    /// # Errors
    /// A message that says why that is not known.
    pub(crate) fn as_of(
        &mut self,
        program: &mut Program,
        space: &SharedSpace,
        epoch: u64,
    ) -> Result<SharedSpace, String> {
        let memory = self.memory.as_mut().ok_or_else(nothing_kept)?;
        memory.as_of(program, space, epoch).map_err(|error| error.to_string())
    }

    /// Where the atoms of a space that match a pattern come from.
    ///
    /// # Errors
    /// A message that says why that is not known.
    pub(crate) fn why(
        &mut self,
        program: &mut Program,
        space: &SharedSpace,
        pattern: &Atom,
    ) -> Result<Vec<Reason>, String> {
        let memory = self.memory.as_mut().ok_or_else(nothing_kept)?;
        memory.why(program, space, pattern).map_err(|error| error.to_string())
    }
}

/// What has become of the generators of random numbers since the last commit, which those of that commit become.
fn generator_events(now: &[Generator], before: &mut Vec<Generator>) -> Vec<Event> {
    let changed = now.iter().enumerate().filter(|(number, generator)| before.get(*number) != Some(generator));
    let event =
        |(number, generator): (usize, &Generator)| Event::GeneratorSet { number: number as u64, generator: *generator };
    let events = changed.map(event).collect();
    now.clone_into(before);
    events
}

fn nothing_kept() -> String {
    NO_HISTORY.to_owned()
}
