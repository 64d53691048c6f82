//! Transactions: what a program became since its last commit is handed to the sinks of the run, or undone.
//!
//! 1. Changes of spaces and states are in the program's log; what else happened is noted in the program, with the way to undo it.
//! 2. A `(transaction …)` is a mark: a point to which the program goes back if the transaction fails.
//! 3. A commit takes everything since the one before, with its causes, and hands it to the sinks, one after the other.

use crate::commit::{Cause, CauseKind, Commit, CommitSink, CommitSinks, CommitTrigger};
use crate::limits::{Halted, LimitReached};
use crate::live::{LiveDefinition, LiveNews};
use crate::program::history::{Event, Reason, SourceId};
use crate::program::{ChangeExtent, Program};
use crate::random::Generator;
use crate::record::{Begun, History, Known, NO_HISTORY, RunRecord, RunRecordError, SourceText};
use crate::world::World;
use space::{Atom, ChangeDetail, ChangeMark, SharedSpace};

/// The transactions of a run, with those who take its commits.
pub(crate) struct Transactions {
    record: Option<Box<dyn RunRecord>>,
    sinks: CommitSinks,
    /// What changed since the last commit that the sinks took, beside the atoms of spaces.
    extent: ChangeExtent,
    /// How much the sinks want to know; inside a `(transaction …)` the log keeps more.
    keeps: ChangeDetail,
    causes: Vec<Cause>,
    current: Option<Cause>,
    /// The open `(transaction …)` forms, outermost first.
    open: Vec<Mark>,
    /// The generators of random numbers as they were at the last commit.
    generators: Vec<Generator>,
    /// The number of the last commit that changed something.
    epoch: u64,
    counted: Counted,
}

/// What a run that nobody follows had come to at its last commit: by it such commits are counted as well.
#[derive(Default)]
struct Counted {
    happenings: (u64, u64),
    generators: Vec<Generator>,
}

impl Counted {
    fn of(program: &Program) -> Self {
        Self { happenings: program.happenings(), generators: program.generators().to_vec() }
    }

    /// Whether a program has come to nothing else since.
    fn is_now(&self, program: &Program) -> bool {
        self.happenings == program.happenings() && self.generators == program.generators()
    }
}

/// A point of a run to which it can go back.
#[derive(Clone)]
struct Mark {
    changes: ChangeMark,
    noted: usize,
    generators: Vec<Generator>,
    /// How many sources had begun.
    sources: usize,
    /// Whether nothing had happened since the last commit, as far as commits are only counted.
    is_clean: bool,
}

impl Default for Transactions {
    fn default() -> Self {
        Self {
            record: None,
            sinks: CommitSinks::default(),
            extent: ChangeExtent::default(),
            keeps: ChangeDetail::Nothing,
            causes: Vec::new(),
            current: None,
            open: Vec::new(),
            generators: Vec::new(),
            epoch: 0,
            counted: Counted::default(),
        }
    }
}

impl Transactions {
    /// Puts the run on record: `record` hears of its sources and forms, and the sinks take all commits from now on. What happened
    /// before is not in them.
    pub(crate) fn set_record(
        &mut self,
        program: &mut Program,
        record: Box<dyn RunRecord>,
        sinks: Vec<Box<dyn CommitSink>>,
    ) {
        program.set_durable(record.is_durable());
        self.epoch = record.epoch().unwrap_or(self.epoch);
        self.record = Some(record);
        sinks.into_iter().for_each(|sink| self.sinks.add(sink));
        self.begin_noting(program, self.sinks.detail());
    }

    /// Adds a sink, which takes each commit from now on after the sinks that are there.
    pub(crate) fn add_sink(&mut self, program: &mut Program, sink: Box<dyn CommitSink>) {
        let detail = sink.detail();
        match self.keeps {
            ChangeDetail::Nothing => self.begin_noting(program, detail),
            keeps if keeps < detail => {
                self.keeps = detail;
                program.log().keep(detail);
            }
            // What was noted only to be undone is no part of its first commit.
            keeps if !self.is_followed() && self.record.is_none() => self.begin_noting(program, keeps),
            _ => {}
        }
        self.sinks.add(sink);
    }

    /// Takes the record away, and drops the sinks.
    pub(crate) fn take_record(&mut self, program: &mut Program) -> Option<Box<dyn RunRecord>> {
        self.begin_noting(program, ChangeDetail::Nothing);
        program.set_durable(false);
        self.sinks = CommitSinks::default();
        self.record.take()
    }

    /// Whether sinks take the commits of the run.
    pub(crate) fn is_followed(&self) -> bool {
        !self.sinks.is_empty()
    }

    /// What is on record of the run, if something is.
    pub(crate) fn record(&self) -> Option<&dyn RunRecord> {
        self.record.as_deref()
    }

    /// What is on record of the run, if something is, to be told of what happens.
    pub(crate) fn record_mut(&mut self) -> Option<&mut (dyn RunRecord + 'static)> {
        self.record.as_deref_mut()
    }

    /// Notes this much from now on, and nothing of what has happened so far.
    fn begin_noting(&mut self, program: &mut Program, keeps: ChangeDetail) {
        self.keeps = keeps;
        program.log().keep(ChangeDetail::Nothing);
        program.log().keep(keeps);
        self.forget(program);
        self.current = None;
        self.generators = program.generators().to_vec();
        self.begin_counting(program);
    }

    /// Counts commits from what a program is now.
    pub(crate) fn begin_counting(&mut self, program: &Program) {
        self.counted = Counted::of(program);
    }

    /// The number of the last commit that changed something, however the run is followed. A knowledge base counts in the same way.
    pub(crate) fn commit_number(&self) -> u64 {
        self.epoch
    }

    /// Counts a commit that nobody takes, if something has happened.
    fn count_unfollowed(&mut self, program: &Program) {
        if !self.counted.is_now(program) {
            self.epoch += 1;
            self.begin_counting(program);
        }
    }

    /// Forgets what has happened since the last commit, and the marks.
    fn forget(&mut self, program: &mut Program) {
        program.take_events();
        self.causes.clear();
        self.open.clear();
    }

    /// Tells the record that a source begins.
    ///
    /// # Errors
    /// As [`RunRecord::begin_source`]; or a sink has failed.
    pub(crate) fn begin_source(
        &mut self,
        program: &mut Program,
        world: &mut dyn World,
        source: &SourceText<'_>,
    ) -> Result<Begun, RunRecordError> {
        self.sinks.check()?;
        match &mut self.record {
            Some(record) => record.begin_source(program, world, source),
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

    /// Says what causes each of some changes to come, in order; gives the number of the first cause, by which the log is to note them, if
    /// changes are noted one by one.
    pub(crate) fn add_causes(&mut self, program: &Program, causes: impl Iterator<Item = Cause>) -> Option<u32> {
        if program.log().keeps() != ChangeDetail::Changes {
            self.current = causes.last().or(self.current);
            return None;
        }
        let first = self.causes.len() as u32;
        self.causes.extend(causes);
        self.current = self.causes.last().copied().or(self.current);
        program.log().set_cause((self.causes.len() as u32).saturating_sub(1));
        Some(first)
    }

    /// The form that is being run.
    pub(crate) fn current_cause(&self) -> Cause {
        let unknown = Cause { source: SourceId::default(), kind: CauseKind::Evaluation, offset: 0 };
        self.current.unwrap_or(unknown)
    }

    /// A `!` form of the program begins, after this many evaluations; gives where it is to be ended, if the run is one that was
    /// ended in it from outside.
    ///
    /// # Errors
    /// The run is not to go on.
    pub(crate) fn begin_evaluation(&mut self, evaluations: u64, form: Cause) -> Result<Option<Halted>, RunRecordError> {
        self.sinks.check()?;
        self.record.as_mut().map_or(Ok(None), |record| record.begin_evaluation(evaluations, form))
    }

    /// Ends the transaction and hands it to the sinks.
    ///
    /// # Errors
    /// One of them cannot take it, or ends the run.
    pub(crate) fn commit(
        &mut self,
        program: &mut Program,
        world: &mut dyn World,
        trigger: CommitTrigger,
    ) -> Result<(), RunRecordError> {
        if self.sinks.is_empty() && self.record.is_none() {
            self.count_unfollowed(program);
            return Ok(());
        }
        let changes = program.log().take();
        self.extent = self.extent.with(program.extent_of(&changes));
        let mut events = program.take_events();
        events.extend(generator_events(program.generators(), &mut self.generators));
        let causes = std::mem::take(&mut self.causes);
        let (variables, current) = (program.variables().last(), self.current_cause());
        let commit = Commit { causes, events, changes, extent: self.extent, variables, trigger, current };
        // Where nothing is asked and nothing has happened, there is nothing to take.
        let is_taken = !commit.is_empty() || matches!(trigger, CommitTrigger::Answer | CommitTrigger::Asked);
        self.epoch += u64::from(!commit.is_empty());
        let taken = if is_taken { self.sinks.take(program, world, &commit, self.epoch) } else { Ok(()) };
        if is_taken {
            self.extent = ChangeExtent::default();
        }
        let done = match (taken, &mut self.record) {
            (Err(error), _) => Err(error.into()),
            (Ok(()), Some(record)) => record.committed(trigger),
            (Ok(()), None) => Ok(()),
        };
        self.set_cause(program, self.current);
        done
    }

    /// Notes that a form was ended from outside. If it was cancelled, what was done since the last commit of a knowledge base is
    /// undone; gives whether it was.
    ///
    /// # Errors
    /// The record cannot keep that.
    pub(crate) fn halt(&mut self, program: &mut Program, halted: Halted) -> Result<bool, RunRecordError> {
        let is_cancelled = !matches!(halted.reason, LimitReached::Heap(_) | LimitReached::Memory(_));
        if is_cancelled && program.is_durable() {
            self.undo_all(program);
            self.forget(program);
            self.current = None;
        }
        self.record.as_mut().map_or(Ok(()), |record| record.halt(halted))?;
        Ok(is_cancelled)
    }

    /// Opens a `(transaction …)`; gives how many are open then.
    pub(crate) fn open(&mut self, program: &Program) -> usize {
        program.log().keep(ChangeDetail::Changes);
        let (changes, noted) = (program.log().mark(), program.noted());
        let sources = self.record.as_ref().map_or(0, |record| record.sources_begun());
        let is_clean = self.counted.is_now(program);
        self.open.push(Mark { changes, noted, generators: program.generators().to_vec(), sources, is_clean });
        self.open.len()
    }

    /// Notes from now on what it takes to undo what happens, and forgets what it took before. A run that is on record keeps that itself.
    pub(crate) fn begin_undoable(&mut self, program: &mut Program) {
        if self.sinks.is_empty() && self.record.is_none() {
            self.begin_noting(program, ChangeDetail::Changes);
        }
    }

    /// Undoes what has happened since [`Transactions::begin_undoable`]; says whether there was something.
    pub(crate) fn undo(&mut self, program: &mut Program) -> bool {
        let is_noting = self.keeps == ChangeDetail::Changes && self.sinks.is_empty() && self.record.is_none();
        let (before, noted) = (program.log().stamp(), program.noted());
        if is_noting {
            self.undo_all(program);
            self.begin_noting(program, ChangeDetail::Changes);
        }
        is_noting && (noted > 0 || program.log().stamp() != before)
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
        if let Some(record) = &mut self.record {
            record.undo_sources(mark.sources);
        }
        program.log().undo_to(mark.changes);
        program.undo_to(mark.noted, &mark.generators);
        if mark.is_clean {
            self.begin_counting(program);
        }
    }

    /// Undoes all that has happened since the last commit.
    fn undo_all(&mut self, program: &mut Program) {
        let (changes, generators) = (ChangeMark::default(), self.generators.clone());
        self.undo_to(program, &Mark { changes, noted: 0, generators, sources: 0, is_clean: true });
    }

    /// The number of the last commit.
    ///
    /// # Errors
    /// A message that says why there is none.
    pub(crate) fn epoch(&self) -> Result<u64, String> {
        self.record().and_then(RunRecord::epoch).ok_or_else(nothing_kept)
    }

    fn history(&mut self) -> Result<&mut dyn History, String> {
        self.record.as_mut().and_then(|record| record.history()).ok_or_else(nothing_kept)
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
        self.history()?.as_of(program, space, epoch).map_err(|error| error.to_string())
    }

    /// What commits have changed in the answers of a live query: those after the one, up to the other. `None` if no history is kept.
    pub(crate) fn live_changes(
        &mut self,
        program: &mut Program,
        definition: &LiveDefinition,
        (after, last): (u64, u64),
    ) -> Option<Result<Vec<LiveNews>, RunRecordError>> {
        let history = self.record.as_mut()?.history()?;
        Some(history.live_changes(program, definition, (after, last)))
    }

    /// Where the atoms come from that match a pattern and that a space has now, or had after a commit.
    ///
    /// # Errors
    /// A message that says why that is not known.
    pub(crate) fn why(
        &mut self,
        program: &mut Program,
        space: &SharedSpace,
        pattern: &Atom,
        epoch: Option<u64>,
    ) -> Result<Vec<Reason>, String> {
        self.history()?.why(program, space, pattern, epoch).map_err(|error| error.to_string())
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
