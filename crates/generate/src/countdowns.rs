//! Functions that count down and carry values along: numbers, data with new variables, calls, several results. The call stands in last place, inside of
//! data, before a list, or among alternatives.
//!
//! Code for such loops writes arguments over the frame that they are read from, leaves frames out, and builds data from the outside in. What it
//! takes for evaluated decides how, so the values that are carried are of all kinds.

use crate::Dice;

/// How many functions a program has.
const FUNCTIONS: usize = 3;

const PROLOGUE: &str = "\
(= (one $x) $x)
(= (some) 1) (= (some) 2)
(= (held $x) (Box $x))
(: typed (-> Number Number))
(= (typed $x) (* 2 $x))
(fact 1) (fact 2)
";

/// A program of a seed.
#[must_use]
pub fn countdowns(seed: u64) -> String {
    let mut dice = Dice::new(seed ^ 0xc0de_d004);
    let mut text = PROLOGUE.to_owned();
    for place in 0..FUNCTIONS {
        let name = format!("down{place}");
        let (carried, end) =
            (1 + dice.below(2), dice.pick(&["()", "$a", "(End $a)", "$n", "(superpose (1 2))", "(a b)"]));
        let parameters = ["$a", "$b"][..carried].join(" ");
        let body = body(&mut dice, &name, carried);
        if dice.one_in(3) {
            text += &format!(
                "(= ({name} 0 {parameters}) {end})\n(= ({name} $n {parameters}) (if (> $n 0) {body} (empty)))\n"
            );
        } else {
            text += &format!("(= ({name} $n {parameters}) (if (== $n 0) {end} {body}))\n");
        }
        for _ in 0..2 {
            let arguments: Vec<&str> =
                (0..carried).map(|_| dice.pick(&["x", "7", "(f $y)", "(some)", "()", "$z"])).collect();
            text += &format!("!({name} {} {})\n", 1 + dice.below(3), arguments.join(" "));
        }
    }
    text
}

/// The right side for a number that is not yet 0.
fn body(dice: &mut Dice, name: &str, carried: usize) -> String {
    let (mut around, mut closing, mut known) = (String::new(), String::new(), vec!["$a"]);
    if carried == 2 {
        known.push("$b");
    }
    if dice.one_in(2) {
        around += &format!("(let $h {} ", value(dice, &known));
        closing += ")";
        known.push("$h");
    }
    let next = dice.pick(&["(- $n 1)", "(- $n 1)", "(+ $n -1)", "(one (- $n 1))"]);
    let arguments: Vec<String> = (0..carried).map(|_| value(dice, &known)).collect();
    let call = format!("({name} {next} {})", arguments.join(" "));
    let beside = value(dice, &known);
    let whole = match dice.below(10) {
        0..3 => call,
        3 => format!("(Cons {beside} {call})"),
        4 => format!("(Node {call} {beside})"),
        5 => format!("(let $r {call} (cons-atom {} $r))", dice.pick(&known)),
        6 => format!("(let* (($r {call}) ($s (Pair $r {beside}))) $s)"),
        7 => format!("(superpose ({beside} {call}))"),
        8 => format!("(case {call} (((Box $x) $x) ($r (Cons $r {beside}))))"),
        _ => format!("(held {call})"),
    };
    format!("{around}{whole}{closing}")
}

/// A value that a call carries along.
fn value(dice: &mut Dice, known: &[&str]) -> String {
    let one = dice.pick(known);
    match dice.below(12) {
        0..3 => one.to_owned(),
        3 => "(f $new)".to_owned(),
        4 => "$new".to_owned(),
        5 => format!("(g {one})"),
        6 => "(some)".to_owned(),
        7 => "(* 2 $n)".to_owned(),
        8 => format!("(one {one})"),
        9 => "(typed $n)".to_owned(),
        10 => "(match &self (fact $m) $m)".to_owned(),
        _ => dice.pick(&["3", "word", "()", "\"text\""]).to_owned(),
    }
}
