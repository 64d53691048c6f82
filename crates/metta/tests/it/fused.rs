//! A `match` inside the template of a `match`, and tests whether one has results: one query, with the results of the program as it is
//! written.

use crate::filters::last_answers;
use crate::harness::{Program, check_both};
use metta::{Evaluator, MemoryWorld, Session};

const FACTS: &str = "!(bind! &b (new-space))\n!(bind! &c (new-space))
     (person ann) (person bob) (person cid) (person bob) (parent ann bob) (parent bob cid) (age ann 40) (age bob 20) (age cid 3)
     !(add-atom &b (likes bob tea))\n!(add-atom &b (likes ann tea))\n!(add-atom &b (likes ann milk))\n!(add-atom &b (likes bob tea))
     !(add-atom &c (drink tea 1.0))\n!(add-atom &c (drink tea 1))\n!(add-atom &c (drink milk 2))\n";

/// Whether the code of a function asks in one query.
fn is_fused(body: &str) -> bool {
    let mut session = Session::new(Box::new(MemoryWorld::default()));
    drop(session.run(&format!("{FACTS}(= (ask $a) {body})"), &mut |_, _| Ok(())));
    session.explain("ask", metta::Explained::Code).expect("it has rules").contains("query-fused")
}

#[test]
fn what_is_asked_in_one_query_has_the_results_of_the_program_as_written() {
    let cases = [
        (
            "(match &self (person $p) (match &b (likes $p $d) ($p $d)))",
            "[(ann tea), (ann milk), (bob tea), (bob tea), (bob tea), (bob tea)]",
        ),
        (
            "(match &self (person $p) (match &b (likes $p $d) (match &c (drink $d $n) ($p $n))))",
            "[(ann 1.0), (ann 1), (ann 2), (bob 1.0), (bob 1), (bob 1.0), (bob 1), (bob 1.0), (bob 1), (bob 1.0), (bob 1)]",
        ),
        (
            "(match &self (person $p) (match &self (parent $p $q) (match &self (age $q $n) (if (> $n 5) ($p $n) (empty)))))",
            "[(ann 20)]",
        ),
        (
            "(match &self (age $p $n) (if (> $n 10) (match &self (parent $p $q) ($p $q)) (empty)))",
            "[(ann bob), (bob cid)]",
        ),
        ("(match &self (person $p) (if (has-result (match &b (likes $p $d) $p)) (empty) $p))", "[cid]"),
        ("(match &self (person $p) (if (has-result (match &b (likes $p milk) yes)) $p (empty)))", "[ann]"),
        (
            "(match &self (person $p) (if (not (has-result (match &b (likes $p milk) yes))) $p (empty)))",
            "[bob, bob, cid]",
        ),
        ("(match &self (person $p) (if (== () (collapse (match &b (likes $p $d) found))) $p (empty)))", "[cid]"),
        ("(match &self (person $p) (case (match &b (likes $p $d) found) ((Empty (alone $p)))))", "[(alone cid)]"),
        (
            "(match &self (person $p) (if (has-result (match &b (, (likes $p $d) (likes $p milk)) yes)) (empty) $p))",
            "[bob, bob, cid]",
        ),
        ("(once (match &self (person $p) (match &b (likes $p $d) ($p $d))))", "[(ann tea)]"),
        ("(limit 3 (match &self (person $p) (match &b (likes $p $d) ($p $d))))", "[(ann tea), (ann milk), (bob tea)]"),
        ("(count-results (match &self (person $p) (match &b (likes $p $d) pair)))", "[6]"),
        ("(has-result (match &self (person $p) (match &b (likes $p juice) pair)))", "[False]"),
        ("(let $s &b (match &self (person $p) (match $s (likes $p milk) $p)))", "[ann]"),
        ("(match $a (person $p) (match &b (likes $p milk) $p))", "[ann]"),
    ];
    let texts: Vec<(String, &str)> =
        cases.iter().map(|(body, expected)| (format!("{FACTS}(= (ask $a) {body})\n!(ask &self)"), *expected)).collect();
    check_both(&texts.iter().map(|(text, expected)| (text.as_str(), *expected)).collect::<Vec<_>>());
    let unfused: Vec<&str> = cases.iter().map(|(body, _)| *body).filter(|body| !is_fused_anywhere(body)).collect();
    assert!(unfused.is_empty(), "{unfused:#?}");
}

/// Whether a body asks in one query, or the goal of the form around it does: such a goal is a function of its own.
fn is_fused_anywhere(body: &str) -> bool {
    let goal =
        ["(once ", "(limit 3 ", "(count-results ", "(has-result "].iter().find_map(|form| body.strip_prefix(form));
    is_fused(goal.map_or(body, |goal| &goal[..goal.len() - 1]))
}

#[test]
fn what_may_see_the_difference_is_asked_as_it_is_written() {
    let bodies = [
        "(match &self (person $p) (match &b (likes $p $d) (f $d)))",
        "(match &self (person $p) (match &b (likes $p $d) (add-atom &b (likes cid $p))))",
        "(match &self (person $p) (if (has-result (match &b (likes $p $d) $d)) (empty) (add-atom &b (likes $p $p))))",
        "(match &self (person $p) (if (has-result (match &b (likes $p $d) (f $d))) (empty) $p))",
        "(match &self (home $p $s) (match $s (likes $p $d) $d))",
        "(match &self (person $p) (match &b $a $p))",
        "(match &self (person $p) ($p (match &b (likes $p $d) $d)))",
    ];
    let prologue = format!("{FACTS}(= (f $x) (superpose ($x $x)))\n(= (g $x) (add-atom &b (likes $x now)))\n");
    for body in bodies {
        let [interpreted, compiled] =
            last_answers(&format!("{prologue}(= (ask $a) {body})\n!(collapse (ask (likes bob tea)))"));
        assert_eq!(interpreted, compiled, "{body}");
    }
    assert!(!is_fused(bodies[1]) && !is_fused(bodies[4]) && !is_fused(bodies[6]));
}

#[test]
fn facts_that_hold_variables_calls_or_odd_values_change_nothing() {
    let additions = [
        "",
        "!(add-atom &b (likes $x water))",
        "!(add-atom &self (person $x))",
        "!(add-atom &b (likes ann (f ann)))",
        "!(add-atom &b (likes ann Empty))",
        "!(add-atom &self (person (+ 1 2)))\n!(add-atom &b (likes (+ 1 2) x))",
        "(: tea Drink)",
        "(= (pair $x $y) (changed $x $y))",
        "!(add-atom &self (person Empty))",
        "!(add-atom &b (likes cid 7))",
        "!(import! &b corelib)",
        "(= (f $x) (add-atom &b (likes cid $x)))\n!(add-atom &b (likes ann (f ann)))",
    ];
    let bodies = [
        "(match &self (person $p) (match &b (likes $p $d) (pair $p $d)))",
        "(match &self (person $p) (match &b (likes $p $d) $d))",
        "(match &self (person $p) (if (has-result (match &b (likes $p $d) $p)) (empty) (pair $p x)))",
        "(match &b (likes $p $d) (if (has-result (match &b (likes $q $d) yes)) (pair $p $d) (empty)))",
        "(match &self (person $p) (case (match &b (likes $p $d) found) ((Empty $p))))",
        "(match &self (person $p) (if (== (collapse (match &b (likes $p $a) found)) ()) $p (empty)))",
        "(match &b (likes $p $d) (if (== $d tea) (match &self (age $p $n) (if (< $n 30) (pair $p $n) (empty))) (empty)))",
        "(match &self (person $p) (match &b (likes $p $d) (match &c (drink $d $n) (if (> $n 1) ($p $n) (empty)))))",
        "(match &self (person $p) (match &b (likes $p $d) ($p $free)))",
        "(let $r (match &self (person $p) (match &b (likes $p $d) (pair $p $d))) ($r $p $d $a))",
        "(got (match &self (person $p) (match &b (likes $p $d) $d)))",
    ];
    let mut failures = Vec::new();
    for addition in additions {
        for body in bodies {
            for (wrapped, argument) in [
                ("BODY", "tea"),
                ("(count-results BODY)", "tea"),
                ("(limit 2 BODY)", "$v"),
                ("BODY", "$v"),
                ("(collapse BODY)", "tea"),
                ("(got $a (collapse BODY) (collapse BODY))", "$v"),
            ] {
                let wrapped = wrapped.replace("BODY", body);
                let form = format!("!(collapse (ask {argument}))");
                let program = format!(
                    "{FACTS}{addition}\n(= (ask $a) {wrapped})\n{form}\n{form}\n!(add-atom &b (likes cid tea))\n{form}"
                );
                let [interpreted, compiled] = last_answers(&program);
                if interpreted != compiled {
                    failures.push(format!("{addition}\n{wrapped}\n  is       {interpreted}\n  machine: {compiled}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}

/// Answers that are gathered may be left grouped by the rows of the last pattern.
#[test]
fn what_is_gathered_of_two_patterns_over_many_rows_is_the_same_in_both_evaluators() {
    let edges: String = (0..320_u32).map(|n| format!("(edge n{} n{})", n * 7 % 90, n * 5 % 97)).collect();
    let facts = format!("{edges} (edge n5 (pair a 1.5)) (edge (pair a 1.5) 7) (kind n7 odd)\n");
    let templates = [
        "($a $b $c)",
        "(path ($c $a) via $b)",
        "$c",
        "($c $c)",
        "(from $a)",
        "constant",
        "($b (2.5 $k) $c)",
        "(twice $c)",
        "(if (> $c 3) $c (empty))",
        "(match &self (kind $c $kind) ($a $kind))",
    ];
    for template in templates {
        for more in ["", "(= (twice n7) found) (= (twice $x) (both $x)) (= (via $x) $x)"] {
            for patterns in ["(edge $a $b) (edge $b $c)", "(edge $b $c) (edge $a $b)", "(edge $b $a) (edge $b $c)"] {
                let ask = format!("(collapse (match &self (, {patterns}) {template}))");
                let rule = format!("(= (ask $k) {ask})\n");
                let text = format!("{facts}{more}{rule}!(size-atom (ask (of n1)))\n!(ask (of n1))\n");
                let [reference, compiled] = [Evaluator::Interpreter, Evaluator::Machine]
                    .map(|evaluator| Program::new(&*text).with_evaluator(evaluator).run().answers);
                assert!(reference == compiled, "{template} {patterns} {more}");
                assert!(compiled.last().is_some_and(|last| last.len() > 50), "{template} {patterns} {more}");
            }
        }
    }
}
