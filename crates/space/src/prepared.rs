//! An atom made ready for being looked for many times.
//!
//! 1. To look for an atom is to find the terms of its parts, to hash their match keys and to find the row that has them.
//!    Only the last step depends on the space.
//! 2. A [`Prepared`] atom is the result of the others: its keys and their hash. Looking for it reads no name and allocates
//!    nothing.
//! 3. Its parts are interned, so it stays right while the space changes: terms and their match keys never do.
//!
//! It serves every space and snapshot that has the dictionary it was prepared with.

use crate::atom::Atom;
use crate::contents::{Contents, Stored, columns};
use crate::relation::hash_of;
use crate::term::{Term, Terms};

/// An atom that was made ready; see [`SpaceRef::prepare`](crate::SpaceRef::prepare).
pub struct Prepared {
    dictionary: u32,
    form: Form,
}

enum Form {
    /// The match keys of a row, and their hash.
    Row { keys: Box<[Term]>, hash: u64, is_leaf: bool },
    /// An atom with variables, states or spaces: it is compared as it stands.
    Open(Stored),
}

impl Prepared {
    pub(crate) fn new(atom: &Atom, terms: &mut Terms) -> Self {
        let dictionary = terms.serial();
        if !atom.is_rigid() {
            return Self { dictionary, form: Form::Open(Stored::new(atom)) };
        }
        let key_of = |column: &Atom| {
            let term = terms.intern(column);
            terms.key(term)
        };
        let keys: Box<[Term]> = columns(atom).iter().map(key_of).collect();
        let hash = hash_of(keys.iter().copied());
        Self { dictionary, form: Form::Row { keys, hash, is_leaf: atom.children().is_none() } }
    }
}

impl Contents {
    /// How many copies of an atom there are; see [`Space::count`](crate::Space::count).
    #[inline]
    pub(crate) fn count_prepared(&self, atom: &Prepared, terms: &Terms) -> usize {
        assert!(
            atom.dictionary == terms.serial(),
            "an atom is looked for in spaces of the dictionary it was prepared with"
        );
        match &atom.form {
            Form::Row { keys, hash, is_leaf: false } => {
                self.relation_of_length(keys.len()).count_hashed(*hash, keys, terms)
            }
            Form::Row { keys, hash, .. } => self.leaves().count_hashed(*hash, keys, terms),
            Form::Open(stored) => self.patterns().count(stored),
        }
    }
}
