//! `cargo xtask conformance --oracle`: the programs of the corpus in Hyperon and in the engine, form by form.
//!
//! 1. Each program runs in the folder of the corpus, in the package from PyPI and by the machine.
//! 2. The results of each form are compared as multisets, variables renamed. Hyperon ends at a form with an error, and so does a run here.
//! 3. The first form that differs is shown with the reason that `docs/compat.md` gives for the program. A program that differs without a reason
//!    is a failure, and so is a reason for a program that does not differ.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::hyperon::{self, Hyperon, Ran};
use super::{Answers, LIMIT, forms_of, without_order};
use crate::{Outcome, conformance, process, repository};

/// The part of docs/compat.md that has a line for each program that differs.
const PART: &str = "## Programs of the corpus that differ";

/// Compares all programs.
///
/// # Errors
/// Hyperon is not there or does not answer, or a file cannot be read.
pub(crate) fn run(program: Option<&Path>) -> Result<Outcome, String> {
    if !hyperon::is_there() {
        return Err(hyperon::how_to_get());
    }
    let program = conformance::given_or_built(program)?;
    let mut reasons = reasons(&read(&repository::root().join("docs").join("compat.md"))?);
    let mut process = Hyperon::start_in(&folder())?;
    let (mut same, mut explained, mut unexplained) = (0, 0, 0);
    for path in programs()? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = generate::one_form_a_line(&read(&path)?);
        let theirs = process.run(&text)?;
        if matches!(theirs, Ran::Stopped) {
            // How far it comes in the time it has is a matter of the machine.
            println!("{name}: takes too long in hyperon");
            reasons.remove(&name);
            continue;
        }
        let Some(difference) = difference(&theirs, &ours(&program, &path)?) else {
            same += 1;
            continue;
        };
        match reasons.remove(&name) {
            Some(reason) => {
                explained += 1;
                println!("{name}: {reason}\n  {difference}");
            }
            None => {
                unexplained += 1;
                println!("{name}: NO REASON in docs/compat.md, {PART}\n  {difference}");
            }
        }
    }
    for name in reasons.keys() {
        println!("{name}: comes to the same, and docs/compat.md says that it differs");
    }
    println!("{same} programs come to the same in hyperon, {explained} differ for a reason, {unexplained} without");
    Ok(if unexplained == 0 && reasons.is_empty() { Outcome::Good } else { Outcome::Bad })
}

fn folder() -> PathBuf {
    repository::root().join("corpus")
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", repository::shown(path)))
}

/// The programs, in alphabetical order.
fn programs() -> Result<Vec<PathBuf>, String> {
    let unread = |error| format!("cannot read {}: {error}", repository::shown(&folder()));
    let entries = fs::read_dir(folder()).map_err(unread)?;
    let mut paths = entries.map(|entry| Ok(entry.map_err(unread)?.path())).collect::<Result<Vec<_>, String>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "metta"));
    paths.sort();
    Ok(paths)
}

/// Why programs differ, by their names: the lines `` - `name`: reason `` of the part.
fn reasons(page: &str) -> BTreeMap<String, String> {
    let part = page.split_once(PART).map_or("", |(_, rest)| rest.split_once("\n## ").map_or(rest, |(part, _)| part));
    let reason = |line: &str| {
        let (name, reason) = line.strip_prefix("- `")?.split_once("`: ")?;
        Some((name.to_owned(), reason.to_owned()))
    };
    part.lines().filter_map(reason).collect()
}

/// What the machine makes of a program.
fn ours(program: &Path, path: &Path) -> Result<Answers, String> {
    let mut command = Command::new(program);
    command.current_dir(folder()).args(["run", "--json", "--no-notes"]).args(path.file_name());
    Ok(forms_of(&process::bounded(&mut command, LIMIT)?.stdout))
}

/// The first form that differs, with what both made of it.
fn difference(theirs: &Ran, ours: &Answers) -> Option<String> {
    let (theirs, end) = match theirs {
        Ran::Finished(answers) => (forms_alone(answers), None),
        Ran::Stopped => (Vec::new(), Some("takes too long")),
        Ran::Ended => (Vec::new(), Some("ends its process")),
    };
    let ours = forms_alone(ours);
    if let Some(end) = end {
        return Some(format!("hyperon {end}"));
    }
    let place = (0..theirs.len().max(ours.len())).find(|&place| theirs.get(place) != ours.get(place))?;
    let shown = |forms: &[String]| forms.get(place).map_or("nothing", String::as_str).to_owned();
    Some(format!("form {}: hyperon {}, metroon {}", place + 1, shown(&theirs), shown(&ours)))
}

/// A line for each form. What was printed is left out: Hyperon prints it before all results.
fn forms_alone(answers: &Answers) -> Vec<String> {
    without_order(&Answers { forms: answers.forms.clone(), printed: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_the_lines_of_their_part() {
        let page = format!(
            "- `other`: no\n\n{PART}\n\nText.\n\n- `a-b`: for `x`: see there\n- `c`: so\n\n## Next\n- `d`: no\n"
        );
        let found = reasons(&page);
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [("a-b".to_owned(), "for `x`: see there".to_owned()), ("c".to_owned(), "so".to_owned())]
        );
    }

    #[test]
    fn the_first_form_that_differs_is_shown() {
        let answers = |forms: &[&[&str]]| Answers {
            forms: forms.iter().map(|form| form.iter().map(|text| (*text).to_owned()).collect()).collect(),
            printed: Vec::new(),
        };
        let one = answers(&[&["1"], &["a", "b"]]);
        assert_eq!(difference(&Ran::Finished(answers(&[&["1"], &["b", "a"]])), &one), None);
        let other = difference(&Ran::Finished(answers(&[&["1"], &["a"]])), &one);
        assert_eq!(other.as_deref(), Some("form 2: hyperon [a], metroon [a, b]"));
        assert_eq!(difference(&Ran::Ended, &one).as_deref(), Some("hyperon ends its process"));
        assert!(
            difference(&Ran::Finished(answers(&[&["1"]])), &one).is_some_and(|text| text.contains("hyperon nothing"))
        );
    }

    #[test]
    fn each_reason_is_for_a_program_of_the_corpus() {
        let page = read(&repository::root().join("docs").join("compat.md")).unwrap();
        let reasons = reasons(&page);
        assert!(reasons.len() > 20, "{PART} has no lines");
        for name in reasons.keys() {
            assert!(folder().join(name).with_extension("metta").is_file(), "there is no program {name}");
        }
    }
}
