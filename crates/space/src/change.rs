//! What changed, in order: the record that a commit keeps, and that a rollback undoes.
//!
//! A [`ChangeLog`] is shared by the spaces and states of a run. While it counts, it knows how much was added and removed, in
//! which spaces, and which states were set; while it records, it notes every change with what it takes to undo it. A
//! state that is set again and again is noted once between two marks.

use crate::atom::Atom;
use crate::grounded::SharedState;
use crate::space_handle::SharedSpace;
use rustc_hash::FxHashSet;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// How many changes are kept as a sample where they are only counted.
pub const SAMPLE_MAX: usize = 16;

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
        space: SharedSpace,
        /// The atom.
        atom: Atom,
    },
    /// A copy of an atom was removed.
    Removed {
        /// Where.
        space: SharedSpace,
        /// The atom as it was stored.
        atom: Atom,
        /// Its insertion number.
        number: u64,
    },
    /// A state was set.
    Set {
        /// The state.
        state: SharedState,
        /// Its content before.
        before: Atom,
    },
}

/// How much a [`ChangeLog`] keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeDetail {
    /// Nothing.
    Nothing,
    /// Counts, a sample, the spaces that changed and the states that were set.
    Counts,
    /// Every change.
    Changes,
}

/// What a [`ChangeLog`] has kept.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Every change, in order; where they are only counted, those of states.
    pub changes: Vec<Change>,
    /// The first changes, where they are only counted.
    pub sample: Vec<Change>,
    /// How many copies of atoms were added.
    pub added: u64,
    /// How many were removed.
    pub removed: u64,
    /// The spaces that changed.
    pub spaces: Vec<SharedSpace>,
}

impl Changes {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.added == 0 && self.removed == 0 && self.changes.is_empty()
    }
}

/// A point to which a [`ChangeLog`] can go back.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChangeMark {
    changes: usize,
    sample: usize,
    added: u64,
    removed: u64,
}

/// Notes the changes of the spaces and states that share it.
#[derive(Clone, Debug, Default)]
pub struct ChangeLog(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    keeps: AtomicU8,
    /// Whether changes are only counted and the sample is full: then a change is an addition and needs no lock.
    is_sampled: AtomicBool,
    added: AtomicU64,
    removed: AtomicU64,
    /// How often anything changed, noted or not, undone or not.
    stamp: AtomicU64,
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    kept: Changes,
    cause: u32,
    /// The states set since the last mark, by serial number.
    set: FxHashSet<u64>,
}

impl ChangeLog {
    /// Another number whenever a space or state has changed since the last look, by undoing changes too.
    pub fn stamp(&self) -> u64 {
        self.0.stamp.load(Ordering::Relaxed)
    }

    /// Counts a change.
    pub(crate) fn count(&self) {
        self.0.stamp.fetch_add(1, Ordering::Relaxed);
    }

    /// How much is kept.
    pub fn keeps(&self) -> ChangeDetail {
        match self.0.keeps.load(Ordering::Relaxed) {
            0 => ChangeDetail::Nothing,
            1 => ChangeDetail::Counts,
            _ => ChangeDetail::Changes,
        }
    }

    /// Whether anything is kept.
    pub(crate) fn is_on(&self) -> bool {
        self.0.keeps.load(Ordering::Relaxed) != 0
    }

    /// Keeps this much from now on; what was kept is forgotten if that is nothing.
    pub fn keep(&self, keeps: ChangeDetail) {
        self.0.keeps.store(keeps as u8, Ordering::Relaxed);
        if keeps == ChangeDetail::Nothing {
            drop(self.take());
        }
    }

    /// The cause of the changes to come; what it means is the owner's.
    pub fn set_cause(&self, cause: u32) {
        self.noted().cause = cause;
    }

    /// The point until now, for [`ChangeLog::undo_to`]. Every change must be kept from here on.
    pub fn mark(&self) -> ChangeMark {
        let mut noted = self.noted();
        noted.set.clear();
        let Changes { changes, sample, .. } = &noted.kept;
        let [added, removed] = self.counts(|count| count.load(Ordering::Relaxed));
        ChangeMark { changes: changes.len(), sample: sample.len(), added, removed }
    }

    /// Takes out what is kept, and begins anew.
    pub fn take(&self) -> Changes {
        let taken = {
            let mut noted = self.noted();
            noted.set.clear();
            self.0.is_sampled.store(false, Ordering::Relaxed);
            let [added, removed] = self.counts(|count| count.swap(0, Ordering::Relaxed));
            Changes { added, removed, ..std::mem::take(&mut noted.kept) }
        };
        for space in &taken.spaces {
            space.note_change(false);
        }
        taken
    }

    /// Undoes what happened since a mark: contents and their order are as they were.
    pub fn undo_to(&self, mark: ChangeMark) {
        let undone = {
            let mut noted = self.noted();
            noted.set.clear();
            self.0.added.store(mark.added, Ordering::Relaxed);
            self.0.removed.store(mark.removed, Ordering::Relaxed);
            let kept = &mut noted.kept;
            kept.sample.truncate(mark.sample);
            let from = mark.changes.min(kept.changes.len());
            kept.changes.split_off(from)
        };
        for change in undone.into_iter().rev() {
            match change.kind {
                ChangeKind::Added { space, atom } => {
                    space.write(|space| drop(space.take(&atom)));
                    space.count_change(&atom);
                }
                ChangeKind::Removed { space, atom, number } => {
                    space.write(|space| space.restore(&atom, number));
                    space.count_change(&atom);
                }
                ChangeKind::Set { state, before } => drop(state.replace(before)),
            }
        }
    }

    /// Forgets the changes since a mark and goes on counting: they are not to be undone any more.
    pub fn count_from(&self, mark: ChangeMark) {
        let forgotten = {
            let mut noted = self.noted();
            noted.set.clear();
            let from = mark.changes.min(noted.kept.changes.len());
            let since = noted.kept.changes.split_off(from);
            let (states, atoms): (Vec<Change>, Vec<Change>) =
                since.into_iter().partition(|change| matches!(change.kind, ChangeKind::Set { .. }));
            noted.kept.changes.extend(states);
            let room = SAMPLE_MAX.saturating_sub(noted.kept.sample.len());
            noted.kept.sample.extend(atoms.iter().take(room).cloned());
            atoms
        };
        self.0.keeps.store(ChangeDetail::Counts as u8, Ordering::Relaxed);
        drop(forgotten);
    }

    pub(crate) fn note_added(&self, space: &SharedSpace, atom: &Atom) {
        self.note_added_with(space, || atom.clone());
    }

    /// The same with an atom that is made when it is needed.
    pub(crate) fn note_added_with(&self, space: &SharedSpace, atom: impl FnOnce() -> Atom) {
        self.0.added.fetch_add(1, Ordering::Relaxed);
        self.note_atom(space, || ChangeKind::Added { space: space.clone(), atom: atom() });
    }

    pub(crate) fn note_removed(&self, space: &SharedSpace, atom: Atom, number: u64) {
        self.0.removed.fetch_add(1, Ordering::Relaxed);
        self.note_atom(space, || ChangeKind::Removed { space: space.clone(), atom, number });
    }

    fn note_atom(&self, space: &SharedSpace, kind: impl FnOnce() -> ChangeKind) {
        let is_known = space.note_change(true);
        if is_known && self.0.is_sampled.load(Ordering::Relaxed) && self.keeps() == ChangeDetail::Counts {
            return;
        }
        // Before the log is locked: to make the atom may lock the space, and who adds many atoms locks the log with the space locked.
        let kind = kind();
        let mut noted = self.noted();
        let Noted { kept, cause, .. } = &mut *noted;
        if !is_known {
            kept.spaces.push(space.clone());
        }
        if self.keeps() == ChangeDetail::Changes {
            kept.changes.push(Change { kind, cause: *cause });
        } else if kept.sample.len() < SAMPLE_MAX {
            kept.sample.push(Change { kind, cause: *cause });
        } else {
            self.0.is_sampled.store(true, Ordering::Relaxed);
        }
    }

    fn counts(&self, read: impl Fn(&AtomicU64) -> u64) -> [u64; 2] {
        [read(&self.0.added), read(&self.0.removed)]
    }

    pub(crate) fn note_set(&self, state: &SharedState, before: Atom) {
        let mut noted = self.noted();
        if noted.set.insert(state.serial()) {
            let cause = noted.cause;
            noted.kept.changes.push(Change { kind: ChangeKind::Set { state: state.clone(), before }, cause });
        }
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.noted.lock().expect("no panic while changes are locked")
    }
}
