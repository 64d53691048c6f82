//! Whether a tree of nodes is well formed.

use super::{Core, Operation, Query, Test};
use space::{Atom, Variable, variables};

/// Says what is wrong: a variable that stands for nothing where a node takes its value, or an operation with another number of operands.
/// `is_known` says which variables stand for something before the node.
///
/// # Errors
/// Something is wrong.
pub(in crate::machine) fn check(node: &Core, is_known: &dyn Fn(&Variable) -> bool) -> Result<(), String> {
    let mut known = Vec::new();
    check_within(node, is_known, &mut known)
}

fn check_within(node: &Core, is_known: &dyn Fn(&Variable) -> bool, known: &mut Vec<Variable>) -> Result<(), String> {
    let mark = known.len();
    let must_stand = |known: &[Variable], variable: &Variable| match known.contains(variable) || is_known(variable) {
        true => Ok(()),
        false => Err(format!("{variable} stands for nothing where it is taken")),
    };
    match node {
        Core::Variable(it) | Core::Evaluated(it) | Core::Evaluate { variable: it, .. } => must_stand(known, it)?,
        Core::UnlessEvaluated { variable, .. } => must_stand(known, variable)?,
        Core::Quote(atom) => variables(atom).iter().try_for_each(|variable| must_stand(known, variable))?,
        Core::Fresh { variables, .. } => known.extend(variables.iter().cloned()),
        Core::Guarded(guarded) => {
            guarded.tests.iter().flat_map(asked_by).try_for_each(|variable| must_stand(known, variable))?;
        }
        Core::Let { variable, value, then } => {
            check_within(value, is_known, known)?;
            made_by(value, known);
            known.push(variable.clone());
            check_within(then, is_known, known)?;
            known.truncate(mark);
            return Ok(());
        }
        Core::Match(parts) => {
            must_stand(known, &parts.subject)?;
            known.extend(variables(&parts.pattern));
        }
        Core::Branches(parts) => {
            must_stand(known, &parts.subject)?;
            parts.branches.iter().try_for_each(|branch| {
                known.extend(variables(&branch.pattern));
                let found = check_within(&branch.body, is_known, known);
                known.truncate(mark);
                found
            })?;
            return check_within(&parts.met_space, is_known, known);
        }
        Core::Unify(parts) => {
            let inside = variables(&parts.pattern);
            return check_choice([&parts.left, &parts.then, &parts.otherwise], inside, is_known, known);
        }
        Core::IfDecons(parts) => {
            parts.position.iter().try_for_each(|position| must_stand(known, position))?;
            let inside = [&parts.element, &parts.rest].into_iter().flat_map(variables).collect();
            return check_choice([&parts.list, &parts.then, &parts.otherwise], inside, is_known, known);
        }
        Core::Query(query) => return check_query(query, is_known, known),
        Core::Made(made) => made.captured.iter().try_for_each(|variable| {
            let is_made_here = made.further.iter().any(|node| makes(node, variable));
            if is_made_here { Ok(()) } else { must_stand(known, variable) }
        })?,
        Core::Shown { anew, .. } => known.extend(anew.iter().cloned()),
        Core::Substitute(parts) => {
            let taken = parts.pairs.iter().flat_map(|(variable, value)| [variable, value]);
            taken.chain([&parts.template]).try_for_each(|variable| must_stand(known, variable))?;
        }
        Core::Compute(compute) => {
            let is_unary = matches!(compute.operation, Operation::Logic(crate::lowering::Logic::Not));
            if compute.operands.len() != if is_unary { 1 } else { 2 } {
                return Err(format!("{:?} has {} operands", compute.operation, compute.operands.len()));
            }
        }
        _ => {}
    }
    // What one part makes, those after it may take: arguments are evaluated in their order.
    let mut found = Ok(());
    node.each_part(&mut |part| {
        if found.is_ok() {
            found = check_within(part, is_known, known);
            made_by(part, known);
        }
    });
    known.truncate(mark);
    found
}

fn check_query(query: &Query, is_known: &dyn Fn(&Variable) -> bool, known: &mut Vec<Variable>) -> Result<(), String> {
    let mark = known.len();
    query.one_by_one.iter().try_for_each(|node| check_within(node, is_known, known))?;
    query.others.iter().try_for_each(|node| check_within(node, is_known, known))?;
    known.extend(query.new.iter().cloned());
    // All that is asked stands for something, or is bound by an answer.
    let asked = Atom::expression([Atom::Variable(query.space.clone()), query.pattern.clone(), query.template.clone()]);
    check_within(&Core::Quote(asked), is_known, known)?;
    let found = check_within(&query.then, is_known, known);
    known.truncate(mark);
    found
}

/// The variables that a test asks about.
fn asked_by(test: &Test) -> impl Iterator<Item = &Variable> {
    match test {
        Test::Is(variable, _) => [Some(variable), None],
        Test::SameType(left, right) => [Some(left), Some(right)],
        Test::Says(..) | Test::Unchanged => [None, None],
    }
    .into_iter()
    .flatten()
}

/// Something is taken apart: then some variables stand for something inside of the first branch.
fn check_choice(
    [subject, then, otherwise]: [&Core; 3],
    inside: Vec<Variable>,
    is_known: &dyn Fn(&Variable) -> bool,
    known: &mut Vec<Variable>,
) -> Result<(), String> {
    let mark = known.len();
    check_within(subject, is_known, known)?;
    made_by(subject, known);
    let outside = known.len();
    known.extend(inside);
    check_within(then, is_known, known)?;
    known.truncate(outside);
    let found = check_within(otherwise, is_known, known);
    known.truncate(mark);
    found
}

/// The variables that are known behind a node since it makes them before anything else.
fn made_by(node: &Core, known: &mut Vec<Variable>) {
    if let Core::Fresh { variables, then } = node {
        known.extend(variables.iter().cloned());
        made_by(then, known);
    }
}

/// Whether a node makes a variable before anything else.
fn makes(node: &Core, variable: &Variable) -> bool {
    matches!(node, Core::Fresh { variables, then } if variables.contains(variable) || makes(then, variable))
}
