//! `once`, `limit`, `has-result`, `count-results`: what they come to, what is not evaluated for them, and what they cost.

use crate::forms::check_without_interpreter;
use crate::harness::{Program, line_of};
use crate::measure::cost;
use metta::{Evaluator, MemoryWorld, Session, Statistics};

const NATURAL: &str = "(= (natural $n) $n) (= (natural $n) (natural (+ $n 1)))
     (: natural-number (-> Number Number)) (= (natural-number $n) $n) (= (natural-number $n) (natural-number (+ $n 1)))
     (: first (-> Atom %Undefined%)) (= (first $goal) (once $goal))
     (: few (-> Atom Atom %Undefined%)) (= (few $most $goal) (limit $most $goal))
     (= (pick) (superpose (1 2 3))) (= (inc $x) (+ $x 1))";

#[test]
fn the_first_results_in_both_evaluators() {
    check_without_interpreter(
        NATURAL,
        &[
            ("!(once (natural 5))", "[5]"),
            ("!(once (natural-number 5))", "[5]"),
            ("!(limit 3 (natural 5))", "[5, 6, 7]"),
            ("!(first (natural 5))", "[5]"),
            ("!(few 2 (natural 5))", "[5, 6]"),
            ("!(limit 3 (if (> 2 1) (natural 1) none))", "[1, 2, 3]"),
            ("!(limit 3 (let $x 4 (natural $x)))", "[4, 5, 6]"),
            ("!(limit 2 (case 7 ((3 three) ($x (natural $x)))))", "[7, 8]"),
            ("!(limit 3 (superpose (a (natural 1) b)))", "[a, 1, 2]"),
            ("!(limit 4 (superpose (a (limit 2 (natural 1)) b c)))", "[a, 1, 2, b]"),
            ("!(once (empty))", "[]"),
            ("!(once a)", "[a]"),
            ("!(limit 0 (natural 1))", "[]"),
            ("!(limit 5 (pick))", "[1, 2, 3]"),
            ("!(limit 100000000000000000000 (pick))", "[1, 2, 3]"),
            ("!(limit (pick) (pick))", "[1, 1, 2, 1, 2, 3]"),
            ("!(+ 1 (once (pick)))", "[2]"),
            ("!(+ (limit 2 (pick)) (limit 2 (natural 10)))", "[11, 12, 12, 13]"),
            ("!(inc (limit 2 (pick)))", "[2, 3]"),
            ("!(collapse (limit 2 (pick)))", "[(1 2)]"),
            ("!(let ($a $b) ((once (pick)) (limit 2 (pick))) ($b $a))", "[(1 1), (2 1)]"),
            ("!(if (has-result (natural 1)) yes no)", "[yes]"),
            ("!(has-result (empty))", "[False]"),
            ("!(+ (count-results (pick)) 1)", "[4]"),
            ("!(count-results (empty))", "[0]"),
            ("!(count-results (limit 1000 (natural 1)))", "[1000]"),
            ("!(once (noeval (+ 1 2)))", "[(+ 1 2)]"),
            ("!(once (once (pick)))", "[1]"),
            ("!(let $x (once (superpose ((+ 1 1) (+ 2 2)))) (got $x))", "[(got 2)]"),
        ],
    );
}

#[test]
fn what_a_first_result_binds_stays_bound() {
    let definitions =
        "(p 1 a) (p 2 b) (p 2 c) (q 2) (= (f 1) one) (= (f 2) two) (= (g $x) (once (match &self (p $x $y) $y)))
         (= (h $x $y) (limit 2 (match &self (p $x $y) ($x $y))))";
    check_without_interpreter(
        definitions,
        &[
            ("!(let $r (g $x) ($x $r))", "[(1 a)]"),
            ("!(let $r (g 2) ($r $r))", "[(b b)]"),
            ("!(let $r (h $x $y) (got $x $y))", "[(got 1 a), (got 2 b)]"),
            ("!(let $r (h 2 $y) (got $y))", "[(got b), (got c)]"),
            ("!(let $r (once (f $x)) ($x $r))", "[(1 one)]"),
            ("!(let $r (once (match &self (, (p $x $y) (q $x)) $y)) ($x $r))", "[(2 b)]"),
            ("!(let $r (once (match &self (p 2 $y) $z)) ($r $y))", "[($z b)]"),
            ("!(let $y (has-result (match &self (p $x $y) $y)) ($x $y))", "[($x True)]"),
            ("!(let $y (count-results (match &self (p $x $y) $y)) ($x $y))", "[($x 3)]"),
            ("!(let $y (has-result (f $x)) (f $x))", "[one, two]"),
            ("!(let $y (count-results (f $x)) ($x $y))", "[($x 2)]"),
            ("!(let $y (once (match &self (p $x $y) 5)) ($x $y))", "[]"),
            ("!(let $x 2 (once (match &self (p $x $y) ($x $y $w))))", "[(2 b $w)]"),
        ],
    );
}

#[test]
fn answers_that_come_to_no_result_or_to_several() {
    let definitions =
        "(call (sons Athena)) (call (sons Ares)) (call 5) (call (sons Apollo)) (call Empty) (call (data 1))
         (call (Error a b)) (= (sons Ares) (superpose (Phobos Deimos))) (= (sons Athena) (empty))
         (= (sons Apollo) Asclepius) (: sure (-> Number Data)) (sure-of 1) (sure-of a)";
    check_without_interpreter(
        definitions,
        &[
            ("!(once (match &self (call $x) $x))", "[Phobos]"),
            ("!(limit 3 (match &self (call $x) $x))", "[Phobos, Deimos, 5]"),
            (
                "!(limit 9 (match &self (call $x) (is $x)))",
                "[(is Phobos), (is Deimos), (is 5), (is Asclepius), (is (data 1))]",
            ),
            ("!(count-results (match &self (call $x) $x))", "[5]"),
            ("!(count-results (match &self (call $x) yes))", "[7]"),
            ("!(count-results (match &self (call $x) Empty))", "[0]"),
            ("!(has-result (match &self (call (sons Athena)) (sons Athena)))", "[False]"),
            ("!(once (match &self (call $x) (sons Apollo)))", "[Asclepius]"),
            ("!(limit 2 (match &self (call $x) (superpose (1 2))))", "[1, 2]"),
        ],
    );
}

#[test]
fn an_error_counts_if_there_is_nothing_else() {
    let definitions = format!(
        "{NATURAL} (: reason (-> Atom %Undefined%))
         (= (reason $goal) (case $goal (((Error $atom $text) (said $text)) (Empty nothing) ($x $x))))"
    );
    check_without_interpreter(
        &definitions,
        &[
            ("!(reason (once (superpose ((/ 1 0) 5 6))))", "[5]"),
            ("!(reason (once (superpose ((/ 1 0) (% 1 0)))))", "[(said DivisionByZero)]"),
            ("!(reason (limit 2 (superpose ((/ 1 0) 5 (/ 1 0) 6 7))))", "[5, 6]"),
            ("!(reason (limit 9 (superpose ((/ 1 0) 5 (/ 1 0) 6 7))))", "[5, 6, 7]"),
            ("!(reason (limit 1 (superpose ((/ 1 0) (/ 2 0)))))", "[(said DivisionByZero)]"),
            ("!(reason (limit 9 (superpose ((/ 1 0) (/ 2 0)))))", "[(said DivisionByZero), (said DivisionByZero)]"),
            ("!(reason (has-result (/ 1 0)))", "[(said DivisionByZero)]"),
            ("!(reason (has-result (superpose ((/ 1 0) 5))))", "[True]"),
            ("!(reason (count-results (superpose ((/ 1 0) 5 (/ 2 0) 6))))", "[2]"),
            ("!(reason (count-results (superpose ((/ 1 0) (/ 2 0)))))", "[(said DivisionByZero)]"),
            (
                "!(reason (limit -1 (pick)))",
                "[(said \"limit expects a whole number, 0 or more, as its first argument\")]",
            ),
            (
                "!(limit 1.0 (pick))",
                "[(Error (limit 1.0 (pick)) \"limit expects a whole number, 0 or more, as its first argument\")]",
            ),
            (
                "!(reason (limit some (pick)))",
                "[(said \"limit expects a whole number, 0 or more, as its first argument\")]",
            ),
            (
                "!(limit $n (pick))",
                "[(Error (limit $n (pick)) \"limit expects a whole number, 0 or more, as its first argument\")]",
            ),
            ("!(reason (limit (/ 1 0) (pick)))", "[(said DivisionByZero)]"),
        ],
    );
}

/// What a program prints, answers included, in an evaluator.
fn lines(text: &str, evaluator: Evaluator) -> Vec<String> {
    Program::new(text).with_evaluator(evaluator).run().lines
}

#[test]
fn nothing_after_the_last_result_that_is_wanted_is_evaluated() {
    let definitions = "(= (say $x) (let () (println! $x) $x)) (p 1) (p 2) (p 3) (= (wrap) (S (both)))
         (= (both) (superpose ((say a) (say b))))";
    // What is nested so deeply is left to the interpreter.
    let deep = format!("{}z{}", "(s ".repeat(120), ")".repeat(120));
    let definitions = format!("{definitions} (= (deep) (superpose ((say a) (say b) {deep})))");
    let cases: [(&str, &[&str]); 10] = [
        ("!(once (superpose ((say a) (say b))))", &["a", "[a]"]),
        ("!(limit 2 (superpose ((say a) (empty) (say b) (say c))))", &["a", "b", "[a, b]"]),
        ("!(has-result (superpose ((say a) (say b))))", &["a", "[True]"]),
        ("!(once (match &self (p $x) (say $x)))", &["1", "[1]"]),
        ("!(limit 2 (match &self (p $x) (if (> $x 1) (say $x) (empty))))", &["2", "3", "[2, 3]"]),
        ("!(count-results (match &self (p $x) (say $x)))", &["1", "2", "3", "[3]"]),
        ("!(once (say (superpose (a b))))", &["a", "[a]"]),
        ("!(once (deep))", &["a", "[a]"]),
        ("!(once (got (say (superpose (a b)))))", &["a", "b", "[(got a)]"]),
        ("!(once (wrap))", &["a", "b", "[(S a)]"]),
    ];
    for (form, expected) in cases {
        for evaluator in [Evaluator::Interpreter, Evaluator::Machine] {
            assert_eq!(lines(&format!("{definitions}\n{form}"), evaluator), expected, "{form} {evaluator:?}");
        }
    }
}

#[test]
fn all_answers_are_found_before_the_space_changes() {
    let text = "(p 1) (p 2) (p 3)
         !(collapse (limit 3 (match &self (p $x) (let () (add-atom &self (p (+ $x 10))) $x))))
         !(collapse (limit 5 (match &self (p $x) $x)))
         !(once (match &self (p $x) (let () (remove-atom &self (p $x)) $x)))
         !(once (match &self (p $x) $x))
         !(count-results (match &self (p $x) $x))
         !(once (match &self (p $x) (add-atom &self (= (made) $x))))
         !(limit 2 (match &self (p $x) (made)))";
    for evaluator in [Evaluator::Interpreter, Evaluator::Machine] {
        let expected = ["[(1 2 3)]", "[(1 2 3 11 12)]", "[1]", "[2]", "[5]", "[()]", "[2, 2]"];
        assert_eq!(lines(text, evaluator), expected, "{evaluator:?}");
    }
}

#[test]
fn atoms_with_variables_and_imports_answer_as_well() {
    let definitions = "(p 1) (p $any) (p (f $y)) (= (f $x) (got $x))
         !(bind! &other (new-space)) !(add-atoms &other ((p 8) (p 9) (p 8)))";
    let programs = [
        ("!(once (match &self (p 4) yes))", "[yes]"),
        ("!(limit 2 (match &self (p $x) (is $x)))", "[(is 1), (is $x)]"),
        ("!(count-results (match &self (p $x) yes))", "[3]"),
        ("!(limit 2 (match &other (p $x) $x))", "[8, 8]"),
        ("!(count-results (match &other (p $x) ()))", "[3]"),
        ("!(count-results (match &other (p 8) ()))", "[2]"),
        ("!(count-results (match &other (, (p $x) (p $y)) ()))", "[9]"),
    ];
    crate::harness::check_both_after(definitions, &programs);
}

/// A transaction is closed before its first result is there, so it is not cut off half done.
#[test]
fn a_transaction_inside_is_whole_and_one_outside_is_undone() {
    let text = "(stock 3) (= (take $n) (let* (($m (- $n 1)) ($u (remove-atom &self (stock $n))) ($v (add-atom &self (stock $m)))) $m))
         (= (now) (collapse (match &self (stock $n) $n)))
         !(once (transaction (superpose ((take 3) (take 2)))))
         !(now)
         !(case (transaction (let $left (limit 1 (superpose ((take 1) (take 0)))) (Error $left no))) (((Error $l no) $l)))
         !(now)
         !(transaction (once (superpose ((take 1) (take 0)))))
         !(now)";
    for evaluator in [Evaluator::Interpreter, Evaluator::Machine] {
        assert_eq!(lines(text, evaluator), ["[2]", "[(1)]", "[0]", "[(1)]", "[0]", "[(0)]"], "{evaluator:?}");
    }
}

/// A table is complete before the first of its answers is a result, also where the call is recursive through `once`.
#[test]
fn tabled_calls_are_complete() {
    let text = "(edge a b) (edge b c) (edge c a) (= (path $x) (match &self (edge $x $y) $y))
         (= (path $x) (let $y (path $x) (match &self (edge $y $z) $z)))
         (= (near $x) (match &self (edge $x $y) $y)) (= (near $x) (once (near-too $x))) (= (near-too $x) (near $x))
         !(pragma! table path) !(pragma! table near) !(pragma! table near-too)
         !(once (path a)) !(path a) !(limit 2 (path b)) !(count-results (path c)) !(near a)";
    for evaluator in [Evaluator::Interpreter, Evaluator::Machine] {
        // The first result of a call in progress would depend on what was asked before.
        let error = "[(Error (near a) (NotStratified (near a) (near-too a)))]";
        let expected = ["[()]", "[()]", "[()]", "[b]", "[b, c, a]", "[c, a]", "[3]", error];
        assert_eq!(lines(text, evaluator), expected, "{evaluator:?}");
    }
}

/// What a form costs in a space of `facts` facts after it was asked for before: what there is to know of the space is known.
fn costs(facts: u32, form: &str) -> (Statistics, Statistics, u64) {
    let mut session = Session::new(Box::new(MemoryWorld::default()));
    let mut text = String::from("(= (number) (count-results (match &self (p $x) yes)))");
    (0..facts).for_each(|number| text.push_str(&format!("(p n{number}) (e n{number} n{})\n", (number + 1) % facts)));
    session.run(&text, &mut |_, _| Ok(()));
    (0..3).for_each(|_| drop(session.run(form, &mut |_, _| Ok(()))));
    let before = session.statistics();
    let mut answer = String::new();
    let measured = allocation_counter::measure(|| {
        session.run(form, &mut |_, found| {
            answer = line_of(found);
            Ok(())
        });
    });
    assert!(!answer.is_empty() && !answer.contains("Error"), "{form}: {answer}");
    (before, session.statistics(), measured.count_total)
}

/// Cells, steps, calls and allocations of a form are the same for 1,000 and for 100,000 facts.
#[test]
fn a_match_finds_no_more_answers_than_are_wanted() {
    let forms = [
        "!(once (match &self (p $x) $x))",
        "!(limit 3 (match &self (p $x) (found $x)))",
        "!(has-result (match &self (p $x) $x))",
        "!(number)",
        "!(count-results (match &self (p $x) (found it)))",
        "!(once (match &self (, (e $x $y) (e $y $z)) ($x $z)))",
        "!(limit 5 (match &self (, (p $x) (e $x $y)) ($x $y)))",
        "!(limit 2 (match &self (e n7 $y) $y))",
    ];
    for form in forms {
        costs(1_000, form);
        let counted = |facts| {
            let (before, after, allocations) = costs(facts, form);
            [after.cells - before.cells, after.steps - before.steps, after.calls - before.calls, allocations]
        };
        let (few, many) = (counted(1_000), counted(100_000));
        assert_eq!(few, many, "{form}: cells, steps, calls, allocations");
        assert!(few[0] < 100, "{form}: {few:?}");
    }
}

/// No cells are taken for answers that are only counted, whatever they are.
#[test]
fn answers_that_are_counted_take_no_cells() {
    for form in
        ["!(count-results (match &self (, (e $x $y) (e $y $z)) done))", "!(count-results (match &self (p $x) $x))"]
    {
        let cells = |facts| {
            let (before, after, _) = costs(facts, form);
            after.cells - before.cells
        };
        assert_eq!(cells(1_000), cells(20_000), "{form}");
    }
}

#[test]
fn a_cut_leaves_nothing_behind() {
    let program = |times: u32| {
        format!(
            "{NATURAL} (= (loop $n) (if (== $n 0) done
               (let $a (once (natural $n)) (let $b (limit 2 (pick)) (if (== $b 1) (loop (- $n 1)) (empty))))))
             !(loop {times})"
        )
    };
    let (small, large) = (cost(&program(1_000)), cost(&program(20_000)));
    assert_eq!((&small.ran.answers[0][..], &large.ran.answers[0][..]), ("[done]", "[done]"));
    let program = |times: u32| program(times).replace("(limit 2 (pick))", "(once (pick))");
    let (small, large) = (cost(&program(1_000)), cost(&program(100_000)));
    assert_eq!((&small.ran.answers[0][..], &large.ran.answers[0][..]), ("[done]", "[done]"));
    assert!(large.bytes_max < small.bytes_max + (4 << 20), "{} bytes, then {}", small.bytes_max, large.bytes_max);
}
