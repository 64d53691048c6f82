//! Atoms whose spaces, states and other grounded values are exchanged for others.

use space::canonical::{self, Unresolved};
use space::{Atom, Grounded, distinct_open_parts, distinct_parts};

/// The grounded values in an atom.
pub(crate) fn grounded_in(atom: &Atom) -> Vec<&Grounded> {
    let values = distinct_parts(atom).filter_map(|part| match part {
        Atom::Grounded(Grounded::Bindings(_)) => None,
        Atom::Grounded(value) => Some(value),
        _ => None,
    });
    values.collect()
}

/// Whether an atom holds a space or a state. What interned terms can express is not walked.
pub(crate) fn holds_handles(atom: &Atom) -> bool {
    distinct_open_parts(atom).any(|part| matches!(part, Atom::Grounded(Grounded::Space(_) | Grounded::State(_))))
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
