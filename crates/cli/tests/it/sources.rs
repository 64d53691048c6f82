//! Several sources in one run: what they share, where imports are looked for, which of them ends the run.

use crate::harness::{command, file, run, run_with_input, wait};

#[test]
fn each_file_looks_for_imports_beside_itself() {
    let first = file("beside/one", "main.metta", "! (import! &self part) ! (part)");
    file("beside/one", "part.metta", "(= (part) one)");
    let second = file("beside/two", "main.metta", "! (import! &self piece) ! (piece)");
    file("beside/two", "piece.metta", "(= (piece) two)");
    let ended = run(&["run", &first.to_string_lossy(), &second.to_string_lossy()]);
    assert_eq!((ended.code, ended.out.as_str(), ended.err.as_str()), (Some(0), "[()]\n[one]\n[()]\n[two]\n", ""));
}

#[test]
fn a_source_that_fails_ends_the_run() {
    let good = file("failing", "good.metta", "! good");
    let bad = file("failing", "bad.metta", "! (/ 1 0)\n! unreached");
    let broken = file("failing", "broken.metta", "! before\n(");
    let [good, bad, broken] = [good, bad, broken].map(|path| path.to_string_lossy().into_owned());
    let runs = [
        (vec![&bad, &good], 1, "[(Error (/ 1 0) DivisionByZero)]\n"),
        (vec![&broken, &good], 3, "[before]\n"),
        (vec![&good, &broken], 3, "[good]\n[before]\n"),
    ];
    for (files, code, out) in runs {
        let arguments: Vec<&str> = std::iter::once("run").chain(files.into_iter().map(String::as_str)).collect();
        let ended = run(&arguments);
        assert_eq!((ended.code, ended.out.as_str()), (Some(code), out), "{arguments:?}");
    }
    let ended = run(&["run", &good, "missing.metta", &good]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), "[good]\n"));
}

#[test]
fn the_standard_input_may_stand_among_files() {
    let before = file("among", "before.metta", "(= (f) 1)");
    let ended = run_with_input(&["run", &before.to_string_lossy(), "-", "-e", "! (g)"], b"(= (g) (+ 1 (f)))");
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "[2]\n"));
}

#[test]
fn a_text_that_begins_with_a_hyphen_is_a_text() {
    assert_eq!(run(&["run", "-e", "-1 ! (match &self -1 found)"]).out, "[found]\n");
}

#[test]
fn every_line_of_json_is_an_object() {
    let program = "! (superpose (1 \"q\\\"\\n\\u{1}\" (é $x) ()))\n! (println! (not json))\n! (/ 1 0)";
    let ended = run(&["run", "--json", "-e", program]);
    assert_eq!(ended.code, Some(1));
    let (lines, others): (Vec<&str>, Vec<&str>) = ended.out.lines().partition(|line| line.starts_with('{'));
    assert_eq!(others, ["(not json)"], "what a program prints stays as it is");
    let objects: Vec<serde_json::Value> = lines.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(objects[1]["result"], "\"q\\\"\\n\\u{1}\"");
    assert_eq!(objects[2]["result"], "(é $x)");
    let ends: Vec<_> = objects.iter().filter(|object| object["done"] == true).collect();
    let counts: Vec<_> =
        ends.iter().map(|end| (end["form"].as_u64(), end["results"].as_u64(), end["error"].as_bool())).collect();
    assert_eq!(
        counts,
        [(Some(1), Some(4), Some(false)), (Some(2), Some(1), Some(false)), (Some(3), Some(1), Some(true))]
    );
}

#[test]
fn counts_are_printed_however_the_run_ends() {
    for (program, code) in [("! a", 0), ("! (/ 1 0)", 1), ("! a (", 3)] {
        let ended = run(&["run", "--stats", "--json", "-e", program]);
        assert_eq!(ended.code, Some(code));
        let last = ended.out.lines().last().expect("there is output");
        let counts: serde_json::Value = serde_json::from_str(last).expect("it is JSON");
        assert_eq!((&counts["what"], &counts["evaluations"]), (&"run".into(), &1.into()), "{counts}");
    }
}

#[test]
fn traces_go_to_the_standard_error() {
    let ended = run(&["run", "-e", "! (trace! (looking at) 5) ! (pragma! colour blue)"]);
    assert_eq!(ended.out, "[5]\n[()]\n");
    assert_eq!(
        ended.err,
        "(looking at)\nwarning: -e:1: pragma! colour has no effect; known settings: max-stack-depth, type-check, interpreter, semantics, table, untable, memoise\n"
    );
}

#[test]
fn colours_are_not_asked_for_by_the_environment() {
    for variable in ["CLICOLOR_FORCE", "FORCE_COLOR", "COLORTERM"] {
        let child = command(&["run", "-e", "(a"]).env(variable, "1").spawn().expect("the binary runs");
        let ended = wait(child);
        assert!(!ended.err.contains('\u{1b}'), "{variable}: {:?}", ended.err);
    }
}
