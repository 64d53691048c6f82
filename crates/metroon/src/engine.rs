//! The engine: programs run one after the other in one space.

use crate::commit_journal::checkpoint::{Checkpoint, Checkpointer};
use crate::commit_journal::{CheckpointReport, CommitJournal, CompactProgress, Compacted, KnowledgeBaseError};
use crate::live::{LiveHub, LiveQueriesStatistics};
use crate::load::{LoadFailure, LoadOptions, format_of, reader};
use crate::package::Package;
use crate::program::{ProgramEnd, ProgramSource, Reporter, RunRequest, print_failure, print_json, print_line};
use crate::recall::{BegunRun, RecallError};
use crate::run_statistics::RunStatistics;
use crate::tape::replaying::{ReplayEnd, SharedFollower};
use crate::tape::{Tape, TapeReader};
use crate::view::filled;
use journal::Disk;
use metta::syntax::{Diagnostic, Span};
use metta::{
    Explained, Format, HEAP_BYTES_DEFAULT, HostFunction, HostSignature, Limits, LoadError, LoadReport, LoadSource,
    ModuleId, OnAnswer, OnEvent, OnProgress, Reason, Run, RunEnd, RunEvent, Session, Source, World, WorldError,
};
use space::{AnswerTable, Atom, catching_damage};
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;

/// Runs MeTTa programs.
pub struct Engine {
    session: Session,
    /// The tape that its run follows.
    follower: Option<SharedFollower>,
    /// What writes the checkpoints of its base.
    checkpoints: Option<Rc<Checkpointer>>,
    /// What it goes on in, and the checkpoint that it was made of.
    base: Option<(Arc<dyn Disk>, Option<CheckpointReport>)>,
    /// What opening its base could not use.
    warnings: Vec<String>,
    /// Why nothing is done any more: the checkpoint is damaged.
    damage: Option<(String, bool)>,
    /// Its live queries.
    live: LiveHub,
    keeps_going: bool,
}

/// The longest source that is looked through for likely mistakes after it has run, in bytes: longer ones are data.
const NOTED_BYTES_MAX: usize = 1 << 20;

/// Which answers are printed.
#[derive(Clone, Copy)]
enum Prints {
    All,
    Errors,
}

impl Engine {
    /// An engine with the standard library, acting in this world. It keeps nothing beyond its own life.
    pub fn new(world: impl World + 'static) -> Self {
        Self::of_session(Session::new(Box::new(world)))
    }

    /// An engine whose standard library lacks some names, for tests of what depends on them.
    pub fn without(world: impl World + 'static, missing: &[&str]) -> Self {
        Self::of_session(Session::without(Box::new(world), missing))
    }

    fn of_session(session: Session) -> Self {
        Self::of(BegunRun::nothing(session))
    }

    /// An engine that goes on with a run.
    pub(crate) fn of(run: BegunRun) -> Self {
        let BegunRun { session, follower, checkpoints, base, warnings } = run;
        let live = LiveHub::default();
        let mut engine =
            Self { session, follower, checkpoints, base, warnings, damage: None, live, keeps_going: false };
        let keeper = engine.live.keeper();
        // If the checkpoint turns out to be damaged, whatever is done next says so.
        let _ = engine.guarded(|session| session.set_live_keeper(keeper));
        engine
    }

    /// An engine that goes on where its base ended, and keeps in it what programs do.
    ///
    /// # Errors
    /// The base is damaged.
    pub fn with_base(world: impl World + 'static, base: CommitJournal) -> Result<Self, RecallError> {
        Self::remembering(world, Some(base), None, &RunRequest::default())
    }

    /// An engine that goes on where a base ends, which [`CommitJournal::read`] has opened, and changes nothing in it: a form that does
    /// ends the run. Another process may write to the base meanwhile.
    ///
    /// [`CommitJournal::read`]: crate::storage::CommitJournal::read
    ///
    /// # Errors
    /// The base is damaged.
    pub fn reading(world: impl World + 'static, base: CommitJournal) -> Result<Self, RecallError> {
        BegunRun::read_only(Box::new(world), base).map(Self::of)
    }

    /// An engine that writes to a tape what the world tells it, and goes on in a base if there is one. Only the program
    /// that is named here can be replayed: run it with [`Engine::run_program`].
    ///
    /// # Errors
    /// The base is damaged, or the tape cannot be written.
    pub fn remembering(
        world: impl World + 'static,
        base: Option<CommitJournal>,
        tape: Option<Tape>,
        program: &RunRequest,
    ) -> Result<Self, RecallError> {
        BegunRun::new(Box::new(world), base, tape, program).map(Self::of)
    }

    /// An engine that follows a tape, with the program to run, whose output goes to a world. It stops after the commit of
    /// that number, if one is named.
    ///
    /// # Errors
    /// The tape cannot be read.
    pub fn replaying(
        output: impl World + 'static,
        tape: TapeReader,
        stop_after: Option<u64>,
    ) -> Result<(Self, RunRequest), RecallError> {
        let (run, program) = BegunRun::replaying(Box::new(output), tape, stop_after)?;
        Ok((Self::of(run), program))
    }

    /// How many commits of the tape were equal, and why the replay ended before the program did, if it did. `None` if
    /// nothing is replayed.
    pub fn replayed(&self) -> Option<(u64, Option<ReplayEnd>)> {
        let follower = self.follower.as_ref()?.borrow();
        Some((follower.commits(), follower.end().cloned()))
    }

    /// Leaves the tape that was followed: the engine goes on from there in another world, and nothing is compared any more.
    pub fn beside_tape(mut self, world: impl World + 'static) -> Self {
        self.session.take_record();
        self.session.set_world(Box::new(world));
        Self::of_session(self.session)
    }

    /// Ends the run: completes the tape that is written, checks that the one that is followed has ended too, closes
    /// the base.
    ///
    /// # Errors
    /// The tape cannot be completed, or goes on.
    pub fn finish(mut self) -> Result<(), RecallError> {
        if let Some(checkpoints) = self.checkpoints.clone() {
            let ended = self.guarded(|session| checkpoints.at_end(session.program()));
            drop((checkpoints, self.checkpoints.take()));
            ended?;
        }
        let Some(mut record) = self.session.take_record() else { return Ok(()) };
        record.close().map_err(RecallError::of)
    }

    /// What opening its base could not use, such as a checkpoint that is damaged.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Writes a checkpoint of the base, so that it is opened at once. One is written without being asked for when much has been committed
    /// since the last; see `docs/knowledge-base.md`.
    ///
    /// # Errors
    /// The base is only read, nothing was committed yet, or the disk refuses. Every commit is kept.
    pub fn checkpoint(&mut self) -> Result<CheckpointReport, KnowledgeBaseError> {
        let checkpoints = self.checkpoints.clone().ok_or(KnowledgeBaseError::ReadOnly)?;
        self.guarded(|session| checkpoints.now(session.program(), &mut |_| {}))?
            .map_err(KnowledgeBaseError::NoCheckpoint)
    }

    /// Writes a checkpoint of the base and, if a number is given, gives up the commits before the last `keep`: what there was after them, and
    /// how it came about, is not known any more then. The journal is cut by segments of 8 MiB, so nothing is given up if no segment
    /// holds only commits before those. What replaces them is compared with them first; see `docs/knowledge-base.md`.
    ///
    /// # Errors
    /// The base is only read, nothing was committed yet, it is damaged, or the disk refuses. The commits that are to be kept are kept.
    pub fn compact(
        &mut self,
        keep: Option<u64>,
        on_progress: &mut dyn FnMut(CompactProgress),
    ) -> Result<Compacted, KnowledgeBaseError> {
        let checkpoints = self.checkpoints.clone().ok_or(KnowledgeBaseError::ReadOnly)?;
        self.guarded(|session| checkpoints.compact(session.program(), keep, on_progress))?
    }

    /// Its live queries. A run without any pays nothing for them.
    pub(crate) fn live(&mut self) -> LiveHub {
        if let Some(sink) = self.live.first_sink() {
            self.session.add_sink(sink);
        }
        self.live.clone()
    }

    /// Says how many bytes of changes may wait for all who follow its live queries.
    pub(crate) fn set_waiting_bytes_max(&self, bytes: usize) {
        self.live.set_waiting_bytes_max(bytes);
    }

    /// What its live queries have done.
    pub fn live_statistics(&self) -> LiveQueriesStatistics {
        self.live.statistics()
    }

    /// What every layer that took part has counted so far: the evaluation, the space, what the run is kept in.
    pub fn statistics(&self) -> RunStatistics<'_> {
        RunStatistics::of(&self.session, self.live.statistics())
    }

    /// What evaluates, to be asked what it has done and where its time went.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// What evaluates, to trace and to profile it, or to ask for the code that it makes. What is run goes through the engine, which guards the
    /// base.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Says how many threads may work at once where that changes nothing but the time: they read files of facts and write commits of
    /// many atoms. Until then there is one.
    pub fn set_threads(&mut self, threads: NonZeroUsize) {
        self.session.program_mut().threads = threads;
    }

    /// The limits of every evaluation.
    pub fn limits_mut(&mut self) -> &mut Limits {
        self.session.limits_mut()
    }

    /// Runs a program without evaluating, but for forms such as `import!` that say what words and rules mean, and prints
    /// the code of each function that it defines, in the order of their first rules.
    pub fn explain_program(
        &mut self,
        program: &RunRequest,
        what: Explained,
        reporter: &mut dyn Reporter,
    ) -> ProgramEnd {
        self.session.only_define(true);
        let end = self.run_printing(program, Prints::Errors, reporter);
        self.session.only_define(false);
        if !matches!(end, ProgramEnd::Finished) {
            return end;
        }
        for text in self.session.explain_all(what) {
            if let Err(error) = self.session.world().print(text.trim_end()) {
                return ProgramEnd::World(error);
            }
        }
        ProgramEnd::Finished
    }

    /// How many commits the run has made, those that changed nothing included; `None` if nothing remembers them.
    pub fn commits(&self) -> Option<u64> {
        self.session.record().map(metta::RunRecord::commits)
    }

    /// The number of the base's last commit; `None` without a base.
    pub fn epoch(&self) -> Option<u64> {
        self.session.record()?.epoch()
    }

    /// What people should know of the sources that have begun: that one is a copy of another, for example.
    pub fn notices(&self) -> &[String] {
        self.session.record().map_or(&[], metta::RunRecord::notices)
    }

    /// Takes out of the base what a file states in the program's own module, as if it had been emptied and run again. The path is absolute;
    /// the file itself is not looked at.
    pub fn forget_source(&mut self, origin: &str, path: &str) -> Run {
        let source = Source { origin, file: Some(path), directory: "", text: "", flaw: None };
        self.run_source(&source, &mut |_, _| Ok(()))
    }

    /// How many atoms the program's space holds.
    pub fn atom_count(&self) -> usize {
        self.session.top_space().len()
    }

    /// Runs a source, `on_answer` taking each answer as it comes.
    pub fn run_source(&mut self, source: &Source<'_>, on_answer: &mut OnAnswer<'_>) -> Run {
        self.run_events(source, false, &mut |world, event| match event {
            RunEvent::Answer(answer) => on_answer(world, answer),
            RunEvent::Failure(_) => Ok(()),
        })
    }

    /// Runs a source, `on_event` taking each answer and also hearing of each form that has failed where its error was made.
    pub fn run_explaining(&mut self, source: &Source<'_>, on_event: &mut OnEvent<'_>) -> Run {
        self.run_events(source, true, on_event)
    }

    fn run_events(&mut self, source: &Source<'_>, explains: bool, on_event: &mut OnEvent<'_>) -> Run {
        let run = self.guarded(|session| session.run_explaining(source, explains, on_event));
        run.unwrap_or_else(|error| Run { end: RunEnd::RunRecord(Arc::new(error)), diagnostics: Vec::new() })
    }

    /// Does something with the session. If that meets damage in the checkpoint that the run was made of, nothing is done any more, and whoever
    /// follows a live query hears that it has ended.
    ///
    /// # Errors
    /// The checkpoint is damaged.
    pub(crate) fn guarded<T>(&mut self, work: impl FnOnce(&mut Session) -> T) -> Result<T, KnowledgeBaseError> {
        let Some((disk, Some(checkpoint))) = &self.base else { return Ok(work(&mut self.session)) };
        if self.damage.is_none() {
            match catching_damage(|| work(&mut self.session)) {
                Ok(done) => return Ok(done),
                Err(damage) => {
                    // A base that is only read is another process's.
                    let is_removed = self.checkpoints.take().is_some() && Checkpoint::remove(disk, checkpoint.epoch);
                    self.damage = Some((damage.to_string(), is_removed));
                }
            }
        }
        self.live.end();
        let (reason, is_removed) = self.damage.clone().unwrap_or_default();
        Err(KnowledgeBaseError::Checkpoint { name: Checkpoint::name(checkpoint.epoch), reason, is_removed })
    }

    /// Makes the name of a function of the host mean that function in every module, now and later. A run that is recorded has to hear of
    /// all of them before it runs anything. Registering a name again replaces the function.
    ///
    /// # Errors
    /// It cannot be recorded.
    pub fn add_function(
        &mut self,
        signature: &HostSignature,
        function: Arc<dyn HostFunction>,
    ) -> Result<(), WorldError> {
        self.session.world().note_function(&signature.identity())?;
        self.session.program_mut().add_host_function(signature, function);
        Ok(())
    }

    /// Registers the code of a function that a tape declares, in a replay: a pure one is called again. Others are answered from the tape.
    pub fn supply_function(&mut self, signature: &HostSignature, function: Arc<dyn HostFunction>) {
        self.session.program_mut().add_host_function(signature, function);
    }

    /// Runs atoms as the forms of a source: evaluates each, or states each. `origin` is what the source is called.
    pub fn run_atoms(&mut self, origin: &str, atoms: &[Atom], evaluates: bool, on_answer: &mut OnAnswer<'_>) -> Run {
        let run = self.guarded(|session| {
            session.run_atoms(origin, atoms, evaluates, &mut |world, event| match event {
                RunEvent::Answer(answer) => on_answer(world, answer),
                RunEvent::Failure(_) => Ok(()),
            })
        });
        run.unwrap_or_else(|error| Run { end: RunEnd::RunRecord(Arc::new(error)), diagnostics: Vec::new() })
    }

    /// Does something as one commit: nobody sees a part of it, and if `work` says that it is not to be kept, it is undone.
    ///
    /// # Errors
    /// The commit cannot be kept.
    pub fn transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> (T, bool),
    ) -> Result<T, Arc<dyn std::error::Error + Send + Sync>> {
        let depth = self.session.open_transaction();
        let (done, keeps) = work(self);
        self.session.end_transaction(depth, keeps).map_err(Arc::from)?;
        Ok(done)
    }

    /// Where the atoms of the program's space that match a pattern come from.
    ///
    /// # Errors
    /// A message that says why that is not known.
    pub fn why(&mut self, pattern: &Atom) -> Result<Vec<Reason>, String> {
        let space = self.session.top_space();
        self.session.why(&space, pattern, None)
    }

    /// Where the atoms come from that match a pattern and that the program's space, and those of the modules that it imports now, had after a
    /// commit. If the knowledge base has an index of its history, an atom without variables is looked up there, and what there was then is not
    /// made again.
    ///
    /// # Errors
    /// A message that says why that is not known.
    pub fn why_at(&mut self, pattern: &Atom, epoch: u64) -> Result<Vec<Reason>, String> {
        let space = self.session.top_space();
        self.session.why(&space, pattern, Some(epoch))
    }

    /// What `(match &self pattern template)` finds now, with nothing evaluated.
    pub fn query_atoms(&mut self, pattern: &Atom, template: &Atom) -> Vec<Atom> {
        let space = self.session.top_space();
        let solutions = space.query(pattern, self.session.program_mut().variables());
        solutions.iter().map(|solution| filled(template, solution)).collect()
    }

    /// What a pattern matches in `&self` now, as a table of the variables of the pattern.
    pub fn query_table(&mut self, pattern: &Atom) -> AnswerTable {
        let space = self.session.top_space();
        let solutions = space.query(pattern, self.session.program_mut().variables());
        AnswerTable::of_solutions(pattern, &solutions)
    }

    /// Runs a text whose imports are looked for in a directory; the empty one is the current directory.
    pub fn run_text_in(&mut self, directory: &str, text: &str, on_answer: &mut OnAnswer<'_>) -> Run {
        self.run_source(&Source { directory, ..Source::text(text) }, on_answer)
    }

    /// Runs a text whose imports are looked for in the current directory.
    pub fn run_text(&mut self, text: &str, on_answer: &mut OnAnswer<'_>) -> Run {
        self.run_text_in("", text, on_answer)
    }

    /// Says whether the forms after one that has failed are run. A tape does not know of it.
    pub fn keep_going(&mut self, keeps_going: bool) {
        self.keeps_going = keeps_going;
        self.session.keep_going(keeps_going);
    }

    /// Runs the files and texts of a program in order, and prints the answers.
    pub fn run_program(&mut self, program: &RunRequest, reporter: &mut dyn Reporter) -> ProgramEnd {
        self.run_printing(program, Prints::All, reporter)
    }

    fn run_printing(&mut self, program: &RunRequest, prints: Prints, reporter: &mut dyn Reporter) -> ProgramEnd {
        let limits = self.limits_mut();
        limits.steps_max = program.steps_max;
        let heap = program.heap_bytes_max.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        limits.heap_bytes_max = heap.or(Some(HEAP_BYTES_DEFAULT));
        if let Some(depth) = program.depth_max {
            limits.depth_max = usize::try_from(depth).unwrap_or(usize::MAX);
        }
        self.session.set_evaluator(program.evaluator);
        self.session.memoise(!program.no_memo);
        match self.run_sources(program, prints, reporter) {
            Ok(()) => ProgramEnd::Finished,
            Err(end) => end,
        }
    }

    fn run_sources(
        &mut self,
        program: &RunRequest,
        prints: Prints,
        reporter: &mut dyn Reporter,
    ) -> Result<(), ProgramEnd> {
        let mut has_failed = false;
        let files = program.files.iter().map(|file| (file, true));
        let texts = program.expressions.iter().map(|text| (text, false));
        for (name, is_file) in files.chain(texts) {
            let mut source = if is_file {
                ProgramSource::read(self.session.world(), name)?
            } else {
                ProgramSource::expression(name)
            };
            if is_file && Package::is_file(name) {
                match self.open_package(&source, reporter)? {
                    Some(entry) => source = ProgramSource::read(self.session.world(), &entry)?,
                    None if program.files.len() + program.expressions.len() > 1 => continue,
                    None => return Err(without_entry(&source, reporter)),
                }
            }
            match self.run_program_source(program, &source, prints, reporter) {
                Err(ProgramEnd::Error) if self.keeps_going => has_failed = true,
                end => end?,
            }
        }
        if has_failed { Err(ProgramEnd::Error) } else { Ok(()) }
    }

    /// Looks for modules where a package says from now on; the file that its program begins with.
    ///
    /// # Errors
    /// It is not the file of a package. The reporter was told what is wrong.
    pub fn open_package(
        &mut self,
        file: &ProgramSource,
        reporter: &mut dyn Reporter,
    ) -> Result<Option<String>, ProgramEnd> {
        let source = file.as_source();
        let flaw = source.flaw.cloned().map(Box::new);
        let package = flaw.map_or_else(|| Package::parse(source.origin, source.text), Err);
        let package = package.map_err(|wrong| {
            reporter.diagnostic(source.origin, &file.lines(), &wrong);
            ProgramEnd::NotParsed
        })?;
        self.session_mut().program_mut().search_modules(package.modules);
        Ok(package.entry)
    }

    fn run_program_source(
        &mut self,
        program: &RunRequest,
        found: &ProgramSource,
        prints: Prints,
        reporter: &mut dyn Reporter,
    ) -> Result<(), ProgramEnd> {
        let lines = found.lines();
        let mut last_line = 1;
        let source = found.as_source();
        let explains = matches!(prints, Prints::All) && (program.json || reporter.wants_failures());
        let run = self.run_events(&source, explains, &mut |world, event| {
            let answer = match event {
                RunEvent::Answer(answer) => answer,
                RunEvent::Failure(failure) if program.json => return print_failure(world, failure),
                RunEvent::Failure(failure) => {
                    reporter.failure(failure);
                    return Ok(());
                }
            };
            last_line = lines.position(answer.span.start).line;
            if let Some(limit) = answer.limit {
                reporter.limit_reached(limit);
            }
            if matches!(prints, Prints::Errors) && !answer.is_error() {
                return Ok(());
            }
            if program.json { print_json(world, answer, last_line) } else { print_line(world, answer) }
        });
        let end = found.end(run, (&lines, last_line), reporter);
        if reporter.wants_notes() && source.text.len() <= NOTED_BYTES_MAX {
            let tree = metta::syntax::parse(source.text).tree;
            // If the base turns out to be damaged, the next form says so.
            let checked = self.guarded(|session| metta::check(session.program_mut(), ModuleId::TOP, &tree));
            let findings = checked.unwrap_or_default();
            findings.iter().for_each(|finding| reporter.note(source.origin, &lines, finding));
        }
        end
    }
}

/// Nothing is to be run.
fn without_entry(file: &ProgramSource, reporter: &mut dyn Reporter) -> ProgramEnd {
    let source = file.as_source();
    let message = "the package does not say where its program begins";
    let lacking = Diagnostic::error("package", Span { start: 0, end: 0 }, message)
        .with_help("add a line such as entry = \"main.metta\", or name a program after it");
    reporter.diagnostic(source.origin, &file.lines(), &lacking);
    ProgramEnd::NotParsed
}

impl Engine {
    /// Adds what a file states to the program's space; `-` is the standard input. What is no regular file is read whole, since it can be read
    /// only once, and a base does not know it again. Nothing is evaluated. `progress` hears after each
    /// piece of a megabyte or so how far it is.
    ///
    /// A base is left with commits of some 100,000 atoms: whatever ends the load, the last commit stands, and loading the file again
    /// completes it. An unchanged file adds nothing; of an edited one the difference is applied.
    ///
    /// # Errors
    /// It cannot be loaded so, or the load ended before the end of the file.
    pub fn load(
        &mut self,
        file: &str,
        options: &LoadOptions,
        progress: &mut OnProgress<'_>,
    ) -> Result<LoadReport, LoadFailure> {
        format_of(file, options).map_err(LoadFailure::Options)?;
        let words = self.session_mut().words();
        if let Some(bytes) = self.read_once(file).map_err(|error| LoadFailure::Load(error.into()))? {
            let origin = if file == "-" { "standard input" } else { file };
            let hash = blake3::hash(&bytes).to_hex();
            let mut format = reader(file, &hash, options, words).map_err(LoadFailure::Options)?;
            return self.load_guarded(|session| session.load_bytes(origin, bytes, &mut *format, progress));
        }
        let path = self.session.world().absolute_path(file).unwrap_or_else(|_| file.to_owned());
        let mut format = reader(file, &path, options, words).map_err(LoadFailure::Options)?;
        let source = LoadSource { origin: file, file: Some(file) };
        self.load_guarded(|session| session.load(&source, &mut *format, progress))
    }

    /// Adds the records that a format hands out of no bytes at all: rows that the host has in memory. `origin` is what they are called.
    /// Nothing is evaluated. A base does not know them again, and is left with commits of some 100,000 atoms, or with one if this is part
    /// of a [transaction](Self::transaction).
    ///
    /// # Errors
    /// The load was cancelled, or cannot be kept.
    pub fn load_records(&mut self, origin: &str, format: &mut dyn Format) -> Result<LoadReport, LoadFailure> {
        self.load_guarded(|session| session.load_bytes(origin, Arc::default(), format, &mut |_| {}))
    }

    fn load_guarded(
        &mut self,
        load: impl FnOnce(&mut Session) -> Result<LoadReport, LoadError>,
    ) -> Result<LoadReport, LoadFailure> {
        let loaded = self.guarded(load);
        loaded.unwrap_or_else(|error| Err(LoadError::RunRecord(error.into()))).map_err(LoadFailure::Load)
    }

    /// The bytes of what can be read only once, the standard input or a named pipe; `None` for a regular file.
    fn read_once(&mut self, file: &str) -> Result<Option<Arc<Vec<u8>>>, WorldError> {
        let world = self.session.world();
        if file == "-" {
            return world.read_standard_input().map(|bytes| Some(Arc::new(bytes)));
        }
        if world.has_source(file)? { Ok(None) } else { world.read_source(file).map(Some) }
    }
}
