//! What changed in the answers of a live query.

use rustc_hash::FxHashMap;
use space::{Atom, Rewrite, Variable, canonical, rewrite};

/// A change of the answers of a live query.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerChange {
    /// The answer that went, or that became another one.
    pub before: Option<Atom>,
    /// The answer that came, or that the other one became.
    pub after: Option<Atom>,
    /// How many copies did.
    pub copies: u64,
}

/// Values of the variables that are asked for, and how many copies came, or went if negative.
pub(super) type SignedTuple = (Vec<Atom>, i64);

impl AnswerChange {
    /// Copies of an answer that came, or went if negative.
    pub(super) fn signed(answer: Atom, copies: i64) -> Self {
        let (before, after) = if copies < 0 { (Some(answer), None) } else { (None, Some(answer)) };
        Self { before, after, copies: copies.unsigned_abs() }
    }
}

/// A template with values put in for variables.
pub(super) fn filled(template: &Atom, names: &[Variable], values: &[Atom]) -> Atom {
    let value = |variable: &Variable| names.iter().position(|name| name == variable).map(|place| &values[place]);
    // Most templates are an expression around variables and ground atoms.
    if let Some(children) = template.children()
        && children.iter().all(|child| child.is_ground() || matches!(child, Atom::Variable(_)))
    {
        let put = |child: &Atom| match child {
            Atom::Variable(variable) => value(variable).unwrap_or(child).clone(),
            ground => ground.clone(),
        };
        return Atom::expression(children.iter().map(put).collect::<Vec<_>>());
    }
    let filled = rewrite(template, |variable| match value(variable) {
        Some(value) => Rewrite::Replace(value.clone()),
        None => Rewrite::Keep,
    });
    filled.unwrap_or_else(|| template.clone())
}

/// A template with values put in that nobody needs any more: if it is a tuple of these variables, it becomes the tuple of the values.
pub(super) fn filled_with(template: &Atom, names: &[Variable], values: Vec<Atom>) -> Atom {
    let is_name = |(child, name): (&Atom, &Variable)| matches!(child, Atom::Variable(variable) if variable == name);
    let children = template.children().filter(|children| children.len() == names.len());
    if children.is_some_and(|children| children.iter().zip(names).all(is_name)) {
        return Atom::expression(values);
    }
    filled(template, names, &values)
}

/// What tells values apart: `1` and `1.0` too, but not the names of variables.
pub(super) fn identity<'a>(values: impl IntoIterator<Item = &'a Atom>) -> Vec<u8> {
    let mut bytes = Vec::new();
    values.into_iter().for_each(|value| canonical::key_naming(value, &mut bytes, |_| {}));
    bytes
}

/// Puts what goes and what comes together where they agree in some of the values: as many copies as both have, in the place of what
/// was first.
pub(super) fn paired(
    changes: Vec<SignedTuple>,
    key: &[usize],
    answer: impl Fn(Vec<Atom>) -> Atom,
) -> Vec<AnswerChange> {
    if key.is_empty() {
        return changes.into_iter().map(|(values, count)| AnswerChange::signed(answer(values), count)).collect();
    }
    let mut groups: Vec<Vec<SignedTuple>> = Vec::new();
    let mut places: FxHashMap<Vec<u8>, usize> = FxHashMap::default();
    for (values, count) in changes {
        let place = *places.entry(identity(key.iter().map(|&place| &values[place]))).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push((values, count));
    }
    let mut found = Vec::new();
    for group in groups {
        let (mut gone, mut come): (Vec<_>, Vec<_>) = group.into_iter().partition(|(_, count)| *count < 0);
        gone.reverse();
        come.reverse();
        while let (Some((before, left)), Some((after, more))) = (gone.last_mut(), come.last_mut()) {
            let copies = (-*left).min(*more);
            let change = AnswerChange {
                before: Some(answer(before.clone())),
                after: Some(answer(after.clone())),
                copies: copies.unsigned_abs(),
            };
            found.push(change);
            (*left, *more) = (*left + copies, *more - copies);
            gone.retain(|(_, count)| *count != 0);
            come.retain(|(_, count)| *count != 0);
        }
        let rest = gone.into_iter().rev().chain(come.into_iter().rev());
        found.extend(rest.map(|(values, count)| AnswerChange::signed(answer(values), count)));
    }
    found
}
