//! Knowledge bases: one thread writes, and every thread asks views.

use crate::asking::{Asked as _, Base, ask, ask_meanwhile, without_lock};
use crate::classes::Atom;
use crate::convert::{to_python, values};
use crate::errors::{self, Ran};
use crate::functions::{Expected, PythonFunction, at_hand, read_or_convert};
use crate::home::OfProcess;
use crate::limits::{Allowed, Named as Limited};
use crate::live::{self, Aggregate, Named, Query, Subscription};
use crate::log::{self, AskedLog};
use crate::progress::Progress;
use crate::rows::Rows;
use crate::statistics::dictionary;
use crate::table::Table;
use ::statistics::Statistics;
use metroon::history::{Moment, MomentError};
use metroon::host::{HostEffects, HostSignature};
use metroon::run::{ModuleId, RunEvent, Source};
use metroon::storage::CommitJournal;
use metroon::why::Failure;
use metroon::world::WorldError;
use metroon::{Answer, Engine, KnowledgeBaseOptions, LiveRequest, Run, RunEnd, SystemWorld, ViewError};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use space::{Atom as Native, Grounded};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

/// A base of facts and rules, in a folder or in memory, that threads share.
#[pyclass(module = "metroon", frozen, subclass)]
pub(crate) struct KnowledgeBase {
    base: Base,
    path: Option<String>,
    /// The limits of what is run, where a run names none.
    limits: Limited,
}

/// How much a base keeps: of its history if it lies in memory, `None` for all of it, and of what waits for those who follow live queries; in bytes.
type Rooms = (Option<u64>, usize);

/// A world whose lines go to `sys.stdout`, as it is when they are printed.
pub(crate) fn world() -> SystemWorld {
    SystemWorld::default().printing(Box::new(|line| {
        Python::attach(|py| {
            let print = py.import("builtins").and_then(|builtins| builtins.getattr("print"));
            let printed = print.and_then(|print| print.call1((line,)));
            printed.map(drop).map_err(|error| WorldError::OutputFailed { reason: error.to_string() })
        })
    }))
}

/// What a text came to.
pub(crate) struct Finished {
    pub(crate) run: Run,
    pub(crate) answers: Vec<Answer>,
    pub(crate) failure: Option<Box<Failure>>,
}

/// Runs a text as a part of the program.
pub(crate) fn run_text(engine: &mut Engine, text: &str, file: Option<&str>) -> Finished {
    run_counting(engine, text, file, &Progress::default())
}

/// Runs a text as a part of the program, and counts what it comes to meanwhile.
fn run_counting(engine: &mut Engine, text: &str, file: Option<&str>, progress: &Progress) -> Finished {
    let (mut answers, mut failure) = (Vec::new(), None);
    let directory = file.and_then(|file| file.rsplit_once('/')).map_or("", |(directory, _)| directory);
    let source = Source { origin: file.unwrap_or("text"), file, directory, ..Source::text(text) };
    let run = engine.run_explaining(&source, &mut |_, event| {
        match event {
            RunEvent::Answer(answer) => {
                progress.count(answer.results.len());
                answers.push(Answer::of(answer));
            }
            RunEvent::Failure(found) => failure = Some(Box::new(found.clone())),
        }
        Ok(())
    });
    Finished { run, answers, failure }
}

impl Finished {
    /// The answers as lists of values, or the exception for what ended the text.
    pub(crate) fn into_python<'py>(
        self,
        py: Python<'py>,
        text: &str,
        file: Option<&str>,
    ) -> PyResult<Bound<'py, PyList>> {
        let Self { run, answers, failure } = self;
        match run.end {
            RunEnd::Finished => errors::answers(py, &answers),
            end => {
                let ran = Ran { file, text, answers: &answers, failure: failure.as_deref() };
                Err(errors::ended(py, &ran, &end, &run.diagnostics))
            }
        }
    }
}

/// What went wrong while a view was asked.
fn view_error(py: Python<'_>, text: &str, error: &ViewError) -> PyErr {
    match error {
        ViewError::NotParsed { diagnostic, .. } => {
            let ran = Ran { file: None, text, answers: &[], failure: None };
            errors::not_parsed(py, &ran, std::slice::from_ref(diagnostic))
        }
        ViewError::NotOneAtom { .. } => errors::plain(py, "ParseError", error),
        ViewError::Effect(_) => errors::plain(py, "EffectError", error),
        ViewError::Limit { limit, .. } => {
            let help = errors::help_at(limit).map(str::to_owned);
            errors::Trouble { message: error.to_string(), help, ..errors::Trouble::default() }.raise(py, "LimitError")
        }
        ViewError::World(_) => errors::plain(py, "WorldError", error),
        _ => errors::plain(py, "KnowledgeBaseError", error),
    }
}

fn read_pattern(py: Python<'_>, view: &metroon::View, value: &Bound<'_, PyAny>) -> PyResult<Native> {
    read_or_convert(value, |text| view.read(text).map_err(|error| view_error(py, text, &error)))
}

fn query(py: Python<'_>, view: &metroon::View, pattern: &Bound<'_, PyAny>) -> PyResult<Rows> {
    let pattern = read_pattern(py, view, pattern)?;
    let table = py.detach(|| view.query_table(&pattern));
    Ok(Rows::new(table.map_err(|error| view_error(py, "", &error))?))
}

impl KnowledgeBase {
    fn opened(py: Python<'_>, base: metroon::KnowledgeBase, path: Option<String>, limits: Limited) -> PyResult<Self> {
        let begin = move |engine: &mut Engine| {
            limits.set(engine.limits_mut());
            engine.limits_mut().interrupt.clone()
        };
        let found = py.detach(|| base.transact(begin));
        let interrupt = found.map_err(|error| errors::writer(py, &error))?;
        Ok(Self { base: Base::new(base, interrupt), path, limits })
    }

    /// The atoms of values; a text at the top is read.
    fn statements(&self, py: Python<'_>, values: &Bound<'_, PyList>) -> PyResult<Vec<Native>> {
        let view = self.base.base(py)?.view();
        values.iter().map(|value| read_pattern(py, &view, &value)).collect()
    }

    /// Does something with the engine that is no source of its own, or refuses to inside a function that the engine has called.
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> PyResult<T> {
        ask(py, &self.base, work)
    }
}

#[pymethods]
impl KnowledgeBase {
    #[new]
    fn new(
        py: Python<'_>,
        path: Option<std::path::PathBuf>,
        limits: Limited,
        allowed: Allowed,
        rooms: Rooms,
    ) -> PyResult<Self> {
        let mut options = KnowledgeBaseOptions::new(allowed.world(world())?);
        (options.history_bytes_max, options.changes_waiting_bytes_max) = rooms;
        let opened = py.detach(|| match &path {
            Some(path) => metroon::KnowledgeBase::open(path, options),
            None => metroon::KnowledgeBase::in_memory(options),
        });
        let base = opened.map_err(|error| errors::writer(py, &error))?;
        Self::opened(py, base, path.map(|path| path.display().to_string()), limits)
    }

    /// The folder in which it lies; `None` for one in memory.
    #[getter]
    fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// The number of the last commit.
    #[getter]
    fn epoch(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.base.base(py)?.view().epoch())
    }

    /// The hash of all that it holds, as 32 hexadecimal digits.
    #[getter]
    fn hash(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("{:032x}", self.base.base(py)?.view().hash()))
    }

    /// What opening it mended.
    #[getter]
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.base.base(py)?.warnings().to_vec())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.base.base(py)?.view().atom_count())
    }

    fn __repr__(&self) -> String {
        let Some(base) = self.base.here() else {
            return "<KnowledgeBase of the process that this one is a fork of>".to_owned();
        };
        let view = base.view();
        let place = self.path.as_deref().map_or("in memory".to_owned(), |path| format!("{path:?}"));
        format!("<KnowledgeBase {place}, commit {}, {} atoms>", view.epoch(), view.atom_count())
    }

    /// Runs a text as a part of the program; gives a list of results for each form after `!`. A function is told now and then how
    /// many seconds have passed, and how many forms and results there are.
    #[pyo3(signature = (text, *, file = None, progress = None, limits = Limited::default()))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        file: Option<&str>,
        progress: Option<Py<PyAny>>,
        limits: Limited,
    ) -> PyResult<Bound<'py, PyList>> {
        if self.base.base(py)?.is_writer() {
            return run_at_hand(py, text);
        }
        let (owned, name) = (text.to_owned(), file.map(str::to_owned));
        let counted = Arc::new(Progress::default());
        let counts = Arc::clone(&counted);
        let limits = limits.or(self.limits);
        let work = move |engine: &mut Engine| {
            limits.within(engine, |engine| run_counting(engine, &owned, name.as_deref(), &counts))
        };
        let finished = ask_meanwhile(py, &self.base, work, &mut |py| match &progress {
            Some(listener) => counted.tell(py, listener),
            None => Ok(()),
        })?;
        finished.into_python(py, text, file)
    }

    /// Adds atoms, all in one commit.
    fn add_all(&self, py: Python<'_>, atoms: &Bound<'_, PyList>) -> PyResult<()> {
        let atoms = self.statements(py, atoms)?;
        if self.base.base(py)?.is_writer() {
            return change_at_hand(py, "add-atom", atoms);
        }
        let finished = self.ask(py, move |engine| state(engine, &atoms))?;
        finished.into_python(py, "", None).map(drop)
    }

    /// Adds a row for each place in the columns, all in one commit.
    fn add_columns(&self, py: Python<'_>, head: &Bound<'_, Atom>, columns: &Bound<'_, PyList>) -> PyResult<()> {
        let table = Table::of_columns(head.get().atom.clone(), columns)?;
        if self.base.base(py)?.is_writer() {
            return change_at_hand(py, "add-atom", table.atoms());
        }
        added(py, self.ask(py, move |engine| load(engine, table))?)
    }

    /// Removes one copy of each of these atoms that is there, all in one commit.
    fn remove_all(&self, py: Python<'_>, atoms: &Bound<'_, PyList>) -> PyResult<()> {
        let atoms = self.statements(py, atoms)?;
        if self.base.base(py)?.is_writer() {
            return change_at_hand(py, "remove-atom", atoms);
        }
        let finished = self.ask(py, move |engine| remove(engine, atoms))?;
        finished.into_python(py, "", None).map(drop)
    }

    /// The rows that match a pattern, in the newest view.
    fn query(&self, py: Python<'_>, pattern: &Bound<'_, PyAny>) -> PyResult<Rows> {
        query(py, &self.base.base(py)?.view(), pattern)
    }

    /// What the base is now, for any thread.
    fn view(&self, py: Python<'_>) -> PyResult<View> {
        Ok(View::new(self.base.base(py)?.view(), self.limits))
    }

    /// What the base was after a commit, or at a date.
    fn as_of(&self, py: Python<'_>, when: &Bound<'_, PyAny>) -> PyResult<View> {
        let moment = moment_of(when)?;
        let base = self.base.base(py)?;
        let found = py.detach(|| base.epoch_at(moment).and_then(|epoch| base.view_at(epoch)));
        found.map(|view| View::new(view, self.limits)).map_err(|error| errors::plain(py, "KnowledgeBaseError", &error))
    }

    /// Where the atoms come from that match a pattern and are there now, or were there after a commit or at a date: a dictionary for each.
    fn why<'py>(
        &self,
        py: Python<'py>,
        pattern: &Bound<'_, PyAny>,
        as_of: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let base = self.base.base(py)?;
        let pattern = read_pattern(py, &base.view(), pattern)?;
        let epoch = as_of.map(moment_of).transpose()?.map(|moment| py.detach(|| base.epoch_at(moment))).transpose();
        let epoch = epoch.map_err(|error| errors::plain(py, "KnowledgeBaseError", &error))?;
        let reasons = self.ask(py, move |engine| match epoch {
            None => engine.why(&pattern),
            Some(epoch) => engine.why_at(&pattern, epoch),
        })?;
        let list = PyList::empty(py);
        for reason in reasons.map_err(|error| errors::plain(py, "KnowledgeBaseError", &error))? {
            let entry = PyDict::new(py);
            entry.set_item("atom", to_python(py, &reason.atom)?)?;
            entry.set_item("epoch", reason.epoch)?;
            entry.set_item("origin", reason.origin)?;
            entry.set_item("line", reason.line)?;
            entry.set_item("column", reason.column)?;
            list.append(entry)?;
        }
        Ok(list)
    }

    /// The commits in which an atom that matches a pattern was added or taken away: a dictionary for each.
    fn log<'py>(
        &self,
        py: Python<'py>,
        pattern: &Bound<'_, PyAny>,
        changes: bool,
        since: Option<&Bound<'_, PyAny>>,
        until: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let base = self.base.base(py)?;
        let text = pattern.extract::<String>().ok();
        let asked = AskedLog {
            pattern: (read_pattern(py, &base.view(), pattern)?, text),
            with_changes: changes,
            since: since.map(moment_of).transpose()?,
            until: until.map(moment_of).transpose()?,
        };
        log::told(py, py.detach(|| log::ask(base, asked)), changes)
    }

    /// What its layers have counted since it was opened.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = self.ask(py, |engine| engine.statistics().report())?;
        dictionary(py, &report)
    }

    /// Another base with the same commits, or those up to one, which goes on for itself: in a new folder, or in memory.
    fn fork_to(
        &self,
        py: Python<'_>,
        path: Option<std::path::PathBuf>,
        at: Option<u64>,
        allowed: Allowed,
        rooms: Rooms,
    ) -> PyResult<Option<Self>> {
        let base = self.base.base(py)?;
        match (path, &self.path) {
            (None, _) => {
                let mut options = KnowledgeBaseOptions::new(allowed.world(world())?);
                (options.history_bytes_max, options.changes_waiting_bytes_max) = rooms;
                let forked = py.detach(|| base.fork(at, options));
                Self::opened(py, forked.map_err(|error| errors::writer(py, &error))?, None, self.limits).map(Some)
            }
            (Some(to), Some(from)) => {
                let forked = py.detach(|| CommitJournal::fork(from, &to, at));
                forked.map_err(|error| errors::plain(py, "KnowledgeBaseError", &error))?;
                Ok(None)
            }
            (Some(_), None) => Err(PyValueError::new_err("a base in memory is forked in memory: leave out the path")),
        }
    }

    /// Follows a live query.
    fn follow(
        &self,
        py: Python<'_>,
        query: Query,
        aggregate: Option<Aggregate>,
        after: Option<u64>,
        waiting_max: Option<usize>,
    ) -> PyResult<Subscription> {
        live::subscribe(py, self.base.base(py)?, &live::request(query, aggregate)?, (after, waiting_max))
    }

    /// Follows the live query that is registered under a name.
    fn follow_named(
        &self,
        py: Python<'_>,
        name: String,
        after: Option<u64>,
        waiting_max: Option<usize>,
    ) -> PyResult<Subscription> {
        live::subscribe(py, self.base.base(py)?, &LiveRequest::named(name), (after, waiting_max))
    }

    /// Registers a live query under a name.
    fn add_live_query(&self, py: Python<'_>, name: &str, query: Query, aggregate: Option<Aggregate>) -> PyResult<()> {
        let request = live::request(query, aggregate)?;
        let base = self.base.base(py)?;
        let added = py.detach(|| base.add_live_query(name, &request));
        added.map_err(|error| live::not_named(py, &error))
    }

    /// The live queries that have names: name, pattern, template, options and functions of each.
    fn live_queries(&self, py: Python<'_>) -> PyResult<Vec<Named>> {
        let base = self.base.base(py)?;
        Ok(py.detach(|| base.live_queries()).into_iter().map(live::named).collect())
    }

    /// Ends the live query of a name.
    fn end_live_query(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let base = self.base.base(py)?;
        let ended = py.detach(|| base.end_live_query(name));
        ended.map_err(|error| live::not_named(py, &error))
    }

    /// Makes a name mean a function of Python.
    fn add_function(
        &self,
        py: Python<'_>,
        name: &str,
        type_text: &str,
        effects: &str,
        function: Py<PyAny>,
        expected: Vec<String>,
    ) -> PyResult<()> {
        let signature = signature(name, type_text, effects)?;
        let expected = expected.iter().map(|name| Expected::of_type(name)).collect();
        let function = Arc::new(PythonFunction { function, expected });
        let base = self.base.base(py)?;
        let added = py.detach(|| base.add_function(signature, function));
        added.map_err(|error| errors::writer(py, &error))
    }

    /// Begins a transaction: what it does is one commit, or none. Nobody else writes until it ends.
    fn begin(&self, py: Python<'_>) -> PyResult<Transaction> {
        Transaction::begin(py, self)
    }

    /// Does what was asked until now, and closes the base.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let base = self.base.base(py)?;
        py.detach(|| base.close()).map_err(|error| errors::writer(py, &error))
    }
}

/// The signature of a function.
pub(crate) fn signature(name: &str, type_text: &str, effects: &str) -> PyResult<HostSignature> {
    let effects = match effects {
        "pure" => HostEffects::Pure,
        "asks" => HostEffects::Asks,
        "acts" => HostEffects::Acts,
        other => return Err(PyKeyError::new_err(format!("effects are pure, asks or acts, and not {other}"))),
    };
    HostSignature::new(name, type_text, effects).map_err(PyValueError::new_err)
}

/// Runs a text inside the form that has called the function at hand.
pub(crate) fn run_at_hand<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyList>> {
    let found = at_hand(py, |environment| environment.run_inside(text));
    let list = PyList::empty(py);
    for results in inside(py, found)? {
        if let Some(error) = results.iter().find(|result| metta::names::is_error(result)) {
            return Err(errors::plain(py, "EvaluationError", &message_of(error)));
        }
        list.append(values(py, &results)?)?;
    }
    Ok(list)
}

/// What an error atom says.
fn message_of(error: &Native) -> String {
    match error.children().and_then(|parts| parts.get(2)) {
        Some(Native::Grounded(Grounded::Text(text))) => text.to_string(),
        _ => error.to_string(),
    }
}

/// Adds or removes atoms inside the form that has called the function at hand.
fn change_at_hand(py: Python<'_>, operation: &str, atoms: Vec<Native>) -> PyResult<()> {
    let found = at_hand(py, |environment| {
        let space = Native::from(environment.module_space(environment.current_module()));
        let head = environment.read_inside(operation)?.pop().unwrap_or_else(|| Native::symbol(operation));
        for atom in atoms {
            environment.evaluate_inside(&Native::expression([head.clone(), space.clone(), atom]))?;
        }
        Ok(())
    });
    inside(py, found)
}

/// What a run at hand came to.
pub(crate) fn inside<T>(py: Python<'_>, found: Option<Result<T, metta::ModuleError>>) -> PyResult<T> {
    match found {
        Some(Ok(done)) => Ok(done),
        Some(Err(error)) => Err(errors::plain(py, "MettaError", &error)),
        None => Err(errors::writer(py, &metroon::run::WriterError::AskedByItself)),
    }
}

/// States atoms as the forms of a source.
pub(crate) fn state(engine: &mut Engine, atoms: &[Native]) -> Finished {
    let mut answers = Vec::new();
    let run = engine.run_atoms("Python", atoms, false, &mut |_, answer| {
        answers.push(Answer::of(answer));
        Ok(())
    });
    Finished { run, answers, failure: None }
}

/// The outcome of a load: the reason if it was undone.
type Loaded = Result<(), String>;

/// Loads the rows of a table as one commit. If one is refused, none is added.
fn load(engine: &mut Engine, mut table: Table) -> Loaded {
    let done = engine.transaction(|engine| {
        let loaded = engine.load_records("Python", &mut table).map_err(|error| error.to_string());
        let loaded = loaded.and_then(|report| match report.skipped.iter().find(|skipped| skipped.is_error) {
            Some(skipped) => Err(format!("row {}: {}; none was added", skipped.line, skipped.reason)),
            None => Ok(()),
        });
        let keeps = loaded.is_ok();
        (loaded, keeps)
    });
    done.unwrap_or_else(|error| Err(error.to_string()))
}

fn added(py: Python<'_>, loaded: Loaded) -> PyResult<()> {
    loaded.map_err(|message| errors::plain(py, "EvaluationError", &message))
}

/// Removes one copy of each atom.
fn remove(engine: &mut Engine, atoms: Vec<Native>) -> Finished {
    let (words, _) = engine.session_mut().program_mut().read(ModuleId::TOP, "remove-atoms &self");
    let form = Native::expression(words.into_iter().chain([Native::expression(atoms)]).collect::<Vec<_>>());
    let mut answers = Vec::new();
    let run = engine.run_atoms("Python", &[form], true, &mut |_, answer| {
        answers.push(Answer::of(answer));
        Ok(())
    });
    Finished { run, answers, failure: None }
}

/// A base as it was after a commit. It never changes, and any thread may ask it.
#[pyclass(module = "metroon", frozen, subclass)]
pub(crate) struct View {
    view: OfProcess<metroon::View>,
    /// The limits of what is evaluated.
    limits: Limited,
}

impl View {
    fn new(view: metroon::View, limits: Limited) -> Self {
        Self { view: OfProcess::new(view), limits }
    }
}

#[pymethods]
impl View {
    /// The number of the last commit that it shows.
    #[getter]
    fn epoch(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.view.get(py)?.epoch())
    }

    /// The hash of all that it holds, as 32 hexadecimal digits.
    #[getter]
    fn hash(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("{:032x}", self.view.get(py)?.hash()))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.view.get(py)?.atom_count())
    }

    fn __repr__(&self) -> String {
        match self.view.here() {
            Some(view) => format!("<View of commit {}, {} atoms>", view.epoch(), view.atom_count()),
            None => "<View of the process that this one is a fork of>".to_owned(),
        }
    }

    /// The rows that match a pattern.
    fn query(&self, py: Python<'_>, pattern: &Bound<'_, PyAny>) -> PyResult<Rows> {
        query(py, self.view.get(py)?, pattern)
    }

    /// What the `!` forms of a text come to; a form that changes something or reaches outside is refused.
    fn evaluate<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyList>> {
        let view = self.view.get(py)?;
        let found = py.detach(|| {
            let mut reader = view.reader();
            let time = self.limits.apply(reader.limits_mut());
            let found = reader.evaluate(text);
            drop(time);
            found
        });
        errors::answers(py, &found.map_err(|error| view_error(py, text, &error))?)
    }
}

type Step = Box<dyn FnOnce(&mut Engine) + Send>;

/// What a transaction is told.
enum Command {
    Do(Step),
    /// Whether what it did is kept.
    End(bool),
}

/// Several changes that are one commit, or none.
///
/// The thread that writes does what it is told until the transaction ends.
#[pyclass(module = "metroon", frozen)]
pub(crate) struct Transaction {
    open: OfProcess<OpenTransaction>,
    /// The limits of what is run in it.
    limits: Limited,
}

/// What a transaction has of the thread that it runs on.
struct OpenTransaction {
    commands: Mutex<Option<SyncSender<Command>>>,
    ended: Mutex<Option<metroon::run::Pending<Result<(), String>>>>,
    view: metroon::View,
}

impl Transaction {
    fn begin(py: Python<'_>, base: &KnowledgeBase) -> PyResult<Self> {
        let shared = base.base.base(py)?;
        let (commands, told) = sync_channel(0);
        let (begun, is_begun) = sync_channel(1);
        let interrupt = base.base.interrupt().clone();
        let work = move |engine: &mut Engine| {
            interrupt.reset();
            // Somebody waits for it.
            let _ = begun.send(());
            engine.transaction(|engine| ((), obey(engine, &told))).map_err(|error| error.to_string())
        };
        let pending = py.detach(|| base.base.submit(work)).map_err(|error| errors::writer(py, &error))?;
        wait_for(py, is_begun)?;
        let (commands, ended) = (Mutex::new(Some(commands)), Mutex::new(Some(pending)));
        Ok(Self { open: OfProcess::new(OpenTransaction { commands, ended, view: shared.view() }), limits: base.limits })
    }

    fn tell<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> PyResult<T> {
        let over = || PyValueError::new_err("the transaction has ended");
        let commands = &self.open.get(py)?.commands;
        let commands = commands.lock().unwrap_or_else(PoisonError::into_inner).clone().ok_or_else(over)?;
        let (done, result) = sync_channel(1);
        let step: Step = Box::new(move |engine| {
            // The answer is not taken any more if the caller has given up.
            let _ = done.send(without_lock(engine, work));
        });
        py.detach(|| commands.send(Command::Do(step))).map_err(|_| over())?;
        wait_for(py, result)
    }
}

/// Does what a transaction is told; gives whether it is kept. If nobody tells it anything more, it is not.
fn obey(engine: &mut Engine, told: &Receiver<Command>) -> bool {
    loop {
        match told.recv() {
            Ok(Command::Do(step)) => step(engine),
            Ok(Command::End(keeps)) => return keeps,
            Err(_) => return false,
        }
    }
}

/// Waits for something, and looks for signals now and then.
fn wait_for<T: Send>(py: Python<'_>, from: Receiver<T>) -> PyResult<T> {
    let mut from = Some(from);
    loop {
        let waiting = from.take().expect("it is put back");
        let (waiting, found) = py.detach(move || {
            let found = waiting.recv_timeout(std::time::Duration::from_millis(20));
            (waiting, found)
        });
        from = Some(waiting);
        match found {
            Ok(found) => return Ok(found),
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {
                return Err(errors::writer(py, &metroon::run::WriterError::Closed));
            }
        }
    }
}

#[pymethods]
impl Transaction {
    /// Runs a text inside the transaction.
    fn run<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyList>> {
        let owned = text.to_owned();
        let limits = self.limits;
        let run = move |engine: &mut Engine| limits.within(engine, |engine| run_text(engine, &owned, None));
        self.tell(py, run)?.into_python(py, text, None)
    }

    /// Adds atoms.
    fn add_all(&self, py: Python<'_>, atoms: &Bound<'_, PyList>) -> PyResult<()> {
        let atoms = self.read_all(py, atoms)?;
        self.tell(py, move |engine| state(engine, &atoms))?.into_python(py, "", None).map(drop)
    }

    /// Adds a row for each place in the columns.
    fn add_columns(&self, py: Python<'_>, head: &Bound<'_, Atom>, columns: &Bound<'_, PyList>) -> PyResult<()> {
        let table = Table::of_columns(head.get().atom.clone(), columns)?;
        added(py, self.tell(py, move |engine| load(engine, table))?)
    }

    /// Removes one copy of each of these atoms that is there.
    fn remove_all(&self, py: Python<'_>, atoms: &Bound<'_, PyList>) -> PyResult<()> {
        let atoms = self.read_all(py, atoms)?;
        self.tell(py, move |engine| remove(engine, atoms))?.into_python(py, "", None).map(drop)
    }

    /// The rows that match a pattern, what the transaction has done so far included.
    fn query(&self, py: Python<'_>, pattern: &Bound<'_, PyAny>) -> PyResult<Rows> {
        let pattern = read_pattern(py, &self.open.get(py)?.view, pattern)?;
        self.tell(py, move |engine| engine.query_table(&pattern)).map(Rows::new)
    }

    /// Ends it: what it did is one commit, or is undone.
    fn end(&self, py: Python<'_>, keeps: bool) -> PyResult<()> {
        let open = self.open.get(py)?;
        let commands = open.commands.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(commands) = commands else { return Ok(()) };
        // If the thread that writes is gone, waiting for the end says why.
        let _ = py.detach(|| commands.send(Command::End(keeps)));
        let pending = open.ended.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(pending) = pending else { return Ok(()) };
        let ended = py.detach(move || pending.wait()).map_err(|error| errors::writer(py, &error))?;
        ended.map_err(|error| errors::plain(py, "KnowledgeBaseError", &error))
    }
}

impl Transaction {
    fn read_all(&self, py: Python<'_>, values: &Bound<'_, PyList>) -> PyResult<Vec<Native>> {
        let view = &self.open.get(py)?.view;
        values.iter().map(|value| read_pattern(py, view, &value)).collect()
    }
}

/// The moment that the number of a commit or a date means.
fn moment_of(when: &Bound<'_, PyAny>) -> PyResult<Moment> {
    match when.extract::<u64>() {
        Ok(epoch) => Ok(Moment::Commit(epoch)),
        Err(_) => when.extract::<String>()?.parse().map_err(|e: MomentError| PyValueError::new_err(e.to_string())),
    }
}
