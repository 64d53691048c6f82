//! Data that holds its parts many times: small in memory, and longer than any disk where it is written out. Each walk over it looks into a part
//! once; what is to be written ends by a limit that is named.
//!
//! A walk that looked into each copy would take more than the age of the universe: none of these tests would end.

use crate::harness::{Program, Ran};
use metta::{Evaluator, LimitReached, RunEnd, WRITTEN_BYTES_MAX};

/// `(double N a)` is an atom of N levels, each of which is a pair of the one below.
const DOUBLE: &str = "(= (double $n $x) (if (== $n 0) $x (double (- $n 1) (P $x $x))))";

fn in_both(text: &str) -> [Ran; 2] {
    let text = format!("{DOUBLE} {text}");
    [Evaluator::Interpreter, Evaluator::Machine].map(|evaluator| Program::new(&*text).with_evaluator(evaluator).run())
}

/// A program whose last answer is this in both evaluators.
fn check(text: &str, expected: &str) {
    for ran in in_both(text) {
        assert_eq!(ran.answers.last().map(String::as_str), Some(expected), "{text}: {:?}", ran.answers);
    }
}

#[test]
fn shared_parts_are_compared_once() {
    check("! (== (double 60 a) (double 60 a))", "[True]");
    check("! (== (double 60 a) (double 60 b))", "[False]");
    check("! (let $x (double 60 a) (let $y (double 60 a) (== $x $y)))", "[True]");
    check("! (let $x (double 60 a) (let $y (double 60 a) (=alpha $x $y)))", "[True]");
    check("! (let $x (double 60 a) (let $y (double 60 a) (unify $x $y same different)))", "[same]");
    check("! (let $x (double 60 $v) (let $y (double 60 a) (unify $x $y $v different)))", "[a]");
}

#[test]
fn shared_parts_are_kept_in_a_state() {
    let text = "! (bind! &s (new-state a)) ! (let $x (double 60 a) (let $old (change-state! &s $x) done)) \
                ! (let $x (get-state &s) (== $x $x))";
    check(text, "[True]");
}

#[test]
fn shared_parts_are_sorted_out_once() {
    for (sets, size) in
        [("unique-atom ($x $y)", 1), ("intersection-atom ($x) ($y)", 1), ("subtraction-atom ($x) ($y)", 0)]
    {
        let text = format!("! (let $x (double 60 a) (let $y (double 60 a) (let $r ({sets}) (size-atom $r))))");
        check(&text, &format!("[{size}]"));
    }
}

#[test]
fn what_would_be_written_for_ever_ends_by_a_limit_that_is_named() {
    for goal in ["(double 60 a)", "(superpose (1 (double 60 a) 2))", "(double 60 $v)", "(+ 1 (double 60 a))"] {
        for ran in in_both(&format!("! {goal} ! unreached")) {
            let [answer] = &ran.answers[..] else { panic!("{goal}: {:?}", ran.answers) };
            assert!(answer.ends_with(&format!("(Error {goal} (WrittenLimit {WRITTEN_BYTES_MAX}))]")), "{answer}");
            assert!(matches!(ran.end, RunEnd::Limit(LimitReached::Written(_))), "{goal}: {:?}", ran.end);
        }
    }
}

#[test]
fn what_can_be_written_is_written() {
    for ran in in_both("! (double 12 a)") {
        let length = ran.answers[0].len();
        // Each level is `(P x x)`.
        let expected = (0..12).fold(1, |inside, _| 2 * inside + "(P  )".len()) + "[]".len();
        assert_eq!(length, expected);
    }
}

#[test]
fn a_wide_expression_has_a_type_in_linear_time() {
    let wide = format!("({})", "a ".repeat(100_000));
    for ran in in_both(&format!("(: a A) ! (let $t (get-type {wide}) (size-atom $t))")) {
        assert_eq!(ran.answers, ["[100000]"]);
    }
}
