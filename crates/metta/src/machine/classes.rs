//! The classes of atoms by which a space counts what is added to it and removed: what a change makes out of date.

use crate::names;
use crate::stdlib::forms::is_special;
use space::{Atom, Grounded};

/// A fact that no evaluation looks up.
pub(crate) const FACT: usize = 0;
/// A rule.
pub(super) const RULE: usize = 1;
/// A type, a subtype, a rule of a special form or of calls whose head is no name, or what any lookup may match.
pub(super) const SHAPE: usize = 2;
/// The type of an expression, `(: (two things) Pair)`: the head of the expression does not say it.
pub(super) const WHOLE_TYPE: usize = 3;
/// What may change rules when it is evaluated.
pub(super) const CHANGER: usize = 4;
/// A space inside a space, if lookups of rules and types meet it ([`super::spaces_asked`]), or an import.
pub(super) const NESTED: usize = 5;

/// What rules and types begin with.
pub(super) const LOOKED_UP: [&str; 3] = [names::EQUAL, names::HAS_TYPE, names::SUBTYPE];

/// Of which class the adding or removing of an atom is that changes no rules when it is evaluated.
pub(super) fn class_of(atom: &Atom) -> usize {
    match atom {
        Atom::Variable(_) => SHAPE,
        atom if is_space(atom) => NESTED,
        Atom::Expression(_) => match atom.children() {
            Some([relation, subject, _])
                if is_space(relation)
                    || may_be_asked(relation) && (is_space(subject) || begins_with_space(subject)) =>
            {
                NESTED
            }
            Some([Atom::Symbol(head), rest @ ..]) => match head.as_str() {
                names::EQUAL => class_of_rule(rest.first()),
                names::HAS_TYPE if matches!(rest.first(), Some(Atom::Expression(_))) => WHOLE_TYPE,
                names::HAS_TYPE | names::SUBTYPE => SHAPE,
                _ => FACT,
            },
            // A query of types finds it, too: `$relation` may be `:`.
            Some([Atom::Variable(_), Atom::Expression(_), _]) => WHOLE_TYPE,
            Some([Atom::Variable(_) | Atom::Grounded(Grounded::Space(_)), ..]) => SHAPE,
            _ => FACT,
        },
        Atom::Symbol(_) | Atom::Grounded(_) => FACT,
    }
}

fn is_space(atom: &Atom) -> bool {
    matches!(atom, Atom::Grounded(Grounded::Space(_)))
}

fn begins_with_space(atom: &Atom) -> bool {
    atom.head().is_some_and(is_space)
}

/// Whether the lookup of a rule or a type meets atoms that begin like this.
fn may_be_asked(relation: &Atom) -> bool {
    match relation {
        Atom::Symbol(name) => LOOKED_UP.contains(&name.as_str()),
        Atom::Variable(_) => true,
        _ => false,
    }
}

fn class_of_rule(call: Option<&Atom>) -> usize {
    match call.map(|call| call.head().unwrap_or(call)) {
        Some(Atom::Symbol(head)) if is_special(head.as_str()) => SHAPE,
        Some(Atom::Symbol(_)) | None => RULE,
        // What reduces a call whose head is no name is asked for as rarely as such a rule comes.
        Some(_) => SHAPE,
    }
}

/// The class of an expression with this head, if the head says it.
pub(crate) fn classify_head(head: &str) -> Option<usize> {
    (!LOOKED_UP.contains(&head)).then_some(FACT)
}
