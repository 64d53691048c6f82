//! Matching a row against a pattern, part by part.

use super::pattern::{NO_TERM, PatternPart};
use crate::term::{Term, Terms};

/// An answer while a row is matched against a pattern.
pub(super) struct Match<'a> {
    pub(super) answer: &'a mut [Term],
    pub(super) parameters: &'a [Term],
    pub(super) terms: &'a Terms,
}

/// Whether a row matches a pattern; what its variables are is put into the answer.
#[inline]
pub(super) fn matches(is_flat: bool, parts: &[PatternPart], row: &[Term], found: &mut Match<'_>) -> bool {
    if is_flat {
        return parts.iter().zip(row).all(|(&part, &term)| found.leaf(part, term));
    }
    found.compound(parts, row)
}

impl Match<'_> {
    #[inline(always)]
    fn leaf(&mut self, part: PatternPart, term: Term) -> bool {
        let terms = self.terms;
        let has_key = |key: Term| term == key || terms.key(term) == key;
        match part {
            PatternPart::Key(key) => has_key(key),
            PatternPart::Parameter(parameter) => has_key(self.parameters[parameter as usize]),
            PatternPart::Variable(variable) => {
                let known = &mut self.answer[variable as usize];
                if *known == NO_TERM {
                    *known = term;
                    return true;
                }
                *known == term || terms.key(*known) == terms.key(term)
            }
            PatternPart::Any => true,
            PatternPart::Open(_) => false,
        }
    }

    fn compound(&mut self, parts: &[PatternPart], row: &[Term]) -> bool {
        let mut open = vec![row.iter()];
        for &part in parts {
            let term = loop {
                let siblings = open.last_mut().expect("a pattern has as many parts as it opens");
                match siblings.next() {
                    Some(&term) => break term,
                    None => drop(open.pop()),
                }
            };
            match part {
                PatternPart::Open(length) => match self.terms.children(term) {
                    Some(children) if children.len() == length as usize => open.push(children.iter()),
                    _ => return false,
                },
                part if !self.leaf(part, term) => return false,
                _ => {}
            }
        }
        true
    }
}
