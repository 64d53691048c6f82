//! The examples run to their end, and what they assert holds.

use crate::harness::{files, output, read, root};
use metroon::RunEnd;

/// Needs data that `cargo xtask wordnet` makes; `cargo xtask test` runs it where the data is.
const NEEDS_DATA: &str = "wordnet.metta";

#[test]
fn every_example_runs_to_its_end() {
    let mut run = 0;
    for example in files(&root().join("examples"), "metta") {
        if example.ends_with(NEEDS_DATA) {
            continue;
        }
        let (output, end) = output(&root(), &read(&example));
        assert!(matches!(end, RunEnd::Finished), "{} ended with {end:?}:\n{output}", example.display());
        assert!(output.contains("[()]"), "{} asserts nothing", example.display());
        run += 1;
    }
    assert!(run >= 3, "only {run} examples were run");
}
