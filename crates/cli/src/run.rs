//! `metroon run`: programs run in order in one space, each answer printed when it is there.

use crate::counts;
use crate::end::End;
use crate::limits::{Heard, MemoryGuard, explain_limit, watch_for_interrupts};
use crate::output::Out;
use crate::package;
use crate::profile;
use crate::query_plans;
use crate::render;
use crate::run_arguments::RunArguments;
use metroon::limits::LimitReached;
use metroon::run::{ProgramEnd, Reporter, RunRequest};
use metroon::storage::CommitJournal;
use metroon::syntax::{Diagnostic, LineIndex, Severity, Span};
use metroon::tape::{RecallError, TapeError, find_error};
use metroon::why::Failure;
use metroon::world::WorldError;
use metroon::{Engine, Evaluator, KnowledgeBaseError, PermittedWorld, SystemWorld, Tape};
use statistics::Statistics;
use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs what the command line names.
pub(crate) fn run(arguments: &RunArguments) -> End {
    let started = Instant::now();
    let mut program = match requested(arguments) {
        Ok(program) => program,
        Err(end) => return end,
    };
    if program.files.is_empty() && program.expressions.is_empty() {
        if std::io::stdin().is_terminal() {
            render::error("no program to run", Some("name a file, give a text with -e, or pipe a program in"));
            return End::Usage;
        }
        program.files.push("-".to_owned());
    }
    if arguments.profile.as_ref().is_some_and(|file| !profile::is_new(file)) {
        return End::Usage;
    }
    let guard = MemoryGuard::start(&arguments.limits);
    let mut engine = match engine(arguments, &program) {
        Ok(engine) => engine,
        Err(end) => return end,
    };
    let heard = Heard::default();
    guard.watch(&mut engine);
    engine.limits_mut().memory_bytes_max =
        arguments.limits.memory.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
    watch_for_interrupts(&mut engine, arguments.limits.timeout, &heard);
    if arguments.explain_queries {
        engine.session_mut().log_queries();
    }
    let mut terminal = Terminal {
        heard: heard.clone(),
        explains_failures: true,
        notes: arguments.notes || !arguments.no_notes && arguments.explain.is_none() && std::io::stderr().is_terminal(),
        failed: HashSet::new(),
    };
    engine.keep_going(arguments.keep_going);
    if !arguments.trace.is_empty() {
        engine.session_mut().trace_calls(Some(arguments.trace.clone()));
    }
    arguments.profile.iter().for_each(|_| profile::begin(&mut engine));
    engine.session_mut().passes = arguments.passes();
    engine.set_threads(arguments.threads);
    let end = match arguments.explain {
        Some(what) => engine.explain_program(&program, what.into(), &mut terminal),
        None => engine.run_program(&program, &mut terminal),
    };
    // A tape that took no more has been told of by then.
    let is_told = matches!(end, ProgramEnd::RunRecord(_) | ProgramEnd::World(WorldError::RecordingFailed { .. }));
    let end = explain(end, engine.epoch());
    engine.notices().iter().for_each(|notice| render::say(&format!("note: {notice}")));
    heard.set();
    if let Some(log) = engine.session().query_log() {
        query_plans::print(log);
    }
    let end = match &arguments.profile {
        Some(file) if !profile::end(&mut engine, file) => End::Error,
        _ => end,
    };
    if arguments.stats {
        print_statistics(&engine, started.elapsed(), arguments.json);
    }
    match engine.finish() {
        Err(error) if !is_told => recall_failed(&error),
        _ => end,
    }
}

/// What is to be run.
fn requested(arguments: &RunArguments) -> Result<RunRequest, End> {
    let is_interpreted = arguments.interpreter || !arguments.trace.is_empty();
    Ok(RunRequest {
        files: package::files(&arguments.files)?,
        expressions: arguments.expressions.clone(),
        json: arguments.json,
        steps_max: arguments.limits.steps,
        depth_max: None,
        evaluator: if is_interpreted { Evaluator::Interpreter } else { Evaluator::Machine },
        heap_bytes_max: arguments.limits.heap,
        no_memo: arguments.no_memo,
    })
}

/// The engine that the arguments ask for: with a base, recorded, or neither.
fn engine(arguments: &RunArguments, program: &RunRequest) -> Result<Engine, End> {
    let permissions = arguments.permissions.permissions(&program.files)?;
    // What is read as a whole, and parsed, is to leave room for what it comes to.
    let most = arguments.limits.heap.into_iter().chain(arguments.limits.memory).min();
    let world = SystemWorld::with_source_bytes_max(most);
    let world = PermittedWorld::new(if arguments.undated { world.undated() } else { world }, permissions);
    if let (true, Some(directory)) = (arguments.read_only || arguments.as_of.is_some(), &arguments.kb) {
        let read = match arguments.as_of {
            None => CommitJournal::read(directory),
            Some(moment) => moment.epoch_in(directory).and_then(|epoch| CommitJournal::read_at(directory, epoch)),
        };
        let base = read.map_err(|error| base_failed(directory, &error))?;
        return Engine::reading(world, base).map_err(|error| engine_failed(&error, arguments)).inspect(warn);
    }
    let base = match &arguments.kb {
        Some(directory) => {
            let base = CommitJournal::open(directory).map_err(|error| base_failed(directory, &error))?;
            Some(match arguments.durability {
                Some(level) => base.with_durability(level.into()),
                None => base,
            })
        }
        None => None,
    };
    let tape = match &arguments.record {
        Some(path) => {
            // Before there is a tape.
            if let (Some(base), Some(directory)) = (&base, &arguments.kb) {
                base.check_recordable().map_err(|error| base_failed(directory, &error))?;
            }
            let tape = Tape::create(path).map_err(|error| tape_failed(path, &error))?;
            Some(if arguments.keep_secrets { tape.keep_secrets() } else { tape })
        }
        None => None,
    };
    Engine::remembering(world, base, tape, program).map_err(|error| engine_failed(&error, arguments)).inspect(warn)
}

/// Says what could not be used of a knowledge base.
fn warn(engine: &Engine) {
    engine.warnings().iter().for_each(|warning| render::say(&format!("warning: {warning}")));
}

/// Tells why the engine that the arguments ask for cannot be made.
fn engine_failed(error: &RecallError, arguments: &RunArguments) -> End {
    match (error, &arguments.kb) {
        (RecallError::KnowledgeBase(error), Some(directory)) => base_failed(directory, error),
        _ => recall_failed(error),
    }
}

/// Tells why the base in a directory cannot be used.
pub(crate) fn base_failed(directory: &Path, error: &KnowledgeBaseError) -> End {
    base_failed_with(directory, error, error.help())
}

/// Tells why the base in a directory cannot be used, and what to do about it.
pub(crate) fn base_failed_with(directory: &Path, error: &KnowledgeBaseError, help: Option<&str>) -> End {
    use KnowledgeBaseError::{
        AfterTimes, Append, BeforeTimes, Damaged, Differs, GivenUp, NoBeginning, NoEpoch, NoStatements, NoTimes, Open,
        Read, ReadOnly, Semantics, Sync, TapeOfGivenUp, Trim,
    };
    // All others name it.
    let is_of_inside = matches!(
        error,
        Open(_)
            | Read(_)
            | Append(_)
            | Sync(_)
            | ReadOnly
            | Damaged { .. }
            | Differs { .. }
            | NoEpoch { .. }
            | NoTimes
            | BeforeTimes { .. }
            | AfterTimes { .. }
            | GivenUp { .. }
            | NoBeginning { .. }
            | NoStatements { .. }
            | TapeOfGivenUp { .. }
            | Trim(_)
            | Semantics { .. }
    );
    let message = if is_of_inside { format!("{}: {error}", directory.display()) } else { error.to_string() };
    render::error(&message, help);
    base_end(error)
}

fn base_end(error: &KnowledgeBaseError) -> End {
    match error {
        error if error.is_damage() => End::Damaged,
        KnowledgeBaseError::Open(_)
        | KnowledgeBaseError::Read(_)
        | KnowledgeBaseError::Append(_)
        | KnowledgeBaseError::Trim(_)
        | KnowledgeBaseError::Sync(_) => End::Error,
        _ => End::Usage,
    }
}

/// Tells why a tape cannot be used.
pub(crate) fn tape_failed(path: &Path, error: &TapeError) -> End {
    // Damage is told with the file and the place in it.
    let is_damage = matches!(error, TapeError::Open(_) | TapeError::Read(_)) && error.is_damage();
    let names_it = is_damage || matches!(error, TapeError::Io { .. } | TapeError::Exists { .. });
    let message = if names_it { error.to_string() } else { format!("{}: {error}", path.display()) };
    render::error(&message, error.help());
    tape_end(error)
}

fn tape_end(error: &TapeError) -> End {
    match error {
        error if error.is_damage() => End::Damaged,
        TapeError::Open(_) | TapeError::Read(_) | TapeError::Append(_) | TapeError::Sync(_) => End::Error,
        _ => End::Usage,
    }
}

/// Tells why a run cannot be remembered or replayed.
pub(crate) fn recall_failed(error: &RecallError) -> End {
    match error {
        RecallError::KnowledgeBase(error) => {
            render::error(&error.to_string(), error.help());
            base_end(error)
        }
        RecallError::Tape(error) => {
            render::error(&error.to_string(), error.help());
            tape_end(error)
        }
        RecallError::Replay(end) => {
            render::error(&end.to_string(), None);
            End::Damaged
        }
        error => {
            render::error(&error.to_string(), None);
            End::Error
        }
    }
}

/// Tells how a program ended, where its output does not. If it ran in a base, that is at this commit now.
pub(crate) fn explain(end: ProgramEnd, epoch: Option<u64>) -> End {
    match end {
        ProgramEnd::Finished => End::Fine,
        ProgramEnd::NotParsed => End::NotParsed,
        ProgramEnd::Limit { limit, place } => {
            tell_limit(limit, &place, epoch);
            End::Error
        }
        ProgramEnd::NotRead(error) => not_read(&error, "run"),
        // A reader that has seen enough is no failure.
        ProgramEnd::World(WorldError::OutputClosed) => End::Fine,
        ProgramEnd::World(error) => {
            render::error(&error.to_string(), None);
            End::Error
        }
        ProgramEnd::RunRecord(error) => {
            let base = find_error::<KnowledgeBaseError>(error.as_ref());
            let help = base
                .and_then(KnowledgeBaseError::help)
                .or(find_error::<TapeError>(error.as_ref()).and_then(TapeError::help));
            render::error(&format!("the run cannot go on: {error}"), help);
            if base.is_some_and(KnowledgeBaseError::is_damage) { End::Damaged } else { End::Error }
        }
        _ => End::Error,
    }
}

/// Tells a person why a source cannot be had that a command was given.
pub(crate) fn explain_unread(end: ProgramEnd, command: &str) -> End {
    match end {
        ProgramEnd::NotRead(error) => not_read(&error, command),
        end => explain(end, None),
    }
}

fn not_read(error: &WorldError, command: &str) -> End {
    render::error(&error.to_string(), Some(&format!("check the path; `metroon {command} --help` shows the usage")));
    End::Usage
}

/// Tells a person about a run on the standard error.
pub(crate) struct Terminal {
    pub(crate) heard: Heard,
    /// Whether to say where the error of a form that fails was made.
    pub(crate) explains_failures: bool,
    /// Whether to tell of likely mistakes.
    pub(crate) notes: bool,
    /// Where forms have failed.
    pub(crate) failed: HashSet<(Arc<str>, Span)>,
}

impl Reporter for Terminal {
    fn diagnostic(&mut self, origin: &str, lines: &LineIndex<'_>, diagnostic: &Diagnostic) {
        render::diagnostic(origin, lines, diagnostic);
    }

    fn limit_reached(&mut self, _: LimitReached) {
        self.heard.set();
    }

    fn wants_failures(&self) -> bool {
        self.explains_failures
    }

    fn wants_notes(&self) -> bool {
        self.notes
    }

    fn note(&mut self, origin: &str, lines: &LineIndex<'_>, finding: &Diagnostic) {
        // The failure was told already, and `pragma!` itself warns of a setting without an effect.
        let is_setting = finding.code == "unknown-setting";
        if is_setting || self.failed.contains(&(origin.into(), finding.span)) {
            return;
        }
        render::diagnostic(origin, lines, &Diagnostic { severity: Severity::Note, ..finding.clone() });
    }

    fn failure(&mut self, failure: &Failure) {
        render::failure(failure);
        self.failed.insert((Arc::clone(&failure.place.origin), failure.place.span));
    }
}

fn tell_limit(limit: LimitReached, place: &str, epoch: Option<u64>) {
    let (message, help) = explain_limit(limit, place, epoch.is_some());
    render::error(&message, Some(help));
    // Only who ends an evaluation from outside wants nothing of it: what it did is undone.
    if let (Some(epoch), LimitReached::Time | LimitReached::Cancelled) = (epoch, limit) {
        render::say(&format!("the knowledge base is as commit {epoch} left it: nothing after it is kept"));
    }
}

/// Prints what the layers have counted: on the standard error, or with `--json` as the last object of the output.
fn print_statistics(engine: &Engine, elapsed: Duration, is_json: bool) {
    let statistics = engine.statistics().elapsed(elapsed);
    if !is_json {
        statistics.report().to_string().lines().for_each(render::say);
        return;
    }
    let mut out = Out::new();
    // A reader of the output that has gone has seen enough.
    let _ = counts::print(&mut out, &statistics, true).and_then(|()| out.end());
}
