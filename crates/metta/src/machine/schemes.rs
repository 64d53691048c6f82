//! The types of data, known once.
//!
//! 1. The *scheme* of a value is its only type, variables included, if it has one and holds no type error: `(List Number)` of
//!    `(Cons 1 Nil)`, `(List $t)` of `Nil`. What has no type at all has the scheme 0.
//! 2. Schemes of leaves and of terms of the dictionary are kept until types change. So is what a head makes of arguments of
//!    certain schemes: types are unified once for each combination.
//! 3. The scheme of a settled expression is kept with it, in its note ([`super::notes`]). So to find out the type of
//!    `(Cons $x $xs)` takes one look at `$x` and `$xs`.
//! 4. Nothing is known here where an atom has several types, a type holds `%Undefined%` or a metatype, or types of whole
//!    expressions are declared: the specification is followed there, step by step ([`crate::types`]).
//! 5. Evaluation by a function type with variables goes by the schemes of the arguments as they stand. If a type that is
//!    still open then could be bound by one of several evaluations, the interpreter does it.

use super::code::{Slot, TypeId};
use super::notes::NotedTypes;
use super::types::{Formal, HeadKind, Signature};
use super::values::{EVALUATED_OPEN, INTEGER, SYMBOL, TERM, plain};
use super::{Halt, Running};
use crate::names;
use crate::types;
use region::{Ref, tag};
use rustc_hash::FxHashMap;
use space::{Atom, Bindings, Rewrite, SharedTerms, Symbol, Variable, rewrite};
use std::rc::Rc;

/// Heads with more arguments are left to the specification.
pub(super) const ARITY_MAX: usize = 6;

/// What is kept of types.
#[derive(Default)]
pub(super) struct Schemes {
    pub(super) noted: NotedTypes,
    /// Of leaves and terms.
    known: FxHashMap<Ref, Option<TypeId>>,
    applied: FxHashMap<Application, Applied>,
    instances: Vec<Instance>,
}

impl Schemes {
    /// Types have changed.
    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.applied.clear();
        self.instances.clear();
    }
}

/// A head, the schemes of its arguments, and the type that is expected.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Application {
    head: Ref,
    expected: TypeId,
    count: u8,
    arguments: [TypeId; ARITY_MAX],
}

/// What the function type of a head makes of that.
#[derive(Clone, Copy, Default)]
struct Applied {
    /// The scheme of the whole, if it applies and has one.
    scheme: Option<TypeId>,
    /// How such a call is evaluated, if it applies.
    instance: Option<u32>,
}

/// A function type with what is known of its variables put in.
#[derive(Clone)]
pub(super) struct Instance {
    pub(super) signature: Signature,
    /// The arguments whose types still hold variables, a bit for each.
    open: u32,
}

/// An expression whose children's schemes are being found.
struct Open {
    value: Ref,
    head: Ref,
    by: By,
    length: usize,
    known: [TypeId; ARITY_MAX],
    next: usize,
}

/// What decides on the scheme of an expression.
enum By {
    Signature(Signature),
    Function(Atom),
}

/// What a first look at a value tells of its scheme.
enum Look {
    Known(TypeId),
    Nothing,
    Inside(Open),
}

impl Running<'_> {
    /// The scheme of a value, bindings followed.
    pub(super) fn scheme_of(&mut self, value: Ref) -> Option<TypeId> {
        let mut open: Vec<Open> = Vec::new();
        let mut current = value;
        loop {
            let mut found = match self.look_at_type(current) {
                Look::Known(scheme) => Some(scheme),
                Look::Nothing => return None,
                Look::Inside(inside) => {
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
                found = Some(self.scheme_of_whole(&complete)?);
            }
        }
    }

    fn look_at_type(&mut self, value: Ref) -> Look {
        let value = self.m.values.heap.walk(value);
        let known = match value.tag() {
            INTEGER | tag::NUMBER => Some(self.m.number_type),
            tag::VARIABLE => Some(0),
            TERM => match self.m.schemes.known.get(&plain(value)) {
                Some(&known) => known,
                None => return self.look_inside(plain(value)),
            },
            tag::EXPRESSION | tag::MARKED => {
                let note = self.m.values.heap.note(value);
                match self.m.schemes.noted.of(self.m.notes, note) {
                    Some(known) => Some(known),
                    None => return self.look_inside(value),
                }
            }
            _ => self.scheme_of_leaf(value),
        };
        known.map_or(Look::Nothing, Look::Known)
    }

    fn look_inside(&mut self, value: Ref) -> Look {
        let Some((head, length)) = self.head_of(value) else { return Look::Nothing };
        if head.tag() != SYMBOL || self.may_have_whole_type(head, length) {
            return Look::Nothing;
        }
        let by = match self.head_kind(head, length) {
            HeadKind::Untyped if self.is_open(head) => return Look::Known(0),
            HeadKind::Raw { result } => return self.scheme_of_type(result).map_or(Look::Nothing, Look::Known),
            HeadKind::Typed(signature) => {
                let scheme = signature.result.and_then(|result| self.scheme_of_type(result));
                let Some(scheme) = scheme else { return Look::Nothing };
                if value.is_expression() && self.m.notes.hold(self.m.values.heap.note(value)) {
                    return Look::Known(scheme);
                }
                By::Signature(signature)
            }
            HeadKind::Parametric(function) => By::Function(function),
            HeadKind::Untyped | HeadKind::Other => return Look::Nothing,
        };
        if length > ARITY_MAX {
            return Look::Nothing;
        }
        Look::Inside(Open { value, head, by, length, known: [0; ARITY_MAX], next: 0 })
    }

    /// The head of an expression or a term, and how many arguments it has.
    fn head_of(&mut self, value: Ref) -> Option<(Ref, usize)> {
        if value.tag() != TERM {
            let children = self.m.values.heap.children(value);
            let (&head, length) = (children.first()?, children.len() - 1);
            return Some((self.m.values.heap.walk(head), length));
        }
        let head = self.child_of(value, 0)?;
        let terms = self.m.values.terms.read().expect("no panic while terms are locked");
        Some((head, self.m.values.width(value, &terms) - 1))
    }

    fn child_of(&mut self, value: Ref, place: usize) -> Option<Ref> {
        if value.tag() != TERM {
            return Some(self.m.values.heap.child(value, place));
        }
        let terms = SharedTerms::clone(&self.m.values.terms);
        let terms = terms.read().expect("no panic while terms are locked");
        self.m.values.part(value, place, &terms).ok()
    }

    /// The scheme of an expression whose children's schemes are known; it is kept.
    fn scheme_of_whole(&mut self, whole: &Open) -> Option<TypeId> {
        let known = &whole.known[..whole.length];
        let scheme = match &whole.by {
            By::Signature(signature) => self.result_of_signature(signature, whole.value, known),
            By::Function(function) => self.applied_to(whole.head, function, known, 0).scheme,
        };
        if whole.value.tag() == TERM {
            self.m.schemes.known.insert(whole.value, scheme);
        } else if let (Some(scheme), By::Function(_)) = (scheme, &whole.by) {
            self.note_scheme(whole.value, scheme);
        }
        scheme
    }

    fn result_of_signature(&mut self, signature: &Signature, value: Ref, known: &[TypeId]) -> Option<TypeId> {
        for (place, formal) in signature.formals.iter().enumerate() {
            let agrees = match formal {
                Formal::Raw => true,
                Formal::Expression => {
                    let child = self.child_of(value, place + 1)?;
                    let child = self.m.values.heap.walk(child);
                    child.is_expression() || child.tag() == TERM
                }
                Formal::Typed(type_id) => self.results_agree(known[place], *type_id, true),
            };
            if !agrees {
                return None;
            }
        }
        self.scheme_of_type(signature.result?)
    }

    /// Keeps the scheme of an expression in its note, if that says that it is settled.
    pub(super) fn note_scheme(&mut self, value: Ref, scheme: TypeId) {
        if scheme == 0 || !self.m.notes.hold(self.m.values.heap.note(value)) {
            return;
        }
        if let Some(note) = self.m.schemes.noted.note_of(&mut self.m.notes, scheme) {
            debug_assert!(note != EVALUATED_OPEN, "that note is another's");
            self.m.values.heap.set_note(value, note);
        }
    }

    fn scheme_of_leaf(&mut self, leaf: Ref) -> Option<TypeId> {
        let is_kept = leaf.tag() == SYMBOL || leaf.payload() & 1 == 0;
        if is_kept && let Some(&known) = self.m.schemes.known.get(&leaf) {
            return known;
        }
        let atom = self.m.values.leaf_atom(leaf);
        let found = types::types_of(&self.space, &atom, &mut self.runner.variables);
        let scheme = match found.as_slice() {
            [only] if only.is_valid() => self.intern_scheme(&only.atom),
            _ => None,
        };
        if is_kept {
            self.m.schemes.known.insert(leaf, scheme);
        }
        scheme
    }

    /// A type as a scheme, if it can be one.
    fn scheme_of_type(&mut self, type_id: TypeId) -> Option<TypeId> {
        if type_id == 0 || type_id == self.m.number_type || type_id == self.m.bool_type {
            return Some(type_id);
        }
        let found = self.m.code.types[usize::from(type_id)].clone();
        if says_how(&found) { None } else { Some(type_id) }
    }

    /// The scheme that a type is.
    fn intern_scheme(&mut self, found: &Atom) -> Option<TypeId> {
        if found.is_symbol(names::UNDEFINED) || matches!(found, Atom::Variable(_)) {
            return Some(0);
        }
        if says_how(found) { None } else { self.intern_type(found) }
    }

    /// A type by the place in the table, its variables named in the order in which they are met. A variable alone says
    /// nothing.
    fn intern_type(&mut self, found: &Atom) -> Option<TypeId> {
        match found {
            Atom::Variable(_) => Some(0),
            ground if ground.is_ground() => self.m.code.type_id(ground),
            open => self.m.code.type_id(&with_ordered_variables(open)),
        }
    }

    /// What the function type of a head makes of arguments with these schemes, if a type is expected.
    fn applied_to(&mut self, head: Ref, function: &Atom, arguments: &[TypeId], expected: TypeId) -> Applied {
        let mut known = [0; ARITY_MAX];
        known[..arguments.len()].copy_from_slice(arguments);
        let asked = Application { head, expected, count: arguments.len() as u8, arguments: known };
        if let Some(&applied) = self.m.schemes.applied.get(&asked) {
            return applied;
        }
        let applied = self.applied(function, arguments, expected).unwrap_or_default();
        self.m.schemes.applied.insert(asked, applied);
        applied
    }

    fn applied(&mut self, function: &Atom, arguments: &[TypeId], expected: TypeId) -> Option<Applied> {
        let (formals, result) = types::function_parts(function);
        let mut bindings = Bindings::default();
        for (formal, &argument) in formals.iter().zip(arguments) {
            if formal.is_symbol(names::ATOM) {
                continue;
            }
            if names::is_metatype(formal) {
                return None;
            }
            if argument != 0 && !formal.is_symbol(names::UNDEFINED) {
                let actual = self.type_atom(argument);
                bindings = only(types::agree(&actual, formal, &bindings, &mut self.runner.variables))?;
            }
        }
        let scheme = self.intern_scheme(&bindings.resolve(result));
        if expected != 0 {
            let expected = self.type_atom(expected);
            bindings = only(types::agree(result, &expected, &bindings, &mut self.runner.variables))?;
        }
        let instance = self.instance(function, &bindings);
        let instance = instance.map(|instance| {
            self.m.schemes.instances.push(instance);
            self.m.schemes.instances.len() as u32 - 1
        });
        Some(Applied { scheme, instance })
    }

    /// How a call by a function type is evaluated, given what its variables are.
    fn instance(&mut self, function: &Atom, bindings: &Bindings) -> Option<Instance> {
        let known = Atom::Expression(types::instantiated(function, bindings));
        let (formals, result) = types::function_parts(&known);
        let mut open = 0;
        let mut found = Vec::with_capacity(formals.len());
        for (place, formal) in formals.iter().enumerate() {
            found.push(match formal {
                formal if formal.is_symbol(names::ATOM) => Formal::Raw,
                formal if names::is_metatype(formal) => return None,
                formal => Formal::Typed(self.intern_type(formal)?),
            });
            open |= u32::from(!formal.is_ground()) << place;
        }
        let is_left_to_others = names::is_metatype(result) && !result.is_symbol(names::ATOM);
        let result = if is_left_to_others { return None } else { self.intern_type(result)? };
        Some(Instance { signature: Signature { formals: Rc::from(found), result: Some(result) }, open })
    }

    /// How a call of a function with variables in its type is evaluated, if that is known.
    pub(super) fn instance_of_call(
        &mut self,
        call: Ref,
        head: Ref,
        function: &Atom,
        type_id: TypeId,
    ) -> Result<Option<Signature>, Halt> {
        let Some(arguments) = self.schemes_of_arguments(call) else { return Ok(None) };
        let count = self.m.values.heap.length(call) - 1;
        let found = self.applied_to(head, function, &arguments[..count], type_id).instance;
        let Some(found) = found else { return Ok(None) };
        let Instance { signature, open } = self.m.schemes.instances[found as usize].clone();
        let is_evaluated_first = |place: &usize| {
            let child = self.m.values.heap.walk(self.m.values.heap.child(call, place + 1));
            open >> place & 1 == 1 && self.settled(child, 0).is_none()
        };
        let mut first = (0..count).filter(is_evaluated_first).collect::<Vec<_>>();
        let mut still_open = Vec::new();
        for &place in &first {
            let child = self.m.values.heap.walk(self.m.values.heap.child(call, place + 1));
            if self.stays_open(child)? {
                still_open.push(place);
            }
        }
        first.retain(|place| !still_open.contains(place));
        match first.len() {
            0 => Ok(Some(signature)),
            // What that binds, nothing else sees.
            1 => {
                let function = self.m.code.function(head, count as Slot, signature.result.unwrap_or(type_id));
                Ok(self.is_constructor(function)?.then_some(signature))
            }
            _ => Ok(None),
        }
    }

    /// Whether an expression is data without a type, whatever its children come to: that binds no variable of a type.
    fn stays_open(&mut self, value: Ref) -> Result<bool, Halt> {
        if !value.is_expression() || !self.is_open(value) {
            return Ok(false);
        }
        let head = self.m.values.heap.walk(self.m.values.heap.child(value, 0));
        let arity = self.m.values.heap.length(value) - 1;
        Ok(head.tag() == SYMBOL && self.makes_data(head, arity)?)
    }

    fn schemes_of_arguments(&mut self, call: Ref) -> Option<[TypeId; ARITY_MAX]> {
        let count = self.m.values.heap.length(call) - 1;
        let mut known = [0; ARITY_MAX];
        for (place, known) in known.iter_mut().enumerate().take(count) {
            *known = self.scheme_of(self.m.values.heap.child(call, place + 1))?;
        }
        (count <= ARITY_MAX).then_some(known)
    }

    /// The scheme of data by a function type with variables, if its arguments are of types that agree.
    pub(super) fn scheme_of_made(&mut self, call: Ref, function: &Atom) -> Option<TypeId> {
        let count = self.m.values.heap.length(call) - 1;
        let head = self.m.values.heap.child(call, 0);
        let arguments = self.schemes_of_arguments(call)?;
        self.applied_to(head, function, &arguments[..count], 0).scheme
    }
}

/// The only one of some ways to agree.
fn only(mut found: Vec<Bindings>) -> Option<Bindings> {
    let last = found.pop();
    if found.is_empty() { last } else { None }
}

/// Whether a type says how something is taken, or is in part unknown.
fn says_how(found: &Atom) -> bool {
    let mut work = vec![found];
    while let Some(atom) = work.pop() {
        if names::is_metatype(atom) || atom.is_symbol(names::UNDEFINED) {
            return true;
        }
        work.extend(atom.children().unwrap_or_default());
    }
    false
}

/// The same type, its variables named by the order in which they are met.
fn with_ordered_variables(found: &Atom) -> Atom {
    let name = Symbol::new("t");
    let mut met: Vec<Variable> = Vec::new();
    let renamed = rewrite(found, |variable| {
        let place = met.iter().position(|known| known == variable).unwrap_or_else(|| {
            met.push(variable.clone());
            met.len() - 1
        });
        Rewrite::Replace(Atom::Variable(Variable::with_id(name.clone(), place as u64 + 1)))
    });
    renamed.unwrap_or_else(|| found.clone())
}
