//! Executing a plan in a live space: it and its imports are locked, unless nothing but its own rows can answer.

use super::execute::{Answers, ShouldStop};
use super::filter::Given;
use super::plan::{NextLook, OnlyOwnRows, Plan};
use super::view::{SPACES_MAX, View, with_imports};
use crate::contents::Contents;
use crate::space::Space;
use crate::space_handle::SharedSpace;
use crate::term::{DictionaryReader, Term, Terms, WITHOUT_KEYS};
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

/// What is asked of a plan.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// Which answers are wanted.
    pub asked: Asked,
    /// What differs from one execution to the next.
    pub given: Given<'a>,
    /// The spaces that patterns ask beside the first, in the order of their numbers.
    pub others: &'a [SharedSpace],
    /// Says whether the caller has given up.
    pub should_stop: ShouldStop<'a>,
}

/// Which answers are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// All of them.
    All,
    /// All of them, which may be left [grouped](Answers::groups).
    Grouped,
    /// The first, up to this many: the search ends with the last that is wanted.
    First(usize),
    /// None: only their number is wanted.
    Number,
}

impl<'a> Question<'a> {
    /// Asks one space for all answers of a plan without filters.
    pub fn new(parameters: &'a [Term], should_stop: ShouldStop<'a>) -> Self {
        Self { asked: Asked::All, given: parameters.into(), others: &[], should_stop }
    }

    fn answer(&self, view: View<'_>, plan: &mut Plan, answers: &mut Answers) -> usize {
        match self.asked {
            Asked::All => view.find_rows(plan, self.given, answers, self.should_stop),
            Asked::Grouped => {
                answers.may_be_grouped(true);
                let count = view.find_rows(plan, self.given, answers, self.should_stop);
                answers.may_be_grouped(false);
                count
            }
            Asked::First(most) => view.find_first(most, plan, self.given, answers, self.should_stop),
            Asked::Number => view.count(plan, self.given, answers, self.should_stop),
        }
    }
}

impl SharedSpace {
    /// Finds the answers of a plan in the order in which [`SharedSpace::query`] finds them; gives how many there are, and leaves
    /// them in `answers`, unless only their number is wanted. `None` if rows alone do not answer it, or if a space cannot be locked
    /// at once: then [`SharedSpace::query`] is to be asked.
    ///
    /// `dictionary` is what the keys are terms of.
    #[inline]
    pub fn execute(
        &self,
        plan: &mut Plan,
        question: &Question<'_>,
        dictionary: &mut DictionaryReader<'_>,
        answers: &mut Answers,
    ) -> Option<usize> {
        // No space is waited for while a lock is held, and a dictionary is locked after spaces.
        let own = self.try_guard()?;
        if !dictionary.is_of(own.terms()) {
            return None;
        }
        if !question.others.is_empty() {
            return self.execute_in_several(&own, plan, question, dictionary.terms(), answers);
        }
        if plan.only_own_rows.as_ref().is_some_and(|only| only.holds(self, &own)) {
            let terms = if plan.needs_no_dictionary(own.contents()) { &WITHOUT_KEYS } else { dictionary.terms() };
            return Some(question.answer(View { spaces: &[own.contents()], others: &[], terms }, plan, answers));
        }
        let terms = dictionary.terms();
        let imports = self.imports_guard();
        let guards = Self::guards_of(&own, &imports)?;
        with_imports(own.contents(), guards.iter().map(|import| import.contents()), |spaces| {
            let view = View { spaces, others: &[], terms };
            if !view.is_answered(plan, question.given.parameters) {
                return None;
            }
            let count = question.answer(view, plan, answers);
            // What held until now may hold again.
            if plan.only_own_rows.take().is_some() || plan.next_look == NextLook::Now {
                let others = View { spaces: &spaces[1..], others: &[], terms };
                let is_own = !view.may_match_others(plan, None) && !others.may_answer(plan);
                plan.only_own_rows = is_own.then(|| Box::new(OnlyOwnRows::new(self, &own, &imports)));
                plan.next_look = NextLook::Never;
            } else if plan.next_look == NextLook::Later {
                plan.next_look = NextLook::Now;
            }
            Some(count)
        })
    }

    /// Executes the plan if patterns ask other spaces, too.
    fn execute_in_several(
        &self,
        own: &Space,
        plan: &mut Plan,
        question: &Question<'_>,
        terms: &Terms,
        answers: &mut Answers,
    ) -> Option<usize> {
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
        view.is_answered(plan, question.given.parameters).then(|| question.answer(view, plan, answers))
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
