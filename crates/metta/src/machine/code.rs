//! Code: what rules are compiled to.
//!
//! A function is a head, a number of arguments and the type that is expected of its results; its code is made when it is
//! first called. A frame of the stack is three words (the site it returns to, the base of the caller's frame, the number
//! of choices when its expression began) and its slots: the arguments, then one slot for each value on the way. A slot is
//! assigned once on each path, so that an alternative taken up later finds what it left.

use region::Ref;
use rustc_hash::FxHashMap;
use space::{Atom, Symbol};

/// A slot of a frame.
pub(super) type Slot = u16;
/// A place in the code.
pub(super) type Pc = u32;
/// A type that is expected of results, by its place in the table of types; 0 is `%Undefined%`.
pub(super) type TypeId = u16;

/// The words of a frame before its slots.
pub(super) const HEADER: usize = 3;

/// The place that stands for: the head of the rule does not match, so try the next one.
pub(super) const NEXT_RULE: Pc = u32::MAX;

/// An operation on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
    Equal,
}

/// An operation on two truth values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Logic {
    And,
    Or,
    Xor,
    /// Of the first alone.
    Not,
}

/// What a slot must hold for the code after a guard to mean what the program says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// A number.
    Number,
    /// A truth value.
    Bool,
    /// A value of this type, by its place in the table of types.
    Type(TypeId),
    /// The same inside a type, where `Atom` agrees with itself only.
    TypeInside(TypeId),
    /// An expression.
    Expression,
    /// Something whose types hold no error, such as a leaf.
    Plain,
    /// Something that has no type.
    Open,
    /// Anything but a space.
    NoSpace,
    /// What makes a tuple as the head of an expression with so many arguments.
    Head(Slot),
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instruction {
    /// The evaluation is complete: the result is noted and the next alternative tried.
    Answer,
    /// A child of an expression that is evaluated without code has come to a result.
    Child { index: Slot },
    /// An error where a child's result was expected: it is the result of the whole.
    Escape,
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
    /// An expression begins whose alternatives are collected together.
    Begin { slot: Slot },
    /// It ends: with one result this goes on, else all are collected first.
    End { begun: Slot, value: Slot, site: u32 },
    /// Calls a function on the arguments at the site's frame.
    Call { function: u32, site: u32, begun: bool },
    /// Calls it in place of this frame.
    TailCall { function: u32, at: Slot },
    /// A call whose head is in a slot, on the arguments at the site's frame.
    Apply { head: Slot, count: Slot, type_id: TypeId, site: u32, tail: bool, same: bool },
    /// The call of the function stands for itself.
    Unreduced { function: u32 },
    /// The result of this frame.
    Return { slot: Slot },
    /// An expression of evaluated children that no rule is expected to reduce.
    Construct { template: u32, function: u32, site: u32, same: bool },
    /// An expression as it stands, not evaluated.
    Build { dst: Slot, template: u32 },
    /// Evaluates what a slot holds, if it needs that.
    Value { slot: Slot, dst: Slot, type_id: TypeId, site: u32, is_argument: bool },
    /// Evaluates an expression as it stands, without code of its own.
    Evaluate { slot: Slot, type_id: TypeId, site: u32, begun: bool },
    /// The same in place of this frame.
    TailEvaluate { slot: Slot, type_id: TypeId },
    /// Arithmetic on two slots.
    Arithmetic { operation: Arithmetic, left: Slot, right: Slot, site: u32 },
    /// Arithmetic on a slot and a small integer.
    ArithmeticWith { operation: Arithmetic, left: Slot, right: Ref, site: u32 },
    /// Comparison of two slots.
    Compare { comparison: Comparison, left: Slot, right: Slot, site: u32 },
    /// Logic on two slots.
    Logic { operation: Logic, left: Slot, right: Slot, site: u32 },
    /// If both are small integers: goes to one place or the other. Else goes on.
    CompareJump { comparison: Comparison, left: Slot, right: Slot, then: Pc, or: Pc },
    /// The same with a constant.
    CompareJumpWith { comparison: Comparison, left: Slot, right: Ref, then: Pc, or: Pc },
    /// Goes on behind the next instruction if the slot is true, elsewhere if it is false, else with the next one.
    If { slot: Slot, or: Pc },
    /// Goes elsewhere unless the slot holds what is asked for.
    Guard { slot: Slot, guard: Guard, or: Pc },
    /// Goes elsewhere unless the types of two slots agree.
    GuardSame { left: Slot, right: Slot, or: Pc },
    /// Goes elsewhere if types or special forms have changed since this code was made.
    Fresh { shapes: u32, or: Pc },
    /// Calls a native function on the arguments at the site's frame.
    Native { operation: Ref, first: Slot, count: Slot, site: u32 },
    /// Hands a call whose arguments are evaluated to the reference interpreter.
    Interpret { slot: Slot, type_id: TypeId, site: u32 },
    /// Each child of the expression in a slot is an alternative.
    Superpose { slot: Slot, site: u32 },
    /// All results up to `Collected` become one list; or, for the subjects of a `case`, alternatives, with `Empty` as the
    /// only one if there is none.
    Collect { slot: Slot, site: u32, subjects: bool },
    /// A result inside `Collect`.
    Collected { begun: Slot, slot: Slot },
    /// The error in the accumulator into a slot.
    Take { dst: Slot },
}

/// Where a call goes on.
#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    /// With a result, here.
    pub(super) pc: Pc,
    /// The slot of the result.
    pub(super) dst: Slot,
    /// Where the frame of the call begins, counted from the slots of the caller's.
    pub(super) at: Slot,
    /// With an error, here; it is in the accumulator.
    pub(super) error: Pc,
    /// The slots that hold something that is still needed.
    pub(super) live: Box<[Slot]>,
}

/// A way to build an expression, from the leaves up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part {
    Leaf(Ref),
    Slot(Slot),
    /// An expression of so many parts before this one.
    Expression(u32),
}

/// The shape of a pattern.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) length: u32,
    /// The first child, when it is a leaf that is known; it gets no slot then.
    pub(super) head: Option<Ref>,
    /// What an unbound variable becomes; its new variables are made first.
    pub(super) template: u32,
    pub(super) variables: Box<[(Slot, Ref)]>,
    /// Where to go on once the variable has become it, and where if it cannot.
    pub(super) built: Pc,
    pub(super) or: Pc,
}

/// What is known of an argument of a rule before it is matched.
#[derive(Clone, Copy, Debug, PartialEq)]
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
}

/// How a function answers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Not compiled since rules last changed.
    Stale,
    /// No rule and no type: a constructor of data.
    Constructor,
    /// One rule whose head matches everything.
    Rule(Pc),
    /// Several rules, or one that may not match.
    Group(u32),
    /// Something that the machine does not compile.
    Interpreted,
}

/// The rules of a function, in their order.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) function: u32,
    pub(super) rules: Box<[RuleCode]>,
    /// Lists of rules that may match, in their order; the first has all.
    pub(super) lists: Box<[Box<[u32]>]>,
    /// The argument that tells the most rules apart.
    pub(super) switch: Option<Switch>,
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
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) head: Ref,
    pub(super) arguments: Slot,
    pub(super) type_id: TypeId,
    pub(super) kind: Kind,
    /// The slots of its frame.
    pub(super) slots: usize,
    /// What `rules` stood at when this was compiled.
    pub(super) version: u32,
}

/// All code.
#[derive(Default)]
pub(super) struct Code {
    pub(super) instructions: Vec<Instruction>,
    pub(super) sites: Vec<Site>,
    pub(super) templates: Vec<Box<[Part]>>,
    pub(super) shapes: Vec<Shape>,
    pub(super) groups: Vec<Group>,
    pub(super) functions: Vec<Function>,
    pub(super) index: FxHashMap<(Ref, Slot, TypeId), u32>,
    pub(super) types: Vec<Atom>,
    /// Which slots got a variable at which place, and its name, while code is made to be shown.
    pub(super) names: Option<Vec<(Pc, Slot, Symbol)>>,
    /// The site for each child of an expression that is evaluated without code.
    pub(super) child_sites: Vec<u32>,
}

/// The instruction that notes a result of the whole evaluation, and its site.
pub(super) const ANSWER: u32 = 0;
/// Where the error that the whole evaluation came to goes.
const ANSWER_ERROR: Pc = 3;
/// Where errors go that are the result of a frame.
pub(super) const ESCAPE: Pc = 1;
/// The instruction that fails.
pub(super) const FAIL: Pc = 2;

impl Code {
    pub(super) fn new() -> Self {
        let mut code = Self::default();
        code.instructions.extend([Instruction::Answer, Instruction::Escape, Instruction::Fail]);
        code.instructions.extend([Instruction::Take { dst: 0 }, Instruction::Answer]);
        code.sites.push(Site { pc: ANSWER, dst: 0, at: 0, error: ANSWER_ERROR, live: Box::default() });
        code.types.push(crate::names::undefined());
        code
    }

    /// The function of a head, so many arguments and an expected type.
    pub(super) fn function(&mut self, head: Ref, arguments: Slot, type_id: TypeId) -> u32 {
        let functions = &mut self.functions;
        *self.index.entry((head, arguments, type_id)).or_insert_with(|| {
            let slots = usize::from(arguments);
            functions.push(Function { head, arguments, type_id, kind: Kind::Stale, slots, version: 0 });
            (functions.len() - 1) as u32
        })
    }

    /// The place of a type in the table; `None` when the table is full.
    pub(super) fn type_id(&mut self, type_atom: &Atom) -> Option<TypeId> {
        let known = self.types.iter().position(|known| known == type_atom);
        let index = known.unwrap_or_else(|| {
            self.types.push(type_atom.clone());
            self.types.len() - 1
        });
        TypeId::try_from(index).ok()
    }
}
