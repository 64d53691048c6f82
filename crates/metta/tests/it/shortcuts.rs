//! What code passes over because nothing can come of it: guards that small integers fulfil, questions about the answer of a form that is a
//! leaf, barriers around arithmetic that has one result. Whatever the values are, it comes to what the interpreter says.

use crate::harness::{Program, unnumbered};
use metta::Evaluator;

/// Each form, behind the rules, comes to this in both evaluators.
#[track_caller]
fn check_each(rules: &str, forms: &[(&str, &str)]) {
    let mut failures = Vec::new();
    for (form, expected) in forms {
        for evaluator in [Evaluator::Interpreter, Evaluator::Machine] {
            let ran = Program::new(format!("{rules}\n{form}")).with_evaluator(evaluator).run();
            let lines: Vec<String> = ran.lines.iter().map(|line| unnumbered(line)).collect();
            if lines != [*expected] {
                failures.push(format!("{rules} {form}\n  expected {expected}\n  {evaluator:?} gives {lines:?}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn small_integers_and_other_numbers_pass_the_same_guards() {
    check_each(
        "(= (near $q $x $d) (if (or (== $q $x) (or (== $q (+ $x $d)) (== $q (- $x $d)))) yes no))",
        &[
            ("!(near 1 2 1)", "[yes]"),
            ("!(near 1.0 2 1)", "[yes]"),
            ("!(near 1 4 2)", "[no]"),
            ("!(near 4000000000 4000000001 1)", "[yes]"),
            ("!(near a 2 1)", "[no]"),
            ("!(near 1 a 1)", "[no]"),
            ("!(near a a 1)", "[yes]"),
            ("!(near $z 2 1)", "[no]"),
        ],
    );
    check_each(
        "(= (more $x $y) (if (< $x $y) $y $x))",
        &[
            ("!(more 1 2)", "[2]"),
            ("!(more 2 1.5)", "[2]"),
            ("!(more 0.1 0.2)", "[0.2]"),
            ("!(more 1000000000000000000000 2)", "[1000000000000000000000]"),
            ("!(more a 2)", "[(if (< a 2) 2 a)]"),
            ("!(more $x 2)", "[(if (< $x 2) 2 $x)]"),
        ],
    );
    check_each(
        "(= (zero $x) (if (== $x 0) none $x))",
        &[
            ("!(zero 0)", "[none]"),
            ("!(zero 0.0)", "[none]"),
            ("!(zero -0.0)", "[none]"),
            ("!(zero a)", "[a]"),
            ("!(zero (+ 1 -1))", "[none]"),
            ("!(zero 5)", "[5]"),
        ],
    );
    check_each(
        "(= (h $x) (if (> $x 0) $x (empty)))",
        &[("!(h 1)", "[1]"), ("!(h 2.5)", "[2.5]"), ("!(h -1)", "[]"), ("!(h foo)", "[(if (> foo 0) foo (empty))]")],
    );
}

#[test]
fn a_leaf_leaves_a_frame_as_what_it_is() {
    check_each(
        "(= (pick $b $x) (if $b $x other))",
        &[
            ("!(pick True 7)", "[7]"),
            ("!(pick True 1.5)", "[1.5]"),
            ("!(pick True \"text\")", "[\"text\"]"),
            ("!(pick True NotReducible)", "[(if True NotReducible other)]"),
            ("!(pick True Empty)", "[]"),
            ("!(pick True (Error a b))", "[(Error a b)]"),
            ("!(pick True (function (return 3)))", "[3]"),
            ("!(pick True (+ 1 2))", "[3]"),
            ("!(pick True $v)", "[$v]"),
            ("!(pick False $v)", "[other]"),
        ],
    );
    check_each(
        "(: typed (-> Bool Number Number)) (= (typed $b $x) (if $b $x 0))",
        &[
            ("!(typed True 7)", "[7]"),
            ("!(typed True 1.5)", "[1.5]"),
            ("!(typed True text)", "[text]"),
            ("!(typed True True)", "[(Error (typed True True) (BadArgType 2 Number Bool))]"),
            ("!(typed True $v)", "[$v]"),
            ("!(typed True 100000000000000000000)", "[100000000000000000000]"),
        ],
    );
    check_each(
        "(: word (-> Bool Atom Symbol)) (= (word $b $x) (if $b $x other))",
        &[("!(word True 7)", "[(Error 7 (BadType Symbol Number))]"), ("!(word True seven)", "[seven]")],
    );
}

#[test]
fn arithmetic_beside_what_has_several_results() {
    check_each(
        "(= (f $x) (superpose (1 2))) (= (g $n) (+ (f 1) (- $n 1))) (= (e $n) (+ (f 1) (/ $n 0)))",
        &[
            ("!(g 5)", "[5, 6]"),
            ("!(g 1.5)", "[1.5, 2.5]"),
            ("!(collapse (e 5))", "[((Error (/ 5 0) DivisionByZero) (Error (/ 5 0) DivisionByZero))]"),
        ],
    );
    check_each("(= (e $n) (+ (/ $n 0) (superpose (1 2))))", &[("!(e 5)", "[(Error (/ 5 0) DivisionByZero)]")]);
    check_each(
        "(= (e $n) (pair (- 1 (/ 3 $n)) (superpose (a b))))",
        &[
            ("!(collapse (e 0))", "[((Error (/ 3 0) DivisionByZero))]"),
            ("!(collapse (e 3))", "[((pair 0 a) (pair 0 b))]"),
        ],
    );
    check_each(
        "(= (k $a $b) (keep (+ $a 1) $b)) (= (k2 $n $v) (if (> $n 0) (k (- $n 1) $v) done))",
        &[("!(k2 1 $w)", "[(keep 1 $w)]"), ("!(k2 1 (+ 1 1))", "[(keep 1 2)]"), ("!(k2 1 x)", "[(keep 1 x)]")],
    );
    check_each(
        "(= (v $n $x) (if (> $n 0) (v (- $n 1) $x) (got $x)))",
        &[
            ("!(v 2 $y)", "[(got $y)]"),
            ("!(let $r (v 2 $y) (let $y 3 $r))", "[(got 3)]"),
            ("!(v 2 (superpose (a b)))", "[(got a), (got b)]"),
        ],
    );
    check_each(
        "(= (w $x $y) (pair (let $x 1 a) $y $x))",
        &[("!(w $p $p)", "[(pair a 1 1)]"), ("!(w $p $q)", "[(pair a $q 1)]")],
    );
    check_each(
        "(= (w $n $x) (if (> $n 0) (pair (- $n 1) (let $x (+ 1 2) a) $x) none))",
        &[("!(w 1 $p)", "[(pair 0 a 3)]"), ("!(w 0 $p)", "[none]")],
    );
}

#[test]
fn arithmetic_on_floats() {
    check_each(
        "",
        &[
            ("!(+ 1.5 2)", "[3.5]"),
            ("!(- 1 0.5)", "[0.5]"),
            ("!(* 0.1 3)", "[0.30000000000000004]"),
            ("!(/ 1 2.0)", "[0.5]"),
            ("!(/ 1.0 0)", "[inf]"),
            ("!(/ 0.0 0)", "[NaN]"),
            ("!(% 5.5 2)", "[1.5]"),
            ("!(% 5 0.0)", "[NaN]"),
            ("!(< 1 1.5)", "[True]"),
            ("!(> 1.5 1)", "[True]"),
            ("!(<= 1.0 1)", "[True]"),
            ("!(== 1.0 1)", "[True]"),
            ("!(< (/ 0.0 0) 1)", "[False]"),
            ("!(>= (/ 0.0 0) (/ 0.0 0))", "[False]"),
        ],
    );
    check_each(
        "(= (ar $a $b) (((+ $a $b) (- $a $b)) ((* $a $b) (/ $a $b)) ((% $a $b) (< $a $b)) ((>= $a $b) (== $a $b))))",
        &[
            ("!(ar 7.5 2)", "[((9.5 5.5) (15.0 3.75) (1.5 False) (True False))]"),
            ("!(ar 2 7.5)", "[((9.5 -5.5) (15.0 0.26666666666666666) (2.0 True) (False False))]"),
            ("!(ar 1e308 1e308)", "[((inf 0.0) (inf 1.0) (0.0 False) (True True))]"),
            (
                "!(ar 536870911 0.5)",
                "[((536870911.5 536870910.5) (268435455.5 1073741822.0) (0.0 False) (True False))]",
            ),
            (
                "!(ar 9007199254740993 1.0)",
                "[((9007199254740992.0 9007199254740991.0) (9007199254740992.0 9007199254740992.0) (0.0 False) (True False))]",
            ),
            (
                "!(ar 9007199254740993 9007199254740992.0)",
                "[((1.8014398509481984e16 0.0) (8.112963841460668e31 1.0) (0.0 False) (True False))]",
            ),
            ("!(ar 1.0 0.0)", "[((1.0 1.0) (0.0 inf) (NaN False) (True False))]"),
            ("!(ar -0.0 0)", "[((0.0 -0.0) (-0.0 NaN) (NaN False) (True True))]"),
        ],
    );
}

#[test]
fn lists_are_put_together_and_taken_apart() {
    check_each(
        "(= (d $l $r) (subtraction-atom $l $r))",
        &[
            ("!(d (1 2 3 2) (2))", "[(1 3 2)]"),
            ("!(d (a b a b a) (a a))", "[(b b a)]"),
            ("!(d () (a))", "[()]"),
            ("!(d (Error a) (a))", "[(Error (Error a) IncorrectNumberOfArguments)]"),
            ("!(d (x Error a) (x))", "[(Error a)]"),
            ("!(d (1 2 3) ())", "[(1 2 3)]"),
            ("!(d (1 1 1) (1 1 1 1))", "[()]"),
            ("!(d (function (return 1)) ())", "[(Error (subtraction-atom 1 ()) (BadArgType 1 Expression Number))]"),
        ],
    );
    check_each(
        "",
        &[
            ("!(let $l (cons-atom 1 (2 3)) ($l (cons-atom a $l)))", "[((1 2 3) (a 1 2 3))]"),
            (
                "!(cons-atom (+ 1 2) (1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18))",
                "[((+ 1 2) 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18)]",
            ),
            ("!(cons-atom + (1 2))", "[(+ 1 2)]"),
            ("!(cons-atom 1 ())", "[(1)]"),
        ],
    );
    check_each("(= (1 $x) one)", &[("!(let $l (cons-atom 1 (2)) $l)", "[one]"), ("!(cons-atom 1 (2 3))", "[(1 2 3)]")]);
}

#[test]
fn data_with_expressions_inside_is_made_anew() {
    check_each(
        "(= (part 2) two) (= (s $x) (let $y (A (B $x (C $x $z)) (D 1)) (let $z 4 $y)))",
        &[
            ("!(s 1)", "[(A (B 1 (C 1 4)) (D 1))]"),
            ("!(s (part 2))", "[(A (B two (C two 4)) (D 1))]"),
            ("!(s $q)", "[(A (B $q (C $q 4)) (D 1))]"),
            ("!(let $x (part 2) (A (B $x)))", "[(A (B two))]"),
        ],
    );
    check_each(
        "(= (s $x) (A (B (bad $x) (C 1)) 2)) (= (bad 1) good)",
        &[
            ("!(s 1)", "[(A (B good (C 1)) 2)]"),
            ("!(s 2)", "[(A (B (bad 2) (C 1)) 2)]"),
            ("!(s Empty)", "[]"),
            ("!(s (Error a b))", "[(Error a b)]"),
        ],
    );
}
