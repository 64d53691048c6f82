//! Loops over lists: `map-atom`, `filter-atom`, `foldl-atom`.
//!
//! A loop is a function that calls itself in place of its frame, with the list, a position and what was found so far: `(last (before (… ())))`,
//! so that alternatives share what they have in common. The variables of its template are new for each element but those that hold something;
//! as what they hold must have no variables of its own, that is looked at before the loop begins. If the template is a value, the values go
//! in where its variables are, and what comes of that is run.

use super::{Lower, Place, Whole};
use crate::instructions::is_instruction;
use crate::lowering::{Loop, Lowering};
use crate::machine::code::{Guard, Position, REDUCE, SyntheticBody, SyntheticFunction, TypeId};
use crate::machine::core::{
    Branch, Branches, Called, Core, Evaluator, If, IfDecons, Leave, List, ListOperation, Made, Substitute, Test,
    Written,
};
use crate::machine::lower::made::with_in_place;
use crate::machine::types::HeadKind;
use crate::machine::words::small;
use crate::names;
use crate::operation::lowering_of;
use space::{Atom, Variable, variables};
use std::rc::Rc;

/// The parts of a loop's call.
struct Parts<'a> {
    list: &'a Atom,
    start: Option<&'a Atom>,
    found: Option<&'a Variable>,
    item: &'a Variable,
    template: &'a Atom,
}

impl<'a> Parts<'a> {
    fn of(arguments: &'a [Atom]) -> Option<Self> {
        match arguments {
            [list, Atom::Variable(item), template] => Some(Self { list, start: None, found: None, item, template }),
            [list, start, Atom::Variable(found), Atom::Variable(item), template] if found != item => {
                Some(Self { list, start: Some(start), found: Some(found), item, template })
            }
            _ => None,
        }
    }

    fn is_own(&self, variable: &Variable) -> bool {
        variable == self.item || Some(variable) == self.found
    }
}

/// A loop that goes on: what stands for the arguments of its function that stay, the element at hand, the position behind it, and what was
/// found before.
struct Step<'s> {
    list: &'s Variable,
    /// Arguments before the list and behind what was found.
    before: &'s [Variable],
    behind: &'s [Variable],
    element: Variable,
    next: Variable,
    found: &'s Variable,
}

impl Step<'_> {
    /// Goes on with the next element.
    fn again(&self, found: Core) -> Core {
        let value = |variable: &Variable| Core::Variable(variable.clone());
        let arguments = self.before.iter().map(value).chain([value(self.list), value(&self.next), found]);
        Core::Again(arguments.chain(self.behind.iter().map(value)).collect())
    }

    /// Goes on with the next element, with another one found.
    fn again_with(&self, element: &Variable) -> Core {
        let pair = [Atom::Variable(element.clone()), Atom::Variable(self.found.clone())];
        self.again(Core::Quote(Atom::expression(pair)))
    }
}

impl Lower<'_> {
    /// A loop over a list with a template that is written out.
    pub(super) fn loop_form(&mut self, kind: Loop, whole: Whole<'_>) -> Option<Core> {
        let parts = Parts::of(&whole.atom.children().expect("a form is an expression")[1..])?;
        let mut tests = Vec::new();
        if !self.is_loop(kind, parts.template) || !self.facts.is_raw_expression(parts.list, &mut tests) {
            return None;
        }
        let own = std::iter::once(parts.item).chain(parts.found);
        tests.extend(own.filter_map(|variable| self.facts.slot_guard(variable, Guard::Unbound)));
        // A variable that nothing has bound is another one in the template than in the list.
        let outside: Vec<Variable> =
            [Some(parts.list), parts.start].into_iter().flatten().flat_map(variables).collect();
        let is_split = |variable: &Variable| {
            outside.contains(variable) && !parts.is_own(variable) && !self.facts.scope.is_known(variable)
        };
        if variables(parts.template).iter().any(is_split) {
            return None;
        }
        let others = variables(parts.template).into_iter().filter(|variable| !parts.is_own(variable));
        tests.extend(others.filter_map(|variable| self.facts.slot_guard(&variable, Guard::Ground)));
        Some(self.guarded(tests, whole, |lower| {
            let mut fresh = Vec::new();
            if kind == Loop::Filter && !lower.facts.has_one_answer(parts.template) {
                // Errors that name the call are alternatives, and share its variable.
                lower.add_fresh(&mut fresh, vec![parts.item.clone()]);
            }
            let (none, zero) = (Atom::unit(), Core::Leaf(small(0).expect("it is small")));
            let further = vec![lower.quote(parts.list), zero, lower.quote(parts.start.unwrap_or(&none))];
            let (item, found, template) = (parts.item.clone(), parts.found.cloned(), parts.template.clone());
            let what = SyntheticBody::Loop { kind, item, found, template };
            // The variables of the template are new for each element, whatever else has their names.
            Core::fresh(fresh, lower.made_of(whole.atom, what, 0, further))
        }))
    }

    /// Whether the template of a loop is one that code is made for. The results of `map-atom` are evaluated as one tuple: it must not be that
    /// the type of the first makes a call of that, with the others as arguments.
    fn is_loop(&mut self, kind: Loop, template: &Atom) -> bool {
        let is_code = is_instruction(template);
        if kind == Loop::Map && !is_code && self.facts.may_have_whole_type(template) {
            return false;
        }
        match (kind, template.children()) {
            (Loop::Fold, _) => true,
            (Loop::Filter, _) => is_code,
            (Loop::Map, Some([Atom::Symbol(_), ..])) if is_code => true,
            (Loop::Map, Some([head @ Atom::Symbol(_), arguments @ ..])) => {
                let head = self.facts.run.machine_mut().values.constant_leaf(head).expect("it is a leaf");
                let result = match self.facts.run.types().head_kind(head, arguments.len()) {
                    HeadKind::Untyped => return true,
                    HeadKind::Raw { result } => Some(result),
                    HeadKind::Typed(signature) => signature.result,
                    HeadKind::Parametric(_) | HeadKind::Other => return false,
                };
                result.is_none_or(|result| !matches!(self.facts.run.types().type_atom(result), Atom::Expression(_)))
            }
            (Loop::Map, Some([head, ..])) => {
                matches!(lowering_of(head), Some(Lowering::Arithmetic(_) | Lowering::Comparison(_) | Lowering::Size))
            }
            (Loop::Map, _) => false,
        }
    }

    /// The code of a loop; `further` stand for the list, the position and what was found.
    pub(super) fn loop_code(
        &mut self,
        made: &SyntheticFunction,
        (kind, item, found_name, template): (Loop, &Variable, Option<&Variable>, &Atom),
        further: &[Variable],
    ) -> Core {
        let [list, position, found] = further else { unreachable!("a loop has three arguments of its own") };
        let (element, next) = (self.local(), self.local());
        let captured = made.captured.to_vec();
        let step = Step { list, before: &captured, behind: &[], element, next, found };
        let mark = self.facts.scope.mark();
        self.facts.scope.learn_each(&[step.element.clone(), step.next.clone()]);
        // Its own variables stand for the element and for what was found.
        let (element_atom, found_atom) = (Atom::Variable(step.element.clone()), Atom::Variable(found.clone()));
        let mut names = vec![(item, &element_atom)];
        names.extend(found_name.map(|name| (name, &found_atom)));
        let is_code = is_instruction(template);
        let code = with_in_place(template, &names);
        let whole = std::mem::replace(&mut self.facts.whole, code.clone());
        let counts = std::mem::take(&mut self.facts.counts);
        let own: Vec<Variable> = std::iter::once(item).chain(found_name).cloned().collect();
        let then = match kind {
            Loop::Map if is_code => {
                let value = self.minimal(&code);
                self.goes_on_with(value, &step)
            }
            Loop::Map => self.map_step(made, &code, &own, &step),
            Loop::Filter => self.filter_step(made, &code, item, &step),
            Loop::Fold => {
                let value = self.apart(&code, |lower| Core::AsValue(Box::new(lower.argument(&code, 0))));
                step.again(value)
            }
        };
        (self.facts.whole, self.facts.counts) = (whole, counts);
        self.facts.scope.forget_from(mark);
        let otherwise = match kind {
            Loop::Fold => {
                let call = Called::Written { atom: made.call.clone(), anew: own };
                let value = Core::Variable(found.clone());
                Core::Leave(Box::new(Leave { value, call, type_id: 0, is_rule: false, is_code: false }))
            }
            Loop::Map if !is_code => Core::LeaveList(Box::new(in_order(found))),
            Loop::Map | Loop::Filter => self.evaluated_list(found),
        };
        step.of(position, then, otherwise)
    }

    /// Goes on with a value as another element found.
    fn goes_on_with(&mut self, value: Core, step: &Step<'_>) -> Core {
        let variable = self.local();
        let then = Box::new(step.again_with(&variable));
        Core::Let { variable, value: Box::new(value), then }
    }

    fn map_step(&mut self, made: &SyntheticFunction, code: &Atom, own: &[Variable], step: &Step<'_>) -> Core {
        let mut tests = Vec::new();
        let agrees = self.facts.agrees(code, 0, false, &mut tests);
        let mark = self.facts.scope.mark();
        let value = self.value(code, 0, Place::Inside);
        self.facts.scope.forget_from(mark);
        let go_on = self.goes_on_with(value, step);
        match agrees {
            true if tests.is_empty() => go_on,
            true => {
                let unless_first = self.unless_first(made, own, step, go_on.clone());
                Core::guarded(tests, go_on, unless_first)
            }
            false => self.unless_first(made, own, step, go_on),
        }
    }

    /// The results of `map-atom` are evaluated as one tuple, whose head is the first of them: if that has a type error, it is the error of the
    /// head that is named. The interpreter knows which.
    fn unless_first(&mut self, made: &SyntheticFunction, own: &[Variable], step: &Step<'_>, go_on: Core) -> Core {
        let by = Evaluator::InterpreterWithArguments;
        let whole = Core::Written(Written { atom: made.call.clone(), type_id: 0, by });
        let whole = Core::Shown { node: Box::new(whole), anew: own.to_vec() };
        let branches = vec![
            Branch { pattern: Atom::from(1), body: whole },
            Branch { pattern: Atom::Variable(self.local()), body: go_on },
        ];
        Core::Branches(Box::new(Branches { subject: step.next.clone(), branches, met_space: Rc::new(Core::Fail) }))
    }

    fn filter_step(&mut self, made: &SyntheticFunction, code: &Atom, item: &Variable, step: &Step<'_>) -> Core {
        let condition = self.minimal(code);
        let then = step.again_with(&step.element);
        let otherwise = step.again(Core::Variable(step.found.clone()));
        // The test came to no truth value.
        let children = made.call.children().expect("it is a call");
        let list = Atom::Variable(step.list.clone());
        let call = Atom::expression([children[0].clone(), list, children[2].clone(), children[3].clone()]);
        let error = Core::Quote(names::error(call, Atom::symbol(names::NO_RETURN)));
        let anew = if made.captured.contains(item) { Vec::new() } else { vec![item.clone()] };
        let stuck = Rc::new(Core::Shown { node: Box::new(error), anew });
        let value = self.local();
        Core::If(Box::new(If { condition, then, otherwise, value, stuck, tests: Vec::new(), shortcut: None }))
    }

    /// The list of what was found, as the answer of a form.
    fn evaluated_list(&mut self, found: &Variable) -> Core {
        let variable = self.local();
        let then = Core::Evaluate { variable: variable.clone(), type_id: 0, position: Position::Answer };
        Core::Let { variable, value: Box::new(in_order(found)), then: Box::new(then) }
    }

    /// A loop of whose call only values are known: what must hold for it, and the call of its function.
    pub(super) fn begin_open_loop(&mut self, kind: Loop, arguments: &[Variable], type_id: TypeId) -> (Vec<Test>, Core) {
        let is = |place: usize, guard: Guard| Test::Is(arguments[place].clone(), guard);
        let mut tests = vec![is(0, Guard::Expression)];
        let value = |place: usize| Core::Variable(arguments[place].clone());
        let zero = Core::Leaf(small(0).expect("it is small"));
        let further = match kind {
            Loop::Fold => {
                tests.extend([is(2, Guard::Unbound), is(3, Guard::Unbound)]);
                vec![value(0), zero, value(1), value(2), value(3), value(4), value(1)]
            }
            Loop::Map | Loop::Filter => {
                tests.push(is(1, Guard::Unbound));
                vec![value(0), zero, Core::Quote(Atom::unit()), value(1), value(2)]
            }
        };
        let what = SyntheticBody::OpenLoop(kind);
        let made = Made { what, call: Atom::unit(), captured: Vec::new(), further, type_id, is_open: false };
        (tests, Core::Made(Box::new(made)))
    }

    /// The code of such a loop. `arguments` stand for the list, the position, what was found, the variable of the element, the template; of a
    /// fold the variable for what was found stands before that of the element, and what it began with behind the template.
    pub(super) fn open_loop_code(&mut self, kind: Loop, type_id: TypeId, arguments: &[Variable]) -> Core {
        let [list, position, found, behind @ ..] = arguments else { unreachable!("a loop has such arguments") };
        let (element, next, code) = (self.local(), self.local(), self.local());
        let step = Step { list, before: &[], behind, element, next, found };
        self.facts.scope.learn_each(&[step.element.clone(), step.next.clone(), code.clone()]);
        let (template, pairs) = match (kind, behind) {
            (Loop::Fold, [of_found, of_element, template, _]) => {
                (template, vec![(of_found.clone(), found.clone()), (of_element.clone(), step.element.clone())])
            }
            (_, [of_element, template]) => (template, vec![(of_element.clone(), step.element.clone())]),
            _ => unreachable!("a loop has such arguments"),
        };
        let substituted = Substitute { template: template.clone(), pairs, renames: true };
        let run = || Core::Run { code: Box::new(Core::Variable(code.clone())), is_only_function: false };
        let then = match kind {
            Loop::Map => self.goes_on_with(run(), &step),
            Loop::Filter => self.open_filter_step(run(), &step),
            Loop::Fold => {
                let value = self.argument(&Atom::Variable(code.clone()), 0);
                step.again(Core::AsValue(Box::new(value)))
            }
        };
        let value = Box::new(Core::Substitute(Box::new(substituted)));
        let then = Core::Let { variable: code, value, then: Box::new(then) };
        let otherwise = match (kind, behind) {
            (Loop::Fold, _) if type_id == REDUCE => Core::Variable(found.clone()),
            (Loop::Fold, [of_found, of_element, template, start]) => {
                let call = call_of("foldl-atom", &[list, start, of_found, of_element, template]);
                let value = Core::Variable(found.clone());
                Core::Leave(Box::new(Leave {
                    value,
                    call: Called::written(&call),
                    type_id,
                    is_rule: false,
                    is_code: false,
                }))
            }
            _ if type_id == REDUCE => in_order(found),
            _ => self.evaluated_list(found),
        };
        step.of(position, then, otherwise)
    }

    /// Keeps an element or drops it, as a test comes to a truth value.
    fn open_filter_step(&mut self, condition: Core, step: &Step<'_>) -> Core {
        let then = step.again_with(&step.element);
        let otherwise = step.again(Core::Variable(step.found.clone()));
        let call = call_of("filter-atom", &[step.list, &step.behind[0], &step.behind[1]]);
        let stuck = Rc::new(Core::Quote(names::error(call, Atom::symbol(names::NO_RETURN))));
        let value = self.local();
        Core::If(Box::new(If { condition, then, otherwise, value, stuck, tests: Vec::new(), shortcut: None }))
    }
}

impl Step<'_> {
    /// What is done with the element at a position, and what there is behind the last.
    fn of(&self, position: &Variable, then: Core, otherwise: Core) -> Core {
        let list = Core::Variable(self.list.clone());
        let (element, rest) = (Atom::Variable(self.element.clone()), Atom::Variable(self.next.clone()));
        let position = Some(position.clone());
        Core::IfDecons(Box::new(IfDecons { list, position, element, rest, then, otherwise }))
    }
}

/// The list of what was found.
fn in_order(found: &Variable) -> Core {
    let (operation, operands) = (ListOperation::InOrder, vec![Core::Variable(found.clone())]);
    Core::List(Box::new(List { operation, operands, as_written: Rc::new(Core::Fail) }))
}

/// A call of values.
fn call_of(name: &str, arguments: &[&Variable]) -> Atom {
    let arguments = arguments.iter().map(|&argument| Atom::Variable(argument.clone()));
    Atom::expression(std::iter::once(Atom::symbol(name)).chain(arguments).collect::<Vec<_>>())
}
