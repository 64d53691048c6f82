//! Whether a tree of nodes is well formed.

use super::{Core, Operation, Test};
use space::{Variable, variables};

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
        Core::Variable(variable) | Core::Evaluate { variable, .. } => must_stand(known, variable)?,
        Core::Quote(atom) => variables(atom).iter().try_for_each(|variable| must_stand(known, variable))?,
        Core::Fresh { variables, .. } => known.extend(variables.iter().cloned()),
        Core::Guarded(guarded) => {
            for test in &guarded.tests {
                match test {
                    Test::Is(variable, _) => must_stand(known, variable)?,
                    Test::SameType(left, right) => {
                        must_stand(known, left)?;
                        must_stand(known, right)?;
                    }
                    Test::Unchanged => {}
                }
            }
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

/// The variables that are known behind a node since it makes them before anything else.
fn made_by(node: &Core, known: &mut Vec<Variable>) {
    if let Core::Fresh { variables, then } = node {
        known.extend(variables.iter().cloned());
        made_by(then, known);
    }
}
