//! Choosing by pattern: `case` and `switch`, `let` and `let*`, `if` and its relatives.

use crate::harness::check;

#[test]
fn case_takes_the_first_branch_that_matches_each_result() {
    check(&[
        ("! (case 5 ((4 four) (5 five) ($x other)))", &["[five]"]),
        ("! (case (+ 1 2) ((4 four)))", &["[]"]),
        ("! (case (superpose (1 2 3)) ((1 one) ($x (other $x))))", &["[one, (other 2), (other 3)]"]),
        ("! (case (foo $x) (((foo 1) (one $x)) ($_ other)))", &["[(one 1)]"]),
        ("! (case 5 ((5 (+ 1 2)) ($x no)))", &["[3]"]),
        ("! (case a ()) ! (case 5 foo) ! (case 5 ((4)))", &["[]", "[]", "[]"]),
    ]);
}

#[test]
fn case_matches_empty_when_there_is_no_result() {
    check(&[
        ("! (case (empty) ((Empty nothing) ($x some)))", &["[nothing]"]),
        ("! (case (superpose ()) ((4 four) (Empty nothing)))", &["[nothing]"]),
        ("! (case (match &self (no such) 1) ((Empty nothing)))", &["[nothing]"]),
        ("! (case (empty) (($x some)))", &["[some]"]),
        ("! (case (empty) ((4 four)))", &["[]"]),
        ("! (case Empty ((Empty nothing)))", &["[nothing]"]),
    ]);
}

#[test]
fn switch_ends_its_branch_when_there_is_no_result() {
    check(&[
        ("! (switch (empty) ((Empty nothing) ($x some)))", &["[]"]),
        ("! (switch Empty ((Empty nothing)))", &["[nothing]"]),
        ("! (switch (+ 2 3) ((4 four) (5 five)))", &["[five]"]),
        ("! (switch (superpose (1 2)) ((1 one) (2 two)))", &["[one, two]"]),
        ("! (switch 7 ((4 four))) ! (switch 7 ())", &["[]", "[]"]),
        ("! (switch-minimal 5 ((5 (+ 1 2)))) ! (switch-internal 5 ((5 (+ 1 2)) ()))", &["[(+ 1 2)]", "[(+ 1 2)]"]),
    ]);
}

#[test]
fn let_unifies_a_value_with_a_pattern() {
    check(&[
        ("! (let $x (+ 1 2) ($x $x))", &["[(3 3)]"]),
        ("! (let ($x $y) (1 2) (+ $x $y))", &["[3]"]),
        ("! (let $x (empty) foo) ! (let 5 6 foo) ! (let 5 5 foo)", &["[]", "[]", "[foo]"]),
        ("! (let $x (superpose (1 2)) (foo $x))", &["[(foo 1), (foo 2)]"]),
        ("! (let (f $x) (f $x) ($x))", &["[($x)]"]),
        ("! (let $x (/ 1 0) reached)", &["[(Error (/ 1 0) DivisionByZero)]"]),
    ]);
}

#[test]
fn let_star_binds_one_after_the_other() {
    check(&[
        ("! (let* (($x 1) ($y (+ $x 1))) ($x $y))", &["[(1 2)]"]),
        ("! (let* () 5)", &["[5]"]),
        ("! (let* (($x 1) (1 $x)) ok) ! (let* (($x 1) (2 $x)) ok)", &["[ok]", "[]"]),
        (
            "! (let* ((a)) 5)",
            &["[(Error (let* ((a)) 5) \"List of (<pattern> <atom>) pairs is expected as a second argument\")]"],
        ),
    ]);
}

#[test]
fn conditions_that_are_no_truth_values_leave_the_call() {
    check(&[
        ("! (if True 1 2) ! (if False 1 2) ! (if (> 2 1) yes no)", &["[1]", "[2]", "[yes]"]),
        ("! (if foo 1 2) ! (and foo True) ! (not foo)", &["[(if foo 1 2)]", "[(and foo True)]", "[(not foo)]"]),
        ("! (if $x 1 2)", &["[1, 2]"]),
        ("! (if 5 1 2)", &["[(Error (if 5 1 2) (BadArgType 1 Bool Number))]"]),
        ("! (if-equal (f $x) (f $y) same other) ! (if-equal (+ 1 2) 3 same other)", &["[same]", "[other]"]),
        ("! (if-error (Error a b) 1 2) ! (if-error (/ 1 0) 1 2)", &["[1]", "[2]"]),
        ("! (if-decons-expr (a b) $h $t ($h $t) none) ! (if-decons-expr () $h $t $h none)", &["[(a (b))]", "[none]"]),
    ]);
}

#[test]
fn raw_and_evaluated_atoms_are_told_apart() {
    check(&[
        ("! (quote (+ 1 2)) ! (unquote (quote (+ 1 2)))", &["[(quote (+ 1 2))]", "[3]"]),
        ("! (noeval (+ 1 2)) ! (id (+ 1 2)) ! (nop (+ 1 2))", &["[(+ 1 2)]", "[3]", "[()]"]),
        ("! (atom-subst 5 $x (foo $x $y)) ! (atom-subst (+ 1 2) $x (foo $x))", &["[(foo 5 $y)]", "[(foo (+ 1 2))]"]),
        ("! (superpose ((+ 1 2) (superpose (4 5)) foo))", &["[3, 4, 5, foo]"]),
        ("! (return-on-error (Error a b) 5) ! (return-on-error 3 5)", &["[(return (Error a b))]", "[5]"]),
    ]);
}
