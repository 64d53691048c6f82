//! The corpus: every program of `corpus/` prints what its `.expected` file holds, and needs each name it covers.

use mnemon::{Engine, FormAnswer, RunEnd, World, WorldError};
use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A program that asks for more than this runs in circles.
const STEPS_MAX: u64 = 20_000_000;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

fn programs() -> Vec<PathBuf> {
    let entries = fs::read_dir(corpus()).expect("the corpus is there");
    let files = entries.map(|entry| entry.expect("the corpus can be listed").path());
    let mut programs: Vec<_> = files.filter(|path| path.extension().is_some_and(|ending| ending == "metta")).collect();
    programs.sort();
    programs
}

/// The files of the corpus, and an output that is kept.
#[derive(Default)]
struct CorpusWorld {
    printed: Rc<RefCell<String>>,
}

impl World for CorpusWorld {
    fn print(&mut self, line: &str) -> Result<(), WorldError> {
        let mut printed = self.printed.borrow_mut();
        printed.push_str(line);
        printed.push('\n');
        Ok(())
    }

    fn trace(&mut self, _line: &str) {}

    fn read_source(&mut self, path: &str) -> Result<Vec<u8>, WorldError> {
        fs::read(corpus().join(path)).map_err(|_| WorldError::NotFound { path: path.to_owned() })
    }

    fn has_source(&mut self, path: &str) -> bool {
        corpus().join(path).is_file()
    }
}

fn print_answer(world: &mut dyn World, answer: &FormAnswer<'_>) -> Result<(), WorldError> {
    let results: Vec<String> = answer.results.iter().map(ToString::to_string).collect();
    world.print(&format!("[{}]", results.join(", ")))
}

/// What a program prints, with a library that lacks some names.
fn output(program: &Path, missing: &[&str]) -> (String, RunEnd) {
    let world = CorpusWorld::default();
    let printed = Rc::clone(&world.printed);
    let mut engine = Engine::without(world, missing);
    engine.limits_mut().steps_max = Some(STEPS_MAX);
    let text = fs::read_to_string(program).expect("a program is a text");
    let run = engine.run_text(&text, &mut print_answer);
    let printed = printed.borrow().clone();
    (printed, run.end)
}

fn expected(program: &Path) -> String {
    let file = program.with_extension("expected");
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
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

#[test]
fn every_program_prints_what_is_expected() {
    let mut failures = Vec::new();
    for program in programs() {
        let (actual, end) = output(&program, &[]);
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
    let programs = programs();
    let assertions = |program: &PathBuf| {
        let text = fs::read_to_string(program).expect("a program is a text");
        text.lines().filter(|line| line.replace(' ', "").starts_with("!(assert")).count()
    };
    let total: usize = programs.iter().map(assertions).sum();
    assert!(programs.len() >= 40, "{} programs", programs.len());
    assert!(total >= 300, "{total} assertions");
}

#[test]
fn removing_any_name_makes_a_program_fail() {
    let table = fs::read_to_string(corpus().join("coverage.tsv")).expect("the table of names is there");
    let mut unneeded = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let (name, program) = line.split_once('\t').unwrap_or_else(|| panic!("no tab in {line}"));
        let path = corpus().join(program);
        let (actual, _) = output(&path, &[name]);
        if actual == expected(&path) {
            unneeded.push(format!("{program} does not need {name}"));
        }
    }
    assert!(unneeded.is_empty(), "{}", unneeded.join("\n"));
}
