//! What changed, in order: the record that a commit keeps, and that a rollback undoes.
//!
//! A [`ChangeLog`] is shared by the spaces and states of a run. While it records, every change is noted in it with what
//! it takes to undo it. A state that is set again and again is noted once between two marks.

use crate::atom::Atom;
use crate::grounded::StateRef;
use crate::handle::SpaceRef;
use rustc_hash::FxHashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// A change of a space or state.
#[derive(Clone, Debug)]
pub struct Change {
    /// What happened.
    pub kind: ChangeKind,
    /// Which of the owner's causes it belongs to, see [`ChangeLog::set_cause`].
    pub cause: u32,
}

/// What happened to a space or state.
#[derive(Clone, Debug)]
pub enum ChangeKind {
    /// A copy of an atom was added.
    Added {
        /// Where.
        space: SpaceRef,
        /// The atom.
        atom: Atom,
    },
    /// A copy of an atom was removed.
    Removed {
        /// Where.
        space: SpaceRef,
        /// The atom as it was stored.
        atom: Atom,
        /// Its insertion number.
        number: u64,
    },
    /// A state was set.
    Set {
        /// The state.
        state: StateRef,
        /// Its content before.
        before: Atom,
    },
}

/// Notes the changes of the spaces and states that share it.
#[derive(Clone, Debug, Default)]
pub struct ChangeLog(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    is_recording: AtomicBool,
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    changes: Vec<Change>,
    cause: u32,
    /// The states set since the last mark, by serial number.
    set: FxHashSet<u64>,
}

impl ChangeLog {
    /// Whether changes are noted.
    pub fn is_recording(&self) -> bool {
        self.0.is_recording.load(Ordering::Relaxed)
    }

    /// Begins to note changes, or ends it and forgets what was noted.
    pub fn record(&self, on: bool) {
        self.0.is_recording.store(on, Ordering::Relaxed);
        if !on {
            drop(self.take());
        }
    }

    /// The cause of the changes to come; what it means is the owner's.
    pub fn set_cause(&self, cause: u32) {
        self.noted().cause = cause;
    }

    /// How many changes are noted.
    pub fn len(&self) -> usize {
        self.noted().changes.len()
    }

    /// Whether no change is noted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The point until now, for [`ChangeLog::undo_to`].
    pub fn mark(&self) -> usize {
        let mut noted = self.noted();
        noted.set.clear();
        noted.changes.len()
    }

    /// Takes out what is noted, and begins anew.
    pub fn take(&self) -> Vec<Change> {
        let mut noted = self.noted();
        noted.set.clear();
        std::mem::take(&mut noted.changes)
    }

    /// Undoes what happened since a mark: contents and their order are as they were.
    pub fn undo_to(&self, mark: usize) {
        let undone = {
            let mut noted = self.noted();
            noted.set.clear();
            let mark = mark.min(noted.changes.len());
            noted.changes.split_off(mark)
        };
        for change in undone.into_iter().rev() {
            match change.kind {
                ChangeKind::Added { space, atom } => space.write(|space| drop(space.take(&atom))),
                ChangeKind::Removed { space, atom, number } => space.write(|space| space.restore(&atom, number)),
                ChangeKind::Set { state, before } => drop(state.replace(before)),
            }
        }
    }

    pub(crate) fn note(&self, kind: ChangeKind) {
        let mut noted = self.noted();
        if let ChangeKind::Set { state, .. } = &kind
            && !noted.set.insert(state.serial())
        {
            return;
        }
        let cause = noted.cause;
        noted.changes.push(Change { kind, cause });
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.noted.lock().expect("no panic while changes are locked")
    }
}
