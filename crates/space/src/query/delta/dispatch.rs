//! Which of many queries a commit touches.

use super::rows::SignedRows;
use crate::atom::Atom;
use crate::term::Terms;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// What is known of the rows that a pattern matches: their length, and their head if it is written out.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Head {
    length: usize,
    name: Option<Atom>,
}

impl Head {
    pub(super) fn of(pattern: &Atom) -> Self {
        let children = pattern.children().unwrap_or_default();
        Self { length: children.len(), name: children.first().filter(|head| head.is_rigid()).cloned() }
    }
}

/// Queries by the rows that they depend on.
#[derive(Default)]
pub struct Dispatch(FxHashMap<Head, Vec<usize>>);

impl Dispatch {
    /// Adds a query, which has this number.
    pub fn add(&mut self, heads: impl Iterator<Item = Head>, query: usize) {
        for head in heads {
            let queries = self.0.entry(head).or_default();
            if queries.last() != Some(&query) {
                queries.push(query);
            }
        }
    }

    /// Takes a query out.
    pub fn remove(&mut self, query: usize) {
        self.0.retain(|_, queries| {
            queries.retain(|known| *known != query);
            !queries.is_empty()
        });
    }

    /// The numbers of the queries whose answers may depend on some rows.
    pub fn touched(&self, rows: &SignedRows, terms: &Terms) -> BTreeSet<usize> {
        let (mut touched, mut last) = (BTreeSet::new(), None);
        if self.0.is_empty() {
            return touched;
        }
        for (length, head) in rows.heads() {
            let key = head.map(|head| terms.key(head));
            if last.replace((length, key)) == Some((length, key)) {
                continue;
            }
            let name = key.map(|key| terms.atom(key).clone());
            for head in [Head { length, name }, Head { length, name: None }] {
                touched.extend(self.0.get(&head).into_iter().flatten());
            }
        }
        touched
    }
}
