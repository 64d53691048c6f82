//! The types of data, known once.
//!
//! 1. The *scheme* of a value is its only type, variables included, if it has one and holds no type error: `(List Number)` of
//!    `(Cons 1 Nil)`, `(List $t)` of `Nil`. A value without any type has the scheme
//!    [`Scheme::UNKNOWN`].
//! 2. Schemes of leaves and of terms of the dictionary are kept until types change. So is what a head makes of arguments of
//!    certain schemes: types are unified once for each combination, in a time that does not depend on their sizes
//!    ([`super::type_table`]).
//! 3. The scheme of an expression in normal form is kept with it, in its note ([`super::notes`]). So to find out the type of
//!    `(Cons $x $xs)` takes one look at `$x` and `$xs`.
//! 4. Nothing is known here where an atom has several types, a type holds `%Undefined%` or a metatype, or types of whole
//!    expressions are declared: the specification is followed there, step by step ([`crate::types`]).
//! 5. Evaluation by a function type with variables goes by the schemes of the arguments as they stand. If a type is still open
//!    then, for more than one that is to be evaluated, what they come to must agree as well ([`super::typed`]).

use super::code::{Slot, TypeId};
use super::indexed_types::IndexedTypes;
use super::kept_types::{ARITY_MAX, Application};
use super::notes::{NotedTypes, Notes, Told};
use super::type_graph::{self, Graph};
use super::type_table::{Scheme, TypeTable};
use super::types::{Formal, HeadKind, Signature};
use super::words::is_lasting;
use super::words::{EVALUATED_OPEN, INTEGER, SYMBOL, TERM, plain};
use super::{Halt, Running};
use crate::names;
use crate::types;
use region::{Ref, tag};
use rustc_hash::FxHashMap;
use space::{Atom, Bindings, Rewrite, SharedTerms, Variable, make_fresh, rewrite};
use std::rc::Rc;

/// How many levels of an expression, at most, are looked at again and again, where each has a type of its own: notes are few.
const LEVELS_TO_NOTE: usize = 32;

/// With more types than this, all are forgotten between two forms.
const TYPES_MAX: usize = 1 << 18;

/// What is kept of types.
pub(super) struct Schemes {
    pub(super) table: TypeTable,
    pub(super) noted: NotedTypes,
    pub(super) number: Scheme,
    pub(super) indexed: IndexedTypes,
    /// What the only function types of heads declare of results, where that has no variable.
    pub(super) declared: FxHashMap<Ref, Option<TypeId>>,
    /// Of leaves and terms, and of types that evaluation expects.
    known: FxHashMap<Ref, Option<Scheme>>,
    by_type: Vec<Option<Option<Scheme>>>,
    agreeing: FxHashMap<(Scheme, TypeId, bool), bool>,
    applied: FxHashMap<Application, Option<Applied>>,
    instances: FxHashMap<(Application, TypeId), Option<Instance>>,
}

impl Default for Schemes {
    fn default() -> Self {
        let mut table = TypeTable::default();
        let number = table.of_atom(&Atom::symbol(names::NUMBER));
        Self {
            table,
            noted: NotedTypes::default(),
            number,
            indexed: IndexedTypes::default(),
            declared: FxHashMap::default(),
            known: FxHashMap::default(),
            by_type: Vec::new(),
            agreeing: FxHashMap::default(),
            applied: FxHashMap::default(),
            instances: FxHashMap::default(),
        }
    }
}

impl Schemes {
    /// Types have changed; the notes of the rules before them are out of date.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether a note tells exactly this type, if the scheme of the type was asked for before.
    pub(super) fn tells(&self, notes: Notes, note: u16, type_id: TypeId) -> bool {
        let told = self.noted.of(notes, note);
        told.is_some() && self.by_type.get(usize::from(type_id)) == Some(&Some(told))
    }

    /// Whether there are too many types to keep.
    pub(super) fn are_many(&self) -> bool {
        self.table.len() > TYPES_MAX
    }
}

/// What the function type of a head makes of that: the scheme of the whole, if it has one.
type Applied = Option<Scheme>;

/// A function type with what is known of its variables put in.
#[derive(Clone)]
pub(super) struct Instance {
    pub(super) signature: Signature,
    /// The arguments whose types still hold variables, a bit for each.
    open: u32,
}

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

impl Running<'_> {
    /// The scheme of a value, bindings followed.
    pub(super) fn scheme_of(&mut self, value: Ref) -> Option<Scheme> {
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
        let value = self.m.values.heap.walk(value);
        let known = match value.tag() {
            INTEGER | tag::NUMBER => Some(self.m.type_cache.schemes.number),
            tag::VARIABLE => Some(Scheme::UNKNOWN),
            TERM => match self.m.type_cache.schemes.known.get(&plain(value)) {
                Some(&known) => known,
                None => return self.look_inside(plain(value)),
            },
            tag::EXPRESSION | tag::MARKED => {
                let note = self.m.values.heap.note(value);
                match self.m.type_cache.schemes.noted.of(self.m.type_cache.notes, note) {
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
                return self.scheme_of_type(result).map_or(FirstLook::Nothing, FirstLook::Known);
            }
            HeadKind::Typed(signature) => {
                let scheme = signature.result.and_then(|result| self.scheme_of_type(result));
                let Some(scheme) = scheme else { return FirstLook::Nothing };
                if value.is_expression() && self.m.type_cache.notes.hold(self.m.values.heap.note(value)) {
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

    /// The scheme of an expression whose children's schemes are known; it is kept. `levels` levels are around the expression.
    fn scheme_of_whole(&mut self, whole: &OpenScheme, levels: usize) -> Option<Scheme> {
        let known = &whole.known[..whole.length];
        let scheme = match &whole.by {
            SchemeSource::Signature(signature) => self.result_of_signature(signature, whole.value, known),
            SchemeSource::Function(function) => self.applied_to(whole.head, function, known).flatten(),
        };
        if whole.value.tag() == TERM {
            self.m.type_cache.schemes.known.insert(whole.value, scheme);
        } else if let (Some(scheme), SchemeSource::Function(_)) = (scheme, &whole.by)
            && (levels.is_multiple_of(LEVELS_TO_NOTE) || self.m.type_cache.schemes.noted.has(scheme))
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
                    let child = self.m.values.heap.walk(child);
                    child.is_expression() || child.tag() == TERM
                }
                Formal::Typed(type_id) => self.scheme_agrees_with(known[place], *type_id, true),
            };
            if !agrees {
                return None;
            }
        }
        self.scheme_of_type(signature.result?)
    }

    /// Keeps the scheme of an expression in its note, if that says that it is in normal form.
    pub(super) fn note_scheme(&mut self, value: Ref, scheme: Scheme) {
        if !scheme.is_known() || !self.m.type_cache.notes.hold(self.m.values.heap.note(value)) {
            return;
        }
        if let Some(note) = self.m.type_cache.schemes.noted.note_of(&mut self.m.type_cache.notes, Told::Whole(scheme)) {
            debug_assert!(note != EVALUATED_OPEN, "that note is another's");
            self.m.values.heap.set_note(value, note);
        }
    }

    fn scheme_of_leaf(&mut self, leaf: Ref) -> Option<Scheme> {
        let is_kept = is_lasting(leaf);
        if is_kept && let Some(&known) = self.m.type_cache.schemes.known.get(&leaf) {
            return known;
        }
        let atom = self.m.values.leaf_atom(leaf);
        let scheme = self.only_type(&atom).and_then(|only| self.intern_scheme(&only));
        if is_kept {
            self.m.type_cache.schemes.known.insert(leaf, scheme);
        }
        scheme
    }

    /// A type as a scheme, if it can be one.
    pub(super) fn scheme_of_type(&mut self, type_id: TypeId) -> Option<Scheme> {
        let place = usize::from(type_id);
        if let Some(&Some(known)) = self.m.type_cache.schemes.by_type.get(place) {
            return known;
        }
        let found = self.m.code.types[usize::from(type_id)].clone();
        let scheme = self.intern_scheme(&found);
        let by_type = &mut self.m.type_cache.schemes.by_type;
        by_type.resize(by_type.len().max(place + 1), None);
        by_type[place] = Some(scheme);
        scheme
    }

    /// The scheme that a type is.
    fn intern_scheme(&mut self, found: &Atom) -> Option<Scheme> {
        if found.is_symbol(names::UNDEFINED) {
            return Some(Scheme::UNKNOWN);
        }
        if types::says_how(found) { None } else { Some(self.m.type_cache.schemes.table.of_atom(found)) }
    }

    /// A scheme as a type, its variables renamed apart.
    fn atom_of_scheme(&mut self, scheme: Scheme) -> Atom {
        let found = self.m.type_cache.schemes.table.atom(scheme);
        if found.is_ground() { found } else { make_fresh(&found, &[], self.session.program.variables()) }
    }

    /// Whether what has a scheme may stand where a type is expected; kept until types change.
    pub(super) fn scheme_agrees_with(&mut self, scheme: Scheme, type_id: TypeId, is_deep: bool) -> bool {
        if !scheme.is_known() || type_id == 0 || self.scheme_of_type(type_id) == Some(scheme) {
            return true;
        }
        if let Some(&known) = self.m.type_cache.schemes.agreeing.get(&(scheme, type_id, is_deep)) {
            return known;
        }
        let (actual, expected) = (self.atom_of_scheme(scheme), self.type_atom(type_id));
        let agree = if is_deep { types::agree_deeply } else { types::agree };
        let agrees = !agree(&actual, &expected, &Bindings::default(), self.session.program.variables()).is_empty();
        self.m.type_cache.schemes.agreeing.insert((scheme, type_id, is_deep), agrees);
        agrees
    }

    /// A type of the table of types, its variables named in the order in which they are met. A variable alone says nothing.
    pub(super) fn intern_type(&mut self, found: &Atom) -> Option<TypeId> {
        match found {
            Atom::Variable(_) => Some(0),
            ground if ground.is_ground() => self.m.code.type_id(ground),
            open => self.m.code.type_id(&with_ordered_variables(open)),
        }
    }

    /// What the function type of a head makes of arguments with these schemes, if it applies in one way.
    pub(super) fn applied_to(&mut self, head: Ref, function: &Atom, arguments: &[Scheme]) -> Option<Applied> {
        let asked = Application::new(head, arguments);
        if let Some(&applied) = self.m.type_cache.schemes.applied.get(&asked).filter(|_| is_lasting(head)) {
            return applied;
        }
        let applied = match self.applied_in_graph(function, arguments, Scheme::UNKNOWN) {
            Unified::Destination(scheme) => Some(scheme),
            Unified::Not => None,
            Unified::Unknown => self.bindings_of(function, arguments).map(|bindings| {
                let (_, result) = types::function_parts(function);
                self.intern_scheme(&bindings.resolve(result))
            }),
        };
        self.m.type_cache.schemes.applied.insert(asked, applied);
        applied
    }

    /// What a function type makes of arguments with these schemes, by a graph of types, if it agrees with what is expected. Unknown if
    /// types inside say how arguments are taken.
    fn applied_in_graph(&mut self, function: &Atom, arguments: &[Scheme], expected: Scheme) -> Unified {
        let (formals, result) = types::function_parts(function);
        let (mut graph, mut variables) = (Graph::default(), type_graph::Instance::default());
        let table = &mut self.m.type_cache.schemes.table;
        for (formal, &argument) in formals.iter().zip(arguments) {
            if formal.is_symbol(names::ATOM) || formal.is_symbol(names::UNDEFINED) {
                continue;
            }
            let Some(formal) = graph.instance(formal, &mut variables) else { return Unified::Unknown };
            if argument.is_known() {
                let actual = graph.import(argument, table);
                if !graph.unify(formal, actual, table) {
                    return Unified::Not;
                }
            }
        }
        if result.is_symbol(names::UNDEFINED) {
            return Unified::Destination(Some(Scheme::UNKNOWN));
        }
        let Some(result) = graph.instance(result, &mut variables) else { return Unified::Unknown };
        let scheme = graph.scheme_of(result, table);
        if expected.is_known() {
            let expected = graph.import(expected, table);
            if !graph.unify(result, expected, table) {
                return Unified::Not;
            }
        }
        Unified::Destination(Some(scheme))
    }

    /// What the variables of a function type are for arguments with these schemes, if they agree in one way.
    fn bindings_of(&mut self, function: &Atom, arguments: &[Scheme]) -> Option<Bindings> {
        let (formals, _) = types::function_parts(function);
        let mut bindings = Bindings::default();
        for (formal, &argument) in formals.iter().zip(arguments) {
            if formal.is_symbol(names::ATOM) {
                continue;
            }
            if names::is_metatype(formal) {
                return None;
            }
            if argument.is_known() && !formal.is_symbol(names::UNDEFINED) {
                let actual = self.atom_of_scheme(argument);
                bindings = only(types::agree(&actual, formal, &bindings, self.session.program.variables()))?;
            }
        }
        Some(bindings)
    }

    /// How a call by a function type is evaluated, for arguments with these schemes and a type that is expected.
    fn instance_for(&mut self, head: Ref, function: &Atom, arguments: &[Scheme], expected: TypeId) -> Option<Instance> {
        let asked = (Application::new(head, arguments), expected);
        if let Some(known) = self.m.type_cache.schemes.instances.get(&asked).filter(|_| is_lasting(head)) {
            return known.clone();
        }
        let (_, result) = types::function_parts(function);
        let bindings = self.bindings_of(function, arguments).and_then(|bindings| {
            if expected == 0 {
                return Some(bindings);
            }
            let expected = self.type_atom(expected);
            only(types::agree(result, &expected, &bindings, self.session.program.variables()))
        });
        let instance = bindings.and_then(|bindings| self.instance(function, &bindings));
        self.m.type_cache.schemes.instances.insert(asked, instance.clone());
        instance
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

    /// The scheme of a call by a function type that does not say how arguments are taken, if those with these schemes agree with
    /// it, and what is expected of the result does.
    pub(super) fn result_of_schemes(
        &mut self,
        function: &Atom,
        arguments: &[Scheme],
        expected: Scheme,
    ) -> Option<Scheme> {
        match self.applied_in_graph(function, arguments, expected) {
            Unified::Destination(scheme) => scheme,
            Unified::Not | Unified::Unknown => None,
        }
    }

    /// How a call of a function with variables in its type is evaluated, if that is known.
    pub(super) fn instance_of_call(
        &mut self,
        call: Ref,
        head: Ref,
        function: &Atom,
        type_id: TypeId,
    ) -> Result<Option<(Signature, Types)>, Halt> {
        let Some(arguments) = self.schemes_of_arguments(call) else { return Ok(None) };
        let count = self.m.values.heap.length(call) - 1;
        let found = self.instance_for(head, function, &arguments[..count], type_id);
        let Some(Instance { signature, open }) = found else { return Ok(None) };
        let mut evaluated_first = 0;
        for place in (0..count).filter(|place| open >> place & 1 == 1) {
            let child = self.m.values.heap.walk(self.m.values.heap.child(call, place + 1));
            evaluated_first += u32::from(self.normal(child, 0).is_none() && !self.stays_open(child)?);
        }
        match evaluated_first {
            0 => Ok(Some((signature, Types::Inferred))),
            // What that binds, nothing else sees; or the rules follow from the types whatever it is.
            1 if self.is_well_typed((head, count as Slot)) => Ok(Some((signature, Types::Inferred))),
            1 if head.tag() == SYMBOL && self.is_named_constructor(head, count)? => {
                Ok(Some((signature, Types::Inferred)))
            }
            _ if self.depends_on_ways(call, open)? => Ok(None),
            _ => Ok(Some((signature, Types::Open))),
        }
    }

    /// Whether it depends on the way of an evaluation if one of these arguments, a bit for each, says of which type it is.
    fn depends_on_ways(&mut self, call: Ref, open: u32) -> Result<bool, Halt> {
        for place in (0..self.m.values.heap.length(call) - 1).filter(|place| open >> place & 1 == 1) {
            if self.type_flow(self.m.values.heap.child(call, place + 1))?.depends() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The type that the result of a call is evaluated to whose arguments are evaluated, by the types of those that say one; `None`
    /// if they do not agree with the type of the function.
    pub(super) fn result_of_values(
        &mut self,
        head: Ref,
        values: &[Ref],
        says_type: &[bool],
        type_id: TypeId,
    ) -> Result<Option<TypeId>, Halt> {
        let HeadKind::Parametric(function) = self.head_kind(head, values.len()) else { return Ok(None) };
        if head.tag() == SYMBOL
            && says_type.iter().all(|&says_type| says_type)
            && self.is_named_constructor(head, values.len())?
            && let Some(scheme) = self.indexed_type(head, values, None)
            && self.each_agrees_with(scheme, type_id)
        {
            return Ok(Some(type_id));
        }
        let Some(schemes) = self.schemes_of_values(values, says_type) else { return Ok(None) };
        let schemes = &schemes[..values.len()];
        // Of data nothing is asked but whether the types agree.
        if head.tag() == SYMBOL
            && self.is_named_constructor(head, values.len())?
            && let Some(expected) = self.scheme_of_type(type_id)
            && self.result_of_schemes(&function, schemes, expected).is_some()
        {
            return Ok(Some(type_id));
        }
        let instance = self.instance_for(head, &function, schemes, type_id);
        Ok(instance.map(|instance| instance.signature.result.unwrap_or(type_id)))
    }

    /// How the rest of a call's arguments is evaluated, by the types of those that say one: some are evaluated, others as they stand.
    pub(super) fn signature_for_values(
        &mut self,
        head: Ref,
        values: &[Ref],
        says_type: &[bool],
        type_id: TypeId,
    ) -> Option<Signature> {
        let HeadKind::Parametric(function) = self.head_kind(head, values.len()) else { return None };
        let schemes = self.schemes_of_values(values, says_type)?;
        self.instance_for(head, &function, &schemes[..values.len()], type_id).map(|instance| instance.signature)
    }

    /// The schemes of those values that say a type; nothing is known of the others.
    fn schemes_of_values(&mut self, values: &[Ref], says_type: &[bool]) -> Option<[Scheme; ARITY_MAX]> {
        let mut schemes = [Scheme::UNKNOWN; ARITY_MAX];
        for ((scheme, &value), _) in schemes.iter_mut().zip(values).zip(says_type).filter(|(_, says_type)| **says_type)
        {
            *scheme = self.scheme_of(value)?;
        }
        Some(schemes)
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

    fn schemes_of_arguments(&mut self, call: Ref) -> Option<[Scheme; ARITY_MAX]> {
        let count = self.m.values.heap.length(call) - 1;
        let mut known = [Scheme::UNKNOWN; ARITY_MAX];
        for (place, known) in known.iter_mut().enumerate().take(count) {
            *known = self.scheme_of(self.m.values.heap.child(call, place + 1))?;
        }
        (count <= ARITY_MAX).then_some(known)
    }
}

/// What is known of the types of a call before its arguments are evaluated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Types {
    /// They are declared without variables.
    Declared,
    /// They follow from what the arguments are. So an argument may be evaluated to a type that only a later one says.
    Inferred,
    /// What arguments come to may say more.
    Open,
}

/// What came of unifying types.
enum Unified {
    Destination(Applied),
    Not,
    /// It takes more than unification.
    Unknown,
}

/// The only one of some ways to agree.
fn only(mut found: Vec<Bindings>) -> Option<Bindings> {
    let last = found.pop();
    if found.is_empty() { last } else { None }
}

/// A type with its variables numbered in the order in which they are met.
fn with_ordered_variables(found: &Atom) -> Atom {
    let mut met: Vec<Variable> = Vec::new();
    let renamed = rewrite(found, |variable| {
        let place = met.iter().position(|known| known == variable).unwrap_or_else(|| {
            met.push(variable.clone());
            met.len() - 1
        });
        Rewrite::Replace(Atom::Variable(Variable::with_id(variable.name().clone(), place as u64 + 1)))
    });
    renamed.unwrap_or_else(|| found.clone())
}
