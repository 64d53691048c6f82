//! Calls of functions whose types hold the lengths of lists, made from functions that say a length and others that do not.
//!
//! Whether `(both (given 2) (vector 1))` is an error depends on whether the evaluation of its first argument said the length: by data at the
//! end of a right side, or not because a `let` is between. Engines that go by the values alone, or by declared types alone, answer otherwise.

use crate::Dice;

/// How many calls a program has.
const CALLS: usize = 12;

/// Functions that make lists; no type says how long a list is.
const MAKERS: &[&str] = &[
    "vector",
    "given",
    "twice",
    "handed",
    "mixed",
    "cased",
    "switched",
    "found",
    "untyped",
    "untyped-given",
    "any",
    "raw",
    "two",
];

const PROLOGUE: &str = "\
(: Z Nat) (: S (-> Nat Nat))
(: VNil (Vec $t Z)) (: VCons (-> $t (Vec $t $n) (Vec $t (S $n))))
(: vector (-> Number (Vec Number $n)))
(= (vector $k) (if (== $k 0) VNil (VCons $k (vector (- $k 1)))))
(: given (-> Number (Vec Number $n)))
(= (given $k) (let $v (vector $k) $v))
(: twice (-> Number (Vec Number $n)))
(= (twice $k) (superpose ((vector $k) (vector $k))))
(: handed (-> Number (Vec Number $n)))
(= (handed $k) (vector $k))
(: mixed (-> Number (Vec Number $n)))
(= (mixed $k) (if (== $k 0) VNil (let $v (mixed (- $k 1)) (VCons $k $v))))
(: cased (-> Number (Vec Number $n)))
(= (cased $k) (case $k ((0 VNil) ($m (VCons $m (vector (- $m 1)))))))
(: switched (-> Number (Vec Number $n)))
(= (switched $k) (switch $k ((0 VNil) ($m (VCons $m (vector (- $m 1)))))))
(held (VCons 1 (VCons 2 VNil)))
(: found (-> Number (Vec Number $n)))
(= (found $k) (match &self (held $v) $v))
(= (untyped $k) (vector $k))
(= (untyped-given $k) (let $v (vector $k) $v))
(: any (-> Number %Undefined%))
(= (any $k) (vector $k))
(: raw (-> Number Atom))
(= (raw $k) (VCons $k VNil))
(: two (-> Number (Vec Number (S (S Z)))))
(= (two $k) (vector $k))
(: length (-> (Vec $t $n) Number))
(= (length VNil) 0)
(= (length (VCons $x $xs)) (+ 1 (length $xs)))
(: both (-> (Vec $t $n) (Vec $t $n) Number))
(= (both $a $b) (+ (length $a) (length $b)))
(: three (-> (Vec $t $n) (Vec $t $m) (Vec $t $n) Number))
(= (three $a $b $c) (+ (length $a) (+ (length $b) (length $c))))
(: pick (-> (Vec $t $n) (Vec $t $n) (Vec $t $n)))
(= (pick $a $b) $a)
(: same (-> (Vec $t $n) (Vec $t $n)))
(= (same $v) $v)
(: bound (-> (Vec $t $n) (Vec $t $n)))
(= (bound $v) (let $w $v $w))
(: rest (-> (Vec $t (S $n)) (Vec $t $n)))
(= (rest (VCons $x $xs)) $xs)
(: first (-> (Vec $t (S $n)) $t))
(= (first (VCons $x $xs)) $x)
(: append (-> (Vec $t $n) (Vec $t $m) (Vec $t (Plus $n $m))))
(= (append VNil $b) $b)
(= (append (VCons $x $a) $b) (VCons $x (append $a $b)))
(: zip (-> (Vec $a $n) (Vec $b $n) (Vec (Pair $a $b) $n)))
(: P (-> $a $b (Pair $a $b)))
(= (zip VNil VNil) VNil)
(= (zip (VCons $x $xs) (VCons $y $ys)) (VCons (P $x $y) (zip $xs $ys)))
";

/// A program of a seed.
#[must_use]
pub fn vectors(seed: u64) -> String {
    let mut dice = Dice::new(seed ^ 0x7ec7_0125);
    let calls = (0..CALLS).map(|_| format!("!{}\n", call(&mut dice)));
    std::iter::once(PROLOGUE.to_owned()).chain(calls).collect()
}

fn call(dice: &mut Dice) -> String {
    let depth = dice.pick(&[0, 1, 1, 2]);
    let mut some = |depth: usize| vector(dice, depth);
    let (a, b, c, deep) = (some(depth), some(depth), some(depth), some(depth + 1));
    match dice.below(10) {
        0..5 => format!("(both {a} {b})"),
        5 => format!("(three {a} {b} {c})"),
        6 => format!("(length {deep})"),
        7 => format!("(first {deep})"),
        8 => format!("(zip {a} {b})"),
        _ => format!("(pick {a} {b})"),
    }
}

fn number(dice: &mut Dice) -> usize {
    dice.pick(&[0, 1, 1, 2, 2])
}

fn vector(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 || dice.one_in(2) {
        let maker = dice.pick(MAKERS);
        return format!("({maker} {})", number(dice));
    }
    let depth = depth - 1;
    let inner = |dice: &mut Dice| vector(dice, depth);
    match dice.below(7) {
        0 => "VNil".to_owned(),
        1 => format!("(VCons {} {})", number(dice), inner(dice)),
        2 => format!("({} {})", dice.pick(&["same", "bound", "rest"]), inner(dice)),
        3 => format!("(append {} {})", inner(dice), inner(dice)),
        4 => format!("(pick {} {})", inner(dice), inner(dice)),
        5 => format!("(if (== {} 1) {} {})", number(dice), inner(dice), inner(dice)),
        _ => format!("(let $q {} $q)", inner(dice)),
    }
}
