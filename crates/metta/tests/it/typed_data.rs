//! Programs whose data has types with variables: the same answers in both evaluators, and the costs of untyped ones.

use crate::harness::{self, Program};
use crate::measure::{assert_linear, cost};
use metta::Limits;

const TYPES: &str = "
    (: Nil (List $a)) (: Cons (-> $a (List $a) (List $a)))
    (: Pair (-> $a $b (Pair $a $b)))
    (: Leaf (Tree $a)) (: Node (-> (Tree $a) $a (Tree $a) (Tree $a)))
    (: VNil (Vec $t Z)) (: VCons (-> $t (Vec $t $n) (Vec $t (S $n))))
    (: Z Nat) (: S (-> Nat Nat)) (: nat (-> Number Nat))
    (: upto (-> Number (List Number))) (: sum (-> (List Number) Number))
    (: increase (-> Number Number)) (: is-odd (-> Number Bool)) (: plus (-> Number Number Number))
    (: map (-> (-> $a $b) (List $a) (List $b))) (: filter (-> (-> $a Bool) (List $a) (List $a)))
    (: fold-right (-> (-> $a $b $b) $b (List $a) $b)) (: fold-left (-> (-> $b $a $b) $b (List $a) $b))
    (: append (-> (List $a) (List $a) (List $a))) (: zip (-> (List $a) (List $b) (List (Pair $a $b))))
    (: length (-> (List $a) Number)) (: head (-> (List $a) $a))
    (: tree (-> Number (Tree Number))) (: total (-> (Tree Number) Number)) (: map-tree (-> (-> $a $b) (Tree $a) (Tree $b)))
    (: repeat (-> Nat $t (Vec $t $n))) (: map-vector (-> (-> $a $b) (Vec $a $n) (Vec $b $n)))
    (: vector-head (-> (Vec $t (S $n)) $t))";

const RULES: &str = "
    (= (upto $n) (if (== $n 0) Nil (Cons $n (upto (- $n 1)))))
    (= (sum Nil) 0) (= (sum (Cons $x $xs)) (+ $x (sum $xs)))
    (= (increase $x) (+ $x 1)) (= (is-odd $x) (== (% $x 2) 1)) (= (plus $x $y) (+ $x $y))
    (= (map $f Nil) Nil) (= (map $f (Cons $x $xs)) (Cons ($f $x) (map $f $xs)))
    (= (filter $p Nil) Nil)
    (= (filter $p (Cons $x $xs)) (if ($p $x) (Cons $x (filter $p $xs)) (filter $p $xs)))
    (= (fold-right $f $z Nil) $z) (= (fold-right $f $z (Cons $x $xs)) ($f $x (fold-right $f $z $xs)))
    (= (fold-left $f $z Nil) $z) (= (fold-left $f $z (Cons $x $xs)) (fold-left $f ($f $z $x) $xs))
    (= (append Nil $ys) $ys) (= (append (Cons $x $xs) $ys) (Cons $x (append $xs $ys)))
    (= (zip Nil $ys) Nil) (= (zip (Cons $x $xs) Nil) Nil)
    (= (zip (Cons $x $xs) (Cons $y $ys)) (Cons (Pair $x $y) (zip $xs $ys)))
    (= (length Nil) 0) (= (length (Cons $x $xs)) (+ 1 (length $xs))) (= (head (Cons $x $xs)) $x)
    (= (tree $n) (if (== $n 0) Leaf (Node (tree (- $n 1)) $n (tree (- $n 1)))))
    (= (total Leaf) 0) (= (total (Node $l $x $r)) (+ (total $l) (+ $x (total $r))))
    (= (map-tree $f Leaf) Leaf) (= (map-tree $f (Node $l $x $r)) (Node (map-tree $f $l) ($f $x) (map-tree $f $r)))
    (= (nat $n) (if (== $n 0) Z (S (nat (- $n 1)))))
    (= (repeat Z $x) VNil) (= (repeat (S $k) $x) (VCons $x (repeat $k $x)))
    (= (map-vector $f VNil) VNil) (= (map-vector $f (VCons $x $xs)) (VCons ($f $x) (map-vector $f $xs)))
    (= (vector-head (VCons $x $xs)) $x)";

/// Vectors built by a number, whose length the code tells by a test. Each function has a type in the second text.
const VECTORS: [&str; 2] = [
    "(= (vector $n) (if (== $n 0) VNil (VCons $n (vector (- $n 1)))))
    (= (vector-sum VNil) 0) (= (vector-sum (VCons $x $xs)) (+ $x (vector-sum $xs)))
    (= (vector-append VNil $ys) $ys)
    (= (vector-append (VCons $x $xs) $ys) (VCons $x (vector-append $xs $ys)))
    (= (vector-fold $f $z VNil) $z)
    (= (vector-fold $f $z (VCons $x $xs)) ($f $x (vector-fold $f $z $xs)))
    (= (vector-reverse VNil $done) $done)
    (= (vector-reverse (VCons $x $xs) $done) (vector-reverse $xs (VCons $x $done)))",
    "(: vector (-> Number (Vec Number $n))) (: vector-sum (-> (Vec Number $n) Number))
    (: vector-append (-> (Vec $t $n) (Vec $t $m) (Vec $t $k)))
    (: vector-fold (-> (-> $a $b $b) $b (Vec $a $n) $b))
    (: vector-reverse (-> (Vec $t $n) (Vec $t $m) (Vec $t $k)))",
];

/// The last answer of a program after the declarations above is this in both evaluators.
#[track_caller]
fn check_both(programs: &[(&str, &str)]) {
    let whole: Vec<String> = programs.iter().map(|(text, _)| format!("{TYPES} {RULES} {text}")).collect();
    let expected = programs.iter().map(|(_, expected)| *expected);
    harness::check_both(&whole.iter().map(String::as_str).zip(expected).collect::<Vec<_>>());
}

#[test]
fn polymorphic_functions_answer_as_specified() {
    check_both(&[
        ("!(sum (map increase (upto 5)))", "[20]"),
        ("!(filter is-odd (upto 4))", "[(Cons 3 (Cons 1 Nil))]"),
        ("!(fold-right plus 0 (upto 4))", "[10]"),
        ("!(fold-left plus 0 (upto 4))", "[10]"),
        ("!(append (upto 1) (append (upto 2) Nil))", "[(Cons 1 (Cons 2 (Cons 1 Nil)))]"),
        ("!(zip (upto 2) (Cons \"a\" (Cons \"b\" Nil)))", "[(Cons (Pair 2 \"a\") (Cons (Pair 1 \"b\") Nil))]"),
        ("!(let $l (upto 3) (let $m (map increase $l) (Pair (length $l) (sum $m))))", "[(Pair 3 9)]"),
        ("!(total (map-tree increase (tree 3)))", "[18]"),
        ("!(map-vector increase (repeat (S (S Z)) 1))", "[(VCons 2 (VCons 2 VNil))]"),
        ("!(vector-head (VCons 1 VNil))", "[1]"),
        ("!(length (Cons untyped (Cons $x Nil)))", "[2]"),
        ("!(map head (Cons (upto 2) (Cons (upto 1) Nil)))", "[(Cons 2 (Cons 1 Nil))]"),
    ]);
}

#[test]
fn what_is_ill_typed_is_refused_wherever_it_comes_from() {
    check_both(&[
        (
            "!(Cons 1 (Cons \"s\" Nil))",
            "[(Error (Cons 1 (Cons \"s\" Nil)) (BadArgType 2 (List Number) (List String)))]",
        ),
        ("!(sum (Cons \"s\" Nil))", "[(Error (sum (Cons \"s\" Nil)) (BadArgType 1 (List Number) (List String)))]"),
        (
            "!(let $l (Cons \"s\" Nil) (Cons 1 $l))",
            "[(Error (Cons 1 (Cons \"s\" Nil)) (BadArgType 2 (List Number) (List String)))]",
        ),
        (
            "!(let $l (upto 2) (append $l (Cons \"s\" Nil)))",
            "[(Error (append (Cons 2 (Cons 1 Nil)) (Cons \"s\" Nil)) (BadArgType 2 (List Number) (List String)))]",
        ),
        (
            "(stored (Cons \"s\" Nil)) !(match &self (stored $l) (sum $l))",
            "[(Error (sum (Cons \"s\" Nil)) (BadArgType 1 (List Number) (List String)))]",
        ),
        ("(stored (Cons 1 (Cons 2 Nil))) !(match &self (stored $l) (sum (Cons 3 $l)))", "[6]"),
        ("!(vector-head VNil)", "[(Error (vector-head VNil) (BadArgType 1 (Vec $t# (S $n#)) (Vec $t# Z)))]"),
        // A function without a type may say anything: what it says is looked at.
        ("(= (any) (Cons \"s\" Nil)) !(sum (any))", "[(Error (Cons \"s\" Nil) (BadType (List Number) (List String)))]"),
    ]);
}

#[test]
fn several_types_and_those_of_whole_expressions_are_tried() {
    check_both(&[
        ("(: both Number) (: both String) !(sum (Cons 1 (Cons both Nil)))", "[(+ 1 (+ both 0))]"),
        ("(: cat Cat) (:< Cat Animal) (: dog Dog) (:< Dog Animal) !(length (Cons cat (Cons dog Nil)))", "[2]"),
        ("(: (one two) Number) !(sum (Cons (one two) Nil))", "[(+ (one two) 0)]"),
        ("!(let $l (upto 1) (let $_ (add-atom &self (: 1 Odd)) (sum $l)))", "[1]"),
        (
            "(= (box $x) $x) !(let $l (Cons thing Nil) (let $_ (add-atom &self (: thing String)) (box (Cons 1 $l))))",
            "[(Error (Cons 1 (Cons thing Nil)) (BadArgType 2 (List Number) (List String)))]",
        ),
    ]);
}

/// Each was quadratic once, with 20 seconds for a list of 1,600.
#[test]
fn typed_lists_and_trees_are_linear() {
    let programs = [
        ("!(sum (upto SIZE))", 20_000),
        ("!(sum (map increase (upto SIZE)))", 20_000),
        ("!(length (filter is-odd (upto SIZE)))", 20_000),
        ("!(fold-right plus 0 (upto SIZE))", 20_000),
        ("!(fold-left plus 0 (upto SIZE))", 20_000),
        ("!(length (append (upto SIZE) Nil))", 20_000),
        ("!(length (zip (upto SIZE) (upto SIZE)))", 20_000),
        ("!(let $l (upto SIZE) (let $m (map increase $l) (+ (length $l) (sum $m))))", 20_000),
    ];
    for (program, size) in programs {
        let of_size = |size: usize| {
            let measured = cost(&format!("{TYPES} {RULES} {}", program.replace("SIZE", &size.to_string())));
            assert!(measured.ran.statistics.interpreted <= 2, "{program}: {}", measured.ran.statistics.interpreted);
            measured
        };
        assert_linear(&of_size(size), &of_size(10 * size));
    }
    let deep = Program::new(format!("{TYPES} {RULES} !(total (map-tree increase (tree 10)))"));
    let ran = deep.with_limits(Limits::default()).run();
    assert_eq!(ran.answers, ["[3059]"]);
    assert!(ran.statistics.interpreted <= 2);
}

/// Code that checks nothing is entered by nothing that could be refused inside.
#[test]
fn well_typed_rules_are_not_trusted_with_what_types_do_not_say() {
    check_both(&[
        // A rule that gives something else than its type says, and a rule that calls it.
        (
            "(: liar (-> Number Number)) (= (liar $x) \"text\")
             (: user (-> Number Number)) (= (user $x) (+ (liar $x) 1)) !(user 1)",
            "[(Error \"text\" (BadType Number String))]",
        ),
        // Functions without types, on their own, inside data, and behind another function.
        ("(= (mystery $x) \"text\") !(sum (map mystery (Cons 1 Nil)))", "[(Error \"text\" (BadType Number String))]"),
        (
            "(: five (-> (-> Number Number) Number)) (= (five $f) ($f 5)) (= (mystery $x) \"text\")
             !(map five (Cons mystery Nil))",
            "[(Error \"text\" (BadType Number String))]",
        ),
        (
            "(: Box (-> (-> Number Number) Box)) (: open (-> Box Number)) (= (open (Box $f)) ($f 3))
             (= (mystery $x) \"text\") !(open (Box mystery))",
            "[(Error \"text\" (BadType Number String))]",
        ),
        // What a variable is bound to inside was not looked at outside.
        (
            "(: pick (-> $a $a Number)) (= (pick 0 $y) (increase $y)) !(pick $x True)",
            "[(Error (increase True) (BadArgType 1 Number Bool))]",
        ),
        // The length of a vector that only its rules know, where another is expected.
        (
            "(: same (-> $a $a Bool)) (= (same $x $y) (== $x $y)) !(same (repeat (S Z) 7) VNil)",
            "[(Error (VCons 7 (repeat Z 7)) (BadType (Vec Number Z) (Vec Number (S $n#))))]",
        ),
        // Errors on the way, and an error that a `case` takes for a value.
        (
            "(: crash (-> Number Number)) (= (crash $x) (/ $x 0)) !(sum (Cons 1 (Cons (crash 2) Nil)))",
            "[(Error (/ 2 0) DivisionByZero)]",
        ),
        (
            "(: crash (-> Number Number)) (= (crash $x) (/ $x 0))
             (: safe (-> Number Number)) (= (safe $n) (case (crash $n) (($x 7)))) !(safe 2)",
            "[7]",
        ),
        // A constructor gets a rule in the middle of a form.
        ("!(sum (let $_ (add-atom &self (= (Cons 9 $x) Nil)) (Cons 9 (upto 2))))", "[0]"),
        // A function on the way gets another rule, which is not well typed, and one that was is taken away.
        (
            "(= (liar) \"text\") (= (worse) (add-atom &self (= (increase 2) (liar))))
             (: first (-> (List Number) Number)) (= (first (Cons $x $xs)) (increase $x))
             !(let $l (upto 2) (let $_ (worse) (collapse (first $l))))",
            "[(3)]",
        ),
        (
            "(= (gone) (remove-atom &self (= (increase $x) (+ $x 1)))) !(let $l (upto 2) (let $_ (gone) (sum (map increase $l))))",
            "[(+ (increase 2) (+ (increase 1) 0))]",
        ),
        // Types and rules change between two forms.
        ("!(sum Nil) (= (sum (Cons $x $xs)) \"text\") !(sum (Cons 1 Nil))", "[1]"),
        ("!(length (upto 1)) (= (length Nil) zero) (: zero Zero) !(length Nil)", "[0]"),
        ("!(sum (upto 2)) (: inner Inner) (= (increase $x) inner) !(sum (map increase (upto 1)))", "[2]"),
    ]);
}

#[test]
fn well_typed_rules_answer_as_others_do() {
    check_both(&[
        ("!(fold-right + 0 (upto 3))", "[6]"),
        ("!(sum (Cons (head Nil) Nil))", "[(+ (head Nil) 0)]"),
        ("!(sum (Cons nothing (Cons 2 Nil)))", "[(+ nothing 2)]"),
        ("(: shadow (-> Number Number)) (= (shadow $n) (let $n 3 $n)) !(shadow 3)", "[3]"),
        ("(: shadow (-> Number Number)) (= (shadow $n) (let $n 3 $n)) !(shadow 4)", "[]"),
        (
            "(: two (-> Number)) (= (two) 1) (= (two) 2) !(sum (map increase (Cons (two) (Cons (two) Nil))))",
            "[4, 5, 5, 6]",
        ),
        ("!(zip (upto 2) (map is-odd (upto 3)))", "[(Cons (Pair 2 True) (Cons (Pair 1 False) Nil))]"),
        ("(: pick (-> $a $a Number)) (= (pick 0 $y) (increase $y)) !(pick 0 2)", "[3]"),
        (
            "(: Any (-> $t Any)) (: again (-> Any Any)) (= (again (Any $x)) (Any (Any $x))) !(again (Any \"s\"))",
            "[(Any (Any \"s\"))]",
        ),
        (
            "(: swap (-> (Pair $a $b) (Pair $b $a))) (= (swap $p) (let (Pair $x $y) $p (Pair $y $x))) !(swap (Pair 1 Nil))",
            "[(Pair Nil 1)]",
        ),
    ]);
}

/// Programs with their types take the steps and the memory that they take without.
#[test]
fn well_typed_programs_cost_what_untyped_ones_do() {
    let programs = [
        "!(sum (upto 2000))",
        "!(sum (map increase (upto 2000)))",
        "!(length (filter is-odd (upto 2000)))",
        "!(fold-right plus 0 (upto 2000))",
        "!(fold-left plus 0 (upto 2000))",
        "!(length (append (upto 2000) Nil))",
        "!(length (zip (upto 2000) (upto 2000)))",
        "!(let $l (upto 2000) (let $m (map increase $l) (+ (length $l) (sum $m))))",
        "!(total (map-tree increase (tree 10)))",
        "!(vector-head (map-vector increase (repeat (nat 2000) 1)))",
    ];
    for program in programs {
        // What a call costs is compared, so each is made.
        let every = "!(pragma! memoise off)";
        let untyped = cost(&format!("{every} {RULES} {program}"));
        let typed = cost(&format!("{every} {TYPES} {RULES} {program}"));
        let counts = |ran: &harness::Ran| (ran.statistics.steps, ran.statistics.cells, ran.statistics.interpreted);
        assert_eq!(typed.ran.answers, untyped.ran.answers, "{program}");
        let ((steps, cells, _), (typed_steps, typed_cells, interpreted)) = (counts(&untyped.ran), counts(&typed.ran));
        assert_eq!(interpreted, 0, "{program}");
        assert!(
            typed_steps <= steps + steps / 20 && typed_cells <= cells + cells / 20 + 50,
            "{program}: {typed_steps} steps and {typed_cells} cells, without types {steps} and {cells}"
        );
    }
}

/// Values that rules without types pass on are looked at once where they come in, whatever is part of their types.
#[test]
fn vectors_from_rules_without_types_are_linear() {
    let program = "(: both (-> (Vec $a $n) (Vec $b $n) (Vec $a $n))) (= (both VNil VNil) VNil)
        (= (both (VCons $x $xs) (VCons $y $ys)) (VCons $x (both $xs $ys)))
        (= (main $n) (let $v (repeat (nat $n) 1) (let $w (map-vector increase $v) (vector-head (both $v $w)))))
        !(main SIZE)";
    let of_size = |size: usize| {
        let measured = cost(&format!("{TYPES} {RULES} {}", program.replace("SIZE", &size.to_string())));
        assert_eq!(
            (measured.ran.answers.as_slice(), measured.ran.statistics.interpreted),
            (&["[1]".to_owned()][..], 0)
        );
        measured
    };
    assert_linear(&of_size(300), &of_size(3_000));
}

/// A search for proofs whose function has a type with variables, over data that has none.
#[test]
fn typed_backward_chaining_stays_in_the_machine() {
    let rules = "(= (prove (: $proof $theorem) $_) (match &self (axiom (: $proof $theorem)) (: $proof $theorem)))
        (= (prove (: ($rule $argument) $theorem) (S $k))
           (let* (((: $rule (-> $premise $theorem)) (prove (: $rule (-> $premise $theorem)) $k))
                  ((: $argument $premise) (prove (: $argument $premise) $k)))
             (: ($rule $argument) $theorem)))
        (axiom (: ab (-> A B))) (axiom (: bc (-> B C))) (axiom (: cd (-> C D))) (axiom (: a A)) (axiom (: b B))
        (= (often $n) (if (== $n 0) done (let $_ (collapse (prove (: $x D) (S (S (S (S Z)))))) (often (- $n 1)))))
        !(prove (: $x D) (S (S (S (S Z))))) !(often 50)";
    let untyped = cost(rules);
    let typed = cost(&format!("(: Z Nat) (: S (-> Nat Nat)) (: prove (-> $a Nat $a)) {rules}"));
    assert_eq!(typed.ran.answers, untyped.ran.answers);
    assert_eq!(typed.ran.answers, ["[(: (cd (bc b)) D), (: (cd (bc (ab a))) D)]", "[done]"]);
    assert_eq!(typed.ran.statistics.interpreted, untyped.ran.statistics.interpreted);
    assert!(typed.ran.statistics.steps <= untyped.ran.statistics.steps * 3 / 2 + 20);
}

/// Data whose constructors alone have types, made by functions that have none: a call of a constructor with two arguments to
/// evaluate went to the interpreter.
#[test]
fn typed_constructors_under_functions_without_types_are_linear() {
    let (constructors, _) = TYPES.split_once("(: nat").expect("the constructors stand first");
    let programs = [
        ("!(sum (upto SIZE))", 10_000),
        ("!(sum (map increase (upto SIZE)))", 10_000),
        ("!(length (zip (upto SIZE) (upto SIZE)))", 10_000),
        ("!(vector-head (map-vector increase (repeat (nat SIZE) 1)))", 1_000),
    ];
    for (program, size) in programs {
        let of_size = |size: usize| {
            let measured = cost(&format!("{constructors} {RULES} {}", program.replace("SIZE", &size.to_string())));
            assert!(measured.ran.statistics.interpreted <= 2, "{program}: {}", measured.ran.statistics.interpreted);
            measured
        };
        assert_linear(&of_size(size), &of_size(10 * size));
    }
    check_both(&[
        (
            "(= (any) 1) (= (texts) (Cons \"s\" Nil)) !(Cons (any) (texts))",
            "[(Error (Cons \"s\" Nil) (BadType (List Number) (List String)))]",
        ),
        ("(= (texts) (Cons \"s\" Nil)) !(Cons (let $x 1 $x) (texts))", "[(Cons 1 (Cons \"s\" Nil))]"),
        ("(= (any) untyped) (= (texts) (Cons \"s\" Nil)) !(Cons (any) (texts))", "[(Cons untyped (Cons \"s\" Nil))]"),
    ]);
}

/// Trees into which numbers are put, in which each step makes the way to the root anew; the numbers are those of a linear congruence.
const INSERTION: &str = "
    (= (insert $x Leaf) (Node Leaf $x Leaf))
    (= (insert $x (Node $l $y $r))
       (if (< $x $y) (Node (insert $x $l) $y $r) (if (> $x $y) (Node $l $y (insert $x $r)) (Node $l $y $r))))
    (= (fill $n $seed $tree)
       (if (== $n 0) $tree (fill (- $n 1) (% (+ (* $seed 1103) 12345) 65537) (insert $seed $tree))))
    (= (count Leaf) 0) (= (count (Node $l $x $r)) (+ 1 (+ (count $l) (count $r))))";

/// Whether the constructors alone have types, or the functions too, programs take about the steps that they take without, and twice the
/// work takes about twice as many.
#[test]
fn typed_programs_take_steps_as_untyped_ones_do() {
    let (constructors, _) = TYPES.split_once("(: nat").expect("the constructors stand first");
    let of_insertion = "(: insert (-> $a (Tree $a) (Tree $a))) (: count (-> (Tree $a) Number))
        (: fill (-> Number Number (Tree Number) (Tree Number)))";
    let programs = [
        ("!(count (fill SIZE 17 Leaf))", 500, 1.5),
        ("!(fold-right plus 0 (upto SIZE))", 5_000, 1.5),
        ("!(vector-head (map-vector increase (repeat (nat SIZE) 1)))", 500, 1.5),
    ];
    for (program, size, most) in programs {
        let steps = |types: &str, size: usize| {
            let measured = cost(&format!("{types} {RULES} {INSERTION} {}", program.replace("SIZE", &size.to_string())));
            assert_eq!(measured.ran.statistics.interpreted, 0, "{program}");
            measured.steps() as f64
        };
        for (types, most) in [(constructors, most), (&format!("{TYPES} {of_insertion}"), 1.5)] {
            let (untyped, typed, twice) = (steps("", size), steps(types, size), steps(types, 2 * size));
            assert!(typed <= most * untyped && twice <= 2.3 * typed, "{program}: {untyped}, {typed}, {twice}");
        }
    }
}

/// The types of two vectors differ wherever their lengths do; code that builds them looks at one level all the same.
#[test]
fn vectors_take_steps_as_untyped_ones_do() {
    let (constructors, _) = TYPES.split_once("(: nat").expect("the constructors stand first");
    let [rules, types] = VECTORS;
    let programs = [
        "!(vector-sum (vector SIZE))",
        "!(vector-sum (map-vector increase (vector SIZE)))",
        "!(vector-sum (vector-append (vector SIZE) (vector SIZE)))",
        "!(vector-fold plus 0 (vector SIZE))",
        "!(vector-head (map-vector increase (repeat (nat SIZE) 1)))",
        "!(vector-sum (vector-reverse (vector SIZE) VNil))",
    ];
    for program in programs {
        let count = |types: &str, size: usize| {
            let program = program.replace("SIZE", &size.to_string());
            let statistics = cost(&format!("{types} {RULES} {rules} {program}")).ran.statistics;
            assert_eq!(statistics.interpreted, 0, "{program}");
            (statistics.steps, statistics.cells)
        };
        for types in [constructors, &format!("{TYPES} {types}")] {
            let [(steps, cells), (typed, typed_cells), (twice, _)] =
                [count("", 500), count(types, 500), count(types, 1_000)];
            assert!(typed * 100 <= steps * 105 && twice * 10 <= typed * 21, "{program}: {steps}, {typed}, {twice}");
            assert!(typed_cells * 100 <= cells * 105, "{program}: {cells}, {typed_cells}");
        }
    }
}

/// More vectors than there are notes for their types, each built around the one before.
#[test]
fn vectors_of_more_lengths_than_there_are_notes_are_linear() {
    let (constructors, _) = TYPES.split_once("(: nat").expect("the constructors stand first");
    let of_size = |size: usize| {
        let [rules, _] = VECTORS;
        cost(&format!("{constructors} {RULES} {rules} !(vector-head (vector-reverse (vector {size}) VNil))"))
    };
    assert_linear(&of_size(8_000), &of_size(80_000));
}

/// What is known of a vector but its length is not taken for its type.
#[test]
fn lengths_of_vectors_are_exact() {
    let [rules, types] = VECTORS;
    let (constructors, _) = TYPES.split_once("(: nat").expect("the constructors stand first");
    let programs = [
        ("!(let $v (vector 2) (get-type $v))", "[(Vec Number (S (S Z)))]"),
        ("!(let $v (vector-reverse (vector 2) VNil) (get-type $v))", "[(Vec Number (S (S Z)))]"),
        ("!(get-type (let $v (vector 1) (VCons 7 $v)))", "[%Undefined%]"),
        (
            "(: pair (-> (Vec $t $n) (Vec $t $n) Bool)) (= (pair $v $w) True) !(let $v (vector 2) (pair $v $v))",
            "[True]",
        ),
        (
            "(: pair (-> (Vec $t $n) (Vec $t $n) Bool)) (= (pair $v $w) True)
             !(let $v (vector 1) (let $w (vector 2) (pair $v $w)))",
            "[(Error (pair (VCons 1 VNil) (VCons 2 (VCons 1 VNil))) (BadArgType 2 (Vec Number (S Z)) (Vec Number (S (S Z)))))]",
        ),
        ("(: one (-> (Vec $t (S Z)) $t)) (= (one (VCons $x VNil)) $x) !(let $v (vector 1) (one $v))", "[1]"),
        (
            "(: one (-> (Vec $t (S Z)) $t)) (= (one (VCons $x VNil)) $x) !(let $v (vector 2) (one $v))",
            "[(Error (one (VCons 2 (VCons 1 VNil))) (BadArgType 1 (Vec $t# (S Z)) (Vec Number (S (S Z)))))]",
        ),
        (
            "(= (texts) (VCons \"s\" VNil)) !(let $v (texts) (VCons 1 $v))",
            "[(Error (VCons 1 (VCons \"s\" VNil)) (BadArgType 2 (Vec Number $n#) (Vec String (S Z))))]",
        ),
        (
            "(= (texts) (VCons \"s\" VNil)) !(VCons 1 (texts))",
            "[(Error (VCons \"s\" VNil) (BadType (Vec Number $n#) (Vec String (S Z))))]",
        ),
        ("(= (f $n) (VCons $n (g $n))) (= (g $n) 7) !(f 1)", "[(Error 7 (BadType (Vec Number $n#) Number))]"),
        ("(= (f $n) (VCons $n (g $n))) (= (g $n) untyped) !(f 1)", "[(VCons 1 untyped)]"),
        (
            "(= (f $n) (VCons $n (g $n))) (= (g $n) VNil) (= (g $n) (VCons 2 VNil)) !(f 1)",
            "[(VCons 1 VNil), (VCons 1 (VCons 2 VNil))]",
        ),
    ];
    for declared in [constructors.to_owned(), format!("{TYPES} {types}")] {
        for (program, expected) in programs {
            harness::check_both(&[(&format!("{declared} {RULES} {rules} {program}"), expected)]);
        }
    }
}

/// What was stored enters well-typed code as it is.
#[test]
fn stored_data_of_typed_programs_costs_what_untyped_data_does() {
    let program = "!(bind! &stored (new-space)) !(add-atom &stored (data (upto 3)))
        (= (store $n) (let $l (upto $n) (add-atom &stored (data $l)))) !(store 300)
        (= (all) (match &stored (data $l) (sum $l)))
        (= (often $n) (if (== $n 0) () (let $sums (collapse (all)) (often (- $n 1))))) !(all) !(often 10)";
    let (untyped, typed) = (cost(&format!("{RULES} {program}")), cost(&format!("{TYPES} {RULES} {program}")));
    assert_eq!(typed.ran.answers, untyped.ran.answers);
    let (steps, typed_steps) = (untyped.steps(), typed.steps());
    assert!(typed_steps <= steps + steps / 10, "{typed_steps} steps, without types {steps}");
}
