//! The programs shown in documents print what the documents say.
//!
//! A block marked `metta` is a program. In the README the next block that is not marked is its output. In pages about the language, a line of
//! the program that begins with `; ` is a line of its output.

use crate::harness::{output, output_with, read, root};
use metroon::Evaluator;

struct Shown {
    program: String,
    output: String,
}

/// The programs of a document with the outputs shown after them.
fn shown(document: &str) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    let mut blocks = document.split("```").skip(1).step_by(2);
    while let Some(block) = blocks.next() {
        let Some(program) = block.strip_prefix("metta\n") else { continue };
        let output = blocks.next().expect("a program is followed by its output");
        shown.push(Shown { program: program.to_owned(), output: output.trim_start_matches("text").trim().to_owned() });
    }
    shown
}

fn check(name: &str) {
    let programs = shown(&read(&root().join(name)));
    assert!(!programs.is_empty(), "{name} shows no program");
    for Shown { program, output: expected } in programs {
        let (actual, _) = output(&root(), &program);
        assert_eq!(actual.trim(), expected, "in {name}, the program\n{program}");
    }
}

#[test]
fn the_readme_shows_what_is_printed() {
    check("README.md");
}

/// What a program of a page says that it prints.
fn said(program: &str) -> String {
    program.lines().filter_map(|line| line.strip_prefix("; ")).map(|line| format!("{line}\n")).collect()
}

/// Compares each program of a page with what it says, by both evaluators; gives how many there are.
fn check_page(name: &str) -> usize {
    let page = read(&root().join(name));
    let blocks: Vec<&str> =
        page.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("metta\n")).collect();
    for program in &blocks {
        for evaluator in [Evaluator::Machine, Evaluator::Interpreter] {
            let (actual, _) = output_with(evaluator, &root().join("examples"), program, &[]);
            assert_eq!(actual, said(program), "in {name}, by the {evaluator:?}, the program\n{program}");
        }
    }
    blocks.len()
}

#[test]
fn the_page_about_the_language_shows_what_is_printed() {
    assert!(check_page("docs/language.md") >= 25);
}

#[test]
fn the_pages_for_people_from_elsewhere_show_what_is_printed() {
    for (name, programs) in [("docs/from-hyperon.md", 3), ("docs/from-prolog.md", 8), ("docs/from-petta.md", 4)] {
        assert!(check_page(name) >= programs, "{name}");
    }
}
