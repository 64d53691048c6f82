//! What states held before they were changed: see `changed_states.rs`.

use rustc_hash::FxHashSet;
use space::{Atom, SharedState};

/// How many contents are noted before any is forgotten.
pub(super) const NOTED_MIN: usize = 256;

/// What states held before they were changed.
#[derive(Default)]
pub(crate) struct ChangedStates {
    pub(super) noted: Vec<(SharedState, Atom)>,
    /// How much may be noted until some of it is forgotten.
    pub(super) most: usize,
    /// Whether a machine is at work that takes it over.
    pub(super) is_wanted: bool,
}

impl ChangedStates {
    /// How much was noted so far.
    pub(super) fn len(&self) -> usize {
        self.noted.len()
    }

    /// None yet, for a machine that begins to work.
    pub(super) fn wanted() -> Self {
        Self { is_wanted: true, ..Self::default() }
    }

    /// Notes what a state holds that a native function is to change, if a machine takes that over.
    pub(crate) fn note_for_machine(&mut self, state: &SharedState) {
        if self.is_wanted {
            self.note(state);
        }
    }

    /// Notes what a state holds that is to be changed.
    pub(super) fn note(&mut self, state: &SharedState) {
        self.noted.push((state.clone(), state.value()));
    }

    pub(super) fn clear(&mut self) {
        self.noted.clear();
        self.most = NOTED_MIN;
    }

    /// Exchanges the contents of states with what was noted from a place on, and back when it is done again.
    pub(super) fn exchange(&mut self, from: usize, newest_first: bool) {
        let mut exchange = |(state, content): &mut (SharedState, Atom)| {
            *content = state.replace(std::mem::replace(content, Atom::unit()));
        };
        match newest_first {
            true => self.noted[from..].iter_mut().rev().for_each(&mut exchange),
            false => self.noted[from..].iter_mut().for_each(&mut exchange),
        }
    }
}

/// What an evaluation keeps for the one that it is a part of, as the source of a module is a part of the form that imports it.
pub(super) struct Outer {
    /// What was noted for the outer evaluation; nothing is wanted if there is none.
    states: ChangedStates,
    /// The states that changed since, by serial number: to the outer evaluation all of this is one step, so that only the first
    /// content of each matters.
    seen: FxHashSet<u64>,
}

impl Outer {
    pub(super) fn new(states: ChangedStates) -> Self {
        Self { states, seen: FxHashSet::default() }
    }

    /// What was noted for the outer evaluation, now that this one is over.
    pub(super) fn into_states(self) -> ChangedStates {
        self.states
    }

    /// Notes what a state holds that is to be changed.
    pub(super) fn note(&mut self, state: &SharedState) {
        if self.states.is_wanted && self.seen.insert(state.serial()) {
            self.states.note(state);
        }
    }

    /// Notes what a state held before it was changed.
    pub(super) fn note_content(&mut self, state: &SharedState, content: &Atom) {
        if self.states.is_wanted && self.seen.insert(state.serial()) {
            self.states.noted.push((state.clone(), content.clone()));
        }
    }
}
