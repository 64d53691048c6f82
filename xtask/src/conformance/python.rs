//! Which of hyperon's own tests for Python pass against `metroon.hyperon`, or of those of a package that is written for hyperon.
//!
//! 1. The wheel is built and installed as for the tests of the package.
//! 2. pytest runs the folder with `metroon.hyperon.install()` called first, and prints a line for each test.
//! 3. What failed is compared with [`KNOWN`]: each test there has its reason, and one that passes after all is a finding too.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::{Outcome, process, python};

const LIMIT: Duration = Duration::from_secs(300);

/// Tests that do not pass, with why.
const KNOWN: &[(&str, &str)] = &[
    (
        "test_grounded_type.py::GroundedTypeTest::test_string_repr",
        "a string that Python gives is the engine's, and is written as the engine writes it",
    ),
    // Of metta-motto. The scripts before the one that asks pass.
    ("test_scripts.py::test_scripts", "its last script asks DBpedia over the network"),
];

const RUN: &str = "import sys, metroon.hyperon as h; h.install(); import pytest; \
                   sys.exit(pytest.main(['-v', '--tb=no', '-p', 'no:cacheprovider', '.']))";

/// Runs the tests of a folder and prints what passes, and what fails with its reason.
///
/// # Errors
/// The package cannot be built, or no test was run.
pub(super) fn check(folder: &Path) -> Result<Outcome, String> {
    let interpreter = python::install()?;
    let mut tests = Command::new(interpreter);
    tests.args(["-B", "-c", RUN]).current_dir(folder);
    let finished = process::bounded(&mut tests, LIMIT)?;
    let found = results(&finished.stdout);
    if found.is_empty() {
        return Err(format!("no test was run in {}:\n{}{}", folder.display(), finished.stdout, finished.stderr));
    }
    let mut is_good = true;
    for (test, result) in &found {
        let known = KNOWN.iter().find(|(known, _)| known == test).map(|(_, reason)| *reason);
        match (result.as_str(), known) {
            ("FAILED" | "ERROR", Some(reason)) => println!("fails   {test}: {reason}"),
            ("FAILED" | "ERROR", None) => {
                is_good = false;
                println!("fails   {test}: nobody knows why");
            }
            ("PASSED", Some(_)) => {
                is_good = false;
                println!("passes  {test}: take it off the list of those that fail");
            }
            (other, _) => println!("{:<7} {test}", if other == "PASSED" { "passes" } else { "skips" }),
        }
    }
    let count = |wanted: &str| found.values().filter(|result| *result == wanted).count();
    println!("{} of {} pass, {} are skipped", count("PASSED"), found.len(), count("SKIPPED"));
    Ok(if is_good { Outcome::Good } else { Outcome::Bad })
}

/// What each test came to.
fn results(output: &str) -> BTreeMap<String, String> {
    let line = |line: &str| {
        let (test, rest) = line.split_once(' ')?;
        let result = rest.split_whitespace().next()?;
        let is_result = matches!(result, "PASSED" | "FAILED" | "ERROR" | "SKIPPED");
        (test.contains("::") && is_result).then(|| (test.to_owned(), result.to_owned()))
    };
    output.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_results_are_read_and_others_are_not() {
        let output = "collected 3 items\n\na.py::A::one PASSED   [ 33%]\na.py::A::two FAILED [ 66%]\n\
                      a.py::A::three SKIPPED (later) [100%]\nFAILED a.py::A::two\n";
        let found = results(output);
        assert_eq!(found.len(), 3);
        assert_eq!(found["a.py::A::two"], "FAILED");
    }
}
