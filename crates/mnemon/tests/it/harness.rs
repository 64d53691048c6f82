//! Running a program on the files of a folder, its output kept.

use mnemon::{Engine, FormAnswer, RunEnd, World, WorldError};
use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A program that asks for more than this runs in circles.
const STEPS_MAX: u64 = 20_000_000;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files with an ending in a folder, in alphabetical order.
pub(crate) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("a folder can be listed").path());
    let mut found: Vec<_> = paths.filter(|path| path.extension().is_some_and(|found| found == ending)).collect();
    found.sort();
    found
}

/// A text file's content.
pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files of a folder, and an output that is kept.
struct FolderWorld {
    folder: PathBuf,
    printed: Rc<RefCell<String>>,
}

impl World for FolderWorld {
    fn print(&mut self, line: &str) -> Result<(), WorldError> {
        let mut printed = self.printed.borrow_mut();
        printed.push_str(line);
        printed.push('\n');
        Ok(())
    }

    fn trace(&mut self, _line: &str) {}

    fn read_source(&mut self, path: &str) -> Result<Vec<u8>, WorldError> {
        fs::read(self.folder.join(path)).map_err(|_| WorldError::NotFound { path: path.to_owned() })
    }

    fn has_source(&mut self, path: &str) -> bool {
        self.folder.join(path).is_file()
    }
}

fn print_answer(world: &mut dyn World, answer: &FormAnswer<'_>) -> Result<(), WorldError> {
    let results: Vec<String> = answer.results.iter().map(ToString::to_string).collect();
    world.print(&format!("[{}]", results.join(", ")))
}

/// What a program prints, with a library that lacks some names, and how its run ended.
pub(crate) fn output_without(folder: &Path, text: &str, missing: &[&str]) -> (String, RunEnd) {
    let printed = Rc::default();
    let world = FolderWorld { folder: folder.to_owned(), printed: Rc::clone(&printed) };
    let mut engine = Engine::without(world, missing);
    engine.limits_mut().steps_max = Some(STEPS_MAX);
    let run = engine.run_text(text, &mut print_answer);
    let output = printed.borrow().clone();
    (output, run.end)
}

/// What a program prints, and how its run ended.
pub(crate) fn output(folder: &Path, text: &str) -> (String, RunEnd) {
    output_without(folder, text, &[])
}

/// The first line in which two outputs differ.
pub(crate) fn first_difference(expected: &str, actual: &str) -> String {
    let mut lines = expected.lines().zip(actual.lines()).enumerate();
    match lines.find(|(_, (expected, actual))| expected != actual) {
        Some((number, (expected, actual))) => {
            format!("line {}:\n  expected {expected}\n  got      {actual}", number + 1)
        }
        None => format!("{} lines expected, {} got", expected.lines().count(), actual.lines().count()),
    }
}
