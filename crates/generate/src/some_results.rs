//! Goals of whose results only some are wanted: the questions of a program asked with `once` and its relatives, and goals whose
//! alternatives print, match and do not end.
//!
//! Engines that try alternatives in another order print something else. The dice are of their own: a program without these lines
//! is the same program.

use crate::Dice;

/// What the lines are about.
const PROLOGUE: &[&str] = &[
    "(= (up $n) $n)",
    "(= (up $n) (up (+ $n 1)))",
    "(= (told $x) (let $w1 (println! (says $x)) $x))",
    "(= (twin $x) (superpose ($x (twin-of $x))))",
    "(= (none-of $x) (empty))",
    "(: typed-up (-> Number Number))",
    "(= (typed-up $n) $n)",
    "(= (typed-up $n) (typed-up (+ $n 2)))",
    "(: held (-> Atom Atom))",
    "(kept 1)",
    "(kept (twin a))",
    "(kept 3)",
    "(kept 3)",
    "(kept (none-of a))",
    "(kept (data b))",
    "(kept Empty)",
    "(kept (Error a b))",
    "(pair 1 3)",
    "(pair 3 1)",
    "(pair 3 (twin c))",
];

/// Goals, with others in the place of `{}`.
const GOALS: &[&str] = &[
    "(match &self (kept $k) $k)",
    "(match &self (kept $k) (got $k))",
    "(match &self (kept $k) yes)",
    "(match &self (kept $k) ($k $k))",
    "(match &self (kept $k) (held $k))",
    "(match &self (, (kept $k) (pair $k $l)) ($k $l))",
    "(match &self (pair $k $l) $l)",
    "(match &self (pair 3 $l) (told $l))",
    "(match &self (kept $k) {})",
    "(told (twin d))",
    "(twin (told e))",
    "(superpose ((told 1) {} (told 2)))",
    "(superpose ((/ 1 0) {} (told 2)))",
    "(superpose ((empty) {} {}))",
    "(let $k {} (told $k))",
    "(let* (($k {}) ($l (twin $k))) ($k $l))",
    "(if (== 1 {}) {} (told 3))",
    "(case {} ((1 one) ($k (told $k))))",
    "(switch {} ((1 one) ($k (twin $k))))",
    "(unify (pair $k $l) (pair 1 2) {} other)",
    "(unify &self (pair $k $l) (told $l) other)",
    "(once {})",
    "(limit 2 {})",
    "(limit {} (twin f))",
    "(has-result {})",
    "(count-results {})",
    "(collapse {})",
    "(transaction {})",
    "(unique {})",
    "(eval (twin g))",
    "(function (chain (eval (twin h)) $k (return $k)))",
    "(got {})",
    "({} {})",
    "(+ 1 {})",
    "1",
    "a",
    "(empty)",
];

/// Goals that have no end: only asked with a number.
const ENDLESS: &[&str] =
    &["(up 1)", "(typed-up 1)", "(superpose (a (up 1)))", "(let $k 4 (up $k))", "(if True (up 1) 2)"];

/// A goal that ends.
fn goal(dice: &mut Dice, depth: usize) -> String {
    let mut goal = String::new();
    let picked = if depth == 0 {
        dice.pick(&["(twin i)", "(match &self (pair $m $n) $m)", "(told 4)"])
    } else {
        dice.pick(GOALS)
    };
    for (place, part) in picked.split("{}").enumerate() {
        if place > 0 {
            goal.push_str(&self::goal(dice, depth - 1));
        }
        goal.push_str(part);
    }
    goal
}

/// A question about some of the results of a goal. An error among them does not end the program.
fn question(dice: &mut Dice, goal: &str) -> String {
    let asked = match dice.below(8) {
        0 | 1 => format!("(once {goal})"),
        2 | 3 => format!("(limit {} {goal})", dice.below(4)),
        4 => format!("(has-result {goal})"),
        5 => format!("(count-results {goal})"),
        6 => format!("(let $s1 (limit 2 {goal}) (some $s1))"),
        _ => format!("(collapse (limit 3 {goal}))"),
    };
    format!("!(case {asked} (((Error $s2 $s3) (error $s3)) ($s2 $s2)))\n")
}

/// A program with such lines in front of it, and in front of some of its questions.
pub(crate) fn woven(program: &str, seed: u64) -> String {
    let dice = &mut Dice::new(seed ^ 0x0c0f_fee0_50de);
    let mut woven = String::new();
    if dice.one_in(2) {
        PROLOGUE.iter().for_each(|line| woven += &format!("{line}\n"));
        for _ in 0..3 + dice.below(4) {
            if dice.one_in(6) {
                let endless = dice.pick(ENDLESS);
                woven += &format!("!(limit {} {endless})\n!(once {endless})\n", dice.below(5));
                continue;
            }
            let goal = goal(dice, 2);
            woven += &question(dice, &goal);
        }
    }
    for line in program.lines() {
        if let Some(asked) = line.strip_prefix("!(").filter(|_| dice.one_in(4)) {
            let whole = format!("({asked}");
            let inner = whole.strip_prefix("(bag (collapse ").and_then(|inner| inner.strip_suffix("))"));
            woven += &question(dice, inner.unwrap_or(&whole));
        }
        woven += line;
        woven.push('\n');
    }
    woven
}
