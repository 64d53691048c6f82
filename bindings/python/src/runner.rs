//! An engine that keeps nothing beyond its own life, for `metroon.hyperon`: it runs texts, evaluates atoms, and gets words and functions
//! from Python.

use crate::asking::{Alone, ask};
use crate::classes::{self, Atom, object};
use crate::errors;
use crate::functions::{at_hand, stopped, with_python};
use crate::knowledge_base::{inside, world};
use crate::spaces::Space;
use crate::values::{PythonMatcher, PythonValue, failure};
use metroon::host::{Environment, HostCall, HostFunction, Outcome, held_function};
use metroon::run::{ModuleId, Source};
use metroon::syntax::Severity;
use metroon::{Engine, RunEnd};
use metta::{Effects, WordMaker};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use space::{Atom as Native, Grounded};
use std::any::Any;
use std::sync::Arc;

/// An engine on a thread of its own.
#[pyclass(module = "metroon._engine", frozen)]
pub(crate) struct Runner {
    alone: Alone,
    directory: String,
}

/// The results of each form, and what the parser could not read.
type Ran = (Vec<Vec<Native>>, Option<String>);

/// The results of each form as objects.
type Answers = Vec<Vec<Py<PyAny>>>;

fn objects(py: Python<'_>, found: &[Native]) -> PyResult<Vec<Py<PyAny>>> {
    found.iter().map(|atom| object(py, atom.clone())).collect()
}

/// Runs forms; an error ends them and is their last result.
fn run(engine: &mut Engine, directory: &str, text: &str) -> Result<Ran, String> {
    let mut answers = Vec::new();
    let source = Source { directory, ..Source::text(text) };
    let run = engine.run_source(&source, &mut |_, answer| {
        answers.push(answer.results.to_vec());
        Ok(())
    });
    let parse_error = run.diagnostics.iter().find(|found| found.severity == Severity::Error);
    match run.end {
        RunEnd::Finished | RunEnd::Error | RunEnd::Limit(_) => Ok((answers, None)),
        RunEnd::NotParsed => Ok((answers, parse_error.map(|error| error.message.clone()))),
        RunEnd::World(error) => Err(error.to_string()),
        RunEnd::RunRecord(error) => Err(error.to_string()),
        other => Err(format!("the run ended early: {other:?}")),
    }
}

#[pymethods]
impl Runner {
    #[new]
    fn new(py: Python<'_>, directory: String) -> PyResult<Self> {
        let started = py.detach(|| Alone::start(|| Ok(Engine::new(world()))));
        Ok(Self { alone: started.map_err(|error| errors::writer(py, &error))?, directory })
    }

    /// Runs a text; gives the results of each form, and what the parser could not read.
    fn run(&self, py: Python<'_>, text: String) -> PyResult<(Answers, Option<String>)> {
        let (answers, parse_error) = if self.alone.is_current() {
            (inside(py, at_hand(py, |environment| environment.run_inside(&text)))?, None)
        } else {
            let directory = self.directory.clone();
            let ran = ask(py, &self.alone, move |engine| run(engine, &directory, &text))?;
            ran.map_err(PyRuntimeError::new_err)?
        };
        let answers = answers.iter().map(|results| objects(py, results)).collect::<PyResult<_>>()?;
        Ok((answers, parse_error))
    }

    /// What an atom comes to.
    fn evaluate(&self, py: Python<'_>, atom: &Atom) -> PyResult<Vec<Py<PyAny>>> {
        let atom = atom.atom.clone();
        let results = if self.alone.is_current() {
            inside(py, at_hand(py, |environment| environment.evaluate_inside(&atom)))?
        } else {
            ask(py, &self.alone, move |engine| {
                let mut results = Vec::new();
                engine.run_atoms("Python", &[atom], true, &mut |_, answer| {
                    results.extend_from_slice(answer.results);
                    Ok(())
                });
                results
            })?
        };
        objects(py, &results)
    }

    /// The atoms of a text, with the words of the program, and what the parser could not read.
    fn parse(&self, py: Python<'_>, text: String) -> PyResult<(Vec<Py<PyAny>>, Option<String>)> {
        let (found, error) = if self.alone.is_current() {
            match at_hand(py, |environment| environment.read_inside(&text)) {
                Some(Err(error)) => (Vec::new(), Some(error.to_string())),
                found => (inside(py, found)?, None),
            }
        } else {
            ask(py, &self.alone, move |engine| {
                let (found, diagnostics) = engine.session_mut().program_mut().read(ModuleId::TOP, &text);
                let error = diagnostics.into_iter().find(|found| found.severity == Severity::Error);
                (found, error.map(|error| error.message))
            })?
        };
        Ok((objects(py, &found)?, error))
    }

    /// The program's own space.
    fn space(&self, py: Python<'_>) -> PyResult<Space> {
        if self.alone.is_current() {
            let found = at_hand(py, |environment| Ok(environment.module_space(ModuleId::TOP)));
            return inside(py, found).map(Space);
        }
        ask(py, &self.alone, |engine| engine.session_mut().top_space()).map(Space)
    }

    /// Makes the words that regular expressions cover mean what a function makes of each.
    fn bind_all(&self, py: Python<'_>, words: Vec<(String, Py<PyAny>)>) -> PyResult<()> {
        let words: Vec<_> = words.into_iter().map(|(token, maker)| (token, word_maker(maker))).collect();
        let bound = if self.alone.is_current() {
            let found = at_hand(py, |environment| {
                let module = environment.current_module();
                let mut words = words.into_iter();
                Ok(words.try_for_each(|(token, maker)| environment.bind_maker(module, &token, maker)))
            });
            inside(py, found)?
        } else {
            ask(py, &self.alone, move |engine| {
                let program = engine.session_mut().program_mut();
                let mut words = words.into_iter();
                words.try_for_each(|(token, maker)| program.bind_maker(ModuleId::TOP, &token, maker))
            })?
        };
        bound.map_err(PyRuntimeError::new_err)
    }
}

/// What makes an atom of a word by a function of Python.
fn word_maker(maker: Py<PyAny>) -> Arc<WordMaker> {
    Arc::new(move |word: &str| {
        Python::attach(|py| {
            let made = maker.bind(py).call1((word,)).and_then(|made| Ok(made.cast::<Atom>()?.get().atom.clone()));
            // A word that cannot be made is told of, and stays a word.
            made.map_err(|error| error.print(py)).ok()
        })
    })
}

/// A function of Python as a value of the process.
struct Held {
    object: Py<PyAny>,
    carry_out: Py<PyAny>,
}

impl HostFunction for Held {
    fn call(&self, environment: &mut dyn Environment, call: &HostCall<'_>) -> Outcome {
        with_python(environment, |py| {
            let called = objects(py, call.arguments)
                .and_then(|arguments| self.carry_out.bind(py).call1((&self.object, PyList::new(py, arguments)?)))
                .and_then(|found| {
                    let found = found.cast::<PyList>()?.clone();
                    found.iter().map(|atom| Ok(atom.cast::<Atom>()?.get().atom.clone())).collect::<PyResult<Vec<_>>>()
                });
            match called {
                Ok(results) => Outcome::Results(results),
                Err(error) => match stopped(py).unwrap_or_else(|| failure(py, &error)) {
                    Outcome::Failure(Native::Grounded(Grounded::Text(text))) => Outcome::failure(text),
                    other => other,
                },
            }
        })
    }
}

/// An object as an atom of this type: a function if there is something that carries out its calls.
#[pyfunction]
pub(crate) fn opaque(
    py: Python<'_>,
    object: &Bound<'_, PyAny>,
    type_atom: &Atom,
    name: Option<&str>,
    carry_out: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let type_atom = type_atom.atom.clone();
    let Some(carry_out) = carry_out else {
        return classes::object(py, PythonValue::typed(object, type_atom)?);
    };
    // While the atom is there, so is the object, and nothing else has its address.
    let identity = format!("python:{:x}:{type_atom}", object.as_ptr() as usize);
    let function = Arc::new(Held { object: object.clone().unbind(), carry_out });
    let name = name.unwrap_or("function");
    let atom = held_function(name, &identity, type_atom, Effects::ANY, function);
    classes::object(py, atom)
}

/// An object that says itself what it matches as an atom of this type; `ask` is called with the object and an atom.
#[pyfunction]
pub(crate) fn matching(
    py: Python<'_>,
    object: &Bound<'_, PyAny>,
    type_atom: &Atom,
    ask: Py<PyAny>,
) -> PyResult<Py<PyAny>> {
    classes::object(py, PythonMatcher::atom(object, ask, type_atom.atom.clone())?)
}

/// The object of an atom, if it is one of Python.
#[pyfunction]
pub(crate) fn object_of(py: Python<'_>, atom: &Atom) -> Option<Py<PyAny>> {
    if let Some(object) = PythonMatcher::of(py, &atom.atom) {
        return Some(object);
    }
    let Native::Grounded(Grounded::Host(value)) = &atom.atom else { return None };
    if let Some(value) = value.as_any().downcast_ref::<PythonValue>() {
        return Some(value.object(py));
    }
    let function: &dyn Any = &**metta::Operation::of(&atom.atom)?.host_function()?;
    Some(function.downcast_ref::<Held>()?.object.clone_ref(py))
}

/// The type of a grounded atom.
#[pyfunction]
pub(crate) fn grounded_type(py: Python<'_>, atom: &Atom) -> PyResult<Py<PyAny>> {
    let found = match &atom.atom {
        Native::Grounded(value) => metta::types::grounded_type(value),
        _ => Native::symbol("%Undefined%"),
    };
    object(py, found)
}
