//! Atoms whose spaces, states and other grounded values are exchanged for others.

use space::{Atom, Grounded, distinct_open_parts, distinct_parts, replace_leaves};

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
    replace_leaves(atom, |leaf| match leaf {
        Atom::Grounded(value @ (Grounded::Space(_) | Grounded::State(_) | Grounded::Host(_))) => replace(value),
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use space::{SharedState, Variable};
    use std::sync::Arc;

    #[test]
    fn what_is_shared_stays_shared_and_bindings_are_looked_into() {
        let state = SharedState::new(1, Atom::symbol("a"), Atom::symbol("T"));
        let bound = vec![(Variable::new("x"), Atom::from(state.clone()))];
        let mut atom = Atom::expression([Atom::from(state), Atom::Grounded(Grounded::Bindings(Arc::new(bound)))]);
        for _ in 0..60 {
            atom = Atom::expression([Atom::symbol("P"), atom.clone(), atom]);
        }
        assert!(holds_handles(&atom));
        let exchanged = exchange(&atom, |_| Atom::symbol("b"));
        assert!(!holds_handles(&exchanged));
        let innermost = (0..60).fold(&exchanged, |atom, _| &atom.children().expect("it has parts")[2]);
        assert_eq!(innermost.to_string(), "(b { $x <- b })");
    }
}
