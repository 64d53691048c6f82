//! Running a program on the files of a folder, its output kept.

use metroon::run::Reporter;
use metroon::world::{MemoryOutput, WorldError};
use metroon::{Engine, Evaluator, FormAnswer, MemoryWorld, RunEnd, World, syntax};
use std::fs;
use std::path::{Path, PathBuf};

/// A program that asks for more than this runs in circles.
pub(crate) const STEPS_MAX: u64 = 20_000_000;

/// Folders that hold no programs of ours.
const OTHERS: [&str; 5] = ["target", "data", ".git", "crates", "libraries"];

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// How many cases a test goes on at a time: one if `METROON_EXHAUSTIVE` is set, as a step of `cargo xtask test --all` does, otherwise `usual`.
pub(crate) fn one_of(usual: usize) -> usize {
    if std::env::var_os("METROON_EXHAUSTIVE").is_some() { 1 } else { usual }
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

/// The programs in a folder and below it, by their paths from there.
pub(crate) fn programs(folder: &Path, below: &str, world: MemoryWorld) -> MemoryWorld {
    let entries = fs::read_dir(folder.join(below)).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.fold(world, |world, entry| {
        let entry = entry.expect("a folder can be listed");
        let name = entry.file_name().into_string().expect("names are UTF-8");
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if entry.path().is_dir() {
            return if OTHERS.contains(&name.as_str()) { world } else { programs(folder, &path, world) };
        }
        if name.ends_with(".metta") { world.with_source(&path, read(&entry.path())) } else { world }
    })
}

pub(crate) fn print_answer(world: &mut dyn World, answer: &FormAnswer<'_>) -> Result<(), WorldError> {
    let results: Vec<String> = answer.results.iter().map(ToString::to_string).collect();
    world.print(&format!("[{}]", results.join(", ")))
}

/// What was printed, as one text.
pub(crate) fn text_of(output: &MemoryOutput) -> String {
    output.printed().into_iter().map(|line| line + "\n").collect()
}

/// A program's text up to the middle of its forms, and the rest.
pub(crate) fn halves(text: &str) -> (&str, &str) {
    let parsed = syntax::parse(text);
    let forms = parsed.forms_before_error();
    let middle =
        forms.get(forms.len() / 2).map_or(text.len(), |form| form.bang_span.unwrap_or(form.span).start as usize);
    text.split_at(middle)
}

/// Hears nothing.
pub(crate) struct Nobody;

impl Reporter for Nobody {
    fn diagnostic(&mut self, _: &str, _: &syntax::LineIndex<'_>, _: &syntax::Diagnostic) {}
}

/// What a program prints, with a library that lacks some names, and how its run ended.
pub(crate) fn output_without(folder: &Path, text: &str, missing: &[&str]) -> (String, RunEnd) {
    output_with(Evaluator::default(), folder, text, missing)
}

/// What a program prints, evaluated in this way, with a library that lacks some names, and how its run ended.
pub(crate) fn output_with(evaluator: Evaluator, folder: &Path, text: &str, missing: &[&str]) -> (String, RunEnd) {
    output_within(STEPS_MAX, evaluator, folder, text, missing)
}

/// What a program prints in this many steps at most, and how its run ended.
pub(crate) fn output_within(
    steps_max: u64,
    evaluator: Evaluator,
    folder: &Path,
    text: &str,
    missing: &[&str],
) -> (String, RunEnd) {
    let world = programs(folder, "", MemoryWorld::default());
    let printed = world.output();
    let mut engine = Engine::without(world, missing);
    engine.session_mut().set_evaluator(evaluator);
    engine.limits_mut().steps_max = Some(steps_max);
    let run = engine.run_text(text, &mut print_answer);
    drop(engine);
    (text_of(&printed), run.end)
}

/// What a program prints, and how its run ended.
pub(crate) fn output(folder: &Path, text: &str) -> (String, RunEnd) {
    output_without(folder, text, &[])
}
