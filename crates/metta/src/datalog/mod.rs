//! Tabled functions of Datalog shape: their calls are answered over rows ([`space::Datalog`]), without an evaluation.
//!
//! 1. The rules of a function, and those of all tabled functions that they call, are [recognized](recognize): bodies made of
//!    `match`, `let`, calls of tabled functions, comparisons and absences.
//! 2. A call is a [goal](goals): its arguments are known values or variables, and its answers are rows.
//! 3. The machine takes these answers. The interpreter finds them again by the definition of their order ([`naive`]): it is what the
//!    machine is compared with.
//!
//! A call that is not certainly of this shape is evaluated as any other, and it is known why ([`Goals::refusal`]).

mod answers;
mod goals;
mod naive;
mod recognize;

pub(crate) use answers::{RowAnswers, RowValue};
pub(crate) use goals::{Asked, Goals, Grounds};
pub(crate) use recognize::{Lookup, Recognized, leaf, recognize};
