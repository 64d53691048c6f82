//! Functions made for an expression: a frame of its own for minimal code, for what a library function says, for a loop, for a goal of which
//! some results are wanted.
//!
//! The arguments of such a function are the values of the variables that are known where the expression stands. Minimal code needs a frame
//! that can move, and a loop one that begins again; what the library says becomes code for the arguments as they are written, so that a
//! goal among them is compiled and not evaluated as it stands. The code of such a function is lowered when it is called first.

use super::{Lower, OddAnswer, Place, Whole};
use crate::instructions::{has_space, is_function, is_odd};
use crate::lowering::{Form, Wanted};
use crate::machine::code::{Guard, REDUCE, Slot, SyntheticBody, SyntheticFunction, TypeId};
use crate::machine::core::{Called, Collected, Core, IfDecons, Leave, Made, Substitute, Test, Unify};
use crate::machine::types::{Formal, HeadKind, Signature};
use crate::machine::words::small;
use crate::names;
use crate::operation::Operation;
use region::Ref;
use space::{Atom, Rewrite, Symbol, Variable, rewrite, variables};
use std::rc::Rc;

/// What is said of a number of results that is none.
const NO_COUNT: &str = "limit expects a whole number, 0 or more, as its first argument";

impl Lower<'_> {
    /// A form of the library whose code is a function of its own; `None` if the rule of the library says what it comes to.
    pub(super) fn library_form(&mut self, form: Form, whole: Whole<'_>, place: Place) -> Option<Core> {
        let Whole { atom, type_id } = whole;
        let arguments = &atom.children().expect("a form is an expression")[1..];
        match (form, arguments) {
            (Form::Unify, [left, pattern, then, otherwise]) => {
                Some(self.unify_form(whole, [left, pattern, then, otherwise], place))
            }
            (Form::Chain | Form::Eval | Form::Function, _) => self.instruction_form(form, whole),
            (Form::ContextSpace | Form::EvalInSpace | Form::Metta, _) => {
                self.is_plain_instruction(form, arguments).then(|| self.instruction_form(form, whole)).flatten()
            }
            (Form::Loop(kind), _) => self.loop_form(kind, whole),
            (Form::IfDecons, _) => self.if_decons(whole, place),
            (Form::Transaction, [goal]) => {
                let atom_type = self.facts.run.machine().types.atom_type;
                let is_such = self.facts.run.types().agrees_statically(atom_type, type_id);
                is_such.then(|| self.made(atom, SyntheticBody::Transaction(goal.clone()), atom_type, Vec::new()))
            }
            (Form::Some(wanted), [goal]) => self.some_results(wanted, goal, whole),
            (Form::Some(_), [most, goal]) => self.limited([most, goal], whole, place),
            _ => self.inline(whole),
        }
    }

    /// A call of a function made for an expression.
    fn made(&mut self, call: &Atom, what: SyntheticBody, type_id: TypeId, further: Vec<Core>) -> Core {
        let shared = self.facts.shared(call);
        self.facts.scope.learn_each(&shared);
        Core::fresh(shared, self.made_of(call, what, type_id, further))
    }

    /// Such a call, whose variables are made.
    pub(super) fn made_of(&mut self, call: &Atom, what: SyntheticBody, type_id: TypeId, further: Vec<Core>) -> Core {
        let captured = variables(call).into_iter().filter(|variable| self.facts.scope.is_known(variable)).collect();
        Core::Made(Box::new(Made { what, call: call.clone(), captured, further, type_id, is_open: false }))
    }

    /// An instruction written out in MeTTa.
    fn instruction_form(&mut self, form: Form, whole: Whole<'_>) -> Option<Core> {
        let Whole { atom, type_id } = whole;
        let is_known = match (form, atom.children()) {
            (Form::Chain, Some([_, _, Atom::Variable(variable), _])) => !self.facts.scope.is_known(variable),
            (Form::Chain, _) => false,
            (Form::Function, _) => is_function(atom),
            _ => true,
        };
        // What `chain` comes to is evaluated; what the others do is taken as it stands.
        let result = if form == Form::Chain { 0 } else { self.facts.run.machine().types.atom_type };
        if !is_known || !self.facts.run.types().agrees_statically(result, type_id) {
            return None;
        }
        Some(self.made(atom, SyntheticBody::Minimal(atom.clone()), result, Vec::new()))
    }

    /// Whether the space of an instruction is written out and is that of the evaluation, and so is a type.
    fn is_plain_instruction(&mut self, form: Form, arguments: &[Atom]) -> bool {
        match (form, arguments) {
            (Form::ContextSpace, []) => true,
            (Form::EvalInSpace, [_, space]) => self.is_own_space(space),
            (Form::Metta, [_, type_atom @ Atom::Symbol(_), space]) if self.is_own_space(space) => {
                let machine = self.facts.run.machine_mut();
                let Some(type_of_types) = machine.types.ids.id(&Atom::symbol("Type")) else { return false };
                let Some(leaf) = machine.values.constant_leaf(type_atom) else { return false };
                self.facts.run.types().leaf_has_type(type_atom, leaf, type_of_types, false)
            }
            _ => false,
        }
    }

    /// `(unify left pattern then otherwise)` at the level of MeTTa: its answer is evaluated.
    fn unify_form(&mut self, whole: Whole<'_>, parts: [&Atom; 4], place: Place) -> Core {
        let [left, pattern, then, otherwise] = parts;
        if is_odd(then) || is_odd(otherwise) {
            return self.written(whole.atom, whole.type_id);
        }
        let may_branch = left.children().is_none() || has_space(left) || has_space(pattern);
        let inside = if may_branch && place != Place::Tail { Place::Gathered } else { place };
        let mut fresh = self.shared_by_branches(&[then, otherwise]);
        let (more, left, new) = self.before_unify([left, pattern, then]);
        fresh.extend(more);
        let mark = self.facts.scope.mark();
        self.facts.scope.learn_each(&new);
        let [then, otherwise] = [then, otherwise].map(|branch| {
            let node = self.answered(branch, 0, inside, |_| OddAnswer::Stands(whole.atom.clone()));
            self.facts.scope.forget_from(mark);
            node
        });
        let node = Core::Unify(Box::new(Unify { left, pattern: pattern.clone(), then, otherwise }));
        Core::fresh(fresh, if may_branch { Core::Gathered(Box::new(node)) } else { node })
    }

    /// `(if-decons-expr list $head $tail then otherwise)`
    fn if_decons(&mut self, whole: Whole<'_>, place: Place) -> Option<Core> {
        let atom = whole.atom;
        let mut tests = Vec::new();
        let [_, list, head, tail, then, otherwise] = atom.children()? else { return None };
        if head == tail || is_odd(then) || is_odd(otherwise) || !self.facts.form_agrees(atom, 0, &mut tests) {
            return None;
        }
        Some(self.guarded(tests, whole, |lower| {
            let mut fresh = lower.shared_by_branches(&[then, otherwise]);
            let own = Atom::expression([head.clone(), tail.clone()]);
            let shared = lower.facts.shared(&Atom::expression([own.clone(), then.clone()]));
            lower.add_fresh(&mut fresh, shared);
            let list = lower.quote(list);
            let mark = lower.facts.scope.mark();
            let new = lower.facts.unknown(&own);
            lower.facts.scope.learn_each(&new);
            let then = lower.answered(then, 0, place, |_| OddAnswer::Stands(atom.clone()));
            lower.facts.scope.forget_from(mark);
            let otherwise = lower.value(otherwise, 0, place);
            lower.facts.scope.forget_from(mark);
            let (element, rest) = (head.clone(), tail.clone());
            let parts = IfDecons { list, position: None, element, rest, then, otherwise };
            Core::fresh(fresh, Core::IfDecons(Box::new(parts)))
        }))
    }

    /// What a library function says of these arguments, if it is one rule that takes them as they stand.
    fn inline(&mut self, whole: Whole<'_>) -> Option<Core> {
        let Whole { atom, type_id } = whole;
        let children = atom.children().expect("a form is an expression");
        let (head, arguments) = (&children[0], &children[1..]);
        let head = self.facts.run.machine_mut().values.constant_leaf(head).expect("it is a leaf");
        let (formals, result) = match self.facts.run.types().head_kind(head, arguments.len()) {
            HeadKind::Raw { result } => (Signature::raw(arguments.len(), result).formals, result),
            HeadKind::Typed(signature) => (signature.formals, signature.result.unwrap_or(type_id)),
            HeadKind::Untyped | HeadKind::Parametric(_) | HeadKind::Other => return None,
        };
        let is_static = formals.iter().zip(arguments).all(|(formal, argument)| match formal {
            Formal::Raw => true,
            Formal::Expression => matches!(argument, Atom::Expression(_)),
            Formal::Typed(_) => false,
        });
        if !is_static || !self.facts.run.types().agrees_statically(result, type_id) {
            return None;
        }
        let body = self.body_for(head, arguments)?;
        let what = if is_function(&body) { SyntheticBody::Minimal(body) } else { SyntheticBody::Body(body) };
        Some(self.made(atom, what, result, Vec::new()))
    }

    /// The body of the only rule of a head, with these arguments put in.
    fn body_for(&mut self, head: Ref, arguments: &[Atom]) -> Option<Atom> {
        let rules = self.facts.run.rules_of((head, arguments.len() as Slot))?;
        let [(formals, body)] = rules.as_slice() else { return None };
        let mut known: Vec<(&Variable, &Atom)> = Vec::new();
        for (formal, argument) in formals.iter().zip(arguments) {
            let Atom::Variable(variable) = formal else { return None };
            if known.iter().any(|(known, _)| *known == variable) {
                return None;
            }
            known.push((variable, argument));
        }
        Some(with_in_place(body, &known))
    }

    /// `(capture goal)` in the module whose space is that of the evaluation.
    pub(super) fn capture(&mut self, goal: &Atom, whole: Whole<'_>) -> Option<Core> {
        let Whole { atom, type_id } = whole;
        let operation = atom.head().and_then(Operation::of)?;
        let space = self.facts.run.space_of(operation.home());
        let atom_type = self.facts.run.machine().types.atom_type;
        if !space.is_same(self.facts.run.space()) || !self.facts.run.types().agrees_statically(atom_type, type_id) {
            return None;
        }
        let result = Atom::Variable(self.facts.run.variables().fresh(&Symbol::new("result")));
        let evaluated = [Atom::symbol("metta"), goal.clone(), names::undefined(), Atom::from(space)];
        let returned = Atom::expression([Atom::symbol(names::RETURN), result.clone()]);
        let chain = [Atom::symbol("chain"), Atom::expression(evaluated), result, returned];
        let code = Atom::expression([Atom::symbol("function"), Atom::expression(chain)]);
        Some(self.made(atom, SyntheticBody::Minimal(code), atom_type, Vec::new()))
    }

    /// `(once goal)`, `(has-result goal)`, `(count-results goal)`
    fn some_results(&mut self, wanted: Wanted, goal: &Atom, whole: Whole<'_>) -> Option<Core> {
        let result = self.result_of(wanted);
        let what = SyntheticBody::Some { wanted, goal: goal.clone(), has_most: false };
        let agrees = self.facts.run.types().agrees_statically(result, whole.type_id);
        agrees.then(|| self.made(whole.atom, what, result, Vec::new()))
    }

    /// `(limit most goal)`
    fn limited(&mut self, [most, goal]: [&Atom; 2], whole: Whole<'_>, place: Place) -> Option<Core> {
        let types = &self.facts.run.machine().types;
        let (result, number) = (types.atom_type, types.number_type);
        let mut tests = Vec::new();
        if !self.facts.run.types().agrees_statically(result, whole.type_id)
            || !self.facts.agrees(most, number, false, &mut tests)
        {
            return None;
        }
        Some(self.guarded(tests, whole, |lower| {
            let what = SyntheticBody::Some { wanted: Wanted::First, goal: goal.clone(), has_most: true };
            let may_branch = lower.facts.may_branch(most) && place != Place::Tail;
            let value = Box::new(lower.argument(most, number));
            let variable = lower.local();
            lower.facts.scope.learn(&variable, None);
            let made = lower.made(whole.atom, what, result, vec![Core::Variable(variable.clone())]);
            let node = Core::Let { variable, value, then: Box::new(made) };
            if may_branch { Core::Gathered(Box::new(node)) } else { node }
        }))
    }

    /// The type of what a form comes to.
    fn result_of(&self, wanted: Wanted) -> TypeId {
        let types = &self.facts.run.machine().types;
        match wanted {
            Wanted::First => types.atom_type,
            Wanted::Whether => types.bool_type,
            Wanted::Number => types.number_type,
        }
    }

    /// The code of a function made for an expression; `further` stand for the arguments behind those of its variables.
    pub(in crate::machine) fn made_code(&mut self, made: &SyntheticFunction, further: &[Variable]) -> Core {
        let is_code = matches!(made.what, SyntheticBody::Minimal(_));
        let leave = |value: Core| {
            let (call, type_id) = (Called::written(&made.call), made.type_id);
            Core::Leave(Box::new(Leave { value, call, type_id, is_rule: false, is_code }))
        };
        match &made.what {
            SyntheticBody::Minimal(code) => leave(self.minimal(code)),
            SyntheticBody::Body(body) => self.value(body, made.type_id, Place::Tail),
            SyntheticBody::Transaction(goal) => leave(self.transacted(goal)),
            SyntheticBody::Some { wanted, goal, .. } => self.some_of(goal, *wanted, further.first(), leave),
            SyntheticBody::Goal => {
                let mut goal = self.value(&made.call, 0, Place::Tail);
                wants_some(&mut goal);
                goal
            }
            SyntheticBody::Loop { kind, item, found, template } => {
                self.loop_code(made, (*kind, item, found.as_ref(), template), further)
            }
            SyntheticBody::OpenLoop(kind) => self.open_loop_code(*kind, made.type_id, further),
        }
    }

    /// Each result of a goal that is evaluated in a transaction.
    fn transacted(&mut self, goal: &Atom) -> Core {
        let shared = self.facts.shared(goal);
        self.facts.scope.learn_each(&shared);
        let collected = self.collected(goal, Collected::Transaction);
        Core::fresh(shared, Core::AsValue(Box::new(collected)))
    }

    /// What is wanted of a goal. If a variable stands for the number of results that are wanted, that is looked at.
    fn some_of(
        &mut self,
        goal: &Atom,
        wanted: Wanted,
        number: Option<&Variable>,
        leave: impl FnOnce(Core) -> Core,
    ) -> Core {
        let Some(number) = number else {
            let most = self.local();
            self.facts.scope.learn(&most, None);
            let then = Box::new(leave(self.wanted(goal, wanted, &most)));
            return Core::Let { variable: most, value: Box::new(Core::Leaf(small(1).expect("it is small"))), then };
        };
        let some = leave(self.wanted(goal, wanted, number));
        let call = Atom::expression([Atom::symbol("limit"), Atom::Variable(number.clone()), goal.clone()]);
        let error = names::error(call, Atom::from(NO_COUNT));
        let error = self.quote(&error);
        Core::guarded(vec![Test::Is(number.clone(), Guard::Count)], some, error)
    }

    /// Each result of a goal that is wanted, or what there is to say about them. The goal becomes a function of its own, called in an open
    /// frame: in last place no expression collects its alternatives, so that each result is there as soon as it is found.
    fn wanted(&mut self, goal: &Atom, wanted: Wanted, most: &Variable) -> Core {
        let mark = self.facts.scope.mark();
        let shared = self.facts.shared(goal);
        self.facts.scope.learn_each(&shared);
        let captured = variables(goal).into_iter().filter(|variable| self.facts.scope.is_known(variable)).collect();
        self.facts.scope.forget_from(mark);
        let (what, call) = (SyntheticBody::Goal, goal.clone());
        let goal = Made { what, call, captured, further: Vec::new(), type_id: 0, is_open: true };
        let goal = Box::new(Core::Made(Box::new(goal)));
        let collect = Core::Collect { goal, into: Collected::Wanted { wanted, most: most.clone() } };
        Core::fresh(shared, Core::AsValue(Box::new(collect)))
    }

    /// Code in front of the only rule of a function of the library whose arguments are values, for which these variables stand: what must
    /// hold for it, and the code.
    pub(in crate::machine) fn open_form(
        &mut self,
        form: Form,
        arguments: &[Variable],
        type_id: TypeId,
    ) -> Option<(Vec<Test>, Core)> {
        let leave = |value: Core| {
            if type_id == REDUCE {
                return Core::Resolved(Box::new(value));
            }
            let call = Called::Own(arguments.len());
            Core::Leave(Box::new(Leave { value, call, type_id, is_rule: false, is_code: false }))
        };
        let is = |place: usize, guard: Guard| Test::Is(arguments[place].clone(), guard);
        let goal = |place: usize| Atom::Variable(arguments[place].clone());
        match (form, arguments) {
            (Form::Transaction, [_]) => Some((Vec::new(), leave(self.transacted(&goal(0))))),
            (Form::Some(wanted), [_]) => Some((Vec::new(), self.some_of(&goal(0), wanted, None, leave))),
            (Form::Some(wanted), [most, _]) => Some((Vec::new(), self.some_of(&goal(1), wanted, Some(most), leave))),
            (Form::Substitute, [value, variable, template]) => {
                let pairs = vec![(variable.clone(), value.clone())];
                let node = Core::Substitute(Box::new(Substitute { template: template.clone(), pairs, renames: false }));
                // The rule takes the value as it is, unless it is the code of a function: that is run.
                Some((vec![is(1, Guard::Unbound), is(0, Guard::Answer)], leave(node)))
            }
            (Form::Loop(kind), _) => Some(self.begin_open_loop(kind, arguments, type_id)),
            _ => None,
        }
    }
}

/// An atom with others in the place of variables.
pub(super) fn with_in_place(atom: &Atom, known: &[(&Variable, &Atom)]) -> Atom {
    let put_in = |variable: &Variable| match known.iter().find(|(known, _)| *known == variable) {
        Some((_, other)) => Rewrite::Replace((*other).clone()),
        None => Rewrite::Keep,
    };
    rewrite(atom, put_in).unwrap_or_else(|| atom.clone())
}

/// Of the query that a goal is, only some answers are wanted.
fn wants_some(goal: &mut Core) {
    match goal {
        Core::Query(query) => {
            query.is_goal = true;
            query.one_by_one.iter_mut().for_each(|query| wants_some(Rc::make_mut(query)));
        }
        Core::Guarded(guarded) => wants_some(&mut guarded.fast),
        Core::Fresh { then, .. } | Core::Let { then, .. } => wants_some(then),
        _ => {}
    }
}
