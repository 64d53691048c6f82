//! The commits that changed an atom.

use crate::errors::{Trouble, plain};
use metroon::KnowledgeBaseError;
use metroon::history::{Change, CommitView, LogEntry, Moment};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use space::Atom;

/// What is asked of the commits of a base.
pub(crate) struct AskedLog {
    /// What an atom is to match, and the text that it was read from, which is read again with the words of the journal.
    pub(crate) pattern: (Atom, Option<String>),
    pub(crate) with_changes: bool,
    /// The first commit and the last.
    pub(crate) since: Option<Moment>,
    pub(crate) until: Option<Moment>,
}

/// Commits that changed an atom, each with what it did to it.
pub(crate) struct FoundLog {
    commits: Vec<(CommitView, Vec<Change>)>,
    /// How many copies are older than the first commit that is kept, and the number of that commit; 0 if that was not asked for.
    given_up: (u64, u64),
}

/// Asks the history of a base.
pub(crate) fn ask(base: &metroon::KnowledgeBase, asked: AskedLog) -> Result<FoundLog, KnowledgeBaseError> {
    let epoch_of = |moment: Option<Moment>| moment.map(|moment| base.epoch_at(moment)).transpose();
    let (since, until) = (epoch_of(asked.since)?, epoch_of(asked.until)?);
    let mut history = base.history()?;
    let (pattern, text) = asked.pattern;
    let pattern = text.and_then(|text| history.read(&text).ok()).unwrap_or(pattern);
    let (first, last) = (history.first(), history.epoch());
    if let Some(epoch) = since.filter(|&since| since > last) {
        return Err(KnowledgeBaseError::NoEpoch { epoch, last });
    }
    let mut commits: Vec<(CommitView, Vec<Change>)> = Vec::new();
    let epochs = since.unwrap_or(first)..=until.unwrap_or(u64::MAX);
    let copies = history.log_of(&pattern, epochs, asked.with_changes, &mut |entry| {
        match entry {
            LogEntry::Commit(commit) => commits.push((commit.clone(), Vec::new())),
            LogEntry::Change(change) => {
                let (_, changes) = commits.last_mut().expect("a change comes after its commit");
                changes.push(change.clone());
            }
        }
        true
    })?;
    Ok(FoundLog { commits, given_up: (if since.is_none() { copies } else { 0 }, first) })
}

/// The commits as dictionaries.
pub(crate) fn told(
    py: Python<'_>,
    found: Result<FoundLog, KnowledgeBaseError>,
    with_changes: bool,
) -> PyResult<Bound<'_, PyList>> {
    let FoundLog { commits, given_up: (copies, first) } =
        found.map_err(|error| plain(py, "KnowledgeBaseError", &error))?;
    if copies > 0 {
        let message = KnowledgeBaseError::LogGivenUp { copies, first }.to_string();
        let help = Some(format!("since={first} asks only for the commits that are kept"));
        return Err(Trouble { message, help, ..Trouble::default() }.raise(py, "KnowledgeBaseError"));
    }
    let list = PyList::empty(py);
    for (commit, changes) in &commits {
        let entry = PyDict::new(py);
        entry.set_item("epoch", commit.epoch)?;
        entry.set_item("date", commit.date())?;
        entry.set_item("origin", &commit.origin)?;
        entry.set_item("line", commit.line)?;
        entry.set_item("added", commit.added)?;
        entry.set_item("removed", commit.removed)?;
        entry.set_item("others", commit.others)?;
        entry.set_item("hash", format!("{:032x}", commit.hash))?;
        let changes = changes.iter().map(|change| dictionary(py, change)).collect::<PyResult<Vec<_>>>()?;
        entry.set_item("changes", with_changes.then_some(changes))?;
        list.append(entry)?;
    }
    Ok(list)
}

fn dictionary<'py>(py: Python<'py>, change: &Change) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("atom", &change.text)?;
    entry.set_item("copies", change.copies)?;
    entry.set_item("space", change.space.as_deref())?;
    entry.set_item("origin", &change.origin)?;
    entry.set_item("line", change.line)?;
    Ok(entry)
}
