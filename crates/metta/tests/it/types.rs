//! Types: what is declared, what follows, and the texts of type errors.

use crate::harness::{Program, answers, check, check_both, check_both_after};
use metta::Evaluator;
use metta::types::SUPERTYPE_LEVELS_MAX;

#[test]
fn an_atom_has_its_declared_types_and_their_supertypes() {
    check(&[
        ("(: a A) (: a B) ! (get-type a) ! (get-type undeclared)", &["[A, B]", "[%Undefined%]"]),
        ("(:< Cat Animal) (:< Animal Thing) (: tom Cat) ! (get-type tom)", &["[Cat, Animal, Thing]"]),
        ("(:< A B) (:< B A) (: x A) ! (get-type x)", &["[A, B]"]),
        ("(:< A B) (:< A C) (:< B D) (:< C D) (: x A) ! (get-type x)", &["[A, B, C, D]"]),
        (
            "! (get-type 5) ! (get-type \"s\") ! (get-type True) ! (get-type &self)",
            &["[Number]", "[String]", "[Bool]", "[SpaceType]"],
        ),
        ("! (get-type $x) ! (get-type ())", &["[%Undefined%]", "[%Undefined%]"]),
        ("! (get-type +) ! (get-type if)", &["[(-> Number Number Number)]", "[(-> Bool Atom Atom $t#)]"]),
    ]);
}

#[test]
fn an_expression_has_the_types_of_what_it_may_be() {
    check(&[
        ("! (get-type (+ 1 2)) ! (get-type (+ 1 \"a\"))", &["[Number]", "[]"]),
        ("(: a A) (: b B) ! (get-type (a b)) ! (get-type (a undeclared))", &["[(A B)]", "[%Undefined%]"]),
        ("(: (pair a b) Pair) ! (get-type (pair a b)) ! (get-type (pair a c))", &["[Pair]", "[%Undefined%]"]),
        ("(: f (-> A B)) (: f (-> B A)) (: a A) ! (get-type (f a)) ! (get-type (f a b))", &["[B]", "[]"]),
        ("(: nil (List $t)) (: cons (-> $t (List $t) (List $t))) ! (get-type (cons 1 nil))", &["[(List Number)]"]),
        (
            "(: v (-> $n (Vec $n))) (: z Z) ! (get-type (v z)) ! (get-type-space &self (v z))",
            &["[(Vec Z)]", "[(Vec Z)]"],
        ),
        (
            "! (get-metatype a) ! (get-metatype 5) ! (get-metatype (a)) ! (get-metatype $x)",
            &["[Symbol]", "[Grounded]", "[Expression]", "[Variable]"],
        ),
        ("! (is-function (-> A B)) ! (is-function A)", &["[True]", "[False]"]),
    ]);
}

#[test]
fn a_supertype_is_accepted_where_a_subtype_stands() {
    let animals =
        "(:< Cat Animal) (:< Animal Thing) (: tom Cat) (: rex Dog) (: feed (-> Animal String)) (= (feed $a) \"fed\") ";
    check(&[
        (&format!("{animals} ! (feed tom)"), &["[\"fed\"]"]),
        (&format!("{animals} ! (feed rex)"), &["[(Error (feed rex) (BadArgType 1 Animal Dog))]"]),
        (&format!("{animals} (: weigh (-> Thing Number)) (= (weigh $a) 3) ! (weigh tom)"), &["[3]"]),
        (
            &format!("{animals} (: only (-> Cat Bool)) (: some Animal) ! (only some)"),
            &["[(Error (only some) (BadArgType 1 Cat Animal)), (Error (only some) (BadArgType 1 Cat Thing))]"],
        ),
    ]);
}

#[test]
fn a_supertype_of_every_type_ends_somewhere() {
    let all = answers("(:< $t (List $t)) (: a A) ! (get-type a) ! (foo a)");
    assert!(all[0].starts_with("[A, (List A), (List (List A)), "), "{all:?}");
    assert_eq!(all[0].split(", ").count(), 1 + SUPERTYPE_LEVELS_MAX);
    assert_eq!(all[1], "[(foo a)]");
}

#[test]
fn type_errors_name_the_position_and_both_types() {
    check(&[
        ("! (+ 1 \"a\")", &["[(Error (+ 1 \"a\") (BadArgType 2 Number String))]"]),
        ("! (== 1 \"a\")", &["[(Error (== 1 \"a\") (BadArgType 2 Number String))]"]),
        ("(: a A) ! (and True a)", &["[(Error (and True a) (BadArgType 2 Bool A))]"]),
        ("! (get-atoms 5)", &["[(Error (get-atoms 5) (BadArgType 1 SpaceType Number))]"]),
        ("! (new-space 1)", &["[(Error (new-space 1) IncorrectNumberOfArguments)]"]),
        ("! (metta 5 (List $t) &self)", &["[(Error 5 (BadType (List $t) Number))]"]),
        ("(: Z Nat) (: S (-> Nat Nat)) ! (S S)", &["[(Error (S S) (BadArgType 1 Nat (-> Nat Nat)))]"]),
        ("! (println! \"a\" \"b\")", &["[(Error (println! \"a\" \"b\") IncorrectNumberOfArguments)]"]),
    ]);
}

#[test]
fn what_is_not_known_of_a_type_agrees_with_anything() {
    check(&[
        (
            "! (get-type (new-state (superpose (1 2)))) ! (get-state (new-state (superpose (1 2))))",
            &["[(StateMonad %Undefined%)]", "[1, 2]"],
        ),
        (
            "(: list (-> $t (List $t))) (: first (-> (List $t) $t)) (= (first (list $x)) $x) ! (first (list (superpose (1 2))))",
            &["[1, 2]"],
        ),
        (
            "(: list (-> $t (List $t))) (: f (-> (List Number) Number)) (= (f (list $x)) $x) ! (f (list (superpose (1 2))))",
            &["[1, 2]"],
        ),
        ("(: list (-> $t (List $t))) ! (get-type (list (list (superpose ()))))", &["[(List (List %Undefined%))]"]),
    ]);
}

#[test]
fn type_functions_answer_for_any_atom() {
    check(&[
        ("(: a A) ! (type-cast a A &self) ! (type-cast a Symbol &self)", &["[a]", "[a]"]),
        ("(: a A) ! (type-cast a B &self)", &["[(Error a BadType)]"]),
        (
            "! (match-types A A yes no) ! (match-types A B yes no) ! (match-types %Undefined% B yes no)",
            &["[yes]", "[no]", "[yes]"],
        ),
        ("! (match-types (-> $a B) (-> A $b) ($a $b) no)", &["[(A B)]"]),
        (
            "! (match-type-or False A A) ! (match-type-or True A B) ! (match-type-or False A B)",
            &["[True]", "[True]", "[False]"],
        ),
    ]);
}

#[test]
fn dependent_types_are_computed_from_arguments() {
    check(&[(
        "(: nil (Vec Z)) (: cons (-> $t (Vec $n) (Vec (S $n)))) (: head (-> (Vec (S $n)) Number)) (= (head (cons $x $rest)) $x)
         ! (get-type (cons 1 (cons 2 nil))) ! (head (cons 1 nil)) ! (head nil)",
        &["[(Vec (S (S Z)))]", "[1]", "[(Error (head nil) (BadArgType 1 (Vec (S $n#)) (Vec Z)))]"],
    )]);
}

/// The type of a variable is what one result says, not what the result before it said.
#[test]
fn each_result_of_an_argument_has_a_type_of_its_own() {
    let definitions = "(: red Color) (= ($f Key) $f) (= (first $x $y) $x)";
    let program = |results: &str| format!("{definitions} !(id (first (superpose {results}) part))");
    let (one, other) = (program("(red 2 red)"), program("(2 red)"));
    check_both(&[(&one, "[red, 2, red]"), (&other, "[2, red]")]);
}

#[test]
fn a_fact_whose_relation_is_a_variable_is_a_type_as_well() {
    let fact = "($x (goal $l) (== $l 4))";
    let wrong =
        |call: &str, place: u8, formal: &str| format!("[(Error {call} (BadArgType {place} {formal} (== 0 4)))]");
    let asked = [
        ("!(if (goal 0) yes no)", wrong("(if (goal 0) yes no)", 1, "Bool")),
        ("(= (h $l) (if (goal $l) yes no)) !(h 0)", wrong("(if (goal 0) yes no)", 1, "Bool")),
        ("!(+ 1 (goal 0))", wrong("(+ 1 (goal 0))", 2, "Number")),
        ("(: f (-> Bool Bool)) (= (f $x) (got $x)) (= (h $l) (f (goal $l))) !(h 0)", wrong("(f (goal 0))", 1, "Bool")),
        ("!(goal 0)", "[False]".to_owned()),
        ("!(bag (goal 0))", "[(bag False)]".to_owned()),
        ("($y (other $l) Bool) !(not (other 3))", "[(not Bool)]".to_owned()),
    ];
    let programs: Vec<(String, &String)> =
        asked.iter().map(|(text, expected)| (format!("{fact} {text}"), expected)).collect();
    check_both(&programs.iter().map(|(text, expected)| (text.as_str(), expected.as_str())).collect::<Vec<_>>());
}

#[test]
fn what_the_library_says_of_an_expression_counts_for_a_call_whose_head_is_open() {
    let kinds = |call: &str, place: u8, formal: &str| {
        let error = |kind: &str| format!("(Error {call} (BadArgType {place} {formal} {kind}))");
        format!("[{}, {}]", error("DocKindFunction"), error("DocKindAtom"))
    };
    let asked = [
        ("!(match ($x $y) (1 2) t)", kinds("(match ($x $y) (1 2) t)", 1, "SpaceType")),
        ("!(add-atom ($x $y) b)", kinds("(add-atom ($x $y) b)", 1, "SpaceType")),
        ("!(+ ($x $y) 1)", kinds("(+ ($x $y) 1)", 1, "Number")),
        ("!(< 1 ($x $y))", kinds("(< 1 ($x $y))", 2, "Number")),
        ("!(if ($x $y) 1 2)", kinds("(if ($x $y) 1 2)", 1, "Bool")),
        ("!(== ($x $y) 1)", "[(Error (== ($x $y) 1) (BadArgType 2 DocKindFunction Number)), (Error (== ($x $y) 1) (BadArgType 2 DocKindAtom Number))]".to_owned()),
        ("(= (h $f $y) (+ ($f $y) 1)) !(h $x $y)", kinds("(+ ($x $y) 1)", 1, "Number")),
        ("!(+ (@kind function) 1)", "[(Error (+ (@kind function) 1) (BadArgType 1 Number DocKindFunction))]".to_owned()),
        ("!(+ ($x $y $z) 1)", "[(+ ($x $y $z) 1)]".to_owned()),
    ];
    check_both(&asked.iter().map(|(text, expected)| (*text, expected.as_str())).collect::<Vec<_>>());
}

#[test]
fn the_library_declares_types_for_two_expressions() {
    // The machine knows that it is these: `LIBRARY_WHOLE_TYPES` of `machine/types.rs`.
    let asked = "!(match &self (: ($head $argument) $type) ($head $argument))";
    assert_eq!(answers(asked), ["[(@kind function), (@kind atom)]"]);
    for pattern in ["()", "($head)", "($head $a $b)", "($head $a $b $c)", "($head $a $b $c $d)"] {
        assert_eq!(answers(&format!("!(match &self (: {pattern} $type) $type)")), ["[]"], "{pattern}");
    }
}

#[test]
fn a_type_of_a_whole_expression_counts_whatever_its_head_comes_from() {
    let types = "(: (two things) Pair) (: ($h three things) Trip) (: f (-> Number Number)) (= (f $x) (+ 1 $x))";
    let asked = [
        ("(= (k $a) (f ($a things))) !(k two)", "[(Error (f (two things)) (BadArgType 1 Number Pair))]"),
        ("(= (k $a) (f ($a things))) !(k three)", "[(+ 1 (three things))]"),
        ("(= (k $a $b) (+ 1 ($a $b))) !(k two things)", "[(Error (+ 1 (two things)) (BadArgType 2 Number Pair))]"),
        ("(= (k $a $b) (+ 1 ($a $b))) !(k two other)", "[(+ 1 (two other))]"),
        ("!(f (foo three things))", "[(Error (f (foo three things)) (BadArgType 1 Number Trip))]"),
        ("!(f ((a b) three things))", "[(Error (f ((a b) three things)) (BadArgType 1 Number Trip))]"),
        ("!(not ($x $y $z))", "[(Error (not ($x $y $z)) (BadArgType 1 Bool Trip))]"),
    ];
    check_both_after(types, &asked);
}

/// An argument has several results, and the types of the call do not agree with all of them.
#[test]
fn a_call_with_several_results_goes_on_with_those_that_agree() {
    let types = "(: c (-> Atom Atom)) (: Pair (-> $t $t P)) (= (two) c) (= (two) d) (= (owt) d) (= (owt) c) (= (one) 1) \
                 (= (part $x) $x) (: typed (-> Number Rows)) (: Row (-> $t () Rows)) (= (row $x) (Row part (one)))";
    let error = "(Error 1 (BadType () Number))";
    let both_errors = format!("[{error}, {error}]");
    let asked = [
        ("!(Pair (two) (one))", "[(Pair d 1)]"),
        ("!(Pair (owt) (one))", "[(Pair d 1)]"),
        ("!(Pair (superpose (d c)) (one))", "[(Pair d 1), (Pair c 1)]"),
        ("!(Pair (let $x (two) $x) (one))", "[(Pair c 1), (Pair d 1)]"),
        ("!(let $x (Pair (owt) (superpose (1 c))) (if True $x no))", "[(Pair d 1), (Pair d c), (Pair c c)]"),
        // An error about a type that was only taken for said, beside a result.
        ("!(Pair (part (typed a)) (part (superpose (typed a))))", "[(Pair (typed a) typed), (Pair (typed a) a)]"),
        // What has alternatives of its own makes the call last.
        ("!(row (owt))", &both_errors),
    ];
    check_both_after(types, &asked);
    for evaluator in [Evaluator::Interpreter, Evaluator::Machine] {
        let text = format!("{types} !(let $x (Pair (owt) (superpose (1 c))) (println! $x))");
        let ran = Program::new(text).with_evaluator(evaluator).run();
        assert_eq!(ran.lines, ["(Pair d 1)", "(Pair d c)", "(Pair c c)", "[(), (), ()]"], "{evaluator:?}");
    }
}

#[test]
fn a_call_whose_arguments_are_of_other_types_has_its_effects_once() {
    let types = "(= (part $x) $x) (: Row (-> $t $t Rows)) (: List (-> $t ($t) Rows)) (: both (-> $t $t Number)) (: made (-> Number Rows)) \
                 (: (two things) Pair) (n (two things))";
    let asked = [
        ("!(Row (part (and a $y)) (part (match &self (n $y) $y)))", "[(Row (and a (two things)) (two things))]"),
        ("!(List (part Error) (part \"s\"))", "[(Error \"s\" (BadType ((-> Atom Atom ErrorType)) String))]"),
        ("!(both (part (made 1)) (part \"s\"))", "[(both (made 1) \"s\")]"),
        ("!(both (== 1 2) (part (+ a 1)))", "[(both False (+ a 1))]"),
        ("(= (go) (both 1 (part (and a b)))) !(go)", "[(both 1 (and a b))]"),
        ("!(both (part 1) (part \"s\"))", "[(Error \"s\" (BadType Number String))]"),
    ];
    check_both_after(types, &asked);
    for evaluator in [Evaluator::Interpreter, Evaluator::Machine] {
        let text = format!("{types} !(Row (part (println! a)) (part \"s\"))");
        let ran = Program::new(text).with_evaluator(evaluator).run();
        assert_eq!(ran.lines, ["a", "[(Row () \"s\")]"], "{evaluator:?}");
    }
}

/// What the results of `map-atom` are put into is one expression: a call, if the type of the first is that of a function.
#[test]
fn results_of_a_loop_whose_first_is_a_function_by_its_type_are_its_call() {
    let types = "(: (whole $a) (-> Number Number)) (: arrow ->) (: (nullary $a) (-> Atom)) (= (nullary $a) +)
         (= (with $b) (map-atom (1 2 3) $x (whole $x $b))) (: (other $a) Number)
         (= (map $list) (map-atom $list $x (whole $x)))";
    check_both_after(
        types,
        &[
            (
                "!(map-atom (1 2 3) $x (whole $x))",
                "[(Error ((whole 1) (whole 2) (whole 3)) IncorrectNumberOfArguments)]",
            ),
            (
                "!(map-atom (1 2 3) $x (arrow $x))",
                "[(Error ((arrow 1) (arrow 2) (arrow 3)) IncorrectNumberOfArguments)]",
            ),
            ("!(map-atom (1) $x (nullary $x))", "[(Error + (BadType (-> Atom) (-> Number Number Number)))]"),
            ("!(map (1 2 3))", "[(Error ((whole 1) (whole 2) (whole 3)) IncorrectNumberOfArguments)]"),
            ("!(with 1)", "[((whole 1 1) (whole 2 1) (whole 3 1))]"),
            ("!(map-atom (1 2 3) $x (other $x))", "[((other 1) (other 2) (other 3))]"),
        ],
    );
}

#[test]
fn an_argument_is_evaluated_to_its_type_by_a_function_that_gives_it_back() {
    let types = "(: kind Kind) (= (kind $a) \"s\") (: (whole $a) Number) (= (whole $a) \"s\") (= (free $a) \"s\")
         (= (kind-of $a) (id (kind $a))) (= (whole-of $a) (id (whole $a))) (= (free-of $a) (id (free $a)))";
    check_both_after(
        types,
        &[
            ("!(id (kind 1))", "[(Error \"s\" (BadType (Kind Number) String))]"),
            ("!(kind-of 1)", "[(Error \"s\" (BadType (Kind Number) String))]"),
            ("!(id (whole 1))", "[(Error \"s\" (BadType Number String))]"),
            ("!(whole-of 1)", "[(Error \"s\" (BadType Number String))]"),
            ("!(free-of 1)", "[\"s\"]"),
        ],
    );
}
