//! What is printed: answers, JSON lines, counts, help.

use crate::harness::{Folder, counted, file, run, run_with_input};

#[test]
fn an_answer_is_a_line() {
    let ended = run(&["run", "-e", "!(superpose (1 \"a\" (b c)))"]);
    assert_eq!((ended.code, ended.out.as_str(), ended.err.as_str()), (Some(0), "[1, \"a\", (b c)]\n", ""));
}

#[test]
fn an_error_in_an_answer_ends_the_run_with_code_1() {
    let ended = run(&["run", "-e", "!(/ 1 0) !(+ 1 2)"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), "[(Error (/ 1 0) DivisionByZero)]\n"));
}

#[test]
fn files_run_in_order_in_one_space_and_texts_after_them() {
    let first = file("order", "first.metta", "(= (f) 1)\n!(f)");
    let second = file("order", "second.metta", "(= (f) 2)\n!(f)");
    let (first, second) = (first.to_string_lossy(), second.to_string_lossy());
    let ended = run(&["run", &first, &second, "-e", "!(+ 10 (f))"]);
    assert_eq!(ended.out, "[1]\n[1, 2]\n[11, 12]\n");
}

#[test]
fn a_program_may_come_from_the_standard_input() {
    for arguments in [&["run", "-"][..], &["run"][..]] {
        assert_eq!(run_with_input(arguments, b"!(+ 1 2)").out, "[3]\n");
    }
}

#[test]
fn json_has_an_object_for_each_result_and_each_end() {
    let ended = run(&["run", "--json", "-e", "(a)\n!(superpose (1 \"x\"))\n!(superpose ())"]);
    let expected = r#"{"form":1,"line":2,"result":"1"}
{"form":1,"line":2,"result":"\"x\""}
{"form":1,"line":2,"done":true,"results":2,"error":false}
{"form":2,"line":3,"done":true,"results":0,"error":false}
"#;
    assert_eq!(ended.out, expected);
}

#[test]
fn printing_and_answers_come_in_program_order() {
    let ended = run(&["run", "-e", "!(println! first) !(+ 1 1) !(println! second)"]);
    assert_eq!(ended.out, "first\n[()]\n[2]\nsecond\n[()]\n");
}

#[test]
fn counts_go_to_the_standard_error() {
    let ended = run(&["run", "--stats", "-e", "!(+ 1 2)"]);
    assert_eq!(ended.out, "[3]\n");
    assert_eq!(counted(&ended.err, "evaluations"), "1");
    assert!(ended.err.contains("Forms that were evaluated."), "{}", ended.err);
}

#[test]
fn the_machine_counts_what_it_did() {
    let program = "(= (build $n) (if (== $n 0) Nil (Cons $n (build (- $n 1))))) !(let $list (build 100) done)";
    let ended = run(&["run", "--stats", "-e", program]);
    assert_eq!(ended.out, "[done]\n");
    for (name, count) in
        [("calls", "101"), ("interpreted", "0"), ("cells", "201"), ("collections", "0"), ("tethers", "0")]
    {
        assert_eq!(counted(&ended.err, name), count, "{name}: {}", ended.err);
    }
    assert!(counted(&ended.err, "heap bytes peak").ends_with(" bytes"), "{}", ended.err);
    let interpreted = run(&["run", "--stats", "--interpreter", "-e", program]);
    assert_eq!(interpreted.out, "[done]\n");
    assert_eq!(counted(&interpreted.err, "machine"), "none");
}

#[test]
fn what_is_remembered_of_pure_functions_is_counted() {
    let program = "(= (fib $n) (if (< $n 2) $n (+ (fib (- $n 1)) (fib (- $n 2))))) !(fib 80)";
    let ended = run(&["run", "--stats", "-e", program]);
    assert_eq!(ended.out, "[23416728348467685]\n");
    for (name, count) in [("memoised", "1"), ("memo hits", "78"), ("memo misses", "81"), ("memo entries max", "81")] {
        assert_eq!(counted(&ended.err, name), count, "{name}: {}", ended.err);
    }
    let small = program.replace("80", "15");
    let without = run(&["run", "--stats", "--no-memo", "-e", &small]);
    assert_eq!(without.out, "[610]\n");
    assert_eq!((counted(&without.err, "calls"), counted(&without.err, "memoised")), ("1973", "0"));
}

/// The lines of `--stats` that say what was interpreted.
fn interpreted(program: &str) -> Vec<String> {
    let ended = run(&["run", "--stats", "-e", program]);
    let behind = ended.err.lines().skip_while(|line| !line.starts_with("interpreted forms")).skip(1);
    let said = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    behind.take_while(|line| line.starts_with(' ')).map(said).collect()
}

#[test]
fn what_was_interpreted_is_named_the_most_frequent_first() {
    // What alternatives have bound is an atom that only the interpreter makes.
    let binding = |name: &str| {
        format!("(= ({name} $x) (function (chain (collapse-bind (eval (noeval $x))) $all (return $all)))) ")
    };
    let program = binding("seldom")
        + &binding("often")
        + "(= (loop $n) (if (== $n 0) (seldom 1) (let $x (often $n) (loop (- $n 1))))) !(loop 50) !($f 1)";
    assert_eq!(interpreted(&program), ["often 50", "seldom 1"]);
    assert!(interpreted("(= (f $n) (+ $n 1)) !(f 1)").is_empty());
    let many: String = (0..13).map(|at| binding(&format!("f{at:02}"))).collect();
    let calls: String = (0..13).map(|at| format!("!(f{at:02} 1) ")).collect();
    let lines = interpreted(&format!("{many} {calls} !(f12 1)"));
    assert_eq!(lines.len(), 11, "{lines:#?}");
    assert_eq!([&lines[0], &lines[1], &lines[10]], ["f12 2", "f00 1", "3 other kinds 3"]);
}

#[test]
fn commits_are_counted_where_they_are_kept() {
    let folder = Folder::new("output-commits");
    let program = ["-e", "(a 1) !(+ 1 2) !(+ 1 2)", "--stats"];
    let counts = |arguments: &[&str]| {
        let out = folder.run(&[&["run", "--json"], arguments, &program].concat()).out;
        let counts = serde_json::from_str::<serde_json::Value>(out.lines().last().expect("there is output"));
        let counts = counts.expect("it is JSON");
        [&counts["base"]["epoch"], &counts["base"]["commits"], &counts["tape"]["commits"]]
            .map(serde_json::Value::as_u64)
    };
    assert_eq!(counts(&[]), [None, None, None]);
    assert_eq!(counts(&["--record", "tape"]), [None, None, Some(2)]);
    // A commit that changes nothing is one of the run and none of the base.
    assert_eq!(counts(&["--kb", "kb"]), [Some(1), Some(2), None]);
    assert_eq!(counts(&["--kb", "kb", "--record", "other"]), [Some(2), Some(2), Some(2)]);
}

#[test]
fn help_and_version_are_there() {
    assert!(run(&["--version"]).out.starts_with("metroon "));
    let help = run(&["run", "--help"]).out;
    assert!(help.contains("--steps <N>") && help.contains("Exit code"), "{help}");
    let nothing = run(&[]);
    assert_eq!(nothing.code, Some(2));
    assert!(nothing.err.contains("Usage"), "{}", nothing.err);
}

#[test]
fn an_unknown_flag_is_named() {
    let ended = run(&["run", "--stepz", "5"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("--stepz") && ended.err.contains("--steps"), "{}", ended.err);
}
