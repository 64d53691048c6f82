//! Spaces and states: what programs put into them and find again.

use crate::harness::{check, check_both_after, run};
use metta::{MemoryWorld, Session};

#[test]
fn a_space_is_a_multiset() {
    check(&[
        (
            "(e a b) (e a b) ! (match &self (e a $x) $x) ! (remove-atom &self (e a b)) ! (match &self (e a $x) $x)",
            &["[b, b]", "[()]", "[b]"],
        ),
        ("! (remove-atom &self nothing) ! (get-atoms &self)", &["[()]", "[]"]),
        ("(r $x $y) ! (remove-atom &self (r $a $b)) ! (get-atoms &self)", &["[()]", "[]"]),
    ]);
}

#[test]
fn atoms_are_added_raw_or_evaluated() {
    check(&[
        (
            "! (bind! &s (new-space)) ! (add-atom &s (+ 1 2)) ! (add-reduct &s (+ 1 2)) ! (add-atoms &s (a (+ 1 1)))
             ! (add-reducts &s (b (+ 1 1))) ! (get-atoms &s)",
            &["[()]", "[()]", "[()]", "[()]", "[()]", "[(+ 1 2), 3, a, (+ 1 1), b, 2]"],
        ),
        ("! (add-atom &self (= (f) 1)) ! (f) ! (remove-atom &self (= (f) 1)) ! (f)", &["[()]", "[1]", "[()]", "[(f)]"]),
        ("! (let $s (new-space) (let $_ (add-atom $s x) (collapse (get-atoms $s))))", &["[(x)]"]),
    ]);
}

#[test]
fn match_binds_and_fills_its_template() {
    let facts = "(p 1) (p 2) (q 2) (q 3) (r $x $x) ";
    check(&[
        (
            &format!("{facts} ! (match &self (p $x) (+ $x 1)) ! (match &self (p $x) (quote (+ $x 1)))"),
            &["[2, 3]", "[(quote (+ 1 1)), (quote (+ 2 1))]"],
        ),
        (
            &format!("{facts} ! (match &self (, (p $x) (q $x)) $x) ! (match &self (, (p $x) (q $y)) ($x $y))"),
            &["[2]", "[(1 2), (1 3), (2 2), (2 3)]"],
        ),
        (&format!("{facts} ! (match &self (,) once) ! (match &self (p 5) yes)"), &["[once]", "[]"]),
        (&format!("{facts} ! (match &self ($h 2) $h)"), &["[p, q]"]),
        (&format!("{facts} ! (match &self (r a $y) $y) ! (match &self (r a b) no)"), &["[a]", "[]"]),
        (&format!("{facts} ! (match &self (p 1.0) yes)"), &["[yes]"]),
        ("! (match foo $x $x)", &["[(Error (match foo $x $x) match expects a space as the first argument)]"]),
    ]);
}

#[test]
fn a_change_is_seen_by_what_comes_after_it() {
    check(&[
        ("! (match &self (p $x) $x) (p 1) ! (match &self (p $x) $x)", &["[]", "[1]"]),
        ("(p 1) ! (let $_ (add-atom &self (p 2)) (match &self (p $x) $x))", &["[1, 2]"]),
        // What a match found stays found, whatever its template does.
        (
            "(p 1) (p 2) ! (match &self (p $x) (add-atom &self (p (s $x)))) ! (match &self (p $x) $x)",
            &["[(), ()]", "[1, 2, (s 1), (s 2)]"],
        ),
        (
            "(p 1) (p 2) ! (match &self (p $x) (remove-atom &self (p 2))) ! (match &self (p $x) $x)",
            &["[(), ()]", "[1]"],
        ),
    ]);
}

#[test]
fn a_state_is_one_cell_however_it_is_reached() {
    check(&[
        (
            "! (bind! &st (new-state 5)) (holds &st) ! (get-state &st) ! (change-state! &st 6) ! (get-state &st)
             ! (match &self (holds $s) (get-state $s)) ! (match &self (holds $s) (change-state! $s 7)) ! &st",
            &["[()]", "[5]", "[(State 6)]", "[6]", "[6]", "[(State 7)]", "[(State 7)]"],
        ),
        ("! (new-state (+ 1 2)) ! (get-state (new-state (superpose (1 2))))", &["[(State 3)]", "[1, 2]"]),
        ("! (== (new-state 1) (new-state 1)) ! (== (new-state 1) (new-state 2))", &["[True]", "[False]"]),
        ("! (get-metatype (new-state 1))", &["[Expression]"]),
    ]);
}

#[test]
fn the_type_of_a_state_is_fixed_when_it_is_made() {
    check(&[
        ("! (bind! &st (new-state 5)) ! (get-type &st)", &["[()]", "[(StateMonad Number)]"]),
        (
            "! (bind! &st (new-state 5)) ! (change-state! &st \"s\")",
            &["[()]", "[(Error (change-state! (State 5) \"s\") (BadArgType 2 Number String))]"],
        ),
        (
            "(: x X) ! (get-type (new-state x)) ! (get-state (change-state! (new-state x) undeclared))",
            &["[(StateMonad X)]", "[undeclared]"],
        ),
        ("! (get-state foo)", &["[(Error (get-state foo) get-state expects single state atom as an argument)]"]),
    ]);
}

#[test]
fn states_and_spaces_that_hold_each_other_do_no_harm() {
    let ran = run("! (bind! &st (new-state ())) ! (change-state! &st (in (in &st))) ! (get-state &st) ! (== &st &st)
         ! (bind! &s (new-space)) ! (add-atom &s (me &s)) ! (collapse (match &s (me $x) $x)) ! (get-atoms &s)");
    assert_eq!(
        ran.answers[1..4],
        ["[(State (in (in (State ...))))]", "[(in (in (State (in (in (State ...))))))]", "[True]"]
    );
    assert_eq!(ran.answers.len(), 8, "{:?}", ran.answers);
}

#[test]
fn effects_of_a_failed_alternative_stay() {
    check(&[
        (
            "! (superpose ((add-atom &self (p 1)) (let $_ (add-atom &self (p 2)) (empty)))) ! (match &self (p $x) $x)",
            &["[()]", "[1, 2]"],
        ),
        (
            "! (bind! &n (new-state 0)) ! (let $_ (change-state! &n 1) (/ 1 0))",
            &["[()]", "[(Error (/ 1 0) DivisionByZero)]"],
        ),
    ]);
}

/// A space inside data that met a pattern once ended the process.
#[test]
fn a_pattern_that_meets_a_space_inside_data_is_a_query_of_it() {
    let space = "! (bind! &s (new-space)) ! (add-atom &s (f 1)) ! (add-atom &s (f 2))";
    let check_with = |program: &str, answers: &[&str]| {
        let ran = run(&format!("{space} {program}"));
        assert_eq!(ran.answers[3..], *answers, "{program}");
    };
    check_with("! (let (p (f $x)) (p &s) (found $x))", &["[(found 1), (found 2)]"]);
    check_with("! (case (p &s) (((q $x) no) ((p (f $x)) (found $x))))", &["[(found 1), (found 2)]"]);
    check_with("! (case (p &s) (((p (g $x)) (found $x)) ($y other)))", &["[other]"]);
    // What another branch says is evaluated.
    check_with("(= (g $x) one) ! (case (p &s) (((p none) no) (($y $x) (g $x))))", &["[one]"]);
    check_with("(= (g $x) two) (= (g (f $x)) (found $x)) ! (g &s)", &["[two, (found 1), (found 2)]"]);
}

/// The left sides of rules are asked for in it, so it calls what it holds.
#[test]
fn a_space_as_a_head_calls_what_it_holds() {
    let text = "! (bind! &s (new-space)) ! (add-atom &s foo) (= (asked) &s) (= (foo) bar) (= (foo $x) (bar $x)) \
                (= (asking) ((asked))) (= (applied $x) ((asked) $x))";
    let asked =
        [("!(asking)", "[bar]"), ("!((asked))", "[bar]"), ("!(&s 4)", "[(bar 4)]"), ("!(applied 3)", "[(bar 3)]")];
    check_both_after(text, &asked);
}

/// Each changes alone from then on; what the one imports is not in the other.
#[test]
fn a_fork_and_its_origin_change_alone() {
    let facts = "! (bind! &s (new-space)) ! (add-atoms &s (a a (p $x) (= (f) 1))) ! (bind! &k (fork-space &s)) ";
    let all = ["[()]"; 3];
    let after = |program: &str, answers: &[&str]| {
        check(&[(&format!("{facts}{program}"), &[&all, answers].concat())]);
    };
    after("! (add-atom &k b) ! (get-atoms &s)", &["[()]", "[a, a, (p $x#), (= (f) 1)]"]);
    after("! (add-atom &s b) ! (get-atoms &k)", &["[()]", "[a, a, (p $x#), (= (f) 1)]"]);
    after(
        "! (remove-atom &k a) ! (get-atoms &s) ! (get-atoms &k)",
        &["[()]", "[a, a, (p $x#), (= (f) 1)]", "[a, (p $x#), (= (f) 1)]"],
    );
    after("! (remove-atom &s (p $y)) ! (match &k (p 5) yes) ! (match &s (p 5) yes)", &["[()]", "[yes]", "[]"]);
    after("! (add-atom &k (= (f) 2)) ! (evalc (f) &s) ! (evalc (f) &k)", &["[()]", "[1]", "[1, 2]"]);
    after("! (match (fork-space &self) (= (if True $a $b) $c) $c)", &["[]"]);
}

#[test]
fn spaces_are_made_of_spaces_only() {
    for name in ["union-spaces", "intersect-spaces", "subtract-spaces", "restrict-space"] {
        for arguments in ["&self foo", "foo &self", "foo bar"] {
            let shown = arguments.replace("&self", "ModuleSpace(GroundingSpace-top)");
            let error = format!("[(Error ({name} {shown}) {name} expects two spaces as its arguments)]");
            check(&[(&format!("! ({name} {arguments})"), &[&error])]);
        }
    }
    check(&[
        ("! (fork-space foo)", &["[(Error (fork-space foo) fork-space expects a space as its argument)]"]),
        (
            "! (match-prefix foo (a))",
            &[
                "[(Error (match-prefix foo (a)) match-prefix expects a space as the first argument and a tuple as the second)]",
            ],
        ),
    ]);
}

/// A pattern that meets a space asks it, and so do the patterns by which rules and types are looked up.
#[test]
fn a_rule_or_a_type_for_a_space_is_one_for_whatever_is_in_it_now() {
    let space = "! (bind! &kb (new-space)) ! (add-atom &kb (way a b)) (= (call $x) (way $x b)) (= (named $x) (f $x))
         (: takes (-> Number Number)) (= (takes $x) (taken $x)) (= (taking $x) (takes (way $x b)))
         (= (applied $x) ((way $x b) 1 2))";
    let of_type = "[(Error (takes (way a b)) (BadArgType 1 Number String))]";
    check_both_after(
        space,
        &[
            ("(: &kb String) ! (taking a)", of_type),
            ("(: &kb String) ! (taking c)", "[(taken (way c b))]"),
            ("(: &kb String) ! (taking c) ! (remove-atom &kb (way a b)) ! (taking a)", "[(taken (way a b))]"),
            (
                "(: &kb String) ! (taking c) ! (add-atom &kb (way c b)) ! (taking c)",
                "[(Error (takes (way c b)) (BadArgType 1 Number String))]",
            ),
            ("(: &kb String) ! (remove-atom &self (: &kb String)) ! (taking a)", "[(taken (way a b))]"),
            ("(: &kb (-> Number)) ! (applied a)", "[(Error ((way a b) 1 2) IncorrectNumberOfArguments)]"),
            ("(: &kb (-> Number)) ! (applied c)", "[((way c b) 1 2)]"),
            (
                "(= (late $x) (let () (add-atom &kb (way $x b)) (applied $x))) (: &kb (-> Number)) ! (late c)",
                "[(Error ((way c b) 1 2) IncorrectNumberOfArguments)]",
            ),
            ("(way c b) (: &self String) ! (taking c)", "[(Error (takes (way c b)) (BadArgType 1 Number String))]"),
            ("(= &kb found) ! (call a)", "[found]"),
            ("(= &kb found) ! (call c) ! (add-atom &kb (way c b)) ! (call c)", "[found]"),
            ("(= (&kb $x) (found $x)) ! (named 1) ! (add-atom &kb f) ! (named 1)", "[(found 1)]"),
            (
                "(= (named-too $x) (let () (add-atom &kb f) (f $x))) (= (&kb $x) (found $x)) ! (named-too 1)",
                "[(found 1)]",
            ),
            ("! (add-atom &self &kb) ! (named 1) ! (add-atom &kb (= (f 1) one)) ! (named 1)", "[one]"),
            (
                "! (bind! &in (new-space)) ! (add-atom &kb &in) (= &kb found) ! (named 1) ! (add-atom &in (f 1)) ! (named 1)",
                "[found]",
            ),
        ],
    );
}

/// A fork shares what its origin holds, however much that is.
#[test]
fn a_fork_of_a_large_space_allocates_what_one_of_a_small_space_does() {
    let forked = |facts: usize| {
        let mut session = Session::new(Box::new(MemoryWorld::default()));
        let text: String = (0..facts).map(|fact| format!("(edge {fact} a)\n")).collect();
        session.run(&text, &mut |_, _| Ok(()));
        let fork = || drop(session.run("! (let $s (fork-space &self) done)", &mut |_, _| Ok(())));
        allocation_counter::measure(fork)
    };
    let (small, large) = (forked(1_000), forked(100_000));
    assert!(large.count_total <= small.count_total + 16, "{small:?}, then {large:?}");
    assert!(large.bytes_total <= small.bytes_total + 4096, "{small:?}, then {large:?}");
}
