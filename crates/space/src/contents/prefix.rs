//! What stands after a prefix: walking expressions as a trie of their children, without one.
//!
//! 1. An expression goes on from a prefix if it begins with its children and is longer. Atoms agree here as they match: numbers
//!    by value; variables by their place, so `(= (f $x))` is a prefix of `(= (f $y) $y)`.
//! 2. The child after the prefix is what is counted: each once, with the number of expressions, copies included, that go on
//!    with it. They come in the order in which the first of each was added.
//! 3. Of rows, those of the shortest index among the children of the prefix are read. Of atoms with variables, only those
//!    whose path in the tree begins with the prefix.
//!
//! The operation is the one that a byte trie has by construction (MORK's `descend` over child masks); here it costs a walk
//! over the expressions that begin with the prefix, and serves prefixes of whatever is indexed.

use super::{COLUMNS_INDEXED_MAX, Contents, Stored, with_keys_of};
use crate::atom::{Atom, Symbol, Variable, VariableSource, alpha_equivalent};
use crate::relation::{Path, Relation};
use crate::rewrite::{Rewrite, instantiate, rewrite};
use crate::term::{Term, Terms};
use rustc_hash::FxHashMap;

/// A child after a prefix.
struct Child {
    /// The insertion number of the first expression that goes on with it.
    number: u64,
    count: usize,
    atom: Atom,
}

/// The children that were found so far.
#[derive(Default)]
struct Children {
    found: Vec<Child>,
    /// Where each is, by match key or, if it has none, by itself without the names of its variables.
    by_key: FxHashMap<Term, usize>,
    by_form: FxHashMap<Atom, usize>,
}

impl Children {
    fn count(&mut self, place: usize, number: u64, copies: u32, atom: impl FnOnce() -> Atom) {
        match self.found.get_mut(place) {
            Some(child) => {
                child.count += copies as usize;
                if number < child.number {
                    (child.number, child.atom) = (number, atom());
                }
            }
            None => self.found.push(Child { number, count: copies as usize, atom: atom() }),
        }
    }

    fn count_term(&mut self, term: Term, number: u64, copies: u32, terms: &Terms) {
        let next = self.found.len();
        let place = *self.by_key.entry(terms.key(term)).or_insert(next);
        self.count(place, number, copies, || terms.atom(term).clone());
    }

    /// Counts a child of an atom that is not a row; one that could be part of a row is known by its key.
    fn count_atom(&mut self, atom: &Atom, number: u64, copies: u32, terms: &Terms) {
        let next = self.found.len();
        let key = if atom.is_rigid() { terms.find_key(atom) } else { None };
        let place = match key {
            Some(key) => *self.by_key.entry(key).or_insert(next),
            None => *self.by_form.entry(nameless(atom)).or_insert(next),
        };
        self.count(place, number, copies, || atom.clone());
    }
}

/// The atom with its variables numbered and without names.
fn nameless(atom: &Atom) -> Atom {
    let Stored { atom, .. } = Stored::new(atom);
    let name = Symbol::new("");
    let renamed = rewrite(&atom, |variable| Rewrite::Replace(Variable::with_id(name.clone(), variable.id()).into()));
    renamed.unwrap_or(atom)
}

impl Contents {
    /// The children after a prefix; see [`Space::children_after`](crate::Space::children_after).
    pub(crate) fn children_after(
        &self,
        prefix: &[Atom],
        terms: &Terms,
        source: &mut VariableSource,
    ) -> Vec<(Atom, usize)> {
        let mut children = Children::default();
        if prefix.iter().all(Atom::is_rigid) {
            with_keys_of(prefix, terms, |keys| self.count_rows_behind(keys, terms, &mut children));
        }
        let wanted = Stored::new(&Atom::expression(prefix));
        for found in self.patterns().behind(&wanted) {
            if let Some(atom) = child_behind(found.stored, &wanted, source) {
                children.count_atom(&atom, found.number, found.copies, terms);
            }
        }
        children.found.sort_by_key(|child| child.number);
        children.found.into_iter().map(|child| (child.atom, child.count)).collect()
    }

    fn count_rows_behind(&self, keys: &[Term], terms: &Terms, children: &mut Children) {
        let longer = self.relations.iter().skip(keys.len() + 1).chain([&self.wide]);
        longer.for_each(|relation| count_rows(relation, keys, terms, children));
    }
}

fn count_rows(relation: &Relation, keys: &[Term], terms: &Terms, children: &mut Children) {
    if relation.is_empty() {
        return;
    }
    let path = |column: usize| -> Path { (column as u32, None) };
    // The head is the least selective column: it comes last.
    let columns = keys.iter().enumerate().take(COLUMNS_INDEXED_MAX).rev();
    let known: Vec<(Path, Term)> = columns.map(|(column, &key)| (path(column), key)).collect();
    let mut rows = Vec::new();
    relation.narrow(&known, terms, &mut rows);
    for row in rows.into_iter().map(|row| relation.found(row)) {
        let begins = row.terms.iter().zip(keys).all(|(&term, &key)| terms.key(term) == key);
        if let (true, Some(&child)) = (begins, row.terms.get(keys.len())) {
            children.count_term(child, row.number, row.copies, terms);
        }
    }
}

/// The child of a stored expression after a prefix, its variables fresh; `None` if it begins otherwise.
fn child_behind(stored: &Stored, prefix: &Stored, source: &mut VariableSource) -> Option<Atom> {
    let children = stored.atom.children()?;
    let length = prefix.atom.children()?.len();
    let (begin, child) = (children.get(..length)?, children.get(length)?);
    let begins = alpha_equivalent(&Atom::expression(begin), &prefix.atom);
    begins.then(|| instantiate(child, &mut vec![None; stored.names.len()], source))
}
