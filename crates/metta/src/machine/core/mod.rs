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

use super::code::{Guard, Position, SyntheticBody, TypeId};
use super::types::Formal;
use super::types::said::Said;
use crate::lowering::{Arithmetic, Comparison, Logic, Wanted};
pub(super) use check::check;
use region::Ref;
pub(super) use show::{Words, show};
use space::{Atom, Filter, Variable};
pub(super) use state::{CodeState, Fact};
use std::rc::Rc;

/// What must hold for code to mean what the program says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Test {
    /// What a variable stands for is such a value.
    Is(Variable, Guard),
    /// The types of what two variables stand for agree.
    SameType(Variable, Variable),
    /// The results of this function say this of the type that they were evaluated to, as rules are now.
    Says(u32, Said),
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
    /// What a variable stands for, which was evaluated: wherever it is put, it is not evaluated again.
    Evaluated(Variable),
    /// A value, with what is bound in it put in if it is evaluated data: then it is evaluated data no more.
    Resolved(Box<Core>),
    /// What a variable stands for, as it stands if it is a variable or evaluated data, whatever was bound in that since it was resolved; else
    /// what the node says.
    UnlessEvaluated { variable: Variable, otherwise: Box<Core> },
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
    /// All results of a goal, or as many as are wanted.
    Collect { goal: Box<Core>, into: Collected },
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
    /// Errors and `Empty`, which this may come to, are values like any other.
    AsValue(Box<Core>),
    /// One step: what a call is reduced to, as it stands. Its alternatives are not collected.
    Reduce(Box<Reduce>),
    /// What minimal code comes to. If `is_only_function` says so, only a `function` is run, and other atoms stay as they are.
    Run { code: Box<Core>, is_only_function: bool },
    /// The body of a `function`: what `return` says.
    Function { call: Called, body: Box<Core> },
    /// What the code of a `function` comes to beside `return`: it goes on with that, or ends with an error of the call.
    Proceed(Box<Core>),
    /// Two atoms are made one, in every way there is.
    Unify(Box<Unify>),
    /// A list is taken apart, if it can be.
    IfDecons(Box<IfDecons>),
    /// An atom with the values of some variables in the place of others.
    Substitute(Box<Substitute>),
    /// A function that is made for an expression is called: it has a frame of its own.
    Made(Box<Made>),
    /// In the code of such a function: it is called again, in place of its frame.
    Again(Vec<Core>),
    /// In last place: what stands for a call is the result of the frame.
    Leave(Box<Leave>),
    /// In last place: a list of results that were evaluated, which is a tuple.
    LeaveList(Box<Core>),
    /// A part of a call that is shown: the variables that are made in it are those of the form, and some are made anew.
    Shown { node: Box<Core>, anew: Vec<Variable> },
    /// A tuple whose head is known when it is evaluated.
    Apply(Box<Apply>),
    /// Spaces are asked: each answer is an alternative.
    Query(Box<Query>),
}

/// An expression that is evaluated without code of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
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
    /// The interpreter, which evaluates its arguments as well. The result is that of the frame.
    InterpreterWithArguments,
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
    pub(super) stuck: Rc<Core>,
    /// What must still hold when the condition was evaluated; otherwise `stuck` is evaluated, too.
    pub(super) tests: Vec<Test>,
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
    /// The elements that `(last (before (… ())))` holds, in their order.
    InOrder,
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

/// What becomes of the results of a goal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Collected {
    /// One list.
    List,
    /// The subjects of a `case`: alternatives, with `Empty` as the only one if there is none and a branch may match it.
    Subjects(Asked),
    /// Alternatives, once all of them are there and a transaction is closed.
    Transaction,
    /// The first of them, up to the number that a variable stands for; or whether there is one, or how many.
    Wanted { wanted: Wanted, most: Variable },
}

/// Whether a branch of a `case` may match `Empty`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    Known {
        asks_for_absence: bool,
    },
    /// A variable stands for the branches.
    Of(Variable),
}

/// A call that is reduced.
#[derive(Clone, Debug)]
pub(super) struct Reduce {
    pub(super) by: Reducer,
    /// The arguments, as they stand; or the one atom that is looked at when it is there.
    pub(super) operands: Vec<Core>,
}

/// What reduces a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reducer {
    /// The rules of a function.
    Function(u32),
    /// A native function.
    Native(Ref),
    /// What the atom begins with.
    Head,
}

/// A call that an error or a result shows.
#[derive(Clone, Debug)]
pub(super) enum Called {
    /// The call of the function whose rule this is, with this number of arguments.
    Own(usize),
    /// As it is written. Some of its variables are made anew.
    Written { atom: Atom, anew: Vec<Variable> },
}

impl Called {
    /// A call as it is written, in which variables stand for what they stand for where it is.
    pub(super) fn written(atom: &Atom) -> Self {
        Self::Written { atom: atom.clone(), anew: Vec::new() }
    }
}

/// Two atoms are made one.
#[derive(Clone, Debug)]
pub(super) struct Unify {
    pub(super) left: Core,
    pub(super) pattern: Atom,
    /// For each way.
    pub(super) then: Core,
    /// If there is no way.
    pub(super) otherwise: Core,
}

/// A list is taken apart into an element and what follows it.
#[derive(Clone, Debug)]
pub(super) struct IfDecons {
    pub(super) list: Core,
    /// What stands for a position: the element there is taken, and the position behind it. Otherwise it is the first, and the list of the
    /// others.
    pub(super) position: Option<Variable>,
    /// What the element and what follows it are matched with.
    pub(super) element: Atom,
    pub(super) rest: Atom,
    pub(super) then: Core,
    /// If there is no such element, or it does not match.
    pub(super) otherwise: Core,
}

/// An atom with the values of some variables in the place of others.
#[derive(Clone, Debug)]
pub(super) struct Substitute {
    pub(super) template: Variable,
    /// What stands for a variable, and what stands for its value.
    pub(super) pairs: Vec<(Variable, Variable)>,
    /// Whether its other variables become new ones.
    pub(super) renames: bool,
}

/// A call of a function that is made for an expression.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) what: SyntheticBody,
    /// The expression.
    pub(super) call: Atom,
    /// Its variables that stand for something: they are the first arguments.
    pub(super) captured: Vec<Variable>,
    pub(super) further: Vec<Core>,
    pub(super) type_id: TypeId,
    /// Whether each result is there as soon as it is found, errors as values.
    pub(super) is_open: bool,
}

/// What stands for a call becomes the result of the frame.
#[derive(Clone, Debug)]
pub(super) struct Leave {
    pub(super) value: Core,
    pub(super) call: Called,
    pub(super) type_id: TypeId,
    /// Whether it is the body of a rule of the function that was called.
    pub(super) is_rule: bool,
    /// Whether it is minimal code that gives the value as it stands: evaluated data stays that, whatever was bound in it since it was resolved.
    pub(super) is_code: bool,
}

/// A tuple whose head is known when it is evaluated.
#[derive(Clone, Debug)]
pub(super) struct Apply {
    /// Variables are taken first; if one does not stand for its own result, the tuple is evaluated as it is written.
    pub(super) children: Vec<Core>,
    /// Variables of which a part may be bound before their turn: they are taken only if they stand for their own result whatever that is.
    pub(super) held: Vec<Variable>,
    pub(super) as_written: Rc<Core>,
    /// Whether it comes to what is written, if no rule matches.
    pub(super) is_same: bool,
    pub(super) type_id: TypeId,
}

/// Spaces are asked.
#[derive(Clone, Debug)]
pub(super) struct Query {
    /// What stands for the first space, and the others.
    pub(super) space: Variable,
    pub(super) others: Vec<Core>,
    /// What is asked, as one pattern, and the patterns with the space that each asks.
    pub(super) pattern: Atom,
    pub(super) patterns: Vec<(u8, Atom)>,
    /// The variables that each answer binds.
    pub(super) new: Vec<Variable>,
    pub(super) filters: Vec<QueryTest>,
    /// The values that tests compare with.
    pub(super) given: Vec<Given>,
    /// What is evaluated for each answer that tests leave, as it is written.
    pub(super) template: Atom,
    pub(super) then: Core,
    /// Whether only some of the answers are wanted.
    pub(super) is_goal: bool,
    /// What there is if it cannot be answered together: what the program says, one query in the other.
    pub(super) one_by_one: Option<Rc<Core>>,
}

/// A test that drops answers.
#[derive(Clone, Debug)]
pub(super) enum QueryTest {
    Values(Filter),
    /// Whether patterns have an answer, and which of that drops. They may bind variables of their own.
    Absence {
        patterns: Vec<(u8, Atom)>,
        own: Vec<Variable>,
        drops: bool,
    },
}

/// A value that a test compares with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Given {
    Variable(Variable),
    Leaf(Ref),
}

impl Core {
    /// Whether it is there without an evaluation that may go elsewhere: then nothing joins behind it.
    pub(super) fn is_simple(&self) -> bool {
        match self {
            Self::Fail
            | Self::Leaf(_)
            | Self::Quote(_)
            | Self::Variable(_)
            | Self::Evaluate { .. }
            | Self::Evaluated(_) => true,
            Self::Fresh { then, .. } | Self::Resolved(then) => then.is_simple(),
            _ => false,
        }
    }

    /// Whether it is what a variable stands for, evaluated or not.
    pub(super) fn is_variable(&self) -> bool {
        matches!(self, Self::Variable(_) | Self::Evaluate { .. })
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

    /// What a node is as long as types are as they were.
    pub(super) fn if_unchanged(&self) -> &Self {
        match self {
            Self::Guarded(guarded) if guarded.tests == [Test::Unchanged] => &guarded.fast,
            node => node,
        }
    }

    /// Visits the nodes inside of a node, those that are evaluated first before others.
    pub(super) fn each_part<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        match self {
            Self::Fail
            | Self::Leaf(_)
            | Self::Quote(_)
            | Self::Variable(_)
            | Self::Evaluate { .. }
            | Self::Evaluated(_)
            | Self::Substitute(_)
            | Self::Written(_) => {}
            Self::Fresh { then, .. }
            | Self::Resolved(then)
            | Self::UnlessEvaluated { otherwise: then, .. }
            | Self::Gathered(then)
            | Self::Reduct { value: then, .. }
            | Self::Collect { goal: then, .. }
            | Self::AsValue(then)
            | Self::Run { code: then, .. }
            | Self::Function { body: then, .. }
            | Self::Proceed(then)
            | Self::LeaveList(then)
            | Self::Shown { node: then, .. }
            | Self::Each(then) => visit(then),
            Self::Leave(leave) => visit(&leave.value),
            Self::Reduce(reduce) => reduce.operands.iter().for_each(visit),
            Self::Made(made) => made.further.iter().for_each(visit),
            Self::Again(parts) => parts.iter().for_each(visit),
            Self::Unify(parts) => [&parts.left, &parts.then, &parts.otherwise].into_iter().for_each(visit),
            Self::IfDecons(parts) => [&parts.list, &parts.then, &parts.otherwise].into_iter().for_each(visit),
            Self::Apply(parts) => parts.children.iter().chain([&*parts.as_written]).for_each(visit),
            Self::Query(query) => {
                query.others.iter().chain([&query.then]).chain(query.one_by_one.as_deref()).for_each(visit);
            }
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
            | Self::Evaluated(_)
            | Self::Substitute(_)
            | Self::Written(_) => {}
            Self::Fresh { then, .. }
            | Self::Resolved(then)
            | Self::UnlessEvaluated { otherwise: then, .. }
            | Self::Gathered(then)
            | Self::Reduct { value: then, .. }
            | Self::Collect { goal: then, .. }
            | Self::AsValue(then)
            | Self::Run { code: then, .. }
            | Self::Function { body: then, .. }
            | Self::Proceed(then)
            | Self::LeaveList(then)
            | Self::Shown { node: then, .. }
            | Self::Each(then) => visit(then),
            Self::Leave(leave) => visit(&mut leave.value),
            Self::Reduce(reduce) => reduce.operands.iter_mut().for_each(visit),
            Self::Made(made) => made.further.iter_mut().for_each(visit),
            Self::Again(parts) => parts.iter_mut().for_each(visit),
            Self::Unify(parts) => [&mut parts.left, &mut parts.then, &mut parts.otherwise].into_iter().for_each(visit),
            Self::IfDecons(parts) => {
                [&mut parts.list, &mut parts.then, &mut parts.otherwise].into_iter().for_each(visit);
            }
            Self::Apply(parts) => parts.children.iter_mut().for_each(visit),
            Self::Query(query) => query.others.iter_mut().chain([&mut query.then]).for_each(visit),
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
