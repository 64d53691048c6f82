//! The module `concurrency`: goals that are independent of each other, in a fixed order.
//!
//! The names are those of PeTTa and MeTTaScript. A run must come to the same results in the same order on any machine and when it is
//! replayed, so goals are evaluated one after another in the order in which they are written: `race` is won by the first of them that has
//! a result, and nobody else can be inside a `with-mutex`.

use super::Bundle;
use crate::effects::Effects;
use crate::operation::{Compatibility, OperationSpec as Spec, Outcome};
use space::Atom;

pub(super) const MODULE: Bundle = Bundle {
    name: "concurrency",
    operations: &[
        Spec::untyped("progn", |call| match call.arguments.last() {
            Some(last) => Outcome::one(last.clone()),
            None => Outcome::unit(),
        })
        .with(Effects::NONE)
        .documented(
            "Evaluates its arguments, as many as there are, from the first to the last.",
            &["Evaluated: the arguments"],
            "What the last one came to; () if there is none",
        )
        .compared(Compatibility::MetroonOnly("of the module `concurrency`; PeTTa has it")),
        Spec::untyped("prog1", |call| match call.arguments.first() {
            Some(first) => Outcome::one(first.clone()),
            None => Outcome::unit(),
        })
        .with(Effects::NONE)
        .documented(
            "Evaluates its arguments, as many as there are, from the first to the last.",
            &["Evaluated: the arguments"],
            "What the first one came to; () if there is none",
        )
        .compared(Compatibility::MetroonOnly("of the module `concurrency`; PeTTa has it")),
        Spec::typed("_put-first", "(-> Atom Atom Atom)", |call| match call.arguments {
            [first, others] => match others.children() {
                Some(others) => Outcome::one(Atom::expression([std::slice::from_ref(first), others].concat())),
                None => Outcome::failure("a tuple is expected as the second argument"),
            },
            _ => Outcome::failure("an atom and a tuple are expected"),
        })
        .with(Effects::NONE)
        .documented("A tuple with a child more, its first.", &["Raw: the child", "Raw: the tuple"], "The longer tuple")
        .compared(Compatibility::MetroonOnly("called by `par`")),
    ],
    values: &[],
    source: include_str!("concurrency.metta"),
    yields: true,
};
