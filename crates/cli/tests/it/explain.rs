//! `metroon run --explain`: the code of functions, and the document that shows it.

use crate::harness::{Folder, run};
use std::path::Path;

/// The programs and commands of a document, and what it shows of their runs.
fn document(name: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let blocks = text.split("```").skip(1).step_by(2);
    let kinds = blocks.map(|block| block.split_once('\n').expect("a block has a first line"));
    kinds.map(|(kind, content)| (kind.to_owned(), content.to_owned())).collect()
}

/// Types the commands of a document, which shows what a terminal does, errors after output; gives how many there are.
fn type_commands(name: &str) -> usize {
    let folder = Folder::new(name);
    let mut commands = 0;
    for (kind, content) in document(name) {
        if let Some(name) = kind.strip_prefix("metta ") {
            folder.write(name, &content);
        } else if kind == "console" {
            let (command, output) = content.split_once('\n').expect("a command has an output");
            let arguments: Vec<&str> = command.trim_start_matches("$ metroon ").split(' ').collect();
            let ended = folder.run(&arguments);
            assert_eq!((ended.code, ended.out + &ended.err), (Some(0), output.to_owned()), "{command}");
            commands += 1;
        }
    }
    commands
}

#[test]
fn the_document_of_the_machine_shows_what_is_printed() {
    assert!(type_commands("machine.md") >= 2);
}

#[test]
fn the_document_of_queries_shows_what_is_printed() {
    assert!(type_commands("queries.md") >= 1);
}

#[test]
fn the_document_of_tabling_shows_what_is_printed() {
    assert!(type_commands("tabling.md") >= 3);
}

#[test]
fn nothing_is_evaluated_but_what_words_and_rules_mean() {
    let folder = Folder::new("explain-imports");
    folder.write("lib.metta", "(= (below $x) $x) !(println! (not printed))");
    folder.write("main.metta", "(= (above $x) (below $x)) !(import! &self lib) !(println! (not printed)) !(/ 1 0)");
    let printed = folder.good(&["run", "--explain", "main.metta"]);
    assert!(printed.starts_with("above/1\n  1. (= (above $x) (below $x))\n"), "{printed}");
    assert!(printed.contains("tail-call below/1 ") && !printed.contains("not printed"), "{printed}");
}

#[test]
fn what_keeps_a_program_from_being_explained_is_told() {
    let ended = run(&["run", "--explain", "-e", "(= (f) 1) !(import! &self nowhere)"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.contains("nowhere") && !ended.out.contains("f/0"), "{}", ended.out);
    let ended = run(&["run", "--explain", "-e", "(= (f) 1"]);
    assert_eq!(ended.code, Some(3));
    for flags in [["--explain", "--interpreter"], ["--explain", "--json"]] {
        let ended = run(&[&["run"], &flags[..], &["-e", "(= (f) 1)"]].concat());
        assert_eq!(ended.code, Some(2));
        assert!(ended.err.contains("cannot be used with"), "{}", ended.err);
    }
}

#[test]
fn passes_are_left_out_and_limited() {
    let program = "(= (double $n) (if (< $n 100) (double (+ $n $n)) $n)) ! (double 3)";
    let compared = |flags: &[&str]| {
        let ended = run(&[&["run", "--explain"], flags, &["-e", program]].concat());
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{flags:?}");
        ended.out.contains("compare $n < 100")
    };
    assert!(compared(&[]) && compared(&["--passes=-skip-small"]) && compared(&["--passes-limit", "1000"]));
    assert!(!compared(&["--passes=-compare-small"]) && !compared(&["--passes=-skip-small,-compare-small"]));
    assert!(!compared(&["--passes-limit", "0"]));
    let ended = run(&["run", "--passes=-compare-small", "-e", program]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "[192]\n"));
    let ended = run(&["run", "--passes=compare", "-e", program]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("`compare` leaves out no pass; there are -fused-queries, "), "{}", ended.err);
    // A replay makes all passes.
    let ended = run(&["run", "--passes=-skip-small", "--record", "a.tape", "-e", program]);
    assert!(ended.code == Some(2) && ended.err.contains("cannot be used with"), "{}", ended.err);
    let ended = run(&["run", "--explain=text", "-e", program]);
    assert!(ended.code == Some(2) && ended.err.contains("[possible values: code, core]"), "{}", ended.err);
}

#[test]
fn what_the_machine_leaves_to_the_interpreter_is_named() {
    let ended = run(&["run", "--explain", "-e", "(: color (-> Symbol Symbol)) (= (color red) warm)"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert!(ended.out.starts_with("color/1\n") && ended.out.contains("the interpreter evaluates"), "{}", ended.out);
}

#[test]
fn how_queries_were_answered_is_told_beside_the_answers() {
    let program = "(parent ann bob) (parent bob cid) (= (grand $a) (match &self (, (parent $a $y) (parent $y $z)) $z)) \
                   ! (grand ann) ! (grand bob) ! (match &self (parent ann $x) $x)";
    let ended = run(&["run", "--explain-queries", "-e", program]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "[cid]\n[]\n[bob]\n"));
    let expected = "\
queries      2  (asked 3 times)
(, (parent $a $y) (parent $y $z))
  loops-as-written, 2 times, 1 answer
    (parent $a $y)                            found 2
    (parent $y $z)                            found 1
(parent ann $x)
  loops-as-written, 1 time, 1 answer
    (parent ann $x)                           found 1
";
    assert_eq!(ended.err, expected);
    let ended = run(&["run", "--explain-queries", "-e", "! (+ 1 2)"]);
    assert_eq!(
        (ended.code, ended.out.as_str(), ended.err.as_str()),
        (Some(0), "[3]\n", "queries      0  (asked 0 times)\n")
    );
    let ended = run(&["run", "--explain-queries", "--explain", "-e", "! (+ 1 2)"]);
    assert_eq!(ended.code, Some(2));
}
