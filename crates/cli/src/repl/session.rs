//! The engine behind the prompt.

use super::shown::{Rest, lines};
use super::{Next, ReplArguments};
use crate::end::End;
use crate::limits::{LimitArguments, MemoryGuard, explain_limit};
use crate::package;
use crate::render;
use crate::run;
use metroon::limits::{HEAP_BYTES_DEFAULT, Interrupt};
use metroon::run::{Package, ProgramSource, Reporter, RunEvent, Source};
use metroon::storage::CommitJournal;
use metroon::syntax::{Diagnostic, LineIndex};
use metroon::world::WorldError;
use metroon::{Atom, Engine, Evaluator, PermittedWorld, RunEnd, SystemWorld};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The engine, with what the prompt knows beside it.
pub(super) struct Session {
    pub(super) engine: Engine,
    pub(super) base: Option<PathBuf>,
    /// What is left of the answer before.
    pub(super) rest: Rest,
    interrupt: Interrupt,
    timeout: Option<Duration>,
    /// Counts evaluations, so that a timer ends only its own.
    evaluation: Arc<AtomicU64>,
    inputs: usize,
    /// How long the last input took.
    pub(super) took: Duration,
    /// Whether somebody was told what becomes of a form without `!`.
    has_told_of_adding: bool,
    /// Whether results are shown without the `quote` around them.
    unquotes: bool,
}

/// Shows what is wrong with the file of a package.
struct Shown;

impl Reporter for Shown {
    fn diagnostic(&mut self, origin: &str, lines: &LineIndex<'_>, diagnostic: &Diagnostic) {
        render::diagnostic(origin, lines, diagnostic);
    }
}

impl Session {
    pub(super) fn new(arguments: &ReplArguments, guard: &MemoryGuard) -> Result<Self, End> {
        let permissions = arguments.permissions.permissions(&package::files(&arguments.files)?)?;
        let world = PermittedWorld::new(SystemWorld::default(), permissions);
        let mut engine = match &arguments.kb {
            Some(directory) => {
                let base = CommitJournal::open(directory).map_err(|error| run::base_failed(directory, &error))?;
                for warning in base.warnings() {
                    render::say(&format!("warning: {warning}"));
                }
                Engine::with_base(world, base).map_err(|error| run::recall_failed(&error))?
            }
            None => Engine::new(world),
        };
        if arguments.interpreter {
            engine.session_mut().set_evaluator(Evaluator::Interpreter);
        }
        let session = Self::over(engine, arguments.kb.clone(), &arguments.limits, guard);
        session.listen();
        Ok(session)
    }

    /// A session in an engine, with these limits.
    pub(super) fn over(
        mut engine: Engine,
        base: Option<PathBuf>,
        limited: &LimitArguments,
        guard: &MemoryGuard,
    ) -> Self {
        guard.watch(&mut engine);
        let bytes = |most: u64| usize::try_from(most).unwrap_or(usize::MAX);
        let limits = engine.limits_mut();
        limits.steps_max = limited.steps;
        limits.heap_bytes_max = limited.heap.map(bytes).or(Some(HEAP_BYTES_DEFAULT));
        limits.memory_bytes_max = limited.memory.map(bytes);
        let interrupt = limits.interrupt.clone();
        engine.keep_going(true);
        Self {
            engine,
            base,
            rest: Rest::default(),
            interrupt,
            timeout: limited.timeout,
            evaluation: Arc::default(),
            inputs: 0,
            took: Duration::ZERO,
            has_told_of_adding: false,
            unquotes: false,
        }
    }

    /// Ends evaluations at Ctrl-C; one that does not end so ends the program at the second.
    fn listen(&self) {
        let interrupt = self.interrupt.clone();
        let handler = ctrlc::set_handler(move || {
            if interrupt.reason().is_some() {
                std::process::exit(130);
            }
            interrupt.cancel();
        });
        if let Err(error) = handler {
            render::say(&format!("warning: Ctrl-C will end the program at once: {error}"));
        }
    }

    /// Runs a text that was entered.
    pub(super) fn run(&mut self, text: &str) -> Next {
        self.inputs += 1;
        let origin = format!("input {}", self.inputs);
        self.run_source(&Source { origin: &origin, ..Source::text(text) }, true)
    }

    /// Runs a text, and shows what is quoted in its results without the quotes.
    pub(super) fn run_unquoting(&mut self, text: &str) -> Next {
        self.unquotes = true;
        let next = self.run(text);
        self.unquotes = false;
        next
    }

    /// Runs a file, if it can be read.
    pub(super) fn load(&mut self, file: &str) -> Result<Next, End> {
        let file = package::files(&[file.to_owned()])?.remove(0);
        Ok(match self.read(&file)? {
            Some(source) => self.run_source(&source.as_source(), false),
            None => Next::GoesOn,
        })
    }

    /// Reads a file; that of a package says which one is meant, if any.
    fn read(&mut self, file: &str) -> Result<Option<ProgramSource>, End> {
        let source = self.read_source(file)?;
        if !Package::is_file(file) {
            return Ok(Some(source));
        }
        let entry = self.engine.open_package(&source, &mut Shown).map_err(|end| run::explain(end, None))?;
        entry.map(|entry| self.read_source(&entry)).transpose()
    }

    fn read_source(&mut self, file: &str) -> Result<ProgramSource, End> {
        ProgramSource::read(self.engine.session_mut().world(), file).map_err(|end| run::explain_unread(end, "repl"))
    }

    fn run_source(&mut self, source: &Source<'_>, is_input: bool) -> Next {
        let began = Instant::now();
        let atoms = self.engine.atom_count();
        self.engine.session_mut().begin_undoable();
        self.begin_time();
        let (rest, unquotes) = (&mut self.rest, self.unquotes);
        let run = self.engine.run_explaining(source, &mut |world, event| match event {
            RunEvent::Failure(failure) => {
                render::failure(failure);
                Ok(())
            }
            RunEvent::Answer(answer) => {
                let results: Vec<String> = answer.results.iter().map(|result| shown(result, unquotes)).collect();
                rest.begin(lines(&results)).iter().try_for_each(|line| world.print(line))
            }
        });
        self.evaluation.fetch_add(1, Ordering::SeqCst);
        self.interrupt.reset();
        self.took = began.elapsed();
        render::diagnostics(source.origin, source.text, &run.diagnostics);
        if is_input && self.engine.atom_count() > atoms && !source.text.contains('!') {
            self.tell_of_adding();
        }
        self.ended(run.end)
    }

    /// Says once that a form without `!` is a fact or a rule: in other languages it would be evaluated.
    fn tell_of_adding(&mut self) {
        if !std::mem::replace(&mut self.has_told_of_adding, true) {
            render::say("added to the space; a form after `!` is evaluated, as in `!(+ 1 2)`");
        }
    }

    fn ended(&mut self, end: RunEnd) -> Next {
        match end {
            RunEnd::Limit(limit) => {
                let (message, help) = explain_limit(limit, "the prompt", self.base.is_some());
                render::error(&message, Some(help));
            }
            RunEnd::World(WorldError::OutputClosed) => return Next::Ends(End::Fine),
            RunEnd::World(error) => {
                render::error(&error.to_string(), None);
                return Next::Ends(End::Error);
            }
            RunEnd::RunRecord(error) => {
                render::error(&format!("the run cannot go on: {error}"), None);
                return Next::Ends(End::Error);
            }
            _ => {}
        }
        Next::GoesOn
    }

    /// Starts the time of one evaluation.
    fn begin_time(&self) {
        let Some(time) = self.timeout else { return };
        let (interrupt, evaluation) = (self.interrupt.clone(), Arc::clone(&self.evaluation));
        let own = evaluation.load(Ordering::SeqCst);
        std::thread::spawn(move || {
            std::thread::sleep(time);
            if evaluation.load(Ordering::SeqCst) == own {
                interrupt.time_is_up();
            }
        });
    }

    /// Prints lines of a command.
    pub(super) fn print(&mut self, lines: impl IntoIterator<Item = String>) -> Next {
        let shown = self.rest.begin(lines.into_iter().collect());
        self.print_now(shown)
    }

    /// Prints the next lines of the answer before.
    pub(super) fn more(&mut self) -> Next {
        if self.rest.is_empty() {
            render::say("there is nothing more to show");
            return Next::GoesOn;
        }
        let shown = self.rest.more();
        self.print_now(shown)
    }

    fn print_now(&mut self, lines: Vec<String>) -> Next {
        let world = self.engine.session_mut().world();
        match lines.iter().try_for_each(|line| world.print(line)) {
            Ok(()) => Next::GoesOn,
            Err(WorldError::OutputClosed) => Next::Ends(End::Fine),
            Err(error) => {
                render::error(&error.to_string(), None);
                Next::Ends(End::Error)
            }
        }
    }

    /// Ends the session, its knowledge base closed.
    pub(super) fn finish(self, end: End) -> End {
        match self.engine.finish() {
            Ok(()) => end,
            Err(error) => run::recall_failed(&error),
        }
    }
}

fn shown(result: &Atom, unquotes: bool) -> String {
    match result.children() {
        Some([quote, quoted]) if unquotes && quote.is_symbol("quote") => quoted.to_string(),
        _ => result.to_string(),
    }
}
