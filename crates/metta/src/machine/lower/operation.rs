//! Native functions: arithmetic, comparisons and logic in place.

use super::{Lower, OddAnswer, Place, Whole};
use crate::instructions::is_odd;
use crate::lowering::{Comparison, Logic, Lowering};
use crate::machine::code::{Guard, Position, TypeId};
use crate::machine::core::{Compute, Core, Effect, Native, Operation, Test};
use crate::machine::types::said::Said;
use crate::machine::types::{Formal, HeadKind, Signature};
use crate::operation::lowering_of;
use region::Ref;
use space::Atom;

/// More alternatives than these, written out in a list, are made when they are tried.
const ALTERNATIVES_MAX: usize = 16;

impl Lower<'_> {
    /// A call of a native function.
    pub(super) fn operation(&mut self, atom: &Atom, type_id: TypeId, place: Place) -> Core {
        let children = atom.children().expect("a call is an expression");
        let Some(lowering) = lowering_of(&children[0]) else { return self.written(atom, type_id) };
        let whole = Whole { atom, type_id };
        match (lowering, &children[1..]) {
            (Lowering::LetAll, [pairs, body]) => self.bindings(whole, pairs, body, place),
            (Lowering::Comparison(Comparison::Equal), [left, right]) => self.equality(whole, [left, right], place),
            (Lowering::Arithmetic(operation), [_, _]) => self.computed(Operation::Arithmetic(operation), whole, place),
            (Lowering::Comparison(comparison), [_, _]) => {
                self.computed(Operation::Comparison(comparison), whole, place)
            }
            (Lowering::Logic(Logic::Not), [_]) => self.computed(Operation::Logic(Logic::Not), whole, place),
            (Lowering::Logic(operation), [_, _]) => self.computed(Operation::Logic(operation), whole, place),
            (Lowering::Capture, [goal]) => match self.capture(goal, whole) {
                Some(node) => node,
                None => self.called(lowering, whole, place),
            },
            (Lowering::Query, [_, _, _]) => self.query(whole, place),
            (lowering, _) => match self.list_operation(lowering, whole, place) {
                Some(node) => node,
                None => self.called(lowering, whole, place),
            },
        }
    }

    /// A native function that is called, or does something in place.
    fn called(&mut self, lowering: Lowering, whole: Whole<'_>, place: Place) -> Core {
        let atom = whole.atom;
        let children = atom.children().expect("a call is an expression");
        let (head, arguments) =
            (self.facts.run.machine_mut().values.constant_leaf(&children[0]).expect("it is a leaf"), &children[1..]);
        self.if_arguments_agree(whole, |lower, signature| match (lowering, arguments) {
            (Lowering::Superpose, [list]) if !list.children().is_some_and(|children| children.iter().any(is_odd)) => {
                lower.superpose(atom, list, place)
            }
            _ => match lower.effect(lowering, signature, arguments, place) {
                Some(node) => node,
                None => lower.native(head, signature, arguments, place),
            },
        })
    }

    /// What `make` lowers a call of a native function to if its type agrees with its arguments and with what is expected.
    pub(super) fn if_arguments_agree(
        &mut self,
        whole: Whole<'_>,
        make: impl FnOnce(&mut Self, &Signature) -> Core,
    ) -> Core {
        let Whole { atom, type_id } = whole;
        let arguments = &atom.children().expect("a call is an expression")[1..];
        let Some((signature, tests)) = self.signature_of(atom) else { return self.written(atom, type_id) };
        let result = signature.result.unwrap_or(type_id);
        self.guarded(tests, whole, |lower| {
            let mut tests = Vec::new();
            if !lower.facts.run.types().agrees_statically(result, type_id)
                || !lower.facts.arguments_agree(&signature.formals, arguments, &mut tests)
            {
                return lower.written(atom, type_id);
            }
            lower.guarded(tests, whole, |lower| make(lower, &signature))
        })
    }

    /// A native function that is called through its Rust side; its results are evaluated as its type says.
    pub(super) fn native(&mut self, operation: Ref, signature: &Signature, arguments: &[Atom], place: Place) -> Core {
        let result = self.facts.run.machine().types.evaluated_as(signature.result.unwrap_or(0));
        // A function of the library gives what it declares, but for the contents of states.
        let is_final = result != 0 && matches!(self.facts.run.types().type_atom(result), Atom::Symbol(_));
        let fresh = self.facts.needed_after_first(arguments);
        self.facts.scope.learn_each(&fresh);
        let nodes = signature.formals.iter().zip(arguments).map(|(formal, argument)| match formal {
            Formal::Typed(type_id) => self.argument(argument, *type_id),
            Formal::Raw | Formal::Expression => self.quote(argument),
        });
        let nodes = nodes.collect();
        let is_as_written = self.are_as_written(arguments);
        let call = Core::Native(Box::new(Native { operation, arguments: nodes, is_as_written }));
        let node = if is_final { call } else { self.evaluated_further(call, result) };
        Core::fresh(fresh, if place == Place::Tail { node } else { Core::Gathered(Box::new(node)) })
    }

    /// Whether arguments are evaluated as they are written. Numbers of variables are part of what a program prints: this takes none.
    fn are_as_written(&mut self, arguments: &[Atom]) -> bool {
        let last = self.facts.run.variables().last();
        let are_as_written = arguments.iter().all(|argument| self.facts.is_same(argument));
        self.facts.run.take_numbers_from(last);
        are_as_written
    }

    /// What a call was reduced to, evaluated to a type.
    fn evaluated_further(&self, call: Core, type_id: TypeId) -> Core {
        let variable = self.local();
        let then = Core::Evaluate { variable: variable.clone(), type_id, position: Position::Answer };
        Core::Let { variable, value: Box::new(call), then: Box::new(then) }
    }

    /// What reads or changes a state or a space; `None` if this is none, or its type says something else of its arguments.
    fn effect(&mut self, lowering: Lowering, signature: &Signature, arguments: &[Atom], place: Place) -> Option<Core> {
        let formals: Vec<Option<TypeId>> = signature.formals.iter().map(typed).collect();
        Some(match (lowering, arguments, formals.as_slice()) {
            (Lowering::GetState, [state], &[Some(formal)])
                if signature.result != Some(self.facts.run.machine().types.atom_type) =>
            {
                let content = self.facts.run.machine().types.evaluated_as(signature.result.unwrap_or(0));
                self.around(arguments, place, |lower| {
                    let operands = vec![lower.argument(state, formal)];
                    lower.evaluated_further(Core::Effect { effect: Effect::GetState, operands }, content)
                })
            }
            (Lowering::ChangeState, [state, value], &[Some(formal), Some(content)]) => {
                self.around(arguments, place, |lower| {
                    let operands = vec![lower.argument(state, formal), lower.argument(value, content)];
                    Core::Effect { effect: Effect::ChangeState, operands }
                })
            }
            (Lowering::AddAtom, [space, value], &[Some(formal), None]) => {
                self.around(std::slice::from_ref(space), place, |lower| {
                    let operands = vec![lower.argument(space, formal), lower.quote(value)];
                    Core::Effect { effect: Effect::AddAtom, operands }
                })
            }
            _ => return None,
        })
    }

    /// Each child of a list is an alternative, evaluated in its turn.
    fn superpose(&mut self, atom: &Atom, list: &Atom, place: Place) -> Core {
        let inside = if place == Place::Tail { place } else { Place::Gathered };
        if let Some(children) = list.children().filter(|children| are_alternatives(children)) {
            let nodes = children.iter().map(|child| self.alternative(list, child, inside)).collect();
            return Core::Gathered(Box::new(Core::Alternatives(nodes)));
        }
        let each = Box::new(Core::Each(Box::new(self.quote(list))));
        let child = self.local();
        // A list of leaves needs nothing: they are their own results, and no odd ones.
        let are_leaves = are_leaves(list);
        let then = match are_leaves {
            true => Core::Evaluate { variable: child.clone(), type_id: 0, position: Position::Answer },
            false => self.evaluated_answer(&child, &OddAnswer::Enters(atom.clone()), 0),
        };
        let node = Core::Let { variable: child, value: each, then: Box::new(then) };
        if are_leaves { node } else { Core::Gathered(Box::new(node)) }
    }

    /// One of them. A variable that it has in common with others of the list only is another one in each.
    fn alternative(&mut self, list: &Atom, child: &Atom, place: Place) -> Core {
        let whole = std::mem::replace(&mut self.facts.whole, Atom::unit());
        self.facts.whole = with_in_place_of(&whole, list, child);
        let counts = std::mem::take(&mut self.facts.counts);
        let mark = self.facts.scope.mark();
        let node = match place {
            Place::Tail => self.reduct(child, 0, place),
            Place::Inside | Place::Gathered => self.apart(child, |lower| lower.reduct(child, 0, place)),
        };
        self.facts.scope.forget_from(mark);
        (self.facts.whole, self.facts.counts) = (whole, counts);
        node
    }

    /// The signature of a native function for some arguments, and the tests that it asks for.
    fn signature_of(&mut self, atom: &Atom) -> Option<(Signature, Vec<Test>)> {
        let children = atom.children().expect("a call is an expression");
        let arguments = &children[1..];
        let head = self.facts.run.machine_mut().values.constant_leaf(&children[0]).expect("it is a leaf");
        match self.facts.run.types().head_kind(head, arguments.len()) {
            HeadKind::Raw { result } => Some((Signature::raw(arguments.len(), result), Vec::new())),
            HeadKind::Typed(signature) => Some((signature, Vec::new())),
            HeadKind::Parametric(function) => self.facts.instantiated(&function, arguments, 0),
            HeadKind::Untyped | HeadKind::Other => None,
        }
    }

    /// A number or a truth value that is computed of numbers or of truth values.
    fn computed(&mut self, operation: Operation, whole: Whole<'_>, place: Place) -> Core {
        let arguments = &whole.atom.children().expect("a call is an expression")[1..];
        self.if_arguments_agree(whole, |lower, _| {
            let types = &lower.facts.run.machine().types;
            let operand = if matches!(operation, Operation::Logic(_)) { types.bool_type } else { types.number_type };
            lower.around(arguments, place, |lower| lower.compute(operation, arguments, operand))
        })
    }

    /// Something that is computed of evaluated operands of a type.
    fn compute(&mut self, operation: Operation, arguments: &[Atom], operand: TypeId) -> Core {
        let operands = arguments.iter().map(|argument| self.argument(argument, operand)).collect();
        let is_as_written = self.are_as_written(arguments);
        Core::Compute(Box::new(Compute { operation, operands, is_as_written }))
    }

    /// What `make` lowers a native function to, after the variables that its arguments need, and its alternatives collected together
    /// if several arguments have some.
    fn around(&mut self, arguments: &[Atom], place: Place, make: impl FnOnce(&mut Self) -> Core) -> Core {
        let fresh = self.facts.needed_after_first(arguments);
        self.facts.scope.learn_each(&fresh);
        // A variable that another argument binds is evaluated to a type: that may be an error.
        let is_bound_here =
            |argument: &Atom| matches!(argument, Atom::Variable(variable) if !self.facts.scope.is_known(variable));
        let branches = |argument: &&Atom| !self.facts.has_one_result(argument) || is_bound_here(argument);
        let branching = arguments.iter().filter(branches).count();
        let calls = arguments.iter().any(|argument| matches!(argument, Atom::Expression(_)));
        let is_gathered = place != Place::Tail && branching > 1 && calls;
        let node = make(self);
        Core::fresh(fresh, if is_gathered { Core::Gathered(Box::new(node)) } else { node })
    }

    /// `==` takes two values of one type.
    fn equality(&mut self, whole: Whole<'_>, [left, right]: [&Atom; 2], place: Place) -> Core {
        let Whole { atom, type_id } = whole;
        let bool_type = self.facts.run.machine().types.bool_type;
        if !self.facts.run.types().agrees_statically(bool_type, type_id) {
            return self.written(atom, type_id);
        }
        if !self.facts.is_well_typed && self.facts.is_untyped_call(left) && self.facts.is_untyped_call(right) {
            return self.equality_of_calls(whole, [left, right], place);
        }
        let mut tests = Vec::new();
        let Some(side_type) = self.facts.sides_agree(left, right, false, &mut tests) else {
            return self.written(atom, type_id);
        };
        let arguments = &atom.children().expect("a comparison is an expression")[1..];
        let equal = Operation::Comparison(Comparison::Equal);
        self.guarded(tests, whole, |lower| {
            lower.around(arguments, place, |lower| lower.compute(equal, arguments, side_type))
        })
    }

    /// What the first call comes to may say of which type the results of the second are. If that is known of no single call, the specification
    /// is followed step by step.
    fn equality_of_calls(&mut self, whole: Whole<'_>, sides: [&Atom; 2], place: Place) -> Core {
        let Whole { atom, type_id } = whole;
        let callee = self.facts.callee(sides[0]);
        let said = self.facts.run.function_types().said_by(callee).unwrap_or(Said::Depends);
        if said == Said::Depends || mentions_equality(sides[1]) {
            return self.written(atom, type_id);
        }
        let function = self.facts.run.machine_mut().code.function(callee.0, callee.1, 0);
        let arguments = &atom.children().expect("a comparison is an expression")[1..];
        self.guarded(vec![Test::Says(function, said)], whole, |lower| {
            lower.around(arguments, place, |lower| match said {
                Said::Nothing => lower.compute(Operation::Comparison(Comparison::Equal), arguments, 0),
                _ => typed_by_first(lower, whole, sides),
            })
        })
    }

    /// `let*` is a `let` for each pair, one inside the other.
    fn bindings(&mut self, whole: Whole<'_>, pairs: &Atom, body: &Atom, place: Place) -> Core {
        let Whole { atom, type_id } = whole;
        let are_pairs = |pairs: &&[Atom]| pairs.iter().all(|pair| pair.children().is_some_and(|pair| pair.len() == 2));
        let Some(pairs) =
            pairs.children().filter(are_pairs).filter(|_| self.facts.run.special_form("let", 3).is_some())
        else {
            return self.written(atom, type_id);
        };
        let nested = pairs.iter().rev().fold(body.clone(), |body, pair| {
            let pair = pair.children().expect("it is a pair");
            Atom::expression([Atom::symbol("let"), pair[0].clone(), pair[1].clone(), body])
        });
        if pairs.is_empty() {
            return self.answered(&nested, 0, place, |_| OddAnswer::Enters(atom.clone()));
        }
        self.special(crate::lowering::Form::Let, &nested, 0, place)
    }
}

/// Whether a list is written out, of leaves.
fn are_leaves(list: &Atom) -> bool {
    let is_leaf = |child: &Atom| matches!(child, Atom::Symbol(_) | Atom::Grounded(_));
    list.children().is_some_and(|children| children.iter().all(is_leaf))
}

/// An atom, which is no deeper than what is compiled, with another part in place of one.
fn with_in_place_of(atom: &Atom, part: &Atom, other: &Atom) -> Atom {
    match atom {
        _ if atom == part => other.clone(),
        Atom::Expression(expression) if !atom.is_ground() || part.is_ground() => Atom::expression(
            expression.children().iter().map(|child| with_in_place_of(child, part, other)).collect::<Vec<_>>(),
        ),
        _ => atom.clone(),
    }
}

/// Whether each child of a list that is written out gets code of its own: they are few, some are to be evaluated, and of each it is known
/// that it is not [odd](is_odd).
fn are_alternatives(children: &[Atom]) -> bool {
    let is_known =
        |child: &Atom| !matches!(child, Atom::Variable(_)) && !matches!(child.head(), Some(Atom::Variable(_)));
    let is_expression = |child: &Atom| child.head().is_some();
    children.len() <= ALTERNATIVES_MAX && children.iter().all(is_known) && children.iter().any(is_expression)
}

/// The type that an argument is evaluated to; `None` if it is taken as it stands.
fn typed(formal: &Formal) -> Option<TypeId> {
    match formal {
        Formal::Typed(type_id) => Some(*type_id),
        Formal::Raw | Formal::Expression => None,
    }
}

/// Whether there is another `==` in an expression, which is no deeper than what is compiled.
fn mentions_equality(atom: &Atom) -> bool {
    let parts = atom.children().unwrap_or_default();
    parts.first().and_then(lowering_of) == Some(Lowering::Comparison(Comparison::Equal))
        || parts.iter().any(mentions_equality)
}

/// The type of both is that of the first call's result. The code for that stands there for numbers and for what has no type.
fn typed_by_first(lower: &mut Lower<'_>, whole: Whole<'_>, [left, right]: [&Atom; 2]) -> Core {
    let value = Box::new(lower.argument(left, 0));
    let [first, evaluated] = [(); 2].map(|()| lower.local());
    lower.facts.scope.learn(&first, None);
    let equal = whole.atom.children().expect("a comparison is an expression")[0].clone();
    let as_written = Atom::expression([equal, Atom::Variable(evaluated.clone()), right.clone()]);
    let as_written = Core::Let {
        variable: evaluated,
        value: Box::new(Core::Evaluated(first.clone())),
        then: Box::new(lower.written(&as_written, whole.type_id)),
    };
    let number = lower.facts.run.machine().types.number_type;
    let [numbers, others] = [number, 0].map(|operand| {
        let mark = lower.facts.scope.mark();
        let right = lower.argument(right, operand);
        lower.facts.scope.forget_from(mark);
        let (operation, operands) =
            (Operation::Comparison(Comparison::Equal), vec![Core::Variable(first.clone()), right]);
        Core::Compute(Box::new(Compute { operation, operands, is_as_written: false }))
    });
    let others = Core::guarded(vec![Test::Is(first.clone(), Guard::Untyped)], others, as_written);
    let then = Box::new(Core::guarded(vec![Test::Is(first.clone(), Guard::Number)], numbers, others));
    Core::Let { variable: first, value, then }
}
