//! What is known of terms of the dictionary: which are in normal form as rules stand. See `normal_form.rs`.

use super::notes::Notes;
use region::Ref;
use rustc_hash::FxHashMap;
use space::{Atom, Term};
use std::cell::RefCell;

/// What is known of terms.
pub(super) struct NormalTerms {
    /// What `known` says of a term that is in normal form; one more of a term that is not. Anything else is out of date.
    pub(super) epoch: u32,
    pub(super) known: Vec<u32>,
    /// What a symbol makes of a number of arguments in normal form.
    pub(super) heads: FxHashMap<(Ref, usize), Makes>,
    /// The note of what is in normal form.
    pub(super) note: u16,
    /// The terms that are still to be looked into.
    pub(super) work: Vec<Term>,
    /// The atoms of evaluated terms, as far as they were asked for.
    pub(super) marked: RefCell<FxHashMap<Term, Atom>>,
}

/// What a head makes of arguments in normal form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Makes {
    /// Data without a type.
    Data,
    /// Data if they are of its types. Those with a bit here are not evaluated: a compound there is none that came to itself.
    TypedData { raw: u32 },
    /// Something that is to be evaluated.
    Other,
}

pub(super) const FIRST_EPOCH: u32 = 2;

impl Default for NormalTerms {
    fn default() -> Self {
        let note = Notes::default().normal();
        Self {
            epoch: FIRST_EPOCH,
            known: Vec::new(),
            heads: FxHashMap::default(),
            note,
            work: Vec::new(),
            marked: RefCell::default(),
        }
    }
}

impl NormalTerms {
    /// Whether a term is in normal form, if it is known.
    #[inline]
    pub(super) fn knows(&self, term: Term) -> Option<bool> {
        match self.known.get(term.number() as usize)?.wrapping_sub(self.epoch) {
            0 => Some(true),
            1 => Some(false),
            _ => None,
        }
    }

    pub(super) fn keep(&mut self, term: Term, is_normal: bool) {
        let place = term.number() as usize;
        if self.known.len() <= place {
            self.known.resize(place + 1, 0);
        }
        self.known[place] = self.epoch + u32::from(!is_normal);
    }

    /// Rules have changed: nothing is known any more.
    pub(super) fn advance(&mut self, note: u16) {
        self.note = note;
        self.heads.clear();
        self.epoch = match self.epoch.checked_add(4) {
            Some(end) => end - 2,
            None => {
                self.known.clear();
                FIRST_EPOCH
            }
        };
    }

    /// The note of what is in normal form.
    pub(super) fn note(&self) -> u16 {
        self.note
    }
}
