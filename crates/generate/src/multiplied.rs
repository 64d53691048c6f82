//! Programs whose alternatives multiply while little or nothing is called: ten to the power of how many sources they combine.
//!
//! The compiler has other code for each source (facts, rules, tables, lists, gathered results) and for each way to combine them. An evaluation that looks at its limits only where something is called would not end in the lifetime of its user.

use crate::Dice;
use std::fmt::Write;

const PROLOGUE: &str = "\
!(pragma! table tabled)
(= (double $x) (+ $x $x))
";

/// A program of a seed that combines this many sources of ten alternatives each.
#[must_use]
pub fn multiplied(seed: u64, sources: usize) -> String {
    let mut dice = Dice::new(seed ^ 0xc0de_d007);
    let mut text = PROLOGUE.to_owned();
    for place in 0..10 {
        let _ =
            writeln!(text, "(p {place}) (q {place} {}) (= (ruled) {place}) (= (tabled {place}) {place})", place % 3);
    }
    let found: Vec<String> = (0..sources).map(|place| source(&mut dice, place, 2)).collect();
    let ended = dice.pick(&["(empty)", "(if (== $v0 10) 1 (empty))", "(let 10 $v0 found)", "(case $v0 ((10 found)))"]);
    let combined = match dice.below(4) {
        0 => {
            let pairs: Vec<String> =
                found.iter().enumerate().map(|(place, one)| format!("($v{place} {one})")).collect();
            format!("(let* ({}) {ended})", pairs.join(" "))
        }
        1 => found
            .iter()
            .enumerate()
            .rfold(ended.to_owned(), |body, (place, one)| format!("(let $v{place} {one} {body})")),
        2 => {
            let variables: Vec<String> = (0..sources).map(|place| format!("$v{place}")).collect();
            format!("(let (data {}) (data {}) {ended})", variables.join(" "), found.join(" "))
        }
        _ => {
            let sum = found.iter().skip(1).fold(found[0].clone(), |sum, one| format!("(+ {sum} {one})"));
            format!("(let $v0 (- 0 {sum}) {ended})")
        }
    };
    let _ = writeln!(
        text,
        "!{}",
        dice.pick(&["#", "(collapse #)", "(once #)", "(size-atom (collapse #))"]).replace('#', &combined)
    );
    text
}

/// An expression of ten numbers; it may wrap another one.
fn source(dice: &mut Dice, place: usize, depth: usize) -> String {
    if depth > 0 && dice.one_in(3) {
        let inner = source(dice, place, depth - 1);
        let around = dice.pick(&[
            "(superpose (collapse #))",
            "(case # (($y $y)))",
            "(switch # ((11 no) ($y $y)))",
            "(let $z # $z)",
            "(if (== 1 1) # 0)",
            "(chain # $z $z)",
            "(double #)",
            "(car-atom (# 1))",
            "(unique #)",
        ]);
        return around.replace('#', &inner);
    }
    let plain = dice.pick(&[
        "(superpose (0 1 2 3 4 5 6 7 8 9))",
        "(match &self (p $f#) $f#)",
        "(match &self (q $f# $g#) $f#)",
        "(match &self (, (q $f# $g#) (p $f#)) $f#)",
        "(unify &self (p $f#) $f# 0)",
        "(ruled)",
        "(tabled $f#)",
        "(let (r $f#) (superpose ((r 0) (r 1) (r 2) (r 3) (r 4) (r 5) (r 6) (r 7) (r 8) (r 9))) $f#)",
    ]);
    plain.replace('#', &place.to_string())
}
