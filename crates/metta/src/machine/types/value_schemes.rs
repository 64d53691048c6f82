//! The schemes of values.

use super::TypeChecker;
use super::kept_types::ARITY_MAX;
use super::signatures::{Formal, HeadKind, Signature};
use super::type_table::Scheme;
use crate::machine::words::{EVALUATED_OPEN, INTEGER, SYMBOL, TERM, is_lasting, plain};
use region::{Ref, tag};
use space::{Atom, SharedTerms};

/// How many levels of an expression, at most, are looked at again and again, where each has a type of its own: notes are few.
const LEVELS_TO_NOTE: usize = 32;

/// An expression whose children's schemes are being found.
struct OpenScheme {
    value: Ref,
    head: Ref,
    by: SchemeSource,
    length: usize,
    known: [Scheme; ARITY_MAX],
    next: usize,
}

/// What decides on the scheme of an expression.
enum SchemeSource {
    Signature(Signature),
    Function(Atom),
}

/// What a first look at a value tells of its scheme.
enum FirstLook {
    Known(Scheme),
    Nothing,
    Inside(OpenScheme),
}

impl TypeChecker<'_> {
    /// The scheme of a value, bindings followed.
    pub(in crate::machine) fn scheme_of(&mut self, value: Ref) -> Option<Scheme> {
        let mut open: Vec<OpenScheme> = Vec::new();
        let mut current = value;
        loop {
            let mut found = match self.look_at_type(current) {
                FirstLook::Known(scheme) => Some(scheme),
                FirstLook::Nothing => return None,
                FirstLook::Inside(inside) => {
                    open.push(inside);
                    None
                }
            };
            loop {
                let Some(top) = open.last_mut() else { return found };
                if let Some(scheme) = found.take() {
                    top.known[top.next] = scheme;
                    top.next += 1;
                }
                if top.next < top.length {
                    let (value, place) = (top.value, top.next + 1);
                    current = self.child_of(value, place)?;
                    break;
                }
                let complete = open.pop().expect("it is open");
                found = Some(self.scheme_of_whole(&complete, open.len())?);
            }
        }
    }

    fn look_at_type(&mut self, value: Ref) -> FirstLook {
        let value = self.values.heap.walk(value);
        let known = match value.tag() {
            INTEGER | tag::NUMBER => Some(self.types.schemes.number),
            tag::VARIABLE => Some(Scheme::UNKNOWN),
            TERM => match self.types.schemes.known.get(&plain(value)) {
                Some(&known) => known,
                None => return self.look_inside(plain(value)),
            },
            tag::EXPRESSION | tag::MARKED => {
                let note = self.values.heap.note(value);
                match self.types.schemes.noted.of(self.types.notes, note) {
                    Some(known) => Some(known),
                    None => return self.look_inside(value),
                }
            }
            _ => self.scheme_of_leaf(value),
        };
        known.map_or(FirstLook::Nothing, FirstLook::Known)
    }

    fn look_inside(&mut self, value: Ref) -> FirstLook {
        let Some((head, length)) = self.head_of(value) else { return FirstLook::Nothing };
        if head.tag() != SYMBOL || self.may_have_whole_type(head, length) {
            return FirstLook::Nothing;
        }
        let by = match self.head_kind(head, length) {
            HeadKind::Untyped if self.is_open(head) => return FirstLook::Known(Scheme::UNKNOWN),
            HeadKind::Raw { result } => {
                return self.types.scheme_of_type(result).map_or(FirstLook::Nothing, FirstLook::Known);
            }
            HeadKind::Typed(signature) => {
                let scheme = signature.result.and_then(|result| self.types.scheme_of_type(result));
                let Some(scheme) = scheme else { return FirstLook::Nothing };
                if value.is_expression() && self.types.notes.hold(self.values.heap.note(value)) {
                    return FirstLook::Known(scheme);
                }
                SchemeSource::Signature(signature)
            }
            HeadKind::Parametric(function) => SchemeSource::Function(function),
            HeadKind::Untyped | HeadKind::Other => return FirstLook::Nothing,
        };
        if length > ARITY_MAX {
            return FirstLook::Nothing;
        }
        FirstLook::Inside(OpenScheme { value, head, by, length, known: [Scheme::UNKNOWN; ARITY_MAX], next: 0 })
    }

    /// The head of an expression or a term, and how many arguments it has.
    fn head_of(&mut self, value: Ref) -> Option<(Ref, usize)> {
        if value.tag() != TERM {
            let children = self.values.heap.children(value);
            let (&head, length) = (children.first()?, children.len() - 1);
            return Some((self.values.heap.walk(head), length));
        }
        let head = self.child_of(value, 0)?;
        let terms = self.values.terms.read().expect("no panic while terms are locked");
        Some((head, self.values.width(value, &terms) - 1))
    }

    fn child_of(&mut self, value: Ref, place: usize) -> Option<Ref> {
        if value.tag() != TERM {
            return Some(self.values.heap.child(value, place));
        }
        let terms = SharedTerms::clone(&self.values.terms);
        let terms = terms.read().expect("no panic while terms are locked");
        self.values.part(value, place, &terms).ok()
    }

    /// The scheme of an expression whose children's schemes are known; it is kept. `levels` levels are around the expression.
    fn scheme_of_whole(&mut self, whole: &OpenScheme, levels: usize) -> Option<Scheme> {
        let known = &whole.known[..whole.length];
        let scheme = match &whole.by {
            SchemeSource::Signature(signature) => self.result_of_signature(signature, whole.value, known),
            SchemeSource::Function(function) => {
                self.types.applied_to(whole.head, function, known, self.variables).flatten()
            }
        };
        if whole.value.tag() == TERM {
            self.types.schemes.known.insert(whole.value, scheme);
        } else if let (Some(scheme), SchemeSource::Function(_)) = (scheme, &whole.by)
            && (levels.is_multiple_of(LEVELS_TO_NOTE) || self.types.schemes.noted.has(scheme))
        {
            self.note_scheme(whole.value, scheme);
        }
        scheme
    }

    pub(super) fn result_of_signature(
        &mut self,
        signature: &Signature,
        value: Ref,
        known: &[Scheme],
    ) -> Option<Scheme> {
        for (place, formal) in signature.formals.iter().enumerate() {
            let agrees = match formal {
                Formal::Raw => true,
                Formal::Expression => {
                    let child = self.child_of(value, place + 1)?;
                    let child = self.values.heap.walk(child);
                    child.is_expression() || child.tag() == TERM
                }
                Formal::Typed(type_id) => self.types.scheme_agrees_with(known[place], *type_id, true, self.variables),
            };
            if !agrees {
                return None;
            }
        }
        self.types.scheme_of_type(signature.result?)
    }

    /// Keeps the scheme of an expression in its note, if that says that it is in normal form.
    fn note_scheme(&mut self, value: Ref, scheme: Scheme) {
        if !scheme.is_known() || !self.types.notes.hold(self.values.heap.note(value)) {
            return;
        }
        if let Some(note) = self.types.note_of(scheme) {
            debug_assert!(note != EVALUATED_OPEN, "that note is another's");
            self.values.heap.set_note(value, note);
        }
    }

    fn scheme_of_leaf(&mut self, leaf: Ref) -> Option<Scheme> {
        let is_kept = is_lasting(leaf);
        if is_kept && let Some(&known) = self.types.schemes.known.get(&leaf) {
            return known;
        }
        let atom = self.values.leaf_atom(leaf);
        let scheme = self.only_type(&atom).and_then(|only| self.types.intern_scheme(&only));
        if is_kept {
            self.types.schemes.known.insert(leaf, scheme);
        }
        scheme
    }

    pub(super) fn schemes_of_arguments(&mut self, call: Ref) -> Option<[Scheme; ARITY_MAX]> {
        let count = self.values.heap.length(call) - 1;
        let mut known = [Scheme::UNKNOWN; ARITY_MAX];
        for (place, known) in known.iter_mut().enumerate().take(count) {
            *known = self.scheme_of(self.values.heap.child(call, place + 1))?;
        }
        (count <= ARITY_MAX).then_some(known)
    }

    /// The schemes of those values that say a type; nothing is known of the others.
    pub(super) fn schemes_of_values(&mut self, values: &[Ref], says_type: &[bool]) -> Option<[Scheme; ARITY_MAX]> {
        let mut schemes = [Scheme::UNKNOWN; ARITY_MAX];
        for ((scheme, &value), _) in schemes.iter_mut().zip(values).zip(says_type).filter(|(_, says_type)| **says_type)
        {
            *scheme = self.scheme_of(value)?;
        }
        Some(schemes)
    }
}
