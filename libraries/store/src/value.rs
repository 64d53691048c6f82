//! A value that was read: where it lies, not a copy of it.

use crate::run::Run;
use crate::shared::Shared;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The value of a key. It stays valid whatever happens to the store; copy it if it is kept for long, since it keeps the file, or
/// the memory, that it lies in.
#[derive(Clone)]
pub struct Value(Place);

#[derive(Clone)]
enum Place {
    Memory(Shared),
    Run { run: Arc<Run>, from: usize, to: usize },
}

impl Value {
    pub(crate) fn in_memory(bytes: Shared) -> Self {
        Self(Place::Memory(bytes))
    }

    /// A part of a run, which was checked.
    pub(crate) fn in_run(run: &Arc<Run>, from: usize, to: usize) -> Self {
        Self(Place::Run { run: run.clone(), from, to })
    }
}

impl Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Place::Memory(bytes) => bytes,
            Place::Run { run, from, to } => &run.bytes()[*from..*to],
        }
    }
}

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Value {}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
