//! What a run has come to: its state hash, its sources, and what makes everything but the atoms of its spaces.

use super::checkpoint::Outline;
use super::record::Record;
use super::sources::{KnownSource, Sources};
use super::state_hash::StateHash;
use metta::Cause;
use std::cell::RefCell;
use std::rc::Rc;

/// What a run has come to.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) hash: StateHash,
    /// The number of the last commit that changed something.
    pub(crate) epoch: u64,
    /// How many commits the run has made, those that changed nothing included.
    pub(crate) commits: u64,
    pub(crate) sources: Sources,
    /// Whether a program has changed the library.
    pub(crate) is_library_changed: bool,
    /// What makes everything but the atoms of spaces.
    pub(crate) outline: Outline,
    /// How many things other than atoms the base was told to keep.
    pub(crate) others: u64,
}

pub(crate) type SharedLedger = Rc<RefCell<Ledger>>;

impl Ledger {
    /// What the source of a form is called, and the line and column of the form.
    pub(crate) fn place(&self, cause: Cause) -> (String, u32, u32) {
        let (line, column) = self.sources.position(cause.source, cause.offset);
        (self.sources.origin(cause.source).to_owned(), line, column)
    }
}

/// The record that says that a source has begun.
pub(crate) fn begun_record(number: u32, source: &KnownSource) -> Record<'_> {
    Record::SourceBegun {
        source: number,
        module: source.module.number(),
        origin: &source.origin,
        file: source.file.as_deref(),
        content: source.content,
    }
}
