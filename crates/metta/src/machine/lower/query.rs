//! `(match space pattern template)`: each answer of a space is an alternative, for which the template is evaluated.

use super::{Lower, OddAnswer, Place, Whole};
use crate::instructions::is_function;
use crate::lowering::Lowering;
use crate::machine::code::Guard;
use crate::machine::core::{Core, Evaluator, Query, Test, Written};
use crate::machine::lower::fused::Fusion;
use crate::machine::types::Formal;
use crate::passes::Pass;
use crate::program::modules::ModuleId;
use crate::stdlib;
use space::{Atom, Grounded, Variable, conjunction, variables};
use std::rc::Rc;

/// One `match`.
struct Asked<'a> {
    /// What stands for its space.
    space: Variable,
    pattern: &'a Atom,
    template: &'a Atom,
    /// The call with what stands for its space.
    call: Atom,
}

impl Lower<'_> {
    /// `(match space pattern template)`
    pub(super) fn query(&mut self, whole: Whole<'_>, place: Place) -> Core {
        let children = whole.atom.children().expect("a call is an expression");
        let (head, arguments) = (&children[0], &children[1..]);
        self.if_arguments_agree(whole, |lower, signature| match (arguments, &*signature.formals) {
            (
                [space, pattern, template],
                &[Formal::Typed(formal), Formal::Raw | Formal::Expression, Formal::Raw | Formal::Expression],
            ) if !is_function(template) => {
                let fresh = lower.facts.needed_after(space, Some(pattern), [template]);
                lower.facts.scope.learn_each(&fresh);
                let value = Box::new(lower.argument(space, formal));
                let local = lower.local();
                lower.facts.scope.learn(&local, None);
                let then = Box::new(lower.asked(&local, space, [pattern, template], place));
                Core::fresh(fresh, Core::Let { variable: local, value, then })
            }
            _ => {
                let head = lower.facts.run.machine_mut().values.constant_leaf(head).expect("it is a leaf");
                lower.native(head, signature, arguments, place)
            }
        })
    }

    /// What a variable stands for is asked.
    fn asked(&mut self, space: &Variable, written: &Atom, [pattern, template]: [&Atom; 2], place: Place) -> Core {
        let head = stdlib::operation_atom(stdlib::lowered(Lowering::Query), ModuleId::LIBRARY);
        let call = Atom::expression([head, Atom::Variable(space.clone()), pattern.clone(), template.clone()]);
        let asked = Asked { space: space.clone(), pattern, template, call };
        let node = match self.facts.fusion(written, pattern, template).filter(|_| self.facts.makes(Pass::FusedQueries))
        {
            Some(fusion) => self.fused(fusion, &asked, place),
            None => self.one_query(&asked, place),
        };
        if matches!(written, Atom::Grounded(Grounded::Space(_))) {
            return node;
        }
        // What is no space is an argument all the same: it is evaluated, and its type was looked at.
        let called = Core::Written(Written { atom: asked.call, type_id: 0, by: Evaluator::Interpreter });
        Core::guarded(vec![Test::Is(space.clone(), Guard::Space)], node, called)
    }

    /// One `match`, whatever its template asks.
    fn one_query(&mut self, asked: &Asked<'_>, place: Place) -> Core {
        let Asked { space, pattern, template, call, .. } = asked;
        let mark = self.facts.scope.mark();
        let bound = variables(pattern);
        let mut fresh = Vec::new();
        self.add_fresh(&mut fresh, variables(template).into_iter().filter(|found| !bound.contains(found)).collect());
        let new = self.facts.unknown(pattern);
        let (filters, given, rest) = self.facts.tests_of(template, &new);
        self.facts.scope.learn_each(&new);
        let inside = if place == Place::Tail { place } else { Place::Gathered };
        let then = self.answered(template, 0, inside, |_| OddAnswer::Enters(call.clone()));
        self.facts.scope.forget_from(mark);
        self.facts.scope.learn_each(&fresh);
        let patterns = conjunction(pattern).unwrap_or(std::slice::from_ref(*pattern));
        let query = Query {
            space: space.clone(),
            others: Vec::new(),
            pattern: (*pattern).clone(),
            patterns: patterns.iter().map(|pattern| (0, pattern.clone())).collect(),
            new,
            filters,
            given,
            template: rest.clone(),
            then,
            is_goal: false,
            one_by_one: None,
        };
        Core::fresh(fresh, Core::Query(Box::new(query)))
    }

    /// One query for all that a `match` and its template ask.
    fn fused(&mut self, fusion: Fusion<'_>, asked: &Asked<'_>, place: Place) -> Core {
        let Fusion { spaces, patterns, filters, tests, body, .. } = fusion;
        let mark = self.facts.scope.mark();
        let one_by_one = Some(Rc::new(self.one_query(asked, place)));
        self.facts.scope.forget_from(mark);
        let mut fresh = Vec::new();
        let others = spaces[1..].iter().map(|space| self.quote(space)).collect();
        let outside = variables(body).into_iter().filter(|variable| !tests.new.contains(variable)).collect();
        self.add_fresh(&mut fresh, outside);
        let inner = self.facts.scope.mark();
        self.facts.scope.learn_each(&tests.new);
        let then = self.value(body, 0, if place == Place::Tail { place } else { Place::Gathered });
        self.facts.scope.forget_from(inner);
        let written = patterns.iter().map(|(_, pattern)| (*pattern).clone());
        let pattern = Atom::expression(std::iter::once(Atom::symbol(",")).chain(written).collect::<Vec<_>>());
        let query = Query {
            space: asked.space.clone(),
            others,
            pattern,
            patterns: patterns.into_iter().map(|(place, pattern)| (place, pattern.clone())).collect(),
            new: tests.new,
            filters,
            given: tests.given,
            template: body.clone(),
            then,
            is_goal: false,
            one_by_one,
        };
        Core::fresh(fresh, Core::Query(Box::new(query)))
    }
}
