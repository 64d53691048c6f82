//! What the machine makes of a call of the library: an operation or a special form says so in its table, and the compiler goes by
//! that and not by names.

use space::{ArithmeticError, Number};
use std::cmp::Ordering;

/// An operation on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// The sum.
    Add,
    /// The difference.
    Subtract,
    /// The product.
    Multiply,
    /// The quotient.
    Divide,
    /// What a division leaves.
    Remainder,
}

impl Arithmetic {
    /// What it makes of two numbers.
    pub(crate) fn operation(self) -> fn(&Number, &Number) -> Result<Number, ArithmeticError> {
        match self {
            Self::Add => Number::add,
            Self::Subtract => Number::subtract,
            Self::Multiply => Number::multiply,
            Self::Divide => Number::divide,
            Self::Remainder => Number::remainder,
        }
    }
}

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The first is less.
    Less,
    /// The first is greater.
    Greater,
    /// The first is not greater.
    LessOrEqual,
    /// The first is not less.
    GreaterOrEqual,
    /// Both are equal; they may be any values.
    Equal,
}

impl Comparison {
    /// Whether it holds for an order of two numbers.
    pub(crate) fn holds(self) -> fn(Ordering) -> bool {
        match self {
            Self::Less => Ordering::is_lt,
            Self::Greater => Ordering::is_gt,
            Self::LessOrEqual => Ordering::is_le,
            Self::GreaterOrEqual => Ordering::is_ge,
            Self::Equal => Ordering::is_eq,
        }
    }
}

/// An operation on two truth values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logic {
    /// Both are true.
    And,
    /// One of them is true.
    Or,
    /// Just one of them is true.
    Xor,
    /// The first is false; there is no second.
    Not,
}

impl Logic {
    /// What it makes of two truth values.
    pub(crate) fn truth(self) -> fn(bool, bool) -> bool {
        match self {
            Self::And => |left, right| left && right,
            Self::Or => |left, right| left || right,
            Self::Xor => |left, right| left != right,
            Self::Not => |left, _| !left,
        }
    }
}

/// What the machine makes of a call of a native function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lowering {
    /// The arguments are evaluated as its type says, and the function is called with them.
    Call,
    /// Numbers in place.
    Arithmetic(Arithmetic),
    /// A comparison in place, which may be part of a condition.
    Comparison(Comparison),
    /// Truth values in place.
    Logic(Logic),
    /// A `let` for each pair, one inside the other.
    LetAll,
    /// Each child is an alternative.
    Superpose,
    /// Code of its own, if the space is that of the evaluation.
    Capture,
    /// A test of two atoms as they stand, and a branch.
    IfEqual,
    /// A test for an error, and a branch.
    IfError,
    /// The number of children.
    Size,
    /// The child at a position.
    Element,
    /// A call that takes short lists apart without making atoms of them.
    Difference,
    /// What a state holds, without atoms on the way.
    GetState,
    /// A state gets another content, without atoms on the way.
    ChangeState,
    /// An atom goes into a space, without atoms on the way.
    AddAtom,
    /// A space is asked, and each answer is an alternative.
    Query,
    /// A part of `collapse`: the results without their bindings.
    CollapsedAtoms,
    /// A part of `case`: the results of its subject, or `Empty`.
    CaseSubjects,
}

impl Lowering {
    /// Whether it makes a number or a truth value of its arguments and does nothing else.
    pub const fn is_plain(self) -> bool {
        matches!(self, Self::Arithmetic(_) | Self::Comparison(_) | Self::Logic(_))
    }

    /// The instruction that `--explain` shows for a call; `None` if a call becomes a part of others.
    pub const fn instruction(self) -> Option<&'static str> {
        Some(match self {
            Self::Call | Self::Difference => "native",
            Self::Arithmetic(_) | Self::Comparison(_) | Self::Logic(_) => "compute",
            Self::Superpose => "superpose",
            Self::IfEqual => "if-equal",
            Self::IfError => "if-error",
            Self::Size => "size",
            Self::Element => "element",
            Self::GetState => "get-state",
            Self::ChangeState => "change-state",
            Self::AddAtom => "add-atom",
            Self::Query => "query",
            Self::LetAll | Self::Capture | Self::CollapsedAtoms | Self::CaseSubjects => return None,
        })
    }
}

/// What is made of the results of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loop {
    Map,
    Filter,
    Fold,
}

/// What is wanted of the results of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The first of them, up to a number.
    First,
    /// Whether there is one.
    Whether,
    /// How many there are.
    Number,
}

/// What the machine makes of a special form: a function that the library writes in MeTTa, or an instruction of minimal MeTTa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    If,
    Let,
    Case,
    Switch,
    Collapse,
    Identity,
    Empty,
    Unify,
    Chain,
    Eval,
    Function,
    ContextSpace,
    EvalInSpace,
    Metta,
    Head,
    Tail,
    Cons,
    Decons,
    Loop(Loop),
    IfDecons,
    Substitute,
    Transaction,
    Some(Wanted),
    /// The rule of the library with the arguments as they are written.
    Inline,
}

impl Form {
    /// Whether code for its arguments as values comes before its rule, for calls whose arguments are not written out.
    pub(crate) const fn has_open_code(self) -> bool {
        matches!(self, Self::Loop(_) | Self::Substitute | Self::Transaction | Self::Some(_))
    }
}

/// A special form: what there is to know of it, as long as its rules and types are those of the library.
pub(crate) struct SpecialForm {
    pub(crate) name: &'static str,
    /// How many arguments it takes.
    pub(crate) arity: usize,
    pub(crate) form: Form,
    /// What its rules call and its code does not: if one of these has other rules, the form is a call like any other.
    pub(crate) parts: &'static [(&'static str, usize)],
}

impl SpecialForm {
    /// A form whose code depends on no other rules.
    pub(crate) const fn new(name: &'static str, arity: usize, form: Form) -> Self {
        Self { name, arity, form, parts: &[] }
    }

    /// Says that the rules of the form call these names, each with this number of arguments.
    pub(crate) const fn of_parts(self, parts: &'static [(&'static str, usize)]) -> Self {
        Self { parts, ..self }
    }
}
