//! Atoms to [Core](super::core): what an expression means, from what is known of rules, types and variables at its place in a rule.
//!
//! - `value` and `call` lower expressions by their heads, `operation` native functions, `list` those on lists, `form` and `branches` special
//!   forms, `answer` what a form answers with, `data` expressions whose heads have no rules;
//! - `agree` asks whether types agree, and which tests have to hold for that; `parametric` and `equality` are parts of it;
//! - `results` says what is known of the results of an expression;
//! - `ahead` says which variables must be made before an expression;
//! - `scope` is what is known of variables.
//!
//! A form that is not lowered yet becomes a node that holds its atom.

mod agree;
mod ahead;
mod answer;
mod branches;
mod call;
mod data;
mod equality;
mod form;
mod list;
mod operation;
mod parametric;
mod results;
mod scope;
mod value;

use super::Running;
use super::code::TypeId;
use super::core::{Core, Evaluator, Test, Written};
use crate::names;
use crate::passes::Pass;
pub(super) use answer::OddAnswer;
use equality::mentions_equality;
use rustc_hash::FxHashMap;
pub(super) use scope::Scope;
use space::{Atom, Variable};
use std::cell::{Cell, OnceCell};
use std::rc::Rc;

/// Locals have numbers from here downwards; slots that stand in an expression have those above.
const LOCALS: u64 = u64::MAX - (1 << 20);

/// Where the value of an expression goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// It is the result of the frame.
    Tail,
    /// It is a part of something else.
    Inside,
    /// So it is, and all its results are found before what is around goes on: a form in this place need not see to that.
    Gathered,
}

/// Lowers the expressions of a rule, at one place of it.
pub(super) struct Lower<'l, 'r> {
    pub(super) run: &'l mut Running<'r>,
    pub(super) scope: Scope<'l>,
    /// The rule, whole: to see where else a variable occurs.
    pub(super) whole: Atom,
    /// How often each variable occurs in it, once that was asked.
    pub(super) counts: Rc<OnceCell<FxHashMap<Variable, usize>>>,
    /// How many locals there are.
    pub(super) locals: &'l Cell<u64>,
    /// Whether it is a form of the program, whose variables keep their names.
    pub(super) is_form: bool,
    /// Whether the expression is well typed, so that no types are checked.
    pub(super) is_well_typed: bool,
    /// What a rule or a form says, if it begins with a variable: an error of that is final.
    pub(super) answer: Option<Atom>,
    /// Whether something was evaluated since it was tested that types are as they were.
    pub(super) is_stale: bool,
    /// How deep expressions are nested.
    pub(super) depth: usize,
    pub(super) is_too_large: bool,
}

/// An expression and what is expected of it.
#[derive(Clone, Copy)]
pub(super) struct Whole<'a> {
    pub(super) atom: &'a Atom,
    pub(super) type_id: TypeId,
}

impl Lower<'_, '_> {
    /// A new name for a value.
    fn local(&self) -> Variable {
        let number = self.locals.get();
        self.locals.set(number + 1);
        Variable::with_id(names::asked().clone(), LOCALS - number)
    }

    /// Whether a pass may make another change, which is counted.
    pub(super) fn may_change(&mut self) -> bool {
        let (passes, code) = (self.run.session.passes, &mut self.run.m.code);
        let may_change = passes.allow(code.changes_by_passes);
        code.changes_by_passes += u64::from(may_change);
        may_change
    }

    /// Whether a pass is made that decides how something is lowered, and may make another change.
    fn makes(&mut self, pass: Pass) -> bool {
        self.run.session.passes.has(pass) && self.may_change()
    }

    /// An expression that is evaluated without code of its own.
    fn written(&self, atom: &Atom, type_id: TypeId) -> Core {
        let is_answer = self.answer.as_ref() == Some(atom);
        let by = if is_answer { Evaluator::MachineAsAnswer } else { Evaluator::Machine };
        Core::Written(Written { atom: atom.clone(), type_id, by })
    }

    /// What `make` lowers an expression to, if tests hold; else the expression as it is written.
    fn guarded(&mut self, tests: Vec<Test>, whole: Whole<'_>, make: impl FnOnce(&mut Self) -> Core) -> Core {
        let mark = self.scope.mark();
        self.scope.learn_from(&tests);
        let fast = make(self);
        self.scope.forget_facts_from(mark);
        let as_written = self.written(whole.atom, whole.type_id);
        Core::guarded(tests, fast, as_written)
    }
}
