//! Limits, Ctrl-C and a reader that goes away: the run ends, and what was complete is printed.

use crate::harness::{Folder, command, run, signal, wait};
use std::io::{BufRead, BufReader};

const ENDLESS: &str = "(= (loop $n) (loop (+ $n 1))) !(+ 1 2) !(loop 0)";

#[test]
fn a_step_limit_is_named() {
    let ended = run(&["run", "--steps", "1000", "-e", ENDLESS]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), "[3]\n[(Error (loop 0) (StepLimit 1000))]\n"));
    assert!(ended.err.contains("1000 steps") && ended.err.contains("--steps"), "{}", ended.err);
}

/// A list that grows without end.
const GROWING: &str = "(= (grow $list) (grow (Cons 1 $list))) !(+ 1 2) !(grow Nil)";

#[test]
fn a_heap_limit_is_named() {
    for (heap, bytes) in [("1M", 1 << 20), ("2m", 2 << 20), ("100000", 100_000)] {
        let ended = run(&["run", "--heap", heap, "-e", GROWING]);
        let expected = format!("[3]\n[(Error (grow Nil) (HeapLimit {bytes}))]\n");
        assert_eq!((ended.code, ended.out), (Some(1), expected));
        let place = format!("the evaluation at -e:1 took all of its heap of {bytes} bytes");
        assert!(ended.err.contains(&place) && ended.err.contains("allow more with --heap"), "{}", ended.err);
    }
}

/// The machine's heap does not fit into the address space that the shell leaves; the interpreter has none.
#[test]
#[cfg(target_os = "linux")]
fn a_limit_of_address_space_is_named() {
    let limited = |arguments: &str| {
        let script = format!("ulimit -v 2000000 && exec \"$0\" run {arguments} -e '!(+ 1 2)'");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_metroon")]).output().expect("there is a shell")
    };
    let ended = limited("");
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert_eq!((ended.status.code(), &*out), (Some(1), "[(Error (+ 1 2) (AddressSpaceLimit 4294967296))]\n"));
    assert!(err.contains("ulimit -v") && err.contains("--interpreter"), "{err}");
    let ended = limited("--interpreter");
    assert_eq!((ended.status.code(), &*String::from_utf8_lossy(&ended.stdout)), (Some(0), "[3]\n"));
}

#[test]
fn a_heap_limit_that_cannot_be_is_refused() {
    for heap in ["0", "0K", "M", "5G", "1T", "99999999999999999999", "1.5M"] {
        let ended = run(&["run", "--heap", heap, "-e", "!(+ 1 2)"]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{heap}");
        assert!(ended.err.contains("--heap"), "{}", ended.err);
    }
}

#[test]
fn the_interpreter_has_the_same_limit_of_memory() {
    let ended = run(&["run", "--heap", "8M", "--interpreter", "-e", GROWING]);
    let expected = "[3]\n[(Error (grow Nil) (HeapLimit 8388608))]\n";
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), expected));
}

/// What a base takes to keep a commit is not the form's: the form ends, and what it added is kept.
#[test]
fn a_heap_limit_ends_the_form_in_a_base_too() {
    let folder = Folder::new("heap-of-a-base");
    let filling = "(= (fill $n) (if (== $n 0) done (let $x (add-atom &self (item $n (pair $n (a b $n)))) (fill (- $n 1))))) \
                   !(fill 10000000)";
    let ended = folder.run(&["run", "--kb", "kb", "--heap", "24M", "-e", filling]);
    let expected = "[(Error (fill 10000000) (HeapLimit 25165824))]\n";
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), expected), "{}", ended.err);
    let kept = folder.good(&["kb", "query", "kb", "(item $n (pair $n (a b $n)))", "$n"]);
    assert!(kept.starts_with("10000000\n9999999\n") && kept.lines().count() > 10_000, "{} rows", kept.lines().count());
}

/// An atom that is a variable answers every call as well, so that each level of this recursion has two answers: steps are counted on
/// the way back, too.
#[test]
fn a_call_whose_head_is_an_expression_is_a_step() {
    let endless = "$old (= (j a) ((j $x))) !(collapse ((j a)))";
    for evaluator in [&[][..], &["--interpreter"]] {
        let ended = run(&[&["run", "--steps", "10000", "-e", endless], evaluator].concat());
        assert_eq!(ended.code, Some(1), "{}", ended.err);
        assert!(ended.out.contains("(StepLimit 10000)") && ended.err.contains("10000 steps"), "{}", ended.err);
    }
}

#[test]
fn a_time_limit_ends_an_endless_loop() {
    let ended = run(&["run", "--timeout", "0.5", "-e", ENDLESS]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), "[3]\n[(Error (loop 0) TimeLimit)]\n"));
    assert!(ended.err.contains("--timeout"), "{}", ended.err);
}

#[test]
fn an_interrupt_cancels_the_evaluation_and_says_so() {
    let mut child = command(&["run", "-e", ENDLESS]).spawn().expect("the binary runs");
    let mut out = BufReader::new(child.stdout.take().expect("there is an output"));
    let mut line = String::new();
    out.read_line(&mut line).expect("a line can be read");
    assert_eq!(line, "[3]\n");
    signal(child.id(), "INT");
    let mut rest = String::new();
    out.read_line(&mut rest).expect("a line can be read");
    assert_eq!(rest, "[(Error (loop 0) Cancelled)]\n");
    let ended = wait(child);
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("cancelled"), "{}", ended.err);
}

#[test]
fn a_reader_that_has_seen_enough_ends_an_endless_program_quietly() {
    let endless = "(= (chatter $n) (let () (println! $n) (chatter (+ $n 1)))) !(chatter 0)";
    let mut child = command(&["run", "-e", endless]).spawn().expect("the binary runs");
    let mut out = BufReader::new(child.stdout.take().expect("there is an output"));
    let mut line = String::new();
    out.read_line(&mut line).expect("a line can be read");
    drop(out);
    let ended = wait(child);
    assert_eq!((line.as_str(), ended.code, ended.err.as_str()), ("0\n", Some(0), ""));
}
