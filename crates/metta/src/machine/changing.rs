//! Programs that may change rules while a form is evaluated.
//!
//! 1. Some differences show only where a rule changes: whether a call that came to itself is marked as evaluated, whether a constructor is
//!    put around results one by one or when all are there, whether a form's rule is looked up before or after its arguments.
//!    They show only where a rule is added or removed in between.
//! 2. A rule can be changed only by a native function, and a function that is called is an atom of the form or of the space:
//!    atoms are looked through once, where they come into the space, and a form before it is evaluated.
//! 3. Where none is found, code is made that does not look. Else code is exact (`Machine::is_exact`), from then on.
//! 4. A call that stands for itself beside other results of its own shows it too: the word `NotReducible`, and code, which
//!    may come to it, count as such functions.
//!
//! A call that adds a fact whose head is written out changes no rule. Nothing is kept while a form only adds an
//! atom.

use super::classes::{CHANGER, class_of, classify_head};
use crate::effects::Effects;
use crate::instructions::is_function;
use crate::names;
use crate::operation::Operation;
use space::{Atom, distinct_parts_in};

/// Of which class the adding or removing of an atom is.
pub(crate) fn classify(atom: &Atom) -> usize {
    if may_change_rules(atom) { CHANGER } else { class_of(atom) }
}

/// Whether evaluating an atom may change rules, or let a call stand for itself, as far as it is written out.
fn may_change_rules(atom: &Atom) -> bool {
    // Of a call that adds a fact only the space says more.
    let mut spaces = vec![atom];
    while let Some(atom) = spaces.pop() {
        let enters = |part: &Atom| space_of_added_fact(part).is_none();
        for part in distinct_parts_in(atom, enters) {
            match space_of_added_fact(part) {
                Some(space) => spaces.push(space),
                None if is_function(part) || is_changer(part) || part.is_symbol(names::NOT_REDUCIBLE) => return true,
                None => {}
            }
        }
    }
    false
}

/// Where a fact is added, if an atom is a call that does so and the head of the fact is written out.
fn space_of_added_fact(atom: &Atom) -> Option<&Atom> {
    match atom.children()? {
        [head, space, added] if is_changer(head) && is_fact(added) => Some(space),
        _ => None,
    }
}

/// Whether a symbol of this name may make [`may_change_rules`] true of an atom that has no native function and no variable in it.
pub(crate) fn is_word_of_code(name: &str) -> bool {
    name == "function" || name == names::NOT_REDUCIBLE
}

/// Whether evaluating a form may change rules, or let a call stand for itself; that the form itself adds an atom does not count.
pub(super) fn form_may_change_rules(form: &Atom) -> bool {
    match form.children() {
        Some([head, space, _]) if is_changer(head) => may_change_rules(space),
        _ => may_change_rules(form),
    }
}

/// Whether an atom is a native function that may change rules.
fn is_changer(atom: &Atom) -> bool {
    Operation::of(atom).is_some_and(|operation| operation.effects().have(Effects::CHANGES_RULES))
}

/// Whether an atom is a fact that no evaluation looks up, whatever its variables stand for.
fn is_fact(atom: &Atom) -> bool {
    matches!(atom.head(), Some(Atom::Symbol(head)) if classify_head(head.as_str()).is_some())
}
