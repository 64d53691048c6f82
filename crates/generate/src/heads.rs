//! Expressions whose head is an expression, a variable or a call, and comes to a name: one with rules, with a type, with both or with neither, a
//! function of the library, a special form; or to a space, which calls whatever is in it, and may have a rule or a type for that. They stand
//! where what they come to is looked at, passed on or returned.
//!
//! Such an expression is data where it is written and may be a call where it is returned, so code must not take the one for the other.

use crate::Dice;

/// How many functions and questions a program has.
const FUNCTIONS: usize = 3;

const PROLOGUE: &str = "\
(: typed (-> Number Number))
(: both (-> Number Number))
(= (both $n) (+ $n 1))
(: raw (-> Atom Atom))
(= (raw $x) (Raw $x))
(: later (-> $t $t))
(: made (-> Number (-> Number Number)))
(= ((made $a) $b) (+ $a $b))
(= ((curried $a) $b) (C $a $b))
(: Con (-> Number Con))
(= (plain $x) (Plain $x))
(= (plain $x $y) (Plain $x $y))
(= (same $x) $x)
(= (data $x) (quote $x))
(: taken (-> Expression Atom))
(= (taken $e) (car-atom $e))
(= (head) typed) (= (ruled) both) (= (form) let) (= (native) +) (= (open) $h)
(= (either) typed) (= (either) plain)
(= (none) (empty)) (= (unit) ()) (= (number) 1)
(= (partly $a) (made $a)) (= (more $a) (other $a)) (: other (-> Number (-> Number (-> Number Number))))
(: (whole $a) (-> Number Number)) (= (wholly $a) (whole $a))
(: (half $a) Number) (= (half $a) \"s\") (: kind Kind) (= (kind $a) \"s\") (: arrow ->)
(= (only 1) one)
(: takes (-> Data Nat)) (: counts (-> Number Nat)) (: both-of (-> Data $t (Both $t)))
(: first-of (-> Atom %Undefined%)) (= (first-of $t) ($t 1))
(: last-of (-> Atom %Undefined%)) (= (last-of $t) (R 1 $t))
(: inside (-> Atom %Undefined%)) (= (inside $t) (only (a $t)))
(= (unquoted (quote $t)) (only (a $t))) (= (headed (quote $t)) ($t a))
(fact ((head) \"s\")) (fact ((partly 1) a)) (fact (typed a)) (fact (+ 1 2))
(named typed) (named both) (named plain) (named unknown)
!(bind! &called (new-space)) !(add-atom &called plain) !(add-atom &called both) (= (asked) &called)
";

/// Heads of calls with a type of the whole, of the head or of neither.
const NAMES_OF_CALLS: &[&str] =
    &["whole", "wholly", "half", "kind", "arrow", "typed", "both", "plain", "made", "later", "unknown"];

/// A program of a seed.
#[must_use]
pub fn heads(seed: u64) -> String {
    let mut heads = Heads { dice: Dice::new(seed ^ 0x4ead_4ead) };
    let mut text = PROLOGUE.to_owned();
    for place in 0..FUNCTIONS {
        // From then on code has to see changes of rules.
        if heads.dice.one_in(6) {
            text += "!(a (add-atom &self (= (later) 1)))\n";
        }
        if heads.dice.one_in(4) {
            text += heads.dice.pick(&[
                "(= (() $b) C)\n",
                "(= (1 $b $c) C)\n",
                "(= ((made 2) $b) C)\n",
                "(= ((typed $a)) C)\n",
            ]);
        }
        if heads.dice.one_in(5) {
            text += heads.dice.pick(&[
                "(: &called (-> Number Number))\n",
                "(: &called Con)\n",
                "(: (&called $b) Number)\n",
                "(= &called called)\n",
                "(= (&called $b) (C $b))\n",
                "!(add-atom &self &called)\n",
            ]);
        }
        if heads.dice.one_in(4) {
            text += heads.dice.pick(&[
                "!(add-atom &called typed)\n",
                "!(add-atom &called (made 1))\n",
                "!(add-atom &called (unknown $b))\n",
                "!(add-atom &called (= (plain 1) one))\n",
                "!(remove-atom &called plain)\n",
            ]);
        }
        let (parameter, body) = (heads.dice.pick(&["$p", "$p", "($p $q)", "typed"]), heads.placed(2));
        text += &format!("(= (f{place} {parameter}) {body})\n");
        for _ in 0..2 {
            text += &match heads.dice.below(4) {
                0 => format!("!{}\n", heads.placed(2)),
                1 => format!("!(let $r (f{place} {}) (R $r $r))\n", heads.argument(1)),
                _ => format!("!(f{place} {})\n", heads.argument(1)),
            };
        }
    }
    text
}

struct Heads {
    dice: Dice,
}

impl Heads {
    /// An expression with such a head.
    fn applied(&mut self, depth: usize) -> String {
        let head = self.head(depth);
        let count = [0, 1, 1, 1, 1, 2, 2][self.dice.below(7)];
        let arguments: String = (0..count).map(|_| format!(" {}", self.argument(depth))).collect();
        format!("({head}{arguments})")
    }

    fn head(&mut self, depth: usize) -> String {
        let calls = [
            "(head)", "(ruled)", "(form)", "(native)", "(either)", "(open)", "(none)", "(unit)", "(number)", "(asked)",
            "&called",
        ];
        let names = ["typed", "both", "plain", "raw", "unknown", "Con", "later", "+", "quote"];
        match self.dice.below(12) {
            0..4 => self.dice.pick(&calls).to_owned(),
            4 => format!("(same {})", self.dice.pick(&names)),
            5 => format!("({} {})", self.dice.pick(&["made", "partly", "more", "whole", "wholly"]), self.argument(0)),
            6 => format!("(curried {})", self.argument(0)),
            7 => self.dice.pick(&["$p", "$q", "$h"]).to_owned(),
            8 => "(match &self (named $h) $h)".to_owned(),
            9 => format!("(superpose ({} {}))", self.dice.pick(&names), self.dice.pick(&names)),
            10 if depth > 0 => self.applied(depth - 1),
            _ => self.dice.pick(&names).to_owned(),
        }
    }

    fn argument(&mut self, depth: usize) -> String {
        match self.dice.below(10) {
            0..3 => self.dice.pick(&["1", "2", "\"s\"", "a"]).to_owned(),
            3 => self.dice.pick(&["$p", "$q", "$h"]).to_owned(),
            4 => self.dice.pick(&["typed", "both", "(head)", "(ruled)", "()"]).to_owned(),
            5 => "(+ 1 2)".to_owned(),
            6 => "(both 1)".to_owned(),
            7 => "(superpose (1 a))".to_owned(),
            _ if depth > 0 => self.applied(depth - 1),
            _ => "(typed 1)".to_owned(),
        }
    }

    /// The expression where something is done with it.
    fn placed(&mut self, depth: usize) -> String {
        let inside = if depth > 0 && self.dice.one_in(3) { self.placed(depth - 1) } else { self.applied(depth) };
        match self.dice.below(38) {
            0 | 1 => inside,
            22 => format!("(first-of {inside})"),
            23 => format!("(last-of {inside})"),
            24 => format!("(inside {inside})"),
            25 => format!("(unquoted (quote {inside}))"),
            26 => format!("(headed (quote {inside}))"),
            27 => format!(
                "(match &self (fact $t) {})",
                self.dice.pick(&["($t 1)", "(only (a $t))", "(R $t)", "(same $t)"])
            ),
            34 => format!("(id {inside})"),
            35 => format!("(id ({} {}))", self.dice.pick(NAMES_OF_CALLS), self.argument(depth)),
            36 | 37 => {
                let (name, other) = (self.dice.pick(NAMES_OF_CALLS), self.dice.pick(&["", " 2", " $p"]));
                format!("(map-atom (1{other}) $s ({name} $s))")
            }
            2 => format!("(let $s {inside} $s)"),
            3 => format!("(let $s {inside} (quote $s))"),
            4 => format!("(let $s {inside} (R $s $p))"),
            5 => format!("(let* (($s {inside}) ($t $s)) $t)"),
            6 => format!("(let ($s $t) {inside} $s)"),
            7 => format!("(case {inside} (($s $s)))"),
            8 => format!("(case {inside} (((typed $s) $s) (($s $t) ($t $s)) ($s $s)))"),
            33 => format!("(case {inside} (((typed none) no) (($s $t) ($t $s)) ($s (same $s))))"),
            9 => format!("(switch {inside} (((both $s) $s) ($s $s)))"),
            10 => format!("(chain {inside} $s $s)"),
            11 => format!("(function (chain {inside} $s (return $s)))"),
            12 => format!("(same {inside})"),
            13 => format!("(same (same {inside}))"),
            14 => format!("(data {inside})"),
            15 => format!("(raw {inside})"),
            16 => format!("(taken {inside})"),
            17 => format!("(eval {inside})"),
            18 => format!("(collapse {inside})"),
            19 => format!("(if (== {inside} 1) yes {inside})"),
            20 => format!("(R {inside} $p)"),
            _ => format!("(unify {inside} ($h $s) ($s $h) no)"),
        }
    }
}
