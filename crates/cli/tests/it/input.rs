//! Bad input: a clear message with place and next step, the right exit code, and what was complete is printed.

use crate::harness::{file, run, run_with_input};

#[test]
fn results_before_a_parse_error_are_printed() {
    let ended = run_with_input(&["run", "-"], b"!(+ 1 2)\n!(foo (bar 1)\n");
    assert_eq!((ended.code, ended.out.as_str()), (Some(3), "[3]\n"));
    assert!(ended.err.contains("Unexpected end of expression"), "{}", ended.err);
    assert!(ended.err.contains("standard input:2:2") && ended.err.contains('^'), "{}", ended.err);
    assert!(ended.err.contains("help:"), "{}", ended.err);
}

#[test]
fn a_bracket_too_many_is_shown() {
    let ended = run_with_input(&["run", "-"], b"!(+ 1 2))\n");
    assert_eq!((ended.code, ended.out.as_str()), (Some(3), "[3]\n"));
    assert!(ended.err.contains("Unexpected right bracket") && ended.err.contains(":1:9"), "{}", ended.err);
}

#[test]
fn deep_brackets_work_and_deep_unbalanced_ones_are_an_error() {
    for depth in [100_000, 1_000_000] {
        let balanced = format!("!(quote {}{})", "(".repeat(depth), ")".repeat(depth));
        let ended = run_with_input(&["run", "-"], balanced.as_bytes());
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
        assert_eq!(ended.out.len(), "[(quote )]\n".len() + 2 * depth);
        let ended = run_with_input(&["run", "-"], "(".repeat(depth).as_bytes());
        assert_eq!(ended.code, Some(3));
        assert!(ended.err.contains("Unexpected end of expression") && ended.err.len() < 4_000, "{}", ended.err);
    }
}

#[test]
fn what_is_no_text_is_said_with_its_place() {
    let ended = run_with_input(&["run", "-"], b"!(+ 1 2)\n\xff\xfe");
    assert_eq!(ended.code, Some(3));
    assert!(ended.err.contains("UTF-8"), "{}", ended.err);
    let ended = run_with_input(&["run", "-"], b"!(+ 1 2)\n(a \0 b)");
    assert_eq!((ended.code, ended.out.as_str()), (Some(3), "[3]\n"));
    assert!(ended.err.contains("NUL"), "{}", ended.err);
}

#[test]
fn a_missing_file_is_a_wrong_use() {
    let ended = run(&["run", "no/such/program.metta"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("no/such/program.metta") && ended.err.contains("help:"), "{}", ended.err);
    assert_eq!(run(&["run", env!("CARGO_TARGET_TMPDIR")]).code, Some(2));
}

#[test]
fn a_missing_import_names_the_files_tried() {
    let ended = run(&["run", "-e", "!(import! &self nowhere)"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.contains("nowhere.metta or nowhere/module.metta"), "{}", ended.out);
}

#[test]
fn a_circular_import_shows_the_circle() {
    let program = file("circular", "program.metta", "!(import! &self one)");
    file("circular", "one.metta", "!(import! &self two)");
    file("circular", "two.metta", "!(import! &self one)");
    let ended = run(&["run", &program.to_string_lossy()]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.contains("circular import"), "{}", ended.out);
}

#[test]
fn a_bang_without_a_space_is_warned_of() {
    let ended = run(&["run", "-e", "!foo"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""));
    assert!(ended.err.contains("warning") && ended.err.contains("! foo"), "{}", ended.err);
}

#[test]
fn messages_for_no_terminal_have_no_colours() {
    let ended = run_with_input(&["run", "-"], b"(a");
    assert!(!ended.err.contains('\u{1b}'), "{:?}", ended.err);
}
