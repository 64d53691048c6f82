//! The programs whose growth is measured, as `xtask/growth/programs.toml` has them, and what they are at a size.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::repository;

/// The table of programs; its beginning says what the keys mean.
#[derive(Debug, Deserialize)]
struct Table {
    program: Vec<Program>,
}

/// One program that has a size.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Program {
    pub(super) name: String,
    /// The size n.
    pub(super) size: usize,
    /// The greatest exponent it may have, if that is not the usual one.
    may: Option<f64>,
    /// The exponent in the interpreter, if that is another one.
    interpreter_may: Option<f64>,
    /// Why it may.
    pub(super) reason: Option<String>,
    /// What is not mended yet, if it is known to grow faster than it may.
    pub(super) unmended: Option<String>,
    #[serde(default)]
    pub(super) fast: bool,
    #[serde(default)]
    machine_only: bool,
    /// The exit status that it ends with.
    #[serde(default)]
    pub(super) ends: i32,
    /// What metroon is told; [`RUN`] if nothing is said.
    command: Option<String>,
    /// Commands before it.
    #[serde(default)]
    prepare: Vec<String>,
    /// `program.metta`.
    text: Option<String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// A file for each number below the size.
    each_file: Option<File>,
}

#[derive(Debug, Deserialize)]
struct File {
    name: String,
    text: String,
}

const RUN: &str = "run program.metta";

/// The part that evaluates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evaluator {
    Machine,
    Interpreter,
}

impl Evaluator {
    pub(super) fn name(self) -> &'static str {
        match self {
            Evaluator::Machine => "machine",
            Evaluator::Interpreter => "interpreter",
        }
    }
}

/// All programs, in the order in which they are listed.
///
/// # Errors
/// The table cannot be read; the message names it.
pub(super) fn read() -> Result<Vec<Program>, String> {
    let path = repository::root().join("xtask").join("growth").join("programs.toml");
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", repository::shown(&path));
    let text = fs::read_to_string(&path).map_err(|error| failed(&error))?;
    let table: Table = toml::from_str(&text).map_err(|error| failed(&error))?;
    Ok(table.program)
}

impl Program {
    /// The greatest exponent that it is listed with, if it is.
    pub(super) fn listed(&self, evaluator: Evaluator) -> Option<f64> {
        match evaluator {
            Evaluator::Machine => self.may,
            Evaluator::Interpreter => self.interpreter_may.or(self.may),
        }
    }

    /// The evaluators that run it. Commands other than the usual one run in one of them.
    pub(super) fn evaluators(&self) -> Vec<Evaluator> {
        match self.machine_only || self.command.is_some() {
            true => vec![Evaluator::Machine],
            false => vec![Evaluator::Machine, Evaluator::Interpreter],
        }
    }

    /// The words of the command that is measured.
    pub(super) fn command(&self, evaluator: Evaluator) -> Vec<String> {
        let mut words = words(self.command.as_deref().unwrap_or(RUN));
        if evaluator == Evaluator::Interpreter {
            words.insert(1, "--interpreter".to_owned());
        }
        words
    }

    /// The words of each command before it.
    pub(super) fn preparations(&self) -> impl Iterator<Item = Vec<String>> {
        self.prepare.iter().map(|command| words(command))
    }

    /// Writes the files of the program at a size.
    ///
    /// # Errors
    /// A file cannot be written; the message names it.
    pub(super) fn write(&self, folder: &Path, size: usize) -> Result<(), String> {
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", repository::shown(&path)))
        };
        if let Some(text) = &self.text {
            write("program.metta", at_size(text, size))?;
        }
        for (name, text) in &self.files {
            write(name, at_size(text, size))?;
        }
        for number in 0..self.each_file.as_ref().map_or(0, |_| size) {
            let Some(File { name, text }) = &self.each_file else { continue };
            write(&counted(name, number), counted(text, number))?;
        }
        Ok(())
    }
}

/// The words of a command: a comma in a word stands for a blank.
fn words(command: &str) -> Vec<String> {
    command.split_whitespace().map(|word| word.replace(',', " ")).collect()
}

/// A text with `{n}`, and with what stands between `<<` and `>>` repeated n times.
fn at_size(text: &str, size: usize) -> String {
    let mut made = String::new();
    let mut rest = text;
    while let Some((before, repeated)) = rest.split_once("<<") {
        let (repeated, behind) = repeated.split_once(">>").expect("what begins with << ends with >>");
        made.push_str(&before.replace("{n}", &size.to_string()));
        made.extend((0..size).map(|number| counted(repeated, number)));
        rest = behind;
    }
    made + &rest.replace("{n}", &size.to_string())
}

fn counted(text: &str, number: usize) -> String {
    let numbers = [("{i}", number), ("{j}", number + 1), ("{k}", number + 2)];
    numbers.iter().fold(text.to_owned(), |text, (name, number)| text.replace(name, &number.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_size_that_is_asked_for() {
        assert_eq!(at_size("<<(>>b<<)>> {n}", 3), "(((b))) 3");
        assert_eq!(at_size("<<{i}-{j}-{k} >>", 2), "0-1-2 1-2-3 ");
    }

    #[test]
    fn a_comma_in_a_command_is_a_blank_of_a_word() {
        assert_eq!(words("why base (fact,7)"), ["why", "base", "(fact 7)"]);
    }
}
