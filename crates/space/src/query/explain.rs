//! How a query is answered, for people: in which way, and how many answers there were so far after each step.

use super::execute::Answers;
use super::filter::Given;
use super::join::Way;
use super::pattern::{Variables, conjunction};
use super::plan::Plan;
use super::solutions::Queried;
use super::view::View;
use crate::atom::{Atom, VariableSource};

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

/// Answers a query, and says how.
pub(crate) fn explain(queried: &impl Queried, query: &Atom, source: &mut VariableSource) -> QueryExplanation {
    let by_rows = queried.with_view(|view| view.explain(query));
    by_rows.unwrap_or_else(|| {
        let answers = queried.solutions(query, source, &|| false).map_or(0, |found| found.len());
        QueryExplanation { way: QueryWay::Unification, steps: Vec::new(), answers }
    })
}

impl View<'_> {
    /// `None` if rows do not answer the query.
    fn explain(self, query: &Atom) -> Option<QueryExplanation> {
        let (mut plan, mut answers, mut variables) = (Plan::default(), Answers::default(), Variables::default());
        if !plan.loops.patterns.put(query, &mut variables, self.terms) {
            return None;
        }
        plan.forgets_sorted = true;
        let count = self.execute(&mut plan, Given::nothing(), &mut answers, &|| false)?;
        let patterns = conjunction(query).unwrap_or(std::slice::from_ref(query));
        let variable = |number: &u32| variables[*number as usize].cloned().map(Atom::Variable);
        let (way, of, estimates): (_, Vec<Atom>, &[f64]) = match plan.chosen.as_ref().map(|chosen| chosen.last_way()) {
            Some(Way::Join { order, estimates }) => {
                (QueryWay::Join, order.iter().filter_map(variable).collect(), estimates)
            }
            Some(Way::Loops { order: Some(order), estimates }) => {
                (QueryWay::LoopsReordered, order.iter().map(|&number| patterns[number].clone()).collect(), estimates)
            }
            Some(Way::Loops { order: None, estimates }) => (QueryWay::LoopsAsWritten, patterns.to_vec(), estimates),
            None => (QueryWay::LoopsAsWritten, patterns.to_vec(), &[]),
        };
        let found = answers.after_each().iter().copied().chain(std::iter::repeat(count));
        let steps = of.into_iter().zip(found).enumerate();
        let step = |(place, (of, found)): (usize, (Atom, usize))| ExplainedStep {
            of,
            estimated: estimates.get(place).copied(),
            found,
        };
        Some(QueryExplanation { way, steps: steps.map(step).collect(), answers: count })
    }
}
