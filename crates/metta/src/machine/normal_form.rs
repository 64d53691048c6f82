//! Terms of the dictionary that are in normal form: data that was stored stays evaluated.
//!
//! 1. What goes into a space becomes terms and loses its note. So it is kept by the term whether it is its own result as rules
//!    stand: a term is looked into once, its parts first, and those of them that are terms are known already when it is made
//!    around them. When rules or types change, all of that is out of date.
//! 2. What is found in normal form goes on as a term that is *marked as evaluated*, with all that is in it. As with expressions, the
//!    mark stays when a rule is added: what came to itself before is not evaluated again.
//! 3. A term is in normal form if nothing reduces it, its head asks for no type that it has not, and all its parts are in normal form.

use super::normal_terms::Makes;
use super::types::{Formal, HeadKind};
use super::values::{LOOKS_BETWEEN_LIMITS, Values};
use super::words::{EMPTY, ERROR, SYMBOL, TERM, term_of};
use super::{Halt, Running};
use crate::names;
use crate::types::function_parts;
use region::Ref;
use space::{Atom, SharedTerms, Term, Terms};

/// What a look at the children of a term tells.
enum Look {
    Known(bool),
    /// Its head, and how many arguments it has; all of them are in normal form.
    Head(Ref, usize),
    /// Some of its children are to be looked into first.
    Later,
}

impl Running<'_> {
    /// Whether a term is its own result as rules stand, whatever is evaluated without a type.
    pub(super) fn settles(&mut self, value: Ref) -> Result<bool, Halt> {
        let whole = term_of(value);
        if let Some(known) = self.m.values.normal.knows(whole) {
            return Ok(known);
        }
        let mut work = std::mem::take(&mut self.m.values.normal.work);
        work.clear();
        work.push(whole);
        let done = self.settle_all(&mut work);
        self.m.values.normal.work = work;
        done?;
        Ok(self.m.values.normal.knows(whole) == Some(true))
    }

    /// Looks into terms, the last first, each after its parts.
    fn settle_all(&mut self, work: &mut Vec<Term>) -> Result<(), Halt> {
        let shared = SharedTerms::clone(&self.m.values.terms);
        let mut looks = 0_usize;
        while let Some(&term) = work.last() {
            looks += 1;
            if looks.is_multiple_of(LOOKS_BETWEEN_LIMITS) && self.m.values.ceiling.is_passed() {
                return Err(self.m.values.ceiling.passed());
            }
            let look = {
                let terms = shared.read().expect("no panic while terms are locked");
                look_into(&mut self.m.values, term, &terms, work)
            };
            let is_normal = match look {
                Look::Known(known) => known,
                Look::Head(head, count) => self.is_data_with(head, count, term)?,
                Look::Later => continue,
            };
            self.m.values.normal.keep(term, is_normal);
            work.pop();
        }
        Ok(())
    }

    /// Whether a term of children in normal form, with this head, is data.
    fn is_data_with(&mut self, head: Ref, count: usize, term: Term) -> Result<bool, Halt> {
        Ok(match self.makes(head, count)? {
            Makes::Data => true,
            Makes::TypedData { raw } => {
                !has_compound(&self.m.values, term, raw)
                    && self.types().scheme_of(Ref::new(TERM, term.number())).is_some()
            }
            Makes::Other => false,
        })
    }

    /// What a head makes of `count` arguments in normal form.
    pub(super) fn makes(&mut self, head: Ref, count: usize) -> Result<Makes, Halt> {
        if let Some(&known) = self.m.values.normal.heads.get(&(head, count)) {
            return Ok(known);
        }
        let kind = if head.tag() == SYMBOL { self.types().head_kind(head, count) } else { HeadKind::Untyped };
        let makes = match kind {
            HeadKind::Untyped if self.makes_data(head, count)? => Makes::Data,
            HeadKind::Untyped | HeadKind::Other => Makes::Other,
            kind if self.is_named_constructor(head, count)? => Makes::TypedData { raw: raw_arguments(&kind) },
            _ => Makes::Other,
        };
        if head.tag() == SYMBOL {
            self.m.values.normal.heads.insert((head, count), makes);
        }
        Ok(makes)
    }
}

/// The arguments that a function type takes as they stand, a bit for each.
fn raw_arguments(kind: &HeadKind) -> u32 {
    let bits = |is_raw: &mut dyn Iterator<Item = bool>| {
        is_raw.enumerate().fold(0, |bits, (place, is_raw)| bits | u32::from(is_raw) << place)
    };
    match kind {
        HeadKind::Typed(signature) => {
            bits(&mut signature.formals.iter().map(|formal| !matches!(formal, Formal::Typed(_))))
        }
        HeadKind::Parametric(function) => bits(&mut function_parts(function).0.iter().map(names::is_metatype)),
        HeadKind::Raw { .. } | HeadKind::Untyped | HeadKind::Other => u32::MAX,
    }
}

/// Whether one of the arguments of a term that have a bit is a compound.
fn has_compound(values: &Values, term: Term, bits: u32) -> bool {
    let terms = values.terms.read().expect("no panic while terms are locked");
    let arguments = terms.children(term).and_then(<[Term]>::split_first).map_or(&[][..], |(_, rest)| rest);
    let is_compound = |child: Term| terms.children(child).is_some_and(|inside| !inside.is_empty());
    arguments.iter().enumerate().any(|(place, &child)| bits >> place & 1 == 1 && is_compound(child))
}

/// Looks at the children of a term; those that are not known yet are added to the work.
fn look_into(values: &mut Values, term: Term, terms: &Terms, work: &mut Vec<Term>) -> Look {
    let children = terms.children(term).expect("only compounds are kept as terms");
    let before = work.len();
    for &child in children {
        let is_normal = match terms.children(child) {
            Some(inside) if !inside.is_empty() => values.normal.knows(child),
            _ => Some(is_normal_leaf(values, child, terms)),
        };
        match is_normal {
            Some(true) => {}
            Some(false) => {
                work.truncate(before);
                return Look::Known(false);
            }
            None => work.push(child),
        }
    }
    if work.len() > before {
        return Look::Later;
    }
    match values.term(children[0], terms) {
        Ok(head) => Look::Head(head, children.len() - 1),
        // There is no room for a number: nothing goes on from here.
        Err(_) => Look::Known(false),
    }
}

/// Whether a leaf is in normal form as a child of data.
fn is_normal_leaf(values: &Values, leaf: Term, terms: &Terms) -> bool {
    match values.known_term(leaf) {
        Some(known) => known != EMPTY && known != ERROR,
        None => match terms.atom(leaf) {
            Atom::Symbol(symbol) => ![names::EMPTY, names::ERROR].contains(&symbol.as_str()),
            _ => true,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::normal_terms::{FIRST_EPOCH, NormalTerms};

    #[test]
    fn what_is_known_of_terms_is_forgotten_when_rules_change() {
        let mut normal = NormalTerms::default();
        let [one, other, third] = [3, 900, 4].map(Term::new);
        normal.keep(one, true);
        normal.keep(other, false);
        assert_eq!([one, other, third].map(|term| normal.knows(term)), [Some(true), Some(false), None]);
        normal.advance(7);
        assert_eq!([one, other, third].map(|term| normal.knows(term)), [None; 3]);
        assert_eq!(normal.note(), 7);
        normal.keep(other, true);
        assert_eq!(normal.knows(other), Some(true));
    }

    #[test]
    fn epochs_begin_again_when_numbers_end() {
        let mut normal = NormalTerms { epoch: u32::MAX - 3, ..NormalTerms::default() };
        let term = Term::new(1);
        normal.keep(term, false);
        assert_eq!(normal.knows(term), Some(false));
        normal.advance(1);
        assert_eq!((normal.epoch, normal.knows(term)), (FIRST_EPOCH, None));
    }
}
