//! Results of pure functions that are remembered: against the same programs without, and against the other evaluator.

use crate::harness::{line_of, unnumbered};
use generate::Dice;
use metta::{Evaluator, Limits, MemoryWorld, RunEnd, Session, Statistics};

const FIB: &str = "(= (fib $n) (if (< $n 2) $n (+ (fib (- $n 1)) (fib (- $n 2))))) ";

/// What a run of a program printed, and what was counted.
struct Ran {
    answers: Vec<String>,
    counts: Statistics,
    is_limited: bool,
}

fn run_with(evaluator: Evaluator, memoises: bool, limits: impl FnOnce(&mut Limits), text: &str) -> Ran {
    let mut session = Session::new(Box::new(MemoryWorld::default()));
    session.set_evaluator(evaluator);
    session.memoise(memoises);
    session.keep_going(true);
    limits(session.limits_mut());
    let mut answers = Vec::new();
    let run = session.run(text, &mut |_, answer| {
        answers.push(unnumbered(&line_of(answer)));
        Ok(())
    });
    let is_limited = matches!(run.end, RunEnd::Limit(_));
    Ran { answers, counts: session.statistics(), is_limited }
}

fn run(text: &str) -> Ran {
    run_with(Evaluator::Machine, true, |_| {}, text)
}

/// The answers of a program, which are the same without a memo and in the interpreter; and what was counted with it.
fn same(text: &str) -> (Vec<String>, Statistics) {
    let ran = run(text);
    for (evaluator, memoises) in [(Evaluator::Machine, false), (Evaluator::Interpreter, true)] {
        let other = run_with(evaluator, memoises, |_| {}, text);
        assert_eq!(other.answers, ran.answers, "{evaluator:?}: {text}");
        assert_eq!(other.counts.memoised, 0, "{evaluator:?}: {text}");
    }
    (ran.answers, ran.counts)
}

#[test]
fn a_tree_recursion_makes_each_call_once() {
    let ran = run(&format!("{FIB} !(fib 80)"));
    assert_eq!(ran.answers, ["[23416728348467685]"]);
    assert_eq!((ran.counts.memoised, ran.counts.memo_misses, ran.counts.memo_hits), (1, 81, 78));
    // Numbers of many digits, and all ways in which results are collected.
    let ran =
        run(&format!("{FIB} !(collapse (fib 90)) !(assertEqual (fib 60) 1548008755920) !(count-results (fib 70))"));
    assert_eq!(ran.answers, ["[(2880067194370816120)]", "[()]", "[1]"]);
    let typed = run(&format!("(: fib (-> Number Number)) {FIB} !(fib 70)"));
    assert_eq!(typed.answers, ["[190392490709135]"]);
}

#[test]
fn what_is_remembered_is_forgotten_when_the_form_ends() {
    let twice = run(&format!("{FIB} !(fib 20) !(fib 20)")).counts;
    let once = run(&format!("{FIB} !(fib 20)")).counts;
    assert_eq!((twice.steps, twice.memo_misses), (2 * once.steps, 2 * once.memo_misses));
}

#[test]
fn a_program_says_that_nothing_is_remembered() {
    let calls = |text: &str| {
        let counts = run(text).counts;
        (counts.calls, counts.memoised)
    };
    assert_eq!(calls(&format!("{FIB} !(pragma! memoise off) !(fib 15)")), (1973, 0));
    let (few, functions) = calls(&format!("!(pragma! memoise off) !(pragma! memoise on) {FIB} !(fib 15)"));
    assert!(few < 100 && functions == 1, "{few} calls of {functions} functions");
    let refused = run("!(pragma! memoise maybe)").answers;
    assert_eq!(refused, ["[(Error (pragma! memoise maybe) pragma! memoise expects on or off)]"]);
}

#[test]
fn other_rules_make_other_results() {
    let text = format!(
        "{FIB} !(fib 10) (= (fib 100) 1) !(fib 10) !(remove-atom &self (= (fib 100) 1)) !(fib 10) (= (fib $n) (if (== $n 3) again (empty))) !(fib 4)"
    );
    same(&text);
    // A form that changes rules remembers nothing.
    let (answers, counts) = same(&format!("{FIB} !(let $a (fib 9) (let () (add-atom &self (= (fib 0) 7)) (fib 2)))"));
    assert_eq!((answers, counts.memoised), (vec!["[1, 8]".to_owned()], 0));
}

#[test]
fn only_pure_functions_are_remembered() {
    let impure = [
        "(= (f $n) (if (< $n 1) (get-state &s) (+ (f (- $n 1)) (f (- $n 1)))))",
        "(= (f $n) (if (< $n 1) (random-int &rng 0 9) (+ (f (- $n 1)) (f (- $n 1)))))",
        "(= (f $n) (if (< $n 1) (match &self (fact $x) $x) (+ (f (- $n 1)) (f (- $n 1)))))",
        "(= (g $n) (println! $n)) (= (f $n) (if (< $n 1) (g $n) (pair (f (- $n 1)) (f (- $n 1)))))",
        "(= (f $g $n) (if (< $n 1) ($g $n) (pair (f $g (- $n 1)) (f $g (- $n 1)))))",
        "(= (f $n) (if (< $n 1) (eval (g $n)) (pair (f (- $n 1)) (f (- $n 1)))))",
        "(= (f $n) (if (< $n 1) (cons-atom random-int (&rng 0 9)) (pair (f (- $n 1)) (f (- $n 1)))))",
        // Pure, but no way through a right side has two calls.
        "(= (f $n) (if (< $n 1) 0 (if (== 0 (% $n 2)) (f (/ $n 2)) (f (- $n 1)))))",
        "(= (f $n) (if (< $n 1) 0 (+ 1 (f (- $n 1)))))",
    ];
    for text in impure {
        let call = if text.contains("(f $g") { "(f id 3)" } else { "(f 3)" };
        let counts = run(&format!("(fact 1) !(import! &self random) !(bind! &s (new-state 1)) {text} !{call}")).counts;
        assert_eq!((counts.memoised, counts.memo_misses), (0, 0), "{text}");
    }
    let mutual = "(= (f $n) (if (< $n 1) 1 (+ (g $n) (g $n)))) (= (g $n) (if (< $n 1) 0 (f (- $n 1)))) !(f 60)";
    let ran = run(mutual);
    assert_eq!((ran.answers, ran.counts.memoised), (vec!["[1152921504606846976]".to_owned()], 1));
}

#[test]
fn results_are_the_same_whatever_they_are() {
    let programs = [
        // Several results a call, none, the same one twice.
        "(= (c $n) (if (< $n 1) (superpose (a b a)) (superpose ((c (- $n 1)) (c (- $n 2)) (pair (c (- $n 1)) $n))))) \
         !(c 2) !(collapse (c 2)) !(count-results (c 3)) !(once (c 9)) !(limit 4 (c 9)) !(pair (c 1) (c 0))",
        "(= (e 0) (empty)) (= (e 1) x) (= (e $n) (if (> $n 1) (pair (e (- $n 1)) (e (- $n 2))) (empty))) !(e 5) !(e 1) !(collapse (e 3))",
        // Errors, which hide behind other results; they are not remembered.
        "(= (r 0) (/ 1 0)) (= (r 0) fine) (= (r 1) (Error here bad)) \
         (= (r $n) (if (> $n 1) (superpose ((r (- $n 1)) (r (- $n 2)))) (empty))) !(r 1) !(r 3) !(collapse (r 4)) !(pair (r 2) (r 1))",
        // Calls that stand for themselves, and calls with variables and with expressions.
        "(= (s $n) (if (== $n 3) done (pair (s 3) (s 3)))) !(s 4) !(s foo) !(s $x) !(s (+ 1 2)) !(s (a b)) !(unknown (s 3))",
        "(= (t 1) one) (= (t \"1\") text) (= (t 1.5) half) (= (t True) yes) \
         (= (t (again $x)) (pair (t $x) (t $x))) !(t (again 1)) !(t (again \"1\")) !(t (again 1.5)) !(t (again True)) !(t 1.0)",
        // Data that is built behind a hole.
        "(= (l $n) (if (< $n 1) Nil (Cons (l 0) (l (- $n 1))))) !(l 6)",
        // A variable that a result has.
        "(= (v $n) (if (< $n 1) (free $y) (both (v (- $n 1)) (v (- $n 1))))) !(v 1) !(let (both $a $b) (v 1) (== $a $b))",
    ];
    for text in programs {
        same(text);
    }
}

#[test]
fn the_stack_is_as_deep_as_without() {
    let deep = "(= (l $n) (if (< $n 1) Nil (Cons (l 0) (l (- $n 1))))) (= (len Nil) 0) (= (len (Cons $x $xs)) (+ 1 (len $xs))) \
                (= (d $n) (if (< $n 1) 0 (+ (d (- $n 1)) (d 0)))) (= (t $n) (if (< $n 1) 0 (let $x (t 0) (t (- $n 1))))) ";
    for form in ["!(len (l 50000))", "!(d 900)", "!(d 2000)", "!(t 50000)"] {
        let text = format!("{deep} {form}");
        let limits = |limits: &mut Limits| limits.depth_max = 200_000;
        let with = run_with(Evaluator::Machine, true, limits, &text);
        let without = run_with(Evaluator::Machine, false, limits, &text);
        assert_eq!(with.answers, without.answers, "{form}");
    }
    // Where the limit lies is the same to the frame.
    for depth_max in (100..400).step_by(7) {
        let run = |memoises| {
            let text = format!("{deep} !(d 40)");
            run_with(Evaluator::Machine, memoises, |limits| limits.depth_max = depth_max, &text).answers
        };
        assert_eq!(run(true), run(false), "{depth_max} frames");
    }
}

#[test]
fn a_step_limit_counts_what_is_evaluated() {
    let limited = |memoises| {
        run_with(Evaluator::Machine, memoises, |limits| limits.steps_max = Some(1000), &format!("{FIB} !(fib 30)"))
    };
    assert!(limited(false).is_limited);
    assert_eq!(limited(true).answers, ["[832040]"]);
}

/// A right side of a generated program: an expression over `$n`, a number, and `$s`, a symbol.
fn expression(dice: &mut Dice, depth: u32, functions: usize) -> String {
    let leaf = ["$n", "$s", "1", "2", "a", "(+ $n 1)", "\"t\"", "0.5", "True"];
    if depth == 0 {
        return leaf[dice.below(leaf.len())].to_owned();
    }
    let call = |dice: &mut Dice| {
        let (function, less) = (dice.below(functions), 1 + dice.below(2));
        let symbol = ["$s", "a", "b"][dice.below(3)];
        format!("(f{function} (- $n {less}) {symbol})")
    };
    let part = |dice: &mut Dice| expression(dice, depth - 1, functions);
    match dice.below(12) {
        0..=3 => call(dice),
        4 => format!("(pair {} {})", part(dice), part(dice)),
        5 => format!("(+ {} {})", part(dice), part(dice)),
        6 => format!("(superpose ({} {}))", part(dice), part(dice)),
        7 => format!("(let $x {} (pair $x {}))", part(dice), part(dice)),
        8 => format!("(case {} ((1 {}) ((pair $y $z) $z) ($w {})))", part(dice), part(dice), part(dice)),
        9 => format!("(if (== $s a) {} {})", part(dice), part(dice)),
        10 => ["(empty)", "(/ $n 0)", "(Error $n bad)", "(free $q)"][dice.below(4)].to_owned(),
        _ => format!("(let* (($x {}) ($y {})) ($s $x $y))", part(dice), part(dice)).replace("($s $x", "(tuple $x"),
    }
}

fn program(dice: &mut Dice) -> String {
    let functions = 1 + dice.below(3);
    let mut text = String::new();
    for function in 0..functions {
        for _ in 0..1 + dice.below(2) {
            let (end, body) =
                (expression(dice, 1, 1).replace("(f0 (- $n", "(end (- $n"), expression(dice, 3, functions));
            let body = format!("(pair {body} (f{function} (- $n 2) $s))");
            text += &format!("(= (f{function} $n $s) (if (< $n 1) {end} {body}))\n");
        }
    }
    let forms = [
        "!(f0 2 a)",
        "!(collapse (f0 2 b))",
        "!(count-results (f0 3 a))",
        "!(once (f0 2 a))",
        "!(pair (f0 1 a) (f0 1 a))",
    ];
    text + &forms.join("\n")
}

#[test]
fn generated_programs_come_to_the_same() {
    let (mut compared, mut hits) = (0, 0);
    for seed in 0..120 {
        let text = program(&mut Dice::new(seed));
        let run = |evaluator, memoises| run_with(evaluator, memoises, |limits| limits.steps_max = Some(60_000), &text);
        let (with, without) = (run(Evaluator::Machine, true), run(Evaluator::Machine, false));
        let oracle = run(Evaluator::Interpreter, false);
        if without.is_limited || oracle.is_limited {
            continue;
        }
        assert_eq!(with.answers, without.answers, "seed {seed}:\n{text}");
        assert_eq!(with.answers, oracle.answers, "seed {seed}:\n{text}");
        compared += 1;
        hits += with.counts.memo_hits;
    }
    assert!(compared > 60 && hits > 400, "{compared} programs were compared, with {hits} hits");
}
