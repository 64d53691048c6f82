//! Executing a plan in a live space: it and its imports are locked, unless nothing but its own rows can answer.

use super::executor::Executor;
use super::plan::{NextLook, OnlyOwnRows, Plan};
use super::question::{Outcome, Question};
use super::view::{SPACES_MAX, View, with_imports};
use crate::contents::Contents;
use crate::space::Space;
use crate::space_handle::SharedSpace;
use crate::term::{DictionaryReader, Terms, WITHOUT_KEYS};
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
            && self.filters.is_empty()
            && self.loops.steps.iter().all(|step| contents.relation_of_length(step.length).is_without_keys())
    }
}

impl Question<'_> {
    fn answer(&self, view: View<'_>, plan: &mut Plan, executor: &mut Executor) -> Outcome {
        executor.begin(view, (self.asked, self.given), self.should_stop).answer(plan)
    }
}

impl SharedSpace {
    /// Finds the answers of a plan in the order in which [`SharedSpace::query`] finds them, and leaves them with the executor, unless only
    /// their number is wanted. `None` if rows alone do not answer it, or if a space cannot be locked at once: then
    /// [`SharedSpace::query`] is to be asked.
    ///
    /// `dictionary` is what the keys are terms of.
    #[inline]
    pub fn execute(
        &self,
        plan: &mut Plan,
        question: &Question<'_>,
        dictionary: &mut DictionaryReader<'_>,
        executor: &mut Executor,
    ) -> Option<Outcome> {
        // No space is waited for while a lock is held, and a dictionary is locked after spaces.
        let own = self.try_guard()?;
        if !dictionary.is_of(own.terms()) {
            return None;
        }
        if !question.others.is_empty() {
            return self.execute_in_several(&own, plan, question, dictionary.terms(), executor);
        }
        if plan.only_own_rows.as_ref().is_some_and(|only| only.holds(self, &own)) {
            let terms = if plan.needs_no_dictionary(own.contents()) { &WITHOUT_KEYS } else { dictionary.terms() };
            return Some(question.answer(View { spaces: &[own.contents()], others: &[], terms }, plan, executor));
        }
        let terms = dictionary.terms();
        let imports = self.imports_guard();
        let guards = Self::guards_of(&own, &imports)?;
        with_imports(own.contents(), guards.iter().map(|import| import.contents()), |spaces| {
            let view = View { spaces, others: &[], terms };
            if !view.is_answered(plan, question.given.parameters) {
                return None;
            }
            let outcome = question.answer(view, plan, executor);
            // What held until now may hold again.
            if plan.only_own_rows.take().is_some() || plan.next_look == NextLook::Now {
                let others = View { spaces: &spaces[1..], others: &[], terms };
                let is_own = !view.may_match_others(plan, None) && !others.may_answer(plan);
                plan.only_own_rows = is_own.then(|| Box::new(OnlyOwnRows::new(self, &own, &imports)));
                plan.next_look = NextLook::Never;
            } else if plan.next_look == NextLook::Later {
                plan.next_look = NextLook::Now;
            }
            Some(outcome)
        })
    }

    /// Executes the plan if patterns ask other spaces, too.
    fn execute_in_several(
        &self,
        own: &Space,
        plan: &mut Plan,
        question: &Question<'_>,
        terms: &Terms,
        executor: &mut Executor,
    ) -> Option<Outcome> {
        let imports: Vec<_> = std::iter::once(self).chain(question.others).map(SharedSpace::imports_guard).collect();
        let guards = question
            .others
            .iter()
            .map(|other| other.try_guard().filter(|guard| Arc::ptr_eq(guard.terms(), own.terms())));
        let guards: Vec<_> = guards.collect::<Option<_>>()?;
        let of_imports: Vec<Vec<_>> =
            imports.iter().map(|imports| Self::guards_of(own, imports)).collect::<Option<_>>()?;
        let firsts = std::iter::once(own.contents()).chain(guards.iter().map(|guard| guard.contents()));
        let spaces: Vec<Vec<&Contents>> = firsts
            .zip(&of_imports)
            .map(|(first, imports)| {
                std::iter::once(first).chain(imports.iter().map(|import| import.contents())).collect()
            })
            .collect();
        let [first, others @ ..] = spaces.as_slice() else { return None };
        if spaces.iter().any(|spaces| spaces.len() > SPACES_MAX) {
            return None;
        }
        let view = View { spaces: first, others, terms };
        view.is_answered(plan, question.given.parameters).then(|| question.answer(view, plan, executor))
    }

    /// Hands on the space, those it imports and their dictionary, all locked; `None` if one cannot be locked at once, or has
    /// a dictionary of its own.
    pub(crate) fn with_locked_view<T>(&self, work: impl FnOnce(View<'_>) -> Option<T>) -> Option<T> {
        let imports = self.imports_guard();
        let own = self.try_guard()?;
        let guards = Self::guards_of(&own, &imports)?;
        let terms = own.terms().try_read().ok()?;
        with_imports(own.contents(), guards.iter().map(|import| import.contents()), |spaces| {
            work(View { spaces, others: &[], terms: &terms })
        })
    }

    fn guards_of<'a>(own: &Space, imports: &'a [Self]) -> Option<Vec<RwLockReadGuard<'a, Space>>> {
        let guard = |import: &'a Self| import.try_guard().filter(|guard| Arc::ptr_eq(guard.terms(), own.terms()));
        imports.iter().map(guard).collect()
    }
}
