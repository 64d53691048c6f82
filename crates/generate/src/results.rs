//! Programs in which what one call came to stands beside what another came to, in places whose types have one variable for both.
//!
//! The result of the first says of which type the second is, but only if it was evaluated to a type. Results are leaves, data with types and
//! without, errors, and expressions that were given as they stand: those may be calls, or hold errors of types, and are not evaluated.

use crate::Dice;

/// How many functions a program has.
const FUNCTIONS: usize = 3;

const PROLOGUE: &str = "\
(: foo (-> Number Foo)) (: bar (-> Foo Bar)) (: mark Foo) (: text (-> String Text)) (: two (-> Foo)) (: two (-> Number Bar))
(: as-it-is (-> Atom Atom)) (= (as-it-is $x) $x)
(= (same $x) $x) (= (next $x) (+ $x 1)) (= (both $x) $x) (= (both $x) other) (= (none $x) (empty))
(: pair (-> $t $t Pair)) (: alike (-> $t $t Bool)) (= (alike $x $x) True)
(: first (-> $t $t $t)) (= (first $x $y) $x)
(: three (-> $t $u $t Number)) (= (three $x $y $z) 3)
";

/// Expressions that a call comes to, evaluated or not. The arguments are `$a` and `$b`.
#[rustfmt::skip]
const RESULTS: &[&str] = &[
    "(cons-atom case $a)", "(cons-atom foo $a)", "(cons-atom $b $a)", "(cons-atom + $a)", "(cons-atom same $a)",
    "(as-it-is (case))", "(as-it-is (foo $b))", "(as-it-is (+ 1 $b))", "(as-it-is (foo))", "(as-it-is ($b $a))",
    "(quote (foo $b))", "(noeval (foo $b))", "(noeval (case))", "(cdr-atom (x foo $b))", "(car-atom ((foo $b) y))",
    "(foo $b)", "(bar (foo $b))", "mark", "(text $b)", "(two $b)", "(same $b)", "(next $b)", "(both $b)", "(none $b)",
    "(D $b $a)", "($b)", "$b", "$a", "()", "(foo $new)", "(D $new)", "(case $b ((1 (foo 1)) ($_ (foo a))))",
    "(if (== $b 1) 1 (D 1))", "(function (return (foo $b)))", "(function (return (case)))", "(Error $b told)", "(get-type $b)",
    "(let $r case (cons-atom $r $a))", "(collapse (both $b))", "(superpose (1 a))",
];

/// Values of the arguments.
const FIRST: &[&str] = &["()", "(1)", "(a)", "(1 2)", "((foo 1))", "1"];
const SECOND: &[&str] = &["1", "1", "2", "a", "mark", "\"text\"", "foo", "(foo 1)", "(foo a)"];

/// Places whose types have a variable for several arguments.
#[rustfmt::skip]
const PLACES: &[&str] = &[
    "(== X Y)", "(== X Y)", "(== X Y)", "(pair X Y)", "(alike X Y)", "(first X Y)", "(three X a Y)", "(if (== X Y) same other)",
    "(not (== X Y))", "(and (== X Y) (== Y X))", "(== (== X Y) True)", "(if-equal X Y same other)", "(case (== X Y) ((True yes) ($_ no)))",
    "(let $l X (== $l Y))", "(let $l (== X Y) (P $l))", "(== X (same Y))", "(== (same X) Y)", "(first X X)", "(assertEqual X Y)",
    "(unify X Y same other)",
];

/// A program of a seed.
#[must_use]
pub fn results(seed: u64) -> String {
    let mut dice = Dice::new(seed ^ 0x2e50_117a);
    let mut text = PROLOGUE.to_owned();
    for function in 0..FUNCTIONS {
        text += &format!("(= (f{function} $a $b) {})\n", dice.pick(RESULTS));
    }
    text += dice.pick(&["", "", "(: f0 (-> %Undefined% Atom Atom))\n", "(: f1 (-> $x $y $y))\n"]);
    for question in 0..4 {
        let place = placed(&mut dice, |_| "$a $b".to_owned());
        text += &format!("(= (q{question} $a $b) {place})\n!(q{question} {})\n", arguments(&mut dice));
    }
    for _ in 0..4 {
        text += &format!("!{}\n", placed(&mut dice, arguments));
    }
    text
}

/// Arguments of a function.
fn arguments(dice: &mut Dice) -> String {
    format!("{} {}", dice.pick(FIRST), dice.pick(SECOND))
}

/// A place with two calls of functions in it.
fn placed(dice: &mut Dice, arguments: impl Fn(&mut Dice) -> String) -> String {
    let [left, right] = [(); 2].map(|()| format!("(f{} {})", dice.below(FUNCTIONS), arguments(dice)));
    dice.pick(PLACES).replace('X', &left).replace('Y', &right)
}
