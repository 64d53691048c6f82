//! What a space is asked for to find the rules of a function.

use crate::names;
use space::{Atom, SharedSpace, Solution, Symbol, Variable, VariableSource};

/// What asks for rules: `(= (head $1 …) $body)`.
pub(crate) struct AskedRules {
    pub(crate) rule: Atom,
    pub(crate) arguments: Vec<Variable>,
    pub(crate) body: Variable,
}

impl AskedRules {
    /// What asks for the rules of a call whose arguments are these variables.
    pub(crate) fn new(call: Atom, arguments: Vec<Variable>, source: &mut VariableSource) -> Self {
        let body = source.fresh(names::asked());
        let rule = Atom::expression([names::equal(), call, Atom::Variable(body.clone())]);
        Self { rule, arguments, body }
    }

    /// What asks for the rules of a function with a number of arguments.
    pub(crate) fn of(name: &Symbol, arguments: usize, source: &mut VariableSource) -> Self {
        let arguments: Vec<Variable> = (0..arguments).map(|_| source.fresh(names::asked())).collect();
        let variables = arguments.iter().cloned().map(Atom::Variable);
        let call = std::iter::once(Atom::Symbol(name.clone())).chain(variables);
        Self::new(Atom::expression(call.collect::<Vec<_>>()), arguments, source)
    }

    /// The arguments and the body of a rule that was found.
    pub(crate) fn found(&self, solution: &Solution) -> (Vec<Atom>, Atom) {
        let value = |variable: &Variable| {
            let bound = solution.iter().find(|(bound, _)| bound == variable).map(|(_, value)| value.clone());
            bound.unwrap_or_else(|| Atom::Variable(variable.clone()))
        };
        (self.arguments.iter().map(value).collect(), value(&self.body))
    }

    /// The arguments and the bodies of all rules, as a space has them, in their order.
    pub(crate) fn all_in(&self, space: &SharedSpace, source: &mut VariableSource) -> Vec<(Vec<Atom>, Atom)> {
        space.query(&self.rule, source).iter().map(|solution| self.found(solution)).collect()
    }
}
