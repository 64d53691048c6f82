//! The corpus: one test for each program and each mode, by name, such as `recorded::peano`.
//!
//! - [`modes`]: each program in each mode that is its turn prints what its `.expected` file holds.
//! - [`past`]: so do the programs about the past of a base.
//! - [`needed`]: each name of the library is needed by the program that `corpus/coverage.tsv` names.
//!
//! `cargo test -p metroon --test corpus recorded::peano` runs one; `cargo xtask corpus --accept` writes expected outputs anew.

#[path = "../it/harness.rs"]
#[allow(dead_code, reason = "the tests of `it` use all of it")]
mod harness;
mod modes;
mod needed;
mod past;
mod programs;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let promised = Trial::test("the_corpus_is_as_large_as_promised", programs::are_as_many_as_promised);
    // The longest test is among the first: without its name that program runs until its steps are used up.
    let are_named = arguments.filter.is_some();
    let trials = [needed::trials(), modes::trials(are_named), past::trials(), vec![promised]];
    libtest_mimic::run(&arguments, trials.into_iter().flatten().collect()).exit_code()
}
