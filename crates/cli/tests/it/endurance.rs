//! Large and hostile programs: deep brackets, long lines, steps that never end, outputs that fail, signals.

use crate::harness::{Ended, command, run, run_with_input, signal, wait};
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn deep_atoms_are_evaluated_added_found_and_printed() {
    let depth = 100_000;
    let deep = |leaf: &str| "(s ".repeat(depth) + leaf + &")".repeat(depth);
    let [ground, open] = [deep("a"), deep("$x")];
    let program = format!("(fact {ground})\n! {ground}\n! (match &self (fact {open}) $x)\n! (get-atoms &self)\n");
    let ended = run_with_input(&["run", "-"], program.as_bytes());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert_eq!(ended.out, format!("[{ground}]\n[a]\n[(fact {ground})]\n"));
}

#[test]
fn brackets_that_do_not_match_are_an_error_however_many() {
    for many in [100_000, 1_000_000] {
        for (text, error) in [
            ("(".repeat(many), "Unexpected end of expression"),
            (")".repeat(many), "Unexpected right bracket"),
            ("(a\n".repeat(many), "Unexpected end of expression"),
            (format!("{}{}", "(".repeat(many), ")".repeat(many - 1)), "Unexpected end of expression"),
        ] {
            let ended = run_with_input(&["run", "-"], format!("! before\n{text}").as_bytes());
            assert_eq!((ended.code, ended.out.as_str()), (Some(3), "[before]\n"));
            assert!(ended.err.contains(error), "{}", ended.err);
            assert!(ended.err.len() < 100_000, "{} bytes of messages", ended.err.len());
        }
    }
}

#[test]
fn very_long_lines_and_words_are_read_and_printed() {
    let word = "x".repeat(5_000_000);
    let ended = run_with_input(&["run", "-"], format!("! ({word} \"{word}\")").as_bytes());
    assert_eq!((ended.code, ended.out.len()), (Some(0), "[( \"\")]\n".len() + 2 * word.len()));
    let many = "a ".repeat(500_000);
    let ended = run_with_input(&["run", "-"], format!("! (quote ({many}))").as_bytes());
    assert_eq!((ended.code, ended.out.len()), (Some(0), "[(quote ())]\n".len() + many.len() - 1));
}

/// Searches a text for an expression of which each letter may be left out: one step that is long, and looks at the time.
const LONG_STEP: &str = "! (import! &self regex) ! (import! &self strings)
! (let* (($e (string-repeat \"a?\" 50000)) ($t (string-repeat \"a\" 50000))) (let $p (format-args \"{}{}\" ($e $t)) (regex-matches $p $t)))";

/// Reads from a program that writes nothing and does not end: one step that never ends, and looks at nothing.
const ENDLESS_STEP: &str =
    "! (import! &self fileio) ! ready ! (let $f (file-open! \"/dev/stdin\" \"r\") (file-read-to-string! $f))";

#[test]
fn a_long_step_ends_when_time_is_up() {
    let began = Instant::now();
    let ended = run_with_input(&["run", "--timeout", "0.2", "-"], LONG_STEP.as_bytes());
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.starts_with("[()]\n[()]\n[(Error ") && ended.out.ends_with(" TimeLimit)]\n"), "{}", ended.out);
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_step_that_does_not_end_is_ended_when_time_is_up() {
    let ended = signalled_in(command(&["run", "--timeout", "0.2", "-e", ENDLESS_STEP]), &[]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), "[()]\n[ready]\n"));
    assert_eq!(
        ended.err,
        "error: the evaluation was told to end, but a single step of it has not ended yet\n\
         help: what was printed before it stands; look for a pattern with very many matches, for an atom that doubles again and \
         again, or for a file that does not answer\n"
    );
}

/// Starts an endless program, and sends it a signal once it has printed its first line.
fn signalled(names: &[&str], program: &str) -> Ended {
    signalled_in(command(&["run", "-e", program]), names)
}

fn signalled_in(mut command: Command, names: &[&str]) -> Ended {
    let mut child = command.spawn().expect("the binary runs");
    let mut out = BufReader::new(child.stdout.take().expect("there is an output"));
    let mut text = String::new();
    out.read_line(&mut text).expect("a line can be read");
    for name in names {
        // Time to get into the step that is to be interrupted.
        std::thread::sleep(Duration::from_millis(50));
        signal(child.id(), name);
    }
    out.read_to_string(&mut text).expect("the rest can be read");
    Ended { out: text, ..wait(child) }
}

#[test]
fn what_was_found_before_an_interrupt_is_printed() {
    let program = "(= (loop $n) (loop $n)) ! ready ! (superpose (1 2 (loop 0)))";
    let ended = signalled(&["INT"], program);
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.out, "[ready]\n[1, 2, (Error (superpose (1 2 (loop 0))) Cancelled)]\n");
    assert_eq!(
        ended.err,
        "error: the evaluation at -e:1 was cancelled\nhelp: what was printed and added before it stands\n"
    );
}

#[test]
fn being_told_to_terminate_is_an_interrupt() {
    let ended = signalled(&["TERM"], "(= (loop $n) (loop $n)) ! ready ! (loop 0)");
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), "[ready]\n[(Error (loop 0) Cancelled)]\n"));
}

#[test]
fn lines_printed_before_an_interrupt_are_complete() {
    let program = "(= (count $n) (let () (println! (line $n)) (count (+ $n 1)))) ! ready ! (count 0)";
    let ended = signalled(&["INT"], program);
    let printed = ended.out.lines().count() - 2;
    let lines: String = (0..printed).map(|n| format!("(line {n})\n")).collect();
    assert_eq!(ended.out, format!("[ready]\n{lines}[(Error (count 0) Cancelled)]\n"));
}

#[test]
fn a_second_interrupt_ends_a_step_that_does_not_end() {
    let began = Instant::now();
    let ended = signalled_in(command(&["run", "-e", ENDLESS_STEP]), &["INT", "INT"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(130), "[()]\n[ready]\n"));
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_closed_pipe_ends_the_run_at_the_next_answer() {
    let program = "! (first) ".repeat(1_000) + "(= (loop $n) (loop $n)) ! (loop 0)";
    let mut child = command(&["run", "-e", &program]).spawn().expect("the binary runs");
    drop(child.stdout.take());
    let ended = wait(child);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_fails_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the full device is there");
    let child = command(&["run", "-e", "! a ! b"]).stdout(Stdio::from(full)).spawn().expect("the binary runs");
    let ended = wait(child);
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.starts_with("error: cannot write the output: No space left on device"), "{}", ended.err);
}

#[test]
fn nothing_to_run_is_fine() {
    for (arguments, input) in
        [(&["run", "-"][..], ""), (&["run"], ""), (&["run", "-e", ""], "! unread"), (&["run", "-"], "; a comment")]
    {
        let ended = run_with_input(arguments, input.as_bytes());
        assert_eq!((ended.code, ended.out.as_str(), ended.err.as_str()), (Some(0), "", ""));
    }
    assert_eq!(run(&["run", "-e"]).code, Some(2));
}
