//! From references to the terms of the dictionary: what a space holds as rows.

use super::interned::Opened;
use super::values::Values;
use super::words::{FOREIGN, INTEGER, SYMBOL, TERM, evaluated_term, is_evaluated_term, term_of, word};
use region::{Ref, tag};
use rustc_hash::FxHashMap;
use space::{Atom, Grounded, NO_TERM, Outcomes, Term, Terms};

/// What a value is as a part of a row.
pub(super) enum Keyed {
    /// It has this match key; [`NO_TERM`] if nothing in the dictionary has it.
    Key(Term),
    /// An expression that holds something open.
    Open,
    /// An unbound variable.
    Variable(Ref),
    /// A state, a space or the like, which is compared in another way.
    NotRowShaped,
}

/// Whether a grounded value means the same for ever, in every process.
fn is_plain(value: &Atom) -> bool {
    matches!(value, Atom::Grounded(Grounded::Bool(_) | Grounded::Number(_) | Grounded::Text(_)))
}

/// With more atoms of evaluated terms than this, they are forgotten between two forms.
const MARKED_MAX: usize = 1 << 16;

impl Values {
    /// The term of a leaf, made if need be; `None` for variables, states and what else is not for rows.
    fn intern_leaf(&mut self, leaf: Ref, terms: &mut Terms) -> Option<Term> {
        match leaf.tag() {
            SYMBOL => {
                let index = leaf.payload() as usize;
                if let Some(known) = self.known_symbol(index) {
                    return Some(known);
                }
                let term = terms.intern_leaf(&Atom::Symbol(self.symbol_of(leaf).clone()));
                self.keep_symbol_term(index, term);
                Some(term)
            }
            TERM => Some(term_of(leaf)),
            INTEGER => Some(terms.intern_integer(word(leaf))),
            tag::NUMBER => Some(terms.intern_leaf(&Atom::from(self.number_of(leaf)?))),
            FOREIGN => {
                let value = self.foreign_of(leaf);
                is_plain(value).then(|| terms.intern_leaf(value))
            }
            _ => None,
        }
    }

    fn keep_symbol_term(&mut self, index: usize, term: Term) {
        if self.symbol_terms.len() <= index {
            self.symbol_terms.resize(index + 1, NO_TERM);
        }
        self.symbol_terms[index] = term;
    }

    /// The terms of the children of an expression, made if need be; `None` if it is no row.
    pub(super) fn intern_row(&mut self, expression: Ref, terms: &mut Terms, row: &mut Vec<Term>) -> Option<()> {
        let length = self.heap.length(expression);
        row.clear();
        for index in 0..length {
            let child = self.heap.walk(self.heap.child(expression, index));
            row.push(if child.is_expression() { self.intern(child, terms)? } else { self.intern_leaf(child, terms)? });
        }
        Some(())
    }

    /// The term of an expression of the heap.
    fn intern(&mut self, expression: Ref, terms: &mut Terms) -> Option<Term> {
        if let Some(known) = self.interned.term(expression) {
            return Some(known);
        }
        let (mut open, mut done) = std::mem::take(&mut self.interned.room);
        open.clear();
        done.clear();
        open.push(Opened { expression, from: 0, is_ground: true });
        let term = self.intern_all(&mut open, &mut done, terms);
        self.interned.room = (open, done);
        term
    }

    fn intern_all(&mut self, open: &mut Vec<Opened>, done: &mut Vec<Term>, terms: &mut Terms) -> Option<Term> {
        loop {
            let Opened { expression, from, is_ground } = open.last_mut().expect("an expression is open");
            let term = if done.len() - *from == self.heap.length(*expression) {
                let (term, is_ground) = (terms.intern_row(&done[*from..]), *is_ground);
                done.truncate(*from);
                if is_ground {
                    self.interned.keep(*expression, term);
                }
                open.pop();
                match open.last_mut() {
                    Some(around) => around.is_ground &= is_ground,
                    None => return Some(term),
                }
                term
            } else {
                let written = self.heap.child(*expression, done.len() - *from);
                let child = self.heap.walk(written);
                *is_ground &= written == child;
                match child.is_expression().then(|| self.interned.term(child)) {
                    Some(Some(known)) => known,
                    Some(None) => {
                        open.push(Opened { expression: child, from: done.len(), is_ground: true });
                        continue;
                    }
                    None => self.intern_leaf(child, terms)?,
                }
            };
            done.push(term);
        }
    }

    /// What a leaf or term is as a part of a row.
    pub(super) fn key_of(&mut self, value: Ref, terms: &Terms) -> Keyed {
        let found = match value.tag() {
            tag::VARIABLE => return Keyed::Variable(value),
            tag::EXPRESSION | tag::MARKED => return self.key_of_expression(value, terms),
            SYMBOL => self.key_of_symbol(value, terms),
            TERM => Some(terms.key(term_of(value))),
            INTEGER => terms.find_integer(word(value)),
            tag::NUMBER => self.number_of(value).and_then(|number| terms.find_key(&Atom::from(number))),
            _ => {
                let value = self.foreign_of(value);
                if !is_plain(value) {
                    return Keyed::NotRowShaped;
                }
                terms.find_key(value)
            }
        };
        Keyed::Key(found.unwrap_or(NO_TERM))
    }

    /// What a value is as a part of a row, if that can be told without a dictionary.
    #[inline]
    pub(super) fn known_key(&self, value: Ref) -> Option<Keyed> {
        match value.tag() {
            tag::VARIABLE => Some(Keyed::Variable(value)),
            SYMBOL => self.known_symbol(value.payload() as usize).map(Keyed::Key),
            _ => None,
        }
    }

    #[inline]
    fn known_symbol(&self, index: usize) -> Option<Term> {
        self.symbol_terms.get(index).copied().filter(|&known| known != NO_TERM)
    }

    fn key_of_symbol(&mut self, symbol: Ref, terms: &Terms) -> Option<Term> {
        let index = symbol.payload() as usize;
        if let Some(known) = self.known_symbol(index) {
            return Some(known);
        }
        let term = terms.find(&Atom::Symbol(self.symbol_of(symbol).clone()))?;
        self.keep_symbol_term(index, term);
        Some(term)
    }

    /// The key of an expression of the heap, if it holds no variable. A part that was never interned is in no row.
    fn key_of_expression(&mut self, expression: Ref, terms: &Terms) -> Keyed {
        let mut open: Vec<(Ref, Vec<Term>)> = vec![(expression, Vec::new())];
        let mut met: Outcomes<(), Term> = Outcomes::default();
        loop {
            let (expression, done) = open.last_mut().expect("an expression is open");
            let place = expression.payload() as usize;
            let again = if done.is_empty() { met.of(place) } else { None };
            let known = if done.is_empty() { self.interned.term(*expression) } else { None };
            let key = if let Some(key) = again.or_else(|| known.map(|known| terms.key(known))) {
                open.pop();
                key
            } else if done.len() == self.heap.length(*expression) {
                let is_known = !done.contains(&NO_TERM);
                let key = is_known.then(|| terms.find_row(done)).flatten().unwrap_or(NO_TERM);
                met.keep(place, &(), &key);
                open.pop();
                key
            } else {
                let child = self.heap.walk(self.heap.child(*expression, done.len()));
                if child.is_expression() {
                    open.push((child, Vec::new()));
                    continue;
                }
                match self.key_of(child, terms) {
                    Keyed::Key(key) => key,
                    Keyed::Variable(_) => return Keyed::Open,
                    other => return other,
                }
            };
            match open.last_mut() {
                Some((_, done)) => done.push(key),
                None => return Keyed::Key(key),
            }
        }
    }

    /// A term that was met before, without a look into the dictionary.
    #[inline]
    pub(super) fn known_term(&self, term: Term) -> Option<Ref> {
        self.term_refs.get(term.number() as usize).copied().flatten()
    }

    /// A term as a reference.
    #[inline]
    pub(super) fn load_term(&mut self, term: Term) -> Result<Ref, region::Full> {
        match (self.known_term(term), self.floats.get(term)) {
            (Some(known), _) => Ok(known),
            (None, Some(float)) => self.float(float),
            (None, None) => self.load_new_term(term),
        }
    }

    /// A term as a reference, where the term was not met before, or is made anew each time.
    #[inline(never)]
    fn load_new_term(&mut self, term: Term) -> Result<Ref, region::Full> {
        let terms = self.terms.clone();
        let terms = terms.read().expect("no panic while terms are locked");
        self.term(term, &terms)
    }

    /// The atom of a term. What is marked as evaluated is that as an atom, too.
    pub(super) fn term_atom(&self, value: Ref) -> Atom {
        let terms = self.terms.read().expect("no panic while terms are locked");
        let term = term_of(value);
        if is_evaluated_term(value) && self.marks_terms {
            return marked_through(term, &terms, &mut self.normal.marked.borrow_mut());
        }
        terms.atom(term).clone()
    }

    /// From now on the atoms of evaluated terms are marked as that: an evaluation begins.
    pub(super) fn begin_marking(&mut self) {
        self.marks_terms = true;
        let marked = self.normal.marked.get_mut();
        if marked.len() > MARKED_MAX {
            *marked = FxHashMap::default();
        }
    }

    /// A term as a reference marked as evaluated, if it is a compound.
    pub(super) fn as_evaluated(child: Ref) -> Ref {
        if child.tag() == TERM { evaluated_term(child) } else { child }
    }
}

/// The atom of a term, all compounds in it marked as evaluated. What was made before is not made again.
fn marked_through(whole: Term, terms: &Terms, made: &mut FxHashMap<Term, Atom>) -> Atom {
    if let Some(known) = made.get(&whole) {
        return known.clone();
    }
    let mut work = vec![whole];
    while let Some(&term) = work.last() {
        let children = terms.children(term).unwrap_or_default();
        let before = work.len();
        let is_missing = |child: &Term| !made.contains_key(child);
        work.extend(children.iter().copied().filter(is_missing));
        if work.len() > before {
            continue;
        }
        work.pop();
        let atom = match children {
            [] => terms.atom(term).clone(),
            _ => {
                let children: Vec<Atom> = children.iter().map(|child| made[child].clone()).collect();
                space::Expression::new(children).into_evaluated().into()
            }
        };
        made.insert(term, atom);
    }
    made[&whole].clone()
}
