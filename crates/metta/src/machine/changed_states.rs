//! States that are changed while a choice among rules is left.
//!
//! 1. Two states are equal if their contents are. The interpreter compares the arguments of a call with the heads of all its
//!    rules when the call is made; here a rule is compared when it is tried.
//! 2. So what a state held before it was changed is noted while there are choices, and a choice of rules remembers how much was
//!    noted when it was made.
//! 3. If more has been noted when it is taken up, and its rules compare values, the next rule is matched as the specification
//!    has it, the states holding what they held then.
//! 4. If an evaluation is a part of another one, it also notes what states held before it for that one.
//! 5. Of what was noted since a choice only the first content of each state matters: the rest is forgotten when there is
//!    twice as much as the last time.

use super::code::Group;
use super::control::choices::{ChoiceKind, Choices};
use super::noted_states::{ChangedStates, NOTED_MIN, Outer};
use rustc_hash::FxHashSet;
use space::{Atom, Grounded, SharedState, Variable, distinct_open_parts};

/// How many parts of the head of a rule are looked at.
const PARTS_MAX: usize = 1 << 10;

/// Whether matching the heads of rules may compare two values of a call: a variable occurs twice, or a state.
pub(super) fn compare_values<'a>(heads: impl Iterator<Item = &'a [Atom]>) -> bool {
    let mut seen: Vec<&Variable> = Vec::new();
    for head in heads {
        seen.clear();
        for (number, part) in head.iter().flat_map(distinct_open_parts).enumerate() {
            match part {
                // In what is longer a part may stand twice that is looked into once.
                _ if number >= PARTS_MAX => return true,
                Atom::Grounded(Grounded::State(_)) => return true,
                Atom::Variable(variable) if seen.contains(&variable) => return true,
                Atom::Variable(variable) => seen.push(variable),
                _ => {}
            }
        }
    }
    false
}

impl Choices {
    /// Notes what a state holds that is to be changed, if a choice may ask for it.
    pub(super) fn note_state(&mut self, state: &SharedState) {
        if self.stack.is_empty() {
            return self.changed_states.clear();
        }
        self.changed_states.note(state);
        if self.changed_states.len() > self.changed_states.most {
            self.forget_states();
        }
    }

    /// Keeps of what was noted since each choice the first content of each state.
    #[cold]
    fn forget_states(&mut self) {
        let old = std::mem::take(&mut self.changed_states.noted);
        let mut kept: Vec<(SharedState, Atom)> = Vec::new();
        let mut seen = FxHashSet::default();
        let choices = self.stack.iter_mut().filter_map(|choice| match &mut choice.kind {
            ChoiceKind::Rules { noted, .. } => Some(noted),
            _ => None,
        });
        let mut choices = choices.peekable();
        let mut is_needed = false;
        for (place, (state, content)) in old.into_iter().enumerate() {
            while let Some(noted) = choices.next_if(|noted| **noted as usize <= place) {
                *noted = kept.len() as u32;
                seen.clear();
                is_needed = true;
            }
            if is_needed && seen.insert(state.serial()) {
                kept.push((state, content));
            }
        }
        choices.for_each(|noted| *noted = kept.len() as u32);
        self.changed_states.most = (2 * kept.len()).max(NOTED_MIN);
        self.changed_states.noted = kept;
    }

    /// Whether a rule of a group is to be matched with what states held when `noted` contents were noted.
    #[inline]
    pub(super) fn is_matched_as_it_was(&self, group: &Group, noted: u32) -> bool {
        self.changed_states.len() > noted as usize && group.compares_values
    }

    /// Takes over what native functions have changed, for an evaluation and the one that it is a part of.
    pub(super) fn take_changed_states(&mut self, changed: &mut ChangedStates, outer: &mut Outer) {
        for (state, content) in changed.noted.drain(..) {
            outer.note_content(&state, &content);
            if !self.stack.is_empty() {
                self.changed_states.noted.push((state, content));
            }
        }
    }
}
