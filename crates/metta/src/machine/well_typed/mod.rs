//! Rules that are well typed: their calls need no checks.
//!
//! 1. A function is *well typed* if it has one type, its rules follow from that by inference ([`infer`]), and all functions
//!    that they call are well typed. Declared variables stand for types of which only what the patterns
//!    of the rule say is known: so the type of `(VCons $x $xs)` may hold a length.
//! 2. Such a function has code of its own, under [`WELL_TYPED`] in place of a type. Calls inside go to such code, and
//!    constructors build data, as if there were no types.
//! 3. A call from elsewhere is looked at once, where it enters ([`Kind::Guarded`]): its arguments must be in normal form, so they
//!    hold neither variables nor errors, their schemes must agree with the type of the function, and what is called
//!    as a function must be well typed itself. Otherwise the code with checks is entered.
//! 4. All this holds for the rules and types as they stand. Where rules may change while a form is evaluated, it is not done.
//!
//! What no type says anything about, such as an undeclared symbol, agrees with every type, here as there.
//!
//! Checking against declared types, with what patterns say of them, is known from generalised algebraic data types (Peyton
//! Jones, Vytiniotis, Weirich and Washburn, 2006).

mod infer;

use super::code::{Guarded, Kind, REDUCE, Slot, TypeId, WELL_TYPED};
use super::kept_types::ARITY_MAX;
use super::type_table::Scheme;
use super::types::HeadKind;
use super::words::{FOREIGN, INTEGER, SYMBOL, TERM};
use super::{Halt, Running};
use crate::names;
use crate::types;
use infer::Inference;
use region::{Ref, tag};
use rustc_hash::{FxHashMap, FxHashSet};
use space::{Atom, distinct_parts};
use std::rc::Rc;

/// A head and a number of arguments.
type Callee = (Ref, Slot);

/// What is known of functions, as rules stand.
#[derive(Default)]
pub(super) struct WellTyped {
    /// Which functions are well typed; others are not, or not asked for yet.
    known: FxHashMap<Callee, bool>,
    /// Those whose result has types that only their rules know, such as the length of a list: each call has its own.
    hidden: FxHashSet<Callee>,
    /// What functions take as functions.
    arrows: FxHashMap<Ref, Option<Rc<[Option<Slot>]>>>,
    /// Whether arguments of these schemes may enter.
    admitted: FxHashMap<(Callee, TypeId, [Scheme; ARITY_MAX]), bool>,
}

impl WellTyped {
    /// Rules or types have changed.
    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.hidden.clear();
        self.arrows.clear();
        self.admitted.clear();
    }
}

/// A function that is being looked at.
struct Looked {
    callee: Callee,
    /// What its rules call, unless one of them is not well typed.
    calls: Option<Vec<Callee>>,
}

impl Running<'_> {
    /// How a typed function is entered by calls that nothing is known of, if it is well typed.
    pub(super) fn guarded(&mut self, function: u32) -> Option<Kind> {
        let found = self.m.code.functions[function as usize];
        let (head, count, type_id) = (found.head, found.arguments, found.type_id);
        if found.is_plain || type_id == REDUCE || type_id == WELL_TYPED || !self.is_well_typed((head, count)) {
            return None;
        }
        if type_id != 0 && types::says_how(&self.m.code.types[usize::from(type_id)]) {
            return None;
        }
        let numbers = [self.m.type_cache.schemes.number; ARITY_MAX];
        let guarded = Guarded {
            well_typed: self.m.code.function(head, count, WELL_TYPED),
            plain: self.m.code.plain_function(head, count, type_id),
            admits_integers: self.applies((head, count), type_id, &numbers[..usize::from(count)]),
        };
        self.m.code.guarded.push(guarded);
        Some(Kind::Guarded((self.m.code.guarded.len() - 1) as u32))
    }

    /// Enters a function, its frame made, by the code that its arguments allow.
    pub(super) fn enter_guarded(&mut self, function: u32, guarded: u32) -> Result<(), Halt> {
        let Guarded { well_typed, plain, admits_integers } = self.m.code.guarded[guarded as usize];
        let count = self.m.code.functions[function as usize].arguments;
        let is_admitted =
            admits_integers && (0..count).all(|slot| self.m.slot(slot).tag() == INTEGER) || self.are_admitted(function);
        self.enter_counted(if is_admitted { well_typed } else { plain })
    }

    /// Whether the arguments of the frame at hand may enter well-typed code.
    fn are_admitted(&mut self, function: u32) -> bool {
        let found = self.m.code.functions[function as usize];
        let callee = (found.head, found.arguments);
        let mut schemes = [Scheme::UNKNOWN; ARITY_MAX];
        for slot in 0..found.arguments {
            let value = self.m.read(slot);
            let is_normal = match value.tag() {
                INTEGER | tag::NUMBER | SYMBOL | FOREIGN => true,
                tag::EXPRESSION | tag::MARKED => self.m.type_cache.notes.hold(self.m.values.heap.note(value)),
                TERM => self.normal(value, 0).is_some(),
                _ => false,
            };
            let scheme = if is_normal { self.scheme_of(value) } else { None };
            let Some(scheme) = scheme else { return false };
            schemes[usize::from(slot)] = scheme;
        }
        let asked = (callee, found.type_id, schemes);
        let is_admitted = match self.m.type_cache.well_typed.admitted.get(&asked) {
            Some(&known) => known,
            None => {
                let applies = self.applies(callee, found.type_id, &schemes[..usize::from(found.arguments)]);
                self.m.type_cache.well_typed.admitted.insert(asked, applies);
                applies
            }
        };
        is_admitted && self.are_callable(callee)
    }

    /// Whether a type applies to arguments of these schemes in one way.
    fn applies(&mut self, callee: Callee, type_id: TypeId, schemes: &[Scheme]) -> bool {
        let function = self.only_function_type(callee.0);
        let Some((function, expected)) = function.zip(self.scheme_of_type(type_id)) else { return false };
        let result = self.result_of_schemes(&function, schemes, expected);
        // What is expected must not say what only the rules know.
        let says_more =
            expected.is_known() && result != Some(expected) && self.m.type_cache.well_typed.hidden.contains(&callee);
        result.is_some() && !says_more
    }

    /// Whether what the call at hand takes as functions is what well-typed code may call.
    fn are_callable(&mut self, (head, count): Callee) -> bool {
        let Some(arrows) = self.arrows_of(head) else { return false };
        (0..count).zip(arrows.iter()).all(|(slot, arrow)| match *arrow {
            Some(arity) => {
                let value = self.m.read(slot);
                self.is_callable(value, arity)
            }
            None => true,
        })
    }

    /// For each argument of a function: if it is a function, how many arguments that takes. Kept until rules change.
    fn arrows_of(&mut self, head: Ref) -> Option<Rc<[Option<Slot>]>> {
        if let Some(known) = self.m.type_cache.well_typed.arrows.get(&head) {
            return known.clone();
        }
        let arrows = self.only_function_type(head).map(|function| {
            let (formals, _) = types::function_parts(&function);
            formals.iter().map(arity_of_arrow).collect()
        });
        self.m.type_cache.well_typed.arrows.insert(head, arrows.clone());
        arrows
    }

    /// Whether well-typed code may call a value.
    pub(super) fn is_callable(&mut self, value: Ref, arity: Slot) -> bool {
        match value.tag() {
            SYMBOL => self.takes_no_functions(value) && self.is_well_typed((value, arity)),
            FOREIGN => self.m.plain_operation(value).is_some(),
            _ => false,
        }
    }

    /// Whether a symbol has one function type, by which no argument is a function.
    fn takes_no_functions(&mut self, head: Ref) -> bool {
        self.arrows_of(head).is_some_and(|arrows| arrows.iter().all(Option::is_none))
    }

    /// Whether a function is well typed, as rules stand.
    pub(super) fn is_well_typed(&mut self, callee: Callee) -> bool {
        if !self.may_be_well_typed() {
            return false;
        }
        if let Some(&known) = self.m.type_cache.well_typed.known.get(&callee) {
            return known;
        }
        self.look_at_rules(callee);
        self.m.type_cache.well_typed.known[&callee]
    }

    fn may_be_well_typed(&self) -> bool {
        self.m.type_cache.has_types && !self.m.code.is_exact && !self.m.type_cache.has_whole_types
    }

    /// Finds out which of the functions that a function calls, directly or not, are well typed.
    fn look_at_rules(&mut self, callee: Callee) {
        let looked = loop {
            let hidden = self.m.type_cache.well_typed.hidden.len();
            let looked = self.look_from(callee);
            // What was found to have hidden types is called by others in another way.
            if self.m.type_cache.well_typed.hidden.len() == hidden {
                break looked;
            }
        };
        let mut ill: FxHashSet<Callee> =
            looked.iter().filter(|looked| looked.calls.is_none()).map(|looked| looked.callee).collect();
        loop {
            let before = ill.len();
            for Looked { callee, calls } in &looked {
                let is_ill = |called: &Callee| {
                    ill.contains(called) || self.m.type_cache.well_typed.known.get(called) == Some(&false)
                };
                if calls.as_ref().is_some_and(|calls| calls.iter().any(is_ill)) {
                    ill.insert(*callee);
                }
            }
            if ill.len() == before {
                break;
            }
        }
        let known = looked.iter().map(|looked| (looked.callee, !ill.contains(&looked.callee)));
        self.m.type_cache.well_typed.known.extend(known);
    }

    /// Looks at a function and all that it calls, as far as nothing is known of them.
    fn look_from(&mut self, callee: Callee) -> Vec<Looked> {
        let (mut looked, mut met, mut work) = (Vec::new(), FxHashSet::default(), vec![callee]);
        while let Some(callee) = work.pop() {
            if self.m.type_cache.well_typed.known.contains_key(&callee) || !met.insert(callee) {
                continue;
            }
            let calls = self.calls_of(callee);
            work.extend(calls.iter().flatten());
            looked.push(Looked { callee, calls });
        }
        looked
    }

    /// What the rules of a function call, if they follow from its type.
    fn calls_of(&mut self, callee: Callee) -> Option<Vec<Callee>> {
        let (head, count) = callee;
        let function = self.plain_function_type(callee)?;
        if usize::from(count) > ARITY_MAX || self.session.tables.is_tabled(self.m.values.symbol_of(head)) {
            return None;
        }
        let rules = self.rules_of(head, count)?;
        if let Some(calls) = self.infer_rules(&function, &rules, false) {
            return Some(calls);
        }
        // Its result may have types that its arguments do not say.
        if !has_hidden_types(&function) {
            return None;
        }
        self.m.type_cache.well_typed.hidden.insert(callee);
        self.infer_rules(&function, &rules, true)
    }

    fn infer_rules(&mut self, function: &Atom, rules: &[(Vec<Atom>, Atom)], is_hidden: bool) -> Option<Vec<Callee>> {
        let mut calls = Vec::new();
        for (patterns, body) in rules {
            let whole = Atom::expression(patterns.iter().chain([body]).cloned().collect::<Vec<_>>());
            if super::compile::is_deep(&whole) {
                return None;
            }
            calls.extend(Inference::new(self).rule(function, patterns, body, is_hidden)?);
        }
        Some(calls)
    }

    /// Whether an expression without variables of its surroundings is well typed, and of an expected type.
    pub(super) fn is_well_typed_expression(&mut self, atom: &Atom, type_id: TypeId) -> bool {
        if !self.may_be_well_typed() || super::compile::is_deep(atom) {
            return false;
        }
        let expected = (type_id != 0).then(|| self.type_atom(type_id));
        if expected.as_ref().is_some_and(types::says_how) {
            return false;
        }
        loop {
            let hidden = self.m.type_cache.well_typed.hidden.len();
            let Some(calls) = Inference::new(self).expression(atom, expected.as_ref()) else { return false };
            if calls.is_empty() || !calls.iter().all(|&callee| self.is_well_typed(callee)) {
                return false;
            }
            if self.m.type_cache.well_typed.hidden.len() == hidden {
                return true;
            }
        }
    }

    /// The only type of a symbol, if that is a function type for this number of arguments, and calls by it are evaluated
    /// argument by argument.
    fn plain_function_type(&mut self, (head, count): Callee) -> Option<Atom> {
        if head.tag() != SYMBOL {
            return None;
        }
        match self.head_kind(head, usize::from(count)) {
            HeadKind::Typed(_) | HeadKind::Parametric(_) => {}
            HeadKind::Raw { .. } if count == 0 => {}
            _ => return None,
        }
        let function = self.only_function_type(head)?;
        let (formals, _) = types::function_parts(&function);
        let is_plain = formals.len() == usize::from(count)
            && !types::says_how(&function)
            && formals.iter().all(|formal| match arity_of_arrow(formal) {
                Some(_) => formal.children().unwrap_or_default().iter().skip(1).all(|part| !holds_arrow(part)),
                None => !holds_arrow(formal),
            });
        is_plain.then_some(function)
    }

    /// The only type of a symbol, if that is a function type.
    fn only_function_type(&mut self, head: Ref) -> Option<Atom> {
        let head = self.m.values.leaf_atom(head);
        self.only_type(&head).filter(types::is_function)
    }
}

/// How many arguments the functions of a type take, if it is a function type.
fn arity_of_arrow(found: &Atom) -> Option<Slot> {
    types::is_function(found).then(|| (found.children().unwrap_or_default().len() - 2) as Slot)
}

/// Whether a function type occurs in a type.
fn holds_arrow(found: &Atom) -> bool {
    distinct_parts(found).any(|part| part.is_symbol(names::ARROW))
}

/// Whether the result of a function type has variables that no argument has.
fn has_hidden_types(function: &Atom) -> bool {
    let (formals, result) = types::function_parts(function);
    let named: Vec<_> = formals.iter().flat_map(space::variables).collect();
    space::variables(result).iter().any(|variable| !named.contains(variable))
}
