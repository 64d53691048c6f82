//! A row: an atom of a space as it is stored, and its canonical bytes without the atom.

use crate::atom::{Atom, Variable};
use crate::canonical;
use crate::term::{Content, Term, Terms};
use rustc_hash::FxHashMap;

/// An atom of a space as it is stored.
#[derive(Clone, Copy, Debug)]
pub enum Row<'a> {
    /// The expression of these terms.
    Expression(&'a [Term]),
    /// A symbol, a number or another rigid atom that is no expression.
    Leaf(Term),
    /// An atom with variables, states or spaces in it, which has no terms.
    Open(&'a Atom),
}

impl<'a> Row<'a> {
    /// A rigid atom whose row has these terms, or else the atom itself.
    pub(crate) fn of(atom: &'a Atom, terms: &'a [Term]) -> Self {
        match (atom.is_rigid(), atom.children().is_some()) {
            (false, _) => Self::Open(atom),
            (true, true) => Self::Expression(terms),
            (true, false) => Self::Leaf(terms[0]),
        }
    }

    /// The atom, for people: nothing that keeps, hashes or sends a row needs it.
    pub fn atom(self, terms: &Terms) -> Atom {
        match self {
            Self::Expression(row) => expression_of(row, terms),
            Self::Leaf(term) => terms.atom(term).clone(),
            Self::Open(atom) => atom.clone(),
        }
    }

    /// Appends the canonical bytes of the atom, straight from the dictionary. The variables of an atom that has no terms are handed
    /// out as [`canonical::encode_naming`] does.
    pub fn encode_into(self, terms: &Terms, bytes: &mut Vec<u8>, name: impl FnMut(&'a Variable)) {
        let is_whole = self.encode_within(terms, bytes, usize::MAX, name);
        debug_assert!(is_whole, "any number of bytes may be written");
    }

    /// Appends the canonical bytes of the row until `bytes` holds more than `most`; says whether these are all.
    pub fn encode_within(
        self,
        terms: &Terms,
        bytes: &mut Vec<u8>,
        most: usize,
        name: impl FnMut(&'a Variable),
    ) -> bool {
        match self {
            Self::Open(atom) => canonical::encode_within(atom, bytes, most, &mut FxHashMap::default(), name),
            Self::Leaf(leaf) => encode(&[leaf], terms, bytes, most),
            Self::Expression(children) => {
                canonical::begin_expression(bytes);
                let is_whole = encode(children, terms, bytes, most);
                canonical::end_expression(bytes);
                is_whole
            }
        }
    }
}

/// Expressions nested up to this depth are encoded without an allocation.
const SHALLOW: usize = 8;

/// Appends the canonical bytes of these terms, one after the other, until there are more than `most`; says whether these are
/// all. Their nesting takes no native stack.
fn encode(terms: &[Term], dictionary: &Terms, bytes: &mut Vec<u8>, most: usize) -> bool {
    let mut near: [std::slice::Iter<'_, Term>; SHALLOW] = Default::default();
    let (mut depth, mut deep) = (0, Vec::new());
    let mut rest = terms.iter();
    loop {
        let Some(&term) = rest.next() else {
            if depth == 0 {
                return true;
            }
            depth -= 1;
            canonical::end_expression(bytes);
            let around = if depth < SHALLOW { Some(std::mem::take(&mut near[depth])) } else { deep.pop() };
            rest = around.expect("an expression around it is open");
            continue;
        };
        match dictionary.content(term) {
            Content::Name(name) => canonical::encode_symbol(name, bytes),
            Content::Integer(value) => canonical::encode_integer(value, bytes),
            Content::Other(leaf) => canonical::encode_into(leaf, bytes),
            Content::Compound(_) if bytes.len() > most => return false,
            Content::Compound(children) => {
                canonical::begin_expression(bytes);
                let around = std::mem::replace(&mut rest, children.iter());
                match near.get_mut(depth) {
                    Some(place) => *place = around,
                    None => deep.push(around),
                }
                depth += 1;
            }
        }
    }
}

/// The expression of a row.
pub(crate) fn expression_of(row: &[Term], terms: &Terms) -> Atom {
    let children: Vec<Atom> = row.iter().map(|&term| terms.atom(term).clone()).collect();
    Atom::expression(children)
}
