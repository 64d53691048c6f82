//! Forms of the library where variables stand for their parts, functions with several types, native functions and compounds as
//! heads: answered as the interpreter does, without it.

use crate::harness::{Program, check_both, unnumbered};
use metta::Evaluator;

/// The last answer of each program is this in both evaluators, and the machine leaves nothing to the interpreter.
#[track_caller]
pub(crate) fn check_without_interpreter(definitions: &str, programs: &[(&str, &str)]) {
    let mut failures = Vec::new();
    for (form, expected) in programs {
        for evaluator in [Evaluator::Interpreter, Evaluator::Machine] {
            let ran = Program::new(format!("{definitions}\n{form}")).with_evaluator(evaluator).run();
            let last = ran.answers.last().map(|line| unnumbered(line)).unwrap_or_default();
            if last != *expected || ran.statistics.interpreted > 0 {
                let count = ran.statistics.interpreted;
                failures
                    .push(format!("{form}\n  expected {expected}\n  {evaluator:?} gives {last}, {count} interpreted"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn collapse_of_what_a_variable_holds() {
    let definitions =
        "(: all (-> Atom %Undefined%)) (= (all $e) (collapse $e)) (fact 1) (fact 2) (= (two) (superpose (a b)))";
    check_without_interpreter(
        definitions,
        &[
            ("!(all (match &self (fact $x) (got $x)))", "[((got 1) (got 2))]"),
            ("!(all (two))", "[(a b)]"),
            ("!(all (superpose ((+ 1 2) (two))))", "[(3 a b)]"),
            ("!(all (/ 1 0))", "[((Error (/ 1 0) DivisionByZero))]"),
            ("!(all (empty))", "[()]"),
            ("!(all (let $y (two) ($y $y)))", "[((a a) (b b))]"),
        ],
    );
}

#[test]
fn loops_over_a_template_that_a_variable_holds() {
    let definitions = "(: each (-> Atom Atom Atom %Undefined%)) (= (each $l $v $t) (map-atom $l $v $t))
         (: keep (-> Atom Atom Atom %Undefined%)) (= (keep $l $v $t) (filter-atom $l $v $t))
         (: sum (-> Atom Atom Atom Atom %Undefined%)) (= (sum $l $a $b $t) (foldl-atom $l 0 $a $b $t))";
    check_without_interpreter(
        definitions,
        &[
            ("!(each (1 2 3) $q (+ $q 1))", "[(2 3 4)]"),
            ("!(each (1 2) $q (eval (superpose ($q 9))))", "[(1 2), (1 9), (9 2), (9 9)]"),
            ("!(each (1 2) $q ($q $w))", "[((1 $w#) (2 $w#))]"),
            ("!(each () $q (+ $q 1))", "[()]"),
            ("!(keep (1 2 3) $x (eval (> $x 1)))", "[(2 3)]"),
            ("!(keep (1 2) $x (eval (superpose (True False))))", "[(1 2), (1), (2), ()]"),
            ("!(sum (1 2 3) $a $b (+ $a $b))", "[6]"),
            ("!(sum (1 2) $a $b (superpose ($a $b)))", "[0, 2, 1, 2]"),
            ("!(sum (1 0) $a $b (/ $a $b))", "[(Error (/ 0 0) DivisionByZero)]"),
            ("!(map-atom (2) $v Error)", "[(Error)]"),
            ("!(map-atom (2) $v (eval (id Error)))", "[(Error)]"),
        ],
    );
}

#[test]
fn a_test_that_comes_to_no_truth_value_is_an_error_that_names_its_loop() {
    check_without_interpreter(
        "(: keep (-> Atom Atom Atom %Undefined%)) (= (keep $l $v $t) (filter-atom $l $v $t))",
        &[("!(keep (1 2) $x (> $x 1))", "[(Error (filter-atom (1 2) $x (> $x 1)) NoReturn)]")],
    );
}

#[test]
fn variables_are_replaced_in_what_variables_hold() {
    check_without_interpreter(
        "(: s (-> Atom Atom Atom %Undefined%)) (= (s $v $x $t) (atom-subst $v $x $t))",
        &[
            ("!(atom-subst 5 $x (f $x $y))", "[(f 5 $y)]"),
            ("!(s (+ 1 2) $x (f $x a $x))", "[(f (+ 1 2) a (+ 1 2))]"),
            ("!(s 1 $x $x)", "[1]"),
        ],
    );
}

#[test]
fn rules_whose_heads_are_compound() {
    let definitions = "(= ((twice $f) $x) ($f ($f $x))) (= (inc $x) (+ $x 1)) (= ((lambda $v $b) $a) (let $v $a $b))
         (= ((amb) $x) (one $x)) (= ((amb) $x) (two $x))";
    check_without_interpreter(
        definitions,
        &[
            ("!((twice inc) 5)", "[7]"),
            ("!((twice (twice inc)) 1)", "[5]"),
            ("!((lambda ($a $b) ($b $a)) (1 2))", "[(2 1)]"),
            ("!((missing inc) 5)", "[((missing inc) 5)]"),
            ("!((amb) (superpose (a b)))", "[(one a), (two a), (one b), (two b)]"),
            ("(= ($b) hit) !(got (($y)))", "[(got (($y)))]"),
        ],
    );
}

#[test]
fn functions_of_several_types() {
    let definitions = "(: f (-> Number Number)) (: f (-> Bool Bool)) (= (f $x) $x)
         (: g (-> Symbol Atom)) (= (g $x) (sym $x)) (: h (-> Variable Atom Atom)) (= (h $v $e) (pair $v $e))";
    check_without_interpreter(
        definitions,
        &[
            ("!(f (+ 1 2))", "[3]"),
            ("!(f True)", "[True]"),
            ("!(f (superpose (1 2)))", "[1, 2]"),
            ("!(g a)", "[(sym a)]"),
            ("!(h $x (+ 1 2))", "[(pair $x (+ 1 2))]"),
            ("(= (loop $n) (if (== $n 0) done (let $x (f $n) (loop (- $n 1))))) !(loop 9)", "[done]"),
        ],
    );
}

#[test]
fn native_functions_in_the_place_of_a_head() {
    check_without_interpreter(
        "(= (pick) *)",
        &[
            ("!((superpose (+ -)) 5 3)", "[8, 2]"),
            ("!((pick) 4 5)", "[20]"),
            ("!((id nop) 1 2)", "[()]"),
            ("!(let $op - ($op 5 3))", "[2]"),
            ("!((+ 1 2) (+ 3 4))", "[(3 7)]"),
            ("!(nop (+ 1 2) (superpose (a b)))", "[(), ()]"),
        ],
    );
    // A tuple has a type of its own.
    check_both(&[("!(or ((min-atom a)) many)", "[(Error (or ((min-atom a)) many) (BadArgType 1 Bool (Number)))]")]);
}

#[test]
fn a_body_that_is_a_function_of_what_a_variable_holds_is_entered() {
    check_both(&[(
        "(: raw (-> Atom %Undefined%)) (= (raw $e) (function $e)) (= (f $x) (g $x)) (= (g $x) (+ $x 1))
         !(raw (chain (eval (f 1)) $y (return $y)))",
        "[2]",
    )]);
}

#[test]
fn transactions_in_the_machine() {
    let definitions = "(: tr (-> Atom %Undefined%)) (= (tr $g) (transaction $g)) (t 0)
         (= (fill $n) (if (== $n 0) done (let $u (add-atom &self (t $n)) (fill (- $n 1)))))";
    check_without_interpreter(
        definitions,
        &[
            ("!(transaction (fill 3)) !(collapse (match &self (t $x) $x))", "[(0 3 2 1)]"),
            ("!(transaction (superpose (1 (+ 1 1))))", "[1, 2]"),
            ("!(transaction (empty))", "[]"),
            ("!(let $x (transaction (let $y (superpose (1 2)) (got $y))) (out $x))", "[(out (got 1)), (out (got 2))]"),
            ("!(tr (transaction (add-atom &self (t 9)))) !(collapse (match &self (t $x) $x))", "[(0 9)]"),
            ("!(case (tr (let $u (add-atom &self (t 4)) (Error a b))) (((Error $a $b) undone)))", "[undone]"),
            ("!(case (tr (let $u (fill 2) (Error a b))) (($e (collapse (match &self (t $x) $x)))))", "[(0)]"),
        ],
    );
}

#[test]
fn captured_goals_and_instructions_in_the_space_of_the_evaluation() {
    let definitions = "(: c (-> Atom %Undefined%)) (= (c $e) (capture $e)) (: m (-> Atom %Undefined%))
         (= (m $e) (metta $e %Undefined% &self)) (= (f $x) (+ $x 1))";
    check_without_interpreter(
        definitions,
        &[
            ("!(c (superpose (a (+ 1 1))))", "[a, 2]"),
            ("!(capture (/ 1 0))", "[(Error (/ 1 0) DivisionByZero)]"),
            ("!(m (f 1))", "[2]"),
            ("!(evalc (f 1) &self)", "[(+ 1 1)]"),
        ],
    );
}

#[test]
fn states_of_expressions() {
    check_without_interpreter(
        "(= (w $x) (let $s (new-state $x) (get-state $s)))",
        &[
            ("!(w (a 1))", "[(a 1)]"),
            ("!(w (+ 1 2))", "[3]"),
            (
                "!(let $s (new-state Nil) (let $u (change-state! $s (Cons 1 (get-state $s))) (get-state $s)))",
                "[(Cons 1 Nil)]",
            ),
        ],
    );
}

#[test]
fn sides_of_one_type_are_compared_by_code() {
    let definitions = "(: Red Color) (: Blue Color) (: fav (-> Number Color)) (= (fav $x) Red)";
    check_without_interpreter(
        definitions,
        &[
            ("!(== (fav 1) Red)", "[True]"),
            ("!(== \"a\" \"b\")", "[False]"),
            ("!(== True (> 2 1))", "[True]"),
            ("!(== (size-atom (1 2)) 2)", "[True]"),
            ("!(== (collapse (empty)) ())", "[True]"),
            ("!(noreduce-eq (+ 1 2) (+ 1 2))", "[True]"),
            ("!(== (fav (superpose (1 2))) Red)", "[True, True]"),
        ],
    );
}

#[test]
fn a_condition_that_is_no_truth_value() {
    check_without_interpreter(
        "",
        &[
            ("!(if x 1 2)", "[(if x 1 2)]"),
            ("!(got (if $x yes no))", "[(got yes), (got no)]"),
            ("!(if (g 1) a b)", "[(if (g 1) a b)]"),
        ],
    );
}

/// Lists of names and small integers are subtracted word by word, others as atoms.
#[test]
fn lists_are_subtracted_copy_by_copy() {
    let definitions = "(: without (-> Atom Atom %Undefined%)) (= (without $l $r) (subtraction-atom $l $r)) (= (2) two)";
    check_without_interpreter(
        definitions,
        &[
            ("!(without (a b a c a) (a c a d))", "[(b a)]"),
            ("!(without (3 1 2 1) (1))", "[(3 2 1)]"),
            ("!(without (1 2) (1.0 \"s\"))", "[(2)]"),
            ("!(without (1 (f x) $y) ((f x)))", "[(1 $y)]"),
            ("!(without (Error a b) ())", "[(Error a b)]"),
            ("!(without (a b) (b a))", "[()]"),
            ("!(let $l (subtraction-atom (1 2) (1)) $l)", "[two]"),
            ("!(let $l (subtraction-atom (1 2 3) (1)) $l)", "[(2 3)]"),
        ],
    );
}
