//! When what the machine knows of rules and types is out of date.
//!
//! Rules and types are counted by the spaces that hold them ([`super::classify`]); the machine looks at the counts after everything that may
//! have changed them.

use super::classes::{CHANGER, NESTED, RULE, SHAPE, WHOLE_TYPE};
use super::code::{Code, Kind, Slot};
use super::values::Ceiling;
use super::{Machine, Running};
use crate::session::Session;
use region::Ref;
use space::SharedSpace;

impl Running<'_> {
    /// Looks whether rules or types have changed.
    pub(super) fn refresh(&mut self) {
        self.m.choices.take_changed_states(&mut self.evaluator.changed_states.borrow_mut(), &mut self.outer);
        let tabling = self.session.tables.version();
        let of_rules: u64 = self.m.code.watched_changes.iter().map(|counts| counts.sum_from(RULE)).sum();
        let changes = of_rules + self.m.code.spaces_asked.changes();
        if self.m.code.changes_seen == Some(changes) && self.m.code.tabling == tabling {
            return;
        }
        self.m.code.changes_seen = Some(changes);
        let sums = self.m.code.changes_by_class();
        if sums[RULE..] == self.m.code.class_counts[RULE..] && self.m.code.tabling == tabling {
            return;
        }
        self.m.code.tabling = tabling;
        let is_shape = sums[SHAPE..] != self.m.code.class_counts[SHAPE..];
        self.m.code.class_counts = sums;
        if is_shape {
            let space = self.space.clone();
            self.m.code.watch(&space, &self.m.values.ceiling);
            if self.m.code.spaces_asked.is_complete() {
                self.m.code.class_counts = self.m.code.changes_by_class();
            }
        }
        // What is added to a space that is asked changes rules, though it is a fact.
        let asks = !self.m.code.spaces_asked.is_empty();
        if !self.m.code.is_exact && (asks || has_any(&self.m.code, self.session, CHANGER)) {
            self.m.code.is_exact = true;
        }
        self.m.types.has_whole_types = self.m.code.is_exact || has_any(&self.m.code, self.session, WHOLE_TYPE);
        self.m.types.has_types = asks || has_any(&self.m.code, self.session, SHAPE);
        self.m.next_version(is_shape);
    }

    /// Whether a head has rules for `count` arguments.
    pub(super) fn has_rules(&mut self, head: Ref, count: Slot) -> bool {
        let known = self.m.code.known_function(head, count, 0);
        if let Some(known) = known.filter(|known| known.version == self.m.code.version) {
            return !matches!(known.kind, Kind::Constructor);
        }
        if let Some(&known) = self.m.rule_cache.ruled.get(&(head, count)) {
            return known;
        }
        let has_rules = self.rules_of(head, count).is_none_or(|rules| !rules.is_empty());
        self.m.rule_cache.ruled.insert((head, count), has_rules);
        has_rules
    }
}

impl Code {
    /// The spaces in which rules and types are looked up.
    pub(super) fn watch(&mut self, space: &SharedSpace, ceiling: &Ceiling) {
        self.watched = std::iter::once(space.clone()).chain(space.imports()).collect();
        self.watched_changes = self.watched.iter().map(SharedSpace::change_counts).collect();
        self.spaces_asked.search(&self.watched, &|| ceiling.is_passed());
        self.class_counts = [u64::MAX; space::CLASSES];
        self.changes_seen = None;
    }

    /// How often atoms of each class were added to what is watched, or removed; any change of a space that is asked may be one of types.
    fn changes_by_class(&self) -> [u64; space::CLASSES] {
        let mut sums = [0; space::CLASSES];
        for counts in &self.watched_changes {
            for (sum, count) in sums.iter_mut().zip(counts.by_class()) {
                *sum += count;
            }
        }
        sums[NESTED] += self.spaces_asked.changes();
        sums
    }
}

impl Machine {
    /// From now on rules may change while a form is evaluated.
    #[cold]
    pub(super) fn be_exact(&mut self) {
        self.code.is_exact = true;
        self.next_version(true);
    }

    /// Rules have changed; or types, too.
    pub(super) fn next_version(&mut self, is_shape: bool) {
        self.code.version += 1;
        self.code.given_up.clear();
        self.rule_cache.forget(is_shape);
        let kept = self.code.data.iter_mut().filter_map(|data| data.typed.as_deref_mut());
        if self.types.forget(is_shape, kept) {
            self.values.heap.clear_notes();
        }
        self.values.normal.advance(self.types.notes.normal());
        if is_shape {
            self.code.type_epoch += 1;
        }
    }
}

/// Whether something of a class was ever in the spaces in which rules and types are looked up, the library apart.
fn has_any(code: &Code, session: &Session, class: usize) -> bool {
    let library = session.program.library_space();
    code.watched
        .iter()
        .chain(code.spaces_asked.spaces())
        .any(|space| !space.is_same(&library) && space.changes()[class] > 0)
}
