//! What is documented: `(@doc name …)` facts, found where a space has them.

use space::{Atom, SharedSpace, Solution, Symbol, Variable, VariableSource};

/// What is documented about an atom.
#[derive(Clone, Debug)]
pub struct Documentation {
    /// What it is, a text as a rule.
    pub description: Atom,
    /// What is said of the parameters, `(@param "…")` each, and of the result, for a function.
    pub function: Option<(Vec<Atom>, Atom)>,
}

/// The documentation facts about an atom, those of functions first. A variable is not asked about: it is every atom.
pub(crate) fn facts_about(space: &SharedSpace, atom: &Atom, source: &mut VariableSource) -> Vec<Documentation> {
    if matches!(atom, Atom::Variable(_)) {
        return Vec::new();
    }
    let mut fresh = |name: &str| source.fresh(&Symbol::new(name));
    let [description, parameters, result] = ["description", "parameters", "result"].map(&mut fresh);
    let described = list("@desc", [Atom::from(description.clone())]);
    let params = list("@params", [Atom::from(parameters.clone())]);
    let returned = list("@return", [Atom::from(result.clone())]);
    let of_function = list("@doc", [atom.clone(), described.clone(), params, returned]);
    let of_atom = list("@doc", [atom.clone(), described]);
    let mut docs = Vec::new();
    for solution in space.query(&of_function, source) {
        let parameters = value_of(&solution, &parameters).and_then(|list| Some(list.children()?.to_vec()));
        if let (Some(description), Some(parameters), Some(result)) =
            (value_of(&solution, &description), parameters, value_of(&solution, &result))
        {
            docs.push(Documentation { description, function: Some((parameters, result)) });
        }
    }
    let simple = space.query(&of_atom, source).into_iter().filter_map(|found| value_of(&found, &description));
    docs.extend(simple.map(|description| Documentation { description, function: None }));
    docs
}

fn value_of(solution: &Solution, variable: &Variable) -> Option<Atom> {
    solution.iter().find(|(bound, _)| bound == variable).map(|(_, value)| value.clone())
}

/// An expression with this head.
pub(crate) fn list(head: &str, items: impl IntoIterator<Item = Atom>) -> Atom {
    let children: Vec<Atom> = std::iter::once(Atom::symbol(head)).chain(items).collect();
    Atom::expression(children)
}
