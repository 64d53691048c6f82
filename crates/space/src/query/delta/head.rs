//! What answers depend on: the lengths and heads of rows.

use super::rows::SignedRows;
use crate::atom::Atom;
use crate::term::Terms;
use rustc_hash::FxHashSet;

/// What is known of the rows that a pattern matches: their length, and their head if it is written out.
///
/// A row that changed has two: its length with its head, and its length alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Head {
    length: usize,
    name: Option<Atom>,
}

impl Head {
    /// That of the rows that a pattern matches.
    pub fn of(pattern: &Atom) -> Self {
        let children = pattern.children().unwrap_or_default();
        Self { length: children.len(), name: children.first().filter(|head| head.is_rigid()).cloned() }
    }
}

impl SignedRows {
    /// The heads of the rows that changed, each once.
    pub fn touched(&self, terms: &Terms) -> Vec<Head> {
        let (mut touched, mut known, mut last) = (Vec::new(), FxHashSet::default(), None);
        for (length, head) in self.heads() {
            let key = head.map(|head| terms.key(head));
            // Most rows follow another one of the same head.
            if last.replace((length, key)) == Some((length, key)) || !known.insert((length, key)) {
                continue;
            }
            if known.insert((length, None)) || key.is_none() {
                touched.push(Head { length, name: None });
            }
            touched.extend(key.map(|key| Head { length, name: Some(terms.atom(key).clone()) }));
        }
        touched
    }
}
