//! Adding much at once: the dictionary and the space are locked once, and what is read elsewhere needs no atoms.
//!
//! A loader makes the terms of what it reads ([`Appender::symbol`], [`Appender::leaf`], [`Appender::expression`]) and adds
//! rows of them. An atom with variables, states or spaces is added as an atom.

use crate::atom::Atom;
use crate::canonical::{DecodeError, RigidPart, RigidReader};
use crate::change::ANY_CLASS;
use crate::contents::Contents;
use crate::row::Row;
use crate::space_handle::SharedSpace;
use crate::term::{Term, Terms};
use std::sync::RwLockWriteGuard;

/// Room is made for this many atoms at most: beyond it tables grow as they do for one by one, and little stays unused if the atoms are
/// unlike.
const ROOM_MAX: usize = 1 << 16;

/// Room for the terms of atoms that are read from their canonical bytes.
#[derive(Debug, Default)]
pub struct EncodedRoom {
    terms: Vec<Term>,
    /// Where the open expressions begin.
    open: Vec<usize>,
}

/// Adds atoms to a space, in the order in which they are given.
///
/// While it lives nobody else reads the space or its dictionary but through a snapshot that was taken before.
pub struct Appender<'a> {
    pub(crate) terms: RwLockWriteGuard<'a, Terms>,
    pub(crate) contents: &'a mut Contents,
    /// Room for the row at hand.
    pub(crate) row: &'a mut Vec<Term>,
    /// Whose log notes what is added, if one does.
    pub(crate) noted: Option<&'a SharedSpace>,
}

impl Appender<'_> {
    /// The term of a symbol.
    pub fn symbol(&mut self, name: &str) -> Term {
        self.terms.intern_symbol(name)
    }

    /// The term of a number, a text or another rigid atom that is no expression.
    pub fn leaf(&mut self, atom: &Atom) -> Term {
        self.terms.intern_leaf(atom)
    }

    /// The term of an expression inside a row.
    pub fn expression(&mut self, children: &[Term]) -> Term {
        self.terms.intern_row(children)
    }

    /// Makes room for `rows` more rows of this length.
    pub fn reserve(&mut self, rows: usize, length: usize) {
        self.contents.reserve(rows, length);
    }

    /// How many terms the dictionary has.
    pub fn terms(&self) -> usize {
        self.terms.len()
    }

    /// Says how many rows and terms are likely to come, which may be wrong: tables that are full grow towards them, eightfold at
    /// most. It holds until something else is said.
    pub fn expect(&mut self, rows: usize, terms: usize) {
        self.contents.expect(rows);
        self.terms.expect(terms);
    }

    /// Adds the expression of these children.
    pub fn row(&mut self, row: &[Term]) {
        self.contents.add_row(row, None, &mut self.terms);
        if let Some(space) = self.noted {
            space.note_row(Row::Expression(row), ANY_CLASS, None);
        }
    }

    /// Adds the expression that has these canonical bytes, of which no atom is made; gives whether it did. It does not if the atom is
    /// no expression, or has something in it that is not interned, or a symbol whose name `is_taken` does not take. `room` is used
    /// again and again.
    ///
    /// # Errors
    /// The bytes are no atom's.
    pub fn encoded(
        &mut self,
        bytes: &[u8],
        room: &mut EncodedRoom,
        is_taken: impl Fn(&str) -> bool,
    ) -> Result<bool, DecodeError> {
        let EncodedRoom { terms, open } = room;
        terms.clear();
        open.clear();
        let mut reader = RigidReader::new(bytes);
        loop {
            let offset = reader.offset();
            let part = reader.next()?;
            if open.is_empty() && !matches!(part, RigidPart::Open) {
                return Ok(false);
            }
            let term = match part {
                RigidPart::Open => {
                    open.push(terms.len());
                    continue;
                }
                RigidPart::Symbol(name) if is_taken(name) => self.terms.intern_symbol(name),
                RigidPart::Integer(value) => self.terms.intern_integer(value),
                RigidPart::Leaf(leaf) => self.terms.intern_leaf(&leaf),
                RigidPart::Symbol(_) | RigidPart::Other => return Ok(false),
                RigidPart::Close => {
                    let start = open.pop().ok_or(DecodeError::UnknownTag { tag: 0, offset })?;
                    if open.is_empty() {
                        break;
                    }
                    let term = self.terms.intern_row(&terms[start..]);
                    terms.truncate(start);
                    term
                }
            };
            terms.push(term);
        }
        if !reader.is_at_end() {
            return Err(DecodeError::Trailing { offset: reader.offset() });
        }
        self.row(&room.terms);
        Ok(true)
    }

    /// Adds atoms, first making room for as many as there are at least, all taken to be like the first; gives how many.
    pub fn atoms<'a>(&mut self, atoms: impl IntoIterator<Item = &'a Atom>) -> usize {
        let atoms = atoms.into_iter();
        let more = atoms.size_hint().0;
        self.first_of_atoms(more, atoms)
    }

    /// Adds atoms that are the first of at least `more`.
    pub(crate) fn first_of_atoms<'a>(&mut self, more: usize, atoms: impl Iterator<Item = &'a Atom>) -> usize {
        let mut atoms = atoms.peekable();
        if let Some(first) = atoms.peek() {
            self.contents.reserve_like(first, more.min(ROOM_MAX), &mut self.terms);
        }
        let (mut added, mut last) = (0, None);
        for atom in atoms {
            self.contents.add_next(atom, &mut last, &mut self.terms, self.row);
            self.note(atom);
            added += 1;
        }
        added
    }

    /// Adds an atom.
    pub fn atom(&mut self, atom: &Atom) {
        self.contents.add(atom, None, &mut self.terms, self.row);
        self.note(atom);
    }

    fn note(&self, atom: &Atom) {
        if let Some(space) = self.noted {
            space.note_row(Row::of(atom, self.row), space.class_of(atom) as u8, None);
        }
    }
}
