//! What function types say of calls: how a call is evaluated, and what it takes and gives.

use crate::machine::code::TypeId;
use space::Atom;
use std::borrow::Cow;
use std::rc::Rc;

/// How a call of a head is evaluated.
#[derive(Clone, Debug)]
pub(in crate::machine) enum HeadKind {
    /// The head has no function type: a tuple.
    Untyped,
    /// One function type that takes all arguments as they stand.
    Raw { result: TypeId },
    /// One function type without variables.
    Typed(Signature),
    /// One function type with variables.
    Parametric(Atom),
    /// Anything else.
    Other,
}

/// A function type without variables, or with one only as its result.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Signature {
    pub(in crate::machine) formals: Rc<[Formal]>,
    /// `None` when it is what is expected.
    pub(in crate::machine) result: Option<TypeId>,
}

impl Signature {
    /// That of a function which takes all its arguments as they stand.
    pub(in crate::machine) fn raw(count: usize, result: TypeId) -> Self {
        Self { formals: std::iter::repeat_n(Formal::Raw, count).collect(), result: Some(result) }
    }
}

/// What nothing says of the arguments of a function without types.
pub(in crate::machine) fn untyped(count: usize) -> Cow<'static, [Formal]> {
    const FEW: &[Formal] = &[Formal::Typed(0); 16];
    FEW.get(..count).map_or_else(|| vec![Formal::Typed(0); count].into(), Cow::Borrowed)
}

/// What a function type says of an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::machine) enum Formal {
    /// It is taken as it stands.
    Raw,
    /// Taken as it stands if it is an expression.
    Expression,
    /// Evaluated to this type.
    Typed(TypeId),
}
