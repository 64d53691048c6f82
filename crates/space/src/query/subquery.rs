//! Whether some patterns have an answer, given what others have bound: the test of an anti-join or a semi-join.
//!
//! What is bound already is a parameter of the subquery. Its patterns are looped over as they are written; of the last it is only asked
//! whether there is a row.

use super::loops::{LoopStep, Loops};
use super::matching::{Match, matches};
use super::pattern::{NO_TERM, PatternPart, Patterns};
use super::view::View;
use crate::relation::{Path, Relation};
use crate::term::Term;

/// Some patterns, and where their parameters come from.
#[derive(Default)]
pub(super) struct Subquery {
    loops: Loops,
    sources: Vec<Source>,
}

/// Where a parameter of a subquery comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// A variable of the plan around it.
    Variable(u32),
    /// A parameter of that plan.
    Parameter(u32),
}

impl std::fmt::Debug for Subquery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subquery").field("parts", &self.loops.patterns.parts).finish_non_exhaustive()
    }
}

impl Subquery {
    /// Patterns whose variables below a number are those of the plan around them; `None` if rows do not answer them.
    pub(super) fn new(patterns: &Patterns, outer: u32) -> Option<Self> {
        let mut subquery = Self::default();
        let mut start = 0;
        for (number, &end) in patterns.ends.iter().enumerate() {
            for &part in &patterns.parts[start..end] {
                let part = match part {
                    PatternPart::Variable(variable) if variable < outer => subquery.given(Source::Variable(variable)),
                    PatternPart::Variable(variable) => PatternPart::Variable(variable - outer),
                    PatternPart::Parameter(parameter) => subquery.given(Source::Parameter(parameter)),
                    part => part,
                };
                subquery.loops.patterns.push(part);
            }
            subquery.loops.patterns.end_pattern_in(patterns.place(number));
            start = end;
        }
        subquery.loops.make().then_some(subquery)
    }

    fn given(&mut self, source: Source) -> PatternPart {
        let known = self.sources.iter().position(|known| *known == source);
        let number = known.unwrap_or_else(|| {
            self.sources.push(source);
            self.sources.len() - 1
        });
        PatternPart::Parameter(number as u32)
    }

    /// The variables of the plan around it that it has.
    pub(super) fn variables(&self) -> impl Iterator<Item = u32> {
        self.sources.iter().filter_map(|source| match source {
            Source::Variable(variable) => Some(*variable),
            Source::Parameter(_) => None,
        })
    }

    /// Its patterns.
    pub(super) fn loops(&self) -> &Loops {
        &self.loops
    }

    /// Whether there is an answer, given one of the plan around it and the parameters of that.
    pub(super) fn has_answer(&self, answer: &[Term], given: &[Term], view: View<'_>) -> bool {
        let value = |source: &Source| match *source {
            Source::Variable(variable) => view.terms.key(answer[variable as usize]),
            Source::Parameter(parameter) => given[parameter as usize],
        };
        let parameters: Vec<Term> = self.sources.iter().map(value).collect();
        let nothing = vec![NO_TERM; self.loops.variables()];
        !parameters.contains(&NO_TERM) && self.search(0, &nothing, &parameters, view)
    }

    /// Whether the patterns from one on have an answer, given one of those before.
    fn search(&self, number: usize, answer: &[Term], parameters: &[Term], view: View<'_>) -> bool {
        let Some(step) = self.loops.steps.get(number) else { return true };
        let known = &self.loops.known[step.known[0]..step.known[1]];
        let keys: Vec<(Path, Term)> =
            known.iter().map(|&(path, known)| (path, known.key(parameters, answer, view.terms))).collect();
        if keys.iter().any(|&(_, key)| key == NO_TERM) {
            return false;
        }
        let relations = view.of(step.place).iter().map(|contents| contents.relation_of_length(step.length));
        if number + 1 == self.loops.steps.len() && step.is_countable() {
            return relations.into_iter().any(|relation| has_row(step, relation, &keys, view));
        }
        // No relation is walked while another walk is under way.
        let mut next = Vec::new();
        for relation in relations {
            self.extend(step, relation, (&keys, answer, parameters), &mut next, view);
        }
        if answer.is_empty() {
            return !next.is_empty() && self.search(number + 1, answer, parameters, view);
        }
        next.chunks_exact(answer.len()).any(|next| self.search(number + 1, next, parameters, view))
    }

    /// Adds what the rows of a relation make of an answer; without variables, a cell for each row.
    fn extend(
        &self,
        step: &LoopStep,
        relation: &Relation,
        (keys, answer, parameters): (&[(Path, Term)], &[Term], &[Term]),
        next: &mut Vec<Term>,
        view: View<'_>,
    ) {
        if step.is_known {
            if has_row(step, relation, keys, view) {
                next.extend_from_slice(if answer.is_empty() { &[NO_TERM] } else { answer });
            }
            return;
        }
        let parts = &self.loops.patterns.parts[step.parts[0]..step.parts[1]];
        relation.walk(keys, view.terms, &mut Vec::new(), &mut |selected| {
            selected.each_row(|row, _| {
                let start = next.len();
                next.extend_from_slice(answer);
                let mut found = Match { answer: &mut next[start..], parameters, terms: view.terms };
                if row.len() != step.length || !matches(step.is_flat, parts, row, &mut found) {
                    next.truncate(start);
                } else if answer.is_empty() {
                    next.push(NO_TERM);
                }
            });
        });
    }
}

/// Whether a relation has a row for a step that [can be counted](LoopStep::is_countable).
fn has_row(step: &LoopStep, relation: &Relation, keys: &[(Path, Term)], view: View<'_>) -> bool {
    if step.is_known {
        let row: Vec<Term> = keys.iter().map(|&(_, key)| key).collect();
        return relation.count(&row, view.terms) > 0;
    }
    let mut has_row = false;
    relation.walk(keys, view.terms, &mut Vec::new(), &mut |selected| {
        has_row = has_row || selected.count_with(keys, view.terms) > 0;
    });
    has_row
}
