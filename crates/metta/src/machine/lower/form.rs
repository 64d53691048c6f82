//! Special forms.

use super::{Lower, OddAnswer, Place, Whole};
use crate::instructions::has_space;
use crate::instructions::is_odd;
use crate::lowering::Form;
use crate::machine::code::TypeId;
use crate::machine::core::{Core, Evaluator, If, Match, Test, Written};
use crate::machine::types::{Formal, Signature};
use crate::machine::words::ERROR;
use crate::names;
use space::{Atom, variables};
use std::rc::Rc;

impl Lower<'_> {
    /// An expression that a special form begins.
    pub(in crate::machine) fn special(&mut self, form: Form, atom: &Atom, type_id: TypeId, place: Place) -> Core {
        let children = atom.children().expect("a form is an expression");
        if !self.facts.form_has_type(atom, children.len() - 1, type_id) {
            return self.written(atom, type_id);
        }
        let whole = Whole { atom, type_id };
        match (form, &children[1..]) {
            (Form::If, [condition, then, otherwise]) if self.facts.has_one_result(condition) => {
                self.conditional(whole, [condition, then, otherwise], place)
            }
            (Form::If, [condition, then, otherwise]) => self.gathered(condition, place, |lower, place| {
                lower.conditional(whole, [condition, then, otherwise], place)
            }),
            (Form::Let, [pattern, value, body]) => {
                self.gathered(value, place, |lower, place| lower.binding(whole, [pattern, value, body], place))
            }
            (Form::Identity, [argument]) if type_id == 0 && self.facts.is_evaluated_to_its_types(argument) => {
                let head = self.facts.run.machine_mut().values.constant_leaf(&children[0]).expect("it is a leaf");
                let signature = Signature { formals: [Formal::Typed(0)].into(), result: Some(0) };
                self.typed(head, &signature, whole, place)
            }
            (Form::Empty, []) => Core::Fail,
            (Form::Case, [subject, branches]) => {
                self.gathered(subject, place, |lower, place| lower.case(whole, [subject, branches], place))
            }
            (Form::Switch, [subject, branches]) => match self.switch(whole, [subject, branches], place) {
                Some(node) => node,
                None => self.named(atom, type_id, place),
            },
            (Form::Collapse, [goal]) => self.collapse(goal),
            (Form::Head | Form::Tail | Form::Cons | Form::Decons, _) => match self.list_form(form, whole) {
                Some(node) => node,
                None => self.named(atom, type_id, place),
            },
            _ => match self.library_form(form, whole, place) {
                Some(node) => node,
                None => self.named(atom, type_id, place),
            },
        }
    }

    /// A form whose first part may have several results: all alternatives of the form come to theirs before the expression
    /// around it goes on. In the place of a form that does so already, the form leaves it to that.
    fn gathered(&mut self, first: &Atom, place: Place, make: impl FnOnce(&mut Self, Place) -> Core) -> Core {
        let is_plain = first.children().is_none_or(<[Atom]>::is_empty);
        if is_plain || place != Place::Inside {
            return make(self, place);
        }
        Core::Gathered(Box::new(make(self, Place::Gathered)))
    }

    /// `(if condition then else)`
    fn conditional(&mut self, whole: Whole<'_>, parts: [&Atom; 3], place: Place) -> Core {
        let Whole { atom, type_id } = whole;
        let [condition, then, otherwise] = parts;
        if is_odd(then) || is_odd(otherwise) {
            // What is entered or left as it stands is so for the call, which the rule of the library shows.
            return self.named(atom, type_id, place);
        }
        let mut tests = Vec::new();
        let bool_type = self.facts.run.machine().types.bool_type;
        if !self.facts.agrees(condition, bool_type, false, &mut tests) {
            return self.written(atom, type_id);
        }
        self.guarded(tests, whole, |lower| {
            let fresh = lower.facts.needed_after(condition, None, [then, otherwise]);
            lower.facts.scope.learn_each(&fresh);
            let condition = lower.argument(condition, bool_type);
            let value = lower.local();
            let children = atom.children().expect("a conditional is an expression");
            let with = |value: Atom| {
                let rest = [value, then.clone(), otherwise.clone()];
                Atom::expression(children[..1].iter().cloned().chain(rest).collect::<Vec<_>>())
            };
            let stuck = with(Atom::Variable(value.clone()));
            let stuck = Rc::new(Core::Written(Written { atom: stuck, type_id, by: Evaluator::Interpreter }));
            // Where rules may change, what the form means may have changed while its condition was evaluated.
            let is_exact = lower.facts.run.machine().code.is_exact;
            let tests = if is_exact { vec![Test::Unchanged] } else { Vec::new() };
            let [then, otherwise] = [(then, true), (otherwise, false)].map(|(branch, truth)| {
                let mark = lower.facts.scope.mark();
                let odd = || OddAnswer::Enters(with(Atom::from(truth)));
                let node = lower.answered(branch, type_id, place, |_| odd());
                lower.facts.scope.forget_from(mark);
                node
            });
            let branches = If { condition, then, otherwise, value, stuck, tests, shortcut: None };
            Core::fresh(fresh, Core::If(Box::new(branches)))
        })
    }

    /// `(let pattern value body)`
    fn binding(&mut self, whole: Whole<'_>, parts: [&Atom; 3], place: Place) -> Core {
        let Whole { atom, type_id } = whole;
        let [pattern, value, _] = parts;
        let mut tests = Vec::new();
        // A space that is written in the pattern is asked: by code only one that a value turns out to have is.
        if names::is_error(value) || has_space(pattern) || !self.facts.agrees(value, 0, false, &mut tests) {
            return self.written(atom, type_id);
        }
        self.guarded(tests, whole, |lower| {
            if let Some(first) = lower.element_before_call(parts, place) {
                let first = Box::new(lower.quote(first));
                let as_written = Rc::new(lower.written(atom, type_id));
                let call = Box::new(lower.expression(value, 0, Place::Tail));
                return Core::ListAround { first, call, as_written };
            }
            lower.bound(whole, parts, place)
        })
    }

    /// A `let` whose value may be evaluated: what that comes to is taken apart.
    fn bound(&mut self, whole: Whole<'_>, [pattern, value, body]: [&Atom; 3], place: Place) -> Core {
        // A value that mentions it may bind it.
        let is_new = matches!(pattern, Atom::Variable(variable)
            if !self.facts.scope.is_known(variable) && !variables(value).contains(variable));
        // The variables of a form keep their names, whatever they are bound to.
        let mut fresh = if self.is_form { self.facts.unknown(pattern) } else { Vec::new() };
        self.facts.scope.learn_each(&fresh);
        let needed = self.facts.needed_after(value, Some(pattern), [body]);
        self.facts.scope.learn_each(&needed);
        fresh.extend(needed);
        let node = self.argument(value, 0);
        let local = self.local();
        let fact = self.facts.fact_of(&node);
        self.facts.scope.learn(&local, fact);
        let subject = Atom::Variable(local.clone());
        let rule = [Atom::symbol("unify"), subject.clone(), pattern.clone(), body.clone(), names::empty()];
        let rule = Atom::expression(rule);
        let met_space = (!is_new).then(|| Rc::new(self.written(&rule, whole.type_id)));
        if let Atom::Variable(variable) = pattern
            && !self.facts.scope.is_known(variable)
        {
            self.facts.scope.learn(variable, fact);
        }
        let new = self.facts.unknown(pattern);
        self.facts.scope.learn_each(&new);
        let then = self.answered(body, 0, place, |_| OddAnswer::Stands(rule.clone()));
        let matched =
            Core::Match(Box::new(Match { subject: local.clone(), pattern: pattern.clone(), met_space, then }));
        let called = [Atom::symbol("let"), pattern.clone(), subject, body.clone()];
        let called = Written { atom: Atom::expression(called), type_id: 0, by: Evaluator::Interpreter };
        // Where rules may change, what `let` means may have changed while its value was evaluated.
        let tests = if self.facts.run.machine().code.is_exact { vec![Test::Unchanged] } else { Vec::new() };
        let then = Box::new(Core::guarded(tests, matched, Core::Written(called)));
        Core::fresh(fresh, Core::Let { variable: local, value: Box::new(node), then })
    }

    /// The element of `(let $rest (call …) (cons-atom element $rest))` in last place, if it stands for something already and the call is one
    /// of a function with rules.
    fn element_before_call<'a>(&mut self, parts: [&'a Atom; 3], place: Place) -> Option<&'a Atom> {
        let [Atom::Variable(rest), value, body] = parts else { return None };
        let [Atom::Symbol(name), element, Atom::Variable(list)] = body.children()? else { return None };
        let is_there = match element {
            Atom::Variable(element) => element != rest && self.facts.scope.is_known(element),
            element => self.facts.run.machine_mut().values.constant_leaf(element).is_some_and(|leaf| leaf != ERROR),
        };
        let is_plain = place == Place::Tail && !self.is_form && !self.facts.run.machine().code.is_exact;
        let is_such = is_plain
            && list == rest
            && is_there
            && !self.facts.scope.is_known(rest)
            && !variables(value).contains(rest)
            && self.facts.is_call(value)
            && self.facts.run.special_form(name.as_str(), 2) == Some(Form::Cons);
        is_such.then_some(element)
    }
}
