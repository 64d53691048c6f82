//! What a space or a snapshot of it holds, the dictionary apart: a multiset of atoms with matching.
//!
//! Rigid atoms (no variable, state or space inside) are interned: an expression is a row of the relation of its
//! length, anything else a row of the relation of leaves. All other atoms live in a discrimination tree. Every atom
//! carries the insertion number it had when its first copy was added, and answers come in that order.

mod algebra;
mod candidates;
mod image;
mod prefix;

pub use algebra::Multiplicity;
pub use candidates::{Candidate, FewCandidates, TooMany};

use crate::atom::{Atom, Expression, Symbol, VariableSource};
use crate::bindings::Bindings;
use crate::canonical;
use crate::grounded::Grounded;
use crate::patterns::Patterns;
use crate::query::{NO_TERM, known_keys};
use crate::relation::{COLUMNS_INDEXED_MAX, FoundRow, Relation};
use crate::row::{Row, expression_of};
use crate::stored::{Match, Stored};
use crate::term::{Term, Terms};
use crate::unify::{Deferred, Unifier};

/// Expressions up to this length share a relation with those of their own length; longer ones share one wide relation.
const LENGTH_OF_OWN_RELATION_MAX: usize = 16;

/// About how many terms many atoms of one kind share: heads, mostly.
const TERMS_SHARED: usize = 2;

/// For how many terms room is made at most for each of many atoms.
const TERMS_OF_OWN_MAX: usize = 4;

/// Rows up to this length are looked for without an allocation.
const SHORT_ROW_MAX: usize = 8;

/// A multiset of atoms. Every method is given the dictionary in which the terms of its rows were made.
#[derive(Default)]
pub(crate) struct Contents {
    leaves: Relation,
    /// By length, as far as a row was added; see [`LENGTH_OF_OWN_RELATION_MAX`].
    relations: Vec<Relation>,
    wide: Relation,
    /// What a length has of which no row was ever added.
    none: Relation,
    patterns: Patterns,
    next_number: u64,
    length: usize,
    /// The sum of the content hashes of all atoms, modulo 2^128, if it is kept.
    hash: Option<u128>,
}

impl Contents {
    /// Nothing, with the hash kept if it is kept here.
    pub(crate) fn emptied(&self) -> Self {
        Self { hash: self.hash.map(|_| 0), ..Self::default() }
    }

    /// A copy of these atoms: no change of one changes the other. Constant time.
    pub(crate) fn share(&mut self) -> Self {
        Self {
            leaves: self.leaves.share(),
            relations: self.relations.iter_mut().map(Relation::share).collect(),
            wide: self.wide.share(),
            none: Relation::default(),
            patterns: self.patterns.share(),
            next_number: self.next_number,
            length: self.length,
            hash: self.hash,
        }
    }

    /// The atoms of a snapshot, copied: no change of one changes the other. Constant time.
    pub(crate) fn shared(&self) -> Self {
        Self {
            leaves: self.leaves.shared(),
            relations: self.relations.iter().map(Relation::shared).collect(),
            wide: self.wide.shared(),
            none: Relation::default(),
            patterns: self.patterns.shared(),
            next_number: self.next_number,
            length: self.length,
            hash: self.hash,
        }
    }

    /// Puts other atoms in the place of those that are not rows, where `replace` gives one; the order stays. The canonical form of
    /// each stays as well, so that the hash does.
    pub(crate) fn replace_patterns(&mut self, replace: impl FnMut(&Atom) -> Option<Atom>) {
        let found = self.patterns.in_order();
        let replaced: Vec<Option<Atom>> = found.iter().map(|found| &found.stored.atom).map(replace).collect();
        if replaced.iter().all(Option::is_none) {
            return;
        }
        let mut patterns = Patterns::default();
        for (found, replaced) in found.into_iter().zip(replaced) {
            let atom = replaced.unwrap_or_else(|| found.stored.atom.clone());
            let names = found.stored.names.clone();
            patterns.add(Stored { atom, names }, found.copies, found.number);
        }
        self.patterns = patterns;
    }

    /// Sets the sum of the content hashes, if it is not kept yet.
    pub(crate) fn keep_hash(&mut self, sum: impl FnOnce(&Self) -> u128) {
        if self.hash.is_none() {
            self.hash = Some(sum(self));
        }
    }

    pub(crate) fn hash(&self) -> Option<u128> {
        self.hash
    }

    /// Takes out the atoms that may hold states and spaces, as far as no snapshot holds them too.
    pub(crate) fn drain_open(&mut self) -> impl Iterator<Item = Atom> {
        std::mem::take(&mut self.patterns).into_atoms()
    }

    /// How many atoms it holds, copies counted.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Makes room for `rows` more rows of this length.
    pub(crate) fn reserve(&mut self, rows: usize, length: usize) {
        self.relation_of_length_mut(length).reserve(rows, length);
    }

    /// Makes room for `more` more atoms that are like this one: rows of its length and for each a term of its own, or rules.
    pub(crate) fn reserve_like(&mut self, atom: &Atom, more: usize, terms: &mut Terms) {
        match atom {
            Atom::Expression(expression) if atom.is_rigid() => {
                terms.reserve(more * terms_of_own(expression) + TERMS_SHARED);
                self.relation_of_length_mut(expression.len()).reserve_all(more, expression.len(), terms);
            }
            _ if atom.is_rigid() => self.leaves.reserve_all(more, 1, terms),
            _ => self.patterns.reserve(more),
        }
    }

    /// Adds an atom, with this insertion number, or the next one, if it is new.
    pub(crate) fn add(&mut self, atom: &Atom, number: Option<u64>, terms: &mut Terms, row: &mut Vec<Term>) {
        if !atom.is_rigid() {
            return self.add_open(Stored::new(atom), 1, number);
        }
        row.clear();
        row.extend(columns(atom).iter().map(|column| terms.intern_rigid(column)));
        match atom {
            Atom::Expression(_) => self.add_row(row, number, terms),
            _ => self.add_leaf(row[0], number, terms),
        }
    }

    /// Adds one of many atoms, of which the last had this head: mostly this one has it too.
    #[inline]
    pub(crate) fn add_next<'a>(
        &mut self,
        atom: &'a Atom,
        last: &mut Option<(&'a Symbol, Term)>,
        terms: &mut Terms,
        row: &mut Vec<Term>,
    ) {
        let (Some([head @ Atom::Symbol(name), rest @ ..]), true) = (atom.children(), atom.is_rigid()) else {
            return self.add(atom, None, terms, row);
        };
        let known = last.filter(|(last, _)| *last == name).map(|(_, term)| term);
        let head = known.unwrap_or_else(|| terms.intern(head));
        *last = Some((name, head));
        row.clear();
        row.push(head);
        row.extend(rest.iter().map(|column| terms.intern_rigid(column)));
        self.add_row(row, None, terms);
    }

    /// Adds the expression of these children.
    pub(crate) fn add_row(&mut self, row: &[Term], number: Option<u64>, terms: &mut Terms) {
        if let Some(sum) = &mut self.hash {
            *sum = sum.wrapping_add(terms.hash_of_row(row));
        }
        let next = number.unwrap_or(self.next_number);
        let is_new = self.relation_of_length_mut(row.len()).add(row, 1, next, terms);
        self.count_added(1, is_new && number.is_none());
    }

    /// Reads what adding rows reads, those as long as the first: the rows of a file mostly are.
    pub(crate) fn look_ahead<'a>(&self, mut rows: impl Iterator<Item = &'a [Term]> + Clone, terms: &Terms) {
        let all = rows.clone();
        let Some(length) = rows.next().map(<[Term]>::len) else { return };
        self.relation_of_length(length).look_ahead(all.filter(|row| row.len() == length), terms);
    }

    /// From now on tables grow towards `more` more rows, which are spread over the relations as those that are there are.
    pub(crate) fn expect(&mut self, more: usize) {
        let all: u64 = self.relations.iter().map(|relation| u64::from(relation.len())).sum();
        for relation in &mut self.relations {
            let share = more as u128 * u128::from(relation.len()) / u128::from(all.max(1));
            relation.expect(usize::try_from(share).unwrap_or(usize::MAX));
        }
    }

    fn add_leaf(&mut self, leaf: Term, number: Option<u64>, terms: &mut Terms) {
        if let Some(sum) = &mut self.hash {
            *sum = sum.wrapping_add(terms.hash(leaf));
        }
        let next = number.unwrap_or(self.next_number);
        let is_new = self.leaves.add(&[leaf], 1, next, terms);
        self.count_added(1, is_new && number.is_none());
    }

    /// Adds copies of an atom that is not a row.
    pub(crate) fn add_open(&mut self, stored: Stored, copies: u32, number: Option<u64>) {
        if let Some(sum) = &mut self.hash {
            let hash = canonical::hash(&stored.atom).wrapping_mul(u128::from(copies));
            *sum = sum.wrapping_add(hash);
        }
        let next = number.unwrap_or(self.next_number);
        let is_new = self.patterns.add(stored, copies, next);
        self.count_added(copies, is_new && number.is_none());
    }

    fn count_added(&mut self, copies: u32, takes_number: bool) {
        self.length += copies as usize;
        self.next_number += u64::from(takes_number);
    }

    /// The atoms that are not rows.
    pub(crate) fn patterns(&self) -> &Patterns {
        &self.patterns
    }

    /// Removes an atom, or else the first that is equal to it, and hands out its row as it was stored, with its insertion number;
    /// `None` if there is none.
    pub(crate) fn take_row<T>(
        &mut self,
        atom: &Atom,
        terms: &Terms,
        give: impl FnOnce(Row<'_>, u64) -> T,
    ) -> Option<T> {
        if atom.is_rigid() {
            let (row, number) = self.remove_row(atom, terms)?;
            let row = Row::of(atom, &row);
            self.count_removed(row, terms);
            return Some(give(row, number));
        }
        // No form is made of what is not there.
        if self.patterns.is_empty() {
            return None;
        }
        let (stored, number) = self.patterns.remove(&Stored::new(atom))?;
        self.count_removed(Row::Open(&stored), terms);
        Some(give(Row::Open(&stored), number))
    }

    /// Removes a copy of a row that was added.
    pub(crate) fn take_back(&mut self, row: Row<'_>, terms: &Terms) {
        let (relation, columns) = match row {
            Row::Open(atom) => {
                self.take_row(atom, terms, |_, _| ());
                return;
            }
            Row::Expression(row) => (self.relation_of_length_mut(row.len()), row),
            Row::Leaf(ref leaf) => (&mut self.leaves, std::slice::from_ref(leaf)),
        };
        let keys: Vec<Term> = columns.iter().map(|&term| terms.key(term)).collect();
        if relation.remove(Some(columns), &keys, terms).is_some() {
            self.count_removed(row, terms);
        }
    }

    /// Adds back a row of terms that was taken out, at the place in the order that it had.
    pub(crate) fn restore_row(&mut self, row: Row<'_>, number: u64, terms: &mut Terms) {
        match row {
            Row::Expression(row) => self.add_row(row, Some(number), terms),
            Row::Leaf(leaf) => self.add_leaf(leaf, Some(number), terms),
            Row::Open(atom) => self.add_open(Stored::new(atom), 1, Some(number)),
        }
    }

    fn count_removed(&mut self, row: Row<'_>, terms: &Terms) {
        self.length -= 1;
        if let Some(sum) = &mut self.hash {
            let hash = match row {
                Row::Expression(row) => terms.stored_hash_of_row(row),
                Row::Leaf(leaf) => terms.stored_hash(leaf),
                Row::Open(atom) => canonical::hash(atom),
            };
            *sum = sum.wrapping_sub(hash);
        }
    }

    fn remove_row(&mut self, atom: &Atom, terms: &Terms) -> Option<(Vec<Term>, u64)> {
        let exact: Option<Vec<Term>> = columns(atom).iter().map(|column| terms.find(column)).collect();
        let keys: Option<Vec<Term>> = match &exact {
            Some(row) => Some(row.iter().map(|&term| terms.key(term)).collect()),
            None => columns(atom).iter().map(|column| terms.find_key(column)).collect(),
        };
        self.relation_mut(atom).remove(exact.as_deref(), &keys?, terms)
    }

    /// How many copies of an atom there are; see [`Space::count`](crate::Space::count).
    pub(crate) fn count(&self, atom: &Atom, terms: &Terms) -> usize {
        if !atom.is_rigid() {
            return self.patterns.count(&Stored::new(atom));
        }
        with_keys_of(columns(atom), terms, |keys| self.relation(atom).count(keys, terms)).unwrap_or(0)
    }

    /// How many copies of this very atom there are, up to the names of variables.
    pub(crate) fn copies(&self, atom: &Atom, terms: &Terms) -> u32 {
        if !atom.is_rigid() {
            return self.patterns.copies(&Stored::new(atom));
        }
        let row: Option<Vec<Term>> = columns(atom).iter().map(|column| terms.find(column)).collect();
        row.map_or(0, |row| self.relation(atom).copies(&row, terms))
    }

    /// All atoms in insertion order, copies included, their variables fresh.
    pub(crate) fn atoms(&self, terms: &Terms, source: &mut VariableSource) -> Vec<Atom> {
        let mut numbered: Vec<(u64, u32, Atom)> = Vec::new();
        let leaves = self.leaves.all().map(|row| (row.number, row.copies, terms.atom(row.terms[0]).clone()));
        numbered.extend(leaves);
        for relation in self.relations_of_expressions() {
            numbered.extend(relation.all().map(|row| (row.number, row.copies, expression_of(row.terms, terms))));
        }
        for found in self.patterns.in_order() {
            // Each copy has variables of its own.
            let (times, copies) = if found.stored.names.is_empty() { (1, found.copies) } else { (found.copies, 1) };
            numbered.extend((0..times).map(|_| (found.number, copies, found.stored.fresh(source))));
        }
        numbered.sort_by_key(|(number, ..)| *number);
        let copies = numbered.into_iter().map(|(_, copies, atom)| std::iter::repeat_n(atom, copies as usize));
        copies.flatten().collect()
    }

    /// The atoms that match a query, in insertion order.
    pub(crate) fn matches(&self, query: &Atom, terms: &Terms, source: &mut VariableSource) -> Vec<Match> {
        let mut found = match query {
            _ if query.is_rigid() => self.match_rigid(query, terms),
            Atom::Expression(expression) => self.match_rows(expression, terms, source),
            Atom::Variable(_) | Atom::Grounded(Grounded::Space(_)) => self.match_all_rows(query, terms, source),
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
        let (relation, mut rows) = (self.relation(query), Vec::new());
        if relation.is_empty() {
            return Vec::new();
        }
        let keys: Option<Vec<Term>> = columns(query).iter().map(|column| terms.find_key(column)).collect();
        keys.inspect(|keys| relation.find_rows(keys, terms, &mut rows));
        let nothing_bound = |row: FoundRow<'_>| Match {
            bindings: Bindings::default(),
            copies: row.copies,
            deferred: Deferred::new(),
            number: row.number,
        };
        rows.iter().map(|&row| nothing_bound(relation.found(row))).collect()
    }

    fn match_rows(&self, query: &Expression, terms: &Terms, source: &mut VariableSource) -> Vec<Match> {
        let relation = self.relation_of_length(query.len());
        if relation.is_empty() || !may_have_heads(relation, query, terms) {
            return Vec::new();
        }
        let (Some(known), Some(pattern)) = (known_keys(query, terms), RowPattern::new(query, terms)) else {
            return Vec::new();
        };
        let mut rows = Vec::new();
        relation.narrow(&known, terms, &mut rows);
        rows.iter().filter_map(|&row| pattern.match_row(&relation.found(row), terms, source)).collect()
    }

    fn match_all_rows(&self, query: &Atom, terms: &Terms, source: &mut VariableSource) -> Vec<Match> {
        let leaves = self.leaves.all().map(|row| (terms.atom(row.terms[0]).clone(), row));
        let expressions =
            self.relations_of_expressions().flat_map(Relation::all).map(|row| (expression_of(row.terms, terms), row));
        let matched = leaves.chain(expressions).filter_map(|(atom, row)| {
            let mut unifier = Unifier::new(0, source);
            if unifier.unify_stored(query, &atom) { accept(unifier, row.number, row.copies) } else { None }
        });
        matched.collect()
    }

    /// The relation of a rigid atom.
    fn relation(&self, atom: &Atom) -> &Relation {
        atom.children().map_or(&self.leaves, |children| self.relation_of_length(children.len()))
    }

    fn relation_mut(&mut self, atom: &Atom) -> &mut Relation {
        match atom.children() {
            None => &mut self.leaves,
            Some(children) => self.relation_of_length_mut(children.len()),
        }
    }

    pub(crate) fn relation_of_length(&self, length: usize) -> &Relation {
        let none = if length <= LENGTH_OF_OWN_RELATION_MAX { &self.none } else { &self.wide };
        self.relations.get(length).unwrap_or(none)
    }

    fn relation_of_length_mut(&mut self, length: usize) -> &mut Relation {
        if length > LENGTH_OF_OWN_RELATION_MAX {
            return &mut self.wide;
        }
        if length >= self.relations.len() {
            self.relations.resize_with(length + 1, Relation::default);
        }
        &mut self.relations[length]
    }

    fn relations_of_expressions(&self) -> impl Iterator<Item = &Relation> {
        self.relations.iter().chain([&self.wide])
    }
}

/// The matches of an atom that is stored `copies` times: each copy has variables of its own.
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
    let (bindings, deferred, _) = unifier.into_parts()?;
    Some(Match { bindings, copies, deferred, number })
}

/// How many terms an expression has that others like it need not share: one for each part that is not a head.
fn terms_of_own(expression: &Expression) -> usize {
    let inside = |child: &Atom| child.children().map_or(1, |children| children.len().max(1));
    let own = expression.children().iter().skip(1).map(inside).sum::<usize>();
    own.min(TERMS_OF_OWN_MAX)
}

/// Hands on the match keys of atoms; `None` if nothing interned matches one of them.
#[inline]
fn with_keys_of<T>(atoms: &[Atom], terms: &Terms, work: impl FnOnce(&[Term]) -> T) -> Option<T> {
    let mut short = [NO_TERM; SHORT_ROW_MAX];
    let Some(keys) = short.get_mut(..atoms.len()) else {
        let keys: Option<Vec<Term>> = atoms.iter().map(|atom| terms.find_key(atom)).collect();
        return keys.map(|keys| work(&keys));
    };
    terms.find_keys(atoms, keys)?;
    Some(work(keys))
}

/// The atoms in the columns of a rigid atom's row.
pub(crate) fn columns(atom: &Atom) -> &[Atom] {
    atom.children().unwrap_or(std::slice::from_ref(atom))
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
}

impl<'a> RowPattern<'a> {
    /// `None` when a rigid column was never interned, so that no row can match.
    fn new(query: &'a Expression, terms: &Terms) -> Option<Self> {
        let key = |child: &Atom| if child.is_rigid() { terms.find_key(child).map(Some) } else { Some(None) };
        let keys: Option<Vec<Option<Term>>> = query.children().iter().map(key).collect();
        keys.map(|keys| Self { query, keys })
    }

    /// Whether a row has the length of the query and agrees with it in the columns that are rigid.
    fn may_match(&self, row: &[Term], terms: &Terms) -> bool {
        let agrees = |(&key, &term): (&Option<Term>, &Term)| key.is_none_or(|key| terms.key(term) == key);
        row.len() == self.query.len() && self.keys.iter().zip(row).all(agrees)
    }

    fn match_row(&self, row: &FoundRow<'_>, terms: &Terms, source: &mut VariableSource) -> Option<Match> {
        if !self.may_match(row.terms, terms) {
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
