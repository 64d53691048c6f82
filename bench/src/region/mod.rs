//! Region memory: the loops of the report that the region layer is to beat, beside what people allocate with today.
//!
//! 1. [`objects`] says what is allocated: chains of nodes that hold the same values on both sides, so that every node is
//!    consumed (the next one refers to it) and the chain can be read back.
//! 2. [`allocate`], [`life`], [`copies`] and the others are the rows. A row is a [`Contest`]: two sides and what the ratio must be;
//!    whether it is met stands in the row's note.
//! 3. Each round reads back what it made last, outside of the clock, and both sides must have read the same.
//!
//! One "object" is one expression of ours and one node of the peer's. Where their bytes differ, the note says both.

mod allocate;
mod batch;
mod child;
mod copies;
mod escapes;
mod from_c;
mod graph;
mod hashed;
mod life;
mod model;
mod modelled;
mod objects;
mod tethers;

use crate::compare::{Case, Clock, Side, contest};
use crate::row::{Ratio, Row};
use crate::{Part, Plan, Rows, Suite};
use std::error::Error;

const SUITE: &str = "region";
const ROUNDS: usize = 9;

pub(crate) use child::read_rows;

/// Anything that ends the suite.
type Failure = Box<dyn Error>;

const PARTS: &[Part] = &[
    ("allocate", allocate::rows),
    (child::SYSTEM, child::system_rows),
    (MIMALLOC, child::rows),
    ("life", life::rows),
    ("batch", batch::rows),
    ("copies", copies::rows),
    ("escapes", escapes::rows),
    ("tethers", tethers::rows),
    ("model", modelled::rows),
    (from_c::NAME, from_c::rows),
];

/// The part that is a process of its own.
pub(crate) const MIMALLOC: &str = child::NAME;

/// What processes of this program do that the suite starts.
pub(crate) const IN_PROCESSES: &[Suite] = child::SUITES;

/// What that process does.
pub(crate) fn with_mimalloc(plan: &Plan) -> Rows {
    allocate::boxed_rows(plan, MIMALLOC)
}

pub(crate) fn run(plan: &Plan) -> Rows {
    crate::rows_of(SUITE, PARTS, plan)
}

/// A row to be.
struct Contest<'a> {
    name: &'a str,
    /// Operations in a round.
    n: u64,
    peer: &'static str,
    /// What the ratio must be at least, and of which case of the list of musts that is.
    must: Option<(f64, &'a str)>,
    note: &'a str,
}

impl Contest<'_> {
    /// Runs both sides in turn and notes whether the ratio is what it must be.
    fn run(self, plan: &Plan, ours: Side<'_>, peer: Side<'_>) -> Result<Row, Failure> {
        let Contest { name, n, peer: named, must, note } = self;
        let rounds = plan.rounds(ROUNDS);
        let case = Case { suite: SUITE, name: name.to_owned(), n, peer: named, rounds, note: note.to_owned() };
        contest(case, must, ours, peer)
    }
}

/// A row of counts, which do not depend on the machine. Ours must be what is expected.
fn exact(
    name: &str,
    ours: f64,
    peer: &'static str,
    theirs: f64,
    expected: f64,
    unit: &'static str,
) -> Result<Row, Failure> {
    if ours != expected {
        return Err(format!("{name}: {ours}, but {expected} is the promise").into());
    }
    let ratio = (ours > 0.0).then(|| theirs / ours);
    Ok(Row {
        suite: SUITE,
        case: name.to_owned(),
        n: 1,
        ours: Some(ours),
        peer,
        peer_figure: Some(theirs),
        ratio: ratio.map(|ratio| Ratio { median: ratio, min: ratio, max: ratio }),
        rounds: 1,
        unit: Some(unit),
        note: "an exact count, the same on every machine".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{kept_names, names};
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    /// In the system that the report describes the command that ran all of them crashed.
    #[test]
    fn every_bench_runs_small() {
        let plan = Plan { is_quick: true, divisor: 1000, only: None, may_install: false, scratch: PathBuf::new() };
        let mut rows = with_mimalloc(&plan).unwrap();
        // The processes are not there; what they do is.
        for suite in IN_PROCESSES {
            rows.extend((suite.run)(&plan).unwrap());
        }
        rows.extend(from_c::rows_of_lines().unwrap());
        for (_, part) in PARTS.iter().filter(|part| ![MIMALLOC, child::SYSTEM, from_c::NAME].contains(&part.0)) {
            rows.extend(part(&plan).unwrap());
        }
        assert!(rows.len() > 30);
        assert!(rows.iter().all(|row| row.suite == SUITE && (row.ratio.is_some() || row.unit.is_some())));
        let names: BTreeSet<String> = names(&rows).lines().map(str::to_owned).collect();
        let kept = kept_names(SUITE);
        let different: Vec<_> = names.symmetric_difference(&kept).collect();
        assert!(different.is_empty(), "{different:?}: `cargo xtask bench region --quick` writes the list anew");
    }
}
