//! The programs shown in documents print what the documents say.
//!
//! A block marked `metta` is a program; the next block that is not marked is its output.

use crate::harness::{output, read, root};

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
