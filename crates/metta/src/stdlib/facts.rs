//! The `@doc` facts of the library and of the modules that come with it.
//!
//! 1. What is not an operation has its fact in a text, `documentation.metta`.
//! 2. An operation's fact is made from its specification.
//! 3. `(operations name …)` in the text is the place of the facts of these operations; those of all others follow at the end. So
//!    the order tells a story, and a new operation needs no place in it.

use crate::documentation::list;
use crate::operation::{OperationDocumentation, OperationSpec};
use crate::reader::read_atom;
use crate::syntax::{self, NodeKind};
use crate::tokenizer::Tokenizer;
use space::Atom;

/// The head of a form of the text that lists operations.
const LIST: &str = "operations";

/// All facts, in order.
///
/// # Panics
/// The text does not parse, or it lists an operation that is not among these, or twice.
pub(crate) fn documentation_facts(
    text: &str,
    operations: impl Iterator<Item = &'static OperationSpec>,
    words: &Tokenizer,
) -> Vec<Atom> {
    let mut left: Vec<_> = operations.collect();
    let parsed = syntax::parse(text);
    assert!(parsed.first_error().is_none(), "documentation parses: {:?}", parsed.first_error());
    let tree = &parsed.tree;
    let mut facts = Vec::new();
    for form in tree.forms() {
        let mut children = tree.children(form.node);
        if !children.next().is_some_and(|head| tree.kind(head) == NodeKind::Word(LIST)) {
            facts.push(read_atom(tree, form.node, words));
            continue;
        }
        for child in children {
            let NodeKind::Word(name) = tree.kind(child) else { panic!("({LIST} …) lists names") };
            let place = left.iter().position(|spec| spec.name == name);
            let spec = left.remove(place.unwrap_or_else(|| panic!("{name} is not an operation, or listed twice")));
            facts.extend(fact_of(spec, words));
        }
    }
    facts.extend(left.into_iter().filter_map(|spec| fact_of(spec, words)));
    facts
}

/// The fact about an operation; none if nothing is said about it, which a test objects to.
fn fact_of(spec: &OperationSpec, words: &Tokenizer) -> Option<Atom> {
    let OperationDocumentation { description, parameters, result } = spec.documentation?;
    let text = |head: &str, text: &str| list(head, [Atom::from(text)]);
    let parameters: Vec<Atom> = parameters.iter().map(|parameter| text("@param", parameter)).collect();
    let parameters = list("@params", [Atom::expression(parameters)]);
    let parts = [words.atom(spec.name), text("@desc", description), parameters, text("@return", result)];
    Some(list("@doc", parts))
}
