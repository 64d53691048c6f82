//! Limits: what ends an evaluation early, what is kept of it, and that nothing else is lost.

use crate::harness::{Program, Ran, on_stack, run};
use generate::{Features, seeds};
use metta::{Evaluator, Interrupt, LimitReached, Limits, RunEnd};
use std::time::{Duration, Instant};

const LOOP: &str = "(= (loop $n) (loop (+ $n 1))) ";

fn with_depth(text: &str, depth_max: usize) -> Ran {
    Program::new(text).with_limits(Limits { depth_max, ..Limits::default() }).run()
}

#[test]
fn a_step_limit_keeps_the_results_found_and_comes_last() {
    let ran = Program::new(format!("{LOOP} ! (superpose (1 2 (loop 1) 3)) ! unreached")).with_steps(500).run();
    assert_eq!(ran.answers, ["[1, 2, (Error (superpose (1 2 (loop 1) 3)) (StepLimit 500))]"]);
    assert!(matches!(ran.end, RunEnd::Limit(LimitReached::Steps(500))), "{:?}", ran.end);
    assert_eq!(ran.statistics.steps, 500);
}

#[test]
fn a_limit_is_not_hidden_by_alternatives_that_succeeded() {
    let ran = Program::new(format!("{LOOP} (= (f) 1) (= (f) (loop 1)) ! (f)")).with_steps(300).run();
    assert_eq!(ran.answers, ["[1, (Error (f) (StepLimit 300))]"]);
}

#[test]
fn each_form_may_take_as_many_steps() {
    let text = "(= (f $n) (if (== $n 0) done (f (- $n 1)))) ! (f 20) ! (f 20) ! (f 20)";
    let free = run(text);
    let each = free.statistics.steps / 3;
    let enough = Program::new(text).with_steps(each).run();
    assert_eq!(enough.answers, ["[done]"; 3]);
    let too_few = Program::new(text).with_steps(each - 1).run();
    assert_eq!(too_few.answers, [format!("[(Error (f 20) (StepLimit {}))]", each - 1)]);
}

#[test]
fn a_limit_inside_collapse_leaves_no_half_of_a_tuple() {
    for goal in
        ["(collapse (superpose (1 2 (loop 1))))", "(let $all (collapse (superpose (1 (loop 1)))) (size-atom $all))"]
    {
        let ran = Program::new(format!("{LOOP} ! {goal}")).with_steps(1_000).run();
        assert_eq!(ran.answers, [format!("[(Error {goal} (StepLimit 1000))]")]);
    }
}

#[test]
fn the_depth_limit_ends_the_form() {
    let text = "(= (f $n) (if (== $n 0) 0 (+ 1 (f (- $n 1))))) ! (f 20) ! (superpose (1 (f 1000))) ! unreached";
    let ran = with_depth(text, 200);
    assert_eq!(ran.answers, ["[20]", "[1, (Error (superpose (1 (f 1000))) StackOverflow)]"]);
    assert!(matches!(ran.end, RunEnd::Limit(LimitReached::Depth(200))), "{:?}", ran.end);
}

#[test]
fn runaway_recursion_ends_by_itself() {
    let limits = Limits { depth_max: 300_000, ..Limits::default() };
    let ran = on_stack(256 << 10, || Program::new("(= (f $n) (+ 1 (f $n))) ! (f 1)").with_limits(limits).run());
    assert_eq!(ran.answers, ["[(Error (f 1) StackOverflow)]"]);
}

/// Runs an endless program that another thread interrupts after a moment.
fn interrupted(interrupt_it: fn(&Interrupt)) -> Ran {
    let limits = Limits::default();
    let interrupt = limits.interrupt.clone();
    let started = Instant::now();
    let watcher = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        interrupt_it(&interrupt);
    });
    let ran = Program::new(format!("{LOOP} ! ready ! (superpose (1 (loop 1))) ! unreached")).with_limits(limits).run();
    watcher.join().expect("the watcher ends");
    assert!(started.elapsed() < Duration::from_secs(20), "an interrupt is heard soon");
    ran
}

#[test]
fn another_thread_can_say_that_time_is_up() {
    let ran = interrupted(Interrupt::time_is_up);
    assert_eq!(ran.answers, ["[ready]", "[1, (Error (superpose (1 (loop 1))) TimeLimit)]"]);
    assert!(matches!(ran.end, RunEnd::Limit(LimitReached::Time)), "{:?}", ran.end);
}

#[test]
fn another_thread_can_cancel() {
    let ran = interrupted(Interrupt::cancel);
    assert_eq!(ran.answers, ["[ready]", "[1, (Error (superpose (1 (loop 1))) Cancelled)]"]);
    assert!(matches!(ran.end, RunEnd::Limit(LimitReached::Cancelled)), "{:?}", ran.end);
}

#[test]
fn an_interrupt_is_heard_within_a_few_hundred_steps() {
    let limits = Limits::default();
    limits.interrupt.cancel();
    let ran = Program::new(format!("{LOOP} ! (loop 1)")).with_limits(limits).run();
    assert_eq!(ran.answers, ["[(Error (loop 1) Cancelled)]"]);
    assert!(ran.statistics.steps <= 256, "{} steps", ran.statistics.steps);
}

/// A list of 65,536 elements that grows by one with each step, and leaves garbage of its own length behind.
const LONG_LIST: &str = "(= (double $l $n) (if (== $n 0) $l (double (union-atom $l $l) (- $n 1)))) \
    (= (grow $l) (grow (cons-atom a $l))) ! (let $l (double (a b) 15) (grow $l))";

#[test]
fn a_collection_of_garbage_loses_no_steps() {
    let ran = Program::new(LONG_LIST).with_steps(1_500).run();
    assert!(ran.answers[0].contains("(StepLimit 1500)"), "{}", ran.answers[0]);
    assert!(ran.statistics.collections > 10, "{} collections", ran.statistics.collections);
    assert_eq!(ran.statistics.steps, 1_500);
}

/// Each step of it takes as long as thousands of others: limits are looked at after each. What ends the form is one of those that
/// were looked at once in 256 steps, as the clock is.
#[test]
fn limits_are_looked_at_after_each_step_that_makes_a_long_list() {
    let limits = Limits { form_steps_max: Some(150), ..Limits::default() };
    let ran = Program::new(LONG_LIST).with_limits(limits).run();
    assert!(ran.answers[0].contains("StepLimit"), "{}", ran.answers[0]);
    assert!(ran.statistics.steps < 160, "{} steps", ran.statistics.steps);
}

/// Programs with several results, errors among them, found one after the other.
const FOUND_IN_TURN: &[&str] = &[
    "(p 1) (p 2) (p 3) ! (match &self (p $x) (+ $x 1))",
    "! (superpose ((/ 1 0) 2 (/ 3 0) 4))",
    "! (superpose ((/ 1 0) (/ 3 0)))",
    "(= (f) 1) (= (f) (g)) (= (g) 2) (= (g) 3) ! ((f) (f))",
    "! (let* (($x (superpose (1 2 3))) ($y (superpose (a b)))) ($x $y))",
    "! (case (superpose (1 2 3)) ((2 two) ($x (other $x))))",
    "! (collapse (superpose (1 2))) ! (superpose (3 4))",
    "(= (t Z) z) (= (t (S $n)) (t $n)) (= (t (S $n)) (s (t $n))) ! (t (S (S (S Z))))",
    "! (pragma! max-stack-depth 20) (= (inf) (+ 1 (inf))) ! (superpose (1 (inf) 2))",
];

#[test]
fn an_evaluation_with_a_limit_is_a_prefix_of_the_one_without() {
    for text in FOUND_IN_TURN {
        let whole = run(text);
        let all: Vec<&str> = whole.answers.iter().map(|answer| answer.trim_matches(['[', ']'])).collect();
        for steps in 1..whole.statistics.steps {
            let part = Program::new(*text).with_steps(steps).run();
            let RunEnd::Limit(LimitReached::Steps(_)) = part.end else { continue };
            let (last, before) = part.answers.split_last().expect("a limit is an answer");
            assert_eq!(before, &whole.answers[..before.len()], "{text} with {steps} steps");
            let found = last.trim_matches(['[', ']']).rsplit_once("(Error ").expect("the limit is an error").0;
            let found = found.trim_end_matches(", ");
            assert!(
                all[before.len()].starts_with(found),
                "{text} with {steps} steps: {found} of {}",
                all[before.len()]
            );
        }
    }
}

#[test]
fn whatever_was_interrupted_the_next_evaluation_is_whole() {
    let text = "(= (f $n) (if (== $n 0) (superpose (a b)) (let $x (f (- $n 1)) (c $x)))) ! (collapse (f 3))";
    let whole = run(text);
    for steps in (1..whole.statistics.steps).step_by(7) {
        let mut session = metta::Session::new(Box::new(metta::MemoryWorld::default()));
        let mut answers = Vec::new();
        for limit in [Some(steps), None] {
            session.limits_mut().steps_max = limit;
            let text = if limit.is_some() { text } else { "! (collapse (f 3))" };
            session.run(text, &mut |_, answer| {
                answers.push(format!("{:?}", answer.results));
                Ok(())
            });
        }
        assert_eq!(answers[1..], whole.answers, "after {steps} steps");
    }
}

#[test]
fn a_limit_reached_in_an_imported_file_ends_the_run() {
    let program = Program::new("! (import! &self slow) ! unreached").with_steps(1_000);
    let ran = program.with_file("slow.metta", format!("{LOOP} ! (loop 1)")).run();
    assert_eq!(ran.answers.len(), 1, "{:?}", ran.answers);
    assert!(
        ran.answers[0].contains("module top:slow ended in an error: (Error (loop 1) (StepLimit 1000))"),
        "{:?}",
        ran.answers
    );
}

#[test]
fn an_output_that_takes_no_more_ends_the_run() {
    let program = "(= (shout $n) (let $_ (println! $n) (shout (+ $n 1)))) ! ready ! (shout 1) ! unreached";
    let ran = Program::new(program).with_lines_taken(3).run();
    assert_eq!(ran.lines, ["[ready]", "1", "2"]);
    assert!(matches!(ran.end, RunEnd::World(metta::WorldError::OutputClosed)), "{:?}", ran.end);
}

/// Doubling the length again and again would fill any memory.
#[test]
fn an_integer_that_grows_without_end_is_an_error() {
    let grow = "(= (grow $n) (grow (* $n $n))) ! (case (grow 3) (((Error $call $why) $why)))";
    let ran = run(grow);
    assert_eq!(ran.answers, ["[IntegerTooLarge]"]);
    assert!(ran.statistics.steps < 100_000, "{:?}", ran.statistics);
}

#[test]
fn arithmetic_at_the_limit_says_which_call_failed() {
    let squared = "(= (square $n $k) (if (== $k 0) $n (square (* $n $n) (- $k 1))))";
    let caught = |call: &str| {
        run(&format!("{squared} ! (case {call} (((Error ($operation $a $b) $why) (found $operation $why)) ($n fine)))"))
            .answers
    };
    assert_eq!(caught("(* (square 2 21) (square 2 21))"), ["[(found * IntegerTooLarge)]"]);
    // 2^(2^22 - 1) has as many bits as may be.
    let most = "(* (square 2 21) (/ (square 2 21) 2))";
    assert_eq!(caught(most), ["[fine]"]);
    assert_eq!(caught(&format!("(+ {most} {most})")), ["[(found + IntegerTooLarge)]"]);
    assert_eq!(caught(&format!("(- (- 0 {most}) {most})")), ["[(found - IntegerTooLarge)]"]);
    assert_eq!(caught("(* 2.0 (square 2 21))"), ["[fine]"]);
    assert_eq!(caught("(- (* (square 2 21) (- (square 2 21) 1)) (square 2 21))"), ["[fine]"]);
    assert_eq!(caught("(pow-math (square 2 21) 2)"), ["[fine]"]);
    assert_eq!(run(&format!("{squared} ! (pow-math (square 2 21) 2)")).answers, ["[inf]"]);
}

#[test]
fn an_integer_with_too_many_digits_does_not_parse() {
    let digits = "7".repeat(space::INTEGER_DIGITS_MAX + 1);
    for word in [digits.clone(), format!("-{digits}"), format!("+{digits}")] {
        let ran = run(&format!("! 1\n! (+ 1 {word})"));
        assert_eq!(ran.answers, ["[1]"]);
        assert!(matches!(ran.end, RunEnd::NotParsed), "{:?}", ran.end);
        let error = &ran.diagnostics[0];
        assert_eq!(error.message, "an integer of 1262612 digits");
        assert_eq!(error.span.start, 11);
    }
    // What is no integer has no such limit.
    assert_eq!(run(&format!("! (get-metatype a{digits})")).answers, ["[Symbol]"]);
    assert_eq!(run(&format!("! (get-metatype \"{digits}\")")).answers, ["[Grounded]"]);
}

const MEBIBYTE: usize = 1 << 20;

fn with_heap(text: &str, bytes: usize) -> Ran {
    Program::new(text).with_limits(Limits { heap_bytes_max: Some(bytes), ..Limits::default() }).run()
}

/// There was no room for the copy of a collection, and what it had moved so far was read as if nothing had been moved.
#[test]
fn a_limit_in_the_middle_of_a_collection_is_a_limit() {
    let rule = "$old (= (join () $ys) ((join $xs $ys)))";
    let runs = [
        ("((join () $rest))", 4 * MEBIBYTE),
        ("((join () $rest))", 16 * MEBIBYTE),
        // Results that are compared are found one after the other, each of them deeper.
        ("(assertEqual ((join () $rest)) a)", MEBIBYTE / 4),
    ];
    for (form, bytes) in runs {
        let ran = with_heap(&format!("{rule} ! {form}"), bytes);
        let [answer] = ran.answers.as_slice() else { panic!("{:?}", ran.answers) };
        assert!(answer.ends_with(&format!("(Error {form} (HeapLimit {bytes}))]")), "{answer}");
        assert!(matches!(ran.end, RunEnd::Limit(LimitReached::Heap(_))), "{:?}", ran.end);
    }
}

/// Whatever the limit of the heap is, a program ends with what it comes to without one, or with a limit that has a name.
#[test]
fn generated_programs_end_with_a_result_or_a_limit_at_any_size_of_the_heap() {
    let mut limited = 0;
    for seed in seeds(0..60) {
        let text = generate::program(seed, Features::all(), 8);
        let limits = Limits { steps_max: Some(20_000), ..Limits::default() };
        let whole = Program::new(text.as_str()).with_limits(limits.clone()).run();
        let mut bytes = 512 + (seed as usize).wrapping_mul(7919) % 4096;
        while bytes < 4 * MEBIBYTE {
            let limits = Limits { heap_bytes_max: Some(bytes), ..limits.clone() };
            let ran = Program::new(text.as_str()).with_limits(limits).run();
            if let RunEnd::Limit(LimitReached::Heap(most)) = ran.end {
                limited += 1;
                assert_eq!(most, bytes as u64, "seed {seed}");
                let last = ran.answers.last().expect("a limit is an answer");
                assert!(last.ends_with(&format!("(HeapLimit {bytes}))]")), "seed {seed}: {last}");
            } else {
                assert_eq!(ran.answers.len(), whole.answers.len(), "seed {seed} with {bytes} bytes");
            }
            bytes = bytes * 5 + seed as usize % 97;
        }
    }
    assert!(limited > 30, "{limited} runs reached the limit");
}

/// The most cells that a program held at one time.
fn cells_held(text: &str) -> usize {
    let ran = run(text);
    assert!(matches!(ran.end, RunEnd::Finished), "{:?}: {:?}", ran.end, ran.answers);
    ran.statistics.heap_bytes_peak / 8
}

/// What is put together while calls return leaves garbage behind, and no function is entered there.
#[test]
fn a_list_that_is_put_together_while_calls_return_takes_linear_memory() {
    let list = "(= (mk $n) (if (== $n 0) () (let $r (mk (- $n 1)) (cons-atom $n $r))))";
    let text = "(= (mk $n) (if (== $n 0) \"\" (let $r (mk (- $n 1)) (format-args \"{}x\" ($r)))))";
    let folded = "(= (count $n $l) (if (== $n 0) $l (count (- $n 1) (cons-atom $n $l))))
                  (= (mk $n) (let $l (count $n ()) (foldl-atom $l () $acc $x (cons-atom $x $acc))))";
    for program in [list, text, folded] {
        let held = |n: usize| cells_held(&format!("{program} ! (let $l (mk {n}) done)"));
        let (small, large) = (held(2_500), held(10_000));
        // A collection begins at 2^17 cells, and copies what survives.
        assert!(large < 4 * small.max(1 << 17), "{small} cells for 2,500 elements, {large} for 10,000: {program}");
    }
}

/// Each level was compared with what it had come from, in a copy that was made for it.
#[test]
fn a_nested_atom_of_a_space_is_evaluated_in_linear_memory() {
    let cells = |levels: usize| {
        let nested = "(s ".repeat(levels) + "z" + &")".repeat(levels);
        let ran = run(&format!("(fact {nested}) ! (let $y (match &self (fact $x) $x) (add-atom &self $y))"));
        assert_eq!(ran.answers, ["[()]"]);
        ran.statistics.cells
    };
    let (small, large) = (cells(1_000), cells(4_000));
    assert!(large < 5 * small, "{small} cells for 1,000 levels, {large} for 4,000");
}

/// Variables each of which stands for a pair of the next one: what the first comes to doubles with each.
const DOUBLINGS: usize = 60;

/// A program that binds one after the other, and then asks for the first.
fn doubling_by_unification() -> String {
    let unify = |inner: String, place: usize| format!("(unify $v{place} ($v{0} $v{0}) {inner} no)", place + 1);
    format!("! {}", (0..DOUBLINGS).rev().fold("$v0".to_owned(), unify))
}

/// A program that binds all when a rule is found.
fn doubling_by_a_rule() -> String {
    let pattern = |place: usize| format!("$v{place} ($v{0} $v{0})", place + 1);
    let call: String = (0..DOUBLINGS).map(|place| format!(" $c{place} $c{place}")).collect();
    let patterns: Vec<String> = (0..DOUBLINGS).map(pattern).collect();
    format!("(= (all {}) $v0) ! (all{call})", patterns.join(" "))
}

#[test]
fn an_atom_that_doubles_with_each_binding_ends_by_the_limit_of_steps() {
    // The machine does not count what it makes of one atom: there memory ends it, and time.
    for text in [doubling_by_unification(), doubling_by_a_rule()] {
        let program = Program::new(text.as_str()).with_evaluator(Evaluator::Interpreter);
        let ran = program.with_steps(2_000).run();
        assert!(matches!(ran.end, RunEnd::Limit(LimitReached::Steps(2_000))), "{:?} {text}", ran.end);
        assert!(ran.answers[0].ends_with("(StepLimit 2000))]"), "{:?}", ran.answers);
        assert_eq!(ran.statistics.steps, 2_000);
    }
}

#[test]
fn an_atom_that_doubles_with_each_binding_ends_when_time_is_up() {
    for text in [doubling_by_unification(), doubling_by_a_rule()] {
        for evaluator in [Evaluator::Interpreter, Evaluator::Machine] {
            let limits = Limits::default();
            let interrupt = limits.interrupt.clone();
            let watcher = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                interrupt.time_is_up();
            });
            let ran = Program::new(text.as_str()).with_evaluator(evaluator).with_limits(limits).run();
            watcher.join().expect("the watcher ends");
            assert!(matches!(ran.end, RunEnd::Limit(LimitReached::Time)), "{evaluator:?}: {:?}", ran.end);
        }
    }
}

/// The arguments hold each other: the call of the tenth round has a thousand parts, that of the sixtieth as many as a tree of sixty levels, but each is
/// there once.
#[test]
fn the_types_of_an_atom_whose_parts_are_shared_are_found_once() {
    let text = "(= (gcd $a $b) (if (== $b 0) $a (gcd $b (% $a $b)))) ! (gcd 84 (two things))";
    for evaluator in [Evaluator::Interpreter, Evaluator::Machine] {
        let ran = Program::new(text).with_evaluator(evaluator).with_steps(2_000).run();
        assert!(matches!(ran.end, RunEnd::Limit(LimitReached::Steps(2_000))), "{evaluator:?}: {:?}", ran.end);
    }
}
