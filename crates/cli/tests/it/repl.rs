//! `metroon repl` by piped input: the same answers, without a prompt.

use crate::harness::{Ended, Folder, feed, run_with_input};

fn entered(text: &str) -> Ended {
    run_with_input(&["repl"], text.as_bytes())
}

#[test]
fn forms_are_answered_one_by_one() {
    let ended =
        entered("(parent Rhea Zeus)\n(= (mother $x)\n   (match &self (parent $p $x) $p))\n!(mother Zeus) !(+ 1 2)\n");
    assert_eq!((ended.out.as_str(), ended.code), ("[Rhea]\n[3]\n", Some(0)));
    assert_eq!(ended.err, "added to the space; a form after `!` is evaluated, as in `!(+ 1 2)`\n");
}

#[test]
fn an_error_ends_nothing() {
    let ended = entered("!(+ 1 \"a\")\n!(+ 1 2)\n) (\n)\n!(+ 2 2)\n");
    assert_eq!(ended.out, "[(Error (+ 1 \"a\") (BadArgType 2 Number String))]\n[3]\n[4]\n");
    assert!(ended.err.contains(" --> input 1:1:2\n"), "{}", ended.err);
    assert!(ended.err.contains("error[unexpected-close]"), "{}", ended.err);
    assert_eq!(ended.code, Some(0));
}

#[test]
fn what_is_not_closed_at_the_end_is_told() {
    let ended = entered("!(+ 1\n");
    assert!(ended.err.contains("error[unclosed-expression]"), "{}", ended.err);
    assert_eq!((ended.out.as_str(), ended.code), ("", Some(0)));
}

#[test]
fn commands_answer() {
    let ended = entered(":type (+ 1 2)\n:type +\n:doc size-atom\n:help car-atom\n");
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!(
        lines[..3],
        ["Number", "(-> Number Number Number)", "size-atom : (-> Expression Number)"],
        "{}",
        ended.out
    );
    assert!(ended.out.contains("car-atom : (-> Expression %Undefined%)"), "{}", ended.out);
    let help = entered(":help\n").out;
    for command in
        [":help", ":type", ":doc", ":why", ":time", ":stats", ":load", ":space", ":undo", ":explain", ":log", ":at"]
    {
        assert!(help.lines().any(|line| line.starts_with(command)), "{command}: {help}");
    }
}

#[test]
fn a_command_that_is_not_there_is_told_with_the_one_that_was_meant() {
    let ended = entered(":tpye 1\n:t 1\n:type\n:why (a)\n:log\n:explain nothing\n:type 1 2\n");
    assert!(ended.err.contains("there is no command `:tpye`\nhelp: did you mean `:type`?"), "{}", ended.err);
    assert!(ended.err.contains("there is no command `:t`"), "two begin so: {}", ended.err);
    assert!(ended.err.contains("`:type` needs to be told what to look at\nhelp: :type ATOM"), "{}", ended.err);
    assert!(ended.err.contains("no history is kept here\nhelp: begin with `metroon repl --kb DIR`"), "{}", ended.err);
    assert!(ended.err.contains("`nothing` has no rules in this space"), "{}", ended.err);
    assert!(ended.err.contains("`1 2` is not one atom"), "{}", ended.err);
}

#[test]
fn the_last_input_is_undone() {
    let text = "(a 1)\n(a 2)\n:undo\n:space (a $x)\n!(bind! &n (new-state 1))\n!(change-state! &n 2)\n:undo\n!(get-state &n)\n:undo\n:undo\n";
    let ended = entered(text);
    assert_eq!(ended.out, "(a 1)\n[()]\n[(State 2)]\n[1]\n");
    assert!(ended.err.contains("there is nothing to undo"), "{}", ended.err);
}

#[test]
fn a_file_is_loaded_and_its_errors_have_their_place() {
    let folder = Folder::new("repl_loads");
    folder.write("gods.metta", "(= (half $x) (/ $x 0))\n!(+ 1 1)\n");
    let ended = feed(folder.command(&["repl"]), b":load gods.metta\n!(half 1)\n:load nowhere.metta\n:explain half\n");
    assert!(ended.out.starts_with("[2]\n[(Error (/ 1 0) DivisionByZero)]\n"), "{}", ended.out);
    assert!(
        ended.err.contains("note: in `(half 1)`, gods.metta:1\n      called by the form at input 1:1\n"),
        "{}",
        ended.err
    );
    assert!(ended.err.contains("nowhere.metta"), "{}", ended.err);
    assert!(ended.out.contains("half"), "{}", ended.out);
}

#[test]
fn a_knowledge_base_keeps_what_was_entered() {
    let folder = Folder::new("repl_base");
    let first = feed(folder.command(&["repl", "--kb", "kb"]), b"(a 1)\n(a 2)\n:undo\n:log\n:at 1 (a $x)\n:why (a 2)\n");
    assert!(first.err.contains("what a knowledge base has committed stays"), "{}", first.err);
    assert!(first.out.contains("[(a 1)]\n"), "{}", first.out);
    assert!(first.out.contains("(because (a 2) (commit 2)"), "{}", first.out);
    let second = feed(folder.command(&["repl", "--kb", "kb"]), b":space (a $x)\n");
    assert_eq!((second.out.as_str(), second.code), ("(a 1)\n(a 2)\n", Some(0)));
}

#[test]
fn a_long_answer_comes_in_pages() {
    let facts: String = (0..250).map(|number| format!("(number {number})\n")).collect();
    let ended = entered(&format!("{facts}:space (number $n)\n:more\n:more\n:more\n"));
    assert!(ended.out.contains("(number 99)\n… 150 lines more: `:more` shows them\n(number 100)\n"), "{}", ended.out);
    assert!(ended.out.ends_with("\n(number 249)\n"), "{}", ended.out);
    assert!(ended.err.contains("there is nothing more to show"), "{}", ended.err);
}

#[test]
fn a_limit_ends_an_evaluation_only() {
    let text = b"(= (loop) (loop))\n!(loop)\n!(+ 1 2)\n";
    for limit in [["--steps", "10000"], ["--timeout", "0.2"]] {
        let ended = run_with_input(&[&["repl"], &limit[..]].concat(), text);
        assert!(ended.out.ends_with("[3]\n"), "{}", ended.out);
        assert!(ended.err.contains("error: the evaluation at the prompt"), "{}", ended.err);
    }
}

#[test]
fn a_file_alone_is_run() {
    let folder = Folder::new("repl_file_alone");
    folder.write("a.metta", "!(+ 1 2)\n");
    assert_eq!(folder.good(&["a.metta"]), "[3]\n");
    let ended = folder.run(&["missing.metta"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("missing.metta"), "{}", ended.err);
}

#[test]
fn an_evaluation_is_stepped_through() {
    let rules = "(= (square $x) (* $x $x))\n(= (area $x) (square (+ 1 $x)))\n";
    let all = entered(&format!("{rules}:step (area 2)\n\n\n\n\n!(+ 1 1)\n"));
    assert_eq!(all.out, "[9]\n[2]\n");
    assert!(all.err.contains("(area 2)  ; input 2:1\n| (square 3)  ; input 1:1\n| = 9\n= 9\n"), "{}", all.err);
    let over = entered(&format!("{rules}:step (area 2)\no\n\n!(+ 1 1)\n"));
    assert_eq!(over.out, "[9]\n[2]\n");
    assert!(over.err.contains("(area 2)  ; input 2:1\n= 9\n"), "{}", over.err);
    let to_the_end = entered(&format!("{rules}:step (area 2)\nwhat\nr\n!(+ 1 1)\n"));
    assert_eq!(to_the_end.out, "[9]\n[2]\n");
    assert!(to_the_end.err.contains("`what` is none of these\nhelp: Enter, o, r or q\n"), "{}", to_the_end.err);
    let cancelled = entered("(= (loop $n) (loop (+ $n 1)))\n:step (loop 1)\n\nq\n!(+ 1 1)\n");
    assert!(
        cancelled.err.contains("was cancelled") && cancelled.out.ends_with("[2]\n"),
        "{}{}",
        cancelled.out,
        cancelled.err
    );
}
