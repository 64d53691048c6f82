//! Tests in the template of a `match`: what they drop is dropped while answers are found, and everything else is as it was.

use crate::harness::{Program, check_both, unnumbered};
use metta::{Evaluator, MemoryWorld, Session};

/// Facts with values of all kinds, one of them twice.
const FACTS: &str = "(v a 1) (v b 5) (v c 7) (v b 5) (v d 2.5) (v e x) (v f \"t\") (v g True) (v h 5.0) (v i (+ 1 2))
     (v j 99999999999999999999) (v k Empty) (w 5) (w x) (w b) (likes b b) (likes b c) (likes c c)\n";

/// The last answer in both evaluators.
pub(crate) fn last_answers(program: &str) -> [String; 2] {
    [Evaluator::Interpreter, Evaluator::Machine].map(|evaluator| {
        let ran = Program::new(program).with_evaluator(evaluator).run();
        unnumbered(ran.answers.last().expect("there is an answer"))
    })
}

#[test]
fn comparisons_drop_answers_whose_test_is_certainly_false() {
    let facts = "(v a 1) (v b 5) (v c 7) (v b 5) (v d 2.5) (v j 99999999999999999999)\n";
    let cases = [
        ("!(match &self (v $k $n) (if (> $n 3) $k (empty)))", "[b, b, c, j]"),
        ("!(match &self (v $k $n) (if (> $n 3) (empty) $k))", "[a, d]"),
        ("!(match &self (v $k $n) (if (not (> $n 3)) $k (empty)))", "[a, d]"),
        ("!(match &self (v $k $n) (if (and (> $n 1) (< (+ $n 1) 7)) $k Empty))", "[b, b, d]"),
        (
            "!(match &self (v $k $n) (if (or (== $n 1) (>= $n 7)) ($k $n) (empty)))",
            "[(a 1), (c 7), (j 99999999999999999999)]",
        ),
        ("!(match &self (v $k $n) (if (> $n 3) (if (< $n 6) $k (empty)) (empty)))", "[b, b]"),
        ("!(match &self (, (v $k $n) (v $l $m)) (if (< (+ $n $m) 4) ($k $l) (empty)))", "[(a a), (a d), (d a)]"),
        ("!(match &self (, (v $k $n) (v $l $m)) (if (== $k $l) (empty) (if (== $n $m) ($k $l) (empty))))", "[]"),
        ("!(let $most 2 (match &self (v $k $n) (if (<= $n $most) $k (empty))))", "[a]"),
        ("!(once (match &self (v $k $n) (if (> $n 3) $k (empty))))", "[b]"),
        ("!(limit 2 (match &self (v $k $n) (if (> $n 3) $k (empty))))", "[b, b]"),
        ("!(count-results (match &self (v $k $n) (if (> $n 3) found (empty))))", "[4]"),
        ("!(has-result (match &self (v $k $n) (if (> $n 1000000000000000000000000) $k (empty))))", "[False]"),
        ("!(case (match &self (v $k $n) (if (> $n 1000000000000000000000000) $k (empty))) ((Empty none)))", "[none]"),
    ];
    let cases: Vec<(String, &str)> = cases.map(|(form, expected)| (format!("{facts}{form}"), expected)).into();
    check_both(&cases.iter().map(|(text, expected)| (text.as_str(), *expected)).collect::<Vec<_>>());
}

#[test]
fn what_a_test_is_not_certain_of_is_left_to_the_template() {
    let tests = [
        "(> $n 3)",
        "(== $n x)",
        "(== $n 5)",
        "(== $n b)",
        "(not (== $n x))",
        "(== $n $k)",
        "(== $k b)",
        "(and (> $n 3) (== $k b))",
        "(or (== $k a) (> $n 3))",
        "(> (/ 10 (- $n 5)) 1)",
        "(== $n \"t\")",
        "(== $n True)",
        "$n",
        "(not $n)",
        "(> $n $m)",
        "(== $n 3)",
        "(> 3 2)",
        "(xor (== $k b) (== $n 7))",
        "(== $n Empty)",
        "(== (% $n 2) 1)",
    ];
    let mut failures = Vec::new();
    for prologue in
        ["", "(: x Thing) (: b Other)\n", "(: a (-> Number Number))\n", "(= (if $c $t $e) (mine $c $t $e))\n"]
    {
        for test in tests {
            for template in
                ["(if TEST ($k $n) (empty))", "(if TEST (empty) ($k $n))", "(if TEST (if (< $n 9) $k Empty) Empty)"]
            {
                let template = template.replace("TEST", test);
                for form in [
                    format!("!(collapse (match &self (v $k $n) {template}))"),
                    format!("!(collapse (match &self (, (v $k $n) (w $n)) {template}))"),
                    format!("!(collapse (match &self (, (w $n) (v $k $n)) {template}))"),
                    format!("!(count-results (match &self (v $k $n) {template}))"),
                    format!("!(collapse (limit 3 (match &self (v $k $n) {template})))"),
                    format!("(= (ask $m) (match &self (v $k $n) {template}))\n!(collapse (ask 3))"),
                ] {
                    let [interpreted, compiled] = last_answers(&format!("{FACTS}{prologue}{form}"));
                    if interpreted != compiled {
                        failures.push(format!("{prologue}{form}\n  is        {interpreted}\n  machine: {compiled}"));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn types_that_come_while_a_function_runs_are_seen_by_its_tests() {
    let program = format!(
        "{FACTS}(= (late) (let $added (add-atom &self (: b Thing)) (match &self (likes $k $l) (if (== $k c) $l (empty)))))
         !(collapse (late))\n!(collapse (late))"
    );
    let [interpreted, compiled] = last_answers(&program);
    assert_eq!(interpreted, compiled);
}

#[test]
fn code_says_how_many_tests_are_filters() {
    let filters = |template: &str| {
        let mut session = Session::new(Box::new(MemoryWorld::default()));
        let program = format!("(= (ask $m) (match &self (v $k $n) {template}))");
        drop(session.run(&program, &mut |_, _| Ok(())));
        let code = session.explain("ask", metta::Explained::Code).expect("it has rules");
        let query = code.lines().find(|line| line.contains(" query ")).expect("it asks");
        query.split(", filters ").nth(1).map_or(0, |rest| rest[..1].parse().expect("it is a digit"))
    };
    let cases = [
        ("$k", 0),
        ("(if (> $n 3) $k (empty))", 1),
        ("(if (> $n $m) (if (== $k $m) (empty) $k) Empty)", 2),
        ("(if (not (and (> (+ $n 1) $m) (< $n 9))) $k (empty))", 1),
        ("(if (> $m 3) $k (empty))", 0),
        ("(if (> $n (f $n)) $k (empty))", 0),
        ("(if (> $n 3) $k other)", 0),
        ("(if (> $n 3) (empty) (empty))", 0),
    ];
    assert_eq!(cases.map(|(template, _)| filters(template)), cases.map(|(_, count)| count));
}

#[test]
fn what_is_counted_or_dropped_is_not_made() {
    let asked = |rows: usize, form: &str| {
        let facts: String = (0..rows).map(|row| format!("(v k{row} {row}) (w k{row} {})\n", row % 7)).collect();
        let ran = Program::new(format!("{facts}(= (ask $m) {form})\n!(ask 3)")).run();
        (ran.answers.last().expect("it answers").clone(), ran.statistics.cells)
    };
    let cases = [
        ("(count-results (match &self (v $k $n) (if (> $n $m) found (empty))))", "[1996]", "[3996]"),
        ("(match &self (v $k $n) (if (< $n $m) $k (empty)))", "[k0, k1, k2]", "[k0, k1, k2]"),
        (
            "(count-results (match &self (v $k $n) (match &self (w $k $o) (if (> $n (+ $o $m)) found (empty)))))",
            "[1993]",
            "[3993]",
        ),
        (
            "(match &self (v $k $n) (if (has-result (match &self (w $k $m) yes)) (if (< $n 4) $k (empty)) (empty)))",
            "[k3]",
            "[k3]",
        ),
    ];
    for (form, few, many) in cases {
        let [(first, less), (second, more)] = [asked(2_000, form), asked(4_000, form)];
        assert_eq!((first.as_str(), second.as_str()), (few, many), "{form}");
        assert_eq!(less, more, "{form}: the cells do not grow with what is counted or dropped");
    }
}

/// Answers of a query without variables have no terms: it is counted how many pass.
#[test]
fn queries_without_variables_are_filtered() {
    let facts = "!(bind! &other (new-space)) (row c 1) (row c 1) (row d 2) !(add-atom &other (edge b b))\n";
    let cases = [
        ("!(match &self (row c 1) (if (has-result (match &other (edge a a) yes)) (empty) found))", "[found, found]"),
        ("!(match &self (row c 1) (if (has-result (match &other (edge b b) yes)) (empty) found))", "[]"),
        ("!(match &self (row c 1) (if (has-result (match &other (edge $x $x) yes)) found (empty)))", "[found, found]"),
        (
            "!(match &self (, (row c 1) (row d 2)) (if (has-result (match &other (edge a b) yes)) (empty) found))",
            "[found, found]",
        ),
        ("!(match &self (row e 1) (if (has-result (match &other (edge a a) yes)) (empty) found))", "[]"),
        ("!(once (match &self (row c 1) (if (has-result (match &other (edge a a) yes)) (empty) found)))", "[found]"),
        (
            "!(count-results (match &self (row c 1) (if (has-result (match &other (edge a a) yes)) (empty) found)))",
            "[2]",
        ),
        (
            "!(has-result (match &self (row c 1) (if (has-result (match &other (edge b b) yes)) (empty) found)))",
            "[False]",
        ),
        (
            "(= (ask $x) (match &self (row c 1) (if (has-result (match &other (edge $x $x) yes)) (empty) $x)))
             !(collapse (ask a)) !(collapse (ask b)) !(collapse (ask (superpose (a b))))",
            "[(a a)]",
        ),
    ];
    let cases: Vec<(String, &str)> = cases.map(|(form, expected)| (format!("{facts}{form}"), expected)).into();
    check_both(&cases.iter().map(|(text, expected)| (text.as_str(), *expected)).collect::<Vec<_>>());
}
