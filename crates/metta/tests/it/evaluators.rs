//! What generated programs once showed to differ between the machine and the interpreter, each as small as it gets.

use crate::harness::{Program, check_both, check_both_after};
use metta::Evaluator;

#[test]
fn a_call_that_came_to_itself_is_not_reduced_by_a_rule_that_is_added_later() {
    check_both(&[
        (
            "(= (f 1 $x) one)
             !(let* (($b (f 2 (12 1))) ($c (add-atom &self (= (f 2 $x) two)))) $b)",
            "[(f 2 (12 1))]",
        ),
        (
            "(: f (-> Color Number)) (: green Color)
             !(let $b (f green) ((add-atom &self (= (f $x) 5)) $b))",
            "[(() (f green))]",
        ),
        (
            "(: Cons (-> $t List List))
             !(let* (($b (f blue (Cons -4 Nil))) ($c (add-atom &self (= (f $x $y) new)))) $b)",
            "[(f blue (Cons -4 Nil))]",
        ),
        (
            "(= (() $b) +) (= (f 0 0) 0)
             !(let* (($b (f 1.0 (12 1))) ($c (add-atom &self (= (f $y (12 $z)) new)))) $b)",
            "[(f 1.0 (12 1))]",
        ),
        (
            "(= (f 1) one)
             !(let* (($b (f ())) ($c (add-atom &self (= (f $x) new)))) $b)",
            "[(f ())]",
        ),
        ("(= (k) (let* (($b (f (()) 1)) ($c (add-atom &self (= (f $x $y) new)))) $b)) !(k)", "[(f (()) 1)]"),
        // The argument of this one came to something else.
        (
            "(= (g) 7) (= (f 1) one)
             !(let* (($b (f (g))) ($c (add-atom &self (= (f $x) new)))) $b)",
            "[new]",
        ),
    ]);
}

#[test]
fn a_call_with_variables_counts_as_evaluated_until_one_is_bound() {
    let rules = "(= (f -4 $e) 7)
         (= (f $c $y) (function (chain (eval 12) $x (return $x))))\n";
    check_both(&[
        (&format!("{rules} !(let $y (f $d $x) $y)"), "[7, (f $d $x)]"),
        (&format!("{rules} !(let $y (f 1 2) $y)"), "[(f 1 2)]"),
        (&format!("{rules} !(let $y (f -4 2) $y)"), "[7, (f -4 2)]"),
    ]);
}

/// Two facts or rules say so in different ways. Hyperon 0.2.10 gives the same.
#[test]
fn a_call_that_stands_for_itself_with_what_it_has_bound_is_not_evaluated_again() {
    let facts = "(: Pair (-> A B C)) (: W (-> A C)) (held NotReducible) (held NotReducible)
         (= (f a $x) NotReducible) (= (f a $x) 7) (= (g a $x) (function (return NotReducible))) (= (g a $x) 7)
         (= (pick (W $x)) $x)\n";
    let space = "ModuleSpace(GroundingSpace-top)";
    let found = &format!("(match {space} (held NotReducible) NotReducible)");
    let asked = "(match &self (held $h) $h)";
    let twice = |result: &str| format!("[{result}, {result}]");
    let programs = [
        (format!("!(id (Pair part {asked}))"), twice(&format!("(Pair part {found})"))),
        (format!("!(id (id {asked}))"), twice(found)),
        (format!("!(pick (W {asked}))"), twice(found)),
        (format!("!(let $x {asked} (bag $x $h))"), twice(&format!("(bag {found} NotReducible)"))),
        (format!("(= (h) (let $x {asked} (bag $x $h))) !(h)"), twice(&format!("(bag {found} NotReducible)"))),
        (format!("(= (h) {asked}) !(id (h))"), twice(found)),
        (
            "(= (h) (let $x (unify &self (held $h) $h no) (bag $x $h))) !(h)".to_owned(),
            twice(&format!("(bag (unify {space} (held NotReducible) NotReducible no) NotReducible)")),
        ),
        ("!(id (f $v 1))".to_owned(), "[(f a 1), 7]".to_owned()),
        ("(= (h $x) (f $v $x)) !(id (h 1))".to_owned(), "[(f a 1), 7]".to_owned()),
        ("(= (h $x) (let $r (f $v $x) (got $r $v))) !(h 1)".to_owned(), "[(got (f a 1) a), (got 7 a)]".to_owned()),
        ("(= (h $x) (let $r (g $v $x) (got $r))) !(h 1)".to_owned(), "[(got (g a 1)), (got 7)]".to_owned()),
        ("(= (h) (superpose (NotReducible 1))) !(id (h))".to_owned(), "[(superpose (NotReducible 1)), 1]".to_owned()),
        (
            "(= (c $x) (function (chain (eval (none)) $y (return $y)))) (= (c $x) 7) (= (h) (c 1)) !(id (h))"
                .to_owned(),
            "[(c 1), 7]".to_owned(),
        ),
        // An argument of this one came to something else, so it is evaluated again.
        ("(= (h) (f $v (id 1))) !(id (h))".to_owned(), "[(f a 1), 7, 7]".to_owned()),
        ("(= (h) (g a (f $v 1))) !(id (h))".to_owned(), "[(g a (f a 1)), 7, (g a 7), 7, 7]".to_owned()),
        (
            "(= (S Z) two) (= (k (S Z)) NotReducible) (= (k (S Z)) 8) (= (h) (id (pair (k $v) $v))) !(h)".to_owned(),
            "[(pair (k (S Z)) (S Z)), (pair 8 two)]".to_owned(),
        ),
    ];
    let programs: Vec<(String, String)> =
        programs.into_iter().map(|(text, expected)| (format!("{facts}{text}"), expected)).collect();
    let programs: Vec<(&str, &str)> = programs.iter().map(|(text, expected)| (&text[..], &expected[..])).collect();
    check_both(&programs);
}

#[test]
fn not_reducible_as_it_is_written_lets_a_form_stand_for_itself() {
    let facts = "(fact 1) (fact 2)\n";
    let space = "ModuleSpace(GroundingSpace-top)";
    let found = |at: u32| format!("(match {space} (fact {at}) NotReducible)");
    check_both(&[
        (&format!("{facts} !(match &self (fact $x) NotReducible)"), &format!("[{}, {}]", found(1), found(2))),
        (
            &format!("{facts} (= (h) (got (match &self (fact $x) NotReducible))) !(h)"),
            &format!("[(got {}), (got {})]", found(1), found(2)),
        ),
        ("(= (h $x) (let $y $x NotReducible)) !(h 1)", "[(unify 1 1 NotReducible Empty)]"),
        ("(= (h $x) (got (let $y $x NotReducible))) !(h 1)", "[(got (unify 1 1 NotReducible Empty))]"),
        ("(= (h $x) (got (let $y $x (function (return $y))))) !(h 1)", "[(got 1)]"),
    ]);
}

#[test]
fn the_body_of_a_rule_that_is_a_variable_may_hold_code() {
    check_both(&[
        (
            "(= (f $e $y) $e)
             !(f (function (chain (eval g) $a (return $a))) b)",
            "[(f (function (chain (eval g) $a (return $a))) b)]",
        ),
        ("(= (f $x) $x) !(f NotReducible)", "[(f NotReducible)]"),
        ("(= (f $x) $x) (: f (-> Atom Atom)) !(f (function (return 5)))", "[5]"),
        ("!(superpose ((function ()) 1))", "[1]"),
        ("!(superpose ((function ())))", "[(Error (superpose ((function ()))) NoReturn)]"),
        ("!(case 1 ((1 NotReducible) ($x 2)))", "[]"),
        ("!(if (== 1 2) blue (function ()))", "[(Error (if False blue (function ())) NoReturn)]"),
    ]);
}

#[test]
fn an_error_that_a_rule_says_is_final() {
    check_both(&[
        ("!(let Z $z (Error))", "[(Error)]"),
        ("(= (f) (Error a b c)) !(f)", "[(Error a b c)]"),
        ("!(if True (Error) 1)", "[(Error)]"),
        ("!(case 1 ((1 (Error))))", "[(Error)]"),
        ("!(Error a b c)", "[(Error (Error a b c) IncorrectNumberOfArguments)]"),
    ]);
}

#[test]
fn types_of_arguments_of_any_type_are_looked_at() {
    check_both(&[(
        "(: f (-> Number %Undefined%)) !(let $v (f (eval)) add-atom)",
        "[(Error (f (eval)) (BadArgType 1 Number (-> Atom Atom)))]",
    )]);
}

#[test]
fn variables_of_the_template_of_a_loop_are_new_for_each_element() {
    check_both(&[
        (
            "(age red 2) (age red 0)
             (= (f) (case 12 (($d (map-atom (1 5) $item (eval (match &self (age $z $c) 7)))) ($c other))))
             !(f)",
            "[(7 7), (7 7), (7 7), (7 7)]",
        ),
        ("!(let $all (map-atom (1 2) $item (eval (P $b))) (== (index-atom $all 0) (P $b)))", "[False]"),
    ]);
}

#[test]
fn a_variable_of_a_form_keeps_its_name() {
    check_both(&[
        ("(= (f $e) $a) !(case (f 1) (($c $c)))", "[$c]"),
        ("(= (f $e) $a) !(case (f 1) (((P $c) $c)))", "[$c]"),
    ]);
}

#[test]
fn a_number_at_the_head_of_a_pattern_meets_its_equal() {
    check_both(&[
        ("(= (f (0.0 $e)) $e) !(f (0 12))", "[12]"),
        ("(= (f (0 $e)) $e) !(f (0.0 12))", "[12]"),
        ("(= (f (1 $e)) a) (= (f (2 $e)) b) (= (f (3 $e)) c) (= (f (P $e)) d) !(f (2.0 12))", "[b]"),
    ]);
}

#[test]
fn a_form_means_what_the_rules_of_its_parts_say() {
    check_both(&[
        ("(= ($f Key) rest) !(switch 1 ((1 $y)))", "[rest, $y]"),
        ("(= (switch-minimal $a $b) mine) !(case 1 ((1 one)))", "[mine, one]"),
    ]);
}

#[test]
fn a_pattern_meets_a_space_after_another_rule_has_matched() {
    let rules = "!(bind! &s (new-space)) !(add-atom &s (p 1)) !(add-atom &s (p 2))
         (= (f $x) first) (= (f (P (p $x))) (found $x)) (= (f (Q $x)) never) (= (f $x) last)\n";
    check_both(&[
        (&format!("{rules} !(f (P &s))"), "[first, (found 1), (found 2), last]"),
        (&format!("{rules} !(eval (f (P &s)))"), "[first, (found 1), (found 2), last]"),
        ("!(let* (($s (new-space)) ($t (new-space)) ($s $t)) same)", "[]"),
        ("(= (f $n) (P (let $s (new-space) (match $s $x 1)) (let $s (new-space) 2))) !(collapse (f 1))", "[()]"),
    ]);
}

/// A `let`, `case` or `switch` whose value is an expression that stands for itself: where its pattern meets a space, the value is
/// compared as it is.
#[test]
fn what_meets_a_space_in_a_form_is_not_evaluated_again() {
    let rules = "!(bind! &s (new-space)) !(add-atom &s (p 1)) !(add-atom &s 3)
         (= (bound $s $head $rest) (let $s (cons-atom $head $rest) found))
         (= (one $s $head $rest) (case (cons-atom $head $rest) (($s found) ($x (quote $x)))))
         (= (chosen $s $head $rest) (switch (cons-atom $head $rest) (($s found) ($x (quote $x)))))\n";
    for (form, otherwise) in [("bound", "[]"), ("one", "[(quote (+ 1 2))]"), ("chosen", "[(quote (+ 1 2))]")] {
        check_both(&[
            (&format!("{rules} !({form} &s + (1 2))"), otherwise),
            (&format!("{rules} !({form} &s p (1))"), "[found]"),
            (&format!("{rules} !({form} &s p ($x))"), "[found]"),
        ]);
    }
    check_both(&[("!(bind! &s (new-space)) (= (f $s) (let $s (collapse match) no)) !(f &s)", "[]")]);
}

/// An expression whose head comes to a name with a function type is data where it is written, and a call where it is returned.
#[test]
fn what_a_head_came_to_is_a_call_where_it_is_returned() {
    let rules = "(: typed (-> Number Number)) (= (head) typed) (= (form) let) (= (returned $s) $s) (= (written) ((head) \"s\"))\n";
    let error = "[(Error (typed \"s\") (BadArgType 1 Number String))]";
    check_both(&[
        (&format!("{rules} !((head) \"s\")"), "[(typed \"s\")]"),
        (&format!("{rules} !(written)"), "[(typed \"s\")]"),
        (&format!("{rules} !(let $s ((head) \"s\") $s)"), error),
        (&format!("{rules} !(let $s ((head) \"s\") (quote $s))"), "[(quote (typed \"s\"))]"),
        (&format!("{rules} !(let* (($s ((head) \"s\")) ($t $s)) $t)"), error),
        (&format!("{rules} !(returned ((head) \"s\"))"), error),
        (&format!("{rules} !(case ((head) \"s\") (($s $s)))"), error),
        (&format!("{rules} !(let $s ((head) 1) $s)"), "[(typed 1)]"),
        (&format!("{rules} !(let $s ((form)) $s)"), "[(Error (let) IncorrectNumberOfArguments)]"),
    ]);
    // A head that is applied, too.
    let rules = "(: made (-> Number (-> Number Number))) (= (partly $a) (made $a)) (= (returned $s) $s)\n";
    let error = "[(Error ((made 2) \"s\") (BadArgType 1 Number String))]";
    check_both(&[
        (&format!("{rules} !((partly 2) \"s\")"), "[((made 2) \"s\")]"),
        (&format!("{rules} !(let $s ((partly 2) \"s\") $s)"), error),
        (&format!("{rules} !(returned ((partly 2) \"s\"))"), error),
        (&format!("{rules} !(let $s ((partly 2) 1) $s)"), "[((made 2) 1)]"),
        ("(: (made $a) (-> Number Number)) (= (partly $a) (made $a)) !(let $s ((partly 2) \"s\") $s)", error),
    ]);
}

/// A variable may hold what is not evaluated. A call or data whose part was evaluated is not what the program says, so it is looked at once more
/// where it is returned.
#[test]
fn what_a_part_was_evaluated_for_is_not_what_is_written() {
    let rules = "(: typed (-> Number Number)) (= (head) typed) (= (only 1) one) (= (1 2 $c) two) (= (() $b) three)
         (: inside (-> Atom %Undefined%)) (= (inside $t) (only (a $t))) (: deep (-> Atom %Undefined%)) (= (deep $t) (only (a (b $t))))
         (= (unquoted (quote $t)) (only (a $t))) (= (chosen $s) (case $s (((quote $t) (only (a $t))))))
         (: first (-> Atom %Undefined%)) (= (first $t) ($t a)) (: second (-> Atom %Undefined%)) (= (second $t) ((a $t) 1 2))
         (fact ((head) \"s\")) (= (found) (match &self (fact $t) (only (a $t))))\n";
    let error = "[(Error (typed \"s\") (BadArgType 1 Number String))]";
    for call in [
        "(inside ((head) \"s\"))",
        "(deep ((head) \"s\"))",
        "(unquoted (quote ((head) \"s\")))",
        "(chosen (quote ((head) \"s\")))",
        "(first ((head) \"s\"))",
        "(second ((head) \"s\"))",
        "(found)",
    ] {
        check_both(&[(&format!("{rules} !(let $r {call} $r)"), error)]);
    }
    check_both(&[
        (&format!("{rules} !(inside ((head) \"s\"))"), "[(only (a (typed \"s\")))]"),
        (&format!("{rules} !(let $r (inside ((head) 1)) $r)"), "[(only (a (typed 1)))]"),
        (&format!("{rules} !(let $r (first ((head) 1)) $r)"), "[((typed 1) a)]"),
    ]);
}

/// A sum whose head had to be evaluated has the type that a sum has, also where rules may change.
#[test]
fn what_a_head_came_to_adds_to_a_type() {
    let rules = "!(a (add-atom &self (= (later) 1))) (= (plus) +) (= (less) <) (: takes (-> Data Nat)) (= (sum $n) ((plus) $n 5))\n";
    let error = |value: &str, actual: &str| format!("[(Error {value} (BadType Data {actual}))]");
    check_both(&[
        (&format!("{rules} !(takes ((plus) 1 5))"), &error("6", "Number")),
        (&format!("{rules} !(takes (sum 1))"), &error("6", "Number")),
        (&format!("{rules} !(takes ((less) 1 5))"), &error("True", "Bool")),
        (&format!("{rules} !(+ 1 ((plus) 1 5))"), "[7]"),
    ]);
}

/// `metta` gives an expression as it stands where one is asked for.
#[test]
fn what_is_asked_for_as_an_expression_stays_one() {
    let rules = "(= (foo $x) 1) (= (f) (metta (foo 2) Expression &self)) (= (g $e) (metta $e Expression &self))
         (= (h $t) (metta (foo 2) $t &self))\n";
    check_both(&[
        (&format!("{rules} !(metta (foo 2) Expression &self)"), "[(foo 2)]"),
        (&format!("{rules} !(metta (Empty) Expression &self)"), "[(Empty)]"),
        (&format!("{rules} !(metta (foo Empty) Expression &self)"), "[(foo Empty)]"),
        (&format!("{rules} !(f)"), "[(foo 2)]"),
        (&format!("{rules} !(g (foo 2))"), "[(Error 1 (BadType Expression Number))]"),
        (&format!("{rules} !(g (bar 2))"), "[(bar 2)]"),
        (&format!("{rules} !(h Expression)"), "[(foo 2)]"),
        (&format!("{rules} !(metta (foo 2) Symbol &self)"), "[(Error 1 (BadType Symbol Number))]"),
    ]);
}

/// An error that names a part of a type that an earlier argument may not have said is no error: the call is begun again.
#[test]
fn a_part_of_a_type_that_was_not_said_is_no_error() {
    let rules = "(: VNil Vec) (: VCons (-> $t $n ($n))) (: both (-> $n $n Number)) (= (same $v) $v) (= (last $k) VNil)
         (= (vector $k) (VCons $k (last $k))) (= (given $k) (let $v (VCons 2 (VCons 1 VNil)) $v))\n";
    check_both(&[(
        &format!("{rules} !(both (same (given 2)) (vector 1))"),
        "[(both (VCons 2 (VCons 1 VNil)) (VCons 1 VNil))]",
    )]);
}

/// What a query found may hold `()`, and be an argument whose type has variables.
#[test]
fn an_empty_expression_says_nothing_of_a_type() {
    check_both(&[
        ("(row (f ())) !(match &self (row $x) (== $x $x))", "[True]"),
        ("(row (f ())) (= (q) (match &self (row $x) (if (== $x $x) found lost))) !(q)", "[found]"),
    ]);
}

/// Code in the place of a value that is substituted is run.
#[test]
fn code_that_is_substituted_is_run() {
    let rules = "(: f (-> Atom %Undefined%)) (= (f $e) (atom-subst $e $x (a $x)))";
    check_both(&[
        ("!(atom-subst (function ()) $x $x)", "[(Error (noeval (function ())) NoReturn)]"),
        ("!(atom-subst (function (return 1)) $x (a $x))", "[(a 1)]"),
        ("!(atom-subst a $x (function (return $x)))", "[(function (return a))]"),
        ("!(atom-subst (Error a b) $x (a $x))", "[(a (Error a b))]"),
        (&format!("{rules} !(f (function (return 1)))"), "[(a 1)]"),
        (&format!("{rules} !(f (+ 1 2))"), "[(a (+ 1 2))]"),
    ]);
}

/// A word that is bound to what an expression came to stands for that, whatever rules come later.
#[test]
fn what_a_word_stands_for_is_evaluated_already() {
    let rules = "!(bind! &filled (filled t)) (= (filled $x) late) (= (same $x) $x)";
    check_both(&[
        (&format!("{rules} ! &filled"), "[(filled t)]"),
        (&format!("{rules} !(id &filled)"), "[(filled t)]"),
        (&format!("{rules} !(same &filled)"), "[(filled t)]"),
        (&format!("{rules} !(a &filled)"), "[(a (filled t))]"),
        (&format!("{rules} !(collapse &filled)"), "[((filled t))]"),
        (&format!("{rules} (= (later) &filled) !(later)"), "[late]"),
    ]);
}

#[test]
fn an_error_that_is_written_is_passed_on_whatever_is_bound_in_it() {
    check_both(&[
        ("(= (f $x Box) green) !(let $d (f $c $x) (Error $x $d))", "[(Error Box green)]"),
        ("(= (f $x Box) green) !(let $d (f $c $x) (Error ($x $d)))", "[(Error (Box green))]"),
    ]);
}

#[test]
fn a_call_in_place_reads_its_arguments_again_when_one_needs_evaluation() {
    let rules = "(= (g $x $y $z) (got $x $y $z))
         (= (f $a $b $c (quote $q)) (g $b $c $q))
         (= (h (quote $q) $a $b) (h $a $b $q)) (= (h 1 $a $b) (got $a $b))\n";
    check_both(&[
        (&format!("{rules} !(f 1 2 3 (quote (+ 1 2)))"), "[(got 2 3 3)]"),
        (&format!("{rules} !(h (quote (+ 1 2)) 1 5)"), "[(got 5 3)]"),
    ]);
}

/// Every way out of the loop that a function makes of calls of itself inside of data.
#[test]
fn calls_inside_of_data_end_in_any_way() {
    let rules = "(= (app Nil $l) $l) (= (app (Cons $h $t) $l) (Cons $h (app $t $l)))
         (= (each (Q (quote $h) $t)) (Cons $h (each $t))) (= (each End) End)
         (= (same (P $h $t) $x) (P $x (same $t $h))) (= (same Stop $x) $x)\n";
    check_both(&[
        (&format!("{rules} !(app (Cons 1 (Cons (+ 1 1) Nil)) (Cons 3 Nil))"), "[(Cons 1 (Cons 2 (Cons 3 Nil)))]"),
        (&format!("{rules} !(app (Cons A (Cons (B 1) Nil)) (C))"), "[(Cons A (Cons (B 1) (C)))]"),
        (&format!("{rules} !(app (Cons 1 (Cons 2 Other)) Nil)"), "[(Cons 1 (Cons 2 (app Other Nil)))]"),
        (&format!("{rules} !(app (Cons 1 (Cons (Error a b) Nil)) Nil)"), "[(Error a b)]"),
        (
            &format!("{rules} !(app (Cons 1 (Cons (superpose (2 3)) Nil)) Nil)"),
            "[(Cons 1 (Cons 2 Nil)), (Cons 1 (Cons 3 Nil))]",
        ),
        (&format!("{rules} !(each (Q (quote (+ 1 2)) (Q (quote (+ 3 4)) End)))"), "[(Cons 3 (Cons 7 End))]"),
        (&format!("{rules} !(same (P 1 (P 2 (P 3 Stop))) 0)"), "[(P 0 (P 1 (P 2 3)))]"),
    ]);
}

#[test]
fn what_an_earlier_part_binds_a_variable_to_is_not_evaluated_as_a_part() {
    let rules = "(= (f $x (S Z)) $x) (= (S Z) two) (= (h $z $y) (foo (f $z $y) $y)) (= (k $z $y) (g (f $z $y) $y))
         (= (g $a $b) (got $b))\n";
    check_both(&[
        (&format!("{rules} !(foo (f 1 $y) $y)"), "[(foo 1 (S Z))]"),
        (&format!("{rules} !((f 1 $y) $y)"), "[(1 (S Z))]"),
        (&format!("{rules} !(h 1 $y)"), "[(foo 1 (S Z))]"),
        (&format!("{rules} !(k 1 $y)"), "[(got two)]"),
        // Inside an expression it is.
        (&format!("{rules} !(foo (f 1 $y) (bar $y))"), "[(foo 1 (bar two))]"),
        (&format!("{rules} !(let $r (foo (f 1 $y) $y) $r)"), "[(foo 1 two)]"),
    ]);
}

#[test]
fn code_that_a_native_function_comes_to_is_run() {
    check_both(&[
        ("!(index-atom (plus (function ())) 1)", "[(Error (index-atom (plus (function ())) 1) NoReturn)]"),
        ("!(index-atom (plus (function (return 5))) 1)", "[5]"),
        (
            "(a 1) !(case (match &self (a $y) (function ())) (((Error $call $why) (quote $call))))",
            "[(quote (match ModuleSpace(GroundingSpace-top) (a 1) (function ())))]",
        ),
    ]);
}

#[test]
fn data_with_a_number_as_its_head_comes_to_itself_where_no_rule_matches() {
    check_both(&[(
        "(= (() $x) $f) !(let* (($b (f None (1e-7 0))) ($c (add-atom &self (= (f $z $n) new)))) $b)",
        "[(f None (1e-7 0))]",
    )]);
}

#[test]
fn a_call_whose_argument_was_raw_and_is_evaluated_now_did_not_come_to_itself() {
    check_both(&[(
        "(= (f (S $k)) (let $c (g $k) $c)) (: f (-> Atom Number)) (: g (-> Nat Number)) !(f (S (let $x new let)))",
        "[(Error (g let) (BadArgType 1 Nat (-> Atom %Undefined% Atom %Undefined%)))]",
    )]);
}

#[test]
fn a_name_of_the_library_that_is_missing_is_an_error_where_no_rule_matches() {
    check_both(&[(
        "(= ($f Key) opened) !(py-atom red)",
        "[(Error (py-atom red) py-atom (of the Python host) is not supported yet)]",
    )]);
}

#[test]
fn a_table_of_an_open_type_has_each_answer_once() {
    check_both(&[(
        "!(pragma! table f) (= (f $e $b) ()) (= (f $c $d) (filter-atom () $item eval)) (: f (-> List Bool $t))
         !(f Cons $c)",
        "[()]",
    )]);
}

#[test]
fn a_call_that_its_table_answers_with_is_evaluated_again() {
    check_both(&[(
        "(= (f 3) green) !(pragma! table f) !(let $b (f 1) ((add-atom &self (= (f $n) new)) $b))",
        "[(() new)]",
    )]);
}

#[test]
fn types_inside_of_data_are_looked_at_where_its_arguments_had_no_code() {
    check_both(&[(
        "(: Cons (-> Number (List Number) (List Number))) (: g (-> Nat Atom))
         (= (f (Cons $y $n) $c) (f $n (Cons $y $c)))
         !(f (Cons double (Cons 2 Nil)) (g Z))",
        "[(Error (Cons double (g Z)) (BadArgType 2 (List Number) Atom))]",
    )]);
}

#[test]
fn a_subject_that_is_empty_is_compared_with_itself() {
    check_both(&[
        ("!(case (empty) (($d (== $d $d))))", "[True]"),
        ("(= (f $y) (case (empty) (($d (== $d $d))))) !(f 1)", "[True]"),
        ("(= (f $x (S Z)) $x) (= (S Z) two) (= (h $z $y) (== (f $z $y) $y)) !(h (S Z) $y)", "[True]"),
    ]);
}

#[test]
fn a_list_of_results_is_data_whatever_stands_first_in_it() {
    check_both(&[
        ("!(collapse (superpose (function ())))", "[(function ())]"),
        ("(= (f) (superpose (function ()))) (= (g) (f)) !(collapse (g))", "[(function ())]"),
    ]);
}

/// What a form answers with where that is a variable that holds `NotReducible`, or code.
#[test]
fn an_answer_that_is_a_variable_may_be_odd() {
    let asked = |body: &str, held: &str| format!("(a 1) (= (f (quote $y)) {body}) !(f (quote {held}))");
    let odd = "NotReducible";
    check_both(&[
        ("!(case (map-atom (3 2) $item (eval $item)) ((($y $z) $y)))", "[]"),
        (&asked("(case 1 ((1 $y) ($z 2)))", odd), "[]"),
        (&asked("(switch 1 ((1 $y) ($z 2)))", odd), "[]"),
        (&asked("(if (== 1 1) $y 1)", odd), "[(if True NotReducible 1)]"),
        (&asked("(r (if (== 1 2) 1 $y))", odd), "[(r (if False 1 NotReducible))]"),
        (&asked("(let $x 1 $y)", odd), "[(unify 1 1 NotReducible Empty)]"),
        (&asked("(r (let* (($x 1)) $y))", odd), "[(r (unify 1 1 NotReducible Empty))]"),
        (&asked("(let* () $y)", odd), "[(let* () NotReducible)]"),
        (&asked("(r (superpose ($y 1)))", odd), "[(r (superpose (NotReducible 1))), (r 1)]"),
        (&asked("(unify 1 1 $y 2)", odd), "[(unify 1 1 NotReducible 2)]"),
        (&asked("(match &self (a $z) $y)", odd), "[(match ModuleSpace(GroundingSpace-top) (a 1) NotReducible)]"),
        (&asked("(if-decons-expr (1 2) $a $b $y 3)", odd), "[(if-decons-expr (1 2) 1 (2) NotReducible 3)]"),
        (&asked("(index-atom (1 $y) 1)", odd), "[(index-atom (1 NotReducible) 1)]"),
        (&asked("(if-equal 1 1 $y 2)", odd), "[(if-equal 1 1 NotReducible 2)]"),
        (&asked("(unique $y)", odd), "[(superpose (NotReducible))]"),
    ]);
    let code = "(function ())";
    check_both(&[
        (&asked("(if True $y 1)", code), "[(Error (if True (function ()) 1) NoReturn)]"),
        (&asked("(switch 1 ((1 $y)))", code), "[(Error (id (function ())) NoReturn)]"),
        (&asked("(let $x 1 $y)", code), "[(Error (function ()) NoReturn)]"),
        (&asked("(superpose ($y))", code), "[(Error (superpose ((function ()))) NoReturn)]"),
        (
            "(a (function ())) !(match &self (a $x) $x)",
            "[(Error (match ModuleSpace(GroundingSpace-top) (a (function ())) (function ())) NoReturn)]",
        ),
        ("(a (function (return (+ 1 2)))) !(match &self (a $x) $x)", "[3]"),
        (&asked("(r (if True $y 1))", "(function (return (+ 1 2)))"), "[(r 3)]"),
    ]);
}

#[test]
fn what_an_earlier_part_binds_is_not_evaluated_in_a_long_expression_either() {
    let rules = "(= (f $x (S Z)) $x) (= (S Z) two)";
    let numbers = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26";
    check_both(&[
        (
            &format!("{rules} !(let (quote $q) (quote (foo {numbers} (f 1 $y) $y)) $q)"),
            &format!("[(foo {numbers} 1 (S Z))]"),
        ),
        (
            &format!("{rules} !(let (quote $q) (quote (foo $y {numbers} (f 1 $y) {numbers} (S Z) $y)) $q)"),
            &format!("[(foo (S Z) {numbers} 1 {numbers} two (S Z))]"),
        ),
    ]);
}

/// Rules for constructors, added while several results are on their way into data.
#[test]
fn data_is_built_when_all_results_are_there() {
    let calls = "(= (f) 1) (= (f) (let $_ (add-atom &self (= (C $x) called)) 2))";
    let lists = "(= (l Z) 0) (= (l (S $n)) (C $n (l $n)))
         (= (l (S $n)) (let $_ (add-atom &self (= (C $x $y) (called $x $y))) 2))";
    check_both(&[
        (&format!("{calls} (= (g) (C (f))) !(g)"), "[called, called]"),
        (&format!("{calls} (= (g (quote $y)) (let $z (C $y) $z)) !(g (quote (f)))"), "[called, called]"),
        (
            &format!("{lists} !(l (S (S (S Z))))"),
            "[(called (S (S Z)) (called (S Z) (called Z 0))), (called (S (S Z)) (called (S Z) (called Z 0))), \
             (called (S (S Z)) (called (S Z) 2)), (called (S (S Z)) (called (S Z) 2)), \
             (called (S (S Z)) 2), (called (S (S Z)) 2), 2]",
        ),
        (
            "!(let $x (C (superpose (1 2))) (seen (quote $x) (add-atom &self (= (C 2) two))))",
            "[(seen (quote (C 1)) ()), (seen (quote (C 2)) ())]",
        ),
        (
            "(: C (-> Number D)) (= (f) 1) (= (f) 2)
             !(let $x (C (f)) (seen (quote $x) (add-atom &self (= (C 2) two))))",
            "[(seen (quote (C 1)) ()), (seen (quote (C 2)) ())]",
        ),
    ]);
}

#[test]
fn data_around_calls_that_no_rule_reduced_counts_as_evaluated() {
    let kept = |rules: &str, asked: &str, rule: &str| {
        format!("(= (f 2) two) {rules} !(let* (($b {asked}) ($c (add-atom &self {rule}))) $b)")
    };
    check_both(&[
        (&kept("", "(C (f 1))", "(= (C $x) new)"), "[(C (f 1))]"),
        (&kept("(= (k $x) (C (f $x)))", "(r (k 1))", "(= (C $x) new)"), "[(r (C (f 1)))]"),
        (&kept("(= (k $x) (D 2 (C (f $x) 1)))", "(r (k 1))", "(= (C $x $y) new)"), "[(r (D 2 (C (f 1) 1)))]"),
        (&kept("(= (k $x) ((f $x) 3))", "(r (k 1))", "(= ($x 3) new)"), "[(r ((f 1) 3))]"),
        (&kept("(= (g 2) x) (= (k $x) (f (g $x)))", "(r (k 1))", "(= (f $x) new)"), "[(r (f (g 1)))]"),
        (
            &kept("(: C (-> Number D)) (: f (-> Number Number)) (= (k $x) (C (f $x)))", "(r (k 1))", "(= (C $x) new)"),
            "[(r (C (f 1)))]",
        ),
        // This one came to something else.
        (&kept("(= (k $x) (C (f $x)))", "(r (k 2))", "(= (C $x) new)"), "[(r new)]"),
    ]);
}

/// A rule for a special form that one of its arguments adds.
#[test]
fn a_form_is_called_as_its_rules_stand_when_its_arguments_are_evaluated() {
    let adding = |rule: &str| format!("(let $_ (add-atom &self {rule}) True)");
    let conditional = adding("(= (if True $a $b) mine)");
    check_both(&[
        (&format!("!(if {conditional} 1 2)"), "[mine, 1]"),
        (&format!("(= (g) (if {conditional} 1 2)) !(g)"), "[mine, 1]"),
        (&format!("(= (g) (t (if (superpose (True {conditional})) 1 2))) !(g)"), "[(t mine), (t 1), (t mine), (t 1)]"),
        (&format!("!(case {} ((True 1)))", adding("(= (switch-minimal $a $b) mine)")), "[mine, 1]"),
        (&format!("!(case {} ((True 1)))", adding("(= (switch-internal $a $b) mine)")), "[mine, 1]"),
        (&format!("!(switch {} ((True 1)))", adding("(= (switch $a $b) mine)")), "[mine, 1]"),
        (&format!("!(switch {} ((True 1)))", adding("(= (id $a) mine)")), "[mine, 1]"),
        (&format!("(= (g) (unique {})) !(g)", adding("(= (let $a $b $c) mine)")), "[mine, mine, mine, True]"),
        (
            "(= (g) (let $x (superpose (1 2)) (let $_ (add-atom &self (= (let $a $b $c) mine)) $x))) !(g)",
            "[mine, 1, mine, mine, mine, 2]",
        ),
        (
            "!(case (superpose (1 2)) ((1 (add-atom &self (= (switch-minimal $a $b) mine))) (2 b)))",
            "[(), mine, mine, b]",
        ),
    ]);
}

#[test]
fn what_is_evaluated_later_does_not_come_between_the_children_of_data() {
    for evaluator in [Evaluator::Interpreter, Evaluator::Machine] {
        let text = "(= (h (quote $raw)) (let $z (C (superpose (1 2)) $raw) (k (println! (quote $z)))))
             !(h (quote (println! x)))";
        let ran = Program::new(text).with_evaluator(evaluator).run();
        assert_eq!(ran.lines[..4], ["x", "x", "(quote (C 1 ()))", "(quote (C 2 ()))"], "{evaluator:?}");
    }
}

/// States that are changed before a choice among rules is taken up again.
#[test]
fn rules_are_compared_with_what_states_held_when_the_call_was_made() {
    let states = "!(bind! &s (new-state 1)) !(bind! &t (new-state 1))";
    let facts = "(= (f $x $x) a) (= (f $x $y) b) (= (f $x $x) c)";
    check_both(&[
        (&format!("{states} {facts} !(let $r (f &s &t) (let $_ (change-state! &t 2) $r))"), "[a, b, c]"),
        (
            &format!(
                "{states} (= (f $x $y) b) (= (f $x $x) c)
                 !(let $z (change-state! &t 2) (let $r (f &s &t) (let $_ (change-state! &t 1) $r)))"
            ),
            "[b]",
        ),
        (
            &format!(
                "{states} (= (f &s) b) (= (f &s) c) (= (f $x) d) !(let $r (f &t) (let $_ (change-state! &t 2) $r))"
            ),
            "[b, c, d]",
        ),
        (
            &format!(
                "{states} (= (f $x) (let $_ (change-state! &t 2) a)) (= (f &s) (seen (get-state &t)))
                 (= (f (P $x)) no) (= (f $x) d) !(f &t)"
            ),
            "[a, (seen 2), d]",
        ),
        (
            &format!(
                "{states} (= (f $x $y $n) (let $_ (change-state! &t $n) a)) (= (f $x $x $n) (P $x))
                 (= (g $n) (f &s &t $n)) !(let $x (superpose (1 2 3 1)) (g $x))"
            ),
            "[a, (P (State 1)), a, (P (State 1)), a, a]",
        ),
    ]);
}

/// What is noted of states is forgotten in time.
#[test]
fn many_changes_of_states_are_noted_as_often_as_choices_ask_for_them() {
    let text = "!(bind! &s (new-state 1)) !(bind! &t (new-state 1))
         (= (count $n) (if (== $n 0) done (let $_ (change-state! &t $n) (count (- $n 1)))))
         (= (f $x $y) (count 2000)) (= (f $x $x) same) (= (f $x $y) (get-state &t)) !(f &s &t)";
    check_both(&[(text, "[done, same, 1]")]);
}

/// A module that is imported while a rule is left is evaluated by a machine of its own.
#[test]
fn states_are_compared_as_they_were_before_a_module_was_imported() {
    let states = "!(bind! &s (new-state 1)) !(bind! &t (new-state 1)) (held &t)
         (= (natively $state $n) (let $change (id change-state!) ($change $state $n)))";
    let choices = |first: &str| format!("(= (f $x $x) {first}) (= (f $x $x) second) !(f &s &t)");
    let inside = "!(import! &self states) !(match &self (held $t)";
    let import_first = "(let $_ (import! &self inside) first)";
    let change_after = "(let $a (import! &self inside) (let $b (natively &t 2) first))";
    let change_before = "(let $a (natively &t 2) (let $b (import! &self inside) first))";
    let cases = [
        ("!(id 1)".to_owned(), change_after),
        ("!(id 1)".to_owned(), change_before),
        (format!("{inside} (natively $t 2))"), import_first),
        (format!("{inside} (change-state! $t 2))"), import_first),
        (format!("{inside} (let $a (change-state! $t 3) (natively $t 2)))"), import_first),
        (format!("{inside} (natively $t 3))"), change_before),
    ];
    for (module, first) in cases {
        let program = "!(import! &self states) !(match &self (held $t) (bind! &t $t)) !(bind! &s (new-state 1))";
        for evaluator in [Evaluator::Interpreter, Evaluator::Machine] {
            let text = format!("{program} {}", choices(first));
            let program =
                Program::new(&text).with_file("states.metta", states).with_file("inside.metta", module.as_str());
            let ran = program.with_evaluator(evaluator).run();
            let last = ran.answers.last().map(String::as_str);
            assert_eq!(last, Some("[first, second]"), "{evaluator:?}: {module} {text} {:?}", ran.answers);
        }
    }
}

#[test]
fn the_alternatives_of_a_conditional_are_found_before_the_expression_around_it_goes_on() {
    check_both(&[
        ("(= (t) True) (= (t) False) (= (g $x) (empty)) !(g (if (t) a (Error a b)))", "[]"),
        ("(= (g $x) (empty)) !(g (if (superpose (True False)) a (Error a b)))", "[]"),
    ]);
    for evaluator in [Evaluator::Interpreter, Evaluator::Machine] {
        let text = "!(println! (if (superpose (True False)) a (let $_ (println! b) c)))";
        let ran = Program::new(text).with_evaluator(evaluator).run();
        assert_eq!(ran.lines[..3], ["b", "a", "c"], "{evaluator:?}");
    }
}

#[test]
fn an_error_that_a_form_answers_with_is_final() {
    let asked = |body: &str| format!("(held (Error)) (= (f (quote $x)) {body}) !(f (quote (Error)))");
    check_both(&[
        (&asked("$x"), "[(Error)]"),
        (&asked("(r (if True $x 1))"), "[(Error)]"),
        (&asked("(r (let $z 1 $x))"), "[(Error)]"),
        (&asked("(r (case 1 ((1 $x))))"), "[(Error)]"),
        (&asked("(superpose ($x $x))"), "[(Error), (Error)]"),
        (&asked("(match &self (held $h) $h)"), "[(Error)]"),
    ]);
}

#[test]
fn a_form_that_an_alternative_before_gave_a_rule_is_called() {
    let after = |form: &str, call: &str| format!("(= (f) (add-atom &self (= {form} sole))) (= (f) {call}) !(f)");
    check_both(&[
        (&after("(unique $x)", "(unique 1)"), "[(), sole, 1]"),
        (&after("(if $x $y $z)", "(if True 1 2)"), "[(), sole, 1]"),
        (&after("(car-atom $x)", "(car-atom (1 2))"), "[(), sole, 1]"),
        (&after("(g $x)", "(k (g 1))"), "[(), (k sole)]"),
    ]);
}

/// What `Empty` as it is written means as an argument of a function of the library, in Hyperon 0.2.10 as well.
#[test]
fn empty_as_it_is_written_is_an_argument_like_any_other() {
    check_both(&[
        ("!(== 1 Empty)", "[False]"),
        ("!(== Empty Empty)", "[True]"),
        ("(= (has $x) (if (== $x Empty) no yes)) !(has 5)", "[yes]"),
        ("(= (has $x) (if (== $x Empty) no yes)) !(bag (has 5) (has 6))", "[(bag yes yes)]"),
        ("!(+ 1 Empty)", "[(+ 1 Empty)]"),
        ("!(+ (+ 1 Empty) 2)", "[(+ (+ 1 Empty) 2)]"),
        ("!(- (superpose (1 2)) Empty)", "[(- 1 Empty), (- 2 Empty)]"),
        ("!(< Empty 1)", "[(< Empty 1)]"),
        ("!(not Empty)", "[(not Empty)]"),
        ("!(or (and Empty True) False)", "[(or (and Empty True) False)]"),
        ("!(if Empty p q)", "[(if Empty p q)]"),
        ("!(if (== Empty Empty) 1 2)", "[1]"),
        ("!(+ (let (q $x) (noeval (q Empty)) 1) $x)", "[(+ 1 Empty)]"),
        ("(q Empty) !(match &self (q $x) (+ 1 $x))", "[(+ 1 Empty)]"),
        // As a child of a tuple it is no result.
        ("!(foo Empty)", "[]"),
        ("(q Empty) !(match &self (q $x) (foo $x))", "[]"),
    ]);
}

#[test]
fn an_expression_with_empty_as_its_head_has_no_result() {
    check_both(&[
        ("(= (f) (Empty a)) !(f)", "[]"),
        ("!(foo (Empty))", "[]"),
        ("!(foo (bar (Empty)) 1)", "[]"),
        ("!((Empty) 1)", "[]"),
        ("(= (Empty a) 5) !(Empty a)", "[]"),
        ("(: Empty (-> Atom A)) !(Empty a)", "[]"),
        ("!(let $x (Empty a) (got $x))", "[]"),
        ("!(min-atom (Empty 1))", "[]"),
        ("(q Empty) !(match &self (q $x) ($x foo))", "[]"),
    ]);
}

#[test]
fn the_word_error_is_a_result_like_any_other() {
    check_both(&[
        ("!(assertEqual Error Error)", "[()]"),
        ("!(assertAlphaEqual Error Error)", "[()]"),
        ("!(assertIncludes Error (Error))", "[()]"),
        ("!(assertEqualToResult Error (Error))", "[()]"),
        ("!(assertEqual (id Error) (superpose (Error)))", "[()]"),
        ("!(collapse (unify a b Empty (Error)))", "[((Error))]"),
        ("!(collapse (if True (Error) 1))", "[((Error))]"),
        ("!(collapse (let $x 1 (Error $x)))", "[((Error 1))]"),
        ("!(collapse (case 1 ((1 (Error)))))", "[((Error))]"),
    ]);
}

/// An error is final as what a rule or a form says, also if it has another number of parts than two.
#[test]
fn what_a_rule_says_is_an_error_if_it_begins_with_the_word() {
    check_both(&[
        ("(= (p) (Error -> parser a)) !(p)", "[(Error -> parser a)]"),
        ("(= (p $x) (Error -> parser $x)) !(let $y (p 2) (got $y))", "[(Error -> parser 2)]"),
        ("(= (p $x) (Error -> parser $x)) !(case (p 2) (((Error $a $b $c) ok) ($y other)))", "[ok]"),
        ("!(let $x Error ($x 1))", "[(Error 1)]"),
        ("(= (h $x) ($x 1)) !(h Error)", "[(Error 1)]"),
        ("(= (h $x) (got (let $y $x ($y 1)))) !(h Error)", "[(Error 1)]"),
        ("(q Error) !(match &self (q $x) ($x a))", "[(Error a)]"),
        ("!(cdr-atom (a Error b))", "[(Error b)]"),
        ("!(let $x (cdr-atom (a Error b)) (got $x))", "[(Error b)]"),
        ("!(let $x (cons-atom Error (a)) (got $x))", "[(Error a)]"),
        // A call is none: it is evaluated.
        ("!(foo (Error a))", "[(Error (Error a) IncorrectNumberOfArguments)]"),
        ("(= (h $x) (foo ($x 1))) !(h Error)", "[(Error (Error 1) IncorrectNumberOfArguments)]"),
    ]);
}

#[test]
fn an_error_is_no_value_of_another_type() {
    check_both(&[
        ("!(metta (Error a b) Number &self)", "[(Error (Error a b) (BadType Number ErrorType))]"),
        ("!(metta (Error a b) %Undefined% &self)", "[(Error a b)]"),
        ("!(+ (let (q $x) (noeval (q (Error a b))) 1) $x)", "[(Error (Error a b) (BadType Number ErrorType))]"),
    ]);
}

#[test]
fn an_expression_has_the_type_that_is_declared_for_the_whole() {
    let pair = "(: (two things) Pair)";
    let bad = |call: &str, place: u32, wanted: &str, found: &str| {
        format!("[(Error {call} (BadArgType {place} {wanted} {found}))]")
    };
    check_both(&[
        (&format!("{pair} !(+ 1 (two things))"), &bad("(+ 1 (two things))", 2, "Number", "Pair")),
        (&format!("{pair} !(if (two things) 1 2)"), &bad("(if (two things) 1 2)", 1, "Bool", "Pair")),
        (&format!("{pair} !(and True (two things))"), &bad("(and True (two things))", 2, "Bool", "Pair")),
        (&format!("{pair} !(not (two things))"), &bad("(not (two things))", 1, "Bool", "Pair")),
        (&format!("{pair} !(== 1 (two things))"), &bad("(== 1 (two things))", 2, "Number", "Pair")),
        (&format!("{pair} !(== (two things) 1)"), &bad("(== (two things) 1)", 2, "Pair", "Number")),
        (&format!("{pair} (= (f $x) (+ 1 $x)) !(f (two things))"), &bad("(+ 1 (two things))", 2, "Number", "Pair")),
        (&format!("{pair} !(== (two things) (two things))"), "[True]"),
        (&format!("{pair} !(+ 1 (two others))"), "[(+ 1 (two others))]"),
        (
            "(: (c d) (C D)) (: foo (-> (A B) %Undefined%)) (= (foo $x) succ) !(foo (c d))",
            &bad("(foo (c d))", 1, "(A B)", "(C D)"),
        ),
        // The type is declared when the code is there.
        (
            "(= (f) (+ 1 (two things))) !(f) !(add-atom &self (: (two things) Pair)) !(f)",
            &bad("(+ 1 (two things))", 2, "Number", "Pair"),
        ),
        ("(: A TA) (= (one) 5) !(== (one) (A))", "[(Error 5 (BadType (TA) Number))]"),
    ]);
}

#[test]
fn the_error_that_is_named_is_that_of_the_call_around() {
    check_both(&[
        (
            "!(map-atom (a) $v (% $v (size-atom 1)))",
            "[(Error (% a (size-atom 1)) (BadArgType 2 Number (-> Expression Number)))]",
        ),
        (
            "(= (f $list) (map-atom $list $v (% $v (size-atom 1)))) !(f (5 6))",
            "[(Error (% 5 (size-atom 1)) (BadArgType 2 Number (-> Expression Number)))]",
        ),
        ("!(map-atom (a 1) $v (+ $v 1))", "[((+ a 1) 2)]"),
        ("!(map-atom (1 \"s\") $v (+ $v 1))", "[(Error (+ \"s\" 1) (BadArgType 1 Number String))]"),
        (
            "!(match (superpose (1 2)) x y)",
            "[(Error (match 1 x y) match expects a space as the first argument), \
             (Error (match 2 x y) match expects a space as the first argument)]",
        ),
        ("!(match 1 x y)", "[(Error (match 1 x y) (BadArgType 1 SpaceType Number))]"),
    ]);
}

/// In a tuple what an earlier part has bound stays as it is.
#[test]
fn an_argument_that_an_earlier_one_has_bound_is_evaluated_to_its_type() {
    let bar = "(: bar (-> Number Number Number)) (= (g) 7)";
    check_both(&[
        (
            "(: f (-> Number Number Number)) (= (f $a $b) (got $a $b)) (n 5) (n \"str\")
             !(f (match &self (n $x) 1) $x)",
            "[(got 1 5)]",
        ),
        (&format!("{bar} !(bar (let (q $x) (noeval (q (g))) 1) $x)"), "[(bar 1 7)]"),
        (&format!("{bar} (= (h $z) (bar (let (q $x) (noeval (q (g))) 1) $x)) !(h 1)"), "[(bar 1 7)]"),
        (&format!("{bar} !(bar (let $x \"s\" 1) $x)"), "[(Error \"s\" (BadType Number String))]"),
        (&format!("{bar} !(bar $x (let $x \"s\" 1))"), "[(bar \"s\" 1)]"),
        ("!(+ (let $y \"s\" 1) $y)", "[(Error \"s\" (BadType Number String))]"),
        ("(= (h $x) (+ (let $x \"s\" 1) $x)) !(h $z)", "[(Error \"s\" (BadType Number String))]"),
        ("!(and (let $y 5 True) $y)", "[(Error 5 (BadType Bool Number))]"),
        ("!(< (let $x \"s\" 1) $x)", "[(Error \"s\" (BadType Number String))]"),
        ("(= (g) 7) !(foo (let (q $x) (noeval (q (g))) 1) $x)", "[(foo 1 (g))]"),
        // An error is no result where there is another.
        (
            "(= (several) a) (= (several) \"s\") (= (h $x) (car-atom ())) !(collapse (h (+ (let $y (several) 1) $y)))",
            "[((Error (car-atom ()) \"car-atom expects a non-empty expression as an argument\"))]",
        ),
    ]);
}

#[test]
fn the_first_argument_of_a_polymorphic_constructor_is_evaluated() {
    let link = "(: Cons (-> $t (List $t) (List $t))) (: Nil (List $t))";
    check_both(&[
        (&format!("{link} !(Cons (map-atom (1 2) $x (+ $x 1)) Nil)"), "[(Cons (2 3) Nil)]"),
        (&format!("{link} !(Cons (cdr-atom (1 2)) (Cons (cdr-atom (1 3)) Nil))"), "[(Cons (2) (Cons (3) Nil))]"),
        ("(: Some (-> $t (Opt $t))) (= (mk $l) (Some (map-atom $l $x (+ $x 1)))) !(mk (1 2))", "[(Some (2 3))]"),
        ("!(let $s (new-state (cdr-atom (1 2))) (get-state $s))", "[(2)]"),
        // Others are taken as they stand.
        ("(: Pair (-> $t $u (Pair $t $u))) !(Pair (cdr-atom (1 2)) (cdr-atom (1 3)))", "[(Pair (2) (cdr-atom (1 3)))]"),
        ("(: foo (-> $t Bar)) !(foo (cdr-atom (1 2)))", "[(foo (cdr-atom (1 2)))]"),
    ]);
}

#[test]
fn a_space_that_is_written_in_a_pattern_is_asked() {
    let fact = "(factor ft cm 30.48)";
    check_both(&[
        (&format!("{fact} !(let &self (factor ft $v $k) $v)"), "[cm]"),
        (&format!("{fact} (= (next $u) (let &self (factor $u $v $k) $v)) !(next ft)"), "[cm]"),
        (&format!("{fact} (= (next $u) (let* ((&self (factor $u $v $k))) $v)) !(next ft)"), "[cm]"),
        (&format!("{fact} (= (next $u) (let (a &self) (a (factor $u $v $k)) $v)) !(next ft)"), "[cm]"),
        // The value has bound the variable of the pattern.
        (&format!("{fact} (= (next $u) (let $y (let $y &self ($y $u)) $y)) !(next ft)"), "[]"),
        (&format!("{fact} (= (next $u) (case (factor $u $v $k) ((&self $v) ($_ no)))) !(next ft)"), "[cm]"),
        (&format!("{fact} (= (next $u) (switch (factor $u $v $k) ((&self $v) ($_ no)))) !(next ft)"), "[cm]"),
    ]);
}

#[test]
fn alternatives_of_a_rule_share_the_variables_that_it_makes() {
    let shown = |rule: &str| format!("{rule} !(let (($a $_) ($b $_)) (collapse (shared)) (let $a bound ($a $b)))");
    let programs = [
        "(= (shared) ($new (superpose (p p))))",
        "(= (shared) (let $x (superpose (p p)) ($new $x)))",
        "(= (shared) (let* (($x (superpose (p p))) ($y 1)) ($new $x)))",
        "(= (id2 $x) $x) (= (shared) (case (superpose (p p)) ((p (id2 ($new p))))))",
        "(= (shared) (switch (superpose (p p)) ((p ($new p)))))",
        "(= (shared) (if (superpose (True True)) ($new p) no))",
        "(fact p) (fact p) (= (shared) (match &self (fact $x) ($new $x)))",
        "(= (two) p) (= (two) p) (= (pair $y $x) ($x $y)) (= (shared) (pair (two) $new))",
        "(: pair (-> Symbol Atom Atom)) (= (two) p) (= (two) p) (= (pair $y $x) ($x $y)) (= (shared) (pair (two) $new))",
    ]
    .map(|rule| (shown(rule), "[(bound bound)]"));
    let programs: Vec<(&str, &str)> = programs.iter().map(|(text, expected)| (text.as_str(), *expected)).collect();
    check_both(&programs);
}

/// Errors show the expression as it is written, patterns included.
#[test]
fn errors_of_alternatives_share_the_variables_that_they_show() {
    check_both(&[
        (
            "(= (two) True) (= (two) False) (= (law) (let $p (two) (or (let $z not $z) not)))
             !(let ((Error (or (let $a not $a) not) $_) (Error (or (let $b not $b) not) $_)) (collapse (law))
                (let $a bound ($a $b)))",
            "[(bound bound)]",
        ),
        (
            "(= (two) True) (= (two) False) (= (law) (let $p (two) (or (let $z not $z))))
             !(let ((Error (or (let $a not $a)) $_) (Error (or (let $b not $b)) $_)) (collapse (law))
                (let $a bound ($a $b)))",
            "[(bound bound)]",
        ),
    ]);
}

/// A type of a variable is one of whatever there is.
#[test]
fn a_type_that_everything_has_is_left_to_the_specification() {
    check_both(&[("(: $any (-> $t L)) !(ticket (seat 100))", "[(Error (seat 100) (BadType (-> $t# L) L))]")]);
}

#[test]
fn an_unbound_variable_is_another_one_in_the_template_of_a_loop_than_in_its_list() {
    check_both(&[
        ("(= (h $x) (map-atom ($y) $v (foo $v $y))) !(let ((foo $a $b)) (h 1) (let $a bound ($a $b)))", "[(bound $b)]"),
        ("(= (h $y) (map-atom ($y) $v (foo $v $y))) !(h 1)", "[((foo 1 1))]"),
    ]);
}

/// `filter-atom` names itself in its errors, with one variable for all of them.
#[test]
fn errors_of_one_filter_share_its_variable() {
    check_both(&[(
        "(= (odd $xs) (filter-atom $xs $x (eval (superpose (\"s\" 3)))))
         !(let ((Error (filter-atom $_ $a $t) $e) (Error (filter-atom $_ $b $t) $e)) (collapse (odd (1)))
            (let $a bound ($a $b)))",
        "[(bound bound)]",
    )]);
}

#[test]
fn a_space_that_is_written_in_the_head_of_a_rule_is_asked() {
    check_both(&[
        ("(factor ft 1 2) (= (i &self) yes) !(i (factor ft $v $k))", "[yes]"),
        ("(factor ft 1 2) (= (i (in &self)) yes) !(i (in (factor ft $v $k)))", "[yes]"),
        ("(= (i &self) yes) (= (i 1) one) !(i 1)", "[one]"),
    ]);
}

/// The first argument says what the type of the second is, also if it says so only when it is evaluated.
#[test]
fn an_error_of_an_argument_names_the_type_that_those_before_it_have_said() {
    check_both(&[
        (
            "(: Cons (-> $t ($t) List)) (= (part 2) 1) !(Cons (part 2) (part 2))",
            "[(Error 1 (BadType (Number) Number))]",
        ),
        (
            "(: Same (-> $t $t Same)) (= (one) 1) (= (text) \"s\") !(Same (one) (text))",
            "[(Error \"s\" (BadType Number String))]",
        ),
        ("(: Same (-> $t $t Same)) (= (some) 1) (= (some) \"s\") (= (one) 1) !(Same (some) (one))", "[(Same 1 1)]"),
    ]);
}

/// Of two variables of a rule that become one, the one that is written first stays, whichever is needed later.
#[test]
fn of_two_variables_of_a_rule_the_one_that_is_written_first_stays() {
    let shown = |body: &str| {
        format!("(= (eq $a $a) $a) (= (f) {body}) !(let (($a) (quote ($b $c))) (f) (let $a bound ($b $c)))")
    };
    let programs = [
        (shown("(let* (($all (collapse (eq $w $v))) ($more (quote ($v $w)))) ($all $more))"), "[($b bound)]"),
        (shown("(let* (($all (collapse (eq $w $v))) ($more (quote ($w $v)))) ($all $more))"), "[(bound $c)]"),
    ];
    check_both(&programs.iter().map(|(text, expected)| (text.as_str(), *expected)).collect::<Vec<_>>());
}

/// What the first side of a comparison comes to says of which type the results of the second are, also if both are calls of functions
/// without types.
#[test]
fn two_calls_are_compared_by_the_type_of_the_first() {
    let rules = "(= (one) 5) (= (text) \"s\") (= (word) a) (= (several) a) (= (several) \"s\") (= (three) (+ 1 2)) (= (data) (pair 1))
        (: Nil (List $t)) (: Cons (-> $t (List $t) (List $t))) (= (list) (Cons 1 Nil)) (= (same $x $y) (== $x $y))";
    let programs = [
        ("!(== (one) (text))", "[(Error \"s\" (BadType Number String))]"),
        ("!(== (text) (one))", "[(Error 5 (BadType String Number))]"),
        ("!(== (text) (three))", "[(Error (+ 1 2) (BadType String Number))]"),
        ("!(== (one) (list))", "[(Error (Cons 1 Nil) (BadType Number (List Number)))]"),
        ("!(== (one) (several))", "[False]"),
        ("!(== (several) (one))", "[False]"),
        ("!(== (several) (several))", "[True, False, False, True]"),
        ("!(== (one) (one))", "[True]"),
        ("!(== (text) (text))", "[True]"),
        ("!(== (list) (list))", "[True]"),
        ("!(== (word) (text))", "[False]"),
        ("!(== (data) (data))", "[True]"),
        ("!(== (data) (one))", "[False]"),
        ("(= (both $x) (if (== (one) (several)) yes $x)) !(both no)", "[no]"),
        ("(= (both $x) (not (== (one) (text)))) !(both no)", "[(Error \"s\" (BadType Number String))]"),
        (
            "(= (both $x) (== (one) (same (text) (text)))) !(both no)",
            "[(Error (== \"s\" \"s\") (BadType Number Bool))]",
        ),
    ];
    check_both_after(rules, &programs);
}

#[test]
fn an_error_whose_word_a_variable_stands_for_is_final() {
    check_both(&[
        ("(= (h $x) ((let $y Error ($y)))) !(h size-atom)", "[(Error)]"),
        ("!((let $y Error ($y)))", "[(Error)]"),
        ("(= (h $x) (foo (let $y $x ($y)))) !(h Error)", "[(Error)]"),
        ("(= (h $x) ((let $y $x ($y a b)))) !(h Error)", "[(Error a b)]"),
    ]);
}

#[test]
fn what_stands_before_empty_is_evaluated() {
    check_both(&[
        ("!(map-atom ((Error)) $v (foo $v Empty))", "[(Error (Error) IncorrectNumberOfArguments)]"),
        ("(= (h $x) (foo $x Empty)) !(h (Error))", "[(Error (Error) IncorrectNumberOfArguments)]"),
        ("(= (h $x) (foo $x Empty)) !(h 1)", "[]"),
        ("(= (h $x) (foo Empty $x)) (: h (-> Atom Atom)) !(h (Error))", "[(foo Empty (Error))]"),
    ]);
}

/// Hyperon 0.2.10 gives the first of these, and marks what was evaluated in the same way.
#[test]
fn what_was_evaluated_is_data_whatever_is_bound_in_it_before_its_turn() {
    let rules =
        "(= (b (Z (k 1))) done) (= (k 1) 2) (= (p (k 1)) done) (= (n 1) done) (: T (-> $t $u T)) (: D (-> D D D))
         (: raw (-> Atom Atom %Undefined%))";
    let programs = [
        ("(= (f $a) (R (b $a) $a)) !(f (Z $p))", "[(R done (Z (k 1)))]"),
        ("(= (f $a) (R (b $a) (S $a))) !(f (Z $p))", "[(R done (S (Z 2)))]"),
        ("(= (f $a) (D (b $a) $a)) !(f (Z $p))", "[(D done (Z (k 1)))]"),
        ("(= (f $a) (T (b $a) $a)) !(f (Z $p))", "[(T done (Z (k 1)))]"),
        ("(= (f $a) (== (b $a) $a)) !(f (Z $p))", "[False]"),
        ("(= (f $a) ((b $a) $a)) !(f (Z $p))", "[(done (Z (k 1)))]"),
        ("(= (f $a $p) (R (n $p) $a)) !(f (Z (+ $p 1)) $p)", "[(R done (Z (+ 1 1)))]"),
        ("(= (f $a) (let $w (S $a) (R (b $a) $w))) !(f (Z $p))", "[(R done (S (Z (k 1))))]"),
        ("(= (f $a) (let $r (b $a) (R $r $a))) !(f (Z $p))", "[(R done (Z 2))]"),
        ("(= (f $a) (chain (eval (b $a)) $r ($r $a))) !(f (Z $p))", "[(done (Z 2))]"),
        ("(= (f $a) (chain (b $a) $r ($r $a))) !(f (Z $p))", "[(done (Z (k 1)))]"),
        ("(= (f $a) (chain (eval (b $a)) $r (unify $r done $a no))) !(f (Z $p))", "[(Z 2)]"),
        ("(= (raw $x $y) (R $x $y)) !(raw (p $v) $v)", "[(R done (k 1))]"),
        ("(= (raw $x $y) (R (S $x) $y)) !(raw (p $v) $v)", "[(R (S done) (k 1))]"),
        ("(= (f $a $p) ((b $a) $p)) !(let $c (cons-atom Z ($q)) (f $c (quote $q)))", "[(done (quote (k 1)))]"),
    ];
    check_both_after(rules, &programs);
}

/// Hyperon 0.2.10 gives all of these.
#[test]
fn a_result_that_was_not_evaluated_says_nothing_of_the_type_of_another() {
    let rules = "(= (d $g) (cons-atom case $g)) (= (same $x) $x) (: foo (-> Number Foo)) (= (f $g) (cons-atom foo $g))";
    let programs = [
        ("!(== (d ()) (same 5))", "[False]"),
        ("!(== (d ()) (d ()))", "[True]"),
        ("!(== (f (a)) (same (+ 1 a)))", "[False]"),
        // The second is taken as it stands, since the result of `cdr-atom` is an `Expression`.
        ("(= (t $l) (cdr-atom $l)) (= (g $l) (== (t $l) (t $l))) !(g (1 2))", "[False]"),
        ("(= (t $l) (car-atom $l)) (= (g $l) (== (t $l) (t $l))) !(g (1 2))", "[True]"),
        ("(= (t $l) (car-atom $l)) !(== (t (1 2)) (same a))", "[False]"),
        ("!(== (same (1)) (same a))", "[False]"),
        ("!(== (same 1) (same \"a\"))", "[(Error \"a\" (BadType Number String))]"),
    ];
    check_both_after(rules, &programs);
}

/// Hyperon 0.2.10 gives the first of these. What is bound is put in where code begins, for what `eval` reduces, behind `metta`, and where
/// `unify` has matched.
#[test]
fn what_was_evaluated_is_given_by_minimal_code_as_it_stands() {
    let rules = "(= (b (Z (k 1))) done) (= (k 1) 2) (= (n 1) done) (= (returning $x) (function (return $x)))
         (= (behind $x) (function (chain (eval (b $x)) $r (return $x)))) (= (coming $x) (chain (eval (b $x)) $r $x))";
    let programs = [
        ("(= (f $a) (chain (eval (b $a)) $r $a)) !(f (Z $p))", "[(Z (k 1))]"),
        ("(= (f $a) (chain (eval (b $a)) $r (metta $a %Undefined% &self))) !(f (Z $p))", "[(Z (k 1))]"),
        (
            "(= (f $a) (chain (metta (Q $a) %Undefined% &self) $q (chain (eval (b $a)) $r $q))) !(f (Z $p))",
            "[(Q (Z (k 1)))]",
        ),
        ("(= (f $a) (function (chain (eval (b $a)) $r (return $a)))) !(f (Z $p))", "[(Z (k 1))]"),
        ("(= (f $a $p) (function (chain (eval (n $p)) $r (return $a)))) !(f (+ $p 1) $p)", "[(+ 1 1)]"),
        ("(= (f $a) (chain (eval (b $a)) $r (chain $a $s $s))) !(f (Z $p))", "[(Z (k 1))]"),
        ("(= (f $a) (chain (eval (b $a)) $r (unify a b no $a))) !(f (Z $p))", "[(Z (k 1))]"),
        ("(= (f $a) (chain (eval (b $a)) $r (unify a a $a no))) !(f (Z $p))", "[(Z 2)]"),
        ("(= (f $a) (chain (eval (b $a)) $r (eval (returning $a)))) !(f (Z $p))", "[(Z 2)]"),
        ("(= (f $a) (chain (eval (behind $a)) $r $r)) !(f (Z $p))", "[(Z (k 1))]"),
        ("(= (f $a) (chain (metta (behind $a) %Undefined% &self) $r $r)) !(f (Z $p))", "[(Z 2)]"),
        ("!(let $a (Z $p) (let $q (behind $a) (O $q)))", "[(O (Z 2))]"),
        ("!(let $a (Z $p) (O (coming $a)))", "[(O (Z (k 1)))]"),
    ];
    check_both_after(rules, &programs);
}

/// What stands in data may be a call, and a tuple whose head is an expression came to itself.
#[test]
fn what_was_evaluated_is_data_behind_data_that_holds_a_call() {
    let rules = "(= (b (Z (k 1))) done) (= (k 1) 2) (= (g $x $y) (G $y $x)) (: raw (-> Atom Atom %Undefined%))
         (: tu (-> %Undefined% %Undefined% D)) (= (tu $x $y) (U $y $x))";
    let programs = [
        ("(= (raw $x $y) (g (S $x) $y)) !(let $w (Z $p) (raw (b $w) $w))", "[(G (Z 2) (S done))]"),
        ("(= (f $a) (let $w ((quote R) $a) (P (b $a) $w))) !(f (Z $p))", "[(P done ((quote R) (Z (k 1))))]"),
    ];
    check_both_after(rules, &programs);
}

#[test]
fn types_of_a_call_whose_arguments_have_effects_are_as_the_specification_says() {
    let rules = "(= (part $x) $x) (: Row (-> $t $t Rows)) (: Of (-> $t List Rows))";
    let programs = [
        ("!(Row (part (Of a (part (println! said)))) (part \"s\"))", "[(Error \"s\" (BadType Rows String))]"),
        ("!(Row (part a) (part (let $u (add-atom &self (m 1)) \"s\")))", "[(Row a \"s\")]"),
    ];
    check_both_after(rules, &programs);
}
