//! Notes of how queries were answered, if the owner of the run asks for them: see [`QueryLog`](crate::QueryLog).

use super::Running;
use super::code::{Query, WrittenQuery};
use super::queries::QueryRoom;
use crate::session::{Execution, LoggedKind, LoggedStep};
use space::{Asked, Atom, PlanStep, QueryWay, StepOf, Variable};

impl WrittenQuery {
    /// What a step of its plan is about. Variables from outside that the query binds come after its own, then the values that it is given.
    fn atom(&self, of: StepOf, variables: usize) -> Atom {
        match of {
            StepOf::Pattern(number) => {
                let patterns = space::conjunction(&self.query).unwrap_or(std::slice::from_ref(&self.query));
                patterns.get(number).cloned().unwrap_or_else(|| self.query.clone())
            }
            StepOf::Variable(number) => match self.variables.get(number as usize) {
                Some(variable) => Atom::Variable(variable.clone()),
                None if (number as usize) < variables => {
                    Atom::symbol(&format!("outer-variable-{}", number as usize - self.variables.len() + 1))
                }
                None => Atom::symbol(&format!("given-value-{}", number as usize - variables + 1)),
            },
        }
    }

    /// What is asked as it is written, and the new variables.
    pub(super) fn new(query: Atom, new: &[&Variable]) -> Self {
        Self { query, variables: new.iter().map(|&variable| variable.clone()).collect() }
    }
}

impl Running<'_> {
    /// Notes that a query was answered by its plan.
    #[inline]
    pub(super) fn note_planned(&mut self, query: u32, asked: Asked, count: usize, room: &QueryRoom) {
        if self.session.query_log.is_some() {
            self.note_plan(query, asked, count, room);
        }
    }

    #[cold]
    fn note_plan(&mut self, query: u32, asked: Asked, count: usize, room: &QueryRoom) {
        let Query { written, cached: Some(cached), filters, .. } = &self.m.code.queries[query as usize] else { return };
        let (way, steps) = cached.plan.steps_taken(room.answers());
        let variables = cached.plan.count_variables();
        // What is searched for in batches is counted for the last of them only.
        let found = |step: &PlanStep| match asked {
            Asked::All | Asked::Grouped => Some(step.found.unwrap_or(count) as u64),
            _ => None,
        };
        let step = |step: PlanStep| LoggedStep {
            of: written.atom(step.of, variables),
            expected: step.estimated,
            found: found(&step),
        };
        let steps = steps.into_iter().map(step).collect();
        let execution = Execution { way: LoggedKind::Planned(way), answers: Some(count as u64), steps };
        let (query, filters) = (written.query.clone(), filters.filters.len());
        self.note(&query, filters, execution);
    }

    /// Notes that a query was answered by code made of atoms, or by unification.
    #[inline]
    pub(super) fn note_open(&mut self, query: u32, answers: Option<usize>) {
        if self.session.query_log.is_some() {
            let way = if answers.is_some() { LoggedKind::Planned(QueryWay::Unification) } else { LoggedKind::Code };
            let execution = Execution { answers: answers.map(|answers| answers as u64), ..Execution::of(way) };
            let Query { written, filters, .. } = &self.m.code.queries[query as usize];
            let (query, filters) = (written.query.clone(), filters.filters.len());
            self.note(&query, filters, execution);
        }
    }

    fn note(&mut self, query: &Atom, filters: usize, execution: Execution) {
        if let Some(log) = &mut self.session.query_log {
            log.note(query, filters, execution);
        }
    }
}
