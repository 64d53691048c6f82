//! Typical mistakes, tried as a new user would: what `metroon run --notes` and `metroon check` print of each, word for word.
//!
//! Each is a program in `tests/mistakes/`, with what is printed beside it. With `METROON_BLESS=1` the files are written anew; read what
//! has changed in them before it is kept.

use crate::harness::{Ended, command, wait};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mistakes"))
}

fn printed(arguments: &[&str], file: &str) -> Ended {
    let mut command = command(&[arguments, &[file]].concat());
    wait(command.current_dir(folder()).spawn().expect("the binary runs"))
}

/// What a program of the folder prints, in both ways.
fn snapshot(file: &str) -> String {
    let mut text = String::new();
    // What never ends is to end soon.
    let run = ["run", "--notes", "--steps", "1000000"];
    for (said, arguments) in [("run --notes", &run[..]), ("check", &["check"][..])] {
        let Ended { code, out, err } = printed(arguments, file);
        let code = code.map_or("none".to_owned(), |code| code.to_string());
        writeln!(text, "$ metroon {said} {file}\n{out}{err}exit code {code}\n").expect("a string takes all");
    }
    text
}

fn programs() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).expect("the folder is there");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"));
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".metta")).collect();
    names.sort();
    names
}

#[test]
fn each_mistake_reads_as_it_did() {
    let is_updating = std::env::var_os("METROON_BLESS").is_some();
    let mut differing = Vec::new();
    for file in programs() {
        let path = folder().join(&file).with_extension("txt");
        let text = snapshot(&file);
        match is_updating {
            true => std::fs::write(&path, text).expect("a file can be written"),
            false if std::fs::read_to_string(&path).ok().as_ref() != Some(&text) => differing.push((file, text)),
            false => {}
        }
    }
    let told: Vec<String> = differing.iter().map(|(file, text)| format!("{file}:\n{text}")).collect();
    assert!(differing.is_empty(), "these read otherwise; METROON_BLESS=1 writes them:\n{}", told.join("\n"));
}

/// The codes of the diagnostics that a source of a crate makes.
fn codes_in(path: &std::path::Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(path).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            codes_in(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("tests.rs") {
            let text = std::fs::read_to_string(&path).expect("a source is text");
            for start in ["Diagnostic::error(", "Diagnostic::warning(", "Diagnostic::note("] {
                let after = text.split(start).skip(1).filter_map(|after| after.trim_start().strip_prefix('"'));
                found.extend(after.filter_map(|after| Some(after.split_once('"')?.0.to_owned())));
            }
        }
    }
}

#[test]
fn every_diagnostic_has_a_snapshot() {
    let mut codes = BTreeSet::new();
    for source in ["metta/src", "metroon/src"] {
        codes_in(&PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(source), &mut codes);
    }
    assert!(codes.len() > 20, "the sources are searched: {codes:?}");
    let files = programs().into_iter().map(|file| folder().join(file).with_extension("txt"));
    let texts: Vec<String> = files.filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    // What only bytes that are no text, or very long texts, are told of is in `messages.rs` and the tests of the parser; what the file of
    // a package is told of, in `packages.rs` and on its page.
    let elsewhere = ["invalid-utf8", "nul-byte", "long-integer", "more-diagnostics", "source-too-long", "package"];
    let lacking: Vec<&String> = codes
        .iter()
        .filter(|code| !elsewhere.contains(&code.as_str()))
        .filter(|code| !texts.iter().any(|text| text.contains(&format!("[{code}]"))))
        .collect();
    assert!(lacking.is_empty(), "add a program to tests/mistakes for each of {lacking:?}");
}
