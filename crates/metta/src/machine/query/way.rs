//! In which way a query is answered.
//!
//! Rows are found by a plan, which knows whether it serves again and whether rows alone answered the last time ([`space::KeptPlan`]). Where
//! atoms with variables may match too, they are code once that pays ([`super::candidates`]), or the space is asked with an atom.

use super::candidates::{Candidates, Input};
use crate::machine::Machine;
use crate::machine::code::Query;
use region::{Full, Ref};
use std::rc::Rc;

/// In which way a query is answered.
pub(super) enum Way {
    /// By rows, as it seems.
    Rows,
    /// By the code of the atoms that may match, given what the slots hold.
    Code(Rc<Candidates>, Vec<Input>),
    /// The space is asked with an atom.
    Atoms,
}

impl Query {
    /// Whether it is asked first whether rows answer it.
    pub(super) fn begins_with_rows(&self) -> bool {
        !self.kept.is_put_off() && !self.kept.is_rewritten_often() && self.candidates.made.is_none()
    }
}

impl Machine {
    /// In which way a query is answered; `are_rows_refused` says whether rows were asked already and did not answer it.
    pub(super) fn way_of(&mut self, query: u32, space: Ref, are_rows_refused: bool) -> Result<Way, Full> {
        if !are_rows_refused {
            if let Some(code) = self.known_code(query, space) {
                return Ok(code);
            }
            let kept = &mut self.code.queries[query as usize].kept;
            if !kept.rests() {
                if kept.is_rewritten_often()
                    && let Some(code) = self.make_code(query, space)?
                {
                    return Ok(code);
                }
                return Ok(Way::Rows);
            }
        }
        Ok(self.make_code(query, space)?.unwrap_or(Way::Atoms))
    }

    /// The code for the atoms that a query finds in a space, if it was made and still holds.
    #[inline]
    fn known_code(&mut self, query: u32, space: Ref) -> Option<Way> {
        let Self { values, code, .. } = self;
        let cache = &mut code.queries[query as usize].candidates;
        cache.made.as_ref()?;
        let known = cache.valid(values.space_of(space)?)?;
        self.with_inputs(query, known)
    }

    /// Makes code for the atoms that a query finds, if that is worth it now and how it is done.
    fn make_code(&mut self, query: u32, space: Ref) -> Result<Option<Way>, Full> {
        let Self { values, code, .. } = self;
        let asked = &mut code.queries[query as usize];
        let Some(space) = values.space_of(space).cloned().filter(|_| asked.candidates.made.is_none()) else {
            return Ok(None);
        };
        let made = asked.make_candidates(values, &space)?;
        Ok(made.and_then(|made| self.with_inputs(query, made)))
    }

    /// The code with what the slots hold, if nothing that slots hold is compared in another way.
    fn with_inputs(&mut self, query: u32, code: Rc<Candidates>) -> Option<Way> {
        Some(Way::Code(code, self.read_inputs(query)?))
    }
}
