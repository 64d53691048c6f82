//! The solutions of a query that is an atom, in a space or in a snapshot: rows answer it as far as they can, unification
//! answers the rest.
//!
//! 1. If all answers are rows, a plan is made, executed over a [`View`] and forgotten.
//! 2. Otherwise rows answer the patterns of a conjunction that stand before the first that other atoms may match.
//! 3. Each pattern that is left is unified with the atoms that may match it: those of the space, then those of each import.

use super::executor::Executor;
use super::explanation::{QueryExplanation, explanation_of};
use super::filter::Given;
use super::pattern::{Variables, conjunction};
use super::plan::Plan;
use super::question::{Asked, Outcome};
use super::unfinished::{ANSWERS_BETWEEN_LOOKS, ShouldStop};
use super::view::View;
use crate::atom::{Atom, Solution, Variable, VariableSource};
use crate::bindings::Bindings;
use crate::rewrite::variables;
use crate::term::Term;
use std::cell::Cell;

/// The answers of a query as a table: what each variable is in each of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnswerTable {
    /// The variables of the query, in the order in which they first occur.
    pub variables: Vec<Variable>,
    /// How many answers there are; a query without variables has some too.
    pub row_count: usize,
    /// The values, one answer after the other. What an answer leaves open is the variable itself.
    pub cells: Vec<Atom>,
}

impl AnswerTable {
    /// The table of the solutions of a query.
    pub fn of_solutions(query: &Atom, solutions: &[Solution]) -> Self {
        let variables = variables(query);
        let mut cells = Vec::with_capacity(variables.len() * solutions.len());
        for solution in solutions {
            cells.extend(variables.iter().map(|variable| {
                let value = solution.iter().find(|(bound, _)| bound == variable);
                value.map_or_else(|| variable.clone().into(), |(_, value)| value.clone())
            }));
        }
        Self { variables, row_count: solutions.len(), cells }
    }

    /// The values of an answer.
    ///
    /// # Panics
    /// If there is no such answer.
    pub fn row(&self, place: usize) -> &[Atom] {
        assert!(place < self.row_count, "there are {} answers", self.row_count);
        &self.cells[place * self.variables.len()..][..self.variables.len()]
    }

    /// The values of a variable, by its place.
    pub fn column(&self, place: usize) -> impl Iterator<Item = &Atom> {
        self.cells.iter().skip(place).step_by(self.variables.len().max(1))
    }
}

thread_local! {
    /// Room for the queries of atoms of this thread; a query takes it out.
    static ROOM: Cell<Option<Box<(Plan, Executor)>>> = const { Cell::new(None) };
}

/// What can be queried: a space and its imports, as they are now or as they were once.
pub(crate) trait Queried {
    /// Hands on their rows, if they can be read at once and have one dictionary.
    fn with_view<T>(&self, work: impl FnOnce(View<'_>) -> Option<T>) -> Option<T>;
    /// What one pattern finds among all atoms, in order.
    fn query_one(&self, pattern: &Atom, source: &mut VariableSource) -> Vec<Bindings>;

    /// The solutions of a query: a pattern, or a conjunction `(, p1 p2 …)` whose patterns must all match. `None` if the caller
    /// has given up.
    ///
    /// Solutions come in insertion order, for a conjunction in that of its first pattern, then its second.
    fn solutions(
        &self,
        query: &Atom,
        source: &mut VariableSource,
        should_stop: ShouldStop<'_>,
    ) -> Option<Vec<Solution>> {
        let by_rows = self.with_view(|view| view.solutions(query, should_stop));
        by_rows.unwrap_or_else(|| self.solutions_in_part(query, source, should_stop))
    }

    /// The solutions of a query if rows alone answer it; else `None`.
    fn solutions_by_rows(&self, query: &Atom) -> Option<Vec<Solution>> {
        self.with_view(|view| view.solutions(query, &|| false)).flatten()
    }

    /// The solutions of a query as a table if rows alone answer it; else `None`.
    fn table_by_rows(&self, query: &Atom) -> Option<AnswerTable> {
        self.with_view(|view| view.table(query))
    }

    /// The solutions of a query that rows do not answer whole.
    fn solutions_in_part(
        &self,
        query: &Atom,
        source: &mut VariableSource,
        should_stop: ShouldStop<'_>,
    ) -> Option<Vec<Solution>> {
        let patterns = conjunction(query).unwrap_or_default();
        if patterns.len() < 3 {
            return self.solutions_of_atoms(query, source, should_stop);
        }
        let by_rows = self.with_view(|view| {
            let first = patterns.iter().take_while(|pattern| view.are_rows(pattern)).count();
            if first < 2 {
                return None;
            }
            let asked: Vec<Atom> = query.children()?[..=first].to_vec();
            let asked = Atom::expression(asked);
            let found = view.solutions(&asked, should_stop)?;
            Some((first, found))
        });
        let Some((first, found)) = by_rows else {
            return self.solutions_of_atoms(query, source, should_stop);
        };
        let found: Vec<Bindings> = found?.into_iter().map(Bindings::from_iter).collect();
        let found = self.extend_by_atoms(found, &patterns[first..], source, should_stop)?;
        let wanted = variables(query);
        let mut solutions = Vec::with_capacity(found.len());
        for bindings in &found {
            solutions.push(bindings.solution_unless(&wanted, should_stop)?);
        }
        Some(solutions)
    }

    /// The solutions of a query, whatever the answers are: each pattern is unified with each atom that may match.
    fn solutions_of_atoms(
        &self,
        query: &Atom,
        source: &mut VariableSource,
        should_stop: ShouldStop<'_>,
    ) -> Option<Vec<Solution>> {
        let wanted = variables(query);
        let found = match conjunction(query) {
            Some(patterns) => self.extend_by_atoms(vec![Bindings::default()], patterns, source, should_stop)?,
            None => self.query_one(query, source),
        };
        let mut solutions = Vec::with_capacity(found.len());
        for bindings in &found {
            solutions.push(bindings.solution_with_names(&wanted, should_stop)?);
        }
        Some(solutions)
    }

    /// What is found for all of some patterns, given what was found before.
    fn extend_by_atoms(
        &self,
        mut found: Vec<Bindings>,
        patterns: &[Atom],
        source: &mut VariableSource,
        should_stop: ShouldStop<'_>,
    ) -> Option<Vec<Bindings>> {
        for pattern in patterns {
            let mut next = Vec::new();
            for bindings in found {
                let pattern = bindings.resolve_unless(pattern, should_stop)?;
                let wanted = variables(&pattern);
                for more in self.query_one(&pattern, source) {
                    next.push(bindings.with(more.solution_unless(&wanted, should_stop)?));
                }
            }
            found = next;
        }
        Some(found)
    }
}

impl View<'_> {
    /// Whether rows alone match a pattern.
    fn are_rows(self, pattern: &Atom) -> bool {
        let mut room = ROOM.take().unwrap_or_default();
        let plan = &mut room.0;
        plan.clear();
        let is_put = plan.loops.patterns.put(pattern, &mut Variables::default(), self.terms);
        let are_rows = is_put && plan.make() && !self.may_match_others(plan, None);
        ROOM.set(Some(room));
        are_rows
    }

    /// Finds all answers of a plan; `None` if they are not all rows.
    fn execute(self, plan: &mut Plan, executor: &mut Executor, should_stop: ShouldStop<'_>) -> Option<Outcome> {
        let is_answered = self.is_answered(plan, &[]);
        is_answered.then(|| executor.begin(self, (Asked::All, Given::nothing()), should_stop).answer(plan))
    }

    /// The solutions of a query that rows answer; `None` if rows do not answer it. There is nothing inside if the search was
    /// given up.
    fn solutions(self, query: &Atom, should_stop: ShouldStop<'_>) -> Option<Option<Vec<Solution>>> {
        self.solutions_and(query, false, should_stop, |_, _, _| ()).map(|found| found.map(|(found, ())| found))
    }

    /// The solutions of a query that rows answer as a table, of which no atom is made but its cells.
    fn table(self, query: &Atom) -> Option<AnswerTable> {
        let mut room = ROOM.take().unwrap_or_default();
        let (plan, executor) = &mut *room;
        plan.clear();
        plan.forgets_sorted = false;
        let mut known = Variables::default();
        let is_put = plan.loops.patterns.put(query, &mut known, self.terms);
        let outcome = if is_put { self.execute(plan, executor, &|| false) } else { None };
        let table = outcome.and_then(Outcome::count).map(|row_count| {
            let variables = variables(query);
            let place = |variable: &Variable| known.iter().position(|name| *name == Some(variable));
            let places: Vec<Option<usize>> = variables.iter().map(place).collect();
            let mut cells = Vec::with_capacity(row_count * variables.len());
            for answer in executor.answers().each() {
                cells.extend(places.iter().zip(&variables).map(|(place, variable)| match place {
                    Some(place) => self.terms.atom(answer[*place]).clone(),
                    None => variable.clone().into(),
                }));
            }
            AnswerTable { variables, row_count, cells }
        });
        executor.shrink();
        ROOM.set(Some(room));
        table
    }

    /// The solutions of a query with how they were found, as if nothing had been sorted before if that is to be forgotten.
    pub(super) fn solutions_explained(
        self,
        query: &Atom,
        forgets_sorted: bool,
        should_stop: ShouldStop<'_>,
    ) -> Option<Option<(Vec<Solution>, QueryExplanation)>> {
        let explain = |plan: &Plan, variables: &Variables<'_>, count| explanation_of(plan, (query, variables), count);
        self.solutions_and(query, forgets_sorted, should_stop, explain)
    }

    fn solutions_and<T>(
        self,
        query: &Atom,
        forgets_sorted: bool,
        should_stop: ShouldStop<'_>,
        explain: impl FnOnce(&Plan, &Variables<'_>, usize) -> T,
    ) -> Option<Option<(Vec<Solution>, T)>> {
        let mut room = ROOM.take().unwrap_or_default();
        let (plan, executor) = &mut *room;
        plan.clear();
        plan.forgets_sorted = forgets_sorted;
        let mut variables = Variables::default();
        let is_put = plan.loops.patterns.put(query, &mut variables, self.terms);
        let outcome = if is_put { self.execute(plan, executor, should_stop) } else { None };
        let solutions = outcome.map(|outcome| {
            let solution = |answer: &[Term]| {
                let mut solution = Vec::with_capacity(answer.len());
                for (name, &term) in variables.iter().zip(answer) {
                    solution.extend(name.map(|name| (name.clone(), self.terms.atom(term).clone())));
                }
                solution
            };
            let count = outcome.count()?;
            let all = executor.answers().each().enumerate().map(|(place, answer)| {
                let goes_on = place % (64 * ANSWERS_BETWEEN_LOOKS) != 0 || place == 0 || !should_stop();
                goes_on.then(|| solution(answer))
            });
            let found = all.collect::<Option<Vec<Solution>>>();
            found.map(|found| (found, explain(plan, &variables, count)))
        });
        executor.shrink();
        ROOM.set(Some(room));
        solutions
    }
}
