//! A state of pages.

use super::bytes::{PageBytes, PageId, PageSnapshot};
use super::failures::{self, forked, refused_inside};
use super::functions::{PythonFunction, Raised, is_deriving};
use super::notices::PageSubscription;
use super::options::{Named, durability};
use super::transaction::PageTransaction;
use crate::home::OfProcess;
use crate::statistics::{dictionary, entries};
use ::statistics::Statistics;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use reactive::{Filter, FunctionName, Functions, OpenError, Reason, State};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Pages, and pages that are derived from them.
#[pyclass(module = "metroon._engine", frozen)]
pub(crate) struct PageState(OfProcess<Held>);

struct Held {
    /// None once it was closed.
    state: Mutex<Option<State>>,
    raised: Raised,
    options: Named,
    warnings: Vec<String>,
}

/// A function, as Python names it: its name, its version, and what is called.
type Given = (String, u32, Py<PyAny>);
/// Why a page holds what it holds: the page, the last commit that changed it, the function and what it reads, or who wrote it and because of
/// which commit.
type Explained = (PageId, u64, Option<(String, Vec<PageId>)>, Option<String>, Option<u64>);
/// The number of a commit, the pages that it made, and what it cost.
type Done<'py> = (u64, Vec<PageId>, Bound<'py, PyDict>);
/// How many commits, checkpoints and derived pages were compared, and what does not fit.
type Compared = (u64, u64, u64, Vec<String>);

fn name(function: &FunctionName) -> String {
    function.to_string()
}

fn functions_of(given: Vec<Given>, raised: &Raised) -> Functions {
    let mut functions = Functions::new();
    for (name, version, function) in given {
        functions.add(FunctionName::new(&name, version), PythonFunction { function, raised: raised.clone() });
    }
    functions
}

impl PageState {
    fn of(state: State, raised: Raised, options: Named, warnings: Vec<String>) -> Self {
        Self(OfProcess::new(Held { state: Mutex::new(Some(state)), raised, options, warnings }))
    }

    fn held(&self, py: Python<'_>) -> PyResult<&Held> {
        self.0.here().ok_or_else(|| forked(py))
    }

    /// Does something with the state while nobody else does, without the interpreter lock.
    fn with<T: Send>(&self, py: Python<'_>, act: impl FnOnce(&mut State) -> T + Send) -> PyResult<T> {
        if is_deriving() {
            return Err(refused_inside(py));
        }
        let held = self.held(py)?;
        let done = py.detach(|| {
            let mut state = held.state.lock().unwrap_or_else(PoisonError::into_inner);
            // What a function has raised before, of which nobody was told, is of no interest to this call.
            drop(held.raised.take());
            state.as_mut().map(act)
        });
        done.ok_or_else(|| failures::plain(py, "PageError", &"the state is closed; open it again"))
    }

    /// As [`Self::with`], of what looks at the past.
    fn looked<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut State) -> Result<T, OpenError> + Send,
    ) -> PyResult<T> {
        self.with(py, act)?.map_err(|error| failures::open(py, &error, self.raised(py)))
    }

    fn raised(&self, py: Python<'_>) -> Option<PyErr> {
        self.held(py).ok().and_then(|held| held.raised.take())
    }
}

#[pymethods]
impl PageState {
    /// A state in memory, if no folder is named; a new one in a folder, or the one that is there.
    #[new]
    fn new(py: Python<'_>, folder: Option<PathBuf>, is_new: bool, given: Vec<Given>, options: Named) -> PyResult<Self> {
        let raised = Raised::default();
        let (functions, kept) = (functions_of(given, &raised), options.options()?);
        let opened = py.detach(|| match folder {
            None => Ok((State::new(functions, kept), Vec::new())),
            Some(folder) if is_new => {
                // Whoever asks for a new state is told now if it cannot be there.
                let mut state = State::create_in(folder, functions, kept);
                state.claim().map(|()| (state, Vec::new()))
            }
            Some(folder) => State::open_in(folder, functions, kept),
        });
        let (state, warnings) = opened.map_err(|error| failures::open(py, &error, raised.take()))?;
        let warnings = warnings.iter().map(ToString::to_string).collect();
        Ok(Self::of(state, raised, options, warnings))
    }

    /// Adds a function, in place of one that has this name and version.
    fn add_function(&self, py: Python<'_>, name: &str, version: u32, function: Py<PyAny>) -> PyResult<()> {
        let raised = self.held(py)?.raised.clone();
        let name = FunctionName::new(name, version);
        self.with(py, |state| state.functions().add(name, PythonFunction { function, raised }))
    }

    fn commit<'py>(&self, py: Python<'py>, transaction: &Bound<'py, PageTransaction>) -> PyResult<Done<'py>> {
        let steps = transaction.get().take(py)?;
        let commit = self.with(py, |state| state.commit(&steps))?;
        drop(steps);
        let commit = commit.map_err(|error| failures::commit(py, &error, self.raised(py)))?;
        let created = commit.created.into_iter().map(PageId).collect();
        Ok((commit.epoch, created, entries(py, &commit.statistics.report())?))
    }

    #[getter]
    fn epoch(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |state| state.epoch())
    }

    /// What opening it has mended or done without.
    #[getter]
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.held(py)?.warnings.clone())
    }

    fn read(&self, py: Python<'_>, page: PageId) -> PyResult<Option<PageBytes>> {
        self.with(py, |state| state.share(page.0).map(PageBytes))
    }

    /// The name of a page, and what its users keep of it.
    fn metadata(&self, py: Python<'_>, page: PageId) -> PyResult<Option<(String, Vec<u8>)>> {
        self.with(py, |state| {
            let metadata = state.metadata(page.0).cloned();
            metadata.map(|metadata| (metadata.name, metadata.bytes))
        })
    }

    /// The first page of a name.
    fn find(&self, py: Python<'_>, name: &str) -> PyResult<Option<PageId>> {
        self.with(py, |state| state.find(name).map(PageId))
    }

    fn changed(&self, py: Python<'_>, page: PageId) -> PyResult<Option<u64>> {
        self.with(py, |state| state.changed(page.0))
    }

    fn pages(&self, py: Python<'_>) -> PyResult<Vec<PageId>> {
        self.with(py, |state| state.pages().map(PageId).collect())
    }

    fn snapshot(&self, py: Python<'_>) -> PyResult<PageSnapshot> {
        self.with(py, |state| PageSnapshot(state.snapshot()))
    }

    /// The state as it was after a commit, made again from the log.
    fn at(&self, py: Python<'_>, epoch: u64) -> PyResult<PageSnapshot> {
        self.looked(py, |state| state.at(epoch).map(PageSnapshot))
    }

    /// Another state, as this one was after a commit: in memory, or with a log in a folder.
    fn fork(&self, py: Python<'_>, epoch: u64, folder: Option<PathBuf>) -> PyResult<Self> {
        let held = self.held(py)?;
        let (raised, options) = (held.raised.clone(), held.options.clone());
        let kept = options.options()?;
        let forked = self.with(py, |state| match folder {
            None => state.fork(epoch).map_err(Into::into),
            Some(folder) => state.fork_in(epoch, folder, kept),
        })?;
        let state = forked.map_err(|error| failures::other(py, &*error, raised.take()))?;
        Ok(Self::of(state, raised, options, Vec::new()))
    }

    /// What a page held after each commit that changed it.
    fn history(&self, py: Python<'_>, page: PageId) -> PyResult<Vec<(u64, PageBytes)>> {
        let history = self.looked(py, |state| state.history(page.0))?;
        Ok(history.into_iter().map(|(epoch, bytes)| (epoch, PageBytes(bytes.into()))).collect())
    }

    fn why(&self, py: Python<'_>, page: PageId) -> PyResult<Option<Vec<Explained>>> {
        let why = self.with(py, |state| state.why(page.0))?;
        Ok(why.map(|why| {
            let explained = why.into_iter().map(|why| match why.reason {
                Reason::Written { source, cause } => (PageId(why.page), why.changed, None, source, cause),
                Reason::Derived { function, dependencies, .. } => {
                    let dependencies = dependencies.into_iter().map(PageId).collect();
                    (PageId(why.page), why.changed, Some((name(&function), dependencies)), None, None)
                }
            });
            explained.collect()
        }))
    }

    fn verify(&self, py: Python<'_>) -> PyResult<Compared> {
        let found = self.looked(py, State::verify)?;
        let problems = found.problems.iter().map(ToString::to_string).collect();
        Ok((found.commits, found.checkpoints, found.derived, problems))
    }

    fn checkpoint(&self, py: Python<'_>) -> PyResult<()> {
        let done = self.with(py, State::checkpoint)?;
        done.map_err(|error| failures::other(py, &*error, None))
    }

    fn sync(&self, py: Python<'_>, wanted: &str) -> PyResult<()> {
        let wanted = durability(wanted)?;
        let done = self.with(py, |state| state.sync(wanted))?;
        done.map_err(|error| failures::other(py, &*error, None))
    }

    /// The hash of all pages and how they are derived, in hexadecimal.
    fn hash(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |state| format!("{:032x}", state.state_hash()))
    }

    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let statistics = self.with(py, |state| state.statistics())?;
        entries(py, &statistics.report())
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let statistics = self.with(py, |state| state.statistics())?;
        dictionary(py, &statistics.report())
    }

    /// Follows what commits change: of these pages, or of all; after a commit, if one is named.
    fn subscribe(
        &self,
        py: Python<'_>,
        pages: Option<Vec<PageId>>,
        after: Option<u64>,
        waiting: usize,
    ) -> PyResult<PageSubscription> {
        let ids = pages.map(|pages| pages.into_iter().map(|page| page.0).collect());
        let filter = ids.map_or(Filter::All, Filter::Pages);
        let subscription = self.with(py, |state| match after {
            None => state.subscribe(filter, waiting),
            Some(after) => state.subscribe_from(after, filter, waiting),
        })?;
        Ok(PageSubscription::new(subscription))
    }

    /// Lets go of the state, and of its folder.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if is_deriving() {
            return Err(refused_inside(py));
        }
        let held = self.held(py)?;
        py.detach(|| drop(held.state.lock().unwrap_or_else(PoisonError::into_inner).take()));
        Ok(())
    }

    #[getter]
    fn is_closed(&self, py: Python<'_>) -> PyResult<bool> {
        if is_deriving() {
            return Err(refused_inside(py));
        }
        let held = self.held(py)?;
        Ok(py.detach(|| held.state.lock().unwrap_or_else(PoisonError::into_inner).is_none()))
    }
}
