//! The steps by which an atom is evaluated, one table each; programs and answers as the specification has them.
//!
//! Where an answer has several results, their order is the one that Metroon promises: depth first, rules in the order in
//! which they were added, from left to right.

use crate::harness::check;

#[test]
fn what_needs_no_evaluation_is_its_own_result() {
    check(&[
        ("! Empty", &["[Empty]"]),
        ("! (Error a b)", &["[(Error a b)]"]),
        ("! $x", &["[$x]"]),
        ("! foo ! 5 ! \"text\" ! True ! ()", &["[foo]", "[5]", "[\"text\"]", "[True]", "[()]"]),
        ("! (metta Empty Atom &self)", &["[]"]),
        ("! (metta (+ 1 2) Atom &self)", &["[(+ 1 2)]"]),
        ("! (metta (+ 1 2) Expression &self)", &["[(+ 1 2)]"]),
        ("! (metta foo Symbol &self) ! (metta 5 Grounded &self)", &["[foo]", "[5]"]),
        ("! (metta $x Number &self)", &["[$x]"]),
        ("! (metta (+ 1 2) Number &self)", &["[3]"]),
    ]);
}

#[test]
fn type_cast_takes_the_first_type_that_agrees() {
    let two_types = "(: a A) (: a B) ";
    check(&[
        (&format!("{two_types} ! (metta a A &self) ! (metta a B &self)"), &["[a]", "[a]"]),
        (&format!("{two_types} ! (metta a C &self)"), &["[(Error a (BadType C A)), (Error a (BadType C B))]"]),
        ("! (metta 5 Number &self) ! (metta undeclared A &self)", &["[5]", "[undeclared]"]),
        ("! (metta 5 String &self)", &["[(Error 5 (BadType String Number))]"]),
        ("! (metta () A &self) ! (metta () (->) &self)", &["[()]", "[()]"]),
        ("(: a (Pair A B)) ! (chain (metta a (Pair $x $y) &self) $_ (got $x $y))", &["[(got A B)]"]),
    ]);
}

#[test]
fn the_first_function_type_that_applies_decides() {
    check(&[
        ("(: f (-> A B)) (: f (-> C D)) (: a A) (: c C) (= (f a) fa) (= (f c) fc) ! (f a) ! (f c)", &["[fa]", "[fc]"]),
        (
            "(: f (-> A B)) (: f (-> C D)) (: e E) ! (f e)",
            &["[(Error (f e) (BadArgType 1 A E)), (Error (f e) (BadArgType 1 C E))]"],
        ),
        // With a type that is no function type beside it, the call is a tuple, and its errors are hidden.
        ("(: f (-> A B)) (: f Thing) (: c C) ! (f c)", &["[(f c)]"]),
        // `Atom` as the return type ends the evaluation, `Expression` does not.
        ("(: f (-> Atom Atom)) (= (f $x) ($x $x)) ! (f (+ 1 2))", &["[((+ 1 2) (+ 1 2))]"]),
        ("(: f (-> Atom Expression)) (= (f $x) ($x $x)) ! (f (+ 1 2)) ! (f a)", &["[(3 3)]", "[(a a)]"]),
        ("(: f (-> Number (-> Number Number))) (= ((f $x) $y) (+ $x $y)) ! ((f 1) 2)", &["[3]"]),
        (
            "(: f (-> Number (-> Number Number))) ! ((f 1) \"a\")",
            &["[(Error ((f 1) \"a\") (BadArgType 1 Number String))]"],
        ),
    ]);
}

#[test]
fn a_function_type_applies_when_number_and_types_of_arguments_agree() {
    let f = "(: f (-> Number Number)) ";
    check(&[
        (&format!("{f} ! (f)"), &["[(Error (f) IncorrectNumberOfArguments)]"]),
        (&format!("{f} ! (f 1 2)"), &["[(Error (f 1 2) IncorrectNumberOfArguments)]"]),
        (&format!("{f} ! (f \"s\")"), &["[(Error (f \"s\") (BadArgType 1 Number String))]"]),
        (&format!("{f} ! (f undeclared) ! (f $x)"), &["[(f undeclared)]", "[(f $x)]"]),
        // The type of a call is known before it is made.
        (
            "(: f (-> Number Number)) (: g (-> Number String)) ! (f (g 1))",
            &["[(Error (f (g 1)) (BadArgType 1 Number String))]"],
        ),
        // What is wrong inside is reported rather than the call around it.
        ("(: f (-> String String)) ! (+ 1 (f 2))", &["[(Error (f 2) (BadArgType 1 String Number))]"]),
        // A type variable is the same for all arguments.
        (
            "(: same (-> $t $t Bool)) (: a A) (: b B) ! (same a a) ! (same a b)",
            &["[(same a a)]", "[(Error (same a b) (BadArgType 2 A B))]"],
        ),
        ("(: f (-> A B)) (: a A) ! (metta (f a) C &self)", &["[(Error (f a) (BadType C B))]"]),
    ]);
}

#[test]
fn a_metatype_takes_the_argument_as_it_stands() {
    check(&[
        ("(: f (-> Atom Number)) (= (f $x) 3) ! (f Empty) ! (f (/ 1 0)) ! (f (Error a b))", &["[3]", "[3]", "[3]"]),
        ("(: f (-> Expression Atom)) ! (f (+ 1 2)) ! (f a)", &["[(f (+ 1 2))]", "[(f a)]"]),
        ("(: f (-> Symbol Atom)) ! (f a)", &["[(f a)]"]),
        ("(: f (-> Symbol Atom)) ! (f (+ 1 2))", &["[(Error (f (+ 1 2)) (BadArgType 1 Symbol Number))]"]),
        ("(: f (-> Variable Atom)) ! (f $x) ! (f a)", &["[(f $x)]", "[(f a)]"]),
        ("(: f (-> Grounded Atom)) ! (f 5)", &["[(f 5)]"]),
        ("(: f (-> Grounded Atom)) ! (f (+ 1 2))", &["[(Error (f (+ 1 2)) (BadArgType 1 Grounded Number))]"]),
        ("(: f (-> %Undefined% Atom)) ! (f (+ 1 2))", &["[(f 3)]"]),
    ]);
}

#[test]
fn a_tuple_is_evaluated_from_left_to_right() {
    check(&[
        ("! ((foo bar) (+ 1 2))", &["[((foo bar) 3)]"]),
        ("! (a (superpose (1 2)) (superpose (3 4)))", &["[(a 1 3), (a 1 4), (a 2 3), (a 2 4)]"]),
        ("! ((superpose (a b)) (superpose (1 2)))", &["[(a 1), (a 2), (b 1), (b 2)]"]),
        ("! (a (empty) b) ! (a Empty b)", &["[]", "[]"]),
        ("! (a (Error x y) b)", &["[(Error x y)]"]),
        ("! (a (/ 1 0) (superpose (1 2)))", &["[(Error (/ 1 0) DivisionByZero)]"]),
        // What a child binds is seen by those after it.
        (
            "(= (choose) (superpose (1 2))) (= (is $x) (match &self (n $x) yes)) (n 1) (n 2) ! ((is $x) $x)",
            &["[(yes 1), (yes 2)]"],
        ),
    ]);
}

#[test]
fn arguments_are_evaluated_by_the_types_of_their_positions() {
    let f = "(: f (-> Number Number)) (= (f $x) $x) ";
    check(&[
        (&format!("{f} ! (f (superpose (1 2 3)))"), &["[1, 2, 3]"]),
        (&format!("{f} ! (f (empty))"), &["[]"]),
        (&format!("{f} ! (f (/ 1 0))"), &["[(Error (/ 1 0) DivisionByZero)]"]),
        ("(: g (-> Number Atom Atom)) (= (g $x $y) ($x $y)) ! (g (+ 1 1) (+ 1 1))", &["[(2 (+ 1 1))]"]),
        (
            "(: h (-> Number Number Atom)) ! (h (superpose (1 2)) (superpose (3 4)))",
            &["[(h 1 3), (h 1 4), (h 2 3), (h 2 4)]"],
        ),
        // An `Empty` or error that was passed, and not produced, is an argument.
        ("(: k (-> ErrorType Atom)) (= (k $e) (got $e)) ! (k (Error a b))", &["[(got (Error a b))]"]),
    ]);
}

#[test]
fn a_call_becomes_what_every_matching_rule_says() {
    check(&[
        ("(= (f $x) a) (= (f b) c) ! (f b) ! (f $z) ! (f d)", &["[a, c]", "[a, c]", "[a]"]),
        ("(= (f 1) one) ! (f 2) ! (f 1 2)", &["[(f 2)]", "[(f 1 2)]"]),
        ("(= (same $x $x) yes) ! (same 1 1) ! (same 1 2) ! (same $a b)", &["[yes]", "[(same 1 2)]", "[yes]"]),
        ("(= (foo 1) 2) ! ($f 1) ! (($f 1) 2)", &["[($f 1)]", "[(($f 1) 2)]"]),
        ("(= (f $x) (g $x)) (= (g $x) (h $x)) (= (h 1) done) ! (f 1) ! (f 2)", &["[done]", "[(h 2)]"]),
        ("(= (f) Empty) (= (f) 1) ! (f) (= (g) Empty) ! (g)", &["[1]", "[]"]),
        ("(= (f) NotReducible) ! (f)", &["[(f)]"]),
        ("(= foo bar) ! foo ! (foo)", &["[foo]", "[(foo)]"]),
        ("! (+ 1 a) ! (+ 1 $x)", &["[(+ 1 a)]", "[(+ 1 $x)]"]),
        ("(= (g $x) (h $x)) ! (g Empty) ! (g (Error a b))", &["[]", "[(Error a b)]"]),
        ("(= (f $x) $y) ! (let $r (f 1) (get-metatype $r))", &["[Variable]"]),
        ("(= (twice $f $x) ($f ($f $x))) (= (inc $x) (+ 1 $x)) ! (twice inc 5)", &["[7]"]),
    ]);
}

#[test]
fn atoms_match_by_equality_and_variables_by_binding() {
    check(&[
        ("! (unify a a yes no) ! (unify a b yes no) ! (unify \"a\" a yes no)", &["[yes]", "[no]", "[no]"]),
        ("! (unify 1 1.0 yes no) ! (unify (q 1) (q 1.0) yes no)", &["[yes]", "[yes]"]),
        ("! (unify (a b) (a b c) yes no) ! (unify () () yes no)", &["[no]", "[yes]"]),
        ("! (unify ($x b) (a $y) ($x $y) no)", &["[(a b)]"]),
        ("! (unify $x $y (same $x $y) no)", &["[(same $x $x)]"]),
        ("! (unify ($x $x) (a b) yes no) ! (unify ($x $x) (a $y) ($x $y) no)", &["[no]", "[(a a)]"]),
        (
            "(p 1) (p 2) ! (unify &self (p $x) (got $x) none) ! (unify &self (q $x) $x none)",
            &["[(got 1), (got 2)]", "[none]"],
        ),
    ]);
}

#[test]
fn two_values_of_a_variable_are_matched_with_each_other() {
    check(&[
        ("! (unify ($x $x $y) ((f $z) (f 1) $z) ($x $y) no)", &["[((f 1) 1)]"]),
        ("! (unify ($x $y $x) ($y 1 $z) ($x $y $z) no)", &["[(1 1 1)]"]),
        ("! (unify ($x $y $x $y) (a b $y $x) yes no)", &["[no]"]),
        (
            "(edge 1 2) (edge 2 3) (edge 3 1) ! (match &self (, (edge $x $y) (edge $y $z)) ($x $y $z))",
            &["[(1 2 3), (2 3 1), (3 1 2)]"],
        ),
    ]);
}

#[test]
fn a_variable_inside_its_own_value_is_no_match() {
    check(&[
        ("! (unify $x (f $x) yes no)", &["[no]"]),
        ("! (unify ($x $x) ((f $y) $y) yes no)", &["[no]"]),
        ("! (unify ($x $y) ((f $y) (g $x)) yes no)", &["[no]"]),
        ("! (let $x (f $x) reached)", &["[]"]),
        ("(= (loop $x (f $x)) yes) ! (loop $a $a)", &["[(loop $a $a)]"]),
        ("(pair $x (f $x)) ! (match &self (pair $a $a) yes)", &["[]"]),
    ]);
}

#[test]
fn errors_count_only_when_nothing_succeeded() {
    check(&[
        ("! (superpose ((/ 1 0) 2 (/ 3 0))) ! reached", &["[2]", "[reached]"]),
        (
            "! (superpose ((/ 1 0) (/ 3 0))) ! reached",
            &["[(Error (/ 1 0) DivisionByZero), (Error (/ 3 0) DivisionByZero)]"],
        ),
        ("! (collapse (superpose (1 (/ 1 0) 2)))", &["[(1 2)]"]),
        ("! (collapse (/ 1 0)) ! reached", &["[((Error (/ 1 0) DivisionByZero))]", "[reached]"]),
        ("(= (f) (/ 1 0)) (= (f) ok) ! (f)", &["[ok]"]),
        ("(= (f) (/ 1 0)) (= (f) Empty) ! (f)", &["[(Error (/ 1 0) DivisionByZero)]"]),
        ("! (case (/ 1 0) (((Error $a $b) caught) ($x other))) ! reached", &["[caught]", "[reached]"]),
    ]);
}

#[test]
fn alternatives_are_taken_depth_first_in_the_order_of_rules() {
    let tree = "(= (t) (u)) (= (t) 3) (= (u) 1) (= (u) 2) ";
    check(&[
        (&format!("{tree} ! (t)"), &["[1, 2, 3]"]),
        (&format!("{tree} ! ((t) (u))"), &["[(1 1), (1 2), (2 1), (2 2), (3 1), (3 2)]"]),
        (&format!("{tree} ! (collapse ((t) x))"), &["[((1 x) (2 x) (3 x))]"]),
        ("(= (f 1) a) (= (f $x) b) (= (f 1) c) ! (f 1)", &["[a, b, c]"]),
        // A copy comes with the first of its kind.
        ("(p 3) (p 1) (p 2) (p 1) ! (match &self (p $x) $x)", &["[3, 1, 1, 2]"]),
        ("(p 1) (q $x) (p 2) ! (match &self ($h $x) $h)", &["[p, q, p]"]),
        ("(= (f) 1) ! (add-atom &self (= (f) 2)) (= (f) 3) ! (f)", &["[()]", "[1, 2, 3]"]),
    ]);
}
