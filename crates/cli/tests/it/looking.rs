//! `metroon look`: what a file or a folder is, by what it holds.

use crate::cassette_verbs::{content, forms};
use crate::harness::Folder;
use cassette::SealOptions;
use serde_json::Value;
use std::fs;

/// Something of each kind.
fn things(test: &str) -> Folder {
    let folder = forms(test);
    folder.write("town.metta", "(parent Tom Bob)\n(parent Bob Ann)\n!(match &self (parent Tom $x) $x)\n");
    folder.write("facts.csv", "a,b\n");
    folder.write("notes.md", "# Nothing\n");
    folder.good(&["run", "--kb", "base", "town.metta"]);
    folder.good(&["run", "--record", "trip.tape", "town.metta"]);
    folder.good(&["store", "put", "pairs", "one", "1"]);
    content().write(folder.path().join("b.json.gz"), SealOptions::default()).expect("it is written");
    folder
}

fn kind(folder: &Folder, path: &str) -> String {
    let printed = folder.good(&["look", "--json", path]);
    let found: Value = serde_json::from_str(&printed).expect("it is JSON");
    found["kind"].as_str().expect("it has a kind").to_owned()
}

#[test]
fn what_something_is_its_content_says() {
    let folder = things("look-kinds");
    // Names say nothing.
    fs::copy(folder.path().join("trip.tape"), folder.path().join("a.bin")).expect("it can be copied");
    fs::copy(folder.path().join("a.cassette"), folder.path().join("b.bin")).expect("it can be copied");
    let segment = "base/journal/00000000000000000000.segment";
    let kinds = [
        ("base", "knowledge base"),
        ("base/journal", "journal"),
        (segment, "journal in one file"),
        ("trip.tape", "tape of a run"),
        ("a.bin", "tape of a run"),
        ("a.cassette", "cassette"),
        ("b.bin", "cassette"),
        ("b.json.gz", "cassette"),
        ("pairs", "store of keys and values"),
        ("pairs/MANIFEST", "part of what lies in its folder"),
        ("town.metta", "program"),
        ("facts.csv", "table of facts"),
        (".", "folder"),
    ];
    for (path, expected) in kinds {
        assert_eq!(kind(&folder, path), expected, "{path}");
    }
}

#[test]
fn a_look_counts_and_names_commands() {
    let folder = things("look-counts");
    let shown = folder.good(&["look", "base"]);
    let mut lines = shown.lines();
    assert!(
        lines.next().is_some_and(|line| line.starts_with("base: a knowledge base: 2 atoms, 1 commit, state ")),
        "{shown}"
    );
    assert_eq!(lines.next(), Some("  metroon kb query base PATTERN  the atoms that match"));
    assert!(folder.good(&["look", "a.cassette"]).starts_with("a.cassette: a cassette: 3 exchanges, form cassette\n"));
    assert!(folder.good(&["look", "town.metta"]).starts_with("town.metta: a program: 3 forms\n"));
}

#[test]
fn what_is_damaged_or_unknown_is_told() {
    let folder = things("look-damage");
    let whole = fs::read(folder.path().join("b.json.gz")).expect("it is there");
    fs::write(folder.path().join("cut.json.gz"), &whole[..whole.len() / 2]).expect("it can be written");
    fs::write(folder.path().join("base/MANIFEST"), "rubbish").expect("it can be written");
    folder.write("my 'town'.metta", "(a)\n");
    assert!(folder.good(&["look", "my 'town'.metta"]).contains("  metroon run 'my '\\''town'\\''.metta'  "));
    for (path, kind, way_out) in [
        ("cut.json.gz", "cut.json.gz: a damaged cassette", "metroon cassette verify cut.json.gz"),
        ("base", "base: a damaged knowledge base", "metroon kb salvage base --to NEW"),
    ] {
        let ended = folder.run(&["look", path]);
        assert_eq!(ended.code, Some(4), "{}", ended.out);
        assert!(
            ended.out.starts_with(kind) && ended.out.contains(way_out) && ended.err.starts_with("error: "),
            "{}",
            ended.out
        );
    }
    let ended = folder.run(&["look", "notes.md"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""), "{}", ended.err);
    let ended = folder.run(&["look", "nowhere"]);
    assert!(ended.code == Some(2) && ended.err.contains("cannot look at nowhere"), "{}", ended.err);
}
