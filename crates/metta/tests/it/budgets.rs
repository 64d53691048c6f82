//! Whoever tells an evaluation that its time is up is heard soon, whatever it is doing; and it takes no more steps than it may.
//!
//! What is measured is the processor time that the evaluation takes from then on: it is the same however many tests run beside.
#![cfg(target_os = "linux")]

use crate::differential::corpus;
use crate::harness::Program;
use generate::seeds;
use metta::{Evaluator, Limits};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How late an evaluation may end. The longest step that cannot be divided is the product of two of the largest integers. To write one
/// in decimal takes longer, about a second in a build for tests, so none is written here: answers are written after the evaluation.
const LATE_MAX: Duration = Duration::from_millis(1_000);

/// Doubles a list that has four elements.
const DOUBLING: &str = "(= (double $l $n) (if (== $n 0) $l (double (union-atom $l $l) (- $n 1))))";

/// Programs whose evaluation has a step that takes long, and what takes long in it.
const LONG_STEPS: [(&str, &str); 8] = [
    (
        "a search of a regular expression",
        "!(import! &self regex) !(import! &self strings)
         !(let* (($e (string-repeat \"a?\" 20000)) ($t (string-repeat \"a\" 20000))) (let $p (format-args \"{}{}\" ($e $t)) (regex-matches $p $t)))",
    ),
    (
        "many matches of a regular expression",
        "!(import! &self regex) !(import! &self strings) !(size-atom (regex-find-all \"a\" (string-repeat \"ab\" 20000000)))",
    ),
    ("calls whose head is an expression", "$old (= (j a) ((j $x))) !(collapse ((j a)))"),
    (
        "a product of facts",
        "(= (fill $n) (if (== $n 0) done (let $x (add-atom &self (item $n)) (fill (- $n 1))))) !(fill 1000)
         !(size-atom (collapse (match &self (, (item $a) (item $b) (item $c)) (t $a $b $c))))",
    ),
    ("the difference of long lists", "!(let $l (double (a b c d) 19) (size-atom (subtraction-atom $l (union-atom $l (e)))))"),
    ("the different elements of a long list", "!(let $l (double (a b c d) 20) (size-atom (unique-atom $l)))"),
    ("the comparison of long lists", "!(let ($k $l) ((double (a b c d) 19) (double (a b c d) 19)) (all-equal $k $l 1000))"),
    (
        "products of large integers",
        "(= (p $n $m) (if (== $n 0) $m (p (- $n 1) (* $m $m))))
         (= (again $n $m) (if (== $n 0) done (let $square (* $m $m) (again (- $n 1) $m)))) !(again 1000 (p 19 7))",
    ),
];

/// The processor time that a thread of this process has had, given its folder below `/proc/self/task`.
fn processor_time(thread: &Path) -> Duration {
    let text = fs::read_to_string(thread.join("schedstat")).expect("Linux tells the time of a thread");
    let nanoseconds = text.split_whitespace().next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.expect("the first number is the time"))
}

/// Tells a program after a moment that its time is up; gives how much processor time it took from then on, if it had not ended
/// by itself. Processor time is the same however many tests run beside this one.
fn heard_after(text: &str, evaluator: Evaluator, wait: Duration) -> Option<Duration> {
    let thread: PathBuf = Path::new("/proc").join(fs::read_link("/proc/thread-self").expect("Linux names a thread"));
    let limits = Limits { heap_bytes_max: Some(1 << 30), ..Limits::default() };
    let interrupt = limits.interrupt.clone();
    let (done, ended) = channel::<()>();
    let watched = thread.clone();
    let watcher = std::thread::spawn(move || {
        let is_running = ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout);
        let told = is_running.then(|| processor_time(&watched));
        is_running.then(|| interrupt.time_is_up());
        told
    });
    let ran = Program::new(text).with_evaluator(evaluator).with_limits(limits).run();
    let now = processor_time(&thread);
    drop((ran, done));
    watcher.join().expect("the watcher ends").map(|told| now.saturating_sub(told))
}

#[test]
fn a_step_that_takes_long_looks_at_limits() {
    let text = format!(
        "{DOUBLING} (= (all-equal $k $l $n) (if (== $n 0) done (if (== $k $l) (all-equal $k $l (- $n 1)) no))) "
    );
    for (name, program) in LONG_STEPS {
        for evaluator in [Evaluator::Machine, Evaluator::Interpreter] {
            for wait in [30, 300] {
                let late = heard_after(&format!("{text}{program}"), evaluator, Duration::from_millis(wait));
                let late = late.unwrap_or_default();
                assert!(late < LATE_MAX, "{name}, {evaluator:?}, after {wait} ms: {late:?} late");
            }
        }
    }
}

/// The class that the programs above are instances of: of mutants that do not end by themselves, none is heard late.
#[test]
fn mutants_of_the_corpus_are_heard() {
    let programs = corpus();
    let (mut told, wait) = (0, Duration::from_millis(60));
    for seed in seeds(0..60) {
        let mutant = generate::mutant(seed, &programs);
        for evaluator in [Evaluator::Machine, Evaluator::Interpreter] {
            let Some(late) = heard_after(&mutant, evaluator, wait) else { continue };
            told += 1;
            assert!(late < LATE_MAX, "seed {seed}, {evaluator:?}: {late:?} late\n{mutant}");
        }
    }
    assert!(told > 0, "each of the programs ended by itself");
}

/// Alternatives that multiply are steps, even where nothing is called.
#[test]
fn alternatives_that_multiply_are_heard() {
    let (mut told, mut stopped) = (0, 0);
    for seed in seeds(0..60) {
        let program = generate::multiplied(seed, 9);
        for evaluator in [Evaluator::Machine, Evaluator::Interpreter] {
            if let Some(late) = heard_after(&program, evaluator, Duration::from_millis(20)) {
                told += 1;
                assert!(late < LATE_MAX, "seed {seed}, {evaluator:?}: {late:?} late\n{program}");
            }
            let limits = Limits { steps_max: Some(20_000), heap_bytes_max: Some(1 << 30), ..Limits::default() };
            let ran = Program::new(&program).with_evaluator(evaluator).with_limits(limits).run();
            stopped += usize::from(ran.answers.iter().any(|answer| answer.contains("(StepLimit 20000)")));
        }
    }
    assert!(told > 60 && stopped > 60, "{told} were told, {stopped} took all of their steps");
}
