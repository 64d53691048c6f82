//! Where a variable is known: the two examples of the specification of minimal MeTTa, rules, `sealed`, `capture`,
//! spaces of other modules.

use crate::harness::{answers, check};
use std::collections::BTreeMap;

#[test]
fn a_variable_passed_to_a_function_is_bound_by_it() {
    check(&[(
        "(= (foo $b) (function (chain (unify B $b () ()) $_ (return ())))) ! (chain (eval (foo $a)) $_ $a)",
        &["[B]"],
    )]);
}

#[test]
fn a_variable_of_the_same_name_in_a_function_is_another_one() {
    check(&[
        ("(= (foo) (function (chain (unify A $a () ()) $_ (return ())))) ! (chain (eval (foo)) $_ $a)", &["[$a]"]),
        ("(= (foo $x) (let $y 1 ($x $y))) ! (let $y 2 (foo $y)) ! (foo $y)", &["[(2 1)]", "[($y 1)]"]),
    ]);
}

#[test]
fn an_expression_is_one_scope() {
    check(&[
        ("! (chain (unify $parent Bob () ()) $_ $parent)", &["[Bob]"]),
        ("(= (is-two $x) (unify $x 2 True False)) ! ((is-two $n) $n)", &["[(True 2)]"]),
        ("! (let $x 1 (let $x 2 $x)) ! (let $x 1 (let $x 1 $x))", &["[]", "[1]"]),
        ("! $x ! (+ $x 1)", &["[$x]", "[(+ $x 1)]"]),
    ]);
}

#[test]
fn alternatives_do_not_see_each_others_bindings() {
    check(&[
        ("(= (f $x) (unify $x 1 one no)) (= (f $x) (unify $x 2 two no)) ! ((f $x) $x)", &["[(one 1), (two 2)]"]),
        ("(p 1) (p 2) ! (let $r (match &self (p $x) $x) ($r $x))", &["[(1 1), (2 2)]"]),
        ("! (superpose ((let $x 1 $x) (let $x 2 $x) $x))", &["[1, 2, $x]"]),
    ]);
}

#[test]
fn each_use_of_a_rule_has_variables_of_its_own() {
    let all =
        answers("(= (f) $x) ! (collapse (superpose ((f) (f)))) (fact $v) ! (collapse (superpose ((get-atoms &self))))");
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let pair = all[0].trim_matches(['[', ']', '(', ')']);
    pair.split(' ').for_each(|name| *names.entry(name).or_default() += 1);
    assert_eq!(names.len(), 2, "{pair}");
    assert!(names.keys().all(|name| name.contains('#')), "a fresh variable shows its number: {pair}");
}

#[test]
fn sealed_renames_all_variables_but_those_listed() {
    check(&[
        ("! (assertAlphaEqual (quote (foo $x $y)) (quote (foo $a $b)))", &["[()]"]),
        ("! (let $x 5 (sealed ($x) (foo $x)))", &["[(foo 5)]"]),
        ("! (let (lambda $v $body) (sealed () (lambda $x (+ $x 1))) (let $v 5 $body))", &["[6]"]),
        ("! (let $r (sealed ($x) ($x $y)) (unify $r (1 2) ($x $y) no))", &["[(1 $y)]"]),
        ("! (let $r (sealed ($x $y) ($x $y)) (unify $r (1 2) ($x $y) no))", &["[(1 2)]"]),
    ]);
}

#[test]
fn capture_evaluates_where_it_stands() {
    check(&[(
        "(= (foo) here) (= (ask) (capture (foo)))
         ! (bind! &s (new-space)) ! (add-atom &s (= (foo) there))
         ! (capture (foo)) ! (evalc (capture (foo)) &s) ! (metta (foo) %Undefined% &s) ! (metta (capture (foo)) %Undefined% &s)",
        &["[()]", "[()]", "[here]", "[here]", "[there]", "[here]"],
    )]);
}

#[test]
fn free_variables_of_an_answer_keep_their_names() {
    check(&[
        ("(= (f $x) (g $x)) ! (f $mine)", &["[(g $mine)]"]),
        ("(p $a) ! (match &self (p $mine) $mine)", &["[$mine]"]),
        ("(= (both $x $x) ok) ! (let $r (both $p $q) ($r $p $q))", &["[(ok $q $q)]"]),
    ]);
}
