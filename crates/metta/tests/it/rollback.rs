//! Transactions, where the corpus cannot look: what was undone does not come back through what came out.

use crate::harness::{Program, check};

/// A form of a module's source once closed the transaction that imported it, and undid the module while it was read.
#[test]
fn a_form_of_an_imported_module_leaves_the_transaction_open() {
    let program = "! (transaction (let () (import! &self m) (let $x (f) (Error $x no))))";
    let ran = Program::new(program).with_file("m.metta", "! (+ 1 2) (= (f) 5)").run();
    assert_eq!(ran.answers, ["[(Error 5 no)]"]);
}

/// The results of a transaction were once evaluated a second time, after it had ended.
#[test]
fn results_are_not_evaluated_again() {
    check(&[
        ("! (transaction (noeval (+ 1 2)))", &["[(+ 1 2)]"]),
        (
            "! (transaction (noeval (add-atom &self (a)))) ! (match &self (a) b)",
            &["[(add-atom ModuleSpace(GroundingSpace-top) (a))]", "[]"],
        ),
    ]);
}

/// What was made and undone is only a name afterwards: its number is that of the next one made.
#[test]
fn what_was_undone_is_a_name() {
    check(&[
        (
            "! (case (transaction (let $s (new-state 1) (Error $s no))) (((Error $s $why) (get-metatype $s))))",
            &["[Symbol]"],
        ),
        (
            "! (case (transaction (let $s (new-space) (Error $s no))) (((Error $s $why) (get-metatype $s))))",
            &["[Symbol]"],
        ),
        (
            "! (case (transaction (let $k (new-space) (Error (in (a $k) tuple) no))) (((Error $s $why) (is $s))))",
            &["[(is (in (a GroundingSpace-2) tuple))]"],
        ),
        (
            "! (let* (($e (collapse (transaction (let $s (new-state 1) (Error x no))))) ($t (new-state 2))) ($s $t))",
            &["[($s (State 2))]"],
        ),
        (
            "! (import! &self random) ! (case (transaction (let $g (new-random-generator 1) (Error $g no))) (((Error $g $why) (get-metatype $g))))",
            &["[()]", "[Symbol]"],
        ),
        // What was there before is what it was.
        (
            "! (bind! &s (new-state 1)) ! (case (transaction (let $s (change-state! &s 2) (Error $s no))) (((Error $s $why) (get-state $s))))",
            &["[()]", "[1]"],
        ),
    ]);
}

/// Calling what belonged to a module that was undone once ended the process.
#[test]
fn an_operation_of_a_module_that_was_undone_is_a_name() {
    let program =
        "! (case (transaction (let () (import! &self m) (let $op (op) (Error $op no)))) (((Error $op $why) ($op 5))))";
    let ran = Program::new(program).with_file("m.metta", "(= (op) get-type)").run();
    assert_eq!(ran.answers, ["[(get-type 5)]"]);
}

/// A fork or a union that a transaction made is gone with it, and so is what was done to it; its number is given again.
#[test]
fn a_space_made_of_spaces_is_undone() {
    let facts = "! (bind! &s (new-space)) ! (add-atoms &s (a a b)) ";
    let made = [
        "(fork-space &s)",
        "(union-spaces &s &self)",
        "(intersect-spaces &s &s)",
        "(subtract-spaces &s &self)",
        "(restrict-space &s &s)",
    ];
    for made in made {
        let undone = format!(
            "! (case (transaction (let $k {made} (let () (add-atom $k c) (let () (remove-atom $k a) (Error (in $k) no)))))
                 (((Error $s $why) (is $s))))"
        );
        let after = "! (get-atoms &s) ! (let $k (new-space) ($k (collapse (get-atoms $k))))";
        check(&[(
            &format!("{facts}{undone}{after}"),
            &["[()]", "[()]", "[(is (in GroundingSpace-3))]", "[a, a, b]", "[(GroundingSpace-3 ())]"],
        )]);
    }
}

/// What is done to a fork inside another transaction is undone alone.
#[test]
fn a_fork_that_is_kept_is_what_it_was_before_what_was_undone() {
    check(&[(
        "! (bind! &s (new-space)) ! (add-atoms &s (a b))
         ! (transaction (let $k (fork-space &s) (let () (add-atom $k c)
             (let $ignored (collapse (transaction (let () (remove-atom $k a) (let () (add-atom &s d) (Error x no)))))
                 (add-atom &self (kept $k))))))
         ! (match &self (kept $k) (get-atoms $k)) ! (get-atoms &s)",
        &["[()]", "[()]", "[()]", "[a, b, c]", "[a, b]"],
    )]);
}
