//! Loops take no more memory the longer they run.
//!
//! Garbage is collected from a small heap on here, so that a loop of some thousand steps shows what one of some hundred
//! million does: the most that it holds at once is the same for any number of steps.

use crate::harness::line_of;
use metta::{MemoryWorld, Session};

/// Heap bytes from which on garbage is collected.
const COLLECT_FROM: usize = 64 << 10;

const COUNT: &str = "(= (loop $n $a) (if (== $n 0) $a (loop (- $n 1) (+ $a 2))))";

/// Each defines `(loop steps start)`.
const LOOPS: &[(&str, &str)] = &[
    ("counts", COUNT),
    (
        "builds lists and drops them",
        "(= (build $n $l) (if (== $n 0) $l (build (- $n 1) (Cons $n $l))))
         (= (sum Nil $s) $s) (= (sum (Cons $h $t) $s) (sum $t (+ $h $s)))
         (= (loop $n $a) (if (== $n 0) $a (let $l (build 10 Nil) (loop (- $n 1) (sum $l 0)))))",
    ),
    (
        "updates a state",
        "! (bind! &s (new-state 0))
         (= (loop $n $a) (if (== $n 0) (get-state &s)
            (let $_ (change-state! &s (+ 1 (get-state &s))) (loop (- $n 1) $a))))",
    ),
    ("makes states", "(= (loop $n $a) (if (== $n 0) (get-state $a) (let $s (new-state $n) (loop (- $n 1) $s))))"),
    (
        "goes through let and case",
        "(= (step $n) (case $n ((0 zero) ($m (pair $m (next $m))))))
         (= (loop $n $a) (if (== $n 0) $a (let (pair $x $y) (step $n) (loop (- $n 1) $x))))",
    ),
    (
        "asks a space",
        "(fact 1 a) (fact 2 b)
         (= (loop $n $a) (if (== $n 0) $a (loop (- $n 1) (match &self (fact 2 $x) $x))))",
    ),
    (
        "asks a space for what has variables",
        "(fact 1 a) (fact 2 (b $y))
         (= (loop $n $a) (if (== $n 0) done (loop (- $n 1) (match &self (fact 2 $x) $x))))",
    ),
    ("makes a variable and carries it", "(= (loop $n $a) (if (== $n 0) done (loop (- $n 1) (a $v))))"),
    (
        "unifies",
        "(= (same $x $x) yes)
         (= (loop $n $a) (if (== $n 0) $a (let $y (same (a $v $n) (a b $w)) (loop (- $n 1) $y))))",
    ),
    (
        "makes a choice and gathers it",
        "(= (loop $n $a) (if (== $n 0) $a (let $all (collapse (superpose (1 2 3))) (loop (- $n 1) $all))))",
    ),
    (
        "makes a choice and drops it",
        "(= (pick $n) (let $x (superpose (1 2 3)) (if (== $x 2) (+ $x $n) (empty))))
         (= (loop $n $a) (if (== $n 0) $a (let $x (pick $n) (loop (- $n 1) $x))))",
    ),
    (
        "calls another that calls it",
        "(= (loop $n $a) (if (== $n 0) True (other (- $n 1) $a)))
         (= (other $n $a) (if (== $n 0) False (loop (- $n 1) $a)))",
    ),
    (
        "adds an atom and removes it",
        "! (bind! &k (new-space))
         (= (loop $n $a) (if (== $n 0) done
            (let $_ (add-atom &k (item $a)) (let $_ (remove-atom &k (item $a)) (loop (- $n 1) $a)))))",
    ),
    (
        "adds an atom with a variable and removes it",
        "! (bind! &k (new-space))
         (= (loop $n $a) (if (== $n 0) done
            (let $_ (add-atom &k (item $v)) (let $_ (remove-atom &k (item $v)) (loop (- $n 1) $a)))))",
    ),
    (
        "makes integers of any length",
        "(= (loop $n $a) (if (== $n 0) done (loop (- $n 1) (* 1000000007 (* 1000000007 1000000007)))))",
    ),
    ("makes floats", "(= (loop $n $a) (if (== $n 0) $a (loop (- $n 1) (+ $a 0.5))))"),
    ("maps over a list", "(= (loop $n $a) (if (== $n 0) $a (loop (- $n 1) (map-atom (1 2 3) $x (+ $x $n)))))"),
    ("renames variables", "(= (loop $n $a) (if (== $n 0) done (loop (- $n 1) (sealed ($x) (quote (a $x $y))))))"),
    (
        "leaves something to the interpreter",
        "(: h (-> $t $t)) (: h (-> Number Number)) (= (h $x) $x)
         (= (loop $n $a) (if (== $n 0) done (loop (- $n 1) (h (a $v)))))",
    ),
];

/// Its code is made anew at each step.
const CHANGES_RULES: &str = "(= (f) 0)
    (= (loop $n $a) (if (== $n 0) $a
       (let $_ (remove-atom &self (= (f) 0)) (let $_ (add-atom &self (= (f) 0)) (loop (- $n 1) (f))))))";

/// The most bytes that are held at once while a session that knows a text evaluates these forms.
fn bytes_max(text: &str, forms: impl Iterator<Item = String>) -> u64 {
    let mut session = Session::new(Box::new(MemoryWorld::default()));
    session.collect_garbage_from(COLLECT_FROM);
    session.run(text, &mut |_, _| Ok(()));
    let info = allocation_counter::measure(|| {
        for form in forms {
            session.run(&form, &mut |_, answer| {
                assert!(!line_of(answer).contains("Error"), "{text}: {}", line_of(answer));
                Ok(())
            });
        }
    });
    info.bytes_max
}

fn of_loop(text: &str, steps: usize) -> u64 {
    bytes_max(text, std::iter::once(format!("! (loop {steps} 0)")))
}

#[test]
fn a_loop_takes_no_more_memory_the_longer_it_runs() {
    let grown = LOOPS.iter().filter_map(|(what, text)| {
        let [short, long] = [20_000, 40_000].map(|steps| of_loop(text, steps));
        (long > short + short / 20).then(|| format!("a loop that {what}: {short} bytes, then {long}"))
    });
    let grown: Vec<String> = grown.collect();
    assert!(grown.is_empty(), "{}", grown.join("\n"));
}

#[test]
fn code_is_forgotten_when_rules_have_changed() {
    let [short, long] = [2_000, 6_000].map(|steps| of_loop(CHANGES_RULES, steps));
    assert!(long < short + short / 20, "{short} bytes for 2,000 changes, {long} for 6,000");
}

#[test]
fn forms_are_forgotten_when_they_were_evaluated() {
    let sums = "(+ 1 ".repeat(50) + "$n" + &")".repeat(50);
    let text = format!("(= (f $n) {sums})");
    let forms =
        |count: usize| (0..count).map(|n| format!("! (let $x (f (+ {n} 0.5)) (pair $x $y (f (f (f (f (f $x))))) $z))"));
    let [few, many] = [3_000, 9_000].map(|count| bytes_max(&text, forms(count)));
    assert!(many < few + few / 20, "{few} bytes for 3,000 forms, {many} for 9,000");
}

#[test]
fn forms_with_ever_new_numbers_take_no_more_memory() {
    let kinds = [("a number that is added", "! (+ N 2)"), ("a number in data", "! (let $x (pair N a) $x)")];
    let grown = kinds.iter().filter_map(|(what, form)| {
        let forms = |count: usize| (0..count).map(|number| form.replace('N', &number.to_string()));
        let [few, many] = [6_000, 18_000].map(|count| bytes_max("", forms(count)));
        (many > few + few / 20).then(|| format!("{what}: {few} bytes for 6,000 forms, {many} for 18,000"))
    });
    let grown: Vec<String> = grown.collect();
    assert!(grown.is_empty(), "{}", grown.join("\n"));
}

/// By hand, with an optimized build: some seconds.
#[test]
#[ignore = "a hundred million steps"]
fn a_hundred_million_steps_take_no_more_memory_than_a_hundred() {
    assert_eq!(of_loop(COUNT, 100_000_000), of_loop(COUNT, 100));
}
