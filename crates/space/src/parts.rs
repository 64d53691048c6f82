//! The parts of an atom, for walks that look for something in it.
//!
//! 1. Parts come in the order in which they are written, each expression before what is in it.
//! 2. An expression that other expressions share is looked into once, as soon as the walk has gone through a thousand: what is small in
//!    memory is small for a walk, however long it would be if it was written out.
//! 3. A walk takes memory for the levels that are open and, after that thousand, for each expression. A flat atom takes none.

use crate::atom::{Atom, Variable};
use crate::grounded::Grounded;
use crate::sharing::Met;

/// What is still to come at one level.
enum Rest<'a> {
    Children(std::slice::Iter<'a, Atom>),
    Pairs(std::slice::Iter<'a, (Variable, Atom)>),
}

impl<'a> Rest<'a> {
    fn next(&mut self) -> Option<&'a Atom> {
        match self {
            Self::Children(children) => children.next(),
            Self::Pairs(pairs) => pairs.next().map(|(_, value)| value),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Children(children) => children.as_slice().is_empty(),
            Self::Pairs(pairs) => pairs.as_slice().is_empty(),
        }
    }
}

/// The parts of an atom: see [`distinct_parts`].
pub struct Parts<'a, F> {
    rest: Rest<'a>,
    /// The levels around, but for those of which nothing is left.
    around: Vec<Rest<'a>>,
    met: Met<usize>,
    enters: F,
}

/// All parts of an atom, itself first: children of expressions, and values of bindings.
pub fn distinct_parts(atom: &Atom) -> impl Iterator<Item = &Atom> {
    distinct_parts_in(atom, |_| true)
}

/// All parts of an atom, itself first, without those in the expressions and bindings that the walk is not to enter.
pub fn distinct_parts_in<'a, F: FnMut(&'a Atom) -> bool>(atom: &'a Atom, enters: F) -> Parts<'a, F> {
    Parts { rest: Rest::Children(std::slice::from_ref(atom).iter()), around: Vec::new(), met: Met::default(), enters }
}

/// All parts of an atom, itself first, without those in expressions that are rigid.
pub fn distinct_open_parts(atom: &Atom) -> impl Iterator<Item = &Atom> {
    distinct_parts_in(atom, |part| !part.is_rigid())
}

impl<'a, F: FnMut(&'a Atom) -> bool> Iterator for Parts<'a, F> {
    type Item = &'a Atom;

    fn next(&mut self) -> Option<&'a Atom> {
        // It is as long as what is left of levels that are done; whoever asks for parts looks at limits.
        loop {
            let Some(part) = self.rest.next() else {
                self.rest = self.around.pop()?;
                continue;
            };
            let inside = match part {
                Atom::Expression(expression) if !expression.is_empty() && (self.enters)(part) => {
                    if !self.met.is_new(expression.place()) {
                        continue;
                    }
                    Rest::Children(expression.children().iter())
                }
                Atom::Grounded(Grounded::Bindings(solution)) if (self.enters)(part) => Rest::Pairs(solution.iter()),
                _ => return Some(part),
            };
            let outside = std::mem::replace(&mut self.rest, inside);
            if !outside.is_empty() {
                self.around.push(outside);
            }
            return Some(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn parts_come_in_the_order_in_which_they_are_written() {
        let inner = Atom::expression([Atom::symbol("b"), Atom::unit()]);
        let bound = Atom::Grounded(Grounded::Bindings(Arc::new(vec![(Variable::new("x"), Atom::symbol("c"))])));
        let atom = Atom::expression([Atom::symbol("a"), inner, bound, Atom::variable("z")]);
        let found: Vec<String> = distinct_parts(&atom).skip(1).map(Atom::to_string).collect();
        assert_eq!(found, ["a", "(b ())", "b", "()", "{ $x <- c }", "c", "$z"]);
        let open: Vec<String> = distinct_open_parts(&atom).skip(1).map(Atom::to_string).collect();
        assert_eq!(open, ["a", "(b ())", "{ $x <- c }", "c", "$z"]);
    }

    #[test]
    fn shared_parts_are_looked_into_once() {
        let mut atom = Atom::symbol("a");
        for _ in 0..60 {
            atom = Atom::expression([atom.clone(), Atom::variable("x"), atom]);
        }
        assert!(distinct_parts(&atom).count() < 1 << 12);
        assert_eq!(distinct_parts_in(&atom, |_| false).count(), 1);
    }
}
