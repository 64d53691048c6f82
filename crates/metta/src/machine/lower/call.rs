//! Expressions whose head is a symbol that is not a special form.

use super::{Lower, Place, Whole};
use crate::machine::code::{Position, SOURCES_MAX, Slot, TypeId, WELL_TYPED};
use crate::machine::core::{Apply, Call, Core, Evaluator, Written};
use crate::machine::depth::SLOTS_MAX;
use crate::machine::types::{Formal, HeadKind, Signature, untyped};
use crate::machine::words::{EMPTY, SYMBOL};
use region::Ref;
use space::{Atom, Variable, variables};
use std::rc::Rc;

impl Lower<'_> {
    /// An expression with a symbol as its head that is not a special form.
    pub(in crate::machine) fn named(&mut self, atom: &Atom, type_id: TypeId, place: Place) -> Core {
        let children = atom.children().expect("it is an expression");
        let arity = children.len() - 1;
        let head = self.facts.run.machine_mut().values.constant_leaf(&children[0]).expect("it is a leaf");
        let whole = Whole { atom, type_id };
        match self.facts.run.types().head_kind(head, arity) {
            _ if self.facts.is_well_typed => self.well_typed_call(head, atom, place),
            HeadKind::Untyped => self.tuple(head, whole, place),
            HeadKind::Raw { result } => self.typed(head, &Signature::raw(arity, result), whole, place),
            HeadKind::Typed(signature) => self.typed(head, &signature, whole, place),
            HeadKind::Parametric(function) => {
                if let Some(data) = self.data_with_open_type(&function, head, whole, place) {
                    return data;
                }
                match self.facts.instantiated(&function, &children[1..], type_id) {
                    Some((signature, tests)) => {
                        self.guarded(tests, whole, |lower| lower.typed(head, &signature, whole, place))
                    }
                    None => match self.data_with_changed_type(&function, head, whole, place) {
                        Some(data) => data,
                        None => self.written(atom, type_id),
                    },
                }
            }
            HeadKind::Other => self.written(atom, type_id),
        }
    }

    /// A call or data whose parts are known to be of the types that it takes.
    fn well_typed_call(&mut self, head: Ref, atom: &Atom, place: Place) -> Core {
        let arguments = &atom.children().expect("it is an expression")[1..];
        let count = arguments.len() as Slot;
        if !self.facts.run.has_rules((head, count)) {
            let function = self.facts.run.machine_mut().code.function(head, count, 0);
            return self.data(None, (function, head), atom, place);
        }
        let function = self.facts.run.machine_mut().code.function(head, count, WELL_TYPED);
        self.call(function, None, Whole { atom, type_id: 0 }, false, place)
    }

    /// A head without types: all children are evaluated.
    fn tuple(&mut self, head: Ref, whole: Whole<'_>, place: Place) -> Core {
        let Whole { atom, type_id } = whole;
        let children = atom.children().expect("it is an expression");
        if children.len() > SLOTS_MAX {
            return self.written(atom, type_id);
        }
        let count = (children.len() - 1) as Slot;
        let function = self.facts.run.machine_mut().code.function(head, count, type_id);
        if self.facts.run.has_rules((head, count)) {
            self.call(function, None, whole, true, place)
        } else {
            self.data(None, (function, head), atom, place)
        }
    }

    /// A head with one function type.
    pub(super) fn typed(&mut self, head: Ref, signature: &Signature, whole: Whole<'_>, place: Place) -> Core {
        let Whole { atom, type_id } = whole;
        let result = signature.result.unwrap_or(type_id);
        let children = atom.children().expect("it is an expression");
        let mut tests = Vec::new();
        let applies = head.tag() == SYMBOL
            && self.facts.run.types().agrees_statically(result, type_id)
            && self.facts.arguments_agree(&signature.formals, &children[1..], &mut tests);
        if !applies {
            return self.written(atom, type_id);
        }
        let result = self.facts.run.machine().types.evaluated_as(result);
        let function = self.facts.run.machine_mut().code.function(head, (children.len() - 1) as Slot, result);
        self.guarded(tests, whole, |lower| {
            match lower.data_by_type((function, head), &signature.formals, whole, place) {
                Some(data) => data,
                None => lower.call(function, Some(&signature.formals), whole, false, place),
            }
        })
    }

    /// A call of a function with rules. Errors among the arguments of a tuple are evaluated, others passed on.
    fn call(
        &mut self,
        function: u32,
        typed: Option<&Rc<[Formal]>>,
        whole: Whole<'_>,
        is_tuple: bool,
        place: Place,
    ) -> Core {
        let untyped = untyped(whole.atom.children().map_or(0, |children| children.len() - 1));
        let formals = typed.map_or(&*untyped, |typed| &**typed);
        let arguments = &whole.atom.children().expect("it is an expression")[1..];
        if let Some(call) = self.direct_call(function, typed, whole) {
            return call;
        }
        let mut fresh = self.before_arguments(arguments);
        let is_open = |(formal, argument): (&Formal, &Atom)| {
            matches!(formal, Formal::Typed(_)) && !self.facts.has_one_result(argument)
        };
        let is_gathered = place != Place::Tail && formals.iter().zip(arguments).any(is_open);
        let held = if is_tuple { self.held(arguments) } else { Vec::new() };
        self.add_fresh(&mut fresh, held.clone());
        let nodes = formals.iter().zip(arguments).map(|(formal, argument)| match formal {
            Formal::Typed(type_id) if is_tuple => self.value(argument, *type_id, Place::Inside),
            Formal::Typed(type_id) => self.argument(argument, *type_id),
            Formal::Raw | Formal::Expression => self.quote(argument),
        });
        let nodes = nodes.collect();
        let (written, formals) = (arguments.into(), typed.cloned());
        let call = Call { function, arguments: nodes, written, formals, is_gathered, held, direct: None };
        Core::fresh(fresh, Core::Call(Box::new(call)))
    }

    /// The variables that are made before the arguments of a call: those that are needed behind it, since the callee takes what follows.
    fn before_arguments(&mut self, arguments: &[Atom]) -> Vec<Variable> {
        let mut fresh = Vec::new();
        // Where rules may change, it can be seen only so that an argument came to itself.
        if self.facts.run.machine().code.is_exact && arguments.iter().any(|argument| !self.facts.is_same(argument)) {
            self.add_fresh(&mut fresh, arguments.iter().flat_map(variables).collect());
        }
        for argument in arguments {
            let shared = self.facts.shared(argument);
            self.add_fresh(&mut fresh, shared);
        }
        let needed = self.facts.needed_after_first(arguments);
        self.add_fresh(&mut fresh, needed);
        fresh
    }

    pub(super) fn add_fresh(&mut self, fresh: &mut Vec<Variable>, variables: Vec<Variable>) {
        fresh.extend(variables.into_iter().filter(|variable| self.facts.scope.meets(variable)));
    }

    /// A call whose arguments are leaves and variables, and sums of numbers beside a variable that may have several results; where a
    /// variable's value is to be evaluated, the expression is evaluated as it stands. `None` if it is not such a call.
    fn direct_call(&mut self, function: u32, typed: Option<&Rc<[Formal]>>, whole: Whole<'_>) -> Option<Core> {
        let Whole { atom, type_id } = whole;
        let (head, arguments) = atom.children().and_then(|children| children.split_first()).expect("a call has a head");
        let untyped = untyped(arguments.len());
        let formals = typed.map_or(&*untyped, |typed| &**typed);
        let has_sums = arguments.iter().any(|argument| argument.children().is_some());
        if arguments.len() > SOURCES_MAX || has_sums && !self.facts.are_sums_and_variables(arguments, formals) {
            return None;
        }
        let mut sums = Vec::new();
        let mut nodes = Vec::with_capacity(arguments.len());
        let mut written = vec![head.clone()];
        for (argument, formal) in arguments.iter().zip(formals.iter()) {
            let (node, atom) = match argument {
                Atom::Expression(_) => {
                    let (local, sum) = (self.local(), self.value(argument, 0, Place::Inside));
                    sums.push((local.clone(), sum));
                    // Arguments may have been written over the numbers that a sum is made from.
                    (Core::Variable(local.clone()), Atom::Variable(local))
                }
                argument => (self.direct_argument(argument, formal)?, argument.clone()),
            };
            nodes.push(node);
            written.push(atom);
        }
        let fresh = self.facts.unknown(atom);
        self.facts.scope.learn_each(&fresh);
        let as_written = if has_sums { Atom::expression(written) } else { atom.clone() };
        let as_written = Core::Written(Written { atom: as_written, type_id, by: Evaluator::Machine });
        let call = Call {
            function,
            arguments: nodes,
            written: arguments.into(),
            formals: typed.cloned(),
            is_gathered: false,
            held: Vec::new(),
            direct: Some(Rc::new(as_written)),
        };
        let call = Core::fresh(fresh, Core::Call(Box::new(call)));
        let with_sum = |then, (variable, value)| Core::Let { variable, value: Box::new(value), then: Box::new(then) };
        Some(sums.into_iter().rev().fold(call, with_sum))
    }

    /// An argument that is taken as it is, if it is a leaf or a variable.
    fn direct_argument(&mut self, argument: &Atom, formal: &Formal) -> Option<Core> {
        let Atom::Variable(variable) = argument else {
            let leaf = self.facts.run.machine_mut().values.constant_leaf(argument)?;
            let is_plain = match formal {
                Formal::Typed(type_id) => {
                    leaf != EMPTY && self.facts.run.types().leaf_has_type(argument, leaf, *type_id, false)
                }
                Formal::Raw | Formal::Expression => true,
            };
            return is_plain.then_some(Core::Leaf(leaf));
        };
        match formal {
            Formal::Typed(type_id) if self.facts.is_normal(variable, *type_id) => {
                Some(Core::Variable(variable.clone()))
            }
            Formal::Typed(0) => {
                Some(Core::Evaluate { variable: variable.clone(), type_id: 0, position: Position::Child })
            }
            Formal::Typed(_) => None,
            Formal::Raw | Formal::Expression => Some(Core::Variable(variable.clone())),
        }
    }

    /// A tuple whose head is known when it is evaluated; its results are evaluated to a type.
    pub(super) fn apply(&mut self, whole: Whole<'_>, type_id: TypeId) -> Core {
        let children = whole.atom.children().expect("a tuple is an expression");
        let mut fresh = Vec::new();
        children.iter().for_each(|child| {
            let shared = self.facts.shared(child);
            self.add_fresh(&mut fresh, shared);
        });
        let needed = self.facts.needed_after_first(children);
        self.add_fresh(&mut fresh, needed);
        let are_variables = |child: &&Atom| matches!(child, Atom::Variable(_));
        self.add_fresh(&mut fresh, children.iter().filter(are_variables).flat_map(variables).collect());
        let as_written = Rc::new(self.written(whole.atom, if type_id == WELL_TYPED { 0 } else { type_id }));
        let nodes = children.iter().map(|child| match child {
            Atom::Variable(variable) => self.evaluated(variable, 0, Position::Child),
            child => self.value(child, 0, Place::Inside),
        });
        let nodes = nodes.collect();
        let held = if self.facts.is_well_typed { Vec::new() } else { self.held(children) };
        let is_same = children.iter().all(|child| self.facts.is_same(child));
        Core::fresh(fresh, Core::Apply(Box::new(Apply { children: nodes, held, as_written, is_same, type_id })))
    }

    /// The variables among the parts of an expression that are not evaluated if they are unbound before the first part is: a part before
    /// them may bind them.
    pub(in crate::machine) fn held(&mut self, parts: &[Atom]) -> Vec<Variable> {
        let (mut held, mut may_bind, mut calls) = (Vec::new(), false, Vec::new());
        for part in parts {
            match part {
                Atom::Variable(variable) if may_bind || !calls.is_empty() => {
                    if self.facts.scope.fact(variable).is_some() {
                        continue;
                    }
                    // Arithmetic on numbers binds nothing.
                    may_bind |= calls.drain(..).any(|call| match self.facts.is_same(call) {
                        // What stands in data may be a call.
                        true => variables(call).iter().any(|inside| self.facts.scope.fact(inside).is_none()),
                        false => !self.facts.has_one_result(call),
                    });
                    if may_bind {
                        held.push(variable.clone());
                    }
                }
                Atom::Expression(_) if !may_bind => calls.push(part),
                _ => {}
            }
        }
        held
    }
}
