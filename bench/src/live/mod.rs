//! Answers that follow every commit: ours beside differential-dataflow, FlowLog, PyMeTTa and asking DuckDB anew.
//!
//! 1. A graph is stated, a query is followed, and then edges come and go. A round is N commits; both sides get the same ones, and go
//!    on where the round before ended, so that neither can remember an answer.
//! 2. Our side commits to a knowledge base in memory, with its journal, and takes what each commit changes from a subscription. A commit is
//!    handed atoms; that of differential-dataflow is two numbers that go into an input, and one step of its worker.
//! 3. The checksum is how many answers came and went, or how many there are.

mod aggregates;
mod base;
mod dataflow;
mod durable;
mod flowlog;
mod followed;
mod graph;
mod joins;
mod kept;
mod recursion;
mod sides;

use crate::{Part, Plan, Rows};

const SUITE: &str = "live";
/// The rounds of a comparison.
const ROUNDS: usize = 5;

const PARTS: &[Part] = &[
    ("joins", joins::rows),
    ("closure", recursion::rows),
    ("aggregates", aggregates::rows),
    ("registered", followed::rows),
    ("durable", durable::rows),
    ("resumed", kept::rows),
];

pub(crate) fn run(plan: &Plan) -> Rows {
    crate::rows_of(SUITE, PARTS, plan)
}
