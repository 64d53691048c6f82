//! From the syntax tree to atoms: words become what the tokenizer says.

use crate::syntax::{NodeId, NodeKind, SyntaxTree, Visit};
use crate::tokenizer::Tokenizer;
use space::Atom;

/// The atom of a node of the tree, its words read by a tokenizer.
pub fn read_atom(tree: &SyntaxTree, node: NodeId, tokenizer: &Tokenizer) -> Atom {
    // What was read of the expressions that are open, and where each begins in it.
    let (mut atoms, mut open) = (Vec::with_capacity(16), Vec::with_capacity(8));
    for visit in tree.walk(node) {
        match visit {
            Visit::Open(_) => open.push(atoms.len()),
            Visit::Close(_) => {
                let children = atoms.split_off(open.pop().expect("an expression was opened"));
                atoms.push(Atom::expression(children));
            }
            Visit::Leaf(leaf) => atoms.push(read_leaf(tree, leaf, tokenizer)),
        }
    }
    atoms.pop().expect("a node is an atom")
}

fn read_leaf(tree: &SyntaxTree, leaf: NodeId, tokenizer: &Tokenizer) -> Atom {
    match tree.kind(leaf) {
        NodeKind::Word(word) => tokenizer.atom(word),
        NodeKind::Variable(name) => Atom::variable(name),
        NodeKind::String(text) => Atom::from(text),
        NodeKind::Expression(_) => unreachable!("an expression is not a leaf"),
    }
}
