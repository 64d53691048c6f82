//! A space: a multiset of atoms with matching.
//!
//! Rigid atoms (no variable, state or space inside) are interned: an expression is a row of the relation of its
//! length, anything else a row of the relation of leaves. All other atoms live in a discrimination tree. Every atom
//! carries the insertion number it had when its first copy was added, and answers come in that order.

use crate::append::Appender;
use crate::atom::{Atom, Expression, Symbol, Variable, VariableSource};
use crate::bindings::Bindings;
use crate::canonical;
use crate::grounded::Grounded;
use crate::pattern_tree::PatternTree;
use crate::relation::{Found, Path, Relation};
use crate::rewrite::{Rewrite, instantiate, rewrite, unmarked};
use crate::term::{SharedTerms, Term, Terms};
use crate::unify::{Deferred, Unifier};
use rustc_hash::FxHashMap;

/// Expressions up to this length share a relation with those of their own length; longer ones share one wide relation.
const LENGTH_OF_OWN_RELATION_MAX: usize = 16;

/// How deep into a query's columns indexes look: this many columns, and as many children of each.
pub(crate) const COLUMNS_INDEXED_MAX: usize = 16;

/// An atom with its variables numbered in the order of their first occurrence.
pub struct Stored {
    pub(crate) atom: Atom,
    pub(crate) names: Vec<Symbol>,
}

impl Stored {
    /// Numbers the variables of an atom, and takes away the evaluator's marks: what is looked up later is evaluated then.
    pub fn new(atom: &Atom) -> Self {
        let atom = &unmarked(atom);
        let mut slots: FxHashMap<Variable, u64> = FxHashMap::default();
        let mut names = Vec::new();
        let numbered = rewrite(atom, |variable| {
            let slot = *slots.entry(variable.clone()).or_insert_with(|| {
                names.push(variable.name().clone());
                names.len() as u64 - 1
            });
            Rewrite::Replace(Atom::Variable(Variable::with_id(variable.name().clone(), slot)))
        });
        Self { atom: numbered.unwrap_or_else(|| atom.clone()), names }
    }

    /// Whether both are one atom up to the names of variables, kinds of numbers kept apart.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.names.len() == other.names.len() && canonical::same_form(&self.atom, &other.atom)
    }

    /// The atom with fresh variables.
    fn fresh(&self, source: &mut VariableSource) -> Atom {
        instantiate(&self.atom, &mut vec![None; self.names.len()], source)
    }
}

/// One atom of a space that matched a query.
pub struct Match {
    /// What the match bound.
    pub bindings: Bindings,
    /// How many copies of the atom there are: as many solutions.
    pub copies: u32,
    /// Queries of other spaces that must have an answer too.
    pub(crate) deferred: Deferred,
    number: u64,
}

/// A multiset of atoms.
pub struct Space {
    terms: SharedTerms,
    leaves: Relation,
    relations: Vec<Relation>,
    wide: Relation,
    patterns: PatternTree,
    next_number: u64,
    length: usize,
    /// The sum of the content hashes of all atoms, modulo 2^128, if it is kept.
    hash: Option<u128>,
}

impl Space {
    /// An empty space whose terms are interned in this dictionary.
    pub fn new(terms: SharedTerms) -> Self {
        let relations = (0..=LENGTH_OF_OWN_RELATION_MAX).map(|_| Relation::default()).collect();
        Self {
            terms,
            leaves: Relation::default(),
            relations,
            wide: Relation::default(),
            patterns: PatternTree::default(),
            next_number: 0,
            length: 0,
            hash: None,
        }
    }

    /// An empty space with the same dictionary.
    pub(crate) fn emptied(&self) -> Self {
        Self { hash: self.hash.map(|_| 0), ..Self::new(SharedTerms::clone(&self.terms)) }
    }

    /// Keeps the sum of the content hashes of all atoms up to date from now on.
    pub fn keep_hash(&mut self) {
        if self.hash.is_none() {
            let atoms = self.atoms(&mut VariableSource::default());
            self.hash = Some(atoms.iter().map(canonical::hash).fold(0, u128::wrapping_add));
        }
    }

    /// Keeps the sum of the content hashes of what is added from now on, less that of what is removed.
    pub fn keep_hash_of_changes(&mut self) {
        self.hash.get_or_insert(0);
    }

    /// The sum of the content hashes of all atoms, copies counted, modulo 2^128; `None` if it is not kept. It depends on
    /// no order.
    pub fn hash(&self) -> Option<u128> {
        self.hash
    }

    /// Takes out the atoms that may hold states and spaces, to be freed by the caller; the space is unusable then.
    pub(crate) fn drain_open(&mut self) -> impl Iterator<Item = Atom> {
        std::mem::take(&mut self.patterns).into_atoms()
    }

    /// How many atoms it holds, copies counted.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Adds an atom.
    pub fn add(&mut self, atom: &Atom) {
        let number = self.next_number;
        let is_new = self.add_numbered(atom, number);
        self.next_number += u64::from(is_new);
    }

    /// Adds back an atom that was taken out, at the place in the order that it had.
    pub fn restore(&mut self, atom: &Atom, number: u64) {
        self.add_numbered(atom, number);
    }

    /// Adds a copy of an atom, with this number if it is the first; returns whether it is.
    fn add_numbered(&mut self, atom: &Atom, number: u64) -> bool {
        self.length += 1;
        if !atom.is_rigid() {
            let stored = Stored::new(atom);
            if let Some(sum) = &mut self.hash {
                *sum = sum.wrapping_add(canonical::hash(&stored.atom));
            }
            return self.patterns.add(stored, number);
        }
        let terms = SharedTerms::clone(&self.terms);
        let mut terms = terms.write().expect("no panic while terms are locked");
        let row = intern_row(atom, &mut terms);
        if let Some(sum) = &mut self.hash {
            let hash = if atom.children().is_some() { terms.hash_of_row(&row) } else { terms.hash(row[0]) };
            *sum = sum.wrapping_add(hash);
        }
        self.relation_mut(atom).add(&row, number, &terms)
    }

    /// Adds the expression whose children's terms `intern` makes; says whether there were any.
    pub(crate) fn add_row(
        &mut self,
        row: &mut Vec<Term>,
        intern: impl FnOnce(&mut Terms, &mut Vec<Term>) -> bool,
    ) -> bool {
        let Self { terms, relations, wide, hash, next_number, length, .. } = self;
        let mut terms = terms.write().expect("no panic while terms are locked");
        if !intern(&mut terms, row) {
            return false;
        }
        *length += 1;
        if let Some(sum) = hash {
            *sum = sum.wrapping_add(terms.hash_of_row(row));
        }
        let relation = relations.get_mut(row.len()).unwrap_or(wide);
        *next_number += u64::from(relation.add(row, *next_number, &terms));
        true
    }

    /// What adds many atoms with the dictionary locked once; see [`Appender`].
    pub fn appender(&mut self) -> Appender<'_> {
        let Self { terms, leaves, relations, wide, patterns, next_number, length, hash } = self;
        let terms = terms.write().expect("no panic while terms are locked");
        Appender { terms, leaves, relations, wide, patterns, next_number, length, hash, row: Vec::new(), noted: None }
    }

    /// Adds atoms: what [`Space::add`] does for each, in less time. Gives how many there were.
    pub fn add_many<'a>(&mut self, atoms: impl IntoIterator<Item = &'a Atom>) -> usize {
        let mut appender = self.appender();
        let mut added = 0;
        for atom in atoms {
            appender.atom(atom);
            added += 1;
        }
        added
    }

    /// Removes one copy of each of these atoms, as [`Space::remove`] does; gives how many there were.
    pub fn remove_many<'a>(&mut self, atoms: impl IntoIterator<Item = &'a Atom>) -> usize {
        atoms.into_iter().filter(|atom| self.remove(atom)).count()
    }

    /// The dictionary.
    pub(crate) fn terms(&self) -> &SharedTerms {
        &self.terms
    }

    /// The atoms that are no rows.
    pub(crate) fn patterns(&self) -> &PatternTree {
        &self.patterns
    }

    /// The expression of a row.
    pub(crate) fn expression_of(&self, row: &[Term]) -> Atom {
        expression_of(row, &self.terms.read().expect("no panic while terms are locked"))
    }

    /// Removes one copy of an atom, or else of the first that is equal in the sense of [`Space::count`]. Returns
    /// whether there was one.
    pub fn remove(&mut self, atom: &Atom) -> bool {
        self.take(atom).is_some()
    }

    /// Removes an atom as [`Space::remove`] does, and gives it as it was stored, with its insertion number.
    pub fn take(&mut self, atom: &Atom) -> Option<(Atom, u64)> {
        let taken = if atom.is_rigid() {
            let terms = SharedTerms::clone(&self.terms);
            let terms = terms.read().expect("no panic while terms are locked");
            self.take_row(atom, &terms)
        } else {
            self.patterns.remove(&Stored::new(atom))
        };
        self.length -= usize::from(taken.is_some());
        if let (Some(sum), Some((atom, _))) = (&mut self.hash, &taken) {
            *sum = sum.wrapping_sub(canonical::hash(atom));
        }
        taken
    }

    fn take_row(&mut self, atom: &Atom, terms: &Terms) -> Option<(Atom, u64)> {
        let exact: Option<Vec<Term>> = columns(atom).iter().map(|column| terms.find(column)).collect();
        let keys: Option<Vec<Term>> = match &exact {
            Some(row) => Some(row.iter().map(|&term| terms.key(term)).collect()),
            None => columns(atom).iter().map(|column| terms.find_key(column)).collect(),
        };
        let (row, number) = self.relation_mut(atom).remove(exact.as_deref(), &keys?, terms)?;
        let taken = match row.as_slice() {
            [leaf] if atom.children().is_none() => terms.atom(*leaf).clone(),
            row => expression_of(row, terms),
        };
        Some((taken, number))
    }

    /// How many copies of an atom there are, up to the names of variables; numbers are compared by value and states by
    /// content.
    pub fn count(&self, atom: &Atom) -> usize {
        if !atom.is_rigid() {
            return self.patterns.count(&Stored::new(atom));
        }
        let terms = self.terms.read().expect("no panic while terms are locked");
        let keys: Option<Vec<Term>> = columns(atom).iter().map(|column| terms.find_key(column)).collect();
        let rows = keys.map(|keys| self.relation(atom).find(&keys, &terms)).unwrap_or_default();
        rows.iter().map(|row| row.copies as usize).sum()
    }

    /// Whether it holds this very atom, up to the names of variables: kinds of numbers are kept apart, and so are states.
    pub fn contains_exactly(&self, atom: &Atom) -> bool {
        if !atom.is_rigid() {
            return self.patterns.contains(&Stored::new(atom));
        }
        let terms = self.terms.read().expect("no panic while terms are locked");
        let row: Option<Vec<Term>> = columns(atom).iter().map(|column| terms.find(column)).collect();
        let Some(row) = row else { return false };
        let keys: Vec<Term> = row.iter().map(|&term| terms.key(term)).collect();
        self.relation(atom).find(&keys, &terms).iter().any(|found| found.terms == row)
    }

    /// Whether it holds an atom, in the sense of [`Space::count`].
    pub fn contains(&self, atom: &Atom) -> bool {
        self.count(atom) > 0
    }

    /// All atoms in insertion order, copies included, their variables fresh.
    pub fn atoms(&self, source: &mut VariableSource) -> Vec<Atom> {
        let mut numbered: Vec<(u64, u32, Atom)> = Vec::new();
        let terms = self.terms.read().expect("no panic while terms are locked");
        let leaves = self.leaves.all().map(|row| (row.number, row.copies, terms.atom(row.terms[0]).clone()));
        numbered.extend(leaves);
        for relation in self.relations.iter().chain([&self.wide]) {
            numbered.extend(relation.all().map(|row| (row.number, row.copies, expression_of(row.terms, &terms))));
        }
        let mut patterns: Vec<_> = self.patterns.all().collect();
        patterns.sort_unstable_by_key(|found| found.number);
        for found in patterns {
            // Each copy has variables of its own.
            let (times, copies) = if found.stored.names.is_empty() { (1, found.copies) } else { (found.copies, 1) };
            numbered.extend((0..times).map(|_| (found.number, copies, found.stored.fresh(source))));
        }
        numbered.sort_by_key(|(number, ..)| *number);
        let copies = numbered.into_iter().map(|(_, copies, atom)| std::iter::repeat_n(atom, copies as usize));
        copies.flatten().collect()
    }

    /// The atoms that match a query, in insertion order.
    pub fn matches(&self, query: &Atom, source: &mut VariableSource) -> Vec<Match> {
        let terms = self.terms.read().expect("no panic while terms are locked");
        let mut found = match query {
            _ if query.is_rigid() => self.match_rigid(query, &terms),
            Atom::Expression(expression) => self.match_rows(expression, &terms, source),
            Atom::Variable(_) | Atom::Grounded(Grounded::Space(_)) => self.match_all_rows(query, &terms, source),
            Atom::Symbol(_) | Atom::Grounded(_) => Vec::new(),
        };
        let mut candidates = self.patterns.candidates(query);
        // Fresh variables are numbered in the order of the answers.
        candidates.sort_unstable_by_key(|candidate| candidate.number);
        for candidate in candidates {
            found.extend(match_stored(query, candidate.stored, candidate.number, candidate.copies, source));
        }
        found.sort_by_key(|found| found.number);
        found
    }

    fn match_rigid(&self, query: &Atom, terms: &Terms) -> Vec<Match> {
        let keys: Option<Vec<Term>> = columns(query).iter().map(|column| terms.find_key(column)).collect();
        let rows = keys.map(|keys| self.relation(query).find(&keys, terms)).unwrap_or_default();
        let nothing_bound = |row: &Found<'_>| Match {
            bindings: Bindings::default(),
            copies: row.copies,
            deferred: Deferred::new(),
            number: row.number,
        };
        rows.iter().map(nothing_bound).collect()
    }

    fn match_rows(&self, query: &Expression, terms: &Terms, source: &mut VariableSource) -> Vec<Match> {
        let relation = self.relation_of_length(query.len());
        if relation.is_empty() || !may_have_heads(relation, query, terms) {
            return Vec::new();
        }
        let Some(pattern) = RowPattern::new(query, terms) else { return Vec::new() };
        let rows = relation.candidates(&pattern.known, terms);
        rows.iter().filter_map(|row| pattern.match_row(row, terms, source)).collect()
    }

    fn match_all_rows(&self, query: &Atom, terms: &Terms, source: &mut VariableSource) -> Vec<Match> {
        let leaves = self.leaves.all().map(|row| (terms.atom(row.terms[0]).clone(), row));
        let relations = self.relations.iter().chain([&self.wide]);
        let expressions = relations.flat_map(Relation::all).map(|row| (expression_of(row.terms, terms), row));
        let matched = leaves.chain(expressions).filter_map(|(atom, row)| {
            let mut unifier = Unifier::new(0, source);
            if unifier.unify_stored(query, &atom) { accept(unifier, row.number, row.copies) } else { None }
        });
        matched.collect()
    }

    fn relation(&self, atom: &Atom) -> &Relation {
        atom.children().map_or(&self.leaves, |children| self.relation_of_length(children.len()))
    }

    fn relation_mut(&mut self, atom: &Atom) -> &mut Relation {
        match atom.children() {
            None => &mut self.leaves,
            Some(children) => self.relations.get_mut(children.len()).unwrap_or(&mut self.wide),
        }
    }

    pub(crate) fn relation_of_length(&self, length: usize) -> &Relation {
        self.relations.get(length).unwrap_or(&self.wide)
    }
}

/// The matches of an atom that is stored so many times: each copy has variables of its own.
fn match_stored(query: &Atom, stored: &Stored, number: u64, copies: u32, source: &mut VariableSource) -> Vec<Match> {
    let slots = stored.names.len();
    let (times, copies) = if slots == 0 { (1, copies) } else { (copies, 1) };
    let mut found = Vec::new();
    for _ in 0..times {
        let mut unifier = Unifier::new(slots, source);
        if !unifier.unify_stored(query, &stored.atom) {
            break;
        }
        found.extend(accept(unifier, number, copies));
    }
    found
}

fn accept(unifier: Unifier<'_>, number: u64, copies: u32) -> Option<Match> {
    let (bindings, deferred) = unifier.into_parts()?;
    Some(Match { bindings, copies, deferred, number })
}

/// The atoms in the columns of a rigid atom's row.
fn columns(atom: &Atom) -> &[Atom] {
    atom.children().unwrap_or(std::slice::from_ref(atom))
}

fn intern_row(atom: &Atom, terms: &mut Terms) -> Vec<Term> {
    columns(atom).iter().map(|column| terms.intern(column)).collect()
}

/// Adds the terms in the columns of a rigid atom's row.
pub(crate) fn intern_columns(atom: &Atom, terms: &mut Terms, row: &mut Vec<Term>) {
    row.extend(columns(atom).iter().map(|column| terms.intern(column)));
}

pub(crate) fn expression_of(row: &[Term], terms: &Terms) -> Atom {
    let children: Vec<Atom> = row.iter().map(|&term| terms.atom(term).clone()).collect();
    Atom::expression(children)
}

/// Whether a relation has a row with such a head in each column where the query has a compound: a look that costs
/// nothing, before the whole of a large compound is looked up.
fn may_have_heads(relation: &Relation, query: &Expression, terms: &Terms) -> bool {
    let columns = query.children().iter().enumerate().take(COLUMNS_INDEXED_MAX);
    let mut heads = columns.filter_map(|(column, child)| Some((column, child.head().filter(|head| is_leaf(head))?)));
    heads.all(|(column, head)| {
        let key = head.is_rigid().then(|| terms.find_key(head));
        key.is_none_or(|key| key.is_some_and(|key| relation.has((column as u32, Some(0)), key, terms)))
    })
}

fn is_leaf(atom: &Atom) -> bool {
    atom.children().is_none()
}

/// A query of a relation: what each column must be.
struct RowPattern<'a> {
    query: &'a Expression,
    /// The match key of each column that is rigid in the query.
    keys: Vec<Option<Term>>,
    /// The keys known at paths that an index can serve, most selective guess first.
    known: Vec<(Path, Term)>,
}

impl<'a> RowPattern<'a> {
    /// `None` when a rigid part of the query was never interned, so that no row can match.
    fn new(query: &'a Expression, terms: &Terms) -> Option<Self> {
        let mut keys = Vec::with_capacity(query.len());
        let mut known = Vec::new();
        for (column, child) in query.children().iter().enumerate() {
            let key = if child.is_rigid() { Some(terms.find_key(child)?) } else { None };
            keys.push(key);
            if column >= COLUMNS_INDEXED_MAX {
                continue;
            }
            match (key, child) {
                (Some(key), _) => known.push(((column as u32, None), key)),
                (None, Atom::Expression(inner)) => known_inside(column as u32, inner, terms, &mut known)?,
                _ => {}
            }
        }
        // The head of an expression is its least selective column: it is asked last.
        if known.first().is_some_and(|&((column, _), _)| column == 0) {
            known.rotate_left(1);
        }
        Some(Self { query, keys, known })
    }

    fn match_row(&self, row: &Found<'_>, terms: &Terms, source: &mut VariableSource) -> Option<Match> {
        if row.terms.len() != self.query.len() {
            return None;
        }
        let agrees = |(&key, &term): (&Option<Term>, &Term)| key.is_none_or(|key| terms.key(term) == key);
        if !self.keys.iter().zip(row.terms).all(agrees) {
            return None;
        }
        let mut unifier = Unifier::new(0, source);
        let open = self.keys.iter().zip(self.query.children()).zip(row.terms).filter(|((key, _), _)| key.is_none());
        for ((_, child), &term) in open {
            if !unifier.unify_stored(child, terms.atom(term)) {
                return None;
            }
        }
        accept(unifier, row.number, row.copies)
    }
}

/// Adds the keys known inside a compound column; `None` when one of them was never interned.
fn known_inside(column: u32, inner: &Expression, terms: &Terms, known: &mut Vec<(Path, Term)>) -> Option<()> {
    for (position, child) in inner.children().iter().enumerate().take(COLUMNS_INDEXED_MAX).rev() {
        if child.is_rigid() {
            known.push(((column, Some(position as u32)), terms.find_key(child)?));
        }
    }
    Some(())
}
