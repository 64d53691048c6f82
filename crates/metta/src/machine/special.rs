//! Special forms: functions of the library that code has instructions for, as long as their rules are not changed.

use super::Running;
use crate::names;
use crate::types;
use space::{Atom, Symbol};

/// The forms, with how many arguments each takes.
const FORMS: [(&str, usize); 39] = [
    ("if", 3),
    ("id", 1),
    ("atom-subst", 3),
    ("let", 3),
    ("case", 2),
    ("collapse", 1),
    ("unify", 4),
    ("empty", 0),
    ("switch", 2),
    ("chain", 3),
    ("eval", 1),
    ("function", 1),
    ("context-space", 0),
    ("evalc", 2),
    ("metta", 3),
    ("car-atom", 1),
    ("cdr-atom", 1),
    ("cons-atom", 2),
    ("decons-atom", 1),
    ("map-atom", 3),
    ("filter-atom", 3),
    ("foldl-atom", 5),
    ("if-decons-expr", 5),
    ("unique", 1),
    ("union", 2),
    ("intersection", 2),
    ("subtraction", 2),
    ("transaction", 1),
    ("return-on-error", 2),
    ("assert", 1),
    ("assertEqual", 2),
    ("assertEqualMsg", 3),
    ("assertEqualToResult", 2),
    ("assertEqualToResultMsg", 3),
    ("assertAlphaEqual", 2),
    ("assertAlphaEqualMsg", 3),
    ("assertAlphaEqualToResult", 2),
    ("assertAlphaEqualToResultMsg", 3),
    ("assertIncludes", 2),
];

/// What the rules of a form call, where its code does not: a form whose parts have other rules is none.
const PARTS: [(&str, &str, usize); 6] = [
    ("switch", "id", 1),
    ("switch", "switch-minimal", 2),
    ("switch", "switch-internal", 2),
    ("case", "switch-minimal", 2),
    ("case", "switch-internal", 2),
    ("let", "unify", 4),
];

/// Whether a rule for this name changes a special form.
pub(super) fn is_special(name: &str) -> bool {
    FORMS.iter().any(|(form, _)| *form == name) || PARTS.iter().any(|(_, part, _)| *part == name)
}

impl Running<'_> {
    /// Whether a call is a special form that means what the library says.
    pub(super) fn is_special_form(&mut self, name: &str, arity: usize) -> bool {
        let Some(&(form, count)) = FORMS.iter().find(|(form, _)| *form == name) else { return false };
        if count != arity {
            return false;
        }
        if let Some(&known) = self.m.special.get(form) {
            return known;
        }
        let mut parts = PARTS.iter().filter(|(whole, ..)| *whole == form);
        let is_as_was = self.means_what_the_library_says(form, arity)
            && parts.all(|(_, part, arity)| self.means_what_the_library_says(part, *arity));
        self.m.special.insert(form, is_as_was);
        is_as_was
    }

    fn means_what_the_library_says(&mut self, form: &str, arity: usize) -> bool {
        let library = self.session.program.library_space();
        let source = self.session.variables();
        let arguments = (0..arity).map(|_| Atom::Variable(source.fresh(&Symbol::new("a"))));
        let call = Atom::expression(std::iter::once(Atom::symbol(form)).chain(arguments).collect::<Vec<_>>());
        let body = Atom::Variable(source.fresh(names::asked()));
        let rule = Atom::expression([names::equal(), call, body]);
        let head = Atom::symbol(form);
        let rules = library.query(&rule, source).len();
        let types = types::types_of(&library, &head, source);
        // A library may lack it.
        let is_there = rules > 0 || types.iter().any(|found| !found.atom.is_symbol(names::UNDEFINED));
        is_there
            && self.space.query(&rule, source).len() == rules
            && types::types_of(&self.space, &head, source).len() == types.len()
    }
}
