//! Rules as they are written, for whoever looks through them without evaluating: which rules a function has ([`AskedRules`]), and what
//! an expression of a right side is ([`Shape`]).

mod asked;
mod shape;

pub(crate) use asked::AskedRules;
pub(crate) use shape::{Match, Parts, Reading, Shape, has_no_result};
