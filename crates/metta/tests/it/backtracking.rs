//! Results that are collected by `collapse` and the like: what they come to is the same whether the results of the expressions inside are
//! gathered first or are used as they are found.

use crate::harness::{Program, check_both};
use metta::Evaluator;

const CHOICES: &str = "(= (one) 1) (= (one) (empty)) (= (down $n) (if (== $n 0) done (let $x (one) (down (- $n $x)))))";

/// The last lines are these in both evaluators.
#[track_caller]
fn check_lines(text: &str, expected: &[&str]) {
    for evaluator in [Evaluator::Interpreter, Evaluator::Machine] {
        let lines = Program::new(text).with_evaluator(evaluator).run().lines;
        assert!(lines.len() >= expected.len(), "{text}\n{evaluator:?}: {lines:?}");
        assert_eq!(lines[lines.len() - expected.len()..], *expected, "{text}\n{evaluator:?}");
    }
}

#[test]
fn what_is_added_on_the_way_is_not_found_by_an_expression_that_was_there_before() {
    let text = "(late 5) (= (found) 1) (= (found) (match &self (late $x) $x))
         (= (add $x) (let $added (add-atom &self (late (+ $x 100))) $x))
         !(collapse (let $x (found) (add $x)))
         !(collapse (found))";
    check_lines(text, &["[(1 5)]", "[(1 5 101 105)]"]);
}

#[test]
fn the_first_of_two_expressions_prints_all_its_lines_before_the_second() {
    let text = "(= (said) (let $told (println! first) 1)) (= (said) (let $told (println! second) 2))
         (= (again $x) (let $told (println! (told $x)) $x))
         !(collapse (again (said)))
         !(once (again (said)))";
    let all = ["first", "second", "(told 1)", "(told 2)", "[(1 2)]", "first", "second", "(told 1)", "[1]"];
    check_lines(text, &all);
}

#[test]
fn states_are_changed_in_the_order_of_the_program() {
    let text =
        "(= (two) 1) (= (two) 2) (= (seen $s $x) (let $old (get-state $s) (let $new (change-state! $s $x) ($old $x))))
         (= (all) (let $s (new-state 0) (collapse (let $x (two) (seen $s $x)))))
         (= (read $s) 1) (= (read $s) (get-state $s))
         (= (late) (let $s (new-state 5) (collapse (let $x (read $s) (let $new (change-state! $s 7) $x)))))
         !(all) !(late)";
    check_lines(text, &["[((0 1) (1 2))]", "[(1 5)]"]);
}

#[test]
fn an_error_is_dropped_if_its_expression_has_another_result() {
    let definitions = "(= (odd) (Error odd one)) (= (odd) 1) (= (odd) 2) (= (late) 1) (= (late) (Error late two))
         (= (none 1) (empty)) (= (none 2) (empty)) (= (got 1) yes) (= (got 2) no)";
    let cases = [
        ("!(collapse (none (odd)))", "[()]"),
        ("!(collapse (got (odd)))", "[(yes no)]"),
        ("!(collapse (none (late)))", "[()]"),
        ("!(collapse (let $x (odd) (let $y (late) ($x $y))))", "[((1 1) (2 1))]"),
        ("!(once (none (odd)))", "[]"),
        ("!(once (got (odd)))", "[yes]"),
        ("!(has-result (none (odd)))", "[False]"),
        ("!(count-results (got (odd)))", "[2]"),
        ("!(limit 3 (let $x (late) (got $x)))", "[yes]"),
    ];
    let texts: Vec<(String, &str)> =
        cases.iter().map(|(form, expected)| (format!("{definitions}\n{form}"), *expected)).collect();
    check_both(&texts.iter().map(|(text, expected)| (text.as_str(), *expected)).collect::<Vec<_>>());
}

/// One place is right some times and wrong other times, whatever was noted of it.
#[test]
fn a_place_where_results_had_to_be_gathered_goes_on_as_before() {
    let text = "(= (odd $n) (if (== 0 (% $n 3)) (Error $n three) $n)) (= (odd $n) (+ $n 100))
         (= (same $n) $n)
         (= (sums $n) (if (== $n 0) () (let $all (collapse (same (odd $n))) (let $more (sums (- $n 1)) (cons-atom $all $more)))))
         !(sums 7)";
    check_both(&[(text, "[((7 107) (106) (5 105) (4 104) (103) (2 102) (1 101))]")]);
}

#[test]
fn choices_that_come_to_nothing_take_no_memory() {
    let text = format!("{CHOICES}\n!(collapse (down 20000))");
    let ran = Program::new(&text).run();
    assert_eq!(ran.answers, ["[(done)]"]);
    let bytes = ran.statistics.heap_bytes_peak;
    assert!(bytes < 1 << 20, "{bytes} bytes at most");
}

#[test]
fn what_a_first_result_was_chosen_from_has_its_effects() {
    let text = "(= (said) 1) (= (said) (let $told (println! second) 2)) (= (same $x) $x)
         !(once (same (said)))
         !(has-result (same (said)))
         !(collapse (once (same (said))))
         !(collapse (same (has-result (once (same (said))))))";
    check_lines(text, &["second", "[1]", "second", "[True]", "second", "[(1)]", "second", "[(True)]"]);
}

/// Results of each kind in each order: errors, which are dropped if there is another result, do not take its memory with them.
#[test]
fn results_behind_an_error_stay_in_a_list() {
    let kinds = ["(Error a b)", "(two things)", "Empty", "5", "(Error)"];
    let orders = (0..125).map(|number| [number % 5, number / 5 % 5, number / 25].map(|kind| kinds[kind]));
    for order in orders {
        let facts: String = order.iter().map(|kind| format!("(n {kind}) ")).collect();
        let text = format!(
            "{facts} (= ($f 5) (of-five $f)) (= (all) (match &self (n $y) $y))
             (= (more) (match &self (n $y) $y)) (= (more) (P (+ 1 1))) (= (kept) (bag (collapse (all)) (collapse (more))))
             !(bag (collapse (all))) !(kept) !(bag (collapse (P (more))) (collapse (all)))"
        );
        let [interpreter, machine] = [Evaluator::Interpreter, Evaluator::Machine].map(|evaluator| {
            Program::new(&text).with_steps(100_000).with_evaluator(evaluator).keep_going().run().lines
        });
        assert_eq!(interpreter, machine, "{text}");
    }
}
