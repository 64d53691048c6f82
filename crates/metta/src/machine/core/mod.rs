//! Core: what a right side means, between the atoms that a program is written in and the code that runs.
//!
//! 1. [`super::lower`] makes a tree of these nodes of an expression: names are resolved, types are decided, and whatever can be known only
//!    when the code runs is a [test](Test).
//! 2. [`super::passes`] rewrite the tree. Each can be switched off; the program then gives the same results.
//! 3. [`super::compile`] writes instructions, node by node.
//!
//! Values have names: the variables of the rule, and *locals* for what is computed on the way, so that an expression that is evaluated as
//! it is written can mention both. `docs/machine.md` says how to add a form and a pass.

mod check;
mod show;
mod state;

use super::code::{CollectedInto, Guard, Position, TypeId};
use super::types::Formal;
use crate::lowering::{Arithmetic, Comparison, Logic};
pub(super) use check::check;
use region::Ref;
pub(super) use show::{Words, show};
use space::{Atom, Variable};
pub(super) use state::{CodeState, Fact};
use std::rc::Rc;

/// What must hold for code to mean what the program says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Test {
    /// What a variable stands for is such a value.
    Is(Variable, Guard),
    /// The types of what two variables stand for agree.
    SameType(Variable, Variable),
    /// Types and special forms mean what they did when the code was made.
    Unchanged,
}

/// A node.
#[derive(Clone, Debug)]
pub(super) enum Core {
    /// No result: the next alternative is tried.
    Fail,
    /// A leaf, which is its own result.
    Leaf(Ref),
    /// An expression as it stands, not evaluated.
    Quote(Atom),
    /// What a variable stands for, as it stands.
    Variable(Variable),
    /// What a variable stands for, evaluated to a type.
    Evaluate { variable: Variable, type_id: TypeId, position: Position },
    /// An expression that is evaluated without code of its own.
    Written(Written),
    /// These variables are made first.
    Fresh { variables: Vec<Variable>, then: Box<Core> },
    /// `fast` if all tests hold, which gives what `as_written` would.
    Guarded(Box<Guarded>),
    /// All results are found before what is around this goes on.
    Gathered(Box<Core>),
    /// What a variable stands for is taken apart.
    Match(Box<Match>),
    /// A list around a call in last place, which takes the place of the frame: `first`, and then what the call comes to.
    ListAround { first: Box<Core>, call: Box<Core>, as_written: Rc<Core> },
    /// Data whose head has no rules.
    Data(Box<Data>),
    /// A value gets a name.
    Let { variable: Variable, value: Box<Core>, then: Box<Core> },
    /// A number or a truth value is computed of others.
    Compute(Box<Compute>),
    /// One of two branches.
    If(Box<If>),
    /// What a call was reduced to, which is not evaluated: for `NotReducible` the call stands for itself, code is entered. Without a
    /// call there is no result then.
    Reduct { value: Box<Core>, call: Option<Atom>, type_id: TypeId },
    /// A function with rules is called.
    Call(Box<Call>),
    /// A native function is called.
    Native(Box<Native>),
    /// All results of a goal: one list, or the subjects of a `case`.
    Collect { goal: Box<Core>, into: CollectedInto },
    /// The first branch whose pattern matches what a variable stands for.
    Branches(Box<Branches>),
    /// Each of these is an alternative.
    Alternatives(Vec<Core>),
    /// Each child of a list is an alternative.
    Each(Box<Core>),
    /// A state or a space is read or changed.
    Effect { effect: Effect, operands: Vec<Core> },
    /// A list is taken apart or put together.
    List(Box<List>),
    /// One of two branches, by what atoms are as they stand.
    IfAtoms(Box<IfAtoms>),
    /// What minimal code comes to, which is run.
    Run(Atom),
    /// An expression whose code is written from the atom.
    Form(Form),
}

/// An expression that is evaluated without code of its own.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) atom: Atom,
    pub(super) type_id: TypeId,
    pub(super) by: Evaluator,
}

/// What evaluates an expression that has no code of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Evaluator {
    /// The machine, child by child.
    Machine,
    /// The machine; an error is final, since a rule or a form says this.
    MachineAsAnswer,
    /// The interpreter, since its arguments are evaluated.
    Interpreter,
}

/// Code that is right if tests hold.
#[derive(Clone, Debug)]
pub(super) struct Guarded {
    pub(super) tests: Vec<Test>,
    /// Whether small integers pass all tests in one step.
    pub(super) is_passed_by_small: bool,
    /// A variable that is not asked for more if it stands for a leaf of a type: that is the value then.
    pub(super) leaf: Option<(Variable, TypeId)>,
    pub(super) fast: Core,
    pub(super) as_written: Rc<Core>,
}

/// What is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    Arithmetic(Arithmetic),
    Comparison(Comparison),
    Logic(Logic),
}

/// A number or a truth value that is computed.
#[derive(Clone, Debug)]
pub(super) struct Compute {
    pub(super) operation: Operation,
    /// Two of them, or one.
    pub(super) operands: Vec<Core>,
    /// Whether they are evaluated as they are written: then an operation that is not carried out has come to itself.
    pub(super) is_as_written: bool,
}

/// One of two branches.
#[derive(Clone, Debug)]
pub(super) struct If {
    pub(super) condition: Core,
    pub(super) then: Core,
    pub(super) otherwise: Core,
    /// The name of the value of the condition, and what there is if that is no truth value.
    pub(super) value: Variable,
    pub(super) stuck: Written,
    /// Whether small integers are compared at once, and where.
    pub(super) shortcut: Option<Shortcut>,
}

/// Where a condition that compares small integers is decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shortcut {
    /// Before the tests that ask for numbers.
    BeforeTests,
    /// Before the condition.
    BeforeCondition,
}

/// A call of a function with rules.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) function: u32,
    pub(super) arguments: Vec<Core>,
    /// The arguments as they are written, and what the type of the function says of them, if it has one.
    pub(super) written: Rc<[Atom]>,
    pub(super) formals: Option<Rc<[Formal]>>,
    /// Whether the results of the arguments are found before the call.
    pub(super) is_gathered: bool,
    /// Arguments that are not evaluated if they are unbound before the first is evaluated.
    pub(super) held: Vec<Variable>,
    /// What there is if an argument that is a variable has to be evaluated first: then arguments are taken as they are.
    pub(super) direct: Option<Rc<Core>>,
}

/// What a variable stands for is taken apart. If the pattern does not match, there is no result.
#[derive(Clone, Debug)]
pub(super) struct Match {
    pub(super) subject: Variable,
    pub(super) pattern: Atom,
    /// What there is if the pattern meets a space, which is asked then; `None` for a pattern that matches whatever it meets.
    pub(super) met_space: Option<Rc<Core>>,
    pub(super) then: Core,
}

/// Data whose head has no rules.
#[derive(Clone, Debug)]
pub(super) struct Data {
    pub(super) function: u32,
    pub(super) head: Ref,
    /// What stands behind the head.
    pub(super) children: Vec<Core>,
    /// Whether they are leaves and variables only. Then a variable is taken as it is, in the hope that what it stands for is its own result.
    pub(super) is_flat: bool,
    /// How it is made if its head has a type.
    pub(super) by: Option<Rc<DataTypes>>,
    /// Whether it is what is written, whatever variables stand for.
    pub(super) is_same: bool,
    /// Whether all results of its children are found before what is around it goes on.
    pub(super) is_gathered: bool,
    /// Children that are not evaluated if they are unbound before the first is evaluated.
    pub(super) held: Vec<Variable>,
    /// Its arguments as they are written, if it is to be marked as evaluated where it is that.
    pub(super) written: Option<Vec<Atom>>,
    /// A call whose result becomes the last child: it takes the place of the frame.
    pub(super) around: Option<Box<Around>>,
    /// Whether it and all data inside is built at once if no child has to be evaluated.
    pub(super) is_at_once: bool,
}

/// A call inside of data, in last place.
#[derive(Clone, Debug)]
pub(super) struct Around {
    pub(super) call: Core,
    /// As it is written.
    pub(super) atom: Atom,
}

/// How data is made whose head has a type.
#[derive(Debug)]
pub(super) struct DataTypes {
    /// What its children are evaluated to, if the code has looked at their types; otherwise they are leaves and variables whose
    /// types are looked at when it is built.
    pub(super) formals: Option<Rc<[Formal]>>,
    /// What is evaluated as it stands if a child needs that, and the type that is expected of it.
    pub(super) whole: Atom,
    pub(super) type_id: TypeId,
}

impl DataTypes {
    /// The type that a child is evaluated to.
    pub(super) fn formal(&self, place: usize) -> TypeId {
        match self.formals.as_ref().map(|formals| formals[place]) {
            Some(Formal::Typed(type_id)) => type_id,
            Some(Formal::Raw | Formal::Expression) | None => 0,
        }
    }
}

/// A native function is called on evaluated arguments.
#[derive(Clone, Debug)]
pub(super) struct Native {
    pub(super) operation: Ref,
    pub(super) arguments: Vec<Core>,
    /// Whether they are evaluated as they are written: then a call that is not carried out has come to itself.
    pub(super) is_as_written: bool,
}

/// The first branch whose pattern matches; no result if there is none.
#[derive(Clone, Debug)]
pub(super) struct Branches {
    pub(super) subject: Variable,
    pub(super) branches: Vec<Branch>,
    /// What there is if a pattern meets a space, which is asked then.
    pub(super) met_space: Rc<Core>,
}

/// A pattern and what there is if it matches.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) pattern: Atom,
    pub(super) body: Core,
}

/// What is done to a state or a space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    /// The content of a state.
    GetState,
    /// A state gets a content.
    ChangeState,
    /// A space gets an atom.
    AddAtom,
}

/// A list is taken apart or put together. If that cannot be done, it is evaluated as it is written.
#[derive(Clone, Debug)]
pub(super) struct List {
    pub(super) operation: ListOperation,
    pub(super) operands: Vec<Core>,
    pub(super) as_written: Rc<Core>,
}

/// What is done to a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ListOperation {
    /// The first child.
    Head,
    /// All children but the first.
    Tail,
    /// A child is put in front of a list; the list is the first operand.
    Cons,
    /// The first child and the others, as a pair.
    Decons,
    /// How many children there are.
    Size,
    /// The child at a position.
    Element,
}

/// One of two branches, by what atoms are as they stand.
#[derive(Clone, Debug)]
pub(super) struct IfAtoms {
    pub(super) asks: AtomTest,
    pub(super) operands: Vec<Core>,
    pub(super) then: Core,
    pub(super) otherwise: Core,
}

/// What is asked of atoms as they stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AtomTest {
    /// Two are equal but for the names of variables.
    AreEqual,
    /// One is an error.
    IsError,
}

/// An expression whose code is written from the atom.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) atom: Atom,
    pub(super) type_id: TypeId,
    /// Whether its types are not checked.
    pub(super) is_well_typed: bool,
    /// Whether it is what a rule says, and begins with a variable.
    pub(super) is_answer: bool,
    /// Whether it is in the place of a form whose results are gathered.
    pub(super) is_in_gathered: bool,
}

impl Core {
    /// Whether it is there without an evaluation that may go elsewhere: then nothing joins behind it.
    pub(super) fn is_simple(&self) -> bool {
        match self {
            Self::Fail | Self::Leaf(_) | Self::Quote(_) | Self::Variable(_) | Self::Evaluate { .. } => true,
            Self::Fresh { then, .. } => then.is_simple(),
            _ => false,
        }
    }

    /// These variables are made before a node.
    pub(super) fn fresh(variables: Vec<Variable>, then: Self) -> Self {
        if variables.is_empty() { then } else { Self::Fresh { variables, then: Box::new(then) } }
    }

    /// A node if tests hold, else another.
    pub(super) fn guarded(tests: Vec<Test>, fast: Self, as_written: Self) -> Self {
        if tests.is_empty() {
            return fast;
        }
        Self::Guarded(Box::new(Guarded {
            tests,
            is_passed_by_small: false,
            leaf: None,
            fast,
            as_written: Rc::new(as_written),
        }))
    }

    /// Visits the nodes inside of a node, those that are evaluated first before others.
    pub(super) fn each_part<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        match self {
            Self::Fail
            | Self::Leaf(_)
            | Self::Quote(_)
            | Self::Variable(_)
            | Self::Evaluate { .. }
            | Self::Written(_)
            | Self::Run(_)
            | Self::Form(_) => {}
            Self::Fresh { then, .. }
            | Self::Gathered(then)
            | Self::Reduct { value: then, .. }
            | Self::Collect { goal: then, .. }
            | Self::Each(then) => visit(then),
            Self::Native(native) => native.arguments.iter().for_each(visit),
            Self::Branches(parts) => {
                parts.branches.iter().for_each(|branch| visit(&branch.body));
                visit(&parts.met_space);
            }
            Self::Alternatives(parts) | Self::Effect { operands: parts, .. } => parts.iter().for_each(visit),
            Self::List(list) => {
                list.operands.iter().for_each(&mut *visit);
                visit(&list.as_written);
            }
            Self::IfAtoms(parts) => {
                parts.operands.iter().chain([&parts.then, &parts.otherwise]).for_each(visit);
            }
            Self::Match(parts) => {
                visit(&parts.then);
                parts.met_space.iter().for_each(|node| visit(node));
            }
            Self::ListAround { first, call, as_written } => [&**first, call, as_written].into_iter().for_each(visit),
            Self::Guarded(guarded) => {
                visit(&guarded.fast);
                visit(&guarded.as_written);
            }
            Self::Let { value, then, .. } => {
                visit(value);
                visit(then);
            }
            Self::Compute(compute) => compute.operands.iter().for_each(visit),
            Self::If(branches) => {
                [&branches.condition, &branches.then, &branches.otherwise].into_iter().for_each(visit);
            }
            Self::Call(call) => call.arguments.iter().chain(call.direct.as_deref()).for_each(visit),
            Self::Data(data) => {
                data.children.iter().chain(data.around.as_ref().map(|around| &around.call)).for_each(visit);
            }
        }
    }

    /// Visits the nodes inside of a node that a pass may rewrite: what is evaluated as it is written stays.
    pub(super) fn each_part_mut(&mut self, visit: &mut dyn FnMut(&mut Self)) {
        match self {
            Self::Fail
            | Self::Leaf(_)
            | Self::Quote(_)
            | Self::Variable(_)
            | Self::Evaluate { .. }
            | Self::Written(_)
            | Self::Run(_)
            | Self::Form(_) => {}
            Self::Fresh { then, .. }
            | Self::Gathered(then)
            | Self::Reduct { value: then, .. }
            | Self::Collect { goal: then, .. }
            | Self::Each(then) => visit(then),
            Self::Native(native) => native.arguments.iter_mut().for_each(visit),
            Self::Branches(parts) => parts.branches.iter_mut().for_each(|branch| visit(&mut branch.body)),
            Self::Alternatives(parts) | Self::Effect { operands: parts, .. } => parts.iter_mut().for_each(visit),
            Self::List(list) => list.operands.iter_mut().for_each(visit),
            Self::IfAtoms(parts) => {
                parts.operands.iter_mut().chain([&mut parts.then, &mut parts.otherwise]).for_each(visit);
            }
            Self::Match(parts) => visit(&mut parts.then),
            Self::ListAround { first, call, .. } => {
                visit(first);
                visit(call);
            }
            Self::Guarded(guarded) => visit(&mut guarded.fast),
            Self::Let { value, then, .. } => {
                visit(value);
                visit(then);
            }
            Self::Compute(compute) => compute.operands.iter_mut().for_each(visit),
            Self::If(branches) => {
                visit(&mut branches.condition);
                visit(&mut branches.then);
                visit(&mut branches.otherwise);
            }
            Self::Call(call) => call.arguments.iter_mut().for_each(visit),
            Self::Data(data) => {
                let around = data.around.as_mut().map(|around| &mut around.call);
                data.children.iter_mut().chain(around).for_each(visit);
            }
        }
    }
}
