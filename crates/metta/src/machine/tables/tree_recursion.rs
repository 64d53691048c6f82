//! Which functions are pure, and call themselves at two places: those whose calls are worth to be remembered.
//!
//! 1. The rules of a function, and of all functions that they call, are looked through as they are written. A right side is *pure* if
//!    each expression in it is one of: a call of a function with pure rules; what takes values apart and chooses among its parts ([`Parts`]), and
//!    means what the library says; a native function without effects that comes to a number, a truth value or a text; data whose head is a symbol.
//!    A variable at the head of an expression may stand for anything, so it is not pure.
//! 2. Since only calls are remembered whose arguments are leaves, whatever is evaluated for one is an expression of this kind.
//! 3. A function is a *tree recursion* if one way through one of its right sides has two calls from which it is called again.
//!
//! All this holds for rules and types as they stand. Where they may change while a form is evaluated, nothing is remembered.

use super::super::Running;
use super::super::code::{Callee, Slot};
use super::super::depth::is_deep;
use crate::effects::Effects;
use crate::names;
use crate::operation::Operation;
use crate::rules::{Parts, Reading};
use crate::types;
use rustc_hash::{FxHashMap, FxHashSet};
use space::{Atom, Grounded, VariableSource, distinct_parts};

/// A function that calls more functions than this, directly or not, is not looked through.
const FUNCTIONS_MAX: usize = 128;

/// What types native functions may come to that are called here: values of these are evaluated to themselves.
const LEAF_TYPES: [&str; 3] = [names::NUMBER, names::BOOL, names::STRING];

/// How the calls of a right side lie: what is evaluated in one way through it.
enum Ways {
    /// A call, after its arguments.
    Call(Callee),
    /// All of these.
    All(Vec<Ways>),
    /// One of these.
    OneOf(Vec<Ways>),
}

impl Ways {
    /// None at all.
    const NONE: Self = Self::All(Vec::new());

    /// The most calls of certain functions on one way.
    fn most(&self, counts: &impl Fn(Callee) -> bool) -> usize {
        match self {
            Self::Call(callee) => usize::from(counts(*callee)),
            Self::All(parts) => parts.iter().map(|part| part.most(counts)).sum(),
            Self::OneOf(ways) => ways.iter().map(|way| way.most(counts)).max().unwrap_or(0),
        }
    }

    /// Notes all functions that are called.
    fn callees(&self, found: &mut Vec<Callee>) {
        match self {
            Self::Call(callee) => found.push(*callee),
            Self::All(parts) | Self::OneOf(parts) => parts.iter().for_each(|part| part.callees(found)),
        }
    }
}

/// The right sides of pure functions.
type Bodies = FxHashMap<Callee, Vec<Ways>>;

impl Running<'_> {
    /// Whether a function is pure, and calls itself at two places of one right side, as rules stand.
    pub(super) fn is_pure_tree_recursion(&mut self, callee: Callee) -> bool {
        if let Some(&known) = self.m.rule_cache.tree_recursions.get(&callee) {
            return known;
        }
        let bodies = self.taking_no_numbers(|run| PureRules { run }.bodies(callee));
        let is_one = bodies.is_some_and(|bodies| is_tree_recursion(callee, &bodies));
        self.m.rule_cache.tree_recursions.insert(callee, is_one);
        is_one
    }

    /// Looks at rules. Numbers of variables are part of what a program prints: this takes none.
    pub(in crate::machine) fn taking_no_numbers<T>(&mut self, look: impl FnOnce(&mut Self) -> T) -> T {
        let last = self.session.program.variables().last();
        let found = look(self);
        self.take_numbers_from(last);
        found
    }

    /// The next variable gets the number after this one, whatever was looked at since.
    pub(in crate::machine) fn take_numbers_from(&mut self, last: u64) {
        let mut source = VariableSource::default();
        source.advance_to(last);
        *self.session.program.variables() = source;
    }
}

/// Reads rules, and says how the calls of pure ones lie.
struct PureRules<'a, 'r> {
    run: &'a mut Running<'r>,
}

impl PureRules<'_, '_> {
    /// The right sides of a function and of all that it calls; `None` if one is not pure.
    fn bodies(&mut self, callee: Callee) -> Option<Bodies> {
        let (mut bodies, mut work) = (Bodies::default(), vec![callee]);
        while let Some(callee) = work.pop() {
            if bodies.contains_key(&callee) {
                continue;
            }
            if bodies.len() == FUNCTIONS_MAX {
                return None;
            }
            let found = self.rules(callee)?;
            // Most functions call nothing at two places.
            if bodies.is_empty() && found.iter().all(|ways| ways.most(&|_| true) < 2) {
                return None;
            }
            found.iter().for_each(|ways| ways.callees(&mut work));
            bodies.insert(callee, found);
        }
        Some(bodies)
    }

    fn rules(&mut self, (head, count): Callee) -> Option<Vec<Ways>> {
        if self.run.session.tables.is_tabled(self.run.m.values.symbol_of(head)) {
            return None;
        }
        let rules = self.run.rules_of(head, count)?;
        let mut found = Vec::with_capacity(rules.len());
        for (patterns, body) in &rules {
            if !patterns.iter().all(is_plain_pattern) || is_deep(body) {
                return None;
            }
            found.push(self.ways(body)?);
        }
        Some(found)
    }

    /// The calls of an expression that is pure.
    fn ways(&mut self, atom: &Atom) -> Option<Ways> {
        match atom {
            Atom::Symbol(name) => (name.as_str() != names::NOT_REDUCIBLE).then_some(Ways::NONE),
            Atom::Variable(_) => Some(Ways::NONE),
            Atom::Grounded(value) => is_plain_value(value).then_some(Ways::NONE),
            Atom::Expression(_) => self.ways_of_expression(atom),
        }
    }

    fn ways_of_expression(&mut self, atom: &Atom) -> Option<Ways> {
        let reading = Reading::of(atom);
        let Some((head, arguments)) = reading.call else { return Some(Ways::NONE) };
        if let Some(form) = reading.form {
            self.run.special_form(form.name, form.arity)?;
        }
        if reading.operation.is_some_and(|operation| !has_no_effects(operation)) {
            return None;
        }
        if let Some(parts) = reading.shape.parts() {
            return self.ways_of_parts(&parts);
        }
        match (reading.form, reading.operation) {
            (Some(_), _) => None,
            (None, Some(operation)) if !comes_to_a_leaf(operation) => None,
            (None, Some(_)) => Some(Ways::All(self.all(arguments)?)),
            (None, None) => self.ways_of_call(head, arguments, atom),
        }
    }

    fn ways_of_parts(&mut self, parts: &Parts<'_>) -> Option<Ways> {
        if !parts.patterns.iter().all(|pattern| is_plain_pattern(pattern)) {
            return None;
        }
        let mut ways = self.all(parts.always.iter().copied())?;
        ways.push(Ways::OneOf(self.all(parts.one_of.iter().copied())?));
        Some(Ways::All(ways))
    }

    fn ways_of_call(&mut self, head: &Atom, arguments: &[Atom], call: &Atom) -> Option<Ways> {
        let Atom::Symbol(name) = head else { return None };
        if crate::instructions::is_instruction(call) {
            return None;
        }
        let mut ways = self.all(arguments)?;
        let count = Slot::try_from(arguments.len()).ok()?;
        let head = self.run.m.values.symbol(name);
        if !self.run.rules_of(head, count)?.is_empty() {
            ways.push(Ways::Call((head, count)));
        }
        Some(Ways::All(ways))
    }

    fn all<'a>(&mut self, atoms: impl IntoIterator<Item = &'a Atom>) -> Option<Vec<Ways>> {
        atoms.into_iter().map(|atom| self.ways(atom)).collect()
    }
}

/// Whether the call of a native function is made of its arguments alone, and by the library.
fn has_no_effects(operation: &Operation) -> bool {
    operation.effects() == Effects::NONE && operation.host_function().is_none()
}

/// Whether a native function comes to what is evaluated to itself, by its type.
fn comes_to_a_leaf(operation: &Operation) -> bool {
    use space::HostValue;
    let found = operation.type_atom();
    if !types::is_function(&found) {
        return false;
    }
    let (_, result) = types::function_parts(&found);
    LEAF_TYPES.iter().any(|name| result.is_symbol(name))
}

/// Whether a value means the same whatever happens.
fn is_plain_value(value: &Grounded) -> bool {
    matches!(value, Grounded::Number(_) | Grounded::Bool(_) | Grounded::Text(_))
}

/// Whether a pattern takes values apart and does nothing else.
fn is_plain_pattern(pattern: &Atom) -> bool {
    distinct_parts(pattern).all(|part| match part {
        Atom::Grounded(value) => is_plain_value(value),
        _ => true,
    })
}

/// Whether a function has a right side with two calls on one way from which it is called again.
fn is_tree_recursion(callee: Callee, bodies: &Bodies) -> bool {
    let mut calls: FxHashMap<Callee, bool> = FxHashMap::default();
    let mut found = Vec::new();
    bodies[&callee].iter().for_each(|ways| ways.callees(&mut found));
    for called in found {
        let comes_back = reaches(called, callee, bodies);
        calls.insert(called, comes_back);
    }
    bodies[&callee].iter().any(|ways| ways.most(&|called| calls[&called]) >= 2)
}

/// Whether a function calls another, directly or not, or is that.
fn reaches(from: Callee, to: Callee, bodies: &Bodies) -> bool {
    let (mut met, mut work) = (FxHashSet::default(), vec![from]);
    while let Some(callee) = work.pop() {
        if callee == to {
            return true;
        }
        if met.insert(callee) {
            bodies[&callee].iter().for_each(|ways| ways.callees(&mut work));
        }
    }
    false
}
