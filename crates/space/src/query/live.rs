//! Executing a plan in a live space: it and its imports are locked, unless nothing but its own rows can answer.

use super::execute::{Answers, ShouldStop};
use super::plan::{NextLook, OnlyOwnRows, Plan};
use super::view::{View, with_imports};
use crate::contents::Contents;
use crate::space::Space;
use crate::space_handle::SharedSpace;
use crate::term::{DictionaryReader, Term, WITHOUT_KEYS};
use std::sync::{Arc, RwLockReadGuard};

impl OnlyOwnRows {
    fn new(space: &SharedSpace, own: &Space, imports: &[SharedSpace]) -> Self {
        let counters = imports.iter().map(SharedSpace::change_counter);
        let counters = std::iter::once(space.imports_counter()).chain(counters);
        Self {
            space: space.clone(),
            patterns: own.contents().patterns().version(),
            others: counters.map(|counter| (Arc::clone(counter), counter.get())).collect(),
        }
    }

    fn holds(&self, space: &SharedSpace, own: &Space) -> bool {
        self.space.is_same(space)
            && self.patterns == own.contents().patterns().version()
            && self.others.iter().all(|(counter, version)| counter.get() == *version)
    }
}

impl Plan {
    /// Whether rows of these contents are compared with its patterns as they lie.
    #[inline]
    fn needs_no_dictionary(&self, contents: &Contents) -> bool {
        self.loops.is_flat
            && self.loops.steps.iter().all(|step| contents.relation_of_length(step.length).is_without_keys())
    }
}

impl SharedSpace {
    /// Finds the answers of a plan in the order in which [`SharedSpace::query`] finds them; gives how many there are, and leaves
    /// them in `answers`. `parameters` are match keys. `None` if rows alone do not answer it, or if the space cannot be locked
    /// at once: then [`SharedSpace::query`] is to be asked.
    ///
    /// `dictionary` is what the keys are terms of.
    pub fn execute(
        &self,
        plan: &mut Plan,
        parameters: &[Term],
        dictionary: &mut DictionaryReader<'_>,
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> Option<usize> {
        self.execute_by(plan, parameters, dictionary, |view, plan| {
            view.find_rows(plan, parameters, answers, should_stop)
        })
    }

    /// The same, but for the answers after so many: the search ends with the last that is wanted.
    pub fn execute_first(
        &self,
        most: usize,
        plan: &mut Plan,
        parameters: &[Term],
        dictionary: &mut DictionaryReader<'_>,
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> Option<usize> {
        self.execute_by(plan, parameters, dictionary, |view, plan| {
            view.find_first(most, plan, parameters, answers, should_stop)
        })
    }

    /// How many answers [`SharedSpace::execute`] finds. They are not kept: `answers` is room for some of them.
    pub fn count_answers(
        &self,
        plan: &mut Plan,
        parameters: &[Term],
        dictionary: &mut DictionaryReader<'_>,
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> Option<usize> {
        self.execute_by(plan, parameters, dictionary, |view, plan| view.count(plan, parameters, answers, should_stop))
    }

    /// Hands on what a plan is executed over, if rows alone answer it; gives how many answers were found.
    #[inline]
    fn execute_by(
        &self,
        plan: &mut Plan,
        parameters: &[Term],
        dictionary: &mut DictionaryReader<'_>,
        find: impl FnOnce(View<'_>, &mut Plan) -> usize,
    ) -> Option<usize> {
        // No space is waited for while a lock is held, and a dictionary is locked after spaces.
        let own = self.try_guard()?;
        if !dictionary.is_of(own.terms()) {
            return None;
        }
        if plan.only_own_rows.as_ref().is_some_and(|only| only.holds(self, &own)) {
            let terms = if plan.needs_no_dictionary(own.contents()) { &WITHOUT_KEYS } else { dictionary.terms() };
            return Some(find(View { spaces: &[own.contents()], terms }, plan));
        }
        let terms = dictionary.terms();
        let imports = self.imports_guard();
        let guards = Self::guards_of(&own, &imports)?;
        with_imports(own.contents(), guards.iter().map(|import| import.contents()), |spaces| {
            let view = View { spaces, terms };
            if !view.is_answered(plan, parameters) {
                return None;
            }
            let count = find(view, plan);
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
}
