//! Code: what rules are compiled to.
//!
//! A function is a head, a number of arguments and the type that is expected of its results; its code is made when it is
//! first called. A frame of the stack is four words (the return point it returns to, the base of the caller's frame, the number
//! of choices when its expression began, the data that its result goes into) and its slots: the arguments, then one slot for each value on the way. A slot is
//! assigned once on each path, so that an alternative taken up later finds what it left.

use super::control::assumptions::WrongAssumptions;
use super::memory::pieces::Pieces;
use super::query::CandidateCache;
use super::rule_index::RuleIndex;
use super::spaces_asked::SpacesAsked;
use super::types::kept_types::TypedData;
use super::types::said::Said;
use crate::lowering::{Arithmetic, Comparison, Logic, Loop, Wanted};
use crate::tables::Policy;
use region::{Ref, Stamp};
use rustc_hash::FxHashMap;
use space::{Atom, ChangeCounts, Filter, KeptPlan, SharedSpace, Symbol, Variable};
use std::rc::Rc;
use std::sync::Arc;

/// A slot of a frame.
pub(super) type Slot = u16;
/// A function, by its head and the number of its arguments.
pub(super) type Callee = (Ref, Slot);
/// A place in the code.
pub(super) type Pc = u32;
/// A type that is expected of results, by its place in the table of types; 0 is `%Undefined%`.
pub(super) type TypeId = u16;
/// Stands in place of a type where a call is to be reduced once and no more: its results are code or data as they stand.
pub(super) const REDUCE: TypeId = TypeId::MAX - 1;
/// Stands in place of a type where well-typed code is called: it checks nothing ([`super::guarded`]).
pub(super) const WELL_TYPED: TypeId = TypeId::MAX - 2;
/// Stands in place of the number of choices in a frame whose results are not collected.
pub(super) const OPEN: u32 = u32::MAX;
/// Stands in place of the number of choices in a frame whose choices are left for later, since they are those of a list of facts.
pub(super) const FACTS: u32 = u32::MAX - 1;

/// A step of the compiler, and what it has made of an expression, as text.
pub(super) type Shown = (&'static str, String);

/// The words of a frame before its slots.
pub(super) const HEADER: usize = 4;
/// Which of them is the data that its result goes into: zero if there is none.
pub(super) const HOLE: usize = 3;

/// The place that stands for: the head of the rule does not match, so try the next one.
pub(super) const NEXT_RULE: Pc = u32::MAX;

/// What a slot must hold for the code after a guard to mean what the program says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// A number.
    Number,
    /// A truth value.
    Bool,
    /// A value of this type, by its place in the table of types.
    Type(TypeId),
    /// A value of this type as part of another type, where `Atom` agrees with itself only.
    TypeInside(TypeId),
    /// An expression.
    Expression,
    /// Something whose types hold no error, such as a leaf.
    Plain,
    /// A result that was evaluated to no type: it has none, or is a tuple, or its types are errors, so that it was not evaluated.
    Untyped,
    /// Something without unbound variables.
    Ground,
    /// A variable that is not bound.
    Unbound,
    /// A space.
    Space,
    /// A state of this type.
    State(TypeId),
    /// Anything but `NotReducible` and errors.
    Reducible,
    /// Anything but these and the code of a function.
    Answer,
    /// What makes a tuple as the head of an expression with this number of arguments.
    Head(Slot),
    /// The head, and the number of arguments, of an expression that has no type.
    OpenHead(Slot),
    /// A whole number that is not negative.
    Count,
}

/// Where a value stands, which says what becomes of `Empty` and of errors as they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// A child of a tuple: evaluated.
    Child,
    /// The argument of a typed function: passed on.
    Argument,
    /// What a call was reduced to: an error is final.
    Answer,
}

/// What becomes of results when all of them are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CollectedInto {
    /// One list.
    List,
    /// The subjects of a `case`: alternatives, with `Empty` as the only one if there is none.
    Subjects(Branches),
}

/// Whether a branch of a `case` may match `Empty`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Branches {
    Known {
        asks_for_absence: bool,
    },
    /// The branches are in this slot.
    In(Slot),
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instruction {
    /// The evaluation is complete: the result is noted and the next alternative tried.
    Answer,
    /// A child of an expression that is evaluated without code has come to a result.
    Child { index: Slot },
    /// An error where the result of code was expected: it is the result of the whole.
    Escape,
    /// An error where the result of such a child was expected.
    ChildFailed,
    /// The code of a tabled call, which came last, runs again in the frame at hand.
    NextRound,
    /// No result on this path.
    Fail,
    /// Go on elsewhere.
    Jump { to: Pc },
    /// A constant into a slot.
    Load { dst: Slot, value: Ref },
    /// A slot into another.
    Move { dst: Slot, src: Slot },
    /// A variable of the form that is evaluated into a slot.
    FormVariable { dst: Slot, index: u32 },
    /// A new variable of that name into a slot.
    Variable { dst: Slot, name: Ref },
    /// An unbound variable in a slot becomes one of the form that is evaluated.
    NameVariable { slot: Slot, index: u32 },
    /// The slot must be this leaf, or becomes it if it is unbound.
    MatchLeaf { slot: Slot, leaf: Ref, or: Pc },
    /// The slot must be an expression of that shape, its children go to slots from `dst` on; an unbound one becomes one.
    MatchShape { slot: Slot, dst: Slot, shape: u32, or: Pc },
    /// Two slots must be equal, or become so.
    MatchSame { left: Slot, right: Slot, or: Pc },
    /// Remembers how much is bound, to be undone by `Undo`.
    Remember { slot: Slot },
    /// Undoes what was bound since.
    Undo { slot: Slot },
    /// The head of a rule has matched: if another rule may match too, it becomes a choice.
    Commit,
    /// A profile is told which rule of a function is entered; only in code that is made while one is wanted.
    EnterRule { rule: u32 },
    /// An expression begins whose alternatives are collected together.
    Begin { slot: Slot },
    /// It ends: with one result this goes on, else all are collected first.
    End { begun: Slot, value: Slot, return_point: u32 },
    /// Calls a function on the arguments at the return point's frame.
    Call { function: u32, return_point: u32, begun: bool },
    /// Calls a function on what a list of arguments says.
    CallWith { function: u32, arguments: u32, return_point: u32 },
    /// Calls a function on what a list of arguments says, in place of this frame.
    TailCallWith { function: u32, arguments: u32 },
    /// Calls a list of facts, as it stood when this code was made, on what a list of arguments says, in place of this frame.
    TailCallFacts { group: u32, arguments: u32 },
    /// Calls it in place of this frame.
    TailCall { function: u32, at: Slot },
    /// A call whose head is in a slot, on the arguments at the return point's frame.
    Apply { head: Slot, count: Slot, type_id: TypeId, return_point: u32, tail: bool, same: bool },
    /// The call of the function stands for itself.
    Unreduced { function: u32 },
    /// What the variable that is the body of a rule stands for: evaluated, entered if it is a `function`, and for
    /// `NotReducible` the call stands for itself.
    Body { slot: Slot, type_id: TypeId, function: u32 },
    /// What a form answered with is `NotReducible`, for which a call stands for itself, if there is one; or code, which the call
    /// enters; or an error, which is final.
    CheckReduct { slot: Slot, template: Option<Template>, type_id: TypeId, return_point: u32 },
    /// The result of this frame.
    Return { slot: Slot },
    /// An expression of evaluated children that no rule is expected to reduce; elsewhere if one needs to be evaluated.
    Construct { data: u32 },
    /// Makes data as in [`Instruction::Construct`], as the result of this frame.
    ReturnConstruct { data: u32 },
    /// Data with data inside, and on elsewhere; behind if what it takes needs to be evaluated.
    ConstructNested { data: u32, dst: Slot, then: Pc },
    /// Makes data as in [`Instruction::ConstructNested`], as the result of this frame.
    ReturnNested { data: u32 },
    /// Data as in [`Instruction::Construct`], and what this frame comes to will be its last child.
    BuildHole { data: u32 },
    /// What this frame comes to will be the rest of a list that begins with what a slot holds.
    BuildConsHole { first: Slot, return_point: u32, or: Pc },
    /// Data that is built so together with the next instruction, a call on such arguments in place of this frame.
    BuildHoleCall { data: u32, function: u32, arguments: u32 },
    /// An expression as it stands, not evaluated.
    Build { dst: Slot, template: u32 },
    /// Evaluates what a slot holds, if it needs that.
    Value { slot: Slot, dst: Slot, type_id: TypeId, return_point: u32, position: Position },
    /// Whether a slot holds an unbound variable or evaluated data with such, or only whether it holds that data, into a slot.
    NoteOpen { slot: Slot, dst: Slot, only_data: bool },
    /// `dst := slot`, noted as evaluated.
    NoteEvaluated { slot: Slot, dst: Slot },
    /// If that was so, what is in the slot now is not evaluated: it goes to another slot in place of the next instruction.
    KeepOpen { flag: Slot, slot: Slot, dst: Slot },
    /// `dst := slot`, with what is bound put into evaluated data.
    Resolve { slot: Slot, dst: Slot },
    /// If a slot holds a variable, bound or not, or evaluated data, that goes to another slot as it stands, and the code goes on elsewhere.
    KeepEvaluated { slot: Slot, dst: Slot, or: Pc },
    /// Evaluates what a slot holds in place of this frame. An answer that is an error is final.
    TailEvaluate { slot: Slot, type_id: TypeId, is_answer: bool },
    /// Evaluates an expression as it is written, without code of its own.
    EvaluateWritten { template: u32, type_id: TypeId, return_point: u32 },
    /// Evaluates an expression as it is written, without code of its own, in place of this frame. An answer that is an error is final.
    TailEvaluateWritten { template: u32, type_id: TypeId, is_answer: bool },
    /// Arithmetic on two slots.
    Arithmetic { operation: Arithmetic, left: Slot, right: Slot, return_point: u32 },
    /// Arithmetic on a slot and a small integer.
    ArithmeticWith { operation: Arithmetic, left: Slot, right: Ref, return_point: u32 },
    /// Comparison of two slots.
    Compare { comparison: Comparison, left: Slot, right: Slot, return_point: u32 },
    /// Logic on two slots.
    Logic { operation: Logic, left: Slot, right: Slot, return_point: u32 },
    /// If both are small integers: goes to one place or the other. Else goes on.
    CompareJump { comparison: Comparison, left: Slot, right: Slot, then: Pc, or: Pc },
    /// If a slot holds a small integer: compares it with a constant and goes to one place or the other. Else goes on.
    CompareJumpWith { comparison: Comparison, left: Slot, right: Ref, then: Pc, or: Pc },
    /// Goes elsewhere if all of these slots hold small integers, for which the guards that follow hold.
    SkipIfSmall { slots: [Slot; 3], to: Pc },
    /// A leaf in a slot that is its own result, whatever it is expected to be, is the result of this frame; else goes on. Only
    /// numbers are where a number is expected.
    ReturnLeaf { slot: Slot, is_number: bool },
    /// A leaf in a slot that is its own result goes to another slot, and on behind the instructions that would find out; else goes on.
    MoveLeaf { slot: Slot, dst: Slot, is_number: bool, to: Pc },
    /// Goes on behind the next instruction if the slot is true, elsewhere if it is false, else with the next one.
    If { slot: Slot, or: Pc },
    /// Goes elsewhere unless the slot holds what is asked for.
    Guard { slot: Slot, guard: Guard, or: Pc },
    /// Goes elsewhere unless the types of two slots agree.
    GuardSame { left: Slot, right: Slot, or: Pc },
    /// Goes elsewhere unless the results of a function say this of the type that they were evaluated to.
    GuardSays { function: u32, said: Said, or: Pc },
    /// Goes elsewhere if types or special forms have changed since this code was made.
    GuardTypeEpoch { shapes: u32, or: Pc },
    /// Data is marked as evaluated if it is what is written.
    MarkNormalForm { slot: Slot },
    /// Notes whether the call of the function whose rule this is has the arguments that were written.
    NoteUnchangedCall { function: u32, dst: Slot },
    /// Moves the value of a slot to another if it is plainly its own result, whatever is bound before its turn if that may be; else goes
    /// elsewhere.
    Settled { slot: Slot, dst: Slot, may_be_bound: bool, or: Pc },
    /// Goes elsewhere unless the arguments of the call at a slot are what is written.
    GuardUnchanged { at: Slot, or: Pc },
    /// Calls a native function on the arguments at the return point's frame.
    Native { operation: Ref, first: Slot, count: Slot, return_point: u32 },
    /// Makes a call, as it is written, whose arguments are evaluated: by its rules, or by the reference interpreter.
    Interpret { template: u32, type_id: TypeId, return_point: u32 },
    /// Each child of the expression in a slot is an alternative.
    Superpose { slot: Slot, return_point: u32 },
    /// What is at the return point is an alternative to what follows.
    Alternative { return_point: u32 },
    /// All results up to `Collected` become what is said.
    Collect { slot: Slot, return_point: u32, into: CollectedInto },
    /// Begins a transaction. All results up to `Collected` are alternatives when it is closed.
    Transact { slot: Slot, return_point: u32 },
    /// Results up to `Collected`, as far as they are wanted: the first of them, whether there is one, or how many. Nothing is
    /// evaluated after the last of them. The number of the first is in a slot.
    CollectSome { slot: Slot, most: Slot, wanted: Wanted, return_point: u32 },
    /// A result inside `Collect`, `Transact` or `CollectSome`.
    Collected { begun: Slot, slot: Slot },
    /// The error in the accumulator into a slot.
    Take { dst: Slot },
    /// If a choice needs what lies above the slots below `at`, this frame goes on above that.
    ReserveFrame { at: Slot, slots: Slot },
    /// What minimal code has come to is the result of the frame, evaluated further; `NotReducible` stands for the call.
    /// The function is the one called, or for code that a form wrote out `NO_FUNCTION`.
    Leave { slot: Slot, type_id: TypeId, call: u32, function: u32 },
    /// Leaves as [`Instruction::Leave`] does, where a slot says whether the call came to itself.
    LeaveKnown { slot: Slot, type_id: TypeId, call: u32, came: Slot },
    /// What a rule says, not evaluated: the result of the frame, unless it is a `function` to be entered.
    Reduct { slot: Slot },
    /// Reduces what a slot holds once.
    Reduce { slot: Slot, return_point: u32 },
    /// Calls a native function on arguments as they stand; its results are not evaluated further.
    ReduceNative { operation: Ref, first: Slot, count: Slot, return_point: u32 },
    /// Runs what a slot holds if it is an instruction, or only if it is a `function`; else it is its own result.
    RunMinimal { slot: Slot, return_point: u32, only_function: bool },
    /// A result inside `function`: `return` leaves it, an instruction runs on, anything else is an error of the call.
    LeaveFunction { slot: Slot, call: u32, return_point: u32 },
    /// Matches two slots in every way there is, spaces included.
    Unify { left: Slot, right: Slot, return_point: u32, or: Pc },
    /// Goes elsewhere unless two slots are equal but for the names of variables.
    IfEqual { left: Slot, right: Slot, or: Pc },
    /// Goes elsewhere unless a slot holds an error.
    IfError { slot: Slot, or: Pc },
    /// An expression put together; elsewhere if that cannot be done.
    Cons { head: Slot, tail: Slot, dst: Slot, or: Pc },
    /// An expression taken apart, as a pair.
    Decons { slot: Slot, dst: Slot, or: Pc },
    /// The first child.
    Head { slot: Slot, dst: Slot, or: Pc },
    /// All children but the first.
    Tail { slot: Slot, dst: Slot, or: Pc },
    /// How many children there are.
    Size { slot: Slot, dst: Slot, or: Pc },
    /// The child at a position.
    Element { slot: Slot, index: Slot, dst: Slot, or: Pc },
    /// The child at a position and the position behind it, in two slots in a row; elsewhere if there is none.
    Next { list: Slot, index: Slot, dst: Slot, or: Pc },
    /// What a slot holds with the values of some slots in place of the variables of others; its other variables become new ones if
    /// `renames` says so.
    Substitute { template: Slot, variables: Slot, values: Slot, count: Slot, dst: Slot, renames: bool },
    /// The list of what `(last (before (… ())))` holds.
    Gathered { slot: Slot, dst: Slot },
    /// A list of evaluated children is the result of the frame, unless it is a call.
    LeaveList { slot: Slot },
    /// Hands the evaluation of an expression, as it is written, to the interpreter: it comes to the result of the frame.
    TailInterpret { template: u32, type_id: TypeId },
    /// The content of the state in a slot.
    GetState { slot: Slot, return_point: u32 },
    /// Another content for the state in a slot.
    ChangeState { slot: Slot, value: Slot, return_point: u32 },
    /// Adds what a slot holds to the space in another.
    AddAtom { space: Slot, value: Slot, return_point: u32 },
    /// What the space in a slot knows of a pattern: each answer is an alternative.
    Query { query: u32, space: Slot, return_point: u32 },
    /// Goes on behind the next instruction with each answer, or with the next if it cannot be answered so.
    QueryFused { query: u32, space: Slot, return_point: u32 },
    /// Asks the space in a slot where only some answers are wanted: no others are found, if each comes to one result.
    QuerySome { query: u32, space: Slot, return_point: u32 },
}

impl Instruction {
    /// Where it goes on if it does not go on with the next one.
    pub(super) fn other_place(&mut self) -> Option<&mut Pc> {
        match self {
            Self::Jump { to } | Self::SkipIfSmall { to, .. } | Self::MoveLeaf { to, .. } => Some(to),
            Self::ConstructNested { then, .. } => Some(then),
            Self::MatchLeaf { or, .. }
            | Self::MatchShape { or, .. }
            | Self::MatchSame { or, .. }
            | Self::CompareJump { or, .. }
            | Self::CompareJumpWith { or, .. }
            | Self::If { or, .. }
            | Self::Guard { or, .. }
            | Self::GuardSame { or, .. }
            | Self::GuardSays { or, .. }
            | Self::GuardTypeEpoch { or, .. }
            | Self::GuardUnchanged { or, .. }
            | Self::KeepEvaluated { or, .. }
            | Self::Settled { or, .. }
            | Self::Unify { or, .. }
            | Self::IfEqual { or, .. }
            | Self::IfError { or, .. }
            | Self::Cons { or, .. }
            | Self::BuildConsHole { or, .. }
            | Self::Decons { or, .. }
            | Self::Head { or, .. }
            | Self::Tail { or, .. }
            | Self::Size { or, .. }
            | Self::Element { or, .. }
            | Self::Next { or, .. } => Some(or),
            _ => None,
        }
    }
}

/// The place of a template.
pub(super) type Template = std::num::NonZeroU32;

/// Where a call goes on.
#[derive(Clone, Debug, Default)]
pub(super) struct ReturnPoint {
    /// With a result, here.
    pub(super) pc: Pc,
    /// The slot of the result.
    pub(super) dst: Slot,
    /// Where the frame of the call begins, counted from the slots of the caller's.
    pub(super) at: Slot,
    /// With an error, here; it is in the accumulator.
    pub(super) error: Pc,
    /// How many slots the caller's frame has.
    pub(super) slots: Slot,
    /// The slots that hold something that is still needed.
    pub(super) live: Box<[Slot]>,
    /// Of a native function: whether its arguments are evaluated as they are written. Then a call that is not reduced has come to
    /// itself.
    pub(super) is_as_written: bool,
}

/// The arguments of a call that need no evaluation, if they are what one expects.
#[derive(Clone, Debug)]
pub(super) struct Arguments {
    pub(super) sources: Box<[ArgumentSource]>,
    /// The first slot above all that they are read from.
    pub(super) above: Slot,
    /// Whether none of them is read from where one before it goes, in a call in place of this frame.
    pub(super) is_direct: bool,
    /// Where to go on if an argument needs to be evaluated.
    pub(super) or: Pc,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(super) enum ArgumentSource {
    Leaf(Ref),
    /// What a slot holds, whatever it is.
    Slot(Slot),
    /// What a slot holds, if it is its own result.
    Normal(Slot),
}

/// Calls with more arguments are laid out one by one.
pub(super) const SOURCES_MAX: usize = 8;

/// A way to build an expression, from the leaves up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TemplatePart {
    Leaf(Ref),
    Slot(Slot),
    /// An expression of this many parts before this one.
    Expression(u32),
}

/// An expression of evaluated children.
#[derive(Clone, Debug)]
pub(super) struct Data {
    /// What it is a call of, should that have got rules, and where such a call goes on.
    pub(super) function: u32,
    pub(super) return_point: u32,
    /// Its children, as far as they are leaves.
    pub(super) stamp: Stamp,
    /// The others.
    pub(super) slots: Box<[DataSlot]>,
    /// Where to go on if what a slot holds needs to be evaluated.
    pub(super) or: Pc,
    /// Whether its leaves are their own results, and whether it is what the program says, evaluated or not.
    pub(super) is_normal: bool,
    pub(super) is_same: bool,
    /// The slots of children that were evaluated because they were not plainly their own results, and of what these came to.
    pub(super) evaluated: Box<[[Slot; 2]]>,
    /// The template that it is compared with, if a child is a call that may have come to itself.
    pub(super) written: Option<ArgumentOrigin>,
    /// What is known of its types, if its head has one.
    pub(super) typed: Option<Box<TypedData>>,
}

/// A child of data that is in a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataSlot {
    /// Which child it is.
    pub(super) place: Slot,
    pub(super) slot: Slot,
    /// Whether it is evaluated. Else it is a child only if it is its own result.
    pub(super) is_value: bool,
}

/// Data with data inside that is built in one go.
#[derive(Clone, Debug, Default)]
pub(super) struct NestedData {
    /// The slots that it takes something from, and whether that is known to be a value.
    pub(super) taken: Vec<(Slot, bool)>,
    /// Its expressions, each behind those inside of it: the last is the whole.
    pub(super) parts: Vec<NestedPart>,
    /// The version of the code as of which none of their heads has rules.
    pub(super) version: u32,
}

/// An expression of such data.
#[derive(Clone, Debug)]
pub(super) struct NestedPart {
    /// What its head is as a function.
    pub(super) function: u32,
    /// Its leaves; what stands for the other children is written over.
    pub(super) stamp: Stamp,
    /// Which children come from slots, and their places among what is taken.
    pub(super) taken: Box<[(Slot, usize)]>,
    /// Which children are expressions, and their places among the parts.
    pub(super) inside: Box<[(Slot, usize)]>,
}

/// The shape of a pattern.
#[derive(Clone, Debug)]
pub(super) struct PatternShape {
    pub(super) length: u32,
    /// The first child, when it is a leaf that is known; it gets no slot then.
    pub(super) head: Option<Ref>,
    /// What an unbound variable becomes; its new variables are made first.
    pub(super) template: u32,
    /// What is named by an integer is a variable of the form.
    pub(super) variables: Box<[(Slot, Ref)]>,
    /// Where to go on once the variable has become it, and where if it cannot.
    pub(super) built: Pc,
    pub(super) or: Pc,
}

/// A part of a pattern that a space is asked for, in the order in which it is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum QueryPart {
    Open(u32),
    Leaf(Ref),
    Slot(Slot),
    /// A variable that nothing has bound, by its place in `fresh`.
    New(u32),
}

/// What stands beside the code of a function whose calls are remembered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tabled {
    /// Its code.
    pub(super) body: Kind,
    /// Where a result of the code goes, and the slot that says which collector is for it.
    pub(super) return_point: u32,
    pub(super) begun: Slot,
}

/// What a space is asked for.
pub(super) struct Query {
    pub(super) patterns: Box<[Box<[QueryPart]>]>,
    /// The slots that patterns are read from, in their order.
    pub(super) slots: Box<[Slot]>,
    /// Its plan, as it was asked last.
    pub(super) kept: KeptPlan,
    /// The slots of the new variables, and their names: symbols, or variables of the form.
    pub(super) fresh: Box<[(Slot, u32)]>,
    pub(super) is_form: bool,
    /// Whether it is known only when it is asked that it is no conjunction.
    pub(super) may_join: bool,
    /// The whole, for a space that is to be asked with an atom, and the return point at which the new variables are there.
    pub(super) template: u32,
    pub(super) atoms: u32,
    /// The code for the atoms that it finds, where they are not all rows or plans do not serve again.
    pub(super) candidates: CandidateCache,
    /// What its answers are tested for while they are found.
    pub(super) filters: QueryFilters,
    /// What there is beside if it asks several spaces, or whether others have answers.
    pub(super) fused: Option<Box<FusedQuery>>,
    /// Where its results go, if that is to a collector and nothing is done on the way.
    pub(super) gathering: Option<Box<Gathering>>,
    /// What it asks, for people.
    pub(super) written: WrittenQuery,
    /// What its template is made of, if only some of its answers are wanted and each may come to one result.
    pub(super) template_data: Option<TemplateData>,
}

/// The results of a query that go to a collector as they are.
pub(super) struct Gathering {
    /// The slot in which the collector is noted.
    pub(super) begun: Slot,
    /// The template.
    pub(super) parts: Box<[TemplatePart]>,
}

/// What a query asks, as it is written.
pub(super) struct WrittenQuery {
    /// The pattern, or the patterns of a conjunction.
    pub(super) query: Atom,
    /// The new variables.
    pub(super) variables: Box<[Variable]>,
}

/// Tests of the answers of a query, in their order, and the values in them that the query does not bind.
#[derive(Default)]
pub(super) struct QueryFilters {
    pub(super) filters: Box<[QueryFilter]>,
    pub(super) values: Box<[TestedValue]>,
}

/// What drops answers of a query.
pub(super) enum QueryFilter {
    Test(Filter),
    /// Whether patterns have an answer, and which of that drops. Each asks one of the spaces; variables that the query does not bind are
    /// numbered after those that it binds.
    Absence {
        patterns: Box<[(u8, Box<[QueryPart]>)]>,
        drops: bool,
    },
}

/// What stands beside a query that asks what several of a program ask.
pub(super) struct FusedQuery {
    /// Which of the spaces each pattern asks.
    pub(super) places: Box<[u8]>,
    /// The spaces beside the first.
    pub(super) others: Box<[Slot]>,
    /// Whether only some of its answers may be wanted.
    pub(super) is_goal: bool,
}

/// Where a value in a test comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum TestedValue {
    Slot(Slot),
    Leaf(Ref),
}

/// What a template is made of that is data around the values of slots.
pub(super) struct TemplateData {
    /// Its heads, with the number of their arguments.
    pub(super) heads: Box<[(Ref, usize)]>,
    /// The slots of its variables, with the number of arguments where one is a head.
    pub(super) slots: Box<[(Slot, Option<usize>)]>,
}

/// What is known of an argument of a rule before it is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Any,
    Leaf(Ref),
    Shape(u32, Option<Ref>),
}

/// A rule of a group.
#[derive(Clone, Debug)]
pub(super) struct RuleCode {
    pub(super) pc: Pc,
    pub(super) keys: Box<[Key]>,
    /// A number that rules with the same keys share: one may match if the other may.
    pub(super) class: u32,
    /// Whether it begins by taking an argument apart as the rule before it does, and where the children are then.
    pub(super) goes_on: Option<Slot>,
}

/// A rule of a list, with what is asked when the one before it does not match.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed {
    pub(super) rule: u32,
    pub(super) pc: Pc,
    /// Whether what the switch has told, if it was asked, says already that the arguments do not rule it out.
    pub(super) is_certain: bool,
    /// Whether the next of the list may match if this one may.
    pub(super) is_with_next: bool,
    /// Where the one before it in the list has put the children of the argument that both take apart first.
    pub(super) goes_on: Option<Slot>,
}

/// How a function answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Not compiled since rules last changed.
    Stale,
    /// No rule and no type: a constructor of data.
    Constructor,
    /// One rule whose head matches everything.
    Rule(Pc),
    /// Several rules, or one that may not match.
    Group(u32),
    /// More rules than are compiled at once: what is entered depends on the arguments.
    Indexed(u32),
    /// Its calls are remembered.
    Tabled(Policy),
    /// Several rules that one argument tells apart.
    Exclusive(u32),
    /// Well typed: what is called depends on the arguments.
    Guarded(u32),
    /// Something that the machine does not compile.
    Interpreted,
}

/// Code, and the slots that its frames need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    pub(super) slots: usize,
}

/// The rules of a function, in their order.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) function: u32,
    pub(super) rules: Box<[RuleCode]>,
    /// The arguments and the body of each, as atoms.
    pub(super) sources: Box<[(Vec<Atom>, Atom)]>,
    /// Lists of rules that may match, in their order; the first has all.
    pub(super) lists: Box<[Box<[Listed]>]>,
    /// The arguments that some of them look into.
    pub(super) looked_into: Box<[Slot]>,
    /// The argument that tells the most rules apart.
    pub(super) switch: Option<Switch>,
    /// Whether they are a list of facts.
    pub(super) are_facts: bool,
    /// Whether matching them may compare two values of the call.
    pub(super) compares_values: bool,
    /// Whether the function has other rules, which the arguments of the calls that come here rule out.
    pub(super) has_others: bool,
    /// The slots of a frame.
    pub(super) slots: usize,
}

/// The rules of a group by what an argument is, where nothing else needs to match: at most one of them does.
#[derive(Clone, Debug)]
pub(super) struct Exclusive {
    pub(super) group: u32,
    pub(super) argument: Slot,
    pub(super) cases: Box<[Case]>,
}

/// A rule of such a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) key: u64,
    /// Where its body begins.
    pub(super) body: Pc,
    /// How many children behind the head of the argument go to slots, and where.
    pub(super) children: Slot,
    pub(super) dst: Slot,
}

#[derive(Clone, Debug)]
pub(super) struct Switch {
    pub(super) argument: Slot,
    /// The list for each of its leaves and shapes.
    pub(super) cases: FxHashMap<u64, u32>,
    /// The list for everything else.
    pub(super) otherwise: u32,
}

/// A function: what is called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    pub(super) head: Ref,
    pub(super) arguments: Slot,
    pub(super) type_id: TypeId,
    pub(super) kind: Kind,
    /// The slots of its frame.
    pub(super) slots: usize,
    /// What `rules` stood at when this was compiled.
    pub(super) version: u32,
    /// Whether it is for calls that may not enter well-typed code.
    pub(super) is_plain: bool,
}

/// The two functions that a call of a well-typed one may enter: for arguments of its types, and for others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guarded {
    pub(super) well_typed: u32,
    pub(super) plain: u32,
    /// Whether small integers are of its types.
    pub(super) admits_integers: bool,
}

impl Function {
    /// A function that is not compiled.
    pub(super) fn stale(head: Ref, arguments: Slot, type_id: TypeId) -> Self {
        let slots = usize::from(arguments);
        Self { head, arguments, type_id, kind: Kind::Stale, slots, version: 0, is_plain: false }
    }

    /// The type to which its results are evaluated, if nothing is known of them.
    pub(super) fn expected(&self) -> TypeId {
        if self.type_id == WELL_TYPED { 0 } else { self.type_id }
    }
}

/// Whether the arguments of a call are what was written, if they are in normal form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    Changed,
    Unchanged,
    /// If calls among them came to themselves.
    Uncertain,
}

/// How to find that out: the first argument that is a call, its head if that is a plain word, and the whole as it is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArgumentOrigin {
    pub(super) index: usize,
    pub(super) head: Option<Ref>,
    pub(super) template: u32,
}

/// All code.
#[derive(Default)]
pub(super) struct Code {
    pub(super) instructions: Vec<Instruction>,
    pub(super) return_points: Vec<ReturnPoint>,
    pub(super) templates: Vec<Box<[TemplatePart]>>,
    pub(super) data: Vec<Data>,
    pub(super) nested: Vec<NestedData>,
    pub(super) shapes: Vec<PatternShape>,
    pub(super) queries: Vec<Query>,
    pub(super) arguments: Vec<Arguments>,
    pub(super) groups: Vec<Group>,
    pub(super) exclusives: Vec<Exclusive>,
    pub(super) guarded: Vec<Guarded>,
    pub(super) indexes: Vec<RuleIndex<Entry>>,
    pub(super) functions: Vec<Function>,
    pub(super) index: FxHashMap<(Ref, Slot, TypeId), u32>,
    /// Which slots got a variable at which place, and its name, while code is made to be shown.
    pub(super) names: Option<Vec<(Pc, Slot, Symbol)>>,
    /// What the steps of the compiler have made of expressions, and where their code begins, while code is made to be shown.
    pub(super) shown: Option<Vec<(Pc, Vec<Shown>)>>,
    /// How many changes passes have made.
    pub(super) changes_by_passes: u64,
    /// The return point for each child of an expression that is evaluated without code.
    pub(super) child_return_points: Vec<u32>,
    /// The return point for the answers of native calls without code, by the type that they are evaluated to.
    pub(super) answer_return_points: FxHashMap<TypeId, u32>,
    /// Of the places behind calls: whether the arguments are what was written.
    pub(super) origins: Vec<Origin>,
    pub(super) maybes: FxHashMap<Pc, ArgumentOrigin>,
    /// The functions that have no rules but were made for an expression.
    pub(super) made: FxHashMap<u32, Rc<SyntheticFunction>>,
    /// What stands beside the code of functions whose calls are remembered.
    pub(super) tabled: FxHashMap<u32, Tabled>,
    /// The functions of this version whose calls are not worth remembering: until the form ends, they are entered in place.
    pub(super) given_up: Vec<u32>,
    /// Where to go when a pattern meets a space, by where it goes when it does not match.
    pub(super) spaces: FxHashMap<Pc, Pc>,
    /// What is known of the pieces that code was made in.
    pub(super) pieces: Pieces,
    /// What rules stand at, and the same for types and special forms.
    pub(super) version: u32,
    pub(super) type_epoch: u32,
    /// Whether rules may change while a form is evaluated: code looks for that then.
    pub(super) is_exact: bool,
    /// The list of facts that is entered by a link: its code is needed.
    pub(super) entered: Option<u32>,
    /// How many lists of facts are being compiled, one for the other.
    pub(super) links: u32,
    /// How often atoms of each class were added to what is watched, or removed.
    pub(super) class_counts: [u64; space::CLASSES],
    pub(super) wrong_assumptions: WrongAssumptions,
    /// Whether the machine remembers calls by itself.
    pub(super) memoises: bool,
    /// The version of the names of tabled functions that code was made for.
    pub(super) tabling: u32,
    /// The spaces whose rules code was made of.
    pub(super) watched: Vec<SharedSpace>,
    /// The spaces that they ask.
    pub(super) spaces_asked: SpacesAsked,
    /// The counts of the changes of what is watched.
    pub(super) watched_changes: Vec<Arc<ChangeCounts>>,
    /// Their changes of rules and what is rarer, together, when it was last looked what they mean.
    pub(super) changes_seen: Option<u64>,
}

/// A function made for an expression: its arguments are the values of the variables.
#[derive(Clone, Debug)]
pub(super) struct SyntheticFunction {
    pub(super) captured: Box<[Variable]>,
    /// Whether the variables that it makes keep their names.
    pub(super) is_form: bool,
    pub(super) what: SyntheticBody,
    /// The expression.
    pub(super) call: Atom,
    pub(super) type_id: TypeId,
}

/// What is to be done for an expression.
#[derive(Clone, Debug)]
pub(super) enum SyntheticBody {
    /// This minimal code is run.
    Minimal(Atom),
    /// This is evaluated.
    Body(Atom),
    /// This is evaluated in a transaction.
    Transaction(Atom),
    /// This is evaluated for some of its results; the argument says how many, if there is one.
    Some { wanted: Wanted, goal: Atom, has_most: bool },
    /// The expression is evaluated as such a goal.
    Goal,
    /// The template is run for each element of a list; the arguments go on with the list, a position and what was found.
    Loop { kind: Loop, item: Variable, found: Option<Variable>, template: Atom },
    /// The template is run for each element of a list; variables and template are arguments, too.
    OpenLoop(Loop),
}

/// The instruction that notes a result of the whole evaluation, and its return point.
pub(super) const ANSWER: u32 = 0;
/// Where the error that the whole evaluation came to goes.
const ANSWER_ERROR: Pc = 4;
/// Where errors go that are the result of a frame.
pub(super) const ESCAPE: Pc = 1;
/// The instruction that fails.
pub(super) const FAIL: Pc = 2;
/// Where errors go that a child of an expression that is evaluated without code has come to.
pub(super) const CHILD_FAILED: Pc = 3;
/// How many values are looked at to find out whether a value is ground, or what it was, where rules do not change.
const LOOKED_AT_MAX: usize = 48;
/// Where the frame at hand evaluates what is in its first slot.
pub(super) const EVALUATE: Pc = 6;
/// Where the code of a tabled call begins once more.
pub(super) const NEXT_ROUND: Pc = 7;
/// In place of a function.
pub(super) const NO_FUNCTION: u32 = u32::MAX;
/// In place of where a call was made: whether its arguments came to themselves.
pub(super) const UNCHANGED: Pc = 1;
pub(super) const CHANGED: Pc = 0;

impl Code {
    pub(super) fn new() -> Self {
        let mut code = Self { version: 1, type_epoch: 1, ..Self::default() };
        code.instructions.extend([
            Instruction::Answer,
            Instruction::Escape,
            Instruction::Fail,
            Instruction::ChildFailed,
        ]);
        code.instructions.extend([Instruction::Take { dst: 0 }, Instruction::Answer]);
        code.instructions.push(Instruction::TailEvaluate { slot: 0, type_id: 0, is_answer: false });
        code.instructions.push(Instruction::NextRound);
        code.return_points.push(ReturnPoint {
            pc: ANSWER,
            dst: 0,
            at: 0,
            error: ANSWER_ERROR,
            slots: 1,
            ..ReturnPoint::default()
        });
        // No template is the first.
        code.templates.push(Box::default());
        code.end_piece();
        code.note_origin(UNCHANGED, Origin::Unchanged);
        code
    }

    #[inline]
    pub(super) fn return_point(&self, return_point: u32) -> &ReturnPoint {
        &self.return_points[return_point as usize]
    }

    /// How many values are looked at to find out whether a value is ground, or what it was.
    pub(super) fn looked_at_max(&self) -> usize {
        if self.is_exact { usize::MAX } else { LOOKED_AT_MAX }
    }

    /// Where the arguments of the call before a place came from.
    pub(super) fn origin(&self, place: Pc) -> Origin {
        self.origins.get(place as usize).copied().unwrap_or(Origin::Changed)
    }

    pub(super) fn note_origin(&mut self, place: Pc, origin: Origin) {
        if self.origins.len() <= place as usize {
            self.origins.resize(place as usize + 1, Origin::Changed);
        }
        self.origins[place as usize] = origin;
    }

    /// The argument that two rules take apart first, if they do it in the same way and whatever its head is.
    pub(super) fn taken_apart_alike(&self, one: Pc, other: Pc) -> Option<Slot> {
        let first = |pc: Pc| match self.instructions[pc as usize] {
            Instruction::MatchShape { slot, dst, shape, or: NEXT_RULE } => {
                Some((slot, dst, &self.shapes[shape as usize]))
            }
            _ => None,
        };
        let ((slot, dst, shape), (other_slot, other_dst, other)) = (first(one)?, first(other)?);
        let are_alike = (slot, dst, shape.length) == (other_slot, other_dst, other.length);
        (are_alike && shape.head.is_none() && other.head.is_none()).then_some(slot)
    }

    /// The function of a head, a number of arguments and an expected type.
    pub(super) fn function(&mut self, head: Ref, arguments: Slot, type_id: TypeId) -> u32 {
        let functions = &mut self.functions;
        *self.index.entry((head, arguments, type_id)).or_insert_with(|| {
            functions.push(Function::stale(head, arguments, type_id));
            (functions.len() - 1) as u32
        })
    }

    /// The function of a head, a number of arguments and an expected type, if something has asked for its code.
    pub(super) fn known_function(&self, head: Ref, arguments: Slot, type_id: TypeId) -> Option<&Function> {
        self.index.get(&(head, arguments, type_id)).map(|&function| &self.functions[function as usize])
    }

    /// A function for calls that may not enter well-typed code.
    pub(super) fn plain_function(&mut self, head: Ref, arguments: Slot, type_id: TypeId) -> u32 {
        self.functions.push(Function { is_plain: true, ..Function::stale(head, arguments, type_id) });
        (self.functions.len() - 1) as u32
    }
}
