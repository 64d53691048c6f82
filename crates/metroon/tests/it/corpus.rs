//! The corpus: every program of `corpus/` prints what its `.expected` file holds, and needs each name it covers.

use crate::harness::{files, first_difference, output_with, output_without, read, root};
use metroon::Evaluator;
use std::path::{Path, PathBuf};

fn corpus() -> PathBuf {
    root().join("corpus")
}

fn expected(program: &Path) -> String {
    read(&program.with_extension("expected"))
}

#[test]
fn every_program_prints_what_is_expected() {
    check_every_program(Evaluator::Machine);
}

#[test]
fn every_program_prints_what_is_expected_interpreted() {
    check_every_program(Evaluator::Interpreter);
}

fn check_every_program(evaluator: Evaluator) {
    let mut failures = Vec::new();
    for program in files(&corpus(), "metta") {
        let (actual, end) = output_with(evaluator, &corpus(), &read(&program), &[]);
        let expected = expected(&program);
        if actual != expected {
            let difference = first_difference(&expected, &actual);
            failures.push(format!("{} ({end:?}): {difference}", program.display()));
        }
    }
    assert!(failures.is_empty(), "{} programs differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn the_corpus_is_as_large_as_promised() {
    let programs = files(&corpus(), "metta");
    let is_assertion = |line: &&str| line.replace(' ', "").starts_with("!(assert");
    let total: usize = programs.iter().map(|program| read(program).lines().filter(is_assertion).count()).sum();
    assert!(programs.len() >= 40, "{} programs", programs.len());
    assert!(total >= 300, "{total} assertions");
}

#[test]
fn removing_any_name_makes_a_program_fail() {
    let table = read(&corpus().join("coverage.tsv"));
    let mut unneeded = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let (name, program) = line.split_once('\t').unwrap_or_else(|| panic!("no tab in {line}"));
        let path = corpus().join(program).with_extension("metta");
        if program.starts_with("recall/") {
            continue;
        }
        let (actual, _) = output_without(&corpus(), &read(&path), &[name]);
        if actual == expected(&path) {
            unneeded.push(format!("{program} does not need {name}"));
        }
    }
    assert!(unneeded.is_empty(), "{}", unneeded.join("\n"));
}
