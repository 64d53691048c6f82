//! Which function type applies to a call whose arguments are not known to be well typed: found as the specification has it
//! ([`crate::interpreter`], *applicability*), so that the call is evaluated here and not by the interpreter.
//!
//! 1. The first function type of the head that takes the arguments of the call, by their number and types, and whose result agrees
//!    with what is expected, applies.
//! 2. What is known of its variables then is put in. Where one is still open and an argument of its type is to be evaluated,
//!    the evaluation may bind it: the interpreter does that.
//! 3. So it does where none applies, which is an error or a tuple, or where the expected type has variables.

use super::TypeChecker;
use super::signatures::{Formal, Signature};
use crate::machine::code::{Slot, TypeId};
use crate::machine::halt::Halt;
use crate::machine::values::Scope;
use crate::machine::words::{FOREIGN, TERM};
use crate::names;
use crate::operation::Operation;
use crate::types::{self, accepts_raw, agree, function_parts};
use region::{Ref, tag};
use space::{Atom, Bindings, Expression, Variable, variables};
use std::rc::Rc;

impl TypeChecker<'_> {
    /// Whether a leaf is of a type in one way that binds no variable of the program, so that it is its own result.
    pub(in crate::machine) fn is_cast(&mut self, value: Ref, type_id: TypeId) -> Result<bool, Halt> {
        if value.is_expression() || value.tag() == tag::VARIABLE || value.tag() == TERM {
            return Ok(false);
        }
        let expected = self.type_atom(type_id);
        let atom = self.values.store(value, &mut Scope::default(), self.variables)?;
        let found = types::types_of(self.space, &atom, self.variables);
        let mut ways = found
            .iter()
            .filter(|found| found.is_valid())
            .map(|found| agree(&expected, &found.atom, &Bindings::default(), self.variables).len());
        Ok(ways.find(|&ways| ways > 0) == Some(1))
    }

    /// Whether no type of a head that is no name is one of functions, nor an error, so that what it heads is a tuple.
    pub(in crate::machine) fn heads_tuples(&mut self, head: Ref) -> Result<bool, Halt> {
        let is_native = head.tag() == FOREIGN && is_operation(self.values.foreign_of(head));
        if !is_native && !head.is_expression() && head.tag() != TERM {
            return Ok(false);
        }
        let head = self.values.store(head, &mut Scope::default(), self.variables)?;
        let found = types::types_of(self.space, &head, self.variables);
        Ok(found.iter().all(|found| found.is_valid() && !found.is_function()))
    }

    /// How a call is evaluated by the function type that applies; `None` if the interpreter is to find out.
    pub(in crate::machine) fn applicable(&mut self, value: Ref, type_id: TypeId) -> Result<Option<Signature>, Halt> {
        let expected = self.type_atom(type_id);
        if !expected.is_ground() {
            return Ok(None);
        }
        let call = self.values.store(value, &mut Scope::default(), self.variables)?;
        let Some([head, arguments @ ..]) = call.children() else { return Ok(None) };
        let head_types = types::types_of(self.space, head, self.variables);
        for function in head_types.iter().filter(|found| found.is_valid() && found.is_function()) {
            if let Some(function) = self.applied_function(&function.atom, arguments, &expected) {
                let is_native = is_operation(head) && type_id == 0;
                return Ok(self.signature_for(&function, value, arguments, is_native));
            }
        }
        Ok(None)
    }

    /// A function type with what arguments say of its variables put in, if it applies to them.
    fn applied_function(&mut self, function: &Atom, arguments: &[Atom], expected: &Atom) -> Option<Expression> {
        let (formals, result) = function_parts(function);
        if formals.len() != arguments.len() {
            return None;
        }
        let mut alternatives = vec![Bindings::default()];
        for (formal, argument) in formals.iter().zip(arguments) {
            if accepts_raw(formal, argument) {
                continue;
            }
            let source = &mut *self.variables;
            let actuals = types::types_of(self.space, argument, source);
            let mut next = Vec::new();
            for bindings in &alternatives {
                if next.len() >= types::TYPES_PER_ATOM_MAX {
                    break;
                }
                for actual in actuals.iter().filter(|actual| actual.is_valid()) {
                    next.extend(agree(formal, &actual.atom, bindings, source));
                }
            }
            next.truncate(types::TYPES_PER_ATOM_MAX);
            alternatives = next;
        }
        let source = &mut *self.variables;
        let mut ways =
            alternatives.iter().filter_map(|bindings| agree(result, expected, bindings, source).into_iter().next());
        ways.next().map(|bindings| types::instantiated(function, &bindings))
    }

    /// How arguments are taken by a function type that applies to them. The results of a native function are of the type that it
    /// declares: where nothing is expected of them, and nothing else is evaluated to the same open type, that need not be found.
    fn signature_for(
        &mut self,
        function: &Expression,
        value: Ref,
        arguments: &[Atom],
        is_native: bool,
    ) -> Option<Signature> {
        let function = Atom::Expression(function.clone());
        let (formals, result) = function_parts(&function);
        let mut taken = Vec::with_capacity(formals.len());
        for (place, (formal, argument)) in formals.iter().zip(arguments).enumerate() {
            taken.push(match formal {
                formal if formal.is_symbol(names::ATOM) => Formal::Raw,
                formal if names::is_metatype(formal) => {
                    // What a variable stands for when its turn comes may be of another kind.
                    let is_certain = !matches!(argument, Atom::Variable(_))
                        || taken.iter().all(|before| matches!(before, Formal::Raw));
                    if !is_certain || !accepts_raw(formal, argument) {
                        return None;
                    }
                    Formal::Raw
                }
                formal if formal.is_ground() => Formal::Typed(self.types.ids.id(formal)?),
                formal => {
                    let is_alone = |open: &Variable| {
                        let others = formals.iter().enumerate().filter(|(other, _)| *other != place);
                        others
                            .filter(|(_, formal)| variables(formal).contains(open))
                            .all(|(other, _)| self.is_its_own(value, other))
                    };
                    match formal {
                        Atom::Variable(open) if is_native && is_alone(open) => Formal::Typed(0),
                        _ if self.is_its_own(value, place) => Formal::Typed(0),
                        _ => return None,
                    }
                }
            });
        }
        let result = match result {
            Atom::Variable(_) => 0,
            result if result.is_symbol(names::EXPRESSION) => 0,
            result if names::is_metatype(result) && !result.is_symbol(names::ATOM) => return None,
            result if result.is_ground() => self.types.ids.id(result)?,
            _ if is_native => 0,
            _ => return None,
        };
        debug_assert!(taken.len() <= usize::from(Slot::MAX), "a call has fewer arguments than a frame has slots");
        Some(Signature { formals: Rc::from(taken), result: Some(result) })
    }

    /// Whether an argument of a call is its own result, and no variable.
    fn is_its_own(&self, call: Ref, place: usize) -> bool {
        let child = self.values.heap.walk(self.values.heap.child(call, place + 1));
        child.tag() != tag::VARIABLE
            && self.types.own_result(self.values, child, 0).is_some_and(|normal| normal.unmarked() == child.unmarked())
    }
}

/// Whether an atom is a native function.
fn is_operation(head: &Atom) -> bool {
    Operation::of(head).is_some()
}
