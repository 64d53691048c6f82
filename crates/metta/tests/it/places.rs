//! What the machine does in another order than the interpreter, and nobody is to notice: data that is built before the call
//! inside of it, and choices among facts that are left for later.

use crate::harness::{Program, run, unnumbered};
use metta::{Evaluator, LimitReached, Limits, RunEnd};

/// Each program prints these lines in both evaluators: its own, and its answers.
#[track_caller]
fn check_both(programs: &[(&str, &[&str])]) {
    let mut failures = Vec::new();
    for (text, expected) in programs {
        for evaluator in [Evaluator::Interpreter, Evaluator::Machine] {
            let ran = Program::new(*text).with_evaluator(evaluator).run();
            let lines: Vec<String> = ran.lines.iter().map(|line| unnumbered(line)).collect();
            if lines != *expected {
                failures.push(format!("{text}\n  expected {expected:?}\n  {evaluator:?} gives {lines:?}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The frames that a program took at most.
fn depth_of(text: &str) -> u64 {
    run(text).statistics.depth_max as u64
}

const APPEND: &str = "(= (append Nil $l) $l) (= (append (Cons $h $t) $l) (Cons $h (append $t $l)))
    (= (down $n) (if (== $n 0) Nil (Cons $n (down (- $n 1)))))
    (= (sum Nil $s) $s) (= (sum (Cons $h $t) $s) (sum $t (+ $h $s)))";

#[test]
fn a_list_is_built_by_a_loop() {
    let built = |n: u32| depth_of(&format!("{APPEND} !(sum (append (down {n}) (Cons 1 Nil)) 0)"));
    assert!(built(50_000) <= built(100) + 1_000, "{} frames for 50,000 elements", built(50_000));
    let program = format!("{APPEND} !(sum (append (append (down 100) (down 200)) (Cons 7 Nil)) 0)");
    check_both(&[(&program, &["[25157]"])]);
}

#[test]
fn what_is_wrapped_may_come_to_nothing_or_an_error_or_to_several_results() {
    check_both(&[
        ("(= (f Z) Empty) (= (f (S $n)) (S (f $n))) !(f (S (S Z)))", &["[]"]),
        ("(= (f Z) (Error here there)) (= (f (S $n)) (S (f $n))) !(f (S (S Z)))", &["[(Error here there)]"]),
        ("(= (f Z) a) (= (f Z) b) (= (f (S $n)) (S (f $n))) !(f (S (S Z)))", &["[(S (S a)), (S (S b))]"]),
        (
            "(= (f Z) a) (= (f Z) (Error x y)) (= (f (S $n)) (S (f $n))) (= (f (S $n)) (T (f $n))) !(f (S (S Z)))",
            &["[(S (S a)), (S (T a)), (T (S a)), (T (T a))]"],
        ),
        ("(= (f Z) $x) (= (f (S $n)) (S $y (f $n))) !(f (S (S Z)))", &["[(S $y# (S $y# $X#))]"]),
        ("(= (f (S $n)) (S (f $n))) !(f (S (S Z)))", &["[(S (S (f Z)))]"]),
        ("(= (f Z) NotReducible) (= (f (S $n)) (S (f $n))) !(f (S (S Z)))", &["[(S (S (f Z)))]"]),
        (
            "(= (insert $x Nil) (Cons $x Nil)) (= (insert $x (Cons $h $t)) (Cons $x (Cons $h $t)))
             (= (insert $x (Cons $h $t)) (Cons $h (insert $x $t)))
             (= (permute Nil) Nil) (= (permute (Cons $h $t)) (insert $h (permute $t)))
             !(permute (Cons 1 (Cons 2 (Cons 3 Nil))))",
            &["[(Cons 1 (Cons 2 (Cons 3 Nil))), (Cons 2 (Cons 1 (Cons 3 Nil))), (Cons 2 (Cons 3 (Cons 1 Nil))), \
               (Cons 1 (Cons 3 (Cons 2 Nil))), (Cons 3 (Cons 1 (Cons 2 Nil))), (Cons 3 (Cons 2 (Cons 1 Nil)))]"],
        ),
    ]);
}

#[test]
fn effects_come_in_the_order_of_the_children() {
    check_both(&[(
        "(= (say $x) (let $_ (println! $x) $x))
         (= (f 0) (say end)) (= (f $n) (if (== $n 0) Empty (Cons (say $n) (f (- $n 1)))))
         !(f 2)",
        &["2", "1", "end", "[(Cons 2 (Cons 1 end))]"],
    )]);
}

#[test]
fn a_constructor_that_gets_a_rule_meanwhile_is_called() {
    check_both(&[
        (
            "(= (f 0) (let $_ (add-atom &self (= (S $x) (T $x))) Z)) (= (f $n) (if (== $n 0) Empty (S (f (- $n 1)))))
             !(f 2)",
            &["[(T (T Z))]"],
        ),
        (
            "(= (f 0) (let $_ (add-atom &self (= (S Z) one)) Z)) (= (f $n) (if (== $n 0) Empty (S (f (- $n 1)))))
             !(f 2)",
            &["[(S one)]"],
        ),
    ]);
}

#[test]
fn choices_among_facts_come_in_order() {
    let colours = "(= (colour) red) (= (colour) green) (= (colour) blue) (= (say $x) (let $_ (println! $x) $x))";
    let of = |form: &str| format!("{colours} {form}");
    check_both(&[
        (
            &of("!((colour) (colour))"),
            &[
                "[(red red), (red green), (red blue), (green red), (green green), (green blue), (blue red), (blue green), (blue blue)]",
            ],
        ),
        (&of("!(let $c (colour) (say $c))"), &["red", "green", "blue", "[red, green, blue]"]),
        (&of("!(collapse (let $c (colour) (if (== $c green) Empty (say $c))))"), &["red", "blue", "[(red blue)]"]),
        (
            &of("(= (both) (let* (($a (colour)) ($b (say $a)) ($c (colour))) ($a $c))) !(size-atom (collapse (both)))"),
            &["[2]"],
        ),
        (
            &of("(= (f $x) (pair $x (colour))) !(f (case (colour) ((red 1) ($_ 2))))"),
            &[
                "[(pair 1 red), (pair 1 green), (pair 1 blue), (pair 2 red), (pair 2 green), (pair 2 blue), (pair 2 red), (pair 2 green), (pair 2 blue)]",
            ],
        ),
    ]);
}

/// A choice that is taken up later goes through the rules as they stood when the call was made.
#[test]
fn facts_that_change_while_a_choice_is_left_are_as_they_were() {
    check_both(&[
        ("(= (c) 1) (= (c) 2) !(let $x (c) (let $_ (add-atom &self (= (c) 3)) $x)) !(c)", &["[1, 2]", "[1, 2, 3, 3]"]),
        ("(= (c) 1) (= (c) 2) !(let $x (c) (let $_ (remove-atom &self (= (c) 2)) $x)) !(c)", &["[1, 2]", "[1]"]),
        (
            "(: d (-> Atom Number)) (: e (-> Atom Number)) (= (d $x) (e $x)) (= (d $x) (e $x)) (= (e a) 1) (= (e a) 2)
             !(let $x (d a) (let $_ (add-atom &self (= (e a) 3)) $x))",
            &["[1, 2, 1, 2]"],
        ),
    ]);
}

/// A frame that goes on above a choice needs room for its own slots and no more.
#[test]
fn facts_need_no_more_depth_than_other_rules() {
    for depth_max in [10, 100, 1_000] {
        let text = "(= (c) 1) (= (c) 2) !(let $x (c) (let $y (c) (+ $x $y)))";
        let ran = Program::new(text).with_limits(Limits { depth_max, ..Limits::default() }).run();
        assert!(matches!(ran.end, RunEnd::Finished), "{depth_max} frames: {:?}", ran.end);
        assert_eq!(ran.answers, ["[2, 3, 3, 4]"], "{depth_max} frames");
    }
}

#[test]
fn what_wraps_without_end_reaches_the_depth_limit() {
    let limits = Limits { depth_max: 10_000, heap_bytes_max: Some(64 << 20), ..Limits::default() };
    let ran = Program::new("(= (f $n) (S (f $n))) !(f Z)").with_limits(limits).run();
    assert!(matches!(ran.end, RunEnd::Limit(LimitReached::Depth(_))), "{:?}", ran.end);
}
