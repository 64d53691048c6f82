//! What states held before they were changed: see `changed_states.rs`.

use space::{Atom, SharedState};

/// So many contents are noted before any is forgotten.
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

    /// Whether a machine begins or ends to work.
    pub(super) fn want(&mut self, is_wanted: bool) {
        self.is_wanted = is_wanted;
        self.noted.clear();
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
