//! Atoms to [Core](super::core): what an expression means, from what is known of rules, types and variables at its place in a rule.
//!
//! - `value` and `call` lower expressions by their heads, `operation` native functions, `list` those on lists, `query` questions to spaces
//!   (`filters` and `fused` say what is asked together), `form` and `branches` special forms, `answer` what a form answers with, `data`
//!   expressions whose heads have no rules;
//! - `made` lowers what becomes a function of its own, `loops` loops, `minimal` minimal MeTTa;
//! - [`Facts`] is what is known of expressions: `agree` says whether types agree, and which tests have to hold for that (`parametric` and
//!   `equality` are parts of it), `results` what is known of the results of an expression, `ahead` which variables must be made before an
//!   expression, and `scope` what is known of variables;
//! - [`Surroundings`] is what all of this asks of the machine: lowering makes no code and evaluates nothing.

mod agree;
mod ahead;
mod answer;
mod branches;
mod call;
mod data;
mod equality;
mod filters;
mod form;
mod fused;
mod list;
mod loops;
mod made;
mod minimal;
mod operation;
mod parametric;
mod query;
mod results;
mod scope;
mod value;

use super::Machine;
use super::code::TypeId;
use super::types::{FunctionTypes, Rules};
use crate::passes::{Pass, Passes};
use crate::program::modules::ModuleId;
pub(super) use minimal::{may_be_code, may_be_function};
use rustc_hash::FxHashMap;
pub(super) use scope::Scope;
use space::{Atom, SharedSpace, Variable, VariableSource};
use std::cell::{Cell, OnceCell};
use std::rc::Rc;
pub(super) use value::locals_among;

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

/// What lowering asks of the machine and of the run.
pub(super) trait Surroundings: Rules {
    /// The machine: its types, its values, and the functions that code names.
    fn machine(&self) -> &Machine;

    /// The machine, to give functions, types and constants their numbers.
    fn machine_mut(&mut self) -> &mut Machine;

    /// The types of functions, as their rules are.
    fn function_types(&mut self) -> FunctionTypes<'_>;

    /// Where new variables get their numbers.
    fn variables(&mut self) -> &mut VariableSource;

    /// The next variable gets the number after this one, whatever was looked at since.
    fn take_numbers_from(&mut self, last: u64);

    /// The space whose rules are compiled.
    fn space(&self) -> &SharedSpace;

    /// The space of a module.
    fn space_of(&self, module: ModuleId) -> SharedSpace;

    /// The passes that are made.
    fn passes(&self) -> Passes;
}

/// What is known of expressions at one place of a rule, before they are evaluated.
pub(super) struct Facts<'l> {
    pub(super) run: &'l mut dyn Surroundings,
    pub(super) scope: Scope<'l>,
    /// The rule, whole: to see where else a variable occurs.
    pub(super) whole: Atom,
    /// How often each variable occurs in it, once that was asked.
    pub(super) counts: Rc<OnceCell<FxHashMap<Variable, usize>>>,
    /// Whether the expression is well typed, so that no types are checked.
    pub(super) is_well_typed: bool,
}

impl Facts<'_> {
    /// Whether a pass may make another change, which is counted.
    pub(in crate::machine) fn may_change(&mut self) -> bool {
        let (passes, code) = (self.run.passes(), &mut self.run.machine_mut().code);
        let may_change = passes.allow(code.changes_by_passes);
        code.changes_by_passes += u64::from(may_change);
        may_change
    }

    /// Whether a pass is made that decides how something is lowered, and may make another change.
    pub(super) fn makes(&mut self, pass: Pass) -> bool {
        self.run.passes().has(pass) && self.may_change()
    }
}

/// Lowers the expressions of a rule, at one place of it.
pub(super) struct Lower<'l> {
    pub(super) facts: Facts<'l>,
    /// How many locals there are.
    pub(super) locals: &'l Cell<u64>,
    /// Whether it is a form of the program, whose variables keep their names.
    pub(super) is_form: bool,
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

/// What becomes of an odd answer.
#[derive(Clone, Debug)]
pub(super) enum OddAnswer {
    /// For `NotReducible` there is no result.
    Fails,
    /// For `NotReducible` this stands for itself.
    Stands(Atom),
    /// For `NotReducible` this stands for itself, and it enters code.
    Enters(Atom),
    /// There is no result, or this enters the code.
    FailsOrEnters(Atom),
}
