//! Data stays evaluated: what was stored, matched out of a space, bound, held in a state or passed through a function is not
//! evaluated again at every look. The same answers in both evaluators, and work that grows as what is done.

use crate::harness::{check_both, run};
use metta::Statistics;

/// A rule is added after data was matched out and evaluated: what was evaluated before is not looked at again, what is matched
/// afterwards is.
#[test]
fn what_came_to_itself_stays_that_when_a_rule_is_added() {
    check_both(&[
        (
            "(fact (S (S Z))) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (= (S $n) gone)) $x))",
            "[(S (S Z))]",
        ),
        (
            "(fact (S (S Z))) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (= (S $n) gone)) (let (S $y) $x $y)))",
            "[(S Z)]",
        ),
        (
            "(fact (S (S Z))) (= (inner (S $y)) $y) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (= (S $n) gone)) (inner $x)))",
            "[(S Z)]",
        ),
        (
            "(fact (S (S Z))) (= (later $a) (let $_ (add-atom &self (= (S $n) gone)) (match &self (fact $f) $f))) !(later 1)",
            "[gone]",
        ),
        (
            "(fact (S (S Z))) (= (later $x) (let $_ (add-atom &self (= (S $n) gone)) (pair $x (match &self (fact $f) $f)))) !(match &self (fact $g) (later $g))",
            "[(pair (S (S Z)) gone)]",
        ),
        (
            "(fact (S (S Z))) (= (k) (let* (($x (match &self (fact $f) $f)) ($_ (add-atom &self (= (S Z) one)))) (pair $x (match &self (fact $f) $f)))) !(k)",
            "[(pair (S (S Z)) (S one))]",
        ),
        (
            "(= (S Z) one) (fact (S (S Z))) !(let $x (match &self (fact $f) $f) (let $_ (remove-atom &self (= (S Z) one)) (pair $x (match &self (fact $f) $f))))",
            "[(pair (S one) (S (S Z)))]",
        ),
        (
            "(fact ((a 1) 2)) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (= ((a $p) $q) (found $p $q))) (pair $x (match &self (fact $f) $f))))",
            "[(pair ((a 1) 2) (found 1 2))]",
        ),
    ]);
}

/// When a type or a rule is added, data of typed functions, calls that no rule reduces, lists and patterns stay evaluated.
#[test]
fn typed_data_and_calls_that_came_to_themselves_stay_that() {
    check_both(&[
        (
            "(: Z Nat) (: S (-> Nat Nat)) (fact (S (S Z))) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (: Z Other)) (pair $x (match &self (fact $f) $f))))",
            "[(pair (S (S Z)) (S (S Z)))]",
        ),
        (
            "(: Z Nat) (: S (-> Nat Nat)) (fact (S (S y))) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (: y Other)) (pair $x (match &self (fact $f) $f))))",
            "[(Error (S y) (BadArgType 1 Nat Other))]",
        ),
        (
            "(fact (f 2)) (= (f 1) one) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (= (f 2) two)) (pair $x (match &self (fact $f) $f))))",
            "[(pair (f 2) two)]",
        ),
        (
            "(fact (f (f 2))) (= (f 1) one) (= (second (f $x)) $x) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (= (f 2) two)) (second $x)))",
            "[(f 2)]",
        ),
        (
            "(fact (a (b c))) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (= (b c) gone)) (cons-atom (b c) $x)))",
            "[((b c) a (b c))]",
        ),
        (
            "(fact (a (b c))) !(let $x (match &self (fact $f) $f) (let* (($r (cdr-atom $x)) ($y (car-atom $r))) (let $_ (add-atom &self (= (b c) gone)) (pair $y (b c)))))",
            "[(pair (b c) gone)]",
        ),
        (
            "(fact (S (S Z))) !(collapse (match &self (fact $f) $f)) !(let $l (collapse (match &self (fact $f) $f)) (let $_ (add-atom &self (= (S Z) gone)) (let ($h) $l $h)))",
            "[(S (S Z))]",
        ),
        (
            "(fact (S (S Z))) !(let $l (collapse (match &self (fact $f) (quote $f))) (let $_ (add-atom &self (= (S Z) gone)) (let ((quote $h)) $l (got $h))))",
            "[(got (S gone))]",
        ),
        (
            "(fact (S (S Z))) !(let (S $x) (match &self (fact $f) $f) (let $_ (add-atom &self (= (S Z) gone)) (got $x)))",
            "[(got (S Z))]",
        ),
        (
            "(fact (S (S Z))) !(case (match &self (fact $f) $f) (((S $x) (let $_ (add-atom &self (= (S Z) gone)) (got $x (S Z))))))",
            "[(got (S Z) gone)]",
        ),
        (
            "(= (store $t $n) (if (== $n 0) done (let $_ (add-atom &self (num $t)) (store (S $t) (- $n 1))))) !(let $d (store Z 3) (let $l (collapse (match &self (num $t) $t)) (let $_ (add-atom &self (= (S $x) (T $x))) (pair $l (collapse (match &self (num $t) $t))))))",
            "[(pair (Z (S Z) (S (S Z))) (Z (T Z) (T (T Z))))]",
        ),
    ]);
}

/// A rule is added after data was matched out: it goes through functions, states, lists and spaces.
#[test]
fn marked_data_stays_marked_whatever_is_done_with_it() {
    check_both(&[
        (
            "(fact (S (S Z))) !(bind! &st (new-state a)) !(let $x (match &self (fact $f) $f) (change-state! &st $x)) !(let $y (get-state &st) (let $_ (add-atom &self (= (S Z) gone)) (pair $y (get-state &st))))",
            "[(pair (S (S Z)) (S (S Z)))]",
        ),
        (
            "(fact (A (B C))) (= (unwrap (A $x)) $x) !(let $x (unwrap (match &self (fact $f) $f)) (let $_ (add-atom &self (= (B $y) gone)) (pair $x $x)))",
            "[(pair (B C) (B C))]",
        ),
        (
            "(fact (A (B C))) (= (unwrap (A $x)) $x) (= (go) (let $x (match &self (fact $f) (unwrap $f)) (let $_ (add-atom &self (= (B $y) gone)) (list $x)))) !(go)",
            "[(list (B C))]",
        ),
        (
            "(fact (A (B C))) (= (id2 $x) $x) !(let $x (match &self (fact $f) (id2 (id2 $f))) (let $_ (add-atom &self (= (B C) gone)) (list $x)))",
            "[(list (A (B C)))]",
        ),
        (
            "(fact (A (B C))) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (= (B C) gone)) (add-atom &self (copy $x)))) !(match &self (copy $x) $x)",
            "[(A gone)]",
        ),
        (
            "(fact (A (B C))) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (= (B C) gone)) (unify $x (A $y) (list $y) no)))",
            "[(list (B C))]",
        ),
        (
            "(fact (A (B C))) !(chain (match &self (fact $f) $f) $x (let $_ (add-atom &self (= (B C) gone)) (list $x)))",
            "[(list (A gone))]",
        ),
        (
            "(fact (A (B C))) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (= (B C) gone)) (let $l (map-atom ($x $x) $v (w $v)) $l)))",
            "[((w (A (B C))) (w (A (B C))))]",
        ),
        (
            "(fact (A (B C))) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (= (B C) gone)) (superpose ($x (B C)))))",
            "[(A (B C)), gone]",
        ),
        (
            "(fact (A (B C))) (= (t $x) (== $x (A (B C)))) !(match &self (fact $f) (t $f)) !(let $x (match &self (fact $f) $f) (== $x (A (B C)))) !(let $x (match &self (fact $f) $f) (if-equal $x (A (B C)) same other))",
            "[same]",
        ),
    ]);
}

#[test]
fn stored_data_is_evaluated_as_if_it_were_written() {
    check_both(&[
        ("(= (S Z) one) (fact (S (S Z))) !(match &self (fact $f) $f)", "[(S one)]"),
        (
            "(fact (+ 1 (* 2 3))) (fact (a (+ 1 2))) (fact (quote (+ 1 2))) !(match &self (fact $f) (got $f))",
            "[(got 7), (got (a 3)), (got (quote (+ 1 2)))]",
        ),
        (
            "(fact (a Empty)) (fact (a Error)) (fact (Error a b)) (fact (a (Error b c))) (fact ()) (fact (a ())) (fact (() a)) !(match &self (fact $f) (got $f))",
            "[(got (a Error)), (got ()), (got (a ())), (got (() a))]",
        ),
        ("(fact (a Empty)) !(let $x (match &self (fact $f) $f) (got $x))", "[]"),
        ("(fact (Error a b)) !(let $x (match &self (fact $f) $f) (got $x))", "[(Error a b)]"),
        ("(fact (a (Error b c))) !(let $x (match &self (fact $f) $f) (got $x))", "[(Error b c)]"),
        (
            "(fact (1 2 3)) (fact (1.0 2 (3 4))) (fact (\"t\" a)) (fact (True a)) (fact (12345678901234567890 1)) (fact ((a b) c)) (fact ((1 2) (3 4))) (fact (((a) b) c)) !(match &self (fact $f) $f)",
            "[(1 2 3), (1.0 2 (3 4)), (\"t\" a), (True a), (12345678901234567890 1), ((a b) c), ((1 2) (3 4)), (((a) b) c)]",
        ),
        ("(= (1 $x) one) (fact (1 2)) (fact (2 (1 3))) !(match &self (fact $f) $f)", "[one, (2 one)]"),
        (
            "(= ((a $x) $y) (found $x $y)) (fact ((a 1) 2)) (fact (((a 1) 2) 3)) (fact ((b 1) 2)) !(match &self (fact $f) $f)",
            "[(found 1 2), ((found 1 2) 3), ((b 1) 2)]",
        ),
        (
            "(: q (-> Atom Atom)) (fact (q (+ 1 2))) (fact (q a)) (fact (q (q (b)))) !(match &self (fact $f) $f)",
            "[(q (+ 1 2)), (q a), (q (q (b)))]",
        ),
        ("(fact (f 1)) (fact (g (f 2))) (= (f 1) one) !(match &self (fact $f) $f)", "[one, (g (f 2))]"),
        (
            "(fact (function (return 1))) (fact (function (a b))) (fact (eval (a))) (fact (a (function (return 1)))) !(match &self (fact $f) $f)",
            "[1, (eval (a)), (a 1)]",
        ),
        (
            "(fact NotReducible) (fact (a NotReducible)) (fact (NotReducible a)) !(match &self (fact $f) (got $f))",
            "[(got NotReducible), (got (a NotReducible)), (got (NotReducible a))]",
        ),
        (
            "(fact (S 1.0)) (fact (S 1)) !(match &self (fact (S 1)) yes) !(match &self (fact $f) (== $f (S 1)))",
            "[True, True]",
        ),
        (
            "(fact (S 1.0)) (fact (S 1)) !(match &self (fact $f) (match &self (fact $f) (both $f)))",
            "[(both (S 1.0)), (both (S 1.0)), (both (S 1)), (both (S 1))]",
        ),
        (
            "(= (store $t $n) (if (== $n 0) done (let $_ (add-atom &self (num $t)) (store (S $t) (- $n 1))))) !(store Z 4) !(collapse (match &self (num $t) $t)) (= (S Z) one) !(collapse (match &self (num $t) $t))",
            "[(Z one (S one) (S (S one)))]",
        ),
        (
            "(fact (a b c d e f g h i j k)) (fact (a (b b b b b b b b b b b b))) !(match &self (fact $f) $f) (= (b $x $y) no) !(match &self (fact $f) $f)",
            "[(a b c d e f g h i j k), (a (b b b b b b b b b b b b))]",
        ),
        (
            "(fact (a b c d e f g h i j k)) (= (a b c d e f g h i j k) long) (fact (x (a b c d e f g h i j k))) !(match &self (fact $f) $f)",
            "[long, (x long)]",
        ),
        (
            "(= (color) red) (= (color) blue) (fact (pair (color) (color))) (fact (pair red)) !(match &self (fact $f) $f)",
            "[(pair red red), (pair red blue), (pair blue red), (pair blue blue), (pair red)]",
        ),
    ]);
}

#[test]
fn stored_data_of_typed_functions_is_checked() {
    check_both(&[
        ("(: Z Nat) (: S (-> Nat Nat)) (fact (S (S Z))) !(match &self (fact $f) $f)", "[(S (S Z))]"),
        (
            "(: Z Nat) (: S (-> Nat Nat)) (fact (S (S a))) (fact (S (S \"s\"))) (fact (S 1)) (fact (pair (S 1))) !(match &self (fact $f) (got $f))",
            "[(got (S (S a)))]",
        ),
        (
            "(: Z Nat) (: S (-> Nat Nat)) (: twice (-> Nat Nat)) (= (twice $x) (S (S $x))) (fact (S (S Z))) (fact (S \"s\")) !(match &self (fact $f) (twice $f))",
            "[(S (S (S (S Z))))]",
        ),
        (
            "(: Nil (List $a)) (: Cons (-> $a (List $a) (List $a))) (fact (Cons 1 (Cons 2 Nil))) (fact (Cons 1 (Cons \"s\" Nil))) (fact (Cons (Cons 1 Nil) Nil)) !(match &self (fact $f) $f)",
            "[(Cons 1 (Cons 2 Nil)), (Cons (Cons 1 Nil) Nil)]",
        ),
        (
            "(: Nil (List $a)) (: Cons (-> $a (List $a) (List $a))) (: sum (-> (List Number) Number)) (= (sum Nil) 0) (= (sum (Cons $x $xs)) (+ $x (sum $xs))) (fact (Cons 1 (Cons 2 Nil))) (fact (Cons \"s\" Nil)) !(match &self (fact $f) (sum $f))",
            "[3]",
        ),
        (
            "(: e (-> Expression Number)) (: n (-> Number Number)) (fact (e (a b))) (fact (e a)) (fact (n 1)) (fact (n (n 2))) (fact (n (e (a)))) !(match &self (fact $f) (got $f))",
            "[(got (e (a b))), (got (e a)), (got (n 1)), (got (n (n 2))), (got (n (e (a))))]",
        ),
        (
            "(: (pair a b) Special) (: want (-> Special Number)) (= (want $x) 1) (fact (pair a b)) (fact (pair a c)) !(match &self (fact $f) (want $f))",
            "[1, 1]",
        ),
        (
            "(: a A) (: a B) (: f (-> A A)) (: g (-> B B)) (fact (f a)) (fact (g a)) (fact (f (g a))) !(match &self (fact $f) (got $f))",
            "[(got (f a)), (got (g a))]",
        ),
        (
            "(: f (-> Number Number)) (: f (-> String String)) (fact (f 1)) (fact (f \"s\")) (fact (f True)) !(match &self (fact $f) (got $f))",
            "[(got (f 1)), (got (f \"s\"))]",
        ),
    ]);
}

#[test]
fn a_pattern_in_a_variable_finds_the_rows_that_are_it() {
    check_both(&[
        (
            "(b c) (fact (b c)) (fact (b e)) (= (has $p) (match &self $p (yes $p))) !(match &self (fact $f) (has $f))",
            "[(yes (b c))]",
        ),
        (
            "(, (a) (b)) (a) (b) (fact (, (a) (b))) (= (has $p) (collapse (match &self $p (yes $p)))) !(match &self (fact $f) (has $f))",
            "[((yes (, (a) (b))))]",
        ),
    ]);
}

#[test]
fn a_space_in_the_place_of_a_variable_is_a_value() {
    check_both(&[
        (
            "(= (p $s a) 1) (= (p $s b) 2) (= (p $s $x) (match $s (k $v) (v $v))) (k 1) !(p &self a) !(p &self c) !(p &self $x)",
            "[1, 2, (v 1)]",
        ),
        (
            "(= (p (k $x) a) (one $x)) (= (p $s a) 2) (= (p $s $x) 3) (k 1) (k 2) !(p &self a) !(p (k 7) $y)",
            "[(one 7), 2, 3]",
        ),
        (
            "(= (p $s a) 2) (= (p (k $x) a) (one $x)) (= (p $s $x) 3) (k 1) (k 2) !(p &self a) !(p (k 7) $y)",
            "[2, (one 7), 3]",
        ),
        (
            "(= (p $s (w $s $x)) 2) (= (p $s $x) 3) (k 1) !(bind! &o (new-space)) !(p &self (w &self 1)) !(p &self (w &o 1)) !(p &self (w (k 1) 1))",
            "[2, 3]",
        ),
        (
            "(: Z Nat) (: S (-> Nat Nat)) (: prove (-> $s Nat $g $g)) (= (prove $s $d (: $p $t)) (match $s (: $p $t) (: $p $t))) (= (prove $s (S $d) (: ($r $p) $t)) (let* (((: $r (-> (: $p $a) $t)) (prove $s $d (: $r (-> (: $p $a) $t)))) ((: $p $a) (prove $s $d (: $p $a)))) (: ($r $p) $t))) !(bind! &b (new-space)) !(add-atom &b (: a A)) !(add-atom &b (: f (-> (: $x A) B))) !(add-atom &b (: g (-> (: $x B) C))) !(prove &b Z (: $p A)) !(prove &b (S Z) (: $p B)) !(prove &b (S (S Z)) (: $p C)) !(prove &b (S (S Z)) (: $p $t)) !(prove &b (S \"s\") (: $p $t)) !(prove 1 (S Z) (: $p B))",
            "[(Error (S \"s\") (BadArgType 1 Nat String))]",
        ),
    ]);
}
/// A rule is added for what stands where nothing is evaluated: it was never evaluated before.
#[test]
fn what_a_head_takes_as_it_stands_is_not_evaluated() {
    check_both(&[
        (
            "(: q (-> Atom Atom)) (fact (q (B C))) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (= (B C) gone)) (let (q $y) $x (got $y))))",
            "[(got gone)]",
        ),
        (
            "(: q (-> Atom Atom)) (fact (w (q (B C)))) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (= (B C) gone)) (let (w (q $y)) $x (got $y))))",
            "[(got gone)]",
        ),
        (
            "(: n (-> Expression Number)) (fact (n (B C))) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (= (B C) gone)) (let (n $y) $x (got $y))))",
            "[(got gone)]",
        ),
        (
            "(: n (-> Number Atom Number)) (fact (n 1 (B C))) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (= (B C) gone)) (let (n $z $y) $x (got $y))))",
            "[(got gone)]",
        ),
        (
            "(: n (-> $t Atom (List $t))) (fact (n 1 (B C))) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (= (B C) gone)) (let (n $z $y) $x (got $y))))",
            "[(got gone)]",
        ),
        (
            "(: n (-> $t $u (List $t))) (fact (n 1 (B C))) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (= (B C) gone)) (let (n $z $y) $x (got $y))))",
            "[(got (B C))]",
        ),
        (
            "(fact (quote (B C))) !(let $x (match &self (fact $f) $f) (let $_ (add-atom &self (= (B C) gone)) (let (quote $y) $x (got $y))))",
            "[(got gone)]",
        ),
    ]);
}

/// A rule is added in another form than the one that has put data into a state.
#[test]
fn a_state_keeps_what_was_evaluated_from_form_to_form() {
    check_both(&[
        (
            "(fact (w (f 2) 3)) !(bind! &st (new-state a)) !(let $x (match &self (fact $f) $f) (change-state! &st (v $x $q))) !(let (v (w $y $u) $p) (get-state &st) (let $_ (add-atom &self (= (f 2) two)) (got $y $u)))",
            "[(got (f 2) 3)]",
        ),
        (
            "(t (v (w (f 2)) $q)) !(bind! &st (new-state a)) !(match &self (t $x) (change-state! &st $x)) !(let (v (w $y) $p) (get-state &st) (let $_ (add-atom &self (= (f 2) two)) (got $y)))",
            "[(got (f 2))]",
        ),
        (
            "(= (raw $x) (change-state! &st (quote $x))) !(bind! &st (new-state a)) (= (same $x) (let $y (pair $x $x) (let (pair $z $w) $y (change-state! &st $z)))) !(same (v (w (f 2)) $q)) !(let (v (w $y) $p) (get-state &st) (let $_ (add-atom &self (= (f 2) two)) (got $y)))",
            "[(got (f 2))]",
        ),
    ]);
}

/// What a program does at a size, in counts, and how often it allocates.
fn work(program: &str, size: u32, expected: &str) -> (Statistics, u64) {
    let program = program.replace("SIZE", &size.to_string());
    let mut ran = None;
    let measured = allocation_counter::measure(|| ran = Some(run(&program)));
    let ran = ran.expect("the program was run");
    assert_eq!(ran.answers.last().map(String::as_str), Some(expected), "{program}");
    (ran.statistics, measured.count_total)
}

/// Asserts that a larger program leaves nothing more to the interpreter than a small one, and takes at most `times` × 2.3 / 2 as many
/// steps, calls, comparisons, cells and allocations.
#[track_caller]
fn assert_proportional(program: &str, (small, answer): (u32, &str), (large, large_answer): (u32, &str), times: f64) {
    // What is made once in a process is not what a program costs.
    work(program, small, answer);
    let ((small, small_allocated), (large, allocated)) =
        (work(program, small, answer), work(program, large, large_answer));
    assert_eq!(large.interpreted, small.interpreted, "{program}: left to the interpreter");
    let counts = |found: &Statistics, allocated| [found.steps, found.calls, found.compared, found.cells, allocated];
    for (small, large) in counts(&small, small_allocated).into_iter().zip(counts(&large, allocated)) {
        assert!(large as f64 <= small.max(100) as f64 * times * 1.15, "{program}: {small}, then {large}");
    }
}

const PEANO: &str = "
    (= (learn $atom)
       (let $known (collapse (match &self $atom $atom)) (if (== () $known) (add-atom &self $atom) (empty))))
    (= (grow) (case (match &self (num $t) $t) (($x (learn (num (S $x)))))))
    (= (grow-times $n) (if (== $n 0) done (let $_ (grow) (grow-times (- $n 1)))))
    (= (numbers $k)
       (let* (($_ (add-atom &self (num Z))) ($done (grow-times $k))) (match &self (num $t) $t)))
    !(let $all (collapse (numbers SIZE)) (size-atom $all))";

/// Each round looks at all numbers there are: 71 rounds are twice the work of 50.
#[test]
fn numbers_that_grow_in_a_space_are_looked_at_once_each() {
    assert_proportional(PEANO, (50, "[51]"), (71, "[72]"), 2.0);
    let typed = format!("(: Z Nat) (: S (-> Nat Nat)) {PEANO}");
    assert_proportional(&typed, (50, "[51]"), (71, "[72]"), 2.0);
}

const STORED: &str = "
    (= (store $t $n) (if (== $n 0) done (let $_ (add-atom &self (num $t)) (store (S $t) (- $n 1)))))
    (= (numbers $k) (let $_ (store Z $k) (match &self (num $t) $t)))
    !(let $all (collapse (numbers SIZE)) (size-atom $all))";

#[test]
fn data_that_grows_is_stored_and_counted_in_linear_work() {
    assert_proportional(STORED, (1_000, "[1000]"), (2_000, "[2000]"), 2.0);
    let typed = format!("(: Z Nat) (: S (-> Nat Nat)) {STORED}");
    assert_proportional(&typed, (1_000, "[1000]"), (2_000, "[2000]"), 2.0);
    let pairs = STORED.replace("(S $t)", "((a b) $t)");
    assert_proportional(&pairs, (1_000, "[1000]"), (2_000, "[2000]"), 2.0);
}

/// One rule more for `f`, added each time, makes everything known out of date; the data is not what it is about.
#[test]
fn rules_that_change_cost_one_look_at_what_is_matched() {
    let program = "
        (fact (S (S (S (S Z)))))
        (= (loop $n) (if (== $n 0) done
           (let $x (match &self (fact $f) $f) (let $_ (add-atom &self (= (f $n) $x)) (loop (- $n 1))))))
        !(loop SIZE)";
    assert_proportional(program, (50, "[done]"), (100, "[done]"), 2.0);
}

#[test]
fn a_space_that_branches_is_stored_and_matched_in_linear_work() {
    let program = "
        (= (grow $t $n) (if (== $n 0) done
           (let* (($a (add-atom &self (num (M $t)))) ($b (add-atom &self (num (W $t)))) ($c (add-atom &self (num (C $t)))))
             ((grow (M $t) (- $n 1)) (grow (W $t) (- $n 1))))))
        (= (space $k) (let* (($_ (add-atom &self (num Z))) ($g (grow Z $k))) (match &self (num $t) (num $t))))
        !(let $all (collapse (space SIZE)) (size-atom $all))";
    assert_proportional(program, (9, "[1534]"), (10, "[3070]"), 2.0);
}

#[test]
fn data_that_grows_in_a_state_takes_linear_work() {
    let program = "
        !(bind! &held (new-state Z))
        (= (grow $n) (if (== $n 0) done (let $_ (change-state! &held (S (get-state &held))) (grow (- $n 1)))))
        (= (count Z) 0) (= (count (S $x)) (+ 1 (count $x)))
        !(grow SIZE)
        !(count (get-state &held))";
    assert_proportional(program, (500, "[500]"), (1_000, "[1000]"), 2.0);
}

/// What goes through states and native functions is large enough here to be remembered on its way.
#[test]
fn large_data_comes_out_of_a_state_as_it_went_in() {
    let large = |inside: &str| format!("{}{inside}{}", "(S ".repeat(40), ")".repeat(40));
    let z = large("Z");
    let twice = |left: &str, right: &str| format!("[(pair {left} {right})]");
    let programs = [
        (format!("!(bind! &st (new-state {z})) !(pair (get-state &st) (get-state &st))"), twice(&z, &z)),
        (
            format!(
                "!(bind! &st (new-state {z})) !(let $x (get-state &st) (let $_ (add-atom &self (= (S Z) one)) (pair $x (get-state &st))))"
            ),
            twice(&z, &z),
        ),
        (
            format!(
                "!(bind! &st (new-state a)) (fact {z}) !(let $x (match &self (fact $f) $f) (change-state! &st $x))
                 !(let (S $y) (get-state &st) (let $_ (add-atom &self (= (S Z) one)) (let (S $w) (get-state &st) (pair $y $w))))"
            ),
            twice(&z[3..z.len() - 1], &z[3..z.len() - 1]),
        ),
        (
            format!(
                "!(bind! &st (new-state {z})) (= (twice $x) (pair $x $x)) (= (turn $n) (let $x (get-state &st)
                   (let $_ (change-state! &st (S $x)) (superpose ($n $n)))))
                 !(collapse (turn (superpose (1 2)))) !(twice (get-state &st))"
            ),
            twice(&format!("(S (S {z}))"), &format!("(S (S {z}))")),
        ),
        (
            format!(
                "!(bind! &st (new-state {z})) (= (more $x) (let $y (superpose (a b)) (let $_ (change-state! &st (S $x)) (got $y (get-state &st)))))
                 !(let $x (get-state &st) (collapse (more $x)))"
            ),
            format!("[((got a (S {z})) (got b (S {z})))]"),
        ),
    ];
    let programs: Vec<(&str, &str)> = programs.iter().map(|(text, expected)| (&text[..], &expected[..])).collect();
    check_both(&programs);
}

/// Proofs of a number of theorems, each by two rules.
#[test]
fn a_search_for_typed_proofs_is_left_to_nobody() {
    let program = "
        (: Z Nat) (: S (-> Nat Nat))
        (: prove (-> $space Nat $goal $goal))
        (= (prove $s $d (: $proof $type)) (match $s (: $proof $type) (: $proof $type)))
        (= (prove $s (S $d) (: ($rule $p) $type))
           (let* (((: $rule (-> (: $p $a) $type)) (prove $s $d (: $rule (-> (: $p $a) $type))))
                  ((: $p $a) (prove $s $d (: $p $a))))
             (: ($rule $p) $type)))
        !(bind! &base (new-space))
        (= (know $n)
           (if (== $n 0) done
             (let* (($_1 (add-atom &base (: axiom (A $n))))
                    ($_2 (add-atom &base (: first (-> (: $x (A $n)) (B $n)))))
                    ($_3 (add-atom &base (: second (-> (: $x (B $n)) (C $n))))))
               (know (- $n 1)))))
        (= (found $n $proofs)
           (if (== $n 0) $proofs
             (let (: (second (first axiom)) (C $n)) (prove &base (S (S Z)) (: $p (C $n)))
               (found (- $n 1) (+ $proofs 1)))))
        !(know SIZE)
        !(found SIZE 0)";
    assert_proportional(program, (20, "[20]"), (40, "[40]"), 2.0);
}
