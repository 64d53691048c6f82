//! Rules that are well typed: their calls need no checks.
//!
//! 1. A function is *well typed* if it has one type, its rules follow from that by inference ([`super::inference`]), and all functions
//!    that they call are well typed. Declared variables stand for types of which only what the patterns
//!    of the rule say is known: so the type of `(VCons $x $xs)` may hold a length.
//! 2. Arguments may enter the code of such a function, which checks nothing, if they are in normal form, so they hold neither variables nor
//!    errors, their schemes agree with the type of the function, and what is called as a function is well typed itself
//!    ([`crate::machine::guarded`]).
//! 3. All this holds for the rules and types as they stand. Where rules may change while a form is evaluated, it is not done.
//!
//! What no type says anything about, such as an undeclared symbol, agrees with every type, here as there.
//!
//! Checking against declared types, with what patterns say of them, is known from generalised algebraic data types (Peyton
//! Jones, Vytiniotis, Weirich and Washburn, 2006).

use super::TypeChecker;
use super::arrows::{arity_of_arrow, holds_arrow};
use super::inference::Inference;
use super::kept_types::ARITY_MAX;
use super::rules::{FunctionTypes, Rule};
use super::signatures::HeadKind;
use super::type_table::Scheme;
use crate::machine::code::{Callee, Slot, TypeId};
use crate::machine::depth::is_deep;
use crate::machine::words::{FOREIGN, SYMBOL};
use crate::operation::lowering_of;
use crate::types;
use region::Ref;
use rustc_hash::{FxHashMap, FxHashSet};
use space::Atom;
use std::rc::Rc;

/// What is known of functions, as rules stand.
#[derive(Default)]
pub(super) struct WellTyped {
    /// Which functions are well typed; others are not, or not asked for yet.
    known: FxHashMap<Callee, bool>,
    /// Those whose result has types that only their rules know, such as the length of a list: each call has its own.
    pub(super) hidden: FxHashSet<Callee>,
    /// What functions take as functions.
    pub(super) arrows: FxHashMap<Ref, Option<Rc<[Option<Slot>]>>>,
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

impl FunctionTypes<'_> {
    /// Whether arguments of these schemes may enter the well-typed code of a function, evaluated to a type; kept until rules change.
    pub(in crate::machine) fn admits(&mut self, callee: Callee, type_id: TypeId, schemes: [Scheme; ARITY_MAX]) -> bool {
        let asked = (callee, type_id, schemes);
        if let Some(&known) = self.rules.types().types.well_typed.admitted.get(&asked) {
            return known;
        }
        let applies = self.applies(callee, type_id, &schemes[..usize::from(callee.1)]);
        self.rules.types().types.well_typed.admitted.insert(asked, applies);
        applies
    }

    /// Whether numbers may.
    pub(in crate::machine) fn admits_numbers(&mut self, callee: Callee, type_id: TypeId) -> bool {
        let numbers = [self.rules.types().types.schemes.number; ARITY_MAX];
        self.applies(callee, type_id, &numbers[..usize::from(callee.1)])
    }

    /// Whether a type applies to arguments of these schemes in one way.
    fn applies(&mut self, callee: Callee, type_id: TypeId, schemes: &[Scheme]) -> bool {
        let function = self.only_function_type(callee.0);
        let TypeChecker { types, .. } = self.rules.types();
        let Some((function, expected)) = function.zip(types.scheme_of_type(type_id)) else { return false };
        let result = types.result_of_schemes(&function, schemes, expected);
        // What is expected must not say what only the rules know.
        let says_more = expected.is_known() && result != Some(expected) && types.well_typed.hidden.contains(&callee);
        result.is_some() && !says_more
    }

    /// Whether well-typed code may call a value.
    pub(in crate::machine) fn is_callable(&mut self, value: Ref, arity: Slot) -> bool {
        match value.tag() {
            SYMBOL => self.takes_no_functions(value) && self.is_well_typed((value, arity)),
            FOREIGN => {
                lowering_of(self.rules.types().values.foreign_of(value)).is_some_and(|lowering| lowering.is_plain())
            }
            _ => false,
        }
    }

    /// Whether a function is well typed, as rules stand.
    pub(in crate::machine) fn is_well_typed(&mut self, callee: Callee) -> bool {
        if !self.may_be_well_typed() {
            return false;
        }
        if let Some(&known) = self.rules.types().types.well_typed.known.get(&callee) {
            return known;
        }
        self.look_at_rules(callee);
        self.rules.types().types.well_typed.known[&callee]
    }

    fn may_be_well_typed(&mut self) -> bool {
        let may_change = self.rules.may_change();
        let TypeChecker { types, .. } = self.rules.types();
        types.has_types && !may_change && !types.has_whole_types
    }

    /// Finds out which of the functions that a function calls, directly or not, are well typed.
    fn look_at_rules(&mut self, callee: Callee) {
        let looked = loop {
            let hidden = self.rules.types().types.well_typed.hidden.len();
            let looked = self.look_from(callee);
            // What was found to have hidden types is called by others in another way.
            if self.rules.types().types.well_typed.hidden.len() == hidden {
                break looked;
            }
        };
        let mut ill: FxHashSet<Callee> =
            looked.iter().filter(|looked| looked.calls.is_none()).map(|looked| looked.callee).collect();
        let TypeChecker { types, .. } = self.rules.types();
        let known = &mut types.well_typed.known;
        loop {
            let before = ill.len();
            for Looked { callee, calls } in &looked {
                let is_ill = |called: &Callee| ill.contains(called) || known.get(called) == Some(&false);
                if calls.as_ref().is_some_and(|calls| calls.iter().any(is_ill)) {
                    ill.insert(*callee);
                }
            }
            if ill.len() == before {
                break;
            }
        }
        known.extend(looked.iter().map(|looked| (looked.callee, !ill.contains(&looked.callee))));
    }

    /// Looks at a function and all that it calls, as far as nothing is known of them.
    fn look_from(&mut self, callee: Callee) -> Vec<Looked> {
        let (mut looked, mut met, mut work) = (Vec::new(), FxHashSet::default(), vec![callee]);
        while let Some(callee) = work.pop() {
            if self.rules.types().types.well_typed.known.contains_key(&callee) || !met.insert(callee) {
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
        if usize::from(count) > ARITY_MAX || self.rules.is_tabled(head) {
            return None;
        }
        let rules = self.rules.rules_of(callee)?;
        if let Some(calls) = self.infer_rules(&function, &rules, false) {
            return Some(calls);
        }
        // Its result may have types that its arguments do not say.
        if !has_hidden_types(&function) {
            return None;
        }
        self.rules.types().types.well_typed.hidden.insert(callee);
        self.infer_rules(&function, &rules, true)
    }

    fn infer_rules(&mut self, function: &Atom, rules: &[Rule], is_hidden: bool) -> Option<Vec<Callee>> {
        let mut calls = Vec::new();
        for (patterns, body) in rules {
            let whole = Atom::expression(patterns.iter().chain([body]).cloned().collect::<Vec<_>>());
            if is_deep(&whole) {
                return None;
            }
            calls.extend(Inference::new(self).rule(function, patterns, body, is_hidden)?);
        }
        Some(calls)
    }

    /// Whether an expression without variables of its surroundings is well typed, and of an expected type.
    pub(in crate::machine) fn is_well_typed_expression(&mut self, atom: &Atom, type_id: TypeId) -> bool {
        if !self.may_be_well_typed() || is_deep(atom) {
            return false;
        }
        let expected = (type_id != 0).then(|| self.rules.types().type_atom(type_id));
        if expected.as_ref().is_some_and(types::says_how) {
            return false;
        }
        loop {
            let hidden = self.rules.types().types.well_typed.hidden.len();
            let Some(calls) = Inference::new(self).expression(atom, expected.as_ref()) else { return false };
            if calls.is_empty() || !calls.iter().all(|&callee| self.is_well_typed(callee)) {
                return false;
            }
            if self.rules.types().types.well_typed.hidden.len() == hidden {
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
        match self.rules.types().head_kind(head, usize::from(count)) {
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
}

/// Whether the result of a function type has variables that no argument has.
fn has_hidden_types(function: &Atom) -> bool {
    let (formals, result) = types::function_parts(function);
    let named: Vec<_> = formals.iter().flat_map(space::variables).collect();
    space::variables(result).iter().any(|variable| !named.contains(variable))
}
