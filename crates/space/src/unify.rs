//! Two-sided unification of a query with a stored atom.
//!
//! The two sides have scopes of their own: a query's variables are bound in [`Bindings`], a stored atom's variables
//! are slots numbered from 0, renamed apart by construction. A slot always holds an atom of the query's scope.
//!
//! 1. Take the next pair, left to right.
//! 2. A slot takes the query's atom, or is compared by what it holds.
//! 3. A variable of the query is bound to the stored atom, its slots filled (an empty one with a fresh variable).
//!    Of two variables the younger is bound to the older.
//! 4. Expressions of equal length contribute their children; leaves must be equal.
//! 5. A space on either side stands for a query of that space; it is set aside and asked at the end. So does a value that says itself
//!    what it matches.
//! 6. Bindings that contain a variable in its own value are not a solution. They are looked for at the end, and when
//!    the walk is long: two such values would be compared for ever.
//!
//! Cost: linear in the smaller of the two atoms, besides the size of what is bound.

use crate::atom::{Atom, Expression, Variable, VariableSource};
use crate::bindings::Bindings;
use crate::grounded::Grounded;
use crate::rewrite::instantiate;
use crate::sharing::Met;
use crate::space_handle::SharedSpace;

/// A query that unification met on its way: this pattern must match in this space.
pub(crate) type Deferred = Vec<(SharedSpace, Atom)>;

/// After this many pairs, and each time that twice as many were met, a walk makes sure that it ends.
const PAIRS_UNCHECKED: usize = 1_000;

enum Pair {
    /// A query atom and a stored one.
    Stored(Atom, Atom),
    /// Two atoms of the query's scope.
    Same(Atom, Atom),
}

impl Pair {
    /// Where two expressions lie, and whether one of them is stored.
    fn places(&self) -> Option<(usize, usize, bool)> {
        match self {
            Self::Same(Atom::Expression(left), Atom::Expression(right)) => Some((left.place(), right.place(), false)),
            Self::Stored(Atom::Expression(left), Atom::Expression(right)) => Some((left.place(), right.place(), true)),
            _ => None,
        }
    }
}

/// The state of one unification.
pub struct Unifier<'a> {
    bindings: Bindings,
    slots: Vec<Option<Atom>>,
    source: &'a mut VariableSource,
    deferred: Deferred,
    /// Whether an expression with variables was bound, so that a loop is possible.
    may_loop: bool,
}

impl<'a> Unifier<'a> {
    /// A unification with a stored atom that has this many variables.
    pub fn new(slots: usize, source: &'a mut VariableSource) -> Self {
        Self { bindings: Bindings::default(), slots: vec![None; slots], source, deferred: Vec::new(), may_loop: false }
    }

    /// A unification of atoms of one scope that goes on from what is bound already.
    pub fn under(bindings: Bindings, source: &'a mut VariableSource) -> Self {
        let may_loop = !bindings.is_empty();
        Self { bindings, slots: Vec::new(), source, deferred: Vec::new(), may_loop }
    }

    /// Unifies a query atom with a stored one; `false` when they do not match.
    pub fn unify_stored(&mut self, query: &Atom, stored: &Atom) -> bool {
        self.run(vec![Pair::Stored(query.clone(), stored.clone())])
    }

    /// Unifies two atoms of the query's scope.
    pub fn unify(&mut self, left: &Atom, right: &Atom) -> bool {
        self.run(vec![Pair::Same(left.clone(), right.clone())])
    }

    /// What was bound; `None` if a variable is bound to something around itself, or a space is to be asked first.
    pub fn into_bindings(self) -> Option<Bindings> {
        let (bindings, deferred, _) = self.into_parts()?;
        deferred.is_empty().then_some(bindings)
    }

    /// What was bound, the queries still to ask, and where variables come from; `None` when a variable is bound to something
    /// around itself.
    pub(crate) fn into_parts(self) -> Option<(Bindings, Deferred, &'a mut VariableSource)> {
        if self.may_loop && self.bindings.has_loop() {
            return None;
        }
        Some((self.bindings, self.deferred, self.source))
    }

    fn run(&mut self, mut pairs: Vec<Pair>) -> bool {
        let (mut met, mut check) = (0_usize, PAIRS_UNCHECKED);
        let mut equal = Met::default();
        while let Some(pair) = pairs.pop() {
            met += 1;
            if met == check {
                if self.may_loop && self.bindings.has_loop() {
                    return false;
                }
                check *= 2;
            }
            if self.deferred.is_empty() && pair.places().is_some_and(|places| !equal.is_new(places)) {
                // What was made equal is equal wherever it is met again; but a space is asked each time.
                continue;
            }
            let matched = match pair {
                Pair::Stored(query, stored) => self.step_stored(query, stored, &mut pairs),
                Pair::Same(left, right) => self.step_same(left, right, &mut pairs),
            };
            if !matched {
                return false;
            }
        }
        true
    }

    fn step_stored(&mut self, query: Atom, stored: Atom, pairs: &mut Vec<Pair>) -> bool {
        if let Atom::Variable(slot) = &stored {
            let index = usize::try_from(slot.id()).expect("slots are numbered from 0");
            match &self.slots[index] {
                Some(value) => pairs.push(Pair::Same(query, value.clone())),
                None => self.slots[index] = Some(query),
            }
            return true;
        }
        if stored.is_ground() || matches!(stored, Atom::Grounded(_)) {
            return self.step_same(query, stored, pairs);
        }
        match self.bindings.walk(&query).clone() {
            Atom::Variable(variable) => {
                let value = instantiate(&stored, &mut self.slots, self.source);
                self.bind(variable, value);
                true
            }
            Atom::Expression(query) => match &stored {
                Atom::Expression(stored) => push_children(&query, stored, pairs, Pair::Stored),
                _ => false,
            },
            Atom::Grounded(Grounded::Space(space)) => {
                let pattern = instantiate(&stored, &mut self.slots, self.source);
                self.deferred.push((space, pattern));
                true
            }
            _ => false,
        }
    }

    fn step_same(&mut self, left: Atom, right: Atom, pairs: &mut Vec<Pair>) -> bool {
        let left = self.bindings.walk(&left).clone();
        let right = self.bindings.walk(&right).clone();
        if left.is_rigid() && right.is_rigid() {
            return left == right;
        }
        match (left, right) {
            (Atom::Variable(left), Atom::Variable(right)) => {
                if left != right {
                    let (older, younger) = if left.id() <= right.id() { (left, right) } else { (right, left) };
                    self.bindings.bind(younger, Atom::Variable(older));
                }
                true
            }
            (Atom::Variable(variable), value) | (value, Atom::Variable(variable)) => {
                self.bind(variable, value);
                true
            }
            (Atom::Expression(left), Atom::Expression(right)) => push_children(&left, &right, pairs, Pair::Same),
            // What says itself what it matches is asked even if it meets itself.
            (Atom::Grounded(Grounded::Space(space)), pattern) | (pattern, Atom::Grounded(Grounded::Space(space)))
                if space.matcher().is_some() =>
            {
                self.deferred.push((space, pattern));
                true
            }
            (left, right) if left == right => true,
            (Atom::Grounded(Grounded::Space(space)), pattern) | (pattern, Atom::Grounded(Grounded::Space(space))) => {
                self.deferred.push((space, pattern));
                true
            }
            _ => false,
        }
    }

    fn bind(&mut self, variable: Variable, value: Atom) {
        self.may_loop |= !value.is_ground();
        self.bindings.bind(variable, value);
    }
}

fn push_children(left: &Expression, right: &Expression, pairs: &mut Vec<Pair>, make: fn(Atom, Atom) -> Pair) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let children = left.children().iter().zip(right.children()).rev();
    pairs.extend(children.map(|(left, right)| make(left.clone(), right.clone())));
    true
}
