//! Executing a plan in a live space: it and its imports are locked, unless nothing but its own rows can answer.

use super::execute::{Answers, ShouldStop, View, with_imports};
use super::plan::{NextLook, OnlyOwnRows, Plan};
use crate::row::Row;
use crate::space::Space;
use crate::space_handle::SharedSpace;
use crate::term::{SharedTerms, Term, Terms};
use std::sync::{Arc, RwLockReadGuard};

impl OnlyOwnRows {
    fn new(space: &SharedSpace, own: &Space, imports: &[SharedSpace]) -> Self {
        Self {
            space: space.clone(),
            patterns: own.contents().patterns().version(),
            list: space.imports_version(),
            imports: imports.iter().map(|import| (import.clone(), import.version())).collect(),
        }
    }

    fn holds(&self, space: &SharedSpace, own: &Space) -> bool {
        self.space.is_same(space)
            && self.patterns == own.contents().patterns().version()
            && self.list == space.imports_version()
            && self.imports.iter().all(|(import, version)| import.version() == *version)
    }
}

impl SharedSpace {
    /// Finds the answers of a plan in the order in which [`SharedSpace::query`] finds them; gives how many there are, and leaves
    /// them in `answers`. `parameters` are match keys. `None` if rows alone do not answer it, or if the space cannot be locked
    /// at once: then [`SharedSpace::query`] is to be asked.
    ///
    /// `dictionary` is what the keys are terms of, and the same locked.
    pub fn execute(
        &self,
        plan: &mut Plan,
        parameters: &[Term],
        dictionary: (&SharedTerms, &Terms),
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> Option<usize> {
        let (shared, terms) = dictionary;
        // Nothing is waited for while a lock is held.
        let own = self.try_guard()?;
        if !Arc::ptr_eq(own.terms(), shared) {
            return None;
        }
        if plan.only_own_rows.as_ref().is_some_and(|only| only.holds(self, &own)) {
            return Some(View { spaces: &[own.contents()], terms }.find_rows(plan, parameters, answers, should_stop));
        }
        let imports = self.imports_guard();
        let guards = Self::guards_of(&own, &imports)?;
        with_imports(own.contents(), guards.iter().map(|import| import.contents()), |spaces| {
            let view = View { spaces, terms };
            let count = view.execute(plan, parameters, answers, should_stop)?;
            // What held until now may hold again.
            if plan.only_own_rows.take().is_some() || plan.next_look == NextLook::Now {
                let others = View { spaces: &spaces[1..], terms };
                let is_own = !view.may_match_others(plan, None) && !others.may_answer(plan);
                plan.only_own_rows = is_own.then(|| Box::new(OnlyOwnRows::new(self, &own, &imports)));
                plan.next_look = NextLook::Never;
            } else if plan.next_look == NextLook::Later {
                plan.next_look = NextLook::Now;
            }
            Some(count)
        })
    }

    /// Hands on the space, those it imports and their dictionary, all locked; `None` if one cannot be locked at once, or has
    /// a dictionary of its own.
    pub(crate) fn with_locked_view<T>(&self, work: impl FnOnce(View<'_>) -> Option<T>) -> Option<T> {
        let imports = self.imports_guard();
        let own = self.try_guard()?;
        let guards = Self::guards_of(&own, &imports)?;
        let terms = own.terms().try_read().ok()?;
        with_imports(own.contents(), guards.iter().map(|import| import.contents()), |spaces| {
            work(View { spaces, terms: &terms })
        })
    }

    fn guards_of<'a>(own: &Space, imports: &'a [Self]) -> Option<Vec<RwLockReadGuard<'a, Space>>> {
        let guard = |import: &'a Self| import.try_guard().filter(|guard| Arc::ptr_eq(guard.terms(), own.terms()));
        imports.iter().map(guard).collect()
    }

    /// Adds an expression of which `intern` makes the row of terms; says whether it was one. `class` is what its class of
    /// changes is.
    pub fn add_row(
        &self,
        class: usize,
        row: &mut Vec<Term>,
        intern: impl FnOnce(&mut Terms, &mut Vec<Term>) -> bool,
    ) -> bool {
        debug_assert!(!self.is_frozen(), "a frozen space is changed");
        let is_row = self.write(|space| {
            let is_row = space.add_row(row, intern);
            if is_row {
                self.note_row(Row::Expression(row), class as u8, None);
            }
            is_row
        });
        if is_row {
            self.count_class(class);
        }
        is_row
    }
}
