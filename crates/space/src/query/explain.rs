//! Answering a query, and saying how, for people.

use super::explanation::{QueryExplanation, QueryWay};
use super::solutions::Queried;
use super::unfinished::ShouldStop;
use crate::atom::{Atom, Solution, VariableSource};

/// Answers a query, and says how.
pub(crate) fn explain(queried: &impl Queried, query: &Atom, source: &mut VariableSource) -> QueryExplanation {
    let (_, explanation) = explained(queried, query, source, (true, &|| false)).expect("nobody gives up");
    explanation
}

/// The solutions of a query, and how they were found, as if nothing had been sorted before if that is to be forgotten; `None` if the caller
/// has given up.
pub(crate) fn explained(
    queried: &impl Queried,
    query: &Atom,
    source: &mut VariableSource,
    (forgets_sorted, should_stop): (bool, ShouldStop<'_>),
) -> Option<(Vec<Solution>, QueryExplanation)> {
    let by_rows = queried.with_view(|view| view.solutions_explained(query, forgets_sorted, should_stop));
    by_rows.unwrap_or_else(|| {
        let found = queried.solutions_in_part(query, source, should_stop)?;
        let explanation = QueryExplanation { way: QueryWay::Unification, steps: Vec::new(), answers: found.len() };
        Some((found, explanation))
    })
}
