//! Function types with variables, made plain by what is known of the arguments and by what is expected of the result.
//!
//! 1. An argument whose one type is known (a constant, a number, a call with a plain type) says what the variables of its
//!    formal type are. So does the type that is expected of the result.
//! 2. Of a variable in a slot nothing is known: where that leaves a variable open, a number or the state of one is guessed,
//!    and a guard sees to it that the guess holds. Nor is anything known of a call whose function has no type; whatever else the
//!    type says, it is evaluated to that.
//! 3. A variable that occurs once in the function type asks for nothing: what a slot holds is of that type, unless it has a type error.
//! 4. Data of no type agrees with every type and comes to no other; variables that only such arguments have stay open, and
//!    the result then is of whatever type is expected.
//! 5. Where other variables stay open, the call is evaluated as it stands.

use super::Facts;
use crate::machine::code::{Guard, Slot, TypeId};
use crate::machine::core::Fact;
use crate::machine::core::Test;
use crate::machine::types::Changed;
use crate::machine::types::{Formal, HeadKind, Signature};
use crate::names;
use crate::types;
use space::{Atom, Bindings, Grounded, variables};
use std::rc::Rc;

/// A type that is expected of a call may nest so deep. One that grows with each call of a recursion is no type to make code for.
const LEVELS_MAX: usize = 8;

impl Facts<'_> {
    /// The signature that a function type has for these arguments and a type that is expected, if the guards hold.
    pub(in crate::machine) fn instantiated(
        &mut self,
        function: &Atom,
        arguments: &[Atom],
        type_id: TypeId,
    ) -> Option<(Signature, Vec<Test>)> {
        let (function, guards) = self.known_type(function, arguments, type_id)?;
        let function = if function.is_ground() { function } else { self.left_open(&function, arguments)? };
        match self.run.machine_mut().types.ids.kind_of_type(&function, arguments.len()) {
            HeadKind::Typed(signature) => Some((signature, guards)),
            HeadKind::Raw { result } => Some((Signature::raw(arguments.len(), result), guards)),
            _ => Some((self.with_open_result(&function, type_id)?, guards)),
        }
    }

    /// The signature of a function type whose result alone has variables, for a type that is expected: the call is evaluated to what both are.
    fn with_open_result(&mut self, function: &Atom, type_id: TypeId) -> Option<Signature> {
        let (formals, result) = types::function_parts(function);
        let expected = self.run.types().type_atom(type_id);
        if type_id == 0
            || types::says_how(&expected)
            || types::says_how(function)
            || !formals.iter().all(Atom::is_ground)
        {
            return None;
        }
        let bindings = self.agreed(result, &expected, &Bindings::default())?;
        let result = bindings.resolve(result);
        if is_deeper_than(&result, LEVELS_MAX) {
            return None;
        }
        let formals: Option<Rc<[Formal]>> = formals
            .iter()
            .map(|formal| self.run.machine_mut().types.ids.intern_type(formal).map(Formal::Typed))
            .collect();
        Some(Signature { formals: formals?, result: Some(self.run.machine_mut().types.ids.intern_type(&result)?) })
    }

    /// A function type with what is known of its variables put in, if the guards hold.
    pub(in crate::machine) fn known_type(
        &mut self,
        function: &Atom,
        arguments: &[Atom],
        type_id: TypeId,
    ) -> Option<(Atom, Vec<Test>)> {
        let (formals, result) = types::function_parts(function);
        if formals.len() != arguments.len() {
            return None;
        }
        let mut bindings = Bindings::default();
        let mut unknown = Vec::new();
        for (formal, argument) in formals.iter().zip(arguments) {
            let now = bindings.resolve(formal);
            if now.is_ground() || self.is_untyped_data(argument) || self.asks_for_nothing(function, &now, argument) {
                continue;
            }
            match self.only_type(argument) {
                Some(actual) => bindings = self.agreed(&now, &actual, &bindings)?,
                None => unknown.push((formal, argument)),
            }
        }
        if type_id != 0 && !unknown.is_empty() && !types::says_how(function) {
            let expected = self.run.types().type_atom(type_id);
            if !types::says_how(&expected) {
                bindings = self.agreed(result, &expected, &bindings)?;
            }
        }
        let mut guards = Vec::new();
        for (formal, argument) in unknown {
            let formal = bindings.resolve(formal);
            if !formal.is_ground()
                && let Some(guess) = self.guessed_type(&formal, argument, &mut guards)
            {
                bindings = self.agreed(&formal, &guess, &bindings)?;
            }
        }
        Some((Atom::Expression(types::instantiated(function, &bindings)), guards))
    }

    /// What arguments are evaluated to if that is known of all but one, which is open only where its type is changed: a call of no type, or of
    /// a type that leaves the same open.
    pub(in crate::machine) fn formals_left_open(
        &mut self,
        known: &Atom,
        changed: &[Changed],
        arguments: &[Atom],
    ) -> Option<Rc<[Formal]>> {
        let (formals, _) = types::function_parts(known);
        let mut open = formals.iter().zip(arguments).enumerate().filter(|(_, (formal, _))| !formal.is_ground());
        let (place, (formal, argument)) = open.next()?;
        if open.next().is_some() || !self.is_open_call(argument) && !self.gives_open(argument, formal) {
            return None;
        }
        let is_changed =
            |index: usize| changed.iter().any(|changed| (changed.argument, changed.parameter + 1) == (place, index));
        let parts = formal.children()?;
        if !parts.iter().enumerate().all(|(index, part)| part.is_ground() || is_changed(index)) {
            return None;
        }
        formals.iter().map(|formal| self.run.machine_mut().types.ids.intern_type(formal).map(Formal::Typed)).collect()
    }

    /// Whether an argument is a call by a name that has no type.
    fn is_open_call(&mut self, argument: &Atom) -> bool {
        let Some([head @ Atom::Symbol(name), parts @ ..]) = argument.children() else { return false };
        let head = self.run.machine_mut().values.constant_leaf(head).expect("it is a leaf");
        !names::is_empty_or_error(argument)
            && self.run.special_form(name.as_str(), parts.len()).is_none()
            && self.run.types().makes_open(head, parts.len())
    }

    /// Whether a call is of a type that is a formal one but for variables of its own, of which nothing else is said: `(-> Number (Vec Number $n))`
    /// for `(Vec Number $m)`.
    fn gives_open(&mut self, argument: &Atom, formal: &Atom) -> bool {
        let Some([Atom::Symbol(name), parts @ ..]) = argument.children() else { return false };
        if names::is_empty_or_error(argument) || self.run.special_form(name.as_str(), parts.len()).is_some() {
            return false;
        }
        let head = self.run.machine_mut().values.symbol(name);
        let HeadKind::Parametric(function) = self.run.types().head_kind(head, parts.len()) else { return false };
        let Some((known, guards)) = self.known_type(&function, parts, 0) else { return false };
        let (formals, result) = types::function_parts(&known);
        let (Some(given), Some(asked)) = (result.children(), formal.children()) else { return false };
        let is_own =
            |part: &Atom| matches!(part, Atom::Variable(_)) && given.iter().filter(|other| *other == part).count() == 1;
        let agrees = |(given, asked): (&Atom, &Atom)| if asked.is_ground() { given == asked } else { is_own(given) };
        guards.is_empty()
            && formals.iter().all(Atom::is_ground)
            && given.len() == asked.len()
            && given.iter().zip(asked).all(agrees)
    }

    /// What variables are if two types agree in one way.
    fn agreed(&mut self, formal: &Atom, actual: &Atom, bindings: &Bindings) -> Option<Bindings> {
        let mut found = types::agree(formal, actual, bindings, self.run.variables());
        found.pop().filter(|_| found.is_empty())
    }

    /// Whether a formal type is a variable that occurs nowhere else in the function type, and the argument one of which nothing is known.
    fn asks_for_nothing(&self, function: &Atom, formal: &Atom, argument: &Atom) -> bool {
        let (Atom::Variable(only), Atom::Variable(argument)) = (formal, argument) else { return false };
        if !self.scope.is_known(argument) {
            return false;
        }
        let (formals, result) = types::function_parts(function);
        let mut others = formals.iter().chain([result]).filter(|part| *part != formal);
        let times = formals.iter().chain([result]).filter(|part| *part == formal).count();
        times == 1 && self.scope.fact(argument).is_none() && others.all(|part| !variables(part).contains(only))
    }

    /// A function type where nothing is known of arguments that are data of no type, if what is open else is the result.
    fn left_open(&mut self, function: &Atom, arguments: &[Atom]) -> Option<Atom> {
        let (formals, result) = types::function_parts(function);
        let mut parts = vec![Atom::symbol(names::ARROW)];
        for (formal, argument) in formals.iter().zip(arguments) {
            match formal.is_ground() {
                true => parts.push(formal.clone()),
                false if self.is_untyped_data(argument) || self.asks_for_nothing(function, formal, argument) => {
                    parts.push(names::undefined());
                }
                false => return None,
            }
        }
        parts.push(result.clone());
        Some(Atom::expression(parts))
    }

    /// Whether an argument is data that has no type, whatever its parts come to.
    fn is_untyped_data(&mut self, argument: &Atom) -> bool {
        let Some([head @ Atom::Symbol(_), parts @ ..]) = argument.children() else { return false };
        let head = self.run.machine_mut().values.constant_leaf(head).expect("it is a leaf");
        !names::is_empty_or_error(argument)
            && self.run.types().makes_open(head, parts.len())
            && !self.run.has_rules((head, parts.len() as Slot))
    }

    /// The type of an argument, if it has one that is known, without variables.
    pub(in crate::machine) fn only_type(&mut self, argument: &Atom) -> Option<Atom> {
        let found = match argument {
            Atom::Variable(variable) => match self.scope.fact(variable)? {
                Fact::Number => Atom::symbol(names::NUMBER),
                Fact::Bool => Atom::symbol(names::BOOL),
                Fact::Expression => return None,
            },
            Atom::Grounded(
                value @ (Grounded::Bool(_) | Grounded::Number(_) | Grounded::Text(_) | Grounded::State(_)),
            ) => types::grounded_type(value),
            Atom::Symbol(_) => self.run.types().only_type(argument)?,
            Atom::Expression(expression) if !expression.is_empty() => return self.type_of_call(argument),
            _ => return None,
        };
        is_plain_type(&found).then_some(found)
    }

    fn type_of_call(&mut self, call: &Atom) -> Option<Atom> {
        let children = call.children().expect("a call is an expression");
        let head = self.run.machine_mut().values.constant_leaf(&children[0])?;
        if self.run.types().may_have_whole_type(head, children.len() - 1) {
            return None;
        }
        let result = match self.run.types().head_kind(head, children.len() - 1) {
            HeadKind::Typed(signature) => signature.result?,
            HeadKind::Raw { result } => result,
            HeadKind::Parametric(function) => {
                let (signature, guards) = self.instantiated(&function, &children[1..], 0)?;
                signature.result.filter(|_| guards.is_empty())?
            }
            HeadKind::Untyped | HeadKind::Other => return None,
        };
        let found = self.run.types().type_atom(result);
        is_plain_type(&found).then_some(found)
    }

    /// What a formal type is if a slot holds a number, or the state of one.
    fn guessed_type(&mut self, formal: &Atom, argument: &Atom, guards: &mut Vec<Test>) -> Option<Atom> {
        let Atom::Variable(variable) = argument else { return None };
        if !self.scope.is_known(variable) {
            return None;
        }
        let number = Atom::symbol(names::NUMBER);
        let (guess, guard) = match formal {
            Atom::Variable(_) => (number, Guard::Number),
            Atom::Expression(_) if formal.head().is_some_and(|head| head.is_symbol(names::STATE_MONAD)) => {
                let guess = Atom::expression([Atom::symbol(names::STATE_MONAD), number]);
                let type_id = self.run.machine_mut().types.ids.id(&guess)?;
                (guess, Guard::State(type_id))
            }
            _ => return None,
        };
        guards.push(Test::Is(variable.clone(), guard));
        Some(guess)
    }
}

/// Whether a type nests deeper than `levels` levels.
fn is_deeper_than(found: &Atom, levels: usize) -> bool {
    match levels.checked_sub(1) {
        Some(left) => found.children().unwrap_or_default().iter().any(|part| is_deeper_than(part, left)),
        None => found.children().is_some(),
    }
}

/// Whether a type says what it takes, and nothing of how.
fn is_plain_type(found: &Atom) -> bool {
    let open = [names::UNDEFINED, names::ATOM, names::EXPRESSION, names::SYMBOL, names::VARIABLE, names::GROUNDED];
    found.is_ground() && !types::is_function(found) && !open.iter().any(|name| found.is_symbol(name))
}
