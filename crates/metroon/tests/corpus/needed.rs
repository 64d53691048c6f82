//! Each name that `corpus/coverage.tsv` lists is needed: without it the program beside it prints something else.

use crate::harness::{Nobody, STEPS_MAX, output_within, programs, read, text_of};
use crate::programs::corpus;
use journal::MemoryDisk;
use libtest_mimic::{Failed, Trial};
use metroon::run::RunRequest;
use metroon::storage::CommitJournal;
use metroon::{Engine, Evaluator, MemoryWorld};
use std::sync::Arc;

const PAST: &str = "recall/";

/// Steps that are enough for most programs of the corpus. Without a name, some go on for ever.
const STEPS: u64 = 1_000_000;

pub(crate) fn trials() -> Vec<Trial> {
    let table = read(&corpus().join("coverage.tsv"));
    let rows: Vec<(String, String)> = table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_once('\t').unwrap_or_else(|| panic!("no tab in {line}")))
        .map(|(name, program)| (name.to_owned(), program.to_owned()))
        .collect();
    assert!(rows.iter().any(|(_, program)| program.starts_with(PAST)), "coverage.tsv names no program in {PAST}");
    rows.into_iter()
        .map(|(name, program)| Trial::test(format!("needed::{name}"), move || check(&name, &program)))
        .collect()
}

fn check(name: &str, program: &str) -> Result<(), Failed> {
    let expected = read(&corpus().join(program).with_extension("expected"));
    let printed = match program.strip_prefix(PAST) {
        Some(file) => in_a_base_without(name, file),
        None => without(name, &read(&corpus().join(program).with_extension("metta")), &expected),
    };
    match printed == expected {
        true => Err(format!("{program} does not need {name}").into()),
        false => Ok(()),
    }
}

/// What a program prints without a name, within steps that are enough with it.
fn without(name: &str, text: &str, expected: &str) -> String {
    let within = |steps, missing: &[&str]| output_within(steps, Evaluator::default(), &corpus(), text, missing).0;
    let steps = if within(STEPS, &[]) == expected { STEPS } else { STEPS_MAX };
    within(steps, &[name])
}

/// What a program about the past prints if a name is a symbol like any other, and no module has it.
fn in_a_base_without(name: &str, program: &str) -> String {
    let folder = corpus().join(PAST);
    let file = format!("{program}.metta");
    let text = read(&folder.join(&file))
        .replace(&format!("({name} "), &format!("(lacking-{name} "))
        .replace(&format!("(import! &self {name})"), &format!("(import! &self lacking-{name})"));
    let world = programs(&folder, "", MemoryWorld::default()).with_source(&file, text);
    let output = world.output();
    let base = CommitJournal::on_disk(Arc::new(MemoryDisk::new()), "/kb").expect("the base opens");
    let mut engine = Engine::with_base(world, base).expect("the base loads");
    engine.run_program(&RunRequest { files: vec![file], ..RunRequest::default() }, &mut Nobody);
    text_of(&output)
}
