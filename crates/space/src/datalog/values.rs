//! Dense numbers for the terms that a program meets.

use super::program::Refused;
use crate::atom::Atom;
use crate::grounded::Grounded;
use crate::query::NO_TERM;
use crate::term::{SharedTerms, Term, Terms};
use rustc_hash::FxHashMap;

/// Results that mean something else than themselves.
const NOT_DATA: [&str; 2] = ["Empty", "NotReducible"];

/// The terms, by their dense numbers.
pub struct Values {
    dictionary: SharedTerms,
    /// For each term its dense number and one; 0 if it has none.
    by_term: Vec<u32>,
    /// What was never interned.
    by_atom: FxHashMap<Atom, u32>,
    values: Vec<Value>,
}

struct Value {
    term: Term,
    /// The atom, if there is no term.
    atom: Option<Atom>,
}

impl Values {
    /// None yet; terms are those of this dictionary.
    pub(super) fn new(dictionary: SharedTerms) -> Self {
        Self { dictionary, by_term: Vec::new(), by_atom: FxHashMap::default(), values: Vec::new() }
    }

    pub(super) fn dictionary(&self) -> &SharedTerms {
        &self.dictionary
    }

    /// About how many bytes they take.
    pub(super) fn bytes(&self) -> usize {
        self.values.len() * (size_of::<Value>() + size_of::<u32>())
    }

    /// The number of a term.
    #[inline]
    pub(super) fn number_of(&mut self, term: Term, terms: &Terms) -> Result<u32, Refused> {
        match self.by_term.get(term.number() as usize) {
            Some(&known) if known > 0 => Ok(known - 1),
            _ => self.add(term, terms),
        }
    }

    #[cold]
    fn add(&mut self, term: Term, terms: &Terms) -> Result<u32, Refused> {
        check(terms.atom(term))?;
        if terms.key(term) != term {
            return Err(Refused::NotRows("a value matches others that are not equal to it"));
        }
        if self.by_term.len() <= term.number() as usize {
            self.by_term.resize(terms.len().max(term.number() as usize + 1), 0);
        }
        self.values.push(Value { term, atom: None });
        self.by_term[term.number() as usize] = self.values.len() as u32;
        Ok(self.values.len() as u32 - 1)
    }

    /// The number of an atom.
    pub(super) fn number_of_atom(&mut self, atom: &Atom) -> Result<u32, Refused> {
        check(atom)?;
        let dictionary = SharedTerms::clone(&self.dictionary);
        let terms = dictionary.read().expect("no panic while terms are locked");
        if let Some(term) = terms.find(atom) {
            return self.number_of(term, &terms);
        }
        if terms.find_key(atom).is_some() {
            return Err(Refused::NotRows("a value matches others that are not equal to it"));
        }
        let next = self.values.len() as u32;
        let number = *self.by_atom.entry(atom.clone()).or_insert(next);
        if number == next {
            self.values.push(Value { term: NO_TERM, atom: Some(atom.clone()) });
        }
        Ok(number)
    }

    /// The number of an atom that has one.
    pub fn number(&self, atom: &Atom) -> Option<u32> {
        let terms = self.dictionary.read().expect("no panic while terms are locked");
        let by_term = terms.find(atom).and_then(|term| self.by_term.get(term.number() as usize)?.checked_sub(1));
        by_term.or_else(|| self.by_atom.get(atom).copied())
    }

    /// The term of a number; [`NO_TERM`] if it was never interned.
    pub fn term(&self, number: u32) -> Term {
        self.values[number as usize].term
    }

    /// The atom of a number.
    pub fn atom(&self, number: u32) -> Atom {
        let Value { term, atom } = &self.values[number as usize];
        let interned = || self.dictionary.read().expect("no panic while terms are locked").atom(*term).clone();
        atom.clone().unwrap_or_else(interned)
    }
}

/// Refuses what is not data that comes to itself.
fn check(atom: &Atom) -> Result<(), Refused> {
    match atom {
        Atom::Symbol(name) if NOT_DATA.contains(&name.as_str()) => Err(Refused::NotRows("a value is not data")),
        Atom::Symbol(_) | Atom::Grounded(Grounded::Bool(_) | Grounded::Number(_) | Grounded::Text(_)) => Ok(()),
        Atom::Grounded(_) => Err(Refused::NotRows("a value is a space, a state or a value of the host")),
        Atom::Expression(_) | Atom::Variable(_) => Err(Refused::NotRows("a value is an expression")),
    }
}
