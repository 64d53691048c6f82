//! In which way a plan was executed, and how many answers there were so far after each step.

use super::pattern::{Variables, conjunction};
use super::plan::Plan;
use super::strategy::{Course, StepOf, Strategy};
use crate::atom::Atom;

/// How a query was answered; see [`SharedSpace::explain`](crate::SharedSpace::explain).
#[derive(Clone, Debug, PartialEq)]
pub struct QueryExplanation {
    /// In which way.
    pub way: QueryWay,
    /// The steps, in the order in which they were taken.
    pub steps: Vec<ExplainedStep>,
    /// How many answers there are.
    pub answers: usize,
}

/// In which way a query was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryWay {
    /// Its patterns one after the other, in the order in which they are written.
    LoopsAsWritten,
    /// Its patterns one after the other, in another order.
    LoopsReordered,
    /// One variable after the other, in all patterns that have it at once.
    Join,
    /// Each pattern is unified with each atom that may match it, since some of those have variables.
    Unification,
}

impl QueryWay {
    fn of(strategy: Strategy) -> Self {
        match strategy {
            Strategy::Columns | Strategy::FirstLook | Strategy::AsWritten => Self::LoopsAsWritten,
            Strategy::Reordered => Self::LoopsReordered,
            Strategy::Join => Self::Join,
        }
    }
}

/// A pattern whose rows were looked for, or a variable of a join that was bound.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedStep {
    /// The pattern, or the variable.
    pub of: Atom,
    /// How many answers were expected so far after it, if that was estimated.
    pub estimated: Option<f64>,
    /// How many there were.
    pub found: usize,
}

/// A step of a plan; see [`Plan::steps_taken`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanStep {
    /// What it is about.
    pub of: StepOf,
    /// How many answers were expected so far after it, if that was estimated.
    pub estimated: Option<f64>,
    /// How many there were, if the steps were taken once for all answers.
    pub found: Option<usize>,
}

impl Plan {
    /// In which way it was executed last, and the steps that were taken.
    pub fn steps_taken(&self) -> (QueryWay, Vec<PlanStep>) {
        let Course { strategy, after_each } = &self.course;
        let chosen = self.chosen.as_deref();
        let as_written = || (0..self.loops.steps.len()).map(StepOf::Pattern).collect();
        let of = chosen.and_then(|chosen| chosen.steps(*strategy)).unwrap_or_else(as_written);
        let estimates = chosen.map_or(&[][..], |chosen| chosen.estimates(*strategy));
        let step = |(place, of): (usize, StepOf)| PlanStep {
            of,
            estimated: estimates.get(place).copied(),
            found: after_each.get(place).copied(),
        };
        (QueryWay::of(*strategy), of.into_iter().enumerate().map(step).collect())
    }

    /// How many variables its patterns have.
    pub fn count_variables(&self) -> usize {
        self.variables()
    }
}

/// How a query that is an atom was answered.
pub(super) fn explanation_of(
    plan: &Plan,
    (query, variables): (&Atom, &Variables<'_>),
    count: usize,
) -> QueryExplanation {
    let patterns = conjunction(query).unwrap_or(std::slice::from_ref(query));
    let (way, steps) = plan.steps_taken();
    let of = |of: StepOf| match of {
        StepOf::Pattern(number) => patterns.get(number).cloned(),
        StepOf::Variable(number) => variables.get(number as usize)?.cloned().map(Atom::Variable),
    };
    let step = |step: PlanStep| {
        Some(ExplainedStep { of: of(step.of)?, estimated: step.estimated, found: step.found.unwrap_or(count) })
    };
    QueryExplanation { way, steps: steps.into_iter().filter_map(step).collect(), answers: count }
}
