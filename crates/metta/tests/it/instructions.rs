//! The instructions of minimal MeTTa: what each one does, and what it says when its arguments are wrong.
//!
//! Most run under `(pragma! interpreter bare-minimal)`, where nothing but instructions is evaluated.

use crate::harness::{answers, check, check_both};

/// Each program, run as minimal code, gives these answers.
#[track_caller]
fn check_bare(cases: &[(&str, &[&str])]) {
    for (program, expected) in cases {
        let actual = answers(&format!("! (pragma! interpreter bare-minimal) {program}"));
        assert_eq!(actual[0], "[()]");
        assert_eq!(actual[1..], **expected, "{program}");
    }
}

/// Each instruction is malformed: its error says what is expected.
#[track_caller]
fn check_malformed(expected: &str, instructions: &[&str]) {
    for instruction in instructions {
        let error = format!("[(Error {instruction} expected: {expected}, found: {instruction})]");
        check_bare(&[(&format!("! {instruction}"), &[&error])]);
    }
}

#[test]
fn eval_makes_one_step() {
    check_bare(&[
        ("! (eval (+ 1 2)) ! (+ 1 2)", &["[3]", "[(+ 1 2)]"]),
        ("(= (foo) (bar)) (= (bar) 5) ! (eval (foo)) ! (eval (eval (foo)))", &["[(bar)]", "[(bar)]"]),
        ("(= (two) 1) (= (two) 2) ! (eval (two)) ! (eval (superpose (1 2)))", &["[1, 2]", "[1, 2]"]),
        ("! (eval foo) ! (eval (foo 1)) ! (eval ()) ! (eval (+ 1 a))", &["[NotReducible]"; 4]),
        ("! (eval (empty)) ! (eval (superpose ()))", &["[Empty]", "[Empty]"]),
        ("! (eval (/ 1 0))", &["[(Error (/ 1 0) DivisionByZero)]"]),
        ("(= (f) (function (return 7))) ! (eval (f))", &["[7]"]),
    ]);
    check_malformed("(eval <atom>)", &["(eval)", "(eval a b)"]);
}

#[test]
fn evalc_makes_one_step_in_another_space() {
    check_bare(&[("! (evalc (+ 1 2) &self) ! (evalc foo &self)", &["[3]", "[NotReducible]"])]);
    check_malformed("(evalc <atom> <space>)", &["(evalc foo)", "(evalc foo bar)"]);
    check(&[(
        "(= (foo) here) ! (bind! &s (new-space)) ! (add-atom &s (= (foo) there)) ! (add-atom &s (= (bar) (foo)))
         ! (evalc (foo) &s) ! (evalc (bar) &s) ! (metta (bar) %Undefined% &s) ! (foo)",
        &["[()]", "[()]", "[()]", "[there]", "[(foo)]", "[there]", "[here]"],
    )]);
}

#[test]
fn chain_puts_each_result_into_its_template() {
    check_bare(&[
        ("! (chain (eval (+ 1 2)) $x ($x $x))", &["[(3 3)]"]),
        ("! (chain (eval (superpose (1 2))) $x (eval (+ $x 10)))", &["[11, 12]"]),
        ("! (chain a $x (eval (+ 1 2))) ! (chain (foo) $x ($x $y))", &["[3]", "[((foo) $y)]"]),
        ("! (chain (chain a $x ($x)) $y ($y $y))", &["[((a) (a))]"]),
    ]);
    check_malformed(
        "(chain <nested> (: <var> Variable) <templ>)",
        &["(chain a)", "(chain a x $b)", "(chain a $x b c)"],
    );
}

#[test]
fn function_runs_until_it_returns() {
    check_bare(&[
        ("! (function (return 5))", &["[5]"]),
        ("! (function (chain (eval (+ 1 2)) $x (return $x)))", &["[3]"]),
        ("! (function (chain (eval (superpose (1 2))) $x (return ($x))))", &["[(1), (2)]"]),
        ("! (return 5)", &["[(return 5)]"]),
        ("! (function (a b))", &["[(Error (function (a b)) NoReturn)]"]),
        ("(= (f) (function (g))) ! (eval (f))", &["[(Error (f) NoReturn)]"]),
    ]);
    check_malformed("(function (: <body> Expression))", &["(function)", "(function 5)", "(function (return 1) 2)"]);
}

#[test]
fn unify_branches_on_a_match() {
    check_bare(&[
        ("! (unify a a yes no) ! (unify a b yes no)", &["[yes]", "[no]"]),
        ("! (unify (f $x) (f 1) (got $x) no)", &["[(got 1)]"]),
        ("! (unify a a (eval (+ 1 2)) no) ! (unify a b no (eval (+ 1 2)))", &["[(eval (+ 1 2))]", "[(eval (+ 1 2))]"]),
        ("(p 1) (p 2) ! (unify (in &self) (in (p $x)) (got $x) none)", &["[(got 1), (got 2)]"]),
        ("! (unify $x (f $x) yes no)", &["[no]"]),
    ]);
    check_malformed("(unify <atom> <pattern> <then> <else>)", &["(unify a a yes)", "(unify)"]);
}

#[test]
fn cons_atom_and_decons_atom_are_inverse() {
    check_bare(&[
        ("! (cons-atom a (b c)) ! (cons-atom a ()) ! (cons-atom (a) (b))", &["[(a b c)]", "[(a)]", "[((a) b)]"]),
        (
            "! (decons-atom (a b c)) ! (decons-atom (a)) ! (decons-atom ((a b)))",
            &["[(a (b c))]", "[(a ())]", "[((a b) ())]"],
        ),
        ("! (chain (decons-atom (a b c)) $p (unify $p ($h $t) (cons-atom $h $t) no))", &["[(cons-atom a (b c))]"]),
    ]);
    check_malformed(
        "(cons-atom <head> (: <tail> Expression))",
        &["(cons-atom a)", "(cons-atom a b)", "(cons-atom a \"b\")"],
    );
    check_malformed(
        "(decons-atom (: <expr> Expression))",
        &["(decons-atom)", "(decons-atom ())", "(decons-atom a)", "(decons-atom $x)"],
    );
}

#[test]
fn collapse_bind_and_superpose_bind_are_inverse() {
    check_bare(&[
        ("! (collapse-bind (eval (superpose (1 2))))", &["[((1 {  }) (2 {  }))]"]),
        ("! (collapse-bind a) ! (collapse-bind (eval (superpose ())))", &["[((a {  }))]", "[()]"]),
        ("! (chain (collapse-bind (eval (superpose (1 2)))) $r (superpose-bind $r))", &["[1, 2]"]),
        ("! (superpose-bind ())", &["[]"]),
    ]);
    check_malformed("(collapse-bind <atom>)", &["(collapse-bind)"]);
    check_malformed("(superpose-bind (: <collapsed> Expression))", &["(superpose-bind a)", "(superpose-bind (a))"]);
}

#[test]
fn collapse_bind_keeps_what_each_result_binds() {
    check_bare(&[
        ("! (collapse-bind (unify $x a b c))", &["[((b { $x <- a }))]"]),
        ("! (chain (collapse-bind (unify $x a b c)) $r $x)", &["[$x]"]),
        ("! (chain (collapse-bind (unify $x a b c)) $r (chain (superpose-bind $r) $z ($x $z)))", &["[(a b)]"]),
        (
            "(p 1) (p 2) ! (chain (collapse-bind (unify &self (p $x) got none)) $r (chain (superpose-bind $r) $z ($x $z)))",
            &["[(1 got), (2 got)]"],
        ),
    ]);
}

#[test]
fn metta_evaluates_with_types_from_within_minimal_code() {
    check_bare(&[
        ("! (metta (+ 1 (+ 1 1)) %Undefined% &self) ! (metta (+ 1 (+ 1 1)) Atom &self)", &["[3]", "[(+ 1 (+ 1 1))]"]),
        ("! (metta (+ 1 \"a\") %Undefined% &self)", &["[(Error (+ 1 \"a\") (BadArgType 2 Number String))]"]),
    ]);
    check_malformed("(metta <atom> <type> <space>)", &["(metta a b)", "(metta a b c)"]);
}

#[test]
fn context_space_is_the_space_of_the_evaluation() {
    check_bare(&[("! (context-space)", &["[ModuleSpace(GroundingSpace-top)]"])]);
    check_malformed("(context-space)", &["(context-space 1)"]);
}

#[test]
fn call_native_is_not_for_programs() {
    let message = "call-native is reserved for the interpreter; call the function by its name";
    check(&[("! (call-native a b c)", &[&format!("[(Error (call-native a b c) {message})]")])]);
}

#[test]
fn data_is_its_own_result_in_minimal_code() {
    check_bare(&[(
        "(= (foo) 1) ! (foo) ! foo ! $x ! (quote (eval (foo)))",
        &["[(foo)]", "[foo]", "[$x]", "[(quote (eval (foo)))]"],
    )]);
}

#[test]
fn an_ill_typed_call_of_an_instruction_says_so() {
    check(&[
        ("! (unify a a)", &["[(Error (unify a a) IncorrectNumberOfArguments)]"]),
        ("! (eval)", &["[(Error (eval) IncorrectNumberOfArguments)]"]),
        ("! (cons-atom (+ 1 2) (b c))", &["[((+ 1 2) b c)]"]),
        ("! (return (+ 1 2))", &["[(return 3)]"]),
    ]);
}

/// What code returns is of the type of what its variable stands for: a generated program of these took the variable for data of any type.
#[test]
fn a_variable_that_code_has_bound_has_the_type_of_its_value() {
    let program = |bound: &str, formal: &str| {
        format!(
            "(= (f $a) (function (chain (metta (let {bound} Cons) %Undefined% &self) $n (return $e))))\n\
             (: f (-> Number {formal})) (: foo Shape)\n!(f 12)"
        )
    };
    check_both(&[
        (&program("$e 2", "Color"), "[(Error 2 (BadType Color Number))]"),
        (&program("$e 2", "Number"), "[2]"),
        (&program("$e foo", "Color"), "[(Error foo (BadType Color Shape))]"),
        (&program("(quote $e) (quote (+ 1 2))", "Color"), "[(Error (+ 1 2) (BadType Color Number))]"),
        (&program("(quote $e) (quote (+ 1 2))", "Number"), "[3]"),
        (&program("(quote $e) (quote Empty)", "Number"), "[]"),
        (&program("(quote $e) (quote NotReducible)", "Number"), "[(f 12)]"),
    ]);
}
