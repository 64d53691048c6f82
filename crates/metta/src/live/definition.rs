//! What a live query asks, and how it is read from a pattern and a template.
//!
//! 1. The pattern is one, or a conjunction `(, P1 P2 …)`.
//! 2. The template may begin with tests, with a `match` of the same space, and with whether such a `match` has results, in the forms in
//!    which a `match` has them: see the page about queries. They become tests, patterns and absences of the query.
//! 3. What is left of it is data around variables. If something in it would be evaluated, it is refused: nothing is.

use super::error::LiveError;
use super::tests::{Tests, test};
use crate::lowering::Comparison;
use crate::names;
use crate::rules::{Match, Reading, Shape, has_no_result};
use space::{Atom, DeltaQuery, Grounded, SharedSpace, Variable, conjunction, distinct_parts, variables};

/// A query to be kept up to date.
#[derive(Clone, Debug)]
pub struct LiveDefinition {
    /// What must match; a call, if `result` is named.
    pub pattern: Atom,
    /// The variable that stands for what the call comes to, if the answers of a call are followed ([`LiveRules`](super::LiveRules)).
    pub result: Option<Variable>,
    /// What there is for each match: data, behind tests.
    pub template: Atom,
    /// What is made of the matches, if they are not wanted one by one.
    pub aggregate: Option<Aggregate>,
    /// If what goes and what comes agree in these variables, it is one thing that changed.
    pub key: Vec<Variable>,
}

/// What is made of matches that agree in the variables of the template: what it names stands for the outcome there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Aggregate {
    /// How many there are.
    Count(Variable),
    /// The sum of what a variable is.
    Sum(Variable),
    /// The least.
    Min(Variable),
    /// The greatest.
    Max(Variable),
    /// The matches themselves, but only the first of them.
    Top(Top),
}

/// The first of some matches, in the order of what a variable is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Top {
    /// How many.
    pub most: usize,
    /// By what they are ordered.
    pub by: Variable,
    /// Whether the greatest come first.
    pub is_greatest: bool,
    /// The first `most` are taken for each value of these, if there are any.
    pub within: Vec<Variable>,
}

/// A definition, taken apart.
pub(super) struct DefinitionShape {
    /// All patterns that must match, as one query.
    pub(super) pattern: Atom,
    /// Patterns that must have an answer, or none.
    pub(super) absences: Vec<(Atom, bool)>,
    pub(super) tests: Tests,
    /// The template, in terms of the variables that are asked for.
    pub(super) body: Atom,
    /// The variables that are asked for.
    pub(super) wanted: Vec<Variable>,
    /// The query by rows, if these can answer it.
    pub(super) query: Option<DeltaQuery>,
}

impl DefinitionShape {
    /// Takes a definition apart, whose patterns ask a space.
    pub(super) fn of(definition: &LiveDefinition, space: &SharedSpace) -> Result<Self, LiveError> {
        let LiveDefinition { pattern, template, aggregate, key, .. } = definition;
        let mut patterns = patterns_of(pattern).to_vec();
        if patterns.is_empty() {
            return Err(LiveError::NoPattern);
        }
        let (mut absences, mut conditions, mut body) = (Vec::new(), Vec::new(), template);
        loop {
            if let Some((condition, is_kept, rest)) = tested(body) {
                match existence(condition, is_kept) {
                    Some((asked, is_kept)) => absences.push((pattern_of(asked, space)?.clone(), !is_kept)),
                    None => conditions.push((condition, is_kept)),
                }
                body = rest;
            } else if let Some((asked, rest)) = unless_any(body) {
                absences.push((pattern_of(asked, space)?.clone(), true));
                body = rest;
            } else if let Some(asked) = query_of(body) {
                patterns.extend_from_slice(patterns_of(pattern_of(asked, space)?));
                body = asked.template;
            } else {
                break;
            }
        }
        check_data(body)?;
        let all = match patterns.as_slice() {
            [only] => only.clone(),
            all => Atom::expression([&[Atom::symbol(",")], all].concat()),
        };
        let bound = variables(&all);
        let mut tests = Tests::default();
        for (condition, is_kept) in conditions {
            test(condition, is_kept, &bound, &mut tests)?;
        }
        let mut wanted: Vec<Variable> =
            variables(body).into_iter().filter(|variable| bound.contains(variable)).collect();
        check_variables(&bound, &mut wanted, aggregate.as_ref(), key)?;
        let mut shape = Self { pattern: all, absences, tests, body: body.clone(), wanted, query: None };
        shape.query = shape.by_rows(&patterns);
        Ok(shape)
    }

    fn by_rows(&self, patterns: &[Atom]) -> Option<DeltaQuery> {
        let mut query = DeltaQuery::new(patterns)?;
        for (pattern, is_absence) in &self.absences {
            if !query.filter_by(patterns_of(pattern), *is_absence) {
                return None;
            }
        }
        query.test_by(self.tests.filters.clone(), self.tests.values.clone());
        query.ask_for(&self.wanted);
        Some(query)
    }
}

/// Sees to it that what is named is bound, and asked for.
fn check_variables(
    bound: &[Variable],
    wanted: &mut Vec<Variable>,
    aggregate: Option<&Aggregate>,
    key: &[Variable],
) -> Result<(), LiveError> {
    let mut named: Vec<(&Variable, &'static str)> = key.iter().map(|variable| (variable, "as a key")).collect();
    match aggregate {
        Some(Aggregate::Count(variable)) if bound.contains(variable) => {
            return Err(LiveError::Bound { variable: format!("${}", variable.name().as_str()) });
        }
        None | Some(Aggregate::Count(_)) => {}
        Some(Aggregate::Sum(variable) | Aggregate::Min(variable) | Aggregate::Max(variable)) => {
            named.push((variable, "to be added up or compared"));
        }
        Some(Aggregate::Top(Top { by, within, .. })) => {
            named.push((by, "to be compared"));
            named.extend(within.iter().map(|variable| (variable, "as what to compare within")));
        }
    }
    for (variable, purpose) in named {
        if !bound.contains(variable) {
            return Err(LiveError::NoVariable { variable: format!("${}", variable.name().as_str()), purpose });
        }
        if !wanted.contains(variable) {
            wanted.push(variable.clone());
        }
    }
    Ok(())
}

/// The patterns of a conjunction, or the only one.
pub(super) fn patterns_of(pattern: &Atom) -> &[Atom] {
    conjunction(pattern).unwrap_or(std::slice::from_ref(pattern))
}

/// A conditional one of whose branches has no result: the condition, the truth value that keeps a match, and the other branch.
fn tested(template: &Atom) -> Option<(&Atom, bool, &Atom)> {
    let Shape::If { condition, ways: [then, otherwise] } = Reading::of(template).shape else { return None };
    match (has_no_result(then), has_no_result(otherwise)) {
        (false, true) => Some((condition, true, then)),
        (true, false) => Some((condition, false, otherwise)),
        _ => None,
    }
}

/// A test whether a `match` has results: the `match`, and whether having them keeps an answer.
fn existence(condition: &Atom, is_kept: bool) -> Option<(Match<'_>, bool)> {
    match Reading::of(condition).shape {
        Shape::Not(only) => existence(only, !is_kept),
        Shape::Comparison(Comparison::Equal, [left, right]) => {
            let collapsed = match (left.children(), right.children()) {
                (Some([]), _) => right,
                (_, Some([])) => left,
                _ => return None,
            };
            let Shape::Collapse(goal) = Reading::of(collapsed).shape else { return None };
            Some((query_of(goal)?, !is_kept))
        }
        Shape::HasResult(goal) => Some((query_of(goal)?, is_kept)),
        _ => None,
    }
}

/// What is asked, and what there is if that has no results: `(case (match …) ((Empty body)))`.
fn unless_any(atom: &Atom) -> Option<(Match<'_>, &Atom)> {
    let Shape::Case { subject, branches } = Reading::of(atom).shape else { return None };
    let [branch] = branches.children()? else { return None };
    let [pattern, body] = branch.children()? else { return None };
    if pattern.is_symbol(names::EMPTY) { Some((query_of(subject)?, body)) } else { None }
}

/// The arguments of a `match`.
fn query_of(atom: &Atom) -> Option<Match<'_>> {
    match Reading::of(atom).shape {
        Shape::Match(asked) => Some(asked),
        _ => None,
    }
}

/// The pattern of a `match` that asks a space.
fn pattern_of<'a>(asked: Match<'a>, space: &SharedSpace) -> Result<&'a Atom, LiveError> {
    match asked.space {
        Atom::Grounded(Grounded::Space(other)) if other.serial() == space.serial() => Ok(asked.query),
        other => Err(LiveError::OtherSpace { space: names::brief(other) }),
    }
}

/// Sees to it that nothing in a template would be evaluated, as far as the library goes.
fn check_data(template: &Atom) -> Result<(), LiveError> {
    let is_evaluated = |part: &&Atom| {
        let reading = Reading::of(part);
        reading.form.is_some() || reading.operation.is_some()
    };
    match distinct_parts(template).find(is_evaluated) {
        Some(part) => Err(LiveError::Evaluated { part: names::brief(part) }),
        None => Ok(()),
    }
}
