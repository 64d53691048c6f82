//! The programs of the corpus and what they are expected to print.

use crate::harness::{files, read, root};
use libtest_mimic::Failed;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder for what programs print. `cargo xtask corpus --accept` names one, and takes the outputs from there.
const OUTPUTS: &str = "METROON_CORPUS_OUTPUTS";
const PROGRAMS_MIN: usize = 162;
const ASSERTIONS_MIN: usize = 2000;

pub(crate) fn corpus() -> PathBuf {
    root().join("corpus")
}

/// The names of the programs in a folder of the corpus, as they are called from `corpus`, without their ending.
pub(crate) fn names(folder: &str) -> Vec<String> {
    let stem = |path: PathBuf| path.file_stem().expect("a program has a name").to_string_lossy().into_owned();
    files(&corpus().join(folder), "metta").into_iter().map(stem).collect()
}

/// Compares what a program printed with its `.expected` file.
pub(crate) fn compare(program: &str, printed: &str) -> Result<(), Failed> {
    let path = corpus().join(program).with_extension("expected");
    let expected = fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    match printed == expected {
        true => Ok(()),
        false => Err(format!("{program}.metta: {}", first_difference(&expected, printed)).into()),
    }
}

/// The first line in which two outputs differ.
fn first_difference(expected: &str, actual: &str) -> String {
    let mut lines = expected.lines().zip(actual.lines()).enumerate();
    match lines.find(|(_, (expected, actual))| expected != actual) {
        Some((number, (expected, actual))) => {
            format!("line {}:\n  expected {expected}\n  got      {actual}", number + 1)
        }
        None => format!("{} lines expected, {} got", expected.lines().count(), actual.lines().count()),
    }
}

/// Keeps what a program printed where somebody wants to see it.
pub(crate) fn keep(program: &str, printed: &str) {
    if let Some(folder) = std::env::var_os(OUTPUTS) {
        let path = Path::new(&folder).join(program).with_extension("expected");
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder can be made");
        fs::write(path, printed).expect("a file can be written");
    }
}

pub(crate) fn are_as_many_as_promised() -> Result<(), Failed> {
    let programs = files(&corpus(), "metta");
    let is_assertion = |line: &&str| line.replace(' ', "").starts_with("!(assert");
    let total: usize = programs.iter().map(|program| read(program).lines().filter(is_assertion).count()).sum();
    assert!(programs.len() >= PROGRAMS_MIN, "{} programs", programs.len());
    assert!(total >= ASSERTIONS_MIN, "{total} assertions");
    Ok(())
}
