//! The one way in which a space is asked: pattern, plan, execute, project.
//!
//! 1. A [pattern](pattern) is its parts in the order in which it is written: the opening of an expression, the match key of what
//!    must be there, a parameter, or a variable.
//! 2. A [`Plan`] says for each pattern what is known of its rows when its turn comes. It depends on the query alone, so
//!    somebody who asks again keeps it; what differs from time to time are its parameters.
//! 3. It is [executed](execute) over a view: a space and its imports, live and locked, or a snapshot. The patterns of a
//!    conjunction are answered one after the other, each for all answers so far: this is the order of [`SharedSpace::query`].
//!    For each answer the shortest index among the paths whose keys are known is walked, as in [`Relation`](crate::Relation).
//! 4. Where each column is known or the place of a variable of its own, columns are taken [as they lie](project).
//! 5. If an atom that is not a row may match, in the space or in one that it imports, rows do not answer the query: the patterns from the
//!    first such one on are answered by unification ([`crate::contents`]), whose candidates the same planning narrows.
//!
//! What was found out about the imports and about atoms that are not rows is kept with the plan, and holds until they change.

mod execute;
mod pattern;
mod plan;
mod project;

use crate::atom::Atom;
use crate::bindings::Solution;
use crate::change::Row;
use crate::contents::Contents;
use crate::relation::Path;
use crate::shared_space::SharedSpace;
use crate::space::Space;
use crate::term::{SharedTerms, Term, Terms};
use pattern::Variables;
use plan::NextLook;
use std::cell::Cell;
use std::sync::{Arc, RwLockReadGuard};

pub(crate) use execute::View;
pub use execute::{Answers, ShouldStop};
pub(crate) use pattern::extent;
pub use pattern::{NO_TERM, PatternPart};
pub use plan::Plan;

/// Spaces with more imports are asked by unification.
const SPACES_MAX: usize = 64;

thread_local! {
    /// Room for the queries of atoms of this thread; a query takes it out.
    static ROOM: Cell<Option<Box<(Plan, Answers)>>> = const { Cell::new(None) };
}

/// The keys by which indexes find rows that may match an expression, the most selective guess first; `None` if a rigid part was
/// never interned, so that no row matches.
pub(crate) fn known_keys(query: &crate::Expression, terms: &Terms) -> Option<Vec<(Path, Term)>> {
    let mut room = ROOM.take().unwrap_or_default();
    let plan = &mut room.0;
    plan.clear();
    let is_put = plan.patterns.put_indexable(query, terms) && plan.make();
    let keys = is_put.then(|| plan.known.iter().map(|&(path, known)| (path, known.key(&[], &[], terms))).collect());
    ROOM.set(Some(room));
    keys
}

impl View<'_> {
    /// Whether rows alone match a pattern.
    pub(crate) fn are_rows(self, pattern: &Atom) -> bool {
        let mut room = ROOM.take().unwrap_or_default();
        let plan = &mut room.0;
        plan.clear();
        let is_put = plan.patterns.put(pattern, &mut Variables::default(), self.terms);
        let are_rows = is_put && plan.make() && !self.may_match_others(plan, None);
        ROOM.set(Some(room));
        are_rows
    }

    /// The solutions of a query that rows answer, in the order of [`SharedSpace::query`]; `None` if rows do not answer it. There is
    /// nothing inside if the search was given up.
    pub(crate) fn solutions(self, query: &Atom, should_stop: ShouldStop<'_>) -> Option<Option<Vec<Solution>>> {
        let mut room = ROOM.take().unwrap_or_default();
        let (plan, answers) = &mut *room;
        plan.clear();
        let mut variables = Variables::default();
        let is_put = plan.patterns.put(query, &mut variables, self.terms);
        let count = if is_put { self.execute(plan, &[], answers, should_stop) } else { None };
        let solutions = count.map(|count| {
            let solution = |place: usize| {
                let answer = answers.get(place);
                let mut solution = Vec::with_capacity(answer.len());
                for (name, &term) in variables.iter().zip(answer) {
                    solution.extend(name.map(|name| (name.clone(), self.terms.atom(term).clone())));
                }
                solution
            };
            let all = (0..count).map(|place| {
                let goes_on = place % (64 * execute::ANSWERS_BETWEEN_LOOKS) != 0 || place == 0 || !should_stop();
                goes_on.then(|| solution(place))
            });
            if answers.is_stopped() { None } else { all.collect() }
        });
        answers.shrink();
        ROOM.set(Some(room));
        solutions
    }
}

/// What holds of the spaces that a plan was executed in until they change: only rows of the space itself can answer it.
pub(crate) struct OnlyOwnRows {
    space: SharedSpace,
    /// How often atoms that are not rows were added to the space or removed.
    patterns: u64,
    /// How often its list of imports has changed; and each import, with how often that has.
    list: u64,
    imports: Vec<(SharedSpace, u64)>,
}

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
        let mut room = [own.contents(); SPACES_MAX];
        let view = View { spaces: with_imports(&mut room, &guards), terms };
        let count = view.execute(plan, parameters, answers, should_stop)?;
        // What held until now may hold again.
        if plan.only_own_rows.take().is_some() || plan.next_look == NextLook::Now {
            let others = View { spaces: &view.spaces[1..], terms };
            let is_own = !view.may_match_others(plan, None) && !others.may_answer(plan);
            plan.only_own_rows = is_own.then(|| Box::new(OnlyOwnRows::new(self, &own, &imports)));
            plan.next_look = NextLook::Never;
        } else if plan.next_look == NextLook::Later {
            plan.next_look = NextLook::Now;
        }
        Some(count)
    }

    /// Hands on the space, those it imports and their dictionary, all locked; `None` if one cannot be locked at once, or has
    /// a dictionary of its own.
    pub(crate) fn with_view<T>(&self, work: impl FnOnce(View<'_>) -> Option<T>) -> Option<T> {
        let imports = self.imports_guard();
        let own = self.try_guard()?;
        let guards = Self::guards_of(&own, &imports)?;
        let terms = own.terms().try_read().ok()?;
        let mut room = [own.contents(); SPACES_MAX];
        work(View { spaces: with_imports(&mut room, &guards), terms: &terms })
    }

    fn guards_of<'a>(own: &Space, imports: &'a [Self]) -> Option<Vec<RwLockReadGuard<'a, Space>>> {
        let guard = |import: &'a Self| import.try_guard().filter(|guard| Arc::ptr_eq(guard.terms(), own.terms()));
        if imports.len() < SPACES_MAX { imports.iter().map(guard).collect() } else { None }
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
                self.note_row(Row::Expression(row), class, None);
            }
            is_row
        });
        if is_row {
            self.count_class(class);
        }
        is_row
    }
}

/// The contents of a space, which come first, and those of its imports.
fn with_imports<'a, 'b>(
    room: &'b mut [&'a Contents; SPACES_MAX],
    imports: &'a [RwLockReadGuard<'_, Space>],
) -> &'b [&'a Contents] {
    room[1..].iter_mut().zip(imports).for_each(|(place, import)| *place = import.contents());
    &room[..=imports.len()]
}
