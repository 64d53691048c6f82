//! Reactive state: pages that follow from others, beside libraries for incremental computation and beside what the system takes.
//!
//! 1. [`sheets`] makes the same pages in ours, in salsa and in incremental: chains, fans, diamonds, with the same functions; [`differential`]
//!    makes the chains and fans in differential-dataflow.
//! 2. [`waves`] changes one page and looks at what follows. A page is 1 KiB; the images that are written come round again, so making them
//!    costs nothing. Each side sums up what the last page holds.
//! 3. [`log`] compares commits that are logged with the bare `write()` of as many bytes, and [`history`] opening with reading.
//! 4. [`report`] sets ours beside what the report published of another machine: workloads, not machines, are compared.
//! 5. [`counts`] has what does not depend on the machine.
//!
//! The libraries keep no log; where ours has one, the note says so.

mod counts;
mod differential;
mod history;
mod log;
mod report;
mod sheets;
mod waves;

use crate::{Part, Plan, Rows};
use std::error::Error;

const SUITE: &str = "reactive";
const ROUNDS: usize = 9;
/// How long a page is.
const PAGE_BYTES: usize = 1 << 10;

const PARTS: &[Part] = &[
    ("waves", waves::rows),
    ("log", log::rows),
    ("history", history::rows),
    ("report", report::rows),
    ("counts", counts::rows),
];

/// Anything that ends the suite.
type Failure = Box<dyn Error + Send + Sync>;

/// Runs the suite. salsa goes down its chains by recursion, which takes stack.
pub(crate) fn run(plan: &Plan) -> Rows {
    const STACK_BYTES: usize = 256 << 20;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let rows =
            thread.spawn_scoped(scope, || crate::rows_of(SUITE, PARTS, plan).map_err(|error| error.to_string()))?;
        let rows = rows.join().map_err(|_| "the suite panicked")?;
        Ok(rows?)
    })
}

/// The images that pages are written with, in turn.
fn images(bytes: usize) -> Vec<Vec<u8>> {
    (0..16).map(|number| crate::journal::payload(number + 1, bytes)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{kept_names, names};
    use std::collections::BTreeSet;

    #[test]
    fn every_part_runs_small() {
        let scratch = std::env::temp_dir().join(format!("metroon-bench-reactive-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).unwrap();
        let plan = Plan { is_quick: true, divisor: 1000, only: None, may_install: false, scratch: scratch.clone() };
        let rows = run(&plan).unwrap();
        std::fs::remove_dir_all(scratch).unwrap();
        let names: BTreeSet<String> = names(&rows).lines().map(str::to_owned).collect();
        let kept = kept_names(SUITE);
        let different: Vec<_> = names.symmetric_difference(&kept).collect();
        assert!(different.is_empty(), "{different:?}: `cargo xtask bench reactive --quick` writes the list anew");
    }
}
