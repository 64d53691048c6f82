//! Notes of how queries were answered, if the owner of the run asks for them: see [`QueryLog`](crate::QueryLog).

use crate::machine::code::{Query, WrittenQuery};
use crate::session::{Execution, LoggedKind, LoggedStep, QueryLog, Session};
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
    pub(in crate::machine) fn new(query: Atom, new: &[&Variable]) -> Self {
        Self { query, variables: new.iter().map(|&variable| variable.clone()).collect() }
    }
}

impl Query {
    /// How it was answered by its plan.
    #[cold]
    fn planned(&self, asked: Asked, count: usize) -> Execution {
        let (way, steps) = self.kept.plan.steps_taken();
        let variables = self.kept.plan.count_variables();
        // What is searched for in batches is counted for the last of them only.
        let found = |step: &PlanStep| match asked {
            Asked::All | Asked::Grouped => Some(step.found.unwrap_or(count) as u64),
            _ => None,
        };
        let step = |step: PlanStep| LoggedStep {
            of: self.written.atom(step.of, variables),
            expected: step.estimated,
            found: found(&step),
        };
        let steps = steps.into_iter().map(step).collect();
        Execution { way: LoggedKind::Planned(way), answers: Some(count as u64), steps }
    }

    /// Notes how it was answered.
    #[cold]
    fn note(&self, log: &mut QueryLog, execution: Execution) {
        log.note(&self.written.query, self.filters.filters.len(), execution);
    }

    /// Notes that it was answered by its plan.
    #[inline]
    pub(super) fn note_planned(&self, session: &mut Session, asked: Asked, count: usize) {
        if let Some(log) = &mut session.query_log {
            self.note(log, self.planned(asked, count));
        }
    }

    /// Notes that it was answered by code made of atoms, or by unification.
    #[inline]
    pub(super) fn note_open(&self, session: &mut Session, answers: Option<usize>) {
        if let Some(log) = &mut session.query_log {
            let way = if answers.is_some() { LoggedKind::Planned(QueryWay::Unification) } else { LoggedKind::Code };
            let execution = Execution { answers: answers.map(|answers| answers as u64), ..Execution::of(way) };
            self.note(log, execution);
        }
    }
}
