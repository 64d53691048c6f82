//! Atoms whose spaces, states and other grounded values are exchanged for others.

use space::canonical::{self, Unresolved};
use space::{Atom, Grounded, Met};

/// The grounded values in an atom.
pub(crate) fn grounded_in(atom: &Atom) -> Vec<&Grounded> {
    let mut found = Vec::new();
    let (mut work, mut met) = (vec![atom], Met::default());
    while let Some(atom) = work.pop() {
        match atom {
            Atom::Symbol(_) | Atom::Variable(_) => {}
            Atom::Grounded(Grounded::Bindings(solution)) => work.extend(solution.iter().map(|(_, value)| value)),
            Atom::Grounded(value) => found.push(value),
            Atom::Expression(expression) if met.is_new(expression.place()) => work.extend(expression.children()),
            Atom::Expression(_) => {}
        }
    }
    found
}

/// Whether an atom holds a space or a state. What interned terms can express is not walked.
pub(crate) fn holds_handles(atom: &Atom) -> bool {
    let (mut work, mut met) = (vec![atom], Met::default());
    while let Some(atom) = work.pop() {
        match atom {
            Atom::Grounded(Grounded::Space(_) | Grounded::State(_)) => return true,
            Atom::Grounded(Grounded::Bindings(solution)) => work.extend(solution.iter().map(|(_, value)| value)),
            Atom::Expression(expression) if !atom.is_rigid() && met.is_new(expression.place()) => {
                work.extend(expression.children());
            }
            _ => {}
        }
    }
    false
}

/// An atom with another one in the place of each space, state and host value in it; its variables are the same.
pub(crate) fn exchange(atom: &Atom, replace: impl Fn(&Grounded) -> Atom) -> Atom {
    let values = grounded_in(atom);
    let resolve = |unresolved: &Unresolved<'_>| {
        let is_it = |value: &&&Grounded| match (unresolved, value) {
            (Unresolved::Space(serial), Grounded::Space(space)) => *serial == space.serial(),
            (Unresolved::State(serial), Grounded::State(state)) => *serial == state.serial(),
            (Unresolved::Host(identity), Grounded::Host(value)) => *identity == value.identity(),
            _ => false,
        };
        values.iter().find(is_it).map(|value| replace(value))
    };
    let (mut bytes, mut variables) = (Vec::new(), Vec::new());
    canonical::encode_naming(atom, &mut bytes, |variable| variables.push(variable.clone()));
    let variable = |number: u32| variables[number as usize].clone();
    canonical::decode_naming(&bytes, variable, resolve).expect("what was encoded decodes")
}
