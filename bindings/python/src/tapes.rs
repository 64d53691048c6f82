//! Tapes: a program is run and recorded, or run again as it was recorded.
//!
//! The engine of either lives on a thread of its own for as long as that takes.

use crate::asking::{Alone, ask};
use crate::errors::{self, Ran, Trouble};
use crate::functions::{Expected, PythonFunction};
use crate::knowledge_base::signature;
use metroon::host::HostSignature;
use metroon::run::{ProgramEnd, Reporter, RunRequest};
use metroon::storage::CommitJournal;
use metroon::syntax::{Diagnostic, LineIndex};
use metroon::tape::{RecallError, ReplayEnd, TapeReader};
use metroon::why::Failure;
use metroon::{Engine, SystemWorld, Tape};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A function of Python with its signature: name, type, effects, the function, what its arguments have to be.
type Registered = (String, String, String, Py<PyAny>, Vec<String>);

type Functions = Vec<(HostSignature, Arc<PythonFunction>)>;

fn functions(registered: Vec<Registered>) -> PyResult<Functions> {
    let function = |(name, type_text, effects, function, expected): Registered| {
        let expected = expected.iter().map(|name| Expected::of_type(name)).collect();
        Ok((signature(&name, &type_text, &effects)?, Arc::new(PythonFunction { function, expected })))
    };
    registered.into_iter().map(function).collect()
}

/// What there is to tell of a run beside its output.
#[derive(Default)]
struct Told {
    parse_error: Option<(String, String, Diagnostic)>,
    failure: Option<Failure>,
}

impl Reporter for Told {
    fn diagnostic(&mut self, origin: &str, lines: &LineIndex<'_>, diagnostic: &Diagnostic) {
        if diagnostic.severity == metroon::syntax::Severity::Error {
            self.parse_error.get_or_insert_with(|| (origin.to_owned(), lines.text().to_owned(), diagnostic.clone()));
        }
    }

    fn wants_failures(&self) -> bool {
        true
    }

    fn failure(&mut self, failure: &Failure) {
        self.failure.get_or_insert_with(|| failure.clone());
    }
}

/// The lines that a run prints.
type Lines = Arc<Mutex<Vec<String>>>;

/// A world whose lines are kept.
fn keeping(lines: &Lines) -> SystemWorld {
    let lines = Arc::clone(lines);
    SystemWorld::default().printing(Box::new(move |line| {
        lines.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
        Ok(())
    }))
}

fn taken(lines: &Lines) -> Vec<String> {
    std::mem::take(&mut lines.lock().unwrap_or_else(PoisonError::into_inner))
}

/// An engine on a thread of its own.
fn start(py: Python<'_>, make: impl FnOnce() -> Result<Engine, RecallError> + Send + 'static) -> PyResult<Alone> {
    py.detach(|| Alone::start(make)).map_err(|error| errors::plain(py, "TapeError", &error))
}

fn end(py: Python<'_>, alone: Alone) -> PyResult<()> {
    py.detach(|| alone.close()).map_err(|error| errors::plain(py, "TapeError", &error))
}

/// The exception for how a program ended, if it is one.
fn ended(py: Python<'_>, end: &ProgramEnd, told: &Told) -> Option<PyErr> {
    let plain = |class: &str, message: String| Some(Trouble { message, ..Trouble::default() }.raise(py, class));
    match end {
        ProgramEnd::Finished => None,
        ProgramEnd::NotParsed => {
            let (origin, text, diagnostic) = told.parse_error.as_ref()?;
            let ran = Ran { file: Some(origin), text, answers: &[], failure: None };
            Some(errors::not_parsed(py, &ran, std::slice::from_ref(diagnostic)))
        }
        ProgramEnd::Error => {
            let ran = Ran { file: None, text: "", answers: &[], failure: told.failure.as_ref() };
            Some(errors::ended(py, &ran, &metroon::RunEnd::Error, &[]))
        }
        ProgramEnd::Limit { limit, place } => plain("LimitError", format!("a limit ended the run at {place}: {limit}")),
        ProgramEnd::NotRead(error) | ProgramEnd::World(error) => plain("WorldError", error.to_string()),
        ProgramEnd::RunRecord(error) => plain("TapeError", error.to_string()),
        _ => plain("MettaError", "the run ended early".to_owned()),
    }
}

/// Runs files and texts and records the run on a new tape; gives the lines that it printed.
#[pyfunction]
#[pyo3(signature = (tape, files, texts, base, registered, keeps_secrets))]
pub(crate) fn record(
    py: Python<'_>,
    tape: PathBuf,
    files: Vec<String>,
    texts: Vec<String>,
    base: Option<PathBuf>,
    registered: Vec<Registered>,
    keeps_secrets: bool,
) -> PyResult<Vec<String>> {
    let functions = functions(registered)?;
    let request = RunRequest { files, expressions: texts, ..RunRequest::default() };
    let (lines, program) = (Lines::default(), request.clone());
    let world = keeping(&lines);
    let alone = start(py, move || {
        let base = base.map(CommitJournal::open).transpose()?;
        let tape = Tape::create(tape)?;
        let tape = if keeps_secrets { tape.keep_secrets() } else { tape };
        Engine::remembering(world, base, Some(tape), &program)
    })?;
    let (program_end, told) = ask(py, &alone, move |engine| {
        let mut told = Told::default();
        for (signature, function) in functions {
            if let Err(error) = engine.add_function(&signature, function) {
                return (ProgramEnd::World(error), told);
            }
        }
        (engine.run_program(&request, &mut told), told)
    })?;
    end(py, alone)?;
    ended(py, &program_end, &told).map_or_else(|| Ok(taken(&lines)), Err)
}

/// Runs the program of a tape again, and compares; gives how many commits were equal, and the lines that it printed.
#[pyfunction]
#[pyo3(signature = (tape, registered, stop_after))]
pub(crate) fn replay(
    py: Python<'_>,
    tape: PathBuf,
    registered: Vec<Registered>,
    stop_after: Option<u64>,
) -> PyResult<(u64, Vec<String>)> {
    let functions = functions(registered)?;
    let lines = Lines::default();
    let world = keeping(&lines);
    let found = Arc::new(Mutex::new(None));
    let program = Arc::clone(&found);
    let alone = start(py, move || {
        let (mut engine, request) = Engine::replaying(world, TapeReader::open(tape)?, stop_after)?;
        for (signature, function) in functions {
            engine.supply_function(&signature, function);
        }
        *program.lock().unwrap_or_else(PoisonError::into_inner) = Some(request);
        Ok(engine)
    })?;
    let request = found.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
    let (program_end, told, replayed) = ask(py, &alone, move |engine| {
        let mut told = Told::default();
        let end = engine.run_program(&request, &mut told);
        (end, told, engine.replayed())
    })?;
    let (commits, why) = replayed.unwrap_or_default();
    match why {
        Some(ReplayEnd::Reached(_)) => return Ok((commits, taken(&lines))),
        Some(why) => return Err(errors::plain(py, "ReplayError", &why)),
        None => end(py, alone)?,
    }
    // What the recorded run came to, its replay comes to again.
    match program_end {
        ProgramEnd::Finished | ProgramEnd::Error | ProgramEnd::Limit { .. } => Ok((commits, taken(&lines))),
        other => ended(py, &other, &told).map_or_else(|| Ok((commits, taken(&lines))), Err),
    }
}
