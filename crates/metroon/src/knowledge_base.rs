//! A knowledge base that threads share.
//!
//! ```text
//!   threads ── run, load, transact ──▶ queue ──▶ writer thread ──▶ journal
//!                                                     │ after each commit
//!   threads ◀── view() ──────────── newest view ◀─────┘
//! ```
//!
//! 1. One thread [writes](crate::writer). What others ask of it is done in the order of its queue, and they wait for the result.
//! 2. After each commit that changed something, and when it is on the disk, the writer puts a [`View`] in the place of the one before.
//! 3. A thread that asks has a view, and does not wait for a commit: the place is locked as long as it takes to count a reference.
//!
//! A run that shares no handle makes no views, and pays nothing for them.

use crate::answer::Answer;
use crate::commit_journal::{CommitJournal, HISTORY_BYTES_DEFAULT, KnowledgeBaseError, Moment};
use crate::engine::Engine;
use crate::history::History;
use crate::live::{
    CHANGES_WAITING_BYTES_DEFAULT, CHANGES_WAITING_DEFAULT, LiveFollowing, LiveNameError, LiveQueriesStatistics,
    LiveRequest, NamedLiveQuery, SubscribeError, Subscription,
};
use crate::load::{LoadFailure, LoadOptions};
use crate::metrics::{Counters, CountingSink, Metrics};
use crate::program::RunRequest;
use crate::recall::{BegunRun, RecallError};
use crate::view::{View, ViewOrigin};
use crate::writer::{EngineThread, Pending, WriterError};
use journal::{Disk, Durability};
use metta::syntax::{Diagnostic, Severity};
use metta::{
    ChangeExtent, Commit, CommitSink, CommitStamp, HostFunction, HostSignature, LoadReport, Program, RunEnd, SinkError,
    World,
};
use space::ChangeDetail;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// How many requests wait for the writer before the next caller waits for room, unless set otherwise.
pub const REQUESTS_WAITING_DEFAULT: usize = 64;

/// How a knowledge base is opened.
pub struct KnowledgeBaseOptions {
    world: Box<dyn World + Send>,
    /// How many requests may wait for the writer; if there are more, the caller waits.
    pub requests_waiting_max: usize,
    /// Whether the results of [`KnowledgeBase::run`] are frozen as well: see [`Answer::frozen`]. It costs a copy of them.
    pub freezes_results: bool,
    /// What a commit may outlive when it is told of: the loss of power, by default, which costs a wait for the disk each time; or the end of the
    /// process only, or nothing. The commits before one that is lost are there in any case, and closing waits for the disk.
    pub durability: Durability,
    /// How much of its history a base in memory keeps beside what it holds, in bytes: [`HISTORY_BYTES_DEFAULT`] by default, or all of it for `None`.
    /// Older commits are given up. A base in a folder keeps all of them until somebody compacts it.
    pub history_bytes_max: Option<u64>,
    /// How many bytes of changes wait for all who follow live queries together, about: [`CHANGES_WAITING_BYTES_DEFAULT`] by default. If there are
    /// more, some are dropped, and those who follow are told which: see [`LiveEvent::Dropped`](crate::LiveEvent::Dropped).
    pub changes_waiting_bytes_max: usize,
}

impl KnowledgeBaseOptions {
    /// The usual, with the world that programs act in.
    pub fn new(world: impl World + Send + 'static) -> Self {
        Self {
            world: Box::new(world),
            requests_waiting_max: REQUESTS_WAITING_DEFAULT,
            freezes_results: false,
            durability: Durability::Fsync,
            history_bytes_max: Some(HISTORY_BYTES_DEFAULT),
            changes_waiting_bytes_max: CHANGES_WAITING_BYTES_DEFAULT,
        }
    }
}

/// A knowledge base that is open for writing. Its handles are cheap to clone, and any thread may have one; with the last one, or by
/// [`KnowledgeBase::close`], it is closed.
///
/// ```
/// use metroon::{KnowledgeBase, KnowledgeBaseOptions, MemoryWorld};
///
/// let folder = std::env::temp_dir().join(format!("metroon-shared-{}", std::process::id()));
/// let base = KnowledgeBase::open(&folder, KnowledgeBaseOptions::new(MemoryWorld::default()))?;
/// base.run("(parent Tom Bob) (= (child $x) (match &self (parent $x $y) $y))")?;
/// let view = base.view();
/// std::thread::scope(|scope| {
///     scope.spawn(|| base.run("(parent Pam Bob)"));
///     // What others write meanwhile is not seen.
///     let asked = scope.spawn(|| view.query("(parent $who Bob)", "$who"));
///     assert_eq!(asked.join().unwrap().unwrap()[0].to_string(), "Tom");
/// });
/// let answers = base.view().evaluate("!(child Pam)")?;
/// assert_eq!(answers[0].results[0].to_string(), "Bob");
/// base.close()?;
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct KnowledgeBase(Arc<Shared>);

struct Shared {
    writer: EngineThread,
    newest: Arc<NewestView>,
    counters: Arc<Counters>,
    warnings: Vec<String>,
    /// Where the journal lies, and the directory from which sources are named.
    disk: Arc<dyn Disk>,
    directory: String,
    segment_bytes: u64,
    /// Where it lies, if it lies in a directory.
    home: Option<PathBuf>,
}

/// Where the newest view is found.
struct NewestView(RwLock<View>);

/// A text that ran to its end.
#[derive(Debug)]
#[non_exhaustive]
pub struct Completed {
    /// What its `!` forms came to.
    pub answers: Vec<Answer>,
    /// What the parser warned of.
    pub warnings: Vec<Diagnostic>,
    /// The last commit of the knowledge base afterwards.
    pub epoch: u64,
}

/// Why a text did not run to its end.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// It ended early; what its forms did before stands.
    Ended {
        /// How: an answer with an error, a limit, a form that does not parse, a world or a record that failed.
        end: RunEnd,
        /// What its `!` forms came to until then.
        answers: Vec<Answer>,
        /// What the parser had to say.
        diagnostics: Vec<Diagnostic>,
        /// The last commit of the knowledge base afterwards.
        epoch: u64,
    },
    /// The writer did not run it.
    Writer(WriterError),
}

impl fmt::Display for RunError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended { end: RunEnd::Error, answers, .. } => {
                let last = answers.last().map_or(&[][..], |answer| &answer.results);
                formatter.write_str("an answer has an error in it:")?;
                last.iter().try_for_each(|result| write!(formatter, " {result}"))
            }
            Self::Ended { end: RunEnd::NotParsed, diagnostics, .. } => {
                let error = diagnostics.iter().find(|found| found.severity == Severity::Error);
                let (message, help) = error.map_or(("", None), |error| (&error.message, error.help.as_ref()));
                write!(formatter, "the text does not parse: {message}")?;
                help.map_or(Ok(()), |help| write!(formatter, "; {help}"))
            }
            Self::Ended { end: RunEnd::Limit(limit), .. } => write!(
                formatter,
                "a limit ended the run: {limit}; raise it by Engine::limits_mut, within KnowledgeBase::transact"
            ),
            Self::Ended { end: RunEnd::World(error), .. } => error.fmt(formatter),
            Self::Ended { end: RunEnd::RunRecord(error), .. } => {
                write!(formatter, "the run cannot go on: {error}; close the knowledge base and open it again")
            }
            Self::Ended { end, .. } => write!(formatter, "the text ended early: {end:?}"),
            Self::Writer(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for RunError {}

/// Why a file was not loaded.
#[derive(Debug)]
#[non_exhaustive]
pub enum BaseLoadError {
    /// It cannot be loaded, or the load ended before its end.
    Load(LoadFailure),
    /// The writer did not load it.
    Writer(WriterError),
}

impl fmt::Display for BaseLoadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load(error) => error.fmt(formatter),
            Self::Writer(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for BaseLoadError {}

impl KnowledgeBase {
    /// Opens the knowledge base in a directory, or makes one, and starts the thread that writes to it.
    ///
    /// # Errors
    /// Another process writes to it, it is something else, or it is damaged.
    pub fn open(directory: impl AsRef<Path>, options: KnowledgeBaseOptions) -> Result<Self, WriterError> {
        Self::of_journal(CommitJournal::open(directory), options)
    }

    /// A knowledge base in memory, which is gone with its last handle.
    ///
    /// # Errors
    /// The thread that writes cannot be started.
    pub fn in_memory(options: KnowledgeBaseOptions) -> Result<Self, WriterError> {
        Self::of_journal(CommitJournal::in_memory(options.history_bytes_max), options)
    }

    /// A knowledge base whose journal lies on a disk; sources are named from the directory.
    ///
    /// # Errors
    /// It is damaged, or the disk fails.
    pub fn on_disk(disk: Arc<dyn Disk>, directory: &str, options: KnowledgeBaseOptions) -> Result<Self, WriterError> {
        Self::of_journal(CommitJournal::on_disk(disk, directory), options)
    }

    fn of_journal(
        journal: Result<CommitJournal, KnowledgeBaseError>,
        options: KnowledgeBaseOptions,
    ) -> Result<Self, WriterError> {
        let KnowledgeBaseOptions { world, requests_waiting_max, freezes_results, durability, .. } = options;
        let waiting_bytes_max = options.changes_waiting_bytes_max;
        let journal = journal.map_err(RecallError::from)?.with_durability(durability);
        let (disk, directory) = (Arc::clone(&journal.disk), journal.directory().to_owned());
        let (segment_bytes, home) = (journal.segment_bytes(), journal.home().map(Path::to_owned));
        let origin = Arc::new(ViewOrigin { disk: Arc::clone(&disk), directory: directory.clone() });
        let first = Arc::new(OnceLock::new());
        let found = Arc::clone(&first);
        let counters = Arc::new(Counters::default());
        let counted = Arc::clone(&counters);
        let writer = EngineThread::start(requests_waiting_max, move || {
            let mut run = BegunRun::new(world, Some(journal), None, &RunRequest::default())?;
            run.session.freeze_results(freezes_results);
            let record = run.session.record().expect("a run in a base is on record");
            let stamp = CommitStamp { epoch: record.epoch(), state_hash: record.state_hash(), time: None };
            let view = view_of(run.session.program(), stamp, None, Some(origin));
            let newest = Arc::new(NewestView(RwLock::new(view)));
            let _ = first.set((Arc::clone(&newest), run.warnings.clone()));
            run.session.add_sink(Box::new(CountingSink(counted)));
            run.session.add_sink(Box::new(ViewSink(newest)));
            let engine = Engine::of(run);
            engine.set_waiting_bytes_max(waiting_bytes_max);
            Ok(engine)
        })?;
        let (newest, warnings) = found.get().expect("a writer that has started has published a view");
        let (newest, warnings) = (Arc::clone(newest), warnings.clone());
        Ok(Self(Arc::new(Shared { writer, newest, counters, warnings, disk, directory, segment_bytes, home })))
    }

    /// What it has done since it was opened, and what it holds. The writer is not waited for.
    pub fn metrics(&self) -> Metrics {
        let view = self.view();
        self.0.counters.read(view.epoch(), view.atom_count() as u64)
    }

    /// What opening it mended.
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    /// The knowledge base as it is now, without waiting for a commit that is under way.
    pub fn view(&self) -> View {
        self.0.newest.get()
    }

    /// Runs a text as a part of the program, and waits until it has ended. Each `!` form is a commit.
    ///
    /// # Errors
    /// It did not run to its end.
    pub fn run(&self, text: &str) -> Result<Completed, RunError> {
        let text = text.to_owned();
        let ran = self.transact(move |engine| {
            let mut answers = Vec::new();
            let run = engine.run_text(&text, &mut |_, answer| {
                answers.push(Answer::of(answer));
                Ok(())
            });
            (run, answers, engine.epoch().unwrap_or_default())
        });
        let (run, answers, epoch) = ran.map_err(RunError::Writer)?;
        match run.end {
            RunEnd::Finished => Ok(Completed { answers, warnings: run.diagnostics, epoch }),
            end => Err(RunError::Ended { end, answers, diagnostics: run.diagnostics, epoch }),
        }
    }

    /// Adds what a file states, as [`Engine::load`] does, and waits until that is done.
    ///
    /// # Errors
    /// It cannot be loaded, or the load ended before the end of the file.
    pub fn load(&self, file: &str, options: LoadOptions) -> Result<LoadReport, BaseLoadError> {
        let file = file.to_owned();
        let loaded = self.transact(move |engine| engine.load(&file, &options, &mut |_| {}));
        loaded.map_err(BaseLoadError::Writer)?.map_err(BaseLoadError::Load)
    }

    /// Lets the writer do something with its engine, and waits for the result. Nothing that others ask comes in between.
    ///
    /// # Errors
    /// The knowledge base is closed, or the writer panicked.
    pub fn transact<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<T, WriterError> {
        self.submit(work)?.wait()
    }

    /// The knowledge base as it was after a commit.
    ///
    /// # Errors
    /// There is no such commit, or the journal cannot be read.
    pub fn view_at(&self, epoch: u64) -> Result<View, KnowledgeBaseError> {
        let view = View::up_to(CommitJournal::read_on_disk(Arc::clone(&self.0.disk), &self.0.directory), epoch)?;
        let last = view.epoch();
        if epoch > last { Err(KnowledgeBaseError::NoEpoch { epoch, last }) } else { Ok(view) }
    }

    /// What its commits were, as far as they are made: which of them changed an atom, for example. It is read anew, and knows of no later commit;
    /// the writer is not waited for.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn history(&self) -> Result<History, KnowledgeBaseError> {
        match &self.0.home {
            Some(home) => History::open(home),
            None => History::on_disk(&self.0.disk, &self.0.directory),
        }
    }

    /// The number of the commit that a moment means, for [`KnowledgeBase::view_at`] and [`KnowledgeBase::fork`].
    ///
    /// # Errors
    /// No commit was made by then, the commits have no times, or the journal cannot be read.
    pub fn epoch_at(&self, moment: Moment) -> Result<u64, KnowledgeBaseError> {
        CommitJournal::read_on_disk(Arc::clone(&self.0.disk), &self.0.directory).epoch_at(moment)
    }

    /// A knowledge base in memory that has the commits of this one, or those up to one of them, and goes on for itself.
    ///
    /// # Errors
    /// There is no such commit, or the journal cannot be read.
    pub fn fork(&self, at: Option<u64>, options: KnowledgeBaseOptions) -> Result<Self, WriterError> {
        let journal =
            CommitJournal::read_on_disk(Arc::clone(&self.0.disk), &self.0.directory).in_segments(self.0.segment_bytes);
        Self::of_journal(journal.fork_keeping(at, options.history_bytes_max), options)
    }

    /// Whether the thread that asks is the one that writes: then it waits for nothing that is asked of the writer.
    pub fn is_writer(&self) -> bool {
        self.0.writer.is_current()
    }

    /// Lets the writer do something with its engine, in its turn, and does not wait for the result.
    ///
    /// # Errors
    /// The knowledge base is closed, or the writer panicked.
    pub fn submit<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<Pending<T>, WriterError> {
        let counters = Arc::clone(&self.0.counters);
        self.0.counters.asked();
        let submitted = self.0.writer.submit(move |engine| {
            counters.begun();
            work(engine)
        });
        submitted.inspect_err(|_| self.0.counters.refused())
    }

    /// Makes the name of a function of the host mean that function to what is run from now on, and to what views are asked from now on;
    /// a view carries out a pure one only. Registering a name again replaces the function.
    ///
    /// # Errors
    /// The knowledge base is closed, or the writer panicked.
    pub fn add_function(&self, signature: HostSignature, function: Arc<dyn HostFunction>) -> Result<(), WriterError> {
        let newest = Arc::clone(&self.0.newest);
        self.transact(move |engine| {
            let session = engine.session_mut();
            session.program_mut().add_host_function(&signature, function);
            let record = session.record().expect("a run in a base is on record");
            let stamp = CommitStamp { epoch: record.epoch(), state_hash: record.state_hash(), time: None };
            newest.publish(session.program(), stamp, ChangeExtent { modules: true, ..ChangeExtent::default() });
        })
    }

    /// Follows a live query: its answers as they are now, their end, and then what each commit changes in them. Between the moment of
    /// the answers and the first commit nothing is missed.
    ///
    /// # Errors
    /// The query is none, or the knowledge base is closed.
    pub fn subscribe(&self, request: &LiveRequest) -> Result<Subscription, SubscribeError> {
        self.join(request, CHANGES_WAITING_DEFAULT, None)
    }

    /// Follows a live query with room for `changes_waiting_max` changes that wait. If nobody takes them in time, those of later commits
    /// are dropped, and a notice says which commits these were. After an earlier commit it goes on as if somebody had followed it until
    /// then.
    ///
    /// # Errors
    /// The query is none, there is no such commit, or the knowledge base is closed.
    pub fn subscribe_with(
        &self,
        request: &LiveRequest,
        changes_waiting_max: usize,
        after: Option<u64>,
    ) -> Result<Subscription, SubscribeError> {
        self.join(request, changes_waiting_max, after)
    }

    fn join(
        &self,
        request: &LiveRequest,
        waiting_max: usize,
        after: Option<u64>,
    ) -> Result<Subscription, SubscribeError> {
        let (newest, asked) = (Arc::clone(&self.0.newest), request.clone());
        let joined = self.transact(move |engine| {
            // Nothing is committed meanwhile.
            let view = newest.get();
            let last = view.epoch();
            if let Some(epoch) = after.filter(|&after| after > last) {
                return Err(SubscribeError::KnowledgeBase(KnowledgeBaseError::NoEpoch { epoch, last }));
            }
            let asked = asked.as_of_now(&view)?;
            let definition = asked.read(&view, engine.session_mut().program_mut())?;
            let hub = engine.live();
            let joined = engine.guarded(|session| hub.add(&definition, session.program(), (waiting_max, last)));
            let joined = joined.map_err(SubscribeError::KnowledgeBase)?;
            Ok((joined?, (definition, asked), view))
        });
        let (joined, (definition, request), view) = joined??;
        let Some(after) = after else { return Ok(Subscription::of_now(joined, definition, view)) };
        let journal = CommitJournal::read_on_disk(Arc::clone(&self.0.disk), &self.0.directory);
        Ok(Subscription::of_before(joined, LiveFollowing { journal, request, after }, view.epoch()))
    }

    /// The live queries that have names, in the order of their registration. [`LiveRequest::named`] follows one. The writer is not waited for.
    pub fn live_queries(&self) -> Vec<NamedLiveQuery> {
        self.view().live_queries()
    }

    /// Registers a live query under a name, as `(live-with …)` of the module `live-queries` does.
    ///
    /// # Errors
    /// The query is none or cannot be kept up to date, the name is taken, or the knowledge base is closed.
    pub fn add_live_query(&self, name: &str, request: &LiveRequest) -> Result<(), LiveNameError> {
        let (name, request) = (name.to_owned(), request.clone());
        self.transact(move |engine| engine.add_live_query(&name, &request)).map_err(LiveNameError::Writer)?
    }

    /// Ends the live query of a name. Those who follow it go on until they stop.
    ///
    /// # Errors
    /// There is none, or the knowledge base is closed.
    pub fn end_live_query(&self, name: &str) -> Result<(), LiveNameError> {
        let name = name.to_owned();
        self.transact(move |engine| engine.end_live_query(&name)).map_err(LiveNameError::Writer)?
    }

    /// What the live queries have done: a commit looks at those that it touches.
    ///
    /// # Errors
    /// The knowledge base is closed.
    pub fn live_statistics(&self) -> Result<LiveQueriesStatistics, WriterError> {
        self.transact(|engine| engine.live_statistics())
    }

    /// Does what was asked until now, and closes the knowledge base, for all handles.
    ///
    /// # Errors
    /// The journal could not note how far it is durable, though every commit is; or the writer panicked.
    pub fn close(&self) -> Result<(), WriterError> {
        self.0.writer.close()
    }
}

/// What a program holds after the last commit that is on record.
fn view_of(
    program: &Program,
    stamp: CommitStamp,
    before: Option<(&View, ChangeExtent)>,
    origin: Option<Arc<ViewOrigin>>,
) -> View {
    let epoch = stamp.epoch.unwrap_or_default();
    let snapshot = program.snapshot(Some(epoch), before.map(|(view, extent)| (view.snapshot(), extent)));
    View::new(snapshot, epoch, stamp.state_hash.unwrap_or_default(), origin)
}

/// Publishes a view after each commit that changed something, once the sinks before it have kept the commit.
struct ViewSink(Arc<NewestView>);

impl CommitSink for ViewSink {
    fn name(&self) -> &'static str {
        "the views of the knowledge base"
    }

    fn detail(&self) -> ChangeDetail {
        ChangeDetail::Changes
    }

    fn take(&mut self, program: &Program, commit: &Commit, stamp: &mut CommitStamp) -> Result<(), SinkError> {
        if !commit.is_empty() || commit.extent.modules {
            self.0.publish(program, *stamp, commit.extent);
        }
        Ok(())
    }
}

impl NewestView {
    fn get(&self) -> View {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts the view of now in the place of the one before, which is given up after the lock is.
    fn publish(&self, program: &Program, stamp: CommitStamp, extent: ChangeExtent) {
        let before = self.get();
        let view = view_of(program, stamp, Some((&before, extent)), before.origin());
        let old = std::mem::replace(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner), view);
        drop(old);
    }
}
