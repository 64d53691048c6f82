//! From the syntax tree to atoms: words become what the tokenizer says.

use crate::syntax::{NodeId, NodeKind, SyntaxTree, Visit};
use crate::tokenizer::Tokenizer;
use space::Atom;

/// The atom of a node of the tree, its words read by a tokenizer.
pub fn read_atom(tree: &SyntaxTree, node: NodeId, tokenizer: &Tokenizer) -> Atom {
    let mut open: Vec<Vec<Atom>> = vec![Vec::new()];
    for visit in tree.walk(node) {
        let atom = match visit {
            Visit::Open(_) => {
                open.push(Vec::new());
                continue;
            }
            Visit::Close(_) => Atom::expression(open.pop().expect("an expression was opened")),
            Visit::Leaf(leaf) => read_leaf(tree, leaf, tokenizer),
        };
        open.last_mut().expect("the outermost list is there").push(atom);
    }
    open.pop().and_then(|mut atoms| atoms.pop()).expect("a node is an atom")
}

fn read_leaf(tree: &SyntaxTree, leaf: NodeId, tokenizer: &Tokenizer) -> Atom {
    match tree.kind(leaf) {
        NodeKind::Word(word) => tokenizer.atom(word),
        NodeKind::Variable(name) => Atom::variable(name),
        NodeKind::String(text) => Atom::from(text),
        NodeKind::Expression(_) => unreachable!("an expression is not a leaf"),
    }
}
