//! A form that answers with a variable asks whether that stands for `NotReducible` or code before it evaluates it. A leaf is neither, and is its
//! own result: so it is asked first whether it is one.

use crate::machine::code::{Guard, TypeId};
use crate::machine::core::{Core, Test};
use crate::machine::lower::Lower;
use space::Variable;

pub(super) fn run(node: &mut Core, lower: &mut Lower<'_>) {
    let number = lower.facts.run.machine().types.number_type;
    if let Core::Guarded(guarded) = node
        && let [Test::Is(variable, Guard::Reducible | Guard::Answer)] = guarded.tests.as_slice()
        && let Some(type_id) = evaluated_to(&guarded.fast, variable)
        && [0, number].contains(&type_id)
        && lower.facts.may_change()
    {
        guarded.leaf = Some((variable.clone(), type_id));
        return;
    }
    node.each_part_mut(&mut |part| run(part, lower));
}

/// The type that a node evaluates a variable to, after tests of it.
fn evaluated_to(node: &Core, asked: &Variable) -> Option<TypeId> {
    match node {
        Core::Evaluate { variable, type_id, .. } if variable == asked => Some(*type_id),
        Core::Guarded(guarded) => evaluated_to(&guarded.fast, asked),
        _ => None,
    }
}
