//! `pragma!`: what programs set for themselves.

use crate::harness::{Program, check, run};

#[test]
fn bare_minimal_evaluates_instructions_only_until_it_is_unset() {
    check(&[(
        "(= (f) 1) ! (f) ! (pragma! interpreter bare-minimal) ! (f) ! (eval (f)) ! (eval (pragma! interpreter metta)) ! (f)",
        &["[1]", "[()]", "[(f)]", "[1]", "[()]", "[1]"],
    )]);
}

#[test]
fn type_check_auto_checks_what_is_added_and_evaluated() {
    let typed = "! (pragma! type-check auto) (: a A) (: f (-> A B)) ";
    check(&[
        (
            &format!("{typed} (f a) ! (f a) (f 5) ! (match &self (f $x) $x)"),
            &["[()]", "[(f a)]", "[(Error (f 5) (BadArgType 1 A Number))]"],
        ),
        (&format!("{typed} ! (f 5)"), &["[()]", "[(Error (f 5) (BadArgType 1 A Number))]"]),
        (&format!("{typed} (undeclared 5) ! (match &self (undeclared $x) $x)"), &["[()]", "[5]"]),
        ("! (pragma! type-check auto) ! (+ 1 \"a\")", &["[()]", "[(Error (+ 1 \"a\") (BadArgType 2 Number String))]"]),
        ("(: a A) (: f (-> A B)) (f 5) ! (match &self (f $x) $x)", &["[5]"]),
    ]);
}

#[test]
fn a_depth_set_by_the_program_is_an_error_it_can_handle() {
    let deep = "(= (inf $x) (+ 1 (inf $x))) ";
    check(&[
        (
            &format!("! (pragma! max-stack-depth 50) {deep} ! (inf 1)"),
            &["[()]", "[(Error (+ 1 (inf 1)) StackOverflow)]"],
        ),
        (
            &format!("! (pragma! max-stack-depth 50) {deep} ! (superpose (1 (inf 1)))"),
            &["[()]", "[1, (Error (+ 1 (inf 1)) StackOverflow)]"],
        ),
        (
            &format!("! (pragma! max-stack-depth 50) {deep} ! (case (inf 1) (((Error $call $why) $why))) ! reached"),
            &["[()]", "[StackOverflow]", "[reached]"],
        ),
        (
            &format!(
                "! (pragma! max-stack-depth 20) {deep} (= (count $n) (if (== $n 0) done (count (- $n 1)))) ! (count 100)"
            ),
            &["[()]", "[done]"],
        ),
        (
            "! (pragma! max-stack-depth 50) ! (pragma! max-stack-depth 0) (= (f $n) (if (== $n 0) 0 (+ 1 (f (- $n 1))))) ! (f 200)",
            &["[()]", "[()]", "[200]"],
        ),
    ]);
}

#[test]
fn a_depth_is_an_unsigned_number() {
    check(&[
        ("! (pragma! max-stack-depth -1)", &["[(Error (pragma! max-stack-depth -1) UnsignedIntegerIsExpected)]"]),
        ("! (pragma! max-stack-depth foo)", &["[(Error (pragma! max-stack-depth foo) UnsignedIntegerIsExpected)]"]),
        ("! (pragma! foo)", &["[(Error (pragma! foo) pragma! expects key and value as arguments)]"]),
        ("! (pragma! 5 6)", &["[(Error (pragma! 5 6) pragma! expects symbol atom as a key)]"]),
    ]);
}

#[test]
fn a_setting_that_means_nothing_is_remarked_on() {
    let ran = run("! (pragma! typecheck auto)");
    assert_eq!(ran.answers, ["[()]"]);
    assert_eq!(ran.traced, ["warning: pragma! typecheck has no effect; did you mean `type-check`?"]);
    let ran = run("! (pragma! max-stack-dept 10)");
    assert_eq!(ran.traced, ["warning: pragma! max-stack-dept has no effect; did you mean `max-stack-depth`?"]);
}

#[test]
fn settings_hold_in_imported_files_too() {
    let program = Program::new("! (pragma! type-check auto) ! (import! &self m)");
    let ran = program.with_file("m.metta", "(: f (-> A B)) (f 5)").run();
    assert!(ran.answers[1].contains("(Error (f 5) (BadArgType 1 A Number))"), "{:?}", ran.answers);
}
